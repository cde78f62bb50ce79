"""The cost of an event: the tightest of the sound bounds, computed from the event and rounded up.

Slack is taken off delta first, because no curve carries it. No bound here looks at an event's class.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any, Literal, Protocol, TypeVar, cast

import numpy as np

from privet.core.budget import Approximate, Budget, Pure, Zcdp
from privet.core.errors import BadParameter, RequestError, Unsupported
from privet.core.event import Event, NoPair, Pair, Repeated, read_event
from privet.core.given import called, choice, function, instance, is_a
from privet.core.numbers import (
    Number,
    failure_probability,
    float_up,
    least,
    most,
    nonnegative,
    positive,
    read_order,
    whole,
)

from . import convert, gdp
from .pairs import FailedPair, ProfilePair
from .pld import bounds as pld

_MAX_PARTS = 64
"""Up to this many different parts the Renyi curve is always used; with more, only where nothing tighter is known."""


def epsilon(event: Event, delta: Number) -> float:
    """Return the least epsilon known for which the event is (epsilon, delta)-DP, rounded up.

    Args:
        event: an `Event`, such as `mechanism.event`.
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
        event: an `Event`, such as `mechanism.event`.
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
        event: an `Event`, such as `mechanism.event`.
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
    # known without composing anything, and the composition of the rest must not be less.
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
    # has been used already, with its slack beside it.
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
    rho, few = event.rho(), len(event.atoms()) <= _MAX_PARTS
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
    by_loss, few = loss_delta(event, bound), len(event.atoms()) <= _MAX_PARTS
    yield by_loss
    if few or by_loss == 1:
        yield _plus(slack, convert.rdp_delta(event.rdp, bound))


def _plus(slack: Fraction, more: float) -> float:
    return min(1.0, float_up(slack + Fraction(more)))


# Finds the least noise whose composed cost fits a budget, for any mechanism with one number to turn.
#
# The answer was itself checked against the budget. The search must not depend on the number's meaning.


_LOWEST, _HIGHEST = 2.0**-300, 2.0**300

Turn = Literal["noise", "cost"]
"""Whether a larger number means more noise or more cost."""


class HasEvent(Protocol):
    """An object with the event of one release: every mechanism."""

    @property
    def event(self) -> Any: ...  # an Event; pyright does not match a cached property of a mechanism with one


Made = TypeVar("Made", bound=Event | HasEvent)


def fits(event: Event, budget: Budget) -> bool:
    """Return whether an event, fixed in advance, keeps a budget's promise.

    Args:
        event: an `Event`, such as `mechanism.event`.
        budget: a `Pure`, an `Approximate` or a `Zcdp`.

    Example:
        >>> laplace = privet.Laplace(sensitivity=1, epsilon=0.5).event
        >>> accounting.fits(laplace, privet.Pure(epsilon=1)), accounting.fits(laplace, privet.Pure(epsilon=0.25))
        (True, False)

    Guarantee: yes means that the event is epsilon-DP, (epsilon, delta)-DP or rho-zCDP, as the budget says.
    """
    read_event(event)
    match read_budget(budget):
        case Pure(epsilon=cap):
            return event.slack() == 0 and event.pure() <= cap
        case Zcdp(rho=cap):
            return event.slack() == 0 and event.rho() <= cap
        case Approximate(epsilon=cap, delta=delta):
            return within(event, cap, delta)


def calibrate(
    make: Callable[[float], Made],
    budget: Budget,
    *,
    times: int = 1,
    more: Turn = "noise",
    start: float = 1.0,
    relative: float = 1e-9,
) -> float:
    """Return the number for which `make` has the least noise that, repeated `times` times, fits the budget.

    `make` takes the number and returns a mechanism or an event, and a larger number means more noise, or more cost
    with `more="cost"`. The search doubles or halves from `start` until the budget lies between two neighbours, then
    bisects to the relative tolerance and returns the end that fits.

    Args:
        make: returns a mechanism or an event for a number.
        budget: a `Pure`, an `Approximate` or a `Zcdp`.
        times: how often the event is repeated.
        more: whether a larger number means more "noise" or more "cost".
        start: the number that the search starts from.
        relative: the relative tolerance of the search.

    Raises:
        Unsupported: if no noise fits the budget.

    Example:
        >>> budget = privet.Pure(epsilon=1)
        >>> accounting.calibrate(lambda scale: privet.Laplace(sensitivity=1, scale=scale), budget, times=4)
        4.0

    Guarantee: `Repeated(make(number).event, times)` fits the budget. If cost is monotone in the number, no number
    that is better by more than the tolerance does.
    """
    count = whole(times, "times", least=1, most=10**18)
    way = choice(more, "more", ("noise", "cost"))
    first, tolerance = read_start(start), float(failure_probability(relative, "relative"))
    made, promise = function(make, "make"), read_budget(budget)

    def fitting(number: float) -> bool:
        return fits(Repeated(event_made(made, number), count), promise)

    towards = 2.0 if way == "noise" else 0.5  # the way in which cost falls
    if fitting(first):
        costly, cheap = _step(fitting, first, 1 / towards)
    else:
        cheap, costly = _step(lambda number: not fitting(number), first, towards)
        if math.isnan(cheap):
            raise Unsupported(f"no noise fits: even at {costly:.3g} the cost exceeds {promise.describe()}")
    if math.isnan(costly):
        return cheap
    if way == "noise":
        return least(fitting, costly, cheap, relative=tolerance)
    return most(fitting, cheap, costly, relative=tolerance)


def read_start(start: Number) -> float:
    """Return the number that a search starts from."""
    exact = positive(start, "start")
    if not _LOWEST <= exact <= _HIGHEST:
        raise BadParameter("start", start, "a number from 2**-300 to 2**300")
    return float(exact)


def read_budget(budget: Budget) -> Budget:
    """Return a budget, and refuse any other value."""
    return cast(Budget, instance(budget, (Pure, Approximate, Zcdp), "budget", "Pure, Approximate or Zcdp"))


def _step(holds: Callable[[float], bool], start: float, factor: float) -> tuple[float, float]:
    # The first number, going by the factor, for which `holds` fails, and the one before it.
    number = start
    while _LOWEST <= number * factor <= _HIGHEST:
        if not holds(number * factor):
            return number * factor, number
        number *= factor
    return math.nan, number


def event_made(make: Callable[[float], object], number: float) -> Event:
    """Return the event of a caller's function at a number."""
    # An event first: some events have another one under the name `event`, and that one is not the cost.
    made = called(make, "make", number)
    event = made if is_a(made, Event) else called(lambda: getattr(made, "event", None), "make")
    if not is_a(event, Event):
        raise RequestError(f"make must return a mechanism or an event; got a {type(made).__name__}")
    return cast(Event, event)
