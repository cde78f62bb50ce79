"""A refusal is about what was typed: no name that the parser has for itself is told, and the place is marked."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from sqlglot import exp
from sqlglot.dialects.duckdb import DuckDB

from privet.core.errors import RequestError
from privet.core.schema import Schema, category, date, integer, number, text, timestamp
from privet.core.unit import Person
from privet.query.sql.parse import parse

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "sql.md").read_text(encoding="utf-8")
VISITS = Schema(
    unit=Person("who"),
    columns={
        "who": integer(),
        "ward": category(["A", "B"]),
        "cost": number(0, 9),
        "age": integer(0, 9),
        "diag": text(),
        "day": date("2024-01-01", "2024-12-31"),
        "at": timestamp(),
    },
)
TABLES = {"visits": VISITS}

FUNCTIONS = sorted(DuckDB.parser_class.FUNCTIONS.keys() | DuckDB.parser_class.FUNCTION_PARSERS.keys())
KINDS = [kind for kind in vars(exp).values() if isinstance(kind, type) and issubclass(kind, exp.Expression)]
INSIDE = {
    name.upper() for kind in KINDS for name in (kind.key, *(kind.sql_names() if hasattr(kind, "sql_names") else ()))
}
"""What the parser calls its nodes and functions."""
OURS = set(re.findall(r"[A-Z][A-Z0-9_]+", PAGE))
"""What the documentation tells people to write."""

CONSTRUCTS = [
    "SELECT COUNT(*) FROM visits TABLESAMPLE 10 PERCENT",
    "SELECT COUNT(*) FROM visits USING SAMPLE 5",
    "SELECT COUNT(*) FROM visits FOR UPDATE",
    "SELECT COUNT(*) FROM visits AT (VERSION => 3)",
    "SELECT COUNT(*) FROM visits LATERAL VIEW explode(x) t AS y",
    "SELECT COUNT(*) FROM visits, LATERAL (SELECT 1) l",
    "SELECT COUNT(*) FROM visits NATURAL JOIN visits v",
    "SELECT COUNT(*) FROM visits v ASOF JOIN visits w ON v.at >= w.at",
    "SELECT COUNT(*) FROM visits v ANTI JOIN visits w ON v.cost = w.cost",
    "SELECT COUNT(*) FROM visits QUALIFY ROW_NUMBER() OVER (ORDER BY cost) = 1",
    "SELECT COUNT(*) FROM visits GROUP BY ROLLUP (ward) HAVING GROUPING(cost) = 1",
    "SELECT * EXCLUDE (cost) FROM visits",
    "SELECT * REPLACE (1 AS cost) FROM visits",
    "SELECT COLUMNS('c.*') FROM visits",
    "SELECT DISTINCT ON (ward) cost FROM visits",
    "SELECT cost INTO x FROM visits",
    "SELECT COUNT(*) FROM visits WHERE diag SIMILAR TO 'a'",
    "SELECT COUNT(*) FROM visits WHERE diag ~ 'a'",
    "SELECT COUNT(*) FROM visits WHERE diag GLOB 'a*'",
    "SELECT COUNT(*) FROM visits WHERE diag LIKE ANY ('a', 'b')",
    "SELECT COUNT(*) FROM visits WHERE cost = ANY (SELECT 1)",
    "SELECT COUNT(*) FROM visits WHERE age & 3 = 1",
    "SELECT COUNT(*) FROM visits WHERE age | 3 = 1",
    "SELECT COUNT(*) FROM visits WHERE age << 3 = 1",
    "SELECT COUNT(*) FROM visits WHERE diag -> 'a' = 'b'",
    "SELECT COUNT(*) FROM visits WHERE diag ->> 'a' = 'b'",
    "SELECT COUNT(*) FROM visits WHERE diag COLLATE nocase = 'b'",
    "SELECT COUNT(*) FROM visits WHERE at AT TIME ZONE 'UTC' > at",
    "SELECT COUNT(*) FROM visits WHERE age BETWEEN SYMMETRIC 3 AND 1",
    "SELECT COUNT(*) FROM visits WHERE cost = {'a': 1}",
    "SELECT COUNT(*) FROM visits WHERE cost = [1, 2][1]",
    "SELECT COUNT(*) FROM visits WHERE CAST(cost AS BLOB) IS NULL",
    "SELECT COUNT(*) FROM visits WHERE CAST(cost AS STRUCT(a INT)) IS NULL",
    "SELECT COUNT(*) FROM visits WHERE CAST(at AS TIMESTAMPTZ) IS NULL",
    "SELECT COUNT(*) FROM visits WHERE CAST(at AS TIME) IS NULL",
    "SELECT SUM(cost ORDER BY age) FROM visits",
    "SELECT FIRST(cost) FILTER (WHERE age > 1) FROM visits",
    "SELECT COUNT(*) FROM (VALUES (1), (2)) v(x)",
    "SELECT COUNT(*) FROM range(5)",
    "SELECT COUNT(*) FROM read_csv('a')",
    "SELECT COUNT(*) FROM visits PIVOT (SUM(cost) FOR ward IN ('A'))",
    "WITH RECURSIVE t AS (SELECT 1) SELECT COUNT(*) FROM t",
    "SELECT COUNT(*) FROM visits ORDER BY 1 LIMIT 5 PERCENT",
    "SELECT COUNT(*) FROM visits FETCH FIRST 5 ROWS WITH TIES",
    "SELECT LAG(cost) OVER (ORDER BY day) FROM visits",
    "SELECT SUM(cost) OVER (ORDER BY day ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) FROM visits",
    "SELECT COUNT(*) FROM visits WHERE ROW_NUMBER() = 1",
    "SELECT x -> x + 1 FROM visits",
    "SELECT INTERVAL 5 DAY FROM visits",
    "SELECT COUNT(*) FROM visits WHERE EXTRACT(CENTURY FROM day) = 1",
    "SELECT E'a\\n', COUNT(*) FROM visits",
    "SELECT X'ff', COUNT(*) FROM visits",
    "SELECT COUNT(*) FROM visits WHERE current_user = 'x'",
    "SELECT COUNT(*) FROM visits UNION SELECT 1",
    "SELECT COUNT(*) FROM visits EXCEPT SELECT 1",
    "SELECT TRY_CAST(cost AS INT[]) FROM visits",
    "SELECT COUNT(cost, age) FROM visits",
    "SELECT QUANTILE(cost) FROM visits",
    "SELECT PERCENTILE_CONT(0.5) FROM visits",
    "SELECT MEDIAN(DISTINCT cost) FROM visits",
    "SELECT f(a => 3) FROM visits",
    "SELECT COUNT(*) FROM visits v WHERE v.x.y.z.w = 1",
    "SELECT COUNT(*) FROM ONLY visits",
    "SELECT #1 FROM visits",
]


def leaked(query: str) -> list[str]:
    """Return the words of a refusal that are the parser's own: neither typed nor told anywhere by us."""
    try:
        parse(query, TABLES)
    except RequestError as refused:
        told = str(refused).split("\n")[0]
        assert "sqlglot" not in told.lower()
        known = told.split("; known: ")[0] if "; known: " in told else told
        words = set(re.findall(r"[A-Z][A-Z0-9_]+", known))
        quoted = {one.upper() for one in re.findall(r"'(\w+)'", known)}
        typed = query.upper()
        return sorted(word for word in (words & INSIDE) | (quoted & INSIDE) if word not in typed and word not in OURS)
    return []


@pytest.mark.parametrize("query", CONSTRUCTS)
def test_a_construct_is_refused_in_the_words_that_were_typed(query: str) -> None:
    assert leaked(query) == []


@pytest.mark.parametrize("first", sorted({name[0] for name in FUNCTIONS}))
def test_no_function_is_called_by_a_name_of_the_parsers(first: str) -> None:
    found = {}
    for name in (one for one in FUNCTIONS if one[0] == first):
        for given in ("", "cost", "diag", "day", "cost, age", "diag, 'a'", "'day', day, at", "DISTINCT cost", "*"):
            for query in (
                f"SELECT {name}({given}) FROM visits",
                f"SELECT COUNT(*) FROM visits WHERE {name}({given}) = 1",
            ):
                if told := leaked(query):
                    found[query] = told
    assert found == {}


def test_an_unknown_function_is_marked_where_it_stands() -> None:
    for name in ("EXPLODE", "TIME_TO_STR", "JSON_EXTRACT", "REGEXP_MATCHES", "LISTAGG"):
        with pytest.raises(RequestError) as caught:
            parse(f"SELECT COUNT(*) AS n\nFROM visits\nWHERE age > 3 AND {name}(diag) = 'x'", TABLES)
        message, line, caret = str(caught.value).split("\n")
        assert line == f"  WHERE age > 3 AND {name}(diag) = 'x'"
        assert line[caret.index("^") :].startswith(name)
        assert message
