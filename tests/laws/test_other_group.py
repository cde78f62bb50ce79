"""An other group keeps what its plan claims: whatever values were found, no unit moves the second reading by more."""

from __future__ import annotations

import math
import random
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from privet.core.event import Receipt
from privet.core.scan import Norm
from privet.core.schema import Contribution, Schema, Table, integer, text
from privet.core.unit import Person
from privet.mechanisms import Laplace
from privet.planner.keys import with_found
from privet.planner.make import make_plan
from privet.planner.measures import KeyRule
from privet.planner.plan import Plan, Spend
from privet.query.sql.parse import parse
from privet.release import found_first
from privet.testing.oracle import Memory

sys.path.insert(0, str(Path(__file__).parent))

from small_worlds import PURE, RHO, Bench, Shape, pairs

QUERIES = {
    "one key": "SELECT h, COUNT(*), SUM(y) FROM d GROUP BY h",
    "with a public key": "SELECT g, h, COUNT(*), AVG(y) FROM d GROUP BY g, h",
}
FOUND = [(), ("p",), ("q", None), ("other", "p", "q", None)]
SHAPES = [
    Shape(sql, who, neighbors, bound)
    for sql in QUERIES.values()
    for who in ("rows", "people", "windows")
    for neighbors, bound in (("add-remove", "norm"), ("change-one", "norm"), ("add-remove", "groups"))
]


def planned(shape: Shape, spend: Spend) -> Plan:
    tables = {"d": shape.schema}
    query = replace(parse(shape.sql, tables), other="other")
    return make_plan(query, tables, spend=spend, bound=shape.bound)


@pytest.fixture(scope="module")
def bench() -> Bench:
    return Bench()


@pytest.mark.parametrize("spend", [PURE, RHO], ids=["laplace", "gaussian"])
@pytest.mark.parametrize("shape", SHAPES, ids=lambda s: f"{s.sql}, {s.who}, {s.neighbors}, {s.bound}")
def test_no_unit_moves_the_second_reading_by_more_than_the_plan_says(shape: Shape, spend: Spend, bench: Bench) -> None:
    plan = planned(shape, spend)
    assert plan.finds_first
    first, *later = plan.passes
    assert not first.measures
    generator = random.Random(SHAPES.index(shape))
    for found in FOUND[:: 1 if shape.who == "people" else 3]:
        several = list(pairs(shape, generator))[:6]
        worlds = [world for pair in several for world in pair]
        for one in later:
            results = bench.scan_all(replace(one, scan=with_found(one.scan, found)), worlds)
            for before, after in zip(results[::2], results[1::2], strict=True):
                for place, measure in enumerate(one.measures):
                    cells = before.keys() | after.keys()
                    none = (0,) * len(one.measures)
                    moves = [abs(before.get(cell, none)[place] - after.get(cell, none)[place]) for cell in cells]
                    claim = measure.sensitivity
                    if isinstance(measure.mechanism, Laplace):
                        assert sum(moves) <= claim.l1
                    else:
                        assert sum(move * move for move in moves) <= claim.l2_squared
                names = {cell[-1] for cell in (*before, *after)}
                assert names <= {*found, "other"}


def test_a_value_is_found_with_exactly_the_probability_of_its_rule() -> None:
    schema = Schema(unit=Person("u"), columns={"u": integer(), "h": text()})
    query = replace(parse("SELECT h, COUNT(*) FROM d GROUP BY h", {"d": schema}), other="other")
    plan = make_plan(query, {"d": schema}, spend=PURE)
    rule = plan.passes[0].keys
    assert isinstance(rule, KeyRule)
    world = [{"u": who, "h": "p" if who < 6 else "q"} for who in range(8)]
    exact = Memory(
        {"d": Table(world, unit=schema.unit, columns=schema.columns, contribution=Contribution(groups=1, rows=1))}
    ).scan(plan.passes[0].scan)
    receipt, draws = Receipt(1, plan.digest, "somebody"), 3000
    drawn = [found_first(exact, plan, receipt, plan) for _ in range(draws)]
    for name, people in (("p", 6), ("q", 2)):
        chance = float(rule.mechanism.probability(people))
        seen = sum(name in found for found in drawn)
        assert 0.01 < chance < 0.99
        assert abs(seen - draws * chance) <= 6 * math.sqrt(draws * chance * (1 - chance)) + 2


def test_cells_are_merged_before_a_person_is_bounded(bench: Bench) -> None:
    # three keys, of which two are in other: weights of cells that were scaled before they are added would break it
    shape = Shape(QUERIES["one key"], "people", "add-remove", "norm")
    later = planned(shape, RHO).passes[1]
    assert isinstance(later.scan.bounding, Norm)
    rows = [(1, 1, "a", f"key{at}", None) for at in range(400)]
    (merged,) = bench.scan_all(replace(later, scan=with_found(later.scan, ("key0",))), [rows])
    norm = sum(sums[0] ** 2 for sums in merged.values())
    assert norm <= later.measures[0].sensitivity.l2_squared
    assert set(merged) == {("key0",), ("other",)}
