"""One charge as a ledger shows it: public, complete, and never changed once written."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Union

from .event import Event

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
