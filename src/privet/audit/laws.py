"""Exact laws of what some mechanisms release, written from their definitions: what an audit compares counts with.

They share no code with the samplers. Sums over integer noise stop where less than 1e-20 of it is left.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from privet.core.pair import Floats

Pattern = tuple[int | None, ...]
"""The answers of a sparse vector: None below, a number above (0, or the gap or the value that is shown)."""

_SCALES = 50


def integers(scale: float) -> dict[int, float]:
    """Return the law of discrete Laplace noise; a scale of 0 is no noise."""
    reach = math.ceil(_SCALES * scale)
    return {k: float(mass(k, scale)) for k in range(-reach, reach + 1)}


def mass(k: Any, scale: float) -> Floats:
    """Return P[noise = k] for discrete Laplace noise; a scale of 0 is no noise."""
    places = np.asarray(k)
    if scale == 0:
        return np.asarray(places == 0, dtype=np.float64)
    a = math.exp(-1 / scale)
    return np.asarray((1 - a) / (1 + a) * np.exp(-np.abs(places) / scale))


def tail(k: Any, scale: float) -> Floats:
    """Return P[noise >= k] for discrete Laplace noise."""
    places = np.asarray(k)
    if scale == 0:
        return np.asarray(places <= 0, dtype=np.float64)
    a = math.exp(-1 / scale)
    with np.errstate(over="ignore"):
        return np.where(places > 0, np.exp(-places / scale) / (1 + a), 1 - np.exp((places - 1) / scale) / (1 + a))


def clamped_cauchy(centre: int, scale: float, last: int) -> list[float]:
    """Return the law of round(centre + scale Z) on the places 0 to last, for a Cauchy Z, clamped at both ends."""
    edges = np.concatenate([[-np.inf], np.arange(last) + 0.5, [np.inf]])
    below = 0.5 + np.arctan((edges - centre) / scale) / math.pi
    return [float(part) for part in np.diff(below)]


def quantile_law(values: Any, last: int, *, q: float, rate: float) -> list[float]:
    """Return the law of a place from 0 to last that is chosen with probability proportional to exp(-rate ranks off).

    With L values below a place and T at or below it, it is off by max(0, L - q n, q n - T).

    Cites: [Smi11, Alg. 2].
    """
    places, rows = np.arange(last + 1), np.sort(np.asarray(values, dtype=np.float64))
    below, through = (np.searchsorted(rows, places, side=side) for side in ("left", "right"))
    target = q * rows.size
    off = np.maximum(np.maximum(below - target, target - through), 0.0)
    weights = np.exp(-rate * (off - off.min()))
    return [float(part) for part in weights / weights.sum()]


@dataclass(frozen=True)
class SparseLaw:
    """A sparse vector on whole numbers: scales of the threshold's and the queries' noise, when it stops, what it shows.

    `shows` is "crossing", "gap" (the noisy query less the noisy threshold) or "value" (the noisy query itself, whose
    noise has decided the comparison). `limit` None never stops.

    Guarantee: `chance` is the probability of the pattern under the definition, whether the variant is private or not.
    Cites: [LSL17, six variants].
    """

    threshold_scale: float
    query_scale: float
    limit: int | None = 1
    refresh: bool = False
    shows: str = "crossing"

    def law(self, queries: tuple[int, ...], *, threshold: int = 0, shown: tuple[int, ...] = (0,)) -> dict[Any, float]:
        """Return the chance of each pattern whose crossings show one of these numbers; of all others under None."""
        found = {pattern: self.chance(queries, pattern, threshold) for pattern in self.patterns(len(queries), shown)}
        rest = 1 - math.fsum(found.values())
        return {**found, None: rest} if rest > 1e-12 else found

    def chance(self, queries: tuple[int, ...], pattern: Pattern, threshold: int = 0) -> float:
        """Return the probability of this pattern of answers."""
        queries = queries[: len(pattern)]
        if not self.refresh:
            return float((self._bars() * self._given(queries, pattern, threshold)).sum())
        total, start = 1.0, 0
        for place, answer in enumerate(pattern):
            if answer is not None or place == len(pattern) - 1:
                part = slice(start, place + 1)
                total *= float((self._bars() * self._given(queries[part], pattern[part], threshold)).sum())
                start = place + 1
        return total

    def patterns(self, length: int, shown: tuple[int, ...] = (0,)) -> Iterator[Pattern]:
        """Yield every pattern of answers to that many queries, crossings showing one of these numbers."""
        waiting: list[Pattern] = [()]
        while waiting:
            answers = waiting.pop()
            crossings = sum(answer is not None for answer in answers)
            if len(answers) == length or crossings == self.limit:
                yield answers
            else:
                waiting += [(*answers, answer) for answer in (None, *shown)]

    def _reach(self) -> Any:
        reach = math.ceil(_SCALES * self.threshold_scale)
        return np.arange(-reach, reach + 1)

    def _bars(self) -> Floats:
        return mass(self._reach(), self.threshold_scale)

    def _given(self, queries: tuple[int, ...], pattern: Pattern, threshold: int) -> Floats:
        """Return the chance of the pattern given each value of the threshold's noise."""
        bars = self._reach() + threshold
        chance = np.ones(bars.size)
        for query, answer in zip(queries, pattern, strict=True):
            if answer is None:
                chance *= 1 - tail(bars - query, self.query_scale)
            elif self.shows == "crossing":
                chance *= tail(bars - query, self.query_scale)
            elif self.shows == "gap":
                chance *= mass(bars + answer - query, self.query_scale) * (answer >= 0)
            else:
                chance *= mass(answer - query, self.query_scale) * (answer >= bars)
        return chance
