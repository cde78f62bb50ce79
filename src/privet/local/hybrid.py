"""The hybrid mechanism for a mean: piecewise or Duchi's, by a coin that everyone may see."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import ClassVar

import numpy as np

from privet import noise
from privet.core.numbers import Number

from .duchi import DuchiMean
from .mean_oracle import Floats, Outcomes
from .piecewise import POINTS, PiecewiseMean
from .randomizer import Integers, Row


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
        bits = tuple((1 - up) * one + up * other for one, other in zip(lower, upper, strict=True))
        points = tuple(self.share * odd for odd in super()._row(position))
        return points + tuple((1 - self.share) * odd for odd in bits)
