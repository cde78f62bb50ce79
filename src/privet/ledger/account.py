"""One budget as it is spent: the filters that it and its top-ups opened. A value; spending returns a new one."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cache
from typing import Any, cast

from privet.accounting.filters import Filter, PureFilter, Remaining, RenyiFilter, ZcdpFilter, compact, open_filter
from privet.core.budget import Approximate, Budget, Pure, Zcdp
from privet.core.division import Touched
from privet.core.errors import BadParameter, InvariantError, LedgerError
from privet.core.event import Event, Exact
from privet.core.given import instance
from privet.core.numbers import float_down

from . import codec
from .block_sums import NO_BLOCKS, BlockSums, plus, read_block_sums
from .entries import Cap, Payment, Time

_SPENT: dict[type, tuple[str, ...]] = {
    PureFilter: ("spent",),
    ZcdpFilter: ("spent",),
    RenyiFilter: ("spent", "spent_pure", "spent_delta"),
}
"""The sums that each kind of filter keeps."""

_LEAST, _MOST = Fraction(1, 10**300), Fraction(10**300)
"""Between which amounts every budget lies: what is derived from one is then a finite float above zero as well."""


_HEAVY = Fraction(10**400)
"""More than any budget: with it the unit that paid most is one that pays for it."""


def _less(load: tuple[Exact, ...], due: tuple[Exact, ...]) -> tuple[Exact, ...]:
    """Return what a unit had paid before it pays what is due."""
    return tuple(
        one if isinstance(one, float) or isinstance(other, float) else max(one - other, Fraction(0))
        for one, other in zip(load, due, strict=True)
    )


def _down(epsilon: float, share: int) -> float:
    return epsilon if share == 1 else float_down(Fraction(epsilon) / share)


@dataclass(frozen=True)
class Account:
    """What an account may spend and has spent.

    Sums of pure epsilon and of rho only need a higher cap when more is given. An (epsilon, delta) top-up opens a filter
    of its own, at its own order, and an event is paid by one filter whole.

    Guarantee: all that was admitted together keeps the sum of the budgets, (sum of epsilons, sum of deltas) for filters
    of that kind, however charges are spread over them. Let L be the total privacy loss and L_i that of the events
    which filter i paid; for each, E[(1 - e^(epsilon_i - L_i))+] <= delta_i, because events that it did not pay leave
    its supermartingale as it is. As (1 - e^(a+b))+ <= (1 - e^a)+ + (1 - e^b)+ for all a and b, delta is at most the
    sum. A charge for some blocks counts for units in these alone, and what is admitted is that which the unit that
    has paid most can still pay (parallel composition; with new blocks, block composition).
    Cites: [WRRW23], [LSVGH19].
    """

    filters: tuple[Filter, ...]
    expires: Time | None = None
    blocks: Mapping[int, BlockSums] = field(default_factory=dict)
    """What blocks were charged beyond what the filter of this number took for all data."""

    def price(self, event: Event, touched: Touched | None = None) -> Payment:
        """Return which filter takes how much for an event: the oldest that can; if none can, raise what it says."""
        for index, one in enumerate(self.filters):
            payment = Payment(index, amounts(one, event))
            if within_cap(self._loaded_after(payment, touched)):
                return payment
        index = self._roomiest()
        due = amounts(self.filters[index], event)
        # what is refused, and what is left, are those of the units that would pay for it
        self._with_load(index, _less(self._load_after(Payment(index, due), touched), due)).spend(event)
        raise InvariantError("a filter admits what it cannot pay for")

    def admits(self, event: Event, touched: Touched | None = None) -> bool:
        """Return whether some filter can pay for an event."""
        if not self.blocks and touched is None:
            return any(one.admits(event) for one in self.filters)
        several = (Payment(index, amounts(one, event)) for index, one in enumerate(self.filters))
        return any(within_cap(self._loaded_after(payment, touched)) for payment in several)

    def pay(self, payment: Payment, touched: Touched | None = None) -> Account:
        """Return the account after one of its filters took what an event costs, for all data or for some blocks."""
        number = payment.filter
        if number >= len(self.filters):
            raise LedgerError("a charge in the ledger names a filter that was never opened")
        if touched is not None:
            take(self.filters[number], payment.amounts)  # or raise, if it does not fit the filter
            sums = self.blocks.get(number, NO_BLOCKS).add(touched, payment.amounts)
            return replace(self, blocks={**self.blocks, number: sums})
        paid = take(self.filters[number], payment.amounts)
        return Account((*self.filters[:number], paid, *self.filters[number + 1 :]), self.expires, self.blocks)

    def check_spent(self) -> None:
        """Raise `LedgerError` if more was taken than there was. Sums only grow, so one look at the last is enough."""
        if not all(within_cap(self.loaded(index)) for index in range(len(self.filters))):
            raise LedgerError("the ledger spends what was not there")

    def loaded(self, index: int) -> Filter:
        """Return a filter with what the unit that paid most has paid: for all data, and for its blocks."""
        return self._with_load(index, self.blocks.get(index, NO_BLOCKS).worst() if self.blocks else None)

    def runs(self, division: str) -> list[list[tuple[int, int, tuple[Exact, ...]]]]:
        """Return for each filter the runs of blocks of a division that it charged the same."""
        sums = (self.blocks.get(index, NO_BLOCKS).divisions.get(division) for index in range(len(self.filters)))
        return [[] if one is None else list(one.blocks()) for one in sums]

    def in_block(self, division: str, number: int) -> list[Filter]:
        """Return the filters with what the units of one block alone have paid."""
        found = []
        for index, runs in enumerate(self.runs(division)):
            own = next((value for first, end, value in runs if first <= number < end), None)
            found.append(self._with_load(index, own))
        return found

    def _loaded_after(self, payment: Payment, touched: Touched | None) -> Filter:
        return self._with_load(payment.filter, self._load_after(payment, touched))

    def _load_after(self, payment: Payment, touched: Touched | None) -> tuple[Exact, ...]:
        """Return what some unit would have paid beyond what was charged for all data so far."""
        sums = self.blocks.get(payment.filter, NO_BLOCKS)
        if touched is None:
            worst = sums.worst() if self.blocks else None
            return payment.amounts if worst is None else plus(worst, payment.amounts)
        return cast(tuple[Exact, ...], sums.add(touched, payment.amounts).worst())

    def _with_load(self, index: int, load: tuple[Exact, ...] | None) -> Filter:
        return self.filters[index] if load is None else take(self.filters[index], load)

    def covers(self, payment: Payment, event: Event) -> bool:
        """Return whether no less was taken for an event than it costs, up to what machines differ by."""
        return enough(payment.amounts, amounts(self.filters[payment.filter], event))

    def top_up(self, cap: Cap) -> Account:
        """Return the account with more to spend."""
        last = self.filters[-1]
        more: Filter
        match last, cap.budget:
            case PureFilter(budget=Pure(epsilon=held)), Pure(epsilon=given):
                more = replace(last, budget=Pure(epsilon=held + given))
            case ZcdpFilter(budget=Zcdp(rho=held)), Zcdp(rho=given):
                more = replace(last, budget=Zcdp(rho=held + given))
            case RenyiFilter(), Approximate():
                return replace(self, filters=(*self.filters, open_cap(cap)))
            case _:
                raise BadParameter("budget", cap.budget, "of the kind that the account was opened with")
        return replace(self, filters=(*self.filters[:-1], more))

    def remaining(self, touched: Touched | None = None) -> Remaining:
        """Return what is left of the filter that allows the largest event: about all data, or about some blocks."""
        if touched is None:
            return self.loaded(self._roomiest()).remaining()
        left = [self._left(index, touched) for index in range(len(self.filters))]
        return max(left, key=lambda one: one.largest_epsilon)

    def _left(self, index: int, touched: Touched) -> Remaining:
        """Return what one filter still allows for some blocks, each of which takes it whole.

        A unit that lies in several of them pays that many times: what is left is shared among these.
        """
        sums = self.blocks.get(index, NO_BLOCKS)
        heavy = sums.add(touched, (_HEAVY,) * len(_SPENT[type(self.filters[index])])).worst() or ()
        # with so large an amount the worst unit is one that pays for these blocks, as often as it can
        share = max((int(amount // _HEAVY) for amount in heavy if not isinstance(amount, float)), default=1)
        base = tuple(one if isinstance(one, float) else one - _HEAVY * share for one in heavy)
        left = self._with_load(index, base).remaining()
        return replace(left, amount=left.amount / share, largest_epsilon=_down(left.largest_epsilon, share))

    def budget(self) -> Budget:
        """Return the whole promise: the first budget and all that was added to it."""
        budgets = [_budget(one) for one in self.filters]
        if len(budgets) == 1:
            return budgets[0]
        several = [budget for budget in budgets if isinstance(budget, Approximate)]
        delta = min(sum((budget.delta for budget in several), Fraction(0)), Fraction(2**60 - 1, 2**60))
        return Approximate(epsilon=sum((budget.epsilon for budget in several), Fraction(0)), delta=delta)

    def snapshot(self) -> list[dict[str, Any]]:
        """Return what was spent, as plain data."""
        return [
            {name: codec.write_amount(getattr(one, name)) for name in _SPENT[type(one)]}
            | ({"blocks": self.blocks[index].snapshot()} if index in self.blocks else {})
            for index, one in enumerate(self.filters)
        ]

    def restore(self, data: Any) -> Account:
        """Return the account with what was spent read back from `snapshot`."""
        if not isinstance(data, list) or len(data) != len(self.filters):
            raise LedgerError("the cached balance does not fit the ledger's rules")
        kept = zip(self.filters, data, strict=True)
        return replace(
            self,
            filters=tuple(
                _with(one, {name: codec.read_amount(spent[name]) for name in _SPENT[type(one)]}) for one, spent in kept
            ),
            blocks={index: read_block_sums(spent["blocks"]) for index, spent in enumerate(data) if "blocks" in spent},
        )

    def agrees(self, other: Account) -> bool:
        """Return whether two accounts have spent the same."""
        return (self.blocks == other.blocks and len(self.filters) == len(other.filters)) and all(
            type(one) is type(two) and all(getattr(one, name) == getattr(two, name) for name in _SPENT[type(one)])
            for one, two in zip(self.filters, other.filters, strict=True)
        )

    def _roomiest(self) -> int:
        return max(range(len(self.filters)), key=lambda index: self.loaded(index).remaining().largest_epsilon)


def open_account(cap: Cap, expires: Time | None = None) -> Account:
    """Return an account that has spent nothing."""
    return Account((open_cap(cap),), expires)


def open_cap(cap: Cap) -> Filter:
    """Return a cap's filter, at the order that was fixed when the cap was opened."""
    return open_filter(cap.budget, keys_share=cap.keys_share, order=cap.order)


def make_cap(budget: Budget, keys_share: Fraction) -> Cap:
    """Return a budget as a cap, with its order chosen here and now, for good."""
    checked = given_budget(budget, "budget")
    opened = open_filter(checked, keys_share=keys_share)
    return Cap(checked, opened.order if isinstance(opened, RenyiFilter) else None, keys_share)


def given_budget(value: Budget, parameter: str) -> Budget:
    """Return a budget whose amounts can be shown, or raise `BadParameter`."""
    budget: Budget = instance(value, Budget, parameter, "Pure(...), Approximate(...) or Zcdp(...)")
    check_amounts(budget, parameter)
    return budget


def check_amounts(budget: Budget, parameter: str) -> None:
    """Raise `BadParameter` where an amount of a budget is too large or too small to be shown as a float."""
    if not all(_LEAST <= amount <= _MOST for amount in vars(budget).values()):
        raise BadParameter(parameter, budget.describe(), "amounts that can be shown: from 1e-300 to 1e300")


def amounts(one: Filter, event: Event) -> tuple[Exact, ...]:
    """Return what a filter takes for an event, in the order of the sums that it keeps."""
    match one:
        case PureFilter():
            return (math.inf if event.slack() else event.pure(),)
        case ZcdpFilter():
            return (math.inf if event.slack() else event.rho(),)
        case RenyiFilter(order=order):
            divergence = event.rdp(order)
            return divergence if math.isinf(divergence) else Fraction(divergence), event.pure(), event.slack()
    raise InvariantError(f"a {type(one).__name__} is not a filter that ledgers know")


def measure(one: Filter) -> object:
    """Return what the amounts that a filter takes for an event depend on, beside the event."""
    return type(one), getattr(one, "order", None)


def enough(paid: tuple[Exact, ...], due: tuple[Exact, ...]) -> bool:
    """Return whether no less was taken than is due, up to what machines differ by."""
    return paid == due or all(taken >= cost or _close(taken, cost) for taken, cost in zip(paid, due, strict=True))


def take(one: Filter, taken: tuple[Exact, ...]) -> Filter:
    """Return a filter after it took some amounts, whether or not they fit."""
    kept = _SPENT[type(one)]
    if len(taken) != len(kept):
        raise LedgerError("a charge in the ledger does not record what its filter took")
    return _with(one, {name: add(getattr(one, name), amount) for name, amount in zip(kept, taken, strict=True)})


def spent_of(account: Account, number: int) -> list[Exact]:
    """Return the sums that one of an account's filters keeps."""
    if number >= len(account.filters):
        raise LedgerError("a charge in the ledger names a filter that was never opened")
    one = account.filters[number]
    return [getattr(one, name) for name in _SPENT[type(one)]]


def with_spent(one: Filter, sums: list[Exact]) -> Filter:
    """Return a filter with other sums than it has."""
    return _with(one, dict(zip(_SPENT[type(one)], sums, strict=True)))


def _with(one: Filter, spent: dict[str, Any]) -> Filter:
    fields = {**vars(one), **spent}  # what `replace` does, in a third of the time: verifying does little else
    return type(one)(**fields)


def add(total: Exact, amount: Exact) -> Exact:
    """Return a sum and one more amount, exactly, or just above once its denominator has grown long; see `compact`."""
    if isinstance(total, float) or isinstance(amount, float):
        return math.inf
    return compact(total + amount) if amount else total


def within_cap(one: Filter) -> bool:
    """Return whether a filter has taken no more than it may."""
    match one:
        case PureFilter(budget=Pure(epsilon=most), spent=spent) | ZcdpFilter(budget=Zcdp(rho=most), spent=spent):
            return spent <= most
        case RenyiFilter(budget=Approximate(epsilon=most), spent=spent, spent_pure=pure, spent_delta=delta):
            return delta <= one.keys_delta and (
                spent <= _allowed(one.budget, one.order, one.keys_share) or pure <= most
            )
    return False


@cache
def _allowed(budget: Approximate, order: float, keys_share: Fraction) -> Fraction:
    return RenyiFilter(budget, order, keys_share).allowed


def _budget(one: Filter) -> Budget:
    if isinstance(one, (PureFilter, ZcdpFilter, RenyiFilter)):
        return one.budget
    raise LedgerError(f"a {type(one).__name__} is not a filter that ledgers know")


def _close(one: Exact, other: Exact) -> bool:
    if math.isinf(one) or math.isinf(other):
        return one == other
    return abs(Fraction(one) - Fraction(other)) <= max(Fraction(one), Fraction(other)) / 2**40
