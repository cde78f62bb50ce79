"""What noisy numbers of people by the size of their contribution imply: which limit errs least, and what it takes away.

Uses released numbers and public facts only, and may be repeated at will.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from .bars import Law

if TYPE_CHECKING:
    from privet.core.event import Floats

_SEEN = 4.5
"""A bin has people for certain if its number exceeds this many scales of its noise, and more the further off it is."""

_FURTHER = 1.2 * math.log(2)
"""How many scales more for each empty bin between: noise taken for people there costs twice as much with each bin."""

_MISFIT = 0.15
"""The relative deviation of real numbers from the tails that are fitted to them."""

_WINDOW = 3
"""How many bins below the last one that is seen shape the tail beyond it."""

_QUANTILE = 0.7
"""Of the limits that likely tails lead to, this quantile is taken: too high a limit errs a little less than too low."""

_LEAST, _LARGEST = 0.1, 1e15
"""No noise is taken for smaller, and no number of people for larger: neither matters, and both compute."""


def limit_for(noisy: Sequence[int], scale: float, people: float) -> int:
    """Return the limit that about this many people exceed, from noisy numbers of people by dyadic size.

    Bin 0 has those of size 1, and bin b those of sizes above 2**(b - 1) up to 2**b. Noise with the scale of a Laplace's
    hides bins of fewer people than the limit is to leave, so the tail beyond those that are seen is extrapolated: each
    bin is a part of the one before, and that part falls as for a Pareto, lognormal or geometric tail, or as anything
    between. Every such tail is weighted by how well it fits.

    Guarantee: post-processing of released numbers by public facts; from 1 to 2**(number of bins - 1).
    """
    import numpy as np

    scale = max(scale, _LEAST)
    y = np.clip(np.asarray([float(number) for number in noisy]), -_LARGEST, _LARGEST)
    last = len(y) - 1
    seen = 0
    for place in range(1, last + 1):
        if y[place] > scale * (_SEEN + (place - seen - 1) * _FURTHER):
            seen = place
    start = max(int(np.argmax(y[: seen + 1])), seen - _WINDOW)
    tails = _tails([place - seen for place in range(start, last + 1)])
    noise = 2 * scale * scale
    variance = np.full(tails.shape, noise)
    for _ in range(5):
        height = (tails * y[start:] / variance).sum(axis=1) / (tails * tails / variance).sum(axis=1)
        fitted = np.maximum(height, scale / 10)[:, None] * tails
        variance = noise + (_MISFIT * fitted) ** 2
    unlikely = ((y[start:] - fitted) ** 2 / variance + np.log(variance)).sum(axis=1) / 2 + _prior()
    likely = np.exp(unlikely.min() - unlikely)
    below = np.broadcast_to(np.maximum(y[:start], 0.0), (len(fitted), start))
    bins = np.concatenate((below, fitted), axis=1)
    above = np.maximum(np.cumsum(bins[:, ::-1], axis=1)[:, ::-1][:, 1:], 1e-9)  # the edge 2**b, and who exceeds it
    places = np.array([_crossing(row, people) for row in above])
    order = np.argsort(places)
    shares = np.cumsum(likely[order]) / likely.sum()
    chosen = places[order][min(int(np.searchsorted(shares, _QUANTILE)), len(places) - 1)]
    return int(max(1, min(2**last, round(2.0 ** float(chosen)))))


def _tails(offsets: Sequence[int]) -> Floats:
    """Return tails relative to the bin that is last seen: the logarithm of each part is a multiple of the one before.

    A multiple of 1 is Pareto's tail and one of 2 or more a geometric one; lognormal tails lie between.
    """
    import numpy as np

    tails = []
    for first in _FIRST:
        for factor in _FACTORS:
            ahead = [first * sum(factor**i for i in range(1, m + 1)) for m in offsets]
            back = [-first * sum(factor**-i for i in range(-m)) for m in offsets]
            tails.append([part + other for part, other in zip(ahead, back, strict=True)])
    return np.asarray(np.exp(np.clip(tails, -50.0, 50.0)))


_FIRST = tuple(-math.exp(math.log(0.2) + step * math.log(25) / 23) for step in range(24))
_FACTORS = (1.0, 1.2, 1.5, 2.0, 2.7)


def _prior() -> Floats:
    """Return how unlikely the tails are before any number is seen: half of the people in each bin is most likely."""
    import numpy as np

    return np.asarray([(math.log(-first / 1.2) / 0.8) ** 2 / 2 for first in _FIRST for _ in _FACTORS])


def _crossing(above: Floats, people: float) -> float:
    """Return the logarithm to base 2 of the limit that this many exceed, between edges by their logarithms."""
    import numpy as np

    (more,) = np.nonzero(above > people)
    if not len(more):
        return 0.0
    place = int(more[-1])
    if place == len(above) - 1:
        return place + 1.0
    high, low = math.log(above[place]), math.log(above[place + 1])
    return place + min(1.0, (high - math.log(people)) / (high - low))


def lost_at_most(noisy: Sequence[int], most: Sequence[float], law: Law, tail: float) -> float:
    """Return what the units of some bins lost at most in all, where one of bin b lost at most `most[b]`.

    Guarantee: holds with probability 1 - tail, over noise of this law on each bin. With Z_b the noise of a bin,
    sum most[b] * (noisy[b] - Z_b) bounds the loss, and the quantile of sum most[b] * Z_b is exact for noise without a
    grid; on a grid of step 1 each Z_b is at most 1/2 above it in distribution.
    """
    import numpy as np

    counted = [(y, weight) for y, weight in zip(noisy, most, strict=True) if weight > 0]
    if not counted:
        return 0.0
    largest = max(weight for _, weight in counted)
    parts = tuple(weight / largest for _, weight in counted)
    noise = Law(law.family, law.scale * largest, 0.0, parts)
    reach = float(noise.quantile(np.array([1 - tail]))[0]) + sum(weight for _, weight in counted) / 2
    return max(0.0, math.fsum(float(y) * weight for y, weight in counted) + reach)
