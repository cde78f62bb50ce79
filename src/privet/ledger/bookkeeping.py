"""The rules of every ledger: who pays for what, what is free, what is refused. It does not know where entries are kept.

Each method is one transaction of the keeper's: it sees the balance at the head, and appends or does not.
"""

from __future__ import annotations

import datetime
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from fractions import Fraction
from typing import Protocol

from privet.accounting.cost import epsilon as epsilon_at
from privet.accounting.cost import within
from privet.accounting.filters import Remaining, open_filter
from privet.core.budget import Approximate, Budget, Pure, Zcdp
from privet.core.entry import Entry, Plain
from privet.core.errors import BadParameter, BudgetError, BudgetExceeded, LedgerError, RequestError, Unsupported
from privet.core.event import Event, Exact
from privet.core.exact import open_probability
from privet.core.receipt import Receipt
from privet.core.rounding import float_down, float_up

from . import codec
from .account import make_cap
from .records import AccountOpened, Answered, Charged, Cleared, Failed, Opened, Record, Time, ToppedUp, Written
from .state import State

KEYS_SHARE = Fraction(1, 2)
"""The part of an account's delta that may be spent on discovering keys, over all of its queries."""

LARGEST_STEP_BACK = datetime.timedelta(minutes=1)
"""How far a machine's clock may be behind the last entry, which another machine may have written."""

_LONGEST_NAME = 200

Clock = Callable[[], Time]


def utc_now() -> Time:
    """Return the time in UTC."""
    return datetime.datetime.now(datetime.UTC)


class Page(Protocol):
    """One transaction on a ledger: the state at the head, entries by what they are about, and a place to write."""

    state: State

    def append(self, record: Record) -> int:
        """Write one more entry and return its number."""

    def read(self, number: int) -> Written:
        """Return an entry by its number, or raise `LedgerError`."""

    def charge_of(self, digest: str, account: str) -> int | None:
        """Return the number of the account's first charge for a plan."""

    def charge_with(self, key: str, account: str) -> int | None:
        """Return the number of the account's charge with a key."""

    def answer_to(self, digest: str) -> int | None:
        """Return the number of the entry with a plan's answer."""

    def entries(self) -> Iterator[Written]:
        """Return every entry, oldest first."""


class Bookkeeping(ABC):
    """A ledger, up to how it keeps its entries.

    Guarantee: whatever was charged keeps the data set's promise, and each account's own, however the events were
    chosen; see `Account`. Nothing is charged that was not written as it was charged.
    """

    @abstractmethod
    def _writing(self) -> AbstractContextManager[Page]:
        """Return a transaction that nobody else's can run beside; it is kept whole or not at all."""

    @abstractmethod
    def _reading(self) -> AbstractContextManager[Page]:
        """Return a transaction that only reads."""

    @abstractmethod
    def _now(self, state: State) -> Time:
        """Return the time for the next entry."""

    def charge(
        self,
        event: Event,
        digest: str,
        *,
        account: str,
        key: str | None = None,
        versions: Mapping[str, str] | None = None,
        text: str = "",
    ) -> Receipt:
        """Record an event and return the receipt, or record nothing and raise.

        The same `key` again returns the first receipt. A plan whose answer is stored is free to who paid for it, and
        is charged to another account's own cap only.
        """
        # what is charged is what a reader of the ledger will see, not whatever the caller's object answers
        written = codec.write_event(event)
        event = codec.read_event(written)
        read_name(digest, "digest")
        read_name(account, "account")
        labels = tuple(sorted((read_text(name), read_text(label)) for name, label in (versions or {}).items()))
        with self._writing() as page:
            if key is not None and (earlier := page.charge_with(read_name(key, "key"), account)) is not None:
                paid = page.read(earlier).entry()
                if paid.digest != digest:
                    raise RequestError(f"the key {key!r} was used for another question; choose another key")
                return Receipt(earlier, digest, account)
            answer, mine = page.answer_to(digest), page.charge_of(digest, account)
            if answer is not None and mine is not None:
                return Receipt(mine, digest, account)
            state = page.state
            state.check_open(account, self._now(state))
            shared = None if answer is None else _repeated(page, answer, written)
            if shared is None:
                _check_query(event, state.opened.per_query)
            own = state.own(account)
            charge = Charged(
                account,
                digest,
                written,
                key,
                shared,
                by_dataset=state.whole.price(event) if shared is None else None,
                by_account=None if own is None else own.price(event),
                versions=labels,
                text=read_text(text),
            )
            number = page.append(charge)
        return Receipt(number, digest, account)

    def store(self, receipt: Receipt, released: Plain) -> Plain:
        """Keep what a charge released, before it is shown, and return what the plan's digest now stands for.

        The first release of a plan is kept: whoever asks the same again sees the same numbers.
        """
        written = codec.write_plain(released)
        with self._writing() as page:
            self._check_receipt(page, receipt)
            earlier = page.answer_to(receipt.digest)
            if earlier is None:
                earlier = page.append(Answered(receipt.account, receipt.digest, receipt.entry, written))
            return _answer(page, earlier).released

    def find(self, digest: str, account: str) -> tuple[Receipt, Plain] | None:
        """Return the stored answer to a plan that the account has paid for, with its receipt."""
        with self._reading() as page:
            mine, answer = page.charge_of(digest, account), page.answer_to(digest)
            if mine is None or answer is None:
                return None
            return Receipt(mine, digest, account), _answer(page, answer).released

    def fail(self, receipt: Receipt) -> None:
        """Record that the engine failed after a charge, which stands; three in a row freeze the account."""
        with self._writing() as page:
            self._check_receipt(page, receipt)
            page.append(Failed(receipt.account, receipt.entry))

    def clear(self, account: str, *, reason: str) -> None:
        """Let a frozen account spend again, and say why."""
        record = Cleared(read_name(account, "account"), read_name(reason, "reason"))
        with self._writing() as page:
            page.append(record)

    def admits(self, event: Event, *, account: str) -> bool:
        """Return whether an event would fit now, as a new question. Charges nothing."""
        with self._reading() as page:
            state = page.state
            try:
                state.check_open(account, self._now(state))
                _check_query(event, state.opened.per_query)
            except BudgetError:
                return False
            own = state.own(account)
            return state.whole.admits(event) and (own is None or own.admits(event))

    def history(self) -> tuple[Entry, ...]:
        """Return every charge, oldest first."""
        with self._reading() as page:
            return tuple(written.entry() for written in page.entries() if isinstance(written.record, Charged))

    def budget_of(self, account: str | None = None) -> Budget:
        """Return the budget that an account may spend: its own cap, or else the data set's; top-ups are in it."""
        with self._reading() as page:
            return page.state.budget_of(account)

    def accounts(self) -> tuple[str, ...]:
        """Return the names of the accounts that have a cap of their own."""
        with self._reading() as page:
            return tuple(sorted(page.state.accounts))

    def remaining(self, account: str | None = None) -> Remaining:
        """Return what is left for an account under both caps, or of the data set's.

        With several (epsilon, delta) filters open, it is what is left of the one with the most room.
        """
        with self._reading() as page:
            whole = page.state.whole.remaining()
            own = None if account is None else page.state.own(account)
            return whole if own is None else min(own.remaining(), whole, key=lambda left: left.largest_epsilon)

    def top_up(self, budget: Budget, *, reason: str, account: str | None = None) -> None:
        """Add to an account's budget, or to the data set's, and say why. What was spent stays spent.

        Guarantee: afterwards the promise is the sum of the budgets; see `Account`.
        """
        read_name(reason, "reason")
        with self._writing() as page:
            cap = make_cap(budget, page.state.opened.cap.keys_share)
            target = page.state.whole if account is None else page.state._known(account)
            target.top_up(cap)
            page.append(ToppedUp(account, cap, reason))

    def open_account(self, account: str, budget: Budget, *, expires: Time | None = None) -> None:
        """Open an account with a cap of its own under the data set's. From then on only opened accounts may spend."""
        read_name(account, "account")
        until = read_expiry(expires)
        with self._writing() as page:
            cap = make_cap(budget, page.state.opened.cap.keys_share)
            page.state.check_under(cap.budget)
            if account in page.state.accounts:
                raise BadParameter("account", account, "a name that has no account yet; top_up adds to one that has")
            page.append(AccountOpened(account, cap, until))

    def recount(self) -> None:
        """Raise `LedgerError` if some event costs more than was taken for it, as this version prices it now.

        `verify` adds up what was taken, which is quick. This prices every event again.
        """
        with self._reading() as page:
            state = page.state
            for written in page.entries():
                if isinstance(written.record, Charged):
                    state.check_cost(written.record)

    def _check_receipt(self, page: Page, receipt: Receipt) -> None:
        if not isinstance(receipt, Receipt) or not 0 < receipt.entry <= page.state.head.number:
            raise LedgerError("this receipt is not from this ledger")
        record = page.read(receipt.entry).record
        if not isinstance(record, Charged) or (record.digest, record.account) != (receipt.digest, receipt.account):
            raise LedgerError("this receipt is not from this ledger")


def next_time(clock: Clock, state: State) -> Time:
    """Return the time for the next entry: never before the last one's, and refused where the clocks are apart."""
    now = clock()
    if state.time is None or now >= state.time:
        return now
    if state.time - now > LARGEST_STEP_BACK:
        raise LedgerError(
            "the ledger's last entry lies in this machine's future, so one clock is wrong; "
            "set the clocks of all machines that share the ledger"
        )
    return state.time


def make_rules(
    budget: object,
    *,
    per_query: Budget | None = None,
    expires: Time | None = None,
    keys_share: object = KEYS_SHARE,
    ledger: str,
) -> Opened:
    """Return the first entry of a new ledger."""
    share = open_probability(keys_share, "keys_share")
    if per_query is not None and not isinstance(per_query, (Pure, Approximate, Zcdp)):
        raise BadParameter("per_query", per_query, "Pure(...), Approximate(...) or Zcdp(...)")
    return Opened(ledger, make_cap(budget, share), per_query, read_expiry(expires))


def read_name(value: object, parameter: str) -> str:
    """Return a name, a digest, a key or a reason: text that is not empty and not long."""
    if not isinstance(value, str) or not value.strip() or len(value) > _LONGEST_NAME:
        raise BadParameter(parameter, value, f"text of 1 to {_LONGEST_NAME} characters")
    return value


def read_text(value: object) -> str:
    """Return text of any length."""
    if not isinstance(value, str):
        raise BadParameter("text", value, "text")
    return value


def read_expiry(expires: object) -> Time | None:
    """Return when spending ends, to the microsecond, in UTC."""
    if expires is None:
        return None
    if not isinstance(expires, datetime.datetime) or expires.tzinfo is None:
        raise BadParameter("expires", expires, "a datetime.datetime with a time zone")
    return expires.astimezone(datetime.UTC)


def _answer(page: Page, number: int) -> Answered:
    record = page.read(number).record
    if not isinstance(record, Answered):
        raise LedgerError(f"entry {number} of the ledger is not an answer")
    return record


def _repeated(page: Page, answer: int, event_data: codec.Json) -> int:
    """Return the number of the charge that paid for a stored answer in full."""
    number = _answer(page, answer).charge
    paid = page.read(number).record
    if not isinstance(paid, Charged) or paid.event_data != event_data:
        raise LedgerError("one digest stands for two different costs; the ledger cannot tell which is meant")
    return number


def _check_query(event: Event, most: Budget | None) -> None:
    """Raise unless one query by itself stays within the most that one may cost."""
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
        )
