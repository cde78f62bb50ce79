"""What one unit moves in running totals, by brute force on the engine's own SQL: counts, sums, and sums of both signs.

The strategies are those that sessions use for a history in groups: a tree for Laplace noise, the square root for
Gaussian noise, times single groups. Units are rows, people and windows of time, under both relations.
"""

from __future__ import annotations

import random
import sys
from dataclasses import replace
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from privet import strategy
from privet.aggregates.aggregate import rows
from privet.audit.neighbours import Seen, claims_of
from privet.core.errors import InvariantError
from privet.core.relation import ColumnRef, Literal
from privet.core.scan import Sum
from privet.planner.keys import Choice
from privet.planner.many_counts import strategy_measure
from privet.planner.matrix import MatrixMeasure
from privet.planner.plan import Pass
from privet.query.normal import call

sys.path.insert(0, str(Path(__file__).parent))

from small_worlds import Bench, Shape, pairs
from test_strategy_sensitivity import SHAPES, SIZES, hard_pairs, named, scan_of

Y = ColumnRef("y")
SUMS = {
    "counts": rows(None),
    "sums": Sum(Y, 0, 3),
    "sums below zero": Sum(call("subtract", Y, Literal(3)), -3, 0),
    "sums of both signs": Sum(call("subtract", Y, Literal(1)), -1, 2),
    "half steps": Sum(call("subtract", Y, Literal(1)), -2, 4, step=Fraction(1, 2)),
}


def history(measure: Any) -> strategy.Strategy:
    """Return totals along the second key, in each group of the first."""
    steps = strategy.square_root(SIZES[1]) if measure == "gaussian" else strategy.tree(SIZES[1], measure=measure)
    return strategy.ProductStrategy((strategy.identity_strategy(SIZES[0], measure=measure), steps))


def pass_of(shape: Shape, total: Sum, measure: Any) -> Pass:
    scan = replace(scan_of(shape), sums=(total,))
    choice = Choice("laplace" if measure == "pure" else "gaussian", Fraction(1, 2))
    made = Pass(scan, MatrixMeasure(strategy_measure(scan, history(measure), choice)))
    made.measure.verify(scan)
    return made


@pytest.fixture(scope="module")
def bench() -> Bench:
    return Bench()


CASES = [
    pytest.param(shape, total, id=f"{named(shape)}, {total}")
    for place, shape in enumerate(SHAPES)
    for total in SUMS
    if total in ("sums", "sums of both signs") or place % 4 == 0
]


@pytest.mark.parametrize(("shape", "total"), CASES)
def test_no_unit_moves_running_totals_by_more_than_is_charged(shape: Shape, total: str, bench: Bench) -> None:
    worlds = [*hard_pairs(shape), *list(pairs(shape, random.Random(SHAPES.index(shape))))[:40]]
    one = pass_of(shape, SUMS[total], "pure")
    seen = [Seen(found) for found in bench.scan_all(one, [world for pair in worlds for world in pair])]
    for measure in ("pure", "gaussian"):
        (claim,) = claims_of(pass_of(shape, SUMS[total], measure))
        moved = [claim.measured(*two) for two in zip(seen[::2], seen[1::2], strict=True)]
        assert max(moved) <= claim.size


@pytest.mark.parametrize("neighbors", ["add-remove", "change-one"])
@pytest.mark.parametrize("total", ["counts", "sums", "sums of both signs"])
def test_some_row_moves_running_totals_by_much_of_what_is_charged(neighbors: str, total: str, bench: Bench) -> None:
    shape = Shape("", "rows", neighbors, "norm", 1)
    cells = list(product(["a", "b", None], [0, 1, 2, 3, None]))
    alone = [[(0, y, g, "p", None)] for g, y in cells]
    worlds = [(one, other) for one in alone for other in (alone if neighbors == "change-one" else [[]])]
    one = pass_of(shape, SUMS[total], "pure")
    seen = [Seen(found) for found in bench.scan_all(one, [world for pair in worlds for world in pair])]
    (claim,) = claims_of(one)
    moved = max(claim.measured(*two) for two in zip(seen[::2], seen[1::2], strict=True))
    # a value is also a step here, so that not every pair of them is possible; both signs are allowed for in full
    assert moved >= (Fraction(2, 5) if total == "sums of both signs" else Fraction(9, 10)) * claim.size


def test_sums_of_both_signs_are_charged_twice_where_units_change() -> None:
    claimed = {}
    for neighbors in ("add-remove", "change-one"):
        for total in ("sums", "sums of both signs"):
            measure: Any = pass_of(Shape("", "people", neighbors, "norm", 1), SUMS[total], "pure").measure
            claimed[neighbors, total] = measure.noise.contribution
    assert claimed["add-remove", "sums"] == claimed["change-one", "sums"] == 4 * 3
    assert claimed["add-remove", "sums of both signs"] == 4 * 2
    assert claimed["change-one", "sums of both signs"] == 2 * 4 * 2


@pytest.mark.parametrize(
    "wrong",
    [
        Sum(Y, 0, 3, power=2),
        Sum(Y, 0, 3, offset=1),
        Sum(Y, 0, 3, origin=Fraction(1)),
        Sum(Y, 0, 0),
        Sum(None, 2, 2),
        Sum(Y, 0, 4),
        Sum(Y, -3, 3),
        Sum(Y, 0, 4, offset=1),
        Sum(Y, 0, 2, power=2, offset=1),
        Sum(Y, 1, 4, offset=1),
    ],
)
def test_a_plan_for_other_sums_than_it_reads_is_refused(wrong: Sum) -> None:
    one = pass_of(Shape("", "people", "change-one", "norm", 1), SUMS["sums"], "pure")
    with pytest.raises(InvariantError):
        one.measure.verify(replace(one.scan, sums=(wrong,)))
