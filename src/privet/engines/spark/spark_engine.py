"""Spark as an engine: one statement for each scan, in a session of its own, within a time limit.

Spark's messages stay here: they can quote a row. Callers get one constant message.
"""

from __future__ import annotations

import contextlib
import secrets
import threading
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, TypeVar

from privet.core.errors import BadParameter, EngineError, InvariantError, PrivetError, RequestError, raise_alone
from privet.core.numbers import read_seconds, whole
from privet.core.relation import Relation, tables_of
from privet.core.scan import Scan, SealedSums
from privet.core.schema import Schema, Table, followed
from privet.engines.dialects.spark import SPARK, bound_list
from privet.engines.duckdb.engine import Deadline
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
from privet.engines.scan_sql.windows import grouped_counts
from privet.query.shape import schema_of

from .cluster import Spark, Tags, open_session, reach, tags_of
from .spark_sources import columns_of, open_frame

Result = TypeVar("Result")

MOST_PUBLIC_ROWS = 200_000
"""The most rows of a public table that are listed to find its groups."""

_MOST_CHECKED = 256
"""The most scans that are kept as written by `check`, until they are run."""


class SparkEngine:
    """Answers scans over tables that stay where Spark has them.

    Several threads and sessions may use one engine: at most `scans` scans run at once, and further ones wait.

    What a unit adds to a result is computed from one reading of its rows, in the task that has all of them, as
    `privet.engines.scan_sql.windows` shows; a time limit that is reached interrupts its own scan and no other.
    """

    def __init__(self, tables: Mapping[str, Table], place: Spark) -> None:
        if not isinstance(tables, Mapping) or not all(isinstance(table, Table) for table in tables.values()):
            raise BadParameter("tables", type(tables).__name__, "a mapping of names to Tables")
        self._seconds = float(read_seconds(place.timeout, "timeout"))
        self._free = threading.Semaphore(place.scans)
        self._closed = self._failed = False
        self._remote = place.remote
        self._checked: dict[int, tuple[Scan, Statement]] = {}
        self._relations: dict[str, str] = {}
        self._shared: list[str] = []
        self._mark = secrets.token_hex(8)
        self._session, self._own = open_session(place)
        try:
            self._open(tables)
        except BaseException:
            self.close()
            raise

    def check(self, scan: Scan) -> None:
        """Raise a `RequestError` where a scan cannot be run, from declared facts alone: its SQL is written, not run.

        After a failure, Spark is first asked whether it is still there: no one pays for a scan of a cluster that died.
        """
        if self._failed:
            self._verify_answers()
        while len(self._checked) >= _MOST_CHECKED:
            with contextlib.suppress(KeyError, RuntimeError):  # another thread may take one away meanwhile
                self._checked.pop(next(iter(self._checked), 0))
        self._checked[id(scan)] = scan, self._written(scan)

    def _verify_answers(self) -> None:
        try:
            if self._remote is not None:
                reach(self._remote)
            self._fetch("SELECT 1")
        except PrivetError:
            raise_alone(RequestError("Spark no longer answers; check that it runs, and open the session again"))
        self._failed = False

    def scan(self, scan: Scan) -> SealedSums:
        """Return the exact sums of a scan, sealed."""
        checked = self._checked.pop(id(scan), None)  # once: the next scan has a fresh key for its hashes
        asked = self._written(scan) if checked is None else checked[1]
        if scan.places is not None:
            return SealedSums({}, self._run(asked.sql, asked.parameters, partial(_counts, keys=asked.keys)))
        rows = self._run(asked.sql, asked.parameters, _rows)
        groups = {row[: asked.keys]: tuple(map(int, row[asked.keys :])) for row in rows}
        if len(groups) != len(rows):
            raise_alone(EngineError())
        return SealedSums(groups)

    def _written(self, scan: Scan) -> Statement:
        """Return the SQL of a scan, with its own key for its hashes."""
        return write_scan(scan, self._tables, self._relations, secrets.randbits(128), SPARK)

    def public_rows(self, name: str) -> list[tuple[Any, ...]] | None:
        """Return the different rows of a public table, clamped to its facts, or None where there are too many."""
        schema = self._tables[name]
        if not schema.unit.public:
            raise InvariantError("the rows of a private table are read by scans only")
        columns = [
            f"{clamped(column, schema.columns[own], SPARK)} AS {column}" for own, column in physical(schema).items()
        ]
        listed = f"SELECT DISTINCT {', '.join(columns)} FROM {self._relations[name]} LIMIT {MOST_PUBLIC_ROWS + 1}"
        rows = self._fetch(listed)
        return rows if len(rows) <= MOST_PUBLIC_ROWS else None

    def list_public(self, relation: Relation, most: int) -> list[tuple[Any, ...]] | None:
        """Return the rows of a relation over public tables, clamped to its facts, or None where there are too many."""
        if not all(name in self._tables and self._tables[name].unit.public for name in tables_of(relation)):
            raise InvariantError("the rows of a private table are read by scans only")
        schema = schema_of(relation, self._tables)
        columns = ", ".join(physical(schema).values())
        rows = relation_sql(relation, self._tables, self._relations, secrets.randbits(128), SPARK)
        fetched = self._fetch(f"SELECT {columns} FROM {rows} LIMIT {whole(most, 'most') + 1}")
        return fetched if len(fetched) <= most else None

    def broken_links(self) -> list[str]:
        """Return the faults of the links between tables. For the custodian alone: it is about the data."""
        return broken_links(self._fetch, self._tables, self._relations)

    def excesses(self) -> dict[str, tuple[Excess, ...]]:
        """Return what the limits on contributions take away. For the custodian alone: it is about the data."""
        return excesses(self._fetch, self._tables, self._relations, SPARK)

    def close(self) -> None:
        """Let go of the tables, and of a session on a server; a Spark that runs here keeps running for others."""
        if self._closed:
            return
        self._closed = True
        for view in self._shared:
            with contextlib.suppress(Exception):
                self._session.catalog.dropGlobalTempView(view)
        with contextlib.suppress(Exception):
            for relation in self._relations.values():
                self._session.catalog.dropTempView(relation)
        if self._own:
            with contextlib.suppress(Exception):
                self._session.stop()

    def __enter__(self) -> SparkEngine:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def _open(self, tables: Mapping[str, Table]) -> None:
        places = {name: index for index, name in enumerate(tables)}
        self._tables: Mapping[str, Schema] = followed({name: table.schema for name, table in tables.items()})
        for name in self._tables:  # a table that others link to comes before them
            frame = open_frame(self._session, name, tables[name].source)
            self._create_view(name, tables[name].schema, frame, places[name])

    def _create_view(self, name: str, schema: Schema, frame: Any, index: int) -> None:
        columns = ", ".join(columns_of(frame, name, schema))
        source, view = f"privet_{self._mark}_{index}", f"table{index}"
        try:
            if frame.sparkSession is self._session:
                frame.createOrReplaceTempView(source)
            else:  # a frame of the caller's session is read under the settings of ours
                frame.createOrReplaceGlobalTempView(source)
                self._shared.append(source)
                source = f"global_temp.{source}"
        except Exception:  # Spark's message may quote a value
            raise_alone(EngineError())
        own = linked_view(f"SELECT {columns} FROM {source}", name, self._tables, self._relations)
        self._run(f"CREATE OR REPLACE TEMPORARY VIEW {view} AS {own}", {}, _rows)
        self._relations[name] = view
        if schema.unit.public:
            check_public(self._fetch, name, schema, view, SPARK)

    def _fetch(self, sql: str) -> list[tuple[Any, ...]]:
        return self._run(sql, {}, _rows)

    def _run(self, sql: str, parameters: Mapping[str, list[Any]], fetch: Callable[[Any], Result]) -> Result:
        """Run one statement under its own tag, by which it is interrupted when its time is over."""
        tag = f"privet-{secrets.token_hex(8)}"
        tags = tags_of(self._session)
        deadline = Deadline(self._seconds, partial(_interrupt, tags, tag))
        bound = {name: bound_list(values) for name, values in parameters.items()}
        with self._free, deadline.running():
            try:
                if self._closed:
                    raise RuntimeError
                tags.add(tag)
                try:
                    return fetch(self._session.sql(sql, args=bound or None))
                finally:
                    tags.remove(tag)
            except Exception:  # a message of Spark or its client may quote a value
                self._failed = True
                raise_alone(EngineError())


def _interrupt(tags: Tags, tag: str) -> None:
    with contextlib.suppress(Exception):
        tags.interrupt(tag)


def _rows(frame: Any) -> list[tuple[Any, ...]]:
    return [tuple(row) for row in frame.collect()]


def _counts(frame: Any, *, keys: int) -> Any:
    table = frame.toArrow()
    columns = [table.column(index) for index in range(keys + 2)]
    places, weights = (column.to_numpy().astype("int64") for column in columns[keys:])
    return grouped_counts([column.to_pylist() for column in columns[:keys]], places, weights)
