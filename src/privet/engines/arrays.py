"""Plain arithmetic over columns of released numbers, in NumPy: what simulated error bars need most, without an engine.

Numbers are doubles and NULL is NaN. Whatever else an expression holds is left to the engine.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from privet.core.expression import Column, Expression, Literal

from .text import INT64

if TYPE_CHECKING:
    from privet.core.pair import Floats

_OPERATIONS = frozenset(("add", "subtract", "multiply", "divide", "negate", "nullif"))


def arithmetic(expression: Expression, table: Mapping[str, Any]) -> Floats | None:
    """Return an expression row by row, as the engine would but for the last digits; None for what is not arithmetic."""
    import numpy as np

    with np.errstate(all="ignore"):
        found = _value(expression, table)
    if found is None:
        return None
    values, _ = found
    return np.broadcast_to(values, next((len(column) for column in table.values()), 1)).astype(np.float64)


def _value(expression: Expression, table: Mapping[str, Any]) -> tuple[Floats, bool] | None:
    """Return the values, and whether they are whole numbers by type, which are NULL beyond 64 bits."""
    import numpy as np

    if isinstance(expression, Column):
        column = table[expression.name]
        kind = column.dtype.kind if type(column) is np.ndarray else ""
        return (_known(column.astype(np.float64)), kind == "i") if kind and kind in "if" else None
    if isinstance(expression, Literal):
        value = expression.value
        if isinstance(value, bool) or not isinstance(value, (int, Fraction)):
            return None
        return np.asarray(float(value)), isinstance(value, int)
    if expression.function not in _OPERATIONS:
        return None
    parts = [_value(argument, table) for argument in expression.arguments]
    if any(part is None for part in parts):
        return None
    (x, whole), *others = [part for part in parts if part is not None]
    if not others:
        return _held(-x, whole)
    ((y, also),) = others
    match expression.function:
        case "add":
            return _held(x + y, whole and also)
        case "subtract":
            return _held(x - y, whole and also)
        case "multiply":
            return _held(x * y, whole and also)
        case "nullif":
            return np.where(x == y, np.nan, x), whole
    return _held(x / y, False)


def _held(values: Floats, whole: bool) -> tuple[Floats, bool]:
    import numpy as np

    return (np.where(np.abs(values) <= INT64[1], values, np.nan) if whole else _known(values)), whole


def _known(values: Floats) -> Floats:
    import numpy as np

    return np.where(np.isfinite(values), values, np.nan)
