"""A count by several messages: the exact law of both numbers of messages, as by brute force; near the central error."""

from __future__ import annotations

import math
from itertools import product
from typing import Any

import numpy as np
import pytest

from privet import accounting, local
from privet.core.errors import BadParameter, BadValue, RequestError
from privet.local.shuffled_count import burst_law, shuffled_delta

ODDS = 2**60


def brute_delta(epsilon: float, people: int, bursts: tuple[int, ...], pairs: int) -> float:
    """Return the delta by listing everything that every person may do."""
    plain = [(ODDS - sum(bursts)) / ODDS, *(one / ODDS for one in bursts)]
    own: dict[tuple[int, int], float] = {}
    for (d, p), (e, q), f in product(enumerate(plain), enumerate(plain), range(pairs + 1)):
        sent = d + f, e + f
        own[sent] = own.get(sent, 0.0) + p * q * math.comb(pairs, f) / 2**pairs
    law = {(0, 0): 1.0}
    for _ in range(people):
        more: dict[tuple[int, int], float] = {}
        for (a, b), chance in law.items():
            for (c, d), odds in own.items():
                more[a + c, b + d] = more.get((a + c, b + d), 0.0) + chance * odds
        law = more
    other = {(a + 1, b): chance for (a, b), chance in law.items()}
    grown = math.exp(epsilon)
    sides = ((law, other), (other, law))
    return max(sum(max(0.0, p - grown * right.get(at, 0.0)) for at, p in left.items()) for left, right in sides)


@pytest.mark.parametrize("epsilon", [0.3, 1.0, 2.0])
@pytest.mark.parametrize(
    ("people", "bursts", "pairs"),
    [(1, (0.2,), 1), (3, (0.1, 0.05), 1), (4, (0.2, 0.1, 0.05), 2), (6, (0.1, 0.05), 3)],
)
def test_the_delta_is_that_of_brute_force(epsilon: float, people: int, bursts: Any, pairs: int) -> None:
    odds = tuple(int(one * ODDS) for one in bursts)
    exact = brute_delta(epsilon, people, odds, pairs)
    stated = shuffled_delta(epsilon, people, odds, pairs)
    assert exact <= stated <= exact * (1 + 1e-6) + 1e-10


def test_the_error_is_near_the_central_one() -> None:
    """The reference: discrete Laplace noise of a curator, at n = 10,000, epsilon 1, delta 1e-6."""
    oracle = local.ShuffledCount(epsilon=1, delta=1e-6, people=10_000)
    a = math.exp(-1)
    central = math.sqrt(2 * a) / (1 - a)
    assert math.sqrt(oracle.variance(10_000)) <= 1.15 * central
    assert oracle.profile(1) <= 1e-6
    assert oracle.profile(0.5) > 1e-6
    assert accounting.epsilon(oracle.event, 1e-6) == pytest.approx(1)
    assert oracle.messages <= 40


@pytest.mark.parametrize(("epsilon", "delta", "people"), [(0.5, 1e-6, 5000), (1, 1e-5, 200), (3, 1e-8, 1000)])
def test_the_promise_holds_for_the_declared_people_and_for_more(epsilon: float, delta: float, people: int) -> None:
    oracle = local.ShuffledCount(epsilon=epsilon, delta=delta, people=people)
    assert oracle.profile(epsilon) <= delta
    for more in (people + 1, people * 2):
        assert shuffled_delta(epsilon, more, oracle.bursts, oracle.pairs) <= delta
    # with fewer honest people than declared there is less noise
    assert shuffled_delta(epsilon, people // 4, oracle.bursts, oracle.pairs) > delta


def test_messages_follow_the_odds() -> None:
    oracle, n = local.ShuffledCount(epsilon=0.5, delta=1e-3, people=10), 20_000
    bursts = oracle._burst(n)
    for size, one in enumerate(oracle.bursts[:4], 1):
        odds = one / ODDS
        assert abs((bursts == size).sum() - n * odds) < 5.8 * math.sqrt(n * odds * (1 - odds)) + 12  # 1e-8 each
    assert bursts.max() <= len(oracle.bursts)
    rows = oracle._randomise(np.ones(n, dtype=np.int64), np.zeros((0, 2), dtype=np.uint64)).reshape(n, oracle.messages)
    plus, minus = (rows == 1).sum(axis=1), (rows == 2).sum(axis=1)
    spread = math.sqrt(oracle.variance(1) / n)
    assert abs((plus - minus).mean() - 1) < 5.8 * spread
    assert abs(minus.mean() - oracle.pairs / 2 - bursts.mean()) < 6 * math.sqrt((oracle.pairs / 4 + 10) / n)
    assert rows.shape[1] == oracle.messages


def test_counts_are_near_the_truth_and_intervals_cover() -> None:
    oracle, people, runs = local.ShuffledCount(epsilon=1, delta=1e-6, people=200), 200, 300
    answers = np.arange(people) < 60
    covered = 0
    for _ in range(runs):
        data = oracle._randomise(oracle._read(answers), np.zeros((0, 2), dtype=np.uint64))
        tally = np.bincount(data[:, 0], minlength=3)
        found = oracle._estimate(tally, people * oracle.messages, 0.95, "reports", {})
        assert abs(found.value - 60) < 40 * found.standard_error
        covered += found.low <= 60 <= found.high
    assert covered / runs >= 0.95 - 5.5 * math.sqrt(0.05 * 0.95 / runs)


def test_messages_travel_apart_and_are_counted_in_any_order() -> None:
    oracle = local.ShuffledCount(epsilon=1, delta=1e-4, people=50)
    reports = oracle.client.reports([True, False] * 30)
    assert len(reports) == 60 * oracle.messages
    assert len(oracle.client.report(1)) == oracle.messages
    order = np.argsort(reports.ids[:, 0])
    mixed = local.Reports(reports.digest, reports.ids[order], reports.data[order])
    one, other = oracle.server(), oracle.server()
    one.add(reports)
    other.add(mixed[:500].to_bytes())
    other.add(mixed[500:])
    assert one.estimate() == other.estimate()
    assert one.estimate().n == 60
    forged = local.Reports(oracle.digest, np.array([[1, 2]], dtype=np.uint64), np.array([[3]], dtype=np.uint8))
    assert one.add(forged) == 0
    assert one.add(reports[:2]) == 0
    assert one.rejected == {"impossible content": 1, "repeated": 2}
    with pytest.raises(BadParameter):
        one.estimate(covers="population")
    assert "people of 60" in repr(one.estimate())
    assert one.estimate().to_dict()["people"] == 60


def test_the_law_of_bursts_is_a_law() -> None:
    law = burst_law(1000, (ODDS // 4000, ODDS // 9000))
    assert law.sum() == pytest.approx(1, abs=1e-12)
    assert law @ np.arange(len(law)) == pytest.approx(1000 * (1 / 4000 + 2 / 9000), rel=1e-9)


def test_liars_are_bounded_by_their_messages() -> None:
    oracle = local.ShuffledCount(epsilon=1, delta=1e-4, people=100)
    assert oracle.robustness(0.01) == pytest.approx(0.01 * oracle.messages)


def test_what_cannot_be_is_refused() -> None:
    for given in (
        {"epsilon": 0.1},
        {"epsilon": 20},
        {"delta": 0},
        {"delta": 1e-12},
        {"delta": 1},
        {"people": 5},
        {"survey": 3},
    ):
        with pytest.raises(BadParameter) as refused:
            local.ShuffledCount(**{"epsilon": 1, "delta": 1e-6, "people": 100, **given})  # type: ignore[arg-type]
        assert refused.value.parameter in given
    with pytest.raises(RequestError, match="cannot reach"):
        local.ShuffledCount(epsilon=0.2, delta=1e-10, people=10)
    oracle = local.ShuffledCount(epsilon=1, delta=1e-4, people=100)
    for bad in (2, "yes", None, 0.5, [1, 2], object()):
        with pytest.raises(BadValue):
            oracle.client.report(bad)
