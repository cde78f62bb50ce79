"""Joint quantiles: the recursion against its definition, the exact law, all neighbours, and the ranks they are off."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from privet.core.errors import BadParameter, RequestError
from privet.core.event import Composed
from privet.mechanisms import DiscreteLaplaceEvent, ExponentialEvent, Quantiles, RecursiveQuantiles, quantiles
from privet.mechanisms import quantile_several as joint_choice
from privet.mechanisms import quantile_several as module
from privet.mechanisms.quantile_several import JointRanks, _pick, _spread, targets
from privet.noise.source import SYSTEM


def law(rows: tuple[int, ...], last: int, aims: list[Fraction], kappa: float) -> dict[tuple[int, ...], float]:
    """Return the probability of each list of places in order, from the definition, over all lists of places."""
    weights: Counter[tuple[int, ...]] = Counter()
    for places in itertools.product(range(last + 1), repeat=len(aims) - 1):
        ordered = tuple(sorted(places))
        ranks = [0, *(sum(x <= place for x in rows) for place in ordered), len(rows)]
        misses = sum(abs(b - a - float(aim)) for a, b, aim in zip(ranks, ranks[1:], aims, strict=False))
        weights[ordered] += math.exp(-kappa * misses)
    total = sum(weights.values())
    return {places: weight / total for places, weight in weights.items()}


@pytest.mark.parametrize(
    "target", [Fraction(0), Fraction(1, 3), Fraction(1), Fraction(5, 2), Fraction(7), Fraction(90)]
)
def test_the_recursion_sums_what_it_says(target: Fraction) -> None:
    generator = np.random.default_rng(2)
    for size, kappa in itertools.product((1, 2, 5, 17, 40), (1e-3, 0.3, 8.0)):
        ends = generator.random(size) * (generator.random(size) < 0.8)
        expected = [sum(ends[s] * math.exp(-kappa * abs(t - s - float(target))) for s in range(t)) for t in range(size)]
        assert _spread(ends, target, kappa) == pytest.approx(np.array(expected), rel=1e-11, abs=0)


CONFIGURATIONS: list[tuple[list[int], list[float], float]] = [
    ([5, 1, 0, 3, 2**40, 7], [1, 2, 2], 0.5),
    ([1, 0, 0, 0, 0, 2**61], [3, 0.5, 1, 0.5], 2.0),
    ([2**20] * 200, [30] * 5 + [55], 0.4),
    ([1] * 300, [6] * 49, 0.05),
    ([1] * 300, [6] * 49, 2.0),
    ([7], [25, 25, 25], 0.5),
    ([0, 9], [0, 0, 0], 0.001),
    ([1] * 50 + [0] * 900 + [1] * 50, [100, 700, 200], 0.5),
    ([1] * 100, [900, 900, 900], 0.3),
    ([3] * 100, [0.25, 0.25, 99.5], 1.0),
]


@pytest.mark.parametrize(("widths", "aims", "kappa"), CONFIGURATIONS, ids=range(len(CONFIGURATIONS)))
def test_a_proposal_is_kept_with_a_probability_of_at_most_and_nearly_1(
    widths: list[int], aims: list[float], kappa: float
) -> None:
    ranks_law = JointRanks(np.array(widths, dtype=np.int64), [Fraction(x) for x in aims], Fraction(kappa))
    for _ in range(15):
        ranks, ratio = ranks_law._propose(SYSTEM)
        x = ranks_law._exponent(ranks)
        inside = ratio / ranks_law._room
        chance = math.log(inside.numerator) - math.log(inside.denominator) - float(x)
        assert -1e-5 < chance < 0
        assert ranks == sorted(ranks)
        assert all(widths[t] > 0 for t in ranks)


@pytest.mark.parametrize(("rows", "number"), [((0, 2, 2, 4), 4), ((1, 1, 3), 6), ((), 2)], ids=str)
def test_draws_have_exactly_the_law_of_the_definition(
    rows: tuple[int, ...], number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_JOINT_SPREAD_BITS", 0)
    mechanism = Quantiles(quantiles=[0.25, 0.75], low=0, high=4, step=1, epsilon=2)
    monkeypatch.setattr("privet.noise.discrete_laplace", lambda scale: number - len(rows))
    draws = 1500
    expected = law(rows, 4, targets(mechanism.shares, number), float(mechanism.kappa))
    seen = Counter(tuple(mechanism.release(list(rows)).tolist()) for _ in range(draws))
    often = {places: chance for places, chance in expected.items() if chance * draws > 8}
    statistic = sum((seen[places] - chance * draws) ** 2 / (chance * draws) for places, chance in often.items())
    assert statistic < len(often) + 7 * math.sqrt(2 * len(often))
    assert set(seen) <= set(expected)


def test_poor_proposals_are_made_good_by_refusing_some(monkeypatch: pytest.MonkeyPatch) -> None:
    widths, aims, kappa = np.array([1, 2, 3, 1, 1]), [Fraction(1), Fraction(2), Fraction(1)], Fraction(1)
    monkeypatch.setattr(
        joint_choice, "_pick", lambda w, allowed, source: _pick(w + allowed * w.mean(), allowed, source)
    )
    poor = JointRanks(widths, aims, kappa)
    poor._room = Fraction(9)  # each of three sums may be twice what it was
    weights = {}
    for a, b in itertools.combinations_with_replacement(range(5), 2):
        ways = widths[a] * widths[b] / (1 if a < b else 2)
        weights[a, b] = ways * math.exp(-abs(a - 1) - abs(b - a - 2) - abs(4 - b - 1))
    total, draws = sum(weights.values()), 700
    seen = Counter(tuple(poor.draw()) for _ in range(draws))
    often = {ranks: draws * w / total for ranks, w in weights.items() if draws * w / total > 8}
    statistic = sum((seen[ranks] - mean) ** 2 / mean for ranks, mean in often.items())
    assert statistic < len(often) + 7 * math.sqrt(2 * len(often))


def test_whatever_is_allowed_may_be_proposed_however_little_it_weighs() -> None:
    class Last:
        """A source whose word is the last one below a bound."""

        def __init__(self, bound: int) -> None:
            self.bound = bound

        def word(self) -> int:
            return self.bound - 1

        def words(self, count: int) -> Any:
            return np.full(count, self.bound - 1, dtype=np.uint64)

    for weights in ([1.0, 1e-300], [1.0, 0.0], [0.0, 0.0], [1e-290, 1e-308]):
        values, allowed = np.array(weights), np.array([True, True])
        _, _, total, unit = _pick(values, allowed, SYSTEM)
        index, bound, again, _ = _pick(values, allowed, Last(total))
        assert (index, again) == (1, total)
        assert bound >= 1
        assert bound >= Fraction(weights[1]) * Fraction(2) ** unit


@pytest.mark.parametrize("neighbors", ["add-remove", "change-one"])
def test_the_range_of_losses_is_that_of_the_event_and_is_reached(neighbors: Any) -> None:
    mechanism = Quantiles(quantiles=[0.25, 0.5], low=0, high=3, step=1, epsilon=1, neighbors=neighbors)
    kappa = float(mechanism.kappa)
    widest = 0.0
    for size, number in ((1, 3), (3, 3), (4, 2), (4, 4)):
        everything = itertools.combinations_with_replacement(range(4), size)
        for rows in everything:
            for gone in range(size):
                rest = rows[:gone] + rows[gone + 1 :]
                aim = number if neighbors == "add-remove" else size
                aims = targets(mechanism.shares, aim)
                p = law(rows, 3, aims, kappa)
                others = [rest] if neighbors == "add-remove" else [(*rest, x) for x in range(4)]
                for other in others:
                    q = law(other, 3, aims, kappa)
                    losses = [math.log(p[places] / q[places]) for places in p]
                    widest = max(widest, max(losses) - min(losses))
    stated = float(mechanism.event.pure()) - float(mechanism.count_epsilon)
    assert 0.99 * stated <= widest <= stated * (1 + 1e-9)


def test_the_event_is_that_of_the_count_and_of_the_choice() -> None:
    for count in (2, 9, 49):
        shares = [Fraction(i + 1, count + 1) for i in range(count)]
        mechanism = Quantiles(quantiles=shares, low=0, high=1, epsilon=Fraction(3, 2))
        assert mechanism.event == Composed(
            (
                DiscreteLaplaceEvent(steps=1, scale=1 / mechanism.count_epsilon),
                ExponentialEvent(epsilon=2 * mechanism.kappa),
            )
        )
        assert mechanism.event.pure() == Fraction(3, 2)
        changing = Quantiles(quantiles=shares, low=0, high=1, epsilon=1, neighbors="change-one")
        assert changing.event == ExponentialEvent(epsilon=1)
    steep = Quantiles(quantiles=[0.2, 0.6], low=0, high=1, epsilon=10**6)
    assert steep.kappa == 2
    assert steep.event.pure() < 10**6


def test_the_number_of_rows_is_never_used_bare(monkeypatch: pytest.MonkeyPatch) -> None:
    scales: list[Any] = []

    def note(scale: Any) -> int:
        scales.append(scale)
        return 3

    monkeypatch.setattr("privet.noise.discrete_laplace", note)
    aimed: list[int] = []
    real = targets
    monkeypatch.setattr(module, "targets", lambda shares, number: aimed.append(number) or real(shares, number))
    mechanism = Quantiles(quantiles=[0.25, 0.75], low=0, high=4, step=1, epsilon=2)
    mechanism.release([1, 2, 3])
    assert (aimed, scales) == ([6], [1 / mechanism.count_epsilon])
    Quantiles(quantiles=[0.25, 0.75], low=0, high=4, step=1, epsilon=2, neighbors="change-one").release([1, 2, 3])
    assert aimed == [6, 3]


@pytest.mark.parametrize("kind", ["uniform", "normal"])
def test_deciles_are_off_by_fewer_ranks_than_the_best_listed(kind: str) -> None:
    generator = np.random.default_rng(8)
    shares = [i / 10 for i in range(1, 10)]
    mechanism = Quantiles(quantiles=shares, low=-100, high=100, epsilon=1)
    off = []
    for _ in range(120):
        values = np.sort(generator.uniform(-5, 5, 1000) if kind == "uniform" else generator.normal(0, 5, 1000))
        released = mechanism.release(values)
        off.append(np.abs(np.searchsorted(values, released) - 1000 * np.array(shares)).mean())
    assert np.mean(off) < 5.03  # 3.7 is expected, with a standard error of 0.18


def test_empty_constant_and_tied_data_are_ordinary() -> None:
    mechanism = Quantiles(quantiles=[0.1, 0.5, 0.9], low=0, high=9, step=1, epsilon=40)
    assert mechanism.release([7] * 500).tolist() == [7, 7, 7]
    assert mechanism.release([1] * 3000 + [4] * 4000 + [8] * 3000).tolist() == [1, 4, 8]
    for rows in ([], [3], [3, 3], [-5, 50]):
        released = mechanism.release(rows)
        assert released.dtype == np.int64
        assert (np.diff(released) >= 0).all()
        assert released.min() >= 0
        assert released.max() <= 9
    assert Quantiles(quantiles=[0, 1], low=0, high=9, epsilon=1).release([5.5] * 9).dtype == np.float64


def test_one_line_takes_the_way_that_suits_the_number() -> None:
    values = np.arange(1000)
    for count in (1, 2, 3, 5):
        shares = [Fraction(i + 1, count + 1) for i in range(count)]
        for neighbors in ("add-remove", "change-one"):
            released = quantiles(values, shares, 0, 1000, 5, step=1, neighbors=neighbors)  # type: ignore[arg-type]
            assert released.shape == (count,)
            assert np.abs(released - 1000 * np.array([float(q) for q in shares])).max() < 120
    assert RecursiveQuantiles(quantiles=[0.25, 0.5, 0.75], low=0, high=1, epsilon=1).levels == 2


def test_what_makes_no_joint_quantiles_is_refused() -> None:
    for change, told in (
        ({"quantiles": [0.5]}, "use Quantile"),
        ({"quantiles": [0.5, 0.4]}, "rising shares"),
        ({"low": 5}, "low must be below high"),
        ({"epsilon": 0}, "epsilon must be"),
        ({"neighbors": "x"}, "neighbors must be"),
    ):
        with pytest.raises(RequestError, match=told):
            Quantiles(**{"quantiles": [0.2, 0.5], "low": 0, "high": 1, "epsilon": 1, **change})  # type: ignore[arg-type]
    with pytest.raises(BadParameter, match="quantiles must be"):
        quantiles([1, 2], [], 0, 1, 1)
