"""The closed list of scalar functions. Every one is total: it never raises on any value, on any engine.

NULL in gives NULL out unless said otherwise, and whatever is undefined is NULL: a division by zero, the logarithm of a
negative number, a whole number that does not fit into 64 bits, a number that is not finite, a text that cannot be
read, a date outside the years 1 to 9999. A stored NaN is NULL. What is not in this list does not exist.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from privet.core.errors import BadParameter, UnknownName, Unsupported, WrongKind
from privet.core.relation import ColumnRef, Expression, Literal
from privet.core.schema import ColumnFacts as Facts

from . import evaluation as python
from . import normal as dates
from . import rules
from . import typed as intervals
from .evaluation import Evaluate
from .nodes import GROUPING
from .normal import spelled
from .rules import Rule
from .typed import INT64, LONGEST, Typed, TypedArgument, of_column, of_literal, truth, unify

MANY = 10**9


@dataclass(frozen=True)
class Function:
    """One total function: its argument kinds and result kind in words, what it means, and its rule."""

    name: str
    takes: str
    gives: str
    meaning: str
    rule: Rule
    least: int
    most: int
    value: Evaluate
    """Its value in Python, for the oracle and for rows that are released."""
    nodes: tuple[str, ...] = ()
    """The parser's names for it where its arguments stand in order: operators, and functions by other names."""
    sql: tuple[str, ...] = ()
    """The names by which SQL calls it, in capitals, where that needs no translation of its own."""
    sees_null: bool = False
    """Whether it can give something for a NULL; all others give NULL."""
    exact: bool = False
    """Whether engines compute it exactly in whole numbers, so that a result keeps to its facts if arguments do."""
    one_kind: bool = False
    """Whether its arguments are first made one kind."""
    reads: int = 1
    """How many times it reads a text, at most; 0 where it looks at no more than the first difference of two."""


def _f(
    name: str,
    takes: str,
    gives: str,
    meaning: str,
    rule: Rule,
    least: int,
    most: int | None = None,
    *,
    value: Evaluate,
    **facts: Any,
) -> Function:
    return Function(name, takes, gives, meaning, rule, least, least if most is None else most, value, **facts)


_TEXT = rules.texts(rules.text)
_TRUTH_OF_TEXTS = rules.texts(truth)
_LENGTH = rules.texts(lambda nullable: Typed(kind="integer", nullable=nullable, low=Fraction(0)))
_ANY_NUMBER = "integer or number"
_SAME = "integer if all are, else number"
_TWO = "two of integer or number"
_PAIR = "two of one kind"
_MOMENT = "date or timestamp"

_TABLE: dict[str, Function] = {
    function.name: function
    for function in (
        _f(
            "add",
            _TWO,
            _SAME,
            "x + y",
            rules.arithmetic(intervals.add),
            2,
            value=python.arithmetic(lambda x, y: x + y),
            exact=True,
            one_kind=True,
        ),
        _f(
            "subtract",
            _TWO,
            _SAME,
            "x - y",
            rules.arithmetic(rules.subtract),
            2,
            value=python.arithmetic(lambda x, y: x - y),
            exact=True,
            one_kind=True,
        ),
        _f(
            "multiply",
            _TWO,
            _SAME,
            "x * y",
            rules.arithmetic(intervals.multiply),
            2,
            value=python.arithmetic(lambda x, y: x * y),
            nodes=("mul",),
            exact=True,
            one_kind=True,
        ),
        _f(
            "divide",
            _TWO,
            "number",
            "x / y in doubles; NULL where y is 0",
            rules.quotient,
            2,
            value=lambda values, kinds: python.finite(lambda: float(values[0]) / float(values[1])),
            nodes=("div",),
        ),
        _f(
            "modulo",
            _TWO,
            _SAME,
            "x - y * trunc(x / y): the sign of x; NULL where y is 0",
            rules.remainder,
            2,
            value=python.modulo,
            nodes=("mod",),
            exact=True,
            one_kind=True,
        ),
        _f(
            "divide_whole",
            "two integers",
            "integer",
            "x / y without its fraction, cut towards 0; NULL where y is 0",
            rules.whole_quotient,
            2,
            value=python.divide_whole,
            nodes=("intdiv",),
            sql=("DIV",),
            exact=True,
        ),
        _f(
            "negate",
            _ANY_NUMBER,
            "the same",
            "-x",
            rules.monotone(intervals.negate),
            1,
            value=lambda values, kinds: python.fit(-values[0]) if kinds[0] == "integer" else -values[0],
            nodes=("neg",),
            exact=True,
        ),
        _f(
            "abs",
            _ANY_NUMBER,
            "the same",
            "|x|",
            rules.monotone(intervals.absolute),
            1,
            value=lambda values, kinds: python.fit(abs(values[0])) if kinds[0] == "integer" else abs(values[0]),
            nodes=("abs",),
            exact=True,
        ),
        _f(
            "floor",
            _ANY_NUMBER,
            "integer",
            "the largest whole number that is not above x",
            rules.FLOOR,
            1,
            value=python.rounding(python.floor),
            nodes=("floor",),
        ),
        _f(
            "ceil",
            _ANY_NUMBER,
            "integer",
            "the least whole number that is not below x",
            rules.CEIL,
            1,
            value=python.rounding(lambda x: python.fit(math.ceil(x)) if math.isfinite(x) else None),
            nodes=("ceil",),
        ),
        _f(
            "truncate",
            _ANY_NUMBER,
            "integer",
            "x without its fraction, cut towards 0",
            rules.TRUNCATE,
            1,
            value=python.rounding(lambda x: python.fit(math.trunc(x)) if math.isfinite(x) else None),
        ),
        _f(
            "round",
            _ANY_NUMBER,
            "integer",
            "floor(x + 0.5)",
            rules.round_half_up,
            1,
            value=python.rounding(lambda x: python.floor(x + 0.5)),
        ),
        _f(
            "round_to",
            "integer or number, constant digits from -15 to 15",
            "number",
            "floor(x * 10^d + 0.5) / 10^d in doubles (for d < 0: floor(x / 10^-d + 0.5) * 10^-d)",
            rules.round_to,
            2,
            value=python.round_to,
        ),
        _f(
            "sign",
            _ANY_NUMBER,
            "integer",
            "-1, 0 or 1",
            rules.SIGN,
            1,
            value=lambda values, kinds: (values[0] > 0) - (values[0] < 0),
            nodes=("sign",),
        ),
        _f(
            "sqrt",
            _ANY_NUMBER,
            "number",
            "NULL where x < 0",
            rules.partial(intervals.root, lambda low: low >= 0),
            1,
            value=lambda values, kinds: python.finite(lambda: math.sqrt(values[0])),
            nodes=("sqrt",),
        ),
        _f(
            "ln",
            _ANY_NUMBER,
            "number",
            "the natural logarithm; NULL where x <= 0",
            rules.partial(intervals.logarithm, lambda low: low > 0),
            1,
            value=lambda values, kinds: python.finite(lambda: math.log(float(values[0]))),
            nodes=("ln",),
        ),
        _f(
            "log10",
            _ANY_NUMBER,
            "number",
            "the logarithm to base 10; NULL where x <= 0",
            rules.partial(intervals.logarithm_of(10), lambda low: low > 0),
            1,
            value=lambda values, kinds: python.finite(lambda: math.log10(float(values[0]))),
            sql=("LOG10",),
        ),
        _f(
            "log2",
            _ANY_NUMBER,
            "number",
            "the logarithm to base 2; NULL where x <= 0",
            rules.partial(intervals.logarithm_of(2), lambda low: low > 0),
            1,
            value=lambda values, kinds: python.finite(lambda: math.log2(float(values[0]))),
            sql=("LOG2",),
        ),
        _f(
            "exp",
            _ANY_NUMBER,
            "number",
            "e to the x; NULL where it is not finite",
            rules.monotone(intervals.exponential, to_whole=False),
            1,
            value=lambda values, kinds: python.finite(lambda: math.exp(values[0])),
            nodes=("exp",),
        ),
        _f(
            "power",
            _TWO,
            "number",
            "x to the y in doubles; NULL where undefined or not finite",
            rules.power,
            2,
            value=lambda values, kinds: python.finite(lambda: math.pow(values[0], values[1])),
            nodes=("pow",),
        ),
        _f(
            "least",
            "numbers, or dates and timestamps",
            "the common kind",
            "the smallest that is not NULL; NULL only if all are",
            rules.extreme,
            2,
            MANY,
            value=lambda values, kinds: min((one for one in values if one is not None), default=None),
            sees_null=True,
            exact=True,
            one_kind=True,
        ),
        _f(
            "greatest",
            "numbers, or dates and timestamps",
            "the common kind",
            "the largest that is not NULL; NULL only if all are",
            rules.extreme,
            2,
            MANY,
            value=lambda values, kinds: max((one for one in values if one is not None), default=None),
            sees_null=True,
            exact=True,
            one_kind=True,
        ),
        _f(
            "equal",
            _PAIR,
            "boolean",
            "x = y",
            rules.comparison,
            2,
            value=lambda values, kinds: values[0] == values[1],
            nodes=("eq",),
            one_kind=True,
            reads=0,
        ),
        _f(
            "not_equal",
            _PAIR,
            "boolean",
            "x <> y",
            rules.comparison,
            2,
            value=lambda values, kinds: values[0] != values[1],
            nodes=("neq",),
            one_kind=True,
            reads=0,
        ),
        _f(
            "less",
            _PAIR,
            "boolean",
            "x < y; texts by code point",
            rules.comparison,
            2,
            value=lambda values, kinds: values[0] < values[1],
            nodes=("lt",),
            one_kind=True,
            reads=0,
        ),
        _f(
            "less_equal",
            _PAIR,
            "boolean",
            "x <= y",
            rules.comparison,
            2,
            value=lambda values, kinds: values[0] <= values[1],
            nodes=("lte",),
            one_kind=True,
            reads=0,
        ),
        _f(
            "greater",
            _PAIR,
            "boolean",
            "x > y",
            rules.comparison,
            2,
            value=lambda values, kinds: values[0] > values[1],
            nodes=("gt",),
            one_kind=True,
            reads=0,
        ),
        _f(
            "greater_equal",
            _PAIR,
            "boolean",
            "x >= y",
            rules.comparison,
            2,
            value=lambda values, kinds: values[0] >= values[1],
            nodes=("gte",),
            one_kind=True,
            reads=0,
        ),
        _f(
            "is_null",
            "anything",
            "boolean",
            "whether x is NULL; itself never NULL",
            rules.is_null,
            1,
            value=lambda values, kinds: values[0] is None,
            sees_null=True,
            reads=0,
        ),
        _f(
            "not",
            "boolean",
            "boolean",
            "three-valued",
            rules.connective,
            1,
            value=lambda values, kinds: None if values[0] is None else not values[0],
            nodes=("not",),
            reads=0,
        ),
        _f(
            "and",
            "booleans",
            "boolean",
            "three-valued: false if any is false",
            rules.connective,
            2,
            MANY,
            value=python.all_,
            sees_null=True,
            reads=0,
        ),
        _f(
            "or",
            "booleans",
            "boolean",
            "three-valued: true if any is true",
            rules.connective,
            2,
            MANY,
            value=python.any_,
            sees_null=True,
            reads=0,
        ),
        _f(
            "in",
            "a value, constants of its kind",
            "boolean",
            "whether x is one of them",
            rules.membership,
            2,
            MANY,
            value=lambda values, kinds: values[0] in values[1:],
            one_kind=True,
            reads=0,
        ),
        _f(
            "like",
            "text, constant pattern, optional constant escape character",
            "boolean",
            "% stands for any text, _ for one character; case counts; no escape unless given",
            rules.like,
            2,
            3,
            value=python.like,
        ),
        _f("lower", "text", "text", "in lower case", _TEXT, 1, value=python.simple_case(str.lower), nodes=("lower",)),
        _f("upper", "text", "text", "in upper case", _TEXT, 1, value=python.simple_case(str.upper), nodes=("upper",)),
        _f(
            "length",
            "text",
            "integer",
            "the number of characters (code points)",
            _LENGTH,
            1,
            value=lambda values, kinds: len(values[0]),
            nodes=("length",),
        ),
        _f(
            "trim",
            "text",
            "text",
            "without spaces at both ends",
            _TEXT,
            1,
            value=lambda values, kinds: values[0].strip(" "),
        ),
        _f(
            "left_trim",
            "text",
            "text",
            "without spaces at its start",
            _TEXT,
            1,
            value=lambda values, kinds: values[0].lstrip(" "),
        ),
        _f(
            "right_trim",
            "text",
            "text",
            "without spaces at its end",
            _TEXT,
            1,
            value=lambda values, kinds: values[0].rstrip(" "),
        ),
        _f(
            "octet_length",
            "text",
            "integer",
            "the number of bytes in UTF-8",
            rules.texts(rules.counted(0, None)),
            1,
            value=lambda values, kinds: len(values[0].encode()),
            sql=("OCTET_LENGTH", "BYTE_LENGTH"),
        ),
        _f(
            "position",
            "two texts",
            "integer",
            "the place, from 1, at which y first stands in x; 0 where it does not",
            rules.texts(rules.counted(0, None)),
            2,
            value=lambda values, kinds: values[0].find(values[1]) + 1,
            sql=("STRPOS", "INSTR"),
            reads=2,
        ),
        _f(
            "right",
            "text, constant length",
            "text",
            "the last n characters (code points)",
            rules.right,
            2,
            value=lambda values, kinds: values[0][max(0, len(values[0]) - values[1]) :],
            sql=("RIGHT",),
            reads=2,
        ),
        _f(
            "replace",
            f"text, constant text of at least one character, constant text of at most {rules.LONGEST_INSTEAD}",
            "text",
            f"x with z instead of each y, cut to its first {LONGEST:,} characters",
            rules.replace,
            3,
            value=lambda values, kinds: values[0][:LONGEST].replace(values[1], values[2])[:LONGEST],
            sql=("REPLACE",),
            reads=2 * rules.LONGEST_INSTEAD,
        ),
        _f(
            "left_pad",
            f"text, constant length up to {LONGEST:,}, constant text of at least one character",
            "text",
            "x with y before it, again and again, up to that length; a longer x is cut",
            rules.padded,
            3,
            value=python.left_pad,
            sql=("LPAD",),
            reads=2,
        ),
        _f(
            "right_pad",
            f"text, constant length up to {LONGEST:,}, constant text of at least one character",
            "text",
            "x with y after it, again and again, up to that length; a longer x is cut",
            rules.padded,
            3,
            value=python.right_pad,
            sql=("RPAD",),
            reads=2,
        ),
        _f(
            "split_part",
            "text, constant text of at least one character, constant place from 1",
            "text",
            "the part of x at that place, where y parts it; empty where there are fewer",
            rules.split_part,
            3,
            value=python.split_part,
            sql=("SPLIT_PART",),
            reads=3,
        ),
        _f(
            "substring",
            "text, constant start from 1, constant length",
            "text",
            "n characters (code points) from a place; fewer or none where the text ends",
            rules.substring,
            3,
            value=lambda values, kinds: values[0][values[1] - 1 : values[1] - 1 + values[2]],
        ),
        _f(
            "starts_with",
            "two texts",
            "boolean",
            "whether x starts with y",
            _TRUTH_OF_TEXTS,
            2,
            value=lambda values, kinds: values[0].startswith(values[1]),
            nodes=("startswith",),
        ),
        _f(
            "ends_with",
            "two texts",
            "boolean",
            "whether x ends with y",
            _TRUTH_OF_TEXTS,
            2,
            value=lambda values, kinds: values[0].endswith(values[1]),
            sql=("ENDS_WITH", "ENDSWITH", "SUFFIX"),
        ),
        _f(
            "contains",
            "two texts",
            "boolean",
            "whether x contains y",
            _TRUTH_OF_TEXTS,
            2,
            value=lambda values, kinds: values[1] in values[0],
            nodes=("contains",),
        ),
        _f(
            "concat",
            "texts",
            "text",
            f"one after the other, each and the whole cut to its first {LONGEST:,} characters; NULL if any is NULL",
            _TEXT,
            2,
            MANY,
            value=lambda values, kinds: "".join(value[:LONGEST] for value in values)[:LONGEST],
            nodes=("dpipe",),
        ),
        _f(
            "case",
            "condition, value, ..., value",
            "the common kind",
            "the value of the first condition that is true, else the last value",
            rules.case,
            3,
            MANY,
            value=python.case,
            sees_null=True,
            exact=True,
            reads=0,
        ),
        _f(
            "coalesce",
            "values of one kind",
            "the common kind",
            "the first that is not NULL",
            rules.coalesce,
            2,
            MANY,
            value=python.coalesce,
            sees_null=True,
            exact=True,
            reads=0,
        ),
        _f(
            "nullif",
            _PAIR,
            "the kind of x",
            "NULL where x = y, else x",
            rules.nullif,
            2,
            value=python.nullif,
            nodes=("nullif",),
            sees_null=True,
            exact=True,
            reads=0,
        ),
        _f(
            "to_integer",
            "integer, number, boolean or text",
            "integer",
            "numbers: floor(x + 0.5); texts: an optional sign and digits, spaces around them, else NULL",
            rules.cast("integer", "integer", "number", "boolean", "text"),
            1,
            value=python.to_integer,
            reads=5,
        ),
        _f(
            "to_number",
            "integer, number or text",
            "number",
            "texts: a decimal with optional exponent, spaces around it; else, and if not finite, NULL",
            rules.cast("number", "integer", "number", "text"),
            1,
            value=python.to_number,
            reads=5,
        ),
        _f(
            "to_text",
            "integer, boolean, date or text",
            "text",
            "digits, true or false, YYYY-MM-DD",
            rules.cast("text", "integer", "boolean", "date", "text"),
            1,
            value=python.to_text,
            reads=5,
        ),
        _f(
            "to_date",
            "date, timestamp or text",
            "date",
            "timestamps: their day; texts: YYYY-MM-DD, else NULL",
            rules.cast("date", "date", "timestamp", "text"),
            1,
            value=python.to_date,
            reads=5,
        ),
        _f(
            "to_timestamp",
            "date, timestamp or text",
            "timestamp",
            "dates: midnight; texts: YYYY-MM-DD HH:MM:SS with optional fraction, or YYYY-MM-DD; else NULL",
            rules.cast("timestamp", "date", "timestamp", "text"),
            1,
            value=python.to_timestamp,
            reads=5,
        ),
        _f(
            "to_boolean",
            "boolean, integer or text",
            "boolean",
            "integers: whether it is not 0; texts, in any case: true, t, 1 and false, f, 0, else NULL",
            rules.cast("boolean", "boolean", "integer", "text"),
            1,
            value=python.to_boolean,
            reads=5,
        ),
        _f(
            "year",
            _MOMENT,
            "integer",
            "the year",
            rules.year,
            1,
            value=lambda values, kinds: values[0].year,
            nodes=("year",),
        ),
        _f(
            "quarter",
            _MOMENT,
            "integer",
            "1 to 4",
            rules.part(1, 4),
            1,
            value=lambda values, kinds: (values[0].month + 2) // 3,
            nodes=("quarter",),
        ),
        _f(
            "month",
            _MOMENT,
            "integer",
            "1 to 12",
            rules.part(1, 12),
            1,
            value=lambda values, kinds: values[0].month,
            nodes=("month",),
        ),
        _f(
            "week",
            _MOMENT,
            "integer",
            "the ISO week, 1 to 53",
            rules.part(1, 53),
            1,
            value=lambda values, kinds: values[0].isocalendar()[1],
            nodes=(
                "week",
                "weekofyear",
            ),
        ),
        _f(
            "day",
            _MOMENT,
            "integer",
            "the day of the month, 1 to 31",
            rules.part(1, 31),
            1,
            value=lambda values, kinds: values[0].day,
            nodes=(
                "day",
                "dayofmonth",
            ),
        ),
        _f(
            "day_of_week",
            _MOMENT,
            "integer",
            "1 for Monday to 7 for Sunday",
            rules.part(1, 7),
            1,
            value=lambda values, kinds: values[0].isoweekday(),
            nodes=("dayofweekiso",),
        ),
        _f(
            "day_of_year",
            _MOMENT,
            "integer",
            "1 to 366",
            rules.part(1, 366),
            1,
            value=lambda values, kinds: values[0].timetuple().tm_yday,
            nodes=("dayofyear",),
        ),
        _f(
            "hour",
            "timestamp",
            "integer",
            "0 to 23",
            rules.part(0, 23, "timestamp"),
            1,
            value=lambda values, kinds: values[0].hour,
            nodes=("hour",),
        ),
        _f(
            "minute",
            "timestamp",
            "integer",
            "0 to 59",
            rules.part(0, 59, "timestamp"),
            1,
            value=lambda values, kinds: values[0].minute,
            nodes=("minute",),
        ),
        _f(
            "second",
            "timestamp",
            "integer",
            "0 to 59, without the fraction",
            rules.part(0, 59, "timestamp"),
            1,
            value=lambda values, kinds: values[0].second,
            nodes=("second",),
        ),
        _f(
            "date_trunc",
            "constant part, date or timestamp",
            "the kind of x",
            "the start of the day, week (Monday), month, quarter or year (timestamps: also second, minute, hour)",
            rules.date_trunc,
            2,
            value=lambda values, kinds: dates.truncate(values[1], values[0]),
        ),
        _f(
            "date_diff",
            "constant part, two of date or timestamp",
            "integer",
            "how many starts of that part lie after x and not after y; negative if y comes first",
            rules.date_diff,
            3,
            value=lambda values, kinds: dates.difference(values[0], values[1], values[2]),
        ),
        _f(
            "epoch_us",
            _MOMENT,
            "integer",
            "the microseconds from the start of 1970 to x; negative before",
            rules.epoch_us,
            1,
            value=lambda values, kinds: dates.microseconds(values[0]),
            sql=("EPOCH_US",),
        ),
        _f(
            "as_date",
            _ANY_NUMBER,
            "date",
            "the date x days after 1970-01-01, x rounded to whole days; NULL outside the years 1 to 9999",
            rules.moment_of("date"),
            1,
            value=lambda values, kinds: dates.date_at(values[0]),
            sql=("AS_DATE",),
        ),
        _f(
            "as_timestamp",
            _ANY_NUMBER,
            "timestamp",
            "the point in time x days after the start of 1970-01-01; NULL outside the years 1 to 9999",
            rules.moment_of("timestamp"),
            1,
            value=lambda values, kinds: dates.timestamp_at(values[0]),
            sql=("AS_TIMESTAMP",),
        ),
        _f(
            "make_date",
            "three integers",
            "date",
            "the day of a year, a month and a day; NULL where there is none",
            rules.make_date,
            3,
            value=python.make_date,
            sql=("MAKE_DATE", "DATEFROMPARTS", "DATE_FROM_PARTS"),
        ),
        _f(
            "format_date",
            "date or timestamp, constant format",
            "text",
            "as a format says: %Y, %m, %d, %H, %M, %S, %y, %j, %b, %B, %a, %A, %u, %V, %G",
            rules.format_date,
            2,
            value=lambda values, kinds: dates.formatted(values[0], values[1]),
        ),
        _f(
            "add_days",
            "date or timestamp, constant integer",
            "the kind of x",
            "n days later",
            rules.shift("day", "date", "timestamp"),
            2,
            value=python.shift("day"),
        ),
        _f(
            "add_months",
            "date or timestamp, constant integer",
            "the kind of x",
            "n months later; a day that the month does not have becomes its last",
            rules.shift("month", "date", "timestamp"),
            2,
            value=python.shift("month"),
        ),
        _f(
            "add_seconds",
            "timestamp, constant integer",
            "timestamp",
            "n seconds later",
            rules.shift("second", "timestamp"),
            2,
            value=python.shift("second"),
        ),
        _f(
            "clamp",
            "integer or number, two constants, the lower one first",
            _SAME,
            "the nearest number to x from the one to the other; NULL stays NULL",
            rules.clamp,
            3,
            value=lambda values, kinds: min(max(values[0], values[1]), values[2]),
            one_kind=True,
            sql=("CLAMP",),
        ),
        _f(
            "bin",
            "integer or number, constant width above 0",
            "integer if the width is, else number",
            "floor(x / width) * width: the low end of the bin that holds x",
            rules.bin_of,
            2,
            value=python.bin,
        ),
        _f(
            "bucket",
            "integer or number, constants low < high, constant integer bins from 1 to 10000",
            "integer",
            "the number, from 0 to bins - 1, of the equal bin of [low, high] that holds x: "
            "floor((x - low) * bins / (high - low)), clamped",
            rules.bucket,
            4,
            value=python.bucket,
        ),
    )
}


FUNCTIONS: Mapping[str, Function] = _TABLE
_BY_SQL = {name: function for function in _TABLE.values() for name in function.sql}


def in_sql(name: str) -> Function | None:
    """Return the function that SQL calls by a name, of those that need no translation of their own."""
    return _BY_SQL.get(name)


def sql_names() -> tuple[str, ...]:
    """Return the names by which SQL calls functions that need no translation of their own."""
    return tuple(_BY_SQL)


def register(function: Function) -> None:
    """Add a function from outside to the closed list.

    A dialect has it once its `forms` say how it is written. SQL calls it by the names in `sql`, and Python as
    `privet.query.terms.function_of`. Its rule must be true of what every engine computes: the author of a function
    vouches for that, for what a rule bounds is what noise is scaled to.
    """
    if function.name in _TABLE or not function.name.isidentifier() or function.name != function.name.lower():
        raise BadParameter("function", function.name, "a new name in lower case")
    _TABLE[function.name] = function
    _BY_SQL.update(dict.fromkeys(function.sql, function))


def unregister(function: Function) -> None:
    """Take a function that was added from outside out of the list again."""
    if _TABLE.get(function.name) is function and function.sql:
        del _TABLE[function.name]
        for name in function.sql:
            _BY_SQL.pop(name, None)


def typed(expression: Expression, columns: Mapping[str, Facts]) -> Typed:
    """Return the kind, nullability and interval of an expression, as engines compute it, from declared facts alone.

    Every bounded column is taken to be clamped to its bounds. Raises a `RequestError` that says which kinds a function
    takes.
    """
    if isinstance(expression, Literal):
        return of_literal(expression.value)
    if isinstance(expression, ColumnRef):
        if expression.name not in columns:
            raise UnknownName("column", expression.name, columns)
        return of_column(columns[expression.name])
    function = FUNCTIONS.get(expression.function)
    if expression.function == GROUPING:
        raise Unsupported(
            "GROUPING(...) tells levels apart, in the outermost SELECT list, HAVING or ORDER BY; a row has none"
        )
    if function is None:
        raise UnknownName("function", expression.function, FUNCTIONS)
    if not function.least <= len(expression.arguments) <= function.most:
        raise WrongKind(spelled(function.name), function.takes, (f"{len(expression.arguments)} arguments",))
    arguments = [TypedArgument(argument, typed(argument, columns)) for argument in expression.arguments]
    return function.rule(function.name, arguments)


def evaluate_row(expression: Expression, row: Mapping[str, Any], columns: Mapping[str, Facts]) -> Any:
    """Return the value of an expression for one row whose values already keep to the declared facts."""
    return prepared(expression, columns)(row)


def prepared(expression: Expression, columns: Mapping[str, Facts]) -> Callable[[Mapping[str, Any]], Any]:
    """Return how to compute an expression for a row, with its kinds looked up once."""
    match expression:
        case Literal(value=said):
            constant = literal(said)
            return lambda row: constant
        case ColumnRef(name=name):
            return lambda row: row[name]
    inner = [prepared(argument, columns) for argument in expression.arguments]
    facts = [typed(argument, columns) for argument in expression.arguments]
    kinds = [fact.kind for fact in facts]
    function = FUNCTIONS[expression.function]
    chosen = function.name in ("case", "coalesce")
    kind = None
    if chosen:
        kind = unify(function.name, [*facts[1::2], facts[-1]] if function.name == "case" else facts)
    elif function.one_kind:
        kind = unify(function.name, facts)

    def value(row: Mapping[str, Any]) -> Any:
        values = [compute(row) for compute in inner]
        if not function.sees_null and any(one is None for one in values):
            return None
        if chosen:
            return python.as_kind(kind, function.value(values, kinds))
        if function.one_kind:
            return function.value([python.as_kind(kind, one) for one in values], [kind] * len(values))
        return function.value(values, kinds)

    return value


def literal(value: Any) -> Any:
    """Return a constant as a value: exact decimals become the nearest double."""
    if isinstance(value, Fraction):
        try:
            return float(value)
        except OverflowError:
            return None
    if type(value) is int and not INT64[0] <= value <= INT64[1]:
        raise Unsupported("a whole number must fit into 64 bits; write a decimal, such as 1e30")
    return value


def longest(column: Facts) -> int:
    """Return how many characters of a column's texts are read: as many as its longest public value has, if more."""
    return max([LONGEST, *(len(value) for value in column.values or () if isinstance(value, str))])


def mentions(expression: Expression) -> frozenset[str]:
    """Return the names of the columns that an expression reads."""
    if expression.column is not None:
        return frozenset((expression.column,))
    return frozenset().union(*map(mentions, expression.arguments))
