"""What a ledger can say of one release to anyone who reads its numbers: public, and provable against the head."""

from __future__ import annotations

from typing import Any

from privet.core.errors import BadParameter, InvariantError, RequestError

from . import codec
from .entries import kind_of
from .page import Page
from .records import Answered, Charged, Failed, Payment, write_time

_OTHERS = {
    "open": "opens the ledger",
    "account": "opens an account",
    "top-up": "adds to a budget",
    "clear": "clears an account",
    "limit": "changes what one query may cost",
    "expiry": "changes when spending ends",
}


def make_certificate(page: Page, number: int) -> dict[str, Any]:
    """Return the certificate of a charge: what was protected, how, at what cost, and where the ledger stands.

    The number may also be that of the charge's answer, or of a failure after it. All of it is public.
    """
    charge_number = _charge(page, number)
    written = page.read(charge_number)
    charge, last, then = written.record, page.head_at(page.state.head.number), page.head_at(charge_number)
    if not isinstance(charge, Charged) or last is None or then is None:
        raise InvariantError("a ledger lost an entry while it was read")
    answer = page.answer_to(charge.digest)
    return {
        "entry": charge_number,
        "time": write_time(written.time),
        "account": charge.account,
        "digest": charge.digest,
        "answer": answer,
        "repeats": charge.shared,
        "versions": dict(charge.versions),
        **charge.facts,
        "words": charge.text.splitlines(),
        "event": charge.event_data,
        "taken": {"data set": _taken(charge.by_dataset), "account": _taken(charge.by_account)},
        "promise": {
            "data set": codec.write_budget(page.state.whole.budget()),
            "account": codec.write_budget(page.state.budget_of(charge.account)),
        },
        "ledger": page.state.opened.ledger,
        "chain": str(then),
        "head": str(last),
    }


def _charge(page: Page, number: int) -> int:
    """Return the number of the charge that an entry is about."""
    last = page.state.head.number
    if type(number) is not int or not 1 <= number <= last:
        raise BadParameter("entry", number, f"the number of one of the ledger's entries, from 1 to {last}")
    record = page.read(number).record
    if isinstance(record, (Answered, Failed)):
        return record.charge
    if not isinstance(record, Charged):
        told = _OTHERS[kind_of(record)]
        raise RequestError(f"entry {number} {told} and released nothing; give the number of a charge or of an answer")
    return number


def _taken(payment: Payment | None) -> list[str] | None:
    return None if payment is None else [codec.write_amount(amount) for amount in payment.amounts]
