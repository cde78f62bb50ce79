"""Exact output laws of strategies on two and three cells: equal supports, and no more loss than the event states."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from privet import strategy
from privet.strategy import StrategyMeasure
from privet.strategy.residuals import SparseCounts

PURE: list[strategy.Strategy] = [
    strategy.identity_strategy(2, measure="pure"),
    strategy.tree(2, branching=2, measure="pure"),
    strategy.haar(2, measure="pure", weights=[3, 1]),
    strategy.MatrixStrategy("signed", "pure", [[2, -1, 0], [1, 1, -3]], [1, 3]),
    strategy.sums_and_differences(strategy.matrix([[1, 0, 1], [0, 1, 1]]), measure="pure"),
    strategy.MarginalStrategy("pure", (2, 1), ((), (0,)), (2, 3)),
]


def laplace(scale: Fraction, reach: int) -> np.ndarray:
    one = math.exp(-1 / float(scale))
    return (1 - one) / (1 + one) * one ** np.abs(np.arange(-reach, reach + 1))


def neighbours(cells: int, relation: str) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
    single = [tuple(int(place == one) for place in range(cells)) for one in range(cells)]
    none = (0,) * cells
    # a unit that changes may have had no row in any cell
    others = list(itertools.permutations(single, 2)) if relation == "change-one" else []
    return [*((none, one) for one in single), *others]


@pytest.mark.parametrize("relation", ["add-remove", "change-one"])
@pytest.mark.parametrize("one", PURE, ids=lambda one: one.name)
def test_the_largest_ratio_of_two_output_laws_is_what_a_pure_strategy_costs(
    one: strategy.Strategy, relation: Any
) -> None:
    """Every output of the window, row by row: the law of a vector with independent noise is a product."""
    measure = StrategyMeasure(one, epsilon=1, neighbors=relation)
    scales = [scale for scale, many in measure.noises for _ in range(many)]
    worst = 0.0
    for before, after in neighbours(one.cells, relation):
        loss = 0.0
        for scale, a, b in zip(scales, one.apply(before), one.apply(after), strict=True):
            reach = 40
            law = laplace(scale, reach)
            # the same outputs are possible under both, since both are whole numbers with whole noise
            window = range(-20, 21)
            ratios = [math.log(law[x - a + reach] / law[x - b + reach]) for x in window]
            assert all(math.isfinite(ratio) for ratio in ratios)
            loss += max(ratios)
        worst = max(worst, loss)
    claimed = float(measure.event.pure())
    assert worst <= claimed * (1 + 1e-9)
    assert worst >= 0.9 * claimed


def gaussian(variance: float) -> dict[int, float]:
    reach = math.ceil(12 * math.sqrt(variance)) + 1
    weights = {x: math.exp(-x * x / (2 * variance)) for x in range(-reach, reach + 1)}
    total = math.fsum(weights.values())
    return {x: weight / total for x, weight in weights.items()}


def law_of_differences(cells: int, variance: float) -> dict[tuple[int, ...], float]:
    """Return the law of H z: what each of several independent numbers differs from the first by."""
    each = gaussian(variance)
    found: dict[tuple[int, ...], float] = {}
    if cells == 2:
        for first, p in each.items():
            for second, q in each.items():
                found[(second - first,)] = found.get((second - first,), 0.0) + p * q
        return found
    values = np.array(list(each.values()))
    reach = (len(values) - 1) // 2
    table = np.zeros((4 * reach + 1, 4 * reach + 1))
    outer = np.outer(values, values)
    for first, p in each.items():
        start = reach - first
        table[start : start + len(values), start : start + len(values)] += p * outer
    middle = 2 * reach
    return {(a - middle, b - middle): float(table[a, b]) for a in range(table.shape[0]) for b in range(table.shape[1])}


def renyi(law: dict[tuple[int, ...], float], move: tuple[int, ...], order: float) -> float:
    terms = []
    for x, p in law.items():
        q = law.get(tuple(a - b for a, b in zip(x, move, strict=True)), 0.0)
        if p > 1e-300 and q > 1e-300:
            terms.append(math.exp(order * math.log(p) + (1 - order) * math.log(q)))
    return math.log(math.fsum(terms)) / (order - 1)


@pytest.mark.parametrize("cells", [2, 3])
def test_residuals_cost_what_is_claimed_on_a_grid_as_fine_as_is_drawn(cells: int) -> None:
    """One row more in the last cell moves H m by `steps` in its last difference; |P e|^2 = 1 - 1/k of it is claimed."""
    variance, steps = 64.0 * cells, 8
    law = law_of_differences(cells, variance if cells == 2 else 64.0)
    held = variance if cells == 2 else 64.0
    move = (*(0,) * (cells - 2), steps)
    claimed = steps**2 / (2 * held) * (1 - 1 / cells)
    for order in (1.5, 2.0, 4.0):
        assert renyi(law, move, order) == pytest.approx(order * claimed, rel=1e-6)


@pytest.mark.parametrize(("variance", "ratio"), [(0.1, 1.35), (0.25, 1.08)])
@pytest.mark.parametrize("cells", [2, 3])
def test_residuals_of_whole_noise_would_cost_more_than_is_claimed(cells: int, variance: float, ratio: float) -> None:
    law = law_of_differences(cells, variance)
    move = (*(0,) * (cells - 2), 1)
    claimed = 1 / (2 * variance) * (1 - 1 / cells)
    assert max(renyi(law, move, order) / (order * claimed) for order in (1.01, 1.2, 1.5, 1.8)) > ratio


@pytest.mark.parametrize("shift", [0, 20])
@pytest.mark.parametrize("rho", [Fraction(1, 100), Fraction(50)])
def test_the_grid_of_residuals_is_that_fine_for_every_marginal(shift: int, rho: Fraction) -> None:
    planned = strategy.plan_residuals(strategy.all_marginals((2, 3, 40), ways=2))
    measure = StrategyMeasure(planned, rho=rho, neighbors="change-one", contribution=3, shift=shift)
    assert measure.exponent >= shift
    for variance, many in measure.noises:
        assert variance * 4**measure.exponent >= 64 * many


@pytest.mark.parametrize("measure", ["pure", "gaussian"])
def test_counts_of_people_who_are_scaled_down_get_the_noise_of_whole_rows_in_finer_steps(measure: Any) -> None:
    price: Any = {"epsilon": 1} if measure == "pure" else {"rho": Fraction(1, 2)}
    tree = strategy.tree(4, measure=measure)
    coarse = StrategyMeasure(tree, neighbors="add-remove", contribution=3, **price)
    fine = StrategyMeasure(tree, neighbors="add-remove", contribution=3, shift=20, **price)
    assert fine.event == coarse.event
    assert fine.noises == coarse.noises
    # the law on the fine grid is nearer to the continuous one, of variance 2 b^2, than that on whole numbers
    assert (fine.variances >= coarse.variances).all()
    # 15 standard deviations hold 7 numbers but for 1e-8 and less
    counts = [2**20 * count for count in (5, 0, 7, 1)]
    far = np.abs(fine.draw(counts) - np.array(tree.apply([5, 0, 7, 1]))) / np.sqrt(fine.variances)
    assert far.max() < 15


def test_sums_of_counts_near_their_declared_maximum_are_exact() -> None:
    """Noise of less than a step cannot hide a digit that is lost: at this price it is 0 but for 1e-30."""
    counts = [2**60 + 1, 1, 2**61 - 3, 7]
    for one in (
        strategy.tree(4, measure="pure"),
        strategy.ProductStrategy((strategy.tree(2, measure="pure"), strategy.haar(2, measure="pure"))),
        strategy.MarginalStrategy("pure", (2, 2), ((), (0,), (0, 1)), (1, 1, 1)),
    ):
        measure = StrategyMeasure(one, epsilon=1000, neighbors="add-remove")
        assert measure.draw_integers(counts) == one.apply(counts)
    places = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
    whole = strategy.MarginalStrategy("pure", (2, 2), ((), (0,), (0, 1)), (1, 1, 1))
    for scale in (1, 2**70):
        given = [count * scale for count in counts]
        assert whole.apply(SparseCounts(places, given)) == whole.apply(given)  # type: ignore[arg-type]
        assert whole.apply(SparseCounts(places[2:], given[2:])) == whole.apply([0, 0, *given[2:]])  # type: ignore[arg-type]
