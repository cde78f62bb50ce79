"""The common shape of frequency oracles: a client that randomises, reports that travel, a server that only counts.

Privacy is the client's: a report is drawn from one person's answer with the exact odds of the oracle, and no
server, shuffler or reader of reports is trusted. A report supports some of the values; the answer itself is supported
with probability p, and every other value with probability q, so that counts of support estimate frequencies.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from privet.accounting.amplify import Shuffled
from privet.accounting.events import FinitePairEvent
from privet.core.errors import BadParameter, BadValue, RequestError
from privet.core.event import Event, Repeated
from privet.core.given import plain_text, set_fields
from privet.core.numbers import Number, exp_down, float_up, probability, whole

from .randomizer import MOST_REPEATS, Bytes, Client, Integers, Randomizer, Row, Words, read_epsilon, written_odds
from .reports import Reports, read_reports

if TYPE_CHECKING:
    from .estimates import Frequencies

__all__ = ["Bytes", "Client", "FrequencyOracle", "Integers", "Row", "Words", "check_matrix", "read_labels"]

MOST_VALUES = 2**24
MOST_LABELS = 10**6
_MATRIX = 10**5


@dataclass(frozen=True, repr=False, eq=False)
class FrequencyOracle(Randomizer):
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

    identified: ClassVar[bool] = False
    """Whether a report means something only with its identifier, as the public function of a hash does."""

    labels: tuple[Any, ...] | range
    growth: Fraction

    def __init__(self, domain: int | Sequence[Any], *, epsilon: Number, survey: str = "") -> None:
        asked = read_epsilon(epsilon)
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

        A report that does not support an answer has the least odds under any answer; one that supports both
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
        """Return the event of n honest people's reports, of which only the multiset is public.

        Args:
            n: the number of honest people; missing, repeated and forged reports do not count.

        Guarantee: every report has at least the odds of one that does not support the answer, which is the blanket.
        Cites: [BBGN19, the privacy blanket], [FMT21].
        """
        return Shuffled(self.event, n, blanket=(least for _, _, least in self._outcome_odds))

    @property
    def permanent_event(self) -> Event:
        """The event of the draw that a `Memo` keeps of one answer; of oracles without a permanent draw, one report."""
        return self.event

    @cached_property
    def permanent_epsilon(self) -> float:
        """The privacy loss of all memoised reports of one answer together, rounded up."""
        return float_up(self.permanent_event.pure())

    def memoised(self, values: int = 1, *, reports: int | None = None) -> Event:
        """Return the event of all reports of one person who keeps a `Memo`, however many they are.

        Args:
            values: the number of different answers of the person over time.
            reports: the number of reports of each answer; without limit if left out.

        Guarantee: one permanent draw for each different answer. Holds between two histories that change at the same
        times: that an answer changed, and when, is not protected.
        """
        if reports is not None:
            whole(reports, "reports", least=1, most=MOST_REPEATS)
        return Repeated(self.permanent_event, whole(values, "values", least=1, most=MOST_REPEATS))

    def _remember(self, number: int) -> bytes:
        """Return the draw that a memo keeps of an answer: the report itself."""
        return self.client._send(np.array([number])).to_bytes()

    def _recall(self, kept: bytes) -> Reports:
        """Return the report of a memo's draw: the same bytes again."""
        return read_reports(kept)

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
        check_matrix(self, self.values, columns, "p, q and event hold at any size")
        return tuple(self._outcomes(answer) for answer in range(self.values))

    @property
    def _told(self) -> list[Any]:
        domain = list(self.labels) if isinstance(self.labels, tuple) else self.values
        return [domain, self.survey, *written_odds((self.p, self.q)), self.width]

    def _estimate(
        self, tally: Integers, n: int, confidence: Number, covers: str, rejected: Mapping[str, int]
    ) -> Frequencies:
        from .estimates import estimate_frequencies

        return estimate_frequencies(self, self._supports(tally), n, confidence, covers, rejected)

    def _read(self, answers: Any, parameter: str = "answer") -> Integers:
        """Return the numbers of answers; an array without dimensions for one answer."""
        numbers = _numbered(answers, self.values) if isinstance(self.labels, range) else _named(answers, self._places)
        if numbers is None:
            raise BadValue(parameter, "something outside the domain", f"among the {self.values:,} values of the domain")
        return numbers

    @cached_property
    def _places(self) -> dict[Any, int]:
        return {label: place for place, label in enumerate(self.labels)}

    def __repr__(self) -> str:
        length = "1 byte" if self.width == 1 else f"{self.width:,} bytes"
        return f"{type(self).__name__}({self.values:,} values, epsilon={self.epsilon:.6g}, {length})"


def check_matrix(oracle: Randomizer, rows: int, columns: int, hint: str) -> None:
    """Refuse a matrix with too many entries."""
    if rows * columns > _MATRIX:
        raise RequestError(
            f"the matrix of {oracle!r} would have {rows:,} rows and {columns:,} columns, more than "
            f"{_MATRIX:,} entries; {hint}"
        )


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
