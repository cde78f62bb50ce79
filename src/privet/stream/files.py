"""The files of a stream, in a folder that only its owner may enter: its state, the next one, releases, rows per person.

A state is replaced whole or not at all. Only the ledger knows whether it is the latest one. The number of rows of
each person is in a separate file, of which a step writes only its changes. It is ahead of the state by at most one
batch of steps, which it can take back. A random mark in both states which batch it was written for last, so that a file
that was put back or swapped is refused.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import sqlite3
import stat
from collections.abc import Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from privet.core.errors import LedgerError, raise_alone
from privet.ledger.sqlite.place import sync_folder

if TYPE_CHECKING:
    from collections.abc import Iterator


if os.name == "posix":
    import fcntl

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
        with _people_errors():
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
        with _people_errors(), made._writing() as connection:
            for statement in _TABLES:
                connection.execute(statement)
            connection.execute("INSERT INTO mark VALUES (1, ?, NULL)", (BEGINNING_MARK,))
        made.close()

    def rows_of(self, person: bytes) -> int:
        """Return how many rows of a person were kept."""
        with _people_errors():
            row = self._connection.execute("SELECT rows FROM people WHERE person = ?", (person,)).fetchone()
        return 0 if row is None else int(row[0])

    def settle(self, mark: str) -> None:
        """Take back a batch that was written after the one with a mark, and never closed; refuse any other table."""
        with _people_errors():
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
        """Write the counts of a batch that follows the one with a mark, with the earlier counts."""
        self.settle(before)
        known = [(person, self.rows_of(person)) for person in changed]
        with _people_errors(), self._writing() as connection:
            connection.execute("DELETE FROM undo")
            connection.executemany("INSERT INTO undo VALUES (?, ?)", known)
            connection.executemany("INSERT OR REPLACE INTO people VALUES (?, ?)", changed.items())
            connection.execute("UPDATE mark SET last = ?, before = ?", (mark, before))

    def total(self, secret: bytes) -> int:
        """Return the sum of the hashes of all counts."""
        with _people_errors():
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
def _people_errors() -> Iterator[None]:
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


STATE, NEXT, RELEASED, RECEIPT, LOCK = "state", "next", "released", "receipt", "lock"


def hash_of(body: bytes) -> str:
    """Return the hash of a state's text, as the ledger keeps it."""
    return hashlib.sha256(b"privet stream state 1\n" + body).hexdigest()


class StreamFiles:
    """A stream's folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._lock: int | None = None

    @classmethod
    def create(cls, folder: Path, state: bytes, *, people: bool = False) -> StreamFiles:
        """Make the folder of a new stream, with its first state: under another name first, so that it is whole."""
        making = cls(folder.with_name(f".{folder.name}.{secrets.token_hex(8)}"))
        try:
            os.mkdir(making.folder, 0o700)
            os.chmod(making.folder, 0o700)  # whatever the process masks
            making._write(RELEASED, b"")
            making._write(STATE, state)
            if people:
                PeopleFile.create(making.folder / PEOPLE)
            if os.path.lexists(folder):  # an empty folder would be replaced
                raise FileExistsError
            os.rename(making.folder, folder)
            sync_folder(folder.parent)
        except FileExistsError:
            making.remove()
            raise_alone(LedgerError(f"there is a file or a folder {str(folder)!r} already; a new stream has its own"))
        except OSError as error:
            making.remove()
            raise_alone(LedgerError(f"the folder {str(folder)!r} cannot be made: {error.strerror}"))
        return cls(folder)

    def remove(self) -> None:
        """Remove a stream that was never charged."""
        self.unlock()
        for name in (STATE, NEXT, RELEASED, RECEIPT, LOCK, PEOPLE):
            for file in (name, f".{name}", f"{name}-journal"):
                with suppress(OSError):
                    os.unlink(self.folder / file)
        with suppress(OSError):
            os.rmdir(self.folder)

    def lock(self) -> None:
        """Lock this stream for this process, or raise `LedgerError` where another one has it."""
        self.check()
        try:
            opened = os.open(self.folder / LOCK, os.O_RDWR | os.O_CREAT | _PLAIN, 0o600)
        except OSError:
            raise_alone(LedgerError(f"the stream {str(self.folder)!r} cannot be locked; check who owns its folder"))
        if os.name == "posix":
            try:
                fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                os.close(opened)
                raise_alone(
                    LedgerError(
                        f"another process has the stream {str(self.folder)!r} open; wait until it closes it, or step "
                        "through that one"
                    )
                )
        self._lock = opened

    def unlock(self) -> None:
        """Let other processes have the stream."""
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def check(self) -> None:
        """Raise `LedgerError` unless the folder and its files are the owner's alone, and plain."""
        try:
            there = os.lstat(self.folder)
        except OSError:
            raise_alone(LedgerError(f"there is no stream {str(self.folder)!r}; check the path, or open one"))
        if not stat.S_ISDIR(there.st_mode):
            raise LedgerError(f"{str(self.folder)!r} is not the folder of a stream")
        for path, mode in ((self.folder, there.st_mode), *self._modes()):
            if os.name == "posix" and mode & 0o077:
                change = "chmod 700" if path == self.folder else "chmod 600"
                raise LedgerError(f"others may read or change the stream's {str(path)!r}; run: {change} {path}")

    def _modes(self) -> list[tuple[Path, int]]:
        modes = []
        for name in (STATE, NEXT, RELEASED, RECEIPT, PEOPLE, f"{PEOPLE}-journal"):
            with suppress(FileNotFoundError):
                mode = os.lstat(self.folder / name).st_mode
                if not stat.S_ISREG(mode):
                    raise LedgerError(f"{str(self.folder / name)!r} is not a plain file")
                modes.append((self.folder / name, mode))
        return modes

    def read(self, name: str) -> bytes | None:
        """Return the contents of a file; None where there is none."""
        try:
            opened = os.open(self.folder / name, os.O_RDONLY | _PLAIN)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise_alone(LedgerError(f"the stream's file {name!r} cannot be read: {error.strerror}"))
        with open(opened, "rb") as file:
            return file.read()

    def write_next(self, state: bytes) -> None:
        """Make the next state durable, beside the one that is there."""
        self._write(NEXT, state)

    def write_receipt(self, body: bytes) -> None:
        """Keep which charge paid for the stream."""
        self._write(RECEIPT, body)

    def adopt_next(self) -> None:
        """Put the next state in the place of the one that is there."""
        with _disk_errors():
            os.replace(self.folder / NEXT, self.folder / STATE)
            sync_folder(self.folder)

    def finish_next(self) -> None:
        """Name a next state that was written and not named yet: it was drawn, and is not drawn again."""
        with _disk_errors():
            body = self.read(f".{NEXT}")
            if body is not None and self.read(NEXT) is None:
                self._write(NEXT, body)

    def drop_next(self) -> None:
        """Remove a next state that was never closed."""
        for name in (NEXT, f".{NEXT}"):
            with suppress(FileNotFoundError):
                os.unlink(self.folder / name)

    def write_released(self, start: int, records: bytes) -> None:
        """Write the releases from a place on, and nothing after them; they are durable in the state as well."""
        with _disk_errors():
            opened = os.open(self.folder / RELEASED, os.O_RDWR | _PLAIN)
            try:
                if os.fstat(opened).st_size < start:
                    raise _cut()
                os.ftruncate(opened, start)
                view = memoryview(records)
                while view:
                    written = os.pwrite(opened, view, start)
                    view, start = view[written:], start + written
                os.fsync(opened)
            finally:
                os.close(opened)

    def read_released(self, start: int, size: int) -> bytes:
        """Return the releases from a place on; raise `LedgerError` where some of them are gone."""
        with _disk_errors():
            opened = os.open(self.folder / RELEASED, os.O_RDONLY | _PLAIN)
            try:
                body = os.pread(opened, size, start)
            finally:
                os.close(opened)
        if len(body) != size:
            raise _cut()
        return body

    def _write(self, name: str, body: bytes) -> None:
        """Write a whole file under another name first, and then under its own."""
        with _disk_errors():
            temporary = self.folder / f".{name}"
            opened = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | _PLAIN, 0o600)
            with open(opened, "wb") as file:
                file.write(body)
                file.flush()
                os.fsync(file.fileno())
            os.replace(temporary, self.folder / name)
            sync_folder(self.folder)


_PLAIN = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)


@contextmanager
def _disk_errors() -> Iterator[None]:
    """Turn an error of the disk into a `LedgerError` that states what to do."""
    try:
        yield
    except FileNotFoundError:
        raise_alone(LedgerError("a file of the stream is gone; put back the latest copy of its folder"))
    except OSError as error:
        raise_alone(
            LedgerError(
                f"the stream's files cannot be read or written: {error.strerror}; nothing more was shown: make "
                "room or mend the disk, and resume the stream"
            )
        )


def _cut() -> LedgerError:
    return LedgerError(
        "what the stream has released is cut short: an old or damaged file was put back; put back the latest copy"
    )
