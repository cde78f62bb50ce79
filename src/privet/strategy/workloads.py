"""Workloads: the counting questions that are to be answered together, as small values over a finite domain.

A workload is public. It never reads data, and nothing of the size queries x cells is made where its structure allows.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from privet.core.errors import BadParameter, RequestError
from privet.core.given import instance, is_a, listed, plain_text, set_fields, truth, unwrapped
from privet.core.numbers import Number, nonnegative, rational, whole

from .given_numbers import read_numbers, read_places

if TYPE_CHECKING:
    from .covariances import CellCovariance

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

MOST_CELLS = 2**25
"""The most cells of a domain, and the most answers at once: 256 MiB of doubles."""

MOST_DENSE = 8192
"""The most cells of one attribute for which a matrix of cells x cells is made: 512 MiB of doubles."""


MOST_ATTRIBUTES = 1000
"""The most attributes of a domain."""

LARGEST_DOMAIN = 2**1000
"""The most cells of a domain of which marginals are asked for: their number is a double."""

LARGEST_SIZE = 2**31
"""The most values of one attribute."""


def read_shape(shape: object, parameter: str = "shape") -> tuple[int, ...]:
    """Return the sizes of a domain's attributes; refuse empty domains."""
    sizes = tuple(
        whole(size, parameter, least=1, most=LARGEST_SIZE)
        for size in listed(unwrapped(shape), parameter, "a list of sizes", most=MOST_ATTRIBUTES)
    )
    if not sizes:
        raise BadParameter(parameter, shape, "at least one attribute with at least one value")
    if math.prod(sizes) > LARGEST_DOMAIN:
        raise BadParameter(parameter, shape, "sizes of a domain of at most 2**1000 cells")
    return sizes


def check_held(cells: int, what: str = "the domain") -> None:
    """Refuse more numbers than can be held, with the size and what to do instead."""
    if cells > MOST_CELLS:
        raise RequestError(
            f"{what} has {cells:,} cells, and at most {MOST_CELLS:,} can be held; use marginals of a few attributes, "
            f"group values into wider bins, or leave out an attribute"
        )


def check_dense(cells: int) -> None:
    """Refuse a matrix of cells x cells that cannot be held."""
    if cells > MOST_DENSE:
        raise RequestError(
            f"one attribute has {cells:,} values, and covariances of at most {MOST_DENSE:,} cells are held; group "
            f"values into wider bins, or split the attribute into a product of two"
        )


class Workload(ABC):
    """Linear counting queries over the cells of a finite domain, each with a weight for its squared error.

    Example:
        >>> strategy.prefixes(4).answers([1, 2, 3, 4]).tolist()
        [1.0, 3.0, 6.0, 10.0]
    """

    shape: tuple[int, ...]

    @property
    def cells(self) -> int:
        """The number of cells of the domain."""
        return math.prod(self.shape)

    @property
    @abstractmethod
    def queries(self) -> int:
        """The number of queries."""

    @property
    def mass(self) -> float:
        """The sum of the weights of all queries: their number where none is weighted."""
        return float(self.queries)

    @abstractmethod
    def gram(self) -> Floats:
        """Return W'W, each query by its weight: a matrix of cells x cells."""

    def _gram_times(self, columns: Floats) -> Floats:
        """Return W'W times a matrix with a row per cell, in linear time where the structure allows."""
        return self.gram() @ columns

    @abstractmethod
    def answers(self, counts: Any) -> Floats:
        """Return the answer of every query on one number per cell."""

    def variances(self, covariance: CellCovariance) -> Floats:
        """Return the variance of every answer, where cells are estimated with this covariance."""
        check_held(self.queries, "the list of answers")
        return self._variances(self._fitting(covariance))

    @abstractmethod
    def _variances(self, covariance: CellCovariance) -> Floats: ...

    def total_variance(self, covariance: CellCovariance) -> float:
        """Return the weighted sum of the variances of all answers."""
        return self._total_variance(self._fitting(covariance))

    @abstractmethod
    def _total_variance(self, covariance: CellCovariance) -> float: ...

    def _fitting(self, covariance: CellCovariance) -> CellCovariance:
        """Return a covariance over this domain; refuse anything else."""
        from .covariances import CellCovariance

        instance(covariance, CellCovariance, "covariance", "a covariance of cells, such as that of a strategy")
        if covariance.shape != self.shape:
            raise RequestError(
                f"the workload is over a domain of shape {self.shape}, the covariance over one of {covariance.shape}"
            )
        return covariance

    def rmse(self, covariance: CellCovariance) -> float:
        """Return the root of the (weighted) mean variance of an answer."""
        return math.sqrt(self.total_variance(covariance) / self.mass)

    def rows(self) -> Floats:
        """Return the queries as a matrix: for small workloads only."""
        check_held(self.queries * self.cells, "the matrix of this workload")
        return np.array([self.answers(unit) for unit in np.eye(self.cells)]).T.reshape(self.queries, self.cells)

    def _read(self, counts: Any) -> Floats:
        check_held(self.cells)
        return read_numbers(counts, "counts", self.cells).reshape(self.shape)


@dataclass(frozen=True, eq=False)
class RangeWorkload(Workload):
    """Counts of ranges of consecutive cells, from `lows[q]` to `highs[q]`, both included.

    Example:
        >>> strategy.ranges(5, [(0, 1), (2, 4)]).answers([1, 2, 3, 4, 5]).tolist()
        [3.0, 12.0]
    """

    name: str
    size: int
    lows: Integers
    highs: Integers

    def __post_init__(self) -> None:
        name, size = plain_text(self.name, "name"), whole(self.size, "size", least=1, most=MOST_CELLS)
        lows, highs = read_places(self.lows, "lows"), read_places(self.highs, "highs")
        if lows.ndim != 1 or lows.shape != highs.shape or not lows.size:
            raise RequestError("a workload of ranges needs at least one pair (low, high)")
        if (lows < 0).any() or (highs >= size).any() or (lows > highs).any():
            raise RequestError(f"ranges over a size of {size:,} cells are pairs 0 <= low <= high <= {size - 1}")
        for ends in (lows, highs):
            ends.setflags(write=False)
        set_fields(self, name=name, size=size, lows=lows, highs=highs)

    @property
    def shape(self) -> tuple[int, ...]:  # type: ignore[override]  # read only
        return (self.size,)

    @property
    def queries(self) -> int:
        return int(self.lows.size)

    def gram(self) -> Floats:
        """Return how many queries contain both of two cells: a sum over rectangles, by differences."""
        check_dense(self.size)
        ends = np.zeros((self.size + 1, self.size + 1))
        for first, second, sign in (
            (self.lows, self.lows, 1.0),
            (self.lows, self.highs + 1, -1.0),
            (self.highs + 1, self.lows, -1.0),
            (self.highs + 1, self.highs + 1, 1.0),
        ):
            ends += sign * np.bincount(first * (self.size + 1) + second, minlength=ends.size).reshape(ends.shape)
        np.cumsum(ends, axis=0, out=ends)
        np.cumsum(ends, axis=1, out=ends)
        return ends[: self.size, : self.size]

    def _gram_times(self, columns: Floats) -> Floats:
        """Return W'W times columns, in time linear in queries and cells."""
        sums = np.zeros((self.size + 1, *columns.shape[1:]))
        np.cumsum(columns, axis=0, out=sums[1:])
        answers = sums[self.highs + 1] - sums[self.lows]
        ends = np.zeros_like(sums)
        np.add.at(ends, self.lows, answers)
        np.subtract.at(ends, self.highs + 1, answers)
        return np.asarray(np.cumsum(ends, axis=0)[: self.size])

    def answers(self, counts: Any) -> Floats:
        sums = np.zeros(self.size + 1)
        np.cumsum(self._read(counts), out=sums[1:])
        return np.asarray(sums[self.highs + 1] - sums[self.lows])

    def _variances(self, covariance: CellCovariance) -> Floats:
        return covariance.of_ranges(self.lows, self.highs)

    def _total_variance(self, covariance: CellCovariance) -> float:
        return covariance.against(self)

    def __repr__(self) -> str:
        return f"{self.name}({self.size})"


class _AllRanges(RangeWorkload):
    def gram(self) -> Floats:
        """Return (min(i, j) + 1) (n - max(i, j)): the choices of an end on each side of two cells."""
        check_dense(self.size)
        places = np.arange(self.size, dtype=np.float64)
        gram = np.minimum.outer(places + 1, places + 1)
        gram *= np.minimum.outer(self.size - places, self.size - places)
        return gram

    def _gram_times(self, columns: Floats) -> Floats:
        before = np.arange(1.0, self.size + 1).reshape(-1, *[1] * (columns.ndim - 1))
        after = self.size + 1 - before
        low, high = np.cumsum(before * columns, axis=0), np.cumsum((after * columns)[::-1], axis=0)[::-1]
        return np.asarray(after * low + before * (high - after * columns))


class _Prefixes(RangeWorkload):
    def gram(self) -> Floats:
        """Return n - max(i, j)."""
        check_dense(self.size)
        left = self.size - np.arange(self.size, dtype=np.float64)
        return np.minimum.outer(left, left)

    def _gram_times(self, columns: Floats) -> Floats:
        return np.asarray(np.cumsum(np.cumsum(columns, axis=0)[::-1], axis=0)[::-1])


class _Windows(RangeWorkload):
    def gram(self) -> Floats:
        """Return the number of windows over both of two cells."""
        check_dense(self.size)
        width = int(self.highs[0] - self.lows[0]) + 1
        places = np.arange(self.size)
        first = np.maximum.outer(places, places) - width + 1
        last = np.minimum.outer(places, places)
        many = np.minimum(last, self.size - width) - np.maximum(first, 0) + 1
        return np.asarray(np.maximum(many, 0), dtype=np.float64)


def identity(cells: int) -> RangeWorkload:
    """Return the workload of every single cell: a histogram.

    Example:
        >>> strategy.identity(3).answers([1, 2, 3]).tolist()
        [1.0, 2.0, 3.0]
    """
    places = np.arange(_size(cells))
    return _Windows("identity", len(places), places, places)


def total(cells: int) -> RangeWorkload:
    """Return the workload of one query, the sum of all cells.

    Example:
        >>> strategy.total(3).answers([1, 2, 3]).tolist()
        [6.0]
    """
    size = _size(cells)
    return RangeWorkload("total", size, np.array([0]), np.array([size - 1]))


def prefixes(cells: int) -> RangeWorkload:
    """Return the workload of every running total: cells 0 to i, for each i.

    Example:
        >>> strategy.prefixes(3).answers([1, 2, 3]).tolist()
        [1.0, 3.0, 6.0]
    """
    places = np.arange(_size(cells))
    return _Prefixes("prefixes", len(places), np.zeros_like(places), places)


def all_ranges(cells: int) -> RangeWorkload:
    """Return the workload of every range of consecutive cells, by its first cell, then by its last.

    Example:
        >>> strategy.all_ranges(3).answers([1, 2, 3]).tolist()
        [1.0, 3.0, 6.0, 2.0, 5.0, 3.0]
    """
    size = _size(cells)
    check_held(size * (size + 1) // 2, f"all ranges over {size:,} cells: their list")
    lows, highs = np.triu_indices(size)
    return _AllRanges("all ranges", size, lows, highs)


def windows(cells: int, width: int) -> RangeWorkload:
    """Return the workload of every range of `width` consecutive cells.

    Example:
        >>> strategy.windows(4, 2).answers([1, 2, 3, 4]).tolist()
        [3.0, 5.0, 7.0]
    """
    size = _size(cells)
    wide = whole(width, "width", least=1)
    if wide > size:
        raise BadParameter("width", width, f"at least 1 and at most the number of cells, {size}")
    lows = np.arange(size - wide + 1)
    return _Windows(f"windows of {wide}", size, lows, lows + wide - 1)


def ranges(cells: int, ends: Iterable[tuple[int, int]]) -> RangeWorkload:
    """Return the workload of a list of ranges (low, high), both ends included.

    Example:
        >>> strategy.ranges(4, [(1, 2)]).answers([1, 2, 3, 4]).tolist()
        [5.0]
    """
    size = _size(cells)
    pairs = [tuple(listed(pair, "ends", "pairs (low, high)")) for pair in listed(ends, "ends", "pairs (low, high)")]
    if not pairs or any(len(pair) != 2 for pair in pairs):
        raise RequestError("ends needs at least one pair (low, high), and nothing but pairs")
    numbers = [[whole(end, "ends") for end in pair] for pair in pairs]
    for end in (end for pair in numbers for end in pair if end >= size):
        raise BadParameter("ends", end, f"places of {size:,} cells, at least 0 and at most {size - 1}")
    lows, highs = np.array(numbers, dtype=np.int64).T
    return RangeWorkload("ranges", size, lows, highs)


def _size(cells: int) -> int:
    size = whole(cells, "cells", least=1)
    if size > LARGEST_DOMAIN:
        raise BadParameter("cells", cells, f"an integer of at least 1 and at most {MOST_CELLS:,}")
    check_held(size)
    return size


@dataclass(frozen=True, eq=False)
class MatrixWorkload(Workload):
    """Queries as the rows of a matrix, with a column per cell.

    Example:
        >>> strategy.matrix([[1, 1], [1, -1]]).answers([3, 4]).tolist()
        [7.0, -1.0]
    """

    matrix: Floats

    def __post_init__(self) -> None:
        rows = _read_rows(self.matrix)
        rows.setflags(write=False)
        set_fields(self, matrix=rows)

    @property
    def shape(self) -> tuple[int, ...]:  # type: ignore[override]  # read only
        return (self.matrix.shape[1],)

    @property
    def queries(self) -> int:
        return int(self.matrix.shape[0])

    def gram(self) -> Floats:
        check_dense(self.cells)
        return np.asarray(self.matrix.T @ self.matrix)

    def answers(self, counts: Any) -> Floats:
        return np.asarray(self.matrix @ self._read(counts))

    def _variances(self, covariance: CellCovariance) -> Floats:
        return covariance.of_rows(self.matrix)

    def _total_variance(self, covariance: CellCovariance) -> float:
        return float(self._variances(covariance).sum())

    def rows(self) -> Floats:
        return self.matrix

    def __repr__(self) -> str:
        return f"matrix({self.queries} x {self.cells})"


def matrix(rows: Any) -> MatrixWorkload:
    """Return the workload whose queries are the rows of a matrix.

    Example:
        >>> strategy.matrix([[1, 0, 1]]).answers([1, 2, 3]).tolist()
        [4.0]
    """
    return MatrixWorkload(_read_rows(rows))


def _read_rows(matrix: Any) -> Floats:
    """Return the rows of a matrix as an array of their own."""
    allowed = "a workload as a matrix is a list of rows of equally many finite numbers"
    if type(matrix) is np.ndarray and matrix.dtype.kind in "fiu":
        array: Floats = np.array(matrix, dtype=np.float64, ndmin=2)
    else:
        rows = _listed_rows(matrix, allowed)
        if len({len(row) for row in rows}) > 1:
            raise RequestError(allowed)
        array = np.array(rows, dtype=np.float64, ndmin=2)
    if array.ndim != 2 or not array.size:
        raise RequestError("a workload as a matrix needs at least one row and one column")
    if not np.isfinite(array).all():
        raise RequestError("the entries of the rows of a matrix are finite numbers; one is a NaN or an infinity")
    check_held(array.size, "the matrix of this workload: its rows")
    return array


def _listed_rows(matrix: object, allowed: str) -> list[list[float]]:
    try:
        items = listed(unwrapped(matrix), "matrix")
        rows = items if items and all(isinstance(item, (list, tuple, np.ndarray)) for item in items) else [items]
        return [[_entry(entry) for entry in listed(unwrapped(row), "matrix")] for row in rows]
    except (BadParameter, OverflowError):
        pass
    raise RequestError(allowed)


def _entry(value: object) -> float:
    if isinstance(value, (float, np.floating)):
        return float(value)
    return float(rational(value, "matrix"))


@dataclass(frozen=True, eq=False)
class ProductWorkload(Workload):
    """Every combination of one query per attribute: the Kronecker product of workloads.

    Example:
        >>> both = strategy.product(strategy.identity(2), strategy.total(3))
        >>> both.answers([[1, 2, 3], [4, 5, 6]]).tolist()
        [6.0, 15.0]
    """

    factors: tuple[Workload, ...]

    def __post_init__(self) -> None:
        factors = tuple(listed(self.factors, "factors", "a list of workloads"))
        if not factors or not all(is_a(factor, Workload) for factor in factors):
            raise RequestError(
                "a product needs at least one factor, a workload per attribute, such as identity(5), prefixes(20)"
            )
        if any(len(factor.shape) != 1 for factor in factors):
            raise RequestError("each factor of a product is a workload over one attribute")
        set_fields(self, factors=factors)

    @property
    def shape(self) -> tuple[int, ...]:  # type: ignore[override]  # read only
        return tuple(factor.cells for factor in self.factors)

    @property
    def queries(self) -> int:
        return math.prod(factor.queries for factor in self.factors)

    @property
    def mass(self) -> float:
        return math.prod(factor.mass for factor in self.factors)

    def gram(self) -> Floats:
        check_dense(self.cells)
        return kronecker(factor.gram() for factor in self.factors)

    def answers(self, counts: Any) -> Floats:
        check_held(self.queries, "the list of answers")
        values = self._read(counts)
        for axis, factor in enumerate(self.factors):
            values = along(values, axis, factor.answers, factor.queries)
        return values.ravel()

    def _variances(self, covariance: CellCovariance) -> Floats:
        return covariance.of_product(self)

    def _total_variance(self, covariance: CellCovariance) -> float:
        return covariance.total_of_product(self)

    def __repr__(self) -> str:
        return " x ".join(map(repr, self.factors))


def along(values: Floats, axis: int, function: Any, size: int) -> Floats:
    """Return values with a function of one axis applied to every line along it."""
    moved = np.moveaxis(values, axis, -1)
    lines = moved.reshape(-1, moved.shape[-1])
    applied = np.empty((lines.shape[0], size))
    for place, line in enumerate(lines):
        applied[place] = function(line)
    return np.moveaxis(applied.reshape(*moved.shape[:-1], size), -1, axis)


def kronecker(matrices: Iterable[Floats]) -> Floats:
    """Return the Kronecker product of matrices."""
    result: Floats = np.ones((1, 1))
    for factor in matrices:
        result = np.asarray(np.kron(result, factor), dtype=np.float64)
    return result


def product(*factors: Workload) -> ProductWorkload:
    """Return every combination of one query per attribute.

    Example:
        >>> strategy.product(strategy.prefixes(3), strategy.identity(2)).queries
        6
    """
    return ProductWorkload(tuple(factors))


@dataclass(frozen=True, eq=False)
class UnionWorkload(Workload):
    """Several workloads over one domain, each with a weight for its squared errors.

    Example:
        >>> both = strategy.union([strategy.total(2), strategy.identity(2)], weights=[4, 1])
        >>> both.answers([1, 2]).tolist(), both.mass
        ([3.0, 1.0, 2.0], 6.0)
    """

    parts: tuple[Workload, ...]
    weights: tuple[float, ...]

    def __post_init__(self) -> None:
        parts = tuple(listed(self.parts, "parts", "a list of workloads"))
        if not parts or not all(is_a(part, Workload) for part in parts):
            raise RequestError("a union needs at least one workload in parts, and nothing but workloads")
        if len({part.shape for part in parts}) > 1:
            shapes = ", ".join(sorted({str(part.shape) for part in parts}))
            raise RequestError(f"the parts of a union are over one domain; these have the shapes {shapes}")
        set_fields(self, parts=parts, weights=read_weights(self.weights, len(parts)))

    @property
    def shape(self) -> tuple[int, ...]:  # type: ignore[override]  # read only
        return self.parts[0].shape

    @property
    def queries(self) -> int:
        return sum(part.queries for part in self.parts)

    @property
    def mass(self) -> float:
        return math.fsum(weight * part.mass for part, weight in self.weighted())

    def weighted(self) -> Iterator[tuple[Workload, float]]:
        """Yield every part and its weight."""
        return zip(self.parts, self.weights, strict=True)

    def gram(self) -> Floats:
        gram = np.zeros((self.cells, self.cells))
        for part, weight in self.weighted():
            gram += weight * part.gram()
        return gram

    def _gram_times(self, columns: Floats) -> Floats:
        result = np.zeros_like(columns)
        for part, weight in self.weighted():
            result += weight * part._gram_times(columns)
        return result

    def answers(self, counts: Any) -> Floats:
        check_held(self.queries, "the list of answers")
        return np.concatenate([part.answers(counts) for part in self.parts])

    def _variances(self, covariance: CellCovariance) -> Floats:
        return np.concatenate([part.variances(covariance) for part in self.parts])

    def _total_variance(self, covariance: CellCovariance) -> float:
        return math.fsum(weight * part.total_variance(covariance) for part, weight in self.weighted())

    def __repr__(self) -> str:
        return f"union({', '.join(map(repr, self.parts))})"


def union(parts: Sequence[Workload], *, weights: Sequence[Number] | None = None) -> UnionWorkload:
    """Return several workloads over one domain as one.

    Args:
        parts: the workloads.
        weights: how much the squared error of each matters; 1 each if left out.

    Example:
        >>> strategy.union([strategy.prefixes(4), strategy.identity(4)]).queries
        8
    """
    every = tuple(listed(parts, "parts", "a list of workloads"))
    return UnionWorkload(every, _weights(weights, len(every)))


def _weights(weights: Sequence[Number] | None, many: int) -> tuple[float, ...]:
    return (1.0,) * many if weights is None else read_weights(weights, many)


def read_weights(weights: Sequence[Number], many: int) -> tuple[float, ...]:
    """Return weights as floats; refuse NaN, negative ones, and all zeros."""
    given = tuple(listed(weights, "weights", "a list of numbers of at least 0"))
    if len(given) != many:
        raise RequestError(f"weights needs one number for each of {many} parts; got {len(given)}")
    numbers = tuple(_weight(weight) for weight in given)
    if not any(numbers):
        raise BadParameter("weights", weights, "numbers of at least 0, and one of them above 0")
    return numbers


def _weight(weight: object) -> float:
    exact = nonnegative(weight, "weights")
    if exact > LARGEST_WEIGHT:
        raise BadParameter("weights", weight, "numbers from 0 to 2**100")
    return float(exact)


LARGEST_WEIGHT = 2**100
"""The most that a squared error may be weighted with."""

Axes = tuple[int, ...]
"""A subset of a domain's attributes, by their places, in order."""


@dataclass(frozen=True, eq=False)
class MarginalWorkload(Workload):
    """Contingency tables over subsets of a domain's attributes, each with a weight for its squared errors.

    Example:
        >>> sums = strategy.marginals((2, 2), [(0,), (1,)])
        >>> sums.answers([[1, 2], [3, 4]]).tolist()
        [3.0, 7.0, 4.0, 6.0]
    """

    sizes: tuple[int, ...]
    subsets: tuple[Axes, ...]
    weights: tuple[float, ...]
    factors: tuple[Workload | None, ...] = ()
    """The queries along each attribute: its single values where there is None, or nothing at all."""

    def __post_init__(self) -> None:
        sizes = read_shape(self.sizes, "sizes")
        subsets = tuple(read_axes(axes, len(sizes)) for axes in listed(self.subsets, "subsets", "a list of subsets"))
        if not subsets:
            raise RequestError("a workload of marginals needs at least one subset of attributes, such as (0, 2)")
        if len(set(subsets)) < len(subsets):
            raise RequestError("each subset of attributes is listed once; use weights= for those that matter more")
        factors = _read_factors(self.factors, sizes)
        weights = read_weights(self.weights, len(subsets))
        set_fields(self, sizes=sizes, subsets=subsets, weights=weights, factors=factors)

    @property
    def shape(self) -> tuple[int, ...]:  # type: ignore[override]  # read only
        return self.sizes

    @property
    def queries(self) -> int:
        return sum(self._queries_of(axes) for axes in self.subsets)

    @property
    def mass(self) -> float:
        return math.fsum(weight * self._mass_of(axes) for axes, weight in zip(self.subsets, self.weights, strict=True))

    def _factor(self, axis: int) -> Workload | None:
        """Return the queries along an attribute; None for its single values."""
        return self.factors[axis] if self.factors else None

    def _is_plain(self, axes: Axes) -> bool:
        """Return whether single values are asked for along all of these attributes."""
        return all(self._factor(axis) is None for axis in axes)

    def _queries_of(self, axes: Axes) -> int:
        """Return the number of queries of the table on these attributes."""
        factors = (self._factor(axis) for axis in axes)
        return math.prod(
            self.sizes[axis] if factor is None else factor.queries for axis, factor in zip(axes, factors, strict=True)
        )

    def _mass_of(self, axes: Axes) -> float:
        """Return the sum of the weights of the queries of the table on these attributes."""
        weighted = [factor.mass for axis in axes if (factor := self._factor(axis)) is not None]
        plain = math.prod(self.sizes[axis] for axis in axes if self._factor(axis) is None)
        return plain * math.prod(weighted) if weighted else plain

    def _cells_of(self, axes: Axes) -> int:
        """Return the number of cells of the marginal on these attributes."""
        return math.prod(self.sizes[axis] for axis in axes)

    @cached_property
    def products(self) -> tuple[ProductWorkload, ...]:
        """Each marginal as a product of totals and of the queries along its attributes."""
        every = list(enumerate(self.sizes))
        return tuple(
            ProductWorkload(
                tuple(self._factor(axis) or identity(size) if axis in axes else total(size) for axis, size in every)
            )
            for axes in self.subsets
        )

    def gram(self) -> Floats:
        check_dense(self.cells)
        return UnionWorkload(self.products, self.weights).gram()

    def answers(self, counts: Any) -> Floats:
        values = self._read(counts)
        return np.concatenate([self._asked_of(marginal_of(values, axes), axes) for axes in self.subsets])

    def _asked_of(self, table: Floats, axes: Axes) -> Floats:
        """Return the answers to the queries of one marginal."""
        for place, axis in enumerate(axes):
            factor = self._factor(axis)
            if factor is not None:
                table = along(table, place, factor.answers, factor.queries)
        return table.ravel()

    def _variances(self, covariance: CellCovariance) -> Floats:
        return covariance.of_marginals(self)

    def _total_variance(self, covariance: CellCovariance) -> float:
        return covariance.total_of_marginals(self)

    def __repr__(self) -> str:
        return f"marginals({self.sizes}, {len(self.subsets)} subsets)"


def _read_factors(factors: object, sizes: tuple[int, ...]) -> tuple[Workload | None, ...]:
    """Return the queries along each attribute; nothing where these are single values only."""
    every = tuple(listed(factors, "factors", "a workload for each attribute, or None"))
    if not every:
        return ()
    if len(every) != len(sizes):
        raise RequestError(f"factors has a workload, or None, for each of {len(sizes)} attributes; got {len(every)}")
    for axis, (factor, size) in enumerate(zip(every, sizes, strict=True)):
        if factor is None:
            continue
        instance(factor, Workload, "factors", "a workload, such as all_ranges(64), or None for single values")
        if factor.shape != (size,):
            raise RequestError(
                f"the workload along attribute {axis} is over a domain of shape {factor.shape}, and this attribute has "
                f"{size} values"
            )
    return every if any(factor is not None for factor in every) else ()


def marginal_of(values: Any, axes: Axes) -> Any:
    """Return the sums of a table over all attributes but these."""
    others = tuple(axis for axis in range(values.ndim) if axis not in axes)
    return values.sum(axis=others) if others else values


def read_axes(axes: object, many: int) -> Axes:
    """Return a subset of attributes, sorted; refuse those that do not exist or come twice."""
    places = sorted(whole(axis, "subsets", most=many - 1) for axis in listed(axes, "subsets", "a list of attributes"))
    if len(set(places)) < len(places):
        raise BadParameter("subsets", axes, "subsets that name each attribute once")
    return tuple(places)


def marginals(
    shape: Sequence[int],
    subsets: Iterable[Iterable[int]],
    *,
    weights: Sequence[Number] | None = None,
    factors: Mapping[int, Workload] | None = None,
) -> MarginalWorkload:
    """Return the workload of contingency tables over subsets of attributes, which are numbered from 0.

    Args:
        shape: the number of values of each attribute.
        subsets: the attributes of each table; () is the total.
        weights: how much the squared error of each table matters; 1 each if left out.
        factors: the queries along some attributes instead of their single values, such as {2: all_ranges(4)}.

    Example:
        >>> strategy.marginals((2, 3, 4), [(0, 1), (2,)]).queries
        10
        >>> strategy.marginals((2, 3, 4), [(0, 1), (2,)], factors={2: strategy.all_ranges(4)}).queries
        16
    """
    every = tuple(
        tuple(listed(axes, "subsets", "lists of attributes")) for axes in listed(subsets, "subsets", "subsets")
    )
    sizes = read_shape(shape)
    return MarginalWorkload(sizes, every, _weights(weights, len(every)), _listed_factors(factors, len(sizes)))


def _listed_factors(factors: object, many: int) -> tuple[Workload | None, ...]:
    if factors is None:
        return ()
    if not isinstance(factors, Mapping):
        raise BadParameter("factors", type(factors).__name__, "workloads by their attributes, such as {2: prefixes(9)}")
    every: list[Workload | None] = [None] * many
    for axis, factor in factors.items():
        every[whole(axis, "factors", most=many - 1)] = factor
    return tuple(every)


def all_marginals(
    shape: Sequence[int], *, ways: int, below: bool = False, factors: Mapping[int, Workload] | None = None
) -> MarginalWorkload:
    """Return the workload of every table over `ways` attributes; with `below`, also over fewer, the total included.

    Example:
        >>> len(strategy.all_marginals((2, 3, 4), ways=2).subsets)
        3
    """
    sizes, below = read_shape(shape), truth(below, "below")
    most = whole(ways, "ways", least=0, most=len(sizes))
    many = sum(math.comb(len(sizes), way) for way in range(0 if below else most, most + 1))
    check_held(many, "the list of marginals")
    subsets = [axes for way in range(0 if below else most, most + 1) for axes in combinations(range(len(sizes)), way)]
    return marginals(sizes, subsets, factors=factors)
