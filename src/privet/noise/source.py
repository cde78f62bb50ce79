"""Random words from the operating system, and nothing else: there is no seed to set and no state to save.

Arrays of words are asked of the system as they are needed. Single words come from a small pool that belongs to
one thread; a word leaves the pool when it is used, and a forked child starts with an empty pool.
"""

from __future__ import annotations

import os
import struct
import threading
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Words = NDArray[np.uint64]

WORD_BITS = 64
_POOL_WORDS = 64
_UNPACK = struct.Struct(f"={_POOL_WORDS}Q").unpack


class Source(Protocol):
    """Where random words come from."""

    def words(self, count: int) -> Words:
        """Return this many independent, uniform 64-bit words; the array may be read-only."""
        ...

    def word(self) -> int:
        """Return one uniform 64-bit word."""
        ...


class _Pool(threading.local):
    def __init__(self) -> None:
        self.words: list[int] = []


_pool = _Pool()


class OperatingSystem:
    """The operating system's secure generator."""

    def words(self, count: int) -> Words:
        """Return this many words of `os.urandom`."""
        return np.frombuffer(os.urandom(8 * count), dtype=np.uint64)

    def word(self) -> int:
        """Return one word, refilling this thread's pool where it is empty."""
        words = _pool.words
        try:
            return words.pop()
        except IndexError:
            words.extend(_UNPACK(os.urandom(8 * _POOL_WORDS)))
            return words.pop()


def _forget() -> None:
    # In place: a fork inside a signal handler may return into a draw that already holds the list.
    _pool.words.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)

SYSTEM = OperatingSystem()


def bits(source: Source, count: int) -> int:
    """Return a uniform integer of this many bits."""
    number = 0
    for _ in range(-(-count // WORD_BITS)):
        number = number << WORD_BITS | source.word()
    return number >> (-count % WORD_BITS)
