"""SQL on ten million visits of a million people to a thousand cities: beside plain DuckDB and OpenDP's Polars path."""

from __future__ import annotations

from benchmark import Benchmark, Case

MANY, FEWER, FEW = 10**7, 10**6, 1000
PLAIN = {"privet": 1, "duckdb": 1}
ALONE = {"privet": 1}
TOGETHER = (
    ("different", "COUNT(DISTINCT amount)", 1 / 1.5),
    ("different by age", "COUNT(DISTINCT city) by age", 1 / 1.5),
    ("correlation", "CORR(amount, age)", 1 / 3),
    ("correlation by city", "CORR(amount, age) by city", 1 / 3),
    ("covariance", "COVAR_SAMP(amount, age)", 1 / 3),
    ("covariance by city", "COVAR_SAMP(amount, age) by city", 1 / 3),
    ("covariance of whole numbers", "COVAR_SAMP(person, age)", 1 / 3),
)
"""Questions about how numbers go together and how many there are: what each is called, and the least ratio hoped for.

Where units are people, plain DuckDB bounds nothing: to know how much each person gives is most of the work there.
"""

BENCHMARK = Benchmark(
    name="queries",
    title="Private queries by city: 10 million visits, 1 million people, 1,000 cities",
    unit="seconds",
    cases=(
        Case(
            title="rows: COUNT, beside plain",
            task="by_row",
            units=PLAIN,
            parameters={"question": "count", "rows": MANY},
            targets={"duckdb": 1 / 1.25},
        ),
        Case(
            title="rows: SUM, clamped by hand",
            task="by_row",
            units=PLAIN,
            parameters={"question": "sum", "rows": MANY, "by_hand": True},
            targets={"duckdb": 1 / 1.3},
        ),
        Case(
            title="rows: SUM, beside plain",
            task="by_row",
            units=PLAIN,
            parameters={"question": "sum", "rows": MANY},
            targets={"duckdb": 1 / 2},
        ),
        Case(
            title="rows: MEDIAN, beside the exact one",
            task="by_row",
            units=PLAIN,
            parameters={"question": "median", "rows": MANY},
            targets={"duckdb": 1 / 3},
        ),
        Case(
            title="rows: MEDIAN by city, beside the exact ones",
            task="by_row",
            units=PLAIN,
            parameters={"question": "medians", "rows": MANY},
            targets={"duckdb": 1 / 1.5},
        ),
        *(
            Case(
                title=f"rows: {words}, beside plain",
                task="by_row",
                units=PLAIN,
                parameters={"question": question, "rows": MANY},
                targets={"duckdb": least},
            )
            for question, words, least in TOGETHER
        ),
        *(
            Case(
                title=f"people: {words}, beside plain",
                task="of_people",
                units=PLAIN,
                parameters={"question": question, "rows": MANY},
                targets={"duckdb": least},
            )
            for question, words, least in TOGETHER
            if question in ("different", "correlation", "covariance")
        ),
        Case(
            title="people: COUNT and AVG, truncated by hand",
            task="by_person",
            units=PLAIN,
            parameters={"rows": MANY},
            targets={"duckdb": 2.0},
        ),
        Case(
            title="people: COUNT and AVG, 1 million visits",
            task="by_person_noisy",
            units={"privet": 1, "opendp_polars": 1, "duckdb": 1},
            parameters={"rows": FEWER, "groups": [2, 3, 4, 5, 6, 7, 8, 9, 10], "each": [3, 1, 2, 5, 8, 12]},
            settings={"privet": {"groups": [5], "each": [3, 4, 5, 6, 8]}},
            targets={"opendp_polars": 10.0, "duckdb": 1.0},
            figures=(
                "count error",
                "average error",
                "count error, 100 largest",
                "average error, 100 largest",
            ),
        ),
        Case(
            title="1,000 rows: ask, after the first",
            task="ask_again",
            units=ALONE,
            parameters={"rows": FEW},
            limit=0.015,
        ),
        Case(title="1,000 rows: plan", task="plan_again", units=ALONE, parameters={"rows": FEW}, limit=0.005),
        Case(
            title="the corpus: plan, median processor time",
            task="plan_corpus",
            units=ALONE,
            parameters={"which": "median"},
            limit=0.005,
        ),
        Case(
            title="the corpus: plan, longest processor time",
            task="plan_corpus",
            units=ALONE,
            parameters={"which": "longest"},
            limit=0.05,
        ),
        Case(
            title="first ask of a process, processor time",
            task="first_ask_apart",
            units=ALONE,
            parameters={"rows": FEW},
            limit=0.6,
        ),
        Case(
            title="rows: SUM, memory",
            task="by_row_memory",
            units=PLAIN,
            parameters={"question": "sum", "rows": MANY},
            most={"peak MB": 1.5},
        ),
        Case(
            title="people: memory, beside GROUP BY person, city",
            task="by_person_memory",
            units=PLAIN,
            parameters={"rows": MANY},
            settings={"duckdb": {"bound": "grouped"}},
            most={"peak MB": 1.5},
        ),
    ),
)
