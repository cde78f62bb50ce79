"""MEDIAN, QUANTILE, MIN and MAX: a place of a public grid, chosen by its rank. Not a sum: a selection."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from types import MappingProxyType
from typing import TYPE_CHECKING, Self

from privet.core.scan import Sum

from .aggregate import Aggregate, Argument, Wanted

if TYPE_CHECKING:
    from privet.core.event import Floats


@dataclass(frozen=True)
class Ranked(Aggregate):
    """The value below which a share of the values of x lies: 1/2 for the median; 0 and 1 for the ends, nearly."""

    argument: Argument
    share: Fraction
    names = MappingProxyType({"quantile": ("QUANTILE", "MEDIAN", "MIN", "MAX")})
    typical = "quantiles"
    unsampled = "the interval of a quantile is drawn with it; ask with covers='population', which is another answer"
    own_pass = True

    @classmethod
    def of(cls, wanted: Wanted) -> Self:
        (argument,) = wanted.arguments
        return cls(argument, Fraction(wanted.options["share"]))

    @property
    def extreme(self) -> bool:
        """Whether it is an end of the values, whose interval reaches from what is released to a declared bound."""
        return self.share in (0, 1)

    def places(self, most: int) -> Sum:
        """Return the grid: every value of a declared step, or of whole numbers, where there are no more than `most`."""
        low, high = self.argument.low, self.argument.high
        step = self.argument.step
        if step is None:
            step = (high - low) / most or Fraction(1)
        step *= max(1, math.ceil((high - low) / step / most))
        last = math.floor((high - low) / step)
        return Sum(self.argument.expression, 0, last, origin=low, step=step, where=self.argument.where)

    def rounds(self, grid: Sum) -> bool:
        """Whether a grid stands for values between its places too, so that a place is known to half a step only."""
        return self.argument.step != grid.step

    def sums(self) -> tuple[Sum, ...]:
        """Return no sums: what is released is chosen."""
        return ()

    def read(self, *released: Floats) -> Floats:
        """Return the value of the place that was chosen."""
        return released[0]

    @property
    def ends(self) -> tuple[float, float]:
        return float(self.argument.low), float(self.argument.high)
