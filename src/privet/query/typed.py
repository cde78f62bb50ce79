"""What is known about an expression from public facts alone: its kind, whether it can be NULL, where its values lie.

Nothing here reads data. Facts are about what an engine computes, in 64-bit integers and in doubles; a missing end
means that no declared fact bounds it. They make noise larger or a refusal earlier, and never take a check away.
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import floor, gcd, isqrt, trunc

from privet.core.errors import InvariantError, WrongKind
from privet.core.relation import ColumnRef as Name
from privet.core.relation import Expression, Value
from privet.core.schema import ColumnFacts, Key, Kind

from .normal import spelled

# Interval arithmetic for what an engine computes in doubles; None is an end that nothing bounds.
#
# Ends are exact. An operation that engines round correctly (+, -, *, /, sqrt) never falls outside the doubles around
# the exact ends: rounding is monotone. So a rule computes exact ends from ends that are doubles, and `outward` widens
# them to doubles before they are used again. exp, ln and pow are not rounded correctly: their results are widened by
# `ULPS` more.


Interval = tuple[Fraction | None, Fraction | None]
HALF = Fraction(1, 2)
NOWHERE: Interval = (None, None)
ULPS = 8
"""The combined error of exp, ln and pow, in an engine and in the C library here, in units in the last place.

Common libraries stay below 1 each; a law tries to refute this.
"""
LARGEST = Fraction(2**53 - 1) * Fraction(2) ** 971
"""The largest double."""
_TINIEST = Fraction(1, 2**1074)


def outward(x: Interval) -> Interval:
    """Return the narrowest interval of doubles that holds x; an end beyond all doubles is that of the doubles."""
    return (None if x[0] is None else down(x[0])), (None if x[1] is None else up(x[1]))


def down(x: Fraction) -> Fraction:
    """Return the largest double that is not above x, or the least double of all."""
    if not -LARGEST < x < LARGEST:
        return -LARGEST if x < 0 else LARGEST
    near = Fraction(float(x))
    return near if near <= x else Fraction(math.nextafter(float(x), -math.inf))


def up(x: Fraction) -> Fraction:
    """Return the least double that is not below x, or the largest double of all."""
    return -down(-x)


def nearest(x: Interval) -> Interval:
    """Return exact ends as doubles, rounded as an engine rounds: where both are attained, as by a quotient of doubles.

    No value between them is rounded beyond them, and groups at the next whole number are not asked for in vain.
    """
    low, high = (None if end is None else max(-LARGEST, min(end, LARGEST)) for end in x)
    return (None if low is None else Fraction(float(low))), (None if high is None else Fraction(float(high)))


def neat(x: Fraction) -> Fraction:
    """Return a number within a few units in the last place that people would write: 10 for 10.000000000000002."""
    if not -LARGEST < x < LARGEST:
        return x
    close = 2 * ULPS * Fraction(math.ulp(float(x)))
    for simple in (x.limit_denominator(10**6), Fraction(f"{float(x):.15g}")):
        if abs(simple - x) <= close:
            return simple
    return x


def add(x: Interval, y: Interval) -> Interval:
    """Return where x + y lies."""
    return _plus(x[0], y[0]), _plus(x[1], y[1])


def negate(x: Interval) -> Interval:
    """Return where -x lies."""
    return (None if x[1] is None else -x[1]), (None if x[0] is None else -x[0])


def multiply(x: Interval, y: Interval) -> Interval:
    """Return where x * y lies; a side that is not bounded leaves the product so, unless the other is 0."""
    if any(side[0] == 0 and side[1] == 0 for side in (x, y)):
        return Fraction(0), Fraction(0)
    if x[0] is None or x[1] is None or y[0] is None or y[1] is None:
        return _half_open_product(x, y)
    corners = [a * b for a in (x[0], x[1]) for b in (y[0], y[1])]
    return min(corners), max(corners)


def divide(x: Interval, y: Interval) -> Interval:
    """Return where x / y lies, wherever it is defined; y must keep away from 0 for that to be bounded."""
    if y[0] is None or y[1] is None or y[0] <= 0 <= y[1]:
        return NOWHERE
    return multiply(x, (1 / y[1], 1 / y[0]))


def divide_whole(x: Interval, y: Interval) -> Interval:
    """Return where x / y, of whole numbers, lies once it is cut towards 0, wherever y is not 0."""
    if x[0] is None or x[1] is None:
        return NOWHERE
    low, high = y
    if low is not None and high is not None and not low <= 0 <= high:
        return rising(divide(x, y), trunc)
    size = max(abs(x[0]), abs(x[1]))  # whole numbers are at least 1 apart from 0
    if low is not None and low >= 0:
        return min(x[0], Fraction(0)), max(x[1], Fraction(0))
    return -size, size


def modulo(x: Interval, y: Interval) -> Interval:
    """Return where the remainder of x / y lies: it has the sign of x and is smaller than y."""
    size = None if y[0] is None or y[1] is None else max(abs(y[0]), abs(y[1]))
    low = Fraction(0) if x[0] is not None and x[0] >= 0 else _larger(x[0], None if size is None else -size)
    high = Fraction(0) if x[1] is not None and x[1] <= 0 else _smaller(x[1], size)
    return low, high


def absolute(x: Interval) -> Interval:
    """Return where |x| lies."""
    low, high = x
    if low is not None and low >= 0:
        return x
    if high is not None and high <= 0:
        return negate(x)
    return Fraction(0), (None if low is None or high is None else max(-low, high))


def rising(x: Interval, rule: Callable[[Fraction], Fraction | int]) -> Interval:
    """Return where a function that never falls takes x."""
    return (None if x[0] is None else Fraction(rule(x[0]))), (None if x[1] is None else Fraction(rule(x[1])))


def half_up(x: Fraction, digits: int = 0) -> Fraction:
    """Return x rounded to a number of decimals; halves go up."""
    scale = Fraction(10) ** digits
    return floor(x * scale + HALF) / scale


def rounded(x: Interval) -> Interval:
    """Return where floor(x + 1/2) lies, in doubles: 0.49999999999999994 + 0.5 is 1 there."""
    low, high = outward(add(x, (HALF, HALF)))
    return rising((low, None), floor)[0], rising((None, high), floor)[1]


def rounded_to(x: Interval, digits: int) -> Interval:
    """Return where floor(x * 10^d + 1/2) / 10^d lies, in doubles; for d < 0, floor(x / 10^-d + 1/2) * 10^-d."""
    power = (Fraction(10) ** abs(digits),) * 2
    scaled, back = (multiply, divide) if digits >= 0 else (divide, multiply)
    return back(rounded(outward(scaled(x, power))), power)


def root(x: Interval) -> Interval:
    """Return where the square root of x lies, wherever it is defined."""
    low = Fraction(0) if x[0] is None or x[0] <= 0 else _root(x[0], up=False)
    return low, (None if x[1] is None else _root(max(x[1], Fraction(0)), up=True))


def logarithm(x: Interval) -> Interval:
    """Return where the natural logarithm of x lies, wherever it is defined."""
    low, high = outward(x)
    if high is None or high <= 0:
        return NOWHERE if high is None else (Fraction(0), Fraction(0))
    return (None if low is None or low <= 0 else _around(math.log(low))[0]), _around(math.log(high))[1]


def logarithm_of(base: int) -> Callable[[Interval], Interval]:
    """Return the rule for logarithms to a base, 2 or 10."""
    compute = math.log2 if base == 2 else math.log10

    def rule(x: Interval) -> Interval:
        low, high = outward(x)
        if high is None or high <= 0:
            return NOWHERE if high is None else (Fraction(0), Fraction(0))
        return (None if low is None or low <= 0 else _around(compute(low))[0]), _around(compute(high))[1]

    return rule


def exponential(x: Interval) -> Interval:
    """Return where e to the x lies, as far as doubles reach; it is never negative."""
    low, high = outward(x)
    least = Fraction(0) if low is None else max(_around(math.exp(min(low, Fraction(700))))[0], Fraction(0))
    return least, (None if high is None or high > 700 else _around(math.exp(high))[1])


def power(x: Interval, exponent: Fraction) -> Interval:
    """Return where x to a constant power lies: of any x for whole exponents, else of x that is not negative."""
    low, high = outward(x)
    if low is None or high is None or (low < 0 and exponent.denominator != 1) or (low <= 0 <= high and exponent < 0):
        return NOWHERE
    corners = [low, high] + ([Fraction(0)] if low <= 0 <= high else [])
    try:
        ends = sorted(math.pow(corner, exponent) for corner in corners)
    except OverflowError:
        return NOWHERE
    least, most = _around(ends[0])[0], _around(ends[-1])[1]
    return (max(least, Fraction(0)) if ends[0] >= 0 else least), most


def _plus(a: Fraction | None, b: Fraction | None) -> Fraction | None:
    return None if a is None or b is None else a + b


def _smaller(a: Fraction | None, b: Fraction | None) -> Fraction | None:
    return b if a is None else a if b is None else min(a, b)


def _larger(a: Fraction | None, b: Fraction | None) -> Fraction | None:
    return b if a is None else a if b is None else max(a, b)


def _half_open_product(x: Interval, y: Interval) -> Interval:
    positive = all(side[0] is not None and side[0] >= 0 for side in (x, y))
    return (Fraction(0), None) if positive else NOWHERE


def _root(x: Fraction, *, up: bool) -> Fraction:
    # sqrt(p/q) = sqrt(p q)/q, on a grid of 2**-64 relative to q, exact for squares
    scaled = x.numerator * x.denominator << 128
    whole = isqrt(scaled)
    return Fraction(whole + (up and whole * whole != scaled), x.denominator << 64)


def _around(value: float) -> tuple[Fraction, Fraction]:
    exact = Fraction(value)
    margin = ULPS * max(Fraction(math.ulp(value)), _TINIEST)
    return exact - margin, exact + margin


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
    ends of a number may be decimals, as they were declared or written; what an engine holds lies within `ends`.
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
    """An argument of a function: the expression and what is known about it."""

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
    """Return the ends to which a number is clamped before it counts: as declared, or what people would write for them.

    Engines clamp to them whatever the facts say, so they need not hold for every value, to its last bit.
    """
    if facts.kind != "number" or isinstance(expression, Name):
        return facts.bounds
    low, high = facts.bounds
    return (None if low is None else neat(low)), (None if high is None else neat(high))


def unify(function: str, several: Iterable[Typed]) -> Kind | None:
    """Return the one kind that holds all of them: whole numbers are numbers, dates are points in time."""
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
