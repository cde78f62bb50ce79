"""Noisy locations: the exact law on the grid, the loss that is promised by distance, and no epsilon anywhere."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from privet import accounting, local
from privet.core.errors import BadParameter, BadValue, RequestError, Unsupported

BOX = (0, 0, 4000, 2000)


def places(**given: Any) -> local.PlanarLaplace:
    return local.PlanarLaplace(**{"box": BOX, "radius": 200, "epsilon": 1, "step": 20, **given})


def test_the_loss_within_the_radius_is_epsilon_and_grows_with_distance() -> None:
    promise = places().promise
    assert promise.loss(200) <= 1 + 1e-15
    assert promise.loss(200) == pytest.approx(1)
    assert promise.loss(0) == 0
    assert promise.loss(400) > promise.loss(200) > promise.loss(100) > promise.loss(1e-9) > 0
    assert promise.loss(1e-9) == pytest.approx(float(promise.rate) * 40)  # what snapping to the grid may cost


@pytest.mark.parametrize("where", [(1000.0, 1000.0), (0.0, 0.0), (4000.0, 2000.0), (3990.0, 5.0)])
@pytest.mark.parametrize("moved", [(9.9, 0.0), (30.0, -50.0), (-140.0, 141.0), (-300.0, -10.0)])
def test_no_two_places_are_told_apart_more_than_is_promised(where: Any, moved: Any) -> None:
    """The exact law along an axis is compared at every point that is kept, ends included, where both are close."""
    oracle = places()
    there = tuple(a + b for a, b in zip(where, moved, strict=True))
    here, other = (oracle._read(np.array([one]))[0] for one in (where, there))
    a = math.exp(-1 / float(oracle.scale))
    worst = 0.0
    for axis in range(2):
        points = np.arange(-oracle.reach, oracle._steps[axis] + oracle.reach + 1)
        laws = []
        for one in (here, other):
            away = np.abs(points - one[f"f{axis}"])
            law = (1 - a) / (1 + a) * a ** away.astype(float)
            law[[0, -1]] = a ** away[[0, -1]].astype(float) / (1 + a)
            assert law.sum() == pytest.approx(1)
            laws.append(law)
        worst += float(np.abs(np.log(laws[0]) - np.log(laws[1])).max())
    assert worst <= oracle.promise.loss(math.hypot(*moved)) + 1e-9


def test_draws_follow_the_law_on_the_grid_and_are_independent_along_the_axes() -> None:
    oracle, n = places(epsilon=8), 40_000
    found = oracle.places(oracle.client.reports(np.full((n, 2), 1000.0)))
    x, y = np.rint((found - 1000) / 20).astype(int).T
    a = math.exp(-1 / float(oracle.scale))
    for side in (x, y):
        for away in range(-3, 4):
            odds = (1 - a) / (1 + a) * a ** abs(away)
            assert abs((side == away).sum() - n * odds) < 5.8 * math.sqrt(n * odds * (1 - odds)) + 12  # 1e-8 each
    odds = ((1 - a) / (1 + a)) ** 2
    assert abs(((x == 0) & (y == 0)).sum() - n * odds) < 5.8 * math.sqrt(n * odds * (1 - odds)) + 12
    inside = (np.hypot(*(found - 1000).T) <= oracle.error(0.9)).mean()
    assert inside >= 0.9 - 6 * math.sqrt(0.09 / n)
    assert x.var() * 400 == pytest.approx(oracle.variance(1), rel=6 * math.sqrt(5 / n))


def test_a_metric_promise_is_never_an_epsilon() -> None:
    oracle = places()
    for read in (lambda: oracle.event, lambda: oracle.epsilon):
        with pytest.raises(Unsupported, match="no epsilon"):
            read()
    with pytest.raises(RequestError):
        accounting.epsilon(oracle.promise, 1e-6)  # type: ignore[arg-type]
    with pytest.raises(RequestError):
        accounting.Shuffled(oracle.promise, 10)  # type: ignore[arg-type]
    assert "no epsilon" in str(oracle.promise)


def test_repeated_reports_add_their_rates() -> None:
    promise = places().promise
    assert promise.repeated(3).loss(100) == pytest.approx(3 * promise.loss(100))
    assert promise.repeated(1) == promise
    assert places().repeated(3) == promise.repeated(3)
    with pytest.raises(BadParameter):
        promise.repeated(0)


def test_means_of_coordinates_are_near_the_truth() -> None:
    oracle, n = places(epsilon=4), 4000
    reports = oracle.client.reports([(1000, 500), (3000, 1500)] * (n // 2))
    one, other = oracle.server(), oracle.server()
    one.add(reports[:1000].to_bytes())
    other.add(reports[1000:].to_json())
    one.merge(other)
    found = one.estimate()
    assert abs(found["x"].value - 2000) < 6 * math.sqrt(oracle.variance(n))
    assert abs(found["y"].value - 1000) < 6 * math.sqrt(oracle.variance(n))
    assert found["x"].low < found["x"].value < found["x"].high
    with pytest.raises(BadParameter):
        one.estimate(covers="population")
    forged = local.Reports(oracle.digest, np.array([[1, 2]], dtype=np.uint64), np.full((1, 8), 255, np.uint8))
    assert one.add(forged) == 0
    assert one.add(places(survey="b").client.report((1, 1))) == 0
    assert one.rejected == {"impossible content": 1, "another survey": 1}
    assert oracle.robustness(0.01) >= 40


def test_places_outside_the_box_count_as_its_nearest_point() -> None:
    oracle = places()
    assert oracle._read([(-50, 9000), (30, 29)]).tolist() == [(0, 100), (2, 1)]
    for bad in (3, (1,), (1, 2, 3), ("a", 2), None, (math.nan, 1), [[(1, 2)]]):
        with pytest.raises(BadValue):
            oracle.client.report(bad)


@pytest.mark.parametrize(
    "given",
    [
        {"box": (0, 0, 1)},
        {"box": (5, 0, 1, 9)},
        {"box": 3},
        {"radius": 0},
        {"epsilon": 0},
        {"step": 0},
        {"step": 1e-9},
        {"survey": 3},
    ],
)
def test_bad_parameters_are_refused_by_name(given: dict[str, Any]) -> None:
    with pytest.raises(BadParameter) as refused:
        places(**given)
    assert refused.value.parameter in given


@pytest.mark.parametrize("n", [2, 3, 10])
@pytest.mark.parametrize("p", [Fraction(3, 4), Fraction(9, 10)])
def test_response_over_points_of_interest_is_the_lecture_s(n: int, p: Fraction) -> None:
    oracle = local.KaryResponse.with_truth(n, p)
    assert oracle.p == p
    assert oracle.q == (1 - p) / (n - 1)
    assert oracle.epsilon == pytest.approx(math.log(p * (n - 1) / (1 - p)))
    with pytest.raises(BadParameter):
        local.KaryResponse.with_truth(n, Fraction(1, n))
    with pytest.raises(BadParameter):
        local.KaryResponse.with_truth(n, 1)
