"""COUNT(*), COUNT(x), COUNT(DISTINCT unit) and COUNT(DISTINCT x): sums of ones."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from types import MappingProxyType
from typing import TYPE_CHECKING, ClassVar, Self

from privet.core.expression import Expression
from privet.core.scan import Sum
from privet.inference.equation import Equation, NoiseTerm

from .aggregate import Aggregate, Argument, SampleSums, Wanted, rows

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
        """Return the expected number: people who come by themselves move it by a variance of at most C times itself.

        With x_u <= C what person u adds, the variance of the sum of the x_u is at most the sum of x_u^2, which is at
        most C times the sum of x_u.
        """
        import numpy as np

        (count,), (law,) = sampled.sums, sampled.laws
        one, none = np.ones_like(count), np.zeros_like(count)
        spread = (none, np.full_like(count, sampled.most), none)
        return Equation(count, one, (NoiseTerm(law, one, none),), spread, 0.0)

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
    unsampled = "how many different values a population has cannot be told from those of a sample"

    def sums(self) -> tuple[Sum, ...]:
        return (rows(self.argument.where),)
