"""Audits of estimates that follow the data: a partition with the counts of its parts, and a model fitted in rounds."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from privet.audit.entry import AuditEntry, known
from privet.audit.exact import integers
from privet.strategy import MultiplicativeWeights, PartitionTree, prefixes

_SHOWN = 12
"""Counts beyond this are looked at together."""


def _partition(epsilon: float, counts: Any) -> dict[Any, float]:
    """Return the law of a partition of four cells and of the noisy count of the part that has the first.

    Two fifths of epsilon are for the partition. A part of depth d is halved if max(-f, count - d f) + noise > 0, with
    noise of the least scale, in 64ths of 1 / epsilon, at which both halvings that one row takes part in cost no more
    than that, and f the next integer above ln 4 scales.

    Cites: [ZXX16, PrivTree].
    """
    share = 0.4 * epsilon
    scale = next(k / 64 / share for k in range(64, 1000) if 2 / (k / 64 / share) * (1 + 2.0**-30) <= share)
    fall = max(1, math.ceil(scale * math.log(4)))
    second = epsilon - 2 / scale * (1 + 2.0**-30)

    def halved(count: int, depth: int) -> float:
        value, a = max(-fall, count - depth * fall), math.exp(-1 / scale)
        return a ** (1 - value) / (1 + a) if value <= 0 else 1 - a**value / (1 + a)

    whole, left, right = sum(counts), sum(counts[:2]), sum(counts[2:])
    ways: dict[Any, tuple[float, int]] = {(0, 0): (1 - halved(whole, 0), whole)}
    for first in (False, True):
        for other in (False, True):
            chance = halved(whole, 0) * abs((not first) - halved(left, 1)) * abs((not other) - halved(right, 1))
            ways[1 + first, 1 + other] = chance, counts[0] if first else left
    found: dict[Any, float] = {}
    for (first_depth, other_depth), (chance, count) in ways.items():
        for drawn, part in integers(1 / second).items():
            seen = (first_depth, other_depth, min(max(count + drawn, -_SHOWN), _SHOWN))
            found[_label(*seen)] = found.get(_label(*seen), 0.0) + chance * part
    return found


def _label(first: Any, other: Any, count: Any) -> Any:
    return 1000 * first + 100 * other + count + _SHOWN


def _parts(releases: Any) -> Any:
    depths, cells = releases[:, 0], releases[:, 1]
    count = np.rint(cells[:, 0] * 4 / 2 ** depths[:, 0])
    return _label(depths[:, 0], depths[:, 2], np.clip(count, -_SHOWN, _SHOWN))


def _weights(epsilon: float, counts: Any) -> dict[Any, float]:
    """Return the law of one round: a query by its distance from an even model, and its answer with noise.

    A half of epsilon is for the choice, by e^(epsilon / 2 score / 2), and a half for the answer.

    Cites: [HLM12, MWEM].
    """
    answers = np.cumsum(counts)
    scores = np.abs(answers - sum(counts) / len(counts) * np.arange(1, len(counts) + 1))
    odds = np.exp(epsilon / 4 * scores)
    found: dict[Any, float] = {}
    for query, chance in enumerate(odds / odds.sum()):
        for drawn, part in integers(2 / epsilon).items():
            seen = 100 * query + min(max(int(answers[query]) + drawn, -_SHOWN), _SHOWN)
            found[seen] = found.get(seen, 0.0) + float(chance) * part
    return found


def _round(releases: Any) -> Any:
    rows = releases.astype(np.int64)
    return 100 * rows[:, 1] + np.clip(rows[:, 2], -_SHOWN, _SHOWN)


ESTIMATES: tuple[AuditEntry, ...] = (
    known(
        "Partition tree",
        lambda leak: PartitionTree((4,), epsilon=3 * leak, neighbors="add-remove", nonnegative=False),
        _partition,
        ([1, 0, 0, 0], [0, 0, 0, 0]),
        stated=3,
        look=_parts,
    ),
    known(
        "Multiplicative weights",
        lambda leak: MultiplicativeWeights(
            prefixes(3), epsilon=2 * leak, neighbors="change-one", rounds=1, total=3, replays=1
        ),
        _weights,
        ([2, 0, 1], [1, 1, 1]),
        stated=2,
        look=_round,
        samples=200_000,
    ),
)
