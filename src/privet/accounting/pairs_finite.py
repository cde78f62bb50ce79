"""Dominating pairs with finitely many outcomes: randomised responses, failures, any two exact distributions.

Values are upper bounds; a loss is rounded up before it is used, so that no atom is ever placed too low.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from privet.core.errors import BadParameter
from privet.core.exact import nonnegative, positive, probability, whole
from privet.core.rounding import float_up

from .pairs_continuous import Symmetric, up

if TYPE_CHECKING:
    from privet.core.pair import Floats


@dataclass(frozen=True)
class ApproximatePair(Symmetric):
    """The worst (epsilon, delta)-DP pair: an infinite loss with probability delta, else a randomised response.

    H(x) = delta + (1 - delta) (1 - exp(x - epsilon))+ / (1 + exp(-epsilon)).

    Guarantee: dominates every (epsilon, delta)-DP computation.
    Cites: [KOV15, the worst pair].
    """

    epsilon: float
    delta: float

    def __init__(self, epsilon: float | Fraction, delta: float | Fraction = 0.0) -> None:
        object.__setattr__(self, "epsilon", float_up(nonnegative(epsilon, "epsilon")))
        object.__setattr__(self, "delta", float_up(probability(delta, "delta")))

    def forward(self, epsilon: Floats) -> Floats:
        response = _atom(epsilon, 1 / (1 + math.exp(-self.epsilon)), self.epsilon)
        return np.where(
            epsilon >= self.epsilon, self.delta, np.minimum(1.0, up(self.delta + (1 - self.delta) * response))
        )

    def reach(self) -> tuple[float, float]:
        return self.epsilon, self.epsilon

    def without_failure(self) -> tuple[ApproximatePair, float]:
        """Return the randomised response, and the probability of failure."""
        return ResponsePair(self.epsilon), self.delta


@dataclass(frozen=True)
class ResponsePair(ApproximatePair):
    """Binary randomised response of log-odds `epsilon`: the worst pair that is epsilon-DP.

    Guarantee: dominates every epsilon-DP computation.
    Cites: [KOV15, the worst pair with delta = 0].
    """

    def __init__(self, epsilon: float | Fraction) -> None:
        super().__init__(epsilon)


@dataclass(frozen=True)
class KaryResponsePair(Symmetric):
    """Randomised response over `k` values: the truth with probability p, each other value with probability q.

    The loss is ln(p/q), 0 or -ln(p/q) with probability p, (k - 2) q and q, so H(x) = (p - e**x q)+.

    Guarantee: exact for any two inputs. With k > 2 it costs less than a binary response of the same epsilon.
    Cites: [KBR16, k-ary response].
    """

    p: Fraction
    q: Fraction
    k: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "p", probability(self.p, "p"))
        object.__setattr__(self, "q", positive(self.q, "q"))
        object.__setattr__(self, "k", whole(self.k, "k", least=2))
        if self.p + (self.k - 1) * self.q != 1 or self.p < self.q:
            raise BadParameter("p", self.p, "1 - (k - 1) q, and at least q")

    def forward(self, epsilon: Floats) -> Floats:
        return _atom(epsilon, float_up(self.p), self.reach()[0])

    def reach(self) -> tuple[float, float]:
        largest = _log_up(self.p / self.q)
        return largest, largest


@dataclass(frozen=True)
class FinitePair:
    """Two exact distributions over the same finite set of outcomes.

    H(x) = sum over outcomes of (p - e**x q)+. An outcome with q = 0 has an infinite loss, and counts fully.

    Guarantee: exact for these two distributions; whoever passes them proves that no neighbours are worse.
    Cites: [BO13, f-divergences].
    """

    p: tuple[Fraction, ...]
    q: tuple[Fraction, ...]

    def __init__(self, p: Sequence[Fraction | float], q: Sequence[Fraction | float]) -> None:
        first = tuple(probability(value, "p") for value in p)
        second = tuple(probability(value, "q") for value in q)
        if len(first) != len(second):
            raise BadParameter("q", f"{len(second)} probabilities", f"as long as p, which has {len(first)}")
        for name, weights in (("p", first), ("q", second)):
            if sum(weights) != 1:
                raise BadParameter(name, sum(weights), "probabilities that sum to exactly 1; pass Fractions")
        object.__setattr__(self, "p", first)
        object.__setattr__(self, "q", second)

    def forward(self, epsilon: Floats) -> Floats:
        return _finite(epsilon, self.p, self.q)

    def backward(self, epsilon: Floats) -> Floats:
        return _finite(epsilon, self.q, self.p)

    def reach(self) -> tuple[float, float]:
        return _largest_loss(self.p, self.q), _largest_loss(self.q, self.p)


def _atom(epsilon: Floats, mass: float, loss: float) -> Floats:
    """Return mass (1 - exp(epsilon - loss))+, rounded up."""
    return up(-mass * np.expm1(np.minimum(epsilon - loss, 0.0)))


def _finite(epsilon: Floats, p: tuple[Fraction, ...], q: tuple[Fraction, ...]) -> Floats:
    merged: dict[Fraction, Fraction] = {}
    infinite = Fraction(0)
    for one, other in zip(p, q, strict=True):
        if other == 0:
            infinite += one
        elif one > other:
            merged[one / other] = merged.get(one / other, Fraction(0)) + one
    total = np.zeros_like(epsilon)
    for ratio, mass in merged.items():
        total += _atom(epsilon, float_up(mass), _log_up(ratio))
    lasting = float_up(infinite)
    return np.where(total > 0, np.minimum(1.0, up(total + lasting)), lasting)


def _largest_loss(p: tuple[Fraction, ...], q: tuple[Fraction, ...]) -> float:
    ratios = [one / other for one, other in zip(p, q, strict=True) if one > other > 0]
    return max((_log_up(ratio) for ratio in ratios), default=0.0)


def _log_up(ratio: Fraction) -> float:
    """Return the logarithm of a rational of at least 1, rounded up; log1p keeps the digits of one close to 1."""
    if ratio < 2:
        return float_up(Fraction(math.log1p(float_up(ratio - 1)))) * (1 + 2.0**-50)
    return (math.log(ratio.numerator) - math.log(ratio.denominator)) * (1 + 2.0**-46)
