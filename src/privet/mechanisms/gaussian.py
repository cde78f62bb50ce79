"""The Gaussian mechanism, drawn as discrete Gaussian noise on a grid and priced for that noise."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

from privet import noise
from privet.accounting.gdp import gaussian_mu
from privet.accounting.pairs import DiscreteGaussianPair, GaussianPair
from privet.core.errors import BadParameter, BadValue, RequestError
from privet.core.event import Atom, Event, Exact, Pair
from privet.core.given import set_fields
from privet.core.numbers import (
    Number,
    failure_probability,
    float_down,
    float_up,
    inflate,
    least,
    nonnegative,
    positive,
    read_order,
    sqrt_down,
    sqrt_up,
    whole,
)
from privet.core.unit import Sensitivity
from privet.core.wire import wired

from .lattice import (
    Grid,
    Numbers,
    add,
    around,
    exponent_below,
    from_grid,
    read_grid,
    read_numbers,
    repeated,
    step_of,
    tail_of,
    to_grid,
)
from .laws import AdditiveNoise, DiscreteGaussian
from .mechanism import read_times, shown

# The cost of Gaussian noise: continuous, on a grid so fine that it hardly differs, or on the integers themselves.


@dataclass(frozen=True, init=False)
class GaussianEvent(Atom):
    """Gaussian noise of standard deviation sigma on answers that move by at most `sensitivity` in L2.

    `blur` is 0 for the continuous law. Above 0 the noise is a discrete Gaussian on so fine a grid that both
    densities stay within a factor e^(+-blur) of the continuous ones, outside a set of probability below 2**-900.

    Args:
        sensitivity_squared: the square of the L2 sensitivity.
        sigma_squared: the variance of the noise.

    Example:
        >>> mechanisms.GaussianEvent(sensitivity_squared=1, sigma_squared=4).rho()
        Fraction(1, 8)

    Guarantee: for the continuous law every curve is that of N(0, 1) against N(mu, 1), mu = sensitivity / sigma, in any
    dimension, by rotation. For the discrete one rho and the Renyi curve hold as they stand, and
    delta(epsilon) <= e^blur delta_continuous(epsilon - 2 blur) + 2**-900: for any set S, and its part R on which both
    densities are so close and which misses only t < 2**-900 of P,
    P(S) <= P(R) + t <= e^blur P_c(R) + t <= e^(epsilon - blur) Q_c(R) + e^blur d + t <= e^epsilon Q(S) + e^blur d + t.
    Cites: [BW18, Thm 8], [CKS20, Thm 14], [Mir17, Prop. 7].
    """

    sensitivity_squared: Fraction
    sigma_squared: Fraction
    blur: Fraction = Fraction(0)

    def __init__(self, *, sensitivity_squared: Number, sigma_squared: Number, blur: Number = Fraction(0)) -> None:
        given = {"sensitivity_squared": sensitivity_squared, "sigma_squared": sigma_squared, "blur": blur}
        set_fields(self, **{name: nonnegative(number, name) for name, number in given.items()})

    def pure(self) -> Exact:
        return Fraction(0) if self.sensitivity_squared == 0 else math.inf

    def rho(self) -> Exact:
        """Return sensitivity**2 / (2 sigma**2)."""
        return _rho(self.sensitivity_squared, self.sigma_squared)

    def slack(self) -> Fraction:
        return Fraction(0)

    def rdp(self, order: float) -> float:
        """Return order * rho, rounded up."""
        return _linear(self.rho(), order)

    def pair(self) -> GaussianPair:
        return GaussianPair(_mu(self.sensitivity_squared, self.sigma_squared), float_up(self.blur))


@dataclass(frozen=True, init=False)
class DiscreteGaussianEvent(Atom):
    """Discrete Gaussian noise on one integer that moves by at most `steps`.

    Args:
        steps: how far one unit can move the integer.
        sigma_squared: the parameter of the noise, about its variance.

    Example:
        >>> mechanisms.DiscreteGaussianEvent(steps=1, sigma_squared=4).rho()
        Fraction(1, 8)

    Guarantee: the largest shift is the worst, because the law is log-concave (see `DiscreteGaussianPair`). Its delta is
    larger than the continuous one's where sigma is few steps; rho is the same. For one integer only.
    Cites: [CKS20, Thm 4 and 7].
    """

    steps: int
    sigma_squared: Fraction

    def __init__(self, *, steps: int, sigma_squared: Number) -> None:
        moves, variance = whole(steps, "steps", most=2**60), nonnegative(sigma_squared, "sigma_squared")
        set_fields(self, steps=moves, sigma_squared=variance)

    def pure(self) -> Exact:
        return Fraction(0) if self.steps == 0 else math.inf

    def rho(self) -> Exact:
        """Return steps**2 / (2 sigma**2)."""
        return _rho(Fraction(self.steps**2), self.sigma_squared)

    def slack(self) -> Fraction:
        return Fraction(0)

    def rdp(self, order: float) -> float:
        """Return order * rho, rounded up."""
        return _linear(self.rho(), order)

    def pair(self) -> DiscreteGaussianPair:
        return DiscreteGaussianPair(self.steps, self.sigma_squared)


def _rho(squared: Fraction, variance: Fraction) -> Exact:
    if squared == 0:
        return Fraction(0)
    return squared / (2 * variance) if variance else math.inf


def _mu(squared: Fraction, variance: Fraction) -> float:
    if squared == 0:
        return 0.0
    return float_up(sqrt_up(squared / variance)) if variance else math.inf


def _linear(rho: Exact, order: float) -> float:
    return rho if isinstance(rho, float) else float_up(rho * Fraction(read_order(order)))


_BLUR = Fraction(1, 2**24)
_FINE_BITS = 24
"""A fine grid's step is at least this many binary digits below the sensitivity."""

_REACH = 40
"""Standard deviations beyond its usual length within which a noise vector is compared with the continuous one."""

_UNSEEN = Fraction(1, 2**900)
"""More than exp(-40**2 / 2), the probability that a vector falls beyond the reach."""

_LEAST_DELTA = Fraction(1, 10**200)
_SMALLEST_EPSILON = Fraction(1, 2**250)
_SMALLEST_COST = Fraction(1, 2**300)
_WIDEST = 2**60


@wired("Gaussian", "sensitivity_squared", "sigma_squared", "delta", "grid", "blur")
@dataclass(frozen=True, init=False, repr=False)
class Gaussian(AdditiveNoise):
    """Add Gaussian noise to one number, or to a vector of known L2 sensitivity.

    Pass `sensitivity` (a number, or a `Sensitivity`, whose L2 norm is used) and one of `epsilon` with `delta`, `rho`,
    and `sigma`. With a `delta`, `epsilon` is the cost of one release there. `grid="fine"` (the default) draws on a
    power-of-two grid far below the noise; whole numbers are rounded back. `grid="whole"` draws discrete Gaussian
    noise on the integers and is priced on its own law; it takes one number at a time.

    Args:
        sensitivity: how far one unit can move the value, in L2: a number, or a `Sensitivity`.
        epsilon: the privacy loss of one release, with a delta. Pass one of epsilon, rho and sigma.
        delta: the probability with which the loss may exceed epsilon.
        rho: the zCDP parameter of one release.
        sigma: the standard deviation of the noise.
        grid: "whole" for whole-number noise, "fine" for a grid far below the noise.

    Raises:
        BadParameter: if a number is out of range.

    Example:
        >>> mechanism = privet.Gaussian(sensitivity=1, rho=0.5)
        >>> mechanism.event.rho()
        Fraction(1, 2)

    Guarantee: (epsilon, delta)-DP, exactly calibrated for every epsilon > 0 and delta in (0, 1), and
    sensitivity**2 / (2 sigma**2)-zCDP. On a grid of step g, n reals move by at most sensitivity/g + sqrt(n) steps
    in L2; sigma is raised by that factor. In steps, with s = sigma/g, a point r + u (u uniform in a cell) has a density
    within exp((|r|_1 + n/4) / (2 s^2)) of the continuous one. Noise is longer than (sqrt(n) + 40) s with probability
    below e^-800, by the chi-squared bound, since E[e^(t x)] <= e^(t^2 s^2 / 2) for each entry; otherwise |r|_1 from
    either centre is at most sqrt(n) (sqrt(n) + 40 + mu) s for mu = sensitivity / sigma. With s at least
    sqrt(n) (sqrt(n) + 40 + mu) / blur that is a factor within e^blur: the event is a `GaussianEvent` with that blur.
    Cites: [BW18, Alg. 1], [CKS20, Def. 1 and Thm 14].
    """

    sensitivity_squared: Fraction
    sigma_squared: Fraction
    delta: Fraction
    grid: Grid
    blur: Fraction
    family = "gaussian"
    name = "Gaussian"
    norm = "L2"

    def __init__(
        self,
        *,
        sensitivity: Number | Sensitivity,
        epsilon: Number | None = None,
        delta: Number | None = None,
        rho: Number | None = None,
        sigma: Number | None = None,
        grid: Grid | None = None,
    ) -> None:
        if sum(given is not None for given in (epsilon, rho, sigma)) != 1:
            raise RequestError(
                "Gaussian takes exactly one of epsilon (with delta), rho and sigma, beside the sensitivity"
            )
        allowed = Fraction(0) if delta is None else _delta(delta)
        squared = _squared(sensitivity, zero=epsilon is None and rho is None)
        chosen: Grid = "fine" if grid is None else read_grid(grid, sqrt_up(squared))
        blur = Fraction(0) if chosen == "whole" else _BLUR
        if not blur and squared > _WIDEST**2:
            raise BadParameter("sensitivity", sensitivity, "at most 2**60 when the grid is 'whole'")
        if sigma is not None:
            variance = positive(sigma, "sigma") ** 2
        elif rho is not None:
            variance = squared / (2 * positive(rho, "rho"))
        else:
            wanted = positive(epsilon, "epsilon")
            if not allowed > 0:
                raise BadParameter("delta", delta, "above 0 and below 1: no Gaussian noise is purely epsilon-DP")
            if wanted < _SMALLEST_EPSILON:
                raise BadParameter("epsilon", epsilon, "at least 2**-250")
            while blur > wanted / 2**24:
                blur /= 2
            variance = _calibrated(squared, wanted, allowed, blur)
        if squared and not _SMALLEST_COST**2 <= squared / variance <= 1 / _SMALLEST_COST**2:
            given = ("sigma", sigma) if sigma is not None else ("rho", rho) if rho is not None else ("epsilon", epsilon)
            raise BadParameter(*given, "such that sensitivity / sigma lies within 2**-300 and 2**300")
        nonnegative(squared, "the square of the sensitivity")
        positive(variance, "the square of sigma")
        set_fields(self, sensitivity_squared=squared, sigma_squared=variance, delta=allowed, grid=chosen, blur=blur)

    @classmethod
    def classical(cls, *, sensitivity: Number | Sensitivity, epsilon: Number, delta: Number) -> Gaussian:
        """Return the mechanism with the textbook sigma = sensitivity sqrt(2 ln(1.25/delta)) / epsilon.

        Guarantee: (epsilon, delta)-DP for epsilon below 1 only; the proof fails beyond, and from about 7 on so does
        the claim. Always wider than `Gaussian(sensitivity=, epsilon=, delta=)`: for comparison.
        Cites: [DR14, Thm A.1].
        """
        wanted, allowed = positive(epsilon, "epsilon"), _delta(delta)
        if not _SMALLEST_EPSILON <= wanted < 1:
            raise BadParameter(
                "epsilon",
                epsilon,
                "at least 2**-250 and below 1 for the classical formula; use Gaussian(...), which has no upper limit",
            )
        if allowed == 0:
            raise BadParameter("delta", delta, "above 0 and below 1")
        squared = _squared(sensitivity, zero=False)
        factor = Fraction(inflate(2 * math.log(1.25 / float_down(allowed))))
        return cls(sensitivity=sensitivity, sigma=sqrt_up(factor * squared) / wanted, delta=allowed)

    @cached_property
    def event(self) -> Event:
        """The event of one release, scalar or (on the fine grid) vector."""
        if self.grid == "whole":
            return DiscreteGaussianEvent(steps=int(sqrt_up(self.sensitivity_squared)), sigma_squared=self.sigma_squared)
        return GaussianEvent(
            sensitivity_squared=self.sensitivity_squared, sigma_squared=self.sigma_squared, blur=self.blur
        )

    @cached_property
    def sigma(self) -> float:
        """The scale of the noise, rounded up."""
        return float_up(sqrt_up(self.sigma_squared))

    @cached_property
    def epsilon(self) -> float:
        """The least epsilon at delta, rounded up; infinite without a delta."""
        if self.sensitivity_squared == 0:
            return 0.0
        return _least_epsilon(self.event.pair(), float_down(self.delta)) if self.delta else math.inf

    def release(self, value: Any) -> Any:
        """Return the value plus fresh noise: whole numbers stay whole, reals become floats."""
        numbers = read_numbers(value)
        return self._noisy(numbers, *self._grid(numbers))

    def simulate(self, value: Any, times: int) -> Any:
        """Return this many releases of the same value, along a first axis. Each costs the event once more."""
        numbers = read_numbers(value)
        return self._noisy(repeated(numbers, read_times(times)), *self._grid(numbers))

    def _grid(self, numbers: Numbers) -> tuple[int, Fraction]:
        if numbers.shape is None and self.grid == "fine":
            return self._fine_one
        return self._drawn(numbers.size, numbers.whole)

    def _noisy(self, numbers: Numbers, exponent: int, variance: Fraction) -> Any:
        drawn = noise.discrete_gaussian(variance, numbers.shape)
        return from_grid(add(to_grid(numbers, exponent), drawn), exponent, like=numbers)

    @property
    def distance(self) -> Fraction:
        """The square of the L2 sensitivity."""
        return self.sensitivity_squared

    @property
    def width(self) -> float:
        """The sigma."""
        return self.sigma

    @property
    def deviation(self) -> float:
        """The standard deviation of the noise, before it is rounded to a fine grid."""
        return self.sigma if self.grid == "fine" else math.sqrt(self.variance)

    def moved(self, sensitivity: Number | Sensitivity) -> Fraction:
        """Return the square of the L2 norm of a sensitivity."""
        return _squared(sensitivity, zero=True)

    def _drawn(self, size: int, on_integers: bool) -> tuple[int, Fraction]:
        if self.grid == "fine":
            return self._fine(max(size, 1))
        if size != 1 or not on_integers:
            raise BadValue("value", "another kind of value", "one whole number when the grid is 'whole'")
        return 0, self.sigma_squared

    def _law(self, parameter: Fraction, step: Fraction, finer: int) -> DiscreteGaussian:
        return DiscreteGaussian(sigma_squared=parameter, step=step, finer=finer)

    def error(self, confidence: Number = 0.95) -> float:
        """Return a half-width that the noise stays within with this probability, whatever the kind of number."""
        tail = tail_of(confidence)
        whole_error = Fraction(self._whole_error(tail))
        return float_up(whole_error if self.grid == "whole" else max(self._real_error(tail), whole_error))

    def interval(self, released: Any, confidence: Number = 0.95) -> tuple[Any, Any]:
        """Return low and high that contain the true value with this probability, for each coordinate separately."""
        numbers = read_numbers(released, "released")
        tail = tail_of(confidence)
        on_integers = numbers.whole or self.grid == "whole"
        return around(numbers, self._whole_error(tail) if on_integers else float_up(self._real_error(tail)))

    def _real_error(self, tail: float) -> Fraction:
        from scipy.special import ndtri

        # The noise is raised by less than 2**-23 of itself; the grid and the rounding to it add less than 2**-23 of it.
        return sqrt_up(self.sigma_squared) * Fraction((1 + 2.0**-22) * -float(ndtri(tail / 2)) + 2.0**-22)

    def _whole_error(self, tail: float) -> int:
        if self.grid == "fine":  # rounded: |round(x)| <= w wherever |x| < w + 1/2
            return max(0, math.ceil(self._real_error(tail) - Fraction(1, 2)))
        # the noise is symmetric: the least w with P[noise > w] <= tail / 2
        return int(self.law().quantile(1 - Fraction(tail) / 2))

    @cached_property
    def _fine_one(self) -> tuple[int, Fraction]:
        return self._fine(1)

    def _fine(self, size: int) -> tuple[int, Fraction]:
        """Return a fine grid's exponent and the noise's variance in its steps, from public facts alone."""
        root = math.isqrt(size - 1) + 1
        reach = root * (root + _REACH + math.ceil(sqrt_up(self.sensitivity_squared / self.sigma_squared)))
        bound = sqrt_down(self.sigma_squared) * self.blur / reach
        if self.sensitivity_squared == 0:
            exponent = exponent_below(bound)
            return exponent, Fraction(math.ceil(self.sigma_squared / step_of(exponent) ** 2))
        distance = sqrt_down(self.sensitivity_squared)
        exponent = exponent_below(min(bound, distance / (root << _FINE_BITS)))
        step = step_of(exponent)
        raised = self.sigma_squared * (1 + root * step / distance) ** 2
        return exponent, Fraction(math.ceil(raised / step**2))

    def __repr__(self) -> str:
        cost = (
            f"epsilon={self.epsilon:.6g}, delta={float(self.delta):.6g}"
            if self.delta
            else f"rho={float_up(self.event.rho()):.6g}"
        )
        return f"Gaussian(sensitivity={shown(sqrt_up(self.sensitivity_squared))}, sigma={self.sigma:.6g}, {cost})"


def _calibrated(squared: Fraction, epsilon: Fraction, delta: Fraction, blur: Fraction) -> Fraction:
    """Return the least variance, to within 1e-9 of it or less, at which the noise that is drawn fits."""
    if blur:
        mu = gaussian_mu(epsilon - 2 * blur, max((delta - _UNSEEN) * (1 - blur), delta / 2))
        return (sqrt_up(squared) / Fraction(mu)) ** 2
    steps = int(sqrt_up(squared))
    start = sqrt_up(squared) / Fraction(gaussian_mu(epsilon, delta))

    def fits(sigma: Fraction) -> bool:
        return _worst(DiscreteGaussianPair(steps, sigma**2), float_down(epsilon)) <= float_down(delta)

    high = float_up(start)
    while not fits(Fraction(high)):
        high *= 2
    return Fraction(least(lambda sigma: fits(Fraction(sigma)), high / 8, high, relative=1e-10)) ** 2


def _least_epsilon(pair: Pair, delta: float) -> float:
    """Return the least epsilon, rounded up, at which both directions of a pair stay within delta."""
    high = 1.0
    while _worst(pair, high) > delta:
        high *= 2
    return least(lambda epsilon: _worst(pair, epsilon) <= delta, 0.0, high, relative=2.0**-50)


def _worst(pair: Pair, epsilon: float) -> float:
    import numpy as np

    at = np.array([epsilon])
    return max(float(pair.forward(at)[0]), float(pair.backward(at)[0]))


def _delta(delta: Number) -> Fraction:
    allowed = failure_probability(delta)
    if 0 < allowed < _LEAST_DELTA:
        raise BadParameter("delta", delta, "0, or at least 1e-200 and below 1")
    return allowed


def _squared(sensitivity: Number | Sensitivity, *, zero: bool) -> Fraction:
    if isinstance(sensitivity, Sensitivity):
        if sensitivity.l2_squared == 0 and not zero:
            raise BadParameter("sensitivity", sensitivity, "above 0")
        return sensitivity.l2_squared
    return (nonnegative(sensitivity, "sensitivity") if zero else positive(sensitivity, "sensitivity")) ** 2
