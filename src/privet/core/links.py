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


def shown_columns(table: str, schema: Schema, *, owned: bool = True) -> dict[str, str]:
    """Return the columns of a table that questions may name, each with its name in a schema that was followed.

    Where a linked table has a column of its own that is called as its owner is elsewhere, questions mean its own. A
    column that links to who owns the rows is the owner, if `owned`.
    """
    link = schema.link
    if link is None:
        return {name: name for name in schema.columns}
    renamed = {name: name.removeprefix(f"{table}.") for name in schema.columns}
    own = {shown.casefold() for name, shown in renamed.items() if shown != name}
    found = {shown: name for name, shown in renamed.items() if shown != name or name.casefold() not in own}
    if owned and _is_person(link, schema):  # a linked table has the unit of what it leads to
        found[renamed[link.via]] = link.column
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
        schema = _owned(name, schema, *_target(name, schema.unit, tables, found, path))
    found[name] = schema
    return schema


def _target(
    name: str, link: Link, tables: Mapping[str, Schema], found: dict[str, Schema], path: tuple[str, ...]
) -> tuple[Link, Schema]:
    if link.to not in tables:
        raise UnknownName(f"table, to which {name!r} links,", link.to, tables)
    target = _follow(link.to, tables, found, (*path, name))
    shown = shown_columns(link.to, target, owned=False)
    if link.column not in shown:
        raise UnknownName(f"column of {link.to!r}, to which {name!r} links,", link.column, shown)
    if target.unit.rowwise:
        raise RequestError(
            f"table {name!r} links to {link.to!r}, where each row is protected by itself; a link leads to a table of "
            f"people: give {link.to!r} a unit such as Person('patient_id')"
        )
    if target.unit.public:
        raise RequestError(f"table {name!r} links to {link.to!r}, which is public: nobody owns a row there")
    return replace(link, column=shown[link.column]), target


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
    # the link says who it is, under its own name or as one more column; or the target does, in columns of its own
    theirs = {name: schema.columns[link.via] for name in unit_columns(target.unit) if name != link.via}
    if not _is_person(link, target):
        theirs = {name: target.columns[name] for name in unit_columns(target.unit)}
    direct = _is_person(link, target) or target.link is not None
    own = {column: _apart(name, column, theirs, direct=direct) for column in schema.columns}
    columns: dict[str, ColumnFacts] = {own[column]: facts for column, facts in schema.columns.items()}
    if len(columns | theirs) < len(own) + len(theirs):
        raise RequestError(
            f"table {name!r} has columns of its own under the names that its link needs, {', '.join(theirs)} and "
            f"{', '.join(new for old, new in own.items() if new != old)}; rename one of them"
        )
    version = f"{schema.version}; {link.to}: {target.version}" if target.version else schema.version
    key, link = None if schema.key is None else own[schema.key], replace(link, via=own[link.via])
    return replace(schema, unit=target.unit, columns=columns | theirs, version=version, link=link, key=key)


def _apart(name: str, column: str, theirs: Mapping[str, ColumnFacts], *, direct: bool) -> str:
    """Return the name of a table's own column beside those that say whose its rows are.

    Of users(id), orders(id, user_id) and items(id, order_id), each table has an id of its own. But a patient_id beside
    a link to visits(visit_id, patient_id) says again who it is, and might say another.
    """
    if column.casefold() not in {owner.casefold() for owner in theirs}:
        return column
    if not direct:
        raise RequestError(
            f"table {name!r} has a column {column!r} of its own and a link to who owns its rows, which is called so "
            f"too; a row has one owner: leave out the column, or say unit=Person({column!r}) instead of the link"
        )
    return f"{name}.{column}"
