"""Error bars for released sums and what is read from them: in closed form, or by simulating the known noise."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from .laws import Law, half_width

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from privet.core.event import Floats


POINTS = 4096
"""How many points simulate the noise."""

_FEWEST, _MOST = 511, 1_000_000
_USUAL = 0.05
"""How few points there may be for this tail; for a smaller one it is more, so that as many lie beyond an end."""

_HALVINGS = 45
"""How often the search for the end of an interval halves its range: to the last digits of a double."""

_BLOCK = 256
"""How many rows are simulated at a time, so that memory stays small."""


@dataclass(frozen=True)
class Bars:
    """Low and high ends and the standard error, one for each released number."""

    low: Floats
    high: Floats
    error: Floats


def ratio_bars(total: Floats, count: Floats, laws: tuple[Law, Law], *, most: float, tail: float) -> Bars:
    """Return bars for total / count, a ratio known to lie within [-most, most].

    Guarantee: Fieller's: theta belongs to the interval iff total - theta * count is no further from 0 than its noise
    would be, so the coverage is exact wherever the set is one interval, which is taken from the estimate outwards.
    Cites: [Fie54].
    """
    import numpy as np

    def outside(theta: Floats) -> NDArray[np.bool_]:
        return np.asarray(np.abs(total - theta * count) > half_width(laws[0], laws[1], theta, tail))

    center = np.clip(total / np.where(count > 0, count, np.inf), -most, most)
    sides = np.array([[-most], [most]]) * np.ones_like(center)  # both ends at once
    inner, outer = np.array([center, center]), sides
    free = ~outside(outer)
    for _ in range(_HALVINGS):
        middle = (inner + outer) / 2
        out = outside(middle)
        inner, outer = np.where(out, inner, middle), np.where(out, middle, outer)
    ends = np.where(free, sides, outer)
    whole = outside(center) | (count <= 0)  # the estimate was cut at an end, or the count says nothing
    low, high = np.where(whole, -most, ends[0]), np.where(whole, most, ends[1])
    spread = np.hypot(laws[0].deviation, center * laws[1].deviation) / np.maximum(count, 1.0)
    return Bars(low, high, np.minimum(spread, most))


def simulated_bars(
    read: Callable[..., Floats], released: Sequence[Floats], laws: Sequence[Law], *, tail: Floats
) -> Bars:
    """Return bars for a function of released sums, by adding their known noise again and reading each time.

    The noise is symmetric, so released minus noise is distributed as released plus noise: the quantiles of
    the function over it are those of the function of the true sums, given what was released. Each row has its tail.
    """
    import numpy as np

    noise = noise_points(laws, points_for(len(tail), float(np.max(tail, initial=0.0))))
    low, high, error = (np.empty(len(tail)) for _ in range(3))
    for start in range(0, len(tail), _BLOCK):
        rows = slice(start, start + _BLOCK)
        parts = [sums[rows, None] + noise[index][None, :] for index, sums in enumerate(released)]
        values = np.sort(read(*parts), axis=1)
        low[rows] = quantile_of(values, tail[rows] / 2)
        high[rows] = quantile_of(values, 1 - tail[rows] / 2)
        error[rows] = values.std(axis=1)
    return Bars(low, high, error)


def points_for(rows: int, tail: float) -> int:
    """Return how many points simulate the noise of this many rows: fewer for many, and never few beyond an end."""
    fewest = min(POINTS, int(_FEWEST * max(1.0, _USUAL / max(tail, 1e-9))))
    return max(fewest, min(POINTS, _MOST // max(1, rows)))


def quantile_of(values: Floats, share: Floats | float, size: NDArray[np.int64] | int | None = None) -> Floats:
    """Return a quantile of each row of sorted values, or of as many of its first as are told."""
    import numpy as np

    last = (values.shape[1] if size is None else size) - 1
    place = np.broadcast_to(share * last, len(values))
    first = np.floor(place).astype(np.int64)
    rows, next_one = np.arange(len(values)), np.minimum(first + 1, last)
    below = values[rows, first]
    return np.asarray(below + (place - first) * (values[rows, next_one] - below))


def noise_points(laws: Sequence[Law], points: int) -> list[Floats]:
    """Return for each law the same number of noise values, spread evenly and jointly over their distribution.

    Hammersley's points: evenly spaced in the first direction, the digits of the index mirrored in a prime base in each
    other. No random numbers are needed to simulate noise on numbers that are already public.
    """
    return [law.quantile(share) for law, share in zip(laws, _shares(len(laws), points), strict=True)]


@lru_cache(maxsize=16)
def _shares(count: int, points: int) -> tuple[Floats, ...]:
    import numpy as np

    places = np.arange(points)
    shares = [(places + 0.5) / points] if count else []
    shares.extend(_mirrored(places, base) for base in _primes(count - 1))
    return tuple(_inside(share) for share in shares)


def _mirrored(places: NDArray[np.int64], base: int) -> Floats:
    """Return 0.d1 d2 d3 ... for each index ... d3 d2 d1, both in this base."""
    import numpy as np

    rest, share, weight = places + 1, np.zeros(places.size), 1.0
    while rest.any():
        weight /= base
        share += weight * (rest % base)
        rest //= base
    return share


def _primes(count: int) -> list[int]:
    found: list[int] = []
    candidate = 2
    while len(found) < count:
        if all(candidate % prime for prime in found):
            found.append(candidate)
        candidate += 1
    return found


def _inside(share: Floats) -> Floats:
    import numpy as np

    return np.asarray(np.clip(share, 1e-12, 1 - 1e-12), dtype=np.float64)


# Error bars for what is derived from released sums by any formula, straight or not.
#
# Where a formula moves in proportion to the noise, the middle part of its values under fresh noise is an interval as
# good as the noise's own. Where it has a corner within reach of the noise (clamped at zero, an absolute difference,
# the larger of two) or bends, that part leaves out what is true: there the interval is all that the formula makes of
# every noise that is not improbable, which holds it whatever the formula.


_STRAIGHT = 0.02
"""How far, as a part of its moves, a formula may be off from moving as much one way as the other."""

_SPARE = 10
"""The ends of a set are moved outwards by this many mean distances between points, for what lies between."""


def depths(laws: Sequence[Law], points: Sequence[Floats]) -> Floats:
    """Return how improbable each point of the noise is: minus the logarithm of its density, up to a constant."""
    import numpy as np

    found = np.zeros(points[0].size)
    for law, one in zip(laws, points, strict=False):
        if law.deviation > 0:
            away = np.abs(one) / law.deviation
            found += away * np.sqrt(2) if law.family == "laplace" else away * away / 2
    return found


def derived_bars(values: Floats, improbable: Floats, *, tail: float) -> Bars:
    """Return bars for rows of values: under points of noise, then under their opposites, and last under none.

    Values that are not numbers are left out.

    Guarantee: the true sums are the released ones less a noise that belongs, but for `tail`, to the least improbable
    points; so what the formula makes of these holds what it makes of the true sums, up to how finely they lie.
    """
    import numpy as np

    ordered = np.sort(values, axis=1)  # NaN comes last
    known = (~np.isnan(ordered)).sum(axis=1)
    none = known == 0
    size = np.maximum(known, 1)
    ends = [np.where(none, np.nan, quantile_of(ordered, share, size)) for share in (tail / 2, 1 - tail / 2)]
    held = np.nan_to_num(ordered, nan=0.0)
    middle = held.sum(axis=1) / size
    away = np.where(np.isnan(ordered), 0.0, held - middle[:, None])
    error = np.where(none, np.nan, np.sqrt((away * away).sum(axis=1) / size))
    bent = ~none & ~_straight(values)
    if bent.any():
        low, high = _reached(values[bent], improbable, tail)
        ends[0][bent], ends[1][bent] = np.fmin(ends[0][bent], low), np.fmax(ends[1][bent], high)
    return Bars(ends[0], ends[1], error)


def _straight(values: Floats) -> NDArray[np.bool_]:
    """Return which rows move as much under a noise as under its opposite, the other way."""
    import numpy as np

    half = values.shape[1] // 2
    ahead, back, still = values[:, :half], values[:, half : 2 * half], values[:, -1:]
    with np.errstate(invalid="ignore", over="ignore"):
        off = np.abs(ahead + back - 2 * still).sum(axis=1)
        moved = np.abs(ahead - back).sum(axis=1)
    return np.asarray((off <= _STRAIGHT * moved) | ((off == 0) & (moved == 0)))


def _reached(values: Floats, improbable: Floats, tail: float) -> tuple[Floats, Floats]:
    """Return the least and the greatest that rows come to under the noise that is not improbable, and a little more."""
    import numpy as np

    likely = improbable <= np.quantile(improbable, 1 - tail)
    kept = values[:, likely]
    low = np.fmin.reduce(kept, axis=1)
    high = np.fmax.reduce(kept, axis=1)
    with np.errstate(invalid="ignore"):
        spare = _SPARE * (high - low) / kept.shape[1]
    return low - spare, high + spare
