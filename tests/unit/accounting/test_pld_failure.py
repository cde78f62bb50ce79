"""Failures count in full, whatever else a loss distribution knows."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

from privet.accounting import ApproximateEvent
from privet.accounting.pld.bounds import epsilon_bounds, pld_epsilon
from privet.core.event import Repeated


@pytest.mark.parametrize("times", [1, 3])
def test_epsilon_is_infinite_below_the_probability_of_failure(times):
    event = Repeated(ApproximateEvent(1, Fraction(1, 10)), times)
    assert pld_epsilon(event, 1e-6) == math.inf
    assert epsilon_bounds(event, 1e-6).upper == math.inf


def test_epsilon_is_finite_at_the_probability_of_failure_itself():
    assert pld_epsilon(ApproximateEvent(1, Fraction(1, 10)), Fraction(1, 10)) == 1.0
