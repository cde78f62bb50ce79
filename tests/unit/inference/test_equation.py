"""Estimating equations: p-values by the law of all that errs, intervals by inversion, and what they are made of."""

from __future__ import annotations

import math

import numpy as np
import pytest

from privet.aggregates.aggregate import allowed_for
from privet.inference.bars import Law
from privet.inference.equation import Equation, NoiseTerm, inverted, noises
from privet.inference.levels import mixed

ONE, NONE = np.ones(1), np.zeros(1)


def ratio(top: float, bottom: float, scale: float = 10.0, spread: float = 0.0) -> Equation:
    """Return a ratio of two numbers with Gaussian noise of one scale."""
    law = Law("gaussian", scale)
    noise = (NoiseTerm(law, ONE, NONE), NoiseTerm(law, NONE, -ONE))
    return Equation(ONE * top, ONE * bottom, noise, (ONE * spread, NONE, NONE))


def test_p_values_of_a_ratio_are_fiellers() -> None:
    """(300 - 2 * 100) / sqrt(10^2 + (2 * 10)^2) = 4.47 normal deviations."""
    away = 100 / math.hypot(10, 20)
    assert ratio(300, 100).p_value(ONE * 2)[0] == pytest.approx(math.erfc(away / math.sqrt(2)), rel=1e-9)


def test_sampling_adds_its_variance() -> None:
    away = 100 / math.sqrt(10**2 + 20**2 + 50**2)
    found = ratio(300, 100, spread=50.0**2).p_value(ONE * 2)[0]
    assert found == pytest.approx(math.erfc(away / math.sqrt(2)), rel=1e-9)


def test_ends_are_where_the_p_value_is_the_tail() -> None:
    equation = ratio(300, 100, spread=900.0)
    bars = equation.bars(0.05)
    for end in (bars.low, bars.high):
        assert equation.p_value(end)[0] == pytest.approx(0.05, rel=1e-6)
    assert bars.low[0] < 3 < bars.high[0]


def test_a_divisor_lost_in_its_noise_bounds_nothing() -> None:
    bars = ratio(30, 5).bars(0.05)
    assert math.isinf(bars.low[0])
    assert math.isinf(bars.high[0])
    assert math.isinf(ratio(30, -5).bars(0.05).high[0])


def test_straight_functions_have_moved_equations() -> None:
    equation = ratio(300, 100, spread=400.0)
    moved = equation.moved(-2.0, 7.0)
    for theta in (2.5, 3.0, 3.4):
        assert moved.p_value(ONE * (7 - 2 * theta))[0] == pytest.approx(equation.p_value(ONE * theta)[0], rel=1e-9)
    assert moved.value[0] == pytest.approx(1.0)


def test_laplace_noises_keep_their_law() -> None:
    equation = Equation(ONE * 5, ONE, (NoiseTerm(Law("laplace", 2.0), ONE, NONE),), (NONE, NONE, NONE))
    assert equation.p_value(NONE)[0] == pytest.approx(math.exp(-2.5), rel=1e-6)
    assert equation.bars(0.05).high[0] == pytest.approx(5 - 2 * math.log(0.05), rel=1e-6)


def test_coarse_grids_widen_by_half_a_step() -> None:
    law = Law("laplace", 2.0, 1.0)
    equation = Equation(ONE * 5, ONE, (NoiseTerm(law, ONE, NONE),), (NONE, NONE, NONE))
    assert equation.bars(0.05).high[0] == pytest.approx(5.5 - 2 * math.log(0.05), rel=1e-6)


def test_noises_of_averages_and_sums_are_taken_apart() -> None:
    assert noises(Law("laplace", 2.0, parts=(1.0, 0.5))) == ((2.0, 1.0), 0.0)
    assert noises(Law("gaussian", 2.0)) == ((), 2.0)
    assert noises(mixed(((1.0, 2), (3.0, 1)), 0.0)) == ((1.0, 1.0, 3.0), 0.0)


def test_searches_stop_at_the_ends() -> None:
    low, high = inverted(lambda x: np.ones_like(x), ONE, (0.0, 4.0), ONE, 0.05)
    assert (low[0], high[0]) == (0.0, 4.0)


def test_estimated_variances_are_enlarged_by_their_doubt() -> None:
    """A variance of 4 with an error of 1, r = 1/4: 1 + 1.21 / 16 times as large; and none is below zero."""
    found = allowed_for(np.array([4.0, 4.0, -3.0]), np.array([1.0, 0.0, 1.0]))
    assert found.tolist() == pytest.approx([4 + 1.21 / 4, 4.0, 1.21])
