"""Results of surveys of randomised answers: estimates, tests, the difference of two surveys, how many people to ask.

Everything is computed from counts of reports, so that a class that counted raised hands can use it as well.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

import numpy as np

from privet.core.errors import BadParameter, RequestError, raise_alone
from privet.core.given import choice, instance, read_fields, set_fields
from privet.core.numbers import Number, float_up, open_probability, positive, probability, whole
from privet.display import Figures, draw_columns, draw_text, written
from privet.local import Frequencies, FrequencyOracle, Server
from privet.local.estimates import COVERS, estimate_frequencies, shares_of

Covers = Literal["reports", "population"]
_MOST_PEOPLE = 10**12


@dataclass(frozen=True)
class ResponseCounts:
    """How many of n reports support each answer of an oracle.

    With k-ary response and two coins, a report supports what it states.

    Args:
        oracle: how answers were randomised.
        supports: for each answer, how many reports support it.
        n: the number of reports; the sum of the counts if left out, which is right where a report supports one answer.

    Raises:
        BadParameter: if counts and reports do not fit together.

    Example:
        >>> counted = survey.ResponseCounts(local.KaryResponse.two_coins(), {"yes": 12, "no": 18})
        >>> value, low, high = counted.estimate(covers="population")["yes"]
        >>> round(value, 3), round(low, 3), round(high, 3)
        (0.3, 0.0, 0.688)
    """

    oracle: FrequencyOracle
    supports: Mapping[Any, int]
    n: int | None = None

    def __post_init__(self) -> None:
        instance(self.oracle, FrequencyOracle, "oracle", "an oracle of frequencies")
        if not isinstance(self.supports, Mapping):
            raise BadParameter("supports", self.supports, "the number of reports for each answer, by answer")
        labels = set(self.oracle.labels)
        try:
            unknown = set(self.supports) - labels
        except Exception:  # whatever a foreign type raises
            unknown = {None}
        if unknown:
            raise BadParameter("supports", list(self.supports), "counts by the oracle's answers")
        counts = {label: whole(self.supports.get(label, 0), "supports") for label in self.oracle.labels}
        total = whole(sum(counts.values()) if self.n is None else self.n, "n", least=1, most=_MOST_PEOPLE)
        if any(count > total for count in counts.values()):
            raise BadParameter("supports", counts, f"at most {total} for each answer, as there are {total} reports")
        set_fields(self, supports=counts, n=total)

    @classmethod
    def of(cls, server: Server) -> ResponseCounts:
        """Return the counts of a server."""
        known = instance(server, Server, "server", "a server of a frequency oracle")
        oracle = instance(known.oracle, FrequencyOracle, "server", "a server of a frequency oracle")
        counts = oracle._supports(known._tally).tolist()
        return cls(oracle, dict(zip(oracle.labels, counts, strict=True)), known.n)

    @property
    def reports(self) -> int:
        """The number of reports."""
        return whole(self.n, "n", least=1)

    def estimate(self, confidence: Number = 0.95, *, covers: Covers = "reports") -> Frequencies:
        """Return the share of each answer, with an interval.

        Args:
            confidence: the confidence level of each interval.
            covers: `reports` for the shares among those who answered; `population` for those among people of whom they
                are a random sample.
        """
        counts = np.array(list(self.supports.values()), dtype=np.int64)
        return estimate_frequencies(self.oracle, counts, self.reports, confidence, covers, {})

    def p_value(self, answer: Any, share: Number) -> float:
        """Return how likely a count at least as unusual is, where this share of the population has the answer.

        Guarantee: the exact binomial test, two-sided.
        """
        from scipy.stats import binomtest

        count = self.count(answer)
        claimed = probability(share, "share")
        chance = self.oracle.q + claimed * (self.oracle.p - self.oracle.q)
        return float(binomtest(count, self.reports, float(chance)).pvalue)

    def count(self, answer: Any) -> int:
        """Return how many reports support an answer."""
        try:
            return self.supports[answer]
        except Exception:  # unknown or unhashable answers, and whatever a foreign type raises
            raise_alone(BadParameter("answer", answer, "an answer of the question"))


@dataclass(frozen=True)
class PairedCounts:
    """Reports of the same people on two questions with the same odds: which of both supports an answer.

    Args:
        oracle: how answers were randomised, both times.
        both: the number of people of whom both reports support the answer.
        first: of whom the first alone does.
        second: of whom the second alone does.
        neither: of whom neither does.

    Example:
        >>> pairs = survey.PairedCounts(local.KaryResponse.two_coins(), both=8, first=3, second=9, neither=10)
        >>> pairs.n
        30
    """

    oracle: FrequencyOracle
    both: int
    first: int
    second: int
    neither: int

    def __post_init__(self) -> None:
        instance(self.oracle, FrequencyOracle, "oracle", "an oracle of frequencies")
        for name in ("both", "first", "second", "neither"):
            whole(getattr(self, name), name, most=_MOST_PEOPLE)
        if not self.n:
            raise BadParameter("both", self.both, "with the others above 0: someone must have answered twice")

    @property
    def n(self) -> int:
        """The number of people."""
        return self.both + self.first + self.second + self.neither


@dataclass(frozen=True, repr=False)
class Difference:
    """The change of an answer's share from one survey to another.

    `epsilon` is the cost of the reports behind it to one person: both together where the same people answered twice.

    Example:
        >>> oracle = local.KaryResponse.two_coins()
        >>> before, after = (survey.ResponseCounts(oracle, {"yes": yes, "no": 30 - yes}) for yes in (12, 21))
        >>> round(survey.compare(before, after, "yes").value, 6)
        0.6
    """

    answer: str | int | bool
    share_before: tuple[float, float, float]
    share_after: tuple[float, float, float]
    value: float
    low: float
    high: float
    p_value: float
    confidence: float
    covers: str
    reports: tuple[int, int]
    same_people: bool
    epsilon: float

    def __post_init__(self) -> None:
        read_fields(self)

    def __repr__(self) -> str:
        rows = (self.share_before, self.share_after, (self.value, self.low, self.high))
        names = Figures("share", ("before", "after", "difference"), right=False)
        columns = [
            Figures("reports", (f"{self.reports[0]:,}", f"{self.reports[1]:,}", ""), True),
            Figures(str(self.answer), tuple(f"{value:.3f}" for value, _, _ in rows), True),
            Figures("low", tuple(f"{low:.3f}" for _, low, _ in rows), True),
            Figures("high", tuple(f"{high:.3f}" for _, _, high in rows), True),
        ]

        def draw(console: Any) -> None:
            draw_columns(console, [names], [columns], rows=3)
            draw_text(console, self.note, style="dim")

        return written(draw)

    @property
    def note(self) -> str:
        """Remarks on the numbers."""
        whose = "those who answered" if self.covers == "reports" else "the population"
        who = "The same people answered twice: both reports together cost" if self.same_people else "Each person spent"
        return (
            f"Shares among {whose}; each interval covers with probability {self.confidence:g}. Without a change, a "
            f"difference at least as large has probability {self.p_value:.2g}. {who} epsilon {self.epsilon:.4g}."
        )


def compare(
    before: ResponseCounts,
    after: ResponseCounts,
    answer: Any,
    *,
    confidence: Number = 0.95,
    covers: Covers = "population",
) -> Difference:
    """Return the change of an answer's share between two surveys of different people.

    Args:
        before: the counts of the first survey.
        after: the counts of the second.
        answer: the answer whose share is compared.
        confidence: the confidence level of the intervals.
        covers: `population` for the populations of which both groups are random samples, `reports` for the groups.

    Example:
        >>> oracle = local.KaryResponse.two_coins()
        >>> before, after = (survey.ResponseCounts(oracle, {"yes": yes, "no": 300 - yes}) for yes in (120, 180))
        >>> survey.compare(before, after, "yes").low > 0
        True

    Guarantee: the interval adds the squared distances from both estimates to the ends of their own intervals, which
    are exact for small surveys. The test is Fisher's exact one on reports; for two groups as they are it is
    conservative, as their counts vary less than binomial ones.
    Cites: [New98, method 10], [Fis35].
    """
    from scipy.stats import fisher_exact

    first, other = (
        instance(each, ResponseCounts, name, "counts") for each, name in ((before, "before"), (after, "after"))
    )
    if (first.oracle.p, first.oracle.q) != (other.oracle.p, other.oracle.q):
        raise RequestError("the two surveys randomise with different odds, so their reports cannot be compared")
    level, whose = open_probability(confidence, "confidence"), choice(covers, "covers", COVERS)
    counts = [each.count(answer) for each in (first, other)]
    rows = [each.estimate(level, covers=covers)[answer] for each in (first, other)]
    low, high = _added(first.oracle, (counts[0], first.reports), (counts[1], other.reports), level, whose)
    table = np.array([[count, each.reports - count] for count, each in zip(counts, (first, other), strict=True)])
    return Difference(
        answer, rows[0], rows[1], rows[1][0] - rows[0][0], low, high, float(fisher_exact(table).pvalue), float(level),
        whose, (first.reports, other.reports), False, max(first.oracle.epsilon, other.oracle.epsilon),
    )  # fmt: skip


def compare_paired(
    pairs: PairedCounts, answer: Any = None, *, confidence: Number = 0.95, covers: Covers = "population"
) -> Difference:
    """Return the change of an answer's share where the same people answered before and after.

    Both reports of a person together cost twice the epsilon of one.

    Args:
        pairs: how many people's reports support the answer both times, once, or never.
        answer: the answer that they support, for the table; the last one if left out.
        confidence: the confidence level of the intervals.
        covers: `population` for the population of which these people are a random sample, `reports` for these people.

    Example:
        >>> pairs = survey.PairedCounts(local.KaryResponse.two_coins(), both=8, first=3, second=9, neither=10)
        >>> round(survey.compare_paired(pairs).epsilon, 4)
        2.1972

    Guarantee: for a population, the score interval of a difference of paired shares, and the exact test of McNemar.
    Among these people the two draws are independent, so the interval is that of two surveys; the test is conservative.
    Cites: [Tan98], [McN47].
    """
    from scipy.stats import binomtest

    instance(pairs, PairedCounts, "pairs", "reports of the same people on two questions")
    labels = pairs.oracle.labels
    chosen = labels[-1] if answer is None else answer
    if not any(type(chosen) is type(label) and chosen == label for label in labels):
        raise BadParameter("answer", answer, "an answer of the question")
    level, whose = open_probability(confidence, "confidence"), choice(covers, "covers", COVERS)
    rows = [_row(pairs.oracle, pairs.both + alone, pairs.n, level, whose) for alone in (pairs.first, pairs.second)]
    slope = float(pairs.oracle.p - pairs.oracle.q)
    if whose == "population":
        ends = _score_ends(pairs.second, pairs.first, pairs.n, level)
        low, high = (max(-1.0, min(1.0, end / slope)) for end in ends)
    else:
        counts = (pairs.both + pairs.first, pairs.n), (pairs.both + pairs.second, pairs.n)
        low, high = _added(pairs.oracle, *counts, level, whose)
    changed = pairs.first + pairs.second
    chance = float(binomtest(pairs.first, changed, 0.5).pvalue) if changed else 1.0
    return Difference(
        chosen, rows[0], rows[1], (pairs.second - pairs.first) / pairs.n / slope, low, high, chance, float(level),
        whose, (pairs.n, pairs.n), True, float_up(2 * Fraction(pairs.oracle.epsilon)),
    )  # fmt: skip


def sample_size(
    oracle: FrequencyOracle,
    half_width: Number,
    *,
    share: Number | None = None,
    confidence: Number = 0.95,
    covers: Covers = "population",
) -> int:
    """Return how many people must answer for an interval of a wanted half-width.

    Args:
        oracle: how answers are randomised.
        half_width: the wanted distance from an estimate to either end of its interval.
        share: the share to expect; the worst one if left out.
        confidence: the confidence level of the interval.
        covers: `population` for the share in a population of which they are a random sample, `reports` for the share
            among those who answer.

    Example:
        >>> survey.sample_size(local.KaryResponse.two_coins(), 0.1)
        385

    Guarantee: by the normal law, which is near for the hundreds of people that such surveys need.
    """
    from scipy.special import ndtri

    instance(oracle, FrequencyOracle, "oracle", "an oracle of frequencies")
    width, level = positive(half_width, "half_width"), open_probability(confidence, "confidence")
    whose = choice(covers, "covers", COVERS)
    candidates = [Fraction(k, 1000) for k in range(1001)] if share is None else [probability(share, "share")]
    spread = max(_spread(oracle, candidate, whose) for candidate in candidates)
    z = float(ndtri(0.5 + float(level) / 2))
    return max(1, math.ceil(z * z * spread / float(width * width)))


def _spread(oracle: FrequencyOracle, share: Fraction, whose: str) -> float:
    """Return the variance of an estimated share, times the number of people."""
    p, q = oracle.p, oracle.q
    rate = q + share * (p - q)
    if whose == "population":
        return float(rate * (1 - rate) / (p - q) ** 2)
    return float((share * p * (1 - p) + (1 - share) * q * (1 - q)) / (p - q) ** 2)


def _row(oracle: FrequencyOracle, count: int, n: int, level: Fraction, whose: str) -> tuple[float, float, float]:
    values, low, high, _ = shares_of(oracle.p, oracle.q, np.array([count]), n, level, whose)
    return float(values[0]), float(low[0]), float(high[0])


def _added(
    oracle: FrequencyOracle, before: tuple[int, int], after: tuple[int, int], level: Fraction, whose: str
) -> tuple[float, float]:
    """Return the interval of a difference from those of two independent counts among n reports."""
    (first, low_1, high_1), (second, low_2, high_2) = (
        _open_row(oracle, count, n, level, whose) for count, n in (before, after)
    )
    low = second - first - math.hypot(second - low_2, high_1 - first)
    high = second - first + math.hypot(high_2 - second, first - low_1)
    return max(-1.0, low), min(1.0, high)


def _open_row(oracle: FrequencyOracle, count: int, n: int, level: Fraction, whose: str) -> tuple[float, float, float]:
    """Return an estimated share with an interval whose ends may lie below 0 and above 1, as a difference needs them."""
    from scipy.special import betainccinv, betaincinv, ndtri

    p, q, tail = float(oracle.p), float(oracle.q), float(1 - level) / 2
    value = (count / n - q) / (p - q)
    if whose == "population":
        low = float(betaincinv(count, n - count + 1, tail)) if count else 0.0
        high = float(betainccinv(count + 1, n - count, tail)) if count < n else 1.0
        return value, (low - q) / (p - q), (high - q) / (p - q)
    z, share = -float(ndtri(tail)), min(max(value, 0.0), 1.0)
    reach = z * math.sqrt((share * p * (1 - p) + (1 - share) * q * (1 - q)) / n) + 0.5 / n
    return value, value - reach / (p - q), value + reach / (p - q)


def _score_ends(gained: int, lost: int, n: int, level: Fraction) -> tuple[float, float]:
    """Return the ends of the differences of paired shares that a score test does not exclude."""
    from scipy.optimize import brentq
    from scipy.special import ndtri

    z = float(ndtri(0.5 + float(level) / 2))
    middle = (gained - lost) / n

    def score(change: float) -> float:
        a, b = 2 * n, (2 * n - gained + lost) * change - gained - lost
        c = -lost * change * (1 - change)
        root = (math.sqrt(max(b * b - 4 * a * c, 0.0)) - b) / (2 * a)
        spread = n * max(2 * root + change * (1 - change), 1e-300)
        return (gained - lost - n * change) / math.sqrt(spread)

    edge = 1e-12
    low = -1.0 if score(-1 + edge) < z else float(brentq(lambda change: score(change) - z, -1 + edge, middle - 0.0))
    high = 1.0 if score(1 - edge) > -z else float(brentq(lambda change: score(change) + z, middle + 0.0, 1 - edge))
    return low, high
