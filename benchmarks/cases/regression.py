"""A regression with ten predictors over ten million rows: beside plain DuckDB sums of the same products."""

from __future__ import annotations

from benchmark import Benchmark, Case

ROWS = 10**7

BENCHMARK = Benchmark(
    name="regression",
    title="Linear regression with 10 predictors over 10 million rows, beside the plain sums of the same products",
    unit="seconds",
    cases=tuple(
        Case(
            title=title,
            task="regression",
            units={"privet": 1, "duckdb": 1},
            parameters={"rows": ROWS, "people": people},
            targets={"duckdb": 1 / 3},
        )
        for title, people in (
            ("regression: each row is protected", False),
            ("regression: each person is protected, beside a grouped scan", True),
        )
    ),
)
