"""How many rows of each person a stream has kept: a file of its own, of which a step writes only what it changes.

The file is ahead of the state by at most one batch of steps, which it can take back. A random mark in both says which
batch it was written for last, so that a file that was put back or swapped is refused.
"""

from __future__ import annotations

import hashlib
import os
import sqlite3
from collections.abc import Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from privet.core.errors import LedgerError, raise_alone

if TYPE_CHECKING:
    from collections.abc import Iterator

PEOPLE = "people"
BEGINNING_MARK = "0" * 32
"""The mark of a table in which no person was counted yet."""

_MODULUS = 2**256
_TABLES = (
    "CREATE TABLE people (person BLOB PRIMARY KEY, rows INTEGER NOT NULL) STRICT, WITHOUT ROWID",
    "CREATE TABLE undo (person BLOB PRIMARY KEY, rows INTEGER NOT NULL) STRICT, WITHOUT ROWID",
    "CREATE TABLE mark (one INTEGER PRIMARY KEY CHECK (one = 1), last TEXT NOT NULL, before TEXT) STRICT",
)


class PeopleFile:
    """The counts of people, on disk.

    Guarantee: after `settle(mark)` the counts are those after the batch that was written with that mark, or
    `LedgerError` is raised: a batch is written whole or not at all, with what the counts were before it, and marks are
    random, so that no other table has the same one.
    """

    def __init__(self, path: Path) -> None:
        with told_of_people():
            place = f"{path.as_uri()}?mode=rw"
            connection = sqlite3.connect(place, uri=True, isolation_level=None, check_same_thread=False)
            connection.execute("PRAGMA trusted_schema = OFF")
            connection.execute("PRAGMA synchronous = FULL")
            connection.execute("PRAGMA fullfsync = ON")
            connection.execute("PRAGMA secure_delete = ON")
        self._connection = connection

    @classmethod
    def create(cls, path: Path) -> None:
        """Make an empty table, in a file that its owner alone may read."""
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
        made = cls(path)
        with told_of_people(), made._writing() as connection:
            for statement in _TABLES:
                connection.execute(statement)
            connection.execute("INSERT INTO mark VALUES (1, ?, NULL)", (BEGINNING_MARK,))
        made.close()

    def rows_of(self, person: bytes) -> int:
        """Return how many rows of a person were kept."""
        with told_of_people():
            found = self._connection.execute("SELECT rows FROM people WHERE person = ?", (person,)).fetchone()
        return 0 if found is None else int(found[0])

    def settle(self, mark: str) -> None:
        """Take back a batch that was written after the one with a mark, and never closed; refuse any other table."""
        with told_of_people():
            last, before = self._connection.execute("SELECT last, before FROM mark").fetchone()
            if last == mark:
                return
            if before != mark:
                raise LedgerError(
                    "the stream's table of people is not the one that its state knows: an old copy was put back, or it "
                    "is another stream's. It is refused; put back the latest copy of the whole folder"
                )
            with self._writing() as connection:
                connection.execute("DELETE FROM people WHERE person IN (SELECT person FROM undo)")
                connection.execute("INSERT INTO people SELECT person, rows FROM undo WHERE rows > 0")
                connection.execute("DELETE FROM undo")
                connection.execute("UPDATE mark SET last = ?, before = NULL", (mark,))

    def write(self, changed: Mapping[bytes, int], *, before: str, mark: str) -> None:
        """Write the counts of a batch that follows the one with a mark, with what they were."""
        self.settle(before)
        known = [(person, self.rows_of(person)) for person in changed]
        with told_of_people(), self._writing() as connection:
            connection.execute("DELETE FROM undo")
            connection.executemany("INSERT INTO undo VALUES (?, ?)", known)
            connection.executemany("INSERT OR REPLACE INTO people VALUES (?, ?)", changed.items())
            connection.execute("UPDATE mark SET last = ?, before = ?", (mark, before))

    def total(self, secret: bytes) -> int:
        """Return the sum of the hashes of all counts."""
        with told_of_people():
            rows = self._connection.execute("SELECT person, rows FROM people")
            return sum(hash_of_count(secret, person, count) for person, count in rows) % _MODULUS

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            yield self._connection
            commit(self._connection)
        except BaseException:
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
            raise


def commit(connection: sqlite3.Connection) -> None:
    """Make a batch durable."""
    connection.execute("COMMIT")


def hash_of_count(secret: bytes, person: bytes, rows: int) -> int:
    """Return a person's count as a number that only the secret's holder can compute; 0 where there is none."""
    if not rows:
        return 0
    return int.from_bytes(hashlib.blake2b(person + rows.to_bytes(8, "big"), key=secret).digest()[:32], "big")


def moved_total(total: int, secret: bytes, before: Mapping[bytes, int], changed: Mapping[bytes, int]) -> int:
    """Return the sum of the hashes of all counts after some of them changed."""
    moves = (
        hash_of_count(secret, person, rows) - hash_of_count(secret, person, before[person])
        for person, rows in changed.items()
    )
    return (total + sum(moves)) % _MODULUS


@contextmanager
def told_of_people() -> Iterator[None]:
    """Turn what SQLite raises into a `LedgerError` that quotes none of it: it can name a row."""
    try:
        yield
    except (sqlite3.Error, TypeError, ValueError):
        raise_alone(
            LedgerError(
                "the stream's table of people cannot be read or written: it is gone or damaged, or the disk is full; "
                "make room, or put back the latest copy of the stream's folder"
            )
        )
