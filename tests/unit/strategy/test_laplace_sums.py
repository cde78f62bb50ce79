"""Widths of sums of Laplace noises are those of their convolution; a known total lowers variances as it should."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from privet import strategy
from privet.strategy.laplace_sums import noise_terms, shares_of, sum_widths


def coverage(width: float, weights: np.ndarray) -> float:
    """Return P[|sum of weighted Laplaces| <= width deviations], by inverting the characteristic function finely."""
    parts = weights / math.sqrt(2 * float((weights**2).sum()))
    step = 0.02
    t = np.arange(step / 2, 400, step)
    law = np.exp(-np.log1p(np.outer(parts**2, t**2)).sum(axis=0))
    return 2 / math.pi * float(np.sum(law * np.sin(width * t) / t)) * step


def summed(weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    shares = weights**2 / (weights**2).sum()
    return np.array([shares.max()]), np.array([(shares**2).sum()])


@pytest.mark.parametrize("confidence", [0.8, 0.9, 0.95, 0.99, 0.999])
def test_widths_are_those_of_the_convolution(confidence: float) -> None:
    generator = np.random.default_rng(7)
    cases = [np.ones(many) for many in (1, 2, 3, 4, 10, 100)]
    cases += [np.array(one) for one in ([1, 0.3], [1, 0.5, 0.25, 0.1], [1, *[0.05] * 200])]
    cases += [generator.exponential(size=generator.integers(2, 30)) ** 2 for _ in range(20)]
    for weights in cases:
        width = float(sum_widths(confidence, *summed(weights))[0])
        assert coverage(width, weights) == pytest.approx(confidence, abs=0.001)


def test_normal_quantiles_for_few_terms_would_miss() -> None:
    for many, missed in ((1, 0.9375), (2, 0.9412), (3, 0.9432), (4, 0.9449)):
        assert coverage(1.959964, np.ones(many)) == pytest.approx(missed, abs=3e-4)


def test_rare_misses_have_the_wider_of_both_laws() -> None:
    assert float(sum_widths(1 - 1e-7, *summed(np.ones(50)))[0]) == pytest.approx(math.log(1e7) / math.sqrt(2))


@pytest.mark.parametrize(
    "one",
    [
        strategy.tree(6, measure="pure", weights=[1, 0, 4, 2]),
        strategy.ProductStrategy((strategy.haar(4, measure="pure"), strategy.tree(3, measure="pure"))),
        strategy.UnionStrategy((strategy.haar(4, measure="pure"), strategy.tree(4, measure="pure")), (1, 3)),
        strategy.MarginalStrategy("pure", (2, 3), ((0,), (0, 1)), (1, 2)),
    ],
    ids=repr,
)
def test_the_terms_of_answers_are_the_coefficients_of_measurements(one: strategy.Strategy) -> None:
    rows = np.array([one.apply([int(x) for x in unit]) for unit in np.eye(one.cells, dtype=int)], dtype=float).T
    noise = one.unit_variances()
    solve = np.linalg.solve(rows.T @ (rows / noise[:, None]), rows.T / noise) * np.sqrt(noise)
    terms = noise_terms(one, noise)
    assert terms is not None
    np.testing.assert_allclose(terms, solve, atol=1e-8)
    factors = [strategy.prefixes(size) for size in one.shape]
    workload: strategy.Workload = strategy.product(*factors) if len(factors) > 1 else factors[0]
    every = strategy.union([workload, workload])
    added = (every.rows() @ solve) ** 2
    shares = added / added.sum(axis=1, keepdims=True)
    for held in (terms, None) if isinstance(one, strategy.ProductStrategy) else (terms,):
        found = shares_of(every, one, held)
        assert found is not None
        np.testing.assert_allclose(found[0], shares.max(axis=1), rtol=1e-6)
        np.testing.assert_allclose(found[1], (shares**2).sum(axis=1), rtol=1e-6)


def test_intervals_of_single_cells_and_of_long_ranges_have_their_own_widths() -> None:
    cells = strategy.identity_strategy(400, measure="pure")
    measure = strategy.StrategyMeasure(cells, epsilon=0.001, neighbors="add-remove")
    found = strategy.reconstruct(measure, [0] * 400).answers(strategy.ranges(400, [(0, 0), (0, 1), (0, 399)]))
    widths = (found.high - found.low) / 2 / found.deviations
    assert widths == pytest.approx([math.log(20) / math.sqrt(2), 2.0565, 1.9603], abs=0.003)


@pytest.mark.parametrize("epsilon", [0.3, 1, 2, 4, 40])
def test_noise_of_a_few_integers_is_covered_too(epsilon: float) -> None:
    """Summed over the law of the draw itself: no simulation."""
    measure = strategy.StrategyMeasure(
        strategy.identity_strategy(1, measure="pure"), epsilon=epsilon, neighbors="add-remove"
    )
    found = strategy.reconstruct(measure, [0]).answers(strategy.total(1))
    reach = math.floor(found.high[0] + 1e-12)
    ratio = math.exp(-epsilon)
    assert 1 - 2 * ratio ** (reach + 1) / (1 + ratio) >= 0.94


@pytest.mark.parametrize("measure", ["pure", "gaussian"])
def test_a_known_total_is_a_measurement_without_error(measure: Any) -> None:
    """The same answers and variances as if the total had been measured once more with almost no noise."""
    price: Any = {"epsilon": 0.1} if measure == "pure" else {"rho": 0.005}
    crossed = (strategy.tree(4, measure=measure), strategy.haar(3, measure=measure))
    flat = strategy.MatrixStrategy("total", measure, [[1, 1, 1]], [1])
    for one in (
        strategy.tree(6, measure=measure, weights=[1, 0, 4, 2]),
        strategy.ProductStrategy(crossed),
        strategy.UnionStrategy(
            (strategy.ProductStrategy(crossed), strategy.ProductStrategy((crossed[0], flat))), (1, 2)
        ),
        strategy.MarginalStrategy(measure, (2, 3), ((0,), (0, 1)), (1, 2)),
    ):
        measured = strategy.StrategyMeasure(one, neighbors="change-one", **price)
        counts = [7 * place % 11 for place in range(one.cells)]
        noisy = np.array(one.apply(counts), dtype=float) + np.arange(one.rows) % 5 - 2
        found = strategy.reconstruct(measured, noisy, total=sum(counts))
        factors = [strategy.prefixes(size) for size in one.shape]
        workload: strategy.Workload = strategy.product(*factors) if len(factors) > 1 else factors[0]
        answers = found.answers(workload)
        rows = np.array([one.apply([int(x) for x in unit]) for unit in np.eye(one.cells, dtype=int)], dtype=float).T
        noise = measured.variances
        if not isinstance(one, strategy.MatrixStrategy | strategy.MarginalStrategy) and measure == "pure":
            noise = one.unit_variances() * float(measured.scale / one.column_norm()) ** 2
        more = np.vstack([rows, np.ones(one.cells)])
        weights = 1 / np.append(noise, 1e-7 * noise.min())
        covariance = np.linalg.inv(more.T @ (more * weights[:, None]))
        cells = covariance @ (more.T @ (weights * np.append(noisy, sum(counts))))
        queries = workload.rows()
        np.testing.assert_allclose(answers.plain, queries @ cells, rtol=1e-4, atol=1e-3)
        expected = np.einsum("ij,jk,ik->i", queries, covariance, queries)
        np.testing.assert_allclose(answers.deviations**2, expected, atol=1e-4 * expected.max())
        before = strategy.reconstruct(measured, noisy).answers(workload).deviations
        assert (answers.deviations <= before + 1e-9).all()
        assert answers.deviations.sum() < 0.95 * before.sum()
        assert answers.high[-1] - answers.low[-1] < 1e-3 * before[-1]  # the last query is the total itself
        assert found.constrained_cells.sum() == pytest.approx(sum(counts))


def test_a_total_that_is_not_measured_changes_no_variance() -> None:
    differences = strategy.MatrixStrategy("differences", "pure", [[1, -1, 0], [0, 1, -1]], [1, 1])
    measured = strategy.StrategyMeasure(differences, epsilon=1, neighbors="change-one")
    workload = strategy.matrix([[1, -1, 0]])
    plain = strategy.reconstruct(measured, [3, 1]).answers(workload)
    known = strategy.reconstruct(measured, [3, 1], total=9).answers(workload)
    assert known.deviations == pytest.approx(plain.deviations)
    assert known.plain == pytest.approx(plain.plain)
