"""Audits of local reports: each oracle between the two answers that differ most, against the epsilon that it states."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from privet import local
from privet.audit.entry import AuditEntry
from privet.audit.releases import Draw

_VALUES = 3
_POINTS = 12


def _numbers(oracle: Any, reports: local.Reports) -> Any:
    """Return one number for each report, which tells its content, and its function or table too."""
    weights = 256 ** np.arange(reports.data.shape[1], dtype=np.int64)
    found = reports.data.astype(np.int64) @ weights
    if isinstance(oracle, local.CountMeanSketch):
        found = found + 2**16 * oracle._tables_of(reports.ids)
    if isinstance(oracle, local.OptimizedHashing):
        found = found + 256 * oracle._function(reports.ids)
    return found


def _entry(name: str, make: Callable[[Fraction], Any], answers: tuple[Any, Any]) -> AuditEntry:
    def drawn(leak: Fraction) -> Draw:
        oracle = make(leak)
        return lambda answer, count: _numbers(oracle, oracle.client.reports([answer] * count))

    oracle = make(Fraction(1))
    return AuditEntry(name=f"Local, {name}", mechanism=type(oracle), make=drawn, neighbours=answers, claimed=1)


def _frequencies(kind: type[local.FrequencyOracle]) -> AuditEntry:
    return _entry(kind.kind, lambda leak: kind(_VALUES, epsilon=leak), (0, 1))


LOCAL_REPORTS: tuple[AuditEntry, ...] = (
    *(_frequencies(kind) for kind in local.ORACLES),
    _entry("Duchi's mean", lambda leak: local.DuchiMean(0, 1, epsilon=leak), (0, 1)),
    _entry("piecewise mean", lambda leak: local.PiecewiseMean(0, 1, epsilon=leak, points=_POINTS), (0, 1)),
    _entry("hybrid mean", lambda leak: local.HybridMean(0, 1, epsilon=leak, points=_POINTS), (0, 1)),
    _entry("Laplace mean", lambda leak: local.LaplaceMean(0, 1, epsilon=leak), (0, 1)),
    _entry("square wave", lambda leak: local.SquareWave(0, 8, bins=8, epsilon=leak), (0, 8)),
    _entry("tree of bins", lambda leak: local.HierarchicalHistogram(0, 2, bins=2, branching=2, epsilon=leak), (0, 2)),
    _entry("count-mean sketch", lambda leak: local.CountMeanSketch(epsilon=leak, tables=2), ("tea", "milk")),
)
