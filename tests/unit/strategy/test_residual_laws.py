"""What residuals of integer noise cost: exact laws of H z, against the curve that is charged."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from privet import strategy
from privet.strategy.residuals import difference


def gaussian(variance: float) -> dict[int, float]:
    reach = math.ceil(9 * math.sqrt(variance)) + 2
    weights = {k: math.exp(-k * k / (2 * variance)) for k in range(-reach, reach + 1)}
    total = sum(weights.values())
    return {k: weight / total for k, weight in weights.items()}


def law(values: int, variance: float) -> dict[tuple[int, ...], float]:
    """Return the law of H z: the differences of `values` independent discrete Gaussians with the first."""
    each = gaussian(variance)
    found: Counter[tuple[int, ...]] = Counter()
    for first, weight in each.items():
        for others in itertools.product(each.items(), repeat=values - 1):
            found[tuple(other - first for other, _ in others)] += weight * math.prod(chance for _, chance in others)
    return found


def renyi(one: dict[tuple[int, ...], float], shift: tuple[int, ...], order: float) -> float:
    """Return the Renyi divergence of a law from itself moved by a shift; far tails, as small as rounding, left out."""
    total = 0.0
    for place, weight in one.items():
        other = one.get(tuple(a - b for a, b in zip(place, shift, strict=True)), 0.0)
        if weight > 1e-13 and other > 0:
            total += weight**order * other ** (1 - order)
    return math.log(total) / (order - 1)


def moved(values: int, cell: int) -> tuple[int, ...]:
    """Return how far one row in a cell moves the differences."""
    unit = np.zeros(values, dtype=int)
    unit[cell] = 1
    return tuple(int(one) for one in difference(unit))


@pytest.mark.parametrize(
    ("values", "variance", "ratio"), [(2, 0.1, 1.67), (2, 0.25, 1.11), (3, 0.1, 1.45), (3, 0.25, 1.12)]
)
def test_differences_of_coarse_integers_cost_more_than_is_claimed(values: int, variance: float, ratio: float) -> None:
    claimed = (1 - 1 / values) / (2 * variance)
    worst = max(renyi(law(values, variance), moved(values, cell), 1.001) / 1.001 for cell in range(values))
    assert worst / claimed == pytest.approx(ratio, abs=0.02)


@pytest.mark.parametrize(("values", "variance"), [(2, 2.0), (2, 6.0), (3, 3.0)])
@pytest.mark.parametrize("order", [1.5, 2.0, 6.0])
def test_differences_of_fine_integers_cost_what_is_claimed(values: int, variance: float, order: float) -> None:
    """From two steps of variance a value on; 64 are drawn, beyond what can be listed, and the excess falls as e^-20."""
    one = law(values, variance)
    for cell in range(values):
        claimed = order * (1 - 1 / values) / (2 * variance)
        assert renyi(one, moved(values, cell), order) <= claimed * (1 + 1e-6)


@pytest.mark.parametrize("sizes", [(2,), (3,), (2, 3)])
def test_the_event_is_the_curve_of_the_law_that_is_drawn(sizes: tuple[int, ...]) -> None:
    """The event's divergence is that of a Gaussian by the norm of P e, for the variances that are drawn."""
    planned = strategy.plan_residuals(strategy.all_marginals(sizes, ways=len(sizes)))
    measured = strategy.StrategyMeasure(planned, rho=0.3, neighbors="add-remove")
    worst = 0.0
    for cell in itertools.product(*map(range, sizes)):
        found = 0.0
        for axes, (variance, many) in zip(planned.subsets, measured.noises, strict=True):
            unit = np.zeros([sizes[axis] for axis in axes], dtype=int)
            unit[tuple(cell[axis] for axis in axes)] = 1
            centred = unit - 0.0
            for axis in range(centred.ndim):
                centred = centred - centred.mean(axis=axis, keepdims=True)
            found += float((centred**2).sum()) / (2 * float(variance))
            assert variance * 4**measured.exponent >= 64 * many
        worst = max(worst, found)
    for order in (1.5, 2.0, 10.0):
        assert measured.event.rdp(order) >= order * worst * (1 - 1e-9)
        assert measured.event.rdp(order) <= order * worst * (1 + 1e-3)


def law_of_both(rows: int, values: int, variance: float) -> dict[tuple[int, ...], float]:
    """Return the law of H z along one attribute, for each row of a basis along another, drawn independently."""
    one = law(values, variance)
    found: Counter[tuple[int, ...]] = Counter()
    for several in itertools.product(one.items(), repeat=rows):
        found[tuple(itertools.chain(*(place for place, _ in several)))] += math.prod(chance for _, chance in several)
    return found


@pytest.mark.parametrize("neighbors", ["add-remove", "change-one"])
@pytest.mark.parametrize("asked", [strategy.prefixes, strategy.all_ranges, None])
def test_a_basis_beside_differences_costs_what_is_claimed(asked: Any, neighbors: Any) -> None:
    """Two values beside two with a basis, or three: every neighbour's exact law, on the noise that `noises` scale."""
    ranged = 3 if asked is None else 2
    rows = [[1, -1, 0], [0, 1, -1]] if asked is None else None
    basis: Any = (
        strategy.CentredBasis("rows", "gaussian", rows, [1, 1])
        if asked is None
        else strategy.plan_residuals(strategy.marginals((2,), [(0,)], factors={0: asked(2)})).bases[0]
    )
    matrix = np.asarray(basis.matrix)
    divisor = int(np.gcd.reduce(matrix.ravel()))
    matrix = matrix // divisor  # a common factor of all rows is a unit, and the noise is in it
    one = strategy.ResidualStrategy((2, ranged), ((0, 1),), (1,), bases=(None, basis))
    measured = strategy.StrategyMeasure(one, rho=Fraction(1, 10), neighbors=neighbors)
    ((scale, many),) = measured.noises
    assert many == 2 * basis.rows
    variance = float(scale) / divisor**2
    assert variance >= 2  # coarser than is drawn, and fine enough
    noise = law_of_both(basis.rows, 2, variance)
    cells = list(itertools.product(range(2), range(ranged)))

    def released(cell: tuple[int, int] | None) -> Any:
        count = np.zeros((2, ranged), dtype=int)
        if cell is not None:
            count[cell] = 1
        return difference(count @ matrix.T, [0]).ravel()

    steps = [released(cell) for cell in cells]
    if neighbors == "change-one":
        steps += [a - b for a, b in itertools.permutations(steps, 2)]
    for order in (1.5, 3.0):
        divergences = [renyi(noise, tuple(map(int, step)), order) for step in steps]
        claimed = measured.event.rdp(order)
        assert max(divergences) <= claimed * (1 + 1e-6)
        assert max(divergences) >= 0.9 * claimed
