"""Keys shown where their number of people, with Gaussian noise, exceeds a threshold: for people with many keys."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from privet.accounting.events import ThresholdEvent
from privet.core.exact import open_probability
from privet.core.rounding import float_up
from privet.core.sensitivity import Neighbors, Sensitivity

from .gaussian import Gaussian
from .key_selection import read_people
from .threshold import SHIFT, NoisyThreshold, threshold_for


@dataclass(frozen=True, init=False, repr=False)
class GaussianThreshold(NoisyThreshold):
    """Show a key where its number of people, plus Gaussian noise, exceeds a threshold.

    Half of delta is the noise's, half is for keys that may slip through. The noise grows with the root of `keys`.

    Guarantee: (epsilon, delta)-DP for whoever holds at most `keys` keys: a group of m people moves the counts by m
    sqrt(keys) in L2, by m sqrt(2 keys) under change-one, and keys that only they hold show with probability delta / 2
    (`threshold_for`).
    Cites: [KKMN09, noisy thresholds], [SDH23], [BW18, Alg. 1].
    """

    noise: Gaussian
    threshold: int
    slipping: Fraction
    keys: int
    group: int
    neighbors: Neighbors

    def __init__(
        self, *, epsilon: object, delta: object, keys: int = 1, group: int = 1, neighbors: Neighbors = "add-remove"
    ) -> None:
        half = open_probability(delta, "delta") / 2
        several, together, relation = read_people(keys, group, neighbors)
        sides = 1 if relation == "add-remove" else 2
        one = Fraction(1 << SHIFT)
        moved = Sensitivity(
            neighbors=relation,
            l1=sides * together * several * one,
            l2_squared=sides * together**2 * several * one**2,
        )
        drawn = Gaussian(sensitivity=moved, epsilon=epsilon, delta=half)
        least = threshold_for(drawn, most=several, order=0, shift=SHIFT, group=together, delta=half)
        for name, value in (
            ("noise", drawn),
            ("threshold", least),
            ("slipping", half),
            ("keys", several),
            ("group", together),
            ("neighbors", relation),
        ):
            object.__setattr__(self, name, value)

    @cached_property
    def event(self) -> ThresholdEvent:
        """The noise's event, and delta for the keys that may slip through."""
        return ThresholdEvent(self.noise.event, self.slipping)

    def __repr__(self) -> str:
        people = self.threshold / 2**SHIFT
        rho, delta = float_up(self.event.rho()), float_up(self.event.slack())
        return f"GaussianThreshold(above {people:.6g} people, rho={rho:.6g}, slack={delta:.6g})"
