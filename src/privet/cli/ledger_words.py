"""An entry of a ledger in a few words."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from .numbers import show_cost

if TYPE_CHECKING:
    from privet.ledger.records import Written


def listed(one: Written) -> dict[str, Any]:
    """Return an entry as a list of entries shows it."""
    from privet.ledger.entries import kind_of
    from privet.ledger.records import write_time

    return {
        "entry": one.number,
        "time": write_time(one.time),
        "kind": kind_of(one.record),
        "account": getattr(one.record, "account", None),
        "what": _what(one),
    }


def _what(one: Written) -> str:
    """Return in a few words what an entry is about."""
    from privet.ledger.records import (
        AccountOpened,
        Answered,
        Charged,
        Cleared,
        Failed,
        Limited,
        Opened,
        Rescheduled,
        ToppedUp,
        write_time,
    )

    match one.record:
        case Opened(cap=cap) | AccountOpened(cap=cap):
            return cap.budget.describe()
        case ToppedUp(cap=cap, reason=reason):
            return f"adds {cap.budget.describe()}: {reason}"
        case Limited(per_query=most, reason=reason):
            return f"one query may cost {'anything' if most is None else most.describe()}: {reason}"
        case Rescheduled(expires=until, reason=reason):
            return f"spending ends {'never' if until is None else write_time(until)}: {reason}"
        case Charged(shared=int(shared)):
            return f"repeats the answer that entry {shared} paid for"
        case Charged() as charge:
            try:
                return _asked(charge.facts)
            except (AttributeError, KeyError, TypeError, ValueError, ArithmeticError):
                return "a charge that tells of its plan in other words than Privet's"
        case Answered(charge=charge):
            return f"to entry {charge}"
        case Failed(charge=charge):
            return f"of the database, after entry {charge}"
        case Cleared(reason=reason):
            return reason
    return ""


def _asked(facts: dict[str, Any]) -> str:
    cost = cost_words(facts.get("cost") or {})
    sums = ", ".join(_sum(str(release.get("sum", ""))) for release in facts.get("releases", ()))
    by = f" by {', '.join(map(plain_sql, facts['group_by']))}" if facts.get("group_by") else ""
    where = f" where {plain_sql(facts['where'])}" if facts.get("where") else ""
    return f"{cost}: {sums} in {facts.get('table', '')}{by}{where}" if cost else "a charge that tells no more"


def cost_words(cost: dict[str, float]) -> str:
    """Return what an answer costs by itself, rounded up; amounts of nothing are left out."""
    return ", ".join(f"{name} {show_cost(cost[name])}" for name in ("epsilon", "rho", "delta") if cost.get(name))


def plain_sql(text: str) -> str:
    """Return SQL as people write it: plain names without quotes, and no brackets around the whole."""
    text = re.sub(r'"([a-z_][a-z0-9_]*)"', r"\1", text)
    inner, depth = text[1:-1], 0
    if not (text.startswith("(") and text.endswith(")")) or "'" in text:
        return text
    for letter in inner:
        depth += {"(": 1, ")": -1}.get(letter, 0)
        if depth < 0:
            return text
    return inner


def _sum(told: str) -> str:
    return told.replace(" in each group", "").removeprefix("the ").removeprefix("a ")
