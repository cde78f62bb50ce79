"""Small tables with neighbours, of rows, people and windows of time, and a database that replays scans over them."""

from __future__ import annotations

import datetime
import random
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import duckdb

from privet.core.schema import Contribution, Schema, category, date, integer, text
from privet.core.unit import Person, Rows, Window
from privet.engines.dialects.duckdb import DUCKDB
from privet.engines.scan_sql.statement import statement
from privet.planner.make import make_plan
from privet.planner.plan import Pass, Plan, Spend
from privet.query.sql.parse import parse

Row = tuple[Any, ...]
World = list[Row]
SECRET = 0x0123_4567_89AB_CDEF_FEDC_BA98_7654_3210
PURE = Spend(Fraction(1), Fraction(0), None, Fraction(1, 100))
RHO = Spend(None, Fraction(0), Fraction(1, 2), Fraction(1, 100))
FIRST = datetime.date(2024, 1, 1)
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

    sql: str
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
        return make_plan(parse(self.sql, tables), tables, spend=spend, bound=self.bound)


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
        asked = statement(one.scan, "(SELECT * FROM d WHERE world = $world)", SECRET, DUCKDB)
        self.connection.execute(f"PREPARE scan AS {asked.sql}")
        found = []
        for world in range(len(worlds)):
            rows = self.connection.execute(f"EXECUTE scan(world := {world})").fetchall()
            found.append({row[: asked.keys]: row[asked.keys :] for row in rows})
        self.connection.execute("DEALLOCATE scan")
        return found
