"""The ledger that many hosts share, in a PostgreSQL server: opened, restored, copied; and what its owner does once.

Its store keeps the rows: one transaction after another, durable, or none. The server's own text never reaches callers:
it can quote an address or a row.
"""

from __future__ import annotations

import hashlib
import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from typing import TYPE_CHECKING, Any, NamedTuple

from privet.core.budget import Budget
from privet.core.errors import LedgerError, raise_alone
from privet.core.given import function
from privet.core.numbers import Number, read_seconds
from privet.ledger.admin import copy_ledger, copy_rows
from privet.ledger.bookkeeping import Bookkeeping
from privet.ledger.codec import read_head
from privet.ledger.entries import Time
from privet.ledger.forks import let_go_before_forks
from privet.ledger.history import History, StoredHistory, Transaction, verify_rows, write_cache
from privet.ledger.state import KEYS_SHARE, Clock, make_rules, read_caps, read_lines, utc_now

from .postgres_rows import (
    SYSTEM,
    TIMELINE,
    Inserted,
    PostgresTransaction,
    check_made,
    check_role,
    quoted_name,
    set_up_statements,
)
from .server_address import ServerAddress, load_psycopg, read_address

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
    """Turn the driver's errors into `LedgerError`s that state what to do. Nothing was released when one is raised."""
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
    """What a server reports about itself at the beginning of a transaction."""

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
    after it sees the commits of the last holder. (Under REPEATABLE READ the snapshot could be older than the lock.)
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
            server = self._look(connection)
            check_server(server)
        except BaseException:
            self._roll_back()
            raise
        return PostgresTransaction(connection, self.address.schema, (server.system, self._id))

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
            row = connection.execute(f"SELECT id FROM {quoted_name(self.address.schema)}.ledger").fetchone()
            if row is None:
                raise LedgerError("the ledger's tables have lost the ledger's name: they were changed")
            self._id: str = row[0]
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
        except Exception:  # lost, or in the middle of something: the server rolls back uncommitted work
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


if TYPE_CHECKING:
    pass

# The ledger, and what the owner of its schema does once.


_WAIT = 10


class PostgresLedger(Bookkeeping):
    """A ledger in a PostgreSQL server, shared by any number of hosts.

    The owner of a schema makes its tables once, with `privet ledger init` or `PostgresLedger.set_up`; the ledger is
    opened as another role, which can add entries and read them, and can neither change nor remove one. With a
    `budget`, the first to open it writes its rules. All else is as in `SqliteLedger`.

    The connection is encrypted and the server's certificate checked (`sslmode=verify-full`), unless it stays on this
    machine or the address states another `sslmode`. Keep passwords out of addresses: `PGPASSWORD`, or a password file.

    Args:
        url: the server, the role and the database, and after # the schema (`privet` if left out).
        budget: what may be spent in all; needed for the first to open the ledger.
        analysts: the caps of single accounts, by name.
        per_query: the largest charge of one question.
        expires: the time after which nothing can be spent.
        keys_share: the share of delta that may be spent on finding groups.
        head: what `head()` returned earlier, to detect a server that lost entries.
        timeout: seconds to wait for another process, and for a server that went away.
        clock: returns the time; for tests.

    Raises:
        BadParameter: if the ledger has other rules.
        LedgerError: if the server cannot be reached, may lose what it commits, or was promoted or restored.

    Example:
        >>> try:
        ...     privet.PostgresLedger("hospital.ledger", privet.Pure(epsilon=1))
        ... except privet.RequestError as refused:
        ...     print(refused.code)
        request.parameter
    """

    def __init__(
        self,
        url: str,
        budget: Budget | None = None,
        *,
        analysts: Mapping[str, Budget] | None = None,
        per_query: Budget | None = None,
        expires: Time | None = None,
        keys_share: Number | None = None,
        head: str | None = None,
        timeout: Number = _WAIT,
        clock: Clock = utc_now,
    ) -> None:
        address = read_address(url)
        seconds = float(read_seconds(timeout, "timeout"))
        function(clock, "clock", "a function that returns the time")
        read_caps(analysts)
        if head is not None:
            read_head(head)
        self._postgres = PostgresStore(address, seconds)
        try:
            if not has_entries(self._postgres):
                if budget is None or head is not None:
                    raise LedgerError(
                        f"the ledger at {address.shown} has no entries: pass a budget to begin it; if it had some, "
                        "they are lost, and a copy has to be put back"
                    )
                share = KEYS_SHARE if keys_share is None else keys_share
                rules = make_rules(
                    budget, per_query=per_query, expires=expires, keys_share=share, ledger=self._postgres.ledger_id()
                )
                with StoredHistory(self._postgres, clock).writing() as history:
                    if not history.state.head.number:  # or else another process was quicker
                        _check_never_begun(history.transaction)
                        history.append(rules)
                        write_cache(history.transaction, history.state)  # which shows that it was begun
        except BaseException:
            self._postgres.close()
            raise
        super().__init__(
            self._postgres,
            budget,
            analysts=analysts,
            per_query=per_query,
            expires=expires,
            keys_share=keys_share,
            head=head,
            clock=clock,
        )

    @property
    def place(self) -> str:
        """The server, the database and the schema, without the role and its password."""
        return self._postgres.address.shown

    @classmethod
    def restore(cls, url: str, lines: Iterable[str], *, head: str | None = None, **options: Any) -> PostgresLedger:
        """Return a ledger in tables that are still empty, from the lines that `export` returned, checked one by one.

        `head` must be among them, if it is passed: then none of the entries up to it can be missing or different.
        """
        address = read_address(url)
        pinned = None if head is None else read_head(head)
        written = read_lines(lines)
        _fill(address, lambda new: new.add_lines(written, pinned))
        return cls(url, head=head, **options)

    @classmethod
    def set_up_sql(cls, url: str, *, role: str) -> str:
        """Return the SQL of `set_up`, to be run by hand, in one transaction."""
        statements = set_up_statements(read_address(url).schema, role)
        return ";\n".join(("BEGIN", *statements, "COMMIT;"))

    @classmethod
    def set_up(cls, url: str, *, role: str) -> None:
        """Make the tables of a new ledger, as the owner that the address names, and let a role use them.

        The role is made where there is none, without a password. All of it is done, or none.
        """
        address = read_address(url)
        _as_owner(address, set_up_statements(address.schema, role))

    @classmethod
    def adopt(cls, url: str, *, head: str) -> str:
        """Go on with a server that was promoted or restored, as the owner that the address names; return its head.

        `head` is the last one that was kept anywhere: in a certificate, a log, a backup. It must be in the ledger.

        Guarantee: the whole ledger is verified first. Entries after `head` that the former server had committed may
        still be missing: what they spent is then forgotten, and the budget must be lowered by hand, or not used.
        """
        address, pinned = read_address(url), read_head(head)
        with told_by_server(), closing(address.connect(_WAIT)) as connection, connection.transaction():
            connection.execute("SELECT pg_catalog.set_config('search_path', '', true)")
            connection.execute(f"LOCK TABLE {quoted_name(address.schema)}.servers IN EXCLUSIVE MODE")
            rows = PostgresTransaction(connection, address.schema, None)
            rows.check()
            hashed = rows.hash_at(pinned.number)
            if hashed != pinned.hash:
                raise LedgerError(
                    f"the ledger does not contain entry {pinned.number} of the head that was passed: this server has "
                    "lost entries; go on with one that has them, or restore an export that has them"
                )
            last = str(verify_rows(rows).head)
            servers = f"{quoted_name(address.schema)}.servers"
            connection.execute(
                f"INSERT INTO {servers} (number, system, timeline, head) "
                f"SELECT max(number) + 1, {SYSTEM}, {TIMELINE}, %s FROM {servers}",
                (last,),
            )
        return last

    def backup(self, path: str | os.PathLike[str]) -> None:
        """Copy the ledger to a new file, or to empty tables at another address, while others go on spending."""
        with self._postgres.lock, self._postgres.reading() as rows:
            copy_ledger(rows, path)

    def __repr__(self) -> str:
        return f"PostgresLedger({self.place!r})"


def has_entries(store: PostgresStore) -> bool:
    """Return whether a ledger was begun."""
    with store.lock, store.reading() as rows:
        return rows.hash_at(1) is not None


def _check_never_begun(rows: Transaction) -> None:
    """Raise `LedgerError` where there are no entries and a balance was cached: there were some.

    Guarantee: a ledger whose entries were removed is not begun again, with its whole budget, as long as the balance
    that was cached at its beginning is there; the role that uses the ledger cannot remove it.
    """
    if rows.cached() is not None:
        raise LedgerError(
            "the ledger has lost all of its entries; make new tables with privet ledger init, put a copy into them "
            "and compare its head"
        )


def is_begun(url: str) -> bool:
    """Return whether there is a ledger at an address, with its first entry."""
    store = PostgresStore(read_address(url), _WAIT)
    with closing(store):
        return has_entries(store)


def fill_from(url: str, source: Transaction) -> None:
    """Copy the rows of a ledger, and the texts that it keeps, into empty tables at an address."""
    _fill(read_address(url), lambda new: copy_rows(source, new.transaction))


def _fill(address: ServerAddress, write: Callable[[History], object]) -> None:
    """Write a whole ledger into empty tables and verify it, in one transaction."""
    store = PostgresStore(address, _WAIT)
    with closing(store), store.lock, store.writing() as rows:
        if rows.hash_at(1) is not None:
            raise LedgerError(f"there is a ledger at {address.shown} already; a copy needs tables of its own")
        _check_never_begun(rows)
        write(History(rows, utc_now, None))
        write_cache(rows, verify_rows(rows))


def _as_owner(address: ServerAddress, statements: Iterable[str]) -> None:
    with told_by_server(), closing(address.connect(_WAIT)) as connection, connection.transaction():
        connection.execute("SELECT pg_catalog.set_config('search_path', '', true)")
        for statement in statements:
            connection.execute(statement)
