"""A history folded into a balance, as `State.apply` does it entry by entry, in a fraction of the time.

Most entries are charges, which add to a few sums, and answers, which change nothing. Here sums are added up in place,
and made into a state when one is asked for.
"""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

from privet.core.errors import LedgerError, PrivetError, raise_alone
from privet.core.event import Exact

from .account import Account, add, spent_of, with_spent
from .chain import Head
from .entries import Answered, Charged, Payment, Time, Written
from .state import State

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
        self._infinite = isinstance(total, float)
        self._start(Fraction(0) if isinstance(total, float) else total)

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
        """The accounts and their filters as they are, with what was spent some time ago."""
        return self._state

    @property
    def state(self) -> State:
        """The balance after the last entry."""
        for (name, index), sums in self._sums.items():
            account = self._account(name)
            filters = list(account.filters)
            filters[index] = with_spent(filters[index], [one.value for one in sums])
            self._put(name, Account(tuple(filters), account.expires))
        self._sums.clear()
        if self._state.head != self._head:
            self._state = replace(self._state, head=self._head, time=self._time)
        return self._state

    def add(self, head: Head, written: Written) -> None:
        """Take one more entry into account, or raise `LedgerError` if it could not have been written."""
        record = written.record
        if isinstance(record, Charged) and self._state.rules is not None:
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
            raise LedgerError("a charge in the ledger does not say what its filter took")
        for one, amount in zip(sums, payment.amounts, strict=True):
            one.add(amount)

    def _account(self, name: str | None) -> Account:
        return self._state.whole if name is None else self._state.accounts[name]

    def _put(self, name: str | None, account: Account) -> None:
        if name is None:
            self._state = replace(self._state, dataset=account)
        else:
            self._state = replace(self._state, accounts={**self._state.accounts, name: account})
