"""Streams with real noise: what is released is unbiased, errs as told, is covered, and leaks no more than it costs.

Each group of a stream has noise of its own, so one run with many groups is many runs. Bounds are six standard errors
wide, which a right mechanism exceeds with a probability below 1e-7 each, heavy tails included.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from privet.audit import audit
from privet.core.budget import Pure, Zcdp
from privet.mechanisms import GaussianEvent
from privet.stream import BufferedSums, RootSums, TreeSums
from privet.stream.sums import RunningSums

RUNS = 4000
UNIT = Zcdp(rho=0.5)


def sums_of(kind: str, horizon: int, width: int, spend: Any = None) -> RunningSums[Any]:
    shape: dict[str, Any] = {"horizon": horizon, "width": width}
    match kind:
        case "pure tree":
            return TreeSums(spend=spend or Pure(epsilon=1), **shape)
        case "plain pure tree":
            return TreeSums(spend=spend or Pure(epsilon=1), refine=False, **shape)
        case "tree":
            return TreeSums(spend=spend or UNIT, **shape)
        case "square root":
            return RootSums(spend=spend or UNIT, **shape)
    return BufferedSums(spend=spend or UNIT, **shape)


@pytest.mark.parametrize("kind", ["pure tree", "plain pure tree", "tree", "square root", "buffers"])
def test_sums_are_unbiased_and_err_as_told(kind: str) -> None:
    sums = sums_of(kind, 13, RUNS)
    given = np.repeat(np.arange(13, dtype=np.int64)[:, None] % 4, RUNS, axis=1)
    _, released = sums.advance(sums.begin(), given)
    errors = released - np.cumsum(given, axis=0)
    for step in (1, 4, 7, 13):
        error, told = errors[step - 1], sums.deviation(step)
        assert abs(error.mean()) <= 6 * told / math.sqrt(RUNS)
        # the square of Laplace noise has a variance of 5 times the square of its mean, and of sums of it less
        assert abs((error**2).mean() / told**2 - 1) <= 6 * math.sqrt(5 / RUNS)
        covered = (np.abs(error) <= sums.half_width(step, 0.9)).mean()
        assert covered >= 0.9 - 6 * math.sqrt(0.09 / RUNS)
        if "tree" not in kind:  # whose nodes are whole: there intervals are half a step wider
            assert covered <= 0.9 + 6 * math.sqrt(0.09 / RUNS)


def in_batches(kind: str, horizon: int, spend: Any) -> Any:
    """Return a function of a first value and a count that runs streams with that value first, and nothing after it."""

    def draw(first: int, count: int) -> Any:
        found = []
        for start in range(0, count, 2**14):
            width = min(2**14, count - start)
            sums = sums_of(kind, horizon, width, spend)
            given = np.zeros((horizon, width), dtype=np.int64)
            given[0] = first
            found.append(sums.advance(sums.begin(), given)[1])
        return np.concatenate(found, axis=1)

    return draw


@pytest.mark.parametrize(("leak", "refuted"), [(1, False), (Fraction(5, 4), True)])
def test_the_tree_leaks_its_epsilon_and_no_more(leak: Fraction, refuted: bool) -> None:
    """Both nodes that the first row is in are at least 1: the outcome whose probability moves by all of epsilon."""
    draw = in_batches("plain pure tree", 2, Pure(epsilon=leak))
    report = audit(lambda value, count: draw(value, count).min(axis=0), (1, 0), 1, 100_000, batched=True)
    assert report.refuted is refuted


@pytest.mark.parametrize("kind", ["square root", "buffers"])
@pytest.mark.parametrize(("leak", "refuted"), [(1, False), (2, True)])
def test_gaussian_streams_leak_their_rho_and_no_more(kind: str, leak: int, refuted: bool) -> None:
    """The first row shows best in all measurements together, weighted by its column: f = 1, 1/2, 3/8."""
    rho = Fraction(1, 2)
    draw = in_batches(kind, 3, Zcdp(rho=leak * rho))

    def likeliest(value: int, count: int) -> Any:
        released = draw(value, count)
        values = np.diff(released, axis=0, prepend=0.0)
        measured = [values[0], values[1] + values[0] / 2, values[2] + values[1] / 2 + 3 * values[0] / 8]
        return measured[0] + measured[1] / 2 + 3 * measured[2] / 8

    claimed = GaussianEvent(sensitivity_squared=1, sigma_squared=1 / (2 * rho))
    report = audit(likeliest, (1, 0), claimed, 50_000, batched=True)
    assert report.refuted is refuted
