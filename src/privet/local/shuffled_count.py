"""A count by several messages of each person, of which only the shuffled multiset is public.

A person with the property sends +1. Everyone also sends, rarely, a burst of +1 or of -1, which add up to about
two-sided geometric noise among all; and, half of the time, pairs of +1 and -1, which cancel in the count and hide how
many of either were sent. Everyone sends the same number of messages, most of which are empty.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from privet import noise
from privet.accounting.events import ApproximateEvent
from privet.core.errors import BadParameter, BadValue, RequestError
from privet.core.event import Event
from privet.core.given import choice, plain_text, set_fields
from privet.core.numbers import Number, float_up, open_probability, positive, probability, rational, whole

from .estimates import CountEstimate
from .randomizer import Bytes, Integers, Randomizer, Words, written_odds

Floats = NDArray[np.float64]

EMPTY, PLUS, MINUS = 0, 1, 2
_ODDS = 2**60
_FEWEST_PEOPLE, _MOST_PEOPLE = 10, 10**7
_LEAST_DELTA = Fraction(1, 10**10)
_PAIRS_OF_ALL = 10_000
_MOST_PAIRS = 64
_LONGEST_BURST = 64
_MARGIN = 1e-11
"""Added to every delta for rounding in sums of floats, all of them positive."""


@dataclass(frozen=True, repr=False, eq=False, init=False)
class ShuffledCount(Randomizer):
    """Count the people with a property, trusting a shuffler to mix messages and not to link them to senders.

    Args:
        epsilon: the privacy loss of the shuffler's output, from 0.2 to 10.
        delta: the probability with which the loss may be larger, at least 1e-10.
        people: the least number of honest people who take part; the guarantee requires at least these.
        survey: a name; reports to a survey of another name are not accepted.

    Raises:
        RequestError: if no noise of these people reaches epsilon and delta.

    Example:
        >>> smokers = local.ShuffledCount(epsilon=1, delta=1e-6, people=10_000)
        >>> round(smokers.variance(10_000) ** 0.5, 1)
        1.5

    Guarantee: (epsilon, delta)-DP of the multiset of messages for any change of one person's answer, if `people` honest
    people (the person among them) send theirs: the exact law of both numbers of messages is computed for the odds
    that are drawn, in both directions. Messages of others are post-processing. An observer who sees which messages one
    person sent learns the answer.
    Cites: [GKMPS21, almost central accuracy], [BBGN20].
    """

    kind: ClassVar[str] = "shuffled count"
    asked: Fraction
    delta: Fraction
    people: int

    def __init__(self, *, epsilon: Number, delta: Number, people: int, survey: str = "") -> None:
        asked, chance = positive(epsilon, "epsilon"), rational(delta, "delta")
        if not Fraction(1, 5) <= asked <= 10:
            raise BadParameter("epsilon", epsilon, "from 0.2 to 10")
        if not _LEAST_DELTA <= chance < 1:
            raise BadParameter("delta", delta, "from 1e-10 to below 1")
        honest = whole(people, "people", least=_FEWEST_PEOPLE, most=_MOST_PEOPLE)
        set_fields(self, asked=asked, delta=chance, people=honest, survey=plain_text(survey, "survey"))
        self.bursts  # noqa: B018  (which raises where there is no noise that is enough)

    @property
    def pairs(self) -> int:
        """The number of pairs that a person may send: each is sent with probability one half."""
        return min(_MOST_PAIRS, max(1, -(-_PAIRS_OF_ALL // self.people)))

    @cached_property
    def bursts(self) -> tuple[int, ...]:
        """Of 2^60 draws, how many make a burst of 1, 2, ... messages: about ratio^s / (s people), rounded down."""
        return _calibrated(float(self.asked), float(self.delta), self.people, self.pairs)

    @property
    def messages(self) -> int:
        """The number of messages of each person, empty ones included."""
        return 1 + 2 * len(self.bursts) + 2 * self.pairs

    @property
    def width(self) -> int:
        return 1

    @property
    def event(self) -> Event:
        """The event of the shuffler's output: not of one person's messages alone."""
        return ApproximateEvent(self.asked, self.delta)

    @cached_property
    def epsilon(self) -> float:
        """The epsilon of what leaves the shuffler, at `delta`."""
        return float_up(self.asked)

    def profile(self, epsilon: Number) -> float:
        """Return the delta of the shuffler's output at another epsilon, by the exact law."""
        at = positive(epsilon, "epsilon")
        if at > 100:
            raise BadParameter("epsilon", epsilon, "above 0 and at most 100")
        return shuffled_delta(float(at), self.people, self.bursts, self.pairs)

    @property
    def _told(self) -> list[Any]:
        return [*written_odds((self.asked, self.delta)), self.people, list(self.bursts), self.pairs, self.survey]

    def _read(self, answers: Any, parameter: str = "answer") -> Integers:
        try:
            array = np.asarray(answers)
        except Exception:  # ragged lists, and whatever a foreign type raises
            array = np.array(None)
        if array.size and (array.dtype.kind not in "biu" or not ((array == 0) | (array == 1)).all()):
            raise BadValue(parameter, "something else", "True or False (1 or 0), or a list of these")
        return array.astype(np.int64)

    def _burst(self, size: int) -> Integers:
        """Return how many messages each person's burst has, most of the time none."""
        ends = np.cumsum(self.bursts)
        drawn = noise.uniform_below(_ODDS, size)
        place = np.searchsorted(ends, drawn, side="right")
        return np.where(place < len(self.bursts), place + 1, 0)

    def _randomise(self, answers: Any, ids: Words) -> Bytes:
        size = len(answers)
        both = noise.bernoulli(Fraction(1, 2), (size, self.pairs)).sum(axis=1)
        plus = (answers + self._burst(size) + both)[:, None]
        minus = (self._burst(size) + both)[:, None]
        places = np.arange(self.messages)[None, :]
        rows = np.where(places < plus, PLUS, np.where(places < plus + minus, MINUS, EMPTY))
        return rows.astype(np.uint8).reshape(-1, 1)

    def _allowed(self, data: Bytes, ids: Words) -> NDArray[np.bool_]:
        return data[:, 0] <= MINUS

    @property
    def _tally_shape(self) -> tuple[int, ...]:
        return (3,)

    def _count_into(self, tally: Integers, data: Bytes, ids: Words) -> None:
        tally += np.bincount(data[:, 0], minlength=3)

    def variance(self, n: int) -> float:
        """Return the variance of the count among n people.

        Guarantee: exact: twice n times that of one person's burst.
        """
        odds = [Fraction(burst, _ODDS) for burst in self.bursts]
        mean = sum((s * odd for s, odd in enumerate(odds, 1)), Fraction(0))
        square = sum((s * s * odd for s, odd in enumerate(odds, 1)), Fraction(0))
        return float_up(2 * whole(n, "n", least=1) * (square - mean**2))

    def robustness(self, fraction: Number) -> float:
        """Return how far this fraction of liars can move the share of people with the property.

        Guarantee: a liar has no more messages than anyone, and may send +1 in all; a shuffler that takes more than
        `messages` of one sender lets a liar do more.
        """
        return float_up(probability(fraction, "fraction") * self.messages)

    def _estimate(
        self, tally: Integers, n: int, confidence: Number, covers: str, rejected: Mapping[str, int]
    ) -> CountEstimate:
        level = float(open_probability(confidence, "confidence"))
        if choice(covers, "covers", ("reports", "population")) != "reports":
            raise BadParameter("covers", covers, "'reports': the count is of those who reported")
        people = -(-n // self.messages)
        value = int(tally[PLUS]) - int(tally[MINUS])
        half = self._half(people, level)
        low, high = (min(max(value + side * half, 0), people) for side in (-1, 1))
        error = math.sqrt(self.variance(people))
        return CountEstimate(value, low, high, error, people, level, rejected)

    def _half(self, people: int, level: float) -> int:
        """Return the least k such that the noise of all lies within k with the probability of the level."""
        law = burst_law(people, self.bursts)
        noise_law = np.convolve(law, law[::-1])
        middle = len(law) - 1
        inside = float(noise_law[middle])
        reach = 0
        while inside < level and reach < middle:
            reach += 1
            inside += float(noise_law[middle - reach] + noise_law[middle + reach])
        return reach

    def __repr__(self) -> str:
        terms = f"epsilon={float(self.asked):g}, delta={float(self.delta):g}, {self.people:,} people or more"
        return f"ShuffledCount({terms}, {self.messages} messages)"


def burst_law(people: int, bursts: tuple[int, ...]) -> Floats:
    """Return the law of the number of messages in all bursts of this many people, up to where nothing is left.

    Guarantee: sums of positive floats, so that each probability has a relative error below 1e-12; what is cut is below
    1e-16 for each of the about 50 products.
    """
    law = np.array([_ODDS - sum(bursts), *bursts], dtype=np.float64) / _ODDS
    total, power, rest = np.ones(1), law, people
    while rest:
        if rest & 1:
            total = _cut(np.convolve(total, power))
        rest >>= 1
        if rest:
            power = _cut(np.convolve(power, power))
    return total


def _cut(law: Floats) -> Floats:
    beyond = np.cumsum(law[::-1])[::-1]
    return law[: max(1, int(np.count_nonzero(beyond > 1e-17)))]


def shuffled_delta(epsilon: float, people: int, bursts: tuple[int, ...], pairs: int) -> float:
    """Return the delta at epsilon of both numbers of messages, between two data sets that differ in one answer.

    With D and D' the messages in bursts of either sign and F the pairs, the numbers are A = x + D + F and B = D' + F.
    For each difference u = A - B, the law over B is that of F convolved with P[D = d + u] P[D' = d]; another answer
    moves u by one, at the same B.

    Guarantee: both directions, with 1e-11 for rounding; what was cut is counted as lost.
    """
    from scipy.stats import binom

    law = burst_law(people, bursts)
    size, draws = len(law), people * pairs
    spread = 12 * math.sqrt(draws) / 2 + 2
    first, last = max(0, math.floor(draws / 2 - spread)), min(draws, math.ceil(draws / 2 + spread))
    flood = binom.pmf(np.arange(first, last + 1), draws, 0.5)
    grown, gains = math.exp(epsilon), np.zeros(2)
    previous = np.zeros(len(flood) + size - 1)
    for moved in range(-size, size + 1):
        joint = np.zeros(size)
        low, high = max(0, -moved), min(size, size - moved)
        if low < high:
            joint[low:high] = law[low + moved : high + moved] * law[low:high]
        here = np.convolve(flood, joint)
        gains += (np.maximum(previous - grown * here, 0).sum(), np.maximum(here - grown * previous, 0).sum())
        previous = here
    return min(1.0, float(gains.max()) * (1 + 1e-9) + _MARGIN)


@cache
def _calibrated(epsilon: float, delta: float, people: int, pairs: int) -> tuple[int, ...]:
    """Return the odds of bursts with the least variance whose delta is small enough, by halving the noise's rate."""

    def bursts(rate: float) -> tuple[int, ...]:
        longest = min(_LONGEST_BURST, math.ceil(12 / rate))
        return tuple(int(math.exp(-rate * s) / (s * people) * _ODDS) for s in range(1, longest + 1))

    low, high = epsilon / 16, epsilon
    if shuffled_delta(epsilon, people, bursts(low), pairs) > delta:
        raise RequestError(
            f"{people:,} people cannot reach epsilon {epsilon:g} with delta {delta:g}; increase either, or the people"
        )
    for _ in range(10):
        middle = (low + high) / 2
        enough = shuffled_delta(epsilon, people, bursts(middle), pairs) <= delta
        low, high = (middle, high) if enough else (low, middle)
    return bursts(low)
