"""Residuals with a basis along ordered attributes: exact norms, least squares, and the least error of their kind."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from privet import strategy
from privet.core.errors import RequestError
from privet.strategy.centred_bases import centred_basis
from privet.strategy.gaussian_program import solve_gaussian
from privet.strategy.reconstruction import difference_of_counts, workload_of_spans
from privet.strategy.residuals import SparseCounts, marginal_from

WORKLOADS: dict[str, Any] = {
    "plain": strategy.all_marginals((2, 3), ways=2),
    "ranges": strategy.all_marginals((2, 4), ways=2, factors={1: strategy.all_ranges(4)}),
    "both": strategy.all_marginals((3, 4), ways=2, factors={0: strategy.prefixes(3), 1: strategy.all_ranges(4)}),
    "three": strategy.all_marginals((2, 3, 5), ways=3, below=True, factors={2: strategy.prefixes(5)}),
    "one value": strategy.all_marginals((1, 4, 2), ways=3, factors={1: strategy.all_ranges(4)}),
    "few": strategy.marginals((3, 6), [(0, 1)], factors={1: strategy.matrix([[1, 1, 0, 0, 0, 0], [0, 0, 0, 2, 1, 1]])}),
    "total": strategy.marginals((3, 4), [(0, 1), ()], factors={1: strategy.total(4)}),
}


def planned(name: str) -> strategy.ResidualStrategy:
    return strategy.plan_residuals(WORKLOADS[name])


def explicit(one: strategy.ResidualStrategy) -> tuple[Any, Any]:
    """Return the matrix that is released, and the covariance of its noise at these variances, from their definition."""
    variances, rows, blocks = one.unit_variances(), [], []
    for axes, variance in zip(one.subsets, variances, strict=True):
        matrix, spread = np.ones((1, 1)), np.ones((1, 1))
        for axis, size in enumerate(one.sizes):
            basis = one._basis(axis)
            if axis not in axes:
                matrix = np.kron(matrix, np.ones((1, size)))
                continue
            differences = np.hstack([-np.ones((size - 1, 1)), np.eye(size - 1)])
            part = differences if basis is None else np.asarray(basis.matrix, dtype=float)
            matrix = np.kron(matrix, part)
            spread = np.kron(spread, part @ part.T if basis is None else np.eye(size - 1))
        rows.append(matrix)
        blocks.append(spread * variance)
    many = sum(map(len, rows))
    noise, place = np.zeros((many, many)), 0
    for block in blocks:
        noise[place : place + len(block), place : place + len(block)] = block
        place += len(block)
    return np.vstack(rows), noise


def moved(one: strategy.ResidualStrategy, step: Any) -> Fraction:
    """Return the squared norm that a step of counts moves all that is released by, in units of its noise."""
    found = Fraction(0)
    for axes, weight, table in zip(one.subsets, one.weights, one._measured_tables(step), strict=True):
        plain = [place for place, axis in enumerate(axes) if one._basis(axis) is None]
        held, unit = table.astype(object), one._unit(axes)
        for place in plain:
            held = held * held.shape[place] - held.sum(axis=place, keepdims=True)
            unit *= held.shape[place] ** 2
        found += Fraction(weight * sum(int(entry) ** 2 for entry in held.ravel()), unit)
    return found


@pytest.mark.parametrize("name", list(WORKLOADS))
def test_every_row_is_applied_exactly_to_whole_numbers_of_any_size(name: str) -> None:
    one = planned(name)
    matrix, _ = explicit(one)
    draw = np.random.default_rng(1)
    for size in (5, 2**60):
        counts = [int(count) * (1 if size == 5 else 2**40) for count in draw.integers(0, 9, one.cells)]
        expected = [sum(int(entry) * count for entry, count in zip(row, counts, strict=True)) for row in matrix]
        assert one.apply(counts) == expected
        places = np.array(list(itertools.product(*map(range, one.sizes))))
        tables = one._measured_tables(SparseCounts(places, counts))
        pairs = zip(one.subsets, tables, strict=True)
        found = [int(entry) for axes, table in pairs for entry in one._differences_of(axes, table).ravel()]
        assert found == expected


def test_differences_of_sums_that_just_fit_64_bits_are_exact() -> None:
    basis = centred_basis(strategy.all_ranges(3))
    one = strategy.ResidualStrategy((2, 2, 2, 2, 3), ((0, 1, 2, 3, 4),), (1,), bases=(None,) * 4 + (basis,))
    many = 2**44 - 1  # with rows of 2**17 in absolute values, the most that is multiplied in 64 bits
    even = [sum(place) % 2 == 0 for place in itertools.product(range(2), repeat=4)]
    counts = [count for first in even for count in ([many, 0, 0] if first else [0, many, many])]
    matrix = np.asarray(basis.matrix).tolist()
    assert one.apply(counts) == [8 * many * (row[0] - row[1] - row[2]) for row in matrix]
    assert max(map(abs, one.apply(counts))) >= 2**63


@pytest.mark.parametrize("name", list(WORKLOADS))
def test_norms_are_the_largest_of_all_cells_and_of_all_pairs_of_them(name: str) -> None:
    one = planned(name)
    units = np.eye(one.cells, dtype=np.int64)
    columns = [moved(one, unit) for unit in units]
    assert one.column_norm() == max(columns)
    pairs = [moved(one, a - b) for a, b in itertools.combinations(units, 2)]
    assert max(pairs) <= one.pair_norm()
    assert float(max(pairs)) >= 0.99 * float(one.pair_norm())


@pytest.mark.parametrize("neighbors", ["add-remove", "change-one"])
@pytest.mark.parametrize("name", list(WORKLOADS))
def test_the_event_is_the_curve_of_the_noise_that_is_drawn(name: str, neighbors: Any) -> None:
    one = planned(name)
    measured = strategy.StrategyMeasure(one, rho=0.3, neighbors=neighbors)
    matrix, noise = explicit(one)
    factor = [float(variance / measured.noises[0][0]) for variance, _ in measured.noises]
    own = one.unit_variances()
    assert factor == pytest.approx((own / own[0]).tolist(), rel=1e-9)
    # of Gaussian noise V on A x the loss between neighbours is u' A' V^-1 A u / 2, of rho
    scale = float(measured.noises[0][0]) / own[0]
    precision = matrix.T @ np.linalg.inv(noise * scale) @ matrix
    steps = np.eye(one.cells)
    tried = list(steps) + [a - b for a, b in itertools.combinations(steps, 2) if neighbors == "change-one"]
    worst = max(float(step @ precision @ step) / 2 for step in tried)
    assert worst <= float(measured.event.rho()) * (1 + 1e-9)
    assert worst >= 0.99 * float(measured.event.rho())
    for axes, (variance, many) in zip(one.subsets, measured.noises, strict=True):
        assert variance * 4**measured.exponent >= 64 * many
        assert many == math.prod(one.sizes[axis] - (one._basis(axis) is not None) for axis in axes)


@pytest.mark.parametrize("name", ["plain", "ranges", "both", "three", "one value", "few"])
def test_cells_and_their_covariance_are_those_of_least_squares(name: str) -> None:
    workload = WORKLOADS[name]
    full = strategy.plan_residuals(
        strategy.marginals(workload.sizes, [*{*workload.subsets, tuple(range(len(workload.sizes)))}],
                           factors={axis: one for axis, one in enumerate(workload.factors) if one is not None})
    )  # fmt: skip
    matrix, noise = explicit(full)
    inverse = np.linalg.inv(noise)
    covariance = np.linalg.inv(matrix.T @ inverse @ matrix)
    found: Any = full.covariance(full.unit_variances())
    assert np.allclose(found.dense().matrix, covariance, rtol=1e-6, atol=1e-9 * covariance.max())
    noisy = np.random.default_rng(2).normal(size=full.rows) * np.sqrt(np.diagonal(noise))
    solved = full.solve(noisy, full.unit_variances()).ravel()
    assert np.allclose(solved, covariance @ matrix.T @ inverse @ noisy, rtol=1e-6, atol=1e-6 * abs(solved).max())
    for asked in (workload, *workload.products):
        rows = asked.rows()
        variances = np.einsum("ij,jk,ik->i", rows, covariance, rows)
        assert np.allclose(asked.variances(found), variances, rtol=1e-6, atol=1e-9)
    weighted = sum(
        weight * np.trace(part.gram() @ covariance)
        for part, weight in zip(workload.products, workload.weights, strict=True)
    )
    assert workload.total_variance(found) == pytest.approx(weighted, rel=1e-6)


def test_a_basis_has_the_least_error_of_all_that_leave_totals_out() -> None:
    for workload in (strategy.all_ranges(40), strategy.prefixes(33), strategy.windows(20, 5), strategy.identity(7)):
        n = workload.cells
        basis = centred_basis(workload)
        matrix = np.asarray(basis.matrix)
        assert matrix.dtype == np.int64
        assert not matrix.sum(axis=1).any()
        centring = np.eye(n) - 1 / n
        assert np.allclose(basis.inverse @ matrix, centring, atol=1e-9)
        gram = workload.gram()
        reached = float(np.trace(gram @ basis.inner)) * basis.largest
        bound = solve_gaussian(centring @ gram @ centring, iterations=400).bound
        assert bound <= reached * (1 + 1e-9)
        assert reached <= bound * (1 + 2e-3)


CASES: list[tuple[tuple[int, ...], list[tuple[int, ...]], dict[int, Any]]] = [
    ((10, 2, 64), [(0, 1), (0, 2), (1, 2)], {2: strategy.all_ranges(64)}),
    ((10, 2, 64), [(0, 2), (1, 2)], {2: strategy.prefixes(64)}),
    ((5, 20, 30), [(0, 1), (0, 2), (1, 2)], {1: strategy.all_ranges(20), 2: strategy.prefixes(30)}),
]


@pytest.mark.parametrize("case", CASES, ids=["ranges", "prefixes", "both"])
def test_bases_err_less_than_single_values_and_than_products_for_several_tables(case: Any) -> None:
    shape, subsets, factors = case
    workload = strategy.marginals(shape, subsets, factors=factors)
    found = strategy.plan_residuals(workload)
    error = found.rmse(workload)
    assert error < strategy.plan_residuals(strategy.marginals(shape, subsets)).rmse(workload)
    best = strategy.optimize(workload, measure="gaussian", effort="low")
    assert best.strategy.name == "residuals"
    assert error <= min(candidate.rmse for candidate in best.table) * (1 + 1e-8)


def test_single_values_are_a_workload_like_any_other() -> None:
    asked = strategy.all_marginals((4, 6, 3), ways=2)
    named = strategy.all_marginals((4, 6, 3), ways=2, factors={1: strategy.identity(6)})
    assert strategy.plan_residuals(asked).digest == strategy.plan_residuals(named).digest
    # as a basis single values cost what they cost without one
    cells = strategy.all_marginals((4, 6, 3), ways=2, factors={1: strategy.ranges(6, [(i, i) for i in range(6)])})
    with_basis = strategy.plan_residuals(cells)
    assert with_basis.bases[1] is not None
    assert with_basis.rmse(asked) == pytest.approx(strategy.plan_residuals(asked).rmse(asked), rel=1e-4)


def test_counts_of_spans_have_the_variance_of_their_sums() -> None:
    for name in ("ranges", "both", "three", "one value"):
        one = planned(name)
        measure = strategy.StrategyMeasure(one, rho=0.1, neighbors="add-remove")
        found = strategy.reconstruct(measure, np.arange(one.rows, dtype=float))
        covariance: Any = found.covariance
        sizes = one.sizes
        full = tuple(axis for axis in range(len(sizes)) if sizes[axis] > 1)[-2:]
        table = marginal_from(found.residuals, sizes, full)
        some = {full[0]: (0, 0), full[1]: (1, sizes[full[1]] - 1)}
        other = {full[1]: (0, 1)}
        (first,), (second,) = (found.answers(workload_of_spans(sizes, one)).plain for one in (some, other))
        assert first == pytest.approx(table[0, 1:].sum(), rel=1e-9)
        told = difference_of_counts(found, some, other, 0.95)
        assert told.plain[0] == pytest.approx(first - second, rel=1e-9, abs=1e-9)
        rows = []
        for spans in (some, other):
            mark = np.zeros(sizes)
            mark[
                tuple(slice(spans[a][0], spans[a][1] + 1) if a in spans else slice(None) for a in range(len(sizes)))
            ] = 1
            rows.append(mark.ravel())
        dense = covariance.dense()
        if dense.unmeasured is not None:
            continue  # an attribute of one value, and nothing else
        assert told.deviations[0] ** 2 == pytest.approx(float(dense.of_rows((rows[0] - rows[1])[None])[0]), rel=1e-6)
        for spans, row in zip((some, other), rows, strict=True):
            variances = workload_of_spans(sizes, spans).variances(covariance)
            assert variances[0] == pytest.approx(float(dense.of_rows(row[None])[0]), rel=1e-6)
            assert covariance.between(spans, spans) == pytest.approx(variances[0], rel=1e-6)


@pytest.mark.parametrize("name", ["plain", "ranges", "both", "three"])
def test_no_other_weights_of_a_plan_err_less(name: str) -> None:
    workload, one = WORKLOADS[name], planned(name)
    least = one.rmse(workload)
    for place, weight in enumerate(one.weights):
        for times in (Fraction(4, 5), Fraction(5, 4)):
            weights = (*one.weights[:place], round(weight * times), *one.weights[place + 1 :])
            other = strategy.ResidualStrategy(one.sizes, one.subsets, weights, bases=one.bases)
            assert other.rmse(workload) > least * (1 + 1e-5)


def test_what_is_no_basis_is_refused() -> None:
    good = centred_basis(strategy.all_ranges(3))
    make = strategy.CentredBasis
    for wrong in (
        lambda: make("x", "gaussian", [[1, 0, 0], [0, 1, -1]], [1, 1]),  # a row with a total
        lambda: make("x", "gaussian", [[10**9, -(10**9), 1], [0, 10**9, -(10**9)]], [1, 1]),  # a very small part of it
        lambda: make("x", "gaussian", [[1, -1, 0], [2, -2, 0]], [1, 1]),  # says nothing of the last value
        lambda: make("x", "gaussian", [[1, -1, 0]], [1]),
        lambda: make("x", "pure", good.matrix, [1, 1]),
        lambda: make("x", "gaussian", good.matrix, [1, 2]),
        lambda: strategy.ResidualStrategy((3, 2), ((0,),), (1,), bases=(good,)),
        lambda: strategy.ResidualStrategy((2, 3), ((0,),), (1,), bases=(good, None)),
        lambda: strategy.ResidualStrategy((3, 2), ((0,),), (1,), bases=(strategy.prefixes(3), None)),  # type: ignore[arg-type]
        lambda: strategy.marginals((3, 2), [(0,)], factors={0: strategy.all_ranges(4)}),
        lambda: strategy.marginals((3, 2), [(0,)], factors={2: strategy.all_ranges(4)}),
        lambda: strategy.marginals((3, 2), [(0,)], factors=[strategy.all_ranges(3)]),  # type: ignore[arg-type]
        lambda: strategy.marginals((3, 2), [(0,)], factors={0: "ranges"}),  # type: ignore[dict-item]
    ):
        with pytest.raises(RequestError):
            wrong()


def test_a_strategy_without_bases_is_described_as_before_there_were_any() -> None:
    plain = strategy.ResidualStrategy((3, 2), ((), (0,)), (2, 3))
    assert plain.describing() == b"ResidualStrategy ((), (0,)) (2, 3)"
    basis = centred_basis(strategy.all_ranges(3))
    assert strategy.ResidualStrategy((3, 2), ((), (0,)), (2, 3), bases=(None, None)).digest == plain.digest
    other = strategy.ResidualStrategy((3, 2), ((), (0,)), (2, 3), bases=(basis, None))
    assert other.digest not in (plain.digest, planned("ranges").digest)


def test_a_basis_is_made_once_for_each_kind_and_size() -> None:
    assert centred_basis(strategy.all_ranges(30)) is centred_basis(strategy.all_ranges(30))
    assert centred_basis(strategy.all_ranges(30)).digest != centred_basis(strategy.prefixes(30)).digest


@pytest.mark.parametrize(("cells", "bits"), [(200, 16), (300, 12)])
def test_large_bases_are_rounded_above_what_machines_differ_by(cells: int, bits: int) -> None:
    workload = strategy.prefixes(cells)
    basis = centred_basis(workload)
    assert basis.largest == pytest.approx(4**bits, rel=5e-3)
    centring = np.eye(cells) - 1 / cells
    gram = workload.gram()
    reached = float(np.trace(gram @ basis.inner)) * basis.largest
    assert reached <= solve_gaussian(centring @ gram @ centring, iterations=100, tolerance=1e-4).bound * (1 + 2e-3)
