"""The table of w-event algorithms: each has its own mean error, and the chosen one has the least of its row.

Epsilon 1, windows of 20 steps, 400 steps, one count: a walk 1000 + sum of N(0, 2), steps uniform on [500, 1500] every
80, and white noise N(1000, 100). With `PRIVET_SOAK` as many runs as the table has; otherwise a few.
"""

from __future__ import annotations

import math
import os
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from privet.stream import WEvent, WEventPlan, WEventStream
from privet.stream.w_event_rule import ALGORITHMS, Algorithm

SOAK = bool(os.environ.get("PRIVET_SOAK"))
RUNS = 200 if SOAK else 5
STEPS = 400

TABLE = {
    "walk": (20.088, 4.758, 20.470, 15.470),
    "steps": (20.068, 0.991, 21.169, 17.794),
    "white": (20.120, 106.890, 55.714, 50.851),
}
SPREAD = {
    "walk": (1.1, 0.7, 3.4, 2.1),
    "steps": (1.1, 0.3, 3.8, 4.2),
    "white": (1.1, 9.5, 11.0, 2.8),
}
"""The standard deviation of one run's mean, from a simulation of 2,500 runs in floats, rounded up."""

DECLARED: dict[str, dict[str, Any]] = {
    "walk": {"change": Fraction(8, 5)},
    "steps": {"change": 333, "every": 80},
    "white": {"change": 113},
}


def counts_of(stream: str, generator: np.random.Generator) -> list[int]:
    if stream == "walk":
        values = 1000 + np.cumsum(generator.normal(0, 2, STEPS))
    elif stream == "steps":
        values = np.repeat(generator.uniform(500, 1500, STEPS // 80), 80)
    else:
        values = generator.normal(1000, 100, STEPS)
    return [round(one) for one in values.tolist()]


def error_of_a_run(stream: str, algorithm: Algorithm, generator: np.random.Generator) -> float:
    counts = counts_of(stream, generator)
    releases = WEventStream(epsilon=1, window=20, algorithm=algorithm).extend(counts)
    return sum(abs(one.values[0] - count) for one, count in zip(releases, counts, strict=True)) / STEPS


@pytest.mark.parametrize("stream", TABLE)
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_each_algorithm_has_the_error_of_its_column(stream: str, algorithm: Algorithm) -> None:
    column = ALGORITHMS.index(algorithm)
    generator = np.random.default_rng()
    mean = sum(error_of_a_run(stream, algorithm, generator) for _ in range(RUNS)) / RUNS
    # the table's own mean of 200 runs is uncertain as well. Of 10**5 simulated means of 5 runs none was off by more
    # than 5.6 standard errors, and 8.3 for budget distribution, whose releases have now and then a very wide noise
    factor = 20 if algorithm == "distribution" and not SOAK else 8
    allowed = factor * SPREAD[stream][column] * math.sqrt(1 / RUNS + 1 / 200)
    assert abs(mean - TABLE[stream][column]) <= allowed


@pytest.mark.parametrize("stream", TABLE)
def test_the_rule_chooses_the_best_of_the_row(stream: str) -> None:
    plan = WEventPlan(WEvent(epsilon=1, window=20), **DECLARED[stream])
    assert TABLE[stream][ALGORITHMS.index(plan.algorithm)] == min(TABLE[stream])
