"""Chi-squared tests of private tables: whether the shares of categories are those of a hypothesis."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from privet.answer import Answer
from privet.core.errors import BadParameter, RequestError
from privet.core.given import plain_text
from privet.core.numbers import Number, positive
from privet.core.schema import Schema
from privet.inference.finding import Finding
from privet.inference.fit import fit_of_noisy_total
from privet.query.frame import Frame, Result, count
from privet.query.functions import typed
from privet.query.nodes import Query

from .hypothesis import Hypothesis


@dataclass(frozen=True)
class GoodnessOfFit(Hypothesis):
    """The values of a column have these shares.

    Args:
        column: a column with declared values.
        shares: the share of each value under the hypothesis; they sum to 1.

    Example:
        >>> privet.study.GoodnessOfFit("ward", {"A": 0.5, "B": 0.5}).describe()
        'whether ward has the shares A 0.5, B 0.5'
    """

    column: str
    shares: Mapping[str, Number]

    def __post_init__(self) -> None:
        plain_text(self.column, "column")
        if not isinstance(self.shares, Mapping) or len(self.shares) < 2:
            raise BadParameter("shares", self.shares, "a mapping of at least two values to their shares")
        total = sum((positive(share, "shares") for share in self.shares.values()), start=Fraction(0))
        if abs(total - 1) > Fraction(1, 10**9):
            raise BadParameter("shares", float(total), "shares that sum to 1")

    def describe(self) -> str:
        """Return the hypothesis in words."""
        return f"whether {self.column} has the shares {self._shares()}"

    def _shares(self) -> str:
        return ", ".join(f"{value} {float(positive(share, 'shares')):g}" for value, share in self.shares.items())

    def question(self, rows: Frame) -> Result:
        """Return the counts of the column's values."""
        return rows.group_by(self.column).agg(n=count())

    def check(self, query: Query, schema: Schema) -> None:
        """Raise `RequestError` unless the shares are those of all declared values."""
        declared = typed(query.keys[0].expression, schema.columns).values
        if declared is None:
            raise RequestError(f"the values of {self.column} are not declared; declare it as a category")
        if set(declared) != set(self.shares):
            listed = ", ".join(map(str, declared))
            raise BadParameter("shares", ", ".join(map(str, self.shares)), f"a share for each declared value: {listed}")

    def conclude(self, answer: Answer, confidence: float) -> Finding:
        """Return the projected chi-squared test of the released counts."""
        counts, deviations = [], []
        for value in self.shares:
            row = next(row for row in answer.measurements() if row.group.get(self.column) == value)
            counts.append(float(row.value))
            deviations.append(row.deviation or 0.0)
        shares = [float(positive(share, "shares")) for share in self.shares.values()]
        test = fit_of_noisy_total(counts, shares, variance=max(deviations) ** 2)
        return Finding(
            name="Chi-squared test of fit",
            hypothesis=f"{self.column} has the shares {self._shares()}",
            p_value=test.p_value,
            statistic=test.statistic,
            degrees=test.degrees,
            method="projected statistic, with the variance of the noise and of the noisy total",
            assumptions=("the rows that count are independent of each other",),
        )
