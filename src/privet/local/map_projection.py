"""A fixed public projection from degrees to metres, and how far it stretches distances on the ground."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privet.core.errors import BadParameter, BadValue
from privet.core.given import set_fields
from privet.core.numbers import Number, rational

from .mean_oracle import numbers_of

Floats = NDArray[np.float64]

RADIUS = 6_371_008.8
"""The mean radius of the earth, in metres."""

_LEAST_RADIUS = 6_335_439.0
"""The least radius of curvature of the ellipsoid WGS 84, that of the meridian at the equator."""

_FAR = 1e12
_MOST_STRETCH = 1.5
_ROUNDING = 1 + 1e-9


@dataclass(frozen=True)
class MapProjection:
    """Latitudes and longitudes within a box of degrees as metres on a plane: x to the east, y to the north.

    The equirectangular projection about the middle latitude: x = R cos(middle) (longitude - west) and
    y = R (latitude - south), with angles in radians and R = 6,371,008.8 m. It is fixed by the box alone.

    Args:
        south: the least latitude, in degrees of WGS 84.
        west: the least longitude.
        north: the largest latitude.
        east: the largest longitude; a box does not cross the meridian of 180 degrees.

    Raises:
        BadParameter: if this is no box, or one so large that distances would be stretched by half.

    Example:
        >>> town = local.MapProjection(52.3, 13.1, 52.7, 13.8)
        >>> town.stretch < 1.011
        True
    """

    south: Fraction
    west: Fraction
    north: Fraction
    east: Fraction

    def __init__(self, south: Number, west: Number, north: Number, east: Number) -> None:
        given = {"south": south, "west": west, "north": north, "east": east}
        ends = {name: rational(value, name) for name, value in given.items()}
        if not -90 < ends["south"] < ends["north"] < 90:
            raise BadParameter("north", north, "a latitude above the southern one, both between -90 and 90 degrees")
        if not -180 <= ends["west"] < ends["east"] <= 180:
            raise BadParameter("east", east, "a longitude above the western one, both from -180 to 180 degrees")
        set_fields(self, **ends)
        if self.stretch > _MOST_STRETCH:
            smaller = "nearer to south or to the equator, or west nearer to east: this distorts distances too much"
            raise BadParameter("north", north, smaller)

    @property
    def stretch(self) -> float:
        """How many metres of the plane one metre on the ground can be, at most, anywhere in the box.

        Guarantee: for two places of the box, distance on the plane <= stretch * distance on the ellipsoid. Along any
        path, the ellipsoid is at least 6,335,439 m / R times as long as the sphere. On the sphere
        sin^2(d / 2R) = sin^2(u / 2) + cos(a) cos(b) sin^2(v / 2) for latitudes a, b that differ by u and longitudes
        by v, and sin(t) >= t sin(m) / m for 0 <= t <= m; the plane has u^2 + cos^2(middle) v^2.
        """
        heights = [math.radians(float(angle)) for angle in (self.south, self.north)]
        widest = max(heights[1] - heights[0], math.radians(float(self.east - self.west))) / 2
        least = min(math.cos(height) for height in heights)
        slack = max(1.0, self._middle / least) * widest / math.sin(widest)
        return slack * RADIUS / _LEAST_RADIUS * _ROUNDING

    @property
    def box(self) -> tuple[Fraction, Fraction, Fraction, Fraction]:
        """The box on the plane: x low, y low, x high, y high, in metres."""
        far_x, far_y = self.to_metres(np.array([float(self.north), float(self.east)])).tolist()
        return Fraction(0), Fraction(0), Fraction(far_x), Fraction(far_y)

    @property
    def corners(self) -> tuple[Floats, Floats]:
        """The least and the largest latitude and longitude."""
        ends = (float(end) for end in (self.south, self.west, self.north, self.east))
        south, west, north, east = ends
        return np.array([south, west]), np.array([north, east])

    def to_metres(self, places: Any) -> Floats:
        """Return the points (x, y) of places (latitude, longitude), which may lie outside the box."""
        array = _pairs(places, "places", "latitude, longitude")
        away = np.radians(array - np.array([float(self.south), float(self.west)]))
        return np.stack([RADIUS * self._middle * away[..., 1], RADIUS * away[..., 0]], axis=-1)

    def to_degrees(self, points: Any) -> Floats:
        """Return the places (latitude, longitude) of points (x, y) in metres."""
        array = _pairs(points, "points", "x, y")
        away = np.degrees(np.stack([array[..., 1] / RADIUS, array[..., 0] / (RADIUS * self._middle)], axis=-1))
        degrees: Floats = away + np.array([float(self.south), float(self.west)])
        return degrees

    @property
    def _middle(self) -> float:
        return math.cos(math.radians(float(self.south + self.north) / 2))


def _pairs(given: Any, parameter: str, what: str) -> Floats:
    array = numbers_of(given)
    if array is None or array.ndim not in (1, 2) or array.shape[-1] != 2 or (np.abs(array) > _FAR).any():
        raise BadValue(parameter, "something else", f"two finite numbers ({what}), or a list of such pairs")
    return np.asarray(array, dtype=np.float64)
