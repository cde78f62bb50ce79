"""The SQL that DuckDB is asked, for scans of every kind: what a plan reads does not change unnoticed.

`generated_sql.json` has the text of every scan of the golden questions, of scans that no question makes, and of every
scalar function over columns of each kind. It is written anew only where that text was changed on purpose, by

    PRIVET_WRITE_GOLDEN=generated_sql .venv/bin/python -m pytest tests/golden/test_generated_sql.py

and its diff says which scans read the data by another text. The key of hashes is fixed here; sessions draw one for
each scan.
"""

from __future__ import annotations

import datetime
import json
import sys
from collections.abc import Iterator
from fractions import Fraction
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from privet.core import schema
from privet.core.errors import RequestError
from privet.core.relation import Call, ColumnRef, Expression, Literal
from privet.core.scan import Discovery, GroupKey, Largest, Near, Norm, Once, Pairs, Scan, Sum, Truncate, asks
from privet.core.schema import followed
from privet.core.unit import Person, Rows, Window
from privet.engines.dialects.duckdb import DUCKDB
from privet.engines.scan_sql.dialect import Renderer
from privet.engines.scan_sql.row_values import clamped, sources
from privet.engines.scan_sql.statement import write_scan
from privet.query.expressions import typed
from privet.query.functions import FUNCTIONS

sys.path.insert(0, str(Path(__file__).parent))

from golden_hospital import HERE, QUESTIONS, tables, to_be_written, written

FILE = HERE / "generated_sql.json"
SECRET = 0x0123456789ABCDEF_FEDCBA9876543210


def rendered(scan: Scan, known: dict[str, schema.Schema]) -> dict[str, Any]:
    """Return the text of a scan, and the lists that are bound to it."""
    made = write_scan(scan, known, {name: f"table{index}" for index, name in enumerate(known)}, SECRET, DUCKDB)
    bound = {name: [str(value) for value in values] for name, values in made.parameters.items()}
    return {"sql": made.sql, **({"bound": bound} if bound else {})}


def of_questions() -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield every scan of the golden questions, by the question's name and the pass's number."""
    known = followed({name: table.schema for name, table in tables(empty=True).items()})
    for name, question in QUESTIONS.items():
        plan = question.plan()
        for place, one in enumerate(plan.releases if isinstance(question.said, list) else [plan]):
            for number, step in enumerate(one.passes):
                if asks(step.scan):
                    yield f"{name}, {place}.{number}", rendered(step.scan, known)


COLUMNS = {
    "who": schema.integer(nullable=True),
    "name": schema.text(),
    "share": schema.number(nullable=True),
    "city": schema.category(["Ulm", "Bonn", "O'Hara"], nullable=True),
    "age": schema.integer(0, 5),
    "big": schema.integer(-(2**63), 2**63 - 1, nullable=True),
    "code": schema.category([1, 3, 9]),
    "pay": schema.number(Fraction(-1, 2), 10, step=Fraction(1, 100), nullable=True),
    "day": schema.date(datetime.date(2024, 1, 30), datetime.date(2024, 3, 2)),
    "any_day": schema.date(),
    "at": schema.timestamp(datetime.datetime(2024, 1, 1), datetime.datetime(2024, 12, 31, 23, 59, 59)),
    "any_time": schema.timestamp(),
    "ok": schema.boolean(),
}


def col(name: str) -> ColumnRef:
    return ColumnRef(name)


CITY = GroupKey(col("city"), ("Ulm", "Bonn", "O'Hara", None), True)
NAME = GroupKey(col("name"), None, False)
AGE = GroupKey(col("age"), (0, 1, 2, 3, 4, 5), False)
DAYS = GroupKey(col("day"), tuple(datetime.date(2024, 2, day) for day in range(1, 29)), False)
MANY = GroupKey(col("name"), tuple(f"n{index}" for index in range(40)), False)
KEYS: dict[str, tuple[GroupKey, ...]] = {
    "no key": (),
    "city": (CITY,),
    "age and name": (AGE, NAME),
    "days": (DAYS,),
    "bound names": (MANY, CITY),
}
COUNT = Sum(None, 1, 1)
SUMS = {
    "count": COUNT,
    "young": Sum(None, 1, 1, where=Call("less", (col("age"), Literal(3)))),
    "ages": Sum(col("age"), 0, 5, null_as=0),
    "centred": Sum(col("age"), -5, 5, origin=Fraction(5, 2), step=Fraction(1, 2), null_as=-5),
    "thirds": Sum(col("big"), -1000, 1000, origin=Fraction(1, 7), step=Fraction(10, 3)),
    "wide": Sum(col("big"), -(2**63), 2**63 - 1),
    "pay": Sum(col("pay"), -50, 1000, step=Fraction(1, 100)),
    "squares": Sum(col("pay"), -525, 525, origin=Fraction(19, 4), step=Fraction(1, 100), power=2, offset=137812),
    "beyond": Sum(col("pay"), -200, 5000, step=Fraction(1, 100), null_as=7),
    "fine": Sum(col("share"), -(2**60), 2**60, step=Fraction(1, 2**57)),
}
BOUNDINGS = {
    "order 1": Norm(1, 12, 7),
    "order 2": Norm(2, 12, 7),
    "wide order 2": Norm(2, 2**40, 20),
    "truncate": Truncate(3, 4),
}
UNITS = {
    "whole": Person("who"),
    "text": Person("name"),
    "number": Person("share"),
    "days": Window("who", "day", datetime.timedelta(days=7)),
    "hours": Window("who", "at", datetime.timedelta(hours=6)),
}


def of_scans() -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield scans of every kind of unit, key, sum and bound, whether or not a question makes them."""

    def one(name: str, unit: Any, **terms: Any) -> tuple[str, dict[str, Any]]:
        facts = schema.Schema(unit=unit, columns=COLUMNS, rows=2**20)
        terms = {"where": None, "keys": (), "sums": (COUNT,), "bounding": Norm(1, 12, 7), **terms}
        return f"scan of {name}", rendered(Scan("t", facts, **terms), {"t": facts})

    for name, total in SUMS.items():
        yield one(f"{name}, by row", Rows(), sums=(total,), bounding=Once())
        yield one(f"{name}, by person", UNITS["whole"], sums=(total,), keys=(CITY,), bounding=BOUNDINGS["order 2"])
    for (name, keys), (how, bounding) in product(KEYS.items(), BOUNDINGS.items()):
        sums = tuple(SUMS.values())[:4]
        yield one(f"{name}, {how}", UNITS["whole"], keys=keys, sums=sums, bounding=bounding)
        yield one(
            f"{name}, {how}, distinct", UNITS["whole"], keys=keys, sums=(COUNT,), bounding=bounding, distinct=True
        )
    for name, unit in UNITS.items():
        yield one(f"unit {name}", unit, keys=(CITY,))
    for order, most in product((0, 1, 2), (5, 2_000_000)):
        found = Discovery(most, order, 7)
        yield one(f"discovery {order}, {most}", UNITS["whole"], keys=(NAME,), discovery=found)
        yield one(f"discovery {order}, {most}, cut", UNITS["whole"], keys=(NAME,), discovery=found,
                  bounding=Truncate(most, 1))  # fmt: skip
    yield one("discovery by row", Rows(), keys=(NAME,), discovery=Discovery(1, 0, 7), bounding=Once())
    yield one("pairs by row", Rows(), keys=(CITY,), bounding=Pairs(col("age"), 1))
    yield one("pairs by person", UNITS["whole"], keys=(CITY,), bounding=Pairs(col("share"), 3))
    yield one("largest", UNITS["whole"], keys=(CITY, AGE), bounding=Largest(12, 7))
    yield one("cells", UNITS["whole"], keys=(CITY, AGE), cells=(("Ulm", 1), (None, 2)))
    places = {"places": Sum(col("age"), 0, 5), "sums": ()}
    near = Near(Fraction(1, 2), 40, 50, 3)
    for (name, keys), bound in product(KEYS.items(), (Norm(1, 12, 7), Truncate(3, 4))):
        yield one(f"places, {name}, {bound}", UNITS["whole"], keys=keys, bounding=bound, **places)
        yield one(f"places near, {name}, {bound}", UNITS["whole"], keys=keys, bounding=bound, near=near, **places)
    yield one("places by row", Rows(), keys=(MANY,), bounding=Once(), **places)


CONSTANTS: dict[str, list[tuple[Expression, ...]]] = {
    "round_to": [(col("pay"), Literal(2)), (col("age"), Literal(-2))],
    "in": [
        (col("age"), Literal(1), Literal(3)),
        (col("city"), Literal("O'Hara"), Literal("x")),
        (col("day"), Literal(datetime.date(2024, 2, 2))),
    ],
    "like": [(col("name"), Literal("a%_")), (col("name"), Literal("a!%"), Literal("!"))],
    "substring": [(col("name"), Literal(2), Literal(3))],
    "right": [(col("name"), Literal(2))],
    "replace": [(col("name"), Literal("a"), Literal("O'H"))],
    "left_pad": [(col("name"), Literal(5), Literal("0"))],
    "right_pad": [(col("name"), Literal(5), Literal("0"))],
    "split_part": [(col("name"), Literal(","), Literal(2))],
    "make_date": [(col("age"), Literal(2), col("age"))],
    "format_date": [(col("day"), Literal("%Y-%m")), (col("at"), Literal("%H"))],
    "case": [(col("ok"), col("age"), col("pay")), (col("ok"), col("day"), Literal(None), col("at"), col("any_day"))],
    "date_trunc": [
        (Literal(part), col(name)) for part, name in product(("day", "week", "month", "year"), ("day", "at"))
    ],
    "date_diff": [
        (Literal(part), col("day"), col("at"))
        for part in ("second", "minute", "hour", "day", "week", "month", "quarter", "year")
    ],
    "add_days": [(col("day"), Literal(9)), (col("any_time"), Literal(-9)), (col("day"), Literal(10**8))],
    "add_months": [(col("any_day"), Literal(9)), (col("at"), Literal(-14))],
    "add_seconds": [(col("any_time"), Literal(9)), (col("at"), Literal(-9))],
    "bin": [
        (col("age"), Literal(2)),
        (col("big"), Literal(7)),
        (col("pay"), Literal(2)),
        (col("pay"), Literal(Fraction(5, 2))),
        (col("age"), Literal(Fraction(1, 2))),
    ],
    "bucket": [(col("pay"), Literal(0), Literal(Fraction(21, 2)), Literal(7))],
}
"""Arguments of the functions that take constants."""


def of_functions() -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield every function over columns of each kind that it takes, and each constant."""
    facts = schema.Schema(unit=Rows(), columns=COLUMNS)
    operands: list[Expression] = [Literal(None), Literal(-3)]
    operands += map(col, ("age", "big", "pay", "name", "day", "at", "ok"))
    for name, function in FUNCTIONS.items():
        given = CONSTANTS.get(name) or product(operands, repeat=function.least)
        for arguments in given:
            call = Call(name, tuple(arguments))
            try:
                typed(call, COLUMNS)
            except RequestError:
                continue
            shown = ", ".join(one.name if isinstance(one, ColumnRef) else str(one) for one in arguments)
            yield f"{name}({shown})", {"sql": Renderer(sources(facts), DUCKDB).render(call).sql}
    for name, column in COLUMNS.items():
        yield f"clamped {name}", {"sql": clamped("r.c", column, DUCKDB)}
    for value in (-(2**63), 2**63 - 1, Fraction(10) ** 400, Fraction(2) ** 1023, Fraction(-1, 3), True, "O'Hara",
                  datetime.date(1, 1, 1), datetime.datetime(9999, 12, 31, 23, 59, 59, 999999)):  # fmt: skip
        yield f"constant {str(value)[:30]}", {"sql": Renderer({}, DUCKDB).render(Literal(value)).sql}


@cache
def now() -> dict[str, dict[str, Any]]:
    listed = [*of_questions(), *of_scans(), *of_functions()]
    found = dict(listed)
    assert len(found) == len(listed), "two scans have one name"
    return found


def read() -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = json.loads(FILE.read_text(encoding="utf-8"))
    return found


def test_the_scans_are_the_ones_that_are_pinned() -> None:
    if to_be_written("generated_sql"):
        FILE.write_text(json.dumps(now(), indent=1) + "\n", "utf-8")
        written(FILE.name)
    assert list(read()) == list(now())
    assert len([*of_questions()]) >= 80
    assert {name.partition("(")[0] for name in now() if "(" in name} >= FUNCTIONS.keys()


def test_duckdb_is_asked_by_the_same_text() -> None:
    pinned = read()
    moved = [name for name, text in now().items() if text != pinned[name]]
    if moved:
        pytest.fail(
            f"the SQL of {len(moved)} scans changed, of {moved[0]!r} for one\n"
            f"  from {pinned[moved[0]]}\n  to   {now()[moved[0]]}"
        )
