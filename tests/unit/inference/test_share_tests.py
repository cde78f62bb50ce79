"""Tails of sums, proportions of an unknown number of people, differences: never anticonservative, and close."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import binom, norm

from privet.core.errors import RequestError
from privet.inference import two_proportions_test
from privet.inference.noisy_binomial import BinomialPart, NoisePart, SumLaw
from privet.inference.proportion_tests import (
    UNCOVERED,
    CountedShare,
    ShareTest,
    TwoShares,
    _reach_of_two,
    conclude_unknown,
)
from privet.mechanisms import DiscreteGaussian, DiscreteLaplace
from privet.mechanisms.laws import NoiseLaw

LAWS = [DiscreteLaplace(scale=1), DiscreteLaplace(scale=3), DiscreteGaussian(sigma_squared=3)]


@pytest.mark.parametrize("law", LAWS, ids=repr)
@pytest.mark.parametrize(("people", "share"), [(30, 0.3), (300, 0.05)])
def test_tails_are_never_below_those_of_the_sum_and_close(law: NoiseLaw, people: int, share: float) -> None:
    found = SumLaw((BinomialPart(people, share, 1.0), NoisePart(law, 1 - share), NoisePart(law, -share)))
    noise = np.arange(-60, 61)
    joint = np.outer(law.pmf(noise), law.pmf(noise))
    away = (1 - share) * noise[:, None] - share * noise[None, :]

    def above(x: float) -> float:
        least = np.ceil(x + people * share - away - 1e-9)
        return float((binom.sf(least - 1, people, share) * joint).sum())

    for deviations in (-2.0, -0.3, 0.0, 1.0, 2.0, 3.0):
        x = deviations * found.deviation
        assert above(x) <= found.at_least(x) <= above(x - 0.08 * found.deviation) * 1.001 + 1e-6
        below = 1 - above(x + 1e-9)
        assert below * (1 - 1e-9) <= found.at_most(x) <= (1 - above(x + 0.08 * found.deviation)) * 1.001 + 1e-6


def test_the_reach_of_two_noises_is_the_least_with_its_tail() -> None:
    law = DiscreteLaplace(scale=2)
    both = np.convolve(law.pmf(np.arange(-200, 201)), law.pmf(np.arange(-200, 201)))
    reach = _reach_of_two(law, 1e-4)
    assert both[400 + reach :].sum() <= 1e-4 < both[400 + reach - 1 :].sum()
    wide = _reach_of_two(DiscreteGaussian(sigma_squared=9), 1e-4)
    assert wide >= norm.isf(1e-4) * math.sqrt(18)


def rejected(people: tuple[int, int], shares: tuple[float, float], scale: float, known: bool) -> float:
    """Return how often a test at level 0.05 rejects that two shares are equal, among 30 simulated releases."""
    source = np.random.default_rng(7)
    a = math.exp(-1 / scale)
    law = DiscreteLaplace(scale=scale)

    def noisy(count: int) -> int:
        return int(count + source.geometric(1 - a) - source.geometric(1 - a))

    found = 0
    for _ in range(30):
        sides = []
        for n, share in zip(people, shares, strict=True):
            hits = int(source.binomial(n, share))
            facts = {"people": n} if known else {"misses": noisy(n - hits)}
            sides.append(CountedShare(noisy(hits), law, **facts))
        two = TwoShares(*sides)
        found += min(two.chance(0.0, 1), two.chance(0.0, -1)) <= 0.025
    return found / 30


@pytest.mark.parametrize("known", [True, False])
def test_two_equal_shares_are_rejected_at_the_level_at_most(known: bool) -> None:
    # a fixed seed: 0.05 and 4 standard deviations of 30 draws; and a difference of 5 standard errors
    assert rejected((400, 700), (0.3, 0.3), 2.0, known) <= 0.05 + 4 * math.sqrt(0.05 * 0.95 / 30)
    assert rejected((400, 700), (0.3, 0.45), 2.0, known) >= 0.8


def test_shares_of_an_unknown_number_of_people_are_rejected_at_the_level_at_most() -> None:
    source, scale = np.random.default_rng(8), 2.0
    a, law = math.exp(-1 / scale), DiscreteLaplace(scale=scale)
    missed = 0
    for _ in range(400):
        hits = int(source.binomial(200, 0.2))
        noise = source.geometric(1 - a, 2) - source.geometric(1 - a, 2)
        counted = CountedShare(int(hits + noise[0]), law, misses=int(200 - hits + noise[1]))
        missed += min(counted.upper(0.2), counted.lower(0.2)) + UNCOVERED <= 0.025
    # a fixed seed: between 0.02 and 0.05, and 5 standard deviations of 400 draws
    assert 0.02 - 5 * 0.007 <= missed / 400 <= 0.05 + 5 * 0.011


def test_the_worst_number_of_people_is_taken() -> None:
    counted = CountedShare(40, DiscreteLaplace(scale=5), misses=160)
    low, high = counted.sizes[:2]
    assert low < 200 < high
    for share in (0.1, 0.2, 0.3):
        each = [
            SumLaw(counted.parts(share, people, 1.0)).at_least(counted.moved(share)) for people in range(low, high + 1)
        ]
        assert counted.upper(share) >= max(each) * 0.999


def test_negative_counts_have_a_result() -> None:
    counted = CountedShare(-9, DiscreteLaplace(scale=5), misses=-3)
    found = conclude_unknown(counted, ShareTest(0.5), 0.95)
    assert found.interval[0] <= found.estimate.value <= found.interval[1]
    two = two_proportions_test((-5, 90), people=(40, 60), epsilon=1)
    assert two.p_value is not None
    assert two.p_value < 0.001


def test_a_difference_is_equivalent_only_within_its_bounds() -> None:
    near = two_proportions_test((500, 505), people=(2000, 2000), epsilon=1, within=(-0.05, 0.05))
    far = two_proportions_test((500, 700), people=(2000, 2000), epsilon=1, within=(-0.05, 0.05))
    assert near.p_value is not None
    assert far.p_value is not None
    assert near.p_value < 0.01 < 0.9 < far.p_value
    one_sided = two_proportions_test((500, 560), people=(2000, 2000), epsilon=1, alternative="less")
    assert one_sided.p_value is not None
    assert one_sided.p_value == pytest.approx(norm.cdf(-0.03 / math.sqrt((0.1875 + 0.2016) / 2000)), rel=0.35)


@pytest.mark.parametrize(
    ("released", "given"),
    [
        ((1, 2, 3), {}),
        ((1.5, 2), {}),
        ((1, 2), {"equals": 2}),
        ((1, 2), {"within": (0.1, -0.1)}),
        ((1, 2), {"within": (-0.1, 0.1), "alternative": "less"}),
        ((1, 2), {"confidence": 0.99999}),
    ],
)
def test_what_makes_no_sense_is_refused(released: tuple[int, int], given: dict[str, float]) -> None:
    with pytest.raises(RequestError):
        two_proportions_test(released, people=(10, 10), epsilon=1, **given)  # type: ignore[arg-type]
