"""What counts of an event under two neighbouring inputs prove about epsilon, and how likely they were to prove it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import betainccinv, betaincinv
from scipy.stats import binom

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from privet.core.pair import Floats

_POINTS = 200
"""Counts of equal chance over which power is averaged."""


def rate_low(hits: ArrayLike, trials: ArrayLike, alarm: float) -> Floats:
    """Return a bound below the chance of an event, wrong with probability at most `alarm`.

    Guarantee: one-sided Clopper-Pearson: the true chance is smaller with probability at most `alarm`, whatever it is.
    Cites: [CP34].
    """
    hits, trials = np.asarray(hits, dtype=np.float64), np.asarray(trials, dtype=np.float64)
    found = betaincinv(np.maximum(hits, 1), trials - np.maximum(hits, 1) + 1, alarm)
    return np.where(hits > 0, found, 0.0)


def rate_high(hits: ArrayLike, trials: ArrayLike, alarm: float) -> Floats:
    """Return a bound above the chance of an event, wrong with probability at most `alarm`.

    Guarantee: one-sided Clopper-Pearson: the true chance is larger with probability at most `alarm`, whatever it is.
    Cites: [CP34].
    """
    hits, trials = np.asarray(hits, dtype=np.float64), np.asarray(trials, dtype=np.float64)
    found = betainccinv(hits + 1, np.maximum(trials - hits, 1), alarm)
    return np.where(hits < trials, found, 1.0)


def epsilon_low(p_low: ArrayLike, q_high: ArrayLike, delta: float) -> Floats:
    """Return log((p - delta) / q), or 0: the least epsilon at this delta that leaves an event these chances."""
    p_low, q_high = np.asarray(p_low, dtype=np.float64), np.asarray(q_high, dtype=np.float64)
    over = np.maximum(p_low - delta, 0.0)
    with np.errstate(divide="ignore"):
        return np.maximum(0.0, np.where(over > 0, np.log(over / np.maximum(q_high, 5e-324)), 0.0))


@dataclass(frozen=True)
class Counts:
    """How often an event was seen in `trials` releases of each of two neighbours."""

    one: int
    other: int
    trials: int

    def epsilon(self, delta: float, alarm: float) -> float:
        """Return a lower bound on epsilon at delta, above the truth with probability at most `alarm`.

        Guarantee: if the mechanism is (epsilon, delta)-DP then P <= e^epsilon Q + delta for the event, which was
        chosen without these counts. Each of the two bounds is wrong with probability at most alarm / 2.
        Cites: [JUO20, bounds from samples].
        """
        low = rate_low(self.one, self.trials, alarm / 2)
        return float(epsilon_low(low, rate_high(self.other, self.trials, alarm / 2), delta))


def power(counts: Counts, epsilon: float, delta: float, alarm: float, *, more: float = 0.1) -> float:
    """Return how likely such counts refute a claim where the mechanism leaks this part more than it was seen to.

    The event keeps its chance under one neighbour, and its loss log((P - delta) / Q) grows by the part. Where the
    event shows all that is claimed, this is the chance to catch an epsilon that is understated by the part.
    """
    trials = counts.trials
    chance, other = counts.one / trials, max(counts.other, 1) / trials
    if chance <= delta:
        return 0.0
    leaked = other * (other / (chance - delta)) ** more
    if leaked >= 1:
        return 0.0
    first = binom.ppf((np.arange(_POINTS) + 0.5) / _POINTS, trials, chance)
    # the most hits under the other neighbour with which each count under the one still refutes the claim
    limit = np.maximum(rate_low(first, trials, alarm / 2) - delta, 0.0) * math.exp(-epsilon)
    return float(np.mean(binom.cdf(_most_below(limit, trials, alarm / 2), trials, leaked)))


def _most_below(limit: Floats, trials: int, alarm: float) -> Floats:
    """Return for each limit below 1 the most hits whose upper bound stays below it; -1 for none."""
    low, high = np.full(limit.shape, -1), np.full(limit.shape, trials)
    while np.any(open_ := high - low > 1):
        middle = np.where(open_, (low + high) // 2, 0)
        below = rate_high(middle, trials, alarm) < limit
        low, high = np.where(open_ & below, middle, low), np.where(open_ & ~below, middle, high)
    return low.astype(np.float64)
