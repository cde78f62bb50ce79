"""Covariances of every structure answer as the dense formula does, and refuse what was not measured."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from privet import strategy
from privet.core.errors import RequestError
from privet.strategy.covariances import CellCovariance, DenseCovariance, ProductCovariance, SubspaceCovariance
from privet.strategy.joint_covariances import JointCovariance, shared_basis

SHAPE = (4, 3)


def measured(measure: Any) -> dict[str, strategy.Strategy]:
    tree, haar = strategy.tree(4, measure=measure), strategy.haar(3, measure=measure, weights=[2, 1, 5])
    flat = strategy.MatrixStrategy("total", measure, [[1, 1, 1]], [2])
    both = strategy.ProductStrategy((tree, haar))
    return {
        "product": both,
        "union": strategy.UnionStrategy((strategy.ProductStrategy((tree, flat)), both), (1, 3)),
        "dense union": strategy.UnionStrategy(
            (both, strategy.ProductStrategy((strategy.haar(4, measure=measure), flat)), _odd(measure)), (1, 3, 2)
        ),
        "marginals": strategy.MarginalStrategy(measure, SHAPE, ((0,), (1,), (0, 1)), (2, 1, 3)),
    }


def _odd(measure: Any) -> strategy.ProductStrategy:
    odd = strategy.MatrixStrategy("odd", measure, [[1, 2, 0, 5], [0, 1, 3, 1]], [1, 3])
    return strategy.ProductStrategy((odd, strategy.identity_strategy(3, measure=measure)))


KINDS = {"product": ProductCovariance, "union": JointCovariance, "dense union": DenseCovariance}


@pytest.mark.parametrize("measure", ["pure", "gaussian"])
@pytest.mark.parametrize("name", ["product", "union", "dense union", "marginals"])
def test_every_method_is_that_of_the_dense_formula(measure: Any, name: str) -> None:
    one = measured(measure)[name]
    rows = np.array([one.apply([int(x) for x in unit]) for unit in np.eye(12, dtype=int)], dtype=float).T
    full = np.linalg.inv(rows.T @ (rows / one.unit_variances()[:, None]))
    found = one.unit_covariance().scaled(3.0)
    assert type(found) is KINDS.get(name, SubspaceCovariance)
    expected = 3 * full
    workloads: list[strategy.Workload] = [
        strategy.product(strategy.all_ranges(4), strategy.matrix([[1, -1, 0], [2, 1, 1]])),
        strategy.all_marginals(SHAPE, ways=1, below=True),
        strategy.union(
            [strategy.all_marginals(SHAPE, ways=2), strategy.product(strategy.prefixes(4), strategy.total(3))]
        ),
    ]
    for workload in workloads:
        queries = workload.rows()
        variances = np.einsum("ij,jk,ik->i", queries, expected, queries)
        np.testing.assert_allclose(workload.variances(found), variances, rtol=1e-7)
        assert workload.total_variance(found) == pytest.approx(variances.sum(), rel=1e-7)
        np.testing.assert_allclose(found.of_rows(queries), variances, rtol=1e-7)
    np.testing.assert_allclose(found.with_total().ravel(), expected.sum(axis=1), rtol=1e-7)


@pytest.mark.parametrize("measure", ["pure", "gaussian"])
def test_ranges_over_one_attribute(measure: Any) -> None:
    tree, flat = strategy.tree(5, measure=measure), strategy.MatrixStrategy("total", measure, [[1] * 5], [3])
    ranges = strategy.all_ranges(5)
    for one in (
        strategy.ProductStrategy((tree,)),
        strategy.UnionStrategy((tree, flat), (2, 1)),
        strategy.MarginalStrategy(measure, (5,), ((0,), ()), (2, 1)),
    ):
        rows = np.array([one.apply([int(x) for x in unit]) for unit in np.eye(5, dtype=int)], dtype=float).T
        full = np.linalg.inv(rows.T @ (rows / one.unit_variances()[:, None]))
        expected = np.einsum("ij,jk,ik->i", ranges.rows(), full, ranges.rows())
        np.testing.assert_allclose(ranges.variances(one.unit_covariance()), expected, rtol=1e-8)
        assert ranges.total_variance(one.unit_covariance()) == pytest.approx(expected.sum(), rel=1e-8)
    for many in (
        strategy.ProductStrategy((tree, tree)),
        strategy.UnionStrategy((strategy.ProductStrategy((tree, tree)),), (1,)),
    ):
        covariance: CellCovariance = many.unit_covariance()
        with pytest.raises(RequestError, match="per attribute"):
            covariance.of_ranges(np.array([0]), np.array([1]))
        with pytest.raises(RequestError, match="per attribute"):
            covariance.against(strategy.all_ranges(25))


@pytest.mark.parametrize("measure", ["pure", "gaussian"])
def test_a_union_refuses_what_none_of_its_parts_measures(measure: Any) -> None:
    four, three = (strategy.identity_strategy(size, measure=measure) for size in (4, 3))
    flats = [strategy.MatrixStrategy("total", measure, [[1] * size], [1]) for size in (4, 3)]
    sides = strategy.UnionStrategy(
        (strategy.ProductStrategy((four, flats[1])), strategy.ProductStrategy((flats[0], three))), (1, 1)
    )
    assert sides.rmse(strategy.all_marginals(SHAPE, ways=1)) > 0
    lines = strategy.UnionStrategy((strategy.ProductStrategy((four, flats[1])),), (1,))
    for one, workload in (
        (sides, strategy.all_marginals(SHAPE, ways=2)),
        (lines, strategy.all_marginals(SHAPE, ways=1)),
    ):
        covariance = one.unit_covariance()
        for refused in (
            lambda w=workload, c=covariance: w.variances(c),
            lambda w=workload, c=covariance: w.total_variance(c),
            lambda w=workload, c=covariance: c.of_rows(w.rows()),
        ):
            with pytest.raises(RequestError, match="never measured"):
                refused()


def test_one_query_that_is_not_measured_is_refused_among_a_million_that_are() -> None:
    rows = np.eye(20, dtype=int)[:19]
    but_last = strategy.MatrixStrategy("all but the last", "pure", rows, [1] * 19)
    joint = strategy.UnionStrategy((but_last, strategy.MatrixStrategy("sum", "pure", [[1] * 19 + [0]], [1])), (1, 1))
    measured = np.zeros(10**6, dtype=int)
    for one in (but_last, joint):
        covariance = one.unit_covariance()
        asked = strategy.RangeWorkload("ranges", 20, np.append(measured, 19), np.append(measured, 19))
        for refused in (asked.rmse, asked.variances, asked.total_variance):
            with pytest.raises(RequestError, match="never measured"):
                refused(covariance)
        kept = strategy.RangeWorkload("ranges", 20, measured, measured + 18)
        assert kept.rmse(covariance) == pytest.approx(math.sqrt(kept.variances(covariance)[0]))


@pytest.mark.parametrize("with_bases", [False, True])
def test_a_product_is_refused_where_a_small_part_of_it_is_not_measured(with_bases: bool) -> None:
    """The total is 1 / 90,000 of each cell, and what a basis makes of one attribute is less still."""
    sizes = (300, 300)
    subsets = ((0,), (1,), (0, 1)) if not with_bases else ((), (1,), (0, 1))
    ranges = strategy.all_ranges(300)
    planned = strategy.plan_residuals(
        strategy.all_marginals(sizes, ways=2, factors={0: ranges} if with_bases else None)
    )
    short = strategy.ResidualStrategy(sizes, subsets, (1, 1, 1), bases=planned.bases)
    cells = strategy.product(strategy.identity(300), strategy.identity(300))
    assert cells.total_variance(planned.unit_covariance()) > 0
    for refused in (cells.variances, cells.total_variance):
        with pytest.raises(RequestError, match="never measured"):
            refused(short.unit_covariance())


def test_two_matrices_share_a_basis_and_three_need_not() -> None:
    generator = np.random.default_rng(2)
    three = [part @ part.T for part in generator.normal(size=(3, 5, 5))]
    basis = shared_basis(three[:2])
    assert basis is not None
    for matrix, values in zip(three, basis.values, strict=False):
        np.testing.assert_allclose(basis.vectors.T @ matrix @ basis.vectors, np.diag(values), atol=1e-8)
    assert shared_basis(three) is None
    assert shared_basis([np.eye(5), np.ones((5, 5)), np.eye(5) + 2]) is not None


@pytest.mark.parametrize("measure", ["pure", "gaussian"])
def test_a_union_is_chosen_where_it_errs_less_and_is_drawn_as_claimed(measure: Any) -> None:
    sides = strategy.union(
        [
            strategy.product(strategy.all_ranges(9), strategy.total(8)),
            strategy.product(strategy.total(9), strategy.prefixes(8)),
        ],
        weights=[1, 3],
    )
    best = strategy.optimize(sides, measure=measure, effort="low")
    assert isinstance(best.strategy, strategy.UnionStrategy)
    assert best.rmse < 0.9 * min(one.rmse for one in best.table[1:])
    # no other shares of the two products err less: a step to either side does not help
    for factor in (0.7, 1.4):
        first, second = best.strategy.weights
        moved = strategy.UnionStrategy(best.strategy.parts, (round(first * factor * 64), second * 64))
        assert moved.rmse(sides) > best.rmse
    price: Any = {"epsilon": 10**7} if measure == "pure" else {"rho": 10**14}
    drawn = strategy.StrategyMeasure(best.strategy, neighbors="change-one", **price)
    counts = [place * 7 % 13 for place in range(72)]
    found = strategy.reconstruct(drawn, drawn.draw(counts)).answers(sides)
    np.testing.assert_allclose(found.values, sides.answers(counts), atol=1e-3)


def test_three_attributes_of_a_million_cells_stay_implicit() -> None:
    sizes = (100, 100, 100)
    flats = [strategy.MatrixStrategy("total", "pure", [[1] * 100], [1])] * 3
    tree = strategy.tree(100, branching=5, measure="pure")
    parts = [
        strategy.ProductStrategy(tuple(tree if one == axis else flats[one] for one in range(3))) for axis in range(3)
    ]
    union = strategy.UnionStrategy(tuple(parts), (1, 2, 3))
    assert union.shape == sizes
    noisy = np.concatenate([np.array(part.apply(range(10**6)), dtype=float) for part in parts])
    measure = strategy.StrategyMeasure(union, epsilon=1, neighbors="add-remove")
    workload = strategy.product(strategy.total(100), strategy.prefixes(100), strategy.total(100))
    found = strategy.reconstruct(measure, noisy).answers(workload)
    np.testing.assert_allclose(found.values, workload.answers(np.arange(10**6)), rtol=1e-9)
