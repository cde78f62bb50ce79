"""Several quantiles at once: one joint choice, or the middle one first and then each side separately."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privet import noise
from privet.core.errors import BadParameter, InvariantError
from privet.core.event import Composed, Event, Repeated
from privet.core.given import listed, set_fields
from privet.core.numbers import Number, positive
from privet.core.unit import Neighbors, read_neighbors
from privet.noise.choosing import accepts
from privet.noise.coins import Below
from privet.noise.source import SYSTEM, Source

from .laplace import DiscreteLaplaceEvent
from .lattice import Ruler, read_ruler
from .mechanism import Mechanism, shown
from .quantile_one import (
    CountedTally,
    Places,
    Quantile,
    Tally,
    choose_place,
    count_places,
    half_range,
    list_places,
    read_share,
)
from .selection import ExponentialEvent

# An exact joint choice of several ranks: quantiles at once, with probability falling in the miscounts between them.
#
# What is drawn is a list of places o_1 <= ... <= o_m, any m places put in order, with probability proportional to
# exp(-kappa * sum over j of |n_j - T_j|), n_j the rows after o_(j-1) and up to o_j, T_j what there should be. All
# places with t rows at or below them are alike; there are W_t of them. So ranks are drawn first, by a recursion over
# ranks that takes O(m n + m^2 n) steps in float64, and then places.
#
# Floats only propose. Every step of a proposal is drawn from integers, so its probability q is a known rational; the
# target weight w is a rational times exp(-rational); and the proposal is kept with probability w / (M q), exactly.
# That this is at most 1 needs M to be no less than any w / q. Each step's integers are rounded up from the floats,
# and what remains is the ratio of a sum, as drawn from, to the same sum as the recursion computed it: all terms are
# positive, each is a product of at most 4 n + 4000 rounded factors, and floors lift what would vanish. So each ratio
# and each rounding up is below 1 + 2**-30 + 16 n / 2**50, there are fewer than 4 m + 2 of them in a proposal, and M
# leaves a margin for as many. So a proposal is refused about once in a million.


Floats = NDArray[np.float64]
Integers64 = NDArray[np.int64]

_FLOOR = 2.0**-880
_LARGEST_UNIT = 950
_TOP_BITS = 61
_ROUND_UP = 1 + 2.0**-38
_MOST_ATTEMPTS = 10_000


class JointRanks:
    """The law of m ranks for given widths, targets and kappa, prepared once.

    Guarantee: draws have exactly the distribution of the module's first paragraph, given a uniform system source.
    Cites: [GJK21, JointExp] for a joint choice by recursion, [Dev86, Sec. II.3] for rejection.
    """

    def __init__(self, widths: Integers64, targets: list[Fraction], kappa: Fraction) -> None:
        self._widths, self._targets, self._kappa = widths, targets, kappa
        self._n, self._m = widths.size - 1, len(targets) - 1
        self._places = int(widths.sum())
        self._present = widths > 0
        with np.errstate(divide="ignore"):
            self._log_shares: Floats = np.log(widths / float(self._places))
        self._room = (1 + Fraction(1, 2**30) + Fraction(16 * self._n, 2**50)) ** (4 * self._m + 2)
        self._entries: list[tuple[Floats, int]] = []  # for a quantile that starts a group at rank t, times a power of 2
        self._ends: list[tuple[Floats, int]] = []  # for the quantiles so far, the last of them at rank t
        for a in range(self._m):
            self._entries.append(self._enter(a))
            self._ends.append(self._end(a))

    def draw(self, *, source: Source = SYSTEM) -> list[int]:
        """Return m ranks in order."""
        for _ in range(_MOST_ATTEMPTS):
            ranks, ratio = self._propose(source)
            if accepts(ratio / self._room, self._exponent(ranks), source=source):
                return ranks
        raise InvariantError("a joint choice keeps none of its proposals")

    def _exponent(self, ranks: list[int]) -> Fraction:
        steps = np.diff([0, *ranks, self._n]).tolist()
        misses = [abs(step - target) for step, target in zip(steps, self._targets, strict=True)]
        return self._kappa * sum(misses, Fraction(0))

    def _propose(self, source: Source) -> tuple[list[int], Fraction]:
        """Return ranks and the rational part of w / q, up to a constant that M makes good."""
        last, exponent = self._ends[-1]
        weights = last * self._decay(self._n - np.arange(self._n + 1), self._targets[-1])
        t, bound, _, unit = _pick(weights, self._present, source)
        ratio = Fraction(2) ** (unit - exponent) / bound
        ranks: list[int] = []
        j = self._m
        while True:
            k, share = self._group(j, t, source)
            ranks = [t] * k + ranks
            ratio *= share * Fraction(int(self._widths[t]), self._places) ** k / math.factorial(k)
            j -= k
            if j == 0:
                return ranks, ratio
            ends, exponent = self._ends[j - 1]
            weights = ends[:t] * self._decay(t - np.arange(t), self._targets[j])
            t, bound, total, _ = _pick(weights, self._present[:t], source)
            ratio *= Fraction(total, bound)

    def _group(self, j: int, t: int, source: Source) -> tuple[int, Fraction]:
        """Return how many of the first j quantiles lie at rank t together, and one over the chance of that number."""
        exponent = self._ends[j - 1][1]
        weights, allowed = np.zeros(j), np.zeros(j, dtype=np.bool_)
        before = bool(self._present[:t].any())
        for k in range(1, j + 1):
            entry, shift = self._entries[j - k]
            allowed[k - 1] = before or k == j  # where no place lies before, all of them are here
            if allowed[k - 1]:
                weights[k - 1] = entry[t] * self._together(j, k, self._log_shares[t : t + 1], shift - exponent)[0]
        picked, bound, total, _ = _pick(weights, allowed, source)
        return picked + 1, Fraction(total, bound)

    def _together(self, j: int, k: int, log_shares: Floats, shift: int) -> Floats:
        """Return share**k / k! and the cost of the empty gaps inside a group, times 2**shift, for each rank."""
        empty = float(self._kappa * sum(self._targets[j - k + 1 : j], Fraction(0)))
        return np.asarray(np.exp(k * log_shares + (shift * math.log(2) - empty - math.lgamma(k + 1))))

    def _enter(self, a: int) -> tuple[Floats, int]:
        if a == 0:
            return _scaled(self._decay(np.arange(self._n + 1), self._targets[0]), self._present, 0)
        ends, exponent = self._ends[a - 1]
        return _scaled(_spread(ends, self._targets[a], float(self._kappa)), self._present, exponent)

    def _end(self, a: int) -> tuple[Floats, int]:
        j = a + 1
        exponent = self._entries[a][1]
        total: Floats = np.zeros(self._n + 1)
        for k in range(1, j + 1):
            entry, shift = self._entries[j - k]
            total += entry * self._together(j, k, self._log_shares, shift - exponent)
        return _scaled(total, self._present, exponent)

    def _decay(self, steps: Integers64, target: Fraction) -> Floats:
        """Return exp(-kappa |step - target|)."""
        misses = steps - float(target)
        np.abs(misses, out=misses)
        misses *= -float(self._kappa)
        return np.asarray(np.exp(misses, out=misses))


def _pick(weights: Floats, allowed: NDArray[np.bool_], source: Source) -> tuple[int, int, int, int]:
    """Return an index drawn in proportion to weights rounded up to integers, its integer, their sum, and the unit."""
    total = float(weights.sum())
    unit = min(_TOP_BITS - math.frexp(total)[1], _LARGEST_UNIT) if total > 0 else _LARGEST_UNIT
    bounds = (weights * math.ldexp(_ROUND_UP, unit)).astype(np.int64)
    bounds += allowed
    np.cumsum(bounds, out=bounds)
    index = int(np.searchsorted(bounds, Below(int(bounds[-1])).draw(source), side="right"))
    return index, int(bounds[index]) - (int(bounds[index - 1]) if index else 0), int(bounds[-1]), unit


def _scaled(values: Floats, present: NDArray[np.bool_], exponent: int) -> tuple[Floats, int]:
    """Return values, in units of 2**exponent, scaled so that the largest is about 1; none that counts vanishes."""
    shift = math.frexp(float(values[present].max()))[1]
    scaled = np.where(present, np.maximum(np.ldexp(values, -shift), _FLOOR), 0.0)
    return scaled, exponent + shift


def _spread(ends: Floats, target: Fraction, kappa: float) -> Floats:
    """Return, for each rank t, the sum over s < t of ends[s] exp(-kappa |t - s - target|), from positive terms alone.

    Steps d = t - s from the target on decay from there: a recursion. Shorter ones form a window of the last `span`
    ranks, whose weights rise with d. Cut into blocks of that length, a window is the end of one block, a recursion
    from the right, and the beginning of the next, a running sum.
    """
    from scipy.signal import lfilter

    n = ends.size
    entry = np.zeros(n)
    decay = [1.0, -math.exp(-kappa)]
    start = max(math.ceil(target), 1)
    if start < n:
        tail = lfilter([1.0], decay, ends[: n - start])
        entry[start:] = tail * math.exp(-kappa * float(start - target))
    span = min(start - 1, n - 1)
    if span > 0:
        blocks = -(-n // span) + 1
        padded = np.zeros((blocks + 1) * span)
        padded[span : span + n] = ends
        table = padded.reshape(-1, span)
        falling = np.exp(-kappa * np.arange(span))
        left = lfilter([1.0], decay, table[:, ::-1], axis=1)[:, ::-1].reshape(-1)
        right = np.cumsum(table * falling, axis=1).reshape(-1)
        t = np.arange(n)
        within = t % span
        reach = kappa * float(target - span)
        entry += math.exp(-reach) * left[:n]
        entry += np.where(within > 0, np.exp(-reach - kappa * (span - within)) * right[t + span - 1], 0.0)
    return entry


# Several quantiles at once: the middle one first, then each side separately, on a budget for each level.
#
# A number lies on one side of a released quantile, so all the choices of one level together cost what one of them
# costs.


_SPREAD_BITS, _COUNTED_BITS = 16, 4
"""Each place is divided into this many places that numbers at it are spread over, at random; of counts, fewer."""

_MOST_QUANTILES = 1000


@dataclass(frozen=True, init=False, repr=False)
class RecursiveQuantiles(Mechanism):
    """Release several quantiles of numbers between two public bounds, in order, by splitting at the middle one.

    Bounds, step, neighbours and what a right place is are those of `Quantile`. Numbers at the same place are first
    spread over finer places, at random and each separately, so that a quantile can cut between equal numbers; the
    release is the place.

    Args:
        quantiles: rising shares from 0 to 1, such as [0.25, 0.5, 0.75].
        low: the lower public bound.
        high: the upper public bound.
        epsilon: the privacy loss of one release, above 0.
        step: the grid of the answers; a fine one is chosen if left out.
        neighbors: "add-remove" or "change-one".

    Raises:
        BadParameter: if a number is out of range.

    Example:
        >>> mechanism = mechanisms.RecursiveQuantiles(quantiles=[0.25, 0.75], low=0, high=120, epsilon=1)
        >>> mechanism.shares
        (Fraction(1, 4), Fraction(3, 4))

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
        quantiles: Iterable[Number],
        low: Number,
        high: Number,
        epsilon: Number,
        step: Number | None = None,
        neighbors: Neighbors = "add-remove",
    ) -> None:
        set_fields(self, shares=read_shares(quantiles), ruler=read_ruler(low, high, step))
        sides = 1 if read_neighbors(neighbors) == "add-remove" else 2
        set_fields(self, level_epsilon=positive(epsilon, "epsilon") / (sides * self.levels), neighbors=neighbors)

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
        """Return the quantiles of numbers from their counts at each place of the grid."""
        return self._answer(spread_counts(count_places(counts, self.ruler.last), _COUNTED_BITS), _COUNTED_BITS)

    def _answer(self, tally: Tally, bits: int) -> Any:
        last = ((self.ruler.last + 1) << bits) - 1
        chosen = self._choose(tally, self.shares, (Fraction(0), Fraction(1)), (0, last))
        return self.ruler.at([place >> bits for place in chosen])

    def _choose(
        self, tally: Tally, shares: tuple[Fraction, ...], within: tuple[Fraction, Fraction], ends: tuple[int, int]
    ) -> list[int]:
        if not shares:
            return []
        middle = len(shares) // 2
        share, (floor, ceiling) = shares[middle], within
        q = (share - floor) / (ceiling - floor) if ceiling > floor else Fraction(1, 2)
        q = q.limit_denominator(2**20)
        rate = self.level_epsilon / (2 * half_range(q, "add-remove"))
        place = choose_place(tally, q, rate, first=ends[0], last=ends[1])
        below, above = tally.split(place)
        return [
            *self._choose(below, shares[:middle], (floor, share), (ends[0], place)),
            place,
            *self._choose(above, shares[middle + 1 :], (share, ceiling), (place, ends[1])),
        ]

    def __repr__(self) -> str:
        bounds = f"low={shown(self.ruler.low)}, high={shown(self.ruler.high)}"
        text = f"{len(self.shares)} quantiles, {bounds}, epsilon={self.epsilon:.6g}, neighbors={self.neighbors!r}"
        return f"RecursiveQuantiles({text})"


def read_shares(quantiles: Iterable[Number]) -> tuple[Fraction, ...]:
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


def spread_counts(found: CountedTally, bits: int) -> CountedTally:
    """Return the result of `spread` for numbers of known counts only, with the same distribution.

    The numbers at a place are halved `bits` times, each by a fair coin.
    """
    places, counts = found.places.tolist(), np.diff(found.through, prepend=0).tolist()
    for _ in range(bits):
        lefts = [noise.fair_heads(count) for count in counts]
        counts = [part for left, count in zip(lefts, counts, strict=True) for part in (left, count - left)]
        places = [part for place in places for part in (2 * place, 2 * place + 1)]
    kept = [(place, count) for place, count in zip(places, counts, strict=True) if count]
    return CountedTally(
        np.array([place for place, _ in kept], dtype=np.int64),
        np.cumsum(np.array([count for _, count in kept], dtype=np.int64), dtype=np.int64),
    )


# Several quantiles at once, by one joint choice: the best way to release a handful of them, or dozens.
#
# A little of epsilon buys the number of rows. Then every gap between quantiles has a target, a row lies in one gap,
# and so the whole list of miscounts moves by one, not by one for each quantile.


_JOINT_SPREAD_BITS = 19
_STEEPEST = Fraction(2)
"""The largest kappa: gaps are then off by less than one row on average, and no weight that matters vanishes."""


@dataclass(frozen=True, init=False, repr=False)
class Quantiles(Mechanism):
    """Release several quantiles of numbers between two public bounds, in order, by one joint choice.

    Bounds, step and neighbours are those of `Quantile`; for one quantile, that is better. Numbers at the same place are
    first spread over finer places, at random and each separately; the release is the place. It takes memory for
    a few numbers per row and quantile: for many millions of rows take `RecursiveQuantiles`.

    Args:
        quantiles: rising shares from 0 to 1, such as [0.25, 0.5, 0.75].
        low: the lower public bound.
        high: the upper public bound.
        epsilon: the privacy loss of one release, above 0.
        step: the grid of the answers; a fine one is chosen if left out.
        neighbors: "add-remove" or "change-one".

    Raises:
        BadParameter: if a number is out of range.

    Example:
        >>> mechanism = privet.Quantiles(quantiles=[0.25, 0.75], low=0, high=120, epsilon=1)
        >>> mechanism.shares
        (Fraction(1, 4), Fraction(3, 4))

    Guarantee: epsilon-DP. Spreading is a random function of each number alone. Under add-remove neighbours the number
    of rows gets discrete Laplace noise first, at `count_epsilon`; given the outcome N, places o_1 <= ... <= o_m are
    chosen with probability proportional to exp(-kappa sum_j |n_j - w_j N|), n_j the rows in the j-th gap and w_j its
    share. A row that comes or goes moves one n_j by 1, so every exponent by kappa at most: a loss of range 2 kappa.
    With the private number of rows in place of N it would be nearly twice that. Under change-one neighbours the number
    of rows is public and takes N's place; a change moves two n_j: a range of 4 kappa. The choice is exact.
    Cites: [GJK21, JointExp] for the joint choice, with targets in proportion to the number of rows; [MT07, Thm 6].
    """

    shares: tuple[Fraction, ...]
    ruler: Ruler
    count_epsilon: Fraction
    kappa: Fraction
    neighbors: Neighbors

    def __init__(
        self,
        *,
        quantiles: Iterable[Number],
        low: Number,
        high: Number,
        epsilon: Number,
        step: Number | None = None,
        neighbors: Neighbors = "add-remove",
    ) -> None:
        shares, total = read_shares(quantiles), positive(epsilon, "epsilon")
        if total < Fraction(1, 10**200):
            raise BadParameter("epsilon", epsilon, "at least 1e-200")
        if len(shares) < 2:
            raise BadParameter("quantiles", quantiles, "at least two shares; for one, use Quantile")
        if read_neighbors(neighbors) == "add-remove":
            # Fewer quantiles lean more on the number of rows; the split is close to the best for ranks in simulation.
            counting = total * Fraction(3, 12 + len(shares))
            kappa = (total - counting) / 2
        else:
            counting, kappa = Fraction(0), total / 4
        set_fields(
            self,
            shares=shares,
            ruler=read_ruler(low, high, step),
            count_epsilon=counting,
            kappa=min(kappa, _STEEPEST),
            neighbors=neighbors,
        )

    @cached_property
    def event(self) -> Event:
        """The event of one release."""
        if self.neighbors == "change-one":
            return ExponentialEvent(epsilon=4 * self.kappa)
        count = DiscreteLaplaceEvent(steps=1, scale=1 / self.count_epsilon)
        return Composed((count, ExponentialEvent(epsilon=2 * self.kappa)))

    def release(self, values: Any) -> Any:
        """Return the quantiles of a list or one-dimensional array: int64 where every place is whole, else floats."""
        rows = spread(self.ruler.place(values), _JOINT_SPREAD_BITS)
        rows.sort()
        end = (self.ruler.last + 1) << _JOINT_SPREAD_BITS
        edges = np.concatenate(([0], rows, [end]))
        number = int(rows.size)
        if self.neighbors == "add-remove":
            number = max(0, number + noise.discrete_laplace(1 / self.count_epsilon))
        ranks = JointRanks(np.diff(edges), targets(self.shares, number), self.kappa).draw()
        places = sorted(int(edges[t]) + Below(int(edges[t + 1] - edges[t])).draw() for t in ranks)
        return self.ruler.at([place >> _JOINT_SPREAD_BITS for place in places])

    def __repr__(self) -> str:
        bounds = f"low={shown(self.ruler.low)}, high={shown(self.ruler.high)}"
        text = f"{len(self.shares)} quantiles, {bounds}, epsilon={self.epsilon:.6g}, neighbors={self.neighbors!r}"
        return f"Quantiles({text})"


def targets(shares: tuple[Fraction, ...], number: int) -> list[Fraction]:
    """Return how many of this many rows should lie in each gap between quantiles."""
    return [(high - low) * number for low, high in pairwise((Fraction(0), *shares, Fraction(1)))]


def quantiles(
    values: Any,
    shares: Iterable[Number],
    low: Number,
    high: Number,
    epsilon: Number,
    *,
    step: Number | None = None,
    neighbors: Neighbors = "add-remove",
) -> Any:
    """Return private quantiles of numbers in [low, high], in order, by whichever way is off by the fewest ranks.

    One is released by `Quantile`, three by `RecursiveQuantiles`, any other number by `Quantiles`: which one is chosen
    from the number of shares alone.

    Args:
        values: private numbers, one for each row.
        shares: rising shares from 0 to 1.
        low: the lower public bound.
        high: the upper public bound.
        epsilon: the privacy loss of one release, above 0.
        step: the grid of the answers; a fine one is chosen if left out.
        neighbors: "add-remove" or "change-one".

    Example:
        >>> len(mechanisms.quantiles([30, 40, 50], [0.25, 0.75], 0, 120, 1))
        2

    Guarantee: as that mechanism.
    """
    listed = read_shares(shares)
    if len(listed) == 1:
        quantile = Quantile(q=listed[0], low=low, high=high, epsilon=epsilon, step=step, neighbors=neighbors)
        return np.array([quantile.release(values)])
    kind = RecursiveQuantiles if len(listed) == 3 and neighbors == "add-remove" else Quantiles
    return kind(quantiles=listed, low=low, high=high, epsilon=epsilon, step=step, neighbors=neighbors).release(values)
