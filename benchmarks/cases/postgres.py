"""COUNT and AVG by city over five million visits of people in PostgreSQL, beside truncation written by hand there."""

from __future__ import annotations

from benchmark import Benchmark, Case

ROWS = 5 * 10**6

BENCHMARK = Benchmark(
    name="postgres",
    title="Person-level COUNT and AVG by city, 5 million visits in one PostgreSQL server",
    unit="seconds",
    cases=(
        Case(
            title="cities are public, beside truncation by hand",
            task="in_postgres",
            units={"privet": 1, "postgres": 1},
            parameters={"rows": ROWS},
            targets={"postgres": 1 / 1.1},
        ),
        Case(
            title="cities are found, beside truncation by hand",
            task="in_postgres",
            units={"privet": 1, "postgres": 1},
            parameters={"rows": ROWS, "found": True},
        ),
    ),
)
