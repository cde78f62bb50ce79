"""Privet's side of the ledger in PostgreSQL: a server with fsync on a Unix socket, thrown away with the process."""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from privet_ledger import ANSWER, DELTA, NUMBERS, TEXT, event_of
from serve import Task

TIMES = 101
"""How many charges a median is of."""


@cache
def make(charges: int, costs: int) -> tuple[str, Any]:
    """Return the address of a ledger that has this many charges with their answers, and the ledger."""
    from privet.core.budget import Approximate
    from privet.ledger.codec import write_event, write_plain
    from privet.ledger.entries import Answered, Charged
    from privet.ledger.postgres import PostgresLedger

    sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests"))
    from postgres_server import new_ledger, shared_durable_server

    address = new_ledger(shared_durable_server())
    cap = Approximate(epsilon=100, delta=DELTA)
    ledger = PostgresLedger(address, cap, analysts={"ana": cap})
    released = write_plain(ANSWER)
    with ledger._history.writing() as history:
        for index in range(charges):
            event = event_of(index % costs)
            paid = history.state.whole.price(event), history.state.accounts["ana"].price(event)
            charge = Charged("ana", f"{index:064d}", write_event(event), None, None, *paid, (("t", "1"),), TEXT)
            history.append(Answered("ana", f"{index:064d}", history.append(charge), released))
    return address, ledger


def shared_charge(charges: int, costs: int) -> Callable[[], Any]:
    """Charge again and again, and report the median."""
    _, ledger = make(charges, costs)

    def call() -> dict[str, Any]:
        taken = []
        for _ in range(TIMES):
            number = next(NUMBERS)
            began = time.perf_counter()
            ledger.charge(event_of(number % costs), f"new {number}", account="ana", versions={"t": "1"}, text=TEXT)
            taken.append(time.perf_counter() - began)
        return {"seconds": statistics.median(taken), "cpu": statistics.median(taken)}

    return call


def shared_ask(charges: int, costs: int) -> Callable[[], Any]:
    """Do what a session asks of its ledger for a new question."""
    _, ledger = make(charges, costs)

    def call() -> None:
        number = next(NUMBERS)
        digest, event = f"new {number}", event_of(number % costs)
        ledger.find(digest, "ana")
        receipt = ledger.charge(event, digest, account="ana", versions={"t": "1"}, text=TEXT)
        ledger.find(digest, "ana")
        ledger.store(receipt, ANSWER)
        ledger.find(digest, "ana")

    return call


def shared_open(charges: int, costs: int) -> Callable[[], Any]:
    """Open the ledger as a new process does, and charge once."""
    address, ledger = make(charges, costs)

    def call() -> None:
        with type(ledger)(address) as opened:
            opened.charge(event_of(0), f"new {next(NUMBERS)}", account="ana", text=TEXT)

    return call


def shared_verify(charges: int, costs: int) -> Callable[[], Any]:
    """Read and check every entry."""
    return make(charges, costs)[1].verify  # type: ignore[no-any-return]


SHARED_LEDGER: dict[str, Task] = {
    "shared_charge": shared_charge,
    "shared_ask": shared_ask,
    "shared_open": shared_open,
    "shared_verify": shared_verify,
}
