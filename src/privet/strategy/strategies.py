"""Strategies: the measurements instead of the workload. Integer rows, and how precisely each is measured.

A strategy is public and fixed before a row is read. Real coefficients never meet noise: the rows are integers, noise is
added to integers, and what a unit can move is computed from these very integers.
"""

from __future__ import annotations

import hashlib
import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, cast, get_args

import numpy as np
from scipy import linalg, sparse

from privet.core.errors import BadParameter, RequestError
from privet.core.given import choice, instance, is_a, listed, plain_text, set_fields

from .covariances import CellCovariance, DenseCovariance, ProductCovariance
from .given_numbers import read_integer_matrix, read_integers, read_numbers
from .integer_products import (
    TOO_LARGE,
    IntegerMatrix,
    check_sums,
    exact_columns,
    exact_product,
    is_sparse,
    plain_array,
    powered,
)
from .workloads import LARGEST_WEIGHT, Floats, Workload, check_dense, check_held, kronecker

if TYPE_CHECKING:
    from .unions import UnionStrategy

Noise = Literal["pure", "gaussian"]
"""`pure`: discrete Laplace noise, priced as a pure epsilon. `gaussian`: Gaussian noise, priced as zCDP and tighter."""

Form = Literal["dense", "diagonal", "orthogonal", "upper", "lower"]
"""The known form of a matrix: none; its first rows are a diagonal; its rows are orthogonal; it is triangular."""

_MOST_PAIRS = 512
"""The most cells for which every pair of columns is compared."""

_ROOM = 2**62


def read_measure(measure: object) -> Noise:
    """Return the kind of noise that was named."""
    return cast(Noise, choice(measure, "measure", ("pure", "gaussian")))


def read_workload(workload: object, kind: type[Workload] = Workload) -> None:
    """Refuse anything but a workload."""
    instance(workload, kind, "workload", "a workload, such as all_ranges(64)")


def check_single(workload: Workload) -> None:
    """Refuse a workload over several attributes where a strategy is made for one."""
    if len(workload.shape) > 1:
        raise RequestError(
            f"this is for a workload over one attribute, and the given one is over {len(workload.shape)}; use "
            f"optimize, or a ProductStrategy of one such strategy for each attribute"
        )


class Strategy(ABC):
    """Integer measurements of a domain's cells, each with an integer weight that states how precise it is.

    Row r is measured with Laplace noise of scale s / weights[r] (pure), or with Gaussian noise of variance
    s / weights[r], for one common s that the price decides. With power = 1 (pure) or 2 (gaussian), `column_norm` is
    the largest over cells i of the sum over r of |a[r, i]|**power weights[r]: what one row of a table can move.

    Example:
        >>> tree = strategy.tree(8, branching=2, measure="pure")
        >>> tree.rows, tree.column_norm()
        (15, Fraction(4, 1))
    """

    name: str
    measure: Noise
    shape: tuple[int, ...]

    @property
    def cells(self) -> int:
        """The number of cells of the domain."""
        return math.prod(self.shape)

    @property
    def power(self) -> int:
        """The norm in which columns are measured: 1, or 2 (squared)."""
        return 1 if self.measure == "pure" else 2

    @property
    @abstractmethod
    def rows(self) -> int:
        """The number of measurements."""

    @abstractmethod
    def row_weights(self) -> list[int]:
        """Return the weight of each measurement."""

    @abstractmethod
    def apply(self, counts: Iterable[int]) -> list[int]:
        """Return the exact measurements of exact integer counts, before noise."""

    @abstractmethod
    def column_norm(self) -> Fraction:
        """Return the largest weighted norm of a column: L1, or L2 squared."""

    @abstractmethod
    def pair_norm(self) -> Fraction:
        """Return the largest weighted norm of a column or of the difference of two, or a proven upper bound."""

    def covariance(self, variances: Floats) -> CellCovariance:
        """Return the covariance of the cells by least squares, given the variance of each measurement."""
        return self._covariance(self._read_variances(variances))

    @abstractmethod
    def _covariance(self, variances: Floats) -> CellCovariance: ...

    def solve(self, noisy: Floats, variances: Floats) -> Floats:
        """Return the cells by least squares from noisy measurements, given the variance of each."""
        return self._solve(self._read_noisy(noisy), self._read_variances(variances))

    @abstractmethod
    def _solve(self, noisy: Floats, variances: Floats) -> Floats: ...

    def _read_noisy(self, noisy: object) -> Floats:
        check_held(self.rows, "the list of measurements")
        return read_numbers(noisy, "noisy", self.rows, "measurements")

    def _read_variances(self, variances: object) -> Floats:
        check_held(self.rows, "the list of measurements")
        return read_numbers(variances, "variances", self.rows, "measurements", positive=True)

    @abstractmethod
    def describing(self) -> bytes:
        """Return bytes that describe all of the strategy: equal exactly where matrix, weights and noise are."""

    @cached_property
    def digest(self) -> str:
        """A hash of the matrix, the weights, the domain and the kind of noise."""
        head = f"{self.measure} {self.shape} ".encode()
        return hashlib.sha256(head + self.describing()).hexdigest()

    def unit_variances(self) -> Floats:
        """Return the variance of each measurement at epsilon 1, or at an L2 sensitivity of one sigma."""
        norm, weights = float(self.column_norm()), np.array(self.row_weights(), dtype=np.float64)
        return 2 * (norm / weights) ** 2 if self.measure == "pure" else norm / weights

    def unit_covariance(self) -> CellCovariance:
        """Return the covariance of the cells at epsilon 1, or at an L2 sensitivity of one sigma (mu = 1)."""
        return self._unit_covariance

    @cached_property
    def _unit_covariance(self) -> CellCovariance:
        return self._covariance(self.unit_variances())

    def rmse(self, workload: Workload) -> float:
        """Return the root mean squared error per query at epsilon 1, or at an L2 sensitivity of one sigma."""
        read_workload(workload)
        if workload.shape != self.shape:
            raise RequestError(f"the workload is over a domain of shape {workload.shape}, the strategy of {self.shape}")
        return workload.rmse(self.unit_covariance())

    def __eq__(self, other: object) -> bool:
        return self.digest == other.digest if isinstance(other, Strategy) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.digest)

    def __repr__(self) -> str:
        return f"<{self.measure} strategy {self.name!r}: {self.rows:,} measurements of {self.cells:,} cells>"


@dataclass(frozen=True, eq=False, repr=False)
class MatrixStrategy(Strategy):
    """A strategy with an explicit integer matrix, dense or sparse.

    Args:
        name: what the strategy is called in tables.
        measure: "pure" or "gaussian".
        matrix: integer rows over cells, a NumPy array or a SciPy sparse array.
        weights: a positive integer per row.
        form: the known form of the matrix, which reconstruction uses; it is checked.

    Example:
        >>> lecture = strategy.MatrixStrategy("sum and difference", "pure", [[1, 1], [1, -1]], [1, 1])
        >>> lecture.column_norm(), lecture.pair_norm()
        (Fraction(2, 1), Fraction(2, 1))

    Guarantee: norms of columns are exact; the norm of pairs is exact for up to 512 cells and never too small.
    Cites: [LMHMR15].
    """

    name: str
    measure: Noise
    matrix: IntegerMatrix
    weights: Any
    form: Form = "dense"

    def __post_init__(self) -> None:
        name, measure = plain_text(self.name, "name"), read_measure(self.measure)
        form = choice(self.form, "form", get_args(Form))
        held = read_integer_matrix(self.matrix).copy()
        if not abs(held).max():
            raise RequestError("every entry of this matrix is 0: it measures nothing")
        weights = tuple(read_integers(self.weights, "weights"))
        if len(weights) != held.shape[0] or min(weights) < 1:
            raise RequestError("a strategy needs one positive whole weight for each of the rows of its matrix")
        if max(weights) > LARGEST_WEIGHT:
            raise BadParameter("weights", max(weights), "positive whole numbers of at most 2**100")
        check_sums(held, 1 if measure == "pure" else 2)
        (held.data if is_sparse(held) else held).setflags(write=False)
        set_fields(self, name=name, measure=measure, form=form, matrix=held, weights=weights)
        if not self._keeps_form():
            raise BadParameter("form", form, "what the matrix is; this matrix is not")

    @property
    def shape(self) -> tuple[int, ...]:  # type: ignore[override]  # read only
        return (int(self.matrix.shape[1]),)

    @property
    def rows(self) -> int:
        return int(self.matrix.shape[0])

    def row_weights(self) -> list[int]:
        return list(self.weights)

    def apply(self, counts: Iterable[int]) -> list[int]:
        integers = read_integers(counts, "counts", self.cells)
        return exact_product(self.matrix, integers)

    @cached_property
    def _column_norm(self) -> int:
        return max(exact_product(powered(self.matrix, self.power).T, self.weights))

    def column_norm(self) -> Fraction:
        return Fraction(self._column_norm)

    def pair_norm(self) -> Fraction:
        return Fraction(self._pair_norm)

    @cached_property
    def _pair_norm(self) -> int:
        """Return the largest norm of a_i - a_j or of a_i.

        Constant rows drop out of differences. The rest is compared pair by pair, or bounded: by the triangle inequality
        |a_i - a_j| <= 2 max |a_i|, squared 4 max |a_i|^2, and without negative entries
        |a_i - a_j|^2 <= |a_i|^2 + |a_j|^2.
        """
        least, most = _ends(self.matrix.min(axis=1)), _ends(self.matrix.max(axis=1))
        kept = np.flatnonzero(least != most)
        if not len(kept):
            return self._column_norm
        varied = self.matrix[kept]
        weights = [self.weights[row] for row in kept]
        bound = max(exact_product(powered(varied, self.power).T, weights))
        reach = int(most[kept].max() - least[kept].min())
        small = reach**self.power * max(weights) * len(kept) < _ROOM
        if self.cells <= _MOST_PAIRS and small:
            dense = plain_array(varied)
            return max(self._column_norm, _largest_difference(dense, np.array(weights, dtype=np.int64), self.power))
        factor = 2 if self.power == 1 or int(least[kept].min()) >= 0 else 4
        return max(self._column_norm, factor * bound)

    def _covariance(self, variances: Floats) -> DenseCovariance:
        check_dense(self.cells)
        return DenseCovariance(self.shape, *self._inverse(variances))

    def _solve(self, noisy: Floats, variances: Floats) -> Floats:
        noise, values = variances, noisy
        if self.form == "diagonal":
            spread, rest, inner = self._diagonal_parts(noise)
            right = self.matrix.T @ (values / noise)
            return np.asarray(spread * (right - rest.T @ inner(rest @ (spread * right))))
        if self.form == "orthogonal":
            return np.asarray(self.matrix.T @ (values / self._squares))
        if self.form in ("upper", "lower"):
            return np.asarray(linalg.solve_triangular(self._floats, values, lower=self.form == "lower"))
        return np.asarray(self._inverse(noise)[0] @ (self.matrix.T @ (values / noise)))

    def _inverse(self, noise: Floats) -> tuple[Floats, Floats | None]:
        """Return (A' V^-1 A)^-1, by the form of the matrix, and the unmeasured directions."""
        if self.form == "diagonal":
            spread, rest, inner = self._diagonal_parts(noise)
            right = rest * spread
            dense = plain_array(right)
            inverse = -(dense.T @ inner(dense))
            inverse[np.diag_indices(self.cells)] += spread
            return inverse, None
        if self.form == "orthogonal":
            scaled = self.matrix.multiply((noise / self._squares**2)[:, None]).tocsr()
            return (self.matrix.T @ scaled).toarray(), None
        if self.form in ("upper", "lower") and np.ptp(noise) == 0:
            turned = self.form == "lower"  # reversing rows and columns makes a lower triangle an upper one
            inverse, info = linalg.lapack.dpotri(self._floats[::-1, ::-1] if turned else self._floats, lower=0)
            if not info:
                full = _mirrored(inverse) * noise[0]
                return full[::-1, ::-1] if turned else full, None
        gram = self.matrix.T @ (self.matrix * (1 / noise)[:, None])
        return invert(gram.toarray() if is_sparse(gram) else np.asarray(gram, dtype=np.float64))

    def _diagonal_parts(self, noise: Floats) -> tuple[Floats, Any, Any]:
        """Return the parts of (E^-1 + B' V^-1 B)^-1 = E - E B' (V + B E B')^-1 B E."""
        n = self.cells
        spread = noise[:n] / self._first**2
        rest = self.matrix[n:].astype(np.float64)
        if not rest.shape[0]:
            return spread, rest, lambda right: right
        core = rest @ (rest * spread).T
        core = plain_array(core)
        core[np.diag_indices(len(core))] += noise[n:]
        factor = linalg.cho_factor(core)
        return spread, rest, lambda right: linalg.cho_solve(factor, right)

    @cached_property
    def _first(self) -> Floats:
        top = self.matrix[: self.cells]
        return np.asarray(top.diagonal(), dtype=np.float64)

    @cached_property
    def _squares(self) -> Floats:
        return np.asarray(powered(self.matrix, 2).sum(axis=1), dtype=np.float64).ravel()

    @property
    def _floats(self) -> Floats:
        return np.asarray(plain_array(self.matrix), dtype=np.float64)

    def _keeps_form(self) -> bool:
        rows, n = self.matrix.shape
        if self.form == "dense":
            return True
        if self.form == "diagonal":
            top = self.matrix[:n]
            there = np.count_nonzero(top.data if is_sparse(top) else top)
            return bool(rows >= n and there == n and (top.diagonal() != 0).all())
        if rows != n:
            return False
        if self.form == "orthogonal":
            products = sparse.csr_array(self.matrix @ self.matrix.T)
            products.eliminate_zeros()
            return bool(products.count_nonzero() == n and (products.diagonal() > 0).all())
        held = plain_array(self.matrix)
        kept = np.triu(held) if self.form == "upper" else np.tril(held)
        return bool((kept == held).all() and (held.diagonal() != 0).all())

    def describing(self) -> bytes:
        held = sparse.csr_array(self.matrix)
        held.sort_indices()
        parts = (held.indptr.astype(np.int64), held.indices.astype(np.int64), held.data)
        return b"".join(part.tobytes() for part in parts) + repr(self.weights).encode()


def _ends(ends: Any) -> Any:
    return np.asarray(plain_array(ends)).ravel()


def _largest_difference(matrix: Any, weights: Any, power: int) -> int:
    most = 0
    for place in range(matrix.shape[1] - 1):
        moves = np.abs(matrix[:, place + 1 :] - matrix[:, place, None]) ** power
        most = max(most, int((weights @ moves).max()))
    return most


Parts = Sequence[tuple[int, tuple[MatrixStrategy, ...]]]
"""Products of factors that are measured together, each with its weight."""


def pair_norm_of(whole: ProductStrategy | UnionStrategy, parts: Parts) -> Fraction | None:
    """Return the norm of pairs from the whole matrix, or, where that leaves 64 bits, from those of the factors.

    None where neither can be computed: the norm in L1 of a difference of products is no product.
    """
    try:
        return whole.expanded().pair_norm()
    except RequestError:
        return Fraction(_largest_pair(parts)) if whole.power == 2 and whole.cells <= _MOST_PAIRS else None


def _largest_pair(parts: Parts) -> int:
    """Return the largest squared norm of a column or of a difference of two.

    With K the sum over parts of their weight times the product of their factors' A'QA, that of columns i and j is
    K[i, i] + K[j, j] - 2 K[i, j], in integers of any size.
    """
    products: Any = 0
    for weight, factors in parts:
        gram = np.array([[weight]], dtype=object)
        for factor in factors:
            gram = np.kron(gram, _exact_gram(factor))
        products = products + gram
    norms = np.diagonal(products)
    return int(max(norms.max(), (norms[:, None] + norms - 2 * products).max()))


def _exact_gram(factor: MatrixStrategy) -> Any:
    """Return A'QA in integers of any size, for the weights Q of the rows."""
    weighted = plain_array(factor.matrix).astype(object) * np.array(factor.weights, dtype=object)[:, None]
    return exact_columns(sparse.csr_array(factor.matrix.T), weighted).astype(object)


def _mirrored(half: Floats) -> Floats:
    """Return a symmetric matrix from its upper triangle."""
    kept = np.triu(half)
    full = kept + kept.T
    full[np.diag_indices(len(full))] /= 2
    return full


def dense_covariance(shape: tuple[int, ...], rows: Floats, variances: Floats) -> DenseCovariance:
    """Return the covariance of cells by least squares from a whole matrix, given the variance of each measurement."""
    return DenseCovariance(shape, *invert(rows.T @ (rows * (1 / variances)[:, None])))


_RANK = 1e-11
"""Eigenvalues below this part of the largest count as directions that are not measured."""


def invert(gram: Floats) -> tuple[Floats, Floats | None]:
    """Return the inverse of a symmetric positive matrix; if singular, on its range, and a basis of the rest."""
    scale = np.sqrt(np.maximum(np.diagonal(gram), 1e-300))
    normal = gram / scale[:, None] / scale
    factor, info = linalg.lapack.dpotrf(normal, lower=0)
    if not info and (np.diagonal(factor) ** 2).min() > _RANK:
        triangle, info = linalg.lapack.dpotri(factor, lower=0)
        return _mirrored(triangle) / scale[:, None] / scale, None
    values, vectors = np.linalg.eigh(gram)
    kept = values > _RANK * values[-1]
    inverse = (vectors[:, kept] / values[kept]) @ vectors[:, kept].T
    return inverse, None if kept.all() else vectors[:, ~kept]


@dataclass(frozen=True, eq=False, repr=False)
class ProductStrategy(Strategy):
    """The Kronecker product of a strategy per attribute: every combination of their rows is measured.

    Args:
        factors: a strategy over one attribute each, all of one kind of noise.

    Example:
        >>> rows, columns = strategy.tree(4, measure="pure"), strategy.identity_strategy(3, measure="pure")
        >>> both = strategy.ProductStrategy((rows, columns))
        >>> both.shape, both.rows, both.column_norm()
        ((4, 3), 21, Fraction(3, 1))

    Guarantee: the largest column norm of a product is the product of the largest column norms, in L1 and in L2: each
    column is a product of columns, and each norm of a product is the product of the norms.
    Cites: [MMHM18, Kronecker strategies].
    """

    factors: tuple[MatrixStrategy, ...]

    def __post_init__(self) -> None:
        factors = tuple(listed(self.factors, "factors", "a list of strategies"))
        if not factors or not all(is_a(factor, MatrixStrategy) for factor in factors):
            raise RequestError("a product needs factors: a strategy with a matrix for each attribute")
        if len({factor.measure for factor in factors}) > 1:
            raise RequestError("all factors of a product have the same kind of noise: 'pure' or 'gaussian'")
        set_fields(self, factors=factors)

    @property
    def name(self) -> str:  # type: ignore[override]  # read only
        return " x ".join(factor.name for factor in self.factors)

    @property
    def measure(self) -> Noise:  # type: ignore[override]  # read only
        return self.factors[0].measure

    @property
    def shape(self) -> tuple[int, ...]:  # type: ignore[override]  # read only
        return tuple(factor.cells for factor in self.factors)

    @property
    def rows(self) -> int:
        return math.prod(factor.rows for factor in self.factors)

    def row_weights(self) -> list[int]:
        check_held(self.rows, "the list of measurements")
        weights = [1]
        for factor in self.factors:
            weights = [weight * other for weight in weights for other in factor.weights]
        return weights

    def apply(self, counts: Iterable[int]) -> list[int]:
        check_held(self.rows, "the list of measurements")
        integers = read_integers(counts, "counts", self.cells)
        values = integers
        after = self.cells
        before = 1
        for factor in self.factors:
            after //= factor.cells
            values = _exact_along(factor, values, before, after)
            before *= factor.rows
        return values

    def column_norm(self) -> Fraction:
        return math.prod((factor.column_norm() for factor in self.factors), start=Fraction(1))

    def pair_norm(self) -> Fraction:
        """Return the norm of pairs from the whole matrix if it is small, else a bound as in `MatrixStrategy`."""
        if self.cells * self.rows <= 2**18:
            exact = pair_norm_of(self, [(1, self.factors)])
            if exact is not None:
                return exact
        signed = any(int(factor.matrix.min()) < 0 for factor in self.factors)
        return self.column_norm() * (4 if self.power == 2 and signed else 2)

    def expanded(self) -> MatrixStrategy:
        """Return the strategy with its whole matrix, for small domains; refuse entries that leave 64 bits."""
        if math.prod(int(abs(factor.matrix).max()) for factor in self.factors) >= _ROOM:
            raise RequestError(TOO_LARGE)
        matrix: Any = sparse.csr_array(np.ones((1, 1), dtype=np.int64))
        for factor in self.factors:
            matrix = sparse.csr_array(sparse.kron(matrix, sparse.csr_array(factor.matrix)))
        return MatrixStrategy(self.name, self.measure, matrix.toarray(), self.row_weights())

    def unit_variances(self) -> Floats:
        check_held(self.rows, "the list of measurements")
        variances = kronecker(factor.unit_variances()[None] for factor in self.factors)[0]
        return np.asarray(variances / 2 ** (len(self.factors) - 1 if self.measure == "pure" else 0))

    def unit_covariance(self) -> CellCovariance:
        return self._covariance_of_factors(2.0 if self.measure == "pure" else 1.0)

    def _covariance_of_factors(self, variance: float) -> ProductCovariance:
        """Return the covariance where a row of precision 1 has this variance: 2 for Laplace noise of scale 1."""
        covariances = [self._factor_covariance(factor) for factor in self.factors]
        return ProductCovariance(tuple(covariances)).scaled(variance)

    def _factor_covariance(self, factor: MatrixStrategy) -> DenseCovariance:
        halved = factor.unit_variances() / (2 if self.measure == "pure" else 1)
        return factor._covariance(halved)

    def _covariance(self, variances: Floats) -> CellCovariance:
        """Return the covariance, for variances that are a common multiple of the strategy's own."""
        ratio = variances / self.unit_variances()
        if np.ptp(ratio) > 1e-6 * ratio.max():
            check_held(self.rows * self.cells, "the matrix of this product")
            return dense_covariance(self.shape, self._floats(), variances)
        return self.unit_covariance().scaled(float(ratio.mean()))

    def _floats(self) -> Floats:
        """Return the whole matrix as doubles, for small domains."""
        return kronecker(np.asarray(plain_array(factor.matrix), dtype=np.float64) for factor in self.factors)

    def _solve(self, noisy: Floats, variances: Floats) -> Floats:
        """Return the cells attribute by attribute: the inverse of a product is the product of inverses."""
        values = noisy.reshape(tuple(factor.rows for factor in self.factors))
        for axis, factor in enumerate(self.factors):
            noise = factor.unit_variances()
            inverse = factor._covariance(noise).matrix @ plain_array(factor.matrix.T / noise)
            values = np.moveaxis(np.tensordot(values, inverse, axes=(axis, 1)), -1, axis)
        return values

    def describing(self) -> bytes:
        return b"".join(factor.digest.encode() for factor in self.factors)


def _exact_along(factor: MatrixStrategy, values: list[int], before: int, after: int) -> list[int]:
    """Return a table before x cells x after with an integer matrix applied along the middle, exactly."""
    bound = max((abs(value) for value in values), default=0)
    table: Any = np.array(values, dtype=object if bound >= _ROOM else np.int64).reshape(before, factor.cells, after)
    lines = np.moveaxis(table, 1, 0).reshape(factor.cells, before * after)
    applied = exact_columns(factor.matrix, lines).reshape(factor.rows, before, after)
    return [int(entry) for entry in np.moveaxis(applied, 0, 1).ravel().tolist()]
