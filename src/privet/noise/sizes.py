"""Reads the `size` of a request and gives the draws that shape. It never looks at a drawn value."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, Protocol, TypeVar, overload

import numpy as np
from numpy.typing import NDArray

from privet.core.errors import BadParameter, raise_alone
from privet.core.numbers import whole

MOST_DRAWS = 2**31
Size = int | tuple[int, ...] | list[int] | None
_One = TypeVar("_One", covariant=True)


class Sampler(Protocol[_One]):
    """What draws one value, or an array of them."""

    def draw(self) -> _One:
        """Return one draw."""
        ...

    def fill(self, count: int) -> NDArray[Any]:
        """Return this many draws."""
        ...


@overload
def sample(sampler: Sampler[_One], size: None) -> _One: ...
@overload
def sample(sampler: Sampler[_One], size: int | tuple[int, ...] | list[int]) -> NDArray[Any]: ...
@overload
def sample(sampler: Sampler[_One], size: Size) -> _One | NDArray[Any]: ...
def sample(sampler: Sampler[_One], size: Size) -> _One | NDArray[Any]:
    """Return one draw where size is None, and otherwise an array of that size."""
    if size is None:
        return sampler.draw()
    shape = read_shape(size)
    try:
        return sampler.fill(math.prod(shape)).reshape(shape)
    except MemoryError:
        raise_alone(BadParameter("size", size, "a number of draws that fits in memory"))


def read_shape(size: int | tuple[int, ...] | list[int]) -> tuple[int, ...]:
    """Return the shape that an integer or a sequence of integers asks for."""
    allowed = f"None, or an integer or a tuple of integers of at least 0, {MOST_DRAWS} draws at most"
    sides = tuple(size) if isinstance(size, (tuple, list)) else (size,)
    try:
        shape = tuple(whole(side, "size") for side in sides)
    except BadParameter:
        raise_alone(BadParameter("size", size, allowed))
    if math.prod(shape) > MOST_DRAWS or any(side > MOST_DRAWS for side in shape) or len(shape) > 32:
        raise BadParameter("size", size, allowed)
    return shape


def read_size(size: int) -> int:
    """Return how many draws are asked for, where that is one number."""
    return whole(size, "size", most=MOST_DRAWS)


def integers_of(values: Iterable[int]) -> NDArray[Any]:
    """Return Python integers as an array of objects."""
    drawn = list(values)
    array = np.empty(len(drawn), dtype=object)
    array[:] = drawn
    return array
