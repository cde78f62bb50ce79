"""Follows links between tables to the people who own their rows. Pure: it reads declared facts only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from .errors import RequestError, UnknownName
from .schema import ColumnFacts, Schema
from .unit import Link, Person, unit_columns


def followed(tables: Mapping[str, Schema]) -> dict[str, Schema]:
    """Return the tables with each linked one owned as what it leads to: same unit, one more column that says whose.

    Guarantee: where the column that a link leads to holds no value twice, each row of a linked table has at most one
    owner, and a function of one unit's rows, in all tables together, is a function of the rows that the unit owns.
    """
    found: dict[str, Schema] = {}
    for name in tables:
        _follow(name, tables, found, ())
    return found


def fetched_columns(schema: Schema, tables: Mapping[str, Schema]) -> tuple[str, ...]:
    """Return the columns of a link's target that say whose row it is; none if the link itself already does.

    `schema` and `tables` are followed already.
    """
    link = schema.link
    return () if link is None or _is_person(link, tables[link.to]) else unit_columns(tables[link.to].unit)


def _is_person(link: Link, target: Schema) -> bool:
    """Return whether a link leads to the very column that says whose row it is."""
    return isinstance(target.unit, Person) and target.unit.column == link.column


def _follow(name: str, tables: Mapping[str, Schema], found: dict[str, Schema], path: tuple[str, ...]) -> Schema:
    if name in found:
        return found[name]
    if name in path:
        raise RequestError(f"the links of {' -> '.join((*path, name))} lead in a circle; one table must own its unit")
    schema = tables[name]
    if isinstance(schema.unit, Link):
        schema = _owned(name, schema, schema.unit, _target(name, schema.unit, tables, found, path))
    found[name] = schema
    return schema


def _target(
    name: str, link: Link, tables: Mapping[str, Schema], found: dict[str, Schema], path: tuple[str, ...]
) -> Schema:
    if link.to not in tables:
        raise UnknownName(f"table, to which {name!r} links,", link.to, tables)
    target = _follow(link.to, tables, found, (*path, name))
    if link.column not in target.columns:
        raise UnknownName(f"column of {link.to!r}, to which {name!r} links,", link.column, target.columns)
    if target.unit.rowwise:
        raise RequestError(
            f"table {name!r} links to {link.to!r}, where each row is protected by itself; a link leads to a table of "
            f"people: give {link.to!r} a unit such as Person('patient_id')"
        )
    if target.unit.public:
        raise RequestError(f"table {name!r} links to {link.to!r}, which is public: nobody owns a row there")
    return target


def _owned(name: str, schema: Schema, link: Link, target: Schema) -> Schema:
    kinds = schema.columns[link.via].kind, target.columns[link.column].kind
    if kinds[0] != kinds[1]:
        raise RequestError(
            f"table {name!r} links {link.via!r}, of kind {kinds[0]}, to {link.column!r} of {link.to!r}, of kind "
            f"{kinds[1]}; declare both as the same kind"
        )
    if kinds[0] == "number":
        raise RequestError(
            f"table {name!r} links {link.via!r}, of kind number, to {link.column!r} of {link.to!r}; numbers may "
            f"be equal that are stored apart, and a row would have two owners: declare both as integer() or text()"
        )
    if schema.neighbors != target.neighbors:
        raise RequestError(
            f"table {name!r} links to {link.to!r} and is declared with other neighbours; say "
            f"neighbors={target.neighbors!r} for both"
        )
    columns: dict[str, ColumnFacts] = dict(schema.columns)
    # the link says who it is, under its own name or as one more column; or the target does, in columns of its own
    theirs = {name: schema.columns[link.via] for name in unit_columns(target.unit) if name != link.via}
    if not _is_person(link, target):
        theirs = {name: target.columns[name] for name in unit_columns(target.unit)}
    for owner, facts in theirs.items():
        columns[_new(name, owner, columns)] = facts
    version = f"{schema.version}; {link.to}: {target.version}" if target.version else schema.version
    return replace(schema, unit=target.unit, columns=columns, version=version, link=link)


def _new(name: str, owner: str, columns: Mapping[str, ColumnFacts]) -> str:
    if owner.casefold() in {column.casefold() for column in columns}:
        raise RequestError(
            f"table {name!r} has a column {owner!r} of its own and a link to who owns its rows, which is called so "
            f"too; a row has one owner: leave out the column, or say unit=Person({owner!r}) instead of the link"
        )
    return owner
