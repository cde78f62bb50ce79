"""SUM(x): the sum of x clamped to its bounds."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from types import MappingProxyType
from typing import TYPE_CHECKING

from privet.core.scan import Sum

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
