"""How many rows one row may become: bounded before anything is charged, so that nobody's rows can exhaust an engine.

Where a join could pair many rows of a person with many others, only so many of each side's take part. A question that
takes too long fails, and whether it does must not depend on one person.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from math import prod

from privet.core.errors import InvariantError, Unsupported
from privet.core.relation import Derive, Group, Join, Rank, Relation, Union
from privet.core.schema import Schema
from privet.core.unit import unit_columns

from .origin import one_to_meet
from .shape import is_public, on_key, schema_of

MOST = 10**6
"""So many rows may one row of a table become by all joins of a query together."""

MOST_EACH = 10**4
"""So many rows of a person take part in a join at most, where it does not follow that there is but one."""


def with_cuts(relation: Relation, tables: Mapping[str, Schema]) -> Relation:
    """Return a relation in which each join says how many rows of a person may meet one, where that must be said."""
    joins = list(joins_of(relation))
    public = prod(schema_of(one.right, tables).rows for one in joins if _spreads(one, tables))
    many = sum(_pairs_many(one, tables) for one in joins)
    most = MOST_EACH
    while many and most > 1 and public * most**many > MOST:
        most -= 1
    if public * most**many > MOST or (many and most < 2):
        raise Unsupported(
            f"these joins could make one row into more than {MOST:,}; join public tables on a key that is declared "
            f"(PublicTable(..., key='column')), declare how many rows they have, or join fewer tables"
        )
    return _cut(relation, tables, most)


def check_fanout(relation: Relation, tables: Mapping[str, Schema]) -> None:
    """Raise unless every join that needs it says how many rows may meet one, and they make no more than allowed.

    Guarantee: a row of a table becomes at most `MOST` rows, whatever the tables hold, if links lead to one row each.
    """
    factor = 1
    for one in joins_of(relation):
        if _spreads(one, tables):
            factor *= schema_of(one.right, tables).rows
        if _pairs_many(one, tables):
            if one.most is None or not 1 <= one.most <= MOST_EACH:
                raise InvariantError("a join does not say how many rows of a person may meet one")
            factor *= one.most
    if factor > MOST:
        raise InvariantError("joins make one row into more than is allowed")


def joins_of(relation: Relation) -> Iterator[Join]:
    """Yield the joins of a relation, those below others first."""
    match relation:
        case str():
            return
        case Join(left=left, right=right):
            yield from joins_of(left)
            yield from joins_of(right)
            yield relation
        case Union(sources=sources):
            for source in sources:
                yield from joins_of(source)
        case _:
            yield from joins_of(relation.source)


def _spreads(join: Join, tables: Mapping[str, Schema]) -> bool:
    """Return whether a private row may meet many rows of a public side."""
    left, right = schema_of(join.left, tables), schema_of(join.right, tables)
    return is_public(right) and not is_public(left) and not on_key(join, left, right)


def _pairs_many(join: Join, tables: Mapping[str, Schema]) -> bool:
    """Return whether many rows of a person may each meet many others: on neither side there is but one to meet."""
    left, right = schema_of(join.left, tables), schema_of(join.right, tables)
    if is_public(left) or is_public(right):
        return False
    if one_row_each(join.left, tables) or one_row_each(join.right, tables):
        return False
    return not any(one_to_meet(join, left, tables))


def one_row_each(relation: Relation, tables: Mapping[str, Schema]) -> bool:
    """Return whether a relation has at most one row for each unit, because it is grouped by the unit alone."""
    match relation:
        case Group(keys=keys):
            units = unit_columns(schema_of(relation, tables).unit)
            return len(units) == 1 and len(keys) == 1
        case Derive(source=source) | Rank(source=source):
            return one_row_each(source, tables)
    return False


def _cut(relation: Relation, tables: Mapping[str, Schema], most: int) -> Relation:
    match relation:
        case str():
            return relation
        case Join(left=left, right=right):
            made = replace(relation, left=_cut(left, tables, most), right=_cut(right, tables, most))
            return replace(made, most=most if _pairs_many(relation, tables) else None)
        case Union(sources=sources):
            return replace(relation, sources=tuple(_cut(source, tables, most) for source in sources))
        case _:
            return replace(relation, source=_cut(relation.source, tables, most))
