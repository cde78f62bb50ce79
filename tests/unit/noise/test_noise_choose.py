"""One exact choice: an envelope that is above every weight and hardly above it, and a toss that decides exactly."""

from __future__ import annotations

from fractions import Fraction

import mpmath
import numpy as np
import pytest

from privet.core.errors import InvariantError, RequestError
from privet.noise import choose, fair_heads
from privet.noise.choosing import accepts, accepts_many, choose_from, choose_many, envelope
from privet.noise.coins import heads_from
from privet.noise.source import MASK
from worlds import Script

RATES = [Fraction(0), Fraction(1, 10**30), Fraction(1, 3), Fraction(7, 2), Fraction(10**9), Fraction(10**40)]


@pytest.mark.parametrize("rate", RATES, ids=str)
@pytest.mark.parametrize("top", [1, 1000, 2**61])
def test_no_weight_exceeds_its_bound_and_bounds_are_hardly_more(rate: Fraction, top: int) -> None:
    generator = np.random.default_rng(17)
    with mpmath.workdps(60):
        for _ in range(5):
            widths = generator.integers(0, top, size=30, endpoint=True)
            widths[generator.integers(30)] = top
            widths //= 30
            widths[0] += 1
            gaps = generator.choice([0, 1, 2, 50, 744, 746, 10**6, 2**61], size=30).astype(np.int64)
            bounds, behind, unit = envelope(widths, gaps, rate)
            steps = np.diff(bounds, prepend=0)
            for width, gap, bound in zip(widths.tolist(), behind.tolist(), steps.tolist(), strict=True):
                if width == 0:
                    assert bound == 0
                    continue
                weight = (
                    width * mpmath.exp(-mpmath.mpf(rate.numerator) * gap / rate.denominator) * mpmath.mpf(2) ** unit
                )
                assert weight <= bound <= weight * (1 + mpmath.mpf(2) ** -38) + 1
            assert 2**58 < int(bounds[-1]) < 2**62


def test_the_choice_has_exactly_the_weights_asked_for_even_with_a_poor_envelope() -> None:
    # Two options, of which the far one has a bound of 1 unit but a weight next to nothing: it must not come out.
    widths, gaps = np.array([1, 2**40]), np.array([0, 10**7])
    assert {choose(widths, gaps, Fraction(1)) for _ in range(50)} == {0}
    # Drawn all the same, it is tossed for and refused.
    top = int(envelope(widths, gaps, Fraction(1))[0][-1])
    source = Script(top - 1, MASK // 2, 0, MASK // 2)
    assert choose_from(source, widths, gaps, Fraction(1)) == 0
    assert len(source.told) == 0


def test_many_choices_are_tossed_for_and_drawn_again_as_one_is() -> None:
    widths, gaps = np.array([1, 2**40]), np.array([0, 10**7])
    assert set(choose(widths, gaps, Fraction(1), 50).tolist()) == {0}
    top = int(envelope(widths, gaps, Fraction(1))[0][-1])
    # three draws, of which the second is the far option; a toss for each, the near one's first; then one more of both
    source = Script(0, top - 1, 1, *[MASK // 2] * 3, 2, MASK // 2)
    assert choose_many(source, widths, gaps, Fraction(1), 3).tolist() == [0, 0, 0]
    assert len(source.told) == 0


def test_options_without_width_are_never_chosen_and_do_not_count_as_the_best() -> None:
    widths, gaps = np.array([0, 3, 0]), np.array([0, 900, 5])
    assert {choose(widths, gaps, Fraction(5)) for _ in range(20)} == {1}


def test_a_choice_among_nothing_is_a_mistake_of_ours() -> None:
    with pytest.raises(InvariantError):
        choose(np.array([0, 0]), np.array([0, 0]), Fraction(1))


def test_a_rate_below_zero_is_refused_by_name() -> None:
    with pytest.raises(RequestError, match="rate must be"):
        choose(np.array([1, 1]), np.array([0, 0]), Fraction(-1))


@pytest.mark.parametrize(
    ("ratio", "x"),
    [
        (Fraction(1, 3), Fraction(0)),
        (Fraction(1), Fraction(1, 7)),
        (Fraction(1000), Fraction(9)),
        (Fraction(3**4000, 5**2000), Fraction(1176)),
        (Fraction(1, 2**70), Fraction(0)),
        (Fraction(1), Fraction(10**15)),
    ],
    ids=["third", "exp", "both", "long", "rare", "never"],
)
def test_a_toss_compares_the_uniform_number_with_the_probability_exactly(ratio: Fraction, x: Fraction) -> None:
    with mpmath.workdps(1500):
        chance = mpmath.mpf(ratio.numerator) / ratio.denominator * mpmath.exp(-mpmath.mpf(x.numerator) / x.denominator)
        assert chance <= 1
        first = int(chance * 2**63)  # the word whose 63 bits straddle the probability
        second = int((chance * 2**63 - first) * 2**64)
    for word in (first - 1, first - 2**20, first // 2):
        if 0 <= word < first:
            assert accepts(ratio, x, source=Script(word))
    for word in (first + 1, first + 2**20, MASK):
        assert not accepts(ratio, x, source=Script(word))
    if second > 1:
        assert accepts(ratio, x, source=Script(first, second - 1))
    assert not accepts(ratio, x, source=Script(first, second + 1))


@pytest.mark.parametrize(("ratio", "x"), [(Fraction(1, 3), Fraction(0)), (Fraction(1000), Fraction(9))])
def test_many_tosses_decide_as_one_does(ratio: Fraction, x: Fraction) -> None:
    first = int(mpmath.mpf(ratio.numerator) / ratio.denominator * mpmath.exp(-int(x)) * 2**63)
    words = [0, 1, 2**40, first // 2, first - 2**20, first + 2**22, MASK // 2, MASK]
    alone = [accepts(ratio, x, source=Script(word)) for word in words]
    assert set(alone) == {True, False}
    assert accepts_many(ratio, x, len(words), Script(*words)).tolist() == alone


def test_a_certain_toss_is_certain() -> None:
    assert all(accepts(Fraction(1), Fraction(0), source=Script(word)) for word in (0, 1, MASK // 3, MASK))


def test_fair_heads_counts_the_bits_of_the_words() -> None:
    assert heads_from(Script(2**64 - 1), 0) == 0
    assert heads_from(Script(0b101 << 61 | 0b1111), 3) == 2
    assert heads_from(Script(0b1011, 2**64 - 1), 64) == 3
    assert heads_from(Script(1, 2**64 - 1, 0b11 << 62 | 1), 130) == 67
    assert abs(fair_heads(10**6 + 7) - 500_003) < 6 * 500
