"""Eight coins of one exact bias at a time: a byte of tosses is looked up in a table by 16 random bits.

Of the 2^16 entries each byte has as many as its probability covers whole. The few that are left over, less than one for
each byte, are shared out by what each probability exceeds its entries, with as many bits as that takes.
"""

from __future__ import annotations

from bisect import bisect_right
from fractions import Fraction
from functools import lru_cache
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from .source import SYSTEM, WORD_BITS, Source

Bytes = NDArray[np.uint8]

ENTRIES = 2**16
_WORDS = 2**WORD_BITS
_BLOCK = 2**16
"""Bytes that are looked up at once: what belongs to them fits into a processor's cache."""


class CoinBytes:
    """Bytes whose bits are set with probability p each.

    Guarantee: bits are independent and set with exactly this probability, given uniform words. A byte with k bits set
    has probability w = p^k (1 - p)^(8 - k). It has floor(2^16 w) entries of the table, and among those left over it is
    drawn with probability proportional to 2^16 w - floor(2^16 w): together exactly w.
    """

    __slots__ = ("_bounds", "_ends", "_left", "_table")

    def __init__(self, p: Fraction) -> None:
        exact = [ENTRIES * p ** byte.bit_count() * (1 - p) ** (8 - byte.bit_count()) for byte in range(256)]
        whole = [int(one) for one in exact]
        self._left = sum(whole)
        """The first entry that belongs to no byte by itself."""
        self._table = np.zeros(ENTRIES, dtype=np.uint8)
        self._table[: self._left] = np.repeat(np.arange(256), whole)
        self._ends = list(accumulate(one - count for one, count in zip(exact, whole, strict=True)))
        # an end below the word, or the next one, decides; a word that holds an end is drawn on
        total = self._ends[-1] or Fraction(1)
        self._bounds = np.array([min(int(end * _WORDS / total), _WORDS - 1) for end in self._ends], dtype=np.uint64)

    def fill(self, count: int, source: Source = SYSTEM) -> Bytes:
        """Return this many bytes of independent coins."""
        found = np.empty(count, dtype=np.uint8)
        for start in range(0, count, _BLOCK):
            block = found[start : start + _BLOCK]
            entries = source.words(-(-block.size // 4)).view(np.uint16)[: block.size]
            np.take(self._table, entries, out=block, mode="clip")
            if self._left < ENTRIES:
                lanes = np.flatnonzero(entries >= self._left)
                block[lanes] = self._rest(lanes.size, source)
        return found

    def _rest(self, count: int, source: Source) -> Bytes:
        """Return bytes for entries that were left over."""
        words = source.words(count)
        found = np.searchsorted(self._bounds, words, side="right")
        for lane in np.flatnonzero(
            self._bounds[np.minimum(np.searchsorted(self._bounds, words), 255)] == words
        ).tolist():
            found[lane] = _drawn_on(int(words[lane]), self._ends, source)
        return found.astype(np.uint8)


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
