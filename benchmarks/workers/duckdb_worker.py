"""DuckDB's side of the queries: plain SQL, and the usual bounding of contributions written by hand. Nothing private."""

from __future__ import annotations

import atexit
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
from serve import apart, processor_time, serve

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from data import PREDICTORS, measured, people, scaled, visits

PLAIN = {
    "count": "SELECT city, count(*) FROM visits GROUP BY city",
    "sum": "SELECT city, sum(amount) FROM visits GROUP BY city",
    "median": "SELECT median(amount) FROM visits",
    "medians": "SELECT city, median(amount) FROM visits GROUP BY city",
    "different": "SELECT count(DISTINCT amount) FROM visits",
    "different by age": "SELECT age, count(DISTINCT city) FROM visits GROUP BY age",
    "correlation": "SELECT corr(amount, age) FROM visits",
    "correlation by city": "SELECT city, corr(amount, age) FROM visits GROUP BY city",
    "covariance": "SELECT covar_samp(amount, age) FROM visits",
    "covariance by city": "SELECT city, covar_samp(amount, age) FROM visits GROUP BY city",
    "covariance of whole numbers": "SELECT covar_samp(person, age) FROM visits",
}
BY_HAND = {
    "count": PLAIN["count"],
    "sum": "SELECT city, sum(greatest(0, least(1000, amount))) FROM visits GROUP BY city",
}
TRUNCATED = """
SELECT city, count(*), sum(greatest(0, least(1000, amount))) FROM (
    SELECT city, amount,
        dense_rank() OVER (PARTITION BY person ORDER BY hash(city, 77)) AS place,
        row_number() OVER (PARTITION BY person, city ORDER BY hash(amount, age, 77)) AS turn
    FROM visits
) WHERE place <= {groups} AND turn <= {each} GROUP BY city
"""
"""The faster of two that were tried: at most so many cities a person and visits in each, by a hash, in one pass.

The other ranks rows, sums them to cells, then ranks the cells.
"""
GROUPED = "SELECT city, count(*), avg(amount) FROM visits GROUP BY city"
BY_PERSON = """
SELECT city, sum(n), sum(s) FROM (
    SELECT person, city, count(*) AS n, sum(amount) AS s FROM visits GROUP BY person, city
) GROUP BY city
"""
PEOPLE = {
    "different": "SELECT count(DISTINCT amount) FROM visits",
    "different by age": "SELECT age, count(DISTINCT city) FROM visits GROUP BY age",
    "correlation": "SELECT corr(amount, age) FROM visits",
    "correlation by age": "SELECT age, corr(amount, age) FROM visits GROUP BY age",
    "covariance": "SELECT covar_samp(amount, age) FROM visits",
}


JOINED = {
    "truncated": """
SELECT region, count(*), sum(greatest(0, least(1000, amount))) FROM (
    SELECT region, amount, row_number() OVER (PARTITION BY person ORDER BY hash(amount, age, 77)) AS turn
    FROM visits JOIN people USING (person)
) WHERE turn <= 10 GROUP BY region
""",
    "scaled": """
WITH cells AS (
    SELECT person, region, count(*) AS n, sum(greatest(0, least(1000, amount))) AS s
    FROM visits JOIN people USING (person) GROUP BY person, region
), units AS (SELECT person, least(1.0, 10.0 / sum(n)) AS w FROM cells GROUP BY person)
SELECT region, sum(w * n), sum(w * s) FROM cells JOIN units USING (person) GROUP BY region
""",
}
"""Two ways to bound by hand what a person gives to a join: at most ten visits by a hash, or all of them scaled down."""


def _connect(rows: int) -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect(":memory:", config={"preserve_insertion_order": False})
    connection.execute("SET enable_progress_bar = false")
    connection.execute(f"CREATE VIEW visits AS SELECT * FROM read_parquet('{visits(rows)}')")
    connection.execute(f"CREATE VIEW people AS SELECT * FROM read_parquet('{people()}')")
    return connection


def by_row(question: str, rows: int, by_hand: bool = False) -> Callable[[], Any]:
    connection, sql = _connect(rows), (BY_HAND if by_hand else PLAIN)[question]
    connection.execute(sql).fetchall()

    def call() -> dict[str, Any]:
        connection.execute(sql).fetchall()
        return {}

    return call


def by_person(rows: int, bound: str = "truncated") -> Callable[[], Any]:
    connection = _connect(rows)
    sql = {"truncated": TRUNCATED.format(groups=5, each=3), "none": GROUPED, "grouped": BY_PERSON}[bound]

    def call() -> dict[str, Any]:
        connection.execute(sql).fetchall()
        return {}

    return call


def of_people(question: str, rows: int) -> Callable[[], Any]:
    connection, sql = _connect(rows), PEOPLE[question]

    def call() -> dict[str, Any]:
        connection.execute(sql).fetchall()
        return {}

    return call


def regression(rows: int, people: bool) -> Callable[[], Any]:
    """Return the sums of all products of ten predictors and a target, plain or by person first."""
    names = [*(f"x{place}" for place in range(PREDICTORS)), "y"]
    sums = ["count(*)", *(f"sum({name})" for name in names)]
    sums += [f"sum({a} * {b})" for place, a in enumerate(names) for b in names[place:]]
    source = f"read_parquet('{measured(rows)}')"
    sql = f"SELECT {', '.join(sums)} FROM {source}"
    if people:
        each = ", ".join(f"{one} AS s{place}" for place, one in enumerate(sums))
        totals = ", ".join(f"sum(s{place})" for place in range(len(sums)))
        sql = f"SELECT {totals} FROM (SELECT person, {each} FROM {source} GROUP BY person)"
    connection = duckdb.connect(":memory:", config={"preserve_insertion_order": False})
    connection.execute("SET enable_progress_bar = false")

    def call() -> dict[str, Any]:
        connection.execute(sql).fetchall()
        return {}

    return call


def joined(rows: int, bound: str) -> Callable[[], Any]:
    connection, sql = _connect(rows), JOINED[bound]
    connection.execute(sql).fetchall()

    def call() -> dict[str, Any]:
        connection.execute(sql).fetchall()
        return {}

    return call


def on_one_machine(rows: int) -> Callable[[], Any]:
    """Return the truncation by hand at the limits that are used on Spark, in processor seconds."""
    connection, sql = _connect(rows), TRUNCATED.format(groups=5, each=6)
    return lambda: processor_time(lambda: connection.execute(sql).fetchall())


def beyond_memory(rows: int, memory_limit: str) -> Callable[[], Any]:
    """Return the sums of each person in each city, added up: cells that any bound on people needs, and no bound."""
    config = {"preserve_insertion_order": False, "memory_limit": memory_limit}
    connection = duckdb.connect(":memory:", config=config)
    connection.execute("SET enable_progress_bar = false")
    place = tempfile.mkdtemp(prefix="bench-spill-")
    atexit.register(shutil.rmtree, place, ignore_errors=True)
    connection.execute(f"SET temp_directory = '{place}'")
    connection.execute(f"CREATE VIEW visits AS SELECT * FROM read_parquet('{scaled(rows)}')")
    return lambda: connection.execute(BY_PERSON).fetchall() and {}


def by_person_noisy(rows: int, groups: list[int], each: list[int]) -> Callable[[], Any]:
    """Return the truncation by hand, timed without noise, and its errors with the bounds that err least.

    The errors are those of Privet's own answer under the same truncation, at the same guarantee: by hand the noise
    would be no smaller.
    """
    import privet_queries

    private, connection = privet_queries.by_person_noisy(rows, groups, each, bound="groups"), _connect(rows)
    sql = TRUNCATED.format(groups=5, each=3)

    def call() -> dict[str, Any]:
        start, spent = time.perf_counter(), time.process_time()
        connection.execute(sql).fetchall()
        took = {"seconds": time.perf_counter() - start, "cpu": time.process_time() - spent}
        return {**private(), **took}

    return call


if __name__ == "__main__":
    serve(
        "duckdb",
        {
            "by_row": by_row,
            "of_people": of_people,
            "regression": regression,
            "by_person": by_person,
            "joined": joined,
            "on_one_machine": on_one_machine,
            "by_person_noisy": by_person_noisy,
            "beyond_memory": beyond_memory,
            "beyond_memory_apart": apart("beyond_memory", "call"),
            "by_row_memory": apart("by_row", "peak MB"),
            "by_person_memory": apart("by_person", "peak MB"),
        },
    )
