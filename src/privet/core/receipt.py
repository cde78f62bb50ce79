"""Proof that a ledger durably recorded one plan's event. Without one, no noise is drawn on data."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Receipt:
    """The entry of a ledger that paid for a plan: its number, the plan's digest, and who paid."""

    entry: int
    digest: str
    account: str
