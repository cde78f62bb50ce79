"""Releases against exact probabilities, and intervals against the truth.

Each test raises a false alarm with a probability of about 1e-8: a chi-squared statistic beyond that tail, or a count of
covered truths beyond it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import binom, chi2, norm

from privet.mechanisms import Exponential, FiniteMechanism, Gaussian, Laplace, RandomizedResponse

ALARM = 1e-8
DRAWS = 200_000


def fits(observed: np.ndarray, chances: np.ndarray) -> bool:
    """Return whether counts are those of a multinomial with these chances; rare cells are taken together."""
    observed, chances = np.asarray(observed, dtype=float), np.asarray(chances, dtype=float)
    total = observed.sum()
    rare = chances * total < 10
    if rare.any():
        observed = np.append(observed[~rare], observed[rare].sum())
        chances = np.append(chances[~rare], chances[rare].sum())
    if chances[-1] * total < 1e-6:
        if observed[-1]:
            return False
        observed, chances = observed[:-1], chances[:-1]
    expected = chances / chances.sum() * total
    statistic = ((observed - expected) ** 2 / expected).sum()
    return bool(chi2.sf(statistic, len(expected) - 1) > ALARM)


def counts_of(integers: np.ndarray, reach: int) -> np.ndarray:
    return np.bincount(np.clip(integers, -reach, reach).astype(np.int64) + reach, minlength=2 * reach + 1)


def folded(mass: Callable[[np.ndarray], np.ndarray], reach: int) -> np.ndarray:
    """Return the chances of -reach..reach with what lies beyond folded onto the ends."""
    inside = mass(np.arange(-reach, reach + 1))
    beyond = max(0.0, 1 - inside.sum()) / 2
    inside[[0, -1]] += beyond
    return inside


def discrete_laplace(scale: float) -> Callable[[np.ndarray], np.ndarray]:
    a = math.exp(-1 / scale)
    return lambda k: (1 - a) / (1 + a) * a ** np.abs(k)


def laplace_cdf(x: np.ndarray, scale: float) -> np.ndarray:
    return np.where(x < 0, np.exp(-np.abs(x) / scale) / 2, 1 - np.exp(-np.abs(x) / scale) / 2)


@pytest.mark.parametrize("scale", [0.3, 1, 2.5, 40])
def test_whole_numbers_get_discrete_laplace_noise(scale: float) -> None:
    mechanism = Laplace(sensitivity=1, scale=scale)
    drawn = mechanism.release(np.full(DRAWS, 1000)) - 1000
    reach = math.ceil(12 * scale) + 1
    assert fits(counts_of(drawn, reach), folded(discrete_laplace(scale), reach))


def test_scalars_get_the_same_noise_as_arrays() -> None:
    whole, fine = Laplace(sensitivity=1, scale=2), Laplace(sensitivity=0.5, scale=2)
    drawn = np.array([whole.release(7) - 7 for _ in range(20_000)])
    assert fits(counts_of(drawn, 25), folded(discrete_laplace(2), 25))
    edges = np.linspace(-12, 12, 49)
    reals = np.array([fine.release(7.25) - 7.25 for _ in range(20_000)])
    chances = np.diff(np.concatenate([[0.0], laplace_cdf(edges, 2), [1.0]]))
    assert fits(np.bincount(np.searchsorted(edges, reals), minlength=50), chances)


@pytest.mark.parametrize("scale", [0.2, 1.3, 25])
def test_whole_numbers_on_a_fine_grid_get_rounded_laplace_noise(scale: float) -> None:
    mechanism = Laplace(sensitivity=0.5, scale=scale)
    drawn = mechanism.release(np.full(DRAWS, -3)) + 3
    reach = math.ceil(12 * scale) + 1

    def mass(k: np.ndarray) -> np.ndarray:
        return laplace_cdf(k + 0.5, scale) - laplace_cdf(k - 0.5, scale)

    assert fits(counts_of(drawn, reach), folded(mass, reach))


@pytest.mark.parametrize("grid", ["whole", "fine"])
@pytest.mark.parametrize("scale", [0.01, 1, 1000])
def test_reals_get_laplace_noise(grid: str, scale: float) -> None:
    mechanism = Laplace(sensitivity=3, scale=scale, grid=grid)  # type: ignore[arg-type]
    drawn = mechanism.release(np.full(DRAWS, 0.1)) - 0.1
    edges = np.linspace(-8, 8, 81) * scale
    chances = np.diff(np.concatenate([[0.0], laplace_cdf(edges, scale), [1.0]]))
    assert fits(np.bincount(np.searchsorted(edges, drawn), minlength=82), chances)


@pytest.mark.parametrize("sigma", [0.2, 3, 500])
def test_reals_and_whole_numbers_get_gaussian_noise(sigma: float) -> None:
    mechanism = Gaussian(sensitivity=1, sigma=sigma)
    drawn = mechanism.release(np.full(DRAWS, 0.1)) - 0.1
    edges = np.linspace(-5, 5, 81) * sigma
    chances = np.diff(np.concatenate([[0.0], norm.cdf(edges, scale=sigma), [1.0]]))
    assert fits(np.bincount(np.searchsorted(edges, drawn), minlength=82), chances)
    if sigma < 100:
        rounded = mechanism.release(np.full(DRAWS, 5)) - 5
        reach = math.ceil(7 * sigma) + 1

        def mass(k: np.ndarray) -> np.ndarray:
            return norm.cdf(k + 0.5, scale=sigma) - norm.cdf(k - 0.5, scale=sigma)

        assert fits(counts_of(rounded, reach), folded(mass, reach))


@pytest.mark.parametrize("sigma", [0.4, 1, 6])
def test_the_whole_grid_gets_discrete_gaussian_noise(sigma: float) -> None:
    mechanism = Gaussian(sensitivity=1, sigma=sigma, grid="whole")
    drawn = np.array([mechanism.release(4) - 4 for _ in range(20_000)])
    reach = math.ceil(7 * sigma) + 1
    places = np.arange(-20 * reach, 20 * reach + 1)
    total = np.exp(-(places**2) / (2 * sigma**2)).sum()
    assert fits(counts_of(drawn, reach), folded(lambda k: np.exp(-(k**2) / (2 * sigma**2)) / total, reach))


def test_coordinates_of_a_vector_are_independent() -> None:
    for mechanism in (Laplace(sensitivity=1, scale=3), Gaussian(sensitivity=1, sigma=3)):
        drawn = mechanism.release(np.zeros((100_000, 2)))
        signs = (drawn > 0).astype(int)
        assert fits(np.bincount(signs[:, 0] * 2 + signs[:, 1], minlength=4), np.full(4, 0.25))
        spread = (np.abs(drawn) > np.median(np.abs(drawn))).astype(int)
        assert fits(np.bincount(spread[:, 0] * 2 + spread[:, 1], minlength=4), np.full(4, 0.25))


@pytest.mark.parametrize("scores", [[3, 2, 3, 0], [0.5, 0.25, -4.0], [10**30, 10**30 + 1], [0] * 7])
def test_choices_have_the_probabilities_that_are_stated(scores: list[object]) -> None:
    mechanism = Exponential(sensitivity=1, epsilon=1.5)
    given = np.array(scores, dtype=object) if max(map(abs, scores)) > 2**62 else scores  # type: ignore[arg-type,call-overload]
    drawn = [mechanism.release(given) for _ in range(10_000)]
    assert fits(np.bincount(drawn, minlength=len(scores)), mechanism.probabilities(given))


def test_reports_have_the_probabilities_of_the_response() -> None:
    for mechanism in (
        RandomizedResponse(p=0.75),
        RandomizedResponse.two_coins(truth=0.5, yes=Fraction(1, 5)),
        RandomizedResponse(epsilon=1, categories=5),
        RandomizedResponse(p=Fraction(1, 100), categories=3),
    ):
        k = len(mechanism.labels)
        for true in range(k):
            if k == 2:
                chances = np.array([1 - float(mechanism.p), float(mechanism.p)])
                if true == 0:
                    chances = np.array([1 - float(mechanism.q), float(mechanism.q)])
            else:
                chances = np.full(k, float(mechanism.q))
                chances[true] = float(mechanism.p)
            reports = mechanism.release(np.full(50_000, true))
            assert fits(np.bincount(reports, minlength=k), chances)


def test_outputs_have_the_probabilities_of_the_matrix() -> None:
    matrix = [[Fraction(1, 2), Fraction(1, 3), Fraction(1, 6), 0], [Fraction(1, 7), 0, Fraction(3, 7), Fraction(3, 7)]]
    mechanism = FiniteMechanism(matrix)
    for row in (0, 1):
        outputs = mechanism.release(np.full(30_000, row))
        assert fits(np.bincount(outputs, minlength=4), np.array(matrix[row], dtype=float))


def test_a_wrong_distribution_is_noticed() -> None:
    drawn = Laplace(sensitivity=1, scale=1.05).release(np.zeros(DRAWS, dtype=np.int64))
    assert not fits(counts_of(drawn, 13), folded(discrete_laplace(1), 13))


def covered_enough(covered: int, trials: int, confidence: float) -> bool:
    """Return whether covered truths are no fewer than the confidence promises, beyond chance."""
    return bool(binom.cdf(covered, trials, confidence) > ALARM)


INTERVALS = {
    "Laplace": Laplace(sensitivity=1, scale=3),
    "sharp Laplace": Laplace(sensitivity=1, scale=0.3),
    "fine Laplace": Laplace(sensitivity=0.5, scale=0.7),
    "wide Laplace": Laplace(sensitivity=100.5, scale=1e6),
    "Gaussian": Gaussian(sensitivity=1, sigma=2),
    "sharp Gaussian": Gaussian(sensitivity=1, sigma=0.3),
    "wide Gaussian": Gaussian(sensitivity=1, sigma=1e5),
}


@pytest.mark.parametrize("confidence", [0.1, 0.5, 0.9, 0.95, 0.999])
@pytest.mark.parametrize("mechanism", INTERVALS.values(), ids=INTERVALS)
def test_an_interval_holds_the_truth_as_often_as_it_says(mechanism: Laplace | Gaussian, confidence: float) -> None:
    generator = np.random.default_rng(3)
    for truth in (
        generator.integers(-(10**6), 10**6, 40_000),
        generator.uniform(-1000, 1000, 40_000),
        generator.uniform(-1e-3, 1e-3, 40_000),
    ):
        low, high = mechanism.interval(mechanism.release(truth), confidence)
        covered = int(((low <= truth) & (truth <= high)).sum())
        assert covered_enough(covered, truth.size, confidence)
        if truth.dtype != np.int64:  # reals lose nothing to the grid, so the interval is no wider than it must be
            assert covered_enough(truth.size - covered, truth.size, 1 - confidence * 1.001)


@pytest.mark.parametrize("confidence", [0.5, 0.95])
def test_scalars_and_the_whole_grid_are_covered_too(confidence: float) -> None:
    for mechanism, truth in (
        (Laplace(sensitivity=1, scale=1.5), 12),
        (Laplace(sensitivity=0.5, scale=1.5), 12.3),
        (Gaussian(sensitivity=1, sigma=1.5), 12.3),
        (Gaussian(sensitivity=1, sigma=1.5, grid="whole"), 12),
        (Gaussian(sensitivity=1, sigma=0.45, grid="whole"), -12),
    ):
        covered = 0
        half = mechanism.error(confidence)
        within = 0
        for _ in range(3000):
            released = mechanism.release(truth)
            low, high = mechanism.interval(released, confidence)
            covered += low <= truth <= high
            within += abs(released - truth) <= half
        assert covered_enough(covered, 3000, confidence)
        assert covered_enough(within, 3000, confidence)


def test_the_choice_stays_within_its_error() -> None:
    mechanism = Exponential(sensitivity=1, epsilon=1)
    scores = -np.linspace(0, 20, 50)
    depth = mechanism.error(0.9, size=50)
    good = sum(scores[mechanism.release(scores)] >= -depth for _ in range(4000))
    assert covered_enough(int(good), 4000, 0.9)


@pytest.mark.parametrize("fixed", [True, False], ids=["fixed people", "people at random"])
@pytest.mark.parametrize(
    ("mechanism", "of"),
    [
        (RandomizedResponse(p=0.75), 1),
        (RandomizedResponse(p=0.75), 0),
        (RandomizedResponse.two_coins(yes=Fraction(1, 5)), 1),
        (RandomizedResponse(p=Fraction(1, 5)), 1),
        (RandomizedResponse(epsilon=2, categories=4), 3),
    ],
    ids=repr,
)
def test_estimates_cover_the_share_of_people(mechanism: RandomizedResponse, of: int, fixed: bool) -> None:
    generator = np.random.default_rng(4)
    k = len(mechanism.labels)
    for size, share, confidence in ((25, 0.1, 0.95), (200, 0.5, 0.9), (200, 0.97, 0.99)):
        surveys = 1500
        chances = np.full(k, (1 - share) / (k - 1))
        chances[of] = share
        everyone = generator.choice(k, (surveys, size), p=chances)
        if fixed:
            everyone[:] = everyone[0]
        reports = mechanism.release(everyone)
        hits = (reports == of).sum(axis=1)
        truth = (everyone[0] == of).mean() if fixed else share
        intervals = {
            h: mechanism.estimate(np.where(np.arange(size) < h, of, (of + 1) % k), of=of, confidence=confidence)
            for h in set(hits.tolist())
        }
        covered = sum(intervals[h].low - 1e-12 <= truth <= intervals[h].high + 1e-12 for h in hits.tolist())
        assert covered_enough(covered, surveys, confidence)
        mean = np.mean([intervals[h].value for h in hits.tolist()])
        spread = math.sqrt(mechanism.variance(share, size=size) / surveys)
        assert abs(mean - truth) <= 5.8 * spread


def test_variances_are_those_of_the_draws() -> None:
    for mechanism, value in (
        (Laplace(sensitivity=1, scale=2), 0),
        (Laplace(sensitivity=0.5, scale=2), 0.0),
        (Gaussian(sensitivity=1, sigma=2), 0.0),
    ):
        drawn = mechanism.release(np.full(DRAWS, value)).astype(float)
        # the standard error of a variance is sqrt((kurtosis - 1) / n), with a kurtosis of 6 at most
        assert abs(drawn.var() / mechanism.variance - 1) < 5.8 * math.sqrt(5.1 / DRAWS)
        assert abs(drawn.mean()) < 5.8 * math.sqrt(mechanism.variance / DRAWS)
