"""The race of exponentials: bounds that hold, exact ties, and scores of any size and type."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from privet.core.errors import BadParameter, BadValue
from privet.noise import race
from privet.noise.contest import Race
from worlds import Stream, fresh

CASES = [
    ([0.0, 1.0, 2.5, -3.0], Fraction(1, 2)),
    ([1e300, -1e300, 1e300, 0.0], Fraction(1)),
    ([1.7e308, -1.7e308], Fraction(1, 10**308)),
    ([1.7e308, -1.7e308, 0.0, 5e-324], Fraction(1, 2**1080)),
    ([5e-324, 0.0, 1e-323], Fraction(2) ** 1070),
    ([5e-324, 0.0, 1e-323], Fraction(2) ** 1074),
    ([0.1, 0.2, 0.3], Fraction(-7, 3)),
    ([0.1, 1e9, 12345.678, 987654.321], Fraction(1, 3)),
    ([3, 10**15 + 1, 10**12], Fraction(1, 7)),
    ([5e-324, 0.0, 1e-323], Fraction(2) ** 2200),
    ([1.7e308, -1.7e308, 0.0], Fraction(1, 2**2200)),
    ([2**63 - 1, -(2**63), 0], Fraction(2) ** 2200),
    ([2**63 - 1, -(2**63), 0], Fraction(1, 2**2200)),
    ([2**63 - 1, -(2**63), 0], Fraction(1, 2**63)),
    ([2**63 - 1, -(2**63), 2**63 - 2], Fraction(-3, 2)),
    ([10**400, 10**400 + 1, 10**400 - 1], Fraction(1)),
    ([10**40, 10**40 + 3, -(10**40), 10**40 + 2**60, 10**40 - 2**59], Fraction(1, 3)),
    ([10**40, 10**40 + 3, -(10**4000), 10**40 + 2**60], Fraction(-7, 3)),
    ([10**40, 10**40 + 10**30], Fraction(1, 10**500)),
    ([Fraction(1, 3), Fraction(1, 2), Fraction(10**500, 3)], Fraction(1, 10**500)),
    ([3.0, 3.0, 3.0], Fraction(0)),
]


@pytest.mark.parametrize(("scores", "rate"), CASES)
def test_the_true_key_lies_within_its_bounds(scores, rate):
    contest = Race(scores, rate)
    special = np.array([0, 1, 2, 2**10, 2**63 - 1, 2**63 - 2, 2**63 - 2**12, 2**62, 2**63], dtype=np.uint64)
    words = np.concatenate([np.repeat(special, len(scores)), fresh(200 * len(scores))]).reshape(-1, len(scores))
    low, high = contest._keys(words)
    exact = [rate * Fraction(score) for score in scores]
    best = max(exact)
    with mpmath.workdps(80):
        for row in range(words.shape[0]):
            for lane, score in enumerate(exact):
                behind = mpmath.mpf((best - score).numerator) / (best - score).denominator
                numerator = int(words[row, lane]) % 2**63
                if numerator + 1 < 2**63:
                    least = mpmath.log(-mpmath.log(mpmath.mpf(numerator + 1) / 2**63)) + behind
                    assert low[row, lane] <= least
                else:
                    assert low[row, lane] == -math.inf
                if numerator:
                    assert high[row, lane] >= mpmath.log(-mpmath.log(mpmath.mpf(numerator) / 2**63)) + behind
                else:
                    assert high[row, lane] == math.inf


@pytest.mark.parametrize("direction", [-1, 1])
def test_the_true_key_lies_within_its_bounds_whatever_the_logarithm(direction):
    def poor_log(x, out=None):
        return np.multiply(np.log(x), 1 + direction * 3.5 * 2.0**-52, out=out)

    # U between 1 - 2**-10 and 1 - 2**-30, where ln E is large and E is still known well, and U far below 1
    words = np.uint64(2**63) - (2.0 ** np.linspace(33, 53, 2000)).astype(np.uint64)
    words = np.concatenate([words, fresh(2000) >> np.uint64(1)]).reshape(-1, 1)
    low, high = Race([0.0], Fraction(1))._keys(words, log=poor_log)
    with mpmath.workdps(50):
        for word, least, most in zip(words[:, 0].tolist(), low[:, 0].tolist(), high[:, 0].tolist(), strict=True):
            assert least <= mpmath.log(-mpmath.log(mpmath.mpf(word + 1) / 2**63))
            assert most >= mpmath.log(-mpmath.log(mpmath.mpf(word) / 2**63))


def test_ordinary_bounds_are_narrow():
    low, high = Race(list(np.arange(50.0)), Fraction(1, 10))._keys(fresh(5000).reshape(100, 50))
    assert np.quantile(high - low, 0.99) < 1e-10


@pytest.mark.parametrize(("scores", "rate"), CASES)
def test_winners_do_not_depend_on_the_road(monkeypatch, scores, rate):
    words = fresh(60 * len(scores) + 1000)
    fast = Race(scores, rate).fill(60, Stream(words))
    contest = Race(scores, rate)
    monkeypatch.setattr(
        contest, "_keys", lambda words: (np.full(words.shape, -math.inf), np.full(words.shape, math.inf))
    )
    assert contest.fill(60, Stream(words)).tolist() == fast.tolist()


def test_equal_words_and_scores_go_on_to_the_bits_that_follow():
    word = 2**62 + 12345
    for following, winner in (([5, 9], 1), ([9, 5], 0), ([7, 7, 1, 5], 1), ([7, 7, 5, 1], 0)):
        stream = Stream(np.array([word, word, *following], dtype=np.uint64))
        # The greater U is the lesser E, and wins.
        assert Race([4.0, 4.0], Fraction(1)).draw(stream) == winner
        assert stream.used == 2 + len(following)


def test_scores_that_differ_by_less_than_float64_can_see_still_count():
    word = 2**62
    big = 10**30
    stream = Stream(np.array([word, word, 0, 0], dtype=np.uint64))
    assert Race([big, big + 1], Fraction(1, 10**12)).draw(stream) == 1
    stream = Stream(np.array([word, word, 0, 0], dtype=np.uint64))
    assert Race([big + 1, big], Fraction(1, 10**12)).draw(stream) == 0


def test_a_hopeless_candidate_never_wins():
    assert not race([0.0, -1e300], 1, size=2000).any()
    assert (race([-1e300, 1e300, 0.0], 1, size=2000) == 1).all()
    assert (race(np.array([-(2**63), 2**63 - 1]), 1, size=2000) == 1).all()
    assert (race(np.array([0, 2**64 - 1], dtype=np.uint64), 1, size=2000) == 1).all()
    assert (race([10**5000, -(10**5000)], 1, size=200) == 0).all()
    assert (race([1.0, 2.0], -1000, size=2000) == 0).all()
    assert (race([Fraction(1, 10**400), 0], Fraction(2) ** 1090, size=200) <= 1).all()


def test_a_race_of_one_has_one_winner():
    assert race([5.0], 3) == 0
    assert race(np.array([7]), 0, size=4).tolist() == [0, 0, 0, 0]


def test_the_shape_and_type_follow_the_size():
    assert type(race([1.0, 2.0], 1)) is int
    assert race([1.0, 2.0], 1, size=(2, 3)).shape == (2, 3)
    assert race([1.0, 2.0], 1, size=0).dtype == np.int64
    with pytest.raises(BadParameter, match="size"):
        race([1.0], 1, size=-1)


@pytest.mark.parametrize(
    "scores",
    [
        [1, 2],
        (1.0, 2),
        [np.float32(1), 2],
        [Decimal("1.5"), 2],
        np.array([1, 2], dtype=np.int8),
        np.array([1, 2], dtype=np.uint64),
        np.array([1, 2], dtype=np.float16),
        np.array([1, 2], dtype=np.longdouble),
        np.array([Fraction(1, 3), 10**400], dtype=object),
        np.array([3.0, 2.0, 1.0])[::-2],
    ],
)
def test_scores_of_every_numeric_type_are_taken(scores):
    assert race(scores, Fraction(1, 10)) in (0, 1)


SECRET = 8675309


@pytest.mark.parametrize(
    "scores",
    [
        [],
        np.array([]),
        np.zeros((2, 2)),
        np.array(SECRET),
        SECRET,
        None,
        "8675309",
        [SECRET, math.nan],
        [math.inf, SECRET],
        np.array([SECRET, math.nan]),
        np.array([SECRET, math.inf], dtype=np.longdouble),
        [True, SECRET],
        ["8675309", 1],
        [1j * SECRET],
        [None],
        np.array([True]),
        np.array([1j * SECRET]),
        np.array(["8675309"]),
        [[SECRET], [1]],
        {SECRET: 1},
    ],
    ids=lambda scores: str(type(scores)),
)
def test_bad_scores_are_refused_without_being_quoted(scores):
    with pytest.raises(BadValue) as caught:
        race(scores, 1)
    assert caught.value.parameter == "scores"
    assert "8675309" not in str(caught.value.to_dict())
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__ or caught.value.__context__ is None


@pytest.mark.parametrize("rate", [math.nan, math.inf, "1", True, 1j, None, np.array(1.0), 10**1000])
def test_a_bad_rate_is_refused_by_name(rate):
    with pytest.raises(BadParameter) as caught:
        race([1.0], rate)
    assert caught.value.parameter == "rate"


@pytest.mark.parametrize(("nudge", "winner"), [(mpmath.mpf("1e-12"), 1), (mpmath.mpf("-1e-12"), 0)])
def test_a_near_tie_is_decided_exactly_and_not_by_the_wider_bound(nudge, winner):
    """The trailing candidate's bounds are ten thousand times wider; it must not win because its lower one is lower."""
    with mpmath.workdps(60):
        trailing = mpmath.exp(-mpmath.exp(-10) * (1 + nudge))
        leading = mpmath.exp(-1)
        words = [int(mpmath.floor(share * 2**63)) for share in (trailing, leading)]
    stream = Stream(np.array([*words, *fresh(64).tolist()], dtype=np.uint64))
    runner = Race([0.0, 10.0], Fraction(1))
    low, high = runner._keys(np.array([words], dtype=np.uint64))
    assert low[0, 0] < low[0, 1] < high[0, 1] < high[0, 0]
    assert runner.draw(stream) == winner
