"""The one shape of every frequency oracle: a client that randomises, reports that travel, a server that only counts.

Privacy is the client's: what a report may be depends on one person's answer with the exact odds of the oracle, and no
server, shuffler or reader of reports is trusted. A report supports some of the values; the answer itself is supported
with probability p, and every other value with probability q, so that counts of support estimate frequencies.
"""

from __future__ import annotations

import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from privet.accounting.events import FinitePairEvent
from privet.accounting.shuffled import Shuffled
from privet.core.errors import BadParameter, BadValue, RequestError
from privet.core.event import Event, Exact
from privet.core.given import instance, plain_text, set_fields
from privet.core.numbers import Number, exp_down, float_up, positive, probability, whole

from .reports import Reports, draw_ids

if TYPE_CHECKING:
    from .server import Server

Integers = NDArray[np.int64]
Bytes = NDArray[np.uint8]
Row = tuple[Fraction, ...]

MOST_VALUES = 2**24
MOST_LABELS = 10**6
_LARGEST_EPSILON = Fraction(50)
_MATRIX = 10**5


@dataclass(frozen=True, repr=False, eq=False)
class FrequencyOracle(ABC):
    """Randomises one person's answer among a domain of values, and estimates how often each value is the answer.

    Args:
        domain: a number k (the answers are 0 to k - 1), or a list of labels, texts or integers.
        epsilon: the privacy loss of one report.
        survey: a name; reports to a survey of another name are not accepted.

    Raises:
        BadParameter: if a number is out of range or the labels are not distinct.

    Example:
        >>> [kind.__name__ for kind in local.ORACLES if issubclass(kind, local.FrequencyOracle)][:2]
        ['KaryResponse', 'SubsetSelection']
    """

    kind: ClassVar[str]
    """The name of this oracle on the wire."""

    labels: tuple[Any, ...] | range
    growth: Fraction
    survey: str

    def __init__(self, domain: int | Sequence[Any], *, epsilon: Number, survey: str = "") -> None:
        asked = positive(epsilon, "epsilon")
        if asked > _LARGEST_EPSILON:
            raise BadParameter("epsilon", epsilon, f"above 0 and at most {_LARGEST_EPSILON}")
        # e^epsilon rounded down, so that odds made of it cost no more than was asked
        set_fields(self, labels=read_labels(domain), growth=exp_down(asked), survey=plain_text(survey, "survey"))

    @property
    def values(self) -> int:
        """The number of values of the domain."""
        return len(self.labels)

    @property
    @abstractmethod
    def p(self) -> Fraction:
        """The probability that a report supports the answer."""

    @property
    @abstractmethod
    def q(self) -> Fraction:
        """The probability that a report supports any one other value."""

    @property
    @abstractmethod
    def both(self) -> Fraction:
        """The probability that a report supports the answer and any one other value."""

    @property
    @abstractmethod
    def width(self) -> int:
        """The bytes of a report, without its identifier."""

    @abstractmethod
    def _randomise(self, answers: Integers, ids: NDArray[np.uint64]) -> Bytes:
        """Return the randomised content of each answer's report, one in each row."""

    @abstractmethod
    def _allowed(self, data: Bytes) -> NDArray[np.bool_]:
        """Return which rows some client can have sent."""

    @property
    @abstractmethod
    def _tally_shape(self) -> tuple[int, ...]:
        """The shape of the integers that a server keeps instead of reports."""

    @abstractmethod
    def _count_into(self, tally: Integers, data: Bytes, ids: NDArray[np.uint64]) -> None:
        """Add the integers of some reports to a server's."""

    @abstractmethod
    def _supports(self, tally: Integers) -> Integers:
        """Return for each value how many reports support it."""

    @property
    @abstractmethod
    def _outcome_count(self) -> int:
        """The number of different reports."""

    @abstractmethod
    def _outcomes(self, answer: int) -> Row:
        """Return the exact probability of every report of one answer, in a fixed order."""

    @cached_property
    def event(self) -> Event:
        """The event of one report.

        Guarantee: neighbours are any two answers of one person. A report supports both, the first alone, the second
        alone, or neither; within each of these four its odds have one ratio, so the pair is exact, and swapping the
        answers swaps the two sides: reports on several questions may go opposite ways.
        """
        outcomes = self._outcome_odds
        return FinitePairEvent((first for first, _, _ in outcomes), (second for _, second, _ in outcomes))

    @property
    def _outcome_odds(self) -> tuple[tuple[Fraction, Fraction, Fraction], ...]:
        """For reports that support both of two answers, one, the other, or none: the odds of each, and the least odds.

        A report that does not support an answer has the least odds that any answer gives it; one that supports both
        is, for an answer that it does not support, less likely by the ratio of odds.
        """
        p, q, both = self.p, self.q, self.both
        neither, ratio = 1 - p - q + both, (p - both) / (q - both)
        rows = (
            (both, both, both / ratio),
            (p - both, q - both, q - both),
            (q - both, p - both, q - both),
            (neither, neither, neither),
        )
        return tuple(row for row in rows if row[0])

    def shuffled(self, n: int) -> Event:
        """Return the event of n honest people's reports, of which only the multiset is seen.

        Args:
            n: the number of honest people; missing, repeated and forged reports do not count.

        Guarantee: every report has at least the odds of one that does not support the answer, which is the blanket.
        Cites: [BBGN19, the privacy blanket], [FMT21].
        """
        return Shuffled(self.event, n, blanket=(least for _, _, least in self._outcome_odds))

    @cached_property
    def epsilon(self) -> float:
        """The exact privacy loss of a report, rounded up; never above the one asked for."""
        loss: Exact = self.event.pure()
        return float_up(loss)

    @cached_property
    def client(self) -> Client:
        """What randomises answers: it keeps nothing."""
        return Client(self)

    def server(self) -> Server:
        """Return a server that has seen no reports yet."""
        from .server import Server

        return Server(self)

    def variance(self, frequency: Number, n: int) -> float:
        """Return the variance of the estimated frequency of a value that this share of n people have.

        Guarantee: exact for fixed answers: [q (1 - q) + f (1 - p - q)(p - q)] / (n (p - q)^2).
        Cites: [WBLJ17, Thm 2].
        """
        share, size = probability(frequency, "frequency"), whole(n, "n", least=1)
        p, q = self.p, self.q
        return float_up((q * (1 - q) + share * (1 - p - q) * (p - q)) / (size * (p - q) ** 2))

    def robustness(self, fraction: Number) -> float:
        """Return how far this fraction of liars, who may send any bytes, can move one estimated frequency.

        Guarantee: a forged report supports a value or not, which moves its estimate by at most (1 - q) / (p - q).
        Cites: [CJG21, direct forging].
        """
        return float_up(probability(fraction, "fraction") * (1 - self.q) / (self.p - self.q))

    def matrix(self) -> tuple[Row, ...]:
        """Return the exact probability of every report (columns) for every answer (rows), for small domains."""
        columns = self._outcome_count
        if columns * self.values > _MATRIX:
            raise RequestError(
                f"the matrix of {self!r} would have {self.values:,} rows and {columns:,} columns, more than "
                f"{_MATRIX:,} entries; p, q and event hold at any size"
            )
        return tuple(self._outcomes(answer) for answer in range(self.values))

    @cached_property
    def digest(self) -> bytes:
        """Eight bytes that every report carries: of the kind, the domain, the odds and the survey's name."""
        told = [self.kind, list(self.labels) if isinstance(self.labels, tuple) else self.values, self.survey]
        odds = [f"{odd.numerator}/{odd.denominator}" for odd in (self.p, self.q)]
        return hashlib.sha256(json.dumps([1, *told, *odds, self.width], ensure_ascii=True).encode()).digest()[:8]

    def _index(self, answers: Any, parameter: str = "answer") -> Integers:
        """Return the numbers of answers; an array without dimensions for one answer."""
        found = _numbered(answers, self.values) if isinstance(self.labels, range) else _named(answers, self._places)
        if found is None:
            raise BadValue(parameter, "something outside the domain", f"among the {self.values:,} values of the domain")
        return found

    @cached_property
    def _places(self) -> dict[Any, int]:
        return {label: place for place, label in enumerate(self.labels)}

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and other.digest == self.digest

    def __hash__(self) -> int:
        return hash(self.digest)

    def __repr__(self) -> str:
        length = "1 byte" if self.width == 1 else f"{self.width:,} bytes"
        return f"{type(self).__name__}({self.values:,} values, epsilon={self.epsilon:.6g}, {length})"


@dataclass(frozen=True)
class Client:
    """The person's side of an oracle: randomises, keeps nothing, and needs no trust in anyone.

    Each call costs the person the oracle's event again: a survey that is sent twice must resend the same report.

    Example:
        >>> survey = local.KaryResponse(["no", "yes"], epsilon=1)
        >>> len(survey.client.report("yes").to_bytes())
        37
    """

    oracle: FrequencyOracle

    def __post_init__(self) -> None:
        instance(self.oracle, FrequencyOracle, "oracle", "an oracle of frequencies")

    def report(self, answer: Any) -> Reports:
        """Return one person's report."""
        number = self.oracle._index(answer)
        if number.ndim:
            raise BadValue("answer", "several", "one value of the domain; reports() takes many")
        return self._send(number.reshape(1))

    def reports(self, answers: Any) -> Reports:
        """Return a report for each of many people's answers."""
        numbers = self.oracle._index(answers, "answers")
        if numbers.ndim != 1:
            raise BadValue("answers", "something else", "a list or an array of one dimension")
        return self._send(numbers)

    def _send(self, numbers: Integers) -> Reports:
        ids = draw_ids(len(numbers))
        return Reports(self.oracle.digest, ids, self.oracle._randomise(numbers, ids))


def read_labels(domain: int | Sequence[Any]) -> tuple[Any, ...] | range:
    """Return the labels of a domain, or the range of its numbers."""
    allowed = "a number of at least 2, or a list of at least two different labels, texts or integers"
    if not isinstance(domain, (list, tuple, range)):
        return range(whole(domain, "domain", least=2, most=MOST_VALUES))
    if isinstance(domain, range) and domain == range(len(domain)):
        return range(whole(len(domain), "domain", least=2, most=MOST_VALUES))
    if not 2 <= len(domain) <= MOST_LABELS:
        raise BadParameter("domain", domain, f"{allowed}, {MOST_LABELS:,} at most")
    labels = tuple(domain)
    if not all(type(label) in (str, int, bool) for label in labels) or len(set(labels)) < len(labels):
        raise BadParameter("domain", domain, allowed)
    if all(type(label) is int and label == place for place, label in enumerate(labels)):
        return range(len(labels))
    return labels


def _numbered(answers: Any, values: int) -> Integers | None:
    """Return answers that are numbers of values, or None if any is not."""
    try:
        array = np.asarray(answers)
    except Exception:  # ragged lists, and whatever a foreign type raises
        return None
    if array.size and (array.dtype.kind not in "iu" or isinstance(answers, np.ma.MaskedArray)):
        return None
    return array.astype(np.int64) if ((array >= 0) & (array < values)).all() else None


def _named(answers: Any, places: dict[Any, int]) -> Integers | None:
    """Return the places of answers that are labels, or None if any is not."""
    try:
        if isinstance(answers, np.ndarray):
            answers = answers.tolist()
        if isinstance(answers, (list, tuple)):
            return np.array([places[answer] for answer in answers], dtype=np.int64)
        return np.array(places[answers], dtype=np.int64)
    except Exception:  # unknown or unhashable answers, and whatever a foreign type raises
        return None
