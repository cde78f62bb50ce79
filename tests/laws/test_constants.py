"""What is computed from constants is the exact constant, rounded once; and decimals in SQL are decimals."""

from __future__ import annotations

import datetime
import random
from decimal import Decimal
from fractions import Fraction
from math import ceil, floor
from typing import Any

import duckdb
import pytest

from privet import Approximate, Contribution, Person, Session, Table
from privet.core.relation import Call, ColumnRef, Expression, Literal
from privet.core.schema import Schema, date, integer, number
from privet.core.unit import Nobody, Rows
from privet.engines.dialects.duckdb import DUCKDB
from privet.engines.scan_sql.dialect import Renderer
from privet.query import normal
from privet.query.expressions import evaluate_row
from privet.query.frame import count, table
from privet.query.frame import sum as total
from privet.query.sql.parse import parse
from privet.query.terms import col, when

SCHEMA = Schema(
    unit=Rows(), columns={"x": number(-1000, 1000), "n": integer(-9, 9), "d": date(), "e": number(0, 1, nullable=True)}
)
MOST = 2**63 - 1


def read(expression: str) -> Expression | None:
    """Return what stands right of a column in a condition."""
    where = parse(f"SELECT COUNT(*) FROM t WHERE x < {expression}", {"t": SCHEMA}).where
    assert isinstance(where, Call)
    return where.arguments[1]


Known = tuple[str, Fraction, bool] | None
"""A constant expression, its value over exact numbers, and whether it is whole; None where it has none."""


def some(draw: random.Random, depth: int) -> Known:
    if depth == 0 or draw.random() < 0.15:
        if draw.random() < 0.4:
            whole = draw.choice([0, 1, 2, 3, 7, 10, 12, 1000, 2**40])
            return str(whole), Fraction(whole), True
        written = draw.choice(["0.06", "0.01", "0.1", "0.2", "0.3", "1.10", "2.5", "1e-3", "12.345678901234567", ".07"])
        return written, Fraction(written), False
    first, second = some(draw, depth - 1), some(draw, depth - 1)
    if first is None or second is None:
        return None
    (one, x, x_whole), (other, y, y_whole) = first, second
    both = x_whole and y_whole
    kind = draw.randrange(14)
    if kind < 6:
        sign = "+-*"[kind % 3]
        made = {"+": x + y, "-": x - y, "*": x * y}[sign]
        found = f"({one} {sign} {other})", made, both
    elif kind == 6:
        found = (f"({one} / {other})", x / y, False) if y else None
    elif kind == 7:
        if not y:
            return None
        size = abs(x) - abs(y) * floor(abs(x) / abs(y))
        found = f"({one} % {other})", -size if x < 0 else size, both
    elif kind == 8:
        found = f"(- {one})", -x, x_whole
    elif kind == 9:
        found = f"ABS({one})", abs(x), x_whole
    elif kind == 10:
        name = draw.choice(["FLOOR", "CEIL", "ROUND"])
        found = f"{name}({one})", Fraction({"FLOOR": floor, "CEIL": ceil, "ROUND": rounded}[name](x)), True
    elif kind == 11:
        digits = draw.choice([-2, 0, 1, 2, 5])
        found = f"ROUND({one}, {digits})", rounded(x * Fraction(10) ** digits) / Fraction(10) ** digits, False
    elif kind == 12:
        found = (
            (f"CAST({one} AS DOUBLE)", x, False)
            if draw.random() < 0.5
            else (f"CAST({one} AS BIGINT)", Fraction(rounded(x)), True)
        )
    else:
        found = f"GREATEST({one}, {other})", max(x, y), both
    return found if found is not None and (abs(found[1]) <= MOST or not found[2]) else None


def rounded(x: Fraction) -> int:
    return floor(x + Fraction(1, 2))


@pytest.mark.parametrize("start", range(0, 400, 100))
def test_random_constants_are_the_fractions_that_they_mean_rounded_once(start: int) -> None:
    tried = 0
    with duckdb.connect() as database:
        for seed in range(start, start + 100):
            draw = random.Random(seed)
            known = some(draw, draw.choice([1, 2, 3, 4]))
            if known is None:
                continue
            written, exact, whole = known
            found = read(written)
            assert found == Literal(int(exact) if whole else exact), written
            assert read(normal.text(found)) == found
            # the engine sees one constant, and it is the nearest double
            (told,) = database.execute(f"SELECT {Renderer({}, DUCKDB).render(found).sql}").fetchone() or ()
            assert told == (int(exact) if whole else float(exact)), written
            assert evaluate_row(found, {}, {}) == told
            tried += 1
    assert tried > 50


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("0.06 + 0.01", Fraction("0.07")),
        ("0.06 - 0.01", Fraction("0.05")),
        ("0.1 + 0.2", Fraction("0.3")),
        ("1 - (0.1 + 0.2) * 3", Fraction("0.1")),
        ("6 / 3", Fraction(2)),
        ("1 / 3", Fraction(1, 3)),
        ("1 / 3 * 3", Fraction(1)),
        ("0.3 / 0.1", Fraction(3)),
        ("-7 % 3", -1),
        ("-7.5 % 2", Fraction(-3, 2)),
        ("7 + 2", 9),
        ("SQRT(0.0049)", Fraction("0.07")),
        ("POWER(1.1, 2)", Fraction("1.21")),
        ("POWER(10, -2)", Fraction("0.01")),
        ("CAST('0.06' AS DOUBLE) + CAST(' 1e-2 ' AS DOUBLE)", Fraction("0.07")),
        ("CAST(2.5 AS BIGINT)", 3),
        ("CAST('12' AS BIGINT) + 0.5", Fraction("12.5")),
        ("COALESCE(0.06, 1) + 0.01", Fraction("0.07")),
        ("NULLIF(0.06, 1) + 0.01", Fraction("0.07")),
        ("SIGN(-0.5)", -1),
        ("LEAST(1, 0.5, 2)", Fraction(1, 2)),
        ("YEAR(DATE '1995-01-01' + INTERVAL 1 YEAR)", 1996),
        (str(MOST), MOST),
    ],
)
def test_what_is_computed_from_constants_is_one_constant(written: str, value: int | Fraction) -> None:
    assert read(written) == Literal(value)


@pytest.mark.parametrize(
    "written",
    [
        f"{MOST} + 1",  # does not fit into 64 bits: NULL, in the engine
        f"{MOST} * {MOST}",
        f"-{MOST} - 1",  # fits, and could not be written
        "1 / 0",
        "1 % 0",
        "1e300 * 1e300",
        "1e-300 * 1e-300",
        "SQRT(2)",
        "SQRT(-1)",
        "POWER(0, -1)",
        "POWER(2, 0.5)",
        "POWER(3, 1000)",
        "LN(2)",
        "CAST('1e999' AS DOUBLE)",
        "CAST('x' AS DOUBLE)",
        "NULLIF(1, 1)",
        "0.5 + NULL",
    ],
)
def test_what_has_no_exact_constant_is_left_to_the_engine_and_means_what_it_did(written: str) -> None:
    found = read(written)
    assert isinstance(found, Call)
    assert read(normal.text(found)) == found
    with duckdb.connect() as database:
        (told,) = database.execute(f"SELECT {Renderer({}, DUCKDB).render(found).sql}").fetchone() or ()
    plain = evaluate_row(found, {}, {})
    assert told is plain or told == pytest.approx(plain, rel=1e-15)


@pytest.mark.parametrize(
    ("written", "day"),
    [
        ("DATE '1998-12-01' - INTERVAL 90 DAY", datetime.date(1998, 9, 2)),
        ("DATE '2024-01-31' + INTERVAL 1 MONTH", datetime.date(2024, 2, 29)),
        ("DATE '2024-01-31' + INTERVAL 1 MONTH - INTERVAL 1 DAY", datetime.date(2024, 2, 28)),
        ("CAST(TIMESTAMP '2024-01-31 23:00:00' + INTERVAL 2 HOUR AS DATE)", datetime.date(2024, 2, 1)),
        ("DATE_TRUNC('month', DATE '2024-02-29')", datetime.date(2024, 2, 1)),
        ("DATE '2024-01-01' + INTERVAL (3 * 2) DAY", datetime.date(2024, 1, 7)),
    ],
)
def test_dates_and_intervals_are_one_date(written: str, day: datetime.date) -> None:
    where = parse(f"SELECT COUNT(*) FROM t WHERE d < {written}", {"t": SCHEMA}).where
    assert where == Call("less", (ColumnRef("d"), Literal(day)))


def test_products_of_products_of_constants_stay_small() -> None:
    steps = ", ".join(f"c{i} AS (SELECT x, y * y AS y FROM c{i - 1})" for i in range(1, 40))
    with pytest.raises(Exception, match="at most 10,000 parts"):
        parse(
            f"WITH c0 AS (SELECT x, 1.1 AS y FROM t), {steps} SELECT COUNT(*) FROM c39 WHERE x < y",
            {"t": SCHEMA},
        )


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT COUNT(*) FROM t WHERE x BETWEEN 0.06 - 0.01 AND 0.06 + 0.01",
        "SELECT COUNT(*) FILTER (WHERE x = 0.06 + 0.01) FROM t",
        "SELECT SUM(CASE WHEN x = 0.06 + 0.01 THEN 0.06 + 0.01 ELSE 0.1 + 0.2 END) FROM t",
        "SELECT COUNT(*) AS c FROM t HAVING COUNT(*) > 0.06 + 0.01",
        "SELECT COUNT(*) FROM (SELECT x, 0.06 AS r FROM t) WHERE x = r + 0.01",
        "WITH c AS (SELECT x + (0.06 + 0.01) AS y FROM t) SELECT COUNT(*) FROM c WHERE y IN (0.06 + 0.01, 0.1 + 0.2)",
        "SELECT COUNT(*) FROM t JOIN p ON x = w AND w = 0.06 + 0.01",
        "SELECT QUANTILE(x, 0.8 + 0.1) FROM t",
        "SELECT x > 0.06 + 0.01 AS k, COUNT(*) FROM t GROUP BY k ORDER BY COUNT(*) * (0.06 + 0.01)",
    ],
)
def test_wherever_constants_stand_they_are_folded(sql: str) -> None:
    plain = sql.replace("0.06 + 0.01", "0.07").replace("0.06 - 0.01", "0.05").replace("0.1 + 0.2", "0.3")
    plain = plain.replace("r + 0.01", "0.07").replace("0.8 + 0.1", "0.9")
    tables = {"t": SCHEMA, "p": Schema(unit=Nobody(), columns={"w": number(0, 1)}, key="w")}
    assert parse(sql, tables) == parse(plain, tables)


def test_the_builder_folds_as_sql_does() -> None:
    frame = table("t", SCHEMA)
    made = frame.where(col("x") == when(col("n") > 0, Decimal("0.07"), otherwise=Decimal("0.05")).fill_null(0))
    assert made.agg(c=count()).query().where is not None
    written = parse("SELECT SUM(x * (1 - 0.05)) AS s FROM t WHERE x >= 0.06 - 0.01", {"t": SCHEMA})
    built = frame.where(col("x") >= Decimal("0.05")).agg(s=total(col("x") * Decimal("0.95"))).query()
    assert written == built


LINES = [
    (person, quantity, price, discount, day)
    for person in range(60)
    for quantity, price, discount, day in [
        (person % 50, Decimal(100 + person), Decimal(person % 11) / 100, datetime.date(1994, 1 + person % 12, 1))
    ]
]


@pytest.mark.parametrize("stored", ["DECIMAL(15,2)", "DECIMAL(38,2)", "DOUBLE"])
def test_a_tpch_forecast_of_revenue_is_what_plain_sql_gives_on_decimals(stored: str, tmp_path: Any) -> None:
    path = str(tmp_path / "lines.parquet")
    with duckdb.connect() as database:
        database.execute(f"CREATE TABLE l(p BIGINT, q {stored}, price {stored}, discount {stored}, day DATE)")
        database.executemany("INSERT INTO l VALUES (?, ?, ?, ?, ?)", LINES)
        database.execute("CREATE VIEW exact AS SELECT * REPLACE (discount::DECIMAL(15,2) AS discount) FROM l")
        asked = (
            "SELECT SUM(price * discount) AS revenue, COUNT(*) AS n FROM {} WHERE day >= DATE '1994-01-01' "
            "AND day < DATE '1994-01-01' + INTERVAL 1 YEAR AND discount BETWEEN 0.06 - 0.01 AND 0.06 + 0.01 AND q < 24"
        )
        truth = database.execute(asked.format("exact")).fetchone()
        database.execute(f"COPY l TO '{path}' (FORMAT parquet)")
    columns = {
        "p": integer(),
        "q": number(0, 50),
        "price": number(0, 1000),
        "discount": number(0, 1, step=Fraction(1, 100)),
        "day": date(),
    }
    lines = Table(path, unit=Person("p"), columns=columns, contribution=Contribution(groups=1, rows=1))
    with Session({"l": lines}, budget=Approximate(epsilon=10**9, delta=1e-9)) as session:
        told = session.ask(asked.format("l"), epsilon=10**8)
    assert truth is not None
    assert truth[1] > 0
    assert told["n"].values[0] == truth[1]
    assert float(told["revenue"].values[0] or 0) == pytest.approx(float(truth[0]), rel=1e-3)


@pytest.mark.parametrize("stored", ["DECIMAL(3,2)", "DECIMAL(15,2)", "DECIMAL(38,2)", "DOUBLE", "VARCHAR"])
def test_a_stored_decimal_equals_the_literal_that_is_written_like_it(stored: str, tmp_path: Any) -> None:
    path = str(tmp_path / "rows.parquet")
    with duckdb.connect() as database:
        made = f"SELECT range AS p, (range::DECIMAL(15,2) / 100)::DECIMAL(15,2)::{stored} AS x FROM range(101)"
        database.execute(f"COPY ({made}) TO '{path}' (FORMAT parquet)")
    rows = Table(path, unit=Rows(), columns={"p": integer(0, 100), "x": number(0, 1)})
    written = " OR ".join(f"(p = {i} AND x = {i // 10 / 10:.1f} + 0.0{i % 10})" for i in range(101))
    with Session({"t": rows}, budget=Approximate(epsilon=10**9, delta=1e-9)) as session:
        told = session.ask(f"SELECT COUNT(*) AS n FROM t WHERE {written}", epsilon=10**8)
    assert told["n"].values[0] == 101
