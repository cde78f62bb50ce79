"""Report-noisy-max, exactly: whose rate * score + noise is largest, who comes next, and by how much.

The noise is real-valued, Gumbel, exponential or Laplace, and is never rounded: keys are compared in float64 where the
proven error allows it, and on more bits otherwise, so that there are no ties. Only a gap that is shown is rounded, down
to a public step, after the fact. Scores are private, as in `racing`.

A candidate's key is what is behind the best score minus its noise, and the least key wins. With the notation of
`racing`: E is off by at most h = eps + 2**-63 / u + (K + 1) eps E, doubled to cover terms of second order, what is
behind by 3 eps of itself, and the key is rounded once more: 4 eps (E + behind) covers both. U = 0 has no bounds.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import Any, Literal, cast

import numpy as np
from numpy.typing import NDArray

from privet.core.errors import BadParameter
from privet.core.given import choice
from privet.core.numbers import Number, positive, whole

from .racing import CAP, EPS, Bounds, Race, Scores, fraction_of
from .samplers import BLOCK, LOG_ACCURACY, MASK, ULP, UNIFORM_BITS, Floats, Log
from .source import SYSTEM, LazyUniform, Size, Source, Words, read_size, sample

Law = Literal["gumbel", "exponential", "laplace"]
"""The noise that is added to rate * score, of scale 1: by Gumbel noise it is the exponential mechanism."""

_Drawn = tuple[Words, Floats, Floats, dict[int, dict[int, LazyUniform]]]
_UNTOLD = -1
_TOP_BIT = 1 << 63
_AWAY = 2.0**-16
"""A distance this close to a whole number of units is read from more bits."""


def noisy_max(scores: Scores, rate: Number, *, law: Law, size: Size = None) -> int | NDArray[np.int64]:
    """Return the index of the largest rate * score + noise. With a size, independent contests over the same scores.

    Args:
        scores: one score for each candidate.
        rate: how much a score counts.
        law: the noise: "gumbel", "exponential" or "laplace".
        size: how many draws, as an array of that shape; one number if left out.

    Example:
        >>> noise.noisy_max([0, 1000], 1, law="gumbel")
        1

    Guarantee: the index has exactly the distribution of the largest of these reals, given a uniform operating system
    source. By exponential noise that is permute-and-flip, by Gumbel noise the exponential mechanism.
    Cites: [DKSSWXZ21] for permute-and-flip, [Yel77] for Gumbel noise.
    """
    return sample(Contest(scores, positive(rate, "rate"), law), size)


def noisy_top(scores: Scores, rate: Number, *, law: Law, winners: int, size: int | None = None) -> NDArray[np.int64]:
    """Return the indices of the largest rate * score + noise, in order. With a size, rows of this many contests.

    Args:
        scores: one score for each candidate.
        rate: how much a score counts.
        law: the noise: "gumbel", "exponential" or "laplace".
        winners: how many leaders are returned.
        size: how many draws, as an array of that shape; one number if left out.

    Example:
        >>> noise.noisy_top([0, 1000, 2000], 1, law="gumbel", winners=2).tolist()
        [2, 1]

    Guarantee: as for `noisy_max`. By Gumbel noise the law is that of choosing by the exponential mechanism again and
    again among those that are left.
    Cites: [DR19, Gumbel noise and peeling].
    """
    contest = Contest(scores, positive(rate, "rate"), law)
    count = _winners(winners, contest.size)
    if size is None:
        return np.array(contest.leaders(count), dtype=np.int64)
    return contest.fill_leaders(read_size(size), count)


def noisy_top_with_gaps(
    scores: Scores, rate: Number, *, law: Law, winners: int, step: Number, size: int | None = None
) -> tuple[NDArray[np.int64], list[Any]]:
    """Return the leaders in order, and the distance of each to the next one, in score units, as a number of steps.

    With a size, a row of leaders and a list of distances for each of this many contests.

    Args:
        scores: one score for each candidate.
        rate: how much a score counts.
        law: the noise: "gumbel", "exponential" or "laplace".
        winners: how many leaders are returned.
        step: the unit of the distances.
        size: how many draws, as an array of that shape; one number if left out.

    Example:
        >>> leaders, gaps = noise.noisy_top_with_gaps([0, 1000, 2000], 1, law="laplace", winners=2, step=1)
        >>> leaders.tolist(), len(gaps)
        ([2, 1], 2)

    Guarantee: as for `noisy_top`; each distance is that of the real noisy scores, rounded down to whole steps.
    """
    contest = Contest(scores, positive(rate, "rate"), law)
    count, unit = _winners(winners, contest.size - 1), positive(step, "step")
    if not Fraction(1, 2**900) <= contest.rate * unit <= 2**900:
        raise BadParameter("step", step, "such that rate times step lies within 2**-900 and 2**900")
    if size is None:
        order, gaps = contest.leaders_and_gaps(count, unit)
        return np.array(order, dtype=np.int64), gaps
    return contest.fill_leaders_and_gaps(read_size(size), count, unit)


def _winners(winners: int, most: int) -> int:
    count = whole(winners, "winners", least=1)
    if count > most:
        raise BadParameter("winners", winners, f"at most {most} among so many scores")
    return count


class Contest(Race):
    """A race in which the noise is Gumbel, exponential or Laplace, prepared once for its scores."""

    def __init__(self, scores: Scores, rate: Fraction, law: Law) -> None:
        named = cast(Law, choice(law, "law", ("gumbel", "exponential", "laplace")))
        super().__init__(scores, rate)
        self._law = named
        self.rate = rate
        self.size: int = self._behind.size

    def leaders(self, count: int, source: Source = SYSTEM) -> list[int]:
        """Return the indices of this many least keys, in order."""
        return [int(i) for i in self._lead(1, count, source)[0][0]]

    def leaders_and_gaps(self, count: int, step: Fraction, source: Source = SYSTEM) -> tuple[list[int], list[int]]:
        """Return this many leaders, and how many steps of score units lie between each and the next."""
        order, gaps = self._lead_with_gaps(1, count, step, source)
        return order[0].tolist(), gaps[0]

    def fill_leaders(self, contests: int, count: int) -> NDArray[np.int64]:
        """Return the leaders of this many independent contests, a row for each."""
        parts = [self._lead(rows, count, SYSTEM)[0] for rows in self._blocks(contests)]
        return np.concatenate([np.empty((0, count), dtype=np.int64), *parts])

    def fill_leaders_and_gaps(
        self, contests: int, count: int, step: Fraction
    ) -> tuple[NDArray[np.int64], list[list[int]]]:
        """Return the leaders of this many independent contests, and the gaps behind each."""
        parts = [self._lead_with_gaps(rows, count, step, SYSTEM) for rows in self._blocks(contests)]
        orders = np.concatenate([np.empty((0, count), dtype=np.int64), *(order for order, _ in parts)])
        return orders, [gaps for _, several in parts for gaps in several]

    def _blocks(self, contests: int) -> list[int]:
        most = max(1, BLOCK // self.size)
        return [min(most, contests - start) for start in range(0, contests, most)]

    def _lead(self, rows: int, count: int, source: Source) -> tuple[NDArray[np.int64], _Drawn]:
        """Return the leaders of each row, and what was drawn: words, bounds of keys, bits that a row's order took."""
        words = source.words(rows * self.size).reshape(rows, -1)
        low, high = self._keys(words)
        order, sure = _fronts(low, high, count)
        learnt: dict[int, dict[int, LazyUniform]] = {}
        for row in np.flatnonzero(~sure).tolist():
            learnt[row] = self._uniforms(words[row], _ahead(low[row], high[row], count), source)
            order[row] = self._sort(words[row], learnt[row], count)
        return order, (words, low, high, learnt)

    def _lead_with_gaps(
        self, rows: int, count: int, step: Fraction, source: Source
    ) -> tuple[NDArray[np.int64], list[list[int]]]:
        order, (words, low, high, learnt) = self._lead(rows, count + 1, source)
        unit = self._rate * step
        lows, highs = np.take_along_axis(low, order, 1), np.take_along_axis(high, order, 1)
        floors = _floors(lows[:, 1:] - highs[:, :-1], highs[:, 1:] - lows[:, :-1], float(unit))
        floors[list(learnt)] = _UNTOLD
        gaps: list[list[int]] = floors.tolist()
        for row in np.flatnonzero((floors == _UNTOLD).any(axis=1)).tolist():
            uniforms = learnt.get(row) or self._uniforms(words[row], order[row].tolist(), source)
            for place, pair in enumerate(pairwise(order[row].tolist())):
                if gaps[row][place] == _UNTOLD:
                    gaps[row][place] = self._gap(words[row], uniforms, pair, unit)
        return order[:, :count], gaps

    def _gap(self, words: Words, uniforms: dict[int, LazyUniform], pair: tuple[int, int], unit: Fraction) -> int:
        """Return the floor of the distance between two keys in units, learning as many bits as it takes."""
        while True:
            (low, high), (next_low, next_high) = (self._exact(words, uniforms, i) for i in pair)
            if low is not None and high is not None and next_low is not None and next_high is not None:
                least, most = (next_low - high) // unit, (next_high - low) // unit
                if least == most:
                    return least
            for i in pair:
                uniforms[i].refine()

    def _uniforms(self, words: Words, ahead: list[int], source: Source) -> dict[int, LazyUniform]:
        return {i: LazyUniform(int(words[i]) & MASK, UNIFORM_BITS, source) for i in ahead}

    def _sort(self, words: Words, uniforms: dict[int, LazyUniform], count: int) -> list[int]:
        """Return this many leaders among the candidates, learning as many bits as their order takes."""
        while True:
            bounds = {i: self._exact(words, uniforms, i) for i in uniforms}
            known = [i for i, (low, _) in bounds.items() if low is not None]
            order = sorted(known, key=lambda i: _low(bounds[i]))
            if len(known) == len(bounds) and all(
                (top := bounds[i][1]) is not None and top < _low(bounds[j]) for i, j in pairwise(order[: count + 1])
            ):
                return order[:count]
            for uniform in uniforms.values():
                uniform.refine()

    def _exact(self, words: Words, uniforms: dict[int, LazyUniform], i: int) -> Bounds:
        behind = self._rate * (self._best - fraction_of(self._scores[i]))
        return self._key(int(words[i]), uniforms[i], behind)

    @cached_property
    def _best(self) -> Fraction:
        return max(map(fraction_of, self._scores)) if self._scores.dtype == object else fraction_of(self._scores.max())

    def _keys(self, words: Words, *, log: Log = np.log) -> tuple[Floats, Floats]:
        if self._law == "gumbel":
            return super()._keys(words, log=log)
        with np.errstate(divide="ignore", invalid="ignore"):
            uniform = (words & np.uint64(MASK)).view(np.int64) * ULP
            drawn = np.abs(log(uniform))
            error = (2 * 2.0**-UNIFORM_BITS) / uniform
            error += 2 * EPS
            error += drawn * ((2 * (LOG_ACCURACY + 1) + 4) * EPS)
            error += self._slack
            if self._law == "laplace":
                drawn = np.where(words >= np.uint64(_TOP_BIT), -drawn, drawn)
            key = self._behind - drawn
            low, high = key - error, key + error
        unknown = uniform == 0.0
        low[unknown] = -np.inf
        high[unknown | (self._behind >= CAP)] = np.inf
        return low, high

    def _key(self, word: int, uniform: LazyUniform, behind: Fraction) -> Bounds:
        if self._law == "gumbel":
            return super()._key(word, uniform, behind)
        least, most = uniform.exponential()
        shortest, longest = Fraction(least), None if most is None else Fraction(most)
        if self._law == "laplace" and word >= _TOP_BIT:
            return behind + shortest, None if longest is None else behind + longest
        return None if longest is None else behind - longest, behind - shortest


def _low(bounds: Bounds) -> Fraction:
    return bounds[0] if bounds[0] is not None else Fraction(0)


def _ahead(low: Floats, high: Floats, count: int) -> list[int]:
    """Return all that may be among this many least keys of a row."""
    goal = np.partition(high, count - 1)[count - 1]
    found: list[int] = np.flatnonzero(low <= goal).tolist()
    return found


def _fronts(low: Floats, high: Floats, count: int) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return this many least keys of each row, in order, and whether it is sure that this is their order."""
    goal = np.partition(high, count - 1, axis=1)[:, count - 1 : count]
    ahead = low <= goal
    sure = np.count_nonzero(ahead, axis=1) == count
    front = np.nonzero(ahead[sure])[1].reshape(-1, count)
    front = np.take_along_axis(front, np.take_along_axis(low[sure], front, 1).argsort(axis=1), 1)
    lows, highs = np.take_along_axis(low[sure], front, 1), np.take_along_axis(high[sure], front, 1)
    order = np.zeros((low.shape[0], count), dtype=np.int64)
    order[sure] = front
    sure[sure] = (highs[:, :-1] < lows[:, 1:]).all(axis=1)
    return order, sure


def _floors(least: Floats, most: Floats, unit: float) -> NDArray[np.int64]:
    """Return the floors of distances in units from their computed bounds, untold where they do not tell.

    A difference of two doubles is off by eps of itself, and unit and quotient by eps more each. Below 2**30 units that
    is less than 2**-21 of a unit, and ends this close to a whole number are left to `_gap`.
    """
    if not unit > 2.0**-900:
        return np.full(least.shape, _UNTOLD, dtype=np.int64)
    with np.errstate(over="ignore", invalid="ignore"):
        low, high = least / unit, most / unit
        whole_part = np.floor(low)
        told = (least >= 0.0) & (most < 2.0**30 * unit) & (high < whole_part + 1 - _AWAY) & (low > whole_part + _AWAY)
    return np.where(told, np.where(told, whole_part, 0.0), float(_UNTOLD)).astype(np.int64)
