"""A custodian's look at the sources of tables: are they there, and as declared? With each engine.

The results reveal facts about the data. They are for the custodian alone and never part of a session.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from privet.core.errors import PrivetError, RequestError, raise_alone, without_passwords
from privet.core.schema import Kind, Schema, Table
from privet.core.unit import Person, Rows

from .duckdb.sources import files_of, kind_of, open_source, paths_at, view_of
from .postgres.postgres_engine import PostgresEngine
from .postgres.reader_address import Postgres
from .postgres.stored_tables import PostgresTable, StoredTable, column_sql, columns_sql, source_of, stored_table
from .scan_sql.dialect import identifier, quoted
from .scan_sql.row_values import physical
from .spark.cluster import Spark, open_session
from .spark.spark_sources import columns_of, open_frame

_SETTINGS = {
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "allow_community_extensions": "false",
}


@dataclass(frozen=True)
class Inspected:
    """The faults of a source, and how many of its columns are not declared."""

    problems: tuple[str, ...]
    undeclared: int = 0


def inspect(name: str, table: Table) -> Inspected:
    """Return whether a source fits its declaration: its columns and their types, how many rows and units it has."""
    missing = _missing(name, table.source)
    if missing:
        return Inspected(missing)
    with _connected() as connection:
        try:
            opened = open_source(connection, name, table, 0)
            described = [(row[0], row[1]) for row in _fetch(connection, f"DESCRIBE SELECT * FROM {opened.relation}")]
        except PrivetError as error:
            return Inspected((str(error),))
        except Exception:  # a message of the engine or the file may quote a row
            return Inspected((f"the source of table {name!r} cannot be read",))
        problems = []
        for column, declared in table.schema.columns.items():
            try:
                view_of(described, name, Schema(unit=Rows(), columns={column: declared}))
            except RequestError as error:
                problems.append(str(error))
        if not problems:
            try:
                rows = f"SELECT {view_of(described, name, table.schema)} FROM {opened.relation}"

                def count(what: str, rows: str = rows) -> int:
                    return int(_fetch(connection, f"SELECT count({what}) FROM ({rows})")[0][0])

                problems = list(_counted(name, table.schema, count("*"), lambda column: count(f"DISTINCT {column}")))
            except RequestError as error:
                problems = [str(error)]
            except Exception:  # as above
                problems = [f"the rows of table {name!r} cannot be read"]
        known = {column.casefold() for column in table.schema.columns}
        return Inspected(tuple(problems), sum(column.casefold() not in known for column, _ in described))


def columns_at(name: str, patterns: Sequence[str]) -> list[tuple[str, Kind | None]]:
    """Return the names and kinds of the columns of files, from their schema alone; None where there is no such kind.

    Of a CSV file only the first line is read, and its columns are text as far as anyone knows: their kind is "text".
    """
    with _connected() as connection:
        try:
            opened = files_of(name, list(patterns))
            described = _fetch(connection, f"DESCRIBE SELECT * FROM {opened.relation}")
        except PrivetError:
            raise
        except Exception:  # a message of the engine or the file may quote a row
            raise_alone(RequestError(f"the source of table {name!r} cannot be read"))
    return [(str(row[0]), kind_of(str(row[1]))) for row in described]


_FORMS: tuple[tuple[Kind, str], ...] = (
    ("boolean", r"(?i)true|false"),
    ("integer", r"[+-]?(0|[1-9][0-9]{0,17})"),
    ("number", r"[+-]?((0|[1-9][0-9]*)([.][0-9]*)?|[.][0-9]+)([eE][+-]?[0-9]{1,3})?"),
    ("date", r"[0-9]{4}-[0-9]{2}-[0-9]{2}"),
    ("timestamp", r"[0-9]{4}-[0-9]{2}-[0-9]{2}[ T][0-9]{2}:[0-9]{2}(:[0-9]{2}([.][0-9]+)?)?Z?"),
)


def kinds_of_values(name: str, patterns: Sequence[str]) -> dict[str, Kind]:
    """Return the kind that every value of each column of text files is written as; text where none fits all.

    It reads the data and returns nothing but kinds: no bound, value or number. For the custodian alone. Numbers with
    leading zeros are text, as codes are.
    """
    with _connected() as connection:
        try:
            opened = files_of(name, list(patterns))
            columns = [str(row[0]) for row in _fetch(connection, f"DESCRIBE SELECT * FROM {opened.relation}")]
            tests = [
                f"coalesce(bool_and(regexp_full_match(trim({identifier(column)}), {quoted(form)})) "
                f"FILTER (WHERE trim({identifier(column)}) <> ''), false)"
                for column in columns
                for _, form in _FORMS
            ]
            ((results),) = _fetch(connection, f"SELECT {', '.join(tests)} FROM {opened.relation}")
        except PrivetError:
            raise
        except Exception:  # a message of the engine or the file may quote a row
            raise_alone(RequestError(f"the source of table {name!r} cannot be read"))
    held = iter(results)
    fits = {column: [kind for kind, _ in _FORMS if next(held)] for column in columns}
    return {column: kinds[0] if kinds else "text" for column, kinds in fits.items()}


def _missing(name: str, source: object) -> tuple[str, ...]:
    """Return which of several paths lead nowhere, or to a file that another one leads to as well."""
    if not isinstance(source, (list, tuple)):
        return ()
    matches = [paths_at(str(pattern)) for pattern in source]
    paths = [path for some in matches for path in some]
    problems = [
        f"table {name!r}: there is no file at {without_passwords(repr(str(pattern)))}"
        for pattern, some in zip(source, matches, strict=True)
        if not some
    ]
    if len(set(paths)) != len(paths):
        problems.append(f"table {name!r}: its source names a file twice, so its rows would count twice")
    return tuple(problems)


def _counted(name: str, schema: Schema, count: int, units_in: Callable[[str], int]) -> Iterator[str]:
    """Yield faults of the number of rows, and of that of units: the different values in a column."""
    if count > schema.rows:
        yield f"table {name!r} has more rows than the {schema.rows:,} that are declared; raise rows"
    if schema.units is None:
        return
    if schema.unit.rowwise and count != schema.units:
        yield f"table {name!r} has another number of rows than the {schema.units:,} that units declares"
    if isinstance(schema.unit, Person) and units_in(physical(schema)[schema.unit.column]) > schema.units:
        yield f"table {name!r} has more units than the {schema.units:,} that are declared; raise units"


@contextlib.contextmanager
def _connected() -> Iterator[Any]:
    import duckdb

    connection = duckdb.connect(":memory:", config=dict(_SETTINGS))
    try:
        yield connection
    finally:
        connection.close()


def _fetch(connection: Any, sql: str) -> list[tuple[Any, ...]]:
    rows: list[tuple[Any, ...]] = connection.execute(sql).fetchall()
    return rows


# In PostgreSQL: the role's rights and the tables' own nature come first.


def inspect_tables(address: Postgres, tables: Mapping[str, Table]) -> dict[str, Inspected]:
    """Return the faults of each table: the role's rights, the table's own nature, its columns, rows and units."""
    try:
        with PostgresEngine(address, {}) as engine:
            return {name: _inspect_stored(engine, name, table) for name, table in tables.items()}
    except PrivetError as error:  # which every table has in common
        return {name: Inspected((str(error),) if place == 0 else ()) for place, name in enumerate(tables)}


def _inspect_stored(engine: PostgresEngine, name: str, table: Table) -> Inspected:
    try:
        stored = stored_table(engine.catalog, name, source_of(name, table))
    except PrivetError as error:
        return Inspected((str(error),))
    problems = [*stored.problems, *_of_columns(stored, name, table.schema)]
    if not problems:
        try:
            rows = f"(SELECT {columns_sql(stored, name, table.schema)} FROM {stored.relation}) AS r"

            def count(what: str, rows: str = rows) -> int:
                return int(engine.catalog(f"SELECT count({what}) FROM {rows}", [])[0][0])

            problems = list(_counted(name, table.schema, count("*"), lambda column: count(f"DISTINCT {column}")))
        except PrivetError:  # whatever made the server fail may quote a row
            problems = [f"the rows of table {name!r} cannot be read"]
    known = {column.casefold() for column in table.schema.columns}
    return Inspected(tuple(problems), sum(column.name.casefold() not in known for column in stored.columns))


def _of_columns(stored: StoredTable, name: str, schema: Schema) -> Iterator[str]:
    by_name = {column.name.casefold(): column for column in reversed(stored.columns)}
    by_name |= {column.name: column for column in stored.columns}
    for column in schema.columns:
        match = by_name.get(column) or by_name.get(column.casefold())
        if match is None:
            yield f"table {name!r} declares a column {column!r} that its source does not have"
            continue
        try:
            column_sql(match, name, column, schema)
        except RequestError as error:
            yield str(error)


def columns_in(address: Postgres, source: PostgresTable) -> list[tuple[str, Kind | None]]:
    """Return the names and kinds of the columns of a table, from the server's catalog alone; no row is read."""
    with PostgresEngine(address, {}) as engine:
        stored = stored_table(engine.catalog, source.name, source)
    if stored.problems:
        raise RequestError(stored.problems[0])
    return [(column.name, column.kind) for column in stored.columns]


# Through Spark.


def inspect_frames(tables: Mapping[str, Table], place: Spark) -> dict[str, Inspected]:
    """Return whether each source fits its declaration: its columns and their types, how many rows and units it has."""
    session, own = open_session(place)
    try:
        return {name: _inspect_frame(session, name, table) for name, table in tables.items()}
    finally:
        if own:
            session.stop()


def _inspect_frame(session: Any, name: str, table: Table) -> Inspected:
    try:
        frame = open_frame(session, name, table.source)
    except PrivetError as error:
        return Inspected((str(error),))
    problems = []
    for column, declared in table.schema.columns.items():
        try:
            columns_of(frame, name, Schema(unit=Rows(), columns={column: declared}))
        except RequestError as error:
            problems.append(str(error))
    if not problems:
        try:
            rows = frame.selectExpr(*columns_of(frame, name, table.schema))
            problems = list(_counted(name, table.schema, rows.count(), partial(_units_in, rows)))
        except RequestError as error:
            problems = [str(error)]
        except Exception:  # Spark's message may quote a row
            problems = [f"the rows of table {name!r} cannot be read"]
    known = {column.casefold() for column in table.schema.columns}
    return Inspected(tuple(problems), sum(field.name.casefold() not in known for field in frame.schema.fields))


def _units_in(rows: Any, column: str) -> int:
    return int(rows.where(f"{column} IS NOT NULL").select(column).distinct().count())
