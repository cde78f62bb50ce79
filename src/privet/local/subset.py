"""Subset selection: report a set of values that contains the answer with the odds of epsilon.

Up to 64 values the sets are all those of one size. Above, they are the arithmetic progressions of that length among
the numbers modulo a prime: as many contain each value, and each pair of values, as among all sets, which is all that
privacy and variance depend on, and a report is one number of a few bytes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, count
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from privet import noise
from privet.core.errors import BadParameter
from privet.core.given import set_fields
from privet.core.numbers import Number, whole

from .fields import prime_power
from .frequency_oracle import Bytes, FrequencyOracle, Integers, Row, Words
from .reports import add_counts, from_bytes, to_bytes, width_below

_BITS = 64
_MOST_POINTS = 2**13
_ROWS = 255


@dataclass(frozen=True, repr=False, eq=False, init=False)
class SubsetSelection(FrequencyOracle):
    """Report a set of `size` values, which contains the answer more often than other values.

    Best or nearly best at every size and epsilon. The size with the least variance is taken unless one is given;
    with one value this is k-ary response.

    Args:
        domain: a number k (the answers are 0 to k - 1), or a list of labels, texts or integers; 8,192 values at most.
        epsilon: the privacy loss of one report.
        size: the number of values in a set.
        survey: a name; reports to a survey of another name are not accepted.

    Example:
        >>> local.SubsetSelection(64, epsilon=1).size
        17

    Guarantee: epsilon-DP for each person by themselves: each set has one of two probabilities, e^epsilon apart, by
    whether it contains the answer, and equally many sets contain any answer. For progressions b, b + a, b + 2 a, ...
    modulo a prime (a not 0): an answer at any place and any a determine b, and two values at two places determine both.
    Cites: [YB18, subset selection], [WHWX16].
    """

    kind: ClassVar[str] = "subset selection"
    points: int
    size: int

    def __init__(
        self, domain: int | Sequence[Any], *, epsilon: Number, size: int | None = None, survey: str = ""
    ) -> None:
        super().__init__(domain, epsilon=epsilon, survey=survey)
        if self.values > _MOST_POINTS:
            raise BadParameter(
                "domain",
                domain,
                f"at most {_MOST_POINTS:,} values; use OptimizedHashing or ProjectiveResponse for more",
            )
        points = self.values if self.values <= _BITS else next(n for n in count(self.values) if _is_prime(n))
        least = 1 if points <= _BITS else 2
        wanted = _best_size(points, self.growth, least)
        if size is not None:
            wanted = whole(size, "size", least=least, most=points - 1)
        set_fields(self, points=points, size=wanted)

    @property
    def p(self) -> Fraction:
        return _support(self.points, self.size, self.growth)

    @property
    def both(self) -> Fraction:
        return self.p * Fraction(self.size - 1, self.points - 1)

    @property
    def q(self) -> Fraction:
        return self.both + (1 - self.p) * Fraction(self.size, self.points - 1)

    @property
    def width(self) -> int:
        return -(-self.values // 8) if self._small else width_below(self.points * (self.points - 1))

    @property
    def _small(self) -> bool:
        return self.points <= _BITS

    def _randomise(self, answers: Integers, ids: Words) -> Bytes:
        return self._choose(answers) if self._small else self._progress(answers)

    def _choose(self, answers: Integers) -> Bytes:
        # both kinds of set are drawn for everyone, so that how long it takes does not depend on the coin
        inside, n = noise.bernoulli(self.p, len(answers)), self.values - 1
        rest = np.where(inside, _subsets(n, self.size - 1, len(answers)), _subsets(n, self.size, len(answers)))
        places = answers.astype(np.uint64)
        below = rest & ((np.uint64(1) << places) - np.uint64(1))
        above = ((rest >> places) << np.uint64(1)) << places
        chosen = below | above | (inside.astype(np.uint64) << places)
        packed: Bytes = chosen.astype("<u8").view(np.uint8).reshape(-1, 8)[:, : self.width].copy()
        return packed

    def _progress(self, answers: Integers) -> Bytes:
        count_, prime = len(answers), self.points
        among = noise.uniform_below(self.size, count_)
        beyond = self.size + noise.uniform_below(prime - self.size, count_)
        place = np.where(noise.bernoulli(self.p, count_), among, beyond)
        step = 1 + noise.uniform_below(prime - 1, count_)
        return to_bytes((step - 1) * prime + (answers - step * place) % prime, self.width)

    def _allowed(self, data: Bytes, ids: Words) -> NDArray[np.bool_]:
        if not self._small:
            return from_bytes(data) < self.points * (self.points - 1)
        bits = np.unpackbits(data, axis=1, bitorder="little")
        possible: NDArray[np.bool_] = (bits.sum(axis=1) == self.size) & (bits[:, self.values :].sum(axis=1) == 0)
        return possible

    @property
    def _tally_shape(self) -> tuple[int, ...]:
        return (self.values,) if self._small else (self.points - 1, self.points)

    def _count_into(self, tally: Integers, data: Bytes, ids: Words) -> None:
        if not self._small:
            add_counts(tally, from_bytes(data))
            return
        for start in range(0, len(data), _ROWS):
            bits = np.unpackbits(data[start : start + _ROWS], axis=1, count=self.values, bitorder="little")
            tally += np.add.reduce(bits, axis=0, dtype=np.uint8)

    def _supports(self, tally: Integers) -> Integers:
        if self._small:
            return tally
        prime = self.points
        counts = np.zeros(self.values, dtype=np.int64)
        values, numbers = np.arange(self.values), np.arange(prime)
        for step in range(1, prime):
            # in units of the step, a set is the window of numbers u, ..., u + size - 1
            starts = tally[step - 1][step * numbers % prime]
            running = np.concatenate(([0], np.cumsum(np.concatenate((starts[prime - self.size + 1 :], starts)))))
            windows = running[self.size :] - running[: -self.size]
            counts += windows[values * pow(step, -1, prime) % prime]
        return counts

    @property
    def _outcome_count(self) -> int:
        return math.comb(self.values, self.size) if self._small else self.points * (self.points - 1)

    def _outcomes(self, answer: int) -> Row:
        if self._small:
            sets = [answer in chosen for chosen in combinations(range(self.values), self.size)]
        else:
            steps = [(step, first) for step in range(1, self.points) for first in range(self.points)]
            sets = [(answer - b) * pow(a, -1, self.points) % self.points < self.size for a, b in steps]
        holding = sum(sets)
        inside, outside = self.p / holding, (1 - self.p) / (len(sets) - holding)
        return tuple(inside if holds else outside for holds in sets)


def _support(points: int, size: int, growth: Fraction) -> Fraction:
    return size * growth / (size * growth + points - size)


def _best_size(points: int, growth: Fraction, least: int) -> int:
    """Return the size with the least q (1 - q) / (p - q)^2, which is near points / (e^epsilon + 1)."""

    def spread(size: int) -> Fraction:
        p = _support(points, size, growth)
        q = (p * (size - 1) + (1 - p) * size) / (points - 1)
        gap = p - q
        return q * (1 - q) / (gap * gap)

    middle = int(points / (growth + 1))
    near: list[int] = [least, *range(max(least, middle - 2), min(points - 1, middle + 3) + 1)]
    return min(near, key=spread)


def _subsets(values: int, size: int, rows: int) -> NDArray[np.uint64]:
    """Return uniform subsets of this size, as the set bits of a word each.

    Cites: [BF87, Floyd's algorithm].
    """
    chosen = np.zeros(rows, dtype=np.uint64)
    for last in range(values - size, values):
        place = noise.uniform_below(last + 1, rows).astype(np.uint64)
        taken = (chosen >> place) & np.uint64(1) == 1
        chosen |= np.uint64(1) << np.where(taken, np.uint64(last), place)
    return chosen


def _is_prime(number: int) -> bool:
    return prime_power(number) == (number, 1)
