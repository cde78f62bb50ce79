"""What a custodian does with a ledger: accounts, more budget, other limits, clearing; verification and copies.

A copy goes from one store into another, of any kind: the same entries, the same chain, the same head.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Protocol, Self, runtime_checkable

from privet.core.budget import Budget, WEvent
from privet.core.errors import BadParameter, LedgerError, Unsupported
from privet.core.event import Receipt
from privet.core.given import alike, instance, is_address

from .account import make_cap
from .entries import AccountOpened, Acted, Cleared, Frozen, Limited, PromiseOpened, Rescheduled, Time, ToppedUp
from .history import History, KeepsText, StoredHistory, Transaction
from .state import State, read_expiry, read_facts, read_limit, read_name


class Administration:
    """The rules of a ledger, and how they change. Nothing here undoes spending."""

    _history: StoredHistory

    def top_up(self, budget: Budget, *, reason: str, account: str | None = None) -> None:
        """Add to an account's budget, or to the data set's, and state why. Spent budget stays spent.

        Guarantee: afterwards the promise is the sum of the budgets; see `Account`.
        """
        read_name(reason, "reason")
        if account is not None:
            read_name(account, "account")
        with self._history.writing() as history:
            cap = make_cap(budget, history.state.opened.cap.keys_share)
            target = history.state.whole if account is None else history.state.known(account)
            target.top_up(cap)
            history.append(ToppedUp(account, cap, reason))

    def open_account(self, account: str, budget: Budget, *, expires: Time | None = None) -> None:
        """Open an account with a cap of its own under the data set's. From then on only opened accounts may spend."""
        read_name(account, "account")
        until = read_expiry(expires)
        with self._history.writing() as history:
            cap = make_cap(budget, history.state.opened.cap.keys_share)
            history.state.check_under(cap.budget)
            if account in history.state.accounts:
                raise BadParameter("account", account, "a name that has no account yet; top_up adds to one that has")
            _check_free(account, history.state)
            history.append(AccountOpened(account, cap, until))

    def open_promise(
        self, account: str, promise: WEvent, *, digest: str, facts: Mapping[str, Any] | None = None
    ) -> Receipt:
        """Open an account for one stream that promises something of any window of its steps, and return its receipt.

        Such an account has no cap, pays for no questions, and is no part of the data set's budget: the promise is of
        its own kind. The same stream again returns the first receipt. `facts` are the public facts about the stream.
        """
        read_name(account, "account")
        read_name(digest, "digest")
        instance(promise, WEvent, "promise", "WEvent(epsilon=..., window=...)")
        record = PromiseOpened(account, digest, promise, read_facts(facts) or "{}")
        with self._history.writing() as history:
            if account in history.state.promises:
                number, opened = _promise(history, account)
                if opened != record:
                    raise BadParameter("account", account, "a name of its own: this one was opened for another stream")
            else:
                _check_free(account, history.state)
                number = history.append(record)
            return Receipt(number, digest, account, str(history.head_at(number)), answered=False)

    def promises(self) -> dict[str, tuple[WEvent, Receipt, dict[str, Any]]]:
        """Return the accounts opened for streams, by name: promise, receipt, and the public facts about each."""
        with self._history.reading() as history:
            promises = {}
            for account in sorted(history.state.promises):
                number, opened = _promise(history, account)
                receipt = Receipt(number, opened.digest, account, str(history.head_at(number)), answered=False)
                promises[account] = opened.promise, receipt, json.loads(opened.facts_text)
            return promises

    def limit(self, per_query: Budget | None, *, reason: str) -> None:
        """Set the most that one query may cost from now on, or take the limit away with None, and state why."""
        record = Limited(read_limit(per_query), read_name(reason, "reason"))
        with self._history.writing() as history:
            history.append(record)

    def reschedule(self, expires: Time | None, *, reason: str, account: str | None = None) -> None:
        """Set when an account's spending ends, or the data set's, or never with None, and state why.

        Spent budget stays spent: a later end lets the remainder be spent, and no more.
        """
        if account is not None:
            read_name(account, "account")
        record = Rescheduled(account, read_expiry(expires), read_name(reason, "reason"))
        with self._history.writing() as history:
            if account is not None:
                history.state.known(account)
            history.append(record)

    def clear(self, account: str, *, reason: str) -> None:
        """Let a frozen account spend again, and state why."""
        record = Cleared(read_name(account, "account"), read_name(reason, "reason"))
        with self._history.writing() as history:
            if not history.state.failures.get(account):
                raise BadParameter("account", account, "an account whose last question the database failed to answer")
            history.append(record)

    def freeze(self, account: str, *, reason: str) -> None:
        """Let an account spend nothing more until it is cleared, and state why. Answers that it paid for stay free."""
        record = Frozen(read_name(account, "account"), read_name(reason, "reason"))
        with self._history.writing() as history:
            if history.state.accounts:
                history.state.known(account)
            history.append(record)

    def note_act(self, act: str, *, actor: str, role: str, account: str | None = None, note: str = "") -> None:
        """Record in the chain who did what besides spending, such as a log-in. It changes no balance."""
        if account is not None:
            read_name(account, "account")
        if not isinstance(note, str) or note:
            read_name(note, "note")
        record = Acted(read_name(actor, "actor"), read_name(role, "role"), read_name(act, "act"), account, note)
        with self._history.writing() as history:
            history.append(record)

    def verify(self) -> None:
        """Raise `LedgerError` unless every entry is as it was written, and all that was spent was there to spend.

        Every event is priced again, as this version does now. Nothing is read but the store.
        """
        self._history.verify()

    def pin(self, head: str) -> None:
        """Raise `LedgerError` unless the entry of a head that was kept elsewhere is in the ledger's chain.

        Guarantee: from then on nothing is believed that does not follow from the chain as it was replayed here.
        """
        self._history.pin(head)

    def export(self) -> Iterator[str]:
        """Return every entry with its hash, oldest first, each as a line of JSON without its line end."""
        with self._history.reading() as history:
            lines = list(history.lines())
        return iter(lines)

    def backup(self, path: str | os.PathLike[str]) -> None:
        """Copy the ledger to a new one at a path; raise `Unsupported` where its store cannot be copied."""
        raise Unsupported("this ledger's store cannot be copied; export writes every entry with its hash")

    def close(self) -> None:
        """Release the store."""
        self._history.store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def accounts(self) -> tuple[str, ...]:
        """Return the names of the accounts that have a cap of their own."""
        with self._history.reading() as history:
            return tuple(sorted(history.state.accounts))

    def expires(self, account: str | None = None) -> Time | None:
        """Return when spending ends for an account, by its own rule or the data set's; None for never."""
        if account is not None:
            read_name(account, "account")
        with self._history.reading() as history:
            own = None if account is None else history.state.own(account)
            ends = [
                payer.expires for payer in (history.state.whole, own) if payer is not None and payer.expires is not None
            ]
            return min(ends, default=None)

    def per_query(self) -> Budget | None:
        """Return the most that one query may cost; None where there is no such limit."""
        with self._history.reading() as history:
            return history.state.opened.per_query

    def frozen(self) -> tuple[str, ...]:
        """Return the names of the accounts that may not spend until they are cleared."""
        with self._history.reading() as history:
            return tuple(sorted(name for name in history.state.failures if history.state.is_frozen(name)))


def _check_free(account: str, state: State) -> None:
    """Raise unless an account of this name can be opened, and be mistaken for no other."""
    if account in state.accounts or account in state.promises:
        raise BadParameter("account", account, "a name that has no account yet")
    other = alike(account, (*state.accounts, *state.promises))
    if other is not None:
        raise BadParameter("account", account, f"a name that cannot be mistaken for that of account {other!r}")


def _promise(history: History, account: str) -> tuple[int, PromiseOpened]:
    """Return the entry that opened an account for a stream, and its number."""
    number = history.state.promises[account]
    record = history.read(number).record
    if not isinstance(record, PromiseOpened) or record.account != account:
        raise LedgerError(f"entry {number} of the ledger did not open the account {account!r}: the file was changed")
    return number, record


@runtime_checkable
class ListsTexts(Protocol):
    """The rows of a store that can list the secret texts that it keeps."""

    def texts(self) -> Iterable[tuple[int, str]]:
        """Return every text that is kept, with its charge."""


def copy_rows(source: Transaction, target: Transaction) -> None:
    """Add every row of one ledger to an empty one, with the secret texts. The caller verifies the copy."""
    for row in source.rows():
        target.insert(row)
    if isinstance(source, ListsTexts) and isinstance(target, KeepsText):
        for charge, text in source.texts():
            target.keep(charge, text)


def copy_ledger(source: Transaction, target: str | os.PathLike[str]) -> None:
    """Copy the rows of a ledger to a new file, or to empty tables at an address, and verify the copy."""
    if is_address(target):
        from .postgres.postgres_ledger import fill_from

        fill_from(str(target), source)
    else:
        from .sqlite.store import make_from

        make_from(target, source)
