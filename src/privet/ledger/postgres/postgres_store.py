"""A ledger's rows in a PostgreSQL server that many hosts share: one transaction after another, durable, or none.

The server's own text never reaches anyone: it can quote an address or a row.
"""

from __future__ import annotations

import hashlib
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, NamedTuple

from privet.core.errors import LedgerError, raise_alone
from privet.ledger.forks import let_go_before_forks

from .ledger_tables import SYSTEM, TIMELINE, check_made, check_role, quoted_name
from .postgres_rows import Inserted, PostgresTransaction
from .server_address import ServerAddress, load_psycopg

if TYPE_CHECKING:
    import psycopg

_OLDEST = 130_000
"""The oldest server, as PostgreSQL numbers its versions."""

_POLL = 0.1
"""Seconds between two attempts to reach a server that went away."""

_IDLE = 60
"""Seconds after which the server ends a transaction whose process does nothing more, so that others can charge."""

_ADVICE = {
    "28": "the server did not accept the role or its password; set PGPASSWORD, or use a password file",
    "3D": "there is no such database in the server",
    "42501": "the role has not the rights that it needs; connect as the one that privet ledger init granted them to",
    "42P01": "its tables are gone; put back a copy and compare its head",
    "25006": "the server takes no changes: it is a standby, or was set to read only; connect to the primary",
    "55P03": "it is locked by another process for too long; try again, or look for one that hangs",
    "57014": "the server cancelled the statement; try again",
    "53100": "the server's disk is full; make room and try again",
    "53": "the server has no connections or no memory left; try again",
    "23": "entries are only ever added, each after the last; something else changed the tables",
    "P0001": "entries are only ever added, each after the last, where they are durable",
    "XX": "the server found its own files damaged; put back a copy and compare its head",
}
_UNREACHABLE = (
    "the ledger's server cannot be reached; check its name and port, the role and its password, and its certificate"
)


class Unreachable(LedgerError):
    """The server of a ledger did not answer, or the connection to it was lost."""


@contextmanager
def told_by_server() -> Iterator[None]:
    """Turn what the driver raises into `LedgerError`s that say what to do. Nothing was released when one is raised."""
    driver = load_psycopg()
    try:
        yield
    except driver.Error as error:
        raise_alone(_as_ledger_error(error))
    except (UnicodeError, OSError):
        raise_alone(LedgerError("the ledger cannot be used: the connection to its server failed"))


def _as_ledger_error(error: Any) -> LedgerError:
    state = error.sqlstate or ""
    for known in (state, state[:2]):
        if known in _ADVICE:
            return LedgerError(f"the ledger cannot be used: {_ADVICE[known]}")
    if not state or state[:2] in ("08", "57"):
        return Unreachable(_UNREACHABLE)
    return LedgerError("the ledger cannot be used: the database under it failed")


class Found(NamedTuple):
    """What a server says about itself at the beginning of a transaction."""

    standby: bool
    fsync: str
    full_page_writes: str
    synchronous_commit: str
    system: str | None
    timeline: int | None
    known_system: str | None
    known_timeline: int | None


class PostgresStore:
    """The rows of a ledger in a schema that many hosts share.

    Every writer first takes one advisory lock, until its transaction has ended, under READ COMMITTED: each statement
    after it sees what the last holder committed. (Under REPEATABLE READ the snapshot could be older than the lock.)
    Entries are numbered without gaps and have a primary key: without the lock, one of two writers would fail.
    """

    def __init__(self, address: ServerAddress, timeout: float) -> None:
        self.address = address
        self.lock = threading.RLock()
        self._timeout = timeout
        self._connection: psycopg.Connection[Any] | None = None
        self._lock_id = 0
        self._closed = False
        let_go_before_forks(self)

    @contextmanager
    def writing(self) -> Iterator[PostgresTransaction]:
        """Return a transaction that no other writer's can overlap.

        Guarantee: when it has ended without an error, what it wrote is committed and flushed to the server's disk.
        Where the connection is lost at the commit, it ends without an error only if its entry is found in the ledger.
        """
        with self.lock, told_by_server():
            transaction = self._begun("BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE", alone=True)
            try:
                yield transaction
            except BaseException:
                self._roll_back()
                raise
            self._commit(transaction.inserted)

    @contextmanager
    def reading(self) -> Iterator[PostgresTransaction]:
        """Return a transaction that only reads, all of it from one snapshot."""
        with self.lock, told_by_server():
            try:
                yield self._begun("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY", alone=False)
            finally:
                self._roll_back()

    def ledger_id(self) -> str:
        """Return the ledger's own name, by which its lock is derived."""
        with self.lock, told_by_server():
            self._connected()
            return self._id

    def close(self) -> None:
        """Close the connection."""
        with self.lock:
            self._closed = True
            self._let_go()

    def _begun(self, begin: str, *, alone: bool) -> PostgresTransaction:
        """Return a transaction that has begun, on a connection that is made anew where the last one was lost."""
        driver = load_psycopg()
        fresh = self._connection is None
        connection = self._connected()
        try:
            self._begin(connection, begin, alone=alone)
        except driver.OperationalError:
            if fresh or not _lost(connection):
                self._roll_back()
                raise
            self._let_go()  # it was lost while nothing was under way, so nothing can be half done
            connection = self._connected()
            self._begin(connection, begin, alone=alone)
        try:
            found = self._look(connection)
            check_server(found)
        except BaseException:
            self._roll_back()
            raise
        return PostgresTransaction(connection, self.address.schema, (found.system, self._id))

    def _begin(self, connection: psycopg.Connection[Any], begin: str, *, alone: bool) -> None:
        connection.execute(begin)
        if alone:
            connection.execute("SELECT pg_catalog.pg_advisory_xact_lock(%s)", (self._lock_id,))

    def _look(self, connection: psycopg.Connection[Any]) -> Found:
        schema = quoted_name(self.address.schema)
        row = connection.execute(
            "SELECT pg_catalog.pg_is_in_recovery(), pg_catalog.current_setting('fsync'), "
            "pg_catalog.current_setting('full_page_writes'), pg_catalog.set_config('synchronous_commit', 'on', true), "
            f"CASE WHEN NOT pg_catalog.pg_is_in_recovery() THEN {SYSTEM} END, "
            f"CASE WHEN NOT pg_catalog.pg_is_in_recovery() THEN {TIMELINE} END, known.system, known.timeline "
            f"FROM (SELECT system, timeline FROM {schema}.servers ORDER BY number DESC LIMIT 1) AS known"
        ).fetchone()
        if row is None:
            raise LedgerError("the ledger cannot be used: its server did not answer")
        return Found._make(row)

    def _commit(self, inserted: Inserted | None) -> None:
        """Commit, and return only if it is known that the entry is in the ledger."""
        driver = load_psycopg()
        connection = self._connection
        if connection is None:  # a fork let go of it, in the middle of the transaction
            raise Unreachable(_UNREACHABLE)
        try:
            done = connection.execute("COMMIT")
        except driver.Error:
            lost = _lost(connection)
            self._let_go()
            if not lost:
                raise
            if inserted is not None:
                self._resolve(inserted)
            return
        except BaseException:
            self._let_go()
            raise
        if done.statusmessage != "COMMIT":
            raise LedgerError("the ledger cannot be used: the server rolled the transaction back; nothing was recorded")

    def _resolve(self, inserted: Inserted) -> None:
        """Find out whether an entry was committed whose connection was lost at the commit; raise unless it was.

        Guarantee: the lock is taken first, which the lost transaction held: so it has ended, and whether its entry is
        there is decided for good. An entry counts as one's own only if that very transaction added it.
        """
        ends = time.monotonic() + self._timeout
        while True:
            try:
                with told_by_server():
                    transaction = self._begun("BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE", alone=True)
                    landed = transaction.has(inserted)
                    break
            except Unreachable:
                self._let_go()
                if time.monotonic() >= ends:
                    raise_alone(
                        Unreachable(
                            "the connection to the ledger's server was lost while an entry was written, and the server "
                            f"cannot be asked whether entry {inserted.number} is there. Nothing was released. Ask the "
                            "same again when it is back: what was charged is not charged twice"
                        )
                    )
                time.sleep(_POLL)
        self._roll_back()
        if not landed:
            raise_alone(
                Unreachable(
                    "the connection to the ledger's server was lost before the entry was written: nothing was "
                    "recorded, and nothing released; ask again"
                )
            )

    def _connected(self) -> psycopg.Connection[Any]:
        """Return the connection to the server, making one where there is none."""
        if self._closed:
            raise LedgerError("the ledger was closed")
        if self._connection is None:
            self._connection = self._opened()
        return self._connection

    def _opened(self) -> psycopg.Connection[Any]:
        connection = self.address.connect(self._timeout)
        try:
            if connection.info.server_version < _OLDEST:
                raise LedgerError("the ledger needs PostgreSQL 13 or later")
            settings = {
                "search_path": "",
                "row_security": "off",
                "default_transaction_read_only": "off",
                "client_min_messages": "error",
                "lock_timeout": f"{min(max(1, int(self._timeout * 1000)), 2**31 - 1)}ms",
                "idle_in_transaction_session_timeout": f"{_IDLE}s",
                "statement_timeout": "0",
            }
            for name, value in settings.items():
                connection.execute("SELECT pg_catalog.set_config(%s, %s, false)", (name, value))
            check_role(connection, self.address.schema)
            check_made(connection, self.address.schema)
            found = connection.execute(f"SELECT id FROM {quoted_name(self.address.schema)}.ledger").fetchone()
            if found is None:
                raise LedgerError("the ledger's tables have lost the ledger's name: they were changed")
            self._id: str = found[0]
            self._lock_id = lock_id(self._id)
        except BaseException:
            _close(connection)
            raise
        return connection

    def _roll_back(self) -> None:
        connection = self._connection
        if connection is None:
            return
        try:
            connection.execute("ROLLBACK")
        except Exception:  # lost, or in the middle of something: the server rolls back what is not committed
            self._let_go()

    def _let_go(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            _close(connection)

    def __del__(self) -> None:
        with suppress(Exception):  # it may be half made, or the interpreter half gone
            self._let_go()


def lock_id(ledger: str) -> int:
    """Return the number of the advisory lock of a ledger."""
    digest = hashlib.sha256(f"privet ledger {ledger}".encode()).digest()
    return int.from_bytes(digest[:8], "big", signed=True)


def check_server(found: Found) -> None:
    """Raise `LedgerError` unless a server keeps what it commits, and is the one that the ledger was last used on.

    Guarantee: a server that was promoted or restored since is refused until the custodian adopts it: it may lack the
    last entries.
    """
    if found.standby:
        raise LedgerError("the ledger's server is a standby, which may lack the last entries; connect to the primary")
    for name, value in (("fsync", found.fsync), ("full_page_writes", found.full_page_writes)):
        if value != "on":
            raise LedgerError(
                f"the ledger's server runs with {name} = off, and may lose what it has committed; set it to on"
            )
    if found.synchronous_commit != "on":
        raise LedgerError("the ledger's server does not let synchronous_commit be on, and may lose what it commits")
    if found.system != found.known_system:
        raise _other_server("its files are another server's")
    if found.timeline != found.known_timeline:
        raise _other_server(f"its timeline is {found.timeline}, and was {found.known_timeline}")


def _other_server(how: str) -> LedgerError:
    return LedgerError(
        f"the ledger's server is not the one that it was last used on: {how}. It was promoted or restored, and may "
        "lack the last entries; find the last head that was kept, and run: privet ledger adopt --head HEAD"
    )


def _lost(connection: psycopg.Connection[Any]) -> bool:
    return bool(connection.closed)


def _close(connection: psycopg.Connection[Any]) -> None:
    with suppress(Exception):
        connection.close()
