"""No unit moves counts of different values by more than the plan says: the generated SQL, by brute force.

Such a count is no sum over units: what one unit adds depends on what the others hold. Every claim is attained, too.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations
from typing import Any

import duckdb
import pytest

from privet.core.errors import InvariantError
from privet.core.relation import ColumnRef
from privet.core.scan import Pairs, Scan, Sum
from privet.core.schema import Contribution, Schema, category, integer, text
from privet.core.unit import Person, Rows
from privet.engines.dialects.duckdb import DUCKDB
from privet.engines.scan_sql.statement import statement
from privet.mechanisms import Laplace
from privet.planner.make import make_plan
from privet.planner.plan import Plan, Spend
from privet.planner.stability import sensitivity_of
from privet.query.sql.parse import parse

Row = tuple[Any, ...]
World = list[Row]
SECRET = 0x0FED_CBA9_8765_4321_1234_5678_9ABC_DEF0
LAPLACE = Spend(Fraction(1), Fraction(0), None, Fraction(1, 100))
GAUSSIAN = Spend(None, Fraction(0), Fraction(1), Fraction(1, 100))
QUERIES = {
    "one cell": "SELECT COUNT(DISTINCT y) FROM d",
    "filtered": "SELECT COUNT(DISTINCT y) FILTER (WHERE y > 1) FROM d WHERE g <> 'c'",
    "by group": "SELECT g, COUNT(DISTINCT y) FROM d GROUP BY g",
    "by found group": "SELECT h, COUNT(DISTINCT y) FROM d GROUP BY h",
    "groups with rows": "SELECT COUNT(*) FROM (SELECT DISTINCT y FROM d WHERE g <> 'c')",
}
TABLES = 12
SUMS = {
    "sum": ("SELECT SUM(DISTINCT y - 3) FROM d", 3, 6),
    "sum by group": ("SELECT g, SUM(DISTINCT y) FROM d WHERE y > -1 GROUP BY g", 0, 9),
    "sum of either sign by group": ("SELECT g, SUM(DISTINCT 2 * y - 9) FILTER (WHERE y <> 4) FROM d GROUP BY g", 9, 9),
    "sum of numbers below zero": ("SELECT SUM(DISTINCT -y - 1) FROM d", 10, 0),
}
"""Sums of different values, and how far each of them may lie below and above zero."""


@dataclass(frozen=True)
class Shape:
    """A count of different values, whose they are, and how they may change."""

    name: str
    rows: bool
    neighbors: str
    spend: Spend
    group: int = 1

    @property
    def schema(self) -> Schema:
        unit = Rows(self.group) if self.rows else Person("u", self.group)
        columns = {
            "u": integer(nullable=True),
            "y": integer(0, 9, nullable=True),
            "g": category(["a", "b", "c"], nullable=True),
            "h": text(),
        }
        return Schema(unit=unit, columns=columns, neighbors=self.neighbors, contribution=Contribution(groups=2, rows=2))

    def plan(self) -> Plan:
        tables = {"d": self.schema}
        sql = SUMS[self.name][0] if self.name in SUMS else QUERIES[self.name]
        return make_plan(parse(sql, tables), tables, spend=self.spend)

    @property
    def kept(self) -> int:
        return self.group * (1 if self.rows else 4)


SHAPES = [
    Shape(name, rows, neighbors, spend, group)
    for name in QUERIES
    for rows in (True, False)
    for neighbors in ("add-remove", "change-one")
    for spend, group in ((LAPLACE, 1), (GAUSSIAN, 1), (LAPLACE, 2))
]


OF_SUMS = [
    Shape(name, rows, neighbors, spend, group)
    for name in SUMS
    for rows in (True, False)
    for neighbors in ("add-remove", "change-one")
    for spend, group in ((LAPLACE, 1), (GAUSSIAN, 1), (LAPLACE, 2))
]


def identity(shape: Shape) -> str:
    noise = "laplace" if shape.spend.rho is None else "gaussian"
    return f"{shape.name}, {'rows' if shape.rows else 'people'}, {shape.neighbors}, {noise}, {shape.group}"


def draw_unit(draw: random.Random, owner: int, rows: bool) -> World:
    """Return the rows of a unit: a few at random, or many values in one group, which is where claims are attained."""
    if draw.random() < 0.5:
        group, first = draw.choice("ab"), draw.choice([0, 5])
        wide = [(owner, first + value, group, group) for value in range(5)]
        return [draw.choice(wide)] if rows else wide
    amount = 1 if rows else draw.randint(1, 7)
    return [(owner, draw.choice([None, *range(10)]), draw.choice(["a", "b", "c", None]), "ab"[draw.random() < 0.5])
            for _ in range(amount)]  # fmt: skip


def families(shape: Shape, draw: random.Random) -> Iterator[tuple[World, World]]:
    if not shape.rows:  # a person may have no rows, under both relations
        here, there = ([(0, value, group, group) for value in range(5)] for group in "ab")
        yield here, []
        yield here, there if shape.neighbors == "change-one" else []
    for _ in range(TABLES):
        owners = range(draw.randint(shape.group, 4))
        units = {owner: draw_unit(draw, owner, shape.rows) for owner in owners}
        for gone in combinations(owners, shape.group):
            fresh = dict(units)
            for owner in gone:
                fresh[owner] = [] if shape.neighbors == "add-remove" else draw_unit(draw, owner, shape.rows)
            yield [row for rows in units.values() for row in rows], [row for rows in fresh.values() for row in rows]


class Bench:
    def __init__(self) -> None:
        self.connection = duckdb.connect(":memory:", config={"threads": 1})
        self.connection.execute("CREATE TABLE d(world BIGINT, c0 BIGINT, c1 BIGINT, c2 VARCHAR, c3 VARCHAR)")

    def scan_all(self, scan: Scan, worlds: list[World]) -> list[Counter[Row]]:
        self.connection.execute("DELETE FROM d")
        listed = [(index, *row) for index, world in enumerate(worlds) for row in world]
        columns = [list(column) for column in zip(*listed, strict=True)]
        kinds = ("BIGINT", "BIGINT", "BIGINT", "VARCHAR", "VARCHAR")
        unnested = ", ".join(f"unnest(${i}::{kind}[])" for i, kind in enumerate(kinds, start=1))
        self.connection.execute(f"INSERT INTO d SELECT {unnested}", columns)
        asked = statement(scan, "(SELECT * FROM d WHERE world = $world)", SECRET, DUCKDB)
        self.connection.execute(f"PREPARE scan AS {asked.sql}")
        found = []
        for world in range(len(worlds)):
            rows = self.connection.execute(f"EXECUTE scan(world := {world})").fetchall()
            found.append(Counter({row[: asked.keys]: row[asked.keys] for row in rows}))
        self.connection.execute("DEALLOCATE scan")
        return found


@pytest.fixture(scope="module")
def bench() -> Bench:
    return Bench()


@pytest.mark.parametrize("shape", SHAPES, ids=identity)
def test_no_unit_moves_counts_of_values_by_more_than_the_plan_says_and_some_by_as_much(
    shape: Shape, bench: Bench
) -> None:
    one = shape.plan().passes[-1]
    (measure,) = one.measures
    pairs = list(families(shape, random.Random(SHAPES.index(shape))))
    results = bench.scan_all(one.scan, [world for pair in pairs for world in pair])
    largest = [0, 0]
    for before, after in zip(results[::2], results[1::2], strict=True):
        moves = [abs(before[cell] - after[cell]) for cell in before.keys() | after.keys()]
        largest = [max(largest[0], sum(moves)), max(largest[1], sum(move * move for move in moves))]
    claim = measure.sensitivity
    grouped = "by" in shape.name and shape.neighbors == "change-one"
    assert claim.l1 == shape.kept * (2 if grouped else 1)
    assert claim.l2_squared == shape.kept**2 * (2 if grouped else 1)
    if isinstance(measure.mechanism, Laplace):
        assert measure.mechanism.sensitivity == claim.l1
    else:
        assert measure.mechanism.sensitivity_squared == claim.l2_squared
    assert largest[0] <= claim.l1
    assert largest[1] <= claim.l2_squared
    if shape.group == 1 and shape.name != "filtered":
        assert largest == [claim.l1, claim.l2_squared]


@pytest.mark.parametrize("shape", OF_SUMS, ids=identity)
def test_no_unit_moves_sums_of_values_by_more_than_the_plan_says(shape: Shape, bench: Bench) -> None:
    one = shape.plan().passes[-1]
    (measure,) = one.measures
    pairs = list(families(shape, random.Random(OF_SUMS.index(shape))))
    results = bench.scan_all(one.scan, [world for pair in pairs for world in pair])
    claim, largest = measure.sensitivity, 0
    for before, after in zip(results[::2], results[1::2], strict=True):
        moves = [abs(before[cell] - after[cell]) for cell in before.keys() | after.keys()]
        assert sum(moves) <= claim.l1
        assert sum(move * move for move in moves) <= claim.l2_squared
        largest = max(largest, sum(moves))
    down, up = SUMS[shape.name][1:]
    most, change = max(down, up), shape.neighbors == "change-one"
    grouped = one.scan.keys != ()
    assert claim.l1 == shape.kept * (most if not change else 2 * most if grouped else up + down)
    if shape.group == 1:
        assert largest >= claim.l1 / 3


def test_what_is_added_up_are_the_different_values_themselves() -> None:
    scan = SHAPES[0].plan().passes[-1].scan
    assert isinstance(scan.bounding, Pairs)
    with pytest.raises(InvariantError, match="added up themselves"):
        sensitivity_of(Sum(ColumnRef("u"), 0, 9), scan)
    with pytest.raises(InvariantError, match="adds them up"):
        replace(scan, sums=(Sum(ColumnRef("u"), 0, 9),))
    with pytest.raises(InvariantError, match="adds them up"):
        replace(scan, sums=(Sum(scan.bounding.of, 0, 9, power=2),))


def test_counts_of_values_are_never_taken_for_the_public_number_of_rows() -> None:
    schema = Schema(unit=Rows(), columns={"y": integer(0, 9)}, neighbors="change-one", units=100)
    plan = make_plan(parse("SELECT COUNT(DISTINCT y) FROM d", {"d": schema}), {"d": schema}, spend=LAPLACE)
    assert len(plan.passes[0].measures) == 1
    assert plan.readings[0].places == ((0, 0),)


def test_counts_of_values_share_the_spend_with_everything_else() -> None:
    tables = {"d": SHAPES[-1].schema}
    several = "SELECT COUNT(*), COUNT(DISTINCT y) AS a, COUNT(DISTINCT g) AS b, COUNT(DISTINCT y) + 1 AS c FROM d"
    plan = make_plan(parse(several, tables), tables, spend=LAPLACE)
    assert [len(one.measures) for one in plan.passes] == [1, 1, 1]
    assert plan.event.pure() == 1
