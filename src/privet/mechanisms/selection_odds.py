"""How likely each option is to be chosen, and how far a choice may fall short, for each law of noise.

Everything is a function of how far each option is behind the best one, in units of the noise. What is computed from
private scores is as private as they are; the bounds are functions of public sizes.
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import TYPE_CHECKING

from privet.accounting.search import least
from privet.core.rounding import inflate

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

_NODES, _FEW_NODES = 40, 10
_CERTAIN = 745.0
"""Noise of scale 1 never makes up for more, in float64."""

_WIDEST, _NARROW = 6.0, 0.5
_AT_ONCE = 2**21


def softmax(behind: Floats) -> Floats:
    """Return exp(-behind), normalised: the law of Gumbel noise."""
    import numpy as np

    weights = np.exp(-behind)
    return np.asarray(weights / weights.sum())


def flips(behind: Floats) -> Floats:
    """Return the law of exponential noise, or of permuting and flipping: p_r times the integral of prod (1 - t p_s).

    With p = exp(-behind), P[r] = p_r * integral from 0 to 1 of the product over s != r of (1 - t p_s) dt, a polynomial
    without sign changes. It is integrated over panels that double from the width on which the product falls by e.

    Cites: [MS20]; [DKSSWXZ21].
    """
    import numpy as np

    p, places, counts = np.unique(np.exp(-behind), return_inverse=True, return_counts=True)
    total = max(1.0, float(p @ counts))
    edges = np.concatenate([[0.0], 2.0 ** np.arange(math.ceil(math.log2(total))) / total, [1.0]])
    t, weights = _panels(np.stack([edges[:-1], edges[1:]], axis=1), _NODES)
    found = np.zeros(p.size)
    for part in _parts(t.size, p.size):
        logs = np.log1p(-t[part, None] * p)
        found += weights[part] @ np.exp((logs @ counts)[:, None] - logs)
    return _normal(found * p, places)


def laplace(behind: Floats) -> Floats:
    """Return the law of Laplace noise: the integral of the density at r times the other distribution functions.

    The integrand is smooth between the options' places, and panels break there.
    """
    import numpy as np

    places_of, places, counts = np.unique(np.minimum(behind, _CERTAIN), return_inverse=True, return_counts=True)
    far = 45.0 + math.log(behind.size)
    ends = np.unique(np.concatenate([-places_of, [-places_of[-1] - 45.0, far]]))
    splits = [np.linspace(a, b, math.ceil((b - a) / _WIDEST) + 1) for a, b in pairwise(ends)]
    edges = np.unique(np.concatenate(splits))
    narrow = np.diff(edges) <= _NARROW
    sides = [
        _panels(np.stack([edges[:-1], edges[1:]], axis=1)[some], nodes)
        for some, nodes in ((narrow, _FEW_NODES), (~narrow, _NODES))
    ]
    z, weights = (np.concatenate(side) for side in zip(*sides, strict=True))
    found = np.zeros(places_of.size)
    for part in _parts(z.size, places_of.size):
        x = z[part, None] + places_of
        log_below = np.where(x < 0, x - math.log(2), np.log1p(-np.exp(-np.abs(x)) / 2))
        density = -np.abs(x) - math.log(2)
        found += weights[part] @ np.exp((log_below @ counts)[:, None] - log_below + density)
    return _normal(np.where(places_of < _CERTAIN, found, 0.0), places)


def gumbel_depth(options: int, best: int, tail: float) -> float:
    """Return x with P[behind >= x] <= tail for the exponential mechanism: ln(options / best) + ln(1 / tail).

    Cites: [DR14, Thm 3.11].
    """
    return inflate(math.log(options) - math.log(best) - math.log(tail))


def flip_depth(options: int, best: int, tail: float) -> float:
    """Return x with P[behind >= x] <= tail for exponential noise: ln((options - best) / (best + 1)) + ln(1 / tail).

    An option that is x behind beats all of the best with probability e^-x / (best + 1), since an exponential variate
    has no memory; there are options - best that might.
    """
    if options == best:
        return 0.0
    return inflate(max(0.0, math.log(options - best) - math.log(best + 1) - math.log(tail)))


def laplace_depth(options: int, best: int, tail: float) -> float:
    """Return x with P[behind >= x] <= tail for Laplace noise: (options - best)(2 + x) e^-x / 4 = tail.

    That is the chance that the difference of two Laplace variates exceeds x, times how many might.
    """
    if options == best:
        return 0.0
    aim = math.log(tail) + math.log(4) - math.log(options - best)
    high = 2 * (math.log(options) - math.log(tail)) + 4
    return inflate(least(lambda x: math.log(2 + x) - x <= aim, 0.0, high))


def _panels(ends: Floats, nodes: int) -> tuple[Floats, Floats]:
    """Return the nodes and weights of Gauss's rule on each panel, given by its two ends."""
    import numpy as np

    points, weights = np.polynomial.legendre.leggauss(nodes)
    half = (ends[:, 1:] - ends[:, :1]) / 2
    return (ends[:, :1] + half * (points + 1)).ravel(), (half * weights).ravel()


def _parts(nodes: int, options: int) -> list[slice]:
    step = max(1, _AT_ONCE // options)
    return [slice(start, start + step) for start in range(0, nodes, step)]


def _normal(each: Floats, places: NDArray[np.intp]) -> Floats:
    import numpy as np

    spread = each[places]
    return np.asarray(spread / spread.sum())
