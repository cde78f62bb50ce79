"""Noisy locations: the exact law on the grid, the loss that is promised by distance, and no epsilon anywhere."""

from __future__ import annotations

import math
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from privet import accounting, local
from privet.core.errors import BadParameter, BadValue, RequestError, Unsupported
from privet.local.planar_laplace import LatticeLaw
from privet.noise.draws import PlanarSampler

BOX = (0, 0, 4000, 2000)


def places(**given: Any) -> local.PlanarLaplace:
    return local.PlanarLaplace(**{"box": BOX, "radius": 200, "epsilon": 1, "step": 20, **given})


def along(**given: Any) -> local.PlanarLaplace:
    return places(metric="manhattan", **given)


@pytest.mark.parametrize(("metric", "snapping"), [("euclidean", 20 * math.sqrt(2)), ("manhattan", 40)])
def test_the_loss_within_the_radius_is_epsilon_and_grows_with_distance(metric: str, snapping: float) -> None:
    promise = places(metric=metric).promise
    assert promise.loss(200) <= 1 + 1e-15
    assert promise.loss(200) == pytest.approx(1)
    assert promise.loss(0) == 0
    assert promise.loss(400) > promise.loss(200) > promise.loss(100) > promise.loss(1e-9) > 0
    assert promise.loss(1e-9) == pytest.approx(float(promise.rate) * snapping, rel=1e-4)  # moving to the grid


@pytest.mark.parametrize("where", [(1000.0, 1000.0), (0.0, 0.0), (4000.0, 2000.0), (3990.0, 5.0)])
@pytest.mark.parametrize("moved", [(9.9, 0.0), (30.0, -50.0), (-140.0, 141.0), (-300.0, -10.0)])
def test_no_two_places_are_told_apart_more_than_is_promised(where: Any, moved: Any) -> None:
    """The exact law along an axis is compared at every point that is kept, ends included, where both are close."""
    oracle = along()
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
    oracle, n = along(epsilon=8), 40_000
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


@pytest.mark.parametrize("where", [(100.0, 60.0), (0.0, 0.0), (200.0, 100.0)])
@pytest.mark.parametrize("moved", [(9.9, 0.0), (30.0, -50.0), (-70.0, 70.0)])
def test_no_two_places_are_told_apart_more_than_is_promised_in_straight_lines(where: Any, moved: Any) -> None:
    """The law on a large part of the lattice, cut to what a report can hold, at every point that is kept."""
    oracle = places(box=(0, 0, 200, 100), radius=60, epsilon=3)
    reach, far = oracle.reach, oracle.reach + 40
    there = tuple(a + b for a, b in zip(where, moved, strict=True))
    laws = []
    for one in (where, there):
        x, y = oracle._read(np.array([one]))[0].tolist()
        sides = [np.arange(-far, steps + far + 1) for steps in oracle._steps]
        weights = np.exp(-np.hypot(sides[0][:, None] - x, sides[1][None, :] - y) / float(oracle.scale))
        kept = np.zeros([steps + 2 * reach + 1 for steps in oracle._steps])
        ends = [np.clip(side, -reach, steps + reach) + reach for side, steps in zip(sides, oracle._steps, strict=True)]
        np.add.at(kept, (ends[0][:, None], ends[1][None, :]), weights)
        laws.append(kept)
    inside = tuple(slice(1, -1) for _ in range(2))  # the outermost points gather what lies beyond the part looked at
    worst = float(np.abs(np.log(laws[0][inside]) - np.log(laws[1][inside])).max())
    assert worst <= oracle.promise.loss(math.hypot(*moved)) + 1e-9
    assert float(np.abs(np.log(laws[0]) - np.log(laws[1])).max()) <= oracle.promise.loss(math.hypot(*moved)) + 1e-6


@pytest.mark.parametrize("rate", [Fraction(3, 2), Fraction(2, 5)])
def test_points_come_as_often_as_their_distance_says(rate: Fraction) -> None:
    n = 60_000
    drawn = PlanarSampler(rate).fill(n)
    side = np.arange(-200, 201)
    weights = np.exp(-float(rate) * np.hypot(side[:, None], side[None, :]))
    odds = weights / weights.sum()
    for a in range(-3, 4):
        for b in range(-3, 4):
            chance = odds[200 + a, 200 + b]
            count = int(((drawn[:, 0] == a) & (drawn[:, 1] == b)).sum())
            assert abs(count - n * chance) < 6.2 * math.sqrt(n * chance * (1 - chance)) + 12  # 1e-8 each
    away = np.hypot(*drawn.T)
    law = LatticeLaw("euclidean", float(1 / rate))
    assert float((away**2).mean()) / 2 == pytest.approx(law.variance, rel=6 * math.sqrt(6 / n))
    assert law.variance == pytest.approx(float((odds * side[:, None] ** 2).sum()), rel=1e-6)
    assert (away <= law.error(0.9)).mean() >= 0.9 - 6 * math.sqrt(0.09 / n)


class Given:
    """A source whose words are given, in turn."""

    def __init__(self, *words: int) -> None:
        self.left = list(words)

    def words(self, count: int) -> Any:
        taken, self.left = self.left[:count], self.left[count:]
        return np.array(taken, dtype=np.uint64)

    def word(self) -> int:
        return int(self.words(1)[0])


@pytest.mark.parametrize("point", [(1, 2), (-3, 1), (2, 0), (0, 7), (3, 4), (5, -5), (30, 1), (1000, 1000)])
def test_the_root_is_compared_to_the_last_bit(point: tuple[int, int]) -> None:
    """A uniform number that agrees with exp(-x) in its first 63 bits is decided by the next ones, right at the edge."""
    sampler = PlanarSampler(Fraction(7, 10))
    a, b = (abs(side) for side in point)
    with localcontext() as context:
        context.prec = 80
        slow = Decimal(sampler._slow.numerator) / Decimal(sampler._slow.denominator)
        x = Decimal(7) / 10 * Decimal(a * a + b * b).sqrt() - slow * (a + b)
        edge = int((-x).exp() * 2**127)
    first, rest = divmod(edge, 2**64)
    for more, kept in ((rest - 1, True), (rest + 1, False)):
        source = Given(first, max(0, min(more, 2**64 - 1)), 2**63, 2**63)
        assert bool(sampler.keeps(np.array([point]), source)[0]) is kept


@pytest.mark.parametrize("scale", [0.2, 1.0, 7.5])
@pytest.mark.parametrize("level", [0.5, 0.9, 0.999])
def test_the_radius_along_both_axes_is_the_least_that_holds(scale: float, level: float) -> None:
    a = math.exp(-1 / scale)
    odds = [((1 - a) / (1 + a)) ** 2 * (4 * k if k else 1) * a**k for k in range(600)]
    least = next(k for k in range(600) if sum(odds[: k + 1]) >= level)
    assert LatticeLaw("manhattan", scale).error(level) == least + 1


def test_wide_laws_agree_with_the_plane() -> None:
    """Just below the width from which on sums are those of the plane, both ways agree."""
    narrow, wide = LatticeLaw("euclidean", 19.999), LatticeLaw("euclidean", 20.0)
    assert narrow.variance * (20 / 19.999) ** 2 == pytest.approx(wide.variance, rel=1e-6)
    assert wide.variance == pytest.approx(3 * 20**2, rel=1e-5)
    for level in (0.5, 0.95):
        assert narrow.error(level) <= wide.error(level) <= narrow.error(level) + 3


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
    assert oracle._read([(1e308, -1e308)]).tolist() == [(200, 0)]
    map_ = local.PlanarLaplace(local.MapProjection(*TOWN), radius=500, epsilon=1)
    assert map_._read([(1e308, -1e308)]).tolist() == map_._read([(52.7, 13.1)]).tolist()
    assert oracle._read([(-50, 9000), (31, 29)]).tolist() == [(0, 100), (2, 1)]
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
        {"box": (10**15, 0, 10**15 + 100, 100), "step": 1},
        {"metric": "polar"},
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


TOWN = (52.3, 13.1, 52.7, 13.8)


def ground(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Return no more than the distance on the ellipsoid WGS 84: the arc over the chord, of its largest radius."""
    points = []
    for place in (one, other):
        latitude, longitude = np.radians(place).T
        normal = 6_378_137 / np.sqrt(1 - 0.00669437999014 * np.sin(latitude) ** 2)
        flat = normal * np.cos(latitude)
        points.append(
            np.stack([flat * np.cos(longitude), flat * np.sin(longitude), normal * 0.99330562 * np.sin(latitude)])
        )
    chord = np.sqrt(((points[0] - points[1]) ** 2).sum(axis=0))
    largest = 6_399_594
    return 2 * largest * np.arcsin(chord / (2 * largest))


@pytest.mark.parametrize("box", [TOWN, (-1, -1, 1, 1), (59, 5, 70, 20), (-40, 170, -38, 180), (-0.5, 20, 0, 20.1)])
def test_the_plane_stretches_the_ground_by_no_more_than_is_stated(box: Any) -> None:
    projection = local.MapProjection(*box)
    generator = np.random.default_rng(3)
    low, high = np.array(box[:2], dtype=float), np.array(box[2:], dtype=float)
    one, other = (generator.uniform(low, high, (4000, 2)) for _ in range(2))
    near = np.clip(one + generator.normal(size=(4000, 2)) * 1e-3, low, high)
    ends = generator.choice([0.0, 1.0], (4000, 2)) * (high - low) + low
    for there in (other, near, ends):
        apart = ground(one, there)
        plane = np.hypot(*(projection.to_metres(one) - projection.to_metres(there)).T)
        held = apart > 1
        assert (plane[held] <= projection.stretch * apart[held]).all()
        assert np.abs(projection.to_degrees(projection.to_metres(there)) - there).max() < 1e-9
    assert 1 < projection.stretch < 1.5


def test_places_in_degrees_are_protected_in_metres_on_the_ground() -> None:
    town = local.MapProjection(*TOWN)
    oracle = local.PlanarLaplace(town, radius=500, epsilon=2)
    assert oracle.promise.loss(500) == pytest.approx(2)
    assert float(oracle.rate) * (town.stretch * 500 + 10 * math.sqrt(2)) == pytest.approx(2, rel=1e-4)
    assert oracle.promise.stretch == town.stretch
    assert "no epsilon" in str(oracle.promise)
    assert "stretched by up to" in str(oracle.promise)
    n = 4000
    truth = np.array([52.5, 13.4])
    reports = oracle.client.reports(np.tile(truth, (n, 1)))
    drawn = oracle.places(reports)
    away = np.hypot(*(town.to_metres(drawn) - town.to_metres(truth)).T)
    assert (away <= oracle.error(0.9)).mean() >= 0.9 - 6 * math.sqrt(0.09 / n)
    server = oracle.server()
    server.add(reports)
    found = server.estimate()
    assert set(found) == {"latitude", "longitude"}
    for name, place in zip(("latitude", "longitude"), truth.tolist(), strict=True):
        assert abs(found[name].value - place) < 6.5 * found[name].standard_error + 1e-4
        assert found[name].low < found[name].value < found[name].high
    assert found["latitude"].standard_error == pytest.approx(math.degrees(math.sqrt(oracle.variance(n)) / 6_371_008.8))
    assert oracle != local.PlanarLaplace(local.MapProjection(52.2, 13.1, 52.6, 13.8), radius=500, epsilon=2)
    with pytest.raises(BadValue, match="latitude"):
        oracle.client.report("here")


@pytest.mark.parametrize(
    ("box", "name"),
    [
        ((10, 0, 5, 1), "north"),
        ((0, 5, 1, 4), "east"),
        ((0, 0, 90, 1), "north"),
        ((0, 170, 1, 190), "east"),
        ((60, 0, 89, 1), "north"),
        ((-1, -170, 1, 170), "north"),
        (("a", 0, 1, 1), "south"),
    ],
)
def test_boxes_that_no_projection_serves_are_refused(box: Any, name: str) -> None:
    with pytest.raises(BadParameter) as refused:
        local.MapProjection(*box)
    assert refused.value.parameter == name
    with pytest.raises(BadValue):
        local.MapProjection(*TOWN).to_metres("here")
    with pytest.raises(BadValue):
        local.MapProjection(*TOWN).to_metres((1e308, 13))
    with pytest.raises(BadParameter):
        local.PlanarLaplace(local.MapProjection(*TOWN), radius=500, epsilon=2, step=0.001)
    with pytest.raises(BadParameter):
        local.MetricPromise(1, 1, stretch=0.5)
