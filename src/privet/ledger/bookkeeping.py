"""The rules of every ledger: who pays for what, what is free, what is refused. It does not know where entries are kept.

Each method is one transaction of the keeper's: it sees the balance at the head, and appends or does not.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Any

from privet.accounting.filters import Remaining
from privet.core.budget import Budget
from privet.core.errors import BadParameter, BudgetError, LedgerError, RequestError, Unsupported
from privet.core.event import Event, read_event
from privet.core.numbers import whole
from privet.core.records import Entry, Plain, Receipt

from . import codec
from .certificate import Suspect, make_certificate, review
from .custody import Custody
from .entries import Answered, Charged, Failed, Written
from .limits import check_query, read_facts, read_labels, read_name, read_text
from .page import Page
from .state import Balance, balances_of

_MOST_ENTRIES = 2**62
"""No ledger has so many entries, and SQLite counts further."""


class Bookkeeping(Custody):
    """A ledger, up to how it keeps its entries.

    Guarantee: whatever was charged keeps the data set's promise, and each account's own, however the events were
    chosen; see `Account`. Nothing is charged that was not written as it was charged. Of each plan one answer is ever
    kept, and only what was kept is shown: so one charge in full pays for it, whoever draws it and however often.
    """

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

        The same `key` again returns the first receipt. A plan that was paid for in full, and whose charge did not end
        in a failure, is free to who paid for it and charged to another account's own cap only. `text` and `facts` tell
        the plan, in words and as plain data.
        """
        # what is charged is what a reader of the ledger will see, not whatever the caller's object answers
        written = codec.write_event(event)
        event = codec.read_event(written)
        read_name(digest, "digest")
        read_name(account, "account")
        labels, words, told = read_labels(versions), read_text(text), read_facts(facts)
        if key is not None:
            read_name(key, "key")
        with self._writing() as page:
            state = page.state
            earlier = None if key is None else _keyed(page, read_name(key, "key"), digest, account, written)
            answer = page.answer_to(digest)
            paid = _paid_for(page, digest, written) if answer is None else _answered(page, answer, digest, written)
            if earlier is None:
                earlier = paid.get(account)
            if earlier is not None and answer is not None:
                return _receipt(page, earlier, digest, account)
            now = page.now()
            state.check_open(account, now)
            if earlier is not None:
                return _receipt(page, earlier, digest, account)
            shared = _in_full(page, next(iter(paid.values()))) if paid else None
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
                text=words,
                facts_text=told,
            )
            return _receipt(page, page.append(charge, now), digest, account)

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
            return _answer(page, earlier, receipt.digest).released

    def find(self, digest: str, account: str) -> tuple[Receipt, Plain] | None:
        """Return the stored answer to a plan that the account has paid for, with its receipt."""
        read_name(digest, "digest")
        read_name(account, "account")
        with self._reading() as page:
            number = page.answer_to(digest)
            if number is None:
                return None
            answer = _answer(page, number, digest)
            mine = answer.charge if answer.account == account else _charges(page, digest).get(account)
            return None if mine is None else (_receipt(page, mine, digest, account, number), answer.released)

    def fail(self, receipt: Receipt) -> None:
        """Record that the engine failed after a charge, which stands; three in a row freeze the account."""
        with self._writing() as page:
            self._check_receipt(page, receipt)
            page.append(Failed(receipt.account, receipt.entry))

    def admits(self, event: Event, *, account: str) -> bool:
        """Return whether an event would fit now, as a new question. Charges nothing."""
        read_event(event)
        read_name(account, "account")
        with self._reading() as page:
            state = page.state
            try:
                state.check_open(account, page.now())
                check_query(event, state.opened.per_query)
            except (BudgetError, Unsupported):
                return False
            own = state.own(account)
            return state.whole.admits(event) and (own is None or own.admits(event))

    def history(
        self, *, after: int = 0, limit: int | None = None, last: int | None = None, account: str | None = None
    ) -> tuple[Entry, ...]:
        """Return every charge, oldest first, or a page of them; of the entries before the page none is read.

        Args:
            after: begin after the entry of this number.
            limit: at most this many charges.
            last: the latest charges, this many; without `after` and `limit`.
            account: only what was charged to this account; `last` then looks among the latest charges of all.
        """
        with self._reading() as page:
            found = page.charges(_beginning(page, after, limit, last, charges=True))
            return tuple(one.entry() for one in _page_of(found, limit, last, account))

    def entries(
        self, *, after: int = 0, limit: int | None = None, last: int | None = None, account: str | None = None
    ) -> tuple[Written, ...]:
        """Return every entry of any kind, oldest first, or a page of them, as `history` does."""
        with self._reading() as page:
            found = page.entries(_beginning(page, after, limit, last, charges=False))
            return tuple(_page_of(found, limit, last, account))

    def entry(self, number: int) -> Written:
        """Return one entry by its number."""
        with self._reading() as page:
            final = page.state.head.number
            if type(number) is not int or not 1 <= number <= final:
                raise BadParameter("entry", number, f"the number of one of the ledger's entries, from 1 to {final}")
            return page.read(number)

    def review(self) -> tuple[Suspect, ...]:
        """Return the releases that an earlier version made with a form of question that leaked, oldest first.

        As far as their entries tell: some may be harmless, and none is missing. Changes nothing.
        """
        with self._reading() as page:
            return review(page.entries())

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
            return balances_of(page.state, page.now())

    def budget_of(self, account: str | None = None) -> Budget:
        """Return the budget that an account may spend: its own cap, or else the data set's; top-ups are in it."""
        if account is not None:
            read_name(account, "account")
        with self._reading() as page:
            return page.state.budget_of(account)

    def remaining(self, account: str | None = None) -> Remaining:
        """Return what is left for an account under both caps, or of the data set's.

        With several (epsilon, delta) filters open, it is what is left of the one with the most room.
        """
        if account is not None:
            read_name(account, "account")
        with self._reading() as page:
            whole = page.state.whole.remaining()
            own = None if account is None else page.state.own(account)
            return whole if own is None else min(own.remaining(), whole, key=lambda left: left.largest_epsilon)

    def _check_receipt(self, page: Page, receipt: Receipt) -> None:
        if not isinstance(receipt, Receipt):
            raise BadParameter("receipt", type(receipt).__name__, "a receipt of this ledger")
        if not 0 < receipt.entry <= page.state.head.number:
            raise LedgerError("this receipt is not from this ledger")
        record = page.read(receipt.entry).record
        if not isinstance(record, Charged) or (record.digest, record.account) != (receipt.digest, receipt.account):
            raise LedgerError("this receipt is not from this ledger")


def _beginning(page: Page, after: object, limit: object, last: object, *, charges: bool) -> int:
    """Return the number of the entry after which a page of the history begins."""
    begins = whole(after, "after", most=_MOST_ENTRIES)
    if limit is not None:
        whole(limit, "limit", least=1, most=_MOST_ENTRIES)
    if last is None:
        return begins
    if begins or limit is not None:
        raise RequestError("a page is the last charges, or those after an entry: give last=, or after= and limit=")
    return page.nth_last(whole(last, "last", least=1, most=_MOST_ENTRIES), charges=charges)


def _page_of(found: Iterable[Written], limit: int | None, last: int | None, account: str | None) -> Iterator[Written]:
    if account is not None:
        read_name(account, "account")
    mine = (one for one in found if account is None or getattr(one.record, "account", None) == account)
    return iter(tuple(mine)[-last:]) if last is not None else islice(mine, limit)


def _receipt(page: Page, charge: int, digest: str, account: str, answer: int = 0) -> Receipt:
    """Return the receipt of a charge, with the head that shows its entry and its answer's."""
    return Receipt(charge, digest, account, str(page.head_at(max(charge, answer))))


def _keyed(page: Page, key: str, digest: str, account: str, event_data: codec.Json) -> int | None:
    """Return the number of the account's charge with a key, which must be for the same plan."""
    number = page.charge_with(key, account)
    if number is None:
        return None
    charge = _charge(page, number)
    if (charge.key, charge.account) != (key, account):
        raise _misfiled(number)
    if charge.digest != digest:
        raise RequestError(f"the key {key!r} was used for another question; choose another key")
    _of_one_cost(page, {account: number}, event_data)
    return number


def _charges(page: Page, digest: str) -> dict[str, int]:
    """Return each account's last charge for a plan."""
    return {_charge(page, number, digest).account: number for number in page.charges_of(digest)}


def _paid_for(page: Page, digest: str, event_data: codec.Json) -> dict[str, int]:
    """Return each account's last charge for a plan without an answer, but for those that ended in a failure.

    After a failure the plan is paid for again: that it failed was an answer of its own.
    """
    last = _charges(page, digest)
    waiting = {name: number for name, number in last.items() if not _failed(page, number, name)}
    return _of_one_cost(page, waiting, event_data)


def _answered(page: Page, answer: int, digest: str, event_data: codec.Json) -> dict[str, int]:
    """Return each account's charge for a plan with an answer, first the one that was answered."""
    found = _answer(page, answer, digest)
    paid = {found.account: found.charge}
    return _of_one_cost(page, paid | {**_charges(page, digest), **paid}, event_data)


def _of_one_cost(page: Page, charges: dict[str, int], event_data: codec.Json) -> dict[str, int]:
    if any(_charge(page, number).event_data != event_data for number in charges.values()):
        raise LedgerError("one digest stands for two different costs; the ledger cannot tell which is meant")
    return charges


def _failed(page: Page, charge: int, account: str) -> bool:
    records = (written.record for written in page.failures_of(account) if written.number > charge)
    return any(isinstance(record, Failed) and record.charge == charge for record in records)


def _in_full(page: Page, number: int) -> int:
    """Return the number of the charge that the data set paid for, given one that may share it."""
    shared = _charge(page, number).shared
    return number if shared is None else shared


def _charge(page: Page, number: int, digest: str | None = None) -> Charged:
    record = page.read(number).record
    if not isinstance(record, Charged) or digest not in (None, record.digest):
        raise _misfiled(number)
    return record


def _answer(page: Page, number: int, digest: str) -> Answered:
    record = page.read(number).record
    if not isinstance(record, Answered) or record.digest != digest:
        raise _misfiled(number)
    return record


def _misfiled(number: int) -> LedgerError:
    return LedgerError(f"entry {number} of the ledger is filed under what it is not about: the file was changed")
