"""Numbers of reports as big-endian bytes, a row for each report, and how often each number comes."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]
Bytes = NDArray[np.uint8]


def width_below(bound: int) -> int:
    """Return how many bytes hold every number below a bound."""
    return max(1, -(-(bound - 1).bit_length() // 8))


def to_bytes(numbers: Integers, width: int) -> Bytes:
    """Return the last `width` bytes of each number, the highest first."""
    return numbers.astype(">i8").view(np.uint8).reshape(len(numbers), 8)[:, 8 - width :].copy()


def from_bytes(data: Bytes) -> Integers:
    """Return the numbers of rows of at most seven bytes, the highest first."""
    full = np.zeros((len(data), 8), dtype=np.uint8)
    full[:, 8 - data.shape[1] :] = data
    return full.view(">i8").reshape(len(data)).astype(np.int64)


def add_counts(tally: Integers, numbers: Integers) -> None:
    """Add to a tally how often each number comes."""
    flat = tally.reshape(-1)
    if 8 * len(numbers) < len(flat):
        np.add.at(flat, numbers, 1)
    else:
        flat += np.bincount(numbers, minlength=len(flat))
