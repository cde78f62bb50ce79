"""The privacy loss as a random variable."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import norm

from privet.accounting.events import ApproximateEvent, FinitePairEvent, PureEvent
from privet.accounting.pairs import DiscreteGaussianPair, GaussianPair
from privet.accounting.tradeoff import privacy_loss
from privet.core.event import Repeated
from privet.mechanisms import FiniteMechanism
from worlds import PairEvent

COMPOSED = Repeated(PairEvent(DiscreteGaussianPair(10**6, Fraction(4 * 10**12))), 4)


@pytest.mark.parametrize(
    ("epsilon", "exceeds", "delta"),
    [(0.5, 0.5, 0.238422), (1, 0.308538, 0.126937), (2, 0.0668072, 0.0209236), (4, 0.000232629, 4.71224e-05)],
)
def test_exceeding_epsilon_is_more_likely_than_delta(epsilon, exceeds, delta):
    loss = privacy_loss(PairEvent(GaussianPair(1)))
    assert loss.exceeds(epsilon) == pytest.approx(exceeds, rel=2e-6)
    assert loss.delta(epsilon) == pytest.approx(delta, rel=3e-6)


@pytest.mark.parametrize("epsilon", [-1.0, 0.5, 2.0])
def test_composed_loss_has_the_distribution_of_the_composed_noise(epsilon):
    loss = privacy_loss(COMPOSED)
    assert loss.exceeds(epsilon) == pytest.approx(float(norm.sf(epsilon, 0.5, 1)), rel=1e-4)
    assert loss.density(epsilon) == pytest.approx(float(norm.pdf(epsilon, 0.5, 1)), rel=1e-3)


def test_gaussian_loss_has_mean_half_mu_squared_and_total_one():
    loss = privacy_loss(PairEvent(GaussianPair(1)))
    assert loss.mean() == pytest.approx(0.5, rel=1e-4)
    assert float(np.sum(loss.masses)) + loss.infinite == pytest.approx(1, abs=1e-9)


def test_randomised_response_has_two_losses():
    loss = privacy_loss(PureEvent(1))
    heads = 1 / (1 + math.exp(-1))
    assert loss.exceeds(0.5) == pytest.approx(heads, rel=1e-9)
    assert loss.exceeds(-0.5) == pytest.approx(heads, rel=1e-9)
    assert loss.exceeds(-1.5) == pytest.approx(1, rel=1e-9)
    assert loss.exceeds(1.5) == 0
    assert loss.mean() == pytest.approx(math.tanh(0.5), rel=1e-6)


def test_infinite_losses_stay_beside_the_masses():
    loss = privacy_loss(ApproximateEvent(1, Fraction(1, 100)))
    assert loss.infinite == pytest.approx(0.01)
    assert loss.mean() == math.inf
    assert loss.exceeds(5) == pytest.approx(0.01, rel=1e-6)
    assert loss.delta(5) == pytest.approx(0.01, rel=1e-6)


def test_the_other_direction_has_its_own_loss():
    p, q = (Fraction(9, 10), Fraction(1, 10)), (Fraction(1, 2), Fraction(1, 2))
    event = FinitePairEvent(p, q)
    forward, backward = privacy_loss(event), privacy_loss(event, backward=True)
    assert forward.exceeds(0.5) == pytest.approx(0.9, rel=1e-8)
    assert backward.exceeds(1.5) == pytest.approx(0.5, rel=1e-8)
    assert forward.mean() == pytest.approx(0.9 * math.log(1.8) + 0.1 * math.log(0.2), rel=1e-4)


def test_delta_is_what_the_loss_says_it_is():
    loss = privacy_loss(COMPOSED)
    for epsilon in (0.0, 1.0):
        direct = float(np.sum(loss.masses * np.maximum(-np.expm1(epsilon - loss.losses), 0)))
        assert loss.delta(epsilon) == pytest.approx(direct, rel=1e-9)


def test_a_curve_that_never_falls_is_soon_seen_to_be_nothing_but_a_chance_of_failing():
    # The larger of both directions is 1/2 everywhere, though one of them ends at ln 2: finite losses have no spread.
    never_falls = FiniteMechanism([[Fraction(1, 2), Fraction(1, 2)], [0, 1]]).event
    loss = privacy_loss(never_falls)
    assert loss.infinite == pytest.approx(0.5, abs=1e-6)
    assert loss.delta(3) == 0.5
