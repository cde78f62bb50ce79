"""The error bars of an answer's rows, from what was released and the laws of its noise. Sees no data."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import product
from typing import TYPE_CHECKING, Any

from privet.aggregates import Ranked
from privet.answer import Series
from privet.core.relation import ColumnRef, Expression
from privet.core.schema import Kind
from privet.inference.bars import Bars, Law, depths, derived_bars, half_width, noise_points, points_for
from privet.planner.plan import Known, Place, Plan, Reading
from privet.query.expressions import mentions
from privet.query.normal import FIRST_DAY, LAST_DAY, MICROSECONDS, date_at, microseconds, timestamp_at
from privet.query.resolve import in_days, linear_in

from .postprocess import evaluate

if TYPE_CHECKING:
    from privet.core.event import Floats

_MOST_CORNERS = 6


class RowBars:
    """The error bars of one answer: in closed form for the aggregates themselves, by simulation for what is derived."""

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
            days = tuple([in_days_since(one) for one in plain])
            found = self._numbers(name, days, in_days(meaning))
            low, high = (as_moments(ends, kind, up=up) for ends, up in ((found.low, False), (found.high, True)))
            return replace(found, values=plain, low=low, high=high)
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
        if line is not None and (isinstance(meaning, ColumnRef) or own.linear is not None or own.steady):
            ends = self._with_lost(used[0])
            low, high = (float(line.factor) * end + float(line.offset) for end in (ends.low, ends.high))
            low, high = (low, high) if line.factor >= 0 else (high, low)
            found = Bars(low, high, abs(float(line.factor)) * ends.error)
        else:
            found = self._derived(meaning, used)
        return Series(name, plain, _floats(found.low), _floats(found.high), _floats(found.error), *sides)

    def _with_lost(self, reading: Reading) -> Bars:
        """Return the interval of an aggregate, widened by what bounding may have taken away of it.

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
            found = self._of_reading(reading, self.tail)
            least, most = self.plan.passes[place[0]].scan.sums[place[1]].ends
            down, up = float(factor) * lost * min(least, 0), float(factor) * lost * max(most, 0)
            return Bars(np.clip(found.low + down, low, high), np.clip(found.high + up, low, high), found.error)
        found, count = self._of_reading(reading, self.tail / 2), reading.places[-1]
        left = np.maximum(self.sums[count][self.chosen] - self.plan.noise_within(count, 1 - self.tail / 2), 0.0)
        most_off = (high - low) * (lost / np.maximum(left + lost, 1e-300) if lost else np.zeros_like(left))
        return Bars(np.clip(found.low - most_off, low, high), np.clip(found.high + most_off, low, high), found.error)

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
        low, high = (one[self.chosen] for one in self.intervals[reading.name])
        bottom, top = ranked.ends
        low, high = np.maximum(bottom, np.minimum(low, value)), np.minimum(top, np.maximum(high, value))
        return Bars(low, high, np.full_like(value, np.nan))

    def _law(self, place: Place) -> Law:
        return self.laws[place] if place in self.laws else self.plan.law(place)

    def _read(self, reading: Reading, parts: Sequence[Floats]) -> Any:
        """Return what an aggregate reads, as it is shown: what was reconciled is not rounded."""
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

        They hold what is derived where it rises or falls with each of the quantiles.
        """
        import numpy as np

        ranked = {
            reading.name: self._of_reading(reading, self.tail)
            for reading in used
            if isinstance(reading.aggregate, Ranked)
        }
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
        """Return bars for a derived column, by reading and deriving it again under fresh noise of the known law.

        Each point of the noise is tried with its opposite, and last comes none at all: so it shows where a column does
        not move in proportion, and what `derived_bars` must do about it.
        """
        import numpy as np

        places = sorted({place for reading in used for place in reading.noisy})
        chosen = np.array(self.chosen)
        laws = [self._law(place) for place in places]
        half = noise_points(laws, points_for(len(chosen), self.tail) // 2)
        drawn = [np.concatenate((one, -one, np.zeros(1))) for one in half] or [np.zeros(1)]
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
    """Return ends of intervals as dates or timestamps, rounded outwards and held to the calendar; None for NaN."""
    if days is None:
        return None
    size = 1 if kind == "date" else MICROSECONDS
    found: list[Any] = []
    for one in days:
        if one != one:
            found.append(None)
            continue
        held = min(max(one, FIRST_DAY), LAST_DAY)
        whole = Fraction(math.ceil(held * size) if up else math.floor(held * size), size)
        found.append(date_at(whole) if kind == "date" else timestamp_at(whole))
    return tuple(found)


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
