"""SUM(x): the sum of x clamped to its bounds, by itself or from what is released for a mean of x."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from types import MappingProxyType
from typing import TYPE_CHECKING, ClassVar

from privet.core.errors import Unsupported
from privet.core.scan import Sum
from privet.inference.bars import Bars, Law, beside_rounded
from privet.inference.equation import Equation, NoiseTerm

from .aggregate import Aggregate, Argument, SampleSums, allowed_for, squares, squares_in

if TYPE_CHECKING:
    from privet.core.event import Floats


@dataclass(frozen=True)
class Total(Aggregate):
    """The sum of x; 0 where there is nothing to sum."""

    argument: Argument
    names = MappingProxyType({"sum": ("SUM",)})
    additive = True
    unsampled: ClassVar[str | None] = None
    estimand = "expected sum"

    def sums(self) -> tuple[Sum, ...]:
        return (self.argument.plain(),)

    def beside(self) -> tuple[Sum, ...]:
        return beside_total(self.argument)

    def equation(self, sampled: SampleSums) -> Equation:
        import numpy as np

        total, step = sampled.sums[0], float(self.linear)
        one, none = np.ones_like(total), np.zeros_like(total)
        terms = (NoiseTerm(sampled.laws[0].times(step), one, none),)
        return Equation(total * step, one, terms, spread_of_total(self.argument, sampled, none), *self.ends)

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
    unsampled = "the different values of a population cannot be told from those of a sample"

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
    unsampled: ClassVar[str | None] = None
    estimand = "expected sum"

    def sums(self) -> tuple[Sum, ...]:
        return self.argument.centred(), self.argument.present()

    def beside(self) -> tuple[Sum, ...]:
        return beside_total(self.argument)

    def equation(self, sampled: SampleSums) -> Equation:
        import numpy as np

        total = self.read(*sampled.sums)
        one, none, middle = np.ones_like(total), np.zeros_like(total), float(self.argument.middle)
        terms = (
            NoiseTerm(sampled.laws[0].times(float(self.argument.centred().step)), one, none),
            NoiseTerm(sampled.laws[1], np.full_like(total, middle), none),
        )
        own = ((sampled.sums[1], sampled.laws[1]), (sampled.sums[0], sampled.laws[0]))
        known = replace(sampled, beside=(*own, *sampled.beside[2:]))
        return Equation(total, one, terms, spread_of_total(self.argument, known, none), *self.ends)

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

        Guarantee: that of `beside_rounded`: exact for the sum of two noises, one of them Gaussian and rounded to whole
        rows, or half a step of each more for the grids that they lie on.
        """
        total, count = self._scaled(laws)
        return beside_rounded(total, count, float(self.argument.middle), tail)

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


def beside_total(argument: Argument) -> tuple[Sum, ...]:
    """Return what narrows the interval of a sum for a population: the count, the centred sum, and that of squares."""
    return argument.present(), argument.centred(), squares(argument.centred())


def spread_of_total(argument: Argument, sampled: SampleSums, none: Floats) -> tuple[Floats, Floats, Floats]:
    """Return the variance by which sampling moves a sum T of x within [low, high], as a polynomial in T, at most.

    People who come by themselves move it by at most C times the sum Q of w x^2. Q is known where the squares, the
    centred sum and the count N were released. Else Q <= (low + high) T - low high N, as (x - low)(x - high) <= 0; and
    without a count Q <= high T for x >= 0, and Q <= low T for x <= 0.

    Raises:
        Unsupported: x has both signs, and no count was released beside the sum.
    """
    import numpy as np

    low, high, middle = float(argument.low), float(argument.high), float(argument.middle)
    most = sampled.most
    count, centred, square = sampled.beside if sampled.beside else (None, None, None)
    rows = None if count is None else np.maximum(count[0], 0.0)
    if rows is not None and count is not None and centred is not None and square is not None:
        step, half = float(argument.centred().step), (high - low) / 2
        squared = np.clip(squares_in(argument, square[0], rows), 0.0, half**2 * rows)
        known = squared + 2 * middle * centred[0] * step + middle**2 * rows
        parts = (
            square[1].deviation * step**2,
            2 * middle * centred[1].deviation * step,
            (half**2 / 2 + middle**2) * count[1].deviation,
        )
        return most * allowed_for(known, none + math.hypot(*parts)), none, none
    if low >= 0 or high <= 0:
        return none, none + most * (high if low >= 0 else low), none
    if rows is None:
        raise Unsupported(
            "covers='population' of a SUM whose values may have both signs needs a number of rows, which this answer "
            "did not release: ask for COUNT of the same column beside it"
        )
    return -most * low * high * rows, none + most * (low + high), none
