"""Applies the table of functions to a whole expression: its facts, the columns that it reads, its value for a row.

Facts are also those in rows of which conditions are true: of x by WHERE x > 10 AND x < 50, or of a CASE by its
WHEN. Such implied bounds choose where a value is clamped, in the engine, before it counts, and the scale of the
noise; nothing relies on rows having met a condition. They are true for rows that do, which keeps the clamp from moving
an answer: so each is implied by its condition being true, where a comparison with NULL is not.
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any

from privet.core.errors import UnknownName, Unsupported, WrongKind, arguments_in_words
from privet.core.relation import ColumnRef, Expression, Literal
from privet.core.schema import ColumnFacts as Facts

from . import evaluation as python
from .functions import FUNCTIONS
from .nodes import GROUPING
from .normal import spelled
from .typed import INT64, Typed, TypedArgument, hull, of_column, of_literal, unify


def typed(expression: Expression, columns: Mapping[str, Facts]) -> Typed:
    """Return the kind, nullability and interval of an expression, as engines compute it, from declared facts alone.

    Every bounded column is taken to be clamped to its bounds. Raises a `RequestError` that names the kinds a function
    takes.
    """
    if expression.is_constant:
        return of_literal(expression.constant)
    if expression.column is not None:
        if expression.column not in columns:
            raise UnknownName("column", expression.column, columns)
        return of_column(columns[expression.column])
    function = FUNCTIONS.get(expression.function)
    if expression.function == GROUPING:
        raise Unsupported(
            "GROUPING(...) tells levels apart, in the outermost SELECT list, HAVING or ORDER BY; a row has none"
        )
    if function is None:
        raise UnknownName("function", expression.function, FUNCTIONS)
    if not function.least <= len(expression.arguments) <= function.most:
        raise WrongKind(spelled(function.name), function.takes, (arguments_in_words(len(expression.arguments)),))
    arguments = [TypedArgument(argument, typed(argument, columns)) for argument in expression.arguments]
    return function.rule(function.name, arguments)


def evaluate_row(expression: Expression, row: Mapping[str, Any], columns: Mapping[str, Facts]) -> Any:
    """Return the value of an expression for one row whose values already satisfy the declared facts."""
    return prepared(expression, columns)(row)


def prepared(expression: Expression, columns: Mapping[str, Facts]) -> Callable[[Mapping[str, Any]], Any]:
    """Return how to compute an expression for a row, with its kinds looked up once."""
    match expression:
        case Literal(value=said):
            constant = literal(said)
            return lambda row: constant
        case ColumnRef(name=name):
            return lambda row: row[name]
    inner = [prepared(argument, columns) for argument in expression.arguments]
    facts = [typed(argument, columns) for argument in expression.arguments]
    kinds = [fact.kind for fact in facts]
    function = FUNCTIONS[expression.function]
    chosen = function.name in ("case", "coalesce")
    kind = None
    if chosen:
        kind = unify(function.name, [*facts[1::2], facts[-1]] if function.name == "case" else facts)
    elif function.one_kind:
        kind = unify(function.name, facts)

    def value(row: Mapping[str, Any]) -> Any:
        values = [compute(row) for compute in inner]
        if not function.sees_null and any(item is None for item in values):
            return None
        if chosen:
            return python.as_kind(kind, function.value(values, kinds))
        if function.one_kind:
            return function.value([python.as_kind(kind, item) for item in values], [kind] * len(values))
        return function.value(values, kinds)

    return value


def literal(value: Any) -> Any:
    """Return a constant as a value: exact decimals become the nearest double."""
    if isinstance(value, Fraction):
        try:
            return float(value)
        except OverflowError:
            return None
    if type(value) is int and not INT64[0] <= value <= INT64[1]:
        raise Unsupported("a whole number must fit into 64 bits; write a decimal, such as 1e30")
    return value


def mentions(expression: Expression) -> frozenset[str]:
    """Return the names of the columns that an expression reads."""
    if expression.column is not None:
        return frozenset((expression.column,))
    return frozenset().union(*map(mentions, expression.arguments))


Ends = tuple[Any, Any]
"""The least and the largest value; None where nothing bounds it."""

_FLIPPED = {
    "less": "greater_equal",
    "less_equal": "greater",
    "greater": "less_equal",
    "greater_equal": "less",
    "not_equal": "equal",
}
"""The comparison that is true where another is not, for a value that is not NULL."""


def typed_where(expression: Expression, columns: Mapping[str, Facts], conditions: Iterable[Expression | None]) -> Typed:
    """Return the facts of an expression in rows for which all conditions are true.

    Guarantee: where they are, and columns keep to their facts, the value is NULL or within what is returned.
    """
    known = dict(columns)
    ends: dict[Expression, Ends] = {}
    for condition in conditions:
        if condition is not None:
            ends = _both(ends, _implied(condition, true=True))
    for compared, (low, high) in ends.items():
        if compared.column is not None and compared.column in known:
            known[compared.column] = _narrowed(known[compared.column], low, high)
    made = _typed(expression, known)
    if expression in ends and expression.column is None and made.kind in ("integer", "number"):
        low, high = _within((made.low, made.high), ends[expression])
        made = replace(made, low=low, high=high)
    return made


def _typed(expression: Expression, columns: Mapping[str, Facts]) -> Typed:
    """Return the facts of an expression; of a CASE, from its values where the conditions before them are true."""
    if expression.function != "case":
        return typed(expression, columns)
    made, arguments = typed(expression, columns), expression.arguments
    values = [typed_where(part, columns, (when,)) for when, part in zip(arguments[:-1:2], arguments[1::2], strict=True)]
    whole = hull("CASE", [*values, typed_where(arguments[-1], columns, ())])
    return replace(made, low=whole.low, high=whole.high) if made.kind in ("integer", "number") else made


def _implied(condition: Expression, *, true: bool) -> dict[Expression, Ends]:
    """Return the bounds of expressions that a condition compares with constants, where it is true, or false."""
    function, arguments = condition.function, condition.arguments
    if function == "not":
        return _implied(arguments[0], true=not true)
    if function in ("and", "or"):
        parts = [_implied(argument, true=true) for argument in arguments]
        ends = parts[0]
        for other in parts[1:]:
            ends = _both(ends, other) if (function == "and") == true else _either(ends, other)
        return ends
    name = function if true else _FLIPPED.get(function, "")
    constants = [_number(argument) for argument in arguments[1:]]
    if not constants or any(constant is None for constant in constants) or arguments[0].is_constant:
        return {}
    low, high = min(constants), max(constants)
    match name:
        case "equal" | "in":
            return {arguments[0]: (low, high)}
        case "less" | "less_equal":
            return {arguments[0]: (None, high)}
        case "greater" | "greater_equal":
            return {arguments[0]: (low, None)}
    return {}


def _number(expression: Expression) -> Any:
    """Return a constant that bounds the value compared with it: a number, or a moment; None for any other."""
    value = expression.constant
    if isinstance(value, bool) or not isinstance(value, (int, Fraction, datetime.date)):
        return None
    return Fraction(value) if isinstance(value, (int, Fraction)) else value


def _both(first: Mapping[Expression, Ends], other: Mapping[Expression, Ends]) -> dict[Expression, Ends]:
    both = dict(first)
    for compared, ends in other.items():
        both[compared] = _within(both[compared], ends) if compared in both else ends
    return both


def _either(first: Mapping[Expression, Ends], other: Mapping[Expression, Ends]) -> dict[Expression, Ends]:
    either: dict[Expression, Ends] = {}
    for compared in first.keys() & other.keys():
        (low, high), (bottom, top) = first[compared], other[compared]
        if _alike(low, bottom) and _alike(high, top):
            least = None if low is None or bottom is None else min(low, bottom)
            most = None if high is None or top is None else max(high, top)
            either[compared] = (least, most)
    return either


def _within(first: Ends, other: Ends) -> Ends:
    """Return the intersection of two pairs of ends; the first, where it is empty or they are not alike."""
    low, high = first
    if not (_alike(low, other[0]) and _alike(high, other[1])):
        return first
    low = other[0] if low is None else low if other[0] is None else max(low, other[0])
    high = other[1] if high is None else high if other[1] is None else min(high, other[1])
    return (low, high) if low is None or high is None or low <= high else first


def _alike(first: Any, other: Any) -> bool:
    return first is None or other is None or type(first) is type(other)


def _narrowed(facts: Facts, low: Any, high: Any) -> Facts:
    """Return the facts of a column with the bounds that conditions imply; as they were where these have no sides."""
    if facts.kind in ("text", "boolean") or facts.values is not None:
        return facts
    ends = (_as_kind(facts, low, up=False), _as_kind(facts, high, up=True))
    bottom, top = _within((facts.low, facts.high), ends)
    if bottom is None or top is None or bottom > top:
        return facts
    return replace(facts, low=bottom, high=top)


def _as_kind(facts: Facts, end: Any, *, up: bool) -> Any:
    """Return an end as a column of its kind has it, no further inside; None where that is another kind."""
    match facts.kind, end:
        case "integer", Fraction():
            return Fraction(math.floor(end) if up else math.ceil(end))
        case "number", Fraction():
            return end if facts.step is None or facts.low is None else _on_grid(end, facts.low, facts.step, up=up)
        case "date", datetime.datetime():
            return None
        case "date", datetime.date():
            return end
        case "timestamp", datetime.datetime():
            return end
        case "timestamp", datetime.date():
            return datetime.datetime.combine(end, datetime.time())
    return None


def _on_grid(end: Fraction, start: Any, step: Fraction, *, up: bool) -> Fraction:
    """Return the next point of a declared grid, no further inside, so that points of the grid stay there."""
    places = (end - start) / step
    return Fraction(start + (math.ceil(places) if up else math.floor(places)) * step)
