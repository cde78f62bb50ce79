"""Audits of quantiles, against the exact law of one choice, or of a joint one up to the width of a few places."""

from __future__ import annotations

import math
from itertools import combinations_with_replacement, pairwise, product
from typing import Any

import numpy as np

from privet.audit.entry import AuditEntry, known
from privet.audit.exact import quantile_law
from privet.mechanisms import Quantile, Quantiles, RecursiveQuantiles, SampleAggregate

_LAST, _MIDDLE = 4_920_000, 4_910_000
"""Places so many that the few which hold rows weigh nothing, and a middle that balances the two sides."""

_WIDE, _CUTS = 240_000, (200_000, 230_000)
_ROUNDED = 1.002
"""Room for the places that hold rows, which the laws of several quantiles leave out: a few in ten thousand or more."""


_LOW, _HIGH = 0.25, 0.75
"""The shares of two quantiles."""


def _median(epsilon: float, values: Any) -> list[float]:
    """Return the law of a median: a row that comes moves scores by 1/2, a range of 1."""
    return quantile_law(values, 200, q=0.5, rate=epsilon)


def _least(epsilon: float, values: Any) -> list[float]:
    """Return the law of the least number: a row moves all scores one way, by 0 or 1."""
    return quantile_law(values, 9, q=0, rate=epsilon)


def _sides(epsilon: float, values: Any) -> list[float]:
    """Return the chance that the upper of two quantiles, the first one that is chosen, lies below the middle.

    It is chosen with a half of epsilon, as there are two levels, and a row moves scores by q at most.
    """
    n = len(values)
    rate = epsilon / 2 / (2 * _HIGH)
    ranks = (0, sum(value <= _MIDDLE for value in values))
    weights = [
        width * math.exp(-rate * abs(rank - _HIGH * n))
        for width, rank in zip((_MIDDLE, _LAST - _MIDDLE), ranks, strict=True)
    ]
    return [weight / sum(weights) for weight in weights]


def _runs(epsilon: float, values: Any) -> list[float]:
    """Return the law of the runs between rows in which two quantiles lie.

    A row that changes moves two of the counts between quantiles by 1, so each miscount weighs epsilon / 4.
    """
    ends = (0, *_CUTS, _WIDE)
    widths = [b - a for a, b in pairwise(ends)]
    ranks = [sum(value <= end for value in values) for end in ends[:-1]]
    goals = [(b - a) * len(values) for a, b in pairwise((0, _LOW, _HIGH, 1))]
    found = []
    for low, high in combinations_with_replacement(range(len(widths)), 2):
        counts = (ranks[low], ranks[high] - ranks[low], len(values) - ranks[high])
        off = sum(abs(count - goal) for count, goal in zip(counts, goals, strict=True))
        several = widths[low] * widths[high] / (2 if low == high else 1)
        found.append(several * math.exp(-epsilon / 4 * off))
    return [weight / sum(found) for weight in found]


def _run_of(rows: Any) -> Any:
    places = np.searchsorted(np.array(_CUTS), np.asarray(rows), side="left")
    return places[:, 0] * 10 + places[:, 1]


def _of_blocks(epsilon: float, rows: Any) -> list[float]:
    """Return the law of the least of the answers on two blocks, each of which a row falls into with equal chances.

    An empty block answers with the low bound, which is 0.
    """
    found = np.zeros(9)
    for places in product((0, 1), repeat=len(rows)):
        blocks = [[row for row, place in zip(rows, places, strict=True) if place == block] for block in (0, 1)]
        answers = [max(block) if block else 0 for block in blocks]
        found += np.array(quantile_law(answers, 8, q=0, rate=epsilon)) / 2 ** len(rows)
    return [float(part) for part in found]


def _blocks(leak: Any) -> SampleAggregate:
    least = Quantile(q=0, low=0, high=8, step=1, epsilon=2 * leak, neighbors="change-one")
    return SampleAggregate(estimator=max, blocks=2, aggregate=least)


QUANTILES: tuple[AuditEntry, ...] = (
    known(
        "Quantile",
        lambda leak: Quantile(q=0.5, low=0, high=200, step=1, epsilon=2 * leak),
        _median,
        ([100, 100], [100, 100, 200]),
        stated=2,
    ),
    known(
        "Quantile, least",
        lambda leak: Quantile(q=0, low=0, high=9, step=1, epsilon=2 * leak),
        _least,
        ([0], []),
        stated=2,
    ),
    known(
        "Quantiles, recursive",
        lambda leak: RecursiveQuantiles(quantiles=[_LOW, _HIGH], low=0, high=_LAST, step=1, epsilon=8 * leak),
        _sides,
        ([_MIDDLE] * 3, [_MIDDLE] * 3 + [_LAST]),
        stated=8,
        look=lambda rows: np.asarray(rows)[:, 1] > _MIDDLE,
        samples=36_000,
        margin=_ROUNDED,
    ),
    known(
        "Quantiles, jointly",
        lambda leak: Quantiles(
            quantiles=[_LOW, _HIGH], low=0, high=_WIDE, step=1, epsilon=4 * leak, neighbors="change-one"
        ),
        _runs,
        ([_CUTS[0], *_CUTS[1:] * 2, _WIDE], [*_CUTS[:1] * 2, *_CUTS[1:] * 2]),
        stated=4,
        look=_run_of,
        samples=48_000,
        margin=_ROUNDED,
    ),
    known(
        "Sample and aggregate",
        _blocks,
        _of_blocks,
        ([0, 0, 0], [0, 0, 8]),
        stated=2,
        samples=250_000,
    ),
)
