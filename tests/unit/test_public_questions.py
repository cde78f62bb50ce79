"""Questions about public tables only are answered exactly and for nothing, and never read a private row."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import duckdb
import pyarrow as pa
import pytest

import privet
from privet import Approximate, Contribution, Person, PublicTable, Session, Table, Zcdp
from privet.core.errors import InvariantError, RequestError, Unsupported
from privet.core.relation import ColumnRef, Derive, Join, Relation
from privet.engines.duckdb.engine import DuckDB
from privet.execution import executor as executing
from privet.planner.public_plan import PublicPlan
from privet.query.nodes import Output, Query, Step
from privet.testing import Memory

VISITS = pa.table({"u": [1, 1, 2, 3], "ward": ["A", "B", "A", "C"], "cost": [1.0, 2.0, 3.0, 4.0]})
WARDS = pa.table({"ward": ["A", "B", "C", "D"], "beds": [10, None, 30, 20], "floor": [1, 1, 2, 3]})
LETTERS = {"ward": privet.category(["A", "B", "C", "D"])}


def tables(*, listed: bool = False) -> dict[str, Table]:
    visits, wards = (one.to_pylist() if listed else one for one in (VISITS, WARDS))
    private = {"u": privet.integer(), **LETTERS, "cost": privet.number(0, 10)}
    public = {**LETTERS, "beds": privet.integer(0, 100, nullable=True), "floor": privet.integer(0, 9)}
    return {
        "visits": Table(visits, unit=Person("u"), columns=private, contribution=Contribution(groups=2, rows=1)),
        "wards": PublicTable(wards, columns=public, key="ward"),
    }


@pytest.fixture
def session() -> Iterator[Session]:
    with Session(tables(), budget=Approximate(epsilon=1, delta=1e-6)) as made:
        yield made


ASKED = [
    "SELECT ward, beds FROM wards ORDER BY ward",
    "SELECT COUNT(*) AS n, COUNT(beds) AS b, SUM(beds) AS s, AVG(beds) AS m FROM wards",
    "SELECT floor, MAX(beds) AS most FROM wards GROUP BY floor ORDER BY most DESC NULLS LAST, floor LIMIT 2",
    "SELECT ward FROM wards WHERE beds > (SELECT AVG(beds) FROM wards) ORDER BY 1",
    "SELECT w.ward FROM wards w WHERE w.beds = (SELECT MAX(v.beds) FROM wards v WHERE v.floor = w.floor) ORDER BY 1",
    "SELECT floor, COUNT(*) AS n FROM wards GROUP BY floor HAVING COUNT(*) > (SELECT COUNT(*) / 3.0 FROM wards)",
    "SELECT ward, ROW_NUMBER() OVER (ORDER BY ward DESC) AS i FROM wards ORDER BY i",
    "SELECT DISTINCT floor FROM wards ORDER BY floor DESC",
    "SELECT MAX(n) AS n FROM (SELECT floor, COUNT(*) AS n FROM wards GROUP BY floor) AS g",
    "WITH a AS (SELECT ward FROM wards WHERE floor = 1) SELECT COUNT(*) AS n FROM a",
    "SELECT ward FROM wards WHERE floor = 1 UNION ALL SELECT ward FROM wards WHERE beds > 25 ORDER BY ward",
    "SELECT COUNT(*) AS n FROM wards WHERE floor > 100",
]


@pytest.mark.parametrize("sql", ASKED)
def test_the_answer_is_that_of_plain_duckdb_for_nothing(session: Session, sql: str) -> None:
    with duckdb.connect(":memory:") as plain:
        plain.register("wards", WARDS)
        expected = plain.execute(sql)
        names, rows = [one[0] for one in expected.description], expected.fetchall()
    answer = session.ask(sql)
    assert [one.name for one in answer.series] == names
    assert list(zip(*(one.values for one in answer.series), strict=True)) == rows
    assert not any(one.noisy for one in answer.series)
    assert "exact" in answer.notes[0]
    assert answer.plan.price == {"epsilon": 0.0, "delta": 0.0}
    assert session.remaining().largest_epsilon == 1


def test_it_is_written_down_once_and_found_again(session: Session) -> None:
    first = session.ask("SELECT SUM(beds) AS s FROM wards", key="a")
    again = session.ask("SELECT SUM(beds) AS s FROM wards", key="a")
    other = session.ask("SELECT MAX(beds) AS m FROM wards")  # reads the same
    assert len(session.history()) == 1
    assert first.receipt.entry == again.receipt.entry == other.receipt.entry
    assert (first.value, again.value, other.value) == (60, 60, 30)
    told = json.loads(first.to_json())
    assert told["rows"] == [{"s": 60}]
    assert told["certificate"]["cost"] == {"epsilon": 0.0, "delta": 0.0}
    assert told["certificate"]["measurements"] == []
    assert "Reads wards" in first.plan.explain()
    session.ledger.verify()


def test_a_budget_that_is_spent_does_not_matter() -> None:
    with Session(tables(), budget=Zcdp(rho=0.01)) as session:
        session.ask("SELECT COUNT(*) AS n FROM visits", rho=0.01)
        assert session.ask("SELECT COUNT(*) AS n FROM wards").value == 4
        assert session.plan("SELECT ward FROM wards").price == {"rho": 0.0}


def test_it_is_built_in_python_too(session: Session) -> None:
    built = session.table("wards").group_by("floor").agg(n=privet.count()).order_by("floor")
    assert session.ask(built)["n"].values == (2, 1, 1)
    assert len(session.history()) == 1


REFUSED = [
    "SELECT ward, (SELECT COUNT(*) FROM visits) AS n FROM wards",
    "SELECT ward, (SELECT COUNT(*) FROM visits v WHERE v.ward = wards.ward) AS n FROM wards",
    "SELECT ward FROM wards WHERE ward IN (SELECT ward FROM visits)",
    "SELECT ward FROM wards WHERE NOT EXISTS (SELECT 1 FROM visits v WHERE v.ward = wards.ward)",
    "SELECT ward FROM wards UNION SELECT ward FROM visits",
    "SELECT ward FROM wards EXCEPT SELECT ward FROM visits",
    "SELECT wards.ward, visits.cost FROM wards JOIN visits ON wards.ward = visits.ward",
    "WITH v AS (SELECT ward FROM visits) SELECT w.ward FROM wards w JOIN v ON v.ward = w.ward",
    "SELECT ward FROM wards ORDER BY (SELECT COUNT(*) FROM visits v WHERE v.ward = wards.ward)",
    "SELECT floor, COUNT(*) FROM wards GROUP BY floor HAVING COUNT(*) > (SELECT COUNT(*) FROM visits)",
    "SELECT * FROM visits",
]


@pytest.mark.parametrize("sql", REFUSED)
def test_what_a_private_row_would_decide_is_refused_and_free(session: Session, sql: str) -> None:
    with pytest.raises(RequestError):
        session.ask(sql)
    assert not session.history()


def test_a_private_number_that_chooses_public_rows_is_released_first_and_charged(session: Session) -> None:
    session.ask("SELECT ward FROM wards WHERE beds > (SELECT COUNT(*) FROM visits)", epsilon=1)
    first, then = session.history()
    assert first.event.events
    assert not then.event.events


def listing(relation: Relation) -> Query:
    shown = (Output("ward", ColumnRef("ward")),)
    return Query(Derive(relation, (("ward", ColumnRef("ward")),)), (), (), None, (Step(shown),))


PRIVATE: list[Relation] = [
    "visits",
    Derive("visits", (("ward", ColumnRef("ward")),)),
    Join("wards", "visits", "inner", (("ward_1", "ward"),), None),
]


@pytest.mark.parametrize("relation", PRIVATE)
def test_a_hand_made_plan_of_private_rows_is_refused(session: Session, relation: Relation) -> None:
    plan = session.plan("SELECT ward FROM wards")
    assert isinstance(plan, PublicPlan)
    with pytest.raises((RequestError, InvariantError)):
        session.ask(listing(relation), epsilon=0.1)
    with pytest.raises((RequestError, InvariantError)):
        session.run(replace(plan, query=listing(relation)))
    for engine in (DuckDB(tables()), Memory(tables(listed=True))):
        with pytest.raises(InvariantError):
            engine.list_public(relation, 10)
    assert not session.history()


def test_a_plan_of_other_tables_is_refused(session: Session) -> None:
    plan = session.plan("SELECT ward, beds FROM wards")
    for columns in (LETTERS, {**LETTERS, "beds": privet.number(0, 100, nullable=True)}):
        renamed = {**tables(), "wards": PublicTable(WARDS, columns=columns, key="ward")}
        with Session(renamed, budget=Approximate(epsilon=1, delta=1e-6)) as other, pytest.raises(RequestError):
            other.run(plan)
    with Session({"visits": tables()["visits"]}, budget=Approximate(epsilon=1, delta=1e-6)) as without:
        with pytest.raises(RequestError):
            without.run(plan)
        assert not without.history()


OPTIONS: list[dict[str, Any]] = [
    {"other": "rest"},
    {"find_groups": True},
    {"contribution": Contribution(groups=1, rows=1)},
    {"covers": "bounding"},
]


@pytest.mark.parametrize("options", OPTIONS)
def test_what_is_said_about_noise_and_people_is_refused(session: Session, options: dict[str, Any]) -> None:
    with pytest.raises(RequestError, match="public tables only"):
        session.ask("SELECT COUNT(*) FROM wards", **options)


def test_it_is_no_part_of_a_batch_or_a_report(session: Session) -> None:
    with pytest.raises(Unsupported, match="by itself"):
        session.ask_all(["SELECT COUNT(*) FROM wards", "SELECT COUNT(*) FROM visits"], epsilon=0.1)
    with pytest.raises(Unsupported, match="public tables only"):
        session.clipping("SELECT SUM(beds) FROM wards", epsilon=0.1)


def test_too_many_rows_are_refused(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(executing, "MOST_LISTED", 3)
    with pytest.raises(Unsupported, match="add a WHERE"):
        session.ask("SELECT COUNT(*) FROM wards")
    assert session.ask("SELECT COUNT(*) AS n FROM wards WHERE floor < 3").value == 3


def test_engines_list_the_same_rows() -> None:
    with Session(tables(), budget=Approximate(epsilon=1, delta=1e-6)) as session:
        for sql in ASKED:
            relation = session.plan(sql).query.table
            found = [engine.list_public(relation, 100) for engine in (DuckDB(tables()), Memory(tables(listed=True)))]
            assert sorted(map(repr, found[0] or ())) == sorted(map(repr, found[1] or ())), sql
