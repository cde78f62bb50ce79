"""Entries as text: the canonical JSON of each kind of record, and back. Whatever is spelt in another way is refused."""

from __future__ import annotations

import datetime
import json
import re
from collections.abc import Callable
from fractions import Fraction
from typing import Any

from privet.core.budget import Approximate
from privet.core.errors import LedgerError

from . import codec
from .chain import canonical
from .records import (
    AccountOpened,
    Answered,
    Cap,
    Charged,
    Cleared,
    Failed,
    Opened,
    Payment,
    Record,
    Time,
    ToppedUp,
    Written,
    write_time,
)

FORMAT = 1
"""The version of the entries that are written. Those of later versions are refused."""

WITH_FACTS = 2
"""The version of charges that also tell their plan as plain data."""

_TIME = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{6}Z")


def write_entry(number: int, time: Time, record: Record) -> str:
    """Return the canonical text of an entry."""
    kind, write, _ = _KINDS[type(record)]
    fields = write(record)
    version = WITH_FACTS if "facts" in fields else FORMAT
    return canonical({"v": version, "kind": kind, "number": number, "time": write_time(time), **fields})


def read_entry(body: object) -> Written:
    """Return the entry that a canonical text stands for, or raise `LedgerError`."""
    data = _parsed(body)
    if type(data.get("v")) is not int or data["v"] not in (FORMAT, WITH_FACTS):
        raise LedgerError("the ledger was written by a newer version of Privet; open it with that version")
    number, kind, time = data.get("number"), data.get("kind"), data.get("time")
    if type(number) is not int or kind not in _READERS:
        raise LedgerError("the ledger holds an entry of a kind that this version of Privet does not know")
    if data.keys() != _FIELDS.get((data["v"], kind)):
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
        **({} if record.facts is None else {"facts": record.facts}),
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
        _facts(data.get("facts")),
    )


def _facts(value: Any) -> codec.Json:
    if value is not None and type(value) is not dict:
        raise TypeError
    return value


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
_CHARGE = _ALL | {"account", "digest", "event", "key", "shared", "paid", "versions", "text"}
_FIELDS = {
    (FORMAT, "open"): _ALL | {"ledger", "cap", "per_query", "expires"},
    (FORMAT, "account"): _ALL | {"account", "cap", "expires"},
    (FORMAT, "top-up"): _ALL | {"account", "cap", "reason"},
    (FORMAT, "charge"): _CHARGE,
    (WITH_FACTS, "charge"): _CHARGE | {"facts"},
    (FORMAT, "answer"): _ALL | {"account", "digest", "charge", "released"},
    (FORMAT, "failure"): _ALL | {"account", "charge"},
    (FORMAT, "clear"): _ALL | {"account", "reason"},
}
"""Which fields an entry of each version and kind has: these, and no others."""


def kind_of(record: Record) -> str:
    """Return the word by which an entry of this kind goes."""
    return _KINDS[type(record)][0]
