"""What attacks are shown against: noise and sums in floating point, as a careless program has them. Never for use.

The one file of the package that may draw from NumPy's generator.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from privet.core.pair import Floats


def float_laplace(value: float, count: int, *, scale: float = 1.0) -> Floats:
    """Return a value plus floating-point Laplace noise, so many times."""
    return np.asarray(value + np.random.default_rng().laplace(0.0, scale, count))


def float_gaussian(value: float, count: int, *, sigma: float = 1.0) -> Floats:
    """Return a value plus floating-point Gaussian noise, so many times."""
    return np.asarray(value + np.random.default_rng().normal(0.0, sigma, count))


def float_sum(values: Floats) -> float:
    """Return the sum of doubles from left to right, rounded after each step, as most engines have it."""
    total = 0.0
    for value in values.tolist():
        total += value
    return total


def narrow_sum(values: Floats) -> int:
    """Return the sum of whole numbers in 32 bits, which wraps around without a word."""
    with np.errstate(over="ignore"):
        return int(np.sum(values.astype(np.int32), dtype=np.int32))


def coins(count: int, size: int, *, chance: float = 0.5) -> Floats:
    """Return rows of random bits, for made-up people."""
    return (np.random.default_rng().random((count, size)) < chance).astype(np.float64)
