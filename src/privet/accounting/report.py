"""Epsilon by every theorem that applies, side by side, for tables and pictures. It adds no theorem of its own."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

from privet.core.errors import Unsupported
from privet.core.event import Event
from privet.core.exact import Number, failure_probability

from . import compose, convert, gdp


def by_theorem(event: Event, delta: Number) -> dict[str, float]:
    """Return an upper bound on epsilon at delta for each theorem that says anything about the event.

    Keys: "basic", "advanced" (Dwork, Rothblum, Vadhan), "advanced-kov" (Kairouz, Oh, Viswanath, closed form),
    "optimal", "zcdp", "renyi", "gaussian" (all parts Gaussian) and "pld". Infinite figures are left out.

    Guarantee: every figure holds, for parts whose costs were fixed in advance.
    """
    allowed = failure_probability(delta)
    figures: dict[str, float] = {}
    for name, theorem in _THEOREMS.items():
        try:
            figure = theorem(event, allowed)
        except Unsupported:
            continue
        if figure < math.inf:
            figures[name] = figure
    return figures


def _zcdp(event: Event, allowed: Fraction) -> float:
    rho, rest = event.rho(), allowed - event.slack()
    return convert.rho_epsilon(rho, rest) if isinstance(rho, Fraction) and rest >= 0 else math.inf


def _renyi(event: Event, allowed: Fraction) -> float:
    rest = allowed - event.slack()
    return convert.rdp_epsilon(event.rdp, rest) if rest > 0 else math.inf


_THEOREMS: dict[str, Callable[[Event, Fraction], float]] = {
    "basic": compose.basic,
    "advanced": compose.advanced,
    "advanced-kov": compose.advanced_kov,
    "optimal": compose.optimal,
    "zcdp": _zcdp,
    "renyi": _renyi,
    "gaussian": gdp.event_epsilon,
}
