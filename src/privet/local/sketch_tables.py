"""Reports of hashed values: a public table, chosen by the report's identifier, hashes the value to a few buckets."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privet.core.event import Event
from privet.core.given import plain_text, set_fields
from privet.core.numbers import Number, exp_down, float_up, probability, whole

from .estimates import shares_of, widened
from .fields import prime_power
from .mixing import below, parts_of, salted
from .packing import add_counts, from_bytes
from .projective import ProjectiveResponse, space_odds, space_points
from .randomizer import Bytes, Integers, Randomizer, Words, read_epsilon, written_odds

Floats = NDArray[np.float64]

_FEWEST_BUCKETS, _MOST_BUCKETS = 1000, 6000
_BLOCK = 2**24
_LEAST_EPSILON = Fraction(1, 100)


@dataclass(frozen=True, repr=False, eq=False)
class SketchTables(Randomizer):
    """Tables of buckets, each with a public hash function; a person reports to one, which the identifier decides.

    Guarantee: epsilon-DP for each person by themselves: the table does not depend on the answer, the bucket is a
    function of the answer, and what is reported about it is epsilon-DP.
    Cites: [App17, count-mean sketch], [BNST17].
    """

    inner: ProjectiveResponse

    def __init__(self, epsilon: Number, survey: str) -> None:
        growth = exp_down(read_epsilon(epsilon, least=_LEAST_EPSILON))
        order, length = _best_space(growth)
        labels = range(space_points(order, length))  # a bucket for every point of the space
        inner = object.__new__(ProjectiveResponse)
        set_fields(inner, labels=labels, growth=growth, survey="", order=order, length=length)
        set_fields(self, inner=inner, survey=plain_text(survey, "survey"))

    @property
    @abstractmethod
    def tables(self) -> int:
        """The number of tables."""

    @abstractmethod
    def _states(self, answers: Any, tables: Integers) -> Words:
        """Return what of each answer its table hashes, as 64 bits."""

    @property
    def buckets(self) -> int:
        """The number of buckets of a table."""
        return self.inner.values

    @property
    def width(self) -> int:
        return self.inner.width

    @property
    def event(self) -> Event:
        """The event of one report, whatever its table."""
        return self.inner.event

    @property
    def p(self) -> Fraction:
        """The probability that a report supports the answer."""
        return self.inner.p

    @property
    def q(self) -> Fraction:
        """The probability that a report supports any one other value, over hash functions."""
        return self.inner.q + (self.inner.p - self.inner.q) / self.buckets

    @property
    def _told(self) -> list[Any]:
        return [self.tables, self.buckets, *written_odds((self.inner.p, self.inner.q)), self.survey]

    def _tables_of(self, ids: Words) -> Integers:
        return parts_of(ids, self.digest, self.tables)

    def _bucket(self, states: Words, tables: Integers | int) -> Integers:
        """Return the bucket of each state in a table."""
        turned = np.asarray(tables, dtype=np.uint64) * np.uint64(0xD6E8FEB86659FD93)
        return below(salted(states + turned, 0), self.buckets)

    def _randomise(self, answers: Any, ids: Words) -> Bytes:
        tables = self._tables_of(ids)
        return self.inner._randomise(self._bucket(self._states(answers, tables), tables), ids)

    def _allowed(self, data: Bytes, ids: Words) -> NDArray[np.bool_]:
        return self.inner._allowed(data, ids)

    @property
    def _tally_shape(self) -> tuple[int, ...]:
        return (self.tables, self.inner.points)

    def _count_into(self, tally: Integers, data: Bytes, ids: Words) -> None:
        add_counts(tally, self._tables_of(ids) * self.inner.points + from_bytes(data))

    def _decoded(self, tally: Integers) -> Floats:
        """Return for each table and bucket how many reports support it, exactly."""
        planes = self.inner._vectors(np.arange(self.inner.points)).astype(np.float64)
        rows = max(1, _BLOCK // self.inner.points)
        counts = tally.T.astype(np.float64)
        found = [
            (np.mod(planes[first : first + rows] @ planes.T, self.inner.order) == 0).astype(np.float64) @ counts
            for first in range(0, self.buckets, rows)
        ]
        return np.concatenate(found).T

    def _second_moment(self, tally: Integers, supports: Floats) -> float:
        """Return an upper estimate of the sum of squared shares of what the tables hash, for collisions."""
        sizes = tally.sum(axis=1)
        held = sizes > 0
        p, q = float(self.inner.p), float(self.inner.q)
        shares = (supports[held] / sizes[held, None] - q) / (p - q)
        noise = q * (1 - q) / (p - q) ** 2 / sizes[held]
        each = (shares**2).sum(axis=1) - self.buckets * noise - 1 / self.buckets
        weights = sizes[held] / sizes.sum()
        spread = float(np.sqrt((weights**2 * 2 * self.buckets * noise**2).sum()))
        return float(min(1.0, max(0.0, float(weights @ each)) + 2 * spread))

    def _shares(
        self, supports: Integers, used: int, n: int, level: Fraction, whose: str, collisions: float
    ) -> tuple[Floats, Floats, Floats, Floats]:
        """Return shares of values among n people, of whom `used` tell, ends of intervals and standard errors.

        The variance of collisions is added, and that of who is among those who tell.
        """
        values, low, high, errors = shares_of(self.p, self.q, supports, used, level, whose)
        shares = np.clip(values, 0, 1)
        chosen = shares * (1 - shares) * (1 / used - 1 / n) if whose == "reports" else 0.0
        return values, *widened(values, low, high, errors, collisions + chosen, level)

    @cached_property
    def _own_share(self) -> float:
        return float((1 - self.q) / (self.p - self.q))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.tables:,} tables, epsilon={self.epsilon:.6g}, {self.width} bytes)"


@cache
def _best_space(growth: Fraction) -> tuple[int, int]:
    """Return the prime and the length with the least variance, among spaces with a good number of points."""
    spaces = [
        (order, length)
        for order in range(2, _MOST_BUCKETS)
        for length in range(2, _MOST_BUCKETS.bit_length())
        if _FEWEST_BUCKETS <= space_points(order, length) <= _MOST_BUCKETS and prime_power(order) == (order, 1)
    ]

    def spread(space: tuple[int, int]) -> float:
        p, q = (float(odd) for odd in space_odds(*space, growth))
        return q * (1 - q) / (p - q) ** 2

    return min(spaces, key=spread)


def spread_of(oracle: SketchTables, frequency: Number, n: int) -> float:
    """Return the variance of a share among n reports, without that of collisions."""
    share, size = probability(frequency, "frequency"), whole(n, "n", least=1)
    p, q = oracle.p, oracle.q
    return float_up((q * (1 - q) + share * (1 - p - q) * (p - q)) / (size * (p - q) ** 2))
