"""An average of bounded numbers, the wise way: the two distances from the bounds are summed, and one noise covers both.

Each number adds high - x to one sum and x - low to the other: together exactly high - low. So neither a split of
epsilon between a sum and a count is needed, nor a guess at the centre.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privet.core.errors import BadValue
from privet.core.given import set_fields
from privet.core.numbers import Number, float_up, positive, rational, whole
from privet.core.unit import Neighbors, read_neighbors

from .laplace import DiscreteLaplaceEvent, Laplace
from .lattice import Ruler, read_ruler
from .mechanism import Mechanism, read_times, shown


@dataclass(frozen=True, init=False, repr=False)
class Average(Mechanism):
    """Release the average of numbers between two public bounds.

    Numbers are clamped and placed on the grid as `Quantile` does. Under add-remove neighbours the number of rows is
    private too; under change-one it is public, and a sum is enough.

    Args:
        low: the lower public bound.
        high: the upper public bound.
        epsilon: the privacy loss of one release, above 0.
        step: the grid of the answers; a fine one is chosen if left out.
        neighbors: "add-remove" or "change-one".

    Raises:
        BadParameter: if a number is out of range.

    Example:
        >>> mechanism = mechanisms.Average(low=0, high=120, epsilon=1)
        >>> mechanism.epsilon
        1.0

    Guarantee: epsilon-DP. On places 0 to m, a row at place p adds m - p to one sum and p to the other, both whole: a
    row that comes or goes moves them by m together, in L1, and discrete Laplace noise of scale m / epsilon on each
    covers that. What follows is a function of the two noisy sums. Under change-one the sum of the places moves by at
    most m.
    Cites: [DMNS06, the Laplace mechanism].
    """

    ruler: Ruler
    laplace: Laplace
    neighbors: Neighbors

    def __init__(
        self,
        *,
        low: Number,
        high: Number,
        epsilon: Number,
        step: Number | None = None,
        neighbors: Neighbors = "add-remove",
    ) -> None:
        width = positive(epsilon, "epsilon")
        set_fields(self, ruler=read_ruler(low, high, step))
        set_fields(
            self, laplace=Laplace(sensitivity=self.ruler.last, epsilon=width), neighbors=read_neighbors(neighbors)
        )

    @cached_property
    def event(self) -> DiscreteLaplaceEvent:
        """The event of one release."""
        return self.laplace.event

    def release(self, values: Any) -> float:
        """Return the average of a list or one-dimensional array, within the bounds."""
        n, sums = self._sums(values)
        return self._read(n, *map(self.laplace.release, sums))

    def simulate(self, values: Any, times: int) -> NDArray[np.float64]:
        """Return this many releases of the same values. Each costs the event once more."""
        n, sums = self._sums(values)
        noisy = [self.laplace.simulate(each, read_times(times)).tolist() for each in sums]
        drawn = list(zip(*noisy, strict=True))
        read = {sample: self._read(n, *sample) for sample in set(drawn)}
        return np.array([read[sample] for sample in drawn], dtype=np.float64)

    def _sums(self, values: Any) -> tuple[int, tuple[int, ...]]:
        """Return the number of rows and the sums that get noise: from low, and from high where the number is private.

        Under change-one neighbours the number of rows is public.
        """
        places = self.ruler.place(values)
        n, above = int(places.size), _sum(places)
        if self.neighbors == "add-remove":
            return n, (above, n * self.ruler.last - above)
        if n == 0:
            raise BadValue("values", "an empty list", "a list with at least one number; its length is public")
        return n, (above,)

    def _read(self, n: int, *noisy: int) -> float:
        last = self.ruler.last
        share = _share(*noisy) if len(noisy) == 2 else Fraction(noisy[0], n * last)
        answer = self.ruler.low + min(max(share, Fraction(0)), Fraction(1)) * last * self.ruler.step
        return float(answer)

    def standard_error(self, *, size: int, mean: Number) -> float:
        """Return the standard deviation of the noise for this many numbers of this average, to first order.

        With p the average's place between the bounds: sqrt(2) (high - low) sqrt(p^2 + (1 - p)^2) / (epsilon n), and
        under change-one sqrt(2) (high - low) / (epsilon n).
        """
        n, width = whole(size, "size", least=1, most=2**53), self.ruler.last * self.ruler.step
        p = min(max((rational(mean, "mean") - self.ruler.low) / width, Fraction(0)), Fraction(1))
        spread = p * p + (1 - p) ** 2 if self.neighbors == "add-remove" else Fraction(1)
        return math.sqrt(self.laplace.variance * float_up(spread)) * float_up(self.ruler.step) / n

    def __repr__(self) -> str:
        bounds = f"low={shown(self.ruler.low)}, high={shown(self.ruler.high)}"
        return f"Average({bounds}, epsilon={self.epsilon:.6g}, neighbors={self.neighbors!r})"


def _sum(places: Any) -> int:
    """Return the exact sum: in halves of 21 bits, since 2**40 places of 42 bits would not fit an int64."""
    return (int((places >> 21).sum(dtype=np.int64)) << 21) + int((places & (2**21 - 1)).sum(dtype=np.int64))


def _share(above: int, below: int) -> Fraction:
    """Return above / (above + below), or one half where the sums are all noise."""
    total = above + below
    return Fraction(above, total) if total > 0 else Fraction(1, 2)
