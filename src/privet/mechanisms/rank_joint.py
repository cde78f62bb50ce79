"""Several places at once, by rank and by one joint choice: the best way to choose a handful, in every group of a query.

A little of epsilon buys the weight of each group. Then every gap between quantiles has a target, and what one person
weighs lies in some gaps: the whole list of misses moves by that, not by as much for each quantile.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import pairwise

import numpy as np

from privet.core.complete import check_fields
from privet.core.errors import BadParameter
from privet.core.event import Composed
from privet.core.rounding import float_up, inflate
from privet.core.scan import MOST_PLACES, Counts
from privet.core.wire import wired

from . import rank_tree
from .exponential import ExponentialEvent
from .joint_pieces import JointPieces
from .laplace import Laplace
from .lattice import tail_of
from .mechanism import Mechanism
from .quantile_joint import targets
from .rank_tree import RankTree, Spread

MOST = 24
"""So many quantiles are chosen jointly; for more, the time that it takes grows too long."""


@wired("RankJoint", "shares", "last", "norm", "count_epsilon", "kappa", "digits")
@dataclass(frozen=True)
class RankJoint(Mechanism):
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
        if not 0 <= self.digits <= rank_tree.BITS:
            raise BadParameter("digits", self.digits, f"from 0 to {rank_tree.BITS}")
        if not 0 <= self.last <= MOST_PLACES or min(self.norm, self.count_epsilon, self.kappa) <= 0:
            raise BadParameter(
                "norm", self.norm, "above 0, as are kappa, the epsilon of counts and the number of places"
            )
        if 2 * self.kappa * self.norm > rank_tree.MOST_EPSILON:
            raise BadParameter("kappa", self.kappa, f"at most {rank_tree.MOST_EPSILON} / (2 norm), no noise at all")
        _ = self.counting  # an epsilon too small for the noise on counts is refused here, and not at a release

    @classmethod
    def of(
        cls, shares: tuple[Fraction, ...], *, last: int, norm: Fraction, epsilon: Fraction, digits: int = 0
    ) -> RankJoint:
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

    def error(self, confidence: object = 0.95) -> float:
        """Return how much weight one of the choices is off by, at most, with this probability, for any data.

        Guarantee: let D be by how much N is off, and F the number of fine places. There are fine places with misses
        that add up to |D|, but for the weight of some fine places, which is not counted here; one that is off its aim
        by d makes them add up to 2 d - |D| or more. So d >= |D| + (ln(F^m) + t) / (2 kappa) has probability e^-t at
        most, and aims are off by |D| at most.
        Cites: [DR14, Thm 3.11].
        """
        tail = tail_of(confidence)
        end = (self.last + 1) << rank_tree.BITS
        deep = Fraction(inflate(len(self.shares) * math.log(end) - math.log(tail / 2)))
        return float_up(2 * Fraction(self.counting.error(1 - tail / 2)) + deep / (2 * self.kappa))

    def release(self, groups: Sequence[Counts]) -> list[list[int]]:
        """Return for each share a place for each group, from the weights at its places."""
        if not groups:
            return [[] for _ in self.shares]
        found = [Spread(*counts) for counts in groups]
        weights = np.empty(len(found), dtype=object)
        end = (self.last + 1) << rank_tree.BITS
        weights[:] = [one.before(end) >> rank_tree.BITS for one in found]
        noisy = self.counting.release(weights).tolist()
        chosen = [self._all(one, max(0, int(number)), end) for one, number in zip(found, noisy, strict=True)]
        return [[one[index] for one in chosen] for index in range(len(self.shares))]

    def _all(self, found: Spread, number: int, end: int) -> list[int]:
        fine = JointPieces(found, targets(self.shares, number), self.kappa, end=end).draw()
        return [one >> (rank_tree.BITS - self.digits) for one in fine]

    def __repr__(self) -> str:
        return f"RankJoint({len(self.shares)} shares, places={self.last + 1}, epsilon={self.epsilon:.6g})"


SeveralRanks = RankTree | RankJoint
