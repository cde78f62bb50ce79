"""Where a column of a relation comes from, and whether an equality of two says that rows have one owner."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from privet.core.expression import Call, Column, Expression
from privet.core.relation import Derive, Group, Join, Rank, Relation
from privet.core.schema import Schema
from privet.core.unit import unit_columns

from .functions import mentions

Place = tuple[str, str]
"""A table and a column of it."""


def conjuncts(on: Expression | None) -> Iterator[Expression]:
    """Yield the conditions that must all hold for a condition to hold."""
    if isinstance(on, Call) and on.function == "and":
        for one in on.arguments:
            yield from conjuncts(one)
    elif on is not None:
        yield on


def equalities(join: Join, left: Schema) -> Iterator[tuple[str, str]]:
    """Yield the columns of the left and of the right side, as each calls them, that a join makes equal, plainly."""
    theirs = dict(join.names)
    for one in conjuncts(join.on):
        if not isinstance(one, Call) or one.function != "equal":
            continue
        first, second = one.arguments
        if isinstance(first, Column) and isinstance(second, Column):
            for mine, other in ((first.name, second.name), (second.name, first.name)):
                if mine in left.columns and other in theirs:
                    yield mine, theirs[other]


def equal_sides(join: Join, left: Schema) -> Iterator[tuple[Expression, Expression]]:
    """Yield what a join makes equal: an expression over columns of the left side, and one over those of the right.

    Both are over the names that the columns have in the result. The equality of units is not among them.
    """
    theirs = {name for name, _ in join.names}
    for one in conjuncts(join.on):
        if not isinstance(one, Call) or one.function != "equal":
            continue
        for mine, other in (one.arguments, one.arguments[::-1]):
            sides = mentions(mine), mentions(other)
            if all(sides) and sides[0] <= left.columns.keys() and sides[1] <= theirs:
                yield mine, other


def same_owner(join: Join, left: Schema, tables: Mapping[str, Schema]) -> bool:
    """Return whether the condition of a join says that both rows have one owner: by the unit itself, or by a link.

    The join holds rows to it in any case; this is about what the analyst meant.
    """
    pairs = set(equalities(join, left))
    units = unit_columns(left.unit)
    if units and all((name, name) in pairs for name in units):
        return True
    targets = _targets(tables)
    for mine, theirs in pairs:
        place = _anchor(origin(join.left, mine), tables)
        if place in targets and place == _anchor(origin(join.right, theirs), tables):
            return True
    return False


def only_match(relation: Relation, column: str, tables: Mapping[str, Schema]) -> bool:
    """Return whether a column is a table's own in which no value comes twice: its key, or what links lead to."""
    return isinstance(relation, str) and (tables[relation].key == column or (relation, column) in _targets(tables))


def one_to_meet(join: Join, left: Schema, tables: Mapping[str, Schema]) -> tuple[bool, bool]:
    """Return whether each row meets at most one row of the left side, and of the right; units are equal in any case."""
    pairs = [*equalities(join, left), *((name, name) for name in unit_columns(left.unit))]
    on_left = any(only_match(join.left, mine, tables) for mine, _ in pairs)
    return on_left, any(only_match(join.right, theirs, tables) for _, theirs in pairs)


def origin(relation: Relation, column: str) -> Place | None:
    """Return the table and column from which the values of a column come unchanged; None if there is no such."""
    match relation:
        case str():
            return relation, column
        case Derive(source=source, columns=columns) | Group(source=source, keys=columns):
            made = dict(columns).get(column)
            return origin(source, made.name) if isinstance(made, Column) else None
        case Join(left=left, right=right, names=names):
            theirs = dict(names).get(column)
            return origin(left, column) if theirs is None else origin(right, theirs)
        case Rank(source=source, name=name):
            return None if column == name else origin(source, column)
    return None


def _targets(tables: Mapping[str, Schema]) -> set[Place]:
    return {(schema.link.to, schema.link.column) for schema in tables.values() if schema.link is not None}


def _anchor(place: Place | None, tables: Mapping[str, Schema]) -> Place | None:
    """Return where a column leads that is one end of a link: to the other end."""
    if place is None:
        return None
    link = tables[place[0]].link
    return (link.to, link.column) if link is not None and link.via == place[1] else place
