"""DuckDB's SQL: types, constants, and every function of the closed list, written so that nothing raises.

What overflows, is not defined or cannot be converted is NULL. All dates lie in the years 1 to 9999; what would not is
NULL.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from fractions import Fraction

from privet.core.errors import InvariantError, Unsupported, raise_alone
from privet.core.schema import Kind
from privet.engines.scan_sql.dialect import FORMS as STANDARD_FORMS
from privet.engines.scan_sql.dialect import (
    Bind,
    Dialect,
    Form,
    Several,
    as_kind,
    cut_text,
    numbers,
    quoted,
    shift_range,
    text_form,
    unified,
)
from privet.query.normal import FIRST_DAY, LAST_DAY, MICROSECONDS
from privet.query.typed import INT64

_ATOM = re.compile(r"[a-z][a-z0-9]*|'?-?[0-9]+'?::BIGINT|\(?-?[0-9]+(\.[0-9]+)?e[+-]?[0-9]+\)?")

TYPES: dict[Kind, str] = {
    "integer": "BIGINT",
    "number": "DOUBLE",
    "boolean": "BOOLEAN",
    "text": "VARCHAR",
    "date": "DATE",
    "timestamp": "TIMESTAMP",
}
"""The one engine type of each kind; everything is read as these."""

_FIRST = 62_135_596_800_000_000
"""Microseconds from the first day of the calendar to 1970."""

_MONDAY = "DATE '0001-01-01'"
"""The first day of the calendar is a Monday, so weeks can be counted from it."""

_HEAP = 1_000_000


def fit(sql: str) -> str:
    """Return a whole number of 64 bits, or NULL where it does not fit."""
    return f"TRY_CAST({sql} AS BIGINT)"


def finite(bind: Bind, sql: str) -> str:
    """Return a double, or NULL where it is not finite."""
    return bind(sql, lambda x: f"CASE WHEN isfinite({x}) THEN {x} END")


def whole(value: int) -> str:
    """Return a whole number as SQL: BIGINT, or HUGEINT where that is too small."""
    if INT64[0] <= value <= INT64[1]:
        return f"'{value}'::BIGINT" if value < 0 else f"{value}::BIGINT"  # -2**63 is no negated constant
    if -(2**127) < value < 2**127:
        return f"'{value}'::HUGEINT"
    raise InvariantError("a constant does not fit into 128 bits")


def double(value: Fraction | int | float) -> str:
    """Return the double that is nearest to a number, as SQL."""
    try:
        number = float(value)
    except OverflowError:
        raise_alone(Unsupported("a constant is too large for a double"))
    if number in (float("inf"), float("-inf")):
        return f"'{number}'::DOUBLE"
    text = repr(number)
    text = text if "e" in text else f"{text}e0"
    return f"({text})" if number < 0 else text


# Numbers: whole ones in 64 bits, or NULL; doubles that are finite, or NULL.


def _arithmetic(operator: str) -> Form:
    def method(bind: Bind, name: str, inputs: Several, safe: bool) -> str:
        kind, (x, y) = unified(name, inputs)
        if kind == "integer" and not safe:  # two 64-bit numbers cannot leave 128 bits by one of these operations
            return fit(f"(CAST({x} AS HUGEINT) {operator} CAST({y} AS HUGEINT))")
        return f"({x} {operator} {y})" if safe or kind is None else finite(bind, f"({x} {operator} {y})")

    return method


def _divide(bind: Bind, name: str, inputs: Several, safe: bool) -> str:
    x, y = numbers(inputs)
    return f"({x} / {y})" if safe else finite(bind, f"({x} / {y})")


def _modulo(bind: Bind, name: str, inputs: Several, safe: bool) -> str:
    kind, (x, y) = unified(name, inputs)
    if kind == "number":
        return f"({x} % {y})" if safe else finite(bind, f"({x} % {y})")
    wide = f"CAST({x} AS HUGEINT)"  # the least 64-bit number divided by -1 does not fit into 64 bits
    return bind(y, lambda y: fit(f"CASE WHEN {y} <> 0 THEN {wide} % {y} END"))


def _divide_whole(bind: Bind, name: str, inputs: Several, safe: bool) -> str:
    wide = f"CAST({as_kind(inputs[0], 'integer')} AS HUGEINT)"  # as above
    return bind(as_kind(inputs[1], "integer"), lambda y: fit(f"CASE WHEN {y} <> 0 THEN {wide} // {y} END"))


def _negate(bind: Bind, name: str, inputs: Several, safe: bool) -> str:
    x = inputs[0].sql
    return fit(f"(0::HUGEINT - {x})") if inputs[0].kind == "integer" and not safe else f"(- {x})"


def _abs(bind: Bind, name: str, inputs: Several, safe: bool) -> str:
    x = inputs[0].sql
    return fit(f"abs(CAST({x} AS HUGEINT))") if inputs[0].kind == "integer" and not safe else f"abs({x})"


def _rounding(form: str) -> Form:
    def method(bind: Bind, name: str, inputs: Several, safe: bool) -> str:
        x = inputs[0].sql
        return x if inputs[0].kind == "integer" else fit(form.format(x))

    return method


def _round_to(bind: Bind, name: str, inputs: Several, safe: bool) -> str:
    digits = inputs[1].argument.constant
    power = double(10 ** abs(int(str(digits))))
    up, down = ("*", "/") if int(str(digits)) >= 0 else ("/", "*")
    x = as_kind(inputs[0], "number")
    return finite(bind, f"(floor({x} {up} {power} + 0.5e0) {down} {power})")


def _sign(bind: Bind, name: str, inputs: Several, safe: bool) -> str:
    return f"CAST(sign({inputs[0].sql}) AS BIGINT)"


def _sqrt(bind: Bind, name: str, inputs: Several, safe: bool) -> str:
    x = numbers(inputs)[0]
    return f"sqrt({x})" if safe else finite(bind, f"sqrt({x})")


def real_form(form: str) -> Form:
    """Return how a function of doubles is written, from its text with {} for each argument: NULL where not finite."""

    def method(bind: Bind, name: str, inputs: Several, safe: bool) -> str:
        return finite(bind, form.format(*numbers(inputs)))

    return method


def _extreme(which: str) -> Form:
    def method(bind: Bind, name: str, inputs: Several, safe: bool) -> str:
        _, values = unified(name, inputs)
        return f"{which}({', '.join(values)})"  # which leaves NULLs out, and is NULL only if all are

    return method


def _bin(bind: Bind, name: str, inputs: Several, safe: bool) -> str:
    width = inputs[1].argument.constant
    if inputs[0].kind == "number" or isinstance(width, Fraction):
        size = double(Fraction(str(width)))
        if float(Fraction(str(width))) == 0.0:
            raise Unsupported("the width of a bin is too small for a double")
        steps = f"floor({as_kind(inputs[0], 'number')} / {size})"
        if isinstance(width, Fraction):
            return finite(bind, f"({steps} * {size} + 0e0)")
        return fit(f"(CAST({fit(steps)} AS HUGEINT) * {whole(int(str(width)))})")
    size, x = whole(int(str(width))), as_kind(inputs[0], "integer")
    low, high = inputs[0].argument.typed.ends if safe else (None, None)
    # // cuts towards zero, so negative numbers are first moved up by a multiple of the width
    least = INT64[0] if low is None else int(low)
    move = max(0, -(least // int(str(width)))) * int(str(width))
    top = (INT64[1] if high is None else int(high)) + move
    if safe and top <= INT64[1] and least + move >= 0:
        moved = f"({x} + {whole(move)})" if move else x
        return f"({moved} // {size} * {size} - {whole(move)})" if move else f"({moved} // {size} * {size})"
    return fit(f"((CAST({x} AS HUGEINT) + {whole(move)}) // {size} * {size} - {whole(move)})")


def _bucket(bind: Bind, name: str, inputs: Several, safe: bool) -> str:
    low, high = (Fraction(str(rendered.argument.constant)) for rendered in inputs[1:3])
    bins = int(str(inputs[3].argument.constant))
    place = f"floor(({as_kind(inputs[0], 'number')} - {double(low)}) * {double(bins)} / {double(high - low)})"
    if float(high - low) == 0.0:
        raise Unsupported("the ends of a histogram are too close for doubles")
    top = double(bins - 1)

    def body(x: str) -> str:
        inside = f"WHEN {x} <= {top} THEN CAST({x} AS BIGINT)"
        return f"CASE WHEN {x} < 0e0 THEN 0 {inside} WHEN {x} > {top} THEN {bins - 1} END"

    return bind(place, lambda x: f"CAST({body(x)} AS BIGINT)")


# Texts, and conversions from one kind to another.


def _substring(bind: Bind, name: str, inputs: Several, safe: bool) -> str:
    return f"substring({as_kind(inputs[0], 'text')}, {inputs[1].sql}, {inputs[2].sql})"


def _right(bind: Bind, name: str, inputs: Several, safe: bool) -> str:
    return f"right({as_kind(inputs[0], 'text')}, {inputs[1].sql})"


def _pad(which: str) -> Form:
    def method(bind: Bind, name: str, inputs: Several, safe: bool) -> str:
        return f"{which}({as_kind(inputs[0], 'text')}, {inputs[1].sql}::INTEGER, {inputs[2].sql})"

    return method


def _split_part(bind: Bind, name: str, inputs: Several, safe: bool) -> str:
    return f"split_part({as_kind(inputs[0], 'text')}, {inputs[1].sql}, {inputs[2].sql})"


def _concat(bind: Bind, name: str, inputs: Several, safe: bool) -> str:
    """Return texts put together, each and all of them cut: no row may become so large that it exhausts the engine."""
    return cut_text(" || ".join(cut_text(as_kind(rendered, "text")) for rendered in inputs))


_WHOLE_TEXT = quoted("^ *([+-]?[0-9]+) *$")
_NUMBER_TEXT = quoted(r"^ *([+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?) *$")


def _to_integer(bind: Bind, name: str, inputs: Several, safe: bool) -> str:
    x = inputs[0].sql
    match inputs[0].kind:
        case "text":
            return fit(f"regexp_extract({x}, {_WHOLE_TEXT}, 1)")
        case "boolean":
            return f"CAST({x} AS BIGINT)"
        case "number":
            return fit(f"floor({x} + 0.5e0)")
    return as_kind(inputs[0], "integer")


def _to_number(bind: Bind, name: str, inputs: Several, safe: bool) -> str:
    if inputs[0].kind == "text":
        return finite(bind, f"TRY_CAST(regexp_extract({inputs[0].sql}, {_NUMBER_TEXT}, 1) AS DOUBLE)")
    return as_kind(inputs[0], "number")


def _to_text(bind: Bind, name: str, inputs: Several, safe: bool) -> str:
    return as_kind(inputs[0], "text")


_TRUTHS = "['false', 'f', '0', 'true', 't', '1']"


def _to_boolean(bind: Bind, name: str, inputs: Several, safe: bool) -> str:
    x = inputs[0].sql
    match inputs[0].kind:
        case "text":
            return f"(list_position({_TRUTHS}, lower({x})) > 3)"
        case "integer":
            return f"({x} <> 0)"
    return as_kind(inputs[0], "boolean")


# Dates and points in time.

_YEAR = "(?:000[1-9]|00[1-9][0-9]|0[1-9][0-9]{2}|[1-9][0-9]{3})"
_DATE_TEXT = f"{_YEAR}-[0-9]{{2}}-[0-9]{{2}}"
_TIME_TEXT = r"(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](?:\.[0-9]{1,6})?"


def _as_moment(sql: str, kind: Kind | None) -> str:
    return sql if kind == "timestamp" else f"CAST({sql} AS TIMESTAMP)"


def _as_date(sql: str, kind: Kind | None) -> str:
    return sql if kind == "date" else f"CAST({sql} AS DATE)"


def _part(function: str) -> Form:
    def method(bind: Bind, name: str, inputs: Several, safe: bool) -> str:
        return f"CAST({function}({inputs[0].sql}) AS BIGINT)"

    return method


def _trunc(bind: Bind, name: str, inputs: Several, safe: bool) -> str:
    part, moment = inputs
    start = f"date_trunc({quoted(str(part.argument.constant))}, {moment.sql})"
    return f"CAST({start} AS {'DATE' if moment.kind == 'date' else 'TIMESTAMP'})"


def _ordinal(bind: Bind, part: str, sql: str, kind: Kind | None) -> str:
    """Return the number of the part that contains a moment, counted from the start of the calendar."""
    if part in ("day", "week"):
        days = f"({_as_date(sql, kind)} - {_MONDAY})"
        return days if part == "day" else f"({days} // 7)"
    if part in ("second", "minute", "hour"):
        size = {"second": 1, "minute": 60, "hour": 3600}[part] * 1_000_000
        since = f"(epoch_us({_as_moment(sql, kind)}) + {_FIRST})"  # from 0001-01-01, so never negative
        return f"({since} // {size})"
    if part == "year":
        return f"year({_as_date(sql, kind)})"
    months = bind(_as_date(sql, kind), lambda x: f"(year({x}) * 12 + month({x}) - 1)")
    return months if part == "month" else f"({months} // 3)"


def _diff(bind: Bind, name: str, inputs: Several, safe: bool) -> str:
    part = str(inputs[0].argument.constant)
    first, last = (_ordinal(bind, part, moment.sql, moment.kind) for moment in inputs[1:])
    return f"CAST({last} - {first} AS BIGINT)"


def _shift(part: str) -> Form:
    def method(bind: Bind, name: str, inputs: Several, safe: bool) -> str:
        kind, amount = inputs[0].kind, inputs[1].argument.constant
        if type(amount) is not int:
            raise InvariantError("a shift is by a constant whole number")
        typed = "DATE" if kind == "date" else "TIMESTAMP"
        ends = shift_range(part, amount, kind)
        if ends is None:
            return f"NULL::{typed}"
        interval = f"to_{part}s({amount})"
        moved = f"CAST({{x}} + {interval} AS {typed})"
        low, high = DUCKDB.constant(ends[0]), DUCKDB.constant(ends[1])
        return bind(inputs[0].sql, lambda x: f"CASE WHEN {x} >= {low} AND {x} <= {high} THEN {moved.format(x=x)} END")

    return method


def _epoch_us(bind: Bind, name: str, inputs: Several, safe: bool) -> str:
    return f"epoch_us({_as_moment(inputs[0].sql, inputs[0].kind)})"


def _moment_of(form: str, size: int) -> Form:
    """Return the form of a moment that lies a number of days after the start of 1970, in whole parts of a day."""

    def method(bind: Bind, name: str, inputs: Several, safe: bool) -> str:
        (days,) = numbers(inputs)
        low, high = double(FIRST_DAY), double(LAST_DAY)
        made = form.format(f"floor({{x}} * {double(size)} + 0.5e0)")
        return bind(days, lambda x: f"CASE WHEN {x} >= {low} AND {x} <= {high} THEN {made.format(x=x)} END")

    return method


def _make_date(bind: Bind, name: str, inputs: Several, safe: bool) -> str:
    year, month, day = (as_kind(part, "integer") for part in inputs)
    # a year of four digits, a month and a day of two; the cast is NULL where there is no such day
    text = bind(
        year,
        lambda y: bind(
            month,
            lambda m: bind(
                day,
                lambda d: (
                    f"CASE WHEN {y} BETWEEN 1 AND 9999 AND {m} BETWEEN 1 AND 12 AND {d} BETWEEN 1 AND 31 "
                    f"THEN printf('%04d-%02d-%02d', {y}, {m}, {d}) END"
                ),
            ),
        ),
    )
    return f"TRY_CAST({text} AS DATE)"


def _format_date(bind: Bind, name: str, inputs: Several, safe: bool) -> str:
    return f"strftime({inputs[0].sql}, {inputs[1].sql})"


def _to_date(bind: Bind, name: str, inputs: Several, safe: bool) -> str:
    sql, kind = inputs[0].sql, inputs[0].kind
    if kind == "text":
        return f"TRY_CAST(regexp_extract({sql}, {quoted(f'^{_DATE_TEXT}$')}) AS DATE)"
    return _as_date(sql, kind)


def _to_timestamp(bind: Bind, name: str, inputs: Several, safe: bool) -> str:
    sql, kind = inputs[0].sql, inputs[0].kind
    if kind == "text":
        return f"TRY_CAST(regexp_extract({sql}, {quoted(f'^{_DATE_TEXT}(?: {_TIME_TEXT})?$')}) AS TIMESTAMP)"
    return _as_moment(sql, kind)


FORMS: dict[str, Form] = {
    **STANDARD_FORMS,
    "add": _arithmetic("+"),
    "subtract": _arithmetic("-"),
    "multiply": _arithmetic("*"),
    "divide": _divide,
    "modulo": _modulo,
    "divide_whole": _divide_whole,
    "negate": _negate,
    "abs": _abs,
    "floor": _rounding("floor({})"),
    "ceil": _rounding("ceil({})"),
    "truncate": _rounding("trunc({})"),
    "round": _rounding("floor({} + 0.5e0)"),
    "round_to": _round_to,
    "sign": _sign,
    "sqrt": _sqrt,
    "ln": real_form("ln({})"),
    "log10": real_form("log10({})"),
    "log2": real_form("log2({})"),
    "exp": real_form("exp({})"),
    "power": real_form("pow({}, {})"),
    "least": _extreme("least"),
    "greatest": _extreme("greatest"),
    "bin": _bin,
    "bucket": _bucket,
    "lower": text_form("lower({})"),
    "upper": text_form("upper({})"),
    "length": text_form("length({})"),
    "trim": text_form("trim({}, ' ')"),
    "left_trim": text_form("ltrim({}, ' ')"),
    "right_trim": text_form("rtrim({}, ' ')"),
    "octet_length": text_form("strlen({})"),
    "position": text_form("strpos({}, {})"),
    "right": _right,
    "left_pad": _pad("lpad"),
    "right_pad": _pad("rpad"),
    "split_part": _split_part,
    "substring": _substring,
    "starts_with": text_form("starts_with({}, {})"),
    "ends_with": text_form("suffix({}, {})"),
    "contains": text_form("contains({}, {})"),
    "concat": _concat,
    "to_integer": _to_integer,
    "to_number": _to_number,
    "to_text": _to_text,
    "to_boolean": _to_boolean,
    "year": _part("year"),
    "quarter": _part("quarter"),
    "month": _part("month"),
    "week": _part("week"),
    "day": _part("day"),
    "day_of_week": _part("isodow"),
    "day_of_year": _part("dayofyear"),
    "hour": _part("hour"),
    "minute": _part("minute"),
    "second": _part("second"),
    "date_trunc": _trunc,
    "date_diff": _diff,
    "make_date": _make_date,
    "format_date": _format_date,
    "add_days": _shift("day"),
    "add_months": _shift("month"),
    "add_seconds": _shift("second"),
    "to_date": _to_date,
    "to_timestamp": _to_timestamp,
    "epoch_us": _epoch_us,
    "as_date": _moment_of("(DATE '1970-01-01' + CAST({} AS INTEGER))", 1),
    "as_timestamp": _moment_of("make_timestamp(CAST({} AS BIGINT))", MICROSECONDS),
}
"""Every function that DuckDB has, by its name in the closed list."""


class DuckDBDialect(Dialect):
    """DuckDB 2, inside the process."""

    name = "DuckDB"
    types = TYPES
    infinity = "'inf'::DOUBLE"
    forms = FORMS

    def __init__(self, *, short_sums: bool = True) -> None:
        self._short_sums = short_sums

    def short_sum(self, sql: str) -> str:
        return f"sum_no_overflow({sql})" if self._short_sums else super().short_sum(sql)

    def is_atom(self, sql: str) -> bool:
        return _ATOM.fullmatch(sql) is not None

    def whole(self, value: int) -> str:
        return whole(value)

    def double(self, value: Fraction | int | float) -> str:
        return double(value)

    def null(self, kind: Kind) -> str:
        return f"NULL::{TYPES[kind]}"

    def cast_whole(self, sql: str) -> str:
        return fit(sql)

    def narrow(self, sql: str) -> str:
        return f"CAST({sql} AS BIGINT)"

    def wide(self, sql: str) -> str:
        return f"CAST({sql} AS HUGEINT)"

    def divide_whole(self, x: str, y: str, *, wide: bool = False) -> str:
        return f"{x} // {y}"

    def block(self, place: str, bits: int) -> str:
        return f"{place} >> {bits}"

    def root_guess(self, sql: str) -> str:
        return f"CAST(floor(sqrt(CAST({sql} AS DOUBLE))) AS BIGINT)"

    def least(self, x: str, y: str) -> str:
        return f"least({x}, {y})"

    def from_truth(self, condition: str) -> str:
        return f"CAST({condition} AS BIGINT)"

    def is_nan(self, sql: str) -> str:
        return f"isnan({sql})"

    def sign(self, sql: str) -> str:
        return f"signbit({sql})"

    def cut(self, sql: str, most: int) -> str:
        # no text has more characters than bytes, and these are known without looking at it
        return f"CASE WHEN strlen({sql}) > {most} THEN substring({sql}, 1, {most}) ELSE {sql} END"

    def fits(self, sql: str, most: int) -> str:
        return f"strlen({sql}) <= {most}"

    def known_by(self, sql: str, most: int) -> str:
        mark = f"rpad(sha256({sql}), {most + 1}, '.')"
        return f"CASE WHEN strlen({sql}) > {most} THEN {mark} ELSE {sql} END"

    def days(self, sql: str) -> str:
        return f"({sql} - {_MONDAY})"

    def microseconds(self, sql: str) -> str:
        return f"(epoch_us({sql}) + {whole(_FIRST)})"

    def bound(self, sql: str, name: str, body: str) -> str:
        return f"list_transform([{sql}], lambda {name}: {body})[1]"

    def record(self, parts: Mapping[str, str]) -> str:
        return f"struct_pack({', '.join(f'{name} := {value}' for name, value in parts.items())})"

    def keyed_hash(self, columns: Sequence[str], secret: int) -> str:
        first, second = (f"{(secret >> shift) & (2**64 - 1)}::UBIGINT" for shift in (0, 64))
        return f"hash(xor(hash({', '.join([*columns, first])}), {second}))"

    def in_part(self, unit: str, parts: int, secret: int) -> str:
        # GROUP BY hashes values by the same function, and so puts no two into one group whose hashes differ; it is
        # hashed again under the key, or the tables of one part would be filled at some of their places only
        return f"{self.keyed_hash([unit], secret)} % {parts}::UBIGINT = $part::UBIGINT"

    def nth_least(self, sql: str, place: int) -> str:
        # the engine's own keeps a heap, up to a million
        return f"min({sql}, {place})[{place}]" if place < _HEAP else f"list_sort(list({sql}))[{place}]"

    def collected(self, sql: str) -> str:
        return f"list({sql})"

    def listed(self, parameter: str, kind: Kind) -> str:
        return f"unnest(${parameter}::{TYPES[kind]}[])"

    def numbered(self, parameter: str, kind: Kind) -> str:
        bound = f"${parameter}::{TYPES[kind]}[]"
        return (
            f"SELECT v, min(c) AS c FROM (SELECT unnest({bound}) AS v, unnest(range(len({bound})))::INTEGER AS c) "
            f"GROUP BY v"
        )

    def by_number(self, relation: str, number: str, count: int, columns: Sequence[str]) -> str | None:
        lists = ", ".join(f"list({column} ORDER BY c) AS {column}" for column in columns)
        return (
            f"SELECT {lists} FROM (SELECT unnest(range({count})) AS c) LEFT JOIN {relation} ON c = {relation}.{number}"
        )

    def at(self, several: str, number: str) -> str:
        return f"{several}[{number} + 1]"

    def semi_join(self, other: str, on: str) -> str:
        return f" SEMI JOIN {other} {on}"

    def all_but(self, *columns: str) -> str:
        return f"* EXCLUDE ({', '.join(columns)})"


DUCKDB = DuckDBDialect()
