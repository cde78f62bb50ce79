"""What the durable ledger adds to a question when it holds 10,000 charges and their answers, and how soon it is proven.

The ledger has a cap for the data set and one for the analyst, both (epsilon, delta). Questions cost one of so many
different amounts: a price that was worked out before is not worked out again by `verify`.
"""

from __future__ import annotations

from benchmark import Benchmark, Case

CHARGES = 10_000

BENCHMARK = Benchmark(
    name="ledger",
    title=f"A durable ledger of {CHARGES:,} charges",
    unit="seconds",
    cases=(
        Case(
            title="what an ask adds: charge, store and three looks",
            task="ledger_ask",
            units={"privet": 1},
            parameters={"charges": CHARGES, "costs": 100},
            limit=0.015,
        ),
        Case(
            title="what a free repeat adds",
            task="ledger_repeat",
            units={"privet": 1},
            parameters={"charges": CHARGES, "costs": 100},
            limit=0.015,
        ),
        Case(
            title="open in a new process, and charge",
            task="ledger_open",
            units={"privet": 1},
            parameters={"charges": CHARGES, "costs": 100},
        ),
        *(
            Case(
                title=f"verify, {costs:,} different costs",
                task="ledger_verify",
                units={"privet": 1},
                parameters={"charges": CHARGES, "costs": costs},
                limit=1.0 if costs == 100 else None,
            )
            for costs in (100, CHARGES)
        ),
    ),
)
