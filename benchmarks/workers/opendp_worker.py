"""OpenDP's side of each benchmark: its integer vector samplers, as a user calls them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import opendp.prelude as dp
from audited import audited
from serve import importing, serve

dp.enable_features("contrib")


def discrete_laplace(scale: int, draws: int) -> Callable[[], Any]:
    space = dp.vector_domain(dp.atom_domain(T="i64")), dp.l1_distance(T="i64")
    mechanism, zeros = dp.m.make_laplace(*space, scale=float(scale)), [0] * draws
    return lambda: mechanism(zeros)


def audit_laplace(**asked: Any) -> Callable[[], Any]:
    space = dp.vector_domain(dp.atom_domain(T="f64", nan=False)), dp.l1_distance(T="f64")
    mechanism = dp.m.make_laplace(*space, scale=1.0)
    return audited(lambda value, count: mechanism([value] * count), **asked)


def audit_geometric(**asked: Any) -> Callable[[], Any]:
    space = dp.vector_domain(dp.atom_domain(T="i64")), dp.l1_distance(T="i64")
    mechanism = dp.m.make_laplace(*space, scale=1.0)
    return audited(lambda value, count: mechanism([value] * count), **asked)


def discrete_gaussian(scale: int, draws: int) -> Callable[[], Any]:
    space = dp.vector_domain(dp.atom_domain(T="i64")), dp.l2_distance(T="i64")
    mechanism, zeros = dp.m.make_gaussian(*space, scale=float(scale)), [0] * draws
    return lambda: mechanism(zeros)


def scalar_laplace(scale: int, draws: int) -> Callable[[], Any]:
    space = dp.atom_domain(T="i64"), dp.absolute_distance(T="i64")
    mechanism = dp.m.make_laplace(*space, scale=float(scale))
    return lambda: [mechanism(0) for _ in range(draws)]


def exponential_mechanism(candidates: int) -> Callable[[], Any]:
    space = dp.vector_domain(dp.atom_domain(T="i64")), dp.linf_distance(T="i64")
    mechanism = dp.m.make_noisy_max(*space, dp.zero_concentrated_divergence(), scale=2.0)
    scores = [candidate % 1000 for candidate in range(candidates)]
    return lambda: mechanism(scores)


def permute_and_flip(candidates: int) -> Callable[[], Any]:
    space = dp.vector_domain(dp.atom_domain(T="i64")), dp.linf_distance(T="i64")
    mechanism = dp.m.make_noisy_max(*space, dp.max_divergence(), scale=2.0)
    scores = [candidate % 1000 for candidate in range(candidates)]
    return lambda: mechanism(scores)


def consistent_leaves(cells: int, epsilon: float) -> Callable[[list[int]], list[float]]:
    """Return what estimates single cells: a noisy tree of 16 children a node over them, made consistent."""
    space = dp.vector_domain(dp.atom_domain(T="i64")), dp.l1_distance(T="i64")
    tree = dp.t.make_b_ary_tree(*space, leaf_count=cells, branching_factor=16)
    levels = tree.map(1)  # each row is in one node of each level
    mechanism = tree >> dp.m.then_laplace(scale=levels / epsilon)
    consistent = dp.t.make_consistent_b_ary_tree(branching_factor=16)
    return lambda given: consistent(mechanism(given))


def count_errors(
    counts: list[list[int]], lows: list[int], highs: list[int], rows: int, epsilon: float, runs: int
) -> Callable[[], Any]:
    """Return the mean error of ranges by a tree of 16 children a node, made consistent, as a share of all rows."""
    leaves = consistent_leaves(len(counts[0]), epsilon)

    def error(given: list[int]) -> float:
        gaps, total = [0.0], 0.0
        for found, count in zip(leaves(given), given, strict=True):
            total += found - count
            gaps.append(total)
        return sum(abs(gaps[high + 1] - gaps[low]) for low, high in zip(lows, highs, strict=True)) / len(lows) / rows

    return lambda: {"figures": {"tree of 16": sum(map(error, counts[:runs])) / len(counts[:runs])}}


def box_errors(counts: list[list[int]], shape: list[int], rows: int, epsilon: float, runs: int) -> Callable[[], Any]:
    """Return the mean error of every pair of prefixes, by the same tree over all cells of a plane, row after row."""
    high, wide = shape
    leaves = consistent_leaves(high * wide, epsilon)

    def error(given: list[int]) -> float:
        found, above, total = leaves(given), [0.0] * wide, 0.0
        for row in range(high):
            along = 0.0
            for column in range(wide):
                place = row * wide + column
                along += found[place] - given[place]
                above[column] += along  # the sum of all rows up to this one
                total += abs(above[column])
        return total / (high * wide) / rows

    return lambda: {"figures": {"tree of 16": sum(map(error, counts[:runs])) / len(counts[:runs])}}


if __name__ == "__main__":
    serve(
        "opendp",
        {
            "audit_laplace": audit_laplace,
            "audit_geometric": audit_geometric,
            "box_errors": box_errors,
            "count_errors": count_errors,
            "discrete_laplace": discrete_laplace,
            "discrete_gaussian": discrete_gaussian,
            "scalar_laplace": scalar_laplace,
            "exponential_mechanism": exponential_mechanism,
            "permute_and_flip": permute_and_flip,
            "import": importing("opendp.prelude"),
        },
    )
