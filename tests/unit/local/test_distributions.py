"""Whole distributions and quantiles: exact odds, no bias, intervals that cover ranges and quantiles."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from privet import local
from privet.core.errors import BadParameter, BadValue
from privet.core.numbers import exp_up
from privet.local.hashing import parts_of

KINDS = [local.HierarchicalHistogram, local.SquareWave]


@pytest.mark.parametrize("epsilon", [0.5, 1, 3])
@pytest.mark.parametrize("bins", [2, 8, 30])
def test_the_exact_matrix_of_a_square_wave_costs_epsilon_and_no_more(bins: int, epsilon: float) -> None:
    oracle = local.SquareWave(0, 1, bins=bins, epsilon=epsilon)
    rows = oracle.matrix()
    assert all(sum(row) == 1 for row in rows)
    worst = max(max(column) / min(column) for column in zip(*rows, strict=True))
    assert worst <= exp_up(Fraction(epsilon))
    assert oracle.epsilon == pytest.approx(epsilon, rel=1e-9)
    least = sum(min(column) for column in zip(*rows, strict=True))
    assert sum(oracle.shuffled(50).blanket) == least
    gaps = [sum(abs(a - b) for a, b in zip(rows[0], row, strict=True)) for row in rows]
    assert max(gaps) == sum(abs(a - b) for a, b in zip(oracle.event.p, oracle.event.q, strict=True))


def test_draws_of_a_square_wave_follow_the_matrix() -> None:
    oracle, n = local.SquareWave(0, 8, bins=8, epsilon=1), 40_000
    reports = oracle.client.reports(np.full(n, 5.5))
    server = oracle.server()
    server.add(reports)
    for seen, odd in zip(server._tally.tolist(), oracle.matrix()[5], strict=True):
        odds = float(odd)
        assert abs(seen - n * odds) < 5.8 * math.sqrt(n * odds * (1 - odds)) + 12  # 1e-8 each


def test_each_person_reports_one_level_of_the_tree() -> None:
    oracle = local.HierarchicalHistogram(0, 64, bins=64, epsilon=1)
    assert [level.values for level in oracle.level_oracles] == [4, 16, 64]
    assert {level.epsilon for level in oracle.level_oracles} == {oracle.epsilon}
    assert oracle.event == oracle.level_oracles[0].event
    reports = oracle.client.reports(np.full(6000, 33.0))
    server = oracle.server()
    server.add(reports)
    counts = server._tally[:3].tolist()
    assert sum(counts) == 6000
    assert counts == np.bincount(parts_of(reports.ids, oracle.digest, 3)).tolist()
    assert min(counts) > 2000 - 6 * math.sqrt(6000 * 2 / 9)
    for number, count in enumerate(counts):
        level = oracle.level_oracles[number]
        own = level._supports(oracle._tally_of(server._tally, number))[33 * level.values // 64]
        p = float(level.p)
        assert abs(own - count * p) < 5.8 * math.sqrt(count * p * (1 - p)) + 12
    # bits beyond those of the level must be zero
    short = int(np.flatnonzero(parts_of(reports.ids, oracle.digest, 3) == 0)[0])
    data = reports.data[short : short + 1].copy()
    data[0, -1] = 1
    assert server.add(local.Reports(oracle.digest, reports.ids[short : short + 1] + np.uint64(0), data)) == 0
    assert server.rejected == {"impossible content": 1}


def test_consistent_shares_are_unbiased_and_vary_as_stated() -> None:
    oracle, n, runs = local.HierarchicalHistogram(0, 16, bins=16, epsilon=2), 2000, 300
    values = np.repeat([0.5, 3.5, 3.6, 15.5], n // 4)
    truth = np.bincount(values.astype(int), minlength=16) / n
    shares, stated = [], []
    for _ in range(runs):
        server = oracle.server()
        server.add(oracle.client.reports(values))
        found = server.estimate()
        assert found.shares.sum() == pytest.approx(1, abs=1e-5)
        shares.append(found.shares)
        stated.append(np.diag(found.covariance))
    found_, told = np.array(shares), np.array(stated).mean(axis=0)
    assert (np.abs(found_.mean(axis=0) - truth) < 6 * np.sqrt(told / runs)).all()
    # sampling of levels is of people without replacement, so the variance is a little less than stated
    ratio = found_.var(axis=0) / told
    assert ratio.max() < 1 + 6 * math.sqrt(2 / runs)
    assert ratio.mean() > 0.8 - 6 * math.sqrt(2 / runs / 16)
    weights = oracle._weights([n // 2, n // 2])
    assert np.diag(oracle._covariance(truth, [n // 2, n // 2], weights)) == pytest.approx(told, rel=0.1)
    ends = np.array([0.25, *[0.0] * 14, 0.75])
    exact = oracle._covariance(ends, [n // 2, n // 2], weights)[0, 0]
    assert oracle.variance(0.25, n) == pytest.approx(exact, rel=1e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_intervals_cover_ranges_and_quantiles(kind: Any) -> None:
    oracle, n, runs = kind(0, 64, bins=64, epsilon=2), 1000, 120
    values = np.sort(64 * np.linspace(0.001, 0.999, n) ** 2)
    shares = {(3, 20): np.mean((values >= 3) & (values < 20)), (0, 9): np.mean(values < 9)}
    covered, quantiles, edges = 0, 0, 0.0
    for _ in range(runs):
        server = oracle.server()
        server.add(oracle.client.reports(values))
        found = server.estimate()
        for (low, high), share in shares.items():
            value, least, most = found.range(low, high)
            assert least <= value <= most
            covered += least <= share <= most
        for q in (0.1, 0.5, 0.9):
            value, least, most = found.quantile(q)
            assert least <= value <= most
            quantiles += least <= np.quantile(values, q) <= most
        _, least, most = found.below()
        truth = np.array([np.mean(values < edge) for edge in found.edges])
        edges += float(((least <= truth) & (truth <= most)).mean())
    assert covered / runs / 2 >= 0.94 - 6 * math.sqrt(0.06 * 0.94 / runs)
    assert quantiles / runs / 3 >= 0.94 - 6 * math.sqrt(0.06 * 0.94 / runs)
    assert edges / runs >= 0.94 - 6 * math.sqrt(0.06 * 0.94 / runs)


def test_the_square_wave_is_near_a_smooth_truth() -> None:
    oracle, n = local.SquareWave(0, 1, bins=32, epsilon=4), 40_000
    values = np.linspace(0.0005, 0.9995, n) ** 2
    server = oracle.server()
    server.add(oracle.client.reports(values))
    found = server.estimate()
    assert found.shares.sum() == pytest.approx(1)
    assert (found.shares >= 0).all()
    below = found.below()[0]
    assert np.abs(below - np.array([np.mean(values < edge) for edge in found.edges])).max() < 0.06


@pytest.mark.parametrize("kind", KINDS)
def test_the_shape_is_that_of_every_oracle(kind: Any) -> None:
    oracle = kind(0, 100, bins=16, epsilon=4, survey="a")
    reports = oracle.client.reports([10.0, 20, 30] * 200)
    one, other = oracle.server(), oracle.server()
    one.add(reports[:300].to_bytes())
    other.add([reports[300:500].to_json(), *reports[500:]])
    one.merge(other)
    assert one.n == 600
    assert one.add(reports[:1]) == 0
    assert one.add(kind(0, 100, bins=16, epsilon=4, survey="b").client.report(3)) == 0
    assert one.add(kind(0, 101, bins=16, epsilon=4, survey="a").client.report(3)) == 0
    assert one.rejected == {"repeated": 1, "another survey": 2}
    found = one.estimate()
    assert len(found) == 16
    assert found.to_dict()["reports"] == 600
    assert "600 randomised reports; 3 more were rejected" in " ".join(repr(found).split())
    assert len(oracle.client.report(50)) == 1
    assert 0 < oracle.robustness(0.01) <= 1
    for bad in ("3", None, math.nan, True, [1, "x"]):
        with pytest.raises(BadValue):
            oracle.client.report(bad)
    for given in ({"bins": 1}, {"bins": 2000}, {"epsilon": 0}, {"low": 100}, {"survey": 3}):
        with pytest.raises(BadParameter):
            kind(**{"low": 0, "high": 100, "bins": 16, "epsilon": 1, **given})
    with pytest.raises(BadParameter):
        found.quantile(2)
    with pytest.raises(BadParameter):
        found.range(5, 5)


def test_liars_move_a_bin_as_far_as_is_said() -> None:
    oracle = local.HierarchicalHistogram(0, 4, bins=4, epsilon=1)
    (level,) = oracle.level_oracles
    n, target = 10_000, 1
    p, q = float(level.p), float(level.q)
    honest = np.array([n, *[round(n * q)] * 4])
    honest[1] = round(n * p)
    forged = honest - honest // 10
    forged[0] = n
    forged[1 + target] += n // 10
    moved = [oracle._estimate(tally, n, 0.95, "reports", {}).shares[target] for tally in (honest, forged)]
    assert moved[1] - moved[0] == pytest.approx(oracle.robustness(0.1), rel=0.01)


def test_trees_have_as_many_bins_as_their_branching_makes() -> None:
    with pytest.raises(BadParameter, match="power of branching"):
        local.HierarchicalHistogram(0, 1, bins=10, epsilon=1)
    assert len(local.HierarchicalHistogram(0, 1, bins=10, branching=10, epsilon=1).parts) == 1
