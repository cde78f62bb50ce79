"""What Gaussian noise must be and may tell, from the analytic condition alone: shares no code with the mechanism.

The noise of a release is the least that keeps (epsilon, delta), and what it tells at other deltas follows from it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from .exact import Curve

if TYPE_CHECKING:
    from privet.core.pair import Floats

_HALVINGS = 80


def least_sigma(epsilon: float, delta: float) -> float:
    """Return the least sigma, in units of the sensitivity, that keeps (epsilon, delta).

    Cites: [BW18, Thm 8].
    """
    return _least(lambda sigma: gaussian_delta(epsilon, sigma) <= delta, 1e-3, 1e6)


def gaussian_delta(epsilon: float, sigma: float) -> float:
    """Return Phi(1 / (2 s) - epsilon s) - e^epsilon Phi(-1 / (2 s) - epsilon s) for s = sigma.

    Cites: [BW18, Thm 8].
    """
    from scipy.special import log_ndtr, ndtr

    half = 1 / (2 * sigma)
    beyond = math.exp(epsilon + float(log_ndtr(-half - epsilon * sigma)))
    return float(ndtr(half - epsilon * sigma)) - beyond


def gaussian_curve(epsilon: float, delta: float, deltas: Iterable[float]) -> Curve:
    """Return what the least noise for (epsilon, delta) tells at other deltas."""
    sigma = least_sigma(epsilon, delta)
    found = [(_least(lambda x: gaussian_delta(x, sigma) <= at, 0.0, 1e3), at) for at in deltas]  # noqa: B023
    return Curve(tuple(found))


@lru_cache(maxsize=64)
def least_whole_sigma(epsilon: float, delta: float, moves: int) -> float:
    """Return the least sigma of noise on the whole numbers that keeps (epsilon, delta) for so many moves.

    Cites: [CKS20, Def. 1].
    """

    def kept(sigma: float) -> bool:
        here, there = whole_gaussian(sigma, 0), whole_gaussian(sigma, moves)
        return float(np.maximum(here - math.exp(epsilon) * there, 0.0).sum()) <= delta

    return _least(kept, moves / 100, 1e3)


def whole_gaussian(sigma: float, centre: int, reach: int = 400) -> Floats:
    """Return the law of noise on the whole numbers from -reach to reach around a centre."""
    weights = np.exp(-((np.arange(-reach, reach + 1) - centre) ** 2) / (2 * sigma**2))
    return np.asarray(weights / weights.sum())


def _least(holds: Callable[[Any], bool], low: float, high: float) -> float:
    """Return where a condition begins to hold that holds from some number on."""
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high
