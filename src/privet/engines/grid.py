"""The grid of a sum: how a value becomes an integer. One description, so that all engines agree to the last bit.

Whole numbers are mapped by integer arithmetic, numbers by doubles, and the result is clamped as an integer again.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor

from privet.core.errors import Unsupported
from privet.core.scan import Sum

_LARGEST = 2**62
"""Numbers are put on a grid through doubles, which cast safely to 64 bits within this."""


@dataclass(frozen=True)
class GridLine:
    """y = floor((factor * x + shift) / divisor) for whole x, clamped first to [low, high] so that nothing overflows."""

    factor: int
    shift: int
    divisor: int
    low: int
    high: int

    def apply(self, x: int) -> int:
        """Return y."""
        return (self.factor * x + self.shift) // self.divisor

    @property
    def most(self) -> int:
        """The largest number, in size, that comes up on the way."""
        return max(abs(self.factor * end) + abs(self.shift) for end in (self.low, self.high))


@dataclass(frozen=True)
class Doubles:
    """y = floor((x - origin) * factor + 0.5), or the same with a division, for doubles x clamped to [low, high]."""

    origin: float
    factor: float
    divides: bool
    low: float
    high: float

    def place(self, x: float) -> int:
        """Return y."""
        moved = x - self.origin
        return floor((moved / self.factor if self.divides else moved * self.factor) + 0.5)


def line(total: Sum) -> GridLine:
    """Return the grid of a sum of whole numbers: floor((x - origin) / step + 1/2) in integers.

    With origin a/b and step p/q it is floor((2 q b x - 2 q a + p b) / (2 p b)).
    """
    a, b = total.origin.numerator, total.origin.denominator
    p, q = total.step.numerator, total.step.denominator
    factor, shift, divisor = 2 * q * b, p * b - 2 * q * a, 2 * p * b
    if factor % divisor == 0:
        factor, shift, divisor = factor // divisor, shift // divisor, 1
    low = floor(total.origin + (total.low - 1) * total.step)
    high = ceil(total.origin + (total.high + 1) * total.step)
    return GridLine(factor, shift, divisor, low, high)


def doubles(total: Sum) -> Doubles:
    """Return the grid of a sum of numbers, by the operation that is exact for decimal and binary steps alike."""
    if max(abs(total.low), abs(total.high)) > _LARGEST:
        raise Unsupported("the grid of this sum is too fine for its bounds; declare a larger step")
    low, high = (float(total.origin + end * total.step) for end in (total.low, total.high))
    inverse = 1 / total.step
    if inverse.denominator == 1 and Fraction(float(inverse)) == inverse:
        return Doubles(float(total.origin), float(inverse), False, low, high)
    return Doubles(float(total.origin), float(total.step), True, low, high)
