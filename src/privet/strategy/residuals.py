"""Strategies for marginals: weighted marginals for pure budgets, residuals for Gaussian noise, and their best weights.

Everything here is a sum over subsets of attributes; no table of the whole domain is ever made.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, Literal, cast

import numpy as np
from scipy import optimize as numerical

from privet.core.errors import BadParameter, InvariantError, RequestError
from privet.core.given import choice, is_a, listed, plain_text, set_fields
from privet.core.numbers import whole

from .centred_bases import CentredBasis, centred_basis
from .covariances import CellCovariance, DenseCovariance, SubspaceCovariance, subsets_of
from .given_numbers import read_integers, read_numbers
from .integer_products import exact_columns
from .strategies import Noise, Strategy, read_measure, read_workload
from .workloads import (
    LARGEST_WEIGHT,
    Axes,
    Floats,
    MarginalWorkload,
    RangeWorkload,
    Workload,
    check_held,
    marginal_of,
    read_axes,
    read_shape,
)

PRECISION = 2**20
_FINE_PRECISION = 2**40
_MOST_PATTERNS = 14
"""The most attributes for which every pattern of agreement between two cells is tried."""

_MOST_WAYS = 12

Objective = Literal["total", "largest"]


def closure(subsets: Iterable[Axes]) -> list[Axes]:
    """Return every subset of the given ones, smaller ones first."""
    closed: set[Axes] = set()
    for axes in subsets:
        if len(axes) > _MOST_WAYS:
            raise RequestError(
                f"a marginal of {len(axes)} attributes has {2 ** len(axes):,} parts; use at most {_MOST_WAYS}"
            )
        closed.update(subsets_of(axes))
    return sorted(closed, key=lambda axes: (len(axes), axes))


@dataclass(frozen=True, eq=False)
class SparseCounts:
    """Exact counts of the cells that have rows: where each is, attribute by attribute, and its count."""

    places: Any
    """An array of integers: a row for each cell, a column for each attribute."""
    counts: Sequence[int]

    def __repr__(self) -> str:
        return "SparseCounts(exact)"


class _Marginals(Strategy):
    """What strategies of marginals share: one weight per subset of attributes."""

    sizes: tuple[int, ...]
    subsets: tuple[Axes, ...]
    weights: tuple[int, ...]

    @property
    def shape(self) -> tuple[int, ...]:  # type: ignore[override]  # read only
        return self.sizes

    def _check(self) -> None:
        name, sizes = plain_text(self.name, "name"), read_shape(self.sizes, "sizes")
        every = listed(self.subsets, "subsets", "subsets of attributes")
        subsets = tuple(read_axes(axes, len(sizes)) for axes in every)
        weights = tuple(
            whole(weight, "weights", least=1, most=LARGEST_WEIGHT)
            for weight in listed(self.weights, "weights", "a whole number for each subset")
        )
        if not subsets or len(set(subsets)) < len(subsets) or len(weights) != len(subsets):
            raise RequestError("a strategy of marginals needs subsets of attributes, once each, and a weight for each")
        set_fields(self, name=name, sizes=sizes, subsets=subsets, weights=weights)

    def _tables(self, counts: Any) -> list[Any]:
        """Return the exact marginals of exact counts, of every cell or of those that have rows."""
        if isinstance(counts, SparseCounts):
            return [self._table(counts, axes) for axes in self.subsets]
        check_held(self.cells)
        integers = read_integers(counts, "counts", self.cells)
        kind: Any = np.int64 if sum(map(abs, integers)) < 2**62 else object
        table: Any = np.array(integers, dtype=kind).reshape(self.sizes)
        return [np.asarray(marginal_of(table, axes)) for axes in self.subsets]

    def _table(self, given: SparseCounts, axes: Axes) -> Any:
        """Return one marginal of sparse counts, in integers that cannot overflow."""
        kind: Any = np.int64 if sum(map(abs, given.counts)) < 2**62 else object
        sizes = self._marginal_sizes(axes)
        sums: Any = np.zeros(math.prod(sizes), dtype=kind)
        if len(given.counts):
            strides = np.cumprod((1, *reversed(sizes)))[:-1][::-1]
            np.add.at(sums, given.places[:, list(axes)] @ strides, np.array(given.counts, dtype=kind))
        return sums.reshape(sizes)

    def residuals(self, noisy: Floats, variances: Floats) -> dict[Axes, Floats]:
        """Return the least squares estimate of each centred marginal that is measured, by its attributes."""
        return self._residuals(self._read_noisy(noisy), self._read_variances(variances))

    @abstractmethod
    def _residuals(self, noisy: Floats, variances: Floats) -> dict[Axes, Floats]: ...

    def describing(self) -> bytes:
        return f"{type(self).__name__} {self.subsets} {self.weights}".encode()

    def _marginal_sizes(self, axes: Axes) -> tuple[int, ...]:
        """Return the sizes of the attributes of a marginal."""
        return tuple(self.sizes[axis] for axis in axes)


@dataclass(frozen=True, eq=False, repr=False)
class MarginalStrategy(_Marginals):
    """A strategy that measures whole marginals, each with a weight.

    Every cell is in one cell of each marginal: the norm of every column is the sum of the weights. A'QA has the
    subspaces of `SubspaceCovariance` for eigenspaces, that of A with the sum over measured B that contain A of q_B
    times the number of cells that one cell of B sums over.

    Example:
        >>> found = strategy.MarginalStrategy("pure", (2, 3), ((0,), (0, 1)), (1, 2))
        >>> found.rows, found.column_norm()
        (8, Fraction(3, 1))

    Guarantee: exact norms for add-remove. Two cells that agree nowhere differ in both cells of each marginal but the
    total, in each measure, so that the norm of pairs is twice the sum of the other weights.
    Cites: [MMHM18, marginals].
    """

    measure: Noise
    sizes: tuple[int, ...]
    subsets: tuple[Axes, ...]
    weights: tuple[int, ...]
    name: str = "weighted marginals"

    def __post_init__(self) -> None:
        set_fields(self, measure=read_measure(self.measure))
        self._check()

    @property
    def rows(self) -> int:
        return sum(math.prod(self._marginal_sizes(axes)) for axes in self.subsets)

    def row_weights(self) -> list[int]:
        check_held(self.rows, "the list of measurements")
        pairs = zip(self.subsets, self.weights, strict=True)
        return [weight for axes, weight in pairs for _ in range(math.prod(self._marginal_sizes(axes)))]

    def apply(self, counts: Iterable[int]) -> list[int]:
        return [int(cell) for table in self._tables(counts) for cell in table.ravel().tolist()]

    def column_norm(self) -> Fraction:
        return Fraction(sum(self.weights))

    def pair_norm(self) -> Fraction:
        moved = sum(
            weight
            for axes, weight in zip(self.subsets, self.weights, strict=True)
            if any(self.sizes[axis] > 1 for axis in axes)
        )
        return Fraction(max(2 * moved, sum(self.weights)))

    def _covariance(self, variances: Floats) -> SubspaceCovariance:
        return SubspaceCovariance(self.sizes, {axes: 1 / value for axes, value in self._eigenvalues(variances).items()})

    def unit_covariance(self) -> CellCovariance:
        norm = float(self.column_norm())
        weights = np.array(self.weights, dtype=np.float64)
        return self._of_levels(2 * (norm / weights) ** 2 if self.measure == "pure" else norm / weights)

    def _of_levels(self, noises: Floats) -> SubspaceCovariance:
        levels = self._by_levels(dict(zip(self.subsets, noises.tolist(), strict=True)))
        return SubspaceCovariance(self.sizes, {axes: 1 / value for axes, value in levels.items()})

    def _by_levels(self, noises: Mapping[Axes, float]) -> dict[Axes, float]:
        levels: dict[Axes, float] = {}
        for axes, noise in noises.items():
            others = self.cells / math.prod(self._marginal_sizes(axes))
            for inner in subsets_of(axes):
                levels[inner] = levels.get(inner, 0.0) + others / noise
        return levels

    def _eigenvalues(self, variances: Floats) -> dict[Axes, float]:
        return self._by_levels(dict(zip(self.subsets, self._noises(variances), strict=True)))

    def _noises(self, variances: Floats) -> list[float]:
        """Return the one variance of each marginal's cells."""
        noises, place = [], 0
        for axes in self.subsets:
            many = math.prod(self._marginal_sizes(axes))
            part = variances[place : place + many]
            if len(part) != many or np.ptp(part) > 1e-9 * part.max():
                raise RequestError("variances are the same for all cells of a marginal")
            noises.append(float(part[0]))
            place += many
        return noises

    def _residuals(self, noisy: Floats, variances: Floats) -> dict[Axes, Floats]:
        """Return the least squares estimate of each centred marginal that is measured in some other."""
        values, place = noisy, 0
        weighted: dict[Axes, Floats] = {}
        precision: dict[Axes, float] = {}
        for axes, noise in zip(self.subsets, self._noises(variances), strict=True):
            sizes = self._marginal_sizes(axes)
            table = values[place : place + math.prod(sizes)].reshape(sizes)
            place += math.prod(sizes)
            for inner in subsets_of(axes):
                # summing over the other attributes of B multiplies the variance by the number of cells that are summed
                many = math.prod(self._marginal_sizes(axes)) / math.prod(self._marginal_sizes(inner))
                kept = tuple(axes.index(axis) for axis in inner)
                weight = 1 / (noise * many)
                weighted[inner] = weighted.get(inner, 0.0) + weight * centred(marginal_of(table, kept))
                precision[inner] = precision.get(inner, 0.0) + weight
        return {axes: np.asarray(total / precision[axes]) for axes, total in weighted.items()}

    def _solve(self, noisy: Floats, variances: Floats) -> Floats:
        return spread_out(self.sizes, self._residuals(noisy, variances))


@dataclass(frozen=True, eq=False, repr=False)
class ResidualStrategy(_Marginals):
    """The residual planner's strategy: of each subset of attributes, what its marginal adds to smaller ones.

    Of a marginal m on attributes A only H (m + z) is released, with z Gaussian on the fine grid, of variance
    s / weight, and H the product over A of differences with the first value. It depends on P z alone, P centring
    along each attribute, so that a cell moves it by the norm of P e: the product over A of (1 - 1/n), squared.

    An attribute with a basis has its rows B in place of H, before the noise: with b the columns of B, a cell moves that
    by |b| there, at most by sqrt(B.largest). The variance of z is s / weight times the product of B.largest over A.

    Args:
        sizes: the number of values of each attribute.
        subsets: the sets of attributes that are measured.
        weights: how precisely each is measured.
        name: what the strategy is called in tables.
        measure: "gaussian".
        bases: for each attribute a basis, or None for its single values; nothing if none has one.

    Example:
        >>> found = strategy.plan_residuals(strategy.all_marginals((2, 3, 4), ways=2))
        >>> round(found.column_norm() / found.scale, 12) == 1
        True

    Guarantee: norms are exact in rationals: the sum over A of weights times shares is largest where each attribute has
    its longest column, which is the same place for all A. Of all strategies for Gaussian noise, those with the weights
    of `plan_residuals` have the least total variance of the marginals. Change-one: the exact maximum over patterns of
    agreement for up to 14 attributes, else 4 times the norm, from the triangle inequality; with bases at most that: of
    b and b' there the norms are at most 1 and the product is from that of the least two to 1, in which the norm of the
    difference is linear for each attribute, and so largest at an end. Nothing of m + z but H is kept: `_differences_of`
    is applied before anything is released.
    Cites: [XHZK23], [HXTDZK26].
    """

    sizes: tuple[int, ...]
    subsets: tuple[Axes, ...]
    weights: tuple[int, ...]
    name: str = "residuals"
    measure: Noise = "gaussian"
    bases: tuple[CentredBasis | None, ...] = ()

    def __post_init__(self) -> None:
        set_fields(self, measure=read_measure(self.measure))
        if self.measure != "gaussian":
            raise RequestError(
                "residuals measure with Gaussian noise; for pure budgets use plan_marginals(..., 'pure')"
            )
        self._check()
        if any(self.sizes[axis] < 2 for axes in self.subsets for axis in axes):
            raise RequestError("an attribute with one value (sizes of 1) has no residual; leave it out of subsets")
        set_fields(self, bases=_read_bases(self.bases, self.sizes))

    @property
    def scale(self) -> int:
        """The number that weights are relative to: the norm that they were planned for."""
        return _FINE_PRECISION

    @property
    def rows(self) -> int:
        return sum(math.prod(size - 1 for size in self._marginal_sizes(axes)) for axes in self.subsets)

    def describing(self) -> bytes:
        """Return the weights and the bases; without bases, the description from before there were any."""
        digests = " ".join("-" if basis is None else basis.digest for basis in self.bases)
        return super().describing() + (f" {digests}".encode() if digests else b"")

    def row_weights(self) -> list[int]:
        raise RequestError("residuals are drawn marginal by marginal, not row by row; use `StrategyMeasure`")

    def apply(self, counts: Iterable[int]) -> list[int]:
        # rows of a basis have signs: their sums fit 64 bits, but differences of these, along many attributes, may not
        tables = (table.astype(object) if self.bases else table for table in self._measured_tables(counts))
        pairs = zip(self.subsets, tables, strict=True)
        return [int(entry) for axes, table in pairs for entry in self._differences_of(axes, table).ravel().tolist()]

    def _basis(self, axis: int) -> CentredBasis | None:
        """Return the basis of an attribute; None for its single values."""
        return self.bases[axis] if self.bases else None

    def _measured_tables(self, counts: Any) -> list[Any]:
        """Return what noise is added to: each exact marginal, with its bases applied."""
        return [self._in_bases(axes, table) for axes, table in zip(self.subsets, self._tables(counts), strict=True)]

    def _in_bases(self, axes: Axes, table: Any) -> Any:
        for place, axis in enumerate(axes):
            basis = self._basis(axis)
            if basis is not None:
                moved = np.moveaxis(table, place, 0)
                columns = exact_columns(basis.matrix, moved.reshape(len(moved), -1))
                table = np.moveaxis(columns.reshape(basis.rows, *moved.shape[1:]), 0, place)
        return table

    def _differences_of(self, axes: Axes, table: Any) -> Any:
        """Return the differences with the first value along each attribute without a basis, exactly."""
        return difference(table, [place for place, axis in enumerate(axes) if self._basis(axis) is None])

    def _draws(self, axes: Axes) -> int:
        """Return how many numbers are drawn for a subset of attributes."""
        return math.prod(self.sizes[axis] - (self._basis(axis) is not None) for axis in axes)

    def _unit(self, axes: Axes) -> int:
        """Return what variances of a subset are multiples of: the largest squared norms of its bases."""
        return math.prod(basis.largest for axis in axes if (basis := self._basis(axis)) is not None)

    def _share(self, axes: Axes) -> Fraction:
        """Return how far one row moves a subset, squared, in its unit."""
        plain = (1 - Fraction(1, self.sizes[axis]) for axis in axes if self._basis(axis) is None)
        return math.prod(plain, start=Fraction(1))

    def _product(self, axis: int, alike: bool) -> Fraction:
        """Return the product of what two cells move along an attribute; the least, where their values differ."""
        basis = self._basis(axis)
        if basis is None:
            return int(alike) - Fraction(1, self.sizes[axis])
        return Fraction(1) if alike else Fraction(basis.least_product, basis.largest)

    def column_norm(self) -> Fraction:
        pairs = zip(self.subsets, self.weights, strict=True)
        return sum((weight * self._share(axes) for axes, weight in pairs), Fraction(0))

    @cached_property
    def _pair_norm(self) -> Fraction:
        """Return the largest |P (e_x - e_y)|^2: 2 w_A (prod (1 - 1/n) - prod ([x = y] - 1/n)), summed over A."""
        norm = self.column_norm()
        if len(self.sizes) > _MOST_PATTERNS:
            return 4 * norm
        # the sum over A is a polynomial of degree 1 in each attribute's product: all patterns at once, axis by axis
        used = sorted({axis for axes in self.subsets for axis in axes})
        sums: Any = np.zeros((2,) * len(used), dtype=object)
        for axes, weight in zip(self.subsets, self.weights, strict=True):
            sums[tuple(int(axis in axes) for axis in used)] = 2 * weight
        whole = 1
        for place, axis in enumerate(used):
            products = [self._product(axis, alike) for alike in (True, False)]
            common = math.lcm(*(product.denominator for product in products))
            without, within = np.take(sums, 0, axis=place), np.take(sums, 1, axis=place)
            sums = np.stack([common * without + int(common * product) * within for product in products], axis=place)
            whole *= common
        return max(norm, 2 * norm - Fraction(int(sums.min()), whole))

    def pair_norm(self) -> Fraction:
        return self._pair_norm

    def unit_variances(self) -> Floats:
        """Return the variance of z for each subset at unit cost, instead of one for each row."""
        variances = float(self.column_norm()) / np.array(self.weights, dtype=np.float64)
        return (
            variances * np.array([self._unit(axes) for axes in self.subsets], dtype=np.float64)
            if self.bases
            else variances
        )

    def _read_variances(self, variances: object) -> Floats:
        return read_numbers(variances, "variances", len(self.subsets), "subsets", positive=True)

    def _covariance(self, variances: Floats) -> SubspaceCovariance:
        """Return the covariance, given the variance of z for each subset."""
        values = {}
        for axes, noise in zip(self.subsets, variances.tolist(), strict=True):
            values[axes] = noise * math.prod(self._marginal_sizes(axes)) / self.cells
        used = {axis for axes in self.subsets for axis in axes}
        bases = {axis: basis.inner for axis in sorted(used) if (basis := self._basis(axis)) is not None}
        return SubspaceCovariance(self.sizes, values, bases)

    def _residuals(self, noisy: Floats, variances: Floats) -> dict[Axes, Floats]:
        """Return each centred marginal from its differences; each is measured once, so variances do not enter."""
        values, place = noisy, 0
        parts = {}
        for axes in self.subsets:
            sizes = tuple(size - 1 for size in self._marginal_sizes(axes))
            table = values[place : place + math.prod(sizes)].reshape(sizes)
            place += math.prod(sizes)
            for axis, attribute in enumerate(axes):
                basis = self._basis(attribute)
                if basis is not None:
                    table = np.moveaxis(np.tensordot(table, basis.inverse, axes=(axis, 1)), -1, axis)
                    continue
                zeros = np.zeros([1 if other == axis else size for other, size in enumerate(table.shape)])
                table = np.concatenate([zeros, table], axis=axis)
                table = table - table.mean(axis=axis, keepdims=True)
            parts[axes] = table
        return parts

    def _solve(self, noisy: Floats, variances: Floats) -> Floats:
        check_held(self.cells)
        return spread_out(self.sizes, self._residuals(noisy, variances))


def _read_bases(bases: object, sizes: tuple[int, ...]) -> tuple[CentredBasis | None, ...]:
    every = tuple(listed(bases, "bases", "a basis for each attribute, or None"))
    if not every:
        return ()
    if len(every) != len(sizes):
        raise RequestError(f"bases has a basis, or None, for each of {len(sizes)} attributes; got {len(every)}")
    for axis, (basis, size) in enumerate(zip(every, sizes, strict=True)):
        if basis is not None and not is_a(basis, CentredBasis):
            raise BadParameter("bases", type(basis).__name__, "a CentredBasis for each attribute, or None")
        if basis is not None and basis.cells != size:
            raise RequestError(f"the basis of attribute {axis} has {basis.cells} values, and the attribute {size}")
    return every if any(basis is not None for basis in every) else ()


def difference(table: Any, axes: Iterable[int] | None = None) -> Any:
    """Return the differences with the first value along these attributes, or along each, exactly."""
    for axis in range(table.ndim) if axes is None else axes:
        rest = np.take(table, range(1, table.shape[axis]), axis=axis)
        table = rest - np.take(table, [0], axis=axis)
    return table


def centred(table: Floats) -> Floats:
    """Return a table less its means, along each attribute."""
    for axis in range(table.ndim):
        table = table - table.mean(axis=axis, keepdims=True)
    return table


def spread_out(sizes: tuple[int, ...], residuals: Mapping[Axes, Floats]) -> Floats:
    """Return the table over the whole domain that has these centred marginals, and no others."""
    check_held(math.prod(sizes))
    spread = np.zeros(sizes)
    for axes, table in residuals.items():
        places = [slice(None) if axis in axes else None for axis in range(len(sizes))]
        others = math.prod(size for axis, size in enumerate(sizes) if axis not in axes)
        spread += table[tuple(places)] / others
    return spread


def marginal_from(residuals: Mapping[Axes, Floats], sizes: tuple[int, ...], axes: Axes) -> Floats:
    """Return a marginal from the centred marginals of all subsets of its attributes."""
    table = np.zeros(tuple(sizes[axis] for axis in axes))
    for inner in subsets_of(axes):
        if any(sizes[axis] == 1 for axis in inner):
            continue  # nothing varies along an attribute of one value
        places = [slice(None) if axis in inner else None for axis in axes]
        others = math.prod(sizes[axis] for axis in axes if axis not in inner)
        table += residuals[inner][tuple(places)] / others
    return table


# The best precision of each residual.
#
# With z of variance v_A on the marginal of A, a cell of the marginal on B has the variance
# sum over A within B of v_A prod_A (1 - 1/n) prod_(B less A) 1/n^2, and one row costs sum_A prod_A (1 - 1/n) / v_A.
#
# An attribute for which W is asked has a basis. With M = (B'B)^+ and p its largest squared column, and v_A in units of
# p, a query of W has on average p tr(W M W') / |W| for (1 - 1/n) of variances, |W 1|^2 / (n^2 |W|) for 1/n^2, and 1 for
# (1 - 1/n) of costs. The best total is (sum_A sqrt(u_A c_A))^2, a product over attributes of roots of tr(W M W') p and
# of |W 1|: so the best basis of each is that of the least tr(W M W') p, whatever the others are.


def plan_residuals(workload: MarginalWorkload, *, objective: Objective = "total") -> ResidualStrategy:
    """Return the residual planner's strategy: the least total variance, or the least of the largest variance.

    Args:
        workload: the marginals; weights multiply squared errors.
        objective: "total", or "largest": the largest over marginals of weight times the (mean) variance of a query.

    Example:
        >>> pairs = strategy.all_marginals((2, 3, 4), ways=2)
        >>> round(strategy.plan_residuals(pairs).rmse(pairs), 4)
        1.3985

    Guarantee: "total" is the exact optimum over all strategies for Gaussian noise, up to rounding weights to 40 bits.
    Where workloads are asked for along attributes, it is that of all strategies of residuals, whatever their bases, up
    to 1e-4, or 3e-3 along more than 256 values; others can be better by some percent where few tables are asked for.
    Cites: [XHZK23], [HXTDZK26].
    """
    read_workload(workload, MarginalWorkload)
    objective = cast(Objective, choice(objective, "objective", ("total", "largest")))
    problem = _Problem(workload)
    importance = np.array(workload.weights) * np.array([workload._mass_of(axes) for axes in workload.subsets])
    if objective == "largest":
        importance = problem.least_favourable(np.array(workload.weights))
    variances = problem.best(importance)
    precision = 1 / variances
    weights = np.maximum(np.rint(precision * _FINE_PRECISION), 1).astype(np.int64)
    kept = [place for place, axes in enumerate(problem.parts) if problem.prices[place] > 0]
    return ResidualStrategy(
        workload.sizes,
        tuple(problem.parts[place] for place in kept),
        tuple(int(weights[place]) for place in kept),
        name="residuals" if objective == "total" else "residuals, largest variance",
        bases=problem.bases,
    )


def _bases_for(workload: MarginalWorkload) -> tuple[CentredBasis | None, ...]:
    """Return the best basis for each attribute along which more is asked than its single values."""
    used = {axis for axes in workload.subsets for axis in axes if workload.sizes[axis] > 1}
    bases: list[CentredBasis | None] = []
    for axis in range(len(workload.sizes)):
        factor = workload._factor(axis)
        listed_only = isinstance(factor, RangeWorkload) and factor.name == "identity"
        bases.append(None if factor is None or axis not in used or listed_only else centred_basis(factor))
    return tuple(bases) if any(bases) else ()


def _shares_along(workload: MarginalWorkload, axis: int, basis: CentredBasis) -> tuple[float, float]:
    """Return the mean variance of a query along an attribute where others vary, and where it does itself."""
    factor, size = workload._factor(axis), workload.sizes[axis]
    if factor is None:
        raise InvariantError("an attribute has a basis for what is asked along it")
    flat = DenseCovariance((size,), np.full((size, size), 1 / size**2))
    varied = DenseCovariance((size,), basis.inner)
    return (
        factor.total_variance(flat) / factor.mass,
        factor.total_variance(varied) / factor.mass * basis.largest,
    )


class _Problem:
    """The variances of marginals as linear functions of those of residuals, and the price of each."""

    def __init__(self, workload: MarginalWorkload) -> None:
        from scipy import sparse

        sizes = workload.sizes
        self.parts = [axes for axes in closure(workload.subsets) if all(sizes[axis] > 1 for axis in axes)]
        place = {axes: number for number, axes in enumerate(self.parts)}
        self.bases = _bases_for(workload)
        moved = [1 - 1 / size for size in sizes]
        parts = {axis: _shares_along(workload, axis, basis) for axis, basis in enumerate(self.bases) if basis}
        self.prices = np.array(
            [math.prod(1.0 if axis in parts else moved[axis] for axis in axes) for axes in self.parts]
        )
        rows, columns, values = [], [], []
        for row, axes in enumerate(workload.subsets):
            for inner in subsets_of(axes):
                if inner in place:
                    others = math.prod(sizes[axis] for axis in axes if axis not in inner and axis not in parts)
                    along = math.prod(parts[axis][axis in inner] for axis in axes if axis in parts)
                    rows.append(row)
                    columns.append(place[inner])
                    values.append(self.prices[place[inner]] / others**2 * along)
        self.shares = sparse.csr_array((values, (rows, columns)), shape=(len(workload.subsets), len(self.parts)))

    def best(self, importance: Floats) -> Floats:
        """Return the variances of residuals that minimise the weighted variances at a price of 1.

        min sum u v with sum p / v = 1 is reached at v = sqrt(p / u) sum sqrt(p u).
        """
        pull = np.maximum(self.shares.T @ importance, 1e-300)
        return np.asarray(np.sqrt(self.prices / pull) * np.sum(np.sqrt(self.prices * pull)))

    def least_favourable(self, weights: Floats) -> Floats:
        """Return the weights of marginals for which the best total is largest.

        The least of the largest weighted variance is the largest over such weights u of the least weighted sum, by
        duality; that least sum is concave in u, and its slope is the vector of the weighted variances themselves.
        """
        scale = np.where(weights > 0, weights, 0.0)

        def loss(logs: Floats) -> tuple[float, Floats]:
            share = np.exp(logs - logs.max())
            share /= share.sum()
            importance = share * scale
            gains = scale * (self.shares @ self.best(importance))
            value = float(share @ gains)
            return -math.log(value), -share * (gains - value) / value

        start = np.zeros(len(scale))
        solution = numerical.minimize(
            loss, start, jac=True, method="L-BFGS-B", options={"maxiter": 500, "ftol": 1e-13, "gtol": 1e-9}
        )
        share = np.exp(solution.x - solution.x.max())
        return np.asarray(share / share.sum() * scale)


def _traces_of(factor: Workload) -> tuple[float, float]:
    """Return the traces of W'W J and of W'W P: 1 and n - 1 for single values."""
    size = factor.cells
    flat = np.full((size, size), 1 / size)
    on_flat, on_varied = (factor.total_variance(DenseCovariance((size,), part)) for part in (flat, np.eye(size) - flat))
    return on_flat, on_varied


def plan_marginals(workload: MarginalWorkload, *, measure: Noise) -> MarginalStrategy:
    """Return the best weights found for measuring whole marginals, those asked for and ones that contain them.

    Candidates are the marginals that are asked for, all of their subsets, and, if it has at most 2**20 cells, the whole
    table. Meant for pure budgets; for Gaussian noise residuals are better.

    Example:
        >>> pairs = strategy.all_marginals((2, 3, 4), ways=2)
        >>> strategy.plan_marginals(pairs, measure="pure").rmse(pairs) < 2 * 3 ** 0.5 * 2 ** 0.5
        True
    """
    read_workload(workload, MarginalWorkload)
    measure = read_measure(measure)
    power = 1 if measure == "pure" else 2
    parts = closure(workload.subsets)
    whole_table = tuple(range(len(workload.sizes)))
    if whole_table not in parts and workload.cells <= 2**20:
        parts.append(whole_table)
    place = {axes: number for number, axes in enumerate(parts)}
    cells = np.array([float(workload._cells_of(axes)) for axes in parts])
    inside = [np.array([place[inner] for inner in subsets_of(axes) if inner in place]) for axes in parts]
    # the trace of W'W on the subspace of A, in units in which the eigenvalue for B counts 1 / cells of B
    along = {axis: _traces_of(factor) for axis, factor in enumerate(workload.factors) if factor is not None}
    traces = np.zeros(len(parts))
    for axes, weight in zip(workload.subsets, workload.weights, strict=True):
        for inner in subsets_of(axes):
            freedom = math.prod(along[axis][1] if axis in along else workload.sizes[axis] - 1 for axis in inner)
            flat = math.prod(along[axis][0] for axis in axes if axis in along and axis not in inner)
            traces[place[inner]] += weight * freedom * flat / workload._cells_of(axes)

    def loss(logs: Floats) -> tuple[float, Floats]:
        share = np.exp(logs - logs.max())
        norm = share.sum()
        precision = share ** (3 - power)
        values = np.zeros(len(parts))
        for index, places in enumerate(inside):
            values[places] += precision[index] / cells[index]
        values = np.maximum(values, 1e-300)
        terms = np.where(traces > 0, traces / values, 0.0)
        spent = float(terms.sum())
        slope = np.array([float((terms[places] / values[places]).sum()) for places in inside]) / cells
        factor = 3 - power
        return math.log(spent) + factor * math.log(norm), factor * (share / norm - slope * precision / spent)

    start = np.zeros(len(parts))
    solution = numerical.minimize(loss, start, jac=True, method="L-BFGS-B", bounds=numerical.Bounds(-30, 30))
    raw = np.exp(solution.x - solution.x.max())
    weights = np.rint(raw * PRECISION).astype(np.int64)
    kept = [number for number in range(len(parts)) if weights[number] >= PRECISION // 10_000]
    covered = set(closure(parts[number] for number in kept))
    for number, axes in enumerate(parts):
        if axes in workload.subsets and axes not in covered:
            kept.append(number)
    kept.sort()
    return MarginalStrategy(
        measure,
        workload.sizes,
        tuple(parts[number] for number in kept),
        tuple(max(int(weights[number]), 1) for number in kept),
    )
