"""The law of known noise and a normal error together: how likely it is that their sum lies far from zero.

Laplace noise is not normal, and intervals that treat it so miss too often; here the two are convolved in closed form.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
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
    every = np.array([np.broadcast_to(np.abs(one), t.shape) for one in scales] or [np.zeros(t.shape)])
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
    found = np.zeros(t.shape)
    for place, one in enumerate(b):
        weight = np.ones(t.shape)
        for other in (*b[:place], *b[place + 1 :]):
            weight = weight / (1 - (other / one) ** 2)
        found = found + weight * _one_sided(t, one, np.maximum(sigma, 1e-9 * top))
    return np.asarray(np.clip(2 * found, 0.0, 1.0))


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
