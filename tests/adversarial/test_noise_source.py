"""Words are never handed out twice: not across threads, not across forks, and not by any seed."""

from __future__ import annotations

import os
import re
import struct
import threading
import warnings
from pathlib import Path

import numpy as np
import pytest

import privet.noise
from privet.noise.source import SYSTEM, _pool

WORDS = 20


def words_of_child() -> bytes:
    """Fork, and return the words that the child draws."""
    reader, writer = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # forking while threads run, from Python 3.12 on
        child = os.fork()
    if child == 0:
        try:
            single = [SYSTEM.word() for _ in range(WORDS)]
            os.write(writer, struct.pack(f"={WORDS}Q", *single) + SYSTEM.words(WORDS).tobytes())
        finally:
            os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        words = pipe.read()
    os.waitpid(child, 0)
    return words


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this platform")
def test_a_forked_child_shares_no_word_with_its_parent_or_siblings():
    SYSTEM.word()
    assert len(_pool.words) >= WORDS or SYSTEM.word() >= 0
    while len(_pool.words) < WORDS:
        SYSTEM.word()
    drawn = [word for _ in range(4) for word in struct.unpack(f"={2 * WORDS}Q", words_of_child())]
    drawn += [SYSTEM.word() for _ in range(WORDS)]
    assert len(set(drawn)) == len(drawn) == 9 * WORDS


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this platform")
def test_a_child_forked_while_threads_draw_shares_no_word():
    stop = threading.Event()

    def draw() -> None:
        while not stop.is_set():
            SYSTEM.word()

    threads = [threading.Thread(target=draw) for _ in range(2)]
    for thread in threads:
        thread.start()
    try:
        drawn = [word for _ in range(3) for word in struct.unpack(f"={2 * WORDS}Q", words_of_child())]
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    assert len(set(drawn)) == len(drawn)


def test_threads_share_no_word():
    drawn: list[list[int]] = [[] for _ in range(8)]

    def draw(mine: list[int]) -> None:
        mine.extend(SYSTEM.word() for _ in range(20_000))

    threads = [threading.Thread(target=draw, args=(mine,)) for mine in drawn]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    together = [word for mine in drawn for word in mine]
    assert len(set(together)) == len(together) == 160_000


def test_threads_draw_arrays_side_by_side():
    results: list[np.ndarray] = []

    def draw() -> None:
        results.append(privet.noise.discrete_laplace(10**15, 20_000))
        results.append(privet.noise.discrete_gaussian(10**30, 20_000))

    threads = [threading.Thread(target=draw) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    together = np.concatenate(results)
    assert np.unique(together).size == together.size == 160_000


def test_a_used_word_leaves_the_pool():
    word = SYSTEM.word()
    assert word not in _pool.words


def test_numpys_seed_changes_nothing():
    draws = []
    for _ in range(2):
        np.random.seed(1)
        draws.append(privet.noise.discrete_laplace(10**15, 4).tolist())
    assert draws[0] != draws[1]


def test_the_package_uses_no_seeded_generator():
    forbidden = re.compile(r"np\.random|numpy\.random|\bimport random\b|\bfrom random\b|\bsecrets\b|\bseed\s*[=(]")
    for path in Path(privet.noise.__file__).parent.rglob("*.py"):
        assert not forbidden.search(path.read_text()), path.name
