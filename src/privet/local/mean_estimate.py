"""An estimated number with its interval: a mean, or a count of people."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from privet.core.given import choice, mapping, set_fields
from privet.core.numbers import float_near, open_probability, rational, whole
from privet.display import shown_estimate

from .estimates import COVERS, told_reports


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
        """What is to be known beside the number."""
        whose = "of those who reported" if self.covers == "reports" else "in the population sampled"
        reports = told_reports(self.n, sum(self.rejected.values()))
        return (
            f"From {reports}. The interval covers the mean {whose} with probability "
            f"{self.confidence:g}; values outside the declared bounds count as the nearest bound.",
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the estimate as plain data, with what it covers."""
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
    """Check what every estimated number has, and keep it as plain numbers."""
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
