"""Scans inside a PostgreSQL server: read-only transactions of one snapshot, and connections that are lent to threads.

The server's messages stay here: they can quote a row. Callers get one constant message.
"""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import threading
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, TypeVar

from privet.core.errors import BadParameter, EngineError, InvariantError, RequestError, Unsupported, raise_alone
from privet.core.numbers import read_seconds, whole
from privet.core.relation import Relation, tables_of
from privet.core.scan import Counts, Scan, SealedSums
from privet.core.schema import Key, Schema, Table, followed
from privet.engines.dialects.postgres import POSTGRES
from privet.engines.scan_sql.relations import relation_sql
from privet.engines.scan_sql.row_values import (
    Excess,
    broken_links,
    check_public,
    clamped,
    excesses,
    linked_view,
    physical,
)
from privet.engines.scan_sql.statement import Statement, write_scan
from privet.query.shape import schema_of

from .reader_address import Postgres, connect, driver
from .stored_tables import columns_sql, source_of, stored_table

Result = TypeVar("Result")
Rows = list[tuple[Any, ...]]

MOST_PUBLIC_ROWS = 200_000
"""The most rows of a public table that are listed to find its groups."""

_MOST_CHECKED = 256
_OLDEST = 140_000

BEGIN = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"

_SETTINGS = {
    "search_path": "pg_catalog, pg_temp",
    "TimeZone": "'UTC'",
    "DateStyle": "'ISO, YMD'",
    "IntervalStyle": "'postgres'",
    "extra_float_digits": "3",
    "standard_conforming_strings": "on",
    "array_nulls": "on",
    "client_min_messages": "error",
    "row_security": "off",
    "jit": "off",
}
"""The settings of each transaction: a role can change its own settings, and these decide the results."""


class Lent:
    """A connection that is lent to one thread, and the transaction that it is in."""

    def __init__(self, connection: Any) -> None:
        self.connection = connection
        self.begun = False
        self.broken = False


class ServerLanes:
    """Lends connections to at most `most` threads at once; further ones wait. They are made as they are needed."""

    def __init__(self, most: int, connect: Callable[[], Any]) -> None:
        self._most, self._connect = most, connect
        self._closed = False
        self._renew()

    def _renew(self) -> None:
        """Begin anew: a connection of another process is not used, nor closed, by a forked child."""
        self._process = os.getpid()
        self._free = threading.Semaphore(self._most)
        self._changing = threading.Lock()
        self._idle: list[Any] = []
        self._closing = weakref.finalize(self, _close_all, self._idle, self._process)

    def take(self) -> Lent:
        """Return a connection for this thread; raise `EngineError` once they are closed, or where there is none."""
        if os.getpid() != self._process:
            self._renew()
        self._free.acquire()
        try:
            if self._closed:
                raise_alone(EngineError())
            with self._changing:
                idle = self._idle.pop() if self._idle else None
            if idle is not None and (idle.closed or idle.broken):
                idle = None
            return Lent(self._connect() if idle is None else idle)
        except BaseException:
            self._free.release()
            raise

    def give_back(self, lent: Lent) -> None:
        """Take a connection back; one that failed is closed."""
        if lent.broken or self._closed or os.getpid() != self._process:
            with contextlib.suppress(Exception):
                lent.connection.close()
        else:
            with self._changing:
                self._idle.append(lent.connection)
        self._free.release()

    def close(self) -> None:
        """Lend no more, and close every connection; those that are lent are closed when they come back."""
        self._closed = True
        if os.getpid() != self._process:
            return
        with self._changing:
            _close_all(self._idle, self._process)


def _close_all(connections: list[Any], process: int) -> None:
    """Close connections, unless this is a forked child: they are its parent's."""
    while connections and os.getpid() == process:
        with contextlib.suppress(Exception):
            connections.pop().close()


class PostgresEngine:
    """Answers scans over tables of a PostgreSQL server, inside it.

    Several threads and sessions may use one engine: at most `scans` of the address run at once.

    Guarantee: a scan is one statement in a read-only transaction of isolation REPEATABLE READ, and within `snapshot`
    all scans of a thread are in one such transaction: they see the same rows. No statement writes, and none calls a
    function from outside `pg_catalog`.
    """

    def __init__(self, address: Postgres, tables: Mapping[str, Table]) -> None:
        if not isinstance(tables, Mapping) or not all(isinstance(table, Table) for table in tables.values()):
            raise BadParameter("tables", type(tables).__name__, "a mapping of names to Tables")
        milliseconds = max(1, int(float(read_seconds(address.timeout, "timeout")) * 1000))
        limits = {
            "statement_timeout": str(min(milliseconds, 2**31 - 1)),
            "lock_timeout": str(min(milliseconds, 30_000)),
            "idle_in_transaction_session_timeout": str(min(2 * milliseconds + 60_000, 2**31 - 1)),
            "work_mem": f"'{address.work_mem}'",
        }
        settings = {**_SETTINGS, **limits}
        self._begin = "; ".join([BEGIN, *(f"SET LOCAL {name} = {value}" for name, value in settings.items())])
        self._lanes = ServerLanes(address.scans, partial(connect, address))
        self._local = threading.local()
        self._relations: dict[str, str] = {}
        self._views: dict[str, str] = {}
        self._checked: dict[int, tuple[Scan, Statement]] = {}
        try:
            self._open(tables)
        except BaseException:
            self.close()
            raise

    # --- the port ---------------------------------------------------------------------------------------------------

    def check(self, scan: Scan) -> None:
        """Raise a `RequestError` where a scan cannot be run, from declared facts alone.

        Its SQL is written and parsed by the server, which looks at no row for that; it is not run.
        """
        while len(self._checked) >= _MOST_CHECKED:
            with contextlib.suppress(KeyError, RuntimeError):  # another thread may take one away meanwhile
                self._checked.pop(next(iter(self._checked), 0))
        asked = self._written(scan)
        sql, _ = self._whole(asked.sql, tables_of(scan.table), asked.parameters)
        with self._transaction() as lent:
            self._guarded(lent, lambda: _parse(lent.connection, sql))
        self._checked[id(scan)] = scan, asked

    def scan(self, scan: Scan) -> SealedSums:
        """Return the exact sums of a scan, sealed."""
        checked = self._checked.pop(id(scan), None)  # once: the next scan has a fresh key for its hashes
        asked = self._written(scan) if checked is None else checked[1]
        rows = self._fetch(asked.sql, tables_of(scan.table), asked.parameters)
        if scan.places is not None:
            return SealedSums({}, _as_counts(rows, asked.keys))
        return SealedSums({row[: asked.keys]: row[asked.keys :] for row in rows})

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """Let all scans of this thread read the same rows; the first of them begins the transaction."""
        if getattr(self._local, "held", None) is not None:
            yield
            return
        held: list[Lent] = []
        self._local.held = held
        try:
            yield
        finally:
            self._local.held = None
            for lent in held:
                self._end(lent)

    def public_rows(self, name: str) -> Rows | None:
        """Return the different rows of a public table, clamped to its facts, or None where there are too many."""
        schema = self._tables[name]
        if not schema.unit.public:
            raise InvariantError("the rows of a private table are read by scans only")
        columns = [clamped(column, schema.columns[own], POSTGRES) for own, column in physical(schema).items()]
        listed = f"SELECT DISTINCT {', '.join(columns)} FROM {self._relations[name]} LIMIT {MOST_PUBLIC_ROWS + 1}"
        rows = self._fetch(listed, {name})
        return rows if len(rows) <= MOST_PUBLIC_ROWS else None

    def list_public(self, relation: Relation, most: int) -> Rows | None:
        """Return the rows of a relation over public tables, clamped to its facts, or None where there are too many."""
        names = tables_of(relation)
        if not all(name in self._tables and self._tables[name].unit.public for name in names):
            raise InvariantError("the rows of a private table are read by scans only")
        columns = ", ".join(physical(schema_of(relation, self._tables)).values())
        rows = relation_sql(relation, self._tables, self._relations, secrets.randbits(128), POSTGRES)
        fetched = self._fetch(f"SELECT {columns} FROM {rows} AS r LIMIT {whole(most, 'most') + 1}", names)
        return fetched if len(fetched) <= most else None

    def broken_links(self) -> list[str]:
        """Return the faults of the links between tables. For the custodian alone: it is about the data."""
        with self.snapshot():
            return broken_links(self._fetch_any, self._tables, self._relations)

    def excesses(self) -> dict[str, tuple[Excess, ...]]:
        """Return what the limits on contributions take away. For the custodian alone: it is about the data."""
        with self.snapshot():
            return excesses(self._fetch_any, self._tables, self._relations, POSTGRES)

    def close(self) -> None:
        """Close the connections."""
        self._lanes.close()

    def __enter__(self) -> PostgresEngine:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    # --- opening ----------------------------------------------------------------------------------------------------

    def _open(self, tables: Mapping[str, Table]) -> None:
        sources = {name: source_of(name, table) for name, table in tables.items()}
        self._tables: dict[str, Schema] = followed({name: table.schema for name, table in tables.items()})
        with self.snapshot():
            problem = next(iter(role_problems(self.catalog)), None)
            if problem is not None:
                raise RequestError(problem)
            for index, name in enumerate(self._tables):  # a table that others link to comes before them
                stored = stored_table(self.catalog, name, sources[name])
                if stored.problems:
                    raise RequestError(stored.problems[0])
                columns = columns_sql(stored, name, tables[name].schema)
                own = f"SELECT {columns} FROM {stored.relation}"
                self._views[name] = linked_view(own, name, self._tables, self._relations)
                self._relations[name] = f"table{index}"
            for name, table in tables.items():
                if table.schema.unit.public:
                    check_public(self._fetch_any, name, table.schema, self._relations[name], POSTGRES)

    def catalog(self, sql: str, parameters: Sequence[Any]) -> Rows:
        """Return the rows of a query over the server's catalog; no table of people is in it."""
        return self._run(sql, parameters)

    # --- statements -------------------------------------------------------------------------------------------------

    def _written(self, scan: Scan) -> Statement:
        """Return the SQL of a scan, with its own key for its hashes."""
        written = write_scan(scan, self._tables, self._relations, secrets.randbits(128), POSTGRES)
        texts = (value for values in written.parameters.values() for value in values if isinstance(value, str))
        if any("\0" in value for value in texts):
            raise Unsupported("PostgreSQL has no texts with a NUL character; leave such groups out")
        return written

    def _whole(
        self, sql: str, names: Iterable[str], parameters: Mapping[str, list[Key]]
    ) -> tuple[str, list[list[Key]]]:
        """Return a statement with the tables that it reads, and its bound lists in the order of their numbers."""
        numbered = {name: f"${number}" for number, name in enumerate(parameters, start=1)}
        body = sql % numbered
        needed = self._needed(names)
        views = ", ".join(
            f"{self._relations[name]} AS NOT MATERIALIZED ({view})"
            for name, view in self._views.items()
            if name in needed
        )
        if views:
            body = f"WITH {views}, {body.removeprefix('WITH ')}" if body.startswith("WITH ") else f"WITH {views} {body}"
        return body, list(parameters.values())

    def _needed(self, names: Iterable[str]) -> set[str]:
        """Return tables and those that their links lead to."""
        needed: set[str] = set()
        waiting = list(names)
        while waiting:
            name = waiting.pop()
            link = self._tables[name].link
            if name not in needed and link is not None:
                waiting.append(link.to)
            needed.add(name)
        return needed

    def _fetch(self, sql: str, names: Iterable[str], parameters: Mapping[str, list[Key]] | None = None) -> Rows:
        return self._run(*self._whole(sql, names, parameters or {}))

    def _fetch_any(self, sql: str) -> Rows:
        words = set(re.findall(r"\w+", sql))
        return self._fetch(sql, [name for name in self._views if self._relations[name] in words])

    def _run(self, sql: str, parameters: Sequence[Any]) -> Rows:
        with self._transaction() as lent:
            return self._guarded(lent, lambda: _execute(lent.connection, sql, parameters))

    def _guarded(self, lent: Lent, work: Callable[[], Result]) -> Result:
        """Return the result of some work on a connection; the server's message on failure stays here."""
        try:
            if not lent.begun:
                lent.connection.execute(self._begin)
                lent.begun = True
            return work()
        except RequestError:
            lent.broken = True  # the transaction is aborted
            raise
        except Exception:  # whatever the server or the driver raises may quote a row
            lent.broken = True
            raise_alone(EngineError())

    @contextmanager
    def _transaction(self) -> Iterator[Lent]:
        """Lend a connection: the one of the snapshot that this thread is in, or one for a transaction of its own."""
        held = getattr(self._local, "held", None)
        if held is None:
            lent = self._lanes.take()
            try:
                yield lent
            finally:
                self._end(lent)
            return
        if not held:
            held.append(self._lanes.take())
        if held[0].broken:  # reads after a failure would be of another snapshot
            raise_alone(EngineError())
        yield held[0]

    def _end(self, lent: Lent) -> None:
        """End a transaction: nothing was written, so that there is nothing to keep."""
        if lent.begun and not lent.broken:
            try:
                lent.connection.execute("ROLLBACK")
            except Exception:  # as above; the connection is not used again
                lent.broken = True
        self._lanes.give_back(lent)


def _execute(connection: Any, sql: str, parameters: Sequence[Any]) -> Rows:
    with driver().RawCursor(connection) as cursor:
        cursor.adapters.register_loader("numeric", _whole_loader())
        cursor.execute(sql, list(parameters))
        rows: Rows = cursor.fetchall()
        return rows


def _parse(connection: Any, sql: str) -> None:
    """Let the server parse a statement; raise where it cannot."""
    pq = driver().pq
    result = connection.pgconn.prepare(b"", sql.encode())
    if result.status == pq.ExecStatus.COMMAND_OK:
        return
    state = result.error_field(pq.DiagnosticField.SQLSTATE) or b""
    if state[:2] in (b"42", b"0A", b"54"):  # of the statement itself: not of a lock, of time, or of the connection
        raise Unsupported("PostgreSQL cannot run what this asks for; ask in another way, or with another engine")
    raise EngineError()


def _whole_loader() -> Any:
    """Return the class that reads whole numbers of any size: no other numeric comes back."""
    from psycopg.adapt import Loader

    class WholeLoader(Loader):
        def load(self, data: Any) -> int:
            return int(bytes(data))

    return WholeLoader


def _as_counts(rows: Rows, keys: int) -> dict[tuple[Key, ...], Counts]:
    """Return counts by place, by group, with the places of each in order."""
    import numpy as np

    places: Any
    weights: Any
    counts: dict[tuple[Key, ...], Counts] = {}
    for row in rows:
        places, weights = (np.array(values, dtype=np.int64) for values in row[keys:])
        order = places.argsort()
        counts[row[:keys]] = (places[order], weights[order])
    return counts


_ROLE = """
SELECT r.rolsuper, r.rolbypassrls, r.rolcreaterole,
  pg_catalog.has_database_privilege(pg_catalog.current_database(), 'TEMPORARY'),
  pg_catalog.current_setting('server_version_num')::int, pg_catalog.current_setting('server_encoding')
FROM pg_catalog.pg_roles r WHERE r.rolname = current_user
"""


def role_problems(catalog: Callable[[str, Sequence[Any]], Rows]) -> Iterator[str]:
    """Return the faults of the server and of the role that scans it: rights carry the protection."""
    ((superuser, bypass, creates, temporary, version, encoding),) = catalog(_ROLE, [])
    if version < _OLDEST:
        yield "this PostgreSQL is older than version 14, the first that is supported"
    if encoding != "UTF8":
        yield f"the database is encoded as {encoding}, and only UTF8 is read: texts are told apart by their bytes"
    if superuser or bypass or creates:
        yield (
            "the role that connects has more rights than to read; CREATE ROLE one without SUPERUSER, BYPASSRLS and "
            "CREATEROLE, and GRANT it USAGE on the schema and SELECT on the tables"
        )
    if temporary:
        yield (
            "the role that connects may create temporary tables; REVOKE TEMPORARY ON DATABASE ... FROM PUBLIC, and "
            "from the role"
        )
