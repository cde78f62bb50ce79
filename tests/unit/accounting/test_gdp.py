"""Gaussian differential privacy against high-precision arithmetic."""

from __future__ import annotations

import math
from fractions import Fraction

import mpmath as mp
import pytest

from privet.accounting import PureEvent, Repeated, gdp
from privet.accounting.gdp import (
    analytic_gaussian_sigma,
    compose_mu,
    event_delta,
    event_epsilon,
    event_mu,
    gaussian_delta,
    gaussian_epsilon,
    gaussian_mu,
)
from privet.accounting.pairs import GaussianPair
from privet.core.errors import BadParameter
from privet.core.event import Atom, Composed
from privet.core.numbers import most

F = Fraction


def true_delta(epsilon: float, mu: float) -> mp.mpf:
    # The two terms agree to a part in mu, and mpmath keeps the relative accuracy of each.
    with mp.workdps(60 + max(0, -math.floor(math.log10(mu)))):
        e, m = mp.mpf(epsilon), mp.mpf(mu)
        return mp.ncdf(m / 2 - e / m) - mp.exp(e) * mp.ncdf(-m / 2 - e / m)


@pytest.mark.parametrize("x", [-3.0, -0.4, 0.0, 0.7, 2.9, 3.1, 8.0, 20.0, 37.0])
@pytest.mark.parametrize("mu", [1e-6, 1e-3, 0.3, 0.999, 1.0, 6.0, 50.0])
def test_delta_is_never_below_the_truth_and_within_one_part_in_ten_to_the_eleven(x: float, mu: float) -> None:
    epsilon = max(0.0, (x + mu / 2) * mu)
    true, computed = true_delta(epsilon, mu), mp.mpf(gaussian_delta(epsilon, mu))
    assert true <= computed
    assert computed <= true * (1 + mp.mpf("1e-11"))


@pytest.mark.parametrize("delta", [1e-300, 1e-100, 1e-12, 1e-5, 0.3, 0.999])
@pytest.mark.parametrize("mu", [1e-5, 0.2, 1.0, 30.0])
def test_epsilon_holds_and_no_smaller_one_does(delta: float, mu: float) -> None:
    epsilon = gaussian_epsilon(delta, mu)
    assert true_delta(epsilon, mu) <= delta
    if epsilon > 0:
        assert true_delta(epsilon * (1 - 1e-10), mu) > delta


@pytest.mark.parametrize("epsilon", [0.0, 1e-9, 1e-3, 1.0, 40.0, 1e3])
@pytest.mark.parametrize("delta", [1e-300, 1e-9, 0.5, 0.999])
def test_sigma_is_sufficient_and_the_next_smaller_one_is_not(epsilon: float, delta: float) -> None:
    sigma = analytic_gaussian_sigma(epsilon, delta)
    with mp.workdps(50):
        assert true_delta(epsilon, float(mp.mpf(1) / mp.mpf(sigma)) * (1 - 1e-15)) <= delta * (1 + mp.mpf("1e-9"))
        assert true_delta(epsilon, 1 / (sigma * (1 - 1e-10))) > delta


@pytest.mark.parametrize("epsilon", [0, F(1, 4), 1, 8])
@pytest.mark.parametrize("delta", [F(1, 2), F(1, 4), F(1, 1024)])
def test_the_largest_mu_is_not_too_large_by_even_its_last_digit(epsilon: Fraction | int, delta: Fraction) -> None:
    mu = gaussian_mu(epsilon, delta)
    assert true_delta(float(epsilon), mu) <= mp.mpf(delta.numerator) / delta.denominator
    assert true_delta(float(epsilon), mu * (1 + 1e-12)) > mp.mpf(delta.numerator) / delta.denominator


@pytest.mark.parametrize("epsilon", [0.0, 1e-6, 0.003, 0.1, 0.5, 1.0, 2.7, 8.0, 300.0, 1e5])
def test_a_search_that_starts_near_ends_at_the_double_of_plain_bisection(epsilon: float) -> None:
    for delta in (1e-300, 1e-30, 1e-12, 3e-9, 1e-6, 1e-3, 0.2, 0.6, 0.99):
        target = math.log(delta)
        found = most(lambda mu, target=target: mu == 0 or gdp._log_delta(epsilon, mu) <= target, 0.0, 2.0**20)
        assert gdp._largest_mu(epsilon, target) == found


def test_sigma_scales_with_sensitivity_and_mu_is_its_inverse() -> None:
    assert analytic_gaussian_sigma(1, 1e-6, 10) == pytest.approx(10 * analytic_gaussian_sigma(1, 1e-6), rel=1e-15)
    assert gaussian_mu(1, 1e-6) * analytic_gaussian_sigma(1, 1e-6) == pytest.approx(1, rel=1e-15)


def test_a_delta_below_every_double_is_taken_exactly() -> None:
    tiny = Fraction(1, 10**320)
    assert analytic_gaussian_sigma(1, tiny) > analytic_gaussian_sigma(1, Fraction(1, 10**300))


def test_the_limits_are_what_they_should_be() -> None:
    assert gaussian_delta(1, 0) == 0
    assert gaussian_epsilon(0, 0) == 0
    assert gaussian_epsilon(0, 1) == math.inf
    assert gaussian_epsilon(1e-5, 1e160) == math.inf
    assert gaussian_delta(5, 1e-300) > 0, "a positive real is never rounded to nothing"
    assert gaussian_delta(0, 1e6) == 1
    with pytest.raises(BadParameter, match="delta"):
        analytic_gaussian_sigma(1, 0)


def test_squares_of_mu_add() -> None:
    assert compose_mu([3, 4]) == 5
    assert compose_mu([]) == 0
    assert Fraction(compose_mu([1, 1])) ** 2 >= 2


class _Noise(Atom):
    def __init__(self, mu: float, blur: float = 0.0) -> None:
        self._pair = GaussianPair(mu, blur)

    def pure(self) -> float:
        return math.inf

    def rho(self) -> Fraction:
        return Fraction(self._pair.mu) ** 2 / 2

    def slack(self) -> Fraction:
        return Fraction(0)

    def rdp(self, order: float) -> float:
        return float(self.rho()) * order

    def pair(self) -> GaussianPair:
        return self._pair


def test_gaussian_events_compose_to_one_gaussian() -> None:
    event = Composed((Repeated(_Noise(0.1), 9), _Noise(0.4)))
    mu, blur = event_mu(event) or (0.0, 0.0)
    assert (mu, blur) == (pytest.approx(0.5, rel=1e-15), 0.0)
    assert event_epsilon(event, 1e-6) == pytest.approx(gaussian_epsilon(1e-6, 0.5), rel=1e-12)
    assert event_mu(PureEvent(Fraction(1))) is None
    assert event_epsilon(PureEvent(Fraction(1)), 1e-6) == math.inf
    assert event_delta(PureEvent(Fraction(1)), 1) == 1


def test_blur_costs_and_a_little_of_it_costs_little() -> None:
    sharp, blurred = event_epsilon(_Noise(0.5), 1e-6), event_epsilon(_Noise(0.5, 1e-9), 1e-6)
    assert sharp + 2e-9 <= blurred < sharp + 1e-7
    assert event_delta(_Noise(0.5), sharp) == pytest.approx(1e-6, rel=1e-9)
    assert 1e-6 < event_delta(_Noise(0.5, 1e-9), sharp) < 1e-6 * (1 + 1e-6)
    assert event_delta(_Noise(0.5, 1e-9), blurred) == pytest.approx(1e-6, rel=1e-9)
    assert event_delta(_Noise(0.5, 1e-3), 1e-4) == event_delta(_Noise(0.5, 2.0), 9) == 1
    assert event_epsilon(_Noise(0.5, 2.0), 1e-6) == math.inf
