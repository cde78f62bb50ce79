"""Tests of private tables by counts: shares of categories, independence, equal proportions, the ranks of two groups.

An answer of counts becomes the noisy table that a test reads, with what its plan states about the rows behind it. Ranks
are compared by noisy histograms over declared bins.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

from privet.answer import Answer
from privet.core.errors import BadParameter, RequestError, Unsupported
from privet.core.given import choice, plain_text
from privet.core.numbers import Number, float_near, positive
from privet.core.scan import Norm, Once, Truncate
from privet.core.schema import Schema
from privet.inference.finding import Finding
from privet.inference.histogram_tests import finding_of_ranks
from privet.inference.noisy_tables import CellNoise
from privet.inference.table_tests import (
    METHODS,
    MOST_CELLS,
    Method,
    NoisyTable,
    difference,
    finding_of_table,
    share_intervals,
)
from privet.planner.keys import group_key
from privet.planner.make import known_rows
from privet.planner.plan import Plan
from privet.query.expressions import typed
from privet.query.frame import Frame, Result, count
from privet.query.nodes import Query
from privet.query.terms import col

from .hypothesis import Hypothesis

Labels = tuple[tuple[Any, ...], ...]
"""The values of each key, NULL left out, in the order of the table."""


def declared_values(query: Query, schema: Schema) -> Labels:
    """Return the values of each key that public facts list, NULL left out; refuse keys whose values they do not.

    Guarantee: reads declared facts alone, so that what is refused does not depend on data.
    """
    labels = []
    for key in query.keys:
        values = group_key(key.expression, schema.columns).values
        if values is None:
            raise RequestError(f"the values of {key.name} are not declared; declare it as a category")
        labels.append(tuple(value for value in values if value is not None))
    cells = 1
    for values in labels:
        cells *= max(1, len(values))
    if cells > MOST_CELLS:
        raise RequestError(f"a test takes at most {MOST_CELLS} cells, and this has {cells:,}; join values, or use bins")
    return tuple(labels)


def released_values(plan: Plan) -> Labels:
    """Return the values of each key of a question that a plan releases groups of, NULL left out.

    They are fewer than the declared ones where a condition on keys rules some out.

    Guarantee: reads the plan alone.
    """
    known = {key.expression: key.values or () for key in plan.groups}
    return tuple(tuple(value for value in known[key.expression] if value is not None) for key in plan.query.keys)


def table_of_two(answer: Answer) -> NoisyTable:
    """Return the released counts of two keys in the order of the plan's groups.

    Guarantee: whichever key a question names first, the table is the same, and so are the points of a simulation: the
    order in which columns are named chooses no p-value.
    """
    expressions = [key.expression for key in answer.plan.query.keys]
    first, second = (expressions.index(key.expression) for key in answer.plan.groups)
    table = noisy_table(answer, released_values(answer.plan))
    return table if first < second else replace(table, counts=table.counts.T.copy())


def check_released(plan: Plan) -> None:
    """Refuse a plan that leaves fewer than two values of a key, or releases some pairs of values and others not."""
    for key, values in zip(plan.query.keys, released_values(plan), strict=True):
        if len(values) < 2:
            raise RequestError(
                f"the condition leaves fewer than two values of {key.name}, so there is nothing to compare; choose "
                f"rows by other columns"
            )
    if plan.passes[0].scan.cells is not None:
        raise RequestError(
            "the condition rules out some combinations of the values that are compared; choose rows by other columns, "
            "or by each of these columns alone"
        )


def rows_of_each(plan: Plan) -> int:
    """Return how many rows one person counts with at most, and refuse counts that have no such limit.

    Guarantee: with weights w of at most 1 and w times a person's rows at most C, the variance of counts is at most C
    times that of as many independent rows. Counts that are scaled to an L2 norm have no such C but the number of cells.
    """
    match plan.passes[0].scan.bounding if len(plan.passes) == 1 else None:
        case Once():
            return 1
        case Truncate(groups=groups, rows=rows):
            return groups * rows
        case Norm(order=1, limit=limit):
            return limit
    raise Unsupported(
        "counts that are scaled to an L2 norm cannot be tested: leave out contribution=, and each person counts once; "
        'or pass bound="groups"'
    )


def public_size(plan: Plan) -> int | None:
    """Return the number of rows in the table where it is public: declared, and nothing chooses rows.

    Guarantee: reads declared facts alone. Under change-one with each row a unit, neighbours have equally many rows.
    """
    query, schema = plan.query, plan.passes[0].scan.schema
    if not known_rows(schema) or not isinstance(query.table, str) or query.where is not None:
        return None
    if any(typed(key.expression, schema.columns).nullable for key in query.keys):
        return None
    return schema.units


def noisy_table(answer: Answer, labels: Labels) -> NoisyTable:
    """Return the released counts as a table: a row for each value of the first key, a column for each of the second.

    One key makes a table of one row.
    """
    import numpy as np

    plan = answer.plan
    across = labels[-1]
    down = labels[0] if len(labels) == 2 else (None,)
    rows, noise = np.zeros((len(down), len(across))), None
    for measurement in answer.measurements():
        key = tuple(measurement.group.values())
        place = (None, *key) if len(labels) == 1 else key
        if place[0] in down and place[1] in across and measurement.law is not None and measurement.step is not None:
            rows[down.index(place[0]), across.index(place[1])] = float_near(measurement.released * measurement.step)
            noise = CellNoise(measurement.law, measurement.step)
    if noise is None:
        raise RequestError("the answer has no noisy counts of these values")
    return NoisyTable(rows, noise, public_size(plan), rows_of_each(plan), answer.receipt.digest)


def counted_how(plan: Plan) -> tuple[str, ...]:
    """Return which shares a test is about where people may have several rows."""
    limit = rows_of_each(plan)
    match plan.passes[0].scan.bounding:
        case Truncate(groups=1, rows=1):
            return ("Each person counts once, in one of their groups that is chosen at random: shares are of people.",)
        case Truncate():
            return (f"Shares are of at most {limit} rows of each person, in groups that are chosen at random.",)
        case Norm():
            return (f"Shares are weighted: each person counts with at most {limit} row{'s' * (limit > 1)} in all.",)
    return ()


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
        return ", ".join(f"{value} {float_near(positive(share, 'shares')):g}" for value, share in self.shares.items())

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
        finding = finding_of_table(noisy_table(answer, labels), shares, method=self.method, confidence=confidence)
        hypothesis = f"{self.column} has the shares {self._shares()}"
        return replace(finding, hypothesis=hypothesis, notes=(*finding.notes, *counted_how(answer.plan)))


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
        finding = finding_of_table(table_of_two(answer), None, method=self.method, confidence=confidence)
        hypothesis = f"{self.first} and {self.second} are independent"
        return replace(finding, hypothesis=hypothesis, notes=(*finding.notes, *counted_how(answer.plan)))


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
        finding = finding_of_table(table_of_two(answer), None, method=self.method, confidence=confidence)
        names = [f"{self.by} = {value}" for value in labels[0]]
        shares = share_intervals(table.counts, table.noise, each=table.each, confidence=confidence, names=names)
        if len(names) == 2:
            shares["difference"] = difference(*shares.values())
        return replace(
            finding,
            name="Chi-squared test of equal proportions",
            hypothesis=f"the share of {self.column} = {self.value} is the same in each {self.by}",
            estimates={**shares, **finding.estimates},
            notes=(*finding.notes, *counted_how(answer.plan)),
        )


@dataclass(frozen=True)
class SameRanks(TableHypothesis):
    """Values of a column are as large in one group as in another: the rank test of Mann and Whitney.

    Args:
        column: a column of numbers with declared bounds.
        by: the column of the groups, with declared values.
        groups: the two groups that are compared; they may be left out where there are two.
        width: the width of the bins; values within one are ties. Left out, each value is a separate bin.

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
            groups if self.groups is None else (next(key for key in groups if str(key) == name) for name in self.groups)
        )
        table = noisy_table(answer, ((first, second), tuple(sorted(bins))))
        larger = f"{self.column} in {first} larger"
        finding = finding_of_ranks(replace(table, size=None), confidence=confidence, larger=larger)
        hypothesis = f"{self.column} is as large in {self.by} {first} as in {second}"
        return replace(finding, hypothesis=hypothesis, notes=(*finding.notes, *counted_how(answer.plan)))
