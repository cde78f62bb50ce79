"""What an event costs: the tightest of the sound bounds, asked of the event and rounded up.

Slack is taken off delta first, because no curve carries it. No bound here looks at an event's class.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction

import numpy as np

from privet.core.event import Event, read_event
from privet.core.numbers import Number, failure_probability, nonnegative, read_order
from privet.core.pair import NoPair, Pair
from privet.core.rounding import float_up

from . import convert, gdp
from .pairs import FailedPair, ProfilePair
from .pld import bounds as pld

_FEW = 64
"""Up to this many different parts the Renyi curve is asked always; with more, only where nothing tighter is known."""


def epsilon(event: Event, delta: Number) -> float:
    """Return the least epsilon known for which the event is (epsilon, delta)-DP, rounded up.

    Args:
        event: what was done: an `Event`, such as `mechanism.event`.
        delta: the probability with which the loss may exceed epsilon.

    Example:
        >>> gaussian = privet.Gaussian(sensitivity=1, rho=0.125).event
        >>> round(accounting.epsilon(gaussian, 1e-6), 3)
        2.254

    Guarantee: the event is (epsilon, delta)-DP, for parts whose costs were fixed in advance. Infinite where no
    bound applies, among them every delta below the event's slack.
    Cites: [DR14, Thm 3.16], [CKS20, Prop. 12], [DRS22, composition], [ZDW22, dominating pairs compose].
    """
    allowed, event = failure_probability(delta), read_event(event)
    return min(_epsilons(event, allowed), default=math.inf)


def delta(event: Event, epsilon: Number) -> float:
    """Return the least delta known for which the event is (epsilon, delta)-DP, rounded up.

    Args:
        event: what was done: an `Event`, such as `mechanism.event`.
        epsilon: the privacy loss, at least 0.

    Example:
        >>> gaussian = privet.Gaussian(sensitivity=1, rho=0.125).event
        >>> round(accounting.delta(gaussian, 1), 6)
        0.00683

    Guarantee: the event is (epsilon, delta)-DP, for parts whose costs were fixed in advance.
    Cites: [DR14, Thm 3.16], [CKS20, Prop. 12], [DRS22, composition], [ZDW22, dominating pairs compose].
    """
    bound, event = nonnegative(epsilon, "epsilon"), read_event(event)
    return min(_deltas(event, bound), default=1.0)


def rdp(event: Event, order: Number) -> float:
    """Return the event's Renyi divergence of an order above 1, rounded up; slack is not in it.

    Args:
        event: what was done: an `Event`, such as `mechanism.event`.
        order: the Renyi order, above 1.

    Example:
        >>> gaussian = privet.Gaussian(sensitivity=1, rho=0.125).event
        >>> accounting.rdp(gaussian, 2)
        0.25
    """
    return read_event(event).rdp(read_order(order))


def within(event: Event, epsilon: Number, delta: Number) -> bool:
    """Return whether some sound bound shows that the event is (epsilon, delta)-DP, asking the cheapest ones first."""
    limit, allowed, event = nonnegative(epsilon, "epsilon"), failure_probability(delta), read_event(event)
    return any(bound <= limit for bound in _epsilons(event, allowed))


def loss_epsilon(event: Event, allowed: Fraction) -> float:
    """Return epsilon from the event's privacy loss distribution, rounded up; infinite where it has nothing to add."""
    try:
        if allowed < event.slack() or not _has_more(event) or _given_away(event) > allowed:
            return math.inf
        return pld.pld_epsilon(event, allowed)
    except NoPair:
        return math.inf


def loss_delta(event: Event, bound: Fraction) -> float:
    """Return delta from the event's privacy loss distribution, rounded up; 1 where it has nothing to add."""
    try:
        lost = _given_away(event)
        return max(lost, pld.pld_delta(event, bound)) if lost < 1 and _has_more(event) else 1.0
    except NoPair:
        return 1.0


def _given_away(event: Event) -> float:
    # The chance of an infinite loss, for the rare events whose curves are infinite: no epsilon buys it back, so it is
    # known without composing anything, and whatever composes the rest must not say less.
    if math.isfinite(event.rdp(2.0)):
        return 0.0
    kept = [1.0, 1.0]
    for atom, times in event.atoms().items():
        pair = atom.pair()
        for side, (curve, end) in enumerate(zip((pair.forward, pair.backward), pair.reach(), strict=True)):
            if math.isfinite(end):
                kept[side] *= max(0.0, 1.0 - float(curve(np.array([end]))[0])) ** times
    return 1.0 - min(kept)


def _has_more(event: Event) -> bool:
    # Gaussians together are one Gaussian, priced exactly; and the pair of a mere rho is made from the conversion that
    # has been asked already, with its slack beside it.
    if gdp.event_mu(event) is not None:
        return False
    return not all(isinstance(_without_failure(atom.pair()), ProfilePair) for atom in event.atoms())


def _without_failure(pair: Pair) -> Pair:
    return _without_failure(pair.inner) if isinstance(pair, FailedPair) else pair


def _epsilons(event: Event, allowed: Fraction) -> Iterator[float]:
    rest = allowed - event.slack()
    if rest < 0:
        return
    yield float_up(event.pure())
    if rest == 0:
        return
    rho, few = event.rho(), len(event.atoms()) <= _FEW
    if isinstance(rho, Fraction):
        yield convert.rho_epsilon(rho, rest)
    yield gdp.event_epsilon(event, allowed)
    if few:
        yield convert.rdp_epsilon(event.rdp, rest)
    by_loss = loss_epsilon(event, allowed)
    yield by_loss
    if not few and math.isinf(by_loss):
        yield convert.rdp_epsilon(event.rdp, rest)


def _deltas(event: Event, bound: Fraction) -> Iterator[float]:
    slack, pure, rho = event.slack(), event.pure(), event.rho()
    if bound >= pure:
        yield float_up(slack)
        return
    if isinstance(rho, Fraction):
        yield _plus(slack, convert.rho_delta(rho, bound))
    yield gdp.event_delta(event, bound)
    by_loss, few = loss_delta(event, bound), len(event.atoms()) <= _FEW
    yield by_loss
    if few or by_loss == 1:
        yield _plus(slack, convert.rdp_delta(event.rdp, bound))


def _plus(slack: Fraction, more: float) -> float:
    return min(1.0, float_up(slack + Fraction(more)))
