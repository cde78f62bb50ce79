"""The sparse vector that also measures: each query that crosses is answered with a number, by separate noise."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any

from privet.core.errors import BadParameter
from privet.core.event import Composed, Event, Repeated
from privet.core.given import set_fields
from privet.core.numbers import Number, failure_probability, float_near, float_up, open_probability, positive, sqrt_up
from privet.core.unit import Sensitivity

from . import sparse_run as budget
from .laplace import Laplace
from .lattice import Grid, Numbers, to_grid
from .mechanism import read_times
from .sparse_vector import Above, Crossings, Sparse, improve, read_released

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_LEAST_PART = Fraction(1, 2**60)


@dataclass(frozen=True, init=False, repr=False)
class NumericSparse(Sparse):
    """Answer with a number each query that comes out above a threshold, until `limit` of them have.

    `measuring` is the part of epsilon that the numbers get, half of it by default; the rest finds the crossings, as in
    `Sparse`. A delta is halved between the two. The gaps, which come free, improve the numbers: `estimates`.

    Args:
        threshold: the public threshold.
        limit: how many crossings are reported.
        sensitivity: how far one unit can move a score: a number, or a `Sensitivity`.
        epsilon: the privacy loss of one release, above 0.
        delta: the probability with which the loss may exceed epsilon.
        monotone: whether one unit moves all scores in the same direction, which costs less.
        share: the part of epsilon for the noise of the threshold.
        measuring: the part of epsilon for the numbers.
        grid: "whole" for whole-number noise, "fine" for a grid far below the noise.

    Raises:
        BadParameter: if a number is out of range.

    Example:
        >>> mechanism = privet.NumericSparse(threshold=500, limit=2, sensitivity=1, epsilon=1)
        >>> mechanism.event.pure()
        Fraction(1, 1)

    Guarantee: the event of the crossings, and that of one Laplace release for each, composed. The noise of a
    measurement is drawn afresh: a number that reused the noise of its comparison would have no privacy at all.
    Cites: [DR14, Alg. 3], [DWZK19, sparse vector with gaps].
    """

    measure: Laplace

    def __init__(
        self,
        *,
        threshold: Number,
        limit: int,
        sensitivity: Number | Sensitivity,
        epsilon: Number,
        delta: Number = 0,
        monotone: bool = False,
        share: Number | None = None,
        measuring: Number = Fraction(1, 2),
        grid: Grid = "fine",
    ) -> None:
        part, total = open_probability(measuring, "measuring"), positive(epsilon, "epsilon")
        if not _LEAST_PART <= part <= 1 - _LEAST_PART:
            raise BadParameter("measuring", measuring, "from 2**-60 to 1 - 2**-60")
        chance = failure_probability(delta) / 2
        super().__init__(
            threshold=threshold,
            limit=limit,
            sensitivity=sensitivity,
            epsilon=total * (1 - part),
            delta=chance,
            monotone=monotone,
            share=share,
            grid=grid,
        )
        each = budget.epsilon_each(total * part, chance, self.limit) if chance else total * part / self.limit
        self._measure_with(self.sensitivity / each)

    @classmethod
    def lecture(
        cls, *, threshold: Number, limit: int, sensitivity: Number | Sensitivity, epsilon: Number, delta: Number = 0
    ) -> NumericSparse:
        """Return the textbook's parameters: e1 = 8/9 epsilon for the crossings and e2 = 2/9 epsilon for the numbers.

        Where delta > 0 they are r/(r + 1) and 2/(r + 1) of epsilon, r = sqrt(512). The noise of the numbers has scale
        sigma(e2), which buys e2/2 for all of them, so that e1 + e2/2 = epsilon.

        Cites: [DR14, Alg. 3].
        """
        bar, count, distance = budget.read_facts(threshold, limit, sensitivity, False, "fine")
        total, chance = positive(epsilon, "epsilon"), failure_probability(delta)
        root = sqrt_up(Fraction(512)) if chance else Fraction(8)
        sigma, answers = (
            distance * budget.printed_scale(part * total, count, chance, numeric=True)
            for part in (root / (root + 1), 2 / (root + 1))
        )
        made = cls.__new__(cls)
        made._fill(bar, count, distance, (sigma, 2 * sigma), monotone=False, refresh=True, grid="fine")
        made._measure_with(answers)
        return made

    def _measure_with(self, scale: Fraction) -> None:
        measure = Laplace(sensitivity=self.sensitivity, scale=scale, grid=self.grid)
        set_fields(self, measure=measure)

    @cached_property
    def event(self) -> Event:
        """The event of one run: that of the crossings, and that of a measurement for each."""
        return Composed((self._crossing_event(), Repeated(self.measure.event, self.limit)))

    def release(self, queries: Any) -> Crossings:
        """Return the answers to a list or array of queries, a number for each crossing, and the improved estimates."""
        numbers = self._read_all(queries)
        run = self._start()
        answered, places, gaps = run.ask_all(to_grid(numbers, self._steps.exponent))
        values = tuple(self._value(numbers.values[place], numbers.whole) for place in places)
        shown = tuple(map(self._number, gaps))
        return Crossings(answered, run.left == 0, tuple(places), shown, values, self._improved(values, shown))

    def simulate(self, queries: Any, times: int) -> NDArray[np.float64]:
        """Return `count` runs over the same queries, as `Sparse` does, with a column for each crossing's number.

        It is NaN where there was no crossing.
        """
        import numpy as np

        numbers = self._read_all(queries)
        rows = self._crossings(numbers, read_times(times))
        places = rows[:, : rows.shape[1] // 2]
        values = np.full(places.shape, np.nan)
        for place in np.unique(places[places >= 0]).astype(int).tolist():
            exact = numbers.values[place]
            drawn = self.measure.simulate(
                int(exact) if numbers.whole else exact, int(np.count_nonzero(places == place))
            )
            values[places == place] = [float_near(Fraction(number)) for number in np.asarray(drawn).tolist()]
        return np.hstack([rows, values])

    def improved(self, values: tuple[int | float, ...], gaps: tuple[float, ...]) -> tuple[float, ...]:
        """Return the values of one run's crossings improved by their gaps, as the best linear unbiased estimates do."""
        return self._improved(read_released(values, "values"), read_released(gaps, "gaps"))

    def _improved(self, measured: tuple[int | float, ...], shown: tuple[float, ...]) -> tuple[float, ...]:
        base = float_near(self.threshold)
        bar, query = float_up(2 * self.threshold_scale**2), float_up(2 * self.query_scale**2)
        return improve(
            measured,
            tuple(base + gap for gap in shown),
            measured_variance=self.measure.variance,
            shown_variance=query + bar if self.refresh else query,
            offset_variance=0.0 if self.refresh else bar,
        )

    def _above(self, gap: int, number: Numbers) -> Above:
        return Above(self._number(gap), self._value(number.values, number.whole))

    def _value(self, exact: Any, is_whole: bool) -> int | float:
        value: int | float = self.measure.release(int(exact) if is_whole else exact)
        return value
