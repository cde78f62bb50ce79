"""How long a single draw takes says nothing about its value, and no draw is handed out twice."""

from __future__ import annotations

import gc
import json
import os
import threading
import time
import warnings
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import spearmanr

from privet import noise
from privet.noise.draws import STOCK, Geometric, Stocked

DRAWS: dict[str, Callable[[], int]] = {
    "Laplace of 1": lambda: noise.discrete_laplace(1),
    "Laplace of 30": lambda: noise.discrete_laplace(30),
    "Laplace of 10**9": lambda: noise.discrete_laplace(10**9),
    "Gaussian of 10**9": lambda: noise.discrete_gaussian(10**18),
    "Gaussian of 1": lambda: noise.discrete_gaussian(1),
    "geometric": lambda: noise.geometric(30),
}
MANY = 20_000
MOST = 0.05
"""Draws of the same cost stay below this with a chance of about 1e-12; drawn one by one, some reach 0.2."""


@pytest.mark.parametrize("name", DRAWS)
def test_the_time_of_a_single_draw_does_not_rise_with_its_size(name: str) -> None:
    draw, clock = DRAWS[name], time.perf_counter_ns
    times, sizes = np.empty(MANY), np.empty(MANY)
    gc.disable()
    try:
        for index in range(MANY):
            start = clock()
            value = draw()
            times[index] = clock() - start
            sizes[index] = abs(value)
    finally:
        gc.enable()
    assert abs(spearmanr(times, sizes).statistic) < MOST


def test_threads_share_no_single_draw() -> None:
    wide = Stocked[int](Geometric(Fraction(2**50)))
    drawn: list[list[int]] = [[] for _ in range(4)]

    def take(mine: list[int]) -> None:
        mine.extend(wide.draw() for _ in range(5000))

    threads = [threading.Thread(target=take, args=(mine,)) for mine in drawn]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    together = [value for mine in drawn for value in mine]
    assert len(set(together)) > len(together) - 3  # a draw may happen twice by chance, and hardly ever does


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this platform")
def test_a_forked_child_shares_no_single_draw_with_its_parent() -> None:
    drawn = [noise.discrete_laplace(2**60)]  # fills a stock
    for _ in range(2):
        reader, writer = os.pipe()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            child = os.fork()
        if child == 0:
            try:
                os.write(writer, json.dumps([noise.discrete_laplace(2**60) for _ in range(10)]).encode())
            finally:
                os._exit(0)
        os.close(writer)
        with os.fdopen(reader, "rb") as pipe:
            drawn += json.loads(pipe.read())
        os.waitpid(child, 0)
    drawn += [noise.discrete_laplace(2**60) for _ in range(10)]
    assert len(set(drawn)) == len(drawn) == 31


def test_single_draws_have_the_type_of_the_sampler() -> None:
    for _ in range(STOCK + 1):
        assert type(noise.discrete_laplace(3)) is int
        assert type(noise.discrete_gaussian(10**40)) is int
        assert type(noise.bernoulli(Fraction(1, 3))) is bool
        assert type(noise.uniform_below(2**70)) is int
