"""Puts private numbers on a grid of integers, and released integers back among numbers.

Noise is only ever added to integers. A real x becomes floor(x / step + 1/2), computed exactly, so that two reals
at distance d lie at most ceil(d / step) steps apart, and no rounding of a float can widen that gap
([Mir12] shows what happens otherwise).
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal, cast

import numpy as np

from privet.core.errors import BadParameter, BadValue, InvariantError, quote
from privet.core.given import choice
from privet.core.numbers import Number, float_down, open_probability, positive, rational, read_rational

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Places = NDArray[np.int64]


# Reads private numbers exactly, whatever they came in, and never quotes one.
#
# Messages state the kind of a value, never the value, and errors of foreign types do not get out. Nothing is
# rounded.


_ALLOWED = "a finite number, or an array of them (integers, floats, Fractions or Decimals; no booleans)"
_KINDS = {"b": "booleans", "c": "complex numbers", "m": "durations", "M": "times", "U": "text", "S": "bytes"}
"""The contents of an array, in words: NumPy's own would reveal the length of a text and the names of fields."""
_MOST_AXES = 32
"""How many axes an array may have: NumPy iterates over no more."""


@dataclass(frozen=True, slots=True)
class Numbers:
    """Private numbers, taken exactly: one, or an array; all whole by type, or real."""

    values: Any  # an int, a float, a Fraction, or an array of int64, float64 or objects (ints and Fractions)
    shape: tuple[int, ...] | None  # None for a single number
    whole: bool

    def __repr__(self) -> str:
        return "Numbers(private)"

    @property
    def size(self) -> int:
        """How many numbers there are."""
        return 1 if self.shape is None else math.prod(self.shape)


def read_numbers(value: object, parameter: str = "value", *, wide: bool = False) -> Numbers:
    """Return private numbers exactly, whatever they came in; refuse without quoting them.

    Lists of whole numbers must fit into 64 bits unless `wide`, which is for numbers that are never returned.
    """
    kind = type(value)
    if kind is int:
        return Numbers(value, None, True)
    if kind is float:
        if not math.isfinite(value):  # type: ignore[arg-type]
            raise BadValue(parameter, "a number that is not finite", _ALLOWED)
        return Numbers(value, None, False)
    if isinstance(value, (list, tuple)) or _says_array(value):
        return _read_array(value, parameter, wide)
    exact = _exact(value, parameter)
    return Numbers(int(exact), None, True) if isinstance(value, int) else Numbers(exact, None, False)


def read_floats(value: object, parameter: str) -> NDArray[np.float64]:
    """Return released or public numbers as doubles, one or an array of them; refuse values that no double can be."""
    import numpy as np

    numbers = read_numbers(value, parameter, wide=True)
    try:
        return np.asarray(numbers.values, dtype=object).astype(np.float64)
    except OverflowError:
        pass
    raise BadValue(parameter, "a number beyond all doubles", _ALLOWED)


def _says_array(value: object) -> bool:
    try:
        return hasattr(value, "shape") or hasattr(value, "__array__")
    except Exception:  # a foreign type may raise any error when its attributes are read
        return False


def _read_array(value: Any, parameter: str, wide: bool) -> Numbers:
    import numpy as np

    if isinstance(value, np.generic):  # a NumPy scalar
        exact = _exact(value, parameter)
        if isinstance(value, np.integer):
            return Numbers(int(exact), None, True)
        return Numbers(exact, None, False)
    if isinstance(value, np.ma.MaskedArray):  # as a plain array it would show what the mask hides
        raise BadValue(parameter, "a masked array", _ALLOWED)
    listed = isinstance(value, (list, tuple))
    array = _from_sequence(value, parameter, wide) if listed else _from_foreign(value, parameter)
    if array.dtype.kind in "iu":
        if array.dtype == np.uint64:
            return Numbers(objects_of((int(x) for x in array.flat), array.shape), array.shape, True)
        return Numbers(array.astype(np.int64), array.shape, True)
    if array.dtype.kind == "f" and array.dtype.itemsize <= 8:
        array = array.astype(np.float64)
        if not np.isfinite(array).all():
            raise BadValue(parameter, "an array with numbers that are not finite", _ALLOWED)
        return Numbers(array, array.shape, False)
    if array.dtype.kind not in "fO":
        raise BadValue(parameter, f"an array of {_KINDS.get(array.dtype.kind, 'something else')}", _ALLOWED)
    if set(map(type, array.flat)) == {int}:
        return Numbers(array.copy(), array.shape, True)
    exacts = [_exact(x, parameter) for x in array.flat]
    whole = all(isinstance(x, (int, np.integer)) for x in array.flat)
    items: Iterable[int | Fraction] = map(int, exacts) if whole else exacts
    return Numbers(objects_of(items, array.shape), array.shape, whole)


def _from_foreign(value: Any, parameter: str) -> NDArray[Any]:
    """Return an array-like value (a series, a tensor) as an array, or refuse without quoting its own error."""
    import numpy as np

    try:
        array = np.asarray(value)
    except Exception:  # the methods of a foreign type may raise any error
        array = None
    if array is None:
        raise BadValue(parameter, f"a {type(value).__name__} that is no array", _ALLOWED)
    return array


def _from_sequence(value: Any, parameter: str, wide: bool) -> NDArray[Any]:
    """Return a list as an array without letting NumPy turn booleans into numbers or big integers into floats.

    Whole numbers make an int64 array, and are refused if they do not fit: a type that depended on their size
    would reveal it.
    """
    import numpy as np

    try:
        array = np.array(value, dtype=object)
    except Exception:  # ragged lists, and whatever a foreign type raises
        array = None
    if array is None or array.ndim > _MOST_AXES:
        raise BadValue(parameter, "a list that is no array", _ALLOWED)
    kinds = {type(x) for x in array.flat}
    if kinds and all(kind is not bool and issubclass(kind, (int, np.integer)) for kind in kinds):
        exact = [x if type(x) is int else int(_exact(x, parameter)) for x in array.flat]
        if -(2**63) <= min(exact) <= max(exact) < 2**63:
            return np.array(exact, dtype=np.int64).reshape(array.shape)
        if not wide:
            raise BadValue(parameter, "a list of integers beyond 64 bits", "an array of dtype object for such integers")
        return objects_of(exact, array.shape)
    if kinds and kinds <= {int, float} and all(abs(x) <= 2**53 or type(x) is float for x in array.flat):
        return array.astype(np.float64)
    return array


def _exact(value: object, parameter: str) -> Fraction:
    if isinstance(value, (int, Fraction)) and not isinstance(value, bool):
        return Fraction(value)  # of any size: exact arithmetic has no limits, and a refusal would reveal it
    exact = read_rational(value)
    if exact is None:
        raise BadValue(parameter, f"a {type(value).__name__} that is not one", _ALLOWED)
    return exact


def repeated(numbers: Numbers, times: int) -> Numbers:
    """Return the same numbers this many times, along a separate first axis."""
    import numpy as np

    if numbers.shape is None:
        single: NDArray[Any] = read_numbers([numbers.values], wide=True).values
        values = np.repeat(single, times)
    else:
        values = np.repeat(numbers.values[np.newaxis], times, axis=0)
    return Numbers(values, values.shape, numbers.whole)


def objects_of(items: Iterable[Any], shape: tuple[int, ...]) -> NDArray[np.object_]:
    """Return Python objects as an array of that shape, each taken as one object."""
    import numpy as np

    flat = np.empty(math.prod(shape), dtype=object)
    flat[:] = list(items)
    return flat.reshape(shape)


Grid = Literal["whole", "fine"]
"""Where noise is drawn: on the whole numbers, or on a power-of-two grid far below the noise."""

_INT64_ROOM = 2**61
_LEAST_TAIL = Fraction(1, 10**300)
_LARGEST = math.nextafter(math.inf, 0.0)
_INT64_REALS = 2.0**62


def to_grid(numbers: Numbers, exponent: int) -> Any:
    """Return floor(x * 2**exponent + 1/2) for each number: a Python int, or an array of int64 or Python ints."""
    values = numbers.values
    if numbers.shape is None:
        return _one_to_grid(values, exponent)
    import numpy as np

    if values.dtype == np.int64 and 0 <= exponent < 61:
        room = _INT64_ROOM >> exponent
        if ((values < room) & (values > -room)).all():
            return np.left_shift(values, exponent)
    if values.dtype == np.float64:
        with np.errstate(over="ignore", under="ignore"):
            scaled = np.ldexp(values, exponent)
        if np.isfinite(scaled).all():
            # Exact, as in `_round`: the fractional part is a double, and a double above 2**53 is an integer.
            floor = np.floor(scaled)
            rounded = floor + (scaled - floor >= 0.5)
            if (np.abs(scaled) < _INT64_REALS).all():
                return rounded.astype(np.int64)
            return objects_of(map(int, rounded.ravel().tolist()), values.shape)
    if numbers.whole and exponent == 0:
        return values
    return objects_of((_one_to_grid(x, exponent) for x in values.ravel().tolist()), values.shape)


def add(integers: Any, noise: Any) -> Any:
    """Return the sum of two integers or integer arrays, in Python integers where int64 could overflow."""
    if isinstance(integers, int):
        return integers + noise
    import numpy as np

    if integers.dtype == np.int64 and noise.dtype == np.int64 and _small(integers) and _small(noise):
        return integers + noise
    pairs = zip(integers.ravel().tolist(), noise.ravel().tolist(), strict=True)
    return objects_of((x + e for x, e in pairs), noise.shape)


def from_grid(steps: Any, exponent: int, *, like: Numbers) -> Any:
    """Return released integers times 2**-exponent in the kind of the numbers that came in.

    Reals become floats and whole numbers are rounded half up; those that came as int64 leave as int64. Both are
    clamped to the limits of their type. The result is a function of the integers and of public facts alone, and so is
    its type: which of the paths below computes it depends on private sizes, so they agree to the last bit.
    """
    if like.shape is None:
        return _whole(steps, exponent) if like.whole else _float(steps, exponent)
    import numpy as np

    if not like.whole:
        if steps.dtype == np.int64 and abs(exponent) < 900:  # no second rounding among the subnormals, no overflow
            return np.ldexp(steps.astype(np.float64), -exponent)
        floats = [_float(x, exponent) for x in steps.ravel().tolist()]
        return np.array(floats, dtype=np.float64).reshape(like.shape)
    held = like.values.dtype == np.int64
    if held and steps.dtype == np.int64 and 0 <= exponent < 62:
        return (steps >> exponent) + ((steps >> (exponent - 1)) & 1) if exponent else steps
    exact = steps.ravel().tolist() if exponent == 0 else [_whole(x, exponent) for x in steps.ravel().tolist()]
    if held:
        return np.array([min(max(x, -(2**63)), 2**63 - 1) for x in exact], dtype=np.int64).reshape(like.shape)
    return objects_of(exact, like.shape)


def around(released: Numbers, half: float | int) -> tuple[Any, Any]:
    """Return low and high at a distance from released numbers, rounded outwards.

    A released float was itself rounded from the grid, by half a unit in its last place at most. Bounds of int64
    numbers are clamped to its limits, beyond which no such number lies.
    """
    center = released.values
    if released.shape is None:
        if released.whole and isinstance(half, int):
            return center - half, center + half
        middle = _float_of(center)
        spread = half + math.ulp(middle)
        return math.nextafter(middle - spread, -math.inf), math.nextafter(middle + spread, math.inf)
    import numpy as np

    if released.whole and isinstance(half, int):
        ends = [objects_of((int(x) + w for x in center.flat), released.shape) for w in (-half, half)]
        if center.dtype == np.int64:
            ends = [np.clip(end, -(2**63), 2**63 - 1).astype(np.int64) for end in ends]
        return ends[0], ends[1]
    middles = center if center.dtype == np.float64 else np.array([_float_of(x) for x in center.flat])
    middles = middles.reshape(released.shape)
    with np.errstate(over="ignore"):
        spreads = half + np.spacing(np.minimum(np.abs(middles), 2.0**1023))  # beyond, NumPy returns infinity
        return np.nextafter(middles - spreads, -np.inf), np.nextafter(middles + spreads, np.inf)


def read_grid(grid: str | None, sensitivity: Fraction) -> Grid:
    """Return the grid that was named; the whole one by default where the sensitivity is whole."""
    is_whole = sensitivity.denominator == 1
    if grid is None:
        return "whole" if is_whole else "fine"
    named = cast(Grid, choice(grid, "grid", ("whole", "fine")))
    if named == "whole" and not is_whole:
        raise BadParameter("grid", grid, "'fine', because the sensitivity is not a whole number")
    return named


def tail_of(confidence: Number) -> float:
    """Return 1 - confidence, rounded down so that a half-width computed from it is no smaller."""
    tail = 1 - open_probability(confidence, "confidence")
    if tail < _LEAST_TAIL:
        raise BadParameter("confidence", confidence, "below 1 - 1e-300")
    return float_down(tail)


def exponent_below(bound: Fraction) -> int:
    """Return the least e with 2**-e <= bound: the coarsest power-of-two step within a positive bound."""
    if bound <= 0:
        raise InvariantError("a grid needs a positive bound on its step")
    guess = bound.denominator.bit_length() - bound.numerator.bit_length() - 1
    while _power(-guess) > bound:
        guess += 1
    return guess


def step_of(exponent: int) -> Fraction:
    """Return 2**-exponent."""
    return _power(-exponent)


def _power(exponent: int) -> Fraction:
    return Fraction(2**exponent) if exponent >= 0 else Fraction(1, 2**-exponent)


def _one_to_grid(x: int | float | Fraction, exponent: int) -> int:
    if isinstance(x, int) and exponent >= 0:
        return x << exponent
    if type(x) is float and exponent < 900 and abs(x) < 1e30:
        return _round(math.ldexp(x, exponent))
    return math.floor(Fraction(x) * _power(exponent) + Fraction(1, 2))


def _round(scaled: float) -> int:
    """Return floor(x 2**exponent + 1/2), exactly, from that product as a double.

    The fractional part x - floor(x) is a multiple of the last place of x and below 1, hence a double, unless x lies in
    (-1/2, 0); there it rounds to a value of at least 1/2, on the right side. A product that became subnormal and
    lost digits is far from 1/2 as well.
    """
    floor = math.floor(scaled)
    return floor + (scaled - floor >= 0.5)


def _small(integers: NDArray[np.int64]) -> bool:
    return bool(((integers < 2 * _INT64_ROOM) & (integers > -2 * _INT64_ROOM)).all())


def _whole(steps: int, exponent: int) -> int:
    if exponent <= 0:
        return steps << -exponent
    return (steps + (1 << (exponent - 1))) >> exponent


def _float(steps: int, exponent: int) -> float:
    try:
        return steps / (1 << exponent) if exponent >= 0 else float(steps << -exponent)
    except OverflowError:
        return _LARGEST if steps > 0 else -_LARGEST


def _float_of(number: int | float | Fraction) -> float:
    try:
        return float(number)
    except OverflowError:
        return _LARGEST if number > 0 else -_LARGEST


# A public grid between two bounds, on which private numbers are placed and from which answers are chosen.
#
# Each number is clamped and placed separately, by operations that are the same for every number, so one person moves
# one place and nothing else. Nothing here draws.


FINE_STEPS = 2**40
"""How many steps a range is divided into without an explicit step."""

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


def read_ruler(low: Number, high: Number, step: Number | None) -> Ruler:
    """Return the grid between two public bounds; refuse reversed or equal ones."""
    bottom, top = rational(low, "low"), rational(high, "high")
    if bottom >= top:
        raise BadParameter("low", low, f"below high, which is {quote(high)}: public bounds, not taken from the data")
    width = (top - bottom) / FINE_STEPS if step is None else positive(step, "step")
    if width > top - bottom or (top - bottom) / width > _LARGEST_STEPS:
        raise BadParameter("step", step, "at most high - low, and at least a 2**42th of it")
    if not (
        math.isfinite(_ruler_float(bottom))
        and math.isfinite(_ruler_float(top))
        and math.isfinite(_ruler_float(1 / width))
    ):
        raise BadParameter("high", high, "a bound of ordinary size: low, high and 1 / step must be floats")
    return Ruler(bottom, top, width)


def _ruler_float(number: Fraction) -> float:
    try:
        return float(number)
    except OverflowError:
        return math.inf
