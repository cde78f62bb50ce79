"""The exact law of a binomial count plus known noise: tails, and thresholds, to all the digits of a double.

The noise is an integer of a known law plus a uniform number from -1/2 to 1/2, so that the sum has no atoms: p-values
are exactly uniform under a hypothesis, and tests reach their level exactly.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Protocol

from privet.core.numbers import float_near
from privet.mechanisms.laws import DiscreteGaussian, DiscreteLaplace, NoiseLaw
from privet.mechanisms.tulap import Tulap, probability_below

if TYPE_CHECKING:
    from privet.core.event import Floats

MOST_PEOPLE = 10**10
_FAR = 2**50
_DROPPED = 72.0
"""What lies beyond has a probability below exp(-72), about 1e-31, and is left out."""

_DENSE = 2**12
"""Binomial counts of a wider range than this are summed over the noise instead, where that has far fewer values."""

_COSTLIER, _SMOOTH = 16, 2048
"""What a binomial tail costs beside a probability; how many strides a standard deviation of a smooth tail has."""


class SmoothNoise(Protocol):
    """An integer of a known law plus a uniform number from -1/2 to 1/2, perhaps truncated; symmetric."""

    def below(self, place: Floats, part: Floats | float) -> Floats:
        """Return the probability of noise of at most `place` - `part`, for whole places and parts from -1/2 to 1/2."""
        ...

    @property
    def variance(self) -> float:
        """The variance."""
        ...


@dataclass(frozen=True)
class TulapNoise:
    """Tulap noise, as a mechanism draws it."""

    mechanism: Tulap

    def below(self, place: Floats, part: Floats | float) -> Floats:
        """Return the probability of noise of at most `place` - `part`."""
        return probability_below(self.mechanism, place, part)

    @property
    def variance(self) -> float:
        """The variance."""
        return self.mechanism.variance


@lru_cache(maxsize=64)
def _cdf_table(law: NoiseLaw) -> Floats:
    """Return the distribution function of integer noise around 0, as far as it is not 0 or 1 to 30 digits."""
    import numpy as np

    reach = 12 + math.ceil((_DROPPED if isinstance(law, DiscreteLaplace) else 13) * law.deviation)
    return np.asarray(law.cdf(np.arange(-reach, reach + 1)), dtype=np.float64)


@dataclass(frozen=True)
class IntegerNoise:
    """Integer noise of a session's release, with a uniform number beside it.

    Guarantee: P[K + U <= d - u] = P[K < d] + (1/2 - u) P[K = d], as U <= -u has probability 1/2 - u.
    """

    law: NoiseLaw

    def below(self, place: Floats, part: Floats | float) -> Floats:
        """Return the probability of noise of at most `place` - `part`."""
        if isinstance(self.law, DiscreteLaplace) and self.law.finer == 1 and self.law.step == 1:
            return probability_below(Tulap(epsilon=1 / self.law.scale), place, part)
        import numpy as np

        before, upto = self._cdf(place - 1), self._cdf(place)
        return np.asarray(before + (0.5 - part) * (upto - before))

    def _cdf(self, place: Floats) -> Floats:
        import numpy as np

        if isinstance(self.law, DiscreteGaussian) and self.law.finer == 1 and self.law.sigma_squared >= 16:
            from scipy.special import ndtr

            # by the Euler-Maclaurin formula at midpoints, three terms: what follows is below 1e-9 from sigma = 4 on
            sigma = math.sqrt(self.law.sigma_squared)
            t = (place + 0.5) / sigma
            density = np.exp(-t * t / 2) / math.sqrt(2 * math.pi)
            terms = t / (24 * sigma**2) - 7 / 5760 * (t**3 - 3 * t) / sigma**4
            terms = terms + 31 / 967680 * (t**5 - 10 * t**3 + 15 * t) / sigma**6
            return np.asarray(np.clip(ndtr(t) + density * terms, 0.0, 1.0))
        table = _cdf_table(self.law)
        middle = (table.size - 1) // 2
        return np.asarray(table[np.clip(place + middle, 0, table.size - 1).astype(np.int64)])

    @property
    def variance(self) -> float:
        """The variance."""
        return self.law.variance + 1 / 12


@dataclass(frozen=True)
class SeenCount:
    """A released count: its integer, and where in the cell of that integer the test is read, upward and downward.

    A count with a uniform number has one place for both. One without is read at the far end of its cell each way:
    then p-values are those of the whole numbers, and a little too large.
    """

    count: int
    upward: float
    downward: float

    @classmethod
    def of(cls, released: Fraction) -> SeenCount:
        """Return a released number; a whole one has no uniform number."""
        nearest = math.floor(released + Fraction(1, 2))
        part, count = float_near(released - nearest), near_count(nearest)
        return cls(count, -0.5, 0.5) if part == 0 else cls(count, part, part)

    @classmethod
    def drawn_with(cls, count: int, part: Fraction) -> SeenCount:
        """Return a released whole number and the uniform part that was drawn with it, also where that is 0."""
        found = float_near(part)
        return cls(near_count(count), found, found)

    @property
    def drawn(self) -> bool:
        """Whether a uniform number was drawn with the count."""
        return self.upward == self.downward

    @property
    def value(self) -> float:
        """The released number."""
        return self.count + (self.upward + self.downward) / 2


@dataclass(frozen=True)
class NoisyBinomial:
    """How many of `people` have something, each with the probability `share`, plus noise."""

    people: int
    share: float
    noise: SmoothNoise

    @property
    def deviation(self) -> float:
        """The standard deviation of the sum."""
        return math.sqrt(self.people * self.share * (1 - self.share) + self.noise.variance)

    def at_least(self, count: int, part: float) -> float:
        """Return P[X + N >= count + part] = sum over x of P[X = x] P[N <= x - count - part]."""
        import numpy as np

        if self._sums_noise:
            # by parts: sum over d of P[d - 1 < N + part <= d] P[X >= count + d]; several d at their mean if X is wide
            places = np.arange(-self._reach, self._reach + 1, dtype=np.float64)
            steps = np.diff(self.noise.below(places, part), prepend=0.0)
            if self._stride > 1:
                starts = np.arange(0, places.size, self._stride)
                weights = np.add.reduceat(steps, starts)
                means = np.add.reduceat(steps * places, starts) / np.where(weights > 0, weights, 1.0)
                steps, places = weights, np.where(weights > 0, means, places[starts])
            return _probability(float(np.sum(steps * _reaches(self.people, self.share, count + places))))
        return _probability(float(np.sum(self._chances * self.noise.below(self._counts - count, part))))

    def at_most(self, count: int, part: float) -> float:
        """Return P[X + N <= count + part], by the same sum with both mirrored."""
        mirrored = NoisyBinomial(self.people, 1 - self.share, self.noise)
        return mirrored.at_least(self.people - count, -part)

    @cached_property
    def _span(self) -> float:
        spread = self.people * self.share * (1 - self.share)
        return _DROPPED / 3 + math.sqrt((_DROPPED / 3) ** 2 + 2 * _DROPPED * spread)  # Bernstein's inequality

    @cached_property
    def _reach(self) -> int:
        return 2 + math.ceil(_DROPPED * max(1.0, math.sqrt(self.noise.variance)))

    @cached_property
    def _stride(self) -> int:
        """How many integers of noise are taken together: 1, or as many as err by less than 1e-7 of the tail."""
        return max(1, math.floor(math.sqrt(self.people * self.share * (1 - self.share)) / _SMOOTH))

    @property
    def _sums_noise(self) -> bool:
        return self._span > _DENSE and _COSTLIER * self._reach / self._stride < self._span

    @cached_property
    def _counts(self) -> Floats:
        import numpy as np

        middle = self.people * self.share
        low, high = max(0, math.floor(middle - self._span)), min(self.people, math.ceil(middle + self._span))
        return np.arange(low, high + 1, dtype=np.float64)

    @cached_property
    def _chances(self) -> Floats:
        """The probabilities of the counts: ratios of neighbours multiplied outwards from the likeliest one."""
        import numpy as np

        counts, n, p = self._counts, self.people, self.share
        if p <= 0 or p >= 1:
            return np.asarray(counts == (0 if p <= 0 else n), dtype=np.float64)
        ratios = np.log((n - counts[:-1]) / (counts[:-1] + 1)) + (math.log(p) - math.log1p(-p))
        logs = np.concatenate([[0.0], np.cumsum(ratios)])
        with np.errstate(under="ignore"):
            weights = np.exp(logs - logs.max())
        return np.asarray(weights / weights.sum())


def near_count(released: int) -> int:
    """Return a released count, moved to one that a double holds: all beyond say the same of a share."""
    return min(max(int(released), -_FAR), _FAR)


def _reaches(people: int, share: float, least: Floats) -> Floats:
    """Return P[X >= least]."""
    import numpy as np
    from scipy.special import betainc

    inside = np.clip(least, 1, people)
    found = betainc(inside, people - inside + 1, share)
    return np.asarray(np.where(least <= 0, 1.0, np.where(least > people, 0.0, found)))


def _probability(computed: float) -> float:
    return min(1.0, max(0.0, computed))


def crossing(
    rises: Callable[[float], float],
    wanted: float,
    ends: tuple[float, float],
    near: Sequence[float],
    *,
    tolerance: float = 1e-12,
) -> float:
    """Return where a rising function of a number between two ends reaches a value; an end where it never does.

    It is sought between two numbers `near` it first, which may be wrong.
    """
    from scipy.optimize import brentq

    rises = lru_cache(maxsize=None)(rises)  # the search asks for the ends that were tried here again
    low, high = ends
    for guess in sorted(near):
        if low < guess < high:
            low, high = (guess, high) if rises(guess) < wanted else (low, guess)
    if low == ends[0] and rises(low) >= wanted:
        return low
    if high == ends[1] and rises(high) <= wanted:
        return high
    return float(brentq(lambda x: rises(x) - wanted, low, high, xtol=tolerance, rtol=1e-11, maxiter=200))
