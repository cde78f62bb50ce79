"""The law of a sum of independent Laplace noises of several scales, as numbers that were reconciled have."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from .laws import Law

if TYPE_CHECKING:
    from privet.core.pair import Floats

_WIDEST = 12.0
"""So many standard deviations of the law are tabulated."""

_PLACES, _NODES, _LAST = 1201, 12_000, 300.0
_RARE = 1e-3
"""Tails below this are those of Laplace noise with the same variance, which are heavier."""


@dataclass(frozen=True)
class Mixed(Law):
    """A sum of Laplace noises: `several` are scales and how many of each; `scale` that of one of the same variance."""

    several: tuple[tuple[float, int], ...] = ()

    @property
    def mixed(self) -> bool:
        """Whether the noise is a sum of several, of no one family."""
        return True

    @property
    def chance(self) -> float:
        """The probability that the noise is not 0: taken to be 1."""
        return 1.0

    def reach(self, tail: float) -> float:
        """Return t with P[|noise| > t] = tail, for noise without a grid."""
        import numpy as np

        if tail < _RARE:
            return self.scale * -math.log(tail)
        places, beyond = _table(self._shape)
        return float(np.interp(-tail, -beyond, places)) * self.deviation

    def times(self, factor: float) -> Law:
        """Return the law of so many times the noise."""
        several = tuple((scale * factor, times) for scale, times in self.several)
        return Mixed(self.family, self.scale * factor, self.step * factor, self.parts, several)

    def quantile(self, share: Floats) -> Floats:
        """Return the value below which the noise falls with these probabilities."""
        import numpy as np

        places, beyond = _table(self._shape)
        tail = 2 * np.minimum(share, 1 - share)
        near = np.interp(-np.maximum(tail, _RARE), -beyond, places) * self.deviation
        reached = np.where(tail < _RARE, -self.scale * np.log(tail), near)
        return np.asarray(np.sign(share - 0.5) * reached)

    @property
    def _shape(self) -> tuple[tuple[float, int], ...]:
        return tuple((round(scale / self.deviation, 9), times) for scale, times in self.several)


def mixed(parts: tuple[tuple[float, int], ...], step: float) -> Law:
    """Return the law of the sum of so many independent Laplace noises of each scale."""
    variance = math.fsum(2 * scale * scale * times for scale, times in parts)
    if not variance:
        return Law("laplace", 0.0, step)
    largest = max(abs(scale) for scale, _ in parts)
    kept = tuple(sorted((abs(scale), times) for scale, times in parts if abs(scale) > 1e-9 * largest))
    return Mixed("laplace", math.sqrt(variance / 2), step, several=kept)


@lru_cache(maxsize=64)
def _table(shape: tuple[tuple[float, int], ...]) -> tuple[Floats, Floats]:
    """Return places, and P[|noise| > place] at each, for noise of variance 1.

    P[|X| <= x] = 2/pi times the integral of sin(x t) / t f(t) over t > 0, where f is the characteristic function, the
    product of (1 + s^2 t^2)^-times over the scales s.
    """
    import numpy as np

    places = np.linspace(0.0, _WIDEST, _PLACES)
    t = (np.arange(_NODES) + 0.5) * (_LAST / _NODES)
    damped = np.exp(-sum(times * np.log1p((scale * t) ** 2) for scale, times in shape)) / t
    used = damped > 1e-12
    t, damped = t[used], damped[used]
    inside = 2 / math.pi * (_LAST / _NODES) * np.array([np.sin(x * t) @ damped for x in places])
    beyond = np.clip(1 - np.maximum.accumulate(inside), 0.0, 1.0)
    beyond[0] = 1.0
    # interpolation needs what falls strictly
    return places, beyond - np.arange(_PLACES) * 1e-15
