"""A ledger in memory: the same rules as any other, and gone with the process."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from fractions import Fraction
from typing import Generic, TypeVar

from privet.accounting.filters import Filter, Remaining, open_filter
from privet.core.budget import Budget
from privet.core.errors import LedgerError
from privet.core.event import Event
from privet.core.receipt import Receipt

T = TypeVar("T")

KEYS_SHARE = Fraction(1, 2)
"""The part of an account's delta that may be spent on discovering keys, over all of its queries."""


@dataclass(frozen=True)
class Entry:
    """One charge: what was done, for which plan, by whom."""

    number: int
    event: Event
    digest: str
    account: str


class MemoryLedger(Generic[T]):
    """An append-only list of charges against one budget, and what they released.

    Guarantee: whatever was charged keeps the budget's promise, however the events were chosen; see `open_filter`.
    """

    def __init__(self, budget: Budget) -> None:
        self.budget = budget
        self._filter: Filter = open_filter(budget, keys_share=KEYS_SHARE)
        self._entries: list[Entry] = []
        self._stored: dict[str, tuple[Receipt, T]] = {}
        self._lock = threading.Lock()

    def charge(self, event: Event, digest: str, *, account: str) -> Receipt:
        """Record an event and return the receipt, or raise `BudgetExceeded` and record nothing."""
        with self._lock:
            self._filter = self._filter.spend(event)
            entry = Entry(len(self._entries) + 1, event, digest, account)
            self._entries.append(entry)
            return Receipt(entry.number, digest, account)

    def admits(self, event: Event) -> bool:
        """Return whether an event would fit now. Charges nothing."""
        with self._lock:
            return self._filter.admits(event)

    def store(self, receipt: Receipt, released: T) -> T:
        """Keep what a charge released, before it is shown, and return what the plan's digest now stands for.

        The first release of a plan is kept: whoever asks the same again sees the same numbers.
        """
        with self._lock:
            place = receipt.entry - 1
            paid = self._entries[place] if 0 <= place < len(self._entries) else None
            if paid is None or (paid.digest, paid.account) != (receipt.digest, receipt.account):
                raise LedgerError("this receipt is not from this ledger")
            return self._stored.setdefault(receipt.digest, (receipt, released))[1]

    def find(self, digest: str) -> tuple[Receipt, T] | None:
        """Return what the same plan released before, with its receipt."""
        with self._lock:
            return self._stored.get(digest)

    def history(self) -> tuple[Entry, ...]:
        """Return every charge, oldest first."""
        with self._lock:
            return tuple(self._entries)

    def remaining(self) -> Remaining:
        """Return what is left of the budget."""
        with self._lock:
            return self._filter.remaining()
