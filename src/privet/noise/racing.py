"""An exact race of exponentials: index i wins with probability proportional to exp(rate * scores[i]).

The winner is the i with the least ln E_i - rate * scores[i]. It is found in float64 wherever the runner-up is
further behind than the proven error, and by exact arithmetic on more bits otherwise. Scores are private: they
must not appear in a message, and the time taken depends on them only through near-ties of the noisy keys, which
are rarer than one race in a million.

The error of a computed key, with eps = 2**-53, K = LOG_ACCURACY and the notation of `exponential`:

* E is off by at most h = eps + 2**-63 / u + (K + 1) eps E, doubled here to cover terms of second order and the
  rounding of h. Where h <= E / 4, ln E is off by at most 2 h / E for that and K eps |ln E| for the logarithm.
* The advantage a = rate * (best - score) is a difference (exact or rounded once), times a rounded rate, rounded
  once more: off by 3 eps a, taken as 4. It is computed after scaling by powers of two so that nothing that
  matters overflows or underflows: what underflows is below 2**-400 and covered by 2**-100 in the bound; what
  exceeds 2**60 is taken as 2**60, which keeps the lower bound of the key true, and gets no upper bound.
* The key and its bounds are each rounded once: 2 eps (|ln E| + a), taken with the factors 3 and 2.

Lanes where h > E / 4 have no lower bound and always stay in the race. U = 0 has no upper bound either.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privet.core.errors import BadValue
from privet.core.numbers import Number, rational, read_rational

from .samplers import BLOCK, LOG_ACCURACY, MASK, ULP, UNIFORM_BITS, Floats, Log
from .source import SYSTEM, LazyUniform, Size, Source, Words, sample

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
    """A race over given scores, prepared once: what each candidate's advantage is, exactly and in float64."""

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
        """Return the winner among the candidates that float64 cannot tell apart, exactly."""
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
    """Return a score, as it stands in an array, exactly."""
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
