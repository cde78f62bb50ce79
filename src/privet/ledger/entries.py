"""Entries as text: the canonical JSON of each kind of record, and back. Whatever is spelt in another way is refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import msgspec

from privet.core.errors import LedgerError, raise_alone

from . import codec
from .chain import canonical
from .entries_rules import RULES, maybe_text, read_time, text
from .records import Answered, Charged, Cleared, Failed, Payment, Record, Time, Written, write_time


def _no_float(text: str) -> float:
    raise ValueError(text)


_DECODER = msgspec.json.Decoder(float_hook=_no_float)  # floats are not written alike by both, and entries have none
_ENCODER = msgspec.json.Encoder(order="sorted")

FORMAT = 1
"""The version of the entries that are written. Those of later versions are refused."""

WITH_FACTS = 2
"""The version of charges that also tell their plan as plain data."""


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
        found = Written(number, read_time(time), _READERS[kind](data))
    except (KeyError, TypeError, ValueError, AttributeError, ArithmeticError, RecursionError):
        raise_alone(_impossible(kind))
    return found


def _parsed(body: object) -> dict[str, Any]:
    try:
        if isinstance(body, str) and (data := _quickly(body)) is not None:
            return data
        data = json.loads(body) if isinstance(body, str) else None
        if isinstance(data, dict) and canonical(data) == body:
            return data
    except (ValueError, RecursionError):
        pass
    raise _impossible("not canonical")


def _quickly(body: str) -> dict[str, Any] | None:
    """Return what a text stands for if a faster reader, writing it again, comes to the same text; otherwise None.

    What both readers write in the same way they read in the same way; all else is left to the slower one.
    """
    try:
        data = _DECODER.decode(body)
        return data if type(data) is dict and _ENCODER.encode(data) == body.encode("ascii") else None
    except (ValueError, RecursionError):
        return None


def _impossible(kind: str) -> LedgerError:
    return LedgerError(f"an entry of the ledger ({kind}) is not as Privet writes it: the file was damaged or changed")


def _whole(value: Any) -> int:
    if type(value) is not int or value < 0:
        raise TypeError
    return value


def _maybe_whole(value: Any) -> int | None:
    return None if value is None else _whole(value)


def _write_payment(payment: Payment | None) -> Any:
    return None if payment is None else [payment.filter, *map(codec.write_amount, payment.amounts)]


def _read_payment(data: Any) -> Payment | None:
    return None if data is None else _payment(*data)


@lru_cache(maxsize=4096, typed=True)  # most questions cost what others did
def _payment(number: Any, *amounts: Any) -> Payment:
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
        # a text within the text: reading a ledger costs the less, the fewer numbers there are to spell
        **({} if record.facts_text is None else {"facts": record.facts_text}),
    }


def _read_charge(data: Any) -> Charged:
    dataset, account = data["paid"]
    versions = tuple(sorted(data["versions"].items()))
    for _, label in versions:
        text(label)
    return Charged(
        text(data["account"]),
        text(data["digest"]),
        data["event"],
        maybe_text(data["key"]),
        _maybe_whole(data["shared"]),
        _read_payment(dataset),
        _read_payment(account),
        versions,
        text(data["text"]),
        text(data["facts"]) if "facts" in data else None,
    )


def _write_answer(record: Answered) -> dict[str, Any]:
    return {
        "account": record.account,
        "digest": record.digest,
        "charge": record.charge,
        "released": record.released_data,
    }


def _read_answer(data: Any) -> Answered:
    return Answered(text(data["account"]), text(data["digest"]), _whole(data["charge"]), data["released"])


_KINDS: dict[type, tuple[str, Callable[[Any], dict[str, Any]], Callable[[Any], Record]]] = {
    **RULES,
    Charged: ("charge", _write_charge, _read_charge),
    Answered: ("answer", _write_answer, _read_answer),
    Failed: (
        "failure",
        lambda record: {"account": record.account, "charge": record.charge},
        lambda data: Failed(text(data["account"]), _whole(data["charge"])),
    ),
    Cleared: (
        "clear",
        lambda record: {"account": record.account, "reason": record.reason},
        lambda data: Cleared(text(data["account"]), text(data["reason"])),
    ),
}
_READERS = {kind: read for kind, _, read in _KINDS.values()}


_ALL = {"v", "kind", "number", "time"}
_CHARGE = _ALL | {"account", "digest", "event", "key", "shared", "paid", "versions", "text"}
_FIELDS = {
    (FORMAT, "open"): _ALL | {"ledger", "cap", "per_query", "expires"},
    (FORMAT, "account"): _ALL | {"account", "cap", "expires"},
    (FORMAT, "top-up"): _ALL | {"account", "cap", "reason"},
    (FORMAT, "limit"): _ALL | {"per_query", "reason"},
    (FORMAT, "expiry"): _ALL | {"account", "expires", "reason"},
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
