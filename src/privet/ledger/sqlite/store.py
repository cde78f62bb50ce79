"""The durable ledger: one SQLite file that survives the process and is shared by all processes of one machine."""

from __future__ import annotations

import os
import secrets
import sqlite3
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

from privet.core.budget import Budget
from privet.core.errors import BadParameter, LedgerError
from privet.core.given import function, is_address
from privet.core.given import path as given_path
from privet.core.numbers import Number, read_seconds
from privet.ledger.admin import copy_ledger, copy_rows
from privet.ledger.bookkeeping import Bookkeeping
from privet.ledger.codec import read_head
from privet.ledger.entries import Time
from privet.ledger.forks import let_go_before_forks
from privet.ledger.history import History, Transaction, verify_rows
from privet.ledger.state import KEYS_SHARE, Clock, make_rules, read_caps, read_lines, utc_now

from . import transaction as schema
from .place import (
    FILE,
    Identity,
    abandon,
    charging_alone,
    check_file,
    check_folder,
    check_place,
    check_same,
    connect,
    create,
    identify,
    locate,
    new_file,
    told_as_ledger_errors,
    write_back,
)
from .transaction import SqliteTransaction

# The durable ledger: one SQLite file that survives the process and is shared by all processes of one machine.
#
# A charge or an answer is on the disk before its method returns. The file is only ever added to.


_OLDEST_SQLITE = (3, 37, 0)

LONG_LOOK = 0.05
"""Seconds of reading after which others may have waited in vain to write the log back."""


class SqliteStore:
    """The rows of a ledger in a file that all processes of one machine share."""

    def __init__(self, path: Path, timeout: float) -> None:
        self.path = path
        self.lock = threading.RLock()
        self._timeout = timeout
        self._connection: sqlite3.Connection | None = None
        self._identity: tuple[Identity, ...] = ()
        self._closed = False
        let_go_before_forks(self)

    @contextmanager
    def writing(self) -> Iterator[SqliteTransaction]:
        """Return a transaction that no other writer's can overlap.

        Guarantee: when it has ended without an error, what it wrote is in the ledger's file, or durable in the log
        that lies beside that file; and the three files are those that every other process sees.
        """
        with self.lock, ExitStack() as alone:
            self._connected()
            alone.enter_context(charging_alone(self.path.parent, self._timeout))
            with self._transaction("BEGIN IMMEDIATE") as transaction:
                yield transaction
            with told_as_ledger_errors():
                connection = self._connected()  # which checks the files before they are written to
                write_back(connection, self._timeout, emptied=transaction.replaced)
                check_same(self.path, self._identity)

    @contextmanager
    def reading(self) -> Iterator[SqliteTransaction]:
        """Return a transaction that only reads."""
        with self.lock, self._tidied(), self._transaction("BEGIN") as transaction:
            yield transaction

    def backup(self, target: Path) -> None:
        """Copy the rows to a new file while others go on spending, and verify the copy."""
        with self.lock, told_as_ledger_errors(), new_file(target) as temporary:
            copy = sqlite3.connect(temporary, isolation_level=None)
            try:
                self._connected().backup(copy)
                verify_rows(SqliteTransaction(copy))
            finally:
                copy.close()

    def close(self) -> None:
        """Close the file."""
        with self.lock:
            self._closed = True
            self._let_go()

    @contextmanager
    def _transaction(self, begin: str) -> Iterator[SqliteTransaction]:
        with self.lock, told_as_ledger_errors():
            connection = self._connected()
            connection.execute(begin)
            try:
                yield SqliteTransaction(connection, self._identity[0])
                check_same(self.path, self._identity)
                connection.execute("COMMIT")
            except BaseException:
                with suppress(sqlite3.Error):
                    connection.execute("ROLLBACK")
                raise

    @contextmanager
    def _tidied(self) -> Iterator[None]:
        """After a long look at the entries, write back what others could not write back meanwhile."""
        began = time.monotonic()
        yield
        if time.monotonic() - began > LONG_LOOK:
            with suppress(LedgerError), charging_alone(self.path.parent, 0):
                write_back(self._connected(), self._timeout)

    def _connected(self) -> sqlite3.Connection:
        """Return the connection to the file, opening one where there is none."""
        if self._closed:
            raise LedgerError("the ledger was closed")
        if self._connection is None:
            # no charge is half written meanwhile: its pages would come to lie under those that were read before
            with charging_alone(self.path.parent, self._timeout), told_as_ledger_errors():
                self._connection, self._identity = self._opened()
        check_same(self.path, self._identity)
        return self._connection

    def _opened(self) -> tuple[sqlite3.Connection, tuple[Identity, ...]]:
        database = check_file(self.path)
        connection = connect(self.path, self._timeout, check=schema.read_version)
        try:
            schema.migrate(connection)
            schema.check_guards(connection)
        except BaseException:
            connection.close()
            raise
        try:
            return connection, identify(self.path, database)
        except BaseException:
            abandon(connection)
            raise

    def _let_go(self) -> None:
        connection, self._connection = self._connection, None
        if connection is None:
            return
        with ExitStack() as alone:
            with suppress(LedgerError):
                alone.enter_context(charging_alone(self.path.parent, LONG_LOOK))
            try:
                check_same(self.path, self._identity)
            except LedgerError:
                abandon(connection)
            else:
                connection.close()

    def __del__(self) -> None:
        with suppress(Exception):  # it may be half made, or the interpreter half gone
            self._let_go()


class SqliteLedger(Bookkeeping):
    """A ledger in a file.

    With a `budget` the file is made if there is none; an existing one must have the same rules, and is refused where
    they differ. `analysts` get accounts with caps of their own under the budget, `per_query` bounds what one
    question may cost, and after `expires` nothing can be spent. `head`, as `head()` returned it earlier, shows whether
    an old copy of the file was put back.

    Args:
        path: the file.
        budget: what may be spent in all; needed to make a file.
        analysts: the caps of single accounts, by name.
        per_query: the largest charge of one question.
        expires: the time after which nothing can be spent.
        keys_share: the share of delta that may be spent on finding groups.
        head: what `head()` returned earlier, to detect a rollback to an older copy.
        timeout: seconds to wait for another process.
        clock: returns the time; for tests.

    Raises:
        BadParameter: if the file has other rules.

    Example:
        >>> import tempfile
        >>> with privet.SqliteLedger(tempfile.mkdtemp() + "/ledger", privet.Pure(epsilon=1)) as ledger:
        ...     ledger.remaining().largest_epsilon
        1.0
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        budget: Budget | None = None,
        *,
        analysts: Mapping[str, Budget] | None = None,
        per_query: Budget | None = None,
        expires: Time | None = None,
        keys_share: Number | None = None,
        head: str | None = None,
        timeout: Number = 10,
        clock: Clock = utc_now,
    ) -> None:
        if sqlite3.sqlite_version_info < _OLDEST_SQLITE:
            raise LedgerError(f"the ledger needs SQLite 3.37 or later; this Python has {sqlite3.sqlite_version}")
        _check_path(path)
        self.path = locate(given_path(path, "path", "the path of the ledger"))
        seconds = float(read_seconds(timeout, "timeout"))
        function(clock, "clock", "a function that returns the time")
        read_caps(analysts)
        if head is not None:
            read_head(head)
        if self.path.exists():
            check_place(self.path.parent)
        elif budget is not None and head is None:
            share = KEYS_SHARE if keys_share is None else keys_share
            rules = make_rules(
                budget, per_query=per_query, expires=expires, keys_share=share, ledger=secrets.token_hex(16)
            )
            try:
                create(new_place(path), lambda new: _fill(new, clock, lambda history: history.append(rules)))
            except LedgerError:
                if not self.path.exists():  # or else another process was quicker, and its ledger is opened
                    raise
        else:
            raise LedgerError(f"there is no ledger {str(path)!r}; check the path, or pass a budget to open one")
        check_folder(self.path.parent)
        self._sqlite = SqliteStore(self.path, seconds)
        super().__init__(
            self._sqlite,
            budget,
            analysts=analysts,
            per_query=per_query,
            expires=expires,
            keys_share=keys_share,
            head=head,
            clock=clock,
        )

    @classmethod
    def restore(
        cls, path: str | os.PathLike[str], lines: Iterable[str], *, head: str | None = None, **options: Any
    ) -> SqliteLedger:
        """Return a new ledger in a new file, from the lines that `export` returned, checked from the first to the last.

        `head` must be among them, if it is passed: then none of the entries up to it can be missing or different.
        """
        target = new_place(given_path(path, "path", "the path of a new ledger"))
        pinned = None if head is None else read_head(head)
        written = read_lines(lines)
        create(target, lambda new: _fill(new, utc_now, lambda history: history.add_lines(written, pinned)))
        return cls(path, head=head, **options)

    def backup(self, path: str | os.PathLike[str]) -> None:
        """Copy the ledger to a new file while others go on spending. The copy is complete, and contains nothing later.

        With an address, such as postgresql://..., it is copied into empty tables there.
        """
        if is_address(path):
            with self._sqlite.lock, self._sqlite.reading() as rows:
                copy_ledger(rows, path)
            return
        self._sqlite.backup(new_place(given_path(path, "path", "the path of a new ledger")))


def _fill(connection: sqlite3.Connection, clock: Clock, write: Callable[[History], object]) -> None:
    """Make the tables of a new file, write the first entries, and verify them."""
    schema.create(connection)
    transaction = SqliteTransaction(connection)
    write(History(transaction, clock, None))
    verify_rows(transaction)


def make_from(path: str | os.PathLike[str], source: Transaction) -> None:
    """Copy the rows of a ledger in any store to a new file, and verify the copy."""
    target = new_place(given_path(path, "path", "the path of a new ledger"))
    create(target, lambda new: _fill(new, utc_now, lambda history: copy_rows(source, history.transaction)))


def _check_path(path: object) -> None:
    """Refuse an address without quoting it: it may contain a password."""
    if is_address(path):
        raise BadParameter("path", "an address", "a path; a ledger in PostgreSQL is opened by PostgresLedger(url)")


def new_place(path: str | os.PathLike[str]) -> Path:
    """Return the file of a new ledger, in a folder of its own that is to be made, or raise `LedgerError`."""
    _check_path(path)
    folder = Path(os.path.realpath(path))
    if os.path.lexists(folder):
        raise LedgerError(f"there is a file or a folder {str(folder)!r} already; a new ledger has a folder of its own")
    check_place(folder.parent)
    check_folder(folder.parent, around=True)
    return folder / FILE
