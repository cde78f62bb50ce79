"""The closed list of scalar functions. Every one is total: it never raises on any value, on any engine.

NULL in gives NULL out unless said otherwise, and whatever is undefined is NULL: a division by zero, the logarithm of a
negative number, a whole number that does not fit into 64 bits, a number that is not finite, a text that cannot be
read, a date outside the years 1 to 9999. A stored NaN is NULL. What is not in this list does not exist.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from privet.core.errors import InvariantError, UnknownName, Unsupported, WrongKind
from privet.core.expression import Call, ColumnRef, Expression, Literal
from privet.core.schema import ColumnFacts as Facts

from . import intervals, rules
from . import rules as rules_dates
from .normal import spelled
from .rules import Rule
from .several import GROUPING
from .typed import Typed, TypedArgument, of_column, of_literal, truth

MANY = 10**9

LONGEST = 2000
"""A text is its first 2,000 characters, where it is read and wherever texts are put together: no row may be so large
that a function of it, or a copy of it, exhausts an engine."""


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


def _f(name: str, takes: str, gives: str, meaning: str, rule: Rule, least: int, most: int | None = None) -> Function:
    return Function(name, takes, gives, meaning, rule, least, least if most is None else most)


_TEXT = rules.texts(rules.text)
_TRUTH_OF_TEXTS = rules.texts(truth)
_LENGTH = rules.texts(lambda nullable: Typed(kind="integer", nullable=nullable, low=Fraction(0)))
_ANY_NUMBER = "integer or number"
_SAME = "integer if all are, else number"
_TWO = "two of integer or number"
_PAIR = "two of one kind"
_MOMENT = "date or timestamp"

FUNCTIONS: Mapping[str, Function] = {
    function.name: function
    for function in (
        _f("add", _TWO, _SAME, "x + y", rules.arithmetic(intervals.add), 2),
        _f("subtract", _TWO, _SAME, "x - y", rules.arithmetic(rules.subtract), 2),
        _f("multiply", _TWO, _SAME, "x * y", rules.arithmetic(intervals.multiply), 2),
        _f("divide", _TWO, "number", "x / y in doubles; NULL where y is 0", rules.quotient, 2),
        _f("modulo", _TWO, _SAME, "x - y * trunc(x / y): the sign of x; NULL where y is 0", rules.remainder, 2),
        _f("negate", _ANY_NUMBER, "the same", "-x", rules.monotone(intervals.negate), 1),
        _f("abs", _ANY_NUMBER, "the same", "|x|", rules.monotone(intervals.absolute), 1),
        _f("floor", _ANY_NUMBER, "integer", "the largest whole number that is not above x", rules.FLOOR, 1),
        _f("ceil", _ANY_NUMBER, "integer", "the least whole number that is not below x", rules.CEIL, 1),
        _f("round", _ANY_NUMBER, "integer", "floor(x + 0.5)", rules.round_half_up, 1),
        _f(
            "round_to",
            "integer or number, constant digits from -15 to 15",
            "number",
            "floor(x * 10^d + 0.5) / 10^d in doubles (for d < 0: floor(x / 10^-d + 0.5) * 10^-d)",
            rules.round_to,
            2,
        ),
        _f("sign", _ANY_NUMBER, "integer", "-1, 0 or 1", rules.SIGN, 1),
        _f(
            "sqrt",
            _ANY_NUMBER,
            "number",
            "NULL where x < 0",
            rules.partial(intervals.root, lambda low: low >= 0),
            1,
        ),
        _f(
            "ln",
            _ANY_NUMBER,
            "number",
            "the natural logarithm; NULL where x <= 0",
            rules.partial(intervals.logarithm, lambda low: low > 0),
            1,
        ),
        _f(
            "exp",
            _ANY_NUMBER,
            "number",
            "e to the x; NULL where it is not finite",
            rules.monotone(intervals.exponential, to_whole=False),
            1,
        ),
        _f("power", _TWO, "number", "x to the y in doubles; NULL where undefined or not finite", rules.power, 2),
        _f(
            "least",
            "numbers, or dates and timestamps",
            "the common kind",
            "the smallest that is not NULL; NULL only if all are",
            rules.extreme,
            2,
            MANY,
        ),
        _f(
            "greatest",
            "numbers, or dates and timestamps",
            "the common kind",
            "the largest that is not NULL; NULL only if all are",
            rules.extreme,
            2,
            MANY,
        ),
        _f("equal", _PAIR, "boolean", "x = y", rules.comparison, 2),
        _f("not_equal", _PAIR, "boolean", "x <> y", rules.comparison, 2),
        _f("less", _PAIR, "boolean", "x < y; texts by code point", rules.comparison, 2),
        _f("less_equal", _PAIR, "boolean", "x <= y", rules.comparison, 2),
        _f("greater", _PAIR, "boolean", "x > y", rules.comparison, 2),
        _f("greater_equal", _PAIR, "boolean", "x >= y", rules.comparison, 2),
        _f("is_null", "anything", "boolean", "whether x is NULL; itself never NULL", rules.is_null, 1),
        _f("not", "boolean", "boolean", "three-valued", rules.connective, 1),
        _f("and", "booleans", "boolean", "three-valued: false if any is false", rules.connective, 2, MANY),
        _f("or", "booleans", "boolean", "three-valued: true if any is true", rules.connective, 2, MANY),
        _f("in", "a value, constants of its kind", "boolean", "whether x is one of them", rules.membership, 2, MANY),
        _f(
            "like",
            "text, constant pattern, optional constant escape character",
            "boolean",
            "% stands for any text, _ for one character; case counts; no escape unless given",
            rules.like,
            2,
            3,
        ),
        _f("lower", "text", "text", "in lower case", _TEXT, 1),
        _f("upper", "text", "text", "in upper case", _TEXT, 1),
        _f("length", "text", "integer", "the number of characters (code points)", _LENGTH, 1),
        _f("trim", "text", "text", "without spaces at both ends", _TEXT, 1),
        _f(
            "substring",
            "text, constant start from 1, constant length",
            "text",
            "so many characters (code points) from a place; fewer or none where the text ends",
            rules.substring,
            3,
        ),
        _f("starts_with", "two texts", "boolean", "whether x starts with y", _TRUTH_OF_TEXTS, 2),
        _f("contains", "two texts", "boolean", "whether x contains y", _TRUTH_OF_TEXTS, 2),
        _f(
            "concat",
            "texts",
            "text",
            f"one after the other, each and the whole cut to its first {LONGEST:,} characters; NULL if any is NULL",
            _TEXT,
            2,
            MANY,
        ),
        _f(
            "case",
            "condition, value, ..., value",
            "the common kind",
            "the value of the first condition that is true, else the last value",
            rules.case,
            3,
            MANY,
        ),
        _f("coalesce", "values of one kind", "the common kind", "the first that is not NULL", rules.coalesce, 2, MANY),
        _f("nullif", _PAIR, "the kind of x", "NULL where x = y, else x", rules.nullif, 2),
        _f(
            "to_integer",
            "integer, number, boolean or text",
            "integer",
            "numbers: floor(x + 0.5); texts: an optional sign and digits, spaces around them, else NULL",
            rules_dates.cast("integer", "integer", "number", "boolean", "text"),
            1,
        ),
        _f(
            "to_number",
            "integer, number or text",
            "number",
            "texts: a decimal with optional exponent, spaces around it; else, and if not finite, NULL",
            rules_dates.cast("number", "integer", "number", "text"),
            1,
        ),
        _f(
            "to_text",
            "integer, boolean, date or text",
            "text",
            "digits, true or false, YYYY-MM-DD",
            rules_dates.cast("text", "integer", "boolean", "date", "text"),
            1,
        ),
        _f(
            "to_date",
            "date, timestamp or text",
            "date",
            "timestamps: their day; texts: YYYY-MM-DD, else NULL",
            rules_dates.cast("date", "date", "timestamp", "text"),
            1,
        ),
        _f(
            "to_timestamp",
            "date, timestamp or text",
            "timestamp",
            "dates: midnight; texts: YYYY-MM-DD HH:MM:SS with optional fraction, or YYYY-MM-DD; else NULL",
            rules_dates.cast("timestamp", "date", "timestamp", "text"),
            1,
        ),
        _f(
            "to_boolean",
            "boolean, integer or text",
            "boolean",
            "integers: whether it is not 0; texts, in any case: true, t, 1 and false, f, 0, else NULL",
            rules_dates.cast("boolean", "boolean", "integer", "text"),
            1,
        ),
        _f("year", _MOMENT, "integer", "the year", rules_dates.year, 1),
        _f("quarter", _MOMENT, "integer", "1 to 4", rules_dates.part(1, 4), 1),
        _f("month", _MOMENT, "integer", "1 to 12", rules_dates.part(1, 12), 1),
        _f("week", _MOMENT, "integer", "the ISO week, 1 to 53", rules_dates.part(1, 53), 1),
        _f("day", _MOMENT, "integer", "the day of the month, 1 to 31", rules_dates.part(1, 31), 1),
        _f("day_of_week", _MOMENT, "integer", "1 for Monday to 7 for Sunday", rules_dates.part(1, 7), 1),
        _f("day_of_year", _MOMENT, "integer", "1 to 366", rules_dates.part(1, 366), 1),
        _f("hour", "timestamp", "integer", "0 to 23", rules_dates.part(0, 23, "timestamp"), 1),
        _f("minute", "timestamp", "integer", "0 to 59", rules_dates.part(0, 59, "timestamp"), 1),
        _f("second", "timestamp", "integer", "0 to 59, without the fraction", rules_dates.part(0, 59, "timestamp"), 1),
        _f(
            "date_trunc",
            "constant part, date or timestamp",
            "the kind of x",
            "the start of the day, week (Monday), month, quarter or year (timestamps: also second, minute, hour)",
            rules_dates.date_trunc,
            2,
        ),
        _f(
            "date_diff",
            "constant part, two of date or timestamp",
            "integer",
            "how many starts of that part lie after x and not after y; negative if y comes first",
            rules_dates.date_diff,
            3,
        ),
        _f(
            "add_days",
            "date or timestamp, constant integer",
            "the kind of x",
            "so many days later",
            rules_dates.shift("day", "date", "timestamp"),
            2,
        ),
        _f(
            "add_months",
            "date or timestamp, constant integer",
            "the kind of x",
            "so many months later; a day that the month does not have becomes its last",
            rules_dates.shift("month", "date", "timestamp"),
            2,
        ),
        _f(
            "add_seconds",
            "timestamp, constant integer",
            "timestamp",
            "so many seconds later",
            rules_dates.shift("second", "timestamp"),
            2,
        ),
        _f(
            "bin",
            "integer or number, constant width above 0",
            "integer if the width is, else number",
            "floor(x / width) * width: the low end of the bin that holds x",
            rules.bin_of,
            2,
        ),
        _f(
            "bucket",
            "integer or number, constants low < high, constant integer bins from 1 to 10000",
            "integer",
            "the number, from 0 to bins - 1, of the equal bin of [low, high] that holds x: "
            "floor((x - low) * bins / (high - low)), clamped",
            rules.bucket,
            4,
        ),
    )
}


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


def longest(column: Facts) -> int:
    """Return how many characters of a column's texts are read: as many as its longest public value has, if more."""
    return max([LONGEST, *(len(value) for value in column.values or () if isinstance(value, str))])


def mentions(expression: Expression) -> frozenset[str]:
    """Return the names of the columns that an expression reads."""
    if isinstance(expression, ColumnRef):
        return frozenset((expression.name,))
    if isinstance(expression, Literal):
        return frozenset()
    if not isinstance(expression, Call):
        raise InvariantError("an expression is a column, a literal or a call")
    return frozenset().union(*(mentions(argument) for argument in expression.arguments))
