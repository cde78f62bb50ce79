"""Several places at once, by rank: the middle share first, then each side by itself, in every group of a query.

What lies at one place counts as spread evenly over it, so that a place can be cut in two, and everything stays exact: a
person's weight is divided between the two sides, and is never more than it was.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import pairwise

import numpy as np

from privet import noise
from privet.core.complete import check_fields
from privet.core.errors import BadParameter
from privet.core.event import Repeated
from privet.core.rounding import float_up, inflate
from privet.core.scan import MOST_PLACES, Counts
from privet.core.wire import wired

from .exponential import ExponentialEvent
from .lattice import tail_of
from .mechanism import Mechanism

BITS = 40
"""Each place is 2**40 finer ones, over which what it holds is spread evenly, so that none holds much."""

DIGITS = 16
"""Where a place stands for values around it, so many binary digits of where in it a quantile lies are released."""

MOST_EPSILON = 2**20
"""Several places are not chosen at a larger epsilon: their weights would have more digits than can be compared."""

_REACH = 100
_GRAIN = 256
"""How far off, in 1 / rate, ranks are looked at one by one; and into how many parts such a 1 / rate is divided."""


@wired("RankTree", "shares", "last", "norm", "level_epsilon", "digits")
@dataclass(frozen=True)
class RankTree(Mechanism):
    """Choose in each group, for each of some rising shares q, the place whose rank is near q n, of 0 to `last`.

    The middle one is chosen first by the exponential mechanism, as `RankChoice` does, and then those below it among
    what lies below, and those above it among what lies above. With `digits`, what is released is the number of
    a part of a place, of 2**digits that each has.

    Guarantee: epsilon-DP for epsilon = levels * level_epsilon, each level with a loss of that range, if between
    neighbours the weights at all places of all groups differ by at most `norm` in L1. Given what was chosen before, the
    places are cut into blocks, and a neighbour changes the weight of a block by parts that come, D, and parts that go,
    D'; over all blocks of a level and all groups they add up to at most `norm`, since spreading a weight evenly divides
    it. In a block with relative share q the rank that a place is off moves by at most max(q, 1 - q) (D + D') either
    way, and the rate is level_epsilon / (2 max(q, 1 - q) norm): the ranges of a level add up to level_epsilon.
    Cites: [KSS22, recursion], [Smi11, Alg. 2], [DDR20, bounded range].
    """

    shares: tuple[Fraction, ...]
    last: int
    norm: Fraction
    level_epsilon: Fraction
    digits: int = 0

    def __post_init__(self) -> None:
        check_fields(self)
        rising = all(a < b for a, b in pairwise(self.shares))
        if not self.shares or not rising or not 0 < self.shares[0] <= self.shares[-1] < 1:
            raise BadParameter("shares", self.shares, "rising shares between 0 and 1")
        if not 0 <= self.digits <= BITS:
            raise BadParameter("digits", self.digits, f"from 0 to {BITS}")
        if not 0 <= self.last <= MOST_PLACES or self.norm <= 0 or self.level_epsilon <= 0:
            raise BadParameter("norm", self.norm, "above 0, as are the epsilon of a level and the number of places")
        if self.level_epsilon > MOST_EPSILON:
            raise BadParameter("level_epsilon", self.level_epsilon, f"at most {MOST_EPSILON}, which is no noise at all")

    @property
    def levels(self) -> int:
        """How often the places are cut."""
        return len(self.shares).bit_length()

    @cached_property
    def event(self) -> Repeated:
        """The event of choosing all of them in each group."""
        return Repeated(ExponentialEvent(epsilon=self.level_epsilon), self.levels)

    def error(self, confidence: object = 0.95) -> float:
        """Return how much weight one level's choice is off by, at most, with this probability, for any data.

        Guarantee: P[off >= (ln(places) + t) / rate] <= e^-t at the slowest rate; errors of levels add up.
        Cites: [DR14, Thm 3.11].
        """
        deep = math.log(self.last + 1) - math.log(tail_of(confidence) / self.levels)
        return float_up(Fraction(inflate(deep)) * 2 * self.norm / self.level_epsilon * self.levels)

    def release(self, groups: Sequence[Counts]) -> list[list[int]]:
        """Return for each share a place for each group, from the weights at its places."""
        chosen = [self._all(Spread(*counts)) for counts in groups]
        return [[one[index] for one in chosen] for index in range(len(self.shares))]

    def _all(self, found: Spread) -> list[int]:
        end = (self.last + 1) << BITS
        fine = self._choose(found, self.shares, (Fraction(0), Fraction(1)), (0, end))
        return [min(one, end - 1) >> (BITS - self.digits) for one in fine]

    def _choose(
        self, found: Spread, shares: tuple[Fraction, ...], within: tuple[Fraction, Fraction], ends: tuple[int, int]
    ) -> list[int]:
        """Return fine places for some shares of what lies from one fine place to before another."""
        if not shares:
            return []
        middle = len(shares) // 2
        share, (floor, ceiling) = shares[middle], within
        q = (share - floor) / (ceiling - floor)
        rate = self.level_epsilon / (2 * max(q, 1 - q) * self.norm)
        start, end = ends
        if end <= start:
            cut = start  # nothing is left between two places that were chosen
        else:
            cut = choose_spread(found, q, rate, start=start, end=end)
        return [
            *self._choose(found, shares[:middle], (floor, share), (start, cut)),
            cut,
            *self._choose(found, shares[middle + 1 :], (share, ceiling), (cut, end)),
        ]

    def __repr__(self) -> str:
        return f"RankTree({len(self.shares)} shares, places={self.last + 1}, epsilon={self.epsilon:.6g})"


class Spread:
    """Weights at places, as if each were spread evenly over its fine places: how much lies before a fine place."""

    __slots__ = ("_before", "_places", "_weights")

    def __init__(self, places: Sequence[int], weights: Sequence[int]) -> None:
        self._places = [int(place) for place in places]
        self._weights = [int(weight) for weight in weights]
        self._before = [0, *np.cumsum(np.array(self._weights, dtype=np.int64)).tolist()]

    def __repr__(self) -> str:
        return "Spread(private)"

    def before(self, fine: int) -> int:
        """Return the weight before a fine place, times 2**BITS."""
        place, rest = fine >> BITS, fine & ((1 << BITS) - 1)
        index = bisect_left(self._places, place)
        inside = self._weights[index] * rest if index < len(self._places) and self._places[index] == place else 0
        return int((self._before[index] << BITS) + inside)

    def cuts(self, low: int, high: int, ranks: Sequence[int], start: int, end: int) -> list[int]:
        """Return where to cut: around places with weight between two ranks, and where some ranks are reached."""
        first = max(0, bisect_left(self._before, low >> BITS) - 1)
        last = min(len(self._places), bisect_left(self._before, -(-high >> BITS)) + 1)
        found = {start, end}
        for index in range(first, last):
            found |= {self._places[index] << BITS, (self._places[index] + 1) << BITS}
        found.update(self.reached(rank) for rank in ranks)
        # where a fine place more or less decides, places next to the aim stand by themselves, and further ones together
        middle = self.reached(ranks[len(ranks) // 2])
        found.update(middle + side * (1 << bits) for bits in range(BITS + 1) for side in (-1, 1))
        found.add(middle)
        return sorted(cut for cut in found if start <= cut <= end)

    def reached(self, rank: int) -> int:
        """Return the first fine place before which there is so much weight, times 2**BITS; -1 if there is none."""
        index = bisect_left(self._before, -(-rank >> BITS)) - 1
        if not 0 <= index < len(self._places):
            return -1
        inside = -(-(rank - (self._before[index] << BITS)) // self._weights[index])
        return int((self._places[index] << BITS) + min(max(inside, 0), 1 << BITS))


def choose_spread(found: Spread, q: Fraction, rate: Fraction, *, start: int, end: int) -> int:
    """Return a fine place from start to before end, with probability proportional to exp(-rate * weight off), exactly.

    With R the weight from `start` on before a fine place, and n that before `end`, it is off by |R - q n|. Fine places
    are gathered into pieces along which R rises by no more than about 1 / rate, or that lie far off; a piece has the
    score of its best place, or a little more, and a place that is drawn from it is kept with probability
    exp(-rate * weight further off), or all is drawn again.

    Guarantee: exactly this distribution, given a uniform operating system source.
    Cites: [Smi11, Alg. 2], [Dev86, Sec. II.3] for rejection.
    """
    one = 1 << BITS
    bottom, top = found.before(start), found.before(end)
    aim = bottom + q * (top - bottom)
    stride = max(1, math.floor(one / rate))
    base = math.floor(aim)
    ranks = [base + step * stride for step in range(-_REACH, _REACH + 1)]
    cuts = found.cuts(base - _REACH * stride, base + _REACH * stride, ranks, start, end)
    heights = [found.before(cut) for cut in cuts]
    grain = rate * _GRAIN / one
    widths, gaps = [], []
    for (left, low), (right, high) in pairwise(zip(cuts, heights, strict=True)):
        best = max(Fraction(0), low - aim, aim - high)
        widths.append(right - left)
        gaps.append(min(math.floor(best * grain), 2**40))
    wide, behind = np.array(widths, dtype=np.int64), np.array(gaps, dtype=np.int64)
    while True:
        piece = noise.choose(wide, behind, Fraction(1, _GRAIN))
        fine = cuts[piece] + int(noise.uniform_below(int(wide[piece])))
        further = rate * abs(found.before(fine) - aim) / one - Fraction(int(behind[piece]), _GRAIN)
        if noise.bernoulli_exp(further):
            return fine
