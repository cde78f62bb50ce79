"""Every oracle: exact odds, draws that follow them, decoding that counts what reports support, honest parameters."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from privet import local
from privet.core.errors import BadParameter, BadValue, RequestError
from privet.core.numbers import exp_up
from privet.local.fields import Field, prime_power

SMALL = [(kind, values, epsilon) for kind in local.ORACLES for values, epsilon in ((2, 1), (3, 0.5), (5, 1), (7, 3))]


def progression(values: int, epsilon: float, **given: Any) -> local.SubsetSelection:
    return local.SubsetSelection(values, epsilon=epsilon, **given)


def made(kind: Any, values: int, epsilon: float) -> local.FrequencyOracle:
    found: local.FrequencyOracle = kind(values, epsilon=epsilon)
    return found


def support_sets(oracle: local.FrequencyOracle) -> list[frozenset[int]]:
    """Return for each outcome the values that it supports: those whose odds are the larger ones."""
    rows = oracle.matrix()
    larger = max(map(max, rows))
    return [frozenset(v for v, odd in enumerate(column) if odd == larger) for column in zip(*rows, strict=True)]


@pytest.mark.parametrize(("kind", "values", "epsilon"), SMALL)
def test_the_exact_matrix_costs_epsilon_and_no_more(kind: Any, values: int, epsilon: float) -> None:
    oracle = made(kind, values, epsilon)
    rows = oracle.matrix()
    assert all(sum(row) == 1 for row in rows)
    worst = max(max(column) / min(column) for column in zip(*rows, strict=True))
    assert worst <= exp_up(Fraction(epsilon))
    assert math.log(worst) == pytest.approx(oracle.epsilon, rel=1e-12)
    assert oracle.epsilon == pytest.approx(epsilon, rel=1e-9)


@pytest.mark.parametrize(("kind", "values", "epsilon"), SMALL)
def test_the_event_is_the_pair_of_two_rows(kind: Any, values: int, epsilon: float) -> None:
    oracle = made(kind, values, epsilon)
    first, second = oracle.matrix()[:2]
    outcomes: Counter[Fraction] = Counter()
    for one, other in zip(first, second, strict=True):
        outcomes[one / other] += one  # type: ignore[assignment]
    told: Counter[Fraction] = Counter()
    for one, other in zip(oracle.event.p, oracle.event.q, strict=True):  # type: ignore[attr-defined]
        if one:
            told[one / other] += one
    assert outcomes == told


@pytest.mark.parametrize(("kind", "values", "epsilon"), SMALL)
def test_support_has_the_odds_that_are_said(kind: Any, values: int, epsilon: float) -> None:
    oracle = made(kind, values, epsilon)
    rows = oracle.matrix()
    if isinstance(oracle, local.OptimizedUnary | local.SymmetricUnary):
        sets = [frozenset(v for v in range(values) if i >> (values - 1 - v) & 1) for i in range(2**values)]
    elif isinstance(oracle, local.OptimizedHashing):
        field = Field(oracle.buckets)
        vectors = field.digits(np.arange(oracle.functions), oracle.length)
        asked = field.digits(np.arange(values), oracle.length)
        sets = [
            frozenset(np.flatnonzero(field.dot(vector[None], asked) == bucket).tolist())
            for vector in vectors
            for bucket in range(oracle.buckets)
        ]
    else:
        sets = support_sets(oracle)
    for answer in range(values):
        for value in range(values):
            share = sum((odd for odd, chosen in zip(rows[answer], sets, strict=True) if value in chosen), Fraction(0))
            assert share == (oracle.p if value == answer else oracle.q)
            both = sum(
                (odd for odd, chosen in zip(rows[answer], sets, strict=True) if {answer, value} <= chosen), Fraction(0)
            )
            assert value == answer or both == oracle.both


@pytest.mark.parametrize(("kind", "values", "epsilon"), [*SMALL, (progression, 70, 1), (progression, 101, 2)])
def test_draws_are_counted_as_often_as_they_should_support(kind: Any, values: int, epsilon: float) -> None:
    oracle, n = made(kind, values, epsilon), 40_000
    answer = (values - 1) // 2
    server = oracle.server()
    assert server.add(oracle.client.reports(np.full(n, answer))) == n
    counts = oracle._supports(server._tally)
    for value in range(values):
        odds = float(oracle.p if value == answer else oracle.q)
        assert abs(counts[value] - n * odds) < 5.8 * math.sqrt(n * odds * (1 - odds)) + 12  # 1e-8 each


@pytest.mark.parametrize("values", [67, 100])
def test_progressions_hold_each_value_and_each_pair_equally_often(values: int) -> None:
    oracle = local.SubsetSelection(values, epsilon=1)
    prime, size = oracle.points, oracle.size
    sets = {(a, b): {(b + a * s) % prime for s in range(size)} for a in (1, 2, prime - 1) for b in range(prime)}
    assert all(len(chosen) == size for chosen in sets.values())
    first = oracle._outcomes(3)
    assert sum(first) == 1
    assert len(set(first)) == 2
    likely = max(first)
    assert likely / min(first) == oracle.growth
    # a pair of places and a pair of values fix one progression: ordered pairs of places, over all steps
    holding = sum(odd == likely for odd in first)
    other = oracle._outcomes(5)
    both = sum(one == two == likely for one, two in zip(first, other, strict=True))
    assert Fraction(both, holding) * oracle.p == oracle.both


def decoded(oracle: local.FrequencyOracle, reports: local.Reports) -> list[int]:
    """Count support from the definition of each oracle, report by report."""
    counts = [0] * oracle.values
    for row in reports.data:
        number = int.from_bytes(row.tobytes(), "big")
        for value in range(oracle.values):
            if isinstance(oracle, local.SubsetSelection):
                step, first = number // oracle.points + 1, number % oracle.points
                inside = (value - first) * pow(step, -1, oracle.points) % oracle.points < oracle.size
            elif isinstance(oracle, local.HadamardResponse):
                inside = (number & (value + 1)).bit_count() % 2 == 0
            else:
                assert isinstance(oracle, local.ProjectiveResponse)
                plane, point = oracle._vectors(np.array([number, value]))
                inside = int(plane @ point) % oracle.order == 0
            counts[value] += inside
    return counts


@pytest.mark.parametrize(
    "oracle",
    [
        local.SubsetSelection(70, epsilon=1),
        local.HadamardResponse(37, epsilon=1),
        local.ProjectiveResponse(20, epsilon=1),
        local.ProjectiveResponse(60, epsilon=3),
    ],
)
def test_decoding_counts_what_each_report_supports(oracle: local.FrequencyOracle) -> None:
    reports = oracle.client.reports(np.arange(300) % oracle.values)
    server = oracle.server()
    server.add(reports)
    assert oracle._supports(server._tally).tolist() == decoded(oracle, reports)


def test_the_two_ways_of_decoding_agree() -> None:
    for size, length in ((2, 6), (3, 4), (4, 3), (5, 2), (8, 2), (9, 2)):
        field = Field(size)
        table = np.arange(size ** (length + 1)).reshape(-1, size) * 7919 % 101
        everything = np.arange(size**length)
        vectors = field.digits(everything, length)
        wanted = [int(table[everything, field.dot(vectors, v)].sum()) for v in vectors]
        assert field._every_dot_count(table.reshape((size,) * (length + 1)), length).reshape(-1).tolist() == wanted
        assert field.dot_counts(table, length, everything[:3]).tolist() == wanted[:3]
        assert field.dot_counts(table, length, everything).tolist() == wanted


@pytest.mark.parametrize("size", [2, 3, 4, 5, 7, 8, 9, 16, 25, 27, 49, 64])
def test_fields_are_fields(size: int) -> None:
    field = Field(size)
    everything = np.arange(size)
    assert (field.products[everything[1:], field.inverses[1:]] == 1).all()
    assert (field.sums[everything, field.negatives] == 0).all()
    a, b, c = (grid.reshape(-1) for grid in np.meshgrid(*(everything[:16],) * 3))
    assert (field.products[a, field.sums[b, c]] == field.sums[field.products[a, b], field.products[a, c]]).all()
    assert (field.products[a, field.products[b, c]] == field.products[field.products[a, b], c]).all()
    assert prime_power(size) is not None
    assert prime_power(6) is prime_power(12) is prime_power(1) is None


def test_any_two_values_collide_under_an_equal_share_of_functions() -> None:
    oracle = local.OptimizedHashing(20, epsilon=1)
    field = Field(oracle.buckets)
    vectors = field.digits(np.arange(oracle.functions), oracle.length)
    buckets = [field.dot(vectors, value) for value in field.digits(np.arange(20), oracle.length)]
    for one in range(20):
        for other in range(one):
            assert int((buckets[one] == buckets[other]).sum()) * oracle.buckets == oracle.functions


def test_functions_follow_from_identifiers_and_survey() -> None:
    one, other = (local.OptimizedHashing(50, epsilon=1, survey=name) for name in ("", "another"))
    ids = one.client.reports(np.zeros(2000, dtype=int)).ids
    assert one._function(ids).tolist() == one._function(ids).tolist() != other._function(ids).tolist()
    seen = np.bincount(one._function(ids), minlength=one.functions)
    assert len(seen) == one.functions
    assert seen.max() < 90  # about 31 expected in each of 64


@pytest.mark.parametrize("kind", local.ORACLES)
@pytest.mark.parametrize(
    "given",
    [
        {"domain": 1},
        {"domain": ["a"]},
        {"domain": ["a", "a"]},
        {"domain": [1.5, 2.5]},
        {"domain": "ab"},
        {"domain": 2**30},
        {"epsilon": 0},
        {"epsilon": -1},
        {"epsilon": math.nan},
        {"epsilon": math.inf},
        {"epsilon": 51},
        {"survey": 3},
    ],
)
def test_bad_parameters_are_refused_by_name(kind: Any, given: dict[str, Any]) -> None:
    with pytest.raises(BadParameter) as refused:
        kind(**{"domain": 4, "epsilon": 1, **given})
    assert refused.value.parameter in given


@pytest.mark.parametrize("kind", local.ORACLES)
@pytest.mark.parametrize("answer", ["c", None, 1.5, True, 2, -1, ["a", "c"], object()])
def test_answers_outside_the_domain_are_refused_without_being_quoted(kind: Any, answer: Any) -> None:
    with pytest.raises(BadValue) as refused:
        kind(["a", "b"], epsilon=1).client.report(answer)
    assert "c" not in str(refused.value).split()
    numbered = kind(2, epsilon=1)
    with pytest.raises(BadValue):
        numbered.client.reports([0, 1, 2])
    with pytest.raises(BadValue):
        numbered.client.report([0, 1])


def test_two_coins_are_the_lecture_s() -> None:
    survey = local.KaryResponse.two_coins()
    assert survey.p == Fraction(3, 4)
    assert survey.epsilon == pytest.approx(math.log(3))
    with pytest.raises(BadParameter):
        local.KaryResponse.two_coins(["a", "b", "c"])
    with pytest.raises(BadParameter):
        local.KaryResponse.two_coins(truth=1)


def test_the_best_oracle_has_the_least_variance_that_fits() -> None:
    small = local.best(4, epsilon=1, n=1000)
    assert type(small.oracle) is local.KaryResponse
    large = local.best(1024, epsilon=1, n=10**6)
    assert large.oracle.variance(0, 1) == min(one.variance(0, 1) for one in large.candidates)
    short = local.best(1024, epsilon=1, n=10**6, bytes=1)
    assert short.oracle.width == 1
    assert type(short.oracle) is local.OptimizedHashing
    assert "1 byte a report" in short.why
    assert "OptimizedHashing" in repr(large)
    with pytest.raises(BadParameter):
        local.best(1, epsilon=1, n=10)
    with pytest.raises(BadParameter):
        local.best(4, epsilon=1, n=0)


def test_too_large_domains_say_what_to_use() -> None:
    with pytest.raises(BadParameter, match="OptimizedHashing"):
        local.SubsetSelection(2**14, epsilon=1)
    with pytest.raises(BadParameter, match="OptimizedHashing"):
        local.OptimizedUnary(2**21, epsilon=1)
    with pytest.raises(RequestError, match="entries"):
        local.OptimizedUnary(20, epsilon=1).matrix()


def test_liars_move_an_estimate_as_far_as_is_said() -> None:
    for kind in local.ORACLES:
        oracle = kind(16, epsilon=1)
        truth = oracle.client.reports(np.zeros(4000, dtype=int))
        target = 5
        wanted = oracle.client.reports(np.full(4000, target))
        honest, forged = oracle.server(), oracle.server()
        honest.add(truth[:3600])
        forged.add(truth[:3600])
        # liars send what supports the target: chosen from many honest reports for it
        for report in wanted:
            alone = oracle.server()
            alone.add(report)
            if oracle._supports(alone._tally)[target] and forged.n < 4000:
                forged.add(report)
        moved = forged.estimate().values[target] * 4000 - honest.estimate().values[target] * 3600
        assert moved / 4000 == pytest.approx(oracle.robustness(0.1), rel=1e-9)
