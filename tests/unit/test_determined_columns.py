"""Columns of a public table, whose key is grouped by, are shown beside groups: looked up, exact, at no cost."""

from __future__ import annotations

from typing import Any

import duckdb
import pyarrow as pa
import pytest

from privet.core.budget import Approximate
from privet.core.errors import Unsupported, WrongKind
from privet.core.schema import Contribution, PublicTable, Table, integer, number, text
from privet.core.unit import Person
from privet.session import Session

TRIPS = pa.table(
    {
        "person": list(range(300)),
        "start": [place % 3 for place in range(300)],
        "goal": [place // 3 % 3 for place in range(300)],
        "km": [float(place % 10) for place in range(300)],
        "note": [f"note {place}" for place in range(300)],
    }
)
STATIONS = pa.table({"id": [0, 1, 2], "name": ["Quay", "Mill", "Park"], "docks": [5, 10, 20]})
FROM = "FROM trips t JOIN stations s ON s.id = t.start"


def session(key: str | None = "id") -> Session:
    columns = {
        "person": integer(),
        "start": integer(0, 2),
        "goal": integer(0, 2),
        "km": number(0, 10),
        "note": text(),
    }
    trips = Table(TRIPS, unit=Person("person"), columns=columns, contribution=Contribution(groups=1, rows=1))
    public = {"id": integer(0, 2), "name": text(), "docks": integer(0, 100)}
    stations = PublicTable(STATIONS, columns=public, key=key)
    return Session({"trips": trips, "stations": stations}, budget=Approximate(epsilon=10**10, delta=1e-6))


@pytest.mark.parametrize(
    "sql",
    [
        f"SELECT s.name, COUNT(*) AS n {FROM} GROUP BY s.id ORDER BY s.name",
        f"SELECT s.id, s.name, s.docks, COUNT(*) * 1.0 / s.docks AS each {FROM} GROUP BY s.id ORDER BY s.docks DESC",
        f"SELECT t.start, UPPER(s.name) AS name, COUNT(*) AS n {FROM} GROUP BY t.start HAVING s.docks > 5 ORDER BY 1",
        "SELECT a.name AS one, b.name AS other, COUNT(*) AS n FROM trips t JOIN stations a ON a.id = t.start "
        "JOIN stations b ON b.id = t.goal GROUP BY a.id, b.id ORDER BY one, other",
        f"SELECT ANY_VALUE(s.name) AS name, MIN(s.name) AS low, SUM(t.km) AS km {FROM} GROUP BY s.id ORDER BY name",
        f"SELECT s.name {FROM} GROUP BY s.id ORDER BY s.name",
        "SELECT s.name, COUNT(*) AS n FROM trips t LEFT JOIN stations s ON t.start = s.id GROUP BY t.start ORDER BY 1",
    ],
)
def test_rows_are_those_of_a_database(sql: str) -> None:
    with session() as asked:
        answer = asked.ask(sql, epsilon=10**7)
    with duckdb.connect() as connection:
        connection.register("trips", TRIPS)
        connection.register("stations", STATIONS)
        found = connection.execute(_spelled_out(sql))
        names, rows = [column[0] for column in found.description], found.fetchall()
    assert [series.name for series in answer.series] == names
    got = list(zip(*(series.values for series in answer.series), strict=True))
    assert len(got) == len(rows)
    for one, other in zip(got, rows, strict=True):
        assert [*map(_near, one, other)] == [True] * len(one)
    assert not any(answer[name].noisy for name in names if name in ("name", "one", "other", "low"))


def _spelled_out(sql: str) -> str:
    """Return a question as DuckDB, which is told of no keys, takes it: grouped by what the key determines as well."""
    sql = sql.replace("GROUP BY a.id, b.id", "GROUP BY a.id, b.id, a.name, b.name")
    for key in ("s.id", "t.start"):
        sql = sql.replace(f"GROUP BY {key}", f"GROUP BY {key}, s.name, s.docks")
    return sql


def _near(value: Any, wanted: Any) -> bool:
    return bool(value == wanted or (isinstance(value, float) and abs(value - float(wanted)) < 1e-3))


def test_it_is_no_part_of_what_is_charged() -> None:
    with session() as asked:
        plain = asked.plan(f"SELECT s.id, COUNT(*) AS n {FROM} GROUP BY s.id", epsilon=1)
        shown = asked.plan(f"SELECT s.name, COUNT(*) AS n {FROM} GROUP BY s.id", epsilon=1)
        assert plain.digest == shown.digest


@pytest.mark.parametrize(
    ("sql", "says"),
    [
        (f"SELECT s.id, COUNT(*) {FROM} GROUP BY s.name", "'id' is neither grouped"),
        (f"SELECT t.note, COUNT(*) {FROM} GROUP BY s.id", "'note' is neither grouped"),
        (f"SELECT t.goal, COUNT(*) {FROM} GROUP BY s.id", "'goal' is neither grouped"),
        (f"SELECT s.name, COUNT(*) {FROM} GROUP BY t.goal", "'name' is neither grouped"),
        (f"SELECT s.name || t.note AS x, COUNT(*) {FROM} GROUP BY s.id", "'note' is neither grouped"),
        (f"SELECT ANY_VALUE(t.note) AS x, COUNT(*) {FROM} GROUP BY s.id", "values of single people"),
        (f"SELECT ANY_VALUE(s.name || t.note) AS x, COUNT(*) {FROM} GROUP BY s.id", "values of single people"),
        (f"SELECT ANY_VALUE(s.name) FILTER (WHERE t.km > 9) AS x, COUNT(*) {FROM} GROUP BY s.id", "single people"),
        (
            "SELECT s.name, COUNT(*) FROM trips t JOIN stations s ON s.id <= t.start GROUP BY t.start",
            "'name' is neither",
        ),
    ],
)
def test_what_the_key_does_not_determine_is_refused(sql: str, says: str) -> None:
    with session() as asked:
        with pytest.raises(Unsupported) as refused:
            asked.ask(sql, epsilon=1)
        assert says in str(refused.value)
        assert asked.history() == ()


def test_the_key_must_be_declared() -> None:
    with session(key=None) as asked, pytest.raises(Unsupported, match="'name' is neither grouped"):
        asked.ask(f"SELECT s.name, COUNT(*) {FROM} GROUP BY s.id", epsilon=1)


def test_the_least_text_of_people_is_still_refused() -> None:
    with session() as asked, pytest.raises(WrongKind):
        asked.ask(f"SELECT MIN(t.note) AS x, COUNT(*) {FROM} GROUP BY s.id", epsilon=1)
