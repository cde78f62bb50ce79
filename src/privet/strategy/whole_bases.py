"""Whole rows that span the space of a workload's queries, so that what measures them measures nothing else, exactly."""

from __future__ import annotations

import numpy as np
from scipy import linalg, sparse

from .workloads import (
    Floats,
    Integers,
    MarginalWorkload,
    MatrixWorkload,
    ProductWorkload,
    RangeWorkload,
    UnionWorkload,
    Workload,
)

_RANK = 1e-9
"""A row whose part beside those before it is this much shorter than the longest adds nothing to them."""

_LARGEST = 2**10
"""The largest entry of a basis: combinations of larger ones leave the range of exact measurement."""


def whole_basis(workload: Workload) -> Integers | None:
    """Return independent whole rows that span the queries of a workload over one attribute, if there are such rows.

    Guarantee: each row is a query, a multiple of one, or a difference of ranges that the workload determines.
    """
    parts = _rows_of(workload)
    if parts is None:
        return None
    stacked: Integers = np.concatenate(parts)
    rows: Integers = stacked[(stacked != 0).any(axis=1)]
    if not len(rows) or np.abs(rows).max() > _LARGEST:
        return None
    if len(parts) == 1 and isinstance(_single(workload), RangeWorkload):
        return rows
    _, triangle, order = linalg.qr(rows.T.astype(np.float64), mode="economic", pivoting=True)
    sizes = np.abs(np.diagonal(triangle))
    kept: Integers = rows[np.sort(order[: int((sizes > _RANK * sizes[0]).sum())])]
    return kept


def _single(workload: Workload) -> Workload:
    return workload.factors[0] if isinstance(workload, ProductWorkload) else workload


def _rows_of(workload: Workload) -> list[Integers] | None:
    if isinstance(workload, RangeWorkload):
        return [_between_ends(workload)]
    if isinstance(workload, MatrixWorkload):
        rows = _whole_rows(workload.matrix)
        return None if rows is None else [rows]
    parts: list[Workload] = []
    if isinstance(workload, ProductWorkload):
        parts = [workload.factors[0]]
    elif isinstance(workload, MarginalWorkload):
        parts = [*workload.products]
    elif isinstance(workload, UnionWorkload):
        parts = [part for part, weight in workload.weighted() if weight]
    every: list[Integers] = []
    for part in parts:
        rows_of = _rows_of(part)
        if rows_of is None:
            return None
        every += rows_of
    return every


def _between_ends(workload: RangeWorkload) -> Integers:
    """Return the ranges from each end of a range to the next that is joined to it: they span all of the ranges.

    A range is the difference of two running totals: an edge of a graph between its ends. Differences within each
    connected part of the graph are determined, and those of neighbours there are a basis.
    """
    size = workload.size + 1
    edges = (np.ones(workload.queries, dtype=np.int8), (workload.lows, workload.highs + 1))
    _, labels = sparse.csgraph.connected_components(sparse.coo_array(edges, shape=(size, size)), directed=False)
    order = np.argsort(labels, kind="stable")
    joined = np.flatnonzero(labels[order][1:] == labels[order][:-1])
    places = np.arange(workload.size)
    return np.array(
        [(places >= low) & (places < high) for low, high in zip(order[joined], order[joined + 1], strict=True)],
        dtype=np.int64,
    ).reshape(len(joined), workload.size)


def _whole_rows(matrix: Floats) -> Integers | None:
    """Return each row times the least power of two that makes it whole, over its greatest common divisor."""
    kept = matrix[(matrix != 0).any(axis=1)]
    rows = []
    for row in kept:
        _, exponent = np.frexp(np.abs(row).max())
        raised = np.ldexp(row, 30 - int(exponent))
        if (np.rint(raised) != raised).any():
            return None
        integers = raised.astype(np.int64)
        rows.append(integers // np.gcd.reduce(integers))
    return np.array(rows, dtype=np.int64).reshape(len(rows), matrix.shape[1])
