"""The error band of float64: every computed exponential is within it, and half of it would not do.

The oracle for all of the ten million values is the 80-bit logarithm of the C library, whose error of about 2**-63
is a thousandth of the band; a sample, and the words closest to a boundary, are checked with mpmath at 60 digits.
"""

from __future__ import annotations

import functools
import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from privet.noise import source
from privet.noise.draws import Geometric
from privet.noise.source import BAND, LEAST_UNIFORM, LOG_ACCURACY, MASK, LazyUniform, floors, logs, reach

EPS = 2.0**-53
DEMANDED_ACCURACY = 8
"""The accuracy of the logarithm that the band must allow for, written down a second time on purpose."""

extended = pytest.mark.skipif(np.finfo(np.longdouble).nmant < 63, reason="no 80-bit long double on this platform")


def random_words(count: int) -> np.ndarray:
    return np.random.default_rng().integers(0, 2**63, count, dtype=np.uint64)


def near_zero(count: int) -> np.ndarray:
    """Words whose U is spread evenly in logarithm from the least decided one up."""
    rng = np.random.default_rng()
    return (2.0 ** (43 + 20 * rng.random(count))).astype(np.uint64) & np.uint64(MASK)


def near_one(count: int) -> np.ndarray:
    rng = np.random.default_rng()
    return np.uint64(2**63) - np.maximum(2.0 ** (62 * rng.random(count)), 1.0).astype(np.uint64)


def near_boundaries(count: int, scale: int) -> np.ndarray:
    """Words within a few units of the U where floor(scale * E) steps."""
    rng = np.random.default_rng()
    steps = rng.integers(1, max(2, int(13.5 * scale)), count)
    boundary = np.exp(-steps.astype(np.longdouble) / scale) * np.longdouble(2) ** 63
    return (boundary.astype(np.int64) + rng.integers(-3, 4, count)).astype(np.uint64)


def true_exponential(numerator: np.ndarray) -> np.ndarray:
    """Return -ln(numerator / 2**63) with an 80-bit logarithm, by log1p near one."""
    numerator = numerator.astype(np.uint64)
    unit = np.longdouble(2) ** -63
    rest = (np.uint64(2**63) - numerator).astype(np.longdouble) * unit
    far = -np.log(np.maximum(numerator, np.uint64(1)).astype(np.longdouble) * unit)
    return np.where(rest < 0.5, -np.log1p(-rest), far)


@extended
@pytest.mark.parametrize(
    ("place", "count"),
    [(near_zero, 3_000_000), (near_one, 3_000_000), (random_words, 1_000_000)],
)
def test_every_computed_exponential_is_within_the_band(place, count):
    words = place(count)
    computed = -logs(words)
    known = ~np.isnan(computed)
    words, computed = words[known], computed[known].astype(np.longdouble)
    # Without the share of the band that pays for the scale and the product.
    allowance = BAND - 2 * 13.87 * EPS
    assert (np.abs(computed - true_exponential(words)) <= allowance).all()
    assert (np.abs(computed - true_exponential(words + np.uint64(1))) <= allowance).all()


@extended
@pytest.mark.parametrize("scale", [1, 1000, 2**20])
def test_a_decided_floor_at_a_boundary_is_the_true_floor(scale):
    words = near_boundaries(1_000_000, scale)
    whole, open_lanes = floors(words, float(scale))
    decided = np.ones(words.size, dtype=bool)
    decided[open_lanes] = False
    for end in (words[decided], words[decided] + np.uint64(1)):
        assert (np.floor(true_exponential(end) * scale) == whole[decided]).all()


def test_the_band_holds_against_sixty_digits():
    words = np.concatenate(
        [place(700) for place in (near_zero, near_one, random_words)] + [near_boundaries(700, s) for s in (1, 10**6)]
    )
    computed = -logs(words)
    with mpmath.workdps(60):
        for word, value in zip(words.tolist(), computed.tolist(), strict=True):
            if not math.isnan(value):
                for end in (word, word + 1):
                    assert abs(value + mpmath.log(mpmath.mpf(end) / 2**63)) <= BAND - 2 * 13.87 * EPS


def test_the_logarithm_of_this_numpy_is_as_accurate_as_assumed():
    uniform = np.concatenate([near_zero(4000), near_one(4000), random_words(4000)]).astype(np.float64) * 2.0**-63
    uniform = uniform[(uniform >= LEAST_UNIFORM) & (uniform < 1)]
    computed = np.log(uniform)
    worst = 0.0
    with mpmath.workdps(40):
        for operand, value in zip(uniform.tolist(), computed.tolist(), strict=True):
            truth = mpmath.log(mpmath.mpf(operand))
            worst = max(worst, float(abs(value - truth) / abs(truth) / EPS))
            assert abs(math.log(operand) - truth) <= LOG_ACCURACY * EPS * abs(truth)
    assert worst <= LOG_ACCURACY / 2


@functools.cache
def words_that_hurt() -> tuple[np.ndarray, np.ndarray]:
    """Return words whose cell holds a step of the floor near its upper end, and the floor beyond the step.

    U is just above the least that is decided, where the cell is widest, so a computed value at the lower end is as
    far from the step as the band allows for, and the bits that follow can still put the truth beyond it.
    """
    scale = 2**20
    most = 20 * math.log(2)
    chosen = []
    with mpmath.workdps(40):
        for step in range(math.ceil(scale * (most - 0.01)), math.floor(scale * most)):
            point = mpmath.exp(-mpmath.mpf(step) / scale) * 2**63
            word = int(point)
            if point - word > 0.99:
                chosen.append((word, step - 1))
    words, truth = zip(*chosen, strict=True)
    return np.array(words, dtype=np.uint64), np.array(truth)


def poor_log(uniform: np.ndarray, out: np.ndarray) -> np.ndarray:
    """A logarithm that is as bad as the band must allow for."""
    logarithm = np.log(uniform.astype(np.longdouble))
    out[...] = logarithm * (1 + np.longdouble(DEMANDED_ACCURACY) * np.longdouble(2) ** -53)
    return out


def wrong_decisions() -> int:
    words, truth = words_that_hurt()
    assert words.size > 50
    whole, open_lanes = floors(words, 2.0**20, log=poor_log)
    decided = np.ones(words.size, dtype=bool)
    decided[open_lanes] = False
    return int(np.count_nonzero(decided & (whole != truth)))


@extended
def test_a_logarithm_as_bad_as_assumed_decides_nothing_wrongly():
    assert wrong_decisions() == 0


@extended
@pytest.mark.parametrize("accuracy", [DEMANDED_ACCURACY / 2, 0])
def test_half_the_assumed_accuracy_would_decide_wrongly(monkeypatch, accuracy):
    narrow = 2.0**-43 + EPS + 13.87 * (accuracy + 2) * EPS
    monkeypatch.setattr(source, "BAND", narrow)
    assert wrong_decisions() > 0


@extended
@pytest.mark.parametrize("share", [1.0, 0.0])
def test_a_comparison_allows_for_the_slack_of_what_it_compares_with(share):
    """With a poor logarithm and x off by all of its slack, no lane is wrong; with no allowance for it, some are."""
    slack = 2.0**-44
    words, truth = words_that_hurt()
    edges = (truth + 1) / 2**20  # each cell holds exp(-edge), and the true E lies below the edge
    answer, open_lanes = reach(words, edges - slack, share * slack, log=poor_log)
    decided = np.ones(words.size, dtype=bool)
    decided[open_lanes] = False
    assert (decided & answer).any() == (share == 0.0)


def test_without_a_band_the_floor_ignores_the_bits_that_follow(monkeypatch):
    words, truth = words_that_hurt()
    monkeypatch.setattr(source, "BAND", 0.0)
    whole, open_lanes = floors(words, 2.0**20)
    assert open_lanes.size < words.size
    assert (whole != truth).any()


def test_the_words_that_hurt_are_decided_by_the_bits_that_follow():
    class Following:
        def __init__(self, word: int) -> None:
            self._word = word

        def word(self) -> int:
            return self._word

    words, truth = words_that_hurt()
    for word, floor in zip(words[:50].tolist(), truth[:50].tolist(), strict=True):
        assert LazyUniform(word, 63, Following(2**64 - 1)).floor(Fraction(2**20)) == floor
        assert LazyUniform(word, 63, Following(0)).floor(Fraction(2**20)) == floor + 1


def test_a_uniform_too_small_for_the_band_is_never_decided():
    words = np.array([0, 1, 2**42, 2**43 - 1], dtype=np.uint64)
    _, open_lanes = floors(words, 1.0)
    assert open_lanes.tolist() == [0, 1, 2, 3]
    assert floors(np.array([2**43 + 2**42], dtype=np.uint64), 1.0)[1].size == 0


def test_the_share_of_undecided_draws_is_small_at_every_scale():
    for scale in (Fraction(1, 10), Fraction(1), Fraction(10**3), Fraction(2**20), Fraction(10**12)):
        _, open_lanes = floors(random_words(2**20), Geometric(scale)._factor)
        assert open_lanes.size < 30
