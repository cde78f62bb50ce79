"""Chi-squared tests of private tables: shares of categories, independence of two columns, equal proportions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction

from privet.answer import Answer
from privet.core.errors import BadParameter, RequestError
from privet.core.given import choice, plain_text
from privet.core.numbers import Number, float_near, positive
from privet.core.schema import Schema
from privet.inference.finding import Finding
from privet.inference.table_tests import METHODS, Method, difference, finding_of_table, share_intervals
from privet.planner.plan import Plan
from privet.query.frame import Frame, Result, count
from privet.query.nodes import Query
from privet.query.terms import col

from .counted_tables import (
    check_released,
    counted_how,
    declared_values,
    noisy_table,
    released_values,
    rows_of_each,
    table_of_two,
)
from .hypothesis import Hypothesis


@dataclass(frozen=True)
class TableHypothesis(Hypothesis):
    """A hypothesis about a table of counts."""

    def check(self, query: Query, schema: Schema) -> None:
        """Raise `RequestError` unless all values are declared, and there are at least two of each key."""
        for key, values in zip(query.keys, declared_values(query, schema), strict=True):
            if len(values) < 2:
                raise RequestError(f"{key.name} has one declared value only, so there is nothing to compare")

    @property
    def has_p_value(self) -> bool:
        """Whether it has a p-value: the naive test has none."""
        return getattr(self, "method", "auto") != "naive"

    def check_plan(self, plan: Plan) -> None:
        """Raise `RequestError` where people are bounded in a way that no test can allow for, or nothing is compared."""
        rows_of_each(plan)
        check_released(plan)


@dataclass(frozen=True)
class GoodnessOfFit(TableHypothesis):
    """The values of a column have these shares.

    Args:
        column: a column with declared values.
        shares: the share of each value under the hypothesis; they sum to 1.
        method: how to test; "auto" decides by the released counts.

    Example:
        >>> privet.study.GoodnessOfFit("ward", {"A": 0.5, "B": 0.5}).describe()
        'whether ward has the shares A 0.5, B 0.5'
    """

    column: str
    shares: Mapping[str, Number]
    method: Method = field(default="auto", kw_only=True)

    def __post_init__(self) -> None:
        plain_text(self.column, "column")
        choice(self.method, "method", METHODS)
        if not isinstance(self.shares, Mapping) or len(self.shares) < 2:
            raise BadParameter("shares", self.shares, "a mapping of at least two values to their shares")
        total = sum((positive(share, "shares") for share in self.shares.values()), start=Fraction(0))
        if abs(total - 1) > Fraction(1, 10**9):
            raise BadParameter("shares", float_near(total), "shares that sum to 1")

    def describe(self) -> str:
        """Return the hypothesis in words."""
        return f"whether {self.column} has the shares {self._shares()}"

    def _shares(self) -> str:
        return ", ".join(f"{value} {float_near(positive(one, 'shares')):g}" for value, one in self.shares.items())

    def question(self, rows: Frame) -> Result:
        """Return the counts of the column's values."""
        return rows.group_by(self.column).agg(n=count())

    def check(self, query: Query, schema: Schema) -> None:
        """Raise `RequestError` unless the shares are those of all declared values."""
        declared = declared_values(query, schema)[0]
        if set(map(str, declared)) != set(map(str, self.shares)):
            listed = ", ".join(map(str, declared))
            raise BadParameter("shares", ", ".join(map(str, self.shares)), f"a share for each declared value: {listed}")

    def check_plan(self, plan: Plan) -> None:
        """Raise `RequestError` where a condition rules out a value that has a share."""
        super().check_plan(plan)
        left = set(map(str, released_values(plan)[0]))
        missing = [str(value) for value in self.shares if str(value) not in left]
        if missing:
            raise RequestError(
                f"the condition rules out {self.column} = {missing[0]}, which has a share under the hypothesis; choose "
                f"rows by other columns"
            )

    def conclude(self, answer: Answer, confidence: float) -> Finding:
        """Return the test of the released counts, in the order in which the values are declared."""
        import numpy as np

        labels = released_values(answer.plan)
        named = {str(value): positive(share, "shares") for value, share in self.shares.items()}
        shares = np.array([float_near(named[str(value)]) for value in labels[0]])
        found = finding_of_table(noisy_table(answer, labels), shares, method=self.method, confidence=confidence)
        hypothesis = f"{self.column} has the shares {self._shares()}"
        return replace(found, hypothesis=hypothesis, notes=(*found.notes, *counted_how(answer.plan)))


@dataclass(frozen=True)
class Independence(TableHypothesis):
    """Two columns are independent of each other.

    Args:
        first: a column with declared values.
        second: another one.
        method: how to test; "auto" decides by the released counts.

    Example:
        >>> privet.study.Independence("ward", "sex").describe()
        'whether ward and sex are independent'
    """

    first: str
    second: str
    method: Method = field(default="auto", kw_only=True)

    def __post_init__(self) -> None:
        plain_text(self.first, "first")
        plain_text(self.second, "second")
        choice(self.method, "method", METHODS)
        if self.first == self.second:
            raise BadParameter("second", self.second, "another column than the first")

    def describe(self) -> str:
        """Return the hypothesis in words."""
        return f"whether {self.first} and {self.second} are independent"

    def question(self, rows: Frame) -> Result:
        """Return the counts of all pairs of values."""
        return rows.group_by(self.first, self.second).agg(n=count())

    def conclude(self, answer: Answer, confidence: float) -> Finding:
        """Return the test of the released table."""
        found = finding_of_table(table_of_two(answer), None, method=self.method, confidence=confidence)
        hypothesis = f"{self.first} and {self.second} are independent"
        return replace(found, hypothesis=hypothesis, notes=(*found.notes, *counted_how(answer.plan)))


@dataclass(frozen=True)
class EqualProportions(TableHypothesis):
    """The share of a value is the same in each group.

    Args:
        column: the column.
        value: one of its values: the test is about its share.
        by: the column of the groups, with declared values.
        method: how to test; "auto" decides by the released counts.

    Example:
        >>> privet.study.EqualProportions("sex", "f", by="ward").describe()
        'whether the share of sex = f is the same in each ward'
    """

    column: str
    value: str | int | bool
    by: str = field(kw_only=True)
    method: Method = field(default="auto", kw_only=True)

    def __post_init__(self) -> None:
        plain_text(self.column, "column")
        plain_text(self.by, "by")
        choice(self.method, "method", METHODS)
        if type(self.value) not in (str, int, bool):
            raise BadParameter("value", self.value, "a value of the column: text, a whole number, True or False")
        if type(self.value) is str:
            plain_text(self.value, "value")
        if self.column == self.by:
            raise BadParameter("by", self.by, "another column than the one that is compared")

    def describe(self) -> str:
        """Return the hypothesis in words."""
        return f"whether the share of {self.column} = {self.value} is the same in each {self.by}"

    def question(self, rows: Frame) -> Result:
        """Return for each group the numbers of rows with the value and with another one."""
        return rows.group_by(self.by, has_value=col(self.column) == self.value).agg(n=count())

    def check(self, query: Query, schema: Schema) -> None:
        """Raise `RequestError` unless the groups are declared, and the value is one that the column can have."""
        super().check(query, schema)
        facts = schema.columns.get(self.column)
        if facts is not None and facts.values is not None and self.value not in facts.values:
            listed = ", ".join(map(str, facts.values))
            raise BadParameter("value", self.value, f"a declared value of {self.column}: {listed}")

    def conclude(self, answer: Answer, confidence: float) -> Finding:
        """Return the test of the released table, with the share of each group."""
        labels = released_values(answer.plan)
        table = noisy_table(answer, (labels[0], (True, False)))
        found = finding_of_table(table_of_two(answer), None, method=self.method, confidence=confidence)
        names = [f"{self.by} = {value}" for value in labels[0]]
        shares = share_intervals(table.counts, table.noise, each=table.each, confidence=confidence, names=names)
        if len(names) == 2:
            shares["difference"] = difference(*shares.values())
        return replace(
            found,
            name="Chi-squared test of equal proportions",
            hypothesis=f"the share of {self.column} = {self.value} is the same in each {self.by}",
            estimates={**shares, **found.estimates},
            notes=(*found.notes, *counted_how(answer.plan)),
        )
