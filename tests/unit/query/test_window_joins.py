"""Where a window of time is protected, a join by person and time pairs rows of one time, not of one window."""

from __future__ import annotations

import datetime

import pytest

import privet

pa = pytest.importorskip("pyarrow")

DAYS = [datetime.date(2024, 1, 1) + datetime.timedelta(days=day) for day in range(5)]


@pytest.fixture
def session():
    def table(days: list[datetime.date], name: str, values: list[int]) -> privet.Table:
        columns = {"p": privet.integer(), "d": privet.date(DAYS[0], DAYS[-1]), name: privet.integer(0, 100)}
        rows = pa.table({"p": [1] * len(days), "d": days, name: values})
        return privet.Table(
            rows, unit=privet.Window("p", "d", 7), columns=columns, contribution=privet.Contribution(groups=5, rows=50)
        )

    tables = {"a": table(DAYS[:3], "x", [1, 2, 3]), "b": table(DAYS[1:4], "y", [10, 20, 40])}
    with privet.Session(tables, budget=privet.Pure(epsilon=10**12)) as made:
        yield made


def asked(session: privet.Session, sql: str) -> dict[object, float]:
    found = session.ask(sql, epsilon=10**9)
    rows = zip(found["d"].values, found["n"].values, strict=True)
    return {day: round(n) for day, n in rows if round(n)}


def test_rows_of_other_days_do_not_meet(session):
    sql = "SELECT b.d AS d, COUNT(*) AS n FROM a JOIN b ON a.p = b.p AND a.d = b.d GROUP BY b.d"
    assert asked(session, sql) == {DAYS[1]: 1, DAYS[2]: 1}


def test_a_left_join_keeps_days_that_meet_none(session):
    sql = "SELECT a.d AS d, COUNT(*) AS n FROM a LEFT JOIN b ON a.p = b.p AND a.d = b.d WHERE b.y IS NULL GROUP BY a.d"
    assert asked(session, sql) == {DAYS[0]: 1}


def test_more_conditions_stay(session):
    sql = "SELECT a.d AS d, SUM(b.y) AS n FROM a JOIN b ON a.p = b.p AND a.d = b.d AND b.y > 15 GROUP BY a.d"
    assert asked(session, sql) == {DAYS[2]: 20}
