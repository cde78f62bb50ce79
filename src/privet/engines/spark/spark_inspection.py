"""A custodian's look at the sources of tables through Spark: are they there, and are they what is declared?

What is found here tells about the data. It is for the custodian alone and never part of a session.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from privet.core.errors import PrivetError, RequestError
from privet.core.schema import Schema, Table
from privet.core.unit import Person, Rows
from privet.engines.duckdb.inspection import Inspected

from .cluster import Spark, open_session
from .spark_sources import columns_of, open_frame


def inspect_frames(tables: Mapping[str, Table], place: Spark) -> dict[str, Inspected]:
    """Return whether each source fits what is declared: its columns and their types, how many rows and units it has."""
    session, own = open_session(place)
    try:
        return {name: _inspect(session, name, table) for name, table in tables.items()}
    finally:
        if own:
            session.stop()


def _inspect(session: Any, name: str, table: Table) -> Inspected:
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
            problems = list(_counted(rows, name, table.schema))
        except RequestError as error:
            problems = [str(error)]
        except Exception:  # what Spark says may quote a row
            problems = [f"the rows of table {name!r} cannot be read"]
    known = {column.casefold() for column in table.schema.columns}
    return Inspected(tuple(problems), sum(field.name.casefold() not in known for field in frame.schema.fields))


def _counted(rows: Any, name: str, schema: Schema) -> Iterator[str]:
    count = rows.count()
    if count > schema.rows:
        yield f"table {name!r} has more rows than the {schema.rows:,} that are declared; raise rows"
    if schema.units is None:
        return
    if schema.unit.rowwise and count != schema.units:
        yield f"table {name!r} has another number of rows than the {schema.units:,} that units declares"
    if isinstance(schema.unit, Person):
        column = f"c{list(schema.columns).index(schema.unit.column)}"
        if rows.where(f"{column} IS NOT NULL").select(column).distinct().count() > schema.units:
            yield f"table {name!r} has more units than the {schema.units:,} that are declared; raise units"
