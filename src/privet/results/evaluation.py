"""The closed list of functions in plain Python, one row at a time: slow and obvious, to hold engines against.

Integers are Python ints within 64 bits, numbers are floats; NULL is None.
"""

from __future__ import annotations

import datetime
import math
import re
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any

from privet.core.errors import InvariantError, Unsupported
from privet.core.expression import Call, ColumnRef, Expression, Literal
from privet.core.schema import ColumnFacts as Facts
from privet.core.schema import Kind
from privet.query import dates
from privet.query.functions import LONGEST, typed
from privet.query.typed import unify

_INT64 = (-(2**63), 2**63 - 1)
_SEES_NULL = frozenset(("is_null", "not", "and", "or", "case", "coalesce", "nullif", "least", "greatest"))


def evaluate_row(expression: Expression, row: Mapping[str, Any], columns: Mapping[str, Facts]) -> Any:
    """Return the value of an expression for one row whose values already keep to the declared facts."""
    if isinstance(expression, Literal):
        return literal(expression.value)
    if isinstance(expression, ColumnRef):
        return row[expression.name]
    if not isinstance(expression, Call):
        raise InvariantError("an expression is a column, a literal or a call")
    values = [evaluate_row(argument, row, columns) for argument in expression.arguments]
    facts = [typed(argument, columns) for argument in expression.arguments]
    kinds = [fact.kind for fact in facts]
    if expression.function not in _SEES_NULL and any(value is None for value in values):
        return None
    if expression.function in ("case", "coalesce"):
        branches = [*facts[1::2], facts[-1]] if expression.function == "case" else facts
        kind = unify(expression.function, branches)
        if expression.function == "case":
            return as_kind(kind, _case(values))
        return as_kind(kind, next((value for value in values if value is not None), None))
    if expression.function in _COMMON:
        kind = unify(expression.function, facts)
        values, kinds = [as_kind(kind, value) for value in values], [kind] * len(values)
    return _FUNCTIONS[expression.function](values, kinds)


def literal(value: Any) -> Any:
    """Return a constant as a value: exact decimals become the nearest double."""
    if isinstance(value, Fraction):
        try:
            return float(value)
        except OverflowError:
            return None
    if isinstance(value, int) and not isinstance(value, bool) and not _INT64[0] <= value <= _INT64[1]:
        raise Unsupported("a whole number must fit into 64 bits; write a decimal, such as 1e30")
    return value


def as_kind(kind: Kind | None, value: Any) -> Any:
    """Return a value as a wider kind: a whole number as a number, a date as its midnight."""
    if value is None:
        return None
    if kind == "number" and not isinstance(value, bool):
        return float(value)
    if kind == "timestamp" and not isinstance(value, datetime.datetime):
        return datetime.datetime.combine(value, datetime.time())
    return value


def _fit(value: int | None) -> int | None:
    return value if value is not None and _INT64[0] <= value <= _INT64[1] else None


def _finite(compute: Callable[[], float]) -> float | None:
    try:
        value = compute()
    except (ValueError, OverflowError, ZeroDivisionError):
        return None
    return value if isinstance(value, float) and math.isfinite(value) else None


def _floor(x: float) -> int | None:
    return _fit(math.floor(x)) if math.isfinite(x) else None


Values = Sequence[Any]
Kinds = Sequence[Kind | None]
Method = Callable[[Values, Kinds], Any]


def _arithmetic(operation: Callable[[Any, Any], Any]) -> Method:
    def method(values: Values, kinds: Kinds) -> Any:
        x, y = values
        return _fit(operation(x, y)) if kinds[0] == "integer" else _finite(lambda: operation(x, y))

    return method


def _modulo(values: Values, kinds: Kinds) -> Any:
    x, y = values
    if y == 0:
        return None
    if kinds[0] == "integer":
        return int(math.copysign(1, x)) * (abs(x) % abs(y))
    return _finite(lambda: math.fmod(x, y))


def _rounding(rule: Callable[[float], int | None]) -> Method:
    def method(values: Values, kinds: Kinds) -> Any:
        return values[0] if kinds[0] == "integer" else rule(values[0])

    return method


def _round_to(values: Values, kinds: Kinds) -> Any:
    x, digits = float(values[0]), values[1]
    power = float(10 ** abs(digits))
    if digits >= 0:
        return _finite(lambda: float(math.floor(x * power + 0.5)) / power)
    return _finite(lambda: float(math.floor(x / power + 0.5)) * power)


def _case(values: Values) -> Any:
    for condition, value in zip(values[:-1:2], values[1::2], strict=True):
        if condition is True:
            return value
    return values[-1]


def _nullif(values: Values, kinds: Kinds) -> Any:
    x, y = values
    if x is None or y is None:
        return x
    if set(kinds) == {"date", "timestamp"}:
        return None if as_kind("timestamp", x) == as_kind("timestamp", y) else x
    return None if (float(x) == float(y) if set(kinds) == {"integer", "number"} else x == y) else x


def _all(values: Values, kinds: Kinds) -> Any:
    return False if False in values else None if None in values else True


def _any(values: Values, kinds: Kinds) -> Any:
    return True if True in values else None if None in values else False


def _tokens(pattern: str, escape: str | None) -> list[str | None]:
    """Return a LIKE pattern as characters, "" for any one character and None for any text."""
    tokens: list[str | None] = []
    position = 0
    while position < len(pattern):
        character = pattern[position]
        if character == escape:
            position += 1
            tokens.append(pattern[position])
        else:
            tokens.append({"%": None, "_": ""}.get(character, character))
        position += 1
    return tokens


def _like(values: Values, kinds: Kinds) -> bool:
    text, tokens = values[0], _tokens(values[1], values[2] if len(values) == 3 else None)
    at = place = retry = 0
    star = -1
    while at < len(text):
        if place < len(tokens) and tokens[place] is None:
            star, retry, place = place, at, place + 1
        elif place < len(tokens) and tokens[place] in ("", text[at]):
            at, place = at + 1, place + 1
        elif star >= 0:  # let the last % take one character more
            retry += 1
            at, place = retry, star + 1
        else:
            return False
    return all(token is None for token in tokens[place:])


def _simple_case(convert: Callable[[str], str]) -> Method:
    def method(values: Values, kinds: Kinds) -> str:
        # one character becomes one character; the rest stays
        return "".join(new if len(new := convert(old)) == 1 else old for old in values[0])

    return method


def _to_integer(values: Values, kinds: Kinds) -> Any:
    x = values[0]
    if kinds[0] == "text":
        found = re.fullmatch(r" *([+-]?[0-9]+) *", x)
        return _fit(int(found[1])) if found and len(found[1]) < 4000 else None
    return _floor(x + 0.5) if kinds[0] == "number" else int(x)


def _to_number(values: Values, kinds: Kinds) -> Any:
    x = values[0]
    if kinds[0] == "text":
        found = re.fullmatch(r" *([+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?) *", x)
        return _finite(lambda: float(found[1])) if found else None
    return float(x)


def _to_text(values: Values, kinds: Kinds) -> str:
    return str(values[0]).lower() if kinds[0] == "boolean" else str(values[0])


def _to_date(values: Values, kinds: Kinds) -> Any:
    x = values[0]
    if kinds[0] == "text":
        return _read(x, r"\d{4}-\d{2}-\d{2}", datetime.date.fromisoformat)
    return x.date() if isinstance(x, datetime.datetime) else x


def _to_timestamp(values: Values, kinds: Kinds) -> Any:
    x = values[0]
    if kinds[0] == "text":
        return _read(x, r"\d{4}-\d{2}-\d{2}( \d{2}:\d{2}:\d{2}(\.\d{1,6})?)?", _moment)
    return as_kind("timestamp", x)


def _moment(x: str) -> datetime.datetime:
    whole, _, fraction = x.partition(".")
    return datetime.datetime.fromisoformat(f"{whole}.{fraction:0<6}" if fraction else whole)


def _read(x: str, pattern: str, reader: Callable[[str], Any]) -> Any:
    if not re.fullmatch(pattern, x, re.ASCII):
        return None
    try:
        return reader(x)
    except ValueError:
        return None


def _to_boolean(values: Values, kinds: Kinds) -> Any:
    x = values[0]
    if kinds[0] == "text":
        folded = _simple_case(str.lower)([x], kinds)
        return True if folded in ("true", "t", "1") else False if folded in ("false", "f", "0") else None
    return bool(x)


def _bin(values: Values, kinds: Kinds) -> Any:
    x, width = values
    if isinstance(width, int):
        steps = x // width if kinds[0] == "integer" else _floor(x / float(width))
        return None if steps is None else _fit(steps * width)
    return _finite(lambda: float(math.floor(float(x) / width)) * width + 0.0)


def _bucket(values: Values, kinds: Kinds) -> Any:
    x, low, high, bins = values
    span = float(Fraction(high) - Fraction(low))
    place = (float(x) - float(low)) * float(bins) / span
    if place != place:
        return None
    return int(min(max(math.floor(place) if math.isfinite(place) else place, 0), bins - 1))


def _shift(part: str) -> Method:
    return lambda values, kinds: dates.shift(values[0], part, values[1])


_COMMON = frozenset(
    (
        "add",
        "subtract",
        "multiply",
        "modulo",
        "least",
        "greatest",
        "equal",
        "not_equal",
        "less",
        "less_equal",
        "greater",
        "greater_equal",
        "in",
    )
)
"""Functions whose arguments are first made one kind."""

_FUNCTIONS: Mapping[str, Method] = {
    "add": _arithmetic(lambda x, y: x + y),
    "subtract": _arithmetic(lambda x, y: x - y),
    "multiply": _arithmetic(lambda x, y: x * y),
    "divide": lambda values, kinds: _finite(lambda: float(values[0]) / float(values[1])),
    "modulo": _modulo,
    "negate": lambda values, kinds: _fit(-values[0]) if kinds[0] == "integer" else -values[0],
    "abs": lambda values, kinds: _fit(abs(values[0])) if kinds[0] == "integer" else abs(values[0]),
    "floor": _rounding(_floor),
    "ceil": _rounding(lambda x: _fit(math.ceil(x)) if math.isfinite(x) else None),
    "round": _rounding(lambda x: _floor(x + 0.5)),
    "round_to": _round_to,
    "sign": lambda values, kinds: (values[0] > 0) - (values[0] < 0),
    "sqrt": lambda values, kinds: _finite(lambda: math.sqrt(values[0])),
    "ln": lambda values, kinds: _finite(lambda: math.log(float(values[0]))),
    "exp": lambda values, kinds: _finite(lambda: math.exp(values[0])),
    "power": lambda values, kinds: _finite(lambda: math.pow(values[0], values[1])),
    "least": lambda values, kinds: min((one for one in values if one is not None), default=None),
    "greatest": lambda values, kinds: max((one for one in values if one is not None), default=None),
    "equal": lambda values, kinds: values[0] == values[1],
    "not_equal": lambda values, kinds: values[0] != values[1],
    "less": lambda values, kinds: values[0] < values[1],
    "less_equal": lambda values, kinds: values[0] <= values[1],
    "greater": lambda values, kinds: values[0] > values[1],
    "greater_equal": lambda values, kinds: values[0] >= values[1],
    "is_null": lambda values, kinds: values[0] is None,
    "not": lambda values, kinds: None if values[0] is None else not values[0],
    "and": _all,
    "or": _any,
    "in": lambda values, kinds: values[0] in values[1:],
    "like": _like,
    "lower": _simple_case(str.lower),
    "upper": _simple_case(str.upper),
    "length": lambda values, kinds: len(values[0]),
    "trim": lambda values, kinds: values[0].strip(" "),
    "substring": lambda values, kinds: values[0][values[1] - 1 : values[1] - 1 + values[2]],
    "starts_with": lambda values, kinds: values[0].startswith(values[1]),
    "contains": lambda values, kinds: values[1] in values[0],
    "concat": lambda values, kinds: "".join(value[:LONGEST] for value in values)[:LONGEST],
    "nullif": _nullif,
    "to_integer": _to_integer,
    "to_number": _to_number,
    "to_text": _to_text,
    "to_date": _to_date,
    "to_timestamp": _to_timestamp,
    "to_boolean": _to_boolean,
    "year": lambda values, kinds: values[0].year,
    "quarter": lambda values, kinds: (values[0].month + 2) // 3,
    "month": lambda values, kinds: values[0].month,
    "week": lambda values, kinds: values[0].isocalendar()[1],
    "day": lambda values, kinds: values[0].day,
    "day_of_week": lambda values, kinds: values[0].isoweekday(),
    "day_of_year": lambda values, kinds: values[0].timetuple().tm_yday,
    "hour": lambda values, kinds: values[0].hour,
    "minute": lambda values, kinds: values[0].minute,
    "second": lambda values, kinds: values[0].second,
    "date_trunc": lambda values, kinds: dates.truncate(values[1], values[0]),
    "date_diff": lambda values, kinds: dates.difference(values[0], values[1], values[2]),
    "add_days": _shift("day"),
    "add_months": _shift("month"),
    "add_seconds": _shift("second"),
    "bin": _bin,
    "bucket": _bucket,
}
