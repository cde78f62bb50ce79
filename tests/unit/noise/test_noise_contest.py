"""Noisy maxima: bounds that hold, the same winners on both paths, gaps that are those of the real noisy scores."""

from __future__ import annotations

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from privet.core.errors import BadParameter, BadValue
from privet.noise import noisy_max, noisy_top, noisy_top_with_gaps
from privet.noise.contest import Contest
from worlds import Stream, fresh

F = Fraction
LAWS = ["gumbel", "exponential", "laplace"]


CASES = [
    ([0.0, 1.0, 2.5, -3.0], F(1, 2)),
    ([1e300, -1e300, 1e300, 0.0], F(1)),
    ([5e-324, 0.0, 1e-323], F(2) ** 1074),
    ([0.1, 1e9, 12345.678, 987654.321], F(1, 3)),
    ([2**63 - 1, -(2**63), 0], F(1, 2**63)),
    ([10**40, 10**40 + 3, -(10**40), 10**40 + 2**60], F(1, 3)),
    ([F(1, 3), F(1, 2), F(10**500, 3)], F(1, 10**500)),
    ([3.0, 3.0, 3.0], F(1)),
]


def key_of(law: str, word: int, numerator: int, behind: mpmath.mpf) -> mpmath.mpf:
    drawn = -mpmath.log(mpmath.mpf(numerator) / 2**63)
    return behind + drawn if law == "laplace" and word >= 2**63 else behind - drawn


@pytest.mark.parametrize("law", ["exponential", "laplace"])
@pytest.mark.parametrize(("scores", "rate"), CASES)
def test_the_true_key_lies_within_its_bounds(scores, rate, law):
    special = np.array([0, 1, 2, 2**10, 2**63 - 1, 2**63 - 2, 2**63, 2**63 + 1, 2**64 - 1], dtype=np.uint64)
    words = np.concatenate([np.repeat(special, len(scores)), fresh(120 * len(scores))]).reshape(-1, len(scores))
    low, high = Contest(scores, rate, law)._keys(words)
    exact = [rate * F(score) for score in scores]
    with mpmath.workdps(80):
        for row in range(words.shape[0]):
            for lane, score in enumerate(exact):
                behind = mpmath.mpf((max(exact) - score).numerator) / (max(exact) - score).denominator
                word = int(words[row, lane])
                ends = [key_of(law, word, word % 2**63 + more, behind) for more in (0, 1) if word % 2**63 + more]
                assert low[row, lane] <= min(ends)
                assert high[row, lane] >= max(ends)
                if word % 2**63 == 0:
                    assert (low[row, lane], high[row, lane]) == (-math.inf, math.inf)


@pytest.mark.parametrize("law", ["exponential", "laplace"])
@pytest.mark.parametrize("direction", [-1, 1])
def test_the_true_key_lies_within_its_bounds_whatever_the_logarithm(law, direction):
    def poor_log(x, out=None):
        return np.multiply(np.log(x), 1 + direction * 3.5 * 2.0**-52, out=out)

    words = fresh(2000).reshape(-1, 1)
    low, high = Contest([0.0], F(1), law)._keys(words, log=poor_log)
    with mpmath.workdps(50):
        for word, least, most in zip(words[:, 0].tolist(), low[:, 0].tolist(), high[:, 0].tolist(), strict=True):
            ends = [key_of(law, word, word % 2**63 + more, mpmath.mpf(0)) for more in (0, 1)]
            assert least <= min(ends)
            assert most >= max(ends)


@pytest.mark.parametrize("law", LAWS)
def test_ordinary_bounds_are_narrow(law):
    low, high = Contest(list(np.arange(50.0)), F(1, 10), law)._keys(fresh(5000).reshape(100, 50))
    assert np.quantile(high - low, 0.99) < 1e-10


def close(contest, monkeypatch):
    monkeypatch.setattr(
        contest, "_keys", lambda words: (np.full(words.shape, -math.inf), np.full(words.shape, math.inf))
    )
    return contest


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize(("scores", "rate"), CASES)
def test_winners_and_their_order_do_not_depend_on_the_road(monkeypatch, scores, rate, law):
    words = fresh(40 * len(scores) + 1000)
    fast = Contest(scores, rate, law).fill(40, Stream(words))
    assert close(Contest(scores, rate, law), monkeypatch).fill(40, Stream(words)).tolist() == fast.tolist()
    for turn in range(10):
        words = fresh(len(scores) + 200)
        for count in range(1, len(scores) + 1):
            order = Contest(scores, rate, law).leaders(count, Stream(words))
            slow = close(Contest(scores, rate, law), monkeypatch).leaders(count, Stream(words))
            assert order == slow, (turn, count)
            assert order[0] == Contest(scores, rate, law).draw(Stream(words))


@pytest.mark.parametrize("law", ["exponential", "laplace"])
def test_equal_words_and_scores_go_on_to_the_bits_that_follow(law):
    word = 2**62 + 12345
    for following, order in (([5, 9], [0, 1]), ([9, 5], [1, 0]), ([7, 7, 1, 5], [0, 1])):
        # The lesser U is the greater noise, and wins.
        for flip, expected in ((0, order), (2**63 if law == "laplace" else 0, None)):
            stream = Stream(np.array([word + flip, word + flip, *following], dtype=np.uint64))
            found = Contest([4.0, 4.0], F(1), law).leaders(2, stream)
            assert found == (expected if expected else order[::-1] if law == "laplace" else order)
            assert stream.used == 2 + len(following)


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("closed", [False, True])
def test_gaps_are_those_of_the_real_noisy_scores(monkeypatch, law, closed):
    scores, rate, step = [3, F(7, 2), -1, 10, F(10)], F(2, 3), F(1, 2**10)
    for _ in range(30):
        words = fresh(500)
        contest = Contest(scores, rate, law)
        if closed:
            close(contest, monkeypatch)
        stream = Stream(words)
        order, gaps = contest.leaders_and_gaps(4, step, stream)
        with mpmath.workdps(40):
            keys = []
            for i, score in enumerate(scores):
                noise = -mpmath.log((mpmath.mpf(int(words[i]) % 2**63) + mpmath.mpf(1) / 2) / 2**63)
                if law == "gumbel":
                    noise = -mpmath.log(noise)
                if law == "laplace" and words[i] >= 2**63:
                    noise = -noise
                keys.append((noise * 3 / 2 + mpmath.mpf(F(score).numerator) / F(score).denominator, i))
            keys.sort(reverse=True)
            assert order == [i for _, i in keys[:4]]
            for gap, (a, _), (b, _) in zip(gaps, keys, keys[1:], strict=False):
                assert abs((a - b) * 2**10 - gap - mpmath.mpf(1) / 2) <= mpmath.mpf(1) / 2 + mpmath.mpf(10) ** -6


@pytest.mark.parametrize("law", LAWS)
def test_far_better_scores_always_win(law):
    assert not noisy_max([0.0, -1e300], 1, law=law, size=500).any()
    assert (noisy_max(np.array([-(2**63), 2**63 - 1]), 1, law=law, size=500) == 1).all()
    assert noisy_top([10**5000, -(10**5000), 0], 1, law=law, winners=3).tolist() == [0, 2, 1]


def test_types_and_shapes():
    assert type(noisy_max([1.0, 2.0], 1, law="laplace")) is int
    assert noisy_max([1.0, 2.0], 1, law="laplace", size=(2, 3)).shape == (2, 3)
    order, gaps = noisy_top_with_gaps([1.0, 2.0, 3.0], 1, law="laplace", winners=2, step=F(1, 4))
    assert order.dtype == np.int64
    assert all(type(gap) is int and gap >= 0 for gap in gaps)


def test_what_is_no_contest_is_refused():
    with pytest.raises(BadParameter, match="law must be"):
        noisy_max([1.0], 1, law="gauss")
    for rate in (0, -1, math.inf, None):
        with pytest.raises(BadParameter, match="rate must be"):
            noisy_max([1.0], rate, law="laplace")
    for winners in (0, 4, 1.5):
        with pytest.raises(BadParameter, match="winners must be"):
            noisy_top([1.0, 2.0, 3.0], 1, law="gumbel", winners=winners)
    with pytest.raises(BadParameter, match="winners must be"):
        noisy_top_with_gaps([1.0, 2.0], 1, law="laplace", winners=2, step=F(1))
    with pytest.raises(BadParameter, match="step must be"):
        noisy_top_with_gaps([1.0, 2.0], 1, law="laplace", winners=1, step=F(0))
    with pytest.raises(BadValue, match="scores must be"):
        noisy_max([math.nan], 1, law="laplace")
