"""PostgreSQL's side: the usual truncation of contributions, written by hand. Nothing private."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import psycopg
from serve import serve
from visits_server import address, timed

TRUNCATED = """
SELECT city, count(*), sum(greatest(0, least(1000, amount))) FROM (
    SELECT city, amount,
        dense_rank() OVER (PARTITION BY person ORDER BY hashtextextended(city, 77)) AS place,
        row_number() OVER (PARTITION BY person, city ORDER BY hashfloat8extended(amount, 77)) AS turn
    FROM visits
) AS ranked WHERE place <= 5 AND turn <= 6 GROUP BY city
"""


@cache
def _connect(rows: int) -> Any:
    return psycopg.connect(address(rows), autocommit=True)


def in_postgres(rows: int, found: bool = False) -> Callable[[], Any]:
    connection = _connect(rows)
    process = connection.info.backend_pid
    return lambda: timed(process, lambda: connection.execute(TRUNCATED).fetchall())


if __name__ == "__main__":
    serve("psycopg", {"in_postgres": in_postgres})
