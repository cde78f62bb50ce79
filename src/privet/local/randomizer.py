"""The common shape of all randomisers: a client, reports that travel, a server that only counts.

Privacy is the client's: a report is drawn from one person's answer with the exact odds of the oracle, and no
server, shuffler or reader of reports is trusted.
"""

from __future__ import annotations

import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from privet.core.errors import BadParameter, BadValue
from privet.core.event import Event, Exact, Repeated
from privet.core.given import instance
from privet.core.numbers import Number, float_up, positive, whole

from .reports import Reports, draw_ids

if TYPE_CHECKING:
    from .server import Server

Integers = NDArray[np.int64]
Bytes = NDArray[np.uint8]
Words = NDArray[np.uint64]
Row = tuple[Fraction, ...]

LARGEST_EPSILON = Fraction(50)
MOST_REPEATS = 10**9


@dataclass(frozen=True, repr=False, eq=False)
class Randomizer(ABC):
    """Randomises one person's answer, and estimates something about all answers from many reports.

    A report costs the person the `event`; any computation from reports is free.

    Example:
        >>> isinstance(local.KaryResponse(2, epsilon=1), local.Randomizer)
        True
    """

    kind: ClassVar[str]
    """The name of this oracle on the wire."""

    survey: str

    @property
    @abstractmethod
    def width(self) -> int:
        """The bytes of a report, without its identifier."""

    @property
    def messages(self) -> int:
        """The number of reports that a person sends."""
        return 1

    @property
    @abstractmethod
    def event(self) -> Event:
        """The event of one report."""

    @property
    @abstractmethod
    def _told(self) -> list[Any]:
        """The contents of every report's digest, beside the version and the kind: plain data."""

    @abstractmethod
    def _read(self, answers: Any, parameter: str = "answer") -> Any:
        """Return answers as an array with a row for each; one without dimensions for one answer."""

    @abstractmethod
    def _randomise(self, answers: Any, ids: Words) -> Bytes:
        """Return the randomised content of each answer's report, one in each row."""

    @abstractmethod
    def _allowed(self, data: Bytes, ids: Words) -> NDArray[np.bool_]:
        """Return which rows some client can have sent."""

    @property
    @abstractmethod
    def _tally_shape(self) -> tuple[int, ...]:
        """The shape of the integers that a server keeps instead of reports."""

    @abstractmethod
    def _count_into(self, tally: Integers, data: Bytes, ids: Words) -> None:
        """Add the integers of some reports to a server's."""

    @abstractmethod
    def _estimate(self, tally: Integers, n: int, confidence: Number, covers: str, rejected: Mapping[str, int]) -> Any:
        """Return the estimate of answers from the integers of n reports."""

    def _estimate_of(
        self, of: Any, tally: Integers, n: int, confidence: Number, covers: str, rejected: Mapping[str, int]
    ) -> Any:
        """Return the estimate of some strings, named afterwards, from the integers of n reports."""
        raise BadParameter("of", of, "left out: this oracle estimates everything at once")

    @abstractmethod
    def robustness(self, fraction: Number) -> float:
        """Return how far this fraction of liars, who may send any bytes, can move an estimate."""

    @cached_property
    def epsilon(self) -> float:
        """The exact privacy loss of a report, rounded up; never above the one asked for."""
        loss: Exact = self.event.pure()
        return float_up(loss)

    def repeated(self, reports: int) -> Event:
        """Return the event of several reports of one person without a memo: each costs the whole event again.

        Args:
            reports: the number of reports.

        Example:
            >>> accounting.epsilon(local.KaryResponse(2, epsilon=1).repeated(3), 0)
            3.0
        """
        return Repeated(self.event, whole(reports, "reports", least=1, most=MOST_REPEATS))

    @cached_property
    def client(self) -> Client:
        """What randomises answers: it keeps nothing."""
        return Client(self)

    def server(self) -> Server:
        """Return a server without any reports yet."""
        from .server import Server

        return Server(self)

    @cached_property
    def digest(self) -> bytes:
        """Eight bytes that every report carries: of the kind, the domain, the odds and the survey's name."""
        return hashlib.sha256(json.dumps([1, self.kind, *self._told], ensure_ascii=True).encode()).digest()[:8]

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and other.digest == self.digest

    def __hash__(self) -> int:
        return hash(self.digest)


@dataclass(frozen=True)
class Client:
    """The person's side of an oracle: randomises, keeps nothing, and needs no trust in anyone.

    Each call costs the person the oracle's event again: a survey that is sent twice must resend the same report.

    Example:
        >>> survey = local.KaryResponse(["no", "yes"], epsilon=1)
        >>> len(survey.client.report("yes").to_bytes())
        37
    """

    oracle: Randomizer

    def __post_init__(self) -> None:
        instance(self.oracle, Randomizer, "oracle", "an oracle")

    def report(self, answer: Any) -> Reports:
        """Return one person's report."""
        number = self.oracle._read(answer)
        if number.ndim:
            raise BadValue("answer", "several", "one answer; reports() takes many")
        return self._send(number.reshape(1))

    def reports(self, answers: Any) -> Reports:
        """Return a report for each of many people's answers."""
        numbers = self.oracle._read(answers, "answers")
        if numbers.ndim != 1:
            raise BadValue("answers", "something else", "a list or an array of one dimension")
        return self._send(numbers)

    def _send(self, numbers: Any) -> Reports:
        ids = draw_ids(len(numbers) * self.oracle.messages)
        return Reports(self.oracle.digest, ids, self.oracle._randomise(numbers, ids))


def read_epsilon(epsilon: Number, *, least: Fraction | None = None) -> Fraction:
    """Return the epsilon of one report; refuse values for which no odds exist."""
    asked = positive(epsilon, "epsilon")
    if asked > LARGEST_EPSILON or (least is not None and asked < least):
        lower = "above 0" if least is None else f"at least {least}"
        raise BadParameter("epsilon", epsilon, f"{lower} and at most {LARGEST_EPSILON}")
    return asked


def written_odds(odds: tuple[Fraction, ...]) -> list[str]:
    """Return exact odds as texts, for a digest."""
    return [f"{odd.numerator}/{odd.denominator}" for odd in odds]
