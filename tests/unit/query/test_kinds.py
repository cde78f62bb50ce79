"""Booleans, numbers, texts and dates side by side are compared as one of them."""

from __future__ import annotations

from typing import Any

import pytest

from privet.core.errors import RequestError, WrongKind
from privet.core.schema import Schema, boolean, date, integer, number, text
from privet.core.unit import Person
from privet.query.expressions import evaluate_row
from privet.query.nodes import Query
from privet.query.sql.parse import parse

ROWS = Schema(
    unit=Person("who"),
    columns={
        "who": integer(),
        "flag": boolean(nullable=True),
        "age": integer(0, 120),
        "cost": number(0, 9),
        "code": text(nullable=True),
        "day": date("2024-01-01", "2024-12-31"),
    },
)


def ask(text: str) -> Query:
    return parse(text, {"t": ROWS})


def where(condition: str) -> Query:
    return ask(f"SELECT COUNT(*) AS n FROM t WHERE {condition}")


@pytest.mark.parametrize(
    ("written", "same"),
    [
        ("flag = 1", "CAST(flag AS BIGINT) = 1"),
        ("flag <> 0", "CAST(flag AS BIGINT) <> 0"),
        ("flag IN (0, 1)", "CAST(flag AS BIGINT) IN (0, 1)"),
        ("age = TRUE", "age = 1"),
        ("flag = 'true'", "flag = TRUE"),
        ("flag = 'No'", "flag = FALSE"),
        ("code = TRUE", "CAST(code AS BOOLEAN) = TRUE"),
        ("age > '65'", "age > 65"),
        ("age BETWEEN '1' AND '2.5'", "age BETWEEN 1 AND 2.5"),
        ("age IN ('1', '2')", "age IN (1, 2)"),
        ("cost >= '7.5'", "cost >= 7.5"),
        ("code = 5", "CAST(code AS DOUBLE) = 5"),
        ("code IN (1, 3)", "CAST(code AS DOUBLE) IN (1, 3)"),
        ("day > '2024-02-03'", "day > DATE '2024-02-03'"),
        ("COALESCE(flag, 0) = 1", "COALESCE(CAST(flag AS BIGINT), 0) = 1"),
        ("age", "age <> 0"),
        ("NOT age AND flag", "NOT age <> 0 AND flag"),
        ("CASE WHEN age THEN flag ELSE FALSE END", "CASE WHEN age <> 0 THEN flag ELSE FALSE END"),
        ("1 = 1 AND 1", "1 = 1 AND TRUE"),
        ("COALESCE(flag, FALSE)", "COALESCE(flag, FALSE)"),
        ("code = DATE '2024-05-01'", "CAST(code AS DATE) = DATE '2024-05-01'"),
    ],
)
def test_values_of_two_kinds_are_compared_as_one(written: str, same: str) -> None:
    assert where(written) == where(same)


def test_one_kind_stays_as_it_is() -> None:
    found = where("COALESCE(flag, FALSE) AND flag = TRUE AND code = 'x'")
    assert found.where is not None
    assert "to_integer" not in str(found.where)
    assert "to_number" not in str(found.where)


@pytest.mark.parametrize(
    ("condition", "row", "value"),
    [
        ("flag = 1", {"flag": True}, True),
        ("flag = 2", {"flag": True}, False),
        ("flag = 1", {"flag": None}, None),
        ("code = 5", {"code": "05"}, True),
        ("code = 5", {"code": " 5.0 "}, True),
        ("code = 5", {"code": "five"}, None),
        ("code <> 5", {"code": "five"}, None),
        ("code = TRUE", {"code": "t"}, True),
        ("code = TRUE", {"code": "maybe"}, None),
    ],
)
def test_what_cannot_be_read_is_null(condition: str, row: dict[str, Any], value: object) -> None:
    found = where(condition).where
    assert found is not None
    assert evaluate_row(found, row, ROWS.columns) is value


@pytest.mark.parametrize(
    ("condition", "error", "told"),
    [
        ("age = 'many'", RequestError, "'many' is not a number"),
        ("flag = 'maybe'", RequestError, "neither true nor false"),
        ("day = 5", WrongKind, "one kind"),
        ("day = TRUE", WrongKind, "one kind"),
        ("code", WrongKind, "a condition"),
        ("day AND flag", WrongKind, "boolean"),
    ],
)
def test_what_cannot_be_meant_is_refused(condition: str, error: type[Exception], told: str) -> None:
    with pytest.raises(error, match=told):
        where(condition)


def test_booleans_are_summed_as_zeros_and_ones() -> None:
    for aggregate in ("SUM", "AVG", "STDDEV"):
        one = ask(f"SELECT {aggregate}(age > 65) AS x FROM t")
        assert one == ask(f"SELECT {aggregate}(CAST(age > 65 AS BIGINT)) AS x FROM t")
    inner = "SELECT AVG(LEAST(s, 3)) AS x FROM (SELECT who, SUM({}) AS s FROM t GROUP BY who)"
    assert ask(inner.format("flag")) == ask(inner.format("CAST(flag AS BIGINT)"))


def test_aliases_of_the_select_list_may_be_used_before_it_ends() -> None:
    plain = ask("SELECT age + 1 AS b, (age + 1) * 2 AS c, COUNT(*) AS n FROM t WHERE age + 1 > 3 GROUP BY ALL")
    assert ask("SELECT age + 1 AS b, b * 2 AS c, COUNT(*) AS n FROM t WHERE b > 3 GROUP BY ALL") == plain
    # a column of the table comes first
    hidden = ask("SELECT age * 2 AS cost, COUNT(*) AS n FROM t WHERE cost > 3 GROUP BY 1")
    assert hidden.where is not None
    assert hidden.where.arguments[0].column == "cost"
    with pytest.raises(RequestError, match="HAVING"):
        ask("SELECT COUNT(*) AS n FROM t WHERE n > 3")


def test_a_constant_makes_one_group() -> None:
    assert ask("SELECT 1 AS one, COUNT(*) AS n FROM t GROUP BY 1") == ask("SELECT 1 AS one, COUNT(*) AS n FROM t")
    assert ask("SELECT flag, 'x' AS x, COUNT(*) AS n FROM t GROUP BY flag, x") == ask(
        "SELECT flag, 'x' AS x, COUNT(*) AS n FROM t GROUP BY flag"
    )


@pytest.mark.parametrize("condition", ["code = age", "day = code", "age IN (code)", "code BETWEEN age AND 9"])
def test_columns_of_two_kinds_are_not_compared(condition: str) -> None:
    with pytest.raises(WrongKind, match="of one kind"):
        parse(f"SELECT COUNT(*) FROM t WHERE {condition}", {"t": ROWS})
