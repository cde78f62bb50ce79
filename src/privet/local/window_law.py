"""A point of a finite line, likely within a window that the answer places, unlikely elsewhere, with exact odds."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from privet import noise

Integers = NDArray[np.int64]
Row = tuple[Fraction, ...]


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
