"""From noisy measurements to answers: least squares, further public facts, and an interval for every answer.

All of it is post-processing of released numbers. Variances are closed forms, and they belong to the unconstrained
estimate: an interval is that estimate's, cut to public facts; a constrained estimate never has its own variance.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from privet.core.errors import BadParameter, RequestError
from privet.core.given import instance, listed, set_fields, truth, unwrapped
from privet.core.numbers import Number, nonnegative, open_probability

from .covariances import CellCovariance, NotMeasured, Span, SubspaceCovariance
from .given_numbers import read_numbers
from .laplace_sums import half_widths as half_widths
from .laplace_sums import noise_terms, shares_of, sum_widths
from .measured import StrategyMeasure
from .residuals import MarginalStrategy, ResidualStrategy, marginal_from
from .strategies import ProductStrategy, Strategy
from .unions import UnionStrategy
from .workloads import (
    Axes,
    Floats,
    MarginalWorkload,
    MatrixWorkload,
    ProductWorkload,
    RangeWorkload,
    Workload,
    check_held,
    marginals,
    ranges,
    total,
)

_ROUNDING = 1e-12
"""How far doubles are off, relative to a sum of counts: more than any noise where an answer is known."""

_COLUMNS = ("values", "low", "high", "plain", "deviations")


@dataclass(frozen=True, eq=False)
class Answers:
    """Estimated answers of a workload, each with an interval and its own variance.

    `values` are the constrained estimates, moved into their intervals; `plain` the unbiased ones, whose standard errors
    are `deviations`.

    Example:
        >>> cells = strategy.identity_strategy(2, measure="gaussian")
        >>> measure = strategy.StrategyMeasure(cells, rho=0.5, neighbors="add-remove")
        >>> found = strategy.reconstruct(measure, [3, -1]).answers(strategy.total(2))
        >>> found.values.tolist(), found.deviations.round(3).tolist()
        ([2.0], [1.414])
    """

    values: Floats
    low: Floats
    high: Floats
    plain: Floats
    deviations: Floats
    confidence: float

    def __post_init__(self) -> None:
        for name in _COLUMNS:
            held = unwrapped(getattr(self, name))
            many = len(listed(held, name, "a list of numbers"))
            set_fields(self, **{name: read_numbers(held, name, many, "answers")})
        if len({getattr(self, name).size for name in _COLUMNS}) > 1:
            raise RequestError(f"{', '.join(_COLUMNS)} have one number for each answer")
        set_fields(self, confidence=float(open_probability(self.confidence, "confidence")))

    def __len__(self) -> int:
        return len(self.values)


@dataclass(frozen=True, eq=False)
class Reconstruction:
    """Every cell as least squares estimates it from one release; any query of its row space can be asked, for free.

    Args:
        measure: the measures and their noise.
        noisy: the released numbers.
        nonnegative: whether counts are known not to be negative.
        whole: whether counts are known to be whole numbers.
        total: the sum of all cells, only where it is public independently: never one that was computed from the data.

    Example:
        >>> tree = strategy.tree(4, measure="pure")
        >>> measure = strategy.StrategyMeasure(tree, epsilon=1, neighbors="add-remove")
        >>> found = strategy.Reconstruction(measure, [10, 7, 3, 5, 2, 2, 1])
        >>> found.answers(strategy.total(4)).values.tolist()
        [10.0]

    Guarantee: without constraints each estimate is unbiased and has the least variance of all linear unbiased ones.
    Each interval covers the true answer with at least its confidence, with constraints or without, for noise that is
    wide against the integers: it is the unconstrained one cut to values that are known to be possible.
    Cites: [LMHMR15], [HRMS10].
    """

    measure: StrategyMeasure
    noisy: Floats
    nonnegative: bool = False
    whole: bool = False
    total: float | None = None

    def __post_init__(self) -> None:
        instance(self.measure, StrategyMeasure, "measure", "a StrategyMeasure")
        numbers = read_numbers(self.noisy, "noisy", self.strategy.rows, "measurements")
        numbers.setflags(write=False)
        if self.total is not None:
            set_fields(self, total=_read_total(self.total))
        if self.total is not None and self.measure.neighbors == "add-remove":
            raise RequestError(
                "under add-remove neighbours the number of rows is private, so there is no known total; measure it, or "
                "declare neighbors='change-one' where the number of rows is public"
            )
        set_fields(self, noisy=numbers)
        for name in ("nonnegative", "whole"):
            set_fields(self, **{name: truth(getattr(self, name), name)})

    @property
    def strategy(self) -> Strategy:
        """The measured strategy."""
        return self.measure.strategy

    @property
    def covariance(self) -> CellCovariance:
        """The covariance of the cells' unconstrained estimates."""
        return self.measure.covariance

    @cached_property
    def cells(self) -> Floats:
        """The unconstrained estimate of every cell."""
        return self.strategy.solve(self.noisy, self._variances()).reshape(self.strategy.shape)

    @cached_property
    def constrained_cells(self) -> Floats:
        """The estimate of every cell with all that is known: closest to the unconstrained one, then rounded.

        Without negative cells, the closest table with the same total (or the known one) is the table less a constant,
        cut at 0. Whole numbers are rounded so that their total is kept. Its sums may be far off where most cells are
        empty, so that `answers` uses it only where the total is known, or for whole numbers that may be negative.
        """
        cells = self._cells_of_total
        goal = self.total
        if self.nonnegative:
            cells = nearest_counts(cells, max(float(cells.sum()), 0.0) if goal is None else goal)
        elif goal is not None:
            cells = cells + (goal - cells.sum()) / cells.size  # nothing, where the total is measured
        return _whole(cells) if self.whole else cells

    @cached_property
    def _cells_of_total(self) -> Floats:
        """The estimate of every cell that has the known total, if there is one: unbiased, and of less variance."""
        if self.total is None or self._pull is None:
            return self.cells
        return np.asarray(self.cells + (self.total - self.cells.sum()) * self._pull)

    @cached_property
    def residuals(self) -> dict[Axes, Floats]:
        """The centred marginals of a strategy of marginals, from which marginals follow without the whole table."""
        if not isinstance(self.strategy, (MarginalStrategy, ResidualStrategy)):
            raise RequestError("only strategies of marginals have residuals")
        residuals = self.strategy.residuals(self.noisy, self._variances())
        if self.total is not None and () in residuals:
            residuals[()] = np.array(self.total)
        return residuals

    def answers(self, workload: Workload, *, confidence: Number = 0.95) -> Answers:
        """Return the answer of every query, with its interval and its standard error.

        Args:
            workload: the queries, over the strategy's domain.
            confidence: the pointwise confidence level of the intervals.

        Raises:
            RequestError: if a query is not determined by the measurements.
        """
        instance(workload, Workload, "workload", "a workload, such as all_ranges(64)")
        if workload.shape != self.strategy.shape:
            raise RequestError(
                f"the workload is over a domain of shape {workload.shape}, the strategy of {self.strategy.shape}"
            )
        check_held(workload.queries, "the list of answers")
        level = float(open_probability(confidence, "confidence"))
        _check_level(level, self.strategy)
        deviations = np.sqrt(self._answer_variances(workload))
        plain = self._plain(workload)
        half = deviations * self._widths(workload, level)
        if self.total is not None:
            half = half + _ROUNDING * np.maximum(np.abs(plain), 1.0)  # what the total alone fixes has no noise
        low, high = plain - half, plain + half
        values = plain if self._free else self._constrained(workload)
        low, high = self._possible(workload, low, high)
        return Answers(np.clip(values, low, high), low, high, plain, deviations, level)

    def _possible(self, workload: Workload, low: Floats, high: Floats) -> tuple[Floats, Floats]:
        """Return the ends of intervals cut to public facts."""
        if not _counts(workload):
            return low, high
        if self.nonnegative:
            top = math.inf if self.total is None else self.total
            low, high = np.clip(low, 0.0, top), np.clip(high, 0.0, top)
        if self.whole:
            up, down = np.ceil(low - 1e-9), np.floor(high + 1e-9)
            between = up > down  # no whole number inside: both of its neighbours
            low, high = np.where(between, np.floor(low), up), np.where(between, np.ceil(high), down)
        return low, high

    def _widths(self, workload: Workload, level: float) -> Floats | float:
        """Return the half-width of each interval in standard deviations.

        Laplace noise lies on the integers: in absolute value it is at most half a step above noise without a grid, in
        distribution. So half a step of each measurement is added, in the square, unless all noise is 0 often enough.
        """
        wide = half_widths(level, self.strategy.measure)
        if self.strategy.measure == "gaussian":
            return wide
        shares = shares_of(workload, self.strategy, self._terms)
        return self._half_step(level) + (wide if shares is None else sum_widths(level, *shares))

    def _half_step(self, level: float) -> float:
        """Return half a step of the grid of Laplace noise in the deviations of its narrowest; 0 for other noise."""
        if self.strategy.measure == "gaussian":
            return 0.0
        variances = self.measure.variances * 4.0**self.measure.shift  # in squared steps
        often = float(variances.sum()) > 1 - level  # integer noise is not 0 with at most its variance as probability
        return 0.5 / math.sqrt(float(variances.min())) if often else 0.0

    @cached_property
    def _terms(self) -> Floats | None:
        """What the noise of each measurement adds to each cell, after a known total has been used."""
        terms = noise_terms(self.strategy, self._variances())
        if terms is None or self._pull is None:
            return terms
        return np.asarray(terms - np.outer(self._pull.ravel(), terms.sum(axis=0)))

    @cached_property
    def _pull(self) -> Floats | None:
        """The part of the gap between a known total and its estimate that each cell takes, where it is measured.

        A total without error beside the measurements: cells move by their covariance with the total.
        """
        if self.total is None or not self._total_measured:
            return None
        with_total = self.covariance.with_total()
        return np.asarray(with_total / with_total.sum())

    @property
    def _total_measured(self) -> bool:
        if isinstance(self.covariance, SubspaceCovariance):
            return () in self.covariance.values
        try:
            spread = total_of(self.strategy.shape).total_variance(self.covariance)
        except NotMeasured:
            return False
        return spread > 0

    def _answer_variances(self, workload: Workload) -> Floats:
        """Return the variance of each answer: by what the known total explains of it less than that of the release."""
        if self.total is None or not self._total_measured:
            return workload.variances(self.covariance)
        if isinstance(self.covariance, SubspaceCovariance):
            known = {axes: value if axes else 0.0 for axes, value in self.covariance.values.items()}
            return workload.variances(replace(self.covariance, values=known))
        with_total = self.covariance.with_total()
        explained = workload.answers(with_total) ** 2 / with_total.sum()
        return np.asarray(np.maximum(workload.variances(self.covariance) - explained, 0.0))

    @property
    def _free(self) -> bool:
        return not self.nonnegative and not self.whole and self.total is None

    def _variances(self) -> Floats:
        if isinstance(self.strategy, (ProductStrategy, UnionStrategy)) and self.strategy.rows > 2**20:
            return np.ones(self.strategy.rows)  # not asked for: what all rows have in common is known from the price
        return self.measure.variances

    def _plain(self, workload: Workload) -> Floats:
        if isinstance(workload, MarginalWorkload) and isinstance(self.covariance, SubspaceCovariance):
            tables = [(axes, marginal_from(self.residuals, workload.sizes, axes)) for axes in workload.subsets]
            return np.concatenate([workload._asked_of(table, axes) for axes, table in tables])
        return workload.answers(self._cells_of_total)

    def _constrained(self, workload: Workload) -> Floats:
        """Return the estimates with all that is known.

        Without a known total, each answer is cut at 0 separately where it cannot be negative: so it is never further
        from the truth. The nearest table of counts would spread the excess over all cells, and move every long range by
        it.
        """
        if self.nonnegative and self.total is None and _counts(workload):
            cut = np.maximum(self._plain(workload), 0.0)
            return np.rint(cut) if self.whole else cut
        if self.strategy.cells > 2**25 or (isinstance(self.covariance, SubspaceCovariance) and not self._complete):
            estimates = self._plain(workload)  # no table of the whole domain: each answer separately
            if self.nonnegative:
                estimates = np.maximum(estimates, 0.0)
            return np.rint(estimates) if self.whole else estimates
        return workload.answers(self.constrained_cells)

    @property
    def _complete(self) -> bool:
        return (
            isinstance(self.covariance, SubspaceCovariance)
            and tuple(axis for axis, size in enumerate(self.strategy.shape) if size > 1) in self.covariance.values
        )


def _check_level(level: float, strategy: Strategy) -> None:
    """Refuse confidence levels at which no interval is finite."""
    if not math.isfinite(half_widths(level, strategy.measure)):
        raise BadParameter("confidence", level, "below 1 by more than rounding")


def difference_of_counts(
    found: Reconstruction, one: Mapping[int, Span], other: Mapping[int, Span], level: float
) -> Answers:
    """Return how many more rows lie in some spans than in others, each from its first place to its last, by attributes.

    Guarantee: as for `Reconstruction.answers`: the variance is that of the difference itself, from the covariance of
    both counts.
    """
    covariance, sizes = found.covariance, found.strategy.shape
    _check_level(level, found.strategy)
    if not isinstance(covariance, SubspaceCovariance):
        row = _marked(sizes, one) - _marked(sizes, other)
        none = np.zeros(1)
        if not row.any():
            return _answers(none, none, none, level)
        return found.answers(_RowOfTable(row[None], sizes), confidence=level)
    if found.total is not None and () in covariance.values:
        covariance = replace(covariance, values={**covariance.values, (): 0.0})
    own = covariance.between(one, one) + covariance.between(other, other)
    deviation = np.sqrt(np.maximum([own - 2 * covariance.between(one, other)], 0.0))
    counts = []
    for each in (one, other):
        axes = tuple(sorted(axis for axis in each if sizes[axis] > 1))
        table = marginal_from(found.residuals, sizes, axes)
        counts.append(float(table[tuple(_slice(each[axis]) for axis in axes)].sum()))
    half = deviation * (half_widths(level, found.strategy.measure) + found._half_step(level))
    return _answers(np.array([counts[0] - counts[1]]), half, deviation, level)


@dataclass(frozen=True, eq=False)
class _RowOfTable(MatrixWorkload):
    """One linear combination of the cells of several attributes."""

    sizes: tuple[int, ...]

    @property
    def shape(self) -> tuple[int, ...]:  # type: ignore[override]  # read only
        return self.sizes

    def answers(self, counts: Any) -> Floats:
        return np.asarray(self.matrix @ self._read(counts).ravel())


def _answers(values: Floats, half: Floats, deviations: Floats, level: float) -> Answers:
    return Answers(values, values - half, values + half, values, deviations, level)


def workload_of_spans(shape: tuple[int, ...], spans: Mapping[int, Span]) -> MarginalWorkload:
    """Return the workload of one count: of the rows that lie in some spans, by attributes."""
    factors = {axis: ranges(shape[axis], [span]) for axis, span in spans.items()}
    return marginals(shape, [sorted(spans)], factors=factors)


def _slice(span: Span) -> slice:
    return slice(span[0], span[1] + 1)


def _marked(shape: tuple[int, ...], spans: Mapping[int, Span]) -> Floats:
    """Return 1 for every cell that lies in some spans, and 0 for the others."""
    check_held(math.prod(shape))
    marks = np.zeros(shape)
    marks[tuple(_slice(spans[axis]) if axis in spans else slice(None) for axis in range(len(shape)))] = 1.0
    return marks.ravel()


def total_of(shape: tuple[int, ...]) -> ProductWorkload:
    """Return the workload of one query, the sum of all cells."""
    return ProductWorkload(tuple(total(size) for size in shape))


def _read_total(total: object) -> float:
    known = nonnegative(total, "total")
    if known > LARGEST_TOTAL:
        raise BadParameter("total", total, "a public number from 0 to 2**100")
    return float(known)


LARGEST_TOTAL = 2**100
"""The largest total that may be known."""


def _counts(workload: Workload) -> bool:
    """Return whether every query is a count: a sum of cells, each once at most."""
    if isinstance(workload, MarginalWorkload):
        return all(factor is None or _counts(factor) for factor in workload.factors)
    if isinstance(workload, RangeWorkload):
        return True
    for name in ("factors", "parts"):
        if hasattr(workload, name):
            return all(_counts(part) for part in getattr(workload, name))
    rows = workload.rows()
    return bool(np.isin(rows, (0.0, 1.0)).all())


def nearest_counts(values: Floats, total: float) -> Floats:
    """Return the closest table of numbers of at least 0 with a given sum: the table less a constant, cut at 0."""
    flat = np.sort(values.ravel())[::-1]
    excess = (np.cumsum(flat) - total) / np.arange(1, flat.size + 1)
    inside = np.flatnonzero(flat > excess)
    shift = excess[inside[-1]] if len(inside) else flat[0] - total
    return np.asarray(np.maximum(values - shift, 0.0))


def _whole(values: Floats) -> Floats:
    """Return whole numbers with the nearest whole total: those with the largest fractions are rounded up."""
    down = np.floor(values)
    ups = round(float(values.sum() - down.sum()))
    order = np.argsort(-(values - down).ravel(), kind="stable")[:ups]
    rounded = down.ravel().copy()
    rounded[order] += 1
    return rounded.reshape(values.shape)


def reconstruct(
    measure: StrategyMeasure,
    noisy: Floats | Sequence[float],
    *,
    nonnegative: bool = False,
    whole: bool = False,
    total: float | None = None,
) -> Reconstruction:
    """Return the cells and answers that a release determines; see `Reconstruction` for the arguments.

    Example:
        >>> cells = strategy.identity_strategy(2, measure="pure")
        >>> measure = strategy.StrategyMeasure(cells, epsilon=1, neighbors="add-remove")
        >>> strategy.reconstruct(measure, [3, -1], nonnegative=True).answers(strategy.identity(2)).values.tolist()
        [3.0, 0.0]
    """
    return Reconstruction(measure, noisy, nonnegative, whole, total)  # type: ignore[arg-type]  # read there
