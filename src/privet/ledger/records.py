"""What a ledger can say, one frozen value for each kind of entry, and how each is written down.

An entry is never changed. What it means for the balance is worked out in `state`, and nowhere here.
"""

from __future__ import annotations

import datetime
import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from privet.core.budget import Approximate, Budget
from privet.core.entry import Entry, Plain
from privet.core.errors import LedgerError
from privet.core.event import Event, Exact

from . import codec
from .chain import canonical

FORMAT = 1
"""The version of the entries that are written. Those of later versions are refused."""

Time = datetime.datetime

_TIME = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{6}Z")


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

    @property
    def event(self) -> Event:
        """The event itself."""
        return codec.read_event(self.event_data)


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


Record = Opened | AccountOpened | ToppedUp | Charged | Answered | Failed | Cleared


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
        )


def write_time(time: Time) -> str:
    """Return a point in time as text, in UTC and to the microsecond, so that texts sort as times do."""
    return time.astimezone(datetime.UTC).replace(tzinfo=None).isoformat(timespec="microseconds") + "Z"


def write_entry(number: int, time: Time, record: Record) -> str:
    """Return the canonical text of an entry."""
    kind, write, _ = _KINDS[type(record)]
    return canonical({"v": FORMAT, "kind": kind, "number": number, "time": write_time(time), **write(record)})


def read_entry(body: object) -> Written:
    """Return the entry that a canonical text stands for, or raise `LedgerError`."""
    data = _parsed(body)
    if data.get("v") != FORMAT:
        raise LedgerError("the ledger was written by a newer version of Privet; open it with that version")
    number, kind, time = data.get("number"), data.get("kind"), data.get("time")
    if type(number) is not int or kind not in _READERS:
        raise LedgerError("the ledger holds an entry of a kind that this version of Privet does not know")
    if data.keys() != _FIELDS[kind]:
        raise _impossible(kind)
    try:
        found = Written(number, _read_time(time), _READERS[kind](data))
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError):
        raise _impossible(kind) from None
    return found


def _parsed(body: object) -> dict[str, Any]:
    try:
        data = json.loads(body) if isinstance(body, str) else None
        if isinstance(data, dict) and canonical(data) == body:
            return data
    except (ValueError, RecursionError):
        pass
    raise _impossible("not canonical")


def _impossible(kind: str) -> LedgerError:
    return LedgerError(f"an entry of the ledger ({kind}) is not as Privet writes it: the file was damaged or changed")


def _read_time(text: Any) -> Time:
    if not isinstance(text, str) or not _TIME.fullmatch(text):
        raise LedgerError("a time in the ledger is not as Privet writes it: the file was damaged or changed")
    return datetime.datetime.fromisoformat(f"{text[:-1]}+00:00")


def _read_until(text: Any) -> Time | None:
    return None if text is None else _read_time(text)


def _until(time: Time | None) -> str | None:
    return None if time is None else write_time(time)


def _text(value: Any) -> str:
    if type(value) is not str:
        raise TypeError
    return value


def _maybe_text(value: Any) -> str | None:
    return None if value is None else _text(value)


def _whole(value: Any) -> int:
    if type(value) is not int or value < 0:
        raise TypeError
    return value


def _maybe_whole(value: Any) -> int | None:
    return None if value is None else _whole(value)


def _write_cap(cap: Cap) -> dict[str, Any]:
    order = None if cap.order is None else codec.write_rational(Fraction(cap.order))
    return {
        "budget": codec.write_budget(cap.budget),
        "order": order,
        "keys_share": codec.write_rational(cap.keys_share),
    }


def _read_cap(data: Any) -> Cap:
    if data.keys() != {"budget", "order", "keys_share"}:
        raise ValueError
    order = None if data["order"] is None else float(codec.read_rational(data["order"]))
    cap = Cap(codec.read_budget(data["budget"]), order, codec.read_rational(data["keys_share"]))
    if isinstance(cap.budget, Approximate) != (order is not None):
        raise ValueError
    return cap


def _write_opened(record: Opened) -> dict[str, Any]:
    most = None if record.per_query is None else codec.write_budget(record.per_query)
    return {
        "ledger": record.ledger,
        "cap": _write_cap(record.cap),
        "per_query": most,
        "expires": _until(record.expires),
    }


def _read_opened(data: Any) -> Opened:
    most = None if data["per_query"] is None else codec.read_budget(data["per_query"])
    return Opened(_text(data["ledger"]), _read_cap(data["cap"]), most, _read_until(data["expires"]))


def _write_account(record: AccountOpened) -> dict[str, Any]:
    return {"account": record.account, "cap": _write_cap(record.cap), "expires": _until(record.expires)}


def _read_account(data: Any) -> AccountOpened:
    return AccountOpened(_text(data["account"]), _read_cap(data["cap"]), _read_until(data["expires"]))


def _write_top_up(record: ToppedUp) -> dict[str, Any]:
    return {"account": record.account, "cap": _write_cap(record.cap), "reason": record.reason}


def _read_top_up(data: Any) -> ToppedUp:
    return ToppedUp(_maybe_text(data["account"]), _read_cap(data["cap"]), _text(data["reason"]))


def _write_payment(payment: Payment | None) -> Any:
    return None if payment is None else [payment.filter, *map(codec.write_amount, payment.amounts)]


def _read_payment(data: Any) -> Payment | None:
    if data is None:
        return None
    number, *amounts = data
    return Payment(_whole(number), tuple(map(codec.read_amount, amounts)))


def _write_charge(record: Charged) -> dict[str, Any]:
    return {
        "account": record.account,
        "digest": record.digest,
        "event": record.event_data,
        "key": record.key,
        "shared": record.shared,
        "paid": [_write_payment(record.by_dataset), _write_payment(record.by_account)],
        "versions": dict(record.versions),
        "text": record.text,
    }


def _read_charge(data: Any) -> Charged:
    dataset, account = data["paid"]
    return Charged(
        _text(data["account"]),
        _text(data["digest"]),
        data["event"],
        _maybe_text(data["key"]),
        _maybe_whole(data["shared"]),
        _read_payment(dataset),
        _read_payment(account),
        tuple((_text(name), _text(label)) for name, label in sorted(data["versions"].items())),
        _text(data["text"]),
    )


def _write_answer(record: Answered) -> dict[str, Any]:
    return {
        "account": record.account,
        "digest": record.digest,
        "charge": record.charge,
        "released": record.released_data,
    }


def _read_answer(data: Any) -> Answered:
    return Answered(_text(data["account"]), _text(data["digest"]), _whole(data["charge"]), data["released"])


_KINDS: dict[type, tuple[str, Callable[[Any], dict[str, Any]], Callable[[Any], Record]]] = {
    Opened: ("open", _write_opened, _read_opened),
    AccountOpened: ("account", _write_account, _read_account),
    ToppedUp: ("top-up", _write_top_up, _read_top_up),
    Charged: ("charge", _write_charge, _read_charge),
    Answered: ("answer", _write_answer, _read_answer),
    Failed: (
        "failure",
        lambda record: {"account": record.account, "charge": record.charge},
        lambda data: Failed(_text(data["account"]), _whole(data["charge"])),
    ),
    Cleared: (
        "clear",
        lambda record: {"account": record.account, "reason": record.reason},
        lambda data: Cleared(_text(data["account"]), _text(data["reason"])),
    ),
}
_READERS = {kind: read for kind, _, read in _KINDS.values()}


_ALL = {"v", "kind", "number", "time"}
_FIELDS = {
    "open": _ALL | {"ledger", "cap", "per_query", "expires"},
    "account": _ALL | {"account", "cap", "expires"},
    "top-up": _ALL | {"account", "cap", "reason"},
    "charge": _ALL | {"account", "digest", "event", "key", "shared", "paid", "versions", "text"},
    "answer": _ALL | {"account", "digest", "charge", "released"},
    "failure": _ALL | {"account", "charge"},
    "clear": _ALL | {"account", "reason"},
}


def kind_of(record: Record) -> str:
    """Return the word by which an entry of this kind goes."""
    return _KINDS[type(record)][0]
