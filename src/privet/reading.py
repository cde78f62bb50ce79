"""From released sums to an answer: reads the aggregates, runs the steps on released rows, and draws the error bars."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from .aggregates import Mean
from .answer import Answer, Series
from .core.expression import Call, Column, Expression
from .core.receipt import Receipt
from .engines.post import evaluate, run_step
from .inference.bars import POINTS, Bars, noise_points, ratio_bars, simulated_bars
from .inference.laws import Law
from .mechanisms import Laplace
from .planner.explain import coverage_notes
from .planner.plan import Measure, Plan, Reading
from .query.nodes import Output, Step
from .release import Released

if TYPE_CHECKING:
    from .core.pair import Floats

_ROW = "privet row"
_MOST_SIMULATED = 4_000_000


def read_answer(released: Released, plan: Plan, receipt: Receipt, *, confidence: float) -> Answer:
    """Return the answer that a plan makes of what was released. Sees no data, and may be repeated at will."""
    tail = 1 - confidence
    sums = _sums(released, plan)
    base: dict[str, Any] = {_ROW: list(range(len(released.keys)))}
    for index, key in enumerate(plan.query.keys):
        base[key.name] = [cell[index] for cell in released.keys]
    for reading in plan.readings:
        base[reading.name] = _value(reading, sums)
    rows = dict(base)
    meanings: dict[str, Expression] = {name: Column(name) for name in base}
    for step in plan.query.steps:
        rows = _run(step, rows)
        meanings = {output.name: _inline(output.expression, meanings) for output in step.outputs}
    chosen = [int(row) for row in rows.pop(_ROW)]
    bars = {reading.name: _bars(reading, plan, sums, tail) for reading in plan.readings}
    series = []
    for name, values in rows.items():
        found = _series_bars(meanings[name], plan, sums, base, chosen, bars, tail)
        series.append(_series(name, values, found))
    return Answer(tuple(series), confidence, plan, receipt, coverage_notes(plan, confidence))


def _sums(released: Released, plan: Plan) -> dict[tuple[int, int], Floats]:
    import numpy as np

    return {
        (index, place): np.array([noisy / 2**measure.shift for noisy in released.sums[index][place]], dtype=np.float64)
        for index, one in enumerate(plan.passes)
        for place, measure in enumerate(one.measures)
    }


def _value(reading: Reading, sums: Mapping[tuple[int, int], Floats]) -> Floats:
    import numpy as np

    value = reading.aggregate.read(*(sums[place] for place in reading.places))
    return np.floor(value + 0.5) if reading.aggregate.name.startswith("count") else value


def law_of(measure: Measure) -> Law:
    """Return the law of a measure's noise, in grid units."""
    if isinstance(measure.mechanism, Laplace):
        return Law("laplace", float(measure.mechanism.scale) / 2**measure.shift)
    return Law("gaussian", measure.mechanism.sigma / 2**measure.shift)


def _bars(reading: Reading, plan: Plan, sums: Mapping[tuple[int, int], Floats], tail: float) -> Bars:
    import numpy as np

    measures = [plan.passes[index].measures[place] for index, place in reading.places]
    parts = [sums[place] for place in reading.places]
    low, high = reading.aggregate.ends
    factor = reading.aggregate.linear
    if factor is not None:
        half = measures[0].error(1 - tail) * float(factor)
        value = parts[0] * float(factor)
        error = np.full_like(value, measures[0].standard_deviation * float(factor))
        return Bars(np.clip(value - half, low, high), np.clip(value + half, low, high), error)
    laws = [law_of(measure) for measure in measures]
    if isinstance(reading.aggregate, Mean):
        step, middle = float(measures[0].sum.step), float(reading.aggregate.argument.middle)
        scaled = (Law(laws[0].family, laws[0].scale * step), laws[1])
        found = ratio_bars(parts[0] * step, parts[1], scaled, most=(high - low) / 2, tail=tail)
        return Bars(middle + found.low, middle + found.high, found.error)
    return simulated_bars(reading.aggregate.read, parts, laws, tail=tail)


def _run(step: Step, rows: dict[str, Any]) -> dict[str, Any]:
    """Return the rows of a step, each still with the number of the released row that it came from."""
    outputs = (*step.outputs, Output(_ROW, Column(_ROW)))
    if not step.distinct:
        return run_step(replace(step, outputs=outputs), rows)
    found = run_step(replace(step, outputs=outputs, distinct=False, limit=None, offset=0), rows)
    names = [output.name for output in step.outputs]
    first: dict[tuple[Any, ...], int] = {}
    for index, row in enumerate(zip(*(found[name] for name in names), strict=True)):
        first.setdefault(row, index)
    kept = list(first.values())[step.offset :][: step.limit]
    return {name: [values[index] for index in kept] for name, values in found.items()}


def _inline(expression: Expression, meanings: Mapping[str, Expression]) -> Expression:
    """Return an expression with each column replaced by what it stands for."""
    match expression:
        case Column(name=name):
            return meanings[name]
        case Call(function=function, arguments=arguments):
            return Call(function, tuple(_inline(argument, meanings) for argument in arguments))
    return expression


def _columns(expression: Expression) -> set[str]:
    match expression:
        case Column(name=name):
            return {name}
        case Call(arguments=arguments):
            return set().union(*(_columns(argument) for argument in arguments))
    return set()


def _series_bars(
    meaning: Expression,
    plan: Plan,
    sums: Mapping[tuple[int, int], Floats],
    base: Mapping[str, Any],
    chosen: list[int],
    bars: Mapping[str, Bars],
    tail: float,
) -> Bars | None:
    import numpy as np

    if isinstance(meaning, Column) and meaning.name in bars:
        own = bars[meaning.name]
        return Bars(own.low[chosen], own.high[chosen], own.error[chosen])
    used = [reading for reading in plan.readings if reading.name in _columns(meaning)]
    if not used or not chosen:
        return None
    return _simulate(meaning, plan, used, sums, base, np.array(chosen), tail)


def _simulate(
    meaning: Expression,
    plan: Plan,
    used: list[Reading],
    sums: Mapping[tuple[int, int], Floats],
    base: Mapping[str, Any],
    chosen: Any,
    tail: float,
) -> Bars:
    """Return bars for a derived column, by reading and deriving it again under fresh noise of the known law."""
    import numpy as np

    places = sorted({place for reading in used for place in reading.places})
    points = max(199, min(POINTS, _MOST_SIMULATED // len(chosen)))
    laws = [law_of(plan.passes[index].measures[place]) for index, place in places]
    noise = dict(zip(places, noise_points(laws, points), strict=True))
    table: dict[str, Any] = {}
    for reading in used:
        parts = (sums[place][chosen][:, None] + noise[place][None, :] for place in reading.places)
        table[reading.name] = reading.aggregate.read(*parts).ravel()
    for key in plan.query.keys:
        if key.name in _columns(meaning):
            table[key.name] = [base[key.name][row] for row in chosen for _ in range(points)]
    values = np.asarray(evaluate(meaning, table), dtype=np.float64).reshape(len(chosen), points)
    low, high, error = [], [], []
    for row in values:
        known = row[~np.isnan(row)]
        if known.size == 0:
            known = np.array([np.nan])
        low.append(np.quantile(known, tail / 2))
        high.append(np.quantile(known, 1 - tail / 2))
        error.append(known.std())
    return Bars(np.array(low), np.array(high), np.array(error))


def _series(name: str, values: Any, bars: Bars | None) -> Series:
    plain = tuple(_tidy(value) for value in values)
    if bars is None:
        return Series(name, plain)
    return Series(
        name,
        plain,
        tuple(float(x) for x in bars.low),
        tuple(float(x) for x in bars.high),
        tuple(float(x) for x in bars.error),
    )


def _tidy(value: Any) -> Any:
    return value.item() if hasattr(value, "item") else value
