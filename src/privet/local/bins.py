"""Declared bounds cut into bins of one width, and the bins of answers."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privet.core.errors import BadParameter, BadValue
from privet.core.numbers import Number, rational

from .mean_oracle import numbers_of

_LARGEST_BOUND = Fraction(10) ** 100


def read_bounds(low: Number, high: Number) -> tuple[Fraction, Fraction]:
    """Return declared bounds, exactly."""
    least, most = rational(low, "low"), rational(high, "high")
    if not -_LARGEST_BOUND <= least < most <= _LARGEST_BOUND or most - least < 1 / _LARGEST_BOUND:
        raise BadParameter("high", high, "above low, both within 1e100 of 0 and not closer than 1e-100")
    return least, most


def bins_of(answers: Any, low: Fraction, high: Fraction, bins: int, parameter: str) -> NDArray[np.int64]:
    """Return the bin of each answer; numbers outside the bounds fall into the nearest bin."""
    array = numbers_of(answers)
    if array is None:
        raise BadValue(parameter, "something else", "a finite number, or a list of these")
    least, width = float(low), float(high - low) / bins
    return np.clip(np.floor((array - least) / width), 0, bins - 1).astype(np.int64)


def edges_of(low: Fraction, high: Fraction, bins: int) -> NDArray[np.float64]:
    """Return the ends of all bins."""
    return np.array([float(low + (high - low) * place / bins) for place in range(bins + 1)])
