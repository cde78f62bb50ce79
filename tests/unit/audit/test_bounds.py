"""Bounds from counts are wrong no more often than they say, and power is what simulation finds."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import binom

from privet.audit import Counts, power, rate_high, rate_low


@pytest.mark.parametrize("chance", [0.001, 0.1, 0.5, 0.93, 1.0])
@pytest.mark.parametrize("trials", [1, 10, 200])
def test_bounds_on_a_rate_are_wrong_with_exactly_no_more_than_their_probability(chance: float, trials: int) -> None:
    hits = np.arange(trials + 1)
    weights = binom.pmf(hits, trials, chance)
    for alarm in (0.2, 0.01):
        assert weights[rate_low(hits, trials, alarm) > chance].sum() <= alarm * (1 + 1e-9)
        assert weights[rate_high(hits, trials, alarm) < chance].sum() <= alarm * (1 + 1e-9)


def test_bounds_hold_the_measured_rate_between_them_and_are_sharp_at_the_ends() -> None:
    hits = np.arange(101)
    assert np.all(rate_low(hits, 100, 0.05) <= hits / 100)
    assert np.all(rate_high(hits, 100, 0.05) >= hits / 100)
    assert rate_low(0, 100, 0.05) == 0
    assert rate_high(100, 100, 0.05) == 1
    assert rate_low(100, 100, 0.05) == pytest.approx(0.05 ** (1 / 100))
    assert rate_high(0, 100, 0.05) == pytest.approx(1 - 0.05 ** (1 / 100))


@pytest.mark.parametrize("delta", [0.0, 0.05])
@pytest.mark.parametrize("epsilon", [0.0, 0.3, 1.0])
def test_the_bound_on_epsilon_exceeds_the_truth_no_more_often_than_it_says(epsilon: float, delta: float) -> None:
    trials, p = 60, 0.6
    q = (p - delta) / math.exp(epsilon)
    wrong = 0.0
    for one in range(trials + 1):
        for other in range(trials + 1):
            if Counts(one, other, trials).epsilon(delta, 0.1) > epsilon:
                wrong += float(binom.pmf(one, trials, p) * binom.pmf(other, trials, q))
    assert 0.001 < wrong <= 0.1


def test_power_is_how_often_a_mechanism_that_leaks_a_tenth_more_is_refuted() -> None:
    random = np.random.default_rng(5)
    chance, epsilon, delta, trials, alarm = 0.5, 1.0, 0.01, 3_000, 0.01
    seen = Counts(int(chance * trials), round((chance - delta) / math.exp(epsilon) * trials), trials)
    leaked = (chance - delta) / math.exp(1.1 * epsilon)
    one, other = random.binomial(trials, chance, 2_000), random.binomial(trials, leaked, 2_000)
    refuted = np.mean([Counts(a, b, trials).epsilon(delta, alarm) > epsilon for a, b in zip(one, other, strict=True)])
    assert power(seen, epsilon, delta, alarm) == pytest.approx(refuted, abs=0.06)
    many = Counts(seen.one * 300, seen.other * 300, trials * 300)
    assert power(many, epsilon, delta, alarm) > 0.99


def test_an_event_that_shows_nothing_has_no_power() -> None:
    assert power(Counts(10**6, 10**6, 10**6), 1.0, 0.0, 1e-6) == 0
    assert power(Counts(5 * 10**5, 4 * 10**5, 10**6), 1.0, 0.0, 1e-6) < 1e-6
    assert power(Counts(100, 0, 10**6), 1.0, 0.001, 1e-6) == 0
