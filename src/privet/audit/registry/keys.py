"""Audits of the rules that show a key which public facts do not name, each against its exact chances."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from privet.audit.entry import Entry, known
from privet.mechanisms import GaussianThreshold, KeySelection, LaplaceThreshold, OptimalKeys

_FEW = Fraction(1, 20)
"""A delta that is large enough for samples to resolve."""


def _law(mechanism: KeySelection, people: Any) -> list[float]:
    shown = float(mechanism.probability(people))
    return [shown, 1 - shown]


KEYS: tuple[Entry, ...] = (
    known("Keys, optimal rule", lambda leak: OptimalKeys(epsilon=leak, delta=_FEW), _law, (2, 3), stated=1),
    known("Keys, Laplace threshold", lambda leak: LaplaceThreshold(epsilon=leak, delta=_FEW), _law, (2, 3), stated=1),
    known(
        "Keys, Gaussian threshold",
        lambda leak: GaussianThreshold(epsilon=4 * leak, delta=_FEW),
        _law,
        (1, 2),
        stated=4,
    ),
)
