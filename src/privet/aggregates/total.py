"""SUM(x): the sum of x clamped to its bounds, by itself or from what is released for a mean of x."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from types import MappingProxyType
from typing import TYPE_CHECKING

from privet.core.scan import Sum
from privet.inference.bars import Bars, Law, half_width

from .aggregate import Aggregate, Argument

if TYPE_CHECKING:
    from privet.core.event import Floats


@dataclass(frozen=True)
class Total(Aggregate):
    """The sum of x; 0 where there is nothing to sum."""

    argument: Argument
    names = MappingProxyType({"sum": ("SUM",)})
    additive = True

    def sums(self) -> tuple[Sum, ...]:
        return (self.argument.plain(),)

    def read(self, *released: Floats) -> Floats:
        return released[0] * float(self.linear)

    @property
    def linear(self) -> Fraction:
        return self.argument.plain().step

    @property
    def ends(self) -> tuple[float, float]:
        return (0.0 if self.argument.low >= 0 else float("-inf")), (0.0 if self.argument.high <= 0 else float("inf"))


@dataclass(frozen=True)
class SumValues(Total):
    """The sum of the different values of x, in a scan where each of them counts once."""

    names = MappingProxyType({"sum_distinct": ()})
    additive = False
    own_pass = True

    def sums(self) -> tuple[Sum, ...]:
        return (replace(self.argument.plain(), null_as=None),)


@dataclass(frozen=True)
class CountEach(Total):
    """The sum of numbers of rows that were counted within each person."""

    names = MappingProxyType({"count_each": ()})
    counts = True


@dataclass(frozen=True)
class CentredTotal(Aggregate):
    """The sum of x from its sum centred in the bounds, and from the count: centred + middle * count.

    Where both are released for a mean, this needs no third sum. Its noise is that of the centred sum and `middle` times
    that of the count, which are independent: the same whatever the data.
    """

    argument: Argument
    names = Total.names
    additive = True
    steady = True
    exactly = True

    def sums(self) -> tuple[Sum, ...]:
        return self.argument.centred(), self.argument.present()

    def read(self, *released: Floats) -> Floats:
        return released[0] * float(self.argument.centred().step) + released[1] * float(self.argument.middle)

    def bars(self, released: Sequence[Floats], laws: Sequence[Law], tail: float) -> Bars:
        """Return intervals in closed form: of the sum of two known noises."""
        import numpy as np

        value, half = self.read(*released), self.predicted_width(laws, 1, tail)
        total, count = self._scaled(laws)
        error = np.full_like(value, np.hypot(total.deviation, float(self.argument.middle) * count.deviation))
        low, high = self.ends
        return Bars(np.clip(value - half, low, high), np.clip(value + half, low, high), error)

    def predicted_width(self, laws: Sequence[Law], n: int, tail: float) -> float:
        """Return the half-width of an interval, which is the same on any data.

        Guarantee: that of `half_width`: exact for the sum of two Laplace or Gaussian noises, and half a step of each
        more for the grids that they lie on.
        """
        import numpy as np

        total, count = self._scaled(laws)
        return float(half_width(total, count, np.array([float(self.argument.middle)]), tail)[0])

    def _scaled(self, laws: Sequence[Law]) -> tuple[Law, Law]:
        total = laws[0].times(float(self.argument.centred().step))
        return total, laws[1] if laws[1].mixed else replace(laws[0], scale=laws[1].scale, step=laws[1].step)

    @property
    def most(self) -> float:
        """How far from zero one row can move the sum."""
        return float(max(abs(self.argument.low), abs(self.argument.high)))

    @property
    def ends(self) -> tuple[float, float]:
        return Total(self.argument).ends
