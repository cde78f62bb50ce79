"""Several quantiles at once, by one joint choice: the best way to release a handful of them, or dozens.

A little of epsilon buys the number of rows. Then every gap between quantiles has a target, a row lies in one gap, and
so the whole list of miscounts moves by one, not by one for each quantile.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from privet import noise
from privet.core.errors import BadParameter
from privet.core.event import Composed, Event
from privet.core.exact import positive
from privet.core.sensitivity import Neighbors, read_neighbors
from privet.noise.coins import Below

from .exponential import ExponentialEvent
from .joint_choice import JointRanks
from .laplace import DiscreteLaplaceEvent
from .mechanism import Mechanism, shown
from .quantile_one import Quantile
from .quantile_recursive import RecursiveQuantiles, read_shares, spread
from .ruler import Ruler, read_ruler

_SPREAD_BITS = 19
_STEEPEST = Fraction(2)
"""The largest kappa: gaps are then off by less than one row on average, and no weight that matters vanishes."""


@dataclass(frozen=True, init=False, repr=False)
class Quantiles(Mechanism):
    """Release several quantiles of numbers between two public bounds, in order, by one joint choice.

    Bounds, step and neighbours are those of `Quantile`; for one quantile, that is better. Numbers at the same place are
    first spread over finer places, at random and each by itself; what is released is the place. It takes memory for
    a few numbers per row and quantile: for many millions of rows take `RecursiveQuantiles`.

    Guarantee: epsilon-DP. Spreading is a random function of each number alone. Under add-remove neighbours the number
    of rows gets discrete Laplace noise first, at `count_epsilon`; given the outcome N, places o_1 <= ... <= o_m are
    chosen with probability proportional to exp(-kappa sum_j |n_j - w_j N|), n_j the rows in the j-th gap and w_j its
    share. A row that comes or goes moves one n_j by 1, so every exponent by kappa at most: a loss of range 2 kappa.
    With the private number of rows in place of N it would be nearly twice that. Under change-one neighbours the number
    of rows is public and takes N's place; a change moves two n_j: a range of 4 kappa. The choice is exact.
    Cites: [GJK21, JointExp] for the joint choice, with targets in proportion to the number of rows; [MT07, Thm 6].
    """

    shares: tuple[Fraction, ...]
    ruler: Ruler
    count_epsilon: Fraction
    kappa: Fraction
    neighbors: Neighbors

    def __init__(
        self,
        *,
        quantiles: object,
        low: object,
        high: object,
        epsilon: object,
        step: object = None,
        neighbors: Neighbors = "add-remove",
    ) -> None:
        shares, total = read_shares(quantiles), positive(epsilon, "epsilon")
        if total < Fraction(1, 10**200):
            raise BadParameter("epsilon", epsilon, "at least 1e-200")
        if len(shares) < 2:
            raise BadParameter("quantiles", quantiles, "at least two shares; for one, use Quantile")
        if read_neighbors(neighbors) == "add-remove":
            # Fewer quantiles lean more on the number of rows; the split is close to the best for ranks in simulation.
            counting = total * Fraction(3, 12 + len(shares))
            kappa = (total - counting) / 2
        else:
            counting, kappa = Fraction(0), total / 4
        object.__setattr__(self, "shares", shares)
        object.__setattr__(self, "ruler", read_ruler(low, high, step))
        object.__setattr__(self, "count_epsilon", counting)
        object.__setattr__(self, "kappa", min(kappa, _STEEPEST))
        object.__setattr__(self, "neighbors", neighbors)

    @cached_property
    def event(self) -> Event:
        """The event of one release."""
        if self.neighbors == "change-one":
            return ExponentialEvent(epsilon=4 * self.kappa)
        count = DiscreteLaplaceEvent(steps=1, scale=1 / self.count_epsilon)
        return Composed((count, ExponentialEvent(epsilon=2 * self.kappa)))

    def release(self, values: Any) -> Any:
        """Return the quantiles of a list or one-dimensional array: int64 where every place is whole, else floats."""
        rows = spread(self.ruler.place(values), _SPREAD_BITS)
        rows.sort()
        end = (self.ruler.last + 1) << _SPREAD_BITS
        edges = np.concatenate(([0], rows, [end]))
        number = int(rows.size)
        if self.neighbors == "add-remove":
            number = max(0, number + noise.discrete_laplace(1 / self.count_epsilon))
        ranks = JointRanks(np.diff(edges), targets(self.shares, number), self.kappa).draw()
        places = sorted(int(edges[t]) + Below(int(edges[t + 1] - edges[t])).draw() for t in ranks)
        return self.ruler.at([place >> _SPREAD_BITS for place in places])

    def __repr__(self) -> str:
        bounds = f"low={shown(self.ruler.low)}, high={shown(self.ruler.high)}"
        told = f"{len(self.shares)} quantiles, {bounds}, epsilon={self.epsilon:.6g}, neighbors={self.neighbors!r}"
        return f"Quantiles({told})"


def targets(shares: tuple[Fraction, ...], number: int) -> list[Fraction]:
    """Return how many of so many rows should lie in each gap between quantiles."""
    return [(high - low) * number for low, high in pairwise((Fraction(0), *shares, Fraction(1)))]


def quantiles(
    values: Any,
    shares: object,
    low: object,
    high: object,
    epsilon: object,
    *,
    step: object = None,
    neighbors: Neighbors = "add-remove",
) -> Any:
    """Return private quantiles of numbers in [low, high], in order, by whichever way is off by the fewest ranks.

    One is released by `Quantile`, three by `RecursiveQuantiles`, any other number by `Quantiles`: which one is chosen
    from the number of shares alone.

    Guarantee: as that mechanism.
    """
    listed = read_shares(shares)
    if len(listed) == 1:
        one = Quantile(q=listed[0], low=low, high=high, epsilon=epsilon, step=step, neighbors=neighbors)
        return np.array([one.release(values)])
    kind = RecursiveQuantiles if len(listed) == 3 and neighbors == "add-remove" else Quantiles
    return kind(quantiles=listed, low=low, high=high, epsilon=epsilon, step=step, neighbors=neighbors).release(values)
