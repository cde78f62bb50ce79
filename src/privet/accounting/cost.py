"""What an event costs: the tightest of the sound bounds, asked of the event and rounded up.

Slack is taken off delta first, because no curve carries it. No bound here looks at an event's class.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction

from privet.core.errors import RequestError
from privet.core.event import Event
from privet.core.exact import Number, failure_probability, nonnegative
from privet.core.rounding import float_up

from . import convert, gdp
from .curves import read_order


def epsilon(event: Event, delta: Number) -> float:
    """Return the least epsilon known for which the event is (epsilon, delta)-DP, rounded up.

    Guarantee: the event is (epsilon, delta)-DP, for parts whose costs were fixed in advance. Infinite where no
    bound applies, among them every delta below the event's slack.
    Cites: [DR14, Thm 3.16], [CKS20, Prop. 12].
    """
    allowed, event = failure_probability(delta), _read(event)
    return min(_epsilons(event, allowed), default=math.inf)


def delta(event: Event, epsilon: Number) -> float:
    """Return the least delta known for which the event is (epsilon, delta)-DP, rounded up.

    Guarantee: the event is (epsilon, delta)-DP, for parts whose costs were fixed in advance.
    Cites: [DR14, Thm 3.16], [CKS20, Prop. 12].
    """
    bound, event = nonnegative(epsilon, "epsilon"), _read(event)
    return min(_deltas(event, bound), default=1.0)


def rdp(event: Event, order: Number) -> float:
    """Return the event's Renyi divergence of an order above 1, rounded up; slack is not in it."""
    return _read(event).rdp(read_order(order))


def within(event: Event, epsilon: Number, delta: Number) -> bool:
    """Return whether some sound bound shows that the event is (epsilon, delta)-DP, asking the cheapest ones first."""
    limit, allowed, event = nonnegative(epsilon, "epsilon"), failure_probability(delta), _read(event)
    return any(bound <= limit for bound in _epsilons(event, allowed))


def _epsilons(event: Event, allowed: Fraction) -> Iterator[float]:
    rest = allowed - event.slack()
    if rest < 0:
        return
    yield float_up(event.pure())
    rho = event.rho()
    if rest > 0:
        yield convert.rdp_epsilon(event.rdp, rest)
        if isinstance(rho, Fraction):
            yield convert.rho_epsilon(rho, rest)
        yield gdp.event_epsilon(event, allowed)


def _deltas(event: Event, bound: Fraction) -> Iterator[float]:
    slack, pure, rho = event.slack(), event.pure(), event.rho()
    if bound >= pure:
        yield float_up(slack)
        return
    yield _plus(slack, convert.rdp_delta(event.rdp, bound))
    if isinstance(rho, Fraction):
        yield _plus(slack, convert.rho_delta(rho, bound))


def _plus(slack: Fraction, more: float) -> float:
    return min(1.0, float_up(slack + Fraction(more)))


def _read(event: Event) -> Event:
    if not isinstance(event, Event):
        raise RequestError(f"event must be an Event; got a {type(event).__name__}")
    return event
