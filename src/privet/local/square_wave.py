"""A distribution by the square wave: report a point near the answer's bin, and find the likeliest distribution."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from privet.accounting.amplify import Shuffled
from privet.accounting.events import FinitePairEvent
from privet.core.event import Event
from privet.core.given import choice, plain_text, set_fields
from privet.core.numbers import Number, exp_down, float_up, open_probability, probability, whole

from .distribution_estimate import EstimatedDistribution, bins_of, edges_of, read_bounds
from .estimates import COVERS
from .frequency_oracle import check_matrix
from .hybrid import WindowLaw
from .randomizer import Bytes, Integers, Randomizer, Row, Words, read_epsilon, written_odds
from .reports import add_counts, from_bytes, to_bytes, width_below

Floats = NDArray[np.float64]

_MOST_BINS = 1024
_LEAST_EPSILON = Fraction(1, 100)
_ROUNDS = 2000


@dataclass(frozen=True, repr=False, eq=False, init=False)
class SquareWave(Randomizer):
    """Randomise a number, and estimate a smooth distribution of all, with far less error than unbiased estimates.

    The estimate is the distribution that makes the reports most likely, smoothed; it is not unbiased. Intervals are
    those of the unbiased estimate, and wider than the error of the smoothed one.

    Args:
        low: the lower bound.
        high: the upper bound; numbers outside the bounds count as the nearest bin.
        bins: the number of bins, 1,024 at most.
        epsilon: the privacy loss of one report, at least 0.01.
        survey: a name; reports to a survey of another name are not accepted.

    Example:
        >>> ages = local.SquareWave(0, 128, bins=64, epsilon=1)
        >>> ages.law.width
        33

    Guarantee: epsilon-DP for each person by themselves, as WindowLaw.
    Cites: [LWLL20, square wave and EM with smoothing].
    """

    kind: ClassVar[str] = "square wave"
    low: Fraction
    high: Fraction
    bins: int
    growth: Fraction

    def __init__(self, low: Number, high: Number, *, bins: int = 64, epsilon: Number, survey: str = "") -> None:
        least, most = read_bounds(low, high)
        asked = read_epsilon(epsilon, least=_LEAST_EPSILON)
        leaves = whole(bins, "bins", least=2, most=_MOST_BINS)
        # e^epsilon rounded down, so that odds made of it cost no more than was asked
        set_fields(self, low=least, high=most, bins=leaves, growth=exp_down(asked), survey=plain_text(survey, "survey"))

    @cached_property
    def law(self) -> WindowLaw:
        """The law of a report: its window reaches to either side as far as keeps the most information."""
        grown = float(self.growth)
        loss = math.log(grown)
        reach = (loss * grown - grown + 1) / (2 * grown * (grown - 1 - loss)) if loss < 30 else 0.0
        width = 2 * int(reach * self.bins) + 1
        return WindowLaw(self.bins + width - 1, width, self.growth)

    @property
    def width(self) -> int:
        return width_below(self.law.points)

    @cached_property
    def event(self) -> Event:
        """The event of one report: the pair of the first and the last bin dominates that of any two."""
        outcomes = self.law.outcome_odds
        return FinitePairEvent((first for first, _, _ in outcomes), (second for _, second, _ in outcomes))

    def shuffled(self, n: int) -> Event:
        """Return the event of n honest people's reports, of which only the multiset is public.

        Args:
            n: the number of honest people; missing, repeated and forged reports do not count.

        Cites: [BBGN19, the privacy blanket], [FMT21].
        """
        return Shuffled(self.event, n, blanket=(least for _, _, least in self.law.outcome_odds))

    def matrix(self) -> tuple[Row, ...]:
        """Return the exact probability of every report (columns) for every bin (rows), where they are few."""
        check_matrix(self, self.bins, self.law.points, "use fewer bins, or event, which holds at any size")
        return tuple(self.law.row(start) for start in range(self.bins))

    @property
    def _told(self) -> list[Any]:
        return [*written_odds((self.low, self.high, self.growth)), self.bins, self.law.width, self.survey]

    def _read(self, answers: Any, parameter: str = "answer") -> Integers:
        return bins_of(answers, self.low, self.high, self.bins, parameter)

    def _randomise(self, answers: Any, ids: Words) -> Bytes:
        return to_bytes(self.law.draw(answers), self.width)

    def _allowed(self, data: Bytes, ids: Words) -> NDArray[np.bool_]:
        return from_bytes(data) < self.law.points

    @property
    def _tally_shape(self) -> tuple[int, ...]:
        return (self.law.points,)

    def _count_into(self, tally: Integers, data: Bytes, ids: Words) -> None:
        add_counts(tally, from_bytes(data))

    @cached_property
    def _odds(self) -> Floats:
        """The probability of every report (rows) for every bin (columns)."""
        points, starts = np.arange(self.law.points)[:, None], np.arange(self.bins)[None, :]
        inside = (points >= starts) & (points < starts + self.law.width)
        return np.where(inside, float(self.law.near), float(self.law.far))

    def _likeliest(self, counts: Floats) -> Floats:
        """Return the smoothed distributions that make counts of reports likely, one for each column of counts."""
        odds, shares = self._odds, np.full((self.bins, counts.shape[1]), 1 / self.bins)
        parts = counts / counts.sum(axis=0)
        stop = 1e-3 * min(float(self.growth), 1e6) / max(float(counts.sum(axis=0).max()), 1.0)
        likely = -np.inf
        for _ in range(_ROUNDS):
            expected = odds @ shares
            shares = shares * (odds.T @ (parts / expected))
            padded = np.concatenate((shares[:1], shares, shares[-1:]))
            shares = (padded[:-2] + 2 * padded[1:-1] + padded[2:]) / 4
            shares = shares / shares.sum(axis=0)
            now = float((parts * np.log(expected)).sum(axis=0).mean())
            if now - likely < stop:
                break
            likely = now
        return shares

    def _estimate(
        self, tally: Integers, n: int, confidence: Number, covers: str, rejected: Mapping[str, int]
    ) -> EstimatedDistribution:
        level = open_probability(confidence, "confidence")
        choice(covers, "covers", COVERS)
        shares = self._likeliest(tally[:, None].astype(np.float64))[:, 0]
        law = self._odds @ shares
        # the unbiased estimate by weighted least squares, whose covariance is known
        weighted = self._odds.T / law
        inverse = np.linalg.solve(weighted @ self._odds, weighted)
        moved = inverse @ law
        covariance = ((inverse * law) @ inverse.T - np.outer(moved, moved)) / n
        edges = edges_of(self.low, self.high, self.bins)
        method = "by the likeliest distribution, smoothed; intervals are those of the unbiased estimate"
        return EstimatedDistribution(
            edges, shares, inverse @ (tally / n), covariance, n, float(level), method, rejected
        )

    def robustness(self, fraction: Number) -> float:
        """Return about how far this fraction of liars, who may send any bytes, can move the share of one bin.

        Guarantee: none for the smoothed estimate; it is the figure of an unbiased one, whose forged reports all lie
        in one window.
        """
        inside, outside = self.law.near * self.law.width, self.law.far * self.law.width
        return float_up(min(probability(fraction, "fraction") * (1 - outside) / (inside - outside), Fraction(1)))

    def __repr__(self) -> str:
        bounds = f"{float(self.low):g} to {float(self.high):g}"
        return f"SquareWave({bounds}, {self.bins:,} bins, epsilon={self.epsilon:.6g}, {self.width:,} bytes)"
