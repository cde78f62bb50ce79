"""What the engine makes of tables is a function of each person's rows: not of their order, nor of anyone else's."""

from __future__ import annotations

import datetime
import random
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest

from privet.core.relation import Relation
from privet.core.schema import Contribution, PublicTable, Table, date, integer, number, text
from privet.core.unit import Person
from privet.engines.dialects.duckdb import DUCKDB
from privet.engines.duckdb.engine import DuckDB
from privet.engines.scan_sql.relations import relation_sql
from privet.query.sql.parse import parse_view

DAY = datetime.date(2024, 1, 1)
SECRET = 0x1234_5678_9ABC_DEF0_0FED_CBA9_8765_4321
COLUMNS = {
    "who": text(nullable=True),
    "day": date(),
    "cost": number(0, 1000),
    "n": integer(0, 9, nullable=True),
}
KINDS = pa.schema([("who", pa.string()), ("day", pa.date32()), ("cost", pa.float64()), ("n", pa.int64())])


def rows_of(sql: str, rows: list[dict[str, Any]], **options: Any) -> list[tuple[Any, ...]]:
    """Return the rows that a sub-query makes, with whose they are in front."""
    table = Table(
        pa.Table.from_pylist(rows, schema=KINDS),
        unit=Person("who"),
        columns=COLUMNS,
        contribution=Contribution(groups=1, rows=1),
    )
    with DuckDB({"t": table}, **options) as engine:
        tables = {"t": table.schema}
        relation: Relation = parse_view(sql, tables, {}).table
        rows = relation_sql(relation, tables, engine._relations, SECRET, DUCKDB)
        return sorted(
            engine._fetch(f"SELECT * FROM {rows}"),
            key=repr,
        )


def visits(*several: tuple[str | None, float, int | None]) -> list[dict[str, Any]]:
    return [{"who": who, "day": DAY, "cost": cost, "n": n} for who, cost, n in several]


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT who, ROW_NUMBER() OVER (PARTITION BY who ORDER BY day) AS i, cost FROM t",
        "SELECT who, LAG(cost) OVER (PARTITION BY who ORDER BY day) AS before FROM t",
        "SELECT who, LEAD(n, 3) OVER (PARTITION BY who ORDER BY day DESC) AS after FROM t",
        "SELECT who, SUM(cost) AS s, AVG(cost) AS a, AVG(n) AS m, COUNT(DISTINCT cost) AS d FROM t GROUP BY who",
        "SELECT DISTINCT who, day FROM t",
    ],
)
@pytest.mark.parametrize("arrange", [lambda rows: rows[::-1], lambda rows: random.Random(3).sample(rows, len(rows))])
def test_the_order_of_stored_rows_does_not_matter(sql: str, arrange: Callable[[list[Any]], list[Any]]) -> None:
    # all days tie, and floats whose sum depends on the order in which they are added
    draw = random.Random(1)
    rows = visits(
        *((draw.choice("pq"), draw.random() * 10 ** draw.randrange(-9, 3), draw.randrange(9)) for _ in range(400))
    )
    assert rows_of(sql, rows, threads=1) == rows_of(sql, arrange(rows), threads=2)


def test_a_filter_holds_for_every_aggregate_within_a_person() -> None:
    rows = visits(("p", 10.0, 1), ("p", 20.0, 9), ("p", 40.0, 9), ("q", 1.0, 2))
    listed = ", ".join(
        f"{call} FILTER (WHERE n > 5)"
        for call in (
            "COUNT(*)",
            "COUNT(n)",
            "COUNT(DISTINCT n)",
            "SUM(cost)",
            "AVG(cost)",
            "MIN(cost)",
            "MAX(n)",
            "SUM(n)",
        )
    )
    found = rows_of(f"SELECT who, {listed} FROM t GROUP BY who", rows)
    assert found == [
        ("p", "p", 2, 2, 1, 60.0, 30.0, 20.0, 9, 18),
        ("q", "q", 0, 0, 0, None, None, None, None, None),
    ]


def test_rows_of_nobody_are_dropped_before_anything_else() -> None:
    rows = visits(("p", 1.0, 1), (None, 2.0, 2), (None, 2.0, 2))
    for sql, expected in (
        ("SELECT a.n FROM t a JOIN t b ON a.who = b.who", 1),
        ("SELECT a.n FROM t a LEFT JOIN t b ON a.who = b.who AND b.n > 5", 1),
        ("SELECT who, COUNT(*) FROM t GROUP BY who", 1),
        ("SELECT DISTINCT who, n FROM t", 1),
        ("SELECT ROW_NUMBER() OVER (PARTITION BY who ORDER BY n) AS i FROM t", 1),
        ("SELECT n FROM t UNION ALL SELECT n FROM t", 2),
    ):
        assert len(rows_of(sql, rows)) == expected


def test_values_are_held_to_their_bounds_before_they_are_compared_or_added() -> None:
    rows = visits(("p", 5000.0, 70), ("p", float("nan"), -4), ("p", -1.0, None))
    assert rows_of("SELECT who, SUM(cost), SUM(n), MAX(n), MIN(n) FROM t GROUP BY who", rows) == [
        ("p", "p", 1000.0, 9, 9, 0)
    ]
    assert len(rows_of("SELECT a.n FROM t a JOIN t b ON a.who = b.who AND a.n = 9 AND b.n = 0", rows)) == 1


def joined(sql: str, rows: list[dict[str, Any]], most: int, secret: int = SECRET) -> list[tuple[Any, ...]]:
    """Return the rows of a join that makes at most a number of pairs of one person's rows."""
    table = Table(
        pa.Table.from_pylist(rows, schema=KINDS),
        unit=Person("who"),
        columns=COLUMNS,
        contribution=Contribution(groups=1, rows=1),
    )
    words = PublicTable(
        pa.table({"k": [*range(9), 0, 0, None], "w": [f"w{i}" for i in range(12)]}),
        columns={"k": integer(0, 9, nullable=True), "w": text()},
    )
    tables = {"t": table.schema, "p": words.schema}
    with DuckDB({"t": table, "p": words}) as engine:
        made = parse_view(sql, tables, {}).table
        asked = relation_sql(replace(made, most=most), tables, engine._relations, secret, DUCKDB)
        return sorted(engine._fetch(f"SELECT * FROM {asked}"), key=repr)


@pytest.mark.parametrize(
    ("on", "pairs"),
    [
        ("JOIN t b ON a.who = b.who", {"p": 900, "q": 1}),
        ("LEFT JOIN t b ON a.who = b.who", {"p": 900, "q": 1}),
        ("JOIN t b ON a.who = b.who AND a.n = b.n", {"p": 300, "q": 1}),
        ("LEFT JOIN t b ON a.who = b.who AND a.n + 0 = b.n", {"p": 300, "q": 1}),
        ("JOIN t b ON a.who = b.who AND a.cost = b.cost", {"p": 30, "q": 1}),
        ("JOIN p ON true", {"p": 360, "q": 12}),
        ("JOIN p ON a.n = p.k", {"p": 50, "q": 1}),
        ("LEFT JOIN p ON p.k = a.n", {"p": 50, "q": 1}),
    ],
)
@pytest.mark.parametrize("most", [1, 4, 31, 47, 299, 301, 10**5])
def test_a_join_makes_as_many_pairs_of_a_person_as_it_may_and_no_fewer(
    on: str, pairs: dict[str, int], most: int
) -> None:
    rows = visits(*(("p", float(i), i % 3) for i in range(30)), ("q", 1.0, 1))
    found = Counter(row[0] for row in joined(f"SELECT a.n FROM t a {on}", rows, most))
    alone = "a.cost = b.cost" in on  # where no row meets several, nothing is made of one
    assert found == {who: count if alone else min(count, most) for who, count in pairs.items()}


@pytest.mark.parametrize(
    "on", ["JOIN t b ON a.who = b.who", "JOIN t b ON a.who = b.who AND a.n = b.n", "JOIN p ON true"]
)
def test_which_pairs_are_kept_depends_on_the_key_and_on_the_persons_own_rows_alone(on: str) -> None:
    draw = random.Random(5)
    mine = visits(*(("p", draw.choice([0.0, -0.0, 1.0, 7.5]), draw.choice([None, 1, 2])) for _ in range(40)))
    others = visits(*(("q", float(i), 1) for i in range(50)))
    first = [row for row in joined(f"SELECT a.n FROM t a {on}", mine, 17) if row[0] == "p"]
    for again in (mine[::-1], [*others, *mine], [*draw.sample(mine, 40), *others]):
        assert repr([row for row in joined(f"SELECT a.n FROM t a {on}", again, 17) if row[0] == "p"]) == repr(first)
    assert joined(f"SELECT a.n FROM t a {on}", mine, 17, SECRET + 1) != first


def test_a_left_join_loses_rows_with_their_pairs_and_keeps_those_that_have_none() -> None:
    rows = visits(*(("p", float(i), 1) for i in range(20)), *(("p", 5.0, None) for _ in range(7)))
    found = joined("SELECT a.n FROM t a LEFT JOIN t b ON a.who = b.who AND a.n = b.n", rows, 20)
    assert sum(row[4] is None for row in found) == 7
    assert sum(row[4] == row[8] == 1 for row in found) == 20
    assert len(found) == 27


def test_a_long_text_is_cut_where_it_is_read_and_long_names_of_people_stay_apart() -> None:
    rows = visits(*((f"{'p' * 5000}{i % 3}", float(i), 1) for i in range(9)), ("q", 1.0, 1))
    found = rows_of("SELECT who, COUNT(*) AS n FROM t GROUP BY who", rows)
    assert sorted((len(row[0]), len(row[1]), row[2]) for row in found) == [(1, 1, 1), *[(2001, 2000, 3)] * 3]
    assert len(rows_of("SELECT a.n FROM t a JOIN t b ON a.who = b.who", rows)) == 1 + 3 * 3 * 3


def test_the_clock_and_the_zone_do_not_come_from_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "Pacific/Kiritimati")
    with DuckDB(
        {
            "t": Table(
                pa.Table.from_pylist([], schema=KINDS),
                unit=Person("who"),
                columns=COLUMNS,
                contribution=Contribution(groups=1, rows=1),
            )
        }
    ) as engine:
        assert engine._fetch("SELECT current_setting('TimeZone')") == [("UTC",)]
