"""Geometric, discrete Laplace and discrete Gaussian draws."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .source import SYSTEM, WORD_BITS, LazyUniform, Source, Words, bits, integers_of

# The one primitive: E = -ln U for whole arrays in float64, with a proven bound on the error.
#
# Two questions are answered here, floor(scale * E) and "is E >= x?", each together with the lanes that float64 cannot
# decide; those go to `lazy`, which can. Nothing here may decide a lane that lies inside the band.
#
# The proof. Let eps = 2**-53, so that a correctly rounded operation has a relative error of at most eps.
#
# * A word gives an integer W below 2**63 (its top bit is left for a sign). U lies in [W, W + 1] / 2**63, and where
#   in there is for later words to say.
# * u = fl(W) / 2**63, where only fl rounds, so |u - U| <= eps u + 2**-63. Lanes with u < 2**-20 are never decided
#   here. In the others, |ln u - ln U| <= r (1 + r) with r = eps + 2**-63 / u <= eps + 2**-43. It is an absolute
#   error: near U = 1, E has no correct digit at all.
# * -ln u <= 20 ln 2 < 13.8630, and the computed logarithm is off by at most LOG_ACCURACY eps relative to that.
#   Good libraries reach 1 or 2, but neither NumPy nor C (whose logarithm serves single draws) promises anything,
#   so 8 is assumed, and tested.
# * Rounding the scale and the product adds 2 eps relative.
#
# Together |scale * E - computed| <= scale * BAND with
#
#     BAND = 2**-43 + eps + 13.87 (LOG_ACCURACY + 2) eps,
#
# where 13.87 in place of 13.8630 pays for the terms of second order (below 2**-80) and for the rounding of scale *
# BAND itself. So a computed value further than that from every integer has the floor of the true value. A scale below
# 2**-60 is replaced by 2**-60: for U >= 2**-20 the floor is 0 either way.
#
# For "is E >= x?" the caller adds the error of its own x. Once x exceeds 14 no lane with U >= 2**-20 reaches it, so
# an x that large needs no accuracy beyond being computed as more than 14.


Floats = NDArray[np.float64]
Lanes = NDArray[np.intp]
Log = Callable[..., Floats]

UNIFORM_BITS = 63
MASK = 2**UNIFORM_BITS - 1
ULP = 2.0**-UNIFORM_BITS
LOG_ACCURACY = 8
LEAST_UNIFORM = 2.0**-20
LARGEST_EXPONENTIAL = 13.87
BAND = 2.0**-43 + 2.0**-53 + LARGEST_EXPONENTIAL * (LOG_ACCURACY + 2) * 2.0**-53
BLOCK = 2**13
"""Lanes computed at a time, so that a block's arrays stay in the cache and come from memory already mapped."""

_MASK_WORD = np.uint64(MASK)
_SMALLEST_FACTOR = Fraction(1, 2**60)


def factor_of(scale: Fraction) -> float:
    """Return the double that stands for a scale of at most 2**20 in `floors`."""
    return float(max(scale, _SMALLEST_FACTOR))


def logs(words: Words, *, log: Log = np.log) -> Floats:
    """Return ln U for each word, computed; NaN, which decides nothing, where U is too small for the band."""
    uniform = np.empty(words.shape)
    np.copyto(uniform, np.bitwise_and(words, _MASK_WORD).view(np.int64), casting="unsafe")
    uniform *= ULP
    if uniform.size and uniform.min() < LEAST_UNIFORM:
        uniform[uniform < LEAST_UNIFORM] = math.nan
    return log(uniform, out=uniform)


def floors(words: Words, factor: float, *, log: Log = np.log) -> tuple[Floats, Lanes]:
    """Return floor(factor * E) for each word, and the lanes where that is not known."""
    product = logs(words, log=log)
    product *= -factor
    whole = np.floor(product)
    distance = np.rint(product)
    np.subtract(product, distance, out=distance)
    np.abs(distance, out=distance)
    decided = distance > factor * BAND
    return whole, undecided(decided)


def reach(words: Words, x: Floats | float, slack: float, *, log: Log = np.log) -> tuple[NDArray[np.bool_], Lanes]:
    """Return whether E >= x for each word, and the lanes where that is not known.

    Each x must be within `slack` of the number it stands for, or both must exceed 16.
    """
    excess = logs(words, log=log)
    np.negative(excess, out=excess)
    excess -= x
    answer = excess > 0.0
    np.abs(excess, out=excess)
    return answer, undecided(excess > BAND + slack)


def undecided(decided: NDArray[np.bool_]) -> Lanes:
    """Return the lanes that are not decided."""
    return _NONE if decided.all() else np.flatnonzero(~decided)


_NONE: Lanes = np.empty(0, dtype=np.intp)


# Geometric and discrete Laplace draws: floor(scale * E), and the same with a sign.
#
# A sampler is prepared once for its scale and then drawn from. It decides from its scale alone how it draws and what
# type comes back; the number of its steps never depends on the value that is drawn, except that a draw within the
# error band of an integer (about one in a million) costs some extra microseconds.


Integers = NDArray[Any]
"""int64, or Python integers where int64 might overflow."""

WIDEST_INT64_SCALE = 2**52
"""Above this scale draws are Python integers. Below, passing int64 has a probability under exp(-2**11)."""

_DIRECT_BITS = 20
_TOP_BIT = 1 << (WORD_BITS - 1)
_NEGATIVE_ZERO = np.int64(-(2**63))


class Geometric:
    """The distribution with P[k] proportional to exp(-k / scale) on k = 0, 1, 2, ..., and its signed form.

    Up to a scale of 2**20, a draw is floor(scale * E). Above, it is G = 2**s H + L with H of scale
    scale / 2**s, between 2**19 and 2**20, and L independent of H with P[L] proportional to exp(-L / scale) below
    2**s: L is uniform, accepted with probability exp(-L / scale), which exceeds 1 - 2**-19. The rejected
    attempts say nothing about the accepted L.

    Guarantee: draws are independent and have exactly this distribution, given uniform words.
    Cites: [CKS20, Alg. 2] for splitting into a high and a low part.
    """

    __slots__ = ("_band", "_factor", "_high", "_quick", "_shift", "_tail_bits", "scale", "wide")

    def __init__(self, scale: Fraction) -> None:
        self.scale = scale
        self.wide = scale > WIDEST_INT64_SCALE
        self._shift = max(0, (math.ceil(scale) - 1).bit_length() - _DIRECT_BITS)
        self._high = scale / 2**self._shift
        self._factor = factor_of(self._high)
        self._band = self._factor * BAND
        # The bits of a word that the low part leaves decide whether it is accepted.
        self._tail_bits = WORD_BITS if self.wide else WORD_BITS - self._shift
        self._quick = 2**self._tail_bits - 2 ** (self._tail_bits - _DIRECT_BITS + 1)

    def draw(self, source: Source = SYSTEM) -> int:
        """Return one draw."""
        return self._magnitude(source.word() & MASK, source)

    def draw_signed(self, source: Source = SYSTEM) -> int:
        """Return one draw with a fair sign, where zero is counted once: a discrete Laplace variate."""
        while True:
            word = source.word()
            value = self._magnitude(word & MASK, source)
            if word < _TOP_BIT:
                return value
            if value:
                return -value

    def fill(self, count: int, source: Source = SYSTEM) -> Integers:
        """Return this many independent draws."""
        if self.wide:
            return integers_of(self.draw(source) for _ in range(count))
        values = np.empty(count, dtype=np.int64)
        for start in range(0, count, BLOCK):
            block = values[start : start + BLOCK]
            words = source.words(block.size)
            np.copyto(block, self._floors(words, source), casting="unsafe")
            self._append_low(block, source)
        return values

    def fill_signed(self, count: int, source: Source = SYSTEM) -> Integers:
        """Return this many independent draws with a fair sign, where zero is counted once."""
        if self.wide:
            return integers_of(self.draw_signed(source) for _ in range(count))
        values = np.empty(count, dtype=np.int64)
        rejected = []
        for start in range(0, count, BLOCK):
            again = self.sign_block(values[start : start + BLOCK], source)
            if again.size:
                rejected.append(again + start)
        if rejected:
            lanes = np.concatenate(rejected)
            values[lanes] = self.fill_signed(lanes.size, source)
        return values

    def sign_block(self, block: NDArray[np.int64], source: Source) -> Lanes:
        """Fill a block with signed draws and return the lanes of negative zeros, which must be drawn again."""
        words = source.words(block.size)
        whole = self._floors(words, source)
        if not self._shift:
            np.copysign(whole, words.view(np.float64), out=whole)
            np.copyto(block, whole, casting="unsafe")
            return np.flatnonzero(whole.view(np.int64) == _NEGATIVE_ZERO)
        np.copyto(block, whole, casting="unsafe")
        self._append_low(block, source)
        sign = words.view(np.int64) >> 63
        zeros = np.flatnonzero(block == 0)
        # Two's complement: with a sign of -1, (value ^ -1) + 1 is the negative value.
        np.bitwise_xor(block, sign, out=block)
        np.subtract(block, sign, out=block)
        return zeros[sign[zeros] < 0]

    def _floors(self, words: Words, source: Source) -> NDArray[np.float64]:
        whole, open_lanes = floors(words, self._factor)
        for lane in open_lanes:
            whole[lane] = LazyUniform(int(words[lane]) & MASK, UNIFORM_BITS, source).floor(self._high)
        return whole

    def _magnitude(self, numerator: int, source: Source) -> int:
        uniform = numerator * ULP
        if uniform >= LEAST_UNIFORM:
            product = -self._factor * math.log(uniform)
            high = int(product)
            fraction = product - high
            if fraction <= self._band or 1.0 - fraction <= self._band:
                high = LazyUniform(numerator, UNIFORM_BITS, source).floor(self._high)
        else:
            high = LazyUniform(numerator, UNIFORM_BITS, source).floor(self._high)
        return high << self._shift | self._low(source) if self._shift else high

    def _append_low(self, block: NDArray[np.int64], source: Source) -> None:
        """Shift the high parts up and put an independent low part under each."""
        if not self._shift:
            return
        words = source.words(block.size)
        block <<= self._shift
        block |= (words >> np.uint64(self._tail_bits)).view(np.int64)
        tail_mask = 2**self._tail_bits - 1
        for lane in np.flatnonzero((words & np.uint64(tail_mask)) >= np.uint64(self._quick)):
            word = int(words[lane])
            low = word >> self._tail_bits
            if not self._accepts(low, word & tail_mask, source):
                block[lane] += self._low(source) - low

    def _low(self, source: Source) -> int:
        while True:
            if self.wide:
                low, tail = bits(source, self._shift), source.word()
            else:
                word = source.word()
                low, tail = word >> self._tail_bits, word & (2**self._tail_bits - 1)
            if self._accepts(low, tail, source):
                return low

    def _accepts(self, low: int, tail: int, source: Source) -> bool:
        # exp(-low / scale) > 1 - 2**-19, so only a tail that close to 1 needs a second look.
        return tail < self._quick or LazyUniform(tail, self._tail_bits, source).reaches(low / self.scale)


# Discrete Gaussian draws by rejection from discrete Laplace draws.
#
# How often a proposal is rejected says nothing about the draw that is accepted.


SLACK = 2.0**-44
"""How far the computed exponent may be from the true one, where it is at most 16; proven in `Gaussian`."""

_SMALLEST_RATIO = Fraction(1, 2**100)


class GaussianSampler:
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
