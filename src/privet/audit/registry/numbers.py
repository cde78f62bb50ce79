"""Audits of noise on numbers, of reports of single people, and of any finite mechanism. Claims are the stated ones."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

from privet.audit.bits import PAIRS
from privet.audit.blackbox import DELTAS
from privet.audit.entry import Entry, simulated
from privet.audit.exact import Curve, exact_curve
from privet.audit.gaussian_laws import gaussian_curve, least_whole_sigma, whole_gaussian
from privet.mechanisms import FiniteMechanism, Gaussian, Laplace, Mechanism, RandomizedResponse


def _laplace(**facts: Any) -> Callable[[Fraction], Mechanism]:
    return lambda leak: Laplace(sensitivity=1, epsilon=leak, **facts)


_TINY = Fraction(1, 10**6)
_ROUNDED = 1.001
"""Room for noise that is rounded up to the next grid or number."""


def _gaussian(leak: Fraction) -> Gaussian:
    return Gaussian(sensitivity=1, epsilon=4 * leak, delta=_TINY)


def _whole_gaussian(leak: Fraction) -> Gaussian:
    return Gaussian(sensitivity=2, epsilon=4 * leak, delta=_TINY, grid="whole")


def _curve() -> Curve:
    """Return what the least Gaussian noise for epsilon 4 and that delta tells."""
    return _raised(gaussian_curve(4.0, float(_TINY), DELTAS))


def _whole_curve() -> Curve:
    """Return the same for noise on the whole numbers and moves of 2."""
    sigma = least_whole_sigma(4.0, float(_TINY), 2)
    return _raised(exact_curve(whole_gaussian(sigma, 0).tolist(), whole_gaussian(sigma, 2).tolist(), DELTAS))


def _raised(curve: Curve) -> Curve:
    return Curve(tuple((epsilon * _ROUNDED, delta) for epsilon, delta in curve.points))


def _leaking_matrix(leak: Fraction) -> FiniteMechanism:
    # a truthful answer is 4**leak times likelier under its own input
    truth = Fraction(str(round(4 ** float(leak), 6)))
    row = [truth / (truth + 2), 1 / (truth + 2), 1 / (truth + 2)]
    return FiniteMechanism([row, row[1:] + row[:1]])


NUMBERS: tuple[Entry, ...] = (
    Entry(
        name="Laplace, whole numbers",
        mechanism=Laplace,
        make=simulated(_laplace()),
        build=_laplace(),
        neighbours=(10, 11),
        claimed=1,
    ),
    Entry(
        name="Laplace, reals",
        mechanism=Laplace,
        make=simulated(_laplace(grid="fine")),
        build=_laplace(grid="fine"),
        neighbours=(10.25, 11.25),
        claimed=1,
        pairs=PAIRS,
    ),
    Entry(
        name="Laplace, vectors",
        mechanism=Laplace,
        make=simulated(_laplace()),
        build=_laplace(),
        neighbours=([0.0, 0.0], [0.5, -0.5]),
        claimed=1,
        pairs=tuple(([a, 0.3], [b, 0.3]) for a, b in PAIRS),
    ),
    Entry(
        name="Gaussian, reals",
        mechanism=Gaussian,
        make=simulated(_gaussian),
        neighbours=(0.0, 1.0),
        claimed=_curve(),
        stated=4,
        event=_gaussian(Fraction(1)).event,
        build=_gaussian,
        pairs=PAIRS,
    ),
    Entry(
        name="Gaussian, vectors",
        mechanism=Gaussian,
        make=simulated(_gaussian),
        neighbours=([0.0, 0.0], [0.6, -0.8]),
        claimed=_curve(),
        stated=4,
        event=_gaussian(Fraction(1)).event,
        build=_gaussian,
        pairs=tuple(([a, 0.3], [b, 0.3]) for a, b in PAIRS),
    ),
    Entry(
        name="Gaussian, whole numbers",
        mechanism=Gaussian,
        make=simulated(_whole_gaussian),
        neighbours=(5, 7),
        claimed=_whole_curve(),
        stated=4,
        event=_whole_gaussian(Fraction(1)).event,
        build=_whole_gaussian,
    ),
    Entry(
        name="Randomized response",
        mechanism=RandomizedResponse,
        make=simulated(lambda leak: RandomizedResponse(epsilon=leak)),
        build=lambda leak: RandomizedResponse(epsilon=leak),
        neighbours=(0, 1),
        claimed=1,
    ),
    Entry(
        name="Randomized response of 5",
        mechanism=RandomizedResponse,
        make=simulated(lambda leak: RandomizedResponse(epsilon=leak, categories=5)),
        build=lambda leak: RandomizedResponse(epsilon=leak, categories=5),
        neighbours=(0, 3),
        claimed=1,
    ),
    Entry(
        name="Finite mechanism",
        mechanism=FiniteMechanism,
        make=simulated(_leaking_matrix),
        neighbours=(0, 1),
        claimed=math.log(4) * (1 + 1e-9),
        build=_leaking_matrix,
    ),
)
