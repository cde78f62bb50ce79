"""Rounds against ourselves: a cost leaves as a float no smaller than it is, an allowance no larger.

Exact rationals are rounded to the neighbouring double. Values computed in floating point are moved by a
relative margin that covers the error of the formulas used here, each of which is written without cancellation.
"""

from __future__ import annotations

import math
from decimal import Context, Decimal, localcontext
from fractions import Fraction

MARGIN = 2.0**-40
"""Relative allowance for formulas of a few dozen operations, each within a few units of 2**-52."""


def float_up(exact: Fraction | float) -> float:
    """Return the least double that is no smaller than `exact`."""
    if isinstance(exact, float):
        return exact
    try:
        nearest = float(exact)
    except OverflowError:
        return math.inf if exact > 0 else -_LARGEST
    return nearest if Fraction(nearest) >= exact else math.nextafter(nearest, math.inf)


def float_down(exact: Fraction | float) -> float:
    """Return the greatest double that is no larger than `exact`."""
    return -float_up(-exact) or 0.0  # zero has no sign to show


def float_near(exact: Fraction) -> float:
    """Return the nearest double, the largest or least one for what lies beyond: for places on an axis only."""
    try:
        return float(exact)
    except OverflowError:
        return _LARGEST if exact > 0 else -_LARGEST


def inflate(computed: float) -> float:
    """Return a double no smaller than the non-negative real that `computed` approximates."""
    return computed * (1 + MARGIN) + _LEAST if computed else computed


def deflate(computed: float) -> float:
    """Return a double no larger than the non-negative real that `computed` approximates."""
    return max(0.0, computed * (1 - MARGIN) - _LEAST)


_LARGEST = math.nextafter(math.inf, 0.0)
_LEAST = 2.0**-1074


def sqrt_up(exact: Fraction) -> Fraction:
    """Return a rational no smaller than the square root of a non-negative one, within one part in 2**80."""
    return _root(exact, round_up=True)


def sqrt_down(exact: Fraction) -> Fraction:
    """Return a rational no larger than the square root of a non-negative one, within one part in 2**80."""
    return _root(exact, round_up=False)


def log_up(exact: Fraction) -> Fraction:
    """Return a rational no smaller than the natural logarithm of one that is at least 1.

    `decimal` rounds its logarithm correctly, so 60 digits and a margin of 1e-55 leave room for both the
    rounding of the argument and that of the result. Close to 1, ln x <= x - 1 is nearer than the margin.
    """
    with localcontext(Context(prec=60)):
        nearest = Fraction((Decimal(exact.numerator) / Decimal(exact.denominator)).ln())
    return min(nearest + Fraction(1, 10**55) * (1 + abs(nearest)), exact - 1)


def exp_up(exact: Fraction) -> Fraction:
    """Return a rational no smaller than the exponential of one whose size is at most a few thousand."""
    return _exponential(exact) * (1 + Fraction(1, 10**50))


def exp_down(exact: Fraction) -> Fraction:
    """Return a rational no larger than the exponential of one whose size is at most a few thousand."""
    return max(_exponential(exact) * (1 - Fraction(1, 10**50)), 1 + exact)


def _exponential(exact: Fraction) -> Fraction:
    # Rounding the argument to 60 digits moves the exponential by a relative 1e-56 at most, and rounding it by 1e-60.
    with localcontext(Context(prec=60)):
        return Fraction((Decimal(exact.numerator) / Decimal(exact.denominator)).exp())


def _root(exact: Fraction, *, round_up: bool) -> Fraction:
    if exact == 0:
        return Fraction(0)
    # sqrt(p/q) = sqrt(p q 4**k) / (q 2**k), with k so large that the integer root has 80 bits or more
    product = exact.numerator * exact.denominator
    shift = max(0, 80 - product.bit_length() // 2)
    root = math.isqrt(product << (2 * shift))
    if round_up and root * root != product << (2 * shift):
        root += 1
    return Fraction(root, exact.denominator << shift)
