"""p-identity strategies for pure budgets: every cell, and p weighted sums of cells, optimised for a workload.

A = [I; T] D^-1 with T >= 0 of p rows, and D = diag(1 + the column sums of T), so that every column has an L1 norm of 1.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import count

import numpy as np
from scipy import linalg, sparse
from scipy import optimize as numerical

from privet.core.errors import RequestError
from privet.core.numbers import whole

from .given_numbers import MOST_ITERATIONS, read_progress
from .strategies import Form, MatrixStrategy, check_single, read_workload
from .workloads import Floats, Integers, Workload

BITS = 12
"""Binary digits to which the weighted sums are rounded, relative to their largest entry."""

_WEIGHT_BITS = 20
_FEW_SCALES = 8
_SHOWN = 100
"""After how many steps progress is shown."""
_LARGEST_ENTRY = 1e4
"""The most that an entry of T becomes: sums beside which cells hardly count, where digits cancel in the error."""


def p_identity(
    workload: Workload,
    *,
    rows: int | None = None,
    iterations: int = 600,
    restarts: int = 1,
    progress: Callable[[str], None] | None = None,
) -> MatrixStrategy:
    """Return an optimised p-identity strategy for a workload over one attribute, for pure budgets.

    Args:
        workload: the queries.
        rows: how many weighted sums; a sixteenth of the cells if left out, from 1 to 128.
        iterations: steps of the optimisation.
        restarts: how many starts are tried; the best result is kept.
        progress: called with a line of text now and then.

    Example:
        >>> ranges = strategy.all_ranges(256)
        >>> cells = strategy.identity_strategy(256, measure="pure")
        >>> strategy.p_identity(ranges).rmse(ranges) < 0.62 * cells.rmse(ranges)
        True

    Cites: [MMHM18, p-Identity].
    """
    read_workload(workload)
    check_single(workload)
    n = workload.cells
    steps = whole(iterations, "iterations", least=1, most=MOST_ITERATIONS)
    starts = whole(restarts, "restarts", least=1, most=MOST_ITERATIONS)
    report = read_progress(progress)
    many = min(max(n // 16, 1), 128) if rows is None else whole(rows, "rows", least=1, most=n)
    best: tuple[float, Floats] | None = None
    for restart in range(starts):
        result = optimise_sums(
            workload,
            first_sums(n, many, restart),
            iterations=steps,
            progress=lambda line, place=restart: report(f"start {place + 1} of {starts}, {line}"),  # type: ignore[misc]
        )
        if best is None or result[0] < best[0]:
            best = result
        report(f"start {restart + 1} of {starts}: RMSE {math.sqrt(2 * best[0] / workload.mass):.6g}")
    if best is None:
        raise RequestError("at least one start is needed")
    return from_sums(best[1], f"p-identity, p = {many}")


def first_sums(cells: int, rows: int, seed: int) -> Floats:
    """Return a start of the optimisation: numbers that look random and are the same on every machine."""
    mixed = np.arange(rows * cells, dtype=np.uint64) + np.uint64(1 + seed * 2**40)
    mixed *= np.uint64(0x9E3779B97F4A7C15)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(factor)
    mixed ^= mixed >> np.uint64(31)
    return np.ldexp((mixed >> np.uint64(11)).astype(np.float64), -53).reshape(rows, cells)


def optimise_sums(
    workload: Workload, start: Floats, *, iterations: int, progress: Callable[[str], None] | None = None
) -> tuple[float, Floats]:
    """Return the least tr(W'W (A'A)^-1) found from a start, and T, by a quasi-Newton method with bounds."""
    rows, n = start.shape
    diagonal = gram_diagonal(workload)

    calls = count(1)

    def loss(flat: Floats) -> tuple[float, Floats]:
        value, slope = sums_loss(workload, diagonal, flat.reshape(rows, n))
        call = next(calls)
        if progress is not None and call % _SHOWN == 0:
            progress(f"step {call:,}: RMSE {math.sqrt(2 * value / workload.mass):.6g}")
        return value, slope.ravel()

    solution = numerical.minimize(
        loss,
        start.ravel(),
        jac=True,
        method="L-BFGS-B",
        bounds=numerical.Bounds(0.0, _LARGEST_ENTRY),
        options={"maxiter": iterations, "maxfun": 2 * iterations, "maxcor": 10},
    )
    return float(solution.fun), np.asarray(solution.x).reshape(rows, n)


def gram_diagonal(workload: Workload) -> Floats:
    """Return the diagonal of W'W."""
    return np.ascontiguousarray(np.diagonal(workload.gram()))


def sums_loss(workload: Workload, diagonal: Floats, sums: Floats) -> tuple[float, Floats]:
    """Return tr(W'W (A'A)^-1) and its gradient in T.

    With K = I + T T' and d = 1 + column sums of T, (A'A)^-1 = D (I - T' K^-1 T) D. The gradient through the inverse is
    -2 K^-1 T D G D (I - T' K^-1 T), and through d_i it is 2 (G D (I - T' K^-1 T))_ii, for every row.
    """
    d = 1 + sums.sum(axis=0)
    inverse = linalg.inv(np.eye(len(sums)) + sums @ sums.T)
    moved = workload._gram_times(np.ascontiguousarray((sums * d).T))  # G D T'
    inner = (sums * d) @ moved
    solved = inverse @ sums
    value = float(diagonal @ d**2 - np.sum(inverse * inner))
    through_d = 2 * (diagonal * d - np.einsum("ip,pi->i", moved, solved))
    through_inverse = -2 * (inverse @ (moved * d[:, None]).T - inverse @ inner @ solved)
    return value, through_inverse + through_d


def from_sums(sums: Floats, name: str) -> MatrixStrategy:
    """Return the strategy with integer rows: single cells with whole weights, and the sums rounded."""
    d = 1 + sums.sum(axis=0)
    scaled = sums / d
    keep = scaled.max(axis=1) > 1e-9
    rows = np.rint(np.ldexp(scaled[keep], BITS)).astype(np.int64)
    weights = np.maximum(np.rint(np.ldexp(1 / d, _WEIGHT_BITS)), 1).astype(np.int64)
    return from_integers(rows, weights, name)


def from_integers(rows: Integers, weights: Integers, name: str) -> MatrixStrategy:
    """Return the strategy of single cells with these weights, and of sums in 2**-12ths."""
    held = rows[(rows != 0).any(axis=1)]
    eye = sparse.eye_array(len(weights), dtype=np.int64, format="csr")
    matrix = sparse.csr_array(sparse.vstack([eye, sparse.csr_array(held)]))
    every = [*map(int, weights), *[1 << (_WEIGHT_BITS - BITS)] * len(held)]
    return MatrixStrategy(name, "pure", matrix, every, "diagonal")


def evened(strategy: MatrixStrategy) -> MatrixStrategy:
    """Return a pure strategy with one noise scale for all rows: its rows times their weights, rounded to 12 bits.

    A product of strategies with many scales each has too many to draw from.
    """
    if strategy.measure != "pure" or len(set(strategy.weights)) <= _FEW_SCALES:
        return strategy
    scaled = sparse.csr_array(strategy.matrix).astype(np.float64)
    scaled = sparse.csr_array(scaled.multiply(np.array(strategy.weights, dtype=np.float64)[:, None]))
    rounded = scaled * ((1 << BITS) / abs(scaled).max())
    rounded.data = np.rint(rounded.data)
    whole_rows = sparse.csr_array(rounded.astype(np.int64))
    form: Form = "diagonal" if strategy.form == "diagonal" else "dense"
    return MatrixStrategy(strategy.name, "pure", whole_rows, [1] * strategy.rows, form)
