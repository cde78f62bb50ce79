"""Reconstruction: least squares by every structure is that of the dense formula, and intervals cover."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from privet import strategy
from privet.core.errors import RequestError
from privet.strategy.covariances import SubspaceCovariance
from privet.strategy.gaussian_program import solve_gaussian
from privet.strategy.integer_products import plain_array
from privet.strategy.reconstruction import half_widths

PAIRS = strategy.all_marginals((2, 3, 2), ways=2)


def listed(measure: Any) -> list[strategy.Strategy]:
    pure = [strategy.p_identity(strategy.all_ranges(16), rows=3, iterations=40)] if measure == "pure" else []
    roots = [strategy.spectral(strategy.all_ranges(9)), strategy.spectral(strategy.prefixes(6))]
    gaussian = [] if pure else [strategy.gaussian_optimum(strategy.all_ranges(9)), strategy.square_root(9), *roots]
    ends = (strategy.haar(4, measure=measure), strategy.tree(3, measure=measure))
    total = strategy.MatrixStrategy("total", measure, [[1, 1, 1]], [4])
    crossed = strategy.ProductStrategy((strategy.tree(4, measure=measure, weights=[1, 5, 2]), total))
    odd = strategy.MatrixStrategy("odd", measure, [[1, 2, 0, 5], [0, 1, 3, 1]], [1, 3])
    rows = [strategy.ProductStrategy((odd, strategy.identity_strategy(3, measure=measure)))]  # shares no directions
    return [
        strategy.identity_strategy(5, measure=measure),
        strategy.tree(11, branching=3, measure=measure),
        strategy.tree(11, branching=2, measure=measure, weights=[0, 5, 1, 0, 7]),
        strategy.haar(8, measure=measure, weights=[1, 4, 2, 3]),
        strategy.haar(7, measure=measure),
        strategy.workload_strategy(strategy.all_ranges(5), measure=measure),
        *pure,
        *gaussian,
        strategy.ProductStrategy(ends),
        strategy.UnionStrategy((strategy.ProductStrategy(ends), crossed), (3, 2)),
        strategy.UnionStrategy((strategy.ProductStrategy(ends), crossed, *rows), (3, 2, 1)),
        strategy.MarginalStrategy(measure, (2, 3, 2), (*PAIRS.subsets, (0, 1, 2)), (3, 1, 2, 1)),
    ]


CASES = [(measure, place) for measure in ("pure", "gaussian") for place in range(len(listed(measure)))]


@pytest.mark.parametrize(("measure", "place"), CASES)
def test_every_structure_is_least_squares(measure: str, place: int) -> None:
    one = listed(measure)[place]
    rows = np.array([one.apply([int(x) for x in unit]) for unit in np.eye(one.cells, dtype=int)], dtype=float).T
    noise = one.unit_variances()
    precision = rows.T @ (rows / noise[:, None])
    noisy = np.random.default_rng(4).normal(size=one.rows) * 100
    expected = np.linalg.solve(precision, rows.T @ (noisy / noise))
    np.testing.assert_allclose(one.solve(noisy, noise).ravel(), expected, atol=1e-6)
    cells = strategy.matrix(np.eye(one.cells)[:, ::-1])
    covariance = one.unit_covariance()
    found = np.array([covariance.of_rows(row[None])[0] for row in np.asarray(cells.rows())])
    np.testing.assert_allclose(found, np.diagonal(np.linalg.inv(precision))[::-1], rtol=1e-7)
    sums = np.tri(one.cells)
    np.testing.assert_allclose(
        covariance.of_rows(sums), np.einsum("ij,jk,ik->i", sums, np.linalg.inv(precision), sums), rtol=1e-7
    )
    power = 1 if measure == "pure" else 2
    weights = np.array(one.row_weights(), dtype=float)
    norm = (abs(rows) ** power * weights[:, None]).sum(axis=0).max()
    np.testing.assert_allclose(noise, 2 * (norm / weights) ** 2 if measure == "pure" else norm / weights)


def test_residuals_give_back_every_marginal_and_its_variance() -> None:
    planned = strategy.plan_residuals(strategy.all_marginals((2, 3, 4), ways=2))
    counts = np.arange(24) ** 2 % 17
    exact = np.array(planned.apply(counts), dtype=float)
    assert planned.rows == len(exact) == sum(math.prod((2, 3, 4)[a] - 1 for a in axes) for axes in planned.subsets)
    residuals = planned.residuals(exact, planned.unit_variances())
    tables = strategy.all_marginals((2, 3, 4), ways=2, below=True)
    found = [strategy.residuals.marginal_from(residuals, (2, 3, 4), axes).ravel() for axes in tables.subsets]
    np.testing.assert_allclose(np.concatenate(found), tables.answers(counts), atol=1e-9)
    covariance = planned.unit_covariance()
    assert isinstance(covariance, SubspaceCovariance)
    # from H z with independent z: the variance of a cell of each marginal, term by term
    for axes in tables.subsets:
        expected = 0.0
        for inner, noise in zip(planned.subsets, planned.unit_variances(), strict=True):
            if set(inner) <= set(axes):
                share = [1 - 1 / (2, 3, 4)[a] if a in inner else 1 / (2, 3, 4)[a] ** 2 for a in axes]
                expected += noise * math.prod(share)
        assert covariance.marginal_variance(axes) == pytest.approx(expected)
    np.testing.assert_allclose(
        tables.variances(covariance), [float(v) for v in covariance.dense().of_rows(tables.rows())], rtol=1e-9
    )


@pytest.mark.parametrize(
    ("workload", "measure"),
    [
        (strategy.all_ranges(32), "pure"),
        (strategy.all_ranges(32), "gaussian"),
        (strategy.all_marginals((2, 3, 4), ways=2), "pure"),
        (strategy.all_marginals((2, 3, 4), ways=2), "gaussian"),
        (strategy.product(strategy.prefixes(6), strategy.identity(3)), "pure"),
        (strategy.product(strategy.prefixes(6), strategy.identity(3)), "gaussian"),
    ],
    ids=repr,
)
def test_draws_have_the_variance_that_is_claimed_and_intervals_cover(workload: strategy.Workload, measure: Any) -> None:
    best = strategy.optimize(workload, measure=measure)
    price: Any = {"epsilon": 0.2} if measure == "pure" else {"rho": 0.02}
    measured = strategy.StrategyMeasure(best.strategy, neighbors="add-remove", **price)
    counts = [3 * place % 11 for place in range(workload.cells)]
    truth = workload.answers(counts)
    covered, squares, runs = 0.0, 0.0, 400
    for _ in range(runs):
        found = strategy.reconstruct(measured, measured.draw(counts)).answers(workload)
        covered += float(((found.low <= truth) & (truth <= found.high)).mean()) / runs
        squares += float(np.mean((found.plain - truth) ** 2)) / runs
    expected = float(np.mean(found.deviations**2))
    assert math.sqrt(expected) == pytest.approx(best.rmse / 0.2, rel=0.01)
    # answers to one workload share their noise: over 400 runs of all ranges with Laplace noise, the ratio has a
    # standard deviation of 0.053 and the coverage one of 0.0043; over the others both have at most 0.7 of these
    low, high = (0.6, 1.6) if measure == "pure" else (0.8, 1.25)
    assert low < squares / expected < high
    assert 0.91 < covered < 0.98


@pytest.mark.parametrize("measure", ["pure", "gaussian"])
def test_intervals_cover_sparse_truth_after_constraints(measure: Any) -> None:
    cells, runs = 64, 150
    one = strategy.identity_strategy(cells, measure=measure)
    price: Any = {"epsilon": 0.15} if measure == "pure" else {"rho": 0.005}
    measured = strategy.StrategyMeasure(one, neighbors="change-one", **price)
    counts = [0] * cells
    counts[5], counts[40] = 20, 3
    workload = strategy.union([strategy.total(cells), strategy.windows(cells, 32), strategy.identity(cells)])
    truth = workload.answers(counts)
    covered = np.zeros(len(truth))
    for _ in range(runs):
        found = strategy.reconstruct(measured, measured.draw(counts), nonnegative=True, whole=True).answers(workload)
        covered += (found.low <= truth) & (truth <= found.high)
        assert (found.low >= 0).all()
        assert ((found.low <= found.values) & (found.values <= found.high)).all()
        np.testing.assert_array_equal(found.values, np.rint(found.values))
    assert (covered / runs).mean() > 0.94
    assert (covered / runs).min() > 0.82  # six standard deviations below 0.95


def test_a_known_total_is_public_only_where_rows_do_not_come_and_go() -> None:
    one = strategy.identity_strategy(4, measure="pure")
    private = strategy.StrategyMeasure(one, epsilon=1, neighbors="add-remove")
    with pytest.raises(RequestError, match="no known total"):
        strategy.reconstruct(private, [1, 2, 3, 4], total=10)
    public = strategy.StrategyMeasure(one, epsilon=1, neighbors="change-one")
    found = strategy.reconstruct(public, [9, 2, -3, 4], total=10, nonnegative=True)
    assert found.constrained_cells.sum() == pytest.approx(10)
    assert found.constrained_cells.min() >= 0
    assert found.answers(strategy.prefixes(4)).high.max() <= 10
    plain = strategy.reconstruct(public, [9, 2, -3, 4], total=10, whole=True)
    assert plain.constrained_cells.sum() == 10


def test_the_closest_table_without_negative_cells_is_found() -> None:
    one = strategy.StrategyMeasure(strategy.identity_strategy(5, measure="pure"), epsilon=1, neighbors="add-remove")
    values = np.array([5.0, -2.0, 1.0, 0.5, 3.0])
    found = strategy.reconstruct(one, values, nonnegative=True).constrained_cells
    assert found.sum() == pytest.approx(values.sum())
    generator = np.random.default_rng(5)
    for _ in range(200):
        other = generator.dirichlet(np.ones(5)) * values.sum()
        assert ((found - values) ** 2).sum() <= ((other - values) ** 2).sum() + 1e-9


def test_queries_that_are_not_measured_are_refused() -> None:
    only = strategy.MatrixStrategy("total", "pure", [[1, 1, 1]], [1])
    assert only.rmse(strategy.total(3)) == pytest.approx(math.sqrt(2))
    for workload in (
        strategy.identity(3),
        strategy.prefixes(3),
        strategy.matrix([[1, 0, 0]]),
        strategy.union([strategy.total(3), strategy.identity(3)]),
    ):
        with pytest.raises(RequestError, match="never measured"):
            only.rmse(workload)
    pairs = strategy.plan_residuals(strategy.all_marginals((2, 2, 2), ways=1))
    with pytest.raises(RequestError, match="never measured"):
        pairs.rmse(strategy.all_marginals((2, 2, 2), ways=2))
    with pytest.raises(RequestError, match="shape"):
        pairs.rmse(strategy.all_marginals((2, 2, 3), ways=1))
    measured = strategy.StrategyMeasure(only, epsilon=1, neighbors="add-remove")
    for noisy in ([1.0, 2.0], [math.nan], [math.inf]):
        with pytest.raises(RequestError):
            strategy.reconstruct(measured, noisy)


@pytest.mark.parametrize("confidence", [0.5, 0.8, 0.9, 0.92, 0.95, 0.99, 0.999])
def test_widths_for_laplace_noise_cover_sums_with_any_weights(confidence: float) -> None:
    """The characteristic function of a weighted sum of Laplaces, inverted, at the width that is used."""
    width = half_widths(confidence, "pure")
    for weights in ([1.0], [1, 1], [1, 0.3], [1, 1, 1], [1, 0.5, 0.25, 0.1], [1.0] * 10):
        parts = np.array(weights) / math.sqrt(2 * sum(w * w for w in weights))  # a variance of 1
        step = 1e-3
        t = np.arange(step / 2, 4000, step)
        law = np.ones_like(t)
        for part in parts:
            law /= 1 + (part * t) ** 2
        covered = 2 / math.pi * float(np.sum(law * np.sin(width * t) / t)) * step
        assert covered > confidence - 0.0015
        if confidence == 0.95:
            assert covered < 0.9675


@pytest.mark.parametrize("measure", ["pure", "gaussian"])
def test_what_is_drawn_has_the_law_of_its_scale(measure: Any) -> None:
    one = strategy.MatrixStrategy("two rows", measure, [[1, 0], [0, 1]], [1, 4])
    price: Any = {"epsilon": 0.1} if measure == "pure" else {"rho": 0.005}
    measured = strategy.StrategyMeasure(one, neighbors="add-remove", **price)
    draws = np.array([measured.draw([0, 1000]) for _ in range(4000)])
    expected = [2 * 40**2, 2 * 10**2] if measure == "pure" else [400, 100]
    np.testing.assert_allclose(draws.mean(axis=0), [0, 1000], atol=6 * math.sqrt(expected[0] / 4000))
    np.testing.assert_allclose(draws.var(axis=0), expected, rtol=6 * math.sqrt((5 if measure == "pure" else 2) / 4000))
    np.testing.assert_allclose(measured.variances, expected, rtol=2e-3)


def test_only_differences_of_a_residual_are_released() -> None:
    planned = strategy.plan_residuals(strategy.all_marginals((3, 4), ways=2))
    measured = strategy.StrategyMeasure(planned, rho=0.5, neighbors="add-remove")
    drawn = measured.draw(list(range(12)))
    assert drawn.shape == (planned.rows,) == (1 + 2 + 3 + 6,)
    assert all(variance * 4**measured.exponent >= 64 * many for variance, many in measured.noises)
    counts = [10**6 * (place % 5) for place in range(12)]
    noisy = strategy.reconstruct(measured, measured.draw(counts)).cells
    np.testing.assert_allclose(noisy.ravel(), counts, atol=60)


def test_the_matrix_of_a_strategy_cannot_be_changed() -> None:
    tree = strategy.tree(4, measure="pure")
    with pytest.raises(ValueError, match="read-only"):
        tree.matrix.data[0] = 5
    with pytest.raises(ValueError, match="read-only"):
        plain_array(strategy.square_root(4).matrix)[0, 0] = 5


@pytest.mark.parametrize("measure", ["pure", "gaussian"])
def test_noise_of_alternating_scales_stays_with_its_row(measure: Any) -> None:
    one = strategy.MatrixStrategy("alternating", measure, np.eye(4, dtype=int) * [1, 3, 5, 7], [1, 4, 1, 4])
    price: Any = {"epsilon": 10**7} if measure == "pure" else {"rho": 10**14}
    drawn = strategy.StrategyMeasure(one, neighbors="add-remove", **price).draw([10, 20, 30, 40])
    np.testing.assert_allclose(drawn, [10, 60, 150, 280], atol=1e-3)


@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize("name", ["pure", "gaussian"])
def test_counts_that_are_cut_at_0_are_never_further_from_the_truth(name: Any, whole: bool) -> None:
    """On sparse counts, range by range; rounding moves a number by a half at most."""
    counts = [0] * 64
    counts[5], counts[40] = 300, 20
    ranges = strategy.all_ranges(64)
    one = strategy.optimize(ranges, measure=name, effort="low").strategy
    price: Any = {"epsilon": 0.1} if name == "pure" else {"rho": 0.002}
    measured = strategy.StrategyMeasure(one, neighbors="add-remove", **price)
    noisy, truth = measured.draw(counts), ranges.answers(np.array(counts, dtype=float))
    free, cut = (strategy.reconstruct(measured, noisy, nonnegative=n, whole=n and whole) for n in (False, True))
    before, after = (np.abs(found.answers(ranges).values - truth) for found in (free, cut))
    assert (after <= before + (0.5 if whole else 1e-9)).all()
    told = cut.answers(ranges)
    assert (told.low <= told.values).all()
    assert (told.values <= told.high).all()
    assert told.values.min() >= 0


def test_cells_of_a_tree_with_very_many_measurements_are_least_squares() -> None:
    """Its levels differ in precision, whatever their number of measurements."""
    size = 2**20
    tree = strategy.tree(size, branching=2**10, measure="pure", weights=[1, 0, 3])
    measure = strategy.StrategyMeasure(tree, epsilon=4, neighbors="add-remove")
    assert tree.rows > 2**20
    noisy = np.zeros(tree.rows)
    noisy[0] = 1.0
    total, cell = measure.variances[0], measure.variances[-1]
    found = strategy.reconstruct(measure, noisy).cells
    np.testing.assert_allclose(found, cell / (size * cell + total), rtol=1e-9)


SOME: dict[str, Any] = {
    "ranges": lambda: strategy.ranges(60, [(0, 17), (18, 40), (10, 30), (41, 59), (20, 50)]),
    "matrix": lambda: strategy.matrix([[1, 0, 1, 0, 2], [0, 0.5, 1.5, 1, 0], [1, 0.5, 2.5, 1, 2]]),
    "real": lambda: strategy.matrix([[0.1, 0.7, 1], [0.2, 1.4, 2]]),
    "total": lambda: strategy.total(9),
    "union": lambda: strategy.union([strategy.windows(12, 5), strategy.matrix([[1, -1] * 6])], weights=[3, 1]),
    "product": lambda: strategy.product(strategy.ranges(8, [(0, 3), (0, 5), (0, 3)])),
    "marginal": lambda: strategy.marginals((8,), [(), (0,)], factors={0: strategy.ranges(8, [(2, 3), (4, 5)])}),
    "large": lambda: strategy.matrix([[2.0**20, 1, 0], [0, 0, 3]]),
}


@pytest.mark.parametrize("name", SOME)
def test_the_optimum_for_fewer_queries_than_cells_is_off_by_nothing_but_noise(name: str) -> None:
    """Rounded rows that span another space than the queries would miss by a part of the counts, however large."""
    workload = SOME[name]()
    best = strategy.gaussian_optimum(workload, iterations=300, tolerance=1e-9)
    measure = strategy.StrategyMeasure(best, rho=0.5, neighbors="add-remove")
    counts = [10**9 + 10**8 * (place * 7 % 5) for place in range(best.cells)]
    found = strategy.reconstruct(measure, np.array(best.apply(counts), dtype=np.float64)).answers(workload)
    truth = workload.answers(counts)
    assert np.abs(found.plain - truth).max() < 1e-9 * np.abs(truth).max()
    # the least total variance: that of the program's lower bound
    bound = solve_gaussian(workload.gram(), iterations=2000, tolerance=1e-9).bound
    assert best.rmse(workload) ** 2 * workload.queries <= bound * (1.004 if name in ("real", "large") else 1 + 1e-4)


def test_what_a_known_total_says_by_itself_is_certain() -> None:
    for strategy_of in (strategy.identity_strategy(1, measure="pure"), strategy.p_identity(strategy.all_ranges(20))):
        measure = strategy.StrategyMeasure(strategy_of, epsilon=1, neighbors="change-one")
        for whole in (False, True):
            total = strategy.total(strategy_of.cells)
            noisy = measure.draw([3] * strategy_of.cells)
            found = strategy.reconstruct(measure, noisy, total=3 * strategy_of.cells, nonnegative=True, whole=whole)
            answer = found.answers(total)
            assert answer.low[0] <= 3 * strategy_of.cells <= answer.high[0]
            assert answer.high[0] - answer.low[0] < 1e-4
