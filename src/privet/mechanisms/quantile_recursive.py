"""Several quantiles at once: the middle one first, then each side by itself, on a budget for each level.

A number lies on one side of a released quantile, so all the choices of one level together cost what one of them costs.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from privet import noise
from privet.core.errors import BadParameter
from privet.core.event import Repeated
from privet.core.exact import positive
from privet.core.given import listed
from privet.core.sensitivity import Neighbors, read_neighbors

from .exponential import ExponentialEvent
from .mechanism import Mechanism, shown
from .quantile_one import choose_place, half_range, read_share
from .ruler import Ruler, read_ruler
from .tally import Counted, Places, Tally, count_places, list_places

_SPREAD_BITS, _COUNTED_BITS = 16, 4
"""Each place is divided into so many places that numbers at it are spread over, at random; of counts, fewer."""

_MOST_QUANTILES = 1000


@dataclass(frozen=True, init=False, repr=False)
class RecursiveQuantiles(Mechanism):
    """Release several quantiles of numbers between two public bounds, in order, by splitting at the middle one.

    Bounds, step, neighbours and what a right place is are those of `Quantile`. Numbers at the same place are first
    spread over finer places, at random and each by itself, so that a quantile can cut between equal numbers; what is
    released is the place.

    Guarantee: epsilon-DP for epsilon = levels * level_epsilon under add-remove neighbours, twice that under change-one,
    with losses of that range at each level. Spreading is a random function of each number alone. Given what was
    released before, the numbers are cut into the blocks between released places, a row that comes or goes is in one
    block of each level, and the choice in a block with relative share q has the rate level_epsilon / (2 max(q, 1 - q)):
    the proof is at `Quantile`. A row that changes is one that goes and one that comes, in one block or in two, so
    the ranges add. There are floor(log2(number of quantiles)) + 1 levels.
    Cites: [KSS22, recursion], [DDR20, bounded range].
    """

    shares: tuple[Fraction, ...]
    ruler: Ruler
    level_epsilon: Fraction
    neighbors: Neighbors

    def __init__(
        self,
        *,
        quantiles: object,
        low: object,
        high: object,
        epsilon: object,
        step: object = None,
        neighbors: Neighbors = "add-remove",
    ) -> None:
        object.__setattr__(self, "shares", read_shares(quantiles))
        object.__setattr__(self, "ruler", read_ruler(low, high, step))
        sides = 1 if read_neighbors(neighbors) == "add-remove" else 2
        object.__setattr__(self, "level_epsilon", positive(epsilon, "epsilon") / (sides * self.levels))
        object.__setattr__(self, "neighbors", neighbors)

    @property
    def levels(self) -> int:
        """The number of times that the numbers are split."""
        return len(self.shares).bit_length()

    @cached_property
    def event(self) -> Repeated:
        """The event of one release."""
        sides = 1 if self.neighbors == "add-remove" else 2
        return Repeated(ExponentialEvent(epsilon=sides * self.level_epsilon), self.levels)

    def release(self, values: Any) -> Any:
        """Return the quantiles of a list or one-dimensional array: int64 where every place is whole, else floats."""
        return self._answer(list_places(spread(self.ruler.place(values), _SPREAD_BITS)), _SPREAD_BITS)

    def release_counts(self, counts: Any) -> Any:
        """Return the quantiles of numbers of which only the counts at each place of the grid are given."""
        return self._answer(spread_counts(count_places(counts, self.ruler.last), _COUNTED_BITS), _COUNTED_BITS)

    def _answer(self, found: Tally, bits: int) -> Any:
        last = ((self.ruler.last + 1) << bits) - 1
        chosen = self._choose(found, self.shares, (Fraction(0), Fraction(1)), (0, last))
        return self.ruler.at([place >> bits for place in chosen])

    def _choose(
        self, found: Tally, shares: tuple[Fraction, ...], within: tuple[Fraction, Fraction], ends: tuple[int, int]
    ) -> list[int]:
        if not shares:
            return []
        middle = len(shares) // 2
        share, (floor, ceiling) = shares[middle], within
        q = (share - floor) / (ceiling - floor) if ceiling > floor else Fraction(1, 2)
        q = q.limit_denominator(2**20)
        rate = self.level_epsilon / (2 * half_range(q, "add-remove"))
        place = choose_place(found, q, rate, first=ends[0], last=ends[1])
        below, above = found.split(place)
        return [
            *self._choose(below, shares[:middle], (floor, share), (ends[0], place)),
            place,
            *self._choose(above, shares[middle + 1 :], (share, ceiling), (place, ends[1])),
        ]

    def __repr__(self) -> str:
        bounds = f"low={shown(self.ruler.low)}, high={shown(self.ruler.high)}"
        told = f"{len(self.shares)} quantiles, {bounds}, epsilon={self.epsilon:.6g}, neighbors={self.neighbors!r}"
        return f"RecursiveQuantiles({told})"


def read_shares(quantiles: object) -> tuple[Fraction, ...]:
    """Return the shares of several quantiles, which must rise."""
    allowed = f"a list of 1 to {_MOST_QUANTILES} rising shares from 0 to 1, such as [0.25, 0.5, 0.75]"
    given = listed(quantiles, "quantiles", allowed, most=_MOST_QUANTILES)
    shares = tuple(read_share(q, "each of quantiles") for q in given)
    if not 1 <= len(shares) <= _MOST_QUANTILES or any(a >= b for a, b in pairwise(shares)):
        raise BadParameter("quantiles", quantiles, allowed)
    return shares


def spread(places: Places, bits: int) -> Places:
    """Return each place divided into 2**bits, and each number at one of them, uniformly at random."""
    places <<= bits
    places |= noise.uniform_below(1 << bits, places.size)
    return places


def spread_counts(found: Counted, bits: int) -> Counted:
    """Return what `spread` makes of numbers of which only the counts are known, with the same distribution.

    The numbers at a place are halved `bits` times, each by a fair coin.
    """
    places, counts = found.places.tolist(), np.diff(found.through, prepend=0).tolist()
    for _ in range(bits):
        lefts = [noise.fair_heads(count) for count in counts]
        counts = [part for left, count in zip(lefts, counts, strict=True) for part in (left, count - left)]
        places = [part for place in places for part in (2 * place, 2 * place + 1)]
    kept = [(place, count) for place, count in zip(places, counts, strict=True) if count]
    return Counted(
        np.array([place for place, _ in kept], dtype=np.int64),
        np.cumsum(np.array([count for _, count in kept], dtype=np.int64), dtype=np.int64),
    )
