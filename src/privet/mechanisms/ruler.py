"""A public grid between two bounds, on which private numbers are placed and from which answers are chosen.

Each number is clamped and placed by itself, by operations that are the same for every number, so one person moves one
place and nothing else. Nothing here draws.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from privet.core.errors import BadParameter, BadValue, quote
from privet.core.exact import positive, rational

from .reading import read_numbers

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Places = NDArray[np.int64]

FINE_STEPS = 2**40
"""How many steps a range is divided into where no step is given."""

_LARGEST_STEPS = 2**42
_BLOCK = 2**14


@dataclass(frozen=True)
class Ruler:
    """The numbers low, low + step, ..., up to high: places 0 to `last`."""

    low: Fraction
    high: Fraction
    step: Fraction

    @property
    def last(self) -> int:
        """The number of the last place."""
        return math.floor((self.high - self.low) / self.step)

    @property
    def whole(self) -> bool:
        """Whether every place is a whole number."""
        return self.low.denominator == self.step.denominator == 1

    def place(self, values: Any, parameter: str = "values") -> Places:
        """Return the place nearest to each of a list of private numbers, after clamping; refuse without quoting."""
        numbers = read_numbers(values, parameter, wide=True)
        if numbers.shape is None or len(numbers.shape) != 1:
            raise BadValue(parameter, "something else", "a list or one-dimensional array of finite numbers")
        array: NDArray[Any] = numbers.values
        if array.dtype == object:
            return np.array([self.nearest(x) for x in array], dtype=np.int64)
        if array.dtype == np.int64 and self.whole and max(abs(self.low), abs(self.high), self.step) < 2**61:
            step = int(self.step)
            places: Places = np.clip(array, int(self.low), math.floor(self.high))
            places -= int(self.low)
            if step > 1:
                places += step // 2
                places //= step
                np.minimum(places, self.last, out=places)
            return places
        # Differences and products are rounded for each number alone, which moves it and no other.
        low, high, rate, last = float(self.low), float(self.high), float(1 / self.step), float(self.last)
        placed = np.empty(array.size, dtype=np.int64)
        for start in range(0, array.size, _BLOCK):  # a block stays in the cache
            scaled = np.clip(array[start : start + _BLOCK].astype(np.float64), low, high)
            scaled -= low
            scaled *= rate
            scaled += 0.5
            np.minimum(scaled, last, out=scaled)
            placed[start : start + _BLOCK] = scaled
        return placed

    def nearest(self, value: int | float | Fraction) -> int:
        """Return the place nearest to one number, exactly: numbers at a distance d lie ceil(d / step) apart at most."""
        return min(max(math.floor((Fraction(value) - self.low) / self.step + Fraction(1, 2)), 0), self.last)

    def at(self, places: list[int]) -> Any:
        """Return the numbers at some places: whole where all are, else floats."""
        exact = [self.low + place * self.step for place in places]
        if not self.whole:
            return np.array([float(x) for x in exact], dtype=np.float64)
        integers = [int(x) for x in exact]
        if max(map(abs, integers), default=0) < 2**63:
            return np.array(integers, dtype=np.int64)
        return np.array(integers, dtype=object)


def read_ruler(low: object, high: object, step: object) -> Ruler:
    """Return the grid between two public bounds; refuse reversed or equal ones."""
    bottom, top = rational(low, "low"), rational(high, "high")
    if bottom >= top:
        raise BadParameter("low", low, f"below high, which is {quote(high)}: public bounds, not taken from the data")
    width = (top - bottom) / FINE_STEPS if step is None else positive(step, "step")
    if width > top - bottom or (top - bottom) / width > _LARGEST_STEPS:
        raise BadParameter("step", step, "at most high - low, and at least a 2**42th of it")
    if not (math.isfinite(_float(bottom)) and math.isfinite(_float(top)) and math.isfinite(_float(1 / width))):
        raise BadParameter("high", high, "a bound of ordinary size: low, high and 1 / step must be floats")
    return Ruler(bottom, top, width)


def _float(number: Fraction) -> float:
    try:
        return float(number)
    except OverflowError:
        return math.inf
