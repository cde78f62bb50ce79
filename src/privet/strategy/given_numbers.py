"""Numbers as callers give them, one for each cell or measurement; counts are private, so no refusal quotes one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from privet.core.errors import BadParameter, BadValue, RequestError, raise_alone
from privet.core.given import called, function, listed, unwrapped
from privet.core.numbers import read_rational

MOST_ITERATIONS = 10**6
"""The most steps and starts of an optimisation."""

_DEEPEST = 32
_LARGEST = 2**63


def read_numbers(
    values: object, parameter: str, many: int, each: str = "cells", *, positive: bool = False
) -> NDArray[np.float64]:
    """Return finite numbers as doubles, in one row; a table is read row by row."""
    kind = "finite numbers above 0" if positive else "finite numbers"
    allowed = f"{kind}, one for each of {many:,} {each}"
    if type(values) is np.ndarray and values.dtype.kind in "fiu":
        array = np.array(values, dtype=np.float64).ravel()
    else:
        array = np.array(_flat(values, parameter, allowed, many), dtype=np.float64)
    if array.size != many:
        raise BadValue(parameter, f"{array.size:,}", allowed)
    if not np.isfinite(array).all() or (positive and not (array > 0).all()):
        raise BadValue(parameter, "others", allowed)
    return array


def _flat(values: object, parameter: str, allowed: str, most: int, depth: int = 0) -> list[float]:
    numbers: list[float] = []
    for item in _items(values, parameter, allowed, most):
        if type(item) is int or type(item) is float:
            number = _double(item)
        elif depth < _DEEPEST and isinstance(item, (list, tuple)):
            numbers += _flat(item, parameter, allowed, most, depth + 1)
            continue
        else:
            number = _double(read_rational(item))
        if number is None:
            raise BadValue(parameter, f"a {type(item).__name__}", allowed)
        numbers.append(number)
    return numbers


def _double(value: Any) -> float | None:
    try:
        return None if value is None else float(value)
    except OverflowError:
        return None


def _items(values: object, parameter: str, allowed: str, most: int) -> list[Any]:
    held = unwrapped(values)
    try:
        return listed(held, parameter, most=most)
    except BadParameter:
        pass
    if isinstance(held, (list, tuple)):
        raise BadValue(parameter, f"{len(held):,}", allowed)
    raise BadValue(parameter, f"a {type(values).__name__}", allowed)


def read_integers(
    values: object, parameter: str = "counts", many: int | None = None, each: str = "cells", *, least: int | None = None
) -> list[int]:
    """Return integers of any size, exactly."""
    kind = "whole numbers" if least is None else f"whole numbers of at least {least}"
    allowed = kind if many is None else f"{kind}, one for each of {many:,} {each}"
    array = values.ravel() if type(values) is np.ndarray else values
    integers = _items(array, parameter, allowed, _LARGEST_LIST if many is None else many)
    if set(map(type, integers)) - {int}:
        for place, integer in enumerate(integers):
            if isinstance(integer, (bool, np.bool_)) or not isinstance(integer, (int, np.integer)):
                raise BadValue(parameter, f"a {type(integer).__name__}", allowed)
            integers[place] = int(integer)
    if many is not None and len(integers) != many:
        raise BadValue(parameter, f"{len(integers):,}", allowed)
    if least is not None and min(integers, default=least) < least:
        raise BadValue(parameter, "others", allowed)
    return integers


_LARGEST_LIST = 10**7


def read_places(values: object, parameter: str) -> NDArray[np.int64]:
    """Return places of cells as an array of their own."""
    if type(values) is np.ndarray and values.dtype.kind == "i" and values.ndim == 1:
        return np.array(values, dtype=np.int64)
    integers = read_integers(values, parameter)
    if any(not -_LARGEST <= place < _LARGEST for place in integers):
        raise BadParameter(parameter, "an integer beyond 64 bits", "places of cells")
    return np.array(integers, dtype=np.int64)


def read_integer_matrix(matrix: Any) -> Any:
    """Return an integer matrix, dense or sparse, of 64 bits; one that is that already is returned unchanged."""
    if sparse.issparse(matrix):
        held: Any = sparse.csr_array(cast(Any, matrix))
        _check_places(held)
    elif type(matrix) is np.ndarray and matrix.dtype != object:
        held = matrix
    else:
        rows = [_items(row, "matrix", _MATRIX, _LARGEST_LIST) for row in _items(matrix, "matrix", _MATRIX, 10**7)]
        if len({len(row) for row in rows}) > 1:
            raise RequestError("the rows of a matrix have equally many numbers")
        integers = [_entry(entry) for row in rows for entry in row]
        held = np.array(integers, dtype=np.int64).reshape(len(rows), len(rows[0]) if rows else 0)
    if held.dtype.kind not in "iu":
        raise RequestError(_REAL)
    if held.ndim != 2 or not held.shape[0] or not held.shape[1]:
        raise RequestError("a matrix of measurements needs at least one row and at least one cell")
    # -2**63 has no absolute value in 64 bits: norms of columns with it would come out far too small
    if int(held.max()) >= _LARGEST or int(held.min()) <= -_LARGEST:
        raise RequestError(_TOO_LARGE)
    return held if held.dtype == np.int64 else held.astype(np.int64)


_MATRIX = "rows of equally many whole numbers"
_TOO_LARGE = "the entries of a matrix of measurements are whole numbers between -2**63 and 2**63, and neither of these"
_REAL = (
    "the rows of a matrix of measurements are whole numbers; multiply real ones by a power of two, round them, and "
    "divide the weight of the row by the same power"
)


def _check_places(matrix: Any) -> None:
    """Refuse a sparse matrix whose entries lie outside of it: products with it would read any memory."""
    try:
        matrix.check_format(full_check=True)
    except ValueError:
        raise_alone(RequestError("the entries of a sparse matrix lie in its rows and columns"))


def _entry(value: object) -> int:
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, np.integer)):
        raise RequestError(_REAL)
    if abs(int(value)) >= _LARGEST:
        raise RequestError(_TOO_LARGE)
    return int(value)


def read_progress(progress: Callable[[str], None] | None) -> Callable[[str], None]:
    """Return the function that reports progress to a caller; one that raises is refused by its name."""
    if progress is None:
        return lambda line: None
    given = function(progress, "progress", "a function that takes a line of text")

    def told(line: str) -> None:
        called(given, "progress", line)

    return told
