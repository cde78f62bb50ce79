"""How wide the 95% intervals of an answer will be, column by column, from public facts alone.

Where the width depends on the data, as for AVG, it is given for some numbers of rows n, and as the most it can be.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any

from privet.core.relation import ColumnRef
from privet.display import shown_error
from privet.inference.bars import Law, averaged, half_width
from privet.query.functions import mentions
from privet.query.resolve import linear_in, meanings

from .cell_sums import CellSums
from .contributions import largest_limit
from .measures import Measure
from .plan import Known, Place, Plan, Reading

SIZES = (100, 1_000, 10_000, 100_000)
"""The numbers of rows in a group for which widths are given."""

LIMITS = (1, 10, 100, 1_000)
"""The contribution limits for which widths are given, where the answer chooses its own."""

TAIL = 0.05


@dataclass(frozen=True)
class Width:
    """The half-width of a column: one number, or one for each of some n; neither for keys and derived columns."""

    column: str
    half_width: float | None = None
    at: tuple[tuple[int, float], ...] = ()
    note: str = ""

    @property
    def known(self) -> bool:
        """Whether the width is a number, or one for each n."""
        return self.half_width is not None or bool(self.at)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {**asdict(self), "at": [{"n": n, "half_width": width} for n, width in self.at]}

    def words(self) -> str:
        """Return the width in words."""
        if self.half_width is not None:
            return f"±{shown_error(self.half_width)}{self.note and f' ({self.note})'}"
        if self.at:
            listed = "; ".join(f"at n = {n:,}: ±{shown_error(width)}" for n, width in self.at)
            return f"{listed}{self.note and f' ({self.note})'}"
        return self.note


def widths(plan: Plan) -> tuple[Width, ...]:
    """Return the half-width of each column of the answer at 95%; of rounds, after all of them, at their target's."""
    if plan.choosing:
        return _by_limit(plan)
    readings = {reading.name: reading for reading in plan.readings}
    found = []
    if not readings or not all(step.plain for step in plan.query.steps):
        summed = plan.sums if plan.query.steps and not plan.query.lists else None
        if summed is not None:
            return _of_sums(summed)
        return tuple(Width(name, note=_OVER_ROWS if noisy else "without noise") for name, noisy in _over_rows(plan))
    for name, told in meanings(plan.query).items():
        meaning = told.arguments[0] if told.function in ("as_date", "as_timestamp") else told  # in days
        if isinstance(meaning, ColumnRef) and meaning.name in readings:
            found.append(_of_reading(name, readings[meaning.name], plan))
        elif not mentions(meaning) & set(readings):
            found.append(Width(name, note="without noise"))
        else:
            found.append(Width(name, note="derived; its interval comes with the answer"))
    return tuple(found)


def _of_sums(sums: CellSums) -> tuple[Width, ...]:
    """Return the half-widths of columns that are sums of released cells: of several rows, the widest."""
    halves = {name: noise.half_widths(1 - TAIL) for name, noise in sums.noises.items()}
    found = []
    for name, meaning in meanings(sums.query).items():
        line = linear_in(meaning)
        if line is not None and line.column in halves:
            half = halves[line.column] * float(abs(line.factor))
            alike = half.max() - half.min() <= 1e-6 * half.max()
            found.append(Width(name, half_width=float(half.max()), note="" if alike else "at most"))
        elif mentions(meaning) & set(halves):
            found.append(Width(name, note="derived; its interval comes with the answer"))
        else:
            found.append(Width(name, note="without noise"))
    return tuple(found)


_OVER_ROWS = "computed from released rows; its interval comes with the answer"


def _over_rows(plan: Plan) -> list[tuple[str, bool]]:
    """Return the columns of an answer that sums, joins or orders released rows, and whether noise is in each."""
    noisy = {reading.name for reading in plan.readings if reading.noisy}
    shown = [*(key.name for key in plan.query.keys), *(reading.name for reading in plan.readings)]
    for step in plan.query.steps:
        seen = noisy | {name for one in step.beside for name, _ in one.names}
        for over in (*step.aggregates, *step.windows):
            used = [*over.arguments, *over.partition, *(term.expression for term in over.order), over.where]
            if any(mentions(one) & seen for one in used if one is not None):
                seen.add(over.name)
        seen |= {key.name for key in step.keys or () if mentions(key.expression) & seen}
        shown = [output.name for output in step.outputs]
        noisy = {output.name for output in step.outputs if mentions(output.expression) & seen}
    return [(name, name in noisy) for name in shown]


def _by_limit(plan: Plan) -> tuple[Width, ...]:
    """Return the half-widths at some contribution limits, where the answer will choose its own."""
    top = min(largest_limit(plan.passes[place]) for place in plan.choosing)
    limits = [limit for limit in LIMITS if limit <= top]
    every = [widths(replace(_at_limit(plan, limit), covers="noise")) for limit in limits]
    found = []
    for several in zip(*every, strict=True):
        words = (f"at a limit of {limit:,}: {one.words()}" for limit, one in zip(limits, several, strict=True))
        found.append(
            replace(several[0], half_width=None, at=(), note="; ".join(words)) if several[0].known else several[0]
        )
    return tuple(found)


def _at_limit(plan: Plan, limit: int) -> Plan:
    """Return a plan as if its limits were stated, and not to be chosen."""
    made = plan.at_limits(dict.fromkeys(plan.choosing, limit))
    stated = [
        replace(one, measure=replace(one.sizes, people=None)) if one.sizes is not None else one for one in made.passes
    ]
    return replace(made, passes=tuple(stated))


def heading(plan: Plan) -> str:
    """Return what the half-widths of a plan are: at which confidence, and after how many rounds."""
    if plan.target is None or plan.rounds == 1:
        return f"{1 - TAIL:.0%} half-width"
    return f"{float(plan.target.confidence):.4g} half-width after all {plan.rounds} rounds"


def tail_of(plan: Plan) -> float:
    """Return how often an interval of a plan may miss: of rounds, each that may be shown, so that all are covered."""
    return TAIL if plan.target is None or plan.rounds == 1 else float((1 - plan.target.confidence) / plan.rounds)


def law_of(plan: Plan, place: Place) -> Law:
    """Return the law of the noise on a sum, in grid units; a known sum has none. Rounds are averaged."""
    if isinstance(place, Known):
        return Law("gaussian", 0.0)
    return averaged([_law(measure_at(plan, one)) for one in plan.across(place)])[0]


def weights_of(plan: Plan, place: tuple[int, int]) -> list[float]:
    """Return the weight of each round in the average that a sum is read from: inverse to the noise's variance."""
    return averaged([_law(measure_at(plan, one)) for one in plan.across(place)])[1]


def _law(measure: Measure) -> Law:
    step = 0.5**measure.shift
    return Law(measure.mechanism.family, measure.mechanism.width * step, step)


def measure_at(plan: Plan, place: tuple[int, int]) -> Measure:
    """Return the measure at a place."""
    return plan.passes[place[0]].measures[place[1]]


def noise_within(plan: Plan, place: Place, confidence: float) -> float:
    """Return the half-width of the noise on a sum at a confidence, in grid units: that of its interval."""
    import numpy as np

    if isinstance(place, Known):
        return 0.0
    if plan.rounds > 1:
        law = law_of(plan, place)
        return float(half_width(law, replace(law, scale=0.0, step=0.0), np.zeros(1), 1 - confidence)[0])
    measure = measure_at(plan, place)
    half = measure.error(confidence)
    # without weights both the sum and its noise are whole, so a whole half-width holds as much
    return half if measure.shift else half // 1.0


def _of_reading(name: str, reading: Reading, plan: Plan) -> Width:
    if not isinstance(reading.places[0], Known):
        index, column = plan.across(reading.places[0])[-1]
        told = plan.passes[index].measure.width(plan.passes[index].scan, column)
        if told is not None:
            return Width(name, note=told)
    place, factor = reading.places[0], reading.aggregate.linear
    if factor is not None:
        if isinstance(place, Known):
            return Width(name, half_width=0.0, note="exact: the number is public")
        return Width(name, half_width=noise_within(plan, place, 1 - tail_of(plan)) * float(factor))
    laws = [law_of(plan, one) for one in reading.places]
    if reading.aggregate.steady:
        return Width(name, half_width=reading.aggregate.predicted_width(laws, 1, tail_of(plan)))
    count = reading.places[-1]
    sizes = (count.value,) if isinstance(count, Known) else SIZES
    predicted = [(n, reading.aggregate.predicted_width(laws, n, tail_of(plan))) for n in sizes]
    found = tuple((n, width) for n, width in predicted if width is not None)
    if not found:
        return Width(name, note="its interval comes with the answer")
    note = "at most" if reading.aggregate.exactly else "roughly, at most"
    if isinstance(count, Known):
        return Width(name, half_width=found[0][1], note=note)
    return Width(name, at=found, note=note)
