"""Epsilon by every theorem that applies, side by side, for tables and pictures. It adds no theorem of its own."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import partial

from privet.core.errors import Unsupported
from privet.core.event import Event, Repeated, read_event
from privet.core.exact import Number, failure_probability, positive, whole
from privet.core.given import function
from privet.core.rounding import float_down

from . import compose, convert, gdp
from .calibrate import HasEvent, event_made, read_start
from .cost import loss_epsilon
from .search import least

Theorem = Callable[[Event, Fraction], float]
"""From an event and a delta to an upper bound on epsilon; infinite where it says nothing."""


def by_theorem(event: Event, delta: Number) -> dict[str, float]:
    """Return an upper bound on epsilon at delta for each theorem that says anything about the event.

    Keys: "basic", "advanced" (Dwork, Rothblum, Vadhan), "advanced-kov" (Kairouz, Oh, Viswanath, closed form),
    "optimal", "zcdp", "renyi", "gaussian" (all parts Gaussian) and "pld". Infinite figures are left out.

    Guarantee: every figure holds, for parts whose costs were fixed in advance.
    """
    allowed = failure_probability(delta)
    read_event(event)
    figures: dict[str, float] = {}
    for name, theorem in _THEOREMS.items():
        try:
            figure = theorem(event, allowed)
        except Unsupported:
            continue
        if figure < math.inf:
            figures[name] = figure
    return figures


def calibrate_by_theorem(
    make: Callable[[float], HasEvent], epsilon: Number, delta: Number, *, times: int = 1, start: float = 1.0
) -> dict[str, float]:
    """Return for each theorem the least noise, to one part in a million, at which it proves (epsilon, delta)-DP.

    `make` takes a number of which more means more noise. A theorem that proves nothing at 2**40 times `start` is left
    out.

    Guarantee: at each figure, its theorem bounds the cost of `times` releases by epsilon at delta.
    """
    bound, allowed = float_down(positive(epsilon, "epsilon")), failure_probability(delta)
    made, first, count = function(make, "make"), read_start(start), whole(times, "times", least=1, most=10**18)

    def proves(theorem: Theorem, noise: float) -> bool:
        return theorem(Repeated(event_made(made, noise), count), allowed) <= bound

    figures: dict[str, float] = {}
    for name, theorem in _THEOREMS.items():
        try:
            enough = next((x for x in (first * 2.0**k for k in range(41)) if proves(theorem, x)), None)
            if enough is not None:
                figures[name] = least(partial(proves, theorem), enough * 2.0**-30, enough, relative=1e-6)
        except Unsupported:
            continue
    return figures


def _zcdp(event: Event, allowed: Fraction) -> float:
    rho, rest = event.rho(), allowed - event.slack()
    return convert.rho_epsilon(rho, rest) if isinstance(rho, Fraction) and rest >= 0 else math.inf


def _renyi(event: Event, allowed: Fraction) -> float:
    rest = allowed - event.slack()
    return convert.rdp_epsilon(event.rdp, rest) if rest > 0 else math.inf


_THEOREMS: dict[str, Theorem] = {
    "basic": compose.basic,
    "advanced": compose.advanced,
    "advanced-kov": compose.advanced_kov,
    "optimal": compose.optimal,
    "zcdp": _zcdp,
    "renyi": _renyi,
    "gaussian": gdp.event_epsilon,
    "pld": loss_epsilon,
}
