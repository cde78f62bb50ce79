"""Every mechanism with its audit, and many audits run at once. A mechanism without one fails the build."""

from __future__ import annotations

import multiprocessing
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor

from privet.audit.entry import AuditEntry, Verdict, judge
from privet.audit.report import Report

from .choices import COMPARED, KEYS, QUANTILES, SELECTIONS, SPARSE
from .end_to_end import DOUBLES, QUESTIONS, SESSIONS, DoublesCheck
from .local_reports import LOCAL_REPORTS
from .noisy_numbers import ADAPTIVE, ESTIMATES, NUMBERS
from .streamed_sums import STREAMS

AUDITS: tuple[AuditEntry, ...] = (
    *NUMBERS,
    *SELECTIONS,
    *SPARSE,
    *KEYS,
    *QUANTILES,
    *ADAPTIVE,
    *ESTIMATES,
    *STREAMS,
    *LOCAL_REPORTS,
    *SESSIONS,
    *QUESTIONS,
    *COMPARED,
)

__all__ = ["AUDITS", "judge_all", "look_at_bits"]

_RUN_HERE = 3
"""As few audits are run where they are: a process takes a second to start."""


def judge_all(entries: Sequence[AuditEntry], *, samples: int | None, processes: int) -> Iterator[Verdict]:
    """Yield the verdicts on entries of the registry, in their order."""
    if processes == 1 or len(entries) <= _RUN_HERE:
        yield from (judge(entry, samples=samples) for entry in entries)
        return
    names = [entry.name for entry in entries]
    with _pool(processes) as pool:
        for entry, reports in zip(entries, pool.map(_judge, names, [samples] * len(names)), strict=True):
            yield Verdict(entry, *reports)


def look_at_bits(outlets: Sequence[DoublesCheck], *, processes: int) -> Iterator[tuple[DoublesCheck, Report]]:
    """Yield what the low bits of each outlet reveal, in their order."""
    if processes == 1 or len(outlets) <= _RUN_HERE:
        yield from ((outlet, outlet.judge()) for outlet in outlets)
        return
    with _pool(processes) as pool:
        yield from zip(outlets, pool.map(_look, [outlet.name for outlet in outlets]), strict=True)


def _pool(processes: int) -> ProcessPoolExecutor:
    # started afresh, not forked: nothing that was drawn here may be drawn again there
    return ProcessPoolExecutor(processes, mp_context=multiprocessing.get_context("spawn"))


def _judge(name: str, samples: int | None) -> tuple[Report, Report, Report | None]:
    verdict = judge(next(entry for entry in AUDITS if entry.name == name), samples=samples)
    return verdict.report, verdict.planted, verdict.bits


def _look(name: str) -> Report:
    return next(outlet for outlet in DOUBLES if outlet.name == name).judge()
