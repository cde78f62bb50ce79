"""Coefficients from noisy sums of products: exact without noise, honest with it, unbounded where nothing is known."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from privet.core.errors import BadParameter, InvariantError
from privet.inference.linear import LinearFit, NoisyMoments, _Profile
from privet.inference.mixed_noise import tail_of, width_of


def moments(factors: Any, scale: float, family: Any = "laplace", seed: int = 0, rows_each: int = 1) -> NoisyMoments:
    """Return noisy sums of all products of factors, whose first is 1."""
    draw = np.random.default_rng(seed)
    size = factors.shape[1]
    pairs = [(i, j) for i in range(size) for j in range(i, size)]
    places = np.zeros((size, size), dtype=int)
    sums = factors.T @ factors
    values = np.array([sums[pair] for pair in pairs])
    for place, (i, j) in enumerate(pairs):
        places[i, j] = places[j, i] = place
    noise = draw.laplace(size=len(pairs)) if family == "laplace" else draw.normal(size=len(pairs))
    scales = np.full(len(pairs), scale)
    return NoisyMoments(values + scale * noise, scales, family, places, 0, rows_each)


def population(n: int, seed: int, sigma: float = 0.2) -> tuple[Any, Any]:
    draw = np.random.default_rng(seed)
    x = np.column_stack([np.ones(n), draw.uniform(-1, 1, n), draw.uniform(-1, 1, n)])
    b = np.array([0.1, 0.4, -0.3])
    return np.column_stack([x, x @ b + draw.normal(0, sigma, n)]), b


def test_without_noise_the_table_is_that_of_least_squares() -> None:
    factors, _ = population(400, 1)
    x, y = factors[:, :3], factors[:, 3]
    fit = LinearFit(moments(factors, 1e-9), (0, 1, 2), 3)
    exact = np.linalg.lstsq(x, y, rcond=None)[0]
    errors = y - x @ exact
    covariance = np.linalg.inv(x.T @ x) * (errors @ errors) / (400 - 3)
    for place in range(3):
        found = fit.along(np.eye(3)[place], 0.95)
        assert found.estimate == pytest.approx(exact[place], abs=1e-8)
        assert found.error == pytest.approx(math.sqrt(covariance[place, place]), rel=1e-3)
        wide = 1.9659 * found.error  # t with 397 degrees of freedom
        # a value that is tried has larger residuals than the best one: inversion is a little wider than Wald's
        assert found.high - found.estimate == pytest.approx(wide, rel=0.02)
        assert found.privacy < 1e-6
    assert fit.explained() == pytest.approx(1 - errors @ errors / ((y - y.mean()) ** 2).sum(), abs=1e-6)


def test_a_coefficient_that_is_there_is_found_and_one_that_is_not_has_a_large_p_value() -> None:
    factors, _b = population(4000, 2)
    fit = LinearFit(moments(factors, 5.0, seed=3), (0, 1, 2), 3)
    assert fit.along([0, 1, 0], 0.95).p_value < 1e-6
    shifted = fit.along([0, 1, 0], 0.95, offset=-float(fit.plain[1]))
    assert shifted.p_value > 0.99
    assert shifted.estimate == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize("open_side", [-1, 1])
def test_a_coefficient_without_an_end_on_one_side_is_unbounded_on_both(
    open_side: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    usual = _Profile._end

    def end(profile: _Profile, side: int, centre: float, step: float) -> float:
        return side * math.inf if side == open_side else usual(profile, side, centre, step)

    monkeypatch.setattr(_Profile, "_end", end)
    factors, _ = population(400, 1)
    found = LinearFit(moments(factors, 1.0), (0, 1, 2), 3).along([0, 1, 0], 0.95)
    assert (found.low, found.high) == (-math.inf, math.inf)
    assert not found.bounded


def test_nothing_is_bounded_where_the_noise_is_larger_than_the_sums() -> None:
    factors, _ = population(20, 4)
    fit = LinearFit(moments(factors, 1000.0, seed=5), (0, 1, 2), 3)
    found = [fit.along(np.eye(3)[place], 0.95) for place in range(3)]
    assert fit.repaired
    assert any(not one.bounded for one in found)
    assert all(one.low <= one.estimate <= one.high for one in found)
    assert all(math.isfinite(one.estimate) for one in found)


def test_a_design_factor_widens_sampling_errors_and_nothing_else() -> None:
    factors, _ = population(1000, 6)
    one, four = (LinearFit(moments(factors, 1e-9, rows_each=many), (0, 1, 2), 3) for many in (1, 4))
    narrow, wide = (fit.along([0, 1, 0], 0.95) for fit in (one, four))
    assert wide.error == pytest.approx(2 * narrow.error)
    assert wide.estimate == pytest.approx(narrow.estimate)


def test_a_ridge_changes_estimates_and_no_interval() -> None:
    factors, _ = population(500, 7)
    noisy = moments(factors, 10.0, seed=8)
    plain, ridged = LinearFit(noisy, (0, 1, 2), 3), LinearFit(noisy, (0, 1, 2), 3, 50.0)
    for name in ("auto", "adassp"):
        other = LinearFit(noisy, (0, 1, 2), 3, name)  # type: ignore[arg-type]
        assert np.linalg.norm(other.coefficients) < np.linalg.norm(plain.coefficients)
    first, second = (fit.along([0, 1, 0], 0.95) for fit in (plain, ridged))
    assert (first.low, first.high, first.p_value) == (second.low, second.high, second.p_value)
    assert abs(ridged.coefficients[1]) < abs(plain.coefficients[1])


def test_intervals_need_squares_and_a_count() -> None:
    factors, _ = population(100, 9)
    noisy = moments(factors, 1.0)
    without = NoisyMoments(noisy.values, noisy.scales, noisy.family, noisy.places, None)
    with pytest.raises(InvariantError):
        LinearFit(without, (0, 1, 2), 3).along([0, 1, 0], 0.95)
    assert len(LinearFit(without, (0, 1, 2), 3).coefficients) == 3


@pytest.mark.parametrize("columns", [(), (0, 0), (0, 3)])
def test_a_model_explains_by_others(columns: tuple[int, ...]) -> None:
    with pytest.raises(BadParameter):
        LinearFit(moments(population(10, 1)[0], 1.0), columns, 3)


@pytest.mark.parametrize(
    ("scales", "variance", "family", "wide"),
    [
        ([1.0], 0.0, "laplace", math.log(20)),
        ([1.0], 0.0, "gaussian", 1.959964),
        ([0.0], 4.0, "laplace", 2 * 1.959964),
        ([3.0, 4.0], 0.0, "gaussian", 5 * 1.959964),
    ],
)
def test_widths_are_those_of_the_convolution(scales: list[float], variance: float, family: Any, wide: float) -> None:
    found = width_of(np.array(scales), variance, family, 0.95)
    assert found == pytest.approx(wide, rel=5e-3)


def test_two_equal_laplace_noises_are_wider_than_a_normal_law_says() -> None:
    found = width_of(np.array([1.0, 1.0]), 0.0, "laplace", 0.95)
    assert (1 + found / 2) * math.exp(-found) == pytest.approx(0.05, rel=2e-2)
    assert found > 1.03 * 2 * 1.959964


def test_tails_and_widths_agree() -> None:
    scales = np.array([1.0, 0.5, 0.2])
    for confidence in (0.5, 0.8, 0.95, 0.99):
        wide = width_of(scales, 0.3, "laplace", confidence)
        assert tail_of(wide, scales, 0.3, "laplace") == pytest.approx(1 - confidence, rel=0.03)
    assert 0 < tail_of(60.0, scales, 0.3, "laplace") < 1e-20
    assert tail_of(0.0, scales, 0.3, "laplace") == pytest.approx(1)


# the share of hits of 120 independent fits with 3 dependent intervals each has a standard deviation of at most
# sqrt(.95 * .05 / 120) = .02 at .95: five of these are .1, and seeds are fixed besides
@pytest.mark.parametrize(
    ("scale", "family", "n"), [(1e-6, "laplace", 300), (20.0, "laplace", 1000), (60.0, "gaussian", 1000)]
)
def test_intervals_hold_their_level_under_noise(scale: float, family: Any, n: int) -> None:
    held = []
    for seed in range(120):
        factors, b = population(n, 1000 + seed)
        fit = LinearFit(moments(factors, scale, family, seed=5000 + seed), (0, 1, 2), 3)
        held += [one.low <= b[place] <= one.high for place in range(3) for one in [fit.along(np.eye(3)[place], 0.95)]]
    assert 0.85 <= float(np.mean(held)) <= 0.999
