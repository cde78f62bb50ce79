"""Aggregates whose answer is chosen and not summed: QUANTILE and its like, MODE and TOP_K, and BOUNDS.

A quantile is a place of a public grid, chosen by its rank; a mode is chosen among the values of a column. BOUNDS is a
range that contains most values of x, from noisy counts in public ranges that double, and needs no declared bounds: the
ranges are zero, and powers of two of either sign; values beyond the largest count in it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal, Self

from privet.core.relation import Call, Expression
from privet.core.relation import Literal as Constant
from privet.core.scan import GroupKey, Sum
from privet.core.schema import Kind

from .aggregate import Aggregate, Argument, Wanted, rows

if TYPE_CHECKING:
    from privet.core.event import Floats


_POWERS = {"integer": (0, 63), "number": (-32, 64)}
"""The first range of either sign ends at the first power of two, and the last at the last."""

_INT64 = 2**63


@dataclass(frozen=True)
class Ranked(Aggregate):
    """The value below which a share of the values of x lies: 1/2 for the median; 0 and 1 for the ends, nearly."""

    argument: Argument
    share: Fraction
    names = MappingProxyType({"quantile": ("QUANTILE", "MEDIAN", "MIN", "MAX")})
    typical = "quantiles"
    ranked = True
    unsampled = "the interval of a quantile is drawn with it; ask with covers='population', which is another answer"
    own_pass = True

    @classmethod
    def of(cls, wanted: Wanted) -> Self:
        (argument,) = wanted.arguments
        return cls(argument, Fraction(wanted.options["share"]))

    @property
    def extreme(self) -> bool:
        """Whether it is an end of the values, whose interval reaches from the released value to a declared bound."""
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
        """Return no sums: the release is a choice."""
        return ()

    def read(self, *released: Floats) -> Floats:
        """Return the value of the place that was chosen."""
        return released[0]

    @property
    def ends(self) -> tuple[float, float]:
        return float(self.argument.low), float(self.argument.high)


@dataclass(frozen=True)
class Mode(Aggregate):
    """The value of x at a rank, from 1, among the k most frequent; NULL is none of them, and stands for none.

    The mode is the first of one.
    """

    expression: Expression
    values: Kind
    where: Expression | None
    k: int
    rank: int
    names = MappingProxyType({"mode": ("MODE", "TOP_K")})
    bounded = False
    chosen = True
    unsampled = "values are chosen by their counts, and no interval goes with a choice; ask for the counts by value"
    own_pass = True

    @classmethod
    def of(cls, wanted: Wanted) -> Self:
        (argument,), (kind,) = wanted.arguments, wanted.kinds
        k, rank = (int(wanted.options[name]) for name in ("k", "rank"))
        return cls(argument.expression, kind or "text", wanted.where, k, rank)

    def sums(self) -> tuple[Sum, ...]:
        """Return no sums: the release is a choice."""
        return ()

    def read(self, *released: Floats) -> Floats:
        """Return the values that were chosen."""
        return released[0]

    @property
    def kind(self) -> Kind:
        return self.values


Side = Literal["low", "high"]


@dataclass(frozen=True)
class Span(Aggregate):
    """The low or the high end of the ranges of x in which more rows are counted than noise alone would make likely.

    NULL where there is no such range. A noisy count must exceed `threshold`.
    """

    expression: Expression
    values: Kind
    where: Expression | None
    side: Side
    threshold: float = 0.0
    names = MappingProxyType({"bounds": ("BOUNDS",)})
    bounded = False
    chosen = True
    unsampled = "ranges are chosen by their counts, and no interval goes with a choice"
    own_pass = True

    @classmethod
    def of(cls, wanted: Wanted) -> Self:
        (argument,), (kind,) = wanted.arguments, wanted.kinds
        side: Side = "low" if wanted.options["side"] == "low" else "high"
        return cls(argument.expression, "integer" if kind == "integer" else "number", wanted.where, side)

    def sums(self) -> tuple[Sum, ...]:
        """Return the count of rows, which is released for each range."""
        return (rows(None),)

    @cached_property
    def ranges(self) -> GroupKey:
        """The number of the range of x: 0 for zero, from 1 for those above it and from -1 for those below."""
        last = len(self._edges) - 1
        return GroupKey(self._among(-last, last), tuple(range(-last, last + 1)), False)

    def ends_of(self, number: int) -> tuple[Fraction, Fraction]:
        """Return the ends of a range."""
        inner, outer = (self._edges[abs(number) - 1], self._edges[abs(number)]) if number else (Fraction(0),) * 2
        low, high = (inner, outer) if number > 0 else (-outer, -inner)
        if self.values == "integer":  # a whole number above a power of two is at least one more
            low, high = (low + 1, high) if number > 0 else (low, high - 1) if number < 0 else (low, high)
        return low, high

    def read(self, *released: Floats) -> Floats:
        """Return an end of the outermost range whose noisy count is above the threshold."""
        import numpy as np

        above = np.stack(released) > self.threshold
        if self.side == "high":
            above = above[::-1]
        last = len(self._edges) - 1
        numbers = above.argmax(axis=0) - last
        ends = np.full(numbers.shape, None, dtype=object)
        for row, number in enumerate(numbers.tolist()):
            if above[:, row].any():
                low, high = self.ends_of(number if self.side == "low" else -number)
                ends[row] = self._shown(low if self.side == "low" else high)
        return ends

    @property
    def kind(self) -> Kind:
        return self.values

    @cached_property
    def _edges(self) -> list[Fraction]:
        first, last = _POWERS[self.values]
        return [Fraction(0), *(Fraction(2) ** power for power in range(first, last + 1))]

    def _among(self, first: int, last: int) -> Expression:
        """Return the number of the range of x, which lies from the first to the last, by halving."""
        if first == last:
            return Constant(first)
        middle = (first + last) // 2
        edge = -self._edges[-middle - 1] if middle < 0 else self._edges[middle]
        cut = Constant(int(edge) if self.values == "integer" else edge)
        below = Call("less" if middle < 0 else "less_equal", (self.expression, cut))
        return Call("case", (below, self._among(first, middle), self._among(middle + 1, last)))

    def _shown(self, end: Fraction) -> int | float:
        return min(max(int(end), -_INT64), _INT64 - 1) if self.values == "integer" else float(end)
