"""How many people, or how much epsilon, a test of proportions needs. Nothing here sees data."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import Any

from privet.core.errors import BadParameter, RequestError
from privet.core.numbers import Number, float_near, open_probability, positive, probability, whole
from privet.mechanisms.laws import DiscreteLaplace, NoiseLaw
from privet.mechanisms.tulap import Tulap

from .noisy_binomial import MOST_PEOPLE, TulapNoise, crossing
from .proportion_tests import Alternative, ShareTest, power_of, read_people, read_share_test
from .share_tests import CountedShare, TwoShares
from .sum_laws import BinomialPart, NoisePart, SumLaw

_FEW = 3
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
    """Return how many people a test of a proportion needs at an epsilon, or how much epsilon with so many people.

    Args:
        equals: the share under the hypothesis; of two groups, the share of the second.
        when: the share that the test should tell from it; of two groups, the share of the first.
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
        first, second = (CountedShare(one, law, people=people) for one in hits)
        return TwoShares(first, second).chance(0.0, side, _FEW)

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
