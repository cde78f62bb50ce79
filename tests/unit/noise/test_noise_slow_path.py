"""The fast path and the exact path make the same draws from the same words, bit for bit."""

from __future__ import annotations

import decimal
import math
import os
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from privet.noise import coins, draws, source
from privet.noise.coins import Below, Coin, ExponentialCoin
from privet.noise.draws import GaussianSampler, Geometric
from privet.noise.source import LazyUniform, bits


class Stream:
    """A fixed stream of words, and how much of it has been used."""

    def __init__(self, words: np.ndarray) -> None:
        self._words = words.astype(np.uint64)
        self.used = 0

    def words(self, count: int) -> np.ndarray:
        taken = self._words[self.used : self.used + count]
        if taken.size < count:
            raise LookupError("the stream has run dry")
        self.used += count
        return taken

    def word(self) -> int:
        return int(self.words(1)[0])


def fresh(count: int) -> np.ndarray:
    return np.frombuffer(os.urandom(8 * count), dtype=np.uint64)


def closed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the band so wide that float64 decides nothing."""
    for module in (source, draws, coins):
        monkeypatch.setattr(module, "BAND", math.inf)


SCALES = [Fraction(1, 10), Fraction(1), Fraction(3, 2), Fraction(1000), Fraction(10**6), Fraction(10**12)]
DRAWS = 400


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("how", ["fill", "fill_signed"])
def test_arrays_of_geometric_draws_do_not_depend_on_the_road(monkeypatch, scale, how):
    words = fresh(20 * DRAWS)
    fast_stream, slow_stream = Stream(words), Stream(words)
    fast = getattr(Geometric(scale), how)(DRAWS, fast_stream)
    closed(monkeypatch)
    slow = getattr(Geometric(scale), how)(DRAWS, slow_stream)
    assert fast.dtype == slow.dtype == np.int64
    assert fast.tolist() == slow.tolist()
    assert fast_stream.used == slow_stream.used


@pytest.mark.parametrize("scale", [*SCALES, Fraction(10**30)])
@pytest.mark.parametrize("how", ["draw", "draw_signed"])
def test_single_geometric_draws_do_not_depend_on_the_road(monkeypatch, scale, how):
    words = fresh(20 * DRAWS)
    fast_stream, slow_stream = Stream(words), Stream(words)
    fast = [getattr(Geometric(scale), how)(fast_stream) for _ in range(DRAWS)]
    closed(monkeypatch)
    slow = [getattr(Geometric(scale), how)(slow_stream) for _ in range(DRAWS)]
    assert fast == slow
    assert fast_stream.used == slow_stream.used


@pytest.mark.parametrize(
    "sigma_squared", [Fraction(1, 100), Fraction(1), Fraction(7, 3), Fraction(10**6), Fraction(2**80)]
)
def test_gaussian_draws_do_not_depend_on_the_road(monkeypatch, sigma_squared):
    words = fresh(30 * DRAWS)
    streams = [Stream(words) for _ in range(4)]
    fast = GaussianSampler(sigma_squared).fill(DRAWS // 2, streams[0]).tolist()
    fast_singles = [GaussianSampler(sigma_squared).draw(streams[1]) for _ in range(DRAWS // 2)]
    closed(monkeypatch)
    assert GaussianSampler(sigma_squared).fill(DRAWS // 2, streams[2]).tolist() == fast
    assert [GaussianSampler(sigma_squared).draw(streams[3]) for _ in range(DRAWS // 2)] == fast_singles
    assert streams[0].used == streams[2].used
    assert streams[1].used == streams[3].used


@pytest.mark.parametrize("x", [Fraction(0), Fraction(1, 10**9), Fraction(1, 3), Fraction(2), Fraction(20)])
def test_exponential_coins_do_not_depend_on_the_road(monkeypatch, x):
    words = fresh(4 * DRAWS)
    fast = ExponentialCoin(x).fill(DRAWS, Stream(words)).tolist()
    stream = Stream(words)
    assert [ExponentialCoin(x).draw(stream) for _ in range(DRAWS)] == fast
    closed(monkeypatch)
    assert ExponentialCoin(x).fill(DRAWS, Stream(words)).tolist() == fast
    stream = Stream(words)
    assert [ExponentialCoin(x).draw(stream) for _ in range(DRAWS)] == fast


@pytest.mark.parametrize("scale", SCALES[:5])
def test_single_draws_and_arrays_read_words_alike(scale):
    words = fresh(DRAWS)
    stream = Stream(words)
    assert [Geometric(scale).draw(stream) for _ in range(DRAWS)] == Geometric(scale).fill(DRAWS, Stream(words)).tolist()


@pytest.mark.parametrize("scale", SCALES[:5])
def test_a_geometric_draw_is_the_floor_of_the_scaled_exponential(scale):
    words = fresh(DRAWS)
    drawn = Geometric(scale).fill(DRAWS, Stream(words)).tolist()
    with mpmath.workdps(50):
        for word, value in zip(words.tolist(), drawn, strict=True):
            numerator = word % 2**63
            low, high = (
                mpmath.floor(-mpmath.log(mpmath.mpf(end) / 2**63) * scale.numerator / scale.denominator)
                for end in (numerator + 1, numerator)
            )
            assert low <= value <= high


def test_a_discrete_laplace_draw_takes_its_sign_from_the_top_bit():
    words = fresh(DRAWS)
    words = words[(words & np.uint64(2**63 - 1)) < np.uint64(2**62)]  # E > ln 2, so the draw is not zero
    positive = Geometric(Fraction(5)).fill_signed(words.size, Stream(words & np.uint64(2**63 - 1)))
    negative = Geometric(Fraction(5)).fill_signed(words.size, Stream(words | np.uint64(2**63)))
    assert (positive > 0).all()
    assert (negative == -positive).all()


def test_negative_zero_is_drawn_again():
    near_one = 2**63 - 2**50
    stream = Stream(np.array([near_one + 2**63, near_one + 2**63, near_one], dtype=np.uint64))
    assert Geometric(Fraction(5)).draw_signed(stream) == 0
    assert stream.used == 3
    stream = Stream(np.array([near_one + 2**63, near_one + 2**63, near_one], dtype=np.uint64))
    assert Geometric(Fraction(5)).fill_signed(1, stream).tolist() == [0]
    assert stream.used == 3


def test_a_word_of_zero_asks_for_more_bits():
    stream = Stream(np.array([0, 2**63], dtype=np.uint64))
    # U = 2**-63 / 2, so E = 64 ln 2 = 44.36
    assert Geometric(Fraction(1)).fill(1, stream).tolist() == [44]
    assert stream.used == 2


def test_a_rejected_low_part_is_drawn_again_and_leaves_the_high_part():
    # At a scale of 2**30 the low part has 10 bits and the other 54 decide; all ones exceed exp(-1023 / 2**30).
    high, rejected, accepted = 2**62, (1023 << 54) | (2**54 - 1), (1023 << 54)
    kept = int(Geometric(Fraction(2**30)).fill(1, Stream(np.array([high, accepted], dtype=np.uint64)))[0])
    for draw in (lambda stream: int(Geometric(Fraction(2**30)).fill(1, stream)[0]), Geometric(Fraction(2**30)).draw):
        stream = Stream(np.array([high, rejected, 7 << 54], dtype=np.uint64))
        assert draw(stream) == kept - 1023 + 7
        assert stream.used == 3


@pytest.mark.parametrize("scale", [Fraction(10**6), Fraction(2**40), Fraction(10**15)])
def test_low_parts_near_one_are_decided_by_the_exact_exponential(scale):
    sampler = Geometric(scale)
    if not sampler._shift:
        assert scale <= 2**20
        return
    tail = sampler._tail_bits
    low = 2**sampler._shift - 1
    with mpmath.workdps(60):
        point = mpmath.exp(-mpmath.mpf(low) * scale.denominator / scale.numerator) * mpmath.mpf(2) ** tail
        step = int(point)
    assert sampler._accepts(low, step - 1, Stream(fresh(0)))
    assert not sampler._accepts(low, step + 1, Stream(fresh(0)))
    assert sampler._quick <= step


ONES, ZEROS = 2**64 - 1, 0


def cell(x: float) -> int:
    """Return the 63-bit word whose cell holds exp(-x), so that only the bits that follow can tell E from x."""
    with mpmath.workdps(40):
        return int(mpmath.exp(-mpmath.mpf(x)) * 2**63)


@pytest.mark.parametrize("how", ["draw", "fill"])
@pytest.mark.parametrize("steps", [2**20, 2**20 + 1, 5 * 2**20, 13 * 2**20])
def test_a_geometric_draw_at_a_step_follows_the_bits_that_follow(how, steps):
    for following, value in ((ONES, steps - 1), (ZEROS, steps)):
        stream = Stream(np.array([cell(steps / 2**20), following], dtype=np.uint64))
        sampler = Geometric(Fraction(2**20))
        drawn = sampler.draw(stream) if how == "draw" else int(sampler.fill(1, stream)[0])
        assert drawn == value
        assert stream.used == 2


@pytest.mark.parametrize("how", ["draw", "fill"])
@pytest.mark.parametrize("x", [2.0**-30, 0.5, 1.0, 13.0, 15.0, 30.0])
def test_an_exponential_coin_at_its_edge_follows_the_bits_that_follow(how, x):
    for following, answer in ((ONES, False), (ZEROS, True)):
        stream = Stream(np.array([cell(x), following], dtype=np.uint64))
        coin = ExponentialCoin(Fraction(x))
        assert (coin.draw(stream) if how == "draw" else bool(coin.fill(1, stream)[0])) is answer
        assert stream.used == 2


def test_a_gaussian_proposal_at_its_edge_follows_the_bits_that_follow():
    # sigma = 1 proposes at scale 1; the proposal 2 has x = (2 - 1)**2 / 2, and 0 is accepted by an E of 7.
    for following, value in ((ONES, 0), (ZEROS, 2)):
        words = np.array([cell(2.5), cell(0.5), following, cell(0.5), cell(7.0)], dtype=np.uint64)
        assert GaussianSampler(Fraction(1)).draw(Stream(words)) == value
        assert GaussianSampler(Fraction(1))._attempt(1, Stream(words)).tolist() == ([value] if value else [])


def test_a_gaussian_proposal_of_negative_zero_is_dropped_before_it_is_judged():
    words = np.array([cell(0.5) + 2**63, cell(0.5), cell(2.5) + 2**63, cell(7.0), cell(7.0)], dtype=np.uint64)
    stream = Stream(words)
    assert GaussianSampler(Fraction(1))._attempt(3, stream).tolist() == [0, -2]
    assert stream.used == 5


@pytest.mark.parametrize("how", ["draw_signed", "fill_signed"])
def test_negative_zero_is_drawn_again_above_the_split(how):
    near_one = 2**63 - 2**40
    words = [near_one + 2**63, 0, cell(1.00000033) + 2**63, 5 << 54]
    stream = Stream(np.array(words, dtype=np.uint64))
    sampler = Geometric(Fraction(2**30))
    drawn = sampler.draw_signed(stream) if how == "draw_signed" else int(sampler.fill_signed(1, stream)[0])
    assert stream.used == 4
    assert abs(drawn + 2**30) <= 2**10


@pytest.mark.parametrize(
    "sigma_squared",
    [
        Fraction(1, 2**1000),
        Fraction(1, 100),
        Fraction(1, 16),
        Fraction(1, 16) - Fraction(1, 1000),
        Fraction(1, 4),
        Fraction(9, 16) - Fraction(1, 1000),
        Fraction(9, 4) - Fraction(1, 1000),
        Fraction(10),
        Fraction(10**6 + 1, 7),
        Fraction(2**92 + 1, 3),
        Fraction(2**103),
    ],
)
def test_the_computed_exponent_of_a_proposal_is_within_its_slack(sigma_squared):
    sampler = GaussianSampler(sigma_squared)
    reach = 9 * math.sqrt(sigma_squared) + 3
    values = np.unique((np.random.default_rng().random(3000) * reach).astype(np.int64))
    for value, computed in zip(values.tolist(), sampler.exponents(values).tolist(), strict=True):
        exact = sampler.exponent(value)
        assert abs(Fraction(computed) - exact) <= Fraction(draws.SLACK) or (computed > 16 and exact > 16)


def test_the_callers_decimal_context_cannot_reach_a_draw():
    words = fresh(200)
    want = [LazyUniform(int(word) >> 1, 63, Stream(fresh(9))).floor(Fraction(1)) for word in words]
    with decimal.localcontext() as context:
        context.prec = 2
        context.rounding = decimal.ROUND_UP
        context.Emax, context.Emin = 3, -3
        for trap in context.traps:
            context.traps[trap] = True
        got = [LazyUniform(int(word) >> 1, 63, Stream(fresh(9))).floor(Fraction(1)) for word in words]
    assert got == want


def test_the_bounds_of_an_exponential_hold_at_every_length():
    rng = np.random.default_rng()
    with mpmath.workdps(150):
        for length in (1, 5, 63, 64, 127, 320):
            top = 2**length
            for numerator in {0, 1, top - 1, top // 2, *(int(rng.random() * top) for _ in range(20))}:
                uniform = LazyUniform(numerator, length, Stream(fresh(0)))
                least, most = uniform.exponential()
                assert mpmath.mpf(str(least)) <= -mpmath.log(mpmath.mpf(numerator + 1) / top)
                if numerator:
                    assert mpmath.mpf(str(most)) >= -mpmath.log(mpmath.mpf(numerator) / top)
                else:
                    assert most is None
                low, high = uniform.log_exponential()
                if low is not None:
                    assert mpmath.mpf(str(low)) <= mpmath.log(-mpmath.log(mpmath.mpf(numerator + 1) / top))
                if high is not None:
                    assert mpmath.mpf(str(high)) >= mpmath.log(-mpmath.log(mpmath.mpf(numerator) / top))


def test_a_coin_compares_the_digits_of_its_probability():
    third = Coin(Fraction(1, 3))
    digit = 2**64 // 3
    below, equal, above = (np.array([word], dtype=np.uint64) for word in (digit - 1, digit, digit + 1))
    for coin_words, answer in ((below, True), (above, False)):
        assert third.draw(Stream(coin_words)) is answer
        assert third.fill(1, Stream(coin_words)).tolist() == [answer]
    for following, answer in ((below, True), (above, False)):
        both = np.concatenate([equal, following])
        assert third.draw(Stream(both)) is answer
        assert third.fill(1, Stream(both)).tolist() == [answer]
    half = np.array([2**63], dtype=np.uint64)
    assert Coin(Fraction(1, 2)).draw(Stream(half)) is False
    assert Coin(Fraction(1, 2)).fill(1, Stream(half)).tolist() == [False]


def test_uniform_draws_reject_the_words_that_would_favour_some():
    words = np.array([2**64 - 1, 5], dtype=np.uint64)  # 2**64 = 1 (mod 3), so the last word is one too many
    assert Below(3).draw(Stream(words)) == 2
    assert Below(3).fill(1, Stream(words)).tolist() == [2]
    assert Below(2**64).draw(Stream(words)) == 2**64 - 1
    assert Below(1).fill(2, Stream(words)).tolist() == [0, 0]
    assert Below(2**63).fill(1, Stream(words)).tolist() == [2**63 - 1]


def test_bits_are_taken_from_the_top_of_whole_words():
    assert bits(Stream(np.array([2**63], dtype=np.uint64)), 1) == 1
    assert bits(Stream(np.array([1, 2**63], dtype=np.uint64)), 65) == 3
    assert bits(Stream(np.array([5, 9], dtype=np.uint64)), 128) == 5 << 64 | 9
    assert bits(Stream(fresh(0)), 0) == 0
