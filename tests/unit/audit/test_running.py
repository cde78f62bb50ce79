"""Audits in processes of their own say what audits here say, in the same order."""

from __future__ import annotations

import pytest

from privet.audit.registry import AUDITS, judge_all, look_at_bits
from privet.audit.registry.end_to_end import DOUBLES

CHOSEN = [
    entry for entry in AUDITS if entry.name.startswith(("Randomized", "Keys, optimal", "Finite", "Quantile, least"))
]


@pytest.mark.parametrize("processes", [1, 2])
def test_verdicts_come_in_order_whoever_finds_them(processes: int) -> None:
    assert len(CHOSEN) == 5
    verdicts = list(judge_all(CHOSEN, samples=20_000, processes=processes))
    assert [verdict.entry.name for verdict in verdicts] == [entry.name for entry in CHOSEN]
    assert all(verdict.report.counts.trials == 14_000 for verdict in verdicts)
    assert not any(verdict.report.refuted for verdict in verdicts)
    # each claims what is its own
    epsilons = {round(verdict.report.epsilon, 2) for verdict in verdicts}
    assert len(epsilons) >= 3


def test_roads_come_in_order_too() -> None:
    roads = [road for road in DOUBLES if road.name in ("Laplace", "Average", "Gaussian, narrow", "Quantile")]
    found = list(look_at_bits(roads, processes=2))
    assert [road.name for road, _ in found] == [road.name for road in roads]
    assert not any(report.refuted for _, report in found)
