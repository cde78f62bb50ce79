"""How far sums of Laplace noises reach: between one Laplace and a normal number, by how many terms count and how much.

The law of a weighted sum is the convolution of its terms. It is computed from three numbers: the variance, the share of
the largest term in it, and the fourth moments of all others, which are taken for equal terms with that variance and
these moments. For one term, two, and one beside any number of equal ones that is the exact law.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np
from scipy import interpolate, special

from .strategies import MatrixStrategy, Noise, ProductStrategy, Strategy
from .workloads import Floats, MarginalWorkload, ProductWorkload, RangeWorkload, UnionWorkload, Workload

_NODES = 17
_PERIOD = 60.0
"""Standard deviations after which the inverted law repeats: noise so far out has a probability below 1e-30."""

_HIGHEST = 130.0
_HALVINGS = 40
_RAREST = 1e-5
"""Intervals that miss less often than this have the width of the wider of both laws."""

_MOST_HELD = 2**24
_MOST_TERMS = 2**27
_AT_ONCE = 2**21
"""The most coefficients of measurements that are kept, that are computed for one list of answers, and at a time."""


def half_widths(confidence: float, measure: Noise) -> float:
    """Return how many standard deviations cover a linear combination of the noise with this probability, of any terms.

    For Laplace noise the larger of what one Laplace and a normal number need: sums of several, with any weights, lie
    between the two at the levels above 0.9 that are used; at 0.95 the coverage is 0.95 to 0.966.
    """
    normal = float(special.ndtri(0.5 + confidence / 2))
    return normal if measure == "gaussian" else max(normal, -math.log1p(-confidence) / math.sqrt(2))


def sum_widths(confidence: float, largest: Floats, fourth: Floats) -> Floats:
    """Return how many standard deviations of a sum of Laplace noises cover it with this probability.

    Args:
        confidence: the probability.
        largest: the share of each sum's largest term in its variance.
        fourth: the sum over all terms of their squared shares.

    Guarantee: the coverage is within 0.001 of the confidence from 0.8 on, and within 0.004 from 0.5 on.
    """
    if 1 - confidence < _RAREST:
        return np.full(largest.shape, half_widths(confidence, "pure"))
    first = np.clip(largest, 0.0, 1.0)
    others = 1 - first
    alike = np.divide(fourth - first**2, others**2, out=np.ones_like(first), where=others > 1e-9)
    return np.asarray(_table(confidence).ev(first, np.clip(alike, 0.0, 1.0)))


@lru_cache(maxsize=64)
def _table(confidence: float) -> Any:
    """Return the widths by the share a of the largest term and 1/m, where the others are as m equal terms.

    With a variance of 1 the characteristic function is 1 / (1 + a s^2 / 2) (1 + (1 - a) s^2 / (2 m))^-m, and
    P[|X| <= t] = 2/pi times the integral of sin(s t) / s times it, by the midpoint rule, whose error is that the law
    repeats after its period.
    """
    shares = np.linspace(0.0, 1.0, _NODES)
    first, alike = (grid.ravel()[:, None] for grid in np.meshgrid(shares, shares, indexing="ij"))
    step = 2 * math.pi / _PERIOD
    s = (np.arange(int(_HIGHEST / step)) + 0.5) * step
    rest = np.where(alike > 0, np.log1p((1 - first) * alike / 2 * s**2) / np.maximum(alike, 1e-300), 0.0)
    rest = np.where(alike > 0, rest, (1 - first) / 2 * s**2)
    law = np.exp(-rest - np.log1p(first / 2 * s**2)) * (2 / math.pi * step) / s
    low, high = np.zeros(len(law)), np.full(len(law), 2 * half_widths(confidence, "pure"))
    for _ in range(_HALVINGS):
        t = (low + high) / 2
        inside = np.einsum("ij,ij->i", law, np.sin(t[:, None] * s)) < confidence
        low, high = np.where(inside, t, low), np.where(inside, high, t)
    return interpolate.RectBivariateSpline(shares, shares, high.reshape(_NODES, _NODES))


# What each measurement contributes to an answer, as far as it can be kept.


def shares_of(workload: Workload, strategy: Strategy, terms: Floats | None) -> tuple[Floats, Floats] | None:
    """Return for each answer the share of its largest term in the variance, and the sum of all squared shares.

    `terms` are those of `noise_terms`. None where there are too many coefficients to compute.
    """
    if isinstance(workload, UnionWorkload):
        shares = [shares_of(part, strategy, terms) for part in workload.parts]
        kept = [pair for pair in shares if pair is not None]
        if len(kept) < len(shares):
            return None
        return np.concatenate([largest for largest, _ in kept]), np.concatenate([other for _, other in kept])
    if terms is None and isinstance(strategy, ProductStrategy):
        if isinstance(workload, MarginalWorkload):
            return shares_of(UnionWorkload(workload.products, workload.weights), strategy, terms)
        if isinstance(workload, ProductWorkload):
            return _of_product(workload, strategy)
    if terms is None or workload.queries * strategy.rows > _MOST_TERMS:
        return None
    return _reduced(workload, terms)


def _of_product(workload: ProductWorkload, strategy: ProductStrategy) -> tuple[Floats, Floats] | None:
    """Return the shares of a product: each is the product of the factors' own."""
    largest, fourth = np.ones(1), np.ones(1)
    for factor, measured in zip(workload.factors, strategy.factors, strict=True):
        shares = shares_of(factor, measured, noise_terms(measured, measured.unit_variances()))
        if shares is None:
            return None
        largest, fourth = np.outer(largest, shares[0]).ravel(), np.outer(fourth, shares[1]).ravel()
    return largest, fourth


def noise_terms(strategy: Strategy, variances: Floats) -> Floats | None:
    """Return what the noise of each measurement, at its deviation, adds to each cell: cells x measurements, if kept."""
    if strategy.rows * strategy.cells > _MOST_HELD:
        return None
    deviations = np.sqrt(variances)
    if isinstance(strategy, MatrixStrategy):
        held = strategy._covariance(variances).matrix @ np.asarray(strategy._floats.T / variances)
        return np.asarray(held * deviations)
    if strategy.rows > 2**11:
        return None
    units = np.eye(strategy.rows) * deviations
    return np.stack([strategy._solve(unit, variances).ravel() for unit in units], axis=1)


def _reduced(workload: Workload, terms: Floats) -> tuple[Floats, Floats]:
    many = terms.shape[1]
    if isinstance(workload, RangeWorkload):
        sums = np.zeros((len(terms) + 1, many))
        np.cumsum(terms, axis=0, out=sums[1:])
        size = max(1, _AT_ONCE // many)
        shares = []
        for first in range(0, workload.queries, size):
            some = slice(first, first + size)
            shares.append(_shares(sums[workload.highs[some] + 1] - sums[workload.lows[some]]))
        return np.concatenate([largest for largest, _ in shares]), np.concatenate([other for _, other in shares])
    return _shares(np.stack([workload.answers(column) for column in terms.T], axis=1))


def _shares(added: Floats) -> tuple[Floats, Floats]:
    squares = added**2
    total = squares.sum(axis=1)
    squares /= np.where(total > 0, total, 1.0)[:, None]  # an answer that is known has no noise, and no terms
    return squares.max(axis=1), np.einsum("ij,ij->i", squares, squares)
