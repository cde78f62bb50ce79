"""The rank test of noisy histograms: the usual one without noise, its level with noise, its interval, refusals."""

from __future__ import annotations

import json
import math
import os
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from scipy import stats

import privet
from privet import Gaussian, Laplace, RequestError
from privet.cli import main
from privet.inference import rank_test
from privet.inference.histogram_tests import finding_of_ranks, standard_ranks
from privet.inference.noisy_tables import CellNoise, read_noise
from privet.inference.table_tests import NoisyTable
from privet.study import SameRanks

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from worlds import write_visits

pa = pytest.importorskip("pyarrow")

SOAK = bool(os.environ.get("PRIVET_SOAK"))
RUNS = 40_000 if SOAK else 8000
SIGMA = Gaussian(sensitivity=1, sigma=5)


def gaussian(variance: int, cells: int) -> CellNoise:
    return read_noise(Gaussian(sensitivity=1, rho=Fraction(1, 2 * variance)), cells)


def laplace(variance: int, cells: int) -> CellNoise:
    return read_noise(Laplace(sensitivity=1, epsilon=Fraction(math.sqrt(2 / variance)).limit_denominator(10**6)), cells)


def tables(shares: Any, size: int, noise: CellNoise, runs: int) -> np.ndarray:
    draw, p = np.random.default_rng(), np.array(shares)
    drawn = draw.multinomial(size, p.ravel() / p.sum(), size=runs).reshape(runs, *p.shape)
    return np.asarray(drawn + noise.at(draw.random(drawn.shape)))


def test_without_noise_to_speak_of_it_is_the_usual_test() -> None:
    draw = np.random.default_rng(3)
    first, second = draw.integers(0, 8, 300), draw.integers(0, 9, 400)
    counts = [np.bincount(values, minlength=9) for values in (first, second)]
    usual = stats.mannwhitneyu(first, second, use_continuity=False, method="asymptotic")
    found = rank_test(counts, noise=Gaussian(sensitivity=1, sigma=0.01))
    assert found.estimate.value == pytest.approx(usual.statistic / (300 * 400), abs=1e-6)
    assert found.p_value == pytest.approx(usual.pvalue, rel=0.02)  # n + 1 and n, beside the noise


def test_groups_that_change_places_turn_the_statistic_around() -> None:
    one, other = (
        rank_test(counts, noise=SIGMA) for counts in ([[90, 60, 30], [30, 60, 90]], [[30, 60, 90], [90, 60, 30]])
    )
    assert one.p_value == other.p_value
    assert one.statistic == pytest.approx(-(other.statistic or 0))
    assert one.estimate.high < 0.5 < other.estimate.low


EVEN, FALLING = np.full(10, 0.1), np.exp(-0.6 * np.arange(10)) / np.exp(-0.6 * np.arange(10)).sum()


@pytest.mark.parametrize("law", [gaussian, laplace])
@pytest.mark.parametrize(("size", "variance", "share"), [(2000, 200, 0.5), (2000, 2000, 0.2), (200, 4, 0.5)])
@pytest.mark.parametrize("shares", [EVEN, FALLING])
def test_groups_of_one_law_are_rejected_in_at_most_5_of_100_cases(
    law: Any, size: int, variance: int, share: float, shares: Any
) -> None:
    noise = law(variance, 20)
    statistic = standard_ranks(tables([share * shares, (1 - share) * shares], size, noise, RUNS), noise.variance)
    rate = float((np.abs(statistic) >= 1.959964).mean())
    # five standard errors: once in 3.5 million; the normal law is near the true one, and conservative for much noise
    slack = 5 * math.sqrt(0.05 * 0.95 / RUNS)
    assert 0.03 - slack < rate < 0.05 + slack + 0.008


def test_noise_that_dwarfs_the_counts_makes_the_test_conservative() -> None:
    noise = gaussian(5000, 20)
    statistic = standard_ranks(tables([0.5 * EVEN, 0.5 * EVEN], 200, noise, RUNS), noise.variance)
    assert float((np.abs(statistic) >= 1.959964).mean()) < 0.05 + 5 * math.sqrt(0.05 * 0.95 / RUNS)


def test_rows_of_one_person_are_allowed_for() -> None:
    # 400 people with 5 equal rows each
    noise = gaussian(50, 20)
    drawn = tables([0.5 * EVEN, 0.5 * EVEN], 400, gaussian(1, 20), RUNS)
    counts = 5 * np.rint(drawn) + noise.at(np.random.default_rng().random(drawn.shape))
    rates = [float((np.abs(standard_ranks(counts, noise.variance, each)) >= 1.959964).mean()) for each in (1, 6)]
    assert rates[0] > 0.2
    assert rates[1] < 0.05 + 5 * math.sqrt(0.05 * 0.95 / RUNS)


@pytest.mark.parametrize("law", [gaussian, laplace])
@pytest.mark.parametrize("tilt", [0.0, 0.05, 0.3])
def test_the_interval_covers_the_probability(law: Any, tilt: float) -> None:
    noise, runs = law(300, 20), RUNS // 10
    other = EVEN * np.exp(tilt * np.arange(10))
    other = other / other.sum()
    truth = float((EVEN * (np.cumsum(other) - other / 2)).sum())
    covered = 0
    for counts in tables([0.4 * EVEN, 0.6 * other], 1500, noise, runs):
        one = finding_of_ranks(NoisyTable(counts, noise), confidence=0.95).estimate
        covered += one.low <= truth <= one.high
    assert covered / runs > 0.95 - 5 * math.sqrt(0.95 * 0.05 / runs) - 0.005


@pytest.mark.parametrize(
    "counts", [[[0, 0], [0, 0]], [[-5, 3], [-80, 2]], [[1e9, 0], [0, 1e9]], [[1, 0, 0], [1, 0, 0]]]
)
def test_any_released_counts_are_judged(counts: Any) -> None:
    found = rank_test(counts, noise=SIGMA)
    assert 0 <= (found.p_value if found.p_value is not None else -1) <= 1
    assert 0 <= found.estimate.low <= found.estimate.value <= found.estimate.high <= 1


@pytest.mark.parametrize(
    ("counts", "words"),
    [
        ([[1, 2]], "two groups"),
        ([[1], [2]], "at least two bins"),
        ([[1, 2], [3, 4], [5, 6]], "two groups"),
        ([[1] * 300] * 2, "make them wider"),
        ("counts", "finite numbers"),
    ],
)
def test_what_is_no_pair_of_histograms_is_refused(counts: Any, words: str) -> None:
    with pytest.raises(RequestError, match=words):
        rank_test(counts, noise=SIGMA)


def session() -> privet.Session:
    """Return a session over people in three wards; those of ward c are older."""
    draw = np.random.default_rng(4)
    ward = np.array(["a", "b", "c"])[np.arange(6000) % 3]
    age = np.clip(draw.normal(50, 15, 6000) + 10 * (ward == "c"), 0, 99).astype(int)
    columns = {
        "who": privet.integer(),
        "ward": privet.category(["a", "b", "c"]),
        "age": privet.integer(0, 99),
        "free": privet.integer(),
    }
    table = privet.Table(
        pa.table({"who": np.arange(6000) // 2, "ward": ward, "age": age, "free": age}),
        unit=privet.Person("who"),
        columns=columns,
        contribution=privet.Contribution(groups=2, rows=2),
    )
    return privet.Session({"visits": table}, budget=privet.Pure(epsilon=1000))


def test_a_session_compares_two_groups() -> None:
    with session() as place:
        older = SameRanks("age", by="ward", groups=("c", "a"), width=5)
        found, again = (place.test("visits", older, epsilon=10) for _ in range(2))
        same = place.test("visits", SameRanks("age", by="ward", groups=("a", "b"), width=5), epsilon=10)
        assert len(place.history()) == 1  # one table of counts answers both
    assert found == again
    assert (found.p_value or 0) < 1e-6
    assert list(found.estimates) == ["age in c larger"]
    assert found.estimate.low > 0.55
    assert same.estimate.low < 0.55
    assert "Each person counts once" in found.notes[0]


@pytest.mark.parametrize("width", [0.25, Fraction(1, 4), 0.1, Fraction(1, 3)])
def test_bins_of_decimals_are_numbered(width: Any) -> None:
    draw = np.random.default_rng(4)
    ward = np.array(["a", "b"])[np.arange(4000) % 2]
    share = np.clip(draw.normal(0.4, 0.2, 4000) + 0.1 * (ward == "b"), 0, 1)
    table = privet.Table(
        pa.table({"ward": ward, "share": share}),
        unit=privet.Rows(),
        columns={"ward": privet.category(["a", "b"]), "share": privet.number(0, 1)},
    )
    with privet.Session({"visits": table}, budget=privet.Pure(epsilon=1000)) as place:
        found = place.test("visits", SameRanks("share", by="ward", groups=("b", "a"), width=width), epsilon=10)
        assert place.plan_test("visits", SameRanks("share", by="ward", width=width)).digest
        with pytest.raises(RequestError, match="larger width"):
            place.test("visits", SameRanks("share", by="ward", width=1e-9), epsilon=10)
        assert len(place.history()) == 1
    assert found.estimate.low > 0.55
    assert (found.p_value or 0) < 1e-6


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: SameRanks("age", by="ward", width=5), "two of the groups: a, b, c"),
        (lambda: SameRanks("age", by="ward", groups=("a", "x"), width=5), "two of the groups: a, b, c"),
        (lambda: SameRanks("age", by="ward", groups=("a", "a"), width=5), "two different groups"),
        (lambda: SameRanks("age", by="age", width=5), "another column"),
        (lambda: SameRanks("age", by="ward", groups=("a", "b"), width=0), "width"),
        (lambda: SameRanks("free", by="ward", groups=("a", "b"), width=5), "free|bounds|declared"),
    ],
)
def test_what_cannot_be_compared_is_refused_before_the_charge(make: Any, words: str) -> None:
    with session() as place:
        with pytest.raises(RequestError, match=words):
            place.test("visits", make(), epsilon=1)
        assert place.history() == ()


def test_the_shell_compares_two_groups(tmp_path: Path) -> None:
    write_visits(tmp_path)
    words = ["test", "ranks", "visits", "age", "--by=ward", "--width=10", "--epsilon=0.2"]
    words += ["--analyst=ana", f"--config={tmp_path / 'privet.toml'}"]
    found = json.loads(CliRunner().invoke(main, [*words, "--json"]).output)
    assert 0 <= found["p_value"] <= 1
    named = json.loads(CliRunner().invoke(main, [*words, "--groups=lung,heart", "--json"]).output)
    assert (found["charged"], named["charged"]) == (True, False)
    assert named["statistic"] == pytest.approx(-found["statistic"])
    old = json.loads(CliRunner().invoke(main, [*words, "--where=age >= 18 AND age < 80", "--json"]).output)
    assert old["charged"] is True
    for condition in ("age >= ", "nothing > 3", "age > 3) OR (1 = 1", "COUNT(*) > 3"):
        refused = CliRunner().invoke(main, [*words, f"--where={condition}"])
        assert refused.exit_code == 2
    wrong = CliRunner().invoke(main, [*words, "--groups=lung"])
    assert wrong.exit_code != 0
    assert "two" in wrong.output
