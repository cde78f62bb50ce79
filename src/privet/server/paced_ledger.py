"""A ledger that records the outcome of a scan on the question's own grid of time, and not when the scan ends.

The numbers of entries are in certificates. If an outcome were recorded as soon as it is known, an analyst who asks
again and again would read from the numbers of the later charges when the first scan ended, however coarse the grid on
which its answer is handed over.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Protocol

from privet.core.division import Touched
from privet.core.event import Event, Plain, Receipt

from .admission import LedgerView


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
        """Charge an event: free for what was charged at admission; a later step of a question pays here."""
        grid = _GRID.get()
        if grid is not None:
            grid.leave()
        return super().charge(
            event, digest, account=account, key=key, versions=versions, text=text, facts=facts, blocks=blocks
        )

    def store(self, receipt: Receipt, released: Plain) -> tuple[Receipt, Plain]:
        """Store what was released, at the next step of the grid."""
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
