"""From released sums to an answer: reads the aggregates, runs the steps on released rows, and adds the intervals."""

from __future__ import annotations

import math
import operator
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial
from itertools import product
from typing import TYPE_CHECKING, Any

from privet.aggregates import Ranked
from privet.answer import Answer, Series
from privet.core.errors import InvariantError
from privet.core.event import Receipt
from privet.core.relation import ColumnRef, Expression
from privet.core.schema import Kind
from privet.display import is_moments, legend
from privet.inference.bars import Bars, Law, depths, derived_bars, half_width, noise_points, points_for
from privet.inference.levels import Axes, Noise, mixed, noise_of, reconcile
from privet.planner.accuracy import CONFIDENCE
from privet.planner.contributions import losses
from privet.planner.explain import selection_notes
from privet.planner.from_strategy import FromStrategy
from privet.planner.groupings import Combined, Levels, additive, shared_sums
from privet.planner.plan import Known, Place, Plan, Reading
from privet.planner.public_plan import PublicPlan, listings
from privet.planner.selections import quantile_passes
from privet.query.expressions import mentions
from privet.query.nodes import Key, Output, OverRows, Query, Step
from privet.query.normal import FIRST_DAY, LAST_DAY, MICROSECONDS, date_at, microseconds, timestamp_at
from privet.query.resolve import in_days, linear_in, meanings
from privet.release import Released

from .comparisons import PopulationReader, SummedNumbers
from .origins import UNKNOWN, Cell, Formula, Intervals, Leaf, Origin
from .postprocess import evaluate
from .released_tables import ROW, ReleasedTable, after_steps, run
from .strategy_cells import LEFT_OUT, noted, read_cells

if TYPE_CHECKING:
    from privet.core.event import Floats

if TYPE_CHECKING:
    from privet.core.event import Floats


# What several rounds yield together: sums averaged by how precise they are, quantiles from the last and most precise.
#
# Uses released numbers only.


def averaged_sums(sums: Mapping[Place, Floats], plan: Plan) -> dict[Place, Floats]:
    """Return the sums that a plan reads, from those of its rounds; each round's noise is independent of the others'.

    Guarantee: a sum's noise has the law of `Plan.law`. A quantile is the one of the last round.
    """
    import numpy as np

    if plan.rounds == 1:
        return dict(sums)
    averaged: dict[Place, Floats] = {}
    for reading in plan.readings:
        averaged.update((place, sums[place]) for place in reading.known)
        rounds = [[sums[at] for at in plan.across(place)] for place in reading.noisy]
        for place, values in zip(reading.noisy, rounds, strict=True):
            if not plan.passes[place[0]].measure.averaged:
                averaged[place] = values[-1]
                continue
            weights = plan.weights(place)
            averaged[place] = np.asarray(sum(weight * value for weight, value in zip(weights, values, strict=True)))
    return averaged


def quantile_intervals(released: Released, plan: Plan, tail: float) -> dict[str, tuple[Floats, Floats]]:
    """Return the ends of the interval of each quantile, by the name of its reading, for each group.

    Guarantee: of several rounds it is what their intervals have in common: each holds the quantile as often as it
    says, so all of them do but for the sum of their tails, and with them what they have in common. Where they have
    nothing in common, one of them has missed, and the last is taken.
    """
    import numpy as np

    intervals: dict[str, tuple[Floats, Floats]] = {}
    for reading in plan.readings:
        ranked, place = reading.aggregate, reading.places[0]
        if not isinstance(ranked, Ranked) or isinstance(place, Known):
            continue
        every = []
        for index, _ in plan.across(place):
            ((pass_, measure),) = quantile_passes([plan.passes[index]])
            rounds = pass_.scan.places is not None and ranked.rounds(pass_.scan.places)
            every.append(measure.interval(released.sums[index], pass_.scan, ranked.share, tail, rounds=rounds))
        low, high = np.max([start for start, _ in every], axis=0), np.min([end for _, end in every], axis=0)
        apart = (low > high) | ranked.extreme
        intervals[reading.name] = (np.where(apart, every[-1][0], low), np.where(apart, every[-1][1], high))
    return intervals


# From released sums to an answer: reads the aggregates, runs the steps on released rows, and draws the error bars.


def read_answer(released: Released, plan: Plan, receipt: Receipt, *, confidence: float) -> Answer:
    """Return the answer that a plan computes from its release. Reads no data, and may be repeated at will."""
    asked, summed = plan, partial(_summed, (released,), plan, receipt, confidence)
    plan = plan.at_limits(limits := plan.limits(released.sums))
    tail = 1 - confidence
    if not all(step.plain for step in plan.query.steps):
        leaf, table = _leaf(released, plan, 0)
        made = after_steps(plan.query.steps, table, _no_others)
        series, unsure = _series([leaf], made, tail)
        notes = (*legend_in(plan.notes(confidence), series), *outside_notes(series), *unsure)
        kept, numbers = (released,), SummedNumbers([leaf], made.origins, confidence, released)
        return Answer(series, confidence, asked, receipt, notes, None, tuple(limits.values()), kept, summed, numbers)
    # where intervals cover the loss as well, one half of what they may miss by is for it, and one for the noise
    lost = losses(plan, released.sums, tail / 2) if plan.covers == "bounding" else {}
    whole, released = released, as_asked(released, plan)
    sums = averaged_sums(sums_of(released, plan), plan)
    base: dict[str, Any] = {ROW: list(range(len(released.keys)))}
    for index, key in enumerate(plan.query.keys):
        base[key.name] = [cell[index] for cell in released.keys]
    for reading in plan.readings:
        value = value_of(reading, [sums[place] for place in reading.places])
        base[reading.name] = plan.without_rows(reading, value, sums)
    kinds = {ROW: "integer", **plan.kinds}
    rows = dict(base)
    for step in plan.query.steps:
        rows, kinds = _stepped(step, rows, kinds)
    chosen = list(map(int, rows.pop(ROW)))
    ends = quantile_intervals(released, plan, tail)
    bars = RowBars(plan, sums, base, chosen, tail / 2 if lost else tail, ends, lost=lost)
    meaning = meanings(plan.query)
    series = tuple(bars.series(name, values, meaning[name], kinds[name]) for name, values in rows.items())
    more = (*outside_notes(series), *plan.released_notes(base))
    notes = (*legend_in(plan.notes(confidence), series), *more)
    shown = {column.name: column for column in series}
    sampled = PopulationReader(plan, sums, chosen, meaning, shown, confidence)
    return Answer(series, confidence, asked, receipt, notes, None, tuple(limits.values()), (whole,), summed, sampled)


def _stepped(step: Step, rows: dict[str, Any], kinds: Mapping[str, Kind]) -> tuple[dict[str, Any], dict[str, Kind]]:
    """Return the rows of a plain step, each still with the number of the released row that it came from."""
    if step.renames is None:
        return run(step, rows, kinds)
    was = {**step.renames, ROW: ROW}
    return {name: rows[column] for name, column in was.items()}, {name: kinds[column] for name, column in was.items()}


def _leaf(released: Released, plan: Plan, place: int) -> tuple[Leaf, ReleasedTable]:
    """Return the release of one plan: as numbers whose noise is known, and as rows for the steps that follow."""
    own = as_asked(released, plan)
    sums = averaged_sums(sums_of(own, plan), plan)
    base: dict[str, Any] = {key.name: [cell[index] for cell in own.keys] for index, key in enumerate(plan.query.keys)}
    for reading in plan.readings:
        value = value_of(reading, [sums[at] for at in reading.places])
        value = plan.without_rows(reading, value, sums)
        base[reading.name] = value.tolist() if hasattr(value, "tolist") else list(value)

    def bars(rows: list[int], tail: float) -> RowBars:
        return RowBars(plan, sums, base, rows, tail, quantile_intervals(own, plan, tail))

    # the same groups of one release have the same noise, in whatever order a question names their keys
    named = [tuple(sorted(zip(plan.key_places, cell, strict=True), key=_place)) for cell in own.keys]
    leaf = Leaf(plan, sums, base, bars, [(plan.digest, cell) for cell in named])
    return leaf, ReleasedTable(base, plan.kinds, _origins(plan, base, place), found=plan.discovers)


def _place(pair: tuple[int, Any]) -> int:
    return pair[0]


def _origins(plan: Plan, base: dict[str, Any], leaf: int) -> dict[str, list[Origin | None]]:
    size = len(next(iter(base.values()))) if base else 0
    return {
        reading.name: [UNKNOWN if reading.aggregate.chosen else Cell(leaf, row, reading.name) for row in range(size)]
        for reading in plan.readings
        if reading.noisy
    }


def _no_others(query: Query) -> ReleasedTable:
    raise InvariantError("a question of one release has rows of another")


_UNSURE = (
    "{}: no interval can be stated, or only one end of it, for it depends on an order or a choice of rows that noise "
    "made."
)


def _series(leaves: Sequence[Leaf], table: ReleasedTable, tail: float) -> tuple[tuple[Series, ...], tuple[str, ...]]:
    """Return the columns of released rows that several were summed, joined or ordered for, each with its intervals."""
    intervals = Intervals(leaves, tail)
    columns: list[Series] = []
    unsure: list[str] = []
    for name, values in table.columns.items():
        origins, kind = table.origins.get(name), table.kinds[name]
        moments = kind in ("date", "timestamp")
        if origins is not None and moments:
            origins = [_in_days(origin) for origin in origins]
        if origins is None or kind not in ("integer", "number", "date", "timestamp"):
            columns.append(Series(name, tuple(values)))
            continue
        if moments and all(origin is None or origin == UNKNOWN for origin in origins):
            columns.append(Series(name, tuple(values)))
            continue
        shown, values = values, [in_days_since(value) for value in values] if moments else values
        ends = [
            [math.nan if value is None else float(value) for value in values],
            [math.nan if value is None else float(value) for value in values],
            [math.nan if value is None else 0.0 for value in values],
        ]
        pairs = zip(origins, values, strict=True)
        known = [None if origin == UNKNOWN and value is None else origin for origin, value in pairs]
        places = [place for place, origin in enumerate(known) if origin is not None]
        noisy = [origin for origin in known if origin is not None]
        bars = intervals.bars(noisy)
        for column, numbers in zip(ends, (bars.low, bars.high, bars.error), strict=True):
            for place, end in zip(places, numbers.tolist(), strict=True):
                column[place] = end
        if any(math.isinf(end) for end in (*ends[0], *ends[1])):
            unsure.append(name)
        sides = [intervals.side(origin) for origin in noisy]
        may = (any(side.low for side in sides), any(side.high for side in sides))
        low, high, error = map(tuple, ends)
        if moments:
            made = as_moments(low, kind, up=False), as_moments(high, kind, up=True)
            columns.append(Series(name, tuple(shown), *made, error, *may))
        else:
            columns.append(Series(name, tuple(shown), low, high, error, *may))
    return tuple(columns), ((_UNSURE.format(", ".join(unsure)),) if unsure else ())


def _in_days(origin: Origin | None) -> Origin | None:
    """Return the origin of a date or timestamp as that of a number of days."""
    if isinstance(origin, Formula):
        return replace(origin, expression=in_days(origin.expression))
    return None if origin is None else UNKNOWN


def read_combined(released: Sequence[Released], combined: Combined, receipt: Receipt, *, confidence: float) -> Answer:
    """Return the answer that a question over several releases computes from them."""
    made = [
        _leaf(release, plan, place) for place, (release, plan) in enumerate(zip(released, combined.plans, strict=True))
    ]
    places = {plan.query: place for place, plan in reversed(list(enumerate(combined.plans)))}

    def rows_of(query: Query) -> ReleasedTable:
        return made[places[replace(query, steps=())]][1]

    leaves = [leaf for leaf, _ in made]
    table = after_steps(combined.query.steps, rows_of(combined.query), rows_of)
    series, unsure = _series(leaves, table, 1 - confidence)
    stated = dict.fromkeys(note for plan in combined.plans for note in plan.notes(confidence))
    chosen = selection_notes((combined.query, *combined.query.others))
    notes = (*legend_in((*stated, *chosen), series), *outside_notes(series), *unsure)
    summed = partial(_summed, tuple(released), combined, receipt, confidence)
    return Answer(series, confidence, combined, receipt, notes, released=tuple(released), summed=summed)


def read_public(rows: Sequence[Sequence[tuple[Any, ...]]], plan: PublicPlan, receipt: Receipt) -> Answer:
    """Return the answer that a question about public tables only makes of their rows, which have no noise."""
    tables: dict[Query, ReleasedTable] = {}
    for query, (_, kinds), listed in zip(listings(plan.query), plan.schemas, rows, strict=True):
        columns = (
            dict(zip(kinds, map(list, zip(*listed, strict=True)), strict=True)) if listed else {n: [] for n in kinds}
        )
        tables[replace(query, steps=())] = ReleasedTable(columns, kinds)

    def rows_of(query: Query) -> ReleasedTable:
        return tables[replace(query, steps=())]

    table = after_steps(plan.query.steps, rows_of(plan.query), rows_of)
    series = tuple(Series(name, tuple(values)) for name, values in table.columns.items())
    return Answer(series, float(CONFIDENCE), plan, receipt, plan.notes(float(CONFIDENCE)))


def read_strategy(released: Released, plan: FromStrategy, receipt: Receipt, *, confidence: float) -> Answer:
    """Return the answer that a question makes of cells that were reconstructed from a strategy's measurements."""
    leaf, table = read_cells(released, plan)
    made = after_steps(plan.query.steps, table, _no_others)
    series, unsure = _series([leaf], made, 1 - confidence)
    notes = (*legend_in(noted(plan, confidence), series), *outside_notes(series), *unsure)
    summed = partial(_summed, (released,), plan, receipt, confidence)
    numbers = SummedNumbers([leaf], made.origins, confidence, released)
    return Answer(series, confidence, plan, receipt, notes, released=(released,), summed=summed, sampled=numbers)


def _summed(
    released: tuple[Released, ...], plan: Plan, receipt: Receipt, confidence: float, column: str, by: tuple[str, ...]
) -> tuple[Series, ...]:
    """Return the sums of a column over the rows of an answer that have some columns in common: these, and the sums.

    Guarantee: post-processing; what was released is read once more, with one step after those of the question.
    """
    total = "privet total"
    outputs = tuple(Output(name, ColumnRef(name)) for name in (*by, total))
    keys = tuple(Key(name, ColumnRef(name)) for name in by)
    step = Step(outputs, keys=keys, aggregates=(OverRows(total, "sum", (ColumnRef(column),)),))
    longer = replace(plan, query=replace(plan.query, steps=(*plan.query.steps, step)))
    if isinstance(longer, Combined):
        return read_combined(released, longer, receipt, confidence=confidence).series
    if isinstance(longer, FromStrategy):
        return read_strategy(released[0], longer, receipt, confidence=confidence).series
    return read_answer(released[0], longer, receipt, confidence=confidence).series


def legend_in(notes: Sequence[str], series: Sequence[Series]) -> tuple[str, ...]:
    """Return notes with what the marks of the columns mean, next to what their intervals cover."""
    means = legend({column.mark for column in series if column.may_be_low or column.may_be_high})
    return (*notes[:1], *([means] if means else []), *notes[1:])


def outside_notes(series: Sequence[Series]) -> tuple[str, ...]:
    """Return a note where a number lies outside its interval: it is kept as released, the interval is of what can be.

    To cut the number off as well would bias it, and with it every sum of such numbers.
    """
    outside = [column.name for column in series if _beyond(column.values, column.low or (), column.high or ())]
    names = ", ".join(dict.fromkeys(outside))
    kept = "noise moved values beyond what is possible; they are not clamped, so that their sums stay unbiased."
    return (f"{names}: {kept}",) if outside else ()


def _beyond(values: Sequence[Any], lows: Sequence[float], highs: Sequence[float]) -> bool:
    """Return whether a number lies outside its interval; of numbers alone, without a step of Python for each."""
    if set(map(type, values)) <= {int, float}:
        return any(map(operator.lt, values, lows)) or any(map(operator.gt, values, highs))
    bars = [bar for bar in zip(values, lows, highs, strict=False) if isinstance(bar[0], (int, float))]
    return any(value < low or value > high for value, low, high in bars)


def as_asked(released: Released, plan: Plan) -> Released:
    """Return a release with its keys, and its rows, in the order in which the question names the keys."""
    places, keys = plan.key_places, plan.groups
    if places == tuple(range(len(keys))):
        return released
    others = [keys[place].other for place in places]
    ranks = [{value: rank for rank, value in enumerate(keys[place].values or ())} for place in places]

    def rank(row: int) -> list[Any]:
        values = [released.keys[row][place] for place in places]
        return [
            known.get(value, (value is not None and value == other, value is None, 0 if value is None else value))
            for value, known, other in zip(values, ranks, others, strict=True)
        ]

    rows = sorted(range(len(released.keys)), key=rank)
    cells = tuple(tuple(released.keys[row][place] for place in places) for row in rows)
    sums = (
        columns if pass_.sizes else tuple(tuple(noisy[row] for row in rows) for noisy in columns)
        for pass_, columns in zip(plan.passes, released.sums, strict=True)
    )
    return replace(released, keys=cells, sums=tuple(sums))


def sums_of(released: Released, plan: Plan) -> dict[Place, Floats]:
    """Return every sum that a plan reads, in grid units, one number for each group."""
    import numpy as np

    sums: dict[Place, Floats] = {
        (index, column): values
        for index, pass_ in enumerate(plan.passes)
        for column, values in enumerate(pass_.measure.read(released.sums[index], pass_.scan))
    }
    for reading in plan.readings:
        for place in reading.places:
            if isinstance(place, Known):
                sums[place] = np.full(len(released.keys), float(place.value))
            elif place not in sums:  # beyond as many as there are values to choose from, there are none
                sums[place] = np.full(len(released.keys), None, dtype=object)
    return sums


# From the released sums of several levels to one answer: levels are made to agree, then read, row after row.
#
# Uses released numbers and public facts only, and may be repeated at will.


_EXACT = 1e-12
"""The variance of a sum that public facts fix, as a part of the least of the others."""

_DIGITS = 9

_LEAST = 1e-18
"""Noise that is surely 0 counts as having this variance, so that levels without noise weigh the same."""

_AGREE = "Totals were made consistent with their parts, so counts need not be whole numbers."
_APART = (
    "Contributions above the declared limit are scaled down at each level separately; consistent totals lie between."
)


def read_levels(released: Sequence[Released], levels: Levels, receipt: Receipt, *, confidence: float) -> Answer:
    """Return the answer that a plan of several levels computes from their releases."""
    asked = [as_asked(release, plan) for release, plan in zip(released, levels.plans, strict=True)]
    sums = [sums_of(release, plan) for release, plan in zip(asked, levels.plans, strict=True)]
    laws = agreed(levels, sums)
    tables = [_columns(levels, place, asked[place], sums[place], laws[place]) for place in range(len(asked))]
    base = {name: [value for table in tables for value in table[name]] for name in tables[0]}
    ends = [0]
    for release in asked:
        ends.append(ends[-1] + len(release.keys))
    kinds = level_kinds(levels)
    if not all(step.plain for step in levels.query.steps):
        return _over_levels(released, levels, receipt, confidence, (asked, sums, laws, tables, ends, base))
    rows: dict[str, Any] = {ROW: list(range(ends[-1])), **base}
    held: dict[str, Kind] = {ROW: "integer", **kinds}
    for step in levels.query.steps:
        rows, held = _stepped(step, rows, held)
    chosen = list(map(int, rows.pop(ROW)))
    bars = []
    for place, plan in enumerate(levels.plans):
        own = [row - ends[place] for row in chosen if ends[place] <= row < ends[place + 1]]
        intervals = quantile_intervals(asked[place], plan, 1 - confidence)
        bars.append(RowBars(plan, sums[place], tables[place], own, 1 - confidence, intervals, kinds, laws[place]))
    meaning = meanings(levels.query)
    series = []
    for name, values in rows.items():
        parts = [
            bars[place].series(name, _at(values, chosen, ends[place], ends[place + 1]), meaning[name], held[name])
            for place in range(len(bars))
        ]
        series.append(_joined(name, parts, chosen, ends))
    notes = _level_notes(levels, series, confidence)
    return Answer(tuple(series), confidence, levels, receipt, notes, released=tuple(released))


def _level_notes(levels: Levels, series: Sequence[Series], confidence: float) -> tuple[str, ...]:
    stated = dict.fromkeys(note for plan in levels.plans for note in plan.notes(confidence))
    notes = [*legend_in(tuple(stated), series), *outside_notes(series)]
    if levels.reconciled:
        notes.append(_AGREE)
        if any("scaled down" in note for note in notes):
            notes.append(_APART)
    if levels.leaves_out:
        notes.append(LEFT_OUT)
    return tuple(notes)


def _over_levels(
    released: Sequence[Released], levels: Levels, receipt: Receipt, confidence: float, made: Any
) -> Answer:
    """Return the answer where rows of several levels are summed, ordered or joined.

    Reconciled numbers have noise in common, so that sums over rows are taken at the ends of each row's interval.
    """
    asked, sums, laws, tables, ends, base = made
    kinds = level_kinds(levels)

    class Both:
        def __init__(self, rows: list[int], tail: float) -> None:
            self.rows, self.bars = rows, []
            for place, plan in enumerate(levels.plans):
                own = [row - ends[place] for row in rows if ends[place] <= row < ends[place + 1]]
                intervals = quantile_intervals(asked[place], plan, tail)
                self.bars.append(RowBars(plan, sums[place], tables[place], own, tail, intervals, kinds, laws[place]))

        def series(self, name: str, values: Sequence[Any], meaning: Expression, kind: Kind) -> Series:
            parts = [
                bars.series(name, _at(values, self.rows, ends[place], ends[place + 1]), meaning, kind)
                for place, bars in enumerate(self.bars)
            ]
            return _joined(name, parts, self.rows, ends)

    listed = {name: values.tolist() if hasattr(values, "tolist") else list(values) for name, values in base.items()}
    first = levels.plans[0]
    leaf = Leaf(first, {}, listed, Both, [], independent=False)
    table = ReleasedTable(listed, kinds, _origins(first, listed, 0), found=levels.discovers)
    tail = 1 - confidence
    series, unsure = _series([leaf], after_steps(levels.query.steps, table, _no_others), tail)
    notes = (*_level_notes(levels, series, confidence), *unsure)
    return Answer(series, confidence, levels, receipt, notes, released=tuple(released))


def agreed(levels: Levels, sums: Sequence[dict[Place, Floats]]) -> list[dict[Place, Law]]:
    """Make the sums of the levels agree, in place, and return the laws of those that changed.

    Guarantee: post-processing; the noise of what is reconciled has exactly the laws that are returned, by its
    coefficients on the released noise, where the true sums agree.
    """
    import numpy as np

    laws: list[dict[Place, Law]] = [{} for _ in levels.plans]
    where = {level: shared_sums(levels.plans[level]) for level in levels.reconciled}
    for total in where[levels.reconciled[0]] if where else ():
        places = {level: shared[total] for level, shared in where.items()}
        noisy = {level: place for level, place in places.items() if not isinstance(place, Known)}
        own = {level: _variance(levels.plans[level], place) for level, place in noisy.items()}
        variances = {levels.axes(level): own.get(level, min(own.values()) * _EXACT) for level in places}
        tables = {levels.axes(level): _table(levels, level, sums[level][place]) for level, place in places.items()}
        sizes = {axis: size for axes, table in tables.items() for axis, size in zip(axes, np.shape(table), strict=True)}
        reconciled, noise = reconcile(tables, variances), noise_of(sizes, variances)
        released = {levels.axes(level): levels.plans[level].law(place) for level, place in noisy.items()}
        for level, place in noisy.items():
            axes = levels.axes(level)
            sums[level][place] = np.round(reconciled[axes].ravel(), _DIGITS)  # 1 is not 0.9999999999999998
            laws[level][place] = _law(noise[axes], released)
    return laws


def _law(noise: Noise, released: Mapping[Axes, Law]) -> Law:
    parts = [(released[axes], factor, times) for axes, factor, times in noise.parts if axes in released]
    step = max(law.step * abs(factor) for law, factor, _ in parts)
    if parts[0][0].family == "laplace":
        return mixed(tuple((law.scale * factor, times) for law, factor, times in parts), step)
    variance = math.fsum((law.scale * factor) ** 2 * times for law, factor, times in parts)
    return Law("gaussian", math.sqrt(variance), step)


def _variance(plan: Plan, place: tuple[int, int]) -> float:
    return max(_LEAST, plan.measure_at(place).standard_deviation ** 2)


def _table(levels: Levels, level: int, values: Floats) -> Floats:
    """Return the sums of a level as a table, with an axis for each key in the order of the question."""
    plan = levels.plans[level]
    keys = plan.passes[0].groups
    return values.reshape([len(keys[place].values or ()) for place in plan.key_places])


def level_kinds(levels: Levels) -> dict[str, Kind]:
    """Return the kind of each column: reconciled numbers are not whole."""
    kinds: dict[str, Kind] = {}
    for plan in levels.plans:
        kinds |= plan.kinds
    for reading in levels.plans[0].readings:
        if levels.reconciled and additive(reading, levels.plans[0]):
            kinds[reading.name] = "number"
    return kinds | {grouping.name: "integer" for grouping in levels.query.groupings}


def _columns(
    levels: Levels, level: int, released: Released, sums: Mapping[Place, Floats], laws: Mapping[Place, Law]
) -> dict[str, Any]:
    """Return the columns of a level: a key that it does not group by is NULL."""
    axes, plan = levels.axes(level), levels.plans[level]
    size = len(released.keys)
    made: dict[str, Any] = {}
    for place, key in enumerate(levels.query.keys):
        made[key.name] = [cell[axes.index(place)] if place in axes else None for cell in released.keys]
    for grouping in levels.query.groupings:
        bits = sum((place not in axes) << shift for shift, place in enumerate(reversed(grouping.keys)))
        made[grouping.name] = [bits] * size
    for reading in plan.readings:
        parts = [sums[place] for place in reading.places]
        value = reading.aggregate.read(*parts) if any(at in laws for at in reading.places) else value_of(reading, parts)
        value = plan.without_rows(reading, value, sums)
        made[reading.name] = value.astype(float) if levels.reconciled and additive(reading, plan) else value
    return made


def _at(values: Sequence[Any], chosen: Sequence[int], first: int, end: int) -> list[Any]:
    return [value for value, row in zip(values, chosen, strict=True) if first <= row < end]


def _joined(name: str, parts: Sequence[Series], chosen: Sequence[int], ends: Sequence[int]) -> Series:
    """Return the rows of all levels in the order in which they are shown."""
    noisy = any(part.noisy and part.values for part in parts) or all(part.noisy for part in parts)
    moments = any(map(is_moments, parts))
    columns: list[list[Any]] = [[], [], [], []]
    next_of = [0] * len(parts)
    for row in chosen:
        level = next(place for place in range(len(parts)) if row < ends[place + 1])
        part, at = parts[level], next_of[level]
        next_of[level] += 1
        columns[0].append(part.values[at])
        for column, ends_of in zip(columns[1:], (part.low, part.high, part.error), strict=True):
            column.append((None if moments else math.nan) if ends_of is None else ends_of[at])
    if not noisy:
        return Series(name, tuple(columns[0]))
    sides = (any(part.may_be_low for part in parts), any(part.may_be_high for part in parts))
    return Series(name, tuple(columns[0]), tuple(columns[1]), tuple(columns[2]), tuple(columns[3]), *sides)


# The error bars of an answer's rows, from its release and the laws of the noise.


_MOST_CORNERS = 6


class RowBars:
    """The error bars of one answer: in closed form for the aggregates themselves, by simulation for derived columns."""

    def __init__(
        self,
        plan: Plan,
        sums: Mapping[Place, Floats],
        base: Mapping[str, Any],
        chosen: list[int],
        tail: float,
        intervals: Mapping[str, tuple[Floats, Floats]],
        kinds: Mapping[str, Kind] | None = None,
        laws: Mapping[Place, Law] | None = None,
        lost: Mapping[int, float] | None = None,
    ) -> None:
        self.plan, self.sums, self.base, self.chosen, self.tail = plan, sums, base, chosen, tail
        self.kinds, self.laws = plan.kinds if kinds is None else kinds, laws or {}
        self.lost = lost or {}
        """How many rows the limit of each pass takes away at most, where intervals cover that."""
        self.intervals = intervals
        self.readings = {reading.name: reading for reading in plan.readings}

    def series(self, name: str, values: Sequence[Any], meaning: Expression, kind: Kind) -> Series:
        """Return a column with its intervals; those of dates and timestamps are computed in days since 1970."""
        plain = _tidied(values)
        if kind in ("date", "timestamp") and not any(
            reading.aggregate.chosen for reading in self.plan.readings if reading.name in mentions(meaning)
        ):
            days = tuple([in_days_since(moment) for moment in plain])
            numbers = self._numbers(name, days, in_days(meaning))
            low, high = (as_moments(ends, kind, up=up) for ends, up in ((numbers.low, False), (numbers.high, True)))
            return replace(numbers, values=plain, low=low, high=high)
        return self._numbers(name, plain, meaning)

    def _numbers(self, name: str, plain: tuple[Any, ...], meaning: Expression) -> Series:
        used = [reading for reading in self.plan.readings if reading.name in mentions(meaning)]
        numeric = not {int, float}.isdisjoint(map(type, plain)) or any(reading.has_presence for reading in used)
        if not used or (plain and not numeric) or any(reading.aggregate.chosen for reading in used):
            return Series(name, plain)
        sides = self.plan.bias(meaning)
        if not plain:
            return Series(name, (), (), (), (), *sides)
        line = linear_in(meaning)
        own = used[0].aggregate
        if line is not None and (meaning.column is not None or own.linear is not None or own.steady):
            ends = self._with_lost(used[0])
            low, high = (float(line.factor) * end + float(line.offset) for end in (ends.low, ends.high))
            low, high = (low, high) if line.factor >= 0 else (high, low)
            bars = Bars(low, high, abs(float(line.factor)) * ends.error)
        else:
            bars = self._derived(meaning, used)
        return Series(name, plain, _floats(bars.low), _floats(bars.high), _floats(bars.error), *sides)

    def _with_lost(self, reading: Reading) -> Bars:
        """Return the interval of an aggregate, widened by what bounding may have removed.

        Guarantee: of a sum of numbers in [a, b], a row that is lost takes away between min(a, 0) and max(b, 0), and a
        group loses no more rows than all of them together. A mean over N rows of which L are lost differs from the
        weighted mean of what is left by at most L / N times the width of its bounds; N - L is at least what the noise
        leaves of the count, for which half of the noise's tail is spent.
        """
        import numpy as np

        place = reading.places[0]
        if isinstance(place, Known) or place[0] not in self.lost:
            return self._of_reading(reading, self.tail)
        lost, (low, high), factor = self.lost[place[0]], reading.aggregate.ends, reading.aggregate.linear
        if factor is not None:
            bars = self._of_reading(reading, self.tail)
            least, most = self.plan.passes[place[0]].scan.sums[place[1]].ends
            down, up = float(factor) * lost * min(least, 0), float(factor) * lost * max(most, 0)
            return Bars(np.clip(bars.low + down, low, high), np.clip(bars.high + up, low, high), bars.error)
        bars, count = self._of_reading(reading, self.tail / 2), reading.places[-1]
        left = np.maximum(self.sums[count][self.chosen] - self.plan.noise_within(count, 1 - self.tail / 2), 0.0)
        most_off = (high - low) * (lost / np.maximum(left + lost, 1e-300) if lost else np.zeros_like(left))
        return Bars(np.clip(bars.low - most_off, low, high), np.clip(bars.high + most_off, low, high), bars.error)

    def _of_reading(self, reading: Reading, tail: float) -> Bars:
        import numpy as np

        parts = [self.sums[place][self.chosen] for place in reading.places]
        low, high = reading.aggregate.ends
        factor = reading.aggregate.linear
        if factor is not None:
            half, error = self._noise(reading.places[0], tail)
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
        return reading.aggregate.bars(parts, laws, tail)

    def _of_ranked(self, reading: Reading, ranked: Ranked, parts: Sequence[Floats]) -> Bars:
        """Return the interval that was drawn with a quantile, within the declared bounds."""
        import numpy as np

        null = np.array([self.base[reading.name][row] is None for row in self.chosen], dtype=np.bool_)
        value = np.where(null, np.nan, parts[0])
        low, high = (end[self.chosen] for end in self.intervals[reading.name])
        bottom, top = ranked.ends
        low, high = np.maximum(bottom, np.minimum(low, value)), np.minimum(top, np.maximum(high, value))
        return Bars(low, high, np.full_like(value, np.nan))

    def _law(self, place: Place) -> Law:
        return self.laws[place] if place in self.laws else self.plan.law(place)

    def _read(self, reading: Reading, parts: Sequence[Floats]) -> Any:
        """Return what an aggregate reads, as it is shown: reconciled numbers are not rounded."""
        agreed = any(place in self.laws for place in reading.places)
        return reading.aggregate.read(*parts) if agreed else value_of(reading, parts)

    def _noise(self, place: Place, tail: float) -> tuple[float, float]:
        """Return the half-width and the standard deviation of a sum's noise, in grid units."""
        import numpy as np

        if isinstance(place, Known):
            return 0.0, 0.0
        if place in self.laws:
            law = self.laws[place]
            return float(half_width(law, law, np.zeros(1), tail)[0]), law.deviation
        error = (
            self.plan.law(place).deviation if self.plan.rounds > 1 else self.plan.measure_at(place).standard_deviation
        )
        return self.plan.noise_within(place, 1 - tail), error

    def _derived(self, meaning: Expression, used: list[Reading]) -> Bars:
        """Return bars for a derived column: the widest over the ends of the quantiles in it, each at one of its own.

        They cover the derived number where it rises or falls with each of the quantiles.
        """
        import numpy as np

        ranked = {reading.name: self._of_reading(reading, self.tail) for reading in used if reading.aggregate.ranked}
        if len(ranked) > _MOST_CORNERS:
            unknown = np.full(len(self.chosen), np.inf)
            return Bars(-unknown, unknown, np.full_like(unknown, np.nan))
        others = [reading for reading in used if reading.name not in ranked]
        corners = [
            self._simulated(meaning, others, dict(zip(ranked, corner, strict=True)))
            for corner in product(*((bars.low, bars.high) for bars in ranked.values()))
        ]
        low = np.fmin.reduce([bars.low for bars in corners])
        high = np.fmax.reduce([bars.high for bars in corners])
        return Bars(low, high, corners[0].error if not ranked else np.full_like(low, np.nan))

    def _simulated(self, meaning: Expression, used: list[Reading], fixed: Mapping[str, Floats]) -> Bars:
        """Return bars for a derived column, by reading and deriving it again under fresh noise of the known law.

        Each point of the noise is tried with its opposite, and last comes none at all: so it shows where a column does
        not move in proportion, and what `derived_bars` must do about it.
        """
        import numpy as np

        places = sorted({place for reading in used for place in reading.noisy})
        chosen = np.array(self.chosen)
        laws = [self._law(place) for place in places]
        half = noise_points(laws, points_for(len(chosen), self.tail) // 2)
        drawn = [np.concatenate((sample, -sample, np.zeros(1))) for sample in half] or [np.zeros(1)]
        points = drawn[0].size
        noise: dict[Place, Floats] = {place: np.zeros(points) for reading in used for place in reading.places}
        noise.update(zip(places, drawn, strict=False))
        table: dict[str, Any] = {}
        for reading in used:
            parts = [self.sums[place][chosen][:, None] + noise[place][None, :] for place in reading.places]
            table[reading.name] = self._read(reading, parts).ravel()
        for name, values in fixed.items():
            table[name] = np.repeat(values, points)
        for name in mentions(meaning) - set(self.readings):
            table[name] = [self.base[name][row] for row in chosen for _ in range(points)]
        values = np.asarray(evaluate(meaning, table, self.kinds), dtype=np.float64).reshape(len(chosen), points)
        return derived_bars(values, depths(laws, drawn), tail=self.tail)


def in_days_since(moment: Any) -> float | None:
    """Return a date or timestamp as days since 1970."""
    return None if moment is None else microseconds(moment) / MICROSECONDS


def as_moments(days: Sequence[float] | None, kind: Kind, *, up: bool) -> tuple[Any, ...] | None:
    """Return ends of intervals as dates or timestamps, rounded outwards and clamped to the calendar; None for NaN."""
    if days is None:
        return None
    size = 1 if kind == "date" else MICROSECONDS
    moments: list[Any] = []
    for day in days:
        if day != day:
            moments.append(None)
            continue
        held = min(max(day, FIRST_DAY), LAST_DAY)
        whole = Fraction(math.ceil(held * size) if up else math.floor(held * size), size)
        moments.append(date_at(whole) if kind == "date" else timestamp_at(whole))
    return tuple(moments)


def _floats(ends: Floats) -> tuple[float, ...]:
    return tuple(ends.tolist())


def _tidied(values: Any) -> tuple[Any, ...]:
    """Return a column as Python's own values."""
    if hasattr(values, "tolist"):
        return tuple(values.tolist())
    return tuple([value.item() if hasattr(value, "item") else value for value in values])


def value_of(reading: Reading, parts: Sequence[Floats]) -> Any:
    """Return what an aggregate reads from its sums; numbers of rows and people are whole."""
    import numpy as np

    value = reading.aggregate.read(*parts)
    return np.clip(np.floor(value + 0.5), -(2.0**62), 2.0**62).astype(np.int64) if reading.aggregate.counts else value
