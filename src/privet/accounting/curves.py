"""Renyi curves and zCDP parameters of binary randomised response and of finite pairs, without cancellation.

Every value is rounded up. Orders are above 1; the supremum of a curve over its order is never taken on a grid.
"""

from __future__ import annotations

import math
from decimal import Context, Decimal, localcontext
from fractions import Fraction

from privet.core.event import Exact
from privet.core.rounding import float_up, inflate, log_up

_DIGITS = 60
_TINY = Fraction(1, 10**10)
_STEEP = 600.0
"""Beyond this exponent the hyperbolic form could overflow, and the exponential one no longer cancels."""


def response_rho(epsilon: Exact) -> Exact:
    """Return the zCDP parameter of binary randomised response, epsilon tanh(epsilon / 2), rounded up.

    The divergence of order a is epsilon times the mean of tanh over [e/2, (a - 1/2) e]. As tanh is concave there, the
    mean is at most tanh(a e / 2), its value at the middle, and that is at most a tanh(e / 2).

    Guarantee: holds for every epsilon-DP release, since randomised response dominates them all, and is attained
    as the order falls to 1. It is below epsilon**2 / 2.
    Cites: [KOV15, the worst pair], [HM25], [BS16, Prop. 1.4].
    """
    if isinstance(epsilon, float):
        return epsilon
    square = epsilon**2 / 2
    if epsilon < _TINY:  # the two differ by less than one part in 10**20
        return square
    with localcontext(Context(prec=_DIGITS)):
        exact = Decimal(epsilon.numerator) / Decimal(epsilon.denominator)
        power = (-exact).exp()
        value = exact * (1 - power) / (1 + power)
    return min(square, epsilon, Fraction(value) * (1 + Fraction(1, 10**40)))


def response_rdp(epsilon: Exact, order: float) -> float:
    """Return the Renyi divergence of binary randomised response, rounded up.

    With a the order, ln[cosh((a - 1/2) e) / cosh(e / 2)] / (a - 1), where the ratio of the two is
    1 + 2 sinh(a e / 2) sinh((a - 1) e / 2) / cosh(e / 2).

    Guarantee: holds for every epsilon-DP release.
    Cites: [Mir17, Prop. 5], [KOV15, the worst pair].
    """
    loss = float_up(epsilon)
    if not 0 < loss < math.inf:
        return loss
    above = order - 1
    if order * loss < _STEEP:
        excess = 2 * math.sinh(order * loss / 2) * math.sinh(above * loss / 2) / math.cosh(loss / 2)
        curve = math.log1p(excess) / above
    else:
        gap = math.log1p(math.exp(-loss)) - math.log1p(math.exp(-(2 * order - 1) * loss))
        curve = loss - gap / above
    # what underflows is off by at most the least double, and is no cost of zero
    return min(loss, inflate(curve) + math.ulp(0.0) * (1 + 1 / above))


def finite_pure(p: tuple[Fraction, ...], q: tuple[Fraction, ...]) -> Exact:
    """Return the largest logarithm of a ratio of two finite distributions, over both directions, rounded up."""
    up, down = _extremes(p, q), _extremes(q, p)
    return max(up, down)


def finite_rho(p: tuple[Fraction, ...], q: tuple[Fraction, ...]) -> Exact:
    """Return a zCDP parameter of two finite distributions: from their largest loss or from the range of losses.

    Guarantee: an upper bound; losses within an interval of length r are r**2 / 8 zCDP.
    Cites: [CR21], [DDR20].
    """
    up, down = _extremes(p, q), _extremes(q, p)
    if isinstance(up, float) or isinstance(down, float):
        return math.inf
    return min(Fraction(response_rho(max(up, down))), (up + down) ** 2 / 8)


def finite_rdp(p: tuple[Fraction, ...], q: tuple[Fraction, ...], order: float) -> float:
    """Return the larger Renyi divergence of two finite distributions, over both directions, rounded up.

    Guarantee: exact up to rounding; infinite where one gives weight to what the other excludes.
    Cites: [Mir17, Def. 3].
    """
    return max(_one_way(p, q, order), _one_way(q, p, order))


def _one_way(p: tuple[Fraction, ...], q: tuple[Fraction, ...], order: float) -> float:
    # sum p^a q^(1-a) = 1 + (a - 1) sum q g(d),  d = p/q - 1,  g(d) = [(1 + d)^a - 1 - a d] / (a - 1) >= 0:
    # the linear part sums to nothing, so dropping it leaves only positive terms.
    above = order - 1
    terms: list[float] = []
    steep: list[float] = []
    for there, here in zip(p, q, strict=True):
        if here == 0:
            if there > 0:
                return math.inf
            continue
        if there == 0:
            terms.append(float_up(here))  # g(-1) = (a - 1) / (a - 1)
            continue
        slope = _log_ratio(there, here)
        if order * slope > _STEEP:
            steep.append(_log_ratio(here, Fraction(1)) + order * slope)
        else:
            terms.append(float_up(here) * _convex(float(there / here - 1), slope, order))
    plain = math.fsum(terms)
    if not steep:
        return inflate(math.log1p(above * plain) / above)
    top = max(steep)
    if math.isinf(top):
        return float_up(_extremes(p, q))  # at orders beyond all doubles: the largest loss, which bounds every order
    total = math.fsum(math.exp(value - top) for value in steep) + above * plain * math.exp(-top)
    return inflate((top + math.log(total)) / above)


def _convex(excess: float, slope: float, order: float) -> float:
    if abs(excess) * max(order, 2.0) < 0.05:
        # a d^2 / 2 (1 + (a - 2) d / 3 (1 + (a - 3) d / 4 (...))), each factor below 0.05 in size
        value = 1.0
        for k in range(14, 2, -1):
            value = 1 + (order - k + 1) * excess / k * value
        return order * excess * excess / 2 * value
    above = order - 1
    return (1 + excess) * math.expm1(above * slope) / above - excess


def _log_ratio(above: Fraction, below: Fraction) -> float:
    ratio = above / below
    if Fraction(1, 2) < ratio < 2:
        return math.log1p(float(ratio - 1))
    return math.log(ratio.numerator) - math.log(ratio.denominator)


def _extremes(p: tuple[Fraction, ...], q: tuple[Fraction, ...]) -> Exact:
    pairs = [(there, here) for there, here in zip(p, q, strict=True) if there > 0]
    if any(here == 0 for _, here in pairs):
        return math.inf
    return log_up(max(there / here for there, here in pairs))
