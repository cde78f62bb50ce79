"""The public facts of a computed column, as those of a declared one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction

from privet.core.errors import InvariantError, Unbounded, Unsupported, WrongKind
from privet.core.expression import ColumnRef, Expression
from privet.core.relation import Rank, Within
from privet.core.schema import ColumnFacts as Facts
from privet.core.schema import Schema

from .functions import typed
from .normal import text
from .resolve import condition
from .rules import MOMENTS, NUMBERS
from .typed import Typed, clamp_ends, real, whole

_MOST_LISTED = 1_000


def facts_of(expression: Expression, columns: Mapping[str, Facts]) -> Facts:
    """Return the facts of a column that is computed from others; engines hold its values to them."""
    known = typed(expression, columns)
    if isinstance(expression, ColumnRef):
        return columns[expression.name]
    if known.kind is None:
        raise Unsupported(f"{text(expression)} is always NULL; leave the column out")
    if known.kind == "number":
        low, high = clamp_ends(expression, known)
        known = replace(known, low=low, high=high)
    return as_facts(known)


def as_facts(known: Typed, step: Fraction | None = None) -> Facts:
    """Return what is known of values as the facts of a column: both bounds or none."""
    if known.kind is None:
        raise Unsupported("a column that is always NULL has no facts; leave it out")
    low, high = (known.low, known.high) if known.bounded else (None, None)
    values = known.values
    if known.kind == "integer" and values is None and known.step > 1 and known.bounded:
        first, last = known.ends
        if first is not None and last is not None and (last - first) / known.step < _MOST_LISTED:
            values = tuple(range(int(first), int(last) + 1, known.step))
    if known.kind == "integer" and step is None and known.bounded:
        step = Fraction(1)
    if known.kind in {"boolean", "text"}:
        low = high = step = None
    return Facts(kind=known.kind, low=low, high=high, step=step, values=values, nullable=known.nullable)


# The public facts of what is computed within one unit: counts, sums, extremes, ranks.
#
# `most` is how many rows one unit has: at most, for facts that hold; by its limit, for bounds that sums are clamped to.


WITHIN = ("count_rows", "count", "count_distinct", "sum", "avg", "min", "max")
"""The aggregates of one unit's rows."""

RANKS = ("row_number", "rank", "dense_rank", "lag", "lead")

OVER = ("count_rows", "count", "sum", "avg", "min", "max")
"""The aggregates that may stand over rows of a unit, beside each of them."""

GRID = 2**24
"""A sum of numbers without a declared step is taken in no fewer steps than this from zero to the far bound."""

_FINEST = 2**61
"""More steps than this between zero and a bound do not fit the engine's integers."""

_FARTHEST = 10_000


def group_facts(one: Within, source: Schema, most: int, *, empty: bool = False) -> Facts:
    """Return the facts of an aggregate over one unit's rows; `empty` says that there may be none."""
    if one.function not in WITHIN or (one.argument is None) != (one.function == "count_rows"):
        raise InvariantError("an unknown aggregate within a unit")
    if one.where is not None:
        condition(one.where, source.columns, "FILTER")
    if one.argument is None:
        least = 1 if one.where is None and not empty else 0
        return as_facts(whole(Fraction(least), Fraction(most), nullable=False))
    known = typed(one.argument, source.columns)
    if one.function in {"count", "count_distinct"}:
        return as_facts(whole(Fraction(0), Fraction(most), nullable=False))
    nullable = known.nullable or one.where is not None or empty
    allowed = NUMBERS if one.function in {"sum", "avg"} else (*NUMBERS, *MOMENTS, "text", "boolean")
    if known.kind is None or known.kind not in allowed:
        raise WrongKind(one.function.upper(), " or ".join(allowed), (known.kind or "NULL",))
    if one.function in {"min", "max"}:
        step = _declared_step(one.argument, source)
        values = known.values if known.kind == "text" else None
        return as_facts(replace(known, nullable=nullable, values=values, step=1), step)
    low, high = _ends(one, known)
    if one.function == "avg":
        return as_facts(real(low, high, nullable=nullable))
    ends = (most * min(low, Fraction(0)), most * max(high, Fraction(0)))
    made = whole if known.kind == "integer" else real
    return as_facts(made(*ends, nullable=nullable), one.step)


FINE = 2**59
"""As many steps where a sum or a mean is compared with a row's own value: most doubles are whole numbers of them."""


def grid_step(argument: Expression, source: Schema, grid: int = GRID) -> Fraction | None:
    """Return the step on which numbers are summed within a unit: the declared one, or a fine power of two."""
    known = typed(argument, source.columns)
    if known.kind != "number" or not known.bounded:
        return Fraction(1) if known.kind == "integer" else None
    declared = _declared_step(argument, source)
    if declared is not None:
        return declared
    low, high = known.bounds
    widest = max(abs(low or Fraction(0)), abs(high or Fraction(0)))
    step = Fraction(1)
    while step * grid > widest > 0:
        step /= 2
    while step * 2 * grid <= widest:
        step *= 2
    return step


def rank_facts(one: Rank, source: Schema, most: int) -> Facts:
    """Return the facts of a window function within one unit's rows."""
    if one.function in OVER:
        for expression in (*one.partition, *(term.expression for term in one.order)):
            typed(expression, source.columns)
        return group_facts(one.within, source, most, empty=True)
    if one.function not in RANKS or (one.where, one.step, one.span) != (None, None, None):
        raise InvariantError("an unknown window function")
    for expression in (*one.partition, *(term.expression for term in one.order)):
        typed(expression, source.columns)
    if one.function in {"rank", "dense_rank", "lag", "lead"} and not one.order:
        raise Unsupported(f"{one.function.upper()} needs an ORDER BY in its OVER (...)")
    if one.function not in {"lag", "lead"}:
        if one.argument is not None:
            raise InvariantError("a rank has no argument")
        return as_facts(whole(Fraction(1), Fraction(most), nullable=False))
    if one.argument is None or not 1 <= one.places <= _FARTHEST:
        raise Unsupported(f"{one.function.upper()} takes a column and a constant number of rows from 1 to {_FARTHEST}")
    known = typed(one.argument, source.columns)
    step = _declared_step(one.argument, source)
    return as_facts(replace(known, nullable=True), step)


def _ends(one: Within, known: Typed) -> tuple[Fraction, Fraction]:
    low, high = known.bounds
    if low is None or high is None:
        raise Unbounded(text(one.argument) if one.argument is not None else one.name)
    if one.step is None or one.step <= 0 or max(abs(low), abs(high)) / one.step > _FINEST:
        raise Unsupported(f"the grid of {one.function.upper()} is too fine for its bounds; declare a larger step")
    if known.kind == "integer" and one.step != 1:
        raise InvariantError("whole numbers are summed as they are")
    return low, high


def _declared_step(expression: Expression, source: Schema) -> Fraction | None:
    return None if expression.column is None else source.columns[expression.column].step
