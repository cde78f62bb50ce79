"""One form for expressions that mean the same by their order alone, and their text as SQL.

Nested and/or are flat and sorted, constants are on the right in comparisons, lists of constants are sorted and without
repeats, and expressions of constants alone are folded to a constant. Nothing else is folded.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import lru_cache
from math import ceil, floor, isqrt, trunc
from typing import Any

from privet.core.relation import Call, Expression, Literal, Value

# Dates and times in expressions: truncation, differences and shifts, with the calendar of ISO 8601.
#
# Used for the public bounds of an expression; engines compute the same on private values.


DATE_PARTS = ("day", "week", "month", "quarter", "year")
TIME_PARTS = ("second", "minute", "hour")
Moment = datetime.date | datetime.datetime


def truncate(moment: Moment, part: str) -> Moment:
    """Return the start of the second, minute, hour, day, week, month, quarter or year that contains a moment."""
    day = datetime.date(moment.year, moment.month, moment.day)
    if part == "week":
        day -= datetime.timedelta(days=day.weekday())
    elif part == "month":
        day = day.replace(day=1)
    elif part == "quarter":
        day = day.replace(month=(day.month - 1) // 3 * 3 + 1, day=1)
    elif part == "year":
        day = day.replace(month=1, day=1)
    if not isinstance(moment, datetime.datetime):
        return day
    hour, minute, second = moment.hour, moment.minute, moment.second
    kept = {"hour": (hour, 0, 0), "minute": (hour, minute, 0), "second": (hour, minute, second)}.get(part, (0, 0, 0))
    return datetime.datetime.combine(day, datetime.time(*kept))


def ordinal(moment: Moment, part: str) -> int:
    """Return the number of the second, ..., year that contains a moment, counted from the first of our calendar."""
    days = datetime.date(moment.year, moment.month, moment.day).toordinal() - 1
    if part in TIME_PARTS:
        at = moment.time() if isinstance(moment, datetime.datetime) else datetime.time()
        seconds = days * 86400 + at.hour * 3600 + at.minute * 60 + at.second
        return seconds // {"second": 1, "minute": 60, "hour": 3600}[part]
    months = moment.year * 12 + moment.month - 1
    numbers = {"day": days, "week": days // 7, "month": months, "quarter": months // 3, "year": moment.year}
    return numbers[part]


def difference(part: str, start: Moment, end: Moment) -> int:
    """Return how many starts of a part lie after `start` and not after `end`."""
    return ordinal(end, part) - ordinal(start, part)


MICROSECONDS = 86_400_000_000
"""The microseconds of a day."""

EPOCH = datetime.date(1970, 1, 1)
"""The day from which moments are counted where they are summed or ranked."""


def microseconds(moment: Moment) -> int:
    """Return how many microseconds lie between the start of 1970 and a moment."""
    at = moment.time() if isinstance(moment, datetime.datetime) else datetime.time()
    days = datetime.date(moment.year, moment.month, moment.day).toordinal() - EPOCH.toordinal()
    return ((days * 24 + at.hour) * 60 + at.minute) * 60_000_000 + at.second * 1_000_000 + at.microsecond


FIRST_DAY = datetime.date.min.toordinal() - EPOCH.toordinal()
LAST_DAY = datetime.date.max.toordinal() - EPOCH.toordinal()
"""The days of the calendar, counted from the start of 1970."""


def date_at(days: float | Fraction) -> datetime.date | None:
    """Return the date that is nearest to a number of days after the start of 1970; None outside the calendar."""
    if not FIRST_DAY <= days <= LAST_DAY:
        return None
    return datetime.date.fromordinal(floor(float(days) + 0.5) + EPOCH.toordinal())


def timestamp_at(days: float | Fraction) -> datetime.datetime | None:
    """Return the microsecond that is nearest to a number of days after the start of 1970; None outside the calendar."""
    if not FIRST_DAY <= days <= LAST_DAY:
        return None
    whole = floor(float(days) * MICROSECONDS + 0.5)
    return datetime.datetime(1970, 1, 1) + datetime.timedelta(microseconds=whole)


def shift(moment: Moment, part: str, amount: int) -> Moment | None:
    """Return a moment a number of days, months or seconds later; None outside the years 1 to 9999.

    A day that the month does not have becomes its last: 31 January and one month is 28 or 29 February.
    """
    try:
        if part != "month":
            return moment + datetime.timedelta(**{f"{part}s": amount})
        months = moment.year * 12 + moment.month - 1 + amount
        for day in (moment.day, 30, 29, 28):
            try:
                return moment.replace(year=months // 12, month=months % 12 + 1, day=min(day, moment.day))
            except ValueError:
                continue
    except (OverflowError, ValueError):
        pass
    return None


_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
FORMATS: Mapping[str, Callable[[Any], str]] = {
    "%Y": lambda moment: f"{moment.year:04d}",
    "%m": lambda moment: f"{moment.month:02d}",
    "%d": lambda moment: f"{moment.day:02d}",
    "%H": lambda moment: f"{getattr(moment, 'hour', 0):02d}",
    "%M": lambda moment: f"{getattr(moment, 'minute', 0):02d}",
    "%S": lambda moment: f"{getattr(moment, 'second', 0):02d}",
    "%y": lambda moment: f"{moment.year % 100:02d}",
    "%j": lambda moment: f"{moment.timetuple().tm_yday:03d}",
    "%b": lambda moment: _MONTHS[moment.month - 1][:3],
    "%B": lambda moment: _MONTHS[moment.month - 1],
    "%a": lambda moment: _DAYS[moment.weekday()][:3],
    "%A": lambda moment: _DAYS[moment.weekday()],
    "%u": lambda moment: str(moment.isoweekday()),
    "%V": lambda moment: f"{moment.isocalendar()[1]:02d}",
    "%G": lambda moment: f"{moment.isocalendar()[0]:04d}",
    "%%": lambda moment: "%",
}
"""The placeholders for parts of a moment in a format, and their texts, independent of language and time zone."""

_SIGN = re.compile(r"%.|[^%]", re.DOTALL)
_TIMES = frozenset(("%H", "%M", "%S"))


def is_format(form: str) -> bool:
    """Return whether each % of a format precedes a known letter."""
    signs = _SIGN.findall(form)
    return "".join(signs) == form and all(len(sign) == 1 or sign in FORMATS for sign in signs)


def tells_times(form: str) -> bool:
    """Return whether a format distinguishes the times of one day."""
    return not _TIMES.isdisjoint(_SIGN.findall(form))


def formatted(moment: Moment, form: str) -> str:
    """Return a moment as text."""
    return "".join(sign if len(sign) == 1 else FORMATS[sign](moment) for sign in _SIGN.findall(form))


@lru_cache(maxsize=256)
def formatted_days(low: Moment, high: Moment, form: str, most: int) -> tuple[str, ...] | None:
    """Return the texts of all days that touch [low, high], each once; None if there are more than `most` days."""
    days = starts(low, high, "day", most)
    return None if days is None else tuple(dict.fromkeys(formatted(day, form) for day in days))


@lru_cache(maxsize=256)
def starts(low: Moment, high: Moment, part: str, most: int) -> tuple[Moment, ...] | None:
    """Return the starts of all parts that touch [low, high]; None if there are more than `most`."""
    first, count = truncate(low, part), difference(part, low, high) + 1
    if count > most:
        return None
    per = {"week": ("day", 7), "quarter": ("month", 3), "year": ("month", 12), "minute": ("second", 60)}
    unit, size = {**per, "hour": ("second", 3600)}.get(part, (part, 1))
    shifted = [shift(first, unit, size * index) for index in range(count)]
    return tuple(moment for moment in shifted if moment is not None)


# Constants that are computed from constants: exactly, in rationals, so that a decimal is rounded once.
#
# 0.06 + 0.01 is 0.07, as in SQL's decimals; added as doubles it is less than the double nearest to 0.07. A result that
# is inexact, is NULL, does not fit into 64 bits, or cannot be written as a constant is left to the engine.


MOST_WHOLE = 2**63 - 1
LARGEST = Fraction(10) ** 300
"""Numbers are written from 1e-300 to 1e300."""
LONGEST = 400
"""Characters of a number that is written out."""

_MOST_BITS = 2_500
"""Numerators and denominators are no longer than this, so that products of products stay small."""
_MOST_POWER = 1_000
_MOST_DIGITS = 15
_MOST_CHARACTERS = 2_000

_WHOLE = re.compile(r" *([+-]?[0-9]{1,30}) *", re.ASCII)
_NUMBER = re.compile(r" *([+-]?(?:[0-9]{1,330}\.?[0-9]{0,330}|\.[0-9]{1,330})(?:[eE][+-]?[0-9]{1,3})?) *", re.ASCII)

Number = int | Fraction
Fold = Callable[[Sequence[Value]], Value]


def folded(function: str, arguments: Sequence[Expression]) -> Literal | None:
    """Return a function of constants as the one constant that it is; None where the engine has to compute it.

    It is the function's value over exact numbers, of the kind that the function returns.
    """
    fold = _FOLDS.get(function) or _FOLDS_OF.get((function, len(arguments)))
    if fold is None or not arguments:
        return None
    values: list[Value] = []
    for argument in arguments:
        if argument.constant is None:
            return None
        values.append(argument.constant)
    value = fold(values)
    return Literal(value) if value is not None and _writable(value) else None


def decimal(value: Fraction) -> str | None:
    """Return a number as the decimal that it is exactly; None where no decimal is."""
    denominator, digits = value.denominator, 0
    for prime in (2, 5):
        count = 0
        while denominator % prime == 0:
            denominator, count = denominator // prime, count + 1
        digits = max(digits, count)
    if denominator != 1:
        return None
    digits = max(digits, 1)
    shifted = str(abs(value.numerator) * 10**digits // value.denominator).rjust(digits + 1, "0")
    return f"{'-' if value < 0 else ''}{shifted[:-digits]}.{shifted[-digits:]}"


def _writable(value: Value) -> bool:
    """Return whether a constant can be written in SQL, so that the text reads back."""
    if type(value) is str:
        return len(value) <= _MOST_CHARACTERS
    if type(value) is int:
        return abs(value) <= MOST_WHOLE
    if type(value) is not Fraction:
        return True
    if not _short(value) or (value and not 1 / LARGEST <= abs(value) < LARGEST):
        return False
    written = decimal(value)
    if written is not None:
        return len(written) <= LONGEST
    return abs(value.numerator) < LARGEST and value.denominator < LARGEST


def _short(value: Number) -> bool:
    return value.numerator.bit_length() <= _MOST_BITS and value.denominator.bit_length() <= _MOST_BITS


def _numbers(compute: Callable[..., Value]) -> Fold:
    """Return a function of numbers that is None for any other value."""

    def fold(values: Sequence[Value]) -> Value:
        numbers = [value for value in values if type(value) is int or type(value) is Fraction]
        if len(numbers) < len(values) or not all(map(_short, numbers)):
            return None
        return compute(*numbers)

    return fold


def _divide(x: Number, y: Number) -> Value:
    return Fraction(x) / Fraction(y) if y else None


def _modulo(x: Number, y: Number) -> Value:
    """Return x - y * trunc(x / y), which has the sign of x."""
    if not y:
        return None
    top, bottom = abs(Fraction(x)), abs(Fraction(y))
    size = (top - bottom * floor(top / bottom)) * (-1 if x < 0 else 1)
    return int(size) if isinstance(x, int) and isinstance(y, int) else size


def _divide_whole(values: Sequence[Value]) -> Value:
    x, y = values
    return trunc(Fraction(x, y)) if type(x) is int and type(y) is int and y else None


def _make_date(values: Sequence[Value]) -> Value:
    try:
        return datetime.date(*values) if all(type(value) is int for value in values) else None  # type: ignore[arg-type]
    except (ValueError, OverflowError):
        return None


def _round_to(x: Number, digits: Number) -> Value:
    if not isinstance(digits, int) or abs(digits) > _MOST_DIGITS:
        return None
    unit = Fraction(10) ** -digits
    return floor(x / unit + Fraction(1, 2)) * unit


def _root(x: Number) -> Value:
    """Return a square root that is rational; any other is the engine's."""
    exact = Fraction(x)
    if exact < 0:
        return None
    root = Fraction(isqrt(exact.numerator), isqrt(exact.denominator))
    return root if root * root == exact else None


def _power(x: Number, y: Number) -> Value:
    exact, power = Fraction(x), int(y)
    if power != y or abs(power) > _MOST_POWER or (not exact and power < 0):
        return None
    bits = max(exact.numerator.bit_length(), exact.denominator.bit_length())
    return exact**power if (bits - 1) * abs(power) <= _MOST_BITS else None


def _of_one_kind(choose: Callable[[Sequence[Number]], Number]) -> Fold:
    def compute(*numbers: Number) -> Value:
        chosen = choose(numbers)
        return chosen if all(isinstance(number, int) for number in numbers) else Fraction(chosen)

    return _numbers(compute)


def _nullif(x: Number, y: Number) -> Value:
    return None if x == y else x


def _to_whole(values: Sequence[Value]) -> Value:
    (value,) = values
    match value:
        case str():
            match = _WHOLE.fullmatch(value)
            return int(match[1]) if match else None
        case int():
            return int(value)
        case Fraction():
            return floor(value + Fraction(1, 2))
    return None


def _to_number(values: Sequence[Value]) -> Value:
    (value,) = values
    if type(value) is str:
        match = _NUMBER.fullmatch(value)
        return Fraction(match[1]) if match else None
    return Fraction(value) if type(value) is int or type(value) is Fraction else None


def _to_text(values: Sequence[Value]) -> Value:
    (value,) = values
    if type(value) is bool:
        return str(value).lower()
    return str(value) if type(value) in (str, int, datetime.date) else None


def _to_date(values: Sequence[Value]) -> Value:
    (value,) = values
    match value:
        case datetime.datetime():
            return value.date()
        case datetime.date():
            return value
    return None


def _to_timestamp(values: Sequence[Value]) -> Value:
    (value,) = values
    match value:
        case datetime.datetime():
            return value
        case datetime.date():
            return datetime.datetime.combine(value, datetime.time())
    return None


def _shift(part: str) -> Fold:
    def fold(values: Sequence[Value]) -> Value:
        moment, amount = values
        timed = isinstance(moment, datetime.datetime)
        if not isinstance(moment, datetime.date) or type(amount) is not int:
            return None
        return None if part == "second" and not timed else shift(moment, part, amount)

    return fold


def _truncate(values: Sequence[Value]) -> Value:
    part, moment = values
    known = (*DATE_PARTS, *TIME_PARTS) if isinstance(moment, datetime.datetime) else DATE_PARTS
    if not isinstance(moment, datetime.date) or part not in known:
        return None
    try:
        return truncate(moment, str(part))
    except (OverflowError, ValueError):
        return None


def _part(read: Callable[[datetime.date], int]) -> Fold:
    def fold(values: Sequence[Value]) -> Value:
        (moment,) = values
        return read(moment) if isinstance(moment, datetime.date) else None

    return fold


_FOLDS: Mapping[str, Fold] = {
    "least": _of_one_kind(min),
    "greatest": _of_one_kind(max),
    "coalesce": _of_one_kind(lambda numbers: numbers[0]),
}
"""The functions of any number of arguments that are folded."""

_FOLDS_OF: Mapping[tuple[str, int], Fold] = {
    ("add", 2): _numbers(lambda x, y: x + y),
    ("subtract", 2): _numbers(lambda x, y: x - y),
    ("multiply", 2): _numbers(lambda x, y: x * y),
    ("divide", 2): _numbers(_divide),
    ("modulo", 2): _numbers(_modulo),
    ("negate", 1): _numbers(lambda x: -x),
    ("abs", 1): _numbers(lambda x: abs(x)),
    ("floor", 1): _numbers(lambda x: floor(x)),
    ("ceil", 1): _numbers(lambda x: ceil(x)),
    ("round", 1): _numbers(lambda x: floor(x + Fraction(1, 2))),
    ("round_to", 2): _numbers(_round_to),
    ("sign", 1): _numbers(lambda x: (x > 0) - (x < 0)),
    ("truncate", 1): _numbers(lambda x: trunc(x)),
    ("divide_whole", 2): _divide_whole,
    ("make_date", 3): _make_date,
    ("sqrt", 1): _numbers(_root),
    ("power", 2): _numbers(_power),
    ("nullif", 2): _numbers(_nullif),
    ("to_integer", 1): _to_whole,
    ("to_number", 1): _to_number,
    ("to_text", 1): _to_text,
    ("to_date", 1): _to_date,
    ("to_timestamp", 1): _to_timestamp,
    ("add_days", 2): _shift("day"),
    ("add_months", 2): _shift("month"),
    ("add_seconds", 2): _shift("second"),
    ("date_trunc", 2): _truncate,
    ("year", 1): _part(lambda moment: moment.year),
    ("quarter", 1): _part(lambda moment: (moment.month + 2) // 3),
    ("month", 1): _part(lambda moment: moment.month),
    ("day", 1): _part(lambda moment: moment.day),
}
"""By name and number of arguments; functions whose exact results are no rationals, such as logarithms, are left out."""


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
    "divide_whole": "//",
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
_SPELLED = {
    "round_to": "ROUND",
    "day_of_week": "ISODOW",
    "day_of_year": "DAYOFYEAR",
    "truncate": "TRUNC",
    "left_trim": "LTRIM",
    "right_trim": "RTRIM",
    "left_pad": "LPAD",
    "right_pad": "RPAD",
    "position": "STRPOS",
    "format_date": "STRFTIME",
}


def call(function: str, *arguments: Expression) -> Expression:
    """Return a function applied to expressions that are in the one form, in the one form."""
    if function in {"and", "or"}:
        flat: list[Expression] = []
        for argument in arguments:
            flat.extend(argument.arguments if argument.function == function else (argument,))
        return flat[0] if len(flat) == 1 else Call(function, tuple(sorted(flat, key=text)))
    if not arguments:
        return Call(function, ())
    constants = [argument.is_constant for argument in arguments]
    if function in MIRROR and constants == [True, False]:
        return Call(MIRROR[function], (arguments[1], arguments[0]))
    if function == "in":
        return Call(function, (arguments[0], *sorted(dict.fromkeys(arguments[1:]), key=text)))
    return folded(function, arguments) or Call(function, arguments)


def conjunction(*conditions: Expression | None) -> Expression | None:
    """Return the conditions that are not None, joined by and; None if there are none."""
    given = [condition for condition in conditions if condition is not None]
    return call("and", *given) if given else None


def text(expression: Expression, other: Callable[[Expression], str | None] | None = None) -> str:
    """Return an expression as SQL that reads back as the same expression; `other` may write parts in its own way."""
    override = None if other is None else other(expression)
    if override is not None:
        return override
    if not expression.function:
        return _constant(expression.constant) if expression.column is None else quote_name(expression.column)
    name, parts = expression.function, [text(argument, other) for argument in expression.arguments]
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
    """Return a name as SQL reads it whatever it contains: quoted."""
    return '"' + name.replace('"', '""') + '"'


def _constant(value: Value) -> str:
    match value:
        case None:
            return "NULL"
        case bool():
            return "TRUE" if value else "FALSE"
        case int():
            return str(value)
        case Fraction():
            return _decimal(value)
        case datetime.datetime():
            return f"TIMESTAMP '{value.isoformat(sep=' ')}'"
        case datetime.date():
            return f"DATE '{value.isoformat()}'"
        case str():
            return "'" + value.replace("'", "''") + "'"


def _decimal(value: Fraction) -> str:
    # where no decimal is exact, a quotient is, which is read back as one constant
    return decimal(value) or f"({value.numerator}.0 / {value.denominator}.0)"
