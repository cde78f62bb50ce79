"""Spark's SQL: types, constants, and the functions of the closed list that it has, written so that nothing raises.

Sessions run in ANSI mode, where overflow, bad casts and division by zero raise: every such operation is one that is
NULL instead (`try_...`), or stands behind a CASE on its own argument. Sums are of decimals with 38 digits, or of 64
bits where these are proven to be enough.
"""

from __future__ import annotations

import datetime
import json
import re
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction

from privet.core.errors import InvariantError, Unsupported, raise_alone
from privet.core.schema import Key, Kind
from privet.engines.scan_sql.dialect import FORMS as STANDARD_FORMS
from privet.engines.scan_sql.dialect import (
    Bind,
    Dialect,
    Form,
    Several,
    as_kind,
    cut_text,
    numbers,
    shift_range,
    text_form,
    unified,
)
from privet.query.normal import FIRST_DAY, LAST_DAY, MICROSECONDS
from privet.query.typed import INT64

TYPES: dict[Kind, str] = {
    "integer": "BIGINT",
    "number": "DOUBLE",
    "boolean": "BOOLEAN",
    "text": "STRING",
    "date": "DATE",
    "timestamp": "TIMESTAMP_NTZ",
}
"""The one engine type of each kind; everything is read as these."""

_WIDE = "DECIMAL(38,0)"
_INFINITY = "CAST('Infinity' AS DOUBLE)"
_ATOM = re.compile(r"[a-z][a-z0-9]*|\(?-?[0-9]+L\)?|\(?-?[0-9]+(\.[0-9]+)?(e[+-]?[0-9]+)?D\)?")
_PLAIN = re.compile(r"[A-Za-z0-9 .,:;_+=<>()/-]")
"""Characters that are written as they are: no quote, no backslash, no dollar sign, nothing beyond ASCII."""

_FIRST = 62_135_596_800_000_000
"""Microseconds from the first day of the calendar to 1970."""

_MONDAY = "DATE '0001-01-01'"
"""The first day of the calendar is a Monday, so weeks can be counted from it."""

_EXACT = 2**53
_EDGE = 2.0**63


def text_literal(text: str) -> str:
    """Return a text as a string of Spark's, with every character that its lexer might read otherwise as its number."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise_alone(Unsupported("a text constant must be valid Unicode, without lone surrogates"))
    written = [
        char if _PLAIN.fullmatch(char) else f"\\u{ord(char):04x}" if ord(char) < 2**16 else f"\\U{ord(char):08x}"
        for char in text
    ]
    return f"'{''.join(written)}'"


def quoted_name(name: str) -> str:
    """Return a name as an identifier of Spark's."""
    return "`" + name.replace("`", "``") + "`"


def whole(value: int) -> str:
    """Return a whole number: BIGINT, or a decimal of 38 digits where that is too small."""
    if INT64[0] <= value <= INT64[1]:
        return f"({value}L)" if value < 0 else f"{value}L"
    if abs(value) < 10**38:
        return f"CAST('{value}' AS {_WIDE})"
    raise InvariantError("a constant does not fit into 38 digits")


def double(value: Fraction | int | float) -> str:
    """Return the double that is nearest to a number."""
    try:
        number = float(value)
    except OverflowError:
        raise_alone(Unsupported("a constant is too large for a double"))
    if number in (float("inf"), float("-inf")):
        return _INFINITY if number > 0 else "CAST('-Infinity' AS DOUBLE)"
    return f"({number!r}D)" if number < 0 else f"{number!r}D"


def bound_list(values: Sequence[Key]) -> str:
    """Return a list of public keys as the text that is bound to a statement."""
    plain = (bool, int, float, str, type(None))
    return json.dumps([value if isinstance(value, plain) else str(value) for value in values])


# Numbers: whole ones in 64 bits, or NULL; doubles that are finite, or NULL.


def _fit(sql: str) -> str:
    return f"try_cast({sql} AS BIGINT)"


def _finite(bind: Bind, sql: str) -> str:
    # NaN sorts above infinity
    return bind(sql, lambda x: f"CASE WHEN {x} > {double(float('-inf'))} AND {x} < {_INFINITY} THEN {x} END")


def _floored(bind: Bind, sql: str, function: str = "floor") -> str:
    """Return a double made whole in 64 bits, or NULL where it does not fit: floor itself would raise."""
    low, high = double(-_EDGE), double(_EDGE)
    return bind(sql, lambda x: f"CASE WHEN {x} >= {low} AND {x} < {high} THEN {function}({x}) END")


def _truncated(bind: Bind, sql: str) -> str:
    # a cast of 2**63, which is one too many, returns one less instead of NULL
    low, high = double(-_EDGE), double(_EDGE)
    return bind(sql, lambda x: f"CASE WHEN {x} >= {low} AND {x} < {high} THEN CAST({x} AS BIGINT) END")


def _floor_double(bind: Bind, sql: str) -> str:
    """Return the largest whole double that is not above one; from 2**53 on all are whole."""
    low, high = double(-_EXACT), double(_EXACT)
    return bind(sql, lambda x: f"CASE WHEN {x} > {low} AND {x} < {high} THEN CAST(floor({x}) AS DOUBLE) ELSE {x} END")


_TRY = {"+": "try_add", "-": "try_subtract", "*": "try_multiply"}


def _arithmetic(operator: str) -> Form:
    def method(bind: Bind, name: str, inputs: Several, safe: bool) -> str:
        kind, (x, y) = unified(name, inputs)
        if kind == "integer" and not safe:
            return f"{_TRY[operator]}({x}, {y})"
        return f"({x} {operator} {y})" if safe or kind is None else _finite(bind, f"({x} {operator} {y})")

    return method


def _divide(bind: Bind, name: str, inputs: Several, safe: bool) -> str:
    x, y = numbers(inputs)
    return _finite(bind, f"try_divide({x}, {y})")


def _modulo(bind: Bind, name: str, inputs: Several, safe: bool) -> str:
    kind, (x, y) = unified(name, inputs)
    return _finite(bind, f"try_mod({x}, {y})") if kind == "number" else f"try_mod({x}, {y})"


def _divide_whole(bind: Bind, name: str, inputs: Several, safe: bool) -> str:
    first, second = (as_kind(part, "integer") for part in inputs)

    def body(x: str, y: str) -> str:  # the least 64-bit number divided by -1 does not fit into 64 bits
        return f"CASE WHEN {y} = -1L THEN try_subtract(0L, {x}) WHEN {y} <> 0L THEN {x} DIV {y} END"

    return bind(first, lambda x: bind(second, lambda y: body(x, y)))


def _negate(bind: Bind, name: str, inputs: Several, safe: bool) -> str:
    x = inputs[0].sql
    return f"try_subtract(0L, {x})" if inputs[0].kind == "integer" and not safe else f"(- {x})"


def _abs(bind: Bind, name: str, inputs: Several, safe: bool) -> str:
    x = inputs[0].sql
    if inputs[0].kind != "integer" or safe:
        return f"abs({x})"
    return bind(x, lambda v: f"CASE WHEN {v} <> {whole(INT64[0])} THEN abs({v}) END")


def _rounding(make: Callable[[Bind, str], str]) -> Form:
    def method(bind: Bind, name: str, inputs: Several, safe: bool) -> str:
        x = inputs[0].sql
        return x if inputs[0].kind == "integer" else make(bind, x)

    return method


def _round_to(bind: Bind, name: str, inputs: Several, safe: bool) -> str:
    digits = int(str(inputs[1].argument.constant))
    power = double(10 ** abs(digits))
    up, down = ("*", "/") if digits >= 0 else ("/", "*")
    steps = _floor_double(bind, f"({as_kind(inputs[0], 'number')} {up} {power} + 0.5D)")
    return _finite(bind, f"({steps} {down} {power})")


def _real(form: str) -> Form:
    def method(bind: Bind, name: str, inputs: Several, safe: bool) -> str:
        return _finite(bind, form.format(*numbers(inputs)))

    return method


def _power(bind: Bind, name: str, inputs: Several, safe: bool) -> str:
    base, exponent = numbers(inputs)

    def body(x: str, y: str) -> str:  # where others have 1, Java has no number
        return f"CASE WHEN abs({x}) = 1D AND abs({y}) = {_INFINITY} THEN 1D ELSE pow({x}, {y}) END"

    return _finite(bind, bind(base, lambda x: bind(exponent, lambda y: body(x, y))))


def _extreme(which: str) -> Form:
    def method(bind: Bind, name: str, inputs: Several, safe: bool) -> str:
        _, values = unified(name, inputs)
        return f"{which}({', '.join(values)})" if len(values) > 1 else values[0]

    return method


def _bin(bind: Bind, name: str, inputs: Several, safe: bool) -> str:
    width = inputs[1].argument.constant
    if inputs[0].kind == "number" or isinstance(width, Fraction):
        size = double(Fraction(str(width)))
        if float(Fraction(str(width))) == 0.0:
            raise Unsupported("the width of a bin is too small for a double")
        steps = f"({as_kind(inputs[0], 'number')} / {size})"
        if isinstance(width, Fraction):
            return _finite(bind, f"({_floor_double(bind, steps)} * {size} + 0D)")
        return f"try_multiply({_floored(bind, steps)}, {whole(int(str(width)))})"
    size, x = whole(int(str(width))), as_kind(inputs[0], "integer")
    # the remainder of whole division has the sign of x, so it is made positive
    return bind(x, lambda v: f"try_subtract({v}, pmod({v}, {size}))")


def _bucket(bind: Bind, name: str, inputs: Several, safe: bool) -> str:
    low, high = (Fraction(str(rendered.argument.constant)) for rendered in inputs[1:3])
    bins = int(str(inputs[3].argument.constant))
    if float(high - low) == 0.0:
        raise Unsupported("the ends of a histogram are too close for doubles")
    place = f"(({as_kind(inputs[0], 'number')} - {double(low)}) * {double(bins)} / {double(high - low)})"
    first, last = whole(0), whole(bins - 1)

    def body(x: str) -> str:
        inside = f"WHEN {x} < {double(bins)} THEN floor({x})"
        return f"CASE WHEN {x} < 0D THEN {first} {inside} WHEN {x} >= {double(bins)} THEN {last} END"

    return bind(place, body)


# Texts, and conversions from one kind to another.


def _as_whole(form: str) -> Form:
    texts = text_form(form)

    def method(bind: Bind, name: str, inputs: Several, safe: bool) -> str:
        return f"CAST({texts(bind, name, inputs, safe)} AS BIGINT)"

    return method


_UPPER, _LOWER = "ABCDEFGHIJKLMNOPQRSTUVWXYZ", "abcdefghijklmnopqrstuvwxyz"


def _lower(sql: str) -> str:
    return f"translate({sql}, '{_UPPER}', '{_LOWER}')"


def _substring(bind: Bind, name: str, inputs: Several, safe: bool) -> str:
    start, length = (f"CAST({part.sql} AS INT)" for part in inputs[1:])
    return f"substring({as_kind(inputs[0], 'text')}, {start}, {length})"


def _right(bind: Bind, name: str, inputs: Several, safe: bool) -> str:
    return f"right({as_kind(inputs[0], 'text')}, CAST({inputs[1].sql} AS INT))"


def _pad(which: str) -> Form:
    def method(bind: Bind, name: str, inputs: Several, safe: bool) -> str:
        return f"{which}({as_kind(inputs[0], 'text')}, CAST({inputs[1].sql} AS INT), {inputs[2].sql})"

    return method


def _split_part(bind: Bind, name: str, inputs: Several, safe: bool) -> str:
    return f"split_part({as_kind(inputs[0], 'text')}, {inputs[1].sql}, CAST({inputs[2].sql} AS INT))"


def _concat(bind: Bind, name: str, inputs: Several, safe: bool) -> str:
    return cut_text(f"concat({', '.join(cut_text(as_kind(rendered, 'text')) for rendered in inputs)})")


def _like(bind: Bind, name: str, inputs: Several, safe: bool) -> str:
    """Return a LIKE whose escape is always written: Spark's own default is a backslash, which is a character here."""
    pattern = str(inputs[1].argument.constant)
    escape = str(inputs[2].argument.constant) if len(inputs) == 3 else None
    own = next(sign for sign in ("!", "~", "^", "#", *map(chr, range(0x100, 0x17F))) if sign not in pattern)
    written, place = [], 0
    while place < len(pattern):
        char = pattern[place]
        if char == escape:
            place += 1
            char = own + pattern[place] if pattern[place] in "%_" else pattern[place]
        written.append(char)
        place += 1
    return f"({as_kind(inputs[0], 'text')} LIKE {text_literal(''.join(written))} ESCAPE '{own}')"


_WHOLE_TEXT = text_literal(r"\A *([+-]?[0-9]+) *\z")
_NUMBER_TEXT = text_literal(r"\A *([+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?) *\z")


def _to_integer(bind: Bind, name: str, inputs: Several, safe: bool) -> str:
    x = inputs[0].sql
    match inputs[0].kind:
        case "text":
            return _fit(f"regexp_extract({x}, {_WHOLE_TEXT}, 1)")
        case "boolean":
            return f"CAST({x} AS BIGINT)"
        case "number":
            return _floored(bind, f"({x} + 0.5D)")
    return as_kind(inputs[0], "integer")


def _to_number(bind: Bind, name: str, inputs: Several, safe: bool) -> str:
    if inputs[0].kind == "text":
        return _finite(bind, f"try_cast(regexp_extract({inputs[0].sql}, {_NUMBER_TEXT}, 1) AS DOUBLE)")
    return as_kind(inputs[0], "number")


def _to_text(bind: Bind, name: str, inputs: Several, safe: bool) -> str:
    if inputs[0].kind == "number":
        raise Unsupported("Spark writes numbers as other texts than DuckDB; ROUND it to whole numbers first")
    return as_kind(inputs[0], "text")


def _to_boolean(bind: Bind, name: str, inputs: Several, safe: bool) -> str:
    x = inputs[0].sql
    match inputs[0].kind:
        case "text":
            truths, rest = "('true', 't', '1')", "('false', 'f', '0')"
            return bind(_lower(x), lambda v: f"CASE WHEN {v} IN {truths} THEN true WHEN {v} IN {rest} THEN false END")
        case "integer":
            return f"({x} <> 0L)"
    return as_kind(inputs[0], "boolean")


# Dates and points in time. Sessions are in UTC, so that a cast between times with and without a zone changes nothing.

_YEAR = "(?:000[1-9]|00[1-9][0-9]|0[1-9][0-9]{2}|[1-9][0-9]{3})"
_DATE_TEXT = f"{_YEAR}-[0-9]{{2}}-[0-9]{{2}}"
_TIME_TEXT = r"(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](?:\.[0-9]{1,6})?"


def _as_moment(sql: str, kind: Kind | None) -> str:
    return sql if kind == "timestamp" else f"CAST({sql} AS TIMESTAMP_NTZ)"


def _as_date(sql: str, kind: Kind | None) -> str:
    return sql if kind == "date" else f"CAST({sql} AS DATE)"


def _micros(sql: str) -> str:
    return f"unix_micros(CAST({sql} AS TIMESTAMP))"


def _part(form: str) -> Form:
    def method(bind: Bind, name: str, inputs: Several, safe: bool) -> str:
        return f"CAST({form.format(inputs[0].sql)} AS BIGINT)"

    return method


def _trunc(bind: Bind, name: str, inputs: Several, safe: bool) -> str:
    part, moment = inputs
    start = f"date_trunc({text_literal(str(part.argument.constant))}, CAST({moment.sql} AS TIMESTAMP))"
    return f"CAST({start} AS {'DATE' if moment.kind == 'date' else 'TIMESTAMP_NTZ'})"


def _days(sql: str) -> str:
    return f"CAST(datediff({sql}, {_MONDAY}) AS BIGINT)"


def _ordinal(bind: Bind, part: str, sql: str, kind: Kind | None) -> str:
    """Return the number of the part that contains a moment, counted from the start of the calendar."""
    if part in ("day", "week"):
        days = _days(_as_date(sql, kind))
        return days if part == "day" else f"({days} DIV 7L)"
    if part in ("second", "minute", "hour"):
        size = {"second": 1, "minute": 60, "hour": 3600}[part] * 1_000_000
        return f"(({_micros(_as_moment(sql, kind))} + {whole(_FIRST)}) DIV {whole(size)})"
    if part == "year":
        return f"year({_as_date(sql, kind)})"
    months = bind(_as_date(sql, kind), lambda x: f"(year({x}) * 12 + month({x}) - 1)")
    return months if part == "month" else f"({months} DIV 3)"


def _diff(bind: Bind, name: str, inputs: Several, safe: bool) -> str:
    part = str(inputs[0].argument.constant)
    first, last = (_ordinal(bind, part, moment.sql, moment.kind) for moment in inputs[1:])
    return f"CAST({last} - {first} AS BIGINT)"


_STEPS = {"day": "make_dt_interval({})", "month": "make_ym_interval(0, {})", "second": "make_dt_interval(0, 0, 0, {})"}
_DAY_STEPS = {"day": "date_add({x}, {n})", "month": "add_months({x}, {n})"}


def _shift(part: str) -> Form:
    def method(bind: Bind, name: str, inputs: Several, safe: bool) -> str:
        kind, amount = inputs[0].kind, inputs[1].argument.constant
        if type(amount) is not int:
            raise InvariantError("a shift is by a constant whole number")
        typed = "DATE" if kind == "date" else "TIMESTAMP_NTZ"
        ends = shift_range(part, amount, kind)
        if ends is None:
            return f"CAST(NULL AS {typed})"
        low, high = SPARK.constant(ends[0]), SPARK.constant(ends[1])

        def moved(x: str) -> str:
            if kind == "date" and part in _DAY_STEPS:
                return _DAY_STEPS[part].format(x=x, n=amount)
            return f"CAST({_as_moment(x, kind)} + {_STEPS[part].format(amount)} AS {typed})"

        return bind(inputs[0].sql, lambda x: f"CASE WHEN {x} >= {low} AND {x} <= {high} THEN {moved(x)} END")

    return method


def _moment_of(form: str, size: int) -> Form:
    """Return the form of a moment that lies a number of days after the start of 1970, in whole parts of a day."""

    def method(bind: Bind, name: str, inputs: Several, safe: bool) -> str:
        (days,) = numbers(inputs)
        low, high = double(FIRST_DAY), double(LAST_DAY)
        made = form.format(f"floor({{x}} * {double(size)} + 0.5D)")
        return bind(days, lambda x: f"CASE WHEN {x} >= {low} AND {x} <= {high} THEN {made.format(x=x)} END")

    return method


def _make_date(bind: Bind, name: str, inputs: Several, safe: bool) -> str:
    year, month, day = (as_kind(part, "integer") for part in inputs)

    def text(y: str, m: str, d: str) -> str:
        inside = f"{y} BETWEEN 1L AND 9999L AND {m} BETWEEN 1L AND 12L AND {d} BETWEEN 1L AND 31L"
        return f"CASE WHEN {inside} THEN format_string('%04d-%02d-%02d', {y}, {m}, {d}) END"

    made = bind(year, lambda y: bind(month, lambda m: bind(day, lambda d: text(y, m, d))))
    return f"try_cast({made} AS DATE)"


_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)


def _padded(form: str, digits: int) -> str:
    return f"lpad(CAST({form} AS STRING), {digits}, '0')"


def _named(names: Sequence[str], form: str) -> str:
    return f"array({', '.join(text_literal(name) for name in names)})[{form} - 1]"


_SIGNS = {
    "%Y": _padded("year({x})", 4),
    "%m": _padded("month({x})", 2),
    "%d": _padded("day({x})", 2),
    "%H": _padded("hour({x})", 2),
    "%M": _padded("minute({x})", 2),
    "%S": _padded("second({x})", 2),
    "%y": _padded("(year({x}) % 100)", 2),
    "%j": _padded("dayofyear({x})", 3),
    "%b": _named([name[:3] for name in _MONTHS], "month({x})"),
    "%B": _named(_MONTHS, "month({x})"),
    "%a": _named([name[:3] for name in _DAYS], "(weekday({x}) + 1)"),
    "%A": _named(_DAYS, "(weekday({x}) + 1)"),
    "%u": "CAST(weekday({x}) + 1 AS STRING)",
    "%V": _padded("weekofyear({x})", 2),
    "%G": _padded("extract(YEAROFWEEK FROM {x})", 4),
}
_SIGN = re.compile(r"%.|[^%]+", re.DOTALL)


def _format_date(bind: Bind, name: str, inputs: Several, safe: bool) -> str:
    signs = _SIGN.findall(str(inputs[1].argument.constant))

    def body(x: str) -> str:
        parts = [
            _SIGNS[sign].format(x=x) if sign in _SIGNS else text_literal("%" if sign == "%%" else sign)
            for sign in signs
        ]
        return f"CASE WHEN {x} IS NOT NULL THEN concat('', {', '.join(parts) or text_literal('')}) END"

    return bind(_as_moment(inputs[0].sql, inputs[0].kind), body)


def _to_date(bind: Bind, name: str, inputs: Several, safe: bool) -> str:
    sql, kind = inputs[0].sql, inputs[0].kind
    if kind == "text":
        form = text_literal(rf"\A({_DATE_TEXT})\z")
        return f"try_cast(regexp_extract({sql}, {form}, 1) AS DATE)"
    return _as_date(sql, kind)


def _to_timestamp(bind: Bind, name: str, inputs: Several, safe: bool) -> str:
    sql, kind = inputs[0].sql, inputs[0].kind
    if kind == "text":
        form = text_literal(rf"\A({_DATE_TEXT}(?: {_TIME_TEXT})?)\z")
        return f"try_cast(regexp_extract({sql}, {form}, 1) AS TIMESTAMP_NTZ)"
    return _as_moment(sql, kind)


FORMS: dict[str, Form] = {
    **STANDARD_FORMS,
    "like": _like,
    "add": _arithmetic("+"),
    "subtract": _arithmetic("-"),
    "multiply": _arithmetic("*"),
    "divide": _divide,
    "modulo": _modulo,
    "divide_whole": _divide_whole,
    "negate": _negate,
    "abs": _abs,
    "floor": _rounding(_floored),
    "ceil": _rounding(lambda bind, x: _floored(bind, x, "ceil")),
    "truncate": _rounding(_truncated),
    "round": _rounding(lambda bind, x: _floored(bind, f"({x} + 0.5D)")),
    "round_to": _round_to,
    "sign": lambda bind, name, inputs, safe: f"CAST(sign({inputs[0].sql}) AS BIGINT)",
    "sqrt": _real("sqrt({})"),
    "ln": _real("ln({})"),
    "log10": _real("log10({})"),
    "log2": _real("log2({})"),
    "exp": _real("exp({})"),
    "power": _power,
    "least": _extreme("least"),
    "greatest": _extreme("greatest"),
    "bin": _bin,
    "bucket": _bucket,
    "lower": lambda bind, name, inputs, safe: _lower(as_kind(inputs[0], "text")),
    "upper": text_form(f"translate({{}}, '{_LOWER}', '{_UPPER}')"),
    "length": _as_whole("length({})"),
    "trim": text_form("trim(BOTH ' ' FROM {})"),
    "left_trim": text_form("trim(LEADING ' ' FROM {})"),
    "right_trim": text_form("trim(TRAILING ' ' FROM {})"),
    "octet_length": _as_whole("octet_length({})"),
    "position": _as_whole("instr({}, {})"),
    "right": _right,
    "left_pad": _pad("lpad"),
    "right_pad": _pad("rpad"),
    "split_part": _split_part,
    "substring": _substring,
    "starts_with": text_form("startswith({}, {})"),
    "ends_with": text_form("endswith({}, {})"),
    "contains": text_form("contains({}, {})"),
    "concat": _concat,
    "to_integer": _to_integer,
    "to_number": _to_number,
    "to_text": _to_text,
    "to_boolean": _to_boolean,
    "year": _part("year({})"),
    "quarter": _part("quarter({})"),
    "month": _part("month({})"),
    "week": _part("weekofyear({})"),
    "day": _part("day({})"),
    "day_of_week": _part("(weekday({}) + 1)"),
    "day_of_year": _part("dayofyear({})"),
    "hour": _part("hour({})"),
    "minute": _part("minute({})"),
    "second": _part("second({})"),
    "date_trunc": _trunc,
    "date_diff": _diff,
    "make_date": _make_date,
    "format_date": _format_date,
    "add_days": _shift("day"),
    "add_months": _shift("month"),
    "add_seconds": _shift("second"),
    "to_date": _to_date,
    "to_timestamp": _to_timestamp,
    "epoch_us": lambda bind, name, inputs, safe: _micros(_as_moment(inputs[0].sql, inputs[0].kind)),
    "as_date": _moment_of("date_from_unix_date(CAST({} AS INT))", 1),
    "as_timestamp": _moment_of("CAST(timestamp_micros({}) AS TIMESTAMP_NTZ)", MICROSECONDS),
}
"""Every function that Spark has, by its name in the closed list."""


class SparkDialect(Dialect):
    """Spark 4, in ANSI mode and UTC, as `privet.engines.spark` sets its session up.

    Guarantee: no stored value makes a text raise. Weights are found from the rows that they weigh (`reads_again`), for
    Spark reads a source as often as a statement names it, and reads lost parts of it again.
    """

    name = "Spark"
    types = TYPES
    infinity = _INFINITY
    forms = FORMS
    reads_again = True

    def is_atom(self, sql: str) -> bool:
        return _ATOM.fullmatch(sql) is not None

    def text(self, value: str) -> str:
        return text_literal(value)

    def whole(self, value: int) -> str:
        return whole(value)

    def double(self, value: Fraction | int | float) -> str:
        return double(value)

    def timestamp(self, value: datetime.datetime) -> str:
        return f"TIMESTAMP_NTZ '{value.isoformat(sep=' ')}'"

    def cast_whole(self, sql: str) -> str:
        return _fit(sql)

    def narrow(self, sql: str) -> str:
        return f"CAST({sql} AS BIGINT)"

    def wide(self, sql: str) -> str:
        return f"CAST({sql} AS {_WIDE})"

    def divide_whole(self, x: str, y: str, *, wide: bool = False) -> str:
        if not wide:
            return f"{x} DIV {y}"
        # DIV would cut the quotient to 64 bits; the rest is a multiple of y, and the quotient exact
        return f"CAST(({x} - {x} % {y}) / {y} AS {_WIDE})"

    def block(self, place: str, bits: int) -> str:
        return f"shiftright({place}, {bits})"

    def root_guess(self, sql: str) -> str:
        return f"floor(sqrt(CAST({sql} AS DOUBLE)))"

    def least(self, x: str, y: str) -> str:
        return f"least({x}, {y})"

    def floor(self, sql: str) -> str:
        """Return the largest whole number that is not above a double, clamped first: beyond 64 bits Spark raises."""
        low, high = double(-(2**62)), double(2**62)
        inside = f"WHEN {sql} <= {high} THEN {sql} WHEN {sql} <= {_INFINITY} THEN {high}"
        return f"floor(CASE WHEN {sql} < {low} THEN {low} {inside} END)"

    def from_truth(self, condition: str) -> str:
        return f"CAST({condition} AS BIGINT)"

    def is_nan(self, sql: str) -> str:
        return f"isnan({sql})"

    def sign(self, sql: str) -> str:
        return f"startswith(CAST({sql} AS STRING), '-')"

    def cut(self, sql: str, most: int) -> str:
        return f"CASE WHEN octet_length({sql}) > {most} THEN substring({sql}, 1, {most}) ELSE {sql} END"

    def fits(self, sql: str, most: int) -> str:
        return f"octet_length({sql}) <= {most}"

    def known_by(self, sql: str, most: int) -> str:
        mark = f"rpad(sha2({sql}, 256), {most + 1}, '.')"
        return f"CASE WHEN octet_length({sql}) > {most} THEN {mark} ELSE {sql} END"

    def days(self, sql: str) -> str:
        return _days(sql)

    def microseconds(self, sql: str) -> str:
        return f"({_micros(sql)} + {whole(_FIRST)})"

    def bound(self, sql: str, name: str, body: str) -> str:
        return f"transform(array({sql}), {name} -> {body})[0]"

    def record(self, parts: Mapping[str, str]) -> str:
        return "named_struct(" + ", ".join(f"'{name}', {value}" for name, value in parts.items()) + ")"

    def members_of(self, values: Sequence[str], parameters: Sequence[tuple[str, Kind]]) -> str:
        # one SELECT list explodes no more than one array
        lists = ", ".join(self._array(name, kind) for name, kind in parameters)
        listed = self.record({f"p{index}": f"z.`{index}`" for index in range(len(parameters))})
        made = self.record({f"p{index}": value for index, value in enumerate(values)})
        return f"{made} IN (SELECT explode(transform(arrays_zip({lists}), z -> {listed})))"

    def keyed_hash(self, columns: Sequence[str], secret: int) -> str:
        # NULLs are left out of the hash, so (NULL, 1) and (1, NULL) would be alike without the tests before them
        first, second = (whole(((secret >> shift) & (2**64 - 1)) - 2**63) for shift in (0, 64))
        parts = [part for column in columns for part in (f"{column} IS NULL", column)]
        return f"xxhash64({', '.join([first, *parts, second])})"

    def nth_least(self, sql: str, place: int) -> str:
        return f"get(array_sort(collect_list({sql})), {place - 1})"

    def collected(self, sql: str) -> str:
        return f"collect_list({sql})"

    def _array(self, parameter: str, kind: Kind) -> str:
        if kind in ("date", "timestamp"):
            texts = f"from_json(:{parameter}, 'array<string>')"
            return f"transform({texts}, t -> CAST(t AS {TYPES[kind]}))"
        return f"from_json(:{parameter}, 'array<{TYPES[kind].lower()}>')"

    def listed(self, parameter: str, kind: Kind) -> str:
        return f"explode({self._array(parameter, kind)})"

    def numbered(self, parameter: str, kind: Kind) -> str:
        placed = f"SELECT posexplode({self._array(parameter, kind)}) AS (c, v)"
        return f"SELECT v, min(c) AS c FROM ({placed}) GROUP BY v"

    def total(self, aggregate: str, condition: str | None) -> str:
        # FILTER is not for windows, so that what does not count is NULL
        if condition is None:
            return aggregate
        function, argument = aggregate[:-1].split("(", 1)
        first = "DISTINCT " if argument.startswith("DISTINCT ") else ""
        counted = "1" if argument == "*" else argument.removeprefix(first)
        return f"{function}({first}CASE WHEN {condition} THEN {counted} END)"

    def sum(self, sql: str, *, fits: bool = False) -> str:
        return f"sum({sql})" if fits else f"sum({self.wide(sql)})"

    def short_sum(self, sql: str) -> str:
        return f"try_sum({sql})"

    def together(self, query: str, column: str) -> str:
        return f"{query} DISTRIBUTE BY {column}"

    def materialised(self, name: str, query: str, *, kept: bool | None) -> str:
        return f"{name} AS ({query})"

    def semi_join(self, other: str, on: str) -> str:
        return f" LEFT SEMI JOIN {other} {on}"

    def all_but(self, *columns: str) -> str:
        return f"* EXCEPT ({', '.join(columns)})"

    def rising(self, column: str) -> str:
        return f"{column} ASC NULLS LAST"


SPARK = SparkDialect()
