"""The power of an attacker: false positives against false negatives, and the certainty of the best test.

Every curve errs on the attacker's side: it never shows more error than the best test must make.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, cast

import numpy as np

from privet.accounting.pld.bounds import loss_distribution, pld_delta
from privet.accounting.pld.discretise import extent
from privet.core.errors import BadParameter
from privet.core.event import Event
from privet.core.given import is_a, listed, read_fields, truth
from privet.core.numbers import (
    Number,
    failure_probability,
    float_down,
    float_near,
    float_up,
    nonnegative,
    open_probability,
    probability,
    rational,
)

from .gdp import log_down
from .pld.bounds import gather

if TYPE_CHECKING:
    from privet.core.event import Floats


# The privacy loss as a random variable: how much one output reveals, and how often.
#
# For reading and plotting. Bounds come from `pld`; nothing here is rounded against ourselves.


_NEAR = 1e-5


@dataclass(frozen=True, eq=False)
class PrivacyLoss:
    """L = ln(P(x)/Q(x)) for x drawn from P, the output with the unit: `masses` at `losses`, and `infinite` the rest.

    `exceeds(epsilon)` is Pr[L > epsilon]; `delta(epsilon)` is E[(1 - e**(epsilon - L))+], the least delta in
    (epsilon, delta)-DP. They differ because an output whose loss exceeds epsilon by a little breaks the promise only
    by a little: of its probability, the part e**(epsilon - L) is still covered by e**epsilon times what Q gives it.
    So Pr[L > epsilon] <= delta is sufficient and not necessary: Gaussian noise of one standard deviation exceeds a loss
    of 1 with probability 0.309 and is yet (1, 0.127)-DP.

    Cites: [CKS20, the loss], [BW18, Thm 5].
    """

    losses: Floats
    masses: Floats
    infinite: float
    _profile: Callable[[float], float]
    _near: float

    def density(self, loss: float) -> float:
        """Return the probability per unit of loss near this one; for discrete noise, smeared over one lattice step."""
        step = float(self.losses[1] - self.losses[0])
        return float(
            np.interp(float_near(rational(loss, "loss")), self.losses, self.masses / step, left=0.0, right=0.0)
        )

    def delta(self, epsilon: float) -> float:
        """Return E[(1 - e**(epsilon - L))+], infinite losses counting fully."""
        return self._profile(float_near(rational(epsilon, "epsilon")))

    def exceeds(self, epsilon: float) -> float:
        """Return Pr[L > epsilon], which is delta - (d delta / d epsilon), by a central difference in e**epsilon."""
        at, near = float_near(rational(epsilon, "epsilon")), self._near
        fall = self._profile(at - near) - self._profile(at + near)
        return min(1.0, max(0.0, self._profile(at) + fall / (2 * math.sinh(near))))

    def mean(self) -> float:
        """Return E[L], the Kullback-Leibler divergence; infinite if some losses are."""
        return math.inf if self.infinite > 0 else float(np.dot(self.losses, self.masses))


def privacy_loss(event: Event, *, backward: bool = False) -> PrivacyLoss:
    """Return the privacy loss random variable of an event's dominating pairs.

    `backward` exchanges the two data sets: the loss of an output drawn without the unit.

    Args:
        event: an `Event`, such as `mechanism.event`.
        backward: whether the loss is that of the other order of the neighbours.

    Example:
        >>> laplace = privet.Laplace(sensitivity=1, epsilon=0.5).event
        >>> round(accounting.privacy_loss(laplace).delta(0.25), 4)
        0.1377
    """
    gathered = gather(event)
    bracket = loss_distribution(event)
    behind_first = truth(backward, "backward")
    made = (bracket.backward if behind_first else bracket.forward)[1]
    pair = gathered.alone
    if pair is None:
        profile, near = made.seen_and_infinite, made.step
    else:
        ahead, behind = (pair.backward, pair.forward) if behind_first else (pair.forward, pair.backward)
        kept = 1 - gathered.failure

        def profile(epsilon: float) -> float:
            if epsilon >= 0:
                curve = float(ahead(np.array([epsilon]))[0])
            else:
                curve = -math.expm1(epsilon) + math.exp(epsilon) * float(behind(np.array([-epsilon]))[0])
            return gathered.failure + kept * curve

        near = _NEAR
    return PrivacyLoss(made.losses(), made.masses, made.infinite, profile, near)


_POINTS = 513
_ROUNDS = 60
_SAFE = 1 - 2.0**-40


@dataclass(frozen=True)
class Region:
    """All pairs (p, q) of false positive and false negative rates that (epsilon, delta)-DP leaves to an attacker.

    Guarantee: p + e**epsilon q >= 1 - delta and e**epsilon p + q >= 1 - delta, for every test between neighbours.
    Cites: [WZ10, Thm 2.4], [KOV15, tests].
    """

    epsilon: Fraction
    delta: Fraction

    def __post_init__(self) -> None:
        read_fields(self)

    def __contains__(self, rates: tuple[float, float]) -> bool:
        p, q = _rates(rates)
        grown, left = math.exp(self.epsilon), 1 - float(self.delta)
        return 0 <= p <= 1 and 0 <= q <= 1 and min(p + grown * q, grown * p + q) >= left * _SAFE

    def least_false_negative(self, alpha: float) -> float:
        """Return max(0, 1 - delta - e**epsilon alpha, e**-epsilon (1 - delta - alpha)), rounded down."""
        level, left = float(probability(alpha, "alpha")), 1 - float(self.delta)
        best = max(left - math.exp(self.epsilon) * level, math.exp(-self.epsilon) * (left - level))
        return max(0.0, best - 2.0**-50 * (1 + math.exp(self.epsilon) * level)) * _SAFE

    def corner(self) -> float:
        """Return the rate at which both errors can be equal: (1 - delta)/(1 + e**epsilon)."""
        return (1 - float(self.delta)) / (1 + math.exp(self.epsilon))


@dataclass(frozen=True, eq=False)
class Tradeoff:
    """The least false negative rate beta for a false positive rate alpha, as a function: `curve(alpha)`.

    It is the largest of the lines 1 - delta - e**epsilon alpha and e**-epsilon (1 - delta - alpha) over all epsilons.

    Guarantee: no test between neighbours, in either order, has a smaller beta.
    Cites: [DRS22, duality], [WZ10, Thm 2.4].
    """

    epsilons: Floats
    deltas: Floats
    profile: Callable[[Floats], Floats] | None = None

    def __call__(self, alpha: float) -> float:
        """Return the least beta at this alpha."""
        level = float(probability(alpha, "alpha"))
        best = 0.0
        for line in (_steep, _shallow):
            values = line(self.epsilons, self.deltas, level)
            index = int(np.argmax(values))
            best = max(best, float(values[index]))
            if self.profile is not None:
                best = max(best, self._refined(line, level, index))
        return max(0.0, best - 2.0**-50) * _SAFE

    def advantage(self) -> float:
        """Return the largest 1 - alpha - beta of any test: the total variation distance, rounded up."""
        return min(1.0, float(self.deltas[0]))

    def _refined(self, line: Callable[[Floats, Floats, float], Floats], level: float, index: int) -> float:
        if self.profile is None:
            return 0.0
        low, high = (float(self.epsilons[min(max(at, 0), len(self.epsilons) - 1)]) for at in (index - 1, index + 1))
        golden = (math.sqrt(5) - 1) / 2
        best = 0.0
        for _ in range(_ROUNDS):
            tried = np.array([high - golden * (high - low), low + golden * (high - low)])
            left, right = line(tried, self.profile(tried), level)
            best = max(best, float(left), float(right))
            low, high = (low, float(tried[1])) if left >= right else (float(tried[0]), high)
        return best


def region(epsilon: Number, delta: Number = 0) -> Region:
    """Return the trade-off that (epsilon, delta)-DP leaves to an attacker who tests for one unit's presence.

    Args:
        epsilon: the privacy loss, at least 0.
        delta: the probability with which the loss may exceed epsilon.

    Example:
        >>> region = accounting.region(1)
        >>> type(region).__name__
        'Region'
    """
    return Region(nonnegative(epsilon, "epsilon"), failure_probability(delta))


def tradeoff(event: Event) -> Tradeoff:
    """Return the trade-off of an event between false positives and false negatives, for both orders of neighbours.

    A single pair is evaluated from its own curve, a composition from the upper bound on its loss distribution.

    Args:
        event: an `Event`, such as `mechanism.event`.

    Example:
        >>> laplace = privet.Laplace(sensitivity=1, epsilon=0.5).event
        >>> round(accounting.tradeoff(laplace)(0.5), 4)
        0.3033

    Guarantee: see `Tradeoff`.
    """
    gathered = gather(event)
    failure, kept = gathered.failure, 1 - gathered.failure
    if not gathered.pairs:
        return Tradeoff(np.zeros(1), np.array([failure]))
    pair = gathered.alone
    if pair is not None:

        def profile(epsilons: Floats) -> Floats:
            curve = np.maximum(pair.forward(epsilons), pair.backward(epsilons))
            return np.minimum(1.0, failure + kept * curve)

        reach = extent(pair, 1e-18)
        epsilons = np.linspace(0.0, max(reach.forward, reach.backward), _POINTS)
        return Tradeoff(epsilons, profile(epsilons), profile)
    bracket = loss_distribution(event)
    forward, backward = (side[1].at_lattice_points() for side in (bracket.forward, bracket.backward))
    shorter = min(len(forward[0]), len(backward[0]))
    return Tradeoff(forward[0][:shorter], np.maximum(forward[1][:shorter], backward[1][:shorter]))


def best_accuracy(event: Event | Number, delta: Number = 0, *, prior: Number = Fraction(1, 2)) -> float:
    """Return the largest probability of a correct test of whether a unit is in the data, rounded up.

    Pass an event, or an epsilon and a delta. With prior p of presence, p <= 1/2 after exchanging the two cases, the
    best test is right with probability 1 - p + p H(ln((1 - p)/p)).

    Args:
        event: an `Event`, or an epsilon.
        delta: the probability with which the loss may exceed epsilon.
        prior: the probability that the attacker started with.

    Example:
        >>> round(accounting.best_accuracy(1), 4)
        0.7311

    Guarantee: no rule that sees the release does better, whatever else it knows apart from the prior.
    Cites: [KOV15, tests], [DRS22, trade-offs].
    """
    presence = open_probability(prior, "prior")
    rare = min(presence, 1 - presence)
    odds = -log_down(rare / (1 - rare)) * _SAFE
    allowed = failure_probability(delta)
    if is_a(event, Event):
        if allowed > 0:
            raise BadParameter("delta", delta, "left out beside an event, which has its own; pass it with an epsilon")
        divergence = pld_delta(cast(Event, event), odds)
    else:
        from .pairs import ApproximatePair

        pair = ApproximatePair(_epsilon(event), allowed)
        divergence = float(pair.forward(np.array([odds]))[0])
    return min(1.0, (1 - float(rare) + float_up(rare) * divergence) * (1 + 2.0**-50))


def _epsilon(event: Event | Number) -> Fraction:
    exact = rational(event, "event", "an Event, or an epsilon: a finite number of at least 0")
    return nonnegative(exact, "event")


def _rates(rates: Iterable[Number]) -> tuple[Fraction, Fraction]:
    items = listed(rates, "rates", "a pair of false positive and false negative rates")
    if len(items) != 2:
        raise BadParameter("rates", rates, "a pair of false positive and false negative rates")
    return rational(items[0], "rates"), rational(items[1], "rates")


def posterior(prior: Number, epsilon: Number) -> float:
    """Return how sure an attacker can become that a unit is in the data, having been sure with probability `prior`.

    Odds grow by at most e**epsilon: prior/(prior + (1 - prior) e**-epsilon), rounded up.

    Args:
        prior: the probability that the attacker started with.
        epsilon: the privacy loss, at least 0.

    Example:
        >>> round(accounting.posterior(0.5, 1), 4)
        0.7311

    Guarantee: holds for every output of an epsilon-DP release. With a delta it can fail for improbable outputs.
    Cites: [KS14], [WZ10, Thm 2.4].
    """
    sure = open_probability(prior, "prior")
    grown = math.exp(-float_down(nonnegative(epsilon, "epsilon")))
    return min(1.0, float_up(sure / (sure + (1 - sure) * Fraction(grown))) * (1 + 2.0**-50))


def in_words(epsilon: Number, delta: Number = 0, *, prior: Number = Fraction(1, 2)) -> str:
    """Return the promise of (epsilon, delta)-DP as one sentence about an attacker.

    Args:
        epsilon: the privacy loss, at least 0.
        delta: the probability with which the loss may exceed epsilon.
        prior: the probability that the attacker started with.

    Example:
        >>> accounting.in_words(1)
        'an attacker who is 50% sure you are in the data can become at most 73% sure'
    """
    before, after = float(open_probability(prior, "prior")), posterior(prior, epsilon)
    sentence = f"an attacker who is {before:.0%} sure you are in the data can become at most {after:.0%} sure"
    chance = float(failure_probability(delta))
    return sentence if chance == 0 else f"{sentence}, unless something happens that has a chance of {chance:g}"


def _steep(epsilons: Floats, deltas: Floats, level: float) -> Floats:
    with np.errstate(over="ignore", invalid="ignore"):
        values = 1 - deltas - (np.exp(epsilons) * level if level else 0.0)
    return np.where(np.isfinite(values), values, -np.inf)


def _shallow(epsilons: Floats, deltas: Floats, level: float) -> Floats:
    with np.errstate(under="ignore"):
        return np.exp(-epsilons) * (1 - deltas - level)
