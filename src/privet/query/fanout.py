"""How many rows joins may make of one unit's: bounded before anything is charged, so that no unit exhausts an engine.

A question that takes too long fails, and whether it does must not depend on one person. So each join that may pair
many rows of a unit says how many pairs it makes at most; which they are is chosen by a keyed hash, in the engine.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from math import prod

from privet.core.errors import InvariantError, Unsupported
from privet.core.expression import Expression
from privet.core.relation import Derive, GroupWithin, Join, Rank, Relation, Union
from privet.core.schema import ColumnFacts as Facts
from privet.core.schema import Schema
from privet.core.unit import unit_columns

from .functions import FUNCTIONS, typed
from .shape import equal_sides, is_public, on_key, one_to_meet, schema_of, sides_of
from .typed import LONGEST, Typed, TypedArgument

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
    arguments = [TypedArgument(one, known) for one, (known, _) in zip(expression.arguments, walked, strict=True)]
    known = FUNCTIONS[expression.function].rule(expression.function, arguments)
    return known, _own(expression, arguments) + sum(below for _, below in walked)


def _own(call: Expression, arguments: Sequence[TypedArgument]) -> int:
    plain = _CALL + _ARGUMENT * len(arguments)
    reads = FUNCTIONS[call.function].reads
    if not reads or all(one.typed.kind != "text" for one in arguments):
        return plain
    if call.function == "like":
        pattern = arguments[1].constant
        # a piece between two % that has a _ is tried at every place, sign by sign
        again = len(pattern) if isinstance(pattern, str) and "_" in pattern else 0
        return plain + LONGEST * (1 + again)
    return plain + LONGEST * reads


def _of_tree(relation: Relation, tables: Mapping[str, Schema], known: Mapping[str, Facts] | None = None) -> int:
    """Return the steps for one row through all of a tree; `known` are its own columns, where they are at hand."""
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
            used: list[Expression | None] = [relation.where, *(one for _, one in relation.columns)]
        case GroupWithin():
            used = [relation.where, *(one for _, one in relation.keys)]
            used += [part for one in relation.aggregates for part in (one.argument, one.where)]
        case Rank():
            used = [relation.argument, *relation.partition, *(term.expression for term in relation.order)]
    columns = schema_of(relation.source, tables).columns
    return _of_tree(relation.source, tables) + _ROW + _all(columns, *used)


def _all(columns: Mapping[str, Facts], *several: Expression | None) -> int:
    return sum(steps(one, columns) for one in several if one is not None)


MOST = 10**5
"""This many rows are made of one unit's by all joins of a question together, at most."""

WORK = 10**9
"""This many steps (`effort`) are done for one unit over the rows that joins make, at most."""


def with_cuts(
    relation: Relation, tables: Mapping[str, Schema], expressions: Iterable[Expression | None] = ()
) -> Relation:
    """Return a relation in which each join says how many pairs of one unit's rows it makes, where that must be said.

    `expressions` are what is computed for each row of it afterwards: the dearer they are, the fewer pairs there may be.
    """
    several = [one for one in joins_of(relation) if _multiplies(one, tables)]
    if not several:
        return _cut(relation, several, 0)
    most = min(MOST, WORK // effort(relation, tables, expressions)) // len(several)
    if _least(several, tables) > most:
        raise Unsupported(
            f"these joins could make more than {most:,} rows of one or two rows of a person; join public tables on "
            f"a column that must be equal, declare how many rows they have (PublicTable(..., rows=)), or join fewer "
            f"tables"
        )
    return _cut(relation, several, most)


def check_fanout(relation: Relation, tables: Mapping[str, Schema]) -> None:
    """Raise unless every join that needs it says how many pairs it makes, and they are no more than allowed.

    Guarantee: all joins together make at most `MOST` rows of a unit's, beside those that meet no more than one other,
    whatever the tables hold, if keys and links lead to one row each.
    """
    several = [one for one in joins_of(relation) if _multiplies(one, tables)]
    for one in several:
        if one.most is None or not 1 <= one.most <= MOST // len(several):
            raise InvariantError("a join does not say how many pairs of a person's rows it makes, or too many")


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


def _least(several: list[Join], tables: Mapping[str, Schema]) -> int:
    """Return how many rows are made of one row by public tables, or of two rows of each private one.

    Where nothing must be equal, a row meets all rows of a public table.
    """
    sides = [(one, *sides_of(one, tables)) for one in several]
    spread = [one for one in sides if _spreads(*one)]
    whole = [right.rows for one, left, right in spread if not list(equal_sides(one, left))]
    many = len(several) - len(spread)
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


def _cut(relation: Relation, several: Sequence[Join], most: int) -> Relation:
    """Return a relation in which those joins, and no others, say how many pairs they make."""
    match relation:
        case str():
            return relation
        case Join(left=left, right=right):
            made = replace(relation, left=_cut(left, several, most), right=_cut(right, several, most))
            return replace(made, most=most if relation in several else None)
        case Union(sources=sources):
            return replace(relation, sources=tuple(_cut(source, several, most) for source in sources))
        case _:
            return replace(relation, source=_cut(relation.source, several, most))
