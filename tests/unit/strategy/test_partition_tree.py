"""A partition that follows the data: what it costs by its exact law, what it draws, and what it estimates."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest

from privet import strategy
from privet.core.errors import PrivetError, RequestError
from privet.strategy.partition_tree import partition_loss


def halved(value: int, scale: float) -> float:
    """Return P[value + discrete Laplace > 0]."""
    a = math.exp(-1 / scale)
    return a ** (1 - value) / (1 + a) if value <= 0 else 1 - a**value / (1 + a)


def law(counts: list[int], scale: float, fall: int, depth: int = 0) -> dict[Any, float]:
    """Return the law of the partition of a power of two of cells: nested pairs, and None for a part that is left."""
    if len(counts) == 1:
        return {None: 1.0}
    chance = halved(max(-fall, sum(counts) - depth * fall), scale)
    middle = len(counts) // 2
    found: dict[Any, float] = {None: 1 - chance}
    for (one, first), (other, second) in product(
        law(counts[:middle], scale, fall, depth + 1).items(), law(counts[middle:], scale, fall, depth + 1).items()
    ):
        found[one, other] = chance * first * second
    return found


@pytest.mark.parametrize(("scale", "fall"), [(Fraction(1, 2), 1), (Fraction(2), 3), (Fraction(5), 7), (Fraction(9), 2)])
@pytest.mark.parametrize("cells", [2, 4, 8])
def test_one_row_moves_the_law_of_the_partition_by_what_is_claimed(scale: Fraction, fall: int, cells: int) -> None:
    depth = cells.bit_length() - 1
    claimed = float(partition_loss(scale, fall, depth))
    worst = 0.0
    others = [[0] * (cells - 1), [3] + [0] * (cells - 2), [1] * (cells - 1)]
    for rest, many in product(others, range(3 * fall + 4)):
        before, after = (law([count, *rest], float(scale), fall) for count in (many, many + 1))
        assert before.keys() == after.keys()
        worst = max(worst, *(abs(math.log(after[one] / before[one])) for one in before))
    assert worst <= claimed * (1 + 1e-6)  # digits cancel in 1 - chance
    assert worst >= 0.9 * claimed


@pytest.mark.parametrize("neighbors", ["add-remove", "change-one"])
@pytest.mark.parametrize("contribution", [1, 3])
@pytest.mark.parametrize("shape", [(1,), (2,), (300,), (16, 5, 3)])
def test_the_event_is_that_of_the_scales_and_is_epsilon(neighbors: Any, contribution: int, shape: Any) -> None:
    one = strategy.PartitionTree(shape, epsilon=Fraction(1, 10), neighbors=neighbors, contribution=contribution)
    rows = contribution * (1 if neighbors == "add-remove" else 2)
    assert one.event.pure() == Fraction(1, 10)
    partition, counts = one.event.events
    assert counts.pure() == rows / one.count_scale
    assert partition.pure() == rows * partition_loss(one.scale, one.fall, one.depth)
    assert partition.pure() <= Fraction(4, 100)
    if one.depth > 2:
        assert partition.pure() > Fraction(38, 1000)
        assert 2.1 < float(one.scale * partition.pure()) / rows < 2.3


def test_a_huge_epsilon_gives_back_the_counts() -> None:
    counts = [70, 0, 0, 0, 10, 20, 30, 40, 0, 0, 0]
    one = strategy.PartitionTree((11,), epsilon=4000, neighbors="add-remove")
    np.testing.assert_allclose(one.release(counts).cells, counts)
    table = np.arange(15).reshape(5, 3) * 10
    two = strategy.PartitionTree((5, 3), epsilon=4000, neighbors="change-one", nonnegative=False)
    found = two.release(table)
    np.testing.assert_allclose(found.table(), table)
    np.testing.assert_allclose(found.answers(strategy.all_marginals((5, 3), ways=1))[:5], table.sum(axis=1))


def test_parts_are_nested_boxes_over_which_counts_are_even() -> None:
    one = strategy.PartitionTree((6, 4), epsilon=1, neighbors="add-remove")
    assert one.spans == ((8, 4), (4, 4), (2, 4), (2, 2), (1, 2), (1, 1))
    counts = [40 if place < 4 else 0 for place in range(24)]
    for depths, cells in one.simulate(counts, 50):
        for depth, spans in enumerate(one.spans):
            boxes = [(row // spans[0], column // spans[1]) for row in range(6) for column in range(4)]
            for box in set(boxes):
                inside = [place for place, other in enumerate(boxes) if other == box]
                held = {depths[place] for place in inside}
                if depth in held:
                    assert held == {float(depth)}
                    assert np.ptp(cells[inside]) == 0


def test_negative_parts_are_raised_and_the_total_is_kept() -> None:
    one = strategy.PartitionTree((64,), epsilon=0.05, neighbors="add-remove")
    for _ in range(20):
        depths, cells = one.simulate([0] * 63 + [300], 1)[0]
        raised = one._raised(depths, cells)
        assert raised.min() >= 0
        assert raised.sum() == pytest.approx(max(cells.sum(), 0.0), abs=1e-6)


def test_sparse_data_err_far_less_than_by_the_best_hierarchy() -> None:
    """Errors of ten runs each, about 25 against 65: the chance of a tie is far below 1e-6."""
    counts = [0] * 256
    counts[10], counts[11], counts[200] = 500, 300, 200
    ranges = strategy.all_ranges(256)
    truth = ranges.answers(counts)
    tree = strategy.StrategyMeasure(strategy.best_tree(ranges, measure="pure"), epsilon=0.1, neighbors="add-remove")
    one = strategy.PartitionTree((256,), epsilon=0.1, neighbors="add-remove")
    errors = np.zeros(2)
    for _ in range(10):
        by_tree = strategy.reconstruct(tree, tree.draw(counts)).cells
        errors += [np.abs(ranges.answers(found) - truth).mean() for found in (by_tree, one.release(counts).cells)]
    assert errors[1] < errors[0]


def test_counts_of_any_size_do_not_overflow() -> None:
    one = strategy.PartitionTree((4,), epsilon=1000, neighbors="add-remove")
    found = one.release([2**80, 0, 2**63, 5])
    assert found.cells[0] == pytest.approx(2.0**80)


def test_it_says_that_error_bars_are_not_known() -> None:
    one = strategy.PartitionTree((4,), epsilon=1, neighbors="add-remove")
    assert str(one.release([1, 2, 3, 4])) == "4 cells by a partition tree; error bars are not known"
    assert not hasattr(one.release([1, 2, 3, 4]), "deviations")
    assert "scale=" in repr(one)


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: strategy.PartitionTree((0,), epsilon=1, neighbors="add-remove"), "shape"),
        (lambda: strategy.PartitionTree((4,), epsilon=0, neighbors="add-remove"), "epsilon"),
        (lambda: strategy.PartitionTree((4,), epsilon=1, neighbors="add-remove", splitting=1), "splitting"),
        (lambda: strategy.PartitionTree((4,), epsilon=1, neighbors="add-remove", contribution=0), "contribution"),
        (lambda: strategy.PartitionTree((2**20, 2**20), epsilon=1, neighbors="add-remove"), "at most"),
        (lambda: strategy.PartitionTree((4,), epsilon=1, neighbors="add-remove").release([1, 2]), "4 cells"),
        (lambda: strategy.PartitionTree((2,), epsilon=1, neighbors="add-remove").release([1, -2]), "at least 0"),
        (lambda: strategy.PartitionTree((2,), epsilon=1, neighbors="add-remove").release([1, 0.5]), "whole numbers"),
        (lambda: strategy.EstimatedCells([1.0], (2,), "by hand"), "for each of the 2 cells"),
        (lambda: strategy.EstimatedCells([1.0, 2.0], (2,), "by hand").answers(strategy.total(3)), "shape"),
    ],
)
def test_bad_input_is_refused_with_what_to_do(make: Any, says: str) -> None:
    with pytest.raises(RequestError, match=says) as refused:
        make()
    assert isinstance(refused.value, PrivetError)
