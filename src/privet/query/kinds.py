"""Values of different kinds side by side: booleans, numbers and texts are compared as one of them.

A boolean beside a number is 0 or 1. A text beside a number is read as a number, beside a boolean as a boolean, beside
a date as a date, where one of them is a constant: two columns of different kinds are a slip more often than not, and
refused. A constant that cannot be read is refused; in a column such a text is NULL, as in a cast.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from privet.core.errors import RequestError
from privet.core.expression import Expression, Literal
from privet.core.schema import ColumnFacts as Facts

from .functions import typed
from .normal import call, folded

_NUMBERS = frozenset({"integer", "number"})
_TRUE = frozenset({"true", "t", "yes", "y", "1", "on"})
_FALSE = frozenset({"false", "f", "no", "n", "0", "off"})

CONDITIONS = frozenset(
    {"equal", "not_equal", "less", "less_equal", "greater", "greater_equal", "is_null", "not", "and", "or", "in"}
    | {"like", "starts_with", "ends_with", "contains", "to_boolean"}
)
"""Functions that give booleans, whatever their arguments are."""


def side_by_side(arguments: Sequence[Expression], columns: Mapping[str, Facts]) -> list[Expression]:
    """Return values that are compared with each other, as values of one kind where that can be."""
    kinds = [None if one == Literal(None) else typed(one, columns).kind for one in arguments]
    several = {kind for kind in kinds if kind is not None}
    if len(several) < 2 or ("text" in several and not any(isinstance(one, Literal) for one in arguments)):
        return list(arguments)
    if several == {"boolean", "text"}:
        return [_as_boolean(one, kind) for one, kind in zip(arguments, kinds, strict=True)]
    if "boolean" in several and several <= _NUMBERS | {"boolean"}:
        return [as_number(one, kind) for one, kind in zip(arguments, kinds, strict=True)]
    if "text" in several and several <= _NUMBERS | {"text"}:
        return [_read_number(one, kind) for one, kind in zip(arguments, kinds, strict=True)]
    if "text" in several and several <= {"text", "date", "timestamp"}:
        read = "to_timestamp" if "timestamp" in several else "to_date"
        return [
            call(read, one) if kind == "text" and not isinstance(one, Literal) else one
            for one, kind in zip(arguments, kinds, strict=True)
        ]
    return list(arguments)


def as_condition(expression: Expression, columns: Mapping[str, Facts]) -> Expression:
    """Return a number as the condition that it is not 0; what is a condition stays one."""
    if expression.function in CONDITIONS or ":" in expression.function:
        return expression
    if isinstance(expression, Literal) and type(expression.value) is int:
        return Literal(expression.value != 0)
    return call("not_equal", expression, Literal(0)) if typed(expression, columns).kind in _NUMBERS else expression


def as_number(expression: Expression, kind: str | None) -> Expression:
    """Return a boolean as 0 or 1; anything else stays what it is."""
    if kind != "boolean":
        return expression
    if isinstance(expression, Literal):
        return Literal(int(expression.value is True))
    return call("to_integer", expression)


def _as_boolean(expression: Expression, kind: str | None) -> Expression:
    if kind != "text":
        return expression
    said = expression.constant
    if not isinstance(said, str):
        return call("to_boolean", expression)
    word = said.strip().lower()
    if word not in _TRUE | _FALSE:
        raise RequestError(f"{said[:40]!r} is neither true nor false; write TRUE or FALSE")
    return Literal(word in _TRUE)


def _read_number(expression: Expression, kind: str | None) -> Expression:
    if kind != "text":
        return expression
    if not isinstance(expression.constant, str):
        return call("to_number", expression)
    found = folded("to_integer", [expression]) or folded("to_number", [expression])
    if found is None:
        raise RequestError(f"{expression.constant[:40]!r} is not a number, and stands beside one; write a number")
    return found
