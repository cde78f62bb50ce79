"""Coins packed 64 to a word: each reads its own digits until they differ from those of p."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from privet import noise
from privet.core.errors import BadParameter
from privet.noise.coins import ENTRIES, CoinBytes, PackedCoin


class Digits:
    """A source whose words are given, in turn, and then all zero."""

    def __init__(self, words: list[int]) -> None:
        self.given = words
        self.used = 0

    def words(self, count: int) -> np.ndarray:
        taken = [self.given[self.used + place] if self.used + place < len(self.given) else 0 for place in range(count)]
        self.used += count
        return np.array(taken, dtype=np.uint64)

    def word(self) -> int:
        return int(self.words(1)[0])


@pytest.mark.parametrize("p", [Fraction(k, 16) for k in range(17)])
def test_exactly_the_share_p_of_all_digits_lies_below(p: Fraction) -> None:
    """All sixteen patterns of four digits, one to a coin: sixteen p of them must be True."""
    patterns = list(itertools.product((0, 1), repeat=4))
    words = [sum(pattern[digit] << coin for coin, pattern in enumerate(patterns)) for digit in range(4)]
    (found,) = PackedCoin(p).fill(1, Digits(words)).tolist()
    wanted = [Fraction(sum(d << (3 - i) for i, d in enumerate(pattern)), 16) < p for pattern in patterns]
    assert [bool(found >> coin & 1) for coin in range(16)] == wanted
    assert sum(wanted) == 16 * p


@pytest.mark.parametrize("p", [Fraction(1, 3), Fraction(2, 7), Fraction(1, 10**6), 1 - Fraction(1, 10**6)])
def test_tosses_come_as_often_as_p(p: Fraction) -> None:
    rows, bits = 4000, 1000
    heads = int(np.unpackbits(noise.bernoulli_rows(p, rows, bits)).sum())
    n = rows * bits
    assert abs(heads - n * p) <= 5.5 * math.sqrt(n * p * (1 - p)) + 12  # less than once in a million


def test_neighbouring_bits_and_words_are_independent() -> None:
    bits = np.unpackbits(noise.bernoulli_rows(Fraction(1, 3), 4000, 1024), axis=1).astype(int)
    for other in (np.roll(bits, 1, axis=1), np.roll(bits, 64, axis=1), np.roll(bits, 1, axis=0)):
        both = int((bits & other).sum())
        assert abs(both - bits.size / 9) < 5.5 * math.sqrt(bits.size * (1 / 9))  # covers the overlap of pairs


@pytest.mark.parametrize("bits", [1, 7, 8, 9, 63, 64, 65])
def test_what_is_left_of_the_last_byte_is_zero(bits: int) -> None:
    rows = noise.bernoulli_rows(1, 5, bits)
    assert rows.shape == (5, -(-bits // 8))
    assert np.unpackbits(rows, axis=1).sum() == 5 * bits
    assert np.unpackbits(rows, axis=1)[:, :bits].all()
    assert not noise.bernoulli_rows(0, 5, bits).any()


@pytest.mark.parametrize("given", [(0.5, -1, 3), (0.5, 1, 0), (1.5, 1, 1), (0.5, 2**40, 2**20), (0.5, 1.5, 3)])
def test_bad_shapes_are_refused(given: tuple[float, int, int]) -> None:
    with pytest.raises(BadParameter):
        noise.bernoulli_rows(*given)


@pytest.mark.parametrize("p", [Fraction(0), Fraction(1, 3), Fraction(1, 2), Fraction(123, 457), Fraction(1)])
def test_a_byte_of_coins_has_exactly_its_probability(p: Fraction) -> None:
    """Every entry of the table comes once; those left over are shared by what is missing, to the last fraction."""
    coins = CoinBytes(p)
    every = np.arange(ENTRIES, dtype=np.uint16).view(np.uint64).tolist()
    drawn = coins.fill(ENTRIES, Digits(every + [2**63] * 256))  # entries left over all read one and the same word
    counts = np.bincount(drawn[: coins._left], minlength=256)
    shares = np.diff([Fraction(0), *coins._ends])
    for byte in range(256):
        ones = byte.bit_count()
        assert counts[byte] + shares[byte] == ENTRIES * p**ones * (1 - p) ** (8 - ones)
    assert coins._ends[-1] == ENTRIES - coins._left
    if coins._ends[-1]:
        middle = int(np.searchsorted(np.array(coins._ends, dtype=float), float(coins._ends[-1]) / 2, side="right"))
        assert middle > 0
        assert set(drawn[coins._left :].tolist()) == {middle}


def test_entries_left_over_are_drawn_as_often_as_is_missing() -> None:
    """A word below an end, above it, and on it: on it, further words decide."""
    coins = CoinBytes(Fraction(123, 457))
    ends, total = coins._ends, coins._ends[-1]
    for place in (0, 1, 100, 254, 255):
        on = min(int(ends[place] * 2**64 / total), 2**64 - 1)
        if place < 255:
            assert coins._rest(1, Digits([on + 1])).tolist() == [place + 1]
        assert coins._rest(1, Digits([on - 1])).tolist() == [place]
        rest = ends[place] * 2**128 / total - on * 2**64
        assert coins._rest(1, Digits([on, max(0, int(rest) - 1)])).tolist() == [place]
        if place < 255:
            assert coins._rest(1, Digits([on, int(rest) + 1])).tolist() == [place + 1]
            assert coins._rest(1, Digits([on, int(rest), 0])).tolist() == [place]


@pytest.mark.parametrize("p", [Fraction(1, 3), Fraction(1, 50), Fraction(9, 10)])
def test_bytes_of_coins_come_as_often_as_they_should(p: Fraction) -> None:
    n = 400_000
    counts = np.bincount(CoinBytes(p).fill(n), minlength=256)
    ones = np.array([byte.bit_count() for byte in range(256)])
    odds = float(p) ** ones * float(1 - p) ** (8 - ones)
    assert (np.abs(counts - n * odds) < 6.5 * np.sqrt(n * odds * (1 - odds)) + 15).all()  # 1e-8 together
