"""The known law of a released number's noise, as far as intervals need it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Literal

from privet.core.errors import InvariantError

if TYPE_CHECKING:
    from privet.core.pair import Floats

_NODES = 513
_FINE = 1e-3
"""A grid whose step is below this part of the noise's scale is as good as none."""


@dataclass(frozen=True)
class Law:
    """Symmetric noise of a known family: `scale` is Laplace's scale or the Gaussian's standard deviation.

    `step` is the grid on which the noise lies: discrete Laplace noise, or Gaussian noise that was rounded.
    """

    family: Literal["laplace", "gaussian"]
    scale: float
    step: float = 0.0

    @property
    def deviation(self) -> float:
        """The standard deviation, of the noise before it was rounded."""
        return self.scale * (math.sqrt(2) if self.family == "laplace" else 1.0)

    @property
    def coarse(self) -> bool:
        """Whether the grid can be felt beside the noise."""
        return self.step > self.scale * _FINE

    @property
    def chance(self) -> float:
        """The probability that the noise is not 0."""
        if not self.scale or not self.step:
            return 0.0 if not self.scale else 1.0
        rate = self.step / self.scale
        if self.family == "gaussian":
            return math.erfc(rate / 2 / math.sqrt(2))
        return 2 * math.exp(-rate) / (1 + math.exp(-rate))

    def times(self, factor: float) -> Law:
        """Return the law of so many times the noise."""
        return Law(self.family, self.scale * factor, self.step * factor)

    def quantile(self, share: Floats) -> Floats:
        """Return the value below which the noise falls with these probabilities."""
        import numpy as np
        from scipy.special import ndtri

        if self.family == "gaussian":
            found = self.scale * ndtri(share)
            return np.asarray(np.floor(found / self.step + 0.5) * self.step if self.coarse else found)
        tail, sign = np.minimum(share, 1 - share), np.sign(share - 0.5)
        if not self.coarse:
            return np.asarray(-sign * self.scale * np.log(2 * tail))
        # P[noise <= -k steps] = a^k / (1 + a), so the quantile is the largest such k at which it is still the share
        rate = self.step / self.scale
        steps = np.floor(-(np.log(tail) + math.log1p(math.exp(-rate))) / rate)
        return np.asarray(sign * np.maximum(steps, 0.0) * self.step)


def half_width(one: Law, other: Law, factor: Floats, tail: float) -> Floats:
    """Return t with P[|X + factor Y| > t] <= tail, for independent noise X and Y of one family.

    Guarantee: with equality for noise without a grid. On a grid of step s, noise in absolute value is at most s/2
    above that without one, in distribution: for rounding plainly, and P[|noise| > t + s/2] <= e^(-t/scale) /
    cosh(s / (2 scale)) for discrete Laplace noise. So half a step of each is added, unless both are 0 often enough.
    """
    import numpy as np

    steps = one.step + np.abs(factor) * other.step
    if one.chance + other.chance <= tail:
        return np.asarray(_FINE * steps)
    return np.asarray(_smooth_width(one, other, factor, tail) + steps / 2)


def _smooth_width(one: Law, other: Law, factor: Floats, tail: float) -> Floats:
    import numpy as np

    if one.family != other.family:
        raise InvariantError("the sums of one plan have noise of one family")
    second = np.abs(factor) * other.scale
    if one.family == "gaussian":
        from scipy.special import ndtri

        return np.asarray(-ndtri(tail / 2) * np.hypot(one.scale, second), dtype=np.float64)
    large, small = np.maximum(one.scale, second), np.minimum(one.scale, second)
    ratio = np.divide(small, large, out=np.zeros_like(large), where=large > 0)
    nodes, widths = _laplace_widths(tail)
    return np.asarray(large * np.interp(ratio, nodes, widths), dtype=np.float64)


@lru_cache(maxsize=32)
def _laplace_widths(tail: float) -> tuple[Floats, Floats]:
    """Return half-widths of X + r Y for Laplace noise of scale 1 and r in [0, 1].

    P[|X + r Y| > t] = (e^-t - r^2 e^(-t/r)) / (1 - r^2), and (1 + t/2) e^-t at r = 1.
    """
    import numpy as np

    ratios = np.linspace(0.0, 1.0, _NODES)
    low, high = np.zeros(_NODES), np.full(_NODES, 2 * -math.log(tail) + 10)
    inner = np.clip(ratios, 1e-9, 1 - 1e-6)
    for _ in range(80):
        t = (low + high) / 2
        with np.errstate(under="ignore"):
            beyond = (np.exp(-t) - inner**2 * np.exp(-t / inner)) / (1 - inner**2)
        low, high = np.where(beyond > tail, t, low), np.where(beyond > tail, high, t)
    return ratios, high
