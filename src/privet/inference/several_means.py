"""Are several numbers equal? An analysis of variance that knows the noise in sums and counts. Sees released numbers.

Group sizes are private, so each mean is an estimating equation, top - m * bottom = 0. At the common value m that fits
best, the residuals over their deviations, squared and summed, are compared with the law that they have if all agree.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from .cell_noise import FixedPoints
from .contrast import doubtful

if TYPE_CHECKING:
    from privet.core.event import Floats

    from .equation import Equation

_ROUNDS = 30
_DRAWS = 9_999
"""How often the null law is simulated, where noise is not normal."""


@dataclass(frozen=True)
class Homogeneity:
    """The test of whether several numbers are equal."""

    statistic: float
    degrees: int
    p_value: float
    common: float
    """The common value that fits best."""
    simulated: bool
    conservative: bool
    """Whether some group is so uncertain that the common value was taken as known, which rejects less often."""


def all_equal(equations: Equation, *, digest: str) -> Homogeneity:
    """Return the test of the hypothesis that the numbers of all groups are equal.

    With r_g = top_g - m bottom_g and V_g its variance by noise and sampling, T is the least over m of sum r_g^2 / V_g.
    For fixed V it is the length of what is left of r / sqrt(V) once its part along bottom / sqrt(V) is taken away, so
    that normal errors make it chi-squared with one degree less than there are groups. Laplace noise is simulated.

    Guarantee: the level, where sampling errors are normal. At the true m, sum r_g^2 / V_g has a law that does not
    depend on the divisors, and T is no larger: where some divisor is near its noise, that law is used, for any divisor.
    People who are in several groups: the covariance of all residuals is at most the diagonal V, so T is smaller still.
    The points of a simulation are fixed by the digest: asking again cannot choose another p-value.
    """
    import numpy as np
    from scipy.special import chdtrc, ndtri

    size = len(equations.top)
    sums, m = equations, float(np.nanmean(equations.value)) if np.isfinite(equations.value).any() else 0.0
    variance = _variance(sums, m)
    for _ in range(_ROUNDS):
        weight = sums.bottom / variance
        below = float((weight * sums.bottom).sum())
        m = float(np.clip((weight * sums.top).sum() / below if below > 0 else m, equations.low, equations.high))
        variance = _variance(sums, m)
    doubted = any(doubtful(equations.at([place])) for place in range(size))
    statistic = float(_length((sums.top - m * sums.bottom)[None, :], sums.bottom, variance, whole=doubted)[0])
    degrees = size if doubted else size - 1
    scales, deviation, _ = sums.errors(np.full(size, m))
    if not scales or not any(np.any(one > 0) for one in scales):
        return Homogeneity(statistic, degrees, float(chdtrc(degrees, statistic)), m, False, doubted)
    points = FixedPoints(digest, "several means")
    drawn = ndtri(points.uniform((_DRAWS, size))) * deviation
    for scale in scales:
        share = points.uniform((_DRAWS, size)) - 0.5
        drawn += -np.sign(share) * np.log1p(-2 * np.abs(share)) * scale
    null = _length(drawn, sums.bottom, variance, whole=doubted)
    p = (1 + int((null >= statistic).sum())) / (_DRAWS + 1)
    return Homogeneity(statistic, degrees, p, m, True, doubted)


def _variance(equations: Equation, m: float) -> Floats:
    import numpy as np

    scales, deviation, _ = equations.errors(np.full(len(equations.top), m))
    noise = 2 * sum((one**2 for one in scales), np.zeros_like(equations.top))
    return np.asarray(np.maximum(deviation**2 + noise, 1e-300))


def _length(residuals: Floats, bottom: Floats, variance: Floats, *, whole: bool) -> Floats:
    """Return the sum of r^2 / V of each row, without its part along bottom / sqrt(V) unless the whole is asked for."""
    import numpy as np

    total = (residuals**2 / variance).sum(axis=1)
    if whole:
        return np.asarray(total)
    along = (residuals * bottom / variance).sum(axis=1)
    return np.asarray(np.maximum(total - along**2 / (bottom**2 / variance).sum(), 0.0))
