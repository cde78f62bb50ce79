"""The values of functions in plain Python, one row at a time: slow and obvious, to compare engines with.

Integers are Python ints within 64 bits, numbers are floats; NULL is None.
"""

from __future__ import annotations

import datetime
import math
import re
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

from privet.core.schema import Kind

from . import normal as dates
from .typed import INT64


def as_kind(kind: Kind | None, value: Any) -> Any:
    """Return a value as a wider kind: a whole number as a number, a date as its midnight."""
    if value is None:
        return None
    if kind == "number" and not isinstance(value, bool):
        return float(value)
    if kind == "timestamp" and not isinstance(value, datetime.datetime):
        return datetime.datetime.combine(value, datetime.time())
    return value


def fit(value: int | None) -> int | None:
    return value if value is not None and INT64[0] <= value <= INT64[1] else None


def finite(compute: Callable[[], float]) -> float | None:
    try:
        value = compute()
    except (ValueError, OverflowError, ZeroDivisionError):
        return None
    return value if isinstance(value, float) and math.isfinite(value) else None


def floor(x: float) -> int | None:
    return fit(math.floor(x)) if math.isfinite(x) else None


Values = Sequence[Any]
Kinds = Sequence[Kind | None]
Evaluate = Callable[[Values, Kinds], Any]


def arithmetic(operation: Callable[[Any, Any], Any]) -> Evaluate:
    def method(values: Values, kinds: Kinds) -> Any:
        x, y = values
        return fit(operation(x, y)) if kinds[0] == "integer" else finite(lambda: operation(x, y))

    return method


def modulo(values: Values, kinds: Kinds) -> Any:
    x, y = values
    if y == 0:
        return None
    if kinds[0] == "integer":
        return int(math.copysign(1, x)) * (abs(x) % abs(y))
    return finite(lambda: math.fmod(x, y))


def divide_whole(values: Values, kinds: Kinds) -> Any:
    x, y = values
    if y == 0:
        return None
    size = abs(x) // abs(y)
    return fit(size if (x < 0) == (y < 0) else -size)


def left_pad(values: Values, kinds: Kinds) -> str:
    x, length, other = values
    return str(x[:length] if len(x) >= length else (other * length)[: length - len(x)] + x)


def right_pad(values: Values, kinds: Kinds) -> str:
    x, length, other = values
    return str((x + other * length)[:length] if len(x) < length else x[:length])


def split_part(values: Values, kinds: Kinds) -> str:
    x, other, place = values
    parts = x.split(other)
    return str(parts[place - 1]) if place <= len(parts) else ""


def make_date(values: Values, kinds: Kinds) -> Any:
    try:
        return datetime.date(*values)
    except (ValueError, OverflowError):
        return None


def rounding(rule: Callable[[float], int | None]) -> Evaluate:
    def method(values: Values, kinds: Kinds) -> Any:
        return values[0] if kinds[0] == "integer" else rule(values[0])

    return method


def round_to(values: Values, kinds: Kinds) -> Any:
    x, digits = float(values[0]), values[1]
    power = float(10 ** abs(digits))
    if digits >= 0:
        return finite(lambda: float(math.floor(x * power + 0.5)) / power)
    return finite(lambda: float(math.floor(x / power + 0.5)) * power)


def case(values: Values, kinds: Kinds) -> Any:
    """Return the value of the first condition that is true, else the last."""
    for condition, value in zip(values[:-1:2], values[1::2], strict=True):
        if condition is True:
            return value
    return values[-1]


def coalesce(values: Values, kinds: Kinds) -> Any:
    return next((value for value in values if value is not None), None)


def nullif(values: Values, kinds: Kinds) -> Any:
    x, y = values
    if x is None or y is None:
        return x
    if set(kinds) == {"date", "timestamp"}:
        return None if as_kind("timestamp", x) == as_kind("timestamp", y) else x
    return None if (float(x) == float(y) if set(kinds) == {"integer", "number"} else x == y) else x


def all_(values: Values, kinds: Kinds) -> Any:
    return False if False in values else None if None in values else True


def any_(values: Values, kinds: Kinds) -> Any:
    return True if True in values else None if None in values else False


def like_tokens(pattern: str, escape: str | None) -> list[str | None]:
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


def like(values: Values, kinds: Kinds) -> bool:
    text, tokens = values[0], like_tokens(values[1], values[2] if len(values) == 3 else None)
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


def simple_case(convert: Callable[[str], str]) -> Evaluate:
    def method(values: Values, kinds: Kinds) -> str:
        # one character becomes one character; the rest stays
        return "".join(new if len(new := convert(old)) == 1 else old for old in values[0])

    return method


def to_integer(values: Values, kinds: Kinds) -> Any:
    x = values[0]
    if kinds[0] == "text":
        match = re.fullmatch(r" *([+-]?[0-9]+) *", x)
        return fit(int(match[1])) if match and len(match[1]) < 4000 else None
    return floor(x + 0.5) if kinds[0] == "number" else int(x)


def to_number(values: Values, kinds: Kinds) -> Any:
    x = values[0]
    if kinds[0] == "text":
        match = re.fullmatch(r" *([+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?) *", x)
        return finite(lambda: float(match[1])) if match else None
    return float(x)


def to_text(values: Values, kinds: Kinds) -> str:
    return str(values[0]).lower() if kinds[0] == "boolean" else str(values[0])


def to_date(values: Values, kinds: Kinds) -> Any:
    x = values[0]
    if kinds[0] == "text":
        return read(x, r"\d{4}-\d{2}-\d{2}", datetime.date.fromisoformat)
    return x.date() if isinstance(x, datetime.datetime) else x


def to_timestamp(values: Values, kinds: Kinds) -> Any:
    x = values[0]
    if kinds[0] == "text":
        return read(x, r"\d{4}-\d{2}-\d{2}( \d{2}:\d{2}:\d{2}(\.\d{1,6})?)?", moment)
    return as_kind("timestamp", x)


def moment(x: str) -> datetime.datetime:
    whole, _, fraction = x.partition(".")
    return datetime.datetime.fromisoformat(f"{whole}.{fraction:0<6}" if fraction else whole)


def read(x: str, pattern: str, reader: Callable[[str], Any]) -> Any:
    if not re.fullmatch(pattern, x, re.ASCII):
        return None
    try:
        return reader(x)
    except ValueError:
        return None


def to_boolean(values: Values, kinds: Kinds) -> Any:
    x = values[0]
    if kinds[0] == "text":
        folded = simple_case(str.lower)([x], kinds)
        return True if folded in ("true", "t", "1") else False if folded in ("false", "f", "0") else None
    return bool(x)


def bin(values: Values, kinds: Kinds) -> Any:
    x, width = values
    if isinstance(width, int):
        steps = x // width if kinds[0] == "integer" else floor(x / float(width))
        return None if steps is None else fit(steps * width)
    return finite(lambda: float(math.floor(float(x) / width)) * width + 0.0)


def bucket(values: Values, kinds: Kinds) -> Any:
    x, low, high, bins = values
    span = float(Fraction(high) - Fraction(low))
    place = (float(x) - float(low)) * float(bins) / span
    if place != place:
        return None
    return int(min(max(math.floor(place) if math.isfinite(place) else place, 0), bins - 1))


def shift(part: str) -> Evaluate:
    return lambda values, kinds: dates.shift(values[0], part, values[1])
