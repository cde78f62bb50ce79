"""Intervals for ratios and derived numbers hold what they claim, for both families of noise."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.special import ndtr, ndtri

from privet.core.errors import InvariantError
from privet.inference.bars import Law, averaged, half_width, noise_points, ratio_bars, simulated_bars, simulated_errors

TRIALS = 40_000


def draw(law: Law, size: int, generator: np.random.Generator) -> np.ndarray:
    if law.family == "laplace":
        return generator.laplace(0, law.scale, size)
    return generator.normal(0, law.scale, size)


@pytest.mark.parametrize("family", ["laplace", "gaussian"])
@pytest.mark.parametrize("factor", [0.0, 0.3, 1.0, 2.5])
def test_half_width_of_two_noises_is_exceeded_as_often_as_it_says(family, factor):
    generator = np.random.default_rng(7)
    one, other = Law(family, 3.0), Law(family, 2.0)
    noise = draw(one, 400_000, generator) + factor * draw(other, 400_000, generator)
    for tail in (0.05, 0.01):
        width = half_width(one, other, np.array([factor]), tail)[0]
        assert np.mean(np.abs(noise) > width) == pytest.approx(tail, abs=5 * np.sqrt(tail / 400_000))


@pytest.mark.parametrize("family", ["laplace", "gaussian"])
@pytest.mark.parametrize(("mean", "count"), [(0.0, 1000), (35.0, 1000), (-49.0, 200), (10.0, 20)])
def test_ratio_bars_cover_the_true_ratio(family, mean, count):
    generator = np.random.default_rng(11)
    laws = (Law(family, 60.0), Law(family, 2.0))
    total = mean * count + draw(laws[0], TRIALS, generator)
    counts = count + draw(laws[1], TRIALS, generator)
    bars = ratio_bars(total, counts, laws, most=50.0, tail=0.05)
    covered = np.mean((bars.low <= mean) & (mean <= bars.high))
    assert covered >= 0.95 - 6 * np.sqrt(0.05 * 0.95 / TRIALS)
    assert covered <= 0.97 or count < 100


def test_ratio_bars_give_the_whole_range_where_the_count_says_nothing():
    laws = (Law("gaussian", 60.0), Law("gaussian", 20.0))
    bars = ratio_bars(np.array([10.0, 500.0]), np.array([-3.0, 0.0]), laws, most=50.0, tail=0.05)
    assert bars.low.tolist() == [-50.0, -50.0]
    assert bars.high.tolist() == [50.0, 50.0]


@pytest.mark.parametrize("family", ["laplace", "gaussian"])
def test_simulated_bars_cover_a_product_of_sums(family):
    generator = np.random.default_rng(13)
    laws = [Law(family, 3.0), Law(family, 4.0)]
    released = [200 + draw(laws[0], 4000, generator), 300 + draw(laws[1], 4000, generator)]
    bars = simulated_bars(lambda a, b: a * b, released, laws, tail=np.full(4000, 0.05))
    covered = np.mean((bars.low <= 60_000) & (bars.high >= 60_000))
    assert 0.94 - 4 * np.sqrt(0.05 * 0.95 / 4000) <= covered <= 0.97


def test_noise_points_have_the_moments_of_their_laws_and_no_correlation():
    laws = [Law("laplace", 2.0), Law("gaussian", 3.0), Law("laplace", 1.0)]
    points = noise_points(laws, 4096)
    for law, values in zip(laws, points, strict=True):
        assert abs(values.mean()) < 0.01 * law.deviation
        assert values.std() == pytest.approx(law.deviation, rel=0.02)
    assert np.abs(np.corrcoef(points) - np.eye(3)).max() < 0.03


@pytest.mark.parametrize("scale", [0.3, 1.0, 5.0])
def test_whole_noise_has_the_quantiles_of_its_exact_law(scale):
    shares = (np.arange(100_000) + 0.5) / 100_000
    laplace = Law("laplace", scale, 1.0).quantile(shares)
    a = np.exp(-1 / scale)
    gaussian = Law("gaussian", scale, 1.0).quantile(shares)
    for k in range(-4, 5):
        assert np.mean(laplace == k) == pytest.approx((1 - a) / (1 + a) * a ** abs(k), abs=3e-5)
        assert np.mean(gaussian <= k) == pytest.approx(ndtr((k + 0.5) / scale), abs=3e-5)


@pytest.mark.parametrize("family", ["laplace", "gaussian"])
@pytest.mark.parametrize("scale", [0.2, 0.5, 1.0, 3.0])
@pytest.mark.parametrize("factor", [0.0, 0.4, 1.0])
def test_half_width_of_whole_noises_is_not_exceeded_more_often_than_it_says(family, scale, factor):
    steps = np.arange(-200, 201)
    if family == "laplace":
        a = np.exp(-1 / scale)
        chance = (1 - a) / (1 + a) * a ** np.abs(steps)
    else:
        chance = ndtr((steps + 0.5) / scale) - ndtr((steps - 0.5) / scale)
    joint, moved = np.outer(chance, chance), np.abs(steps[:, None] + factor * steps[None, :])
    one = Law(family, scale, 1.0)
    width = half_width(one, one, np.array([factor]), 0.05)[0]
    assert joint[moved > width].sum() <= 0.05


@pytest.mark.parametrize("family", ["laplace", "gaussian"])
def test_noise_that_is_nearly_always_zero_does_not_hide_the_other(family):
    still, moving = Law(family, 0.05, 1.0), Law(family, 2.0, 1.0)
    alone = half_width(moving, still, np.array([0.0]), 0.05)[0]
    assert half_width(still, moving, np.array([1.0]), 0.05)[0] >= alone
    assert half_width(moving, still, np.array([1.0]), 0.05)[0] >= alone
    assert half_width(still, still, np.array([1.0]), 0.05)[0] < 0.01


def test_more_doubt_makes_simulated_bars_wider():
    laws = [Law("gaussian", 3.0)]
    bars = simulated_bars(lambda a: a, [np.zeros(3)], laws, tail=np.array([0.2, 0.05, 0.01]))
    assert (np.diff(bars.high) > 0).all()
    assert bars.high == pytest.approx(3 * -ndtri([0.1, 0.025, 0.005]), rel=0.02)


def test_simulated_errors_of_several_functions_are_those_of_their_bars_in_every_row():
    laws, tail = [Law("gaussian", 3.0), Law("laplace", 2.0)], np.full(700, 0.05)
    released = [np.arange(700.0), np.arange(700.0)[::-1]]
    errors = simulated_errors(lambda a, b: (a * b, a + b), released, laws, tail=tail)
    product = simulated_bars(lambda a, b: a * b, released, laws, tail=tail)
    assert errors[0] == pytest.approx(product.error)
    assert errors[1] == pytest.approx(np.full(700, np.hypot(3.0, 2.0 * np.sqrt(2))), rel=0.02)
    assert product.low.tolist() != sorted(product.low.tolist())


@pytest.mark.parametrize("rounds", [2, 3, 5])
@pytest.mark.parametrize("tail", [0.2, 0.05, 0.01])
def test_averaged_laplace_noise_has_the_tail_that_its_characteristic_function_gives(rounds: int, tail: float) -> None:
    law, weights = averaged([Law("laplace", 2.0 ** (5 - index)) for index in range(rounds)])
    assert sum(weights) == pytest.approx(1)
    scales = [weight * 2.0 ** (5 - index) for index, weight in enumerate(weights)]
    assert law.deviation == pytest.approx(math.sqrt(2 * sum(scale**2 for scale in scales)))

    def beyond(t: float, factor: float) -> float:
        """P[|X + factor Y| > t] by Gil-Pelaez's inversion, for independent X and Y."""
        s = np.linspace(1e-12, 400 / max(scales), 400_001)
        both = np.ones_like(s)
        for scale in scales:
            both /= (1 + (scale * s) ** 2) * (1 + (factor * scale * s) ** 2)
        return float(1 - 2 / math.pi * np.trapezoid(np.sin(s * t) / s * both, s))

    for factor in (0.0, 0.5, 1.0, 3.0):
        t = float(half_width(law, law, np.array([factor]), tail)[0])
        assert beyond(t, factor) == pytest.approx(tail, rel=2e-3)
    (quantile,) = law.quantile(np.array([1 - tail / 2]))
    assert beyond(float(quantile), 0.0) == pytest.approx(tail, rel=2e-3)


def test_averaged_gaussian_noise_is_gaussian_with_all_precisions_added() -> None:
    law, weights = averaged([Law("gaussian", 4.0), Law("gaussian", 2.0)])
    assert weights == pytest.approx([0.2, 0.8])
    assert law.deviation == pytest.approx((1 / 16 + 1 / 4) ** -0.5)
    assert float(half_width(law, law, np.zeros(1), 0.05)[0]) == pytest.approx(1.959964 * law.deviation)


def test_only_noises_of_one_kind_are_averaged() -> None:
    for other in (Law("gaussian", 1.0), Law("laplace", 1.0, 1.0)):
        with pytest.raises(InvariantError):
            averaged([Law("laplace", 2.0), other])


@pytest.mark.parametrize("family", ["laplace", "gaussian"])
def test_a_ratio_that_no_mean_within_its_bounds_explains_has_all_of_them_as_its_interval(family):
    laws = (Law(family, 1.0), Law(family, 1.0))
    bars = ratio_bars(np.array([900.0, -900.0, 5.0]), np.array([10.0, 10.0, -3.0]), laws, most=50.0, tail=0.05)
    assert bars.low.tolist() == [-50.0] * 3
    assert bars.high.tolist() == [50.0] * 3
