"""One option of many, chosen by noisy scores: exponential, permute-and-flip, noisy max; their exact probabilities."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any, cast

from privet import noise
from privet.accounting.events import PureEvent
from privet.accounting.pairs import BoundedRangePair
from privet.core.errors import BadParameter, BadValue, RequestError
from privet.core.event import Atom
from privet.core.given import instance, set_fields
from privet.core.numbers import Number, float_up, inflate, least, nonnegative, positive, rational, read_order, whole
from privet.core.unit import Sensitivity, l1_of
from privet.noise.contest import Law

from .lattice import read_numbers, tail_of
from .mechanism import Mechanism, read_times, shown

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]


# The common part of the mechanisms that choose one of several options: a rate, exactly read scores, sizes.


_MOST_OPTIONS = 10**7


@dataclass(frozen=True, init=False, repr=False)
class SelectionMechanism(Mechanism):
    """A choice among finitely many options, by noise of scale 1 on rate * score.

    Guarantee: `cost`, 2 rate * sensitivity, or rate * sensitivity where monotone, is what the sensitivity can move the
    noisy comparison of two options by. What follows from that is for each mechanism to say.
    Cites: [MT07, Thm 6].
    """

    sensitivity: Fraction
    rate: Fraction
    monotone: bool

    def __init__(
        self,
        *,
        sensitivity: Number | Sensitivity,
        epsilon: Number | None = None,
        rate: Number | None = None,
        monotone: bool = False,
    ) -> None:
        if (epsilon is None) == (rate is None):
            name = type(self).__name__
            raise RequestError(f"{name} takes exactly one of epsilon and rate, beside the sensitivity")
        instance(monotone, bool, "monotone", "True or False")
        distance = positive(l1_of(sensitivity), "sensitivity")
        if rate is None:
            speed = positive(epsilon, "epsilon") / ((1 if monotone else 2) * distance)
            positive(speed, "the rate epsilon / sensitivity")
        else:
            speed = positive(rate, "rate")
        set_fields(self, sensitivity=distance, rate=speed, monotone=monotone)

    @property
    def cost(self) -> Fraction:
        """How far one unit can move the noisy comparison of two options, in units of the noise."""
        return self.rate * self.sensitivity * (1 if self.monotone else 2)

    def _behind(self, scores: Any) -> NDArray[np.float64]:
        """Return rate * (best - score) for each score, in float64, 1e4 at most."""
        import numpy as np

        values = read_scores(scores)
        best = values.max()
        if values.dtype == object:
            return np.array([min(float_up(self.rate * Fraction(best - score)), 1e4) for score in values])
        with np.errstate(over="ignore", under="ignore"):
            below = best - values  # of int64 it may wrap; read as unsigned it is right
            gap = below.view(np.uint64).astype(np.float64) if values.dtype == np.int64 else below
            scaled = np.where(gap > 0, min(float_up(self.rate), 1e300) * gap, 0.0)
        return np.asarray(np.minimum(scaled, 1e4))

    def _read_sizes(self, size: int, best: Number) -> tuple[int, int]:
        options = whole(size, "size", least=1, most=10**300)
        return options, whole(best, "best", least=1, most=options)

    def __repr__(self) -> str:
        options = ", monotone=True" if self.monotone else ""
        name, distance = type(self).__name__, shown(self.sensitivity)
        return f"{name}(sensitivity={distance}, epsilon={float_up(self.cost):.6g}{options})"


def read_scores(scores: Any) -> NDArray[Any]:
    """Return private scores exactly, as an array, or refuse without quoting them."""
    numbers = read_numbers(scores, "scores", wide=True)
    if numbers.shape is None or len(numbers.shape) != 1:
        raise BadValue("scores", "something else", "a list or one-dimensional array of finite numbers")
    if numbers.size == 0:
        raise BadValue("scores", "an empty one", "a list with at least one score")
    values: NDArray[Any] = numbers.values
    return values


def evenly(low: Number, high: Number, *, options: int) -> list[Fraction]:
    """Return this many evenly spaced options from low to high, exactly: a grid for a range that is infinite.

    The grid is public. Whatever it leaves out between two options costs accuracy only, at most half of its step where
    the score is best in between.

    Args:
        low: the lower public bound.
        high: the upper public bound.
        options: the number of options.

    Example:
        >>> mechanisms.evenly(0, 1, options=3)
        [Fraction(0, 1), Fraction(1, 2), Fraction(1, 1)]
    """
    count = whole(options, "options", least=2, most=_MOST_OPTIONS)
    bottom, top = rational(low, "low"), rational(high, "high")
    if bottom >= top:
        raise BadParameter("low", low, "below high")
    step = (top - bottom) / (count - 1)
    return [bottom + place * step for place in range(count)]


# How likely each option is to be chosen, and how far a choice may fall short, for each law of noise.
#
# Everything is a function of how far each option is behind the best one, in units of the noise. Results computed from
# private scores are as private as they are; the bounds are functions of public sizes.


_NODES, _FEW_NODES = 40, 10
_CERTAIN = 745.0
"""Noise of scale 1 never makes up for more, in float64."""

_WIDEST, _NARROW = 6.0, 0.5
_AT_ONCE = 2**21


def softmax(behind: Floats) -> Floats:
    """Return exp(-behind), normalised: the law of Gumbel noise."""
    import numpy as np

    weights = np.exp(-behind)
    return np.asarray(weights / weights.sum())


def flips(behind: Floats) -> Floats:
    """Return the law of exponential noise, or of permuting and flipping: p_r times the integral of prod (1 - t p_s).

    With p = exp(-behind), P[r] = p_r * integral from 0 to 1 of the product over s != r of (1 - t p_s) dt, a polynomial
    without sign changes. It is integrated over panels that double from the width on which the product falls by e.

    Cites: [MS20]; [DKSSWXZ21].
    """
    import numpy as np

    p, places, counts = np.unique(np.exp(-behind), return_inverse=True, return_counts=True)
    total = max(1.0, float(p @ counts))
    edges = np.concatenate([[0.0], 2.0 ** np.arange(math.ceil(math.log2(total))) / total, [1.0]])
    t, weights = _panels(np.stack([edges[:-1], edges[1:]], axis=1), _NODES)
    chances = np.zeros(p.size)
    for part in _parts(t.size, p.size):
        logs = np.log1p(-t[part, None] * p)
        chances += weights[part] @ np.exp((logs @ counts)[:, None] - logs)
    return _normal(chances * p, places)


def laplace(behind: Floats) -> Floats:
    """Return the law of Laplace noise: the integral of the density at r times the other distribution functions.

    The integrand is smooth between the options' places, and panels break there.
    """
    import numpy as np

    places_of, places, counts = np.unique(np.minimum(behind, _CERTAIN), return_inverse=True, return_counts=True)
    far = 45.0 + math.log(behind.size)
    ends = np.unique(np.concatenate([-places_of, [-places_of[-1] - 45.0, far]]))
    splits = [np.linspace(a, b, math.ceil((b - a) / _WIDEST) + 1) for a, b in pairwise(ends)]
    edges = np.unique(np.concatenate(splits))
    narrow = np.diff(edges) <= _NARROW
    sides = [
        _panels(np.stack([edges[:-1], edges[1:]], axis=1)[some], nodes)
        for some, nodes in ((narrow, _FEW_NODES), (~narrow, _NODES))
    ]
    z, weights = (np.concatenate(side) for side in zip(*sides, strict=True))
    chances = np.zeros(places_of.size)
    for part in _parts(z.size, places_of.size):
        x = z[part, None] + places_of
        log_below = np.where(x < 0, x - math.log(2), np.log1p(-np.exp(-np.abs(x)) / 2))
        density = -np.abs(x) - math.log(2)
        chances += weights[part] @ np.exp((log_below @ counts)[:, None] - log_below + density)
    return _normal(np.where(places_of < _CERTAIN, chances, 0.0), places)


def gumbel_depth(options: int, best: int, tail: float) -> float:
    """Return x with P[behind >= x] <= tail for the exponential mechanism: ln(options / best) + ln(1 / tail).

    Cites: [DR14, Thm 3.11].
    """
    return inflate(math.log(options) - math.log(best) - math.log(tail))


def flip_depth(options: int, best: int, tail: float) -> float:
    """Return x with P[behind >= x] <= tail for exponential noise: ln((options - best) / (best + 1)) + ln(1 / tail).

    An option that is x behind beats all of the best with probability e^-x / (best + 1), since an exponential variate
    has no memory; there are options - best that might.
    """
    if options == best:
        return 0.0
    return inflate(max(0.0, math.log(options - best) - math.log(best + 1) - math.log(tail)))


def laplace_depth(options: int, best: int, tail: float) -> float:
    """Return x with P[behind >= x] <= tail for Laplace noise: (options - best)(2 + x) e^-x / 4 = tail.

    That is the chance that the difference of two Laplace variates exceeds x, times how many might.
    """
    if options == best:
        return 0.0
    aim = math.log(tail) + math.log(4) - math.log(options - best)
    high = 2 * (math.log(options) - math.log(tail)) + 4
    return inflate(least(lambda x: math.log(2 + x) - x <= aim, 0.0, high))


def _panels(ends: Floats, nodes: int) -> tuple[Floats, Floats]:
    """Return the nodes and weights of Gauss's rule on each panel, from its two ends."""
    import numpy as np

    points, weights = np.polynomial.legendre.leggauss(nodes)
    half = (ends[:, 1:] - ends[:, :1]) / 2
    return (ends[:, :1] + half * (points + 1)).ravel(), (half * weights).ravel()


def _parts(nodes: int, options: int) -> list[slice]:
    step = max(1, _AT_ONCE // options)
    return [slice(start, start + step) for start in range(0, nodes, step)]


def _normal(each: Floats, places: NDArray[np.intp]) -> Floats:
    import numpy as np

    spread = each[places]
    return np.asarray(spread / spread.sum())


# The exponential mechanism over a finite range, by an exact race of exponential variates, with its event.


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
        return softmax(self._behind(scores))

    def error(self, confidence: Number = 0.95, *, size: int, best: int = 1) -> float:
        """Return how far below the best score the choice stays, at most, with this probability.

        `size` is the number of options and `best` how many of them share the best score.

        Guarantee: P[score <= optimum - (ln(size / best) + t) / rate] <= e^-t.
        Cites: [DR14, Thm 3.11].
        """
        depth = gumbel_depth(*self._read_sizes(size, best), tail_of(confidence))
        return float_up(Fraction(depth) / self.rate)


# Permute-and-flip, and report-noisy-max by exponential, Laplace or Gumbel noise: exact choices, with their odds.


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
        return flips(self._behind(scores))

    def error(self, confidence: Number = 0.95, *, size: int, best: int = 1) -> float:
        """Return how far below the best score the choice stays, at most, with this probability.

        Guarantee: P[score <= optimum - x / rate] <= (size - best) / (best + 1) e^-x.
        Cites: [MS20, never worse], which compares it with the exponential mechanism.
        """
        depth = flip_depth(*self._read_sizes(size, best), tail_of(confidence))
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


_ODDS = {"exponential": flips, "gumbel": softmax, "laplace": laplace}
_DEPTHS = {"exponential": flip_depth, "gumbel": gumbel_depth, "laplace": laplace_depth}
