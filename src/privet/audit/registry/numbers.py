"""Audits of noise on numbers, of reports of single people, and of any finite mechanism. Claims are the stated ones."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

from privet.audit.bits import PAIRS
from privet.audit.entry import Entry, simulated
from privet.mechanisms import FiniteMechanism, Gaussian, Laplace, Mechanism, RandomizedResponse


def _laplace(**facts: Any) -> Callable[[Fraction], Mechanism]:
    return lambda leak: Laplace(sensitivity=1, epsilon=leak, **facts)


def _gaussian(leak: Fraction) -> Gaussian:
    return Gaussian(sensitivity=1, epsilon=4 * leak, delta=Fraction(1, 10**6))


def _whole_gaussian(leak: Fraction) -> Gaussian:
    return Gaussian(sensitivity=2, epsilon=4 * leak, delta=Fraction(1, 10**6), grid="whole")


def _leaking_matrix(leak: Fraction) -> FiniteMechanism:
    # a truthful answer is 4**leak times likelier under its own input
    truth = Fraction(str(round(4 ** float(leak), 6)))
    row = [truth / (truth + 2), 1 / (truth + 2), 1 / (truth + 2)]
    return FiniteMechanism([row, row[1:] + row[:1]])


NUMBERS: tuple[Entry, ...] = (
    Entry(name="Laplace, whole numbers", mechanism=Laplace, make=simulated(_laplace()), neighbours=(10, 11), claimed=1),
    Entry(
        name="Laplace, reals",
        mechanism=Laplace,
        make=simulated(_laplace(grid="fine")),
        neighbours=(10.25, 11.25),
        claimed=1,
        pairs=PAIRS,
    ),
    Entry(
        name="Laplace, vectors",
        mechanism=Laplace,
        make=simulated(_laplace()),
        neighbours=([0.0, 0.0], [0.5, -0.5]),
        claimed=1,
        pairs=tuple(([a, 0.3], [b, 0.3]) for a, b in PAIRS),
    ),
    Entry(
        name="Gaussian, reals",
        mechanism=Gaussian,
        make=simulated(_gaussian),
        neighbours=(0.0, 1.0),
        claimed=_gaussian(Fraction(1)).event,
        pairs=PAIRS,
    ),
    Entry(
        name="Gaussian, vectors",
        mechanism=Gaussian,
        make=simulated(_gaussian),
        neighbours=([0.0, 0.0], [0.6, -0.8]),
        claimed=_gaussian(Fraction(1)).event,
        pairs=tuple(([a, 0.3], [b, 0.3]) for a, b in PAIRS),
    ),
    Entry(
        name="Gaussian, whole numbers",
        mechanism=Gaussian,
        make=simulated(_whole_gaussian),
        neighbours=(5, 7),
        claimed=_whole_gaussian(Fraction(1)).event,
    ),
    Entry(
        name="Randomized response",
        mechanism=RandomizedResponse,
        make=simulated(lambda leak: RandomizedResponse(epsilon=leak)),
        neighbours=(0, 1),
        claimed=1,
    ),
    Entry(
        name="Randomized response of 5",
        mechanism=RandomizedResponse,
        make=simulated(lambda leak: RandomizedResponse(epsilon=leak, categories=5)),
        neighbours=(0, 3),
        claimed=1,
    ),
    Entry(
        name="Finite mechanism",
        mechanism=FiniteMechanism,
        make=simulated(_leaking_matrix),
        neighbours=(0, 1),
        claimed=_leaking_matrix(Fraction(1)).event,
    ),
)
