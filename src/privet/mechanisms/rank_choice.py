"""A place of a public grid, chosen by its rank among counted numbers: the exponential mechanism in every group.

This is the quantile of queries. Numbers come as weights at places, what one person weighs in all groups together is
bounded, and the rank that is aimed at may lie a public distance off, which is how intervals are drawn.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property

import numpy as np

from privet import noise
from privet.core.errors import BadParameter, RequestError
from privet.core.rounding import float_up, inflate
from privet.core.scan import Counts, Near

from .exponential import ExponentialEvent
from .lattice import tail_of
from .mechanism import Mechanism
from .tally import Counted

REACH = 48
"""Nothing counts as further off than this many times 1 / rate: 2**62 places there weigh less than one that is right.

So what lies there need not be told apart, in the draw or by the engine.
"""

_ROOM = 60
"""Ranks off, times the denominator of the share, are kept below 2**60."""

_LARGEST_DENOMINATOR = 2**20


@dataclass(frozen=True)
class RankChoice(Mechanism):
    """Choose in each group the place whose rank is near q n + offset, of the places 0 to `last`.

    With weight L below a place and T at or below it, it is off by max(0, L - q n - offset, q n + offset - T), or by
    `reach` if that is less, and is chosen with probability proportional to exp(-rate * off). Where there is an offset,
    as much weight as it is lies on one more place before the first and on one after the last, which stand for the
    first and the last: an aim beyond all numbers then finds the bounds. Places that are counted more finely are taken
    2**shift together first.

    Guarantee: the choices in all groups together are epsilon-DP for epsilon = rate * span, with a privacy loss of
    that range, if between neighbours the moves of `off` at all places of a group lie in a range of length r about 0,
    and the r of all groups add up to at most `span`: a product of choices with ranges rate * r has the sum as its
    range. `offset` and what is added for it are constants, and move nothing; the least of `off` and a constant moves
    towards where `off` moves and no further, so within the same range. That `span` holds is proven where scans are
    planned. Weight that lies in a block of places, all of them off by `reach` or more on one side, may lie anywhere
    in that block: no place's `off` changes by it. So what `near` allows an engine to take together leaves the law as
    it is.
    Cites: [Smi11, Alg. 2], [MT07, Thm 6], [DDR20, Lemma 3.2].
    """

    share: Fraction
    offset: int
    last: int
    span: Fraction
    rate: Fraction
    shift: int = field(default=0, metadata={"later": True})

    def __post_init__(self) -> None:
        if not 0 <= self.share <= 1 or self.share.denominator > _LARGEST_DENOMINATOR:
            raise BadParameter("share", self.share, "a share from 0 to 1, such as 1/2, with a denominator up to 2**20")
        if self.last < 0 or self.span <= 0:
            raise BadParameter("last", self.last, "a grid of at least one place, and a span above 0")
        if self.rate * 2**_ROOM < 2**10 * self.share.denominator:
            raise RequestError("this part of the budget is too small to choose a quantile with; spend more on it")

    @classmethod
    def middle(cls, share: Fraction, *, last: int, span: Fraction, epsilon: Fraction) -> RankChoice:
        """Return the choice of the quantile itself."""
        return cls(share, 0, last, span, epsilon / span)

    @classmethod
    def end(
        cls, share: Fraction, side: int, *, last: int, span: Fraction, epsilon: Fraction, tail: float, shift: int = 0
    ) -> RankChoice:
        """Return the choice of an end of the quantile's interval: below it for side -1, above it for side 1.

        Guarantee: the place is on its side of every right place of the quantile, or at it, except with probability
        `tail`. A place on the other side has L >= q n (or T <= q n), and is off by the offset t or more; a right place
        exists, so each of the last + 3 places that is off by t has at most e^(-rate t) of its probability.
        Cites: [DR14, Thm 3.11].
        """
        rate = epsilon / span
        deep = Fraction(inflate(math.log(last + 3) - math.log(tail)))
        if deep > REACH:
            raise BadParameter("tail", tail, "so large that the aim lies within reach")
        return cls(share, side * math.ceil(deep / rate), last, span, rate, shift)

    @property
    def reach(self) -> int:
        """What every place that is off by as much or more counts as off by."""
        return math.ceil(REACH / self.rate)

    def near(self, bits: int) -> Near:
        """Return what an engine must tell apart for this choice, where it may take 2**bits places together."""
        return Near(self.share, self.reach - self.offset, self.reach + self.offset, bits)

    @cached_property
    def event(self) -> ExponentialEvent:
        """The event of one choice in each group."""
        return ExponentialEvent(epsilon=self.rate * self.span)

    def error(self, confidence: object = 0.95) -> float:
        """Return how much weight the choice is off by, at most, with this probability, for any data.

        Guarantee: P[off >= (ln(places) + t) / rate] <= e^-t, as long as that is within reach; beyond, nothing is said.
        Cites: [DR14, Thm 3.11].
        """
        deep = math.log(self.last + 3) - math.log(tail_of(confidence))
        if deep > REACH:
            return math.inf
        return float_up(Fraction(inflate(deep)) / self.rate)

    def release(self, groups: Sequence[Counts]) -> list[int]:
        """Return a place for each group, from the weights at its places."""
        return [self._choose(*counts) for counts in groups]

    def _choose(self, places: Sequence[int], weights: Sequence[int]) -> int:
        where, weigh = np.array(places, dtype=np.int64), np.array(weights, dtype=np.int64)
        if self.shift and where.size:
            where >>= self.shift
            starts = np.flatnonzero(np.diff(where, prepend=-1))
            where, weigh = where[starts], np.add.reduceat(weigh, starts)
        pad = abs(self.offset)
        if pad:
            where = np.concatenate(([0], where + 1, [self.last + 2]))
            weigh = np.concatenate(([pad], weigh, [pad]))
        found = Counted(where, np.cumsum(weigh, dtype=np.int64))
        aim = self.share * (found.total - 2 * pad) + pad + self.offset
        chosen = choose_rank(found, aim, self.share.denominator, self.rate, last=self.last + (2 if pad else 0))
        return min(max(chosen - 1, 0), self.last) if pad else chosen

    def __repr__(self) -> str:
        return (
            f"RankChoice(share={self.share}, offset={self.offset}, places={self.last + 1}, epsilon={self.epsilon:.6g})"
        )


def choose_rank(found: Counted, aim: Fraction, denominator: int, rate: Fraction, *, last: int) -> int:
    """Return a place from 0 to last with probability proportional to exp(-rate * min(off, reach)), exactly.

    A place is off an aim by as many ranks as `RankChoice` says; the aim lies between 0 and all ranks. The options are
    the places that hold numbers, one by one, and the runs between them; all that lies out of reach on one side is one
    run, as all of it is equally likely. `denominator` is a multiple of that of the aim.

    Guarantee: exactly this distribution on all places, given a uniform operating system source.
    Cites: [Smi11, Alg. 2].
    """
    base, reach = math.floor(aim), math.ceil(REACH / rate)
    rest = int((aim - base) * denominator)
    # what is before these places has a rank of base - reach at most, unless there is nothing; what is behind likewise
    near = found.window(base - reach, base + 1 + reach)
    edges = np.concatenate(([-1], near.places, [last + 1]))
    widths = np.ones(2 * near.places.size + 1, dtype=np.int64)
    widths[::2] = np.diff(edges) - 1
    most = reach + 1
    ranks = np.clip(np.concatenate(([near.before], near.through)) - base, -most, most)
    ranks *= denominator
    ranks -= rest
    off = np.empty(widths.size, dtype=np.int64)
    np.abs(ranks, out=off[::2])
    off[1::2] = np.maximum(np.maximum(ranks[:-1], -ranks[1:]), 0)
    np.minimum(off, reach * denominator, out=off)
    chosen = noise.choose(widths, off, rate / denominator)
    if chosen % 2:
        return int(near.places[chosen // 2])
    return int(edges[chosen // 2]) + 1 + int(noise.uniform_below(int(widths[chosen])))
