"""COUNT and AVG by found city of people, up to more cells than memory holds, beside GROUP BY person, city on DuckDB.

By hand: it makes 1.7 GB of rows once, and may spill 4 GB more. Each system has a process of its own for each case, so
that its peak of memory is its own. The ratio is that of processor time; wall seconds stand below. Of a million rows a
third of the time is planning, so that there is no aim.
"""

from __future__ import annotations

from benchmark import Benchmark, Case

SIZES = {"1 million": 10**6, "10 million": 10**7, "100 million": 10**8}
MEMORY, CEILING = "4GiB", 4 * 2**10

BENCHMARK = Benchmark(
    name="scale",
    title="Person-level COUNT and AVG by 1,000 found cities, ten visits a person, limit 4 GiB; processor seconds",
    unit="seconds",
    cases=(
        *(
            Case(
                title=f"{words} rows",
                task="beyond_memory_apart",
                units={"privet": 1, "duckdb": 1},
                parameters={"rows": rows, "memory_limit": MEMORY},
                targets={"duckdb": 1 / 2.5} if rows > 10**6 else {},
                ceilings={"peak MB": CEILING},
            )
            for words, rows in SIZES.items()
        ),
        Case(
            title="100 million rows, read whole",
            task="beyond_memory_apart",
            units={"privet": 1},
            parameters={"rows": 10**8, "memory_limit": MEMORY, "parts": 1},
        ),
    ),
    by_hand=True,
)
