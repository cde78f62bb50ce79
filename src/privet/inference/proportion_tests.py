"""Tests of one proportion from a noisy count of people: exact p-values and intervals, and power.

Nothing here sees data, and nothing is drawn: the uniform number that makes the tests exact was drawn with the noise.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, get_args

from privet.core.errors import BadParameter, RequestError
from privet.core.estimate import Estimate
from privet.core.given import choice
from privet.core.numbers import Number, float_near, open_probability, probability, rational, whole
from privet.mechanisms.tulap import Tulap

from .finding import Finding
from .noisy_binomial import MOST_PEOPLE, NoisyBinomial, SeenCount, SmoothNoise, TulapNoise, crossing

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
    """Return a hypothesis about one proportion, from what a caller gave."""
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
    """Return how probably the test of one proportion rejects, for what a caller gave and was read."""
    null, real = (NoisyBinomial(people, share, noise) for share in (test.equals, true))
    found = 0.0
    tail = level / 2 if test.alternative == "two-sided" else level
    if test.alternative != "less":
        found += real.at_least(*_threshold(null.at_least, null, tail, 1))
    if test.alternative != "greater":
        found += real.at_most(*_threshold(null.at_most, null, tail, -1))
    return min(1.0, found)


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
