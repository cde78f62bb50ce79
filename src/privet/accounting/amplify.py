"""Privacy amplification by Poisson sampling: what an event costs if each unit takes part only with some probability.

Holds for add-remove neighbours and for samples that stay secret; each unit is drawn independently. Fixed-size batches
and shuffled passes over the data are not Poisson samples, and this must not be used for them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from privet.core.errors import BadParameter
from privet.core.event import Atom, Event, Exact, NoPair, Pair, read_event
from privet.core.given import set_fields
from privet.core.numbers import Number, float_up, inflate, probability, read_order

from .events import response_rdp, response_rho
from .pairs import EitherOrderPair, SampledPair, has_order

_LARGEST_ORDER = 1024


@dataclass(frozen=True, init=False)
class Sampled(Atom):
    """An event on a secret Poisson sample: every unit takes part independently, with probability `rate`.

    Args:
        event: what was done: an `Event`, such as `mechanism.event`.
        rate: the probability with which each unit takes part.

    Example:
        >>> laplace = privet.Laplace(sensitivity=1, epsilon=0.5).event
        >>> accounting.Sampled(laplace, 0.25).pure() < laplace.pure()
        True

    Guarantee: holds if `event` does under add-remove neighbours. Under change-one neighbours both data sets contain a
    unit where the other has none: account for a removal followed by an addition, that is for two such events.
    Cites: [BBG18, Thm 8], [MTZ19, the sampled Gaussian], [ZW19, Poisson samples].
    """

    event: Event
    rate: Fraction

    def __init__(self, event: Event, rate: Number) -> None:
        set_fields(self, event=read_event(event), rate=probability(rate, "rate"))
        if self.rate == 0:
            raise BadParameter("rate", rate, "above 0 and at most 1")

    def pure(self) -> Exact:
        """Return ln(1 + rate (e**epsilon - 1)), rounded up."""
        whole = self.event.pure()
        if self.rate == 1 or whole == math.inf:
            return whole
        epsilon = float_up(whole)
        if epsilon > 700:
            return whole
        return min(whole, Fraction(inflate(math.log1p(inflate(float_up(self.rate) * inflate(math.expm1(epsilon)))))))

    def rho(self) -> Exact:
        """Return the unsampled rho, or that of the sampled pure epsilon if it is less.

        Divergences are convex in the pair, so a mixture with the other side's output can only lower them.
        """
        pure = self.pure()
        return self.event.rho() if pure == math.inf else min(self.event.rho(), response_rho(pure))

    def slack(self) -> Fraction:
        """Return rate times slack.

        With P = (1 - s) P0 + s P1 and Q likewise, (1 - q) Q + q P and Q are both mixtures of a part of weight q s, of
        sampled P0 against Q0, and of Q1 against itself.
        """
        return self.rate * self.event.slack()

    def rdp(self, order: float) -> float:
        """Return a bound for any order: at integers from a binomial sum, in between by convexity.

        (order - 1) times the divergence is convex in the order and 0 at order 1, so lines between integers lie above
        it. At an integer a, the divergence of the mixture from Q is exactly 1/(a - 1) times the logarithm of the sum of
        C(a, l) (1 - q)**(a - l) q**l E[(P/Q)**l]. The opposite one is no larger for noise that a reflection maps to
        itself, such as Gaussian noise; in general the same sum with the terms from l = 3 on tripled bounds it.
        """
        wanted = read_order(order)
        known = self.event.rdp(wanted)
        pure = self.pure()
        if pure != math.inf:
            known = min(known, response_rdp(pure, wanted))
        if isinstance(self.event, Sampled):  # a sample of a sample is a sample
            return min(known, Sampled(self.event.event, self.rate * self.event.rate).rdp(wanted))
        if float_up(self.rate) == 1 or wanted > _LARGEST_ORDER:
            return known
        below = math.floor(wanted)
        part = wanted - below
        line = (1 - part) * self._log_moment(below) + (part * self._log_moment(below + 1) if part else 0.0)
        return min(known, inflate(line / (wanted - 1)))

    def pair(self) -> Pair:
        """Return the sampled pair: of both orders at once, where the event does not know which side has the unit.

        Sampling treats the two sides differently, so the order matters even to an event that covers both.
        """
        try:
            inner = self.event.pair()
        except NoPair:
            raise NoPair(
                "one sample shared by several releases has no single known pair; if each release draws its own sample, "
                "compose the sampled events: Repeated(Sampled(step, rate), times)"
            ) from None
        return SampledPair(inner if has_order(inner) else EitherOrderPair(inner), self.rate)

    def _log_moment(self, order: int) -> float:
        """Return (order - 1) times the bound at an integer order, rounded up.

        As the binomial weights sum to 1 and E[P/Q] = 1, the sum is 1 + sum over l >= 2 of weight (E[(P/Q)**l] - 1).
        """
        if order == 1:
            return 0.0
        from scipy.special import gammaln

        mu, factor = self._shape()
        terms = np.arange(2, order + 1, dtype=np.float64)
        if mu is None:
            exponents = np.array([(term - 1) * self.event.rdp(float(term)) for term in terms])
        else:
            exponents = terms * (terms - 1) * (mu * mu / 2)
        if float(np.max(exponents)) > 600:
            return math.inf
        q = float_up(self.rate)
        weights = gammaln(order + 1) - gammaln(terms + 1) - gammaln(order - terms + 1)
        weights = np.exp(weights + terms * math.log(q) + (order - terms) * math.log1p(-q))
        excess = float(np.dot(weights, np.expm1(exponents)))
        tripled = float(np.dot(weights[1:], np.exp(exponents[1:]))) * (factor - 1)
        return math.log1p((excess + tripled) * (1 + 1e-11))

    def _shape(self) -> tuple[float | None, int]:
        try:
            shape = getattr(self.event.pair(), "gaussian", None)
        except NoPair:
            shape = None
        return (shape()[0], 1) if shape is not None else (None, 3)
