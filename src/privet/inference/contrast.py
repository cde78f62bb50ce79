"""Numbers of a population against each other: two of them, Cohen's d, and an analysis of variance of several.

Each number is an estimating equation. A difference delta is tested by how far top/bottom of one, less that of the
other, is from it; what errs is computed at the nearest two values that differ by delta. Noise in sums and counts, and
sampling, are both counted. Uses released numbers only.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Literal

from .equation import Equation
from .mixed_noise import beyond
from .noisy_tables import FixedPoints

if TYPE_CHECKING:
    from privet.core.event import Floats

    from .equation import Equation


Alternative = Literal["two-sided", "greater", "less"]
ALTERNATIVES: tuple[Alternative, ...] = ("two-sided", "greater", "less")

_STEPS = 3
_DOUBLINGS = 80
_FINE = 1e-6
"""Ends are searched for to this part of the interval."""

_DOUBT = 5.0
"""A divisor within this many deviations of its noise is too uncertain to divide by: both numbers are bounded then."""

_GRID = 801


@dataclass(frozen=True, eq=False)
class Contrast:
    """theta of one equation less `factor` times that of another: a difference, or a number that is 0 at their ratio."""

    one: Equation
    other: Equation

    def p_value(self, delta: float = 0.0, *, factor: float = 1.0, alternative: Alternative = "two-sided") -> float:
        """Return the p-value of the hypothesis theta_1 = factor * theta_2 + delta.

        `greater` is small where the first is larger than that, `less` where it is smaller.

        Guarantee: the level, where sampling errors are normal and divisors are known to a fifth or better; else it is
        bounded by both numbers' own tests, each at half of the level, whatever their divisors.
        """
        two, sign = self._two_sided(delta, factor)
        if alternative == "two-sided":
            return two
        agrees = (sign >= 0) == (alternative == "greater")
        return two / 2 if agrees else 1 - two / 2

    def _two_sided(self, delta: float, factor: float) -> tuple[float, float]:
        import numpy as np

        away, sign = self._away(delta, factor)
        if math.isnan(away) or doubtful(self.one) or doubtful(self.other):
            return self._bounded(delta, factor), sign
        scales, deviation, grid = self._errors(delta, factor)
        slack = sum(
            part * float(_only(side.slack)) / float(side.bottom[0])
            for side, part in ((self.one, 1.0), (self.other, abs(factor)))
        )
        return float(beyond(np.maximum(np.abs(away) - grid - slack, 0.0), scales, deviation)[0]), sign

    def _away(self, delta: float, factor: float) -> tuple[float, float]:
        sides = [
            float(side.top[0] / side.bottom[0]) if side.bottom[0] > 0 else math.nan for side in (self.one, self.other)
        ]
        away = sides[0] - factor * sides[1] - delta
        return away, -1.0 if away < 0 else 1.0

    def _errors(self, delta: float, factor: float) -> tuple[list[Floats], Floats, Floats]:
        """Return what errs, at the two values nearest to the estimates that the hypothesis permits."""
        import numpy as np

        sides, parts = (self.one, self.other), (1.0, abs(factor))
        away, _ = self._away(delta, factor)
        thetas = [side.value for side in sides]
        for _ in range(_STEPS):
            made = [side.errors(theta) for side, theta in zip(sides, thetas, strict=True)]
            variances = [
                (deviation**2 + 2 * sum((scale**2 for scale in scales), np.zeros(1))) * (part / side.bottom) ** 2
                for (scales, deviation, _), side, part in zip(made, sides, parts, strict=True)
            ]
            total = np.maximum(variances[0] + variances[1], 1e-300)
            first = self.one.top / self.one.bottom - away * variances[0] / total
            thetas = [
                np.clip(first, self.one.low, self.one.high),
                np.clip((first - delta) / factor if factor else self.other.value, self.other.low, self.other.high),
            ]
        scales: list[Floats] = []
        variance, grid = np.zeros(1), np.zeros(1)
        for (noises, deviation, half), side, part in zip(made, sides, parts, strict=True):
            times = part / side.bottom
            scales += [scale * times for scale in noises]
            variance, grid = variance + (deviation * times) ** 2, grid + half * times
        return scales, np.sqrt(variance), grid

    def _bounded(self, delta: float, factor: float) -> float:
        """Return the p-value by both numbers' own: twice the largest, over all pairs that differ so, of the smaller."""
        import numpy as np

        spans = self._spans
        if not all(map(math.isfinite, (*spans[0], *spans[1]))):
            return 1.0
        second = np.linspace(*spans[1], _GRID)
        first = np.clip(factor * second + delta, self.one.low, self.one.high)
        fits = np.abs(factor * second + delta - first) <= 1e-12 * (1 + np.abs(first))
        zero = [0] * _GRID
        each = np.minimum(self.one.at(zero).p_value(first), self.other.at(zero).p_value(second))
        return float(min(1.0, 2 * np.max(np.where(fits, each, 0.0), initial=0.0)))

    @cached_property
    def _spans(self) -> list[tuple[float, float]]:
        """All values of both numbers that are not improbable."""
        ends = [side.bars(1e-4) for side in (self.one, self.other)]
        return [(float(bars.low[0]), float(bars.high[0])) for bars in ends]

    @property
    def difference(self) -> float:
        """The estimated difference."""
        return float(self.one.value[0] - self.other.value[0])

    @property
    def ratio(self) -> float:
        """The estimated ratio; NaN where the second is 0."""
        second = float(self.other.value[0])
        return float(self.one.value[0]) / second if second else math.nan

    @cached_property
    def error(self) -> float:
        """The standard error of the difference."""
        return math.hypot(float(self.one.error[0]), float(self.other.error[0]))

    @property
    def ratio_error(self) -> float:
        """The standard error of the ratio, to first order."""
        parts = float(self.one.error[0]), self.ratio * float(self.other.error[0])
        return math.hypot(*parts) / float(self.other.value[0])

    def difference_interval(self, tail: float) -> tuple[float, float]:
        """Return the differences that are not rejected at a tail."""
        ends = self.one.low - self.other.high, self.one.high - self.other.low
        return crossing(lambda delta: self.p_value(delta), self.difference, ends, self.error, tail)

    def ratio_interval(self, tail: float) -> tuple[float, float]:
        """Return the ratios that are not rejected at a tail (Fieller's): infinite where the second may be 0.

        Guarantee: for a second number that cannot be negative; of any other, an interval is stated only where 0 is
        rejected for it.
        """
        import numpy as np

        second = self.other.bars(tail)
        if float(second.low[0]) <= 0 and self.other.low < 0:
            return -math.inf, math.inf
        low = 0.0 if self.one.low >= 0 else -math.inf
        center = self.ratio
        if math.isnan(center) or self.p_value(0.0, factor=center) < tail:
            return low, math.inf
        step = self.error / max(abs(float(self.other.value[0])), 1e-300)
        zero_second = float(self.other.p_value(np.zeros(1))[0]) >= tail
        ends = crossing(lambda factor: self.p_value(0.0, factor=factor), center, (low, math.inf), step, tail)
        return (ends[0], math.inf) if zero_second else ends

    def equivalence(self, margin: float) -> float:
        """Return the p-value of the hypothesis that the two differ by the margin or more: two one-sided tests."""
        above = self.p_value(-margin, alternative="greater")
        return max(above, self.p_value(margin, alternative="less"))


def doubtful(equation: Equation) -> bool:
    """Whether the divisor of an equation lies within a few deviations of its noise."""
    bottom = float(equation.bottom[0])
    noise = math.hypot(*(float(term.slope[0]) * term.law.deviation for term in equation.noise))
    return not bottom > _DOUBT * noise


def one_sided(equation: Equation, theta: float, alternative: Alternative) -> float:
    """Return the p-value of the hypothesis that a number is theta, against an alternative."""
    import numpy as np

    two = float(equation.p_value(np.full(1, theta))[0])
    if alternative == "two-sided":
        return two
    above = float(equation.top[0] - theta * equation.bottom[0]) >= 0
    return two / 2 if above == (alternative == "greater") else 1 - two / 2


def _only(slack: Floats | float) -> float:
    return slack if isinstance(slack, float) else float(slack[0])


def crossing(
    p_value: Callable[[float], float], center: float, ends: tuple[float, float], step: float, tail: float
) -> tuple[float, float]:
    """Return where a p-value that falls from a center on crosses the tail, on either side; an end where it does not."""
    from scipy.optimize import brentq

    if math.isnan(center):
        return ends
    crossings = []
    for sign, end in ((-1.0, ends[0]), (1.0, ends[1])):
        inner, width = center, max(abs(step) if math.isfinite(step) else 1.0, 1e-300)
        for _ in range(_DOUBLINGS):
            outer = min(max(center + sign * width, ends[0]), ends[1])
            if p_value(outer) < tail:
                crossings.append(brentq(lambda x: p_value(x) - tail, inner, outer, rtol=_FINE, xtol=_FINE * width))
                break
            if outer == end:
                crossings.append(end)
                break
            inner, width = outer, width * 2
        else:
            crossings.append(end)
    return float(crossings[0]), float(crossings[1])


def effect_interval(
    measured: tuple[float, list[Floats], float], spread: float, spread_error: float, tail: float
) -> tuple[float, float]:
    """Return the interval of Cohen's d: a difference over a standard deviation, both with errors.

    A value d is tested by difference - d * spread, whose error is that of the difference and d times that of the
    spread: Fieller's. Unbounded where the spread may be 0.

    Args:
        measured: the difference, the scales of its Laplace noises, and the deviation of its normal error.
        spread: the standard deviation of the values.
        spread_error: its standard error.
        tail: how often the interval may miss.
    """
    import numpy as np

    difference, scales, deviation = measured

    def p_value(d: float) -> float:
        normal = np.array(math.hypot(deviation, d * spread_error))
        return float(beyond(np.array(abs(difference - d * spread)), scales, normal))

    if not spread > 0 or not math.isfinite(spread_error):
        return -math.inf, math.inf
    step = max(deviation, *(float(np.max(scale)) for scale in scales), 0.0) if scales else deviation
    return crossing(p_value, difference / spread, (-math.inf, math.inf), step / spread, tail)


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
    For fixed V it is the length of the rest of r / sqrt(V) once its part along bottom / sqrt(V) is taken away, so that
    normal errors make it chi-squared with one degree less than there are groups. Laplace noise is simulated.

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
    if not scales or not any(np.any(scale > 0) for scale in scales):
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
    noise = np.sqrt(sum(((term.slope * term.law.deviation) ** 2 for term in equations.noise), none))
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
    variance = (normal**2 + 2 * sum((scale**2 for scale in scales), none)) / rows**2
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
    noise = 2 * sum((scale**2 for scale in scales), np.zeros_like(equations.top))
    return np.asarray(np.maximum(deviation**2 + noise, 1e-300))


def _length(residuals: Floats, bottom: Floats, variance: Floats, *, whole: bool) -> Floats:
    """Return the sum of r^2 / V of each row, without its part along bottom / sqrt(V) unless the whole is asked for."""
    import numpy as np

    total = (residuals**2 / variance).sum(axis=1)
    if whole:
        return np.asarray(total)
    along = (residuals * bottom / variance).sum(axis=1)
    return np.asarray(np.maximum(total - along**2 / (bottom**2 / variance).sum(), 0.0))
