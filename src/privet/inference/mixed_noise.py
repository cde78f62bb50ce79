"""The law of known noises and a normal error together: its tails and its quantiles.

Laplace noise is not normal: a normal law with the same variance covers 93.75% instead of 95% of one Laplace noise. For
a few noises the two are convolved in closed form; for weighted sums of many, by the characteristic function.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from privet.core.event import Floats


_KEPT = 4
"""This many Laplace noises, the largest, keep their law; the smaller ones beside them are nearly normal together."""

_APART = 1e-3
"""Scales are distinguished by this part at least, by making the larger one larger: partial fractions need that."""

_SMALL = 1e-5
"""Noise below this part of the largest is taken as normal noise of the same variance."""


def beyond(away: Floats, scales: Sequence[Floats], deviation: Floats) -> Floats:
    """Return P[|L_1 + ... + L_k + Z| >= away], for independent Laplace noises of these scales and normal Z.

    With b_j the scales, the characteristic function of the sum of the L_j is the product of 1 / (1 + b_j^2 s^2), whose
    partial fractions have the weights A_j = product over i != j of b_j^2 / (b_j^2 - b_i^2): so the sum with Z is a
    mixture, with weights of both signs, of one Laplace noise and Z.

    Guarantee: exact up to 1e-7 for at most four noises of scales that differ by a thousandth or more; those that differ
    less are made larger by as much.
    """
    import numpy as np

    t, sigma = np.broadcast_arrays(np.abs(away), deviation)
    every = np.array([np.broadcast_to(np.abs(scale), t.shape) for scale in scales] or [np.zeros(t.shape)])
    every = -np.sort(-every, axis=0)
    kept, rest = every[:_KEPT], every[_KEPT:]
    sigma = np.sqrt(sigma**2 + 2 * (rest**2).sum(axis=0))
    top = np.maximum(np.maximum(kept[0], sigma), 1e-300)
    small = kept < _SMALL * top
    sigma = np.sqrt(sigma**2 + 2 * (np.where(small, kept, 0.0) ** 2).sum(axis=0))
    # those that count as normal stay in the mixture at a scale that is as good as zero, each at its own
    floors = _SMALL * top * (1 + np.arange(len(kept))[::-1].reshape(-1, *([1] * t.ndim)) * 0.5) / 10
    b = np.where(small, floors, kept)
    for place in range(len(b) - 2, -1, -1):
        b[place] = np.maximum(b[place], b[place + 1] * (1 + _APART))
    total = np.zeros(t.shape)
    for place, own in enumerate(b):
        weight = np.ones(t.shape)
        for other in (*b[:place], *b[place + 1 :]):
            weight = weight / (1 - (other / own) ** 2)
        total = total + weight * _one_sided(t, own, np.maximum(sigma, 1e-9 * top))
    return np.asarray(np.clip(2 * total, 0.0, 1.0))


def _one_sided(t: Floats, b: Floats, sigma: Floats) -> Floats:
    """Return P[L + Z > t] for t >= 0, Laplace L of scale b and normal Z.

    It is Q(t/s) + (e^(s^2/(2b^2) - t/b) Q(s/b - t/s) - e^(s^2/(2b^2) + t/b) Q(s/b + t/s)) / 2 with Q the normal tail,
    and each product is computed so that no factor of it overflows.
    """
    import numpy as np
    from scipy.special import erfcx, ndtr

    root = np.sqrt(2.0)
    with np.errstate(under="ignore", over="ignore", invalid="ignore"):
        ratio, place = sigma / b, t / sigma
        bell = np.exp(-(place**2) / 2)
        second = bell * erfcx((place + ratio) / root) / 2
        near = bell * erfcx(np.maximum(ratio - place, 0.0) / root) / 2
        far = np.exp(np.minimum(ratio**2 / 2 - t / b, 0.0)) * ndtr(place - ratio)
        first = np.where(ratio >= place, near, far)
        return np.asarray(ndtr(-place) + (first - second) / 2)


Family = Literal["laplace", "gaussian"]

_REACH, _POINTS = 60.0, 1200
"""Characteristic functions are summed up to here, in standard deviations, at this many points."""

_DIGITS = 2
_HALVINGS = 30


def tail_of(distance: float, scales: Floats, variance: float, family: Family) -> float:
    """Return the probability that a sum of noises of these scales, and a normal error, is further from 0."""
    import numpy as np

    deviation = math.sqrt(_variance(scales, family) + variance)
    if deviation <= 0 or not math.isfinite(deviation):
        return 0.0 if distance > 0 and deviation <= 0 else 1.0
    far = distance / deviation
    shares = _shares(scales, deviation, family)
    if not len(shares):
        return float(math.erfc(far / math.sqrt(2)))
    points, curve = _curve(shares)
    step = points[1] - points[0]
    inside = 2 / math.pi * float(np.sum(np.sin(points * far) / points * curve)) * step
    exact = min(max(1 - inside, 0.0), 1.0)
    # far out the sum has no digits left: there the largest Laplace noise and the normal law bound the tail
    bound = _bound(far, shares)
    return min(max(exact, 0.0), bound) if exact > 1e-4 else bound


def width_of(scales: Floats, variance: float, family: Family, confidence: float) -> float:
    """Return how far from 0 a sum of noises of these scales, and a normal error, lies at most, at a confidence."""
    from scipy.special import ndtri

    deviation = math.sqrt(max(_variance(scales, family) + variance, 0.0))
    if not math.isfinite(deviation):
        return math.inf
    normal = -float(ndtri((1 - confidence) / 2))
    shares = _shares(scales, deviation, family) if deviation > 0 else ()
    return deviation * (normal if not len(shares) else _quantile(tuple(shares), confidence))


def _variance(scales: Floats, family: Family) -> float:
    import numpy as np

    return float(np.sum(scales**2)) * (2.0 if family == "laplace" else 1.0)


def _shares(scales: Floats, deviation: float, family: Family) -> tuple[float, ...]:
    """Return the Laplace noises that differ from normal ones, as shares of the deviation, rounded and in order."""
    import numpy as np

    if family == "gaussian" or deviation <= 0:
        return ()
    each = np.sort(np.abs(scales) * math.sqrt(2) / deviation)[::-1]
    kept = each[each > 0.1]
    if float(np.sum(kept**4)) < 0.01:
        return ()
    return tuple(round(float(share), _DIGITS) for share in kept)


def _curve(shares: tuple[float, ...]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return points, and the characteristic function there of noises with these shares and a normal rest."""
    import numpy as np

    step = _REACH / _POINTS
    points = (np.arange(_POINTS) + 0.5) * step
    rest = max(1 - sum(share**2 for share in shares), 0.0)
    curve = np.exp(-rest * points**2 / 2)
    for share in shares:
        curve = curve / (1 + share**2 * points**2 / 2)
    return points, curve


@lru_cache(maxsize=4096)
def _quantile(shares: tuple[float, ...], confidence: float) -> float:
    """Return where the tails of the standardised sum have the probability that is left."""
    import numpy as np

    points, curve = _curve(shares)
    weights = curve / points * (points[1] - points[0]) * 2 / math.pi
    low, high = 0.0, 8.0 - 2 * math.log(max(1 - confidence, 1e-12))
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if float(np.sum(np.sin(points * middle) * weights)) < confidence:
            low = middle
        else:
            high = middle
    return high


def _bound(far: float, shares: tuple[float, ...]) -> float:
    """Return a bound on the tail of the standardised sum: Chernoff's, at its best rate below the largest noise's."""
    import numpy as np

    rest = max(1 - sum(share**2 for share in shares), 0.0)
    rates = np.linspace(0.0, 0.999 * math.sqrt(2) / max(shares), 400)[1:]
    logs = rest * rates**2 / 2 - rates * far
    for share in shares:
        logs = logs - np.log1p(-(share**2) * rates**2 / 2)
    return float(min(1.0, 2 * math.exp(min(0.0, float(logs.min())))))
