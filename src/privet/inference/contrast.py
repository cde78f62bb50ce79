"""Two numbers against each other: their difference or their ratio, by the law of the noise and sampling of both.

Each number is an estimating equation. A difference delta is tested by how far top/bottom of one, less that of the
other, is from it; what errs is computed at the nearest two values that differ by delta. Sees released numbers only.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Literal

from .convolution import beyond
from .equation import Equation

if TYPE_CHECKING:
    from privet.core.event import Floats

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
    """theta of one equation less `factor` times that of another: a difference, or what is 0 at their ratio."""

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
            part * float(_only(one.slack)) / float(one.bottom[0])
            for one, part in ((self.one, 1.0), (self.other, abs(factor)))
        )
        return float(beyond(np.maximum(np.abs(away) - grid - slack, 0.0), scales, deviation)[0]), sign

    def _away(self, delta: float, factor: float) -> tuple[float, float]:
        sides = [float(one.top[0] / one.bottom[0]) if one.bottom[0] > 0 else math.nan for one in (self.one, self.other)]
        away = sides[0] - factor * sides[1] - delta
        return away, -1.0 if away < 0 else 1.0

    def _errors(self, delta: float, factor: float) -> tuple[list[Floats], Floats, Floats]:
        """Return what errs, at the two values nearest to the estimates that the hypothesis permits."""
        import numpy as np

        sides, parts = (self.one, self.other), (1.0, abs(factor))
        away, _ = self._away(delta, factor)
        thetas = [one.value for one in sides]
        for _ in range(_STEPS):
            made = [one.errors(theta) for one, theta in zip(sides, thetas, strict=True)]
            variances = [
                (deviation**2 + 2 * sum((scale**2 for scale in scales), np.zeros(1))) * (part / one.bottom) ** 2
                for (scales, deviation, _), one, part in zip(made, sides, parts, strict=True)
            ]
            total = np.maximum(variances[0] + variances[1], 1e-300)
            first = self.one.top / self.one.bottom - away * variances[0] / total
            thetas = [
                np.clip(first, self.one.low, self.one.high),
                np.clip((first - delta) / factor if factor else self.other.value, self.other.low, self.other.high),
            ]
        scales: list[Floats] = []
        variance, grid = np.zeros(1), np.zeros(1)
        for (several, deviation, half), one, part in zip(made, sides, parts, strict=True):
            times = part / one.bottom
            scales += [scale * times for scale in several]
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
        ends = [one.bars(1e-4) for one in (self.one, self.other)]
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
        found = crossing(lambda factor: self.p_value(0.0, factor=factor), center, (low, math.inf), step, tail)
        return (found[0], math.inf) if zero_second else found

    def equivalence(self, margin: float) -> float:
        """Return the p-value of the hypothesis that the two differ by the margin or more: two one-sided tests."""
        above = self.p_value(-margin, alternative="greater")
        return max(above, self.p_value(margin, alternative="less"))


def doubtful(equation: Equation) -> bool:
    """Whether the divisor of an equation lies within a few deviations of its noise."""
    bottom = float(equation.bottom[0])
    noise = math.hypot(*(float(one.slope[0]) * one.law.deviation for one in equation.noise))
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
    found = []
    for sign, end in ((-1.0, ends[0]), (1.0, ends[1])):
        inner, width = center, max(abs(step) if math.isfinite(step) else 1.0, 1e-300)
        for _ in range(_DOUBLINGS):
            outer = min(max(center + sign * width, ends[0]), ends[1])
            if p_value(outer) < tail:
                found.append(brentq(lambda x: p_value(x) - tail, inner, outer, rtol=_FINE, xtol=_FINE * width))
                break
            if outer == end:
                found.append(end)
                break
            inner, width = outer, width * 2
        else:
            found.append(end)
    return float(found[0]), float(found[1])
