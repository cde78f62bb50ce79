"""Every mechanism with its audit. A mechanism without one fails the build."""

from __future__ import annotations

from privet.audit.entry import Entry

from .adaptive import ADAPTIVE
from .keys import KEYS
from .numbers import NUMBERS
from .quantiles import QUANTILES
from .questions import QUESTIONS
from .selections import SELECTIONS
from .sessions import SESSIONS
from .sparse import SPARSE

AUDITS: tuple[Entry, ...] = (*NUMBERS, *SELECTIONS, *SPARSE, *KEYS, *QUANTILES, *ADAPTIVE, *SESSIONS, *QUESTIONS)

__all__ = ["AUDITS"]
