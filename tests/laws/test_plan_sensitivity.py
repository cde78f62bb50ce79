"""No unit moves the integers of a scan by more than the plan says: the generated SQL, on the engine, by brute force.

Small random tables hold NULL, NaN, infinities, values far outside their bounds and people far over theirs. Each unit
(or group of units) is dropped, or changed into another; all worlds sit in one table, which a prepared statement reads.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations, product
from typing import Any

import duckdb
import pytest

from privet.core.relation import Call
from privet.core.scan import Discovery, Scan
from privet.core.schema import Contribution, Schema, category, integer, number, text
from privet.core.unit import Person, Rows
from privet.engines.dialects.duckdb import DUCKDB
from privet.engines.scan_sql.statement import statement
from privet.mechanisms import Laplace
from privet.planner.keys import other_way
from privet.planner.make import make_plan
from privet.planner.measures import KeyRule, Measure
from privet.planner.plan import Pass, Plan, Spend
from privet.planner.stability import key_sensitivity
from privet.query.sql.parse import parse

Row = tuple[Any, ...]
World = list[Row]

LAPLACE = Spend(Fraction(1), Fraction(0), None, Fraction(0))
GAUSSIAN = Spend(None, Fraction(0), Fraction(1), Fraction(0))
SECRET = 0x1234_5678_9ABC_DEF0_0FED_CBA9_8765_4321
"""One secret for both neighbours: the engine draws a fresh one for each query, and the claim holds under any."""

NUMBERS = [None, math.nan, math.inf, -math.inf, -3.0, 10.0, 10.0, -1e300, 1e300, 0.3, 2.26, 9.99, -2.5]
WHOLES = [None, -(2**63), 2**63 - 1, -4, 7, 7, 0, 3, 100]
KINDS = ("BIGINT", "BIGINT", "DOUBLE", "BIGINT", "DOUBLE", "VARCHAR", "VARCHAR", "VARCHAR")
GROUPS = ["a", "b", "c", "elsewhere", None]


TYPICAL = Contribution(groups=2, rows=2)


@dataclass(frozen=True)
class Shape:
    """A query over a table of one kind, and how it is planned."""

    name: str
    sql: str
    unit: str
    neighbors: str
    spend: Spend
    group: int = 1
    bound: str = "norm"
    nullable: bool = True
    contribution: Contribution = TYPICAL

    @property
    def schema(self) -> Schema:
        unit = Rows(self.group) if self.unit == "rows" else Person("u", self.group)
        columns = {
            "u": integer(nullable=True),
            "x": number(-3, 10, step=Fraction(1, 2), nullable=self.nullable),
            "y": integer(-4, 7, nullable=self.nullable),
            "p": number(2, 9, nullable=self.nullable),
            "g": category(["a", "b", "c", "e"], nullable=self.nullable),
            "t": category(["s", "t"]),
            "h": text(nullable=self.nullable),
        }
        return Schema(unit=unit, columns=columns, neighbors=self.neighbors, contribution=self.contribution)

    def plan(self) -> Plan:
        tables = {"d": self.schema}
        return make_plan(parse(self.sql, tables), tables, spend=self.spend, bound=self.bound)


EVERY = (
    "COUNT(*), COUNT(x), SUM(x), AVG(y), VAR_POP(x), SUM(p), AVG(p), SUM(y) FILTER (WHERE x > 0), SUM(x * y - p), "
    "COVAR_POP(x, y), SUM(y, contribution_bounds_per_row => (-2, 9)), AVG(x, contribution_bounds_per_row => (0.3, 4))"
)
QUERIES = {
    "one cell": f"SELECT {EVERY} FROM d",
    "one cell where": f"SELECT {EVERY} FROM d WHERE t = 's' OR x IS NULL",
    "by group": f"SELECT g, {EVERY} FROM d GROUP BY g",
    "by two": "SELECT g, t, COUNT(*), SUM(y), CORR(x, p), STDDEV(p) FILTER (WHERE t = 's') FROM d WHERE x > -2 "
    "GROUP BY g, t",
}
PEOPLE = {
    "people": "SELECT COUNT(DISTINCT u), COUNT(DISTINCT u) FILTER (WHERE y > 2), COUNT(*) FROM d",
    "people by group": "SELECT g, COUNT(DISTINCT u), COUNT(DISTINCT u) FILTER (WHERE y > 2) FROM d GROUP BY g",
}


def shapes() -> Iterator[Shape]:
    for neighbors in ("add-remove", "change-one"):
        for spend in (LAPLACE, GAUSSIAN):
            for nullable in (True, False):
                for name, sql in QUERIES.items():
                    yield Shape(f"rows, {name}", sql, "rows", neighbors, spend, nullable=nullable)
            for name, sql in {**QUERIES, **PEOPLE}.items():
                for bound in ("norm", "groups"):
                    yield Shape(f"people, {name}", sql, "people", neighbors, spend, bound=bound)
            yield Shape(
                "rows, each",
                "SELECT g, SUM(x, contribution_bounds_per_group => (-1, 4)), COUNT(*, contribution_bounds_per_group => "
                "(0, 1)) FROM d GROUP BY g",
                "rows",
                neighbors,
                spend,
            )
            yield Shape("rows together", QUERIES["by group"], "rows", neighbors, spend, group=2)
            for bound in ("norm", "groups"):
                yield Shape("people together", QUERIES["by group"], "people", neighbors, spend, group=2, bound=bound)
            yield Shape(
                "one row each",
                QUERIES["by group"],
                "people",
                neighbors,
                spend,
                contribution=Contribution(groups=1, rows=1),
            )
            yield Shape("people, certain", QUERIES["by group"], "people", neighbors, spend, nullable=False)


SHAPES = list(shapes())
TABLES = 3


def identity(shape: Shape) -> str:
    noise = "laplace" if shape.spend.rho is None else "gaussian"
    nullable = "" if shape.nullable else ", never NULL"
    return f"{shape.name}, {shape.neighbors}, {noise}, {shape.bound}{nullable}"


def draw_rows(draw: random.Random, owner: int) -> World:
    """Return the rows of one owner: wild, or all the same and extreme, which is where claims are attained."""
    amount = draw.choice([1, 1, 2, 4, 4, 9])
    if draw.random() < 0.5:
        extreme = (draw.choice([-3.0, 10.0]), draw.choice([-4, 7]), draw.choice([2.0, 9.0]))
        x, y, p = extreme if draw.random() < 0.8 else (3.5, 1, 5.5)  # the middle is where squares are least
        groups = draw.choice([["a"], ["b"], ["a", "b"], ["a", "b", "c"]])
        many = draw.choice([1, 2, 2, 4])
        return [(owner, x, y, p, g, "s", g) for g in groups for _ in range(many)]
    columns = (NUMBERS, WHOLES, NUMBERS, GROUPS, "st", [None, *"abcdefg"])
    return [(owner, *(draw.choice(column) for column in columns)) for _ in range(amount)]


class Bench:
    """One connection with every world of a table, read through the SQL that is generated for a plan."""

    def __init__(self) -> None:
        self.connection = duckdb.connect(":memory:", config={"threads": 1})
        columns = ", ".join(f"c{index} {kind}" for index, kind in enumerate(KINDS[1:]))
        self.connection.execute(f"CREATE TABLE d(world BIGINT, {columns})")

    def load(self, worlds: list[World]) -> None:
        self.connection.execute("DELETE FROM d")
        columns: list[list[Any]] = [[] for _ in KINDS]
        for index, world in enumerate(worlds):
            for row in world:
                for column, value in zip(columns, (index, *row), strict=True):
                    column.append(value)
        unnested = ", ".join(f"unnest(${i}::{kind}[])" for i, kind in enumerate(KINDS, start=1))
        self.connection.execute(f"INSERT INTO d SELECT {unnested}", columns)

    def prepare(self, scan: Scan) -> None:
        asked = statement(scan, "(SELECT * FROM d WHERE world = $world)", SECRET, DUCKDB)
        assert not asked.parameters  # few keys are written into the text
        self.keys = asked.keys
        self.sql = asked.sql
        self.connection.execute("PRAGMA disable_optimizer")  # which takes most of the time and changes no result
        self.connection.execute("DEALLOCATE scan" if hasattr(self, "prepared") else "SELECT 1")
        self.connection.execute(f"PREPARE scan AS {asked.sql}")
        self.connection.execute("PRAGMA enable_optimizer")
        self.prepared = True

    def scan(self, world: int) -> dict[Row, Row]:
        rows = self.connection.execute(f"EXECUTE scan(world := {world})").fetchall()
        return {row[: self.keys]: row[self.keys :] for row in rows}

    def scan_optimised(self, world: int) -> dict[Row, Row]:
        rows = self.connection.execute(self.sql, {"world": world}).fetchall()
        return {row[: self.keys]: row[self.keys :] for row in rows}


@pytest.fixture(scope="module")
def bench() -> Bench:
    return Bench()


def moved(one: dict[Row, Row], other: dict[Row, Row], index: int) -> tuple[int, int]:
    """Return how far a sum moves between two worlds over all cells: L1, and L2 squared."""
    moves = [
        abs((one[cell][index] if cell in one else 0) - (other[cell][index] if cell in other else 0))
        for cell in one.keys() | other.keys()
    ]
    return sum(moves), sum(move * move for move in moves)


def neighbours(shape: Shape, table: World, draw: random.Random) -> list[World]:
    """Return neighbours of a table: groups of units dropped, or changed into others."""
    rows = shape.unit == "rows"
    owners = list(range(len(table))) if rows else sorted({row[0] for row in table})
    chosen = list(combinations(owners, shape.group))
    draw.shuffle(chosen)
    found = []
    for gone in chosen[:6]:
        kept = [row for index, row in enumerate(table) if (index if rows else row[0]) not in gone]
        if shape.neighbors == "change-one":
            for owner in gone:
                fresh = draw_rows(draw, owner)
                kept = kept + (fresh[:1] if rows else fresh)
        found.append(kept)
    return found


def random_families(shape: Shape, draw: random.Random) -> list[list[World]]:
    """Return families of worlds: a table first, then its neighbours."""
    families = []
    for _ in range(TABLES):
        table = [row for owner in range(draw.randint(shape.group, 5)) for row in draw_rows(draw, owner)]
        strays = [(None, 10.0, 7, 9.0, "a", "s", "a")] * draw.randint(0, 2)  # rows without a unit
        if shape.unit == "rows":
            table, strays = table + strays, []
        families.append([world + strays for world in (table, *neighbours(shape, table, draw))])
    return families


def part_of_claim(measure: Measure, one: dict[Row, Row], other: dict[Row, Row], place: int) -> float:
    """Return how much of its claim a sum moves by between two worlds; no more than all of it, in both norms."""
    l1, l2_squared = moved(one, other, place)
    claim = measure.sensitivity
    assert l1 <= claim.l1
    assert l2_squared <= claim.l2_squared
    if isinstance(measure.mechanism, Laplace):
        assert measure.mechanism.sensitivity == claim.l1
        return float(l1 / claim.l1)
    assert measure.mechanism.sensitivity_squared == claim.l2_squared
    return math.sqrt(l2_squared / claim.l2_squared)


def discovering() -> Iterator[Shape]:
    sql = "SELECT h, COUNT(*), SUM(x) FROM d GROUP BY h"
    for neighbors in ("add-remove", "change-one"):
        for spend in (replace(LAPLACE, keys=Fraction(1, 100)), replace(GAUSSIAN, keys=Fraction(1, 100))):
            for group in (1, 2):
                yield Shape("rows, unknown keys", sql, "rows", neighbors, spend, group=group)
                for bound in ("norm", "groups"):
                    yield Shape("people, unknown keys", sql, "people", neighbors, spend, group=group, bound=bound)
                both = sql.replace("h,", "g, h,").replace("BY h", "BY g, h")
                yield Shape("people, some keys unknown", both, "people", neighbors, spend, group=group)


def ways(shape: Shape) -> list[tuple[Pass, Measure]]:
    """Return the plan's pass and, where keys could be found in another way, one that does; with the claim for keys."""
    (one,) = shape.plan().passes
    found = [one]
    if isinstance(one.keys, KeyRule):
        shared = replace(one.scan, discovery=Discovery(one.scan.discovery.most, 1, 20))
        found.append(replace(one, scan=shared, measure=replace(one.measure, keys=other_way(one.scan, one.keys))))
    elif isinstance(one.keys.mechanism, Laplace):
        counted = replace(one.scan, discovery=Discovery(one.scan.discovery.most, 0, 0))
        found.append(replace(one, scan=counted, measure=replace(one.measure, keys=other_way(one.scan, one.keys))))
    made = []
    for way in found:
        claim = key_sensitivity(way.scan)
        noise = way.keys.mechanism
        if isinstance(way.keys, KeyRule):
            noise = Laplace(sensitivity=claim, epsilon=1)
            assert (noise.sensitivity, way.keys.mechanism.neighbors) == (
                way.keys.mechanism.event.pure() / way.keys.mechanism.key_epsilon,
                shape.neighbors,
            )
        made.append((way, Measure(way.scan.sums[0], claim, noise, way.scan.discovery.shift)))
    return made


def apart(shape: Shape) -> list[World]:
    """Return two neighbours that differ as much as keys can: in every key that the units in question may hold."""
    rows = shape.unit == "rows"
    names = ["a", "b"] if rows else ["ab", "cd"]
    before, after = (
        [(owner, 10.0, 7, 9.0, "a", "s", key) for owner in range(shape.group) for key in keys] for keys in names
    )
    return [before, [] if shape.neighbors == "add-remove" else after]


@pytest.mark.parametrize("shape", list(discovering()), ids=lambda shape: f"{identity(shape)}, {shape.group}")
def test_no_unit_moves_the_weights_of_unknown_keys_by_more_than_the_plan_says(shape: Shape, bench: Bench) -> None:
    families = [*random_families(shape, random.Random(shape.group)), apart(shape)]
    bench.load([world for family in families for world in family])
    for one, claim in ways(shape):
        bench.prepare(one.scan)
        start, largest = 0, 0.0
        for family in families:
            first, *others = (bench.scan(start + place) for place in range(len(family)))
            start += len(family)
            for other in others:
                largest = max(largest, part_of_claim(claim, first, other, -1))
                if isinstance(one.keys, KeyRule):
                    held = [{cell: sums[-1] for cell, sums in world.items()} for world in (first, other)]
                    moves = [abs(held[0].get(cell, 0) - held[1].get(cell, 0)) for cell in first.keys() | other.keys()]
                    assert max(moves, default=0) <= shape.group
                # a key that one of the two does not hold is hidden by the threshold, or costs its whole chance in delta
                common = first.keys() & other.keys()
                for place, measure in enumerate(one.measures):
                    part_of_claim(measure, {c: first[c] for c in common}, {c: other[c] for c in common}, place)
        assert largest >= 0.9


@pytest.mark.parametrize("shape", SHAPES, ids=identity)
def test_no_unit_moves_a_scan_by_more_than_the_plan_says(shape: Shape, bench: Bench) -> None:
    plan = shape.plan()
    families = random_families(shape, random.Random(SHAPES.index(shape)))
    bench.load([world for family in families for world in family])
    for one in plan.passes:
        bench.prepare(one.scan)
        start = 0
        for family in families:
            first, *others = (bench.scan(start + place) for place in range(len(family)))
            if start == 0:
                assert first == bench.scan_optimised(0)
            start += len(family)
            for other in others:
                for place, measure in enumerate(one.measures):
                    part_of_claim(measure, first, other, place)


def extremes(shape: Shape) -> Iterator[World]:
    """Yield what a group of units may hold at most, in every corner of the bounds; and nothing at all."""
    yield []
    yield [(owner, 3.5, 7, 2.0, "a", "t", "a") for owner in range(shape.group)]
    if shape.nullable:
        yield [(owner, None, None, None, None, "t", None) for owner in range(shape.group)]
    typical, rows = shape.contribution, shape.unit == "rows"
    amount = 1 if rows else typical.rows * (1 if "GROUP BY" in shape.sql else typical.groups)
    places = [["a"], ["b"]] if rows or typical.groups == 1 else [["a", "b"], ["c", "e"]]
    for x, y, p in product([-3.0, 10.0, 3.5], [-4, 7], [2.0, 9.0]):
        for groups in places:
            yield [(owner, x, y, p, g, "s", g) for owner in range(shape.group) for g in groups for _ in range(amount)]


@pytest.mark.parametrize("shape", [shape for shape in SHAPES if "by two" not in shape.name], ids=identity)
def test_every_aggregate_has_a_case_that_attains_its_claim(shape: Shape, bench: Bench) -> None:
    plan = shape.plan()
    worlds = list(extremes(shape))
    bench.load(worlds)
    for index, one in enumerate(plan.passes):
        bench.prepare(one.scan)
        results = [bench.scan(world) for world in range(len(worlds))]
        pairs = [(results[0], other) for other in results[1:]]
        if shape.neighbors == "change-one":
            empty = [] if shape.unit == "rows" else results[:1]  # a person may have no rows; a row is a row
            pairs = list(combinations(empty + results[1:], 2))
        for place, measure in enumerate(one.measures):
            largest = max(part_of_claim(measure, first, other, place) for first, other in pairs)
            names = [type(reading.aggregate).__name__ for reading in plan.readings if (index, place) in reading.places]
            if measure.sum.where is None and not fixed(measure, shape) and not derived(measure):
                assert largest >= 0.9, names


def fixed(measure: Measure, shape: Shape) -> bool:
    """Whether a count cannot move at all: each row counts, and no row comes or goes."""
    constant = measure.sum.expression is None and shape.unit == "rows" and shape.neighbors == "change-one"
    return constant and shape.name == "rows, one cell"


def derived(measure: Measure) -> bool:
    """Whether bounds come from interval arithmetic, whose corners no row may reach."""
    expression = measure.sum.expression
    return isinstance(expression, Call) and expression.function != "multiply"  # a covariance's reaches its corners
