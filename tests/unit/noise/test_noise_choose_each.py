"""A choice in each of many groups: envelopes above every weight, tosses that decide exactly, each group's own law."""

from __future__ import annotations

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from privet.core.errors import InvariantError, RequestError
from privet.noise import below_each, choose_each
from privet.noise.choosing import MOST_GROUPS, accepts, accepts_each, below_each_from, choose_each_from, envelopes
from privet.noise.source import MASK
from worlds import Script

DRAWS = 20_000


@pytest.mark.parametrize("rate", [Fraction(0), Fraction(1, 3), Fraction(7, 2), Fraction(10**40)], ids=str)
@pytest.mark.parametrize("top", [1, 2**61])
def test_no_weight_of_a_group_exceeds_its_bound_and_bounds_are_hardly_more(rate: Fraction, top: int) -> None:
    generator = np.random.default_rng(17)
    sizes = np.array([1, 30, 7, 30])
    widths = generator.integers(0, top, size=68, endpoint=True) // 30
    widths[[0, 1, 31, 38]] += 1
    gaps = generator.choice([0, 1, 2, 50, 744, 746, 10**6, 2**61], size=68).astype(np.int64)
    bounds, behind, units = envelopes(widths, gaps, sizes, rate)
    steps, unit_of = np.diff(bounds, prepend=0).tolist(), np.repeat(units, sizes).tolist()
    with mpmath.workdps(60):
        for width, gap, bound, unit in zip(widths.tolist(), behind.tolist(), steps, unit_of, strict=True):
            if width == 0:
                assert bound == 0
                continue
            weight = width * mpmath.exp(-mpmath.mpf(rate.numerator) * gap / rate.denominator) * mpmath.mpf(2) ** unit
            assert weight <= bound <= weight * (1 + mpmath.mpf(2) ** -38) + 1
    totals = np.add.reduceat(np.diff(bounds, prepend=0), np.cumsum(sizes) - sizes)
    assert (totals > 2**55).all()
    assert int(bounds[-1]) < 2**62


def test_every_group_is_chosen_from_by_its_own_weights() -> None:
    groups = [([1, 5, 2], [0, 3, 1]), ([4], [9]), ([0, 3, 0, 3], [0, 40, 2, 41])]
    sizes = np.array([3, 1, 4] * DRAWS)
    assert sizes.size <= MOST_GROUPS
    widths, gaps = (np.array([one for group in groups for one in group[of]] * DRAWS) for of in (0, 1))
    rate = Fraction(2, 3)
    chosen = choose_each(widths, gaps, sizes, rate) % 8
    for index, (first, (wide, far)) in enumerate(zip((0, 3, 4), groups, strict=True)):
        raw = [w * math.exp(-float(rate) * (gap - min(far))) for w, gap in zip(wide, far, strict=True)]
        seen = np.bincount(chosen[index::3] - first, minlength=len(wide))
        for count, weight in zip(seen.tolist(), raw, strict=True):
            p = weight / sum(raw)
            assert abs(count - DRAWS * p) <= 6 * math.sqrt(DRAWS * p * (1 - p))


def test_what_has_a_bound_and_next_to_no_weight_is_drawn_tossed_for_and_refused() -> None:
    widths, gaps, sizes = np.array([1, 2**40, 7]), np.array([0, 10**7, 0]), np.array([2, 1])
    bounds = envelopes(widths, gaps, sizes, Fraction(1))[0]
    # a number for each group, of which the first finds the far option; a toss for each; then again for the first alone
    source = Script(int(bounds[1]) - 1, 3, MASK // 2, MASK // 2, 0, MASK // 2)
    assert choose_each_from(source, widths, gaps, sizes, Fraction(1)).tolist() == [0, 2]
    assert len(source.told) == 0


@pytest.mark.parametrize(
    ("wide", "bound", "unit", "x"), [(1, 3, 0, Fraction(0)), (5, 7, 1, Fraction(9)), (3, 2**40, 20, Fraction(1, 7))]
)
def test_a_toss_in_an_array_decides_as_a_single_one_does(wide: int, bound: int, unit: int, x: Fraction) -> None:
    ratio = Fraction(wide, bound) * 2**unit
    with mpmath.workdps(60):
        exact = mpmath.mpf(ratio.numerator) / ratio.denominator * mpmath.exp(-mpmath.mpf(x.numerator) / x.denominator)
        first = int(exact * 2**63)  # the word whose 63 bits straddle the probability
        second = int((exact * 2**63 - first) * 2**64)
    words = [0, 1, first // 2, first - 2**21, first - 1, first + 1, first + 2**22, MASK]
    size = len(words)
    widths, bounds = np.full(size, wide), np.cumsum(np.full(size, bound))
    told = (
        widths,
        bounds,
        np.full(size, x.numerator),
        Fraction(1, x.denominator),
        np.arange(size),
        np.full(size, unit),
    )
    alone = [accepts(ratio, x, source=Script(word)) for word in words]
    assert alone == [word < first for word in words]
    assert accepts_each(*told, Script(*words)).tolist() == alone
    one = (*(array[:1] for array in told[:3]), told[3], told[4][:1], told[5][:1])
    assert accepts_each(*one, Script(first, second - 1)).tolist() == [True]
    assert accepts_each(*one, Script(first, second + 1)).tolist() == [False]


def test_numbers_below_bounds_are_uniform_and_words_that_favour_some_are_drawn_again() -> None:
    source = Script(2**64 - 1, 2**64 - 1, 2**63 + 5, 7)
    assert below_each_from(source, np.array([3, 1, 2**62])).tolist() == [1, 0, 5]
    assert below_each_from(Script(2**64 - 2), np.array([3])).tolist() == [2]
    seen = np.bincount(below_each(np.full(DRAWS, 5)), minlength=5)
    assert seen.sum() == DRAWS
    assert (np.abs(seen - DRAWS / 5) <= 6 * math.sqrt(DRAWS * 0.16)).all()


def test_no_groups_are_no_choices() -> None:
    nothing = np.empty(0, dtype=np.int64)
    assert choose_each(nothing, nothing, nothing, Fraction(1)).tolist() == []


def test_choices_among_nothing_are_a_mistake_of_ours() -> None:
    with pytest.raises(InvariantError):
        choose_each(np.array([1, 0]), np.array([0, 0]), np.array([1, 1]), Fraction(1))


@pytest.mark.parametrize(
    ("widths", "sizes", "rate", "named"),
    [([1, 1], [1, 1], -1, "rate"), ([1, 1], [2, 0], 1, "sizes"), ([1, 1], [3], 1, "sizes"), ([1], [1], -1, "rate")],
)
def test_what_is_no_group_is_refused_by_name(widths: list[int], sizes: list[int], rate: int, named: str) -> None:
    with pytest.raises(RequestError, match=f"{named} must be"):
        choose_each(np.array(widths), np.array([0] * len(widths)), np.array(sizes), Fraction(rate))


def test_more_groups_than_have_room_are_refused() -> None:
    with pytest.raises(RequestError, match="sizes must be"):
        choose_each(*(np.ones(MOST_GROUPS + 1, dtype=np.int64),) * 3, Fraction(1))
