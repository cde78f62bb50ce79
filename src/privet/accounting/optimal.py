"""The optimal composition of (epsilon, delta) mechanisms: what randomised response, which is the worst of them, costs.

The losses of composed randomised responses are sums of +-epsilon_i. Equal parts make few distinct sums, and these are
enumerated; the result is then exact up to rounding. Beyond that, the privacy loss distribution of the same randomised
responses gives a proven upper bound, and a lower one beside it.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

from privet.core.event import Composed, Event, Repeated
from privet.core.exact import Number, failure_probability, nonnegative
from privet.core.rounding import float_down, float_up, inflate

from . import pld
from .events import ApproximateEvent
from .parts import Part, delta_left, parts, survival_log
from .search import least

if TYPE_CHECKING:
    from privet.core.pair import Floats

_MOST_LOSSES = 2**18
_MOST_TIMES = 10**7
_LEAST_WEIGHT = 2.0**-1022
"""Losses less likely than this, next to the likeliest one, are counted as infinite."""


def optimal(event: Event, delta: Number) -> float:
    """Return the least epsilon that holds for every composition of mechanisms with the parts' parameters, rounded up.

    Guarantee: the event is (epsilon, delta)-DP, its parts chosen adaptively with costs fixed in advance, and no
    smaller epsilon holds for all such mechanisms. Exact where the distinct losses can be enumerated, and otherwise the
    upper end of `optimal_bounds`.
    Cites: [KOV15, optimal composition], [MV16, unequal parts].
    """
    return optimal_bounds(event, delta)[1]


def optimal_bounds(event: Event, delta: Number) -> tuple[float, float]:
    """Return the optimal epsilon between bounds: equal where losses can be enumerated, else within about 0.05%."""
    allowed, every = failure_probability(delta), parts(event)
    if every is None:
        return math.inf, math.inf
    rest = delta_left(every, allowed)
    if rest < 0:
        return math.inf, math.inf
    total = float_up(sum((part.times * part.epsilon for part in every), Fraction(0)))
    if rest == 0 or total == 0:
        return total, total
    try:
        losses = _Losses(every)
    except _TooMany:
        low, high = pld.epsilon_bounds(_responses(every), allowed)
        return low, min(high, total)
    exact = least(lambda epsilon: epsilon >= total or losses.delta(epsilon) <= rest, 0.0, total)
    return exact, exact


def optimal_delta(event: Event, epsilon: Number) -> float:
    """Return the least delta that holds for every composition of mechanisms with the parts' parameters, rounded up.

    Guarantee: with k parts of equal (e, d), delta is 1 - (1 - d)^k (1 - sum over l of
    C(k, l) [exp(l e) - exp(epsilon + (k - l) e)]_+ / (1 + exp(e))^k); with unequal parts, the same over their sums.
    Cites: [KOV15, optimal composition], [MV16, unequal parts].
    """
    bound, every = nonnegative(epsilon, "epsilon"), parts(event)
    if every is None:
        return 1.0
    spent = sum((part.times * part.delta for part in every), Fraction(0))
    total = sum((part.times * part.epsilon for part in every), Fraction(0))
    try:
        inner = 0.0 if bound >= total else _Losses(every).delta(float_down(bound))
    except _TooMany:
        return pld.pld_delta(_responses(every), bound)
    survive = survival_log(every)
    failed = -math.expm1(survive)
    return min(1.0, inflate(failed + math.exp(survive) * inner), float_up(spent + Fraction(inner)))


class _TooMany(Exception):
    """The distinct losses are too many to enumerate."""


def _responses(every: tuple[Part, ...]) -> Composed:
    return Composed(tuple(Repeated(ApproximateEvent(part.epsilon, part.delta), part.times) for part in every))


class _Losses:
    """Every sum of +-epsilon_i, with its probability when the data holds the unit."""

    def __init__(self, every: tuple[Part, ...]) -> None:
        import numpy as np

        times: dict[Fraction, int] = {}
        for part in every:
            if part.epsilon > 0:
                times[part.epsilon] = times.get(part.epsilon, 0) + part.times
        loss, probability, self.infinite = np.zeros(1), np.ones(1), 0.0
        for epsilon, count in sorted(times.items()):
            step, weight = _binomial(epsilon, count)
            self.infinite += _LEAST_WEIGHT * (count + 1 - step.size)
            if loss.size * step.size > _MOST_LOSSES:
                raise _TooMany
            loss = np.add.outer(loss, step).ravel()
            probability = np.multiply.outer(probability, weight).ravel()
        count = sum(times.values())
        # Losses are moved up by what rounding may have taken, and probabilities by what the products may have lost.
        self.loss = loss + 2.0**-50 * float_up(sum((n * e for e, n in times.items()), Fraction(0)))
        self.probability = probability * (1 + 2.0**-50 * (count + 64))

    def delta(self, epsilon: float) -> float:
        """Return an upper bound on the sum of p (1 - exp(epsilon - loss)) over the losses above epsilon."""
        import numpy as np

        beyond = self.loss > epsilon
        part: float = np.sum(self.probability[beyond] * -np.expm1(epsilon - self.loss[beyond]))
        return float(part) * (1 + 2.0**-45) + self.infinite


def _binomial(epsilon: Fraction, times: int) -> tuple[Floats, Floats]:
    # The chance of l truths among `times`, built outwards from the likeliest l by the ratio of neighbours.
    import numpy as np

    if times > _MOST_TIMES:
        raise _TooMany
    lie = math.exp(-float(epsilon))
    middle = min(times, math.floor((times + 1) / (1 + lie)))
    up = np.arange(middle, times)
    down = np.arange(middle, 0, -1)
    with np.errstate(under="ignore"):
        rising = np.cumprod((times - up) / ((up + 1) * lie)) if up.size else np.zeros(0)
        falling = np.cumprod(down * lie / (times - down + 1))
    weight = np.concatenate([falling[::-1], np.ones(1), rising])
    kept = weight >= _LEAST_WEIGHT
    truths, weight = np.arange(times + 1)[kept], weight[kept]
    loss: Floats = np.asarray(2 * truths - times, dtype=np.float64) * float(epsilon)
    return loss, weight / math.fsum(weight)
