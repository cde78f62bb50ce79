"""Discrete Gaussian draws by rejection from discrete Laplace draws.

How often a proposal is rejected says nothing about the draw that is accepted.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from .exponential import BAND, BLOCK, LEAST_UNIFORM, MASK, ULP, UNIFORM_BITS, reach
from .laplace import Geometric, Integers
from .lazy import LazyUniform
from .shape import integers_of
from .source import SYSTEM, Source

SLACK = 2.0**-44
"""How far the computed exponent may be from the true one, where it is at most 16; proven in `Gaussian`."""

_SMALLEST_RATIO = Fraction(1, 2**100)


class Gaussian:
    """The distribution on the integers with P[k] proportional to exp(-k**2 / (2 sigma**2)).

    A discrete Laplace variate y of scale t is accepted with probability exp(-x),
    x = (|y| - sigma**2 / t)**2 / (2 sigma**2). The law is the same for every t; here t is the positive multiple of
    1/2 nearest to sigma, which accepts most.
    With r = |y| / t and q = (sigma / t)**2 that is x = (r - q)**2 / (2 q), whose computed value is within
    SLACK = 512 eps of x, or both exceed 16 (eps = 2**-53):

    * r is off by at most 3.01 eps r, q by eps q, and d = r - q by 3.01 eps r + eps q + eps |d|; then
      x by (|d| / q) times that, plus 4 eps x. For sigma >= 1/4, 1/4 <= q <= 9/4. Where x <= 17,
      |d| <= sqrt(34 q), |d| / q <= sqrt(34 / q) and r <= q + |d|, which makes at most
      (4.01 * 34 + 4.01 sqrt(34 q)) eps + 68 eps < 240 eps.
    * For sigma < 1/4, t = 1/2, r = 2 |y| is exact and q < 1/4. y = 0 gives x = q / 2. Otherwise d > 0, and the
      error is at most eps d (q + d) / q + 4 eps x = eps (d + 6 x), with d <= sqrt(34 q).
    * q below 2**-100 is replaced by 2**-100: y = 0 gives x below 2**-100 either way, y != 0 more than 16.

    Guarantee: draws are independent and have exactly this distribution, given uniform words.
    Cites: [CKS20, Alg. 3], which takes t = floor(sigma) + 1.
    """

    __slots__ = ("_halves", "_laplace", "_ratio", "_reciprocal", "sigma_squared", "wide")

    def __init__(self, sigma_squared: Fraction) -> None:
        self.sigma_squared = sigma_squared
        self._halves = max(1, (math.isqrt(math.floor(16 * sigma_squared)) + 1) // 2)
        self._laplace = Geometric(Fraction(self._halves, 2))
        self.wide = self._laplace.wide
        self._ratio = float(max(4 * sigma_squared / self._halves**2, _SMALLEST_RATIO))
        self._reciprocal = 0.5 / self._ratio

    def draw(self, source: Source = SYSTEM) -> int:
        """Return one draw."""
        while True:
            value = self._laplace.draw_signed(source)
            if self._accepts(value, source):
                return value

    def fill(self, count: int, source: Source = SYSTEM) -> Integers:
        """Return this many independent draws."""
        if self.wide:
            return integers_of(self.draw(source) for _ in range(count))
        values = np.empty(count, dtype=np.int64)
        filled = 0
        while filled < count:
            accepted = self._attempt(min(BLOCK, 2 * (count - filled) + 8), source)[: count - filled]
            values[filled : filled + accepted.size] = accepted
            filled += accepted.size
        return values

    def _attempt(self, count: int, source: Source) -> NDArray[np.int64]:
        """Return those of this many proposals that are accepted, in order."""
        proposals = np.empty(count, dtype=np.int64)
        negative_zeros = self._laplace.sign_block(proposals, source)
        if negative_zeros.size:
            proposals = np.delete(proposals, negative_zeros)
        words = source.words(proposals.size)
        accepted, open_lanes = reach(words, self.exponents(proposals), SLACK)
        for lane in open_lanes:
            uniform = LazyUniform(int(words[lane]) & MASK, UNIFORM_BITS, source)
            accepted[lane] = uniform.reaches(self.exponent(int(proposals[lane])))
        return np.compress(accepted, proposals)

    def exponents(self, values: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the x of each proposal, computed."""
        computed: NDArray[np.float64] = values / (self._halves / 2)
        np.abs(computed, out=computed)
        computed -= self._ratio
        np.square(computed, out=computed)
        computed *= self._reciprocal
        return computed

    def exponent(self, value: int) -> Fraction:
        """Return the x of a proposal, exactly."""
        return (abs(value) - self.sigma_squared / self._laplace.scale) ** 2 / (2 * self.sigma_squared)

    def _accepts(self, value: int, source: Source) -> bool:
        numerator = source.word() & MASK
        uniform = numerator * ULP
        if uniform >= LEAST_UNIFORM:
            distance = 2 * abs(value) / self._halves - self._ratio
            excess = -math.log(uniform) - distance * distance * self._reciprocal
            if abs(excess) > BAND + SLACK:
                return excess > 0.0
        return LazyUniform(numerator, UNIFORM_BITS, source).reaches(self.exponent(value))
