"""The covariance of cells where several products were measured together: directions that all of them share.

A sum of products of matrices has no inverse that is a product. But where the matrices of each attribute are diagonal in
one basis, as any two are, and any number that commute, the sum is diagonal in the product of these bases.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import linalg

from privet.core.errors import RequestError

from .covariances import CellCovariance, NotMeasured, check_measured
from .workloads import Floats, Integers, ProductWorkload, RangeWorkload, check_held

_RANK = 1e-11
_SAME = 1e-7
"""How far from diagonal a matrix may be in a shared basis, relative to the sum of all, which is the identity."""

_NOTHING = 1e-10


@dataclass(frozen=True, eq=False)
class SharedBasis:
    """A basis in which several symmetric positive matrices are diagonal: `vectors` V, with V'GV = diag(`values[k]`).

    `missing` spans what every one of the matrices maps to 0.
    """

    vectors: Floats
    values: Floats
    missing: Floats | None


def shared_basis(matrices: Sequence[Floats]) -> SharedBasis | None:
    """Return the basis in which all of some symmetric positive matrices are diagonal, or None if there is none.

    With the sum of all scaled to the identity, two matrices G and I - G always share their eigenvectors; more do if
    those of one mixture diagonalise each.
    """
    scaled = [matrix / max(float(np.trace(matrix)), 1e-300) for matrix in matrices]
    values, vectors = np.linalg.eigh(sum(scaled))
    kept = values > _RANK * values[-1]
    white = vectors[:, kept] / np.sqrt(values[kept])
    mixture = sum((0.3 + 0.618034 * place) % 1 * matrix for place, matrix in enumerate(scaled))
    _, turned = linalg.eigh(white.T @ np.asarray(mixture) @ white)
    basis = white @ turned
    rows = []
    for matrix, normed in zip(matrices, scaled, strict=True):
        image = basis.T @ normed @ basis
        diagonal = np.diagonal(image).copy()
        if np.abs(image - np.diag(diagonal)).max() > _SAME:
            return None
        rows.append(np.where(diagonal > _NOTHING, diagonal, 0.0) * max(float(np.trace(matrix)), 1e-300))
    return SharedBasis(basis, np.array(rows), None if kept.all() else vectors[:, ~kept])


def spread(vectors: Sequence[Floats]) -> Floats:
    """Return the table of all products of one number from each vector."""
    table: Floats = np.ones(())
    for vector in vectors:
        table = np.multiply.outer(table, vector)
    return table


def turned_along(table: Floats, matrices: Sequence[Floats], first: int = 0) -> Floats:
    """Return a table with a matrix applied along each of its axes from `first` on."""
    for place, matrix in enumerate(matrices):
        axis = place + first
        table = np.moveaxis(np.tensordot(matrix, table, axes=(1, axis)), 0, axis)
    return table


@dataclass(frozen=True, eq=False)
class JointCovariance(CellCovariance):
    """The covariance V diag(`values`) V', V a product of bases, where `unmeasured` marks directions without a value."""

    bases: tuple[SharedBasis, ...]
    values: Floats
    unmeasured: Floats | None = None

    @property
    def shape(self) -> tuple[int, ...]:  # type: ignore[override]  # read only
        return tuple(len(basis.vectors) for basis in self.bases)

    def of_product(self, workload: ProductWorkload) -> Floats:
        self.check_shape(workload)
        self._check_missing(workload)
        squares = []
        for basis, factor in zip(self.bases, workload.factors, strict=True):
            check_held(factor.queries * basis.vectors.shape[1], "the matrix of one factor of this workload")
            squares.append(np.stack([factor.answers(column) for column in basis.vectors.T], axis=1) ** 2)
        if self.unmeasured is not None:
            self._check(turned_along(self.unmeasured, squares))
        return turned_along(self.values, squares).ravel()

    def total_of_product(self, workload: ProductWorkload) -> float:
        self.check_shape(workload)
        self._check_missing(workload)
        traces = directions_of(self.bases, workload)
        if self.unmeasured is not None:
            self._check(turned_along(self.unmeasured, [trace[None] for trace in traces]))
        return float(turned_along(self.values, [trace[None] for trace in traces]).sum())

    def of_rows(self, rows: Floats) -> Floats:
        table = rows.reshape(len(rows), *self.shape)
        size = np.abs(rows).max(initial=0.0)
        for axis, basis in enumerate(self.bases):
            if basis.missing is not None:
                hits = np.tensordot(table, basis.missing, axes=(axis + 1, 0))
                self._check(np.abs(hits) / max(size, 1e-300))
        squares = turned_along(table, [basis.vectors.T for basis in self.bases], 1) ** 2
        if self.unmeasured is not None:
            self._check((squares * self.unmeasured).reshape(len(rows), -1).sum(axis=1))
        return np.asarray((squares * self.values).reshape(len(rows), -1).sum(axis=1))

    def of_ranges(self, lows: Integers, highs: Integers) -> Floats:
        self._check_single()
        return self.of_product(ProductWorkload((RangeWorkload("ranges", self.cells, lows, highs),)))

    def against(self, workload: RangeWorkload) -> float:
        self._check_single()
        return self.total_of_product(ProductWorkload((workload,)))

    def with_total(self) -> Floats:
        ones = spread([basis.vectors.sum(axis=0) for basis in self.bases])
        return turned_along(self.values * ones, [basis.vectors for basis in self.bases])

    def scaled(self, factor: float) -> JointCovariance:
        return JointCovariance(self.bases, self.values * factor, self.unmeasured)

    def _check_single(self) -> None:
        if len(self.bases) > 1:
            raise RequestError("ranges are over one attribute; use product(...) with a workload per attribute")

    def _check_missing(self, workload: ProductWorkload) -> None:
        for basis, factor in zip(self.bases, workload.factors, strict=True):
            if basis.missing is not None:
                check_measured(factor, basis.missing @ basis.missing.T, "a query over several attributes")

    def _check(self, hits: Floats) -> None:
        if np.abs(hits).max(initial=0.0) > math.sqrt(_NOTHING):
            raise NotMeasured("a query over several attributes")


def directions_of(bases: Sequence[SharedBasis], workload: ProductWorkload) -> list[Floats]:
    """Return the diagonal of V'W'WV for each attribute: how much of the workload each direction carries."""
    pairs = zip(bases, workload.factors, strict=True)
    return [np.einsum("ij,ij->j", basis.vectors, factor._gram_times(basis.vectors)) for basis, factor in pairs]
