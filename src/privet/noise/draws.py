"""The public draws: exact parameters in, exact integers out.

Parameters are read here, once, and samplers are remembered by parameter, which is public. No function takes a
seed or a source.
"""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache
from typing import Any, Generic, TypeVar, overload

import numpy as np
from numpy.typing import NDArray

from privet.core.numbers import Number, nonnegative, positive, probability, whole

from .coin_bytes import coin_bytes
from .coins import Below, Coin, ExponentialCoin, PackedCoin
from .samplers import GaussianSampler, Geometric, Integers
from .source import MOST_DRAWS, WORD_BITS, Sampler, Size, sample

# Single draws, handed out of arrays that were drawn before: how long one takes says nothing about its value.
#
# A draw by itself takes longer where its integer has more digits, or where its logarithm is close to a boundary. An
# array costs what all its draws cost together, and taking one out costs the same for each. A stock belongs to one
# sampler and to one thread; a draw leaves it when it is used, and a forked child starts with empty stocks.


_One = TypeVar("_One")

STOCK = 64
"""Draws that are made at a time."""

_MANY_BYTES = 2**14
"""From this many bytes of tosses on, a table is worth making."""


class _Shelf(threading.local):
    def __init__(self) -> None:
        self.draws: list[Any] = []


class Stocked(Generic[_One]):
    """A sampler whose single draws come out of arrays of its own.

    Guarantee: draws are independent and have exactly the sampler's distribution; none is handed out twice, not across
    threads and not across forks.
    """

    __slots__ = ("__weakref__", "_shelf", "fill", "sampler")

    def __init__(self, sampler: Sampler[_One]) -> None:
        self.sampler = sampler
        self._shelf = _Shelf()
        self.fill = sampler.fill
        _EVERY.add(self)

    def draw(self) -> _One:
        """Return one draw, and forget it."""
        draws = self._shelf.draws
        try:
            taken: _One = draws.pop()
        except IndexError:
            draws.extend(_plain(self.sampler.fill(STOCK)))
            taken = draws.pop()
        return taken

    def forget(self) -> None:
        """Drop what this thread holds. In place: a signal may have interrupted a draw that holds the list."""
        self._shelf.draws.clear()


def _plain(values: NDArray[Any]) -> list[Any]:
    return list(values.tolist())


_EVERY: weakref.WeakSet[Stocked[Any]] = weakref.WeakSet()


def _forget() -> None:
    for stocked in list(_EVERY):
        stocked.forget()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)


Booleans = NDArray[np.bool_]
Shape = int | tuple[int, ...] | list[int]
_Sampler = TypeVar("_Sampler")


def remembered(prepare: Callable[[object], _Sampler]) -> Callable[[object], _Sampler]:
    """Return `prepare`, remembering the samplers of plain numbers."""
    recall = lru_cache(maxsize=256, typed=True)(prepare)

    def find(parameter: object) -> _Sampler:
        return recall(parameter) if type(parameter) in _PLAIN else prepare(parameter)

    return find


_PLAIN = frozenset({int, float, Fraction})


class LaplaceSampler:
    """The signed draws of a geometric sampler."""

    __slots__ = ("draw", "fill")

    def __init__(self, geometric: Geometric) -> None:
        self.draw: Callable[[], int] = geometric.draw_signed
        self.fill: Callable[[int], Integers] = geometric.fill_signed


_geometric = remembered(lambda scale: Stocked[int](Geometric(positive(scale, "scale"))))
_laplace = remembered(lambda scale: Stocked[int](LaplaceSampler(Geometric(positive(scale, "scale")))))
_gaussian = remembered(lambda sigma_squared: Stocked[int](GaussianSampler(positive(sigma_squared, "sigma_squared"))))
_exponential_coin = remembered(lambda x: Stocked[bool](ExponentialCoin(nonnegative(x, "x"))))
_coin = remembered(lambda p: Stocked[bool](Coin(probability(p, "p"))))
_below = remembered(lambda n: Stocked[int](Below(whole(n, "n", least=1))))


@overload
def geometric(scale: Number, size: None = None) -> int: ...
@overload
def geometric(scale: Number, size: Shape) -> Integers: ...
@overload
def geometric(scale: Number, size: Size) -> int | Integers: ...
def geometric(scale: Number, size: Size = None) -> int | Integers:
    """Return draws of floor(scale * E): k = 0, 1, 2, ... with probability proportional to exp(-k / scale).

    Without a size, a Python integer; with one, an int64 array (of Python integers above a scale of 2**52).

    Args:
        scale: the scale of the noise.
        size: how many draws, as an array of that shape; one number if left out.

    Example:
        >>> noise.geometric(2, 100).min() >= 0
        np.True_

    Guarantee: draws are independent and have exactly this distribution, given a uniform operating system source.
    """
    return sample(_geometric(scale), size)


@overload
def discrete_laplace(scale: Number, size: None = None) -> int: ...
@overload
def discrete_laplace(scale: Number, size: Shape) -> Integers: ...
@overload
def discrete_laplace(scale: Number, size: Size) -> int | Integers: ...
def discrete_laplace(scale: Number, size: Size = None) -> int | Integers:
    """Return draws from the integers with probability proportional to exp(-|k| / scale).

    Without a size, a Python integer; with one, an int64 array (of Python integers above a scale of 2**52).

    Args:
        scale: the scale of the noise.
        size: how many draws, as an array of that shape; one number if left out.

    Example:
        >>> noise.discrete_laplace(2.5, (2, 3)).shape
        (2, 3)

    Guarantee: draws are independent and have exactly this distribution, given a uniform operating system source.
    Cites: [GRS12, the geometric mechanism], [CKS20, Alg. 2].
    """
    return sample(_laplace(scale), size)


@overload
def discrete_gaussian(sigma_squared: Number, size: None = None) -> int: ...
@overload
def discrete_gaussian(sigma_squared: Number, size: Shape) -> Integers: ...
@overload
def discrete_gaussian(sigma_squared: Number, size: Size) -> int | Integers: ...
def discrete_gaussian(sigma_squared: Number, size: Size = None) -> int | Integers:
    """Return draws from the integers with probability proportional to exp(-k**2 / (2 sigma_squared)).

    Without a size, a Python integer; with one, an int64 array (of Python integers from a sigma of 2**52 on).

    Args:
        sigma_squared: the parameter of the law, about its variance.
        size: how many draws, as an array of that shape; one number if left out.

    Example:
        >>> noise.discrete_gaussian(4, 3).shape
        (3,)

    Guarantee: draws are independent and have exactly this distribution, given a uniform operating system source.
    Cites: [CKS20, Alg. 3].
    """
    return sample(_gaussian(sigma_squared), size)


@overload
def bernoulli_exp(x: Number, size: None = None) -> bool: ...
@overload
def bernoulli_exp(x: Number, size: Shape) -> Booleans: ...
@overload
def bernoulli_exp(x: Number, size: Size) -> bool | Booleans: ...
def bernoulli_exp(x: Number, size: Size = None) -> bool | Booleans:
    """Return tosses that are True with probability exp(-x), for any x of at least 0.

    Args:
        x: at least 0.
        size: how many draws, as an array of that shape; one number if left out.

    Example:
        >>> noise.bernoulli_exp(0)
        True

    Guarantee: tosses are independent and have exactly this probability, given a uniform operating system source.
    """
    return sample(_exponential_coin(x), size)


@overload
def bernoulli(p: Number, size: None = None) -> bool: ...
@overload
def bernoulli(p: Number, size: Shape) -> Booleans: ...
@overload
def bernoulli(p: Number, size: Size) -> bool | Booleans: ...
def bernoulli(p: Number, size: Size = None) -> bool | Booleans:
    """Return tosses that are True with probability p.

    Args:
        p: the probability of True.
        size: how many draws, as an array of that shape; one number if left out.

    Example:
        >>> noise.bernoulli(1), noise.bernoulli(0)
        (True, False)

    Guarantee: tosses are independent and have exactly this probability, given a uniform operating system source.
    """
    return sample(_coin(p), size)


@overload
def uniform_below(n: int, size: None = None) -> int: ...
@overload
def uniform_below(n: int, size: Shape) -> Integers: ...
@overload
def uniform_below(n: int, size: Size) -> int | Integers: ...
def uniform_below(n: int, size: Size = None) -> int | Integers:
    """Return draws from 0, ..., n - 1, each equally likely; Python integers where n exceeds 2**63.

    Args:
        n: the number of outcomes.
        size: how many draws, as an array of that shape; one number if left out.

    Example:
        >>> 0 <= noise.uniform_below(6) < 6
        True

    Guarantee: draws are independent and have exactly this distribution, given a uniform operating system source.
    """
    return sample(_below(n), size)


def bernoulli_rows(p: Number, rows: int, bits: int) -> NDArray[np.uint8]:
    """Return rows of tosses that are True with probability p, packed eight to a byte as `numpy.packbits` does.

    Args:
        p: the probability of True.
        rows: the number of rows.
        bits: the tosses in each row; what is left of its last byte is zero.

    Raises:
        BadParameter: if a number is out of range, or the rows have more than 2**31 bytes.

    Example:
        >>> noise.bernoulli_rows(1, 1, 10)
        array([[255, 192]], dtype=uint8)

    Guarantee: tosses are independent and have exactly this probability, given a uniform operating system source.
    """
    chance = probability(p, "p")
    width = -(-whole(bits, "bits", least=1, most=MOST_DRAWS) // 8)
    height = whole(rows, "rows", most=MOST_DRAWS // width)
    if height * width >= _MANY_BYTES:
        packed = coin_bytes(chance).fill(height * width).reshape(height, width)
    else:
        words = -(-height * width * 8 // WORD_BITS)
        packed = PackedCoin(chance).fill(words).view(np.uint8)[: height * width].reshape(height, width)
    packed[:, -1] &= np.uint8(0xFF << (8 * width - bits) & 0xFF)
    return packed
