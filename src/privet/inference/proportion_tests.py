"""Tests of proportions from noisy counts of people: one, or the difference of two; and the sizes that they need.

Nothing here reads data, and nothing is drawn: the uniform number that makes the tests exact was drawn with the noise.
What a hypothesis leaves open (the number of people, the share that both groups have) is covered by an interval that
misses it with a probability of 1e-5. A p-value is the largest over that interval, plus 1e-5.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache, partial
from itertools import product
from typing import Any, Literal, get_args

from privet.core.errors import BadParameter, RequestError
from privet.core.estimate import Estimate
from privet.core.given import choice
from privet.core.numbers import Number, float_near, open_probability, positive, probability, rational, whole
from privet.mechanisms.laws import DiscreteLaplace, NoiseLaw
from privet.mechanisms.tulap import Tulap

from .finding import Finding
from .noisy_binomial import (
    MOST_PEOPLE,
    BinomialPart,
    IntegerNoise,
    NoisePart,
    NoisyBinomial,
    Part,
    SeenCount,
    SmoothNoise,
    SumLaw,
    TulapNoise,
    crossing,
)

Alternative = Literal["two-sided", "greater", "less"]
"""What would speak against a hypothesis: that the truth differs, that it is greater, or that it is less."""

_SIDES: tuple[str, ...] = get_args(Alternative)
_IS = {"two-sided": "is", "greater": "is at most", "less": "is at least"}
_UNLIKELY = 1e-6
"""A released count that is less probable than this at every share belongs to another number of people."""
SAMPLED = "each person is an independent draw from the population, and has it with the same probability"


@dataclass(frozen=True)
class ShareTest:
    """A hypothesis about one proportion: that it equals something, or that it lies within two bounds."""

    equals: float = 0.5
    alternative: Alternative = "two-sided"
    within: tuple[float, float] | None = None
    """The bounds of a test of equivalence, whose hypothesis is that the share lies outside of them."""

    def __post_init__(self) -> None:
        choice(self.alternative, "alternative", _SIDES)

    def p_value(self, upper: Callable[[float], float], lower: Callable[[float], float]) -> float:
        """Return the p-value, from the chances of a release as large, and as small, under any share."""
        if self.within is not None:
            return max(upper(self.within[0]), lower(self.within[1]))
        if self.alternative == "greater":
            return upper(self.equals)
        if self.alternative == "less":
            return lower(self.equals)
        return min(1.0, 2 * min(upper(self.equals), lower(self.equals)))

    def words(self, what: str = "the share") -> str:
        """Return the hypothesis that the p-value is about."""
        if self.within is not None:
            return f"{what} is not between {self.within[0]:g} and {self.within[1]:g}"
        return f"{what} {_IS[self.alternative]} {self.equals:g}"


def read_share_test(equals: Any, alternative: Any, within: Any) -> ShareTest:
    """Return a hypothesis about one proportion, from a caller's arguments."""
    choice(alternative, "alternative", _SIDES)
    if within is not None:
        if alternative != "two-sided" or equals is not None:
            raise RequestError("within is a test of equivalence by itself; leave out equals and alternative")
        allowed = "two numbers from 0 to 1, the smaller first"
        if not isinstance(within, tuple | list) or len(within) != 2:
            raise BadParameter("within", within, allowed)
        low, high = (float_near(probability(end, "within")) for end in within)
        if low >= high:
            raise BadParameter("within", within, allowed)
        return ShareTest(within=(low, high))
    if equals is None:
        raise RequestError(
            "a test of a proportion needs equals=, the share under the hypothesis, or two bounds as within="
        )
    return ShareTest(float_near(probability(equals, "equals")), alternative)


def proportion_test(
    released: Number,
    *,
    people: int,
    epsilon: Number,
    delta: Number = 0,
    equals: Number | None = None,
    alternative: Alternative = "two-sided",
    within: tuple[Number, Number] | None = None,
    confidence: Number = 0.95,
) -> Finding:
    """Return the test of a proportion from a count that was released with Tulap noise.

    Args:
        released: what `mechanisms.Tulap(epsilon=..., delta=...)` released. A whole number is a count with discrete
            Laplace noise and no uniform number beside it; p-values are then a little too large.
        people: how many people were asked, which is public.
        epsilon: the privacy loss of the release.
        delta: its delta; 0 if left out.
        equals: the share under the hypothesis.
        alternative: "two-sided", or "greater" or "less" for a hypothesis of at most, or at least, that share.
        within: two bounds instead of `equals`: a test of equivalence, small p-values show that the share is between.
        confidence: the confidence level of the interval.

    Returns:
        A `Finding`: the p-value, and the share with an interval of equal tails.

    Example:
        >>> found = privet.inference.proportion_test(62.3, people=100, epsilon=1, equals=0.5)
        >>> round(found.p_value, 9), [round(end, 8) for end in found.interval]
        (0.017749632, [0.52159145, 0.71720374])

    Guarantee: exact. Under the hypothesis the one-sided p-value is uniform, and of all private tests of this epsilon
    and delta none is more powerful; the two-sided one is twice the smaller of both, and the interval holds all shares
    that it does not reject. Post-processing: costs nothing.
    Cites: [AS18, Thm 4.5, Thm 5.1], [AS20, confidence intervals].
    """
    seen = SeenCount.of(rational(released, "released"))
    test = read_share_test(equals, alternative, within)
    n, noise = read_people(people), TulapNoise(Tulap(epsilon=epsilon, delta=delta))
    exact = "uniformly most powerful private test, by Tulap noise; exact"
    level = float_near(open_probability(confidence, "confidence"))
    return conclude_share(seen, n, noise, test, level, method=exact)


def conclude_share(
    seen: SeenCount, people: int, noise: SmoothNoise, test: ShareTest, confidence: float, *, method: str, what: str = ""
) -> Finding:
    """Return the finding about one proportion of a known number of people."""

    def upper(share: float) -> float:
        return NoisyBinomial(people, share, noise).at_least(seen.count, seen.upward)

    def lower(share: float) -> float:
        return NoisyBinomial(people, share, noise).at_most(seen.count, seen.downward)

    share = min(1.0, max(0.0, seen.value / people))
    error = NoisyBinomial(people, share, noise).deviation / people
    tail = (1 - confidence) / 2
    near = [share + sign * width * error for sign in (-1, 1) for width in (1.0, 4.0)]
    low = crossing(upper, tail, (0.0, 1.0), near)
    high = crossing(lambda at: -lower(at), -tail, (0.0, 1.0), near)
    estimate = Estimate(
        value=min(max(share, low), high),
        low=low,
        high=max(low, high),
        confidence=confidence,
        standard_error=error,
        covers="sampling and noise",
    )
    notes = too_many(upper(1.0), people)
    if not seen.drawn:
        notes += ("No uniform number was drawn with the count: p-values and intervals are slightly conservative.",)
    return Finding(
        name="Test of a proportion" if test.within is None else "Equivalence test of a proportion",
        hypothesis=test.words(what or "the share"),
        p_value=test.p_value(upper, lower),
        statistic=seen.value,
        estimates={what or "share": estimate},
        method=method,
        assumptions=(SAMPLED, f"{people:,} people were asked, which is public"),
        notes=notes,
    )


def too_many(chance: float, people: int, of: str = "") -> tuple[str, ...]:
    """Return a warning where a released count is larger than the noise explains even if everyone is counted.

    Args:
        chance: how probably a count is as large if all of these people are counted.
        people: the number of people that the caller stated.
        of: the group, where there are several.
    """
    if chance >= _UNLIKELY:
        return ()
    whose = f" of {of}" if of else ""
    return (f"The released count{whose} is larger than {people:,} people and its noise explain: check people=.",)


def proportion_power(
    *,
    people: int,
    epsilon: Number,
    equals: Number,
    when: Number,
    delta: Number = 0,
    alternative: Alternative = "two-sided",
    level: Number = 0.05,
) -> float:
    """Return the probability that the test of a proportion rejects its hypothesis when the share is another.

    Args:
        people: how many people are asked.
        epsilon: the privacy loss of the release.
        equals: the share under the hypothesis.
        when: the share that is true.
        delta: the delta of the release; 0 if left out.
        alternative: "two-sided", "greater" or "less".
        level: the probability of rejecting a true hypothesis.

    Example:
        >>> power = privet.inference.proportion_power
        >>> round(power(people=100, epsilon=1, equals=0.5, when=0.6, alternative="greater"), 5)
        0.61762

    Guarantee: exact; of one-sided tests, the greatest that any private test of this epsilon and delta has.
    Cites: [AS18, Thm 4.5].
    """
    test = read_share_test(equals, alternative, None)
    true, alpha = float_near(probability(when, "when")), float_near(open_probability(level, "level"))
    return power_of(read_people(people), TulapNoise(Tulap(epsilon=epsilon, delta=delta)), test, true, alpha)


def power_of(people: int, noise: SmoothNoise, test: ShareTest, true: float, level: float) -> float:
    """Return how probably the test of one proportion rejects, for arguments that were read."""
    null, real = (NoisyBinomial(people, share, noise) for share in (test.equals, true))
    power = 0.0
    tail = level / 2 if test.alternative == "two-sided" else level
    if test.alternative != "less":
        power += real.at_least(*_threshold(null.at_least, null, tail, 1))
    if test.alternative != "greater":
        power += real.at_most(*_threshold(null.at_most, null, tail, -1))
    return min(1.0, power)


def _threshold(chance: Callable[[int, float], float], null: NoisyBinomial, tail: float, side: int) -> tuple[int, float]:
    """Return the number at and beyond which a release is as improbable as the tail, as an integer and a part."""
    middle, spread = null.people * null.share, null.deviation

    def rises(away: float) -> float:
        return -chance(*_parts(middle + side * away))

    far = 80 * (spread + 1)
    return _parts(middle + side * crossing(rises, -tail, (-far, far), [width * spread for width in (1.0, 2.0, 4.0)]))


def _parts(number: float) -> tuple[int, float]:
    nearest = math.floor(number + 0.5)
    return nearest, number - nearest


def read_people(people: Any) -> int:
    """Return a public number of people."""
    return whole(people, "people", least=1, most=MOST_PEOPLE)


UNCOVERED = 1e-5
"""The probability with which an interval may miss what a hypothesis leaves open; it is added to p-values."""

_P_VALUE_GRID, _END_GRID = 9, 3
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
            for size, other in sizes:
                yield share, max(1, size), max(1, other)

    def chance(self, difference: float, side: int, grid: int = _P_VALUE_GRID) -> float:
        """Return the largest chance of counts as far to one side of a difference, over what it leaves open."""
        largest = 0.0
        for share, size, other in self.nuisances(difference, grid):
            mine = min(1.0, max(0.0, share + difference))
            law = SumLaw((*self.first.parts(mine, size, 1 / size), *self.second.parts(share, other, -1 / other)))
            moved = self.first.moved(mine) / size - self.second.moved(share) / other
            largest = max(largest, law.at_least(moved) if side > 0 else law.at_most(moved))
        return min(1.0, UNCOVERED + largest)

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
        upper, lower = (partial(self.chance, side=side, grid=_END_GRID) for side in (1, -1))
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
    for name, counted in zip(names, (shares.first, shares.second), strict=True):
        ends = counted.interval(max(tail - (0 if counted.people is not None else UNCOVERED), 1e-6))
        estimates[f"share of {name}"] = Estimate(
            value=min(max(counted.share, ends[0]), ends[1]),
            low=ends[0],
            high=ends[1],
            confidence=confidence,
            standard_error=counted.deviation,
            covers="sampling and noise",
        )
    notes: tuple[str, ...] = ()
    for name, counted in zip(names, (shares.first, shares.second), strict=True):
        if counted.people is not None:
            everyone = NoisyBinomial(counted.people, 1.0, IntegerNoise(counted.law))
            notes += too_many(everyone.at_least(counted.hits, -0.5), counted.people, name)
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
    """Return a hypothesis about a difference, from a caller's arguments."""
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
    difference = rational(value, parameter)
    if not -1 < difference < 1:
        raise BadParameter(parameter, value, "a difference of two shares, between -1 and 1")
    return float_near(difference)


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


_LEAST_EPSILON, _MOST_EPSILON = 1e-6, 64.0


def needed(
    *,
    equals: Number,
    when: Number,
    people: int | None = None,
    epsilon: Number | None = None,
    delta: Number = 0,
    power: Number = 0.8,
    alternative: Alternative = "two-sided",
    level: Number = 0.05,
    groups: int = 1,
) -> int | float:
    """Return how many people a test of a proportion needs at an epsilon, or how much epsilon with this many people.

    Args:
        equals: the share under the hypothesis; of two groups, the share of the second.
        when: the share that the test should distinguish from it; of two groups, the share of the first.
        people: how many people are asked, in each group, to find the epsilon. Pass either people or epsilon.
        epsilon: the privacy loss of the release, to find the number of people.
        delta: the delta of the release; 0 if left out. Two groups have none.
        power: the probability with which the test should reject.
        alternative: "two-sided", "greater" or "less".
        level: the probability of rejecting a true hypothesis.
        groups: 1, or 2 for the test of `two_proportions_test`, with equal groups whose sizes are public.

    Returns:
        The least number of people, in each group, or the least epsilon to three digits, rounded up.

    Raises:
        RequestError: if nothing is enough: without noise as many people would not do, or 10 billion would not.

    Example:
        >>> privet.inference.needed(equals=0.5, when=0.6, epsilon=1, alternative="greater")
        160
        >>> privet.inference.needed(equals=0.5, when=0.6, people=300, alternative="greater")
        0.158
        >>> privet.inference.needed(equals=0.3, when=0.4, epsilon=0.5, groups=2)
        415

    Guarantee: by the exact power, which rises with both. That of two groups is computed where the critical difference
    is that of counts which add up to their mean.
    """
    if (people is None) == (epsilon is None):
        raise RequestError("pass either epsilon, to find the number of people, or people, to find the epsilon")
    test = read_share_test(equals, alternative, None)
    true, alpha = float_near(probability(when, "when")), float_near(open_probability(level, "level"))
    wanted = float_near(open_probability(power, "power"))
    if true == test.equals:
        raise BadParameter("when", true, "another share than that of the hypothesis")
    if (true < test.equals and test.alternative == "greater") or (true > test.equals and test.alternative == "less"):
        raise BadParameter("when", true, f"a share on the side that alternative={alternative!r} looks at")
    if wanted <= alpha:
        raise BadParameter("power", wanted, "above the level")
    if whole(groups, "groups", least=1, most=2) == 2:
        return _needed_by_two(test, true, people, epsilon, delta, wanted, alpha)
    if people is None:
        noise = TulapNoise(Tulap(epsilon=positive(epsilon, "epsilon"), delta=delta))
        return _least_people(lambda n: power_of(n, noise, test, true, alpha) >= wanted)
    enough = partial(power_of, read_people(people), test=test, true=true, level=alpha)
    return _least_epsilon(lambda e: enough(TulapNoise(Tulap(epsilon=e, delta=delta))) >= wanted)


def _needed_by_two(
    test: ShareTest, true: float, people: int | None, epsilon: Any, delta: Number, wanted: float, level: float
) -> int | float:
    if delta != 0:
        raise RequestError("two groups are counted with Laplace noise, which has no delta; leave it out")

    def enough(n: int, e: Fraction) -> bool:
        return power_of_two((true, test.equals), n, DiscreteLaplace(scale=1 / e), test, level) >= wanted

    if people is None:
        loss = positive(epsilon, "epsilon")
        return _least_people(lambda n: enough(n, loss))
    n = read_people(people)
    return _least_epsilon(lambda e: enough(n, Fraction(e)))


def power_of_two(shares: tuple[float, float], people: int, law: NoiseLaw, test: ShareTest, level: float) -> float:
    """Return how probably the test of two groups of as many people rejects that their shares are equal.

    Of a two-sided test, on the side of the truth: the other one adds next to nothing.
    """
    middle, true = people * sum(shares) / 2, shares[0] - shares[1]
    side = 1 if true > 0 else -1
    tail = level / 2 if test.alternative == "two-sided" else level

    def chance(away: float) -> float:
        """Return the p-value, on that side, of counts that differ by this share and add up to their mean."""
        hits = [round(middle + sign * side * people * away / 2) for sign in (1, -1)]
        first, second = (CountedShare(hit, law, people=people) for hit in hits)
        return TwoShares(first, second).chance(0.0, side, _END_GRID)

    samples = (BinomialPart(people, share, sign / people) for share, sign in zip(shares, (1, -1), strict=True))
    law_of_both = SumLaw((*samples, NoisePart(law, 1 / people), NoisePart(law, -1 / people)))
    near = [width * law_of_both.deviation for width in (1.5, 3.0)]
    critical = crossing(lambda away: -chance(away), -tail, (0.0, 1.0), near, tolerance=0.5 / people)
    moved = critical - abs(true)
    beyond = law_of_both.at_least(moved) if side > 0 else law_of_both.at_most(-moved)
    return beyond if critical < 1 else 0.0


def _least_people(enough: Callable[[int], bool]) -> int:
    high = 1
    while not enough(high):
        high *= 2
        if high > MOST_PEOPLE:
            raise RequestError("no number of people is enough for this power: raise epsilon, or look for more")
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def _least_epsilon(enough: Callable[[float], bool]) -> float:
    low, high = _LEAST_EPSILON, 1.0
    while not enough(high):
        low, high = high, high * 2
        if high > _MOST_EPSILON:
            raise RequestError("no epsilon is enough: as many people would not do without noise; ask more of them")
    while high / low > 1.0002:
        middle = math.sqrt(low * high)
        low, high = (low, middle) if enough(middle) else (middle, high)
    digits = 2 - math.floor(math.log10(high))
    return float(math.ceil(high * 10.0**digits) / 10.0**digits)
