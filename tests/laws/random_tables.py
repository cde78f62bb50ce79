"""Random schemas of each kind of unit, and small worlds over them with their neighbours.

Values are hostile: NULL, NaN, infinities, the ends of 64 bits, dates beyond the calendar, texts that look like
something else; and people far over what is typical.
"""

from __future__ import annotations

import datetime
import math
import random
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations
from typing import Any

from privet.core.schema import (
    ColumnFacts,
    Contents,
    Contribution,
    PublicTable,
    Schema,
    boolean,
    category,
    date,
    followed,
    integer,
    number,
    text,
)

from privet.core.schema import timestamp  # isort: skip
from privet.core.unit import Link, Person, Rows, Window

Row = dict[str, Any]
World = dict[str, list[Row]]

DAYS = [datetime.date(2024, 1, 1) + datetime.timedelta(days=day) for day in range(24)]
ENGINE = {"integer": "BIGINT", "number": "DOUBLE", "boolean": "BOOLEAN", "text": "VARCHAR"}
ENGINE |= {"date": "DATE", "timestamp": "TIMESTAMP"}
DATES = [
    "0001-01-01",
    "9999-12-31",
    "1970-01-01",
    "2024-02-29",
    "infinity",
    "-infinity",
    "0044-03-15 (BC)",
    "20000-01-01",
]
NUMBERS = ["-3.5", "1e400", "99999999999999999999", "007", " 4 "]
WILD: dict[str, list[Any]] = {
    "integer": [0, 1, -1, 4, 7, 9, 10, 100, 2**63 - 1, -(2**63), 2**53 + 1],
    "number": [0.0, -0.0, 0.3, 2.26, 9.99, 10.0, -3.0, math.nan, math.inf, -math.inf, 1e308, -1e308, 5e-324],
    "boolean": [True, False],
    "text": [*"uvwU1%_é'ßİ ", "", "\\", "u\x00v", "x" * 300, *NUMBERS, "true", "2024-02-30", "2024-01-05 10:00:00"],
    "date": [*map(str, DAYS[:6]), *DATES],
    "timestamp": [*(f"{day} 1{n}:30:00" for n, day in enumerate(DAYS[:6])), *DATES, "2024-01-01 23:59:59.999999"],
}


@dataclass(frozen=True)
class Setting:
    """Tables of one kind of unit: as they are declared, with their links followed, and the columns that are stored."""

    unit: Rows | Person | Window
    neighbors: str
    declared: Mapping[str, Schema]
    tables: Mapping[str, Schema]

    @property
    def private(self) -> list[str]:
        """The tables that hold units."""
        return [name for name in self.declared if name not in PUBLIC]


PUBLIC: World = {
    "areas": [{"place": p, "area": a} for p, a in (("u", "n"), ("v", "s"), ("w", "n"), (None, "s"))],
    "bands": [
        {"least": low, "most": high, "band": b} for b, (low, high) in enumerate([(-5.0, 0.0), (0.0, 5.0), (-3.0, 9.0)])
    ],
}
_OPEN = {
    "areas": PublicTable(
        None, columns={"place": text(nullable=True), "area": category(["n", "s"])}, key="place"
    ).schema,
    "bands": PublicTable(
        None, columns={"least": number(-99, 99), "most": number(-99, 99), "band": integer(0, 3)}, rows=9
    ).schema,
}

_OPEN = {  # what public tables hold rules groups out, as it does in a session
    name: replace(schema, contents=Contents(lambda name=name: [tuple(row.values()) for row in PUBLIC[name]]))
    for name, schema in _OPEN.items()
}


def some_column(draw: random.Random, kind: str | None = None) -> ColumnFacts:
    """Return the facts of a column of some kind."""
    nullable = draw.random() < 0.5
    kind = kind or draw.choice(
        ["integer", "integer", "number", "number", "boolean", "text", "category", "date", "timestamp"]
    )
    plain = draw.random() < 0.25
    match kind:
        case "integer":
            ends = draw.choice([(0, 9), (-4, 7), (0, 120), (5, 5), (10, 20), (-8, -2), (-(2**63), 2**63 - 1)])
            return integer(nullable=nullable) if plain else integer(*ends, nullable=nullable)
        case "number":
            ends = draw.choice(
                [(-3, 10), (0, 4), (2, 9), (-1, 1), (0, 10**6), (Fraction(1, 3), Fraction(2, 3)), (-7, -2)]
            )
            step = draw.choice([None, None, Fraction(1, 2), Fraction(1, 10), Fraction(1, 3)])
            return number(nullable=nullable) if plain else number(*ends, step=step, nullable=nullable)
        case "boolean":
            return boolean(nullable=nullable)
        case "category":
            return category(draw.choice([["u", "v", "w"], ["u", "", "é"], [1, 5, 9], [7]]), nullable=nullable)
        case "date":
            return date(nullable=nullable) if plain else date(DAYS[2], draw.choice(DAYS[4:]), nullable=nullable)
        case "timestamp":
            low, high = (datetime.datetime.combine(day, datetime.time(12)) for day in (DAYS[1], draw.choice(DAYS[4:])))
            return timestamp(nullable=nullable) if plain else timestamp(low, high, nullable=nullable)
    return text(nullable=nullable)


def some_setting(draw: random.Random) -> Setting:
    """Return random tables: of rows, of people, or of windows of time."""
    neighbors = draw.choice(["add-remove", "change-one"])
    group = draw.choice([1, 1, 1, 2])
    kind = draw.choice(["rows", "people", "people", "windows"])
    typical = [Contribution(groups=draw.choice([1, 2, 3]), rows=draw.choice([1, 2, 5])) for _ in range(3)]
    columns = [{f"{name}{i}": some_column(draw) for i in range(draw.randint(2, 5))} for name in ("v", "d", "p")]
    columns[0] |= {"city": category(["u", "v", "w"], nullable=True), "pay": some_column(draw, "number")}
    if kind == "rows":
        unit: Rows | Person | Window = Rows(group)
        units = draw.choice([None, 50]) if neighbors == "change-one" else None
        made = {"visits": Schema(unit=unit, columns=columns[0], neighbors=neighbors, units=units)}
        return Setting(unit, neighbors, made | _OPEN, followed(made | _OPEN))
    who = draw.choice([text(nullable=True), text(), integer(), integer(0, 9)])
    own: dict[str, ColumnFacts] = {"id": integer(nullable=draw.random() < 0.5), "who": who}
    theirs: dict[str, ColumnFacts] = {"who": who}
    unit = Person("who", group)
    if kind == "windows":
        time, length = draw.choice([("day", 7), ("day", 1), ("at", datetime.timedelta(hours=36))])
        unit = Window("who", time, length, origin=DAYS[2])
        own[time] = theirs[time] = some_column(draw, "date" if time == "day" else "timestamp")
    link = Link("visit", to="visits", column="id")
    own, theirs, linked = own | columns[0], theirs | columns[2], {"visit": integer(nullable=True)} | columns[1]
    made = {
        "visits": Schema(
            unit=unit, columns=own, neighbors=neighbors, contribution=typical[0], key=draw.choice([None, "id"])
        ),
        "drugs": Schema(unit=link, columns=linked, neighbors=neighbors, contribution=typical[1]),
        "people": Schema(unit=unit, columns=theirs, neighbors=neighbors, contribution=typical[2]),
    }
    return Setting(unit, neighbors, made | _OPEN, followed(made | _OPEN))


def _value(draw: random.Random, column: ColumnFacts) -> Any:
    listed = [*(column.values or ()), *WILD[column.kind]] if column.values else WILD[column.kind]
    ends = [] if column.low is None else [column.low, column.high]
    ends = [float(e) if column.kind == "number" else int(e) if column.kind == "integer" else str(e) for e in ends]
    chosen = draw.random()
    if column.values and chosen < 0.7:
        return draw.choice(column.values)
    return None if chosen > 0.9 else draw.choice(ends) if ends and chosen < 0.6 else draw.choice(listed)


def some_rows(draw: random.Random, schema: Schema, many: int, **given: Any) -> list[Row]:
    """Return rows: wild, or all the same, which is where claims are attained."""
    own = {name: column for name, column in schema.columns.items() if name not in given}
    if draw.random() < 0.5:
        return [{**{name: _value(draw, column) for name, column in own.items()}, **given} for _ in range(many)]
    fixed = {name: _value(draw, column) for name, column in own.items()}
    vary = draw.choice([*own, None])
    return [{**fixed, **({vary: _value(draw, own[vary])} if vary else {}), **given} for _ in range(many)]


def _who(schema: Schema, place: int) -> Any:
    return place if schema.columns["who"].kind == "integer" else f"p{place}"


def some_person(draw: random.Random, setting: Setting, place: int, most: int = 9) -> World:
    """Return the rows of one person in all tables; the ids of their visits are their own."""
    declared = setting.declared
    who, many = _who(declared["visits"], place), draw.choice([0, 1, 1, 2, 3, 5, most])
    visits = some_rows(draw, declared["visits"], many, who=who, id=None)
    for index, row in enumerate(visits):
        row["id"] = None if draw.random() < 0.1 else 100 * place + index
    ids = [row["id"] for row in visits] or [None]
    drugs = [some_rows(draw, declared["drugs"], 1, visit=draw.choice(ids))[0] for _ in range(draw.choice([0, 1, 4, 9]))]
    people = some_rows(draw, declared["people"], draw.choice([0, 1, 1, 3]), who=who)
    if isinstance(setting.unit, Window):
        for row in (*visits, *people):
            row[setting.unit.time] = draw.choice([*_times(setting), None, "infinity"])
    return {"visits": visits, "drugs": drugs, "people": people}


def _times(setting: Setting) -> list[str]:
    at = "" if isinstance(setting.unit, Window) and setting.unit.time == "day" else " 12:30:00"
    return [f"{day}{at}" for day in DAYS]


def _nobody(draw: random.Random, setting: Setting) -> World:
    declared = setting.declared
    return {
        "visits": some_rows(draw, declared["visits"], draw.randrange(3), who=None, id=900),
        "drugs": some_rows(draw, declared["drugs"], 2, visit=draw.choice([900, 901, None])),
        "people": some_rows(draw, declared["people"], draw.randrange(2), who=None),
    }


def together(several: list[World]) -> World:
    return {name: [row for one in several for row in one[name]] for name in ("visits", "drugs", "people")}


def some_family(draw: random.Random, setting: Setting, *, most: int = 6) -> list[World]:
    """Return a world, and then some of its neighbours."""
    if isinstance(setting.unit, Rows):
        return _rows_family(draw, setting, most)
    if isinstance(setting.unit, Window):
        return _window_family(draw, setting, most)
    everyone = [some_person(draw, setting, place) for place in range(1, draw.choice([3, 4, 5]))]
    rest = _nobody(draw, setting)
    found = [together([rest, *everyone])]
    chosen = list(combinations(range(len(everyone)), min(setting.unit.group, len(everyone))))
    for gone in draw.sample(chosen, min(most, len(chosen))):
        kept = [one for place, one in enumerate(everyone) if place not in gone]
        if setting.neighbors == "change-one":
            kept += [some_person(draw, setting, place + 1) for place in gone]
        found.append(together([rest, *kept]))
    return found


def _rows_family(draw: random.Random, setting: Setting, most: int) -> list[World]:
    facts = setting.declared["visits"]
    rows = [row for _ in range(2) for row in some_rows(draw, facts, draw.choice([1, 2, 4]))]
    found = [rows]
    chosen = list(combinations(range(len(rows)), min(setting.unit.group, len(rows))))
    for gone in draw.sample(chosen, min(most, len(chosen))):
        kept = [row for place, row in enumerate(rows) if place not in gone]
        if setting.neighbors == "change-one":
            kept += [row for _ in gone for row in some_rows(draw, facts, 1)]
        found.append(kept)
    return [{"visits": one} for one in found]


def _window_family(draw: random.Random, setting: Setting, most: int) -> list[World]:
    """Return a world, then it with rows of one person within some window gone, in part or whole, or changed."""
    unit = setting.unit
    world = together([_nobody(draw, setting), *(some_person(draw, setting, place, 40) for place in (1, 2))])
    found = [world]
    for _ in range(most):
        start = draw.randrange(len(DAYS))
        times = _times(setting)
        span = unit.length // datetime.timedelta(days=1) + (1 if unit.length % datetime.timedelta(days=1) else 0)
        inside = set(times[start : start + span])
        who, part = _who(setting.declared["visits"], draw.choice([1, 2])), draw.choice([0.3, 1.0])
        other: World = {}
        gone: set[Any] = set()
        for name in ("visits", "people"):
            other[name] = []
            for row in world[name]:
                if row["who"] != who or row[unit.time] not in inside or draw.random() > part:
                    other[name].append(row)
                elif setting.neighbors == "change-one":
                    given = {one: row[one] for one in ("id", "who") if one in row}
                    given[unit.time] = draw.choice(sorted(inside))
                    other[name] += some_rows(draw, setting.declared[name], 1, **given)
                elif name == "visits":
                    gone.add(row["id"])
        other["drugs"] = [row for row in world["drugs"] if row["visit"] is None or row["visit"] not in gone]
        found.append(other)
    return found
