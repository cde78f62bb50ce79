"""Hostile queries over a hospital: refused without touching data, whatever they try; honest ones are read."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from privet.core.errors import RequestError
from privet.core.expression import Call, Column
from privet.core.schema import Schema, category, date, integer, number, text
from privet.core.unit import Person
from privet.query.functions import typed
from privet.query.nodes import Query
from privet.query.sql import parse

FILE = Path(__file__).resolve().parents[3] / "shared" / "hostile-sql.json"
LISTED = json.loads(FILE.read_text(encoding="utf-8")) if FILE.exists() else {"hostile": [], "legitimate": []}
pytestmark = pytest.mark.skipif(not FILE.exists(), reason="the list of hostile queries is not here")

TABLES = {
    "visits": Schema(
        unit=Person("user_id"),
        columns={
            "user_id": integer(),
            "day": date(nullable=True),
            "hospital": category(["A", "B", "C"]),
            "cost": number(0, 1000, nullable=True),
            "age": integer(0, 120),
            "diag": text(nullable=True),
        },
    ),
    "users": Schema(
        unit=Person("user_id"),
        columns={
            "user_id": integer(),
            "sex": category(["F", "M"]),
            "zip": text(),
            "birth": date(),
            "income": number(0, 200_000),
        },
    ),
}

LATER = {"L011", "L013", "L015", "L019", "L035"}
"""Quantiles, joins and sub-queries for each person: refused by name until they come."""


def ask(sql: str) -> Query:
    return parse(sql, TABLES)


def ids(entry: object) -> str:
    return entry["id"] if isinstance(entry, dict) else str(entry)


@pytest.mark.parametrize("entry", [one for one in LISTED["hostile"] if one["action"] == "reject"], ids=ids)
def test_what_must_be_rejected_is_rejected_the_same_way_each_time(entry: dict[str, str]) -> None:
    told = []
    for _ in range(2):
        with pytest.raises(RequestError) as caught:
            ask(entry["sql"])
        told.append((type(caught.value), str(caught.value), caught.value.to_dict()))
    assert told[0] == told[1]
    assert "sqlglot" not in told[0][1].lower()


def is_bounded(query: Query) -> bool:
    columns = TABLES[query.table].columns
    return all(one.argument is None or typed(one.argument, columns).bounded for one in query.aggregates)


CONDITIONS = {
    "H093": lambda query: query.where == ask("SELECT COUNT(*) FROM visits WHERE user_id = 42").where,
    "H100": lambda query: query.where is None and query.steps[0].where is not None,  # on the released value
    "H159": is_bounded,
    "H183": is_bounded,
    "H187": lambda query: len(query.aggregates) == 1,  # one value, shown four times
    "H235": is_bounded,
}


@pytest.mark.parametrize("entry", [one for one in LISTED["hostile"] if one["action"] == "safe"], ids=ids)
def test_what_may_be_answered_is_refused_or_meets_its_condition(entry: dict[str, str]) -> None:
    try:
        query = ask(entry["sql"])
    except RequestError:
        assert entry["id"] not in CONDITIONS
        return
    assert CONDITIONS[entry["id"]](query)


@pytest.mark.parametrize("entry", [one for one in LISTED["legitimate"] if one["id"] not in LATER], ids=ids)
def test_honest_queries_of_one_table_are_read(entry: dict[str, str]) -> None:
    assert ask(entry["sql"]).aggregates


@pytest.mark.parametrize("entry", [one for one in LISTED["legitimate"] if one["id"] in LATER], ids=ids)
def test_what_comes_later_is_refused_by_name(entry: dict[str, str]) -> None:
    with pytest.raises(RequestError):
        ask(entry["sql"])


def functions(expression: object) -> set[str]:
    if not isinstance(expression, Call):
        return set()
    return {expression.function}.union(*map(functions, expression.arguments))


@pytest.mark.parametrize("entry", [*LISTED["hostile"], *LISTED["legitimate"]], ids=ids)
def test_no_text_of_the_query_survives_but_names_and_constants(entry: dict[str, str]) -> None:
    try:
        query = ask(entry["sql"])
    except RequestError:
        return
    assert query.table in TABLES
    known = TABLES[query.table].columns
    for expression in (
        query.where,
        *(key.expression for key in query.keys),
        *(one.argument for one in query.aggregates),
    ):
        for name in functions(expression):
            assert name.isidentifier()
        assert not isinstance(expression, Column) or expression.name in known
