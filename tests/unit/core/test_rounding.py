"""Rounding goes against ourselves: up for a cost, down for an allowance, never to nearest."""

from __future__ import annotations

import math
from fractions import Fraction

import mpmath
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from privet.core.numbers import deflate, exp_down, exp_up, float_down, float_up, inflate, log_up, sqrt_down, sqrt_up

LARGEST = 1.7976931348623157e308
fractions = st.fractions(max_denominator=10**30) | st.floats(-1e308, 1e308).map(Fraction)
positives = st.builds(
    lambda numerator, denominator, shift: Fraction(numerator, denominator) * Fraction(2) ** shift,
    st.integers(1, 10**40),
    st.integers(1, 10**40),
    st.integers(-1200, 1200),
)


@settings(deadline=None)
@given(fractions)
def test_the_least_double_above_is_the_least(exact: Fraction) -> None:
    up = float_up(exact)
    assert Fraction(up) >= exact
    assert Fraction(math.nextafter(up, -math.inf)) < exact


@settings(deadline=None)
@given(fractions)
def test_down_mirrors_up(exact: Fraction) -> None:
    down = float_down(exact)
    assert Fraction(down) <= exact
    assert Fraction(math.nextafter(down, math.inf)) > exact


def test_rounding_up_beyond_the_doubles_stays_above() -> None:
    assert float_up(Fraction(10) ** 400) == math.inf
    assert float_up(-(Fraction(10) ** 400)) == -LARGEST
    assert float_down(Fraction(10) ** 400) == LARGEST
    assert float_up(Fraction(1, 10**400)) == 5e-324
    assert float_down(Fraction(1, 10**400)) == 0.0
    assert float_up(math.inf) == math.inf


@settings(deadline=None)
@given(st.floats(0, LARGEST))
def test_inflating_and_deflating_enclose(value: float) -> None:
    assert deflate(value) <= value <= inflate(value)
    if value:
        assert deflate(value) < value < inflate(value)


def test_a_cost_of_nothing_stays_nothing() -> None:
    assert inflate(0.0) == 0.0
    assert deflate(0.0) == 0.0


@settings(deadline=None)
@given(positives)
def test_roots_enclose_within_one_part_in_2_80(exact: Fraction) -> None:
    low, high = sqrt_down(exact), sqrt_up(exact)
    assert low * low <= exact <= high * high
    assert high - low <= low / 2**79


@settings(deadline=None)
@given(st.fractions(min_value=0, max_denominator=10**9))
def test_roots_of_squares_are_exact(root: Fraction) -> None:
    assert sqrt_up(root**2) == sqrt_down(root**2) == root


def mp(exact: Fraction) -> mpmath.mpf:
    return mpmath.mpf(exact.numerator) / exact.denominator


@settings(deadline=None)
@given(positives.filter(lambda x: x >= 1) | st.integers(1, 400).map(lambda k: 1 + Fraction(1, 10**k)))
def test_the_logarithm_is_rounded_up_and_close(exact: Fraction) -> None:
    with mpmath.workdps(1000):
        true, got = mpmath.log(mp(exact)), mp(log_up(exact))
        assert true <= got <= true * (1 + mpmath.mpf(10) ** -20) + mpmath.mpf(10) ** -54
    assert log_up(exact) <= exact - 1


@settings(deadline=None)
@given(st.builds(Fraction, st.integers(0, 2000 * 10**20), st.just(10**20)) | st.floats(0, 1e-20).map(Fraction))
def test_exponentials_enclose(exact: Fraction) -> None:
    with mpmath.workdps(1200):
        true = mpmath.exp(mp(exact))
        low, high = mp(exp_down(exact)), mp(exp_up(exact))
        assert low <= true <= high
        assert high - low <= true * mpmath.mpf(10) ** -49
        assert low >= 1


@pytest.mark.parametrize("power", [1, 10, 50, 100, 300])
def test_a_tiny_exponential_can_be_undone_without_growing(power: int) -> None:
    tiny = Fraction(1, 10**power)
    assert log_up(exp_down(tiny)) <= tiny
