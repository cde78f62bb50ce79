"""A custodian's look at tables in PostgreSQL: are they there, sound, and what is declared?

What is found here tells about the data. It is for the custodian alone and never part of a session.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from privet.core.errors import PrivetError, RequestError
from privet.core.schema import Kind, Schema, Table
from privet.core.unit import Person, person_column
from privet.engines.duckdb.inspection import Inspected
from privet.engines.scan_sql.row_values import physical

from .postgres_engine import PostgresEngine
from .reader_address import Postgres
from .stored_tables import PostgresTable, StoredTable, column_sql, columns_sql, source_of, stored_table


def inspect_tables(address: Postgres, tables: Mapping[str, Table]) -> dict[str, Inspected]:
    """Return what is wrong with each table: the role's rights, the table's own nature, its columns, rows and units."""
    try:
        with PostgresEngine(address, {}) as engine:
            return {name: _inspected(engine, name, table) for name, table in tables.items()}
    except PrivetError as error:  # which every table has in common
        return {name: Inspected((str(error),) if place == 0 else ()) for place, name in enumerate(tables)}


def _inspected(engine: PostgresEngine, name: str, table: Table) -> Inspected:
    try:
        stored = stored_table(engine.catalog, name, source_of(name, table))
    except PrivetError as error:
        return Inspected((str(error),))
    problems = [*stored.problems, *_of_columns(stored, name, table.schema)]
    if not problems:
        try:
            problems = list(_counted(engine, stored, name, table.schema))
        except PrivetError:  # whatever made the server fail may quote a row
            problems = [f"the rows of table {name!r} cannot be read"]
    known = {column.casefold() for column in table.schema.columns}
    return Inspected(tuple(problems), sum(column.name.casefold() not in known for column in stored.columns))


def _of_columns(stored: StoredTable, name: str, schema: Schema) -> Iterator[str]:
    by_name = {column.name.casefold(): column for column in reversed(stored.columns)}
    by_name |= {column.name: column for column in stored.columns}
    for column in schema.columns:
        found = by_name.get(column) or by_name.get(column.casefold())
        if found is None:
            yield f"table {name!r} declares a column {column!r} that its source does not have"
            continue
        try:
            column_sql(found, name, column, schema)
        except RequestError as error:
            yield str(error)


def _counted(engine: PostgresEngine, stored: StoredTable, name: str, schema: Schema) -> Iterator[str]:
    rows = f"(SELECT {columns_sql(stored, name, schema)} FROM {stored.relation}) AS r"
    ((count,),) = engine.catalog(f"SELECT count(*) FROM {rows}", [])
    if count > schema.rows:
        yield f"table {name!r} has more rows than the {schema.rows:,} that are declared; raise rows"
    if schema.units is None:
        return
    if schema.unit.rowwise and count != schema.units:
        yield f"table {name!r} has another number of rows than the {schema.units:,} that units declares"
    if isinstance(schema.unit, Person):
        column = physical(schema)[str(person_column(schema.unit))]
        ((units,),) = engine.catalog(f"SELECT count(DISTINCT {column}) FROM {rows}", [])
        if units > schema.units:
            yield f"table {name!r} has more units than the {schema.units:,} that are declared; raise units"


def columns_in(address: Postgres, source: PostgresTable) -> list[tuple[str, Kind | None]]:
    """Return the names and kinds of the columns of a table, from the server's catalog alone; no row is read."""
    with PostgresEngine(address, {}) as engine:
        stored = stored_table(engine.catalog, source.name, source)
    if stored.problems:
        raise RequestError(stored.problems[0])
    return [(column.name, column.kind) for column in stored.columns]
