"""Composition theorems for (epsilon, delta) parts: basic, advanced, and, from its own module, the optimal one.

They see of each atom only its pure epsilon and its slack, so they hold for any mechanism with those parameters, and
lose to accountants that know the noise. Every figure is an epsilon at a given total delta, rounded up.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

from privet.core.event import Event
from privet.core.exact import Number, failure_probability
from privet.core.rounding import float_up, inflate

from .gdp import log_down
from .optimal import optimal, optimal_bounds, optimal_delta
from .parallel import Parallel, parallel
from .parts import Part, delta_left, parts

__all__ = [
    "Parallel",
    "Part",
    "advanced",
    "advanced_kov",
    "advanced_kov_log",
    "advanced_kov_root",
    "basic",
    "optimal",
    "optimal_bounds",
    "optimal_delta",
    "parallel",
    "parts",
]


def basic(event: Event, delta: Number = 0) -> float:
    """Return the sum of the parts' epsilons; infinite where their deltas add up to more than delta.

    Guarantee: the event is (epsilon, delta)-DP, its parts chosen adaptively.
    Cites: [DR14, Thm 3.16].
    """
    allowed, every = failure_probability(delta), parts(event)
    if every is None or sum(part.times * part.delta for part in every) > allowed:
        return math.inf
    return float_up(sum((part.times * part.epsilon for part in every), Fraction(0)))


def advanced(event: Event, delta: Number) -> float:
    """Return sqrt(2 ln(1/d) sum e^2) + sum e (exp(e) - 1), where d is what the parts' deltas leave of delta.

    Guarantee: the event is (epsilon, delta)-DP, its parts chosen adaptively with costs fixed in advance.
    Cites: [DRV10, Thm III.3]; with unequal parts, since it is above [KOV15, closed forms].
    """
    allowed, every = failure_probability(delta), parts(event)
    if every is None:
        return math.inf
    rest = allowed - sum(part.times * part.delta for part in every)
    if rest <= 0:
        return math.inf
    drift = math.fsum(part.times * float(part.epsilon) * _expm1(part.epsilon) for part in every)
    return inflate(drift + math.sqrt(2 * -log_down(rest) * _squares(every)))


def advanced_kov(event: Event, delta: Number) -> float:
    """Return the least of the three closed forms: the sum, the logarithmic and the root form.

    Guarantee: the event is (epsilon, delta)-DP, its parts chosen adaptively with costs fixed in advance.
    Cites: [KOV15, closed forms].
    """
    every = parts(event)
    if every is None or delta_left(every, failure_probability(delta)) < 0:
        return math.inf
    total = float_up(sum((part.times * part.epsilon for part in every), Fraction(0)))
    return min(total, advanced_kov_log(event, delta), advanced_kov_root(event, delta))


def advanced_kov_log(event: Event, delta: Number) -> float:
    """Return sum e tanh(e/2) + sqrt(2 ln(1/d) sum e^2), where 1 - (1 - d) prod(1 - delta_i) = delta.

    Guarantee: the event is (epsilon, delta)-DP. The fraction (exp(e) - 1)/(exp(e) + 1) is tanh(e/2).
    Cites: [KOV15, closed forms, the third].
    """
    return _kov(event, delta, lambda squares, rest: -math.log(rest))


def advanced_kov_root(event: Event, delta: Number) -> float:
    """Return sum e tanh(e/2) + sqrt(2 ln(exp(1) + sqrt(sum e^2)/d) sum e^2), d as in `advanced_kov_log`.

    Guarantee: the event is (epsilon, delta)-DP.
    Cites: [KOV15, closed forms, the second].
    """
    return _kov(event, delta, lambda squares, rest: math.log(math.e + math.sqrt(squares) / rest))


def _kov(event: Event, delta: Number, logarithm: Callable[[float, float], float]) -> float:
    allowed, every = failure_probability(delta), parts(event)
    rest = -1.0 if every is None else delta_left(every, allowed)
    if every is None or rest <= 0:
        return math.inf
    drift = math.fsum(part.times * float(part.epsilon) * math.tanh(float(part.epsilon) / 2) for part in every)
    squares = _squares(every)
    return inflate(drift + math.sqrt(2 * squares * logarithm(squares, rest)))


def _squares(every: tuple[Part, ...]) -> float:
    return float_up(sum((part.times * part.epsilon**2 for part in every), Fraction(0)))


def _expm1(epsilon: Fraction) -> float:
    return math.expm1(float_up(epsilon)) if epsilon < 700 else math.inf
