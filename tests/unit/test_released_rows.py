"""Windows and aggregates over released rows: as DuckDB computes them, free, and with honest intervals."""

from __future__ import annotations

import math
from typing import Any

import duckdb
import pyarrow as pa
import pytest

from privet.core.budget import Approximate
from privet.core.errors import PrivetError, RequestError, Unsupported
from privet.core.schema import Contribution, Table, category, integer, number, text
from privet.core.unit import Person
from privet.session import Session

WARDS = ("heart", "lung", "skin")
ROWS = [
    (place, WARDS[place // 5 % 3], 2020 + place * 7 % 4, float(place % 13), f"city {place % 5}")
    for place in range(400)
    if place % 7
]
COLUMNS = {
    "person": integer(),
    "ward": category(WARDS),
    "year": integer(2020, 2023),
    "cost": number(0, 12),
    "city": text(),
}
DATA = pa.table({name: [row[place] for row in ROWS] for place, name in enumerate(COLUMNS)})
COUNTS = "SELECT ward, year, COUNT(*) AS n, SUM(cost) AS c FROM t GROUP BY ward, year"


def session() -> Session:
    limit = Contribution(groups=1, rows=1)
    table = Table(DATA, unit=Person("person"), columns=COLUMNS, contribution=limit)
    return Session({"t": table}, budget=Approximate(epsilon=10**10, delta=1e-6))


def plain(sql: str) -> tuple[list[str], list[tuple[Any, ...]]]:
    with duckdb.connect() as connection:
        connection.register("t", DATA)
        found = connection.execute(sql)
        return [column[0] for column in found.description], found.fetchall()


def check_same(sql: str) -> None:
    with session() as asked:
        answer = asked.ask(sql, epsilon=10**7)
    names, rows = plain(sql)
    assert [series.name for series in answer.series] == names
    found = list(zip(*(series.values for series in answer.series), strict=True))
    assert len(found) == len(rows)
    for one, other in zip(found, rows, strict=True):
        for value, wanted in zip(one, other, strict=True):
            if isinstance(value, float) and wanted is not None:
                assert value == pytest.approx(float(wanted), abs=1e-3)
            else:
                assert value == wanted


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT ward, COUNT(*) AS n, SUM(COUNT(*)) OVER () AS all_, COUNT(*) * 100.0 / SUM(COUNT(*)) OVER () "
        "AS percent "
        "FROM t GROUP BY ward ORDER BY ward",
        "SELECT ward, year, COUNT(*) * 1.0 / SUM(COUNT(*)) OVER (PARTITION BY ward) AS share FROM t "
        "GROUP BY ward, year ORDER BY ward, year",
        f"SELECT ward, year, RANK() OVER (ORDER BY year) AS r, DENSE_RANK() OVER (ORDER BY year DESC) AS d, "
        f"ROW_NUMBER() "
        f"OVER (PARTITION BY ward ORDER BY n DESC, year) AS w, NTILE(5) OVER (ORDER BY ward, year) AS t, "
        f"PERCENT_RANK() "
        f"OVER (ORDER BY ward) AS p, CUME_DIST() OVER (ORDER BY year) AS u FROM ({COUNTS}) ORDER BY ward, year",
        f"SELECT ward, year, LAG(n) OVER (PARTITION BY ward ORDER BY year) AS a, LEAD(n, 2, -1) OVER "
        f"(PARTITION BY ward "
        f"ORDER BY year) AS b, n - LAG(n) OVER w AS change, FIRST_VALUE(year) OVER w AS f, LAST_VALUE(year) "
        f"OVER w AS l, "
        f"NTH_VALUE(year, 2) OVER w AS s FROM ({COUNTS}) WINDOW w AS (PARTITION BY ward ORDER BY year DESC) "
        f"ORDER BY ward, year",
        f"SELECT ward, year, SUM(n) OVER (ORDER BY year) AS a, SUM(n) OVER (ORDER BY year, ward ROWS BETWEEN "
        f"2 PRECEDING "
        f"AND CURRENT ROW) AS b, AVG(n) OVER (ORDER BY year RANGE BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING) AS d, "
        f"COUNT(*) OVER (PARTITION BY ward) AS e, MAX(year) OVER (ORDER BY ward, year ROWS 1 PRECEDING) AS g, SUM(n) "
        f"FILTER (WHERE year > 2021) OVER (PARTITION BY ward) AS h, MIN(c) OVER () AS i, COUNT(n) OVER (ORDER BY ward, "
        f"year ROWS BETWEEN 1 FOLLOWING AND 2 FOLLOWING) AS j FROM ({COUNTS}) ORDER BY ward, year",
        f"SELECT ward, COUNT(*) AS k, SUM(n) AS s, AVG(n) AS a, MIN(n) AS b, MAX(n) AS d, MEDIAN(n) AS e, "
        f"QUANTILE_CONT(n, 0.3) AS q, STDDEV(n) AS f, VAR_POP(c) AS v, COUNT(DISTINCT year) AS g, "
        f"SUM(c) FILTER (WHERE year > 2021) AS h FROM ({COUNTS}) GROUP BY ward HAVING SUM(n) > 10 ORDER BY ward",
        f"SELECT year > 2021 AS late, SUM(n) AS s, SUM(c) / SUM(n) AS mean FROM ({COUNTS}) GROUP BY year > 2021 "
        f"ORDER BY late",
        f"SELECT AVG(n) AS a, MAX(n) AS b, COUNT(*) AS c, SUM(n) AS d FROM ({COUNTS}) WHERE year > 3000",
        f"SELECT COUNT(*) AS c FROM ({COUNTS})",
        f"SELECT ward, year FROM ({COUNTS}) QUALIFY ROW_NUMBER() OVER (PARTITION BY ward ORDER BY year DESC) <= 2 "
        f"ORDER BY ward, year",
        f"SELECT ward, SUM(SUM(n)) OVER (ORDER BY ward) AS r FROM ({COUNTS}) GROUP BY ward ORDER BY ward",
        "WITH a AS (SELECT ward, COUNT(*) AS n FROM t GROUP BY ward), b AS (SELECT *, RANK() OVER (ORDER BY "
        "n DESC) AS r "
        "FROM a) SELECT ward, n FROM b WHERE r <= 2 ORDER BY r",
        f"SELECT MAX(n) - MIN(n) AS spread FROM ({COUNTS})",
        "SELECT AVG(m) AS mean FROM (SELECT ward, AVG(cost) AS m FROM t GROUP BY ward)",
        "SELECT ward, -COUNT(*) AS count FROM t GROUP BY ward ORDER BY count",
        "SELECT city, COUNT(*) AS n, RANK() OVER (ORDER BY COUNT(*) DESC) AS r FROM t GROUP BY city ORDER BY "
        "n DESC, city",
        "SELECT ward, year, COUNT(*) AS n, SUM(COUNT(*)) OVER (PARTITION BY GROUPING(ward)) AS s FROM t "
        "GROUP BY ROLLUP (year, ward) ORDER BY year NULLS LAST, ward NULLS LAST",
        f"SELECT DISTINCT SUM(n) OVER (PARTITION BY ward) > 100 AS large FROM ({COUNTS}) ORDER BY large LIMIT 2",
    ],
)
def test_rows_are_those_of_a_database(sql: str) -> None:
    check_same(sql)


def test_it_is_free_and_no_other_question() -> None:
    """What is computed from released rows is in no digest: the same release answers all of it."""
    with session() as asked:
        first = asked.ask(COUNTS, epsilon=1)
        left = asked.remaining()
        for sql in (
            f"SELECT SUM(n) FROM ({COUNTS})",
            f"SELECT ward, RANK() OVER (ORDER BY n) FROM ({COUNTS})",
            "SELECT ward, year, SUM(COUNT(*)) OVER (), AVG(SUM(cost)) OVER (PARTITION BY year) FROM t GROUP BY "
            "ward, year",
        ):
            again = asked.ask(sql, epsilon=1)
            assert again.receipt.digest == first.receipt.digest
        assert asked.remaining() == left
        total = asked.ask(f"SELECT SUM(n) AS s FROM ({COUNTS})", epsilon=1)
        assert total.value == sum(first["n"].values)


def test_a_sum_of_noisy_numbers_has_an_interval_by_the_sum_of_their_noise() -> None:
    with session() as asked:
        answer = asked.ask(f"SELECT n, SUM(n) OVER () AS s, n - SUM(n) OVER () AS others FROM ({COUNTS})", epsilon=1)
    one = answer["n"].high[0] - answer["n"].low[0]  # type: ignore[index]
    every = answer["s"].high[0] - answer["s"].low[0]  # type: ignore[index]
    others = answer["others"].high[0] - answer["others"].low[0]  # type: ignore[index]
    assert math.sqrt(12) * 0.8 < every / one < math.sqrt(12) * 1.3
    # a number is in its total: what is left of it is the noise of the eleven others, and no more
    assert math.sqrt(11) * 0.8 < others / one < math.sqrt(11) * 1.3
    assert others < every


def test_what_noise_decided_has_no_interval_and_says_so() -> None:
    with session() as asked:
        answer = asked.ask(
            f"SELECT ward, RANK() OVER (ORDER BY n) AS r, SUM(n) OVER (ORDER BY n) AS s, ROW_NUMBER() OVER (ORDER "
            f"BY ward, "
            f"year) AS exact FROM ({COUNTS})",
            epsilon=1,
        )
        assert set(answer["r"].low or ()) | set(answer["s"].low or ()) == {-math.inf}
        assert not answer["exact"].noisy
        assert [note for note in answer.notes if note.startswith("r, s: no interval can be stated")]
        some = asked.ask("SELECT COUNT(*) AS c FROM (SELECT city, COUNT(*) AS n FROM t GROUP BY city)", epsilon=1)
        # groups that were found have rows, and there may be others
        assert (some["c"].low, some["c"].high) == ((float(some.value),), (math.inf,))


@pytest.mark.parametrize(
    ("sql", "says"),
    [
        ("SELECT ward, SUM(cost) OVER () FROM t", "over released rows"),
        ("SELECT ward, COUNT(*), SUM(cost) OVER () FROM t GROUP BY ward", "neither grouped by nor inside an aggregate"),
        ("SELECT ward, COUNT(*) FROM t GROUP BY ward HAVING RANK() OVER (ORDER BY COUNT(*)) = 1", "QUALIFY"),
        ("SELECT COUNT(*) FROM t WHERE RANK() OVER (ORDER BY cost) < 3", "cannot stand in WHERE"),
        (
            "SELECT ward, COUNT(*) FROM t QUALIFY ROW_NUMBER() OVER (PARTITION BY ward ORDER BY cost) = 1",
            "neither grouped",
        ),
        ("SELECT ward FROM t QUALIFY ROW_NUMBER() OVER (PARTITION BY ward ORDER BY cost) = 1", "over released rows"),
        (f"SELECT SUM(SUM(n)) FROM ({COUNTS})", "cannot stand inside another"),
        (f"SELECT SUM(RANK() OVER (ORDER BY n)) FROM ({COUNTS})", "cannot stand inside another"),
        (f"SELECT year, n FROM ({COUNTS}) GROUP BY year", "neither grouped"),
        (f"SELECT MODE(n) FROM ({COUNTS})", "MODE of released rows is not supported"),
        (f"SELECT SUM(ward) FROM ({COUNTS})", "takes numbers"),
        (f"SELECT NTILE(0) OVER (ORDER BY n) FROM ({COUNTS})", "constant number of rows from 1"),
        (f"SELECT LAG(n, year) OVER (ORDER BY n) FROM ({COUNTS})", "constant number of rows from 0"),
        (
            f"SELECT SUM(n) OVER (ORDER BY year RANGE BETWEEN 1 PRECEDING AND CURRENT ROW) FROM ({COUNTS})",
            "ROWS BETWEEN",
        ),
        (
            f"SELECT SUM(n) OVER (ORDER BY year ROWS BETWEEN 1 FOLLOWING AND 1 PRECEDING) FROM ({COUNTS})",
            "starts before",
        ),
        (f"SELECT SUM(n) OVER nothing FROM ({COUNTS})", "nothing"),
        (f"SELECT ward, SUM(n) FROM ({COUNTS}) GROUP BY ROLLUP (ward)", "put them into the sub-query"),
        ("SELECT person, cost FROM (SELECT person, SUM(cost) OVER () AS cost FROM t)", "within one person's rows"),
    ],
)
def test_what_would_look_at_private_rows_or_makes_no_sense_is_refused(sql: str, says: str) -> None:
    with session() as asked:
        with pytest.raises(PrivetError) as refused:
            asked.ask(sql, epsilon=1)
        assert isinstance(refused.value, (RequestError, Unsupported))
        assert says in str(refused.value)
        assert asked.history() == ()


def test_other_promises_about_intervals_are_refused() -> None:
    with session() as asked, pytest.raises(Unsupported, match="covers='population' is for numbers of one group each"):
        asked.ask(f"SELECT SUM(n) FROM ({COUNTS})", epsilon=1, covers="population")
