"""An estimated count of people with its interval."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from privet.core.given import mapping, set_fields
from privet.core.numbers import float_near, open_probability, rational, whole


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
        for name in ("value", "low", "high", "standard_error"):
            set_fields(self, **{name: float_near(rational(getattr(self, name), name))})
        whole(self.n, "n")
        set_fields(self, confidence=float(open_probability(self.confidence, "confidence")))
        counts = mapping(self.rejected, "rejected", "how many reports were rejected, by reason")
        set_fields(self, rejected={reason: whole(count, "rejected") for reason, count in counts.items()})

    def to_dict(self) -> dict[str, Any]:
        """Return the estimate as plain data."""
        return {
            "count": self.value,
            "low": self.low,
            "high": self.high,
            "standard_error": self.standard_error,
            "people": self.n,
            "confidence": self.confidence,
            "rejected": dict(self.rejected),
        }

    def __repr__(self) -> str:
        ends = f"{self.low:,.0f} to {self.high:,.0f}"
        return f"{self.value:,.0f} people of {self.n:,}, {self.confidence:.0%} interval {ends}"
