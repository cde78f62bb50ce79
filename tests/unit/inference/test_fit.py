"""The test of fit keeps its level under noise, agrees with a statistic by hand, and refuses what it cannot judge."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from privet.core.errors import RequestError
from privet.inference import fit_of_noisy_total, goodness_of_fit

RUNS = 8000


def rejections(null: list[float], truth: list[float], size: int, variance: float, seed: int) -> float:
    """Return how often a true or false hypothesis is rejected at 5 %, with Gaussian noise of this variance."""
    draw = np.random.default_rng(seed)
    counts = draw.multinomial(size, truth, size=RUNS) + draw.normal(0, math.sqrt(variance), size=(RUNS, len(truth)))
    found = [goodness_of_fit(row, null, size=size, variance=variance).p_value for row in counts]
    return float((np.array(found) < 0.05).mean())


@pytest.mark.parametrize(
    ("null", "size", "variance"),
    [([0.25] * 4, 10_000, 800.0), ([0.7, 0.1, 0.1, 0.1], 2000, 2000.0), ([0.1, 0.2, 0.3, 0.4], 2000, 500.0)],
)
def test_a_noisy_total_keeps_the_level(null: list[float], size: int, variance: float) -> None:
    draw = np.random.default_rng(3)
    people = draw.poisson(size, size=RUNS)
    counts = np.array([draw.multinomial(many, null) for many in people])
    noisy = counts + draw.normal(0, math.sqrt(variance), size=counts.shape)
    rate = np.mean([fit_of_noisy_total(row, null, variance=variance).p_value < 0.05 for row in noisy])
    assert abs(rate - 0.05) < spread(0.05) + 0.004


def spread(rate: float) -> float:
    return 6 * math.sqrt(rate * (1 - rate) / RUNS)


@pytest.mark.parametrize(
    ("null", "size", "variance"),
    [([0.25] * 4, 10_000, 800.0), ([0.1, 0.2, 0.3, 0.4], 2000, 500.0), ([0.02] * 50, 10_000, 200.0)],
)
def test_a_true_hypothesis_is_rejected_as_often_as_it_should_be(null: list[float], size: int, variance: float) -> None:
    assert abs(rejections(null, null, size, variance, 1) - 0.05) < spread(0.05) + 0.003


@pytest.mark.parametrize(
    ("null", "shift", "size", "variance", "power"),
    [([0.25] * 4, 0.01, 10_000, 800.0, 0.8411), ([0.25] * 4, 0.02, 2000, 200.0, 0.7197)],
)
def test_the_power_is_that_of_the_reference(
    null: list[float], shift: float, size: int, variance: float, power: float
) -> None:
    truth = [share + shift * (-1) ** place for place, share in enumerate(null)]
    assert abs(rejections(null, truth, size, variance, 2) - power) < spread(power) + 6 * math.sqrt(0.16 / 40_000)


def test_equal_shares_have_the_statistic_of_the_distances_from_the_mean() -> None:
    counts = np.array([310.0, 270.5, 260.0, 201.0])
    fit = goodness_of_fit(counts, [0.25] * 4, size=1000, variance=90)
    by_hand = ((counts - counts.mean()) ** 2).sum() / (1000 / 4 + 90)
    assert fit.statistic == pytest.approx(by_hand)
    assert fit.degrees == 3
    assert fit.p_value == pytest.approx(stats.chi2(3).sf(by_hand))


def test_without_noise_to_speak_of_it_is_the_usual_test() -> None:
    counts, shares = np.array([130.0, 190.0, 310.0, 370.0]), np.array([0.1, 0.2, 0.3, 0.4])
    usual = stats.chisquare(counts, 1000 * shares)
    fit = goodness_of_fit(counts, shares, size=1000, variance=1e-6)
    assert (fit.statistic, fit.p_value) == pytest.approx((usual.statistic, usual.pvalue), rel=1e-6)


def test_noise_in_the_total_alone_is_no_evidence() -> None:
    counts = np.array([100.0, 200.0, 300.0, 400.0])
    fits = [goodness_of_fit(counts + more, [0.1, 0.2, 0.3, 0.4], size=1000, variance=50).statistic for more in (0, 25)]
    assert fits == pytest.approx([0, 0], abs=1e-12)


@pytest.mark.parametrize(
    ("released", "shares", "size", "variance", "told"),
    [
        ([1, 2], [0.5, 0.6], 100, 1, "sum to 1"),
        ([1, 2], [1.0, 0.0], 100, 1, "above 0"),
        ([1], [1.0], 100, 1, "at least two"),
        ([1, 2, 3], [0.5, 0.5], 100, 1, "2 finite numbers"),
        ([1, math.nan], [0.5, 0.5], 100, 1, "2 finite numbers"),
        (["a", "b"], [0.5, 0.5], 100, 1, "2 finite numbers"),
        ([1, 2], [0.5, 0.5], 0, 1, "size"),
        ([1, 2], [0.5, 0.5], 100, 0, "variance"),
        ([1, 2], [0.01, 0.99], 100, 1, "join categories"),
    ],
)
def test_what_cannot_be_judged_is_refused(
    released: list[float], shares: list[float], size: int, variance: float, told: str
) -> None:
    with pytest.raises(RequestError, match=told):
        goodness_of_fit(released, shares, size=size, variance=variance)
