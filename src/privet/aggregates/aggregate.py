"""What every aggregate is: a few bounded integer sums, and a way to read the released ones.

`sums` sees only public facts and `read` only released numbers, so the author of an aggregate cannot break privacy.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

from privet.core.expression import Call, Expression
from privet.core.scan import Sum
from privet.core.schema import Kind
from privet.core.wire import wired

if TYPE_CHECKING:
    from privet.core.pair import Floats

GRID = 2**24
"""A number without a declared step is measured in this many steps from the middle of its bounds to an end."""


@wired("Argument", "expression", "low", "high", "step", "nullable", "where", "held")
@dataclass(frozen=True, kw_only=True)
class Argument:
    """The public facts about what is aggregated: an expression with bounds, and the step of its grid."""

    expression: Expression
    low: Fraction
    high: Fraction
    step: Fraction | None
    nullable: bool
    where: Expression | None
    held: bool = True
    """Whether the expression itself is certain to lie within its bounds, before it is clamped on a grid."""

    @property
    def middle(self) -> Fraction:
        """The middle of the bounds."""
        return (self.low + self.high) / 2

    def plain(self) -> Sum:
        """Return the sum of x itself, in steps from zero."""
        most = max(abs(self.low), abs(self.high))
        step = self.step or (most / GRID if most else Fraction(1))
        return self._sum(Fraction(0), step)

    def centred(self) -> Sum:
        """Return the sum of x minus the middle of its bounds, which one row moves by half as much."""
        half = (self.high - self.low) / 2
        # a declared step keeps its own points: with the middle between two of them, half steps hold all
        step = self.step / 2 if self.step else (half / GRID if half else Fraction(1))
        return self._sum(self.middle, step)

    def _sum(self, origin: Fraction, step: Fraction) -> Sum:
        low, high = (_nearest((end - origin) / step) for end in (self.low, self.high))
        return Sum(
            self.expression,
            low,
            high,
            origin=origin,
            step=step,
            where=self.where,
            null_as=None if self.nullable else low,
        )

    def present(self) -> Sum:
        """Return the count of rows in which x is not NULL; it is the count of rows where x cannot be."""
        if not self.nullable:
            return rows(self.where)
        known = Call("not", (Call("is_null", (self.expression,)),))
        return rows(known if self.where is None else Call("and", (known, self.where)))


def rows(where: Expression | None) -> Sum:
    """Return the count of rows that meet a condition."""
    return Sum(None, 1, 1, where=where)


def squares(centred: Sum) -> Sum:
    """Return the sum of the squares of a centred sum's values, itself centred, so that its range is halved."""
    most = max(abs(centred.low), abs(centred.high)) ** 2
    return replace(centred, power=2, offset=most // 2)


class Aggregate(ABC):
    """One way to summarise rows. Instances hold public facts only."""

    name: ClassVar[str]
    counts: ClassVar[bool] = False
    """Whether the answer is a number of rows or people, and is shown as a whole number."""
    chosen: ClassVar[bool] = False
    """Whether the answer is chosen from many by what it says, so that no interval goes with it."""

    typical: ClassVar[str | None] = None
    """What such answers are called, where they are about a typical row, so that it matters how much each one counts."""

    @abstractmethod
    def sums(self) -> tuple[Sum, ...]:
        """Return the sums that must be released."""

    @abstractmethod
    def read(self, *released: Floats) -> Floats:
        """Return the aggregate from released sums, in grid units, in the order of `sums`."""

    def divisors(self, *released: Floats) -> tuple[Floats, ...]:
        """Return what reading divides by, beside the count: noise there matters most where it is small."""
        return ()

    @property
    def linear(self) -> Fraction | None:
        """The factor that turns the one released sum into the answer, if that is all that reading does."""
        return None

    @property
    def kind(self) -> Kind:
        """What the answer holds."""
        return "integer" if self.counts else "number"

    @property
    def ends(self) -> tuple[float, float]:
        """The least and largest value the aggregate can have, from public facts."""
        return float("-inf"), float("inf")


def _nearest(x: Fraction) -> int:
    return (2 * x.numerator + x.denominator) // (2 * x.denominator)
