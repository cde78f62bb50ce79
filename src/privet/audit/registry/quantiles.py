"""Audits of quantiles, against the exact law of one choice, or of a joint one up to the width of a few places."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations_with_replacement, pairwise
from typing import Any, cast

import numpy as np

from privet.audit.entry import Entry, known
from privet.mechanisms import Quantile, Quantiles, RecursiveQuantiles, SampleAggregate

_LAST, _MIDDLE = 4_920_000, 4_910_000
"""Places so many that the few which hold rows weigh nothing, and a middle that balances the two sides."""

_WIDE, _CUTS = 240_000, (200_000, 230_000)
_ROUNDED = 1.002
"""Room for the places that hold rows, which the laws of several quantiles leave out: a few in ten thousand or more."""


def _places(mechanism: Quantile, values: Any) -> list[float]:
    return [float(chance) for chance in mechanism.probabilities(values)]


def _sides(mechanism: RecursiveQuantiles, values: Any) -> list[float]:
    """Return the chance that the upper of two quantiles, the first one that is chosen, lies below the middle."""
    q, n = float(mechanism.shares[1]), len(values)
    rate = float(mechanism.level_epsilon) / (2 * max(q, 1 - q))
    ranks = (0, sum(value <= _MIDDLE for value in values))
    weights = [
        width * math.exp(-rate * abs(rank - q * n))
        for width, rank in zip((_MIDDLE, _LAST - _MIDDLE), ranks, strict=True)
    ]
    return [weight / sum(weights) for weight in weights]


def _runs(mechanism: Quantiles, values: Any) -> list[float]:
    """Return the law of the runs between rows in which two quantiles lie."""
    ends = (0, *_CUTS, _WIDE)
    widths = [b - a for a, b in pairwise(ends)]
    ranks = [sum(value <= end for value in values) for end in ends[:-1]]
    goals = [float(b - a) * len(values) for a, b in pairwise((Fraction(0), *mechanism.shares, Fraction(1)))]
    found = []
    for low, high in combinations_with_replacement(range(len(widths)), 2):
        counts = (ranks[low], ranks[high] - ranks[low], len(values) - ranks[high])
        off = sum(abs(count - goal) for count, goal in zip(counts, goals, strict=True))
        several = widths[low] * widths[high] / (2 if low == high else 1)
        found.append(several * math.exp(-float(mechanism.kappa) * off))
    return [weight / sum(found) for weight in found]


def _run_of(rows: Any) -> Any:
    places = np.searchsorted(np.array(_CUTS), np.asarray(rows), side="left")
    return places[:, 0] * 10 + places[:, 1]


def _of_blocks(mechanism: SampleAggregate, rows: Any) -> list[float]:
    """Return the law of the aggregate of one block's answer."""
    return _places(cast(Quantile, mechanism.aggregate), [max(rows)])


def _blocks(leak: Any) -> SampleAggregate:
    least = Quantile(q=0, low=0, high=8, step=1, epsilon=4 * leak, neighbors="change-one")
    return SampleAggregate(estimator=max, blocks=1, aggregate=least)


QUANTILES: tuple[Entry, ...] = (
    known(
        "Quantile",
        lambda leak: Quantile(q=0.5, low=0, high=200, step=1, epsilon=2 * leak),
        _places,
        ([100, 100], [100, 100, 200]),
        stated=2,
    ),
    known(
        "Quantile, least",
        lambda leak: Quantile(q=0, low=0, high=9, step=1, epsilon=2 * leak),
        _places,
        ([0], []),
        stated=2,
    ),
    known(
        "Quantiles, recursive",
        lambda leak: RecursiveQuantiles(quantiles=[0.25, 0.75], low=0, high=_LAST, step=1, epsilon=8 * leak),
        _sides,
        ([_MIDDLE] * 3, [_MIDDLE] * 3 + [_LAST]),
        stated=8,
        look=lambda rows: np.asarray(rows)[:, 1] > _MIDDLE,
        samples=36_000,
        room=_ROUNDED,
    ),
    known(
        "Quantiles, jointly",
        lambda leak: Quantiles(
            quantiles=[0.25, 0.75], low=0, high=_WIDE, step=1, epsilon=4 * leak, neighbors="change-one"
        ),
        _runs,
        ([_CUTS[0], *_CUTS[1:] * 2, _WIDE], [*_CUTS[:1] * 2, *_CUTS[1:] * 2]),
        stated=4,
        look=_run_of,
        samples=48_000,
        room=_ROUNDED,
    ),
    known(
        "Sample and aggregate",
        _blocks,
        _of_blocks,
        ([0, 0, 0], [0, 0, 8]),
        stated=4,
        samples=250_000,
    ),
)
