"""The memory of an engine inside the process: its limit, the folder that it spills to, and how a scan keeps to both.

Everything here is decided from public facts: the limit, and the rows that are declared. What a scan would really need
is not asked.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterable
from fractions import Fraction

from privet.core.errors import BadParameter, RequestError, raise_alone
from privet.core.schema import DEFAULT_ROWS

LEAST_MEMORY = 16 * 10**6
"""Below this many bytes the engine cannot even open its tables."""

BYTES_PER_ROW = 160
"""What one declared row is taken to need: a cell of one person and group, and a copy while sums are made."""

MOST_PARTS = 16
"""No scan is divided into more parts by itself: each part reads all rows."""

_SIZE = re.compile(r"([0-9]{1,9}(?:\.[0-9]{1,3})?)([KMGT])(I?)B", re.IGNORECASE)


def read_memory_limit(value: object) -> int:
    """Return a size such as "4GB", "512MB" or "1.5GiB" in bytes; refuse any other, and one that is too small."""
    found = _SIZE.fullmatch(value) if isinstance(value, str) else None
    if found is None:
        raise BadParameter("memory_limit", value, "a size in quotes, such as '4GB' or '512MB'")
    size = int(Fraction(found[1]) * (1024 if found[3] else 1000) ** (1 + "KMGT".index(found[2].upper())))
    if not LEAST_MEMORY <= size < 2**62:
        raise BadParameter("memory_limit", value, "at least '16MB': less does not hold the pages of one small scan")
    return size


def parts_for(declared: Iterable[int], limit: int) -> int:
    """Return into how many parts a scan is divided so that each should fit into a memory limit, by declared rows.

    A table whose rows are not declared may have any number of them, and counts for none.
    """
    rows = max((rows for rows in declared if rows < DEFAULT_ROWS), default=0)
    return min(max(-(-rows * BYTES_PER_ROW // limit), 1), MOST_PARTS)


def make_spill_folder() -> str:
    """Return a new folder that only this user may enter; it is empty until a scan needs more than its memory."""
    try:
        return tempfile.mkdtemp(prefix="privet-")  # created with mode 0700
    except OSError:
        raise_alone(_no_folder())


def check_spill_folder(folder: str) -> None:
    """Raise a `RequestError` where the folder is gone or cannot be written: a scan may need it, and is not charged."""
    if not os.access(folder, os.W_OK | os.X_OK):
        raise _no_folder()


def _no_folder() -> RequestError:
    return RequestError(
        "the engine has no folder to spill to: the folder for temporary files is missing or cannot be written; "
        "set TMPDIR to one with enough space that this user may write to, and open the session again"
    )
