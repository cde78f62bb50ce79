"""The entries that say what may be spent, as plain data and back: caps, accounts, top-ups, limits, ends."""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable
from fractions import Fraction
from typing import Any

from privet.core.budget import Approximate, Budget
from privet.core.errors import LedgerError

from . import codec
from .records import AccountOpened, Cap, Limited, Opened, Record, Rescheduled, Time, ToppedUp, write_time

_TIME = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{6}Z")


def read_time(text: Any) -> Time:
    """Return the point in time that a text spells the one way in which it is written."""
    if not isinstance(text, str) or not _TIME.fullmatch(text):
        raise LedgerError("a time in the ledger is not as Privet writes it: the file was damaged or changed")
    return datetime.datetime.fromisoformat(text)


def _read_until(text: Any) -> Time | None:
    return None if text is None else read_time(text)


def _until(time: Time | None) -> str | None:
    return None if time is None else write_time(time)


def text(value: Any) -> str:
    """Return a text, or raise `TypeError`."""
    if type(value) is not str:
        raise TypeError
    return value


def maybe_text(value: Any) -> str | None:
    """Return a text or None, or raise `TypeError`."""
    return None if value is None else text(value)


def _most(budget: Budget | None) -> Any:
    return None if budget is None else codec.write_budget(budget)


def _read_most(data: Any) -> Budget | None:
    return None if data is None else codec.read_budget(data)


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
    return {
        "ledger": record.ledger,
        "cap": _write_cap(record.cap),
        "per_query": _most(record.per_query),
        "expires": _until(record.expires),
    }


def _read_opened(data: Any) -> Opened:
    most, until = _read_most(data["per_query"]), _read_until(data["expires"])
    return Opened(text(data["ledger"]), _read_cap(data["cap"]), most, until)


def _write_account(record: AccountOpened) -> dict[str, Any]:
    return {"account": record.account, "cap": _write_cap(record.cap), "expires": _until(record.expires)}


def _read_account(data: Any) -> AccountOpened:
    return AccountOpened(text(data["account"]), _read_cap(data["cap"]), _read_until(data["expires"]))


def _write_top_up(record: ToppedUp) -> dict[str, Any]:
    return {"account": record.account, "cap": _write_cap(record.cap), "reason": record.reason}


def _read_top_up(data: Any) -> ToppedUp:
    return ToppedUp(maybe_text(data["account"]), _read_cap(data["cap"]), text(data["reason"]))


RULES: dict[type, tuple[str, Callable[[Any], dict[str, Any]], Callable[[Any], Record]]] = {
    Opened: ("open", _write_opened, _read_opened),
    AccountOpened: ("account", _write_account, _read_account),
    ToppedUp: ("top-up", _write_top_up, _read_top_up),
    Limited: (
        "limit",
        lambda record: {"per_query": _most(record.per_query), "reason": record.reason},
        lambda data: Limited(_read_most(data["per_query"]), text(data["reason"])),
    ),
    Rescheduled: (
        "expiry",
        lambda record: {"account": record.account, "expires": _until(record.expires), "reason": record.reason},
        lambda data: Rescheduled(maybe_text(data["account"]), _read_until(data["expires"]), text(data["reason"])),
    ),
}
"""How each of them is written: its word, and both ways."""
