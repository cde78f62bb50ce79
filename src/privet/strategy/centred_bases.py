"""Bases of what varies along one attribute, for residuals: integer rows that sum to 0, the best ones for a workload.

With W the workload along an attribute of n values, minimise tr(W X^+ W') over X = B'B with X 1 = 0 and a diagonal of at
most 1. That is the program of `gaussian_program` for W P, P centring: its solution has the row space of W P. The factor
of X is taken in differences of neighbours, B = T D with rows e_j - e_(j + 1) in D: so T is rounded, and B 1 = 0 stays
exact.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from scipy import linalg

from privet.core.errors import RequestError

from .gaussian_program import BITS, gram_guess, solve_gaussian
from .integer_products import plain_array
from .strategies import MatrixStrategy
from .workloads import Floats, RangeWorkload, Workload, check_dense

_STEPS = 200
_FEW_STEPS = 5
_MAX_CELLS = 2048
_TOLERANCE = 1e-6
_LOOSE = 1e-4
"""How near to the optimum more than `_SMALL` values are: rounding loses more."""

_SMALL, _MIDDLING = 256, 512
_SHORT, _SHORTEST = 12, 10
"""The binary digits of rows over more than `_SMALL`, and over more than `_MIDDLING`, values.

Machines differ in the last digits of a factor: by 1e-9 over 1,024 values, where it has half a million entries. Of 16
binary digits some differ then nearly always, and with them the digest: another machine would charge for a plan again.
"""

_EVEN = 1e-3
"""The share of single values in a basis whose workload alone would leave something unmeasured."""

_LEAST_PIVOT = 1e-9
_EXACT = 2**52


@dataclass(frozen=True, eq=False, repr=False)
class CentredBasis(MatrixStrategy):
    """Integer rows over one attribute that sum to 0 and determine all that varies along it: n - 1 rows of n values.

    Example:
        >>> planned = strategy.plan_residuals(strategy.marginals((3,), [(0,)], factors={0: strategy.all_ranges(3)}))
        >>> planned.bases[0].matrix.sum(axis=1).tolist()
        [0, 0]

    Guarantee: every row sums to exactly 0, so that a residual along this attribute contains nothing of the totals.
    `largest` is the largest squared norm of a column, and `least_product` at most the least product of two columns.
    Cites: [HXTDZK26].
    """

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.measure != "gaussian" or set(self.weights) != {1}:
            raise RequestError("a basis of residuals is for Gaussian noise, and each of its rows has a weight of 1")
        if self.rows != self.cells - 1 or plain_array(self.matrix).sum(axis=1).any():
            raise RequestError("a basis of residuals has a row less than there are values, and each row sums to 0")
        if not np.isfinite(self.inverse).all() or not self._inverts():
            raise RequestError(
                "the rows of this basis leave something unmeasured; each must add something to the others"
            )

    @property
    def largest(self) -> int:
        """The largest squared norm of a column."""
        return self._column_norm

    @cached_property
    def least_product(self) -> int:
        """The least product of two columns, or less: minus the largest squared norm, by Cauchy and Schwarz."""
        if self.largest >= _EXACT:
            return -self.largest
        columns = self._floats  # sums of products of integers whose absolute values add up to less than 2**52 are exact
        return int((columns.T @ columns).min())

    @cached_property
    def inverse(self) -> Floats:
        """The pseudo-inverse of the matrix: it returns centred values."""
        sums = np.cumsum(plain_array(self.matrix), axis=1)[:, :-1].astype(np.float64)
        try:
            solved = np.linalg.inv(sums)
        except np.linalg.LinAlgError:
            return np.full((self.cells, self.rows), np.nan)
        inverse = np.zeros((self.cells, self.rows))
        inverse[:-1] = np.cumsum(solved[::-1], axis=0)[::-1]
        inverse -= inverse.mean(axis=0)
        return inverse

    @cached_property
    def inner(self) -> Floats:
        """The covariance of centred values where each row has a variance of 1: the pseudo-inverse of B'B."""
        return np.asarray(self.inverse @ self.inverse.T)

    def _inverts(self) -> bool:
        return bool(np.abs(self._floats @ self.inverse - np.eye(self.rows)).max() < 1e-6)


def centred_basis(workload: Workload) -> CentredBasis:
    """Return the best basis of what varies along one attribute, for a workload over it and Gaussian noise."""
    if isinstance(workload, RangeWorkload) and workload.name in ("all ranges", "prefixes"):
        return _named_basis(type(workload), workload.name, workload.size)
    return _basis(workload)


@lru_cache(maxsize=32)
def _named_basis(kind: type[RangeWorkload], name: str, size: int) -> CentredBasis:
    from .workloads import all_ranges, prefixes

    return _basis(all_ranges(size) if name == "all ranges" else prefixes(size))


@lru_cache(maxsize=16)
def _basis(workload: Workload) -> CentredBasis:
    n = workload.cells
    check_dense(n)
    steps = _STEPS if n <= _MAX_CELLS else _FEW_STEPS
    start = gram_guess(workload, _centred_gram)
    close = _TOLERANCE if n <= _SMALL else _LOOSE
    gram = solve_gaussian(_centred_gram(workload), iterations=steps, tolerance=close, start=start).matrix
    factor = _factor(gram)
    if factor is None:
        even = (np.eye(n) - 1 / n) * (n / (n - 1))
        factor = _factor((1 - _EVEN) * gram + _EVEN * even)
    if factor is None:
        raise RequestError("this workload has queries that are too unlike in size for a basis; scale them alike")
    bits = BITS if n <= _SMALL else _SHORT if n <= _MIDDLING else _SHORTEST
    sums = np.rint(np.ldexp(factor, bits)).astype(np.int64)
    matrix = np.diff(sums, axis=1, prepend=0, append=0)
    return CentredBasis(f"residuals of {_named(workload)}", "gaussian", matrix, [1] * (n - 1))


def _named(workload: Workload) -> str:
    return workload.name if isinstance(workload, RangeWorkload) else "queries"


def _centred_gram(workload: Workload) -> Floats:
    """Return P W'W P, or P where a workload asks for totals only."""
    gram = workload.gram()
    centred_gram = gram - gram.mean(axis=0)
    centred_gram -= centred_gram.mean(axis=1, keepdims=True)
    centred_gram = (centred_gram + centred_gram.T) / 2
    if np.abs(centred_gram).max() > 1e-9 * np.abs(gram).max(initial=0.0):
        return np.asarray(centred_gram / np.abs(centred_gram).max())
    return np.eye(len(gram)) - 1 / len(gram)


def _factor(matrix: Floats) -> Floats | None:
    """Return the upper triangle T with T'T = E'XE, for X = D'T'TD and E the sums that undo differences D."""
    sums = np.cumsum(np.cumsum(matrix, axis=0), axis=1)[:-1, :-1]
    scale = np.sqrt(np.maximum(np.diagonal(sums), 1e-300))
    factor, info = linalg.lapack.dpotrf(sums / scale[:, None] / scale, lower=0)
    if info or (np.diagonal(factor) ** 2).min() < _LEAST_PIVOT:
        return None
    triangle = np.triu(factor) * scale
    return np.asarray(triangle) if math.isfinite(float(np.abs(triangle).max())) else None
