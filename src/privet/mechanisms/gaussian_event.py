"""What Gaussian noise costs: continuous, on a grid so fine that it hardly differs, or on the integers themselves."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from privet.accounting.pairs import DiscreteGaussianPair, GaussianPair
from privet.core.event import Atom, Exact
from privet.core.exact import nonnegative, read_order, whole
from privet.core.rounding import float_up, sqrt_up


@dataclass(frozen=True, kw_only=True)
class GaussianEvent(Atom):
    """Gaussian noise of standard deviation sigma on answers that move by at most `sensitivity` in L2.

    `blur` is 0 for the continuous law. Above 0 the noise is a discrete Gaussian on so fine a grid that both
    densities stay within a factor e^(+-blur) of the continuous ones, outside a set of probability below 2**-900.

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

    def __post_init__(self) -> None:
        for name in ("sensitivity_squared", "sigma_squared", "blur"):
            object.__setattr__(self, name, nonnegative(getattr(self, name), name))

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


@dataclass(frozen=True, kw_only=True)
class DiscreteGaussianEvent(Atom):
    """Discrete Gaussian noise on one integer that moves by at most `steps`.

    Guarantee: the largest shift is the worst, because the law is log-concave (see `DiscreteGaussianPair`). Its delta is
    larger than the continuous one's where sigma is few steps; rho is the same. For one integer only.
    Cites: [CKS20, Thm 4 and 7].
    """

    steps: int
    sigma_squared: Fraction

    def __post_init__(self) -> None:
        object.__setattr__(self, "steps", whole(self.steps, "steps", most=2**60))
        object.__setattr__(self, "sigma_squared", nonnegative(self.sigma_squared, "sigma_squared"))

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
