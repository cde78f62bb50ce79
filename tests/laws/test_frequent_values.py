"""The most frequent values keep what their event promises: by brute force on generated SQL, by exact laws."""

from __future__ import annotations

import datetime
import math
import random
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import permutations
from typing import Any

import duckdb
import numpy as np
import pytest

from privet.core.schema import Contribution, Schema, Table, category, date, integer, text
from privet.core.unit import Person, Rows, Window
from privet.engines.memory import Memory
from privet.engines.sql import statement
from privet.mechanisms.frequent import Frequent
from privet.mechanisms.selection_odds import flips
from privet.planner.make import make_plan
from privet.planner.plan import Pass, Plan, Spend
from privet.query.sql import parse

Row = tuple[Any, ...]
World = list[Row]
SECRET = 0x0123_4567_89AB_CDEF_FEDC_BA98_7654_3210
PURE = Spend(Fraction(1), Fraction(0), None, Fraction(1, 100))
RHO = Spend(None, Fraction(0), Fraction(1, 2), Fraction(1, 100))
FIRST = datetime.date(2024, 1, 1)
QUERIES = {
    "one group": "SELECT MODE(y) FROM d",
    "three of them": "SELECT TOP_K(y, 3) FROM d",
    "filtered": "SELECT MODE(y) FILTER (WHERE y > 1) FROM d WHERE g <> 'c'",
    "by group": "SELECT g, MODE(y) FROM d GROUP BY g",
    "found": "SELECT MODE(h) FROM d",
    "found by group": "SELECT g, TOP_K(h, 2) FROM d GROUP BY g",
}
COLUMNS = {
    "u": integer(nullable=True),
    "y": integer(0, 3, nullable=True),
    "g": category(["a", "b"], nullable=True),
    "h": text(nullable=True),
    "t": date(nullable=True),
}
KINDS = ("BIGINT", "BIGINT", "VARCHAR", "VARCHAR", "DATE")
NAMES = list(COLUMNS)
TABLES = 6


@dataclass(frozen=True)
class Shape:
    """A question, who is protected, and how neighbours differ."""

    name: str
    who: str
    neighbors: str
    bound: str
    group: int = 1

    @property
    def schema(self) -> Schema:
        unit = {
            "rows": Rows(self.group),
            "people": Person("u", self.group),
            "windows": Window("u", "t", 7, origin=FIRST, group=self.group),
        }[self.who]
        many = Contribution(groups=2, rows=2)
        return Schema(unit=unit, columns=COLUMNS, neighbors=self.neighbors, contribution=many)

    def plan(self, spend: Spend = PURE) -> Plan:
        tables = {"d": self.schema}
        return make_plan(parse(QUERIES[self.name], tables), tables, spend=spend, bound=self.bound)


SHAPES = [
    Shape(name, who, neighbors, bound, group)
    for name in QUERIES
    for who in ("rows", "people", "windows")
    for neighbors in ("add-remove", "change-one")
    for bound, group in (("norm", 1), ("groups", 1), ("norm", 2))
    if bound == "norm" or who == "people"
]


def some_row(draw: random.Random, owner: int | None) -> Row:
    day = draw.choice([None, *(FIRST + datetime.timedelta(days=day) for day in range(20))])
    return (
        owner,
        draw.choice([None, 0, 1, 2, 3]),
        draw.choice(["a", "b", "c", None]),
        draw.choice(["p", "q", None]),
        day,
    )


def some_unit(draw: random.Random, owner: int, *, rows: bool) -> World:
    """Return the rows of a unit: any, or many of one value, which is where claims are attained."""
    if rows:
        return [some_row(draw, owner)]
    if draw.random() < 0.6:
        many, value = draw.choice([2, 9]), draw.choice([2, 3])
        several = draw.sample("ab", draw.choice([1, 2]))
        day = FIRST + datetime.timedelta(days=draw.choice([3, 4, 10]))
        return [(owner, value, group, "pq"[value - 2], day) for group in several for _ in range(many)]
    return [some_row(draw, owner) for _ in range(draw.randint(1, 7))]


def pairs(shape: Shape, draw: random.Random) -> Iterator[tuple[World, World]]:
    for _ in range(TABLES):
        units = [some_unit(draw, owner, rows=shape.who == "rows") for owner in range(draw.randint(shape.group, 4))]
        world = [row for rows in units for row in rows]
        if shape.who == "windows":
            yield from ((world, other) for other in windows(shape, draw, world))
            continue
        gone = draw.sample(range(len(units)), shape.group)
        fresh = [[] if shape.neighbors == "add-remove" else some_unit(draw, owner, rows=shape.who == "rows")
                 for owner in gone]  # fmt: skip
        kept = [rows for owner, rows in enumerate(units) if owner not in gone]
        yield world, [row for rows in (*kept, *fresh) for row in rows]


def windows(shape: Shape, draw: random.Random, world: World) -> Iterator[World]:
    """Yield worlds in which rows of some people, within a window of a week for each, are gone or others."""
    for _ in range(2):
        other = world
        for owner in draw.sample(range(4), shape.group):
            start = FIRST + datetime.timedelta(days=draw.randrange(14))
            end = start + datetime.timedelta(days=7)
            inside = [row[0] == owner and row[4] is not None and start <= row[4] < end for row in other]
            kept = [row for row, hit in zip(other, inside, strict=True) if not hit or draw.random() < 0.4]
            day = start + datetime.timedelta(days=draw.randrange(7))
            many = [(owner, 1, draw.choice("ab"), "p", day)] * 8 if shape.neighbors == "change-one" else []
            other = [*kept, *many]
        yield other


class Bench:
    def __init__(self) -> None:
        self.connection = duckdb.connect(":memory:", config={"threads": 1})
        columns = ", ".join(f"c{index} {kind}" for index, kind in enumerate(KINDS))
        self.connection.execute(f"CREATE TABLE d(world BIGINT, {columns})")

    def scan_all(self, one: Pass, worlds: list[World]) -> list[dict[Row, Row]]:
        self.connection.execute("DELETE FROM d")
        listed = [(index, *row) for index, world in enumerate(worlds) for row in world]
        columns = [list(column) for column in zip(*listed, strict=True)]
        unnested = ", ".join(f"unnest(${i}::{kind}[])" for i, kind in enumerate(("BIGINT", *KINDS), start=1))
        self.connection.execute(f"INSERT INTO d SELECT {unnested}", columns)
        asked = statement(one.scan, "(SELECT * FROM d WHERE world = $world)", SECRET)
        self.connection.execute(f"PREPARE scan AS {asked.sql}")
        found = []
        for world in range(len(worlds)):
            rows = self.connection.execute(f"EXECUTE scan(world := {world})").fetchall()
            found.append({row[: asked.keys]: row[asked.keys :] for row in rows})
        self.connection.execute("DEALLOCATE scan")
        return found


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


@pytest.mark.parametrize("shape", SHAPES, ids=lambda s: f"{s.name}, {s.who}, {s.neighbors}, {s.bound}, {s.group}")
def test_no_unit_moves_the_counts_of_values_by_a_wider_range_than_the_plan_says(shape: Shape, bench: Bench) -> None:
    (one,) = shape.plan().passes
    several = list(pairs(shape, random.Random(SHAPES.index(shape))))
    results = bench.scan_all(one, [world for pair in several for world in pair])
    widest = 0
    for before, after in zip(results[::2], results[1::2], strict=True):
        widest = max(widest, span(one, before, after))
        assert all(cell[-1] is not None for cell in (*before, *after))
    assert one.winners is not None
    assert widest <= one.winners.span
    if (
        (shape.bound, shape.group, shape.neighbors) == ("norm", 1, "add-remove")
        and shape.who != "windows"
        and not one.keys
    ):
        assert widest >= one.winners.span * Fraction(99, 100)


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
    draw, worst = one.winners, 0.0
    assert draw is not None
    cells = [("a",), ("b",), (None,)] if "GROUP" in sql else [()]
    generator = random.Random(7)
    for _ in range(12):
        laws = []
        for world in next(pairs(shape, generator)):
            memory = Memory({"d": Table([twin(row) for row in world], unit=shape.schema.unit, columns=COLUMNS)})
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
    total = one.winners.event
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
