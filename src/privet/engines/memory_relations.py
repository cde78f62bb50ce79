"""The oracle's relations: what is made of tables, over lists of rows in plain Python, as slow and obvious as can be."""

from __future__ import annotations

import datetime
import math
import secrets
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from privet.core.errors import InvariantError
from privet.core.expression import Call, Expression
from privet.core.links import fetched_columns
from privet.core.relation import Derive, Group, Join, Rank, Relation, Union
from privet.core.schema import Column, Schema
from privet.core.unit import Nobody, Rows, Window, person_column, unit_columns
from privet.query.origin import equal_sides
from privet.query.shape import schema_of

from .evaluation import as_kind, evaluate_row
from .memory_within import Owned, Row, grouped, ranked, read


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
    if row[schema.unit.time] is None:
        return None
    # as it is stored: the bounds of one table are not those of another
    time = read(record.get(schema.unit.time), replace(schema.columns[schema.unit.time], low=None, high=None))
    origin = datetime.datetime.combine(schema.unit.origin, datetime.time())
    return person, (as_kind("timestamp", time) - origin) // schema.unit.length


def _kept(rows: list[Owned], where: Expression | None, facts: Mapping[str, Column]) -> list[Owned]:
    return [(owner, row) for owner, row in rows if where is None or evaluate_row(where, row, facts) is True]


def _join(join: Join, tables: Mapping[str, Schema], stored: Mapping[str, Sequence[Row]], schema: Schema) -> list[Owned]:
    left, right = schema_of(join.left, tables), schema_of(join.right, tables)
    both = bool(unit_columns(right.unit))
    mine, theirs = rows_of(join.left, tables, stored), rows_of(join.right, tables, stored)
    alike = list(equal_sides(join, left))
    equal = [Call("equal", sides) for sides in alike]
    pairs: list[list[Row]] = []
    for owner, row in mine:
        joined = [
            {**row, **{name: r[column] for name, column in join.names}} for o, r in theirs if not both or o == owner
        ]
        pairs.append([pair for pair in joined if all(evaluate_row(one, pair, schema.columns) is True for one in equal)])
    for owner in {owner for owner, _ in mine} if join.most is not None and unit_columns(left.unit) else ():
        those = [row for other, row in theirs if not both or other == owner]
        keys = [_keys(join, row, [one for _, one in alike], schema) for row in those]
        if any(count > 1 for key, count in Counter(keys).items() if None not in key):
            _cut([place for place, (other, _) in enumerate(mine) if other == owner], pairs, join.most or 0)
    found: list[Owned] = []
    for (owner, row), several in zip(mine, pairs, strict=True):
        if several is _GONE:
            continue
        met = [pair for pair in several if join.on is None or evaluate_row(join.on, pair, schema.columns) is True]
        if not met and join.kind == "left":
            met.append({**row, **{name: None for name, _ in join.names}})
        found += [(owner, pair) for pair in met]
    return found


_GONE: list[Row] = []
"""Stands for the pairs of a row that is left without any."""


def _keys(join: Join, row: Row, expressions: Sequence[Expression], schema: Schema) -> tuple[Any, ...]:
    """Return what must be equal of a row of the right side."""
    named = {name: row[column] for name, column in join.names}
    return tuple(evaluate_row(one, named, schema.columns) for one in expressions)


def _cut(places: list[int], pairs: list[list[Row]], most: int) -> None:
    """Keep `most` pairs of a unit's rows, at most; which, is chosen anew each time."""
    draw = secrets.SystemRandom()
    made = 0
    for place in draw.sample(places, len(places)):
        several = pairs[place]
        if several:
            kept = draw.sample(several, min(len(several), max(most - made, 0)))
            pairs[place] = kept or _GONE
            made += len(kept)


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
