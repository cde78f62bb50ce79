"""Intervals of a mean against the reference table (T50): Beta(2, 5) rows, a public number of them, Laplace noise.

The table has 20,000 simulations of each case, and so has this: coverages differ by less than four standard errors of
their difference, half-widths by less than one percent. Seeds are fixed, so that nothing here fails by chance.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray

from privet.inference.bars import Law
from privet.inference.equation import Equation, NoiseTerm

RUNS, MEAN = 20_000, 2 / 7


class Listed(NamedTuple):
    """One row of the table."""

    size: int
    epsilon: float
    naive: float
    inflated: float
    convolved: float
    naive_width: float
    width: float


T50 = [
    Listed(50, 0.1, 0.1964, 0.9359, 0.9486, 0.0443, 0.6008),
    Listed(50, 1.0, 0.8030, 0.9439, 0.9490, 0.0443, 0.0728),
    Listed(200, 1.0, 0.9053, 0.9517, 0.9528, 0.0221, 0.0262),
    Listed(1000, 0.1, 0.5762, 0.9405, 0.9503, 0.0099, 0.0312),
]


def covered(low: NDArray[np.float64], high: NDArray[np.float64]) -> float:
    return float(np.mean((low <= MEAN) & (high >= MEAN)))


@pytest.mark.parametrize("listed", T50, ids=lambda one: f"{one.size} rows, epsilon {one.epsilon}")
def test_intervals_of_a_mean_cover_and_are_as_wide_as_listed(listed: Listed) -> None:
    rng = np.random.default_rng(listed.size)
    x = rng.beta(2, 5, (RUNS, listed.size))
    total = x.sum(axis=1) + rng.laplace(0.0, 1 / listed.epsilon, RUNS)
    value, spread = total / listed.size, x.std(axis=1, ddof=1) / math.sqrt(listed.size)
    one, none = np.ones(RUNS), np.zeros(RUNS)
    noise = NoiseTerm(Law("laplace", 1 / listed.epsilon), one, none)
    bars = Equation(total, listed.size * one, (noise,), ((spread * listed.size) ** 2, none, none)).bars(0.05)

    error = 4 * math.sqrt(2)

    def near(share: float) -> object:
        return pytest.approx(share, abs=error * math.sqrt(share * (1 - share) / RUNS))

    assert covered(bars.low, bars.high) == near(listed.convolved)
    assert float(np.mean(bars.high - bars.low)) / 2 == pytest.approx(listed.width, rel=0.01)
    naive = 1.96 * spread
    assert covered(value - naive, value + naive) == near(listed.naive)
    assert float(np.mean(naive)) == pytest.approx(listed.naive_width, rel=0.01)
    wider = 1.96 * np.sqrt(spread**2 + 2 / (listed.size * listed.epsilon) ** 2)
    assert covered(value - wider, value + wider) == near(listed.inflated)
    # a normal interval of the same variance misses more often, where the noise is large: what the table is there for
    assert covered(bars.low, bars.high) > covered(value - wider, value + wider) - 0.001
