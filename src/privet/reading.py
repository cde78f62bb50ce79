"""From released sums to an answer: reads the aggregates, runs the steps on released rows, and draws the error bars."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import TYPE_CHECKING, Any

from .aggregates import Mean, Ranked
from .answer import Answer, Series
from .core.expression import Column, Expression
from .core.receipt import Receipt
from .core.schema import Kind
from .engines.post import evaluate, run_step
from .inference.bars import Bars, noise_points, points_for, quantile_of, ratio_bars, simulated_bars
from .inference.laws import Law, half_width
from .planner.averaging import averaged_sums
from .planner.derive import columns_of, kinds_of, linear_in, meanings
from .planner.explain import coverage_notes
from .planner.plan import Known, Place, Plan, Reading
from .planner.range_words import range_notes
from .planner.selections import SURE
from .planner.widths import law_of, measure_at, noise_within
from .query.nodes import Output, Step
from .release import Released

if TYPE_CHECKING:
    from .core.pair import Floats

ROW = "privet row"
"""The column that says which released row a row came from."""

_MOST_CORNERS = 6
_DOUBT = 2.0
"""A count below this many standard deviations of its noise says nothing about what is divided by it."""


def read_answer(released: Released, plan: Plan, receipt: Receipt, *, confidence: float) -> Answer:
    """Return the answer that a plan makes of what was released. Sees no data, and may be repeated at will."""
    released = as_asked(released, plan)
    sums = averaged_sums(sums_of(released, plan), plan)
    base: dict[str, Any] = {ROW: list(range(len(released.keys)))}
    for index, key in enumerate(plan.query.keys):
        base[key.name] = [cell[index] for cell in released.keys]
    for reading in plan.readings:
        base[reading.name] = value_of(reading, [sums[place] for place in reading.places])
    kinds = {ROW: "integer", **kinds_of(plan)}
    rows = dict(base)
    for step in plan.query.steps:
        rows, kinds = run(step, rows, kinds)
    chosen = list(map(int, rows.pop(ROW)))
    bars = RowBars(plan, sums, base, chosen, 1 - confidence)
    meaning = meanings(plan.query)
    series = tuple(bars.series(name, values, meaning[name]) for name, values in rows.items())
    notes = (*coverage_notes(plan, confidence), *outside_notes(series), *range_notes(plan, base))
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
    return (f"{names}: beyond what is possible, as noise may be; kept so, for sums of such numbers",) if outside else ()


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
        (index, place): np.array([noisy / 2**measure.shift for noisy in released.sums[index][place]], dtype=np.float64)
        for index, one in enumerate(plan.passes)
        for place, measure in enumerate(() if one.buckets else one.measures)
    }
    for index, one in enumerate(plan.passes):
        if one.selection is not None and one.scan.places is not None:
            grid = one.scan.places
            for drawn, slot in enumerate(one.selection.slots):
                found[index, drawn] = np.array(slot.values(released.sums[index][drawn], grid), dtype=np.float64)
        if one.buckets:
            shift = one.measures[0].shift
            for at, noisy in enumerate(released.sums[index]):
                found[index, at] = np.array([number / 2**shift for number in noisy], dtype=np.float64)
        if one.winners is not None:
            for rank, values in enumerate(released.sums[index]):
                found[index, rank] = np.array([*values, None], dtype=object)[:-1]
    for reading in plan.readings:
        for place in reading.places:
            if isinstance(place, Known):
                found[place] = np.full(len(released.keys), float(place.value))
            elif place not in found:  # beyond as many as there are values to choose from, there are none
                found[place] = np.full(len(released.keys), None, dtype=object)
    return found


def value_of(reading: Reading, parts: Sequence[Floats]) -> Any:
    """Return what an aggregate reads from its sums; numbers of rows and people are whole."""
    import numpy as np

    value = reading.aggregate.read(*parts)
    return np.clip(np.floor(value + 0.5), -(2.0**62), 2.0**62).astype(np.int64) if reading.aggregate.counts else value


def run(step: Step, rows: dict[str, Any], kinds: Mapping[str, Kind]) -> tuple[dict[str, Any], dict[str, Kind]]:
    """Return the rows of a step, each still with the number of the released row that it came from."""
    picked = _picked(step)
    if picked is not None:
        picked[ROW] = ROW
        return {name: rows[was] for name, was in picked.items()}, {name: kinds[was] for name, was in picked.items()}
    outputs = (*step.outputs, Output(ROW, Column(ROW)))
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
    columns = {output.name: output.expression.name for output in step.outputs if isinstance(output.expression, Column)}
    return columns if len(columns) == len(step.outputs) else None


class RowBars:
    """The error bars of one answer: in closed form for the aggregates themselves, by simulation for what is derived."""

    def __init__(
        self,
        plan: Plan,
        sums: Mapping[Place, Floats],
        base: Mapping[str, Any],
        chosen: list[int],
        tail: float,
        kinds: Mapping[str, Kind] | None = None,
        laws: Mapping[Place, Law] | None = None,
    ) -> None:
        self.plan, self.sums, self.base, self.chosen, self.tail = plan, sums, base, chosen, tail
        self.kinds, self.laws = kinds_of(plan) if kinds is None else kinds, laws or {}
        self.readings = {reading.name: reading for reading in plan.readings}

    def series(self, name: str, values: Sequence[Any], meaning: Expression) -> Series:
        plain = _tidied(values)
        used = [reading for reading in self.plan.readings if reading.name in columns_of(meaning)]
        numeric = not {int, float}.isdisjoint(map(type, plain))
        if not used or (plain and not numeric) or any(reading.aggregate.chosen for reading in used):
            return Series(name, plain)
        if not plain:
            return Series(name, (), (), (), ())
        line = linear_in(meaning)
        if line is not None and (isinstance(meaning, Column) or used[0].aggregate.linear is not None):
            ends = self._of_reading(used[0])
            low, high = (float(line.factor) * end + float(line.offset) for end in (ends.low, ends.high))
            low, high = (low, high) if line.factor >= 0 else (high, low)
            found = Bars(low, high, abs(float(line.factor)) * ends.error)
        else:
            found = self._derived(meaning, used)
        return Series(name, plain, _floats(found.low), _floats(found.high), _floats(found.error))

    def _of_reading(self, reading: Reading) -> Bars:
        import numpy as np

        parts = [self.sums[place][self.chosen] for place in reading.places]
        low, high = reading.aggregate.ends
        factor = reading.aggregate.linear
        if factor is not None:
            half, error = self._noise(reading.places[0])
            value = parts[0] * float(factor)
            wide = half * float(factor)
            return Bars(
                np.clip(value - wide, low, high),
                np.clip(value + wide, low, high),
                np.full_like(value, error * float(factor)),
            )
        if isinstance(reading.aggregate, Ranked):
            return self._of_ranked(reading, reading.aggregate, parts)
        laws = [self._law(place) for place in reading.places]
        if isinstance(reading.aggregate, Mean):
            step, middle = float(reading.aggregate.argument.centred().step), float(reading.aggregate.argument.middle)
            count = laws[1] if laws[1].mixed else replace(laws[0], scale=laws[1].scale, step=laws[1].step)
            scaled = (laws[0].times(step), count)
            found = ratio_bars(parts[0] * step, parts[1], scaled, most=(high - low) / 2, tail=self.tail)
            return Bars(np.clip(middle + found.low, low, high), np.clip(middle + found.high, low, high), found.error)
        tails = self._tails(reading, parts, laws)
        found = simulated_bars(reading.aggregate.read, parts, laws, tail=tails)
        unknown = tails <= 0
        return Bars(np.where(unknown, low, found.low), np.where(unknown, high, found.high), found.error)

    def _of_ranked(self, reading: Reading, ranked: Ranked, parts: Sequence[Floats]) -> Bars:
        """Return the interval that was drawn with a quantile; the bounds, if more is asked than it is sure of.

        Its ends are places, or several taken together, and stand for all that is counted there.
        """
        import numpy as np

        value, nothing = parts[0], np.full_like(parts[0], np.nan)
        bottom, top = (np.full_like(value, end) for end in ranked.ends)
        if 1 - self.tail > float(SURE):
            return Bars(bottom, top, nothing)
        ends = (parts[0], parts[0]) if ranked.extreme else (parts[1], parts[2])
        half = self._half_of(reading, ranked)
        low = bottom if ranked.share == 0 else np.maximum(bottom, np.minimum(ends[0] - half, value))
        high = top if ranked.share == 1 else np.minimum(top, np.maximum(ends[1] + half, value))
        return Bars(low, high, nothing)

    def _half_of(self, reading: Reading, ranked: Ranked) -> float:
        place = reading.places[-1]
        if isinstance(place, Known):
            return 0.0
        one = self.plan.passes[place[0]]
        if one.scan.places is None or one.selection is None:
            return 0.0
        return float(one.selection.slots[place[1]].half(one.scan.places, rounds=ranked.rounds(one.scan.places)))

    def _tails(self, reading: Reading, parts: Sequence[Floats], laws: Sequence[Law]) -> Floats:
        """Return tails for what is divided by a noisy count, smaller the less is known about it, and 0 for nothing.

        Quantiles of simulated noise cover a ratio less often where its divisor is uncertain; this makes up for it.
        """
        import numpy as np

        tail = np.full(len(self.chosen), self.tail)
        deviations = [(parts[-1], np.asarray(laws[-1].deviation))]
        for index, divisor in enumerate(reading.aggregate.divisors(*parts)):
            again = simulated_bars(lambda *sums, i=index: reading.aggregate.divisors(*sums)[i], parts, laws, tail=tail)
            deviations.append((divisor, again.error))
        known = np.ones(len(self.chosen))
        for divisor, error in deviations:
            part = np.divide(_DOUBT * error, divisor, out=np.full(divisor.shape, np.inf), where=divisor > 0)
            known -= part * part
        return np.asarray(self.tail * np.clip(known, 0.0, 1.0))

    def _law(self, place: Place) -> Law:
        return self.laws[place] if place in self.laws else law_of(self.plan, place)

    def _read(self, reading: Reading, parts: Sequence[Floats]) -> Any:
        """Return what an aggregate reads, as it is shown: what was reconciled is not rounded."""
        agreed = any(place in self.laws for place in reading.places)
        return reading.aggregate.read(*parts) if agreed else value_of(reading, parts)

    def _noise(self, place: Place) -> tuple[float, float]:
        """Return the half-width and the standard deviation of a sum's noise, in grid units."""
        import numpy as np

        if isinstance(place, Known):
            return 0.0, 0.0
        if place in self.laws:
            law = self.laws[place]
            return float(half_width(law, law, np.zeros(1), self.tail)[0]), law.deviation
        error = (
            law_of(self.plan, place).deviation
            if self.plan.rounds > 1
            else measure_at(self.plan, place).standard_deviation
        )
        return noise_within(self.plan, place, 1 - self.tail), error

    def _derived(self, meaning: Expression, used: list[Reading]) -> Bars:
        """Return bars for a derived column: the widest over the ends of the quantiles in it, each at one of its own.

        They hold what is derived where it rises or falls with each of the quantiles.
        """
        import numpy as np

        ranked = {reading.name: self._of_reading(reading) for reading in used if isinstance(reading.aggregate, Ranked)}
        if len(ranked) > _MOST_CORNERS:
            unknown = np.full(len(self.chosen), np.inf)
            return Bars(-unknown, unknown, np.full_like(unknown, np.nan))
        others = [reading for reading in used if reading.name not in ranked]
        found = [
            self._simulated(meaning, others, dict(zip(ranked, corner, strict=True)))
            for corner in product(*((bars.low, bars.high) for bars in ranked.values()))
        ]
        low = np.fmin.reduce([bars.low for bars in found])
        high = np.fmax.reduce([bars.high for bars in found])
        return Bars(low, high, found[0].error if not ranked else np.full_like(low, np.nan))

    def _simulated(self, meaning: Expression, used: list[Reading], fixed: Mapping[str, Floats]) -> Bars:
        """Return bars for a derived column, by reading and deriving it again under fresh noise of the known law."""
        import numpy as np

        every = {place for reading in used for place in reading.places}
        places = sorted(place for place in every if not isinstance(place, Known))
        chosen = np.array(self.chosen)
        points = points_for(len(chosen), self.tail)
        laws = [self._law(place) for place in places]
        noise: dict[Place, Floats] = {place: np.zeros(points) for place in every}
        noise.update(zip(places, noise_points(laws, points), strict=True))
        table: dict[str, Any] = {}
        for reading in used:
            parts = [self.sums[place][chosen][:, None] + noise[place][None, :] for place in reading.places]
            table[reading.name] = self._read(reading, parts).ravel()
        for name, values in fixed.items():
            table[name] = np.repeat(values, points)
        for name in columns_of(meaning) - set(self.readings):
            table[name] = [self.base[name][row] for row in chosen for _ in range(points)]
        values = np.asarray(evaluate(meaning, table, self.kinds), dtype=np.float64).reshape(len(chosen), points)
        return _spread(values, self.tail)


def _spread(values: Floats, tail: float) -> Bars:
    """Return the middle part of each row's values, leaving out those that are not numbers."""
    import numpy as np

    ordered = np.sort(values, axis=1)  # NaN comes last
    known = (~np.isnan(ordered)).sum(axis=1)
    none = known == 0
    size = np.maximum(known, 1)
    ends = [np.where(none, np.nan, quantile_of(ordered, share, size)) for share in (tail / 2, 1 - tail / 2)]
    held = np.nan_to_num(ordered, nan=0.0)
    middle = held.sum(axis=1) / size
    away = np.where(np.isnan(ordered), 0.0, held - middle[:, None])
    return Bars(ends[0], ends[1], np.where(none, np.nan, np.sqrt((away * away).sum(axis=1) / size)))


def _floats(ends: Floats) -> tuple[float, ...]:
    return tuple(ends.tolist())


def _tidied(values: Any) -> tuple[Any, ...]:
    """Return a column as Python's own values."""
    if hasattr(values, "tolist"):
        return tuple(values.tolist())
    return tuple([value.item() if hasattr(value, "item") else value for value in values])
