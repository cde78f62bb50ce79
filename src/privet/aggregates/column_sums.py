"""COUNT, SUM, AVG, VAR and STDDEV: read from the noisy count, sum and sum of squares of one column.

A mean and a variance are read from sums that are centred in the bounds, which one row moves by half as much, and share
the count; so may a SUM be.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from types import MappingProxyType
from typing import TYPE_CHECKING, ClassVar, Literal, Self

from privet.core.errors import Unsupported
from privet.core.relation import Expression
from privet.core.scan import Sum
from privet.inference.bars import Bars, Law, beside_rounded, half_width, ratio_bars
from privet.inference.equation import Equation, NoiseTerm

from .aggregate import Aggregate, Argument, SampleSums, Wanted, allowed_for, deviations_in, rows, squares, squares_in

if TYPE_CHECKING:
    from privet.core.event import Floats


class Counting(Aggregate):
    """A number of rows, people or values: its one sum, at least 0."""

    bounded = False
    counts = True
    additive = True
    unsampled: ClassVar[str | None] = None
    estimand = "expected number of rows"

    def read(self, *released: Floats) -> Floats:
        return released[0]

    def equation(self, sampled: SampleSums) -> Equation:
        """Return the expected number: people who come independently move it by a variance of at most C times itself.

        With x_u <= C what person u adds, the variance of the sum of the x_u is at most the sum of x_u^2, which is at
        most C times the sum of x_u.
        """
        import numpy as np

        (count,), (law,) = sampled.sums, sampled.laws
        ones, none = np.ones_like(count), np.zeros_like(count)
        spread = (none, np.full_like(count, sampled.most), none)
        return Equation(count, ones, (NoiseTerm(law, ones, none),), spread, 0.0)

    @property
    def linear(self) -> Fraction:
        return Fraction(1)

    @property
    def ends(self) -> tuple[float, float]:
        return 0.0, float("inf")


@dataclass(frozen=True)
class CountRows(Counting):
    """The number of rows that meet a condition; of units, in a scan where each unit counts once per cell."""

    where: Expression | None = None
    names = MappingProxyType({"count_rows": ("COUNT",)})
    arity = 0

    @classmethod
    def of(cls, wanted: Wanted) -> Self:
        return cls(wanted.where)

    def sums(self) -> tuple[Sum, ...]:
        return (rows(self.where),)


@dataclass(frozen=True)
class CountUnits(CountRows):
    """The number of people with a row that meets a condition: in a scan where each counts once in each group."""

    names = MappingProxyType({"count_units": ("COUNT",)})
    people = True
    additive = False
    estimand = "expected number of people"


@dataclass(frozen=True)
class Count(Counting):
    """The number of rows in which x is not NULL."""

    argument: Argument
    names = MappingProxyType({"count": ("COUNT",)})

    def sums(self) -> tuple[Sum, ...]:
        return (self.argument.present(),)


@dataclass(frozen=True)
class CountValues(Count):
    """The number of different values of x other than NULL, in a scan where each of them counts once."""

    names = MappingProxyType({"count_distinct": ("COUNT",)})
    additive = False
    own_pass = True
    unsampled = "how many different values a population has cannot be estimated from those of a sample"

    def sums(self) -> tuple[Sum, ...]:
        return (rows(self.argument.where),)


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
        ones, none = np.ones_like(total), np.zeros_like(total)
        terms = (NoiseTerm(sampled.laws[0].times(step), ones, none),)
        return Equation(total * step, ones, terms, spread_of_total(self.argument, sampled, none), *self.ends)

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
    unsampled = "the different values of a population cannot be estimated from those of a sample"

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
        ones, none, middle = np.ones_like(total), np.zeros_like(total), float(self.argument.middle)
        terms = (
            NoiseTerm(sampled.laws[0].times(float(self.argument.centred().step)), ones, none),
            NoiseTerm(sampled.laws[1], np.full_like(total, middle), none),
        )
        own = ((sampled.sums[1], sampled.laws[1]), (sampled.sums[0], sampled.laws[0]))
        known = replace(sampled, beside=(*own, *sampled.beside[2:]))
        return Equation(total, ones, terms, spread_of_total(self.argument, known, none), *self.ends)

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
    """Return sums that narrow a sum's interval for a population: the count, the centred sum, and that of squares."""
    return argument.present(), argument.centred(), squares(argument.centred())


def spread_of_total(argument: Argument, sampled: SampleSums, none: Floats) -> tuple[Floats, Floats, Floats]:
    """Return the variance by which sampling moves a sum T of x within [low, high], as a polynomial in T, at most.

    People who come independently move it by at most C times the sum Q of w x^2. Q is known where the squares, the
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


@dataclass(frozen=True)
class Mean(Aggregate):
    """The mean of x, within its bounds; the middle of the bounds where less than one row is left."""

    argument: Argument
    names = MappingProxyType({"avg": ("AVG", "MEAN")})
    typical = "means"
    additive = True
    exactly = True
    unsampled: ClassVar[str | None] = None
    estimand = "mean"

    def sums(self) -> tuple[Sum, ...]:
        return self.argument.centred(), self.argument.present()

    def read(self, *released: Floats) -> Floats:
        import numpy as np

        total, count = released
        known = np.where(count >= 1.0, total, 0.0)  # noise over less than one row carries no information
        shift = known * float(self.argument.centred().step) / np.maximum(count, 1.0)
        return np.clip(float(self.argument.middle) + shift, *self.ends)

    def bars(self, released: Sequence[Floats], laws: Sequence[Law], tail: float) -> Bars:
        """Return intervals in closed form."""
        import numpy as np

        (low, high), step = self.ends, float(self.argument.centred().step)
        count = laws[1] if laws[1].mixed else replace(laws[0], scale=laws[1].scale, step=laws[1].step)
        scaled = (laws[0].times(step), count)
        ends = ratio_bars(released[0] * step, released[1], scaled, most=(high - low) / 2, tail=tail)
        bottom, top = (np.clip(float(self.argument.middle) + end, low, high) for end in (ends.low, ends.high))
        return Bars(bottom, top, ends.error)

    def beside(self) -> tuple[Sum, ...]:
        return (squares(self.argument.centred()),)

    def equation(self, sampled: SampleSums) -> Equation:
        """Return the weighted mean, by Fieller's residual: total - theta * count.

        With w_u n_u <= C, (sum over the rows of u of w (x - theta))^2 <= C sum w (x - theta)^2, so sampling moves the
        residual by a variance of at most C times the sum over all rows of w (x - theta)^2. That is known where the sum
        of squares was released. Else, for x within [low, high], (x - low)(x - high) <= 0 bounds it by
        C N (high - theta)(theta - low).
        """
        import numpy as np

        total, count = sampled.sums
        middle, half = float(self.argument.middle), (self.ends[1] - self.ends[0]) / 2
        total = total * float(self.argument.centred().step)
        ones, none, rows = np.ones_like(count), np.zeros_like(count), np.maximum(count, 0.0)
        terms = (
            NoiseTerm(sampled.laws[0].times(float(self.argument.centred().step)), ones, none),
            NoiseTerm(sampled.laws[1], np.full_like(count, middle), -ones),
        )
        spread = (rows * (half**2 - middle**2), 2 * middle * rows, -rows)
        if sampled.beside and sampled.beside[0] is not None:
            square, law = sampled.beside[0]
            mean = np.clip(total / np.maximum(rows, 1.0), -half, half)
            squared = np.clip(squares_in(self.argument, square, rows), 0.0, half**2 * rows)
            about = squared - 2 * mean * total + mean**2 * rows
            doubt = np.sqrt(
                (law.deviation * float(self.argument.centred().step) ** 2) ** 2
                + (2 * mean * terms[0].law.deviation) ** 2
                + ((half**2 / 2 + mean**2) * terms[1].law.deviation) ** 2
            )
            known = squared + np.minimum(allowed_for(about, doubt), (half**2 - mean**2) * rows) - about
            spread = (known + 2 * middle * total + middle**2 * rows, -2 * total - 2 * middle * rows, rows)
        most = sampled.most
        scaled = (most * spread[0], most * spread[1], most * spread[2])
        return Equation(total + middle * count, count, terms, scaled, *self.ends)

    def predicted_width(self, laws: Sequence[Law], n: int, tail: float) -> float:
        """Return the widest interval of a mean over n rows: that of a mean at an end of its bounds."""
        import numpy as np

        low, high = self.ends
        total, count = laws
        scaled = total.times(float(self.argument.centred().step))
        other = replace(total, scale=count.scale, step=count.step)
        width = half_width(scaled, other, np.array([(high - low) / 2]), tail)[0]
        return min(float(width) / n, high - low)

    def narrowest_width(self, laws: Sequence[Law], n: int, tail: float) -> float:
        """Return how narrow the interval of a mean is where all rows are in one group, and their mean in the middle."""
        import numpy as np

        law = laws[0].times(float(self.argument.centred().step))
        return float(half_width(law, replace(law, scale=0.0, step=0.0), np.zeros(1), tail)[0]) / n

    @property
    def ends(self) -> tuple[float, float]:
        return float(self.argument.low), float(self.argument.high)


SpreadForm = Literal["var_pop", "var_samp", "stddev_pop", "stddev_samp"]


@dataclass(frozen=True)
class Spread(Aggregate):
    """The variance of x or its root, no larger than bounded values can have; the middle of that without rows."""

    argument: Argument
    form: SpreadForm
    names = MappingProxyType(
        {
            "var_pop": ("VAR_POP", "VARIANCE_POP", "VARP"),
            "var_samp": ("VAR_SAMP", "VARIANCE", "VAR", "VARIANCE_SAMP"),
            "stddev_pop": ("STDDEV_POP", "STDEVP"),
            "stddev_samp": ("STDDEV_SAMP", "STDDEV", "STDEV", "STD"),
        }
    )
    typical = "variances and deviations"
    unsampled: ClassVar[str | None] = None
    estimand = "variance"

    def sums(self) -> tuple[Sum, ...]:
        centred = self.argument.centred()
        return centred, squares(centred), self.argument.present()

    def read(self, *released: Floats) -> Floats:
        import numpy as np

        centred = self.argument.centred()
        fewest = 2.0 if self.form.endswith("samp") else 1.0
        total, square = (np.where(released[2] >= fewest, sums, 0.0) for sums in released[:2])
        n = np.maximum(released[2], fewest)
        mean = total / n
        variance = (square / n + squares(centred).offset - mean * mean) * float(centred.step) ** 2
        if self.form.endswith("samp"):
            variance = variance * n / (n - 1.0)
        low, high = self.ends
        if self.form.startswith("var"):
            return np.clip(variance, low, high)
        return np.clip(np.sqrt(np.maximum(variance, 0.0)), low, high)

    def equation(self, sampled: SampleSums) -> Equation:
        """Return the weighted variance v, by the residual sum of w (x - m)^2 - v N at the estimated mean m.

        (x - m)^2 lies within [0, B^2], with B the larger distance of m from an end, and its mean is v: so its variance
        is at most v (B^2 - v), and sampling moves the residual by at most C N v (B^2 - v). The estimated mean makes the
        sum too small by N (m - its truth)^2: twice its expected value is allowed for.
        """
        import numpy as np

        total, square, count = sampled.sums
        step, half = float(self.argument.centred().step), float(self.argument.high - self.argument.low) / 2
        ones, none, rows = np.ones_like(count), np.zeros_like(count), np.maximum(count, 1.0)
        mean = np.clip(total * step / rows, -half, half)
        squared = squares_in(self.argument, square, count)
        offset = squares(self.argument.centred()).offset * step**2
        terms = (
            NoiseTerm(sampled.laws[1].times(step**2), ones, none),
            NoiseTerm(sampled.laws[0].times(step), -2 * mean, none),
            NoiseTerm(sampled.laws[2], mean**2 + offset, -ones),
        )
        top = np.asarray(squared) - 2 * mean * total * step + mean**2 * count
        widest = (half + np.abs(mean)) ** 2
        spread = (none, sampled.most * rows * widest, -sampled.most * rows)
        own = np.clip(top / rows, 0.0, half**2)
        doubt = (sampled.laws[0].deviation * step) ** 2 + (mean * sampled.laws[2].deviation) ** 2
        slack = 2 * (doubt / rows + sampled.most * own)
        return Equation(top, count, terms, spread, 0.0, half**2, slack)

    @property
    def curved(self) -> bool:
        return self.form.startswith("stddev")

    def from_equation(self, values: Floats) -> Floats:
        import numpy as np

        return np.sqrt(np.maximum(values, 0.0)) if self.curved else values

    def predicted_width(self, laws: Sequence[Law], n: int, tail: float) -> float:
        """Return a rough bound for a variance over n rows, to first order; for its root, at a quarter of the range.

        var = q/n + c - (s/n)^2 moves by (N_q - 2 m N_s + (2 m^2 - q/n) N_n) / n, with |m| and q/n at most the half
        range and its square.
        """
        step = float(self.argument.centred().step)
        half = float(self.argument.high - self.argument.low) / 2
        total, square, count = laws
        parts = (square.deviation * step**2, 2 * half * total.deviation * step, 2.5 * half**2 * count.deviation)
        width = deviations_in(total, tail) * sum(part**2 for part in parts) ** 0.5 / n
        if self.form.startswith("stddev"):
            width /= 2 * (half / 2) if half else 1.0
        low, high = self.ends
        return float(min(width, high - low))

    @property
    def ends(self) -> tuple[float, float]:
        half = float(self.argument.high - self.argument.low) / 2
        most = half if self.form.startswith("stddev") else half * half
        return 0.0, most * (2.0 if self.form == "var_samp" else 2.0**0.5 if self.form == "stddev_samp" else 1.0)
