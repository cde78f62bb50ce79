"""An audit alarms no more often than it says, whichever way the event was chosen, and has the power that it prints."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom, norm

from privet.audit import audit

AUDITS, DRAWS, ALARM, LUCK = 120, 1_500, 0.1, 1e-8
generator = np.random.default_rng()


def numbers(value: float, count: int, leak: float = 1.0) -> Any:
    return value + generator.laplace(0, 1 / leak, count)


def answers(value: int, count: int, leak: float = 1.0) -> Any:
    true = math.exp(leak) / (math.exp(leak) + 4)
    others = generator.integers(0, 4, count)
    return np.where(generator.random(count) < true, value, others + (others >= value))


def vectors(value: float, count: int, leak: float = 1.0) -> Any:
    return np.array([value / 2, -value / 2]) + generator.laplace(0, 1 / leak, (count, 2))


def parities(value: int, count: int, leak: float = 1.0) -> Any:
    first = generator.integers(0, 2, count)
    return np.stack([first, first ^ value ^ (generator.random(count) > 1 / (1 + math.exp(-leak)))], axis=1)


def shared(value: float, count: int, leak: float = 1.0) -> Any:
    noise = generator.laplace(0, 50, count)
    return np.stack([noise, noise + value + generator.laplace(0, 1 / leak, count)], axis=1)


def gaussian(value: float, count: int) -> Any:
    return value + generator.normal(0, 1, count)


def texts(value: int, count: int) -> list[str]:
    return ["abcde"[each] for each in answers(value, count)]


EPSILON = 1.5
DELTA = float(norm.cdf(0.5 - EPSILON) - math.exp(EPSILON) * norm.cdf(-0.5 - EPSILON))
"""The exact curve of Gaussian noise with sigma 1 at this epsilon."""

ROADS: dict[str, tuple[Callable[[Any, int], Any], object]] = {
    "tails": (numbers, 1),
    "histogram": (answers, 1),
    "texts": (texts, 1),
    "sum over coordinates": (vectors, 1),
    "whole rows": (parities, 1),
    "classifier": (shared, 1),
    "approximate": (gaussian, (EPSILON, DELTA)),
}


@pytest.mark.parametrize("road", ROADS)
def test_a_claim_that_is_exactly_true_is_refuted_no_more_often_than_stated(road: str) -> None:
    draw, claimed = ROADS[road]
    alarms = sum(audit(draw, (0, 1), claimed, DRAWS, batched=True, alarm=ALARM).refuted for _ in range(AUDITS))
    assert alarms <= binom.isf(LUCK, AUDITS, ALARM)


@pytest.mark.parametrize("draw", [numbers, answers, parities])
def test_a_claim_understated_by_a_tenth_is_caught_as_often_as_printed(draw: Callable[..., Any]) -> None:
    audits, draws = 60, 14_000
    printed = [audit(draw, (0, 1), 1, draws, batched=True, alarm=ALARM).power for _ in range(audits)]
    caught = sum(
        audit(lambda value, count: draw(value, count, 1.1), (0, 1), 1, draws, batched=True, alarm=ALARM).refuted
        for _ in range(audits)
    )
    # the mean of the printed powers is off by its own spread, and by what the plug-in of seen rates is worth
    mean = float(np.mean(printed)) - 0.15 - 6 * float(np.std(printed)) / math.sqrt(audits)
    assert caught >= binom.ppf(LUCK, audits, max(mean, 0.0))
    assert mean > 0.1
