"""Rounds against ourselves: a cost leaves as a float no smaller than it is, an allowance no larger.

Exact rationals are rounded to the neighbouring double. Values computed in floating point are moved by a
relative margin that covers the error of the formulas used here, each of which is written without cancellation.
"""

from __future__ import annotations

import math
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
    return -float_up(-exact)


def inflate(computed: float) -> float:
    """Return a double no smaller than the non-negative real that `computed` approximates."""
    return computed * (1 + MARGIN) + _LEAST if computed else computed


def deflate(computed: float) -> float:
    """Return a double no larger than the non-negative real that `computed` approximates."""
    return max(0.0, computed * (1 - MARGIN) - _LEAST)


_LARGEST = math.nextafter(math.inf, 0.0)
_LEAST = 2.0**-1074
