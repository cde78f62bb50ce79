"""The known law of a released number's noise, as far as intervals need it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from typing import TYPE_CHECKING, Literal

from privet.core.errors import InvariantError

if TYPE_CHECKING:
    from privet.core.event import Floats

_NODES = 513
_HALVINGS = 60
_DIGITS = 9
"""Relative scales of what is averaged are kept to this many digits, so that equal ones are seen to be equal."""

_FINE = 1e-3
"""A grid whose step is below this part of the noise's scale is as good as none."""


@dataclass(frozen=True)
class Law:
    """Symmetric noise of a known family: `scale` is Laplace's scale or the Gaussian's standard deviation.

    `step` is the grid on which the noise lies: discrete Laplace noise, or Gaussian noise that was rounded. Noise that
    was averaged is `scale` times a sum of independent noises, each `parts` times as large as that of scale 1.
    """

    family: Literal["laplace", "gaussian"]
    scale: float
    step: float = 0.0
    parts: tuple[float, ...] = (1.0,)

    @property
    def deviation(self) -> float:
        """The standard deviation, of the noise before it was rounded."""
        return self.scale * math.hypot(*self.parts) * (math.sqrt(2) if self.family == "laplace" else 1.0)

    @property
    def coarse(self) -> bool:
        """Whether the grid can be felt beside the noise."""
        return self.step > self.scale * _FINE

    @property
    def chance(self) -> float:
        """The probability that the noise is not 0, or 1."""
        if not self.scale or not self.step or len(self.parts) > 1:
            return 0.0 if not self.scale else 1.0
        rate = self.step / self.scale
        if self.family == "gaussian":
            return math.erfc(rate / 2 / math.sqrt(2))
        return 2 * math.exp(-rate) / (1 + math.exp(-rate))

    @property
    def mixed(self) -> bool:
        """Whether the noise is a sum of several, of no one family."""
        return False

    def reach(self, tail: float) -> float:
        """Return t with P[|noise| > t] = tail, for noise without a grid."""
        from scipy.special import ndtri

        return self.scale * (-math.log(tail) if self.family == "laplace" else -float(ndtri(tail / 2)))

    def times(self, factor: float) -> Law:
        """Return the law of this many times the noise."""
        return Law(self.family, self.scale * factor, self.step * factor, self.parts)

    def quantile(self, share: Floats) -> Floats:
        """Return the value below which the noise falls with these probabilities."""
        import numpy as np
        from scipy.special import ndtri

        if len(self.parts) > 1:
            return self._averaged_quantile(share)
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

    def _averaged_quantile(self, share: Floats) -> Floats:
        """Return the same for averaged noise, which is on no grid: half a step further out where one is felt."""
        import numpy as np
        from scipy.special import ndtri

        tail, sign = np.minimum(share, 1 - share), np.sign(share - 0.5)
        if self.family == "gaussian":
            away = -math.hypot(*self.parts) * ndtri(tail)
        else:
            low, high = np.zeros_like(tail), -len(self.parts) * np.log(tail) + 1
            for _ in range(_HALVINGS):
                t = (low + high) / 2
                beyond = sum(weight * np.exp(-t / part) for weight, part in _mixture(self.parts)) / 2
                low, high = np.where(beyond > tail, t, low), np.where(beyond > tail, high, t)
            away = high
        return np.asarray(sign * (self.scale * away + (self.step / 2 if self.coarse else 0.0)))


def averaged(laws: Sequence[Law]) -> tuple[Law, list[float]]:
    """Return the law of the average of independent noises that errs least, and the weight of each in it.

    The weights are w_j = b_j^-2 / sum b_k^-2 for scales b_j: inverse to the variances. All noises lie on one grid, of
    step s: each is at most s/2 from noise without a grid, in distribution, and so is their average, as weights add up
    to 1. Scales that differ only in a common factor give the same parts.
    """
    first = laws[0]
    if any((law.family, law.step, law.parts) != (first.family, first.step, (1.0,)) for law in laws):
        raise InvariantError("only noises of one family and one grid are averaged")
    if len(laws) == 1 or not all(law.scale for law in laws):
        return first, [1.0] + [0.0] * (len(laws) - 1)
    precise = [(first.scale / law.scale) ** 2 for law in laws]
    weights = [one / sum(precise) for one in precise]
    scales = sorted((weight * law.scale for weight, law in zip(weights, laws, strict=True)), reverse=True)
    parts = tuple(round(one / scales[0], _DIGITS) for one in scales)
    return Law(first.family, scales[0] * (1 + 10.0 ** (1 - _DIGITS)), first.step, parts), weights


def _mixture(parts: tuple[float, ...]) -> list[tuple[float, float]]:
    """Return A_j, some negative, with P[|sum c_j L_j| > t] = sum A_j e^(-t / c_j) for Laplace noises L_j.

    The characteristic function is the product of 1 / (1 + c_j^2 s^2), and its partial fractions have the weights
    A_j = product over k != j of c_j^2 / (c_j^2 - c_k^2), for parts that differ.
    """
    if len(set(parts)) < len(parts):
        raise InvariantError("noises of one scale are not averaged")
    return [
        (math.prod(one**2 / (one**2 - other**2) for other in parts if other != one), one) for one in parts if one > 0
    ]


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

    if (one.family, one.parts) != (other.family, other.parts):
        raise InvariantError("the sums of one plan have noise of one family")
    if one.mixed or other.mixed:
        return _mixed_width(one, other, factor, tail)
    second = np.abs(factor) * other.scale
    if one.family == "gaussian":
        from scipy.special import ndtri

        both = np.hypot(one.scale, second) * math.hypot(*one.parts)
        return np.asarray(-ndtri(tail / 2) * both, dtype=np.float64)
    return _of_two(one.scale, second, tail, one.parts)


def _of_two(first: float, second: Floats, tail: float, parts: tuple[float, ...]) -> Floats:
    """Return the half-width of the sum of two noises of these scales, each a sum of Laplace noises."""
    import numpy as np

    large, small = np.maximum(first, second), np.minimum(first, second)
    ratio = np.divide(small, large, out=np.zeros_like(large), where=large > 0)
    nodes, widths = _laplace_widths(tail, parts)
    return np.asarray(large * np.interp(ratio, nodes, widths), dtype=np.float64)


def _mixed_width(one: Law, other: Law, factor: Floats, tail: float) -> Floats:
    """Return the half-width of the sum of two noises that lie between Laplace and Gaussian: the wider of both."""
    import numpy as np

    first, second = one.reach(tail), np.abs(factor) * other.reach(tail)
    unit = -math.log(tail)
    return np.asarray(np.maximum(np.hypot(first, second), _of_two(first / unit, second / unit, tail, one.parts)))


@lru_cache(maxsize=32)
def _laplace_widths(tail: float, parts: tuple[float, ...] = (1.0,)) -> tuple[Floats, Floats]:
    """Return half-widths of X + r Y for r in [0, 1], where X and Y are sums of Laplace noises of these scales.

    P[|X + r Y| > t] = sum A_j A_k T(c_j, r c_k) with the weights A of `_mixture`, and for two Laplace noises of scales
    a > b: T(a, b) = (a^2 e^(-t/a) - b^2 e^(-t/b)) / (a^2 - b^2), which is (1 + t/(2a)) e^(-t/a) at a = b.
    """
    import numpy as np

    ratios = np.linspace(0.0, 1.0, _NODES)
    low, high = np.zeros(_NODES), np.full(_NODES, len(parts) * (2 * -math.log(tail) + 10))
    pairs = []
    for (weight, one), (another, other) in product(_mixture(parts), repeat=2):
        large, small = np.maximum(one, ratios * other), np.minimum(one, ratios * other)
        pairs.append((weight * another, large, np.clip(small / large, 1e-9, 1 - 1e-6)))
    for _ in range(80):
        t = (low + high) / 2
        beyond = np.zeros(_NODES)
        with np.errstate(under="ignore"):
            for weight, large, inner in pairs:
                away = t / large
                beyond += weight * (np.exp(-away) - inner**2 * np.exp(-away / inner)) / (1 - inner**2)
        low, high = np.where(beyond > tail, t, low), np.where(beyond > tail, high, t)
    return ratios, high
