"""The choice of the algorithm of w-event privacy with the least error, from declared facts alone.

The prediction is a mean absolute error per cell, of a stream that moves as it is declared to. It decides which
algorithm runs, and nothing that the promise rests on.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, cast, get_args

import numpy as np

from privet.core.given import choice, read_fields
from privet.core.numbers import Number, float_near, nonnegative, whole

Algorithm = Literal["uniform", "sample", "distribution", "absorption"]
ALGORITHMS: tuple[Algorithm, ...] = get_args(Algorithm)

_MOST_LEVELS = 240
"""The resolution within a window: longer windows are computed in groups of steps."""
_MOST_LAGS = 40
"""After how many windows without a release its error is counted as it is then."""
_ROUNDS = 60
MOST_EVERY = 10**9


@dataclass(frozen=True)
class WEventChoice:
    """The algorithm that runs, why, and the mean absolute error per cell that is predicted for each.

    `predicted` is empty where nothing was declared about how the counts move.
    """

    algorithm: Algorithm
    why: str
    predicted: Mapping[str, float]

    def __post_init__(self) -> None:
        read_fields(self)

    def __str__(self) -> str:
        return f"{self.algorithm}: {self.why}"


def choose(
    *,
    scale: Fraction,
    window: int,
    cells: int,
    algorithm: Algorithm | Literal["auto"] = "auto",
    change: Number | None = None,
    every: int = 1,
) -> WEventChoice:
    """Return the algorithm for a stream: the one that is named, or the one with the least predicted error.

    Args:
        scale: the mean noise of one release that spends all of epsilon: sensitivity / epsilon.
        window: how many steps are protected together.
        cells: how many counts each step has.
        algorithm: one of the four by name, or "auto".
        change: how far a count typically moves when it moves, as publicly known; None where it is not.
        every: the counts move at the first step and then every this many steps.
    """
    named = choice(algorithm, "algorithm", ("auto", *ALGORITHMS))
    apart = whole(every, "every", least=1, most=MOST_EVERY)
    if change is None:
        if named != "auto":
            return WEventChoice(cast(Algorithm, named), "chosen by name", {})
        return WEventChoice("uniform", "its error is the same whatever the data, and no change= was declared", {})
    # in units of the scale; beyond a trillion of them only uniform noise is any good
    moves = float_near(min(nonnegative(change, "change") / scale, Fraction(10**12)))
    unit = min(max(float_near(scale), 1e-280), 1e280)
    errors = {name: unit * error for name, error in predicted_errors(1.0, window, cells, moves, apart).items()}
    if named != "auto":
        return WEventChoice(cast(Algorithm, named), "chosen by name", errors)
    best = min(ALGORITHMS, key=lambda name: errors[name])
    return WEventChoice(best, f"the least predicted error, {errors[best]:.3g} for each count", errors)


def predicted_errors(scale: float, window: int, cells: int, change: float, every: int) -> dict[str, float]:
    """Return the mean absolute error per cell that each algorithm is expected to have.

    A release whose noise has mean s, k steps ago, is off by E|Laplace(s) + m| = m + s exp(-m / s), where m is how far
    the counts have moved since: change times n after n moves where n <= 1, and times sqrt(n) for more, as of a walk.
    """
    return {
        "uniform": scale * window,
        "sample": _sampled(scale, window, change, every),
        "distribution": _distributed(scale, window, cells, change, every),
        "absorption": _absorbed(scale, window, cells, change, every),
    }


def _moved(change: float, moves: np.ndarray) -> np.ndarray:
    return np.asarray(change * np.minimum(moves, np.sqrt(moves)))


def _off(noise: float | np.ndarray, moved: np.ndarray) -> np.ndarray:
    return np.asarray(moved + noise * np.exp(-moved / noise))


def _sampled(scale: float, window: int, change: float, every: int) -> float:
    """Return the error of one release in each window. Moves come at declared steps, so how many came is known."""
    rounds = min(every // math.gcd(every, window), _MOST_LEVELS)
    starts = np.arange(rounds, dtype=np.int64) * window
    later = np.unique(np.linspace(0, window - 1, min(window, _MOST_LEVELS)).round().astype(np.int64))
    moves = (starts[:, None] + later) // every - starts[:, None] // every
    return float(_off(scale, _moved(change, moves.astype(float))).mean())


def _above(excess: np.ndarray, noise: float) -> np.ndarray:
    """Return P[Laplace(noise) > -excess]."""
    tail = np.exp(-np.abs(excess) / noise) / 2
    return np.asarray(np.where(excess > 0, 1 - tail, tail))


def _distributed(scale: float, window: int, cells: int, change: float, every: int) -> float:
    """Return the error of budget distribution where releases come at an even rate r.

    Half of the remainder is e, where e = (1/2) / (2 + (window - 1) r) of epsilon. Just after a release e / 2 can be
    spent, and as old releases leave the window, (e / 2) (1 + r k) after k steps, up to a quarter of epsilon.
    """
    step = max(1.0, window / _MOST_LEVELS)
    lags = step * np.arange(1, math.ceil(_MOST_LAGS * window / step) + 1)
    moved = _moved(change, lags / every)
    compared = 2 * window * scale / cells
    rate, error = 1 / window, math.inf
    for _ in range(_ROUNDS):
        part = 0.5 / (2 + (window - 1) * rate)
        offered = np.where(lags >= window, 0.25, np.minimum(part / 2 * (1 + rate * lags), 0.25))
        off = _off(scale / part, moved)
        stays = np.cumprod((1 - _above(off - scale / offered, compared)) ** step)
        before = np.concatenate(([1.0], stays[:-1]))
        gap = float(before.sum()) * step
        error = float((before * _off(scale / part, np.concatenate(([0.0], moved[:-1])))).sum()) * step / gap
        rate = math.sqrt(rate / gap)  # halfway, in logarithms: the map overshoots
    return error


def _absorbed(scale: float, window: int, cells: int, change: float, every: int) -> float:
    """Return the error of budget absorption: a chain over the number of steps whose parts the last release took."""
    levels = min(window, _MOST_LEVELS)
    step = window / levels
    taken = step * np.arange(1, levels + 1)  # the parts that a release may take
    waits = step * np.arange(1, (_MOST_LAGS if levels < 64 else 8) * levels + 1)  # after those skipped
    parts = np.minimum(waits, window)
    compared = 2 * window * scale / cells
    moves = np.zeros((levels, levels))
    lengths, errors = np.zeros(levels), np.zeros(levels)
    for row, last in enumerate(taken):
        noise = 2 * window * scale / last
        skipped = step * np.arange(0, row + 1)  # the release itself, and the steps that it used up
        lags = last - step + waits
        off = _off(noise, _moved(change, lags / every))
        leaves = 1 - (1 - _above(off - 2 * window * scale / parts, compared)) ** step
        before = np.concatenate(([1.0], np.cumprod(1 - leaves)[:-1]))
        published = before * leaves
        published[-1] += 1 - published.sum()
        moves[row] = np.bincount(np.minimum(np.arange(waits.size), levels - 1), published, levels)
        waiting = np.concatenate((before[1:], [0.0]))  # the step of the next release is counted there
        lengths[row] = (row + 1) + waiting.sum()
        errors[row] = _off(noise, _moved(change, skipped / every)).sum() + (waiting * off).sum()
    share = np.full(levels, 1 / levels)
    for _ in range(200):
        share = share @ moves
    return float((share @ errors) / (share @ lengths))
