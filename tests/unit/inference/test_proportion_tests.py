"""Tests of one proportion on released counts: exact levels, coverage, equivalence, what is needed, refusals."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy.special import ndtri
from scipy.stats import binom

from privet.core.errors import RequestError
from privet.inference import needed, proportion_power, proportion_test
from privet.inference.noisy_binomial import IntegerNoise, NoisyBinomial, SeenCount, TulapNoise
from privet.inference.proportion_tests import ShareTest, conclude_share
from privet.mechanisms import DiscreteGaussian, DiscreteLaplace, Tulap
from privet.mechanisms.laws import NoiseLaw

LAWS = [DiscreteLaplace(scale=2), DiscreteGaussian(sigma_squared=5), DiscreteGaussian(sigma_squared=40)]


def by_hand(people: int, share: float, law: NoiseLaw, count: int, part: float) -> float:
    """Return P[X + K > count] + (1/2 - part) P[X + K = count], term by term."""
    xs, ks = np.arange(people + 1), np.arange(-150, 151)
    joint = np.outer(binom.pmf(xs, people, share), law.pmf(ks))
    sums = xs[:, None] + ks[None, :]
    return float(joint[sums > count].sum() + (0.5 - part) * joint[sums == count].sum())


@pytest.mark.parametrize("law", LAWS, ids=repr)
@pytest.mark.parametrize(("count", "part"), [(12, 0.3), (4, -0.5), (-3, 0.5), (33, 0.0)])
def test_tails_are_those_of_the_sum(law: NoiseLaw, count: int, part: float) -> None:
    found = NoisyBinomial(30, 0.3, IntegerNoise(law))
    above = by_hand(30, 0.3, law, count, part)
    assert found.at_least(count, part) == pytest.approx(above, rel=1e-6, abs=1e-14)
    assert found.at_most(count, part) == pytest.approx(1 - above, rel=1e-6, abs=1e-12)


@pytest.mark.parametrize(("people", "share", "epsilon"), [(10**6, 0.4, 1.0), (10**8, 0.5, 0.05), (10**9, 0.001, 2.0)])
def test_both_ways_of_summing_agree(people: int, share: float, epsilon: float) -> None:
    noisy = NoisyBinomial(people, share, TulapNoise(Tulap(epsilon=epsilon)))
    assert noisy._sums_noise
    for deviations in (0.3, 2.5):
        count = int(people * share + deviations * noisy.deviation)
        over_counts = float(np.sum(noisy._chances * noisy.noise.below(noisy._counts - count, 0.2)))
        assert noisy.at_least(count, 0.2) == pytest.approx(over_counts, rel=1e-6)


def test_p_values_are_uniform_under_the_hypothesis() -> None:
    # exact: the probability of p <= alpha is alpha, by summing over the law of the release
    law, people, share = DiscreteLaplace(scale=1), 20, 0.3
    parts = (np.arange(64) + 0.5) / 64 - 0.5
    counts = np.arange(-40, 61)
    chances = [
        sum(float(binom.pmf(x, people, share)) * float(law.pmf(int(c - x))) for x in range(people + 1)) for c in counts
    ]
    noise = IntegerNoise(law)
    null = NoisyBinomial(people, share, noise)
    for alpha in (0.01, 0.05, 0.3):
        rejected = sum(
            chance * np.mean([null.at_least(int(count), float(part)) <= alpha for part in parts])
            for count, chance in zip(counts, chances, strict=True)
        )
        assert rejected == pytest.approx(alpha, abs=0.004)  # a 64th of the largest atom


def test_a_count_without_a_uniform_number_is_read_conservatively() -> None:
    whole = proportion_test(62, people=100, epsilon=1, equals=0.5, alternative="greater")
    parts = [
        proportion_test(Fraction(62) + Fraction(j, 100), people=100, epsilon=1, equals=0.5, alternative="greater")
        for j in (-49, 49)
    ]
    assert whole.p_value is not None
    assert all(part.p_value is not None and part.p_value < whole.p_value for part in parts)
    assert "conservative" in whole.notes[0]
    assert not parts[0].notes


def test_the_interval_holds_the_shares_that_are_not_rejected() -> None:
    found = proportion_test(17.4, people=60, epsilon=0.5, equals=0.5)
    for end in found.interval:
        at_end = proportion_test(17.4, people=60, epsilon=0.5, equals=end)
        assert at_end.p_value == pytest.approx(0.05, abs=1e-7)


@pytest.mark.parametrize(("released", "interval"), [(-40.2, (0, 0)), (150.3, (1, 1))])
def test_releases_beyond_every_share_have_an_interval(released: float, interval: tuple[float, float]) -> None:
    found = proportion_test(released, people=60, epsilon=1, equals=0.5)
    assert found.interval == interval
    assert found.estimate.value == interval[0]


def test_equivalence_rejects_only_if_both_one_sided_tests_do() -> None:
    found = proportion_test(500.2, people=1000, epsilon=1, within=(0.45, 0.55))
    low = proportion_test(500.2, people=1000, epsilon=1, equals=0.45, alternative="greater")
    high = proportion_test(500.2, people=1000, epsilon=1, equals=0.55, alternative="less")
    assert low.p_value is not None
    assert high.p_value is not None
    assert found.p_value == max(low.p_value, high.p_value) < 0.01
    assert "not between" in found.hypothesis


def test_coverage_is_that_of_the_confidence_level() -> None:
    # exact, by the law of the release: at each share the interval misses with 5%, as p-values are uniform
    people, share, law = 40, 0.2, DiscreteLaplace(scale=1)
    missed = 0.0
    parts = (np.arange(8) + 0.5) / 8 - 0.5
    for count in range(-25, 65):
        chance = sum(float(binom.pmf(x, people, share)) * float(law.pmf(count - x)) for x in range(people + 1))
        if chance < 1e-7:
            continue
        for part in parts:
            found = conclude_share(
                SeenCount(count, part, part), people, IntegerNoise(law), ShareTest(0.5), 0.95, method="exact"
            )
            missed += chance / len(parts) * (not found.interval[0] <= share <= found.interval[1])
    assert missed == pytest.approx(0.05, abs=0.015)  # an eighth of the largest atom


def test_power_of_two_sides_is_the_sum_of_both_tails() -> None:
    facts: dict[str, Any] = {"people": 200, "epsilon": 1, "equals": 0.5, "when": 0.58}
    both = proportion_power(**facts)
    sides = [proportion_power(**facts, alternative=side, level=0.025) for side in ("greater", "less")]
    assert both == pytest.approx(sum(sides), rel=1e-9)


def test_what_is_needed_is_the_least_that_is_enough() -> None:
    people = needed(equals=0.2, when=0.25, epsilon=0.5)
    assert isinstance(people, int)
    assert proportion_power(people=people, epsilon=0.5, equals=0.2, when=0.25) >= 0.8
    assert proportion_power(people=people - 1, epsilon=0.5, equals=0.2, when=0.25) < 0.8
    epsilon = needed(equals=0.2, when=0.25, people=1000, power=0.9)
    assert proportion_power(people=1000, epsilon=epsilon, equals=0.2, when=0.25) >= 0.9
    assert proportion_power(people=1000, epsilon=epsilon * 0.99, equals=0.2, when=0.25) < 0.9
    plain = (ndtri(0.975) * math.sqrt(0.16) + ndtri(0.8) * math.sqrt(0.1875)) ** 2 / 0.05**2
    assert needed(equals=0.2, when=0.25, epsilon=50) == pytest.approx(plain, rel=0.03)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"equals": 0.5, "when": 0.5, "epsilon": 1}, "another share"),
        ({"equals": 0.5, "when": 0.4, "epsilon": 1, "alternative": "greater"}, "side"),
        ({"equals": 0.5, "when": 0.6}, "either epsilon"),
        ({"equals": 0.5, "when": 0.6, "people": 10}, "no epsilon is enough"),
        ({"equals": 0.5, "when": 0.5000001, "epsilon": 1}, "no number of people"),
        ({"equals": 0.5, "when": 0.6, "epsilon": 1, "power": 0.01}, "above the level"),
    ],
)
def test_what_cannot_be_found_is_refused(given: dict[str, Any], words: str) -> None:
    with pytest.raises(RequestError, match=words):
        needed(**given)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({}, "equals="),
        ({"equals": 0.5, "within": (0.4, 0.6)}, "equivalence"),
        ({"within": (0.6, 0.4)}, "smaller first"),
        ({"within": 0.4}, "two numbers"),
        ({"equals": 2}, "equals"),
        ({"equals": 0.5, "alternative": "both"}, "alternative"),
    ],
)
def test_hypotheses_that_make_no_sense_are_refused(given: dict[str, Any], words: str) -> None:
    with pytest.raises(RequestError, match=words):
        proportion_test(62.3, people=100, epsilon=1, **given)
