"""One budget as it is spent: the filters that it and its top-ups opened. A value; spending returns a new one.

Beside the charges of all data stand those of blocks of tables, and the most that any one unit paid of it.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cache, reduce
from heapq import nlargest
from itertools import pairwise
from operator import itemgetter
from typing import Any, cast

from privet.accounting.filters import Filter, PureFilter, Remaining, RenyiFilter, ZcdpFilter, open_filter
from privet.core.budget import Approximate, Budget, Pure, Zcdp
from privet.core.division import Members, Touched
from privet.core.errors import BadParameter, InvariantError, LedgerError
from privet.core.event import Event, Exact
from privet.core.given import instance
from privet.core.numbers import compact, float_down
from privet.ledger import codec

from .entries import Cap, Payment, Time

# The charges of blocks of tables beyond those of all data, and the most that any one unit paid of it.


Amounts = tuple[Exact, ...]
"""The amounts that a filter takes for an event, in the order of its sums."""

Step = tuple[int, Amounts]
"""From this block on, each was charged these amounts, up to the next step."""


def plus(one: Amounts, other: Amounts) -> Amounts:
    """Return two amounts together, measure by measure."""
    return tuple(_plus(a, b) for a, b in zip(one, other, strict=True))


def _plus(one: Exact, other: Exact) -> Exact:
    if isinstance(one, float) or isinstance(other, float):
        return math.inf
    return compact(one + other) if other else one


@dataclass(frozen=True)
class DivisionSums:
    """The charges of the blocks of one division: the same from each step on, and nothing before the first.

    A window lies in two adjacent blocks, as none is shorter than it, and pays once for what reads both. So of windows
    the sums are of pairs: number n stands for the blocks n - 1 and n.
    """

    table: str
    members: Members
    reach: int
    steps: tuple[Step, ...] = ()
    best: tuple[tuple[tuple[Exact, int], ...], ...] = field(default=(), compare=False)
    """In each measure the largest sums with their numbers, as many as one unit can pay for: kept up as sums grow."""

    def add(self, touched: Touched, amounts: Amounts) -> DivisionSums:
        """Return the sums after some blocks took amounts. Equal neighbours are one step.

        Guarantee: sums only grow, so the largest ones are among those that were, and those that took something.
        """
        reach = max(self.reach, touched.reach)
        ranges = _pairs(touched.ranges) if self.members == "windows" else touched.ranges
        steps, grown = list(self.steps), list[tuple[int, int, Amounts]]()
        nothing: Amounts = (Fraction(0),) * len(amounts)
        for start, end in ranges:
            grown += _raise(steps, start, end, amounts, nothing)
        largest = self.best if self.best and reach == self.reach else ((),) * len(amounts)
        news = grown if largest is self.best else list(_runs(steps))
        kept = 1 if self.members == "windows" else reach
        best = tuple(_largest_of(top, news, index, kept) for index, top in enumerate(largest))
        return DivisionSums(self.table, self.members, reach, tuple(steps), best)

    def worst(self) -> Amounts:
        """Return the most that one unit can have paid, measure by measure.

        Guarantee: a unit that lies in `reach` blocks, or pairs of them, has paid for each of these, at most the sum of
        what the largest were charged. Taking each measure by itself is no less than what any one unit paid.
        """
        times = self.reach if self.members == "windows" else 1
        return tuple(_times(_sum(value for value, _ in largest), times) for largest in self.best)

    def runs(self) -> Iterator[tuple[int, int, Amounts]]:
        """Yield where sums are the same: from a number to before another, and what each was charged."""
        yield from _runs(self.steps)

    def blocks(self) -> Iterator[tuple[int, int, Amounts]]:
        """Yield runs of blocks whose units have paid the same at most: first, end, and what they paid."""
        if self.members != "windows":
            yield from ((start, end, value) for start, end, value in self.runs() if any(value))
            return
        ends = sorted({max(0, at - back) for at, _ in self.steps for back in (0, 1)})
        for start, end in pairwise(ends):
            both = [value for first, last, value in self.runs() if first <= start + 1 and start < last]
            if both:
                yield start, end, _largest(both)


def _runs(steps: Sequence[Step]) -> Iterator[tuple[int, int, Amounts]]:
    return ((start, end, value) for (start, value), (end, _) in pairwise(steps))


def _raise(
    steps: list[Step], start: int, end: int, amounts: Amounts, nothing: Amounts
) -> list[tuple[int, int, Amounts]]:
    """Raise the sums from one number to before another, in place, and return the runs that were raised."""
    low, high = (bisect_left(steps, at, key=itemgetter(0)) for at in (start, end))
    before = steps[low - 1][1] if low else nothing
    last = steps[high - 1][1] if high > low else before
    # what begins at the end keeps what it had; a run that goes on past it begins anew there
    inner = steps[low:high] if low < high and steps[low][0] == start else [(start, before), *steps[low:high]]
    made = [(at, plus(value, amounts)) for at, value in inner]
    after = [] if high < len(steps) and steps[high][0] == end else [(end, last)]
    steps[low:high] = [*made, *after]
    for place in (low + len(made), low):  # the seams: equal neighbours are one step
        if place < len(steps) and steps[place][1] == (steps[place - 1][1] if place else nothing):
            del steps[place]
    ends = [at for at, _ in made[1:]] + [end]
    return [(at, until, value) for (at, value), until in zip(made, ends, strict=True)]


def _largest_of(
    held: Sequence[tuple[Exact, int]], grown: Sequence[tuple[int, int, Amounts]], index: int, kept: int
) -> tuple[tuple[Exact, int], ...]:
    """Return the largest sums of one measure, of those that were the largest and did not grow, and those that did."""
    starts = [start for start, _, _ in grown]
    same = [pair for pair in held if not _inside(pair[1], grown, starts)]
    if kept == 1:
        top = max(grown, key=lambda run: run[2][index])
        sums = [*same, (top[2][index], top[0])]
        return (max(sums, key=itemgetter(0)),)
    wide = ((value[index], number) for start, end, value in grown for number in range(start, min(end, start + kept)))
    return tuple(nlargest(kept, [*same, *wide], key=itemgetter(0)))


def _inside(number: int, runs: Sequence[tuple[int, int, Amounts]], starts: Sequence[int]) -> bool:
    place = bisect_right(starts, number) - 1
    return place >= 0 and number < runs[place][1]


def _sum(values: Iterable[Exact]) -> Exact:
    total: Exact = Fraction(0)
    for value in values:
        total = _plus(total, value)
    return total


def _times(value: Exact, times: int) -> Exact:
    return value if times == 1 or isinstance(value, float) else value * times


def _pairs(ranges: tuple[tuple[int, int], ...]) -> list[tuple[int, int]]:
    """Return the numbers of the pairs that have one of some blocks, as ranges that do not touch."""
    pairs: list[tuple[int, int]] = []
    for start, end in ranges:
        if pairs and start <= pairs[-1][1]:
            pairs[-1] = (pairs[-1][0], end + 1)
        else:
            pairs.append((start, end + 1))
    return pairs


@dataclass(frozen=True)
class BlockSums:
    """What all blocks were charged from one filter, by the divisions that they are of.

    Guarantee: with `common` what was charged for all data, no unit has paid more than `common` and `worst` together. A
    unit pays for its own blocks in each division; divisions add up, of one table and of several, as a person may have
    rows in every table, and a row may stand in two tables, or in one that was given another name.
    """

    divisions: Mapping[str, DivisionSums] = field(default_factory=dict)
    _after: list[tuple[Touched, Amounts, BlockSums]] = field(default_factory=list, compare=False, repr=False)
    """What came of the last amounts: they are priced first, and then paid."""

    def add(self, touched: Touched, amounts: Amounts) -> BlockSums:
        """Return the sums after some blocks took amounts."""
        for blocks, taken, after in self._after:
            if taken == amounts and blocks == touched:
                return after
        after = self._added(touched, amounts)
        if self.divisions:  # sums without any are shared by all accounts, and would keep every result alive
            self._after[:] = [(touched, amounts, after)]
        return after

    def _added(self, touched: Touched, amounts: Amounts) -> BlockSums:
        name = touched.division
        known = self.divisions.get(name) or DivisionSums(touched.table, touched.members, touched.reach)
        if (known.table, known.members) != (touched.table, touched.members):
            raise LedgerError("a charge in the ledger names a division of another table")
        return BlockSums({**self.divisions, name: known.add(touched, amounts)})

    def worst(self) -> Amounts | None:
        """Return the most that one unit can have paid beyond the charges for all data; None for nothing."""
        if not self.divisions:
            return None
        paid = [most for division in self.divisions.values() if (most := division.worst())]
        return reduce(plus, paid) if paid else None

    def snapshot(self) -> dict[str, Any]:
        """Return the sums as plain data."""
        return {
            name: [
                division.table,
                division.members,
                division.reach,
                [[start, *map(codec.write_amount, value)] for start, value in division.steps],
            ]
            for name, division in self.divisions.items()
        }


def read_block_sums(data: Any) -> BlockSums:
    """Return the sums that `snapshot` wrote."""
    divisions = {}
    for name, (table, members, reach, steps) in data.items():
        rows = tuple((int(start), tuple(map(codec.read_amount, value))) for start, *value in steps)
        divisions[str(name)] = _with_best(DivisionSums(str(table), members, int(reach), rows))
    return BlockSums(divisions)


def _with_best(sums: DivisionSums) -> DivisionSums:
    """Return sums as they were read, with the largest ones looked up again."""
    runs, kept = list(_runs(sums.steps)), 1 if sums.members == "windows" else sums.reach
    measures = range(len(sums.steps[0][1])) if runs else range(0)
    return replace(sums, best=tuple(_largest_of((), runs, index, kept) for index in measures))


NO_BLOCKS = BlockSums()


def _largest(charges: Iterable[Amounts]) -> Amounts:
    return tuple(max(column) for column in zip(*charges, strict=True))


# One budget.


_SPENT: dict[type, tuple[str, ...]] = {
    PureFilter: ("spent",),
    ZcdpFilter: ("spent",),
    RenyiFilter: ("spent", "spent_pure", "spent_delta"),
}
"""The sums that each kind of filter keeps."""

_LEAST_AMOUNT, _LARGEST_AMOUNT = Fraction(1, 10**300), Fraction(10**300)
"""Between which amounts every budget lies: a number derived from one is then a finite float above zero as well."""


_HEAVY = Fraction(10**400)
"""More than any budget: with it the unit that paid most is one that pays for it."""


def _less(load: tuple[Exact, ...], due: tuple[Exact, ...]) -> tuple[Exact, ...]:
    """Return the amounts that a unit had paid before it pays those due."""
    return tuple(
        paid if isinstance(paid, float) or isinstance(other, float) else max(paid - other, Fraction(0))
        for paid, other in zip(load, due, strict=True)
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
        """Return which filter takes how much for an event: the oldest that can; if none can, raise its error."""
        for index, filter_ in enumerate(self.filters):
            payment = Payment(index, amounts(filter_, event))
            if within_cap(self._loaded_after(payment, touched)):
                return payment
        index = self._roomiest()
        due = amounts(self.filters[index], event)
        # the refusal and the remainder are those of the units that would pay for it
        self._with_load(index, _less(self._load_after(Payment(index, due), touched), due)).spend(event)
        raise InvariantError("a filter admits what it cannot pay for")

    def admits(self, event: Event, touched: Touched | None = None) -> bool:
        """Return whether some filter can pay for an event."""
        if not self.blocks and touched is None:
            return any(filter_.admits(event) for filter_ in self.filters)
        payments = (Payment(index, amounts(filter_, event)) for index, filter_ in enumerate(self.filters))
        return any(within_cap(self._loaded_after(payment, touched)) for payment in payments)

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
        return [[] if block_sums is None else list(block_sums.blocks()) for block_sums in sums]

    def in_block(self, division: str, number: int) -> list[Filter]:
        """Return the filters with what the units of one block alone have paid."""
        filters = []
        for index, runs in enumerate(self.runs(division)):
            own = next((value for first, end, value in runs if first <= number < end), None)
            filters.append(self._with_load(index, own))
        return filters

    def _loaded_after(self, payment: Payment, touched: Touched | None) -> Filter:
        return self._with_load(payment.filter, self._load_after(payment, touched))

    def _load_after(self, payment: Payment, touched: Touched | None) -> tuple[Exact, ...]:
        """Return what some unit would have paid beyond the charges for all data so far."""
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
        """Return the remainder of the filter that allows the largest event: about all data, or about some blocks."""
        if touched is None:
            return self.loaded(self._roomiest()).remaining()
        left = [self._left(index, touched) for index in range(len(self.filters))]
        return max(left, key=lambda remaining: remaining.largest_epsilon)

    def _left(self, index: int, touched: Touched) -> Remaining:
        """Return what one filter still allows for some blocks, each of which takes it whole.

        A unit that lies in several of them pays that many times: the remainder is shared among these.
        """
        sums = self.blocks.get(index, NO_BLOCKS)
        heavy = sums.add(touched, (_HEAVY,) * len(_SPENT[type(self.filters[index])])).worst() or ()
        # with so large an amount the worst unit is one that pays for these blocks, as often as it can
        share = max((int(amount // _HEAVY) for amount in heavy if not isinstance(amount, float)), default=1)
        base = tuple(amount if isinstance(amount, float) else amount - _HEAVY * share for amount in heavy)
        left = self._with_load(index, base).remaining()
        return replace(left, amount=left.amount / share, largest_epsilon=_down(left.largest_epsilon, share))

    def budget(self) -> Budget:
        """Return the whole promise: the first budget and all that was added to it."""
        budgets = [_budget(filter_) for filter_ in self.filters]
        if len(budgets) == 1:
            return budgets[0]
        approximate = [budget for budget in budgets if isinstance(budget, Approximate)]
        delta = min(sum((budget.delta for budget in approximate), Fraction(0)), Fraction(2**60 - 1, 2**60))
        return Approximate(epsilon=sum((budget.epsilon for budget in approximate), Fraction(0)), delta=delta)

    def snapshot(self) -> list[dict[str, Any]]:
        """Return the amounts spent, as plain data."""
        return [
            {name: codec.write_amount(getattr(filter_, name)) for name in _SPENT[type(filter_)]}
            | ({"blocks": self.blocks[index].snapshot()} if index in self.blocks else {})
            for index, filter_ in enumerate(self.filters)
        ]

    def restore(self, data: Any) -> Account:
        """Return the account with the amounts spent read back from `snapshot`."""
        if not isinstance(data, list) or len(data) != len(self.filters):
            raise LedgerError("the cached balance does not fit the ledger's rules")
        kept = zip(self.filters, data, strict=True)
        return replace(
            self,
            filters=tuple(
                _with(filter_, {name: codec.read_amount(spent[name]) for name in _SPENT[type(filter_)]})
                for filter_, spent in kept
            ),
            blocks={index: read_block_sums(spent["blocks"]) for index, spent in enumerate(data) if "blocks" in spent},
        )

    def agrees(self, other: Account) -> bool:
        """Return whether two accounts have spent the same."""
        return (self.blocks == other.blocks and len(self.filters) == len(other.filters)) and all(
            type(own) is type(theirs) and all(getattr(own, name) == getattr(theirs, name) for name in _SPENT[type(own)])
            for own, theirs in zip(self.filters, other.filters, strict=True)
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
    if not all(_LEAST_AMOUNT <= amount <= _LARGEST_AMOUNT for amount in vars(budget).values()):
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
    filter_ = account.filters[number]
    return [getattr(filter_, name) for name in _SPENT[type(filter_)]]


def with_spent(one: Filter, sums: list[Exact]) -> Filter:
    """Return a filter with other sums than it has."""
    return _with(one, dict(zip(_SPENT[type(one)], sums, strict=True)))


def _with(filter_: Filter, spent: dict[str, Any]) -> Filter:
    fields = {**vars(filter_), **spent}  # what `replace` does, in a third of the time: verifying does little else
    return type(filter_)(**fields)


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
            allowed, for_keys = _allowed(one.budget, one.order, one.keys_share)
            return delta <= for_keys and (spent <= allowed or pure <= most)
    return False


@cache
def _allowed(budget: Approximate, order: float, keys_share: Fraction) -> tuple[Fraction, Fraction]:
    """Return the divergence that a filter allows, and the part of its delta that pays for keys."""
    opened = RenyiFilter(budget, order, keys_share)
    return opened.allowed, opened.keys_delta


def _budget(filter_: Filter) -> Budget:
    if isinstance(filter_, (PureFilter, ZcdpFilter, RenyiFilter)):
        return filter_.budget
    raise LedgerError(f"a {type(filter_).__name__} is not a filter that ledgers know")


def _close(one: Exact, other: Exact) -> bool:
    if math.isinf(one) or math.isinf(other):
        return one == other
    return abs(Fraction(one) - Fraction(other)) <= max(Fraction(one), Fraction(other)) / 2**40
