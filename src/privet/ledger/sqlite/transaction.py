"""The tables of a ledger's SQLite file, their version, and the rows inside one transaction. It checks no entry."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Mapping
from functools import cache

from privet.core.errors import LedgerError
from privet.ledger.history import RULE_KINDS, Row

from .place import Identity

# The tables of a ledger's file, their version, and how an older file becomes a newer one.


APPLICATION = 0x50726976
"""Marks a file as Privet's, in its header."""

VERSION = 3

RULES = str(RULE_KINDS)
"""The kinds of entries that state what may be spent, as SQL."""

_RULES_INDEX = f"CREATE INDEX rules ON entries (number) WHERE kind IN {RULES}"
_FAILURES_INDEX = "CREATE INDEX failures ON entries (account) WHERE kind = 'failure'"

_KEPT_TABLE = "CREATE TABLE kept (charge INTEGER PRIMARY KEY, body TEXT NOT NULL) STRICT"

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
    _KEPT_TABLE,
)


def _from_1(connection: sqlite3.Connection) -> None:
    """Find limits, ends and failures by an index; forget a balance that was kept without a checksum of the rules."""
    for statement in ("DROP INDEX rules", _RULES_INDEX, _FAILURES_INDEX, "DELETE FROM cache"):
        connection.execute(statement)


def _from_2(connection: sqlite3.Connection) -> None:
    """Keep secret texts beside the entries, for charges that are released in several steps."""
    connection.execute(_KEPT_TABLE)


MIGRATIONS: Mapping[int, Callable[[sqlite3.Connection], None]] = {1: _from_1, 2: _from_2}
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


_COLUMNS = "number, kind, account, digest, key, body, hash"
_KINDS = ("charge", "answer", "failure")
"""The kinds that rows are found by: written into the statements, or SQLite would not use their indexes."""


class SqliteTransaction:
    """The rows of a file inside one transaction of a connection."""

    def __init__(self, connection: sqlite3.Connection, identity: Identity = (0, 0)) -> None:
        self._connection = connection
        self.identity = identity
        self.replaced = False
        """Whether a secret text was replaced: the log, which still contains the one before, is to be emptied."""

    def rows(self, after: int = 0) -> Iterator[Row]:
        """Return every row after one, oldest first."""
        query = f"SELECT {_COLUMNS} FROM entries WHERE number > ? ORDER BY number"
        return map(Row._make, self._connection.execute(query, (after,)))

    def row(self, number: int) -> Row | None:
        """Return a row by its number."""
        row = self._connection.execute(f"SELECT {_COLUMNS} FROM entries WHERE number = ?", (number,)).fetchone()
        return None if row is None else Row._make(row)

    def hash_at(self, number: int) -> bytes | None:
        """Return the hash of a row."""
        row = self._connection.execute("SELECT hash FROM entries WHERE number = ?", (number,)).fetchone()
        return None if row is None else row[0]

    def numbers(
        self, kind: str, *, account: str | None = None, digest: str | None = None, key: str | None = None
    ) -> list[int]:
        """Return the numbers of the rows that are filed under a kind and all that is named, oldest first."""
        named = {"account": account, "digest": digest, "key": key}
        values = {name: value for name, value in named.items() if value is not None}
        where = "".join(f" AND {name} = :{name}" for name in values)
        query = f"SELECT number FROM entries WHERE kind = {_literal(kind)}{where} ORDER BY number"
        return [number for (number,) in self._connection.execute(query, values)]

    def nth_last(self, kind: str, count: int) -> int | None:
        """Return the number of the row of a kind that has `count - 1` of its kind after it."""
        query = f"SELECT number FROM entries WHERE kind = {_literal(kind)} ORDER BY number DESC LIMIT 1 OFFSET ?"
        row = self._connection.execute(query, (count - 1,)).fetchone()
        return None if row is None else row[0]

    def rules_up_to(self, number: int) -> list[str]:
        """Return the texts of the entries that state what may be spent, up to one entry."""
        written = f"SELECT body FROM entries WHERE kind IN {RULES} AND number <= ? ORDER BY number"
        return [body for (body,) in self._connection.execute(written, (number,))]

    def insert(self, row: Row) -> None:
        """Add the next row."""
        self._connection.execute(f"INSERT INTO entries ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?)", row)

    def cached(self) -> tuple[str, str, bytes] | None:
        """Return the head, the balance and the checksum that were kept last."""
        row: tuple[str, str, bytes] | None = self._connection.execute("SELECT head, state, hash FROM cache").fetchone()
        return row

    def cache(self, head: str, balance: str, checksum: bytes) -> None:
        """Keep a balance for the next process."""
        self._connection.execute("INSERT OR REPLACE INTO cache VALUES (1, ?, ?, ?)", (head, balance, checksum))

    def keep(self, charge: int, text: str) -> None:
        """Keep a text for a charge, in place of the one before."""
        self.replaced = self.replaced or bool(self.kept(charge))
        self._connection.execute("INSERT OR REPLACE INTO kept VALUES (?, ?)", (charge, text))

    def kept(self, charge: int) -> str | None:
        """Return the text that was kept last for a charge."""
        row = self._connection.execute("SELECT body FROM kept WHERE charge = ?", (charge,)).fetchone()
        return None if row is None else row[0]

    def texts(self) -> list[tuple[int, str]]:
        """Return every text that is kept, with its charge."""
        return self._connection.execute("SELECT charge, body FROM kept ORDER BY charge").fetchall()

    def check(self) -> None:
        """Raise `LedgerError` unless the file is sound to SQLite and has exactly a ledger's tables and triggers."""
        check_tables(self._connection)


def _literal(kind: str) -> str:
    return repr(_KINDS[_KINDS.index(kind)])
