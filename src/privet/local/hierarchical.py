"""A distribution by a tree of bins: each person reports the node of one level, and all levels are made consistent."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from privet.core.errors import BadParameter
from privet.core.given import choice, plain_text, set_fields
from privet.core.numbers import Number, float_up, open_probability, probability, whole

from .distribution_estimate import EstimatedDistribution, bins_of, edges_of, read_bounds
from .estimates import COVERS
from .randomizer import Integers, Randomizer, read_epsilon, written_odds
from .split_oracle import SplitOracle
from .unary import OptimizedUnary

Floats = NDArray[np.float64]

_MOST_BINS = 1024
_CERTAIN = 1e-9
"""The variance of the sum of all shares, which is known to be 1, relative to that of a bin."""


@dataclass(frozen=True, repr=False, eq=False, init=False)
class HierarchicalHistogram(SplitOracle):
    """Randomise a number, and estimate the whole distribution: shares of bins, ranges and quantiles with intervals.

    Args:
        low: the lower bound.
        high: the upper bound; numbers outside the bounds count as the nearest bin.
        bins: the number of bins, a power of `branching`, 1,024 at most.
        epsilon: the privacy loss of one report.
        branching: the number of nodes below each node of the tree.
        survey: a name; reports to a survey of another name are not accepted.

    Example:
        >>> ages = local.HierarchicalHistogram(0, 128, bins=64, epsilon=1)
        >>> [level.values for level in ages.parts]
        [4, 16, 64]

    Guarantee: epsilon-DP for each person by themselves: a person reports the node of one level, as SplitOracle.
    Cites: [CKS19], [HRMS10, consistency].
    """

    kind: ClassVar[str] = "hierarchical histogram"
    low: Fraction
    high: Fraction
    bins: int
    branching: int
    asked: Fraction

    def __init__(
        self, low: Number, high: Number, *, bins: int, epsilon: Number, branching: int = 4, survey: str = ""
    ) -> None:
        least, most = read_bounds(low, high)
        fan = whole(branching, "branching", least=2, most=_MOST_BINS)
        leaves, size = whole(bins, "bins", least=2, most=_MOST_BINS), fan
        while size < leaves:
            size *= fan
        if size != leaves:
            raise BadParameter("bins", bins, f"a power of branching, {fan}")
        asked = read_epsilon(epsilon)
        set_fields(self, low=least, high=most, bins=leaves, branching=fan, asked=asked)
        set_fields(self, survey=plain_text(survey, "survey"))

    @cached_property
    def parts(self) -> tuple[Randomizer, ...]:
        return self.level_oracles

    @cached_property
    def level_oracles(self) -> tuple[OptimizedUnary, ...]:
        """The oracle of each level of the tree."""
        sizes: list[int] = []
        while not sizes or sizes[-1] < self.bins:
            sizes.append(self.branching * (sizes[-1] if sizes else 1))
        return tuple(OptimizedUnary(size, epsilon=self.asked) for size in sizes)

    @property
    def _told(self) -> list[Any]:
        return [*written_odds((self.low, self.high)), *super()._told]

    def _read(self, answers: Any, parameter: str = "answer") -> Integers:
        return bins_of(answers, self.low, self.high, self.bins, parameter)

    def _answers_to(self, part: int, answers: Any) -> Any:
        return answers // (self.bins // self.level_oracles[part].values)

    @cached_property
    def _nodes(self) -> Floats:
        """Which bins are below each node of every level, a row for each node."""
        rows = [np.repeat(np.eye(level.values), self.bins // level.values, axis=1) for level in self.level_oracles]
        return np.concatenate(rows)

    def _weights(self, sizes: list[int]) -> Floats:
        """Return the matrix that makes shares of bins of all levels' shares of nodes, by weighted least squares.

        The sum of all shares is known to be 1, which is a separate equation, in the last column.
        """
        spread = [
            float(level.q * (1 - level.q) / (level.p - level.q) ** 2) / max(size, 1e-9)
            for level, size in zip(self.level_oracles, sizes, strict=True)
        ]
        inverse = [np.full(level.values, 1 / var) for level, var in zip(self.level_oracles, spread, strict=True)]
        weight = np.concatenate((*inverse, [1 / (_CERTAIN * min(spread))]))
        rows = np.concatenate((self._nodes, np.ones((1, self.bins))))
        scaled = np.asarray(rows.T * weight, dtype=np.float64)
        matrix: Floats = np.linalg.solve(scaled @ rows, scaled).astype(np.float64)
        return matrix

    def _estimate(
        self, tally: Integers, n: int, confidence: Number, covers: str, rejected: Mapping[str, int]
    ) -> EstimatedDistribution:
        level_ = open_probability(confidence, "confidence")
        choice(covers, "covers", COVERS)
        sizes = tally[: len(self.parts)].tolist()
        weights = self._weights(sizes)
        raw = []
        for number, (level, size) in enumerate(zip(self.level_oracles, sizes, strict=True)):
            p, q, people = float(level.p), float(level.q), max(size, 1)
            supports = level._supports(self._tally_of(tally, number))
            raw.append((supports / people - q) / (p - q) if size else np.full(level.values, 1 / level.values))
        shares = weights @ np.concatenate((*raw, [1.0]))
        covariance = self._covariance(shares, sizes, weights)
        edges = edges_of(self.low, self.high, self.bins)
        method = "to one level of a tree each, made consistent"
        return EstimatedDistribution(edges, shares, shares, covariance, n, float(level_), method, rejected)

    def _covariance(self, shares: Floats, sizes: list[int], weights: Floats) -> Floats:
        """Return the covariance of the shares of bins, where these are the true ones and levels have these sizes.

        Guarantee: bits are independent given the answer, and who reports to a level is a random sample of all.
        """
        covariance, start = np.zeros((self.bins, self.bins)), 0
        for level, size in zip(self.level_oracles, sizes, strict=True):
            p, q = float(level.p), float(level.q)
            here = np.clip(shares.reshape(level.values, -1).sum(axis=1), 0, 1)
            columns = weights[:, start : start + level.values]
            noise = (q * (1 - q) + here * (p * (1 - p) - q * (1 - q))) / (p - q) ** 2
            centre = columns @ here
            covariance += ((columns * (noise + here)) @ columns.T - np.outer(centre, centre)) / max(size, 1)
            start += level.values
        return covariance

    def variance(self, frequency: Number, n: int) -> float:
        """Return the variance of the share of the first bin, where this share of n people are, the rest in the last.

        Guarantee: that of reports and of who is asked for which level, for levels of equal size, after consistency.
        """
        share, size = float(probability(frequency, "frequency")), whole(n, "n", least=1)
        shares = np.zeros(self.bins)
        shares[0], shares[-1] = share, 1 - share
        parts = len(self.parts)
        return float(self._covariance(shares, [1] * parts, self._weights([1] * parts))[0, 0]) * parts / size

    def robustness(self, fraction: Number) -> float:
        """Return how far this fraction of liars, who may send any bytes, can move the share of one bin.

        Guarantee: forged reports may all be to the level that moves the bin most, and set every bit that helps, in
        the place of reports that say the opposite.
        Cites: [CJG21, direct forging].
        """
        weights = self._weights([1] * len(self.parts))
        worst, start = 0.0, 0
        for level in self.level_oracles:
            p, q = float(level.p), float(level.q)
            own = weights[:, start : start + level.values]
            forged = (np.maximum(own, 0) * (1 - q) + np.maximum(-own, 0) * q).sum(axis=1) / (p - q)
            worst = max(worst, float((forged - own.min(axis=1)).max()))
            start += level.values
        return float_up(float(probability(fraction, "fraction")) * len(self.parts) * worst)

    def __repr__(self) -> str:
        bounds = f"{float(self.low):g} to {float(self.high):g}"
        return f"HierarchicalHistogram({bounds}, {self.bins:,} bins, epsilon={self.epsilon:.6g}, {self.width:,} bytes)"
