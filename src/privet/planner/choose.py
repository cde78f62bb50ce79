"""Which noise: Laplace or Gaussian, whichever errs less at the same cost, from public facts alone."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from privet.accounting.gdp import gaussian_mu
from privet.core.errors import RequestError
from privet.core.sensitivity import Sensitivity
from privet.mechanisms import Gaussian, Laplace

from .measures import Noise
from .plan import Spend

Family = Literal["laplace", "gaussian"]

_ROOM = Fraction(1, 2**20)
"""Held back of epsilon and delta for rounding, beside the blur of each Gaussian on its grid."""


@dataclass(frozen=True)
class Choice:
    """A family of noise and what it leaves for each measure: epsilon for Laplace, rho for Gaussian."""

    family: Family
    share: Fraction

    @property
    def order(self) -> Literal[1, 2]:
        """The norm in which contributions are bounded for this noise."""
        return 1 if self.family == "laplace" else 2

    def mechanism(self, sensitivity: Sensitivity) -> Noise:
        """Return the noise for one measure."""
        if self.family == "laplace":
            return Laplace(sensitivity=sensitivity, epsilon=self.share)
        return Gaussian(sensitivity=sensitivity, rho=self.share)


def choices(spend: Spend, measures: int) -> list[Choice]:
    """Return the families that the spend allows, with the equal share of each measure.

    Guarantee: `measures` Laplace mechanisms of epsilon / measures compose to epsilon. Gaussian ones of rho / measures
    compose to rho, and with rho = mu**2 / 2 to mu, which is exactly (epsilon, delta)-DP; their blurs add 2 blur each
    to epsilon and a factor e**blur to delta, and mu leaves room for them.
    Cites: [DR14, Thm 3.16], [BS16, Lemma 1.7], [DRS22, composition], [BW18, Thm 8].
    """
    found = []
    if spend.rho is not None:
        found.append(Choice("gaussian", spend.rho / measures))
    if spend.epsilon is not None:
        found.append(Choice("laplace", spend.epsilon / measures))
        blur = measures * Gaussian(sensitivity=1, rho=1).blur
        left = spend.epsilon * (1 - _ROOM) - 2 * blur
        if spend.delta and left > 0:
            mu = gaussian_mu(left, spend.delta * (1 - _ROOM - 2 * blur))
            found.append(Choice("gaussian", Fraction(mu) ** 2 / (2 * measures)))
    if not found:
        raise RequestError("say what the answer may cost: epsilon= or rho=")
    return found
