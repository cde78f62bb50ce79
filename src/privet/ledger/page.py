"""What every ledger is built on: transactions on entries. It does not know where entries are kept."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import AbstractContextManager
from typing import Protocol

from .chain import Head
from .entries import Record, Time, Written
from .state import State


class Page(Protocol):
    """One transaction on a ledger: the state at the head, entries by what they are about, and a place to write."""

    state: State

    def now(self) -> Time:
        """Return the time for the next entry, or raise `LedgerError` where the clocks are apart."""

    def append(self, record: Record, time: Time | None = None) -> int:
        """Write one more entry and return its number."""

    def read(self, number: int) -> Written:
        """Return an entry by its number, or raise `LedgerError`."""

    def head_at(self, number: int) -> Head | None:
        """Return the head as it was after an entry."""

    def charges_of(self, digest: str) -> tuple[int, ...]:
        """Return the numbers of all charges for a plan, oldest first."""

    def charge_with(self, key: str, account: str) -> int | None:
        """Return the number of the account's charge with a key."""

    def answer_to(self, digest: str) -> int | None:
        """Return the number of the entry with a plan's answer."""

    def failures_of(self, account: str) -> Iterator[Written]:
        """Return the entries that say that the engine failed an account."""

    def entries(self, after: int = 0) -> Iterator[Written]:
        """Return every entry after one, oldest first. Those before it are not read."""

    def charges(self, after: int = 0) -> Iterator[Written]:
        """Return every charge after an entry, oldest first."""

    def nth_last(self, count: int, *, charges: bool) -> int:
        """Return after which entry to begin so that there are so many entries or charges left."""


class Keeper(ABC):
    """Keeps entries, one transaction after another."""

    @abstractmethod
    def _writing(self) -> AbstractContextManager[Page]:
        """Return a transaction that nobody else's can run beside; it is kept whole or not at all."""

    @abstractmethod
    def _reading(self) -> AbstractContextManager[Page]:
        """Return a transaction that only reads."""
