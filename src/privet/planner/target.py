"""How accurate an answer must be: the half-width that intervals may have, and how far a plan is from it.

The noise of a column that is linear in one sum is the same whatever the data: so much of it has a price that is known
before. How wide other columns are, and how wide all are beside their values, depends on the data; rounds find it out.
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from privet.core.errors import BadParameter, InvariantError, RequestError, UnknownName, Unsupported
from privet.core.event import Receipt
from privet.core.numbers import Number, open_probability, positive, read_rational, written_decimal
from privet.query.functions import mentions
from privet.query.normal import MICROSECONDS, microseconds
from privet.query.resolve import linear_in, meanings
from privet.query.terms import Width

from .plan import Known, Limit, Plan, Reading, Target

_WIDEST = Fraction(10) ** 300
"""So wide, and no less narrow than 1 over it, may an interval be asked to be: floats hold what is between."""

CONFIDENCE = Fraction(19, 20)
"""The confidence level of intervals where none is passed."""


@dataclass(frozen=True)
class Reached:
    """The half-width that a column has at the target's confidence, and the one that it may have."""

    column: str
    half_width: Fraction
    wanted: Fraction

    def words(self) -> str:
        """Return the column with its half-width."""
        return f"{self.column} ±{float(self.half_width):,.4g}"


def read_target(within: Width | Limit, confidence: Number | None) -> Target:
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


def _limit(width: Number | str | Limit, parameter: str) -> Limit:
    """Return how wide a column may be: a number, or a text such as '2%'."""
    match width:
        case Limit():
            return width
        case str():
            return _part(width, parameter)
    amount = positive(width, parameter)
    if not 1 / _WIDEST <= amount <= _WIDEST:
        raise BadParameter(parameter, width, "a number from 1e-300 to 1e300")
    return Limit(amount)


def _part(width: str, parameter: str) -> Limit:
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
        if not mentions(named[name]) & readings:
            raise Unsupported(f"{name!r} has no noise; within= is for columns that have")
    for name, meaning in named.items():
        limit = target.of(name)
        if limit is not None and mentions(meaning) & readings:
            if limit.relative and meaning.function in {"as_date", "as_timestamp"}:
                raise Unsupported(
                    f"{name!r} is a date, of which there are no parts; say within how many days: within=7"
                )
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
    if not all(step.plain for step in plan.query.steps):
        sums = plan.sums
        return None if sums is None else sums.half_width(column, confidence)
    line = linear_in(meanings(plan.query)[column])
    reading = next((one for one in plan.readings if line and one.name == line.column), None)
    if line is None or reading is None:
        return None
    if reading.aggregate.steady:
        laws = [plan.law(place) for place in reading.places]
        wide = reading.aggregate.predicted_width(laws, 1, 1 - confidence)
        return None if wide is None else Fraction(wide) * abs(line.factor)
    if reading.aggregate.linear is None:
        return None
    half = Fraction(plan.noise_within(reading.places[0], confidence))
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
    weighted = not isinstance(place, Known) and plan.measure_at(place).shift > 0
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


# How narrow released intervals are beside what was asked. Sees released numbers only.


@dataclass(frozen=True)
class Achieved:
    """The widest interval of a column beside its limit, and in how many of its rows the limit is met."""

    column: str
    limit: Limit
    widest: float
    met: int
    rows: int

    @property
    def reached(self) -> bool:
        """Whether every row is as narrow as asked."""
        return self.met == self.rows

    def words(self) -> str:
        """Return the column with the width that it has."""
        width = "not known to be other than 0" if math.isinf(self.widest) else f"±{self._shown}"
        some = "" if self.rows == 1 else f", and {self.met} of {self.rows} rows are as asked"
        return f"{self.column} is {width} (asked: {self.limit}{some})"

    @property
    def _shown(self) -> str:
        return f"{self.widest * 100:,.4g}%" if self.limit.relative else f"{self.widest:,.4g}"

    def to_dict(self) -> dict[str, Any]:
        """Return plain data that JSON can hold."""
        return {
            "column": self.column,
            "within": float(self.limit.amount),
            "relative": self.limit.relative,
            "widest": self.widest if math.isfinite(self.widest) else None,
            "met": self.met,
            "rows": self.rows,
        }


@dataclass(frozen=True)
class Accuracy:
    """What became of a width that was asked for: the rounds that were paid for, and how narrow the answer is."""

    columns: tuple[Achieved, ...]
    receipts: tuple[Receipt, ...]
    rounds: int
    ended: str = ""
    """Why no further round was carried out, where that is not because of the width or of the maximum."""

    @property
    def reached(self) -> bool:
        """Whether every interval is as narrow as asked; an answer without rows has none that is."""
        return all(one.reached and one.rows for one in self.columns)

    def note(self) -> str:
        """Return in words whether the width was reached, and otherwise how wide the answer is."""
        count = f"{len(self.receipts)} of {self.rounds} rounds"
        if self.reached:
            return f"as narrow as asked after {count}."
        told = "; ".join(one.words() for one in self.columns if not one.reached or not one.rows)
        why = self.ended or f"the maximum was spent ({count})"
        return f"NOT as narrow as asked: {why}; {told or 'no row is shown'}."

    def to_dict(self) -> dict[str, Any]:
        """Return plain data that JSON can hold."""
        return {
            "reached": self.reached,
            "rounds": [{"entry": one.entry, "digest": one.digest} for one in self.receipts],
            "most_rounds": self.rounds,
            "columns": [one.to_dict() for one in self.columns],
        }


def achieved(column: str, limit: Limit, values: Sequence[Any], low: Sequence[float], high: Sequence[float]) -> Achieved:
    """Return how narrow the intervals of a column are: how far the further end is from the value.

    As a part, that is divided by whichever number of the interval is nearest to 0. So where the interval holds the
    truth, the value is off by no more than that part of the truth, whatever that is.
    """
    widest, met, rows = 0.0, 0, 0
    for value, bottom, top in zip(*map(_in_days, (values, low, high)), strict=True):
        if value is None and (bottom is None or (math.isnan(bottom) and math.isnan(top))):
            continue  # NULL whatever the noise
        rows += 1
        width = _width(value, bottom, top, limit)
        widest = max(widest, width)
        met += width <= float(limit.amount) * (1 + 1e-12)
    return Achieved(column, limit, widest, met, rows)


def _in_days(values: Sequence[Any]) -> list[Any]:
    """Return dates and timestamps as days since 1970, and NaN for the ends that a NULL has; numbers as they are."""
    if not any(isinstance(one, datetime.date) for one in values):
        return [*values]
    return [microseconds(one) / MICROSECONDS if isinstance(one, datetime.date) else one for one in values]


def _width(value: Any, bottom: float, top: float, limit: Limit) -> float:
    if value is None or not all(map(math.isfinite, (value, bottom, top))):
        return math.inf
    half = max(top - value, value - bottom)
    if not limit.relative or not half:
        return float(half)
    nearest = 0.0 if bottom <= 0 <= top else min(abs(bottom), abs(top))
    return math.inf if not nearest else float(half / nearest)
