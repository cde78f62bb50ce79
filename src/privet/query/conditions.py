"""The values of an expression for which a condition is true.

From the question alone. Whether two conditions can both be true decides how questions are put together, and never how
far a row counts: the engine sorts each row into one cell, whatever is found here.
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any

from privet.core.relation import Expression, Literal
from privet.core.schema import ColumnFacts as Facts
from privet.core.schema import Kind

from .expressions import typed
from .normal import call, conjunction
from .typed import Typed

Cut = tuple[int, Any, int]
"""A place between values: (0, value, 0) lies just before a value and (0, value, 1) just after it."""

FIRST: Cut = (-1, 0, 0)
LAST: Cut = (1, 0, 0)
"""Below and above all values."""


@dataclass(frozen=True)
class ValueSet:
    """Values of an expression: those between pairs of rising cuts, and NULL or not."""

    spans: tuple[tuple[Cut, Cut], ...]
    null: bool = False

    @property
    def empty(self) -> bool:
        """Whether there is no value in it."""
        return not (self.spans or self.null)

    def cuts(self) -> Iterable[Cut]:
        """Yield every cut at which it begins or ends."""
        return (cut for span in self.spans for cut in span)

    def has(self, start: Cut, end: Cut) -> bool:
        """Whether all between two cuts, between which it neither begins nor ends, is in it."""
        return any(first <= start and end <= last for first, last in self.spans)

    def both(self, other: ValueSet) -> ValueSet:
        """Return the values that are in this and in another."""
        pairs = ((max(a, c), min(b, d)) for a, b in self.spans for c, d in other.spans)
        return ValueSet(tuple(sorted((low, high) for low, high in pairs if low < high)), self.null and other.null)

    def either(self, other: ValueSet) -> ValueSet:
        """Return the values that are in this or in another."""
        made: list[tuple[Cut, Cut]] = []
        for low, high in sorted((*self.spans, *other.spans)):
            if made and low <= made[-1][1]:
                made[-1] = (made[-1][0], max(high, made[-1][1]))
            else:
                made.append((low, high))
        return ValueSet(tuple(made), self.null or other.null)

    def others(self) -> ValueSet:
        """Return the values that are not in it, NULL aside."""
        ends = [FIRST, *self.cuts(), LAST]
        return ValueSet(tuple((low, high) for low, high in zip(ends[::2], ends[1::2], strict=True) if low < high))


EVERY = ValueSet(((FIRST, LAST),), null=True)
VALUES = ValueSet(((FIRST, LAST),))
"""All values; all but NULL."""

_Truth = tuple[Expression, ValueSet, ValueSet]
"""The subject of a condition, where it is true, and where it is false; elsewhere it is NULL."""


def regions_of(
    where: Expression | None, columns: Mapping[str, Facts]
) -> tuple[dict[Expression, ValueSet], tuple[Expression, ...]]:
    """Return of each expression the values for which a condition can be true, and the parts that imply none.

    Guarantee: the condition is true of a row exactly where each expression has a value in its region, and all the other
    parts are true; up to the rounding of doubles, which the engine compares.
    """
    regions: dict[Expression, ValueSet] = {}
    rest: list[Expression] = []
    parts = () if where is None else where.arguments if where.function == "and" else (where,)
    for part in parts:
        truth = _truth(part, columns)
        if truth is None:
            rest.append(part)
        else:
            regions[truth[0]] = regions.get(truth[0], EVERY).both(truth[1])
    return regions, tuple(rest)


def disjoint(one: ValueSet, other: ValueSet) -> bool:
    """Return whether no value is in both."""
    return one.both(other).empty


def elementary(regions: Iterable[ValueSet]) -> tuple[tuple[Cut, Cut], ...]:
    """Return the pieces, in order, between the cuts of several regions: each is inside or outside each of them."""
    cuts = sorted({FIRST, LAST, *(cut for region in regions for cut in region.cuts())})
    return tuple(pairwise(cuts))


def _truth(condition: Expression, columns: Mapping[str, Facts]) -> _Truth | None:
    """Return the truth of a condition on one expression; None where it is about several, or not understood."""
    function, arguments = condition.function, condition.arguments
    if function == "not":
        inner = _truth(arguments[0], columns)
        return None if inner is None else (inner[0], inner[2], inner[1])
    if function in ("and", "or"):
        parts = [_truth(argument, columns) for argument in arguments]
        known = [part for part in parts if part is not None]
        if len(known) < len(parts) or len({part[0] for part in known}) > 1:
            return None
        subject, true, false = known[0]
        for _, yes, no in known[1:]:
            both = function == "and"
            true, false = (true.both(yes), false.either(no)) if both else (true.either(yes), false.both(no))
        return subject, true, false
    if condition.column is not None:
        true = _point(True, "boolean")
        return condition, true, true.others()
    if function == "is_null":
        return arguments[0], ValueSet((), null=True), VALUES
    return _compared(function, arguments, columns)


def _compared(function: str, arguments: tuple[Expression, ...], columns: Mapping[str, Facts]) -> _Truth | None:
    """Return the truth of a comparison with constants."""
    if len(arguments) < 2 or arguments[0].is_constant:
        return None
    kind = typed(arguments[0], columns).kind
    values = [_constant(argument, kind) for argument in arguments[1:]]
    if any(value is None for value in values):
        return None
    before, after = _around(values[0], kind)
    match function:
        case "equal" | "in":
            true = ValueSet(())
            for value in values:
                true = true.either(_point(value, kind))
        case "not_equal":
            true = _point(values[0], kind).others()
        case "less":
            true = ValueSet(((FIRST, before),))
        case "less_equal":
            true = ValueSet(((FIRST, after),))
        case "greater":
            true = ValueSet(((after, LAST),))
        case "greater_equal":
            true = ValueSet(((before, LAST),))
        case _:
            return None
    return arguments[0], true, true.others()


def _point(value: Any, kind: Kind | None) -> ValueSet:
    before, after = _around(value, kind)
    return ValueSet(((before, after),) if before < after else ())


def _around(value: Any, kind: Kind | None) -> tuple[Cut, Cut]:
    """Return the places before and after a value. Whole numbers and days have others right beside them."""
    if kind == "integer":
        return (0, Fraction(math.ceil(value)), 0), (0, Fraction(math.floor(value) + 1), 0)
    if kind == "date" and value < datetime.date.max:
        return (0, value, 0), (0, value + datetime.timedelta(days=1), 0)
    return (0, value, 0), (0, value, 1)


def _constant(expression: Expression, kind: Kind | None) -> Any:
    """Return a constant as an expression of a kind compares with it; None for one with no plain comparison."""
    if not expression.is_constant:
        return None
    match kind, expression.constant:
        case "boolean", bool() as value:
            return value
        case _, bool():
            return None
        case "integer", int() as value:
            return Fraction(value)
        case "integer" | "number", int() | Fraction() as value:
            try:
                nearest = Fraction(float(value))  # it is compared as a double
            except OverflowError:
                return None
            return nearest if kind == "number" or abs(nearest) < 2**53 else None
        case "text", str() as value:
            return value
        case "timestamp", datetime.datetime() as value:
            return value
        case "date", datetime.date() as value if not isinstance(value, datetime.datetime):
            return value
    return None


# Conditions again, for the pieces between cuts.


def points_of(values: Iterable[Any], kind: Kind | None) -> dict[tuple[Cut, Cut], Any]:
    """Return the piece that each value of a kind is; those that an engine would compare as others are left out."""
    points = {}
    for value in values:
        read = None if value is None else _constant(Literal(value), kind)
        if read is not None:
            points[_around(read, kind)] = value
    return points


def within(expression: Expression, start: Cut, end: Cut, kind: Kind | None) -> Expression | None:
    """Return the condition that an expression lies between two cuts; None where that is true of any value."""
    if kind == "boolean":
        true = start <= (0, True, 0) and end >= (0, True, 1)
        false = start <= (0, False, 0) and end >= (0, False, 1)
        if true and false:
            return None
        return expression if true else call("not", expression)
    alone = start[0] == 0 and (start, end) == _around(start[1], kind)
    if alone:
        return call("equal", expression, _literal(start[1], kind))
    parts = []
    if start != FIRST:
        parts.append(call("greater" if start[2] else "greater_equal", expression, _literal(start[1], kind)))
    if end != LAST:
        parts.append(call("less_equal" if end[2] else "less", expression, _literal(end[1], kind)))
    return conjunction(*parts)


def _literal(value: Any, kind: Kind | None) -> Literal:
    if kind == "integer":
        return Literal(int(value))
    return Literal(Fraction(repr(float(value)))) if kind == "number" else Literal(value)


def possible(start: Cut, end: Cut, facts: Typed) -> bool:
    """Return whether declared facts allow a value between two cuts: a clamped value lies within its bounds."""
    if facts.kind == "boolean":
        return start in ((0, False, 0), (0, True, 0)) and end[1:] == (start[1], 1)
    if facts.values is not None or facts.low is None or facts.high is None:
        return True
    low, high = facts.low, facts.high
    if facts.kind == "number":
        low, high = facts.ends  # type: ignore[assignment]
    bottom, top = _around(low, facts.kind)[0], _around(high, facts.kind)[1]
    return max(start, bottom) < min(end, top)
