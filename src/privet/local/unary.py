"""Unary encoding: a bit for each value of the domain, each of which may be flipped."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from privet import noise
from privet.core.errors import BadParameter
from privet.core.given import set_fields
from privet.core.numbers import Number, exp_down, positive

from .frequency_oracle import Bytes, FrequencyOracle, Integers, Row, Words

_MOST_VALUES = 2**20
_ROWS = 255
"""Rows whose bits are added in one byte."""


@dataclass(frozen=True, repr=False, eq=False, init=False)
class UnaryEncoding(FrequencyOracle):
    """Report a bit for each value: set with probability p for the answer, and with probability q for each other."""

    def __init__(self, domain: int | Sequence[Any], *, epsilon: Number, survey: str = "") -> None:
        super().__init__(domain, epsilon=epsilon, survey=survey)
        if self.values > _MOST_VALUES:
            raise BadParameter(
                "domain",
                domain,
                f"at most {_MOST_VALUES:,} values for one bit each; OptimizedHashing has no such limit",
            )

    @property
    def both(self) -> Fraction:
        return self.p * self.q

    @property
    def width(self) -> int:
        return -(-self.values // 8)

    def _randomise(self, answers: Integers, ids: Words) -> Bytes:
        size = len(answers)
        bits = noise.bernoulli_rows(self.q, size, self.values)
        own = noise.bernoulli(self.p, size)
        rows, places, masks = np.arange(size), answers >> 3, (128 >> (answers & 7)).astype(np.uint8)
        bits[rows, places] = bits[rows, places] & ~masks | np.where(own, masks, np.uint8(0))
        return bits

    def _allowed(self, data: Bytes, ids: Words) -> NDArray[np.bool_]:
        spare = np.uint8((1 << (8 * self.width - self.values)) - 1)
        possible: NDArray[np.bool_] = data[:, -1] & spare == 0
        return possible

    @property
    def _tally_shape(self) -> tuple[int, ...]:
        return (self.values,)

    def _count_into(self, tally: Integers, data: Bytes, ids: Words) -> None:
        for start in range(0, len(data), _ROWS):
            bits = np.unpackbits(data[start : start + _ROWS], axis=1, count=self.values)
            tally += np.add.reduce(bits, axis=0, dtype=np.uint8)

    def _supports(self, tally: Integers) -> Integers:
        return tally

    @property
    def _outcome_count(self) -> int:
        return int(2**self.values)

    def _outcomes(self, answer: int) -> Row:
        chances = [self.p if value == answer else self.q for value in range(self.values)]
        weights = []
        for bits in product((0, 1), repeat=self.values):
            weight = Fraction(1)
            for bit, chance in zip(bits, chances, strict=True):
                weight *= chance if bit else 1 - chance
            weights.append(weight)
        return tuple(weights)


@dataclass(frozen=True, repr=False, eq=False, init=False)
class SymmetricUnary(UnaryEncoding):
    """Flip every bit of the unary code with the same probability: basic RAPPOR.

    Args:
        domain: a number k (the answers are 0 to k - 1), or a list of labels, texts or integers.
        epsilon: the privacy loss of one report.
        survey: a name; reports to a survey of another name are not accepted.

    Example:
        >>> local.SymmetricUnary(100, epsilon=2).width
        13

    Guarantee: epsilon-DP for each person by themselves: two answers differ in two bits, each of which has odds of at
    most e^(epsilon / 2).
    Cites: [EPK14, basic RAPPOR], [WBLJ17, symmetric unary encoding].
    """

    kind: ClassVar[str] = "symmetric unary"
    root: Fraction

    def __init__(self, domain: int | Sequence[Any], *, epsilon: Number, survey: str = "") -> None:
        super().__init__(domain, epsilon=epsilon, survey=survey)
        set_fields(self, root=exp_down(positive(epsilon, "epsilon") / 2))

    @property
    def p(self) -> Fraction:
        return self.root / (self.root + 1)

    @property
    def q(self) -> Fraction:
        return 1 / (self.root + 1)


@dataclass(frozen=True, repr=False, eq=False, init=False)
class OptimizedUnary(UnaryEncoding):
    """Set the answer's bit by a fair coin, and each other bit as rarely as epsilon allows.

    Args:
        domain: a number k (the answers are 0 to k - 1), or a list of labels, texts or integers.
        epsilon: the privacy loss of one report.
        survey: a name; reports to a survey of another name are not accepted.

    Example:
        >>> local.OptimizedUnary(100, epsilon=1).p
        Fraction(1, 2)

    Guarantee: epsilon-DP for each person by themselves: two answers differ in two bits; the fair one is worth nothing
    but half, and the odds of the other are at most e^epsilon, together p (1 - q) / (q (1 - p)).
    Cites: [WBLJ17, optimized unary encoding].
    """

    kind: ClassVar[str] = "optimized unary"

    def __init__(self, domain: int | Sequence[Any], *, epsilon: Number, survey: str = "") -> None:
        super().__init__(domain, epsilon=epsilon, survey=survey)

    @property
    def p(self) -> Fraction:
        return Fraction(1, 2)

    @property
    def q(self) -> Fraction:
        return 1 / (self.growth + 1)
