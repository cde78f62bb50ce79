"""BOUNDS keeps what its plan claims: by brute force on generated SQL, and by the exact law of what is shown."""

from __future__ import annotations

import math
import random
import sys
from fractions import Fraction
from itertools import pairwise
from pathlib import Path

import duckdb
import numpy as np
import pytest

from privet.aggregates import Span
from privet.core.event import Receipt
from privet.core.relation import ColumnRef
from privet.core.schema import Contribution, Schema, Table, category, integer, number
from privet.core.unit import Person, Rows
from privet.engines.dialects.duckdb import DUCKDB
from privet.engines.duckdb.engine import DuckDB
from privet.engines.scan_sql.dialect import Renderer, RowSource
from privet.mechanisms import Laplace
from privet.planner.make import make_plan
from privet.planner.measures import FALSE, BoundsMeasure
from privet.planner.plan import Spend
from privet.query.expressions import evaluate_row
from privet.query.sql.parse import parse
from privet.release import release
from privet.testing.oracle import Memory

sys.path.insert(0, str(Path(__file__).parent))

from small_worlds import PURE, RHO, Bench, Shape, pairs

pa = pytest.importorskip("pyarrow")

QUERIES = {
    "one group": "SELECT BOUNDS(y) FROM d",
    "a filter": "SELECT BOUNDS(y) FILTER (WHERE y > 1) FROM d WHERE g <> 'c'",
    "by group": "SELECT g, BOUNDS(y) FROM d GROUP BY g",
    "by found group": "SELECT h, BOUNDS(y * 1.5) FROM d GROUP BY h",
}
SHAPES = [
    Shape(sql, who, neighbors, bound)
    for sql in QUERIES.values()
    for who in ("rows", "people", "windows")
    for neighbors, bound in (("add-remove", "norm"), ("change-one", "groups"))
]


@pytest.fixture(scope="module")
def bench() -> Bench:
    return Bench()


@pytest.mark.parametrize("spend", [PURE, RHO], ids=["laplace", "gaussian"])
@pytest.mark.parametrize("shape", SHAPES, ids=lambda s: f"{s.sql}, {s.who}, {s.neighbors}, {s.bound}")
def test_no_unit_moves_the_counts_of_ranges_by_more_than_the_plan_says(
    shape: Shape, spend: Spend, bench: Bench
) -> None:
    one = shape.plan(spend).passes[-1]
    assert isinstance(one.measure, BoundsMeasure)
    (measure,) = one.measures
    several = list(pairs(shape, random.Random(SHAPES.index(shape))))[:5]
    results = bench.scan_all(one, [world for pair in several for world in pair])
    largest = [0, 0]
    for before, after in zip(results[::2], results[1::2], strict=True):
        moves = [abs(before.get(cell, (0,))[0] - after.get(cell, (0,))[0]) for cell in before.keys() | after.keys()]
        largest = [max(largest[0], sum(moves)), max(largest[1], sum(move * move for move in moves))]
    claim = measure.sensitivity
    if isinstance(measure.mechanism, Laplace):
        assert measure.mechanism.sensitivity >= claim.l1 >= largest[0]
    else:
        assert measure.mechanism.sensitivity_squared >= claim.l2_squared >= largest[1]
    if (shape.who, shape.neighbors, spend) == ("rows", "change-one", PURE):
        assert largest[0] == claim.l1  # one range loses a row, and another has one more


@pytest.mark.parametrize("kind", ["integer", "number"])
def test_every_number_is_in_the_one_range_that_holds_it(kind: str) -> None:
    span = Span(ColumnRef("x"), kind, None, "low")
    columns = {"x": integer() if kind == "integer" else number()}
    numbers = span.ranges.values
    assert numbers is not None
    ends = [span.ends_of(one) for one in numbers]
    assert all(before[1] <= after[0] for before, after in pairwise(ends))
    assert ends[len(ends) // 2] == (0, 0)
    powers = [sign * 2**power + more for sign in (-1, 1) for power in range(62) for more in (-1, 0, 1)]
    some = [0, *powers] if kind == "integer" else [0.0, *map(float, powers), 2.0**-32, -(2.0**-31), 0.3, -1e-3, 1e-12]
    sql = Renderer({"x": RowSource("x", columns["x"])}, DUCKDB).render(span.ranges.expression).sql
    column = "BIGINT" if kind == "integer" else "DOUBLE"
    placed = duckdb.execute(f"SELECT x, {sql} FROM (SELECT unnest($1::{column}[]) AS x)", [some]).fetchall()
    assert len(placed) == len(some)
    for x, held in placed:
        low, high = span.ends_of(held)
        assert low <= Fraction(x) <= high
        assert (held > 0) == (x > 0)
    if kind == "number":  # beyond the last range, all count in it
        assert evaluate_row(span.ranges.expression, {"x": 1e300}, columns) == numbers[-1]
        assert evaluate_row(span.ranges.expression, {"x": float("-inf")}, columns) == numbers[0]


@pytest.mark.parametrize("spend", [PURE, RHO], ids=["laplace", "gaussian"])
def test_a_range_without_rows_is_hardly_ever_shown(spend: Spend) -> None:
    one = Shape(QUERIES["one group"], "people", "add-remove", "norm").plan(spend).passes[0]
    noise, ranges = one.measures[0].mechanism, len(one.scan.keys[-1].values or ())
    above = Fraction(one.measure.threshold(one.scan)) * 2 ** one.measures[0].shift
    if isinstance(noise, Laplace):
        # P[noise > t] = e^(-floor(t + 1) / scale) / (1 + e^(-1 / scale)) for discrete Laplace noise
        scale = float(noise.scale)
        chance = math.exp(-math.floor(above + 1) / scale) / (1 + math.exp(-1 / scale))
    else:
        chance = 0.5 * math.erfc(float(above) / noise.sigma / math.sqrt(2)) * (1 + 1e-6)
    assert ranges * chance <= float(FALSE) * (1 + 1e-9)
    assert ranges * chance >= float(FALSE) / 3  # and not much less often than that


GROUPS = [f"g{at}" for at in range(50)]  # as many answers in one release
ROWS = [{"u": 1, "g": group, "y": value} for group in GROUPS for value in [0] * 12 + [3] * 14 + [9] * 2]


def test_a_range_is_shown_with_exactly_the_probability_of_its_counts() -> None:
    schema = Schema(unit=Rows(), columns={"u": integer(), "g": category(GROUPS), "y": integer()})
    plan = make_plan(parse("SELECT g, BOUNDS(y) AS y FROM d GROUP BY g", {"d": schema}), {"d": schema}, spend=PURE)
    (one,) = plan.passes
    with DuckDB({"d": Table(pa.Table.from_pylist(ROWS), unit=Rows(), columns=schema.columns)}) as engine:
        exact = engine.scan(one.scan)
    span, noise = plan.readings[0].aggregate, one.measures[0].mechanism
    assert isinstance(span, Span)
    assert isinstance(noise, Laplace)
    numbers, scale, receipt = one.scan.keys[-1].values or (), float(noise.scale), Receipt(1, plan.digest, "somebody")
    counts = {0: 12, 2: 0, 3: 0, evaluate_row(span.ranges.expression, {"y": 3}, schema.columns): 14}
    counts[evaluate_row(span.ranges.expression, {"y": 9}, schema.columns)] = 2

    def passes(count: int) -> float:
        above = math.floor(span.threshold) + 1 - count
        tail = math.exp(-abs(above if above > 0 else 1 - above) / scale) / (1 + math.exp(-1 / scale))
        return tail if above > 0 else 1 - tail

    chances, none = {}, 1.0
    for index in numbers:  # the low end is that of the first range that passes
        chance = passes(counts.get(index, 0))
        low = span.ends_of(index)[0]
        chances[low] = chances.get(low, 0.0) + none * chance
        none *= 1 - chance
    chances[None] = none
    lows: list[object] = []
    for _ in range(40):
        (noisy,) = release([exact], plan, receipt).sums
        lows += list(span.read(*(np.array(of_range, dtype=float) for of_range in noisy)))
    draws = len(lows)
    assert math.isclose(sum(chances.values()), 1)
    for low, chance in chances.items():
        seen = sum(one == low for one in lows)
        assert abs(seen - draws * chance) <= 6 * math.sqrt(draws * chance * (1 - chance)) + 2


def test_people_are_bounded_over_all_ranges_together() -> None:
    schema = Schema(
        unit=Person("u"), columns={"u": integer(), "y": integer()}, contribution=Contribution(groups=2, rows=3)
    )
    (one,) = make_plan(parse("SELECT BOUNDS(y) FROM d", {"d": schema}), {"d": schema}, spend=PURE).passes
    world = [{"u": 1, "y": 2**at} for at in range(20)] * 2
    counts = (
        Memory(
            {"d": Table(world, unit=Person("u"), columns=schema.columns, contribution=Contribution(groups=1, rows=1))}
        )
        .scan(one.scan)
        ._groups
    )
    assert sum(count for (count,) in counts.values()) <= one.measures[0].sensitivity.l1 == 6 * 2**20
