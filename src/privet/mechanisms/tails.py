"""Noise whose scale may depend on the data: each kind with how much sliding and how much stretching it forgives.

A release is f(x) + s(x) Z with s(x) = S(x) / alpha, S a beta-smooth bound on the local sensitivity. Between neighbours
the centre slides by at most alpha scales, and the scale stretches by at most e^beta. What that costs is worked out at
each kind. Draws are rounded to whole steps, which is a function of what would be released.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Protocol

from privet import noise
from privet.accounting.events import ApproximateEvent, PureEvent
from privet.core.errors import BadParameter
from privet.core.given import set_fields
from privet.core.numbers import Number, exp_up, inflate, log_up, open_probability, positive, whole

from .lattice import tail_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

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
    """Return how many draws are asked for."""
    return whole(count, "count", most=2**31)


def _slope(power: int) -> Fraction:
    """Return a rational no less than (power - 1)**(1 - 1/power), the steepest slope of the logarithm; 1 for Cauchy."""
    if power == 2:
        return Fraction(1)
    return Fraction(inflate((power - 1) ** (1 - 1 / power)))


def _odds(share: float) -> float:
    return inflate((1 - share) / share) * (1 + 2.0**-30) if share > 0 else math.inf
