"""A place of a public grid, chosen by its rank among counted numbers: the exponential mechanism in every group.

This is the quantile of queries. Numbers come as weights at places, what one person weighs in all groups together is
bounded, and the rank that is aimed at may lie a public distance off, which is how intervals are drawn.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from privet.core.complete import check_fields
from privet.core.errors import BadParameter, RequestError
from privet.core.rounding import float_up, inflate
from privet.core.scan import MOST_PLACES, Counts, Near
from privet.core.wire import wired

from .exponential import ExponentialEvent
from .lattice import tail_of
from .mechanism import Mechanism
from .rank_groups import Aims, Grouped, choose_ranks, in_blocks

REACH = 48
"""Nothing counts as further off than this many times 1 / rate: 2**62 places there weigh less than one that is right.

So what lies there need not be told apart, in the draw or by the engine.
"""

_ROOM = 60
"""Ranks off, times the denominator of the share, are kept below 2**60."""

_LARGEST_DENOMINATOR = 2**20
_WIDEST = 62


@wired("RankChoice", "share", "offset", "last", "span", "rate", later={"shift": 0})
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
        if not 0 <= self.share <= 1 or self.share.denominator > _LARGEST_DENOMINATOR:
            raise BadParameter("share", self.share, "a share from 0 to 1, such as 1/2, with a denominator up to 2**20")
        if not 0 <= self.last <= MOST_PLACES or self.span <= 0:
            raise BadParameter("last", self.last, "a grid of one place to 2**62, and a span above 0")
        if self.rate * 2**_ROOM < 2**10 * self.share.denominator:
            raise RequestError("this part of the budget is too small to choose a quantile with; spend more on it")
        if not 0 <= self.shift <= _WIDEST:
            raise BadParameter("shift", self.shift, f"from 0 to {_WIDEST}")
        if abs(self.offset) > self.reach:
            raise BadParameter("offset", self.offset, "within reach")

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
