"""Small finite fields, and exact counts of dot products over them: for decoding hashing and projective responses.

Elements are the integers 0, ..., size - 1; an element of a field of p^r elements is the polynomial whose
coefficients are its digits in base p. Vectors of `length` elements are numbered by their digits in base `size`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import product

import numpy as np
from numpy.typing import NDArray

from privet.core.errors import InvariantError

Integers = NDArray[np.int64]


def prime_power(size: int) -> tuple[int, int] | None:
    """Return p and r where size = p^r for a prime p, and None where there are none."""
    if size < 2:
        return None
    prime = next((p for p in range(2, math.isqrt(size) + 1) if size % p == 0), size)
    power = 1
    while prime**power < size:
        power += 1
    return (prime, power) if prime**power == size else None


@dataclass(frozen=True)
class Field:
    """The field with this many elements, a power of a prime."""

    size: int

    @cached_property
    def sums(self) -> Integers:
        """The table of a + b."""
        digits = self._digits
        return self._number((digits[:, None, :] + digits[None, :, :]) % self._prime)

    @cached_property
    def products(self) -> Integers:
        """The table of a * b: the product of the polynomials, modulo one that has no factors."""
        p, degree = self._prime, self._digits.shape[1]
        if degree == 1:
            elements = np.arange(p)
            return np.outer(elements, elements) % p
        return _products(p, degree)

    @cached_property
    def negatives(self) -> Integers:
        """The table of -a."""
        return self._number(-self._digits % self._prime)

    @cached_property
    def inverses(self) -> Integers:
        """The table of 1 / a; zero for zero."""
        table: Integers = np.argmax(self.products == 1, axis=1)
        return table

    def digits(self, numbers: Integers, length: int) -> Integers:
        """Return the vectors with these numbers, one in each row."""
        vectors = np.empty((length, *numbers.shape), dtype=np.int64)  # so that a place lies in one piece of memory
        bits = self.size.bit_length() - 1
        left = numbers
        for place in range(length):
            if self.size == 1 << bits:  # much faster than a division
                vectors[place] = left & self.size - 1
                left = left >> bits
            else:
                rest = left // self.size
                vectors[place] = left - rest * self.size
                left = rest
        return np.moveaxis(vectors, 0, -1)

    def numbers(self, vectors: Integers) -> Integers:
        """Return the numbers of vectors, one in each row."""
        return vectors @ self._weights(vectors.shape[-1])

    def dot(self, left: Integers, right: Integers) -> Integers:
        """Return the dot products of vectors, row by row."""
        total = np.zeros(np.broadcast_shapes(left.shape, right.shape)[:-1], dtype=np.int64)
        sums, products = self.sums.reshape(-1), self.products.reshape(-1)
        for place in range(left.shape[-1]):
            terms = products.take(left[..., place] * self.size + right[..., place])
            total = total ^ terms if self._prime == 2 else sums.take(total * self.size + terms)
        return total

    def dot_counts(self, table: Integers, length: int, vectors: Integers) -> Integers:
        """Return, for each numbered vector v, the sum over all vectors a of table[a, a . v].

        Guarantee: exact integers, by replacing one place of a after another by that of v, or one v after another,
        whichever takes fewer steps.
        """
        g = self.size
        if length * g * g < len(vectors):
            counts = self._every_dot_count(table.reshape((g,) * length + (g,)), length)
            return counts.reshape(-1)[vectors]
        everything = self.digits(np.arange(g**length), length)
        rows = np.arange(g**length)
        asked = self.digits(vectors, length)
        return np.array([table[rows, self.dot(everything, v)].sum() for v in asked], dtype=np.int64)

    def _every_dot_count(self, table: Integers, length: int) -> Integers:
        # table[a, s] counts what still needs a . v = s; with a_i v_i moved to the other side, place i is v_i
        g = self.size
        for place in range(length):
            before = np.moveaxis(table, place, 0)
            after = np.zeros_like(before)
            for v, a in product(range(g), repeat=2):
                after[v] += before[a][..., self.sums[:, self.products[a, v]]]
            table = np.moveaxis(after, 0, place)
        return table[..., 0]

    @property
    def _prime(self) -> int:
        return _split(self.size)[0]

    @cached_property
    def _digits(self) -> Integers:
        prime, power = _split(self.size)
        return np.arange(self.size)[:, None] // prime ** np.arange(power) % prime

    def _number(self, digits: Integers) -> Integers:
        return digits @ (self._prime ** np.arange(digits.shape[-1]))

    def _weights(self, length: int) -> Integers:
        return self.size ** np.arange(length, dtype=np.int64)


def _split(size: int) -> tuple[int, int]:
    power = prime_power(size)
    if power is None:
        raise InvariantError(f"a field needs a power of a prime; got {size}")
    return power


@cache
def _products(p: int, degree: int) -> Integers:
    """Return the products of polynomials over p below this degree, modulo the first that makes them a field."""
    size = p**degree
    digits = np.arange(size)[:, None] // p ** np.arange(degree) % p
    raw = np.zeros((size, size, 2 * degree - 1), dtype=np.int64)
    for i, j in product(range(degree), repeat=2):
        raw[:, :, i + j] += digits[:, None, i] * digits[None, :, j]
    for low in range(size):
        reduced = raw.copy()
        for place in range(2 * degree - 2, degree - 1, -1):  # x^degree = -(low)
            for i in range(degree):
                reduced[:, :, place - degree + i] -= reduced[:, :, place] * digits[low, i]
        table: Integers = (reduced[:, :, :degree] % p) @ (p ** np.arange(degree))
        if (table[1:, 1:] > 0).all():  # no divisors of zero: a finite domain is a field
            return table
    raise InvariantError(f"no polynomial of degree {degree} over {p} is irreducible")
