"""The rules of a ledger, and what its history of entries amounts to: accounts, what they spent, which are frozen.

A state is a fold over records. It is never trusted beyond the head it belongs to, and can always be made again from the
first entry. Code that needs no history stands below: the rules that a ledger is opened with, names, times, the cost of
one query.
"""

from __future__ import annotations

import datetime
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import pairwise
from typing import Any, cast

from privet.accounting.cost import epsilon as epsilon_at
from privet.accounting.cost import within
from privet.accounting.filters import Filter, PureFilter, RenyiFilter, ZcdpFilter, open_filter
from privet.core.budget import Approximate, Budget, Pure, Zcdp
from privet.core.errors import (
    BadParameter,
    BudgetError,
    BudgetExceeded,
    LedgerError,
    PrivetError,
    UnknownName,
    Unsupported,
    raise_alone,
)
from privet.core.event import Event, Exact
from privet.core.given import called, instance, is_a, mapping, moment
from privet.core.numbers import Number, float_down, float_up, open_probability
from privet.ledger import codec

from .account import Account, given_budget, make_cap, open_account
from .codec import START, Head, canonical
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

# One release in several steps, from the history: a fold over its entries.


@dataclass(frozen=True)
class Progress:
    """How far the steps of one charge have come: the last closed step, and the hash of the state after it.

    `opened` is the step up to which the next ones are open and not closed yet, with the number of the entry that opened
    them and what they are about; None where none is open. Where it is `over`, no more steps are opened.
    """

    step: int
    state: str
    opened: int | None = None
    opening: int | None = None
    about: str | None = None
    over: bool = False

    def differs(self, step: int) -> LedgerError:
        """Return the error for a state that claims to be the one after a step, and is not the ledger's."""
        if step < self.step:
            return LedgerError(
                f"this state is of step {step}, and the ledger has closed step {self.step}: an old copy was put back, "
                "or another copy went on. It is refused, since its next step was drawn before; put back the latest one"
            )
        return LedgerError(
            f"this state is not the one after step {self.step} that the ledger knows: it was changed, or it is a "
            "fork or another stream's; put back the latest one"
        )


Steps = Mapping[int, Progress]
"""Every release in several steps, by the number of the entry that charged it."""


def after_step(steps: Steps, number: int, record: Stepped) -> Steps:
    """Return the steps after one more entry, or raise `LedgerError` where it could not have been written."""
    progress = steps.get(record.charge)
    if progress is not None and progress.over:
        raise LedgerError("the ledger contains a step after the last one")
    match record.phase:
        case "begin" if progress is None and record.step == 0:
            now = Progress(0, record.state)
        case "open" if progress is not None and record.step > progress.step and record.state == progress.state:
            now = replace(progress, opened=record.step, opening=number, about=record.about)
        case "close" if progress is not None and progress.opened == record.step:
            now = Progress(record.step, record.state, over=record.last)
        case _:
            raise LedgerError("the ledger contains a step that does not follow from the one before")
    return {**steps, record.charge: now}


def after_failure(steps: Steps, charge: int) -> Steps:
    """Return the steps after the engine failed for a charge: no more of its steps are opened."""
    progress = steps.get(charge)
    return steps if progress is None else {**steps, charge: Progress(progress.step, progress.state, over=True)}


def write_steps(steps: Steps) -> dict[str, Any]:
    """Return the steps for a cached balance, as plain data; nothing where there are none."""
    if not steps:
        return {}
    return {"steps": {str(charge): list(vars(progress).values()) for charge, progress in steps.items()}}


def read_steps(data: Mapping[str, Any]) -> Steps:
    """Return the steps of a cached balance."""
    return {int(charge): Progress(*values) for charge, values in data.get("steps", {}).items()}


# The balance.


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
        """Return an account that has its own cap."""
        if name not in self.accounts:
            raise UnknownName("account", name, self.accounts)
        return self.accounts[name]

    def _with(self, name: str, account: Account) -> State:
        return replace(self, accounts={**self.accounts, name: account})

    def snapshot(self) -> dict[str, Any]:
        """Return the amounts spent and the frozen accounts, as plain data."""
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


# The remainder of each budget, for people: how much of it is spent, what still fits, who may not spend.


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
    """Return how much of an account the blocks of a division have spent, each alone, in runs of equal ones."""
    shares: list[BlockShare] = []
    ends = sorted({end for runs in account.runs(division) for first, last, _ in runs for end in (first, last)})
    for first, end in pairwise(ends):
        spent = min(spent_share(filter_) for filter_ in account.in_block(division, first))
        if shares and (shares[-1].end, shares[-1].spent) == (first, spent):
            shares[-1] = BlockShare(shares[-1].first, end, spent)
        else:
            shares.append(BlockShare(first, end, spent))
    return tuple(shares)


def _rho(*accounts: Account) -> float:
    """Return the largest rho that Gaussian noise may still cost under all of these accounts, rounded down."""
    left = (max(_rho_left(account.loaded(index)) for index in range(len(account.filters))) for account in accounts)
    return max(0.0, float_down(min(left)))


def _rho_left(filter_: Filter) -> Fraction:
    match filter_:
        case ZcdpFilter(budget=Zcdp(rho=most), spent=spent):
            return most - spent
        case RenyiFilter(order=order, spent=spent) if not math.isinf(spent):
            # a divergence enters the sum as a float that is rounded up, so a little less than all of it fits
            return (filter_.allowed - Fraction(spent)) / Fraction(order) * (1 - Fraction(1, 2**40))
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


# The rules that a ledger is opened with, and the checks that need no history: names, times, the cost of one query.


KEYS_SHARE = Fraction(1, 2)
"""The part of an account's delta that may be spent on discovering keys, over all of its queries."""

LARGEST_STEP_BACK = datetime.timedelta(minutes=1)
"""How far a machine's clock may be behind the last entry, which another machine may have written."""

_LONGEST_NAME = 200
_NO_CHARACTER = re.compile("[\0\ud800-\udfff]")

Clock = Callable[[], Time]


def utc_now() -> Time:
    """Return the time in UTC."""
    return datetime.datetime.now(datetime.UTC)


def next_time(clock: Clock, state: State) -> Time:
    """Return the time for the next entry: never before the last one's, and refused where the clocks are apart."""
    now = called(clock, "clock")
    if not isinstance(now, datetime.datetime) or now.tzinfo is None:
        raise BadParameter("clock", now, "a function that returns a datetime.datetime with a time zone")
    if state.time is None or now >= state.time:
        return now
    if state.time - now > LARGEST_STEP_BACK:
        raise LedgerError(
            "the ledger's last entry lies in this machine's future, so one clock is wrong; "
            "set the clocks of all machines that share the ledger"
        )
    return state.time


def make_rules(
    budget: Budget,
    *,
    per_query: Budget | None = None,
    expires: Time | None = None,
    keys_share: Number = KEYS_SHARE,
    ledger: str,
) -> Opened:
    """Return the first entry of a new ledger."""
    share = open_probability(keys_share, "keys_share")
    return Opened(ledger, make_cap(budget, share), read_limit(per_query), read_expiry(expires))


def read_caps(analysts: Mapping[str, Budget] | None) -> Mapping[str, Budget]:
    """Return analysts' caps by name."""
    allowed = "a mapping of names to budgets"
    if analysts is None:
        return {}
    caps = mapping(analysts, "analysts", allowed)
    for name, cap in caps.items():
        read_name(name, "analysts")
        instance(cap, Budget, "analysts", allowed)
    return dict(caps)


def read_limit(per_query: Budget | None) -> Budget | None:
    """Return the most that one query may cost; None where there is no such limit."""
    return None if per_query is None else given_budget(per_query, "per_query")


def read_name(value: object, parameter: str) -> str:
    """Return a name, a digest, a key or a reason: text that is not empty, not long and of whole characters."""
    if not isinstance(value, str) or not value.strip() or len(value) > _LONGEST_NAME or _NO_CHARACTER.search(value):
        raise BadParameter(parameter, value, f"text of 1 to {_LONGEST_NAME} characters")
    return value


def read_text(value: object, parameter: str = "text") -> str:
    """Return text of any length, of whole characters."""
    if not isinstance(value, str) or _NO_CHARACTER.search(value):
        raise BadParameter(parameter, value, "text, of whole characters")
    return value


def read_labels(versions: object) -> tuple[tuple[str, str], ...]:
    """Return the labels of tables' versions, by the tables' names."""
    if versions is None:
        return ()
    named = mapping(versions, "versions", "a mapping of tables to labels")
    labels = ((read_text(name, "versions"), read_text(label, "versions")) for name, label in named.items())
    return tuple(sorted(labels))


def read_facts(value: object) -> str | None:
    """Return the public facts about a plan as the text of a JSON object; None where there is nothing."""
    if value is None:
        return None
    try:
        if isinstance(value, Mapping):
            return canonical(dict(value))
    except (TypeError, ValueError, RecursionError):
        pass
    raise BadParameter("facts", type(value).__name__, "plain data that JSON can represent, by name")


def read_lines(lines: object) -> Iterator[str]:
    """Return the lines of an export one by one, or raise `BadParameter` or `LedgerError` where they are not."""
    allowed = "the lines that export() returned"
    if isinstance(lines, (str, bytes)) or not is_a(lines, Iterable):
        raise BadParameter("lines", type(lines).__name__, allowed)

    def each() -> Iterator[str]:
        try:
            for line in cast(Iterable[object], lines):
                if not isinstance(line, str):
                    raise BadParameter("lines", type(line).__name__, allowed)
                yield line
        except PrivetError:
            raise
        except OSError as error:
            raise_alone(LedgerError(f"the lines of the ledger cannot be read: {error.strerror}"))
        except Exception as error:  # a foreign iterator may raise anything
            raise_alone(BadParameter("lines", type(error).__name__, allowed))

    return each()


def read_expiry(expires: object) -> Time | None:
    """Return when spending ends, to the microsecond, in UTC."""
    if expires is None:
        return None
    return moment(expires, "expires")


def check_query(event: Event, most: Budget | None) -> None:
    """Raise unless one query alone stays within the most that one may cost."""
    cost: Exact
    match most:
        case None:
            return
        case Pure(epsilon=cap):
            measure, cost = "epsilon", event.pure()
        case Zcdp(rho=cap):
            measure, cost = "rho", event.rho()
        case Approximate(epsilon=cap, delta=delta):
            if within(event, cap, delta):
                return
            measure, cost = "epsilon", epsilon_at(event, delta)
    if math.isinf(cost) or (event.slack() > 0 and not isinstance(most, Approximate)):
        raise Unsupported(f"the cost of this cannot be put as that of one query may be, which is {most.describe()}")
    if cost > cap:
        raise BudgetExceeded(
            measure=f"the {measure} that one query may cost",
            requested=float_up(cost),
            remaining=float_down(cap),
            largest_epsilon=open_filter(most).remaining().largest_epsilon,
            largest_rho=float_down(cap) if measure == "rho" else None,
        )


# Whether a ledger's file has the rules that its opener names.


def check_rules(
    state: State, budget: Budget | None, *, per_query: Budget | None, expires: Time | None, keys_share: Number | None
) -> None:
    """Raise `BadParameter` unless a ledger has the rules that were named: with a budget all of them, else those given.

    The budget is the one that the ledger was opened with, or that and all top-ups together.
    """
    rules = state.opened
    if keys_share is not None and (share := open_probability(keys_share, "keys_share")) != rules.cap.keys_share:
        raise _other("keys_share", share, rules.cap.keys_share, "it cannot be changed")
    if budget is not None:
        held = (rules.cap.budget, state.whole.budget())
        if make_cap(budget, rules.cap.keys_share).budget not in held:
            raise _other("budget", budget, held[1], _more(budget, held[1]))
    limit, until = read_limit(per_query), read_expiry(expires)
    if limit != rules.per_query and (limit, budget) != (None, None):
        raise _other("per_query", limit, rules.per_query, "privet ledger limit changes it")
    if until != rules.expires and (until, budget) != (None, None):
        raise _other("expires", until, rules.expires, "privet ledger reschedule changes it")


def check_account(name: str, cap: Budget, opened_with: Budget, now: Budget) -> None:
    """Raise `BadParameter` unless a cap is the one that an account was opened with, or that and all its top-ups."""
    if cap not in (opened_with, now):
        raise _other(f"analysts[{name!r}]", cap, now, _more(cap, now, name))


def _more(wanted: Budget, held: Budget, account: str | None = None) -> str:
    """Return how a budget is raised: by an entry of its own, with a reason, and never by editing a file alone."""
    whose = "" if account is None else f" --account {account!r}"
    if type(wanted) is type(held):
        more = {name: amount - getattr(held, name) for name, amount in vars(wanted).items()}
        if all(amount > 0 for amount in more.values()):
            options = " ".join(f"--{name} {float(amount):g}" for name, amount in more.items())
            return f"to raise it, run: privet ledger top-up {options}{whose} --reason '...'"
        if min(more.values()) == 0 < max(more.values()):  # a part of its own needs both
            return f"to raise it, run privet ledger top-up{whose} with --epsilon and --delta, and write the sums here"
    return f"privet ledger top-up{whose} adds to a budget; none can be lowered"


def _other(parameter: str, wanted: object, held: object, advice: str) -> BadParameter:
    return BadParameter(parameter, _told(wanted), f"what the ledger has, which is {_told(held)} ({advice})")


def _told(rule: object) -> object:
    return rule.describe() if isinstance(rule, Budget) else str(rule)
