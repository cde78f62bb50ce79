"""Reference numbers of strategies: errors per query at epsilon 1, and at an L2 sensitivity of one sigma."""

from __future__ import annotations

import math
from typing import Any

import pytest

from privet import strategy

ADULT = (85, 9, 100, 16, 7, 15, 6, 5, 2, 100, 100, 99, 42, 2)
ERRORS = {
    ("ranges", 256): (
        (13.1149, 9.27362),
        (16.2721, 3.83536),
        (12.4372, 4.39723),
        (11.636, 4.75037),
        (14.8705, 3.50501),
    ),
    ("prefixes", 256): (
        (16.0312, 11.3358),
        (13.1617, 3.10224),
        (9.88063, 3.49333),
        (9.78954, 3.99656),
        (13.0888, 3.08506),
    ),
    ("ranges", 1024): (
        (26.1534, 18.4932),
        (21.83, 4.65417),
        (17.7066, 5.59933),
        (17.7429, 6.27308),
        (20.2557, 4.31852),
    ),
    ("prefixes", 1024): (
        (32.0156, 22.6385),
        (17.2896, 3.68616),
        (13.6615, 4.32015),
        (13.5554, 4.79257),
        (17.2016, 3.6674),
    ),
}
"""Identity, trees with 2, 8 and 16 children, Haar wavelets."""

LEAST = {
    ("ranges", 256): (8.05439 * 1.01, 2.90144 * 1.001),
    ("prefixes", 256): (7.34611 * 1.01, 2.52441 * 1.001),
    ("ranges", 1024): (11.14, 3.5151 * 1.001),
    ("prefixes", 1024): (13.5554, 2.9608),
}


def workload_of(kind: str, cells: int) -> strategy.Workload:
    return strategy.all_ranges(cells) if kind == "ranges" else strategy.prefixes(cells)


@pytest.mark.parametrize(("kind", "cells"), ERRORS)
def test_closed_forms_err_as_published(kind: str, cells: int) -> None:
    workload = workload_of(kind, cells)
    for place, measure in enumerate(("pure", "gaussian")):
        noise: Any = measure
        tried = [
            strategy.identity_strategy(cells, measure=noise),
            *(strategy.tree(cells, branching=b, measure=noise) for b in (2, 8, 16)),
            strategy.haar(cells, measure=noise),
        ]
        found = [one.rmse(workload) for one in tried]
        assert found == pytest.approx([both[place] for both in ERRORS[kind, cells]], rel=1e-5)


@pytest.mark.parametrize(("kind", "cells"), LEAST)
@pytest.mark.parametrize("measure", ["pure", "gaussian"])
def test_the_chosen_strategy_is_no_worse_than_the_best_that_is_known(kind: str, cells: int, measure: Any) -> None:
    best = strategy.optimize(workload_of(kind, cells), measure=measure)
    assert best.rmse <= LEAST[kind, cells][measure == "gaussian"]
    assert best.rmse == min(one.rmse for one in best.table)
    assert len(best.table) >= 5


@pytest.mark.parametrize(("cells", "branching", "error"), [(256, 16, 11.636), (1024, 6, 15.9521), (2048, 8, 18.5446)])
def test_the_best_branching_is_that_of_the_table(cells: int, branching: int, error: float) -> None:
    ranges = strategy.all_ranges(cells)
    best = strategy.best_tree(ranges, measure="pure", weighted=False)
    assert best.branching == branching
    assert best.rmse(ranges) == pytest.approx(error, rel=1e-5)


BRANCHINGS = (2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 24, 32, 64)
BY_BRANCHING = {
    256: (16.272, 15.272, 12.403, 13.339, 14.061, 12.437, 13.243, 14.178, 11.636, 12.172, 12.773, 14.159, 18.580),
    1024: (21.830, 19.436, 16.602, 17.908, 15.952, 17.707, 18.886, 16.036, 17.743, 19.029, 20.337, 16.709, 20.404),
    2048: (24.804, 20.504, 20.236, 18.813, 20.045, 18.545, 20.077, 21.131, 18.583, 20.109, 21.393, 24.135, 21.670),
}


@pytest.mark.parametrize("cells", BY_BRANCHING)
def test_trees_of_every_branching_err_as_published(cells: int) -> None:
    ranges = strategy.all_ranges(cells)
    found = [strategy.tree(cells, branching=one, measure="pure").rmse(ranges) for one in BRANCHINGS]
    assert found == pytest.approx(BY_BRANCHING[cells], abs=6e-4)


@pytest.mark.parametrize(
    ("cells", "flat", "tree", "branching"),
    [(8, 2.58199, 3.6514837, 8), (16, 3.4641, 4.8989795, 16), (45, 5.59762, 7.4351312, 8), (64, 6.63325, 7.9891391, 8)],
)
def test_hierarchies_need_many_cells(cells: int, flat: float, tree: float, branching: int) -> None:
    ranges = strategy.all_ranges(cells)
    assert strategy.identity_strategy(cells, measure="pure").rmse(ranges) == pytest.approx(flat, rel=1e-5)
    assert strategy.tree(cells, branching=branching, measure="pure").rmse(ranges) == pytest.approx(tree, rel=1e-6)
    assert strategy.optimize(ranges, measure="pure").rmse <= flat * (1 + 1e-5)


@pytest.mark.parametrize(
    ("workload", "total"),
    [
        (strategy.marginals((2, 3, 4), [(0,), (1,), (2,), (0, 1), (0, 2), (1, 2)]), 85.842331),
        (strategy.marginals((3, 3, 3), [(0, 1), (1, 2)]), 29.313708),
        (strategy.all_marginals((2, 2, 2, 2), ways=2), 59.11836),
    ],
)
def test_residuals_are_the_explicit_optimum(workload: strategy.MarginalWorkload, total: float) -> None:
    assert strategy.plan_residuals(workload).rmse(workload) ** 2 * workload.queries == pytest.approx(total, rel=1e-7)
    explicit = strategy.gaussian_optimum(strategy.matrix(workload.rows()), iterations=300, tolerance=1e-7)
    dense = strategy.matrix(workload.rows())
    assert explicit.rmse(dense) ** 2 * workload.queries == pytest.approx(total, rel=2e-4)


@pytest.mark.parametrize(
    ("sizes", "errors"),
    [
        (ADULT, (3.0468, 6.3587, 10.5153, 10.6650)),
        ((100, 50, 7, 4, 2), (1.7439, 2.0346, 2.0477, 2.2759)),
        ((10,) * 5, (2.1125, 2.8560, 2.7848, 3.2471)),
        ((10,) * 10, (2.9460, 5.8461, 8.9772, 9.3481)),
    ],
)
def test_marginals_err_as_published(sizes: tuple[int, ...], errors: tuple[float, ...]) -> None:
    workloads = [strategy.all_marginals(sizes, ways=ways) for ways in (1, 2, 3)]
    workloads.append(strategy.all_marginals(sizes, ways=3, below=True))
    found = [strategy.plan_residuals(workload).rmse(workload) for workload in workloads]
    assert found == pytest.approx(errors, abs=6e-5)


def test_the_lecture_s_sum_and_difference() -> None:
    both = strategy.matrix([[1, 0, 1], [0, 1, 1]])
    pure = strategy.optimize(both, measure="pure")
    assert pure.strategy.name == "sums and differences"
    assert 2 * pure.rmse**2 == pytest.approx(8)
    assert {one.name: round(2 * one.rmse**2, 6) for one in pure.table}["the queries"] == 16
    gaussian = strategy.optimize(both, measure="gaussian")
    assert 2 * gaussian.rmse**2 == pytest.approx(8 / 3, rel=1e-4)
    direct = strategy.sums_and_differences(both, measure="gaussian").rmse(both)
    assert math.isclose(2 * direct**2, 4, rel_tol=1e-9)
    for noise, total in (("pure", 8), ("gaussian", 4)):  # the cells themselves
        cells = strategy.identity_strategy(3, measure=noise)  # type: ignore[arg-type]
        assert 2 * cells.rmse(both) ** 2 == pytest.approx(total)
