"""Every mechanism that is registered has an audit, which lets it stand and catches a fault planted in it."""

from __future__ import annotations

from fractions import Fraction

import pytest

from privet.audit.entry import Entry, judge
from privet.audit.registry import AUDITS
from privet.mechanisms import MECHANISMS

QUICK, LARGER = 200_000, Fraction(5, 4)
"""A fifth of the releases, and a fault that they catch as surely as all of them catch one of a tenth."""


def test_every_registered_mechanism_is_audited() -> None:
    assert {entry.mechanism for entry in AUDITS} >= set(MECHANISMS)


def test_names_of_audits_differ() -> None:
    assert len({entry.name for entry in AUDITS}) == len(AUDITS)


@pytest.mark.parametrize("entry", AUDITS, ids=lambda entry: entry.name)
def test_a_mechanism_stands_and_the_fault_planted_in_it_is_caught(entry: Entry) -> None:
    verdict = judge(entry, samples=QUICK, fault=LARGER)
    assert not verdict.report.refuted, str(verdict.report)
    assert verdict.bits is None or not verdict.bits.refuted, str(verdict.bits)
    assert verdict.planted.refuted, str(verdict.planted)
    assert verdict.stands
