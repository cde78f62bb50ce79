"""Averages, propose-test-release, sample-and-aggregate, sampled sensitivities: what each step may depend on."""

from __future__ import annotations

import itertools
import math
import warnings
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest

import privet.accounting as accounting
from privet.accounting.events import ThresholdEvent
from privet.core.errors import BadParameter, BadValue, RequestError
from privet.core.event import Composed, Event
from privet.mechanisms import (
    Average,
    DiscreteLaplaceEvent,
    Exponential,
    Laplace,
    Local,
    Mechanism,
    ProposeTestRelease,
    Quantile,
    RandomlyPrivate,
    SampleAggregate,
    SmoothQuantile,
    local_quantile,
    sample_sensitivity,
)
from privet.mechanisms.average import _sum
from privet.mechanisms.sensitivity_sampling import sampling_plan

# --- averages ---------------------------------------------------------------------------------------------------------


def test_a_row_moves_the_two_sums_by_the_range_together(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[int] = []

    def note(self: Laplace, value: int) -> int:
        seen.append(value)
        return value

    monkeypatch.setattr(Laplace, "release", note)
    average = Average(low=-1, high=3, step=1, epsilon=1)
    sums = {}
    for rows in itertools.chain.from_iterable(
        itertools.combinations_with_replacement(range(-1, 4), n) for n in range(4)
    ):
        seen.clear()
        answer = average.release(list(rows))
        sums[rows] = tuple(seen)
        if rows:
            assert answer == pytest.approx(sum(rows) / len(rows))
    for rows, (above, below) in sums.items():
        for place in range(len(rows)):
            other = sums[rows[:place] + rows[place + 1 :]]
            assert abs(above - other[0]) + abs(below - other[1]) == average.laplace.sensitivity == 4


@pytest.mark.parametrize("neighbors", ["add-remove", "change-one"])
def test_the_spread_of_averages_is_the_formulas(neighbors: Any) -> None:
    values = np.linspace(0, 100, 1001)
    average = Average(low=0, high=115, epsilon=1, neighbors=neighbors)
    drawn = np.array([average.release(values) for _ in range(3000)])
    expected = average.standard_error(size=1001, mean=50)
    assert abs(drawn.mean() - 50) < 7 * expected / math.sqrt(3000)
    assert drawn.std() == pytest.approx(expected, rel=0.14)  # six and more standard errors
    assert average.event == DiscreteLaplaceEvent(steps=2**40, scale=2**40)


def test_the_two_sums_beat_the_centred_ones_at_every_mean() -> None:
    average = Average(low=0, high=115, epsilon=1)
    for mean in (0, 20, 50, 57.5, 80, 115):
        centred = 2 * math.sqrt(2) * math.sqrt(57.5**2 + (mean - 57.5) ** 2) / 1000
        assert average.standard_error(size=1000, mean=mean) <= 0.71 * centred * 1.001
    assert average.standard_error(size=1000, mean=50) == pytest.approx(0.11597, rel=1e-4)


def test_sums_of_places_are_exact() -> None:
    places = np.full(10**6, 2**42 - 1, dtype=np.int64)
    assert _sum(places) == 10**6 * (2**42 - 1)
    assert _sum(np.array([], dtype=np.int64)) == 0


def test_averages_stay_within_the_bounds_and_need_rows_only_where_their_number_is_public() -> None:
    average = Average(low=2, high=3, epsilon=0.01)
    assert all(2 <= average.release([]) <= 3 for _ in range(50))
    with pytest.raises(BadValue, match="at least one number"):
        Average(low=2, high=3, epsilon=1, neighbors="change-one").release([])
    with pytest.raises(BadParameter, match="low must be below high"):
        Average(low=3, high=2, epsilon=1)


# --- propose, test, release -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("epsilon", [0.1, 1, 7])
@pytest.mark.parametrize("delta", [0.4, 1e-3, 1e-9])
def test_the_threshold_is_the_least_that_keeps_delta(epsilon: float, delta: float) -> None:
    mechanism = ProposeTestRelease(bound=1, epsilon=epsilon, delta=delta)
    with mpmath.workdps(50):
        a = mpmath.exp(-mpmath.mpf(mechanism.test_epsilon.numerator) / mechanism.test_epsilon.denominator)

        def beyond(t: int) -> Any:
            return a ** (t + 1) / (1 + a)

        assert beyond(mechanism.threshold) <= mpmath.mpf(delta)
        assert mechanism.threshold == 0 or beyond(mechanism.threshold - 1) > mpmath.mpf(delta)


def test_the_exact_law_keeps_epsilon_and_delta_for_all_neighbours() -> None:
    # Medians of three rows in 0..6, a bound of 2: some rows are far from a larger sensitivity, some are not.
    epsilon, delta, last = 1.5, 0.05, 6
    mechanism = ProposeTestRelease(bound=2, epsilon=epsilon, delta=delta)
    a = math.exp(-float(mechanism.test_epsilon))
    b = math.exp(-1 / float(mechanism.laplace.scale))
    answers = np.arange(-60, 67)
    laws = {}
    for rows in itertools.product(range(last + 1), repeat=3):
        local = local_quantile(list(rows), 0.5, 0, last, distances=3, step=1)
        distance = sum(x <= 2 for x in local.at_distance)
        margin = mechanism.threshold - distance  # an answer comes out where the noise exceeds it
        passing = a ** (margin + 1) / (1 + a) if margin >= 0 else 1 - a ** (-margin) / (1 + a)
        values = passing * (1 - b) / (1 + b) * b ** np.abs(answers - int(local.value))
        laws[rows] = np.append(values, 1 - passing)
    worst = 0.0
    for rows, p in laws.items():
        for place, value in itertools.product(range(3), range(last + 1)):
            q = laws[(*rows[:place], value, *rows[place + 1 :])]
            worst = max(worst, float(np.maximum(p - math.exp(epsilon) * q, 0).sum()))
    assert 0 < worst <= delta


def test_local_quantiles_are_those_of_the_definition() -> None:
    for n, last in ((1, 4), (3, 3), (4, 2)):
        everything = list(itertools.product(range(last + 1), repeat=n))
        medians = {rows: sorted(rows)[math.ceil(n / 2) - 1] for rows in everything}
        near = {
            rows: [other for other in everything if sum(x != y for x, y in zip(rows, other, strict=True)) <= 1]
            for rows in everything
        }
        local = {rows: max(abs(medians[rows] - medians[other]) for other in near[rows]) for rows in everything}
        for rows in everything:
            found = local_quantile(list(rows), 0.5, 0, last, distances=n, step=1)
            assert found.value == medians[rows]
            within, at = {rows}, []
            for _ in range(n):
                at.append(max(local[other] for other in within))
                within = {far for other in within for far in near[other]}
            assert list(found.at_distance) == at


def test_an_answer_comes_out_where_the_bound_holds_far_around_and_not_where_it_fails() -> None:
    mechanism = ProposeTestRelease(bound=2, epsilon=1, delta=1e-12)
    assert all(isinstance(mechanism.release(Local(5, [1] * 500)), int) for _ in range(20))
    assert all(mechanism.release(Local(5, [3] * 500)) is None for _ in range(20))
    assert mechanism.release(Local(5, [])) is None
    assert mechanism.error(0.9) == Laplace(sensitivity=2, epsilon=0.5).error(0.9)
    assert mechanism.event == ThresholdEvent(
        Composed((DiscreteLaplaceEvent(steps=1, scale=2), DiscreteLaplaceEvent(steps=2, scale=4))), Fraction(1e-12)
    )


def test_what_makes_no_test_is_refused() -> None:
    for change, told in (
        ({"bound": 0}, "bound must be"),
        ({"delta": 0}, "delta must be"),
        ({"delta": Fraction(1, 10**301)}, "delta must be"),
        ({"testing": 1}, "testing must be"),
        ({"epsilon": 0}, "epsilon must be"),
    ):
        with pytest.raises(RequestError, match=told):
            ProposeTestRelease(**{"bound": 1, "epsilon": 1, "delta": 1e-6, **change})  # type: ignore[arg-type]


# --- sample and aggregate ---------------------------------------------------------------------------------------------

CHANGING = Quantile(q=0.5, low=0, high=10, epsilon=1, neighbors="change-one")


def test_a_row_changes_the_answer_of_one_block_whatever_the_estimator(monkeypatch: pytest.MonkeyPatch) -> None:
    generator = np.random.default_rng(1)
    blocks_of = generator.integers(0, 4, size=30)
    monkeypatch.setattr("privet.noise.uniform_below", lambda n, size: blocks_of[: size[1]].reshape(size))
    seen: list[list[Fraction]] = []
    monkeypatch.setattr(Quantile, "release", lambda self, values: seen.append(values))
    wild = SampleAggregate(estimator=lambda rows: hash(tuple(rows)) % 1009, blocks=4, aggregate=CHANGING)
    rows = generator.integers(0, 100, size=30).tolist()
    wild.release(rows)
    for place in range(30):
        wild.release([*rows[:place], -5, *rows[place + 1 :]])
        assert sum(a != b for a, b in zip(seen[0], seen[-1], strict=True)) <= 1
        assert len(seen[-1]) == 4
    wild.release(rows[:-1])  # the last row gone: its block alone changes
    assert sum(a != b for a, b in zip(seen[0], seen[-1], strict=True)) <= 1


def test_every_row_is_dealt_to_one_block_in_order() -> None:
    dealt: list[Any] = []
    deal = SampleAggregate(estimator=lambda rows: dealt.append(rows) or 5, blocks=7, aggregate=CHANGING)
    for rows in (list(range(100)), np.arange(200).reshape(100, 2), tuple("abc"), []):
        dealt.clear()
        deal.release(rows)
        assert len(dealt) == 7
        assert sum(len(part) for part in dealt) == len(rows)
        for part in dealt:
            firsts = [x if np.ndim(x) == 0 else x[0] for x in part]
            assert firsts == sorted(firsts)


def test_what_an_estimator_raises_warns_or_gets_wrong_counts_as_the_low_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Any] = []
    monkeypatch.setattr(Quantile, "release", lambda self, values: seen.extend(values))

    def noisy(rows: Any) -> float:
        warnings.warn("secret-77", stacklevel=1)
        raise ValueError("secret-77")

    for estimator in (noisy, lambda rows: math.nan, lambda rows: "secret-77", lambda rows: rows, lambda rows: None):
        SampleAggregate(estimator=estimator, blocks=3, aggregate=CHANGING).release([1, 2, 3])
    assert set(seen) == {Fraction(0)}


def test_the_event_is_that_of_the_aggregate_which_must_be_for_changes() -> None:
    smooth = SmoothQuantile(q=0.5, low=0, high=10, epsilon=1)
    mean = Average(low=0, high=10, epsilon=1, neighbors="change-one")
    for aggregate in (CHANGING, smooth, mean):
        release = SampleAggregate(estimator=np.mean, blocks=20, aggregate=aggregate)
        assert release.event == aggregate.event
        assert 0 <= release.release(np.full(1000, 5.0)) <= 10
    for wrong in (Quantile(q=0.5, low=0, high=1, epsilon=1), Average(low=0, high=1, epsilon=1)):
        with pytest.raises(BadParameter, match="neighbors='change-one'"):
            SampleAggregate(estimator=np.mean, blocks=2, aggregate=wrong)
    with pytest.raises(BadParameter, match="aggregate must be"):
        SampleAggregate(estimator=np.mean, blocks=2, aggregate=Laplace(sensitivity=1, epsilon=1))  # type: ignore[arg-type]
    with pytest.raises(BadParameter, match="blocks must be"):
        SampleAggregate(estimator=np.mean, blocks=0, aggregate=CHANGING)
    with pytest.raises(BadParameter, match="estimator must be"):
        SampleAggregate(estimator=5, blocks=2, aggregate=CHANGING)  # type: ignore[arg-type]


# --- random privacy ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("gamma", "rho", "samples"),
    [(0.01, 0.000636123, 41971), (0.05, 0.00418287, 1305), (0.1, 0.00974461, 285), (0.2, 0.023533, 61)],
)
def test_the_number_of_samples_is_the_least_and_the_published_one(gamma: float, rho: float, samples: int) -> None:
    found, chance = sampling_plan(gamma)
    assert found == samples
    assert chance == pytest.approx(rho, rel=1e-5)

    def allowed(m: int) -> float:  # the least gamma that m samples do for, over all rho
        grid = np.geomspace(1e-6, gamma, 20_000)
        return float((grid + np.sqrt(np.log(1 / grid) / (2 * m))).min())

    assert allowed(samples) <= gamma < allowed(samples - 1)


def test_the_largest_change_of_made_up_neighbours_is_found() -> None:
    drawn: list[int] = []

    def draw(k: int) -> list[int]:
        drawn.append(k)
        return [0] * (k - 2) + [3, -1]

    total = sample_sensitivity(lambda rows: [sum(rows), -2 * sum(rows)], draw, size=9, gamma=0.2)
    largest = sample_sensitivity(
        lambda rows: np.array([sum(rows), -2.0 * sum(rows)]), draw, size=9, gamma=0.2, norm="max"
    )
    assert (total.value, largest.value) == (12, 8)
    assert set(drawn) == {10}
    assert len(drawn) == 2 * 61
    assert total.gamma == largest.gamma == Fraction(0.2)
    lasts = itertools.chain([1, 5, 2], itertools.repeat(3))
    assert sample_sensitivity(sum, lambda k: [0] * (k - 1) + [next(lasts)], size=9, gamma=0.2).value == 5


def test_random_privacy_is_a_type_of_its_own_that_nothing_else_takes() -> None:
    sampled = sample_sensitivity(sum, lambda k: list(range(k)), size=3, gamma=0.2)
    release = RandomlyPrivate.laplace(sampled, epsilon=1)
    assert isinstance(release.release(5), int)
    assert not isinstance(release, Mechanism)
    assert not isinstance(release.promise, Event)
    assert not hasattr(release, "event")
    assert "random differential privacy" in str(release.promise)
    assert "random differential privacy" in repr(release)
    for thing in (release, release.promise, sampled):
        with pytest.raises(RequestError):
            Composed((thing,))  # type: ignore[arg-type]
        with pytest.raises(RequestError):
            accounting.epsilon(thing, 1e-6)  # type: ignore[arg-type]
        with pytest.raises(RequestError):
            Laplace(sensitivity=thing, epsilon=1)
        with pytest.raises(RequestError):
            Exponential(sensitivity=thing, epsilon=1)


def test_noise_and_choices_use_the_sampled_sensitivity() -> None:
    summed = sample_sensitivity(sum, lambda k: list(range(k)), size=3, gamma=0.2)
    assert summed.value == 1
    scored = sample_sensitivity(lambda rows: [sum(rows), 0], lambda k: list(range(k)), size=3, gamma=0.2, norm="max")
    choice = RandomlyPrivate.exponential(scored, epsilon=1)
    assert choice._mechanism == Exponential(sensitivity=1, epsilon=1)
    assert RandomlyPrivate.laplace(summed, epsilon=2)._mechanism == Laplace(sensitivity=1, epsilon=2)
    assert choice.release([0, 1000]) == 1
    with pytest.raises(BadParameter, match="norm='max'"):
        RandomlyPrivate.exponential(summed, epsilon=1)
    with pytest.raises(BadParameter, match="sample_sensitivity"):
        RandomlyPrivate.laplace(1, epsilon=1)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"gamma": 0}, "gamma must be"),
        ({"gamma": 1e-6}, "gamma must be"),
        ({"size": 0}, "size must be"),
        ({"norm": "l2"}, "norm must be"),
        ({"draw": lambda k: [1]}, "draw\\(k\\) must return k rows"),
        ({"function": lambda rows: "x"}, "must return a finite number"),
        ({"function": lambda rows: [1] * rows[-1]}, "the same number of answers"),
    ],
    ids=["gamma", "tiny", "size", "norm", "draw", "text", "lengths"],
)
def test_what_cannot_be_sampled_is_refused(change: dict[str, Any], told: str) -> None:
    given = {"function": sum, "draw": lambda k: list(range(k)), "size": 3, "gamma": 0.2, **change}
    with pytest.raises(RequestError, match=told):
        sample_sensitivity(given.pop("function"), given.pop("draw"), **given)


def test_a_function_that_never_moves_is_told() -> None:
    still = sample_sensitivity(len, lambda k: list(range(k)), size=3, gamma=0.2)
    with pytest.raises(RequestError, match="no sampled neighbour moved"):
        RandomlyPrivate.laplace(still, epsilon=1)
