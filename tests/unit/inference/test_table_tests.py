"""Statistics of noisy tables agree with dense matrices; p-values are fixed; what cannot be judged is refused."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from scipy import stats

from privet import Gaussian, Laplace, RequestError
from privet.inference import fit_of_noisy_total, fit_test, goodness_of_fit, independence_test
from privet.inference.noisy_tables import TableModel, clipped_shares, pearson, projected, read_noise
from privet.inference.table_tests import METHODS, NoisyTable, finding_of_table

SIGMA = Gaussian(sensitivity=1, sigma=20)
LAPLACE = Laplace(sensitivity=1, epsilon=0.1)
TABLE = [[520, 480, 70], [390, 510, 95]]


def dense(table: np.ndarray, variance: float, size: int | None, each: int) -> float:
    """Return the projected statistic of independence, by the whole covariance matrix and pseudo-inverses."""
    rows, columns = table.shape
    n = max(float(table.sum()), 1.0) if size is None else float(size)
    down, across = clipped_shares(table.sum(1)), clipped_shares(table.sum(0))
    p = np.outer(down, across).ravel()
    covariance = each * n * (np.diag(p) - np.outer(p, p)) + variance * np.eye(p.size)
    moves = [np.outer(np.eye(rows)[k], across).ravel() for k in range(rows)]
    moves += [np.outer(down, np.eye(columns)[k]).ravel() for k in range(columns)]
    if size is None:
        space = np.array(moves).T  # p is among their sums
    else:
        space = np.array([a - b for part in (moves[:rows], moves[rows:]) for a, b in pairwise(part)])
        space = np.vstack([space, np.ones(p.size)]).T
    left = np.linalg.svd(space.T)[2][np.linalg.matrix_rank(space) :]  # what no move changes
    rest = left @ (table.ravel() - n * p)
    return float(rest @ np.linalg.solve(left @ covariance @ left.T, rest))


@pytest.mark.parametrize("size", [None, 2000])
@pytest.mark.parametrize("each", [1, 3])
def test_the_statistic_of_independence_is_that_of_the_whole_covariance(size: int | None, each: int) -> None:
    draw = np.random.default_rng(1)
    for shape in ((2, 2), (2, 5), (4, 3)):
        tables = draw.multinomial(2000, [1 / math.prod(shape)] * math.prod(shape), size=20).reshape(20, *shape)
        noisy = tables + draw.normal(0, 20, tables.shape)
        found = projected(noisy, TableModel(400.0, size, each))
        by_hand = [dense(table, 400.0, size, each) for table in noisy]
        assert found == pytest.approx(by_hand, rel=1e-6)


def test_the_statistics_of_fit_are_those_of_dense_matrices() -> None:
    draw, shares = np.random.default_rng(2), np.array([0.05, 0.15, 0.3, 0.5])
    for counts in draw.multinomial(2000, shares, size=20) + draw.normal(0, 30, (20, 4)):
        noisy = projected(counts[None, None, :], TableModel(900.0, None, 1, shares))[0]
        public = projected(counts[None, None, :], TableModel(900.0, 2000, 1, shares))[0]
        assert noisy == pytest.approx(fit_of_noisy_total(counts, shares, variance=900).statistic)
        assert public == pytest.approx(goodness_of_fit(counts, shares, size=2000, variance=900).statistic)


def test_without_noise_to_speak_of_they_are_the_usual_tests() -> None:
    table = np.array(TABLE, dtype=float)
    usual = stats.chi2_contingency(table, correction=False)
    for size in (None, int(table.sum())):
        model = TableModel(1e-9, size)
        assert pearson(table[None], model)[0] == pytest.approx(usual.statistic)
        # minimum chi-square with weights from the margins: the same to first order
        assert projected(table[None], model)[0] == pytest.approx(usual.statistic, rel=1e-6)
    tiny = Gaussian(sensitivity=1, sigma=0.01)
    assert independence_test(TABLE, noise=tiny).p_value == pytest.approx(usual.pvalue, rel=1e-3)


@pytest.mark.parametrize("noise", [SIGMA, LAPLACE])
@pytest.mark.parametrize("method", METHODS)
def test_asking_again_finds_the_same_p_value(noise: Any, method: Any) -> None:
    first, again = (independence_test(TABLE, noise=noise, method=method) for _ in range(2))
    assert first == again
    assert (first.p_value is None) == (method == "naive")
    assert first.degrees == 2


def test_the_digest_of_an_answer_fixes_the_simulated_points() -> None:
    noise = read_noise(LAPLACE, 6)
    p_values = {
        finding_of_table(
            NoisyTable(np.array(TABLE), noise, digest=digest), None, method="projected-simulated", confidence=0.95
        ).p_value
        for digest in ("a", "a", "b", "c", "d")
    }
    assert len(p_values) > 1  # other answers, other points


def test_a_simulated_p_value_is_near_that_of_the_limit_law() -> None:
    limit = independence_test(TABLE, noise=SIGMA, method="projected").p_value
    drawn = independence_test(TABLE, noise=SIGMA, method="projected-simulated").p_value
    assert limit is not None
    assert drawn is not None
    assert abs(limit - drawn) < 6 * math.sqrt(limit * (1 - limit) / 10_000) + 0.003


def test_the_interval_of_an_effect_is_that_of_the_noncentral_law_also_where_it_is_large() -> None:
    for scale in (1, 4, 40):  # statistics from 70 to 100,000
        table = [[scale * 900, scale * 100], [scale * 600, scale * 400]]
        found = independence_test(table, noise=Gaussian(sensitivity=1, sigma=0.5))
        assert found.statistic is not None
        for end, share in ((found.estimate.low, 0.975), (found.estimate.high, 0.025)):
            mass = stats.norm.cdf(math.sqrt(found.statistic) - end * math.sqrt(scale * 2000))
            assert mass == pytest.approx(share, rel=0.15)


@pytest.mark.parametrize(("cells", "least"), [(2, 1 / 10_000), (10, 1 / 2000), (15, 1 / 1000)])
def test_a_simulated_p_value_is_never_zero(cells: int, least: float) -> None:
    table = 100 + 10_000 * np.eye(cells)
    assert independence_test(table, noise=SIGMA, method="projected-simulated").p_value == pytest.approx(least)


def test_the_usual_test_has_a_warning_and_no_p_value() -> None:
    found = independence_test(TABLE, noise=SIGMA, method="naive")
    assert found.p_value is None
    assert found.notes[0].startswith("WRONG: the usual law yields p = ")
    assert not found.estimates
    assert "WRONG" in repr(found)
    assert found.to_dict()["p_value"] is None


def test_released_numbers_decide_which_law_is_taken() -> None:
    assert "chi-squared law" in independence_test(TABLE, noise=SIGMA).method
    few = independence_test([[3, 4], [2, 6]], noise=Gaussian(sensitivity=1, sigma=1))
    assert "9,999 simulated tables; the counts with their noise are too far from normal" in few.method
    far = independence_test(TABLE, noise=Laplace(sensitivity=1, epsilon=0.01))
    assert "simulated" in far.method
    large = independence_test([[30, 25], [20, 35]], noise=Gaussian(sensitivity=1, sigma=40))
    assert "the larger of two p-values, conservative" in large.method


def test_people_with_several_rows_are_allowed_for() -> None:
    one, four = (independence_test(TABLE, noise=SIGMA, each=each) for each in (1, 4))
    assert one.statistic is not None
    assert four.statistic is not None
    assert 2 < one.statistic / four.statistic < 4
    assert "conservative" in four.assumptions[0]


def test_noise_that_moves_all_counts_together_is_no_evidence_where_the_size_is_public() -> None:
    shares = [0.1, 0.2, 0.3, 0.4]
    found = [fit_test([100 + k, 200 + k, 300 + k, 400 + k], shares, noise=SIGMA, size=1000).statistic for k in (0, 25)]
    assert found == pytest.approx([0, 0], abs=1e-9)
    assert fit_test([110, 220, 330, 440], shares, noise=SIGMA).statistic == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize("noise", [SIGMA, LAPLACE])
@pytest.mark.parametrize(
    "table",
    [[[0, 0], [0, 0]], [[-5, 3], [-80, -2]], [[1e9, 0], [0, 1e9]], [[0, 0, 0], [1, 2, 3]], [[-1e6, 5], [4, 3]]],
)
def test_any_released_counts_are_judged(noise: Any, table: Any) -> None:
    for size in (None, 100):
        for method in METHODS:
            found = independence_test(table, noise=noise, size=size, method=method)
            assert method == "naive" or found.p_value is not None
            for one in found.estimates.values():
                assert 0 <= one.low <= one.value <= one.high <= 1
        fit = fit_test(
            [x for row in table for x in row], [1 / sum(map(len, table))] * sum(map(len, table)), noise=noise
        )
        assert fit.p_value is not None


@pytest.mark.parametrize(
    ("table", "options", "words"),
    [
        ([[1, 2]], {}, "at least two rows and two columns"),
        ([[1], [2]], {}, "at least two rows and two columns"),
        ([1, 2], {}, "a list of them for each row"),
        ([[1, 2], [3]], {}, "a list of them for each row"),
        ([[1, math.nan], [2, 3]], {}, "a list of them for each row"),
        ("table", {}, "a list of them for each row"),
        ([[1] * 30] * 30, {}, "from 2 to 500 cells"),
        (TABLE, {"noise": 3}, "noise must be the mechanism"),
        (TABLE, {"size": 0}, "size"),
        (TABLE, {"each": 0}, "each"),
        (TABLE, {"method": "usual"}, "method must be"),
        (TABLE, {"confidence": 1}, "confidence"),
    ],
)
def test_what_cannot_be_judged_is_refused(table: Any, options: dict[str, Any], words: str) -> None:
    with pytest.raises(RequestError, match=words):
        independence_test(table, **{"noise": SIGMA, **options})


@pytest.mark.parametrize(
    ("counts", "shares", "words"),
    [([1, 2, 3], [0.5, 0.5], "2 finite numbers"), ([1, 2], [0.5, 0.6], "sum to 1"), ([1], [1.0], "at least two")],
)
def test_a_fit_needs_a_share_for_each_count(counts: Any, shares: Any, words: str) -> None:
    with pytest.raises(RequestError, match=words):
        fit_test(counts, shares, noise=SIGMA)


@pytest.mark.parametrize(
    "noise", [Gaussian(sensitivity=1, sigma=0.4), SIGMA, LAPLACE, Laplace(sensitivity=1, epsilon=3)]
)
def test_simulated_noise_has_the_law_of_released_noise(noise: Any) -> None:
    cells = read_noise(noise, 4)
    drawn = cells.at(np.random.default_rng(5).random(200_000))
    assert abs(drawn.var() / cells.variance - 1) < 6 * math.sqrt((2 + cells.excess * 2) / 200_000)
    assert np.abs(drawn - np.rint(drawn)).max() == 0
    share = (drawn == 0).mean()
    assert abs(share - cells.law.pmf(0)) < 6 * math.sqrt(0.25 / 200_000)


@pytest.mark.parametrize("size", [None, 900])
def test_a_table_on_its_side_has_the_same_statistic(size: int | None) -> None:
    tables = np.random.default_rng(2).normal(60, 9, (4, 7, 3))
    model = TableModel(9.0, size, 2)
    tall, wide = projected(tables, model), projected(np.swapaxes(tables, 1, 2), model)
    assert tall == pytest.approx(wide, rel=1e-9)
    assert (tall > 1).all()
