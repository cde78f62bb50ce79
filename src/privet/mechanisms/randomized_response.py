"""Randomized response: each person answers with a known chance of a false answer, so no curator is needed.

Binary and k-ary forms, the two-coin form of surveys, and the estimate of the true shares with its interval.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any

from privet import noise
from privet.accounting.events import FinitePairEvent, response_rho
from privet.core.errors import BadParameter, BadValue, RequestError
from privet.core.estimate import Estimate
from privet.core.event import Atom, Event, Exact, Pair
from privet.core.given import set_fields
from privet.core.numbers import Number, exp_down, float_up, log_up, open_probability, positive, probability, whole

from .finite import FiniteEvent
from .lattice import tail_of
from .mechanism import Mechanism, read_times

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Labels = tuple[Any, ...] | range
"""The categories themselves, or the range of their numbers."""


@dataclass(frozen=True, init=False)
class ResponseEvent(Atom):
    """A report that is true with probability `p` and otherwise uniform among the other categories.

    Args:
        p: the probability of a true report.
        categories: the number of categories.

    Example:
        >>> round(float(mechanisms.ResponseEvent(p=0.75).pure()), 6)
        1.098612

    Guarantee: neighbours are any two true answers (the local model), so the pair is exact. The zCDP parameter is the
    divergence at order 1 for two categories, and for up to six where the truth is the likeliest report; otherwise
    that of the binary response at the same epsilon, which dominates every pure event.
    Cites: [War65], [KBR16, k-ary response], [KOV15, tests], [HM25, randomized response].
    """

    p: Fraction
    categories: int = 2

    def __init__(self, *, p: Number, categories: int = 2) -> None:
        set_fields(self, p=probability(p, "p"), categories=whole(categories, "categories", least=2, most=2**31))

    @property
    def q(self) -> Fraction:
        """The probability of each false answer."""
        return (1 - self.p) / (self.categories - 1)

    def pure(self) -> Exact:
        """Return |ln(p / q)|, rounded up."""
        low, high = sorted((self.p, self.q))
        return log_up(high / low) if low else math.inf

    def rho(self) -> Exact:
        loss = self.pure()
        if isinstance(loss, float):
            return loss
        if self.categories == 2 or (self.categories <= 6 and self.p >= self.q):
            return abs(self.p - self.q) * loss
        return response_rho(loss)

    def slack(self) -> Fraction:
        return Fraction(0)

    def rdp(self, order: float) -> float:
        """Return the divergence between the reports of two different true answers, rounded up."""
        return self._exact_pair.rdp(order)

    def pair(self) -> Pair:
        return self._exact_pair.pair()

    @cached_property
    def _exact_pair(self) -> FinitePairEvent:
        rest = (self.categories - 2) * self.q
        return FinitePairEvent((self.p, self.q, rest), (self.q, self.p, rest))


@dataclass(frozen=True, init=False, repr=False)
class RandomizedResponse(Mechanism):
    """Report a private category truthfully with probability `p`, and otherwise some other one.

    Pass `p` or `epsilon`; `categories` is a number k (the answers are then 0 to k - 1) or the labels themselves, and
    two by default. Two categories also take `q`, the probability of answering the second when the first is true, for
    surveys in which the two errors differ.

    Args:
        p: the probability of a true report.
        epsilon: the privacy loss of one report, instead of p.
        q: of two categories, the probability of reporting the second when the first is true; 1 - p if left out.
        categories: the number of categories, or a list of them.

    Raises:
        BadParameter: if a number is out of range.

    Example:
        >>> mechanism = privet.RandomizedResponse(p=0.75)
        >>> mechanism.epsilon
        1.0986122886681098

    Guarantee: epsilon-DP for each person by themselves (local model), epsilon = the largest log ratio of a column.
    From an epsilon, p is rounded down, so that the cost is no higher than asked.
    Cites: [War65], [KBR16, k-ary response].
    """

    p: Fraction
    q: Fraction
    labels: Labels

    def __init__(
        self,
        *,
        p: Number | None = None,
        epsilon: Number | None = None,
        q: Number | None = None,
        categories: int | Sequence[Any] = 2,
    ) -> None:
        labels = _labels(categories)
        others = len(labels) - 1
        if (p is None) == (epsilon is None):
            raise RequestError("RandomizedResponse takes exactly one of p and epsilon")
        if p is not None:
            truth = probability(p, "p")
        else:
            # p = e/(e + k - 1), which falls when the e in it is rounded down; p/q = e must not exceed the asked for
            grown = exp_down(min(positive(epsilon, "epsilon"), Fraction(300)))
            truth = grown / (grown + others)
        if q is None:
            lie = (1 - truth) / others
        elif others == 1 and p is not None:
            lie = probability(q, "q")
        else:
            raise RequestError("q is for two categories, beside p; with more the other answers are equally likely")
        set_fields(self, p=truth, q=lie, labels=labels)

    @classmethod
    def two_coins(cls, *, truth: Number = Fraction(1, 2), yes: Number = Fraction(1, 2)) -> RandomizedResponse:
        """Return the survey with two coins: on heads of the first answer truly, else report the second.

        `truth` is the first coin's chance of heads and `yes` the second's. Two fair coins give p = 3/4.
        """
        first, second = probability(truth, "truth"), probability(yes, "yes")
        return cls(p=first + (1 - first) * second, q=(1 - first) * second)

    @cached_property
    def event(self) -> Event:
        """The event of one report; reports on several questions may go opposite ways, and unequal errors cover both."""
        k = len(self.labels)
        if self.q * (k - 1) == 1 - self.p:
            return ResponseEvent(p=self.p, categories=k)
        return FiniteEvent((FinitePairEvent((self.p, 1 - self.p), (self.q, 1 - self.q)),))

    def release(self, answers: Any) -> Any:
        """Return the reports for one answer or an array of them, in the same categories."""

        return self._report(self._read(answers, "answers"))

    def _report(self, indices: NDArray[np.int64]) -> Any:
        import numpy as np

        k, size = len(self.labels), indices.shape or None
        if k == 2:  # both coins are tossed for everyone, whatever the answer
            yes, no = noise.bernoulli(self.p, size), noise.bernoulli(self.q, size)
            reports = np.where(indices == 1, yes, no).astype(np.int64)
        else:
            other = noise.uniform_below(k - 1, size)
            lies = other + (other >= indices)
            reports = np.where(noise.bernoulli(self.p, size), indices, lies).astype(np.int64)
        return self._label(reports)

    def simulate(self, answer: Any, times: int) -> Any:
        """Return the reports of this many people with the same answer. For one person, each costs the event again."""
        import numpy as np

        index, count = self._read(answer, "answer"), read_times(times)
        if index.ndim:
            raise BadValue("answer", "several", "one of the categories")
        return self._report(np.full(count, int(index)))

    def estimate(self, reports: Any, *, of: Any = None, confidence: Number = 0.95) -> Estimate:
        """Return the share of people whose true answer is `of` (by default the second category).

        The value (share of reports - q) / (p - q) is unbiased and may leave [0, 1]; the interval does not.

        Guarantee: the interval is exact (Clopper-Pearson on the reports) for people drawn at random, and, at a
        confidence of 1/2 or more, conservative for fixed people, whose count of reports varies less than binomially.
        Cites: [CP34], [Hoe56, Thm 4], [KBR16, k-ary response].
        """
        from scipy.special import betainccinv, betaincinv

        indices = self._read(reports, "reports")
        target = 1 if of is None else self._index(of)
        n, tail = int(indices.size), tail_of(confidence)
        if n == 0:
            raise BadValue("reports", "an empty list", "a list with at least one report")
        p, q = (self.p, self.q) if target == 1 or len(self.labels) > 2 else (1 - self.q, 1 - self.p)
        if p == q:
            raise RequestError("with p equal to q the reports do not depend on the answers; nothing can be estimated")
        hits = int((indices == target).sum())
        slope, base = float(p - q), float(q)
        low = float(betaincinv(hits, n - hits + 1, tail / 2)) if hits else 0.0
        high = float(betainccinv(hits + 1, n - hits, tail / 2)) if hits < n else 1.0
        ends = sorted(min(1.0, max(0.0, (end - base) / slope)) for end in (low, high))
        share = hits / n
        return Estimate(
            value=(share - base) / slope,
            low=ends[0],
            high=ends[1],
            confidence=float(open_probability(confidence, "confidence")),
            standard_error=math.sqrt(share * (1 - share) / n) / abs(slope),
            covers="sampling and randomized response",
        )

    def variance(self, share: Number, *, size: int) -> float:
        """Return the variance of the estimate of a true share among `size` people drawn at random.

        Guarantee: r (1 - r) / (size (p - q)^2) with r = q + share (p - q), the chance of a report.
        Cites: [KBR16, k-ary response].
        """
        true, n = probability(share, "share"), whole(size, "size", least=1)
        if self.p == self.q:
            return math.inf
        reported = self.q + true * (self.p - self.q)
        return float_up(reported * (1 - reported) / (n * (self.p - self.q) ** 2))

    def _read(self, answers: Any, parameter: str) -> NDArray[np.int64]:
        """Return the numbers of the categories, in an array of no dimension for a single answer."""
        k = len(self.labels)
        indices = _numbered(answers, k) if isinstance(self.labels, range) else _named(answers, self._places)
        if indices is None:
            raise BadValue(parameter, "something outside the categories", f"among the {k} categories")
        return indices

    def _label(self, reports: NDArray[np.int64]) -> Any:
        if isinstance(self.labels, range):
            return reports if reports.ndim else int(reports)
        import numpy as np

        names = np.empty(len(self.labels), dtype=object)
        for i, label in enumerate(self.labels):
            names[i] = label
        return names[reports]

    def _index(self, label: Any) -> int:
        if isinstance(self.labels, range):
            return whole(label, "of", most=len(self.labels) - 1)
        place = _named(label, self._places)
        if place is None or place.ndim:
            raise BadParameter("of", label, f"one of the {len(self.labels)} categories")
        return int(place)

    @cached_property
    def _places(self) -> dict[Any, int]:
        return {label: i for i, label in enumerate(self.labels)}

    def __repr__(self) -> str:
        shown = f", categories={len(self.labels)}" if len(self.labels) > 2 else f", q={float(self.q):.6g}"
        return f"RandomizedResponse(p={float(self.p):.6g}{shown}, epsilon={self.epsilon:.6g})"


_MOST_LABELS = 10**6


def _labels(categories: int | Sequence[Any]) -> Labels:
    allowed = "a number of at least 2, or a list of at least two different labels"
    if not isinstance(categories, (list, tuple, range)):
        return range(whole(categories, "categories", least=2, most=2**31))
    if len(categories) > _MOST_LABELS:
        raise BadParameter("categories", categories, f"{allowed}, {_MOST_LABELS:,} at most")
    labels = tuple(categories)
    try:
        distinct = len(set(labels)) == len(labels)
    except Exception:  # the methods of a foreign type may raise any error
        distinct = False
    if len(labels) < 2 or not distinct:
        raise BadParameter("categories", categories, allowed)
    if all(type(label) is int and label == i for i, label in enumerate(labels)):
        return range(len(labels))
    return labels


def _numbered(answers: Any, categories: int) -> NDArray[np.int64] | None:
    """Return answers that are numbers of categories, or None if any is not."""
    import numpy as np

    try:
        array = np.asarray(answers)
    except Exception:  # ragged lists, and whatever a foreign type raises
        return None
    if array.size and (array.dtype.kind not in "iub" or isinstance(answers, np.ma.MaskedArray)):
        return None
    return array.astype(np.int64) if ((array >= 0) & (array < categories)).all() else None


def _named(answers: Any, places: dict[Any, int]) -> NDArray[np.int64] | None:
    """Return the places of answers that are labels, or None if any is not."""
    import numpy as np

    try:
        if not isinstance(answers, (list, np.ndarray)) and answers in places:
            return np.array(places[answers], dtype=np.int64)
        if isinstance(answers, np.ndarray):
            return np.array([places[x] for x in answers.ravel().tolist()], dtype=np.int64).reshape(answers.shape)
        return np.array([places[x] for x in answers], dtype=np.int64) if isinstance(answers, (list, tuple)) else None
    except Exception:  # unknown or unhashable answers, and whatever a foreign type raises
        return None
