"""How far noise on the lattice reaches: its variance along an axis, and the radius that holds it with a probability."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

_WIDE = 20.0
"""From this scale on, sums over the lattice are those of the plane, up to the first correction of Poisson's formula."""

_BEYOND = 45
_LATTICE = 9.0336 / (2 * math.pi) ** 3
"""The sum of 1 / |k|^3 over the other points of the dual lattice, by which the total weight exceeds the plane's."""


@dataclass(frozen=True)
class LatticeLaw:
    """The law with odds proportional to exp(-|v| / scale) on the integer lattice, in one of two metrics."""

    metric: str
    scale: float

    @property
    def variance(self) -> float:
        """The variance of one coordinate, in steps squared, to a part in a million."""
        if self.metric == "manhattan":
            a = math.exp(-1 / self.scale)
            return 2 * a / (1 - a) ** 2
        if self.scale >= _WIDE:
            return 3 * self.scale**2 / (1 + _LATTICE / self.scale**3)
        lengths, weights = self._quarter
        return float((weights @ lengths**2) / weights.sum() / 2)

    def error(self, confidence: float) -> float:
        """Return a radius, in steps, that holds noise and snapping with this probability or more."""
        if self.metric == "manhattan":
            return self._along(confidence)
        if self.scale >= _WIDE:
            from scipy.special import gammaincinv

            return float(gammaincinv(2, confidence)) * self.scale + 2.5  # each point of the lattice is a cell's
        lengths, weights = self._quarter
        order = np.argsort(lengths, kind="stable")
        total = np.cumsum(weights[order])
        place = int(np.searchsorted(total, confidence * total[-1]))
        return float(lengths[order][min(place, len(order) - 1)]) + math.sqrt(0.5)

    def _along(self, confidence: float) -> float:
        """Return the quantile of |a| + |b|, no less than the distance; half a step for either axis is added."""
        a = math.exp(-1 / self.scale)
        low, high = 0, math.ceil(_BEYOND * self.scale) + 1
        while low < high:
            middle = (low + high) // 2  # |a| + |b| = k for 4 k pairs
            beyond = 4 * a ** (middle + 1) * (1 + middle * (1 - a)) / (1 + a) ** 2
            low, high = (low, middle) if beyond <= 1 - confidence else (middle + 1, high)
        return low + 1.0

    @cached_property
    def _quarter(self) -> tuple[Floats, Floats]:
        """The lengths of the points with a > 0 and b >= 0, and of zero, with the weight of all four turns."""
        side = np.arange(math.ceil(_BEYOND * self.scale) + 2, dtype=np.float64)
        lengths = np.hypot(side[1:, None], side[None, :]).reshape(-1)
        held = lengths <= side[-1]
        weights = 4 * np.exp(-lengths[held] / self.scale)
        return np.append(lengths[held], 0.0), np.append(weights, 1.0)
