"""Strategies in closed form for one attribute: single cells, the queries themselves, trees, Haar wavelets.

Levels of a hierarchy may be measured with different precision; the best one is a small problem over levels alone.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from scipy import optimize as numerical
from scipy import sparse

from privet.core.errors import BadParameter, RequestError
from privet.core.given import listed, plain_text, set_fields, truth
from privet.core.numbers import whole

from .covariances import DenseCovariance
from .given_numbers import read_integers
from .strategies import Form, MatrixStrategy, Noise, check_single, read_measure, read_workload
from .workloads import LARGEST_WEIGHT, MOST_CELLS, Floats, Integers, Workload, check_dense, check_held

PRECISION = 2**16
"""The largest integer weight that the weight of a level is rounded to."""

BRANCHINGS = (2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 24, 32, 64)


def identity_strategy(cells: int, *, measure: Noise) -> MatrixStrategy:
    """Return the strategy that measures every cell alone.

    Example:
        >>> strategy.identity_strategy(8, measure="pure").rmse(strategy.all_ranges(8)).__round__(5)
        2.58199
    """
    size = whole(cells, "cells", least=1, most=MOST_CELLS)
    eye = sparse.eye_array(size, dtype=np.int64, format="csr")
    return MatrixStrategy("identity", read_measure(measure), eye, [1] * size, "diagonal")


def workload_strategy(workload: Workload, *, measure: Noise) -> MatrixStrategy:
    """Return the strategy that measures the queries themselves, as often as they are listed.

    Raises:
        RequestError: if a query has an entry that is not a whole number.

    Example:
        >>> both = strategy.matrix([[1, 0, 1], [0, 1, 1]])
        >>> round(strategy.workload_strategy(both, measure="pure").rmse(both) ** 2, 9)
        8.0
    """
    read_workload(workload)
    check_single(workload)
    rows = workload.rows()
    exact = np.rint(rows)
    if (exact != rows).any() or np.abs(rows).max() >= 2**31:
        raise RequestError("a workload is measured as it is only where its entries are whole numbers below 2**31")
    return MatrixStrategy("the queries", read_measure(measure), exact.astype(np.int64), [1] * len(rows))


def sums_and_differences(workload: Workload, *, measure: Noise) -> MatrixStrategy:
    """Return the strategy of sums and differences of the queries: their Hadamard transform, for 2, 4, 8, ... queries.

    For two counts of overlapping groups the sum and the difference move by 2 in L1 together, as the counts do, and
    half of their sum has half the variance: 4 / epsilon**2 each instead of 8 / epsilon**2.

    Example:
        >>> both = strategy.matrix([[1, 0, 1], [0, 1, 1]])
        >>> round(strategy.sums_and_differences(both, measure="pure").rmse(both) ** 2, 9)
        4.0
    """
    direct = workload_strategy(workload, measure=measure)
    if direct.rows & (direct.rows - 1) or direct.rows < 2 or direct.rows > 1024:
        raise RequestError(f"sums and differences need a workload of 2, 4, 8, ... 1,024 queries; got {direct.rows:,}")
    signs = np.ones((1, 1), dtype=np.int64)
    while len(signs) < direct.rows:
        signs = np.block([[signs, signs], [signs, -signs]])
    return MatrixStrategy("sums and differences", direct.measure, signs @ direct.matrix, [1] * direct.rows)


@dataclass(frozen=True, eq=False, repr=False)
class TreeStrategy(MatrixStrategy):
    """A tree over the cells in which each node has up to `branching` children; levels have one weight each.

    Estimates follow from one pass up and one down. With V the variance of a node's total as its subtree estimates it,
    and S the sum over its children c, a child's final estimate is z_c + V_c / V_S (T - S) for its parent's T.

    Example:
        >>> strategy.tree(4, measure="pure").solve([10, 7, 3, 5, 2, 2, 1], [2.0] * 7).tolist()
        [5.0, 2.0, 2.0, 1.0]

    Guarantee: these are the least squares estimates, for any variance per node.
    Cites: [HRMS10], [QYL13].
    """

    branching: int = 2
    spans: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        MatrixStrategy.__post_init__(self)
        base = whole(self.branching, "branching", least=2, most=MOST_CELLS)
        spans = tuple(read_integers(self.spans, "spans", least=1))
        set_fields(self, branching=base, spans=spans)
        if sum(-(-self.cells // span) for span in spans) != self.rows or spans[-1:] != (1,):
            raise RequestError("the matrix of a tree has a row for each node, level by level; spans go down to 1")
        if any(upper % lower or upper <= lower for upper, lower in pairwise(spans)):
            raise BadParameter("spans", spans, "spans of nodes, of which each is a multiple of the next")

    @property
    def level_weights(self) -> list[int]:
        """The weight of each level that is measured, from the top on."""
        ends = np.cumsum([0, *(-(-self.cells // span) for span in self.spans[:-1])])
        return [self.weights[end] for end in ends]

    def _solve(self, noisy: Floats, variances: Floats) -> Floats:
        levels, noises = self._by_level(noisy), self._by_level(variances)
        up, spread, inside = self._upward(levels, noises)
        final = up[0]
        for level in range(1, len(self.spans)):
            parents = self._parents(level)
            gap = (final - inside[level - 1][0]) / inside[level - 1][1]
            final = up[level] + spread[level] * gap[parents]
        return final

    def _covariance(self, variances: Floats) -> DenseCovariance:
        check_dense(self.cells)
        noises = self._by_level(variances)
        _, spread, inside = self._upward(noises, noises)
        covariance = np.diag(spread[0])
        for level in range(1, len(self.spans)):
            parents, own = self._parents(level), spread[level]
            share = own / inside[level - 1][1][parents]
            # given the parent's total: diag(V) - V V' / V_S among the children of one parent
            covariance = covariance[np.ix_(parents, parents)]
            covariance *= share[:, None]
            covariance *= share
            starts = self._starts(level)
            for first, last in zip(starts, (*starts[1:], len(own)), strict=True):
                part = own[first:last]
                covariance[first:last, first:last] -= np.outer(part, part) / part.sum()
            covariance[np.diag_indices(len(own))] += own
        return DenseCovariance(self.shape, covariance)

    def _upward(self, values: list[Floats], noises: list[Floats]) -> tuple[list[Floats], list[Floats], list[Any]]:
        inside: list[Any] = []
        up, spread = [values[-1]], [noises[-1]]
        for level in range(len(self.spans) - 2, -1, -1):
            starts = self._starts(level + 1)
            sums, noise = np.add.reduceat(up[0], starts), np.add.reduceat(spread[0], starts)
            precision = 1 / noises[level] + 1 / noise
            up.insert(0, (values[level] / noises[level] + sums / noise) / precision)
            spread.insert(0, 1 / precision)
            inside.insert(0, (sums, noise))
        return up, spread, inside

    def _by_level(self, values: Floats) -> list[Floats]:
        ends = np.cumsum([-(-self.cells // span) for span in self.spans])
        return np.split(values, ends[:-1])

    def _parents(self, level: int) -> Integers:
        many = -(-self.cells // self.spans[level])
        return np.arange(many) // (self.spans[level - 1] // self.spans[level])

    def _starts(self, level: int) -> Integers:
        many = -(-self.cells // self.spans[level])
        return np.arange(0, many, self.spans[level - 1] // self.spans[level])


def tree(
    cells: int, *, branching: int = 2, measure: Noise, weights: list[int] | None = None, name: str = ""
) -> TreeStrategy:
    """Return the strategy that measures every node of a tree over the cells, from the root to single cells.

    Args:
        cells: the number of cells.
        branching: how many children a node has.
        measure: "pure" or "gaussian".
        weights: a whole weight per level from the root on, 0 for a level that is not measured; all alike if left out.
        name: what the strategy is called in tables.

    Example:
        >>> strategy.tree(9, branching=3, measure="gaussian").spans
        (9, 3, 1)
    """
    size = whole(cells, "cells", least=1, most=MOST_CELLS)
    base = whole(branching, "branching", least=2, most=MOST_CELLS)
    spans = _spans(size, base)
    given = [1] * len(spans) if weights is None else _read_levels(weights, 0)
    if len(given) != len(spans) or not given[-1]:
        raise RequestError(
            f"a tree over {size:,} cells has {len(spans)} levels, a weight for each, and its cells are measured"
        )
    check_held(size * len(spans), "the matrix of this tree")
    kept = [(span, weight) for span, weight in zip(spans, given, strict=True) if weight]
    parts: list[Any] = []
    every: list[int] = []
    for span, weight in kept:
        many = -(-size // span)
        check_held(len(every) + many, "the list of measurements")
        places = np.arange(size)
        parts.append(sparse.csr_array((np.ones(size, dtype=np.int64), (places // span, places)), shape=(many, size)))
        every += [weight] * many
    called = plain_text(name, "name") or f"tree, {base} children a node"
    rows = sparse.csr_array(sparse.vstack(parts))
    return TreeStrategy(called, read_measure(measure), rows, every, "dense", base, tuple(span for span, _ in kept))


def _read_levels(weights: object, least: int) -> list[int]:
    given = listed(weights, "weights", "a list of whole numbers, one for each level", most=64)
    return [whole(weight, "weights", least=least, most=LARGEST_WEIGHT) for weight in given]


def _spans(size: int, base: int) -> list[int]:
    spans = [1]
    while spans[-1] < size:
        spans.append(spans[-1] * base)
    return spans[::-1]


def haar(cells: int, *, measure: Noise, weights: list[int] | None = None, name: str = "Haar wavelet") -> MatrixStrategy:
    """Return the strategy of Haar wavelets: the total, and for each node of a binary tree left less right half.

    Args:
        cells: the number of cells; where it is no power of two, cells that are always empty are added, and cut off.
        measure: "pure" or "gaussian".
        weights: a positive whole weight for the total and for each level from the top on; all alike if left out.
        name: what the strategy is called in tables.

    Example:
        >>> strategy.haar(4, measure="pure").matrix.toarray().tolist()
        [[1, 1, 1, 1], [1, 1, -1, -1], [1, -1, 0, 0], [0, 0, 1, -1]]

    Cites: [XWG10].
    """
    size = whole(cells, "cells", least=1, most=MOST_CELLS)
    depth = (size - 1).bit_length()
    given = [1] * (depth + 1) if weights is None else _read_levels(weights, 1)
    if len(given) != depth + 1:
        raise RequestError(f"wavelets over {size:,} cells have {depth + 1} weights, for the total and for each level")
    check_held(size * (depth + 1), "the matrix of these wavelets")
    places = np.arange(size)
    parts = [sparse.csr_array(np.ones((1, size), dtype=np.int64))]
    every = [given[0]]
    for level in range(depth):
        span = 2 ** (depth - level)
        many = -(-size // span)
        signs = np.where(places % span < span // 2, 1, -1)
        parts.append(sparse.csr_array((signs, (places // span, places)), shape=(many, size)))
        every += [given[level + 1]] * many
    rows = sparse.csr_array(sparse.vstack(parts))
    form: Form = "orthogonal" if size == 2**depth else "dense"
    return MatrixStrategy(plain_text(name, "name"), read_measure(measure), rows, every, form)


# How much of a workload lives on each level of a tree.
#
# On the cells of a perfect tree, vectors that are constant on the nodes of a level and sum to 0 over the children of
# each parent are an eigenspace of A'A for every choice of weights per level. So the error of a tree depends on W'W
# through one number a level, tau = the trace of W'W on that eigenspace, and the best weights follow from these.


Shares = tuple[Floats, Floats]
"""The trace of W'W on each level's eigenspace, and the span of the level's nodes, from the root on."""


def level_shares(workload: Workload, branching: int, gram: Floats | None = None) -> Shares:
    """Return the trace of W'W on each level's eigenspace and the span of the level's nodes, from the root on."""
    spans = _spans(workload.cells, branching)
    gram = workload.gram() if gram is None else gram
    traces: list[float] = []
    for span in spans[::-1]:
        traces.insert(0, float(np.trace(gram)) / span)
        if span < spans[0]:
            starts = np.arange(0, len(gram), branching)
            gram = np.add.reduceat(np.add.reduceat(gram, starts, axis=0), starts, axis=1)
    shares = np.diff(np.array([0.0, *traces]))
    return np.maximum(shares, 0.0), np.array(spans, dtype=np.float64)


def tree_total(shares: Floats, spans: Floats, weights: Floats, measure: Noise) -> float:
    """Return the total variance of a workload under a perfect tree at unit cost.

    With q the precision of a level's rows, the eigenvalue of A'QA for level l is the sum over levels k >= l of q_k
    times the span of k.
    """
    precision = weights**2 / 2 if measure == "pure" else weights
    norm = weights.sum() ** (2 if measure == "pure" else 1)
    values = np.cumsum((precision * spans)[::-1])[::-1]
    return float(norm * np.sum(shares / values))


def best_tree_weights(shares: Floats, spans: Floats, measure: Noise) -> tuple[list[int], float]:
    """Return whole weights per level with the least total variance found, and that variance."""

    def loss(logs: Floats) -> float:
        return math.log(tree_total(shares, spans, np.exp(logs - logs.max()), measure))

    start = np.zeros(len(spans))
    solution = numerical.minimize(loss, start, method="L-BFGS-B", bounds=[(-12.0, 12.0)] * len(spans))
    weights = np.exp(solution.x - solution.x.max())
    integers = np.rint(weights * PRECISION / weights.max()).astype(np.int64)
    integers[:-1][integers[:-1] < PRECISION // 1000] = 0
    integers[-1] = max(int(integers[-1]), 1)
    return [int(integer) for integer in integers], tree_total(shares, spans, integers.astype(np.float64), measure)


def haar_weights(shares: Floats, spans: Floats, measure: Noise) -> tuple[list[int], float]:
    """Return the best weights of Haar wavelets and the total variance with them, in closed form.

    The row of a node that spans s cells has norm s, squared, and rows are orthogonal: the eigenvalue of a level is
    q s. The sum of tau / (q s), with the sum of weights fixed, is least for weights that go with (tau / s)^(1/2) where
    q is the weight (gaussian), and with (tau / s)^(1/3) where it is its square (pure).
    """
    nodes = np.concatenate([spans[:1], spans[:-1]])  # a wavelet of level l spans the nodes of the level above
    raw = np.maximum(shares / nodes, 1e-18) ** (1 / 2 if measure == "gaussian" else 1 / 3)
    integers = np.maximum(np.rint(raw * PRECISION / raw.max()), 1).astype(np.int64)
    weights = integers.astype(np.float64)
    precision = weights**2 / 2 if measure == "pure" else weights
    norm = weights.sum() ** (2 if measure == "pure" else 1)
    return [int(integer) for integer in integers], float(norm * np.sum(shares / (precision * nodes)))


def every_share(workload: Workload) -> dict[int, Shares]:
    """Return the shares of levels for every branching that is tried."""
    gram = workload.gram()
    sensible = [branching for branching in BRANCHINGS if branching == 2 or branching < 2 * workload.cells]
    return {branching: level_shares(workload, branching, gram) for branching in sensible}


def best_tree(workload: Workload, *, measure: Noise, weighted: bool = True) -> TreeStrategy:
    """Return the tree with the best branching, and the best precision per level, for a workload over one attribute.

    Args:
        workload: the queries.
        measure: "pure" or "gaussian".
        weighted: whether levels may differ in precision.

    Example:
        >>> strategy.best_tree(strategy.all_ranges(256), measure="pure", weighted=False).branching
        16

    Cites: [QYL13].
    """
    read_workload(workload)
    check_single(workload)
    noise, levels = read_measure(measure), truth(weighted, "weighted")
    return best_tree_of(workload, noise, levels, every_share(workload))


def best_tree_of(workload: Workload, measure: Noise, weighted: bool, shares: dict[int, Shares]) -> TreeStrategy:
    """Return the tree that `best_tree` does, for shares of levels that are known already."""
    tried: list[tuple[float, int, list[int] | None]] = []
    for branching, (traces, spans) in shares.items():
        if weighted:
            weights, value = best_tree_weights(traces, spans, measure)
            tried.append((value, branching, weights))
        elif spans[0] == workload.cells or workload.cells > 2048:
            tried.append((tree_total(traces, spans, np.ones(len(spans)), measure), branching, None))
        else:
            plain = tree(workload.cells, branching=branching, measure=measure)
            tried.append((workload.total_variance(plain.unit_covariance()), branching, None))
    _, branching, chosen = min(tried, key=lambda candidate: candidate[0])
    name = f"weighted tree, {branching} children a node" if weighted else ""
    return tree(workload.cells, branching=branching, measure=measure, weights=chosen, name=name)
