"""Admission: a question is planned and charged while its caller waits, and read by a worker afterwards.

An admitting session is an ordinary one over a ledger that charges and then stops: what it would have read, a worker's
session reads later. The worker charges the same plan again, which is free, as it was paid for and has no answer yet.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Never

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
    """Charge nothing inside: what is not stored raises `NotStored`."""
    token = _FINDING.set(True)
    try:
        yield
    finally:
        _FINDING.reset(token)


class LedgerView:
    """A ledger as the sessions of one server see it: what it does differently, subclasses say."""

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
        told: dict[str, Any] = {"key": key, "versions": versions, "text": text, "facts": facts}
        if blocks is not None and isinstance(self._ledger, CountsBlocks):
            told["blocks"] = blocks
        return self._ledger.charge(event, digest, account=account, **told)

    def store(self, receipt: Receipt, released: Plain) -> tuple[Receipt, Plain]:
        """Store what was released for a charge."""
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
        """Return what is left for an account."""
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
