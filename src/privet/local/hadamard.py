"""Hadamard response: report an index at which the answer's row of a Hadamard matrix is likely to be positive."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from privet import noise
from privet.core.numbers import Number

from .frequency_oracle import Bytes, FrequencyOracle, Integers, Row, Words
from .reports import add_counts, from_bytes, to_bytes, width_below


@dataclass(frozen=True, repr=False, eq=False, init=False)
class HadamardResponse(FrequencyOracle):
    """Report an index that supports the answer with the odds e^epsilon, and each other value with probability 1/2.

    Args:
        domain: a number k (the answers are 0 to k - 1), or a list of labels, texts or integers.
        epsilon: the privacy loss of one report.
        survey: a name; reports to a survey of another name are not accepted.

    Example:
        >>> local.HadamardResponse(1000, epsilon=1).width
        2

    Guarantee: epsilon-DP for each person by themselves: every index has one of two probabilities, e^epsilon apart, and
    half of all indices support any value. Two values share a quarter of all indices, as two different rows of the
    matrix, neither the first, agree in half of their columns and each is positive in half.
    Cites: [ASZ19, Hadamard response].
    """

    kind: ClassVar[str] = "Hadamard response"

    def __init__(self, domain: int | Sequence[Any], *, epsilon: Number, survey: str = "") -> None:
        super().__init__(domain, epsilon=epsilon, survey=survey)

    @property
    def order(self) -> int:
        """The order of the matrix: the least power of two above the number of values."""
        return 1 << self.values.bit_length()

    @property
    def p(self) -> Fraction:
        return self.growth / (self.growth + 1)

    @property
    def q(self) -> Fraction:
        return Fraction(1, 2)

    @property
    def both(self) -> Fraction:
        return self.p / 2

    @property
    def width(self) -> int:
        return width_below(self.order)

    def _randomise(self, answers: Integers, ids: Words) -> Bytes:
        size, rows = len(answers), answers + 1
        index = noise.uniform_below(self.order, size)
        wrong = _odd(index & rows) == noise.bernoulli(self.p, size)
        # the lowest set bit of the row moves an index to the other half, one to one
        moved: Integers = np.where(wrong, index ^ (rows & -rows), index)
        return to_bytes(moved, self.width)

    def _allowed(self, data: Bytes, ids: Words) -> NDArray[np.bool_]:
        return from_bytes(data) < self.order

    @property
    def _tally_shape(self) -> tuple[int, ...]:
        return (self.order,)

    def _count_into(self, tally: Integers, data: Bytes, ids: Words) -> None:
        add_counts(tally, from_bytes(data))

    def _supports(self, tally: Integers) -> Integers:
        moved = tally.copy()
        half = 1
        while half < self.order:
            pairs = moved.reshape(-1, 2, half)
            moved = np.stack((pairs[:, 0] + pairs[:, 1], pairs[:, 0] - pairs[:, 1]), axis=1).reshape(-1)
            half *= 2
        supports: Integers = (moved[0] + moved[1 : self.values + 1]) // 2
        return supports

    @property
    def _outcome_count(self) -> int:
        return self.order

    def _outcomes(self, answer: int) -> Row:
        support, other = 2 * self.p / self.order, 2 * (1 - self.p) / self.order
        odd = _odd(np.arange(self.order) & (answer + 1))
        return tuple(other if bit else support for bit in odd.tolist())


def _odd(numbers: Integers) -> NDArray[np.bool_]:
    """Return whether numbers below 2^32 have an odd number of set bits."""
    folded = numbers.copy()
    for shift in (16, 8, 4, 2, 1):
        folded ^= folded >> shift
    return (folded & 1).astype(np.bool_)
