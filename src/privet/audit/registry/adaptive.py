"""Audits of noise whose scale depends on the data, and of averages, against the exact laws of what they release."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from privet.audit.entry import Entry, known
from privet.audit.laws import clamped_cauchy, integers, tail
from privet.mechanisms import Average, Local, ProposeTestRelease, SmoothQuantile, SmoothSensitivity, smooth_bound

_FEW = Fraction(1, 20)
_SHOWN = 6


def _smooth(mechanism: SmoothSensitivity, local: Local) -> list[float]:
    """Return the law of an answer with Cauchy noise in proportion to its smooth bound."""
    bound = smooth_bound(list(local.at_distance), mechanism.smooth_beta, most=mechanism.ruler.last)
    return clamped_cauchy(local.value, float(mechanism.rung(bound) / mechanism.alpha), mechanism.ruler.last)


def _smooth_quantile(mechanism: SmoothQuantile, values: Any) -> list[float]:
    middle, bound = sorted(values)[(len(values) - 1) // 2], mechanism.smooth_sensitivity(values)
    return clamped_cauchy(middle, bound / float(mechanism.smooth.alpha), mechanism.smooth.ruler.last)


def _average(mechanism: Average, values: Any) -> dict[Any, float]:
    """Return the law of where an average of zeros and ones lies: at an end, on a side of the middle, or in it."""
    found: dict[Any, float] = {}
    noise = integers(float(mechanism.laplace.scale))
    for one, chance in noise.items():
        for other, part in noise.items():
            above, below = sum(values) + one, len(values) - sum(values) + other
            share = min(max(above / (above + below), 0.0), 1.0) if above + below > 0 else 0.5
            label = float(_side(share))
            found[label] = found.get(label, 0.0) + chance * part
    return found


def _side(shares: Any) -> Any:
    return np.sign(np.asarray(shares) - 0.5) + np.where(np.asarray(shares) == 1, 1, 0) - (np.asarray(shares) == 0)


def _tested(mechanism: ProposeTestRelease, local: Local) -> dict[Any, float]:
    """Return the law of a refusal, or of an answer, by the distance to data where the bound does not hold."""
    distance = sum(entry <= mechanism.laplace.sensitivity for entry in local.at_distance)
    passes = float(tail(mechanism.threshold - distance + 1, 1 / float(mechanism.test_epsilon)))
    found: dict[Any, float] = {None: 1 - passes}
    for drawn, part in integers(float(mechanism.laplace.scale)).items():
        number = min(max(local.value + drawn, -_SHOWN), _SHOWN)
        found[number] = found.get(number, 0.0) + passes * part
    return found


def _answer(released: Any) -> Any:
    numbers = np.array([np.nan if answer is None else float(answer) for answer in released])
    return np.where(np.isnan(numbers), -99.0, np.clip(numbers, -_SHOWN, _SHOWN))


ADAPTIVE: tuple[Entry, ...] = (
    known(
        "Smooth sensitivity",
        lambda leak: SmoothSensitivity(low=0, high=100, step=1, epsilon=4 * leak),
        _smooth,
        (Local(49, [1] + [20] * 39), Local(50, [20] * 40)),
        stated=4,
    ),
    known(
        "Smooth quantile",
        lambda leak: SmoothQuantile(q=0.5, low=0, high=100, step=1, epsilon=4 * leak),
        _smooth_quantile,
        ([49, 50, 50], [50, 50, 100]),
        stated=4,
    ),
    known(
        "Average",
        lambda leak: Average(low=0, high=1, step=1, epsilon=2 * leak),
        _average,
        ([1, 1], [0, 1, 1]),
        stated=2,
        look=_side,
    ),
    known(
        "Propose, test, release",
        lambda leak: ProposeTestRelease(bound=1, epsilon=2 * leak, delta=_FEW),
        _tested,
        (Local(0, [1, 1, 1, 2]), Local(1, [1, 1, 2, 2])),
        stated=2,
        look=_answer,
    ),
)
