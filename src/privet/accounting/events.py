"""Events that name a guarantee instead of a mechanism: pure, approximate, zCDP, a finite pair of distributions.

Events of particular noise live beside their mechanisms. Nothing here draws, and nothing here looks at data.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Context, Decimal, localcontext
from fractions import Fraction

from privet.core.errors import BadParameter, RequestError
from privet.core.event import Atom, Event, Exact, Pair, read_event
from privet.core.given import listed, set_fields
from privet.core.numbers import (
    Number,
    failure_probability,
    float_up,
    inflate,
    log_up,
    nonnegative,
    probability,
    read_order,
)

from .pairs import ApproximatePair, FailedPair, FinitePair, ProfilePair, ResponsePair

# Renyi curves and zCDP parameters of binary randomised response and of finite pairs, without cancellation.
#
# Every value is rounded up. Orders are above 1; the supremum of a curve over its order is never taken on a grid.


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
    # an underflow is off by at most the least double, and is no cost of zero
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


@dataclass(frozen=True, init=False)
class PureEvent(Atom):
    """Any epsilon-differentially private release.

    Args:
        epsilon: the privacy loss, at least 0.

    Example:
        >>> event = accounting.PureEvent(0.5)
        >>> event.pure(), event.slack()
        (Fraction(1, 2), Fraction(0, 1))

    Guarantee: binary randomised response dominates it, so its curves are those of randomised response.
    Cites: [KOV15, the worst pair].
    """

    epsilon: Fraction

    def __init__(self, epsilon: Number) -> None:
        set_fields(self, epsilon=nonnegative(epsilon, "epsilon"))

    def pure(self) -> Exact:
        return self.epsilon

    def rho(self) -> Exact:
        """Return epsilon tanh(epsilon / 2), rounded up."""
        return response_rho(self.epsilon)

    def slack(self) -> Fraction:
        return Fraction(0)

    def rdp(self, order: float) -> float:
        return response_rdp(self.epsilon, read_order(order))

    def pair(self) -> Pair:
        return ResponsePair(self.epsilon)


@dataclass(frozen=True, init=False)
class ApproximateEvent(Atom):
    """Any (epsilon, delta)-differentially private release.

    Args:
        epsilon: the privacy loss, at least 0.
        delta: the probability with which the loss may exceed epsilon.

    Example:
        >>> event = accounting.ApproximateEvent(1, 0.25)
        >>> event.pure(), event.slack()
        (Fraction(1, 1), Fraction(1, 4))

    Guarantee: dominated by randomised response that gives itself away with probability delta; delta is the slack.
    Cites: [KOV15, the worst pair].
    """

    epsilon: Fraction
    delta: Fraction

    def __init__(self, epsilon: Number, delta: Number) -> None:
        set_fields(self, epsilon=nonnegative(epsilon, "epsilon"), delta=failure_probability(delta))

    def pure(self) -> Exact:
        return self.epsilon

    def rho(self) -> Exact:
        return response_rho(self.epsilon)

    def slack(self) -> Fraction:
        return self.delta

    def rdp(self, order: float) -> float:
        return response_rdp(self.epsilon, read_order(order))

    def pair(self) -> Pair:
        return ApproximatePair(self.epsilon, self.delta)


@dataclass(frozen=True, init=False)
class ZcdpEvent(Atom):
    """Any rho-zCDP release.

    Args:
        rho: the zCDP parameter.

    Example:
        >>> accounting.ZcdpEvent(0.125).rho()
        Fraction(1, 8)

    Guarantee: its Renyi divergence of every order is at most rho times the order.
    Cites: [BS16, Def. 1.1].
    """

    rho_value: Fraction

    def __init__(self, rho: Number) -> None:
        set_fields(self, rho_value=nonnegative(rho, "rho"))

    def __repr__(self) -> str:
        return f"ZcdpEvent(rho={self.rho_value!r})"

    def pure(self) -> Exact:
        return math.inf if self.rho_value else Fraction(0)

    def rho(self) -> Exact:
        return self.rho_value

    def slack(self) -> Fraction:
        return Fraction(0)

    def rdp(self, order: float) -> float:
        return float_up(self.rho_value * Fraction(read_order(order)))

    def pair(self) -> Pair:
        return ProfilePair(self.rho_value)


@dataclass(frozen=True, init=False)
class FinitePairEvent(Atom):
    """A release whose worst pair of neighbours has outcomes with the probabilities `p` and `q`, exactly.

    Which of the two data sets has the unit is left open. In a composition every such event is about the same two data
    sets, `p` from one of them and `q` from the other; where releases may go opposite ways, use a `FiniteEvent`.

    Args:
        p: the probability of each outcome on one data set, exact and summing to 1.
        q: the same on the other data set.

    Raises:
        BadParameter: if the probabilities do not sum to 1 exactly.

    Example:
        >>> accounting.FinitePairEvent((0.5, 0.5), (0.25, 0.75)).slack()
        Fraction(0, 1)

    Guarantee: as exact as the pair, in both orders; where one excludes what the other allows, pure epsilon and curves
    are infinite and only the privacy loss distribution can tell more.
    """

    p: tuple[Fraction, ...]
    q: tuple[Fraction, ...]

    def __init__(self, p: Iterable[Number], q: Iterable[Number]) -> None:
        set_fields(self, p=_distribution(p, "p"), q=_distribution(q, "q"))
        if len(self.p) != len(self.q):
            raise RequestError(f"p and q must list the same outcomes; got {len(self.p)} and {len(self.q)} of them")

    def pure(self) -> Exact:
        return finite_pure(self.p, self.q)

    def rho(self) -> Exact:
        return finite_rho(self.p, self.q)

    def slack(self) -> Fraction:
        return Fraction(0)

    def rdp(self, order: float) -> float:
        return finite_rdp(self.p, self.q, read_order(order))

    def pair(self) -> Pair:
        """Return the pair; where p and q agree on all that they share, it is nothing but a chance of failing."""
        shared = [(here, there) for here, there in zip(self.p, self.q, strict=True) if here > 0 and there > 0]
        if all(here == there for here, there in shared):
            return ApproximatePair(Fraction(0), 1 - sum((here for here, _ in shared), Fraction(0)))
        return FinitePair(self.p, self.q)


@dataclass(frozen=True, init=False)
class ThresholdEvent:
    """A release of only the keys above a noisy threshold: the noise's event, and delta for keys that may slip through.

    Args:
        event: the event of the noise.
        delta: the probability with which the loss may exceed epsilon.

    Example:
        >>> event = accounting.ThresholdEvent(accounting.PureEvent(1), 0.25)
        >>> event.slack()
        Fraction(1, 4)

    Guarantee: outside an event of probability delta, nothing that one unit alone holds is shown, and the rest is
    the noise's release.
    Cites: [KKMN09, noisy thresholds].
    """

    event: Event
    delta: Fraction

    def __init__(self, event: Event, delta: Number) -> None:
        set_fields(self, event=read_event(event), delta=failure_probability(delta))

    def pure(self) -> Exact:
        return self.event.pure()

    def rho(self) -> Exact:
        return self.event.rho()

    def slack(self) -> Fraction:
        return min(Fraction(1), self.event.slack() + self.delta)

    def rdp(self, order: float) -> float:
        return self.event.rdp(order)

    def pair(self) -> Pair:
        return FailedPair(self.event.pair(), self.delta)

    def atoms(self) -> dict[Event, int]:
        """Return this event, or, over a composition, its parts and one event that is nothing but delta."""
        parts = self.event.atoms()
        if parts == {self.event: 1}:
            return {self: 1}
        failure = ApproximateEvent(Fraction(0), self.delta)
        return {**parts, failure: parts.get(failure, 0) + 1}


def _distribution(values: Iterable[Number], name: str) -> tuple[Fraction, ...]:
    allowed = "probabilities that sum to 1 exactly (Fractions, or floats that happen to)"
    exact = tuple(probability(value, name) for value in listed(values, name, allowed))
    if sum(exact) != 1:
        raise BadParameter(name, values, allowed)
    return exact
