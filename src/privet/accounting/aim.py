"""Chooses where to look: the tilt, the lattice step and the window for one question about one composition.

Nothing here needs to be exact, or to be trusted: a poor choice makes the answer wider, never wrong.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from .convolve import Moments, Part, Window, support
from .discretise import Extent, extent, upper
from .gather import Copies

TOLERANCE = 4e-6
"""The part of epsilon that placing losses on the lattice may add to the upper bound, by estimate."""
LARGEST = 1 << 21
"""Most lattice points in a window."""
LONGEST = 1 << 18
"""Most lattice points of a single pair, on either side."""
_LEVEL = 24.0
"""The window leaves out e**-24 of the tilted mass: its error is then far below that of the lattice."""


class Sketch:
    """One direction of a composition, each pair on a coarse lattice of its own: an upper bound, if a rough one."""

    def __init__(self, parts: Sequence[Part]) -> None:
        self.moments = Moments(parts)
        kept = sum(part.times * math.log1p(-min(part.lattice.infinite, 1 - 1e-16)) for part in parts)
        self.cut = sum(part.times * part.lattice.truncated for part in parts)
        self.lost = min(1.0, self.cut - math.expm1(kept))

    def epsilon(self, delta: float) -> tuple[float, float]:
        """Return the tilt at which Chernoff's bound reaches delta soonest, and an upper bound on epsilon."""
        left = delta - self.lost * (1 + 1e-6)
        target = math.log(left if left > 0 else delta)
        tilt, value = _least(lambda tilt: (self.moments.log_moment(tilt) + _chernoff(tilt) - target) / tilt)
        return tilt, max(0.0, value) if left > 0 else math.inf

    def delta(self, epsilon: float) -> tuple[float, float]:
        """Return the tilt at which Chernoff's bound at epsilon is least, and an upper bound on delta."""
        tilt, value = _least(lambda tilt: self.moments.log_moment(tilt) + _chernoff(tilt) - tilt * epsilon)
        return tilt, min(1.0, math.exp(min(0.0, value)) + self.lost * (1 + 1e-6))


@dataclass(frozen=True, eq=False)
class Aim:
    """A tilt, the window of losses that matters there, and the probes that prove how little lies outside."""

    tilt: float
    low: float
    high: float
    probes: tuple[float, float]
    width: float

    def window(self, parts: Sequence[Part]) -> Window:
        """Return the window in lattice points, no larger than what the parts can reach together."""
        step, whole = parts[0].lattice.step, support(parts)
        low = max(whole.lowest, math.floor(max(self.low, -1e300) / step))
        high = min(whole.highest, math.ceil(min(self.high, 1e300) / step))
        return Window(min(low, whole.highest), max(low, high))


def sketch(pairs: Sequence[Copies], reaches: Sequence[Extent], sides: Sequence[int] = (0, 1)) -> dict[int, Sketch]:
    """Return the directions of a composition, 0 forward and 1 backward, on coarse lattices."""
    cells = min(1024, max(16, 8192 // len(pairs)))
    found = []
    for copies, reach in zip(pairs, reaches, strict=True):
        step = max(reach.forward, reach.backward, 1e-300) / cells
        found.append((upper(copies.pair, step, reach), copies.times))
    return {side: Sketch([Part(both[side], times) for both, times in found]) for side in sides}


def reaches_of(pairs: Sequence[Copies], level: float) -> list[Extent]:
    """Return how far each pair matters if tails of probability `level`, over all pairs, may be cut off."""
    count = sum(copies.times for copies in pairs)
    return [extent(copies.pair, max(level / count, 1e-300)) for copies in pairs]


def aim(rough: Sketch, tilt: float, *, level: float = _LEVEL) -> Aim:
    """Return the window around the tilted composition."""
    (low, high), probes = rough.moments.window(tilt, level)
    least, most = rough.moments.ends()
    return Aim(tilt, low, high, probes, max(min(high, most) - max(low, least), 1e-300))


def step_for(pairs: Sequence[Copies], reaches: Sequence[Extent], aimed: Aim, epsilon: float, tolerance: float) -> float:
    """Return a lattice step that adds about that part to epsilon, on which large atoms fall on lattice points.

    Connecting the dots spreads each loss by a variance of at most step**2/4 and keeps the moments 0 and -1, so the log
    moment at `tilt` grows by about count tilt (tilt + 1) step**2/12 and epsilon by count (tilt + 1) step**2/12.
    """
    count = sum(copies.times for copies in pairs)
    width = aimed.width
    step = math.sqrt(12 * tolerance * max(epsilon, width / 1000) / (count * (aimed.tilt + 1)))
    return aligned(pairs, max(min(step, width / 64), width / LARGEST, longest(reaches) / LONGEST))


def longest(reaches: Sequence[Extent]) -> float:
    """Return the largest loss of any single pair."""
    return max(max(reach.forward, reach.backward) for reach in reaches)


def aligned(pairs: Sequence[Copies], step: float) -> float:
    """Return a step no larger than the given one that divides the pairs' largest losses, if they share a divisor."""
    ends = {end for copies in pairs for end in copies.pair.reach() if 0 < end < math.inf}
    shared = 0.0
    for end in sorted(ends, reverse=True):
        shared = _divisor(shared, end)
        if shared < step:
            return step
    if not shared:
        return step
    # losses of discrete noise are simple fractions of the largest one; a count with many divisors meets them too
    cells = shared / step
    block = 60 if cells > 120 else 12 if cells > 24 else 1
    return shared / (block * math.ceil(cells / block))


def _divisor(one: float, other: float) -> float:
    """Return the greatest common divisor of two reals that are commensurable to within 1e-9, else something tiny."""
    largest = max(one, other)
    while other > 1e-9 * largest:
        one, other = other, abs(math.remainder(one, other))
    return one


def _chernoff(tilt: float) -> float:
    """Return the logarithm of max over x >= 0 of (1 - e**-x) e**(-tilt x)."""
    return tilt * math.log(tilt) - (tilt + 1) * math.log1p(tilt)


def _least(objective: Callable[[float], float]) -> tuple[float, float]:
    """Return the tilt that makes the objective least, and its value, by a grid and golden sections."""
    grid = np.geomspace(1e-3, 1e7, 24)
    values = [objective(float(tilt)) for tilt in grid]
    best = int(np.argmin(values))
    low, high = math.log(grid[max(0, best - 1)]), math.log(grid[min(len(grid) - 1, best + 1)])
    golden = (math.sqrt(5) - 1) / 2
    for _ in range(12):
        left, right = high - golden * (high - low), low + golden * (high - low)
        if objective(math.exp(left)) < objective(math.exp(right)):
            high = right
        else:
            low = left
    tilt = math.exp((low + high) / 2)
    return tilt, objective(tilt)
