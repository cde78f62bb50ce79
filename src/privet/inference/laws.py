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


@dataclass(frozen=True)
class Law:
    """Symmetric noise of a known family: `scale` is Laplace's scale or the Gaussian's standard deviation."""

    family: Literal["laplace", "gaussian"]
    scale: float

    @property
    def deviation(self) -> float:
        """The standard deviation."""
        return self.scale * (math.sqrt(2) if self.family == "laplace" else 1.0)

    def quantile(self, share: Floats) -> Floats:
        """Return the value below which the noise falls with these probabilities."""
        import numpy as np
        from scipy.special import ndtri

        if self.family == "gaussian":
            return np.asarray(self.scale * ndtri(share), dtype=np.float64)
        tail = np.minimum(share, 1 - share)
        return np.asarray(np.sign(0.5 - share) * self.scale * np.log(2 * tail), dtype=np.float64)


def half_width(one: Law, other: Law, factor: Floats, tail: float) -> Floats:
    """Return t with P[|X + factor Y| > t] = tail, for independent noise X and Y of one family."""
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
