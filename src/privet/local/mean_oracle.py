"""The shape of every oracle of a mean over declared bounds.

An answer is put on a fine grid of the bounds, which is no random step; then it is rounded at random, without bias, to
one of the few positions that the oracle knows, and randomised there. Privacy is that of the positions: what comes
before is a mixture of them.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privet import noise
from privet.accounting.amplify import Shuffled
from privet.accounting.events import FinitePairEvent
from privet.core.errors import BadParameter, BadValue
from privet.core.event import Event
from privet.core.given import choice, plain_text, set_fields
from privet.core.numbers import (
    Number,
    exp_down,
    float_near,
    float_up,
    open_probability,
    probability,
    rational,
    whole,
)

from .estimates import COVERS, MeanEstimate, binomial_ends
from .frequency_oracle import check_matrix
from .randomizer import Bytes, Integers, Randomizer, Row, Words, read_epsilon, written_odds
from .reports import add_counts, from_bytes, to_bytes, width_below

Floats = NDArray[np.float64]
Outcomes = tuple[tuple[Fraction, Fraction, Fraction], ...]

GRID = 2**20
"""Answers are put on this many steps of the bounds; intervals are wider by one step."""

_LEAST_EPSILON = Fraction(1, 100)
_LARGEST_BOUND = Fraction(10) ** 100
_FEW_REPORTS = 100


@dataclass(frozen=True, repr=False, eq=False)
class MeanOracle(Randomizer):
    """Randomises one person's number within declared bounds, and estimates the mean of all.

    Numbers outside the bounds count as the nearest bound.

    Args:
        low: the lower bound.
        high: the upper bound.
        epsilon: the privacy loss of one report, at least 0.01.
        survey: a name; reports to a survey of another name are not accepted.

    Raises:
        BadParameter: if a number is out of range.

    Example:
        >>> [kind.__name__ for kind in local.MEANS]
        ['HybridMean', 'PiecewiseMean', 'DuchiMean', 'LaplaceMean']
    """

    low: Fraction
    high: Fraction
    growth: Fraction

    def __init__(self, low: Number, high: Number, *, epsilon: Number, survey: str = "") -> None:
        least, most = rational(low, "low"), rational(high, "high")
        if not -_LARGEST_BOUND <= least < most <= _LARGEST_BOUND or most - least < 1 / _LARGEST_BOUND:
            raise BadParameter("high", high, "above low, both within 1e100 of 0 and not closer than 1e-100")
        asked = read_epsilon(epsilon, least=_LEAST_EPSILON)
        # e^epsilon rounded down, so that odds made of it cost no more than was asked
        set_fields(self, low=least, high=most, growth=exp_down(asked), survey=plain_text(survey, "survey"))

    @property
    @abstractmethod
    def steps(self) -> int:
        """The number of positions that an answer may be rounded to, less one: position s means 2 s / steps - 1."""

    @property
    @abstractmethod
    def symbols(self) -> int:
        """The number of different reports."""

    @property
    @abstractmethod
    def second_moment(self) -> tuple[Fraction, Fraction]:
        """A and B where a report of the position t, on the scale from -1 to 1, is A + B t^2 on average when squared."""

    @property
    @abstractmethod
    def _decoded(self) -> Floats:
        """The value of each report, on the scale from -1 to 1: unbiased."""

    @property
    @abstractmethod
    def _outcome_odds(self) -> Outcomes:
        """For groups of reports: the odds from the lowest position, from the highest, and the least from any."""

    @abstractmethod
    def _draw(self, positions: Integers) -> Integers:
        """Return a report's number for each position."""

    @abstractmethod
    def _row(self, position: int) -> Row:
        """Return the exact probability of every report."""

    def _place(self, answers: Integers) -> Integers:
        """Return a position for each place on the grid: one of the two nearest, at random, without bias.

        Guarantee: exact: the upper one is drawn with the very share of the way to it.
        """
        whole_steps, rest = np.divmod(answers * self.steps, GRID)
        return whole_steps + (noise.uniform_below(GRID, len(answers)) < rest)

    @property
    def width(self) -> int:
        return width_below(self.symbols)

    def _randomise(self, answers: Integers, ids: Words) -> Bytes:
        return to_bytes(self._draw(self._place(answers)), self.width)

    def _allowed(self, data: Bytes, ids: Words) -> NDArray[np.bool_]:
        return from_bytes(data) < self.symbols

    @property
    def _tally_shape(self) -> tuple[int, ...]:
        return (self.symbols,)

    def _count_into(self, tally: Integers, data: Bytes, ids: Words) -> None:
        add_counts(tally, from_bytes(data))

    @cached_property
    def event(self) -> Event:
        """The event of one report.

        Guarantee: neighbours are any two answers of one person. The pair of the lowest and the highest position
        dominates that of any two positions, and so of any two mixtures of positions.
        """
        outcomes = self._outcome_odds
        return FinitePairEvent((first for first, _, _ in outcomes), (second for _, second, _ in outcomes))

    def shuffled(self, n: int) -> Event:
        """Return the event of n honest people's reports, of which only the multiset is public.

        Args:
            n: the number of honest people; missing, repeated and forged reports do not count.

        Guarantee: the blanket is the least odds that any position gives a report.
        Cites: [BBGN19, the privacy blanket], [FMT21].
        """
        return Shuffled(self.event, n, blanket=(least for _, _, least in self._outcome_odds))

    def variance(self, value: Number, n: int) -> float:
        """Return the variance of the estimated mean of n people who all have this value.

        Guarantee: exact for a value on the grid: A + (B - 1) t^2 + 4 B r (1 - r) / steps^2, with A and B of
        `second_moment`, t the value on the scale from -1 to 1, and r the part of a step by which it lies between
        two positions.
        """
        exact, size = rational(value, "value"), whole(n, "n", least=1)
        if not self.low <= exact <= self.high:
            raise BadParameter("value", value, "within the bounds")
        share = (exact - self.low) / (self.high - self.low)
        part = share * self.steps - math.floor(share * self.steps)
        flat, bent = self.second_moment
        spread = flat + (bent - 1) * (2 * share - 1) ** 2 + 4 * bent * part * (1 - part) / self.steps**2
        return float_up(spread * (self.high - self.low) ** 2 / 4 / size)

    def robustness(self, fraction: Number) -> float:
        """Return how far this fraction of liars, who may send any bytes, can move the mean.

        Guarantee: a forged report stands for at most the largest number that a report can stand for, in the place of
        one whose expectation is at least the lower bound.
        """
        most = Fraction(float(self._decoded.max())) + 1
        return float_up(probability(fraction, "fraction") * most * (self.high - self.low) / 2)

    def matrix(self) -> tuple[Row, ...]:
        """Return the exact probability of every report (columns) for every position (rows), where they are few."""
        check_matrix(self, self.steps + 1, self.symbols, "pass fewer points, or use event, which holds at any size")
        return tuple(self._row(position) for position in range(self.steps + 1))

    @property
    def _told(self) -> list[Any]:
        bounds = written_odds((self.low, self.high, self.growth))
        return [*bounds, self.steps, self.symbols, self.survey]

    def _read(self, answers: Any, parameter: str = "answer") -> Integers:
        """Return the places of answers on the grid. Floats may be used: rounding before the draw leaks nothing."""
        array = numbers_of(answers)
        if array is None:
            raise BadValue(parameter, "something else", "a finite number, or a list of these")
        low, high = float(self.low), float(self.high)
        shares = np.clip((array - low) / (high - low), 0.0, 1.0)
        return np.rint(shares * GRID).astype(np.int64)

    def _estimate(
        self, tally: Integers, n: int, confidence: Number, covers: str, rejected: Mapping[str, int]
    ) -> MeanEstimate:
        level = open_probability(confidence, "confidence")
        whose = choice(covers, "covers", COVERS)
        value, error, *ends = self._interval(tally, n, float(level), whose)
        centre, scale = float(self.low + self.high) / 2, float(self.high - self.low) / 2
        low, high = (min(max(end * scale + centre, float(self.low)), float(self.high)) for end in ends)
        return MeanEstimate(value * scale + centre, low, high, error * scale, n, float(level), whose, rejected)

    def _interval(self, tally: Integers, n: int, level: float, whose: str) -> tuple[float, float, float, float]:
        """Return the mean on the scale from -1 to 1, its standard error, and both ends of its interval.

        The mean of the squares of positions is estimated from reports where a report's variance rises with it, and
        taken two standard errors too large; where it falls, the square of the mean replaces it, which is less.
        Below a hundred reports the variance is the largest there is, the quantile Student's, and half of what the
        largest report moves is added.

        Guarantee: for two reports the interval is that of a binomial count, which covers no less for people with
        different answers.
        Cites: [CP34], [Hoe56].
        """
        from scipy.special import ndtri, stdtrit

        decoded = self._decoded
        value, square = float(tally @ decoded) / n, float(tally @ decoded**2) / n
        flat, bent = (float_near(moment) for moment in self.second_moment)
        least = min(1.0, value**2)
        if bent > 0:
            fourth = float(tally @ decoded**4) / n
            margin = 2 * math.sqrt(max(fourth - square**2, 0.0) / n)
            most = min(1.0, max((square + margin - flat) / bent, least))
        else:
            most = least
        if few := n < _FEW_REPORTS:
            least, most = 0.0, 1.0
        spread = flat + (bent - 1) * (most if bent > 1 else least) + bent / self.steps**2
        if whose == "population":
            spread = flat + bent * (most + 1 / self.steps**2) - least
        error = math.sqrt(max(spread, 0.0) / n)
        tail = (1 - level) / 2
        quantile = stdtrit(max(n - 1, 1), tail) if few else ndtri(tail)
        half = -float(quantile) * error + (float(decoded.max()) / (2 * n) if few else 0.0)
        low, high = value - half, value + half
        if self.symbols == 2:  # a count of bits, which the binomial law covers, from any senders
            ends = binomial_ends(tally[1:], n, Fraction(level))
            low, high = (float(decoded[0] + (decoded[1] - decoded[0]) * end[0]) for end in ends)
        return value, error, low - 2 / GRID, high + 2 / GRID

    def __repr__(self) -> str:
        length = "1 byte" if self.width == 1 else f"{self.width:,} bytes"
        bounds = f"{float(self.low):g} to {float(self.high):g}"
        return f"{type(self).__name__}({bounds}, epsilon={self.epsilon:.6g}, {length})"


def numbers_of(answers: Any) -> Floats | None:
    """Return answers that are finite numbers, or None if any is not."""
    try:
        array = np.asarray(answers)
        if array.dtype == object:  # Fractions and Decimals, and integers of any size
            array = np.array([float_near(rational(number, "answer")) for number in array.ravel()]).reshape(array.shape)
    except Exception:  # ragged lists, and whatever a foreign type raises
        return None
    if array.size and (array.dtype.kind not in "iuf" or isinstance(answers, np.ma.MaskedArray)):
        return None
    floats = array.astype(np.float64)
    return floats if np.isfinite(floats).all() else None
