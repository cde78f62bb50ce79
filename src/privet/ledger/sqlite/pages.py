"""One transaction on a ledger's file: reads entries, checking each against the chain, and appends.

The balance comes from the history. A cached one is used only at the head it was made for, and may be lost at any time.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache

from privet.core.errors import LedgerError, PrivetError, raise_alone
from privet.ledger.chain import START, Head, broken, canonical, follow, link, read_head
from privet.ledger.checks import Checks
from privet.ledger.entries import Record, Time, Written, kind_of, read_entry, write_entry
from privet.ledger.fold import BalanceFold
from privet.ledger.limits import Clock, next_time
from privet.ledger.shown import check_shown
from privet.ledger.state import State, rules_only

# The tables of a ledger's file, their version, and how an older file becomes a newer one.


APPLICATION = 0x50726976
"""Says in a file's header that it is Privet's."""

VERSION = 2

RULES = "('open', 'account', 'top-up', 'limit', 'expiry')"
"""The kinds of entries that say what may be spent."""

_RULES_INDEX = f"CREATE INDEX rules ON entries (number) WHERE kind IN {RULES}"
_FAILURES_INDEX = "CREATE INDEX failures ON entries (account) WHERE kind = 'failure'"

_STATEMENTS = (
    """CREATE TABLE entries (
    number INTEGER PRIMARY KEY,
    kind TEXT NOT NULL,
    account TEXT,
    digest TEXT,
    key TEXT,
    body TEXT NOT NULL,
    hash BLOB NOT NULL
) STRICT""",
    "CREATE INDEX charges ON entries (digest, account) WHERE kind = 'charge'",
    "CREATE UNIQUE INDEX keys ON entries (key, account) WHERE kind = 'charge' AND key IS NOT NULL",
    "CREATE UNIQUE INDEX answers ON entries (digest) WHERE kind = 'answer'",
    _RULES_INDEX,
    _FAILURES_INDEX,
    """CREATE TRIGGER entries_are_never_changed BEFORE UPDATE ON entries
BEGIN SELECT RAISE(ABORT, 'entries are never changed'); END""",
    """CREATE TRIGGER entries_are_never_removed BEFORE DELETE ON entries
BEGIN SELECT RAISE(ABORT, 'entries are never removed'); END""",
    """CREATE TRIGGER entries_are_only_added BEFORE INSERT ON entries
WHEN NEW.number IS NOT (SELECT coalesce(max(number), 0) + 1 FROM entries)
BEGIN SELECT RAISE(ABORT, 'entries are only added'); END""",
    "CREATE TABLE cache (one INTEGER PRIMARY KEY CHECK (one = 1), head TEXT, state TEXT, hash BLOB) STRICT",
)


def _from_1(connection: sqlite3.Connection) -> None:
    """Find limits, ends and failures by an index; forget a balance that was kept without a checksum of the rules."""
    for statement in ("DROP INDEX rules", _RULES_INDEX, _FAILURES_INDEX, "DELETE FROM cache"):
        connection.execute(statement)


MIGRATIONS: Mapping[int, Callable[[sqlite3.Connection], None]] = {1: _from_1}
"""For each older version, what turns its file into one of the next version, inside a transaction. Entries stay as they
are: their own version says how to read them."""


def create(connection: sqlite3.Connection) -> None:
    """Make the tables of a new ledger."""
    for statement in _STATEMENTS:
        connection.execute(statement)
    connection.execute(f"PRAGMA application_id = {APPLICATION}")
    connection.execute(f"PRAGMA user_version = {VERSION}")


def migrate(connection: sqlite3.Connection) -> None:
    """Bring a file up to this version, or raise `LedgerError` if it is not a ledger or is of a later version."""
    if read_version(connection) == VERSION:
        return
    connection.execute("BEGIN IMMEDIATE")
    try:
        for step in range(read_version(connection), VERSION):
            MIGRATIONS[step](connection)
        connection.execute(f"PRAGMA user_version = {VERSION}")
        connection.execute("COMMIT")
    except BaseException:
        connection.execute("ROLLBACK")
        raise


def read_version(connection: sqlite3.Connection) -> int:
    """Return the version of a ledger's file, one that this version of Privet can read."""
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if application != APPLICATION:
        raise LedgerError("the ledger cannot be used: the file is not a ledger, or it is damaged")
    if version > VERSION:
        raise LedgerError("the ledger's file was made by a newer version of Privet; open it with that version")
    if version != VERSION and version not in MIGRATIONS:
        raise LedgerError("the ledger's file is of a version that never was; it is damaged")
    return int(version)


def check_tables(connection: sqlite3.Connection) -> None:
    """Raise `LedgerError` unless the file is sound to SQLite and has exactly a ledger's tables and triggers."""
    (sound,) = connection.execute("PRAGMA integrity_check(1)").fetchone()
    if sound != "ok":
        raise LedgerError("the ledger's file is damaged; put back a copy and compare its head")
    check_guards(connection)


def check_guards(connection: sqlite3.Connection) -> None:
    """Raise `LedgerError` unless the file has exactly a ledger's tables, indexes and triggers."""
    if _tables(connection) != _expected():
        raise LedgerError("the ledger's tables are not as Privet makes them: the file was damaged or changed")


def _tables(connection: sqlite3.Connection) -> list[tuple[object, ...]]:
    return connection.execute("SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY name").fetchall()


@cache
def _expected() -> list[tuple[object, ...]]:
    connection = sqlite3.connect(":memory:")
    try:
        create(connection)
        return _tables(connection)
    finally:
        connection.close()


_A_CHARGE = '"kind":"charge"'

CACHED_EVERY = 16
"""How many entries there are between two cached balances; a new process reads at most so many again."""


class Pages:
    """The entries of a file inside one transaction, up to date with its head."""

    def __init__(
        self, connection: sqlite3.Connection, clock: Clock, known: State | None, proven: bytearray | None = None
    ) -> None:
        """Read what was written since a state that is known; without one, the cache or everything.

        `proven` holds the hashes of all entries up to that state, as this process has followed them, and is kept up
        to date. With it nothing is read from the cache, and no entry is believed whose hash is another.
        """
        self._connection = connection
        self._clock = clock
        self._proven = proven
        if proven is not None:
            del proven[32 * (known.head.number if known is not None else 0) :]  # what was rolled back
        state = known or (cached_state(connection) if proven is None else None) or State()
        if state.head.number and head_at(connection, state.head.number) != state.head:
            raise LedgerError(
                f"entry {state.head.number} of the ledger is gone or another one: an old copy of the file was put back"
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
            write_cache(self._connection, state)
        return written.number

    def read(self, number: int) -> Written:
        """Return an entry by its number."""
        head = head_at(self._connection, number - 1) if number > 1 else START
        row = self._connection.execute("SELECT number, body, hash FROM entries WHERE number = ?", (number,)).fetchone()
        if head is None or row is None:
            raise LedgerError(f"the ledger has no entry {number}")
        found = follow(head, *row)
        if not self._is_proven(found):
            raise broken(number)
        return read_entry(row[1])

    def head_at(self, number: int) -> Head | None:
        """Return the head as it was after an entry."""
        return head_at(self._connection, number)

    def charges_of(self, digest: str) -> tuple[int, ...]:
        """Return the numbers of all charges for a plan, oldest first."""
        found = "SELECT number FROM entries WHERE kind = 'charge' AND digest = ? ORDER BY number"
        return tuple(number for (number,) in self._connection.execute(found, (digest,)))

    def charge_with(self, key: str, account: str) -> int | None:
        """Return the number of the account's charge with a key."""
        return self._number("kind = 'charge' AND key = ? AND account = ?", key, account)

    def answer_to(self, digest: str) -> int | None:
        """Return the number of the entry with a plan's answer."""
        return self._number("kind = 'answer' AND digest = ?", digest)

    def failures_of(self, account: str) -> Iterator[Written]:
        """Return the entries that say that the engine failed an account."""
        found = "SELECT number FROM entries WHERE kind = 'failure' AND account = ? ORDER BY number"
        return (self.read(number) for (number,) in self._connection.execute(found, (account,)).fetchall())

    def entries(self, after: int = 0) -> Iterator[Written]:
        """Return every entry after one, oldest first. Those before it are not read."""
        return (written for _, written in self._following(self._from(after)))

    def charges(self, after: int = 0) -> Iterator[Written]:
        """Return every charge after an entry, oldest first. Of other entries only the chain is followed."""
        head = self._from(after)
        for number, body, digest in self._rows(head.number):
            head = follow(head, number, body, digest)
            if _A_CHARGE in str(body):  # in canonical text nothing but the kind of an entry reads like this
                yield read_entry(body)

    def nth_last(self, count: int, *, charges: bool) -> int:
        """Return after which entry to begin so that there are so many left, or all if there are fewer."""
        if not charges:
            return max(0, self.state.head.number - count)
        numbers = "SELECT number FROM entries WHERE kind = 'charge' ORDER BY number DESC LIMIT 1 OFFSET ?"
        row = self._connection.execute(numbers, (count - 1,)).fetchone()
        return 0 if row is None else row[0] - 1

    def _from(self, after: int) -> Head:
        """Return the head after an entry, from which later ones are followed."""
        if after == 0:
            return START
        head = self.state.head if after >= self.state.head.number else self.head_at(after)
        if head is None or not self._is_proven(head):
            raise broken(after)
        return head

    def rules(self) -> Iterator[Record]:
        """Return the entries that say what may be spent."""
        return (read_entry(body).record for body in rules_up_to(self._connection, self.state.head.number))

    def add_lines(self, lines: Iterable[str], pinned: Head | None) -> None:
        """Write the entries that an export holds into an empty ledger."""
        head, met = START, pinned is None
        for line in lines:
            body, digest = read_line(line)
            head = follow(head, head.number + 1, body, digest)
            self._insert(head, body, read_entry(body).record)
            met = met or head == pinned
        if not met:
            raise LedgerError("the exported ledger does not hold the pinned entry: it is too old, or of another ledger")

    def lines(self) -> Iterator[str]:
        """Return every entry with its hash, each as a line of JSON."""
        head = START
        for number, body, digest in self._rows(0):
            head = follow(head, number, body, digest)
            yield f'{{"entry":{body},"hash":"{head.hash.hex()}"}}'

    def _is_proven(self, head: Head) -> bool:
        return self._proven is None or self._proven[32 * (head.number - 1) : 32 * head.number] == head.hash

    def _prove(self, head: Head) -> None:
        if self._proven is not None:
            self._proven += head.hash

    def _insert(self, head: Head, body: str, record: Record) -> None:
        self._connection.execute(
            "INSERT INTO entries (number, kind, account, digest, key, body, hash) VALUES (?, ?, ?, ?, ?, ?, ?)",
            (head.number, *_about(record), body, head.hash),
        )

    def _following(self, head: Head) -> Iterator[tuple[Head, Written]]:
        for number, body, digest in self._rows(head.number):
            head = follow(head, number, body, digest)
            yield head, read_entry(body)

    def _rows(self, after: int) -> Iterator[tuple[object, ...]]:
        return self._connection.execute(
            "SELECT number, body, hash FROM entries WHERE number > ? ORDER BY number", (after,)
        )

    def _number(self, where: str, *values: str) -> int | None:
        row = self._connection.execute(f"SELECT number FROM entries WHERE {where}", values).fetchone()
        return None if row is None else row[0]


def verify_pages(connection: sqlite3.Connection, hashes: bytearray | None = None, *, cache: bool = True) -> State:
    """Return the balance of a file after checking every entry from the first, and the columns and cache beside them.

    The hash of each entry is added to `hashes`. Without `cache`, what was cached is neither believed nor looked at.
    """
    replay, checks = BalanceFold(), Checks()
    cached = cached_state(connection, strict=True) if cache else None
    rows = connection.execute("SELECT number, kind, account, digest, key, body, hash FROM entries ORDER BY number")
    for number, kind, account, digest, key, body, entry_hash in rows:
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
    state = replay.state
    state.check_spent()
    return state


def head_at(connection: sqlite3.Connection, number: int) -> Head | None:
    """Return the head as it was after an entry."""
    row = connection.execute("SELECT hash FROM entries WHERE number = ?", (number,)).fetchone()
    return None if row is None else Head(number, row[0])


def write_cache(connection: sqlite3.Connection, state: State) -> None:
    """Keep a balance for the next process, with a checksum that covers the head and the rules it belongs to."""
    head, body = str(state.head), canonical(state.snapshot())
    checksum = _checksum(head, body, *rules_up_to(connection, state.head.number))
    connection.execute("INSERT OR REPLACE INTO cache VALUES (1, ?, ?, ?)", (head, body, checksum))


def cached_state(connection: sqlite3.Connection, *, strict: bool = False) -> State | None:
    """Return the cached balance if there is one that can be used; with `strict`, raise where one is damaged."""
    row = connection.execute("SELECT head, state, hash FROM cache").fetchone()
    if row is None:
        return None
    try:
        return _restored(connection, *row)
    except (PrivetError, TypeError, ValueError):
        if strict:
            raise_alone(LedgerError("the ledger's cached balance is damaged"))
        return None


def _restored(connection: sqlite3.Connection, text: str, body: str, checksum: bytes) -> State:
    head = read_head(text)
    row = connection.execute("SELECT body, hash FROM entries WHERE number = ?", (head.number,)).fetchone()
    bodies = rules_up_to(connection, head.number)
    if _checksum(text, body, *bodies) != checksum or row is None or row[1] != head.hash:
        raise LedgerError("the ledger's cached balance is for another history")
    rules = rules_only(read_entry(one).record for one in bodies)
    return rules.restore(head, read_entry(row[0]).time, json.loads(body))


def rules_up_to(connection: sqlite3.Connection, number: int) -> list[str]:
    """Return the texts of the entries that say what may be spent, up to one entry."""
    written = f"SELECT body FROM entries WHERE kind IN {RULES} AND number <= ? ORDER BY number"
    return [body for (body,) in connection.execute(written, (number,))]


def read_line(line: str) -> tuple[str, bytes]:
    """Return the text and the hash of an entry from a line of an export."""
    try:
        data = json.loads(line)
        if data.keys() == {"entry", "hash"}:
            return canonical(data["entry"]), bytes.fromhex(data["hash"])
    except (ValueError, TypeError, AttributeError, RecursionError):
        pass
    raise LedgerError("a line is not an entry of an exported ledger")


def _about(record: Record) -> tuple[str | None, ...]:
    """Return what an entry is filed under: its kind, account, digest and key."""
    about = vars(record)
    return kind_of(record), about.get("account"), about.get("digest"), about.get("key")


def _checksum(*texts: str) -> bytes:
    return hashlib.sha256("\n".join(("privet cache 2", *texts)).encode()).digest()
