"""Quantiles: the exact law against its definition, for all neighbours on tiny grids, and every ordinary odd case."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from privet.core.errors import BadParameter, BadValue, RequestError
from privet.mechanisms import ExponentialEvent, Quantile, RecursiveQuantiles, quantile
from privet.mechanisms.lattice import read_ruler
from privet.mechanisms.quantile_one import CountedTally, Listed, choose_place, count_places, half_range, options

D_STAR = [1, 2, 35, 36, 36, 99, 115]
SHARES = [Fraction(0), Fraction(1, 3), Fraction(1, 2), Fraction(9, 10), Fraction(1)]


def law(values: tuple[int, ...], q: Fraction, last: int, rate: float) -> np.ndarray:
    """Return the probabilities of the places 0 to last by the definition: ranks off, place by place."""
    n = len(values)
    off = []
    for place in range(last + 1):
        below, through = sum(x < place for x in values), sum(x <= place for x in values)
        off.append(max(0, below - float(q) * n, float(q) * n - through))
    weights = np.exp(-rate * np.array(off))
    return np.asarray(weights / weights.sum())


@pytest.mark.parametrize("q", SHARES, ids=str)
def test_the_law_is_that_of_the_definition(q: Fraction) -> None:
    mechanism = Quantile(q=q, low=0, high=4, step=1, epsilon=Fraction(3, 2))
    for size in range(5):
        for values in itertools.combinations_with_replacement(range(5), size):
            expected = law(values, q, 4, float(mechanism.rate))
            assert mechanism.probabilities(list(values)) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("q", SHARES, ids=str)
@pytest.mark.parametrize("neighbors", ["add-remove", "change-one"])
def test_no_neighbour_changes_a_probability_by_more_than_epsilon_and_some_do_by_nearly_that(
    q: Fraction, neighbors: Any
) -> None:
    epsilon = 1.25
    mechanism = Quantile(q=q, low=0, high=5, step=1, epsilon=epsilon, neighbors=neighbors)
    worst, widest = 0.0, 0.0
    for size in range(1, 5):
        for rows in itertools.combinations_with_replacement(range(6), size):
            p = np.log(mechanism.probabilities(list(rows)))
            for gone, came in itertools.product(range(size), range(6)):
                rest = rows[:gone] + rows[gone + 1 :]
                other = list(rest) if neighbors == "add-remove" else [*rest, came]
                loss = p - np.log(mechanism.probabilities(other))
                worst, widest = max(worst, np.abs(loss).max()), max(widest, np.ptp(loss))
    assert worst <= widest <= epsilon * (1 + 1e-9)
    if q != Fraction(9, 10):  # which needs more than four rows
        assert widest >= epsilon * 0.999


def test_a_row_moves_a_median_by_half_a_rank_and_an_extreme_by_one() -> None:
    assert half_range(Fraction(1, 2), "add-remove") == Fraction(1, 2)
    assert half_range(Fraction(9, 10), "add-remove") == Fraction(9, 10)
    assert half_range(Fraction(1, 10), "change-one") == 1
    assert half_range(Fraction(1), "change-one") == half_range(Fraction(0), "add-remove") == Fraction(1, 2)
    assert Quantile(q=0.5, low=0, high=1, epsilon=1).rate == 1
    assert Quantile(q=0.5, low=0, high=1, epsilon=1, neighbors="change-one").rate == Fraction(1, 2)


def test_the_law_of_the_textbook_median_is_the_independent_one() -> None:
    # On a fine grid the occupied places weigh nothing, and the law is that of the intervals between the values.
    mechanism = Quantile(q=0.5, low=0, high=115, step=Fraction(1, 512), epsilon=0.5)
    odds = mechanism.probabilities(D_STAR)
    places = np.arange(odds.size) / 512
    for low, high, chance in [(0, 1, 0.00339599), (1, 2, 0.00559904), (35, 36, 0.0152198), (99, 115, 0.0895846)]:
        assert odds[(places > low) & (places < high)].sum() == pytest.approx(chance, rel=5e-3)
    assert float((odds * np.abs(places - 36)).sum()) == pytest.approx(30.33232, rel=2e-3)


def test_what_is_taken_together_far_off_is_drawn_as_if_it_were_not(monkeypatch: pytest.MonkeyPatch) -> None:
    # With hardly any reach nearly every draw comes from the ends, through rejection; the law stays what it was.
    monkeypatch.setattr("privet.mechanisms.quantile_one._REACH", Fraction(1, 1000))
    mechanism = Quantile(q=0.4, low=0, high=19, step=1, epsilon=0.8)
    values = list(range(20))
    expected = mechanism.probabilities(values) * 4_000
    often = expected > 10
    assert often.sum() == 14
    for drawn in ([mechanism.release(values) for _ in range(4_000)], mechanism.simulate(values, 4_000)):
        counts = np.bincount(drawn, minlength=20)
        assert ((counts - expected)[often] ** 2 / expected[often]).sum() < 70  # a tail of about 1e-8 at 13 degrees


def test_numbers_and_their_counts_are_the_same_to_a_choice() -> None:
    generator = np.random.default_rng(3)
    for _ in range(50):
        rows = np.sort(generator.integers(0, 12, size=generator.integers(0, 9)))
        listed, counted = Listed(rows), count_places(np.bincount(rows, minlength=12), 11)
        assert isinstance(counted, CountedTally)
        assert listed.total == counted.total == rows.size
        for place in range(12):
            assert listed.ranks(place) == counted.ranks(place) == ((rows < place).sum(), (rows <= place).sum())
            for one, other in zip(listed.split(place), counted.split(place), strict=True):
                assert one.total == other.total
                assert one.ranks(7) == other.ranks(7)
        for low, high in itertools.product(range(-1, 9), range(-1, 10)):
            one, other = listed.window(low, high), counted.window(low, high)
            assert one.places.tolist() == other.places.tolist()
            assert one.through.tolist() == other.through.tolist()
            assert one.before == other.before
            for rank in range(max(low, 0), min(high, rows.size)):
                assert rows[rank] in one.places


def test_every_place_is_an_option_exactly_once() -> None:
    for values in ([], [0], [11], [0, 11], [3, 3, 3], list(range(12))):
        found = Listed(np.array(values, dtype=np.int64))
        widths, off = options(found.window(0, 99), Fraction(1, 2), found.total, first=0, last=11)
        assert widths.sum() == 12
        assert widths.min() >= 0
        assert off.min() >= 0


@pytest.mark.parametrize("values", [[], [7] * 1000, [0] * 5, [10] * 5, [0] * 4 + [10] * 4, [-99, 99]], ids=str)
def test_empty_constant_and_clamped_data_are_ordinary(values: list[int]) -> None:
    mechanism = Quantile(q=0.5, low=0, high=10, step=1, epsilon=4)
    released = [mechanism.release(values) for _ in range(30)]
    assert all(type(x) is int and 0 <= x <= 10 for x in released)
    if values == [7] * 1000:
        assert set(released) == {7}


def test_reals_come_back_as_floats_within_the_bounds() -> None:
    mechanism = Quantile(q=0.25, low=-1.5, high=2.25, epsilon=2)
    values = np.linspace(-9, 9, 1001)
    for kind in (values, values.astype(np.float32), values.tolist(), [Fraction(1, 3)] * 9):
        released = mechanism.release(kind)
        assert type(released) is float
        assert -1.5 <= released <= 2.25


def test_a_place_is_the_nearest_one_whatever_the_kind_of_number() -> None:
    ruler = read_ruler(-2, 8, 5)
    rows = [-100, -2, 0, 1, 3, 5, 6, 8, 10**15]
    assert ruler.last == 2
    expected = [0, 0, 0, 1, 1, 1, 2, 2, 2]
    for kind in (rows, [float(x) for x in rows], [Fraction(x) for x in rows], np.array(rows, dtype=object)):
        assert ruler.place(kind).tolist() == expected
    assert read_ruler(0, 1, Fraction(3, 10)).place([0.99, 0.1]).tolist() == [3, 0]
    assert read_ruler(0, 1, Fraction(3, 5)).place([1.0, 1.0]).tolist() == [1, 1]
    assert ruler.at([0, 2]).tolist() == [-2, 8]
    assert read_ruler(0.5, 1, 0.25).at([0, 2]).tolist() == [0.5, 1.0]


def test_the_rank_error_theorem_holds_exactly() -> None:
    mechanism = Quantile(q=0.5, low=0, high=100, step=1, epsilon=1)
    values = list(range(20, 81))
    odds = mechanism.probabilities(values)
    for confidence in (0.5, 0.9, 0.99):
        most = mechanism.error(confidence)
        off = np.array(
            [max(0, sum(x < p for x in values) - 30.5, 30.5 - sum(x <= p for x in values)) for p in range(101)]
        )
        assert odds[off >= most].sum() <= 1 - confidence
    assert mechanism.error(0.95, width=10) < mechanism.error(0.95)
    assert mechanism.error(0.95) == pytest.approx(math.log(101 * 20), rel=1e-9)


def test_the_event_is_that_of_the_exponential_mechanism() -> None:
    for q, neighbors in itertools.product(SHARES, ("add-remove", "change-one")):
        mechanism = Quantile(q=q, low=0, high=1, epsilon=Fraction(5, 7), neighbors=neighbors)  # type: ignore[arg-type]
        assert mechanism.event == ExponentialEvent(epsilon=Fraction(5, 7))
    assert Quantile(q=0.9, low=0, high=1, epsilon=1).q == Fraction(9, 10)
    assert type(quantile([1, 2, 3], 0.5, 0, 10, 1)) is float


@pytest.mark.parametrize("q", [0.25, 0.5, 0.9])
def test_choosing_is_exact_at_the_edges_of_what_may_be_chosen(q: float) -> None:
    found = Listed(np.array([4, 4, 5, 9], dtype=np.int64))
    drawn = {
        choose_place(found, Fraction(q).limit_denominator(10), Fraction(1, 50), first=4, last=9) for _ in range(400)
    }
    assert drawn == set(range(4, 10))


# --- several at once --------------------------------------------------------------------------------------------------


def recursive_law(values: tuple[int, ...], mechanism: RecursiveQuantiles, last: int) -> dict[tuple[int, ...], float]:
    """Return the probability of every answer, without spreading, by recursion over the definition."""

    def rate_of(q: Fraction) -> float:
        return float(mechanism.level_epsilon / (2 * max(q, 1 - q)))

    def go(rows: tuple[int, ...], shares: tuple[Fraction, ...], within: Any, ends: Any) -> dict[tuple[int, ...], float]:
        if not shares:
            return {(): 1.0}
        middle = len(shares) // 2
        q = (shares[middle] - within[0]) / (within[1] - within[0])
        inside = law(tuple(x - ends[0] for x in rows), q, ends[1] - ends[0], rate_of(q))
        out: dict[tuple[int, ...], float] = {}
        for step, chance in enumerate(inside):
            place = ends[0] + step
            lefts = go(
                tuple(x for x in rows if x <= place), shares[:middle], (within[0], shares[middle]), (ends[0], place)
            )
            rights = go(
                tuple(x for x in rows if x > place), shares[middle + 1 :], (shares[middle], within[1]), (place, ends[1])
            )
            for (a, pa), (b, pb) in itertools.product(lefts.items(), rights.items()):
                key = (*a, place, *b)
                out[key] = out.get(key, 0.0) + float(chance) * pa * pb
        return out

    return go(values, mechanism.shares, (Fraction(0), Fraction(1)), (0, last))


@pytest.mark.parametrize("neighbors", ["add-remove", "change-one"])
@pytest.mark.parametrize("shares", [[Fraction(1, 3), Fraction(2, 3)], [0.25, 0.5, 0.9]], ids=["thirds", "three"])
def test_no_neighbour_changes_any_joint_probability_by_more_than_epsilon(neighbors: Any, shares: Any) -> None:
    # Spreading is a random function of each row alone, so the law of what follows it is what has to be private.
    mechanism = RecursiveQuantiles(quantiles=shares, low=0, high=3, step=1, epsilon=1, neighbors=neighbors)
    laws = {
        rows: recursive_law(rows, mechanism, 3)
        for size in range(4)
        for rows in itertools.combinations_with_replacement(range(4), size)
    }
    worst = 0.0
    for rows in laws:
        for gone in range(len(rows)):
            rest = rows[:gone] + rows[gone + 1 :]
            others = [rest] if neighbors == "add-remove" else [tuple(sorted((*rest, x))) for x in range(4)]
            for other in others:
                losses = [abs(math.log(laws[rows][key] / laws[other][key])) for key in laws[rows]]
                worst = max(worst, *losses)
    assert 0.5 < worst <= 1 + 1e-9


def test_several_quantiles_are_drawn_from_that_law(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("privet.mechanisms.quantile_several._SPREAD_BITS", 0)
    mechanism = RecursiveQuantiles(quantiles=[0.25, 0.5, 0.9], low=0, high=3, step=1, epsilon=3)
    rows, draws = (0, 1, 1, 3, 3), 5_000
    expected = recursive_law(rows, mechanism, 3)
    seen: dict[tuple[int, ...], int] = dict.fromkeys(expected, 0)
    for _ in range(draws):
        seen[tuple(mechanism.release(list(rows)).tolist())] += 1
    statistic = sum((seen[key] - draws * p) ** 2 / (draws * p) for key, p in expected.items() if draws * p > 5)
    cells = sum(draws * p > 5 for p in expected.values())
    assert statistic < cells + 6.5 * math.sqrt(2 * cells)


def test_quantiles_come_in_order_and_cut_between_equal_numbers() -> None:
    shares = [0.1, 0.25, 0.5, 0.75, 0.9]
    mechanism = RecursiveQuantiles(quantiles=shares, low=0, high=9, step=1, epsilon=50)
    rows = [1] * 3000 + [4] * 4000 + [8] * 3000
    for released in (mechanism.release(rows), mechanism.release_counts(np.bincount(rows, minlength=10))):
        assert released.dtype == np.int64
        assert released.tolist() == [1, 1, 4, 8, 8]
    for rows in ([], [4], [4] * 9):
        released = RecursiveQuantiles(quantiles=shares, low=0, high=9, epsilon=1).release(rows)
        assert released.dtype == np.float64
        assert (np.diff(released) >= 0).all()


def test_the_event_counts_levels_not_quantiles() -> None:
    for count, levels in ((1, 1), (2, 2), (3, 2), (4, 3), (7, 3), (9, 4), (49, 6)):
        shares = [Fraction(i + 1, count + 1) for i in range(count)]
        mechanism = RecursiveQuantiles(quantiles=shares, low=0, high=1, epsilon=1)
        assert mechanism.levels == levels
        assert mechanism.event.pure() == 1
        assert mechanism.event.rho() == Fraction(1, 8 * levels)
        both = RecursiveQuantiles(quantiles=shares, low=0, high=1, epsilon=1, neighbors="change-one")
        assert both.event == mechanism.event
        assert both.level_epsilon == mechanism.level_epsilon / 2


# --- what is refused --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"q": 1.5}, "q must be a share from 0 to 1"),
        ({"q": math.nan}, "q must be"),
        ({"q": "0.5"}, "q must be"),
        ({"low": 10, "high": 0}, "low must be below high"),
        ({"low": 3, "high": 3}, "low must be below high"),
        ({"low": -math.inf}, "low must be"),
        ({"high": 10**400}, "high must be"),
        ({"step": 0}, "step must be"),
        ({"step": 20}, "step must be at most high - low"),
        ({"step": 1e-30}, "step must be"),
        ({"epsilon": 0}, "epsilon must be"),
        ({"epsilon": -1}, "epsilon must be"),
        ({"neighbors": "both"}, "neighbors must be"),
    ],
    ids=str,
)
def test_what_makes_no_quantile_is_refused(change: dict[str, Any], told: str) -> None:
    with pytest.raises(RequestError, match=told):
        Quantile(**{"q": 0.5, "low": 0, "high": 10, "epsilon": 1, **change})


@pytest.mark.parametrize(
    "shares", [[], [0.5, 0.5], [0.7, 0.2], 0.5, "0.5", [0.1, 1.2], [None], [0.5, 0.5 + 1e-13]], ids=str
)
def test_quantiles_must_rise(shares: Any) -> None:
    with pytest.raises(BadParameter, match="quantiles must be"):
        RecursiveQuantiles(quantiles=shares, low=0, high=10, epsilon=1)


@pytest.mark.parametrize(
    "counts", [[1, 2], [0] * 12, [-1] + [0] * 10, [0.5] * 11, "ab", None, [2**41] + [0] * 10], ids=str
)
def test_counts_are_one_for_each_place(counts: Any) -> None:
    for mechanism in (
        Quantile(q=0.5, low=0, high=10, step=1, epsilon=1),
        RecursiveQuantiles(quantiles=[0.5], low=0, high=10, step=1, epsilon=1),
    ):
        with pytest.raises(BadValue, match="counts must be"):
            mechanism.release_counts(counts)


def test_probabilities_of_a_fine_grid_are_not_listed() -> None:
    with pytest.raises(RequestError, match="pass a step"):
        Quantile(q=0.5, low=0, high=10, epsilon=1).probabilities([1, 2])
