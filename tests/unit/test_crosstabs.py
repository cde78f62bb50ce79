"""PIVOT: a cross-tab of one release, whose columns are listed or declared, and whose totals agree."""

from __future__ import annotations

import math
from typing import Any

import duckdb
import pyarrow as pa
import pytest

from privet.core.budget import Approximate
from privet.core.errors import PrivetError, RequestError
from privet.core.schema import Contribution, Table, category, integer, number, text
from privet.core.unit import Person
from privet.session import Session

DATA = pa.table(
    {
        "person": list(range(400)),
        "sex": ["F" if place % 3 else "M" for place in range(400)],
        "ward": ["heart" if place // 3 % 2 else "lung" for place in range(400)],
        "city": ["Bonn" if place % 5 else "Ulm" for place in range(400)],
        "cost": [float(place % 7) for place in range(400)],
    }
)


def session() -> Session:
    columns = {
        "person": integer(),
        "sex": category(["F", "M"]),
        "ward": category(["heart", "lung"]),
        "city": text(),
        "cost": number(0, 10),
    }
    table = Table(DATA, unit=Person("person"), columns=columns, contribution=Contribution(groups=1, rows=1))
    return Session({"t": table}, budget=Approximate(epsilon=10**10, delta=1e-6))


@pytest.mark.parametrize(
    "sql",
    [
        "PIVOT t ON sex USING COUNT(*) GROUP BY ward",
        "PIVOT t ON sex IN ('M', 'F') USING COUNT(*) AS n, SUM(cost) AS c GROUP BY city",
        "SELECT * FROM (SELECT sex, ward FROM t) PIVOT (COUNT(*) FOR sex IN ('F', 'M')) ORDER BY ward",
        "SELECT ward, women, men, women + men AS total FROM (SELECT sex, ward FROM t WHERE cost > 2) PIVOT (COUNT(*) "
        "FOR sex IN ('F' AS women, 'M' AS men)) AS p ORDER BY total DESC",
        "SELECT * FROM (SELECT sex, cost FROM t) PIVOT (AVG(cost) FOR sex IN ('F', 'M'))",
        "SELECT * FROM (SELECT sex, ward, COUNT(*) AS n FROM t GROUP BY sex, ward) PIVOT (SUM(n) FOR sex IN ('F', "
        "'M')) ORDER BY ward",
        "WITH p AS (SELECT * FROM (SELECT ward, sex FROM t) PIVOT (COUNT(*) FOR sex IN ('F', 'M'))) SELECT SUM(F) "
        "AS f, MAX(M) AS m FROM p",
    ],
)
def test_rows_are_those_of_a_database(sql: str) -> None:
    with session() as asked:
        answer = asked.ask(sql, epsilon=10**7)
    with duckdb.connect() as connection:
        connection.register("t", DATA)
        found = connection.execute(sql)
        names, rows = [column[0] for column in found.description], found.fetchall()
    assert [series.name for series in answer.series] == names
    got = list(zip(*(series.values for series in answer.series), strict=True))
    ordered = "ORDER BY" in sql
    for one, other in zip(got if ordered else sorted(got), rows if ordered else sorted(rows), strict=True):
        assert [*map(_near, one, other)] == [True] * len(one)


def _near(value: Any, wanted: Any) -> bool:
    return bool(value == wanted or (isinstance(value, float) and abs(value - float(wanted)) < 1e-3))


def test_it_is_the_release_of_the_groups_and_its_totals_agree() -> None:
    with session() as asked:
        plain = asked.ask(
            "SELECT ward, sex, COUNT(*) AS n FROM t WHERE sex IN ('F', 'M') GROUP BY ward, sex", epsilon=1
        )
        table = asked.ask(
            'SELECT ward, "F", "M", "F" + "M" AS total FROM (SELECT ward, sex FROM t) PIVOT (COUNT(*) FOR sex IN '
            "('F', 'M'))",
            epsilon=1,
        )
        assert len(asked.history()) == 1  # a cross-tab is no other release, and costs what the groups do
    cells = {(row["ward"], row["sex"]): row["n"] for row in plain}
    for row in table:
        assert (row["F"], row["M"]) == (cells[row["ward"], "F"], cells[row["ward"], "M"])
        assert row["total"] == row["F"] + row["M"]
    width = {name: table[name].high[0] - table[name].low[0] for name in ("F", "total")}  # type: ignore[index]
    assert width["F"] < width["total"] < 2 * width["F"]


def test_a_group_that_was_not_found_is_not_said_to_be_empty() -> None:
    with session() as asked:
        answer = asked.ask(
            "SELECT * FROM (SELECT city, ward FROM t WHERE city = 'Bonn' OR ward = 'lung') "
            "PIVOT (COUNT(*) FOR city IN ('Bonn', 'Nowhere'))",
            epsilon=10,
        )
    assert set(answer["Nowhere"].values) == {0}
    assert set(answer["Nowhere"].high or ()) == {math.inf}


@pytest.mark.parametrize(
    ("sql", "says"),
    [
        ("PIVOT t ON city USING COUNT(*) GROUP BY ward", "are not declared, and private ones cannot become columns"),
        ("PIVOT t ON sex USING COUNT(*)", "would tell people apart"),
        ("PIVOT t ON person IN (1, 2) USING COUNT(*) GROUP BY ward", "would tell people apart"),
        ("SELECT * FROM t PIVOT (COUNT(*) FOR sex IN ('F', 'M'))", "would tell people apart"),
        ("SELECT * FROM (SELECT sex FROM t) PIVOT (COUNT(*) FOR sex IN ('F', 'F'))", "comes twice"),
        ("SELECT * FROM (SELECT sex, cost FROM t) PIVOT (FIRST(cost) FOR sex IN ('F'))", "single people"),
        ("PIVOT t ON sex, ward USING COUNT(*) GROUP BY city", "turns one column"),
    ],
)
def test_what_would_show_people_or_private_values_is_refused(sql: str, says: str) -> None:
    with session() as asked:
        with pytest.raises(PrivetError) as refused:
            asked.ask(sql, epsilon=1)
        assert isinstance(refused.value, RequestError)
        assert says in str(refused.value)
        assert asked.history() == ()
