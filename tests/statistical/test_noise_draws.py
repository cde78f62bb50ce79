"""Draws against exact probabilities. Each test has a false-alarm rate of about 1e-8."""

from __future__ import annotations

import bisect
import math
import os
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from scipy import stats

from privet.noise import bernoulli, bernoulli_exp, discrete_gaussian, discrete_laplace, geometric, race, uniform_below
from privet.noise.draws import Geometric, LaplaceSampler

ALARM = 1e-8
DRAWS = 1_000_000


def check_cells(counts: np.ndarray, probabilities: np.ndarray) -> None:
    """Compare counts with exact probabilities by chi-squared, pooling the cells that expect few."""
    total = counts.sum()
    expected = np.asarray(probabilities, dtype=float) * total
    assert math.isclose(expected.sum(), total, rel_tol=1e-9)
    few = expected < 50
    pooled_counts = np.append(counts[~few], counts[few].sum())
    pooled = np.append(expected[~few], expected[few].sum())
    if pooled[-1] < 50:
        # What is left is too rare for chi-squared: a count with this mean, on its own.
        assert stats.poisson.sf(pooled_counts[-1] - 1, max(pooled[-1], 1e-12)) > ALARM or pooled_counts[-1] == 0
        pooled_counts, pooled = pooled_counts[:-1], pooled[:-1]
    if pooled.size > 1:
        statistic = ((pooled_counts - pooled) ** 2 / pooled).sum()
        assert stats.chi2.sf(statistic, pooled.size - 1) > ALARM


def check_edges(draws: np.ndarray, edges: list[int], below: list[float]) -> None:
    """Compare how many draws lie in [edge, next edge) with P[X < edge] at each edge."""
    cells = np.searchsorted(np.array(edges), draws, side="right")
    counts = np.bincount(cells, minlength=len(edges) + 1)
    check_cells(counts, np.diff([0.0, *below, 1.0]))


def laplace_below(k: int, scale: Fraction) -> float:
    """Return P[X < k] for the discrete Laplace distribution."""
    with mpmath.workdps(50):
        step = mpmath.exp(-mpmath.mpf(scale.denominator) / scale.numerator)

        def tail(n: int) -> mpmath.mpf:  # P[X >= n] for n >= 1
            return mpmath.exp(-mpmath.mpf(n) * scale.denominator / scale.numerator) / (1 + step)

        return float(1 - tail(k) if k >= 1 else tail(1 - k))


SCALES = [Fraction(1, 10), Fraction(1), Fraction(3, 2), Fraction(10), Fraction(1000), Fraction(10**6), Fraction(10**12)]


def edges_for(scale: float) -> list[int]:
    spread = [math.floor(scale * reach) for reach in np.linspace(-9, 9, 73)]
    return sorted({*spread, *(range(-12, 13) if scale < 100 else ())})


@pytest.mark.parametrize("scale", SCALES)
def test_discrete_laplace_draws_have_the_exact_distribution(scale):
    edges = edges_for(float(scale))
    check_edges(discrete_laplace(scale, DRAWS), edges, [laplace_below(k, scale) for k in edges])


@pytest.mark.parametrize("scale", SCALES)
def test_geometric_draws_have_the_exact_distribution(scale):
    edges = [k for k in edges_for(float(scale)) if k > 0]
    with mpmath.workdps(50):
        below = [float(-mpmath.expm1(-mpmath.mpf(k) * scale.denominator / scale.numerator)) for k in edges]
    check_edges(geometric(scale, DRAWS), edges, below)


@pytest.mark.parametrize("scale", [Fraction(10), Fraction(1000), Fraction(10**6), Fraction(10**12), Fraction(2**52)])
@pytest.mark.parametrize("modulus", [2, 3, 16, 1000])
def test_the_low_digits_of_a_geometric_draw_have_the_exact_distribution(scale, modulus):
    weights = np.array([math.exp(-Fraction(r) / scale) for r in range(modulus)])
    counts = np.bincount((geometric(scale, 300_000) % modulus).astype(np.int64), minlength=modulus)
    check_cells(counts, weights / weights.sum())


@pytest.mark.parametrize("scale", [Fraction(3, 2), Fraction(1000), Fraction(10**12), Fraction(10**25)])
def test_single_laplace_draws_have_the_exact_distribution(scale):
    edges = edges_for(float(scale))
    cells = np.zeros(len(edges) + 1)
    for _ in range(20_000):
        cells[bisect.bisect_right(edges, discrete_laplace(scale))] += 1
    check_cells(cells, np.diff([0.0, *(laplace_below(k, scale) for k in edges), 1.0]))


def test_the_laplace_samplers_own_single_draws_have_the_exact_distribution():
    scale = Fraction(3, 2)
    edges, sampler = edges_for(float(scale)), LaplaceSampler(Geometric(scale))
    draws = np.array([sampler.draw() for _ in range(20_000)])
    check_edges(draws, edges, [laplace_below(k, scale) for k in edges])


def gaussian_below(edges: list[int], sigma_squared: Fraction) -> list[float]:
    """Return P[X < edge] from the exact weights, or where they are too many from the integral they approach.

    By Poisson summation the two differ by less than 1e-12 once sigma exceeds 1000 grid steps and the edges lie
    half a step lower.
    """
    sigma = math.sqrt(sigma_squared)
    if sigma > 2000:
        return [float(stats.norm.cdf((edge - 0.5) / sigma)) for edge in edges]
    most = math.ceil(12 * sigma) + 12
    support = np.arange(-most, most + 1)
    weights = np.exp(-(support.astype(float) ** 2) / (2 * float(sigma_squared)))
    weights /= math.fsum(weights)
    return [math.fsum(weights[support < edge]) for edge in edges]


SIGMAS_SQUARED = [
    Fraction(1, 100),
    Fraction(1, 4),
    Fraction(1, 2),
    Fraction(1),
    Fraction(9, 4),
    Fraction(100),
    Fraction(10**6),
    Fraction(10**12),
    Fraction(2**80),
    Fraction(10**24) + Fraction(1, 3),
]


@pytest.mark.parametrize("sigma_squared", SIGMAS_SQUARED)
def test_discrete_gaussian_draws_have_the_exact_distribution(sigma_squared):
    sigma = math.sqrt(sigma_squared)
    spread = [math.floor(sigma * reach) for reach in np.linspace(-5, 5, 61)]
    edges = sorted({*spread, *(range(-8, 9) if sigma < 100 else ())})
    check_edges(discrete_gaussian(sigma_squared, DRAWS), edges, gaussian_below(edges, sigma_squared))


@pytest.mark.parametrize("sigma_squared", [Fraction(1, 4), Fraction(9, 4), Fraction(10**24), Fraction(10**60)])
def test_single_gaussian_draws_have_the_exact_distribution(sigma_squared):
    sigma = math.sqrt(sigma_squared)
    edges = sorted({math.floor(sigma * reach) for reach in np.linspace(-3, 3, 25)})
    cells = np.zeros(len(edges) + 1)
    for _ in range(20_000):
        cells[bisect.bisect_right(edges, discrete_gaussian(sigma_squared))] += 1
    check_cells(cells, np.diff([0.0, *gaussian_below(edges, sigma_squared), 1.0]))


@pytest.mark.parametrize(
    ("epsilon", "variance", "zero", "ten_or_more"),
    [
        (Fraction(1, 10), 199.8334166, 0.04995837496, 0.3862581002),
        (Fraction(1, 2), 7.835396178, 0.2449186624, 0.008388195965),
        (Fraction(1), 1.841347188, 0.4621171573, 6.638001624e-05),
        (Fraction(2), 0.3620308305, 0.761594156, 3.630916176e-09),
    ],
)
def test_discrete_laplace_moments_match_the_reference(epsilon, variance, zero, ten_or_more):
    draws = discrete_laplace(1 / epsilon, DRAWS)
    check_moments(draws, variance)
    check_rate(np.count_nonzero(draws == 0), zero)
    check_rate(np.count_nonzero(np.abs(draws) >= 10), ten_or_more)


@pytest.mark.parametrize(
    ("sigma_squared", "variance", "zero"),
    [
        (Fraction(1, 4), 0.215012675088, 0.786570707042),
        (Fraction(1, 2), 0.498979130833, 0.564131226219),
        (Fraction(1), 0.999999788768, 0.398942278267),
        (Fraction(4), 4.0, 0.199471140201),
        (Fraction(100), 100.0, 0.0398942280401),
    ],
)
def test_discrete_gaussian_moments_match_the_reference(sigma_squared, variance, zero):
    draws = discrete_gaussian(sigma_squared, DRAWS)
    check_moments(draws, variance)
    check_rate(np.count_nonzero(draws == 0), zero)


def check_moments(draws: np.ndarray, variance: float) -> None:
    """Compare mean and variance with the exact ones, six standard errors wide."""
    assert abs(draws.mean()) < 6 * math.sqrt(variance / draws.size)
    squares = draws.astype(float) ** 2
    assert abs(squares.mean() - variance) < 6 * squares.std() / math.sqrt(draws.size)


def check_rate(count: int, probability: float, trials: int = DRAWS) -> None:
    test = stats.binomtest(int(count), trials, probability)
    assert test.pvalue > ALARM


def test_the_tails_are_right_down_to_one_in_a_million():
    trials = 16_000_000
    laplace, gaussian = np.zeros(4), np.zeros(4)
    scale, sigma = 1000, 1000
    laplace_reach = [math.ceil(scale * math.log(10) * power) for power in (3, 4, 5, 6)]
    gaussian_reach = [math.ceil(sigma * float(stats.norm.isf(0.5 * 10.0**-power))) for power in (3, 4, 5, 6)]
    for _ in range(8):
        sizes = np.abs(discrete_laplace(scale, trials // 8))
        laplace += [np.count_nonzero(sizes >= reach) for reach in laplace_reach]
        sizes = np.abs(discrete_gaussian(sigma**2, trials // 8))
        gaussian += [np.count_nonzero(sizes >= reach) for reach in gaussian_reach]
    for count, reach in zip(laplace, laplace_reach, strict=True):
        check_rate(int(count), 2 * math.exp(-reach / scale) / (1 + math.exp(-1 / scale)), trials)
    for count, reach in zip(gaussian, gaussian_reach, strict=True):
        check_rate(int(count), 2 * float(stats.norm.sf((reach - 0.5) / sigma)), trials)


@pytest.mark.parametrize("scale", [Fraction(1), Fraction(50)])
def test_the_far_tail_is_a_shifted_copy_of_the_whole(scale):
    """With its first 40 bits zero, U is 2**-40 times a uniform number, and E is 40 ln 2 plus an exponential."""

    class Far:
        def words(self, count: int) -> np.ndarray:
            return np.frombuffer(os.urandom(8 * count), dtype=np.uint64) >> np.uint64(41)

        def word(self) -> int:
            return int.from_bytes(os.urandom(8), "little")

    draws = Geometric(scale).fill(8000, Far())
    first = math.floor(scale * Fraction(40 * math.log(2)))
    edges = list(range(first + 1, first + 8 * math.ceil(scale), max(1, math.ceil(scale) // 5)))
    below = [1 - math.exp(40 * math.log(2) - edge / float(scale)) for edge in edges]
    assert draws.min() >= first
    check_edges(draws, edges, below)


@pytest.mark.parametrize("x", [Fraction(1, 10**5), Fraction(1, 3), Fraction(1), Fraction(5), Fraction(12)])
def test_exponential_coins_have_the_exact_probability(x):
    check_rate(np.count_nonzero(bernoulli_exp(x, DRAWS)), math.exp(-x))
    check_rate(sum(bernoulli_exp(x) for _ in range(20_000)), math.exp(-x), 20_000)


@pytest.mark.parametrize("p", [Fraction(1, 10**5), Fraction(1, 3), 0.5, 0.1, Fraction(999, 1000)])
def test_coins_have_the_exact_probability(p):
    check_rate(np.count_nonzero(bernoulli(p, DRAWS)), float(p))
    check_rate(sum(bernoulli(p) for _ in range(20_000)), float(p), 20_000)


@pytest.mark.parametrize("n", [2, 3, 7, 256, 1000])
def test_uniform_draws_are_uniform(n):
    check_cells(np.bincount(uniform_below(n, DRAWS), minlength=n), np.full(n, 1 / n))
    check_cells(np.bincount([uniform_below(n) for _ in range(60_000)], minlength=n), np.full(n, 1 / n))


@pytest.mark.parametrize("n", [2**62 + 1, 2**63, 3 * 2**62, 10**30])
def test_large_uniform_draws_are_uniform(n):
    draws = uniform_below(n, 50_000)
    check_cells(np.bincount([int(draw) * 8 // n for draw in draws], minlength=8), np.full(8, 1 / 8))


RACES = [
    ([3.0, 2.0, 3.0, 0.0], Fraction(1, 8)),
    ([0, 1, 2, 3, 4], Fraction(-1, 2)),
    ([1e300, 1e300, -1e300], Fraction(1)),
    ([1.7e308, -1.7e308, 0.0], Fraction(1, 10**308)),
    ([5e-324, 0.0, 1e-323], Fraction(2) ** 1074),
    ([2**63 - 1, -(2**63), 0], Fraction(1, 2**63)),
    ([10**400, 10**400 + 1, 10**400 + 3], Fraction(1, 2)),
    ([Fraction(1, 3), Fraction(1, 2), 2], Fraction(1)),
    (list(range(40)), Fraction(1, 7)),
    ([1.5, 2.5], 0),
]


@pytest.mark.parametrize(("scores", "rate"), RACES)
def test_a_race_is_won_with_the_exact_probabilities(scores, rate):
    best = max(Fraction(rate) * Fraction(score) for score in scores)
    weights = np.array([math.exp(max(-800, Fraction(rate) * Fraction(score) - best)) for score in scores])
    winners = race(scores, rate, size=200_000)
    check_cells(np.bincount(winners, minlength=len(scores)), weights / weights.sum())


def test_a_race_of_many_equals_is_fair():
    winners = np.array([race(np.zeros(20_000), 1) for _ in range(500)])
    check_cells(np.bincount(winners * 8 // 20_000, minlength=8), np.full(8, 1 / 8))
