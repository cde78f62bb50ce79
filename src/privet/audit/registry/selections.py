"""Audits of choices among options, each against the exact law of the pair of scores that it is put to the test with."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from itertools import permutations
from typing import Any

import numpy as np

from privet.audit.entry import Entry, known
from privet.mechanisms import Exponential, NoisyMax, PermuteAndFlip, TopK, TopKWithGaps

_APART = ([0] * 4, [-1, 1, 1, 1])
"""Scores that move in opposite directions, as far as they may: the first against all others."""

_TWO_APART = ([0] * 4, [-1, -1, 1, 1])
_MANY_APART = ([0] * 8, [-1] + [1] * 7)
_EDGES = np.array([0.0, 0.5, 1.0, 2.0, 4.0, 8.0])
"""Gaps are looked at between these, and above the last."""

Chooses = Exponential | PermuteAndFlip | NoisyMax


def _choice(name: str, make: Callable[[Fraction], Chooses]) -> Entry:
    def law(mechanism: Chooses, scores: Any) -> list[float]:
        return [float(chance) for chance in mechanism.probabilities(scores)]

    return known(name, make, law, _APART, stated=2)


def _in_order(mechanism: TopK, scores: Any) -> list[float]:
    """Return the law of the winners in order: each is an exponential mechanism among those that are left."""
    weights = [math.exp(float(mechanism.rate) * score) for score in scores]
    found = []
    for order in permutations(range(len(scores)), mechanism.k):
        chance, left = 1.0, sum(weights)
        for winner in order:
            chance, left = chance * weights[winner] / left, left - weights[winner]
        found.append(chance)
    return found


def _with_gap(mechanism: TopKWithGaps, scores: Any) -> list[float]:
    """Return the law of the winner and of the bin of its gap to the next one, by integrating over the best other.

    P[i wins by g or more] is the integral of P[noise >= m + g - score i] over the largest m of all others.
    """
    rate = float(mechanism.rate)
    edges = np.unique(np.concatenate([np.linspace(-60, 60, 481) / rate, np.asarray(scores, dtype=np.float64)]))
    points, weights = np.polynomial.legendre.leggauss(12)
    half = np.diff(edges)[:, None] / 2
    m, dm = (edges[:-1, None] + half * (points + 1)).ravel(), (half * weights).ravel()
    found = []
    for i, score in enumerate(scores):
        others = [other for j, other in enumerate(scores) if j != i]
        below = np.array([_below(rate * (m - other)) for other in others])
        density = sum(
            rate * np.exp(-rate * np.abs(m - other)) / 2 * np.prod(np.delete(below, j, axis=0), axis=0)
            for j, other in enumerate(others)
        )
        ahead = [float(np.sum(dm * density * _below(-rate * (m + edge - score)))) for edge in _EDGES]
        found += [here - beyond for here, beyond in zip(ahead, [*ahead[1:], 0.0], strict=True)]
    total = math.fsum(found)
    return [chance / total for chance in found]


def _below(x: Any) -> Any:
    """Return P[noise <= x] for Laplace noise of scale 1."""
    return np.where(x < 0, np.exp(-np.abs(x)) / 2, 1 - np.exp(-np.abs(x)) / 2)


def _winner_and_bin(rows: Any) -> Any:
    return rows[:, 0] * _EDGES.size + np.searchsorted(_EDGES, rows[:, 1], side="right")


SELECTIONS: tuple[Entry, ...] = (
    _choice("Exponential", lambda leak: Exponential(sensitivity=1, epsilon=2 * leak)),
    _choice("Permute and flip", lambda leak: PermuteAndFlip(sensitivity=1, epsilon=2 * leak)),
    _choice("Noisy maximum, Laplace", lambda leak: NoisyMax(sensitivity=1, epsilon=2 * leak, law="laplace")),
    _choice("Noisy maximum, Gumbel", lambda leak: NoisyMax(sensitivity=1, epsilon=2 * leak, law="gumbel")),
    known("Top k", lambda leak: TopK(k=2, sensitivity=1, epsilon=3 * leak), _in_order, _TWO_APART, stated=3),
    known(
        "Top k with gaps",
        lambda leak: TopKWithGaps(k=1, sensitivity=1, epsilon=2 * leak),
        _with_gap,
        _MANY_APART,
        stated=2,
        look=_winner_and_bin,
    ),
)
