"""How often intervals of coefficients hold the truth of the population: over designs, noise, rows per person.

`PRIVET_SOAK` runs more trials; `python tests/statistical/test_regression_coverage.py` prints what is covered.
"""

from __future__ import annotations

import math
import os
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from privet.inference.linear import LinearFit, NoisyMoments

SOAK = bool(os.environ.get("PRIVET_SOAK"))
TRIALS = 1500 if SOAK else 100
B = np.array([0.1, 0.4, -0.3, 0.0])


@dataclass(frozen=True)
class Place:
    """A population, and the noise on all products: `noise` is the scale of one, in rows."""

    name: str
    people: int
    noise: float
    family: Any = "laplace"
    each: int = 1
    icc: float = 0.0
    sigma: float = 0.2
    skewed: bool = False
    close: bool = False
    """Whether noise is small beside the signal and each person has one row: there the level is to be met closely."""


PLACES = [
    Place("no noise, few rows", 60, 1e-6, close=True),
    Place("no noise", 1000, 1e-6, close=True),
    Place("little noise", 20_000, 15.0, close=True),
    Place("little noise, skewed", 20_000, 15.0, skewed=True, close=True),
    Place("noise like sampling", 5000, 15.0),
    Place("much noise", 1000, 15.0),
    Place("noise like the sums", 300, 15.0),
    Place("more noise than sums", 100, 15.0),
    Place("gaussian, little", 20_000, 15.0, "gaussian", close=True),
    Place("gaussian, much", 1000, 60.0, "gaussian"),
    Place("gaussian, like the sums", 300, 60.0, "gaussian"),
    Place("3 rows, independent", 1000, 5.0, each=3),
    Place("3 rows, icc .2", 1000, 5.0, each=3, icc=0.2),
    Place("3 rows, icc 1", 1000, 5.0, each=3, icc=1.0),
    Place("10 rows, icc .5", 500, 5.0, each=10, icc=0.5),
    Place("10 rows, icc 1, noise", 500, 100.0, each=10, icc=1.0),
]


def sample(place: Place, draw: Any) -> Any:
    """Return factors: 1, three features, and the target; rows of one person share a part `icc` of their variance."""
    rows = place.people * place.each

    def shared(size: int) -> Any:
        own, common = draw.normal(size=(rows, size)), draw.normal(size=(place.people, size))
        return math.sqrt(1 - place.icc) * own + math.sqrt(place.icc) * np.repeat(common, place.each, axis=0)

    x = shared(3)
    x = np.exp(np.clip(x, -3, 3)) / 10 - 0.5 if place.skewed else np.clip(x / 2, -1, 1)
    design = np.column_stack([np.ones(rows), np.clip(x, -1, 1)])
    return np.column_stack([design, design @ B + place.sigma * shared(1)[:, 0]])


def held(place: Place, trials: int, seed: int) -> list[list[bool]]:
    draw = np.random.default_rng(seed)
    pairs = [(i, j) for i in range(5) for j in range(i, 5)]
    places = np.zeros((5, 5), dtype=int)
    for at, (i, j) in enumerate(pairs):
        places[i, j] = places[j, i] = at
    found = []
    for _ in range(trials):
        factors = sample(place, draw)
        sums = factors.T @ factors
        noise = draw.laplace(size=15) if place.family == "laplace" else draw.normal(size=15)
        values = np.array([sums[pair] for pair in pairs]) + place.noise * noise
        fit = LinearFit(
            NoisyMoments(values, np.full(15, place.noise), place.family, places, 0, place.each), (0, 1, 2, 3), 4
        )
        bounds = [fit.along(np.eye(4)[at], 0.95) for at in range(4)]
        found.append([one.low <= b <= one.high for one, b in zip(bounds, B, strict=True)])
    return found


@pytest.mark.parametrize("place", PLACES if SOAK else PLACES[1::3], ids=lambda one: one.name)
def test_coefficients_are_covered_as_often_as_intervals_say(place: Place) -> None:
    # means of four dependent intervals of independent trials: their standard deviation is at most that of one; five of
    # these are not exceeded once in a million runs, and seeds are fixed besides
    share = float(np.mean(held(place, TRIALS, seed=17)))
    margin = 5 * math.sqrt(0.06 * 0.94 / TRIALS)
    assert share >= 0.94 - margin
    if place.close:
        assert share <= 0.97 + margin


if __name__ == "__main__":
    for place in PLACES:
        each = np.mean(held(place, 1500 if place.people < 10_000 else 600, seed=17), axis=0)
        print(f"{place.name:28} {float(each.mean()):.4f}", np.round(each, 3), flush=True)
