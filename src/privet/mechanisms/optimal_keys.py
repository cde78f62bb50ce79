"""The optimal rule for showing keys: no rule with the same guarantee shows any key with a higher probability.

The probabilities are exact rationals, and draws have exactly these. No float decides anything.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING

from privet import noise
from privet.accounting.events import ApproximateEvent
from privet.core.errors import BadParameter
from privet.core.event import Event, Repeated
from privet.core.given import set_fields
from privet.core.numbers import Number, exp_down, exp_up, float_down, float_up, open_probability, positive
from privet.core.sensitivity import Neighbors
from privet.core.wire import wired

from .key_selection import KeySelection, read_count, read_people
from .mechanism import shown

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

LONGEST = 2**20
"""So many people make every key certain, or the rule is refused: its probabilities are listed one by one."""

_RATIO_BITS = 128
_WORD_BITS = 63
_LARGEST_EPSILON = Fraction(700)
_SMALLEST_EPSILON = Fraction(1, 2**100)
_SMALLEST_DELTA = Fraction(1, 2**1000)


@wired("OptimalKeys", "key_epsilon", "key_delta", "keys", "group", "neighbors")
@dataclass(frozen=True, init=False, repr=False)
class OptimalKeys(KeySelection):
    """Show a key with the largest probability p(n) that (epsilon, delta)-DP allows where n people hold it.

    p(0) = 0 and p(n+1) = min(e p(n) + d, 1 - (1 - p(n) - d) / e, 1), where a key by itself costs (ln e, d). With
    `keys` keys a person that is ln e = epsilon / (c m keys) and d = delta (e - 1) / (c keys (e^m - 1)) for groups of m
    people, with c = 1 for add-remove and 2 for change-one.

    Args:
        epsilon: the privacy loss of one release, above 0.
        delta: the probability with which the loss may exceed epsilon.
        keys: how many keys one person holds at most.
        group: how many people are protected together.
        neighbors: "add-remove" or "change-one".

    Raises:
        BadParameter: if a number is out of range.

    Example:
        >>> mechanism = privet.OptimalKeys(epsilon=1, delta=1e-6)
        >>> mechanism.people(0.5)
        14

    Guarantee: (epsilon, delta)-DP for units with at most `keys` keys. One more person is p(n+1) <= e p(n) + d and
    1 - p(n) <= e (1 - p(n+1)) + d, and p never falls; so by a chain a key that s people of a group hold costs s ln e,
    with a delta of d (1 + e + ... + e^(s-1)). Keys are independent, and costs add. The s add up to c m `keys`, each
    being at most m, and the delta grows faster than s: it is largest for c `keys` keys with m people each. Here e is
    the exponential rounded down to a rational, and each p(n) is rounded down to a multiple of a power of two once it
    was computed from the rounded one before it, which keeps both inequalities. No rule shows any key more often, by
    induction, since both inequalities are necessary.
    Cites: [DVGM22, the optimal rule, several keys], [KOV15, the worst pair], [DR14, Thm 3.16].
    """

    key_epsilon: Fraction
    key_delta: Fraction
    keys: int
    group: int
    neighbors: Neighbors

    def __init__(
        self,
        *,
        epsilon: Number,
        delta: Number,
        keys: int = 1,
        group: int = 1,
        neighbors: Neighbors = "add-remove",
    ) -> None:
        loss, failure = positive(epsilon, "epsilon"), open_probability(delta, "delta")
        several, together, relation = read_people(keys, group, neighbors)
        sides = _sides(relation)
        one = loss / (sides * several * together)
        if one < _SMALLEST_EPSILON or together * one > _LARGEST_EPSILON:
            raise BadParameter("epsilon", epsilon, "such that a key's part of it lies between 2**-100 and 700")
        part = failure / (sides * several) / _growth(one, together)
        if together > 1:
            part = _round_down(part)
        if part < _SMALLEST_DELTA:
            raise BadParameter("delta", delta, "such that a key's part of it is at least 2**-1000")
        if 2 * half_way(one, part) + 4 > LONGEST:
            raise BadParameter(
                "epsilon",
                epsilon,
                f"so large that {LONGEST:,} people make a key certain; below that, use a LaplaceThreshold",
            )
        set_fields(self, key_epsilon=one, key_delta=part, keys=several, group=together, neighbors=relation)

    @cached_property
    def event(self) -> Event:
        """The event of one release: of each key that a person may hold, or, for groups, of the whole.

        One key's pair of laws is dominated by that of `ApproximateEvent`, whose divergence delta + (1 - delta) (e -
        e^x) / (e + 1) the rule attains where p(n) = (1 - delta) / (e + 1): nothing is lost there.
        """
        times = _sides(self.neighbors) * self.keys
        if self.group == 1:
            once = ApproximateEvent(self.key_epsilon, self.key_delta)
            return once if times == 1 else Repeated(once, times)
        total = times * self.key_delta * _growth(self.key_epsilon, self.group)
        return ApproximateEvent(times * self.group * self.key_epsilon, total)

    @property
    def delta(self) -> float:
        """The delta of one release, rounded up."""
        return float_up(self.event.slack())

    def probability(self, people: int) -> Fraction:
        """Return how likely a key is shown that this many people hold, exactly."""
        ladder = self._ladder
        return Fraction(ladder[min(read_count(people), len(ladder) - 1)], 1 << self._bits)

    def people(self, probability: Number = 0.5) -> int:
        """Return the least number of people with which a key is shown with at least this probability."""
        wanted = open_probability(probability, "probability")
        return bisect_left(self._ladder, math.ceil(wanted * (1 << self._bits)))

    @property
    def certain(self) -> int:
        """The least number of people with which a key is always shown."""
        return len(self._ladder) - 1

    def _draw(self, counts: NDArray[np.object_]) -> NDArray[np.bool_]:
        import numpy as np

        # p = (top + rest) / 2**63 with rest < 1: a uniform word below the top shows, and one equal to it asks the rest
        places = np.minimum(counts, len(self._ladder) - 1).astype(np.int64)
        words = noise.uniform_below(1 << _WORD_BITS, counts.size).view(np.uint64)
        tops = self._tops[places]
        decided: NDArray[np.bool_] = words < tops
        for lane in np.flatnonzero(words == tops):
            decided[lane] = self._ask_rest(self._ladder[places[lane]])
        return decided

    def _ask_rest(self, numerator: int) -> bool:
        """Return True with the probability of the binary digits that a word leaves out."""
        rest = 1 << (self._bits - _WORD_BITS)
        return noise.uniform_below(rest) < numerator % rest

    @property
    def _bits(self) -> int:
        """How many binary digits the probabilities have: 128 more than it takes to tell delta from 0."""
        return _RATIO_BITS + (self.key_delta.denominator // self.key_delta.numerator).bit_length()

    @cached_property
    def _ladder(self) -> list[int]:
        """The probabilities as multiples of 2**-bits, from nobody to as many as make it certain."""
        one = 1 << self._bits
        ratio = math.floor(exp_down(self.key_epsilon) * (1 << _RATIO_BITS))
        delta = math.floor(self.key_delta * one)
        found, last = [0], 0
        while last < one:
            grown = (ratio * last >> _RATIO_BITS) + delta
            shrunk = one + ((last + delta - one) << _RATIO_BITS) // ratio
            last = min(grown, shrunk, one)
            found.append(last)
        return found

    @cached_property
    def _tops(self) -> NDArray[np.uint64]:
        import numpy as np

        rest = self._bits - _WORD_BITS
        return np.array([numerator >> rest for numerator in self._ladder], dtype=np.uint64)

    def __repr__(self) -> str:
        kinds = "" if self.keys == 1 else f", keys={self.keys}"
        together = "" if self.group == 1 else f", group={self.group}"
        relation = "" if self.neighbors == "add-remove" else f", neighbors={self.neighbors!r}"
        cost = f"epsilon={shown(Fraction(self.event.pure()))}, delta={self.delta:.6g}"
        return f"OptimalKeys({cost}{kinds}{together}{relation})"


def half_way(key_epsilon: Fraction, key_delta: Fraction) -> float:
    """Return about how many people make a key as likely shown as not, without listing anything.

    Where d (e^n - 1) / (e - 1) = 1/2; from there it takes about as many again to certainty.
    """
    loss = float_down(min(key_epsilon, _LARGEST_EPSILON))
    return math.log1p(math.expm1(loss) / (2 * float_up(key_delta))) / loss


def _sides(neighbors: Neighbors) -> int:
    return 1 if neighbors == "add-remove" else 2


def _growth(key_epsilon: Fraction, group: int) -> Fraction:
    """Return 1 + e + ... + e^(group - 1), rounded up."""
    if group == 1:
        return Fraction(1)
    return (exp_up(group * key_epsilon) - 1) / (exp_down(key_epsilon) - 1)


def _round_down(value: Fraction) -> Fraction:
    """Return a value of about 128 binary digits, no larger."""
    bits = _RATIO_BITS + (value.denominator // value.numerator).bit_length()
    return Fraction(math.floor(value * (1 << bits)), 1 << bits)
