"""Are several numbers equal? An analysis of variance that knows the noise in sums and counts. Sees released numbers.

Group sizes are private, so each mean is an estimating equation, top - m * bottom = 0. At the common value m that fits
best, the residuals over their deviations, squared and summed, are compared with the law that they have if all agree.
"""

from __future__ import annotations

import math
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
    from scipy.special import chdtrc

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
    null = _length(
        _drawn(scales, deviation, FixedPoints(digest, "several means")), sums.bottom, variance, whole=doubted
    )
    p = (1 + int((null >= statistic).sum())) / (_DRAWS + 1)
    return Homogeneity(statistic, degrees, p, m, True, doubted)


@dataclass(frozen=True)
class Explained:
    """Eta squared: the share of the variance of values that lies between groups, with an interval."""

    value: float
    low: float
    high: float
    error: float


def explained_share(equations: Equation, within: tuple[float, float], *, confidence: float, digest: str) -> Explained:
    """Return eta squared, s_B^2 / (s_B^2 + s_W^2), with s_B^2 the least over m of sum p_g (mean_g - m)^2.

    The root of that sum is the length of a vector, for estimated means as for true ones, and the two lengths differ by
    no more than that of the vector of errors, whose law is known: it is simulated. Where p_g is off by a factor, s_B^2
    is off by no more than the least and the largest of these. Three quarters of what the interval may miss are for the
    errors of the means, an eighth for s_W, and an eighth for the noise in numbers of rows.

    Args:
        equations: the means of all groups.
        within: the standard deviation within groups, and its standard error.
        confidence: the confidence level of the interval.
        digest: what fixes the points of the simulation.

    Guarantee: at least the confidence level, where sampling errors are normal and values nearly so. From 0 to 1 where
    the number of rows of a group is near its noise, or nothing is known of the deviation within groups.
    """
    import numpy as np

    size, tail, (deviation, spread_error) = len(equations.top), 1 - confidence, within
    rows, none = equations.bottom, np.zeros(len(equations.top))
    noise = np.sqrt(sum(((one.slope * one.law.deviation) ** 2 for one in equations.noise), none))
    least, most = (rows + side * _reach(tail / (16 * size)) * noise for side in (-1, 1))
    doubted = least.min() <= 0 or any(doubtful(equations.at([place])) for place in range(size))
    if doubted or not deviation > 0 or not math.isfinite(spread_error):
        return Explained(math.nan, 0.0, 1.0, math.nan)
    share, means = rows / rows.sum(), equations.top / rows
    scales, normal, _ = equations.errors(means)
    errors = _drawn(scales, normal, FixedPoints(digest, "eta squared")) / rows
    lengths = np.sort(_between(errors, share))
    rank = math.ceil((1 - 3 * tail / 4) * (_DRAWS + 1))
    radius = float(lengths[rank - 1]) if rank <= _DRAWS else math.inf
    length, far = float(_between(means[None, :], share)[0]), _reach(tail / 16) * spread_error
    low = max(length - radius, 0.0) ** 2 * float((least / (least + most.sum() - most) / share).min())
    high = (length + radius) ** 2 * float((most / (most + least.sum() - least) / share).max())
    variance = (normal**2 + 2 * sum((one**2 for one in scales), none)) / rows**2
    between = max(length**2 - float((share * (1 - share) * variance).sum()), 0.0)
    ends = (
        _share_of(low, deviation + far),
        _share_of(between, deviation),
        _share_of(high, deviation - far) if deviation > far else 1.0,
    )
    ratio, step = math.sqrt(between) / deviation, float(np.sqrt((lengths**2).mean())) / deviation
    error = (2 * ratio * step + step**2) / (1 + ratio**2) ** 2
    return Explained(min(max(ends[1], ends[0]), ends[2]), ends[0], ends[2], error)


def _between(means: Floats, share: Floats) -> Floats:
    """Return the standard deviation between the means of each row."""
    import numpy as np

    centred = means - (means * share).sum(axis=1, keepdims=True)
    return np.asarray(np.sqrt((share * centred**2).sum(axis=1)))


def _share_of(between: float, deviation: float) -> float:
    return between / (between + deviation**2) if math.isfinite(between) else 1.0


def _reach(tail: float) -> float:
    """Return how many deviations normal and Laplace errors exceed with this probability at most, on one side."""
    from scipy.special import ndtri

    return max(float(-ndtri(tail)), -math.log(2 * tail) / math.sqrt(2))


def _drawn(scales: list[Floats], normal: Floats, points: FixedPoints) -> Floats:
    """Return errors of all residuals, by points that are fixed."""
    import numpy as np
    from scipy.special import ndtri

    drawn = ndtri(points.uniform((_DRAWS, len(normal)))) * normal
    for scale in scales:
        share = points.uniform((_DRAWS, len(normal))) - 0.5
        drawn += -np.sign(share) * np.log1p(-2 * np.abs(share)) * scale
    return np.asarray(drawn)


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
