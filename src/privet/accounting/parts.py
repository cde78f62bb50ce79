"""An event as composition theorems see it: so many (epsilon, delta) mechanisms, and what they leave of delta."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from privet.core.event import Event, read_event
from privet.core.rounding import float_down, float_up


@dataclass(frozen=True)
class Part:
    """Equal (epsilon, delta) mechanisms, a number of times."""

    epsilon: Fraction
    delta: Fraction
    times: int


def parts(event: Event) -> tuple[Part, ...] | None:
    """Return what an event is made of, as (epsilon, delta) mechanisms; None if one has no finite epsilon."""
    read_event(event)
    equal: dict[tuple[Fraction, Fraction], int] = {}
    for atom, times in event.atoms().items():
        epsilon, slack = atom.pure(), atom.slack()
        if isinstance(epsilon, float):
            return None
        equal[epsilon, slack] = equal.get((epsilon, slack), 0) + times
    return tuple(Part(epsilon, slack, times) for (epsilon, slack), times in equal.items())


def delta_left(every: tuple[Part, ...], allowed: Fraction) -> float:
    """Return the largest d with 1 - (1 - d) prod(1 - delta_i) <= allowed, rounded down; negative if there is none."""
    spent = sum((part.times * part.delta for part in every), Fraction(0))
    if spent == 0:
        return float_down(allowed)
    bound, survive = float_down(allowed), survival_log(every)
    if survive < math.log1p(-bound) - 1:
        return -1.0
    failures = math.expm1(-survive)
    product = bound - (1 - bound) * failures - 2.0**-46 * (bound + failures)
    # The sum of the deltas is above the chance that any fails: exact, and the better of the two where digits are lost.
    return max(product, float_down(allowed - spent))


def survival_log(every: tuple[Part, ...]) -> float:
    """Return the logarithm of prod(1 - delta_i), the deltas rounded up."""
    deltas = [(part.times, float_up(part.delta)) for part in every if part.delta > 0]
    if any(delta == 1 for _, delta in deltas):
        return -math.inf
    return math.fsum(times * math.log1p(-delta) for times, delta in deltas)
