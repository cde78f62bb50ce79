"""The piecewise mechanism for a mean, on a finite line of points."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import ClassVar

import numpy as np

from privet.core.given import set_fields
from privet.core.numbers import Number, whole

from .mean_oracle import Floats, MeanOracle, Outcomes
from .randomizer import Integers, Row
from .window_law import WindowLaw

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
    """Return what each point stands for: unbiased, as the mean of a window's points is linear in its start."""
    scale = 1 / (_slope(law) * (law.starts - 1))
    places = np.arange(law.points, dtype=np.float64)
    found: Floats = float(scale) * (2 * places - (law.points - 1))
    return found


def window_moment(law: WindowLaw) -> tuple[Fraction, Fraction]:
    """Return A and B of a report's mean square A + B t^2.

    The squares of 2 j - (points - 1) sum to points (points^2 - 1) / 3 over all points j, and over a window at t to
    width ((points - width)^2 t^2 + (width^2 - 1) / 3).
    """
    scale = 1 / (_slope(law) * (law.starts - 1))
    everywhere = law.far * law.points * (law.points**2 - 1) / 3
    inside = _slope(law) * Fraction(law.width**2 - 1, 3)
    return scale**2 * (everywhere + inside), 1 / _slope(law)
