"""Intervals of every local oracle of frequencies, through its client and server: 94% to 97% of them cover."""

from __future__ import annotations

import math
import os
from typing import Any

import numpy as np
import pytest

from privet import local

RUNS = 400 if "PRIVET_SOAK" in os.environ else 25
N = 2000
SHARES = (0.4, 0.3, 0.2, 0.1)
ANSWERS = np.repeat(np.arange(4), [int(share * N) for share in SHARES])
NAMES = ("tea", "milk", "beer", "gin")

ORACLES: dict[str, Any] = {
    **{f"{kind.__name__}, {epsilon}": (kind, epsilon) for kind in local.ORACLES for epsilon in (1, 4)},
    "Rappor, a bit each": ("rappor", {}),
    "Rappor, hashed": ("rappor", {"hashes": 2, "bits": 16, "cohorts": 4}),
    "Rappor, hashed, little noise": (
        "rappor",
        {"flip": 0.1, "ones": 0.95, "zeros": 0.05, "hashes": 2, "bits": 16, "cohorts": 4},
    ),
    "CountMeanSketch, 2": ("sketch", 2),
    "CountMeanSketch, 6": ("sketch", 6),
    "HeavyHitters, 8": ("hitters", 8),
}


def found_of(kind: Any, given: Any, run: int) -> Any:
    """Return the estimate of one survey, and the labels of the four answers."""
    if kind == "rappor":
        oracle, labels = local.Rappor(4, **given), range(4)
    elif kind == "sketch":
        oracle, labels = local.CountMeanSketch(epsilon=given, survey=str(run)), NAMES
    elif kind == "hitters":
        oracle, labels = local.HeavyHitters(epsilon=given, length=4, alphabet="abegiklmnrt", survey=str(run)), NAMES
    else:
        oracle, labels = kind(4, epsilon=given), range(4)
    server = oracle.server()
    server.add(oracle.client.reports(ANSWERS if labels == range(4) else np.array(NAMES, dtype=object)[ANSWERS]))
    found = server.estimate(of=list(NAMES)) if kind == "sketch" else server.estimate()
    return [found[label] for label in labels]


@pytest.mark.parametrize("name", ORACLES)
def test_intervals_cover_as_often_as_they_say(name: str) -> None:
    """More than 100 people have each answer; four answers of a run hang together, so that runs are what counts."""
    inside, runs = [], RUNS // 3 if name.startswith(("CountMean", "Heavy")) else RUNS
    for run in range(runs):
        ends = found_of(*ORACLES[name], run)
        inside.append(np.mean([low <= share <= high for (_, low, high), share in zip(ends, SHARES, strict=True)]))
    covered, room = float(np.mean(inside)), 5.3 * math.sqrt(0.06 * 0.94 / runs)  # 1e-7 if answers hung together wholly
    print(f"{name}: {covered:.4f}")
    assert covered >= 0.94 - room
    assert covered <= 0.97 + room
