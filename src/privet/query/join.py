"""Puts rows together: joins, and UNION ALL. What each side computed stays pending wherever it may.

Pending columns and conditions are expressions over the relation's own columns, so that the unit is recognised under any
alias, and two questions that mean the same are mostly the same tree.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from privet.core.errors import Unsupported
from privet.core.expression import Call, ColumnRef, Expression
from privet.core.relation import Derive, GroupWithin, Join, Relation, Union
from privet.core.schema import Schema
from privet.core.unit import unit_columns

from .nodes import PrivateRows, distinct_name, has_aggregate
from .normal import call, conjunction, text
from .resolve import condition, substitute
from .shape import check_same_unit, conjuncts, is_public, same_owner, schema_of, schema_within_limits

MOST_STEPS = 60
"""Tables and steps in one tree. Sub-queries that use others twice double it, so it is capped before it is walked."""

Columns = Mapping[str, Expression]


def standing_on(
    relation: Relation, tables: Mapping[str, Schema], columns: Columns, where: Expression | None = None
) -> PrivateRows:
    """Return rows of a relation under the names that columns are known by; refuses what crosses units."""
    if _steps(relation) > MOST_STEPS:
        raise Unsupported(
            f"this puts together more than {MOST_STEPS} tables and steps; ask about fewer, and mind that a sub-query "
            f"that is used twice counts twice"
        )
    schema = schema_of(relation, tables)
    return PrivateRows(relation, schema, columns, where, tables, schema_within_limits(relation, tables).columns)


@dataclass(frozen=True)
class JoinSides:
    """Two sides that will be joined, and their columns as the join will call them."""

    left: PrivateRows
    right: PrivateRows
    kind: Literal["inner", "left"]
    names: tuple[tuple[str, str], ...]
    theirs: Columns
    swapped: bool = False

    @property
    def sides(self) -> tuple[Columns, Columns]:
        """The columns of both sides in the order in which they were given."""
        return (self.theirs, self.left.columns) if self.swapped else (self.left.columns, self.theirs)


def pair(left: PrivateRows, right: PrivateRows, kind: Literal["inner", "left", "right"]) -> JoinSides:
    """Return two sides made ready to be joined: the side that the unit comes from first."""
    backwards = is_public(left.schema) and not is_public(right.schema)
    if kind == "right" or (kind == "inner" and backwards):
        return replace(pair(right, left, "left" if kind == "right" else "inner"), swapped=True)
    if kind == "left":
        right = settled(right)
    taken = {name.casefold() for name in left.schema.columns}
    names = tuple((distinct_name(name, taken), name) for name in right.schema.columns)
    called = {column: ColumnRef(name) for name, column in names}
    theirs = {name: _renamed(one, called) for name, one in right.columns.items()}
    return JoinSides(left, right, kind, names, theirs)


def join(sides: JoinSides, on: Expression | None) -> tuple[PrivateRows, Columns, Columns]:
    """Return joined rows, and how the columns of the first and of the second side are then known.

    Guarantee: that of `schema_of`. Between private sides, the condition must say who owns the rows: the unit of both
    in plain equality, or a column and what it links to, joined to the rest by AND. It is held to in any case.
    """
    left, right = sides.left, sides.right
    called = {column: ColumnRef(name) for name, column in sides.names}
    facts = {**left.schema.columns, **{name: right.schema.columns[column] for name, column in sides.names}}
    if has_aggregate(on):
        raise Unsupported("an aggregate cannot stand in ON; aggregate in a sub-query for each person first")
    asked = None if on is None else conjunction(*map(_in_order, conjuncts(condition(on, facts, "ON"))))
    made = Join(left.table, right.table, sides.kind, sides.names, asked)
    private = not is_public(right.schema)
    if private and not is_public(left.schema):
        check_same_unit(left.schema, right.schema)
        if not same_owner(made, left.schema, left.tables):
            raise Unsupported(_ownerless(left.schema))
        made = replace(made, on=_without_unit(made, left.schema))
    theirs, where = sides.theirs, left.where
    if sides.kind == "inner":
        where = conjunction(where, None if right.where is None else _renamed(right.where, called))
        if private and not is_public(left.schema):
            # who owns one row owns the other; their times may differ within a window
            same = {called[name].name: ColumnRef(name) for name in _implied(left.schema)}
            theirs = {name: _renamed(one, same) for name, one in theirs.items()}
    found = standing_on(made, left.tables, left.columns, where)
    return (found, theirs, left.columns) if sides.swapped else (found, left.columns, theirs)


def settled(source: PrivateRows) -> PrivateRows:
    """Return rows whose conditions and computed columns pend no more, for where they cannot."""
    if source.where is None and all(one.column is not None for one in source.columns.values()):
        return source
    made: dict[str, Expression] = {name: ColumnRef(name) for name in unit_columns(source.schema.unit)}
    made |= {one.column: one for one in source.columns.values() if one.column is not None}
    taken = {name.casefold() for name in made}
    columns: dict[str, Expression] = {}
    for name, one in source.columns.items():
        own = distinct_name(name, taken) if one.column is None else one.column
        made[own] = one
        columns[name] = ColumnRef(own)
    return standing_on(Derive(source.table, tuple(made.items()), source.where), source.tables, columns)


def united(several: Sequence[PrivateRows]) -> PrivateRows:
    """Return all rows of several sides, whose columns correspond by their places, under the names of the first."""
    first = several[0]
    names = list(first.columns)
    for other in several[1:]:
        if len(other.columns) != len(names):
            raise Unsupported("the parts of UNION ALL have different numbers of columns; list the same in each")
        check_same_unit(first.schema, other.schema)
    units = unit_columns(first.schema.unit)
    owned = {
        place: name
        for place in range(len(names))
        for name in units
        if all(list(one.columns.values())[place] == ColumnRef(name) for one in several)
    }
    taken = {name.casefold() for name in units}
    called = [owned.get(place) or distinct_name(name, taken) for place, name in enumerate(names)]
    parts = []
    for one in several:
        made: dict[str, Expression] = {name: ColumnRef(name) for name in units}
        made |= dict(zip(called, one.columns.values(), strict=True))
        parts.append(Derive(one.table, tuple(made.items()), one.where))
    columns = {name: ColumnRef(own) for name, own in zip(names, called, strict=True)}
    return standing_on(Union(tuple(parts)), first.tables, columns)


def kept_by(source: PrivateRows, others: PrivateRows) -> PrivateRows:
    """Return the rows of people who have a row among others: WHERE person IN (SELECT person FROM ...)."""
    units = unit_columns(source.schema.unit)
    if len(units) != 1 or list(others.columns.values()) != [
        ColumnRef(name) for name in unit_columns(others.schema.unit)
    ]:
        raise Unsupported(
            "IN (SELECT ...) is supported for people only: the column that says whose row it is, IN a sub-query of "
            "that column; for anything else, JOIN ... ON"
        )
    check_same_unit(source.schema, others.schema)
    made = GroupWithin(others.table, tuple((name, ColumnRef(name)) for name in units), (), others.where)
    people = standing_on(made, source.tables, {name: ColumnRef(name) for name in units})
    sides = pair(source, people, "inner")
    found, columns, _ = join(sides, call("equal", ColumnRef(units[0]), next(iter(sides.theirs.values()))))
    return replace(found, columns=columns)


def _in_order(one: Expression) -> Expression:
    """Return an equality of two columns in the one order, so that who stands left of a join does not matter."""
    if one.function == "equal" and all(side.column is not None for side in one.arguments):
        return Call("equal", tuple(sorted(one.arguments, key=text)))
    return one


def _renamed(expression: Expression, called: Mapping[str, ColumnRef]) -> Expression:
    return substitute(expression, lambda part: called.get(part.column or ""))


def _without_unit(made: Join, left: Schema) -> Expression | None:
    """Return the condition of a join without the equality of people, which it has in any case."""
    theirs = {column: name for name, column in made.names}
    implied = [{ColumnRef(name), ColumnRef(theirs[name])} for name in _implied(left)]

    def is_implied(one: Expression) -> bool:
        return one.function == "equal" and set(one.arguments) in implied

    return conjunction(*(one for one in conjuncts(made.on) if not is_implied(one)))


def _implied(left: Schema) -> tuple[str, ...]:
    """Return the unit columns that are equal in all rows of a unit: a window of time holds several times."""
    return unit_columns(left.unit)[:1]


def _ownerless(left: Schema) -> str:
    unit = " and ".join(repr(name) for name in unit_columns(left.unit))
    return (
        f"a join of private tables is between rows of the same person; its ON must say so in plain equality, joined to "
        f"the rest by AND: the {unit} of one table = that of the other, or a column and the one it links to"
    )


def _steps(relation: Relation) -> int:
    waiting, count = [relation], 0
    while waiting and count <= MOST_STEPS:
        one = waiting.pop()
        count += 1
        match one:
            case str():
                continue
            case Join(left=left, right=right):
                waiting += [left, right]
            case Union(sources=sources):
                waiting += sources
            case _:
                waiting.append(one.source)
    return count
