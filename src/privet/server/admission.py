"""Ledgers for the sessions of a server: a question is charged while its caller waits, and read afterwards.

An admitting session is an ordinary one over a ledger that charges and then stops: a worker's session does the
reading later. The worker charges the same plan again, which is free, as it was paid for and has no answer yet.

The worker's ledger records the outcome of a scan on the question's own grid of time, and not when the scan ends. The
numbers of entries are in certificates. If an outcome were recorded as soon as it is known, an analyst who asks again
and again would read from the numbers of the later charges when the first scan ended, however coarse the grid on which
its answer is handed over.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Never, Protocol

from privet.core.budget import Budget
from privet.core.division import Touched
from privet.core.event import Entry, Event, Plain, Receipt
from privet.core.ports import CountsBlocks, LedgerAdmin, Left

_FINDING: ContextVar[bool] = ContextVar("finding", default=False)


class Admitted(Exception):
    """A question was charged, and is to be read now."""

    def __init__(self, receipt: Receipt) -> None:
        self.receipt = receipt
        super().__init__()


class NotStored(Exception):
    """A question has no stored answer that its account has paid for."""


@contextmanager
def finding() -> Iterator[None]:
    """Charge nothing inside: raise `NotStored` for a release that is not stored."""
    token = _FINDING.set(True)
    try:
        yield
    finally:
        _FINDING.reset(token)


class LedgerView:
    """A ledger for the sessions of one server; subclasses define where it differs."""

    def __init__(self, ledger: LedgerAdmin) -> None:
        self._ledger = ledger

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
        blocks: Touched | None = None,
    ) -> Receipt:
        """Charge an event to an account, durably."""
        details: dict[str, Any] = {"key": key, "versions": versions, "text": text, "facts": facts}
        if blocks is not None and isinstance(self._ledger, CountsBlocks):
            details["blocks"] = blocks
        return self._ledger.charge(event, digest, account=account, **details)

    def store(self, receipt: Receipt, released: Plain) -> tuple[Receipt, Plain]:
        """Store the release of a charge."""
        return self._ledger.store(receipt, released)

    def fail(self, receipt: Receipt) -> None:
        """Record that the scan of a charge failed."""
        self._ledger.fail(receipt)

    def find(self, digest: str, account: str) -> tuple[Receipt, Plain] | None:
        """Return the stored answer to a plan that the account has paid for."""
        return self._ledger.find(digest, account)

    def admits(self, event: Event, *, account: str, blocks: Touched | None = None) -> bool:
        """Return whether an event would fit now."""
        if blocks is not None and isinstance(self._ledger, CountsBlocks):
            return self._ledger.admits(event, account=account, blocks=blocks)
        return self._ledger.admits(event, account=account)

    def history(self) -> tuple[Entry, ...]:
        """Return every charge, oldest first."""
        return self._ledger.history()

    def budget_of(self, account: str | None = None) -> Budget:
        """Return the budget that an account may spend."""
        return self._ledger.budget_of(account)

    def remaining(self, account: str | None = None, *, blocks: Touched | None = None) -> Left:
        """Return the remaining budget of an account."""
        if blocks is not None and isinstance(self._ledger, CountsBlocks):
            return self._ledger.remaining(account, blocks=blocks)
        return self._ledger.remaining(account)

    def block_balances(self, division: str, account: str | None = None) -> Any:
        """Return how much of a budget the blocks of a division have spent."""
        return self._ledger.block_balances(division, account) if isinstance(self._ledger, CountsBlocks) else ()

    def verify(self) -> None:
        """Raise unless the record is intact."""
        self._ledger.verify()


class AdmissionLedger(LedgerView):
    """A ledger that charges and then stops, before anything is read.

    Guarantee: a session over it reads no private row and returns only what its account has paid for: `charge` returns
    only where the answer to that very plan is stored and the account has paid for it, and otherwise raises.
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
        blocks: Touched | None = None,
    ) -> Receipt:
        """Charge, and raise `Admitted`; return only for a plan that the account has paid for and that is answered."""
        paid = self._ledger.find(digest, account) is not None
        if _FINDING.get() and not paid:
            raise NotStored
        receipt = super().charge(
            event, digest, account=account, key=key, versions=versions, text=text, facts=facts, blocks=blocks
        )
        if not paid:
            raise Admitted(receipt)
        return receipt

    def store(self, receipt: Receipt, released: Plain) -> tuple[Receipt, Plain]:
        """Raise: nothing is released here."""
        self._refuse()

    def fail(self, receipt: Receipt) -> None:
        """Raise: nothing is read here."""
        self._refuse()

    def _refuse(self) -> Never:
        from privet.core.errors import InvariantError

        raise InvariantError("a question was read where it is only admitted")


class TimeGrid(Protocol):
    """The grid of one question: multiples of a time step since it was admitted."""

    def leave(self) -> None:
        """Forget the step at which the question was: it reads again."""

    def hold(self) -> None:
        """Wait for the next step."""


_GRID: ContextVar[TimeGrid | None] = ContextVar("grid", default=None)


@contextmanager
def on_grid(grid: TimeGrid) -> Iterator[None]:
    """Record the outcomes of scans inside at the steps of a grid."""
    token = _GRID.set(grid)
    try:
        yield
    finally:
        _GRID.reset(token)


class PacedLedger(LedgerView):
    """The ledger of the sessions that read: outcomes are recorded at a step of the question's grid.

    Guarantee: the place of an outcome among the entries, and of every charge that depends on it, follows from the
    number of steps that have passed since the question was admitted, and from nothing else about its scans. What is
    drawn and not recorded yet was shown to no one: after a crash it is lost, its charge stands, and it is drawn anew.
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
        blocks: Touched | None = None,
    ) -> Receipt:
        """Charge an event: free if it was charged at admission; a later step of a question pays here."""
        grid = _GRID.get()
        if grid is not None:
            grid.leave()
        return super().charge(
            event, digest, account=account, key=key, versions=versions, text=text, facts=facts, blocks=blocks
        )

    def store(self, receipt: Receipt, released: Plain) -> tuple[Receipt, Plain]:
        """Store the release at the next step of the grid."""
        _hold()
        return super().store(receipt, released)

    def fail(self, receipt: Receipt) -> None:
        """Record that the scan of a charge failed, at the next step of the grid."""
        _hold()
        super().fail(receipt)


def _hold() -> None:
    grid = _GRID.get()
    if grid is not None:
        grid.hold()
