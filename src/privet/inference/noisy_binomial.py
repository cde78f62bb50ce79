"""The exact laws of binomial counts plus known integer noise, alone and in weighted sums: tails and thresholds.

The noise is an integer of a known law plus a uniform number from -1/2 to 1/2, so that the sum has no atoms: p-values
are exactly uniform under a hypothesis, and tests reach their level exactly. The law of one count is computed to all the
digits of a double. The characteristic function of a weighted sum is a product of closed forms: its tail is that of the
sum plus a little normal noise, read a little further out, so that it is never below the tail that is meant.
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
    import numpy as np
    from numpy.typing import NDArray

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
        place = float_near(part)
        return cls(near_count(count), place, place)

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
    """Return a released count, moved to one that a double represents: all beyond imply the same about a share."""
    return min(max(int(released), -_FAR), _FAR)


def _reaches(people: int, share: float, least: Floats) -> Floats:
    """Return P[X >= least]."""
    import numpy as np
    from scipy.special import betainc

    inside = np.clip(least, 1, people)
    total = betainc(inside, people - inside + 1, share)
    return np.asarray(np.where(least <= 0, 1.0, np.where(least > people, 0.0, total)))


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


_BLUR = 1 / 300
"""The standard deviation of the normal noise that is added, in those of the sum."""

_COARSE = 1 / 120
"""The same where few people are sampled, and the law has large atoms anyway."""

_FURTHER, _MISSED = 4.0, 1 + 4e-5
"""How many deviations of that noise further out the tail is read: it reaches beyond once in 30,000 times."""

_LOST = 5.0
"""Beyond this multiple of its inverse deviation waves of the added noise sum to less than 1e-7."""

_VANISHED = 36.0
"""Waves below exp(-36), about 1e-16, are left out."""

_REACH, _SCALES = 6.5, 17.0
"""The sum stays within this many deviations, and scales of its Laplace noise, but for 1e-7."""


@dataclass(frozen=True)
class BinomialPart:
    """A binomial count less its mean, times a weight."""

    people: int
    share: float
    weight: float

    @property
    def variance(self) -> float:
        """The variance."""
        return self.weight**2 * self.people * self.share * (1 - self.share)

    @property
    def scale(self) -> float:
        """The rate of its tails, where they are no lighter than exponential."""
        return 0.0

    @property
    def coarse(self) -> bool:
        """Whether few people are sampled."""
        return self.people * self.share * (1 - self.share) < 50

    def matters(self, frequencies: Floats) -> NDArray[np.bool_]:
        """Return where the wave is not next to nothing: its size is at most exp(-2 n p (1 - p) sin^2(s w / 2))."""
        import numpy as np

        spread = 2 * self.people * self.share * (1 - self.share)
        return np.asarray(spread * np.sin(frequencies * self.weight / 2) ** 2 < _VANISHED)

    def waves(self, frequencies: Floats) -> tuple[Floats, Floats]:
        """Return the characteristic function, ((1 - p + p e^(i a)) e^(-i p a))^n: its modulus, and its angle."""
        import numpy as np

        angle, p = frequencies * self.weight, self.share
        lost = np.sin(angle / 2) ** 2
        with np.errstate(divide="ignore"):  # a modulus of 0 is what a half and a half turned by pi are
            size = np.exp(self.people / 2 * np.log1p(np.maximum(-4 * p * (1 - p) * lost, -1.0)))
        turned = np.arctan2(p * np.sin(angle), 1 - 2 * p * lost) - p * angle
        return size, self.people * turned


@dataclass(frozen=True)
class NoisePart:
    """Integer noise of a known law, times a weight."""

    law: NoiseLaw
    weight: float

    @property
    def variance(self) -> float:
        """The variance."""
        return self.weight**2 * self.law.variance

    @property
    def scale(self) -> float:
        """The scale of Laplace noise; 0 for normal tails."""
        return abs(self.weight) * float(self.law.parameter[1]) / self.law.finer if self._laplace else 0.0

    @property
    def _laplace(self) -> bool:
        return isinstance(self.law, DiscreteLaplace)

    @property
    def coarse(self) -> bool:
        """Whether it may stand beside few people: always."""
        return True

    def matters(self, frequencies: Floats) -> NDArray[np.bool_]:
        """Return where the wave is not next to nothing: anywhere."""
        import numpy as np

        return np.ones(frequencies.shape, dtype=np.bool_)

    def waves(self, frequencies: Floats) -> tuple[Floats, None]:
        """Return the characteristic function, which is real: no angle.

        That of rounded noise is that of the draw times that of the rounding.
        """
        import numpy as np

        angle = frequencies * self.weight
        parameter = float(self.law.parameter[1])
        if self.law.finer > 1:
            parameter /= self.law.finer if self._laplace else self.law.finer**2
            rounding = np.sinc(angle / (2 * math.pi))
            plain = 1 / (1 + (parameter * angle) ** 2) if self._laplace else np.exp(-parameter * angle**2 / 2)
            return np.asarray(plain * rounding), None
        if self._laplace:
            a, drop = math.exp(-1 / parameter), -math.expm1(-1 / parameter)
            return 1 / (1 + 4 * a / drop**2 * np.sin(angle / 2) ** 2), None
        near = angle - 2 * math.pi * np.round(angle / (2 * math.pi))
        turns = [2 * math.pi * turn for turn in (-1, 0, 1)]
        every = sum(math.exp(-parameter * turn**2 / 2) for turn in turns)
        return np.asarray(sum(np.exp(-parameter * (near - turn) ** 2 / 2) for turn in turns) / every), None


Part = BinomialPart | NoisePart


@dataclass(frozen=True)
class SumLaw:
    """The law of a sum of independent parts, each of mean 0.

    Guarantee: with D the sum and G standard normal, D >= x implies D + b G >= x - 4 b but for 1 in 30,000, which is
    added; the law of D + b G is the Fourier series of its characteristic function, on a circle that D leaves with a
    probability of 1e-7, which is added too. Waves below 1e-16 are left out, and those that the blur makes small: they
    sum to 2/pi times the integral of exp(-t^2/2)/t from 5 on, less than 1e-7, which is added as well.
    """

    parts: tuple[Part, ...]

    @cached_property
    def deviation(self) -> float:
        """The standard deviation of the sum."""
        return math.sqrt(max(sum(part.variance for part in self.parts), 1e-300))

    def at_least(self, x: float) -> float:
        """Return no less than P[D >= x]."""
        return self._above(x - _FURTHER * self._blur, 1)

    def at_most(self, x: float) -> float:
        """Return no less than P[D <= x]."""
        return self._above(-x - _FURTHER * self._blur, -1)

    @property
    def _blur(self) -> float:
        coarse = all(part.coarse for part in self.parts)
        return (_COARSE if coarse else _BLUR) * self.deviation

    @cached_property
    def _half(self) -> float:
        return _REACH * self.deviation + _SCALES * max(part.scale for part in self.parts) + self._blur * 8

    @cached_property
    def _series(self) -> tuple[Floats, Floats, Floats, Floats]:
        """The frequencies, whether each is an odd multiple of the first (-1) or an even one, and the waves there.

        Of the waves the moduli are divided by the frequencies, and angles follow.
        """
        import numpy as np

        step = math.pi / self._half
        number: Floats = np.arange(1, math.ceil(_LOST / self._blur / step) + 1, dtype=np.float64)
        for part in self.parts:
            number = number[part.matters(number * step)]
        s = number * step
        sizes, angles = np.exp(-((s * self._blur) ** 2) / 2) / s, np.zeros(s.shape)
        for part in self.parts:
            size, angle = part.waves(s)
            sizes *= size
            if angle is not None:
                angles += angle
        return s, 1 - 2 * (number % 2), sizes, angles

    def _above(self, x: float, side: int) -> float:
        """Return P[side D + b G >= x] by the integral of the series from x to the end of the circle.

        The wave of size r and angle t at the frequency s integrates to r / s (sin(t - s x) - sin(t - s h)), and s h is
        a multiple of pi there.
        """
        import numpy as np

        half = self._half
        if x >= half:
            return 2e-7
        if x <= -half:
            return 1.0
        s, even, sizes, angles = self._series
        facing = side * angles
        inside = (half - x) / (2 * half) + float(np.dot(sizes, np.sin(facing - s * x) - even * np.sin(facing))) / half
        return min(1.0, max(0.0, inside) * _MISSED + 2e-7)
