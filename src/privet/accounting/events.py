"""Events that name a guarantee instead of a mechanism: pure, approximate, zCDP, a finite pair of distributions.

Events of particular noise live beside their mechanisms. Nothing here draws, and nothing here looks at data.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

from privet.core.errors import BadParameter, RequestError
from privet.core.event import Atom, Event, Exact, read_event
from privet.core.given import listed, set_fields
from privet.core.numbers import Number, failure_probability, nonnegative, probability, read_order
from privet.core.pair import Pair
from privet.core.rounding import float_up

from .curves import finite_pure, finite_rdp, finite_rho, response_rdp, response_rho
from .pairs import ApproximatePair, FailedPair, FinitePair, ProfilePair, ResponsePair


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
    """A release whose worst pair of neighbours gives the outcomes the probabilities `p` and `q`, exactly.

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
    """A release that shows only what passes a noisy threshold: the noise's event, and delta for what may slip through.

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
