"""The privacy loss distribution of a composition, as a frozen value: masses on a lattice and every error beside them.

`LossDistribution` answers with upper bounds, `OptimisticLoss` with lower ones. Neither answers without its error terms.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from privet.core.numbers import MARGIN

from .convolve import Composition, LossPart, LossWindow, compose

if TYPE_CHECKING:
    from privet.core.event import Floats

_UNIT = 2.0**-53
_HALVINGS = 34
_TALLEST = 600.0


@dataclass(frozen=True, eq=False)
class LossDistribution:
    """An upper bound on how well two data sets can be told apart: masses at (lowest + i) step, and what they leave out.

    delta(epsilon) is the sum of mass (1 - exp(epsilon - loss))+, plus `infinite` (losses without end), plus
    `truncation` (tails of single events that were cut off), plus exp(-tilt (epsilon - anchor)) times `aliasing` (mass
    that wrapped around the Fourier window) and `rounding` (floating point in the transform). `ceiling` is Chernoff's
    bound on all but `infinite` and `truncation`, at the anchor. Without a tilt, every term is constant.

    Guarantee: delta(epsilon) and epsilon(delta) are upper bounds for the composition of the dominating pairs.
    Cites: [DGKKM22, connect the dots], [SMM19].
    """

    step: float
    lowest: int
    masses: Floats
    infinite: float = 0.0
    truncation: float = 0.0
    aliasing: float = 0.0
    rounding: float = 0.0
    ceiling: float = math.inf
    tilt: float = 0.0
    anchor: float = 0.0

    def losses(self) -> Floats:
        """Return the losses that carry the masses."""
        return self.step * np.arange(self.lowest, self.lowest + len(self.masses), dtype=np.float64)

    def errors(self, epsilon: float) -> dict[str, float]:
        """Return the three error terms as they stand at this epsilon."""
        factor = self._factor(epsilon)
        return {
            "truncation": self.truncation,
            "aliasing": self.aliasing * factor,
            "rounding": self.rounding * factor,
        }

    def delta(self, epsilon: float) -> float:
        """Return a proven delta for this epsilon, rounded up."""
        seen = self.seen(epsilon) + (self.aliasing + self.rounding) * self._factor(epsilon)
        finite = min(seen, self.ceiling * self._factor(epsilon))
        return min(1.0, (finite + self.infinite + self.truncation) * (1 + MARGIN))

    def epsilon(self, delta: float) -> float:
        """Return a proven epsilon of at least 0 for this delta, rounded up; infinite if there is none."""
        if self.delta(0.0) <= delta:
            return 0.0
        low, high = 0.0, max(self.step, (self.lowest + len(self.masses)) * self.step)
        while self.delta(high) > delta:
            if self.infinite + self.truncation >= delta or not self.tilt or high > 1e9:
                return math.inf
            low, high = high, 2 * high + 1 / self.tilt
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            low, high = (middle, high) if self.delta(middle) > delta else (low, middle)
        return high

    def seen(self, epsilon: float) -> float:
        """Return the part of delta that the masses themselves account for."""
        start = max(0, math.floor(epsilon / self.step) - self.lowest)
        losses = self.step * np.arange(self.lowest + start, self.lowest + len(self.masses), dtype=np.float64)
        with np.errstate(under="ignore"):
            return float(np.sum(self.masses[start:] * -np.expm1(np.minimum(epsilon - losses, 0.0))))

    def seen_and_infinite(self, epsilon: float) -> float:
        """Return delta without the error terms: what the lattice shows, not a bound."""
        return self.seen(epsilon) + self.infinite

    def at_lattice_points(self) -> tuple[Floats, Floats]:
        """Return all epsilons = 0, step, ... within the window and the deltas proven there.

        With T(i) the sum of mass e**-loss over losses from point i on, the part that is seen falls from point i to the
        next by (e**step - 1) e**(i step) T(i + 1): a sum of positive terms, from the far end.
        """
        start = max(0, -self.lowest)
        count = min(len(self.masses) - start, math.floor(_TALLEST / self.step))
        epsilons = self.step * np.arange(count, dtype=np.float64)
        masses = np.zeros(count)
        masses[max(0, self.lowest) :] = self.masses[start : start + count - max(0, self.lowest)]
        with np.errstate(under="ignore"):
            tails = np.cumsum((masses * np.exp(-epsilons))[::-1])[::-1]
            falls = math.expm1(self.step) * np.exp(epsilons[:-1]) * tails[1:]
        seen = np.append(np.cumsum(falls[::-1])[::-1], 0.0)
        over = float(np.sum(self.masses[start + count :]))
        terms = sum(self.errors(0.0).values())
        return epsilons, np.minimum(1.0, (seen + self.infinite + over + terms) * (1 + MARGIN))

    def _factor(self, epsilon: float) -> float:
        return math.exp(min(600.0, -self.tilt * (epsilon - self.anchor)))


class OptimisticLoss(LossDistribution):
    """A lower bound on how well two data sets can be distinguished; its error terms are subtracted.

    Guarantee: no true delta or epsilon of the composition of the dominating pairs is smaller.
    """

    def delta(self, epsilon: float) -> float:
        """Return a delta that any valid bound for this epsilon must reach, rounded down."""
        seen = self.seen(epsilon) - (self.aliasing + self.rounding) * self._factor(epsilon)
        return max(0.0, (max(0.0, seen) + self.infinite) * (1 - MARGIN))

    def epsilon(self, delta: float, *, below: float = math.inf) -> float:
        """Return an epsilon that any valid bound for this delta must reach, rounded down; 0 if none is certain.

        With a tilt, errors grow to the left of where it aims, so the search comes from the right, from `below` on.
        """
        if self.infinite * (1 - MARGIN) > delta:
            return math.inf
        high = min(below, (self.lowest + len(self.masses)) * self.step)
        for low in (*(high * (1 - 2.0**-k) for k in range(30, 0, -1)), 0.0):
            if self.delta(low) > delta:
                break
            high = low
        else:
            return 0.0
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            low, high = (middle, high) if self.delta(middle) > delta else (low, middle)
        return max(0.0, low)


def compose_upper(
    parts: Sequence[LossPart], window: LossWindow, tilt: float, probes: tuple[float, float]
) -> LossDistribution:
    """Return the composition of upper lattices: mass that may have wrapped away from the top is added."""
    made = compose(parts, window, tilt, probes)
    excess = math.exp(sum(part.times * max(0.0, math.log(_total(part))) for part in parts))
    infinite = -math.expm1(sum(part.times * _log_kept(part.lattice.infinite) for part in parts)) * excess
    truncation = sum(part.times * part.lattice.truncated for part in parts) * excess
    anchor, masses, scale = _untilted(made, parts, window, tilt)
    weight = _weight(parts[0].lattice.step, tilt, len(masses))
    chernoff = math.exp(tilt * math.log(tilt) - (tilt + 1) * math.log1p(tilt)) if tilt else 1.0
    return LossDistribution(
        step=parts[0].lattice.step,
        lowest=window.lowest,
        masses=masses,
        infinite=min(1.0, infinite),
        truncation=min(1.0, truncation),
        aliasing=scale * made.above,
        rounding=scale * made.rounding * weight,
        ceiling=scale * chernoff,
        tilt=tilt,
        anchor=anchor,
    )


def compose_lower(
    parts: Sequence[LossPart], window: LossWindow, tilt: float, probes: tuple[float, float]
) -> OptimisticLoss:
    """Return the composition of lower lattices: mass that may have wrapped up from the bottom is taken off."""
    made = compose(parts, window, tilt, probes)
    infinite = -math.expm1(sum(part.times * _log_kept(part.lattice.infinite) for part in parts))
    anchor, masses, scale = _untilted(made, parts, window, tilt)
    return OptimisticLoss(
        step=parts[0].lattice.step,
        lowest=window.lowest,
        masses=masses * (1 - MARGIN),
        infinite=infinite * math.exp(sum(part.times * min(0.0, math.log(_total(part))) for part in parts)),
        aliasing=scale * made.below,
        rounding=scale * made.rounding * _weight(parts[0].lattice.step, tilt, len(masses)),
        tilt=tilt,
        anchor=anchor,
    )


def _total(part: LossPart) -> float:
    return float(np.sum(part.lattice.masses)) + part.lattice.infinite + part.lattice.truncated


def _log_kept(infinite: float) -> float:
    return math.log1p(-infinite) if infinite < 1 else -math.inf


def _untilted(
    made: Composition, parts: Sequence[LossPart], window: LossWindow, tilt: float
) -> tuple[float, Floats, float]:
    """Return the anchor, the true masses, and exp(log_total - tilt anchor), all rounded up.

    The logarithms and exponentials of tilting are off by a few units, relative to their arguments, in every factor.
    """
    step = parts[0].lattice.step
    losses = step * np.arange(window.lowest, window.highest + 1, dtype=np.float64)
    widest = max(len(part.lattice.masses) for part in parts) * step
    slack = sum(part.times for part in parts) * _UNIT * (32 + 8 * abs(tilt) * widest) + _UNIT * abs(made.log_total)
    log_total = made.log_total + slack
    anchor = log_total / tilt if tilt else 0.0
    with np.errstate(under="ignore", over="ignore"):
        masses = np.minimum(2.0, made.masses * np.exp(np.minimum(700.0, log_total - tilt * losses)))
    return anchor, masses, math.exp(log_total - tilt * anchor)


def _weight(step: float, tilt: float, count: int) -> float:
    """Return a bound on the norm of exp(-tilt (loss - epsilon)) (1 - exp(epsilon - loss)) over losses above epsilon."""
    return math.sqrt(min(count, 1 / -math.expm1(-2 * tilt * step) if tilt else count))
