"""Proof that a ledger durably recorded one plan's event. Without one, no noise is drawn on data."""

from __future__ import annotations

from dataclasses import dataclass, field

from .given import read_fields


@dataclass(frozen=True)
class Receipt:
    """The entry of a ledger that paid for a plan: its number, the plan's digest, and who paid.

    `head` is the ledger's head after that entry, and after its answer once there is one. Kept outside the ledger, as a
    certificate does, it shows whether an old copy of the ledger was put back. It is evidence, and no part of what a
    receipt is.
    """

    entry: int
    digest: str
    account: str
    head: str = field(default="", compare=False)

    def __post_init__(self) -> None:
        read_fields(self)
