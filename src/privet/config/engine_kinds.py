"""The engines that a privet.toml may name, opened by their kind. To add a kind, write its engine and a line here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from types import TracebackType
from typing import Any, Protocol, Self

from privet.core.errors import RequestError
from privet.core.relation import Relation
from privet.core.scan import Scan, SealedSums
from privet.core.schema import Table
from privet.engines.dialects.postgres import POSTGRES
from privet.engines.dialects.spark import SPARK
from privet.engines.duckdb.engine import DuckDB
from privet.engines.inspection import Inspected, inspect, inspect_frames, inspect_tables
from privet.engines.postgres.reader_address import SCANS, Postgres
from privet.engines.scan_sql.dialect import Dialect
from privet.engines.scan_sql.row_values import Excess
from privet.engines.scan_sql.statement import write_scan
from privet.engines.spark.cluster import Spark

from .declared import Config, EngineLimits


class OpenedEngine(Protocol):
    """An engine over open tables, with the checks for a custodian."""

    def check(self, scan: Scan) -> None: ...
    def scan(self, scan: Scan) -> SealedSums: ...
    def public_rows(self, name: str) -> list[tuple[Any, ...]] | None: ...
    def list_public(self, relation: Relation, most: int) -> list[tuple[Any, ...]] | None: ...
    def broken_links(self) -> list[str]: ...
    def excesses(self) -> dict[str, tuple[Excess, ...]]: ...
    def close(self) -> None: ...
    def __enter__(self) -> Self: ...
    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None, /
    ) -> None: ...


Tables = Mapping[str, Table]


@dataclass(frozen=True)
class EngineKind:
    """How engines of one kind are opened over tables, and how a custodian looks at the sources of these."""

    open: Callable[[Tables, EngineLimits], OpenedEngine]
    inspect: Callable[[Tables, EngineLimits], Mapping[str, Inspected]]
    practice: Callable[[Tables, EngineLimits], OpenedEngine] | None = None
    """The engine for made-up rows in files, where it is not of this kind."""


def _duckdb(tables: Tables, limits: EngineLimits) -> OpenedEngine:
    return DuckDB(
        tables,
        memory_limit=limits.memory_limit,
        threads=limits.threads,
        timeout=limits.timeout,
        scans=limits.scans,
        parts=limits.parts,
    )


def _inspected(tables: Tables, limits: EngineLimits) -> Mapping[str, Inspected]:
    return {name: inspect(name, table) for name, table in tables.items()}


def address_of(limits: EngineLimits) -> Postgres:
    """Return the server that a file names."""
    if limits.url is None:
        raise RequestError('[engine] of the kind "postgres" needs the url of the server')
    scans = SCANS if limits.scans is None else limits.scans
    return Postgres(limits.url, limits.password_file, limits.timeout, scans, limits.work_mem)


def _postgres(tables: Tables, limits: EngineLimits) -> OpenedEngine:
    return address_of(limits).over(tables)


class PracticeEngine(DuckDB):
    """DuckDB over made-up rows, which refuses what another engine lacks: no server is needed for practice."""

    def __init__(self, tables: Tables, *, dialect: Dialect, **limits: Any) -> None:
        super().__init__(tables, **limits)
        self._asked_of = dialect

    def check(self, scan: Scan) -> None:
        """Raise a `RequestError` where either engine cannot run a scan."""
        write_scan(scan, self._tables, self._relations, 0, self._asked_of)
        super().check(scan)


def _practised_as(dialect: Dialect) -> Callable[[Tables, EngineLimits], OpenedEngine]:
    return lambda tables, limits: PracticeEngine(tables, dialect=dialect, timeout=limits.timeout)


def _looked_at(tables: Tables, limits: EngineLimits) -> Mapping[str, Inspected]:
    return inspect_tables(address_of(limits), tables)


def _spark(tables: Tables, limits: EngineLimits) -> OpenedEngine:
    usual = Spark(remote=limits.remote, timeout=limits.timeout)
    return (usual if limits.scans is None else replace(usual, scans=limits.scans)).over(tables)


def _inspected_by_spark(tables: Tables, limits: EngineLimits) -> Mapping[str, Inspected]:
    return inspect_frames(tables, Spark(remote=limits.remote))


ENGINES: Mapping[str, EngineKind] = {
    "duckdb": EngineKind(_duckdb, _inspected),
    "postgres": EngineKind(_postgres, _looked_at, _practised_as(POSTGRES)),
    "spark": EngineKind(_spark, _inspected_by_spark, _practised_as(SPARK)),
}
"""Every kind of engine, by the word for it."""


def open_engine(config: Config, tables: Tables) -> OpenedEngine:
    """Return the engine over some of the tables, within the limits of the file."""
    return ENGINES[config.engine.kind].open(tables, config.engine)


def practice_engine(config: Config, tables: Tables) -> OpenedEngine:
    """Return the engine over files of made-up rows."""
    kind = ENGINES[config.engine.kind]
    return (kind.practice or kind.open)(tables, config.engine)


def inspect_sources(config: Config) -> Mapping[str, Inspected]:
    """Return the problems of the sources of a file's tables, by table. For the custodian alone."""
    return ENGINES[config.engine.kind].inspect(config.tables, config.engine)
