"""Conversions between zCDP, Renyi curves and (epsilon, delta), always by the tight formula.

At every order a, a Renyi divergence r implies (epsilon, delta) with

    ln delta = (a - 1)(r - epsilon) + (a - 1) ln(a - 1) - a ln a.

Each order's bound is valid on its own, so a search over orders can be imprecise but never wrong. For a given epsilon
the right side is convex in a, since (a - 1) r(a) is; hence epsilon for a given delta has a single valley.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

from privet.core.errors import BadParameter
from privet.core.event import Exact
from privet.core.given import called, function
from privet.core.numbers import (
    Number,
    failure_probability,
    float_down,
    float_up,
    inflate,
    least,
    lowest,
    most,
    nonnegative,
    read_rational,
)

from .gdp import log_down

Curve = Callable[[float], float]
"""A Renyi divergence for each order above 1."""

_UNIT = 2.0**-49
"""Allowance for each term of a sum that was computed in floating point, relative to the term."""

_LEAST_ABOVE, _MOST_ABOVE = -30.0, 60.0
"""The range of log2(order - 1) that searches consider."""


def rho_epsilon(rho: Number, delta: Number) -> float:
    """Return the least epsilon that rho-zCDP is known to imply at delta, rounded up; infinite at delta 0.

    Args:
        rho: the zCDP parameter.
        delta: the probability with which the loss may exceed epsilon.

    Example:
        >>> round(accounting.rho_epsilon(0.1, 1e-6), 3)
        2.142

    Guarantee: rho-zCDP implies (epsilon, delta)-DP.
    Cites: [CKS20, Prop. 12].
    """
    exact, allowed = nonnegative(rho, "rho"), failure_probability(delta)
    if exact == 0:
        return 0.0
    if allowed == 0:
        return math.inf
    cost, logarithm = float_up(exact), log_down(allowed)
    # epsilon(a) = a rho + ln(1 - 1/a) - (ln delta + ln a)/(a - 1) has derivative zero where
    # rho (a - 1)^2 + ln a = ln(1/delta), whose left side rises with a.
    above = least(lambda x: cost * x * x + math.log1p(x) >= -logarithm, 0.0, _root_bound(cost, logarithm))
    order = _order(above)
    return max(0.0, order_epsilon(cost * order * (1 + _UNIT), order, logarithm))


def rho_delta(rho: Number, epsilon: Number) -> float:
    """Return the least delta that rho-zCDP is known to imply at epsilon, rounded up.

    Args:
        rho: the zCDP parameter.
        epsilon: the privacy loss, at least 0.

    Example:
        >>> round(accounting.rho_delta(0.1, 1), 4)
        0.0089

    Guarantee: rho-zCDP implies (epsilon, delta)-DP.
    Cites: [CKS20, Cor. 13].
    """
    exact, bound = nonnegative(rho, "rho"), nonnegative(epsilon, "epsilon")
    if exact == 0:
        return 0.0
    return _probability(_rho_log_delta(float_up(exact), float_down(bound)))


def rho_from(epsilon: Number, delta: Number) -> float:
    """Return the largest rho for which rho-zCDP is known to imply (epsilon, delta)-DP, rounded down.

    Args:
        epsilon: the privacy loss, at least 0.
        delta: the probability with which the loss may exceed epsilon.

    Example:
        >>> round(accounting.rho_from(1, 1e-6), 5)
        0.02436

    Guarantee: rho-zCDP implies (epsilon, delta)-DP.
    Cites: [CKS20, Cor. 13].
    """
    bound, allowed = nonnegative(epsilon, "epsilon"), failure_probability(delta)
    if allowed == 0:
        raise BadParameter("delta", delta, "above 0 and below 1: no zCDP guarantee reaches delta 0")
    target, limit = log_down(allowed), float_down(bound)
    # delta is increasing in rho, and above that of a Gaussian of the same rho, which tends to 1.
    enough = 1.0
    while _rho_log_delta(enough, limit) <= target:
        enough *= 2
    return most(lambda rho: rho == 0 or _rho_log_delta(rho, limit) <= target, 0.0, enough)


def rdp_epsilon(curve: Curve, delta: Number) -> float:
    """Return the least epsilon found for a Renyi curve at delta, rounded up; infinite at delta 0.

    Args:
        curve: returns the Renyi divergence of an order.
        delta: the probability with which the loss may exceed epsilon.

    Example:
        >>> round(accounting.rdp_epsilon(lambda order: order / 8, 1e-6), 3)
        2.419

    Guarantee: a release with this curve is (epsilon, delta)-DP, whatever orders the search looked at.
    Cites: [CKS20, Prop. 12].
    """
    return best_order(curve, delta)[0]


def best_order(curve: Curve, delta: Number) -> tuple[float, float]:
    """Return the least epsilon found for a Renyi curve at delta, and the order that yields it."""
    allowed, divergence = failure_probability(delta), _read_curve(curve)
    if allowed == 0:
        return math.inf, math.inf
    logarithm = log_down(allowed)

    def epsilon_at(exponent: float) -> float:
        order = 1 + 2.0**exponent
        return order_epsilon(divergence(order), order, logarithm)

    exponent = _valley(epsilon_at)
    return max(0.0, epsilon_at(exponent)), 1 + 2.0**exponent


def rdp_delta(curve: Curve, epsilon: Number) -> float:
    """Return the least delta found for a Renyi curve at epsilon, rounded up.

    Args:
        curve: returns the Renyi divergence of an order.
        epsilon: the privacy loss, at least 0.

    Example:
        >>> round(accounting.rdp_delta(lambda order: order / 8, 1), 5)
        0.01799

    Guarantee: a release with this curve is (epsilon, delta)-DP, whatever orders the search looked at.
    Cites: [CKS20, Prop. 12].
    """
    bound, divergence = float_down(nonnegative(epsilon, "epsilon")), _read_curve(curve)

    def log_delta_at(exponent: float) -> float:
        order = 1 + 2.0**exponent
        return _order_log_delta(divergence(order), order, bound)

    return _probability(min(0.0, log_delta_at(_valley(log_delta_at))))


def _read_curve(curve: Callable[[float], float]) -> Curve:
    """Return a caller's curve, every value of which is checked to be a possible divergence."""
    given = function(curve, "curve", "a function of an order that returns a Renyi divergence")

    def divergence(order: float) -> float:
        value = called(given, "curve", order)
        if isinstance(value, float) and value >= 0:
            return value
        exact = read_rational(value)
        if exact is None or exact < 0:
            raise BadParameter("curve", value, "a function of an order that returns numbers of at least 0")
        return float_up(exact)

    return divergence


def order_epsilon(divergence: float, order: float, log_delta: float) -> float:
    """Return epsilon from a Renyi divergence at one order: r + ln(1 - 1/a) - (ln delta + ln a)/(a - 1), rounded up.

    Guarantee: divergence at most `divergence` implies (epsilon, delta)-DP; a negative value means epsilon 0.
    Cites: [CKS20, Prop. 12].
    """
    above = order - 1
    gain = math.log1p(-1 / order) if order > 2 else math.log(above) - math.log(order)
    logarithm = math.log(order)
    size = divergence - gain + (logarithm - log_delta) / above
    return divergence + gain - (log_delta + logarithm) / above + _UNIT * size


def order_budget(epsilon: Exact, order: float, log_delta: float) -> float:
    """Return the largest Renyi divergence at one order that `order_epsilon` turns into at most epsilon, rounded down.

    Negative where the order implies nothing at all.
    """
    return float_down(Fraction(float_down(epsilon)) - Fraction(order_epsilon(0.0, order, log_delta))) * (1 - _UNIT)


def _order_log_delta(divergence: float, order: float, epsilon: float) -> float:
    above = order - 1
    logarithm, small = math.log(order), math.log(above)
    # (a - 1) ln(a - 1) - a ln a = (a - 1) ln(1 - 1/a) - ln a, the first form losing digits for large a
    entropy = above * math.log1p(-1 / order) if order > 2 else above * (small - logarithm)
    value = above * (divergence - epsilon) + entropy - logarithm
    return value + _UNIT * (above * (divergence + epsilon) + logarithm - entropy)


def _rho_log_delta(rho: float, epsilon: float) -> float:
    # The derivative of ln delta in a, (2 a - 1) rho - epsilon + ln(1 - 1/a), rises with a.
    def risen(above: float) -> bool:
        return (2 * above + 1) * rho - epsilon - math.log1p(1 / above) >= 0

    high = 1.0
    while not risen(high):
        high *= 2
    above = least(risen, 2.0**-1000, high)
    order = _order(above)
    return min(0.0, _order_log_delta(rho * order * (1 + _UNIT), order, epsilon))


def _order(above: float) -> float:
    return max(1 + above, math.nextafter(1.0, 2.0))


def _root_bound(rho: float, log_delta: float) -> float:
    return math.sqrt(-log_delta / rho) * (1 + _UNIT) + 2.0**-1074


def _valley(value: Callable[[float], float]) -> float:
    # A coarse look first, so that a curve with more than one valley does not trap the golden section.
    centre = min(range(-8, 33, 4), key=value)
    step = 4.0
    left, right = centre - step, centre + step
    while left > _LEAST_ABOVE and value(left) < value(left + step):
        left, right = left - step, left + step
    while right < _MOST_ABOVE and value(right) < value(right - step):
        left, right = right - step, right + step
    return lowest(value, left, right, steps=30)


def _probability(logarithm: float) -> float:
    return min(1.0, inflate(max(math.exp(logarithm), 2.0**-1074)))
