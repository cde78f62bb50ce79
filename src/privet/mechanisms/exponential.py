"""The exponential mechanism over a finite range, by an exact race of exponential variates, with its event."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

from privet import noise
from privet.accounting.pairs import BoundedRangePair
from privet.core.event import Atom
from privet.core.given import set_fields
from privet.core.numbers import Number, nonnegative, read_order
from privet.core.rounding import float_up

from . import selection as odds
from .lattice import tail_of
from .mechanism import read_times
from .selection import SelectionMechanism, read_scores

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_LARGEST_ORDER = 1e100


@dataclass(frozen=True, init=False)
class ExponentialEvent(Atom):
    """A selection whose privacy loss has a range of at most `epsilon`: all its losses lie in some [t - epsilon, t].

    Args:
        epsilon: the range of the privacy loss.

    Example:
        >>> event = mechanisms.ExponentialEvent(epsilon=1)
        >>> event.pure(), event.rho()
        (Fraction(1, 1), Fraction(1, 8))

    Guarantee: among such events the two-point loss on the ends of the range is the worst at each t, since every
    divergence is convex in the likelihood ratio, whose mean is fixed; curves take the worst t.
    Cites: [MT07, Thm 6], [DDR20, bounded range], [CR21, bounded range in zCDP].
    """

    epsilon: Fraction

    def __init__(self, *, epsilon: Number) -> None:
        set_fields(self, epsilon=nonnegative(epsilon, "epsilon"))

    def pure(self) -> Fraction:
        return self.epsilon

    def rho(self) -> Fraction:
        """Return epsilon**2 / 8."""
        return self.epsilon**2 / 8

    def slack(self) -> Fraction:
        return Fraction(0)

    def rdp(self, order: float) -> float:
        """Return the largest divergence of the two-point losses t and t - epsilon over t, rounded up.

        With y = e^t, E = e^epsilon, b = order - 1 and c = E^-b the moment is y^b [(E - c) - y(1 - c)] / (E - 1). It
        is 1 at both ends, y = 1 and y = E, and largest at y = b (E - c) / ((b + 1)(1 - c)), where the bracket is
        (E - c) / (b + 1).
        """
        order, epsilon = read_order(order), float_up(self.epsilon)
        bound = min(epsilon, float_up(self.rho() * Fraction(order)))
        if not 1e-3 < epsilon < 700 or order > _LARGEST_ORDER:
            return bound
        order = max(order, 1 + 2.0**-10)  # below, digits cancel; and the curve rises with the order
        b = order - 1
        rest = -math.expm1(-b * epsilon)  # 1 - c, and E - c as a sum of positive terms
        spread = math.expm1(epsilon) + rest
        y = b / order * (spread / rest)
        log_moment = b * math.log(y) + math.log(spread / order / math.expm1(epsilon))
        return min(bound, log_moment / b + 2.0**-44 * (1 + epsilon + 1 / b))

    def pair(self) -> BoundedRangePair:
        return BoundedRangePair(self.epsilon)


@dataclass(frozen=True, init=False, repr=False)
class Exponential(SelectionMechanism):
    """Choose one of finitely many options, better ones with higher probability.

    `sensitivity` bounds how far one unit can move any option's score. With `monotone=True` a unit may only ever move
    all scores the same way (counts under add-remove neighbours do), and the same epsilon buys twice the accuracy.

    Args:
        sensitivity: how far one unit can move a score: a number, or a `Sensitivity`.
        epsilon: the privacy loss of one release, above 0.
        rate: how fast probabilities fall with the score, instead of epsilon.
        monotone: whether one unit moves all scores in the same direction, which costs less.

    Raises:
        BadParameter: if a number is out of range.

    Example:
        >>> mechanism = privet.Exponential(sensitivity=1, epsilon=1)
        >>> mechanism.event.pure()
        Fraction(1, 1)

    Guarantee: epsilon-DP, with a privacy loss of range epsilon; P[r] is proportional to exp(rate * score[r]) for
    rate = epsilon / (2 sensitivity), or epsilon / sensitivity if monotone. The choice is an exact race of
    exponential variates, whatever the size of the scores.
    Cites: [MT07, Thm 6], [DR14, Thm 3.10].
    """

    @cached_property
    def event(self) -> ExponentialEvent:
        """The event of one choice."""
        return ExponentialEvent(epsilon=self.cost)

    def release(self, scores: Any) -> int:
        """Return the index of the option that was chosen."""
        return cast(int, noise.race(read_scores(scores), self.rate))

    def simulate(self, scores: Any, times: int) -> NDArray[np.int64]:
        """Return the indices of this many choices by the same scores. Each costs the event once more."""
        return cast("NDArray[np.int64]", noise.race(read_scores(scores), self.rate, size=read_times(times)))

    def probabilities(self, scores: Any) -> NDArray[np.float64]:
        """Return each option's probability of being chosen. It is as private as the scores: not for release."""
        return odds.softmax(self._behind(scores))

    def error(self, confidence: Number = 0.95, *, size: int, best: int = 1) -> float:
        """Return how far below the best score the choice stays, at most, with this probability.

        `size` is the number of options and `best` how many of them share the best score.

        Guarantee: P[score <= optimum - (ln(size / best) + t) / rate] <= e^-t.
        Cites: [DR14, Thm 3.11].
        """
        depth = odds.gumbel_depth(*self._read_sizes(size, best), tail_of(confidence))
        return float_up(Fraction(depth) / self.rate)
