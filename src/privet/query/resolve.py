"""Checks names and kinds against declared facts, and reads a constant text beside a date as a date.

Everything here is decided from public facts; the same expression is accepted or refused whatever the data is.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from privet.aggregates import entry_of
from privet.core.errors import RequestError, Unbounded, UnknownName, Unsupported, WrongKind
from privet.core.relation import Call, ColumnRef, Expression, Literal, parts_of
from privet.core.schema import ColumnFacts as Facts
from privet.core.unit import person_column

from .expressions import mentions, typed, typed_where
from .nodes import MARK, PrivateRows, Query, has_aggregate
from .normal import EPOCH, MICROSECONDS, MIRROR, call, folded, text
from .typed import LONGEST, Typed

MOST_PARTS = 10_000
"""The most parts of an expression: a column that is used twice at each of many levels would have 2**levels."""

_LARGEST_DENOMINATOR = 2**20
_COMPARED = frozenset((*MIRROR, "in", "nullif", "coalesce"))
_OF_TRUTHS = frozenset(MARK + name for name in ("sum", "avg", "var_pop", "var_samp", "stddev_pop", "stddev_samp"))
"""Aggregates that take a boolean as 0 or 1."""
_DATE = re.compile(r"(\d{4})(?:([-/])(\d{1,2})\2(\d{1,2})|(\d{2})(\d{2}))", re.ASCII)
_TIME = re.compile(r"[ T](\d{1,2}):(\d{2})(?::(\d{2})(?:\.(\d{1,6}))?)?(?:Z| ?\+00(?::?00)?)?", re.ASCII)


def checked(expression: Expression, columns: Mapping[str, Facts]) -> Expression:
    """Return an expression with its dates read, refusing unknown names and kinds that do not fit."""
    result = fitted(expression, columns)
    typed(result, columns)
    return result


def condition(expression: Expression, columns: Mapping[str, Facts], clause: str) -> Expression:
    """Return a checked condition."""
    result = as_condition(checked(expression, columns), columns)
    kind = typed(result, columns).kind
    if kind != "boolean":
        raise WrongKind(clause, "a condition", (kind or "NULL",), advice="compare it: x = 1, x > 0, x IS NULL")
    return result


def substitute(expression: Expression, replace: Callable[[Expression], Expression | None]) -> Expression:
    """Return an expression with subtrees replaced, from the top; what `replace` returns None for is entered."""
    replacement = replace(expression)
    if replacement is not None:
        return replacement
    if not expression.function:
        return expression
    return call(expression.function, *(substitute(argument, replace) for argument in expression.arguments))


def read_date(value: str) -> datetime.date:
    """Return the date of a constant text: 2024-12-31, 2024-1-9, 2024/12/31 or 20241231."""
    match = _DATE.fullmatch(value.strip())
    day = None if match is None else _day(match)
    if day is None:
        raise RequestError(f"{value[:40]!r} is not a date; write it as DATE '2024-12-31'")
    return day


def read_timestamp(value: str) -> datetime.datetime:
    """Return the point in time of a constant text: a date, and a time in UTC if it has one."""
    text = value.strip()
    first = _DATE.match(text)
    day = None if first is None else _day(first)
    rest = "" if first is None else text[first.end() :]
    time = _TIME.fullmatch(rest) if rest else None
    if day is not None and not rest:
        return datetime.datetime.combine(day, datetime.time())
    if day is not None and time is not None:
        hour, minute, second, fraction = (part or "0" for part in time.groups())
        try:
            clock = datetime.time(int(hour), int(minute), int(second), int(fraction.ljust(6, "0")))
            return datetime.datetime.combine(day, clock)
        except ValueError:
            pass
    raise RequestError(f"{value[:40]!r} is not a point in time; write it as TIMESTAMP '2024-12-31 23:59:59'")


def _day(match: re.Match[str]) -> datetime.date | None:
    year, _, month, day, other, last = match.groups()
    try:
        return datetime.date(int(year), int(month or other), int(day or last))
    except ValueError:
        return None


def fitted(expression: Expression, columns: Mapping[str, Facts]) -> Expression:
    """Return an expression over known columns, in the one form, with texts beside dates read as dates."""
    if parts_in(expression, {}) > MOST_PARTS:
        raise Unsupported(
            f"an expression has at most {MOST_PARTS:,} parts, once the columns of sub-queries are put in their places; "
            f"this one uses derived columns of derived columns too often"
        )
    return _fitted(expression, columns)


def parts_in(expression: Expression, known: dict[int, int]) -> int:
    """Return of how many columns, constants and functions an expression is made; parts that it shares are visited once.

    `known` has the numbers of parts that were visited before, by identity.
    """
    if not expression.function:
        return 1
    if id(expression) not in known:
        known[id(expression)] = 1 + sum(parts_in(argument, known) for argument in expression.arguments)
    return known[id(expression)]


def _fitted(expression: Expression, columns: Mapping[str, Facts]) -> Expression:
    if expression.column is not None and expression.column not in columns:
        raise UnknownName("column", expression.column, columns)
    if isinstance(expression.constant, str) and len(expression.constant) > LONGEST:
        raise Unsupported(f"a text has at most {LONGEST:,} characters: longer ones are cut; write a shorter one")
    if not expression.function:
        return expression
    arguments = [_fitted(argument, columns) for argument in expression.arguments]
    if expression.function in _COMPARED and not any(map(_is_marked, arguments)):
        arguments = side_by_side(_fit_dates(arguments, columns), columns)
    elif expression.function in {"and", "or", "not"}:
        arguments = [as_condition(argument, columns) for argument in arguments]
    elif expression.function == "case":
        arguments = [_when(place, argument, len(arguments), columns) for place, argument in enumerate(arguments)]
    elif expression.function in _OF_TRUTHS and not any(map(_is_marked, arguments)):
        arguments[0] = as_number(arguments[0], typed(arguments[0], columns).kind)
    return _fit_durations(expression.function, arguments, columns) or call(expression.function, *arguments)


def _when(place: int, argument: Expression, many: int, columns: Mapping[str, Facts]) -> Expression:
    """Return an argument of CASE: every other one, but for the last, is a condition."""
    return as_condition(argument, columns) if place % 2 == 0 and place < many - 1 else argument


def _fit_durations(function: str, arguments: list[Expression], columns: Mapping[str, Facts]) -> Expression | None:
    """Return the expression of a difference of moments, or of a date and a number of days; None for any other.

    A difference is a number of days: a whole one between dates, and with its fraction where there is a time of day. Its
    EPOCH is in seconds, and its DAY is whole.
    """
    if function in {"epoch_us", "day"} and _is_duration(arguments[0]):
        days = arguments[0]
        if function == "epoch_us":
            return days.arguments[0]
        return call("multiply", call("sign", days), call("floor", call("abs", days)))
    if function not in {"add", "subtract"} or len(arguments) != 2 or any(map(_is_marked, arguments)):
        return None
    x, y = arguments
    kinds = [typed(argument, columns).kind for argument in arguments]
    if function == "subtract" and {*kinds} <= {"date", "timestamp"}:
        if kinds == ["date", "date"]:
            return call("date_diff", Literal("day"), y, x)
        passed = call("subtract", call("epoch_us", x), call("epoch_us", y))
        return call("divide", passed, Literal(MICROSECONDS))
    if function == "add" and kinds == ["integer", "date"]:
        x, y, kinds = y, x, ["date", "integer"]
    if kinds == ["date", "integer"] and type(y.constant) is int:
        return call("add_days", x, Literal(y.constant if function == "add" else -y.constant))
    return None


def _is_duration(expression: Expression) -> bool:
    """Return whether an expression is the difference of two moments, in days."""
    if expression.function != "divide" or expression.arguments[1] != Literal(MICROSECONDS):
        return False
    passed = expression.arguments[0]
    return passed.function == "subtract" and all(argument.function == "epoch_us" for argument in passed.arguments)


def _is_marked(expression: Expression) -> bool:
    """Return whether an expression contains a part without a kind yet: an aggregate, a window, a grouping."""
    return any(":" in part.function for part in parts_of(expression))


def _fit_dates(arguments: list[Expression], columns: Mapping[str, Facts]) -> list[Expression]:
    texts = any(isinstance(argument.constant, str) for argument in arguments)
    if not texts or any(map(has_aggregate, arguments)):
        return arguments
    kinds = {typed(argument, columns).kind for argument in arguments if not argument.is_constant}
    if not kinds or not kinds <= {"date", "timestamp"}:
        return arguments
    return [_as_moment(argument) for argument in arguments]


def _as_moment(expression: Expression) -> Expression:
    said = expression.constant
    if not isinstance(said, str):
        return expression
    return Literal(read_timestamp(said) if len(said.strip()) > len("2024-12-31") else read_date(said))


def check_key(expression: Expression, source: PrivateRows) -> Expression:
    """Return a checked grouping expression, refusing one that can have no public or discoverable values."""
    key = checked(expression, source.schema.columns)
    facts = typed(key, source.schema.columns)
    shown = text(key)
    person = person_column(source.schema.unit)
    if person in mentions(key):
        advice = f"count people with COUNT(DISTINCT {person})" if source.owner else "leave it out"
        raise Unsupported(f"GROUP BY {shown} would tell people apart, for {person!r} identifies the person; {advice}")
    if not mentions(key):
        raise Unsupported(f"GROUP BY {shown} is the same for every row; leave it out")
    if facts.kind == "number":
        raise Unsupported(
            f"GROUP BY {shown} has a group for every decimal; group by whole bins, such as "
            f"BIN({shown}, 10) or FLOOR({shown} / 0.5)"
        )
    return key


def check_argument(
    function: str,
    expression: Expression,
    source: PrivateRows,
    conditions: Sequence[Expression | None] = (),
    *,
    stated: bool = False,
) -> Expression:
    """Return a checked argument of an aggregate: numbers with public bounds, or any value that is only counted.

    Where the question has `stated` its bounds, none need follow from declared facts; nor where its `conditions` imply
    some.
    """
    argument = checked(expression, source.schema.columns)
    facts = typed(argument, source.schema.columns)
    entry = entry_of(function)
    if not entry.aggregate.bounded:
        return argument
    name = entry.sql[0] if entry.sql else function.upper()
    if facts.kind in {"date", "timestamp"} and function in OF_MOMENTS:
        argument = counted(argument, facts.kind)
    elif facts.kind == "boolean" and MARK + function in _OF_TRUTHS:
        argument = as_number(argument, facts.kind)
    elif facts.kind not in {"integer", "number"}:
        raise WrongKind(name, "numbers", (facts.kind or "NULL",), advice="count with COUNT(*) FILTER (WHERE ...)")
    person = person_column(source.schema.unit)
    if argument == ColumnRef(person or ""):
        raise Unsupported(f"{name} of {person!r} has no meaning: it identifies the person; use COUNT(DISTINCT)")
    known = stated or typed(argument, source.limited).bounded
    if not known and not typed_where(argument, source.limited, conditions).bounded:
        raise Unbounded(text(argument), column=_unbounded_column(argument, source))
    return argument


OF_MOMENTS = frozenset({"avg", "quantile"})
"""Aggregates that dates and timestamps have, as positions in time: they are numbers there, and dates again at the end.

Sums, spreads and covariances of positions have no meaning, or none that is a date.
"""


def counted(moment: Expression, kind: str) -> Expression:
    """Return a moment as a whole number: days since the start of 1970, or microseconds."""
    return call("date_diff", Literal("day"), Literal(EPOCH), moment) if kind == "date" else call("epoch_us", moment)


def as_moment(number: Expression, kind: str, *, dates: bool) -> Expression:
    """Return the moment of a released number; that of days is a date if `dates` is true."""
    if kind == "date":
        return Call("as_date" if dates else "as_timestamp", (number,))
    return Call("as_timestamp", (Call("divide", (number, Literal(MICROSECONDS))),))


def in_days(expression: Expression) -> Expression:
    """Return the number of days since the start of 1970 behind an expression that is a date or a timestamp."""
    if expression.function in {"as_date", "as_timestamp"}:
        return expression.arguments[0]
    return Call("divide", (Call("epoch_us", (expression,)), Literal(MICROSECONDS)))


def check_values(expression: Expression, source: PrivateRows) -> Expression:
    """Return a checked argument of MODE or TOP_K, refusing one that could not be a key of a group either."""
    values = checked(expression, source.schema.columns)
    facts, shown = typed(values, source.schema.columns), text(values)
    person = person_column(source.schema.unit)
    if person in mentions(values):
        raise Unsupported(f"the most frequent {shown} would be a person, for {person!r} identifies the person")
    if not mentions(values):
        raise Unsupported(f"MODE of {shown} is the same for every row; leave it out")
    if facts.kind == "number":
        raise Unsupported(
            f"{shown} is a decimal, and hardly any comes twice; take the most frequent of whole bins, such as "
            f"MODE(FLOOR({shown} / 0.5)), or its MEDIAN"
        )
    return values


def check_range(expression: Expression, source: PrivateRows) -> Expression:
    """Return a checked argument of BOUNDS: numbers, with declared bounds or without."""
    argument = checked(expression, source.schema.columns)
    facts = typed(argument, source.schema.columns)
    if facts.kind not in {"integer", "number"}:
        raise WrongKind("BOUNDS", "numbers", (facts.kind or "NULL",), advice="ask for MIN and MAX of YEAR(x), or TOP_K")
    person = person_column(source.schema.unit)
    if person in mentions(argument):
        raise Unsupported(f"BOUNDS of {text(argument)} has no meaning: {person!r} identifies the person")
    return argument


def read_quantile(share: Expression) -> Fraction:
    """Return the share of the values that lie below a quantile, with a small denominator."""
    value = share.constant
    if isinstance(value, bool) or not isinstance(value, (int, Fraction)) or not 0 <= value <= 1:
        raise Unsupported("the share of a quantile is a constant from 0 to 1, such as QUANTILE(x, 0.9)")
    return Fraction(value).limit_denominator(_LARGEST_DENOMINATOR)


_SOME_END: Mapping[str, datetime.date] = {"date": EPOCH, "timestamp": datetime.datetime(1970, 1, 1)}


def _unbounded_column(expression: Expression, source: PrivateRows) -> str | None:
    """Return a column whose bounds, if they were declared, would bound the expression."""
    columns = dict(source.schema.columns)
    person = person_column(source.schema.unit)
    names = [name for name in sorted(mentions(expression)) if name != person and _lacks_bounds(columns[name])]
    for name in names:
        end = _SOME_END.get(columns[name].kind, Fraction(1))
        columns[name] = replace(columns[name], low=end, high=end)
    return names[0] if names and typed(expression, columns).bounded else None


def _lacks_bounds(column: Facts) -> bool:
    return column.kind not in {"text", "boolean"} and column.low is None and column.values is None


def released_facts(function: str, values: Typed | None = None) -> Facts:
    """Return the kind of an aggregate's release: that of `values` where it is one of them."""
    if values is not None and values.kind is not None:
        return Facts(kind=values.kind, nullable=True)
    counts = entry_of(function).aggregate.counts
    return Facts(kind="integer" if counts else "number", nullable=not counts)


def as_facts(facts: Typed, shown: str) -> Facts:
    """Return the facts of a released column, without bounds: a release is not clamped again."""
    if facts.kind is None:
        raise Unsupported(f"{shown} is always NULL; leave the column out")
    return Facts(kind=facts.kind, nullable=facts.nullable)


def name_of(expression: Expression) -> str:
    """Return the aggregate's own name, without its mark."""
    return expression.function.removeprefix(MARK)


# The origin of each column of an answer: an expression over the keys and aggregates that a query releases.


def meanings(query: Query) -> dict[str, Expression]:
    """Return for each output column of a query its expression over keys and aggregates."""
    names = [*(key.name for key in query.keys), *(asked.name for asked in query.aggregates)]
    names += [grouping.name for grouping in query.groupings]
    names += [output.name for output in query.steps[0].outputs] if query.lists and query.steps else []
    known: dict[str, Expression] = {name: ColumnRef(name) for name in names}
    for step in query.steps:
        for beside in step.beside:
            known |= {name: Call(BESIDE, ()) for name, _ in beside.names if name not in known}
        for key in step.keys or ():
            known[key.name] = _inline(key.expression, known)
        for column in (*step.aggregates, *step.windows):
            over = [*column.arguments, *column.partition, *(term.expression for term in column.order)]
            known[column.name] = Call(OVER_ROWS, tuple(_inline(each, known) for each in over))
        known = {output.name: _inline(output.expression, known) for output in step.outputs}
    return known


OVER_ROWS = "over rows"
"""Represents, in the meaning of a column, a function of several released rows."""
BESIDE = "beside"
"""Represents, in the meaning of a column, one of other rows."""


@dataclass(frozen=True)
class LinearForm:
    """A constant times one column, plus a constant."""

    column: str
    factor: Fraction
    offset: Fraction


def linear_in(expression: Expression) -> LinearForm | None:
    """Return how an expression depends on its one column, if it is linear in it."""
    form = _line(expression)
    return None if form is None or form[0] is None else LinearForm(form[0], form[1], form[2])


def _line(expression: Expression) -> tuple[str | None, Fraction, Fraction] | None:
    match expression:
        case ColumnRef(name=name):
            return name, Fraction(1), Fraction(0)
        case Literal(value=bool()):
            return None
        case Literal(value=int() | Fraction() as value):
            return None, Fraction(0), Fraction(value)
        case Call(function=function, arguments=arguments) if function in _LINEAR:
            sides = [_line(argument) for argument in arguments]
            known = [side for side in sides if side is not None]
            names = {name for name, _, _ in known if name is not None}
            if len(known) < len(sides) or len(names) > 1:
                return None
            made = _LINEAR[function](*((factor, offset) for _, factor, offset in known))
            return None if made is None else (next(iter(names), None), *made)
    return None


_Pair = tuple[Fraction, Fraction]


def _times(x: _Pair, y: _Pair) -> _Pair | None:
    if x[0] and y[0]:
        return None
    return x[0] * y[1] + x[1] * y[0], x[1] * y[1]


def _over(x: _Pair, y: _Pair) -> _Pair | None:
    return None if y[0] or not y[1] else (x[0] / y[1], x[1] / y[1])


_LINEAR: Mapping[str, Callable[..., _Pair | None]] = {
    "add": lambda x, y: (x[0] + y[0], x[1] + y[1]),
    "subtract": lambda x, y: (x[0] - y[0], x[1] - y[1]),
    "multiply": _times,
    "divide": _over,
    "negate": lambda x: (-x[0], -x[1]),
    **dict.fromkeys(("as_date", "as_timestamp"), lambda x: x),
}


def _inline(expression: Expression, known: Mapping[str, Expression]) -> Expression:
    match expression:
        case ColumnRef(name=name):
            return known[name]
        case Call(function=function, arguments=arguments):
            return Call(function, tuple(_inline(argument, known) for argument in arguments))
    return expression


# Values of different kinds side by side: booleans, numbers and texts are compared as one of them.
#
# A boolean beside a number is 0 or 1. A text beside a number is read as a number, beside a boolean as a boolean, beside
# a date as a date, where one of them is a constant: two columns of different kinds are a slip more often than not, and
# refused. A constant that cannot be read is refused; in a column such a text is NULL, as in a cast.

_NUMBERS = frozenset({"integer", "number"})
_TRUE = frozenset({"true", "t", "yes", "y", "1", "on"})
_FALSE = frozenset({"false", "f", "no", "n", "0", "off"})

CONDITIONS = frozenset(
    {"equal", "not_equal", "less", "less_equal", "greater", "greater_equal", "is_null", "not", "and", "or", "in"}
    | {"like", "starts_with", "ends_with", "contains", "to_boolean"}
)
"""Functions that return booleans, whatever their arguments are."""


def side_by_side(arguments: Sequence[Expression], columns: Mapping[str, Facts]) -> list[Expression]:
    """Return values that are compared with each other, as values of one kind where that can be."""
    kinds = [None if argument == Literal(None) else typed(argument, columns).kind for argument in arguments]
    distinct = {kind for kind in kinds if kind is not None}
    if len(distinct) < 2 or ("text" in distinct and not any(argument.is_constant for argument in arguments)):
        return list(arguments)
    if distinct == {"boolean", "text"}:
        return [_as_boolean(argument, kind) for argument, kind in zip(arguments, kinds, strict=True)]
    if "boolean" in distinct and distinct <= _NUMBERS | {"boolean"}:
        return [as_number(argument, kind) for argument, kind in zip(arguments, kinds, strict=True)]
    if "text" in distinct and distinct <= _NUMBERS | {"text"}:
        return [_read_number(argument, kind) for argument, kind in zip(arguments, kinds, strict=True)]
    if "text" in distinct and distinct <= {"text", "date", "timestamp"}:
        read = "to_timestamp" if "timestamp" in distinct else "to_date"
        return [
            call(read, argument) if kind == "text" and not argument.is_constant else argument
            for argument, kind in zip(arguments, kinds, strict=True)
        ]
    return list(arguments)


def as_condition(expression: Expression, columns: Mapping[str, Facts]) -> Expression:
    """Return a number as the condition that it is not 0; a condition stays one."""
    if expression.function in CONDITIONS or ":" in expression.function:
        return expression
    if type(expression.constant) is int:
        return Literal(expression.constant != 0)
    return call("not_equal", expression, Literal(0)) if typed(expression, columns).kind in _NUMBERS else expression


def as_number(expression: Expression, kind: str | None) -> Expression:
    """Return a boolean as 0 or 1; any other value is unchanged."""
    if kind != "boolean":
        return expression
    if expression.is_constant:
        return Literal(int(expression.constant is True))
    return call("to_integer", expression)


def _as_boolean(expression: Expression, kind: str | None) -> Expression:
    if kind != "text":
        return expression
    said = expression.constant
    if not isinstance(said, str):
        return call("to_boolean", expression)
    word = said.strip().lower()
    if word not in _TRUE | _FALSE:
        raise RequestError(f"{said[:40]!r} is neither true nor false; write TRUE or FALSE")
    return Literal(word in _TRUE)


def _read_number(expression: Expression, kind: str | None) -> Expression:
    if kind != "text":
        return expression
    if not isinstance(expression.constant, str):
        return call("to_number", expression)
    literal = folded("to_integer", [expression]) or folded("to_number", [expression])
    if literal is None:
        raise RequestError(f"{expression.constant[:40]!r} is not a number, and stands beside one; write a number")
    return literal
