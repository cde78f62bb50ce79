"""Every mechanism with its audit. A mechanism without one fails the build."""

from __future__ import annotations

from privet.audit.entry import AuditEntry

from .choices import KEYS, QUANTILES, SELECTIONS, SPARSE
from .compared import COMPARED
from .end_to_end import QUESTIONS, SESSIONS
from .estimated_cells import ESTIMATES
from .local_reports import LOCAL_REPORTS
from .noisy_numbers import ADAPTIVE, NUMBERS
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

__all__ = ["AUDITS"]
