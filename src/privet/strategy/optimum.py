"""Choose a strategy for a workload: every one that fits is priced, and the one with the least error is returned."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal, cast, get_args

import numpy as np

from privet.core.errors import BadParameter, RequestError
from privet.core.given import choice, instance, listed, plain_text, set_fields
from privet.core.numbers import nonnegative, probability

from .covariances import NotMeasured
from .gaussian_program import gaussian_optimum, is_prefixes, square_root
from .given_numbers import read_progress
from .hierarchies import (
    Shares,
    TreeStrategy,
    best_tree_of,
    every_share,
    haar,
    haar_weights,
    identity_strategy,
    sums_and_differences,
    tree_total,
    workload_strategy,
)
from .kept import kept_part, kept_strategy
from .residuals import MarginalStrategy, plan_marginals, plan_residuals
from .several_attributes import best_product, best_union, products_of
from .spectral_roots import has_spectral, spectral
from .strategies import MatrixStrategy, Noise, ProductStrategy, Strategy, read_measure, read_workload
from .weighted_sums import p_identity
from .workloads import (
    MOST_CELLS,
    MOST_DENSE,
    MarginalWorkload,
    MatrixWorkload,
    ProductWorkload,
    Workload,
    check_dense,
    check_held,
)

Effort = Literal["low", "normal", "high"]
Progress = Callable[[str], None]

_DIRECT = 2**22
"""The most entries of a matrix of queries that are measured as they are."""

_CLOSED = 2048
"""Over more cells than this, errors of hierarchies are computed from their levels alone."""

_LATER = {"low": 0, "normal": 2**17, "high": 2**30}
"""The most rows x cells of a p-identity that is optimised."""

_QUICK = {"low": 256, "normal": 1024, "high": 4096}
"""The most cells for which the optimum for Gaussian noise is computed."""


@dataclass(frozen=True)
class Candidate:
    """A strategy's name, and its root mean squared error per query at epsilon 1, or at mu 1.

    Example:
        >>> strategy.optimize(strategy.total(4), measure="pure").table[0]
        Candidate(name='the queries', rmse=1.41421356)
    """

    name: str
    rmse: float

    def __post_init__(self) -> None:
        set_fields(self, name=plain_text(self.name, "name"), rmse=_read_rmse(self.rmse))


def _read_rmse(rmse: object) -> float:
    error = nonnegative(rmse, "rmse")
    if error > 2**1000:
        raise BadParameter("rmse", rmse, "a number from 0 to 2**1000")
    return float(error)


@dataclass(frozen=True, eq=False)
class Optimized:
    """The best strategy that was found, and what each of the others would have cost, best first.

    Example:
        >>> print(strategy.optimize(strategy.matrix([[1, 0, 1], [0, 1, 1]]), measure="pure"))
        sums and differences              2
        identity                          2
        weighted tree, 2 children a node  2
        p-identity, p = 1                 2
        weighted Haar wavelet             2.402
        the queries                       2.828
        tree, 3 children a node           2.828
    """

    strategy: Strategy
    rmse: float
    table: tuple[Candidate, ...]
    gained: float = 0.0
    """How far an optimisation brought the error below that of the best closed form or kept strategy, as a share."""

    def __post_init__(self) -> None:
        instance(self.strategy, Strategy, "strategy", "a strategy")
        every = listed(self.table, "table", "a list of candidates")
        table = tuple(instance(candidate, Candidate, "table", "a list of candidates") for candidate in every)
        if not table:
            raise BadParameter("table", self.table, "at least one candidate")
        gained = float(probability(self.gained, "gained"))
        set_fields(self, rmse=_read_rmse(self.rmse), table=table, gained=gained)

    def __str__(self) -> str:
        width = max(len(candidate.name) for candidate in self.table)
        return "\n".join(f"{candidate.name:{width}}  {candidate.rmse:.4g}" for candidate in self.table)


def optimize(
    workload: Workload, *, measure: Noise = "pure", effort: Effort = "normal", progress: Progress | None = None
) -> Optimized:
    """Return the strategy with the least mean squared error for a workload, with a table of all that were tried.

    Nothing here reads data, and nothing is charged.

    Args:
        workload: the queries that are to be answered.
        measure: "pure" for Laplace noise and a pure epsilon, "gaussian" for Gaussian noise.
        effort: "low" tries closed forms and kept strategies only; "normal" takes seconds; "high" may take minutes.
        progress: called with a line of text now and then.

    Raises:
        RequestError: if the domain cannot be held.

    Example:
        >>> lecture = strategy.matrix([[1, 0, 1], [0, 1, 1]])
        >>> best = strategy.optimize(lecture, measure="pure")
        >>> best.strategy.name, round(best.rmse ** 2, 6)
        ('sums and differences', 4.0)
    """
    read_workload(workload)
    noise = read_measure(measure)
    effort = cast(Effort, choice(effort, "effort", get_args(Effort)))
    report = read_progress(progress)
    _check_entries(workload)
    tried: list[_Rated] = []
    for candidate in _candidates(workload, noise, effort, report):
        tried.append(candidate if isinstance(candidate, _Rated) else _rated(candidate, workload))
        report(f"{tried[-1].name}: {tried[-1].rmse:.6g}")
    tried = sorted(
        (rated for rated in tried if math.isfinite(rated.rmse)), key=lambda rated: (rated.rmse, rated.strategy.rows)
    )
    if not tried:
        check_held(workload.cells)
        raise RequestError("no strategy fits this workload; ask for fewer attributes or wider bins")
    best = tried[0]
    table = tuple(Candidate(rated.name, rated.rmse) for rated in tried)
    before = next((rated for rated in tried if not rated.optimised), best)
    gained = 1 - best.rmse / before.rmse if best.rmse < before.rmse else 0.0
    if gained:
        report(f"{best.name}: {gained:.2%} less error than {before.name}, which takes no optimisation")
    elif any(rated.optimised for rated in tried):
        report(f"{best.name}: no optimisation gained anything over it")
    return Optimized(best.strategy, best.rmse, table, gained)


_LARGEST, _SMALLEST = 2.0**300, 2.0**-300


def _check_entries(workload: Workload) -> None:
    """Refuse matrices whose squares leave the range of doubles."""
    if isinstance(workload, MatrixWorkload):
        largest = float(np.abs(workload.matrix).max())
        if largest and not _SMALLEST <= largest <= _LARGEST:
            raise RequestError(
                f"the largest coefficient of the queries is {largest:.3g}, and squares of such numbers are no doubles; "
                f"scale the queries so that it is near 1"
            )
    for name in ("factors", "parts"):
        for part in getattr(workload, name, ()):
            _check_entries(part)


@dataclass(frozen=True)
class _Rated:
    """A strategy with its error: computed from its covariance, or in closed form for perfect hierarchies."""

    strategy: Strategy
    rmse: float
    optimised: bool = False

    @property
    def name(self) -> str:
        return self.strategy.name


def _rated(strategy: Strategy, workload: Workload, optimised: bool = False) -> _Rated:
    """Return a strategy with its error; infinite where it leaves out some of the workload."""
    try:
        return _Rated(strategy, _shown(strategy.rmse(workload)), optimised)
    except NotMeasured:
        return _Rated(strategy, math.inf, optimised)


def _shown(error: float) -> float:
    """Return an error to nine digits: beyond these, equal ones differ by rounding, and the fewest rows decide."""
    return float(f"{error:.8e}")


def _candidates(
    workload: Workload, noise: Noise, effort: Effort, progress: Progress | None
) -> Iterator[Strategy | _Rated]:
    if len(workload.shape) == 1:
        yield from _of_one(_single(workload), noise, effort, progress)
        return
    if isinstance(workload, MarginalWorkload):
        yield from _of_marginals(workload, noise)
    parts = products_of(workload)
    if max(workload.shape) > MOST_DENSE:
        check_dense(max(workload.shape))
    if workload.cells <= MOST_CELLS and len(parts) <= 10_000:

        def choose(factor: Workload) -> MatrixStrategy:
            return _best_factor(factor, noise, effort, progress)

        yield ProductStrategy(tuple(identity_strategy(size, measure=noise) for size in workload.shape))
        yield best_product(workload.shape, parts, noise, choose)
        if not isinstance(workload, MarginalWorkload):
            together = best_union(workload.shape, parts, noise, choose)
            if together is not None:
                yield together


def _best_factor(workload: Workload, noise: Noise, effort: Effort, progress: Progress | None) -> MatrixStrategy:
    best = optimize(workload, measure=noise, effort=effort, progress=progress).strategy
    if not isinstance(best, MatrixStrategy):
        raise RequestError("a factor of a product is a strategy over one attribute")
    return best


def _single(workload: Workload) -> Workload:
    """Return a workload over one attribute without the product around it."""
    return workload.factors[0] if isinstance(workload, ProductWorkload) else workload


def _of_one(workload: Workload, noise: Noise, effort: Effort, progress: Progress | None) -> Iterator[Strategy | _Rated]:
    n = workload.cells
    check_dense(n)
    yield identity_strategy(n, measure=noise)
    yield from _direct(workload, noise)
    if n == 1:
        return
    yield from _hierarchies(workload, noise)
    if noise == "pure":
        kept = kept_strategy(workload, noise)
        nearest = kept_part(workload, noise) if kept is None else kept
        if nearest is not None:
            yield nearest
        rows = min(max(n // 16, 1), 128)
        if (kept is None or effort == "high") and rows * n <= _LATER[effort]:
            high = effort == "high"
            steps, starts = (3000, 3) if high else (600, 1)
            yield _rated(p_identity(workload, iterations=steps, restarts=starts, progress=progress), workload, True)
        return
    if is_prefixes(workload):
        yield square_root(n)
    if has_spectral(workload) and n > _QUICK["low"]:
        yield spectral(workload)
    if n <= _QUICK[effort]:
        optimum = gaussian_optimum(workload, iterations=200 if effort == "high" else 40, progress=progress)
        yield _rated(optimum, workload, True)


def _hierarchies(workload: Workload, noise: Noise) -> Iterator[Strategy | _Rated]:
    """Yield trees and wavelets; over many cells with errors from their levels, which bound those of cut-off trees."""
    n = workload.cells
    shares = every_share(workload)
    trees: list[tuple[MatrixStrategy, float]] = []
    for weighted in (False, True):
        tree = best_tree_of(workload, noise, weighted, shares)
        trees.append((tree, _tree_total(tree, shares[tree.branching], noise)))
    if n & (n - 1) == 0 or n <= _CLOSED:
        weights, value = haar_weights(*shares[2], noise)
        trees.append((haar(n, measure=noise, weights=weights, name="weighted Haar wavelet"), value))
    for hierarchy, value in trees:
        yield hierarchy if n <= _CLOSED else _Rated(hierarchy, _shown(math.sqrt(value / workload.mass)))


def _tree_total(tree: TreeStrategy, shares: Shares, noise: Noise) -> float:
    """Return the total variance of a tree's perfect extension."""
    held = dict(zip(tree.spans, tree.level_weights, strict=True))
    weights = np.array([float(held.get(int(span), 0)) for span in shares[1]])
    return tree_total(*shares, weights, noise)


def _direct(workload: Workload, noise: Noise) -> Iterator[MatrixStrategy]:
    """Yield the queries themselves, and their sums and differences, where these are few and whole."""
    if workload.queries * workload.cells > _DIRECT or workload.cells > 1024:
        return
    rows = workload.rows()
    if (np.rint(rows) != rows).any() or np.abs(rows).max() >= 2**31:
        return
    yield workload_strategy(workload, measure=noise)
    if 2 <= workload.queries <= 64 and workload.queries & (workload.queries - 1) == 0:
        yield sums_and_differences(workload, measure=noise)


def _of_marginals(workload: MarginalWorkload, noise: Noise) -> Iterator[Strategy]:
    weights = (1,) * len(workload.subsets)
    yield MarginalStrategy(noise, workload.sizes, workload.subsets, weights, name="the marginals themselves")
    if len(workload.subsets) <= 2000:
        yield plan_marginals(workload, measure=noise)
    if noise == "gaussian":
        yield plan_residuals(workload)
