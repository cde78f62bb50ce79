"""Trade-off curves and what they say about an attacker."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import norm

from privet.accounting.events import ApproximateEvent, FinitePairEvent, PureEvent
from privet.accounting.pairs import DiscreteGaussianPair, GaussianPair, LaplacePair, SampledPair
from privet.accounting.tradeoff import best_accuracy, in_words, posterior, region, tradeoff
from privet.core.errors import BadParameter
from privet.core.event import Composed, Repeated
from worlds import PairEvent

ALPHAS = [0.0, 0.003, 0.01, 0.05, 0.25, 0.5, 0.75, 0.99, 1.0]


@pytest.mark.parametrize("mu", [0.1, 1.0, math.sqrt(2)])
@pytest.mark.parametrize("alpha", ALPHAS)
def test_gaussian_curve_equals_its_closed_form_from_below(mu, alpha):
    found = tradeoff(PairEvent(GaussianPair(mu)))(alpha)
    exact = float(norm.cdf(norm.isf(alpha) - mu)) if 0 < alpha < 1 else 1.0 - alpha
    assert exact - 1e-9 <= found <= exact + 1e-15


@pytest.mark.parametrize("alpha", ALPHAS)
def test_laplace_curve_equals_its_closed_form_from_below(alpha):
    found = tradeoff(PairEvent(LaplacePair(1)))(alpha)
    if alpha < math.exp(-1) / 2:
        exact = 1 - math.e * alpha
    elif alpha < 0.5:
        exact = math.exp(-1) / (4 * alpha)
    else:
        exact = math.exp(-1) * (1 - alpha)
    assert exact - 1e-10 <= found <= exact + 1e-15


@pytest.mark.parametrize("alpha", ALPHAS)
@pytest.mark.parametrize("delta", [Fraction(0), Fraction(1, 100)])
def test_an_approximate_event_has_the_curve_of_its_region(alpha, delta):
    found = tradeoff(ApproximateEvent(1, delta))(alpha)
    assert found == pytest.approx(region(1, delta).least_false_negative(alpha), abs=1e-11)


@pytest.mark.parametrize("alpha", ALPHAS[1:-1])
def test_composition_has_the_curve_of_the_composed_noise(alpha):
    hidden = PairEvent(DiscreteGaussianPair(10**6, Fraction(4 * 10**12)))
    found = tradeoff(Repeated(hidden, 4))(alpha)
    exact = float(norm.cdf(norm.isf(alpha) - 1))
    assert exact - 2e-4 <= found <= exact + 1e-9


def test_every_test_of_a_finite_pair_lies_on_or_above_the_curve():
    p, q = (Fraction(1, 2), Fraction(1, 4), Fraction(1, 4)), (Fraction(1, 3), Fraction(1, 2), Fraction(1, 6))
    single, double = tradeoff(FinitePairEvent(p, q)), tradeoff(Repeated(FinitePairEvent(p, q), 2))
    for chosen in range(8):
        accept = [bool(chosen >> k & 1) for k in range(3)]
        for null, other in ((p, q), (q, p)):
            alpha = float(sum(x for x, take in zip(null, accept, strict=True) if take))
            beta = float(sum(x for x, take in zip(other, accept, strict=True) if not take))
            assert single(alpha) <= beta + 1e-12
            assert double(alpha) <= single(alpha) + 1e-9


@pytest.mark.parametrize(
    "event",
    [
        PureEvent(1),
        PairEvent(GaussianPair(1)),
        Repeated(PairEvent(LaplacePair(Fraction(1, 2))), 3),
        PairEvent(SampledPair(GaussianPair(1), Fraction(1, 10))),
    ],
)
def test_curves_fall_are_convex_symmetric_and_below_guessing(event):
    curve = tradeoff(event)
    alphas = np.linspace(0, 1, 41)
    betas = np.array([curve(float(alpha)) for alpha in alphas])
    assert np.all(np.diff(betas) <= 1e-9)
    assert np.all(np.diff(betas, 2) >= -1e-8)
    assert np.all(betas <= 1 - alphas + 1e-12)
    for alpha, beta in zip(alphas[1:-1], betas[1:-1], strict=True):
        assert curve(float(min(1, beta + 1e-9))) <= alpha + 1e-6


def test_doing_nothing_leaves_only_guessing():
    curve = tradeoff(Composed(()))
    assert curve(0.3) == pytest.approx(0.7, abs=1e-11)
    assert curve.advantage() == 0


def test_region_holds_its_corner_and_nothing_below():
    ground = region(1)
    corner = ground.corner()
    assert corner == pytest.approx(1 / (1 + math.e))
    assert (corner, corner) in ground
    assert (corner, corner - 0.01) not in ground
    assert (0.5, 1.2) not in ground
    assert (0.25, 0.25) in region(Fraction(math.log(3)))


def test_accuracy_of_an_event_equals_that_of_its_promise():
    assert best_accuracy(PureEvent(1)) == pytest.approx(1 / (1 + math.exp(-1)), rel=1e-11)
    assert best_accuracy(1) == pytest.approx(1 / (1 + math.exp(-1)), rel=1e-11)
    assert best_accuracy(0) == pytest.approx(0.5)
    with_delta = best_accuracy(1, Fraction(1, 100))
    assert with_delta == pytest.approx(0.5 + (0.01 + 0.99 * math.tanh(0.5)) / 2, rel=1e-11)


@pytest.mark.parametrize("prior", [0.01, 0.3, 0.5, 0.8])
def test_accuracy_is_that_of_the_best_rule(prior):
    p, q = (Fraction(9, 10), Fraction(1, 10)), (Fraction(1, 10), Fraction(9, 10))
    rules = [
        prior * (a * 0.9 + b * 0.1) + (1 - prior) * ((1 - a) * 0.1 + (1 - b) * 0.9) for a in (0, 1) for b in (0, 1)
    ]
    assert best_accuracy(FinitePairEvent(p, q), prior=prior) == pytest.approx(max(rules), rel=1e-9)


def test_plain_words():
    assert in_words(1) == "an attacker who is 50% sure you are in the data can become at most 73% sure"
    assert in_words(1, 1e-6).endswith("unless something happens that has a chance of 1e-06")
    assert posterior(0.5, 1) == pytest.approx(0.7310585786, rel=1e-9)
    assert posterior(0.01, 0) == pytest.approx(0.01)


@pytest.mark.parametrize("call", [lambda: tradeoff(PureEvent(1))(1.5), lambda: posterior(0, 1), lambda: region(-1)])
def test_impossible_arguments_are_refused(call):
    with pytest.raises(BadParameter):
        call()
