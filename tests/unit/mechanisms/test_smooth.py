"""Smooth sensitivities against their definition, by trying everything; tails against what they promise; exact laws."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy.special import betainc

from privet.accounting.events import ApproximateEvent, PureEvent
from privet.core.errors import BadValue, RequestError
from privet.mechanisms import (
    LaplaceTail,
    Local,
    PowerTail,
    SmoothQuantile,
    SmoothSensitivity,
    StudentTail,
    smooth_bound,
)
from privet.mechanisms.smooth import LEAST_SCALE, best_pair

D_STAR = [1, 2, 35, 36, 36, 99, 115]
HALF = Fraction(1, 2)
TAILS = {
    "Cauchy": PowerTail(),
    "power 3": PowerTail(3),
    "power 4": PowerTail(4),
    "Student 1": StudentTail(1),
    "Student 3": StudentTail(3),
    "Student 8": StudentTail(8),
}


def log_density(tail: Any, z: np.ndarray) -> np.ndarray:
    """Return the logarithm of a tail's density, up to a constant."""
    if isinstance(tail, PowerTail):
        return -np.log1p(np.abs(z) ** tail.power)
    if isinstance(tail, StudentTail):
        return -(tail.degrees + 1) / 2 * np.log1p(z * z)
    return -np.abs(z)


def within(tail: Any) -> Callable[[float], float]:
    """Return P[|Z| <= z]."""
    if isinstance(tail, PowerTail):
        p = tail.power
        return lambda z: float(betainc(1 / p, 1 - 1 / p, z**p / (1 + z**p)))
    if isinstance(tail, StudentTail):
        return lambda z: float(betainc(0.5, tail.degrees / 2, z * z / (1 + z * z)))
    return lambda z: -math.expm1(-z)


# --- tails ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("tail", TAILS.values(), ids=TAILS)
@pytest.mark.parametrize("smoothing", [Fraction(1, 10), HALF, Fraction(4, 5)])
def test_sliding_and_stretching_together_cost_no_more_than_epsilon(tail: Any, smoothing: Fraction) -> None:
    epsilon = Fraction(3, 2)
    alpha, beta = map(float, tail.split(epsilon, smoothing))
    z = np.concatenate([-np.geomspace(1e9, 1e-6, 40_000), np.geomspace(1e-6, 1e9, 40_000)])
    worst = 0.0
    for stretch, slide in itertools.product((-beta, 0.0, beta), (-alpha, 0.0, alpha)):
        # f + z against f + slide + z at a scale e^stretch, both densities at the same point
        other = (z - slide) * math.exp(-stretch)
        worst = max(worst, np.abs(log_density(tail, z) - log_density(tail, other) + stretch).max())
    assert worst <= float(epsilon) * (1 + 1e-9)
    assert worst >= 0.5 * float(epsilon)


@pytest.mark.parametrize("delta", [1e-3, 1e-6, 1e-12])
@pytest.mark.parametrize("epsilon", [0.1, 1, 4])
def test_laplace_noise_keeps_its_delta(epsilon: float, delta: float) -> None:
    tail = LaplaceTail(Fraction(delta))
    alpha, beta = map(float, tail.split(Fraction(epsilon), HALF))
    z = np.linspace(-60, 60, 2_000_001)
    width = z[1] - z[0]
    worst = 0.0
    for stretch, slide in itertools.product((-beta, beta), (0.0, alpha)):
        # the slide is at most alpha scales of the second release
        p = np.exp(-np.abs(z)) / 2
        scale = math.exp(stretch)
        q = np.exp(-np.abs(z - slide * scale) / scale) / (2 * scale)
        worst = max(worst, float(np.maximum(p - math.exp(epsilon) * q, 0).sum() * width))
    assert worst <= delta * (1 + 1e-3)
    assert beta >= epsilon / (2 * math.log(2 / delta))  # no less than the published pairing
    assert isinstance(tail.event(Fraction(epsilon)), ApproximateEvent)


@pytest.mark.parametrize("tail", [*TAILS.values(), LaplaceTail(Fraction(1, 10**6))], ids=[*TAILS, "Laplace"])
def test_a_reach_holds_what_it_says(tail: Any) -> None:
    for confidence in (0.1, 0.5, 0.95, 1 - 1e-9):
        assert -1e-14 <= within(tail)(tail.reach(confidence)) - confidence < 1e-8
    assert tail.reach(0.5) == pytest.approx(1) or tail != PowerTail()


# --- the smooth bound -------------------------------------------------------------------------------------------------


def order_statistic(rows: tuple[int, ...], q: Fraction) -> int:
    return sorted(rows)[min(max(math.ceil(q * len(rows)), 1), len(rows)) - 1]


@pytest.mark.parametrize(("n", "last"), [(1, 6), (2, 5), (3, 4), (4, 3), (5, 2)])
@pytest.mark.parametrize("q", [Fraction(0), Fraction(1, 4), HALF, Fraction(1)], ids=str)
def test_the_smooth_sensitivity_is_that_of_the_definition(n: int, last: int, q: Fraction) -> None:
    mechanism = SmoothQuantile(q=q, low=0, high=last, step=1, epsilon=1)
    beta = float(mechanism.smooth.smooth_beta)
    everything = np.array(list(itertools.product(range(last + 1), repeat=n)))
    answers = np.array([order_statistic(tuple(rows), q) for rows in everything])
    distances = (everything[:, None, :] != everything[None, :, :]).sum(axis=2)
    local = np.where(distances == 1, np.abs(answers[:, None] - answers[None, :]), 0).max(axis=1)
    smooth = (local[None, :] * np.exp(-beta * distances)).max(axis=1)
    for rows, bound in zip(everything, smooth, strict=True):
        assert mechanism._measure(rows)[1] == pytest.approx(bound, rel=1e-10)


@pytest.mark.parametrize(("n", "last"), [(3, 4), (4, 3)])
def test_what_noise_is_scaled_by_is_smooth_and_never_below_the_local_sensitivity(n: int, last: int) -> None:
    for epsilon in (0.05, 1, 20):
        mechanism = SmoothQuantile(q=0.5, low=0, high=last, step=1, epsilon=epsilon)
        everything = list(itertools.product(range(last + 1), repeat=n))
        rungs = {rows: float(mechanism.smooth.rung(mechanism._measure(rows)[1])) for rows in everything}
        for rows in everything:
            answer = order_statistic(rows, HALF)
            for place, value in itertools.product(range(n), range(last + 1)):
                other = (*rows[:place], value, *rows[place + 1 :])
                assert abs(answer - order_statistic(other, HALF)) <= rungs[rows]
                assert abs(math.log(rungs[rows] / rungs[other])) <= float(mechanism.smooth.beta)


@pytest.mark.parametrize("epsilon", [Fraction(1, 10**6), Fraction(1), Fraction(50)])
def test_a_rung_is_no_lower_than_the_bound_and_higher_by_what_was_left_for_it(epsilon: Fraction) -> None:
    mechanism = SmoothSensitivity(low=0, high=1, epsilon=epsilon)
    for bound in np.random.default_rng(7).lognormal(0, 5, 200):
        rung = mechanism.rung(float(bound))
        assert Fraction(float(bound)) <= rung or rung == LEAST_SCALE
        assert math.log(rung) - math.log(max(bound, float(LEAST_SCALE))) <= float(mechanism.beta) / 65
    assert mechanism.rung(0.0) == LEAST_SCALE
    assert mechanism.smooth_beta == mechanism.beta * Fraction(63, 64)


def test_published_figures_are_reached() -> None:
    ages = np.round(np.linspace(0, 115, 1001)).astype(np.int64)

    def bound(rows: Any, beta: float) -> float:
        padded = np.concatenate(([0], np.sort(rows), [115]))
        return best_pair(padded, (len(rows) + 1) // 2, Fraction(beta))

    for epsilon, few, light, even in (
        (0.5, 80.968, 105.474, 1.02683),
        (1, 58.8335, 98.449, 1),
        (2, 45.1415, 85.7718, 1),
    ):
        assert bound(D_STAR, epsilon / 6) == pytest.approx(few, rel=1e-5)
        assert bound(D_STAR, epsilon / (2 * math.log(2e6))) == pytest.approx(light, rel=1e-5)
        assert bound(ages, epsilon / 6) == pytest.approx(even, rel=1e-5)
    assert bound(ages, 0.05) == pytest.approx(1.34064, rel=1e-5)


@pytest.mark.parametrize("beta", [Fraction(1, 1000), Fraction(1, 50), Fraction(1, 3)])
def test_divide_and_conquer_finds_what_trying_all_pairs_finds(beta: Fraction, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("privet.mechanisms.smooth._SQUARE", 4)
    generator = np.random.default_rng(9)
    for trial in range(60):
        size = int(generator.integers(2, 90))
        rows = np.sort(generator.integers(0, (3, 40, 10**6)[trial % 3], size=size))
        if trial % 4 == 0:  # where all scores of a row nearly tie
            rows = np.round(np.exp(float(beta) * np.arange(size)) * 1000).astype(np.int64)
        if trial % 7 == 0:
            rows[:] = rows[0]
        middle = int(generator.integers(0, size))
        pairs = itertools.product(range(middle + 1), range(middle, size))
        exact = max(
            [(rows[j] - rows[i]) * math.exp(-float(beta) * (j - i - 1)) for i, j in pairs if i < j], default=0.0
        )
        assert best_pair(rows, middle, beta) == pytest.approx(exact, rel=1e-11)


def test_a_window_of_many_rows_is_searched_quickly_and_says_the_same() -> None:
    values = np.random.default_rng(4).normal(50, 10, 30_000)
    mechanism = SmoothQuantile(q=0.5, low=0, high=100, epsilon=Fraction(1, 200))
    rows = np.concatenate(([0], np.sort(mechanism.smooth.ruler.place(values)), [mechanism.smooth.ruler.last]))
    beta = float(mechanism.smooth.smooth_beta)
    best = 0.0
    for k in range(9_000):  # the definition, distance by distance
        left = rows[max(15_000 - k - 1, 0) : 15_001]
        right = rows[15_000 : 15_000 + k + 2]
        gap = (right[-len(left) :] - left[-len(right) :]).max() if len(left) == len(right) else 0
        best = max(best, math.exp(-beta * k) * gap)
    assert mechanism._measure(values)[1] >= best * (1 - 1e-9)


@pytest.mark.parametrize("q", [0.0, 0.004, 0.5, 0.99, 1.0])
def test_rows_outside_the_window_make_no_difference(q: float) -> None:
    values = np.random.default_rng(6).permutation(np.geomspace(1, 100, 3001))
    mechanism = SmoothQuantile(q=q, low=0, high=120, epsilon=2)
    ruler = mechanism.smooth.ruler
    rows = np.concatenate(([0], np.sort(ruler.place(values)), [ruler.last]))
    middle = max(math.ceil(mechanism.q * 3001), 1)
    assert mechanism._window < 100
    assert mechanism._measure(values) == (rows[middle], best_pair(rows, middle, mechanism.smooth.smooth_beta))


def test_a_users_own_sensitivities_are_smoothed() -> None:
    assert smooth_bound([1, 2, 8], Fraction(1), most=100) == pytest.approx(
        max(1, 2 / math.e, 8 / math.e**2, 100 / math.e**3)
    )
    assert smooth_bound([], Fraction(1), most=7) == pytest.approx(7)
    mechanism = SmoothSensitivity(low=0, high=100, step=1, epsilon=2)
    assert type(mechanism.release(Local(50, [1, 1, 2, 5]))) is int
    assert type(SmoothSensitivity(low=0, high=1, epsilon=2).release(Local(0.5, np.array([0.001, 0.002])))) is float


def test_a_users_answer_and_sensitivities_are_put_on_the_grid_exactly(monkeypatch: pytest.MonkeyPatch) -> None:
    mechanism = SmoothSensitivity(low=0, high=10, step=1, epsilon=1)
    monkeypatch.setattr(SmoothSensitivity, "release_steps", lambda self, place, bound: (place, bound))
    place, bound = mechanism.release(Local(Fraction(5, 2), [Fraction(3, 10)] * 50))
    assert (place, bound) == (3, pytest.approx(1))
    assert mechanism.release(Local(99, [0] * 400)) == (
        10,
        pytest.approx(10 * math.exp(-400 * float(mechanism.smooth_beta))),
    )
    assert mechanism.release(Local(-1, [])) == (0, pytest.approx(10))


# --- releases ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("tail", [PowerTail(), PowerTail(4), StudentTail(3), LaplaceTail(Fraction(1, 1000))], ids=str)
def test_the_exact_law_of_a_median_keeps_epsilon_for_all_neighbours(tail: Any) -> None:
    last, epsilon = 4, 1.0
    mechanism = SmoothQuantile(q=0.5, low=0, high=last, step=1, epsilon=Fraction(1), noise=tail)
    cover = within(tail)

    def law(rows: tuple[int, ...]) -> np.ndarray:
        place, bound = mechanism._measure(rows)
        scale = float(mechanism.smooth.rung(bound) / mechanism.smooth.alpha)
        sizes = [cover((k + 0.5) / scale) for k in range(last + 1)]
        signed = {0: sizes[0], **{s * k: (sizes[k] - sizes[k - 1]) / 2 for k in range(1, last + 1) for s in (1, -1)}}
        inside = [signed[k - place] for k in range(1, last)]
        low = 0.5 + sizes[0] / 2 if place == 0 else (1 - sizes[place - 1]) / 2
        return np.array([low, *inside, 1 - low - sum(inside)])

    laws = {rows: law(rows) for rows in itertools.product(range(last + 1), repeat=3)}
    worst = 0.0
    delta = float(mechanism.event.slack())
    for rows, p in laws.items():
        for place, value in itertools.product(range(3), range(last + 1)):
            q = laws[(*rows[:place], value, *rows[place + 1 :])]
            if delta:
                assert np.maximum(p - math.exp(epsilon) * q, 0).sum() <= delta
            worst = max(worst, np.abs(np.log(p / q)).max())
    assert delta or worst <= epsilon
    assert worst > 0.2


def test_releases_have_that_law() -> None:
    mechanism = SmoothQuantile(q=0.5, low=0, high=40, step=1, epsilon=3, smoothing=Fraction(1, 5))
    values = [3, 18, 20, 20, 22, 30, 31]
    scale = float(mechanism.smooth.rung(mechanism._measure(values)[1]) / mechanism.smooth.alpha)
    drawn = np.array([mechanism.release(values) for _ in range(3000)])
    for reach in (0, 2, 5, 15):
        chance = 2 / math.pi * math.atan((reach + 0.5) / scale)
        assert abs((np.abs(drawn - 20) <= reach).mean() - chance) < 6 * math.sqrt(chance * (1 - chance) / 3000)
    assert drawn.min() >= 0
    assert drawn.max() <= 40


def test_many_rows_need_hardly_any_noise_and_few_rows_much() -> None:
    generator = np.random.default_rng(5)
    mechanism = SmoothQuantile(q=0.5, low=0, high=115, epsilon=1)
    many = generator.uniform(20, 80, 100_001)
    assert mechanism.smooth_sensitivity(many) < 0.02
    assert mechanism.smooth_sensitivity(D_STAR) > 25
    assert mechanism.error(0.9, sensitivity=0.01) < 0.2
    assert mechanism.error(0.9, sensitivity=10) == pytest.approx(
        1000 * mechanism.error(0.9, sensitivity=0.01), rel=0.02
    )
    assert mechanism.error(1 - 1e-15, sensitivity=1) > 1e14


def test_the_events_are_those_of_the_tails() -> None:
    for tail in (None, PowerTail(4), StudentTail(5)):
        assert SmoothQuantile(q=0.5, low=0, high=1, epsilon=Fraction(1, 3), noise=tail).event == PureEvent(
            Fraction(1, 3)
        )
    light = SmoothQuantile(q=0.5, low=0, high=1, epsilon=1, noise=LaplaceTail(1e-6))  # type: ignore[arg-type]
    assert light.event == ApproximateEvent(Fraction(1), Fraction(1e-6))


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"q": 2}, "q must be"),
        ({"low": 5, "high": 0}, "low must be below high"),
        ({"epsilon": 0}, "epsilon must be"),
        ({"epsilon": 1e-12}, "epsilon must be large enough"),
        ({"smoothing": 1}, "smoothing must be"),
        ({"noise": "laplace"}, "noise must be a PowerTail"),
    ],
    ids=str,
)
def test_what_makes_no_smooth_quantile_is_refused(change: dict[str, Any], told: str) -> None:
    with pytest.raises(RequestError, match=told):
        SmoothQuantile(**{"q": 0.5, "low": 0, "high": 10, "epsilon": 1, **change})


def test_what_makes_no_tail_is_refused() -> None:
    for make, told in (
        (lambda: PowerTail(1), "power"),
        (lambda: StudentTail(0), "degrees"),
        (lambda: LaplaceTail(Fraction(0)), "delta"),
        (lambda: LaplaceTail(HALF), "delta"),
    ):
        with pytest.raises(RequestError, match=f"{told} must be"):
            make()  # type: ignore[no-untyped-call]


@pytest.mark.parametrize(
    "local",
    [
        5,
        Local("7", [1]),
        Local([7], [1]),
        Local(7, 1),
        Local(7, [-1, 2]),
        Local(7, [2, 1]),
        Local(7, [math.nan]),
        Local(math.inf, [1]),
    ],
    ids=["none", "text", "list", "one", "negative", "falling", "nan", "inf"],
)
def test_what_is_no_local_sensitivity_is_refused(local: Any) -> None:
    with pytest.raises(BadValue, match="must be"):
        SmoothSensitivity(low=0, high=10, epsilon=1).release(local)


def test_no_rows_have_no_quantile_and_that_is_public() -> None:
    with pytest.raises(BadValue, match="at least one number"):
        SmoothQuantile(q=0.5, low=0, high=10, epsilon=1).release([])
