"""What people hold and how it goes together, five million visits: beside plain DuckDB, which bounds nothing."""

from __future__ import annotations

from benchmark import Benchmark, Case

QUESTIONS = {
    "different": "COUNT(DISTINCT amount)",
    "different by age": "COUNT(DISTINCT city) by age",
    "correlation": "CORR(amount, age)",
    "correlation by age": "CORR(amount, age) by age",
}

BENCHMARK = Benchmark(
    name="people",
    title="Different values and correlations of 5 million visits of people, each of whom is bounded",
    unit="seconds",
    cases=tuple(
        Case(
            title=f"people: {words}, beside plain",
            task="of_people",
            units={"privet": 1, "duckdb": 1},
            parameters={"question": question, "rows": 5 * 10**6},
        )
        for question, words in QUESTIONS.items()
    ),
)
