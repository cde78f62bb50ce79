"""Two tables joined by who owns their rows, ten million visits of a million people: beside DuckDB, bounded by hand."""

from __future__ import annotations

from benchmark import Benchmark, Case

BOTH = {"privet": 1, "duckdb": 1}

BENCHMARK = Benchmark(
    name="joins",
    title="Private joins: COUNT and AVG of 10 million visits by the region in which a million people live",
    unit="seconds",
    cases=(
        Case(
            title="people: COUNT and AVG of a join, truncated by hand",
            task="joined",
            units=BOTH,
            parameters={"rows": 10**7, "bound": "truncated"},
            targets={"duckdb": 1 / 1.3},
        ),
        Case(
            title="people: COUNT and AVG of a join, scaled by hand",
            task="joined",
            units=BOTH,
            parameters={"rows": 10**7, "bound": "scaled"},
            targets={"duckdb": 1 / 1.3},
        ),
    ),
)
