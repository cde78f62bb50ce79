"""The most frequent values keep what their event promises: by brute force on generated SQL, by exact laws."""

from __future__ import annotations

import math
import random
import sys
from fractions import Fraction
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from privet.core.schema import Contribution, Table
from privet.mechanisms.selection import flips
from privet.mechanisms.top_k import Frequent
from privet.planner.make import make_plan
from privet.planner.plan import Pass, Spend
from privet.query.sql.parse import parse
from privet.testing.oracle import Memory

sys.path.insert(0, str(Path(__file__).parent))

from small_worlds import COLUMNS, NAMES, PURE, RHO, Bench, Row, Shape, pairs

QUERIES = {
    "one group": "SELECT MODE(y) FROM d",
    "three of them": "SELECT TOP_K(y, 3) FROM d",
    "filtered": "SELECT MODE(y) FILTER (WHERE y > 1) FROM d WHERE g <> 'c'",
    "by group": "SELECT g, MODE(y) FROM d GROUP BY g",
    "found": "SELECT MODE(h) FROM d",
    "found by group": "SELECT g, TOP_K(h, 2) FROM d GROUP BY g",
}
SHAPES = [
    Shape(sql, who, neighbors, bound, group)
    for sql in QUERIES.values()
    for who in ("rows", "people", "windows")
    for neighbors in ("add-remove", "change-one")
    for bound, group in (("norm", 1), ("groups", 1), ("norm", 2))
    if bound == "norm" or who == "people"
]


@pytest.fixture(scope="module")
def bench() -> Bench:
    return Bench()


def span(one: Pass, before: dict[Row, Row], after: dict[Row, Row]) -> int:
    """Return the ranges of the moves of scores, added over all groups; a cell that only one holds is hidden."""
    cells = before.keys() & after.keys() if one.keys is not None else before.keys() | after.keys()
    moves: dict[Row, list[int]] = {}
    for cell in cells:
        moves.setdefault(cell[:-1], []).append(after.get(cell, (0,))[0] - before.get(cell, (0,))[0])
    # what stands for nothing does not move
    return sum(max(0, *several) - min(0, *several) for several in moves.values())


@pytest.mark.parametrize("shape", SHAPES, ids=lambda s: f"{s.sql}, {s.who}, {s.neighbors}, {s.bound}, {s.group}")
def test_no_unit_moves_the_counts_of_values_by_a_wider_range_than_the_plan_says(shape: Shape, bench: Bench) -> None:
    (one,) = shape.plan().passes
    several = list(pairs(shape, random.Random(SHAPES.index(shape))))
    results = bench.scan_all(one, [world for pair in several for world in pair])
    widest = 0
    for before, after in zip(results[::2], results[1::2], strict=True):
        widest = max(widest, span(one, before, after))
        assert all(cell[-1] is not None for cell in (*before, *after))
    assert widest <= one.measure.choice.span
    if (
        (shape.bound, shape.group, shape.neighbors) == ("norm", 1, "add-remove")
        and shape.who != "windows"
        and not one.keys
    ):
        assert widest >= one.measure.choice.span * Fraction(99, 100)


def twin(row: Row) -> dict[str, Any]:
    return dict(zip(NAMES, row, strict=True))


def law(draw: Frequent, scores: list[int]) -> dict[tuple[int | None, ...], float]:
    """Return the probability of each list of choices, from the definition; what stands for nothing comes last."""
    options = [*(2 * score for score in scores), *[draw.one] * draw.k]
    rate = float(draw.rate) / 2
    found: dict[tuple[int | None, ...], float] = {}
    if draw.law == "exponential":
        chances = flips(np.array([rate * (max(options) - score) for score in options]))
        raw = {(index,): float(chance) for index, chance in enumerate(chances)}
    else:
        weights = [math.exp(rate * (score - max(options))) for score in options]
        raw = {}
        for order in permutations(range(len(options)), draw.k):
            left, chance = list(range(len(options))), 1.0
            for index in order:
                chance *= weights[index] / sum(weights[one] for one in left)
                left.remove(index)
            raw[order] = chance
    for order, chance in raw.items():
        held = [index for index in order if index < len(scores)]
        key = (*held, *[None] * (draw.k - len(held)))
        found[key] = found.get(key, 0.0) + chance
    return found


TINY = ["SELECT MODE(y) FROM d", "SELECT g, MODE(y) FROM d GROUP BY g", "SELECT g, TOP_K(y, 2) FROM d GROUP BY g"]


@pytest.mark.parametrize("spend", [PURE, RHO], ids=["epsilon", "rho"])
@pytest.mark.parametrize("neighbors", ["add-remove", "change-one"])
@pytest.mark.parametrize("who", ["rows", "people"])
@pytest.mark.parametrize("sql", TINY)
def test_no_neighbour_moves_the_law_of_what_is_chosen_beyond_its_event(
    sql: str, who: str, neighbors: str, spend: Spend
) -> None:
    shape = Shape("", who, neighbors, "norm")
    tables = {"d": shape.schema}
    (one,) = make_plan(parse(sql, tables), tables, spend=spend).passes
    draw, worst = one.measure.choice, 0.0
    assert draw is not None
    cells = [("a",), ("b",), (None,)] if "GROUP" in sql else [()]
    generator = random.Random(7)
    for _ in range(12):
        laws = []
        for world in next(pairs(shape, generator)):
            memory = Memory(
                {
                    "d": Table(
                        [twin(row) for row in world],
                        unit=shape.schema.unit,
                        columns=COLUMNS,
                        contribution=Contribution(groups=1, rows=1),
                    )
                }
            )
            held = memory.scan(one.scan)._groups
            scores = [[held.get((*cell, value), (0,))[0] for value in range(4)] for cell in cells]
            laws.append([law(draw, of_group) for of_group in scores])
        low = high = 0.0
        for first, second in zip(*laws, strict=True):
            losses = [math.log(chance / second[key]) for key, chance in first.items()]
            low, high = low + min(losses), high + max(losses)
        claimed = float(draw.rate * draw.span) * draw.k
        assert max(high, -low) <= claimed + 1e-9
        if draw.law == "gumbel" and draw.k == 1:
            assert high - low <= claimed + 1e-9
        worst = max(worst, high, -low)
    total = one.measure.choice.event
    assert math.isclose(float(total.pure()), float(draw.rate * draw.span) * draw.k)
    assert float(total.pure() if spend is PURE else total.rho()) <= (1 if spend is PURE else 0.5)
    assert worst > 0.2 * float(total.pure()) / draw.k


@pytest.mark.parametrize("scores", [[], [0, 0], [3, 1, 2], [40, 0, 0]])
@pytest.mark.parametrize(("k", "kind"), [(1, "exponential"), (1, "gumbel"), (2, "gumbel")])
def test_values_are_drawn_with_exactly_their_law(scores: list[int], k: int, kind: str) -> None:
    draw = Frequent(k, Fraction(1), Fraction(2, 3), kind, 1)  # type: ignore[arg-type]
    expected, draws = law(draw, scores), 3000
    drawn = draw.release([scores] * draws)
    assert set(drawn) <= set(expected)
    assert math.isclose(sum(expected.values()), 1)
    for key, chance in expected.items():
        assert abs(drawn.count(key) - draws * chance) <= 6 * math.sqrt(draws * chance * (1 - chance)) + 2
