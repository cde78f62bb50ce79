"""The tables of a ledger's file, their version, and how an older file becomes a newer one."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Mapping
from functools import cache

from privet.core.errors import LedgerError

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
