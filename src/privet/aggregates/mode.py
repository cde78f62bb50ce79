"""MODE(x) and TOP_K(x, k): the most frequent values of x. Not a sum: a selection among the values of a column."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Self

from privet.core.expression import Expression
from privet.core.scan import Sum
from privet.core.schema import Kind

from .aggregate import Aggregate, Wanted

if TYPE_CHECKING:
    from privet.core.event import Floats


@dataclass(frozen=True)
class Mode(Aggregate):
    """The value of x at a rank, from 1, among the k most frequent; NULL is none of them, and is what stands for none.

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
        """Return no sums: what is released is chosen."""
        return ()

    def read(self, *released: Floats) -> Floats:
        """Return the values that were chosen."""
        return released[0]

    @property
    def kind(self) -> Kind:
        return self.values
