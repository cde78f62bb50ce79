"""Opens the data set of a privet.toml: its ledger by its kind, its engine, a session, and one over made-up rows."""

from __future__ import annotations

import copy
import datetime
import os
import shutil
import tempfile
import threading
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from privet.core.errors import BadParameter, EngineError, RequestError, UnknownName, Unsupported, raise_alone
from privet.core.given import is_address, set_fields
from privet.core.ports import LedgerAdmin, TakesSnapshots
from privet.core.relation import Relation
from privet.core.scan import Scan, SealedSums
from privet.core.schema import ColumnFacts, Schema, Table
from privet.core.unit import Link, person_column
from privet.engines.dialects.duckdb import DUCKDB, TYPES
from privet.engines.scan_sql.dialect import identifier, quoted
from privet.ledger.memory import MemoryLedger
from privet.ledger.postgres import PostgresLedger
from privet.ledger.postgres.postgres_ledger import is_begun
from privet.ledger.postgres.server_address import shown_place
from privet.ledger.sqlite.place import locate
from privet.ledger.sqlite.store import SqliteLedger
from privet.session import Session

from .declared import Config
from .engine_kinds import OpenedEngine, open_engine, practice_engine
from .reading import read_config
from .tables import views_about

# The ledgers that a privet.toml declares, opened by their kind. To add a kind, write its store and add a line here.


@dataclass(frozen=True)
class LedgerKind:
    """How ledgers of one kind are opened, restored from exported lines, and found."""

    open: Callable[..., LedgerAdmin]
    restore: Callable[..., LedgerAdmin]
    exists: Callable[[Any], bool]


LEDGERS: Mapping[str, LedgerKind] = {
    "sqlite": LedgerKind(SqliteLedger, SqliteLedger.restore, lambda path: locate(path).exists()),
    "postgres": LedgerKind(PostgresLedger, PostgresLedger.restore, is_begun),
}
"""Every kind of ledger, by the word for it."""

USUAL = "sqlite"
"""The kind of a ledger at a path; one at an address is in PostgreSQL."""


def kind_of_ledger(place: Path | str) -> LedgerKind:
    """Return the kind of the ledger at a path or an address."""
    return LEDGERS["postgres" if is_address(place) else USUAL]


def open_ledger(config: Config) -> LedgerAdmin:
    """Return the ledger of a privet.toml, made if there is none, with the rules and the accounts of the file.

    A ledger keeps the rules that it was made with: where those of the file differ, it is refused. An analyst without a
    separate budget is capped by the data set's.
    """
    caps = {name: analyst.budget or config.rules.budget for name, analyst in config.analysts.items()}
    return _opened(config, analysts=caps)


def memory_ledger(config: Config) -> MemoryLedger:
    """Return a ledger with the rules and the accounts of a privet.toml that is forgotten with the process."""
    rules = config.rules
    return MemoryLedger(
        rules.budget,
        analysts={name: analyst.budget or rules.budget for name, analyst in config.analysts.items()},
        per_query=rules.per_query,
        keys_share=rules.keys_share,
    )


def check_ledger(config: Config) -> None:
    """Raise unless the ledger, where there is one, keeps to the file's rules and contains the head that is pinned."""
    place = config.ledger
    if kind_of_ledger(place.where).exists(place.where) or place.head is not None:
        _opened(config).close()


def existing_ledger(config: Config) -> LedgerAdmin:
    """Return the ledger of a privet.toml, checked against the head that is pinned, if one is; none is made."""
    place = config.ledger
    if not kind_of_ledger(place.where).exists(place.where):
        raise RequestError(
            f"there is no ledger {shown_place(place.where)!r} yet: the first question about {config.path} makes it"
        )
    return ledger_at(place.where, head=place.head)


def ledger_at(place: Path | str, *, head: str | None = None) -> LedgerAdmin:
    """Return a ledger that exists, by its path or its address, whatever its rules."""
    return kind_of_ledger(place).open(place, head=head)


def restore_ledger(place: Path | str, lines: Iterable[str], *, head: str | None = None) -> LedgerAdmin:
    """Return a new ledger at a path or an address from the lines of an export, checked from the first to the last."""
    return kind_of_ledger(place).restore(place, lines, head=head)


def _opened(config: Config, **accounts: Any) -> LedgerAdmin:
    rules = config.rules
    return kind_of_ledger(config.ledger.where).open(
        config.ledger.where,
        rules.budget,
        per_query=rules.per_query,
        expires=rules.expires,
        keys_share=rules.keys_share,
        head=config.ledger.head,
        **accounts,
    )


# Sessions as a privet.toml declares them.


EVERYBODY = "everybody"
"""The account that pays where a privet.toml names no analysts: all share the data set's budget."""


def open(path: str | os.PathLike[str] = "privet.toml", analyst: str | None = None) -> Session:
    """Return a session over the tables of a privet.toml, charged to its ledger, for one of its analysts.

    An analyst is only shown the tables that they may ask about: another is refused as one that does not exist. Where
    the file names analysts, one must be given; where it names none, all share the data set's budget.

    Args:
        path: the file.
        analyst: whose account pays; needed where the file lists several.

    Raises:
        BadConfig: if the file has problems, which it lists.

    Example:
        >>> try:
        ...     privet.open("absent.toml")
        ... except privet.RequestError as refused:
        ...     print(refused.code)
        request

    Guarantee: every charge is held to the budgets of the file, as exact as they are written, or the ledger is refused;
    no plan of the session is about a table outside `about`.
    """
    return session_of(read_config(path), analyst, open_ledger)


def session_for_plans(path: str | os.PathLike[str], analyst: str | None) -> Session:
    """Return a session like that of `open`, to plan with: it makes no ledger where there is none yet."""
    config = read_config(path)
    there = kind_of_ledger(config.ledger.where).exists(config.ledger.where) or config.ledger.head is not None
    return session_of(config, analyst, open_ledger if there else memory_ledger)


def session_of(config: Config, analyst: str | None, ledger_of: Callable[[Config], LedgerAdmin]) -> Session:
    """Return a session over the data set of a privet.toml. The first question opens its sources, before its charge.

    So plans need no data, and a faulty source costs nothing.
    """
    account, about = account_of(config, analyst)
    tables = needed_tables(config, about)
    with ExitStack() as opened:
        ledger = opened.enter_context(ledger_of(config))
        engine = LateEngine(tables, lambda some: open_engine(config, some))
        session = Session(
            tables,
            views=views_about(config.views, config.tables, about, config.schema),
            ledger=ledger,
            account=account,
            engine=engine,
            about=about,
            time_step=config.engine.time_step,
            schema=config.schema,
        )
        session.closing(engine.close).closing(ledger.close)
        opened.pop_all()
    return session


class LateEngine:
    """An engine that is opened when it is first needed: by a scan, or in part by a plan that lists public rows.

    Guarantee: private sources are opened by `check` and `scan` alone; the executor calls `check` before it charges.
    """

    def __init__(self, tables: Mapping[str, Table], make: Callable[[Mapping[str, Table]], OpenedEngine]) -> None:
        self._tables, self._make = tables, make
        self._opening = threading.Lock()
        self._opened: dict[bool, OpenedEngine] = {}
        self._closed = False

    def check(self, scan: Scan) -> None:
        """Open the sources, and raise a `RequestError` where they or the scan do not fit."""
        self._engine(public=False).check(scan)

    def scan(self, scan: Scan) -> SealedSums:
        """Return the exact sums of a scan, sealed."""
        return self._engine(public=False).scan(scan)

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """Keep the rows of all scans unchanged, where the engine can and needs to."""
        engine = self._opened.get(False)
        if not isinstance(engine, TakesSnapshots):  # not open: `check` comes before a charge, and opens it
            yield
            return
        with engine.snapshot():
            yield

    def public_rows(self, name: str) -> list[tuple[Any, ...]] | None:
        """Return the different rows of a public table, or None where there are too many; private ones stay closed."""
        return self._engine(public=True).public_rows(name)

    def list_public(self, relation: Relation, most: int) -> list[tuple[Any, ...]] | None:
        """Return the rows of a relation over public tables, or None where there are too many."""
        return self._engine(public=True).list_public(relation, most)

    def close(self) -> None:
        """Close the engines that were opened."""
        with self._opening:
            self._closed = True
            for engine in self._opened.values():
                engine.close()

    def _engine(self, *, public: bool) -> OpenedEngine:
        with self._opening:
            if self._closed:
                raise_alone(EngineError())
            if public not in self._opened:
                some = {name: table for name, table in self._tables.items() if table.schema.unit.public or not public}
                self._opened[public] = self._make(some)
            return self._opened[public]


def account_of(config: Config, analyst: str | None) -> tuple[str, frozenset[str]]:
    """Return the account that pays for an analyst's questions, and the tables that they may ask about."""
    if analyst is not None and not isinstance(analyst, str):
        raise BadParameter("analyst", analyst, "the name of an analyst")
    if not config.analysts:
        if analyst is not None:
            raise UnknownName("analyst", str(analyst), (), advice=f"{config.path.name} names none; leave it out")
        return EVERYBODY, frozenset(config.tables)
    if analyst is None:
        raise RequestError(f"{config.path.name} names analysts, each with a budget; pass the one who asks")
    if analyst not in config.analysts:
        advice = f"ask the custodian to add one to {config.path.name}"
        raise UnknownName("analyst", str(analyst), (), advice=advice)
    return analyst, frozenset({*config.analysts[analyst].tables, *config.public})


def needed_tables(config: Config, about: frozenset[str]) -> dict[str, Table]:
    """Return some tables and those that their links lead to, which identify the owners of rows."""
    needed, waiting = set[str](), list(about)
    while waiting:
        name = waiting.pop()
        unit = config.tables[name].schema.unit
        if name not in needed and isinstance(unit, Link):
            waiting.append(unit.to)
        needed.add(name)
    return {name: table for name, table in config.tables.items() if name in needed}


# Practice: the tables of a privet.toml with made-up rows, a budget to throw away and no ledger file.


# Made-up rows that fit the declarations of tables. They are drawn from the declarations alone: no source is
# opened.
#
# The values follow from hashes of names and row numbers, so the same file always makes the same rows. They are
# no one's, and they are no secret: nothing here is noise.


_UNITS = 1000
_ROWS = 20_000
_PUBLIC = 100
_EPOCH = datetime.datetime(1970, 1, 1)
_MICROSECOND = datetime.timedelta(microseconds=1)


def write_rows(folder: Path, tables: Mapping[str, Table]) -> dict[str, Path]:
    """Return Parquet files of made-up rows, one for each table, written into a folder."""
    import duckdb

    made = Fake({name: table.schema for name, table in tables.items()})
    paths = {name: folder / f"table{index}.parquet" for index, name in enumerate(tables)}
    connection = duckdb.connect(":memory:")
    try:
        for name, path in paths.items():
            connection.execute(f"COPY ({made.select(name)}) TO {quoted(str(path))} (FORMAT parquet)")
    finally:
        connection.close()
    return paths


class Fake:
    """Tables of made-up rows, as SQL."""

    def __init__(self, schemas: Mapping[str, Schema]) -> None:
        self._schemas = schemas
        self._unique = {name: {schema.key} - {None} for name, schema in schemas.items()}
        for schema in schemas.values():
            if isinstance(schema.unit, Link):
                self._unique[schema.unit.to].add(schema.unit.column)

    def select(self, name: str) -> str:
        """Return the query that makes the rows of a table."""
        columns = [
            f"{self._value(name, column, 'i')} AS {identifier(column)}" for column in self._schemas[name].columns
        ]
        return f"SELECT {', '.join(columns)} FROM range({self.rows(name)}) AS made(i)"

    def rows(self, name: str) -> int:
        """Return how many rows a table is given: a few for each unit, and never more than is declared."""
        schema = self._schemas[name]
        if schema.unit.public:
            wanted = _PUBLIC
        else:
            give = schema.contribution
            wanted = self._units(schema) * max(1, (give.groups * give.rows + 1) // 2)
        ends = [_width(schema.columns[str(column)]) for column in self._unique[name] if not self._owns(name, column)]
        return min(wanted, _ROWS, schema.rows, *ends)

    def _units(self, schema: Schema) -> int:
        return min(schema.units or _UNITS, _UNITS, schema.rows)

    def _owns(self, name: str, column: str | None) -> bool:
        unit = self._schemas[name].unit
        return column is not None and person_column(unit) == column

    def _value(self, name: str, column: str, row: str) -> str:
        """Return the value of a column in the row with a number, as SQL."""
        schema = self._schemas[name]
        declared, unit = schema.columns[column], schema.unit
        if self._owns(name, column):
            return _numbered(column, declared, f"{_hash(name, column, row)} % {self._units(schema)}")
        if isinstance(unit, Link) and unit.via == column:
            return self._value(unit.to, unit.column, f"({_hash(name, column, row)} % {self.rows(unit.to)})")
        if column in self._unique[name]:
            return _numbered(column, declared, row)
        value = _drawn(column, declared, _hash(name, column, row))
        if not declared.nullable:
            return value
        return f"CASE WHEN {_hash(name, f'{column} is null', row)} % 10 = 0 THEN NULL ELSE {value} END"


def _hash(name: str, column: str, row: str) -> str:
    return f"hash({quoted(name)}, {quoted(column)}, {row})"


def _width(column: ColumnFacts) -> int:
    """Return how many different values a column can have."""
    if column.values is not None:
        return len(column.values)
    if isinstance(column.low, datetime.date) and isinstance(column.high, datetime.date):
        return (column.high - column.low).days + 1
    if column.low is None or column.high is None or column.kind != "integer":
        return _ROWS
    return int(column.high - column.low) + 1  # type: ignore[operator, arg-type]


def _numbered(name: str, column: ColumnFacts, number: str) -> str:
    """Return the value for a number from 0 on, a different one for each as far as there are enough."""
    free = column.values is None and column.low is None
    if free and column.kind == "text":
        return f"{quoted(f'{name} ')} || ({number})"
    if free and column.kind in ("integer", "number"):
        return f"({number})::{TYPES[column.kind]}"
    return _drawn(name, column, f"({number})")


def _drawn(name: str, column: ColumnFacts, number: str) -> str:
    """Return the value of a column that a large number chooses, within its declaration."""
    low, high = column.low, column.high
    if column.values is not None:
        listed = ", ".join(DUCKDB.constant(value) for value in column.values)
        return f"([{listed}])[1 + ({number} % {len(column.values)})::BIGINT]"
    match column.kind:
        case "integer":
            first, size = (0, 1000) if low is None or high is None else (int(low), int(high - low) + 1)  # type: ignore
            return f"({first}::HUGEINT + ({number})::HUGEINT % {size}::HUGEINT)::BIGINT"
        case "number":
            share = f"(({number} % 1000000) / 1e6)"
            if low is None or high is None:
                return f"(100 * {share})::DOUBLE"
            between = f"{DUCKDB.constant(low)} * (1 - {share}) + {DUCKDB.constant(high)} * {share}"
            return f"greatest({DUCKDB.constant(low)}, least({DUCKDB.constant(high)}, {between}))::DOUBLE"
        case "date":
            start = low if isinstance(low, datetime.date) else datetime.date(2000, 1, 1)
            return f"DATE '{start.isoformat()}' + ({number} % {_width(column) if low else 9000})::INTEGER"
        case "timestamp":
            begin, end = (low, high) if low and high else (_EPOCH, datetime.datetime(2030, 1, 1))
            first, last = ((moment - _EPOCH) // _MICROSECOND for moment in (begin, end))  # type: ignore[operator]
            return f"make_timestamp({first}::BIGINT + ({number} % {last - first + 1})::BIGINT)"
        case "text":
            return f"{quoted(f'{name} ')} || ({number} % 50)"
        case "boolean":
            return f"({number} % 2 = 0)"
    raise Unsupported(f"column {name!r} is of a kind that cannot be made up")


VERSION = "practice: made up"
"""The version of every table in practice: plans, answers and certificates that show it are about no person."""


def practice(path: str | os.PathLike[str] = "privet.toml", analyst: str | None = None) -> Session:
    """Return a session like that of `privet.open`, over made-up rows that are drawn from the declarations alone.

    No source and no ledger is opened: it works where the data are not. Its spending is forgotten with the session.

    Args:
        path: the file.
        analyst: whose account is imitated.

    Raises:
        BadConfig: if the file has problems, which it lists.

    Example:
        >>> try:
        ...     privet.practice("absent.toml")
        ... except privet.RequestError as refused:
        ...     print(refused.code)
        request

    Guarantee: what the session releases is a function of the privet.toml and of fresh noise.
    """
    config = read_config(path)
    account, about = account_of(config, analyst)
    tables = needed_tables(config, about)
    folder = tempfile.mkdtemp(prefix="privet-practice-")
    try:
        files = write_rows(Path(folder), tables)
        made = {name: _with_rows(table, files[name]) for name, table in tables.items()}
        ledger = memory_ledger(config)
        views = views_about(config.views, config.tables, about, config.schema)
        engine = practice_engine(config, made)
        session = Session(
            made, views=views, ledger=ledger, account=account, engine=engine, about=about, schema=config.schema
        )
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    return session.closing(weakref.finalize(session, shutil.rmtree, folder, True)).closing(engine.close)


def _with_rows(table: Table, file: Path) -> Table:
    made = copy.copy(table)
    set_fields(made, source=str(file), schema=replace(table.schema, version=VERSION))
    return made
