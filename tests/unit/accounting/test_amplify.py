"""Poisson sampling: closed forms against exact divergences of finite mixtures, and what it refuses."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest

from privet.accounting import delta
from privet.accounting.amplify import Sampled
from privet.accounting.events import ApproximateEvent, FinitePairEvent, PureEvent, ThresholdEvent, ZcdpEvent
from privet.accounting.pairs import GaussianPair
from privet.accounting.pld import bounds as pld
from privet.accounting.pld.bounds import delta_bounds, epsilon_bounds
from privet.core.errors import BadParameter, RequestError
from privet.core.event import Atom, Composed, NoPair, Repeated

RATES = [Fraction(1, 1000), Fraction(1, 50), Fraction(3, 10), Fraction(9, 10)]
ORDERS = [1.25, 1.5, 2.0, 2.75, 3.0, 6.5, 16.0, 40.0]


@dataclass(frozen=True)
class NormalEvent(Atom):
    """Gaussian noise of standard deviation 1/mu on a sum that moves by 1."""

    mu: float

    def pure(self):
        return math.inf

    def rho(self):
        return Fraction(self.mu) ** 2 / 2

    def slack(self):
        return Fraction(0)

    def rdp(self, order):
        return order * self.mu**2 / 2 * (1 + 1e-12)

    def pair(self):
        return GaussianPair(self.mu)


def divergence(p: np.ndarray, q: np.ndarray, order: float) -> float:
    return math.log(float(np.sum(p**order * q ** (1 - order)))) / (order - 1)


def worst(p: np.ndarray, q: np.ndarray, rate: float, order: float) -> float:
    mixed = (1 - rate) * q + rate * p
    return max(divergence(mixed, q, order), divergence(q, mixed, order))


@pytest.mark.parametrize("rate", RATES)
@pytest.mark.parametrize("order", ORDERS)
def test_renyi_curve_bounds_any_finite_mechanism_in_both_directions(rate, order):
    rng = np.random.default_rng(3)
    for _ in range(20):
        p, q = (tuple(Fraction(int(x), 1000) for x in draw) for draw in rng.multinomial(994, [1 / 6] * 6, size=2))
        p, q = (tuple(x + Fraction(1, 1000) for x in side) for side in (p, q))
        bound = max(
            Sampled(FinitePairEvent(one, other), rate).rdp(order) for one, other in ((p, q), (q, p))
        )  # an event covers both orders of its pair
        for one, other in ((p, q), (q, p)):
            true = worst(np.array(one, dtype=float), np.array(other, dtype=float), float(rate), order)
            assert true <= bound * (1 + 1e-9) + 1e-15


@pytest.mark.parametrize("rate", RATES)
@pytest.mark.parametrize("order", [2.0, 3.0, 8.0])
def test_gaussian_curve_is_exact_at_integers_and_above_it_between(rate, order):
    grid = np.linspace(-30, 40, 700001)
    q = np.exp(-(grid**2) / 2) / math.sqrt(2 * math.pi)
    p = np.exp(-((grid - 1) ** 2) / 2) / math.sqrt(2 * math.pi)
    width = grid[1] - grid[0]
    mixed, event = (1 - float(rate)) * q + float(rate) * p, Sampled(NormalEvent(1.0), rate)

    def exact(a):
        with np.errstate(divide="ignore", under="ignore", invalid="ignore", over="ignore"):
            terms = np.where(q > 0, mixed * (mixed / np.where(q > 0, q, 1)) ** (a - 1), 0)
        return math.log(float(np.sum(terms)) * width) / (a - 1)

    assert event.rdp(order) == pytest.approx(exact(order), rel=1e-6, abs=1e-10)
    assert exact(order + 0.5) - 1e-10 <= event.rdp(order + 0.5) <= exact(order + 1) * (1 + 1e-6) + 1e-10


@pytest.mark.parametrize("rate", RATES)
@pytest.mark.parametrize("event", [PureEvent(1), NormalEvent(0.5), ZcdpEvent(Fraction(1, 10))], ids=str)
def test_a_sample_never_costs_more_than_everyone(rate, event):
    sampled = Sampled(event, rate)
    assert sampled.pure() <= event.pure()
    assert sampled.rho() <= event.rho()
    for order in ORDERS:
        assert sampled.rdp(order) <= event.rdp(order)
    for epsilon in (0.0, 0.3, 1.0):
        assert delta_bounds(sampled, epsilon).upper <= delta_bounds(event, epsilon).upper * (1 + 1e-9)


def test_curve_keeps_its_digits_for_tiny_rates():
    rate = 1e-9
    event = Sampled(NormalEvent(1.0), Fraction(rate))
    # the leading term is C(2, 2) q**2 (e**(mu**2) - 1)
    assert event.rdp(2.0) == pytest.approx(rate**2 * math.expm1(1.0), rel=1e-6)


def test_pure_epsilon_is_amplified_by_the_exact_formula():
    sampled = Sampled(PureEvent(1), Fraction(1, 10))
    exact = math.log1p(0.1 * math.expm1(1))
    assert exact <= float(sampled.pure()) <= exact * (1 + 1e-11)
    assert epsilon_bounds(sampled, 0).upper == pytest.approx(exact, rel=1e-11)


def test_slack_is_sampled_too():
    sampled = Sampled(ApproximateEvent(1, Fraction(1, 10**6)), Fraction(1, 10))
    assert sampled.slack() == Fraction(1, 10**7)
    assert delta_bounds(sampled, 2).upper == pytest.approx(1e-7, rel=1e-6)


def test_sampling_everyone_is_the_event_itself():
    sampled = Sampled(PureEvent(1), Fraction(1))
    assert sampled.pure() == 1
    assert sampled.rdp(3.0) == PureEvent(1).rdp(3.0)


def test_one_sample_for_several_releases_is_refused_with_what_to_do():
    with pytest.raises(NoPair, match=r"Repeated\(Sampled\(step, rate\), times\)"):
        epsilon_bounds(Sampled(Repeated(PureEvent(1), 3), Fraction(1, 10)), 1e-6)


def test_one_sample_for_several_releases_still_has_a_renyi_curve():
    several = Sampled(Composed((PureEvent(Fraction(1, 2)), PureEvent(Fraction(1, 2)))), Fraction(1, 10))
    assert 0 < several.rdp(4.0) <= Sampled(PureEvent(1), Fraction(1, 10)).rdp(4.0) * 1.5


def test_sampling_an_already_sampled_event_multiplies_the_rates():
    twice = Sampled(Sampled(NormalEvent(1.0), Fraction(1, 10)), Fraction(1, 5))
    once = Sampled(NormalEvent(1.0), Fraction(1, 50))
    for epsilon in (0.0, 0.01, 0.1, 1.0):
        assert delta_bounds(twice, epsilon).upper == pytest.approx(delta_bounds(once, epsilon).upper, rel=1e-9)


@pytest.mark.parametrize("rate", [0, -1, 2, math.nan, "0.1"])
def test_impossible_rates_are_refused(rate):
    with pytest.raises(BadParameter):
        Sampled(PureEvent(1), rate)


def test_only_events_can_be_sampled():
    with pytest.raises(RequestError):
        Sampled(1.0, Fraction(1, 2))  # type: ignore[arg-type]


def test_orders_must_exceed_one():
    with pytest.raises(BadParameter):
        Sampled(PureEvent(1), Fraction(1, 2)).rdp(1.0)


def test_large_orders_fall_back_to_what_is_known():
    assert Sampled(PureEvent(1), Fraction(1, 100)).rdp(5000.0) <= float(Sampled(PureEvent(1), Fraction(1, 100)).pure())


ONE_SIDED = (Fraction(1, 1000), Fraction(999, 1000)), (Fraction(1, 10), Fraction(9, 10))


@pytest.mark.parametrize("rate", RATES)
@pytest.mark.parametrize("epsilon", [0.0, 0.1, 0.5, 1.0, 2.0])
def test_a_sampled_pair_costs_the_same_and_enough_in_both_orders(rate, epsilon):
    for p, q in (ONE_SIDED, ONE_SIDED[::-1]):
        for event in (
            Sampled(FinitePairEvent(p, q), rate),
            Sampled(ThresholdEvent(FinitePairEvent(p, q), Fraction(1, 10**9)), rate),
            Sampled(Sampled(FinitePairEvent(p, q), Fraction(99, 100)), rate),
        ):
            kept = Fraction(rate) * (Fraction(99, 100) if isinstance(event.event, Sampled) else 1)
            stated = (delta(event, epsilon), pld.pld_delta(event, epsilon))
            for one, other in ((p, q), (q, p)):
                mixed = [(1 - kept) * b + kept * a for a, b in zip(one, other, strict=True)]
                for here, there in ((mixed, other), (other, mixed)):
                    gaps = (float(a) - math.exp(epsilon) * float(b) for a, b in zip(here, there, strict=True))
                    assert min(stated) * (1 + 1e-12) >= math.fsum(max(0.0, gap) for gap in gaps)


@pytest.mark.parametrize("epsilon", [0.0, 0.1, 0.5, 1.0, 2.0])
def test_a_pair_beside_a_sampled_one_is_covered_in_both_orders(epsilon):
    p, q = ONE_SIDED
    rate = Fraction(1, 4)
    event = Composed((FinitePairEvent(p, q), Sampled(FinitePairEvent(p, q), rate)))
    stated = delta(event, epsilon)
    for one, other in ((p, q), (q, p)):
        for first, second in ((p, q), (q, p)):
            mixed = [(1 - rate) * b + rate * a for a, b in zip(one, other, strict=True)]
            here = [float(a * b) for a in first for b in mixed]
            there = [float(a * b) for a in second for b in other]
            for ahead, behind in ((here, there), (there, here)):
                gaps = (a - math.exp(epsilon) * b for a, b in zip(ahead, behind, strict=True))
                assert stated * (1 + 1e-12) >= math.fsum(max(0.0, gap) for gap in gaps)


@pytest.mark.parametrize("missing", [Fraction(1, 10**20), Fraction(1, 10**400)])
def test_a_rate_that_rounds_to_1_is_answered(missing):
    event = Sampled(PureEvent(Fraction(1)), 1 - missing)
    assert delta(event, 0.5) == pytest.approx(delta(PureEvent(Fraction(1)), 0.5), rel=1e-9)
    assert math.isfinite(pld.pld_epsilon(Repeated(event, 2), 1e-6))
    assert event.rdp(3.0) == pytest.approx(PureEvent(Fraction(1)).rdp(3.0), rel=1e-9)
