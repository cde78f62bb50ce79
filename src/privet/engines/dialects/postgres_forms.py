"""The scalar functions of the closed list that PostgreSQL has here, each written so that no value makes it raise.

What cannot be guarded by a CASE on its arguments, or would not come to the same as elsewhere, is not here and so is
refused by name, before the charge.
"""

from __future__ import annotations

import re
from fractions import Fraction

from privet.core.errors import InvariantError, Unsupported, raise_alone
from privet.core.schema import Kind
from privet.engines.scan_sql.dialect import FORMS as STANDARD_FORMS
from privet.engines.scan_sql.dialect import (
    Bind,
    Form,
    Rendered,
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

# Arithmetic that PostgreSQL would raise on, made total: every operation stands in a CASE on its own arguments.
#
# PostgreSQL raises where a double overflows, and where a product or quotient that is not 0 becomes 0. Here the first is
# NULL and the second 0, as IEEE arithmetic has it. Guards compare magnitudes after scaling by powers of two, which is
# exact, so that they decide as the operation itself rounds.


INFINITY = "'Infinity'::float8"
LARGEST_DOUBLE = Fraction(2**53 - 1) * 2**971


def whole(value: int) -> str:
    """Return a whole number as SQL: bigint, or numeric where that is too small."""
    if INT64[0] <= value <= INT64[1]:
        return f"'{value}'::bigint"
    if -(2**127) < value < 2**127:
        return f"'{value}'::numeric"
    raise InvariantError("a constant does not fit into 128 bits")


def double(value: Fraction | int | float) -> str:
    """Return the double that is nearest to a number, as SQL."""
    try:
        number = float(value)
    except OverflowError:
        raise_alone(Unsupported("a constant is too large for a double"))
    if number in (float("inf"), float("-inf")):
        return f"'{'-' if number < 0 else ''}Infinity'::float8"
    return f"'{number!r}'::float8"


def text(value: str) -> str:
    """Return a text as SQL, compared byte by byte; per cent signs are doubled, see `PostgresDialect.listed`."""
    if "\0" in value:
        raise Unsupported("PostgreSQL has no texts with a NUL character; leave it out of the constant")
    return f"""({quoted(value).replace("%", "%%")}::text COLLATE "C")"""


def fits(x: str) -> str:
    """Return the test that a double or numeric, called by a name, lies within 64 bits: true of no NaN."""
    return f"{x} >= -9223372036854775808 AND {x} < 9223372036854775808"


def fit(bind: Bind, sql: str) -> str:
    """Return a whole number of 64 bits from a whole double or numeric, or NULL where it does not fit."""
    return bind(sql, lambda x: f"CASE WHEN {fits(x)} THEN CAST({x} AS bigint) END")


def _power(exponent: int) -> str:
    return double(Fraction(2) ** exponent)


_LARGEST = double(LARGEST_DOUBLE)
_ZERO, _HALF = double(0), double(0.5)


def _both(bind: Bind, x: str, y: str, body: str) -> str:
    """Return a text over two values, each named where it is no name or constant: {x}, {y}, {a} and {b} for sizes."""
    return bind(x, lambda u: bind(y, lambda v: body.format(x=u, y=v, a=f"abs({u})", b=f"abs({v})")))


def plus(bind: Bind, x: str, y: str) -> str:
    """Return the sum of two doubles; NULL where it is not finite."""
    small, tiny = _power(1022), _power(969)  # a sum with less than half a step of the largest double cannot overflow
    return _both(
        bind,
        x,
        y,
        f"CASE WHEN {{a}} <= {small} AND {{b}} <= {small} THEN {{x}} + {{y}} "
        f"WHEN {{a}} > {_LARGEST} OR {{b}} > {_LARGEST} THEN NULL "
        f"WHEN ({{x}} < {_ZERO}) <> ({{y}} < {_ZERO}) OR {{a}} < {tiny} OR {{b}} < {tiny} THEN {{x}} + {{y}} "
        f"WHEN abs({{x}} * {_HALF} + {{y}} * {_HALF}) < {_power(1023)} THEN {{x}} + {{y}} END",
    )


def _middle(sizes: str) -> str:
    return f"{sizes} >= {_power(-500)} AND {sizes} <= {_power(500)}"


def times(bind: Bind, x: str, y: str) -> str:
    """Return the product of two doubles; NULL where it is not finite."""
    least, most = "least({a}, {b})", "greatest({a}, {b})"
    return _both(
        bind,
        x,
        y,
        f"CASE WHEN {{x}} IS NULL OR {{y}} IS NULL OR {{a}} > {_LARGEST} OR {{b}} > {_LARGEST} THEN NULL "
        f"WHEN {{x}} = {_ZERO} OR {{y}} = {_ZERO} THEN {_ZERO} "
        f"WHEN {_middle('{a}')} AND {_middle('{b}')} THEN {{x}} * {{y}} "
        f"WHEN {least} > {_power(512)} THEN NULL "
        f"WHEN {most} > {_power(500)} AND {least} < {_power(-500)} THEN {{x}} * {{y}} "
        f"WHEN {most} > {_power(500)} THEN "
        f"CASE WHEN {least} * ({most} * {_power(-600)}) < {_power(424)} THEN {{x}} * {{y}} END "
        f"WHEN {most} < {_power(-600)} THEN {_ZERO} "
        f"WHEN ({least} * {_power(600)}) * {most} > {_power(-475)} THEN {{x}} * {{y}} ELSE {_ZERO} END",
    )


def over(bind: Bind, x: str, y: str) -> str:
    """Return the quotient of two doubles; NULL where it is not finite, or y is 0."""
    up, down = _power(600), _power(-600)
    return _both(
        bind,
        x,
        y,
        f"CASE WHEN {{x}} IS NULL OR {{y}} IS NULL OR {{y}} = {_ZERO} OR {{a}} > {_LARGEST} THEN NULL "
        f"WHEN {{b}} > {_LARGEST} OR {{x}} = {_ZERO} THEN {_ZERO} "
        f"WHEN {_middle('{a}')} AND {_middle('{b}')} THEN {{x}} / {{y}} "
        f"WHEN {{b}} > {_power(500)} THEN CASE WHEN {{a}} > {double(1)} THEN {{x}} / {{y}} "
        f"WHEN {{a}} >= {_power(-500)} THEN "
        f"CASE WHEN {{a}} / ({{b}} * {down}) > {_power(-475)} THEN {{x}} / {{y}} ELSE {_ZERO} END "
        f"WHEN ({{a}} * {up}) / ({{b}} * {down}) > {_power(125)} THEN {{x}} / {{y}} ELSE {_ZERO} END "
        f"WHEN {{b}} < {_power(-500)} THEN CASE WHEN {{a}} < {_power(-500)} THEN {{x}} / {{y}} "
        f"WHEN {{a}} >= {_power(525)} THEN NULL "
        f"WHEN {{a}} / ({{b}} * {up}) < {_power(424)} THEN {{x}} / {{y}} END "
        f"WHEN {{a}} > {_power(500)} THEN CASE WHEN ({{a}} * {down}) / {{b}} < {_power(424)} THEN {{x}} / {{y}} END "
        f"WHEN ({{a}} * {up}) / {{b}} > {_power(-475)} THEN {{x}} / {{y}} ELSE {_ZERO} END",
    )


_FIRST = 62_135_596_800_000_000
"""Microseconds from the first day of the calendar to 1970."""

_MONDAY = "DATE '0001-01-01'"
_INT32 = 2**31 - 1


# Numbers: whole ones in 64 bits, or NULL; doubles that are finite, or NULL.


def wide(sql: str) -> str:
    """Return a whole number as one of any size."""
    return f"CAST({sql} AS numeric)"


def _arithmetic(operator: str) -> Form:
    def method(bind: Bind, name: str, inputs: Several, safe: bool) -> str:
        kind, (x, y) = unified(name, inputs)
        if kind == "number":
            guarded = times if operator == "*" else plus
            return guarded(bind, x, f"(- {y})" if operator == "-" else y)
        if kind == "integer" and not safe:
            return fit(bind, f"({wide(x)} {operator} {wide(y)})")
        return f"({x} {operator} {y})"

    return method


def _divide(bind: Bind, name: str, inputs: Several, safe: bool) -> str:
    return over(bind, *numbers(inputs))


def _modulo(bind: Bind, name: str, inputs: Several, safe: bool) -> str:
    kind, (x, y) = unified(name, inputs)
    if kind == "number":
        raise Unsupported("PostgreSQL has no MOD of numbers that are not whole; declare them integer()")
    return bind(y, lambda y: f"CAST(CASE WHEN {y} <> 0 THEN mod({wide(x)}, {wide(y)}) END AS bigint)")


def _divide_whole(bind: Bind, name: str, inputs: Several, safe: bool) -> str:
    x, y = (as_kind(part, "integer") for part in inputs)
    return bind(y, lambda y: fit(bind, f"CASE WHEN {y} <> 0 THEN div({wide(x)}, {wide(y)}) END"))


def _negate(bind: Bind, name: str, inputs: Several, safe: bool) -> str:
    x = inputs[0].sql
    return fit(bind, f"(- {wide(x)})") if inputs[0].kind == "integer" and not safe else f"(- {x})"


def _abs(bind: Bind, name: str, inputs: Several, safe: bool) -> str:
    x = inputs[0].sql
    return fit(bind, f"abs({wide(x)})") if inputs[0].kind == "integer" and not safe else f"abs({x})"


def _rounding(form: str) -> Form:
    def method(bind: Bind, name: str, inputs: Several, safe: bool) -> str:
        x = inputs[0].sql
        return x if inputs[0].kind == "integer" else fit(bind, form.format(x))

    return method


_HALF_UP = f"floor({{}} + {double(0.5)})"


def _round_to(bind: Bind, name: str, inputs: Several, safe: bool) -> str:
    digits = int(str(inputs[1].argument.constant))
    power, x = double(10 ** abs(digits)), as_kind(inputs[0], "number")
    up, down = (times, over) if digits >= 0 else (over, times)
    return down(bind, _HALF_UP.format(up(bind, x, power)), power)


def _sign(bind: Bind, name: str, inputs: Several, safe: bool) -> str:
    return bind(
        inputs[0].sql, lambda x: f"CAST(CASE WHEN {x} > 0 THEN 1 WHEN {x} < 0 THEN -1 ELSE 0 * {x} END AS bigint)"
    )


def _partial(form: str, domain: str) -> Form:
    """Return a function of one double that has a value where a test over {x} is true, and is NULL elsewhere."""

    def method(bind: Bind, name: str, inputs: Several, safe: bool) -> str:
        (x,) = numbers(inputs)
        return bind(x, lambda x: f"CASE WHEN {domain.format(x=x)} THEN {form.format(x=x)} END")

    return method


def _exp(bind: Bind, name: str, inputs: Several, safe: bool) -> str:
    # the largest double whose exponential is finite, and the least whose exponential is not 0
    high, low = double(709.782712893384), double(-745.1332191019411)
    (x,) = numbers(inputs)
    return bind(x, lambda x: f"CASE WHEN {x} < {low} THEN {double(0)} WHEN {x} <= {high} THEN exp({x}) END")


def _extreme(which: str) -> Form:
    def method(bind: Bind, name: str, inputs: Several, safe: bool) -> str:
        _, values = unified(name, inputs)
        return f"{which}({', '.join(values)})"  # which leaves NULLs out, and is NULL only if all are

    return method


def _bin(bind: Bind, name: str, inputs: Several, safe: bool) -> str:
    width = inputs[1].argument.constant
    if inputs[0].kind == "number" or isinstance(width, Fraction):
        if float(Fraction(str(width))) == 0.0:
            raise Unsupported("the width of a bin is too small for a double")
        size = double(Fraction(str(width)))
        steps = f"floor({over(bind, as_kind(inputs[0], 'number'), size)})"
        if isinstance(width, Fraction):
            return f"({times(bind, steps, size)} + {double(0)})"
        return fit(bind, f"({wide(fit(bind, steps))} * {whole(int(str(width)))})")
    size = wide(whole(int(str(width))))
    return bind(
        as_kind(inputs[0], "integer"),
        lambda x: fit(bind, f"({wide(x)} - mod(mod({wide(x)}, {size}) + {size}, {size}))"),
    )


def _bucket(bind: Bind, name: str, inputs: Several, safe: bool) -> str:
    low, high = (Fraction(str(part.argument.constant)) for part in inputs[1:3])
    bins, span = int(str(inputs[3].argument.constant)), high - low
    if float(span) == 0.0:
        raise Unsupported("the ends of a histogram are too close for doubles")
    if max(abs(low), abs(high)) * bins > Fraction(2) ** 1000:
        raise Unsupported("the ends of a histogram are too far apart for PostgreSQL; choose nearer ones")
    bottom, top, last = double(low), double(high), whole(bins - 1)

    def body(x: str) -> str:
        inside = bind(
            f"floor({over(bind, f'({x} - {bottom}) * {double(bins)}', double(span))})",
            lambda y: (
                f"CASE WHEN {y} < {double(0)} THEN 0 WHEN {y} < {double(bins - 1)} THEN CAST({y} AS bigint) "
                f"WHEN {y} >= {double(bins - 1)} THEN {last} END"
            ),
        )
        return f"CASE WHEN {x} <= {bottom} THEN {whole(0)} WHEN {x} >= {top} THEN {last} ELSE {inside} END"

    return bind(as_kind(inputs[0], "number"), body)


# Texts, and conversions from one kind to another. All are of the collation "C": bytes.


def _count(constant: Rendered) -> str:
    """Return a constant number of characters: no text has more than 32 bits count."""
    return str(min(max(int(str(constant.argument.constant)), 0), _INT32))


def _with_counts(form: str) -> Form:
    """Return a function of a text whose constant whole numbers are counts of characters."""

    def method(bind: Bind, name: str, inputs: Several, safe: bool) -> str:
        return form.format(*(_count(part) if part.kind == "integer" else as_kind(part, "text") for part in inputs))

    return method


def _concat(bind: Bind, name: str, inputs: Several, safe: bool) -> str:
    return cut_text("(" + " || ".join(cut_text(as_kind(rendered, "text")) for rendered in inputs) + ")")


def _ends_with(bind: Bind, name: str, inputs: Several, safe: bool) -> str:
    x, y = (as_kind(part, "text") for part in inputs)
    return bind(y, lambda y: f"(right({x}, length({y})) = {y})")


def _like(bind: Bind, name: str, inputs: Several, safe: bool) -> str:
    escape = inputs[2].sql if len(inputs) == 3 else "''"  # none, where PostgreSQL would take a backslash
    return f"({as_kind(inputs[0], 'text')} LIKE {inputs[1].sql} ESCAPE {escape})"


def _matches(x: str, pattern: str) -> str:
    return f"{x} ~ {text(f'^(?:{pattern})$')}"


def _to_integer(bind: Bind, name: str, inputs: Several, safe: bool) -> str:
    x = inputs[0].sql
    match inputs[0].kind:
        case "text":
            read = bind(x, lambda x: f"CASE WHEN {_matches(x, ' *[+-]?[0-9]+ *')} THEN CAST({x} AS numeric) END")
            return fit(bind, read)
        case "boolean":
            return bind(x, lambda x: f"CASE WHEN {x} THEN {whole(1)} WHEN NOT {x} THEN {whole(0)} END")
        case "number":
            return fit(bind, _HALF_UP.format(x))
    return as_kind(inputs[0], "integer")


def _to_number(bind: Bind, name: str, inputs: Several, safe: bool) -> str:
    if inputs[0].kind == "text":
        raise Unsupported("PostgreSQL has no cast of texts to numbers that never fails; cast to INTEGER, or declare it")
    return as_kind(inputs[0], "number")


def _to_text(bind: Bind, name: str, inputs: Several, safe: bool) -> str:
    x = inputs[0].sql
    match inputs[0].kind:
        case "boolean":
            return bind(x, lambda x: f"CASE WHEN {x} THEN {text('true')} WHEN NOT {x} THEN {text('false')} END")
        case "date":
            return f"(to_char(CAST({x} AS timestamp), 'YYYY-MM-DD') COLLATE \"C\")"
        case "integer":
            return f'(CAST({x} AS text) COLLATE "C")'
    return as_kind(inputs[0], "text")


def _to_boolean(bind: Bind, name: str, inputs: Several, safe: bool) -> str:
    x = inputs[0].sql
    match inputs[0].kind:
        case "text":
            lower = bind(x, lambda x: f"CASE WHEN {_matches(x, '[a-zA-Z0-9]{1,5}')} THEN lower({x}) END")
            truths, untruths = ("'true', 't', '1'", "'false', 'f', '0'")
            return bind(
                lower, lambda y: f"CASE WHEN {y} IN ({truths}) THEN true WHEN {y} IN ({untruths}) THEN false END"
            )
        case "integer":
            return f"({x} <> 0)"
    return as_kind(inputs[0], "boolean")


# Dates and points in time.


def as_moment(sql: str, kind: Kind | None) -> str:
    """Return a date or a point in time as the latter; it lies in the calendar."""
    return sql if kind == "timestamp" else f"CAST({sql} AS timestamp)"


def _as_date(sql: str, kind: Kind | None) -> str:
    return sql if kind == "date" else f"CAST({sql} AS date)"


def since_1970(sql: str) -> str:
    """Return the microseconds from the start of 1970 to a point in time of the calendar."""
    return f"CAST(extract(epoch FROM {sql}) * 1000000 AS bigint)"


def _part(field: str) -> Form:
    def method(bind: Bind, name: str, inputs: Several, safe: bool) -> str:
        return f"CAST(floor(extract({field} FROM {inputs[0].sql})) AS bigint)"

    return method


def _trunc(bind: Bind, name: str, inputs: Several, safe: bool) -> str:
    part, moment = inputs
    start = f"date_trunc({text(str(part.argument.constant))}, {as_moment(moment.sql, moment.kind)})"
    return _as_date(start, None) if moment.kind == "date" else start


def _ordinal(bind: Bind, part: str, sql: str, kind: Kind | None) -> str:
    """Return the number of the part that contains a moment, counted from the start of the calendar, as bigint."""
    if part in ("day", "week"):
        days = f"CAST({_as_date(sql, kind)} - {_MONDAY} AS bigint)"
        return days if part == "day" else f"({days} / 7)"
    if part in ("second", "minute", "hour"):
        size = {"second": 1, "minute": 60, "hour": 3600}[part] * 1_000_000
        return f"(({since_1970(as_moment(sql, kind))} + {whole(_FIRST)}) / {whole(size)})"
    year = "CAST(extract(year FROM {x}) AS bigint)"
    if part == "year":
        return year.format(x=sql)
    month = "CAST(extract(month FROM {x}) AS bigint)"
    months = bind(sql, lambda x: f"({year.format(x=x)} * 12 + {month.format(x=x)} - 1)")
    return months if part == "month" else f"({months} / 3)"


def _diff(bind: Bind, name: str, inputs: Several, safe: bool) -> str:
    part = str(inputs[0].argument.constant)
    first, last = (_ordinal(bind, part, moment.sql, moment.kind) for moment in inputs[1:])
    return f"({last} - {first})"


def _shift(part: str) -> Form:
    def method(bind: Bind, name: str, inputs: Several, safe: bool) -> str:
        kind, amount, dialect = inputs[0].kind, inputs[1].argument.constant, inputs[0].dialect
        if type(amount) is not int or kind is None:
            raise InvariantError("a shift is by a constant whole number")
        ends = shift_range(part, amount, kind)
        if ends is None:
            return dialect.null(kind)
        named = {"day": f"days => {amount}", "month": f"months => {amount}", "second": f"secs => {double(amount)}"}
        low, high = dialect.constant(ends[0]), dialect.constant(ends[1])
        typed = dialect.types[kind]
        return bind(
            inputs[0].sql,
            lambda x: (
                f"CASE WHEN {x} >= {low} AND {x} <= {high} THEN CAST({x} + make_interval({named[part]}) AS {typed}) END"
            ),
        )

    return method


def _epoch_us(bind: Bind, name: str, inputs: Several, safe: bool) -> str:
    return since_1970(as_moment(inputs[0].sql, inputs[0].kind))


def _within_calendar(bind: Bind, inputs: Several, made: str) -> str:
    (days,) = numbers(inputs)
    low, high = double(FIRST_DAY), double(LAST_DAY)
    return bind(days, lambda x: f"CASE WHEN {x} >= {low} AND {x} <= {high} THEN {made.format(x=x)} END")


def _date_at(bind: Bind, name: str, inputs: Several, safe: bool) -> str:
    made = f"(DATE '1970-01-01' + CAST(floor({{x}} + {double(0.5)}) AS integer))"
    return _within_calendar(bind, inputs, made)


def _timestamp_at(bind: Bind, name: str, inputs: Several, safe: bool) -> str:
    micro = _within_calendar(bind, inputs, f"CAST(floor({{x}} * {double(MICROSECONDS)} + {double(0.5)}) AS bigint)")
    return bind(
        micro,
        lambda q: (
            f"(TIMESTAMP '1970-01-01' + ({q} / 1000000) * INTERVAL '1 second' "
            f"+ ({q} - {q} / 1000000 * 1000000) * INTERVAL '1 microsecond')"
        ),
    )


def _day(y: str, m: str, d: str) -> str:
    """Return the day of a year, a month and a day, each called by a name; NULL where there is none."""
    leap = f"CASE WHEN mod({y}, 4) = 0 AND (mod({y}, 100) <> 0 OR mod({y}, 400) = 0) THEN 29 ELSE 28 END"
    longest = f"CASE WHEN {m} = 2 THEN {leap} WHEN {m} IN (4, 6, 9, 11) THEN 30 ELSE 31 END"
    there = f"{y} >= 1 AND {y} <= 9999 AND {m} >= 1 AND {m} <= 12 AND {d} >= 1"
    made = f"make_date(CAST({y} AS integer), CAST({m} AS integer), CAST({d} AS integer))"
    return f"CASE WHEN {there} THEN CASE WHEN {d} <= {longest} THEN {made} END END"


def _make_date(bind: Bind, name: str, inputs: Several, safe: bool) -> str:
    year, month, day = (as_kind(part, "integer") for part in inputs)
    return bind(year, lambda y: bind(month, lambda m: bind(day, lambda d: _day(y, m, d))))


_DATE_TEXT = "[0-9]{4}-[0-9]{2}-[0-9]{2}"
_TIME_TEXT = r"(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](?:\.[0-9]{1,6})?"


def _day_of(bind: Bind, x: str, pattern: str) -> str:
    """Return the day at the start of a text that matches a pattern; NULL where it does not, or there is no such day."""

    def part(start: int, length: int) -> str:
        return f"CASE WHEN {_matches(x, pattern)} THEN CAST(substring({x}, {start}, {length}) AS integer) END"

    return bind(part(1, 4), lambda y: bind(part(6, 2), lambda m: bind(part(9, 2), lambda d: _day(y, m, d))))


def _to_date(bind: Bind, name: str, inputs: Several, safe: bool) -> str:
    sql, kind = inputs[0].sql, inputs[0].kind
    return bind(sql, lambda x: _day_of(bind, x, _DATE_TEXT)) if kind == "text" else _as_date(sql, kind)


def _to_timestamp(bind: Bind, name: str, inputs: Several, safe: bool) -> str:
    sql, kind = inputs[0].sql, inputs[0].kind
    if kind != "text":
        return as_moment(sql, kind)
    pattern = f"{_DATE_TEXT}(?: {_TIME_TEXT})?"

    def body(x: str) -> str:
        clock = (
            f"CASE WHEN {_matches(x, f'{_DATE_TEXT} {_TIME_TEXT}')} THEN CAST(substring({x}, 12) AS time) "
            f"ELSE TIME '00:00' END"
        )
        return f"({_day_of(bind, x, pattern)} + {clock})"

    return bind(sql, body)


_SIGNS = {
    "%Y": "YYYY",
    "%m": "MM",
    "%d": "DD",
    "%H": "HH24",
    "%M": "MI",
    "%S": "SS",
    "%y": "YY",
    "%j": "DDD",
    "%b": "Mon",
    "%B": "FMMonth",
    "%a": "Dy",
    "%A": "FMDay",
    "%u": "ID",
    "%V": "IW",
    "%G": "IYYY",
}


def _format_date(bind: Bind, name: str, inputs: Several, safe: bool) -> str:
    parts = re.findall(r"%.|[^%]+|%$", str(inputs[1].argument.constant), re.DOTALL)
    moment = as_moment(inputs[0].sql, inputs[0].kind)

    def body(x: str) -> str:
        made = [
            f"to_char({x}, '{_SIGNS[part]}')" if part in _SIGNS else text("%" if part == "%%" else part)
            for part in parts
        ]
        known = f"CASE WHEN {x} IS NOT NULL THEN {' || '.join(made) or text('')} END"
        return f'({known} COLLATE "C")'

    return bind(moment, body)


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
    "floor": _rounding("floor({})"),
    "ceil": _rounding("ceil({})"),
    "truncate": _rounding("trunc({})"),
    "round": _rounding(_HALF_UP),
    "round_to": _round_to,
    "sign": _sign,
    "sqrt": _partial("sqrt({x})", f"{{x}} >= {double(0)} AND {{x}} < {INFINITY}"),
    "ln": _partial("ln({x})", f"{{x}} > {double(0)} AND {{x}} < {INFINITY}"),
    "log10": _partial("log({x})", f"{{x}} > {double(0)} AND {{x}} < {INFINITY}"),
    "exp": _exp,
    "least": _extreme("least"),
    "greatest": _extreme("greatest"),
    "bin": _bin,
    "bucket": _bucket,
    "length": text_form("CAST(length({}) AS bigint)"),
    "trim": text_form("btrim({}, ' ')"),
    "left_trim": text_form("ltrim({}, ' ')"),
    "right_trim": text_form("rtrim({}, ' ')"),
    "octet_length": text_form("CAST(octet_length({}) AS bigint)"),
    "position": text_form("CAST(strpos({}, {}) AS bigint)"),
    "right": _with_counts("right({}, {})"),
    "left_pad": _with_counts("lpad({}, {}, {})"),
    "right_pad": _with_counts("rpad({}, {}, {})"),
    "split_part": _with_counts("split_part({}, {}, {})"),
    "substring": _with_counts("substring({}, {}, {})"),
    "starts_with": text_form("starts_with({}, {})"),
    "ends_with": _ends_with,
    "contains": text_form("(strpos({}, {}) > 0)"),
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
    "day_of_year": _part("doy"),
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
    "as_date": _date_at,
    "as_timestamp": _timestamp_at,
}
"""Every function that PostgreSQL has, by its name in the closed list."""
