"""The durable ledger: one SQLite file that survives the process and is shared by all processes of one machine."""

from __future__ import annotations

import atexit
import os
import secrets
import sqlite3
import threading
import time
import weakref
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any, Protocol, cast

from privet.core.budget import Budget
from privet.core.errors import BadParameter, LedgerError, PrivetError, raise_alone
from privet.core.given import function, is_a
from privet.core.given import path as given_path
from privet.core.numbers import read_seconds
from privet.ledger.bookkeeping import Bookkeeping
from privet.ledger.chain import Head, read_head
from privet.ledger.entries import AccountOpened, Time
from privet.ledger.limits import KEYS_SHARE, Clock, check_account, check_rules, make_rules, read_caps, utc_now
from privet.ledger.state import State

from . import pages as schema
from .pages import Pages, head_at, verify_pages
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
from .proof import Proof, prove, remember

# Lets go of ledgers' files before a process forks, and before it ends.
#
# SQLite remembers, for each file, which locks its process holds. A child inherits the memory and not the locks: it
# would write without them, and lose what it wrote when its parent closes the file.


class Holder(Protocol):
    """What holds a file, under a lock that one thread may take several times."""

    _lock: Any

    def _let_go(self) -> None:
        """Close the file; it is opened again when it is needed."""


_HOLDERS: weakref.WeakSet[Holder] = weakref.WeakSet()
_WAITING: list[Holder] = []


def let_go_before_forks(holder: Holder) -> None:
    """Have a holder let go of its file whenever this process forks, and when it ends."""
    _HOLDERS.add(holder)


def _before_fork() -> None:
    for holder in list(_HOLDERS):
        holder._lock.acquire()
        _WAITING.append(holder)
        holder._let_go()


def _after_fork() -> None:
    while _WAITING:
        _WAITING.pop()._lock.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_parent=_after_fork, after_in_child=_after_fork)


@atexit.register
def _at_exit() -> None:
    """Let go while there is all that it takes to see whether the files are still the right ones."""
    for holder in list(_HOLDERS):
        if holder._lock.acquire(timeout=1):
            try:
                holder._let_go()
            finally:
                holder._lock.release()


# The durable ledger: one SQLite file that survives the process and is shared by all processes of one machine.
#
# A charge or an answer is on the disk before its method returns. The file is only ever added to.


_OLDEST_SQLITE = (3, 37, 0)

LONG_LOOK = 0.05
"""Seconds of reading after which others may have waited in vain to write the log back."""


class SqliteLedger(Bookkeeping):
    """A ledger in a file.

    With a `budget` the file is made if there is none; an existing one must have the same rules, and is refused where
    they differ. `analysts` get accounts with caps of their own under the budget, `per_query` bounds what one
    question may cost, and after `expires` nothing can be spent. `head`, as `head()` returned it earlier, shows whether
    an old copy of the file was put back.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        budget: Budget | None = None,
        *,
        analysts: Mapping[str, Budget] | None = None,
        per_query: Budget | None = None,
        expires: Time | None = None,
        keys_share: object = None,
        head: str | None = None,
        timeout: object = 10,
        clock: Clock = utc_now,
    ) -> None:
        if sqlite3.sqlite_version_info < _OLDEST_SQLITE:
            raise LedgerError(f"the ledger needs SQLite 3.37 or later; this Python has {sqlite3.sqlite_version}")
        self.path = locate(given_path(path, "path", "the path of the ledger"))
        self._timeout = float(read_seconds(timeout, "timeout"))
        self._clock = function(clock, "clock", "a function that returns the time")
        self._lock = threading.RLock()
        self._connection: sqlite3.Connection | None = None
        self._identity: tuple[Identity, ...] = ()
        self._state: State | None = None
        self._proven: bytearray | None = None
        self._closed = False
        let_go_before_forks(self)
        caps = read_caps(analysts)
        pinned = None if head is None else read_head(head)
        if self.path.exists():
            check_place(self.path.parent)
        elif budget is not None and pinned is None:
            share = KEYS_SHARE if keys_share is None else keys_share
            rules = make_rules(
                budget, per_query=per_query, expires=expires, keys_share=share, ledger=secrets.token_hex(16)
            )
            try:
                create(new_place(path), clock, lambda pages: pages.append(rules))
            except LedgerError:
                if not self.path.exists():  # or else somebody was quicker, and theirs is opened
                    raise
        else:
            raise LedgerError(f"there is no ledger {str(path)!r}; check the path, or give a budget to open one")
        check_folder(self.path.parent)
        try:
            if pinned is not None:
                self._check_head(pinned)
            with self._reading() as page:
                check_rules(page.state, budget, per_query=per_query, expires=expires, keys_share=keys_share)
            for name, cap in caps.items():
                self._agree_on(name, cap)
        except BaseException:
            self.close()
            raise

    @classmethod
    def restore(
        cls, path: str | os.PathLike[str], lines: Iterable[str], *, head: str | None = None, **options: Any
    ) -> SqliteLedger:
        """Return a new ledger in a new file, from the lines that `export` gave, checked from the first to the last.

        `head` must be among them, if it is given: then none of the entries up to it can be missing or different.
        """
        target = new_place(given_path(path, "path", "the path of a new ledger"))
        pinned = None if head is None else read_head(head)
        written = _lines(lines)
        create(target, utc_now, lambda pages: pages.add_lines(written, pinned))
        return cls(path, head=head, **options)

    def verify(self) -> None:
        """Raise `LedgerError` unless every entry is as it was written, and all that was spent was there to spend.

        Every event is priced again, as this version does now. Nothing is read but the file.
        """
        with self._lock, told_as_ledger_errors():
            connection = self._connected()
            with self._tidied():
                connection.execute("BEGIN")
                try:
                    schema.check_tables(connection)
                    hashes = bytearray()
                    state = verify_pages(connection, hashes)
                    known = self._state
                    if known is not None and head_at(connection, known.head.number) != known.head:
                        raise LedgerError("the ledger has lost entries that this process has seen")
                    check_same(self.path, self._identity)
                finally:
                    connection.execute("ROLLBACK")
            self._state = state
            self._proven = None if self._proven is None else hashes

    def export(self) -> Iterator[str]:
        """Return every entry with its hash, oldest first, each as a line of JSON without its line end."""
        with self._reading() as page:
            lines = list(page.lines())
        return iter(lines)

    def backup(self, path: str | os.PathLike[str]) -> None:
        """Copy the ledger to a new file while others go on spending. The copy is whole, and knows nothing later."""
        target = new_place(given_path(path, "path", "the path of a new ledger"))
        with self._lock, told_as_ledger_errors(), new_file(target) as temporary:
            copy = sqlite3.connect(temporary, isolation_level=None)
            try:
                self._connected().backup(copy)
                verify_pages(copy)
            finally:
                copy.close()

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._closed = True
            self._let_go()

    def __enter__(self) -> SqliteLedger:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    @contextmanager
    def _writing(self) -> Iterator[Pages]:
        """Give a transaction that nobody else's can run beside.

        Guarantee: when it has ended without an error, what it wrote is in the ledger's file, or durable in the log
        that lies beside that file; and the three files are those that every other process sees.
        """
        with self._lock, ExitStack() as alone:
            self._connected()
            alone.enter_context(charging_alone(self.path.parent, self._timeout))
            with self._transaction("BEGIN IMMEDIATE") as pages:
                yield pages
            with told_as_ledger_errors():
                connection = self._connected()  # which checks the files before they are written to
                write_back(connection, self._timeout)
                check_same(self.path, self._identity)

    @contextmanager
    def _reading(self) -> Iterator[Pages]:
        with self._lock, self._tidied(), self._transaction("BEGIN") as pages:
            yield pages

    @contextmanager
    def _transaction(self, begin: str) -> Iterator[Pages]:
        with self._lock, told_as_ledger_errors():
            connection = self._connected()
            connection.execute(begin)
            try:
                pages = Pages(connection, self._clock, self._state, self._proven)
                self._state = pages.state
                yield pages
                check_same(self.path, self._identity)
                connection.execute("COMMIT")
            except BaseException:
                with suppress(sqlite3.Error):
                    connection.execute("ROLLBACK")
                raise
            self._state = pages.state

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

    def _check_head(self, pinned: Head) -> None:
        """Replay the history, unless this process has, and raise unless the pinned entry is in its chain.

        Guarantee: from then on this ledger believes nothing that the file says, unless it follows from the chain that
        was replayed: neither a cached balance, nor an entry under another hash.
        """
        with self._lock, self._tidied(), told_as_ledger_errors():
            connection, file = self._connected(), self._identity[0]
            connection.execute("BEGIN")
            try:
                proof = prove(connection, file)
                hashes = bytearray(proof.hashes)
                state = Pages(connection, self._clock, proof.state, hashes).state
                check_same(self.path, self._identity)
            finally:
                connection.execute("ROLLBACK")
            proof = Proof(state, bytes(hashes))
            if not proof.holds(pinned):
                raise LedgerError(
                    f"the ledger does not hold the pinned entry {pinned.number}: an old copy of the file was put back, "
                    "or it is another ledger"
                )
            remember(file, proof)
            self._state, self._proven = state, hashes

    def _agree_on(self, name: str, cap: Budget) -> None:
        """Open an analyst's account, unless it is open already with that very cap."""
        if self._holds(name, cap):
            return
        try:
            self.open_account(name, cap)
        except BadParameter:
            if not self._holds(name, cap):  # or else somebody was quicker
                raise

    def _holds(self, name: str, cap: Budget) -> bool:
        with self._reading() as page:
            opened = [rule for rule in page.rules() if isinstance(rule, AccountOpened) and rule.account == name]
            for rule in opened:
                check_account(name, cap, rule.cap.budget, page.state.known(name).budget())
            return bool(opened)


def new_place(path: str | os.PathLike[str]) -> Path:
    """Return the file of a new ledger, in a folder of its own that is to be made, or raise `LedgerError`."""
    folder = Path(os.path.realpath(path))
    if os.path.lexists(folder):
        raise LedgerError(f"there is a file or a folder {str(folder)!r} already; a new ledger has a folder of its own")
    check_place(folder.parent)
    check_folder(folder.parent, around=True)
    return folder / FILE


def _lines(lines: object) -> Iterator[str]:
    allowed = "the lines that export() gave"
    if isinstance(lines, (str, bytes)) or not is_a(lines, Iterable):
        raise BadParameter("lines", type(lines).__name__, allowed)

    def each() -> Iterator[str]:
        try:
            for line in cast(Iterable[object], lines):
                if not isinstance(line, str):
                    raise BadParameter("lines", type(line).__name__, allowed)
                yield line
        except PrivetError:
            raise
        except OSError as error:
            raise_alone(LedgerError(f"the lines of the ledger cannot be read: {error.strerror}"))
        except Exception as error:  # a foreign iterator may raise anything
            raise_alone(BadParameter("lines", type(error).__name__, allowed))

    return each()
