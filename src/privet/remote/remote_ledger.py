"""A ledger and an engine as a client sees them: releases are fetched; charges and scans happen on the server."""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from privet.accounting.filters import Remaining
from privet.core.budget import Budget
from privet.core.errors import NotFound, Unsupported
from privet.core.event import Entry, Event, Plain, Receipt
from privet.core.ports import Left
from privet.core.scan import Scan, SealedSums
from privet.ledger import codec

from .http_client import HttpClient, segment

_MOST_KEPT = 1000


class NeedsServer(Exception):
    """A question is not answered yet: the server has to be asked."""


class RemoteEngine:
    """An engine that reads nothing: the data are elsewhere."""

    def check(self, scan: Scan) -> None:
        """Accept every scan; the server's engine checks it before the charge."""

    def scan(self, scan: Scan) -> SealedSums:
        """Raise: nothing is read here."""
        raise NeedsServer

    def close(self) -> None:
        """Close nothing."""


class RemoteLedger:
    """A ledger whose entries are on a server: an account's own releases, charges and balance are fetched."""

    def __init__(self, client: HttpClient, place: str, budget: Budget) -> None:
        self._client, self._place, self._budget = client, place, budget
        self._found: OrderedDict[str, tuple[Receipt, Plain]] = OrderedDict()

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
        """Raise: only the server charges."""
        raise NeedsServer

    def store(self, receipt: Receipt, released: Plain) -> tuple[Receipt, Plain]:
        """Raise: only the server stores."""
        raise NeedsServer

    def fail(self, receipt: Receipt) -> None:
        """Raise: nothing is read here."""
        raise NeedsServer

    def find(self, digest: str, account: str) -> tuple[Receipt, Plain] | None:
        """Return what was released for a plan that the account has paid for; it never changes, and is kept."""
        if digest not in self._found:
            try:
                told = self._client.get(f"{self._place}/releases/{segment(digest)}")
            except NotFound:
                return None
            self._found[digest] = Receipt(**told["receipt"]), codec.read_plain(told["released"])
            if len(self._found) > _MOST_KEPT:
                self._found.popitem(last=False)
        return self._found[digest]

    def admits(self, event: Event, *, account: str) -> bool:
        """Return True: the server tells when it is asked."""
        return True

    def history(self) -> tuple[Entry, ...]:
        """Return the account's own charges, oldest first."""
        found: list[Entry] = []
        after = 0
        while True:
            page = self._client.get(f"{self._place}/history?after={after}&limit=1000")
            found += [_entry(one) for one in page["charges"]]
            if page["next"] is None:
                return tuple(found)
            after = page["next"]

    def budget_of(self, account: str | None = None) -> Budget:
        """Return the budget that the account may spend."""
        return self._budget

    def remaining(self, account: str | None = None) -> Left:
        """Return what is left for the account."""
        left = self._client.get(f"{self._place}/budget")["left"]
        amount = math.inf if left["exact_amount"] == "inf" else Fraction(left["exact_amount"])
        return Remaining(left["measure"], amount, Fraction(left["delta"]), float(left["largest_epsilon"]))

    def verify(self) -> None:
        """Raise: the custodian and the auditor verify the ledger, on the server."""
        raise Unsupported("the ledger is on the server, where the custodian or an auditor verifies it")


def _entry(told: Mapping[str, Any]) -> Entry:
    return Entry(
        told["number"],
        told["time"],
        told["account"],
        told["digest"],
        codec.read_event(told["event"]),
        told["key"],
        None,
        tuple(sorted(told["versions"].items())),
        told["text"],
        told["facts"],
    )
