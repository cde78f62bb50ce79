"""Reads private numbers exactly, whatever they came in, and never quotes one.

Messages say what kind of value came, never which value, and errors of foreign types do not get out. Nothing is rounded.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from privet.core.errors import BadValue
from privet.core.numbers import read_rational

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_ALLOWED = "a finite number, or an array of them (integers, floats, Fractions or Decimals; no booleans)"
_KINDS = {"b": "booleans", "c": "complex numbers", "m": "durations", "M": "times", "U": "text", "S": "bytes"}
"""What an array holds, in words: NumPy's own would tell the length of a text and the names of fields."""
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
    """Return released or public numbers as doubles, one or an array of them; refuse what no double can be."""
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
    except Exception:  # a foreign type may raise anything when it is asked what it has
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
    """Return what says that it is an array (a series, a tensor) as one, or refuse without quoting its own error."""
    import numpy as np

    try:
        array = np.asarray(value)
    except Exception:  # the methods of a foreign type may raise anything
        array = None
    if array is None:
        raise BadValue(parameter, f"a {type(value).__name__} that is no array", _ALLOWED)
    return array


def _from_sequence(value: Any, parameter: str, wide: bool) -> NDArray[Any]:
    """Return a list as an array without letting NumPy turn booleans into numbers or big integers into floats.

    Whole numbers make an int64 array, and are refused if they do not fit: a type that depended on their size
    would tell it.
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
        return Fraction(value)  # of any size: exact arithmetic has no limits, and a refusal would tell it
    exact = read_rational(value)
    if exact is None:
        raise BadValue(parameter, f"a {type(value).__name__} that is not one", _ALLOWED)
    return exact


def repeated(numbers: Numbers, times: int) -> Numbers:
    """Return the same numbers this many times, along a first axis of their own."""
    import numpy as np

    if numbers.shape is None:
        one: NDArray[Any] = read_numbers([numbers.values], wide=True).values
        values = np.repeat(one, times)
    else:
        values = np.repeat(numbers.values[np.newaxis], times, axis=0)
    return Numbers(values, values.shape, numbers.whole)


def objects_of(items: Iterable[Any], shape: tuple[int, ...]) -> NDArray[np.object_]:
    """Return Python objects as an array of that shape, each taken as one object."""
    import numpy as np

    flat = np.empty(math.prod(shape), dtype=object)
    flat[:] = list(items)
    return flat.reshape(shape)
