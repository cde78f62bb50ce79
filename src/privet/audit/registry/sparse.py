"""Audits of sparse vectors against their exact loss, which no pair of short lists of queries brings to epsilon."""

from __future__ import annotations

from typing import Any

import numpy as np

from privet.audit.entry import Entry, known
from privet.audit.laws import SparseLaw, integers
from privet.mechanisms import AboveThreshold, NumericSparse, Sparse

_FIRST = ([0, 0, 0, 1], [1, 1, 1, 0])
"""What comes out below moves up, and what crosses moves down."""

_TWO = ([0, 0, 1, 1], [1, 1, 0, 0])
_SHOWN = 6
"""Gaps and numbers beyond this are looked at together."""


_THRESHOLD = 1


def _scales(epsilon: float, limit: int) -> tuple[float, float]:
    """Return the scales of both noises for moves of 1: the threshold's part is 1 / (1 + w^(2/3)), for w = 2 limit.

    Cites: [LSL17, Alg. 7 and Sec. 4.2].
    """
    weight = 2 * limit
    share = 1 / (1 + weight ** (2 / 3))
    return 1 / (epsilon * share), weight / (epsilon * (1 - share))


def _law(epsilon: float, queries: Any, limit: int = 1) -> dict[Any, float]:
    """Return the law of where the queries crossed."""
    return SparseLaw(*_scales(epsilon, limit), limit=limit).law(tuple(queries), threshold=_THRESHOLD)


def _gap_law(epsilon: float, queries: Any) -> dict[Any, float]:
    """Return the law of where a query crossed first, and of its gap, larger ones together."""
    sparse, many = SparseLaw(*_scales(epsilon, 1), limit=1, shows="gap"), tuple(range(120))
    found: dict[Any, float] = {}
    for pattern, chance in sparse.law(tuple(queries), threshold=_THRESHOLD, shown=many).items():
        gap = pattern[-1] if pattern else None
        label = None if gap is None else (len(pattern), min(gap, _SHOWN))
        found[label] = found.get(label, 0.0) + chance
    return found


def _measured_law(epsilon: float, queries: Any) -> dict[Any, float]:
    """Return the law of where a query crossed first, and of the number that was measured there by other noise.

    A half of epsilon goes to the crossing, and a half to the number.
    """
    found: dict[Any, float] = {}
    for pattern, chance in _law(epsilon / 2, queries).items():
        if pattern[-1] is None:
            found[None] = found.get(None, 0.0) + chance
            continue
        for drawn, part in integers(2 / epsilon).items():
            number = min(max(queries[len(pattern) - 1] + drawn, -_SHOWN), _SHOWN)
            found[len(pattern), number] = found.get((len(pattern), number), 0.0) + chance * part
    return found


def _places(limit: int) -> Any:
    return lambda rows: rows[:, :limit] @ (10.0 ** np.arange(limit))


def _place_and_gap(rows: Any) -> Any:
    return 100 * rows[:, 0] + np.minimum(np.nan_to_num(rows[:, 1], nan=0.0), _SHOWN)


def _place_and_number(rows: Any) -> Any:
    return 100 * rows[:, 0] + np.clip(np.nan_to_num(rows[:, 2], nan=0.0), -_SHOWN, _SHOWN)


SPARSE: tuple[Entry, ...] = (
    known(
        "Above threshold",
        lambda leak: AboveThreshold(threshold=1, sensitivity=1, epsilon=3 * leak, grid="whole"),
        _law,
        _FIRST,
        stated=3,
        look=_places(1),
    ),
    known(
        "Above threshold, gaps",
        lambda leak: AboveThreshold(threshold=1, sensitivity=1, epsilon=3 * leak, grid="whole"),
        _gap_law,
        _FIRST,
        stated=3,
        look=_place_and_gap,
    ),
    known(
        "Sparse vector",
        lambda leak: Sparse(threshold=1, limit=2, sensitivity=1, epsilon=4 * leak, grid="whole"),
        lambda epsilon, queries: _law(epsilon, queries, limit=2),
        _TWO,
        stated=4,
        look=_places(2),
    ),
    known(
        "Sparse vector, measured",
        lambda leak: NumericSparse(threshold=1, limit=1, sensitivity=1, epsilon=3 * leak, grid="whole"),
        _measured_law,
        ([0, 0, 1], [1, 1, 0]),
        stated=3,
        look=_place_and_number,
    ),
)
