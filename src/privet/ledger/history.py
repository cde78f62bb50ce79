"""The history of a ledger over any store of rows: the chain, the balance, the cache, verification and proof.

A store keeps rows and is trusted with nothing: every row that is read is checked here against the chain. The balance
comes from the history. A cached one is used only at the head it was made for, and may be lost at any time.
"""

from __future__ import annotations

import hashlib
import json
import math
import threading
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, runtime_checkable

from privet.accounting.filters import open_filter
from privet.core.errors import LedgerError, PrivetError, RequestError, raise_alone
from privet.core.given import function
from privet.core.numbers import float_down, float_up

from .account import check_amounts
from .codec import START, Head, broken, canonical, follow, link, read_head
from .entries import Answered, Charged, Record, Rule, Time, Written, kind_of, read_entry, write_entry
from .fold import BalanceFold, Checks
from .state import Clock, State, balances_of, next_time, rules_only

RULE_KINDS = ("open", "account", "top-up", "limit", "expiry")
"""The kinds of entries that state what may be spent."""

CACHED_EVERY = 16
"""How many entries there are between two cached balances; a new process reads at most this many again."""

_A_CHARGE = '"kind":"charge"'
_MOST_PROVEN = 8
"""For how many stores the proof is remembered."""


# What a store implements. Nothing in a row is trusted, so nothing in it has a type.


class Row(NamedTuple):
    """One entry as a store keeps it: what it is filed under, its canonical text and its hash."""

    number: Any
    kind: Any
    account: Any
    digest: Any
    key: Any
    body: Any
    hash: Any


class Transaction(Protocol):
    """The rows of a store inside one transaction: a consistent snapshot. It checks nothing; `History` does."""

    @property
    def identity(self) -> Hashable:
        """What the rows are in, whatever its name, such as a file's device and number: proofs are remembered by it."""

    def rows(self, after: int = 0) -> Iterable[Row]:
        """Return every row after one, oldest first. Those before it are not read."""

    def row(self, number: int) -> Row | None:
        """Return a row by its number."""

    def hash_at(self, number: int) -> Any:
        """Return the hash of a row; None where there is no such row."""

    def numbers(
        self, kind: str, *, account: str | None = None, digest: str | None = None, key: str | None = None
    ) -> Sequence[int]:
        """Return the numbers of the rows that are filed under a kind and all that is named, oldest first."""

    def nth_last(self, kind: str, count: int) -> int | None:
        """Return the number of the row of a kind that has `count - 1` of its kind after it."""

    def rules_up_to(self, number: int) -> Sequence[str]:
        """Return the texts of the rows of `RULE_KINDS` up to a number, oldest first."""

    def insert(self, row: Row) -> None:
        """Add the next row; raise where there is one of its number already."""

    def cached(self) -> tuple[Any, Any, Any] | None:
        """Return what `cache` kept last, if the store keeps it: a head, a balance and a checksum."""

    def cache(self, head: str, balance: str, checksum: bytes) -> None:
        """Keep a balance for the next process, in place of the one before. A store may leave this out."""

    def check(self) -> None:
        """Raise `LedgerError` unless the store itself is sound, as far as it can check."""


@runtime_checkable
class KeepsText(Protocol):
    """The rows of a store that also keeps one text for a charge beside them: secret, and no part of the history.

    It is kept in the same transaction as a row, and returned as it was kept last. It is never exported.
    """

    def keep(self, charge: int, text: str) -> None:
        """Keep a text for a charge, in place of the one before."""

    def kept(self, charge: int) -> Any:
        """Return the text that was kept last for a charge; None where there is none."""


class Store(Protocol):
    """Keeps rows, one transaction after another. It needs to know nothing of budgets.

    The caller takes `lock` around every transaction; one thread may take it several times.
    """

    @property
    def lock(self) -> AbstractContextManager[Any]: ...

    def writing(self) -> AbstractContextManager[Transaction]:
        """Return a transaction that no other writer's, of any process, can overlap.

        When it has ended without an error its rows are durable; otherwise none of them is kept.
        """

    def reading(self) -> AbstractContextManager[Transaction]:
        """Return a transaction that only reads."""

    def close(self) -> None:
        """Release the store; closing it again does nothing."""


# One transaction on a ledger: the balance at the head, entries by what they are about, and appending.


class History:
    """The entries of a ledger inside one transaction, up to date with its head, each checked against the chain."""

    def __init__(
        self, transaction: Transaction, clock: Clock, known: State | None, proven: bytearray | None = None
    ) -> None:
        """Read the entries since a state that is known; without one, the cache or everything.

        `proven` contains the hashes of all entries up to that state, as this process has followed them, and is kept up
        to date. With it nothing is read from the cache, and no entry is believed whose hash is another.
        """
        self.transaction = transaction
        self._clock = clock
        self._proven = proven
        if proven is not None:
            del proven[32 * (known.head.number if known is not None else 0) :]  # entries that were rolled back
        state = known or (cached_state(transaction) if proven is None else None) or State()
        if state.head.number and self.head_at(state.head.number) != state.head:
            raise LedgerError(
                f"entry {state.head.number} of the ledger is gone or another one: an old copy was put back"
            )
        for head, written in self._following(state.head):
            state = state.apply(head, written)
            self._prove(head)
        self.state = state

    def now(self) -> Time:
        """Return the time for the next entry, or raise `LedgerError` where the clocks are apart."""
        return next_time(self._clock, self.state)

    def append(self, record: Record, time: Time | None = None) -> int:
        """Write one more entry and return its number."""
        written = Written(self.state.head.number + 1, time or self.now(), record)
        body = write_entry(written.number, written.time, record)
        head = Head(written.number, link(self.state.head.hash, body))
        state = self.state.apply(head, written)
        check_shown(state, written, body)
        self._insert(head, body, record)
        self._prove(head)
        self.state = state
        if written.number % CACHED_EVERY == 0:
            write_cache(self.transaction, state)
        return written.number

    def read(self, number: int) -> Written:
        """Return an entry by its number, or raise `LedgerError`."""
        head = self.head_at(number - 1) if number > 1 else START
        row = self.transaction.row(number)
        if head is None or row is None:
            raise LedgerError(f"the ledger has no entry {number}")
        followed = follow(head, row.number, row.body, row.hash)
        if not self._is_proven(followed):
            raise broken(number)
        return read_entry(row.body)

    def head_at(self, number: int) -> Head | None:
        """Return the head as it was after an entry."""
        hashed = self.transaction.hash_at(number)
        return None if hashed is None else Head(number, hashed)

    def charges_of(self, digest: str) -> Sequence[int]:
        """Return the numbers of all charges for a plan, oldest first."""
        return self.transaction.numbers("charge", digest=digest)

    def charge_with(self, key: str, account: str) -> int | None:
        """Return the number of the account's charge with a key."""
        return next(iter(self.transaction.numbers("charge", key=key, account=account)), None)

    def answer_to(self, digest: str) -> int | None:
        """Return the number of the entry with a plan's answer."""
        return next(iter(self.transaction.numbers("answer", digest=digest)), None)

    def failures_of(self, account: str) -> Iterator[Written]:
        """Return the entries that record a failure of the engine for an account."""
        return map(self.read, self.transaction.numbers("failure", account=account))

    def entries(self, after: int = 0) -> Iterator[Written]:
        """Return every entry after one, oldest first. Those before it are not read."""
        return (written for _, written in self._following(self._from(after)))

    def charges(self, after: int = 0) -> Iterator[Written]:
        """Return every charge after an entry, oldest first. Of other entries only the chain is followed."""
        head = self._from(after)
        for row in self.transaction.rows(head.number):
            head = follow(head, row.number, row.body, row.hash)
            if _A_CHARGE in str(row.body):  # in canonical text nothing but the kind of an entry reads like this
                yield read_entry(row.body)

    def nth_last(self, count: int, *, charges: bool) -> int:
        """Return after which entry to begin so that this many entries or charges are left, or all if fewer."""
        if not charges:
            return max(0, self.state.head.number - count)
        return (self.transaction.nth_last("charge", count) or 1) - 1

    def rules(self) -> Iterator[Record]:
        """Return the entries that state what may be spent."""
        return (read_entry(body).record for body in self.transaction.rules_up_to(self.state.head.number))

    def add_lines(self, lines: Iterable[str], pinned: Head | None) -> None:
        """Write the entries of an export into an empty store, or raise `LedgerError`; `pinned` must be among them."""
        head, met = START, pinned is None
        for line in lines:
            body, digest = read_line(line)
            head = follow(head, head.number + 1, body, digest)
            self._insert(head, body, read_entry(body).record)
            met = met or head == pinned
        if not met:
            raise LedgerError(
                "the exported ledger does not contain the pinned entry: it is too old, or of another ledger"
            )

    def lines(self) -> Iterator[str]:
        """Return every entry with its hash, each as a line of JSON."""
        head = START
        for row in self.transaction.rows():
            head = follow(head, row.number, row.body, row.hash)
            yield f'{{"entry":{row.body},"hash":"{head.hash.hex()}"}}'

    def _from(self, after: int) -> Head:
        """Return the head after an entry, from which later ones are followed."""
        if after == 0:
            return START
        head = self.state.head if after >= self.state.head.number else self.head_at(after)
        if head is None or not self._is_proven(head):
            raise broken(after)
        return head

    def _is_proven(self, head: Head) -> bool:
        return self._proven is None or self._proven[32 * (head.number - 1) : 32 * head.number] == head.hash

    def _prove(self, head: Head) -> None:
        if self._proven is not None:
            self._proven += head.hash

    def _insert(self, head: Head, body: str, record: Record) -> None:
        self.transaction.insert(Row(head.number, *_about(record), body, head.hash))

    def _following(self, head: Head) -> Iterator[tuple[Head, Written]]:
        for row in self.transaction.rows(head.number):
            head = follow(head, row.number, row.body, row.hash)
            yield head, read_entry(row.body)


class StoredHistory:
    """A ledger's history in a store: transactions on it, and what this process knows and has proven of it."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self.store = store
        self._clock = function(clock, "clock", "a function that returns the time")
        self._state: State | None = None
        self._proven: bytearray | None = None

    def writing(self) -> AbstractContextManager[History]:
        """Return a transaction that no other writer's can overlap; it is kept whole or not at all."""
        return self._opened(self.store.writing)

    def reading(self) -> AbstractContextManager[History]:
        """Return a transaction that only reads."""
        return self._opened(self.store.reading)

    @contextmanager
    def _opened(self, begin: Callable[[], AbstractContextManager[Transaction]]) -> Iterator[History]:
        with self.store.lock:
            with begin() as transaction:
                history = History(transaction, self._clock, self._state, self._proven)
                self._state = history.state
                yield history
            self._state = history.state

    def verify(self) -> None:
        """Raise `LedgerError` unless every entry is as it was written, and all that was spent was there to spend.

        Every event is priced again, as this version does now. Nothing is read but the store.
        """
        with self.store.lock:
            with self.store.reading() as transaction:
                transaction.check()
                hashes, known = bytearray(), self._state
                state = verify_rows(transaction, hashes, known=known)
                if known is not None and transaction.hash_at(known.head.number) != known.head.hash:
                    raise LedgerError("the ledger has lost entries that this process has seen")
            self._state = state
            self._proven = None if self._proven is None else hashes

    def pin(self, head: str) -> None:
        """Replay the history, unless this process has, and raise `LedgerError` unless a head is in its chain.

        Guarantee: from then on nothing that the store returns is believed unless it follows from the chain that was
        replayed: neither a cached balance, nor an entry under another hash.
        """
        pinned = read_head(head)
        with self.store.lock:
            with self.store.reading() as transaction:
                proof = prove(transaction)
                hashes = bytearray(proof.hashes)
                state = History(transaction, self._clock, proof.state, hashes).state
                identity = transaction.identity
            proof = Proof(state, bytes(hashes))
            if not proof.holds(pinned):
                raise LedgerError(
                    f"the ledger does not contain the pinned entry {pinned.number}: an old copy was put back, or it "
                    "is another ledger"
                )
            remember(identity, proof)
            self._state, self._proven = state, hashes


def verify_rows(
    transaction: Transaction, hashes: bytearray | None = None, *, cache: bool = True, known: State | None = None
) -> State:
    """Return the balance of a store after checking every row from the first, what each is filed under, and the cache.

    The hash of each entry is added to `hashes`. Without `cache`, the cached balance is neither believed nor read. A
    `known` balance must be the one at its entry.
    """
    replay, checks = BalanceFold(), Checks()
    cached = cached_state(transaction, strict=True) if cache else None
    for number, kind, account, digest, key, body, entry_hash in transaction.rows():
        head = follow(replay.head, number, body, entry_hash)
        written = read_entry(body)
        if (kind, account, digest, key) != _about(written.record):
            raise LedgerError(f"entry {number} of the ledger is filed under what it is not about")
        replay.add(head, written)
        checks.add(written, replay.rules)
        if hashes is not None:
            hashes += head.hash
        if cached is not None and cached.head.number == number and not cached.agrees(replay.state):
            raise LedgerError("the ledger's cached balance is not what its history adds up to")
        if known is not None and known.head == head and not known.agrees(replay.state):
            raise LedgerError("the balance is not what the history adds up to")
    state = replay.state
    state.check_spent()
    return state


def _about(record: Record) -> tuple[str, str | None, str | None, str | None]:
    """Return what an entry is filed under: its kind, account, digest and key."""
    about = vars(record)
    return kind_of(record), about.get("account"), about.get("digest"), about.get("key")


def read_line(line: str) -> tuple[str, bytes]:
    """Return the text and the hash of an entry from a line of an export."""
    try:
        data = json.loads(line)
        if data.keys() == {"entry", "hash"}:
            return canonical(data["entry"]), bytes.fromhex(data["hash"])
    except (ValueError, TypeError, AttributeError, RecursionError):
        pass
    raise LedgerError("a line is not an entry of an exported ledger")


# The cached balance, with a checksum that covers the head and the rules it belongs to.


def write_cache(transaction: Transaction, state: State) -> None:
    """Keep a balance for the next process."""
    head, body = str(state.head), canonical(state.snapshot())
    transaction.cache(head, body, _checksum(head, body, *transaction.rules_up_to(state.head.number)))


def cached_state(transaction: Transaction, *, strict: bool = False) -> State | None:
    """Return the cached balance if there is one that can be used; with `strict`, raise where one is damaged."""
    cached = transaction.cached()
    if cached is None:
        return None
    try:
        return _restored(transaction, *cached)
    except (PrivetError, TypeError, ValueError):
        if strict:
            raise_alone(LedgerError("the ledger's cached balance is damaged"))
        return None


def _restored(transaction: Transaction, text: str, body: str, checksum: bytes) -> State:
    head = read_head(text)
    row = transaction.row(head.number)
    bodies = transaction.rules_up_to(head.number)
    if _checksum(text, body, *bodies) != checksum or row is None or row.hash != head.hash:
        raise LedgerError("the ledger's cached balance is for another history")
    rules = rules_only(read_entry(rule).record for rule in bodies)
    return rules.restore(head, read_entry(row.body).time, json.loads(body))


def _checksum(*texts: str) -> bytes:
    return hashlib.sha256("\n".join(("privet cache 2", *texts)).encode()).digest()


# What this process has proven of a ledger: its balance and the hash of every entry, read from the first one on.
#
# A store can be forged in part: a balance in the cache, an entry with a hash that follows from the one before. A caller
# who kept a head can detect it: nothing that the store returns is believed unless it is in the chain that was followed
# here from the first entry.


_LOCK = threading.Lock()
_PROVEN: dict[Hashable, Proof] = {}


@dataclass(frozen=True)
class Proof:
    """A balance, and the hashes of all entries up to it, one after the other."""

    state: State
    hashes: bytes

    def holds(self, head: Head) -> bool:
        """Return whether an entry is in the chain that was followed."""
        return self.hashes[32 * (head.number - 1) : 32 * head.number] == head.hash


def prove(transaction: Transaction) -> Proof:
    """Return what a store is proven to contain, replayed from its first entry unless this process has done so before.

    Guarantee: each of its entries is in one chain from the first to the last, all of them obey the rules, and each
    charge took no less than its event costs, as `verify` finds; entries that came after the first replay in this
    process are followed in the chain and obey the rules.
    """
    with _LOCK:
        known = _PROVEN.get(transaction.identity)
    last = None if known is None else known.state.head
    if known is not None and last is not None and transaction.hash_at(last.number) == last.hash:
        return known
    hashes = bytearray()
    return Proof(verify_rows(transaction, hashes, cache=False), bytes(hashes))


def remember(identity: Hashable, proof: Proof) -> None:
    """Keep the proof of a store for the next time that this process opens it."""
    with _LOCK:
        _PROVEN.pop(identity, None)
        _PROVEN[identity] = proof
        while len(_PROVEN) > _MOST_PROVEN:
            del _PROVEN[next(iter(_PROVEN))]


# What cannot be shown is not written. An entry stays for good, and each command after it has to show what it did.
#
# Amounts are shown as floats, and exact rationals go further than floats do: so every budget is restricted to what a
# float can express, and before a rule is written all that would be shown afterwards is computed once.


def check_shown(state: State, written: Written, body: str) -> None:
    """Raise `RequestError` unless an entry can be read back, and all that it leads to can be shown.

    `state` is the balance after the entry, and `body` its text. An answer is read back when it is stored.
    """
    record = written.record
    if type(record) is Answered:
        return
    try:
        whole = read_entry(body) == written
        if type(record) is Charged:
            written.entry()
        elif isinstance(record, Rule):
            whole = whole and _can_be_shown(state, written)
    except (PrivetError, ArithmeticError, ValueError, TypeError, RecursionError):
        whole = False
    if not whole:
        raise RequestError(
            "what is to be recorded could not be shown afterwards, so it is not recorded; use amounts from 1e-300 to "
            "1e300, also in sum, and plain text"
        )


def _can_be_shown(state: State, written: Written) -> bool:
    """Return whether every balance, and the most that one query may cost, can be put as finite numbers."""
    numbers: list[float] = []
    for balance in balances_of(state, written.time):
        balance.to_dict()
        check_amounts(balance.budget, "budget")
        numbers += [balance.spent, balance.largest_epsilon, balance.largest_rho or 0.0, float_down(balance.keys_delta)]
        for amount in vars(balance.budget).values():
            numbers += [float_up(amount), float_down(amount)]
    if (most := state.opened.per_query) is not None:
        left = open_filter(most).remaining()
        numbers += [left.largest_epsilon, float_up(left.amount)]
    return all(map(math.isfinite, numbers))
