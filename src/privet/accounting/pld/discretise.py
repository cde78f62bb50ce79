"""Puts a pair's privacy loss on a lattice: once from above, by connecting the dots, and once from below.

Only the curve of a pair is used, h(g) = H at e**epsilon = g, which is convex and falls from h(0) = 1. Lattice
masses p at losses l represent the curve sum of p (1 - g e**-l)+ plus the mass at infinity. Composition respects the
order of such curves whatever their total mass: replacing one factor of a product by a larger curve can only raise the
integral of (dP - g dQ)+. So a curve that is nowhere below h gives upper bounds, one that is nowhere above gives lower
bounds. Nothing here may place a point by hope: every step raises the upper curve and lowers the lower one.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from privet.core.event import NoPair, Pair

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from privet.core.event import Floats

    Indices = NDArray[np.int64]
    Curve = Callable[[Floats], Floats]

LONGEST = 1300.0
"""Losses beyond this count as infinite from above and as absent from below; doubles end soon after."""
_EXPONENT = 650.0
_SHORT = 2.0
"""A curve that ends this soon is not worth cutting off earlier."""
MOST_POINTS = 2**24
LARGEST_STEP = 500.0
_FEWEST = 4
_NEAR = 2.0**-8
"""The part of a cell over which its first and its last chord are taken."""
_NOISE = 2.0**-30
"""The growth of a pair's relative error of 1e-12 when such a chord is prolonged across its cell."""
_ROUNDING = 2.0**-48
_FLAT = 2.0**-42


@dataclass(frozen=True, eq=False)
class Lattice:
    """The loss of one event in one direction: `masses` at (lowest + i) step, `infinite`, and the cut-off mass."""

    step: float
    lowest: int
    masses: Floats
    infinite: float = 0.0
    truncated: float = 0.0

    def losses(self) -> Floats:
        """Return the losses that carry the masses."""
        return self.step * np.arange(self.lowest, self.lowest + len(self.masses), dtype=np.float64)


@dataclass(frozen=True, eq=False)
class _Side:
    """Masses at losses step, 2 step, ... under the first distribution and under the second, and the curve's h(1)."""

    first: Floats
    second: Floats
    infinite: float
    truncated: float
    at_one: float

    def scaled(self, factor: float) -> _Side:
        return _Side(
            self.first * factor,
            self.second * factor,
            self.infinite * factor,
            self.truncated * factor,
            self.at_one * factor,
        )


@dataclass(frozen=True, eq=False)
class Extent:
    """How far a pair's two curves matter: up to their reach, or until they fall below a given level."""

    forward: float
    backward: float


def extent(pair: Pair, level: float) -> Extent:
    """Return the epsilons at which both curves have reached their end or fallen to `level`."""
    ahead, behind = pair.reach()
    forward = _fallen(pair.forward, ahead, level)
    if getattr(pair, "symmetric", False):
        return Extent(forward, forward)
    return Extent(forward, _fallen(pair.backward, behind, level))


def upper(pair: Pair, step: float, reaches: Extent) -> tuple[Lattice, Lattice]:
    """Return lattices, forward and backward, whose curves lie on or above those of the pair.

    Connecting the dots: the curve is known at lattice points only, and chords of a convex function lie above it.
    Masses are second differences; those of the other direction serve for negative losses, so that nothing cancels.

    Guarantee: any composition of such lattices has a hockey-stick divergence no smaller than that of the pairs.
    Cites: [DGKKM22, connect the dots].
    """
    return _both(pair, step, reaches, _upper_side, _join_upper)


def lower(pair: Pair, step: float, reaches: Extent) -> tuple[Lattice, Lattice]:
    """Return lattices, forward and backward, whose curves lie on or below those of the pair.

    A chord of a convex function, prolonged, lies below it. In each lattice cell, take a short chord at the start and
    one at the end: except where they were taken, both lines lie below the curve, and there they exceed the chord
    between them, prolonged, by no more than `dip`. So does every mean of the two. Weighted so that both ends fall
    short by the same amount, the mean is the cell's own chord lowered by a b/(a + b), where a and b are what each line
    falls short at its far end. The greatest convex function with corners on the lattice below all these segments is
    the curve.

    Guarantee: any composition of such lattices has a hockey-stick divergence no larger than that of the pairs,
    as long as their curves are exact to a relative 1e-12.
    """
    return _both(pair, step, reaches, _lower_side, _join_lower)


def _both(
    pair: Pair,
    step: float,
    reaches: Extent,
    make: Callable[[Curve, float, float, float], _Side],
    join: Callable[[_Side, _Side, float], Lattice],
) -> tuple[Lattice, Lattice]:
    ahead, behind = pair.reach()
    forward = make(pair.forward, step, reaches.forward, ahead)
    if getattr(pair, "symmetric", False):
        lattice = join(forward, forward, step)
        return lattice, lattice
    backward = make(pair.backward, step, reaches.backward, behind)
    return join(forward, backward, step), join(backward, forward, step)


def _points(curve: Curve, step: float, far: float) -> tuple[Floats, Floats]:
    """Return the curve at 0, step, ..., to one step beyond `far`, and e**epsilon there, scaled to stay finite."""
    if not 1e-300 < step < LARGEST_STEP or far / step > MOST_POINTS:
        raise NoPair("the losses are too large, or too far apart, for a distribution on a lattice")
    count = max(_FEWEST, math.ceil(far / step) + 1)
    epsilons = step * np.arange(count + 1, dtype=np.float64)
    values = np.minimum(1.0, curve(epsilons))
    return np.minimum.accumulate(values), np.exp(epsilons - max(0.0, epsilons[-1] - _EXPONENT))


def _upper_side(curve: Curve, step: float, far: float, reach: float) -> _Side:
    values, places = _points(curve, step, far)
    drops = (values[:-1] - values[1:]) / (places[:-1] * math.expm1(step))
    # slopes must fall; raising them from the far end on repairs rounding errors, and only ever lifts the curve
    slopes = np.maximum.accumulate(drops[::-1])[::-1]
    rest = float(values[-1])
    ended = far >= reach
    return _side(slopes, places, step, (rest, 0.0) if ended else (0.0, rest))


def _lower_side(curve: Curve, step: float, far: float, reach: float) -> _Side:
    values, places = _points(curve, step, far)
    first, last = values[:-1], values[1:]
    near = step * _NEAR
    starts = step * np.arange(len(first), dtype=np.float64)
    early, late = np.clip(curve(starts + near), last, first), np.clip(curve(starts + (step - near)), last, first)
    rest = float(values[-1]) * (1 - _NOISE) if far >= reach else 0.0
    base = places[:-1]
    edge, inner, whole = base * math.expm1(near), base * math.expm1(step - near), base * math.expm1(step)
    opening, closing = (first - early) / edge, (late - last) / (whole - inner)
    middle = (early - late) / (inner - edge)
    noise = _NOISE * first
    # at the start the opening line is exact and the closing one falls short by `behind`; at the end `beyond`, likewise
    behind = np.maximum(first - last - closing * whole, 0.0)
    beyond = np.maximum(opening * whole - (first - last), 0.0)
    late_dip = np.maximum(middle - closing, 0.0) * (whole - inner) + noise
    dip = np.maximum(opening - middle, 0.0) * edge + late_dip
    with np.errstate(invalid="ignore", divide="ignore"):
        short = np.where(behind * beyond > 0, behind * beyond / (behind + beyond), 0.0) + dip
    # where the mean of both lines would sink below the curve's end, the closing line serves alone, or a level one
    alone = last - short < rest
    left = np.where(alone, first - behind - late_dip, first - short)
    right = np.where(alone, last - late_dip, last - short)
    flat = (right < rest) | (left < rest)
    flat[-1] = True
    left, right = np.where(flat, rest, left), np.where(flat, rest, right)
    heights = np.minimum(np.append(left, rest), np.append(left[0], right))
    corners = _convex_corners(places, heights, step)
    slopes = -_slopes(places, heights, step, corners)
    falling = np.maximum.accumulate(slopes[::-1])[::-1] * (1 - _ROUNDING)
    return _side(np.repeat(falling, np.diff(corners)), places, step, (rest, 0.0))


def _convex_corners(places: Floats, heights: Floats, step: float) -> Indices:
    """Return the indices of the corners of the greatest convex function below the points.

    A point above the line between two others is no corner, so all such points may go at once. A point that lies below
    it by less than a rounding error goes too: that lifts the curve by less than the noise already taken off.
    """
    kept = np.arange(len(places), dtype=np.int64)
    # the far end is often a dip with a long slope before it: go straight to where its tangent touches
    for end in (len(kept) - 1, int(np.argmin(heights))):
        if end > 1:
            before = kept[kept < end]
            rises = (heights[before] - heights[end]) / -np.expm1(step * (before - end))
            touch = int(before[np.argmin(rises)])
            kept = kept[(kept <= touch) | (kept >= end)]
    while len(kept) > 2:
        slopes = _slopes(places, heights, step, kept)
        corner = np.ones(len(kept), dtype=np.bool_)
        corner[1:-1] = slopes[1:] > slopes[:-1] * (1 - _FLAT)
        if corner.all():
            break
        kept = kept[corner]
    return kept


def _slopes(places: Floats, heights: Floats, step: float, kept: Indices) -> Floats:
    """Return the slopes between points that are whole steps apart; the difference of two places would lose digits."""
    with np.errstate(over="ignore"):
        return np.diff(heights[kept]) / (places[kept[:-1]] * np.expm1(step * np.diff(kept)))


def _side(slopes: Floats, places: Floats, step: float, rest: tuple[float, float]) -> _Side:
    """Return the masses of a curve that falls with `slopes` between `places` and stays constant afterwards."""
    second = slopes - np.append(slopes[1:], 0.0)
    with np.errstate(under="ignore"):
        real = second * places[0]
    at_one = rest[0] + rest[1] + float(np.sum(slopes * places[:-1])) * math.expm1(step)
    return _Side(second * places[1:], real, rest[0], rest[1], at_one)


def _join_upper(ahead: _Side, behind: _Side, step: float) -> Lattice:
    """Return the lattice of both sides, with enough mass at 0 that h(0) >= 1, and h(1) no smaller than from behind.

    Left of 1 the curve is A - g B + g h'(1/g), with A and B the two total masses and h' the curve from behind: at least
    1 - g + g h'(1/g) if A >= 1 and A >= B, and A - B is the difference of the two values at 1.
    """
    if ahead.at_one < behind.at_one:
        ahead = ahead.scaled(behind.at_one / ahead.at_one * (1 + _ROUNDING) if ahead.at_one else 1.0)
    total = float(np.sum(ahead.first)) + float(np.sum(behind.second)) + ahead.infinite + ahead.truncated
    centre = max(0.0, 1 - total) + _ROUNDING
    return _lattice(ahead, behind, step, centre)


def _join_lower(ahead: _Side, behind: _Side, step: float) -> Lattice:
    """Return the lattice of both sides, with h(0) <= 1 and h(1) no larger than from behind: the mirror of the above."""
    if ahead.at_one > behind.at_one:
        ahead = ahead.scaled(behind.at_one / ahead.at_one * (1 - _ROUNDING))
    total = float(np.sum(ahead.first)) + float(np.sum(behind.second)) + ahead.infinite
    if total > 1 - _ROUNDING:
        factor = (1 - 2 * _ROUNDING) / total
        ahead, behind = ahead.scaled(factor), behind.scaled(factor)
        return _lattice(ahead, behind, step, 0.0)
    return _lattice(ahead, behind, step, 1 - _ROUNDING - total)


def _lattice(ahead: _Side, behind: _Side, step: float, centre: float) -> Lattice:
    masses = np.concatenate((behind.second[::-1], [centre], ahead.first))
    return Lattice(step, -len(behind.second), masses, ahead.infinite, ahead.truncated)


def _fallen(curve: Curve, reach: float, level: float) -> float:
    """Return the reach, or an epsilon by which the curve has fallen to `level` if that comes first."""
    limit = min(reach, LONGEST)
    if reach <= _SHORT:
        return reach
    low, high = 0.0, limit
    for epsilons in (np.geomspace(min(1e-9, limit or 1e-9), limit or 1e-9, 97), None):
        tried = np.linspace(low, high, 33) if epsilons is None else epsilons
        fallen = np.flatnonzero(curve(tried) <= level)
        if not len(fallen):
            return limit
        index = int(fallen[0])
        low, high = float(tried[max(0, index - 1)]), float(tried[index])
    return high
