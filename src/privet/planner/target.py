"""How accurate an answer must be: the half-width that intervals may have, and how far a plan is from it.

The noise of a column that is linear in one sum is the same whatever the data; only such columns can have a target.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from privet.core.errors import BadParameter, RequestError, UnknownName, Unsupported
from privet.core.exact import open_probability, positive

from .derive import columns_of, linear_in, meanings
from .plan import Known, Plan, Reading, Target
from .widths import measure_at, noise_within

CONFIDENCE = Fraction(19, 20)
"""How often an interval holds where nothing is said."""


@dataclass(frozen=True)
class Reached:
    """The half-width that a column has at the target's confidence, and the one that it may have."""

    column: str
    half_width: Fraction
    wanted: Fraction

    def words(self) -> str:
        """Return the column with its half-width."""
        return f"{self.column} ±{float(self.half_width):,.4g}"


def read_target(within: object, confidence: object) -> Target:
    """Return what a caller wants: one half-width for all columns, or one for each column that is named."""
    level = CONFIDENCE if confidence is None else open_probability(confidence, "confidence")
    if isinstance(within, Mapping):
        if not within or not all(isinstance(name, str) and name for name in within):
            raise BadParameter("within", within, "a number, or numbers by column, such as {'n': 5}")
        named = sorted((name, positive(width, f"within of {name!r}")) for name, width in within.items())
        return Target(None, tuple(named), level)
    if isinstance(within, str):
        raise Unsupported(f"within={within!r} is not supported: say how far off a number may be, such as within=5")
    return Target(positive(within, "within"), (), level)


def reached(plan: Plan, target: Target) -> tuple[Reached, ...]:
    """Return the half-widths of the columns that have a target, from public facts alone.

    Guarantee: what is shown is off by no more, as the sums are bounded, at least as often as the confidence says: it is
    the quantile of the very noise that will be drawn, and what rounding may add, times the exact factor of the sum.
    """
    readings = {reading.name: reading for reading in plan.readings}
    found = []
    named = meanings(plan.query)
    for name, _ in target.columns:
        if name not in named:
            raise UnknownName("column", name, named)
    for name, meaning in named.items():
        wanted = target.of(name)
        noisy = columns_of(meaning) & set(readings)
        if wanted is None or not (noisy or target.columns):
            continue
        line = linear_in(meaning)
        reading = readings.get(line.column) if line else None
        if line is None or reading is None or reading.aggregate.linear is None:
            raise Unsupported(_unfit(name, bool(noisy)))
        factor = abs(line.factor) * reading.aggregate.linear
        half = Fraction(noise_within(plan, reading.places[0], float(target.confidence)))
        found.append(Reached(name, (half + _rounding(plan, reading)) * factor, wanted))
    if not found:
        raise RequestError("no column of this question has noise, so there is nothing that within= could limit")
    return tuple(found)


def excess(plan: Plan, target: Target) -> Fraction:
    """Return the largest half-width of a plan as a multiple of what it may be: at most 1 where the target is met."""
    return max(one.half_width / one.wanted for one in reached(plan, target))


def _rounding(plan: Plan, reading: Reading) -> Fraction:
    """Return how far a number is from the noisy sum that it is read from: counts are shown as whole numbers."""
    place = reading.places[0]
    weighted = not isinstance(place, Known) and measure_at(plan, place).shift > 0
    return Fraction(1, 2) if weighted and reading.aggregate.counts else Fraction(0)


def facts_of(plan: Plan) -> dict[str, Any] | None:
    """Return the target of a plan, and what it reaches, as plain data."""
    if plan.target is None:
        return None
    columns = [
        {"column": one.column, "within": float(one.wanted), "half_width": float(one.half_width)}
        for one in reached(plan, plan.target)
    ]
    return {"confidence": float(plan.target.confidence), "columns": columns}


def _unfit(name: str, noisy: bool) -> str:
    if not noisy:
        return f"{name!r} has no noise; within= is for columns that have"
    return (
        f"how wide {name!r} will be depends on the data, so no price for a width is known before; within= is for COUNT "
        f"and SUM, and what is linear in one of them: say epsilon= instead, or within={{...}} for the other columns"
    )
