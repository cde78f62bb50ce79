"""DuckDB, inside the process: one database, locked down once its tables are open, and a connection for each scan.

The engine's own messages stay here: they can quote a row. Callers get one constant message.
"""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import shutil
import tempfile
import threading
import time
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from fractions import Fraction
from functools import partial
from operator import add
from typing import TYPE_CHECKING, Any, Self, TypeVar

from privet.core.errors import BadParameter, EngineError, InvariantError, RequestError, raise_alone
from privet.core.numbers import read_seconds, whole
from privet.core.relation import Relation, tables_of
from privet.core.scan import Scan, SealedSums
from privet.core.schema import DEFAULT_ROWS, Key, Schema, Table, followed
from privet.engines.dialects.duckdb import DUCKDB, DuckDBDialect
from privet.engines.scan_sql.dialect import quoted
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
from privet.engines.scan_sql.statement import Statement, as_counts, write_scan
from privet.query.shape import schema_of

from .sources import Collected, DatabaseTable, OpenedSource, Streamed, open_source, view_of

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection


# The memory of an engine inside the process: its limit, the folder that it spills to, and how a scan keeps to both.
#
# Everything here is decided from public facts: the limit, and the rows that are declared. What a scan would really need
# is not asked.


LEAST_MEMORY = 16 * 10**6
"""Below this many bytes the engine cannot even open its tables."""

BYTES_PER_ROW = 160
"""What one declared row is taken to need: a cell of one person and group, and a copy while sums are made."""

MOST_PARTS = 16
"""No scan is divided into more parts automatically: each part reads all rows."""

_SIZE = re.compile(r"([0-9]{1,9}(?:\.[0-9]{1,3})?)([KMGT])(I?)B", re.IGNORECASE)


def read_memory_limit(value: object) -> int:
    """Return a size such as "4GB", "512MB" or "1.5GiB" in bytes; refuse any other, and one that is too small."""
    parsed = _SIZE.fullmatch(value) if isinstance(value, str) else None
    if parsed is None:
        raise BadParameter("memory_limit", value, "a size in quotes, such as '4GB' or '512MB'")
    size = int(Fraction(parsed[1]) * (1024 if parsed[3] else 1000) ** (1 + "KMGT".index(parsed[2].upper())))
    if not LEAST_MEMORY <= size < 2**62:
        raise BadParameter("memory_limit", value, "at least '16MB': less does not hold the pages of one small scan")
    return size


def parts_for(declared: Iterable[int], limit: int) -> int:
    """Return into how many parts a scan is divided so that each should fit into a memory limit, by declared rows.

    A table whose rows are not declared may have any number of them, and counts for none.
    """
    rows = max((rows for rows in declared if rows < DEFAULT_ROWS), default=0)
    return min(max(-(-rows * BYTES_PER_ROW // limit), 1), MOST_PARTS)


def make_spill_folder() -> str:
    """Return a new folder that only this user may enter; it is empty until a scan needs more than its memory."""
    try:
        return tempfile.mkdtemp(prefix="privet-")  # created with mode 0700
    except OSError:
        raise_alone(_no_folder())


def check_spill_folder(folder: str) -> None:
    """Raise a `RequestError` where the folder is gone or cannot be written: a scan may need it, and is not charged."""
    if not os.access(folder, os.W_OK | os.X_OK):
        raise _no_folder()


def _no_folder() -> RequestError:
    return RequestError(
        "the engine has no folder to spill to: the folder for temporary files is missing or cannot be written; "
        "set TMPDIR to one with enough space that this user may write to, and open the session again"
    )


# A scan in parts: a hash puts each unit into one of them, each is read and bounded separately, and sums are added.
#
# Tables of an engine then contain the units of one part at a time, so that they fit into memory where all units would
# not.


Sums = dict[tuple[Key, ...], tuple[int, ...]]


def divides(scan: Scan) -> bool:
    """Return whether the sums of a scan are those of its units added up, so that it can be run in parts.

    Different values are not: one that units of two parts share counts once. Counts by place are not read in parts, for
    the places to look at closely depend on all of them. Where each row is a unit, nothing is kept of any.
    """
    return scan.places is None and not scan.bounding.unbounded and scan.bounding.of is None


def added(parts: Iterable[Iterable[tuple[Any, ...]]], keys: int, *, found: bool) -> Sums:
    """Return the sums of all parts, each of which has rows of `keys` keys and integers, added by group.

    Where keys are found in the data, the last integer is the number of units that keep a key, and only keys that some
    unit keeps come back, without it: whether one does is known after the last part.

    Guarantee: every unit's integers are in one part, bounded there; adding moves no group by more than that part moved.
    """
    sums: Sums = {}
    for rows in parts:
        for row in rows:
            group, given = row[:keys], row[keys:]
            sums[group] = tuple(map(add, sums[group], given)) if group in sums else given
    if not found:
        return sums
    return {group: given[:-1] for group, given in sums.items() if given[-1] > 0}


# A time limit for one query after another: a thread sleeps until the limit, and wakes up only where it is reached.
#
# A timer for each query would start a thread for each, which a busy machine lets wait.


_LONGEST = 3600.0
"""No sleep is longer than this many seconds, whatever the limit is."""


class Deadline:
    """Calls `stop` on whatever runs longer than `seconds`, once, and never on what comes after it."""

    def __init__(self, seconds: float, stop: Callable[[], object]) -> None:
        self._seconds, self._stop = seconds, stop
        self._changing = threading.Lock()
        self._until: float | None = None
        self._watcher: threading.Thread | None = None

    @contextmanager
    def running(self, until: float | None = None) -> Iterator[None]:
        """Watch what runs inside, one at a time; with `until`, to a limit that began with something before it."""
        with self._changing:
            self._until = self.from_now() if until is None else until
            if self._watcher is None or not self._watcher.is_alive():  # a forked child has none
                self._watcher = threading.Thread(target=_watch, args=(weakref.ref(self),), daemon=True)
                self._watcher.start()
        try:
            yield
        finally:
            with self._changing:
                self._until = None

    def from_now(self) -> float:
        """Return when the limit of what begins now is reached, by `time.monotonic`."""
        return time.monotonic() + self._seconds

    def left(self) -> float | None:
        """Return for how long to sleep; None where nothing is left to watch, and then the thread is gone."""
        with self._changing:
            left = None if self._until is None else self._until - time.monotonic()
            if left is not None and left > 0:
                return min(left, _LONGEST)
            if left is not None:
                self._until = None
                self._stop()
            self._watcher = None
            return None


def _watch(watched: weakref.ref[Deadline]) -> None:
    """Sleep until a limit is reached, referring to nothing meanwhile, so that the watched object can be freed."""
    while (deadline := watched()) is not None:
        left = deadline.left()
        del deadline
        if left is None:
            return
        time.sleep(left)


# Connections that are lent to scans: one each, with a deadline that interrupts this scan and no other.


class Lane:
    """A connection that runs one statement at a time, within its own time limit."""

    def __init__(self, connection: DuckDBPyConnection, seconds: float) -> None:
        self.connection = connection
        self.deadline = Deadline(seconds, connection.interrupt)


class Lanes:
    """Lends connections to at most `most` scans at once; further ones wait. Connections are made as they are needed."""

    def __init__(self, most: int, make: Callable[[], Lane]) -> None:
        self._most, self._make = most, make
        self._idle: list[Lane] = []
        self._closed = False
        self._renew()

    def _renew(self) -> None:
        self._process = os.getpid()
        self._free = threading.Semaphore(self._most)
        self._changing = threading.Lock()

    @contextmanager
    def lent(self) -> Iterator[Lane]:
        """Lend a connection; raise `EngineError` once they are closed."""
        if os.getpid() != self._process:  # threads with connections do not come along into a forked child
            self._renew()
        self._check_open()
        with self._free:
            self._check_open()
            with self._changing:
                lane = self._idle.pop() if self._idle else self._make()
            try:
                yield lane
            finally:
                with self._changing:
                    self._idle.append(lane)

    def _check_open(self) -> None:
        if self._closed:
            raise_alone(EngineError())

    def close(self) -> None:
        """Lend no more, and close every connection once the scans that run have ended."""
        if os.getpid() != self._process:
            self._renew()
        self._closed = True
        for _ in range(self._most):
            self._free.acquire()
        self._free.release(self._most)
        while self._idle:
            with contextlib.suppress(Exception):
                self._idle.pop().connection.close()


# The engine.


Result = TypeVar("Result")

MEMORY_LIMIT = "4GB"
TIMEOUT = 600
"""Public constants: how much memory all scans may take together, and for how many seconds each may run."""

MOST_SCANS = 1024
MOST_ASKED_PARTS = 1024

MOST_PUBLIC_ROWS = 200_000
"""The most rows of a public table that are listed to find its groups."""

_MOST_CHECKED = 256
"""The most scans that are kept as written by `check`, until they are run."""


class DuckDB:
    """Answers scans over tables that stay where they are.

    Several threads and sessions may use one engine: at most `scans` scans run at once, as many as there are processors
    if left out, and further ones wait. They share the memory and the threads, and each has the `timeout` to itself.
    Over a DuckDB relation, whose own connection can run one statement at a time, one scan runs at a time.

    A scan of people that the declared number of rows shows to be larger than the memory limit is read in parts, each
    with the people of one hash, instead of spilling; `parts` sets their number for all such scans.

    Guarantee: each scan has a connection of its own, on which every setting is locked as on the one that opened the
    tables; a time limit that is reached interrupts its own scan and no other.
    """

    def __init__(
        self,
        tables: Mapping[str, Table],
        *,
        memory_limit: str = MEMORY_LIMIT,
        threads: int | None = None,
        timeout: object = TIMEOUT,
        scans: int | None = None,
        parts: int | None = None,
    ) -> None:
        import duckdb

        if not isinstance(tables, Mapping) or not all(isinstance(table, Table) for table in tables.values()):
            raise BadParameter("tables", type(tables).__name__, "a mapping of names to Tables")
        self._memory = read_memory_limit(memory_limit)
        seconds = float(read_seconds(timeout, "timeout"))
        most = os.cpu_count() or 1 if scans is None else whole(scans, "scans", least=1, most=MOST_SCANS)
        self._parts = None if parts is None else whole(parts, "parts", least=1, most=MOST_ASKED_PARTS)
        self._spill = make_spill_folder()
        self._remove = weakref.finalize(self, _remove_own, self._spill, os.getpid())
        config: dict[str, Any] = {
            "memory_limit": memory_limit,
            "temp_directory": self._spill,
            "preserve_insertion_order": False,
        }
        if threads is not None:
            config["threads"] = whole(threads, "threads", least=1, most=1024)
        try:
            self._connection = duckdb.connect(":memory:", config=config)
        except duckdb.Error:
            self._remove()
            raise_alone(BadParameter("memory_limit", memory_limit, "a size such as '4GB' that this machine has"))
        self._relations: dict[str, str] = {}
        self._made_anew: set[str] = set()
        self._checked: dict[int, tuple[Scan, Statement]] = {}
        opening = Lane(self._connection, seconds)
        self._lanes = self._public = Lanes(1, lambda: opening)
        try:
            self._dialect = self._own_dialect()
            registered = self._open(tables)
        except BaseException:
            self.close()
            raise
        # the relation of another connection is run there, where a second statement would end the first
        alone = any(isinstance(frame, Streamed) for frame in registered.values())
        make = partial(_made_lane, self._connection, registered, seconds)
        self._lanes = Lanes(1 if alone else most, make)
        # plans list public rows, and a plan whose answer is stored need not wait for a scan
        self._public = self._lanes if alone else Lanes(1, make)

    def check(self, scan: Scan) -> None:
        """Raise a `RequestError` where a scan cannot be run, from declared facts alone: its SQL is written, not run."""
        check_spill_folder(self._spill)
        while len(self._checked) >= _MOST_CHECKED:
            with contextlib.suppress(KeyError, RuntimeError):  # another thread may take one away meanwhile
                self._checked.pop(next(iter(self._checked), 0))
        self._checked[id(scan)] = scan, self._written(scan)

    def scan(self, scan: Scan) -> SealedSums:
        """Return the exact sums of a scan, sealed."""
        checked = self._checked.pop(id(scan), None)  # once: the next scan has a fresh key for its hashes
        asked = self._written(scan) if checked is None else checked[1]
        if scan.places is not None:
            return SealedSums({}, as_counts(self._fetch_arrays(asked.sql, asked.parameters), asked.kinds))
        if asked.parts > 1:
            return SealedSums(self._fetch_parts(asked, found=scan.discovery is not None))
        rows = self._fetch(asked.sql, asked.parameters)
        return SealedSums({row[: asked.keys]: row[asked.keys :] for row in rows})

    def _written(self, scan: Scan) -> Statement:
        """Return the SQL of a scan, with its own key for its hashes."""
        parts = self._parts_of(scan)
        return write_scan(scan, self._tables, self._relations, secrets.randbits(128), self._dialect, parts=parts)

    def _parts_of(self, scan: Scan) -> int:
        """Return into how many parts a scan is divided, from declared facts and the custodian's settings alone.

        What another program makes anew for each reading is read once.
        """
        names = tables_of(scan.table)
        if not divides(scan) or self._made_anew.intersection(names):
            return 1
        if self._parts is not None:
            return self._parts
        private = [self._tables[name] for name in names if not self._tables[name].unit.public]
        return parts_for((schema.rows for schema in private), self._memory)

    def public_rows(self, name: str) -> list[tuple[Any, ...]] | None:
        """Return the different rows of a public table, clamped to its facts, or None where there are too many."""
        schema = self._tables[name]
        if not schema.unit.public:
            raise InvariantError("the rows of a private table are read by scans only")
        columns = [clamped(column, schema.columns[own], DUCKDB) for own, column in physical(schema).items()]
        listed = f"SELECT DISTINCT {', '.join(columns)} FROM {self._relations[name]} LIMIT {MOST_PUBLIC_ROWS + 1}"
        rows = self._run(listed, None, lambda result: result.fetchall(), self._public)
        return rows if len(rows) <= MOST_PUBLIC_ROWS else None

    def list_public(self, relation: Relation, most: int) -> list[tuple[Any, ...]] | None:
        """Return the rows of a relation over public tables, clamped to its facts, or None where there are too many."""
        if not all(name in self._tables and self._tables[name].unit.public for name in tables_of(relation)):
            raise InvariantError("the rows of a private table are read by scans only")
        schema = schema_of(relation, self._tables)
        columns = ", ".join(physical(schema).values())
        rows = relation_sql(relation, self._tables, self._relations, secrets.randbits(128), self._dialect)
        listed = f"SELECT {columns} FROM {rows} LIMIT {whole(most, 'most') + 1}"
        fetched = self._run(listed, None, lambda result: result.fetchall(), self._public)
        return fetched if len(fetched) <= most else None

    def broken_links(self) -> list[str]:
        """Return the faults of the links between tables. For the custodian alone: it is about the data."""
        return broken_links(self._fetch, self._tables, self._relations)

    def excesses(self) -> dict[str, tuple[Excess, ...]]:
        """Return what the limits on contributions take away. For the custodian alone: it is about the data."""
        return excesses(self._fetch, self._tables, self._relations, DUCKDB)

    def close(self) -> None:
        """Close every connection once the scans that run have ended, and remove what they spilled."""
        self._lanes.close()
        self._public.close()
        with contextlib.suppress(Exception):
            self._connection.close()
        self._remove()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def _own_dialect(self) -> DuckDBDialect:
        """Return the dialect of this DuckDB: sums of 64 bits are by a function that not every version may have."""
        try:
            self._fetch(f"SELECT {DUCKDB.short_sum(DUCKDB.whole(1))}")
        except EngineError:
            return DuckDBDialect(short_sums=False)
        return DUCKDB

    def _open(self, tables: Mapping[str, Table]) -> dict[str, Any]:
        """Open the tables and lock the database down; return the objects that each connection has to register.

        Settings are made for the whole database: those of one connection would not apply to the others.
        """
        self._fetch("SET GLOBAL autoinstall_known_extensions = false")
        self._fetch("SET GLOBAL autoload_known_extensions = false")
        self._fetch("SET GLOBAL allow_community_extensions = false")
        self._fetch("SET GLOBAL pandas_analyze_sample = 0")
        self._fetch("SET GLOBAL TimeZone = 'UTC'")
        self._fetch("SET GLOBAL disable_parquet_prefetching = true")  # for far files: near ones are read faster without
        # on where Python is interactive; a notebook without widgets has none, and raises
        if self._fetch("SELECT current_setting('enable_progress_bar')")[0][0]:
            self._fetch("SET enable_progress_bar = false")  # further connections have none
        paths: list[str] = []
        registered: dict[str, Any] = {}
        places = {name: index for index, name in enumerate(tables)}
        self._tables = owned = followed({name: table.schema for name, table in tables.items()})
        for name in owned:  # a table that others link to comes before them
            opened = open_source(self._connection, name, tables[name], places[name])
            paths += opened.paths
            if opened.frame is not None:
                registered[opened.relation] = opened.frame
            if isinstance(opened.frame, (Streamed, Collected)):
                self._made_anew.add(name)
            self._create_view(name, tables[name], opened, places[name], owned)
        self._lock_down(paths)
        return registered

    def _create_view(
        self, name: str, table: Table, opened: OpenedSource, index: int, owned: Mapping[str, Schema]
    ) -> None:
        described = [(row[0], row[1]) for row in self._fetch(f"DESCRIBE SELECT * FROM {opened.relation}")]
        columns = view_of(described, name, table.schema, collated=isinstance(table.source, DatabaseTable))
        own = f"SELECT {columns} FROM {opened.relation}"
        self._fetch(f"CREATE VIEW table{index} AS {linked_view(own, name, owned, self._relations)}")
        self._relations[name] = f"table{index}"
        if table.schema.unit.public:
            check_public(self._fetch, name, table.schema, f"table{index}", DUCKDB)

    def _lock_down(self, paths: list[str]) -> None:
        allowed = [*paths, *(f"{path}.wal" for path in paths if not path.endswith((".parquet", ".csv")))]
        self._fetch(f"SET GLOBAL allowed_paths = [{', '.join(quoted(path) for path in allowed)}]")
        self._fetch(f"SET GLOBAL allowed_directories = [{quoted(self._spill)}]")
        self._fetch("SET GLOBAL enable_external_access = false")
        self._fetch("SET GLOBAL python_enable_replacements = false")
        self._fetch("SET GLOBAL lock_configuration = true")

    def _fetch(self, sql: str, parameters: dict[str, Any] | None = None) -> list[tuple[Any, ...]]:
        return self._run(sql, parameters, lambda result: result.fetchall())

    def _fetch_arrays(self, sql: str, parameters: dict[str, Any]) -> dict[str, Any]:
        return self._run(sql, parameters, lambda result: result.fetchnumpy())

    def _run(
        self,
        sql: str,
        parameters: dict[str, Any] | None,
        fetch: Callable[[DuckDBPyConnection], Result],
        lanes: Lanes | None = None,
    ) -> Result:
        with (lanes or self._lanes).lent() as lane, lane.deadline.running():
            return _executed(lane, sql, parameters, fetch)

    def _fetch_parts(self, asked: Statement, *, found: bool) -> Sums:
        """Return the sums of a statement that is run for one part after the other, within the time limit of one scan.

        Guarantee: the time limit is that of all parts together. A unit is read in one part alone, whose statement
        bounds what it then reads of the unit: where files are replaced between two parts, rows of both may be summed,
        but of no unit are more than one reading's.
        """
        with self._lanes.lent() as lane:
            until = lane.deadline.from_now()

            def run(part: int) -> list[tuple[Any, ...]]:
                if time.monotonic() >= until:  # an interrupt between two statements stops none
                    raise_alone(EngineError())
                with lane.deadline.running(until):
                    return _executed(lane, asked.sql, {**asked.parameters, "part": part}, lambda r: r.fetchall())

            return added(map(run, range(asked.parts)), asked.keys, found=found)


def _executed(
    lane: Lane, sql: str, parameters: Mapping[str, Any] | None, fetch: Callable[[DuckDBPyConnection], Result]
) -> Result:
    """Return what a statement yields; raise the constant error where the engine fails, whatever its message."""
    import duckdb

    try:
        return fetch(lane.connection.execute(sql, dict(parameters) if parameters else None))
    except (duckdb.Error, RuntimeError, MemoryError, ValueError, OverflowError):
        with contextlib.suppress(Exception):
            lane.connection.abort()
        raise_alone(EngineError())


def _made_lane(database: DuckDBPyConnection, registered: Mapping[str, Any], seconds: float) -> Lane:
    """Return a new connection to a database, with the objects that its tables stand on."""
    try:
        cursor = database.cursor()
        for name, frame in registered.items():
            cursor.register(name, frame)
    except Exception:  # a message of the engine or a source may quote a value
        raise_alone(EngineError())
    return Lane(cursor, seconds)


def _remove_own(folder: str, process: int) -> None:
    """Remove spilled files, unless this is a forked child: its parent still needs it."""
    if os.getpid() == process:
        shutil.rmtree(folder, ignore_errors=True)
