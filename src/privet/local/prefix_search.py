"""The search for common strings: from the tallies of reports on prefixes to the codes that many people have.

Everything here is computed from reports, so it is post-processing. A path is a sequence of digits. At each length its
score is its estimated share in standard deviations, those of a string at the threshold.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .mixing import salted
from .randomizer import Integers, Words
from .string_codes import DIGIT_BITS, StringCodes

Floats = NDArray[np.float64]
Paths = NDArray[np.uint8]

_PATIENCE = 4.5
"""A path is dropped where its last digits, however many, fall this many standard deviations short of the threshold."""

_LAST_PATIENCE = 4.0
"""The same, for the whole codes that are listed."""

_MOST_PATHS = 40_000
CROWDED = 5 / 3
"""Prefixes from this many thresholds on may be taken out of the buckets that they share with others."""

_SURE = 5
"""Only those above this many standard deviations are: what may be noise would be fitted."""

_ROUNDS, _FITS = 8, 3

_SLIGHT = 0.02
"""Shared buckets that add less than this part of the variance are left as they are."""

APART_BITS = 24
"""Codes that share this many bits are taken for one string: other digits by chance."""


@dataclass(frozen=True)
class PrefixTallies:
    """What reports tell about prefixes: for each length, tables with the number of reports that support each bucket.

    `sizes` has the reports of each table; `spread(share, n)` is the variance of a share among n reports.
    """

    supports: Floats
    sizes: Integers
    levels: int
    p: float
    q: float
    bucket: Callable[[Words, int], Integers]
    spread: Callable[[float, int], float]

    @property
    def tables(self) -> int:
        """The number of tables of each length."""
        return len(self.sizes) // self.levels

    @property
    def buckets(self) -> int:
        """The number of buckets of a table."""
        return len(self.supports[0])

    def size(self, level: int) -> int:
        """Return the number of reports on prefixes of a length."""
        return int(self.sizes[self._of(level)].sum())

    def hits(self, level: int, states: Words, least: float) -> tuple[Floats, float]:
        """Return how many reports support each prefix, and the sum of squared shares that still share its buckets.

        What prefixes well above the least share add to the buckets of others is taken out, where it would be felt: the
        largest first, as the noise of the rest is then smaller.
        """
        supports, size = self.supports[self._of(level)], self.size(level)
        raw = self._summed(level, supports, states)
        if not size:
            return raw, 1.0
        shares, all_buckets = self._shares(raw, size), self.tables * self.buckets
        moment = max(CROWDED * least, self._second_moment(level, supports))
        if moment / all_buckets < _SLIGHT * self.spread(least, size):
            return raw, moment
        pool = np.flatnonzero(shares >= least)
        crowd, own, left = np.zeros(0, dtype=np.int64), np.zeros(0), supports
        for _ in range(_ROUNDS):
            now = self._shares(self._summed(level, left, states[pool]), size)
            now[np.searchsorted(pool, crowd)] += own
            error = math.sqrt(self.spread(least, size) + moment / all_buckets)
            above = now >= max(CROWDED * least, _SURE * error)
            if np.array_equal(pool[above], crowd):
                break
            crowd, own = pool[above], now[above]
            for _ in range(_FITS):
                left = self._without(level, supports, states[crowd], own)
                own = np.clip(own + self._shares(self._summed(level, left, states[crowd]), size), 0, 1)
            left = self._without(level, supports, states[crowd], own)
            moment = max(CROWDED * least, self._second_moment(level, left))
        found = self._summed(level, left, states)
        found[crowd] += size * (self.p - self.q) * own
        return found, moment

    def _second_moment(self, level: int, supports: Floats) -> float:
        """Return an estimate of the sum of squared shares of what the tables of a length hash."""
        sizes = self.sizes[self._of(level)][:, None].astype(np.float64)
        p, q = self.p, self.q - (self.p - self.q) / (self.buckets - 1)  # of the bucket itself
        shares = (supports / np.maximum(sizes, 1) - q) / (p - q)
        noise = (self.buckets * q * (1 - q) / (p - q) ** 2 + 1) / np.maximum(sizes[:, 0], 1)
        each = ((shares - 1 / self.buckets) ** 2).sum(axis=1) - noise
        return float(min(1.0, sizes[:, 0] @ each / sizes.sum()))

    def _of(self, level: int) -> slice:
        return slice(level * self.tables, (level + 1) * self.tables)

    def _shares(self, hits: Floats, size: int) -> Floats:
        return (hits / size - self.q) / (self.p - self.q)

    def _summed(self, level: int, supports: Floats, states: Words) -> Floats:
        found = np.zeros(len(states))
        for place, row in enumerate(supports):
            found += row[self.bucket(states, level * self.tables + place)]
        return found

    def _without(self, level: int, supports: Floats, states: Words, shares: Floats) -> Floats:
        """Return supports as if no one had these prefixes, and all who have them were spread over all buckets."""
        slope = (self.p - self.q) * self.buckets / (self.buckets - 1)  # from one bucket to all others
        left = supports.copy()
        for place, size in enumerate(self.sizes[self._of(level)].tolist()):
            held = np.bincount(self.bucket(states, level * self.tables + place), shares, self.buckets)
            left[place] -= size * slope * (held - shares.sum() / self.buckets)
        return left


def extended(states: Words, digits: Paths, level: int) -> Words:
    """Return the states of prefixes that are one digit longer."""
    return salted(states ^ (digits.astype(np.uint64) + np.uint64(1)), level)


def digits_apart(codes: StringCodes) -> int:
    """Return how many digits tell strings apart: prefixes of so many stand for one string each."""
    return min(codes.digits, 1 - (codes.first_bits - APART_BITS) // DIGIT_BITS)


def find_codes(tallies: PrefixTallies, codes: StringCodes, threshold: float) -> tuple[Paths, Floats, float]:
    """Return the codes of strings from a threshold on, how many reports support each, and what shares their buckets.

    A path is dropped where for some r its last r digits score patience * sqrt(r) below the threshold: a string at the
    threshold does so rarely, and a path that leaves such a string's code scores 0 on average from there on. The last
    levels add no digits: a wrong last digit has to pass them all.
    """
    states, paths = np.zeros(1, dtype=np.uint64), np.zeros((1, 0), dtype=np.uint8)
    sums, counts, targets = np.zeros((1, 0), dtype=np.float32), np.zeros(1), np.zeros(0)
    apart, crowding = digits_apart(codes), 0.0
    for level in range(tallies.levels):
        children = 1 << (codes.first_bits if not level else DIGIT_BITS) if level < codes.digits else 1
        parents = np.repeat(np.arange(len(states)), children)
        digits = np.tile(np.arange(children), len(states)).astype(np.uint8)
        states = extended(states[parents], digits, level) if level < codes.digits else states
        hits, moment = tallies.hits(level, states, threshold)
        size = tallies.size(level)
        if size:
            error = math.sqrt(tallies.spread(threshold, size))
            scores = (hits / size - tallies.q) / (tallies.p - tallies.q) / error
            target = threshold / error
        else:
            scores, target = np.zeros(len(hits)), 0.0
        sums = np.concatenate((sums[parents] + scores[:, None], scores[:, None]), axis=1, dtype=np.float32)
        targets = np.append(targets, 0.0) + target
        last = level + 1 == tallies.levels
        short = _shortfall(sums, targets)
        kept = np.flatnonzero(short >= -(_LAST_PATIENCE if last else _PATIENCE))
        if len(kept) > _MOST_PATHS:
            kept = kept[np.argpartition(-short[kept], _MOST_PATHS)[:_MOST_PATHS]]
        paths = paths[parents[kept]]
        if level < codes.digits:
            paths = np.concatenate((paths, digits[kept, None]), axis=1)
        counts = counts[parents[kept]]
        if level >= apart - 1:
            counts, crowding = counts + hits[kept], max(crowding, moment)
        states, sums = states[kept], sums[kept]
    return *_one_each(paths, counts, sums[:, apart:].sum(axis=1), apart), crowding


def _shortfall(sums: NDArray[np.float32], targets: Floats) -> NDArray[np.float32]:
    lengths = np.sqrt(np.arange(len(targets), 0, -1))
    found: NDArray[np.float32] = ((sums - targets.astype(np.float32)) / lengths.astype(np.float32)).min(axis=1)
    return found


def _one_each(paths: Paths, counts: Floats, scores: Floats, apart: int) -> tuple[Paths, Floats]:
    """Return of all codes that share the digits which tell strings apart the one with the best score."""
    taken: set[bytes] = set()
    kept: list[int] = []
    for place in np.argsort(-scores, kind="stable").tolist():
        head = paths[place, :apart].tobytes()
        if head not in taken:
            taken.add(head)
            kept.append(place)
    return paths[kept], counts[kept]
