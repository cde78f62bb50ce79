"""Whose row it is, as SQL over a stored table: the unit of a row, and the test that it has one."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Mapping
from typing import Any

from privet.core.errors import InvariantError, RequestError
from privet.core.links import fetched_columns
from privet.core.schema import Schema
from privet.core.unit import Person, Window, unit_columns
from privet.query.typed import LONGEST

from .dialect import FIRST, FIRST_MOMENT, LAST, LAST_MOMENT, Dialect
from .row_values import between, clamped, physical

_DAY = datetime.timedelta(days=1)
_MICROSECOND = datetime.timedelta(microseconds=1)


def owner_of(schema: Schema, dialect: Dialect, prefix: str = "") -> tuple[str, str]:
    """Return the unit of a row, and the condition under which it has one.

    The person is as it is stored and neither clamped nor cut: that would make one person of several. For a window of
    time the unit is the person and the bucket that holds the row's time.

    Guarantee: rows of a person within a window of the unit's length have one of at most two units, over all tables:
    buckets are that long, and a row's is that of its time as it is stored. Held to the bounds of its own table, a time
    would be elsewhere than the same time in another; held to the calendar, it moves no further from any other.
    """
    unit, names = schema.unit, physical(schema)
    if not isinstance(unit, (Person, Window)):
        raise InvariantError("contributions are bounded only where units own several rows")
    column = unit.column if isinstance(unit, Person) else unit.person
    owner = f"{prefix}{names[column]}"
    known = f"{owner} IS NOT NULL"
    if schema.columns[column].kind == "number":
        known += f" AND NOT {dialect.is_nan(owner)}"
    if schema.columns[column].kind == "text":
        # joins copy it: one that is too long stands as its fingerprint, so that people stay apart; and that is longer
        # than any that stands for itself, or one person's id could equal another's fingerprint
        owner = dialect.known_by(owner, LONGEST)
    if isinstance(unit, Person):
        return owner, known
    time, dates = f"{prefix}{names[unit.time]}", schema.columns[unit.time].kind == "date"
    first, last = (FIRST, LAST) if dates else (FIRST_MOMENT, LAST_MOMENT)
    within = f"({between(time, dialect.constant(first), dialect.constant(last))})"
    bucket = _bucket(unit, within, dialect, dates=dates)
    known += f" AND ({clamped(time, schema.columns[unit.time], dialect)}) IS NOT NULL"
    return dialect.record({"p": owner, "b": bucket}), known


def _bucket(unit: Window, time: str, dialect: Dialect, *, dates: bool) -> str:
    """Return the number of the bucket that holds a time, counted so that it is never negative."""
    since = datetime.timedelta(days=unit.origin.toordinal() - 1)
    size, start = (
        (unit.length // _DAY, since // _DAY) if dates else (unit.length // _MICROSECOND, since // _MICROSECOND)
    )
    passed = dialect.days(time) if dates else dialect.microseconds(time)
    return f"({dialect.divide_whole(f'({passed} + {dialect.whole(-start % size)})', dialect.whole(size))})"


# Tables as their owners see them: linked ones with the column that says whose row it is, public ones checked.
#
# Only the custodian meets this module: it runs when tables are opened, or when the custodian asks for a check.


Fetch = Callable[[str], list[tuple[Any, ...]]]


def linked_view(own: str, name: str, tables: Mapping[str, Schema], relations: Mapping[str, str]) -> str:
    """Return a table's own columns and, where it links to others, the one that says whose row it is.

    `tables` are followed; `relations` says how those that it may link to are called.
    """
    schema = tables[name]
    link = schema.link
    if link is None or link.via in unit_columns(schema.unit):
        return own
    names = physical(schema)
    via, fetched = names[link.via], fetched_columns(schema, tables)
    if not fetched:
        return f"SELECT *, {via} AS {names[unit_columns(schema.unit)[0]]} FROM ({own})"
    theirs = physical(tables[link.to])
    owners = ", ".join(f"o.{theirs[column]} AS {names[column]}" for column in fetched)
    return f"SELECT r.*, {owners} FROM ({own}) AS r JOIN {relations[link.to]} AS o ON r.{via} = o.{theirs[link.column]}"


def check_public(fetch: Fetch, name: str, schema: Schema, relation: str, dialect: Dialect) -> None:
    """Raise unless a public table has no more rows than declared, and no value twice in its key."""
    if fetch(f"SELECT count(*) FROM {relation}")[0][0] > schema.rows:
        raise RequestError(
            f"public table {name!r} has more than the {schema.rows:,} rows that are declared for it; declare rows="
        )
    if schema.key is not None:
        # joins compare values that are held to their bounds, where several may have become one
        key = clamped(physical(schema)[schema.key], schema.columns[schema.key], dialect)
        if _comes_twice(fetch, relation, key):
            raise RequestError(f"public table {name!r} has a value twice in its key {schema.key!r}")


def _comes_twice(fetch: Fetch, relation: str, column: str) -> bool:
    values = f"SELECT {column} AS k FROM {relation}"
    return bool(fetch(f"SELECT 1 FROM ({values}) WHERE k IS NOT NULL GROUP BY k HAVING count(*) > 1 LIMIT 1"))


def broken_links(fetch: Fetch, tables: Mapping[str, Schema], relations: Mapping[str, str]) -> list[str]:
    """Return what is wrong with the links between tables, for the custodian alone: it tells about the data.

    A value that comes twice in a column that a link leads to may give a row two owners.
    """
    found = []
    for name, schema in tables.items():
        if schema.key is not None and _comes_twice(fetch, relations[name], physical(schema)[schema.key]):
            found.append(f"table {name!r} has a value twice in its key {schema.key!r}; leave the key out")
        link = schema.link
        if link is None or not fetched_columns(schema, tables):
            continue
        column, relation = physical(tables[link.to])[link.column], relations[link.to]
        if _comes_twice(fetch, relation, column):
            found.append(
                f"table {name!r} links to {link.to!r} by {link.column!r}, where some value comes twice: rows that "
                f"lead there may have several owners, and nothing that is promised about them holds"
            )
    return found
