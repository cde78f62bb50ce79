"""What a ledger in PostgreSQL adds to a question: on one machine, over a Unix socket, with fsync."""

from __future__ import annotations

from benchmark import Benchmark, Case

CHARGES = 10_000

BENCHMARK = Benchmark(
    name="postgres_ledger",
    title=f"A ledger of {CHARGES:,} charges in PostgreSQL",
    unit="seconds",
    cases=tuple(
        Case(title=title, task=task, units={"privet": 1}, parameters={"charges": CHARGES, "costs": 100}, limit=limit)
        for title, task, limit in (
            ("a charge, the median of 101", "shared_charge", 0.010),
            ("what an ask adds: charge, store and three looks", "shared_ask", None),
            ("open by a new process, and charge", "shared_open", None),
            ("verify", "shared_verify", None),
        )
    ),
)
