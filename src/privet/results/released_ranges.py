"""One column's counts, from which any range, prefix, quantile and histogram follows, for free and with intervals."""

from __future__ import annotations

import datetime
import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, cast

from privet.answer import Series
from privet.core.errors import BadParameter
from privet.core.estimate import Estimate
from privet.core.given import choice, optional_package
from privet.core.numbers import Number, open_probability, rational, whole

from .released_counts import CountTable, ReleasedCounts

if TYPE_CHECKING:
    from privet.strategy.reconstruction import Answers
    from privet.strategy.workloads import Floats

End = int | float | datetime.date
"""An end of a range: a number, or a date."""

Picture = Literal["cumulative", "histogram"]


@dataclass(frozen=True)
class RangeQuantile:
    """A quantile of a column, with the interval of all values that it may be."""

    q: float
    value: Any
    low: Any
    high: Any
    confidence: float


@dataclass(frozen=True, repr=False, eq=False)
class Ranges(ReleasedCounts):
    """Counts of one column's values, which answer any range, prefix, quantile or histogram of it, for free.

    Example:
        >>> ages = session.ranges("visits", "age", epsilon=1)
        >>> adults = ages.count(18, 64)
        >>> adults.low <= adults.value <= adults.high
        True
    """

    kind: Literal["integer", "number", "date"] = "integer"
    starts: tuple[Any, ...] = ()
    """The least value of each cell, rising."""
    ends: tuple[Any, ...] = ()
    """The largest value of each cell; of numbers, where the next one starts."""

    @property
    def column(self) -> str:
        """The column that is counted."""
        return self.names[0]

    @property
    def cells(self) -> int:
        """How many cells its values are counted in."""
        return len(self.starts)

    def count(self, low: End | None = None, high: End | None = None, *, confidence: Number = 0.95) -> Estimate:
        """Return how many rows have a value from `low` to `high`, both included; of numbers, below `high`.

        Where an end lies inside a bin, the interval contains the count, whatever the values in that bin are.

        Args:
            low: the least value; the least that is declared if left out.
            high: the largest value; the largest that is declared if left out.
            confidence: the confidence level of the interval.

        Raises:
            RequestError: if the range is empty or beyond the declared bounds.

        Example:
            >>> session.ranges("visits", "age", epsilon=1).count(18).confidence
            0.95
        """
        level = float(open_probability(confidence, "confidence"))
        inner, outer = self._spanned(low, high)
        widest = self._ranges([outer], level)
        if inner == outer:
            return self._estimate(widest, widest, level)
        return self._estimate(None if inner is None else self._ranges([inner], level), widest, level)

    def _spanned(
        self, low: object, high: object, parameters: tuple[str, str] = ("low", "high")
    ) -> tuple[tuple[int, int] | None, tuple[int, int]]:
        """Return the first and the last cell that lie in a range, if any does, and that share a value with it."""
        bottom, top = self._end(low, parameters[0]), self._end(high, parameters[1])
        if bottom is not None and top is not None and (bottom > top or (self.kind == "number" and bottom == top)):
            raise BadParameter(parameters[0], low, f"below high, which is {high}")
        outer = self._cells_of(bottom, top, inside=False)
        if outer is None:
            beyond = bottom is not None and bottom > self.starts[0]
            bounds = f"{self.column} is declared from {self.starts[0]} to {self.ends[-1]}, and no value is read beyond"
            raise BadParameter(parameters[not beyond], low if beyond else high, f"within the bounds: {bounds}")
        return self._cells_of(bottom, top, inside=True), outer

    def difference(
        self, one: tuple[End | None, End | None], other: tuple[End | None, End | None], *, confidence: Number = 0.95
    ) -> Estimate:
        """Return how many more rows have a value in one range than in another.

        Counts of one release share their noise: the interval is that of the difference itself, which may be much
        narrower than the two counts' own, or wider.

        Args:
            one: the ends of a range, both included; None for the least or the largest value that is declared.
            other: the ends of the other range.
            confidence: the confidence level of the interval.

        Raises:
            RequestError: if a range is empty or beyond the declared bounds.

        Example:
            >>> ages = session.ranges("visits", "age", epsilon=1)
            >>> only = ages.difference((0, 40), (0, 39)).standard_error  # both have the noise of 0 to 39
            >>> abs(only - ages.count(40, 40).standard_error) < 1e-6
            True
        """
        import numpy as np

        level = float(open_probability(confidence, "confidence"))
        spans = [self._both(pair, name) for pair, name in ((one, "one"), (other, "other"))]
        (inner, outer), (inside, outside) = spans
        # where ends lie inside bins, the least that the difference may be, and the most
        answers = [
            self._answers_to(self._mark(first) - self._mark(second), level)
            for first, second in ((inner, outside), (outer, inside))
        ]
        least, most = answers
        # noise in the bins at the ends can turn the two around
        low, high = sorted((float(least.low[0]), float(most.high[0])))
        value = min(max((float(least.values[0]) + float(most.values[0])) / 2, low), high)
        if self.whole:
            value, low, high = self._whole_difference(value, low, high)
        return Estimate(
            value=value,
            low=low,
            high=high,
            confidence=level,
            standard_error=float(np.maximum(least.deviations[0], most.deviations[0])),
            covers="the noise, not what bounding removes" if self.may_be_low else "the noise",
        )

    def _both(self, pair: object, parameter: str) -> tuple[tuple[int, int] | None, tuple[int, int]]:
        """Return the cells that lie in a range, and those that share a value with it."""
        if not isinstance(pair, tuple | list) or len(pair) != 2:
            raise BadParameter(parameter, pair, "a pair of ends, such as (18, 64)")
        return self._spanned(pair[0], pair[1], (parameter, parameter))

    def _mark(self, span: tuple[int, int] | None) -> Floats:
        import numpy as np

        weights = np.zeros(self.cells)
        if span is not None:
            weights[span[0] : span[1] + 1] = 1.0
        return weights

    def _answers_to(self, row: Floats, level: float) -> Answers:
        """Return the answer to one linear combination of cells; 0 where it has none of them."""
        from privet.strategy import matrix
        from privet.strategy.reconstruction import Answers

        if row.any():
            return self._answers(matrix([row.tolist()]), level)
        none = row[:1]
        return Answers(none, none, none, none, none, level)

    def prefix(self, high: End, *, confidence: Number = 0.95) -> Estimate:
        """Return how many rows have a value up to `high`; of numbers, below it. See `count`."""
        return self.count(None, high, confidence=confidence)

    def quantile(self, q: Number, *, confidence: Number = 0.95) -> RangeQuantile:
        """Return the value below or at which a share `q` of the rows lies, and the interval of all that it may be.

        Args:
            q: the share, between 0 and 1: 0.5 for the median.
            confidence: the confidence level of the interval.

        Guarantee: with F(t) the number of rows up to t and N that of all rows, the quantile is the least t with
        F(t) >= q N. The interval is the hull of all t for which F(t) - q N may be 0 or more, and that of the value
        before t below 0, each by the interval of that very linear combination; it misses the quantile only where one of
        two one-sided intervals at the quantile itself does, so with at most 1 - confidence.
        """
        import numpy as np

        share = float(open_probability(q, "the quantile q"))
        level = float(open_probability(confidence, "confidence"))
        gap, half = self._gaps(share, level)
        reach = np.flatnonzero(gap + half >= 0)
        before = np.concatenate([[-np.inf], (gap - half)[:-1]])
        possible = np.intersect1d(reach, np.flatnonzero(before <= 0))
        middle = min(int(np.count_nonzero(gap < 0)), self.cells - 1)
        first, last = (middle, middle) if not len(possible) else (int(possible[0]), int(possible[-1]))
        middle = min(max(middle, first), last)
        return RangeQuantile(share, self._middle(middle), self.starts[first], self.ends[last], level)

    def _gaps(self, share: float, level: float) -> tuple[Floats, Floats]:
        """Return F(t) - q N for every cell, and the half-width of its interval.

        Var(F - q N) = Var F + q^2 Var N - 2 q Cov(F, N), and 2 Cov(F, N) = Var F + Var N - Var(N - F).
        """
        import numpy as np

        from privet.strategy import prefixes, ranges
        from privet.strategy.laplace_sums import half_widths

        n = self.cells
        reconstruction = self._reconstruction
        sums = prefixes(n).answers(reconstruction.cells)
        below = prefixes(n).variances(reconstruction.covariance)
        above = np.zeros(n)
        if n > 1:
            above[:-1] = ranges(n, [(place, n - 1) for place in range(1, n)]).variances(reconstruction.covariance)
        together = (below + below[-1] - above) / 2
        spread = np.sqrt(np.maximum(below + share**2 * below[-1] - 2 * share * together, 0.0))
        wide = half_widths(level, self.measure.strategy.measure)
        if self.measure.strategy.measure == "pure":  # noise on a grid is at most half a step above noise without one
            wide += 0.5 / math.sqrt(float(self.measure.variances.min()) * 4.0**self.measure.shift)
        return np.asarray(sums - share * sums[-1]), np.asarray(spread * wide)

    def _middle(self, cell: int) -> Any:
        start, end = self.starts[cell], self.ends[cell]
        if self.kind == "date":
            return start + (end - start) / 2
        return (start + end) / 2 if self.kind == "number" else (start + end) // 2

    def counts(self, *, confidence: Number = 0.95) -> CountTable:
        """Return the count of every cell: every value, or every bin by its ends."""
        return self.histogram(confidence=confidence)

    def histogram(self, bins: int | None = None, *, confidence: Number = 0.95) -> CountTable:
        """Return the counts of consecutive bins of about equally many cells each.

        Args:
            bins: how many bins, at most; a bin for every cell if left out.
            confidence: the pointwise confidence level of the intervals.

        Example:
            >>> len(session.ranges("visits", "age", epsilon=1).histogram(10))
            10
        """
        level = float(open_probability(confidence, "confidence"))
        many = self.cells if bins is None else min(whole(bins, "bins", least=1, most=10**6), self.cells)
        wide = -(-self.cells // many)
        spans = [(first, min(first + wide, self.cells) - 1) for first in range(0, self.cells, wide)]
        answers = self._ranges(spans, level)
        single = wide == 1 and self.starts == self.ends
        keys = [Series(self.column, tuple(self.starts[first] for first, _ in spans))]
        if not single:
            lows, highs = self._count_names("low"), self._count_names("high")
            keys = [
                Series(lows, tuple(self.starts[first] for first, _ in spans)),
                Series(highs, tuple(self.ends[last] for _, last in spans)),
            ]
        taken = [key.name for key in keys]
        return CountTable((*keys, self._series(self._count_name(taken), answers)), level, self._notes(level))

    def cumulative(self, *, confidence: Number = 0.95) -> CountTable:
        """Return for every cell how many rows lie up to its end."""
        level = float(open_probability(confidence, "confidence"))
        answers = self._ranges([(0, last) for last in range(self.cells)], level)
        key = Series(self.column, self.ends)
        return CountTable((key, self._series(self._count_name([key.name]), answers)), level, self._notes(level))

    def to_dict(self, *, confidence: Number = 0.95) -> dict[str, list[Any]]:
        """Return the count of every cell as lists."""
        return self.counts(confidence=confidence).to_dict()

    def to_pandas(self, *, confidence: Number = 0.95) -> Any:
        """Return the count of every cell as a pandas frame (needs pandas)."""
        return optional_package("pandas", "to_pandas needs").DataFrame(self.to_dict(confidence=confidence))

    def plot(self, path: Any = None, *, show: Picture = "cumulative", theme: Literal["light", "dark"] = "light") -> Any:
        """Return a curve with a band: how many rows lie up to each value, or in each cell (needs matplotlib).

        Args:
            path: the file to write, too: .png, .svg or .pdf; none if left out.
            show: "cumulative", or "histogram" for the count of every cell.
            theme: "light" or "dark", for the page that it stands on.
        """
        kind = cast(Picture, choice(show, "show", ("cumulative", "histogram")))
        table = self.cumulative() if kind == "cumulative" else self.counts()
        if kind == "histogram" and len(table.series) > 2:  # along the low ends of bins
            table = CountTable((Series(self.column, self.starts), table.series[-1]), table.confidence, table.notes)
        if kind == "cumulative":
            *keys, counts = table.series
            counts = replace(counts, name=f"{counts.name} up to each {self.column}")
            table = CountTable((*keys, counts), table.confidence, table.notes)
        return table.plot(path, theme=theme)

    def _ranges(self, spans: list[tuple[int, int]], level: float) -> Answers:
        from privet.strategy import ranges

        return self._answers(ranges(self.cells, spans), level)

    def _estimate(self, inner: Answers | None, outer: Answers, level: float) -> Estimate:
        """Return a count that lies between two others, the smaller of which may be that of no cell, which is 0."""
        low, least, error = 0.0, 0.0, 0.0
        if inner is not None:
            low, least, error = float(inner.low[0]), float(inner.values[0]), float(inner.deviations[0])
        high, most = float(outer.high[0]), float(outer.values[0])
        value = most if inner is outer else min(max((least + most) / 2, min(low, high)), max(low, high))
        if self.whole:
            value = float(round(value))
        covers = "the noise, not what bounding removes" if self.may_be_low else "the noise"
        return Estimate(
            value=value,
            low=min(low, high),
            high=max(low, high),
            confidence=level,
            standard_error=max(error, float(outer.deviations[0])),
            covers=covers,
        )

    def _cells_of(self, low: Any, high: Any, *, inside: bool) -> tuple[int, int] | None:
        """Return the first and the last cell that lie in a range, or that share a value with it; None if none does."""
        cells = []
        for place, (start, end) in enumerate(zip(self.starts, self.ends, strict=True)):
            if inside:
                holds = (low is None or start >= low) and (high is None or end <= high)
            elif self.kind == "number":
                holds = (low is None or end > low) and (high is None or start < high)
            else:
                holds = (low is None or end >= low) and (high is None or start <= high)
            if holds:
                cells.append(place)
        return (cells[0], cells[-1]) if cells else None

    def _end(self, end: object, parameter: str) -> Any:
        """Return an end of a range as values of the column are: an exact number, or a date."""
        if end is None:
            return None
        if self.kind == "date":
            if not isinstance(end, datetime.date) or isinstance(end, datetime.datetime):
                raise BadParameter(parameter, end, "a date, as the column has")
            return end
        return rational(end, parameter)

    def _count_names(self, end: str) -> str:
        return f"{self.column}_{end}"

    @cached_property
    def _bounds(self) -> str:
        return f"{self.starts[0]} to {self.ends[-1]}, in {self.cells:,} cell{'s' * (self.cells > 1)}"

    def _words(self) -> list[str]:
        use = "Use .count(low, high), .prefix(high), .quantile(0.5), .histogram(10), .to_pandas(), .plot()."
        return [self._facts(), f"Counts of {self.column}, {self._bounds}. {use}"]
