"""Exact contests: a race of exponentials, and report-noisy-max with who comes next, and by how much."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import Any, Literal, cast

import numpy as np
from numpy.typing import NDArray

from privet.core.errors import BadParameter, BadValue
from privet.core.given import choice
from privet.core.numbers import Number, positive, rational, read_rational, whole

from .source import (
    BLOCK,
    LOG_ACCURACY,
    MASK,
    SYSTEM,
    ULP,
    UNIFORM_BITS,
    Floats,
    LazyUniform,
    Log,
    Size,
    Source,
    Words,
    read_size,
    sample,
)

# An exact race of exponentials: index i wins with probability proportional to exp(rate * scores[i]).
#
# The winner is the i with the least ln E_i - rate * scores[i]. It is found in float64 wherever the runner-up is
# further behind than the proven error, and by exact arithmetic on more bits otherwise. Scores are private: they must
# not appear in a message, and the time taken depends on them only through near-ties of the noisy keys, which are
# rarer than one race in a million.
#
# The error of a computed key, with eps = 2**-53, K = LOG_ACCURACY and the notation of `exponential`:
#
# * E is off by at most h = eps + 2**-63 / u + (K + 1) eps E, doubled here to cover terms of second order and the
#   rounding of h. Where h <= E / 4, ln E is off by at most 2 h / E for that and K eps |ln E| for the logarithm.
# * The advantage a = rate * (best - score) is a difference (exact or rounded once), times a rounded rate, rounded
#   once more: off by 3 eps a, taken as 4. It is computed after scaling by powers of two so that nothing that
#   matters overflows or underflows: what underflows is below 2**-400 and covered by 2**-100 in the bound; what
#   exceeds 2**60 is taken as 2**60, which keeps the lower bound of the key true, and gets no upper bound.
# * The key and its bounds are each rounded once: 2 eps (|ln E| + a), taken with the factors 3 and 2.
#
# Lanes where h > E / 4 have no lower bound and always stay in the race. U = 0 has no upper bound either.


Bounds = tuple[Fraction | None, Fraction | None]
EPS = 2.0**-53
CAP = 2.0**60
_TINY = 2.0**-100
_STEP = 600
_FAR = 400
_STEEP = 1200
_ALLOWED = "a one-dimensional array of finite numbers (floats, integers or Fractions), with at least one entry"

Scores = Sequence[Number] | NDArray[Any]
"""One score for each candidate; of any size, and taken exactly."""


def race(scores: Scores, rate: Number, *, size: Size = None) -> int | NDArray[np.int64]:
    """Return an index i with probability exactly proportional to exp(rate * scores[i]).

    Scores may be of any size: floats and integers are taken exactly, as are the Python integers and Fractions of
    an object array. With a size, independent races over the same scores.

    Args:
        scores: one score for each candidate.
        rate: how much a score counts.
        size: how many draws, as an array of that shape; one number if left out.

    Example:
        >>> noise.race([0, 1000], 1)
        1

    Guarantee: the index has exactly this distribution, given a uniform operating system source.
    Cites: [MT07, Def. 2] for the distribution, [Yel77] for the race that draws it.
    """
    return sample(Race(scores, rational(rate, "rate")), size)


class Race:
    """A race over fixed scores, prepared once: each candidate's advantage, exactly and in float64."""

    def __init__(self, scores: Scores, rate: Fraction) -> None:
        exact_scores = _read(scores)
        self._sign = -1 if rate < 0 else 1
        self._rate = abs(rate)
        self._scores = exact_scores
        self._behind = _advantages(exact_scores, self._sign, self._rate)
        self._slack = self._behind * (6 * EPS) + _TINY

    def draw(self, source: Source = SYSTEM) -> int:
        """Return the winner of one race."""
        return int(self._run(1, source)[0])

    def fill(self, count: int, source: Source = SYSTEM) -> NDArray[np.int64]:
        """Return the winners of this many independent races."""
        winners = np.empty(count, dtype=np.int64)
        rows = max(1, BLOCK // self._behind.size)
        for start in range(0, count, rows):
            winners[start : start + rows] = self._run(min(rows, count - start), source)
        return winners

    def _run(self, rows: int, source: Source) -> NDArray[np.int64]:
        words = source.words(rows * self._behind.size).reshape(rows, -1)
        low, high = self._keys(words)
        ahead = low <= high.min(axis=1, keepdims=True)
        winners: NDArray[np.int64] = ahead.argmax(axis=1)
        for row in np.flatnonzero(np.count_nonzero(ahead, axis=1) > 1):
            winners[row] = self._finish(words[row], np.flatnonzero(ahead[row]), source)
        return winners

    def _keys(self, words: Words, *, log: Log = np.log) -> tuple[Floats, Floats]:
        """Return a lower and an upper bound of each candidate's key."""
        with np.errstate(divide="ignore", invalid="ignore"):
            uniform = (words & np.uint64(MASK)).view(np.int64) * ULP
            exponential = np.abs(log(uniform))  # not a minus sign: U = 1 must give 0, not -0
            error = (2 * 2.0**-UNIFORM_BITS) / uniform
            error += 2 * EPS
            error += exponential * (2 * (LOG_ACCURACY + 1) * EPS)
            error /= exponential
            key = log(exponential, out=exponential)
            unknown = ~(error <= 0.25)
            error *= 2.0
            error += np.abs(key) * ((LOG_ACCURACY + 3) * EPS)
            error += self._slack
            key += self._behind
            low, high = key - error, key + error
        low[unknown] = -np.inf
        high[unknown | (self._behind >= CAP)] = np.inf
        return low, high

    def _finish(self, words: Words, lanes: NDArray[np.intp], source: Source) -> int:
        """Return the winner among the candidates that float64 cannot distinguish, exactly."""
        runners = {int(i): LazyUniform(int(words[i]) & MASK, UNIFORM_BITS, source) for i in lanes}
        exact = {i: self._sign * self._rate * fraction_of(self._scores[i]) for i in runners}
        best = max(exact.values())
        while True:
            bounds = {i: self._key(int(words[i]), uniform, best - exact[i]) for i, uniform in runners.items()}
            tops = [top for _, top in bounds.values() if top is not None]
            if tops:
                goal = min(tops)
                runners = {i: runners[i] for i, (least, _) in bounds.items() if least is None or least <= goal}
                if len(runners) == 1:
                    return next(iter(runners))
            for uniform in runners.values():
                uniform.refine()

    def _key(self, word: int, uniform: LazyUniform, behind: Fraction) -> Bounds:
        """Return exact bounds of a candidate's key, each None where there is none yet."""
        least, most = uniform.log_exponential()
        return (
            None if least is None else Fraction(least) + behind,
            None if most is None else Fraction(most) + behind,
        )


def _read(scores: Scores) -> NDArray[Any]:
    """Return the scores as a float64, int64, uint64 or object array, refusing without quoting."""
    if isinstance(scores, (list, tuple)):
        scores = _array_of(scores)
    if not isinstance(scores, np.ndarray) or isinstance(scores, np.ma.MaskedArray):
        raise BadValue("scores", f"a {type(scores).__name__}", _ALLOWED)
    if scores.ndim != 1 or scores.size == 0:
        raise BadValue("scores", f"an array of shape {scores.shape}", _ALLOWED)
    kind = scores.dtype.kind
    if kind == "f" and scores.dtype.itemsize <= 8:
        array = scores.astype(np.float64)
        if not np.isfinite(array).all():
            raise BadValue("scores", "an entry that is not finite", _ALLOWED)
        return array
    if kind in "iu":
        return scores.astype(np.int64 if kind == "i" else np.uint64)
    if kind in "fO":
        return _array_of(list(scores))
    raise BadValue("scores", f"an array of {scores.dtype}", _ALLOWED)


def _array_of(entries: list[Any] | tuple[Any, ...]) -> NDArray[Any]:
    kinds = {type(entry) for entry in entries}
    if kinds == {float}:
        return _read(np.array(entries, dtype=np.float64))
    if kinds == {int} and max(map(abs, entries)) < 2**63:
        return np.array(entries, dtype=np.int64)
    array = np.empty(len(entries), dtype=object)
    array[:] = entries if kinds == {int} else [_exact_score(entry) for entry in entries]
    return array if array.size else _read(array)


def _exact_score(entry: object) -> Fraction:
    if isinstance(entry, (int, Fraction)) and not isinstance(entry, bool):
        return Fraction(entry)  # however large
    exact = read_rational(entry)
    if exact is None:
        raise BadValue("scores", "an entry that is not a finite number", _ALLOWED)
    return exact


def fraction_of(score: Any) -> Fraction:
    """Return a score of an array, exactly."""
    return Fraction(score if isinstance(score, (int, Fraction)) else score.item())


def _advantages(scores: NDArray[Any], sign: int, rate: Fraction) -> Floats:
    """Return rate * (best - score) for each score, within 3 eps and 2**-400, capped."""
    if rate == 0:
        return np.zeros(scores.size)
    if scores.dtype == object:
        best = max(scores) if sign > 0 else min(scores)
        cap = Fraction(CAP)
        farthest = cap / rate
        if 2**-_FAR < farthest < 2**_FAR and set(map(type, scores)) == {int}:
            # Twice the farthest, so that what is cut off still exceeds the cap after rounding.
            gaps = np.minimum(np.abs(best - scores), 2 * math.ceil(farthest))
            whole: Floats = gaps.astype(np.float64) * float(rate)
            return np.minimum(whole, CAP)
        return np.array([float(min(cap, rate * abs(best - score))) for score in scores])
    values = scores
    rate = min(rate, Fraction(2**_STEEP))  # any two doubles that differ are then further apart than the cap
    exponent = rate.numerator.bit_length() - rate.denominator.bit_length()
    shift = 0
    if scores.dtype == np.float64 and exponent < -_FAR:
        values, shift = scores * 2.0**-_STEP, _STEP
    best = values.max() if sign > 0 else values.min()
    with np.errstate(over="ignore"):
        if values.dtype == np.float64:
            behind = np.abs(best - values)
        else:
            # The difference of two 64-bit integers, modulo 2**64, is exact as an unsigned one.
            wrapped = values.view(np.uint64)
            top = np.array(best).view(np.uint64)
            behind = (top - wrapped if sign > 0 else wrapped - top).astype(np.float64)
        if exponent > _FAR:
            behind *= 2.0**_STEP
            shift = -_STEP
        behind *= float(rate * Fraction(2) ** shift)
    capped: Floats = np.minimum(behind, CAP)
    return capped


# Report-noisy-max, exactly: the candidate with the largest rate * score + noise, the next one, and the gap.
#
# The noise is real-valued, Gumbel, exponential or Laplace, and is never rounded: keys are compared in float64 where
# the proven error allows it, and on more bits otherwise, so that there are no ties. Only a gap that is shown is
# rounded, down to a public step, after the fact. Scores are private, as in `Race`.
#
# A candidate's key is what is behind the best score minus its noise, and the least key wins. With the notation of
# `Race`: E is off by at most h = eps + 2**-63 / u + (K + 1) eps E, doubled to cover terms of second order, what is
# behind by 3 eps of itself, and the key is rounded once more: 4 eps (E + behind) covers both. U = 0 has no bounds.


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
        raise BadParameter("winners", winners, f"at most {most} among this many scores")
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
        return orders, [gaps for _, lists in parts for gaps in lists]

    def _blocks(self, contests: int) -> list[int]:
        most = max(1, BLOCK // self.size)
        return [min(most, contests - start) for start in range(0, contests, most)]

    def _lead(self, rows: int, count: int, source: Source) -> tuple[NDArray[np.int64], _Drawn]:
        """Return the leaders of each row, and the draws: words, bounds of keys, bits that a row's order took."""
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
        """Return the floor of the distance between two keys in units, drawing as many bits as it takes."""
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
    ahead: list[int] = np.flatnonzero(low <= goal).tolist()
    return ahead


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
    """Return the floors of distances in units from their computed bounds, undecided where these do not suffice.

    A difference of two doubles is off by eps of itself, and unit and quotient by eps more each. Below 2**30 units that
    is less than 2**-21 of a unit, and ends this close to a whole number are left to `_gap`.
    """
    if not unit > 2.0**-900:
        return np.full(least.shape, _UNTOLD, dtype=np.int64)
    with np.errstate(over="ignore", invalid="ignore"):
        low, high = least / unit, most / unit
        whole_part = np.floor(low)
        sure = (least >= 0.0) & (most < 2.0**30 * unit) & (high < whole_part + 1 - _AWAY) & (low > whole_part + _AWAY)
    return np.where(sure, np.where(sure, whole_part, 0.0), float(_UNTOLD)).astype(np.int64)
