"""Ranks of places in many groups at once: what lies where, side by side in flat arrays, and a place chosen in each.

The choice in a group is that of `RankChoice`. Nothing here may quote a number.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from privet import noise
from privet.core.scan import Counts

from .tally import Places

_MOST_PLACES, _MOST_GROUPS = 2**18, 2**12
"""So many places that hold something, unless one group has more, and so many groups are looked at at a time."""


@dataclass(frozen=True, repr=False)
class Grouped:
    """The places of some groups that hold something, rising within each, what these weigh, and how many each has."""

    places: Places
    weights: Places
    sizes: Places

    def __repr__(self) -> str:
        return "Grouped(private)"

    @classmethod
    def of(cls, groups: Sequence[Counts]) -> Grouped:
        """Return some groups side by side."""
        nothing = np.empty(0, dtype=np.int64)
        places = np.concatenate([nothing, *(np.asarray(one, dtype=np.int64) for one, _ in groups)])
        weights = np.concatenate([nothing, *(np.asarray(one, dtype=np.int64) for _, one in groups)])
        return cls(places, weights, np.array([len(one) for one, _ in groups], dtype=np.int64))

    @property
    def totals(self) -> Places:
        """What each group weighs."""
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
    the places that hold numbers, one by one, and the runs between them; all that lies out of reach on one side is one
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
    """Return the sum of each group's values; modulo 2**64 on the way, which does no harm to what fits."""
    through = np.concatenate(([0], np.cumsum(values, dtype=np.int64)))
    ends = np.cumsum(sizes)
    return np.asarray(through[ends] - through[ends - sizes])
