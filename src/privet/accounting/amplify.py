"""Privacy amplification: the cost of an event that each unit takes part in with some probability, or in secret order.

Poisson sampling is for add-remove neighbours and for samples that stay secret; each unit is drawn independently.
Fixed-size batches and shuffled passes over the data are not Poisson samples, and it must not be used for them.
Shuffling is of local reports, of which only the multiset is visible.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from privet.core.errors import BadParameter
from privet.core.event import Atom, Event, Exact, NoPair, Pair, read_event
from privet.core.given import listed, set_fields
from privet.core.numbers import Number, float_up, inflate, probability, read_order, whole

from .events import FinitePairEvent, response_rdp, response_rho
from .pairs import EitherOrderPair, SampledPair, has_order
from .pairs.continuous import Symmetric

if TYPE_CHECKING:
    from privet.core.event import Floats


_LARGEST_ORDER = 1024


@dataclass(frozen=True, init=False)
class Sampled(Atom):
    """An event on a secret Poisson sample: every unit takes part independently, with probability `rate`.

    Args:
        event: an `Event`, such as `mechanism.event`.
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


# Shuffling: the cost of a local report if only the multiset of n people's reports is visible.
#
# Valid for n honest people who each send one report of the same randomiser, whatever the others answer. Reports that
# are missing, repeated or forged do not count towards n. Neighbours differ in one person's answer.


_MOST_PEOPLE = 10**9
_MOST_EXACT = 1000
"""Up to this many people, binary reports are accounted for exactly, for every number of others who answer yes."""

_LEAST = 1e-18
_POINTS = 256
_FEWER_POINTS = 128
"""Points of a curve, and of one whose points are slow."""

_FAR = 32
_MARGIN = 1 + 2.0**-30
_FINE = 32.0
"""Steps of the lattice of sums for one standard deviation of one term."""

_WIDE = 10.0
_MOST_STEPS = 2**18


@dataclass(frozen=True, init=False)
class Shuffled(Atom):
    """Reports of n people, of which only the multiset is visible.

    Args:
        event: the event of one report, which any answer of a person costs; its pure epsilon is finite.
        n: the number of honest people whose reports are shuffled together.
        blanket: for each outcome of a `FinitePairEvent`, a lower bound on its probability for every answer. Within an
            outcome that represents several reports, these and the event's probabilities keep one ratio.

    Raises:
        BadParameter: if a number is out of range, or the blanket is more than the event's probabilities.

    Example:
        >>> report = accounting.FinitePairEvent((0.75, 0.25), (0.25, 0.75))
        >>> shuffled = accounting.Shuffled(report, 1000, blanket=(0.25, 0.25))
        >>> round(accounting.epsilon(shuffled, 1e-6), 3)
        0.142

    Guarantee: never more than the event itself, as shuffling is post-processing. Without a blanket, the bound that
    holds for any randomiser of this pure epsilon: each other report is, with probability e^-epsilon, one of the two
    in question. With one, a report is a draw from the blanket with its total probability, and the divergence of a
    multiset of such draws and one report is computed; for two outcomes whose blanket is the smaller of both
    probabilities, and few people, exactly, as the largest over all answers of the others.
    Cites: [FMT21, Thm 3.1 and 3.2], [BBGN19, the privacy blanket], [SCW25, optimal decompositions].
    """

    event: Event
    n: int
    blanket: tuple[Fraction, ...]

    def __init__(self, event: Event, n: int, *, blanket: Iterable[Number] = ()) -> None:
        known, people = read_event(event), whole(n, "n", least=1, most=_MOST_PEOPLE)
        if known.pure() == math.inf or known.slack():
            raise BadParameter("event", event, "a local report with a finite pure epsilon")
        masses = tuple(probability(mass, "blanket") for mass in listed(blanket, "blanket", "probabilities"))
        if masses and (not isinstance(known, FinitePairEvent) or len(masses) != len(known.p)):
            raise BadParameter("blanket", blanket, "a probability for each outcome of a FinitePairEvent, or nothing")
        if isinstance(known, FinitePairEvent) and any(
            b > min(p, q) for b, p, q in zip(masses, known.p, known.q, strict=False)
        ):
            raise BadParameter("blanket", blanket, "no more than either probability of the outcome")
        set_fields(self, event=known, n=people, blanket=masses)

    def pure(self) -> Exact:
        """Return the epsilon of one report: a multiset can reveal as much as the report itself."""
        return self.event.pure()

    def rho(self) -> Exact:
        return self.event.rho()

    def slack(self) -> Fraction:
        return Fraction(0)

    def rdp(self, order: float) -> float:
        return self.event.rdp(order)

    def pair(self) -> Pair:
        """Return the pair of the curve that is known."""
        return self._pair

    @cached_property
    def _pair(self) -> TabulatedPair:
        return _tabulate(self)

    def profile(self, epsilon: float) -> float:
        """Return the least delta that is known at an epsilon of at least 0, rounded up.

        Args:
            epsilon: the epsilon.

        Example:
            >>> report = accounting.FinitePairEvent((0.75, 0.25), (0.25, 0.75))
            >>> accounting.Shuffled(report, 1000).profile(1.2)
            0.0
        """
        at = float_up(_nonnegative(epsilon))
        loss = float_up(self.event.pure())
        if at >= loss:
            return 0.0
        local = float(self.event.pair().forward(np.array([at]))[0])
        delta = min(local, _clones(at, loss, self.n))
        if self.blanket:
            delta = min(delta, self._exact.delta(at) if self._exact is not None else self._of_blanket(at))
        return min(1.0, delta)

    def _of_blanket(self, epsilon: float) -> float:
        event = self.event
        if not isinstance(event, FinitePairEvent):
            raise BadParameter("blanket", self.blanket, "given with a FinitePairEvent")
        ways = {
            tuple(sorted(zip(*sides, self.blanket, strict=True))) for sides in ((event.p, event.q), (event.q, event.p))
        }
        return max(_blanket_delta(epsilon, self.n, way) for way in ways)

    @cached_property
    def _exact(self) -> _Binary | None:
        event = self.event
        if not isinstance(event, FinitePairEvent) or len(event.p) != 2 or not 2 <= self.n <= _MOST_EXACT:
            return None
        if self.blanket != (min(event.p[0], event.q[0]), min(event.p[1], event.q[1])):
            return None
        return _Binary(float(max(event.p[0], event.q[0])), float(min(event.p[0], event.q[0])), self.n)


def _nonnegative(epsilon: float) -> Fraction:
    from privet.core.numbers import nonnegative

    return nonnegative(epsilon, "epsilon")


@dataclass(frozen=True)
class TabulatedPair(Symmetric):
    """A curve known at some points: straight between them as a function of e^epsilon, and 0 from the last on.

    Guarantee: a privacy profile is convex in e^epsilon, so chords lie above it, and so does the greatest convex curve
    below points that are upper bounds.
    Cites: [ZDW22, dominating pairs].
    """

    growths: tuple[float, ...]
    deltas: tuple[float, ...]

    def forward(self, epsilon: Floats) -> Floats:
        return np.interp(np.exp(np.minimum(epsilon, 700.0)), self.growths, self.deltas)

    def reach(self) -> tuple[float, float]:
        last = math.log(self.growths[-1])
        return last, last


def _tabulate(event: Shuffled) -> TabulatedPair:
    """Return the curve: finely up to where delta is negligible, then to the pure epsilon, where it ends."""
    loss = float_up(event.event.pure())
    low, high = 0.0, loss
    for _ in range(20):
        middle = (low + high) / 2
        low, high = (low, middle) if event.profile(middle) < _LEAST else (middle, high)
    slow = bool(event.blanket) and event._exact is None
    near = np.linspace(0.0, high, _FEWER_POINTS if slow else _POINTS)
    far = np.linspace(high, loss, _FAR)[1:] if high < loss else np.array([])
    epsilons = np.concatenate((near, far))
    deltas = [event.profile(float(epsilon)) for epsilon in epsilons[:-1]]
    return _hull(np.exp(epsilons), np.array([*deltas, 0.0]))


def _hull(growths: Floats, deltas: Floats) -> TabulatedPair:
    kept: list[int] = []
    for place in range(len(growths)):
        while len(kept) > 1:
            a, b = kept[-2:]
            if (deltas[b] - deltas[a]) * (growths[place] - growths[a]) < (deltas[place] - deltas[a]) * (
                growths[b] - growths[a]
            ):
                break
            kept.pop()
        kept.append(place)
    return TabulatedPair(tuple(growths[kept].tolist()), tuple(deltas[kept].tolist()))


def _clones(epsilon: float, loss: float, n: int) -> float:
    """Return the divergence of the two laws of clones, for any randomiser of pure epsilon `loss`.

    C of the other n - 1 people are clones, binomially with probability e^-loss, and A of these are of the first kind;
    the person adds one of the first kind with probability a = e^loss / (1 + e^loss), or of the second. Given C the
    likelihood ratio rises with A, so that delta is a sum over C of two binomial tails.

    Guarantee: an upper bound for the shuffled reports; the sum leaves out at most 1e-20, which is added.
    Cites: [FMT21, Thm 3.2].
    """
    from scipy.special import betainc
    from scipy.stats import binom

    others, share = n - 1, math.exp(-loss)
    truth = 1 / (1 + share)
    mean, spread = others * share, math.sqrt(max(others * share * (1 - share), 0.0))
    first, last = max(0, math.floor(mean - 12 * spread - 60)), min(others, math.ceil(mean + 12 * spread + 60))
    clones = np.arange(first, last + 1, dtype=np.float64)
    grown = math.exp(epsilon)
    least = np.floor((clones + 1) * (grown * truth - (1 - truth)) / ((2 * truth - 1) * (1 + grown)))

    def above(bound: Floats) -> Floats:
        """Return the probability that half of the clones, by fair coins, are more than the bound."""
        within = (bound >= 0) & (bound < clones)
        tails = betainc(np.where(within, bound + 1, 1.0), np.where(within, clones - bound, 1.0), 0.5)
        return np.where(within, tails, np.where(bound < 0, 1.0, 0.0))

    # with the person's own among the first kind, A + 1 of them are above the bound where A is above it less one
    with_own, without = above(least - 1), above(least)
    gains = truth * with_own + (1 - truth) * without - grown * ((1 - truth) * with_own + truth * without)
    weights = binom.pmf(clones, others, share)
    return float(weights @ np.maximum(gains, 0.0)) * _MARGIN + 1e-20


@dataclass(frozen=True, eq=False)
class _Binary:
    """Binary reports of n people: the exact divergence, as the largest over how many others have the first answer.

    A report is 1 with probability `high` or `low`. With f the law of the others' ones, the count has the law
    high f(j - 1) + (1 - high) f(j) or low f(j - 1) + (1 - low) f(j), whose ratio rises with f(j - 1) / f(j), and that
    rises with j, as sums of independent coins are log-concave.
    """

    high: float
    low: float
    n: int

    @cached_property
    def _laws(self) -> Floats:
        """The law of the ones among the others, a row for each number of others with the first answer."""
        from scipy.stats import binom

        others = self.n - 1
        laws = np.zeros((self.n, self.n + 1))
        for first in range(self.n):
            own = binom.pmf(np.arange(first + 1), first, self.high)
            rest = binom.pmf(np.arange(others - first + 1), others - first, self.low)
            laws[first, : self.n] = np.convolve(own, rest)
        return laws

    @cached_property
    def _shifted(self) -> Floats:
        return np.concatenate((np.zeros((self.n, 1)), self._laws[:, :-1]), axis=1)

    def delta(self, epsilon: float) -> float:
        grown = math.exp(epsilon)
        worst = 0.0
        for first, other in ((self.high, self.low), (self.low, self.high)):
            with_one = (first - grown * other) * self._shifted
            gains = with_one + ((1 - first) - grown * (1 - other)) * self._laws
            worst = max(worst, float(np.maximum(gains, 0.0).sum(axis=1).max()))
        return worst * _MARGIN + 1e-20


def _blanket_delta(epsilon: float, n: int, outcomes: tuple[tuple[Fraction, Fraction, Fraction], ...]) -> float:
    """Return the divergence of a multiset of blanket draws and one report of either kind.

    It is E[(T_1 + ... + T_n)+] / n with independent T = (p - e^epsilon q) / b, with probability b for each outcome, and
    0 otherwise; an outcome that the blanket lacks counts in full. The law of T is tilted to the region that matters and
    put on a lattice, each value split between its two neighbours so that its mean stays: a mean-preserving spread can
    only raise the expectation of a convex function of a sum.

    Guarantee: an upper bound, up to rounding, for which 2^-30 is added; what lies outside the lattice is bounded by
    Chernoff's inequality and added.
    Cites: [BBGN19, Lemma 5.3], [SCW25].
    """
    from scipy.optimize import brentq

    grown = math.exp(epsilon)
    extra = sum(max(0.0, float(p) - grown * float(q)) for p, q, b in outcomes if not b)
    kept = [(float(p), float(q), float(b)) for p, q, b in outcomes if b]
    values = np.array([0.0, *((p - grown * q) / b for p, q, b in kept)])
    weights = np.array([max(0.0, 1 - sum(b for _, _, b in kept)), *(b for _, _, b in kept)])
    weights = weights / weights.sum()
    if values.max() <= 0:
        return extra

    def tilted(theta: float) -> Floats:
        raw: Floats = weights * np.exp(theta * (values - values.max()))
        shares: Floats = raw / raw.sum()
        return shares

    def mean(theta: float) -> float:
        return float(tilted(theta) @ values)

    top = 1.0 / values.max()
    while mean(top) < 0 and top < 1e6:
        top *= 2
    theta = float(brentq(mean, 0.0, top)) if mean(0.0) < 0 < mean(top) else 0.0
    shares = tilted(theta)
    spread = math.sqrt(float(shares @ (values - shares @ values) ** 2))
    reach = _WIDE * spread * math.sqrt(n) + 40 * float(np.abs(values).max())
    step = max(spread / _FINE, 2 * reach / _MOST_STEPS)
    size = 1 << math.ceil(math.log2(2 * reach / step))
    floors = np.floor(values / step)
    parts = values / step - floors
    # split first, tilt afterwards: the spread keeps the mean of the law that is not tilted
    points = np.concatenate((floors, floors + 1))
    masses = np.concatenate((weights * (1 - parts), weights * parts)) * np.exp(theta * step * points)
    cumulant = math.log(float(masses.sum()))
    masses = masses / masses.sum()
    law = np.zeros(size)
    np.add.at(law, points.astype(np.int64) % size, masses)
    sums = np.fft.irfft(np.fft.rfft(law) ** n, size)
    excess = step * np.arange(1, size // 2)
    scale = np.exp(np.minimum(n * cumulant - theta * excess, 600.0))
    total = float((np.maximum(sums[1 : size // 2], 0.0) * excess) @ scale)
    rounding = 64 * n * 2.0**-52 * float(sums.max()) * float(excess @ scale)
    most = n * float(np.abs(values).max()) if theta == 0 else min(n * float(np.abs(values).max()), 1 / (math.e * theta))
    outside = _tails(step * points, masses, n, step * (size // 2 - 1)) * math.exp(min(n * cumulant, 600.0)) * most
    return extra + (total * _MARGIN + rounding + outside) / n


def _tails(values: Floats, masses: Floats, n: int, bound: float) -> float:
    """Return a bound on the probability that a sum of n such terms lies beyond +-bound, by Chernoff's inequality."""
    rates = np.geomspace(1e-6, 60.0, 200) / float(np.abs(values).max())
    total = 0.0
    for sign in (1.0, -1.0):
        logs = n * np.log(np.exp(sign * np.outer(rates, values)) @ masses) - rates * bound
        total += math.exp(min(0.0, float(logs.min())))
    return total
