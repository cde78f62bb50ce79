"""Tries to break the rest: lower bounds on epsilon from releases alone, exact checks, attacks that show why."""

from __future__ import annotations

from .blackbox import Report, audit
from .bounds import Counts, power, rate_high, rate_low

__all__ = ["Counts", "Report", "audit", "power", "rate_high", "rate_low"]
