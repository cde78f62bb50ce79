"""Continuous noise rounded to whole numbers: round(scale * Z), exactly. The scale may be private: it is not kept.

Heavy tails: Z = v / u for (u, v) uniform on {0 < u <= sqrt(h(v / u))} has the density proportional to h. For the
densities here that region is a polynomial inequality inside 0 < u <= 1, 0 <= v <= 1 (with a fair sign), so that uniform
numbers with as many bits as it takes decide it without rounding anything. The number of rejections is independent of
the point that is kept; only a draw of more than some 2**60 steps, or next to a half, takes more bits.

Many draws are the same points, and doubles decide those that lie further from an edge than their error. Lanes with
u or v below 2**-20 are left out; in the others each is known to 2**-64 + 2**-53 of itself, less than 2**-43, a power of
at most 130 of them to less than 2**-35, and a double below 2**-900 decides nothing, so that underflow does not matter:
sides of an inequality that differ by 2**-33 of their sum are distinguished. scale * v / u is known to 2**-41 of itself.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from privet.core.errors import InvariantError
from privet.core.numbers import Number, positive, whole

from .coins import ExponentialCoin
from .draws import Geometric
from .source import BLOCK, SYSTEM, WORD_BITS, Source, Words, integers_of, read_size

_BITS = WORD_BITS
_LEAST_WORD = np.uint64(2 ** (WORD_BITS - 20))
_TELLS, _ROUNDS = 2.0**-33, 2.0**-40
_VANISHING = 2.0**-900
_SCALES = (Fraction(1, 2**60), Fraction(2**60))
_NARROW = 2.0**30

Inside = Callable[[int, int, int, int, int], bool | None]
"""Whether the box [u0, u1] x [v0, v1], in units of 2**-bits, lies inside, outside, or across (None)."""


@dataclass(frozen=True)
class DrawRegion:
    """A region of points (u, v): exactly, by boxes, and the two sides of its inequality in doubles."""

    inside: Inside
    sides: Callable[[NDArray[np.float64], NDArray[np.float64]], tuple[NDArray[np.float64], NDArray[np.float64]]]


@overload
def rounded_power(scale: Number, power: int, size: None = None) -> int: ...
@overload
def rounded_power(scale: Number, power: int, size: int) -> NDArray[Any]: ...
def rounded_power(scale: Number, power: int, size: int | None = None) -> int | NDArray[Any]:
    """Return round(scale * Z) for the density of Z proportional to 1 / (1 + |z|**power); 2 makes it Cauchy.

    The region is u**power + v**power <= u**(power - 2). With a size, this many independent draws.

    Args:
        scale: the scale of the noise.
        power: the power of the tail.
        size: how many draws, as an array of that shape; one number if left out.

    Example:
        >>> noise.rounded_power(0.5, 2, 3).shape
        (3,)

    Guarantee: exactly this distribution, given a uniform operating system source.
    Cites: [KM77] for the ratio of uniform numbers.
    """
    wide = positive(scale, "scale")
    return power_from(SYSTEM, wide, power) if size is None else powers_from(SYSTEM, wide, power, read_size(size))


def power_from(source: Source, scale: Fraction, power: int) -> int:
    """Return the same as `rounded_power`, with the bits of a given source."""
    return _draw(scale, power_region(power), source)


def powers_from(source: Source, scale: Fraction, power: int, size: int) -> NDArray[Any]:
    """Return this many draws of `rounded_power`, with the bits of a given source."""
    return _fill(scale, power_region(power), size, source)


def power_region(power: int) -> DrawRegion:
    """Return the region of points whose ratio has a density proportional to 1 / (1 + |z|**power)."""
    p = whole(power, "power", least=2, most=64)

    def inside(u0: int, u1: int, v0: int, v1: int, bits: int) -> bool | None:
        if u1**p + v1**p <= u0 ** (p - 2) << 2 * bits:
            return True
        return False if u0**p + v0**p > u1 ** (p - 2) << 2 * bits else None

    return DrawRegion(inside, lambda u, v: (u**p + v**p, u ** (p - 2)))


@overload
def rounded_student(scale: Number, degrees: int, size: None = None) -> int: ...
@overload
def rounded_student(scale: Number, degrees: int, size: int) -> NDArray[Any]: ...
def rounded_student(scale: Number, degrees: int, size: int | None = None) -> int | NDArray[Any]:
    """Return round(scale * Z) for the density of Z proportional to (1 + z**2)**(-(degrees + 1) / 2).

    That is Student's t over the square root of its degrees; 1 makes it Cauchy. The region is
    (u**2 + v**2)**(degrees + 1) <= u**(2 degrees - 2). With a size, this many independent draws.

    Args:
        scale: the scale of the noise.
        degrees: the degrees of freedom.
        size: how many draws, as an array of that shape; one number if left out.

    Example:
        >>> noise.rounded_student(0.5, 3, 2).shape
        (2,)

    Guarantee: exactly this distribution, given a uniform operating system source.
    Cites: [KM77] for the ratio of uniform numbers.
    """
    wide = positive(scale, "scale")
    return (
        student_from(SYSTEM, wide, degrees) if size is None else students_from(SYSTEM, wide, degrees, read_size(size))
    )


def student_from(source: Source, scale: Fraction, degrees: int) -> int:
    """Return the same as `rounded_student`, with the bits of a given source."""
    return _draw(scale, student_region(degrees), source)


def students_from(source: Source, scale: Fraction, degrees: int, size: int) -> NDArray[Any]:
    """Return this many draws of `rounded_student`, with the bits of a given source."""
    return _fill(scale, student_region(degrees), size, source)


def student_region(degrees: int) -> DrawRegion:
    """Return the region of points whose ratio has a density proportional to (1 + z**2)**(-(degrees + 1) / 2)."""
    d = whole(degrees, "degrees", least=1, most=64)

    def inside(u0: int, u1: int, v0: int, v1: int, bits: int) -> bool | None:
        if (u1 * u1 + v1 * v1) ** (d + 1) <= u0 ** (2 * d - 2) << 4 * bits:
            return True
        return False if (u0 * u0 + v0 * v0) ** (d + 1) > u1 ** (2 * d - 2) << 4 * bits else None

    return DrawRegion(inside, lambda u, v: ((u * u + v * v) ** (d + 1), u ** (2 * d - 2)))


@overload
def rounded_laplace(scale: Number, size: None = None) -> int: ...
@overload
def rounded_laplace(scale: Number, size: int) -> NDArray[Any]: ...
def rounded_laplace(scale: Number, size: int | None = None) -> int | NDArray[Any]:
    """Return round(scale * Z) for Laplace noise Z: 0 where |z| < 1/2, and otherwise 1 and a geometric number more.

    It differs from a discrete Laplace draw, which is the noise itself there; this is noise that was rounded.
    With a size, this many independent draws.

    Args:
        scale: the scale of the noise.
        size: how many draws, as an array of that shape; one number if left out.

    Example:
        >>> noise.rounded_laplace(0.5, 3).shape
        (3,)

    Guarantee: exactly this distribution, given a uniform operating system source.
    """
    wide = positive(scale, "scale")
    return laplace_from(SYSTEM, wide) if size is None else laplaces_from(SYSTEM, wide, read_size(size))


def laplaces_from(source: Source, scale: Fraction, size: int) -> NDArray[Any]:
    """Return this many draws of `rounded_laplace`, with the bits of a given source."""
    if scale <= 0:
        raise InvariantError("noise needs a positive scale")
    beyond = ExponentialCoin(1 / (2 * scale)).fill(size, source)
    sizes = np.where(beyond, 1 + Geometric(scale).fill(size, source), 0)
    return np.where(source.words(size) & np.uint64(1), sizes, -sizes)


def laplace_from(source: Source, scale: Fraction) -> int:
    """Return the same as `rounded_laplace`, with the bits of a given source."""
    if scale <= 0:
        raise InvariantError("noise needs a positive scale")
    beyond = ExponentialCoin(1 / (2 * scale)).draw(source)
    size = 1 + Geometric(scale).draw(source)
    if not beyond:
        size = 0
    return size if source.word() & 1 else -size


def _draw(scale: Fraction, region: DrawRegion, source: Source) -> int:
    if scale <= 0:
        raise InvariantError("noise needs a positive scale")
    while True:
        size = settle(scale, region, source.word(), source.word(), source)
        if size is not None:
            return size if source.word() & 1 else -size


def settle(scale: Fraction, region: DrawRegion, u: int, v: int, source: Source) -> int | None:
    """Return round(scale * v / u) of a point known to 64 bits, or None outside; learns more as it must."""
    bits = _BITS
    inside = region.inside(u, u + 1, v, v + 1, bits)
    while inside is None:
        u, v, bits = _refine(u, v, bits, source)
        inside = region.inside(u, u + 1, v, v + 1, bits)
    if not inside:
        return None
    while True:
        # floor(scale * v / u + 1/2) at both corners of the box
        least, most = _rounded(scale, v, u + 1), _rounded(scale, v + 1, u) if u else None
        if least == most:
            return least
        u, v, bits = _refine(u, v, bits, source)


def _fill(scale: Fraction, region: DrawRegion, count: int, source: Source) -> NDArray[Any]:
    if not _SCALES[0] <= scale <= _SCALES[1]:
        return integers_of(_draw(scale, region, source) for _ in range(count))
    parts: list[NDArray[Any]] = []
    left = count
    while left:
        points = min(left, BLOCK)
        u, v = source.words(points), source.words(points)
        sizes, kept = settle_many(scale, region, u, v, source)
        accepted = sizes[kept]
        parts.append(np.where(source.words(accepted.size) & np.uint64(1), accepted, -accepted))
        left -= accepted.size
    return np.concatenate(parts) if parts else np.empty(0, dtype=np.int64)


def settle_many(
    scale: Fraction, region: DrawRegion, u: Words, v: Words, source: Source
) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """Return the results of `settle` for many points, and which lie inside: in doubles where these are certain."""
    certain = (u >= _LEAST_WORD) & (v >= _LEAST_WORD)
    x, y = (np.where(certain, each, _LEAST_WORD) * 2.0**-_BITS for each in (u, v))
    left, right = region.sides(x, y)
    both = left + right
    certain &= (both > _VANISHING) & (np.abs(left - right) > _TELLS * both)
    kept = left <= right
    moved = float(scale) * y / x + 0.5
    sizes = np.floor(np.minimum(moved, _NARROW))
    near = np.abs(moved - np.rint(moved)) <= _ROUNDS * moved
    certain &= ~kept | ((moved < _NARROW) & ~near)
    whole_sizes: NDArray[Any] = sizes.astype(np.int64)
    for lane in np.flatnonzero(~certain).tolist():
        size = settle(scale, region, int(u[lane]), int(v[lane]), source)
        kept[lane] = size is not None
        if size is not None and size >= 2**62:
            whole_sizes = whole_sizes.astype(object)
        whole_sizes[lane] = size or 0
    return whole_sizes, kept


def _rounded(scale: Fraction, v: int, u: int) -> int:
    return (2 * scale.numerator * v + scale.denominator * u) // (2 * scale.denominator * u)


def _refine(u: int, v: int, bits: int, source: Source) -> tuple[int, int, int]:
    return u << _BITS | source.word(), v << _BITS | source.word(), bits + _BITS
