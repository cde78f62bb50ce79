"""Running totals as one release has them: a table with an interval at every step, and a picture with a band."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product as combinations
from typing import TYPE_CHECKING, Any, Literal

from privet.answer import Series
from privet.core.numbers import Number, open_probability

from .released_counts import CountTable, ReleasedCounts

if TYPE_CHECKING:
    from privet.core.event import Floats
    from privet.strategy import Workload


@dataclass(frozen=True, repr=False)
class TotalsTable(CountTable):
    """Running totals with intervals, one row for each step and group, as a table."""

    def plot(self, path: Any = None, *, theme: Literal["light", "dark"] = "light") -> Any:
        """Return a picture of the totals along the steps, with a band (needs matplotlib); save it if a path is given.

        Args:
            path: the file to write, too: .png, .svg or .pdf; none if left out.
            theme: "light" or "dark", for the page that it stands on.
        """
        from privet.plots.answers import plot_answer

        return plot_answer(self.series, confidence=self.confidence, path=path, theme=theme)


@dataclass(frozen=True, repr=False, eq=False)
class RunningTotals(ReleasedCounts):
    """The running totals of a whole history, in each group, from one release; every answer from it is free.

    Each total is that of all steps up to its own. What happens later is another release, of the same people: it is
    charged again, and the two are not to be averaged.

    Example:
        >>> found = session.running("visits", by="day", epsilon=1)
        >>> table = found.totals()
        >>> table["n"].low[-1] <= table["n"].values[-1] <= table["n"].high[-1]
        True
    """

    what: str = "n"
    """The name of the column of totals."""
    unit: float = 1.0
    """The value of one step of the measured numbers."""
    first: int = 0
    """At which of the values of the first column the history begins: a missing value is no step."""

    def totals(self, *, confidence: Number = 0.95) -> TotalsTable:
        """Return the total up to each step, in each group, with its interval.

        Args:
            confidence: the pointwise confidence level of the intervals.

        Example:
            >>> session.running("visits", by="day", epsilon=1).totals().series[0].name
            'day'
        """
        from privet.strategy.reconstruction import Answers

        level = float(open_probability(confidence, "confidence"))
        answers = self._answers(self._workload(), confidence)
        values = self._rising(answers.values) if self.nonnegative else answers.values
        scaled = Answers(
            values * self.unit,
            answers.low * self.unit,
            answers.high * self.unit,
            answers.plain * self.unit,
            answers.deviations * self.unit,
            answers.confidence,
        )
        steps = self.values[0][self.first : self.first + self._steps]
        rows = list(zip(*combinations(steps, *self.values[1:]), strict=True))
        keys = tuple(Series(name, column) for name, column in zip(self.names, rows, strict=True))
        name = self.what
        while name in self.names:
            name += "_"
        return TotalsTable((*keys, self._series(name, scaled, self._order())), level, self._notes(level))

    def _rising(self, values: Floats) -> Floats:
        """Return the nearest totals that never fall, in each group: neighbours that do are averaged.

        Such totals are no further from the truth, which rises too. Their intervals stay those of single totals.
        """
        import numpy as np

        sizes = list(self.measure.strategy.shape)
        sizes[self.axes[0]] = self._steps
        tables = np.moveaxis(values.reshape(sizes).copy(), self.axes[0], 0)
        columns = tables.reshape(self._steps, -1)
        for place in range(columns.shape[1]):
            columns[:, place] = _isotonic(columns[:, place])
        return np.moveaxis(columns.reshape(tables.shape), 0, self.axes[0]).reshape(values.shape)

    @property
    def _steps(self) -> int:
        return sum(value is not None for value in self.values[0])

    def _workload(self) -> Workload:
        """Return the totals as sums of the strategy's cells, its attributes in their own order."""
        from privet.strategy import identity, product, ranges

        shape = self.measure.strategy.shape
        ends = [(self.first, self.first + step) for step in range(self._steps)]
        factors = [ranges(size, ends) if place == self.axes[0] else identity(size) for place, size in enumerate(shape)]
        return product(*factors) if len(factors) > 1 else factors[0]

    def _order(self) -> Any:
        """Return where each total is among those of the strategy's order, for totals in the order of the names."""
        import numpy as np

        sizes = list(self.measure.strategy.shape)
        sizes[self.axes[0]] = self._steps
        places = np.arange(int(np.prod(sizes))).reshape(sizes)
        return places.transpose(self.axes).ravel()

    def to_dict(self, *, confidence: Number = 0.95) -> dict[str, list[Any]]:
        """Return the totals as lists, with `_low`, `_high` and `_error` beside them."""
        return self.totals(confidence=confidence).to_dict()

    def to_pandas(self, *, confidence: Number = 0.95) -> Any:
        """Return the totals as a pandas frame (needs pandas)."""
        return self.totals(confidence=confidence).to_pandas()

    def plot(self, path: Any = None, *, confidence: Number = 0.95, theme: Literal["light", "dark"] = "light") -> Any:
        """Return a picture of the totals along the steps, with a band (needs matplotlib).

        Args:
            path: the file to write, too: .png, .svg or .pdf; none if left out.
            confidence: the pointwise confidence level of the band.
            theme: "light" or "dark", for the page that it stands on.
        """
        return self.totals(confidence=confidence).plot(path, theme=theme)

    def _words(self) -> list[str]:
        groups = f" in each {' and '.join(self.names[1:])}" if len(self.names) > 1 else ""
        what = f"Running totals by {self.names[0]}{groups}, over {self._steps:,} steps."
        return [self._facts(), f"{what} Use .totals(), .to_pandas(), .plot()."]


def _isotonic(values: Floats) -> Floats:
    """Return the rising numbers with the least squared distance to some: pools of neighbours that fall are averaged."""
    import numpy as np

    means: list[float] = []
    sizes: list[int] = []
    for value in values:
        mean, size = float(value), 1
        while means and means[-1] > mean:
            before, many = means.pop(), sizes.pop()
            mean, size = (before * many + mean * size) / (many + size), many + size
        means.append(mean)
        sizes.append(size)
    return np.repeat(np.array(means), sizes)
