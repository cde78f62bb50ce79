"""The rules of every ledger: who pays for what, what is free, what is refused. It does not know where entries are kept.

Each method is one transaction of the keeper's: it sees the balance at the head, and appends or does not.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager
from typing import Any, Protocol

from privet.accounting.filters import Remaining
from privet.core.budget import Budget
from privet.core.entry import Entry, Plain
from privet.core.errors import BadParameter, BudgetError, LedgerError, RequestError
from privet.core.event import Event
from privet.core.receipt import Receipt

from . import codec
from .account import make_cap
from .balance import Balance, balances_of
from .certificate import make_certificate
from .chain import Head
from .records import AccountOpened, Answered, Charged, Cleared, Failed, Record, Time, ToppedUp, Written
from .rules import check_query, read_expiry, read_facts, read_name, read_text
from .state import State


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

    def head_at(self, number: int) -> Head | None:
        """Return the head as it was after an entry; None where there is no such entry."""


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

    @abstractmethod
    def verify(self) -> None:
        """Raise `LedgerError` unless the record is whole and what it shows was allowed."""

    def charge(
        self,
        event: Event,
        digest: str,
        *,
        account: str,
        key: str | None = None,
        versions: Mapping[str, str] | None = None,
        text: str = "",
        facts: Mapping[str, Any] | None = None,
    ) -> Receipt:
        """Record an event and return the receipt, or record nothing and raise.

        The same `key` again returns the first receipt. A plan whose answer is stored is free to who paid for it, and
        is charged to another account's own cap only. `text` and `facts` tell the plan, in words and as plain data.
        """
        # what is charged is what a reader of the ledger will see, not whatever the caller's object answers
        written = codec.write_event(event)
        event = codec.read_event(written)
        read_name(digest, "digest")
        read_name(account, "account")
        labels = tuple(sorted((read_text(name), read_text(label)) for name, label in (versions or {}).items()))
        told = read_facts(facts)
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
                check_query(event, state.opened.per_query)
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
                facts=told,
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
                check_query(event, state.opened.per_query)
            except BudgetError:
                return False
            own = state.own(account)
            return state.whole.admits(event) and (own is None or own.admits(event))

    def history(self) -> tuple[Entry, ...]:
        """Return every charge, oldest first."""
        with self._reading() as page:
            return tuple(written.entry() for written in page.entries() if isinstance(written.record, Charged))

    def entries(self) -> tuple[Written, ...]:
        """Return every entry of any kind, oldest first."""
        with self._reading() as page:
            return tuple(page.entries())

    def head(self) -> str:
        """Return the number and the hash of the last entry. Kept elsewhere, it shows whether a file was put back."""
        with self._reading() as page:
            return str(page.state.head)

    def certificate(self, number: int) -> dict[str, Any]:
        """Return what a charge protected, how, and at what cost, with the ledger's head: public, as plain data."""
        with self._reading() as page:
            return make_certificate(page, number)

    def balances(self) -> tuple[Balance, ...]:
        """Return what is left of the data set's budget, and then of each account's, by name."""
        with self._reading() as page:
            return balances_of(page.state, self._now(page.state))

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
