"""Geometric, discrete Laplace and discrete Gaussian draws."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .logs import BAND, BLOCK, LEAST_UNIFORM, MASK, ULP, UNIFORM_BITS, Lanes, factor_of, floors, reach
from .sizes import integers_of
from .source import SYSTEM, WORD_BITS, LazyUniform, Source, Words, bits

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
