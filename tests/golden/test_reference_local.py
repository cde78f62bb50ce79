"""Variances of frequency oracles, of means and of two coins, as tables T28 to T31 of the reference list them."""

from __future__ import annotations

import math
import os
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

from privet import local

EPSILONS = (0.5, 1, 2, 4)
TABLE = {
    (local.KaryResponse, 4): (8.67011, 1.59807, 0.230011, 0.0197017),
    (local.KaryResponse, 64): (151.242, 21.9199, 1.69988, 0.0405875),
    (local.KaryResponse, 1024): (2432.4, 347.069, 25.2177, 0.374761),
    (local.SymmetricUnary, 64): (15.9169, 3.9177, 0.920674, 0.181015),
    (local.OptimizedUnary, 64): (15.6708, 3.68269, 0.724062, 0.0760218),
    (local.BinaryHashing, 1024): (16.6708, 4.68269, 1.72406, 1.07602),
    (local.HadamardResponse, 1024): (16.6708, 4.68269, 1.72406, 1.07602),
}


@pytest.mark.parametrize(("kind", "values"), TABLE)
def test_variances_of_a_rare_value(kind: type[local.FrequencyOracle], values: int) -> None:
    for epsilon, listed in zip(EPSILONS, TABLE[kind, values], strict=True):
        assert kind(values, epsilon=epsilon).variance(0, 1) == pytest.approx(listed, rel=5e-6)


@pytest.mark.parametrize("values", [4, 64, 1024])
def test_hashing_is_as_good_as_the_best_number_of_buckets(values: int) -> None:
    for epsilon, listed in zip(EPSILONS, (15.8174, 3.69165, 0.724591, 0.0760229), strict=True):
        found = local.OptimizedHashing(values, epsilon=epsilon).variance(0, 1)
        assert found == pytest.approx(listed, rel=6e-4)  # 53 buckets, a prime, in the place of 56


@pytest.mark.parametrize(
    ("values", "listed"),
    [
        (4, (8.67011, 1.59807, 0.230011, 0.0197017)),
        (64, (15.1537, 3.53719, 0.672189, 0.0405875)),
        (1024, (15.6383, 3.67355, 0.720695, 0.0739077)),
    ],
)
def test_subsets_are_as_good_as_listed_or_better(values: int, listed: tuple[float, ...]) -> None:
    for epsilon, most in zip(EPSILONS, listed, strict=True):
        assert local.SubsetSelection(values, epsilon=epsilon).variance(0, 1) <= most * 1.0003  # modulo 1,031, not 1,024


@pytest.mark.parametrize(
    ("n", "share", "error"), [(30, 0.2, 0.174165), (100, 0.2, 0.0953939), (1000, 0.2, 0.0301662), (10_000, 0.5, 0.01)]
)
def test_two_coins_of_a_classroom(n: int, share: float, error: float) -> None:
    survey = local.KaryResponse.two_coins()
    server = survey.server()
    hits = round(n * (0.25 + share / 2))
    server._tally[:] = [n - hits, hits]
    server._seen.update(number.to_bytes(16, "big") for number in range(n))
    found = server.estimate(covers="population")
    assert found.standard_errors[1] == pytest.approx(error, rel=0.02)
    assert math.isclose(found.values[1], share, abs_tol=1 / n * 2)


@pytest.mark.parametrize(("n", "below"), [(30, 0.123768), (100, 0.012127), (1000, 3.84879e-12)])
def test_two_coins_may_estimate_less_than_nothing(n: int, below: float) -> None:
    survey = local.KaryResponse.two_coins()
    odds = survey.q + (survey.p - survey.q) / 5
    assert odds == Fraction(35, 100)
    assert binom.cdf(math.ceil(n * survey.q) - 1, n, float(odds)) == pytest.approx(below, rel=1e-4)


ZIPF = {
    # kind: the theoretical variance of a count at epsilon 1, 20,000 people, 32 values, that is listed
    local.KaryResponse: 232544,
    local.SymmetricUnary: 78354,
    local.OptimizedHashing: 74594.7,
    local.BinaryHashing: 93028.9,
    local.SubsetSelection: 68582.8,
}


@pytest.mark.parametrize("kind", ZIPF)
def test_simulated_errors_are_those_of_theory(kind: Any) -> None:
    """The mean over all values of squared errors of counts; runs have 32 of them, nearly independent."""
    oracle, n, runs = kind(32, epsilon=1), 20_000, 120 if "PRIVET_SOAK" in os.environ else 16
    shares = 1 / np.arange(1, 33)
    counts = np.floor(n * shares / shares.sum()).astype(int)
    counts[0] += n - counts.sum()
    theory = float(np.mean([n**2 * oracle.variance(Fraction(int(count), n), n) for count in counts]))
    assert theory == pytest.approx(ZIPF[kind], rel=0.002)  # people are whole
    answers, squares = np.repeat(np.arange(32), counts), []
    for _ in range(runs):
        server = oracle.server()
        server.add(oracle.client.reports(answers))
        squares.append(np.mean((n * server.estimate().values - counts) ** 2))
    assert float(np.mean(squares)) / theory == pytest.approx(1, abs=8 * math.sqrt(2 / (32 * runs)))


MEANS = {
    # epsilon: Laplace, Duchi's at 0, piecewise at 1, hybrid, piecewise at 0
    0.1: (800, 400.667, 533.222, 400.667, 513.718),
    0.5: (32, 16.6708, 21.2226, 16.6708, 17.7018),
    1: (8, 4.68269, 5.2236, 4.28899, 3.6821),
    1.29: (4.8074, 3.09637, 3.0961, 2.57158, 1.99233),
    4: (0.5, 1.07602, 0.241354, 0.218979, 0.0848362),
    8: (0.125, 1.00134, 0.0253406, 0.0249011, 0.00668325),
}


@pytest.mark.parametrize("epsilon", MEANS)
def test_means_vary_no_more_than_the_continuous_mechanisms(epsilon: float) -> None:
    laplace, duchi, piecewise, hybrid, middle = MEANS[epsilon]
    tables = (
        (local.LaplaceMean, (0, 1, 0.1, 1 / 3), laplace),
        (local.DuchiMean, (0,), duchi),
        (local.PiecewiseMean, (1, -1), piecewise),
        (local.HybridMean, (0, 1, 0.1, 1 / 3), hybrid),
        (local.PiecewiseMean, (0,), middle),
    )
    for kind, values, listed in tables:
        worst = max(kind(-1, 1, epsilon=epsilon).variance(value, 1) for value in values)
        assert 0.96 * listed <= worst <= 1.001 * listed
