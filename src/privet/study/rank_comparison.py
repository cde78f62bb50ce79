"""The rank test of two groups of a private table: noisy histograms over declared bins, and what they say."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from fractions import Fraction

from privet.answer import Answer
from privet.core.errors import BadParameter, RequestError
from privet.core.given import plain_text
from privet.core.numbers import Number, positive
from privet.core.schema import Schema
from privet.inference.finding import Finding
from privet.inference.histogram_tests import finding_of_ranks
from privet.planner.keys import group_key
from privet.planner.plan import Plan
from privet.query.frame import Frame, Result, count
from privet.query.nodes import Query
from privet.query.terms import col

from .chi_squared import TableHypothesis
from .counted_tables import counted_how, declared_values, noisy_table, released_values


@dataclass(frozen=True)
class SameRanks(TableHypothesis):
    """Values of a column are as large in one group as in another: the rank test of Mann and Whitney.

    Args:
        column: a column of numbers with declared bounds.
        by: the column of the groups, with declared values.
        groups: the two groups that are compared; they may be left out where there are two.
        width: the width of the bins; values within one are ties. Left out, each value is a bin of its own.

    Example:
        >>> privet.study.SameRanks("age", by="ward", groups=("A", "B"), width=10).describe()
        'whether age is as large in ward A as in B'
    """

    column: str
    by: str = field(kw_only=True)
    groups: tuple[str, str] | None = field(default=None, kw_only=True)
    width: Number | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        plain_text(self.column, "column")
        plain_text(self.by, "by")
        if self.column == self.by:
            raise BadParameter("by", self.by, "another column than the one that is compared")
        if self.width is not None:
            positive(self.width, "width")
        if self.groups is not None:
            if not isinstance(self.groups, tuple) or len(self.groups) != 2 or len(set(map(str, self.groups))) != 2:
                raise BadParameter("groups", self.groups, "two different groups, such as ('A', 'B')")
            for group in self.groups:
                plain_text(group, "groups")

    def describe(self) -> str:
        """Return the hypothesis in words."""
        first, second = self.groups or ("one", "another")
        return f"whether {self.column} is as large in {self.by} {first} as in {second}"

    def question(self, rows: Frame) -> Result:
        """Return for each group the counts of the bins."""
        binned = col(self.column)
        if self.width is not None:
            # a float is the decimal that it prints as; bins of whole numbers are whole, and others are numbered
            width = Fraction(str(self.width)) if isinstance(self.width, float) else positive(self.width, "width")
            binned = binned.bin(int(width)) if width.denominator == 1 else (binned / width).floor()
        return rows.group_by(self.by, value_bin=binned).agg(n=count())

    def check(self, query: Query, schema: Schema) -> None:
        """Raise `RequestError` unless the bins are known from declared bounds, and both groups are declared."""
        if group_key(query.keys[1].expression, schema.columns).values is None:
            raise RequestError(
                f"the bins of {self.column} are not known before a row is read, or are too many; declare its low and "
                f"high, and pass a larger width"
            )
        super().check(query, schema)
        declared = tuple(map(str, declared_values(query, schema)[0]))
        if self.groups is None and len(declared) != 2:
            raise BadParameter("groups", "nothing", f"two of the groups: {', '.join(declared)}")
        if self.groups is not None and not set(self.groups) <= set(declared):
            raise BadParameter("groups", ", ".join(self.groups), f"two of the groups: {', '.join(declared)}")

    def check_plan(self, plan: Plan) -> None:
        """Raise `RequestError` where a condition rules out a group that is compared."""
        super().check_plan(plan)
        left = set(map(str, released_values(plan)[0]))
        missing = [group for group in self.groups or () if group not in left]
        if missing:
            raise RequestError(f"the condition rules out the group {missing[0]}; choose rows by other columns")

    def conclude(self, answer: Answer, confidence: float) -> Finding:
        """Return the test of the two released histograms."""
        groups, bins = released_values(answer.plan)
        first, second = (
            groups if self.groups is None else (next(one for one in groups if str(one) == name) for name in self.groups)
        )
        table = noisy_table(answer, ((first, second), tuple(sorted(bins))))
        larger = f"{self.column} in {first} larger"
        found = finding_of_ranks(replace(table, size=None), confidence=confidence, larger=larger)
        hypothesis = f"{self.column} is as large in {self.by} {first} as in {second}"
        return replace(found, hypothesis=hypothesis, notes=(*found.notes, *counted_how(answer.plan)))
