"""Whether there are any rows: the noisy count that goes with MIN and MAX, and what it must exceed for them to be shown.

A least value of no rows would come out as the greatest one that is declared. It is NULL instead, by a count that is
released, for a tenth of what the least and the greatest may cost, or that the question releases anyway.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from privet.aggregates import Ranked
from privet.core.errors import InvariantError
from privet.core.relation import ColumnRef
from privet.core.scan import Scan, Sum
from privet.mechanisms import Gaussian, Laplace
from privet.query.resolve import meanings

from .measures import Measure, SumMeasure
from .plan import Known, Pass, Place, Plan, Reading, Spend
from .stability import sensitivity_of, shift_of

if TYPE_CHECKING:
    from privet.core.event import Floats

PART = Fraction(1, 10)
"""What the count takes of what is spent on the quantiles of a column that have a least or a greatest among them."""

EMPTY = 0.999
"""How often the least and the greatest of no rows at all are NULL, or more often."""


def presence_sum(quantiles: Sequence[Ranked]) -> Sum | None:
    """Return the count of rows that quantiles of one column are of, where there is a least or a greatest among them."""
    return quantiles[0].argument.present() if any(one.extreme for one in quantiles) else None


def presence_pass(total: Sum, scan: Scan, part: Spend) -> Pass:
    """Return the pass that counts rows, for a part of a spend: with Laplace noise, or Gaussian where rho is spent.

    Guarantee: an epsilon adds to that of the choices, and a rho to theirs. `scan` has no sums and bounds in L1.
    """
    scan = replace(scan, sums=(total,))
    sensitivity = sensitivity_of(total, scan)
    if part.rho is None:
        noise: Laplace | Gaussian = Laplace(sensitivity=sensitivity, epsilon=part.epsilon)
    else:
        noise = Gaussian(sensitivity=sensitivity, rho=part.rho)
    return Pass(scan, SumMeasure((Measure(total, sensitivity, noise, shift_of(scan.bounding)),)))


def presence_place(total: Sum, passes: Sequence[Pass], known: Mapping[Sum, Known]) -> Place:
    """Return where the count of rows is: known, among the sums of the question, or in a pass of its own."""
    if total in known:
        return known[total]
    for index, one in enumerate(passes):
        if one.plain and not one.scan.distinct and total in one.scan.sums:
            return index, one.scan.sums.index(total)
    raise InvariantError("a least or greatest value has no count of rows")


def least_rows(plan: Plan, place: Place) -> float:
    """Return what a noisy count must exceed: as much as the noise alone does once in a thousand times, or less often.

    The noise is as likely above a distance as below its negative, so half of what lies outside an interval is above.
    """
    if isinstance(place, Known):
        return 0.0
    index, at = plan.across(place)[-1]
    return plan.passes[index].measures[at].error(2 * EMPTY - 1)


def without_rows(plan: Plan, reading: Reading, values: Any, sums: Mapping[Place, Floats]) -> Any:
    """Return the least or greatest values, NULL where no more rows are counted than noise makes of none."""
    if not reading.has_presence:
        return values
    few = sums[reading.places[-1]] <= least_rows(plan, reading.places[-1])
    if not few.any():
        return values
    found = values.astype(object)
    found[few] = None
    return found


def presence_only(plan: Plan) -> frozenset[int]:
    """Return the passes that count rows for the least and the greatest alone, and share what those may cost."""
    counts = _passes(place for one in plan.readings if one.has_presence for place in one.places[1:])
    others = _passes(place for one in plan.readings if not one.has_presence for place in one.places)
    return frozenset(index for index in counts - others if plan.passes[index].keys is None)


def presence_notes(plan: Plan) -> list[str]:
    """Return when the least and the greatest are NULL."""
    asked = [one for one in plan.readings if one.has_presence]
    if not asked:
        return []
    least = max(least_rows(plan, one.places[-1]) for one in asked)
    return [
        f"MIN and MAX are NULL where the noisy count of their rows is at most {least:,.4g}; this is the case for a "
        f"group without rows at least {EMPTY * 1000:g} times in 1,000."
    ]


def presence_lines(plan: Plan) -> list[str]:
    """Return in words what the count of rows for the least and the greatest costs."""
    asked = [one for one in plan.readings if one.has_presence]
    if not asked:
        return []
    if presence_only(plan):
        share = f"takes {float(PART * 100):g}% of what is spent on them"
    else:
        share = "is released anyway"
    return [f"{presence_notes(plan)[0]} The count {share}."]


def null_notes(plan: Plan, released: Mapping[str, Any]) -> tuple[str, ...]:
    """Return a note where a least or a greatest value came out as NULL; it is told from what was released alone."""
    notes = []
    for reading in plan.readings:
        if not reading.has_presence:
            continue
        values = list(released[reading.name])
        none = sum(value is None for value in values)
        if none:
            where = f" in {none:,} of {len(values):,} groups" if plan.query.keys else ""
            shown = [name for name, meaning in meanings(plan.query).items() if meaning == ColumnRef(reading.name)]
            notes.append(f"{', '.join(shown) or reading.name}: NULL{where}: too few rows.")
    return tuple(notes)


def _passes(places: Iterable[Place]) -> set[int]:
    return {place[0] for place in places if not isinstance(place, Known)}
