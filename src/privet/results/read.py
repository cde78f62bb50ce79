"""From released sums to an answer: reads the aggregates, runs the steps on released rows, and adds the intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from privet.aggregates import Ranked
from privet.answer import Answer, Series
from privet.core.expression import ColumnRef
from privet.core.records import Receipt
from privet.core.schema import Kind
from privet.planner.derive import kinds_of, meanings
from privet.planner.explain import coverage_notes
from privet.planner.plan import Known, Place, Plan
from privet.planner.presence import null_notes, without_rows
from privet.planner.private_bounds import range_notes
from privet.planner.quantiles import far_notes
from privet.planner.widths import weights_of
from privet.query.nodes import Output, Step
from privet.release import Released

from .postprocess import run_step
from .row_intervals import RowBars, value_of

if TYPE_CHECKING:
    from privet.core.pair import Floats


# What several rounds say together: sums averaged by how precise they are, quantiles from the last and most precise.
#
# Sees released numbers only.


def averaged_sums(sums: Mapping[Place, Floats], plan: Plan) -> dict[Place, Floats]:
    """Return the sums that a plan reads, from those of its rounds; each round's noise is independent of the others'.

    Guarantee: a sum's noise has the law that `law_of` gives. A quantile is the one of the last round, and its interval
    what all rounds' intervals have in common: each holds the quantile as often as it says, so all of them do but for
    the sum of their tails, and with them what they have in common. Where they have nothing in common, one of them has
    missed, and the last is taken.
    """
    import numpy as np

    if plan.rounds == 1:
        return dict(sums)
    found: dict[Place, Floats] = {}
    for reading in plan.readings:
        places = [place for place in reading.places if not isinstance(place, Known)]
        found.update((place, sums[place]) for place in reading.places if isinstance(place, Known))
        several = [[sums[one] for one in plan.across(place)] for place in places]
        for place, values in zip(places, several, strict=True):
            if not plan.passes[place[0]].measure.averaged:
                found[place] = values[-1]
                continue
            weights = weights_of(plan, place)
            found[place] = np.asarray(sum(weight * one for weight, one in zip(weights, values, strict=True)))
        if isinstance(reading.aggregate, Ranked) and not reading.aggregate.extreme:
            low, high = np.max(several[1], axis=0), np.min(several[2], axis=0)
            apart = low > high
            found[places[1]] = np.where(apart, several[1][-1], low)
            found[places[2]] = np.where(apart, several[2][-1], high)
    return found


# From released sums to an answer: reads the aggregates, runs the steps on released rows, and draws the error bars.


ROW = "privet row"
"""The column that says which released row a row came from."""


def read_answer(released: Released, plan: Plan, receipt: Receipt, *, confidence: float) -> Answer:
    """Return the answer that a plan makes of what was released. Sees no data, and may be repeated at will."""
    released = as_asked(released, plan)
    sums = averaged_sums(sums_of(released, plan), plan)
    base: dict[str, Any] = {ROW: list(range(len(released.keys)))}
    for index, key in enumerate(plan.query.keys):
        base[key.name] = [cell[index] for cell in released.keys]
    for reading in plan.readings:
        value = value_of(reading, [sums[place] for place in reading.places])
        base[reading.name] = without_rows(plan, reading, value, sums)
    kinds = {ROW: "integer", **kinds_of(plan)}
    rows = dict(base)
    for step in plan.query.steps:
        rows, kinds = run(step, rows, kinds)
    chosen = list(map(int, rows.pop(ROW)))
    bars = RowBars(plan, sums, base, chosen, 1 - confidence)
    meaning = meanings(plan.query)
    series = tuple(bars.series(name, values, meaning[name]) for name, values in rows.items())
    found = (*outside_notes(series), *range_notes(plan, base), *far_notes(plan, base), *null_notes(plan, base))
    notes = (*coverage_notes(plan, confidence), *found)
    return Answer(series, confidence, plan, receipt, notes)


def outside_notes(series: Sequence[Series]) -> tuple[str, ...]:
    """Return a note where a number lies outside its interval: it is kept as released, the interval is of what can be.

    To cut the number off as well would bias it, and with it every sum of such numbers.
    """
    outside = [
        one.name
        for one in series
        for value, low, high in zip(one.values, one.low or (), one.high or (), strict=False)
        if isinstance(value, (int, float)) and (value < low or value > high)
    ]
    names = ", ".join(dict.fromkeys(outside))
    kept = "noise moved values beyond what is possible; they are not clamped, so that their sums stay unbiased."
    return (f"{names}: {kept}",) if outside else ()


def as_asked(released: Released, plan: Plan) -> Released:
    """Return what was released with its keys, and its rows, in the order in which the question names the keys."""
    places, keys = plan.key_places, plan.groups
    if places == tuple(range(len(keys))):
        return released
    others = [keys[place].other for place in places]
    ranks = [{value: rank for rank, value in enumerate(keys[place].values or ())} for place in places]

    def rank(row: int) -> list[Any]:
        values = [released.keys[row][place] for place in places]
        return [
            known.get(one, (one is not None and one == other, one is None, 0 if one is None else one))
            for one, known, other in zip(values, ranks, others, strict=True)
        ]

    rows = sorted(range(len(released.keys)), key=rank)
    cells = tuple(tuple(released.keys[row][place] for place in places) for row in rows)
    return Released(cells, tuple(tuple(tuple(noisy[row] for row in rows) for noisy in one) for one in released.sums))


def sums_of(released: Released, plan: Plan) -> dict[Place, Floats]:
    """Return every sum that a plan reads, in grid units, one number for each group."""
    import numpy as np

    found: dict[Place, Floats] = {
        (index, column): values
        for index, one in enumerate(plan.passes)
        for column, values in enumerate(one.measure.read(released.sums[index], one.scan))
    }
    for reading in plan.readings:
        for place in reading.places:
            if isinstance(place, Known):
                found[place] = np.full(len(released.keys), float(place.value))
            elif place not in found:  # beyond as many as there are values to choose from, there are none
                found[place] = np.full(len(released.keys), None, dtype=object)
    return found


def run(step: Step, rows: dict[str, Any], kinds: Mapping[str, Kind]) -> tuple[dict[str, Any], dict[str, Kind]]:
    """Return the rows of a step, each still with the number of the released row that it came from."""
    picked = _picked(step)
    if picked is not None:
        picked[ROW] = ROW
        return {name: rows[was] for name, was in picked.items()}, {name: kinds[was] for name, was in picked.items()}
    outputs = (*step.outputs, Output(ROW, ColumnRef(ROW)))
    if not step.distinct:
        return run_step(replace(step, outputs=outputs), rows, kinds)
    found, made = run_step(replace(step, outputs=outputs, distinct=False, limit=None, offset=0), rows, kinds)
    names = [output.name for output in step.outputs]
    first: dict[tuple[Any, ...], int] = {}
    for index, row in enumerate(zip(*(found[name] for name in names), strict=True)):
        first.setdefault(row, index)
    kept = list(first.values())[step.offset :]
    kept = kept if step.limit is None else kept[: step.limit]
    return {name: [values[index] for index in kept] for name, values in found.items()}, made


def _picked(step: Step) -> dict[str, str] | None:
    """Return the columns that a step names, if that is all it does, as most do; no engine is needed for it then."""
    if step.where is not None or step.distinct or step.order or step.limit is not None or step.offset:
        return None
    columns = {
        output.name: output.expression.name for output in step.outputs if isinstance(output.expression, ColumnRef)
    }
    return columns if len(columns) == len(step.outputs) else None
