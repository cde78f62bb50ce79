"""An exact joint choice of several places by rank, where weights at places count as spread evenly over fine places.

What is drawn is a list of fine places f_1 <= ... <= f_m, any m of them put in order, with probability proportional to
exp(-kappa * sum over j of |R(f_j) - R(f_(j-1)) - T_j|): R is the weight before a fine place, 0 for f_0 and all of it
for f_(m+1), and T_j what should lie between two of them.

Fine places are cut into pieces, a few hundred for each aim however many rows there are, along which R rises little
where it matters. Floats only propose: a recursion over pieces, in logarithms, takes for each term of the exponent the
least that it can be anywhere in its pieces, and gives the pieces' weights and the sum Z of all. Every step of a
proposal is drawn from integers, so its probability q is a known rational; the target weight w is a rational times
exp(-rational); and a proposal is kept with probability w / (M q), exactly. That needs M to be no less than any w / q,
which is at most Z if all is computed exactly: each integer is no less than its share, and each term of the exponent
no less than what was taken for it.

Ranks are measured from their aims A_j = T_1 + ... + T_j, as exact differences before anything is rounded: with
r_j = R(f_j) - A_j a term of the exponent is kappa |r_j - r_(j-1)|, with r_0 = 0, and r_(m+1) = R - A_(m+1) is what all
weight is off all targets, a draw of noise that does not grow with the weight. They are held within 2**40 / kappa, which
lowers no difference below 0 and raises none.

What floats may be off by: let V bound the size of the logarithms that matter. A window's sum takes at most 2 * 64
additions in logarithms, each off by less than 4 eps (V + 1), a level takes at most m + 8 more of them, there are m + 1
levels, and logarithms of widths and scaled ranks are off by 4 eps V each. So ln Z and each share are off by less than
(m + 2) (m + 200) 8 eps V together. M leaves four times that, and a millionth. A proposal whose exponent X is below
2**20 has kappa |r_j| <= X throughout, and sums are decided by terms no smaller than e**-(kappa |r_(m+1)| + 64 m), so
that V = (m + 2) (2**21 + 8 kappa |r_(m+1)|) is enough for it, and for an X of up to twice kappa |r_(m+1)|. With a
larger X, w / Z is below e**-(X/2 - 64 m), while no step of a proposal has a chance below 2**-62: w / q stays below M.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from privet.noise.choosing import accepts
from privet.noise.coins import Below
from privet.noise.source import SYSTEM, Source

from . import rank_tree

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]

_NEAR, _NEAR_EACH, _PARTS, _MORE, _GROWTH = 8, 4, 12, 40, 1.25
"""Around an aim pieces are even up to 8 times 1 / kappa off it, and then end ever a quarter further off.

With m quantiles they are even up to 4 m times 1 / kappa: all may be off by the same at no cost but at the ends, and
are, where many fine places hold nothing. A 1 / kappa has 12 parts, and fewer where m is more, to keep the pieces few.

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

    def __init__(self, found: rank_tree.Spread, targets: Sequence[Fraction], kappa: Fraction, *, end: int) -> None:
        self._found, self._targets, self._kappa = found, targets, kappa
        self._one, self._total, self._m = 1 << rank_tree.BITS, found.before(end), len(targets) - 1
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
        """Return kappa times how far ranks are off an aim, from exact differences, and held within +-2**40."""
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
            yield from (self._found.reached(rank + one) for one in away)

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
        """Return M: no less than e**log_sum, times what floats may be off by."""
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
    found = np.full(start.size, -np.inf)
    length, at, size = stop - start, start.copy(), 1
    while True:
        taken = np.flatnonzero(length & size)
        found[taken] = np.logaddexp(found[taken], values[at[taken]])
        at[taken] += size
        if 2 * size > int(length.max(initial=0)):
            return found
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
