"""Tables as their owners see them: linked ones with the column that says whose row it is, public ones checked.

Only the custodian meets this module: it runs when tables are opened, or when the custodian asks for a check.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from privet.core.errors import RequestError
from privet.core.links import fetched_columns
from privet.core.schema import Schema
from privet.core.unit import unit_columns

from .values import clamped, physical

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


def check_public(fetch: Fetch, name: str, schema: Schema, relation: str) -> None:
    """Raise unless a public table has no more rows than declared, and no value twice in its key."""
    if fetch(f"SELECT count(*) FROM {relation}")[0][0] > schema.rows:
        raise RequestError(
            f"public table {name!r} has more than the {schema.rows:,} rows that are declared for it; declare rows="
        )
    if schema.key is not None:
        # joins compare values that are held to their bounds, where several may have become one
        key = clamped(physical(schema)[schema.key], schema.columns[schema.key])
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
