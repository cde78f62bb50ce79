"""Spark's side: the usual truncation of contributions, written by hand; and Privet's engine on the same Spark."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from fractions import Fraction
from functools import cache
from typing import Any

from serve import serve
from spark_process import session, timed
from visits_table import BUDGET, EACH, GROUPS, QUESTION, visits_table

TRUNCATED = f"""
SELECT city, sum(n), sum(s) FROM (
    SELECT *, row_number() OVER (PARTITION BY person ORDER BY xxhash64(city, 77)) AS place FROM (
        SELECT person, city, count(*) AS n, sum(greatest(0D, least(1000D, amount))) AS s FROM (
            SELECT *, row_number() OVER (PARTITION BY person, city ORDER BY xxhash64(amount, age, 77)) AS turn
            FROM (SELECT * FROM visits DISTRIBUTE BY person)
        ) WHERE turn <= {EACH} GROUP BY person, city
    )
) WHERE place <= {GROUPS} GROUP BY city
"""
"""The faster of two that were tried: rows are ranked, summed to cells, and the cells ranked, all after one shuffle.

The other ranks rows twice and sums what is left, as is fastest on DuckDB.
"""
PLAIN = "SELECT city, count(*), avg(amount) FROM visits GROUP BY city"
_prices = itertools.count(1)


def by_hand(rows: int, found: bool = False) -> Callable[[], Any]:
    """Return the truncation by hand, which finds cities in the data whether they are public or not."""
    return _statement(rows, TRUNCATED)


def plain(rows: int) -> Callable[[], Any]:
    """Return the plain question, which protects no one."""
    return _statement(rows, PLAIN)


def _statement(rows: int, sql: str) -> Callable[[], Any]:
    from data import visits

    session().read.parquet(str(visits(rows))).createOrReplaceTempView("visits")
    return lambda: timed(lambda: session().sql(sql).collect())


@cache
def _asked(rows: int, found: bool) -> Any:
    import privet
    from privet.engines.spark import Spark

    return privet.Session({"visits": visits_table(rows, found=found)}, budget=BUDGET, engine=Spark(session=session()))


def by_privet(rows: int, found: bool = False) -> Callable[[], Any]:
    """Return a question at a price that was not asked before."""
    opened, price = _asked(rows, found), 1 + Fraction(next(_prices), 1000)
    return lambda: timed(lambda: opened.ask(QUESTION, epsilon=price))


if __name__ == "__main__":
    serve("pyspark", {"on_spark": by_hand, "plain_on_spark": plain, "by_privet": by_privet})
