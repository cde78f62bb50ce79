"""Every function of the closed list, on hostile values: Spark raises nothing, and gives what DuckDB gives."""

from __future__ import annotations

import datetime
import math
import random
from fractions import Fraction
from typing import Any

import duckdb
import pyarrow as pa
import pytest
import random_expressions

from privet.core import schema
from privet.core.errors import PrivetError
from privet.core.relation import Call, ColumnRef, Expression, Literal
from privet.core.schema import Schema
from privet.core.unit import Rows
from privet.engines.dialects.duckdb import DUCKDB
from privet.engines.dialects.spark import SPARK
from privet.engines.scan_sql.dialect import Renderer
from privet.engines.scan_sql.row_values import clamped, physical, sources
from privet.engines.spark.cluster import SETTINGS
from privet.query.expressions import typed
from privet.query.functions import FUNCTIONS

COLUMNS = {
    "i": schema.integer(nullable=True),
    "x": schema.number(nullable=True),
    "s": schema.text(nullable=True),
    "b": schema.boolean(nullable=True),
    "d": schema.date(nullable=True),
    "t": schema.timestamp(nullable=True),
}
VALUES: dict[str, list[Any]] = {
    "i": [None, 0, 1, -1, 7, -7, 2**63 - 1, -(2**63), 2**53 + 1, 100],
    "x": [None, math.nan, math.inf, -math.inf, 0.0, -0.0, 2.5, -2.7, 1e300, 5e-324, 9.2233720368547758e18],
    "s": [None, "", " ", "a", "ab%_\\c", "é😀x", " 42 ", "-7.5e3", "1e400", "true", "F", "2024-02-29", "2024-02-30",
          "2024-01-05 10:00:00.5", "12\n", "x" * 300, "O'Hara ${x}"],
    "b": [None, True, False],
    "d": [None, datetime.date(1, 1, 1), datetime.date(9999, 12, 31), datetime.date(2024, 2, 29)],
    "t": [None, datetime.datetime(1, 1, 1), datetime.datetime(9999, 12, 31, 23, 59, 59, 999999),
          datetime.datetime(2024, 2, 29, 13, 7, 59, 5), datetime.datetime(1969, 12, 31, 23, 59, 59, 999999)],
}  # fmt: skip
KINDS = {
    "i": pa.int64(),
    "x": pa.float64(),
    "s": pa.string(),
    "b": pa.bool_(),
    "d": pa.date32(),
    "t": pa.timestamp("us"),
}
ROUGH, PLACES = {"ln", "log10", "log2", "exp", "power"}, 2
"""What Java computes by its own methods, and by how many units in the last place it may differ."""
ASCII = {"lower", "upper"}

CONSTANTS: dict[str, list[tuple[Any, ...]]] = {
    "round_to": [("x", 2), ("x", -2), ("i", 1)],
    "bin": [("i", 10), ("x", 3), ("x", Fraction("0.3")), ("i", Fraction("2.5"))],
    "bucket": [("x", 0, 10, 7), ("i", -5, 5, 3)],
    "like": [("s", "a%"), ("s", "%\\%"), ("s", "ab#%_#_%", "#"), ("s", "_"), ("s", "O'%${_}")],
    "substring": [("s", 1, 2), ("s", 3, 1000), ("s", 2, 0)],
    "right": [("s", 0), ("s", 2)],
    "replace": [("s", "a", "bb"), ("s", "", "z")],
    "left_pad": [("s", 5, "xy"), ("s", 0, "x")],
    "right_pad": [("s", 5, "xy")],
    "split_part": [("s", " ", 1), ("s", "-", 2), ("s", "a", 3)],
    "starts_with": [("s", "a"), ("s", "")],
    "ends_with": [("s", "c")],
    "contains": [("s", "%")],
    "position": [("s", "b"), ("s", "")],
    "concat": [("s", "s"), ("s", "-x")],
    "date_trunc": [(part, when) for part in ("year", "quarter", "month", "week", "day") for when in ("d", "t")]
    + [("hour", "t"), ("second", "t")],
    "date_diff": [(part, "d", "t") for part in ("year", "quarter", "month", "week", "day")] + [("hour", "t", "t")],
    "add_days": [("d", 1), ("d", -400000), ("t", 3)],
    "add_months": [("d", 1), ("d", -12), ("t", 13), ("t", 10**6)],
    "add_seconds": [("t", 90061), ("t", -1)],
    "make_date": [("i", "i", "i"), (2024, "i", 29)],
    "format_date": [("d", "%Y-%m-%d %j %b %A %V %G %u"), ("t", "%H:%M:%S %y%%")],
    "clamp": [("i", -5, 5), ("x", 0, 1)],
    "case": [("b", "i", "i"), ("b", "x", 7)],
    "coalesce": [("i", 3), ("s", "zz"), ("x", "i")],
    "nullif": [("i", 7), ("s", "a"), ("x", 0)],
    "in": [("i", 1, 7), ("s", "a", "é😀x")],
}
TEXTS = {"like", "replace", "left_pad", "right_pad", "split_part", "starts_with", "ends_with", "contains", "position",
         "date_trunc", "date_diff", "format_date"}  # fmt: skip


def expressions() -> list[Expression]:
    """Return every function on every kind of column that it takes, and random ones of some depth."""
    made: list[Expression] = []
    for name in FUNCTIONS:
        given = CONSTANTS.get(name)
        if given is None:
            columns = list(COLUMNS)
            given = [(one,) for one in columns] + [(one, other) for one in columns for other in columns]
        for values in given:
            arguments = tuple(
                ColumnRef(value) if value in COLUMNS and not (name in TEXTS and place > 2) else Literal(value)
                for place, value in enumerate(values)
            )
            call = Call(name, arguments)
            try:
                typed(call, COLUMNS)
                Renderer(sources(Schema(unit=Rows(), columns=COLUMNS)), SPARK).render(call)
            except (PrivetError, TypeError, IndexError, ValueError):
                continue
            made.append(call)
    return made


def rows() -> pa.Table:
    many = max(map(len, VALUES.values()))
    drawn = random.Random(3)
    listed = {
        name: [*values, *(drawn.choice(values) for _ in range(3 * many - len(values)))]
        for name, values in VALUES.items()
    }
    return pa.table({name: pa.array(values, KINDS[name]) for name, values in listed.items()})


def told(value: Any) -> Any:
    return None if isinstance(value, float) and math.isnan(value) else value


@pytest.fixture(scope="module")
def session(spark: Any) -> Any:
    made = spark.newSession()
    for name, value in SETTINGS.items():
        made.conf.set(name, value)
    return made


def compared(session: Any, table: pa.Table, columns: dict[str, Any], several: list[Expression]) -> list[str]:
    """Return where Spark and DuckDB differ."""
    facts = Schema(unit=Rows(), columns=columns)
    names = physical(facts)
    plain = table.rename_columns([*names.values()])
    connection = duckdb.connect(":memory:")
    connection.register("stored", plain)
    session.createDataFrame(plain).createOrReplaceTempView("stored")
    found = {}
    for dialect in (DUCKDB, SPARK):
        held = ", ".join(f"{clamped(names[n], one, dialect)} AS {names[n]}" for n, one in columns.items())
        renderer = Renderer(sources(facts), dialect)
        texts = [f"{renderer.render(one).sql} AS e{index}" for index, one in enumerate(several)]
        sql = f"SELECT {', '.join(texts)} FROM (SELECT {held} FROM stored)"
        told_rows = connection.execute(sql).fetchall() if dialect is DUCKDB else session.sql(sql).collect()
        found[dialect.name] = [tuple(map(told, row)) for row in told_rows]
    connection.close()
    wrong = []
    for index, one in enumerate(several):
        ours, theirs = ([row[index] for row in found[name]] for name in ("Spark", "DuckDB"))
        same = ours == theirs or (
            one.function in ROUGH
            and all(
                a == b or (a is not None and b is not None and abs(a - b) <= PLACES * math.ulp(b))
                for a, b in zip(ours, theirs, strict=True)
            )
        )
        if not same:
            first = next((a, b) for a, b in zip(ours, theirs, strict=True) if a != b)
            wrong.append(f"{one}: Spark {first[0]!r}, DuckDB {first[1]!r}")
    return wrong


def test_no_value_makes_a_function_raise_or_differ(session: Any) -> None:
    several = [one for one in expressions() if one.function not in ASCII]
    assert len({one.function for one in several}) >= 70
    wrong: list[str] = []
    for start in range(0, len(several), 80):
        wrong += compared(session, rows(), COLUMNS, several[start : start + 80])
    assert wrong == []


def test_random_expressions_are_what_duckdb_makes_of_them(session: Any) -> None:
    draw = random.Random(11)
    columns = random_expressions.COLUMNS
    listed = list(zip(*random_expressions.rows(draw, 60), strict=True))
    kinds = {"integer": pa.int64(), "number": pa.float64(), "date": pa.date32(), "timestamp": pa.timestamp("us")}
    table = pa.table(
        {
            name: pa.array(values, kinds[facts.kind])
            for (name, facts), values in zip(columns.items(), listed, strict=True)
        }
    )
    writer, several = random_expressions.Writer(draw), []
    while len(several) < 80:
        one = writer.numeric(3)
        if any(f"'{name}'" in repr(one) for name in ROUGH):
            continue
        try:
            Renderer(sources(Schema(unit=Rows(), columns=columns)), SPARK).render(one)
        except PrivetError:
            continue
        several.append(one)
    wrong = [
        told for start in range(0, 80, 40) for told in compared(session, table, columns, several[start : start + 40])
    ]
    assert wrong == []


def test_letters_change_their_case_within_ascii(session: Any) -> None:
    renderer = Renderer(sources(Schema(unit=Rows(), columns={"s": schema.text()})), SPARK)
    made = [renderer.render(Call(name, (ColumnRef("s"),))).sql for name in ("lower", "upper")]
    session.createDataFrame(pa.table({"c0": ["Éa-Zß"]})).createOrReplaceTempView("letters")
    assert tuple(session.sql(f"SELECT {', '.join(made)} FROM letters").collect()[0]) == ("Éa-zß", "ÉA-Zß")


def test_logarithms_exponentials_and_powers_differ_by_two_units_in_the_last_place_at_most(session: Any) -> None:
    drawn = random.Random(5)
    sizes = [math.exp(drawn.uniform(-700, 700)) for _ in range(4000)]
    whole = [float(index) for index in range(1, 4001)]
    powers = [2.0 ** drawn.randrange(-1000, 1000) for _ in range(2000)] + [10.0**index for index in range(-300, 300)]
    values = sizes + whole + powers
    table = pa.table({"x": values, "y": [drawn.uniform(-700, 700) for _ in values]})
    columns = {"x": schema.number(), "y": schema.number()}
    x, y = ColumnRef("x"), ColumnRef("y")
    several = [
        Call("ln", (x,)),
        Call("log10", (x,)),
        Call("log2", (x,)),
        Call("exp", (y,)),
        Call("power", (x, Literal(3))),
    ]
    assert compared(session, table, columns, several) == []
