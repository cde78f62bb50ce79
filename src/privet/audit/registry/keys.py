"""Audits of the rules that show a key which public facts do not name, each against its exact chances."""

from __future__ import annotations

import math
from fractions import Fraction

from privet.audit.entry import Entry, known
from privet.audit.gaussian_laws import least_sigma
from privet.mechanisms import GaussianThreshold, LaplaceThreshold, OptimalKeys

_FEW = Fraction(1, 20)
"""A delta that is large enough for samples to resolve."""

_FINE = 1.0001
"""Room for the grid, in steps of a millionth of a person, on which thresholds and noise are rounded up."""


def _optimal(epsilon: float, people: int) -> list[float]:
    """Return the chance that a key is shown: as much more with each person as (epsilon, delta) allows.

    Cites: [DVGM22, Thm 1].
    """
    shown, grown, few = 0.0, math.exp(epsilon), float(_FEW)
    for _ in range(people):
        shown = min(grown * shown + few, 1 - (1 - shown - few) / grown, 1.0)
    return [shown, 1 - shown]


def _laplace(epsilon: float, people: int) -> list[float]:
    """Return the chance that people and Laplace noise exceed 1 + q, for the q that noise exceeds with chance delta."""
    beyond = 1 - math.log(2 * float(_FEW)) / epsilon - people
    chance = math.exp(-epsilon * abs(beyond)) / 2
    shown = chance if beyond > 0 else 1 - chance
    return [shown, 1 - shown]


def _gaussian(epsilon: float, people: int) -> list[float]:
    """Return the same for Gaussian noise that keeps (epsilon, delta / 2), and a q for the other half of delta."""
    from scipy.special import ndtr, ndtri

    half = float(_FEW) / 2
    sigma = least_sigma(epsilon, half)
    shown = float(ndtr((people - 1) / sigma + ndtri(half)))
    return [shown, 1 - shown]


KEYS: tuple[Entry, ...] = (
    known("Keys, optimal rule", lambda leak: OptimalKeys(epsilon=leak, delta=_FEW), _optimal, (2, 3), stated=1),
    known(
        "Keys, Laplace threshold",
        lambda leak: LaplaceThreshold(epsilon=leak, delta=_FEW),
        _laplace,
        (2, 3),
        stated=1,
        room=_FINE,
    ),
    known(
        "Keys, Gaussian threshold",
        lambda leak: GaussianThreshold(epsilon=4 * leak, delta=_FEW),
        _gaussian,
        (1, 2),
        stated=4,
        room=_FINE,
    ),
)
