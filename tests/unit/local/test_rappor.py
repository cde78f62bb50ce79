"""RAPPOR's two draws and its decoding, and what a memo keeps, refuses and costs."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from privet import accounting, local
from privet.core.errors import BadParameter, BadValue, RequestError

SHAPES: list[dict[str, Any]] = [
    {},
    {"flip": 0.25, "ones": 0.9, "zeros": 0.2},
    {"hashes": 2, "bits": 6, "cohorts": 3},
    {"hashes": 1, "bits": 5, "cohorts": 2, "ones": 1, "zeros": 0},
]


def test_the_reference_parameters_cost_what_is_listed() -> None:
    oracle = local.Rappor(50, flip=0.5, ones=0.75, zeros=0.5, hashes=2, bits=32, cohorts=8)
    assert oracle.epsilon == pytest.approx(1.0743, abs=5e-5)
    assert oracle.permanent_epsilon == pytest.approx(4.3944, abs=1e-4)


@pytest.mark.parametrize("shape", SHAPES)
def test_the_matrix_has_the_loss_that_is_stated(shape: dict[str, Any]) -> None:
    oracle = local.Rappor(["a", "b", "c"], **shape)
    matrix = oracle.matrix()
    assert all(sum(row) == 1 for row in matrix)
    worst = max(
        math.log(first / second) for x, y in product(matrix, repeat=2) for first, second in zip(x, y, strict=True)
    )
    assert worst <= oracle.epsilon * (1 + 1e-12)
    if not oracle._hashed:
        assert worst == pytest.approx(oracle.epsilon)
    assert float(oracle.event.pure()) == pytest.approx(oracle.epsilon)


def test_hashed_bits_may_all_differ_and_then_cost_the_whole_loss() -> None:
    oracle = local.Rappor(20, hashes=2, bits=16, cohorts=8)
    sets = [set(row) for row in oracle._places_set[0].tolist()]
    assert all(len(one) == 2 for one in sets)
    assert any(not one & other for one in sets for other in sets)


@pytest.mark.parametrize("reports", [1, 2, 3])
def test_memoised_reports_cost_what_all_their_outcomes_do(reports: int) -> None:
    oracle = local.Rappor(2, flip=0.5, ones=0.75, zeros=0.25)
    kept = 1 - oracle.flip / 2
    permanent = list(product((0, 1), repeat=2))

    def chance(answer: int, outcome: tuple[tuple[int, int], ...]) -> Fraction:
        total = Fraction(0)
        for bits in permanent:
            weight = Fraction(1)
            for place, bit in enumerate(bits):
                weight *= kept if (place == answer) == bool(bit) else 1 - kept
                for sent in outcome:
                    one = oracle.ones if bit else oracle.zeros
                    weight *= one if sent[place] else 1 - one
            total += weight
        return total

    outcomes = list(product(permanent, repeat=reports))
    rows = [[chance(answer, outcome) for outcome in outcomes] for answer in (0, 1)]
    pair = accounting.FinitePairEvent(*rows)
    event = oracle.memoised(reports=reports)
    assert float(event.pure()) == pytest.approx(float(pair.pure()))
    assert accounting.epsilon(event, 0.01) == pytest.approx(accounting.epsilon(pair, 0.01), rel=1e-3)
    if reports == 1:
        assert float(event.pure()) == pytest.approx(oracle.epsilon)


def test_many_memoised_reports_cost_the_permanent_bits_and_more_without_a_memo() -> None:
    oracle = local.Rappor(2)
    costs = [float(oracle.memoised(reports=k).pure()) for k in (1, 5, 32, 33, 10**6)]
    assert costs == sorted(costs)
    assert costs[-1] == pytest.approx(oracle.permanent_epsilon)
    assert float(oracle.memoised(3).pure()) == pytest.approx(3 * oracle.permanent_epsilon)
    assert float(oracle.repeated(33).pure()) == pytest.approx(33 * oracle.epsilon)


@pytest.mark.parametrize("shape", SHAPES[:3])
@pytest.mark.parametrize("memoised", [False, True])
def test_reports_have_the_odds_of_the_matrix(shape: dict[str, Any], memoised: bool) -> None:
    oracle = local.Rappor(["a", "b", "c"], **shape)
    n = 4000
    if memoised:
        reports = [oracle._recall(oracle._remember(1)) for _ in range(n)]
        data = np.concatenate([one.data for one in reports])
    else:
        data = oracle.client.reports(["b"] * n).data
    assert oracle._allowed(data, np.zeros((len(data), 2), dtype=np.uint64)).all()
    width = oracle._cohort_width
    bits = np.unpackbits(data[:, width:], axis=1, count=oracle.bits).astype(float)
    cohorts = oracle._cohorts_of(data)
    for cohort in range(oracle.cohorts):
        here = bits[cohorts == cohort]
        assert abs(len(here) - n / oracle.cohorts) < 6 * math.sqrt(n)  # 12 standard deviations or more
        for bit in range(oracle.bits):
            expected = float(oracle.p if bit in oracle._places_set[cohort, 1] else oracle.q)
            # 6 standard deviations, of at most 0.5 each: one failure in 5e8, for some 60 checks
            assert abs(here[:, bit].mean() - expected) < 3 / math.sqrt(len(here))


def test_permanent_bits_are_flipped_with_half_the_probability_of_a_fair_coin() -> None:
    oracle = local.Rappor(2, flip=0.5)
    kept = np.array([list(oracle._remember(1)) for _ in range(2000)])[:, 0]
    # a standard deviation of 0.0097 each, so 6 of them
    assert abs((kept >> 6 & 1).mean() - 0.75) < 0.06
    assert abs((kept >> 7 & 1).mean() - 0.25) < 0.06


def test_hashed_estimates_are_unbiased_with_the_errors_that_are_stated() -> None:
    oracle = local.Rappor(12, ones=0.9, zeros=0.1, hashes=2, bits=16, cohorts=4)
    truth = np.arange(1, 13) / 78
    scores = []
    for _ in range(60):
        answers = np.random.default_rng().choice(12, size=2000, p=truth)
        server = oracle.server()
        server.add(oracle.client.reports(answers))
        found = server.estimate(covers="population")
        scores.append((found.values - truth) / found.standard_errors)
        assert (found.low <= found.high).all()
    square = float(np.mean(np.square(scores)))  # 720 correlated squares: a standard deviation below 0.1
    assert 0.5 < square < 1.6
    assert found.standard_errors.mean() ** 2 == pytest.approx(oracle.variance(1 / 12, 2000), rel=0.5)


def test_one_bit_per_value_is_estimated_as_by_every_oracle() -> None:
    oracle = local.Rappor(["a", "b"], flip=1e-9, ones=1, zeros=0)
    server = oracle.server()
    server.add(oracle.client.reports(["a"] * 30 + ["b"] * 70))
    assert server.estimate()["b"][0] == pytest.approx(0.7, abs=1e-6)
    assert oracle.variance(0, 100) > 0
    assert 0.01 < local.Rappor(2).robustness(0.01) < 0.1
    assert local.Rappor(12, hashes=2, bits=16, cohorts=4).robustness(0.01) > local.Rappor(12).robustness(0.01)


def test_values_that_share_all_bits_are_refused() -> None:
    with pytest.raises(BadParameter, match=r"tell all values apart|least squares"):
        local.Rappor(30, hashes=1, bits=16, cohorts=2)
    with pytest.raises(BadParameter, match="half"):
        local.Rappor(3, hashes=3, bits=4, cohorts=2)
    with pytest.raises(BadParameter, match="zeros"):
        local.Rappor(3, ones=0.5, zeros=0.5)
    with pytest.raises(BadParameter, match="flip"):
        local.Rappor(3, flip=0)


def test_too_few_cohorts_with_reports_are_told() -> None:
    oracle = local.Rappor(12, hashes=2, bits=6, cohorts=4)
    server = oracle.server()
    server.add(oracle.client.report(3))
    with pytest.raises(RequestError, match="collect more"):
        server.estimate()


def test_a_memo_sends_the_same_bytes_again(tmp_path: Path) -> None:
    oracle = local.KaryResponse(["no", "yes"], epsilon=1)
    memo = local.Memo(oracle, tmp_path / "memo")
    first = memo.report("yes")
    again = local.Memo.open(oracle, tmp_path / "memo")
    assert again.report("yes").to_bytes() == first.to_bytes()
    assert float(again.event.pure()) == pytest.approx(1)
    assert (again.draws, again.reports) == (1, 2)
    assert (tmp_path / "memo").stat().st_mode & 0o077 == 0


def test_a_memo_draws_once_and_reports_anew() -> None:
    oracle = local.Rappor(64, ones=0.75, zeros=0.25)
    memo = local.Memo(oracle, values=2)
    sent = {memo.report(3).to_bytes() for _ in range(5)}
    assert len(sent) == 5
    assert len(set(memo._kept["draws"].values())) == 1
    assert float(memo.event.pure()) == pytest.approx(float(oracle.memoised(reports=5).pure()))
    memo.report(4)
    assert float(memo.event.pure()) > float(oracle.memoised(reports=5).pure())


def test_another_answer_is_refused_beyond_what_is_allowed(tmp_path: Path) -> None:
    oracle = local.KaryResponse(["no", "yes"], epsilon=1)
    memo = local.Memo(oracle, tmp_path / "memo")
    memo.report("yes")
    before = (tmp_path / "memo").read_bytes()
    with pytest.raises(RequestError, match="new permanent draw") as refused:
        memo.report("no")
    assert "no" not in str(refused.value).split("'")
    assert (tmp_path / "memo").read_bytes() == before
    with pytest.raises(BadValue):
        memo.report("perhaps")


def test_a_lost_or_damaged_memo_is_never_made_anew(tmp_path: Path) -> None:
    oracle = local.KaryResponse(["no", "yes"], epsilon=1)
    path = tmp_path / "memo"
    memo = local.Memo(oracle, path)
    memo.report("yes")
    with pytest.raises(RequestError, match="already"):
        local.Memo(oracle, path)
    with pytest.raises(BadParameter, match="this oracle"):
        local.Memo.open(local.KaryResponse(["no", "yes"], epsilon=2), path)
    kept = json.loads(path.read_text())
    for broken in ("", "[]", "{}", json.dumps({**kept, "values": 0}), json.dumps({**kept, "reports": {}})):
        path.write_text(broken)
        with pytest.raises(RequestError, match="not a whole memo"):
            local.Memo.open(oracle, path)
    path.write_text(json.dumps({**kept, "draws": {"1": "zz"}}))
    with pytest.raises(RequestError, match="not a whole memo"):
        memo.report("yes")
    path.unlink()
    with pytest.raises(RequestError, match="lost"):
        memo.report("yes")
    with pytest.raises(RequestError, match="lost"):
        local.Memo.open(oracle, path)
    assert not path.exists()
