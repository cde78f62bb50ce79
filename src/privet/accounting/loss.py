"""The privacy loss as a random variable: how much one output says, and how often.

For reading and plotting. Bounds come from `pld`; nothing here is rounded against ourselves.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from privet.accounting.pld.bounds import loss_distribution
from privet.accounting.pld.gather import gather
from privet.core.event import Event
from privet.core.given import truth
from privet.core.numbers import rational
from privet.core.rounding import float_near

if TYPE_CHECKING:
    from privet.core.pair import Floats

_NEAR = 1e-5


@dataclass(frozen=True, eq=False)
class PrivacyLoss:
    """L = ln(P(x)/Q(x)) for x drawn from P, the output with the unit: `masses` at `losses`, and `infinite` the rest.

    `exceeds(epsilon)` is Pr[L > epsilon]; `delta(epsilon)` is E[(1 - e**(epsilon - L))+], the least delta in
    (epsilon, delta)-DP. They differ because an output whose loss exceeds epsilon by a little breaks the promise only
    by a little: of its probability, the part e**(epsilon - L) is still covered by e**epsilon times what Q gives it.
    So Pr[L > epsilon] <= delta is sufficient and not necessary: Gaussian noise of one standard deviation exceeds a loss
    of 1 with probability 0.309 and is yet (1, 0.127)-DP.

    Cites: [CKS20, the loss], [BW18, Thm 5].
    """

    losses: Floats
    masses: Floats
    infinite: float
    _profile: Callable[[float], float]
    _near: float

    def density(self, loss: float) -> float:
        """Return the probability per unit of loss near this one; for discrete noise, smeared over one lattice step."""
        step = float(self.losses[1] - self.losses[0])
        return float(
            np.interp(float_near(rational(loss, "loss")), self.losses, self.masses / step, left=0.0, right=0.0)
        )

    def delta(self, epsilon: float) -> float:
        """Return E[(1 - e**(epsilon - L))+], infinite losses counting fully."""
        return self._profile(float_near(rational(epsilon, "epsilon")))

    def exceeds(self, epsilon: float) -> float:
        """Return Pr[L > epsilon], which is delta - (d delta / d epsilon), by a central difference in e**epsilon."""
        at, near = float_near(rational(epsilon, "epsilon")), self._near
        fall = self._profile(at - near) - self._profile(at + near)
        return min(1.0, max(0.0, self._profile(at) + fall / (2 * math.sinh(near))))

    def mean(self) -> float:
        """Return E[L], the Kullback-Leibler divergence; infinite if some losses are."""
        return math.inf if self.infinite > 0 else float(np.dot(self.losses, self.masses))


def privacy_loss(event: Event, *, backward: bool = False) -> PrivacyLoss:
    """Return the privacy loss random variable of an event's dominating pairs.

    `backward` exchanges the two data sets: the loss of an output drawn without the unit.

    Args:
        event: what was done: an `Event`, such as `mechanism.event`.
        backward: whether the loss is that of the other order of the neighbours.

    Example:
        >>> laplace = privet.Laplace(sensitivity=1, epsilon=0.5).event
        >>> round(accounting.privacy_loss(laplace).delta(0.25), 4)
        0.1377
    """
    gathered = gather(event)
    bracket = loss_distribution(event)
    behind_first = truth(backward, "backward")
    made = (bracket.backward if behind_first else bracket.forward)[1]
    pair = gathered.alone
    if pair is None:
        profile, near = made.seen_and_infinite, made.step
    else:
        ahead, behind = (pair.backward, pair.forward) if behind_first else (pair.forward, pair.backward)
        kept = 1 - gathered.failure

        def profile(epsilon: float) -> float:
            if epsilon >= 0:
                curve = float(ahead(np.array([epsilon]))[0])
            else:
                curve = -math.expm1(epsilon) + math.exp(epsilon) * float(behind(np.array([-epsilon]))[0])
            return gathered.failure + kept * curve

        near = _NEAR
    return PrivacyLoss(made.losses(), made.masses, made.infinite, profile, near)
