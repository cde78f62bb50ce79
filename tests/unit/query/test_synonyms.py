"""Functions and clauses by the names of common dialects mean what the closed list has for them."""

from __future__ import annotations

import pytest

from privet.core.errors import RequestError, Unsupported, WrongKind
from privet.core.schema import Schema, boolean, category, date, integer, number, text, timestamp
from privet.core.unit import Person
from privet.query.nodes import Query
from privet.query.sql.calls import NAMES
from privet.query.sql.parse import parse
from privet.query.sql.synonyms import SYNONYMS

VISITS = Schema(
    unit=Person("user_id"),
    columns={
        "user_id": integer(),
        "day": date("2024-01-01", "2024-12-31"),
        "at": timestamp(nullable=True),
        "ward": category(["A", "B", "C"]),
        "cost": number(0, 1000, nullable=True),
        "age": integer(0, 120),
        "diag": text(nullable=True),
        "urgent": boolean(),
    },
)


def ask(text: str) -> Query:
    return parse(text, {"visits": VISITS})


def of(expression: str) -> Query:
    return ask(f"SELECT COUNT(*) AS n FROM visits WHERE ({expression}) IS NULL")


SAME = {
    "DATEADD(day, 7, day)": "day + INTERVAL 7 DAY",
    "DATEADD('month', -6, day)": "day - INTERVAL 6 MONTH",
    "DATEADD(yy, 1, '2024-06-30')": "DATE '2025-06-30'",
    "TIMESTAMPADD(HOUR, 2, at)": "at + INTERVAL 2 HOUR",
    "DATE_ADD(day, INTERVAL 7 DAY)": "day + INTERVAL 7 DAY",
    "DATE_ADD('week', 2, day)": "day + INTERVAL 14 DAY",
    "ADDDATE(day, 3)": "day + INTERVAL 3 DAY",
    "TIMESTAMP_ADD(at, INTERVAL 1 MINUTE)": "at + INTERVAL 60 SECOND",
    "DATE_SUB(day, INTERVAL 7 DAY)": "day - INTERVAL 7 DAY",
    "SUBDATE(day, INTERVAL 1 YEAR)": "day - INTERVAL 12 MONTH",
    "TIMESTAMP_SUB(at, INTERVAL 1 HOUR)": "at - INTERVAL 1 HOUR",
    "day + INTERVAL '7 days'": "day + INTERVAL 7 DAY",
    "day - INTERVAL '1' MONTH": "day - INTERVAL 1 MONTH",
    "ADD_MONTHS(day, 2)": "day + INTERVAL 2 MONTH",
    "DATEDIFF(day, day, at)": "DATE_DIFF('day', day, at)",
    "DATEDIFF(at, day)": "DATE_DIFF('day', day, at)",
    "DATE_DIFF(at, day, MONTH)": "DATE_DIFF('month', day, at)",
    "DATEDIFF('yyyy', day, at)": "DATE_DIFF('year', day, at)",
    "TIMESTAMPDIFF(MINUTE, day, at)": "(EPOCH_US(at) - EPOCH_US(day)) // 60000000",
    "TIMESTAMP_DIFF(at, day, HOUR)": "(EPOCH_US(at) - EPOCH_US(day)) // 3600000000",
    "DATE_TRUNC(day, MONTH)": "DATE_TRUNC('month', day)",
    "DATE_TRUNC('MONTH', day)": "DATE_TRUNC('month', day)",
    "DATETRUNC(quarter, day)": "DATE_TRUNC('quarter', day)",
    "TIMESTAMP_TRUNC(at, HOUR)": "DATE_TRUNC('hour', at)",
    "TIME_TRUNC(at, MINUTE)": "DATE_TRUNC('minute', at)",
    "DATE(at)": "CAST(at AS DATE)",
    "DATE(2024, 2, 29)": "DATE '2024-02-29'",
    "DATEFROMPARTS(2024, 2, 29)": "DATE '2024-02-29'",
    "MAKE_DATE(2024, age, 1)": "DATE_FROM_PARTS(2024, age, 1)",
    "TIMESTAMP(day)": "CAST(day AS TIMESTAMP)",
    "TO_TIMESTAMP('2023-03-01 12:00:00')": "TIMESTAMP '2023-03-01 12:00:00'",
    "TO_TIMESTAMP(diag, 'YYYY-MM-DD HH24:MI:SS')": "CAST(diag AS TIMESTAMP)",
    "TO_DATE('2023-02-01', 'YYYY-MM-DD')": "DATE '2023-02-01'",
    "PARSE_DATE('%Y-%m-%d', diag)": "CAST(diag AS DATE)",
    "STRPTIME(diag, '%Y-%m-%d')": "CAST(diag AS TIMESTAMP)",
    "STRFTIME('%Y-%m', day)": "STRFTIME(day, '%Y-%m')",
    "FORMAT_DATE('%F', day)": "STRFTIME(day, '%Y-%m-%d')",
    "DATE_FORMAT(at, '%Y-%m-%d %H:%i')": "STRFTIME(at, '%Y-%m-%d %H:%M')",
    "TO_CHAR(day, 'YYYY-MM')": "STRFTIME(day, '%Y-%m')",
    "TO_CHAR(age)": "CAST(age AS VARCHAR)",
    "MONTHNAME(day)": "STRFTIME(day, '%B')",
    "DAYNAME(day)": "STRFTIME(day, '%A')",
    "LAST_DAY(day)": "DATE_TRUNC('month', CAST(day AS DATE)) + INTERVAL 1 MONTH + INTERVAL (-1) DAY",
    "EOMONTH(day)": "LAST_DAY(day)",
    "DATEPART(year, day)": "YEAR(day)",
    "DATE_PART('quarter', day)": "QUARTER(day)",
    "ISNULL(cost, 0)": "COALESCE(cost, 0)",
    "ISNULL(cost)": "cost IS NULL",
    "NVL(cost, 0)": "COALESCE(cost, 0)",
    "IFNULL(diag, 'x')": "COALESCE(diag, 'x')",
    "ZEROIFNULL(cost)": "COALESCE(cost, 0)",
    "NULLIFZERO(age)": "NULLIF(age, 0)",
    "NVL2(cost, 1, 0)": "CASE WHEN cost IS NULL THEN 0 ELSE 1 END",
    "IIF(age > 5, 'a', 'b')": "CASE WHEN age > 5 THEN 'a' ELSE 'b' END",
    "IFF(urgent, age, 0)": "IF(urgent, age, 0)",
    "DECODE(ward, 'A', 1, 'B', 2, 3)": "CASE WHEN COALESCE(ward = 'A', FALSE) THEN 1 WHEN COALESCE(ward = 'B', FALSE) "
    "THEN 2 ELSE 3 END",
    "DECODE(diag, NULL, 1)": "CASE WHEN diag IS NULL THEN 1 END",
    "SAFE_DIVIDE(cost, age)": "cost / age",
    "TRY_DIVIDE(cost, age)": "cost / age",
    "DIV0(cost, age)": "CASE WHEN age = 0 THEN 0 ELSE cost / age END",
    "DIV(age, 4)": "age // 4",
    "TRUNCATE(cost)": "TRUNC(cost)",
    "TRUNC(cost, 1)": "TRUNC(cost * 10) / 10",
    "TRUNC(day, 'MONTH')": "DATE_TRUNC('month', day)",
    "CONVERT(VARCHAR, age)": "CAST(age AS VARCHAR)",
    "CONVERT(VARCHAR(10), age)": "CAST(age AS VARCHAR)",
    "CONVERT(diag, SIGNED)": "CAST(diag AS BIGINT)",
    "CONVERT(DATE, at)": "CAST(at AS DATE)",
    "WEEKDAY(day)": "DAYOFWEEK(day)",
    "PI() * age": "3.141592653589793115997963468544185161590576171875 * age",
    "RADIANS(age)": "age * (PI() / 180)",
    "DEGREES(age)": "age * (180 / PI())",
    "day = '2024-1-9'": "day = DATE '2024-01-09'",
    "day = '20240109'": "day = DATE '2024-01-09'",
    "day = '2024/01/09'": "day = DATE '2024-01-09'",
    "at = '2024-01-09T10:11:12Z'": "at = TIMESTAMP '2024-01-09 10:11:12'",
    "at = '2024-01-09 10:11:12.5+00:00'": "at = TIMESTAMP '2024-01-09 10:11:12.5'",
    "at - day > INTERVAL '30 minutes'": "at - day > 1.0 / 48",
    "INTERVAL 2 WEEK <= (day - DATE '2024-01-01')": "14 <= day - DATE '2024-01-01'",
    "SQUARE(cost)": "POWER(cost, 2)",
    "POW(cost, 3)": "POWER(cost, 3)",
    "CEILING(cost)": "CEIL(cost)",
    "CHARINDEX('b', diag)": "STRPOS(diag, 'b')",
    "LOCATE('b', diag)": "INSTR(diag, 'b')",
    "POSITION('b' IN diag)": "STRPOS(diag, 'b')",
    "LEN(diag)": "LENGTH(diag)",
    "CHAR_LENGTH(diag)": "CHARACTER_LENGTH(diag)",
    "UCASE(diag)": "UPPER(diag)",
    "LCASE(diag)": "LOWER(diag)",
    "SUBSTR(diag, 2, 3)": "SUBSTRING(diag FROM 2 FOR 3)",
    "MID(diag, 2, 3)": "SUBSTRING(diag, 2, 3)",
    "SUBSTR(diag, 2)": "SUBSTRING(diag, 2)",
    "TRIM(LEADING FROM diag)": "LTRIM(diag)",
    "TRIM(TRAILING ' ' FROM diag)": "RTRIM(diag)",
    "TRIM(BOTH FROM diag)": "BTRIM(diag)",
    "PREFIX(diag, 'a')": "STARTS_WITH(diag, 'a')",
    "ENDSWITH(diag, 'a')": "SUFFIX(diag, 'a')",
    "CONTAINS_SUBSTR(diag, 'a')": "CONTAINS(diag, 'a')",
    "BYTE_LENGTH(diag)": "OCTET_LENGTH(diag)",
    "TO_NUMBER(diag)": "CAST(diag AS DOUBLE)",
    "TO_VARCHAR(age)": "CAST(age AS VARCHAR)",
    "CAST(cost AS REAL)": "cost::FLOAT8",
    "CAST(diag AS SMALLINT)": "SAFE_CAST(diag AS INT64)",
    "CAST(cost AS DECIMAL(10, 2))": "ROUND(CAST(cost AS DOUBLE), 2)",
    "CAST(diag AS DATETIME)": "diag::TIMESTAMP",
    "CAST(age AS VARCHAR(10))": "CAST(age AS STRING)",
    "diag ILIKE 'FLU%'": "LOWER(diag) LIKE 'flu%'",
    "diag NOT ILIKE 'Flu!_' ESCAPE '!'": "LOWER(diag) NOT LIKE 'flu!_' ESCAPE '!'",
    "diag IS NOT DISTINCT FROM 'x'": "COALESCE(diag = 'x', FALSE)",
    "diag IS DISTINCT FROM 'x'": "NOT COALESCE(diag = 'x', FALSE)",
    "diag <=> ward": "COALESCE(diag = ward, diag IS NULL AND ward IS NULL)",
    "EQUAL_NULL(diag, NULL)": "diag IS NULL",
    "diag IS NOT DISTINCT FROM NULL": "diag IS NULL",
    "(ward, urgent) IN (('A', TRUE), ('B', FALSE))": "COALESCE((ward = 'A' AND urgent = TRUE) OR (ward = 'B' AND "
    "urgent = FALSE), FALSE)",
    "age IN (1, cost)": "age IN (1) OR age = cost",
    "WIDTH_BUCKET(cost, 0, 100, 10)": "CASE WHEN cost IS NULL THEN NULL WHEN cost < 0 THEN 0 WHEN cost >= 100 THEN 11 "
    "ELSE BUCKET(cost, 0, 100, 10) + 1 END",
}


@pytest.mark.parametrize("written", SAME)
def test_a_synonym_is_what_it_stands_for(written: str) -> None:
    assert of(written) == of(SAME[written])


AGGREGATES = {
    "VAR(cost)": "VAR_SAMP(cost)",
    "VARP(cost)": "VAR_POP(cost)",
    "STD(cost)": "STDDEV_SAMP(cost)",
    "STDEV(cost)": "STDDEV(cost)",
    "STDEVP(cost)": "STDDEV_POP(cost)",
    "MEAN(cost)": "AVG(cost)",
    "COUNT_BIG(*)": "COUNT(*)",
    "COUNT_BIG(cost)": "COUNT(cost)",
    "COUNT_BIG(DISTINCT user_id)": "COUNT(DISTINCT user_id)",
    "COUNTIF(urgent)": "COUNT_IF(urgent)",
}


@pytest.mark.parametrize("written", AGGREGATES)
def test_an_aggregate_by_another_name_is_the_same(written: str) -> None:
    assert ask(f"SELECT {written} AS x FROM visits") == ask(f"SELECT {AGGREGATES[written]} AS x FROM visits")


def test_every_synonym_is_known_and_tried() -> None:
    tried = " ".join((*SAME, *SAME.values(), *AGGREGATES))
    untried = [name for name in SYNONYMS if f"{name}(" not in tried]
    shared = {id(SYNONYMS[name]) for name in SYNONYMS if name not in untried}
    assert [name for name in untried if id(SYNONYMS[name]) not in shared] in ([], ["CONCAT_WS"])
    assert set(SYNONYMS) <= set(NAMES)


@pytest.mark.parametrize(
    ("expression", "error", "told"),
    [
        ("DATEADD(day, 7)", WrongKind, "DATEADD\\(day, 7, x\\)"),
        ("DATEADD(fortnight, 7, day)", Unsupported, "a part of a date"),
        ("DATEADD(day, age, day)", Unsupported, "constant whole number"),
        ("DATE_DIFF(day, at)", None, ""),
        ("DATE(2024, 2)", Unsupported, "a year, a month and a day"),
        ("TO_DATE(diag, 'DD/MM/YYYY')", Unsupported, "one format"),
        ("STRFTIME(day, '%Z')", WrongKind, "a format of"),
        ("STRFTIME(day, diag)", WrongKind, "constant text"),
        ("TO_CHAR(day, 'Q')", Unsupported, "made of"),
        ("LTRIM(diag, 'x')", Unsupported, "spaces"),
        ("REPLACE(diag, 'a', 'yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy')", WrongKind, "at most 20"),
        ("REPLACE(diag, '', 'y')", WrongKind, "an empty one"),
        ("RIGHT(diag, age)", WrongKind, "constant whole number"),
        ("cost // 2", WrongKind, "FLOOR"),
        ("(ward, urgent) IN (('A'))", Unsupported, "2 values in brackets"),
        ("LOG(cost)", Unsupported, "LOG10"),
        ("at - day > INTERVAL 1 MONTH", Unsupported, "INTERVAL 30 MINUTE"),
        ("at > INTERVAL 1 DAY", Unsupported, "beside a date"),
        ("TIMESTAMPDIFF(MONTH, day, at)", Unsupported, "DATE_DIFF"),
        ("CONCAT_WS(diag, ward)", Unsupported, "constant separator"),
        ("CAST(age AS BLOB)", Unsupported, "a cast to"),
        ("CAST(age AS INT[])", RequestError, "lists"),
        ("diag ILIKE ward", WrongKind, "constant text"),
    ],
)
def test_what_a_synonym_cannot_mean_is_refused(expression: str, error: type[Exception] | None, told: str) -> None:
    if error is None:
        of(expression)
        return
    with pytest.raises(error, match=told):
        of(expression)


def test_null_in_a_list_is_what_is_not_known() -> None:
    from privet.core.relation import Call
    from privet.query.expressions import evaluate_row

    for written, found in (("age IN (1, NULL)", None), ("age NOT IN (1, NULL)", None), ("age IN (7, NULL)", True)):
        where = of(written).where
        assert isinstance(where, Call)
        value = evaluate_row(where.arguments[0], {"age": 7}, VISITS.columns)
        assert value is found
    joined = of("CONCAT_WS('-', ward, diag, 'z')").where
    assert joined is not None
    assert evaluate_row(joined.arguments[0], {"ward": "A", "diag": None}, VISITS.columns) == "A-z"


def test_a_formatted_date_has_public_values() -> None:
    from privet.query.expressions import typed

    months = of("STRFTIME(day, '%Y-%m')").where
    assert months is not None
    facts = typed(months.arguments[0], VISITS.columns)
    assert facts.values == tuple(f"2024-{month:02d}" for month in range(1, 13))
    assert typed(of("STRFTIME(at, '%Y')").where.arguments[0], VISITS.columns).values is None  # type: ignore[union-attr]
