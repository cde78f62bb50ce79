"""The oracle's relations: what is made of tables, over lists of rows in plain Python, as slow and obvious as can be."""

from __future__ import annotations

import datetime
import math
from collections.abc import Mapping, Sequence
from typing import Any

from privet.core.errors import InvariantError
from privet.core.expression import Expression
from privet.core.links import fetched_columns
from privet.core.relation import Derive, Group, Join, Rank, Relation, Union
from privet.core.schema import Column, Schema
from privet.core.unit import Nobody, Rows, Window, person_column, unit_columns
from privet.query.shape import schema_of

from .evaluation import as_kind, evaluate_row
from .memory_within import Owned, Row, grouped, in_order, ranked, read


def rows_of(relation: Relation, tables: Mapping[str, Schema], stored: Mapping[str, Sequence[Row]]) -> list[Owned]:
    """Return the rows of a relation with their owners; those of nobody are dropped, unless the table is public."""
    schema = schema_of(relation, tables)
    match relation:
        case str():
            return stored_rows(schema, stored[relation])
        case Derive(source=source):
            facts = schema_of(source, tables).columns
            return [
                (
                    owner,
                    {name: read(evaluate_row(one, row, facts), schema.columns[name]) for name, one in relation.columns},
                )
                for owner, row in _kept(rows_of(source, tables, stored), relation.where, facts)
            ]
        case Join():
            return _join(relation, tables, stored, schema)
        case Group(source=source):
            facts = schema_of(source, tables).columns
            return grouped(relation, _kept(rows_of(source, tables, stored), relation.where, facts), facts, schema)
        case Rank(source=source):
            return ranked(relation, rows_of(source, tables, stored), schema_of(source, tables).columns, schema)
        case Union(sources=sources):
            rows = [one for source in sources for one in rows_of(source, tables, stored)]
            return [(owner, _renamed(row, schema)) for owner, row in rows]
    raise InvariantError("an unknown kind of relation")


def stored_rows(schema: Schema, rows: Sequence[Row]) -> list[Owned]:
    """Return the rows of a table that somebody owns, held to its facts."""
    found: list[Owned] = []
    for index, record in enumerate(rows):
        row = {name: read(record.get(name), column) for name, column in schema.columns.items()}
        owner = index if isinstance(schema.unit, Rows) else _owner(schema, record, row)
        if owner is not None or isinstance(schema.unit, Nobody):
            found.append((owner, row))
    return found


def _owner(schema: Schema, record: Row, row: Row) -> Any:
    """Return whose row it is: the person, or the person and the bucket of time; None for nobody."""
    person = record.get(person_column(schema.unit) or "")
    if person is None or (isinstance(person, float) and math.isnan(person)):
        return None
    if not isinstance(schema.unit, Window):
        return person
    time = row[schema.unit.time]
    if time is None:
        return None
    origin = datetime.datetime.combine(schema.unit.origin, datetime.time())
    return person, (as_kind("timestamp", time) - origin) // schema.unit.length


def _kept(rows: list[Owned], where: Expression | None, facts: Mapping[str, Column]) -> list[Owned]:
    return [(owner, row) for owner, row in rows if where is None or evaluate_row(where, row, facts) is True]


def _join(join: Join, tables: Mapping[str, Schema], stored: Mapping[str, Sequence[Row]], schema: Schema) -> list[Owned]:
    both = bool(unit_columns(schema_of(join.right, tables).unit))
    right = rows_of(join.right, tables, stored)
    if both and join.most is not None:
        right = _cut(right, join.most)
    found: list[Owned] = []
    for owner, row in rows_of(join.left, tables, stored):
        pairs = []
        for other, theirs in right:
            pair = {**row, **{name: theirs[column] for name, column in join.names}}
            holds = join.on is None or evaluate_row(join.on, pair, schema.columns) is True
            if holds and (not both or owner == other):
                pairs.append(pair)
        if not pairs and join.kind == "left":
            pairs.append({**row, **{name: None for name, _ in join.names}})
        found += [(owner, pair) for pair in pairs]
    return found


def _cut(rows: list[Owned], most: int) -> list[Owned]:
    owned: dict[Any, list[Row]] = {}
    for owner, row in rows:
        owned.setdefault(owner, []).append(row)
    return [(owner, row) for owner, several in owned.items() for row in in_order(several)[:most]]


def _renamed(row: Row, schema: Schema) -> Row:
    several = zip(schema.columns.items(), row.values(), strict=True)
    return {name: as_kind(column.kind, value) for (name, column), value in several}


def with_owners(stored: Mapping[str, list[Row]], name: str, tables: Mapping[str, Schema]) -> list[Row]:
    """Return the rows of a table, each of a linked one with the column that says whose row it is."""
    schema, rows = tables[name], stored[name]
    link = schema.link
    if link is None or link.via in unit_columns(schema.unit):
        return rows
    fetched = fetched_columns(schema, tables)
    if not fetched:
        return [{**row, unit_columns(schema.unit)[0]: row.get(link.via)} for row in rows]
    return [
        {**row, **{column: target.get(column) for column in fetched}}
        for row in rows
        for target in stored[link.to]
        if row.get(link.via) is not None and row.get(link.via) == target.get(link.column)
    ]
