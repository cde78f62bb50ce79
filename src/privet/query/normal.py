"""One form for expressions that mean the same by their order alone, and their text as SQL.

Nested and/or are flat and sorted, constants stand right in comparisons, lists of constants are sorted and without
repeats, and what is computed from constants alone is the constant that it is. Nothing else is folded.
"""

from __future__ import annotations

import datetime
from fractions import Fraction

from privet.core.expression import Call, Column, Expression, Literal, Value

from .constants import decimal, folded

MIRROR = {
    "equal": "equal",
    "not_equal": "not_equal",
    "less": "greater",
    "less_equal": "greater_equal",
    "greater": "less",
    "greater_equal": "less_equal",
}
_INFIX = {
    "add": "+",
    "subtract": "-",
    "multiply": "*",
    "divide": "/",
    "modulo": "%",
    "equal": "=",
    "not_equal": "<>",
    "less": "<",
    "less_equal": "<=",
    "greater": ">",
    "greater_equal": ">=",
    "and": "AND",
    "or": "OR",
    "concat": "||",
}
_CASTS = {
    "to_integer": "BIGINT",
    "to_number": "DOUBLE",
    "to_text": "VARCHAR",
    "to_date": "DATE",
    "to_timestamp": "TIMESTAMP",
    "to_boolean": "BOOLEAN",
}
_UNITS = {"add_days": "DAY", "add_months": "MONTH", "add_seconds": "SECOND"}
_SPELLED = {"round_to": "ROUND", "day_of_week": "ISODOW", "day_of_year": "DAYOFYEAR"}


def call(function: str, *arguments: Expression) -> Expression:
    """Return a function applied to expressions that are in the one form, in the one form."""
    if function in {"and", "or"}:
        flat: list[Expression] = []
        for argument in arguments:
            nested = isinstance(argument, Call) and argument.function == function
            flat.extend(argument.arguments if isinstance(argument, Call) and nested else (argument,))
        return flat[0] if len(flat) == 1 else Call(function, tuple(sorted(flat, key=text)))
    if not arguments:
        return Call(function, ())
    constants = [isinstance(argument, Literal) for argument in arguments]
    if function in MIRROR and constants == [True, False]:
        return Call(MIRROR[function], (arguments[1], arguments[0]))
    if function == "in":
        return Call(function, (arguments[0], *sorted(dict.fromkeys(arguments[1:]), key=text)))
    return folded(function, arguments) or Call(function, arguments)


def conjunction(*conditions: Expression | None) -> Expression | None:
    """Return the conditions that are given, joined by and; None if there are none."""
    given = [condition for condition in conditions if condition is not None]
    return call("and", *given) if given else None


def text(expression: Expression) -> str:
    """Return an expression as SQL that reads back as the same expression."""
    if isinstance(expression, Column):
        return quote_name(expression.name)
    if isinstance(expression, Literal):
        return _constant(expression.value)
    name, parts = expression.function, [text(argument) for argument in expression.arguments]
    if name in _INFIX:
        return f"({f' {_INFIX[name]} '.join(parts)})"
    if name in _CASTS:
        return f"CAST({parts[0]} AS {_CASTS[name]})"
    if name in _UNITS:
        return f"({parts[0]} + INTERVAL ({parts[1]}) {_UNITS[name]})"
    if name == "case":
        whens = "".join(f" WHEN {parts[i]} THEN {parts[i + 1]}" for i in range(0, len(parts) - 1, 2))
        return f"CASE{whens} ELSE {parts[-1]} END"
    if name == "in":
        return f"({parts[0]} IN ({', '.join(parts[1:])}))"
    if name == "like":
        escape = f" ESCAPE {parts[2]}" if len(parts) == 3 else ""
        return f"({parts[0]} LIKE {parts[1]}{escape})"
    if name in {"not", "negate", "is_null"}:
        return {"not": f"(NOT {parts[0]})", "negate": f"(- {parts[0]})"}.get(name, f"({parts[0]} IS NULL)")
    return f"{_SPELLED.get(name, name.upper())}({', '.join(parts)})"


def spelled(function: str) -> str:
    """Return a function as SQL spells it, for messages."""
    if function in _CASTS:
        return f"CAST to {_CASTS[function]}"
    if function in _UNITS:
        return f"+ INTERVAL ... {_UNITS[function]}"
    words = {"negate": "-", "is_null": "IS NULL", **_INFIX, **_SPELLED}
    return words.get(function, function.upper())


def quote_name(name: str) -> str:
    """Return a name as SQL reads it whatever it holds: quoted."""
    return '"' + name.replace('"', '""') + '"'


def _constant(value: Value) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, Fraction):
        return _decimal(value)
    if isinstance(value, datetime.datetime):
        return f"TIMESTAMP '{value.isoformat(sep=' ')}'"
    if isinstance(value, datetime.date):
        return f"DATE '{value.isoformat()}'"
    return "'" + value.replace("'", "''") + "'"


def _decimal(value: Fraction) -> str:
    # where no decimal says it exactly, a quotient does, which is read back as one constant
    return decimal(value) or f"({value.numerator}.0 / {value.denominator}.0)"
