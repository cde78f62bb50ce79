"""Numbers of answers that are weighted sums of released ones, against each other: what they share is counted once.

Answers of one list may be read from the same measurements, so that their noise goes together. Sees released numbers
and public facts only.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass

from privet.answer import RECONSTRUCTED, ComparedNumber
from privet.core.errors import RequestError, Unsupported
from privet.core.estimate import Covers, Estimate
from privet.inference.bars import Law
from privet.inference.contrast import Alternative
from privet.inference.finding import Finding
from privet.release import Released

from .origins import Intervals, Leaf, Origin, WeightedSum

Noises = dict[Hashable, tuple[Law, float]]
"""Independent noises by what distinguishes them: the law of each, and how many times it counts."""

_LEAST_TAIL, _MOST_TAIL = 1e-12, 0.999
_STEPS = 60


@dataclass(frozen=True, eq=False)
class SummedNumbers:
    """The numbers of an answer whose rows were summed or reconstructed: of which noises each is a weighted sum."""

    leaves: Sequence[Leaf]
    origins: Mapping[str, Sequence[Origin | None]]
    confidence: float
    released: Released
    """The released numbers, which tell releases of different ledgers apart."""

    def estimates(self, column: str) -> tuple[Estimate, ...]:
        """Refuse: the sampling error of such numbers is not known."""
        raise Unsupported(RECONSTRUCTED)

    def compare(
        self,
        one: ComparedNumber,
        other: ComparedNumber,
        *,
        covers: Covers,
        alternative: Alternative,
        margin: float | None,
    ) -> Finding:
        """Return the difference of two numbers, with an interval and the p-value that they are equal.

        Guarantee: noises of one release and one charge that have one name are one noise, and others are independent; so
        the difference has the law of their sum, each as many times as it counts in one number less in the other.
        """
        if covers == "population":
            raise Unsupported(RECONSTRUCTED)
        noises: Noises = {}
        value = 0.0
        for number, sign in ((one, 1.0), (other, -1.0)):
            value += sign * _noises_of(number, sign, noises)
        left = [(law, factor) for law, factor in noises.values() if abs(factor) > 1e-9]
        if not left:
            raise RequestError("both are the same released number, whose difference from itself is 0; name another")
        tail = 1 - self.confidence
        law = _LawOfSum(left)
        half, deviation = law.half_width(tail)
        difference = Estimate(
            value=value,
            low=value - half,
            high=value + half,
            confidence=self.confidence,
            standard_error=deviation,
            covers="the noise",
        )
        hypothesis = f"{one.label} = {other.label}"
        if margin is not None:
            hypothesis = f"{one.label} and {other.label} differ by {margin:g} or more"
            p_value = max(law.above(margin - value), law.above(margin + value))
        elif alternative == "two-sided":
            p_value = min(1.0, 2 * law.above(abs(value)))
        else:
            hypothesis = f"{one.label} {'<=' if alternative == 'greater' else '>='} {other.label}"
            p_value = law.above(value if alternative == "greater" else -value)
        return Finding(
            name=f"Comparison of {one.label} and {other.label}",
            hypothesis=hypothesis,
            p_value=p_value,
            estimates={"difference": difference},
            method="the joint law of the noise of both numbers",
            assumptions=("the numbers are those of the rows that were asked about; sampling is not covered",),
            notes=("It costs nothing: both numbers had been released.",),
        )


def _noises_of(number: ComparedNumber, sign: float, found: Noises) -> float:
    """Add the noises of a number, with a sign, to those found, and return its value."""
    reader = number.sampled
    if not isinstance(reader, SummedNumbers):
        raise Unsupported(
            "one of the two is an aggregate as it was released and the other was summed afterwards; ask for both in "
            "one list, ask_all([...]), where they share a release, or for both as groups of one question"
        )
    origin = reader.origins[number.column][number.row]
    intervals = Intervals(reader.leaves, 1 - reader.confidence)
    terms = origin.terms if isinstance(origin, WeightedSum) else ((origin, 1.0),)
    value = origin.offset if isinstance(origin, WeightedSum) else 0.0
    own: Noises = {}
    for term, factor in terms:
        part = None if term is None else intervals.add_noises(term, factor, own)
        if part is None:
            raise Unsupported(
                f"{number.label} is no weighted sum of released sums, so that the law of a difference is not known; "
                f"compare counts or sums"
            )
        value += part
    which = hash(repr(reader.released.sums))
    for name, (law, factor) in own.items():
        key = (number.charge, which, name)
        _, before = found.get(key, (law, 0.0))
        found[key] = (law, before + sign * factor)
    return value


class _LawOfSum:
    """The law of a weighted sum of independent symmetric noises."""

    def __init__(self, noises: Sequence[tuple[Law, float]]) -> None:
        self._noises = noises
        self._intervals = Intervals((), 0.5)

    def half_width(self, tail: float) -> tuple[float, float]:
        """Return how far the noise reaches but for a tail, on both sides together, and its standard deviation."""
        return self._intervals.half_width_of(self._noises, tail)

    def above(self, value: float) -> float:
        """Return the probability of noise of at least a value: by bisection, never too small.

        It is half the tail whose half-width is the distance from 0; below 1e-12 it is given as that.
        """
        if value <= 0:
            return 1.0 - self.above(-value) if value < 0 else 0.5 if not math.isnan(value) else 1.0
        if self.half_width(_MOST_TAIL)[0] >= value:
            return 0.5
        low, high = math.log(_LEAST_TAIL), math.log(_MOST_TAIL)
        for _ in range(_STEPS):
            middle = (low + high) / 2
            if self.half_width(math.exp(middle))[0] > value:
                low = middle
            else:
                high = middle
        return min(0.5, math.exp(high) / 2)
