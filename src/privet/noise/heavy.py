"""Continuous noise rounded to whole numbers: round(scale * Z), exactly. The scale may be private: it is not kept.

Heavy tails: Z = v / u for (u, v) uniform on {0 < u <= sqrt(h(v / u))} has the density proportional to h. For the
densities here that region is a polynomial inequality inside 0 < u <= 1, 0 <= v <= 1 (with a fair sign), so that uniform
numbers with as many bits as it takes decide it without rounding anything. How often a point is rejected says nothing
about the one that is kept; only a draw of more than some 2**60 steps, or next to a half, takes more bits.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from privet.core.errors import InvariantError
from privet.core.exact import whole

from .coins import ExponentialCoin
from .laplace import Geometric
from .source import SYSTEM, WORD_BITS, Source

_BITS = WORD_BITS
Region = Callable[[int, int, int, int, int], bool | None]
"""Whether the box [u0, u1] x [v0, v1], in units of 2**-bits, lies inside, outside, or across (None)."""


def rounded_power(scale: Fraction, power: int) -> int:
    """Return round(scale * Z) for the density of Z proportional to 1 / (1 + |z|**power); 2 makes it Cauchy.

    The region is u**power + v**power <= u**(power - 2).

    Guarantee: exactly this distribution, given a uniform operating system source.
    Cites: [KM77] for the ratio of uniform numbers.
    """
    return power_from(SYSTEM, scale, power)


def power_from(source: Source, scale: Fraction, power: int) -> int:
    """Return what `rounded_power` returns, with the bits of a given source."""
    p = whole(power, "power", least=2, most=64)

    def region(u0: int, u1: int, v0: int, v1: int, bits: int) -> bool | None:
        if u1**p + v1**p <= u0 ** (p - 2) << 2 * bits:
            return True
        return False if u0**p + v0**p > u1 ** (p - 2) << 2 * bits else None

    return _draw(scale, region, source)


def rounded_student(scale: Fraction, degrees: int) -> int:
    """Return round(scale * Z) for the density of Z proportional to (1 + z**2)**(-(degrees + 1) / 2).

    That is Student's t over the square root of its degrees; 1 makes it Cauchy. The region is
    (u**2 + v**2)**(degrees + 1) <= u**(2 degrees - 2).

    Guarantee: exactly this distribution, given a uniform operating system source.
    Cites: [KM77] for the ratio of uniform numbers.
    """
    return student_from(SYSTEM, scale, degrees)


def student_from(source: Source, scale: Fraction, degrees: int) -> int:
    """Return what `rounded_student` returns, with the bits of a given source."""
    d = whole(degrees, "degrees", least=1, most=64)

    def region(u0: int, u1: int, v0: int, v1: int, bits: int) -> bool | None:
        if (u1 * u1 + v1 * v1) ** (d + 1) <= u0 ** (2 * d - 2) << 4 * bits:
            return True
        return False if (u0 * u0 + v0 * v0) ** (d + 1) > u1 ** (2 * d - 2) << 4 * bits else None

    return _draw(scale, region, source)


def rounded_laplace(scale: Fraction) -> int:
    """Return round(scale * Z) for Laplace noise Z: 0 where |z| < 1/2, and otherwise 1 and a geometric number more.

    It differs from a discrete Laplace draw, which is what the noise itself is there; this is noise that was rounded.

    Guarantee: exactly this distribution, given a uniform operating system source.
    """
    return laplace_from(SYSTEM, scale)


def laplace_from(source: Source, scale: Fraction) -> int:
    """Return what `rounded_laplace` returns, with the bits of a given source."""
    if scale <= 0:
        raise InvariantError("noise needs a positive scale")
    beyond = ExponentialCoin(1 / (2 * scale)).draw(source)
    size = 1 + Geometric(scale).draw(source)
    if not beyond:
        size = 0
    return size if source.word() & 1 else -size


def _draw(scale: Fraction, region: Region, source: Source) -> int:
    if scale <= 0:
        raise InvariantError("noise needs a positive scale")
    while True:
        u, v, bits = source.word(), source.word(), _BITS
        inside = region(u, u + 1, v, v + 1, bits)
        while inside is None:
            u, v, bits = _refine(u, v, bits, source)
            inside = region(u, u + 1, v, v + 1, bits)
        if not inside:
            continue
        while True:
            # floor(scale * v / u + 1/2) at both corners of the box
            least, most = _rounded(scale, v, u + 1), _rounded(scale, v + 1, u) if u else None
            if least == most:
                return least if source.word() & 1 else -least
            u, v, bits = _refine(u, v, bits, source)


def _rounded(scale: Fraction, v: int, u: int) -> int:
    return (2 * scale.numerator * v + scale.denominator * u) // (2 * scale.denominator * u)


def _refine(u: int, v: int, bits: int, source: Source) -> tuple[int, int, int]:
    return u << _BITS | source.word(), v << _BITS | source.word(), bits + _BITS
