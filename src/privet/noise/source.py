"""Random words from the operating system, and nothing else: there is no seed to set and no state to save.

Arrays of words are asked of the system as they are needed. Single words come from a small pool that belongs to
one thread; a word leaves the pool when it is used, and a forked child starts with an empty pool.
"""

from __future__ import annotations

import math
import os
import struct
import threading
from collections.abc import Iterable
from decimal import MAX_EMAX, MIN_EMIN, ROUND_HALF_EVEN, Context, Decimal
from fractions import Fraction
from typing import Any, Protocol, TypeVar, overload

import numpy as np
from numpy.typing import NDArray

from privet.core.errors import BadParameter, raise_alone
from privet.core.numbers import whole

# Reads the `size` of a request and gives the draws that shape. It never looks at a drawn value.


MOST_DRAWS = 2**31
Size = int | tuple[int, ...] | list[int] | None
_One = TypeVar("_One", covariant=True)


class Sampler(Protocol[_One]):
    """What draws one value, or an array of them."""

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
    """Return the shape that an integer or a sequence of integers asks for."""
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
    """Return how many draws are asked for, where that is one number."""
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
    # In place: a fork inside a signal handler may return into a draw that already holds the list.
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


# A uniform number that has as many bits as anyone asks for, and exact answers about E = -ln U.
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
        """Return floor(scale * E), learning as many bits as that takes."""
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
