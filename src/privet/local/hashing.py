"""Local hashing: a public random function folds the domain to a few values, of which one is reported.

The functions are the linear ones from vectors over a finite field to its elements. Two different values collide under
exactly one in `buckets` of them, so the odds of support are exact, no pair of values is favoured, and a server decodes
all values at once. Which function a report uses follows from its random identifier.
"""

from __future__ import annotations

import hashlib
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
from privet.core.numbers import Number, whole

from .fields import Field, prime_power
from .frequency_oracle import Bytes, FrequencyOracle, Integers, Row, Words
from .reports import add_counts

_ROUNDS = 4


def mixed(words: Words) -> Words:
    """Return 64 bits that look random for each word, one to one."""
    word = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    word = (word ^ (word >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    result: Words = word ^ (word >> np.uint64(31))
    return result


def salted(words: Words, salt: int) -> Words:
    """Return 64 bits that look random for each word and a public number."""
    return mixed(words + np.uint64((salt + 1) * 0x9E3779B97F4A7C15 % 2**64))


def below(words: Words, bound: int) -> Integers:
    """Return a number below a bound for each word."""
    return (words % np.uint64(bound)).astype(np.int64)


def parts_of(ids: Words, key: bytes, parts: int) -> Integers:
    """Return which part each report answers: a function of its random identifier, so that everyone can check it."""
    return below(mixed(ids[:, 1] ^ np.uint64(int.from_bytes(key, "big"))), parts)


def word_of(text: bytes, key: bytes) -> int:
    """Return 64 bits that look random for a text."""
    return int.from_bytes(hashlib.blake2b(text, digest_size=8, key=key).digest(), "big")


def permuted(number: int, bits: int, key: bytes) -> int:
    """Return the image of a number of this many bits (an even number of them) under a public permutation."""
    half = bits // 2
    left, right = number >> half, number & ((1 << half) - 1)
    for turn in range(_ROUNDS):
        left, right = right, left ^ _scrambled(right, half, turn, key)
    return left << half | right


def unpermuted(number: int, bits: int, key: bytes) -> int:
    """Return the number whose image this is."""
    half = bits // 2
    left, right = number >> half, number & ((1 << half) - 1)
    for turn in reversed(range(_ROUNDS)):
        left, right = right ^ _scrambled(left, half, turn, key), left
    return left << half | right


def _scrambled(number: int, bits: int, turn: int, key: bytes) -> int:
    data = bytes([turn]) + number.to_bytes(-(-bits // 8), "big")
    return int.from_bytes(hashlib.blake2b(data, key=key).digest(), "big") & ((1 << bits) - 1)


_MOST_BUCKETS = 256
_TALLY = 2**27


@dataclass(frozen=True, repr=False, eq=False, init=False)
class OptimizedHashing(FrequencyOracle):
    """Report the answer's bucket under a public random function, by k-ary response among the buckets.

    One byte a report, whatever the size of the domain. The best number of buckets is about e^epsilon + 1; the nearest
    power of a prime is taken unless another is given. With two buckets this is binary local hashing.

    Args:
        domain: a number k (the answers are 0 to k - 1), or a list of labels, texts or integers.
        epsilon: the privacy loss of one report.
        buckets: the number of buckets, a power of a prime from 2 to 256.
        survey: a name; reports to a survey of another name are not accepted.

    Example:
        >>> local.OptimizedHashing(1024, epsilon=1).buckets
        4

    Guarantee: epsilon-DP for each person by themselves, for each function, however it is chosen: the function does
    not depend on the answer, and the report is a k-ary response of its bucket. A value that is not the answer is
    supported with probability exactly 1 / buckets: a difference of two vectors is not zero, so its product with a
    uniform vector is uniform. (The function is a 64-bit word modulo their number, uniform but for 2^-38.)
    Cites: [WBLJ17, local hashing], [BS15, linear functions].
    """

    kind: ClassVar[str] = "local hashing"
    identified: ClassVar[bool] = True
    buckets: int

    def __init__(
        self, domain: int | Sequence[Any], *, epsilon: Number, buckets: int | None = None, survey: str = ""
    ) -> None:
        super().__init__(domain, epsilon=epsilon, survey=survey)
        size = _best_buckets(self.growth) if buckets is None else whole(buckets, "buckets", least=2, most=_MOST_BUCKETS)
        if prime_power(size) is None:
            raise BadParameter("buckets", buckets, f"a power of a prime from 2 to {_MOST_BUCKETS}")
        set_fields(self, buckets=size)
        if self.functions * size > _TALLY:
            raise BadParameter("domain", domain, f"smaller: decoding {self.values:,} values needs too much memory")

    @property
    def length(self) -> int:
        """The length of the vectors that represent the values."""
        length = 1
        while self.buckets**length < self.values:
            length += 1
        return length

    @property
    def functions(self) -> int:
        """The number of public functions."""
        return int(self.buckets**self.length)

    @property
    def p(self) -> Fraction:
        return self.growth / (self.growth + self.buckets - 1)

    @property
    def q(self) -> Fraction:
        return Fraction(1, self.buckets)

    @property
    def both(self) -> Fraction:
        return self.p / self.buckets

    @property
    def width(self) -> int:
        return 1

    def _randomise(self, answers: Integers, ids: Words) -> Bytes:
        size = len(answers)
        vectors = self._field.digits(self._function(ids), self.length)
        true = self._field.dot(vectors, self._field.digits(answers, self.length))
        other = noise.uniform_below(self.buckets - 1, size)
        lies = other + (other >= true)
        return np.where(noise.bernoulli(self.p, size), true, lies).astype(np.uint8)[:, None]

    def _allowed(self, data: Bytes, ids: Words) -> NDArray[np.bool_]:
        return data[:, 0] < self.buckets

    @property
    def _tally_shape(self) -> tuple[int, ...]:
        return (self.functions, self.buckets)

    def _count_into(self, tally: Integers, data: Bytes, ids: Words) -> None:
        add_counts(tally, self._function(ids) * self.buckets + data[:, 0])

    def _supports(self, tally: Integers) -> Integers:
        return self._field.dot_counts(tally, self.length, np.arange(self.values))

    @property
    def _outcome_count(self) -> int:
        return self.functions * self.buckets

    def _outcomes(self, answer: int) -> Row:
        functions = self._field.digits(np.arange(self.functions), self.length)
        true = self._field.dot(functions, self._field.digits(np.array([answer]), self.length))
        truth, lie = self.p / self.functions, (1 - self.p) / (self.buckets - 1) / self.functions
        return tuple(truth if bucket == own else lie for own in true.tolist() for bucket in range(self.buckets))

    @cached_property
    def _field(self) -> Field:
        return Field(self.buckets)

    def _function(self, ids: Words) -> Integers:
        """Return the number of each report's function, which its identifier and the survey decide."""
        word = ids[:, 0] ^ np.uint64(int.from_bytes(self.digest, "big"))
        word = (word ^ (word >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        word = (word ^ (word >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        word ^= word >> np.uint64(31)
        return (word % np.uint64(self.functions)).astype(np.int64)


class BinaryHashing(OptimizedHashing):
    """Local hashing with two buckets: a report is one bit.

    Args:
        domain: a number k (the answers are 0 to k - 1), or a list of labels, texts or integers.
        epsilon: the privacy loss of one report.
        survey: a name; reports to a survey of another name are not accepted.

    Example:
        >>> local.BinaryHashing(1024, epsilon=1).q
        Fraction(1, 2)

    Guarantee: as OptimizedHashing.
    Cites: [BS15], [WBLJ17, binary local hashing].
    """

    kind: ClassVar[str] = "binary hashing"

    def __init__(self, domain: int | Sequence[Any], *, epsilon: Number, survey: str = "") -> None:
        super().__init__(domain, epsilon=epsilon, buckets=2, survey=survey)


def _best_buckets(growth: Fraction) -> int:
    """Return the power of a prime that makes q (1 - q) / (p - q)^2 least, with p = e / (e + g - 1) and q = 1 / g."""

    def spread(g: int) -> Fraction:
        return (growth + g - 1) ** 2 / (g - 1)

    middle = int(growth) + 1
    near = [g for g in range(2, _MOST_BUCKETS + 1) if abs(g - middle) <= 8 or g == _MOST_BUCKETS]
    return min((g for g in near if prime_power(g)), key=spread)
