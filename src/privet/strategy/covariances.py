"""Covariances of estimated cells, as their structure allows: dense, a product, or one number per subspace."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations

import numpy as np

from privet.core.errors import RequestError

from .workloads import (
    Axes,
    Floats,
    Integers,
    MarginalWorkload,
    ProductWorkload,
    RangeWorkload,
    Workload,
    check_dense,
    check_held,
    kronecker,
)

_NOTHING = 1e-9
"""Relative size below which a product with an unmeasured direction counts as rounding."""


Span = tuple[int, int]
"""The first and the last of some neighbouring places."""


class NotMeasured(RequestError):
    """A query cannot be computed from what a strategy measures."""

    code = "request.not_measured"

    def __init__(self, query: str) -> None:
        self.query = query
        super().__init__(
            f"{query} cannot be computed from what the strategy measures: some of it is never measured; choose a "
            f"strategy for a workload that contains it, or measure single cells as well"
        )


class CellCovariance(ABC):
    """The covariance of one estimate per cell; it answers for the variance of linear combinations of them.

    Example:
        >>> found = strategy.identity_strategy(4, measure="gaussian").unit_covariance()
        >>> strategy.prefixes(4).variances(found).tolist()
        [1.0, 2.0, 3.0, 4.0]
    """

    shape: tuple[int, ...]

    @property
    def cells(self) -> int:
        """The number of cells."""
        return math.prod(self.shape)

    @abstractmethod
    def of_ranges(self, lows: Integers, highs: Integers) -> Floats:
        """Return the variance of each range of consecutive cells."""

    @abstractmethod
    def of_rows(self, rows: Floats) -> Floats:
        """Return the variance of each linear combination, one row each."""

    @abstractmethod
    def against(self, workload: RangeWorkload) -> float:
        """Return the trace of W'W times this covariance."""

    @abstractmethod
    def of_product(self, workload: ProductWorkload) -> Floats:
        """Return the variance of each query of a product."""

    def total_of_product(self, workload: ProductWorkload) -> float:
        """Return the weighted sum of the variances of the queries of a product."""
        return float(self.of_product(workload).sum())

    def of_marginals(self, workload: MarginalWorkload) -> Floats:
        """Return the variance of each cell of each marginal."""
        return np.concatenate([self.of_product(product) for product in workload.products])

    def total_of_marginals(self, workload: MarginalWorkload) -> float:
        """Return the weighted sum of the variances of the cells of marginals."""
        pairs = zip(workload.products, workload.weights, strict=True)
        return math.fsum(weight * self.total_of_product(product) for product, weight in pairs)

    @abstractmethod
    def with_total(self) -> Floats:
        """Return the covariance of each cell with the sum of all cells."""

    @abstractmethod
    def scaled(self, factor: float) -> CellCovariance:
        """Return the covariance times a number."""

    def check_shape(self, workload: Workload) -> None:
        """Refuse a workload over another domain."""
        if workload.shape != self.shape:
            raise RequestError(f"the workload is over a domain of shape {workload.shape}, the strategy of {self.shape}")


@dataclass(frozen=True, eq=False)
class DenseCovariance(CellCovariance):
    """A covariance as a matrix of cells x cells; `unmeasured` spans directions that no measurement determines."""

    shape: tuple[int, ...]
    matrix: Floats
    unmeasured: Floats | None = None
    factor: float = 1.0

    @cached_property
    def _prefixes(self) -> Floats:
        sums = np.zeros((self.cells + 1, self.cells + 1))
        np.cumsum(self.matrix, axis=0, out=sums[1:, 1:])
        np.cumsum(sums, axis=1, out=sums)
        return sums

    def of_ranges(self, lows: Integers, highs: Integers) -> Floats:
        if self.unmeasured is not None:
            check_measured(RangeWorkload("ranges", self.cells, lows, highs), self._lost, "a range")
        sums, diagonal = self._prefixes, np.diagonal(self._prefixes)
        variances = diagonal[highs + 1] + diagonal[lows]
        variances -= 2 * sums[lows, highs + 1]
        return np.asarray(np.maximum(variances, 0.0) * self.factor)

    def of_rows(self, rows: Floats) -> Floats:
        if self.unmeasured is not None:
            hits = rows @ self.unmeasured / np.maximum(np.abs(rows).max(axis=1, keepdims=True), 1e-300)
            if np.abs(hits).max(initial=0.0) > math.sqrt(_NOTHING):
                raise NotMeasured("a query")
        return np.asarray(np.maximum(np.einsum("ij,ij->i", rows @ self.matrix, rows), 0.0) * self.factor)

    def against(self, workload: RangeWorkload) -> float:
        if self.unmeasured is not None:
            check_measured(workload, self._lost, "a range")
        return float(np.vdot(workload.gram(), self.matrix)) * self.factor

    def of_product(self, workload: ProductWorkload) -> Floats:
        self.check_shape(workload)
        return workload.factors[0].variances(self) if len(self.shape) == 1 else self.of_rows(workload.rows())

    def total_of_product(self, workload: ProductWorkload) -> float:
        self.check_shape(workload)
        if len(self.shape) == 1:
            return workload.factors[0].total_variance(self)
        if self.unmeasured is not None:
            return float(self.of_product(workload).sum())
        return float(np.vdot(workload.gram(), self.matrix)) * self.factor

    def with_total(self) -> Floats:
        return np.asarray(self.matrix.sum(axis=1) * self.factor).reshape(self.shape)

    def scaled(self, factor: float) -> DenseCovariance:
        return DenseCovariance(self.shape, self.matrix, self.unmeasured, self.factor * factor)

    @cached_property
    def _lost(self) -> Floats:
        """The projection onto what no measurement determines."""
        if self.unmeasured is None:
            return np.zeros((self.cells, self.cells))
        return np.asarray(self.unmeasured @ self.unmeasured.T)


def check_measured(workload: Workload, lost: Floats, what: str) -> None:
    """Refuse a workload over one attribute if any of its queries has an unmeasured part.

    `lost` is the projection onto that: a query's variance under it is the squared length of this part. Each query is
    compared separately, as one among a million that are measured would vanish in a mean.
    """
    kept = DenseCovariance((len(lost),), np.eye(len(lost)))
    parts = workload.variances(DenseCovariance((len(lost),), lost))
    if (parts > _NOTHING * workload.variances(kept)).any():
        raise NotMeasured(what)


@dataclass(frozen=True, eq=False)
class ProductCovariance(CellCovariance):
    """The Kronecker product of a covariance per attribute."""

    factors: tuple[DenseCovariance, ...]

    @property
    def shape(self) -> tuple[int, ...]:  # type: ignore[override]  # read only
        return tuple(factor.cells for factor in self.factors)

    def of_ranges(self, lows: Integers, highs: Integers) -> Floats:
        return self._only().of_ranges(lows, highs)

    def against(self, workload: RangeWorkload) -> float:
        return self._only().against(workload)

    def _only(self) -> DenseCovariance:
        if len(self.factors) > 1:
            raise RequestError("ranges are over one attribute; use product(...) with a workload per attribute")
        return self.factors[0]

    def of_rows(self, rows: Floats) -> Floats:
        if any(factor.unmeasured is not None for factor in self.factors):
            check_dense(self.cells)
            raise NotMeasured("an explicit query over several attributes")
        right = rows.reshape(len(rows), *self.shape)
        for axis, factor in enumerate(self.factors):
            right = np.moveaxis(np.tensordot(right, factor.matrix, axes=(axis + 1, 0)), -1, axis + 1) * factor.factor
        return np.asarray(np.maximum(np.einsum("ij,ij->i", rows, right.reshape(rows.shape)), 0.0))

    def of_product(self, workload: ProductWorkload) -> Floats:
        self.check_shape(workload)
        variances = np.ones(1)
        for factor, covariance in zip(workload.factors, self.factors, strict=True):
            variances = np.outer(variances, factor.variances(covariance)).ravel()
        return variances

    def total_of_product(self, workload: ProductWorkload) -> float:
        self.check_shape(workload)
        pairs = zip(workload.factors, self.factors, strict=True)
        return math.prod(factor.total_variance(covariance) for factor, covariance in pairs)

    def with_total(self) -> Floats:
        sums: Floats = np.ones(())
        for factor in self.factors:
            sums = np.multiply.outer(sums, factor.with_total())
        return sums

    def scaled(self, factor: float) -> ProductCovariance:
        return ProductCovariance((self.factors[0].scaled(factor), *self.factors[1:]))


def subsets_of(axes: Axes) -> Iterator[Axes]:
    """Yield every subset of some attributes, the empty one first."""
    for many in range(len(axes) + 1):
        yield from combinations(axes, many)


@dataclass(frozen=True, eq=False)
class SubspaceCovariance(CellCovariance):
    """A sum of projections: `values[A]` times that onto tables that vary in the attributes A and sum to 0 along each.

    With J = 11'/n and P = I - J for an attribute of n values, the projection for A is the product of P over A and of J
    over all others; these are orthogonal and add up to the identity. Sets that are left out are not measured. Along the
    attributes in `bases` a matrix with sums of 0 stands for P: the covariance that a basis has there.
    """

    shape: tuple[int, ...]
    values: Mapping[Axes, float]
    bases: Mapping[int, Floats] = field(default_factory=dict)

    def marginal_variance(self, axes: Axes) -> float:
        """Return the variance of one cell of a marginal without bases: all of its cells have the same."""
        variance = 0.0
        rest = math.prod(size for axis, size in enumerate(self.shape) if axis not in axes)
        for inner in subsets_of(axes):
            if inner not in self.values:
                if any(self.shape[axis] == 1 for axis in inner):
                    continue  # nothing varies along an attribute of one value
                raise NotMeasured(f"the marginal on attributes {axes}")
            share = 1.0
            for axis in axes:
                share *= 1 - 1 / self.shape[axis] if axis in inner else 1 / self.shape[axis]
            variance += self.values[inner] * share
        return variance * rest

    def between(self, one: Mapping[int, Span], other: Mapping[int, Span]) -> float:
        """Return the covariance of two counts, each of the rows that lie in some spans: places, by their attributes.

        With a and b the marks of both spans along an attribute that both have, the projection for A takes the product
        of a'Pb over A, or of a'Mb with its basis, and of all other attributes that of n times |a|/n and |b|/n for
        each of the two that has it.
        """
        given = [{axis: span for axis, span in each.items() if self.shape[axis] > 1} for each in (one, other)]
        for each in given:
            if any(inner not in self.values for inner in subsets_of(tuple(sorted(each)))):
                raise NotMeasured(f"the marginal on attributes {tuple(sorted(each))}")
        first, second = given
        covariance = 0.0
        for inner in subsets_of(tuple(sorted(first.keys() & second.keys()))):
            term = self.values[inner]
            for axis, size in enumerate(self.shape):
                if axis in inner:
                    term *= self._varied_between(axis, first[axis], second[axis])
                else:
                    lengths = (_length(each[axis]) for each in (first, second) if axis in each)
                    term *= size * math.prod(many / size for many in lengths)
            covariance += term
        return covariance

    def _varied_between(self, axis: int, one: Span, other: Span) -> float:
        if axis in self.bases:
            return float(self.bases[axis][one[0] : one[1] + 1, other[0] : other[1] + 1].sum())
        shared = max(0, min(one[1], other[1]) - max(one[0], other[0]) + 1)
        return shared - _length(one) * _length(other) / self.shape[axis]

    def of_marginals(self, workload: MarginalWorkload) -> Floats:
        self.check_shape(workload)
        check_held(workload.queries, "the list of answers")
        return np.concatenate([self._of_marginal(workload, axes) for axes in workload.subsets])

    def _of_marginal(self, workload: MarginalWorkload, axes: Axes) -> Floats:
        """Return the variance of each query of one table."""
        if workload._is_plain(axes) and not any(axis in self.bases for axis in axes):
            return np.full(workload._cells_of(axes), self.marginal_variance(axes))
        parts = {axis: self._variances_along(axis, workload._factor(axis)) for axis in axes}
        variances = np.zeros(workload._queries_of(axes))
        for value, inner in self._terms(axes):
            term = np.full(1, value)
            for axis in axes:
                term = np.outer(term, parts[axis][axis in inner]).ravel()
            variances += term
        return variances

    def _terms(self, axes: Axes) -> Iterator[tuple[float, Axes]]:
        """Yield what each part of a marginal adds to its covariance, besides the product of its attributes' own."""
        rest = math.prod(size for axis, size in enumerate(self.shape) if axis not in axes)
        for inner in subsets_of(axes):
            if inner not in self.values:
                if any(self.shape[axis] == 1 for axis in inner):
                    continue
                raise NotMeasured(f"the marginal on attributes {axes}")
            yield self.values[inner] * rest, inner

    def _variances_along(self, axis: int, factor: Workload | None) -> tuple[Floats, Floats]:
        """Return the variance of each query along one attribute, on J and on the varied part in its place."""
        size = self.shape[axis]
        if factor is None:
            return np.full(size, 1 / size), np.diagonal(self._varied(axis)).copy()
        flat = np.full((size, size), 1 / size)
        on_flat, on_varied = (factor.variances(DenseCovariance((size,), part)) for part in (flat, self._varied(axis)))
        return on_flat, on_varied

    def _varied(self, axis: int) -> Floats:
        """Return the covariance along an attribute of what sums to 0 there: P, or that of its basis."""
        size = self.shape[axis]
        return self.bases[axis] if axis in self.bases else np.eye(size) - 1 / size

    def total_of_marginals(self, workload: MarginalWorkload) -> float:
        self.check_shape(workload)
        pairs = zip(workload.subsets, workload.weights, strict=True)
        return math.fsum(weight * self._total_of_marginal(workload, axes) for axes, weight in pairs)

    def _total_of_marginal(self, workload: MarginalWorkload, axes: Axes) -> float:
        if workload._is_plain(axes) and not any(axis in self.bases for axis in axes):
            return workload._cells_of(axes) * self.marginal_variance(axes)
        parts = {axis: self._totals_along(axis, workload._factor(axis)) for axis in axes}
        return math.fsum(
            value * math.prod(parts[axis][axis in inner] for axis in axes) for value, inner in self._terms(axes)
        )

    def _totals_along(self, axis: int, factor: Workload | None) -> tuple[float, float]:
        size = self.shape[axis]
        if factor is None:
            return 1.0, float(np.trace(self.bases[axis])) if axis in self.bases else size - 1.0
        flat = np.full((size, size), 1 / size)
        on_flat, on_varied = (
            factor.total_variance(DenseCovariance((size,), part)) for part in (flat, self._varied(axis))
        )
        return on_flat, on_varied

    def of_product(self, workload: ProductWorkload) -> Floats:
        self.check_shape(workload)
        parts = []
        for axis, factor in enumerate(workload.factors):
            parts.append(self._variances_along(axis, factor))
        variances, missing = np.zeros(workload.queries), []
        for axes in subsets_of(tuple(range(len(self.shape)))):
            if axes in self.values:
                variances += self.values[axes] * _products(parts, axes)
            else:
                missing.append(axes)
        if missing:
            self._check_missing(workload, missing)
        return variances

    def _check_missing(self, workload: ProductWorkload, missing: list[Axes]) -> None:
        """Refuse a product if one of its queries has a part in a subspace that is not measured.

        The parts of a query are squared lengths, in units of single cells whatever the bases are, and add up to its
        own: each is compared with that.
        """
        plain = replace(self, bases={})
        parts = [plain._variances_along(axis, factor) for axis, factor in enumerate(workload.factors)]
        squares = _products([(flat + varied, varied) for flat, varied in parts], ())
        if any((_products(parts, axes) > _NOTHING * squares).any() for axes in missing):
            raise NotMeasured("a query of the product")

    def of_ranges(self, lows: Integers, highs: Integers) -> Floats:
        return self.dense().of_ranges(lows, highs)

    def of_rows(self, rows: Floats) -> Floats:
        return self.dense().of_rows(rows)

    def against(self, workload: RangeWorkload) -> float:
        return self.dense().against(workload)

    def dense(self) -> DenseCovariance:
        """Return the covariance as a matrix, for small domains."""
        check_dense(self.cells)
        matrix, missing = np.zeros((self.cells, self.cells)), np.zeros((self.cells, self.cells))
        for axes in subsets_of(tuple(range(len(self.shape)))):
            flats = [np.full((size, size), 1 / size) for size in self.shape]
            term = kronecker(self._varied(axis) if axis in axes else flat for axis, flat in enumerate(flats))
            if axes in self.values:
                matrix += self.values[axes] * term
            else:
                missing += term
        return DenseCovariance(self.shape, matrix, missing if missing.any() else None)

    def with_total(self) -> Floats:
        check_held(self.cells)
        return np.full(self.shape, self.values[()])

    def scaled(self, factor: float) -> SubspaceCovariance:
        return replace(self, values={axes: value * factor for axes, value in self.values.items()})


def _products(parts: list[tuple[Floats, Floats]], axes: Axes) -> Floats:
    """Return for every query of a product its number: the second of each attribute in `axes`, the first of others."""
    numbers = np.ones(1)
    for axis, (flat, varied) in enumerate(parts):
        numbers = np.outer(numbers, varied if axis in axes else flat).ravel()
    return numbers


def _length(span: Span) -> int:
    return span[1] - span[0] + 1
