"""Duchi's mechanism for a mean: one bit a report."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from privet import noise
from privet.core.numbers import Number

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
