"""Means by Duchi's mechanism, the piecewise mechanism, and the hybrid of both by a public coin."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import ClassVar

import numpy as np

from privet import noise
from privet.core.given import set_fields
from privet.core.numbers import Number, whole

from .mean_oracle import Floats, MeanOracle, Outcomes
from .randomizer import Integers, Row


@dataclass(frozen=True, repr=False, eq=False, init=False)
class DuchiMean(MeanOracle):
    """Round the number at random to a bound, without bias, and report which by randomized response.

    Best of all for epsilon below about 0.6.

    Args:
        low: the lower bound.
        high: the upper bound.
        epsilon: the privacy loss of one report, at least 0.01.
        survey: a name; reports to a survey of another name are not accepted.

    Example:
        >>> round(local.DuchiMean(-1, 1, epsilon=1).variance(0, 1), 4)
        4.6827

    Guarantee: epsilon-DP for each person by themselves: randomized response on a bit, whose rounding is exact.
    Cites: [DJW18, one-dimensional means].
    """

    kind: ClassVar[str] = "Duchi's mean"

    def __init__(self, low: Number, high: Number, *, epsilon: Number, survey: str = "") -> None:
        super().__init__(low, high, epsilon=epsilon, survey=survey)

    @property
    def steps(self) -> int:
        return 1

    @property
    def symbols(self) -> int:
        return 2

    @property
    def truth(self) -> Fraction:
        """The probability of reporting the bound itself."""
        return self.growth / (self.growth + 1)

    @property
    def second_moment(self) -> tuple[Fraction, Fraction]:
        return ((self.growth + 1) / (self.growth - 1)) ** 2, Fraction(0)

    @property
    def _decoded(self) -> Floats:
        reach = float((self.growth + 1) / (self.growth - 1))
        return np.array([-reach, reach])

    @property
    def _outcome_odds(self) -> Outcomes:
        truth, lie = self.truth, 1 - self.truth
        return ((truth, lie, lie), (lie, truth, lie))

    def _draw(self, positions: Integers) -> Integers:
        return np.where(noise.bernoulli(self.truth, len(positions)), positions, 1 - positions)

    def _row(self, position: int) -> Row:
        return tuple(self.truth if symbol == position else 1 - self.truth for symbol in range(2))


@dataclass(frozen=True)
class WindowLaw:
    """Points 0, ..., points - 1; those in the window of `width` points from a start on are `growth` times as likely.

    Guarantee: epsilon-DP in the start for growth at most e^epsilon: each point has one of two probabilities, and as
    many points have the larger one for every start.
    Cites: [WXYZ19, piecewise mechanism], [LWLL20, square wave].
    """

    points: int
    width: int
    growth: Fraction

    @property
    def starts(self) -> int:
        """The number of places of the window."""
        return self.points - self.width + 1

    @property
    def far(self) -> Fraction:
        """The probability of each point outside the window."""
        return 1 / (self.width * self.growth + self.points - self.width)

    @property
    def near(self) -> Fraction:
        """The probability of each point in the window."""
        return self.growth * self.far

    def draw(self, starts: Integers) -> Integers:
        """Return a point for each start."""
        size = len(starts)
        inside = starts + noise.uniform_below(self.width, size)
        other = noise.uniform_below(self.points - self.width, size)
        outside = other + np.where(other >= starts, self.width, 0)
        return np.where(noise.bernoulli(self.width * self.near, size), inside, outside)

    def row(self, start: int) -> Row:
        """Return the probability of each point."""
        return tuple(self.near if start <= point < start + self.width else self.far for point in range(self.points))

    @property
    def outcome_odds(self) -> tuple[tuple[Fraction, Fraction, Fraction], ...]:
        """For points in the first window alone, the last alone, both, or none: the odds of each, and the least odds.

        Guarantee: the first and the last window share the fewest points of all pairs, so their pair dominates.
        """
        alone = min(self.width, self.points - self.width)
        shared, rest = self.width - alone, self.points - self.width - alone
        near, far = self.near, self.far
        rows = (
            (alone * near, alone * far, alone * far),
            (alone * far, alone * near, alone * far),
            (shared * near, shared * near, shared * near),
            (rest * far, rest * far, rest * far),
        )
        return tuple(row for row in rows if row[0])


POINTS = 4096
_FEWEST_POINTS = 4


@dataclass(frozen=True, repr=False, eq=False, init=False)
class PiecewiseMean(MeanOracle):
    """Report a point of a line that is longer than the bounds, more likely one near the number.

    Its error is less for numbers in the middle of the bounds. The line has `points` points, so that all odds are
    exact fractions; the window of likely points is the one with the least variance at the bounds.

    Args:
        low: the lower bound.
        high: the upper bound.
        epsilon: the privacy loss of one report, at least 0.01.
        points: the number of points, at least 4.
        survey: a name; reports to a survey of another name are not accepted.

    Example:
        >>> round(local.PiecewiseMean(-1, 1, epsilon=4).variance(1, 1), 3)
        0.241

    Guarantee: epsilon-DP for each person by themselves, as WindowLaw.
    Cites: [WXYZ19, piecewise mechanism].
    """

    kind: ClassVar[str] = "piecewise mean"
    points: int

    def __init__(self, low: Number, high: Number, *, epsilon: Number, points: int = POINTS, survey: str = "") -> None:
        super().__init__(low, high, epsilon=epsilon, survey=survey)
        set_fields(self, points=whole(points, "points", least=_FEWEST_POINTS, most=2**16))

    @cached_property
    def law(self) -> WindowLaw:
        """The law of a report."""
        return best_window(self.points, self.growth)

    @property
    def steps(self) -> int:
        return self.law.starts - 1

    @property
    def symbols(self) -> int:
        return self.points

    @property
    def second_moment(self) -> tuple[Fraction, Fraction]:
        return window_moment(self.law)

    @property
    def _decoded(self) -> Floats:
        return window_values(self.law)

    @property
    def _outcome_odds(self) -> Outcomes:
        return self.law.outcome_odds

    def _draw(self, positions: Integers) -> Integers:
        return self.law.draw(positions)

    def _row(self, position: int) -> Row:
        return self.law.row(position)


def best_window(points: int, growth: Fraction) -> WindowLaw:
    """Return the window with the least variance at the bounds, among those near the continuous mechanism's share."""
    near = round(points / (float(growth) ** 0.5 + 1))
    widths = {min(max(near + less, 1), points // 2) for less in range(-2, 3)}

    def spread(law: WindowLaw) -> Fraction:
        flat, bent = window_moment(law)
        return flat + bent

    return min((WindowLaw(points, width, growth) for width in sorted(widths)), key=spread)


def _slope(law: WindowLaw) -> Fraction:
    """Return by how much a window's total odds exceed those of as many points elsewhere."""
    return (law.near - law.far) * law.width


def window_values(law: WindowLaw) -> Floats:
    """Return the value of each point: unbiased, as the mean of a window's points is linear in its start."""
    scale = 1 / (_slope(law) * (law.starts - 1))
    places = np.arange(law.points, dtype=np.float64)
    values: Floats = float(scale) * (2 * places - (law.points - 1))
    return values


def window_moment(law: WindowLaw) -> tuple[Fraction, Fraction]:
    """Return A and B of a report's mean square A + B t^2.

    The squares of 2 j - (points - 1) sum to points (points^2 - 1) / 3 over all points j, and over a window at t to
    width ((points - width)^2 t^2 + (width^2 - 1) / 3).
    """
    scale = 1 / (_slope(law) * (law.starts - 1))
    everywhere = law.far * law.points * (law.points**2 - 1) / 3
    inside = _slope(law) * Fraction(law.width**2 - 1, 3)
    return scale**2 * (everywhere + inside), 1 / _slope(law)


@dataclass(frozen=True, repr=False, eq=False, init=False)
class HybridMean(PiecewiseMean):
    """Report by the piecewise mechanism with the probability that makes the largest variance least, else by Duchi's.

    The least variance in the worst case at every epsilon; below about 0.6 it is Duchi's mechanism alone.

    Args:
        low: the lower bound.
        high: the upper bound.
        epsilon: the privacy loss of one report, at least 0.01.
        points: the number of points of the piecewise mechanism, at least 4.
        survey: a name; reports to a survey of another name are not accepted.

    Example:
        >>> round(local.HybridMean(-1, 1, epsilon=1).variance(0, 1), 3)
        4.289

    Guarantee: epsilon-DP for each person by themselves: the coin does not depend on the answer, and either mechanism
    is epsilon-DP.
    Cites: [WXYZ19, hybrid mechanism].
    """

    kind: ClassVar[str] = "hybrid mean"

    def __init__(self, low: Number, high: Number, *, epsilon: Number, points: int = POINTS, survey: str = "") -> None:
        super().__init__(low, high, epsilon=epsilon, points=points, survey=survey)

    @cached_property
    def share(self) -> Fraction:
        """The probability of the piecewise mechanism."""
        flat, bent = super().second_moment
        level = self._duchi.second_moment[0]
        # with 1 / bent the variance is the same for every number: less than Duchi's largest, or that alone is better
        share = 1 / bent
        return share if share * flat + (1 - share) * level < level else Fraction(0)

    @cached_property
    def _duchi(self) -> DuchiMean:
        made = object.__new__(DuchiMean)
        for name in ("low", "high", "growth", "survey"):
            object.__setattr__(made, name, getattr(self, name))
        return made

    @property
    def steps(self) -> int:
        return super().steps if self.share else 1

    @property
    def symbols(self) -> int:
        return self.points + 2 if self.share else 2

    @property
    def second_moment(self) -> tuple[Fraction, Fraction]:
        flat, bent = super().second_moment
        share = self.share
        return share * flat + (1 - share) * self._duchi.second_moment[0], share * bent

    @property
    def _decoded(self) -> Floats:
        bits = self._duchi._decoded
        return np.concatenate((super()._decoded, bits)) if self.share else bits

    @property
    def _outcome_odds(self) -> Outcomes:
        share = self.share
        parts = ((share, super()._outcome_odds), (1 - share, self._duchi._outcome_odds))
        return tuple(
            (part * first, part * second, part * least)
            for part, outcomes in parts
            for first, second, least in outcomes
            if part
        )

    def _draw(self, positions: Integers) -> Integers:
        if not self.share:
            return self._duchi._draw(positions)
        # a position between the bounds becomes one of them, without bias, as positions themselves were drawn
        bits = (noise.uniform_below(self.steps, len(positions)) < positions).astype(np.int64)
        flipped = self.points + self._duchi._draw(bits)
        return np.where(noise.bernoulli(self.share, len(positions)), super()._draw(positions), flipped)

    def _row(self, position: int) -> Row:
        if not self.share:
            return self._duchi._row(position)
        up = Fraction(position, self.steps)
        lower, upper = self._duchi._row(0), self._duchi._row(1)
        bits = tuple((1 - up) * low + up * other for low, other in zip(lower, upper, strict=True))
        points = tuple(self.share * odd for odd in super()._row(position))
        return points + tuple((1 - self.share) * odd for odd in bits)
