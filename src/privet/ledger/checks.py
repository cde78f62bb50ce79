"""What one entry can only be checked against all others, and against what its event costs. Used by `verify`."""

from __future__ import annotations

import marshal

from privet.core.errors import LedgerError
from privet.core.event import Exact

from .account import amounts, enough, measure
from .entries import Answered, Charged, Failed, Written
from .state import State

_Paid = tuple[str, str, bytes, bool]
"""What later entries are checked against: a charge's account, digest and event, and whether the data set paid."""


class Checks:
    """Whether answers have their charges, keys and answers are unique, repeats were paid for, and nothing underpaid.

    Guarantee: a history that passes, and whose every state passes `check_spent`, released at most one answer for each
    plan, and the data set's filters took at least what those plans' events cost.
    """

    def __init__(self) -> None:
        self.charges: dict[int, _Paid] = {}
        self.answers: dict[str, int] = {}
        self.keys: set[tuple[str, str]] = set()
        self._prices: dict[tuple[bytes, object], tuple[Exact, ...]] = {}
        self._enough: dict[tuple[bytes, object], tuple[Exact, ...]] = {}

    def add(self, written: Written, state: State) -> None:
        """Take one more entry into account, or raise `LedgerError`; `state` is the one before or after it."""
        match written.record:
            case Charged() as charge:
                if charge.shared is not None:
                    self._repeats(charge, charge.shared)
                event = marshal.dumps(charge.event_data, 2)  # a name for it in this run, many times as fast as JSON
                self._priced(charge, event, state)
                if charge.key is not None:
                    if (charge.account, charge.key) in self.keys:
                        raise LedgerError("the ledger charges one key twice")
                    self.keys.add((charge.account, charge.key))
                self.charges[written.number] = charge.account, charge.digest, event, charge.shared is None
            case Answered(digest=digest) as answer:
                self._paid(answer.charge, answer.account, digest)
                if digest in self.answers:
                    raise LedgerError("the ledger holds two answers to one question")
                self.answers[digest] = answer.charge
            case Failed() as failure:
                self._paid(failure.charge, failure.account, None)

    def _paid(self, number: int, account: str, digest: str | None) -> None:
        charge = self.charges.get(number)
        if charge is None or charge[0] != account or digest not in (None, charge[1]):
            raise LedgerError("the ledger holds an answer without its charge")

    def _repeats(self, charge: Charged, number: int) -> None:
        event = marshal.dumps(charge.event_data, 2)
        if self.charges.get(number, ())[1:] != (charge.digest, event, True):
            raise LedgerError("the ledger repeats an answer that nobody paid for")

    def _priced(self, charge: Charged, text: bytes, state: State) -> None:
        """Price a charge's event again, as this version does now. Equal events are priced once."""
        for account, payment in ((state.whole, charge.by_dataset), (state.own(charge.account), charge.by_account)):
            if account is None or payment is None:
                continue
            one = account.filters[payment.filter]
            name = (text, measure(one))
            if self._enough.get(name) == payment.amounts:
                continue
            if name not in self._prices:
                self._prices[name] = amounts(one, charge.event)
            if not enough(payment.amounts, self._prices[name]):
                raise LedgerError(
                    "the ledger took less for a charge than its event costs: the file was changed, or written by a "
                    "version of Privet that priced such events too low"
                )
            self._enough[name] = payment.amounts
