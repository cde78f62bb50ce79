"""The bounds that plain conditions leave a column: x >= 3, x < 7, x = 5, x IN (1, 2). From the question alone."""

from __future__ import annotations

import datetime
import math
from collections.abc import Iterable, Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any

from privet.core.expression import Call, Column, Expression, Literal
from privet.core.schema import Column as Facts

_SIDES = {"less": (False, True), "less_equal": (False, True), "greater": (True, False), "greater_equal": (True, False)}
"""Whether a comparison bounds a column from below, and from above."""


def narrowed(facts: Mapping[str, Facts], conditions: Iterable[Expression]) -> dict[str, Facts]:
    """Return the facts of columns in rows of which all conditions are true: narrower bounds, where there are some.

    Guarantee: where each condition is true, the value of a column within its facts is within what is returned.
    """
    found = dict(facts)
    for one in conditions:
        if not isinstance(one, Call) or not isinstance(one.arguments[0], Column):
            continue
        name = one.arguments[0].name
        ends = _ends(one, found[name])
        if ends is None:
            continue
        low, high = ends
        known = found[name]
        bottom, top = max(known.low, low), min(known.high, high)
        if known.kind == "integer":
            bottom, top = Fraction(math.ceil(bottom)), Fraction(math.floor(top))
        if bottom <= top:
            found[name] = replace(known, low=bottom, high=top)
    return found


def _ends(one: Call, facts: Facts) -> tuple[Any, Any] | None:
    """Return between which values of a bounded column a condition can be true; None where it does not say."""
    if facts.low is None or facts.high is None or facts.values is not None:
        return None
    constants = [part.value for part in one.arguments[1:] if isinstance(part, Literal)]
    if len(constants) != len(one.arguments) - 1 or not constants:
        return None
    values = [_as(facts, value) for value in constants]
    if any(value is None for value in values):
        return None
    if one.function in {"equal", "in"}:
        return min(values), max(values)
    if one.function not in _SIDES:
        return None
    below, above = _SIDES[one.function]
    (value,) = values
    if one.function in {"less", "greater"}:
        value = _beyond(facts, value, up=below)
    return (value if below else facts.low), (value if above else facts.high)


def _as(facts: Facts, value: Any) -> Any:
    """Return a constant as the column compares with it; None where that is another kind."""
    if isinstance(value, bool):
        return None
    if facts.kind in {"integer", "number"} and isinstance(value, (int, Fraction)):
        if facts.kind == "integer" and isinstance(value, int):
            return Fraction(value)
        try:  # as doubles: what is compared with a number is one, and a whole number beside a decimal becomes one
            nearest = Fraction(float(value))
        except OverflowError:
            return None
        return nearest if facts.kind == "number" or abs(nearest) < 2**53 else None
    if facts.kind == "date" and isinstance(value, datetime.date) and not isinstance(value, datetime.datetime):
        return value
    if facts.kind == "timestamp" and isinstance(value, datetime.date):
        return value if isinstance(value, datetime.datetime) else datetime.datetime.combine(value, datetime.time())
    return None


def _beyond(facts: Facts, value: Any, *, up: bool) -> Any:
    """Return the next value of a column's kind, above or below."""
    if facts.kind == "integer":
        return Fraction(math.floor(value) + 1 if up else math.ceil(value) - 1)
    if facts.kind == "number":
        return Fraction(math.nextafter(float(value), math.inf if up else -math.inf))
    step = datetime.timedelta(days=1) if facts.kind == "date" else datetime.timedelta(microseconds=1)
    try:
        return value + step if up else value - step
    except OverflowError:
        return value
