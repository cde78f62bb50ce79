"""Several places of a grid at once, by rank, in every group: one joint choice, or a tree of choices."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import accumulate, pairwise

import numpy as np
from numpy.typing import NDArray

from privet import noise
from privet.core.errors import BadParameter
from privet.core.event import Composed, Repeated
from privet.core.given import check_fields
from privet.core.numbers import Number, float_up, inflate
from privet.core.scan import MOST_PLACES, Counts
from privet.core.wire import wired
from privet.noise.choosing import accepts
from privet.noise.coins import Below
from privet.noise.source import SYSTEM, Source

from .laplace import Laplace
from .lattice import tail_of
from .mechanism import Mechanism
from .quantile_several import targets
from .selection import ExponentialEvent

# An exact joint choice of several places by rank, where weights at places count as spread evenly over fine places.
#
# What is drawn is a list of fine places f_1 <= ... <= f_m, any m of them put in order, with probability proportional
# to exp(-kappa * sum over j of |R(f_j) - R(f_(j-1)) - T_j|): R is the weight before a fine place, 0 for f_0 and all
# of it for f_(m+1), and T_j what should lie between two of them.
#
# Fine places are cut into pieces, a few hundred for each aim however many rows there are, along which R rises little
# where it matters. Floats only propose: a recursion over pieces, in logarithms, takes for each term of the exponent
# the least that it can be anywhere in its pieces, and gives the pieces' weights and the sum Z of all. Every step of a
# proposal is drawn from integers, so its probability q is a known rational; the target weight w is a rational times
# exp(-rational); and a proposal is kept with probability w / (M q), exactly. That needs M to be no less than any w /
# q, which is at most Z if all is computed exactly: each integer is no less than its share, and each term of the
# exponent no less than what was taken for it.
#
# Ranks are measured from their aims A_j = T_1 + ... + T_j, as exact differences before anything is rounded: with r_j
# = R(f_j) - A_j a term of the exponent is kappa |r_j - r_(j-1)|, with r_0 = 0, and r_(m+1) = R - A_(m+1) is what all
# weight is off all targets, a draw of noise that does not grow with the weight. They are clamped to 2**40 / kappa,
# which lowers no difference below 0 and raises none.
#
# What floats may be off by: let V bound the size of the logarithms that matter. A window's sum takes at most 2 * 64
# additions in logarithms, each off by less than 4 eps (V + 1), a level takes at most m + 8 more of them, there are m
# + 1 levels, and logarithms of widths and scaled ranks are off by 4 eps V each. So ln Z and each share are off by
# less than (m + 2) (m + 200) 8 eps V together. M leaves four times that, and a millionth. A proposal whose exponent X
# is below 2**20 has kappa |r_j| <= X throughout, and sums are decided by terms no smaller than e**-(kappa |r_(m+1)| +
# 64 m), so that V = (m + 2) (2**21 + 8 kappa |r_(m+1)|) is enough for it, and for an X of up to twice kappa
# |r_(m+1)|. With a larger X, w / Z is below e**-(X/2 - 64 m), while no step of a proposal has a chance below 2**-62:
# w / q stays below M.


Floats = NDArray[np.float64]
Indices = NDArray[np.int64]

_NEAR, _NEAR_EACH, _PARTS, _MORE, _GROWTH = 8, 4, 12, 40, 1.25
"""Around an aim pieces are even up to 8 times 1 / kappa off it, and then end ever a quarter further off.

With m quantiles they are even up to 4 m times 1 / kappa: all may be off by the same at no cost but at the ends, and
are, where many fine places are empty. A 1 / kappa has 12 parts, and fewer where m is more, to keep the pieces few.

Where all targets together are more or less than all weight, any aim may be off by as much at no further cost: there
pieces are even up to as much again, and up to 40 times 1 / kappa.
"""

_TOP_BITS = 61
_EPS = 2.0**-53
_FAR = 2.0**21
_LARGEST = Fraction(2**40)


class JointPieces:
    """The law of m fine places before `end`, for some weights, m + 1 targets and kappa, prepared once.

    Guarantee: draws have exactly the distribution of the module's first paragraph, given a uniform system source.
    Cites: [GJK21, JointExp] for a joint choice by recursion, [Dev86, Sec. II.3] for rejection.
    """

    def __init__(self, found: RankSpread, targets: Sequence[Fraction], kappa: Fraction, *, end: int) -> None:
        self._found, self._targets, self._kappa = found, targets, kappa
        self._one, self._total, self._m = 1 << BITS, found.before(end), len(targets) - 1
        self._cuts = sorted({0, end, *(cut for cut in self._edges() if 0 < cut < end)})
        starts = [found.before(cut) for cut in self._cuts[:-1]]
        stops = [found.before(cut - 1) for cut in self._cuts[1:]]
        sums = list(accumulate(targets))
        self._low = [self._off(starts, aim) for aim in sums[:-1]]
        self._high = [self._off(stops, aim) for aim in sums[:-1]]
        top = float(self._off([self._total], sums[-1])[0])
        self._width: Floats = np.log(np.diff(np.array(self._cuts, dtype=np.int64)).astype(np.float64))
        self._entries: list[Floats] = []  # for a quantile that is the first in a piece
        self._ends: list[Floats] = []  # for the quantiles up to one that is the last in a piece
        for j in range(self._m):
            self._entries.append(self._enter(j))
            self._ends.append(np.logaddexp.reduce([self._together(j, k) for k in range(1, j + 2)]))
        self._final = self._ends[-1] - _least(top - self._high[-1], top - self._low[-1])
        self._most = self._room(float(np.logaddexp.reduce(self._final)), abs(top))

    def draw(self, *, source: Source = SYSTEM) -> list[int]:
        """Return m fine places in order."""
        while True:
            groups, ratio = self._propose(source)
            places: list[int] = []
            for piece, k in groups:
                start, width = self._cuts[piece], self._cuts[piece + 1] - self._cuts[piece]
                places += sorted(start + Below(width).draw(source) for _ in range(k))
                ratio *= Fraction(width**k, math.factorial(k))
            if accepts(ratio / self._most, self._exponent(places), source=source):
                return places

    def _off(self, ranks: list[int], aim: Fraction) -> Floats:
        """Return kappa times how far ranks are off an aim, from exact differences, and clamped to +-2**40."""
        each = self._kappa / (self._one * aim.denominator)
        scale, parts, whole = float(each), aim.denominator, aim.numerator * self._one
        most = math.ceil(_LARGEST / each)
        return np.array([scale * min(max(rank * parts - whole, -most), most) for rank in ranks])

    def _edges(self) -> Iterator[int]:
        """Yield where pieces end: by how far off an aim they are, and one fine place to either side of each aim."""
        unit, even = self._one / self._kappa, _PARTS if self._m <= _PARTS else -(-_PARTS * _PARTS // self._m)
        beyond = (self._total - sum(self._targets, Fraction(0)) * self._one) / unit
        excess = float(min(max(beyond, Fraction(-_MORE)), Fraction(_MORE)))
        near = max(_NEAR, _NEAR_EACH * min(self._m, _PARTS))
        below, above = (math.ceil((near + max(side * excess, 0)) * even) for side in (-1, 1))
        steps = [step / even for step in range(-below, above + 1)]
        while min(-steps[0], steps[-1]) < self._total / unit:
            steps = [steps[0] * _GROWTH, *steps, steps[-1] * _GROWTH]
        away = [math.floor(Fraction(step) * unit) for step in steps]
        aim = Fraction(0)
        for target in self._targets[:-1]:
            aim += target
            rank = math.floor(aim * self._one)
            middle = self._found.reached(rank)
            yield from (middle - 1, middle, middle + 1)
            yield from (self._found.reached(rank + distance) for distance in away)

    def _enter(self, j: int) -> Floats:
        """Return, for each piece, the weight of all that lies in pieces before it, and of the gap to it."""
        low, high = self._low[j], self._high[j]
        if j == 0:
            return -_least(low, high)
        ends, here = self._ends[j - 1], np.arange(low.size)
        before_low, before_high = self._low[j - 1], self._high[j - 1]
        # from pieces before `first` the gap is too wide, from `last` on too narrow, and between them it may be right
        first = np.minimum(np.searchsorted(before_high, low, side="right"), here)
        last = np.minimum(np.maximum(np.searchsorted(before_low, high), first), here)
        wide = _windows(ends + before_high, np.zeros_like(here), first) - low
        narrow = _windows(ends - before_low, last, here) + high
        return np.logaddexp(np.logaddexp(wide, narrow), _windows(ends, first, last))

    def _together(self, j: int, k: int, pieces: slice = slice(None)) -> Floats:
        """Return the weight of k quantiles in one piece, the last of which is the j-th, and of what lies before it."""
        terms = self._entries[j - k + 1][pieces] + k * self._width[pieces] - math.lgamma(k + 1)
        for i in range(j - k + 2, j + 1):
            terms -= np.maximum(self._low[i - 1][pieces] - self._high[i][pieces], 0)
        return np.asarray(terms)

    def _room(self, log_sum: float, excess: float) -> Fraction:
        """Return M: no less than e**log_sum, times the error of the floats."""
        largest = (self._m + 2) * (_FAR + 8 * excess)
        slack = 4 * (self._m + 2) * (self._m + 200) * 8 * _EPS * largest + 2.0**-20
        bits = (log_sum + slack) / math.log(2)
        whole = math.floor(bits)
        return Fraction(2) ** whole * Fraction(2.0 ** (bits - whole) * (1 + 2.0**-20))

    def _propose(self, source: Source) -> tuple[list[tuple[int, int]], Fraction]:
        """Return pieces with how many quantiles lie in each, in order, and one over the chance of having drawn them."""
        here, ratio = _pick(self._final, source)
        groups: list[tuple[int, int]] = []
        j = self._m
        while True:
            terms = np.concatenate([self._together(j - 1, k, slice(here, here + 1)) for k in range(1, j + 1)])
            picked, factor = _pick(terms, source)
            groups.insert(0, (here, picked + 1))
            ratio, j = ratio * factor, j - picked - 1
            if j == 0:
                return groups, ratio
            low, high = self._low[j], self._high[j]
            gaps = _least(low[here] - self._high[j - 1][:here], high[here] - self._low[j - 1][:here])
            here, factor = _pick(self._ends[j - 1][:here] - gaps, source)
            ratio *= factor

    def _exponent(self, places: Sequence[int]) -> Fraction:
        ranks = [0, *(self._found.before(place) for place in places), self._total]
        gaps = (Fraction(ranks[j + 1] - ranks[j], self._one) - target for j, target in enumerate(self._targets))
        return self._kappa * sum(map(abs, gaps), Fraction(0))


def _least(low: Floats, high: Floats) -> Floats:
    """Return by how much a gap between two sizes is off 0, at least."""
    return np.asarray(np.maximum(np.maximum(low, -high), 0.0))


def _windows(values: Floats, start: Indices, stop: Indices) -> Floats:
    """Return ln of the sum of e**values over each window; by doubling, from positive terms alone."""
    logs = np.full(start.size, -np.inf)
    length, at, size = stop - start, start.copy(), 1
    while True:
        taken = np.flatnonzero(length & size)
        logs[taken] = np.logaddexp(logs[taken], values[at[taken]])
        at[taken] += size
        if 2 * size > int(length.max(initial=0)):
            return logs
        values = np.logaddexp(values[:-size], values[size:])
        size *= 2


def _pick(logs: Floats, source: Source) -> tuple[int, Fraction]:
    """Return an index drawn in proportion to integers no less than e**logs in their unit, and one over its chance."""
    shares = np.exp(logs - logs.max())
    unit = _TOP_BITS - math.frexp(float(shares.sum()))[1]
    bounds = (shares * math.ldexp(1.0, unit)).astype(np.int64)
    bounds += np.isfinite(logs)
    np.cumsum(bounds, out=bounds)
    index = int(np.searchsorted(bounds, Below(int(bounds[-1])).draw(source), side="right"))
    return index, Fraction(int(bounds[-1]), int(bounds[index]) - (int(bounds[index - 1]) if index else 0))


# Several places at once, by rank: the middle share first, then each side separately, in every group of a query.
#
# The weight at one place counts as spread evenly over it, so that a place can be cut in two, and everything stays
# exact: a person's weight is divided between the two sides, and is never more than it was.


BITS = 40
"""Each place is 2**40 finer ones, over which its weight is spread evenly, so that none has much."""

DIGITS = 16
"""Where a place stands for values around it, this many binary digits of where in it a quantile lies are released."""

MOST_EPSILON = 2**20
"""Several places are not chosen at a larger epsilon: their weights would have more digits than can be compared."""

_REACH = 100
_GRAIN = 256
"""How far off, in 1 / rate, ranks are looked at one by one; and into how many parts such a 1 / rate is divided."""


@wired("RankTree", "shares", "last", "norm", "level_epsilon", "digits")
@dataclass(frozen=True)
class QuantileTree(Mechanism):
    """Choose in each group, for each of some rising shares q, the place whose rank is near q n, of 0 to `last`.

    The middle one is chosen first by the exponential mechanism, as in `RankChoice`, and then those below it among
    the places below, and those above it among the places above. With `digits`, the release is the number of
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

    def error(self, confidence: Number = 0.95) -> float:
        """Return how much weight one level's choice is off by, at most, with this probability, for any data.

        Guarantee: P[off >= (ln(places) + t) / rate] <= e^-t at the slowest rate; errors of levels add up.
        Cites: [DR14, Thm 3.11].
        """
        deep = math.log(self.last + 1) - math.log(tail_of(confidence) / self.levels)
        return float_up(Fraction(inflate(deep)) * 2 * self.norm / self.level_epsilon * self.levels)

    def release(self, groups: Sequence[Counts]) -> list[list[int]]:
        """Return for each share a place for each group, from the weights at its places."""
        chosen = [self._all(RankSpread(*counts)) for counts in groups]
        return [[places[index] for places in chosen] for index in range(len(self.shares))]

    def _all(self, spread: RankSpread) -> list[int]:
        end = (self.last + 1) << BITS
        fine = self._choose(spread, self.shares, (Fraction(0), Fraction(1)), (0, end))
        return [min(place, end - 1) >> (BITS - self.digits) for place in fine]

    def _choose(
        self, spread: RankSpread, shares: tuple[Fraction, ...], within: tuple[Fraction, Fraction], ends: tuple[int, int]
    ) -> list[int]:
        """Return fine places for some shares of the weight from one fine place to before another."""
        if not shares:
            return []
        middle = len(shares) // 2
        share, (floor, ceiling) = shares[middle], within
        q = (share - floor) / (ceiling - floor)
        rate = self.level_epsilon / (2 * max(q, 1 - q) * self.norm)
        start, end = ends
        if end <= start:
            cut = start  # nothing remains between two places that were chosen
        else:
            cut = choose_spread(spread, q, rate, start=start, end=end)
        return [
            *self._choose(spread, shares[:middle], (floor, share), (start, cut)),
            cut,
            *self._choose(spread, shares[middle + 1 :], (share, ceiling), (cut, end)),
        ]

    def __repr__(self) -> str:
        return f"RankTree({len(self.shares)} shares, places={self.last + 1}, epsilon={self.epsilon:.6g})"


class RankSpread:
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
        cuts = {start, end}
        for index in range(first, last):
            cuts |= {self._places[index] << BITS, (self._places[index] + 1) << BITS}
        cuts.update(self.reached(rank) for rank in ranks)
        # where a fine place more or less decides, places next to the aim are separate, and further ones together
        middle = self.reached(ranks[len(ranks) // 2])
        cuts.update(middle + side * (1 << bits) for bits in range(BITS + 1) for side in (-1, 1))
        cuts.add(middle)
        return sorted(cut for cut in cuts if start <= cut <= end)

    def reached(self, rank: int) -> int:
        """Return the first fine place before which there is so much weight, times 2**BITS; -1 if there is none."""
        index = bisect_left(self._before, -(-rank >> BITS)) - 1
        if not 0 <= index < len(self._places):
            return -1
        inside = -(-(rank - (self._before[index] << BITS)) // self._weights[index])
        return int((self._places[index] << BITS) + min(max(inside, 0), 1 << BITS))


def choose_spread(found: RankSpread, q: Fraction, rate: Fraction, *, start: int, end: int) -> int:
    """Return a fine place from start to before end, with probability proportional to exp(-rate * weight off), exactly.

    With R the weight from `start` on before a fine place, and n that before `end`, it is off by |R - q n|. Fine places
    are gathered into pieces along which R rises by no more than about 1 / rate, or that lie far off; a piece has the
    score of its best place, or a little more, and a place that is drawn from it is kept with probability
    exp(-rate * weight further off), or all is drawn again.

    Guarantee: exactly this distribution, given a uniform operating system source.
    Cites: [Smi11, Alg. 2], [Dev86, Sec. II.3] for rejection.
    """
    unit = 1 << BITS
    bottom, top = found.before(start), found.before(end)
    aim = bottom + q * (top - bottom)
    stride = max(1, math.floor(unit / rate))
    base = math.floor(aim)
    ranks = [base + step * stride for step in range(-_REACH, _REACH + 1)]
    cuts = found.cuts(base - _REACH * stride, base + _REACH * stride, ranks, start, end)
    grain = rate * _GRAIN / unit
    widths, gaps = [], []
    for left, right in pairwise(cuts):
        best = max(Fraction(0), found.before(left) - aim, aim - found.before(right - 1))
        widths.append(right - left)
        gaps.append(min(math.floor(best * grain), 2**40))
    wide, behind = np.array(widths, dtype=np.int64), np.array(gaps, dtype=np.int64)
    while True:
        piece = noise.choose(wide, behind, Fraction(1, _GRAIN))
        fine = cuts[piece] + int(noise.uniform_below(int(wide[piece])))
        further = rate * abs(found.before(fine) - aim) / unit - Fraction(int(behind[piece]), _GRAIN)
        if noise.bernoulli_exp(further):
            return fine


# Several places at once, by rank and by one joint choice: the best way to choose a handful, in every group of a
# query.
#
# A little of epsilon buys the weight of each group. Then every gap between quantiles has a target, and one
# person's weight lies in some gaps: the whole list of misses moves by that, not by as much for each quantile.


MOST = 24
"""The most quantiles that are chosen jointly; for more, the time that it takes grows too long."""


@wired("RankJoint", "shares", "last", "norm", "count_epsilon", "kappa", "digits")
@dataclass(frozen=True)
class QuantileJoint(Mechanism):
    """Choose in each group, for each of some rising shares q, the place whose rank is near q n, of 0 to `last`.

    The weight of each group gets discrete Laplace noise first, at `count_epsilon`; given the outcome N, fine places
    f_1 <= ... <= f_m are chosen with probability proportional to exp(-kappa sum_j |n_j - w_j N|), n_j the weight in the
    j-th gap, where what lies at a place counts as spread evenly over its fine places, and w_j the gap's share. With
    `digits`, what is released is the number of a part of a place, of 2**digits that each has.

    Guarantee: epsilon-DP for epsilon = count_epsilon + 2 kappa norm, the choice with a loss of range 2 kappa norm, if
    between neighbours the weights at all places of all groups differ by at most `norm` in L1. So do the weights of
    groups, which pays for N. For given fine places the n_j of all groups are sums over parts of places that have
    nothing in common, and spreading a weight evenly divides it: they differ by at most `norm` in L1 together, and so
    do the sums of misses, by r_g in group g with the r_g adding up to at most `norm`. A choice with exponents that move
    by at most kappa r_g either way has a loss of range 2 kappa r_g, and ranges of a product add up.
    Cites: [GJK21, JointExp] for the joint choice, [MT07, Thm 6], [DDR20, bounded range].
    """

    shares: tuple[Fraction, ...]
    last: int
    norm: Fraction
    count_epsilon: Fraction
    kappa: Fraction
    digits: int = 0

    def __post_init__(self) -> None:
        check_fields(self)
        rising = all(a < b for a, b in pairwise(self.shares))
        if not 2 <= len(self.shares) <= MOST or not rising or not 0 < self.shares[0] <= self.shares[-1] < 1:
            raise BadParameter("shares", self.shares, f"2 to {MOST} rising shares between 0 and 1")
        if not 0 <= self.digits <= BITS:
            raise BadParameter("digits", self.digits, f"from 0 to {BITS}")
        if not 0 <= self.last <= MOST_PLACES or min(self.norm, self.count_epsilon, self.kappa) <= 0:
            raise BadParameter(
                "norm", self.norm, "above 0, as are kappa, the epsilon of counts and the number of places"
            )
        if 2 * self.kappa * self.norm > MOST_EPSILON:
            raise BadParameter("kappa", self.kappa, f"at most {MOST_EPSILON} / (2 norm), no noise at all")
        _ = self.counting  # an epsilon too small for the noise on counts is refused here, and not at a release

    @classmethod
    def of(
        cls, shares: tuple[Fraction, ...], *, last: int, norm: Fraction, epsilon: Fraction, digits: int = 0
    ) -> QuantileJoint:
        """Return the choice that costs epsilon, split between weights and places as `Quantiles` splits it."""
        counting = epsilon * Fraction(3, 12 + len(shares))
        return cls(shares, last, norm, counting, (epsilon - counting) / (2 * norm), digits)

    @cached_property
    def counting(self) -> Laplace:
        """The noise on the weights of groups."""
        return Laplace(sensitivity=self.norm, scale=self.norm / self.count_epsilon)

    @cached_property
    def event(self) -> Composed:
        """The event of choosing all of them in each group."""
        return Composed((self.counting.event, ExponentialEvent(epsilon=2 * self.kappa * self.norm)))

    def error(self, confidence: Number = 0.95) -> float:
        """Return how much weight one of the choices is off by, at most, with this probability, for any data.

        Guarantee: let D be by how much N is off, and F the number of fine places. There are fine places with misses
        that add up to |D|, but for the weight of some fine places, which is not counted here; one that is off its aim
        by d makes them add up to 2 d - |D| or more. So d >= |D| + (ln(F^m) + t) / (2 kappa) has probability e^-t at
        most, and aims are off by |D| at most.
        Cites: [DR14, Thm 3.11].
        """
        tail = tail_of(confidence)
        end = (self.last + 1) << BITS
        deep = Fraction(inflate(len(self.shares) * math.log(end) - math.log(tail / 2)))
        return float_up(2 * Fraction(self.counting.error(1 - tail / 2)) + deep / (2 * self.kappa))

    def release(self, groups: Sequence[Counts]) -> list[list[int]]:
        """Return for each share a place for each group, from the weights at its places."""
        if not groups:
            return [[] for _ in self.shares]
        spreads = [RankSpread(*counts) for counts in groups]
        weights = np.empty(len(spreads), dtype=object)
        end = (self.last + 1) << BITS
        weights[:] = [spread.before(end) >> BITS for spread in spreads]
        noisy = self.counting.release(weights).tolist()
        chosen = [self._all(spread, max(0, int(number)), end) for spread, number in zip(spreads, noisy, strict=True)]
        return [[places[index] for places in chosen] for index in range(len(self.shares))]

    def _all(self, spread: RankSpread, number: int, end: int) -> list[int]:
        fine = JointPieces(spread, targets(self.shares, number), self.kappa, end=end).draw()
        return [place >> (BITS - self.digits) for place in fine]

    def __repr__(self) -> str:
        return f"RankJoint({len(self.shares)} shares, places={self.last + 1}, epsilon={self.epsilon:.6g})"


SeveralRanks = QuantileTree | QuantileJoint
