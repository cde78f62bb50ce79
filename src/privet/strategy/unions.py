"""Several products of strategies, measured together: each answer is the least squares estimate from all of them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from scipy import sparse

from privet.core.errors import RequestError
from privet.core.given import is_a, listed, plain_text, set_fields
from privet.core.numbers import whole

from .covariances import CellCovariance, DenseCovariance
from .given_numbers import read_integers
from .integer_products import exact_product, plain_array, powered
from .joint_covariances import JointCovariance, SharedBasis, shared_basis, spread, turned_along
from .strategies import MatrixStrategy, Noise, ProductStrategy, Strategy, dense_covariance, pair_norm_of
from .workloads import LARGEST_WEIGHT, Floats, check_held

_MOST_COLUMNS = 2**21
"""The most different columns that are compared one by one; for more, the norms of the parts are added."""

_EXPANDED = 2**24


@dataclass(frozen=True, eq=False, repr=False)
class UnionStrategy(Strategy):
    """Several products over one domain, measured together, each with a whole weight that multiplies its rows' own.

    Args:
        parts: products of strategies, all over one domain and of one kind of noise.
        weights: a positive whole number for each.
        name: what the strategy is called in tables.

    Example:
        >>> tree, every = strategy.tree(4, measure="pure"), strategy.MatrixStrategy("total", "pure", [[1] * 4], [1])
        >>> rows, columns = strategy.ProductStrategy((tree, every)), strategy.ProductStrategy((every, tree))
        >>> both = strategy.UnionStrategy((rows, columns), (1, 2))
        >>> both.rows, both.column_norm()
        (14, Fraction(9, 1))

    Guarantee: the norm is the largest over cells of the sum over parts, which no part's own norm bounds; for very many
    different columns it is the sum of the parts' norms, which is never smaller. A part's column is a product of
    columns, and its norm the product of their norms.
    Cites: [MMHM18, unions of products].
    """

    parts: tuple[ProductStrategy, ...]
    weights: tuple[int, ...]
    name: str = "union"

    def __post_init__(self) -> None:
        given = listed(self.parts, "parts", "a list of strategies")
        if not given or not all(is_a(part, (ProductStrategy, MatrixStrategy)) for part in given):
            raise RequestError("a union of strategies needs parts: products of strategies with a matrix per attribute")
        parts = tuple(part if isinstance(part, ProductStrategy) else ProductStrategy((part,)) for part in given)
        if len({part.shape for part in parts}) > 1:
            raise RequestError("the parts of a union are strategies over one domain")
        if len({part.measure for part in parts}) > 1:
            raise RequestError("all parts of a union have the same kind of noise: 'pure' or 'gaussian'")
        weights = tuple(
            whole(weight, "weights", least=1, most=LARGEST_WEIGHT)
            for weight in listed(self.weights, "weights", "a whole number for each part")
        )
        if len(weights) != len(parts):
            raise RequestError(f"weights needs one positive whole number for each of {len(parts)} parts")
        set_fields(self, parts=parts, weights=weights, name=plain_text(self.name, "name"))

    @property
    def measure(self) -> Noise:  # type: ignore[override]  # read only
        return self.parts[0].measure

    @property
    def shape(self) -> tuple[int, ...]:  # type: ignore[override]  # read only
        return self.parts[0].shape

    @property
    def rows(self) -> int:
        return sum(part.rows for part in self.parts)

    def row_weights(self) -> list[int]:
        check_held(self.rows, "the list of measurements")
        pairs = zip(self.parts, self.weights, strict=True)
        return [weight * own for part, weight in pairs for own in part.row_weights()]

    def apply(self, counts: Iterable[int]) -> list[int]:
        check_held(self.rows, "the list of measurements")
        integers = read_integers(counts, "counts", self.cells)
        return [entry for part in self.parts for entry in part.apply(integers)]

    def column_norm(self) -> Fraction:
        return Fraction(self._column_norm)

    @cached_property
    def _column_norm(self) -> int:
        """Return the largest sum over parts of the products of their columns' norms.

        A combination of columns is described by one number for each part; all are positive, so that one that is in no
        part larger than another is never the largest, whatever the other attributes add.
        """
        largest = [(*self.weights,)]
        for axis in range(len(self.shape)):
            norms = [
                exact_product(powered(part.factors[axis].matrix, self.power).T, part.factors[axis].weights)
                for part in self.parts
            ]
            columns = _not_exceeded(list(zip(*norms, strict=True)))
            if len(columns) * len(largest) > _MOST_COLUMNS:
                pairs = zip(self.parts, self.weights, strict=True)
                return sum(weight * int(part.column_norm()) for part, weight in pairs)
            largest = _not_exceeded(
                [
                    tuple(left * other for left, other in zip(first, second, strict=True))
                    for first in largest
                    for second in columns
                ]
            )
        return max(sum(column) for column in largest)

    def pair_norm(self) -> Fraction:
        """Return the norm of pairs from the whole matrix if it is small, else a bound as in `MatrixStrategy`."""
        if self.cells * self.rows <= 2**18:
            factors = (part.factors for part in self.parts)
            exact = pair_norm_of(self, list(zip(self.weights, factors, strict=True)))
            if exact is not None:
                return exact
        signed = any(int(factor.matrix.min()) < 0 for part in self.parts for factor in part.factors)
        return self.column_norm() * (4 if self.power == 2 and signed else 2)

    def expanded(self) -> MatrixStrategy:
        """Return the strategy with its whole matrix, for small domains."""
        check_held(self.rows * self.cells, "the matrix of this union")
        rows = sparse.csr_array(sparse.vstack([sparse.csr_array(part.expanded().matrix) for part in self.parts]))
        return MatrixStrategy(self.name, self.measure, rows.toarray(), self.row_weights())

    @cached_property
    def _bases(self) -> tuple[SharedBasis, ...] | None:
        """The basis for each attribute in which what all parts measure is diagonal, if each has one."""
        bases = []
        for axis in range(len(self.shape)):
            basis = shared_basis([_gram(part.factors[axis]) for part in self.parts])
            if basis is None:
                return None
            bases.append(basis)
        return tuple(bases)

    def _precisions(self) -> list[float]:
        """Return what the Gram matrix of each part is multiplied with at epsilon 1, or at mu 1."""
        norm = float(self.column_norm())
        if self.measure == "pure":
            return [(weight / norm) ** 2 / 2 for weight in self.weights]
        return [weight / norm for weight in self.weights]

    @cached_property
    def _unit_covariance(self) -> CellCovariance:
        if self._bases is None:
            return self._dense
        eigenvalues = np.zeros(tuple(basis.values.shape[1] for basis in self._bases))
        for place, precision in enumerate(self._precisions()):
            eigenvalues += precision * spread([basis.values[place] for basis in self._bases])
        empty = eigenvalues <= 0
        values = np.divide(1.0, eigenvalues, out=np.zeros_like(eigenvalues), where=~empty)
        return JointCovariance(self._bases, values, empty.astype(np.float64) if empty.any() else None)

    @cached_property
    def _dense(self) -> DenseCovariance:
        if self.rows * self.cells > _EXPANDED:
            raise RequestError(
                f"the parts of this union share no directions along some attribute, and its matrix has "
                f"{self.rows * self.cells:,} entries; use at most two different strategies for each attribute"
            )
        return dense_covariance(self.shape, self._floats(), self.unit_variances())

    def _covariance(self, variances: Floats) -> CellCovariance:
        """Return the covariance, for variances that are a common multiple of the strategy's own."""
        ratio = variances / self.unit_variances()
        if np.ptp(ratio) > 1e-6 * ratio.max():
            check_held(self.rows * self.cells, "the matrix of this union")
            return dense_covariance(self.shape, self._floats(), variances)
        return self.unit_covariance().scaled(float(ratio.mean()))

    def _floats(self) -> Floats:
        return np.concatenate([part._floats() for part in self.parts])

    def _solve(self, noisy: Floats, variances: Floats) -> Floats:
        """Return the cells: the contribution of each part, added up, and divided along the shared directions."""
        right = np.zeros(self.shape)
        first = 0
        for part, precision in zip(self.parts, self._precisions(), strict=True):
            table = noisy[first : first + part.rows].reshape(tuple(factor.rows for factor in part.factors))
            first += part.rows
            right += precision * turned_along(table, [_weighted(factor) for factor in part.factors])
        covariance = self.unit_covariance()
        if not isinstance(covariance, JointCovariance):
            return (self._dense.matrix @ right.ravel()).reshape(self.shape)
        inner = turned_along(right, [basis.vectors.T for basis in covariance.bases]) * covariance.values
        return turned_along(inner, [basis.vectors for basis in covariance.bases])

    def describing(self) -> bytes:
        return repr(self.weights).encode() + b"".join(part.digest.encode() for part in self.parts)


def _not_exceeded(columns: list[tuple[int, ...]]) -> list[tuple[int, ...]]:
    """Return those of some columns that no other exceeds in every part, or at least all of these."""
    ordered = sorted(set(columns), reverse=True)
    if len(ordered[0]) > 2:
        return ordered
    kept, most = [], -1
    for column in ordered:  # from the largest first number on
        if column[-1] > most:
            kept.append(column)
            most = column[-1]
    return kept


def _precision(factor: MatrixStrategy) -> Floats:
    """Return the precision of a factor's rows, up to what all rows of a product share."""
    return np.array(factor.weights, dtype=np.float64) ** (2 if factor.measure == "pure" else 1)


def _weighted(factor: MatrixStrategy) -> Floats:
    """Return A' times the precision of each row."""
    return np.asarray(plain_array(factor.matrix.T), dtype=np.float64) * _precision(factor)


def _gram(factor: MatrixStrategy) -> Floats:
    return _weighted(factor) @ np.asarray(plain_array(factor.matrix), dtype=np.float64)
