"""How many groups there are, asked of a sub-query that lists them: planned as a count of different values."""

from __future__ import annotations

import datetime
from collections.abc import Iterator

import duckdb
import pyarrow as pa
import pytest

from privet.core.budget import Approximate
from privet.core.errors import Unsupported
from privet.core.schema import Contribution, Table, boolean, date, integer, text
from privet.core.unit import Person
from privet.session import Session

SIZE = 300
CITIES = ["a", "b~;", "b", "~", "~~", "=c", "", None, "a~;=b"]
DATA = pa.table(
    {
        "person": list(range(SIZE)),
        "city": [CITIES[place % 9] for place in range(SIZE)],
        "town": [CITIES[place // 9 % 9] for place in range(SIZE)],
        "year": [None if place % 4 == 3 else 2020 + place % 4 for place in range(SIZE)],
        "day": [datetime.date(2024, 1, 1 + place % 5) for place in range(SIZE)],
        "ill": [None if place % 3 == 0 else place % 3 == 1 for place in range(SIZE)],
    }
)


@pytest.fixture(scope="module")
def asked() -> Iterator[Session]:
    columns = {
        "person": integer(),
        "city": text(nullable=True),
        "town": text(nullable=True),
        "year": integer(2000, 2030, nullable=True),
        "day": date("2024-01-01", "2024-12-31"),
        "ill": boolean(nullable=True),
    }
    table = Table(DATA, unit=Person("person"), columns=columns, contribution=Contribution(groups=1, rows=1))
    with Session({"t": table}, budget=Approximate(epsilon=10**10, delta=1e-6)) as session:
        yield session


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT COUNT(*) AS n FROM (SELECT DISTINCT city FROM t)",
        "SELECT COUNT(*) FROM (SELECT city FROM t GROUP BY city) AS g",
        "SELECT COUNT(*) FROM (SELECT DISTINCT city AS c FROM t WHERE person < 5 ORDER BY c)",
        "SELECT COUNT(c) FROM (SELECT DISTINCT city AS c FROM t)",
        "SELECT COUNT(DISTINCT city) FROM (SELECT DISTINCT city FROM t)",
        "WITH g AS (SELECT DISTINCT year FROM t) SELECT COUNT(*) AS years FROM g",
        "SELECT COUNT(*) FROM (SELECT DISTINCT day FROM t)",
        "SELECT COUNT(*) FROM (SELECT DISTINCT city, town FROM t)",
        "SELECT COUNT(*) FROM (SELECT city, year, day FROM t WHERE person < 90 GROUP BY city, year, day)",
        "SELECT COUNT(*) FROM (SELECT DISTINCT UPPER(city) AS c FROM t)",
        "SELECT COUNT(ill) FROM (SELECT DISTINCT ill FROM t)",
    ],
)
def test_groups_are_counted_as_a_database_counts_them(asked: Session, sql: str) -> None:
    answer = asked.ask(sql, epsilon=10**6)
    with duckdb.connect() as connection:
        connection.register("t", DATA)
        (wanted,) = connection.execute(sql).fetchone() or ()
    assert answer.value == wanted


def test_it_has_the_sensitivity_of_different_values(asked: Session) -> None:
    plan = asked.plan("SELECT COUNT(*) AS n FROM (SELECT DISTINCT day FROM t)", epsilon=1)
    other = asked.plan("SELECT COUNT(DISTINCT day) AS n FROM t", epsilon=1)
    assert plan.digest == other.digest
    assert not plan.query.keys


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT COUNT(*) FROM (SELECT DISTINCT ill FROM t)",
        "SELECT COUNT(*) FROM (SELECT DISTINCT city FROM t LIMIT 2)",
        "SELECT COUNT(*) FROM (SELECT DISTINCT city FROM t) WHERE city = 'a'",
        "SELECT city, COUNT(*) FROM (SELECT DISTINCT city FROM t) GROUP BY city",
        "SELECT COUNT(*) FROM (SELECT DISTINCT city FROM t) HAVING COUNT(*) > 1",
        "SELECT COUNT(*) FROM (SELECT city FROM t GROUP BY city, town)",
        "SELECT MAX(year) FROM (SELECT DISTINCT year FROM t)",
    ],
)
def test_other_questions_about_listed_groups_are_refused(asked: Session, sql: str) -> None:
    before = len(asked.history())
    with pytest.raises(Unsupported):
        asked.ask(sql, epsilon=1)
    assert len(asked.history()) == before
