"""Tries to refute a claim by looking at releases alone, whatever made them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from privet.accounting.cost import epsilon as epsilon_of
from privet.accounting.events import ZcdpEvent
from privet.core.budget import Approximate, Pure, Zcdp
from privet.core.errors import BadParameter
from privet.core.event import Event
from privet.core.exact import failure_probability, nonnegative, open_probability, whole
from privet.core.rounding import float_up
from privet.mechanisms import Mechanism

from .bounds import Counts, power
from .exact import Curve
from .witness import Outputs, Witness, find_witness, prepared

if TYPE_CHECKING:
    from privet.core.pair import Floats

ALARM = 1e-6
"""How often an audit may refute a claim that is true."""

DELTAS = (0.001, 0.01, 0.03, 0.1)
"""Where a claim that is a curve is put to the test: smaller deltas are out of the reach of samples."""

_SEARCHED = 0.3
"""The part of the releases in which the event is sought; the rest bounds its chances."""

_CURVE = 64

Draw = Callable[[Any, int], Outputs]


@dataclass(frozen=True)
class Report:
    """What an audit found: a lower bound on epsilon, the event that shows it, and what it would have caught."""

    epsilon: float
    delta: float
    found: float
    witness: str
    counts: Counts
    alarm: float
    power: float
    """The chance that this audit would have refuted a claim that understates epsilon by a tenth."""
    points: tuple[tuple[float, float], ...]
    """False positive and false negative rates of tests on the witness's score, as measured."""

    @property
    def refuted(self) -> bool:
        """Whether the claim is false, up to the false-alarm rate."""
        return self.found > self.epsilon

    def __str__(self) -> str:
        verdict = "REFUTED" if self.refuted else "not refuted"
        at = f" at delta {self.delta:.3g}" if self.delta else ""
        return (
            f"{verdict}: claimed epsilon {self.epsilon:.4g}{at}, found at least {self.found:.4g} "
            f"by {self.counts.trials:,} releases of each neighbour (witness: {self.witness}; "
            f"an epsilon understated by 10% would be caught with probability {self.power:.3g})"
        )


def audit(
    mechanism: Mechanism | Callable[[Any], Any] | Draw,
    neighbours: tuple[Any, Any],
    claimed: object,
    samples: int = 100_000,
    *,
    batched: bool = False,
    alarm: float = ALARM,
) -> Report:
    """Return what `samples` releases of each of two neighbouring inputs say about a claim.

    `mechanism` is a mechanism, a function of one input, or, with `batched`, a function of an input and a count that
    returns so many releases at once: an array with a row for each, or a sequence of numbers, texts or tables.
    `claimed` is an epsilon, a pair (epsilon, delta), a budget, or an event, which claims a whole curve.

    Guarantee: a claim that holds is refuted with probability at most `alarm`: the event is chosen on some of the
    releases, and its chances are bounded on the others.
    Cites: [JUO20, bounds from samples], [DWWZK18].
    """
    size = whole(samples, "samples", least=100, most=10**9)
    rate = float(open_probability(alarm, "alarm"))
    claims = claim_points(claimed)
    if not isinstance(neighbours, (tuple, list)) or len(neighbours) != 2:
        raise BadParameter("neighbours", type(neighbours).__name__, "two inputs that differ in one unit")
    draw = _drawer(mechanism, batched)
    trials = size - int(size * _SEARCHED)
    guesses = [prepared(draw(value, size - trials)) for value in neighbours]
    witness = find_witness(guesses[0], guesses[1], claims, trials=trials, alarm=rate)
    tested = [prepared(draw(value, trials)) for value in neighbours]
    return _judge(witness, tested[:: -1 if witness.flipped else 1], trials, rate)


def claim_points(claimed: object) -> tuple[tuple[float, float], ...]:
    """Return the points (epsilon, delta) at which a claim is put to the test."""
    match claimed:
        case Pure(epsilon=epsilon):
            return ((float_up(epsilon), 0.0),)
        case Approximate(epsilon=epsilon, delta=delta):
            return ((float_up(epsilon), float(delta)),)
        case Zcdp(rho=rho):
            return claim_points(ZcdpEvent(rho))
        case Event():
            pure = float_up(claimed.pure())
            points = [(pure, 0.0)] if math.isfinite(pure) else []
            points += [(epsilon_of(claimed, delta), delta) for delta in DELTAS]
            known = [(epsilon, delta) for epsilon, delta in points if math.isfinite(epsilon)]
            return tuple(known) or ((math.inf, 0.0),)
        case Curve(points=points):
            return points or ((math.inf, 0.0),)
        case (epsilon, delta):
            return ((float_up(nonnegative(epsilon, "epsilon")), float(failure_probability(delta, "delta"))),)
        case int() | float() | Fraction():
            return ((float_up(nonnegative(claimed, "claimed")), 0.0),)
    raise BadParameter("claimed", type(claimed).__name__, "an epsilon, (epsilon, delta), a budget or an event")


def _judge(witness: Witness, tested: Sequence[Outputs], trials: int, alarm: float) -> Report:
    scores = [witness.score(outputs) for outputs in tested]
    hits = [int(np.count_nonzero(score >= witness.threshold)) for score in scores]
    counts = Counts(hits[0], hits[1], trials)
    return Report(
        epsilon=witness.epsilon,
        delta=witness.delta,
        found=counts.epsilon(witness.delta, alarm),
        witness=witness.words,
        counts=counts,
        alarm=alarm,
        power=power(counts, witness.epsilon, witness.delta, alarm),
        points=_points(scores),
    )


def _points(scores: Sequence[Floats]) -> tuple[tuple[float, float], ...]:
    thresholds = np.unique(np.quantile(np.concatenate(scores), np.linspace(0, 1, _CURVE), method="higher"))
    return tuple((float(np.mean(scores[1] >= at)), float(np.mean(scores[0] < at))) for at in thresholds)


def _drawer(mechanism: object, batched: bool) -> Draw:
    if isinstance(mechanism, Mechanism):
        return mechanism.simulate
    if not callable(mechanism):
        raise BadParameter("mechanism", type(mechanism).__name__, "a mechanism, or a function of an input")
    if batched:
        return mechanism
    return lambda value, count: [mechanism(value) for _ in range(count)]
