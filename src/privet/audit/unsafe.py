"""What attacks are shown against: noise and sums in floating point, as a careless program has them. Never for use.

The one file of the package that may draw from NumPy's generator.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from privet.core.numbers import float_near, positive, rational, whole

if TYPE_CHECKING:
    from privet.core.event import Floats


def float_laplace(value: float, count: int, *, scale: float = 1.0) -> Floats:
    """Return a value plus floating-point Laplace noise, this many times."""
    center, spread = float_near(rational(value, "value")), float_near(positive(scale, "scale"))
    return np.asarray(center + np.random.default_rng().laplace(0.0, spread, whole(count, "count", most=2**31)))


def float_gaussian(value: float, count: int, *, sigma: float = 1.0) -> Floats:
    """Return a value plus floating-point Gaussian noise, this many times."""
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


def laplace_many(values: Floats, count: int, *, scale: float) -> Floats:
    """Return rows of numbers, each with floating-point Laplace noise of its own."""
    return np.asarray(values + np.random.default_rng().laplace(0.0, scale, (count, len(values))))


def careless_sparse(
    queries: Floats, count: int, *, threshold_scale: float, query_scale: float, limit: int | None, shows_value: bool
) -> Floats:
    """Return runs of a sparse vector around a threshold of 0, a row for each: 0 below, 1 or the noisy value above.

    After `limit` crossings a run is over, and its row goes on with NaN. A scale of 0 is no noise.
    """
    draw = np.random.default_rng().laplace
    bars = draw(0.0, threshold_scale, (count, 1)) if threshold_scale else np.zeros((count, 1))
    noisy = queries + (draw(0.0, query_scale, (count, len(queries))) if query_scale else np.zeros((count, 1)))
    above = noisy >= bars
    rows = np.where(above, noisy if shows_value else 1.0, 0.0)
    if limit is not None:
        rows[np.cumsum(above, axis=1) - above >= limit] = np.nan
    return np.asarray(rows)
