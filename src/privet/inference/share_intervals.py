"""Intervals of the shares of several groups, from noisy counts: sampling and noise together, by Fieller's inversion."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from privet.core.estimate import Estimate

from .cell_noise import CellNoise

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from privet.core.event import Floats

_HALVINGS = 40
_APART = 1e-3
"""Scales that differ by less than this part of each other, or are less than it of the largest, are moved by it: the law
of the sum is smooth in them."""


def beyond(t: Floats, spread: Floats, first: Floats, second: Floats, noise: CellNoise) -> Floats:
    """Return P[|spread Z + first X + second Y| > t], for normal Z and the noise of two cells, X and Y.

    Guarantee: exact for Gaussian noise and for Laplace noise without a grid; on a grid, within half a step of each.
    The sum of Laplace noises of scales a and b is a mixture, with weights a^2/(a^2 - b^2) and b^2/(b^2 - a^2), of one
    of each; and with a normal number beside it,
    P[s Z + b L > t] = N(-t/s) + e^(s^2/2b^2) (e^(-t/b) N(t/s - s/b) - e^(t/b) N(-t/s - s/b)) / 2.
    """
    import numpy as np
    from scipy.special import log_ndtr, ndtr

    if noise.excess == 0.0:
        return np.asarray(2 * ndtr(-t / np.sqrt(spread**2 + (first**2 + second**2) * noise.variance)))
    scale = math.sqrt(noise.variance / 2)
    large, small = np.maximum(first, second) * scale, np.minimum(first, second) * scale
    s = np.maximum(spread, _APART * large)
    large = np.maximum(large, 2 * _APART * s)
    small = np.clip(small, _APART * np.maximum(s, large), (1 - _APART) * large)

    def above(b: Floats) -> Floats:
        base = s**2 / (2 * b**2)
        down = np.exp(base - t / b + log_ndtr(t / s - s / b))
        up = np.exp(base + t / b + log_ndtr(-t / s - s / b))
        return np.asarray(ndtr(-t / s) + (down - up) / 2)

    weight = large**2 / (large**2 - small**2)
    return np.asarray(2 * (weight * above(large) + (1 - weight) * above(small)))


def share_intervals(
    table: Floats, noise: CellNoise, *, each: int, confidence: float, names: Sequence[str]
) -> dict[str, Estimate]:
    """Return the share of the first column in each row of a table of two columns, with intervals.

    With x and y the noisy counts of a row, n its total and C the most rows of a person, a share q belongs to the
    interval iff (1 - q) x - q y is no further from 0 than sqrt(C n q (1 - q)) Z + (1 - q) X - q Y would be.

    Guarantee: post-processing of released numbers. At the true share the mean is 0, and the variance of the sampling is
    C n q (1 - q) at most; n is read from the noisy counts. Where the noise leaves the share open it runs from 0 to 1.
    Cites: [Fie54].
    """
    import numpy as np

    x, total = table[:, 0], table.sum(axis=1)
    known = total > 0
    size = np.maximum(total, 1.0)

    def outside(share: Floats) -> NDArray[np.bool_]:
        spread = np.sqrt(each * size * share * (1 - share))
        away = np.abs(x - share * total)
        return np.asarray(beyond(away, spread, 1 - share, share, noise) < 1 - confidence)

    value = np.clip(x / np.where(known, total, 1.0), 0.0, 1.0)
    ends = []
    for edge in (0.0, 1.0):
        inner, outer = value.copy(), np.full_like(value, edge)
        open_end = ~outside(outer)
        for _ in range(_HALVINGS):
            middle = (inner + outer) / 2
            out = outside(middle)
            inner, outer = np.where(out, inner, middle), np.where(out, middle, outer)
        ends.append(np.where(open_end, edge, outer))
    lost = outside(value) | ~known
    low, high = np.where(lost, 0.0, ends[0]), np.where(lost, 1.0, ends[1])
    error = np.sqrt(each * size * value * (1 - value) + noise.variance * ((1 - value) ** 2 + value**2)) / size
    return {
        name: Estimate(
            value=float(value[k]) if known[k] else math.nan,
            low=float(low[k]),
            high=float(high[k]),
            confidence=confidence,
            standard_error=float(error[k]) if known[k] else math.nan,
            covers="noise and sampling",
        )
        for k, name in enumerate(names)
    }


def difference(first: Estimate, second: Estimate) -> Estimate:
    """Return the difference of two independent shares, with an interval that their own intervals give.

    Cites: [New98, method 10].
    """
    value = first.value - second.value
    error = math.hypot(first.standard_error, second.standard_error)
    low = value - math.hypot(first.value - first.low, second.high - second.value)
    high = value + math.hypot(first.high - first.value, second.value - second.low)
    if math.isnan(value):
        low, high = -1.0, 1.0
    return Estimate(
        value=value,
        low=max(low, -1.0),
        high=min(high, 1.0),
        confidence=first.confidence,
        standard_error=error,
        covers=first.covers,
    )
