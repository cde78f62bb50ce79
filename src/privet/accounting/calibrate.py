"""Finds the least noise whose composed cost fits a budget, for any mechanism with one number to turn.

The answer was itself checked against the budget. It must not know what the number means.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Literal, Protocol, TypeVar, cast

from privet.core.budget import Approximate, Budget, Pure, Zcdp
from privet.core.errors import BadParameter, RequestError, Unsupported
from privet.core.event import Event, Repeated, read_event
from privet.core.given import called, choice, function, instance, is_a
from privet.core.numbers import Number, failure_probability, positive, whole

from .cost import within
from .search import least, most

_LEAST, _MOST = 2.0**-300, 2.0**300

Turn = Literal["noise", "cost"]
"""Whether a larger number means more noise or more cost."""


class HasEvent(Protocol):
    """Anything with the event of one release: every mechanism."""

    @property
    def event(self) -> Any: ...  # an Event; pyright does not match a cached property of a mechanism with one


Made = TypeVar("Made", bound=Event | HasEvent)


def fits(event: Event, budget: Budget) -> bool:
    """Return whether an event, fixed in advance, keeps a budget's promise.

    Args:
        event: what was done: an `Event`, such as `mechanism.event`.
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
    """Return the number for which `make` gives the least noise that, repeated `times` times, fits the budget.

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
    if not _LEAST <= exact <= _MOST:
        raise BadParameter("start", start, "a number from 2**-300 to 2**300")
    return float(exact)


def read_budget(budget: Budget) -> Budget:
    """Return what is a budget, and refuse what is not."""
    return cast(Budget, instance(budget, (Pure, Approximate, Zcdp), "budget", "Pure, Approximate or Zcdp"))


def _step(holds: Callable[[float], bool], start: float, factor: float) -> tuple[float, float]:
    # The first number, going by the factor, for which `holds` fails, and the one before it.
    number = start
    while _LEAST <= number * factor <= _MOST:
        if not holds(number * factor):
            return number * factor, number
        number *= factor
    return math.nan, number


def event_made(make: Callable[[float], object], number: float) -> Event:
    """Return the event of what a caller's function makes of a number."""
    # An event first: some events hold another one under the name `event`, and that one is not the cost.
    made = called(make, "make", number)
    event = made if is_a(made, Event) else called(lambda: getattr(made, "event", None), "make")
    if not is_a(event, Event):
        raise RequestError(f"make must return a mechanism or an event; got a {type(made).__name__}")
    return cast(Event, event)
