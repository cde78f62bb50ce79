"""The public draws: exact parameters in, exact integers out.

Parameters are read here, once, and samplers are remembered by parameter, which is public. No function takes a
seed or a source.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache
from typing import TypeVar, overload

import numpy as np
from numpy.typing import NDArray

from privet.core.exact import Number, nonnegative, positive, probability, whole

from .coins import Below, Coin, ExponentialCoin
from .gaussian import Gaussian
from .laplace import Geometric, Integers
from .shape import Size, sample
from .stock import Stocked

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


class Laplace:
    """The signed draws of a geometric sampler."""

    __slots__ = ("draw", "fill")

    def __init__(self, geometric: Geometric) -> None:
        self.draw: Callable[[], int] = geometric.draw_signed
        self.fill: Callable[[int], Integers] = geometric.fill_signed


_geometric = remembered(lambda scale: Stocked[int](Geometric(positive(scale, "scale"))))
_laplace = remembered(lambda scale: Stocked[int](Laplace(Geometric(positive(scale, "scale")))))
_gaussian = remembered(lambda sigma_squared: Stocked[int](Gaussian(positive(sigma_squared, "sigma_squared"))))
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

    Guarantee: draws are independent and have exactly this distribution, given a uniform operating system source.
    """
    return sample(_below(n), size)
