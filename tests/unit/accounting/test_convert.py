"""Conversions between zCDP, Renyi curves and (epsilon, delta)."""

from __future__ import annotations

import math
import random
from fractions import Fraction

import mpmath as mp
import pytest

from privet.accounting import gdp
from privet.accounting.convert import (
    best_order,
    order_budget,
    order_epsilon,
    rdp_delta,
    rdp_epsilon,
    rho_delta,
    rho_epsilon,
    rho_from,
)
from privet.accounting.events import finite_rdp
from privet.core.errors import BadParameter
from privet.core.numbers import read_order


def log_bound(order: mp.mpf, divergence: mp.mpf, epsilon: mp.mpf) -> mp.mpf:
    # From the definition: the least c with (1 - e^(epsilon - l))_+ <= c e^((a-1) l) for all losses l. The ratio peaks
    # where e^(l - epsilon) = a / (a - 1); c is taken there numerically, not by the closed form.
    peak = mp.log(order / (order - 1))
    height = (1 - mp.exp(-peak)) * mp.exp(-(order - 1) * (epsilon + peak))
    return mp.log(height) + (order - 1) * divergence


@pytest.mark.parametrize("rho", [1e-6, 0.01, 0.5, 5.0, 300.0])
@pytest.mark.parametrize("delta", [1e-200, 1e-9, 1e-3, 0.4])
def test_rho_epsilon_is_the_least_over_a_fine_sweep_of_orders(rho: float, delta: float) -> None:
    epsilon = rho_epsilon(rho, delta)
    centre = math.sqrt(-math.log(delta) / rho)
    orders = [1 + centre * 10 ** (k / 100) for k in range(-400, 201)]
    with mp.workdps(40):
        sweep = min(log_bound(mp.mpf(a), mp.mpf(a) * mp.mpf(rho), mp.mpf(epsilon)) for a in orders)
        target = mp.log(mp.mpf(delta))
        assert sweep <= target * (1 - mp.mpf("1e-3"))
        if epsilon > 0:
            assert sweep >= target * (1 + mp.mpf("1e-12")), "a better order than the one found"


@pytest.mark.parametrize(
    ("rho", "epsilon"), [(0.01, 0.5), (0.5, 0.0), (0.5, 4.0), (2.0, 1.0), (1e-2, 2.0), (40.0, 90.0)]
)
def test_delta_at_the_epsilon_of_a_delta_is_that_delta(rho: float, epsilon: float) -> None:
    delta = rho_delta(rho, epsilon)
    if delta < 1:
        assert rho_epsilon(rho, delta) == pytest.approx(epsilon, rel=1e-9, abs=1e-9)
        assert rho_from(epsilon, delta) == pytest.approx(rho, rel=1e-9)


@pytest.mark.parametrize("rho", [1e-3, 0.1, 1.0, 10.0])
@pytest.mark.parametrize("delta", [1e-12, 1e-6, 0.1])
def test_zcdp_is_never_below_the_gaussian_that_has_this_rho(rho: float, delta: float) -> None:
    exact = gdp.gaussian_epsilon(delta, math.sqrt(2 * rho) * (1 - 1e-15))
    assert exact <= rho_epsilon(rho, delta) <= 2 * exact + 1e-9


@pytest.mark.parametrize("rho", [1e-12, 1e-4, 0.3, 50.0])
@pytest.mark.parametrize("delta", [1e-100, 1e-6, 0.2])
def test_a_straight_curve_gives_what_zcdp_gives(rho: float, delta: float) -> None:
    def curve(order: float) -> float:
        return rho * order

    epsilon = rdp_epsilon(curve, delta)
    assert epsilon == pytest.approx(rho_epsilon(rho, delta), rel=1e-9)
    if epsilon > 0:
        assert rdp_delta(curve, epsilon) == pytest.approx(delta, rel=1e-6)


def test_random_finite_pairs_never_exceed_what_their_curves_promise() -> None:
    source = random.Random(7)
    for _ in range(40):
        size = source.randint(2, 5)
        weights = [[source.randint(1, 50) for _ in range(size)] for _ in range(2)]
        p, q = (tuple(Fraction(w, sum(row)) for w in row) for row in weights)
        epsilon = source.uniform(0, 1)
        exact = max(
            sum(max(0.0, float(a) - math.exp(epsilon) * float(b)) for a, b in zip(x, y, strict=True))
            for x, y in ((p, q), (q, p))
        )
        promised = rdp_delta(lambda order, p=p, q=q: finite_rdp(p, q, order), epsilon)  # type: ignore[misc]
        assert exact <= promised + 1e-15


def test_any_single_order_is_sound_and_the_best_is_the_least() -> None:
    delta = 1e-6
    epsilon, order = best_order(lambda a: 0.5 * a, delta)
    for a in (1.01, 2.0, 5.0, 20.0, 1e3):
        assert order_epsilon(0.5 * a, a, math.log(delta)) >= epsilon
    assert order == pytest.approx(5.9, abs=0.5)


@pytest.mark.parametrize("order", [1.1, 2.0, 22.0, 1e4])
def test_the_budget_of_an_order_is_the_inverse_of_its_epsilon(order: float) -> None:
    epsilon = Fraction(3)
    allowed = order_budget(epsilon, order, math.log(1e-6))
    if allowed > 0:
        assert order_epsilon(allowed, order, math.log(1e-6)) <= 3
        assert order_epsilon(allowed * (1 + 1e-12), order, math.log(1e-6)) > 3 - 1e-9


def test_nothing_costs_nothing_and_delta_zero_is_out_of_reach() -> None:
    assert rho_epsilon(0, 0) == 0
    assert rho_delta(0, 0) == 0
    assert rho_epsilon(1, 0) == math.inf
    assert rdp_epsilon(lambda order: order, 0) == math.inf
    with pytest.raises(BadParameter, match="delta"):
        rho_from(1, 0)


def test_extremes_are_finite_and_ordered() -> None:
    assert 0 < rho_epsilon(Fraction(1, 10**300), Fraction(1, 10**300)) < 1e-140
    assert 0 < rho_from(Fraction(1, 10**6), Fraction(1, 10**300)) < rho_from(1000, Fraction(1, 2)) < 1000
    assert rho_delta(10**6, 3) == 1


@pytest.mark.parametrize("order", [1, 1.0, 0.5, math.inf, math.nan, "2", True, None])
def test_an_order_must_be_a_finite_number_above_one(order: object) -> None:
    with pytest.raises(BadParameter, match="order"):
        read_order(order)
