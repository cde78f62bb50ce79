"""SUM(DISTINCT x) and AVG(DISTINCT x): the different values of a group, each of which counts once."""

from __future__ import annotations

import random
from collections.abc import Iterator

import duckdb
import pyarrow as pa
import pytest

import privet
from privet import Approximate, Contribution, Person, Rows, Session, Table
from privet.core.errors import Unbounded, Unsupported

SIZE = 600
DRAW = random.Random(3)
ROWS = pa.table(
    {
        "who": [DRAW.randrange(150) for _ in range(SIZE)],
        "shop": [DRAW.choice("ab") for _ in range(SIZE)],
        "n": [DRAW.choice([None, -4, 0, 2, 3, 3, 9]) for _ in range(SIZE)],
        "x": [DRAW.choice([None, -0.0, 0.0, 1.5, 2.25, 7.0]) for _ in range(SIZE)],
        "free": [DRAW.randrange(3) for _ in range(SIZE)],
    }
)
COLUMNS = {
    "who": privet.integer(),
    "shop": privet.category(["a", "b"]),
    "n": privet.integer(-5, 10, nullable=True),
    "x": privet.number(-1, 8, nullable=True),
    "free": privet.integer(),
}


@pytest.fixture(scope="module", params=["people", "rows"])
def session(request: pytest.FixtureRequest) -> Iterator[Session]:
    people = request.param == "people"
    table = Table(
        ROWS,
        unit=Person("who") if people else Rows(),
        columns=COLUMNS,
        **({"contribution": Contribution(groups=2, rows=20)} if people else {}),
    )
    with Session({"t": table}, budget=Approximate(epsilon=10**12, delta=1e-6)) as one:
        yield one


ASKED = [
    "SELECT SUM(DISTINCT n) AS v FROM t",
    "SELECT shop, SUM(DISTINCT n) AS v FROM t GROUP BY shop ORDER BY shop",
    "SELECT shop, SUM(DISTINCT x) AS v FROM t GROUP BY shop ORDER BY shop",
    "SELECT AVG(DISTINCT n) AS v FROM t",
    "SELECT shop, AVG(DISTINCT x) AS v, COUNT(DISTINCT x) AS c FROM t GROUP BY shop ORDER BY shop",
    "SELECT SUM(DISTINCT n * 2 + 1) AS v FROM t WHERE shop = 'a'",
    "SELECT SUM(DISTINCT n) FILTER (WHERE n <> 9) AS v, SUM(DISTINCT n) AS w, SUM(n) AS s FROM t",
    "SELECT SUM(DISTINCT free) AS v FROM t WHERE free BETWEEN 0 AND 2",
    "SELECT MIN(DISTINCT n) AS v FROM t",
]


@pytest.mark.parametrize("sql", ASKED)
def test_without_noise_the_answer_is_what_sql_says(session: Session, sql: str) -> None:
    answer = session.ask(sql, epsilon=10**9)
    connection = duckdb.connect()
    connection.register("t", ROWS)
    found = [*zip(*(series.values for series in answer.series), strict=True)]
    for row, true in zip(found, connection.execute(sql).fetchall(), strict=True):
        for value, plain in zip(row, true, strict=True):
            assert value == plain if isinstance(plain, str) else abs(value - float(plain)) < 0.05


def test_a_sum_of_different_values_has_an_interval_and_a_mark(session: Session) -> None:
    answer = session.ask("SELECT SUM(DISTINCT n) AS v FROM t", epsilon=1)
    low, high = answer.interval
    assert low <= answer.value <= high
    people = session.plan("SELECT SUM(DISTINCT n) AS v FROM t", epsilon=1).passes[0].scan.schema.unit != Rows()
    assert answer["v"].mark == ("≈" if people else "")
    assert "the sum of different values of" in repr(session.plan("SELECT SUM(DISTINCT n) AS v FROM t", epsilon=1))


def test_what_has_no_bounds_or_no_meaning_is_refused(session: Session) -> None:
    with pytest.raises(Unbounded):
        session.plan("SELECT SUM(DISTINCT free) FROM t", epsilon=1)
    for asked in ("STDDEV(DISTINCT n)", "MEDIAN(DISTINCT n)", "CORR(DISTINCT n, x)"):
        with pytest.raises(Unsupported):
            session.plan(f"SELECT {asked} FROM t", epsilon=1)
