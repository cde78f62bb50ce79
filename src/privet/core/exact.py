"""Reads public numbers exactly: what comes in as a number leaves as the rational it is, or is refused by name.

A plain `float(x) > 0` lets booleans, strings, one-element arrays and infinities through, and silently rounds
big integers and Decimals. Nothing here rounds.
"""

from __future__ import annotations

import math
import operator
from decimal import Decimal
from fractions import Fraction
from typing import SupportsIndex, cast

from .errors import BadParameter

Number = int | float | Fraction | Decimal | SupportsIndex
"""What a caller may pass where a number is wanted; NumPy's integer and floating scalars qualify as well."""

_LARGEST_EXPONENT = 1100
"""Parameters lie within 2**-1100 and 2**1100: every double does, subnormals included."""


def rational(value: object, parameter: str, allowed: str = "a finite number") -> Fraction:
    """Return `value` as the rational number that it is.

    Integers, Fractions, finite floats and Decimals, and NumPy's integer and floating scalars are taken exactly.
    Booleans, strings, complex numbers, arrays, NaN and infinities raise `BadParameter`.
    """
    try:
        fraction = _exact(value)
    except (TypeError, ValueError, OverflowError, ArithmeticError):
        fraction = None
    if fraction is None or not _representable(fraction):
        raise BadParameter(parameter, value, allowed) from None
    return fraction


def positive(value: object, parameter: str) -> Fraction:
    """Return `value` exactly, refusing anything that is not a finite number above zero."""
    allowed = "a finite number above 0 (an int, float, Fraction or Decimal)"
    fraction = rational(value, parameter, allowed)
    if fraction <= 0:
        raise BadParameter(parameter, value, allowed)
    return fraction


def nonnegative(value: object, parameter: str) -> Fraction:
    """Return `value` exactly, refusing anything that is not a finite number of at least zero."""
    allowed = "a finite number of at least 0 (an int, float, Fraction or Decimal)"
    fraction = rational(value, parameter, allowed)
    if fraction < 0:
        raise BadParameter(parameter, value, allowed)
    return fraction


def probability(value: object, parameter: str) -> Fraction:
    """Return `value` exactly, refusing anything outside [0, 1]."""
    allowed = "a probability: a number from 0 to 1"
    fraction = rational(value, parameter, allowed)
    if not 0 <= fraction <= 1:
        raise BadParameter(parameter, value, allowed)
    return fraction


def open_probability(value: object, parameter: str) -> Fraction:
    """Return `value` exactly, refusing anything outside the open interval (0, 1)."""
    allowed = "strictly between 0 and 1"
    fraction = rational(value, parameter, allowed)
    if not 0 < fraction < 1:
        raise BadParameter(parameter, value, allowed)
    return fraction


def failure_probability(value: object, parameter: str = "delta") -> Fraction:
    """Return a delta exactly, refusing anything outside [0, 1)."""
    allowed = "at least 0 and below 1"
    fraction = rational(value, parameter, allowed)
    if not 0 <= fraction < 1:
        raise BadParameter(parameter, value, allowed)
    return fraction


def whole(value: object, parameter: str, *, least: int = 0, most: int | None = None) -> int:
    """Return an integer parameter, refusing floats, booleans and values outside the range."""
    upper = "" if most is None else f" and at most {most}"
    allowed = f"an integer of at least {least}{upper}"
    if isinstance(value, bool) or type(value).__name__ == "bool" or type(value).__name__ == "bool_":
        raise BadParameter(parameter, value, allowed)
    try:
        integer = operator.index(cast(SupportsIndex, value))
    except TypeError:
        raise BadParameter(parameter, value, allowed) from None
    if getattr(value, "shape", ()) != () or type(value).__name__ == "ndarray":
        raise BadParameter(parameter, value, allowed)
    if integer < least or (most is not None and integer > most):
        raise BadParameter(parameter, value, allowed)
    return integer


def _exact(value: object) -> Fraction | None:
    kind = type(value).__name__
    if isinstance(value, (bool, str, bytes, complex)) or kind in {"bool", "bool_", "ndarray", "timedelta64"}:
        return None
    if isinstance(value, Fraction):
        return Fraction(value)
    if isinstance(value, int):
        return Fraction(int(value))
    if isinstance(value, Decimal):
        if not value.is_finite() or (value and abs(value.adjusted()) > _LARGEST_EXPONENT):
            return None
        return Fraction(value)
    if isinstance(value, float):
        return Fraction(value) if math.isfinite(value) else None
    ratio = getattr(value, "as_integer_ratio", None)
    if ratio is not None:  # NumPy's floating scalars, long double included, raise on NaN and infinity
        numerator, denominator = ratio()
        return Fraction(int(numerator), int(denominator))
    return Fraction(operator.index(cast(SupportsIndex, value)))


def _representable(fraction: Fraction) -> bool:
    bits = max(fraction.numerator.bit_length(), 1) - fraction.denominator.bit_length()
    return -_LARGEST_EXPONENT <= bits <= _LARGEST_EXPONENT
