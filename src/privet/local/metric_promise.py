"""What a noisy location promises: a loss that grows with the distance between two places. It is no epsilon."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from privet.core.given import set_fields
from privet.core.numbers import Number, float_up, nonnegative, positive, sqrt_up, whole


@dataclass(frozen=True)
class MetricPromise:
    """A bound on the privacy loss between two places at a distance: `rate` for each metre, and for snapping to a grid.

    Places that are far apart are told apart. That is another promise than epsilon, which holds for any two answers, so
    it is no event: accountants and budgets refuse it. Repeated reports of one person add their rates.

    Args:
        rate: the loss for each metre along either axis.
        step: the metres between neighbouring points of the grid, to which places are moved first.

    Example:
        >>> local.MetricPromise(rate=0.01, step=10).loss(0)
        0.0

    Guarantee: loss <= rate (|dx| + |dy| + 2 step), and |dx| + |dy| <= sqrt(2) distance.
    Cites: [ABCP13, geo-indistinguishability], [CABP13].
    """

    rate: Fraction
    step: Fraction

    def __init__(self, rate: Number, step: Number) -> None:
        set_fields(self, rate=positive(rate, "rate"), step=positive(step, "step"))

    def loss(self, distance: Number) -> float:
        """Return the largest privacy loss between two places this many metres apart, rounded up."""
        far = nonnegative(distance, "distance")
        return float_up(self.rate * (sqrt_up(2 * far**2) + 2 * self.step)) if far else 0.0

    def repeated(self, reports: int) -> MetricPromise:
        """Return the promise of this many independent reports of one person."""
        return MetricPromise(self.rate * whole(reports, "reports", least=1, most=10**9), self.step)

    def __str__(self) -> str:
        return (
            f"two places within d metres are told apart with a loss of at most {float_up(self.rate):.3g} "
            f"(1.42 d + {float(2 * self.step):g}); this is no epsilon"
        )
