"""Several means are rejected as often as the level says, and Cohen's d is covered: seeds are fixed."""

from __future__ import annotations

import math
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent))

from scipy.stats import binom
from test_population_coverage import ARGUMENT, Family, Released, equations, sampled

from privet.aggregates import Mean, Spread
from privet.aggregates.aggregate import squares
from privet.inference.bars import Law
from privet.inference.contrast import all_equal, effect_interval, explained_share
from privet.inference.equation import Equation, NoiseTerm
from privet.study.means import _pooled

RUNS = 300
HIGHEST = 0.05 + 2.6 * (0.05 * 0.95 / RUNS) ** 0.5

WORLDS = [
    ((200, 200, 200), 1, 0.0, 1, 1.0),
    ((200, 200, 200), 1, 0.0, 1, 0.1),
    ((400, 100, 60, 50), 1, 0.0, 1, 0.3),
    ((50, 50, 50), 1, 0.0, 1, 0.1),
    ((200, 200, 200), 5, 1.0, 5, 1.0),
]


def joined(groups: list[Equation], run: int) -> Equation:
    """Return the equations of several groups in one run as those of one answer."""
    each = [one.at([run]) for one in groups]

    def stacked(parts: list[np.ndarray]) -> np.ndarray:
        return np.concatenate(parts)

    noise = tuple(
        NoiseTerm(
            each[0].noise[place].law,
            stacked([one.noise[place].constant for one in each]),
            stacked([one.noise[place].slope for one in each]),
        )
        for place in range(len(each[0].noise))
    )
    spread = tuple(stacked([one.spread[place] for one in each]) for place in range(3))
    top, bottom = stacked([one.top for one in each]), stacked([one.bottom for one in each])
    return Equation(top, bottom, noise, spread, each[0].low, each[0].high)  # type: ignore[arg-type]


@pytest.mark.parametrize("family", ["laplace", "gaussian"])
@pytest.mark.parametrize("world", WORLDS)
def test_equal_means_are_rejected_as_often_as_the_level_says(
    world: tuple[tuple[int, ...], int, float, int, float], family: Family
) -> None:
    sizes, *rest = world
    groups = [
        equations(sampled(size, *rest, family, seed=40 + place))["mean"][0]  # type: ignore[arg-type]
        for place, size in enumerate(sizes)
    ]
    found = [all_equal(joined(groups, run), digest=str(run)).p_value for run in range(RUNS)]
    assert np.mean(np.array(found) < 0.05) <= HIGHEST


def test_means_that_differ_are_found() -> None:
    groups = [equations(sampled(200, 1, 0.0, 1, 1.0, "laplace", seed=place))["mean"][0] for place in range(3)]
    groups[0] = replace(groups[0], top=groups[0].top + 0.1 * groups[0].bottom)
    found = [all_equal(joined(groups, run), digest=str(run)).p_value for run in range(100)]
    assert np.mean(np.array(found) < 0.05) > 0.95


def test_simulated_and_asymptotic_laws_agree_where_noise_is_small() -> None:
    groups = [equations(sampled(200, 1, 0.0, 1, 500.0, "laplace", seed=place))["mean"][0] for place in range(3)]
    for run in range(20):
        one = joined(groups, run)
        simulated, plain = all_equal(one, digest=str(run)), all_equal(replace(one, noise=()), digest=str(run))
        assert simulated.simulated
        assert not plain.simulated
        assert simulated.p_value == pytest.approx(plain.p_value, abs=0.03)


def test_points_are_fixed_by_the_digest() -> None:
    groups = [equations(sampled(200, 1, 0.0, 1, 0.1, "laplace", seed=place))["mean"][0] for place in range(3)]
    one = joined(groups, 0)
    assert all_equal(one, digest="a") == all_equal(one, digest="a") != all_equal(one, digest="b")


def test_a_group_lost_in_its_noise_makes_the_test_conservative() -> None:
    groups = [equations(sampled(50, 1, 0.0, 1, 0.1, "laplace", seed=place))["mean"][0] for place in range(3)]
    found = all_equal(joined(groups, 0), digest="a")
    assert found.conservative
    assert found.degrees == 3


def normal_group(people: int, mean: float, epsilon: float, family: Family, seed: int) -> tuple[Equation, Equation]:
    """Return the mean and the variance of people with normal values of deviation 0.1, in many runs."""
    rng, centred = np.random.default_rng(seed), ARGUMENT.centred()
    steps = (np.round(1000 * np.clip(rng.normal(mean, 0.1, (RUNS, people)), 0, 1)) / 1000 - 0.5) / float(centred.step)
    square = squares(centred)
    exact = {
        "count": np.full(RUNS, float(people)),
        "centred": steps.sum(1),
        "square": (steps**2 - square.offset).sum(1),
    }
    widest = {"count": 1.0, "centred": centred.high, "square": square.most}
    laws = {name: Law(family, float(widest[name]) / epsilon) for name in exact}
    draw = rng.laplace if family == "laplace" else rng.normal
    noisy = {name: sums + draw(0.0, laws[name].scale, RUNS) for name, sums in exact.items()}
    one = Released(noisy, laws, 1.0, float(people))
    means = Mean(ARGUMENT).equation(one.of("centred", "count", beside=("square",)))
    return means, Spread(ARGUMENT, "var_pop").equation(one.of("centred", "square", "count"))


@pytest.mark.parametrize("family", ["laplace", "gaussian"])
@pytest.mark.parametrize(
    ("sizes", "means", "epsilon"),
    [
        ((200, 200, 200), (0.5, 0.5, 0.5), 1.0),
        ((200, 200, 200), (0.45, 0.5, 0.55), 1.0),
        ((400, 100, 60), (0.45, 0.5, 0.65), 0.3),
        ((300, 300, 300, 300), (0.4, 0.5, 0.5, 0.6), 0.2),
    ],
)
def test_eta_squared_is_covered(
    sizes: tuple[int, ...], means: tuple[float, ...], epsilon: float, family: Family
) -> None:
    shares = np.array(sizes) / sum(sizes)
    between = float((shares * (np.array(means) - (shares * means).sum()) ** 2).sum())
    truth = between / (between + 0.01)
    several = [
        normal_group(*one, epsilon, family, seed=place) for place, one in enumerate(zip(sizes, means, strict=True))
    ]
    found, runs = [], 150
    for run in range(runs):
        of_means, of_spreads = (joined([one[kind] for one in several], run) for kind in (0, 1))
        within = _pooled(of_spreads, of_means)
        found.append(explained_share(of_means, within, confidence=0.9, digest=str(run)))
    assert sum(one.low <= truth <= one.high for one in found) >= binom.ppf(1e-6, runs, 0.9)
    assert all(0 <= one.low <= one.high <= 1 for one in found)
    if epsilon == 1:
        # not by being useless: as far as from 0 to 1 nowhere
        assert max(one.high - one.low for one in found) < 0.5
        assert np.median([one.value for one in found]) == pytest.approx(truth, abs=0.02)


def test_eta_squared_covers_sampling_alone_and_is_unbiased() -> None:
    """With hardly any noise and a known deviation the errors of the means are all that the interval covers."""
    for means, truth in (((0.5, 0.5, 0.5), 0.0), ((0.45, 0.5, 0.55), 1 / 7)):
        several = [normal_group(200, mean, 1e6, "gaussian", seed=place)[0] for place, mean in enumerate(means)]
        found = [
            explained_share(joined(several, run), (0.1, 0.0), confidence=0.9, digest=str(run)) for run in range(RUNS)
        ]
        held = sum(one.low <= truth <= one.high for one in found)
        assert held >= binom.ppf(1e-6, RUNS, 0.9)
        assert sum(truth <= one.high for one in found) >= binom.ppf(1e-6, RUNS, 0.95)
        if truth == 0:
            # what is left of chi-squared with 2 degrees of freedom less its mean is 0 with probability 1 - exp(-1)
            zero = sum(one.value == 0 for one in found)
            assert binom.ppf(1e-6, RUNS, 1 - math.exp(-1)) <= zero <= binom.isf(1e-6, RUNS, 1 - math.exp(-1))


def test_eta_squared_is_found_where_it_is_large() -> None:
    several = [normal_group(400, mean, 1.0, "laplace", seed=place) for place, mean in enumerate((0.3, 0.5, 0.7))]
    of_means, of_spreads = (joined([one[kind] for one in several], 0) for kind in (0, 1))
    found = explained_share(of_means, _pooled(of_spreads, of_means), confidence=0.95, digest="a")
    assert found.low > 0.6  # the truth is 0.727
    assert found.high < 0.82
    unknown = explained_share(of_means, (0.0, 1.0), confidence=0.95, digest="a")
    assert (unknown.low, unknown.high, math.isnan(unknown.value)) == (0.0, 1.0, True)


@pytest.mark.parametrize("scale", [0.0, 0.1])
def test_effect_sizes_are_covered(scale: float) -> None:
    """Two groups of 100 normal values half a deviation apart, with Laplace noise on the difference."""
    rng, held, size, runs = np.random.default_rng(8), 0, 100, 400
    for _ in range(runs):
        one, other = rng.normal(0.5, 1, size), rng.normal(0, 1, size)
        spread = math.sqrt((one.var(ddof=1) + other.var(ddof=1)) / 2)
        difference = one.mean() - other.mean() + rng.laplace(0, scale)
        parts = difference, [np.array(scale)], spread * math.sqrt(2 / size)
        low, high = effect_interval(parts, spread, spread / math.sqrt(4 * size), 0.05)
        held += low <= 0.5 <= high
    assert 0.92 <= held / runs <= 0.98  # 2.7 standard errors


def test_an_effect_without_a_spread_is_not_bounded() -> None:
    assert effect_interval((1.0, [], 0.1), 0.0, 0.1, 0.05) == (-math.inf, math.inf)
    low, high = effect_interval((1.0, [], 0.1), 0.1, 0.2, 0.05)  # the spread may be 0
    assert math.isinf(high)
    assert math.isinf(low) or low < 10
