"""From counts of support to frequencies with intervals.

A count of n reports, of which m people have the value, is Bin(m, p) + Bin(n - m, q) in distribution. Intervals invert
that law: exactly where the count varies little, else by its score with a continuity correction.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from privet.core.errors import BadParameter, raise_alone
from privet.core.given import choice, listed, mapping, set_fields, truth, unwrapped
from privet.core.numbers import Number, float_near, open_probability, rational, whole
from privet.display import Figures, draw_columns, draw_text, figures, shown_estimate, written

if TYPE_CHECKING:
    from .frequency_oracle import FrequencyOracle


@dataclass(frozen=True)
class MeanEstimate:
    """An estimated mean; `value` is unbiased and may lie outside the declared bounds, `low` and `high` do not.

    Example:
        >>> salary = local.HybridMean(0, 100, epsilon=8)
        >>> server = salary.server()
        >>> server.add(salary.client.reports([20, 30] * 500))
        1000
        >>> found = server.estimate()
        >>> 15 < found.low < found.value < found.high < 35
        True
    """

    value: float
    low: float
    high: float
    standard_error: float
    n: int
    confidence: float
    covers: str
    rejected: Mapping[str, int]

    def __post_init__(self) -> None:
        _read(self)
        choice(self.covers, "covers", COVERS)

    @property
    def notes(self) -> tuple[str, ...]:
        """Remarks on the number."""
        whose = "of those who reported" if self.covers == "reports" else "in the population sampled"
        reports = told_reports(self.n, sum(self.rejected.values()))
        return (
            f"From {reports}. The interval covers the mean {whose} with probability "
            f"{self.confidence:g}; values outside the declared bounds count as the nearest bound.",
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the estimate as plain data, with its coverage."""
        return {**_told(self, "mean", "reports"), "covers": self.covers, "rejected": dict(self.rejected)}

    def __repr__(self) -> str:
        half = max(self.high - self.value, self.value - self.low)
        shown = shown_estimate(self.value, half)
        return f"mean {shown}, {self.confidence:.0%} interval {self.low:.6g} to {self.high:.6g}, n = {self.n:,}"


@dataclass(frozen=True)
class CountEstimate:
    """An estimated count; `value` is unbiased and may lie outside of 0 to n, `low` and `high` do not.

    Example:
        >>> local.CountEstimate(120, 117, 123, 1.5, 1000, 0.95, {})
        120 people of 1,000, 95% interval 117 to 123
    """

    value: float
    low: float
    high: float
    standard_error: float
    n: int
    confidence: float
    rejected: Mapping[str, int]

    def __post_init__(self) -> None:
        _read(self)

    def to_dict(self) -> dict[str, Any]:
        """Return the estimate as plain data."""
        return {**_told(self, "count", "people"), "rejected": dict(self.rejected)}

    def __repr__(self) -> str:
        ends = f"{self.low:,.0f} to {self.high:,.0f}"
        return f"{self.value:,.0f} people of {self.n:,}, {self.confidence:.0%} interval {ends}"


def _read(estimate: MeanEstimate | CountEstimate) -> None:
    """Check the fields of every estimated number, and keep them as plain numbers."""
    for name in ("value", "low", "high", "standard_error"):
        set_fields(estimate, **{name: float_near(rational(getattr(estimate, name), name))})
    whole(estimate.n, "n")
    set_fields(estimate, confidence=float(open_probability(estimate.confidence, "confidence")))
    counts = mapping(estimate.rejected, "rejected", "how many reports were rejected, by reason")
    set_fields(estimate, rejected={reason: whole(count, "rejected") for reason, count in counts.items()})


def _told(estimate: MeanEstimate | CountEstimate, name: str, unit: str) -> dict[str, Any]:
    return {
        name: estimate.value,
        "low": estimate.low,
        "high": estimate.high,
        "standard_error": estimate.standard_error,
        unit: estimate.n,
        "confidence": estimate.confidence,
    }


Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

COVERS = ("reports", "population")

_EXACT_BELOW = 25.0
"""Below this variance of a count its law is inverted exactly."""

_WINDOW = 12.0
"""This many standard deviations around the mean are summed; the rest is below 1e-15."""


@dataclass(frozen=True, eq=False, repr=False)
class Frequencies:
    """Estimated shares of the values of a domain, with an interval for each.

    `values` are unbiased and may lie below 0 or above 1; `low` and `high` do not. Each interval covers alone
    (pointwise, not simultaneously).

    Example:
        >>> survey = local.KaryResponse(["no", "yes"], epsilon=9)
        >>> server = survey.server()
        >>> server.add(survey.client.reports(["yes"] * 600 + ["no"] * 400))
        1000
        >>> value, low, high = server.estimate()["yes"]
        >>> 0.5 < low < value < high < 0.7
        True
    """

    labels: tuple[Any, ...] | range
    values: Floats
    low: Floats
    high: Floats
    standard_errors: Floats
    n: int
    confidence: float
    covers: str
    rejected: Mapping[str, int]
    projected_to_simplex: bool = False

    def __post_init__(self) -> None:
        if type(self.labels) is not range:
            set_fields(self, labels=tuple(listed(self.labels, "labels", "labels, or a range of numbers")))
        for name in ("values", "low", "high", "standard_errors"):
            set_fields(self, **{name: _numbers(getattr(self, name), name, len(self.labels))})
        whole(self.n, "n")
        set_fields(self, confidence=float(open_probability(self.confidence, "confidence")))
        choice(self.covers, "covers", COVERS)
        counts = mapping(self.rejected, "rejected", "how many reports were rejected, by reason")
        set_fields(self, rejected={reason: whole(count, "rejected") for reason, count in counts.items()})
        truth(self.projected_to_simplex, "projected_to_simplex")

    def __len__(self) -> int:
        return len(self.labels)

    def __getitem__(self, label: Any) -> tuple[float, float, float]:
        """Return the estimate of one value, and the ends of its interval."""
        try:
            place = self._places[label]
        except Exception:  # unknown or unhashable labels, and whatever a foreign type raises
            raise_alone(BadParameter("label", label, "a value of the domain"))
        return float(self.values[place]), float(self.low[place]), float(self.high[place])

    def projected(self) -> Frequencies:
        """Return shares that are not negative and sum to 1, by adding one number to all and cutting at zero.

        Intervals stay those of the unbiased estimates; a share outside its interval is moved to its end, so that the
        shares may then sum to slightly more or less than 1.
        Cites: [WLJ20, norm-sub].
        """
        shares = np.clip(norm_sub(self.values), self.low, self.high)
        return Frequencies(
            self.labels, shares, self.low, self.high, self.standard_errors, self.n, self.confidence, self.covers,
            self.rejected, True,
        )  # fmt: skip

    def to_dict(self) -> dict[str, Any]:
        """Return the table as plain lists, with its coverage."""
        return {
            "values": list(self.labels),
            "share": self.values.tolist(),
            "low": self.low.tolist(),
            "high": self.high.tolist(),
            "reports": self.n,
            "confidence": self.confidence,
            "covers": self.covers,
            "rejected": dict(self.rejected),
        }

    def to_pandas(self) -> Any:
        """Return the table as a pandas DataFrame."""
        from privet.core.given import optional_package

        pandas = optional_package("pandas", "to_pandas")
        return pandas.DataFrame({"value": list(self.labels), "share": self.values, "low": self.low, "high": self.high})

    @cached_property
    def _places(self) -> dict[Any, int]:
        return {label: place for place, label in enumerate(self.labels)}

    def __repr__(self) -> str:
        values = [str(label) for label in self.labels]
        keys = Figures("value", tuple(values), right=isinstance(self.labels, range))
        shown = figures(
            _Shares(tuple(self.values.tolist()), tuple(self.low.tolist()), tuple(self.high.tolist())), self.confidence
        )

        def draw(console: Any) -> None:
            draw_columns(console, [keys], [shown], rows=len(self), most=20)
            for line in self.notes:
                draw_text(console, line, style="dim")

        return written(draw)

    @property
    def notes(self) -> tuple[str, ...]:
        """Remarks on the numbers."""
        whose = (
            "the shares among those who reported"
            if self.covers == "reports"
            else "the shares in the population sampled"
        )
        lines = [
            f"From {told_reports(self.n, sum(self.rejected.values()))}. Each interval covers {whose} with probability "
            f"{self.confidence:g} (pointwise, not simultaneously)."
        ]
        if self.projected_to_simplex:
            lines.append("Shares were made to lie above 0 and sum to about 1, so they are no longer unbiased.")
        return tuple(lines)


@dataclass(frozen=True)
class _Shares:
    values: tuple[float, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]
    name: str = "share"
    mark: str = ""


def estimate_frequencies(
    oracle: FrequencyOracle,
    supports: Integers,
    n: int,
    confidence: Number,
    covers: str,
    rejected: Mapping[str, int],
) -> Frequencies:
    """Return the frequencies behind counts of support among n reports."""
    level = open_probability(confidence, "confidence")
    whose = choice(covers, "covers", COVERS)
    columns = shares_of(oracle.p, oracle.q, supports, n, level, whose)
    return Frequencies(oracle.labels, *columns, n, float(level), whose, rejected)


def shares_of(
    p: Fraction, q: Fraction, supports: Integers, n: int, level: Fraction, whose: str
) -> tuple[Floats, Floats, Floats, Floats]:
    """Return the shares behind counts of support among n reports, both ends of their intervals, and standard errors.

    Guarantee: (count / n - q) / (p - q) is unbiased. Intervals for the people who reported invert the law of the count
    for their answers; those for a population invert the binomial law of the count.
    Cites: [WBLJ17, Thm 2], [CP34], [Wil27].
    """
    support, other = float(p), float(q)
    slope = support - other
    values = (supports / n - other) / slope
    shares = np.clip(values, 0, 1)
    spread = other * (1 - other) + shares * (1 - support - other) * slope
    if whose == "population":
        spread = spread + shares * (1 - shares) * slope**2
        low, high = ((end - other) / slope for end in binomial_ends(supports, n, level))
    else:
        low, high = _count_ends(supports, n, p, q, level)
    return values, np.clip(low, 0, 1), np.clip(high, 0, 1), np.sqrt(spread / n) / slope


def widened(
    values: Floats, low: Floats, high: Floats, errors: Floats, extra: float | Floats, level: Fraction
) -> tuple[Floats, Floats, Floats]:
    """Return intervals and standard errors with a further independent variance."""
    from scipy.special import ndtri

    reach = float(ndtri((1 - float(level)) / 2)) ** 2 * extra
    least = values - np.sqrt(np.maximum(values - low, 0) ** 2 + reach)
    most = values + np.sqrt(np.maximum(high - values, 0) ** 2 + reach)
    return np.clip(least, 0, 1), np.clip(most, 0, 1), np.sqrt(errors**2 + extra)


def norm_sub(values: Floats) -> Floats:
    """Return the point of the simplex that is reached by adding one number to all values and cutting at zero."""
    ordered = np.sort(values)[::-1]
    excess = (np.cumsum(ordered) - 1) / np.arange(1, len(values) + 1)
    kept = int(np.flatnonzero(ordered > excess)[-1])
    shares: Floats = np.maximum(values - excess[kept], 0)
    return shares


def binomial_ends(counts: Integers, n: int, level: Fraction) -> tuple[Floats, Floats]:
    """Return the ends of the shares whose binomial law does not exclude the counts."""
    from scipy.special import betainccinv, betaincinv

    tail = float(1 - level) / 2
    low = np.where(counts > 0, betaincinv(np.maximum(counts, 1), n - counts + 1, tail), 0.0)
    high = np.where(counts < n, betainccinv(counts + 1, np.maximum(n - counts, 1), tail), 1.0)
    return low, high


def _count_ends(counts: Integers, n: int, p: Fraction, q: Fraction, level: Fraction) -> tuple[Floats, Floats]:
    """Return the ends of the shares m / n whose law of the count does not exclude it."""
    from scipy.special import ndtri

    tail = float(1 - level) / 2
    truth, other = float(p), float(q)
    slope, z = n * (truth - other), -float(ndtri(tail))
    base, more = n * other * (1 - other), n * (truth * (1 - truth) - other * (1 - other))
    ends = []
    for side in (-1, 1):
        # (L - slope f)^2 = z^2 (base + more f), with L half a report nearer to the mean
        gap = counts + side * 0.5 - n * other
        shares = np.clip(gap / slope, 0, 1)
        root = z * np.sqrt(z**2 * more**2 + 4 * slope**2 * (base + more * shares))
        ends.append((2 * gap * slope + z**2 * more + side * root) / (2 * slope**2))
    low, high = ends
    narrow = base + more * np.clip((counts - n * other) / slope, 0, 1) < _EXACT_BELOW
    for count in np.unique(counts[narrow]).tolist():
        least, most = _exact_ends(count, n, truth, other, tail)
        low[counts == count], high[counts == count] = least / n, most / n
    return low, high


def _exact_ends(count: int, n: int, p: float, q: float, tail: float) -> tuple[int, int]:
    """Return the least and the largest number of people whose law leaves more than `tail` at and beyond the count."""
    least = _first(n, lambda m: _upper_tail(count, n, m, p, q) > tail)
    most = _first(n, lambda m: 1 - _upper_tail(count + 1, n, m, p, q) <= tail)
    return min(least, n), max(most - 1, min(least, n))


def _first(n: int, holds: Any) -> int:
    """Return the least m of 0, ..., n from which on a condition is met; n + 1 if it never is."""
    low, high = 0, n + 1
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle + 1, high)
    return low


def _upper_tail(count: int, n: int, people: int, p: float, q: float) -> float:
    """Return the probability that Bin(people, p) + Bin(n - people, q) is at least `count`."""
    from scipy.stats import binom

    reach = _WINDOW * math.sqrt(people * p * (1 - p)) + 30
    first, last = max(0, math.floor(people * p - reach)), min(people, math.ceil(people * p + reach))
    own = np.arange(first, last + 1)
    return float(binom.pmf(own, people, p) @ binom.sf(count - 1 - own, n - people, q))


def _numbers(held: Any, name: str, size: int) -> Floats:
    if type(held) is np.ndarray and held.dtype == np.float64 and held.shape == (size,):
        return held
    numbers = [float_near(rational(item, name)) for item in listed(unwrapped(held), name, "a number for each label")]
    if len(numbers) != size:
        raise BadParameter(name, held, "a number for each label")
    return np.array(numbers)


def told_reports(count: int, rejected: int) -> str:
    """Return in words how many reports an estimate is from, and how many more were rejected."""
    return f"{count:,} randomised report{'' if count == 1 else 's'}{_rejected(rejected)}"


def _rejected(count: int) -> str:
    return f"; {count:,} more {'was' if count == 1 else 'were'} rejected" if count else ""
