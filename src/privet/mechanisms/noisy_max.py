"""Permute-and-flip, and report-noisy-max by exponential, Laplace or Gumbel noise: exact choices, with their odds."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

from privet import noise
from privet.accounting.events import PureEvent
from privet.core.errors import BadParameter
from privet.core.given import set_fields
from privet.core.numbers import Number, float_up
from privet.core.sensitivity import Sensitivity
from privet.noise.contest import Law

from . import selection as odds
from .lattice import tail_of
from .mechanism import read_times
from .selection import ExponentialEvent, SelectionMechanism, read_scores

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True, init=False, repr=False)
class PermuteAndFlip(SelectionMechanism):
    """Choose one of finitely many options: go through them at random, and take each with probability e^(-behind).

    Never worse than the exponential mechanism at the same epsilon, and up to twice as good, for one choice. Many
    choices together cost less by `Exponential`, whose losses span a smaller range.

    Args:
        sensitivity: how far one unit can move a score: a number, or a `Sensitivity`.
        epsilon: the privacy loss of one release, above 0.
        rate: how fast probabilities fall with the score, instead of epsilon.
        monotone: whether one unit moves all scores in the same direction, which costs less.

    Raises:
        BadParameter: if a number is out of range.

    Example:
        >>> mechanism = privet.PermuteAndFlip(sensitivity=1, epsilon=1)
        >>> mechanism.event.pure()
        Fraction(1, 1)

    Guarantee: epsilon-DP. It is drawn as report-noisy-max with exponential noise of scale 1/rate, which has the same
    law: fix all noise but the winner's. It must exceed a bound that neighbours move by 2 sensitivity at most, or by
    the sensitivity where monotone, and P[E >= x + d] >= e^-d P[E >= x] for d >= 0.
    Cites: [MS20, privacy], [DKSSWXZ21].
    """

    @cached_property
    def event(self) -> PureEvent:
        """The event of one choice."""
        return PureEvent(self.cost)

    def release(self, scores: Any) -> int:
        """Return the index of the option that was chosen."""
        return cast(int, noise.noisy_max(read_scores(scores), self.rate, law="exponential"))

    def simulate(self, scores: Any, times: int) -> NDArray[np.int64]:
        """Return the indices of this many choices by the same scores. Each costs the event once more."""
        drawn = noise.noisy_max(read_scores(scores), self.rate, law="exponential", size=read_times(times))
        return cast("NDArray[np.int64]", drawn)

    def probabilities(self, scores: Any) -> NDArray[np.float64]:
        """Return each option's probability of being chosen. It is as private as the scores: not for release."""
        return odds.flips(self._behind(scores))

    def error(self, confidence: Number = 0.95, *, size: int, best: int = 1) -> float:
        """Return how far below the best score the choice stays, at most, with this probability.

        Guarantee: P[score <= optimum - x / rate] <= (size - best) / (best + 1) e^-x.
        Cites: [MS20, never worse], which compares it with the exponential mechanism.
        """
        depth = odds.flip_depth(*self._read_sizes(size, best), tail_of(confidence))
        return float_up(Fraction(depth) / self.rate)


@dataclass(frozen=True, init=False, repr=False)
class NoisyMax(SelectionMechanism):
    """Add noise to each score, and report which is largest. The noisy scores themselves are not shown.

    `law` names the noise, of scale 1/rate: `"exponential"`, which is permute-and-flip and the best for one choice;
    `"gumbel"`, which is the exponential mechanism and the best for many; or `"laplace"`, the textbook's.

    Args:
        sensitivity: how far one unit can move a score: a number, or a `Sensitivity`.
        epsilon: the privacy loss of one release, above 0.
        rate: how fast probabilities fall with the score, instead of epsilon.
        monotone: whether one unit moves all scores in the same direction, which costs less.
        law: the noise: "exponential", "gumbel" or "laplace".

    Raises:
        BadParameter: if a number is out of range.

    Example:
        >>> mechanism = privet.NoisyMax(sensitivity=1, epsilon=1, law="gumbel")
        >>> mechanism.event.pure()
        Fraction(1, 1)

    Guarantee: epsilon-DP for each law, by the argument at `PermuteAndFlip`: for Laplace noise too
    P[L >= x + d] >= e^-d P[L >= x]. The noise is real-valued and compared exactly, so there are no ties.
    Cites: [DR14, Claim 3.9], [DKSSWXZ21], [MT07, Thm 6].
    """

    law: Law

    def __init__(
        self,
        *,
        sensitivity: Number | Sensitivity,
        epsilon: Number | None = None,
        rate: Number | None = None,
        monotone: bool = False,
        law: Law = "exponential",
    ) -> None:
        super().__init__(sensitivity=sensitivity, epsilon=epsilon, rate=rate, monotone=monotone)
        if not isinstance(law, str) or law not in _ODDS:
            raise BadParameter("law", law, "'exponential', 'gumbel' or 'laplace'")
        set_fields(self, law=law)

    @cached_property
    def event(self) -> PureEvent | ExponentialEvent:
        """The event of one choice: of bounded range by Gumbel noise, and pure otherwise."""
        return ExponentialEvent(epsilon=self.cost) if self.law == "gumbel" else PureEvent(self.cost)

    def release(self, scores: Any) -> int:
        """Return the index of the option whose noisy score is largest."""
        return cast(int, noise.noisy_max(read_scores(scores), self.rate, law=self.law))

    def simulate(self, scores: Any, times: int) -> NDArray[np.int64]:
        """Return the indices of this many choices by the same scores. Each costs the event once more."""
        drawn = noise.noisy_max(read_scores(scores), self.rate, law=self.law, size=read_times(times))
        return cast("NDArray[np.int64]", drawn)

    def probabilities(self, scores: Any) -> NDArray[np.float64]:
        """Return each option's probability of being chosen. It is as private as the scores: not for release."""
        return _ODDS[self.law](self._behind(scores))

    def error(self, confidence: Number = 0.95, *, size: int, best: int = 1) -> float:
        """Return how far below the best score the choice stays, at most, with this probability."""
        depth = _DEPTHS[self.law](*self._read_sizes(size, best), tail_of(confidence))
        return float_up(Fraction(depth) / self.rate)

    def __repr__(self) -> str:
        return f"{super().__repr__()[:-1]}, law={self.law!r})"


_ODDS = {"exponential": odds.flips, "gumbel": odds.softmax, "laplace": odds.laplace}
_DEPTHS = {"exponential": odds.flip_depth, "gumbel": odds.gumbel_depth, "laplace": odds.laplace_depth}
