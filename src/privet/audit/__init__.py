"""Tries to break the rest: lower bounds on epsilon from releases alone, exact checks, attacks that show why."""

from __future__ import annotations

from privet.core.unit import sensitivity_by_enumeration

from .blackbox import audit, audit_bits, low_bits
from .exact import Curve, exact_curve, exact_delta, exact_epsilon
from .replay import Moved, Replay, replay
from .report import Counts, Report, power, rate_high, rate_low

__all__ = [
    "Counts",
    "Curve",
    "Moved",
    "Replay",
    "Report",
    "audit",
    "audit_bits",
    "exact_curve",
    "exact_delta",
    "exact_epsilon",
    "low_bits",
    "power",
    "rate_high",
    "rate_low",
    "replay",
    "sensitivity_by_enumeration",
]
