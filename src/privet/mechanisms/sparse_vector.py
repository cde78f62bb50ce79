"""The sparse vector technique: ask any number of queries, pay only for those that come out above a threshold.

`AboveThreshold` stops at the first such query and `Sparse` after several; `numeric_sparse` measures them too. The
comparison is made on integers, exactly, and each crossing comes with its gap, at no further cost.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any

from privet.accounting.events import PureEvent
from privet.core.errors import BadValue, PrivetError, RequestError
from privet.core.event import Event, Repeated
from privet.core.given import read_fields, set_fields
from privet.core.numbers import Number, failure_probability, float_near, float_up, open_probability, positive, whole
from privet.core.unit import Sensitivity

from . import sparse_run as budget
from .lattice import Grid, Numbers, from_grid, read_floats, read_numbers, step_of, to_grid
from .mechanism import Mechanism, read_times, shown
from .sparse_run import Run, Steps, crossings_of_many, make_steps

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


# The results of a sparse vector: which queries crossed, by how much, and the values that were measured beside it.
#
# Everything here is made of released numbers alone. Nothing here may use a query's true answer.


@dataclass(frozen=True)
class Above:
    """A query that came out above the threshold: its noisy distance to the noisy threshold, and its value if measured.

    The answer to a query that came out below is `None`, so that `if answer:` asks the natural question.

    Example:
        >>> mechanisms.Above(gap=12.5).value is None
        True
    """

    gap: float
    value: int | float | None = None

    def __post_init__(self) -> None:
        read_fields(self)


@dataclass(frozen=True)
class Crossings:
    """The answers to a list of queries: how many were answered, and for each that crossed its index and its gap.

    `gaps` are noisy distances to the noisy threshold, free beside the crossings. `values` are separate measurements,
    and `estimates` the values improved by the gaps; both are empty where nothing was measured.

    Example:
        >>> crossings = mechanisms.Crossings(answered=3, halted=True, indices=(2,), gaps=(10.5,))
        >>> crossings.indices, crossings.halted
        ((2,), True)
    """

    answered: int
    halted: bool
    indices: tuple[int, ...]
    gaps: tuple[float, ...]
    values: tuple[int | float, ...] = ()
    estimates: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        read_fields(self)

    @property
    def above(self) -> NDArray[np.bool_]:
        """One answer for each query that was answered: True where it came out above the threshold."""
        import numpy as np

        answers = np.zeros(self.answered, dtype=np.bool_)
        answers[list(self.indices)] = True
        return answers

    @property
    def first(self) -> int | None:
        """The index of the first query that came out above the threshold, or None."""
        return self.indices[0] if self.indices else None

    def __repr__(self) -> str:
        shown = ", ".join(map(str, self.indices[:8])) + (", ..." if len(self.indices) > 8 else "")
        halted = ", halted" if self.halted else ""
        return f"Crossings({len(self.indices)} above of {self.answered} answered{halted}: [{shown}])"


def read_released(numbers: object, parameter: str) -> tuple[float, ...]:
    """Return released numbers as doubles, or refuse them by name."""
    read = read_floats(numbers, parameter)
    if read.ndim != 1:
        raise BadValue(parameter, "something else", "a list of numbers")
    return tuple(read.tolist())


def improve(
    measured: tuple[int | float, ...],
    shown: tuple[float, ...],
    *,
    measured_variance: float,
    shown_variance: float,
    offset_variance: float,
) -> tuple[float, ...]:
    """Return the best linear unbiased estimates from measurements and from noisy values that share an unknown offset.

    measured[i] = x[i] + e[i] and shown[i] = x[i] + n[i] - r with independent noises of these variances, the offset r
    being one draw for all. Deviations from the mean are weighted by inverse variance, and so is the mean itself,
    whose second source has the variance of r on top. With an infinite offset variance only differences are used.

    Guarantee: post-processing of released numbers. Each estimate has the variance
    m/k + (k - 1)/k times m s/(m + s) at most, where m and s are the variances; selection is not accounted for.
    Cites: [DWZK19, measuring with gaps] for differences; weighted least squares with one shared effect otherwise.
    """
    if len(measured) != len(shown):
        raise RequestError(f"there must be as many values as gaps; got {len(measured)} and {len(shown)}")
    if not measured:
        return ()
    k = len(measured)
    mean, other = (sum(map(Fraction, numbers), Fraction(0)) / k for numbers in (measured, shown))
    weight = Fraction(_share(measured_variance, shown_variance))
    along = Fraction(_share(measured_variance / k, shown_variance / k + offset_variance))
    center = mean + along * (other - mean)
    return tuple(
        float_near(center + (1 - weight) * (Fraction(y) - mean) + weight * (Fraction(g) - other))
        for y, g in zip(measured, shown, strict=True)
    )


def _share(mine: float, other: float) -> float:
    """Return the weight of the other source under inverse variance."""
    return mine / (mine + other)


_REAL = Numbers(None, None, False)


@dataclass(frozen=True, init=False, repr=False)
class Sparse(Mechanism):
    """Return for each query whether it lies above a threshold, until `limit` of them have come out above.

    `sensitivity` bounds how far one unit can move any query; with `monotone=True` a unit may only ever move all
    queries the same way, as with counts under add-remove neighbours. `share` is the part of epsilon that the
    threshold's noise gets; left out, it is the best one. With a `delta`, the threshold may be drawn afresh after each
    crossing and the crossings composed optimally; whichever way compares more accurately is taken. `grid="whole"`
    draws integer noise for whole-number queries; by default noise is drawn on a fine grid, for queries of any kind.

    Args:
        threshold: the public threshold.
        limit: how many crossings are reported.
        sensitivity: how far one unit can move a score: a number, or a `Sensitivity`.
        epsilon: the privacy loss of one release, above 0.
        delta: the probability with which the loss may exceed epsilon.
        monotone: whether one unit moves all scores in the same direction, which costs less.
        share: the part of epsilon for the noise of the threshold.
        grid: "whole" for whole-number noise, "fine" for a grid far below the noise.

    Raises:
        BadParameter: if a number is out of range.

    Example:
        >>> mechanism = privet.Sparse(threshold=500, limit=2, sensitivity=1, epsilon=1)
        >>> mechanism.event.pure()
        Fraction(1, 1)

    Guarantee: with one threshold noise of scale b1 and query noises of scale b2, for a sensitivity s and c crossings,
    (s/b1 + 2 c s/b2)-DP, or (s/b1 + c s/b2) where monotone, gaps included (proof at `Run`). Where the threshold is
    refreshed, each crossing is one such release with c = 1, and they compose.
    Cites: [DR14, Alg. 1 and 2], [LSL17, standard sparse vector], [DWZK19, sparse vector with gaps].
    """

    threshold: Fraction
    limit: int
    sensitivity: Fraction
    threshold_scale: Fraction
    query_scale: Fraction
    monotone: bool
    refresh: bool
    grid: Grid

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
        grid: Grid = "fine",
    ) -> None:
        bar, count, distance = budget.read_facts(threshold, limit, sensitivity, monotone, grid)
        total, chance = positive(epsilon, "epsilon"), failure_probability(delta)
        moves = 1 if monotone else 2
        refresh = False
        if chance and count > 1:
            each = budget.epsilon_each(total, chance, count)
            at_once = budget.comparison_variance(total, moves * count)
            refresh = budget.comparison_variance(each, moves) < at_once
            total = each if refresh else total
        weight = moves if refresh else moves * count
        part = budget.best_share(weight) if share is None else open_probability(share, "share")
        first = positive(distance / (total * part), "the scale of the threshold's noise")
        second = positive(weight * distance / (total * (1 - part)), "the scale of the queries' noise")
        self._fill(bar, count, distance, (first, second), monotone=monotone, refresh=refresh, grid=grid)

    @classmethod
    def lecture(
        cls, *, threshold: Number, limit: int, sensitivity: Number | Sensitivity, epsilon: Number, delta: Number = 0
    ) -> Sparse:
        """Return the textbook's parameters: a fresh threshold after each crossing, noises of scale sigma and 2 sigma.

        sigma = 2 c / epsilon, or sqrt(32 c ln(1/delta)) / epsilon where delta > 0. Their cost is that of `event`,
        which for delta > 0 is less than a half of the intended cost.

        Cites: [DR14, Alg. 2].
        """
        bar, count, distance = budget.read_facts(threshold, limit, sensitivity, False, "fine")
        sigma = distance * budget.printed_scale(positive(epsilon, "epsilon"), count, failure_probability(delta))
        made = cls.__new__(cls)
        made._fill(bar, count, distance, (sigma, 2 * sigma), monotone=False, refresh=True, grid="fine")
        return made

    def _fill(
        self,
        threshold: Fraction,
        limit: int,
        sensitivity: Fraction,
        scales: tuple[Fraction, Fraction],
        *,
        monotone: bool,
        refresh: bool,
        grid: Grid,
    ) -> None:
        set_fields(
            self,
            threshold=threshold,
            limit=limit,
            sensitivity=sensitivity,
            threshold_scale=scales[0],
            query_scale=scales[1],
            monotone=monotone,
            refresh=refresh and limit > 1,
            grid=grid,
        )

    @cached_property
    def event(self) -> Event:
        """The event of one run, however many queries it answers."""
        return self._crossing_event()

    def _crossing_event(self) -> Event:
        once, moves = self.sensitivity / self.threshold_scale, 1 if self.monotone else 2
        crossing = moves * self.sensitivity / self.query_scale
        if self.refresh:
            return Repeated(PureEvent(once + crossing), self.limit)
        return PureEvent(once + self.limit * crossing)

    def release(self, queries: Any) -> Crossings:
        """Return the answers to a list or array of queries, up to the one at which the run halts."""
        run = self._start()
        answered, places, gaps = run.ask_all(to_grid(self._read_all(queries), self._steps.exponent))
        return Crossings(answered, run.left == 0, tuple(places), tuple(map(self._number, gaps)))

    def simulate(self, queries: Any, times: int) -> NDArray[np.float64]:
        """Return this many runs over the same queries, a row for each: indices of crossings, then gaps.

        There is a column of each for every crossing that a run can have, -1 and NaN where it had none. Each run costs
        the event once more.
        """
        return self._crossings(self._read_all(queries), read_times(times))

    def _crossings(self, numbers: Numbers, times: int) -> NDArray[np.float64]:
        import numpy as np

        width = min(self.limit, numbers.size)
        rows = np.hstack([np.full((times, width), -1.0), np.full((times, width), np.nan)])
        grid = to_grid(numbers, self._steps.exponent)
        many = crossings_of_many(self._steps, self.limit, grid, times, refresh=self.refresh)
        for run, order, places, gaps in many:
            rows[run, order] = places
            rows[run, width + order] = from_grid(gaps, self._steps.exponent, like=Numbers(gaps, gaps.shape, False))
        return rows

    def stream(self, queries: Iterable[Any]) -> Iterator[Above | None]:
        """Yield an answer for each query as it is asked: None where it came out below. Ends after `limit` crossings.

        The next query is only taken in its turn, so that it may depend on the answers so far. Each call is
        a separate run and costs the event once more.
        """
        try:
            asked = None if isinstance(queries, (str, bytes)) else iter(queries)
        except Exception:  # a foreign type may raise any error
            asked = None
        if asked is None:
            raise BadValue("queries", f"a {type(queries).__name__}", "a collection or a generator of numbers")
        return self._answers(asked)

    def _answers(self, queries: Iterator[Any]) -> Iterator[Above | None]:
        run = self._start()
        while run.left:
            try:
                query = next(queries)
            except StopIteration:
                return
            except PrivetError:
                raise
            except Exception:  # the error of a foreign generator may quote the subject of its query
                query = None
            number = self._read_one(query)
            gap = run.ask(to_grid(number, self._steps.exponent))
            yield None if gap is None else self._above(gap, number)

    def _above(self, gap: int, number: Numbers) -> Above:
        return Above(self._number(gap))

    def accuracy(self, queries: int, beta: Number) -> float:
        """Return alpha such that a run of this many queries is (alpha, beta)-accurate.

        Except with probability beta, each query that comes out above is at least threshold - alpha, and each that
        comes out below at most threshold + alpha, as long as fewer than `limit` queries exceed threshold - alpha.

        Cites: [DR14, Def. 3.9 and Thm 3.24], whose alpha of 8 (ln k + ln(2/beta)) / epsilon this never exceeds.
        """
        count = whole(queries, "queries", least=1, most=10**18)
        failure = open_probability(beta, "beta") / (self.limit if self.refresh else 1)
        scales = float_up(self.threshold_scale), float_up(self.query_scale)
        # Integer noise exceeds m no more often than real noise exceeds m - 1/2; a fine grid rounds numbers too.
        steps = 1 if self.grid == "whole" else 3
        allowance = steps * step_of(self._steps.exponent)
        rounding = Fraction(self._steps.moves) * step_of(self._steps.exponent) / self.sensitivity
        return float_up(Fraction(budget.accuracy(*scales, count, failure)) * rounding + allowance)

    @property
    def variance(self) -> float:
        """The variance that decides a comparison: the threshold's noise minus a query's, as if of real scale."""
        return float_up(2 * (self.threshold_scale**2 + self.query_scale**2))

    @cached_property
    def _steps(self) -> Steps:
        return make_steps(self.grid, self.threshold, self.sensitivity, self.threshold_scale, self.query_scale)

    def _start(self) -> Run:
        return Run(self._steps, self.limit, refresh=self.refresh)

    def _number(self, steps: int) -> float:
        return float(from_grid(steps, self._steps.exponent, like=_REAL))

    def _read_all(self, queries: Any) -> Numbers:
        numbers = read_numbers(queries, "queries", wide=True)
        if numbers.shape is None or len(numbers.shape) != 1:
            raise BadValue("queries", "something else", "a list or one-dimensional array of finite numbers")
        return self._checked(numbers)

    def _read_one(self, query: Any) -> Numbers:
        number = read_numbers(query, "each query")
        if number.shape is not None:
            raise BadValue("each query", "an array", "one finite number; release takes a whole array")
        return self._checked(number)

    def _checked(self, numbers: Numbers) -> Numbers:
        if self.grid == "whole" and not numbers.whole and numbers.size:
            raise BadValue("queries", "reals", "integers by type where grid='whole'; leave grid out for reals")
        return numbers

    def __repr__(self) -> str:
        options = ", monotone=True" if self.monotone else ""
        spent = f"{self.epsilon / self.limit:.6g} each" if self.refresh else f"{self.epsilon:.6g}"
        return (
            f"{type(self).__name__}(threshold={shown(self.threshold)}, limit={self.limit}, "
            f"sensitivity={shown(self.sensitivity)}, epsilon={spent}{options})"
        )


@dataclass(frozen=True, init=False, repr=False)
class AboveThreshold(Sparse):
    """Find the first query that lies above a threshold: a sparse vector that halts at its first crossing.

    Args:
        threshold: the public threshold.
        sensitivity: how far one unit can move a score: a number, or a `Sensitivity`.
        epsilon: the privacy loss of one release, above 0.
        monotone: whether one unit moves all scores in the same direction, which costs less.
        share: the part of epsilon for the noise of the threshold.
        grid: "whole" for whole-number noise, "fine" for a grid far below the noise.

    Raises:
        BadParameter: if a number is out of range.

    Example:
        >>> mechanism = privet.AboveThreshold(threshold=500, sensitivity=1, epsilon=1)
        >>> mechanism.event.pure()
        Fraction(1, 1)

    Guarantee: (s/b1 + 2 s/b2)-DP for a sensitivity s, threshold noise of scale b1 and query noise of scale b2, or
    (s/b1 + s/b2) where monotone; the gap included.
    Cites: [DR14, Alg. 1], [LSL17, standard sparse vector].
    """

    def __init__(
        self,
        *,
        threshold: Number,
        sensitivity: Number | Sensitivity,
        epsilon: Number,
        monotone: bool = False,
        share: Number | None = None,
        grid: Grid = "fine",
    ) -> None:
        super().__init__(
            threshold=threshold,
            limit=1,
            sensitivity=sensitivity,
            epsilon=epsilon,
            monotone=monotone,
            share=share,
            grid=grid,
        )

    @classmethod
    def lecture(cls, *, threshold: Number, sensitivity: Number | Sensitivity, epsilon: Number) -> AboveThreshold:  # type: ignore[override]
        """Return the textbook's parameters: noises of scale 2 / epsilon and 4 / epsilon, an even split.

        Cites: [DR14, Alg. 1].
        """
        return cls(threshold=threshold, sensitivity=sensitivity, epsilon=epsilon, share=Fraction(1, 2))
