"""Propose a bound on the sensitivity, test privately whether it is true of all nearby data, and release only if so.

The result is an answer with little noise, or None. The test uses a distance, which one row moves by one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from privet import noise
from privet.accounting.events import ThresholdEvent
from privet.core.errors import BadParameter, BadValue
from privet.core.event import Composed
from privet.core.given import set_fields
from privet.core.numbers import Number, exp_down, log_up, open_probability, positive, whole

from .laplace import DiscreteLaplaceEvent, Laplace
from .lattice import read_numbers, read_ruler
from .mechanism import Mechanism, read_times, shown
from .quantile_one import read_share

# An answer with how far one change of a row moves it, on the data themselves and on all data some changes away.


@dataclass(frozen=True, repr=False)
class Local:
    """A private answer with its local sensitivities: `at_distance[k]` after any k rows, or fewer, have changed.

    The list never falls, and its length is public: the same for all data of that many rows.

    Args:
        value: the exact answer, private.
        at_distance: one local sensitivity for each distance from 0 on, private.

    Example:
        >>> mechanisms.Local(3, [1, 1, 2])
        Local(private)
    """

    value: Any
    at_distance: Sequence[Any]

    def __repr__(self) -> str:
        return "Local(private)"


def read_local(local: Local) -> tuple[int | float | Fraction, list[Fraction]]:
    """Return the answer and the local sensitivities, exactly; refuse without quoting them."""
    if not isinstance(local, Local):
        raise BadValue("value", f"a {type(local).__name__}", "a Local(value, at_distance)")
    allowed = "a list of finite numbers of at least 0, one for each distance from 0 on, never falling"
    answer, numbers = read_numbers(local.value, "value"), read_numbers(local.at_distance, "at_distance", wide=True)
    if answer.shape is not None:
        raise BadValue("value", "an array", "a single number")
    if numbers.shape is None or len(numbers.shape) != 1:
        raise BadValue("at_distance", "something else", allowed)
    entries = [Fraction(x) for x in numbers.values.tolist()]
    if any(a > b for a, b in pairwise([Fraction(0), *entries])):
        raise BadValue("at_distance", "other numbers", allowed)
    return answer.values, entries


def local_quantile(
    values: Any, q: Number, low: Number, high: Number, *, distances: int, step: Number | None = None
) -> Local:
    """Return the row of rank ceil(q n) with its local sensitivities at the distances 0 to distances - 1.

    Numbers are clamped and placed on the grid as `Quantile` does; neighbours change one row.

    Args:
        values: private numbers, one for each row.
        q: the share of the values below: 0.5 for the median.
        low: the lower public bound.
        high: the upper public bound.
        distances: how many distances are computed.
        step: the grid of the answers; a fine one is chosen if left out.

    Example:
        >>> mechanisms.local_quantile([1, 2, 3], 0.5, 0, 10, distances=2)
        Local(private)

    Guarantee: the sensitivity after k changes is max over t from 0 to k + 1 of x[m+t] - x[m+t-k-1], rows beyond the
    ends at the bounds.
    Cites: [NRS07, the median].
    """
    share, ruler = read_share(q, "q"), read_ruler(low, high, step)
    count = whole(distances, "distances", least=1, most=10**4)
    places = np.sort(ruler.place(values))
    n = places.size
    if n == 0:
        raise BadValue("values", "an empty list", "a list with at least one number; its length is public")
    middle = min(max(math.ceil(share * n), 1), n) - 1
    around = np.arange(middle - count, middle + count + 1)
    rows = np.where(around < 0, 0, np.where(around >= n, ruler.last, places[np.clip(around, 0, n - 1)]))
    gaps = [int((rows[count : count + k + 2] - rows[count - k - 1 : count + 1]).max()) for k in range(count)]
    return Local(ruler.low + int(places[middle]) * ruler.step, [gap * ruler.step for gap in gaps])


_LARGE = 1000
"""From this epsilon on e**-epsilon counts as nothing: its digits would take longer than the draw."""


@dataclass(frozen=True, init=False, repr=False)
class ProposeTestRelease(Mechanism):
    """Release an answer with noise for a proposed sensitivity, if the data are far from any where it is more.

    It takes a `Local`: the answer and its local sensitivity at each distance, in a list whose length is public. How
    far the data are is the first distance at which that exceeds `bound`. Half of epsilon pays for the test, unless
    `testing` is another share; the rest for the answer.

    Args:
        bound: the proposed sensitivity.
        epsilon: the privacy loss of one release, above 0.
        delta: the probability with which the loss may exceed epsilon.
        testing: the part of epsilon for the test.

    Raises:
        BadParameter: if a number is out of range.

    Example:
        >>> mechanism = mechanisms.ProposeTestRelease(bound=1, epsilon=1, delta=1e-6)
        >>> mechanism.event.pure()
        Fraction(1, 1)

    Guarantee: (epsilon, delta)-DP under change-one neighbours. The distance d moves by at most 1 between neighbours and
    gets discrete Laplace noise of scale 1 / epsilon_1; an answer comes out if the sum exceeds `threshold`. If one of
    two neighbours has a local sensitivity within the bound, their answers differ by at most the bound, and both steps
    together cost epsilon_1 + epsilon_2. If neither has, both have d = 0, the refusals are equally likely, and an
    answer comes out with probability P[noise > threshold] = a^(threshold + 1) / (1 + a) <= delta, a = e^-epsilon_1.
    Cites: [DL09, propose-test-release], [DR14, Sec. 7.2].
    """

    laplace: Laplace
    test_epsilon: Fraction
    delta: Fraction

    def __init__(self, *, bound: Number, epsilon: Number, delta: Number, testing: Number = Fraction(1, 2)) -> None:
        total, share = positive(epsilon, "epsilon"), open_probability(testing, "testing")
        set_fields(
            self,
            laplace=Laplace(sensitivity=positive(bound, "bound"), epsilon=(1 - share) * total),
            test_epsilon=share * total,
            delta=open_probability(delta, "delta"),
        )
        if self.delta < Fraction(1, 10**300):
            raise BadParameter("delta", delta, "at least 1e-300")

    @cached_property
    def event(self) -> ThresholdEvent:
        """The event of one release, whether an answer comes out or not."""
        test = DiscreteLaplaceEvent(steps=1, scale=1 / self.test_epsilon)
        return ThresholdEvent(Composed((test, self.laplace.event)), self.delta)

    @cached_property
    def threshold(self) -> int:
        """The least T with P[noise > T] <= delta: data at a distance well above it get an answer."""
        # a^(T+1) <= delta (1 + a); rounding up the logarithm, and down the a, makes T no smaller
        a = exp_down(-self.test_epsilon) if self.test_epsilon < _LARGE else Fraction(0)
        odds = 1 / (self.delta * (1 + a))
        return max(0, math.ceil(log_up(odds) / self.test_epsilon) - 1) if odds > 1 else 0

    def release(self, value: Any) -> Any:
        """Return the answer of a `Local` with noise, or None where its sensitivity is not surely within the bound."""
        answer, distance = self._measure(value)
        released = self.laplace.release(answer)  # drawn in either case
        passed = distance + noise.discrete_laplace(1 / self.test_epsilon) > self.threshold
        return released if passed else None

    def simulate(self, value: Any, times: int) -> list[Any]:
        """Return this many releases of the same `Local`. Each costs the event once more."""
        answer, distance = self._measure(value)
        released = self.laplace.simulate(answer, read_times(times)).tolist()
        passed = distance + noise.discrete_laplace(1 / self.test_epsilon, len(released)) > self.threshold
        return [number if shown_ else None for number, shown_ in zip(released, passed.tolist(), strict=True)]

    def _measure(self, value: Any) -> tuple[int | float | Fraction, int]:
        answer, entries = read_local(value)
        return answer, sum(entry <= self.laplace.sensitivity for entry in entries)

    def error(self, confidence: Number = 0.95) -> float:
        """Return a half-width that the noise of an answer stays within with this probability, where one comes out."""
        return self.laplace.error(confidence)

    def __repr__(self) -> str:
        bound = shown(self.laplace.sensitivity)
        return f"ProposeTestRelease(bound={bound}, epsilon={float(self.event.pure()):.6g}, delta={shown(self.delta)})"
