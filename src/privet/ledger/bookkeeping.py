"""The rules of every ledger: who pays for which releases, and which are free or refused. It does not know the store.

Each method is one transaction on the history: it reads the balance at the head, and appends or does not.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Any, TypeVar

from privet.accounting.filters import Remaining
from privet.core.budget import Budget
from privet.core.division import Touched
from privet.core.errors import BadParameter, BudgetError, LedgerError, RequestError, Unsupported
from privet.core.event import Entry, Event, Plain, Receipt, read_event
from privet.core.given import instance
from privet.core.numbers import Number, whole

from . import codec
from .admin import Administration
from .certificate import Suspect, make_certificate, review
from .entries import AccountOpened, Answered, Charged, Failed, Opened, PromiseOpened, Time, Written
from .history import History, Store, StoredHistory
from .state import (
    Balance,
    BlockShare,
    Clock,
    balances_of,
    block_shares,
    check_account,
    check_query,
    check_rules,
    read_caps,
    read_facts,
    read_labels,
    read_name,
    read_text,
    utc_now,
)
from .steps import StepKeeping

_MOST_ENTRIES = 2**62
"""No ledger has this many entries, and every store counts further."""

_About = TypeVar("_About", Charged, Answered)

Due = tuple[codec.Json, Touched | None]
"""What a plan costs: its event as it is written, and the blocks that pay; None for all data."""


class Bookkeeping(Administration, StepKeeping):
    """A ledger over any store.

    Guarantee: whatever was charged keeps the data set's promise, and each account's own, however the events were
    chosen; see `Account`. Nothing is charged that was not written as it was charged. Of each plan one answer is ever
    kept, and only what was kept is shown: so one charge in full pays for it, by any account and however often.
    """

    def __init__(
        self,
        store: Store,
        budget: Budget | None = None,
        *,
        analysts: Mapping[str, Budget] | None = None,
        per_query: Budget | None = None,
        expires: Time | None = None,
        keys_share: Number | None = None,
        head: str | None = None,
        clock: Clock = utc_now,
    ) -> None:
        """Open the ledger that a store contains; see `begin_ledger` for a new one.

        Rules that are named must be the ledger's own, analysts get accounts, and `head` must be in the chain. A store
        without a first entry is refused: it may have lost it.
        """
        self._history = StoredHistory(store, clock)
        try:
            caps = read_caps(analysts)
            if head is not None:
                self._history.pin(head)
            with self._history.reading() as history:
                check_rules(history.state, budget, per_query=per_query, expires=expires, keys_share=keys_share)
            for name, cap in caps.items():
                self._agree_on(name, cap)
        except BaseException:
            self.close()
            raise

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
        blocks: Touched | None = None,
    ) -> Receipt:
        """Record an event and return the receipt, or record nothing and raise.

        The same `key` again returns the first receipt. A plan that was paid for in full, and whose charge did not end
        in a failure, is free to who paid for it and charged to another account's own cap only. `text` and `facts`
        describe the plan, in words and as plain data. With `blocks` it is charged for units in these blocks alone: who
        charges must have made sure that no other rows are read.
        """
        # the charged event is the one that a reader of the ledger gets, not whatever the caller's object answers
        written = codec.write_event(event)
        event = codec.read_event(written)
        read_name(digest, "digest")
        read_name(account, "account")
        labels, words, facts_text = read_labels(versions), read_text(text), read_facts(facts)
        blocks = _read_touched(blocks)
        if blocks is not None:
            facts_text = "{}" if facts_text is None else facts_text
        if key is not None:
            read_name(key, "key")
        due = written, blocks
        with self._history.writing() as history:
            state = history.state
            earlier = None if key is None else _keyed(history, read_name(key, "key"), digest, account, due)
            answer = history.answer_to(digest)
            paid = _paid_for(history, digest, due) if answer is None else _answered(history, answer, digest, due)
            if earlier is None:
                earlier = paid.get(account)
            if earlier is not None and answer is not None:
                return _receipt(history, earlier, digest, account, answered=True)
            now = history.now()
            state.check_open(account, now)
            if earlier is not None:
                return _receipt(history, earlier, digest, account, answered=False)
            shared = _in_full(history, next(iter(paid.values()))) if paid else None
            if shared is None:
                check_query(event, state.opened.per_query)
            own = state.own(account)
            charge = Charged(
                account,
                digest,
                written,
                key,
                shared,
                by_dataset=state.whole.price(event, blocks) if shared is None else None,
                by_account=None if own is None else own.price(event, blocks),
                versions=labels,
                text=words,
                facts_text=facts_text,
                blocks=blocks,
            )
            return _receipt(history, history.append(charge, now), digest, account, answered=answer is not None)

    def store(self, receipt: Receipt, released: Plain) -> tuple[Receipt, Plain]:
        """Keep what a charge released, before it is shown, and return what `find` returns from then on.

        The first release of a plan is kept: the same question asked again returns the same numbers.
        """
        written = codec.write_plain(released)
        with self._history.writing() as history:
            self._check_receipt(history, receipt)
            number = history.answer_to(receipt.digest)
            if number is None:
                number = history.append(Answered(receipt.account, receipt.digest, receipt.entry, written))
            answer = _found(history, number, receipt.digest, receipt.account)
            if answer is None:
                raise LedgerError("this receipt is not from this ledger")
            return answer

    def find(self, digest: str, account: str) -> tuple[Receipt, Plain] | None:
        """Return the stored answer to a plan that the account has paid for, with its receipt."""
        read_name(digest, "digest")
        read_name(account, "account")
        with self._history.reading() as history:
            number = history.answer_to(digest)
            return None if number is None else _found(history, number, digest, account)

    def fail(self, receipt: Receipt) -> None:
        """Record that the engine failed after a charge, which stands; three in a row freeze the account."""
        with self._history.writing() as history:
            self._check_receipt(history, receipt)
            history.append(Failed(receipt.account, receipt.entry))

    def admits(self, event: Event, *, account: str, blocks: Touched | None = None) -> bool:
        """Return whether an event would fit now, as a new question. Charges nothing."""
        read_event(event)
        read_name(account, "account")
        blocks = _read_touched(blocks)
        with self._history.reading() as history:
            state = history.state
            try:
                state.check_open(account, history.now())
                check_query(event, state.opened.per_query)
            except (BudgetError, Unsupported):
                return False
            own = state.own(account)
            return state.whole.admits(event, blocks) and (own is None or own.admits(event, blocks))

    def history(
        self, *, after: int = 0, limit: int | None = None, last: int | None = None, account: str | None = None
    ) -> tuple[Entry, ...]:
        """Return every charge, oldest first, or a page of them; of the entries before the page none is read.

        Args:
            after: begin after the entry of this number.
            limit: at most this many charges.
            last: the latest charges, this many; without `after` and `limit`.
            account: only charges to this account; `last` then looks among the latest charges of all.
        """
        with self._history.reading() as history:
            entries = history.charges(_beginning(history, after, limit, last, charges=True))
            return tuple(entry.entry() for entry in _page_of(entries, limit, last, account))

    def entries(
        self, *, after: int = 0, limit: int | None = None, last: int | None = None, account: str | None = None
    ) -> tuple[Written, ...]:
        """Return every entry of any kind, oldest first, or a page of them, as `history` does."""
        with self._history.reading() as history:
            entries = history.entries(_beginning(history, after, limit, last, charges=False))
            return tuple(_page_of(entries, limit, last, account))

    def entry(self, number: int) -> Written:
        """Return one entry by its number."""
        with self._history.reading() as history:
            final = history.state.head.number
            if type(number) is not int or not 1 <= number <= final:
                raise BadParameter("entry", number, f"the number of one of the ledger's entries, from 1 to {final}")
            return history.read(number)

    def review(self) -> tuple[Suspect, ...]:
        """Return the releases that an earlier version made with a form of question that leaked, oldest first.

        As far as their entries show: some may be harmless, and none is missing. Changes nothing.
        """
        with self._history.reading() as history:
            return review(history.entries())

    def head(self) -> str:
        """Return the number and the hash of the last entry. Kept elsewhere, it shows whether a file was put back."""
        with self._history.reading() as history:
            return str(history.state.head)

    def certificate(self, number: int) -> dict[str, Any]:
        """Return what a charge protected, how, and at what cost, with the ledger's head: public, as plain data."""
        with self._history.reading() as history:
            return make_certificate(history, number)

    def balances(self) -> tuple[Balance, ...]:
        """Return the remainder of the data set's budget, and then of each account's, by name."""
        with self._history.reading() as history:
            return balances_of(history.state, history.now())

    def budget_of(self, account: str | None = None) -> Budget:
        """Return the budget that an account may spend: its own cap, or else the data set's; top-ups are in it."""
        if account is not None:
            read_name(account, "account")
        with self._history.reading() as history:
            return history.state.budget_of(account)

    def remaining(self, account: str | None = None, *, blocks: Touched | None = None) -> Remaining:
        """Return the remainder for an account under both caps, or of the data set's; for some blocks, or for all data.

        With several (epsilon, delta) filters open, it is the remainder of the one that allows the most.
        """
        if account is not None:
            read_name(account, "account")
        blocks = _read_touched(blocks)
        with self._history.reading() as history:
            history.state.check_budget(account)
            whole = history.state.whole.remaining(blocks)
            own = None if account is None else history.state.own(account)
            return whole if own is None else min(own.remaining(blocks), whole, key=lambda left: left.largest_epsilon)

    def remaining_after(self, event: Event, account: str, *, blocks: Touched | None = None) -> Remaining:
        """Return what would be left for an account once an event was charged, as a new question. Charges nothing.

        Raises:
            BudgetExceeded: if it does not fit.
        """
        read_event(event)
        read_name(account, "account")
        blocks = _read_touched(blocks)
        with self._history.reading() as history:
            whole, own = history.state.whole, history.state.own(account)
            left = whole.pay(whole.price(event, blocks), blocks).remaining(blocks)
            if own is None:
                return left
            after = own.pay(own.price(event, blocks), blocks).remaining(blocks)
            return min(after, left, key=lambda remaining: remaining.largest_epsilon)

    def block_balances(self, division: str, account: str | None = None) -> tuple[BlockShare, ...]:
        """Return how much of a budget the blocks of a division have spent, in runs of equal ones.

        Charges for all data count in every block. Blocks that are not listed were charged nothing else.
        """
        read_name(division, "division")
        if account is not None:
            read_name(account, "account")
        with self._history.reading() as history:
            own = None if account is None else history.state.own(account)
            return block_shares(own or history.state.whole, division)

    def _agree_on(self, name: str, cap: Budget) -> None:
        """Open an analyst's account, unless it is open already with that very cap."""
        if self._has_account(name, cap):
            return
        try:
            self.open_account(name, cap)
        except BadParameter:
            if not self._has_account(name, cap):  # or else another process was quicker
                raise

    def _has_account(self, name: str, cap: Budget) -> bool:
        with self._history.reading() as history:
            opened = [rule for rule in history.rules() if isinstance(rule, AccountOpened) and rule.account == name]
            for rule in opened:
                check_account(name, cap, rule.cap.budget, history.state.known(name).budget())
            return bool(opened)

    def _check_receipt(self, history: History, receipt: Receipt) -> None:
        if not isinstance(receipt, Receipt):
            raise BadParameter("receipt", type(receipt).__name__, "a receipt of this ledger")
        if not 0 < receipt.entry <= history.state.head.number:
            raise LedgerError("this receipt is not from this ledger")
        record = history.read(receipt.entry).record
        kinds = (Charged, PromiseOpened)
        if not isinstance(record, kinds) or (record.digest, record.account) != (receipt.digest, receipt.account):
            raise LedgerError("this receipt is not from this ledger")


def _read_touched(blocks: Touched | None) -> Touched | None:
    return None if blocks is None else instance(blocks, Touched, "blocks", "the blocks that are read, or left out")


def begin_ledger(store: Store, rules: Opened, clock: Clock) -> None:
    """Write the first entry of a new ledger into an empty store; `make_rules` returns it."""
    with StoredHistory(store, clock).writing() as history:
        history.append(rules)


def _beginning(history: History, after: int, limit: int | None, last: int | None, *, charges: bool) -> int:
    """Return the number of the entry after which a page of the history begins."""
    begins = whole(after, "after", most=_MOST_ENTRIES)
    if limit is not None:
        whole(limit, "limit", least=1, most=_MOST_ENTRIES)
    if last is None:
        return begins
    if begins or limit is not None:
        raise RequestError("a page is the last charges, or those after an entry: pass last=, or after= and limit=")
    return history.nth_last(whole(last, "last", least=1, most=_MOST_ENTRIES), charges=charges)


def _page_of(entries: Iterable[Written], limit: int | None, last: int | None, account: str | None) -> Iterator[Written]:
    if account is not None:
        read_name(account, "account")
    mine = (entry for entry in entries if account is None or entry.account == account)
    return iter(tuple(mine)[-last:]) if last is not None else islice(mine, limit)


def _receipt(
    history: History, charge: int, digest: str, account: str, *, answer: int = 0, answered: bool = True
) -> Receipt:
    """Return the receipt of a charge, with the head that shows its entry and its answer's."""
    return Receipt(charge, digest, account, str(history.head_at(max(charge, answer))), answered)


def _found(history: History, number: int, digest: str, account: str) -> tuple[Receipt, Plain] | None:
    """Return the answer that an entry contains, with the receipt of the account, where that has paid for it."""
    answer = _answer(history, number, digest)
    mine = answer.charge if answer.account == account else _charges(history, digest).get(account)
    return None if mine is None else (_receipt(history, mine, digest, account, answer=number), answer.released)


def _keyed(history: History, key: str, digest: str, account: str, due: Due) -> int | None:
    """Return the number of the account's charge with a key, which must be for the same plan."""
    number = history.charge_with(key, account)
    if number is None:
        return None
    charge = _charge(history, number)
    if (charge.key, charge.account) != (key, account):
        raise _misfiled(number)
    if charge.digest != digest:
        raise RequestError(f"the key {key!r} was used for another question; choose another key")
    _of_one_cost(history, {account: number}, due)
    return number


def _charges(history: History, digest: str) -> dict[str, int]:
    """Return each account's last charge for a plan."""
    return {_charge(history, number, digest).account: number for number in history.charges_of(digest)}


def _paid_for(history: History, digest: str, due: Due) -> dict[str, int]:
    """Return each account's last charge for a plan without an answer, but for those that ended in a failure.

    After a failure the plan is paid for again: that it failed was an answer of its own.
    """
    last = _charges(history, digest)
    waiting = {name: number for name, number in last.items() if not _failed(history, number, name)}
    return _of_one_cost(history, waiting, due)


def _answered(history: History, answer: int, digest: str, due: Due) -> dict[str, int]:
    """Return each account's charge for a plan with an answer, first the one that was answered."""
    answered = _answer(history, answer, digest)
    paid = {answered.account: answered.charge}
    return _of_one_cost(history, paid | {**_charges(history, digest), **paid}, due)


def _of_one_cost(history: History, charges: dict[str, int], due: Due) -> dict[str, int]:
    made = (_charge(history, number) for number in charges.values())
    if any((charge.event_data, charge.blocks) != due for charge in made):
        raise LedgerError("one digest stands for two different costs; the ledger cannot decide which is meant")
    return charges


def _failed(history: History, charge: int, account: str) -> bool:
    records = (written.record for written in history.failures_of(account) if written.number > charge)
    return any(isinstance(record, Failed) and record.charge == charge for record in records)


def _in_full(history: History, number: int) -> int:
    """Return the number of the charge that the data set paid for, given one that may share it."""
    shared = _charge(history, number).shared
    return number if shared is None else shared


def _charge(history: History, number: int, digest: str | None = None) -> Charged:
    return _record(history, number, Charged, digest)


def _answer(history: History, number: int, digest: str) -> Answered:
    return _record(history, number, Answered, digest)


def _record(history: History, number: int, kind: type[_About], digest: str | None) -> _About:
    """Return a record of a kind, and for a plan where one is named, or raise `LedgerError`."""
    record = history.read(number).record
    if not isinstance(record, kind) or digest not in (None, record.digest):
        raise _misfiled(number)
    return record


def _misfiled(number: int) -> LedgerError:
    return LedgerError(f"entry {number} of the ledger is filed under what it is not about: the file was changed")
