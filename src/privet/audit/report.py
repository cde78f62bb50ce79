"""What an audit found, for people and for programs."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import betainccinv, betaincinv
from scipy.stats import binom

from privet.core.errors import BadParameter, raise_alone
from privet.core.given import instance, read_fields
from privet.core.numbers import failure_probability, float_down, float_near, nonnegative, open_probability, whole
from privet.mechanisms.lattice import read_floats

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from privet.core.event import Floats


# What counts of an event under two neighbouring inputs prove about epsilon, and how likely they were to prove it.


_MOST_TRIALS = 2**53
_POINTS = 200
"""Counts of equal chance over which power is averaged."""


def rate_low(hits: ArrayLike, trials: ArrayLike, alarm: float) -> Floats:
    """Return a bound below the chance of an event, wrong with probability at most `alarm`.

    Args:
        hits: how often the event was seen.
        trials: of how many releases.
        alarm: the probability with which a true claim is refuted.

    Example:
        >>> round(float(audit.rate_low(3, 10, 0.05)), 4)
        0.0873

    Guarantee: one-sided Clopper-Pearson: the true chance is smaller with probability at most `alarm`, whatever it is.
    Cites: [CP34].
    """
    seen, tried, wrong = _counted(hits, trials, alarm)
    bound = betaincinv(np.maximum(seen, 1), tried - np.maximum(seen, 1) + 1, wrong)
    return np.where(seen > 0, bound, 0.0)


def rate_high(hits: ArrayLike, trials: ArrayLike, alarm: float) -> Floats:
    """Return a bound above the chance of an event, wrong with probability at most `alarm`.

    Args:
        hits: how often the event was seen.
        trials: of how many releases.
        alarm: the probability with which a true claim is refuted.

    Example:
        >>> round(float(audit.rate_high(3, 10, 0.05)), 4)
        0.6066

    Guarantee: one-sided Clopper-Pearson: the true chance is larger with probability at most `alarm`, whatever it is.
    Cites: [CP34].
    """
    seen, tried, wrong = _counted(hits, trials, alarm)
    bound = betainccinv(seen + 1, np.maximum(tried - seen, 1), wrong)
    return np.where(seen < tried, bound, 1.0)


def _counted(hits: ArrayLike, trials: ArrayLike, alarm: float) -> tuple[Floats, Floats, float]:
    """Return counts of hits and of trials as doubles, and the chance of a false alarm, or refuse them by name."""
    seen, tried = read_floats(hits, "hits"), read_floats(trials, "trials")
    wrong = float(open_probability(alarm, "alarm"))
    if not 1e-300 <= wrong < 1:
        raise BadParameter("alarm", alarm, "from 1e-300 to below 1")
    if (tried < 1).any() or (tried > _MOST_TRIALS).any():
        raise BadParameter("trials", trials, "numbers of releases from 1 to 2**53")
    try:
        outside = bool(((seen < 0) | (seen > tried)).any())
    except ValueError:
        raise_alone(BadParameter("hits", hits, "as many numbers as there are of trials, or one"))
    if outside:
        raise BadParameter("hits", hits, "from 0 to the number of trials")
    return seen, tried, wrong


def epsilon_low(p_low: ArrayLike, q_high: ArrayLike, delta: float) -> Floats:
    """Return log((p - delta) / q), or 0: the least epsilon at this delta that leaves an event these chances."""
    p_low, q_high = np.asarray(p_low, dtype=np.float64), np.asarray(q_high, dtype=np.float64)
    over = np.maximum(p_low - delta, 0.0)
    with np.errstate(divide="ignore"):
        return np.maximum(0.0, np.where(over > 0, np.log(over / np.maximum(q_high, 5e-324)), 0.0))


@dataclass(frozen=True)
class Counts:
    """How often an event was seen in `trials` releases of each of two neighbours.

    Example:
        >>> counts = audit.Counts(one=90, other=10, trials=100)
        >>> counts.epsilon(0.0, 0.05) > 0
        True
    """

    one: int
    other: int
    trials: int

    def __post_init__(self) -> None:
        read_fields(self)
        whole(self.trials, "trials", least=1, most=_MOST_TRIALS)
        for name in ("one", "other"):
            if not 0 <= getattr(self, name) <= self.trials:
                raise BadParameter(name, getattr(self, name), f"from 0 to the number of trials, {self.trials}")

    def epsilon(self, delta: float, alarm: float) -> float:
        """Return a lower bound on epsilon at delta, above the truth with probability at most `alarm`.

        Guarantee: if the mechanism is (epsilon, delta)-DP then P <= e^epsilon Q + delta for the event, which was
        chosen without these counts. Each of the two bounds is wrong with probability at most alarm / 2.
        Cites: [JUO20, bounds from samples].
        """
        allowed, wrong = float(failure_probability(delta)), float(open_probability(alarm, "alarm")) / 2
        low = rate_low(self.one, self.trials, wrong)
        return float(epsilon_low(low, rate_high(self.other, self.trials, wrong), allowed))


def power(counts: Counts, epsilon: float, delta: float, alarm: float, *, more: float = 0.1) -> float:
    """Return how likely such counts refute a claim where the mechanism leaks this part more than it was seen to.

    The event keeps its chance under one neighbour, and its loss log((P - delta) / Q) grows by the part. Where the
    event shows all that is claimed, this is the chance to catch an epsilon that is understated by the part.

    Args:
        counts: the counts that were seen.
        epsilon: the privacy loss.
        delta: the probability with which it may be exceeded.
        alarm: the probability with which a true claim is refuted.
        more: the part that it leaks more.

    Example:
        >>> counts = audit.Counts(one=90, other=10, trials=100)
        >>> 0 <= audit.power(counts, 1.0, 0.0, 0.05) <= 1
        True
    """
    trials = instance(counts, Counts, "counts", "Counts of an event").trials
    infinite = isinstance(epsilon, float) and epsilon == math.inf
    claim = math.inf if infinite else float_down(nonnegative(epsilon, "epsilon"))
    delta = float(failure_probability(delta))
    alarm, more = float(open_probability(alarm, "alarm")), float_near(nonnegative(more, "more"))
    chance, other = counts.one / trials, max(counts.other, 1) / trials
    if chance <= delta:
        return 0.0
    leaked = other * (other / (chance - delta)) ** more
    if leaked >= 1:
        return 0.0
    first = binom.ppf((np.arange(_POINTS) + 0.5) / _POINTS, trials, chance)
    # the most hits under the other neighbour with which each count under the one still refutes the claim
    limit = np.maximum(rate_low(first, trials, alarm / 2) - delta, 0.0) * math.exp(-claim)
    return float(np.mean(binom.cdf(_most_below(limit, trials, alarm / 2), trials, leaked)))


def _most_below(limit: Floats, trials: int, alarm: float) -> Floats:
    """Return for each limit below 1 the most hits whose upper bound stays below it; -1 for none."""
    low, high = np.full(limit.shape, -1), np.full(limit.shape, trials)
    while np.any(open_ := high - low > 1):
        middle = np.where(open_, (low + high) // 2, 0)
        below = rate_high(middle, trials, alarm) < limit
        low, high = np.where(open_ & below, middle, low), np.where(open_ & ~below, middle, high)
    return low.astype(np.float64)


@dataclass(frozen=True)
class Report:
    """What an audit found: a lower bound on epsilon, the event that shows it, and what it would have caught.

    Example:
        >>> report = audit.audit(privet.Laplace(sensitivity=1, epsilon=1), (10, 11), 1, 2000)
        >>> report.refuted
        False
    """

    epsilon: float
    delta: float
    found: float
    witness: str
    """The event, in words: which outputs it contains."""
    counts: Counts
    """How often the event was seen: first under the neighbour under which it is likelier, then under the other."""
    flipped: bool
    """Whether the neighbour under which the event is likelier is the second."""
    alarm: float
    power: float
    """The chance that this audit would have refuted a claim that understates epsilon by a tenth."""
    points: tuple[tuple[float, float], ...]
    """False positive and false negative rates of tests on the witness's score, as measured."""
    claims: tuple[tuple[float, float], ...] = ()
    """Every (epsilon, delta) that the claim makes and that was put to the test."""

    def __post_init__(self) -> None:
        read_fields(self)

    @property
    def refuted(self) -> bool:
        """Whether the claim is false, up to the false-alarm rate."""
        return self.found > self.epsilon

    @property
    def seen(self) -> tuple[int, int]:
        """Return how often the event was seen under the first and under the second neighbour."""
        return (self.counts.other, self.counts.one) if self.flipped else (self.counts.one, self.counts.other)

    def __str__(self) -> str:
        verdict = "REFUTED" if self.refuted else "not refuted"
        return (
            f"{verdict}: claimed {self.claim}, found at least {self.found:.4g} "
            f"by {self.counts.trials:,} releases of each neighbour (witness: {self.witness}; "
            f"an epsilon understated by 10% would be caught with probability {self.power:.3g})"
        )

    @property
    def claim(self) -> str:
        """Return the claim that was put to the test, in words."""
        return f"epsilon {self.epsilon:.4g}" + (f" at delta {self.delta:.3g}" if self.delta else "")

    def to_dict(self) -> dict[str, object]:
        """Return the report as plain data."""
        return {
            "refuted": self.refuted,
            "epsilon": self.epsilon,
            "delta": self.delta,
            "found": self.found,
            "witness": self.witness,
            "seen": list(self.seen),
            "releases": self.counts.trials,
            "power": self.power,
            "alarm": self.alarm,
        }
