"""Points of the square lattice with probability proportional to exp(-rate |v|), |v| the Euclidean length, exactly.

A point (a, b) is drawn from two discrete Laplace laws of rate r = rate / sqrt(2), rounded down, and kept with
probability exp(-x), x = rate sqrt(a^2 + b^2) - r (|a| + |b|), which is not negative as |a| + |b| <= sqrt(2) |v|. Roots
are irrational, so x is compared with E = -ln U in floats where they lie further apart than the error, and otherwise
between integer roots with as many bits as that takes.

The error in floats, with eps = 2^-53: a^2 + b^2 is off by 2 eps of itself, its root by 2 eps, and times the rate by
4 eps; r (|a| + |b|) by 2 eps; so x is off by less than 8 eps of the sum of both. Points where that sum exceeds 2^10
are left to the slow path.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from privet.core.numbers import sqrt_up

from .samplers import MASK, UNIFORM_BITS, Geometric, reach
from .source import SYSTEM, WORD_BITS, LazyUniform, Source

Points = NDArray[np.int64]

_FAR = 2.0**10
_SLACK = 8 * _FAR * 2.0**-53


class PlanarSampler:
    """Draws points of the lattice.

    Guarantee: points are independent and have exactly this distribution, given uniform words.
    Cites: [ABCP13] for the law, [Dev86, Sec. II.3] for rejection.
    """

    __slots__ = ("_sides", "_slow", "rate")

    def __init__(self, rate: Fraction) -> None:
        self.rate = rate
        self._slow = rate / sqrt_up(Fraction(2))
        self._sides = Geometric(1 / self._slow)

    def fill(self, count: int, source: Source = SYSTEM) -> Points:
        """Return this many points, one in each row."""
        found = np.empty((count, 2), dtype=np.int64)
        left = np.arange(count)
        while left.size:
            drawn = self._sides.fill_signed(2 * left.size, source).reshape(-1, 2)
            kept = self.keeps(drawn, source)
            found[left[kept]] = drawn[kept]
            left = left[~kept]
        return found

    def keeps(self, points: Points, source: Source) -> NDArray[np.bool_]:
        """Return which points are kept, each by a toss of its own."""
        words = source.words(len(points))
        sides = np.abs(points.astype(np.float64))
        away, along = float(self.rate) * np.sqrt((sides**2).sum(axis=1)), float(self._slow) * sides.sum(axis=1)
        x = np.where(away + along < _FAR, away - along, np.nan)  # which decides nothing
        kept, open_lanes = reach(words, x, _SLACK)
        for lane in open_lanes.tolist():
            uniform = LazyUniform(int(words[lane]) & MASK, UNIFORM_BITS, source)
            kept[lane] = self._reaches(uniform, *(abs(side) for side in points[lane].tolist()))
        return kept

    def _reaches(self, uniform: LazyUniform, a: int, b: int) -> bool:
        """Return whether E >= x, learning as many bits of U and of the root as that takes."""
        square, digits = a * a + b * b, 0
        while True:
            digits += WORD_BITS
            root = math.isqrt(square << 2 * digits)
            exact = root * root == square << 2 * digits
            low, high = (self.rate * Fraction(one, 1 << digits) - self._slow * (a + b) for one in (root, root + 1))
            least, most = uniform.exponential()
            if Fraction(least) >= (low if exact else high):
                return True
            if most is not None and Fraction(most) < low:
                return False
            uniform.refine()
