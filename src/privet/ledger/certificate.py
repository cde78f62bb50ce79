"""What a ledger can certify of one release to anyone who reads its numbers: public, and provable against the head."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from privet.core.errors import BadParameter, InvariantError, RequestError
from privet.planner.measurements import stored_measurements

from . import codec
from .entries import Answered, Charged, Failed, Payment, Stepped, Written, kind_of, write_time
from .history import History

_OTHERS = {
    "open": "opens the ledger",
    "account": "opens an account",
    "promise": "opens an account for a stream, which pays for its steps,",
    "top-up": "adds to a budget",
    "clear": "clears an account",
    "freeze": "freezes an account",
    "act": "records what was done",
    "limit": "changes what one query may cost",
    "expiry": "changes when spending ends",
}


def make_certificate(history: History, number: int) -> dict[str, Any]:
    """Return the certificate of a charge: what was protected, how, at what cost, and where the ledger stands.

    The number may also be that of the charge's answer, or of a failure after it. All of it is public.
    """
    charge_number = _charge(history, number)
    written = history.read(charge_number)
    charge, last, then = written.record, history.head_at(history.state.head.number), history.head_at(charge_number)
    if not isinstance(charge, Charged) or last is None or then is None:
        raise InvariantError("a ledger lost an entry while it was read")
    answer = history.answer_to(charge.digest)
    facts = dict(charge.facts)
    measured = facts.pop("measured", None)
    return {
        "entry": charge_number,
        "time": write_time(written.time),
        "account": charge.account,
        "digest": charge.digest,
        "answer": answer,
        "repeats": charge.shared,
        "versions": dict(charge.versions),
        **facts,
        "measurements": _measurements(history, measured, answer),
        "words": charge.text.splitlines(),
        "event": charge.event_data,
        "taken": {"data set": _taken(charge.by_dataset), "account": _taken(charge.by_account)},
        "promise": {
            "data set": codec.write_budget(history.state.whole.budget()),
            "account": codec.write_budget(history.state.budget_of(charge.account)),
        },
        "ledger": history.state.opened.ledger,
        "chain": str(then),
        "head": str(last),
    }


def _measurements(history: History, measured: Any, answer: int | None) -> list[dict[str, Any]] | None:
    """Return every number that was released, with its group, its grid and the law of its noise.

    None where there is no answer, or where the plan is not recorded in such a way that they could be read.
    """
    record = None if answer is None else history.read(answer).record
    if not isinstance(measured, list) or not isinstance(record, Answered):
        return None
    try:
        return stored_measurements(measured, record.released).to_list()
    except (AttributeError, KeyError, IndexError, TypeError, ValueError, ArithmeticError, BadParameter):
        return None  # another program described the plan, in another form


def _charge(history: History, number: int) -> int:
    """Return the number of the charge that an entry is about."""
    last = history.state.head.number
    if type(number) is not int or not 1 <= number <= last:
        raise BadParameter("entry", number, f"the number of one of the ledger's entries, from 1 to {last}")
    record = history.read(number).record
    match record:
        case Answered(charge=charge) | Failed(charge=charge):
            return charge
        case Stepped(charge=charge):
            return _charge(history, charge)
        case Charged():
            return number
    verb = _OTHERS[kind_of(record)]
    raise RequestError(f"entry {number} {verb} and released nothing; pass the number of a charge or of an answer")


def _taken(payment: Payment | None) -> list[str] | None:
    return None if payment is None else [codec.write_amount(amount) for amount in payment.amounts]


# Which releases an earlier version made with a form of question that leaked, as far as their entries show.
#
# Reads only, and errs on one side: a release is left out only where its entry shows that it has no such form.


MENDED = 2
"""The `rules` of plans from which on every whole number is clamped in the engine and joined rows are counted first."""

_QUOTED = re.compile(r"\"(?:[^\"]|\"\")*\"|'(?:[^']|'')*'")
_CALLED = re.compile(r"\b([A-Za-z_][A-Za-z_0-9]*)\s*\(")
_COUNTS = re.compile(r"the count of (rows|people|units)( in each group)?")
_HARMLESS = {"AND", "OR", "NOT", "IN", "IS"}


@dataclass(frozen=True)
class Suspect:
    """A release that may have disclosed more than it was charged for.

    `sure` states whether its entry names such a form; otherwise the entry does not contain enough to leave it out.
    """

    entry: int
    time: str
    account: str
    digest: str
    sure: bool
    why: str

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain data."""
        return dict(vars(self))


def review(history: Iterable[Written]) -> tuple[Suspect, ...]:
    """Return the charges of a history that may stand for such a release, oldest first.

    Guarantee: none is left out that was made by a version with the fault, unless its entry shows that it released
    counts of all rows of one table, without conditions, groups, joins or a failure of the database: ones were added up.
    """
    charges: dict[int, Written] = {}
    failed: set[int] = set()
    for written in history:
        match written.record:
            case Charged(shared=None):
                charges[written.number] = written
            case Failed(charge=charge):
                failed.add(charge)
    return tuple(_suspects(charges.values(), failed))


def _suspects(charges: Iterable[Written], failed: set[int]) -> Iterator[Suspect]:
    for written in charges:
        charge = written.record
        if not isinstance(charge, Charged):
            continue
        form = _found(charge)
        if form is None and written.number in failed and not _mended(charge):
            form = False, "the database failed, which may have disclosed a row"
        if form is not None:
            sure, why = form
            yield Suspect(written.number, write_time(written.time), charge.account, charge.digest, sure, why)


def _mended(charge: Charged) -> bool:
    """Return whether a plan was made by a version without the fault; several plans together all have to be."""
    rules = None if charge.facts_text is None else charge.facts.get("rules")
    return isinstance(rules, str) and rules.isascii() and rules.isdigit() and int(rules[:9]) >= MENDED


def _found(charge: Charged) -> tuple[bool, str] | None:
    """Return whether a plan is sure to have such a form and which, or None where it is sure to have none."""
    if _mended(charge):
        return None
    facts = charge.facts
    groups, releases = facts.get("group_by") or [], facts.get("releases") or []
    if not isinstance(groups, list) or not isinstance(releases, list):
        return False, "its plan is not recorded as Privet does"
    conditions = [str(facts.get("where") or ""), *map(str, groups)]
    sums = [str(release.get("sum", "")) if isinstance(release, dict) else "" for release in releases]
    words = [_QUOTED.sub("x", text) for text in (*conditions, *sums)]
    names = sorted({name.upper() for text in words for name in _CALLED.findall(text)} - _HARMLESS)
    if names:
        return True, f"its plan names {', '.join(names)}"
    if " and " in str(facts.get("table", "")) or "join" in charge.text or "join" in str(facts.get("bounding", "")):
        return True, "it joins tables"
    if not facts or not sums:
        return False, "its plan is not recorded"
    if any(conditions):
        return False, "its conditions or groups may be computed in a sub-query, which is not recorded"
    hidden = [text for text in sums if not _COUNTS.fullmatch(text)]
    return (False, f"the expression under {hidden[0]} is not recorded") if hidden else None
