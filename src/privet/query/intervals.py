"""Interval arithmetic on exact ends; None is an end that nothing bounds.

Where an exact end is irrational, the interval is widened, never narrowed.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from math import floor, isqrt

Interval = tuple[Fraction | None, Fraction | None]
HALF = Fraction(1, 2)
NOWHERE: Interval = (None, None)
_MARGIN = Fraction(1, 2**40)
"""Far more than any error of a system's exp, log or pow, relative to the result."""


def add(x: Interval, y: Interval) -> Interval:
    """Return where x + y lies."""
    return _plus(x[0], y[0]), _plus(x[1], y[1])


def negate(x: Interval) -> Interval:
    """Return where -x lies."""
    return (None if x[1] is None else -x[1]), (None if x[0] is None else -x[0])


def multiply(x: Interval, y: Interval) -> Interval:
    """Return where x * y lies; a side that is not bounded leaves the product so, unless the other is 0."""
    if any(side[0] == 0 and side[1] == 0 for side in (x, y)):
        return Fraction(0), Fraction(0)
    if x[0] is None or x[1] is None or y[0] is None or y[1] is None:
        return _half_open_product(x, y)
    corners = [a * b for a in (x[0], x[1]) for b in (y[0], y[1])]
    return min(corners), max(corners)


def divide(x: Interval, y: Interval) -> Interval:
    """Return where x / y lies, wherever it is defined; y must keep away from 0 for that to be bounded."""
    if y[0] is None or y[1] is None or y[0] <= 0 <= y[1]:
        return NOWHERE
    return multiply(x, (1 / y[1], 1 / y[0]))


def modulo(x: Interval, y: Interval) -> Interval:
    """Return where the remainder of x / y lies: it has the sign of x and is smaller than y."""
    size = None if y[0] is None or y[1] is None else max(abs(y[0]), abs(y[1]))
    low = Fraction(0) if x[0] is not None and x[0] >= 0 else _larger(x[0], None if size is None else -size)
    high = Fraction(0) if x[1] is not None and x[1] <= 0 else _smaller(x[1], size)
    return low, high


def absolute(x: Interval) -> Interval:
    """Return where |x| lies."""
    low, high = x
    if low is not None and low >= 0:
        return x
    if high is not None and high <= 0:
        return negate(x)
    return Fraction(0), (None if low is None or high is None else max(-low, high))


def rising(x: Interval, rule: Callable[[Fraction], Fraction | int]) -> Interval:
    """Return where a function that never falls takes x."""
    return (None if x[0] is None else Fraction(rule(x[0]))), (None if x[1] is None else Fraction(rule(x[1])))


def half_up(x: Fraction, digits: int = 0) -> Fraction:
    """Return x rounded to so many decimals; halves go up."""
    scale = Fraction(10) ** digits
    return floor(x * scale + HALF) / scale


def root(x: Interval) -> Interval:
    """Return where the square root of x lies, wherever it is defined."""
    low = Fraction(0) if x[0] is None or x[0] <= 0 else _root(x[0], up=False)
    return low, (None if x[1] is None else _root(max(x[1], Fraction(0)), up=True))


def logarithm(x: Interval) -> Interval:
    """Return where the natural logarithm of x lies, wherever it is defined."""
    low, high = x
    if high is None or high <= 0:
        return NOWHERE if high is None else (Fraction(0), Fraction(0))
    return (None if low is None or low <= 0 else _around(_log(low))[0]), _around(_log(high))[1]


def exponential(x: Interval) -> Interval:
    """Return where e to the x lies, as far as doubles reach."""
    low = Fraction(0) if x[0] is None or x[0] < -700 else _around(math.exp(min(x[0], Fraction(700))))[0]
    return low, (None if x[1] is None or x[1] > 700 else _around(math.exp(max(x[1], Fraction(-700))))[1])


def power(x: Interval, exponent: Fraction) -> Interval:
    """Return where x to a constant power lies: exactly for small whole exponents, else for x that is not negative."""
    low, high = x
    if low is None or high is None:
        return NOWHERE
    if exponent.denominator == 1 and 0 <= exponent <= 64:
        n = int(exponent)
        corners = [low**n, high**n] + ([Fraction(0)] if n and low <= 0 <= high else [])
        return min(corners), max(corners)
    if low < 0 or (exponent < 0 and low == 0):
        return NOWHERE
    ends = [_power(low, exponent), _power(high, exponent)]
    if any(end is None for end in ends):
        return NOWHERE
    sorted_ends = sorted(end for end in ends if end is not None)
    return _around(sorted_ends[0])[0], _around(sorted_ends[1])[1]


def _plus(a: Fraction | None, b: Fraction | None) -> Fraction | None:
    return None if a is None or b is None else a + b


def _smaller(a: Fraction | None, b: Fraction | None) -> Fraction | None:
    return b if a is None else a if b is None else min(a, b)


def _larger(a: Fraction | None, b: Fraction | None) -> Fraction | None:
    return b if a is None else a if b is None else max(a, b)


def _half_open_product(x: Interval, y: Interval) -> Interval:
    positive = all(side[0] is not None and side[0] >= 0 for side in (x, y))
    return (Fraction(0), None) if positive else NOWHERE


def _root(x: Fraction, *, up: bool) -> Fraction:
    # sqrt(p/q) = sqrt(p q)/q, on a grid of 2**-64 relative to q, exact for squares
    scaled = x.numerator * x.denominator << 128
    whole = isqrt(scaled)
    return Fraction(whole + (up and whole * whole != scaled), x.denominator << 64)


def _log(x: Fraction) -> float:
    return math.log(x.numerator) - math.log(x.denominator)


def _power(x: Fraction, exponent: Fraction) -> float | None:
    if x == 0:
        return 0.0
    size = _log(x) * float(exponent)
    return math.exp(size) if -700 <= size <= 700 else None


def _around(value: float) -> tuple[Fraction, Fraction]:
    exact = Fraction(value)
    margin = (abs(exact) + 1) * _MARGIN if abs(exact) > _MARGIN else _MARGIN
    return exact - margin, exact + margin
