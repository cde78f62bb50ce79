"""How much work a question is for each row, from its text and from declared facts: an upper estimate, never measured.

A step is about ten nanoseconds on one core. Functions of texts take as many as the longest text has characters.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from privet.core.expression import Call, Expression
from privet.core.relation import Derive, Group, Join, Rank, Relation, Union
from privet.core.schema import Column as Facts
from privet.core.schema import Schema

from .functions import FUNCTIONS, LONGEST, typed
from .shape import schema_of
from .typed import Argument, Typed

_ROW = 100
"""Steps for a row to pass one step of a relation."""

_WIDE = LONGEST // 10
"""Steps for a row to carry one text through a join."""

_CALL, _ARGUMENT = 20, 10

_READS = 5
"""How many times a conversion reads a text."""

_COMPARES = frozenset(
    (
        *("equal", "not_equal", "less", "less_equal", "greater", "greater_equal", "in"),
        *("is_null", "case", "coalesce", "nullif", "and", "or", "not"),
    )
)
"""What looks at no more than the first difference of two texts, or at neither."""


def effort(relation: Relation, tables: Mapping[str, Schema], expressions: Iterable[Expression | None] = ()) -> int:
    """Return the steps for one row of a relation: through all of its tree, and through expressions over its columns."""
    columns = schema_of(relation, tables).columns
    return _of_tree(relation, tables) + sum(steps(one, columns) for one in expressions if one is not None)


def steps(expression: Expression, columns: Mapping[str, Facts]) -> int:
    """Return the steps in which an expression is computed for a row, at most."""
    return _walked(expression, columns)[1]


def _walked(expression: Expression, columns: Mapping[str, Facts]) -> tuple[Typed, int]:
    """Return the facts of an expression, and its steps; each part is visited once."""
    if not isinstance(expression, Call):
        return typed(expression, columns), 0
    walked = [_walked(argument, columns) for argument in expression.arguments]
    arguments = [Argument(one, known) for one, (known, _) in zip(expression.arguments, walked, strict=True)]
    known = FUNCTIONS[expression.function].rule(expression.function, arguments)
    return known, _own(expression, arguments) + sum(below for _, below in walked)


def _own(call: Call, arguments: Sequence[Argument]) -> int:
    plain = _CALL + _ARGUMENT * len(arguments)
    if call.function in _COMPARES or all(one.typed.kind != "text" for one in arguments):
        return plain
    if call.function == "like":
        pattern = arguments[1].constant
        # a piece between two % that has a _ is tried at every place, sign by sign
        again = len(pattern) if isinstance(pattern, str) and "_" in pattern else 0
        return plain + LONGEST * (1 + again)
    return plain + LONGEST * (_READS if call.function.startswith("to_") else 1)


def _of_tree(relation: Relation, tables: Mapping[str, Schema]) -> int:
    match relation:
        case str():
            return _ROW
        case Join(left=left, right=right):
            columns = schema_of(relation, tables).columns
            texts = sum(column.kind == "text" for column in columns.values())
            below = _of_tree(left, tables) + _of_tree(right, tables)
            return below + _ROW + _WIDE * texts + _all(columns, relation.on)
        case Union(sources=sources):
            return _ROW + sum(_of_tree(source, tables) for source in sources)
        case Derive():
            used: list[Expression | None] = [relation.where, *(one for _, one in relation.columns)]
        case Group():
            used = [relation.where, *(one for _, one in relation.keys)]
            used += [part for one in relation.aggregates for part in (one.argument, one.where)]
        case Rank():
            used = [relation.argument, *relation.partition, *(term.expression for term in relation.order)]
    columns = schema_of(relation.source, tables).columns
    return _of_tree(relation.source, tables) + _ROW + _all(columns, *used)


def _all(columns: Mapping[str, Facts], *several: Expression | None) -> int:
    return sum(steps(one, columns) for one in several if one is not None)
