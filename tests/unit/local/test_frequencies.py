"""Estimates from reports: unbiased, with intervals that cover as often as they say, small surveys included."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

from privet import local
from privet.core.errors import BadParameter, RequestError
from privet.local.estimates import norm_sub, shares_of

RUNS = 4000
CASES = [
    (local.KaryResponse(2, epsilon=math.log(3)), 30),
    (local.KaryResponse(4, epsilon=4), 1000),
    (local.KaryResponse(100, epsilon=5), 2000),
    (local.OptimizedUnary(32, epsilon=1), 200),
    (local.OptimizedUnary(32, epsilon=4), 20_000),
    (local.SubsetSelection(32, epsilon=2), 500),
    (local.OptimizedHashing(64, epsilon=1), 1000),
]


@dataclass
class Found:
    """Shares, the ends of their intervals, and standard errors."""

    values: np.ndarray
    low: np.ndarray
    high: np.ndarray
    standard_errors: np.ndarray


def found_of(oracle: local.FrequencyOracle, counts: np.ndarray, n: int, level: float, whose: str) -> Found:
    return Found(*shares_of(oracle.p, oracle.q, counts, n, Fraction(level), whose))


def counts_of(oracle: local.FrequencyOracle, people: int, n: int) -> np.ndarray:
    """Return counts of support of a value that this many people have, each drawn from its exact law."""
    generator = np.random.default_rng()
    return generator.binomial(people, float(oracle.p), RUNS) + generator.binomial(n - people, float(oracle.q), RUNS)


@pytest.mark.parametrize(("oracle", "n"), CASES)
@pytest.mark.parametrize("share", [0, 0.01, 0.1, 0.5, 1])
def test_intervals_cover_those_who_reported(oracle: local.FrequencyOracle, n: int, share: float) -> None:
    people = round(n * share)
    found = found_of(oracle, counts_of(oracle, people, n), n, 0.95, "reports")
    truth = people / n
    covered = float(((found.low - 1e-12 <= truth) & (truth <= found.high + 1e-12)).mean())
    room = 5 * math.sqrt(0.06 * 0.94 / RUNS)
    assert covered >= 0.94 - room
    if people > 100 and share < 1:
        assert covered <= 0.97 + room
    error = found.values.std() / math.sqrt(oracle.variance(truth, n))
    assert abs(error - 1) < 5.5 / math.sqrt(2 * RUNS) + 0.02
    assert abs(found.values.mean() - truth) < 5.5 * math.sqrt(oracle.variance(truth, n) / RUNS)


@pytest.mark.parametrize(("oracle", "n"), CASES)
@pytest.mark.parametrize("share", [0, 0.1, 0.5])
def test_intervals_cover_a_population(oracle: local.FrequencyOracle, n: int, share: float) -> None:
    odds = float(oracle.q) + share * float(oracle.p - oracle.q)
    counts = np.random.default_rng().binomial(n, odds, RUNS)
    found = found_of(oracle, counts, n, 0.95, "population")
    covered = float(((found.low - 1e-12 <= share) & (share <= found.high + 1e-12)).mean())
    assert covered >= 0.95 - 5 * math.sqrt(0.05 * 0.95 / RUNS)


@pytest.mark.parametrize("n", [1, 2, 7, 12, 25])
@pytest.mark.parametrize("epsilon", [0.5, math.log(3), 4])
def test_exact_intervals_cover_every_number_of_people(n: int, epsilon: float) -> None:
    """The law of the count is summed over all counts, so that nothing here is left to chance."""
    oracle = local.KaryResponse(3, epsilon=epsilon)
    found = found_of(oracle, np.arange(n + 1), n, 0.9, "reports")
    for people in range(n + 1):
        own = binom.pmf(np.arange(people + 1), people, float(oracle.p))
        law = np.convolve(own, binom.pmf(np.arange(n - people + 1), n - people, float(oracle.q)))
        share = people / n
        covered = law @ ((found.low - 1e-12 <= share) & (share <= found.high + 1e-12))
        beyond = law @ (found.high < share - 1e-12), law @ (found.low > share + 1e-12)
        assert covered >= 0.9 - 1e-12
        assert max(beyond) <= 0.05 + 1e-12


def test_errors_are_those_of_the_estimated_share() -> None:
    oracle = local.OptimizedUnary(8, epsilon=4)
    counts = np.array([500, 300, 18])
    found = found_of(oracle, counts, 1000, 0.95, "reports")
    for value, error in zip(found.values, found.standard_errors, strict=True):
        assert error**2 == pytest.approx(oracle.variance(min(1, max(0, value)), 1000), rel=1e-9)


@pytest.mark.parametrize("kind", local.ORACLES)
def test_estimates_of_real_reports_are_near_the_truth(kind: Any) -> None:
    oracle = kind(["a", "b", "c"], epsilon=3)
    truth = {"a": 0.5, "b": 0.3, "c": 0.2}
    n = 20_000
    server = oracle.server()
    server.add(oracle.client.reports([label for label, share in truth.items() for _ in range(int(n * share))]))
    found = server.estimate()
    for label, share in truth.items():
        value, low, high = found[label]
        assert abs(value - share) < 5.8 * math.sqrt(oracle.variance(share, n))
        assert low <= value <= high
    with pytest.raises(RequestError):
        found["d"]


def test_projected_shares_keep_their_intervals() -> None:
    oracle = local.OptimizedUnary(200, epsilon=0.5)
    server = oracle.server()
    server.add(oracle.client.reports([0] * 500))
    raw = server.estimate()
    found = raw.projected()
    assert (raw.values < 0).any()
    assert (found.values >= 0).all()
    assert (found.low == raw.low).all()
    assert (found.high == raw.high).all()
    assert ((found.low <= found.values) & (found.values <= found.high)).all()
    assert "no longer unbiased" in repr(found)


def test_norm_sub_lands_on_the_simplex() -> None:
    for values in ([0.5, 0.7, -0.2], [2.0, -1, -1], [0.1, 0.1, 0.1], [-5.0, -6, -7]):
        shares = norm_sub(np.array(values))
        assert shares.sum() == pytest.approx(1)
        assert (shares >= 0).all()
        moved = shares - np.array(values)
        assert np.ptp(moved[shares > 0]) < 1e-12


def test_it_is_shown_as_a_table() -> None:
    survey = local.KaryResponse.two_coins()
    server = survey.server()
    server.add(survey.client.reports(["yes"] * 300 + ["no"] * 700))
    server.add(b"noise")
    found = server.estimate()
    lines = repr(found).splitlines()
    assert lines[0].split() == ["value", "share", "95%"]
    assert lines[1].startswith("no ")
    assert "1 more were rejected" in repr(found) or "1 more was rejected" in repr(found)
    table = found.to_pandas()
    assert table["value"].tolist() == ["no", "yes"]
    assert table["share"].tolist() == found.to_dict()["share"]
    assert found["yes"][0] == pytest.approx(1 - found["no"][0])
    for bad in (0, 1, 2, math.nan):
        with pytest.raises(BadParameter):
            server.estimate(bad)
    with pytest.raises(BadParameter):
        server.estimate(covers="sampling")  # type: ignore[arg-type]
