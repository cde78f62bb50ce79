"""Running sums: what is released depends on the values through noisy whole numbers alone, which move as claimed."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from privet import noise
from privet.core.budget import Pure, Zcdp
from privet.core.errors import BadParameter, LedgerError, RequestError
from privet.inference.levels import mixed
from privet.stream import BufferedSums, RootSums, TreeSums, roots
from privet.stream.buffered import FACTOR_BITS, WEIGHT_BITS
from privet.stream.sums import LARGEST_TOTAL, RunningSums
from privet.stream.tree import laplace_width

Make = Callable[..., RunningSums[Any]]
UNIT = Zcdp(rho=0.5)


def pure_tree(**fields: Any) -> RunningSums[Any]:
    return TreeSums(spend=Pure(epsilon=1), **fields)


def gaussian_tree(**fields: Any) -> RunningSums[Any]:
    return TreeSums(spend=UNIT, **fields)


def root(**fields: Any) -> RunningSums[Any]:
    return RootSums(spend=UNIT, **fields)


def buffered(**fields: Any) -> RunningSums[Any]:
    return BufferedSums(spend=UNIT, **fields)


ALL: tuple[Make, ...] = (pure_tree, gaussian_tree, root, buffered)


class Drawn:
    """Noise that a test chooses: each draw is the next of its numbers, and 0 after the last."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.numbers: Iterator[int] = iter(())
        self.asked = 0
        for name in ("discrete_gaussian", "discrete_laplace"):
            monkeypatch.setattr(noise, name, self._draw)

    def _draw(self, parameter: object, shape: tuple[int, int]) -> Any:
        self.asked += shape[0]
        return np.array([next(self.numbers, 0) for _ in range(shape[0] * shape[1])], dtype=np.int64).reshape(shape)


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> Drawn:
    return Drawn(monkeypatch)


def values(*rows: Any) -> Any:
    return np.array(rows, dtype=np.int64).reshape(len(rows), -1)


def run(sums: RunningSums[Any], given: Any, drawn: Drawn, numbers: Any = ()) -> tuple[Any, Any]:
    drawn.numbers = iter(np.asarray(numbers, dtype=np.int64).ravel().tolist())
    state, released = sums.advance(sums.begin(), given)
    return sums.write_state(state), released


def shifts(sums: RunningSums[Any], given: Any) -> Any:
    """Return what is measured without its noise, in the order in which the noise is drawn: a row for each draw."""
    if isinstance(sums, RootSums):
        column = sums._column
        rows = [
            [
                sum(int(column[t - s]) * int(given[s][g]) for s in range(min(t + 1, len(given))))
                for g in range(sums.width)
            ]
            for t in range(sums.horizon)
        ]
        return np.array(rows, dtype=object)
    if isinstance(sums, BufferedSums):
        return np.array(sums.measure(sums.begin().buffers, given)[0], dtype=object)
    assert isinstance(sums, TreeSums)
    nodes = []
    for step in range(len(given)):
        opened = sums.levels if step == 0 else (step & -step).bit_length()
        nodes += [(step, min(len(given), step + 2**level)) for level in range(opened)]
    return np.array([given[first:last].sum(axis=0).tolist() for first, last in nodes], dtype=object)


NEIGHBOURS = [
    (values(1, 0), values(0, 0)),
    (values(2, 5, 1), values(2, 4, 1)),
    (values(7, 7, 7), values(7, 7, 6)),
    (values(0, 1, 0, 0, 3), values(0, 0, 0, 0, 3)),
]


@pytest.mark.parametrize("make", ALL)
@pytest.mark.parametrize(("one", "other"), NEIGHBOURS)
def test_what_is_released_depends_on_the_noisy_numbers_alone(make: Make, one: Any, other: Any, drawn: Drawn) -> None:
    """Two streams, with noise that makes up for their difference, release the same bytes: so supports are equal, and
    the likelihood ratio is that of whole noise against whole noise that was shifted by a whole vector."""
    sums = make(horizon=len(one))
    here, there = shifts(sums, one), shifts(sums, other)
    chosen = np.array(list(itertools.islice(itertools.cycle([3, -2, 0, 8, -5, 1]), here.size)), dtype=object)
    same = chosen.reshape(here.shape) + here - there
    first, second = run(sums, one, drawn, chosen), run(sums, other, drawn, same)
    assert first[1].tobytes() == second[1].tobytes()
    if not isinstance(sums, BufferedSums):  # whose state has exact buffers
        assert first[0] == second[0]


def test_noise_on_prefixes_would_have_disjoint_supports() -> None:
    """The trap that measuring C x avoids: y2 = x1 + x2 + z2 + z1 / 2 shows the parity of z1, and so of x1."""
    outcomes = [
        {(x1 + z1, Fraction(2 * (x1 + z2) + z1, 2)) for z1 in range(-9, 10) for z2 in range(-9, 10)} for x1 in (0, 1)
    ]
    inner = [{one for one in found if abs(one[0]) < 5 and abs(one[1]) < 3} for found in outcomes]
    assert inner[0]
    assert not inner[0] & inner[1]


def log_divergence(shift: int, variance: float, order: int) -> float:
    """Return log of the sum of p(z)^order p(z - shift)^(1 - order), for discrete Gaussian noise on all that counts."""
    places = np.arange(-600, 601, dtype=np.float64)
    here, there = -(places**2) / (2 * variance), -((places - shift) ** 2) / (2 * variance)
    normal = math.log(np.exp(here).sum())
    terms = order * here + (1 - order) * there
    return float(np.log(np.exp(terms - terms.max()).sum()) + terms.max() - normal)


@pytest.mark.parametrize("horizon", [2, 3])
@pytest.mark.parametrize("order", [2, 5, 20])
def test_the_exact_divergence_of_short_streams_is_as_claimed(
    horizon: int, order: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All outcomes of 2 and 3 steps, with entries of 2 digits, so that the noise is a few steps: order times rho."""
    monkeypatch.setattr(roots, "BITS", 2)
    rho = Fraction(1, 8)
    sums = RootSums(horizon=horizon, spend=Zcdp(rho=rho))
    assert sums.event.rho() == rho
    found = []
    for place in range(horizon):
        given = values(*([0] * place + [1] + [0] * (horizon - place - 1)))
        moved = shifts(sums, given).ravel().tolist()
        found.append(sum(log_divergence(int(shift), float(sums._variance), order) for shift in moved) / (order - 1))
    assert max(found) <= order * float(rho) * (1 + 1e-9)
    assert max(found) >= 0.999 * order * float(rho)  # the first row reaches it
    assert found == sorted(found, reverse=True)  # and later ones move less


@pytest.mark.parametrize("horizon", [2, 3, 4])
def test_the_exact_loss_of_short_trees_is_as_claimed(horizon: int, drawn: Drawn) -> None:
    """The largest log-ratio of all outcomes is the sum of |shift| / scale, which the worst row brings to epsilon."""
    epsilon = Fraction(3, 4)
    sums = TreeSums(horizon=horizon, spend=Pure(epsilon=epsilon), bound=2)
    scale = sums.moves * sums.levels / epsilon
    losses = []
    for place in range(horizon):
        given = values(*([0] * place + [2] + [0] * (horizon - place - 1)))
        losses.append(sum(abs(Fraction(int(one))) for one in shifts(sums, given).ravel()) / scale)
    assert max(losses) <= epsilon
    assert max(losses) == epsilon


# Sensitivity: what one unit moves, by brute force


def moved_squared(sums: RunningSums[Any], one: Any, other: Any) -> Any:
    difference = shifts(sums, one) - shifts(sums, other)
    return (difference.astype(object) ** 2).sum()


@pytest.mark.parametrize("rows", [1, 2, 3, 5])
@pytest.mark.parametrize("spread", ["consecutive", "apart", "one step"])
def test_a_person_moves_the_sums_by_rows_times_a_column_and_no_more(rows: int, spread: str) -> None:
    steps = {"consecutive": range(rows), "apart": range(0, 16, 16 // rows), "one step": [0] * rows}[spread]
    given = np.zeros((16, 2), dtype=np.int64)
    for index in list(steps)[:rows]:
        given[index, 0] += 3
    for sums in (root(horizon=16, width=2, bound=3, rows=rows), buffered(horizon=16, width=2, bound=3, rows=rows)):
        claim = sums.sensitivity_squared if isinstance(sums, RootSums) else sums.sensitivity**2  # type: ignore[attr-defined]
        moved = moved_squared(sums, given, np.zeros_like(given))
        assert moved <= claim
        if spread == "one step":
            assert moved >= 0.999 * float(claim)  # attained
        single = np.zeros_like(given)
        single[0, 0] = 3
        column = moved_squared(sums, single, np.zeros_like(given))
        if spread == "consecutive" and rows > 1:
            assert moved > rows * column  # the root of the number of rows would be too little


def test_rows_in_several_groups_are_within_the_claim() -> None:
    for pattern in itertools.product(range(4), range(3), repeat=2):
        given = np.zeros((4, 3), dtype=np.int64)
        given[pattern[0], pattern[1]] += 1
        given[pattern[2], pattern[3]] += 1
        for sums in (root(horizon=4, width=3, rows=2), buffered(horizon=4, width=3, rows=2)):
            claim = sums.sensitivity_squared if isinstance(sums, RootSums) else sums.sensitivity**2  # type: ignore[attr-defined]
            assert moved_squared(sums, given, np.zeros_like(given)) <= claim
        tree = TreeSums(horizon=4, width=3, rows=2, spend=Pure(epsilon=1))
        l1 = np.abs(shifts(tree, given)).sum()
        assert l1 <= tree.moves * tree.levels
        assert moved_squared(tree, given, np.zeros_like(given)) <= tree.moves**2 * tree.levels


def test_one_event_is_in_one_group_so_groups_share_no_cost() -> None:
    for make in ALL:
        alone, several = make(horizon=32), make(horizon=32, width=20)
        assert several.event == alone.event
        assert several.deviation(32) == pytest.approx(alone.deviation(32), rel=1e-6)


def test_changing_a_row_costs_twice_adding_one() -> None:
    for make in ALL:
        once, twice = make(horizon=32), make(horizon=32, neighbors="change-one")
        assert twice.deviation(32) == pytest.approx(2 * once.deviation(32), rel=1e-3)
    for place, to in itertools.permutations(range(4), 2):
        one, other = np.zeros((4, 1), dtype=np.int64), np.zeros((4, 1), dtype=np.int64)
        one[place], other[to] = 1, 1
        sums = root(horizon=4, neighbors="change-one")
        assert moved_squared(sums, one, other) <= sums.sensitivity_squared  # type: ignore[attr-defined]


# Buffers: the rounding that is charged


def exact_measures(sums: BufferedSums, given: list[int]) -> list[Fraction]:
    """Return C x in rationals, from the definition of the buffers."""
    rates = [Fraction(one, 2**FACTOR_BITS) for one in sums.factors]
    weights = [Fraction(one, 2**WEIGHT_BITS) for one in sums.weights]
    kept, found = [Fraction(0)] * len(rates), []
    for value in given:
        kept = [rate * one for rate, one in zip(rates, kept, strict=True)]
        found.append((value + sum(w * one for w, one in zip(weights, kept, strict=True))) * 2**sums.shift)
        # cut far below what is compared, so that the rationals stay short
        kept = [Fraction(math.floor((one + value) * 2**400), 2**400) for one in kept]
    return found


@pytest.mark.parametrize("size", [1, 10**6, LARGEST_TOTAL])
def test_the_recursion_is_within_the_rounding_that_is_charged(size: int) -> None:
    sums = BufferedSums(horizon=10_000, spend=UNIT)
    random = np.random.default_rng(7)
    given = random.integers(-size, size + 1, 10_000)
    given[:100] = size
    measured, _ = sums.measure(sums.begin().buffers, given[:, None])
    exact = exact_measures(sums, given.tolist())
    off = max(abs(row[0] - one) for row, one in zip(measured, exact, strict=True))
    assert off <= sums.rounding
    assert off > Fraction(2, 5)  # the claim is not idle: the last rounding alone is up to 1/2


def test_the_rounding_that_is_charged_is_far_below_the_noise() -> None:
    sums = BufferedSums(horizon=10**6, spend=Zcdp(rho=50))
    assert sums.rounding <= float(sums._variance) ** 0.5 * 2.0**-30
    assert sums.sensitivity**2 <= sums.column_squared * 4**sums.shift * (1 + Fraction(1, 10**6))
    assert sums.sensitivity**2 > sums.column_squared * 4**sums.shift


def test_the_column_of_the_buffers_is_not_understated() -> None:
    for horizon in (1, 2, 3, 50):
        sums = BufferedSums(horizon=horizon, spend=UNIT)
        rates = [Fraction(one, 2**FACTOR_BITS) for one in sums.factors]
        weights = [Fraction(one, 2**WEIGHT_BITS) for one in sums.weights]
        column = [Fraction(1)] + [
            sum((w * a**j for w, a in zip(weights, rates, strict=True)), Fraction(0)) for j in range(1, horizon)
        ]
        exact = sum(one * one for one in column)
        assert exact <= sums.column_squared <= exact * (1 + Fraction(1, 10**9))


def test_the_state_of_buffers_does_not_grow_with_the_horizon_or_the_steps() -> None:
    sizes = []
    for horizon, steps in ((2**17, 10), (2**20, 5000)):
        sums = BufferedSums(horizon=horizon, spend=UNIT)
        state, _ = sums.advance(sums.begin(), np.ones((steps, 1), dtype=np.int64))
        sizes.append(len(json.dumps(sums.write_state(state))))
    assert max(sizes) <= 1.5 * min(sizes) < 2000


# Estimates


@pytest.mark.parametrize("make", ALL)
def test_without_noise_the_sums_are_exact(make: Make, drawn: Drawn) -> None:
    random = np.random.default_rng(3)
    given = random.integers(-50, 100, (37, 3))
    _, released = run(make(horizon=40, width=3, bound=100), given, drawn)
    assert released == pytest.approx(np.cumsum(given, axis=0), abs=1e-3)


@pytest.mark.parametrize("make", ALL)
def test_steps_one_by_one_are_steps_at_once(make: Make, drawn: Drawn) -> None:
    sums = make(horizon=21, width=2)
    given = np.arange(42, dtype=np.int64).reshape(21, 2)
    at_once = run(sums, given, drawn)[1]
    state, found = sums.begin(), []
    for row in given:
        state, released = sums.advance(state, row[None, :])
        state = sums.read_state(json.loads(json.dumps(sums.write_state(state))))  # as after a restart
        found.append(released[0])
    assert np.array(found) == pytest.approx(at_once, abs=1e-6)
    assert sums.step_of(state) == 21
    with pytest.raises(RequestError, match="horizon of 21 steps"):
        sums.advance(state, given[:1])


@pytest.mark.parametrize("make", ALL)
def test_what_is_released_uses_no_later_value_and_no_later_noise(make: Make, drawn: Drawn) -> None:
    """So the values of a step may depend on all that was released before it."""
    sums = make(horizon=9)
    one, other = values(4, 0, 3, 1, 9, 9, 9, 9, 9), values(4, 0, 3, 1, -7, 8, 0, 1, 2)
    numbers = list(range(1, 40))
    assert run(sums, one, drawn, numbers)[1][:4].tobytes() == run(sums, other, drawn, numbers)[1][:4].tobytes()
    assert run(sums, one[:4], drawn, numbers)[1].tobytes() == run(sums, one, drawn, numbers)[1][:4].tobytes()


@pytest.mark.parametrize("make", ALL)
def test_every_step_has_noise_of_its_own(make: Make, drawn: Drawn) -> None:
    sums = make(horizon=8)
    drawn.asked = 0
    run(sums, values(*[0] * 8), drawn)
    assert drawn.asked >= 8


@pytest.mark.parametrize("make", ALL)
def test_a_state_is_never_changed_in_place(make: Make) -> None:
    sums = make(horizon=8)
    first, _ = sums.advance(sums.begin(), values(1, 2))
    before = json.dumps(sums.write_state(first))
    sums.advance(first, values(5, 6, 7))
    assert json.dumps(sums.write_state(first)) == before


@pytest.mark.parametrize("refine", [False, True])
def test_the_tree_uses_only_what_is_full(refine: bool, drawn: Drawn) -> None:
    """A sum after a step is the same whatever comes later: noise of later nodes, and of those that are not full yet."""
    sums = TreeSums(horizon=16, spend=UNIT, refine=refine)
    given = values(*range(16))
    nodes = [(0, level) for level in range(5)]
    nodes += [(step, level) for step in range(1, 16) for level in range((step & -step).bit_length())]
    plain = run(sums, given, drawn)[1][:, 0]
    for index, (first, level) in enumerate(nodes):
        numbers = [0] * len(nodes)
        numbers[index] = 1000
        moved = run(sums, given, drawn, numbers)[1][:, 0] - plain
        assert not moved[: first + 2**level - 1].any()


def test_the_error_that_is_told_is_that_of_the_estimate(drawn: Drawn) -> None:
    """Each number of noise moves the sums by a factor; the squares of the factors add up to the variance."""
    for make in (pure_tree, gaussian_tree, root, buffered):
        sums = make(horizon=13)
        given = np.zeros((13, 1), dtype=np.int64)
        drawn.asked = 0
        run(sums, given, drawn)
        size = 2**40
        factors = []
        for index in range(min(drawn.asked, 80)):
            numbers = [0] * drawn.asked
            numbers[index] = size
            factors.append(run(sums, given, drawn, numbers)[1][:, 0] / size)
        unit = sums._unit if isinstance(sums, TreeSums) else float(sums._variance) ** 0.5  # type: ignore[attr-defined]
        told = [sums.deviation(step) for step in range(1, 14)]
        assert np.sqrt((np.array(factors) ** 2).sum(axis=0)) * unit == pytest.approx(told, rel=1e-6)


@pytest.mark.parametrize("tail", [0.3, 0.1, 0.05, 0.01])
@pytest.mark.parametrize(
    "parts",
    [((1.0, 2),), ((1.0, 3),), ((1.0, 12),), ((1.0, 1), (0.5, 2)), ((2 / 3, 1), (1 / 3, 2)), ((1.0, 2), (0.1, 9))],
)
def test_intervals_of_several_laplace_noises_are_wide_enough(parts: tuple[tuple[float, int], ...], tail: float) -> None:
    exact = mixed(parts, 0.0).reach(tail)
    assert exact <= laplace_width(parts, tail) <= 1.04 * exact
    normal = math.sqrt(2 * sum(a * a * many for a, many in parts)) * 1.959964
    if tail == 0.05 and sum(many for _, many in parts) <= 4:
        assert laplace_width(parts, tail) > normal


def test_one_laplace_noise_has_its_own_interval() -> None:
    assert laplace_width(((2.0, 1),), 0.05) == pytest.approx(-2 * math.log(0.05))


# Bad input


@pytest.mark.parametrize(
    "fields",
    [
        {"horizon": 0},
        {"horizon": 2**25},
        {"horizon": 2.5},
        {"horizon": 8, "width": 0},
        {"horizon": 8, "bound": 0},
        {"horizon": 8, "bound": 2**40},
        {"horizon": 8, "rows": 0},
        {"horizon": 8, "neighbors": "both"},
        {"horizon": 8, "entries": 0},
    ],
)
def test_impossible_parameters_are_refused(fields: dict[str, Any]) -> None:
    for make in ALL:
        with pytest.raises(BadParameter):
            make(**fields)


def test_gaussian_mechanisms_refuse_a_pure_spend() -> None:
    for kind in (RootSums, BufferedSums):
        with pytest.raises(BadParameter, match="whose noise is Gaussian"):
            kind(horizon=8, spend=Pure(epsilon=1))
        with pytest.raises(BadParameter, match=r"Pure\(epsilon"):
            kind(horizon=8, spend=1)  # type: ignore[arg-type]


def test_the_square_root_refuses_what_it_cannot_keep() -> None:
    for fields in ({"horizon": 2**14 + 1}, {"horizon": 2**10, "width": 65}):
        with pytest.raises(BadParameter, match="buffered"):
            RootSums(spend=UNIT, **fields)  # type: ignore[arg-type]


def test_noise_that_does_not_fit_64_bits_is_refused() -> None:
    for kind in (TreeSums, RootSums):
        with pytest.raises(BadParameter, match="64 bits"):
            kind(horizon=64, spend=Zcdp(rho=Fraction(1, 2**120)), bound=2**32)


@pytest.mark.parametrize("make", ALL)
def test_totals_are_clamped_before_they_are_added(make: Make, drawn: Drawn) -> None:
    sums = make(horizon=3)
    _, released = run(sums, values(2**62, -(2**62), 5), drawn)
    assert released[:, 0] == pytest.approx([LARGEST_TOTAL, 0, 5], abs=1e-3)


@pytest.mark.parametrize("make", ALL)
def test_values_of_another_shape_or_kind_are_refused(make: Make) -> None:
    sums = make(horizon=3, width=2)
    for wrong in (values(1), np.zeros((1, 2)), np.zeros((1, 2), dtype=object), np.zeros(2, dtype=np.int64), [[1, 2]]):
        if isinstance(wrong, list):
            sums.advance(sums.begin(), np.array(wrong))
            continue
        with pytest.raises(BadParameter, match="2 columns"):
            sums.advance(sums.begin(), wrong)


@pytest.mark.parametrize("make", ALL)
def test_a_damaged_state_is_refused(make: Make) -> None:
    sums = make(horizon=5, width=2)
    state, _ = sums.advance(sums.begin(), values([1, 2], [3, 4]))
    good = sums.write_state(state)
    for name in good:
        for wrong in (None, "x", [], [[1]], {}):
            with pytest.raises(LedgerError, match="changed or damaged"):
                sums.read_state({**good, name: wrong})
    with pytest.raises(LedgerError, match="changed or damaged"):
        sums.read_state({})
