"""Bins of declared bounds, and an estimated distribution over them: shares, ranges and quantiles with intervals."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privet.core.errors import BadParameter, BadValue
from privet.core.given import listed, mapping, plain_text, set_fields, unwrapped
from privet.core.numbers import Number, float_near, open_probability, probability, rational, whole
from privet.display import Figures, draw_columns, draw_text, written

from .estimates import told_reports
from .mean_oracle import numbers_of

_LARGEST_BOUND = Fraction(10) ** 100


def read_bounds(low: Number, high: Number) -> tuple[Fraction, Fraction]:
    """Return declared bounds, exactly."""
    least, most = rational(low, "low"), rational(high, "high")
    if not -_LARGEST_BOUND <= least < most <= _LARGEST_BOUND or most - least < 1 / _LARGEST_BOUND:
        raise BadParameter("high", high, "above low, both within 1e100 of 0 and not closer than 1e-100")
    return least, most


def bins_of(answers: Any, low: Fraction, high: Fraction, bins: int, parameter: str) -> NDArray[np.int64]:
    """Return the bin of each answer; numbers outside the bounds fall into the nearest bin."""
    array = numbers_of(answers)
    if array is None:
        raise BadValue(parameter, "something else", "a finite number, or a list of these")
    least, width = float(low), float(high - low) / bins
    return np.clip(np.floor((array - least) / width), 0, bins - 1).astype(np.int64)


def edges_of(low: Fraction, high: Fraction, bins: int) -> NDArray[np.float64]:
    """Return the ends of all bins."""
    return np.array([float(low + (high - low) * place / bins) for place in range(bins + 1)])


Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False, repr=False)
class EstimatedDistribution:
    """Estimated shares of bins, unbiased ones, and the covariance of these, from which every interval comes.

    A share that is returned is the estimated one, moved into the interval of the unbiased one. `edges` are the ends of
    the bins, one more than there are bins. Each interval covers pointwise, not simultaneously.

    Example:
        >>> ages = local.HierarchicalHistogram(0, 64, bins=8, branching=2, epsilon=8)
        >>> server = ages.server()
        >>> server.add(ages.client.reports([20, 30, 30, 40] * 2500))
        10000
        >>> found = server.estimate()
        >>> value, low, high = found.quantile(0.5)
        >>> 24 <= low <= value <= high <= 40
        True
    """

    edges: Floats
    shares: Floats
    unbiased: Floats
    covariance: Floats
    n: int
    confidence: float
    method: str
    rejected: Mapping[str, int]

    def __post_init__(self) -> None:
        set_fields(self, edges=_numbers(self.edges, "edges"), shares=_numbers(self.shares, "shares"))
        set_fields(self, unbiased=_numbers(self.unbiased, "unbiased"))
        bins = len(self.shares)
        if bins < 1 or len(self.edges) != bins + 1 or not (np.diff(self.edges) > 0).all():
            raise BadParameter("edges", self.edges, "the rising ends of all bins, one more than there are shares")
        if len(self.unbiased) != bins:
            raise BadParameter("unbiased", self.unbiased, "a number for each bin")
        held = self.covariance
        if not isinstance(held, np.ndarray):
            rows = listed(unwrapped(held), "covariance", "a square of numbers")
            held = np.array([_numbers(row, "covariance") for row in rows], dtype=np.float64)
        if held.dtype != np.float64 or held.shape != (bins, bins) or not np.isfinite(held).all():
            raise BadParameter("covariance", self.covariance, "a row and a column for each bin")
        set_fields(self, covariance=held, confidence=float(open_probability(self.confidence, "confidence")))
        whole(self.n, "n")
        plain_text(self.method, "method")
        counts = mapping(self.rejected, "rejected", "how many reports were rejected, by reason")
        set_fields(self, rejected={reason: whole(count, "rejected") for reason, count in counts.items()})

    def __len__(self) -> int:
        return len(self.shares)

    def range(self, low: Number, high: Number) -> tuple[float, float, float]:
        """Return the share between two numbers, and the ends of its interval.

        Args:
            low: the lower end; bins that the ends cut count in proportion.
            high: the upper end.
        """
        first, last = float_near(rational(low, "low")), float_near(rational(high, "high"))
        if not first < last:
            raise BadParameter("high", high, "above low")
        covered = np.minimum(self.edges[1:], last) - np.maximum(self.edges[:-1], first)
        return self._sum(np.clip(covered / np.diff(self.edges), 0, 1))

    def quantile(self, q: Number) -> tuple[float, float, float]:
        """Return the number below which this share lies, and the ends of its interval.

        Args:
            q: the share, from 0 to 1.

        Guarantee: the interval holds every edge at which the interval of the share below does not exclude q, and
        reaches to the next edge on either side.
        """
        share = float(probability(q, "q"))
        below, low, high = self.below()
        place = int(np.searchsorted(np.maximum.accumulate(below), share, side="left"))
        place = min(max(place, 1), len(self))
        before, after = np.maximum.accumulate(below)[place - 1 : place + 1]
        part = min(1.0, max(0.0, (share - before) / (after - before))) if after > before else 1.0
        value = self.edges[place - 1] + part * (self.edges[place] - self.edges[place - 1])
        possible = np.flatnonzero((low <= share) & (share <= high))
        first = max(0, int(possible[0]) - 1) if len(possible) else place - 1
        last = min(len(self), int(possible[-1]) + 1) if len(possible) else place
        ends = min(float(self.edges[first]), float(value)), max(float(self.edges[last]), float(value))
        return float(value), *ends

    def below(self) -> tuple[Floats, Floats, Floats]:
        """Return the share below each edge, and the ends of its interval."""
        bins = len(self)
        sums = np.tril(np.ones((bins, bins)))
        values = np.concatenate(([0.0], sums @ self.shares))
        centres = np.concatenate(([0.0], sums @ self.unbiased))
        spread = np.concatenate(([0.0], np.einsum("ij,jk,ik->i", sums, self.covariance, sums, optimize=True)))
        half = self._reach * np.sqrt(np.maximum(spread, 0))
        half[-1] = 0.0
        values[-1] = centres[-1] = 1.0
        low, high = np.clip(centres - half, 0, 1), np.clip(centres + half, 0, 1)
        return np.clip(values, low, high), low, high

    @property
    def _reach(self) -> float:
        from scipy.special import ndtri

        return -float(ndtri((1 - self.confidence) / 2))

    def _sum(self, weights: Floats) -> tuple[float, float, float]:
        centre = float(weights @ self.unbiased)
        half = self._reach * float(np.sqrt(max(float(weights @ self.covariance @ weights), 0.0)))
        low, high = (min(1.0, max(0.0, centre + side * half)) for side in (-1, 1))
        return min(high, max(low, float(weights @ self.shares))), low, high

    @property
    def notes(self) -> tuple[str, ...]:
        """Remarks on the numbers."""
        reports = told_reports(self.n, sum(self.rejected.values()))
        return (
            f"From {reports}, {self.method}. Each interval covers the share with probability "
            f"{self.confidence:g} (pointwise, not simultaneously).",
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the table as plain lists."""
        rows = [self._sum(row) for row in np.eye(len(self))]
        return {
            "edges": self.edges.tolist(),
            "share": [value for value, _, _ in rows],
            "low": [low for _, low, _ in rows],
            "high": [high for _, _, high in rows],
            "reports": self.n,
            "confidence": self.confidence,
            "rejected": dict(self.rejected),
        }

    def __repr__(self) -> str:
        table = self.to_dict()
        names = Figures("from", tuple(f"{edge:g}" for edge in table["edges"][:-1]), right=True)
        columns = [
            Figures(name, tuple(f"{number:.4f}" for number in table[name]), right=True)
            for name in ("share", "low", "high")
        ]

        def draw(console: Any) -> None:
            draw_columns(console, [names], [[column] for column in columns], rows=len(self), most=20)
            for line in self.notes:
                draw_text(console, line, style="dim")

        return written(draw)


def _numbers(held: Any, name: str) -> Floats:
    if type(held) is np.ndarray and held.dtype == np.float64 and held.ndim == 1 and np.isfinite(held).all():
        return held
    return np.array([float_near(rational(number, name)) for number in listed(unwrapped(held), name, "numbers")])
