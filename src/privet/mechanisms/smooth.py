"""Noise in proportion to how far one change could move this very answer, smoothed so that the proportion tells nothing.

The answer is a place of a public grid, the smooth bound on its sensitivity is counted in steps of that grid, and the
noise is rounded to whole steps. The one float in between is the smooth bound, and it is rounded up to a ladder.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from privet.accounting.events import ApproximateEvent, PureEvent
from privet.core.errors import BadParameter, BadValue, RequestError
from privet.core.exact import open_probability, positive, read_rational, whole
from privet.core.rounding import float_down, float_up, inflate

from .local_sensitivity import read_local
from .mechanism import Mechanism, read_times, shown
from .ruler import Ruler, read_ruler
from .tails import LaplaceTail, PowerTail, StudentTail, Tail

LEAST_SCALE = Fraction(1, 2**20)
"""The least smooth bound, in steps: a constant is smooth, and noise this small does not show after rounding."""

_LARGEST_BOUND = 2.0**900
_ROUNDING_SHARE = 64


@dataclass(frozen=True, init=False, repr=False)
class SmoothSensitivity(Mechanism):
    """Release an answer in [low, high] with noise in proportion to a smooth bound on its local sensitivity.

    The caller gives, with the answer, its local sensitivity at each distance: A(k) is the most that one change of a
    row moves the answer on any data that k changes make of these; beyond the end of the list it is the whole range.
    `noise` is a kind of tail, Cauchy by default, and `smoothing` the share of epsilon that pays for the scale's own
    dependence on the data. Neighbours change one row.

    Guarantee: epsilon-DP ((epsilon, delta)-DP with Laplace noise), if A is right. Let S(x) = max over k of
    e^(-b k) A(k), or a constant where that is more: A_x(k) <= A_y(k + 1) for neighbours, so S(x) <= e^b S(y). What is
    computed, and rounded up to some binary digits, is an L with S <= L <= F S, F = (1 + 2**-38) (1 + 2**(1 - digits));
    so L(x) <= F e^b L(y), and with b = beta - ln F, computed as beta less a 64th of it, L is beta-smooth. The noise has
    scale L / alpha; the tail says what alpha and beta cost, for the noise that is not rounded. The answer is moved to
    the nearest place of the grid first, which takes answers at a distance d to places ceil(d / step) apart at most,
    and A is rounded up to steps; so rounding the noise to steps is rounding what would be released.
    Cites: [NRS07, smooth bounds], [BS19, noise for smooth sensitivity].
    """

    ruler: Ruler
    total: Fraction
    noise: Tail
    smoothing: Fraction

    def __init__(
        self,
        *,
        low: object,
        high: object,
        epsilon: object,
        noise: Tail | None = None,
        step: object = None,
        smoothing: object = Fraction(1, 2),
    ) -> None:
        object.__setattr__(self, "ruler", read_ruler(low, high, step))
        object.__setattr__(self, "total", positive(epsilon, "epsilon"))
        object.__setattr__(self, "noise", read_tail(noise))
        object.__setattr__(self, "smoothing", open_probability(smoothing, "smoothing"))
        if self.beta < Fraction(1, 2**30):
            raise BadParameter("epsilon", epsilon, "large enough, at this smoothing, that beta is at least 2**-30")

    @cached_property
    def event(self) -> PureEvent | ApproximateEvent:
        """The event of one release."""
        return self.noise.event(self.total)

    @property
    def alpha(self) -> Fraction:
        """How many scales the centre may slide by."""
        return self._split[0]

    @property
    def beta(self) -> Fraction:
        """How far the logarithm of the scale may move."""
        return self._split[1]

    @property
    def smooth_beta(self) -> Fraction:
        """The beta that bounds are computed with, which leaves room for rounding them up to the ladder."""
        return self.beta - self.beta / _ROUNDING_SHARE

    def release(self, value: Any) -> Any:
        """Return the answer of a `Local` with noise, within [low, high]: an int where every place is whole."""
        return self.release_steps(*self._measure(value))

    def simulate(self, value: Any, times: int) -> NDArray[Any]:
        """Return so many releases of the same `Local`. Each costs the event once more."""
        return self.simulate_steps(*self._measure(value), times)

    def _measure(self, value: Any) -> tuple[int, float]:
        answer, entries = read_local(value)
        steps = [min(math.ceil(entry / self.ruler.step), self.ruler.last) for entry in entries]
        bound = smooth_bound(steps, self.smooth_beta, most=self.ruler.last)
        return self.ruler.nearest(answer), bound

    def release_steps(self, place: int, bound: float) -> Any:
        """Return a place with noise in proportion to a smooth bound in steps, computed with `smooth_beta`.

        The bound may be up to 2**-38 too high, relatively, and must not be too low.
        """
        return self.simulate_steps(place, bound, 1).tolist()[0]

    def simulate_steps(self, place: int, bound: float, times: int) -> NDArray[Any]:
        """Return so many releases of a place with noise in proportion to a smooth bound in steps."""
        scale, start = self.rung(bound) / self.alpha, whole(place, "place", most=self.ruler.last)
        moved = np.clip(start + self.noise.draw(scale, read_times(times)), 0, self.ruler.last).astype(np.int64)
        held, where = np.unique(moved, return_inverse=True)
        return np.asarray(self.ruler.at(held.tolist()))[where]

    def rung(self, bound: float) -> Fraction:
        """Return a bound in steps, or the least one, rounded up to as many binary digits as the ladder needs."""
        reached = self._bound(bound)
        digits = math.ceil(4 * _ROUNDING_SHARE / self.beta).bit_length()
        mantissa, exponent = math.frexp(max(reached, float(LEAST_SCALE)))
        return Fraction(math.ceil(Fraction(mantissa) * 2**digits)) * Fraction(2) ** (exponent - digits)

    def _bound(self, bound: object) -> float:
        exact = read_rational(bound)
        if exact is None or not 0 <= exact <= _LARGEST_BOUND:
            raise BadValue("bound", "something else", "a number of steps from 0 to 2**900")
        return float_up(exact)

    def error(self, confidence: object = 0.95, *, sensitivity: object) -> float:
        """Return a half-width that the noise stays within with this probability, at a smooth sensitivity.

        One that was computed from the data is as private as they are, and so is what comes back.
        """
        steps = float_up(positive(sensitivity, "sensitivity") / self.ruler.step)
        if steps > _LARGEST_BOUND:
            return math.inf
        reach = self.noise.reach(confidence)
        if reach == math.inf:
            return math.inf
        return float_up((self.rung(steps) / self.alpha * Fraction(reach) + 1) * self.ruler.step)

    @cached_property
    def _split(self) -> tuple[Fraction, Fraction]:
        return self.noise.split(self.total, self.smoothing)

    def __repr__(self) -> str:
        bounds = f"low={shown(self.ruler.low)}, high={shown(self.ruler.high)}"
        return f"SmoothSensitivity({bounds}, epsilon={shown(self.total)}, noise={self.noise!r})"


def smooth_bound(at_distance: Sequence[float], beta: Fraction, *, most: float) -> float:
    """Return max over k of exp(-beta k) at_distance[k], `most` beyond the list, rounded up by less than 2**-38.

    Guarantee: with A(k) the local sensitivity at distance k, the least beta-smooth bound on it, hardly more.
    Cites: [NRS07, smooth sensitivity].
    """
    rate = float_down(positive(beta, "beta"))
    bounds = [_steps(bound, "at_distance") for bound in _entries(at_distance)]
    terms = [inflate(a * math.exp(-rate * k)) for k, a in enumerate(bounds)]
    return max([*terms, inflate(_steps(most, "most") * math.exp(-rate * len(bounds)))])


def _entries(at_distance: object) -> list[Any]:
    if isinstance(at_distance, np.ndarray) and at_distance.ndim == 1:
        return at_distance.tolist()  # type: ignore[no-any-return]
    if not isinstance(at_distance, (list, tuple)):
        raise BadValue("at_distance", f"a {type(at_distance).__name__}", "a list of numbers")
    return list(at_distance)


def _steps(bound: object, parameter: str) -> float:
    exact = read_rational(bound)
    if exact is None or exact < 0:
        raise BadValue(parameter, "something else", "made of finite numbers of at least 0")
    return float_up(exact)


def read_tail(tail: object) -> Tail:
    """Return the kind of noise that was asked for, Cauchy by default."""
    if tail is None:
        return PowerTail()
    if not isinstance(tail, PowerTail | StudentTail | LaplaceTail):
        raise RequestError(
            "noise must be a PowerTail (Cauchy and its like), a StudentTail, or a LaplaceTail with a delta; "
            "Gaussian noise does not forgive a scale that depends on the data without more slack"
        )
    return cast(Tail, tail)
