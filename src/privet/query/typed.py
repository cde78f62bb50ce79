"""What is known about an expression from public facts alone: its kind, whether it can be NULL, where its values lie.

Nothing here reads data. Facts are about what an engine computes, in 64-bit integers and in doubles; a missing end
means that no declared fact bounds it. They make noise larger or a refusal earlier, and never take a check away.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import gcd

from privet.core.errors import InvariantError, WrongKind
from privet.core.expression import ColumnRef as Name
from privet.core.expression import Expression, Value
from privet.core.schema import ColumnFacts, Key, Kind

from .intervals import LARGEST as _FINITE
from .intervals import Interval, neat, outward
from .normal import spelled

End = Fraction | datetime.date | datetime.datetime | None
INT64 = (-(2**63), 2**63 - 1)

LONGEST = 2000
"""A text is its first 2,000 characters, where it is read and wherever texts are put together: no row may be so large
that a function of it, or a copy of it, exhausts an engine."""

LARGEST = Fraction(2) ** 1023
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
    fits = low is not None and high is not None and low >= -LARGEST and high <= LARGEST
    if (low is not None and low > _FINITE) or (high is not None and high < -_FINITE):  # every value is NULL
        low = high = Fraction(0)
    low = None if low is None else max(low, -_FINITE)
    high = None if high is None else min(high, _FINITE)
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
    if kind == "timestamp" and isinstance(end, datetime.date) and not isinstance(end, datetime.datetime):
        return datetime.datetime.combine(end, datetime.time())
    return end


def lattice(*steps: int) -> int:
    """Return the step on which sums of values with these steps lie; 0 is the step of a constant."""
    return gcd(*steps)
