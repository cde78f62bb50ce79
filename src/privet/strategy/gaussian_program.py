"""The best strategy for Gaussian noise: a convex program, solved to a proven gap, and its rows as integers.

Minimise tr(W'W X^-1) over X = A'A with diagonal 1. At the optimum X^-1 W'W X^-1 is a diagonal L, so that
X = L^-1/2 (L^1/2 W'W L^1/2)^1/2 L^-1/2: one number per cell describes it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import linalg
from scipy.special import gammaln

from privet.core.errors import InvariantError, RequestError
from privet.core.numbers import probability, whole

from .given_numbers import MOST_ITERATIONS, read_progress
from .integer_products import LARGEST_SQUARED
from .strategies import MatrixStrategy, Noise, check_single, read_measure, read_workload
from .whole_bases import whole_basis
from .workloads import MOST_CELLS, Floats, Integers, RangeWorkload, Workload, all_ranges, check_dense, prefixes

BITS = 16
"""Binary digits to which real rows are rounded; the loss is measured with the rounded rows themselves."""

_COARSE = 512
_FEW_STEPS = 5
"""The most steps over more than 2,048 cells, where each takes seconds and the first guess is close."""
_LEAST = 1e-14
_EVEN = 1e-3
"""The share of single cells in a strategy that measures them besides."""
_RANK = 1e-13
"""Eigenvalues below this part of the largest are rounding, and would be measured in vain."""


@dataclass(frozen=True, eq=False)
class Optimum:
    """The solution of the program: the matrix X, its multipliers, and bounds on the total variance."""

    matrix: Floats
    multipliers: Floats
    total: float
    bound: float

    @property
    def gap(self) -> float:
        """How far the total variance is above the lower bound, relative to it."""
        return self.total / self.bound - 1


Progress = Callable[[str], None]


def solve_gaussian(
    gram: Floats,
    *,
    iterations: int = 100,
    tolerance: float = 1e-6,
    start: Floats | None = None,
    progress: Progress | None = None,
) -> Optimum:
    """Return the solution of the convex program, to a relative gap or a number of iterations.

    Each step computes X from the multipliers and multiplies each of these by the square of X's diagonal entry there.

    Guarantee: no strategy for Gaussian noise with unit column norms has a total variance below `bound`: for any
    positive multipliers l, tr(G X^-1) >= 2 tr((L^1/2 G L^1/2)^1/2) - tr(L X), which is least where tr(L X) is the sum
    of l; scaled by its best multiple this is tr((L^1/2 G L^1/2)^1/2)^2 / sum(l).
    Cites: [LMHMR15], [YYZH16].
    """
    multipliers = np.ones(len(gram)) if start is None else np.maximum(start / start.mean(), _LEAST)
    best, bound = math.inf, 0.0
    solution = gram
    for step in range(iterations):
        roots = np.sqrt(multipliers)
        matrix = _root(gram * roots[:, None] * roots) / roots[:, None] / roots
        diagonal = np.diagonal(matrix).copy()
        trace = float(np.sum(multipliers * diagonal))
        bound = max(bound, trace**2 / float(np.sum(multipliers)))
        total = trace * float(diagonal.max())  # tr(G X^-1) = tr(L X)
        if total < best:
            best, solution = total, matrix / diagonal.max()
        if progress is not None:
            progress(f"step {step + 1}: within {best / bound - 1:.2g} of the optimum")
        if best <= bound * (1 + tolerance):
            break
        multipliers = np.maximum(multipliers * diagonal**2, _LEAST)
        multipliers /= multipliers.mean()
    return Optimum(solution, multipliers, best, bound)


def _root(matrix: Floats) -> Floats:
    """Return the root of a symmetric positive matrix, by halves where reversing the cells changes nothing."""
    n = len(matrix)
    if n % 2 == 0 and n > 2 and np.allclose(matrix, matrix[::-1, ::-1], rtol=1e-9, atol=1e-12 * np.abs(matrix).max()):
        half = n // 2
        same, crossed = matrix[:half, :half], matrix[:half, half:][:, ::-1]
        even, odd = _root_of(same + crossed), _root_of(same - crossed)
        near, far = (even + odd) / 2, (even - odd) / 2
        return np.block([[near, far[:, ::-1]], [far[::-1], near[::-1, ::-1]]])
    return _root_of(matrix)


def _root_of(matrix: Floats) -> Floats:
    values, vectors = linalg.eigh((matrix + matrix.T) / 2, driver="evd")
    kept = np.where(values > _RANK * values[-1], values, 0.0)
    return np.asarray((vectors * np.sqrt(kept)) @ vectors.T)


def gaussian_optimum(
    workload: Workload, *, iterations: int = 40, tolerance: float = 1e-5, progress: Progress | None = None
) -> MatrixStrategy:
    """Return the strategy with the least total variance under Gaussian noise, for a workload over one attribute.

    Example:
        >>> strategy.gaussian_optimum(strategy.all_ranges(256)).rmse(strategy.all_ranges(256)).__round__(3)
        2.901
    """
    read_workload(workload)
    check_single(workload)
    check_dense(workload.cells)
    steps = whole(iterations, "iterations", least=1, most=MOST_ITERATIONS)
    close = float(probability(tolerance, "tolerance"))
    report = read_progress(progress)
    start = gram_guess(workload, type(workload).gram)
    gram = workload.gram()
    if not gram.any():
        raise RequestError("every query of this workload is 0 on every cell; there is nothing to measure")
    if start is not None and workload.cells > 4 * _COARSE:
        steps = min(steps, _FEW_STEPS)
    optimum = solve_gaussian(gram, iterations=steps, tolerance=close, start=start, progress=report)
    return _from_covering(optimum.matrix, "optimal for Gaussian noise", workload)


def gram_guess(workload: Workload, gram: Callable[[Workload], Floats]) -> Floats | None:
    """Return multipliers from a smaller workload of the same kind: they hardly depend on its size."""
    make = {"all ranges": all_ranges, "prefixes": prefixes}.get(getattr(workload, "name", ""))
    if make is None or workload.cells < 2 * _COARSE:
        return None
    size = _COARSE if workload.cells < 8 * _COARSE else 2 * _COARSE
    coarse = solve_gaussian(gram(make(size)), iterations=40, start=gram_guess(make(size), gram))
    places = (np.arange(workload.cells) + 0.5) / workload.cells
    return np.exp(np.interp(places, (np.arange(size) + 0.5) / size, np.log(coarse.multipliers)))


def _from_covering(matrix: Floats, name: str, workload: Workload) -> MatrixStrategy:
    """Return integer rows A with A'A close to 4**16 X, for X with a diagonal of at most 1, scaled up to 1.

    X is factored into a triangle where it is regular. Where it is not, rounded rows would span another space than the
    queries do, and answers would be off by a part of the counts: so the rows are whole combinations of a whole basis of
    that space; where none is found, every cell is measured a little besides.
    """
    triangle = _triangle(matrix)
    if triangle is None:
        basis = whole_basis(workload)
        combined = None if basis is None else _combined(matrix, basis)
        if combined is not None:
            return MatrixStrategy(name, "gaussian", combined, [1] * len(combined))
        besides = (1 - _EVEN) * matrix + _EVEN * np.eye(len(matrix))
        triangle = _triangle(besides)
        if triangle is None:
            raise InvariantError("a matrix with eigenvalues of at least a thousandth has a factor")
        triangle = triangle * np.sqrt(np.diagonal(besides))  # raised columns would span another space again
    return MatrixStrategy(name, "gaussian", _rounded(triangle), [1] * len(triangle), "upper")


def _triangle(matrix: Floats) -> Floats | None:
    """Return the upper triangle T with T'T = X, for X with a diagonal of 1; None where X is singular."""
    scale = np.sqrt(np.maximum(np.diagonal(matrix), 1e-300))
    factor, info = linalg.lapack.dpotrf(matrix / scale[:, None] / scale, lower=0)
    return None if info or (np.diagonal(factor) ** 2).min() <= 1e-9 else np.triu(factor)


def _combined(matrix: Floats, basis: Integers) -> Integers | None:
    """Return rows T B with B'T'TB close to X, for a basis B of its range and a rounded regular T; None if too large."""
    bits = BITS + int(np.abs(basis).max()).bit_length() - 1
    inverse = np.linalg.pinv(basis.astype(np.float64))
    inner = inverse.T @ matrix @ inverse
    scale = np.sqrt(np.maximum(np.diagonal(inner), 1e-300))
    factor, info = linalg.lapack.dpotrf(inner / scale[:, None] / scale, lower=0)
    factors = np.rint(np.ldexp(np.triu(factor) * scale, bits))
    if info or not np.diagonal(factors).all():
        return None
    if np.abs(factors).max() * np.abs(basis).max() * len(basis) >= LARGEST_SQUARED:
        return None
    return np.asarray(factors.astype(np.int64) @ basis)


def _rounded(rows: Floats) -> np.typing.NDArray[np.int64]:
    return np.rint(np.ldexp(rows, BITS)).astype(np.int64)


def square_root(cells: int, *, measure: Noise = "gaussian") -> MatrixStrategy:
    """Return the square root factorisation of prefixes: the Toeplitz matrix A with A A = W, rounded to integers.

    Its entries k places below the diagonal are those of (1 - x)^-1/2, binomial(2k, k) / 4**k.

    Example:
        >>> root = strategy.square_root(256)
        >>> root.rmse(strategy.prefixes(256)).__round__(3)
        2.669

    Cites: [HUU23], [FHU23].
    """
    size = whole(cells, "cells", least=1, most=MOST_CELLS)
    check_dense(size)
    places = np.arange(size, dtype=np.float64)
    entries = np.exp(gammaln(2 * places + 1) - 2 * gammaln(places + 1) - 2 * places * math.log(2))
    rows = linalg.toeplitz(entries, np.zeros(size))
    return MatrixStrategy("square root of prefixes", read_measure(measure), _rounded(rows), [1] * size, "lower")


def is_prefixes(workload: Workload) -> bool:
    """Return whether a workload is that of all prefixes."""
    return isinstance(workload, RangeWorkload) and workload.name == "prefixes"
