"""No unit moves the scores of a choice further, or in other directions, than its plan says: SQL, brute force."""

from __future__ import annotations

import random
import sys
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from privet.core.budget import Pure
from privet.core.schema import Table
from privet.execution.request import AskOptions, Catalog
from privet.execution.run_choice import plan_choice
from privet.planner.comparison_plans import ChoicePlan, verify_choice
from privet.testing.oracle import Memory

sys.path.insert(0, str(Path(__file__).parent))

from small_worlds import NAMES, Bench, Row, Shape, pairs

OPTIONS = [0, 1, 2, 3]
SCORES = {
    "counts": "SELECT COUNT(*) FROM d WHERE y >= :option",
    "revenue": "SELECT SUM(CASE WHEN y >= :option THEN :option + 1 ELSE 0 END) FROM d WHERE g IS NOT NULL",
    "filtered": "SELECT COUNT(y) FILTER (WHERE y <> :option) FROM d",
    "losses": "SELECT SUM(CASE WHEN y > :option THEN -2 ELSE 0 END) FROM d",
    "either way": "SELECT SUM(y - :option) FROM d",
    "fractions": "SELECT SUM(CASE WHEN y >= :option THEN 0.1 * :option ELSE 0.7 END) FROM d",
    "people": "SELECT COUNT(DISTINCT u) FROM d WHERE y = :option",
}
ONE_WAY = {"counts", "revenue", "filtered", "losses", "fractions", "people"}


@dataclass(frozen=True)
class Choosing(Shape):
    """A shape whose question is a score."""

    def choice(self) -> ChoicePlan:
        catalog = Catalog({"d": self.schema}, {}, Pure(epsilon=10))
        how = AskOptions(epsilon=1, bound=self.bound)  # type: ignore[arg-type]
        return plan_choice(OPTIONS, SCORES[self.sql], how, catalog)


SHAPES = [
    Choosing(name, who, neighbors, bound, group)
    for name in SCORES
    for who in ("rows", "people", "windows")
    for neighbors in ("add-remove", "change-one")
    for bound, group in (("norm", 1), ("groups", 1), ("norm", 2))
    if (bound == "norm" or who == "people") and (who == "people" or name != "people")
]


@pytest.fixture(scope="module")
def bench() -> Bench:
    return Bench()


def scores_of(plan: ChoicePlan, results: list[dict[Row, Row]]) -> list[Fraction]:
    sums = [found.get((), (0,) * len(scan.sums)) for found, scan in zip(results, plan.scans, strict=True)]
    return [
        sums[one.scan][one.column] * times * plan.unit for one, times in zip(plan.scores, plan.multiples, strict=True)
    ]


@pytest.mark.parametrize("shape", SHAPES, ids=lambda s: f"{s.sql}, {s.who}, {s.neighbors}, {s.bound}, {s.group}")
def test_no_unit_moves_scores_further_or_in_other_directions_than_the_plan_says(shape: Choosing, bench: Bench) -> None:
    plan = shape.choice()
    verify_choice(plan, {"d": shape.schema})
    several = list(pairs(shape, random.Random(SHAPES.index(shape))))
    worlds = [world for pair in several for world in pair]
    passes: list[Any] = [SimpleNamespace(scan=scan) for scan in plan.scans]
    every = [bench.scan_all(one, worlds) for one in passes]
    scores = [scores_of(plan, list(results)) for results in zip(*every, strict=True)]
    furthest = Fraction(0)
    for before, after in zip(scores[::2], scores[1::2], strict=True):
        moves = [b - a for a, b in zip(before, after, strict=True)]
        furthest = max(furthest, *map(abs, moves))
        if plan.monotone:
            assert all(move >= 0 for move in moves) or all(move <= 0 for move in moves)
    assert furthest <= plan.sensitivity
    plain = shape.neighbors == "add-remove" and shape.who != "windows" and shape.group == 1
    assert plan.monotone == (plain and shape.sql in ONE_WAY)
    if plain and shape.bound == "norm" and shape.who == "people":
        assert furthest >= plan.sensitivity * Fraction(9, 10)


def test_rows_that_are_units_are_read_by_one_scan_whatever_conditions_there_are() -> None:
    plan = Choosing("counts", "rows", "add-remove", "norm").choice()
    assert len(plan.scans) == 1
    assert len(plan.scans[0].sums) == len(OPTIONS)
    assert len(Choosing("counts", "people", "add-remove", "norm").choice().scans) == len(OPTIONS)
    assert len(Choosing("revenue", "people", "add-remove", "norm").choice().scans) == 1


WITHIN = {
    "within people": ("SELECT SUM(n) FROM (SELECT u, COUNT(*) AS n FROM d WHERE y >= :option GROUP BY u)", True),
    "different values": ("SELECT COUNT(DISTINCT y) FROM d WHERE y <> :option", False),
    "their largest": ("SELECT SUM(m) FROM (SELECT u, MAX(y) AS m FROM d WHERE y <> :option GROUP BY u)", True),
}


@pytest.mark.parametrize("name", WITHIN)
def test_scores_of_what_is_computed_within_people_move_as_far_as_the_plan_says(name: str) -> None:
    sql, one_way = WITHIN[name]
    shape = Shape(sql, "people", "add-remove", "norm")
    plan = plan_choice(OPTIONS, sql, AskOptions(epsilon=1), Catalog({"d": shape.schema}, {}, Pure(epsilon=10)))
    assert plan.monotone == one_way
    for worlds in list(pairs(shape, random.Random(7)))[:5]:
        found = []
        for world in worlds:
            rows = [dict(zip(NAMES, row, strict=True)) for row in world]
            schema = shape.schema
            table = Table(rows, unit=schema.unit, columns=schema.columns, contribution=schema.contribution)
            engine = Memory({"d": table})
            found.append(scores_of(plan, [engine.scan(scan)._groups for scan in plan.scans]))
        moves = [b - a for a, b in zip(*found, strict=True)]
        assert max(map(abs, moves)) <= plan.sensitivity
        if plan.monotone:
            assert all(move <= 0 for move in moves)  # a person went
