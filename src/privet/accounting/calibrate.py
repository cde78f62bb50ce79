"""Finds the least noise whose composed cost fits a budget, for any mechanism with one number to turn.

The answer was itself checked against the budget. It must not know what the number means.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Literal, Protocol, TypeVar

from privet.core.budget import Approximate, Budget, Pure, Zcdp
from privet.core.errors import BadParameter, RequestError, Unsupported
from privet.core.event import Event, Repeated
from privet.core.exact import whole

from .cost import within
from .search import least, most

_LEAST, _MOST = 2.0**-300, 2.0**300

Turn = Literal["noise", "cost"]
"""Whether a larger number means more noise or more cost."""


class HasEvent(Protocol):
    """Anything that says what it does to privacy: every mechanism."""

    @property
    def event(self) -> Event: ...


Made = TypeVar("Made", bound=Event | HasEvent)


def fits(event: Event, budget: Budget) -> bool:
    """Return whether an event, fixed in advance, keeps a budget's promise.

    Guarantee: yes means that the event is epsilon-DP, (epsilon, delta)-DP or rho-zCDP, as the budget says.
    """
    match budget:
        case Pure():
            return event.slack() == 0 and event.pure() <= budget.epsilon
        case Zcdp():
            return event.slack() == 0 and event.rho() <= budget.rho
        case Approximate():
            return within(event, budget.epsilon, budget.delta)
    raise BadParameter("budget", budget, "Pure, Approximate or Zcdp")


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

    Guarantee: `Repeated(make(number).event, times)` fits the budget. If cost is monotone in the number, no number
    that is better by more than the tolerance does.
    """
    count = whole(times, "times", least=1)
    if more not in ("noise", "cost"):
        raise BadParameter("more", more, "'noise' or 'cost'")
    if not _LEAST <= start <= _MOST:
        raise BadParameter("start", start, "a number from 2**-300 to 2**300")
    if not 0 <= relative < 1:
        raise BadParameter("relative", relative, "at least 0 and below 1")

    def fitting(number: float) -> bool:
        return fits(Repeated(_event(make(number)), count), budget)

    towards = 2.0 if more == "noise" else 0.5  # the way in which cost falls
    if fitting(start):
        costly, cheap = _step(fitting, start, 1 / towards)
    else:
        cheap, costly = _step(lambda number: not fitting(number), start, towards)
        if math.isnan(cheap):
            raise Unsupported(f"no noise fits: even at {costly:.3g} the cost exceeds {budget.describe()}")
    if math.isnan(costly):
        return cheap
    if more == "noise":
        return least(fitting, costly, cheap, relative=relative)
    return most(fitting, cheap, costly, relative=relative)


def _step(holds: Callable[[float], bool], start: float, factor: float) -> tuple[float, float]:
    # The first number, going by the factor, for which `holds` fails, and the one before it.
    number = start
    while _LEAST <= number * factor <= _MOST:
        if not holds(number * factor):
            return number * factor, number
        number *= factor
    return math.nan, number


def _event(made: object) -> Event:
    # An event first: some events hold another one under the name `event`, and that one is not the cost.
    event = made if isinstance(made, Event) else getattr(made, "event", None)
    if not isinstance(event, Event):
        raise RequestError(f"make must return a mechanism or an event; got a {type(made).__name__}")
    return event
