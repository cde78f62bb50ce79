"""A quantile with noise in proportion to its smooth sensitivity, at the price of selecting the rows next to it.

Only rows within some number of ranks can matter, since the weight of a distance falls like exp(-beta k) and the bound
has a floor. Among those, the best pair of rows is found by divide and conquer.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privet.accounting.events import ApproximateEvent, PureEvent
from privet.core.errors import BadValue
from privet.core.rounding import float_down, inflate

from .mechanism import Mechanism, shown
from .quantile_one import read_share
from .smooth import LEAST_SCALE, SmoothSensitivity
from .tails import Tail

_SQUARE = 512
_TIE = 1 - 2.0**-40


@dataclass(frozen=True, init=False, repr=False)
class SmoothQuantile(Mechanism):
    """Release the q-quantile of numbers between two public bounds with noise in proportion to its smooth sensitivity.

    The quantile of n numbers is the one of rank ceil(q n), at least 1. Neighbours change one row, so n is public.
    Numbers are clamped and placed on the grid as `Quantile` does.

    Guarantee: that of `SmoothSensitivity`. With the row of rank m asked for, rows before the first at low and after the
    last at high, k changes of rows can make any of x[m+t], t from -k to k, the one asked for, so the local
    sensitivity at distance k is max over t from 0 to k + 1 of x[m+t] - x[m+t-k-1]; the smooth bound is the largest
    exp(-b (j - i - 1)) (x[j] - x[i]) over i <= m <= j, i < j. Pairs further apart than the window do not reach the
    least bound, whatever they hold. Placing a number is a function of that number alone.
    Cites: [NRS07, the median].
    """

    q: Fraction
    smooth: SmoothSensitivity

    def __init__(
        self,
        *,
        q: object,
        low: object,
        high: object,
        epsilon: object,
        noise: Tail | None = None,
        step: object = None,
        smoothing: object = Fraction(1, 2),
    ) -> None:
        object.__setattr__(self, "q", read_share(q, "q"))
        smooth = SmoothSensitivity(low=low, high=high, epsilon=epsilon, noise=noise, step=step, smoothing=smoothing)
        object.__setattr__(self, "smooth", smooth)

    @property
    def event(self) -> PureEvent | ApproximateEvent:
        """The event of one release."""
        return self.smooth.event

    def release(self, values: Any) -> Any:
        """Return the quantile of a list or one-dimensional array: an int where every place is whole, else a float."""
        place, bound = self._measure(values)
        return self.smooth.release_steps(place, bound)

    def simulate(self, values: Any, times: int) -> NDArray[Any]:
        """Return so many releases of the same values. Each costs the event once more."""
        return self.smooth.simulate_steps(*self._measure(values), times)

    def smooth_sensitivity(self, values: Any) -> float:
        """Return the smooth sensitivity that a release of these values would use. It is as private: not for release."""
        return float(self.smooth.rung(self._measure(values)[1]) * self.smooth.ruler.step)

    def error(self, confidence: object = 0.95, *, sensitivity: object) -> float:
        """Return a half-width that the noise stays within with this probability, at a smooth sensitivity."""
        return self.smooth.error(confidence, sensitivity=sensitivity)

    @cached_property
    def _window(self) -> int:
        """How many ranks to each side can matter: exp(-b k) times the whole range is below the least bound beyond."""
        largest = math.log(self.smooth.ruler.last) - math.log(LEAST_SCALE)
        return math.ceil(inflate(largest) / float_down(self.smooth.smooth_beta)) + 1

    def _measure(self, values: Any) -> tuple[int, float]:
        places = self.smooth.ruler.place(values)
        n, reach = places.size, self._window
        if n == 0:
            raise BadValue("values", "an empty list", "a list with at least one number; its length is public")
        middle = min(max(math.ceil(self.q * n), 1), n) - 1
        low, high = middle - reach, middle + reach
        if low > 0:
            places.partition(low)
        if high < n - 1:
            places[max(low, 0) :].partition(high - max(low, 0))
        near = np.sort(places[max(low, 0) : high + 1])
        # One padding row on each side stands for all of them: further ones are further apart and no wider.
        padded = np.concatenate(([0] if low < 0 else [], near, [self.smooth.ruler.last] if high >= n else []))
        centre = middle - max(low, 0) + (low < 0)
        return int(padded[centre]), best_pair(padded.astype(np.int64), centre, self.smooth.smooth_beta)

    def __repr__(self) -> str:
        ruler = self.smooth.ruler
        told = (
            f"q={shown(self.q)}, low={shown(ruler.low)}, high={shown(ruler.high)}, epsilon={shown(self.smooth.total)}"
        )
        return f"SmoothQuantile({told}, noise={self.smooth.noise!r})"


def best_pair(rows: NDArray[np.int64], middle: int, beta: Fraction) -> float:
    """Return max over i <= middle <= j, i < j, of (rows[j] - rows[i]) exp(-beta (j - i - 1)), rounded up a little.

    Rows are in order. A best j for i does not fall as i rises: if j' > j is no worse for i, then
    rows[j'] c' - rows[j] c >= rows[i] (c' - c) for c' = exp(-beta j') < c, and a larger row on the right makes that
    easier. So the best j for the middle i bounds those of both halves. Since computed values may tie, the bound is
    the least j that is within the error of the best for the upper half, and the greatest for the lower.

    Guarantee: no less than the maximum, and more by less than a part in 2**38.
    Cites: [NRS07, the median].
    """
    decay = np.exp(-float_down(beta) * np.arange(rows.size))
    ends = rows[middle:].astype(np.float64)

    def scores(i: int, first: int, last: int) -> NDArray[np.float64]:
        """Return the scores of i with each j from middle + first to middle + last."""
        gaps = ends[first : last + 1] - float(rows[i])
        start = middle + first - i - 1
        if start < 0:  # the pair of the middle with itself
            return np.concatenate(([0.0], gaps[1:] * decay[: gaps.size - 1]))
        return np.asarray(gaps * decay[start : start + gaps.size])

    best, waiting = 0.0, [(0, middle, 0, ends.size - 1)]
    while waiting:
        low, high, first, last = waiting.pop()
        if high < low:
            continue
        if (high - low + 1) <= 2 or (high - low + 1) * (last - first + 1) <= _SQUARE:
            best = max(best, *(float(scores(i, first, last).max()) for i in range(low, high + 1)))
            continue
        i = (low + high) // 2
        found = scores(i, first, last)
        top = float(found.max())
        best = max(best, top)
        near = np.flatnonzero(found >= top * _TIE) if top > 0 else np.array([0, last - first])
        waiting.append((low, i - 1, first, first + int(near[-1])))
        if top > 0 or rows[i] < rows[middle]:
            waiting.append((i + 1, high, first + int(near[0]), last))
    return inflate(best)
