"""How far a released quantile is from the true one: a half-width around it, chosen from a public ladder of them.

The value comes first, from any mechanism. Then one weighted choice of the exponential mechanism in every group returns
the number of a rung, and nothing else: not how far that rung clears the quantile, nor whether it does.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import accumulate, pairwise
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from privet import noise
from privet.core.errors import BadParameter, InvariantError, RequestError
from privet.core.given import check_fields
from privet.core.numbers import Number, float_up, inflate, log_up, sqrt_up
from privet.core.scan import Counts, Near
from privet.core.wire import wired

from .lattice import tail_of
from .mechanism import Mechanism, read_times
from .quantile_one import Places
from .rank_choice import LARGEST_DENOMINATOR, REACH, ROOM, Aims, Grouped, in_blocks
from .selection import ExponentialEvent

OUTWEIGHED = 3
"""No rung is outweighed more than this many times by all smaller rungs together."""

_FINEST = 20
"""The finest rung above 0 is 2**-20 of the range, or of a common ladder's value for it; and never below a place."""

_MOST_PLACES = 2**48
"""The most places of a grid: their numbers, times those of the groups that are drawn for at once, fit 64 bits."""

_PARTS = 64
"""Into this many parts the unit of ranks is divided where a root is added to them."""

_BESIDE = 100
"""As many units are added to those of a group before the root is taken: one more or less then hardly moves it."""

_HEAVIEST = 2**48
"""No unit weighs more where sampling is covered: the root, in ranks, then fits 64 bits."""

LEAST_ALPHA = Fraction(1, 2**64)
"""A ladder is for no less a probability of a miss: its slack then lies within reach."""

_DIGITS = 40
_ROUNDED = 1 + 1e-9
"""A probability that is computed by a difference of floats is taken for the intended one."""


@wired("RankLadder", "shares", "last", "span", "rate", "alpha", "digits", "beta", "heaviest")
@dataclass(frozen=True)
class QuantileLadder(Mechanism):
    """Choose in each group half-widths of intervals around released quantiles, all by the number of one rung.

    With one share, rung k is a number of places, r_k; with several, r_k(j) is theta_k times a scale of the j-th that
    comes from the released values. Let L be the weight below v - r_k, T that at or below v + r_k, and n all weight;
    m_k is the least, over the shares q, of q n - L and T - q n, where what reaches a bound of the grid counts as
    infinite. With the slack s = ln(A (1 - alpha) / alpha) / rate, rung k is off by max(0, s - m_k, m_(k-1) - s), or by
    `reach` if that is less, and is chosen with probability proportional to u_k exp(-rate * off). Rungs behind the
    first that reaches both bounds are left out. Weights u are the least whole ones with u_0 + ... + u_(k-1) <= A u_k.

    `values` come as parts of places, of 2**digits that each has. With `beta`, q n - L becomes q n - t - L and T - q n
    becomes T - q n - t, with t = z sqrt(q (1 - q) H (n + 100 H)) + (1 + z^2 / 6) H, rounded up, for units that weigh
    at most H, the `heaviest`, and z two-sided for beta: the intervals then contain quantiles of what the units were
    sampled from, independently of each other, as far as their number is distributed normally.

    Guarantee: the choices in all groups together, given the values, are epsilon-DP for epsilon = rate * span, with a
    privacy loss of that range, if between neighbours q n - L and T - q n of a group, at any place and for each share,
    move by at most r / 2 either way, and the r of all groups add up to at most `span`. A least one, a largest one with
    constants, and the least with `reach` move no further, so all `off` of a group lie in a range of length r; what is
    infinite, which rungs are left out, u and theta are functions of released values and constants. A unit that weighs
    D in the group moves t by at most `sway` D: the root's derivative is at most z sqrt(q (1 - q)) / 20, as n + 100 H is
    at least 100 H, and rounding up adds one part of a rank, where D is at least 1; `span` has to allow for it.
    Of coverage, whatever the data and the values: each interval holds every right place, where L <= q n <= T, all of
    them at once except with probability alpha. Let k* be the first rung that does. On a smaller one an end lies
    strictly inside the right places, so that m_k <= 0 and it is off by s or more. The first rung c with m_c >= s is off
    by 0, since m_(c-1) < s, and it exists, as the last one reaches both bounds; c >= k*. So the odds of a miss are at
    most (u_0 + ... + u_(k*-1)) e^(-rate s) / u_c <= A e^(-rate s) <= alpha / (1 - alpha).
    Cites: [MT07, Thm 6], [DDR20, bounded range], [HLZ26] for a width that is chosen around a released value.
    """

    shares: tuple[Fraction, ...]
    last: int
    span: Fraction
    rate: Fraction
    alpha: Fraction
    digits: int = 0
    beta: Fraction = Fraction(0)
    heaviest: int = 1

    def __post_init__(self) -> None:
        check_fields(self)
        rising = all(a < b for a, b in pairwise(self.shares))
        if not self.shares or not rising or not 0 < self.shares[0] <= self.shares[-1] < 1:
            raise BadParameter("shares", self.shares, "rising shares between 0 and 1")
        if math.lcm(*(share.denominator for share in self.shares)) > LARGEST_DENOMINATOR:
            raise BadParameter("shares", self.shares, "shares with a common denominator of at most 2**20")
        if not 0 <= self.last <= _MOST_PLACES or self.span <= 0 or not 0 <= self.digits <= _DIGITS:
            raise BadParameter("last", self.last, "a grid of one place to 2**48, a span above 0, and up to 40 digits")
        if not LEAST_ALPHA <= self.alpha < 1:
            raise BadParameter("alpha", self.alpha, "a probability from 2**-64 to below 1")
        if not 0 <= self.beta < 1 or (self.beta and self.beta < LEAST_ALPHA):
            raise BadParameter("beta", self.beta, "0, or from 2**-64 to below 1")
        if not 1 <= self.heaviest <= _HEAVIEST:
            raise BadParameter("heaviest", self.heaviest, "from 1 to 2**48: what is added for sampling fits 64 bits")
        if self.rate * 2**ROOM < 2**10 * self.unit:
            raise RequestError("this part of the budget is too small to choose an interval with; spend more on it")
        if any(before > OUTWEIGHED * own for before, own in zip(self._before, self.weights, strict=False)):
            raise InvariantError("a rung is outweighed by the smaller ones")

    @classmethod
    def of(
        cls,
        shares: tuple[Fraction, ...],
        *,
        last: int,
        span: Fraction,
        epsilon: Fraction,
        alpha: Fraction,
        digits: int = 0,
        beta: Fraction = Fraction(0),
        heaviest: int = 1,
    ) -> QuantileLadder:
        """Return the ladder that costs epsilon."""
        return cls(shares, last, span, epsilon / span, max(alpha, LEAST_ALPHA), digits, beta, heaviest)

    @cached_property
    def rungs(self) -> tuple[int, ...]:
        """The half-widths of one share in places: 0, then a factor of the root of 2 apart, then the whole range."""
        first = max(1, (self.last + 1) >> _FINEST)
        every = (first << place // 2 if place % 2 == 0 else _root_two(first << place // 2) for place in range(128))
        return tuple(sorted({0, self.last, *(rung for rung in every if rung < self.last)}))

    @cached_property
    def thetas(self) -> tuple[float, ...]:
        """The half-widths of several shares as parts of their scales: as `rungs`, up to where a place reaches all."""
        steps = 2 * (_FINEST + (self.last + 1).bit_length()) + 1
        thetas = (math.ldexp(math.sqrt(2) if place % 2 else 1.0, place // 2 - _FINEST) for place in range(steps))
        return (0.0, *thetas, math.inf)

    @cached_property
    def weights(self) -> tuple[int, ...]:
        """The weight of each rung: at least 1, and a third of all smaller ones together."""
        weights, total = [], 0
        for _ in self.rungs if len(self.shares) == 1 else self.thetas:
            weights.append(max(1, -(-total // OUTWEIGHED)))
            total += weights[-1]
        return tuple(weights)

    @cached_property
    def _before(self) -> tuple[int, ...]:
        """The weight of all smaller rungs, for each rung, and at the end that of all of them."""
        return tuple(accumulate(self.weights, initial=0))

    @cached_property
    def unit(self) -> int:
        """In how many parts a rank is divided, so that all shares of all ranks are whole."""
        return unit_of(self.shares, self.beta)

    @cached_property
    def slack(self) -> int:
        """By how much the right rung clears the quantile, in parts of a rank, rounded up."""
        odds = max(Fraction(1), OUTWEIGHED * (1 - self.alpha) / self.alpha)
        return math.ceil(self.unit * log_up(odds) / self.rate)

    @cached_property
    def reach(self) -> int:
        """The distance, in ranks, at which every rung that is off by as much or more counts."""
        return math.ceil(REACH / self.rate)

    def near(self, bits: int, most: int) -> Near:
        """Return the places that an engine must distinguish, of groups of at most this weight, in blocks of 2**bits.

        Guarantee: weight in a block that it need not tell apart may lie anywhere in it, and `off` stays as it is. In a
        block below, L and T at any place are at most q n - t - reach - s: so q n - t - L is reach + s or more, and
        T - q n - t is at most -(reach + s). Of the lesser of both, what is above s + reach counts as that, and what is
        below s - reach as that. Above, likewise.
        """
        far = self.reach + -(-self.slack // self.unit) + max(-(-self.root(q, most) // self.unit) for q in self.shares)
        return Near(self.shares[0], far, far, bits)

    @cached_property
    def event(self) -> ExponentialEvent:
        """The event of one choice in each group."""
        return ExponentialEvent(epsilon=self.rate * self.span)

    def error(self, confidence: Number = 0.95) -> float:
        """Return by how many ranks the next smaller rung clears the quantile, at most, with this probability.

        Guarantee: for any data. A rung that is off by (ln(sum of u) + t) / rate or more is chosen with probability
        e^-t at most, as one that is right weighs 1 or more; of a larger one, the next smaller clears by s and that.
        Cites: [DR14, Thm 3.11].
        """
        deep = math.log(self._before[-1]) - math.log(tail_of(confidence))
        if deep > REACH:
            return math.inf
        return float_up(Fraction(self.slack, self.unit) + Fraction(inflate(deep)) / self.rate)

    def typical(self) -> float:
        """Return about how many ranks an interval reaches to either side of the quantile, where rows lie dense."""
        return float_up(Fraction(self.slack, self.unit) + 1 / self.rate)

    def wider(self, tail: float) -> int:
        """Return how many rungs wider than the chosen one an interval is, so that it misses with at most this chance.

        Guarantee: rung k + j misses where k < k* - j, and c >= k*, so the odds of it are at most the largest of
        (u_0 + ... + u_(c-j-1)) / u_c, over c, times e^(-rate s). Behind the last rung there is the whole range. What
        beta allows for is added.
        """
        allowed = tail * _ROUNDED - float(self.beta)
        scale = float(self.alpha / (OUTWEIGHED * (1 - self.alpha)))
        for more in range(len(self.weights)):
            ratio = max((self._before[c - more] / self.weights[c] for c in range(more, len(self.weights))), default=0.0)
            odds = ratio * scale
            if odds / (1 + odds) <= allowed:
                return more
        return len(self.weights)

    def radii(self, values: Places) -> Places:
        """Return the half-widths of all rungs in places, for each share and each group, from released values."""
        if len(self.shares) == 1:
            return np.broadcast_to(np.array(self.rungs, dtype=np.int64), (*values.shape, len(self.rungs)))
        parts = values.astype(np.float64) / 2.0**self.digits
        gaps = np.diff(parts, axis=0) / np.diff([float(share) for share in self.shares])[:, None]
        sides = np.concatenate((gaps[:1], gaps, gaps[-1:]))
        scales = np.maximum((sides[:-1] + sides[1:]) / 2, 1.0)
        wide = np.floor(scales[:, :, None] * np.array(self.thetas) + 0.5)
        return np.asarray(np.minimum(wide, float(self.last)).astype(np.int64))

    def half_widths(self, chosen: Places, values: Places, more: int) -> Places:
        """Return the half-widths of chosen rungs, or of as many rungs wider, for each share and each group."""
        index = np.minimum(chosen + more, len(self.weights) - 1)
        radii = self.radii(values)
        return np.asarray(np.take_along_axis(radii, np.broadcast_to(index, values.shape)[:, :, None], axis=2)[:, :, 0])

    def release(self, groups: Sequence[Counts], values: Sequence[Sequence[int]] = ()) -> list[int]:
        """Return the number of a rung for each group, from the weights at its places and the values of each share."""
        if len(values) != len(self.shares) or any(len(row) != len(groups) for row in values):
            raise InvariantError("a ladder stands on a released value of each share in each group")
        rungs: list[int] = []
        around = np.array(values, dtype=np.int64).reshape(len(self.shares), len(groups))
        for block in in_blocks(groups):
            at = slice(len(rungs), len(rungs) + len(block))
            rungs += self._choose(Grouped.of(block), around[:, at]).tolist()
        return rungs

    def simulate(self, value: tuple[Counts, Sequence[int]], times: int) -> list[int]:
        """Return as many rungs for one group and the values of its shares, drawn at once."""
        counts, values = value
        return self.release([counts] * read_times(times), [[place] * times for place in values])

    def _choose(self, held: Grouped, values: Places) -> Places:
        count, parts = len(self.weights), self.unit
        margins, infinite = self._margins(held, values)
        before = np.concatenate((np.full((len(margins), 1), -self._far * parts), margins[:, :-1]), axis=1)
        off = np.maximum(np.maximum(self.slack - margins, before - self.slack), 0)
        np.minimum(off, self.reach * parts, out=off)
        # a rung wider than the first one that reaches both bounds would be the same interval again
        kept = np.concatenate((np.ones((len(margins), 1), dtype=np.bool_), ~infinite[:, :-1]), axis=1)
        weights = np.where(kept, np.array(self.weights, dtype=np.int64), 0)
        sizes = np.full(len(margins), count, dtype=np.int64)
        chosen = noise.choose_each(weights.ravel(), off.ravel(), sizes, self.rate / parts)
        return np.asarray(chosen - np.arange(len(margins)) * count)

    def _margins(self, held: Grouped, values: Places) -> tuple[Places, NDArray[np.bool_]]:
        """Return by how much each rung clears the quantiles of its group, in parts of a rank, and which reach all."""
        totals, radii = held.totals, self.radii(values)
        places = np.clip(values >> self.digits, 0, self.last)
        margins = np.full(radii.shape[1:], self._far * self.unit, dtype=np.int64)
        infinite = np.ones(radii.shape[1:], dtype=np.bool_)
        for share, own, around in zip(self.shares, radii, places, strict=True):
            low, high = around[:, None] <= own, around[:, None] + own >= self.last
            below, above = self._sides(held, share, own, around, totals)
            below[low] = above[high] = self._far * self.unit
            np.minimum(margins, np.minimum(below, above), out=margins)
            infinite &= low & high
        return margins, infinite

    def _sides(
        self, held: Grouped, share: Fraction, radii: Places, around: Places, totals: Places
    ) -> tuple[Places, Places]:
        """Return q n - t - L below the lower end, and T - q n - t at the upper one, for each group and rung.

        A place enters the interval at the first rung that is no smaller than its distance. Numbers beyond what is told
        apart are clamped to it: that moves no score.
        """
        groups, count = radii.shape
        group = np.repeat(np.arange(groups), held.sizes)
        away = held.places - around[group]
        keys = (radii + np.arange(groups)[:, None] * (self.last + 1)).ravel()
        enters = np.searchsorted(keys, np.abs(away) + group * (self.last + 1)) - group * count
        under = np.zeros((groups, count + 1), dtype=np.int64)
        over = np.zeros((groups, count + 1), dtype=np.int64)
        low, high = away < 0, away > 0
        np.add.at(under, (group[low], enters[low]), held.weights[low])
        np.add.at(over, (group[high], enters[high]), held.weights[high])
        below = np.cumsum(under[:, :0:-1], axis=1)[:, ::-1]  # those that enter later
        beyond = np.cumsum(over[:, :0:-1], axis=1)[:, ::-1]
        aims = Aims.at(share, totals, 0)
        times = self.unit // share.denominator
        rest = (aims.rest * times)[:, None]
        # in parts of a rank they need not fit 64 bits
        roots = [divmod(self.root(share, total), self.unit) for total in (totals.tolist() if self.beta else [0])]
        whole, part = (np.array(column, dtype=np.int64)[:, None] for column in zip(*roots, strict=True))
        lower = self._held(aims.whole[:, None] - below - whole) + rest - part
        upper = self._held((totals - aims.whole)[:, None] - beyond - whole) - rest - part
        return lower, upper

    def _held(self, ranks: Places) -> Places:
        return np.asarray(np.clip(ranks, -self._far, self._far) * self.unit)

    @cached_property
    def _far(self) -> int:
        """Ranks by which a rung clears are distinguished up to this many, either way."""
        return self.reach + -(-self.slack // self.unit) + 2

    def root(self, share: Fraction, total: int) -> int:
        """Return t for a group that weighs so much, in parts of a rank, rounded up."""
        if not self.beta:
            return 0
        squared = spread_of(share, self.beta) * self.heaviest * (total + _BESIDE * self.heaviest) * self.unit**2
        whole = -(-squared.numerator // squared.denominator)
        # numbers of units are whole, and not quite symmetric about their mean: a constant makes up for both
        beside = math.ceil((1 + two_sided(self.beta) ** 2 / 6) * self.heaviest * self.unit)
        return math.isqrt(whole - 1) + 1 + beside

    def __repr__(self) -> str:
        return (
            f"RankLadder({len(self.shares)} shares, places={self.last + 1}, rungs={len(self.weights)}, "
            f"alpha={float(self.alpha):.4g}, epsilon={self.epsilon:.6g})"
        )


def unit_of(shares: Sequence[Fraction], beta: Fraction) -> int:
    """Return in how many parts a rank is divided: in those of all shares, and finer where a root is added."""
    return math.lcm(*(share.denominator for share in shares)) * (_PARTS if beta else 1)


def spread_of(share: Fraction, beta: Fraction) -> Fraction:
    """Return z**2 q (1 - q), rounded up: how far ranks of a sample spread, squared, for each unit of it."""
    return two_sided(beta) ** 2 * share * (1 - share)


def two_sided(beta: Fraction) -> Fraction:
    """Return z, rounded up: a normal number is further from its mean than z deviations with probability beta."""
    return Fraction(math.ceil(inflate(-NormalDist().inv_cdf(float(beta) / 2)) * 2**20), 2**20)


def sway_of(shares: Sequence[Fraction], beta: Fraction) -> Fraction:
    """Return by how much a unit of weight 1 that comes or goes moves what is added to ranks for sampling, at most."""
    if not beta:
        return Fraction(0)
    return max(sqrt_up(spread_of(share, beta)) for share in shares) / 20 + Fraction(1, unit_of(shares, beta))


def _root_two(number: int) -> int:
    """Return the root of 2 times a number, rounded to the nearest whole one."""
    return (math.isqrt(8 * number * number) + 1) // 2
