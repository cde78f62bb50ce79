"""A strategy at a price: how much noise each measurement gets, what it costs, and the draw itself.

The event is computed from the very matrix and the very scales that the draw uses; there is no second list of either.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import groupby
from typing import Any, cast

import numpy as np

from privet import noise
from privet.accounting.events import PureEvent
from privet.core.errors import BadParameter, RequestError, raise_alone
from privet.core.event import Event
from privet.core.given import instance, set_fields
from privet.core.numbers import Number, positive, sqrt_down, sqrt_up, whole
from privet.core.scan import LONGEST_SHIFT
from privet.core.unit import Neighbors, read_neighbors
from privet.mechanisms.gaussian import GaussianEvent
from privet.mechanisms.lattice import exponent_below
from privet.mechanisms.laws import DiscreteLaplace

from .covariances import CellCovariance
from .given_numbers import read_integers
from .residuals import ResidualStrategy, SparseCounts
from .strategies import ProductStrategy, Strategy
from .unions import UnionStrategy
from .workloads import Floats, check_held

_BLUR = Fraction(1, 2**24)
_REACH = 40
_DEAREST = 1e300
_LEAST_VARIANCE = 2.0**-300
_RESIDUAL_STEPS = 64
"""The least variance, in squared steps and per cell of its marginal, of the noise that residuals are made from."""


@dataclass(frozen=True, init=False, repr=False)
class StrategyMeasure:
    """A strategy with its noise: its draws, its cost, and the precision of every answer.

    A unit has at most `contribution` rows over all cells, in L1: the sum of what it adds to cells. Scaling people in
    L2, as suffices for a histogram, does not bound what they add to a strategy.

    Args:
        strategy: the measurements.
        epsilon: the price of a pure strategy.
        rho: the price of a strategy with Gaussian noise, as zCDP.
        neighbors: "add-remove" or "change-one".
        contribution: the most that the cells of one unit sum to.
        shift: the binary places of the counts that are measured: they are integers worth 2**-shift rows each, as
            rows of people have who are scaled down.

    Example:
        >>> tree = strategy.tree(8, measure="pure")
        >>> measure = strategy.StrategyMeasure(tree, epsilon=1, neighbors="add-remove")
        >>> measure.event
        PureEvent(epsilon=Fraction(1, 1))

    Guarantee: let x and y be counts of neighbours. Under add-remove they differ by a vector u >= 0 (or its negative)
    whose entries sum to at most C, so |A u| <= sum u_i |a_i| <= C max |a_i| in any norm; under change-one by u - v, and
    by C max(|a_i - a_j|, |a_i|), as the norm is convex and largest at corners. Laplace noise of scale b_r on integers
    loses at most sum |(A u)_r| / b_r; with unequal scales only this pure bound is claimed. Gaussian noise has the curve
    of one number that moves by sqrt(sum (A u)_r^2 / sigma_r^2), with the blur of a grid that fine.
    Cites: [DMNS06, vectors], [CKS20, Thm 14], [LMHMR15].
    """

    strategy: Strategy
    neighbors: Neighbors
    contribution: Fraction
    scale: Fraction
    shift: int

    def __init__(
        self,
        strategy: Strategy,
        *,
        epsilon: Number | None = None,
        rho: Number | None = None,
        neighbors: Neighbors,
        contribution: Number = 1,
        shift: int = 0,
    ) -> None:
        instance(strategy, Strategy, "strategy", "a strategy, such as tree(64, measure='pure')")
        relation, most = read_neighbors(neighbors), positive(contribution, "contribution")
        places = whole(shift, "shift", most=LONGEST_SHIFT)
        set_fields(self, strategy=strategy, neighbors=relation, contribution=most, shift=places)
        if (epsilon is None) == (rho is None):
            raise RequestError("pass either epsilon, for a pure strategy, or rho, for one with Gaussian noise")
        if (epsilon is None) == (strategy.measure == "pure"):
            wanted = "epsilon" if strategy.measure == "pure" else "rho"
            raise RequestError(f"a strategy for {strategy.measure} noise is priced in {wanted}; pass {wanted}=")
        if epsilon is not None:
            scale = most * self.moved / _price(epsilon, "epsilon")
        else:
            scale = most**2 * self.moved / (2 * _price(rho, "rho"))
        set_fields(self, scale=scale)

    @property
    def moved(self) -> Fraction:
        """The norm that one row moves the strategy by, relative to its weights: L1, or L2 squared."""
        return self.strategy.column_norm() if self.neighbors == "add-remove" else self.strategy.pair_norm()

    @cached_property
    def event(self) -> Event:
        """What one release costs."""
        if self.strategy.measure == "pure":
            return PureEvent(self.contribution * self.moved / self.scale)
        return GaussianEvent(
            sensitivity_squared=self.contribution**2 * self.moved, sigma_squared=self.scale, blur=_BLUR
        )

    @cached_property
    def noises(self) -> tuple[tuple[Fraction, int], ...]:
        """The scale (pure) or variance (Gaussian) of the noise, and how many numbers in a row are drawn with it."""
        if isinstance(self.strategy, ResidualStrategy):
            made = self.strategy
            pairs = zip(made.subsets, made.weights, strict=True)
            return tuple((self.scale * made._unit(axes) / weight, made._draws(axes)) for axes, weight in pairs)
        runs = [(weight, sum(1 for _ in run)) for weight, run in groupby(self.strategy.row_weights())]
        scales = {weight: self.scale / weight for weight, _ in runs}
        return tuple((scales[weight], many) for weight, many in runs)

    @cached_property
    def exponent(self) -> int:
        """How many binary places released numbers have: those of the counts, or more for Gaussian noise.

        With m numbers of standard deviations sigma_r, a step of 2**-e and k = ceil(sqrt(m)), the logarithm of the
        ratio of discrete and continuous densities is at most (step / sigma) k (k + 40 + mu) but for a set of
        probability below 2**-900, by the Cauchy-Schwarz inequality in coordinates divided by sigma_r.
        """
        if self.strategy.measure == "pure":
            return self.shift
        root = math.isqrt(sum(many for _, many in self.noises) - 1) + 1
        mu = math.ceil(sqrt_up(self.contribution**2 * self.moved / self.scale))
        least = sqrt_down(min(variance for variance, _ in self.noises))
        exponent = max(self.shift, exponent_below(least * _BLUR / (root * (root + _REACH + mu))))
        if isinstance(self.strategy, ResidualStrategy):
            for variance, many in self.noises:
                while variance * 4**exponent < _RESIDUAL_STEPS * many:
                    exponent += 1
        return exponent

    @cached_property
    def variances(self) -> Floats:
        """The variance of each measurement (of each subset's noise for residuals), of the law that is drawn."""
        if isinstance(self.strategy, ResidualStrategy):
            return np.array([float(variance) for variance, _ in self.noises])
        spread = self._laplace_variance if self.strategy.measure == "pure" else float
        each = {scale: spread(scale) for scale in {scale for scale, _ in self.noises}}
        return np.repeat([each[scale] for scale, _ in self.noises], [many for _, many in self.noises])

    @cached_property
    def covariance(self) -> CellCovariance:
        """The covariance of the cells that least squares estimates from one release."""
        if self.strategy.measure == "pure" and isinstance(self.strategy, (ProductStrategy, UnionStrategy)):
            # Laplace noise on integers has a variance of at most 2 b^2
            return self.strategy.unit_covariance().scaled(float(self.scale / self.strategy.column_norm()) ** 2)
        if self.strategy.measure == "gaussian":
            return self.strategy.unit_covariance().scaled(float(self.scale / self.strategy.column_norm()))
        return self.strategy.covariance(self.variances)

    def draw(self, counts: Iterable[int]) -> Floats:
        """Return noisy measurements of exact integer counts, rounded to doubles after the noise is added.

        Draws from the operating system's source. Each call is one more release, which costs `event` again.
        """
        return self.worth(self.draw_integers(counts))

    def worth(self, integers: Iterable[int]) -> Floats:
        """Return what released integers are worth, in rows: 2**-exponent each."""
        exact = read_integers(integers, "integers")
        try:
            return np.array([integer / (1 << self.exponent) for integer in exact], dtype=np.float64)
        except OverflowError:
            raise_alone(RequestError("counts this large are no doubles; keep them exact with draw_integers"))

    def draw_integers(self, counts: Iterable[int] | SparseCounts) -> list[int]:
        """Return noisy measurements as exact integers, as `draw` does; each is worth 2**-exponent rows.

        Guarantee: of residuals, nothing but H (m + z) is returned, in exact integers; m + z is not kept.
        """
        check_held(sum(many for _, many in self.noises), "the list of measurements")
        if isinstance(self.strategy, ResidualStrategy):
            return self._draw_residuals(counts)
        exact = self.strategy.apply(cast(Any, counts))
        released = [0] * len(exact)
        places: dict[Fraction, list[int]] = {}
        first = 0
        for scale, many in self.noises:
            places.setdefault(scale, []).extend(range(first, first + many))
            first += many
        for scale, rows in places.items():
            for row, noisy in zip(rows, self._noisy([exact[row] for row in rows], scale), strict=True):
                released[row] = noisy
        return released

    def _draw_residuals(self, counts: Iterable[int] | SparseCounts) -> list[int]:
        strategy = self.strategy
        if not isinstance(strategy, ResidualStrategy):
            raise BadParameter("strategy", strategy, "a strategy of residuals")
        released: list[int] = []
        tables = zip(strategy.subsets, strategy._measured_tables(counts), self.noises, strict=True)
        for axes, table, (variance, _) in tables:
            noisy: Any = np.empty(table.size, dtype=object)
            noisy[:] = self._noisy(table.ravel().tolist(), variance)
            released += map(int, strategy._differences_of(axes, noisy.reshape(table.shape)).ravel().tolist())
        return released

    def _noisy(self, exact: list[int], scale: Fraction) -> list[int]:
        if self.strategy.measure == "pure":
            drawn = noise.discrete_laplace(scale * 2**self.exponent, len(exact))
        else:
            drawn = noise.discrete_gaussian(Fraction(math.ceil(scale * 4**self.exponent)), len(exact))
        finer = self.exponent - self.shift
        return [(int(value) << finer) + int(other) for value, other in zip(exact, drawn.tolist(), strict=True)]

    def _laplace_variance(self, scale: Fraction) -> float:
        steps = scale * 2**self.shift
        # noise that is 0 all but surely counts as a little, to be divided by
        exact = 2 * float(steps) ** 2 if steps > 1000 else max(DiscreteLaplace(scale=steps).variance, _LEAST_VARIANCE)
        return float(exact / 4**self.shift)

    def __repr__(self) -> str:
        pure = self.strategy.measure == "pure"
        price = f"epsilon={float(self.event.pure()):g}" if pure else f"rho={float(self.event.rho()):g}"
        return f"StrategyMeasure({self.strategy!r}, {price}, {self.neighbors})"


def _price(given: object, parameter: str) -> Fraction:
    """Return a price that doubles can show."""
    price = positive(given, parameter)
    if price > _DEAREST:
        raise BadParameter(parameter, given, f"a finite number above 0, up to {_DEAREST:g}")
    return price
