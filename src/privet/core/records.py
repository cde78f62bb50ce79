"""What a ledger returns: one charge as it is shown, and the receipt without which no noise is drawn on data."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Union

from .event import Event
from .given import read_fields

# One charge as a ledger shows it: public, complete, and never changed once written.


Plain = Union[None, bool, int, str, Fraction, datetime.date, tuple["Plain", ...]]  # noqa: UP007  # it names itself
"""What a ledger can keep of an answer: plain values and tuples of them, which come back exactly as they went in."""


@dataclass(frozen=True)
class Entry:
    """What was charged, for which plan, by whom and when.

    `shared` is the number of the charge whose answer this one repeats: such a charge counts against the account's own
    cap and not again against the data set's. `versions` are the declared labels of the tables that were read; `text` is
    the plan in words, and `facts` is the same as plain data that JSON can hold.
    """

    number: int
    time: str
    account: str
    digest: str
    event: Event
    key: str | None = None
    shared: int | None = None
    versions: tuple[tuple[str, str], ...] = field(default=())
    text: str = ""
    facts: Mapping[str, Any] = field(default_factory=dict, hash=False)


# Proof that a ledger durably recorded one plan's event. Without one, no noise is drawn on data.


@dataclass(frozen=True)
class Receipt:
    """The entry of a ledger that paid for a plan: its number, the plan's digest, and who paid.

    `head` is the ledger's head after that entry, and after its answer once there is one. Kept outside the ledger, as a
    certificate does, it shows whether an old copy of the ledger was put back. `answered` is False where the plan had no
    answer yet; a ledger that does not know leaves it True. Both are evidence, and no part of what a receipt is.
    """

    entry: int
    digest: str
    account: str
    head: str = field(default="", compare=False)
    answered: bool = field(default=True, compare=False)

    def __post_init__(self) -> None:
        read_fields(self)
