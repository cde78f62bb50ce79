"""The threshold above which a key that is not public may be shown, for Laplace and for Gaussian noise."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from typing import TYPE_CHECKING, Literal

from privet.core.rounding import float_near, float_up

from .gaussian import Gaussian
from .key_selection import KeySelection, read_count
from .laplace import Laplace

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

SHIFT = 20
"""People count in steps of 2**-20, so that a threshold need not be a whole number of them."""

Order = Literal[0, 1, 2]
"""How a person's weight is shared over their keys: 1 to each (0), 1/t to each of t (1), 1/sqrt(t) to each (2)."""


def threshold_for(
    noise: Laplace | Gaussian, *, most: int, order: Order, shift: int, group: int, delta: Fraction
) -> int:
    """Return the least whole weight that a key's noisy weight must exceed for the key to be released.

    A unit with t <= `most` keys gives each at most w_t, which is 2**shift over 1, t or sqrt(t), so that its own keys,
    which its absence removes, show with probability at most 1 - prod P[noise <= T - w_t] <= delta if P[noise > T - w_t]
    <= 1 - (1 - delta)**(1/t): hence T = max over t of w_t + q_t. With m units together, a key may carry m weights, and
    there may be m times as many: T = m w_1 + q for m * most keys.

    Guarantee: the keys that only one unit (or group) holds add at most `delta` to the noise's own delta. Under
    change-one the units before and after each have such keys, which show with probabilities a, b <= delta. Then the
    divergence at e^eps is at most a + (1 - a) H(r e^eps) with r = (1 - b) / (1 - a) and H the noise's; for r >= 1 it is
    at most a + H(e^eps), and for r < 1 convexity gives H(r t) <= r H(t) + (1 - r), hence at most b + H(e^eps).
    Cites: [KKMN09, noisy thresholds], [SDH23], [DVGM22, the optimal rule].
    """
    one = 1 << shift
    if group > 1 or order == 0:
        return group * one + _quantile(noise, _tail(delta, group * most))
    return max(_weight(one, first, order) + _quantile(noise, _tail(delta, last)) for first, last in _runs(most))


class NoisyThreshold(KeySelection):
    """Show a key where its number of people, in steps of 2**-20 and with noise, exceeds a threshold in such steps."""

    noise: Laplace | Gaussian
    threshold: int

    def probability(self, people: int) -> float:
        """Return how likely a key is shown that so many people hold, to about 1e-6 of it."""
        count = read_count(people)
        return _above(self.noise, self.threshold - (count << SHIFT)) if count else 0.0

    def _draw(self, counts: NDArray[np.object_]) -> NDArray[np.bool_]:
        import numpy as np

        return np.asarray(self.noise.release(counts << SHIFT) > self.threshold, dtype=np.bool_)


def _above(noise: Laplace | Gaussian, value: int) -> float:
    """Return P[noise > value] on integers far finer than the noise: for reading, never for deciding."""
    if isinstance(noise, Laplace):
        step = float_up(1 / noise.scale)
        beyond = math.exp(-step * float_near(Fraction(value + 1 if value >= 0 else -value))) / (1 + math.exp(-step))
        return beyond if value >= 0 else 1 - beyond
    return (
        math.erfc((float_near(Fraction(value)) + 0.5) / noise.sigma / math.sqrt(2)) / 2
    )  # rounded: above value from value + 1/2 on


def _runs(most: int) -> Iterator[tuple[int, int]]:
    """Yield numbers of keys, one by one at first and then in short runs, whose ends bound all within them."""
    first = 1
    while first <= most:
        last = min(most, first + first // 64)
        yield first, last
        first = last + 1


def _weight(one: int, keys: int, order: Order) -> int:
    return one // keys if order == 1 else math.isqrt(one * one // keys)


def _tail(delta: Fraction, keys: int) -> float:
    """Return 1 - (1 - delta)**(1/keys), rounded down."""
    return -math.expm1(math.log1p(-float(delta)) / keys) * (1 - 2.0**-30)


def _quantile(noise: Laplace | Gaussian, tail: float) -> int:
    """Return a whole q with P[noise > q] <= tail, for the noise as it is drawn."""
    if isinstance(noise, Laplace):
        # P[noise > q] = a^(q+1) / (1+a) on the integers, below e^(-q/scale) / 2 on finer grids, which raise it
        raised = 2.0**-40 if noise.grid == "whole" else 2.0**-14
        return math.ceil(float_up(noise.scale) * (1 + raised) * max(0.0, -math.log(2 * tail))) + 1
    return _gaussian_quantile(noise, tail)


def _gaussian_quantile(noise: Gaussian, tail: float) -> int:
    from scipy.special import ndtri

    # the discrete law on a fine grid has tails within e^blur of the continuous one's, and is then rounded
    return math.ceil(noise.sigma * (1 + 2.0**-20) * max(0.0, -float(ndtri(tail * (1 - 2.0**-20))))) + 1
