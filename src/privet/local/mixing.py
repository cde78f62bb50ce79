"""Public pseudo-random functions: of report identifiers, of strings, and a permutation of code words.

Nothing here is secret or random: everyone computes the same, and privacy rests on none of it.
"""

from __future__ import annotations

import hashlib

import numpy as np
from numpy.typing import NDArray

Words = NDArray[np.uint64]
Integers = NDArray[np.int64]

_ROUNDS = 4


def mixed(words: Words) -> Words:
    """Return 64 bits that look random for each word, one to one."""
    word = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    word = (word ^ (word >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    found: Words = word ^ (word >> np.uint64(31))
    return found


def salted(words: Words, salt: int) -> Words:
    """Return 64 bits that look random for each word and a public number."""
    return mixed(words + np.uint64((salt + 1) * 0x9E3779B97F4A7C15 % 2**64))


def below(words: Words, bound: int) -> Integers:
    """Return a number below a bound for each word."""
    return (words % np.uint64(bound)).astype(np.int64)


def parts_of(ids: Words, key: bytes, parts: int) -> Integers:
    """Return which part each report answers: a function of its random identifier, so that everyone can check it."""
    return below(mixed(ids[:, 1] ^ np.uint64(int.from_bytes(key, "big"))), parts)


def word_of(text: bytes, key: bytes) -> int:
    """Return 64 bits that look random for a text."""
    return int.from_bytes(hashlib.blake2b(text, digest_size=8, key=key).digest(), "big")


def permuted(number: int, bits: int, key: bytes) -> int:
    """Return the image of a number of this many bits (an even number of them) under a public permutation."""
    half = bits // 2
    left, right = number >> half, number & ((1 << half) - 1)
    for turn in range(_ROUNDS):
        left, right = right, left ^ _scrambled(right, half, turn, key)
    return left << half | right


def unpermuted(number: int, bits: int, key: bytes) -> int:
    """Return the number whose image this is."""
    half = bits // 2
    left, right = number >> half, number & ((1 << half) - 1)
    for turn in reversed(range(_ROUNDS)):
        left, right = right ^ _scrambled(left, half, turn, key), left
    return left << half | right


def _scrambled(number: int, bits: int, turn: int, key: bytes) -> int:
    told = bytes([turn]) + number.to_bytes(-(-bits // 8), "big")
    return int.from_bytes(hashlib.blake2b(told, key=key).digest(), "big") & ((1 << bits) - 1)
