"""Draws of integer noise: exact parameters in, exact integers out.

First the samplers: geometric, discrete Laplace, discrete Gaussian, and points of the lattice. Then the public draws:
parameters are read there, once, and samplers are remembered by parameter, which is public. No public function takes a
seed or a source.
"""

from __future__ import annotations

import math
import os
import threading
import weakref
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache
from typing import Any, Generic, TypeVar, overload

import numpy as np
from numpy.typing import NDArray

from privet.core.numbers import Number, nonnegative, positive, probability, sqrt_up, whole

from .coins import Below, Coin, ExponentialCoin, PackedCoin, coin_bytes
from .source import (
    BAND,
    BLOCK,
    LEAST_UNIFORM,
    MASK,
    MOST_DRAWS,
    SYSTEM,
    ULP,
    UNIFORM_BITS,
    WORD_BITS,
    Integers,
    Lanes,
    LazyUniform,
    Sampler,
    Size,
    Source,
    Words,
    bits,
    factor_of,
    floors,
    integers_of,
    reach,
    sample,
)

# Geometric and discrete Laplace draws: floor(scale * E), and the same with a sign.
#
# A sampler is prepared once for its scale and then drawn from. Its scale alone decides its method and the type of its
# results; the number of its steps never depends on the value that is drawn, except that a draw within the
# error band of an integer (about one in a million) costs some extra microseconds.


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
    attempts are independent of the accepted L.

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
# The number of rejected proposals is independent of the accepted draw.


SLACK = 2.0**-44
"""How far the computed exponent may be from the true one, where it is at most 16; proven in `GaussianSampler`."""

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


# Points of the square lattice with probability proportional to exp(-rate |v|), |v| the Euclidean length, exactly.
#
# A point (a, b) is drawn from two discrete Laplace laws of rate r = rate / sqrt(2), rounded down, and kept with
# probability exp(-x), x = rate sqrt(a^2 + b^2) - r (|a| + |b|), which is not negative as |a| + |b| <= sqrt(2) |v|.
# Roots are irrational, so x is compared with E = -ln U in floats where they lie further apart than the error, and
# otherwise between integer roots with as many bits as that takes.
#
# The error in floats, with eps = 2^-53: a^2 + b^2 is off by 2 eps of itself, its root by 2 eps, and times the rate by
# 4 eps; r (|a| + |b|) by 2 eps; so x is off by less than 8 eps of the sum of both. Points where that sum exceeds 2^10
# are left to the slow path.


Points = NDArray[np.int64]

_FAR = 2.0**10
_PLANAR_SLACK = 8 * _FAR * 2.0**-53


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
        points = np.empty((count, 2), dtype=np.int64)
        left = np.arange(count)
        while left.size:
            drawn = self._sides.fill_signed(2 * left.size, source).reshape(-1, 2)
            kept = self.keeps(drawn, source)
            points[left[kept]] = drawn[kept]
            left = left[~kept]
        return points

    def keeps(self, points: Points, source: Source) -> NDArray[np.bool_]:
        """Return which points are kept, each by a separate toss."""
        words = source.words(len(points))
        sides = np.abs(points.astype(np.float64))
        away, along = float(self.rate) * np.sqrt((sides**2).sum(axis=1)), float(self._slow) * sides.sum(axis=1)
        x = np.where(away + along < _FAR, away - along, np.nan)  # which decides nothing
        kept, open_lanes = reach(words, x, _PLANAR_SLACK)
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
            low, high = (self.rate * Fraction(end, 1 << digits) - self._slow * (a + b) for end in (root, root + 1))
            least, most = uniform.exponential()
            if Fraction(least) >= (low if exact else high):
                return True
            if most is not None and Fraction(most) < low:
                return False
            uniform.refine()


# Single draws, handed out of arrays that were drawn before: the time that one takes does not depend on its value.
#
# A single draw takes longer where its integer has more digits, or where its logarithm is close to a boundary. An
# array costs what all its draws cost together, and taking one out costs the same for each. A stock belongs to one
# sampler and to one thread; a draw leaves it when it is used, and a forked child starts with empty stocks.


_One = TypeVar("_One")

STOCK = 64
"""Draws that are made at a time."""

_MANY_BYTES = 2**14
"""From this many bytes of tosses on, a table is worth making."""


class _Shelf(threading.local):
    def __init__(self) -> None:
        self.draws: list[Any] = []


class Stocked(Generic[_One]):
    """A sampler whose single draws come from its own arrays.

    Guarantee: draws are independent and have exactly the sampler's distribution; none is handed out twice, not across
    threads and not across forks.
    """

    __slots__ = ("__weakref__", "_shelf", "fill", "sampler")

    def __init__(self, sampler: Sampler[_One]) -> None:
        self.sampler = sampler
        self._shelf = _Shelf()
        self.fill = sampler.fill
        _EVERY.add(self)

    def draw(self) -> _One:
        """Return one draw, and forget it."""
        draws = self._shelf.draws
        try:
            taken: _One = draws.pop()
        except IndexError:
            draws.extend(_plain(self.sampler.fill(STOCK)))
            taken = draws.pop()
        return taken

    def forget(self) -> None:
        """Drop this thread's draws. In place: a signal may have interrupted a draw that uses the list."""
        self._shelf.draws.clear()


def _plain(values: NDArray[Any]) -> list[Any]:
    return list(values.tolist())


_EVERY: weakref.WeakSet[Stocked[Any]] = weakref.WeakSet()


def _forget() -> None:
    for stocked in list(_EVERY):
        stocked.forget()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)


Booleans = NDArray[np.bool_]
Shape = int | tuple[int, ...] | list[int]
_Sampler = TypeVar("_Sampler")


def remembered(prepare: Callable[[object], _Sampler]) -> Callable[[object], _Sampler]:
    """Return `prepare`, remembering the samplers of plain numbers."""
    recall = lru_cache(maxsize=256, typed=True)(prepare)

    def find(parameter: object) -> _Sampler:
        return recall(parameter) if type(parameter) in _PLAIN else prepare(parameter)

    return find


_PLAIN = frozenset({int, float, Fraction})


class LaplaceSampler:
    """The signed draws of a geometric sampler."""

    __slots__ = ("draw", "fill")

    def __init__(self, geometric: Geometric) -> None:
        self.draw: Callable[[], int] = geometric.draw_signed
        self.fill: Callable[[int], Integers] = geometric.fill_signed


_geometric = remembered(lambda scale: Stocked[int](Geometric(positive(scale, "scale"))))
_laplace = remembered(lambda scale: Stocked[int](LaplaceSampler(Geometric(positive(scale, "scale")))))
_gaussian = remembered(lambda sigma_squared: Stocked[int](GaussianSampler(positive(sigma_squared, "sigma_squared"))))
_exponential_coin = remembered(lambda x: Stocked[bool](ExponentialCoin(nonnegative(x, "x"))))
_coin = remembered(lambda p: Stocked[bool](Coin(probability(p, "p"))))
_below = remembered(lambda n: Stocked[int](Below(whole(n, "n", least=1))))


@overload
def geometric(scale: Number, size: None = None) -> int: ...
@overload
def geometric(scale: Number, size: Shape) -> Integers: ...
@overload
def geometric(scale: Number, size: Size) -> int | Integers: ...
def geometric(scale: Number, size: Size = None) -> int | Integers:
    """Return draws of floor(scale * E): k = 0, 1, 2, ... with probability proportional to exp(-k / scale).

    Without a size, a Python integer; with one, an int64 array (of Python integers above a scale of 2**52).

    Args:
        scale: the scale of the noise.
        size: how many draws, as an array of that shape; one number if left out.

    Example:
        >>> noise.geometric(2, 100).min() >= 0
        np.True_

    Guarantee: draws are independent and have exactly this distribution, given a uniform operating system source.
    """
    return sample(_geometric(scale), size)


@overload
def discrete_laplace(scale: Number, size: None = None) -> int: ...
@overload
def discrete_laplace(scale: Number, size: Shape) -> Integers: ...
@overload
def discrete_laplace(scale: Number, size: Size) -> int | Integers: ...
def discrete_laplace(scale: Number, size: Size = None) -> int | Integers:
    """Return draws from the integers with probability proportional to exp(-|k| / scale).

    Without a size, a Python integer; with one, an int64 array (of Python integers above a scale of 2**52).

    Args:
        scale: the scale of the noise.
        size: how many draws, as an array of that shape; one number if left out.

    Example:
        >>> noise.discrete_laplace(2.5, (2, 3)).shape
        (2, 3)

    Guarantee: draws are independent and have exactly this distribution, given a uniform operating system source.
    Cites: [GRS12, the geometric mechanism], [CKS20, Alg. 2].
    """
    return sample(_laplace(scale), size)


@overload
def discrete_gaussian(sigma_squared: Number, size: None = None) -> int: ...
@overload
def discrete_gaussian(sigma_squared: Number, size: Shape) -> Integers: ...
@overload
def discrete_gaussian(sigma_squared: Number, size: Size) -> int | Integers: ...
def discrete_gaussian(sigma_squared: Number, size: Size = None) -> int | Integers:
    """Return draws from the integers with probability proportional to exp(-k**2 / (2 sigma_squared)).

    Without a size, a Python integer; with one, an int64 array (of Python integers from a sigma of 2**52 on).

    Args:
        sigma_squared: the parameter of the law, about its variance.
        size: how many draws, as an array of that shape; one number if left out.

    Example:
        >>> noise.discrete_gaussian(4, 3).shape
        (3,)

    Guarantee: draws are independent and have exactly this distribution, given a uniform operating system source.
    Cites: [CKS20, Alg. 3].
    """
    return sample(_gaussian(sigma_squared), size)


@overload
def bernoulli_exp(x: Number, size: None = None) -> bool: ...
@overload
def bernoulli_exp(x: Number, size: Shape) -> Booleans: ...
@overload
def bernoulli_exp(x: Number, size: Size) -> bool | Booleans: ...
def bernoulli_exp(x: Number, size: Size = None) -> bool | Booleans:
    """Return tosses that are True with probability exp(-x), for any x of at least 0.

    Args:
        x: at least 0.
        size: how many draws, as an array of that shape; one number if left out.

    Example:
        >>> noise.bernoulli_exp(0)
        True

    Guarantee: tosses are independent and have exactly this probability, given a uniform operating system source.
    """
    return sample(_exponential_coin(x), size)


@overload
def bernoulli(p: Number, size: None = None) -> bool: ...
@overload
def bernoulli(p: Number, size: Shape) -> Booleans: ...
@overload
def bernoulli(p: Number, size: Size) -> bool | Booleans: ...
def bernoulli(p: Number, size: Size = None) -> bool | Booleans:
    """Return tosses that are True with probability p.

    Args:
        p: the probability of True.
        size: how many draws, as an array of that shape; one number if left out.

    Example:
        >>> noise.bernoulli(1), noise.bernoulli(0)
        (True, False)

    Guarantee: tosses are independent and have exactly this probability, given a uniform operating system source.
    """
    return sample(_coin(p), size)


@overload
def uniform_below(n: int, size: None = None) -> int: ...
@overload
def uniform_below(n: int, size: Shape) -> Integers: ...
@overload
def uniform_below(n: int, size: Size) -> int | Integers: ...
def uniform_below(n: int, size: Size = None) -> int | Integers:
    """Return draws from 0, ..., n - 1, each equally likely; Python integers where n exceeds 2**63.

    Args:
        n: the number of outcomes.
        size: how many draws, as an array of that shape; one number if left out.

    Example:
        >>> 0 <= noise.uniform_below(6) < 6
        True

    Guarantee: draws are independent and have exactly this distribution, given a uniform operating system source.
    """
    return sample(_below(n), size)


def bernoulli_rows(p: Number, rows: int, bits: int) -> NDArray[np.uint8]:
    """Return rows of tosses that are True with probability p, packed eight to a byte as `numpy.packbits` does.

    Args:
        p: the probability of True.
        rows: the number of rows.
        bits: the tosses in each row; the rest of its last byte is zero.

    Raises:
        BadParameter: if a number is out of range, or the rows have more than 2**31 bytes.

    Example:
        >>> noise.bernoulli_rows(1, 1, 10)
        array([[255, 192]], dtype=uint8)

    Guarantee: tosses are independent and have exactly this probability, given a uniform operating system source.
    """
    chance = probability(p, "p")
    width = -(-whole(bits, "bits", least=1, most=MOST_DRAWS) // 8)
    height = whole(rows, "rows", most=MOST_DRAWS // width)
    if height * width >= _MANY_BYTES:
        packed = coin_bytes(chance).fill(height * width).reshape(height, width)
    else:
        words = -(-height * width * 8 // WORD_BITS)
        packed = PackedCoin(chance).fill(words).view(np.uint8)[: height * width].reshape(height, width)
    packed[:, -1] &= np.uint8(0xFF << (8 * width - bits) & 0xFF)
    return packed
