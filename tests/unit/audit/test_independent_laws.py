"""Laws that audits compare counts with, written from definitions, against what the mechanisms say of themselves."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from privet.accounting import epsilon as epsilon_of
from privet.audit.exact import (
    gaussian_curve,
    gaussian_delta,
    least_sigma,
    least_whole_sigma,
    quantile_law,
    whole_gaussian,
)
from privet.audit.registry import choices as keys
from privet.audit.registry import choices as selections
from privet.mechanisms import (
    Exponential,
    Gaussian,
    GaussianThreshold,
    LaplaceThreshold,
    NoisyMax,
    OptimalKeys,
    PermuteAndFlip,
    Quantile,
)

FEW = Fraction(1, 20)


@pytest.mark.parametrize(("epsilon", "delta"), [(4.0, 1e-6), (1.0, 1e-5), (0.5, 0.1)])
def test_the_least_gaussian_noise_is_that_of_the_mechanism(epsilon: float, delta: float) -> None:
    mechanism = Gaussian(sensitivity=1, epsilon=epsilon, delta=delta)
    assert least_sigma(epsilon, delta) == pytest.approx(mechanism.sigma, rel=1e-5)
    for found, at in gaussian_curve(epsilon, delta, (0.001, 0.1)).points:
        assert found == pytest.approx(epsilon_of(mechanism.event, at), rel=1e-4, abs=1e-6)


def test_the_least_gaussian_noise_keeps_its_delta_and_less_does_not() -> None:
    sigma = least_sigma(1.0, 1e-3)
    assert gaussian_delta(1.0, sigma) <= 1e-3 < gaussian_delta(1.0, 0.999 * sigma)


def test_the_least_noise_on_whole_numbers_is_that_of_the_mechanism() -> None:
    mechanism = Gaussian(sensitivity=2, epsilon=4, delta=1e-6, grid="whole")
    assert least_whole_sigma(4.0, 1e-6, 2) == pytest.approx(mechanism.sigma, rel=1e-6)
    law = whole_gaussian(2.0, 1)
    assert law[401] / law[402] == pytest.approx(np.exp(1 / 8))


@pytest.mark.parametrize("q", [0, 0.25, 0.5, 1])
@pytest.mark.parametrize("values", [[], [3], [0, 0, 2, 9], [9, 9]])
def test_the_law_of_a_quantile_is_that_of_the_mechanism(q: float, values: list[int]) -> None:
    mechanism = Quantile(q=q, low=0, high=9, step=1, epsilon=2)
    written = quantile_law(values, 9, q=q, rate=float(mechanism.rate))
    assert written == pytest.approx(list(mechanism.probabilities(values)), rel=1e-9)


@pytest.mark.parametrize(
    ("mechanism", "law"),
    [
        (Exponential(sensitivity=1, epsilon=2), selections._gumbel),
        (PermuteAndFlip(sensitivity=1, epsilon=2), selections._flips),
        (NoisyMax(sensitivity=1, epsilon=2, law="laplace"), selections._largest),
    ],
    ids=lambda given: type(given).__name__,
)
def test_the_law_of_a_choice_is_that_of_the_mechanism(mechanism: Any, law: Any) -> None:
    for scores in ([0, 0, 0], [1, 4, 2, -3]):
        assert law(2.0, scores) == pytest.approx(list(mechanism.probabilities(scores)), rel=1e-6)


@pytest.mark.parametrize(
    ("mechanism", "law", "epsilon"),
    [
        (OptimalKeys(epsilon=1, delta=FEW), keys._optimal, 1.0),
        (LaplaceThreshold(epsilon=1, delta=FEW), keys._laplace, 1.0),
        (GaussianThreshold(epsilon=4, delta=FEW), keys._gaussian, 4.0),
    ],
    ids=lambda given: type(given).__name__,
)
def test_the_law_of_a_rule_for_keys_is_that_of_the_mechanism(mechanism: Any, law: Any, epsilon: float) -> None:
    for people in (1, 2, 3, 7):
        assert law(epsilon, people)[0] == pytest.approx(float(mechanism.probability(people)), rel=1e-4)
