"""What a ledger can say: one frozen value for each kind of entry.

How each is written down is in `entries`; what it means for the balance is worked out in `state`, and nowhere here.
"""

from __future__ import annotations

import datetime
import json
import marshal
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

import msgspec

from privet.core.budget import Budget
from privet.core.entry import Entry, Plain
from privet.core.errors import LedgerError
from privet.core.event import Event, Exact

from . import codec

Time = datetime.datetime


def _data(text: str) -> Any:
    """Return what JSON stands for. The faster reader refuses some of what the other writes, such as half characters."""
    try:
        return msgspec.json.decode(text)
    except (ValueError, RecursionError):
        return json.loads(text)


@lru_cache(maxsize=1024)  # most questions cost what others did
def _event(written: bytes) -> Event:
    return codec.read_event(marshal.loads(written))


@dataclass(frozen=True)
class Cap:
    """A budget as an account holds it, with what was fixed when it was opened: the order, and the part for keys."""

    budget: Budget
    order: float | None
    keys_share: Fraction


@dataclass(frozen=True)
class Opened:
    """The first entry: the data set's cap, the most that one query may cost, and when spending ends."""

    ledger: str
    cap: Cap
    per_query: Budget | None
    expires: Time | None


@dataclass(frozen=True)
class AccountOpened:
    """An analyst may spend, up to a cap of their own."""

    account: str
    cap: Cap
    expires: Time | None


@dataclass(frozen=True)
class ToppedUp:
    """More budget for an account, or for the data set where no account is named."""

    account: str | None
    cap: Cap
    reason: str


@dataclass(frozen=True)
class Limited:
    """Another limit on what one query may cost, or none."""

    per_query: Budget | None
    reason: str


@dataclass(frozen=True)
class Rescheduled:
    """Another end of spending, or none, for an account or for the data set where no account is named."""

    account: str | None
    expires: Time | None
    reason: str


@dataclass(frozen=True)
class Payment:
    """What one filter took for an event, in its own measures, each exact: its number, and amounts in a fixed order."""

    filter: int
    amounts: tuple[Exact, ...]


@dataclass(frozen=True)
class Charged:
    """An event that is about to happen, as it is written, and what the data set's and the account's filters took.

    Balances add up what was taken, so that no other machine and no later version comes to another sum.
    """

    account: str
    digest: str
    event_data: codec.Json
    key: str | None = None
    shared: int | None = None
    by_dataset: Payment | None = None
    by_account: Payment | None = None
    versions: tuple[tuple[str, str], ...] = ()
    text: str = ""
    facts_text: str | None = None
    """What is public about the plan, as the text of a JSON object; None in entries of the first version."""

    @property
    def event(self) -> Event:
        """The event itself."""
        return _event(marshal.dumps(self.event_data, 2))

    @property
    def facts(self) -> dict[str, Any]:
        """What is public about the plan, as plain data; nothing where nothing was told."""
        if self.facts_text is None:
            return {}
        try:
            told = _data(self.facts_text)
        except (ValueError, RecursionError):
            told = None
        if not isinstance(told, dict):
            raise LedgerError("what the ledger tells of a plan is not as Privet writes it")
        return told


@dataclass(frozen=True)
class Answered:
    """What a charge released, as it is written."""

    account: str
    digest: str
    charge: int
    released_data: codec.Json

    @property
    def released(self) -> Plain:
        """The released values themselves."""
        return codec.read_plain(self.released_data)


@dataclass(frozen=True)
class Failed:
    """The engine failed after a charge."""

    account: str
    charge: int


@dataclass(frozen=True)
class Cleared:
    """A frozen account may spend again."""

    account: str
    reason: str


Rule = Opened | AccountOpened | ToppedUp | Limited | Rescheduled
"""What says what may be spent."""

Record = Rule | Charged | Answered | Failed | Cleared


@dataclass(frozen=True)
class Written:
    """A record in its place: the number and the time of its entry."""

    number: int
    time: Time
    record: Record

    def entry(self) -> Entry:
        """Return a charge as callers see it."""
        charge = self.record
        if not isinstance(charge, Charged):
            raise LedgerError(f"entry {self.number} of the ledger is not a charge")
        return Entry(
            self.number,
            write_time(self.time),
            charge.account,
            charge.digest,
            charge.event,
            charge.key,
            charge.shared,
            charge.versions,
            charge.text,
            charge.facts,
        )


def write_time(time: Time) -> str:
    """Return a point in time as text, in UTC and to the microsecond, so that texts sort as times do."""
    return time.astimezone(datetime.UTC).replace(tzinfo=None).isoformat(timespec="microseconds") + "Z"
