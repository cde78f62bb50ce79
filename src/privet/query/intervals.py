"""Interval arithmetic for an engine's computations in doubles; None is an unbounded end.

Ends are exact. An operation that engines round correctly (+, -, *, /, sqrt) never falls outside the doubles around the
exact ends: rounding is monotone. So a rule computes exact ends from ends that are doubles, and `outward` widens them to
doubles before they are used again. exp, ln and pow are not rounded correctly: their results are widened by `ULPS` more.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from math import floor, isqrt, trunc

Interval = tuple[Fraction | None, Fraction | None]
HALF = Fraction(1, 2)
NOWHERE: Interval = (None, None)
ULPS = 8
"""The combined error of exp, ln and pow, in an engine and in the C library here, in units in the last place.

Common libraries stay below 1 each; a law tries to refute this.
"""
LARGEST = Fraction(2**53 - 1) * Fraction(2) ** 971
"""The largest double."""
_TINIEST = Fraction(1, 2**1074)


def outward(x: Interval) -> Interval:
    """Return the narrowest interval of doubles that holds x; an end beyond all doubles is that of the doubles."""
    return (None if x[0] is None else down(x[0])), (None if x[1] is None else up(x[1]))


def down(x: Fraction) -> Fraction:
    """Return the largest double that is not above x, or the least double of all."""
    if not -LARGEST < x < LARGEST:
        return -LARGEST if x < 0 else LARGEST
    near = Fraction(float(x))
    return near if near <= x else Fraction(math.nextafter(float(x), -math.inf))


def up(x: Fraction) -> Fraction:
    """Return the least double that is not below x, or the largest double of all."""
    return -down(-x)


def nearest(x: Interval) -> Interval:
    """Return exact ends as doubles, rounded as an engine rounds: where both are attained, as by a quotient of doubles.

    No value between them is rounded beyond them, and groups at the next whole number are not asked for in vain.
    """
    low, high = (None if end is None else max(-LARGEST, min(end, LARGEST)) for end in x)
    return (None if low is None else Fraction(float(low))), (None if high is None else Fraction(float(high)))


def neat(x: Fraction) -> Fraction:
    """Return a number within a few units in the last place that people would write: 10 for 10.000000000000002."""
    if not -LARGEST < x < LARGEST:
        return x
    close = 2 * ULPS * Fraction(math.ulp(float(x)))
    for simple in (x.limit_denominator(10**6), Fraction(f"{float(x):.15g}")):
        if abs(simple - x) <= close:
            return simple
    return x


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


def divide_whole(x: Interval, y: Interval) -> Interval:
    """Return where x / y, of whole numbers, lies once it is cut towards 0, wherever y is not 0."""
    if x[0] is None or x[1] is None:
        return NOWHERE
    low, high = y
    if low is not None and high is not None and not low <= 0 <= high:
        return rising(divide(x, y), trunc)
    size = max(abs(x[0]), abs(x[1]))  # whole numbers are at least 1 apart from 0
    if low is not None and low >= 0:
        return min(x[0], Fraction(0)), max(x[1], Fraction(0))
    return -size, size


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
    """Return x rounded to a number of decimals; halves go up."""
    scale = Fraction(10) ** digits
    return floor(x * scale + HALF) / scale


def rounded(x: Interval) -> Interval:
    """Return where floor(x + 1/2) lies, in doubles: 0.49999999999999994 + 0.5 is 1 there."""
    low, high = outward(add(x, (HALF, HALF)))
    return rising((low, None), floor)[0], rising((None, high), floor)[1]


def rounded_to(x: Interval, digits: int) -> Interval:
    """Return where floor(x * 10^d + 1/2) / 10^d lies, in doubles; for d < 0, floor(x / 10^-d + 1/2) * 10^-d."""
    power = (Fraction(10) ** abs(digits),) * 2
    scaled, back = (multiply, divide) if digits >= 0 else (divide, multiply)
    return back(rounded(outward(scaled(x, power))), power)


def root(x: Interval) -> Interval:
    """Return where the square root of x lies, wherever it is defined."""
    low = Fraction(0) if x[0] is None or x[0] <= 0 else _root(x[0], up=False)
    return low, (None if x[1] is None else _root(max(x[1], Fraction(0)), up=True))


def logarithm(x: Interval) -> Interval:
    """Return where the natural logarithm of x lies, wherever it is defined."""
    low, high = outward(x)
    if high is None or high <= 0:
        return NOWHERE if high is None else (Fraction(0), Fraction(0))
    return (None if low is None or low <= 0 else _around(math.log(low))[0]), _around(math.log(high))[1]


def logarithm_of(base: int) -> Callable[[Interval], Interval]:
    """Return the rule for logarithms to a base, 2 or 10."""
    compute = math.log2 if base == 2 else math.log10

    def rule(x: Interval) -> Interval:
        low, high = outward(x)
        if high is None or high <= 0:
            return NOWHERE if high is None else (Fraction(0), Fraction(0))
        return (None if low is None or low <= 0 else _around(compute(low))[0]), _around(compute(high))[1]

    return rule


def exponential(x: Interval) -> Interval:
    """Return where e to the x lies, as far as doubles reach; it is never negative."""
    low, high = outward(x)
    least = Fraction(0) if low is None else max(_around(math.exp(min(low, Fraction(700))))[0], Fraction(0))
    return least, (None if high is None or high > 700 else _around(math.exp(high))[1])


def power(x: Interval, exponent: Fraction) -> Interval:
    """Return where x to a constant power lies: of any x for whole exponents, else of x that is not negative."""
    low, high = outward(x)
    if low is None or high is None or (low < 0 and exponent.denominator != 1) or (low <= 0 <= high and exponent < 0):
        return NOWHERE
    corners = [low, high] + ([Fraction(0)] if low <= 0 <= high else [])
    try:
        ends = sorted(math.pow(corner, exponent) for corner in corners)
    except OverflowError:
        return NOWHERE
    least, most = _around(ends[0])[0], _around(ends[-1])[1]
    return (max(least, Fraction(0)) if ends[0] >= 0 else least), most


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


def _around(value: float) -> tuple[Fraction, Fraction]:
    exact = Fraction(value)
    margin = ULPS * max(Fraction(math.ulp(value)), _TINIEST)
    return exact - margin, exact + margin
