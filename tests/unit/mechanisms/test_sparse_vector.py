"""Sparse vectors: how the budget is divided, when a run halts, how wrong it is, and what is refused."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

from privet import accounting
from privet.core.errors import RequestError
from privet.core.event import Composed, Repeated
from privet.core.unit import Sensitivity
from privet.mechanisms import Above, AboveThreshold, Laplace, NumericSparse, Sparse
from privet.mechanisms.sparse_run import BLOCK
from privet.mechanisms.sparse_vector import improve

F = Fraction


def sparse(limit: int = 1, **given: Any) -> Sparse:
    return Sparse(**{"threshold": 0, "sensitivity": 1, "epsilon": 1, "limit": limit, **given})


# The budget


def test_the_lecture_s_above_threshold_has_noises_of_two_and_four_over_epsilon() -> None:
    mechanism = AboveThreshold.lecture(threshold=5, sensitivity=3, epsilon=F(1, 2))
    assert (mechanism.threshold_scale, mechanism.query_scale) == (12, 24)
    assert mechanism.event.pure() == F(1, 2)


def test_the_lecture_s_sparse_refreshes_its_threshold_and_costs_what_it_says() -> None:
    mechanism = Sparse.lecture(threshold=0, limit=10, sensitivity=1, epsilon=1)
    assert (mechanism.threshold_scale, mechanism.query_scale, mechanism.refresh) == (20, 40, True)
    assert mechanism.event.pure() == 1
    approximate = Sparse.lecture(threshold=0, limit=10, sensitivity=1, epsilon=1, delta=1e-6)
    assert float(approximate.threshold_scale) == pytest.approx(66.4903254507644, rel=1e-9)
    # the printed constants are loose: what they really cost, composed exactly
    assert accounting.epsilon(approximate.event, 1e-6) == pytest.approx(0.299913, abs=2e-6)


@pytest.mark.parametrize(("limit", "true"), [(10, 0.299913), (100, 0.371886), (1000, 0.37576)])
def test_the_printed_approximate_constants_are_about_three_times_loose(limit: int, true: float) -> None:
    event = Sparse.lecture(threshold=0, limit=limit, sensitivity=1, epsilon=1, delta=1e-6).event
    assert accounting.epsilon(event, 1e-6) <= true + 2e-6


@pytest.mark.parametrize(("delta", "first", "second"), [(0, 8 / 9, 2 / 9), (1e-6, 0.957676288, 0.084647425)])
def test_the_lecture_s_numeric_sparse_divides_epsilon_as_printed(delta: float, first: float, second: float) -> None:
    mechanism = NumericSparse.lecture(threshold=0, limit=10, sensitivity=1, epsilon=1, delta=delta)
    sigma = math.sqrt(32 * 10 * math.log(2 / delta)) if delta else 20
    assert float(mechanism.threshold_scale) == pytest.approx(sigma / first, rel=1e-8)
    assert float(mechanism.query_scale) == pytest.approx(2 * sigma / first, rel=1e-8)
    assert float(mechanism.measure.scale) == pytest.approx(sigma / second, rel=1e-8)
    if not delta:
        assert mechanism.event.pure() == 1


@pytest.mark.parametrize("monotone", [False, True])
@pytest.mark.parametrize("limit", [1, 2, 7, 50])
def test_the_best_share_has_the_least_variance_and_any_share_the_same_cost(limit: int, monotone: bool) -> None:
    best = sparse(limit, monotone=monotone)
    share = float(1 / best.threshold_scale)
    for other in (share * 0.8, share * 0.95, share * 1.05, 0.5):
        changed = sparse(limit, monotone=monotone, share=other)
        assert changed.event.pure() == best.event.pure() == 1
        assert changed.variance >= best.variance * (1 - 1e-9)


def test_a_delta_is_used_where_that_compares_more_accurately() -> None:
    few, many = sparse(10, delta=1e-6), sparse(300, delta=1e-6)
    assert not few.refresh
    assert few == sparse(10)
    assert many.refresh
    assert many.variance < sparse(300).variance / 2
    assert isinstance(many.event, Repeated)
    assert 0.999 <= accounting.epsilon(many.event, 1e-6) <= 1


def test_a_run_tells_what_it_costs_in_total_or_for_each_crossing() -> None:
    assert repr(sparse(3)) == "Sparse(threshold=0, limit=3, sensitivity=1, epsilon=1)"
    assert repr(Sparse.lecture(threshold=0, limit=4, sensitivity=1, epsilon=1)).endswith("epsilon=0.25 each)")


def test_numeric_parts_fit_the_budget_together() -> None:
    exact = NumericSparse(threshold=0, limit=5, sensitivity=2, epsilon=F(3, 2), measuring=F(1, 3))
    assert exact.event.pure() == F(3, 2)
    assert exact.measure == Laplace(sensitivity=2, scale=20, grid="fine")
    assert isinstance(exact.event, Composed)
    loose = NumericSparse(threshold=0, limit=400, sensitivity=1, epsilon=1, delta=1e-6)
    assert accounting.epsilon(loose.event, 1e-6) <= 1
    assert loose.measure.scale < exact.measure.scale * 80 / 2


def test_sensitivity_may_be_a_value_that_names_its_relation() -> None:
    counts = Sensitivity.count(neighbors="add-remove")
    assert sparse(sensitivity=counts) == sparse()


def test_rounding_to_the_grid_is_paid_for_by_the_noise() -> None:
    for sensitivity in (F(1, 3), F(10, 7), F(1), F(2**70 + 1, 3)):
        mechanism = sparse(3, sensitivity=sensitivity, epsilon=F(2, 7))
        steps = mechanism._steps
        step = F(1, 2**steps.exponent) if steps.exponent >= 0 else F(2**-steps.exponent)
        assert steps.moves * step >= sensitivity
        assert steps.moves / steps.threshold_scale + 6 * steps.moves / steps.query_scale == F(2, 7)


# A run


def test_a_run_halts_at_its_last_crossing_and_answers_no_more() -> None:
    queries = np.full(100, -(10**6))
    queries[[3, 50, 51, 99]] = 10**6
    for limit, answered in ((1, 4), (2, 51), (3, 52), (4, 100), (5, 100)):
        for refresh in (False, True):
            mechanism = sparse(limit)
            object.__setattr__(mechanism, "refresh", refresh)
            result = mechanism.release(queries)
            assert result.answered == answered
            assert result.indices == (3, 50, 51, 99)[:limit]
            assert result.halted == (limit <= 4)
            assert result.above.tolist() == [i in result.indices for i in range(answered)]
            assert len(result.gaps) == len(result.indices)


def test_crossings_are_found_across_blocks_of_noise() -> None:
    queries = np.full(3 * BLOCK + 5, -(10**9))
    places = (0, 63, 64, 65, 140, 600, BLOCK - 1, BLOCK, 2 * BLOCK + 1, 3 * BLOCK + 4)
    queries[list(places)] = 10**9
    for refresh in (False, True):
        mechanism = sparse(20)
        object.__setattr__(mechanism, "refresh", refresh)
        assert mechanism.release(queries).indices == places
        assert not mechanism.release(queries).halted


def test_a_stream_asks_for_a_query_only_when_its_turn_has_come() -> None:
    asked: list[int] = []

    def adaptive() -> Iterator[float]:
        for turn in range(10):
            asked.append(turn)
            yield 1e9 if turn in (2, 4) else -1e9

    answers = sparse(2).stream(adaptive())
    assert asked == []
    assert next(answers) is None
    assert asked == [0]
    rest = list(answers)
    assert [isinstance(answer, Above) for answer in rest] == [False, True, False, True]
    assert asked == [0, 1, 2, 3, 4]
    assert all(rest[place].gap > 0 for place in (1, 3))  # type: ignore[union-attr]


def test_a_stream_that_ends_early_just_ends() -> None:
    assert list(sparse(3).stream([-1e9, -1e9])) == [None, None]
    assert list(sparse(3).stream([])) == []
    assert sparse(3).release([]).answered == 0
    assert sparse(3).release([]).first is None


def test_each_run_draws_a_threshold_of_its_own() -> None:
    mechanism = sparse(epsilon=1)
    gaps = {mechanism.release([1e6]).gaps[0] for _ in range(50)}
    assert len(gaps) > 40


@pytest.mark.parametrize("queries", [[2**62, -(2**62)], [10**30, -(10**30)], [1e300, -1e300], [F(10**40, 3), -(10**6)]])
def test_queries_of_any_size_are_compared_exactly(queries: list[Any]) -> None:
    for threshold in (0, 10**25, -(10**25)):
        result = sparse(5, threshold=threshold).release(queries)
        assert result.indices == tuple(i for i, q in enumerate(queries) if q > threshold)
        streamed = list(sparse(5, threshold=threshold).stream(queries))
        assert [bool(answer) for answer in streamed] == [q > threshold for q in queries]


def test_the_whole_grid_shows_whole_gaps() -> None:
    for _ in range(20):
        assert sparse(grid="whole").release([100]).gaps[0].is_integer()


# How wrong


@pytest.mark.parametrize(
    ("queries", "beta", "printed", "sum_event"),
    [
        (10, 0.05, 47.9317, 23.7341),
        (10, 0.01, 60.8072, 30.345),
        (100, 0.05, 66.3524, 32.9278),
        (100, 0.01, 79.2279, 39.5509),
        (1000, 0.05, 84.7731, 42.1364),
        (1000, 0.01, 97.6486, 48.7608),
    ],
)
def test_the_accuracy_beats_the_theorem_and_the_sum_of_the_noises(
    queries: int, beta: float, printed: float, sum_event: float
) -> None:
    assert printed == pytest.approx(8 * (math.log(queries) + math.log(2 / beta)), abs=1e-3)
    lecture = AboveThreshold.lecture(threshold=0, sensitivity=1, epsilon=1)
    alpha = lecture.accuracy(queries, beta)
    assert alpha < sum_event < printed
    assert AboveThreshold(threshold=0, sensitivity=1, epsilon=1).accuracy(queries, beta) < alpha


@pytest.mark.parametrize(
    "mechanism", [sparse(epsilon=2), sparse(epsilon=2, grid="whole"), sparse(4, epsilon=8)], ids=repr
)
def test_answers_are_accurate_as_often_as_stated(mechanism: Sparse) -> None:
    count, beta, runs = 20, 0.2, 3000
    alpha = mechanism.accuracy(count, beta)
    # half of the queries just too low to come out above, the other half just too high to come out below
    low, high = -math.ceil(alpha), math.ceil(alpha)
    steps = mechanism._steps
    from privet import noise

    bars = np.repeat(noise.discrete_laplace(steps.threshold_scale, runs), count)
    drawn = noise.discrete_laplace(steps.query_scale, runs * count) - bars
    scaled = (drawn / 2.0**steps.exponent).reshape(runs, count)
    wrong = (low + scaled[:, ::2] >= 0).any(axis=1) | (high + scaled[:, 1::2] < 0).any(axis=1)
    assert wrong.sum() <= binom.isf(1e-8, runs, beta)
    assert wrong.sum() >= binom.ppf(1e-8, runs, beta * 0.4)  # and not from excess of caution


def test_accuracy_grows_with_queries_and_with_confidence() -> None:
    mechanism = sparse(3)
    alphas = [mechanism.accuracy(k, 0.05) for k in (1, 2, 10, 10**3, 10**6, 10**12)]
    assert alphas == sorted(alphas)
    alphas = [mechanism.accuracy(100, beta) for beta in (0.9, 0.5, 0.1, 1e-3, 1e-10, 1e-12, 1e-100)]
    assert alphas == sorted(alphas)
    refreshed = sparse(300, delta=1e-6)
    assert refreshed.accuracy(100, 0.1) < sparse(300).accuracy(100, 0.1)


# Gaps that improve


def test_estimates_are_the_least_squares_of_all_that_is_shown() -> None:
    measured, shown = (10.0, 14.0, 9.0), (11.0, 12.0, 7.5)
    m, s, r = 2.0, 3.0, 5.0
    # weighted least squares: y = x + e, g = x + n - offset
    cov = np.zeros((6, 6))
    cov[:3, :3] = m * np.eye(3)
    cov[3:, 3:] = s * np.eye(3) + r
    design = np.vstack([np.eye(3), np.eye(3)])
    inverse = np.linalg.inv(cov)
    covariance = np.linalg.inv(design.T @ inverse @ design)
    best = covariance @ design.T @ inverse @ np.array([*measured, *shown])
    given = {"measured_variance": m, "shown_variance": s}
    assert improve(measured, shown, **given, offset_variance=r) == pytest.approx(best)
    differences = improve(measured, shown, **given, offset_variance=math.inf)
    assert sum(differences) == pytest.approx(sum(measured))
    assert improve((), (), **given, offset_variance=r) == ()
    with pytest.raises(RequestError, match="as many"):
        improve((1.0,), (), **given, offset_variance=r)


def test_estimates_have_a_smaller_error_than_the_values_alone() -> None:
    mechanism = NumericSparse(threshold=0, limit=10, sensitivity=1, epsilon=1, monotone=True)
    errors, improved = [], []
    for _ in range(600):
        result = mechanism.release(np.full(10, 10_000))
        errors += [(value - 10_000) ** 2 for value in result.values]
        improved += [(value - 10_000) ** 2 for value in result.estimates]
    ratio = np.mean(improved) / np.mean(errors)
    assert ratio < 0.68  # the published figure for ten crossings is 0.642; here the shared threshold is used as well


def test_one_threshold_s_noise_is_shared_by_all_gaps_and_a_fresh_one_by_none() -> None:
    values, gaps = (8.0, 12.0), (3.0, 5.0)
    kept = NumericSparse(threshold=10, limit=2, sensitivity=1, epsilon=1)
    fresh = NumericSparse.lecture(threshold=10, limit=2, sensitivity=1, epsilon=1)
    for mechanism, shared in ((kept, 1.0), (fresh, 0.0)):
        bar, query = 2 * float(mechanism.threshold_scale) ** 2, 2 * float(mechanism.query_scale) ** 2
        best = improve(
            values,
            (13.0, 15.0),
            measured_variance=mechanism.measure.variance,
            shown_variance=query + (1 - shared) * bar,
            offset_variance=shared * bar,
        )
        assert mechanism.improved(values, gaps) == pytest.approx(best, rel=1e-12)


def test_values_keep_the_kind_of_the_queries() -> None:
    mechanism = NumericSparse(threshold=0, limit=2, sensitivity=1, epsilon=1)
    assert all(type(value) is int for value in mechanism.release([10**4, 10**4]).values)
    assert all(type(value) is float for value in mechanism.release([1e4, 1e4]).values)
    answers = list(mechanism.stream([10**4, 1e4]))
    assert [type(answer.value) for answer in answers if answer] == [int, float]


# What is refused


@pytest.mark.parametrize(
    ("given_", "named"),
    [
        ({"limit": 0}, "limit must be an integer of at least 1"),
        ({"limit": 1.5}, "limit must be"),
        ({"threshold": math.inf}, "threshold must be a finite number"),
        ({"threshold": math.nan}, "threshold must be"),
        ({"threshold": [1, 2]}, "threshold must be"),
        ({"sensitivity": 0}, "sensitivity must be"),
        ({"epsilon": 0}, "epsilon must be"),
        ({"epsilon": -1}, "epsilon must be"),
        ({"delta": 1}, "delta must be"),
        ({"share": 0}, "share must be"),
        ({"share": 1}, "share must be"),
        ({"monotone": 1}, "monotone must be True or False"),
        ({"grid": "coarse"}, "grid must be"),
        ({"grid": "whole", "sensitivity": 0.5}, "not a whole number"),
        ({"grid": "whole", "threshold": 0.5}, "not a whole number"),
    ],
)
def test_what_makes_no_sparse_vector_is_refused(given_: dict[str, Any], named: str) -> None:
    for make in (
        sparse,
        lambda **rest: NumericSparse(**{"threshold": 0, "limit": 1, "sensitivity": 1, "epsilon": 1, **rest}),
    ):
        with pytest.raises(RequestError, match=named):
            make(**given_)  # type: ignore[operator]


@pytest.mark.parametrize(
    "queries", [[[1, 2]], 5, "ab", [math.nan], [math.inf], [True], [None], np.array(5), {1: 2}, None], ids=repr
)
def test_what_are_no_queries_is_refused(queries: Any) -> None:
    for mechanism in (sparse(), NumericSparse(threshold=0, limit=1, sensitivity=1, epsilon=1)):
        with pytest.raises(RequestError, match="queries must be"):
            mechanism.release(queries)


@pytest.mark.parametrize("query", [math.nan, math.inf, "1", None, True, [1], np.array([1.0])], ids=repr)
def test_a_stream_refuses_what_is_no_number(query: Any) -> None:
    with pytest.raises(RequestError, match="each query must be"):
        list(sparse().stream([-1e9, query]))


def test_a_stream_needs_a_collection() -> None:
    for queries in (5, "text", None):
        with pytest.raises(RequestError, match="a collection or a generator"):
            sparse().stream(queries)  # type: ignore[arg-type]


def test_reals_on_the_whole_grid_are_refused_by_type() -> None:
    with pytest.raises(RequestError, match="leave grid out"):
        sparse(grid="whole").release([1.0])
    with pytest.raises(RequestError, match="leave grid out"):
        list(sparse(grid="whole").stream([1.0]))


@pytest.mark.parametrize(("queries", "beta"), [(0, 0.1), (1.5, 0.1), (10, 0), (10, 1), (10, math.nan)])
def test_accuracy_is_asked_about_queries_and_a_chance(queries: Any, beta: Any) -> None:
    with pytest.raises(RequestError, match="must be"):
        sparse().accuracy(queries, beta)
