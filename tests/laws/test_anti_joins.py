"""LEFT JOIN ... WHERE key IS NULL keeps the rows that meet none, with the noise of one row a person: on the engine."""

from __future__ import annotations

from typing import Any

import duckdb
import pyarrow as pa
import pytest

from privet.audit import replay
from privet.core.budget import Approximate
from privet.core.relation import Join
from privet.core.schema import Contribution, PublicTable, Table, category, integer
from privet.core.unit import Link, Person
from privet.planner.plan import Plan
from privet.session import Session

PEOPLE = pa.table({"who": [*range(8)], "sex": ["f", "m"] * 4})
VISITS = pa.table(
    {
        "id": [*range(12)],
        "person": [0, 0, 1, 1, 1, 2, 3, 3, 4, 4, 4, 4],
        "ward": ["a", "b", "a", "a", "b", "b", "a", None, "b", "b", "b", "a"],
        "nights": [1, None, 3, 4, 5, None, 7, 8, 9, 0, 1, 2],
    }
)
DRUGS = pa.table({"visit": [0, 0, 3, 5, 5, 9], "days": [1, 40, 2, 50, 3, 4]})
WARDS = pa.table({"ward": ["a"], "beds": [3]})
LIMIT = Contribution(groups=6, rows=6)
TABLES = {
    "people": Table(
        PEOPLE,
        unit=Person("who"),
        columns={"who": integer(), "sex": category(["f", "m"])},
        contribution=Contribution(groups=1, rows=1),
        key="who",
    ),
    "visits": Table(
        VISITS,
        unit=Link("person", to="people", column="who"),
        columns={
            "id": integer(),
            "person": integer(),
            "ward": category(["a", "b"], nullable=True),
            "nights": integer(0, 9, nullable=True),
        },
        contribution=LIMIT,
    ),
    "drugs": Table(
        DRUGS,
        unit=Link("visit", to="visits", column="id"),
        columns={"visit": integer(), "days": integer(0, 90)},
        contribution=LIMIT,
    ),
    "wards": PublicTable(WARDS, columns={"ward": category(["a", "b"]), "beds": integer(0, 9)}, key="ward"),
}
NEVER = "SELECT COUNT(*) AS n FROM people p WHERE NOT EXISTS (SELECT 1 FROM visits v WHERE v.person = p.who)"
VISIT = "SELECT COUNT(*) AS n FROM visits v"
READ = [
    ("SELECT COUNT(*) AS n FROM people p LEFT JOIN visits v ON v.person = p.who WHERE v.id IS NULL", NEVER),
    ("SELECT COUNT(*) AS n FROM people p LEFT OUTER JOIN visits v ON v.person = who WHERE (v.person IS NULL)", NEVER),
    ("SELECT COUNT(*) AS n FROM visits v RIGHT JOIN people p ON v.person = p.who WHERE v.id IS NULL", NEVER),
    (
        "SELECT COUNT(*) AS n FROM people p LEFT JOIN visits v ON v.person = p.who AND v.ward = 'a' "
        "WHERE v.ward IS NULL AND p.sex = 'f'",
        NEVER.replace("p.who)", "p.who AND v.ward = 'a') AND p.sex = 'f'"),
    ),
    (
        "SELECT sex, COUNT(*) AS n FROM people p LEFT JOIN visits v ON v.person = p.who WHERE v.id IS NULL "
        "GROUP BY sex ORDER BY n, sex",
        NEVER.replace("COUNT(*)", "sex, COUNT(*)") + " GROUP BY sex ORDER BY n, sex",
    ),
    (
        f"{VISIT} LEFT JOIN drugs d ON d.visit = v.id AND d.days > 30 WHERE d.days IS NULL",
        f"{VISIT} WHERE NOT EXISTS (SELECT 1 FROM drugs d WHERE d.visit = v.id AND d.days > 30)",
    ),
    (
        f"{VISIT} LEFT JOIN wards w ON w.ward = v.ward WHERE w.ward IS NULL",
        f"{VISIT} WHERE NOT EXISTS (SELECT 1 FROM wards w WHERE w.ward = v.ward)",
    ),
    (
        "SELECT COUNT(*) AS n FROM people p LEFT JOIN visits v ON v.person = p.who AND v.nights > 4 "
        "LEFT JOIN visits o ON o.person = p.who AND o.ward = 'b' WHERE v.id IS NULL AND o.id IS NULL",
        NEVER.replace("p.who)", "p.who AND (v.nights > 4 OR v.ward = 'b'))"),
    ),
]
NOT_READ = [
    # NULL there may be a value of a row that is met
    "SELECT COUNT(*) AS n FROM people p LEFT JOIN visits v ON v.person = p.who WHERE v.nights IS NULL",
    # the other table has a column of that name, too
    "SELECT COUNT(*) AS n FROM visits v LEFT JOIN visits o ON o.person = v.person AND o.ward = v.ward "
    "WHERE v.ward IS NULL",
    # more of the other table is used
    "SELECT COUNT(v.nights) AS n FROM people p LEFT JOIN visits v ON v.person = p.who WHERE v.id IS NULL",
    "SELECT COUNT(*) AS n FROM people p LEFT JOIN visits v ON v.person = p.who WHERE v.id IS NULL OR p.sex = 'f'",
    "SELECT COUNT(*) AS n FROM people p LEFT JOIN visits v ON v.person = p.who WHERE v.id IS NULL AND v.nights > 1",
    "SELECT COUNT(*) AS n FROM people p LEFT JOIN visits v ON v.person = p.who WHERE v.id IS NOT NULL",
]
LATER = (
    "SELECT COUNT(*) AS n FROM people p LEFT JOIN visits v ON v.person = p.who "
    "LEFT JOIN drugs d ON d.visit = v.id WHERE v.id IS NULL AND d.days IS NULL"
)


def plain(sql: str) -> list[tuple[Any, ...]]:
    """Return what plain SQL answers."""
    with duckdb.connect() as database:
        for name, table in (("people", PEOPLE), ("visits", VISITS), ("drugs", DRUGS), ("wards", WARDS)):
            database.register(name, table)
        return database.execute(sql).fetchall()


def answered(sql: str) -> list[tuple[Any, ...]]:
    with Session(TABLES, budget=Approximate(epsilon=10**13, delta=1e-6)) as session:
        answer = session.ask(sql, epsilon=10**12)
        return list(zip(*(series.values for series in answer.series), strict=True))


def noise(plan: Plan) -> list[float]:
    return [column["half_width"] for column in plan.to_dict()["columns"] if column.get("half_width")]


@pytest.mark.parametrize(("sql", "same"), READ)
def test_an_anti_join_is_answered_as_plain_sql_does_with_the_noise_of_the_rows_themselves(sql: str, same: str) -> None:
    assert answered(sql) == plain(sql) == plain(same)
    with Session(TABLES, budget=Approximate(epsilon=10, delta=1e-6)) as session:
        plan = session.plan(sql, epsilon=1)
        assert noise(plan) == noise(session.plan(same, epsilon=1))
    found = replay(TABLES, plan)
    assert found.worst.moved > 0
    assert found.holds, found


@pytest.mark.parametrize("sql", NOT_READ)
def test_other_joins_stay_what_they_are(sql: str) -> None:
    with Session(TABLES, budget=Approximate(epsilon=10, delta=1e-6)) as session:
        relation = session.plan(sql, epsilon=1).query.table
    joins = []
    while not isinstance(relation, str):
        joins += [relation] if isinstance(relation, Join) else []
        relation = relation.left if isinstance(relation, Join) else relation.source
    assert not any(one.one for one in joins)
    assert answered(sql) == plain(sql)


def test_a_table_that_a_later_join_uses_stays_joined() -> None:
    assert answered(LATER) == plain(LATER)
    with Session(TABLES, budget=Approximate(epsilon=10, delta=1e-6)) as session:
        assert replay(TABLES, session.plan(LATER, epsilon=1)).holds
