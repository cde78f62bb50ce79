"""A count-mean sketch: frequencies of any strings that are named afterwards."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from privet.core.errors import BadParameter, BadValue, RequestError
from privet.core.event import Event
from privet.core.given import choice, listed, plain_text, set_fields
from privet.core.numbers import Number, exp_down, float_up, open_probability, probability, whole

from .estimates import COVERS, Frequencies, shares_of, widened
from .fields import prime_power
from .hashing import below, parts_of, salted, word_of
from .projective import ProjectiveResponse, space_odds, space_points
from .randomizer import Bytes, Integers, Randomizer, Words, read_epsilon, written_odds
from .reports import add_counts, from_bytes

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
        blocks = [
            (np.mod(planes[first : first + rows] @ planes.T, self.inner.order) == 0).astype(np.float64) @ counts
            for first in range(0, self.buckets, rows)
        ]
        return np.concatenate(blocks).T

    def _second_moment(self, tally: Integers, supports: Floats) -> float:
        """Return an upper estimate of the sum of squared shares of the hashed values, for collisions."""
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
        """Return shares of values among n people, of whom `used` report, ends of intervals and standard errors.

        The variance of collisions is added, and that of who is among those who report.
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


@dataclass(frozen=True, repr=False, eq=False, init=False)
class CountMeanSketch(SketchTables):
    """Randomise any string, and estimate how often each string of a list is the answer; the list comes afterwards.

    Args:
        epsilon: the privacy loss of one report, at least 0.01.
        tables: the number of hash functions.
        survey: a name; reports to a survey of another name are not accepted.

    Example:
        >>> words = local.CountMeanSketch(epsilon=8)
        >>> server = words.server()
        >>> server.add(words.client.reports(["tea"] * 600 + ["coffee"] * 400))
        1000
        >>> found = server.estimate(of=["tea", "coffee", "milk"])
        >>> found["milk"][0] < 0.2 < found["tea"][0]
        True

    Guarantee: epsilon-DP for each person by themselves, as SketchTables.
    Cites: [App17, count-mean sketch].
    """

    kind: ClassVar[str] = "count-mean sketch"
    tables_asked: int

    def __init__(self, *, epsilon: Number, tables: int = 64, survey: str = "") -> None:
        super().__init__(epsilon, survey)
        set_fields(self, tables_asked=whole(tables, "tables", least=2, most=2**10))

    @property
    def tables(self) -> int:
        return self.tables_asked

    def _read(self, answers: Any, parameter: str = "answer") -> Words:
        """Return 64 bits for each string."""
        texts = texts_of(answers)
        if texts is None:
            raise BadValue(parameter, "something else", "a text, or a list of texts")
        words = {text: word_of(text.encode("utf-8", "surrogatepass"), self.digest) for text in set(texts)}
        array = np.array([words[text] for text in texts], dtype=np.uint64)
        return array.reshape(()) if isinstance(answers, str) else array

    def _states(self, answers: Any, tables: Integers) -> Words:
        states: Words = answers
        return states

    def variance(self, frequency: Number, n: int) -> float:
        """Return the variance of the estimated frequency of a string that this share of n people have.

        Guarantee: that of reports; strings that share buckets add at most the sum of all squared shares, divided by
        the number of all buckets of all tables.
        """
        return spread_of(self, frequency, n)

    def robustness(self, fraction: Number) -> float:
        """Return how far this fraction of liars, who may send any bytes, can move one estimated frequency.

        Guarantee: a forged report supports a string or not, which moves its estimate by at most (1 - q) / (p - q).
        Cites: [CJG21, direct forging].
        """
        return float_up(float(probability(fraction, "fraction")) * self._own_share)

    def _estimate(
        self, tally: Integers, n: int, confidence: Number, covers: str, rejected: Mapping[str, int]
    ) -> Frequencies:
        raise RequestError("name the strings whose frequencies are wanted: estimate(of=['cat', 'dog'])")

    def _estimate_of(
        self, of: Any, tally: Integers, n: int, confidence: Number, covers: str, rejected: Mapping[str, int]
    ) -> Frequencies:
        names = tuple(listed(of, "of", "a list of texts"))
        if not names or not all(type(name) is str for name in names) or len(set(names)) < len(names):
            raise BadParameter("of", of, "a list of different texts")
        level, whose = open_probability(confidence, "confidence"), choice(covers, "covers", COVERS)
        supports = self._decoded(tally)
        states = self._read(list(names))
        counts = sum(supports[table][self._bucket(states, table)] for table in range(self.tables))
        collisions = self._second_moment(tally, supports) / (self.tables * self.buckets)
        columns = self._shares(np.rint(counts).astype(np.int64), n, n, level, whose, collisions)
        return Frequencies(names, *columns, n, float(level), whose, rejected)


def texts_of(answers: Any) -> list[str] | None:
    """Return one text or several as a list, or None if any is none."""
    try:
        texts = [answers] if isinstance(answers, str) else list(np.asarray(answers, dtype=object).ravel().tolist())
        if not isinstance(answers, str) and np.ndim(np.asarray(answers, dtype=object)) != 1:
            return None
    except Exception:  # ragged lists, and whatever a foreign type raises
        return None
    return [str(text) for text in texts] if all(isinstance(text, str) for text in texts) else None
