"""Noise in proportion to a smooth bound on the local sensitivity: the noise's tails, the bound, and a quantile."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, Protocol, cast

import numpy as np
from numpy.typing import NDArray

from privet import noise
from privet.accounting.events import ApproximateEvent, PureEvent
from privet.core.errors import BadParameter, BadValue, RequestError
from privet.core.given import set_fields
from privet.core.numbers import (
    Number,
    exp_up,
    float_down,
    float_up,
    inflate,
    log_up,
    open_probability,
    positive,
    read_rational,
    whole,
)

from .lattice import Ruler, read_ruler, tail_of
from .mechanism import Mechanism, read_times, shown
from .propose_test import read_local
from .quantile_one import read_share

# Noise whose scale may depend on the data: each kind with how much sliding and how much stretching it forgives.
#
# A release is f(x) + s(x) Z with s(x) = S(x) / alpha, S a beta-smooth bound on the local sensitivity. Between
# neighbours the centre slides by at most alpha scales, and the scale stretches by at most e^beta. What that costs is
# worked out at each kind. Draws are rounded to whole steps, which is a function of what would be released.


_ROOTS = 60
_MOST_POWER = 64


class Tail(Protocol):
    """A kind of noise for smooth sensitivities."""

    def split(self, epsilon: Fraction, smoothing: Fraction) -> tuple[Fraction, Fraction]:
        """Return alpha and beta, which together cost epsilon; `smoothing` is the share that pays for beta."""
        ...

    def event(self, epsilon: Fraction) -> PureEvent | ApproximateEvent:
        """Return the event of a release at the alpha and beta of `split`."""
        ...

    def draw(self, scale: Fraction, count: int) -> NDArray[Any]:
        """Return this many fresh draws of noise of this scale, rounded to whole numbers."""
        ...

    def reach(self, confidence: Number) -> float:
        """Return how many scales the noise stays within with this probability, rounded up."""
        ...


@dataclass(frozen=True)
class PowerTail:
    """Noise with density proportional to 1 / (1 + |z|**power): Cauchy noise for 2, lighter tails for more.

    Args:
        power: the power of the tail, at least 2.

    Example:
        >>> mechanisms.PowerTail(4).power
        4

    Guarantee: pure epsilon-DP where c alpha + (p - 1) beta <= epsilon, for p = power and c = (p - 1)^(1 - 1/p). The
    logarithm of the density has the slope p z^(p-1) / (1 + z^p), which is largest, namely (p - 1)^(1 - 1/p), at
    z^p = p - 1: sliding by alpha costs c alpha. As the scale grows by e^t the logarithm changes at the rate
    1 - p z^p / (1 + z^p), between 1 - p and 1: stretching by e^beta costs (p - 1) beta.
    Cites: [NRS07, admissible noise] for the kind of noise, with alpha = beta = epsilon / (2 (power + 1)).
    """

    power: int = 2

    def __post_init__(self) -> None:
        set_fields(self, power=whole(self.power, "power", least=2, most=_MOST_POWER))

    def split(self, epsilon: Fraction, smoothing: Fraction) -> tuple[Fraction, Fraction]:
        """Return alpha and beta, which together cost epsilon; `smoothing` is the share that pays for beta."""
        total, share = positive(epsilon, "epsilon"), open_probability(smoothing, "smoothing")
        return (1 - share) * total / _slope(self.power), share * total / (self.power - 1)

    def event(self, epsilon: Fraction) -> PureEvent:
        """Return the event of a release at the alpha and beta of `split`."""
        return PureEvent(epsilon)

    def draw(self, scale: Fraction, count: int) -> NDArray[Any]:
        """Return this many fresh draws of noise of this scale, rounded to whole numbers."""
        return noise.rounded_power(scale, self.power, read_count(count))

    def reach(self, confidence: Number) -> float:
        """Return how many scales the noise stays within with this probability: 1 / (1 + |z|**power) has a beta law."""
        from scipy.special import betaincinv

        share = float(betaincinv(1 - 1 / self.power, 1 / self.power, tail_of(confidence)))
        return math.pow(_odds(share), 1 / self.power)


@dataclass(frozen=True)
class StudentTail:
    """Student's t with this many degrees of freedom, over their root: density proportional to (1 + z^2)^(-(d + 1)/2).

    Args:
        degrees: the degrees of freedom, at least 1.

    Example:
        >>> mechanisms.StudentTail(3).degrees
        3

    Guarantee: pure epsilon-DP where (d + 1)/2 alpha + d beta <= epsilon. The logarithm of the density has the slope
    (d + 1) z / (1 + z^2), at most (d + 1)/2; as the scale grows by e^t it changes at the rate
    1 - (d + 1) z^2 / (1 + z^2), between -d and 1.
    Cites: [BS19, noise for smooth sensitivity] for the kind of noise.
    """

    degrees: int = 3

    def __post_init__(self) -> None:
        set_fields(self, degrees=whole(self.degrees, "degrees", least=1, most=_MOST_POWER))

    def split(self, epsilon: Fraction, smoothing: Fraction) -> tuple[Fraction, Fraction]:
        """Return alpha and beta, which together cost epsilon; `smoothing` is the share that pays for beta."""
        total, share = positive(epsilon, "epsilon"), open_probability(smoothing, "smoothing")
        return (1 - share) * total * Fraction(2, self.degrees + 1), share * total / self.degrees

    def event(self, epsilon: Fraction) -> PureEvent:
        """Return the event of a release at the alpha and beta of `split`."""
        return PureEvent(epsilon)

    def draw(self, scale: Fraction, count: int) -> NDArray[Any]:
        """Return this many fresh draws of noise of this scale, rounded to whole numbers."""
        return noise.rounded_student(scale, self.degrees, read_count(count))

    def reach(self, confidence: Number) -> float:
        """Return how many scales the noise stays within with this probability: 1 / (1 + z**2) has a beta law."""
        from scipy.special import betaincinv

        return math.sqrt(_odds(float(betaincinv(self.degrees / 2, 0.5, tail_of(confidence)))))


@dataclass(frozen=True, init=False)
class LaplaceTail:
    """Laplace noise: the lightest tail, at the price of a delta.

    Args:
        delta: the probability with which the loss may exceed epsilon.

    Example:
        >>> mechanisms.LaplaceTail(1e-6).delta < 1e-5
        True

    Guarantee: (alpha + L, delta)-DP where beta <= L and (e^beta - 1) ln(1/delta) <= L + beta. Stretch first, around the
    same centre: where the scale grows by e^t, t <= beta, the loss is at most t; where it shrinks by e^t, the loss of a
    draw |z| = E scales, E exponential, is E (e^t - 1) - t, which exceeds L with probability
    exp(-(L + t) / (e^t - 1)), largest at t = beta: at most delta. Then slide, at the new scale, at a cost of alpha.
    Cites: [NRS07, admissible noise] for the kind of noise, with beta = epsilon / (2 ln(2 / delta)).
    """

    delta: Fraction

    def __init__(self, delta: Number) -> None:
        set_fields(self, delta=open_probability(delta, "delta"))
        if self.delta < Fraction(1, 10**300) or self.delta > Fraction(1, 10):
            raise BadParameter("delta", self.delta, "from 1e-300 to 0.1")

    def split(self, epsilon: Fraction, smoothing: Fraction) -> tuple[Fraction, Fraction]:
        """Return alpha and beta, which together cost epsilon; `smoothing` is the share that pays for beta."""
        total, share = positive(epsilon, "epsilon"), open_probability(smoothing, "smoothing")
        loss, odds = share * total, log_up(1 / self.delta)
        low, high = Fraction(0), min(loss, Fraction(1))
        for _ in range(_ROOTS):
            middle = (low + high) / 2
            if (exp_up(middle) - 1) * odds <= loss + middle:
                low = middle
            else:
                high = middle
        return (1 - share) * total, low

    def event(self, epsilon: Fraction) -> ApproximateEvent:
        """Return the event of a release at the alpha and beta of `split`."""
        return ApproximateEvent(epsilon, self.delta)

    def draw(self, scale: Fraction, count: int) -> NDArray[Any]:
        """Return this many fresh draws of noise of this scale, rounded to whole numbers."""
        return noise.rounded_laplace(scale, read_count(count))

    def reach(self, confidence: Number) -> float:
        """Return how many scales the noise stays within with this probability."""
        return inflate(-math.log(tail_of(confidence)))


def read_count(count: int) -> int:
    """Return the number of requested draws."""
    return whole(count, "count", most=2**31)


def _slope(power: int) -> Fraction:
    """Return a rational no less than (power - 1)**(1 - 1/power), the steepest slope of the logarithm; 1 for Cauchy."""
    if power == 2:
        return Fraction(1)
    return Fraction(inflate((power - 1) ** (1 - 1 / power)))


def _odds(share: float) -> float:
    return inflate((1 - share) / share) * (1 + 2.0**-30) if share > 0 else math.inf


# Noise in proportion to how far one change could move this very answer, smoothed so that the proportion reveals
# nothing.
#
# The answer is a place of a public grid, the smooth bound on its sensitivity is counted in steps of that grid, and
# the noise is rounded to whole steps. The one float in between is the smooth bound, and it is rounded up to a ladder.


LEAST_SCALE = Fraction(1, 2**20)
"""The least smooth bound, in steps: a constant is smooth, and noise this small does not show after rounding."""

_LARGEST_BOUND = 2.0**900
_ROUNDING_SHARE = 64


@dataclass(frozen=True, init=False, repr=False)
class SmoothSensitivity(Mechanism):
    """Release an answer in [low, high] with noise in proportion to a smooth bound on its local sensitivity.

    The caller passes, with the answer, its local sensitivity at each distance: A(k) is the most that one change of a
    row moves the answer on any data that k changes make of these; beyond the end of the list it is the whole range.
    `noise` is a kind of tail, Cauchy by default, and `smoothing` the share of epsilon that pays for the scale's own
    dependence on the data. Neighbours change one row.

    Args:
        low: the lower public bound.
        high: the upper public bound.
        epsilon: the privacy loss of one release, above 0.
        noise: the kind of noise: a `PowerTail`, a `StudentTail` or a `LaplaceTail`.
        step: the grid of the answers; a fine one is chosen if left out.
        smoothing: the part of epsilon for the smoothness of the bound.

    Raises:
        BadParameter: if a number is out of range.

    Example:
        >>> mechanism = mechanisms.SmoothSensitivity(low=0, high=120, epsilon=1)
        >>> mechanism.epsilon
        1.0

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
        low: Number,
        high: Number,
        epsilon: Number,
        noise: Tail | None = None,
        step: Number | None = None,
        smoothing: Number = Fraction(1, 2),
    ) -> None:
        set_fields(
            self,
            ruler=read_ruler(low, high, step),
            total=positive(epsilon, "epsilon"),
            noise=read_tail(noise),
            smoothing=open_probability(smoothing, "smoothing"),
        )
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
        """The beta that bounds are computed with, which leaves a margin for rounding them up to the ladder."""
        return self.beta - self.beta / _ROUNDING_SHARE

    def release(self, value: Any) -> Any:
        """Return the answer of a `Local` with noise, within [low, high]: an int where every place is whole."""
        return self.release_steps(*self._measure(value))

    def simulate(self, value: Any, times: int) -> NDArray[Any]:
        """Return this many releases of the same `Local`. Each costs the event once more."""
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
        """Return this many releases of a place with noise in proportion to a smooth bound in steps."""
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

    def _bound(self, bound: Number) -> float:
        exact = read_rational(bound)
        if exact is None or not 0 <= exact <= _LARGEST_BOUND:
            raise BadValue("bound", "something else", "a number of steps from 0 to 2**900")
        return float_up(exact)

    def error(self, confidence: Number = 0.95, *, sensitivity: Number) -> float:
        """Return a half-width that the noise stays within with this probability, at a smooth sensitivity.

        One that was computed from the data is as private as they are, and so is the result.
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


def smooth_bound(at_distance: Sequence[Number], beta: Number, *, most: Number) -> float:
    """Return max over k of exp(-beta k) at_distance[k], `most` beyond the list, rounded up by less than 2**-38.

    Args:
        at_distance: the local sensitivity at each distance.
        beta: the smoothness.
        most: the bound beyond the list.

    Example:
        >>> round(mechanisms.smooth_bound([1, 2], privet.Pure(epsilon=0.5).epsilon, most=10), 4)
        3.6788

    Guarantee: with A(k) the local sensitivity at distance k, the least beta-smooth bound on it, hardly more.
    Cites: [NRS07, smooth sensitivity].
    """
    rate = float_down(positive(beta, "beta"))
    bounds = [_steps(bound, "at_distance") for bound in _entries(at_distance)]
    terms = [inflate(a * math.exp(-rate * k)) for k, a in enumerate(bounds)]
    return max([*terms, inflate(_steps(most, "most") * math.exp(-rate * len(bounds)))])


def _entries(at_distance: Sequence[Number]) -> list[Any]:
    if isinstance(at_distance, np.ndarray) and at_distance.ndim == 1:
        return at_distance.tolist()
    if not isinstance(at_distance, (list, tuple)):
        raise BadValue("at_distance", f"a {type(at_distance).__name__}", "a list of numbers")
    return list(at_distance)


def _steps(bound: Number, parameter: str) -> float:
    exact = read_rational(bound)
    if exact is None or exact < 0:
        raise BadValue(parameter, "something else", "made of finite numbers of at least 0")
    return float_up(exact)


def read_tail(tail: Tail | None) -> Tail:
    """Return the requested kind of noise, Cauchy by default."""
    if tail is None:
        return PowerTail()
    if not isinstance(tail, PowerTail | StudentTail | LaplaceTail):
        raise RequestError(
            "noise must be a PowerTail (Cauchy and its like), a StudentTail, or a LaplaceTail with a delta; "
            "Gaussian noise does not forgive a scale that depends on the data without more slack"
        )
    return cast(Tail, tail)


# A quantile with noise in proportion to its smooth sensitivity, at the price of selecting the rows next to it.
#
# Only rows within some number of ranks can matter, since the weight of a distance falls like exp(-beta k) and the
# bound has a floor. Among those, the best pair of rows is found by divide and conquer.


_SQUARE = 512
_TIE = 1 - 2.0**-40


@dataclass(frozen=True, init=False, repr=False)
class SmoothQuantile(Mechanism):
    """Release the q-quantile of numbers between two public bounds with noise in proportion to its smooth sensitivity.

    The quantile of n numbers is the one of rank ceil(q n), at least 1. Neighbours change one row, so n is public.
    Numbers are clamped and placed on the grid as `Quantile` does.

    Args:
        q: the share of the values below: 0.5 for the median.
        low: the lower public bound.
        high: the upper public bound.
        epsilon: the privacy loss of one release, above 0.
        noise: the kind of noise: a `PowerTail`, a `StudentTail` or a `LaplaceTail`.
        step: the grid of the answers; a fine one is chosen if left out.
        smoothing: the part of epsilon for the smoothness of the bound.

    Raises:
        BadParameter: if a number is out of range.

    Example:
        >>> mechanism = mechanisms.SmoothQuantile(q=0.5, low=0, high=120, epsilon=1)
        >>> mechanism.epsilon
        1.0

    Guarantee: that of `SmoothSensitivity`. With the row of rank m asked for, rows before the first at low and after the
    last at high, k changes of rows can make any of x[m+t], t from -k to k, the one asked for, so the local
    sensitivity at distance k is max over t from 0 to k + 1 of x[m+t] - x[m+t-k-1]; the smooth bound is the largest
    exp(-b (j - i - 1)) (x[j] - x[i]) over i <= m <= j, i < j. Pairs further apart than the window do not reach the
    least bound, whatever they hold. Placing a number is a function of that number alone.
    Cites: [NRS07, the median].
    """

    q: Fraction
    smooth: SmoothSensitivity

    def __init__(
        self,
        *,
        q: Number,
        low: Number,
        high: Number,
        epsilon: Number,
        noise: Tail | None = None,
        step: Number | None = None,
        smoothing: Number = Fraction(1, 2),
    ) -> None:
        set_fields(self, q=read_share(q, "q"))
        smooth = SmoothSensitivity(low=low, high=high, epsilon=epsilon, noise=noise, step=step, smoothing=smoothing)
        set_fields(self, smooth=smooth)

    @property
    def event(self) -> PureEvent | ApproximateEvent:
        """The event of one release."""
        return self.smooth.event

    def release(self, values: Any) -> Any:
        """Return the quantile of a list or one-dimensional array: an int where every place is whole, else a float."""
        place, bound = self._measure(values)
        return self.smooth.release_steps(place, bound)

    def simulate(self, values: Any, times: int) -> NDArray[Any]:
        """Return this many releases of the same values. Each costs the event once more."""
        return self.smooth.simulate_steps(*self._measure(values), times)

    def smooth_sensitivity(self, values: Any) -> float:
        """Return the smooth sensitivity that a release of these values would use. It is as private: not for release."""
        return float(self.smooth.rung(self._measure(values)[1]) * self.smooth.ruler.step)

    def error(self, confidence: Number = 0.95, *, sensitivity: Number) -> float:
        """Return a half-width that the noise stays within with this probability, at a smooth sensitivity."""
        return self.smooth.error(confidence, sensitivity=sensitivity)

    @cached_property
    def _window(self) -> int:
        """How many ranks to each side can matter: exp(-b k) times the whole range is below the least bound beyond."""
        largest = math.log(self.smooth.ruler.last) - math.log(LEAST_SCALE)
        return math.ceil(inflate(largest) / float_down(self.smooth.smooth_beta)) + 1

    def _measure(self, values: Any) -> tuple[int, float]:
        places = self.smooth.ruler.place(values)
        n, reach = places.size, self._window
        if n == 0:
            raise BadValue("values", "an empty list", "a list with at least one number; its length is public")
        middle = min(max(math.ceil(self.q * n), 1), n) - 1
        low, high = middle - reach, middle + reach
        if low > 0:
            places.partition(low)
        if high < n - 1:
            places[max(low, 0) :].partition(high - max(low, 0))
        near = np.sort(places[max(low, 0) : high + 1])
        # One padding row on each side represents all of them: further ones are further apart and no wider.
        padded = np.concatenate(([0] if low < 0 else [], near, [self.smooth.ruler.last] if high >= n else []))
        centre = middle - max(low, 0) + (low < 0)
        return int(padded[centre]), best_pair(padded.astype(np.int64), centre, self.smooth.smooth_beta)

    def __repr__(self) -> str:
        ruler = self.smooth.ruler
        text = (
            f"q={shown(self.q)}, low={shown(ruler.low)}, high={shown(ruler.high)}, epsilon={shown(self.smooth.total)}"
        )
        return f"SmoothQuantile({text}, noise={self.smooth.noise!r})"


def best_pair(rows: NDArray[np.int64], middle: int, beta: Fraction) -> float:
    """Return max over i <= middle <= j, i < j, of (rows[j] - rows[i]) exp(-beta (j - i - 1)), rounded up a little.

    Rows are in order. A best j for i does not fall as i rises: if j' > j is no worse for i, then
    rows[j'] c' - rows[j] c >= rows[i] (c' - c) for c' = exp(-beta j') < c, and a larger row on the right makes that
    easier. So the best j for the middle i bounds those of both halves. Since computed values may tie, the bound is
    the least j that is within the error of the best for the upper half, and the greatest for the lower.

    Guarantee: no less than the maximum, and more by less than a part in 2**38.
    Cites: [NRS07, the median].
    """
    decay = np.exp(-float_down(beta) * np.arange(rows.size))
    ends = rows[middle:].astype(np.float64)

    def scores(i: int, first: int, last: int) -> NDArray[np.float64]:
        """Return the scores of i with each j from middle + first to middle + last."""
        gaps = ends[first : last + 1] - float(rows[i])
        start = middle + first - i - 1
        if start < 0:  # the pair of the middle with itself
            return np.concatenate(([0.0], gaps[1:] * decay[: gaps.size - 1]))
        return np.asarray(gaps * decay[start : start + gaps.size])

    best, waiting = 0.0, [(0, middle, 0, ends.size - 1)]
    while waiting:
        low, high, first, last = waiting.pop()
        if high < low:
            continue
        if (high - low + 1) <= 2 or (high - low + 1) * (last - first + 1) <= _SQUARE:
            best = max(best, *(float(scores(i, first, last).max()) for i in range(low, high + 1)))
            continue
        i = (low + high) // 2
        scored = scores(i, first, last)
        top = float(scored.max())
        best = max(best, top)
        near = np.flatnonzero(scored >= top * _TIE) if top > 0 else np.array([0, last - first])
        waiting.append((low, i - 1, first, first + int(near[-1])))
        if top > 0 or rows[i] < rows[middle]:
            waiting.append((i + 1, high, first + int(near[0]), last))
    return inflate(best)
