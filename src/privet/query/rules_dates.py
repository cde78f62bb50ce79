"""The rules of casts and of functions of dates and times: kinds taken, and public facts of the result.

Like the other rules, these see types and constants, never data.
"""

from __future__ import annotations

import datetime
from fractions import Fraction

from privet.core.errors import WrongKind
from privet.core.schema import Kind

from . import dates, intervals
from .normal import spelled
from .rules import MOMENTS, MOST_VALUES, NUMBERS, Rule, constant_text, constant_whole, take
from .typed import Argument, Arguments, Typed, as_kind, real, truth, whole


def cast(kind: Kind, *sources: Kind) -> Rule:
    """Return the rule of a cast, which gives NULL for what it cannot read."""

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


def _part_name(name: str, argument: Argument, kinds: set[Kind | None]) -> str:
    allowed = dates.DATE_PARTS + (() if "date" in kinds else dates.TIME_PARTS)
    value = constant_text(name, argument)
    if value not in allowed:
        raise WrongKind(spelled(name), f"a part among {', '.join(allowed)}", (repr(value[:20]),))
    return value


def date_trunc(name: str, arguments: Arguments) -> Typed:
    """Return the facts of the start of the part that holds a moment, of the same kind."""
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


def shift(unit: str, *kinds: Kind) -> Rule:
    """Return the rule of adding a constant number of days, months or seconds; NULL outside the years 1 to 9999."""

    def apply(name: str, arguments: Arguments) -> Typed:
        x = take(name, arguments[0], *kinds)
        amount = constant_whole(name, arguments[1], -(10**9), 10**9)
        ends = [dates.shift(end, unit, amount) if isinstance(end, datetime.date) else None for end in (x.low, x.high)]
        nullable = x.nullable or None in ends
        return Typed(kind=x.kind, nullable=nullable, low=ends[0], high=ends[1])

    return apply
