"""Dominating pairs made from less: a range of losses, a zCDP promise, or another pair that may fail or be sampled.

Each is an upper bound for everything that keeps the promise. None of them depends on the kind of its pair.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from privet.core.event import Pair
from privet.core.given import set_fields
from privet.core.numbers import float_down, float_up, nonnegative, open_probability, probability

from .continuous import LEAST, Symmetric, up

if TYPE_CHECKING:
    from privet.core.event import Floats

_BELOW = 1 - 2.0**-49
_EXPONENT = 600.0


@dataclass(frozen=True)
class BoundedRangePair(Symmetric):
    """The worst pair whose losses span at most `epsilon`, as those of the exponential mechanism do.

    The extreme pairs have two losses, t and t - epsilon, 0 <= t <= epsilon. Their H(x), x >= 0, is
    (e**epsilon - e**t)(1 - e**(x - t))/(e**epsilon - 1), which is largest at t = (x + epsilon)/2:
    H(x) = (1 - exp(-(epsilon - x)/2))**2 / (1 - exp(-epsilon)).

    Guarantee: dominates every epsilon-bounded-range computation, for any choice of t at every step: a supremum of
    curves at each x, convex in e**x and symmetric, is the curve of a pair. It is tight for one release. Many together
    cannot have the worst t at every x at once, and rho = epsilon**2 / 8 is then often the better bound: take the less.
    Cites: [DDR20, the worst case of bounded range].
    """

    epsilon: float

    def __init__(self, epsilon: float | Fraction) -> None:
        set_fields(self, epsilon=float_up(nonnegative(epsilon, "epsilon")))

    def forward(self, epsilon: Floats) -> Floats:
        if self.epsilon == 0:
            return np.zeros_like(epsilon)
        return up(np.expm1(np.minimum(epsilon - self.epsilon, 0.0) / 2) ** 2 / -math.expm1(-self.epsilon))

    def reach(self) -> tuple[float, float]:
        return self.epsilon, self.epsilon


@dataclass(frozen=True)
class ProfilePair(Symmetric):
    """The most that rho-zCDP allows: its tight conversion to delta, as the curve of a pair.

    u(x) = min over order > 1 of exp((order - 1)(order rho - x)) (1 - 1/order)**order / (order - 1). It is convex in
    e**x: with order the minimiser, convexity asks that d order/dx = 1/(2 rho + 1/(order (order - 1))) be at most
    order (order - 1), which holds.
    Continued to negative x by symmetry, u has a concave kink at 0. The curve of any true pair is convex in e**x, and
    lies below u on both sides, hence below the greatest convex minorant of u: that one is returned. The minorant is
    the common tangent from -x0 to x0, u(x0) + (g - e**x)(1 - u(x0))/(1 + g) with g = e**x0, and u beyond x0.

    Guarantee: dominates every rho-zCDP computation.
    Cites: [CKS20, Cor. 13], [ZDW22, dominating pairs].
    """

    rho: float

    def __init__(self, rho: float | Fraction) -> None:
        set_fields(self, rho=float_up(nonnegative(rho, "rho")))

    def forward(self, epsilon: Floats) -> Floats:
        if self.rho == 0:
            return np.zeros_like(epsilon)
        touch = _tangent_point(self.rho)
        value, _ = _zcdp_profile(np.maximum(epsilon, touch), self.rho)
        at_touch = float(_zcdp_profile(np.array([touch]), self.rho)[0][0])
        below = np.minimum(epsilon, touch) - touch  # (g - e**x)/(1 + g) = -expm1(x - x0)/(1 + 1/g)
        line = at_touch - np.expm1(below) * (1 - at_touch) / (1 + math.exp(-touch))
        return np.minimum(1.0, up(np.where(epsilon < touch, line, value)))

    def reach(self) -> tuple[float, float]:
        return (math.inf, math.inf) if self.rho else (0.0, 0.0)

    def repeated(self, times: int) -> ProfilePair:
        """Return the pair of that many such promises: rho adds."""
        return ProfilePair(times * Fraction(self.rho))

    def merged(self, other: Pair) -> ProfilePair | None:
        """Return the pair of both promises together, if the other one is of this kind."""
        return ProfilePair(Fraction(self.rho) + Fraction(other.rho)) if isinstance(other, ProfilePair) else None


@dataclass(frozen=True)
class FailedPair:
    """A pair that fails completely, and independently, with probability `delta`: H becomes delta + (1 - delta) H.

    Guarantee: dominates a computation that the pair dominates outside an event of probability delta.
    Cites: [KOV15, the worst pair].
    """

    inner: Pair
    delta: float

    def __init__(self, inner: Pair, delta: float | Fraction) -> None:
        set_fields(self, inner=inner, delta=float_up(probability(delta, "delta")))

    @property
    def symmetric(self) -> bool:
        return bool(getattr(self.inner, "symmetric", False))

    @property
    def ordered(self) -> bool:
        return has_order(self.inner)

    def forward(self, epsilon: Floats) -> Floats:
        return self._failing(self.inner.forward(epsilon))

    def backward(self, epsilon: Floats) -> Floats:
        return self._failing(self.inner.backward(epsilon))

    def reach(self) -> tuple[float, float]:
        return self.inner.reach()

    def without_failure(self) -> tuple[Pair, float]:
        """Return the pair that may fail, and the probability that it does."""
        return self.inner, self.delta

    def _failing(self, curve: Floats) -> Floats:
        return np.where(curve > 0, np.minimum(1.0, up(self.delta + (1 - self.delta) * curve)), self.delta)


@dataclass(frozen=True)
class EitherOrderPair(Symmetric):
    """A pair of which it is not known which side has the unit: the larger of its two curves serves for both.

    Guarantee: dominates the pair and the pair turned round; the larger of two privacy profiles is a privacy profile.
    Cites: [ZDW22, dominating pairs].
    """

    inner: Pair

    def forward(self, epsilon: Floats) -> Floats:
        return np.maximum(self.inner.forward(epsilon), self.inner.backward(epsilon))

    def reach(self) -> tuple[float, float]:
        furthest = max(self.inner.reach())
        return furthest, furthest


def has_order(pair: Pair) -> bool:
    """Return whether a pair's first side is known to be the one with the unit, or is no different from the other."""
    return bool(getattr(pair, "symmetric", False) or getattr(pair, "ordered", False))


@dataclass(frozen=True)
class SampledPair:
    """A pair seen through Poisson sampling: each unit takes part independently with probability `rate`.

    With the unit, the output is a mixture (1 - q) Q + q P; without it, Q. So, for g = e**epsilon >= 1,
    forward: the integral of (q P - (g - 1 + q) Q)+ is q H(P, Q) at 1 + (g - 1)/q;
    backward: with c = 1 - g (1 - q), the integral of (c Q - g q P)+ is c H(Q, P) at g q/c = 1 + (g - 1)/c, and 0 once
    c <= 0, that is from epsilon = -ln(1 - q) on; c = 1 - exp(epsilon + ln(1 - q)) without cancellation.

    Guarantee: dominates, if `inner` dominates the unsampled computation under add-remove neighbours, where one of
    the two data sets lacks the unit. It does not hold for change-one neighbours: there, both sides are
    mixtures. Account for them as one removal and one addition, or do not claim amplification.
    Cites: [ZDW22, sampling], [BBG18, Thm 8].
    """

    ordered: ClassVar[bool] = True
    inner: Pair
    rate: Fraction

    def __init__(self, inner: Pair, rate: float | Fraction) -> None:
        set_fields(self, inner=inner, rate=Fraction(1) if rate == 1 else open_probability(rate, "rate"))

    def forward(self, epsilon: Floats) -> Floats:
        if self.rate == 1:
            return self.inner.forward(epsilon)
        q = float_up(self.rate)
        small = np.minimum(epsilon, _EXPONENT)
        inner = (np.log1p(np.expm1(small) / q) + (epsilon - small)) * _BELOW
        return _weighted(q, self.inner.forward(_ended(inner, epsilon, self.reach()[0], self.inner.reach()[0])))

    def backward(self, epsilon: Floats) -> Floats:
        if self.rate == 1:
            return self.inner.backward(epsilon)
        weight = -np.expm1(np.minimum(epsilon - self._limit(), 0.0))
        inside = weight > 0
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            inner = np.log1p(np.expm1(np.where(inside, epsilon, 0.0)) / np.where(inside, weight, 1.0)) * _BELOW
        inner = _ended(inner, epsilon, self.reach()[1], self.inner.reach()[1])
        return np.where(inside, _weighted(weight, self.inner.backward(inner)), 0.0)

    def reach(self) -> tuple[float, float]:
        forward, backward = self.inner.reach()
        if self.rate == 1:
            return forward, backward
        q = float_up(self.rate)
        ahead = forward if forward > _EXPONENT else math.log1p(q * math.expm1(forward)) * (1 + 2.0**-49)
        remains = math.isfinite(backward) and bool(self.inner.backward(np.array([backward]))[0] > 0)
        if math.isinf(backward) or remains:
            return ahead, self._limit()
        if self.rate < Fraction(1, 2):
            return ahead, min(self._limit(), -math.log1p(q * math.expm1(-backward)) * (1 + 2.0**-49))
        # 1 - q + q e**-backward, by terms that do not cancel
        rest = float_down(1 - self.rate) + float_down(self.rate) * math.exp(-backward)
        return ahead, min(self._limit(), -math.log(rest) * (1 + 2.0**-46) + 2.0**-50) if rest else self._limit()

    def _limit(self) -> float:
        """Return -ln(1 - rate), rounded up: the most that an absent unit's output can reveal."""
        if self.rate < Fraction(1, 2):
            return -math.log1p(-float_up(self.rate)) * (1 + 2.0**-50)
        kept = 1 - self.rate
        return (math.log(kept.denominator) - math.log(kept.numerator)) * (1 + 2.0**-46)


def _weighted(weight: Floats | float, curve: Floats) -> Floats:
    """Return a part of a curve, rounded up; a value above 0 stays above 0, however little."""
    return np.where(curve > 0, up(np.maximum(weight * curve, LEAST)), 0.0)


def _ended(inner: Floats, epsilon: Floats, reach: float, inner_reach: float) -> Floats:
    """Return the inner epsilons, none short of the inner curve's end once the outer one has ended."""
    return np.where(epsilon >= reach, np.maximum(inner, inner_reach), inner) if inner_reach < math.inf else inner


def _zcdp_profile(epsilon: Floats, rho: float) -> tuple[Floats, Floats]:
    """Return u and the minimising order less one, where (2 order - 1) rho - x + ln(1 - 1/order) crosses 0, rising.

    Any order gives an upper bound, so the search need not be exact.
    """
    low = np.full_like(epsilon, -40.0)
    high = np.log((epsilon + 2) / rho + 2) + 1
    for _ in range(36):  # a minimum forgives half of the digits
        middle = (low + high) / 2
        less = np.exp(middle)
        rising = (2 * less + 1) * rho - epsilon - np.log1p(1 / less) > 0
        low, high = np.where(rising, low, middle), np.where(rising, middle, high)
    less = np.exp(high)
    exponent = less * ((less + 1) * rho - epsilon) - (less + 1) * np.log1p(1 / less) - np.log(less)
    lost = 2.0**-50 * less * ((less + 1) * rho + epsilon)
    with np.errstate(under="ignore"):
        return np.maximum(np.exp(np.minimum(exponent + lost, 0.0)) * (1 + 1e-12), LEAST), less


@lru_cache(maxsize=256)
def _tangent_point(rho: float) -> float:
    """Return x0 where the line from -x0 to x0 touches u: (order - 1) u (1 + e**-x0) = 1 - u, rounded down."""
    low, high = 0.0, 4 * rho + 8 * math.sqrt(rho) + 8.0
    for _ in range(60):
        middle = (low + high) / 2
        value, less = (float(array[0]) for array in _zcdp_profile(np.array([middle]), rho))
        if less * value * (1 + math.exp(-middle)) > 1 - value:
            low = middle
        else:
            high = middle
    return low
