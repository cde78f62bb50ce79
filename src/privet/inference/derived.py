"""Error bars for what is derived from released sums by any formula, straight or not.

Where a formula moves in proportion to the noise, the middle part of its values under fresh noise is an interval as good
as the noise's own. Where it has a corner within reach of the noise (clamped at zero, an absolute difference, the larger
of two) or bends, that part leaves out what is true: there the interval is all that the formula makes of every noise
that is not improbable, which holds it whatever the formula.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from .bars import Bars, quantile_of
from .laws import Law

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from privet.core.pair import Floats

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
