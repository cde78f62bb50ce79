"""Privet's side of the ledger: a file of many charges, made once and thrown away with the process."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from fractions import Fraction
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any

from serve import Task

DELTA = Fraction(1, 10**6)
ANSWER = ((("a",), ("b",)), (((1234, 5678), (91011, 121314)),))
NUMBERS = count()
TEXT = "Counts the rows of visits and sums their ages, clamped to 0 to 120, in each of two wards. " * 5


def event_of(cost: int) -> Any:
    """Return an event like that of a count and a sum, whose cost no other number has."""
    from privet.core.event import Composed
    from privet.mechanisms import DiscreteLaplaceEvent

    scale = 20_000 + Fraction(cost, 1000)
    return Composed(
        (DiscreteLaplaceEvent(steps=1, scale=scale), DiscreteLaplaceEvent(steps=120, scale=120 * scale)),
    )


@cache
def make(charges: int, costs: int) -> Any:
    """Return a ledger that holds so many charges with their answers."""
    from privet.core.budget import Approximate
    from privet.ledger.codec import write_event, write_plain
    from privet.ledger.entries import Answered, Charged
    from privet.ledger.sqlite.store import SqliteLedger

    folder = tempfile.TemporaryDirectory()
    cap = Approximate(epsilon=100, delta=DELTA)
    ledger = SqliteLedger(Path(folder.name) / "ledger", cap, analysts={"ana": cap})
    ledger.folder = folder  # type: ignore[attr-defined]  # which lasts as long as the ledger does
    released = write_plain(ANSWER)
    with (
        ledger._history.writing() as history
    ):  # in one transaction, or making it would take minutes of waiting for the disk
        for index in range(charges):
            event = event_of(index % costs)
            paid = history.state.whole.price(event), history.state.accounts["ana"].price(event)
            charge = Charged("ana", f"{index:064d}", write_event(event), None, None, *paid, (("t", "1"),), TEXT)
            history.append(Answered("ana", f"{index:064d}", history.append(charge), released))
    return ledger


def ledger_ask(charges: int, costs: int) -> Callable[[], Any]:
    ledger = make(charges, costs)

    def call() -> None:  # what a session asks of its ledger for a new question
        number = next(NUMBERS)
        digest, event = f"new {number}", event_of(number % costs)
        ledger.find(digest, "ana")
        receipt = ledger.charge(event, digest, account="ana", versions={"t": "1"}, text=TEXT)
        ledger.find(digest, "ana")
        ledger.store(receipt, ANSWER)
        ledger.find(digest, "ana")

    return call


def ledger_repeat(charges: int, costs: int) -> Callable[[], Any]:
    ledger = make(charges, costs)

    def call() -> None:
        ledger.find(f"{charges // 2:064d}", "ana")

    return call


def ledger_open(charges: int, costs: int) -> Callable[[], Any]:
    ledger = make(charges, costs)

    def call() -> None:
        with type(ledger)(ledger.path) as opened:
            opened.charge(event_of(0), f"new {next(NUMBERS)}", account="ana", text=TEXT)

    return call


def ledger_verify(charges: int, costs: int) -> Callable[[], Any]:
    ledger = make(charges, costs)
    return ledger.verify  # type: ignore[no-any-return]


def ledger_history(charges: int, costs: int) -> Callable[[], Any]:
    ledger = make(charges, costs)
    return lambda: len(ledger.history())


def ledger_page(charges: int, costs: int) -> Callable[[], Any]:
    ledger = make(charges, costs)
    return lambda: len(ledger.history(after=charges, limit=10))


LEDGER: dict[str, Task] = {
    "ledger_ask": ledger_ask,
    "ledger_repeat": ledger_repeat,
    "ledger_open": ledger_open,
    "ledger_verify": ledger_verify,
    "ledger_history": ledger_history,
    "ledger_page": ledger_page,
}
