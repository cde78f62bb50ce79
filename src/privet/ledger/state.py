"""What a history of entries amounts to: accounts, what they have spent, which are frozen. A fold over records.

A state is never trusted beyond the head it belongs to, and can always be made again from the first entry.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import pairwise
from typing import Any

from privet.accounting.filters import Filter, PureFilter, RenyiFilter, ZcdpFilter
from privet.core.budget import Approximate, Budget, Pure, Zcdp
from privet.core.errors import (
    BadParameter,
    BudgetError,
    LedgerError,
    PrivetError,
    UnknownName,
    Unsupported,
    raise_alone,
)
from privet.core.event import Exact
from privet.core.numbers import float_down

from . import codec
from .account import Account, open_account
from .codec import START, Head
from .entries import (
    AccountOpened,
    Acted,
    Answered,
    Charged,
    Cleared,
    Failed,
    Frozen,
    Limited,
    Opened,
    PromiseOpened,
    Record,
    Rescheduled,
    Rule,
    Stepped,
    Time,
    ToppedUp,
    Written,
    write_time,
)
from .progress import Steps, after_failure, after_step, read_steps, write_steps

FREEZES = 3
"""How many engine failures in a row freeze an account."""

HELD = 2**32
"""Counted for an account that the custodian froze: answers to what it asked before do not let it spend again."""


@dataclass(frozen=True)
class State:
    """The balance after some entry: the head, the rules, and every account."""

    head: Head = START
    time: Time | None = None
    rules: Opened | None = None
    dataset: Account | None = None
    accounts: Mapping[str, Account] = field(default_factory=dict)
    failures: Mapping[str, int] = field(default_factory=dict)
    steps: Steps = field(default_factory=dict)
    promises: Mapping[str, int] = field(default_factory=dict)
    """The entries that opened accounts for streams, by the accounts' names."""

    @property
    def opened(self) -> Opened:
        """The rules that the first entry laid down, as later ones changed them; the cap is the first."""
        if self.rules is None:
            raise LedgerError("the ledger has no first entry")
        return self.rules

    @property
    def whole(self) -> Account:
        """The data set's own account."""
        if self.dataset is None:
            raise LedgerError("the ledger has no first entry")
        return self.dataset

    def own(self, account: str) -> Account | None:
        """Return an analyst's own account; None where the ledger keeps no accounts but the data set's."""
        if not self.accounts:
            return None
        if account not in self.accounts:
            raise UnknownName("account", account, (), advice="the custodian can open one")
        return self.accounts[account]

    def budget_of(self, account: str | None) -> Budget:
        """Return the promise that bounds an account."""
        self.check_budget(account)
        own = None if account is None else self.own(account)
        return (own or self.whole).budget()

    def check_open(self, account: str, now: Time) -> None:
        """Raise unless the account may spend at all at this time."""
        self.check_budget(account)
        self.check_going_on(account, now)

    def check_going_on(self, account: str, now: Time) -> None:
        """Raise if the account is frozen, or its time or that of the whole ledger is over."""
        own = None if account in self.promises else self.own(account)
        if self.failures.get(account, 0) >= HELD:
            raise BudgetError(f"the account {account!r} is frozen by the custodian, who can clear it")
        if self.is_frozen(account):
            raise BudgetError(
                f"the account {account!r} is frozen, because the database failed {FREEZES} times in a row; "
                "the custodian can find out why and clear it"
            )
        ends = self.whole.expires, None if own is None else own.expires
        if ends != (None, None) and any(end is not None and now >= end for end in ends):
            raise BudgetError(
                f"the budget of the account {account!r} has expired, and what was left of it with it; "
                "answers that were paid for stay free"
            )

    def has_account(self, name: str) -> bool:
        """Return whether an account of this name was opened, for people or for a stream."""
        return name in {*self.accounts, *self.promises}

    def check_budget(self, account: str | None) -> None:
        """Raise where an account promises something about windows of steps: that is no budget to spend from."""
        if account is not None and account in self.promises:
            raise Unsupported(
                f"the account {account!r} was opened for one stream, and promises something of windows of its steps: "
                "that is no budget of people or rows, and pays for no questions; ask with another account"
            )

    def is_frozen(self, account: str) -> bool:
        """Return whether the custodian froze an account, or the database failed it too many times in a row."""
        return self.failures.get(account, 0) >= FREEZES

    def check_under(self, budget: Budget) -> None:
        """Raise unless a cap of this kind can be spent under the data set's."""
        held = self.opened.cap.budget
        fits = isinstance(held, Approximate) or isinstance(budget, Pure) or type(budget) is type(held)
        if not fits:
            allowed = f"a budget that fits under the data set's, which is {held.describe()}"
            raise BadParameter("budget", budget.describe(), allowed)

    def apply(self, head: Head, written: Written) -> State:
        """Return the state after one more entry; raise `LedgerError` if the entry could not have been written."""
        if written.number != head.number or (self.time is not None and written.time < self.time):
            raise LedgerError(f"entry {head.number} of the ledger is out of order")
        try:
            if isinstance(written.record, Charged):
                self.check_open(written.record.account, written.time)
            after = self._after(written.record, written.number)
        except LedgerError:
            raise
        except PrivetError:
            raise_alone(LedgerError(f"entry {head.number} of the ledger breaks the ledger's rules"))
        return State(
            head, written.time, after.rules, after.dataset, after.accounts, after.failures, after.steps, after.promises
        )

    def _after(self, record: Record, number: int = 0) -> State:
        if isinstance(record, Opened) != (self.rules is None):
            raise LedgerError("the ledger's rules must be its first entry, and only that")
        if isinstance(record, ToppedUp):
            self.check_spent()  # before there is more to spend
        match record:
            case Charged():
                return self._charged(record)
            case Answered(account=name) | Cleared(account=name):
                waiting = self.failures.get(name, 0)
                kept = isinstance(record, Answered) and waiting >= HELD
                return replace(self, failures={**self.failures, name: 0}) if waiting and not kept else self
            case Frozen(account=name):
                return replace(self, failures={**self.failures, name: HELD})
            case Acted():
                return self
            case Opened(cap=cap, expires=expires):
                return replace(self, rules=record, dataset=open_account(cap, expires))
            case AccountOpened(account=name, cap=cap, expires=expires):
                if name in self.accounts or name in self.promises:
                    raise LedgerError("the ledger opens an account twice")
                self.check_under(cap.budget)
                return self._with(name, open_account(cap, expires))
            case PromiseOpened(account=name):
                if self.has_account(name):
                    raise LedgerError("the ledger opens an account twice")
                return replace(self, promises={**self.promises, name: number})
            case ToppedUp(account=None, cap=cap):
                return replace(self, dataset=self.whole.top_up(cap))
            case ToppedUp(account=str(name), cap=cap):
                return self._with(name, self.known(name).top_up(cap))
            case Limited(per_query=most):
                return replace(self, rules=replace(self.opened, per_query=most))
            case Rescheduled(account=None, expires=expires):
                rules = replace(self.opened, expires=expires)
                return replace(self, rules=rules, dataset=replace(self.whole, expires=expires))
            case Rescheduled(account=str(name), expires=expires):
                return self._with(name, replace(self.known(name), expires=expires))
            case Stepped():
                return replace(self, steps=after_step(self.steps, number, record))
            case Failed(account=name, charge=charge):
                failures = {**self.failures, name: self.failures.get(name, 0) + 1}
                return replace(self, failures=failures, steps=after_failure(self.steps, charge))
        raise LedgerError("the ledger contains an entry that this version of Privet does not know")

    def _charged(self, charge: Charged) -> State:
        dataset, own = charge.by_dataset, self.check_paid(charge)
        whole = self.whole if dataset is None else self.whole.pay(dataset, charge.blocks)
        accounts = self.accounts
        if own is not None and charge.by_account is not None:
            accounts = {**accounts, charge.account: own.pay(charge.by_account, charge.blocks)}
        return State(self.head, self.time, self.rules, whole, accounts, self.failures, self.steps, self.promises)

    def check_paid(self, charge: Charged) -> Account | None:
        """Return the account that a charge counts against beside the data set's, or raise where it misses one."""
        dataset, own = charge.by_dataset, self.own(charge.account)
        if (dataset is None) != (charge.shared is not None) or (charge.by_account is None) != (own is None):
            raise LedgerError("a charge in the ledger must count against the data set's budget and the account's own")
        return own

    def check_spent(self) -> None:
        """Raise `LedgerError` if more was spent than there was."""
        self.whole.check_spent()
        for account in self.accounts.values():
            account.check_spent()

    def known(self, name: str) -> Account:
        """Return an account that has a cap of its own."""
        if name not in self.accounts:
            raise UnknownName("account", name, self.accounts)
        return self.accounts[name]

    def _with(self, name: str, account: Account) -> State:
        return replace(self, accounts={**self.accounts, name: account})

    def snapshot(self) -> dict[str, Any]:
        """Return what was spent and who is frozen, as plain data."""
        return {
            "dataset": self.whole.snapshot(),
            "accounts": {name: account.snapshot() for name, account in self.accounts.items()},
            "failures": {name: times for name, times in self.failures.items() if times},
            **write_steps(self.steps),
            **({"promises": dict(self.promises)} if self.promises else {}),
        }

    def restore(self, head: Head, time: Time, data: Any) -> State:
        """Return the state at a head from its snapshot, where this state has the rules of that head."""
        try:
            failures = {str(name): int(times) for name, times in data["failures"].items()}
            accounts = {name: account.restore(data["accounts"][name]) for name, account in self.accounts.items()}
            dataset = self.whole.restore(data["dataset"])
            steps = read_steps(data)
            promises = {str(name): int(number) for name, number in data.get("promises", {}).items()}
        except (KeyError, TypeError, ValueError, AttributeError):
            raise_alone(LedgerError("the cached balance does not fit the ledger's rules"))
        now = replace(self, head=head, time=time, dataset=dataset, accounts=accounts, failures=failures)
        return replace(now, steps=steps, promises=promises)

    def agrees(self, other: State) -> bool:
        """Return whether two states stand for the same balance."""
        return (
            self.head == other.head
            and self.steps == other.steps
            and self.promises == other.promises
            and self.whole.agrees(other.whole)
            and self.accounts.keys() == other.accounts.keys()
            and all(account.agrees(other.accounts[name]) for name, account in self.accounts.items())
            and all(
                self.failures.get(name, 0) == other.failures.get(name, 0) for name in {*self.failures, *other.failures}
            )
        )


def rules_only(history: Iterable[Record]) -> State:
    """Return the state of a history in which nothing was spent: its rules, accounts, top-ups and their changes."""
    state = State()
    for record in history:
        if isinstance(record, Rule):
            state = state._after(record)
    return state


# What is left of each budget, for people: how much of it is spent, what still fits, who may not spend.


@dataclass(frozen=True)
class Balance:
    """One budget at one time. `account` is None for the data set's own.

    `spent` is a share of what there is: of the measure in which the account counts, or of the delta for keys where
    that is nearer to its end. `largest_epsilon` is the most that one more pure question can cost, under the
    data set's budget as well; `largest_rho` the same for an account that counts rho, and None for others.
    """

    account: str | None
    budget: Budget
    spent: float
    largest_epsilon: float
    largest_rho: float | None
    keys_delta: Fraction
    expires: Time | None
    expired: bool
    frozen: bool

    @property
    def state(self) -> str:
        """Whether the account may spend: open, expired or frozen."""
        return "frozen" if self.frozen else "expired" if self.expired else "open"

    def to_dict(self) -> dict[str, Any]:
        """Return the balance as plain data."""
        return {
            "account": self.account,
            "budget": codec.write_budget(self.budget),
            "spent_share": self.spent,
            "largest_epsilon": self.largest_epsilon,
            "largest_rho": self.largest_rho,
            "keys_delta": float_down(self.keys_delta),
            "expires": None if self.expires is None else write_time(self.expires),
            "state": self.state,
        }


def balances_of(state: State, now: Time) -> tuple[Balance, ...]:
    """Return the balance of the data set, and then of each account, by name."""
    whole = _balance(None, state.whole, state, now)
    return whole, *(_balance(name, state.accounts[name], state, now) for name in sorted(state.accounts))


def _balance(name: str | None, account: Account, state: State, now: Time) -> Balance:
    left, whole = account.remaining(), state.whole
    over = whole.remaining()
    ends = [end for end in (account.expires, whole.expires) if end is not None]
    return Balance(
        name,
        account.budget(),
        min(spent_share(account.loaded(index)) for index in range(len(account.filters))),
        min(left.largest_epsilon, over.largest_epsilon),
        _rho(account, whole) if isinstance(account.budget(), Zcdp) else None,
        min(left.delta, over.delta),
        min(ends, default=None),
        any(now >= end for end in ends),
        name is not None and state.failures.get(name, 0) >= FREEZES,
    )


@dataclass(frozen=True)
class BlockShare:
    """How much of a budget a run of blocks has spent: those from `first` to before `end`, each the same share."""

    first: int
    end: int
    spent: float


def block_shares(account: Account, division: str) -> tuple[BlockShare, ...]:
    """Return how much of an account the blocks of a division have spent, each by itself, in runs of equal ones."""
    shares: list[BlockShare] = []
    ends = sorted({end for runs in account.runs(division) for first, last, _ in runs for end in (first, last)})
    for first, end in pairwise(ends):
        spent = min(spent_share(one) for one in account.in_block(division, first))
        if shares and (shares[-1].end, shares[-1].spent) == (first, spent):
            shares[-1] = BlockShare(shares[-1].first, end, spent)
        else:
            shares.append(BlockShare(first, end, spent))
    return tuple(shares)


def _rho(*accounts: Account) -> float:
    """Return the largest rho that Gaussian noise may still cost under all of these accounts, rounded down."""
    left = (max(_rho_left(one.loaded(index)) for index in range(len(one.filters))) for one in accounts)
    return max(0.0, float_down(min(left)))


def _rho_left(one: Filter) -> Fraction:
    match one:
        case ZcdpFilter(budget=Zcdp(rho=most), spent=spent):
            return most - spent
        case RenyiFilter(order=order, spent=spent) if not math.isinf(spent):
            # a divergence enters the sum as a float that is rounded up, so a little less than all of it fits
            return (one.allowed - Fraction(spent)) / Fraction(order) * (1 - Fraction(1, 2**40))
    return Fraction(0)


def spent_share(one: Filter) -> float:
    """Return which part of a filter was spent, from 0 to 1."""
    match one:
        case PureFilter(budget=Pure(epsilon=most), spent=spent) | ZcdpFilter(budget=Zcdp(rho=most), spent=spent):
            return _share(spent, most)
        case RenyiFilter(spent=spent, spent_pure=pure, spent_delta=delta):
            charged = min(_share(spent, one.allowed), _share(pure, one.budget.epsilon))
            return max(charged, _share(delta, one.keys_delta))
    return 1.0


def _share(spent: Exact, most: Fraction) -> float:
    return 1.0 if math.isinf(spent) or spent >= most else float(Fraction(spent) / most)
