"""What the durable ledger adds to a question when it holds many charges and their answers, and how soon it is proven.

The ledger has a cap for the data set and one for the analyst, both (epsilon, delta). Questions cost one of so many
different amounts: a price that was worked out before is not worked out again by `verify`.
"""

from __future__ import annotations

from benchmark import Benchmark, Case

CHARGES = 10_000
LONG = 50_000
"""A ledger of some years."""

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
        *(
            Case(
                title=f"{title}, {LONG:,} charges of {costs:,} different costs",
                task=task,
                units={"privet": 1},
                parameters={"charges": LONG, "costs": costs},
                limit=limit if costs == 100 else None,
            )
            for title, task, limit in (
                ("verify", "ledger_verify", 3.0),
                ("the whole history", "ledger_history", 2.0),
                ("a page of ten charges", "ledger_page", 0.01),
            )
            for costs in (100, LONG)
        ),
    ),
)
