"""Correlations and components from noisy sums of products."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from privet.inference.linear import NoisyMoments, components_of, correlation_of, covariance_of


def moments(columns: Any, scale: float, family: Any = "laplace", seed: int = 0) -> NoisyMoments:
    factors = np.column_stack([np.ones(len(columns)), columns])
    draw, size = np.random.default_rng(seed), factors.shape[1]
    pairs = [(i, j) for i in range(size) for j in range(i, size)]
    places = np.zeros((size, size), dtype=int)
    sums = factors.T @ factors
    for place, (i, j) in enumerate(pairs):
        places[i, j] = places[j, i] = place
    noise = draw.laplace(size=len(pairs)) if family == "laplace" else draw.normal(size=len(pairs))
    values = np.array([sums[pair] for pair in pairs]) + scale * noise
    return NoisyMoments(values, np.full(len(pairs), scale), family, places, 0)


def columns(n: int, rho: float, seed: int) -> Any:
    draw = np.random.default_rng(seed)
    x, e = draw.normal(size=(2, n)) / 4
    return np.clip(np.column_stack([x + 0.1, rho * x + math.sqrt(1 - rho**2) * e]), -1, 1)


def test_without_noise_they_are_those_of_the_rows() -> None:
    data = np.column_stack([columns(500, 0.6, 1), columns(500, 0.0, 2)[:, 0] / 2])
    found = covariance_of(moments(data, 1e-9), (1, 2, 3), 0)
    assert found.matrix == pytest.approx(np.cov(data.T, ddof=0), abs=1e-9)
    one = correlation_of(found, 0, 1, 0.95)
    assert one.value == pytest.approx(np.corrcoef(data.T)[0, 1], abs=1e-6)
    wide = math.atanh(one.high) - math.atanh(one.value)
    assert wide == pytest.approx(1.96 / math.sqrt(497), rel=1e-3)
    values = np.linalg.eigvalsh(np.corrcoef(data.T))[::-1]
    parts = components_of(found, confidence=0.95, seed=1, scaled=True)
    assert [part.variance for part in parts] == pytest.approx(values, abs=1e-6)
    assert sum(part.share for part in parts) == pytest.approx(1)
    assert all(part.bounded and part.angle < 0.01 for part in parts)
    assert abs(np.dot(parts[0].loadings, parts[1].loadings)) < 1e-9
    plain = components_of(found, confidence=0.95, seed=1, scaled=False)
    assert sum(part.variance for part in plain) == pytest.approx(np.trace(found.matrix))


def test_a_spread_that_the_noise_hides_leaves_a_correlation_open() -> None:
    found = covariance_of(moments(columns(30, 0.5, 3), 200.0, seed=4), (1, 2), 0)
    one = correlation_of(found, 0, 1, 0.95)
    assert (one.low, one.high) == (-1, 1)
    assert -1 <= one.value <= 1


def test_components_without_a_gap_have_no_interval() -> None:
    data = columns(2000, 0.0, 5)  # two equal variances
    parts = components_of(covariance_of(moments(data, 5.0, seed=6), (1, 2), 0), confidence=0.95, seed=1, scaled=True)
    assert not any(part.bounded for part in parts)
    clear = components_of(
        covariance_of(moments(columns(2000, 0.8, 5), 5.0, seed=6), (1, 2), 0), confidence=0.95, seed=1, scaled=True
    )
    assert all(part.bounded and part.low < part.variance < part.high for part in clear)


def test_the_same_seed_gives_the_same_intervals() -> None:
    found = covariance_of(moments(columns(2000, 0.8, 5), 5.0, seed=6), (1, 2), 0)
    first, second = (components_of(found, confidence=0.95, seed=3, scaled=False) for _ in range(2))
    assert first == second


@pytest.mark.parametrize(("scale", "family"), [(1e-6, "laplace"), (8.0, "laplace"), (8.0, "gaussian")])
@pytest.mark.parametrize("rho", [0.0, 0.7])
def test_intervals_of_correlations_hold_their_level(scale: float, family: Any, rho: float) -> None:
    # 600 independent trials at .95 have a standard deviation of .009: five of them are .045; seeds are fixed besides
    held = 0
    for seed in range(600):
        found = covariance_of(moments(columns(1500, rho, 100 + seed), scale, family, seed), (1, 2), 0)
        one = correlation_of(found, 0, 1, 0.95)
        held += one.low <= rho <= one.high
    assert held / 600 >= 0.905


def test_the_noise_turns_directions_and_variances_by_no_more_than_is_said() -> None:
    # at a confidence of .95 it fails once in twenty; 150 trials miss more than 20 times once in a million
    data = columns(3000, 0.6, 9)
    exact = components_of(covariance_of(moments(data, 1e-9), (1, 2), 0), confidence=0.95, seed=1, scaled=False)
    missed = 0
    for seed in range(150):
        found = covariance_of(moments(data, 4.0, seed=seed), (1, 2), 0)
        parts = components_of(found, confidence=0.95, seed=seed, scaled=False)
        assert parts[0].bounded
        turned = math.degrees(math.acos(min(1.0, abs(np.dot(parts[0].loadings, exact[0].loadings)))))
        missed += not (parts[0].low <= exact[0].variance <= parts[0].high and turned <= parts[0].angle)
    assert missed <= 22
