"""Privet's side of tables in PostgreSQL."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from fractions import Fraction
from functools import cache
from typing import Any

from serve import Task
from visits_server import address, timed

QUESTION = "SELECT city, COUNT(*) AS n, AVG(amount) AS mean FROM visits GROUP BY city"
_prices = itertools.count(1)


@cache
def _session(rows: int, found: bool) -> tuple[Any, int]:
    from data import cities

    import privet

    columns = {
        "person": privet.integer(),
        "city": privet.text() if found else privet.category(cities()),
        "amount": privet.number(0, 1000),
        "age": privet.integer(0, 120),
    }
    limit = privet.Contribution(groups=5, rows=6)
    table = privet.Table(
        privet.PostgresTable("visits"), unit=privet.Person("person"), columns=columns, contribution=limit
    )
    engine = privet.Postgres(address(rows), scans=1).over({"visits": table})
    budget = privet.Approximate(epsilon=1000, delta=Fraction(1, 10**6))
    process = engine.catalog("SELECT pg_backend_pid()", [])[0][0]
    return privet.Session({"visits": table}, budget=budget, engine=engine), int(process)


def in_postgres(rows: int, found: bool = False) -> Callable[[], Any]:
    """Return a question at a price that was not asked before."""
    session, process = _session(rows, found)
    price = 1 + Fraction(next(_prices), 1000)
    return lambda: timed(process, lambda: session.ask(QUESTION, epsilon=price))


IN_POSTGRES: dict[str, Task] = {"in_postgres": in_postgres}
