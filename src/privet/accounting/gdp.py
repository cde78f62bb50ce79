"""Gaussian differential privacy: the cost of distinguishing N(0, 1) from N(mu, 1), to all digits and in closed form.

With x = epsilon/mu - mu/2, y = epsilon/mu + mu/2 and the Mills ratio R(t) = (1 - Phi(t)) / phi(t),

    delta(epsilon) = Phi(-x) - e^epsilon Phi(-y) = phi(x) (R(x) - R(y)),

because e^epsilon phi(y) = phi(x). The second form never meets e^epsilon, and small differences of R come from its
derivative, so nothing cancels. Everything runs in logarithms: delta may be far below the least double.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction
from functools import lru_cache

from privet.core.errors import BadParameter
from privet.core.event import Event, NoPair
from privet.core.given import listed
from privet.core.numbers import (
    Number,
    exp_up,
    failure_probability,
    float_down,
    float_up,
    inflate,
    least,
    most,
    nonnegative,
    positive,
    sqrt_up,
)

_LOG_ROOT_TWO_PI = 0.5 * math.log(2 * math.pi)
_ROOT_HALF_PI = math.sqrt(math.pi / 2)
_FRACTION_FROM = 3.0
_LEVELS = tuple(float(level) for level in range(60, 0, -1))
"""From here on the continued fraction of R is used; 60 of its levels agree with R to the last digit."""

_FAR = 1e6
"""Beyond this x the bound Phi(-x) <= exp(-x^2 / 2) is used: it is below every allowed delta."""

_STEPS = 20
_CLOSE = 2.0**-39
"""How many steps of Newton's method are tried, and how close to the end of a search they must come."""

_NODES = (
    (0.1834346424956498, 0.3626837833783620),
    (0.5255324099163290, 0.3137066458778873),
    (0.7966664774136267, 0.2223810344533745),
    (0.9602898564975363, 0.1012285362903763),
)
"""The Gauss-Legendre rule with eight points on [-1, 1]: exact to the last digit for R' over a length below 1."""


def gaussian_delta(epsilon: Number, mu: Number) -> float:
    """Return the least delta for which mu-Gaussian DP is (epsilon, delta)-DP, rounded up.

    Args:
        epsilon: the privacy loss, at least 0.
        mu: the parameter of Gaussian DP.

    Example:
        >>> round(accounting.gaussian_delta(1, 0.5), 6)
        0.00683

    Guarantee: exact for the Gaussian mechanism with sensitivity/sigma = mu, up to rounding.
    Cites: [BW18, Thm 8], [DRS22, duality].
    """
    exact, shift = nonnegative(epsilon, "epsilon"), float_up(nonnegative(mu, "mu"))
    if shift == 0:
        return 0.0
    return min(1.0, inflate(max(math.exp(min(0.0, _log_delta(float_down(exact), shift))), 2.0**-1074)))


def gaussian_epsilon(delta: Number, mu: Number) -> float:
    """Return the least epsilon for which mu-Gaussian DP is (epsilon, delta)-DP, rounded up; infinite at delta 0.

    Args:
        delta: the probability with which the loss may exceed epsilon.
        mu: the parameter of Gaussian DP.

    Example:
        >>> round(accounting.gaussian_epsilon(1e-6, 0.5), 4)
        2.2541

    Guarantee: exact for the Gaussian mechanism with sensitivity/sigma = mu, up to rounding.
    Cites: [BW18, Thm 8], [DRS22, duality].
    """
    allowed, shift = failure_probability(delta), float_up(nonnegative(mu, "mu"))
    if shift == 0:
        return 0.0
    if allowed == 0 or math.isinf(shift):
        return math.inf
    target = log_down(allowed)
    # delta <= Pr[loss > epsilon] <= exp(-x^2 / 2) ends the search.
    enough = 2 * (shift * shift / 2 + shift * math.sqrt(-2 * target))
    if math.isinf(enough):
        return math.inf
    return least(lambda epsilon: _log_delta(epsilon, shift) <= target, 0.0, enough)


def gaussian_mu(epsilon: Number, delta: Number) -> float:
    """Return the largest mu for which mu-Gaussian DP is (epsilon, delta)-DP, rounded down.

    Args:
        epsilon: the privacy loss, at least 0.
        delta: the probability with which the loss may exceed epsilon.

    Example:
        >>> round(accounting.gaussian_mu(1, 1e-6), 4)
        0.2367

    Guarantee: exact up to rounding. delta must be above 0: no Gaussian noise is pure.
    Cites: [BW18, Thm 8].
    """
    exact, allowed = nonnegative(epsilon, "epsilon"), failure_probability(delta)
    if allowed == 0:
        raise BadParameter("delta", delta, "above 0 and below 1: Gaussian noise never reaches delta 0")
    return _largest_mu(float_down(exact), log_down(allowed))


@lru_cache(maxsize=1024)  # queries under one budget ask for the same few figures again and again
def _largest_mu(epsilon: float, log_delta: float) -> float:
    # As mu grows delta tends to 1, and at mu = 0 it is 0: both ends are certain.
    enough = 1.0
    while _log_delta(epsilon, enough) <= log_delta:
        enough *= 2
    below, above = _around(epsilon, log_delta, enough)

    def allows(mu: float) -> bool:
        return mu <= below or (mu < above and _log_delta(epsilon, mu) <= log_delta)

    return most(allows, 0.0, enough)


def _around(epsilon: float, log_delta: float, enough: float) -> tuple[float, float]:
    """Return a mu that is certainly allowed, and a larger one that certainly is not: within 2**-38 of each other, or 0
    and `enough`.

    Newton's method on ln delta over ln mu, whose slope is mu phi(x) / delta, from below: delta <= exp(-x^2 / 2). What
    is computed is off by less than `_error`, which grows more slowly than ln delta falls as mu falls: so all mu below
    one that is allowed by twice that are computed to be allowed, and all above one that is not by as much, not to be.
    """
    far = math.sqrt(-2 * log_delta)
    mu = 2 * epsilon / (math.sqrt(far * far + 2 * epsilon) + far)
    for _ in range(_STEPS):
        if not 0 < mu < enough:
            break
        value = _log_delta(epsilon, mu)
        x = epsilon / mu - mu / 2
        slope = mu * math.exp(max(-700.0, -x * x / 2 - _LOG_ROOT_TWO_PI - value))
        step = (log_delta - value) / max(slope, 1.0)
        mu *= math.exp(min(step, 1.0))
        if abs(step) < _CLOSE / 4:
            below, above = mu * (1 - _CLOSE), mu * (1 + _CLOSE)
            margin = 4 * _error(x, epsilon / mu + mu / 2)
            if _log_delta(epsilon, below) <= log_delta - margin and _log_delta(epsilon, above) >= log_delta + margin:
                return below, above
            break
    return 0.0, enough


def analytic_gaussian_sigma(epsilon: Number, delta: Number, sensitivity: Number = 1) -> float:
    """Return the least sigma for which Gaussian noise is (epsilon, delta)-DP, rounded up.

    Args:
        epsilon: the privacy loss of one release, above 0.
        delta: the probability with which the loss may exceed epsilon.
        sensitivity: the L2 sensitivity.

    Example:
        >>> round(privet.analytic_gaussian_sigma(1, 1e-6), 4)
        4.2247

    Guarantee: N(0, sigma^2) added to a value of this L2 sensitivity is (epsilon, delta)-DP, for every epsilon; it
    speaks of real-valued noise. Noise on a coarse grid needs more.
    Cites: [BW18, Alg. 1].
    """
    shift = positive(sensitivity, "sensitivity")
    mu = gaussian_mu(epsilon, delta)
    return float_up(shift / Fraction(mu)) if mu > 0 else math.inf


def compose_mu(mus: Iterable[Number]) -> float:
    """Return the mu of several Gaussian DP releases together: the root of the sum of squares, rounded up.

    Args:
        mus: the parameters of the releases.

    Example:
        >>> round(accounting.compose_mu([0.3, 0.4]), 6)
        0.5

    Guarantee: exact for Gaussian mechanisms whose parameters are fixed in advance; an upper bound for any others.
    Cites: [DRS22, composition].
    """
    return float_up(
        sqrt_up(sum((nonnegative(mu, "mu") ** 2 for mu in listed(mus, "mus", "a list of numbers")), Fraction(0)))
    )


def event_mu(event: Event) -> tuple[float, float] | None:
    """Return an event's total mu and blur, if every part of it is Gaussian, and None otherwise.

    Guarantee: squares of mu add. A blur b moves densities by factors within e**-b and e**b, outside a set of
    probability below 1e-300, and adds.
    Cites: [DRS22, composition].
    """
    squares, blur = Fraction(0), Fraction(0)
    for atom, times in event.atoms().items():
        try:
            read = getattr(atom.pair(), "gaussian", None)
        except NoPair:
            return None
        if read is None:
            return None
        mu, extra = read()
        squares += times * Fraction(mu) ** 2
        blur += times * Fraction(extra)
    return float_up(sqrt_up(squares)), float_up(blur)


def event_epsilon(event: Event, delta: Number) -> float:
    """Return the epsilon of an event all of whose parts are Gaussian, rounded up; infinite for any other.

    Guarantee: the event is (epsilon, delta)-DP, for parts whose costs were fixed in advance. Without blur, exact.
    With blur b, H'(epsilon) <= e**b H(epsilon - 2 b), and each part's excluded set is added.
    Cites: [DRS22, composition], [BW18, Thm 8].
    """
    allowed, total = failure_probability(delta), event_mu(event)
    if total is None:
        return math.inf
    mu, blur = total
    if blur == 0:
        return gaussian_epsilon(allowed, mu)
    rest = (allowed - sum(event.atoms().values()) * Fraction(1, 10**300)) / exp_up(min(Fraction(blur), Fraction(1)))
    if rest <= 0 or blur > 1:
        return math.inf
    return float_up(Fraction(gaussian_epsilon(rest, mu)) + 2 * Fraction(blur))


def event_delta(event: Event, epsilon: Number) -> float:
    """Return the delta of an event all of whose parts are Gaussian, rounded up; 1 for any other.

    Guarantee: as `event_epsilon`.
    Cites: [DRS22, composition], [BW18, Thm 8].
    """
    exact, total = nonnegative(epsilon, "epsilon"), event_mu(event)
    if total is None:
        return 1.0
    mu, blur = total
    if blur == 0:
        return gaussian_delta(exact, mu)
    moved = exact - 2 * Fraction(blur)
    if moved < 0 or blur > 1:
        return 1.0
    inner = Fraction(gaussian_delta(moved, mu)) * exp_up(Fraction(blur))
    return min(1.0, float_up(inner + sum(event.atoms().values()) * Fraction(1, 10**300)))


def log_down(value: Fraction) -> float:
    """Return a double no larger than the natural logarithm of a rational above 0, and within a few units of it."""
    if Fraction(1, 2) < value < 2:
        logarithm = math.log1p(float_down(value - 1))
        return logarithm - 2.0**-50 * abs(logarithm)
    above, below = math.log(value.numerator), math.log(value.denominator)
    return above - below - 2.0**-50 * (above + below)


def _log_delta(epsilon: float, mu: float) -> float:
    # An upper bound on ln delta(epsilon).
    x, y = epsilon / mu - mu / 2, epsilon / mu + mu / 2
    if x > _FAR:
        return -x * x / 2
    error = _error(x, y)
    if x < 0 and mu >= 1:
        return math.log1p(-_tail(-x) - math.exp(-x * x / 2 - _LOG_ROOT_TWO_PI) * _mills(y)) + error
    difference = mu * _mean_slope(x, mu) if mu < 1 else _mills(x) - _mills(y)
    return math.log(difference) - x * x / 2 - _LOG_ROOT_TWO_PI + error


def _error(x: float, y: float) -> float:
    # Rounding moves x by at most 2**-52 y, and ln phi(x) by |x| times that.
    return 2.0**-44 + 2.0**-50 * (1 + abs(x)) * y


def _mean_slope(x: float, mu: float) -> float:
    # The mean of -R' over [x, x + mu].
    middle, half = x + mu / 2, mu / 2
    pairs = (weight * (_slope(middle - half * node) + _slope(middle + half * node)) for node, weight in _NODES)
    return sum(pairs) / 2


def _slope(t: float) -> float:
    # -R'(t) = 1 - t R(t), and with R(t) = 1/(t + c), c = 1/(t + 2/(t + 3/...)), this is c/(t + c).
    if t < _FRACTION_FROM:
        return 1 - t * _mills(t)
    rest = _rest(t)
    return rest / (t + rest)


def _mills(t: float) -> float:
    if t < _FRACTION_FROM:
        return _ROOT_HALF_PI * math.exp(t * t / 2) * math.erfc(t / math.sqrt(2))
    return 1 / (t + _rest(t))


def _rest(t: float) -> float:
    value = 0.0
    for level in _LEVELS:
        value = level / (t + value)
    return value


def _tail(t: float) -> float:
    return math.erfc(t / math.sqrt(2)) / 2
