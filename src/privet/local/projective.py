"""Projective geometry response: values are points of a projective space, and a report is a hyperplane."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from privet import noise
from privet.core.errors import BadParameter
from privet.core.given import set_fields
from privet.core.numbers import Number

from .fields import Field, prime_power
from .frequency_oracle import Bytes, FrequencyOracle, Integers, Row, Words
from .reports import add_counts, from_bytes, to_bytes, width_below

_MOST_VECTORS = 2**24
_BLOCK = 2**22


@dataclass(frozen=True, repr=False, eq=False, init=False)
class ProjectiveResponse(FrequencyOracle):
    """Report a hyperplane that contains the answer's point with the odds of epsilon.

    As exact as unary encoding, in a few bytes, and quick to decode for large domains.

    Args:
        domain: a number k (the answers are 0 to k - 1), or a list of labels, texts or integers.
        epsilon: the privacy loss of one report.
        survey: a name; reports to a survey of another name are not accepted.

    Example:
        >>> local.ProjectiveResponse(1024, epsilon=1).width
        2

    Guarantee: epsilon-DP for each person by themselves: each hyperplane has one of two probabilities, e^epsilon apart,
    by whether it contains the answer's point, and equally many contain any point; equally many contain any two.
    Cites: [FNNT22, projective geometry response].
    """

    kind: ClassVar[str] = "projective response"
    order: int
    length: int

    def __init__(self, domain: int | Sequence[Any], *, epsilon: Number, survey: str = "") -> None:
        super().__init__(domain, epsilon=epsilon, survey=survey)
        order, length = _best_space(self.values, self.growth)
        if order**length > _MOST_VECTORS:
            raise BadParameter("domain", domain, f"smaller: decoding {self.values:,} values needs too much memory")
        set_fields(self, order=order, length=length)

    @property
    def points(self) -> int:
        """The number of points, and of hyperplanes."""
        return space_points(self.order, self.length)

    @property
    def p(self) -> Fraction:
        return space_odds(self.order, self.length, self.growth)[0]

    @property
    def q(self) -> Fraction:
        return space_odds(self.order, self.length, self.growth)[1]

    @property
    def both(self) -> Fraction:
        return self.p * Fraction(space_points(self.order, self.length - 2), space_points(self.order, self.length - 1))

    @property
    def width(self) -> int:
        return width_below(self.points)

    def _randomise(self, answers: Integers, ids: Words) -> Bytes:
        meets = noise.bernoulli(self.p, len(answers))
        chosen = self._hyperplanes(self._vectors(answers), meets)
        while (zero := np.flatnonzero(~chosen.any(axis=1))).size:  # the zero vector is no hyperplane: draw again
            chosen[zero] = self._hyperplanes(self._vectors(answers[zero]), meets[zero])
        return to_bytes(self._number(chosen), self.width)

    def _hyperplanes(self, points: Integers, meets: NDArray[np.bool_]) -> Integers:
        """Return vectors uniform among those whose product with a point is 0, or is 1."""
        prime, rows = self.order, np.arange(len(points))
        drawn = noise.uniform_below(prime, points.shape)
        # the last place of a point that is not zero is 1: solve for that place
        lead = self.length - 1 - np.argmax(points[:, ::-1] != 0, axis=1)
        drawn[rows, lead] = 0
        product = (drawn * points).sum(axis=1) % prime
        drawn[rows, lead] = (np.where(meets, 0, 1) - product) % prime
        return drawn

    def _allowed(self, data: Bytes, ids: Words) -> NDArray[np.bool_]:
        return from_bytes(data) < self.points

    @property
    def _tally_shape(self) -> tuple[int, ...]:
        return (self.points,)

    def _count_into(self, tally: Integers, data: Bytes, ids: Words) -> None:
        add_counts(tally, from_bytes(data))

    def _supports(self, tally: Integers) -> Integers:
        planes, values = self._vectors(np.arange(self.points)), self._vectors(np.arange(self.values))
        if self.points * self.values <= self.length * self.order ** (self.length + 2):
            rows = max(1, _BLOCK // self.points)
            blocks = [
                values[start : start + rows] @ planes.T % self.order == 0 for start in range(0, len(values), rows)
            ]
            return np.concatenate([block @ tally for block in blocks])
        table = np.zeros((self.order**self.length, self.order), dtype=np.int64)
        table[self._field.numbers(planes), 0] = tally
        return self._field.dot_counts(table, self.length, self._field.numbers(values))

    @property
    def _outcome_count(self) -> int:
        return self.points

    def _outcomes(self, answer: int) -> Row:
        planes = self._vectors(np.arange(self.points))
        meets = planes @ self._vectors(np.array([answer]))[0] % self.order == 0
        holding = int(meets.sum())
        inside, outside = self.p / holding, (1 - self.p) / (self.points - holding)
        return tuple(inside if met else outside for met in meets.tolist())

    @cached_property
    def _field(self) -> Field:
        return Field(self.order)

    def _vectors(self, numbers: Integers) -> Integers:
        """Return the points with these numbers: vectors whose last place that is not zero is 1."""
        firsts = np.array([space_points(self.order, place) for place in range(self.length)], dtype=np.int64)
        place = np.searchsorted(firsts, numbers, side="right") - 1
        return self._field.digits(self.order**place + numbers - firsts[place], self.length)

    def _number(self, vectors: Integers) -> Integers:
        """Return the numbers of the points of vectors that are not zero."""
        place = self.length - 1 - np.argmax(vectors[:, ::-1] != 0, axis=1)
        lead = vectors[np.arange(len(vectors)), place]
        scaled = vectors * self._field.inverses[lead][:, None] % self.order
        firsts = np.array([space_points(self.order, place) for place in range(self.length)], dtype=np.int64)
        numbers: Integers = self._field.numbers(scaled) - self.order**place + firsts[place]
        return numbers


def space_points(order: int, length: int) -> int:
    """Return the number of points of the space of vectors of this length."""
    return int(order**length - 1) // (order - 1)


def space_odds(order: int, length: int, growth: Fraction) -> tuple[Fraction, Fraction]:
    every, holding, shared = (space_points(order, length - less) for less in (0, 1, 2))
    scale = holding * growth + every - holding
    return holding * growth / scale, (shared * growth + holding - shared) / scale


def _best_space(values: int, growth: Fraction) -> tuple[int, int]:
    """Return the prime and the length whose q (1 - q) / (p - q)^2 is least, among primes near e^epsilon + 1."""

    def length_for(order: int) -> int:
        length = 2
        while space_points(order, length) < values:
            length += 1
        return length

    def spread(space: tuple[int, int]) -> Fraction:
        p, q = space_odds(*space, growth)
        return q * (1 - q) / (p - q) ** 2

    middle = min(int(growth) + 1, 4096)
    near = [n for n in range(max(2, middle // 2), 2 * middle + 4) if prime_power(n) == (n, 1)]
    return min(((order, length_for(order)) for order in near), key=spread)
