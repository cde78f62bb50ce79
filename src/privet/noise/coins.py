"""Coins of an exact bias and uniform integers below an exact bound. No floating point decides anything alone."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from privet.core.numbers import whole

from .samplers import BAND, BLOCK, LEAST_UNIFORM, MASK, ULP, UNIFORM_BITS, Integers, reach
from .source import SYSTEM, WORD_BITS, LazyUniform, Source, Words, bits, integers_of

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
    """Return what `fair_heads` returns, with the bits of a given source."""
    heads, words = 0, tosses // WORD_BITS
    while words > 0:
        block = min(words, BLOCK)
        heads += int.from_bytes(source.words(block).tobytes(), "little").bit_count()
        words -= block
    return heads + (source.word() >> (WORD_BITS - tosses % WORD_BITS)).bit_count()
