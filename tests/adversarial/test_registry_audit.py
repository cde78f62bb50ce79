"""Every mechanism that is registered has an audit, which lets it stand and catches a fault planted in it."""

from __future__ import annotations

from fractions import Fraction

import pytest

from privet.accounting import epsilon
from privet.audit import Curve
from privet.audit.entry import Entry, judge
from privet.audit.registry import AUDITS
from privet.mechanisms import MECHANISMS

QUICK, LARGER = 5, Fraction(2)
"""A fifth of the releases, and a fault that they catch far more surely than all of them catch one of a tenth."""

SESSIONS = [entry for entry in AUDITS if callable(entry.claimed)]
EXACT = [entry for entry in AUDITS if isinstance(entry.claimed, Curve)]


def test_every_registered_mechanism_is_audited() -> None:
    assert {entry.mechanism for entry in AUDITS} >= set(MECHANISMS)


def test_names_of_audits_differ() -> None:
    assert len({entry.name for entry in AUDITS}) == len(AUDITS)


@pytest.mark.parametrize("entry", EXACT, ids=lambda entry: entry.name)
def test_the_exact_loss_of_a_pair_is_within_what_the_mechanism_states(entry: Entry) -> None:
    assert isinstance(entry.claimed, Curve)
    assert entry.event is not None
    assert entry.claimed.points
    for exact, delta in entry.claimed.points:
        stated = epsilon(entry.event, delta) if delta else float(entry.event.pure())
        assert 0 < exact <= stated * 1.0101


@pytest.mark.parametrize("entry", SESSIONS, ids=lambda entry: entry.name)
def test_the_exact_loss_of_an_answer_is_within_what_its_plan_costs(entry: Entry) -> None:
    assert callable(entry.claimed)
    assert entry.stated is not None
    assert all(0 < exact <= entry.stated for exact, _ in entry.claimed().points)


@pytest.mark.parametrize("entry", AUDITS, ids=lambda entry: entry.name)
def test_a_mechanism_stands_and_the_fault_planted_in_it_is_caught(entry: Entry) -> None:
    verdict = judge(entry, samples=entry.samples // QUICK, fault=LARGER)
    assert not verdict.report.refuted, str(verdict.report)
    assert verdict.bits is None or not verdict.bits.refuted, str(verdict.bits)
    assert verdict.planted.refuted, str(verdict.planted)
    assert verdict.stands
