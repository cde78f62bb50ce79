"""A history replayed: folded into a balance in a fraction of the time, and each entry checked against all others."""

from __future__ import annotations

import marshal
import math
from dataclasses import replace
from fractions import Fraction

from privet.core.errors import LedgerError, PrivetError, raise_alone
from privet.core.event import Exact

from .account import Account, add, amounts, enough, measure, spent_of, with_spent
from .codec import Head
from .entries import Answered, Charged, Failed, Payment, PromiseOpened, Stepped, Time, Written
from .state import State

# A history folded into a balance, as `State.apply` does it entry by entry, in a fraction of the time.
#
# Most entries are charges, which add to a few sums, and answers, which change nothing. Here sums are added up in
# place, and made into a state when one is asked for.


_Place = tuple[str | None, int]
"""Whose filter: an account's name, or None for the data set's, and its number."""


_LONGEST = 4096
"""Bits of a denominator up to which `compact` leaves a sum as it is, at the least."""

_MOST_KNOWN = 4096
"""How many amounts a sum remembers."""


class RunningSum:
    """A sum of exact amounts, of which most were added before.

    It is kept over one denominator for all, so that an amount which was met before is one integer to add. While that
    denominator is short, no sum on the way is rounded by `compact`, and the order does not matter; when it would grow
    long, the amount is added as everywhere else.

    Guarantee: its value is that of `add`, amount by amount, in their order.
    """

    def __init__(self, total: Exact) -> None:
        self._infinite = total == math.inf
        self._start(Fraction(0) if self._infinite else Fraction(total))

    def _start(self, total: Fraction) -> None:
        self._above, self._below = total.numerator, total.denominator
        self._known: dict[int, tuple[Exact, int]] = {}  # by identity, each with the amount, so that it stays the same

    @property
    def value(self) -> Exact:
        """The sum itself."""
        return math.inf if self._infinite else Fraction(self._above, self._below)

    def add(self, amount: Exact) -> None:
        """Add one amount."""
        known = self._known.get(id(amount))
        if known is None:
            if isinstance(amount, float) or self._infinite:
                self._infinite = True
                return
            below = math.lcm(self._below, amount.denominator)
            if below.bit_length() > _LONGEST:
                total = add(Fraction(self._above, self._below), amount)
                self._start(Fraction(total))
                return
            if below != self._below or len(self._known) >= _MOST_KNOWN:
                self._above, self._below, self._known = self._above * (below // self._below), below, {}
            known = self._known[id(amount)] = amount, amount.numerator * (below // amount.denominator)
        self._above += known[1]


class BalanceFold:
    """A balance that grows by one entry at a time.

    Guarantee: after any entries its state is the one that `State.apply` gives for them, or both refuse.
    """

    def __init__(self) -> None:
        self._state = State()
        self._head, self._time = self._state.head, self._state.time
        self._sums: dict[_Place, list[RunningSum]] = {}

    @property
    def head(self) -> Head:
        """The last entry."""
        return self._head

    @property
    def rules(self) -> State:
        """The accounts and their filters as they are, with the amounts spent some time ago."""
        return self._state

    @property
    def state(self) -> State:
        """The balance after the last entry."""
        for (name, index), sums in self._sums.items():
            account = self._account(name)
            filters = list(account.filters)
            filters[index] = with_spent(filters[index], [total.value for total in sums])
            self._put(name, Account(tuple(filters), account.expires, account.blocks))
        self._sums.clear()
        if self._state.head != self._head:
            self._state = replace(self._state, head=self._head, time=self._time)
        return self._state

    def add(self, head: Head, written: Written) -> None:
        """Take one more entry into account, or raise `LedgerError` if it could not have been written."""
        record = written.record
        if isinstance(record, Charged) and record.blocks is None and self._state.rules is not None:
            self._check_order(head, written)
            try:
                self._charge(record, written.time)
            except LedgerError:
                raise
            except PrivetError:
                raise_alone(LedgerError(f"entry {head.number} of the ledger breaks the ledger's rules"))
        elif isinstance(record, Answered) and self._state.rules is not None and not self._state.failures:
            self._check_order(head, written)
        else:
            self._state = self.state.apply(head, written)
        self._head, self._time = head, written.time

    def _check_order(self, head: Head, written: Written) -> None:
        if written.number != head.number or (self._time is not None and written.time < self._time):
            raise LedgerError(f"entry {head.number} of the ledger is out of order")

    def _charge(self, charge: Charged, time: Time) -> None:
        state = self._state
        state.check_open(charge.account, time)
        own = state.check_paid(charge)
        if charge.by_dataset is not None:
            self._pay(None, state.whole, charge.by_dataset)
        if own is not None and charge.by_account is not None:
            self._pay(charge.account, own, charge.by_account)

    def _pay(self, name: str | None, account: Account, payment: Payment) -> None:
        place = name, payment.filter
        sums = self._sums.get(place)
        if sums is None:
            sums = self._sums[place] = list(map(RunningSum, spent_of(account, payment.filter)))
        if len(sums) != len(payment.amounts):
            raise LedgerError("a charge in the ledger does not record what its filter took")
        for total, amount in zip(sums, payment.amounts, strict=True):
            total.add(amount)

    def _account(self, name: str | None) -> Account:
        return self._state.whole if name is None else self._state.accounts[name]

    def _put(self, name: str | None, account: Account) -> None:
        if name is None:
            self._state = replace(self._state, dataset=account)
        else:
            self._state = replace(self._state, accounts={**self._state.accounts, name: account})


# What one entry can only be checked against all others, and against what its event costs. Used by `verify`.


_Paid = tuple[str, str, bytes, bool]
"""What later entries are checked against: a charge's account, digest and event, and whether the data set paid."""


def _named(charge: Charged) -> bytes:
    """Return a name for what a charge costs, in this run alone: many times as fast as JSON."""
    event = marshal.dumps(charge.event_data, 2)
    return event if charge.blocks is None else event + repr(charge.blocks).encode()


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
                event = _named(charge)
                self._priced(charge, event, state)
                if charge.key is not None:
                    if (charge.account, charge.key) in self.keys:
                        raise LedgerError("the ledger charges one key twice")
                    self.keys.add((charge.account, charge.key))
                self.charges[written.number] = charge.account, charge.digest, event, charge.shared is None
            case PromiseOpened(account=name, digest=digest):  # its steps are paid for by the promise itself
                self.charges[written.number] = name, digest, b"", True
            case Answered(digest=digest) as answer:
                self._paid(answer.charge, answer.account, digest)
                if digest in self.answers:
                    raise LedgerError("the ledger contains two answers to one question")
                self.answers[digest] = answer.charge
            case Failed() as failure:
                self._paid(failure.charge, failure.account, None)
            case Stepped(charge=number, account=name):
                self._paid(number, name, None)
                if not self.charges[number][3]:
                    raise LedgerError("the ledger contains steps whose charge was not paid in full")

    def _paid(self, number: int, account: str, digest: str | None) -> None:
        charge = self.charges.get(number)
        if charge is None or charge[0] != account or digest not in (None, charge[1]):
            raise LedgerError("the ledger contains an answer without its charge")

    def _repeats(self, charge: Charged, number: int) -> None:
        event = _named(charge)
        if self.charges.get(number, ())[1:] != (charge.digest, event, True):
            raise LedgerError("the ledger repeats an answer that was not paid for")

    def _priced(self, charge: Charged, text: bytes, state: State) -> None:
        """Price a charge's event again, as this version does now. Equal events are priced once."""
        for account, payment in ((state.whole, charge.by_dataset), (state.own(charge.account), charge.by_account)):
            if account is None or payment is None:
                continue
            filter_ = account.filters[payment.filter]
            name = (text, measure(filter_))
            if self._enough.get(name) == payment.amounts:
                continue
            if name not in self._prices:
                self._prices[name] = amounts(filter_, charge.event)
            if not enough(payment.amounts, self._prices[name]):
                raise LedgerError(
                    "the ledger took less for a charge than its event costs: the file was changed, or written by a "
                    "version of Privet that priced such events too low"
                )
            self._enough[name] = payment.amounts
