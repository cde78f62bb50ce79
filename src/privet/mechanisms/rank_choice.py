"""A place of a public grid, chosen by its rank among counted numbers: the exponential mechanism in every group.

This is the quantile of queries. Numbers come as weights at places, one person's weight in all groups together is
bounded, and the rank that is aimed at may lie a public distance off, which is how intervals are drawn.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from privet import noise
from privet.core.errors import BadParameter, RequestError
from privet.core.given import check_fields
from privet.core.numbers import Number, float_up, inflate
from privet.core.scan import MOST_PLACES, Counts, Near
from privet.core.wire import wired

from .lattice import tail_of
from .mechanism import Mechanism
from .quantile_one import Places
from .selection import ExponentialEvent

# Ranks of places in many groups at once: their weights, side by side in flat arrays, and a place chosen in each.
#
# The choice in a group is that of `RankChoice`. Nothing here may quote a number.


_MOST_PLACES, _MOST_GROUPS = 2**18, 2**12
"""The most places with weight, unless one group has more, and the most groups, that are read at a time."""


@dataclass(frozen=True, repr=False)
class Grouped:
    """The places of some groups with weight, rising within each, their weights, and how many each group has."""

    places: Places
    weights: Places
    sizes: Places

    def __repr__(self) -> str:
        return "Grouped(private)"

    @classmethod
    def of(cls, groups: Sequence[Counts]) -> Grouped:
        """Return some groups side by side."""
        nothing = np.empty(0, dtype=np.int64)
        places = np.concatenate([nothing, *(np.asarray(at, dtype=np.int64) for at, _ in groups)])
        weights = np.concatenate([nothing, *(np.asarray(weight, dtype=np.int64) for _, weight in groups)])
        return cls(places, weights, np.array([len(at) for at, _ in groups], dtype=np.int64))

    @property
    def totals(self) -> Places:
        """The weight of each group."""
        return _within(self.weights, self.sizes)

    def coarser(self, shift: int) -> Grouped:
        """Return the same with 2**shift places taken together."""
        places = self.places >> shift
        first = np.ones(places.size, dtype=np.bool_)
        first[1:] = places[1:] != places[:-1]
        first[_starts(self.sizes)[self.sizes > 0]] = True
        kept = np.flatnonzero(first)
        weights = np.add.reduceat(self.weights, kept) if kept.size else self.weights
        return Grouped(places[kept], weights, _within(first, self.sizes))

    def padded(self, pad: int, last: int) -> Grouped:
        """Return the same with so much weight on one more place before the first, and on one after the last."""
        every = np.arange(self.sizes.size)
        at = np.arange(self.places.size) + 2 * np.repeat(every, self.sizes) + 1
        places = np.empty(self.places.size + 2 * every.size, dtype=np.int64)
        weights = np.full(places.size, pad, dtype=np.int64)
        places[at], weights[at] = self.places + 1, self.weights
        front = _starts(self.sizes) + 2 * every
        places[front], places[front + self.sizes + 1] = 0, last + 2
        return Grouped(places, weights, self.sizes + 2)


@dataclass(frozen=True, repr=False)
class Aims:
    """A rank for each group, as its whole part and a rest in parts of a common denominator."""

    whole: Places
    rest: Places
    denominator: int

    def __repr__(self) -> str:
        return "Aims(private)"

    @classmethod
    def at(cls, share: Fraction, totals: Places, offset: int) -> Aims:
        """Return share * total + offset, for totals below 2**62 and a share with a denominator of at most 2**20."""
        times, left = np.divmod(totals, share.denominator)
        whole, rest = np.divmod(left * share.numerator, share.denominator)
        return cls(times * share.numerator + whole + offset, rest, share.denominator)


def in_blocks(groups: Sequence[Counts]) -> Iterator[Sequence[Counts]]:
    """Yield the groups, in order, as many at a time as fit well into memory."""
    start, held = 0, 0
    for index, (places, _) in enumerate(groups):
        if index > start and (held + len(places) > _MOST_PLACES or index - start == _MOST_GROUPS):
            yield groups[start:index]
            start, held = index, 0
        held += len(places)
    if start < len(groups):
        yield groups[start:]


def choose_ranks(held: Grouped, aims: Aims, rate: Fraction, *, last: int, reach: int) -> Places:
    """Return for each group a place from 0 to last, with probability proportional to exp(-rate * min(off, reach)).

    A place is off an aim by as many ranks as `RankChoice` says; the aim lies between 0 and all ranks. The options are
    the places with numbers, one by one, and the runs between them; everything out of reach on one side is one
    run, as all of it is equally likely.

    Guarantee: exactly this distribution on all places, independently in each group, given a uniform operating system
    source.
    Cites: [Smi11, Alg. 2].
    """
    every = np.arange(held.sizes.size)
    through = np.cumsum(held.weights)
    through -= np.repeat(np.concatenate(([0], through))[_starts(held.sizes)] + aims.whole, held.sizes)
    before = through - held.weights
    # what is before these places has a rank of `reach` below the aim at most, unless there is nothing; behind likewise
    near = (through > -reach) & (before < reach + 1)
    places, before, through = held.places[near], before[near], through[near]
    sizes = _within(near, held.sizes)
    group = np.repeat(every, sizes)
    starts, ends, some = _starts(sizes), np.cumsum(sizes), sizes > 0
    # options in order: the run before a place, the place, and so on; and a group's last run
    at = 2 * np.arange(places.size) + group
    final = 2 * ends + every
    lefts, widths = (np.empty(2 * places.size + every.size, dtype=np.int64) for _ in range(2))
    lefts[at + 1] = places
    lefts[at[1:]] = places[:-1] + 1
    lefts[(2 * starts + every)[some]] = 0
    lefts[final] = 0
    lefts[final[some]] = places[ends[some] - 1] + 1
    widths[at], widths[at + 1] = places - lefts[at], 1
    widths[final] = last + 1 - lefts[final]

    def off_by(ranks: Places, rest: Places) -> Places:
        return np.asarray(np.clip(ranks, -reach - 1, reach + 1) * aims.denominator - rest)

    rest = aims.rest[group]
    low, high = off_by(before, rest), off_by(through, rest)
    off = np.empty(lefts.size, dtype=np.int64)
    off[at] = np.abs(low)
    off[at + 1] = np.maximum(np.maximum(low, -high), 0)
    top = -aims.whole
    top[some] = through[ends[some] - 1]
    off[final] = np.abs(off_by(top, aims.rest))
    np.minimum(off, reach * aims.denominator, out=off)
    chosen = noise.choose_each(widths, off, 2 * sizes + 1, rate / aims.denominator)
    return np.asarray(lefts[chosen] + noise.below_each(widths[chosen]))


def _starts(sizes: Places) -> Places:
    return np.asarray(np.cumsum(sizes) - sizes)


def _within(values: Places | NDArray[np.bool_], sizes: Places) -> Places:
    """Return the sum of each group's values; modulo 2**64 on the way, which does no harm to sums that fit."""
    through = np.concatenate(([0], np.cumsum(values, dtype=np.int64)))
    ends = np.cumsum(sizes)
    return np.asarray(through[ends] - through[ends - sizes])


REACH = 48
"""Nothing counts as further off than this many times 1 / rate: 2**62 places there weigh less than one that is right.

So what lies there need not be distinguished, in the draw or by the engine.
"""

ROOM = 60
"""Ranks off, times the denominator of the share, are kept below 2**60."""

LARGEST_DENOMINATOR = 2**20
_WIDEST = 62


@wired("RankChoice", "share", "offset", "last", "span", "rate", later={"shift": 0})
@dataclass(frozen=True)
class QuantileChoice(Mechanism):
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
    Cites: [Smi11, Alg. 2], [MT07, Thm 6], [DDR20, bounded range].
    """

    share: Fraction
    offset: int
    last: int
    span: Fraction
    rate: Fraction
    shift: int = 0

    def __post_init__(self) -> None:
        check_fields(self)
        if not 0 <= self.share <= 1 or self.share.denominator > LARGEST_DENOMINATOR:
            raise BadParameter("share", self.share, "a share from 0 to 1, such as 1/2, with a denominator up to 2**20")
        if not 0 <= self.last <= MOST_PLACES or self.span <= 0:
            raise BadParameter("last", self.last, "a grid of one place to 2**62, and a span above 0")
        if self.rate * 2**ROOM < 2**10 * self.share.denominator:
            raise RequestError("this part of the budget is too small to choose a quantile with; spend more on it")
        if not 0 <= self.shift <= _WIDEST:
            raise BadParameter("shift", self.shift, f"from 0 to {_WIDEST}")
        if abs(self.offset) > self.reach:
            raise BadParameter("offset", self.offset, "within reach")

    @classmethod
    def middle(cls, share: Fraction, *, last: int, span: Fraction, epsilon: Fraction) -> QuantileChoice:
        """Return the choice of the quantile itself."""
        return cls(share, 0, last, span, epsilon / span)

    @classmethod
    def end(
        cls, share: Fraction, side: int, *, last: int, span: Fraction, epsilon: Fraction, tail: float, shift: int = 0
    ) -> QuantileChoice:
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
        """The distance at which every place that is off by as much or more counts."""
        return math.ceil(REACH / self.rate)

    def near(self, bits: int) -> Near:
        """Return the places that an engine must distinguish for this choice, where it may take 2**bits together."""
        return Near(self.share, self.reach - self.offset, self.reach + self.offset, bits)

    @cached_property
    def event(self) -> ExponentialEvent:
        """The event of one choice in each group."""
        return ExponentialEvent(epsilon=self.rate * self.span)

    def error(self, confidence: Number = 0.95) -> float:
        """Return how much weight the choice is off by, at most, with this probability, for any data.

        Guarantee: P[off >= (ln(places) + t) / rate] <= e^-t, as long as that is within reach; beyond, nothing is said.
        Cites: [DR14, Thm 3.11].
        """
        deep = math.log(self.last + 3) - math.log(tail_of(confidence))
        if deep > REACH:
            return math.inf
        return float_up(Fraction(inflate(deep)) / self.rate)

    def release(self, groups: Sequence[Counts]) -> list[int]:
        """Return a place for each group, from the weights at its places; some groups are drawn for at once."""
        return [place for block in in_blocks(groups) for place in self._choose(Grouped.of(block))]

    def _choose(self, held: Grouped) -> list[int]:
        pad, totals = abs(self.offset), held.totals
        if self.shift:
            held = held.coarser(self.shift)
        if pad:
            held = held.padded(pad, self.last)
        aims = Aims.at(self.share, totals, pad + self.offset)
        last = self.last + (2 if pad else 0)
        chosen = choose_ranks(held, aims, self.rate, last=last, reach=self.reach)
        held_to = np.clip(chosen - 1, 0, self.last) if pad else chosen
        return [int(place) for place in held_to.tolist()]

    def __repr__(self) -> str:
        return (
            f"RankChoice(share={self.share}, offset={self.offset}, places={self.last + 1}, epsilon={self.epsilon:.6g})"
        )
