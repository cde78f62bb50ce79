"""Proportions of people whose number is not known, and differences of two: nuisances are covered, never plugged in.

What the hypothesis leaves open (the number of people, the share that both groups have) is covered by an interval that
misses it with a probability of 1e-5. A p-value is the largest over that interval, plus 1e-5.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial
from itertools import product
from typing import Any

from privet.core.errors import BadParameter, RequestError
from privet.core.estimate import Estimate
from privet.core.given import choice
from privet.core.numbers import Number, float_near, open_probability, positive, rational, whole
from privet.mechanisms.laws import DiscreteLaplace, NoiseLaw

from .finding import Finding
from .noisy_binomial import IntegerNoise, NoisyBinomial, crossing
from .proportion_tests import SAMPLED, Alternative, ShareTest, read_people, too_many
from .sum_laws import BinomialPart, NoisePart, Part, SumLaw

UNCOVERED = 1e-5
"""The probability with which an interval may miss what a hypothesis leaves open; it is added to p-values."""

_GRID, _FEW = 9, 3
"""How many shares between the ends of an interval are tried: for a p-value, and for each end of an interval."""

_MOST_COUNT = 2**62


@dataclass(frozen=True)
class CountedShare:
    """People with something, and people without it or the number of all of them: released counts with known noise."""

    hits: int
    law: NoiseLaw
    misses: int | None = None
    people: int | None = None

    @property
    def size(self) -> float:
        """How many people there seem to be, 1 at least."""
        return float(self.people if self.people is not None else max(1, self.hits + (self.misses or 0)))

    @property
    def share(self) -> float:
        """The share as it was released, between 0 and 1."""
        return min(1.0, max(0.0, self.hits / self.size))

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """Numbers of people that the noise allows, its ends first.

        Guarantee: both counts have noise within the bound but for UNCOVERED / 4, by its quantile on each of two sides
        of each of two counts.
        """
        if self.people is not None:
            return (self.people,)
        spread = _reach_of_two(self.law, UNCOVERED / 8)
        middle = self.hits + (self.misses or 0)
        return tuple(dict.fromkeys(max(0, middle + away) for away in (-spread, spread, 0)))

    def moved(self, share: float) -> float:
        """Return how many more people have it than a share of them, by the released counts."""
        if self.people is not None:
            return self.hits - share * self.people
        return (1 - share) * self.hits - share * (self.misses or 0)

    def parts(self, share: float, people: int, weight: float) -> tuple[Part, ...]:
        """Return what makes up `moved` under a share and a number of people, times a weight."""
        sampled = BinomialPart(people, share, weight)
        if self.people is not None:
            return sampled, NoisePart(self.law, weight)
        return sampled, NoisePart(self.law, weight * (1 - share)), NoisePart(self.law, weight * share)

    def upper(self, share: float) -> float:
        """Return the largest chance of released counts as far above a share, over the numbers of people."""
        return max(SumLaw(self.parts(share, people, 1.0)).at_least(self.moved(share)) for people in self.sizes)

    def lower(self, share: float) -> float:
        """Return the largest chance of released counts as far below a share."""
        return max(SumLaw(self.parts(share, people, 1.0)).at_most(self.moved(share)) for people in self.sizes)

    def interval(self, tail: float) -> tuple[float, float]:
        """Return all shares with both chances above a tail."""
        return _crossings(self.upper, self.lower, tail, (0.0, 1.0), (self.share, self.deviation), 1e-6)

    @property
    def deviation(self) -> float:
        """The standard deviation of the released share, about."""
        return SumLaw(self.parts(self.share, round(self.size), 1 / self.size)).deviation


@lru_cache(maxsize=256)
def _reach_of_two(law: NoiseLaw, tail: float) -> int:
    """Return a whole number that the sum of two independent draws reaches with a probability of at most the tail.

    Of discrete Laplace noise, with a = exp(-1/scale), P[K1 + K2 = m] is ((1 - a)/(1 + a))^2 a^m times
    m + (1 + a^2)/(1 - a^2) for m >= 0; of other noise, each stays below its own quantile at half the tail.
    """
    if not isinstance(law, DiscreteLaplace) or law.finer > 1:
        return 2 * math.ceil(float(law.quantile(1 - tail / 2))) + 1
    rate = float(1 / law.scale)
    a, drop = math.exp(-rate), -math.expm1(-rate)

    def beyond(h: int) -> float:
        inside = (h + (1 + a * a) / (drop * (1 + a))) / drop + a / drop / drop
        return (drop / (1 + a)) ** 2 * math.exp(-rate * h) * inside

    low, high = 0, 1
    while beyond(high) > tail:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if beyond(middle) > tail else (low, middle)
    return high


def _crossings(
    upper: Callable[[float], float],
    lower: Callable[[float], float],
    tail: float,
    ends: tuple[float, float],
    guess: tuple[float, float],
    tolerance: float,
) -> tuple[float, float]:
    """Return where two chances, one that rises and one that falls, cross a tail; an end where one never does.

    `guess` is a value and its deviation. As normal quantiles, chances are next to straight, and crossings soon found.
    """
    from scipy.special import ndtri

    def score(chance: float) -> float:
        return float(ndtri(min(chance, 1 - 1e-9)))

    value, deviation = guess
    wanted = score(tail)
    near = [value + sign * width * abs(wanted) * deviation for sign in (-1, 1) for width in (0.85, 1.5)]
    low = crossing(lambda at: score(upper(at)), wanted, ends, near, tolerance=tolerance)
    high = crossing(lambda at: -score(lower(at)), -wanted, ends, near, tolerance=tolerance)
    return low, max(low, high)


def conclude_unknown(counted: CountedShare, test: ShareTest, confidence: float, *, what: str = "share") -> Finding:
    """Return the finding about one proportion where the number of people is noisy too."""
    tail = (1 - confidence) / 2 - UNCOVERED
    if tail <= 1e-6:
        raise BadParameter("confidence", confidence, "at most 0.9999 where the number of people is noisy")
    low, high = counted.interval(tail)
    p_value = min(1.0, UNCOVERED + test.p_value(counted.upper, counted.lower))
    estimate = Estimate(
        value=min(max(counted.share, low), high),
        low=low,
        high=high,
        confidence=confidence,
        standard_error=counted.deviation,
        covers="sampling and noise",
    )
    return Finding(
        name="Test of a proportion" if test.within is None else "Equivalence test of a proportion",
        hypothesis=test.words(what),
        p_value=p_value,
        statistic=counted.moved(test.equals if test.within is None else counted.share),
        estimates={what: estimate},
        method="difference of the noisy counts of both groups, at the worst number of people that the noise allows",
        assumptions=(SAMPLED,),
        notes=(f"About {counted.size:,.0f} people were counted; their number is noisy, and covered.",),
    )


@dataclass(frozen=True)
class TwoShares:
    """The difference of two proportions of different people."""

    first: CountedShare
    second: CountedShare

    @cached_property
    def _open(self) -> tuple[tuple[float, float], tuple[float, float]]:
        """The shares that the counts allow: each misses its own with a quarter of `UNCOVERED`."""
        return self.first.interval(UNCOVERED / 8), self.second.interval(UNCOVERED / 8)

    def nuisances(self, difference: float, grid: int) -> Iterator[tuple[float, int, int]]:
        """Yield shares of the second group that a difference allows, and numbers of people of both."""
        (low, high), (other_low, other_high) = self._open
        least = max(other_low, low - difference, 0.0, -difference)
        most = min(other_high, high - difference, 1.0, 1.0 - difference)
        if least > most:
            return
        sizes = list(product(self.first.sizes[:2], self.second.sizes[:2]))
        shares = [least + (most - least) * place / (grid - 1) for place in range(grid)] if most > least else [least]
        for share in shares:
            for one, other in sizes:
                yield share, max(1, one), max(1, other)

    def chance(self, difference: float, side: int, grid: int = _GRID) -> float:
        """Return the largest chance of counts as far to one side of a difference, over what it leaves open."""
        found = 0.0
        for share, one, other in self.nuisances(difference, grid):
            mine = min(1.0, max(0.0, share + difference))
            law = SumLaw((*self.first.parts(mine, one, 1 / one), *self.second.parts(share, other, -1 / other)))
            moved = self.first.moved(mine) / one - self.second.moved(share) / other
            found = max(found, law.at_least(moved) if side > 0 else law.at_most(moved))
        return min(1.0, UNCOVERED + found)

    @property
    def difference(self) -> float:
        """The difference of the released shares."""
        return self.first.share - self.second.share

    @property
    def deviation(self) -> float:
        """The standard deviation of the difference, about."""
        return math.hypot(self.first.deviation, self.second.deviation)

    def interval(self, tail: float) -> tuple[float, float]:
        """Return all differences with both chances above a tail."""
        guess = (self.difference, self.deviation)
        upper, lower = (partial(self.chance, side=side, grid=_FEW) for side in (1, -1))
        return _crossings(upper, lower, tail, (-1.0, 1.0), guess, self.deviation / 500)


def conclude_difference(
    shares: TwoShares, test: ShareTest, confidence: float, *, names: tuple[str, str] = ("first", "second")
) -> Finding:
    """Return the finding about the difference of two proportions."""
    tail = (1 - confidence) / 2
    if tail <= 2 * UNCOVERED:
        raise BadParameter("confidence", confidence, "at most 0.9999 for a difference of two proportions")
    p_value = test.p_value(lambda at: shares.chance(at, 1), lambda at: shares.chance(at, -1))
    low, high = shares.interval(tail)
    estimates = {
        "difference": Estimate(
            value=min(max(shares.difference, low), high),
            low=low,
            high=high,
            confidence=confidence,
            standard_error=shares.deviation,
            covers="sampling and noise",
        )
    }
    for name, one in zip(names, (shares.first, shares.second), strict=True):
        ends = one.interval(max(tail - (0 if one.people is not None else UNCOVERED), 1e-6))
        estimates[f"share of {name}"] = Estimate(
            value=min(max(one.share, ends[0]), ends[1]),
            low=ends[0],
            high=ends[1],
            confidence=confidence,
            standard_error=one.deviation,
            covers="sampling and noise",
        )
    notes: tuple[str, ...] = ()
    for name, one in zip(names, (shares.first, shares.second), strict=True):
        if one.people is not None:
            everyone = NoisyBinomial(one.people, 1.0, IntegerNoise(one.law))
            notes += too_many(everyone.at_least(one.hits, -0.5), one.people, name)
    return Finding(
        name="Test of two proportions" if test.within is None else "Equivalence test of two proportions",
        hypothesis=test.words(f"the share of {names[0]} less that of {names[1]}"),
        p_value=p_value,
        statistic=shares.difference,
        estimates=estimates,
        method="test of the difference at the worst of all shares and numbers of people that the noisy counts allow",
        assumptions=(SAMPLED, f"the people of {names[0]} and of {names[1]} are different people"),
        notes=notes,
    )


def read_difference_test(equals: Any, alternative: Any, within: Any) -> ShareTest:
    """Return a hypothesis about a difference, from what a caller gave."""
    if within is None:
        choice(alternative, "alternative", ("two-sided", "greater", "less"))
        return ShareTest(_difference(equals, "equals"), alternative)
    allowed = "two numbers from -1 to 1, the smaller first"
    if not isinstance(within, tuple | list) or len(within) != 2:
        raise BadParameter("within", within, allowed)
    if alternative != "two-sided" or equals != 0:
        raise RequestError("within is a test of equivalence by itself; leave out equals and alternative")
    low, high = (_difference(end, "within") for end in within)
    if low >= high:
        raise BadParameter("within", within, allowed)
    return ShareTest(within=(low, high))


def _difference(value: Any, parameter: str) -> float:
    found = rational(value, parameter)
    if not -1 < found < 1:
        raise BadParameter(parameter, value, "a difference of two shares, between -1 and 1")
    return float_near(found)


def two_proportions_test(
    released: tuple[int, int],
    *,
    people: tuple[int, int],
    epsilon: Number,
    equals: Number = 0,
    alternative: Alternative = "two-sided",
    within: tuple[Number, Number] | None = None,
    confidence: Number = 0.95,
) -> Finding:
    """Return the test of whether two groups of people have the same proportion, from two noisy counts.

    Args:
        released: how many of each group have it, each with Laplace noise for `epsilon`: whole numbers.
        people: how many people each group has, which is public.
        epsilon: the privacy loss of each of the two releases; people are in one group only.
        equals: the difference of the shares, first less second, under the hypothesis.
        alternative: "two-sided", or "greater" or "less" for a hypothesis of at most, or at least, that difference.
        within: two bounds instead: a test of equivalence, small p-values show that the difference is between.
        confidence: the confidence level of the intervals.

    Returns:
        A `Finding`: the p-value, the difference and both shares with intervals.

    Example:
        >>> found = privet.inference.two_proportions_test((230, 180), people=(1000, 1000), epsilon=1)
        >>> 0.005 < found.p_value < 0.01, 0.01 < found.interval[0] < 0.02
        (True, True)

    Guarantee: rejects a true hypothesis with a probability of at most the level. The share that both have is covered
    by an interval, and the p-value is the largest within it plus what the interval may miss, 1e-5.
    Cites: [BB94].
    """
    allowed = "two whole numbers"
    if not isinstance(released, tuple | list) or len(released) != 2:
        raise BadParameter("released", released, allowed)
    if not isinstance(people, tuple | list) or len(people) != 2:
        raise BadParameter("people", people, allowed)
    law = DiscreteLaplace(scale=1 / positive(epsilon, "epsilon"))
    counts = [whole(count, "released", least=-_MOST_COUNT, most=_MOST_COUNT) for count in released]
    sides = [CountedShare(count, law, people=read_people(n)) for count, n in zip(counts, people, strict=True)]
    test = read_difference_test(equals, alternative, within)
    level = float_near(open_probability(confidence, "confidence"))
    return conclude_difference(TwoShares(*sides), test, level)
