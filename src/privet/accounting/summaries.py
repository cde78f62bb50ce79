"""A cost in tables and in sentences: epsilon by every theorem that applies, and the promises of a budget."""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction
from functools import partial

from privet.core.budget import Approximate, Budget, Pure, Zcdp
from privet.core.errors import Unsupported
from privet.core.event import Event, Repeated, read_event
from privet.core.given import function
from privet.core.numbers import Number, failure_probability, float_down, inflate, least, positive, whole
from privet.core.unit import Neighbors

from . import compose, convert, gdp
from .convert import rho_epsilon
from .cost import HasEvent, event_made, loss_epsilon, read_start
from .tradeoff import posterior

# The promises of a budget, in sentences that people in the data can read. They claim no more than is proven.


EXAMPLE_DELTA = Fraction(1, 10**6)
"""The delta at which a rho is stated as an epsilon."""

_HARDLY = 0.999


def promise(budget: Budget, *, neighbors: Neighbors = "add-remove", who: str = "one person") -> tuple[str, ...]:
    """Return what all answers under a budget can reveal about one of those it protects, as sentences.

    Guarantee: for who knows all other rows, the odds that a unit is present (add-remove), or that it is one of two
    things (change-one), move by at most e**epsilon, by Bayes' rule; what is seen under (epsilon, delta) can be made
    from what is, with probability 1 - delta, epsilon-DP, and otherwise anything. Under add-remove two versions of a
    unit are two steps apart: 2 epsilon and (1 + e**epsilon) delta. A rho is an (epsilon, delta) for each delta.
    Cites: [KS14], [KOV15, tests], [Vad17, Lemma 2.2], [BS16, Prop. 1.3].
    """
    said = []
    match budget:
        case Pure(epsilon=epsilon):
            delta = Fraction(0)
        case Approximate(epsilon=epsilon, delta=delta):
            pass
        case Zcdp(rho=rho):
            epsilon, delta = Fraction(rho_epsilon(rho, EXAMPLE_DELTA)), EXAMPLE_DELTA
            said.append(
                f"A rho of {_up(float(rho))} is an epsilon for each delta: {_up(float(epsilon))} at a delta of "
                f"{_up(float(delta))}, which the following is about."
            )
    present = neighbors == "add-remove"
    two = f"between any two values that the data of {who} might have"
    said.append(
        f"Seeing all answers, even an observer who knows everything about everyone else can change their odds "
        f"{f'that {who} is in the data' if present else two} by at most a factor of {_factor(epsilon)}"
        f"{_unless(delta)}: "
        f"an even bet becomes at most {_percent(posterior(Fraction(1, 2), epsilon))} sure."
    )
    if present:
        twice = min(1.0, inflate(float(delta) * (1 + _exp(epsilon)))) if delta else 0
        said.append(f"The odds {two} change by at most a factor of {_factor(2 * epsilon)}{_unless(twice)}.")
    if posterior(Fraction(1, 2), epsilon) >= _HARDLY:
        said.append("That is hardly a limit.")
    said.append(
        "What the answers reveal about people in general is not limited: it is learnt with or without any one person."
    )
    return tuple(said)


def _unless(chance: Fraction | float) -> str:
    return f", except with a probability of at most {_up(float(chance))}" if chance else ""


def _factor(epsilon: Fraction) -> str:
    grown = _exp(epsilon)
    return "more than 10 to the 300" if math.isinf(grown) else _up(grown)


def _exp(epsilon: Fraction) -> float:
    return math.inf if epsilon > 690 else inflate(math.exp(float(epsilon)))


def _up(value: float) -> str:
    """Return a number in three digits, rounded up."""
    rounded = Context(prec=3, rounding=ROUND_CEILING).create_decimal(Decimal(repr(value)))
    return f"{float(rounded):,.3g}" if float(rounded) < 1000 else f"{float(rounded):,.0f}"


def _percent(share: float) -> str:
    return f"{min(100.0, math.ceil(share * 1000) / 10):g}%"


# Epsilon by every theorem that applies, side by side, for tables and pictures. It adds no other theorem.


Theorem = Callable[[Event, Fraction], float]
"""From an event and a delta to an upper bound on epsilon; infinite where it proves none."""


def by_theorem(event: Event, delta: Number) -> dict[str, float]:
    """Return an upper bound on epsilon at delta for each theorem that applies to the event.

    Keys: "basic", "advanced" (Dwork, Rothblum, Vadhan), "advanced-kov" (Kairouz, Oh, Viswanath, closed form),
    "optimal", "zcdp", "renyi", "gaussian" (all parts Gaussian) and "pld". Infinite figures are left out.

    Args:
        event: an `Event`, such as `mechanism.event`.
        delta: the probability with which the loss may exceed epsilon.

    Example:
        >>> laplace = privet.Laplace(sensitivity=1, epsilon=0.5).event
        >>> accounting.by_theorem(accounting.Repeated(laplace, 2), 1e-6)["basic"]
        1.0

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

    Args:
        make: returns a mechanism for a number.
        epsilon: the privacy loss, at least 0.
        delta: the probability with which the loss may exceed epsilon.
        times: how often the event is repeated.
        start: the number that the search starts from.

    Example:
        >>> make = lambda scale: privet.Laplace(sensitivity=1, scale=scale)
        >>> round(accounting.calibrate_by_theorem(make, 1, 1e-6)["basic"], 3)
        1.0

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
