"""Products of integer matrices and integers of any size, without rounding and without overflow."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from privet.core.errors import RequestError

from .given_numbers import read_integer_matrix, read_integers

IntegerMatrix = Any
"""A NumPy array or a SciPy sparse array of int64."""

_ROOM = 62
"""Bits of an int64 that sums may fill."""

LARGEST_SQUARED = 1 << 31
"""Entries below this have squares of 64 bits."""

TOO_LARGE = (
    "the entries of this matrix are too large for exact sums in 64 bits: those of a row must sum to less than 2**61, "
    "and so must those of a column, or their squares for Gaussian noise; divide the matrix by a power of two and round"
)


def exact_product(matrix: IntegerMatrix, vector: Iterable[int]) -> list[int]:
    """Return an integer matrix times a vector of integers of any size, exactly.

    The integers are split into limbs so short that no dot product of a row with limbs leaves 63 bits: a row whose
    entries have absolute values that sum to less than 2**r takes limbs of 62 - r bits.

    Example:
        >>> import numpy
        >>> strategy.exact_product(numpy.array([[1, 1]]), [2**60 + 1, 2**70])
        [1181744542222018150401]

    Guarantee: equal to the product in unbounded integers; doubles, which drop the last digits of counts beyond 2**53,
    and int64, which wraps around, are never relied on.
    """
    matrix = read_integer_matrix(matrix)
    rows, columns = matrix.shape
    integers = read_integers(vector, "vector", columns, "columns of the matrix")
    bits = _ROOM - largest_row_sum(matrix).bit_length()
    if bits < 1:
        raise RequestError(TOO_LARGE)
    longest = max((abs(integer).bit_length() for integer in integers), default=0)
    if longest <= bits:
        return [int(entry) for entry in matrix @ np.array(integers, dtype=np.int64)]
    total: NDArray[Any] = np.zeros(rows, dtype=object)
    mask = (1 << bits) - 1
    for shift in range(0, longest, bits):
        limbs = [((abs(integer) >> shift) & mask) * (1 if integer >= 0 else -1) for integer in integers]
        part: NDArray[Any] = (matrix @ np.array(limbs, dtype=np.int64)).astype(object)
        total = total + part * (1 << shift)
    return [int(entry) for entry in total]


def exact_columns(matrix: IntegerMatrix, table: NDArray[Any]) -> NDArray[Any]:
    """Return an integer matrix times a table of integers of any size, exactly, as `exact_product` does for a vector."""
    room = _ROOM - largest_row_sum(matrix).bit_length()
    if room < 1:
        raise RequestError(TOO_LARGE)
    longest = max((abs(int(entry)).bit_length() for entry in table.ravel().tolist()), default=0)
    if longest <= room:
        return np.asarray(matrix @ table.astype(np.int64))
    signs = np.where(table < 0, -1, 1)
    sizes: NDArray[Any] = np.abs(table.astype(object))
    total: NDArray[Any] = np.zeros((matrix.shape[0], table.shape[1]), dtype=object)
    mask = (1 << room) - 1
    for shift in range(0, longest, room):
        limbs = ((sizes >> shift) & mask).astype(np.int64) * signs
        total = total + np.asarray(matrix @ limbs).astype(object) * (1 << shift)
    return total


def check_sums(matrix: IntegerMatrix, power: int) -> None:
    """Refuse a matrix whose products with limbs of integers, or whose norms of columns, could leave 64 bits."""
    rows, columns = matrix.shape
    largest = int(abs(matrix).max())
    if largest**power * max(rows, columns) < 1 << (_ROOM - 1):
        return
    sums = (largest_row_sum(matrix), largest_row_sum(powered(matrix, power).T))
    if max(sums).bit_length() >= _ROOM:
        raise RequestError(TOO_LARGE)


def largest_row_sum(matrix: IntegerMatrix) -> int:
    """Return the largest sum of absolute values in a row, or more where the entries are so large that it could wrap."""
    size = abs(matrix)
    if not matrix.shape[0] or not matrix.shape[1]:
        return 0
    largest = int(size.max())
    if largest * matrix.shape[1] >= 1 << _ROOM:
        return largest * int(matrix.shape[1])
    return int(size.sum(axis=1).max())


def powered(matrix: Any, power: int) -> Any:
    """Return the absolute values of the entries, or their squares."""
    if power == 1:
        return abs(matrix)
    if int(abs(matrix).max()) >= LARGEST_SQUARED:
        raise RequestError(TOO_LARGE)
    return matrix.multiply(matrix).tocsr() if is_sparse(matrix) else matrix * matrix


def is_sparse(matrix: Any) -> bool:
    """Return whether a matrix is sparse."""
    return bool(sparse.issparse(matrix))


def plain_array(matrix: Any) -> Any:
    """Return a matrix as a NumPy array, sparse or not."""
    return matrix.toarray() if is_sparse(matrix) else matrix
