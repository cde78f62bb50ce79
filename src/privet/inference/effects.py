"""Cohen's d: a difference in standard deviations of the values, with an interval for the errors of both."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from .contrast import crossing
from .convolution import beyond

if TYPE_CHECKING:
    from privet.core.event import Floats


def effect_interval(
    measured: tuple[float, list[Floats], float], spread: float, spread_error: float, tail: float
) -> tuple[float, float]:
    """Return the interval of Cohen's d: a difference over a standard deviation, both with errors.

    A value d is tested by difference - d * spread, whose error is that of the difference and d times that of the
    spread: Fieller's. Unbounded where the spread may be 0.

    Args:
        measured: the difference, the scales of its Laplace noises, and the deviation of its normal error.
        spread: the standard deviation of the values.
        spread_error: its standard error.
        tail: how often the interval may miss.
    """
    import numpy as np

    difference, scales, deviation = measured

    def p_value(d: float) -> float:
        normal = np.array(math.hypot(deviation, d * spread_error))
        return float(beyond(np.array(abs(difference - d * spread)), scales, normal))

    if not spread > 0 or not math.isfinite(spread_error):
        return -math.inf, math.inf
    step = max(deviation, *(float(np.max(one)) for one in scales), 0.0) if scales else deviation
    return crossing(p_value, difference / spread, (-math.inf, math.inf), step / spread, tail)
