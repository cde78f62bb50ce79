"""Audits of choices among options, each against the exact law of the pair of scores that it is put to the test with."""

from __future__ import annotations

import math
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


def _gumbel(epsilon: float, scores: Any) -> list[float]:
    """Return the law of the exponential mechanism: proportional to exp(epsilon score / 2).

    Cites: [MT07, Thm 6].
    """
    weights = np.exp(epsilon / 2 * np.asarray(scores, dtype=np.float64))
    return [float(part) for part in weights / weights.sum()]


def _flips(epsilon: float, scores: Any) -> list[float]:
    """Return the law of permute-and-flip: f_i times the integral over t from 0 to 1 of the product of all 1 - f_j t.

    The product is over j other than i, and f_i = exp(epsilon (score i - best) / 2).

    Cites: [MS20, Alg. 1].
    """
    coins = np.exp(epsilon / 2 * (np.asarray(scores, dtype=np.float64) - max(scores)))
    found = []
    for i, coin in enumerate(coins):
        product = np.polynomial.Polynomial([1.0])
        for j, other in enumerate(coins):
            product = product * np.polynomial.Polynomial([1.0, -other]) if j != i else product
        found.append(float(coin * (product.integ()(1.0) - product.integ()(0.0))))
    return found


def _largest(epsilon: float, scores: Any) -> list[float]:
    """Return the law of the largest score with Laplace noise of scale 2 / epsilon: the winner, whatever its gap."""
    found = np.array(_with_gap(epsilon, scores)).reshape(len(scores), -1).sum(axis=1)
    return [float(part) for part in found / found.sum()]


def _in_order(epsilon: float, scores: Any) -> list[float]:
    """Return the law of two winners in order: exponential mechanisms of epsilon / 2 each among those that are left."""
    weights = [math.exp(epsilon / 4 * score) for score in scores]
    found = []
    for order in permutations(range(len(scores)), 2):
        chance, left = 1.0, sum(weights)
        for winner in order:
            chance, left = chance * weights[winner] / left, left - weights[winner]
        found.append(chance)
    return found


def _with_gap(epsilon: float, scores: Any) -> list[float]:
    """Return the law of the winner and of the bin of its gap to the next one, by integrating over the best other.

    P[i wins by g or more] is the integral of P[noise >= m + g - score i] over the largest m of all others.
    """
    rate = epsilon / 2
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
    known("Exponential", lambda leak: Exponential(sensitivity=1, epsilon=2 * leak), _gumbel, _APART, stated=2),
    known("Permute and flip", lambda leak: PermuteAndFlip(sensitivity=1, epsilon=2 * leak), _flips, _APART, stated=2),
    known(
        "Noisy maximum, Laplace",
        lambda leak: NoisyMax(sensitivity=1, epsilon=2 * leak, law="laplace"),
        _largest,
        _APART,
        stated=2,
    ),
    known(
        "Noisy maximum, Gumbel",
        lambda leak: NoisyMax(sensitivity=1, epsilon=2 * leak, law="gumbel"),
        _gumbel,
        _APART,
        stated=2,
    ),
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
