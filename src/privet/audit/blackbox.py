"""Tries to refute a claim by looking at releases alone, whatever made them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from privet.accounting.cost import epsilon as epsilon_of
from privet.accounting.events import ZcdpEvent
from privet.core.budget import Approximate, Budget, Pure, Zcdp
from privet.core.errors import BadParameter, BadValue, raise_alone
from privet.core.event import Event
from privet.core.given import called, function, is_a, listed
from privet.core.numbers import (
    Number,
    failure_probability,
    float_up,
    nonnegative,
    open_probability,
    read_rational,
    whole,
)
from privet.mechanisms import Mechanism
from privet.mechanisms.lattice import read_floats

from .exact import Curve
from .releases import Draw, make_draw, places_of
from .report import Counts, Report, power
from .witness import Witness, find_witness

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from privet.core.event import Floats


Claimed = Number | tuple[Number, Number] | Budget | Event | Curve
"""A claim: an epsilon, an epsilon and a delta, a budget, or a whole curve."""

ALARM = 1e-6
"""How often an audit may refute a claim that is true."""

DELTAS = (0.001, 0.01, 0.03, 0.1)
"""Where a claim that is a curve is put to the test: smaller deltas are out of the reach of samples."""

_SEARCHED = 0.3
"""The part of the releases in which the event is sought; the rest bounds its chances."""

_CURVE = 64


def audit(
    mechanism: Mechanism | Callable[[Any], Any] | Draw,
    neighbours: tuple[Any, Any],
    claimed: Claimed,
    samples: int = 100_000,
    *,
    batched: bool = False,
    alarm: float = ALARM,
) -> Report:
    """Return what `samples` releases of each of two neighbouring inputs say about a claim.

    `mechanism` is a mechanism, a function of one input, or, with `batched`, a function of an input and a count that
    returns this many releases at once: an array with a row for each, or a sequence of numbers, texts or tables. A call
    that raises counts as an output of its own, unless every call does.
    `claimed` is an epsilon, a pair (epsilon, delta), a budget, or an event, which claims a whole curve.

    Args:
        mechanism: a mechanism, or a function of one input.
        neighbours: two neighbouring inputs.
        claimed: an epsilon, (epsilon, delta), a budget, an event or a `Curve`.
        samples: how many releases of each.
        batched: whether the function takes an input and a count.
        alarm: the probability with which a true claim is refuted.

    Example:
        >>> report = audit.audit(privet.Laplace(sensitivity=1, epsilon=1), (10, 11), 1, 2000)
        >>> report.refuted
        False

    Guarantee: a claim that holds is refuted with probability at most `alarm`: the event is chosen on some of the
    releases, and its chances are bounded on the others.
    Cites: [JUO20, bounds from samples], [DWWZK18].
    """
    size = whole(samples, "samples", least=100, most=10**9)
    rate = float(open_probability(alarm, "alarm"))
    claims = claim_points(claimed)
    if not isinstance(neighbours, (tuple, list)) or len(neighbours) != 2:
        raise BadParameter("neighbours", type(neighbours).__name__, "two inputs that differ in one unit")
    draw = make_draw(mechanism, batched)
    trials = size - int(size * _SEARCHED)
    guesses = [draw(value, size - trials) for value in neighbours]
    draw.verify_works()
    places = places_of(*guesses)
    witness = find_witness(
        guesses[0].at(places),
        guesses[1].at(places),
        claims,
        places=places,
        names={**guesses[0].names, **guesses[1].names},
        trials=trials,
        alarm=rate,
    )
    scores = [witness.score(draw(value, trials).at(places)) for value in neighbours]
    return _judge(witness, scores[:: -1 if witness.flipped else 1], trials, rate, claims)


def claim_points(claimed: Claimed) -> tuple[tuple[float, float], ...]:
    """Return the points (epsilon, delta) at which a claim is put to the test."""
    if is_a(claimed, Event):
        return _event_points(cast(Event, claimed))
    match claimed:
        case Pure(epsilon=epsilon):
            return ((float_up(epsilon), 0.0),)
        case Approximate(epsilon=epsilon, delta=delta):
            return ((float_up(epsilon), float_up(delta)),)
        case Zcdp(rho=rho):
            return claim_points(ZcdpEvent(rho))
        case Curve(points=points):
            return points or ((math.inf, 0.0),)
        case (epsilon, delta):
            limit, allowed = nonnegative(epsilon, "claimed epsilon"), failure_probability(delta, "claimed delta")
            return ((float_up(limit), float_up(allowed)),)
    exact = read_rational(claimed)
    if exact is None or exact < 0:
        raise BadParameter("claimed", claimed, "an epsilon of at least 0, (epsilon, delta), a budget or an event")
    return ((float_up(exact), 0.0),)


def _event_points(event: Event) -> tuple[tuple[float, float], ...]:
    pure = float_up(event.pure())
    points = [(pure, 0.0)] if math.isfinite(pure) else []
    points += [(epsilon_of(event, delta), delta) for delta in DELTAS]
    known = [(epsilon, delta) for epsilon, delta in points if math.isfinite(epsilon)]
    return tuple(known) or ((math.inf, 0.0),)


def _judge(
    witness: Witness, scores: Sequence[Floats], trials: int, alarm: float, claims: tuple[tuple[float, float], ...]
) -> Report:
    hits = [int(np.count_nonzero(score >= witness.threshold)) for score in scores]
    counts = Counts(hits[0], hits[1], trials)
    return Report(
        epsilon=witness.epsilon,
        delta=witness.delta,
        found=counts.epsilon(witness.delta, alarm),
        witness=witness.words,
        counts=counts,
        flipped=witness.flipped,
        alarm=alarm,
        power=power(counts, witness.epsilon, witness.delta, alarm),
        points=_points(scores),
        claims=claims,
    )


def _points(scores: Sequence[Floats]) -> tuple[tuple[float, float], ...]:
    thresholds = np.unique(np.quantile(np.concatenate(scores), np.linspace(0, 1, _CURVE), method="higher"))
    return tuple((float(np.mean(scores[1] >= at)), float(np.mean(scores[0] < at))) for at in thresholds)


# What the low bits of a double say: which values can have made it. Goodness of fit does not see this.


_WIDTH = 4096
"""More than there are exponents of doubles, so that two of them fit into one number."""

PAIRS: tuple[tuple[float, float], ...] = (
    (0.0, 1.0),
    (0.1, 0.7),
    (1 / 3, 4 / 3),
    (0.25, -0.75),
    (1000.1, 1001.0),
)
"""Neighbours whose doubles end in different places."""


def low_bits(released: ArrayLike) -> NDArray[np.int64]:
    """Return for each double a label: its power of two, and the power of two of its last bit that is set.

    A double that was made by adding noise to a value can only end where the value or the noise ends, so a leaking
    sampler gives some labels under one value and never under another.

    Args:
        released: doubles.

    Example:
        >>> len(audit.low_bits([0.5, 0.75]))
        2

    Cites: [Mir12, the attack].
    """
    numbers = _doubles(released).reshape(-1)
    fraction, power = np.frexp(np.where(np.isfinite(numbers), numbers, 0.0))
    whole = (np.abs(fraction) * 2.0**53).astype(np.int64)
    last = np.where(whole > 0, np.log2(np.maximum(whole & -whole, 1)), 0).astype(np.int64) - 53 + power
    label = (power.astype(np.int64) + _WIDTH // 2) * _WIDTH + last + _WIDTH // 2
    return np.where(whole > 0, label, 0)


def _doubles(released: ArrayLike) -> NDArray[np.float64]:
    if isinstance(released, np.ndarray) and released.dtype == np.float64:
        return released  # NaN and infinities are outputs like any others
    return read_floats(released, "released")


def audit_bits(
    draw: Draw, claimed: Claimed, samples: int = 50_000, *, pairs: tuple[tuple[Any, Any], ...] = PAIRS
) -> Report:
    """Return the most telling of the audits of the low bits of what a sampler of doubles releases.

    `draw` takes a value and a count. The false alarms are split over the pairs of values, each of which must be
    neighbours under the claim.

    Args:
        draw: returns that many doubles for an input.
        claimed: an epsilon, (epsilon, delta), a budget, an event or a `Curve`.
        samples: how many releases of each.
        pairs: pairs of neighbouring inputs.

    Example:
        >>> from privet.audit.unsafe import float_laplace
        >>> audit.audit_bits(float_laplace, 1, 2000, pairs=((0.0, 1.0),)).found >= 0
        True
    """

    sampler = function(draw, "draw", "a function of a value and a count")
    tried = listed(pairs, "pairs", "pairs of values", most=1000)
    if not tried or not all(isinstance(pair, (tuple, list)) and len(pair) == 2 for pair in tried):
        raise BadParameter("pairs", pairs, "one or more pairs of values")

    def bits(value: Any, count: int) -> NDArray[np.int64]:
        drawn = called(sampler, "draw", value, count)
        try:
            numbers = np.asarray(_doubles(drawn))
        except BadValue:
            raise_alone(BadParameter("draw", draw, "a function of a value and a count that returns that many doubles"))
        return low_bits(numbers).reshape(numbers.shape)

    alarm = ALARM / len(tried)
    reports = [audit(bits, pair, claimed, samples, batched=True, alarm=alarm) for pair in tried]
    return max(reports, key=lambda report: report.found - report.epsilon)
