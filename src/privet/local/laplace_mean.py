"""Laplace noise on a finite grid for a mean, with exact rational odds."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import ClassVar

import numpy as np

from privet import noise
from privet.core.given import set_fields
from privet.core.numbers import Number, exp_up

from .mean_oracle import Floats, MeanOracle, Outcomes
from .randomizer import Integers, Row, read_epsilon

_FINE = 8
_TAIL = 45
_BITS = 32


@dataclass(frozen=True, repr=False, eq=False, init=False)
class LaplaceMean(MeanOracle):
    """Report the number with two-sided geometric noise, on a grid of about 8 epsilon steps of the bounds.

    Simple, and never the best: the hybrid mechanism errs less at every epsilon. Noise beyond 45 scales is cut, which
    happens to one report in 10^19.

    Args:
        low: the lower bound.
        high: the upper bound.
        epsilon: the privacy loss of one report, at least 0.01.
        survey: a name; reports to a survey of another name are not accepted.

    Example:
        >>> round(local.LaplaceMean(-1, 1, epsilon=1).variance(0, 1), 2)
        7.99

    Guarantee: epsilon-DP for each person by themselves: noise k steps away has odds proportional to ratio^|k| on all
    integers, and ratio^steps is at least e^-epsilon; cutting the result is post-processing.
    Cites: [DMNS06], [GRS12, the truncated geometric mechanism].
    """

    kind: ClassVar[str] = "Laplace mean"
    ratio: Fraction
    grid_steps: int
    reach: int

    def __init__(self, low: Number, high: Number, *, epsilon: Number, survey: str = "") -> None:
        super().__init__(low, high, epsilon=epsilon, survey=survey)
        asked = read_epsilon(epsilon)
        steps = math.ceil(_FINE * asked)
        # rounded up, so that a step costs no more than epsilon / steps
        ratio = Fraction(math.ceil(exp_up(-asked / steps) * 2**_BITS), 2**_BITS)
        set_fields(self, ratio=ratio, grid_steps=steps, reach=math.ceil(_TAIL * steps / asked))

    @property
    def steps(self) -> int:
        return self.grid_steps

    @property
    def symbols(self) -> int:
        return self.steps + 2 * self.reach + 1

    @property
    def second_moment(self) -> tuple[Fraction, Fraction]:
        return 2 * self.ratio / (1 - self.ratio) ** 2 * Fraction(2, self.steps) ** 2, Fraction(1)

    @property
    def _decoded(self) -> Floats:
        return 2.0 * (np.arange(self.symbols) - self.reach) / self.steps - 1

    @cached_property
    def _outcome_odds(self) -> Outcomes:
        """Reports at or below the lowest position, at each one between, and at or above the highest."""
        a, steps = self.ratio, self.steps
        powers = [a**k for k in range(steps + 1)]
        ends = [(1 / (1 + a), powers[steps] / (1 + a))]
        inner = [((1 - a) / (1 + a) * powers[k], (1 - a) / (1 + a) * powers[steps - k]) for k in range(1, steps)]
        pairs = [*ends, *inner, (ends[0][1], ends[0][0])]
        return tuple((first, second, min(first, second)) for first, second in pairs)

    @cached_property
    def _coins(self) -> tuple[tuple[Fraction, ...], Fraction]:
        """The odds of each binary digit of a geometric number, and those of one with more digits than are drawn.

        Digits of a geometric number are independent, the one that counts 2^b with odds a^(2^b) / (1 + a^(2^b)).
        """
        digits, power = [], self.ratio
        for _ in range((self.reach + self.steps).bit_length()):
            digits.append(power / (1 + power))
            power = power * power
        return tuple(digits), power

    def _draw(self, positions: Integers) -> Integers:
        size = len(positions)
        digits, beyond = self._coins
        far = np.ones(size, dtype=np.int64)
        for place, odds in enumerate(digits):
            far += noise.bernoulli(odds, size).astype(np.int64) << place
        far = np.where(noise.bernoulli(beyond, size), 1 << len(digits), far)
        away = np.where(noise.bernoulli((1 - self.ratio) / (1 + self.ratio), size), 0, far)
        moved = positions + np.where(noise.bernoulli(Fraction(1, 2), size), away, -away)
        return np.clip(moved + self.reach, 0, self.symbols - 1)

    def _row(self, position: int) -> Row:
        a, centre, last = self.ratio, position + self.reach, self.symbols - 1
        inner = [(1 - a) / (1 + a) * a ** abs(symbol - centre) for symbol in range(1, last)]
        return (a**centre / (1 + a), *inner, a ** (last - centre) / (1 + a))
