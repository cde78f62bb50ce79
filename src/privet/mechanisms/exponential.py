"""The exponential mechanism over a finite range, by an exact race of exponential variates, with its event."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

from privet import noise
from privet.accounting.curves import read_order
from privet.accounting.pairs import BoundedRangePair
from privet.core.errors import BadParameter, BadValue, RequestError
from privet.core.event import Atom
from privet.core.exact import nonnegative, positive, whole
from privet.core.rounding import float_up, inflate
from privet.core.sensitivity import Sensitivity

from .lattice import tail_of
from .mechanism import Mechanism, shown
from .reading import read_numbers

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_LARGEST_ORDER = 1e100


@dataclass(frozen=True, kw_only=True)
class ExponentialEvent(Atom):
    """A selection whose privacy loss has a range of at most `epsilon`: all its losses lie in some [t - epsilon, t].

    Guarantee: among such events the two-point loss on the ends of the range is the worst at each t, since every
    divergence is convex in the likelihood ratio, whose mean is fixed; curves take the worst t.
    Cites: [MT07, Thm 6], [DDR20, Lemma 3.2], [CR21, Thm 2].
    """

    epsilon: Fraction

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", nonnegative(self.epsilon, "epsilon"))

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
class Exponential(Mechanism):
    """Choose one of finitely many options, better ones with higher probability.

    `sensitivity` bounds how far one unit can move any option's score. With `monotone=True` a unit may only ever move
    all scores the same way (counts under add-remove neighbours do), and the same epsilon buys twice the accuracy.

    Guarantee: epsilon-DP, with a privacy loss of range epsilon; P[r] is proportional to exp(rate * score[r]) for
    rate = epsilon / (2 sensitivity), or epsilon / sensitivity if monotone. The choice is an exact race of
    exponential variates, whatever the size of the scores.
    Cites: [MT07, Thm 6], [DR14, Thm 3.10].
    """

    sensitivity: Fraction
    rate: Fraction
    monotone: bool

    def __init__(
        self, *, sensitivity: object, epsilon: object = None, rate: object = None, monotone: bool = False
    ) -> None:
        if isinstance(sensitivity, Sensitivity):
            sensitivity = sensitivity.l1
        if (epsilon is None) == (rate is None):
            raise RequestError("Exponential takes exactly one of epsilon and rate, beside the sensitivity")
        if not isinstance(monotone, bool):
            raise BadParameter("monotone", monotone, "True or False")
        distance = positive(sensitivity, "sensitivity")
        if rate is None:
            speed = positive(epsilon, "epsilon") / ((1 if monotone else 2) * distance)
            positive(speed, "the rate epsilon / sensitivity")
        else:
            speed = positive(rate, "rate")
        object.__setattr__(self, "sensitivity", distance)
        object.__setattr__(self, "rate", speed)
        object.__setattr__(self, "monotone", monotone)

    @cached_property
    def event(self) -> ExponentialEvent:
        """The event of one choice."""
        return ExponentialEvent(epsilon=self.rate * self.sensitivity * (1 if self.monotone else 2))

    def release(self, scores: Any) -> int:
        """Return the index of the option that was chosen."""
        return cast(int, noise.race(self._read(scores), self.rate))

    def probabilities(self, scores: Any) -> NDArray[np.float64]:
        """Return each option's probability of being chosen. It is as private as the scores: not for release."""
        import numpy as np

        values = self._read(scores)
        best = values.max()
        if values.dtype == object:
            gaps = [min(float_up(self.rate * Fraction(best - score)), 1e4) for score in values]
            weights = np.exp(-np.array(gaps, dtype=np.float64))
        else:
            with np.errstate(over="ignore", under="ignore"):
                below = best - values  # of int64 it may wrap; read as unsigned it is right
                gap = below.view(np.uint64).astype(np.float64) if values.dtype == np.int64 else below
                weights = np.exp(-np.where(gap > 0, min(float_up(self.rate), 1e300) * gap, 0.0))
        return np.asarray(weights / weights.sum(), dtype=np.float64)

    def error(self, confidence: object = 0.95, *, size: int, best: int = 1) -> float:
        """Return how far below the best score the choice stays, at most, with this probability.

        `size` is the number of options and `best` how many of them share the best score.

        Guarantee: P[score <= optimum - (ln(size / best) + t) / rate] <= e^-t.
        Cites: [DR14, Thm 3.11].
        """
        options = whole(size, "size", least=1)
        ties = whole(best, "best", least=1, most=options)
        deep = math.log(options) - math.log(ties) - math.log(tail_of(confidence))
        return float_up(Fraction(inflate(deep)) / self.rate)

    def _read(self, scores: Any) -> NDArray[Any]:
        numbers = read_numbers(scores, "scores", wide=True)
        if numbers.shape is None or len(numbers.shape) != 1:
            raise BadValue("scores", "something else", "a list or one-dimensional array of finite numbers")
        if numbers.size == 0:
            raise BadValue("scores", "an empty one", "a list with at least one score")
        values: NDArray[Any] = numbers.values
        return values

    def __repr__(self) -> str:
        options = ", monotone=True" if self.monotone else ""
        return f"Exponential(sensitivity={shown(self.sensitivity)}, epsilon={self.epsilon:.6g}{options})"
