"""The tree means what the text means: both, run on the same rows by a database, give the same answer."""

from __future__ import annotations

import datetime
import random

import duckdb
import pytest

from privet.core.schema import Schema, boolean, category, date, integer, number, text
from privet.core.unit import Person
from privet.query import normal
from privet.query.nodes import Query
from privet.query.sql.parse import parse

TABLES = {
    "visits": Schema(
        unit=Person("user_id"),
        columns={
            "user_id": integer(),
            "day": date(datetime.date(2024, 1, 1), datetime.date(2024, 12, 31), nullable=True),
            "hospital": category(["A", "B", "C"]),
            "cost": number(0, 1000, nullable=True),
            "age": integer(0, 120),
            "diag": text(nullable=True),
            "urgent": boolean(nullable=True),
        },
    )
}

AGGREGATES = {
    "count_rows": "COUNT(*)",
    "count_units": "COUNT(DISTINCT user_id)",
    "count": "COUNT({})",
    "sum": "SUM({})",
    "avg": "AVG({})",
    "var_pop": "VAR_POP({})",
    "var_samp": "VAR_SAMP({})",
    "stddev_pop": "STDDEV_POP({})",
    "stddev_samp": "STDDEV_SAMP({})",
    "covar_pop": "COVAR_POP({}, {})",
    "covar_samp": "COVAR_SAMP({}, {})",
    "corr": "CORR({}, {})",
}


def render(query: Query) -> str:
    """Return a query as plain SQL, step by step."""
    items = [f"{normal.text(key.expression)} AS {normal.quote_name(key.name)}" for key in query.keys]
    for one in query.aggregates:
        argument, other = ("" if part is None else normal.text(part) for part in (one.argument, one.other))
        kept = "" if one.where is None else f" FILTER (WHERE {normal.text(one.where)})"
        items.append(f"{AGGREGATES[one.function].format(argument, other)}{kept} AS {normal.quote_name(one.name)}")
    where = "" if query.where is None else f" WHERE {normal.text(query.where)}"
    groups = ", ".join(str(i + 1) for i in range(len(query.keys)))
    made = f"SELECT {', '.join(items)} FROM visits{where}{' GROUP BY ' if groups else ''}{groups}"
    for step in query.steps:
        outputs = ", ".join(f"{normal.text(one.expression)} AS {normal.quote_name(one.name)}" for one in step.outputs)
        kept = "" if step.where is None else f" WHERE {normal.text(step.where)}"
        made = f"SELECT {'DISTINCT ' if step.distinct else ''}{outputs} FROM ({made}){kept}"
        if step.order:
            terms = [
                f"{normal.text(one.expression)} {'DESC' if one.descending else 'ASC'} "
                f"NULLS {'FIRST' if one.nulls_first else 'LAST'}"
                for one in step.order
            ]
            made += f" ORDER BY {', '.join(terms)}"
        made += "" if step.limit is None else f" LIMIT {step.limit}"
        made += f" OFFSET {step.offset}" if step.offset else ""
    return made


@pytest.fixture(scope="module")
def database() -> duckdb.DuckDBPyConnection:
    draw = random.Random(7)
    connection = duckdb.connect()
    connection.execute(
        "CREATE TABLE visits (user_id BIGINT, day DATE, hospital VARCHAR, cost DOUBLE, age BIGINT, diag VARCHAR, "
        "urgent BOOLEAN)"
    )
    rows = [
        (
            draw.randrange(20),
            draw.choice([None, datetime.date(2024, 1, 1) + datetime.timedelta(draw.randrange(366))]),
            draw.choice("ABC"),
            draw.choice([None, float(draw.randrange(0, 4001)) / 4]),
            draw.randrange(121),
            draw.choice([None, "flu", "Flu", "cold", "a%b", "", " pad "]),
            draw.choice([None, True, False]),
        )
        for _ in range(200)
    ]
    connection.executemany("INSERT INTO visits VALUES (?, ?, ?, ?, ?, ?, ?)", rows)
    return connection


QUERIES = [
    "SELECT COVAR_POP(age, cost), COVAR_SAMP(age, cost) FILTER (WHERE urgent), CORR(cost, age * 2) FROM visits",
    "SELECT COUNT(*), COUNT(cost), COUNT(DISTINCT user_id), SUM(cost), AVG(cost), VAR_POP(age), VARIANCE(age), "
    "STDDEV(age), STDDEV_POP(age), STDDEV_SAMP(cost) FROM visits",
    "SELECT hospital, COUNT(*) n FROM visits WHERE NOT age > 60 OR cost < 100 AND urgent GROUP BY 1 "
    "ORDER BY n, 1 DESC LIMIT 9 OFFSET 1",
    "SELECT hospital h, AVG(cost) / 2 FROM visits GROUP BY h",
    "SELECT urgent, COUNT(*) FROM visits GROUP BY urgent ORDER BY urgent NULLS FIRST",
    "SELECT urgent, COUNT(*) FROM visits GROUP BY urgent ORDER BY urgent DESC",
    "SELECT YEAR(day) y, MONTH(day) m, COUNT(*) n FROM visits GROUP BY y, m HAVING n > 2 ORDER BY y, m LIMIT 3",
    "SELECT DATE_TRUNC('quarter', day) q, SUM(age) FROM visits GROUP BY q ORDER BY q DESC LIMIT 2",
    "SELECT DAYOFWEEK(day) a, ISODOW(day) b, EXTRACT(dow FROM day) c, COUNT(*) FROM visits GROUP BY 1, 2, 3",
    "SELECT WEEK(day) a, QUARTER(day) b, DAYOFYEAR(day) % 7 c, COUNT(*) FROM visits GROUP BY 1, 2, 3",
    "SELECT CASE WHEN age < 18 THEN 'child' WHEN age < 65 THEN 'adult' END who, COUNT(*) FROM visits GROUP BY who",
    "SELECT CASE diag WHEN 'flu' THEN 1 WHEN NULL THEN 2 ELSE 3 END x, COUNT(*) FROM visits GROUP BY x",
    "SELECT FLOOR(age / 10) * 10 d, COUNT(*) FROM visits GROUP BY d ORDER BY 2 DESC, 1",
    "SELECT COUNT(*) FILTER (WHERE diag LIKE '%l%') FROM visits",
    "SELECT COUNT(*) FROM visits WHERE diag LIKE 'a!%_' ESCAPE '!' OR diag NOT LIKE '%u' ",
    "SELECT COUNT(*) FROM visits WHERE diag NOT IN ('flu', 'cold') AND age NOT BETWEEN 20 AND 30",
    "SELECT COUNT(*) FROM visits WHERE urgent IS NOT TRUE AND diag IS NOT NULL AND (cost > 5) IS NOT FALSE",
    "SELECT SUM(LEAST(GREATEST(cost, 10), 500)), AVG(LEAST(cost, age)), SUM(COALESCE(cost, -1)) FROM visits",
    "SELECT SUM(cost * age - age / 3), AVG(-age % 7), SUM(ABS(age - 50)), SUM(POWER(age, 2)), SUM(age ^ 2) FROM visits",
    "SELECT COUNT(*) FROM visits WHERE day >= '2024-03-01' AND day < DATE '2024-03-01' + INTERVAL 3 MONTH",
    "SELECT COUNT(*) FROM visits WHERE DATE_DIFF('day', DATE '2024-02-01', day) BETWEEN 0 AND 40",
    "SELECT COUNT(*) FROM visits WHERE DATE_DIFF('month', day, DATE '2024-12-31') > 5 "
    "OR day - INTERVAL 2 WEEK < '2024-02-01'",
    "SELECT UPPER(LEFT(diag, 2)) || '-' x, COUNT(*) FROM visits GROUP BY 1",
    "SELECT CONCAT(diag, '!') x, TRIM(diag) y, SUBSTRING(diag, 2, 2) z, COUNT(*) FROM visits GROUP BY 1, 2, 3",
    "SELECT COUNT(*) FROM visits WHERE STARTS_WITH(diag, 'f') OR CONTAINS(diag, '%') OR LENGTH(diag) = 0",
    "SELECT NULLIF(hospital, 'A') x, COUNT(*) FROM visits GROUP BY x ORDER BY COUNT(*) DESC, x",
    "SELECT n * 2 m, h FROM (SELECT hospital h, COUNT(*) n FROM visits GROUP BY 1) t WHERE t.n > 10 ORDER BY m DESC, h",
    "WITH a AS (SELECT age + 1 AS age, hospital FROM visits WHERE urgent), b AS (SELECT hospital, AVG(age) m FROM a "
    "GROUP BY hospital) SELECT hospital, m > 60 AS old FROM b WHERE m IS NOT NULL ORDER BY m LIMIT 2",
    "SELECT DISTINCT COUNT(*) > 60 AS big FROM visits GROUP BY hospital",
    "SELECT SUM(CAST(cost AS DOUBLE)), COUNT(CAST(diag AS VARCHAR)), SUM(CAST(urgent AS INT)) FROM visits",
    "SELECT SQRT(SUM(cost)), LN(COUNT(*)), EXP(AVG(age) / 100), SIGN(AVG(age)), CEIL(AVG(cost)), "
    "FLOOR(AVG(cost)) FROM visits",
    "SELECT age > 60 old, urgent, COUNT(*) FROM visits GROUP BY old, urgent",
    "SELECT COUNT(*) c FROM visits WHERE 60 < age AND 'flu' = diag OR NOT (urgent OR age = 5)",
    "SELECT COUNT(*) FROM visits WHERE age BETWEEN 10 AND 20 AND urgent OR age IN (1, 2, 3) AND NOT urgent",
]


def close(one: object, other: object) -> bool:
    if isinstance(one, float) and isinstance(other, float):
        return one == pytest.approx(other, rel=1e-9)
    return one == other


@pytest.mark.parametrize("sql", QUERIES)
def test_the_tree_answers_what_the_text_asks(sql: str, database: duckdb.DuckDBPyConnection) -> None:
    plain = database.execute(sql).fetchall()
    ours = database.execute(render(parse(sql, TABLES))).fetchall()
    if "ORDER BY" not in sql:
        plain, ours = sorted(plain, key=str), sorted(ours, key=str)
    assert plain
    assert len(plain) == len(ours)
    assert all(close(x, y) for one, other in zip(plain, ours, strict=True) for x, y in zip(one, other, strict=True))
