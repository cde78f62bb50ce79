"""Sums of Laplace noises of several scales have the quantiles that are known in closed form."""

from __future__ import annotations

import math

import numpy as np
import pytest

from privet.inference.bars import Law, half_width
from privet.inference.levels import mixed

TAILS = [0.5, 0.2, 0.05, 0.01, 0.002]


@pytest.mark.parametrize("tail", TAILS)
def test_one_noise_is_laplace(tail: float) -> None:
    assert mixed(((3.0, 1),), 0.0).reach(tail) == pytest.approx(-3 * math.log(tail), rel=1e-3)


@pytest.mark.parametrize("tail", TAILS)
@pytest.mark.parametrize("ratio", [0.1, 0.5, 0.9])
def test_two_noises_have_the_tail_of_their_sum(ratio: float, tail: float) -> None:
    t = mixed(((1.0, 1), (ratio, 1)), 0.0).reach(tail)
    beyond = (math.exp(-t) - ratio**2 * math.exp(-t / ratio)) / (1 - ratio**2)
    assert beyond == pytest.approx(tail, rel=5e-3)


@pytest.mark.parametrize("tail", TAILS[:4])
def test_many_noises_are_gaussian(tail: float) -> None:
    law = mixed(((0.01, 20_000),), 0.0)
    assert law.deviation == pytest.approx(2.0)
    assert law.reach(tail) == pytest.approx(Law("gaussian", 2.0).reach(tail), rel=2e-3)


def test_quantiles_are_symmetric_and_reach_as_far_as_intervals_say() -> None:
    law = mixed(((1.0, 2), (0.2, 7)), 0.0)
    low, middle, high = law.quantile(np.array([0.025, 0.5, 0.975]))
    assert (low, middle) == pytest.approx((-high, 0))
    assert high == pytest.approx(law.reach(0.05), rel=1e-6)
    assert law.times(3).reach(0.05) == pytest.approx(3 * law.reach(0.05))


def test_a_width_of_two_is_no_narrower_than_that_of_either_family() -> None:
    law = mixed(((1.0, 1),), 0.0)
    plain = Law("laplace", 1.0)
    for tail in (0.05, 0.2, 0.5):
        found = half_width(law, law, np.array([0.0, 0.5, 1.0]), tail)
        assert (found >= half_width(plain, plain, np.array([0.0, 0.5, 1.0]), tail) * 0.999).all()


@pytest.mark.parametrize("tail", [5e-4, 1e-6])
def test_rare_tails_reach_no_less_far_than_they_are(tail: float) -> None:
    assert mixed(((3.0, 1),), 0.0).reach(tail) == pytest.approx(-3 * math.log(tail))
    t = mixed(((1.0, 1), (0.5, 1)), 0.0).reach(tail)
    assert (math.exp(-t) - 0.25 * math.exp(-2 * t)) / 0.75 <= tail
