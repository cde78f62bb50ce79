"""The law of Laplace noises and a normal error together, against numerical integration and known cases."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from scipy.integrate import quad

from privet.inference.mixed_noise import beyond

CASES = [
    ((1.0,), 0.0),
    ((1.0,), 1.0),
    ((1.0,), 0.03),
    ((1.0,), 40.0),
    ((1.0, 0.4), 0.5),
    ((2.0, 2.0), 0.7),
    ((1.0, 1.0, 1.0), 0.2),
    ((1.0, 1.0, 0.9, 0.3), 0.5),
    ((1.0, 0.0), 0.3),
    ((1e4, 1.0), 1.0),
    ((1.0, 0.5, 0.2, 0.2, 0.1), 0.4),
    ((1.0, 1.0, 1.0, 1.0, 0.9, 0.9), 0.1),
]


def by_inversion(away: float, scales: tuple[float, ...], sigma: float) -> float:
    """Return 1 - 2/pi times the integral of sin(away t) / t times the characteristic function."""

    def inside(t: float) -> float:
        smooth = math.exp(-((sigma * t) ** 2) / 2 - sum(math.log1p((one * t) ** 2) for one in scales))
        return (math.sin(away * t) / t if t else away) * smooth

    size = math.hypot(sigma, *scales)
    edges = [0.0, *np.geomspace(1e-3, 3e5, 600) / size]
    return 1 - 2 / math.pi * sum(quad(inside, a, b, limit=200)[0] for a, b in pairwise(edges))


@pytest.mark.parametrize(("scales", "sigma"), CASES)
def test_tails_are_those_of_the_convolution(scales: tuple[float, ...], sigma: float) -> None:
    deviation = math.sqrt(sigma**2 + 2 * sum(one**2 for one in scales))
    for times in (0.3, 1.0, 2.0, 3.0):
        found = float(beyond(np.array(times * deviation), [np.array(one) for one in scales], np.array(sigma)))
        # equal scales are told apart by making them up to 0.3% larger, and small ones beyond four are taken as normal
        assert found == pytest.approx(by_inversion(times * deviation, scales, sigma), rel=0.03, abs=8e-4)


def test_one_law_alone_is_itself() -> None:
    for t in (0.1, 1.0, 5.0, 30.0):
        assert float(beyond(np.array(t), [np.array(2.0)], np.array(0.0))) == pytest.approx(math.exp(-t / 2), rel=1e-6)
        normal = float(beyond(np.array(t), [], np.array(3.0)))
        assert normal == pytest.approx(math.erfc(t / 3 / math.sqrt(2)), rel=1e-9)


def test_nothing_at_all_is_certain_to_be_zero() -> None:
    assert beyond(np.array([0.0, 1.0]), [np.zeros(2)], np.zeros(2)).tolist() == [1.0, 0.0]


def test_normal_quantiles_would_miss_laplace_noise() -> None:
    """The two-sided tail at 1.96 deviations is 6.25%, not 5%: what an interval that takes it for normal misses."""
    assert float(beyond(np.array(1.96 * math.sqrt(2)), [np.array(1.0)], np.array(0.0))) == pytest.approx(
        0.0625, abs=1e-3
    )
