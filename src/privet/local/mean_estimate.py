"""An estimated mean with its interval."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from privet.core.given import choice, mapping, set_fields
from privet.core.numbers import float_near, open_probability, rational, whole
from privet.display import shown_estimate

from .estimates import told_reports

_COVERS = ("reports", "population")


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
        for name in ("value", "low", "high", "standard_error"):
            set_fields(self, **{name: float_near(rational(getattr(self, name), name))})
        whole(self.n, "n")
        set_fields(self, confidence=float(open_probability(self.confidence, "confidence")))
        choice(self.covers, "covers", _COVERS)
        counts = mapping(self.rejected, "rejected", "how many reports were rejected, by reason")
        set_fields(self, rejected={reason: whole(count, "rejected") for reason, count in counts.items()})

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
        return {
            "mean": self.value,
            "low": self.low,
            "high": self.high,
            "standard_error": self.standard_error,
            "reports": self.n,
            "confidence": self.confidence,
            "covers": self.covers,
            "rejected": dict(self.rejected),
        }

    def __repr__(self) -> str:
        half = max(self.high - self.value, self.value - self.low)
        shown = shown_estimate(self.value, half)
        return f"mean {shown}, {self.confidence:.0%} interval {self.low:.6g} to {self.high:.6g}, n = {self.n:,}"
