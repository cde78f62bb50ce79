"""Random words from the operating system, and nothing else: there is no seed to set and no state to save.

Arrays of words are asked of the system as they are needed. Single words come from a small pool that belongs to
one thread; a word leaves the pool when it is used, and a forked child starts with an empty pool. Of words
uniform numbers are made, and their logarithms: from as many bits as that takes, or for whole arrays in float64 with a
proven error.
"""

from __future__ import annotations

import math
import os
import struct
import threading
from collections.abc import Callable, Iterable
from decimal import MAX_EMAX, MIN_EMIN, ROUND_HALF_EVEN, Context, Decimal
from fractions import Fraction
from typing import Any, Protocol, TypeVar, overload

import numpy as np
from numpy.typing import NDArray

from privet.core.errors import BadParameter, raise_alone
from privet.core.numbers import whole

# Reads the `size` of a request and returns draws of that shape. It never looks at a drawn value.


MOST_DRAWS = 2**31
Size = int | tuple[int, ...] | list[int] | None
_One = TypeVar("_One", covariant=True)


class Sampler(Protocol[_One]):
    """A function that draws one value, or an array of them."""

    def draw(self) -> _One:
        """Return one draw."""
        ...

    def fill(self, count: int) -> NDArray[Any]:
        """Return this many draws."""
        ...


@overload
def sample(sampler: Sampler[_One], size: None) -> _One: ...
@overload
def sample(sampler: Sampler[_One], size: int | tuple[int, ...] | list[int]) -> NDArray[Any]: ...
@overload
def sample(sampler: Sampler[_One], size: Size) -> _One | NDArray[Any]: ...
def sample(sampler: Sampler[_One], size: Size) -> _One | NDArray[Any]:
    """Return one draw where size is None, and otherwise an array of that size."""
    if size is None:
        return sampler.draw()
    shape = read_shape(size)
    try:
        return sampler.fill(math.prod(shape)).reshape(shape)
    except MemoryError:
        raise_alone(BadParameter("size", size, "a number of draws that fits in memory"))


def read_shape(size: int | tuple[int, ...] | list[int]) -> tuple[int, ...]:
    """Return the shape that an integer or a sequence of integers denotes."""
    allowed = f"None, or an integer or a tuple of integers of at least 0, {MOST_DRAWS} draws at most"
    sides = tuple(size) if isinstance(size, (tuple, list)) else (size,)
    try:
        shape = tuple(whole(side, "size") for side in sides)
    except BadParameter:
        raise_alone(BadParameter("size", size, allowed))
    if math.prod(shape) > MOST_DRAWS or any(side > MOST_DRAWS for side in shape) or len(shape) > 32:
        raise BadParameter("size", size, allowed)
    return shape


def read_size(size: int) -> int:
    """Return the number of requested draws, where that is one number."""
    return whole(size, "size", most=MOST_DRAWS)


def integers_of(values: Iterable[int]) -> NDArray[Any]:
    """Return Python integers as an array of objects."""
    drawn = list(values)
    array = np.empty(len(drawn), dtype=object)
    array[:] = drawn
    return array


Words = NDArray[np.uint64]

WORD_BITS = 64
_POOL_WORDS = 64
_UNPACK = struct.Struct(f"={_POOL_WORDS}Q").unpack


class Source(Protocol):
    """Where random words come from."""

    def words(self, count: int) -> Words:
        """Return this many independent, uniform 64-bit words; the array may be read-only."""
        ...

    def word(self) -> int:
        """Return one uniform 64-bit word."""
        ...


class _Pool(threading.local):
    def __init__(self) -> None:
        self.words: list[int] = []


_pool = _Pool()


class OperatingSystem:
    """The operating system's secure generator."""

    def words(self, count: int) -> Words:
        """Return this many words of `os.urandom`."""
        return np.frombuffer(os.urandom(8 * count), dtype=np.uint64)

    def word(self) -> int:
        """Return one word, refilling this thread's pool where it is empty."""
        words = _pool.words
        try:
            return words.pop()
        except IndexError:
            words.extend(_UNPACK(os.urandom(8 * _POOL_WORDS)))
            return words.pop()


def _forget() -> None:
    # In place: a fork inside a signal handler may return into a draw that already uses the list.
    _pool.words.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)

SYSTEM = OperatingSystem()


def bits(source: Source, count: int) -> int:
    """Return a uniform integer of this many bits."""
    number = 0
    for _ in range(-(-count // WORD_BITS)):
        number = number << WORD_BITS | source.word()
    return number >> (-count % WORD_BITS)


# A uniform number with as many bits as are requested, and exact answers about E = -ln U.
#
# This is the slow path, taken by the few draws that the float64 arithmetic of `exponential` leaves open, and
# its answers are right whatever the machine's logarithm does. It must never round an operand.


_GUARD_DIGITS = 10


class LazyUniform:
    """A uniform number U on [0, 1], known to lie in [n, n + 1] / 2**bits.

    The logarithms are those of `decimal`, correctly rounded from exact operands and then moved outwards by one
    unit, in a context of our own: the caller's context, traps and rounding cannot reach them. The precision
    grows with the number of bits, so that rounding stays far below the width of the interval, and asking for
    more bits ends every comparison with probability one.
    """

    __slots__ = ("bits", "numerator", "source")

    def __init__(self, numerator: int, bits: int, source: Source) -> None:
        self.numerator = numerator
        self.bits = bits
        self.source = source

    def refine(self) -> None:
        """Learn the next 64 bits of U."""
        self.numerator = self.numerator << WORD_BITS | self.source.word()
        self.bits += WORD_BITS

    def exponential(self) -> tuple[Decimal, Decimal | None]:
        """Return a lower and an upper bound of E = -ln U; no upper bound where U may be zero."""
        # A minus sign would round in the caller's context; copy_negate does not.
        context = self._context()
        least = _above(context.ln(self._point(self.numerator + 1)), context).copy_negate()
        if not self.numerator:
            return least, None
        return least, _below(context.ln(self._point(self.numerator)), context).copy_negate()

    def log_exponential(self) -> tuple[Decimal | None, Decimal | None]:
        """Return a lower and an upper bound of ln E, each None where there is none."""
        context = self._context()
        least, most = self.exponential()
        return (
            _below(context.ln(least), context) if least else None,
            None if most is None else _above(context.ln(most), context),
        )

    def log_of(self, integer: int) -> tuple[Decimal, Decimal]:
        """Return a lower and an upper bound of the logarithm of a positive integer, as fine as U is known."""
        context = self._context()
        rounded = context.ln(Decimal(integer))
        return _below(rounded, context), _above(rounded, context)

    def floor(self, scale: Fraction) -> int:
        """Return floor(scale * E), drawing as many bits as that takes."""
        while True:
            least, most = self.exponential()
            if most is not None:
                low, high = Fraction(least) * scale // 1, Fraction(most) * scale // 1
                if low == high:
                    return low
            self.refine()

    def reaches(self, x: Fraction) -> bool:
        """Return whether E >= x, learning as many bits as that takes."""
        while True:
            least, most = self.exponential()
            if Fraction(least) >= x:
                return True
            if most is not None and Fraction(most) < x:
                return False
            self.refine()

    def _point(self, numerator: int) -> Decimal:
        # n / 2**bits = n 5**bits / 10**bits, exactly
        return Decimal(f"{numerator * 5**self.bits}E-{self.bits}")

    def _context(self) -> Context:
        digits = self.bits * 31 // 100 + _GUARD_DIGITS
        return Context(
            prec=digits, rounding=ROUND_HALF_EVEN, Emin=MIN_EMIN, Emax=MAX_EMAX, capitals=1, clamp=0, traps=[]
        )


def _below(rounded: Decimal, context: Context) -> Decimal:
    # A logarithm that rounds to zero is zero, of one: the next number would have an exponent of -10**18.
    return context.next_minus(rounded) if rounded else rounded


def _above(rounded: Decimal, context: Context) -> Decimal:
    return context.next_plus(rounded) if rounded else rounded


# The one primitive: E = -ln U for whole arrays in float64, with a proven bound on the error.
#
# Two questions are answered here, floor(scale * E) and "is E >= x?", each together with the lanes that float64 cannot
# decide; those go to `lazy`, which can. Nothing here may decide a lane that lies inside the band.
#
# The proof. Let eps = 2**-53, so that a correctly rounded operation has a relative error of at most eps.
#
# * A word gives an integer W below 2**63 (its top bit is left for a sign). U lies in [W, W + 1] / 2**63, and where
#   in there depends on later words.
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
Integers = NDArray[Any]
"""int64, or Python integers where int64 might overflow."""
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
    """Return the double that represents a scale of at most 2**20 in `floors`."""
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

    Each x must be within `slack` of the number it represents, or both must exceed 16.
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
