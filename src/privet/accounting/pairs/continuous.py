"""Dominating pairs of the Laplace and the Gaussian mechanism.

Every value is an upper bound with all its digits, far into the tails: nothing here subtracts two numbers that
are close to each other.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from privet.core.given import set_fields
from privet.core.numbers import MARGIN, float_up, nonnegative

if TYPE_CHECKING:
    from privet.core.event import Floats, Pair

LEAST = 2.0**-1074
_FAR = 1e8
_STRAIGHT = 0.5
"""From this mu on, a difference of two Mills ratios loses no more than two digits."""


class Symmetric(ABC):
    """A pair that looks the same from both ends, so that one curve serves both directions."""

    symmetric: ClassVar[bool] = True

    @abstractmethod
    def forward(self, epsilon: Floats) -> Floats:
        """Return the one curve."""

    def backward(self, epsilon: Floats) -> Floats:
        return self.forward(epsilon)


@dataclass(frozen=True)
class LaplacePair(Symmetric):
    """Laplace noise against itself, shifted by `ratio` scales.

    H(epsilon) = 1 - exp((epsilon - ratio) / 2) up to epsilon = ratio, and 0 beyond.

    Guarantee: dominates Laplace noise of one scale on every coordinate of a vector whose L1 distance is at most
    `ratio` scales: one coordinate that takes the whole shift is the worst case. The proof is the limit of the
    one for `DiscreteLaplacePair`, as the grid becomes fine.
    Cites: [BBG18, the profile of Laplace noise].
    """

    ratio: float

    def __init__(self, ratio: float | Fraction) -> None:
        set_fields(self, ratio=float_up(nonnegative(ratio, "ratio")))

    def forward(self, epsilon: Floats) -> Floats:
        return up(-np.expm1(np.minimum(epsilon - self.ratio, 0.0) / 2))

    def reach(self) -> tuple[float, float]:
        return self.ratio, self.ratio


@dataclass(frozen=True)
class GaussianPair(Symmetric):
    """Gaussian noise against itself, shifted by `mu` standard deviations.

    H(epsilon) = Phi(mu/2 - epsilon/mu) - e**epsilon Phi(-mu/2 - epsilon/mu). With R the Mills ratio and
    y = epsilon/mu - mu/2 this is phi(y) (R(y) - R(y + mu)), and for small mu phi(y) times the integral of -R'
    over [y, y + mu]: both without cancellation.

    With `blur`, the pair represents any two distributions whose densities lie within factors e**-blur and e**blur
    of the Gaussian ones, outside a set of probability below 1e-300, such as a discrete Gaussian on a lattice
    that is very fine against its noise. For a set S within, P'(S) - e**epsilon Q'(S) <= e**blur (P(S) -
    e**(epsilon - 2 blur) Q(S)), hence H'(epsilon) <= e**blur H(epsilon - 2 blur) + 1e-300.

    Guarantee: dominates Gaussian noise of one variance on every coordinate of a vector whose L2 distance is at
    most `mu` standard deviations, as rotations leave the noise unchanged.
    Cites: [BW18, Thm 8], [DRS22, the Gaussian mechanism].
    """

    mu: float
    blur: float

    def __init__(self, mu: float | Fraction, blur: float | Fraction = 0.0) -> None:
        set_fields(self, mu=float_up(nonnegative(mu, "mu")), blur=float_up(nonnegative(blur, "blur")))

    def forward(self, epsilon: Floats) -> Floats:
        if not self.blur:
            return up(gaussian_profile(epsilon, self.mu))
        shifted = epsilon - 2 * self.blur
        right = gaussian_profile(np.abs(shifted), self.mu)
        left = -np.expm1(np.minimum(shifted, 0.0)) + np.exp(np.minimum(shifted, 0.0)) * right
        blurred = math.exp(min(self.blur, 1.0)) if self.blur <= 1 else math.inf
        return np.minimum(1.0, up(blurred * np.where(shifted < 0, left, right)) + 1e-300)

    def reach(self) -> tuple[float, float]:
        return (0.0, 0.0) if self.mu == 0 and self.blur == 0 else (math.inf, math.inf)

    def gaussian(self) -> tuple[float, float]:
        """Return mu and blur: of noise that is its own reflection, with Renyi curve at most order mu**2/2."""
        return self.mu, self.blur

    def repeated(self, times: int) -> GaussianPair:
        """Return the pair of that many independent copies: squares of mu add, and so do blurs."""
        exact = times * Fraction(self.mu) ** 2
        return GaussianPair(math.sqrt(exact) * (1 + 2.0**-50), times * Fraction(self.blur))

    def merged(self, other: Pair) -> GaussianPair | None:
        """Return the pair of both together, if the other one is Gaussian too."""
        if not isinstance(other, GaussianPair):
            return None
        return GaussianPair(math.hypot(self.mu, other.mu) * (1 + 2.0**-50), Fraction(self.blur) + Fraction(other.blur))


def up(computed: Floats) -> Floats:
    """Return doubles no smaller than the reals that `computed` approximates; exact zeros stay 0."""
    return np.where(computed > 0, computed * (1 + MARGIN) + LEAST, 0.0)


def gaussian_profile(epsilon: Floats, mu: float) -> Floats:
    """Return H of the Gaussian pair, to a relative error of about 1e-13, for non-negative epsilons."""
    if mu == 0:
        return np.zeros_like(epsilon)
    with np.errstate(over="ignore", under="ignore"):
        lowered = np.maximum(
            epsilon - 2.0**-52 * (epsilon + mu * mu / 4), 0.0
        )  # what rounding may move the next line by
        start = np.minimum(lowered / mu - mu / 2, _FAR)
        if mu < _STRAIGHT:
            nodes, weights = np.polynomial.legendre.leggauss(8)
            area = np.zeros_like(start)
            for node, weight in zip(nodes, weights, strict=True):
                area += weight * mills_slope(start + mu * (1 + node) / 2)
            value = density(start) * area * (mu / 2)
        else:
            from scipy.special import ndtr

            tail = density(start) * mills(start + mu)
            value = np.where(start < 0, ndtr(-start) - tail, density(start) * mills(np.maximum(start, 0.0)) - tail)
    return np.where(value > 0, value, LEAST)


def density(x: Floats) -> Floats:
    """Return the standard normal density."""
    return np.exp(-x * x / 2) / math.sqrt(2 * math.pi)


def mills(x: Floats) -> Floats:
    """Return the Mills ratio R(x) = (1 - Phi(x)) / phi(x)."""
    from scipy.special import erfcx

    ratio: Floats = math.sqrt(math.pi / 2) * erfcx(x / math.sqrt(2))
    return ratio


def mills_slope(x: Floats) -> Floats:
    """Return -R'(x) = 1 - x R(x), for x >= -1; by the continued fraction of R where the difference would cancel."""
    large = np.maximum(x, 8.0)
    rest = np.zeros_like(large)
    for term in range(28, 0, -1):
        rest = term / (large + rest)
    # R = 1/(x + rest) with rest = 1/(x + 2/(x + 3/(x + ...))), so that 1 - x R = rest R
    return np.where(x < 8, 1 - x * mills(np.minimum(x, 8.0)), rest / (large + rest))
