"""Answers of queries in exact integers: what choices among queries are made by, inside the release, before noise."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privet.core.errors import RequestError

from .integer_products import exact_columns
from .workloads import (
    Floats,
    MarginalWorkload,
    MatrixWorkload,
    ProductWorkload,
    RangeWorkload,
    UnionWorkload,
    Workload,
    marginal_of,
)

_ROOM = 2**61


def exact_table(integers: list[int], shape: tuple[int, ...]) -> NDArray[Any]:
    """Return integers as a table, in 64 bits where sums of any of them fit, else as Python's own."""
    kind: Any = np.int64 if sum(map(abs, integers)) < _ROOM else object
    return np.array(integers, dtype=kind).reshape(shape)


def exact_answers(workload: Workload, table: NDArray[Any]) -> NDArray[Any]:
    """Return the answer of every query on a table of integers, exactly, in the order of `Workload.answers`.

    Guarantee: equal to sums in unbounded integers, for tables of `exact_table`.
    """
    if isinstance(workload, UnionWorkload):
        return np.concatenate([exact_answers(part, table) for part in workload.parts])
    if isinstance(workload, MarginalWorkload):
        return np.concatenate([np.ravel(marginal_of(table, axes)) for axes in workload.subsets])
    factors = workload.factors if isinstance(workload, ProductWorkload) else (workload,)
    answers = table.reshape(workload.shape)
    for axis, factor in enumerate(factors):
        moved = np.moveaxis(answers, axis, 0)
        lines = _exact_lines(factor, moved.reshape(moved.shape[0], -1))
        answers = np.moveaxis(lines.reshape(factor.queries, *moved.shape[1:]), 0, axis)
    return answers.ravel()


def _exact_lines(workload: Workload, lines: NDArray[Any]) -> NDArray[Any]:
    if isinstance(workload, RangeWorkload):
        sums = np.zeros((len(lines) + 1, lines.shape[1]), dtype=lines.dtype)
        np.cumsum(lines, axis=0, out=sums[1:])
        return np.asarray(sums[workload.highs + 1] - sums[workload.lows])
    if isinstance(workload, (MatrixWorkload, UnionWorkload)):
        return exact_columns(whole_rows(workload), lines.astype(object))
    raise RequestError("the queries of a factor are ranges, or the rows of a matrix")


def whole_rows(workload: Workload) -> NDArray[np.int64]:
    """Return the queries of a small workload as integers; refuse others."""
    rows = workload.rows()
    if (np.rint(rows) != rows).any() or np.abs(rows).max() >= 2**31:
        raise RequestError("queries are chosen exactly: their coefficients are whole numbers below 2**31")
    return rows.astype(np.int64)


def reach_of(workload: Workload, *, signed_pairs: bool) -> int:
    """Return the most that one row moves any query by: of one cell, or also from one cell to another.

    The largest |q_i|, and for `signed_pairs` also the largest |q_i - q_j| of one query q.
    """
    if isinstance(workload, (RangeWorkload, MarginalWorkload)):
        return 1
    if isinstance(workload, UnionWorkload):
        return max(reach_of(part, signed_pairs=signed_pairs) for part in workload.parts)
    if isinstance(workload, ProductWorkload):
        single = math.prod(reach_of(factor, signed_pairs=False) for factor in workload.factors)
        signed = any(_least_entry(factor) < 0 for factor in workload.factors)
        return 2 * single if signed and signed_pairs else single
    rows = whole_rows(workload)
    most = int(np.abs(rows).max())
    return max(most, int((rows.max(axis=1) - rows.min(axis=1)).max())) if signed_pairs else most


def _least_entry(workload: Workload) -> int:
    return 0 if isinstance(workload, RangeWorkload) else int(whole_rows(workload).min())


def query_row(workload: Workload, place: int) -> Floats:
    """Return one query of a workload: its coefficient for each cell."""
    if isinstance(workload, UnionWorkload):
        for part in workload.parts:
            if place < part.queries:
                return query_row(part, place)
            place -= part.queries
    if isinstance(workload, MarginalWorkload):
        return query_row(UnionWorkload(workload.products, workload.weights), place)
    if isinstance(workload, ProductWorkload):
        query: Floats = np.ones(1)
        places = np.unravel_index(place, [factor.queries for factor in workload.factors])
        for factor, index in zip(workload.factors, places, strict=True):
            query = np.outer(query, query_row(factor, int(index))).ravel()
        return query
    if isinstance(workload, RangeWorkload):
        cells = np.arange(workload.size)
        inside = (cells >= workload.lows[place]) & (cells <= workload.highs[place])
        return np.asarray(inside, dtype=np.float64)
    return np.array(workload.rows()[place])
