"""Puts private numbers on a grid of integers, and released integers back among numbers.

Noise is only ever added to integers. A real x becomes floor(x / step + 1/2), computed exactly, so that two reals
at distance d lie at most ceil(d / step) steps apart, and no rounding of a float can widen that gap
([Mir12] shows what happens otherwise). Messages here say what kind of value came, never which value.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal, cast

from privet.core.errors import BadParameter, BadValue, InvariantError
from privet.core.exact import open_probability, read_rational
from privet.core.rounding import float_down

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Integers = NDArray[np.int64] | NDArray[np.object_]

Grid = Literal["whole", "fine"]
"""Where noise is drawn: on the whole numbers, or on a power-of-two grid far below the noise."""

_ALLOWED = "a finite number, or an array of them (integers, floats, Fractions or Decimals; no booleans)"
_INT64_ROOM = 2**61
_LEAST_TAIL = Fraction(1, 10**300)
_LARGEST = math.nextafter(math.inf, 0.0)
_EXACT_FLOOR = 2.0**51
"""Below this, scaling a double by a power of two and comparing its fractional part with 1/2 is exact.

The fractional part x - floor(x) is a multiple of the last place of x and below 1, hence a double, unless x lies in
(-1/2, 0); there it rounds to a value of at least 1/2, on the right side. A scaled value that becomes subnormal
and loses digits is far from 1/2 as well.
"""


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


def read_numbers(value: object, parameter: str = "value") -> Numbers:
    """Return private numbers exactly, whatever they came in; refuse without quoting them."""
    kind = type(value)
    if kind is int:
        return Numbers(value, None, True)
    if kind is float:
        if not math.isfinite(value):  # type: ignore[arg-type]
            raise BadValue(parameter, "a number that is not finite", _ALLOWED)
        return Numbers(value, None, False)
    if hasattr(value, "shape") or isinstance(value, (list, tuple)) or hasattr(value, "__array__"):
        return _read_array(value, parameter)
    exact = _exact(value, parameter)
    return Numbers(int(exact), None, True) if isinstance(value, int) else Numbers(exact, None, False)


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
        if (np.abs(scaled) < _EXACT_FLOOR).all():
            floor = np.floor(scaled)
            return (floor + (scaled - floor >= 0.5)).astype(np.int64)
    return _objects([_one_to_grid(x, exponent) for x in values.ravel().tolist()], values.shape)


def add(integers: Any, noise: Any) -> Any:
    """Return the sum of two integers or integer arrays, in Python integers where int64 could overflow."""
    if isinstance(integers, int):
        return integers + noise
    import numpy as np

    if integers.dtype == np.int64 and noise.dtype == np.int64 and _small(integers) and _small(noise):
        return integers + noise
    return _objects([int(x) + int(e) for x, e in zip(integers.flat, noise.flat, strict=True)], noise.shape)


def from_grid(steps: Any, exponent: int, *, like: Numbers) -> Any:
    """Return released integers times 2**-exponent in the kind of the numbers that came in.

    Reals become floats and whole numbers are rounded half up; those that came as int64 leave as int64. Both are
    held at the limits of their type. The result is a function of the integers and of public facts alone, and so is
    its type: which of the paths below computes it depends on private sizes, so they agree to the last bit.
    """
    if like.shape is None:
        return _whole(steps, exponent) if like.whole else _float(steps, exponent)
    import numpy as np

    if not like.whole:
        if steps.dtype == np.int64 and abs(exponent) < 900:  # no second rounding among the subnormals, no overflow
            return np.ldexp(steps.astype(np.float64), -exponent)
        return np.array([_float(int(x), exponent) for x in steps.flat], dtype=np.float64).reshape(like.shape)
    held = like.values.dtype == np.int64
    if held and steps.dtype == np.int64 and 0 <= exponent < 62:
        return (steps >> exponent) + ((steps >> (exponent - 1)) & 1) if exponent else steps
    exact = (_whole(int(x), exponent) for x in steps.flat)
    if held:
        return np.array([min(max(x, -(2**63)), 2**63 - 1) for x in exact], dtype=np.int64).reshape(like.shape)
    return _objects(exact, like.shape)


def around(released: Numbers, half: float | int) -> tuple[Any, Any]:
    """Return low and high at a distance from released numbers, rounded outwards.

    A released float was itself rounded from the grid, by half a unit in its last place at most. Bounds of int64
    numbers are held at its limits, beyond which no such number lies.
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
        ends = [_objects((int(x) + w for x in center.flat), released.shape) for w in (-half, half)]
        if center.dtype == np.int64:
            ends = [np.clip(end, -(2**63), 2**63 - 1).astype(np.int64) for end in ends]
        return ends[0], ends[1]
    middles = center if center.dtype == np.float64 else np.array([_float_of(x) for x in center.flat])
    middles = middles.reshape(released.shape)
    with np.errstate(over="ignore"):
        spreads = half + np.spacing(np.minimum(np.abs(middles), 2.0**1023))  # beyond, NumPy says infinity
        return np.nextafter(middles - spreads, -np.inf), np.nextafter(middles + spreads, np.inf)


def read_grid(grid: object, sensitivity: Fraction) -> Grid:
    """Return the grid that was named; the whole one by default where the sensitivity is whole."""
    is_whole = sensitivity.denominator == 1
    if grid is None:
        return "whole" if is_whole else "fine"
    if grid == "whole" and not is_whole:
        raise BadParameter("grid", grid, "'fine', because the sensitivity is not a whole number")
    if not isinstance(grid, str) or grid not in ("whole", "fine"):
        raise BadParameter("grid", grid, "'whole' or 'fine'")
    return cast(Grid, grid)


def tail_of(confidence: object) -> float:
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
        scaled = math.ldexp(x, exponent)
        if abs(scaled) < _EXACT_FLOOR:
            floor = math.floor(scaled)
            return floor + (scaled - floor >= 0.5)
    return math.floor(Fraction(x) * _power(exponent) + Fraction(1, 2))


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


def _read_array(value: Any, parameter: str) -> Numbers:
    import numpy as np

    if isinstance(value, np.generic):  # a NumPy scalar
        exact = _exact(value, parameter)
        if isinstance(value, np.integer):
            return Numbers(int(exact), None, True)
        return Numbers(exact, None, False)
    if isinstance(value, np.ma.MaskedArray):  # as a plain array it would show what the mask hides
        raise BadValue(parameter, "a masked array", _ALLOWED)
    array = _from_sequence(value, parameter) if isinstance(value, (list, tuple)) else _from_foreign(value, parameter)
    if array.dtype.kind in "iu":
        if array.dtype == np.uint64:
            return Numbers(_objects((int(x) for x in array.flat), array.shape), array.shape, True)
        return Numbers(array.astype(np.int64), array.shape, True)
    if array.dtype.kind == "f" and array.dtype.itemsize <= 8:
        array = array.astype(np.float64)
        if not np.isfinite(array).all():
            raise BadValue(parameter, "an array with numbers that are not finite", _ALLOWED)
        return Numbers(array, array.shape, False)
    if array.dtype.kind not in "fO":
        raise BadValue(parameter, f"an array of {array.dtype}", _ALLOWED)
    exacts = [_exact(x, parameter) for x in array.flat]
    whole = all(isinstance(x, (int, np.integer)) for x in array.flat)
    items: Iterable[int | Fraction] = map(int, exacts) if whole else exacts
    return Numbers(_objects(items, array.shape), array.shape, whole)


def _from_foreign(value: Any, parameter: str) -> NDArray[Any]:
    """Return what says that it is an array (a series, a tensor) as one, or refuse without quoting its own error."""
    import numpy as np

    try:
        array = np.asarray(value)
    except Exception:  # the methods of a foreign type may raise anything
        array = None
    if array is None:
        raise BadValue(parameter, f"a {type(value).__name__} that is no array", _ALLOWED)
    return array


def _from_sequence(value: Any, parameter: str) -> NDArray[Any]:
    """Return a list as an array without letting NumPy turn booleans into numbers or big integers into floats.

    Whole numbers make an int64 array, and are refused if they do not fit: a type that depended on their size
    would tell it.
    """
    import numpy as np

    try:
        array = np.array(value, dtype=object)
    except Exception:  # ragged lists, and whatever a foreign type raises
        array = None
    if array is None:
        raise BadValue(parameter, "a list that is no array", _ALLOWED)
    kinds = {type(x) for x in array.flat}
    if kinds and all(kind is not bool and issubclass(kind, (int, np.integer)) for kind in kinds):
        exact = [x if type(x) is int else int(_exact(x, parameter)) for x in array.flat]
        if not -(2**63) <= min(exact) <= max(exact) < 2**63:
            raise BadValue(parameter, "a list of integers beyond 64 bits", "an array of dtype object for such integers")
        return np.array(exact, dtype=np.int64).reshape(array.shape)
    if kinds and kinds <= {int, float} and all(abs(x) <= 2**53 or type(x) is float for x in array.flat):
        return array.astype(np.float64)
    return array


def _exact(value: object, parameter: str) -> Fraction:
    if isinstance(value, (int, Fraction)) and not isinstance(value, bool):
        return Fraction(value)  # of any size: exact arithmetic has no limits, and a refusal would tell it
    exact = read_rational(value)
    if exact is None:
        raise BadValue(parameter, f"a {type(value).__name__} that is not one", _ALLOWED)
    return exact


def _objects(items: Iterable[Any], shape: tuple[int, ...]) -> NDArray[np.object_]:
    import numpy as np

    flat = np.empty(math.prod(shape), dtype=object)
    flat[:] = list(items)
    return flat.reshape(shape)
