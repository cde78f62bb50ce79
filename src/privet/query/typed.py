"""Public facts about values: their kind, whether they can be NULL, where they lie; and the rule
of each scalar function: which kinds it takes, and the facts of its result.

Nothing here reads data: a rule uses types and constants. Facts are about what an engine computes, in 64-bit integers
and in doubles; a missing end means that no declared fact bounds it. The ends of a result apply to every value that is
not NULL, whatever is stored: also where a column contains a NULL or a non-number that its declaration excludes.
Facts make noise larger or a refusal earlier, and never remove a check.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor, gcd, trunc

from privet.core.errors import InvariantError, WrongKind, arguments_in_words
from privet.core.relation import ColumnRef as Name
from privet.core.relation import Expression, Value
from privet.core.schema import ColumnFacts, Key, Kind
from privet.core.schema import ColumnFacts as Facts

from . import intervals
from . import normal as dates
from .intervals import LARGEST, Interval, neat, outward
from .normal import spelled

End = Fraction | datetime.date | datetime.datetime | None
INT64 = (-(2**63), 2**63 - 1)

LONGEST = 2000
"""A text is its first 2,000 characters, where it is read and wherever texts are put together: no row may be so large
that a function of it, or a copy of it, exhausts an engine."""

LARGEST_WHOLE = Fraction(2) ** 1023
"""Numbers are doubles: a result that may lie beyond this may be NULL."""


@dataclass(frozen=True, kw_only=True)
class Typed:
    """The public facts about an expression. `kind` is None only for a bare NULL.

    Integer values lie on low + k * step. `values`, where given, is every value other than NULL that can occur. Both
    ends of a number may be decimals, as they were declared or written; an engine's values lie within `ends`.
    """

    kind: Kind | None
    nullable: bool
    low: End = None
    high: End = None
    step: int = 1
    values: tuple[Key, ...] | None = None

    @property
    def bounded(self) -> bool:
        """Return whether public facts bound the value on both sides."""
        return self.low is not None and self.high is not None

    @property
    def bounds(self) -> Interval:
        """Return the interval of a number as it is declared, or follows exactly."""
        if isinstance(self.low, datetime.date) or isinstance(self.high, datetime.date):
            raise InvariantError("the ends of a date were taken for numbers")
        return self.low, self.high

    @property
    def ends(self) -> Interval:
        """Return the interval in which an engine's values of a number lie: for one that is not whole, of doubles."""
        return self.bounds if self.kind == "integer" else self.doubles

    @property
    def doubles(self) -> Interval:
        """Return the interval in which an engine's values lie once they are doubles."""
        return outward(self.bounds)


@dataclass(frozen=True)
class TypedArgument:
    """An argument of a function: the expression and its facts."""

    expression: Expression
    typed: Typed

    @property
    def constant(self) -> Value:
        """Return the value of a literal; None for anything else."""
        return self.expression.constant


Arguments = Sequence[TypedArgument]

BOOLEANS: tuple[Key, ...] = (False, True)


def truth(nullable: bool) -> Typed:
    """Return the facts of a truth value."""
    return Typed(kind="boolean", nullable=nullable, values=BOOLEANS)


def whole(low: Fraction | None, high: Fraction | None, *, nullable: bool, step: int = 1) -> Typed:
    """Return the facts of an integer, which is NULL wherever it would not fit into 64 bits."""
    fits = low is not None and high is not None and INT64[0] <= low and high <= INT64[1]
    if not fits:
        step, nullable = 1, True
        low = None if low is None else max(low, Fraction(INT64[0]))
        high = None if high is None else min(high, Fraction(INT64[1]))
    if low is not None and high is not None and low > high:  # nothing fits: every value is NULL
        low = high = Fraction(0)
    values = (int(low),) if low is not None and low == high else None
    return Typed(kind="integer", nullable=nullable, low=low, high=high, step=step, values=values)


def real(low: Fraction | None, high: Fraction | None, *, nullable: bool) -> Typed:
    """Return the facts of a number, which is NULL wherever it would not be finite."""
    fits = low is not None and high is not None and low >= -LARGEST_WHOLE and high <= LARGEST_WHOLE
    if (low is not None and low > LARGEST) or (high is not None and high < -LARGEST):  # every value is NULL
        low = high = Fraction(0)
    low = None if low is None else max(low, -LARGEST)
    high = None if high is None else min(high, LARGEST)
    return Typed(kind="number", nullable=nullable or not fits, low=low, high=high)


def of_literal(value: Value) -> Typed:
    """Return the facts of a constant."""
    match value:
        case None:
            return Typed(kind=None, nullable=True)
        case bool():
            return Typed(kind="boolean", nullable=False, values=(value,))
        case int():
            end = Fraction(value)
            return Typed(kind="integer", nullable=False, low=end, high=end, step=0, values=(value,))
        case Fraction():
            try:
                float(value)
            except OverflowError:  # it is NULL for an engine
                return Typed(kind="number", nullable=True, low=Fraction(0), high=Fraction(0))
            return Typed(kind="number", nullable=False, low=value, high=value)
        case datetime.datetime():
            return Typed(kind="timestamp", nullable=False, low=value, high=value, values=(value,))
        case datetime.date():
            return Typed(kind="date", nullable=False, low=value, high=value, values=(value,))
        case str():
            return Typed(kind="text", nullable=False, values=(value,))


def of_column(column: ColumnFacts) -> Typed:
    """Return the facts that are declared about a column, clamped to its bounds."""
    low, high = column.low, column.high
    if column.kind == "integer" and column.values is not None:
        numbers = [Fraction(value) for value in column.values if isinstance(value, int)]
        low, high = min(numbers), max(numbers)
    return Typed(kind=column.kind, nullable=column.nullable, low=low, high=high, values=column.values)


def clamp_ends(expression: Expression, facts: Typed) -> Interval:
    """Return the ends to which a number is clamped before it counts: as declared, or as people would write them.

    Engines clamp to them regardless of the facts, so they need not be true of every value, to its last bit.
    """
    if facts.kind != "number" or isinstance(expression, Name):
        return facts.bounds
    low, high = facts.bounds
    return (None if low is None else neat(low)), (None if high is None else neat(high))


def unify(function: str, several: Iterable[Typed]) -> Kind | None:
    """Return the one kind that covers all of them: whole numbers are numbers, dates are points in time."""
    kinds = {typed.kind for typed in several} - {None}
    if kinds == {"integer", "number"}:
        return "number"
    if kinds == {"date", "timestamp"}:
        return "timestamp"
    if len(kinds) > 1:
        raise WrongKind(spelled(function), "values of one kind", tuple(sorted(str(kind) for kind in kinds)))
    return next(iter(kinds), None)


def hull(function: str, several: Sequence[Typed]) -> Typed:
    """Return the facts of a value that is one of several; it can be NULL if one of them can."""
    kind = unify(function, several)
    nullable = any(typed.nullable for typed in several)
    some = [typed for typed in several if typed.kind is not None]
    if kind is None:
        return Typed(kind=None, nullable=True)
    lows, highs = [as_kind(typed.low, kind) for typed in some], [as_kind(typed.high, kind) for typed in some]
    low = None if any(end is None for end in lows) else min(lows)  # type: ignore[type-var]
    high = None if any(end is None for end in highs) else max(highs)  # type: ignore[type-var]
    values = None
    if all(typed.values is not None and typed.kind == kind for typed in some):
        values = tuple(dict.fromkeys(value for typed in some for value in typed.values or ()))
    return Typed(kind=kind, nullable=nullable, low=low, high=high, values=values)


def as_kind(end: End, kind: Kind) -> End:
    """Return the end of an interval as the kind it is compared in: a date is its midnight."""
    if kind == "timestamp" and type(end) is datetime.date:
        return datetime.datetime.combine(end, datetime.time())
    return end


def lattice(*steps: int) -> int:
    """Return the step on which sums of values with these steps lie; 0 is the step of a constant."""
    return gcd(*steps)


# The rule of each scalar function.

NUMBERS: tuple[Kind, ...] = ("integer", "number")
MOMENTS: tuple[Kind, ...] = ("date", "timestamp")
MOST_VALUES = 10_000
LONGEST_INSTEAD = 20
"""Characters that REPLACE puts in the place of others, at most."""
Rule = Callable[[str, Arguments], Typed]


def take(name: str, argument: TypedArgument, *kinds: Kind, advice: str = "") -> Typed:
    """Return the facts of an argument, which must be of one of the kinds, or NULL."""
    if argument.typed.kind is not None and argument.typed.kind not in kinds:
        raise WrongKind(spelled(name), " or ".join(kinds), (argument.typed.kind,), advice=advice)
    return argument.typed


def _nullable(arguments: Arguments) -> bool:
    return any(argument.typed.nullable for argument in arguments)


def constant_whole(name: str, argument: TypedArgument, low: int, high: int) -> int:
    """Return an argument that must be a constant whole number within a range."""
    value = argument.constant
    if type(value) is not int or not low <= value <= high:
        raise WrongKind(spelled(name), f"a constant whole number from {low} to {high} here", ("something else",))
    return value


def constant_text(name: str, argument: TypedArgument) -> str:
    """Return an argument that must be a constant text."""
    value = argument.constant
    if not isinstance(value, str):
        raise WrongKind(spelled(name), "a constant text here, such as 'abc'", (argument.typed.kind or "NULL",))
    return value


def arithmetic(rule: Callable[[Interval, Interval], Interval]) -> Rule:
    """Return the rule of +, - or *: whole numbers stay whole."""

    def apply(name: str, arguments: Arguments) -> Typed:
        advice = "write DATE_DIFF('day', start, end), or x + INTERVAL 7 DAY" if name != "multiply" else ""
        if not any(argument.typed.kind in MOMENTS for argument in arguments):
            advice = ""
        x, y = (take(name, argument, *NUMBERS, advice=advice) for argument in arguments)
        nullable = x.nullable or y.nullable
        if unify(name, (x, y)) == "number":
            # a value without bounds may be infinite, and 0 times infinity is not a number
            return real(*rule(x.doubles, y.doubles), nullable=nullable or not (x.bounded and y.bounded))
        low, high = rule(x.ends, y.ends)
        step = 1
        if x.bounded and y.bounded:
            a, b = int(x.ends[0] or 0), int(y.ends[0] or 0)
            steps = (a * y.step, b * x.step, x.step * y.step) if name == "multiply" else (x.step, y.step)
            step = lattice(*steps)
        return whole(low, high, nullable=nullable, step=step)

    return apply


def subtract(x: Interval, y: Interval) -> Interval:
    """Return where x - y lies."""
    return intervals.add(x, intervals.negate(y))


def quotient(name: str, arguments: Arguments) -> Typed:
    """Return the facts of x / y, always a number; NULL where y is 0."""
    x, y = (take(name, argument, *NUMBERS) for argument in arguments)
    low, high = y.doubles
    safe = low is not None and high is not None and not low <= 0 <= high
    return real(*intervals.divide(x.doubles, y.doubles), nullable=x.nullable or y.nullable or not safe)


def whole_quotient(name: str, arguments: Arguments) -> Typed:
    """Return the facts of x // y, cut towards 0; NULL where y is 0."""
    advice = "write FLOOR(a / b) of other numbers"
    x, y = (take(name, argument, "integer", advice=advice) for argument in arguments)
    low, high = y.ends
    safe = low is not None and high is not None and not low <= 0 <= high
    return whole(*intervals.divide_whole(x.ends, y.ends), nullable=x.nullable or y.nullable or not safe)


def remainder(name: str, arguments: Arguments) -> Typed:
    """Return the facts of the remainder of x / y, with the sign of x; NULL where y is 0."""
    x, y = (take(name, argument, *NUMBERS) for argument in arguments)
    low, high = y.ends
    safe = low is not None and high is not None and not low <= 0 <= high
    nullable = x.nullable or y.nullable or not safe
    if unify(name, (x, y)) == "number":
        # an unbounded value may be infinite, and then has no remainder
        return real(*intervals.modulo(x.doubles, y.doubles), nullable=nullable or not x.bounded)
    size = None if low is None or high is None else max(abs(low), abs(high), Fraction(1)) - 1
    return whole(*intervals.modulo(x.ends, (size, size)), nullable=nullable)


def monotone(rule: Callable[[Interval], Interval], *, to_whole: bool | None = None) -> Rule:
    """Return the rule of a function of one number; `to_whole` None keeps the kind."""

    def apply(name: str, arguments: Arguments) -> Typed:
        x = take(name, arguments[0], *NUMBERS)
        if to_whole if to_whole is not None else x.kind == "integer":
            return whole(*rule(x.ends), nullable=x.nullable, step=x.step if name == "negate" else 1)
        return real(*rule(x.doubles), nullable=x.nullable)

    return apply


def rounding(rule: Callable[[Fraction], Fraction | int]) -> Rule:
    """Return the rule of a rounding to whole numbers that engines compute exactly."""
    return monotone(lambda x: intervals.rising(x, rule), to_whole=True)


def round_half_up(name: str, arguments: Arguments) -> Typed:
    """Return the facts of floor(x + 1/2), which is x itself where that is whole."""
    x = take(name, arguments[0], *NUMBERS)
    ends = x.ends if x.kind == "integer" else intervals.rounded(x.ends)
    return whole(*ends, nullable=x.nullable)


def round_to(name: str, arguments: Arguments) -> Typed:
    """Return the facts of x rounded to a number of decimals."""
    x = take(name, arguments[0], *NUMBERS)
    digits = constant_whole(name, arguments[1], -15, 15)
    scaled = intervals.multiply(x.doubles, (Fraction(10) ** digits,) * 2)
    return real(*intervals.rounded_to(x.doubles, digits), nullable=x.nullable or real(*scaled, nullable=False).nullable)


def partial(rule: Callable[[Interval], Interval], defined: Callable[[Fraction], bool]) -> Rule:
    """Return the rule of a function that is NULL below some number."""

    def apply(name: str, arguments: Arguments) -> Typed:
        x = take(name, arguments[0], *NUMBERS)
        low = x.doubles[0]
        return real(*rule(x.doubles), nullable=x.nullable or low is None or not defined(low))

    return apply


def power(name: str, arguments: Arguments) -> Typed:
    """Return the facts of x to the y; bounded only for constant y."""
    x, y = (take(name, argument, *NUMBERS) for argument in arguments)
    exponent = None if y.nullable or y.bounds[0] is None or y.bounds[0] != y.bounds[1] else float(y.bounds[0])
    low, high = intervals.NOWHERE if exponent is None else intervals.power(x.doubles, Fraction(exponent))
    return real(low, high, nullable=x.nullable or y.nullable or low is None)


def extreme(name: str, arguments: Arguments) -> Typed:
    """Return the facts of the least or the greatest of the values that are not NULL; NULL only if all are."""
    taken = [take(name, argument, *NUMBERS, *MOMENTS) for argument in arguments]
    facts = hull(name, taken)
    if facts.kind is None:
        return facts
    # Each constant bounds the result on its far side; the others may not be there to do so: a column that is declared
    # never to be NULL may contain one all the same.
    lows = [as_kind(typed.low, facts.kind) for typed in taken if typed.kind]
    highs = [as_kind(typed.high, facts.kind) for typed in taken if typed.kind]
    sure = [
        argument.constant is not None and not argument.typed.nullable for argument in arguments if argument.typed.kind
    ]
    near, far, inner, outer = (lows, highs, min, max) if name == "least" else (highs, lows, max, min)
    firm = [end for end, present in zip(far, sure, strict=True) if present and end is not None]
    first = None if None in near else inner(near)  # type: ignore[type-var]
    second = inner(firm) if firm else None if None in far else outer(far)  # type: ignore[type-var]
    low, high = (first, second) if name == "least" else (second, first)
    nullable = all(typed.nullable for typed in taken)
    return Typed(kind=facts.kind, nullable=nullable, low=low, high=high)


def clamp(name: str, arguments: Arguments) -> Typed:
    """Return the facts of x clamped to constants, which is NULL where x is."""
    x, low, high = (take(name, argument, *NUMBERS) for argument in arguments)
    bottom, top = low.bounds[0], high.bounds[0]
    constants = [argument.constant for argument in arguments[1:]]
    if None in constants or bottom is None or top is None or bottom > top:
        raise WrongKind(spelled(name), "two constant numbers, the lower one first", ("something else",))
    whole_ = unify(name, (x, low, high)) == "integer"
    ends = [None if end is None else min(max(end, bottom), top) for end in (x.ends if whole_ else x.doubles)]
    least, most = bottom if ends[0] is None else ends[0], top if ends[1] is None else ends[1]
    return whole(least, most, nullable=x.nullable) if whole_ else real(least, most, nullable=x.nullable)


def comparison(name: str, arguments: Arguments) -> Typed:
    """Return the facts of a comparison of two values of one kind."""
    kind = unify(name, [argument.typed for argument in arguments])
    if kind == "boolean" and name not in {"equal", "not_equal"}:
        raise WrongKind(spelled(name), "numbers, texts, dates or timestamps", ("boolean",))
    return truth(_nullable(arguments))


def membership(name: str, arguments: Arguments) -> Typed:
    """Return the facts of `in`: constants of the kind of the first argument."""
    for argument in arguments[1:]:
        if argument.constant is None:
            raise WrongKind(spelled(name), "constants other than NULL in its list", (argument.typed.kind or "NULL",))
    unify(name, [argument.typed for argument in arguments])
    return truth(arguments[0].typed.nullable)


def connective(name: str, arguments: Arguments) -> Typed:
    """Return the facts of and, or, not: three-valued."""
    for argument in arguments:
        take(name, argument, "boolean", advice="write a condition, such as x > 0")
    return truth(_nullable(arguments))


def is_null(name: str, arguments: Arguments) -> Typed:
    """Return the facts of IS NULL, which is never NULL."""
    return truth(False)


def like(name: str, arguments: Arguments) -> Typed:
    """Return the facts of LIKE: a constant pattern, and a constant escape of one character."""
    take(name, arguments[0], "text")
    pattern = constant_text(name, arguments[1])
    if len(arguments) == 3:
        escape = constant_text(name, arguments[2])
        if len(escape) != 1:
            raise WrongKind(spelled(name), "an escape of one character", (f"{len(escape)} characters",))
        position = 0
        while position < len(pattern):  # an escape must escape something that would be special
            if pattern[position] == escape:
                position += 1
                if pattern[position : position + 1] not in {"%", "_", escape}:
                    raise WrongKind(
                        spelled(name), "a pattern whose escapes stand before %, _ or an escape", ("another",)
                    )
            position += 1
    return truth(arguments[0].typed.nullable)


def texts(result: Callable[[bool], Typed]) -> Rule:
    """Return the rule of a function of texts."""

    def apply(name: str, arguments: Arguments) -> Typed:
        for argument in arguments:
            take(name, argument, "text")
        return result(_nullable(arguments))

    return apply


def text(nullable: bool) -> Typed:
    """Return the facts of a text."""
    return Typed(kind="text", nullable=nullable)


def substring(name: str, arguments: Arguments) -> Typed:
    """Return the facts of a part of a text, from a constant place and of a constant length."""
    constant_whole(name, arguments[1], 1, 10**6)
    constant_whole(name, arguments[2], 0, 10**6)
    return text(take(name, arguments[0], "text").nullable)


def counted(low: int, high: int | None) -> Callable[[bool], Typed]:
    """Return the facts of a whole number that counts signs of a text."""
    end = None if high is None else Fraction(high)
    return lambda nullable: Typed(kind="integer", nullable=nullable, low=Fraction(low), high=end)


def right(name: str, arguments: Arguments) -> Typed:
    """Return the facts of the end of a text, of a constant length."""
    constant_whole(name, arguments[1], 0, 10**6)
    return text(take(name, arguments[0], "text").nullable)


def padded(name: str, arguments: Arguments) -> Typed:
    """Return the facts of a text that is filled up to a constant length."""
    constant_whole(name, arguments[1], 0, LONGEST)
    if not constant_text(name, arguments[2]):
        raise WrongKind(spelled(name), "a constant text to fill with", ("an empty one",))
    return text(take(name, arguments[0], "text").nullable)


def split_part(name: str, arguments: Arguments) -> Typed:
    """Return the facts of the part of a text at a constant place, between constant texts."""
    if not constant_text(name, arguments[1]):
        raise WrongKind(spelled(name), "a constant text that parts others", ("an empty one",))
    constant_whole(name, arguments[2], 1, 1000)
    return text(take(name, arguments[0], "text").nullable)


def replace(name: str, arguments: Arguments) -> Typed:
    """Return the facts of a text in which one constant replaces another; a short one, so that no text explodes."""
    old, new = (constant_text(name, argument) for argument in arguments[1:])
    if not old or len(new) > LONGEST_INSTEAD:
        allowed = f"a constant text to replace, and another of at most {LONGEST_INSTEAD} characters"
        raise WrongKind(spelled(name), allowed, ("an empty one" if not old else f"{len(new)} characters",))
    return text(take(name, arguments[0], "text").nullable)


def case(name: str, arguments: Arguments) -> Typed:
    """Return the facts of CASE: conditions and values in turn, and at the end the value otherwise."""
    if len(arguments) % 2 == 0:
        raise WrongKind(
            spelled(name), "conditions and values in turn, and a last value", (arguments_in_words(len(arguments)),)
        )
    for argument in arguments[:-1:2]:
        take(name, argument, "boolean", advice="write a condition after WHEN")
    return hull(name, [argument.typed for argument in (*arguments[1::2], arguments[-1])])


def coalesce(name: str, arguments: Arguments) -> Typed:
    """Return the facts of the first argument that is not NULL."""
    facts = hull(name, [argument.typed for argument in arguments])
    nullable = all(argument.typed.nullable for argument in arguments)
    return Typed(kind=facts.kind, nullable=nullable, low=facts.low, high=facts.high, values=facts.values)


def nullif(name: str, arguments: Arguments) -> Typed:
    """Return the facts of x, NULL where it equals y."""
    unify(name, [argument.typed for argument in arguments])
    x = arguments[0].typed
    return Typed(kind=x.kind, nullable=True, low=x.low, high=x.high, step=x.step, values=x.values)


def bin_of(name: str, arguments: Arguments) -> Typed:
    """Return the facts of floor(x / width) * width, for a constant width."""
    x, width = take(name, arguments[0], *NUMBERS), arguments[1].constant
    if isinstance(width, bool) or not isinstance(width, (int, Fraction)) or width <= 0:
        raise WrongKind(spelled(name), "a constant width above 0, such as 10", ("something else",))
    if x.kind == "integer" and isinstance(width, int):
        ends = intervals.rising(x.ends, lambda end: floor(end / width) * width)
        return whole(*ends, nullable=x.nullable, step=width)
    try:
        size = Fraction(float(width))
    except OverflowError:
        raise WrongKind(spelled(name), "a width that a double can hold", ("a larger one",)) from None
    ratio = intervals.divide(x.doubles, (size, size))  # unbounded for a width that is 0 in doubles
    nullable = x.nullable or real(*ratio, nullable=False).nullable
    steps = intervals.rising(intervals.nearest(ratio), floor)
    if isinstance(width, Fraction):
        return real(*intervals.multiply(steps, (size, size)), nullable=nullable)
    return whole(*intervals.multiply(steps, (Fraction(width),) * 2), nullable=nullable, step=width)


def bucket(name: str, arguments: Arguments) -> Typed:
    """Return the facts of the number, from 0, of the equal bin of [low, high] that contains x."""
    x = take(name, arguments[0], *NUMBERS)
    low, high = (take(name, argument, *NUMBERS).bounds for argument in arguments[1:3])
    if low[0] is None or low[0] != low[1] or high[0] is None or high[0] != high[1] or low[0] >= high[0]:
        raise WrongKind(spelled(name), "constant ends with low below high", ("others",))
    bins = constant_whole(name, arguments[3], 1, MOST_VALUES)
    return whole(Fraction(0), Fraction(bins - 1), nullable=x.nullable)


FLOOR, CEIL, TRUNCATE = rounding(floor), rounding(ceil), rounding(trunc)
SIGN = rounding(lambda x: (x > 0) - (x < 0))


# The rules of casts and of functions of dates and times: kinds taken, and public facts of the result.
#
# Like the other rules, these use types and constants, never data.


def cast(kind: Kind, *sources: Kind) -> Rule:
    """Return the rule of a cast, which returns NULL for a value that it cannot read."""

    def apply(name: str, arguments: Arguments) -> Typed:
        advice = "ROUND it first" if kind == "text" else ""
        x = take(name, arguments[0], *sources, advice=advice)
        nullable = x.nullable or x.kind == "text" != kind
        low, high = x.low, x.high
        if x.kind in NUMBERS and kind in NUMBERS:
            if kind == "number":
                return real(*x.bounds, nullable=nullable)
            return whole(*(intervals.rounded(x.ends) if x.kind == "number" else x.ends), nullable=nullable)
        if x.kind == "boolean" and kind == "integer":
            return whole(Fraction(0), Fraction(1), nullable=nullable)
        if kind == "boolean":
            return truth(nullable)
        if kind == "date" and isinstance(low, datetime.datetime) and isinstance(high, datetime.datetime):
            low, high = low.date(), high.date()
        if kind not in MOMENTS or x.kind not in MOMENTS:
            low = high = None
        values = x.values if x.kind == kind else None
        return Typed(kind=kind, nullable=nullable, low=as_kind(low, kind), high=as_kind(high, kind), values=values)

    return apply


def year(name: str, arguments: Arguments) -> Typed:
    """Return the facts of the year of a date or timestamp."""
    x = take(name, arguments[0], *MOMENTS)
    low, high = (Fraction(end.year) if isinstance(end, datetime.date) else None for end in (x.low, x.high))
    return Typed(kind="integer", nullable=x.nullable, low=low, high=high)


def part(low: int, high: int, *kinds: Kind) -> Rule:
    """Return the rule of a part of a date or time that lies in a fixed range."""

    def apply(name: str, arguments: Arguments) -> Typed:
        x = take(name, arguments[0], *(kinds or MOMENTS))
        return whole(Fraction(low), Fraction(high), nullable=x.nullable)

    return apply


def _part_name(name: str, argument: TypedArgument, kinds: set[Kind | None]) -> str:
    allowed = dates.DATE_PARTS + (() if "date" in kinds else dates.TIME_PARTS)
    value = constant_text(name, argument)
    if value not in allowed:
        raise WrongKind(spelled(name), f"a part among {', '.join(allowed)}", (repr(value[:20]),))
    return value


def date_trunc(name: str, arguments: Arguments) -> Typed:
    """Return the facts of the start of the part that contains a moment, of the same kind."""
    x = take(name, arguments[1], *MOMENTS)
    chosen = _part_name(name, arguments[0], {x.kind})
    if not isinstance(x.low, datetime.date) or not isinstance(x.high, datetime.date):
        return Typed(kind=x.kind, nullable=x.nullable)
    low, high = dates.truncate(x.low, chosen), dates.truncate(x.high, chosen)
    values = dates.starts(x.low, x.high, chosen, MOST_VALUES)
    return Typed(kind=x.kind, nullable=x.nullable, low=low, high=high, values=values)


def date_diff(name: str, arguments: Arguments) -> Typed:
    """Return the facts of the number of starts of a part after the first moment and up to the second."""
    start, end = (take(name, argument, *MOMENTS) for argument in arguments[1:])
    chosen = _part_name(name, arguments[0], {start.kind, end.kind})
    low = high = None
    if isinstance(start.high, datetime.date) and isinstance(end.low, datetime.date):
        low = Fraction(dates.difference(chosen, start.high, end.low))
    if isinstance(start.low, datetime.date) and isinstance(end.high, datetime.date):
        high = Fraction(dates.difference(chosen, start.low, end.high))
    return Typed(kind="integer", nullable=start.nullable or end.nullable, low=low, high=high)


def epoch_us(name: str, arguments: Arguments) -> Typed:
    """Return the facts of the microseconds from the start of 1970 to a moment."""
    x = take(name, arguments[0], *MOMENTS)
    ends = (Fraction(dates.microseconds(end)) if isinstance(end, datetime.date) else None for end in (x.low, x.high))
    return whole(*ends, nullable=x.nullable)


def moment_of(kind: Kind) -> Rule:
    """Return the rule of a moment that lies a number of days after the start of 1970; NULL outside the calendar."""

    def apply(name: str, arguments: Arguments) -> Typed:
        take(name, arguments[0], *NUMBERS)
        return Typed(kind=kind, nullable=True)

    return apply


def make_date(name: str, arguments: Arguments) -> Typed:
    """Return the facts of the day of a year, a month and a day; NULL where there is none."""
    year_, *_ = [take(name, argument, "integer") for argument in arguments]
    constants = [argument.constant for argument in arguments]
    nullable = True
    if all(type(constant) is int for constant in constants):
        try:
            datetime.date(*constants)  # type: ignore[arg-type]
            nullable = False
        except (ValueError, OverflowError):
            pass
    first, last = year_.ends
    if first is None or last is None:
        return Typed(kind="date", nullable=nullable)
    low, high = (min(max(int(end), 1), 9999) for end in (first, last))
    return Typed(kind="date", nullable=nullable, low=datetime.date(low, 1, 1), high=datetime.date(high, 12, 31))


def format_date(name: str, arguments: Arguments) -> Typed:
    """Return the facts of a moment as text; of days between public ends these are all the texts that there can be."""
    x = take(name, arguments[0], *MOMENTS)
    form = constant_text(name, arguments[1])
    if not dates.is_format(form) or len(form) > 200:
        raise WrongKind(spelled(name), f"a format of {', '.join(dates.FORMATS)} here", (repr(form[:40]),))
    low, high, values = x.low, x.high, None
    daily = not dates.tells_times(form)
    if isinstance(low, datetime.date) and isinstance(high, datetime.date) and (daily or x.kind == "date"):
        values = dates.formatted_days(low, high, form, MOST_VALUES)
    return Typed(kind="text", nullable=x.nullable, values=values)


def shift(unit: str, *kinds: Kind) -> Rule:
    """Return the rule of adding a constant number of days, months or seconds; NULL outside the years 1 to 9999."""

    def apply(name: str, arguments: Arguments) -> Typed:
        x = take(name, arguments[0], *kinds)
        amount = constant_whole(name, arguments[1], -(10**9), 10**9)
        ends = [dates.shift(end, unit, amount) if isinstance(end, datetime.date) else None for end in (x.low, x.high)]
        nullable = x.nullable or None in ends
        return Typed(kind=x.kind, nullable=nullable, low=ends[0], high=ends[1])

    return apply


def longest(column: Facts) -> int:
    """Return how many characters of a column's texts are read: as many as its longest public value has, if more."""
    return max([LONGEST, *(len(value) for value in column.values or () if isinstance(value, str))])
