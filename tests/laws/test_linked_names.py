"""Tables that all call their key `id` are owned as their links lead, whatever their ids: brute force on the engine."""

from __future__ import annotations

import random
from typing import Any

import duckdb
import pyarrow as pa
import pytest

from privet.audit import replay
from privet.core.budget import Approximate
from privet.core.schema import Contribution, Table, integer
from privet.core.unit import Link, Person
from privet.session import Session
from privet.testing.oracle import Memory

LIMIT = Contribution(groups=50, rows=50)
COLUMNS = {
    "users": {"id": integer(), "age": integer(0, 9)},
    "orders": {"id": integer(0, 20), "user_id": integer(), "total": integer(0, 9)},
    "items": {"id": integer(0, 20), "order_id": integer(), "amount": integer(0, 9)},
}
UNITS = {
    "users": Person("id"),
    "orders": Link("user_id", to="users", column="id"),
    "items": Link("order_id", to="orders", column="id"),
}
QUESTIONS = [
    "SELECT COUNT(*) AS n, SUM(id) AS s FROM orders",
    "SELECT COUNT(DISTINCT user_id) AS n FROM orders WHERE id > 3",
    "SELECT id, COUNT(*) AS n FROM items WHERE id < 6 GROUP BY id ORDER BY id",
    "SELECT SUM(o.id) AS o, SUM(i.id) AS i FROM orders o JOIN items i ON i.order_id = o.id",
    "SELECT SUM(o.id) AS s FROM users u JOIN orders o ON o.user_id = u.id WHERE u.age > 2",
    "SELECT SUM(i.id + o.id) AS s FROM users u, orders o, items i WHERE u.id = o.user_id AND i.order_id = o.id",
    "SELECT SUM(n) AS s FROM (SELECT user_id, COUNT(*) AS n FROM orders GROUP BY user_id)",
]


def rows_of(seed: int) -> dict[str, list[dict[str, int]]]:
    """Return users, orders and items whose ids are those of each other, so that one taken for another shows."""
    draw = random.Random(seed)
    users = [{"id": one, "age": draw.randrange(10)} for one in range(6)]
    orders = [{"id": one, "user_id": draw.randrange(6), "total": draw.randrange(10)} for one in range(12)]
    items = [
        {"id": draw.randrange(20), "order_id": draw.randrange(12), "amount": draw.randrange(10)} for _ in range(20)
    ]
    return {"users": users, "orders": orders, "items": items}


def tables_of(rows: dict[str, list[dict[str, int]]], *, arrow: bool) -> dict[str, Table]:
    def made(name: str) -> Any:
        return pa.Table.from_pylist(rows[name]) if arrow else rows[name]

    return {
        name: Table(made(name), unit=UNITS[name], columns=COLUMNS[name], contribution=LIMIT, rows=100) for name in rows
    }


@pytest.mark.parametrize("sql", QUESTIONS)
@pytest.mark.parametrize("seed", range(3))
def test_answers_are_those_of_plain_sql_and_nobody_moves_them_by_more_than_is_claimed(sql: str, seed: int) -> None:
    rows = rows_of(seed)
    tables = tables_of(rows, arrow=True)
    with duckdb.connect() as plain:
        for name in rows:
            plain.register(name, tables[name].source)
        names = [column[0] for column in plain.execute(sql).description]
        expected = [dict(zip(names, row, strict=True)) for row in plain.execute(sql).fetchall()]
    for engine in (None, Memory(tables_of(rows, arrow=False))):
        with Session(tables, budget=Approximate(epsilon=10**13, delta=1e-6), engine=engine) as session:
            answer = [{name: row[name] for name in names} for row in session.ask(sql, epsilon=10**12)]
            keyed = [row for row in answer if all(round(value) for name, value in row.items() if name != "id")]
            assert [{name: round(value) for name, value in row.items()} for row in keyed] == expected
    with Session(tables, budget=Approximate(epsilon=10, delta=1e-6)) as session:
        found = replay(tables, session.plan(sql, epsilon=1))
    assert found.worst.moved > 0
    assert found.holds, found
