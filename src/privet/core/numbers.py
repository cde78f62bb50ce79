"""Public numbers, exactly: each number becomes the rational that it is, or is refused by name.

A plain `float(x) > 0` lets booleans, strings, one-element arrays and infinities through, and silently rounds
big integers and Decimals. Nothing here rounds, except against ourselves, where a number leaves as a double; and the
last part searches the doubles.
"""

from __future__ import annotations

import math
import operator
import re
import struct
from collections.abc import Callable
from decimal import Context, Decimal, localcontext
from fractions import Fraction
from typing import Protocol, SupportsIndex, cast

from .errors import BadParameter, InvariantError, quote


class SupportsRatio(Protocol):
    """A number that is a ratio of integers, as NumPy's floating scalars are."""

    def as_integer_ratio(self) -> tuple[int, int]:
        """Return the numerator and the denominator."""
        ...


Number = int | float | Fraction | Decimal | SupportsIndex | SupportsRatio
"""Any real number that can be read exactly; NumPy's integer and floating scalars qualify as well."""

_LARGEST_EXPONENT = 2300
"""Parameters lie within 2**-2300 and 2**2300: every double does, subnormals included, and so does its square."""


def rational(value: object, parameter: str, allowed: str = "a finite number") -> Fraction:
    """Return `value` as the rational number that it is.

    Integers, Fractions, finite floats and Decimals, and NumPy's integer and floating scalars are taken exactly.
    Booleans, strings, complex numbers, arrays, NaN and infinities raise `BadParameter`.
    """
    fraction = read_rational(value)
    if fraction is None:
        raise BadParameter(parameter, value, allowed)
    return fraction


def read_rational(value: object) -> Fraction | None:
    """Return `value` as the rational number that it is, or None where `rational` would refuse it.

    For private values: no error that quotes one is ever made, not even as the context of another.
    """
    try:
        fraction = _exact(value)
    except Exception:  # the methods of a foreign type may raise any error
        return None
    return fraction if fraction is not None and _representable(fraction) else None


def positive(value: object, parameter: str) -> Fraction:
    """Return `value` exactly, refusing all but finite numbers above zero."""
    allowed = "a finite number above 0 (an int, float, Fraction or Decimal)"
    fraction = rational(value, parameter, allowed)
    if fraction <= 0:
        raise BadParameter(parameter, value, allowed)
    return fraction


def nonnegative(value: object, parameter: str) -> Fraction:
    """Return `value` exactly, refusing all but finite numbers of at least zero."""
    allowed = "a finite number of at least 0 (an int, float, Fraction or Decimal)"
    fraction = rational(value, parameter, allowed)
    if fraction < 0:
        raise BadParameter(parameter, value, allowed)
    return fraction


def probability(value: object, parameter: str) -> Fraction:
    """Return `value` exactly, refusing values outside [0, 1]."""
    allowed = "a probability: a number from 0 to 1"
    fraction = rational(value, parameter, allowed)
    if not 0 <= fraction <= 1:
        raise BadParameter(parameter, value, allowed)
    return fraction


def open_probability(value: object, parameter: str) -> Fraction:
    """Return `value` exactly, refusing values outside the open interval (0, 1)."""
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
    integer = _index(value)
    if integer is None or integer < least or (most is not None and integer > most):
        upper = "" if most is None else f" and at most {quote(most)}"
        raise BadParameter(parameter, value, f"an integer of at least {least}{upper}")
    return integer


def read_seconds(value: object, parameter: str) -> Fraction:
    """Return a time limit exactly, refusing one that no clock can wait for."""
    seconds = positive(value, parameter)
    if not Fraction(1, 10**6) <= seconds <= 10**9:
        raise BadParameter(parameter, value, "a number of seconds from 1e-6 to 1e9")
    return seconds


_DECIMAL = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_WHOLE = re.compile(r"[+-]?[0-9]+")
_LONGEST = 400
"""The most characters that a written number may have."""


def written_decimal(text: str) -> Decimal | None:
    """Return a decimal number as people write it, such as 0.5 or 1e-6; None for any other text.

    Python's own readers also take 1_0 for ten, and the digits of any script.
    """
    stripped = text.strip(" \t")
    return Decimal(stripped) if len(stripped) <= _LONGEST and _DECIMAL.fullmatch(stripped) else None


def written_ratio(text: str) -> Fraction | None:
    """Return a decimal number, or a ratio of two, as the rational that it is; None for any other text.

    Not Fraction(text): of "1e999999999" it would make the integer.
    """
    above, _, below = text.partition("/")
    top, bottom = (read_rational(written_decimal(part)) for part in (above, below or "1"))
    return None if top is None or not bottom else read_rational(top / bottom)


def written_whole(text: str) -> int | None:
    """Return a whole number as people write it, in the digits 0 to 9; None for anything else."""
    stripped = text.strip(" \t")
    return int(stripped) if len(stripped) <= _LONGEST and _WHOLE.fullmatch(stripped) else None


def read_amount(value: object, parameter: str) -> Fraction:
    """Return the cost that an answer may have: a number that noise can be made for."""
    exact = positive(value, parameter)
    if not _LEAST_COST <= exact <= 1 / _LEAST_COST:
        raise BadParameter(parameter, value, f"from {float(_LEAST_COST):g} to {float(1 / _LEAST_COST):g}")
    return exact


_LEAST_COST = Fraction(1, 10**50)


def read_order(order: object) -> float:
    """Return a Renyi order as a float, refusing all but finite numbers above 1."""
    if type(order) is float and 1 < order < math.inf:
        return order
    allowed = "a finite number above 1"
    exact = rational(order, "order", allowed)
    if not 1 < exact <= _LARGEST_FLOAT or float(exact) <= 1:
        raise BadParameter("order", order, allowed)
    return float(exact)


_LARGEST_FLOAT = Fraction(math.nextafter(math.inf, 0.0))
_NOT_NUMBERS = frozenset({"bool", "bool_", "timedelta64", "datetime64"})
"""NumPy's scalars that convert to integers and are none, by name, so that NumPy need not be imported."""


def _exact(value: object) -> Fraction | None:
    if type(value) is Fraction and type(value.numerator) is int is type(value.denominator):
        return value
    if _foreign(value):
        return None
    match value:
        case complex():
            return None
        case Fraction():  # one that was made of NumPy's integers still has them, which wrap
            return Fraction(operator.index(value.numerator), operator.index(value.denominator))
        case int():
            return Fraction(int(value))
        case Decimal():
            if not value:
                return Fraction(0) if value.is_finite() else None  # a zero may carry an exponent of any size
            within = value.is_finite() and abs(value.adjusted()) <= _LARGEST_EXPONENT
            return Fraction(value) if within else None
        case float():
            return Fraction(value) if math.isfinite(value) else None
    ratio = getattr(value, "as_integer_ratio", None)
    if ratio is not None:  # NumPy's floating scalars, long double included, raise on NaN and infinity
        numerator, denominator = ratio()
        return Fraction(operator.index(numerator), operator.index(denominator))
    return Fraction(operator.index(cast(SupportsIndex, value)))


def _index(value: object) -> int | None:
    try:
        return None if _foreign(value) else int(operator.index(cast(SupportsIndex, value)))
    except Exception:  # the methods of a foreign type may raise any error
        return None


def _foreign(value: object) -> bool:
    # Whatever has a length is a container or text, and an array of one number is still an array.
    return isinstance(value, bool) or hasattr(value, "__len__") or type(value).__name__ in _NOT_NUMBERS


def is_unicode(text: str) -> bool:
    """Return whether a text can be written down anywhere: it contains no half of a surrogate pair."""
    return not any("\ud800" <= letter <= "\udfff" for letter in text)


def _representable(fraction: Fraction) -> bool:
    bits = max(fraction.numerator.bit_length(), 1) - fraction.denominator.bit_length()
    return -_LARGEST_EXPONENT <= bits <= _LARGEST_EXPONENT


# Rounds against ourselves: a cost leaves as a float no smaller than it is, an allowance no larger.
#
# Exact rationals are rounded to the neighbouring double. Values computed in floating point are moved by a relative
# margin that covers the error of the formulas used here, each of which is written without cancellation.


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
    numerator, denominator = nearest.as_integer_ratio()
    reached = numerator * exact.denominator >= exact.numerator * denominator
    return nearest if reached else math.nextafter(nearest, math.inf)


def float_down(exact: Fraction | float) -> float:
    """Return the greatest double that is no larger than `exact`."""
    return -float_up(-exact) or 0.0  # zero has no sign to show


def float_near(exact: Fraction) -> float:
    """Return the nearest double, the largest or least one for a number beyond: for places on an axis only."""
    try:
        return float(exact)
    except OverflowError:
        return _LARGEST if exact > 0 else -_LARGEST


def inflate(computed: float) -> float:
    """Return a double no smaller than the non-negative real that `computed` approximates."""
    return computed * (1 + MARGIN) + _LEAST if computed else computed


_LARGEST_DENOMINATOR = 4096
"""Sums whose denominator has more bits than this are rounded up to 1024 binary places, to stay of constant size."""


def compact(total: Fraction) -> Fraction:
    """Return a sum itself, or, once its denominator has grown long, a value just above it with a short one."""
    if total.denominator.bit_length() <= _LARGEST_DENOMINATOR:
        return total
    return Fraction(-(-(total.numerator << 1024) // total.denominator), 1 << 1024)


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

    `decimal` rounds its logarithm correctly, so 60 digits and a margin of 1e-55 leave a margin for both the
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


# Searches: where a yes-or-no question changes its answer, on the doubles, in at most 64 questions.
#
# The end that is returned was itself tested and true, so a bound found here is sound even where the condition
# is not quite monotone. Nothing here knows the condition.


_INVERSE_GOLDEN = 0.6180339887498949


def least(holds: Callable[[float], bool], low: float, high: float, *, relative: float = 0.0) -> float:
    """Return the least double in [low, high], to a relative tolerance, for which `holds` returns true.

    The ends are not negative, and `holds` is true at `high`; it is called there at least.
    """
    return low if holds(low) else _bisected(holds, no=low, yes=high, relative=relative)


def most(holds: Callable[[float], bool], low: float, high: float, *, relative: float = 0.0) -> float:
    """Return the greatest double in [low, high], to a relative tolerance, for which `holds` returns true.

    The ends are not negative, and `holds` is true at `low`; it is called there at least.
    """
    return high if holds(high) else _bisected(holds, no=high, yes=low, relative=relative)


def _bisected(holds: Callable[[float], bool], *, no: float, yes: float, relative: float) -> float:
    """Return the last double, from one that must be answered yes towards one that was answered no, with a yes."""
    if not holds(yes):
        raise InvariantError("a search was started on an interval whose end does not qualify")
    refused, accepted = _place(no), _place(yes)
    while abs(refused - accepted) > 1 and not _close(min(refused, accepted), max(refused, accepted), relative):
        middle = (refused + accepted) // 2
        if holds(_double(middle)):
            accepted = middle
        else:
            refused = middle
    return _double(accepted)


def lowest(value: Callable[[float], float], low: float, high: float, *, steps: int) -> float:
    """Return the point where golden-section search on [low, high] saw the least `value`.

    For a function with one valley this is its bottom; for any other it is still a point of the interval.
    """
    left = high - _INVERSE_GOLDEN * (high - low)
    right = low + _INVERSE_GOLDEN * (high - low)
    at_left, at_right = value(left), value(right)
    best = min((at_left, left), (at_right, right))
    for _ in range(steps):
        if at_left <= at_right:
            high, right, at_right = right, left, at_left
            left = high - _INVERSE_GOLDEN * (high - low)
            at_left = value(left)
            best = min(best, (at_left, left))
        else:
            low, left, at_left = left, right, at_right
            right = low + _INVERSE_GOLDEN * (high - low)
            at_right = value(right)
            best = min(best, (at_right, right))
    return best[1]


def _close(lower: int, upper: int, relative: float) -> bool:
    return relative > 0 and _double(upper) - _double(lower) <= relative * _double(upper)


def _place(value: float) -> int:
    # Non-negative doubles are ordered as the integers that their bits spell.
    place: int = struct.unpack("<q", struct.pack("<d", value))[0]
    return place


def _double(place: int) -> float:
    value: float = struct.unpack("<d", struct.pack("<q", place))[0]
    return value


_WITHOUT_EXPONENT = 10**15


def in_digits(number: float, many: int) -> str:
    """Return a number in this many significant digits as people write it: 46,200, 0.0123 or, far off, 1.5e+20."""
    if not math.isfinite(number) or abs(number) >= _WITHOUT_EXPONENT or 0 < abs(number) < 1 / _WITHOUT_EXPONENT:
        return f"{number:.{many}g}"
    return f"{Decimal(f'{number:.{many}g}'):,f}"


def in_full(number: float, many: int = 6) -> str:
    """Return a number in significant digits that show its whole part in full: 0.333333, 12.5 or 1,234,567."""
    size = abs(number)
    return in_digits(number, max(many, len(str(int(size)))) if size < _WITHOUT_EXPONENT else many)
