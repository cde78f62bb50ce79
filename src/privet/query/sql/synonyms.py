"""Functions by the names that the common dialects have for them, in terms of the closed list.

The parser leaves these names alone, so that a question is read as it was typed. Names whose arguments are in the
order of the closed list are in `query.functions`; here are the others.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction

from privet.core.errors import Unsupported, WrongKind, arguments_in_words
from privet.core.relation import Expression, Literal
from privet.query.normal import call

from .clauses import Node, part, parts

Read = Callable[[Node], Expression]
Form = Callable[[Sequence[Node], Read], Expression]

SHORT_PARTS = {
    **dict.fromkeys(("yy", "yyyy", "y"), "year"),
    **dict.fromkeys(("qq", "q"), "quarter"),
    **dict.fromkeys(("mm", "m", "mon"), "month"),
    **dict.fromkeys(("wk", "ww", "isoweek", "iso_week"), "week"),
    **dict.fromkeys(("dd", "d"), "day"),
    **dict.fromkeys(("hh", "h"), "hour"),
    **dict.fromkeys(("mi", "n"), "minute"),
    **dict.fromkeys(("ss", "s"), "second"),
}
"""The names that SQL Server and others use for the parts of a date."""

UNITS = {
    "day": ("add_days", 1),
    "week": ("add_days", 7),
    "month": ("add_months", 1),
    "quarter": ("add_months", 3),
    "year": ("add_months", 12),
    "hour": ("add_seconds", 3600),
    "minute": ("add_seconds", 60),
    "second": ("add_seconds", 1),
}

_LONGEST = 10**6


def called(name: str, arguments: Sequence[Node], read: Read) -> Expression | None:
    """Return the meaning of a call by one of these names; None for any other."""
    entry = SYNONYMS.get(name)
    if entry is None:
        return None
    least, most, shown, form = entry
    if not least <= len(arguments) <= most:
        raise WrongKind(name, f"arguments as in {shown}", (arguments_in_words(len(arguments)),))
    return form(arguments, read)


def part_name(node: Node, known: Mapping[str, object]) -> str | None:
    """Return the part of a date that an argument names, as a word or as text; None if it is something else."""
    word = None
    if node.key in {"column", "var", "identifier"} and part(node, "table") is None:
        word = str(node.name)
    elif node.key == "literal" and node.args.get("is_string"):
        word = str(node.args["this"])
    if word is None:
        return None
    folded = word.lower()
    folded = SHORT_PARTS.get(folded, folded)
    return folded if folded in known else folded.removesuffix("s") if folded.removesuffix("s") in known else None


def later(moment: Expression, amount: Expression, unit: str, *, sign: int = 1) -> Expression:
    """Return a moment a constant number of units later."""
    value = _whole(amount)
    function, size = UNITS.get(unit, ("", 0))
    if not function or value is None:
        raise Unsupported(
            "an interval is a constant whole number and a unit, such as INTERVAL 7 DAY or INTERVAL 1 HOUR"
        )
    return call(function, _moment(moment), Literal(sign * value * size))


def _moment(expression: Expression) -> Expression:
    """Return a moment: a constant text is read as one."""
    from privet.query.resolve import read_date, read_timestamp

    said = expression.constant
    if not isinstance(said, str):
        return expression
    return Literal(read_timestamp(said) if len(said.strip()) > len("2024-12-31") else read_date(said))


def _need_part(node: Node) -> str:
    unit = part_name(node, UNITS)
    if unit is None:
        raise Unsupported(f"a part of a date is one of {', '.join(UNITS)}, written as a word or in quotes")
    return unit


def _dateadd(arguments: Sequence[Node], read: Read) -> Expression:
    unit, amount, moment = arguments
    return later(read(moment), read(amount), _need_part(unit))


def _date_add(sign: int) -> Form:
    """Return DATE_ADD(x, INTERVAL 7 DAY), as in most dialects; with a number, of days."""

    def form(arguments: Sequence[Node], read: Read) -> Expression:
        if len(arguments) == 3:
            return _dateadd(arguments, read)
        moment, interval = arguments
        if interval.key != "interval":
            return later(read(moment), read(interval), "day", sign=sign)
        return shifted(read(moment), interval, read, sign=sign)

    return form


def in_days(interval: Node, read: Read) -> Expression:
    """Return an interval as a number of days, to compare a difference of two moments with."""
    amount, word = _amount(interval, read)
    value = None if amount is None else _whole(amount)
    seconds = _WHOLE_UNITS.get(word if word in UNITS else word.removesuffix("s"))
    if value is None or seconds is None:
        raise Unsupported(
            "a difference of two moments is compared with a constant number of seconds, minutes, hours, days or weeks, "
            "such as INTERVAL 30 MINUTE"
        )
    days = Fraction(value * seconds, _WHOLE_UNITS["day"])
    return Literal(int(days) if days.denominator == 1 else days)


def _amount(interval: Node, read: Read) -> tuple[Expression | None, str]:
    """Return the number of an interval, and its unit in lower case; INTERVAL '7 days' has both in its text."""
    unit, amount = part(interval, "unit"), part(interval, "this")
    word = "" if unit is None or unit.key != "var" else str(unit.args["this"]).lower()
    said = None if amount is None else read(amount)
    if not word and said is not None and isinstance(said.constant, str):
        written = said.constant.split()
        if len(written) == 2:
            return Literal(written[0]), written[1].lower()
    return said, word


def _whole(amount: Expression) -> int | None:
    value = amount.constant
    if isinstance(value, str) and re.fullmatch(r" *-?\d{1,9} *", value, re.ASCII):
        return int(value)
    return value if type(value) is int else None


def shifted(moment: Expression, interval: Node, read: Read, *, sign: int) -> Expression:
    """Return a moment moved by an interval."""
    said, word = _amount(interval, read)
    folded = word if word in UNITS else word.removesuffix("s")
    return later(moment, Literal(None) if said is None else said, folded, sign=sign)


def _datediff(arguments: Sequence[Node], read: Read) -> Expression:
    if len(arguments) == 2:  # MySQL and Spark: days from the second to the first
        end, start = arguments
        return call("date_diff", Literal("day"), _moment(read(start)), _moment(read(end)))
    unit = part_name(arguments[0], UNITS)
    if unit is not None and part_name(arguments[2], UNITS) is None:
        return call("date_diff", Literal(unit), *(_moment(read(value)) for value in arguments[1:]))
    unit = part_name(arguments[2], UNITS)  # GoogleSQL: DATE_DIFF(end, start, DAY)
    if unit is not None and part_name(arguments[0], UNITS) is None:
        return call("date_diff", Literal(unit), _moment(read(arguments[1])), _moment(read(arguments[0])))
    if _need_part(arguments[0]):  # a column is called as a part is: the first place is the part's
        return call("date_diff", Literal(_need_part(arguments[0])), *(_moment(read(value)) for value in arguments[1:]))
    raise Unsupported("write DATE_DIFF('day', start, end)")


_WHOLE_UNITS = {"second": 1, "minute": 60, "hour": 3600, "day": 86_400, "week": 7 * 86_400}


def _full_units(unit: str, start: Expression, end: Expression) -> Expression:
    """Return how many whole units lie between two moments, as TIMESTAMPDIFF counts: not how many starts of them."""
    if unit not in _WHOLE_UNITS:
        raise Unsupported(f"whole {unit}s between two moments are not supported; write DATE_DIFF('{unit}', start, end)")
    between = call("subtract", call("epoch_us", _moment(end)), call("epoch_us", _moment(start)))
    return call("divide_whole", between, Literal(_WHOLE_UNITS[unit] * 1_000_000))


def _timestampdiff(arguments: Sequence[Node], read: Read) -> Expression:
    unit, start, end = arguments
    return _full_units(_need_part(unit), read(start), read(end))


def _timestamp_diff(arguments: Sequence[Node], read: Read) -> Expression:
    end, start, unit = arguments
    return _full_units(_need_part(unit), read(start), read(end))


def _date_trunc(arguments: Sequence[Node], read: Read) -> Expression:
    """Return DATE_TRUNC('month', x), or DATE_TRUNC(x, MONTH) as GoogleSQL has it."""
    first, second = arguments
    unit, moment = part_name(first, UNITS), second
    if unit is None or (first.key == "column" and part_name(second, UNITS) is not None):
        unit, moment = part_name(second, UNITS), first
    if unit is None:
        raise Unsupported(f"a part of a date is one of {', '.join(UNITS)}, written as a word or in quotes")
    return call("date_trunc", Literal(unit), _moment(read(moment)))


def _datetrunc(arguments: Sequence[Node], read: Read) -> Expression:
    """Return DATETRUNC(month, x), as SQL Server has it."""
    return call("date_trunc", Literal(_need_part(arguments[0])), _moment(read(arguments[1])))


def _date(arguments: Sequence[Node], read: Read) -> Expression:
    if len(arguments) == 1:
        return _cast("to_date", read(arguments[0]))
    if len(arguments) == 2:
        raise Unsupported("DATE takes one moment, or a year, a month and a day")
    return call("make_date", *map(read, arguments))


def _cast(function: str, value: Expression) -> Expression:
    from privet.query.resolve import read_date, read_timestamp

    said = value.constant
    if isinstance(said, str) and function in {"to_date", "to_timestamp"}:
        return Literal(read_date(said) if function == "to_date" else read_timestamp(said))
    return call(function, value)


_WRITTEN = frozenset(("yyyymmdd", "yyyymmddhh24miss", "%y%m%d", "%y%m%d%h%m%s", "%f", "%y%m%d%t"))


def _read_as(function: str) -> Form:
    """Return TO_DATE(x, 'YYYY-MM-DD') and the like: the format, on either side, must be that of ISO."""

    def form(arguments: Sequence[Node], read: Read) -> Expression:
        values = [read(argument) for argument in arguments]
        if len(values) == 2:
            formats = [value for value in values if _is_format(value.constant)]
            values = [value for value in values if value not in formats[:1]]
            said = str(formats[0].constant) if formats else ""
            if re.sub(r"[-: T]", "", said).lower() not in _WRITTEN or "-" not in said.replace("%F", "-"):
                raise Unsupported(
                    "texts are read as dates in one format, 'YYYY-MM-DD' or 'YYYY-MM-DD HH24:MI:SS'; write "
                    "TRY_CAST(x AS DATE), or put the parts together: CAST(SUBSTRING(x, 1, 4) || '-' || ... AS DATE)"
                )
        return _cast(function, values[0])

    return form


def _is_format(said: object) -> bool:
    return isinstance(said, str) and ("%" in said or re.search("yyyy", said, re.IGNORECASE) is not None)


_SHORT_FORMATS = (("%F", "%Y-%m-%d"), ("%T", "%H:%M:%S"), ("%R", "%H:%M"), ("%D", "%m/%d/%y"))
_MYSQL = {"%i": "%M", "%s": "%S", "%M": "%B", "%W": "%A", "%v": "%V", "%x": "%G"}
_ORACLE = (
    *(("YYYY", "%Y"), ("HH24", "%H"), ("MI", "%M"), ("SS", "%S"), ("MM", "%m"), ("DDD", "%j"), ("DD", "%d")),
    *(("IYYY", "%G"), ("IW", "%V"), ("YY", "%y"), ("Month", "%B"), ("Mon", "%b"), ("Day", "%A"), ("Dy", "%a")),
)


def _strftime(arguments: Sequence[Node], read: Read) -> Expression:
    """Return STRFTIME(x, '%Y'), STRFTIME('%Y', x) of SQLite, FORMAT_DATE('%Y', x) of GoogleSQL."""
    values = [read(argument) for argument in arguments]
    first = isinstance(values[0].constant, str) and "%" in str(values[0].constant)
    form, moment = values if first else reversed(values)
    said = form.constant
    if isinstance(said, str) and "%%" not in said:
        for short, full in _SHORT_FORMATS:
            said = said.replace(short, full)
        form = Literal(said)
    return call("format_date", _moment(moment), form)


def _date_format(arguments: Sequence[Node], read: Read) -> Expression:
    moment, form = map(read, arguments)
    said = form.constant
    if isinstance(said, str):
        form = Literal(re.sub("%.", lambda match: _MYSQL.get(match[0], match[0]), said))
    return call("format_date", _moment(moment), form)


def _to_char(arguments: Sequence[Node], read: Read) -> Expression:
    value = read(arguments[0])
    if len(arguments) == 1:
        return call("to_text", value)
    said = read(arguments[1]).constant
    if not isinstance(said, str) or "%" in said:
        raise Unsupported("TO_CHAR takes a moment and a constant format, such as TO_CHAR(x, 'YYYY-MM')")
    known = dict(_ORACLE)
    pieces = re.split("(" + "|".join(sorted(known, key=len, reverse=True)) + ")", said)
    made = "".join(known.get(piece, piece) for piece in pieces)
    if re.search("[A-Za-z]", re.sub("%.", "", made)):
        raise Unsupported(f"a format of TO_CHAR is made of {', '.join(known)} and signs, such as TO_CHAR(x, 'YYYY-MM')")
    return call("format_date", _moment(value), Literal(made))


def _named_format(form: str) -> Form:
    return lambda arguments, read: call("format_date", _moment(read(arguments[0])), Literal(form))


def _last_day(arguments: Sequence[Node], read: Read) -> Expression:
    start = call("date_trunc", Literal("month"), call("to_date", _moment(read(arguments[0]))))
    return call("add_days", call("add_months", start, Literal(1)), Literal(-1))


def _isnull(arguments: Sequence[Node], read: Read) -> Expression:
    values = [*map(read, arguments)]
    return call("is_null", values[0]) if len(values) == 1 else call("coalesce", *values)


def _nvl2(arguments: Sequence[Node], read: Read) -> Expression:
    tested, there, missing = map(read, arguments)
    return call("case", call("is_null", tested), missing, there)


def _iif(arguments: Sequence[Node], read: Read) -> Expression:
    values = [*map(read, arguments)]
    return call("case", *values, *([Literal(None)] if len(values) == 2 else []))


def _decode(arguments: Sequence[Node], read: Read) -> Expression:
    """Return DECODE(x, search, result, ..., default), in which NULL is found by NULL."""
    tested, *rest = map(read, arguments)
    chosen: list[Expression] = []
    while len(rest) > 1:
        chosen += [is_same(tested, rest[0]), rest[1]]
        rest = rest[2:]
    return call("case", *chosen, rest[0] if rest else Literal(None))


def is_same(x: Expression, y: Expression) -> Expression:
    """Return x IS NOT DISTINCT FROM y: NULL is the same as NULL, and as nothing else."""
    if y == Literal(None) or x == Literal(None):
        return call("is_null", x if y == Literal(None) else y)
    nothing = call("and", call("is_null", x), call("is_null", y))
    return call("coalesce", call("equal", x, y), Literal(False) if _sure(x) or _sure(y) else nothing)


def _sure(expression: Expression) -> bool:
    return expression.constant is not None


def _div0(arguments: Sequence[Node], read: Read) -> Expression:
    x, y = map(read, arguments)
    return call("case", call("equal", y, Literal(0)), Literal(0), call("divide", x, y))


def _pi(arguments: Sequence[Node], read: Read) -> Expression:
    return Literal(Fraction(math.pi))


def _turned(top: Fraction) -> Form:
    return lambda arguments, read: call("multiply", read(arguments[0]), Literal(top))


_TYPES = {
    **dict.fromkeys(("INT", "INTEGER", "BIGINT", "SMALLINT", "TINYINT", "SIGNED", "UNSIGNED", "INT64"), "to_integer"),
    **dict.fromkeys(("FLOAT", "DOUBLE", "REAL", "DECIMAL", "NUMERIC", "FLOAT64"), "to_number"),
    **dict.fromkeys(("VARCHAR", "NVARCHAR", "CHAR", "NCHAR", "TEXT", "STRING"), "to_text"),
    "DATE": "to_date",
    **dict.fromkeys(("TIMESTAMP", "DATETIME", "DATETIME2", "SMALLDATETIME"), "to_timestamp"),
    **dict.fromkeys(("BIT", "BOOLEAN", "BOOL"), "to_boolean"),
}


def _convert(arguments: Sequence[Node], read: Read) -> Expression:
    """Return CONVERT(VARCHAR(10), x) of SQL Server, or CONVERT(x, CHAR) of MySQL."""
    for kind, value in ((arguments[0], arguments[1]), (arguments[1], arguments[0])):
        function = _TYPES.get(str(kind.args["this"] if kind.key == "anonymous" else kind.name).upper())
        if kind.key in {"column", "anonymous", "datatype", "var"} and function is not None:
            return _cast(function, read(value))
    raise Unsupported("CONVERT takes a type and a value: CONVERT(VARCHAR, x); write CAST(x AS VARCHAR)")


def _weekday(arguments: Sequence[Node], read: Read) -> Expression:
    return call("modulo", call("day_of_week", read(arguments[0])), Literal(7))


def _trunc(arguments: Sequence[Node], read: Read) -> Expression:
    if len(arguments) == 1:
        return call("truncate", read(arguments[0]))
    unit = part_name(arguments[1], {**UNITS}) if arguments[1].key == "literal" else None
    if unit is not None:  # Oracle: TRUNC(day, 'MONTH')
        return call("date_trunc", Literal(unit), read(arguments[0]))
    x, digits = map(read, arguments)
    places = digits.constant
    if type(places) is not int or abs(places) > 15:
        raise Unsupported("TRUNC takes a number and a constant number of digits from -15 to 15")
    scale = Literal(10**places) if places >= 0 else Literal(10**-places)
    up, down = ("multiply", "divide") if places >= 0 else ("divide", "multiply")
    return call(down, call("truncate", call(up, x, scale)), scale)


def _swapped(function: str) -> Form:
    return lambda arguments, read: call(function, *(read(argument) for argument in reversed(arguments)))


def _mid(arguments: Sequence[Node], read: Read) -> Expression:
    values = [*map(read, arguments)]
    return call("substring", *values, *([Literal(_LONGEST)] if len(values) == 2 else []))


def _right(arguments: Sequence[Node], read: Read) -> Expression:
    return call("right", *map(read, arguments))


def _trimmed(function: str) -> Form:
    def form(arguments: Sequence[Node], read: Read) -> Expression:
        values = [*map(read, arguments)]
        if len(values) == 2 and values[1].constant != " ":
            raise Unsupported("spaces are trimmed, and no other signs; use REPLACE")
        return call(function, values[0])

    return form


def _power_of(exponent: int) -> Form:
    return lambda arguments, read: call("power", read(arguments[0]), Literal(exponent))


def _width_bucket(arguments: Sequence[Node], read: Read) -> Expression:
    x, low, high, bins = map(read, arguments)
    number = bins.constant
    if type(number) is not int:
        raise Unsupported("WIDTH_BUCKET takes a number, constant ends and a constant number of bins")
    inside = call("add", call("bucket", x, low, high, bins), Literal(1))
    below, above = call("less", x, low), call("greater_equal", x, high)
    missing = call("is_null", x)
    return call("case", missing, Literal(None), below, Literal(0), above, Literal(number + 1), inside)


def _plain(function: str) -> Form:
    return lambda arguments, read: call(function, *map(read, arguments))


def _kept(function: str, rest: Expression) -> Form:
    return lambda arguments, read: call(function, read(arguments[0]), rest)


def _concat_ws(arguments: Sequence[Node], read: Read) -> Expression:
    between, *rest = map(read, arguments)
    if not isinstance(between.constant, str):
        raise Unsupported("CONCAT_WS takes a constant separator, such as CONCAT_WS(', ', a, b)")
    # each after the separator, or nothing where it is NULL; the first separator is cut off
    pieces = [call("coalesce", call("concat", between, value), Literal("")) for value in rest]
    whole = pieces[0] if len(pieces) == 1 else call("concat", *pieces)
    return call("substring", whole, Literal(len(between.constant) + 1), Literal(_LONGEST))


Entry = tuple[int, int, str, Form]

SYNONYMS: Mapping[str, Entry] = {
    "DATEADD": (3, 3, "DATEADD(day, 7, x)", _dateadd),
    "TIMESTAMPADD": (3, 3, "TIMESTAMPADD(DAY, 7, x)", _dateadd),
    **dict.fromkeys(
        ("DATE_ADD", "ADDDATE", "TIMESTAMP_ADD", "DATETIME_ADD"), (2, 3, "DATE_ADD(x, INTERVAL 7 DAY)", _date_add(1))
    ),
    **dict.fromkeys(
        ("DATE_SUB", "SUBDATE", "TIMESTAMP_SUB", "DATETIME_SUB"), (2, 2, "DATE_SUB(x, INTERVAL 7 DAY)", _date_add(-1))
    ),
    "ADD_MONTHS": (2, 2, "ADD_MONTHS(x, 3)", lambda a, read: later(read(a[0]), read(a[1]), "month")),
    **dict.fromkeys(("DATEDIFF", "DATE_DIFF"), (2, 3, "DATE_DIFF('day', start, end)", _datediff)),
    "TIMESTAMPDIFF": (3, 3, "TIMESTAMPDIFF(MINUTE, start, end)", _timestampdiff),
    **dict.fromkeys(("TIMESTAMP_DIFF", "DATETIME_DIFF"), (3, 3, "TIMESTAMP_DIFF(end, start, MINUTE)", _timestamp_diff)),
    **dict.fromkeys(
        ("DATE_TRUNC", "TIMESTAMP_TRUNC", "DATETIME_TRUNC", "TIME_TRUNC"),
        (2, 2, "DATE_TRUNC('month', x)", _date_trunc),
    ),
    "DATETRUNC": (2, 2, "DATETRUNC(month, x)", _datetrunc),
    "DATE": (1, 3, "DATE(x), or DATE(2024, 12, 31)", _date),
    **dict.fromkeys(("TIMESTAMP", "DATETIME"), (1, 1, "TIMESTAMP(x)", _read_as("to_timestamp"))),
    **dict.fromkeys(
        ("TO_TIMESTAMP", "PARSE_TIMESTAMP", "PARSE_DATETIME"),
        (1, 2, "TO_TIMESTAMP('2024-12-31 23:59:59')", _read_as("to_timestamp")),
    ),
    **dict.fromkeys(
        ("TO_DATE", "PARSE_DATE", "STR_TO_DATE"), (1, 2, "TO_DATE('2024-12-31', 'YYYY-MM-DD')", _read_as("to_date"))
    ),
    "STRPTIME": (2, 2, "STRPTIME(x, '%Y-%m-%d')", _read_as("to_timestamp")),
    **dict.fromkeys(
        ("STRFTIME", "FORMAT_DATE", "FORMAT_TIMESTAMP", "FORMAT_DATETIME"), (2, 2, "STRFTIME(x, '%Y-%m')", _strftime)
    ),
    "DATE_FORMAT": (2, 2, "DATE_FORMAT(x, '%Y-%m')", _date_format),
    "TO_CHAR": (1, 2, "TO_CHAR(x, 'YYYY-MM')", _to_char),
    "MONTHNAME": (1, 1, "MONTHNAME(x)", _named_format("%B")),
    "DAYNAME": (1, 1, "DAYNAME(x)", _named_format("%A")),
    **dict.fromkeys(("LAST_DAY", "EOMONTH"), (1, 1, "LAST_DAY(x)", _last_day)),
    "ISNULL": (1, 2, "ISNULL(x, 0)", _isnull),
    **dict.fromkeys(("NVL", "IFNULL"), (2, 2, "IFNULL(x, 0)", _plain("coalesce"))),
    "ZEROIFNULL": (1, 1, "ZEROIFNULL(x)", _kept("coalesce", Literal(0))),
    "NULLIFZERO": (1, 1, "NULLIFZERO(x)", _kept("nullif", Literal(0))),
    "NVL2": (3, 3, "NVL2(x, 1, 0)", _nvl2),
    **dict.fromkeys(("IIF", "IFF"), (2, 3, "IIF(condition, a, b)", _iif)),
    "DECODE": (3, 10**6, "DECODE(x, 1, 'one', 2, 'two', 'more')", _decode),
    **dict.fromkeys(("SAFE_DIVIDE", "TRY_DIVIDE"), (2, 2, "SAFE_DIVIDE(a, b)", _plain("divide"))),
    "DIV0": (2, 2, "DIV0(a, b)", _div0),
    **dict.fromkeys(("TRUNC", "TRUNCATE"), (1, 2, "TRUNC(x)", _trunc)),
    "PI": (0, 0, "PI()", _pi),
    "RADIANS": (1, 1, "RADIANS(x)", _turned(Fraction(math.pi) / 180)),
    "DEGREES": (1, 1, "DEGREES(x)", _turned(180 / Fraction(math.pi))),
    "CONVERT": (2, 2, "CONVERT(VARCHAR, x)", _convert),
    "WEEKDAY": (1, 1, "WEEKDAY(x)", _weekday),
    "SQUARE": (1, 1, "SQUARE(x)", _power_of(2)),
    "WIDTH_BUCKET": (4, 4, "WIDTH_BUCKET(x, 0, 100, 10)", _width_bucket),
    **dict.fromkeys(("CHARINDEX", "LOCATE"), (2, 2, "CHARINDEX('b', x)", _swapped("position"))),
    **dict.fromkeys(("LEN", "CHAR_LENGTH", "CHARACTER_LENGTH"), (1, 1, "LENGTH(x)", _plain("length"))),
    "UCASE": (1, 1, "UPPER(x)", _plain("upper")),
    "LCASE": (1, 1, "LOWER(x)", _plain("lower")),
    **dict.fromkeys(("SUBSTR", "MID"), (2, 3, "SUBSTR(x, 1, 3)", _mid)),
    "LTRIM": (1, 2, "LTRIM(x)", _trimmed("left_trim")),
    "RTRIM": (1, 2, "RTRIM(x)", _trimmed("right_trim")),
    "BTRIM": (1, 2, "TRIM(x)", _trimmed("trim")),
    **dict.fromkeys(("PREFIX", "STARTSWITH"), (2, 2, "STARTS_WITH(x, 'a')", _plain("starts_with"))),
    **dict.fromkeys(("CONTAINS_SUBSTR",), (2, 2, "CONTAINS(x, 'a')", _plain("contains"))),
    "CONCAT_WS": (2, 10**6, "CONCAT_WS(', ', a, b)", _concat_ws),
    **dict.fromkeys(("TO_NUMBER", "TO_DOUBLE"), (1, 1, "TO_NUMBER(x)", _plain("to_number"))),
    **dict.fromkeys(("TO_VARCHAR", "STRING"), (1, 1, "CAST(x AS VARCHAR)", _plain("to_text"))),
    "CEILING": (1, 1, "CEIL(x)", _plain("ceil")),
    "POW": (2, 2, "POWER(x, 2)", _plain("power")),
    "EQUAL_NULL": (2, 2, "EQUAL_NULL(a, b)", lambda a, read: is_same(read(a[0]), read(a[1]))),
}
"""For each name: the fewest arguments and the most, how it is written, and its meaning."""


def in_pairs(node: Node, read: Read) -> Expression:
    """Return (a, b) IN ((1, 2), (3, 4)): whether all of one pair are equal; NULL equals nothing."""
    wanted = [read(column) for column in parts(part(node, "this"), "expressions")]
    tests: list[Expression] = []
    for pair in parts(node, "expressions"):
        given = parts(pair, "expressions") if pair.key == "tuple" else []
        if len(given) != len(wanted):
            raise Unsupported(f"write {len(wanted)} values in brackets for each pair: (a, b) IN ((1, 2), (3, 4))")
        tests.append(call("and", *(call("equal", x, read(y)) for x, y in zip(wanted, given, strict=True))))
    if not tests:
        raise Unsupported("write the pairs in brackets: (a, b) IN ((1, 2), (3, 4))")
    return call("coalesce", call("or", *tests), Literal(False))
