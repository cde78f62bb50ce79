"""A shuffler removes repeats, strips, permutes and holds small batches; trust is told in words."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from privet import accounting, local
from privet.core.errors import BadParameter

SURVEY = local.KaryResponse(200, epsilon=9)


@pytest.mark.parametrize("kind", local.ORACLES)
def test_a_batch_is_the_same_reports_without_their_order(kind: Any) -> None:
    oracle = kind(4, epsilon=1)
    reports = oracle.client.reports([0, 1, 2, 3] * 50)
    shuffler = local.Shuffler(oracle, minimum=200)
    assert shuffler.add([reports[:150].to_bytes(), reports[150:].to_json()]) == 200
    batch = shuffler.forward()
    assert batch is not None
    assert sorted(row.tobytes() for row in batch.data) == sorted(row.tobytes() for row in reports.data)
    one, other = oracle.server(), oracle.server()
    one.add(reports)
    assert other.add(batch) == 200
    assert one.estimate().values.tolist() == other.estimate().values.tolist()
    ids = {row.tobytes() for row in reports.ids} & {row.tobytes() for row in batch.ids}
    assert len(ids) == (200 if oracle.identified else 0)
    assert (batch.ids != reports.ids).any()  # equal orders: once in 200 factorial


def test_batches_below_the_minimum_are_held_or_dropped() -> None:
    shuffler = local.Shuffler(SURVEY, minimum=10)
    shuffler.add(SURVEY.client.reports(range(9)))
    assert shuffler.forward() is None
    assert shuffler.waiting == 9
    assert shuffler.drop() == 9
    shuffler.add(SURVEY.client.reports(range(10)))
    assert len(shuffler.forward() or ()) == 10
    assert shuffler.waiting == 0
    assert shuffler.forward() is None


def test_repeats_are_removed_across_batches_and_the_rest_is_counted() -> None:
    shuffler = local.Shuffler(SURVEY, minimum=5)
    reports = SURVEY.client.reports(range(5))
    assert shuffler.add([reports, reports, reports[2]]) == 5
    shuffler.forward()
    assert shuffler.add(reports) == 0
    other = local.KaryResponse(200, epsilon=1).client.report(1)
    forged = local.Reports(SURVEY.digest, np.array([[7, 7]], dtype=np.uint64), np.full((1, 1), 255, dtype=np.uint8))
    longer = local.Reports(SURVEY.digest, np.array([[7, 8]], dtype=np.uint64), np.zeros((1, 9), dtype=np.uint8))
    assert shuffler.add([other, forged, longer, b"PVL", "{}"]) == 0
    assert shuffler.rejected == {"repeated": 11, "another survey": 1, "impossible content": 1, "not whole": 3}
    assert shuffler.waiting == 0
    with pytest.raises(BadParameter):
        shuffler.add(3)  # type: ignore[arg-type]


def test_every_order_comes_equally_often() -> None:
    from privet.local.shuffler import _permutation

    counts: dict[tuple[int, ...], int] = {}
    for _ in range(6000):
        order = tuple(_permutation(3).tolist())
        counts[order] = counts.get(order, 0) + 1
    assert len(counts) == 6
    # 1,000 expected, standard deviation 29; six of them, six orders: one failure in 1e8
    assert all(abs(count - 1000) < 180 for count in counts.values())


def test_missing_and_suspected_reports_do_not_hide_anyone() -> None:
    survey = local.KaryResponse(2, epsilon=1)
    shuffler = local.Shuffler(survey, minimum=100)
    event = shuffler.event(110, missing=20, suspected=10)
    assert event == survey.shuffled(80)
    assert accounting.epsilon(event, 1e-6) > accounting.epsilon(shuffler.event(110), 1e-6)
    with pytest.raises(BadParameter):
        shuffler.event(99)
    with pytest.raises(BadParameter, match="missing"):
        shuffler.event(100, missing=50, suspected=50)


def test_trust_is_told_side_by_side() -> None:
    trust = local.Trust(local.KaryResponse(2, epsilon=1), 100, delta=1e-6, missing=10, suspected=5)
    assert (trust.present, trust.honest) == (90, 85)
    assert trust.shuffled_epsilon == accounting.epsilon(local.KaryResponse(2, epsilon=1).shuffled(85), 1e-6)
    assert "85 honest people" in trust.words["shuffled"]
    assert "No one" in trust.words["local"]
    assert "curator" in trust.words["central"]
    errors = trust.standard_errors
    assert errors["central"] < errors["local"] / 2
    assert errors["local"] == local.KaryResponse(2, epsilon=1).variance(0, 90) ** 0.5
    assert "shuffled" in repr(trust)
    with pytest.raises(BadParameter):
        local.Trust(local.KaryResponse(2, epsilon=1), 100, delta=1e-6, missing=100)
