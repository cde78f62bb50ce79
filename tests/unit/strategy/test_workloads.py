"""Workloads: Gram matrices in closed form, answers and variances are those of the explicit matrix."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from privet import strategy
from privet.core.errors import RequestError
from privet.strategy.covariances import DenseCovariance, ProductCovariance
from privet.strategy.workloads import MOST_CELLS

ONE = [
    strategy.identity(7),
    strategy.total(7),
    strategy.prefixes(7),
    strategy.all_ranges(7),
    strategy.windows(7, 3),
    strategy.ranges(7, [(0, 2), (1, 1), (3, 6), (0, 2)]),
    strategy.matrix([[1, -2, 0, 0.5, 0, 0, 3], [0, 1, 1, 1, 0, 0, 0]]),
    strategy.union([strategy.prefixes(7), strategy.total(7)], weights=[1, 2.5]),
]
SEVERAL = [
    strategy.product(strategy.prefixes(3), strategy.identity(2), strategy.all_ranges(2)),
    strategy.marginals((3, 2, 2), [(), (0, 1), (2,)], weights=[1, 2, 3]),
    strategy.union([strategy.all_marginals((3, 2, 2), ways=2), strategy.product(*map(strategy.total, (3, 2, 2)))]),
]


def explicit(workload: strategy.Workload) -> tuple[np.ndarray, np.ndarray]:
    """Return the matrix of the queries and the weight of each, from the definitions alone."""
    rows = np.array([workload.answers(unit) for unit in np.eye(workload.cells)]).T
    if isinstance(workload, strategy.UnionWorkload):
        return rows, np.concatenate([w * explicit(part)[1] for part, w in workload.weighted()])
    if isinstance(workload, strategy.MarginalWorkload):
        sizes = [workload._cells_of(axes) for axes in workload.subsets]
        return rows, np.repeat(workload.weights, sizes)
    return rows, np.ones(workload.queries)


@pytest.mark.parametrize("workload", [*ONE, *SEVERAL], ids=repr)
def test_the_gram_matrix_is_that_of_the_weighted_rows(workload: strategy.Workload) -> None:
    rows, weights = explicit(workload)
    gram = rows.T @ (rows * weights[:, None])
    np.testing.assert_allclose(workload.gram(), gram, atol=1e-12)
    columns = np.random.default_rng(1).normal(size=(workload.cells, 3))
    np.testing.assert_allclose(workload._gram_times(columns), gram @ columns, atol=1e-10)
    assert workload.queries == len(rows)
    assert workload.mass == pytest.approx(weights.sum())


@pytest.mark.parametrize("workload", [*ONE, *SEVERAL], ids=repr)
def test_variances_are_those_of_the_rows(workload: strategy.Workload) -> None:
    generator = np.random.default_rng(2)
    rows, weights = explicit(workload)
    factors = [generator.normal(size=(size, 2 * size)) for size in workload.shape]
    factors = [factor @ factor.T for factor in factors]
    whole = strategy.workloads.kronecker(factors)
    expected = np.einsum("ij,jk,ik->i", rows, whole, rows)
    forms = [DenseCovariance(workload.shape, whole)]
    forms.append(ProductCovariance(tuple(DenseCovariance((len(one),), one) for one in factors)))  # type: ignore[arg-type]
    for covariance in forms:
        np.testing.assert_allclose(workload.variances(covariance), expected, rtol=1e-9)
        assert workload.total_variance(covariance) == pytest.approx(float(weights @ expected))
        assert workload.rmse(covariance) == pytest.approx(math.sqrt(weights @ expected / weights.sum()))


def test_all_ranges_are_listed_once_each() -> None:
    every = strategy.all_ranges(5)
    assert sorted(zip(every.lows.tolist(), every.highs.tolist(), strict=True)) == [
        (low, high) for low in range(5) for high in range(low, 5)
    ]


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: strategy.identity(0), "at least 1"),
        (lambda: strategy.prefixes(MOST_CELLS + 1), "wider bins"),
        (lambda: strategy.all_ranges(20_000), "200,010,000 cells"),
        (lambda: strategy.prefixes(10_000).gram(), "10,000 values"),
        (lambda: strategy.windows(4, 5), "width"),
        (lambda: strategy.windows(4, 0), "width"),
        (lambda: strategy.ranges(4, []), "at least one pair"),
        (lambda: strategy.ranges(4, [(2, 1)]), "low <= high"),
        (lambda: strategy.ranges(4, [(0, 4)]), "at most 3"),
        (lambda: strategy.ranges(4, [(0, 1, 2)]), "pair"),
        (lambda: strategy.matrix([]), "at least one row"),
        (lambda: strategy.matrix([[1, math.nan]]), "NaN"),
        (lambda: strategy.matrix([[1, 2], [3]]), "equally many"),
        (lambda: strategy.matrix("abc"), "equally many"),
        (lambda: strategy.product(), "at least one"),
        (lambda: strategy.product(SEVERAL[0]), "one attribute"),
        (lambda: strategy.union([]), "at least one workload"),
        (lambda: strategy.union([strategy.total(3), strategy.total(4)]), "one domain"),
        (lambda: strategy.union([strategy.total(3)], weights=[-1]), "at least 0"),
        (lambda: strategy.union([strategy.total(3)], weights=[math.nan]), "at least 0"),
        (lambda: strategy.union([strategy.total(3)], weights=[0]), "above 0"),
        (lambda: strategy.union([strategy.total(3)], weights=[1, 1]), "one number for each"),
        (lambda: strategy.marginals((), [()]), "at least one attribute"),
        (lambda: strategy.marginals((2, 0), [(0,)]), "at least 1"),
        (lambda: strategy.marginals((2, 2), []), "at least one subset"),
        (lambda: strategy.marginals((2, 2), [(0, 2)]), "at most 1"),
        (lambda: strategy.marginals((2, 2), [(0, 0)]), "each attribute once"),
        (lambda: strategy.marginals((2, 2), [(0,), (0,)]), "listed once"),
        (lambda: strategy.marginals((2, 2), [(0,), (1,)], weights=[1, math.inf]), "at least 0"),
        (lambda: strategy.all_marginals((2, 2), ways=3), "at most 2"),
        (lambda: strategy.prefixes(3).answers([1, 2]), "3 cells"),
    ],
)
def test_bad_workloads_are_refused_with_what_to_do(make: object, says: str) -> None:
    with pytest.raises(RequestError, match=says):
        make()  # type: ignore[operator]


@pytest.mark.parametrize("measure", ["pure", "gaussian"])
def test_coefficients_beyond_doubles_are_refused_and_large_ones_are_not(measure: Any) -> None:
    for rows in ([[1e-300, 0]], [[1e300, 1]], [[1e200, 1e-200]]):
        for asked in (strategy.matrix(rows), strategy.product(strategy.matrix(rows), strategy.total(2))):
            with pytest.raises(RequestError, match="scale the queries"):
                strategy.optimize(asked, measure=measure)
    large = strategy.optimize(strategy.matrix([[2.0**40, 0], [0, 1]]), measure=measure)
    assert large.rmse >= 2**40 * 0.7


def test_a_strategy_for_one_attribute_is_made_for_no_workload_over_several() -> None:
    both = strategy.product(strategy.prefixes(4), strategy.identity(3))
    one = strategy.product(strategy.prefixes(4))
    made: list[Any] = [
        strategy.p_identity,
        strategy.gaussian_optimum,
        lambda given: strategy.best_tree(given, measure="pure"),
        lambda given: strategy.workload_strategy(given, measure="pure"),
        lambda given: strategy.sums_and_differences(given, measure="pure"),
    ]
    for make in made:
        assert make(one).shape == (4,)
        with pytest.raises(RequestError, match=r"over one attribute, and the given one is over 2; use optimize"):
            make(both)


def test_a_domain_that_no_product_can_hold_is_refused_with_its_size() -> None:
    with pytest.raises(RequestError, match=r"1,000,000,000,000 cells.*wider bins"):
        strategy.optimize(strategy.product(*[strategy.identity(1000)] * 4))


@pytest.mark.parametrize("make", [strategy.identity, strategy.all_ranges, strategy.square_root])
def test_a_number_of_cells_is_refused_with_the_largest(make: Any) -> None:
    with pytest.raises(RequestError, match=r"33,?554,?432"):
        make(10**5000)


def test_too_many_numbers_are_refused_with_how_many_there_are() -> None:
    with pytest.raises(RequestError, match=r"one for each of 2 cells; got 3$"):
        strategy.identity_strategy(2, measure="pure").apply([1, 2, 3])
    with pytest.raises(RequestError, match=r"one for each of 2 cells; got a str$"):
        strategy.identity_strategy(2, measure="pure").apply("12")  # type: ignore[arg-type]
