"""The public facts of a computed column, as those of a declared one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction

from privet.core.errors import Unsupported
from privet.core.expression import Column, Expression
from privet.core.schema import Column as Facts

from .functions import typed
from .normal import text
from .typed import Typed, clamp_ends

_MOST_LISTED = 1_000


def facts_of(expression: Expression, columns: Mapping[str, Facts]) -> Facts:
    """Return the facts of a column that is computed from others; engines hold its values to them."""
    known = typed(expression, columns)
    if isinstance(expression, Column):
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
