"""Oracles of means: exact odds, draws that follow them, no bias, variances as stated, intervals that cover."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from privet import accounting, local
from privet.core.errors import BadParameter, BadValue, RequestError
from privet.core.numbers import exp_up
from privet.local.hybrid import WindowLaw
from privet.local.mean_oracle import GRID

POINTS = {local.PiecewiseMean: 24, local.HybridMean: 16}


def made(kind: Any, epsilon: float, **given: Any) -> Any:
    few = {"points": POINTS[kind]} if kind in POINTS else {}
    return kind(-1, 1, epsilon=epsilon, **few, **given)


SMALL = [(kind, epsilon) for kind in local.MEANS for epsilon in (0.5, 1, 3)]


@pytest.mark.parametrize(("kind", "epsilon"), SMALL)
def test_the_exact_matrix_costs_epsilon_and_no_more(kind: Any, epsilon: float) -> None:
    oracle = made(kind, epsilon)
    rows = oracle.matrix()
    assert len(rows) == oracle.steps + 1
    assert all(sum(row) == 1 for row in rows)
    worst = max(max(column) / min(column) for column in zip(*rows, strict=True))
    assert worst <= exp_up(Fraction(epsilon))
    assert float(worst) == pytest.approx(math.exp(oracle.epsilon), rel=1e-12)
    assert oracle.epsilon == pytest.approx(epsilon, rel=1e-6)


@pytest.mark.parametrize(("kind", "epsilon"), SMALL)
def test_the_event_is_no_less_than_any_two_positions(kind: Any, epsilon: float) -> None:
    oracle = made(kind, epsilon)
    rows = np.array([[float(odd) for odd in row] for row in oracle.matrix()])
    p, q = (np.array([float(odd) for odd in side]) for side in (oracle.event.p, oracle.event.q))

    def delta(one: Any, other: Any, at: float) -> float:
        return float(np.maximum(one - math.exp(at) * other, 0).sum())

    for at in (0.0, epsilon / 3, epsilon / 2, epsilon * 0.9):
        stated = delta(p, q, at)
        assert delta(q, p, at) == pytest.approx(stated)
        found = [delta(rows[i], rows[j], at) for i in (0, 1, oracle.steps) for j in range(oracle.steps + 1)]
        assert max(found) <= stated + 1e-12
        assert max(found) == pytest.approx(stated, rel=1e-9)


@pytest.mark.parametrize(("kind", "epsilon"), SMALL)
def test_the_blanket_is_below_every_position(kind: Any, epsilon: float) -> None:
    oracle = made(kind, epsilon)
    least = sum(min(column) for column in zip(*oracle.matrix(), strict=True))
    assert sum(oracle.shuffled(100).blanket) == least


def test_shuffled_means_cost_less() -> None:
    assert accounting.epsilon(local.DuchiMean(0, 1, epsilon=1).shuffled(200), 1e-6) < 0.5


@pytest.mark.parametrize(("kind", "epsilon"), SMALL)
def test_reports_are_unbiased_and_vary_as_stated(kind: Any, epsilon: float) -> None:
    """Everything here is summed over the exact matrix, so that nothing is left to chance."""
    oracle = made(kind, epsilon)
    rows, decoded = oracle.matrix(), oracle._decoded
    for value in (Fraction(-1), Fraction(0), Fraction(1), Fraction(3, 8), Fraction(-17, 1024)):
        share = (value + 1) / 2 * oracle.steps
        below, part = math.floor(share), share - math.floor(share)
        law = np.array([float(odd) for odd in rows[below]])
        if part:
            law = (1 - float(part)) * law + float(part) * np.array([float(odd) for odd in rows[below + 1]])
        mean = float(law @ decoded)
        assert mean == pytest.approx(float(value), abs=1e-9)
        assert float(law @ decoded**2) - mean**2 == pytest.approx(oracle.variance(value, 1), rel=1e-9)


@pytest.mark.parametrize(("kind", "epsilon"), SMALL)
def test_draws_follow_the_matrix(kind: Any, epsilon: float) -> None:
    oracle, n = made(kind, epsilon), 40_000
    position = oracle.steps // 3
    drawn = np.bincount(oracle._draw(np.full(n, position)), minlength=oracle.symbols)
    for seen, odd in zip(drawn.tolist(), oracle.matrix()[position], strict=True):
        odds = float(odd)
        assert abs(seen - n * odds) < 6.2 * math.sqrt(n * odds * (1 - odds)) + 14  # 1e-9 each


@pytest.mark.parametrize("kind", local.MEANS)
def test_positions_are_drawn_without_bias(kind: Any) -> None:
    oracle, n = made(kind, 2), 40_000
    for place in (0, 1, GRID // 3, GRID - 1, GRID):
        positions = oracle._place(np.full(n, place))
        exact = place * oracle.steps / GRID
        assert set(positions.tolist()) <= {math.floor(exact), math.ceil(exact)}
        assert abs(positions.mean() - exact) < 5.8 * 0.5 / math.sqrt(n)  # 1e-8


@pytest.mark.parametrize("kind", local.MEANS)
@pytest.mark.parametrize(("n", "epsilon"), [(12, 1), (12, 8), (150, 1), (150, 8)])
def test_intervals_cover_the_mean(kind: Any, n: int, epsilon: float) -> None:
    oracle, runs = kind(0, 10, epsilon=epsilon), 1000
    values = np.linspace(0, 10, n) ** 2 / 10
    symbols = oracle._draw(oracle._place(oracle._read(np.tile(values, runs)))).reshape(runs, n)
    truth, covered = values.mean(), 0
    for row in symbols:
        tally = np.bincount(row, minlength=oracle.symbols)
        low, high = oracle._interval(tally, n, 0.95, "reports")[2:]
        covered += low <= truth / 5 - 1 <= high
    assert covered / runs >= 0.94 - 5.3 * math.sqrt(0.06 * 0.94 / runs)  # 1e-7


@pytest.mark.parametrize("kind", local.MEANS)
def test_intervals_for_a_population_also_cover_the_sampling(kind: Any) -> None:
    oracle, n, runs = kind(0, 1, epsilon=8), 200, 1000
    covered = 0
    values = (np.random.default_rng().random(n * runs) < 0.3).astype(float)
    symbols = oracle._draw(oracle._place(oracle._read(values))).reshape(runs, n)
    for row in symbols:
        low, high = oracle._interval(np.bincount(row, minlength=oracle.symbols), n, 0.95, "population")[2:]
        covered += low <= 0.3 * 2 - 1 <= high
    assert covered / runs >= 0.94 - 5.3 * math.sqrt(0.06 * 0.94 / runs)


@pytest.mark.parametrize("kind", local.MEANS)
def test_the_shape_is_that_of_every_oracle(kind: Any) -> None:
    oracle = kind(0, 100, epsilon=6, survey="pay")
    reports = oracle.client.reports([10.0, 20, 30] * 400)
    whole, parts, rest = oracle.server(), oracle.server(), oracle.server()
    assert whole.add(reports) == 1200
    parts.add([reports[:300].to_bytes(), reports[300:600].to_json()])
    rest.add(iter(reports[600:]))
    parts.merge(rest)
    assert parts.estimate().to_dict() == whole.estimate().to_dict()
    assert whole.add(reports[:2]) == 0
    forged = local.Reports(
        oracle.digest, np.array([[1, 2]], dtype=np.uint64), np.full((1, oracle.width), 255, np.uint8)
    )
    assert whole.add(forged) == 0
    assert whole.add(kind(0, 100, epsilon=6, survey="other").client.report(3)) == 0
    assert whole.add(kind(0, 101, epsilon=6, survey="pay").client.report(3)) == 0
    assert whole.rejected == {"repeated": 2, "impossible content": 1, "another survey": 2}
    found = whole.estimate()
    assert abs(found.value - 20) < 6 * math.sqrt(oracle.variance(20, 1200)) + 0.5
    assert found.low <= found.high
    assert "mean" in repr(found)
    assert "5 more were rejected" in found.notes[0]
    assert len(oracle.client.report(50)) == 1


@pytest.mark.parametrize("kind", local.MEANS)
def test_answers_are_clamped_and_what_is_no_number_is_refused(kind: Any) -> None:
    oracle = kind(0, 10, epsilon=1)
    assert oracle._read([-5, 0, 10, 99, 1e300]).tolist() == [0, 0, GRID, GRID, GRID]
    assert oracle._read([Fraction(5), 10**400]).tolist() == [GRID // 2, GRID]
    for bad in ("3", None, math.nan, math.inf, True, [1, "x"], [[1], [2, 3]], object()):
        with pytest.raises(BadValue):
            oracle.client.report(bad)
    with pytest.raises(BadValue):
        oracle.client.report([1, 2])
    with pytest.raises(BadValue):
        oracle.client.reports(3)


@pytest.mark.parametrize("kind", local.MEANS)
@pytest.mark.parametrize(
    "given", [{"low": 2}, {"high": math.nan}, {"epsilon": 0}, {"epsilon": 0.001}, {"epsilon": 51}, {"survey": 3}]
)
def test_bad_parameters_are_refused_by_name(kind: Any, given: dict[str, Any]) -> None:
    with pytest.raises(BadParameter) as refused:
        kind(**{"low": 0, "high": 1, "epsilon": 1, **given})
    assert refused.value.parameter in {*given, "high"}


def test_liars_move_a_mean_as_far_as_is_said() -> None:
    for kind in local.MEANS:
        oracle = kind(0, 10, epsilon=1)
        highest = oracle.symbols - 1 if kind is not local.HybridMean else int(np.argmax(oracle._decoded))
        tally = np.zeros(oracle.symbols, dtype=np.int64)
        tally[highest] = 100
        forged = oracle._estimate(tally, 100, 0.95, "reports", {}).value
        assert oracle.robustness(0.1) == pytest.approx(0.1 * forged)
        with pytest.raises(BadParameter):
            oracle.robustness(2)


def test_hybrid_is_no_worse_than_its_parts() -> None:
    for epsilon in (0.1, 0.6, 0.7, 1, 2, 6):
        hybrid, *others = (kind(-1, 1, epsilon=epsilon) for kind in local.MEANS)
        worst = max(hybrid.variance(value, 1) for value in (0, 1))
        for other in others:
            assert worst <= max(other.variance(value, 1) for value in (0, 1)) * (1 + 1e-9)


def test_windows_that_overlap_share_points() -> None:
    law = WindowLaw(5, 4, Fraction(3))
    assert law.starts == 2
    assert sum(first for first, _, _ in law.outcome_odds) == 1
    assert sum(least for _, _, least in law.outcome_odds) == sum(
        min(column) for column in zip(law.row(0), law.row(1), strict=True)
    )


def test_large_matrices_say_what_to_do() -> None:
    with pytest.raises(RequestError, match="fewer points"):
        local.PiecewiseMean(0, 1, epsilon=1).matrix()
    with pytest.raises(BadParameter):
        local.PiecewiseMean(0, 1, epsilon=1).variance(2, 10)
