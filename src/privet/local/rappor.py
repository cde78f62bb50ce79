"""Full RAPPOR: a permanent draw that a memo keeps, and an instantaneous one on top of it for every report.

An answer sets `hashes` bits of a short row. Permanently, each bit is kept with probability 1 - f / 2 and otherwise
flipped, once; for each report, a permanent one is sent as one with probability `ones`, a permanent zero with `zeros`.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import product
from math import comb
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from privet import noise
from privet.accounting.amplify import Shuffled
from privet.accounting.events import FinitePairEvent
from privet.core.errors import BadParameter, ParseError, RequestError
from privet.core.event import Event, Repeated
from privet.core.given import choice, plain_text, set_fields
from privet.core.numbers import Number, open_probability, probability, whole

from .estimates import COVERS, Frequencies, norm_sub
from .frequency_oracle import Bytes, FrequencyOracle, Integers, Row, Words, read_labels
from .randomizer import MOST_REPEATS, written_odds
from .reports import Reports, draw_ids, from_bytes, to_bytes

Floats = NDArray[np.float64]

_MOST_BITS = 2**20
_MOST_HASHED_BITS = 2**12
_MOST_HASHES = 16
_MOST_COHORTS = 2**12
_MOST_DESIGN = 2**24
_MOST_EXACT_REPORTS = 32
_ROWS = 255


@dataclass(frozen=True, repr=False, eq=False, init=False)
class Rappor(FrequencyOracle):
    """Report bits that are randomised twice: permanently, which a memo keeps, and anew for each report.

    Without a memo, each report draws both and costs `event`. With a `Memo`, all reports of one answer together never
    cost more than `permanent_event`, however many there are.

    Args:
        domain: a number k (the answers are 0 to k - 1), or a list of labels, texts or integers.
        flip: f, the probability with which a bit is permanently replaced by a fair coin.
        ones: q, the probability with which a permanent one is reported as one.
        zeros: p, the probability with which a permanent zero is reported as one; less than `ones`.
        hashes: the number of bits that an answer sets.
        bits: the number of bits of a report; one for each value if left out, and then without hashing.
        cohorts: the number of groups of people who hash differently, so that values which share bits in one are kept
            apart in another.
        survey: a name; reports to a survey of another name are not accepted.

    Raises:
        BadParameter: if a number is out of range, or the values cannot be distinguished by these bits and cohorts.

    Example:
        >>> oracle = local.Rappor(100, flip=0.5, ones=0.75, zeros=0.5, hashes=2, bits=32, cohorts=8)
        >>> round(oracle.epsilon, 4), round(oracle.permanent_epsilon, 4)
        (1.0743, 4.3944)

    Guarantee: two answers differ in at most 2 hashes bits, half of them set for the one and half for the other. A bit
    is reported as one with probability q* = f (p + q) / 2 + (1 - f) q where it is set, and where it is not with
    p* = f (p + q) / 2 + (1 - f) p. So one report has epsilon = hashes ln(q* (1 - p*) / (p* (1 - q*))), and all
    reports of one memoised answer have 2 hashes ln((1 - f / 2) / (f / 2)) at most.
    Cites: [EPK14, Thm 1 and 2].
    """

    kind: ClassVar[str] = "rappor"
    flip: Fraction
    ones: Fraction
    zeros: Fraction
    hashes: int
    bits: int
    cohorts: int

    def __init__(
        self,
        domain: int | Sequence[Any],
        *,
        flip: Number = 0.5,
        ones: Number = 0.75,
        zeros: Number = 0.5,
        hashes: int = 1,
        bits: int | None = None,
        cohorts: int = 1,
        survey: str = "",
    ) -> None:
        labels = read_labels(domain)
        hashed = bits is not None
        set_fields(
            self,
            labels=labels,
            survey=plain_text(survey, "survey"),
            flip=open_probability(flip, "flip"),
            ones=probability(ones, "ones"),
            zeros=probability(zeros, "zeros"),
            hashes=whole(hashes, "hashes", least=1, most=_MOST_HASHES if hashed else 1),
            bits=whole(bits, "bits", least=2, most=_MOST_HASHED_BITS) if hashed else len(labels),
            cohorts=whole(cohorts, "cohorts", least=1, most=_MOST_COHORTS if hashed else 1),
        )
        if self.zeros >= self.ones:
            raise BadParameter("zeros", zeros, f"less than ones, which is {ones}")
        if self.bits > _MOST_BITS:
            raise BadParameter("domain", domain, f"at most {_MOST_BITS:,} values for one bit each; pass bits to hash")
        set_fields(self, growth=(self.p * (1 - self.q) / (self.q * (1 - self.p))) ** self.hashes)
        if hashed:
            self._check_design(domain)

    def _check_design(self, domain: object) -> None:
        if 2 * self.hashes > self.bits:
            raise BadParameter("hashes", self.hashes, f"at most half of the {self.bits} bits")
        if self.values > self.cohorts * self.bits or self.values * self.cohorts * self.bits > _MOST_DESIGN:
            raise BadParameter(
                "domain", domain, "fewer values than cohorts * bits, and few enough to be decoded by least squares"
            )
        if np.linalg.matrix_rank(self._design.reshape(-1, self.values)) < self.values:
            raise BadParameter("bits", self.bits, "enough to tell all values apart: pass more bits or more cohorts")

    @property
    def p(self) -> Fraction:
        """The probability that a bit which the answer sets is reported as one."""
        return self.flip * (self.ones + self.zeros) / 2 + (1 - self.flip) * self.ones

    @property
    def q(self) -> Fraction:
        """The probability that a bit which the answer does not set is reported as one."""
        return self.flip * (self.ones + self.zeros) / 2 + (1 - self.flip) * self.zeros

    @property
    def both(self) -> Fraction:
        return self.p * self.q

    @property
    def width(self) -> int:
        return self._cohort_width + -(-self.bits // 8)

    @property
    def _told(self) -> list[Any]:
        domain = list(self.labels) if isinstance(self.labels, tuple) else self.values
        odds = written_odds((self.flip, self.ones, self.zeros))
        return [domain, self.survey, *odds, self.hashes, self.bits, self.cohorts]

    @cached_property
    def event(self) -> Event:
        """The event of one report, of which both draws are new."""
        own, other = _binomial(self.hashes, self.p), _binomial(self.hashes, self.q)
        return _swapped(own, other)

    @cached_property
    def permanent_event(self) -> Event:
        """The event of the permanent bits of one answer, of which all memoised reports are made."""
        kept = 1 - self.flip / 2
        return _swapped(_binomial(self.hashes, kept), _binomial(self.hashes, 1 - kept))

    def memoised(self, values: int = 1, *, reports: int | None = None) -> Event:
        """Return the event of memoised reports: exactly for up to 32 of each answer, else that of the permanent bits.

        Args:
            values: the number of different answers of the person over time.
            reports: the number of reports of each answer; without limit if left out.

        Guarantee: a count of ones among the reports of one bit is all that they tell about it; it is a mixture of two
        binomials, of a permanent one and a permanent zero. As any function of the permanent bits, never more than
        these. Holds between two histories that change at the same times: that an answer changed is not protected.
        """
        distinct = whole(values, "values", least=1, most=MOST_REPEATS)
        times = None if reports is None else whole(reports, "reports", least=1, most=MOST_REPEATS)
        if times is None or times > _MOST_EXACT_REPORTS:
            return Repeated(self.permanent_event, distinct)
        ones, zeros = _binomial(times, self.ones), _binomial(times, self.zeros)
        kept = 1 - self.flip / 2
        own = tuple(kept * a + (1 - kept) * b for a, b in zip(ones, zeros, strict=True))
        other = tuple(kept * b + (1 - kept) * a for a, b in zip(ones, zeros, strict=True))
        return Repeated(_swapped(own, other), self.hashes * distinct)

    def shuffled(self, n: int) -> Event:
        """Return the event of n honest people's reports, of which only the multiset is public."""
        return Shuffled(self.event, n)

    def variance(self, frequency: Number, n: int) -> float:
        """Return the variance of the estimated frequency of a value that this share of n people have.

        Guarantee: exact for one bit per value. Where values are hashed, that of least squares for the value with the
        most noise, with all others equally frequent and cohorts of equal size, cohorts being random.
        """
        if not self._hashed:
            return super().variance(frequency, n)
        share, size = float(probability(frequency, "frequency")), whole(n, "n", least=1)
        people = np.full(self.cohorts, size / self.cohorts)
        solution = self._solution(people)
        worst = int(np.argmax(self._spread(solution, people, np.full(self.values, 1 / self.values))))
        shares = np.full(self.values, (1 - share) / (self.values - 1))
        shares[worst] = share
        return float(self._spread(solution, people, shares)[worst])

    def robustness(self, fraction: Number) -> float:
        """Return how far this fraction of liars, who may send any bytes, can move one estimated frequency.

        Guarantee: for one bit per value as for every oracle; where values are hashed, liars send all that supports one
        value in its most telling cohort, the cohorts being of equal size without them.
        """
        if not self._hashed:
            return super().robustness(fraction)
        liars, slope = float(probability(fraction, "fraction")), float(self.p - self.q)
        weights = self._solution(np.full(self.cohorts, 1.0)).reshape(self.values, self.cohorts, self.bits)
        up, down = (1 - float(self.q)) / slope, float(self.q) / slope
        moved = np.where(weights > 0, weights * up, -weights * down).sum(axis=2)
        return float(liars * self.cohorts * moved.max())

    @property
    def _hashed(self) -> bool:
        return self.hashes > 1 or self.cohorts > 1 or self.bits != self.values

    @property
    def _cohort_width(self) -> int:
        return 2 if self.cohorts > 1 else 0

    @cached_property
    def _places_set(self) -> Integers:
        """The bits that each value sets in each cohort: cohorts, values, hashes."""
        if not self._hashed:
            return np.arange(self.values).reshape(1, -1, 1)
        places = np.zeros((self.cohorts, self.values, self.hashes), dtype=np.int64)
        for cohort, (number, label) in product(range(self.cohorts), enumerate(self.labels)):
            places[cohort, number] = _hashed_bits([self.survey, cohort, label], self.hashes, self.bits)
        return places

    @cached_property
    def _design(self) -> Floats:
        """Which bits each value sets: cohorts, bits, values."""
        design = np.zeros((self.cohorts, self.bits, self.values))
        for cohort in range(self.cohorts):
            for place in range(self.hashes):
                design[cohort, self._places_set[cohort, :, place], np.arange(self.values)] = 1
        return design

    def _randomise(self, answers: Integers, ids: Words) -> Bytes:
        cohorts = noise.uniform_below(self.cohorts, len(answers))
        return self._drawn(answers, cohorts, self.p, self.q)

    def _drawn(self, answers: Integers, cohorts: Integers, own: Fraction, other: Fraction) -> Bytes:
        """Return cohorts and bits, where each bit that the answer sets is one with one probability, others another."""
        size = len(answers)
        bits = noise.bernoulli_rows(other, size, self.bits)
        rows = np.arange(size)
        for place in range(self.hashes):
            where = self._places_set[cohorts, answers, place]
            columns, masks = where >> 3, (128 >> (where & 7)).astype(np.uint8)
            bits[rows, columns] = bits[rows, columns] & ~masks | np.where(
                noise.bernoulli(own, size), masks, np.uint8(0)
            )
        return np.hstack([to_bytes(cohorts, self._cohort_width), bits]) if self._cohort_width else bits

    def _remember(self, number: int) -> bytes:
        """Return the permanent bits of an answer, with the cohort of their person."""
        kept = 1 - self.flip / 2
        cohort = noise.uniform_below(self.cohorts, 1)
        return bytes(self._drawn(np.array([number]), cohort, kept, 1 - kept)[0])

    def _recall(self, kept: bytes) -> Reports:
        """Return a new report of permanent bits."""
        if len(kept) != self.width:
            raise ParseError("the memo does not hold permanent bits of this oracle")
        head, body = kept[: self._cohort_width], np.frombuffer(kept[self._cohort_width :], np.uint8)
        ones = noise.bernoulli_rows(self.ones, 1, self.bits)[0]
        zeros = noise.bernoulli_rows(self.zeros, 1, self.bits)[0]
        sent = np.frombuffer(head + ((body & ones) | (~body & zeros)).astype(np.uint8).tobytes(), np.uint8)
        return Reports(self.digest, draw_ids(1), sent.reshape(1, -1).copy())

    def _allowed(self, data: Bytes, ids: Words) -> NDArray[np.bool_]:
        spare = np.uint8((1 << (-self.bits % 8)) - 1)
        possible: NDArray[np.bool_] = data[:, -1] & spare == 0
        return possible & (self._cohorts_of(data) < self.cohorts)

    def _cohorts_of(self, data: Bytes) -> Integers:
        return from_bytes(data[:, :2]) if self._cohort_width else np.zeros(len(data), dtype=np.int64)

    @property
    def _tally_shape(self) -> tuple[int, ...]:
        return (self.cohorts, self.bits + 1)

    def _count_into(self, tally: Integers, data: Bytes, ids: Words) -> None:
        cohorts = self._cohorts_of(data)
        for cohort in np.unique(cohorts).tolist():
            rows = data[cohorts == cohort, self._cohort_width :]
            tally[cohort, -1] += len(rows)
            for start in range(0, len(rows), _ROWS):
                bits = np.unpackbits(rows[start : start + _ROWS], axis=1, count=self.bits)
                tally[cohort, :-1] += np.add.reduce(bits, axis=0, dtype=np.uint8)

    def _supports(self, tally: Integers) -> Integers:
        return tally[0, :-1]

    def _estimate(
        self, tally: Integers, n: int, confidence: Number, covers: str, rejected: Mapping[str, int]
    ) -> Frequencies:
        if not self._hashed:
            return super()._estimate(tally, n, confidence, covers, rejected)
        from scipy.special import ndtri

        level = open_probability(confidence, "confidence")
        whose = choice(covers, "covers", COVERS)
        people = tally[:, -1].astype(np.float64)
        solution = self._solution(people)
        rates = tally[:, :-1] / np.maximum(people, 1)[:, None]
        values = solution @ ((rates - float(self.q)) / float(self.p - self.q)).reshape(-1)
        shares = norm_sub(values)
        spread = self._spread(solution, people, shares)
        if whose == "reports":  # the cohorts together are all people; only the assignment to cohorts is random
            spread = np.maximum(spread - shares * (1 - shares) / n, 0)
        errors = np.sqrt(spread)
        reach = float(ndtri(0.5 + float(level) / 2)) * errors
        low, high = np.clip(values - reach, 0, 1), np.clip(values + reach, 0, 1)
        return Frequencies(self.labels, values, low, high, errors, n, float(level), whose, rejected)

    def _solution(self, people: Floats) -> Floats:
        """Return the matrix of least squares, weighted by the people of each cohort: values by cohorts and bits."""
        design = self._design.reshape(-1, self.values)
        weights = np.repeat(people, self.bits)
        normal = design.T @ (weights[:, None] * design)
        if np.linalg.matrix_rank(normal) < self.values:
            raise RequestError("too few cohorts have reports to tell all values apart; collect more reports")
        return np.asarray(np.linalg.solve(normal, design.T * weights), dtype=np.float64)

    def _spread(self, solution: Floats, people: Floats, shares: Floats) -> Floats:
        """Return the variance of each estimate, where people of these shares are spread at random over cohorts."""
        p, q = float(self.p), float(self.q)
        parts = solution.reshape(self.values, self.cohorts, self.bits)
        total = np.zeros(self.values)
        for cohort in np.flatnonzero(people).tolist():
            design, part = self._design[cohort], parts[:, cohort]
            set_share = design @ shares
            drawn = (set_share * p * (1 - p) + (1 - set_share) * q * (1 - q)) / (p - q) ** 2
            sampled = (design * shares) @ design.T - np.outer(set_share, set_share)
            covariance = np.diag(drawn) + sampled
            total = total + ((part @ covariance) * part).sum(axis=1) / people[cohort]
        return np.asarray(total, dtype=np.float64)

    @property
    def _outcome_count(self) -> int:
        return self.cohorts * int(2**self.bits)

    def _outcomes(self, answer: int) -> Row:
        weights = []
        for cohort in range(self.cohorts):
            own = set(self._places_set[cohort, answer].tolist())
            chances = [self.p if bit in own else self.q for bit in range(self.bits)]
            for bits in product((0, 1), repeat=self.bits):
                weight = Fraction(1, self.cohorts)
                for bit, chance in zip(bits, chances, strict=True):
                    weight *= chance if bit else 1 - chance
                weights.append(weight)
        return tuple(weights)


def _hashed_bits(parts: list[Any], count: int, bits: int) -> list[int]:
    """Return different bits that a text decides, each by a hash of it."""
    chosen: list[int] = []
    attempt = 0
    while len(chosen) < count:
        text = json.dumps([*parts, attempt], ensure_ascii=True).encode()
        bit = int.from_bytes(hashlib.sha256(b"privet rappor 1\n" + text).digest(), "big") % bits
        attempt += 1
        if bit not in chosen:
            chosen.append(bit)
    return chosen


def _binomial(n: int, chance: Fraction) -> tuple[Fraction, ...]:
    return tuple(comb(n, k) * chance**k * (1 - chance) ** (n - k) for k in range(n + 1))


def _swapped(own: tuple[Fraction, ...], other: tuple[Fraction, ...]) -> FinitePairEvent:
    """Return the event of two independent draws, of which a neighbour exchanges the laws."""
    pairs = [(a * b, c * d) for a, d in zip(own, other, strict=True) for b, c in zip(other, own, strict=True)]
    kept = [(first, second) for first, second in pairs if first or second]
    return FinitePairEvent((first for first, _ in kept), (second for _, second in kept))
