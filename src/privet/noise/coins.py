"""Coins of an exact bias, also eight at a time, and uniform integers below an exact bound.

No floating point decides anything alone.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from fractions import Fraction
from functools import lru_cache
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from privet.core.numbers import whole

from .source import (
    BAND,
    BLOCK,
    LEAST_UNIFORM,
    MASK,
    SYSTEM,
    ULP,
    UNIFORM_BITS,
    WORD_BITS,
    Integers,
    LazyUniform,
    Source,
    Words,
    bits,
    integers_of,
    reach,
)

Booleans = NDArray[np.bool_]

_WORDS = 2**WORD_BITS
_EVERY_BIT = np.uint64(_WORDS - 1)
MOST_TOSSES = 2**40
"""The most coins that are tossed: as many as a quantile's rows may be."""
_BEYOND = 16
"""An x that no lane decided in float64 reaches; larger ones are computed as this."""

_SLACK = _BEYOND * 2.0**-53


class ExponentialCoin:
    """True with probability exp(-x): whether an exponential variate reaches x.

    Guarantee: tosses are independent and have exactly this probability, given uniform words.
    """

    __slots__ = ("_rounded", "x")

    def __init__(self, x: Fraction) -> None:
        self.x = x
        self._rounded = float(min(x, Fraction(_BEYOND)))

    def draw(self, source: Source = SYSTEM) -> bool:
        """Return one toss."""
        numerator = source.word() & MASK
        uniform = numerator * ULP
        if uniform >= LEAST_UNIFORM:
            excess = -math.log(uniform) - self._rounded
            if abs(excess) > BAND + _SLACK:
                return excess > 0.0
        return LazyUniform(numerator, UNIFORM_BITS, source).reaches(self.x)

    def fill(self, count: int, source: Source = SYSTEM) -> Booleans:
        """Return this many independent tosses."""
        tosses = np.empty(count, dtype=np.bool_)
        for start in range(0, count, BLOCK):
            block = tosses[start : start + BLOCK]
            words = source.words(block.size)
            answer, open_lanes = reach(words, self._rounded, _SLACK)
            for lane in open_lanes:
                uniform = LazyUniform(int(words[lane]) & MASK, UNIFORM_BITS, source)
                answer[lane] = uniform.reaches(self.x)
            block[:] = answer
        return tosses


class Coin:
    """True with probability p: whether a uniform number, compared 64 bits at a time, lies below p.

    Guarantee: tosses are independent and have exactly this probability, given uniform words.
    """

    __slots__ = ("_digit", "_rest", "p")

    def __init__(self, p: Fraction) -> None:
        self.p = p
        # p = (digit + rest) / 2**64 with rest < 1; p = 1 has digit 2**64, which every word lies below.
        self._digit: int = math.floor(p * _WORDS)
        self._rest: Fraction = p * _WORDS - self._digit

    def draw(self, source: Source = SYSTEM) -> bool:
        """Return one toss."""
        word = source.word()
        if word != self._digit:
            return word < self._digit
        return bool(self._rest) and Coin(self._rest).draw(source)

    def fill(self, count: int, source: Source = SYSTEM) -> Booleans:
        """Return this many independent tosses."""
        if self._digit == _WORDS:
            return np.ones(count, dtype=np.bool_)
        tosses = np.empty(count, dtype=np.bool_)
        digit = np.uint64(self._digit)
        for start in range(0, count, BLOCK):
            block = tosses[start : start + BLOCK]
            words = source.words(block.size)
            np.less(words, digit, out=block)
            if self._rest:
                for lane in np.flatnonzero(words == digit):
                    block[lane] = Coin(self._rest).draw(source)
        return tosses


class PackedCoin:
    """Coins that are True with probability p, 64 to a word: each compares its own random digits with those of p.

    All coins of a word read one digit at a time, so that a word is settled after about seven random words and a coin
    takes one bit of memory.

    Guarantee: bits are independent and set with exactly this probability, given uniform words: a coin is True iff its
    digits, read as a binary fraction, lie below p, and it reads on until that is decided.
    """

    __slots__ = ("p",)

    def __init__(self, p: Fraction) -> None:
        self.p = p

    def fill(self, words: int, source: Source = SYSTEM) -> Words:
        """Return this many words of independent coins."""
        packed = np.empty(words, dtype=np.uint64)
        for start in range(0, words, BLOCK):
            block = packed[start : start + BLOCK]
            block[:] = self._block(block.size, source)
        return packed

    def _block(self, words: int, source: Source) -> Words:
        settled = np.full(words, _EVERY_BIT if self.p == 1 else 0, dtype=np.uint64)
        places = np.arange(words)
        pending = np.full(words, _EVERY_BIT, dtype=np.uint64)
        rest = self.p if self.p < 1 else Fraction(0)
        while rest and places.size:
            rest *= 2
            digits = source.words(places.size)
            if rest >= 1:  # the digit of p is 1: a coin with 0 lies below, one with 1 reads on
                rest -= 1
                settled[places] |= pending & ~digits
                pending &= digits
            else:
                pending &= ~digits
            kept = np.flatnonzero(pending)
            if 4 * kept.size < 3 * pending.size:
                places, pending = places[kept], pending[kept]
        return settled


class Below:
    """The uniform distribution on 0, ..., n - 1, by rejecting the words that would favour some of them.

    Guarantee: draws are independent and have exactly this distribution, given uniform words.
    """

    __slots__ = ("_limit", "n", "wide")

    def __init__(self, n: int) -> None:
        self.n = n
        self.wide = n > 2**63
        self._limit = 0 if self.wide else _WORDS // n * n

    def draw(self, source: Source = SYSTEM) -> int:
        """Return one draw."""
        if not self.wide:
            while True:
                word = source.word()
                if word < self._limit:
                    return word % self.n
        count = (self.n - 1).bit_length()
        while True:
            number = bits(source, count)
            if number < self.n:
                return number

    def fill(self, count: int, source: Source = SYSTEM) -> Integers:
        """Return this many independent draws."""
        if self.wide:
            return integers_of(self.draw(source) for _ in range(count))
        values = np.empty(count, dtype=np.int64)
        for start in range(0, count, BLOCK):
            block = values[start : start + BLOCK]
            words = source.words(block.size).copy()
            if self._limit < _WORDS:
                limit = np.uint64(self._limit)
                while (again := np.flatnonzero(words >= limit)).size:
                    words[again] = source.words(again.size)
            if self.n & (self.n - 1):
                np.remainder(words, np.uint64(self.n), out=words)
            else:
                np.bitwise_and(words, np.uint64(self.n - 1), out=words)
            block[:] = words.view(np.int64)
        return values


def fair_heads(tosses: int) -> int:
    """Return how many of this many fair coins show heads, by tossing them all.

    Args:
        tosses: the number of coins.

    Example:
        >>> 0 <= noise.fair_heads(10) <= 10
        True

    Guarantee: exactly binomial with probability one half, given uniform words.
    """
    return heads_from(SYSTEM, whole(tosses, "tosses", most=MOST_TOSSES))


def heads_from(source: Source, tosses: int) -> int:
    """Return the same as `fair_heads`, with the bits of a given source."""
    heads, words = 0, tosses // WORD_BITS
    while words > 0:
        block = min(words, BLOCK)
        heads += int.from_bytes(source.words(block).tobytes(), "little").bit_count()
        words -= block
    return heads + (source.word() >> (WORD_BITS - tosses % WORD_BITS)).bit_count()


# Eight coins of one exact bias at a time: a byte of tosses is looked up in a table by 16 random bits.
#
# Of the 2^16 entries each byte has as many as its probability covers whole. The few that are left over, less than one
# for each byte, are shared out by the excess of each probability over its entries, with as many bits as that takes.


Bytes = NDArray[np.uint8]

ENTRIES = 2**16
_BLOCK = 2**16
"""Bytes that are looked up at once: their data fit into a processor's cache."""


class CoinBytes:
    """Bytes whose bits are set with probability p each.

    Guarantee: bits are independent and set with exactly this probability, given uniform words. A byte with k bits set
    has probability w = p^k (1 - p)^(8 - k). It has floor(2^16 w) entries of the table, and among those left over it is
    drawn with probability proportional to 2^16 w - floor(2^16 w): together exactly w.
    """

    __slots__ = ("_bounds", "_ends", "_left", "_table")

    def __init__(self, p: Fraction) -> None:
        exact = [ENTRIES * p ** byte.bit_count() * (1 - p) ** (8 - byte.bit_count()) for byte in range(256)]
        whole = [int(share) for share in exact]
        self._left = sum(whole)
        """The first entry that belongs to no single byte."""
        self._table = np.zeros(ENTRIES, dtype=np.uint8)
        self._table[: self._left] = np.repeat(np.arange(256), whole)
        self._ends = list(accumulate(share - count for share, count in zip(exact, whole, strict=True)))
        # an end below the word, or the next one, decides; a word that contains an end is drawn on
        total = self._ends[-1] or Fraction(1)
        self._bounds = np.array([min(int(end * _WORDS / total), _WORDS - 1) for end in self._ends], dtype=np.uint64)

    def fill(self, count: int, source: Source = SYSTEM) -> Bytes:
        """Return this many bytes of independent coins."""
        drawn = np.empty(count, dtype=np.uint8)
        for start in range(0, count, _BLOCK):
            block = drawn[start : start + _BLOCK]
            entries = source.words(-(-block.size // 4)).view(np.uint16)[: block.size]
            np.take(self._table, entries, out=block, mode="clip")
            if self._left < ENTRIES:
                lanes = np.flatnonzero(entries >= self._left)
                block[lanes] = self._rest(lanes.size, source)
        return drawn

    def _rest(self, count: int, source: Source) -> Bytes:
        """Return bytes for entries that were left over."""
        words = source.words(count)
        drawn = np.searchsorted(self._bounds, words, side="right")
        for lane in np.flatnonzero(
            self._bounds[np.minimum(np.searchsorted(self._bounds, words), 255)] == words
        ).tolist():
            drawn[lane] = _drawn_on(int(words[lane]), self._ends, source)
        return drawn.astype(np.uint8)


def _drawn_on(word: int, ends: list[Fraction], source: Source) -> int:
    """Return the byte of a uniform number that begins with a word, from as many more words as that takes."""
    number, scale = word, _WORDS
    while True:
        low = bisect_right(ends, Fraction(number, scale) * ends[-1])
        high = bisect_right(ends, Fraction(number + 1, scale) * ends[-1])
        if low == high or ends[low] == Fraction(number + 1, scale) * ends[-1]:
            return low
        number, scale = number * _WORDS + source.word(), scale * _WORDS


@lru_cache(maxsize=64)
def coin_bytes(p: Fraction) -> CoinBytes:
    """Return the table of a probability, which is made once."""
    return CoinBytes(p)
