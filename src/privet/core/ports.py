"""The ports: what Privet needs from the world outside, as protocols."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any, Protocol, runtime_checkable

from .budget import Budget
from .event import Event
from .event import Exact as Amount
from .records import Entry, Plain, Receipt
from .scan import Scan, SealedSums


@runtime_checkable
class Engine(Protocol):
    """Where the data is. It answers scans and nothing else."""

    def check(self, scan: Scan) -> None:
        """Raise a `RequestError` where the engine cannot run a scan: its numbers may not fit, or it lacks a function.

        It is called before a scan is charged, and depends on declared facts alone: it reads no data.
        """

    def scan(self, scan: Scan) -> SealedSums:
        """Return the exact sums of a scan, sealed.

        With `places`, the weights of the rows at each place come back, for the groups that have rows. With `discovery`,
        each group's last integer is the weight by which its key may be released, and only groups
        that some unit keeps come back. Raises `EngineError` with a constant message if the engine fails.
        """

    def close(self) -> None:
        """Let go of the data."""


@runtime_checkable
class HoldsPublicRows(Protocol):
    """An engine that can list the rows of public tables, so that groups which none of them has need no answer."""

    def public_rows(self, name: str) -> Sequence[tuple[Any, ...]] | None:
        """Return the different rows of a public table, held to its facts, or None where there are too many.

        Raises `InvariantError` for a private table, before it is read.
        """


class Left(Protocol):
    """What is left of a budget: an amount in some measure, the delta for keys, the largest epsilon that fits."""

    @property
    def measure(self) -> str: ...
    @property
    def amount(self) -> Amount: ...
    @property
    def delta(self) -> Fraction: ...
    @property
    def largest_epsilon(self) -> float: ...


@runtime_checkable
class Ledger(Protocol):
    """Where charges and answers are recorded. What it returned, it has recorded as durably as it ever will.

    Raises `BudgetError` where the budget says no, and `LedgerError` where nothing may be released because the record
    cannot be kept or cannot be trusted.
    """

    def charge(
        self,
        event: Event,
        digest: str,
        *,
        account: str,
        key: str | None = None,
        versions: Mapping[str, str] | None = None,
        text: str = "",
        facts: Mapping[str, Any] | None = None,
    ) -> Receipt:
        """Record an event and return the receipt, or record nothing and raise.

        The same `key` again returns the first receipt. A plan whose answer is stored is free to who paid for it, and
        is charged to another account's own cap only. `text` and `facts` tell the plan, in words and as plain data.
        """

    def store(self, receipt: Receipt, released: Plain) -> Plain:
        """Keep what a charge released, before it is shown, and return what the plan's digest now stands for."""

    def find(self, digest: str, account: str) -> tuple[Receipt, Plain] | None:
        """Return the stored answer to a plan that the account has paid for, with its receipt."""

    def fail(self, receipt: Receipt) -> None:
        """Record that the engine failed after a charge, which stands; three in a row freeze the account."""

    def clear(self, account: str, *, reason: str) -> None:
        """Let a frozen account spend again."""

    def admits(self, event: Event, *, account: str) -> bool:
        """Return whether an event would fit now. Charges nothing."""

    def history(self) -> tuple[Entry, ...]:
        """Return every charge, oldest first."""

    def budget_of(self, account: str | None = None) -> Budget:
        """Return the budget that an account may spend: its own cap, or else the data set's."""

    def remaining(self, account: str | None = None) -> Left:
        """Return what is left for an account under both caps, or of the data set's."""

    def top_up(self, budget: Budget, *, reason: str, account: str | None = None) -> None:
        """Add to an account's budget, or to the data set's. What was spent stays spent."""

    def verify(self) -> None:
        """Raise `LedgerError` unless the record is whole and what it shows was allowed."""
