"""What a noisy location promises: a loss that grows with the distance between two places. It is no epsilon."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from privet.core.errors import BadParameter
from privet.core.given import choice, set_fields
from privet.core.numbers import Number, float_up, nonnegative, positive, sqrt_up, whole

METRICS = ("euclidean", "manhattan")
_SNAPPED = 1 + Fraction(1, 2**16)
"""How much further than to the nearest point of the grid a place may be moved, as floats compute that."""


@dataclass(frozen=True)
class MetricPromise:
    """A bound on the privacy loss between two places at a distance: `rate` for each metre, and for snapping to a grid.

    Places that are far apart are told apart. That is another promise than epsilon, which holds for any two answers, so
    it is no event: accountants and budgets refuse it. Repeated reports of one person add their rates.

    Args:
        rate: the loss for each metre on the plane: along either axis, or along the straight line.
        step: the metres between neighbouring points of the grid, to which places are moved first.
        metric: `manhattan` for a rate along either axis, `euclidean` for one along the straight line.
        stretch: the metres on the plane that one metre on the ground can be, where places are projected.

    Example:
        >>> local.MetricPromise(rate=0.01, step=10).loss(0)
        0.0

    Guarantee: places d metres apart on the ground are at most stretch d apart on the plane, and after snapping
    stretch d + sqrt(2) step. Manhattan distances are at most sqrt(2) times that; loss <= rate times the distance. (A
    step counts 2^-16 of itself more, for the rounding of floats before snapping.)
    Cites: [ABCP13, geo-indistinguishability], [CABP13].
    """

    rate: Fraction
    step: Fraction
    metric: str = "manhattan"
    stretch: Fraction = Fraction(1)

    def __init__(self, rate: Number, step: Number, metric: str = "manhattan", stretch: Number = 1) -> None:
        longer = positive(stretch, "stretch")
        if longer < 1:
            raise BadParameter("stretch", stretch, "at least 1")
        set_fields(
            self,
            rate=positive(rate, "rate"),
            step=positive(step, "step"),
            metric=choice(metric, "metric", METRICS),
            stretch=longer,
        )

    def loss(self, distance: Number) -> float:
        """Return the largest privacy loss between two places this many metres apart, rounded up."""
        far = nonnegative(distance, "distance")
        return float_up(self.rate * self.reach(far)) if far else 0.0

    def reach(self, distance: Number) -> Fraction:
        """Return how far apart, in the metric, two places this many metres apart are on the grid, at most."""
        far = self.stretch * nonnegative(distance, "distance")
        along = far if self.metric == "euclidean" else sqrt_up(2 * far**2)
        return along + self._snapping

    @property
    def _snapping(self) -> Fraction:
        """What moving two places to the grid adds to their distance."""
        return _SNAPPED * (sqrt_up(2 * self.step**2) if self.metric == "euclidean" else 2 * self.step)

    def repeated(self, reports: int) -> MetricPromise:
        """Return the promise of this many independent reports of one person."""
        times = whole(reports, "reports", least=1, most=10**9)
        return MetricPromise(self.rate * times, self.step, self.metric, self.stretch)

    def __str__(self) -> str:
        factor = float_up(self.stretch if self.metric == "euclidean" else sqrt_up(2 * self.stretch**2))
        ground = "" if self.stretch == 1 else f" on the ground, stretched by up to {self._percent} by the projection,"
        return (
            f"two places within d metres{ground} are told apart with a loss of at most {float_up(self.rate):.3g} "
            f"({factor:.4g} d + {float_up(self._snapping):.4g}); this is no epsilon"
        )

    @property
    def _percent(self) -> str:
        return f"{float_up(100 * (self.stretch - 1)):.2f}%"
