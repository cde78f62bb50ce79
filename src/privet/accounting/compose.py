"""Composition theorems for (epsilon, delta) parts: basic, advanced, and, from its own module, the optimal one.

They use of each atom only its pure epsilon and its slack, so they apply to any mechanism with those parameters, and
lose to accountants that know the noise. Every figure is an epsilon at a given total delta, rounded up.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from privet.core.event import Atom, Composed, Event, Exact, NoPair, Pair, Repeated, add_up, read_event, read_events
from privet.core.given import set_fields
from privet.core.numbers import (
    Number,
    failure_probability,
    float_down,
    float_up,
    inflate,
    least,
    nonnegative,
    read_order,
)
from privet.core.unit import Neighbors, read_neighbors

from .events import ApproximateEvent
from .gdp import log_down
from .pld import bounds as pld

if TYPE_CHECKING:
    from privet.core.event import Floats

__all__ = [
    "ApproximatePart",
    "Parallel",
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


# An event in composition theorems: a number of (epsilon, delta) mechanisms, and their remainder of delta.


@dataclass(frozen=True)
class ApproximatePart:
    """Equal (epsilon, delta) mechanisms, a number of times."""

    epsilon: Fraction
    delta: Fraction
    times: int


def parts(event: Event) -> tuple[ApproximatePart, ...] | None:
    """Return the parts of an event, as (epsilon, delta) mechanisms; None if one has no finite epsilon."""
    read_event(event)
    equal: dict[tuple[Fraction, Fraction], int] = {}
    for atom, times in event.atoms().items():
        epsilon, slack = atom.pure(), atom.slack()
        if isinstance(epsilon, float):
            return None
        equal[epsilon, slack] = equal.get((epsilon, slack), 0) + times
    return tuple(ApproximatePart(epsilon, slack, times) for (epsilon, slack), times in equal.items())


def delta_left(every: tuple[ApproximatePart, ...], allowed: Fraction) -> float:
    """Return the largest d with 1 - (1 - d) prod(1 - delta_i) <= allowed, rounded down; negative if there is none."""
    spent = sum((part.times * part.delta for part in every), Fraction(0))
    if spent == 0:
        return float_down(allowed)
    bound, survive = float_down(allowed), survival_log(every)
    if survive < math.log1p(-bound) - 1:
        return -1.0
    failures = math.expm1(-survive)
    product = bound - (1 - bound) * failures - 2.0**-46 * (bound + failures)
    # The sum of the deltas is above the chance that any fails: exact, and the better of the two where digits are lost.
    return max(product, float_down(allowed - spent))


def survival_log(every: tuple[ApproximatePart, ...]) -> float:
    """Return the logarithm of prod(1 - delta_i), the deltas rounded up."""
    deltas = [(part.times, float_up(part.delta)) for part in every if part.delta > 0]
    if any(delta == 1 for _, delta in deltas):
        return -math.inf
    return math.fsum(times * math.log1p(-delta) for times, delta in deltas)


# Parallel composition: different computations on the disjoint blocks of a partition that was fixed in advance.
#
# Each record goes to its block by a public rule that looks at that record alone. A partition chosen from the data, or
# from other records, is no partition in this sense.


@dataclass(frozen=True)
class Parallel(Atom):
    """Events on disjoint blocks: the costliest under add-remove, the two costliest together under change-one.

    Args:
        events: the events.
        neighbors: "add-remove" or "change-one".

    Example:
        >>> laplace = privet.Laplace(sensitivity=1, epsilon=0.5).event
        >>> accounting.Parallel((laplace, laplace), "add-remove").pure()
        Fraction(1, 2)

    Guarantee: under add-remove a unit lies in one block, and every answer is the largest over the blocks. Under
    change-one it may move from one block to another, and every answer is the sum of the two largest; each event's
    cost must then hold for a unit of its block that is added, removed or changed.
    Cites: [McS09, Thm 4].
    """

    events: tuple[Event, ...]
    neighbors: Neighbors

    def __post_init__(self) -> None:
        set_fields(self, events=read_events(self.events), neighbors=read_neighbors(self.neighbors))

    def pure(self) -> Exact:
        return sum(self._worst(event.pure() for event in self.events), Fraction(0))

    def rho(self) -> Exact:
        return sum(self._worst(event.rho() for event in self.events), Fraction(0))

    def slack(self) -> Fraction:
        worst = self._worst(event.slack() for event in self.events)
        return min(Fraction(1), sum((Fraction(value) for value in worst), Fraction(0)))

    def rdp(self, order: float) -> float:
        at = read_order(order)
        return add_up(map(float, self._worst(event.rdp(at) for event in self.events)))

    def pair(self) -> Pair:
        raise NoPair("different events on disjoint blocks have no single pair that is known to dominate them all")

    def _worst(self, costs: Iterable[Exact]) -> list[Exact]:
        return sorted(costs, reverse=True)[: 1 if self.neighbors == "add-remove" else 2]


def parallel(events: Iterable[Event], *, neighbors: Neighbors) -> Event:
    """Return the event of computations on disjoint blocks; equal events on all blocks need no new one.

    Args:
        events: the events.
        neighbors: "add-remove" or "change-one".

    Example:
        >>> laplace = privet.Laplace(sensitivity=1, epsilon=0.5).event
        >>> accounting.parallel([laplace, laplace], neighbors="add-remove").pure()
        Fraction(1, 2)

    Guarantee: as `Parallel`.
    Cites: [McS09, Thm 4].
    """
    every = Parallel(read_events(events), neighbors)
    if not every.events or any(event != every.events[0] for event in every.events):
        return every
    return Repeated(every.events[0], 1 if neighbors == "add-remove" or len(every.events) == 1 else 2)


# The optimal composition of (epsilon, delta) mechanisms: the cost of randomised response, the worst of them.
#
# The losses of composed randomised responses are sums of +-epsilon_i. Equal parts make few distinct sums, and these
# are enumerated; the result is then exact up to rounding. Beyond that, the privacy loss distribution of the same
# randomised responses gives a proven upper bound, and a lower one beside it.


_MOST_LOSSES = 2**18
_MOST_TIMES = 10**7
_LEAST_WEIGHT = 2.0**-1022
"""Losses less likely than this, next to the likeliest one, are counted as infinite."""


def optimal(event: Event, delta: Number) -> float:
    """Return the least epsilon valid for every composition of mechanisms with the parts' parameters, rounded up.

    Args:
        event: an `Event`, such as `mechanism.event`.
        delta: the probability with which the loss may exceed epsilon.

    Example:
        >>> many = accounting.Repeated(accounting.PureEvent(0.01), 1000)
        >>> round(accounting.optimal(many, 1e-6), 3)
        1.365

    Guarantee: the event is (epsilon, delta)-DP, its parts chosen adaptively with costs fixed in advance, and no
    smaller epsilon holds for all such mechanisms. Exact where the distinct losses can be enumerated, and otherwise the
    upper end of `optimal_bounds`.
    Cites: [KOV15, optimal composition], [MV16, unequal parts].
    """
    return optimal_bounds(event, delta)[1]


def optimal_bounds(event: Event, delta: Number) -> tuple[float, float]:
    """Return the optimal epsilon between bounds: equal where losses can be enumerated, else within about 0.05%.

    Args:
        event: an `Event`, such as `mechanism.event`.
        delta: the probability with which the loss may exceed epsilon.

    Example:
        >>> many = accounting.Repeated(accounting.PureEvent(0.01), 1000)
        >>> low, high = accounting.optimal_bounds(many, 1e-6)
        >>> low <= high
        True
    """
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
    """Return the least delta valid for every composition of mechanisms with the parts' parameters, rounded up.

    Args:
        event: an `Event`, such as `mechanism.event`.
        epsilon: the privacy loss, at least 0.

    Example:
        >>> many = accounting.Repeated(accounting.PureEvent(0.1), 10)
        >>> round(accounting.optimal_delta(many, 0.5), 6)
        0.00993

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


def _responses(every: tuple[ApproximatePart, ...]) -> Composed:
    return Composed(tuple(Repeated(ApproximateEvent(part.epsilon, part.delta), part.times) for part in every))


class _Losses:
    """Every sum of +-epsilon_i, with its probability when the data contains the unit."""

    def __init__(self, every: tuple[ApproximatePart, ...]) -> None:
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


def basic(event: Event, delta: Number = 0) -> float:
    """Return the sum of the parts' epsilons; infinite where their deltas add up to more than delta.

    Args:
        event: an `Event`, such as `mechanism.event`.
        delta: the probability with which the loss may exceed epsilon.

    Example:
        >>> laplace = privet.Laplace(sensitivity=1, epsilon=0.5).event
        >>> accounting.basic(accounting.Repeated(laplace, 3))
        1.5

    Guarantee: the event is (epsilon, delta)-DP, its parts chosen adaptively.
    Cites: [DR14, Thm 3.16].
    """
    allowed, every = failure_probability(delta), parts(event)
    if every is None or sum(part.times * part.delta for part in every) > allowed:
        return math.inf
    return float_up(sum((part.times * part.epsilon for part in every), Fraction(0)))


def advanced(event: Event, delta: Number) -> float:
    """Return sqrt(2 ln(1/d) sum e^2) + sum e (exp(e) - 1), where d is delta less the parts' deltas.

    Args:
        event: an `Event`, such as `mechanism.event`.
        delta: the probability with which the loss may exceed epsilon.

    Example:
        >>> many = accounting.Repeated(accounting.PureEvent(0.01), 1000)
        >>> round(accounting.advanced(many, 1e-6), 3)
        1.763

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

    Args:
        event: an `Event`, such as `mechanism.event`.
        delta: the probability with which the loss may exceed epsilon.

    Example:
        >>> many = accounting.Repeated(accounting.PureEvent(0.01), 1000)
        >>> round(accounting.advanced_kov(many, 1e-6), 3)
        1.641

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


def _squares(every: tuple[ApproximatePart, ...]) -> float:
    return float_up(sum((part.times * part.epsilon**2 for part in every), Fraction(0)))


def _expm1(epsilon: Fraction) -> float:
    return math.expm1(float_up(epsilon)) if epsilon < 700 else math.inf
