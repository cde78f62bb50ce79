"""Puts rows together: joins, UNION ALL, and how many rows joins may make of one unit. Computed columns stay pending.

Pending columns and conditions are expressions over the relation's own columns, so that the unit is recognised under any
alias, and two questions that mean the same are mostly the same tree.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod
from operator import is_
from typing import Literal

from privet.core.errors import InvariantError, Unsupported
from privet.core.relation import Call, ColumnRef, Derive, Expression, GroupWithin, Join, Rank, Relation, Union, Within
from privet.core.relation import Literal as Constant
from privet.core.schema import ColumnFacts as Facts
from privet.core.schema import Schema
from privet.core.unit import unit_columns

from .expressions import typed
from .functions import FUNCTIONS
from .nodes import PrivateRows, distinct_name, has_aggregate
from .normal import call, conjunction, text
from .resolve import condition, substitute
from .shape import (
    check_same_unit,
    conjuncts,
    equal_sides,
    is_public,
    on_key,
    one_to_meet,
    same_owner,
    schema_of,
    schema_within_limits,
    sides_of,
)
from .typed import LONGEST, Typed, TypedArgument

MOST_STEPS = 60
"""Tables and steps in one tree. Sub-queries that use others twice double it, so it is capped before it is walked."""

Columns = Mapping[str, Expression]


def standing_on(
    relation: Relation, tables: Mapping[str, Schema], columns: Columns, where: Expression | None = None
) -> PrivateRows:
    """Return rows of a relation under the names that columns are known by; refuses relations that cross units."""
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
        """The columns of both sides in the order in which they were passed."""
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
    theirs = {name: renamed(expression, called) for name, expression in right.columns.items()}
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
    asked = None if on is None else conjunction(*map(in_order, conjuncts(condition(on, facts, "ON"))))
    made = Join(left.table, right.table, sides.kind, sides.names, asked)
    private = not is_public(right.schema)
    if private and not is_public(left.schema):
        check_same_unit(left.schema, right.schema)
        if not same_owner(made, left.schema, left.tables):
            raise Unsupported(_ownerless(left.schema))
        made = replace(made, on=without_unit(made, left.schema))
    theirs, where = sides.theirs, left.where
    if sides.kind == "inner":
        where = conjunction(where, None if right.where is None else renamed(right.where, called))
        if private and not is_public(left.schema):
            # who owns one row owns the other; their times may differ within a window
            same = {called[name].name: ColumnRef(name) for name in _implied(left.schema)}
            theirs = {name: renamed(expression, same) for name, expression in theirs.items()}
    standing = standing_on(made, left.tables, left.columns, where)
    return (standing, theirs, left.columns) if sides.swapped else (standing, left.columns, theirs)


def settled(source: PrivateRows) -> PrivateRows:
    """Return rows without pending conditions and computed columns, for uses that do not allow them."""
    if source.where is None and all(expression.column is not None for expression in source.columns.values()):
        return source
    made: dict[str, Expression] = {name: ColumnRef(name) for name in unit_columns(source.schema.unit)}
    made |= {expression.column: expression for expression in source.columns.values() if expression.column is not None}
    taken = {name.casefold() for name in made}
    columns: dict[str, Expression] = {}
    for name, expression in source.columns.items():
        own = distinct_name(name, taken) if expression.column is None else expression.column
        made[own] = expression
        columns[name] = ColumnRef(own)
    return standing_on(Derive(source.table, tuple(made.items()), source.where), source.tables, columns)


def united(several: Sequence[PrivateRows]) -> PrivateRows:
    """Return all rows of several sides, whose columns correspond by their places, under the names of the first."""
    first = several[0]
    names = list(first.columns)
    for other in several[1:]:
        if len(other.columns) != len(names):
            raise Unsupported("the parts of UNION ALL have different numbers of columns; list the same in each")
        if not (first.schema.unit.rowwise and other.schema.unit.rowwise):
            check_same_unit(first.schema, other.schema)
    units = unit_columns(first.schema.unit)
    owned = {
        place: name
        for place in range(len(names))
        for name in units
        if all(list(rows.columns.values())[place] == ColumnRef(name) for rows in several)
    }
    taken = {name.casefold() for name in units}
    called = [owned.get(place) or distinct_name(name, taken) for place, name in enumerate(names)]
    parts = []
    for rows in several:
        made: dict[str, Expression] = {name: ColumnRef(name) for name in units}
        made |= dict(zip(called, rows.columns.values(), strict=True))
        parts.append(Derive(rows.table, tuple(made.items()), rows.where))
    columns = {name: ColumnRef(own) for name, own in zip(names, called, strict=True)}
    return standing_on(Union(tuple(parts)), first.tables, columns)


def check_person_shown(source: PrivateRows, word: str) -> None:
    """Raise unless the unit is among the columns: or rows of several people would be merged, or compared."""
    for name in unit_columns(source.schema.unit):
        if ColumnRef(name) not in source.columns.values():
            raise Unsupported(
                f"{word} would merge the rows of several people; add {name!r}, which identifies the person, to the "
                f"columns, or aggregate"
            )


def shared_rows(first: PrivateRows, second: PrivateRows, *, kept: bool) -> PrivateRows:
    """Return the different rows of the first that the second has too, or those that it has not: INTERSECT and EXCEPT.

    NULLs are alike here. Rows are compared within their unit, which must be among the columns, in one place of both.
    """
    side = distinct_name("side", {name.casefold() for name in (*first.columns, *second.columns)})
    both = united(
        [replace(rows, columns={**rows.columns, side: Constant(place)}) for place, rows in enumerate((first, second))]
    )
    check_person_shown(both, "INTERSECT" if kept else "EXCEPT")
    units = unit_columns(both.schema.unit)
    shown = {name: value for name, value in both.columns.items() if name != side}
    keys = {name: ColumnRef(name) for name in units} | {value.column or "": value for value in shown.values()}
    taken = {name.casefold() for name in keys}
    counts = tuple(
        Within(
            distinct_name(f"rows_{place}", taken),
            "count_rows",
            None,
            call("equal", both.columns[side], Constant(place)),
        )
        for place in (0, 1)
    )
    made = GroupWithin(both.table, tuple(keys.items()), counts)
    mine, theirs = (call("greater", ColumnRef(count.name), Constant(0)) for count in counts)
    return standing_on(made, first.tables, shown, conjunction(mine, theirs if kept else call("not", theirs)))


def full(left: PrivateRows, right: PrivateRows) -> PrivateRows:
    """Return the rows of FULL JOIN: those of a left join, and those of a right join that meet none.

    Both are passed with the same columns. A row of the right join lacks the unit of the other side, which no row
    of it lacks; the rows keep their owners.
    """
    joined = right.table
    if not isinstance(joined, Join) or joined.kind != "left" or is_public(right.schema):
        raise Unsupported("FULL JOIN is of private tables, by who owns their rows; with a public table, use LEFT JOIN")
    unit = unit_columns(right.schema.unit)[0]
    called = {column: name for name, column in joined.names}
    alone = call("is_null", ColumnRef(called[unit]))
    return united([left, replace(right, where=conjunction(right.where, alone))])


def kept_by(source: PrivateRows, others: PrivateRows) -> PrivateRows:
    """Return the rows of people who have a row among others: WHERE person IN (SELECT person FROM ...)."""
    units = unit_columns(source.schema.unit)
    if len(units) != 1 or list(others.columns.values()) != [
        ColumnRef(name) for name in unit_columns(others.schema.unit)
    ]:
        raise Unsupported(
            "IN (SELECT ...) is supported for people only: the column that identifies the person, IN a sub-query of "
            "that column; for anything else, JOIN ... ON"
        )
    check_same_unit(source.schema, others.schema)
    made = GroupWithin(others.table, tuple((name, ColumnRef(name)) for name in units), (), others.where)
    people = standing_on(made, source.tables, {name: ColumnRef(name) for name in units})
    sides = pair(source, people, "inner")
    standing, columns, _ = join(sides, call("equal", ColumnRef(units[0]), next(iter(sides.theirs.values()))))
    return replace(standing, columns=columns)


def in_order(one: Expression) -> Expression:
    """Return an equality of two columns in one order, so that the sides of a join do not matter."""
    if one.function == "equal" and all(side.column is not None for side in one.arguments):
        return Call("equal", tuple(sorted(one.arguments, key=text)))
    return one


def renamed(expression: Expression, called: Mapping[str, ColumnRef]) -> Expression:
    """Return an expression over columns by other names."""
    return substitute(expression, lambda part: called.get(part.column or ""))


def without_unit(made: Join, left: Schema) -> Expression | None:
    """Return the condition of a join without the equality of people, which it has in any case."""
    theirs = {column: name for name, column in made.names}
    implied = [{ColumnRef(name), ColumnRef(theirs[name])} for name in _implied(left)]

    def is_implied(conjunct: Expression) -> bool:
        return conjunct.function == "equal" and set(conjunct.arguments) in implied

    return conjunction(*(conjunct for conjunct in conjuncts(made.on) if not is_implied(conjunct)))


def _implied(left: Schema) -> tuple[str, ...]:
    """Return the unit columns that are equal in all rows of a unit: a window of time contains several times."""
    return unit_columns(left.unit)[:1]


def _ownerless(left: Schema) -> str:
    unit = " and ".join(repr(name) for name in unit_columns(left.unit))
    return (
        f"a join of private tables is between rows of the same person; its ON must state so in plain equality, joined "
        f"to the rest by AND: the {unit} of one table = that of the other, or a column and the one it links to"
    )


def _steps(relation: Relation) -> int:
    waiting, count = [relation], 0
    while waiting and count <= MOST_STEPS:
        part = waiting.pop()
        count += 1
        match part:
            case str():
                continue
            case Join(left=left, right=right):
                waiting += [left, right]
            case Union(sources=sources):
                waiting += sources
            case _:
                waiting.append(part.source)
    return count


# How many rows joins may make of one unit's: bounded before anything is charged, so that no unit exhausts an engine.
#
# A question that takes too long fails, and whether it does must not depend on one person. So each join that may pair
# many rows of a unit states its maximum number of pairs; a keyed hash chooses them, in the engine.


# How much work a question is for each row, from its text and from declared facts: an upper estimate, never measured.
#
# A step is about ten nanoseconds on one core. Functions of texts take as many as the longest text has characters.


_ROW = 100
"""Steps for a row to pass one step of a relation."""

_WIDE = LONGEST // 10
"""Steps for a row to carry one text through a join."""

_CALL, _ARGUMENT = 20, 10


def effort(relation: Relation, tables: Mapping[str, Schema], expressions: Iterable[Expression | None] = ()) -> int:
    """Return the steps for one row of a relation: through all of its tree, and through expressions over its columns."""
    columns = schema_of(relation, tables).columns
    return _of_tree(relation, tables, columns) + _all(columns, *expressions)


def steps(expression: Expression, columns: Mapping[str, Facts]) -> int:
    """Return the steps in which an expression is computed for a row, at most."""
    return _walked(expression, columns)[1]


def _walked(expression: Expression, columns: Mapping[str, Facts]) -> tuple[Typed, int]:
    """Return the facts of an expression, and its steps; each part is visited once."""
    if not expression.function:
        return typed(expression, columns), 0
    walked = [_walked(argument, columns) for argument in expression.arguments]
    arguments = [TypedArgument(part, known) for part, (known, _) in zip(expression.arguments, walked, strict=True)]
    known = FUNCTIONS[expression.function].rule(expression.function, arguments)
    return known, _own(expression, arguments) + sum(below for _, below in walked)


def _own(call: Expression, arguments: Sequence[TypedArgument]) -> int:
    plain = _CALL + _ARGUMENT * len(arguments)
    reads = FUNCTIONS[call.function].reads
    if not reads or all(argument.typed.kind != "text" for argument in arguments):
        return plain
    if call.function == "like":
        pattern = arguments[1].constant
        # a piece between two % that has a _ is tried at every place, sign by sign
        again = len(pattern) if isinstance(pattern, str) and "_" in pattern else 0
        return plain + LONGEST * (1 + again)
    return plain + LONGEST * reads


def _of_tree(relation: Relation, tables: Mapping[str, Schema], known: Mapping[str, Facts] | None = None) -> int:
    """Return the steps for one row through all of a tree; `known` are its own columns, where they are known."""
    match relation:
        case str():
            return _ROW
        case Join(left=left, right=right):
            columns = schema_of(relation, tables).columns if known is None else known
            texts = sum(column.kind == "text" for column in columns.values())
            below = _of_tree(left, tables) + _of_tree(right, tables)
            return below + _ROW + _WIDE * texts + _all(columns, relation.on)
        case Union(sources=sources):
            return _ROW + sum(_of_tree(source, tables) for source in sources)
        case Derive():
            used: list[Expression | None] = [relation.where, *(expression for _, expression in relation.columns)]
        case GroupWithin():
            used = [relation.where, *(key for _, key in relation.keys)]
            used += [part for aggregate in relation.aggregates for part in (aggregate.argument, aggregate.where)]
        case Rank():
            used = [relation.argument, relation.where, *relation.partition]
            used += [term.expression for term in relation.order]
    columns = schema_of(relation.source, tables).columns
    return _of_tree(relation.source, tables) + _ROW + _all(columns, *used)


def _all(columns: Mapping[str, Facts], *expressions: Expression | None) -> int:
    return sum(steps(expression, columns) for expression in expressions if expression is not None)


MOST = 10**5
"""This many rows are made of one unit's by all joins of a question together, at most."""

WORK = 10**9
"""This many steps (`effort`) are done for one unit over the rows that joins make, at most."""


def with_cuts(
    relation: Relation, tables: Mapping[str, Schema], expressions: Iterable[Expression | None] = ()
) -> Relation:
    """Return a relation in which each join states how many pairs of one unit's rows it makes, where it must.

    `expressions` are computed for each row of it afterwards: the more they cost, the fewer pairs there may be.
    """
    joins = [node for node in joins_of(relation) if _multiplies(node, tables)]
    if not joins:
        return _cut(relation, joins, 0)
    most = min(MOST, WORK // effort(relation, tables, expressions)) // len(joins)
    if _least(joins, tables) > most:
        raise Unsupported(
            f"these joins could make more than {most:,} rows of one or two rows of a person; join public tables on "
            f"a column that must be equal, declare how many rows they have (PublicTable(..., rows=)), or join fewer "
            f"tables"
        )
    return _cut(relation, joins, most)


def check_fanout(relation: Relation, tables: Mapping[str, Schema]) -> None:
    """Raise unless every join that needs it states how many pairs it makes, and they are no more than allowed.

    Guarantee: all joins together make at most `MOST` rows of a unit's, beside those that meet no more than one other,
    whatever the tables hold, if keys and links lead to one row each.
    """
    joins = [node for node in joins_of(relation) if _multiplies(node, tables)]
    for node in joins:
        if node.most is None or not 1 <= node.most <= MOST // len(joins):
            raise InvariantError("a join does not state how many pairs of a person's rows it makes, or too many")


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


def _multiplies(join: Join, tables: Mapping[str, Schema]) -> bool:
    """Return whether a join may make more rows of a unit's than it has on either side."""
    if join.one:
        return False
    left, right = sides_of(join, tables)
    return _spreads(join, left, right) or _pairs_many(join, left, right, tables)


def _spreads(join: Join, left: Schema, right: Schema) -> bool:
    """Return whether a private row may meet many rows of a public side."""
    return is_public(right) and not is_public(left) and not on_key(join, left, right)


def _pairs_many(join: Join, left: Schema, right: Schema, tables: Mapping[str, Schema]) -> bool:
    """Return whether many rows of a person may each meet many others: on neither side there is but one to meet."""
    if is_public(left) or is_public(right):
        return False
    if one_row_each(join.left, tables) or one_row_each(join.right, tables):
        return False
    return not any(one_to_meet(join, left, tables))


def _least(joins: list[Join], tables: Mapping[str, Schema]) -> int:
    """Return how many rows are made of one row by public tables, or of two rows of each private one.

    Where nothing must be equal, a row meets all rows of a public table.
    """
    sides = [(node, *sides_of(node, tables)) for node in joins]
    spread = [side for side in sides if _spreads(*side)]
    whole = [right.rows for node, left, right in spread if not list(equal_sides(node, left))]
    many = len(joins) - len(spread)
    return prod(whole) << (many + 1 if many else 0)


def one_row_each(relation: Relation, tables: Mapping[str, Schema]) -> bool:
    """Return whether a relation has at most one row for each unit, because it is grouped by the unit alone."""
    match relation:
        case GroupWithin(keys=keys):
            units = unit_columns(schema_of(relation, tables).unit)
            return len(units) == 1 and len(keys) == 1
        case Derive(source=source) | Rank(source=source):
            return one_row_each(source, tables)
    return False


def _cut(relation: Relation, joins: Sequence[Join], most: int) -> Relation:
    """Return a relation in which those joins, and no others, state how many pairs they make; itself if they do."""
    match relation:
        case str():
            return relation
        case Join(left=left, right=right):
            sides, pairs = (
                (_cut(left, joins, most), _cut(right, joins, most)),
                most if relation in joins else None,
            )
            if sides[0] is left and sides[1] is right and pairs == relation.most:
                return relation
            return replace(relation, left=sides[0], right=sides[1], most=pairs)
        case Union(sources=sources):
            parts = tuple(_cut(source, joins, most) for source in sources)
            return relation if all(map(is_, parts, sources)) else replace(relation, sources=parts)
        case _:
            source = _cut(relation.source, joins, most)
            return relation if source is relation.source else replace(relation, source=source)
