"""Suites that anyone who writes an engine, a ledger, a mechanism or an aggregate can test it with, and the reference.

`docs/extending.md` shows each at work.
"""

from __future__ import annotations

from .oracle import Memory
from .suites import SuiteReport, arrow_tables, check_aggregate, check_engine, check_ledger, check_mechanism

__all__ = [
    "Memory",
    "SuiteReport",
    "arrow_tables",
    "check_aggregate",
    "check_engine",
    "check_ledger",
    "check_mechanism",
]
