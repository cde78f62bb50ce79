"""Keys shown where their number of people, with Laplace noise, exceeds a threshold."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from privet.accounting.events import ThresholdEvent
from privet.core.errors import BadParameter
from privet.core.exact import open_probability, positive
from privet.core.sensitivity import Neighbors

from .key_selection import read_people
from .laplace import Laplace
from .threshold import SHIFT, NoisyThreshold, threshold_for


@dataclass(frozen=True, init=False, repr=False)
class LaplaceThreshold(NoisyThreshold):
    """Show a key where its number of people, plus Laplace noise of scale c m keys / epsilon, exceeds a threshold.

    `OptimalKeys` needs fewer people at the same cost; this is for comparison, and where the noisy number is wanted.

    Guarantee: (epsilon, delta)-DP for whoever holds at most `keys` keys: a group of m people moves the counts by m keys
    in L1, twice that under change-one, and keys that only they hold show with probability delta (`threshold_for`).
    Cites: [KKMN09, noisy thresholds], [DVGM22, thresholds].
    """

    noise: Laplace
    threshold: int
    delta: Fraction
    keys: int
    group: int
    neighbors: Neighbors

    def __init__(
        self, *, epsilon: object, delta: object, keys: int = 1, group: int = 1, neighbors: Neighbors = "add-remove"
    ) -> None:
        loss, failure = positive(epsilon, "epsilon"), open_probability(delta, "delta")
        if failure < Fraction(1, 10**300):
            raise BadParameter("delta", delta, "at least 1e-300")
        several, together, relation = read_people(keys, group, neighbors)
        moved = several * together * (1 if relation == "add-remove" else 2)
        drawn = Laplace(sensitivity=moved << SHIFT, epsilon=loss)
        least = threshold_for(drawn, most=several, order=0, shift=SHIFT, group=together, delta=failure)
        for name, value in (
            ("noise", drawn),
            ("threshold", least),
            ("delta", failure),
            ("keys", several),
            ("group", together),
            ("neighbors", relation),
        ):
            object.__setattr__(self, name, value)

    @cached_property
    def event(self) -> ThresholdEvent:
        """The noise's event, and delta for the keys that may slip through."""
        return ThresholdEvent(self.noise.event, self.delta)

    def __repr__(self) -> str:
        people = self.threshold / 2**SHIFT
        return f"LaplaceThreshold(above {people:.6g} people, epsilon={self.epsilon:.6g}, delta={float(self.delta):.6g})"
