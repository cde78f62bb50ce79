"""How a sparse vector's epsilon is divided among its noises, and how wrong its answers can be. Public facts only."""

from __future__ import annotations

import math
from fractions import Fraction

from privet.accounting.compose import optimal
from privet.accounting.events import PureEvent
from privet.accounting.gdp import log_down
from privet.accounting.search import least, most
from privet.core.errors import BadParameter
from privet.core.event import Repeated
from privet.core.exact import positive, rational, whole
from privet.core.given import choice
from privet.core.rounding import sqrt_up
from privet.core.sensitivity import Sensitivity

MOST_CROSSINGS = 10**9
_SHARE_STEPS = 2**40
_NODES = 20
_ROOM = Fraction(1, 10**8)
"""Kept free, so that accountants which compose the same event on a grid come to no more than was asked for."""

_LOG_TWO = math.log(2)
_FEWEST = 1e-11
"""Failure probabilities below this are bounded in closed form: a quadrature has no digits for them."""


def read_facts(
    threshold: object, limit: object, sensitivity: object, monotone: object, grid: object
) -> tuple[Fraction, int, Fraction]:
    """Return threshold, limit and sensitivity, or say which of the public facts of a sparse vector makes no sense."""
    if isinstance(sensitivity, Sensitivity):
        sensitivity = sensitivity.l1
    bar, distance = rational(threshold, "threshold"), positive(sensitivity, "sensitivity")
    count = whole(limit, "limit", least=1, most=MOST_CROSSINGS)
    if not isinstance(monotone, bool):
        raise BadParameter("monotone", monotone, "True or False")
    grid = choice(grid, "grid", ("whole", "fine"))
    if grid == "whole" and (distance.denominator != 1 or bar.denominator != 1):
        raise BadParameter("grid", grid, "'fine', because the threshold or the sensitivity is not a whole number")
    return bar, count, distance


def best_share(weight: int) -> Fraction:
    """Return the threshold noise's share of epsilon, 1 / (1 + w^(2/3)), with w = c, or 2 c if not monotone.

    It minimises the variance of the comparison, 2/e1^2 + 2 w^2/e2^2 in units of the sensitivity. It is rounded, which
    is no concern: any share keeps the promise.

    Cites: [LSL17, the best division].
    """
    share = 1 / (1 + math.cbrt(weight) ** 2)
    return Fraction(max(1, round(share * _SHARE_STEPS)), _SHARE_STEPS)


def comparison_variance(epsilon: Fraction, weight: int) -> float:
    """Return the variance of threshold noise minus query noise under the best share, per squared sensitivity."""
    return 2 * (1 + math.cbrt(weight) ** 2) ** 3 / float(epsilon) ** 2


def epsilon_each(epsilon: Fraction, delta: Fraction, times: int) -> Fraction:
    """Return the largest epsilon that may be spent so many times within (epsilon, delta), by optimal composition.

    Guarantee: that many epsilon_each-DP releases, chosen adaptively, are together (epsilon, delta)-DP.
    Cites: [KOV15, optimal composition].
    """
    aim = epsilon * (1 - _ROOM)

    def holds(each: float) -> bool:
        return optimal(Repeated(PureEvent(Fraction(each)), times), delta) <= aim

    return Fraction(most(holds, float(aim / times) * (1 - 2.0**-50), float(epsilon), relative=1e-9))


def printed_scale(epsilon: Fraction, limit: int, delta: Fraction, *, numeric: bool = False) -> Fraction:
    """Return the textbook's sigma: 2c / epsilon, or sqrt(32 c ln(1/delta)) / epsilon where delta > 0, rounded up.

    With numeric answers, delta is halved between them and the crossings.

    Cites: [DR14, Alg. 2 and 3].
    """
    if delta == 0:
        return 2 * limit / epsilon
    tail = Fraction(-log_down(delta / (2 if numeric else 1)) * (1 + 2.0**-40))
    return sqrt_up(32 * limit * tail) / epsilon


def accuracy(threshold_scale: float, query_scale: float, queries: int, beta: Fraction) -> float:
    """Return alpha such that, except with probability beta, no comparison is wrong by more than alpha.

    Each of k queries can be wrong in one direction only: above T + alpha and reported below, or the reverse. If s of
    them are of the first kind, the chance of no mistake is E[F(alpha + r)^(k-s) F(alpha - r)^s] over the threshold
    noise r, F being the query noise's distribution function. That is convex in s and symmetric about k/2, so s = k/2
    is the worst, and alpha solves E[(F(alpha + r) F(alpha - r))^(k/2)] = 1 - beta.

    Cites: [DR14, Thm 3.24], whose alpha is never less.
    """
    most_wrong = threshold_scale * (_LOG_TWO - log_down(beta)) + query_scale * (math.log(2 * queries) - log_down(beta))
    if beta < _FEWEST:
        return most_wrong
    ratio = query_scale / threshold_scale
    found = least(lambda alpha: _failure(alpha, ratio, queries) <= beta, 0.0, most_wrong / threshold_scale)
    return threshold_scale * found * (1 + 1e-9)


def _failure(alpha: float, ratio: float, queries: int) -> float:
    """Return 1 - E[(F(alpha + r) F(alpha - r))^(k/2)] in units of the threshold noise, to about 1e-13."""
    import numpy as np

    # panels: dyadic around 0 for the density of r, and even ones where F(alpha - r)^k turns from 1 to 0
    turning = alpha + ratio * np.arange(-60.0, 41.0)
    edges = np.concatenate([[0.0, alpha], 2.0 ** np.arange(-12, 6), [64.0], turning, np.linspace(1, 64, 64)])
    edges = np.unique(np.clip(edges, 0.0, 64.0))
    points, weights = np.polynomial.legendre.leggauss(_NODES)
    half = np.diff(edges)[:, None] / 2
    r = edges[:-1, None] + half * (points + 1)
    far, near = (alpha + r) / ratio, (alpha - r) / ratio
    log_far = np.log1p(-np.exp(-far) / 2)
    log_near = np.where(near >= 0, np.log1p(-np.exp(-np.abs(near)) / 2), near - math.log(2))
    wrong = -np.expm1(queries / 2 * (log_far + log_near))
    return float((half * weights * np.exp(-r) * wrong).sum() + math.exp(-64))
