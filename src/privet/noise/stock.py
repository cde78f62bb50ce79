"""Single draws, handed out of arrays that were drawn before: how long one takes says nothing about its value.

A draw by itself takes longer where its integer has more digits, or where its logarithm is close to a boundary. An
array costs what all its draws cost together, and taking one out costs the same for each. A stock belongs to one sampler
and to one thread; a draw leaves it when it is used, and a forked child starts with empty stocks.
"""

from __future__ import annotations

import os
import threading
import weakref
from typing import Any, Generic, TypeVar

from numpy.typing import NDArray

from .shape import Sampler

_One = TypeVar("_One")

STOCK = 64
"""Draws that are made at a time."""


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
