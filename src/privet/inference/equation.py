"""Numbers of a population as estimating equations: the release implies top - theta * bottom = 0, but for errors.

A value is tested by how far that residual is from zero, against the law of its noise and of sampling; the values that
are not rejected are its interval (test inversion; Fieller's for ratios). Uses released numbers and public facts only.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from .bars import Bars, Law
from .mixed_noise import beyond

if TYPE_CHECKING:
    from privet.core.event import Floats

_HALVINGS = 40
_DOUBLINGS = 80


@dataclass(frozen=True, eq=False)
class NoiseTerm:
    """Known noise in a residual: `constant + theta * slope` times noise of a law."""

    law: Law
    constant: Floats
    slope: Floats


@dataclass(frozen=True, eq=False)
class Equation:
    """One number theta for each of several groups, by its residual top - theta * bottom.

    Sampling moves the residual by a variance of spread[0] + spread[1] * theta + spread[2] * theta**2, at most.
    """

    top: Floats
    bottom: Floats
    noise: tuple[NoiseTerm, ...]
    spread: tuple[Floats, Floats, Floats]
    low: float = float("-inf")
    """The least value that theta can have, from public facts; and the largest."""
    high: float = float("inf")
    slack: Floats | float = 0.0
    """How far the residual is from zero on average at the truth, at most."""

    @property
    def value(self) -> Floats:
        """The estimate, within the ends: where the residual is zero."""
        import numpy as np

        ratio = np.divide(self.top, self.bottom, out=np.full(self.top.shape, np.nan), where=self.bottom > 0)
        return np.asarray(np.clip(ratio, self.low, self.high))

    @property
    def of_sample(self) -> Equation:
        """The same number of the very rows that were asked about: no sampling, the noise alone."""
        import numpy as np

        none = np.zeros_like(self.top)
        return replace(self, spread=(none, none, none))

    def at(self, rows: Sequence[int]) -> Equation:
        """Return the equations of some groups."""
        import numpy as np

        places = np.asarray(rows, dtype=np.int64)
        return replace(
            self,
            top=self.top[places],
            bottom=self.bottom[places],
            noise=tuple(NoiseTerm(term.law, term.constant[places], term.slope[places]) for term in self.noise),
            spread=(self.spread[0][places], self.spread[1][places], self.spread[2][places]),
            slack=self.slack if isinstance(self.slack, float) else self.slack[places],
        )

    def scaled(self, factor: float) -> Equation:
        """Return the same with this many times the variance by sampling."""
        constant, linear, square = self.spread
        return replace(self, spread=(factor * constant, factor * linear, factor * square))

    def moved(self, factor: float, offset: float) -> Equation:
        """Return the equations of factor * theta + offset."""
        constant, linear, square = self.spread
        low, high = sorted((factor * self.low + offset, factor * self.high + offset))
        return Equation(
            factor * self.top + offset * self.bottom,
            self.bottom,
            tuple(NoiseTerm(term.law, factor * term.constant - offset * term.slope, term.slope) for term in self.noise),
            (
                factor**2 * constant - factor * offset * linear + offset**2 * square,
                factor * linear - 2 * offset * square,
                square,
            ),
            low,
            high,
            self.slack * abs(factor),
        )

    def variance(self, theta: Floats) -> Floats:
        """Return the variance by which sampling moves the residual, if theta is true."""
        import numpy as np

        constant, linear, square = self.spread
        return np.asarray(np.maximum(constant + linear * theta + square * theta * theta, 0.0))

    def errors(self, theta: Floats) -> tuple[list[Floats], Floats, Floats]:
        """Return the scales of the Laplace noises in the residual, the deviation of the rest, and half its grid."""
        import numpy as np

        scales: list[Floats] = []
        variance, grid = self.variance(theta), np.zeros(np.shape(theta))
        for term in self.noise:
            factor = np.abs(term.constant + term.slope * theta)
            laplace, deviation = noises(term.law)
            scales += [factor * scale for scale in laplace]
            variance = variance + (factor * deviation) ** 2
            grid = grid + (factor * term.law.step / 2 if term.law.coarse else 0.0)
        # a grid is felt only where nothing else blurs it
        return scales, np.sqrt(variance), np.where(variance > grid**2, 0.0, grid)

    def residual(self, theta: Floats) -> Floats:
        """Return the residual at a value, nearer to zero by the slack."""
        import numpy as np

        residual = self.top - theta * self.bottom
        return np.asarray(np.sign(residual) * np.maximum(np.abs(residual) - self.slack, 0.0))

    def p_value(self, theta: Floats) -> Floats:
        """Return how likely a residual as far from zero is, if theta is true: two-sided."""
        import numpy as np

        scales, deviation, grid = self.errors(theta)
        return beyond(np.maximum(np.abs(self.residual(theta)) - grid, 0.0), scales, deviation)

    @property
    def error(self) -> Floats:
        """The standard error of the estimate; NaN where the divisor is uninformative."""
        import numpy as np

        known = self.bottom > 0
        scales, deviation, _ = self.errors(np.where(known, self.value, 0.0))
        spread = np.sqrt(deviation**2 + 2 * sum((scale**2 for scale in scales), np.zeros_like(self.top)))
        return np.asarray(spread / np.where(known, self.bottom, np.nan))

    def bars(self, tail: float) -> Bars:
        """Return the values that are not rejected at a tail, from the estimate outwards, and the standard error.

        Guarantee: misses with probability `tail` where the set is one interval. Where the divisor says nothing, or the
        estimate itself was cut off and is rejected, the interval is all that is possible.
        """
        import numpy as np

        known = self.bottom > 0
        center = np.where(known, self.value, np.clip(0.0, self.low, self.high))
        error = self.error
        low, high = inverted(self.p_value, center, (self.low, self.high), np.nan_to_num(error, nan=1.0), tail)
        ratio = any(np.any(term.slope != 0) for term in self.noise)
        lost = ~known | ((self.p_value(center) < tail) if ratio else False)
        low, high = np.where(lost, self.low, low), np.where(lost, self.high, high)
        return Bars(low, high, np.minimum(error, self.high - self.low))


def noises(law: Law) -> tuple[tuple[float, ...], float]:
    """Return the scales of the Laplace noises that a law is the sum of, and the deviation of its normal part."""
    scales = getattr(law, "several", None)
    if scales is not None:
        return tuple(scale for scale, times in scales for _ in range(times)), 0.0
    if law.family == "gaussian":
        return (), law.deviation
    return tuple(law.scale * part for part in law.parts), 0.0


def inverted(
    p_value: Callable[[Floats], Floats],
    center: Floats,
    ends: tuple[float, float],
    step: Floats,
    tail: float,
) -> tuple[Floats, Floats]:
    """Return the first values on either side of a center at which a p-value falls below a tail; an end if none does.

    The search goes outwards by doubling steps, then halves the gap: the p-value falls from the center on.
    """
    import numpy as np

    reached = []
    for sign, end in ((-1.0, ends[0]), (1.0, ends[1])):
        inner, outer = center, center
        width = np.maximum(np.abs(step), 1e-300)
        free = np.ones(center.shape, dtype=np.bool_)
        for _ in range(_DOUBLINGS):
            tried = np.clip(center + sign * width, *ends)
            inside = p_value(tried) >= tail
            inner, outer = np.where(free & inside, tried, inner), np.where(free, tried, outer)
            free = free & inside & (tried != end)
            if not free.any():
                break
            width = width * 2
        beyond_all = p_value(outer) >= tail
        for _ in range(_HALVINGS):
            middle = (inner + outer) / 2
            inside = p_value(middle) >= tail
            inner, outer = np.where(inside, middle, inner), np.where(inside, outer, middle)
        reached.append(np.where(beyond_all, end, outer))
    return reached[0], reached[1]
