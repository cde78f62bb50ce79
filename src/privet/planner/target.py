"""How accurate an answer must be: the half-width that intervals may have, and how far a plan is from it.

The noise of a column that is linear in one sum is the same whatever the data: so much of it has a price that is known
before. How wide other columns are, and how wide all are beside their values, depends on the data; rounds find it out.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from privet.core.errors import BadParameter, InvariantError, RequestError, UnknownName, Unsupported
from privet.core.exact import open_probability, positive, read_rational, written_decimal

from .derive import columns_of, linear_in, meanings
from .plan import Known, Limit, Plan, Reading, Target
from .widths import measure_at, noise_within

_WIDEST = Fraction(10) ** 300
"""So wide, and no less narrow than 1 over it, may an interval be asked to be: floats hold what is between."""

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
    if not 0 < float(level) < 1:
        raise BadParameter(
            "confidence", float(level), "between 0 and 1, and not so near to either that it rounds to it"
        )
    if isinstance(within, Mapping):
        if not within or not all(isinstance(name, str) and name for name in within):
            raise BadParameter("within", within, "a number, or numbers by column, such as {'n': 5, 'cost': '2%'}")
        named = sorted((name, _limit(width, f"within of {name!r}")) for name, width in within.items())
        return Target(None, tuple(named), level)
    return Target(_limit(within, "within"), (), level)


def _limit(width: object, parameter: str) -> Limit:
    """Return how wide a column may be: a number, or a text such as '2%'."""
    if isinstance(width, Limit):
        return width
    if not isinstance(width, str):
        amount = positive(width, parameter)
        if not 1 / _WIDEST <= amount <= _WIDEST:
            raise BadParameter(parameter, width, "a number from 1e-300 to 1e300")
        return Limit(amount)
    allowed = "a number above 0, or a percentage above 0 and below 100 such as '2%'"
    digits, sign, rest = width.strip().partition("%")
    written = written_decimal(digits)
    share = None if written is None else read_rational(written)
    if share is None or not sign or rest or not 0 < share < 100:
        raise BadParameter(parameter, width, allowed)
    return Limit(share / 100, relative=True)


def limited(plan: Plan, target: Target) -> dict[str, Limit]:
    """Return the columns that have a limit, each with its own; refuse names that are none, or have no noise."""
    readings = {reading.name for reading in plan.readings}
    named = meanings(plan.query)
    found = {}
    for name, _ in target.columns:
        if name not in named:
            raise UnknownName("column", name, named)
        if not columns_of(named[name]) & readings:
            raise Unsupported(f"{name!r} has no noise; within= is for columns that have")
    for name, meaning in named.items():
        limit = target.of(name)
        if limit is not None and columns_of(meaning) & readings:
            found[name] = limit
    if not found:
        raise RequestError("no column of this question has noise, so there is nothing that within= could limit")
    return found


def has_price(plan: Plan, target: Target) -> bool:
    """Whether the price of a target is known before: all is absolute, and for columns that are linear in one sum."""
    columns = limited(plan, target)
    return all(not limit.relative and half_width_of(plan, name, 0.5) is not None for name, limit in columns.items())


def half_width_of(plan: Plan, column: str, confidence: float) -> Fraction | None:
    """Return how far from its middle the interval of a column reaches, if that is the same whatever the data."""
    line = linear_in(meanings(plan.query)[column])
    reading = next((one for one in plan.readings if line and one.name == line.column), None)
    if line is None or reading is None or reading.aggregate.linear is None:
        return None
    half = Fraction(noise_within(plan, reading.places[0], confidence))
    return (half + _rounding(plan, reading)) * abs(line.factor) * reading.aggregate.linear


def reached(plan: Plan, target: Target) -> tuple[Reached, ...]:
    """Return the half-widths of the columns that have a target, from public facts alone.

    Guarantee: what is shown is off by no more, as the sums are bounded, at least as often as the confidence says: it is
    the quantile of the very noise that will be drawn, and what rounding may add, times the exact factor of the sum.
    """
    found = []
    for name, limit in limited(plan, target).items():
        half = half_width_of(plan, name, float(target.confidence))
        if half is None or limit.relative:
            raise InvariantError("a width that depends on the data has no price")
        found.append(Reached(name, half, limit.amount))
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
    if plan.rounds > 1:
        wanted = [
            {"column": name, "within": float(limit.amount), "relative": limit.relative}
            for name, limit in limited(plan, plan.target).items()
        ]
        return {"confidence": float(plan.target.confidence), "rounds": plan.rounds, "columns": wanted}
    columns = [
        {"column": one.column, "within": float(one.wanted), "half_width": float(one.half_width)}
        for one in reached(plan, plan.target)
    ]
    return {"confidence": float(plan.target.confidence), "columns": columns}
