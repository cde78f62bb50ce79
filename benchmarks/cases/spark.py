"""COUNT and AVG by city of people on Spark, beside truncation by hand there and Tumult Analytics, and on DuckDB."""

from __future__ import annotations

from benchmark import Benchmark, Case

SIZES = {"100,000": 10**5, "1 million": 10**6, "10 million": 10**7}
TARGETS = {"1 million": {"tumult": 10.0}, "10 million": {"spark": 1.0}}

BENCHMARK = Benchmark(
    name="spark",
    title="Person-level COUNT and AVG by city; processor seconds of the driver and of all processes that it starts",
    unit="seconds",
    cases=(
        *(
            Case(
                title=f"Spark, {words} rows",
                task="on_spark",
                units={"privet": 1, "spark": 1} | ({"tumult": 1} if rows < 10**7 else {}),
                parameters={"rows": rows},
                targets=TARGETS.get(words, {}),
            )
            for words, rows in SIZES.items()
        ),
        Case(
            title="Spark, 10 million rows, cities are found",
            task="on_spark",
            units={"privet": 1, "spark": 1},
            parameters={"rows": 10**7, "found": True},
        ),
        *(
            Case(
                title=f"Spark, {words} rows, unbounded and exact",
                task="plain_on_spark",
                units={"spark": 1},
                parameters={"rows": rows},
            )
            for words, rows in SIZES.items()
        ),
        *(
            Case(
                title=f"DuckDB, {words} rows",
                task="on_one_machine",
                units={"privet": 1, "duckdb": 1},
                parameters={"rows": rows},
            )
            for words, rows in SIZES.items()
        ),
    ),
)
