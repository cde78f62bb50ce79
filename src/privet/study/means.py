"""Tests of means of private columns: one mean, two or several groups, pairs within each person.

Each releases a sum, a sum of squares and a count of every group, in one question. Variances are estimated from them,
every test is inverted by the joint law of the noise and of sampling. Cohen's d comes with a difference, and eta
squared with several means.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from privet.answer import Answer
from privet.core.errors import BadParameter, RequestError, Unsupported, raise_alone
from privet.core.estimate import Estimate
from privet.core.given import choice, plain_text
from privet.core.numbers import Number, float_near, positive, rational
from privet.core.schema import Schema
from privet.inference.contrast import (
    ALTERNATIVES,
    Alternative,
    Contrast,
    all_equal,
    effect_interval,
    explained_share,
    one_sided,
)
from privet.inference.equation import Equation
from privet.inference.finding import Finding
from privet.planner.plan import Plan
from privet.query.expressions import typed
from privet.query.frame import Frame, Result
from privet.query.nodes import Query
from privet.query.terms import Term, col, mean, var
from privet.results.comparisons import PopulationReader

from .counted_tables import released_values
from .hypothesis import Hypothesis

if TYPE_CHECKING:
    from privet.core.event import Floats

_MEAN, _SPREAD = "mean", "spread"
_CLAMPED = "values are clamped to their declared bounds, and the mean is that of clamped values"
_NORMAL_WITHIN = "eta squared: values are nearly normal within groups, which have their shares of the rows"
_NORMAL = "Cohen's d: values are nearly normal, as its error depends on their fourth moments"


@dataclass(frozen=True)
class _OfMeans(Hypothesis):
    """What tests of means share."""

    def check(self, query: Query, schema: Schema) -> None:
        """Raise `RequestError` where people are not independent of each other."""
        if schema.unit.touches > 1:
            raise Unsupported(
                "tests of means need people who are independent of each other, and rows of one person in different "
                "windows of time, or of people who are protected as a group, are not; protect whole people"
            )


@dataclass(frozen=True)
class MeanTest(_OfMeans):
    """The mean of a column has a given value.

    Args:
        column: a column of numbers with declared bounds.
        equals: the value of the mean under the hypothesis.
        alternative: "two-sided"; "greater" or "less" where only a larger, or a smaller, mean is evidence against it.
        margin: where given, the hypothesis is that the mean differs from `equals` by this much or more (equivalence).

    Example:
        >>> privet.study.MeanTest("age", equals=40).describe()
        'whether the mean of age is 40'
    """

    column: str
    equals: Number
    alternative: Alternative = "two-sided"
    margin: Number | None = None

    def __post_init__(self) -> None:
        plain_text(self.column, "column")
        rational(self.equals, "equals")
        _check_sides(self.alternative, self.margin)

    def describe(self) -> str:
        """Return the hypothesis in words."""
        return f"whether {_stated(f'the mean of {self.column}', _number(self.equals), self.alternative, self.margin)}"

    def question(self, rows: Frame) -> Result:
        """Return the mean and the variance of the column."""
        return _moments(rows, col(self.column))

    def conclude(self, answer: Answer, confidence: float) -> Finding:
        """Return the test of the mean, by Fieller's residual at the hypothesis."""
        name = f"mean of {self.column}"
        hypothesis = _stated(f"the {name}", _number(self.equals), self.alternative, self.margin)
        return _one_mean(
            _reader(answer, confidence), self, "Test of a mean", hypothesis, name, float_near(rational(self.equals, ""))
        )


@dataclass(frozen=True)
class PairedTest(_OfMeans):
    """Two numbers of each person do not differ on average.

    The difference is computed within each person, so that everyone counts once. The two numbers are two columns of a
    row; or, with `column` and `by`, the person's means of a column over the rows of two values of another.

    Args:
        first: a column; or a value of `by`.
        second: the column, or the value, that is subtracted.
        column: the column of numbers, where `first` and `second` are values.
        by: the column that these are values of.
        alternative: "two-sided"; "greater" or "less" where only a larger, or a smaller, first number is evidence.
        margin: where given, the hypothesis is that they differ by this much or more (equivalence).

    Example:
        >>> privet.study.PairedTest("after", "before", column="pressure", by="period").describe()
        'whether pressure at after = pressure at before on average'
    """

    first: str
    second: str
    column: str | None = None
    by: str | None = None
    alternative: Alternative = "two-sided"
    margin: Number | None = None

    def __post_init__(self) -> None:
        plain_text(self.first, "first")
        plain_text(self.second, "second")
        if self.first == self.second:
            raise BadParameter("second", self.second, "another one than first")
        if (self.column is None) != (self.by is None):
            raise BadParameter("by", self.by, "given together with column, or both left out")
        for name in ("column", "by"):
            if getattr(self, name) is not None:
                plain_text(getattr(self, name), name)
        _check_sides(self.alternative, self.margin)

    def describe(self) -> str:
        """Return the hypothesis in words."""
        return f"whether {self._hypothesis()}"

    def _hypothesis(self) -> str:
        sides = (self.first, self.second)
        if self.column is not None:
            sides = (f"{self.column} at {self.first}", f"{self.column} at {self.second}")
        if self.margin is not None:
            return f"{sides[0]} and {sides[1]} differ by {_number(self.margin)} or more on average"
        sign = {"two-sided": "=", "greater": "<=", "less": ">="}[self.alternative]
        return f"{sides[0]} {sign} {sides[1]} on average"

    def question(self, rows: Frame) -> Result:
        """Return the mean and the variance of the differences."""
        if self.column is None or self.by is None:
            return _moments(rows, col(self.first) - col(self.second))
        sides = {
            name: mean(self.column, where=col(self.by) == value)
            for name, value in (("first", self.first), ("second", self.second))
        }
        try:
            pairs = rows.per_unit(**sides)
        except Unsupported:
            raise_alone(
                Unsupported(
                    "a pair is of one person, and this table has no person column: each of its rows is protected by "
                    "itself, or its rows were derived; name two columns of a row instead: PairedTest('after', 'before')"
                )
            )
        return _moments(pairs, col("first") - col("second"))

    def conclude(self, answer: Answer, confidence: float) -> Finding:
        """Return the test of the mean difference."""
        reader = _reader(answer, confidence)
        return _one_mean(reader, self, "Paired test", self._hypothesis(), "mean difference", 0.0)


@dataclass(frozen=True)
class MeansTest(_OfMeans):
    """The means of a column are equal in all groups: two of them, or several (analysis of variance).

    Args:
        column: a column of numbers with declared bounds.
        by: a column with declared values: the groups.
        groups: which of them; all if left out.
        alternative: for two groups: "two-sided"; "greater" or "less" where only a larger, or a smaller, first mean is
            evidence.
        margin: for two groups: where given, the hypothesis is that the means differ by this much or more (equivalence).

    Example:
        >>> privet.study.MeansTest("age", by="ward", groups=("A", "B")).describe()
        'whether the means of age are equal in ward A and B'
    """

    column: str
    by: str
    groups: tuple[str, ...] | None = None
    alternative: Alternative = "two-sided"
    margin: Number | None = None

    def __post_init__(self) -> None:
        plain_text(self.column, "column")
        plain_text(self.by, "by")
        _check_sides(self.alternative, self.margin)
        if self.groups is not None:
            texts = isinstance(self.groups, tuple) and all(isinstance(group, str) for group in self.groups)
            if not texts or len(set(self.groups)) < max(2, len(self.groups)):
                raise BadParameter("groups", self.groups, "a tuple of at least two different values")
        if self._sided and (self.groups is None or len(self.groups) != 2):
            raise BadParameter("groups", self.groups, "two values where alternative or margin is given: ('A', 'B')")

    @property
    def _sided(self) -> bool:
        return self.alternative != "two-sided" or self.margin is not None

    def describe(self) -> str:
        """Return the hypothesis in words."""
        return f"whether {self._hypothesis(self.groups)}"

    def _hypothesis(self, groups: tuple[str, ...] | None) -> str:
        if groups is None:
            return f"the means of {self.column} are equal in every {self.by}"
        listed = f"{', '.join(groups[:-1])} and {groups[-1]}"
        if self.margin is not None:
            return f"the means of {self.column} in {self.by} {listed} differ by {_number(self.margin)} or more"
        if self.alternative != "two-sided":
            sign = "<=" if self.alternative == "greater" else ">="
            return f"the mean of {self.column} in {self.by} {groups[0]} is {sign} that in {groups[1]}"
        return f"the means of {self.column} are equal in {self.by} {listed}"

    def question(self, rows: Frame) -> Result:
        """Return the mean and the variance of the column in each group."""
        return _moments(rows.group_by(self.by), col(self.column))

    def check(self, query: Query, schema: Schema) -> None:
        """Raise `RequestError` unless the groups are declared values."""
        super().check(query, schema)
        declared = typed(query.keys[0].expression, schema.columns).values
        if declared is None:
            raise RequestError(f"the values of {self.by} are not declared; declare it as a category")
        if len(declared) < 2:
            raise RequestError(f"{self.by} has one value only, and means are compared between two or more")
        unknown = set(self.groups or ()) - {str(value) for value in declared if value is not None}
        if unknown:
            raise BadParameter("groups", min(unknown), f"declared values of {self.by}: {', '.join(map(str, declared))}")

    def check_plan(self, plan: Plan) -> None:
        """Raise `RequestError` where a condition rules out a group that is compared, or leaves one alone."""
        left = [str(value) for value in released_values(plan)[0]]
        missing = [name for name in self.groups or () if name not in left]
        if missing or len(left) < 2:
            ruled = f"rules out {self.by} = {missing[0]}" if missing else f"leaves fewer than two values of {self.by}"
            raise RequestError(f"the condition {ruled}, and means are compared; choose rows by other columns")

    def conclude(self, answer: Answer, confidence: float) -> Finding:
        """Return the test of two means, or the analysis of variance of several."""
        reader = _reader(answer, confidence)
        named = {str(value): row for row, value in enumerate(answer[self.by].values) if value is not None}
        wanted = list(named if self.groups is None else self.groups)
        rows = [named[name] for name in wanted]
        means, _, _ = reader.equation(_MEAN, len(rows))
        spreads, _, _ = reader.equation(_SPREAD, len(rows))
        means, spreads = means.at(rows), spreads.at(rows)
        each = replace(reader).estimates(_MEAN)
        estimates = {f"mean in {name}": each[row] for name, row in zip(wanted, rows, strict=True)}
        hypothesis, assumptions = self._hypothesis(tuple(wanted)), _assumptions(reader)
        if len(rows) == 2:
            contrast = Contrast(means.at([0]), means.at([1]))
            difference = _difference(contrast, _pooled(spreads, means), reader, confidence)
            two_sided = self.margin is None
            return Finding(
                name="Test of two means",
                hypothesis=hypothesis,
                p_value=contrast.p_value(alternative=self.alternative)
                if two_sided
                else contrast.equivalence(_width(self.margin)),
                estimates={**difference, **estimates},
                method=_METHOD if two_sided else f"two one-sided tests; {_METHOD}",
                assumptions=(*assumptions, _NORMAL),
            )
        # in the order of the answer: that in which groups are named chooses no p-value
        order = sorted(range(len(rows)), key=rows.__getitem__)
        in_order, digest = means.at(order), answer.receipt.digest
        test = all_equal(in_order, digest=digest)
        within = _pooled(spreads.at(order), in_order)
        share = explained_share(in_order, within, confidence=confidence, digest=digest)
        estimates["eta squared"] = Estimate(
            value=share.value,
            low=share.low,
            high=share.high,
            confidence=confidence,
            standard_error=share.error,
            covers=reader.words("share of the variance that lies between groups", reader.used(_MEAN)),
        )
        method = "least weighted squares over the common mean, by the joint law of the noise and of sampling"
        return Finding(
            name="Analysis of variance",
            hypothesis=hypothesis,
            p_value=test.p_value,
            statistic=test.statistic,
            degrees=test.degrees,
            estimates=estimates,
            method=f"{method}; {'simulated, by points that the digest fixes' if test.simulated else 'chi-squared'}",
            assumptions=(*assumptions, _NORMAL_WITHIN),
            notes=(_CONSERVATIVE,) if test.conservative else (),
        )


_METHOD = "test inversion by the joint law of the noise in sums, squares and counts, and of sampling"
_CONSERVATIVE = "The number of rows of some group is near its noise: the test is conservative."


def _moments(rows: Frame, term: Term) -> Result:
    return rows.agg(**{_MEAN: mean(term), _SPREAD: var(term)})


def _check_sides(alternative: Alternative, margin: Number | None) -> None:
    choice(alternative, "alternative", ALTERNATIVES)
    if margin is not None:
        positive(margin, "margin")
        if alternative != "two-sided":
            raise BadParameter("alternative", alternative, "left out where margin is given: both sides are tested")


def _number(value: Number) -> str:
    return f"{float_near(rational(value, 'value')):g}"


def _width(margin: Number | None) -> float:
    return float_near(positive(margin, "margin"))


def _stated(what: str, value: str, alternative: Alternative, margin: Number | None) -> str:
    if margin is not None:
        return f"{what} differs from {value} by {_number(margin)} or more"
    return f"{what} is {({'two-sided': '', 'greater': 'at most ', 'less': 'at least '})[alternative]}{value}"


def _reader(answer: Answer, confidence: float) -> PopulationReader:
    if not isinstance(answer.sampled, PopulationReader):
        raise Unsupported("means are tested on aggregates as they were released; pass the rows of one private table")
    return replace(answer.sampled, confidence=confidence)


def _assumptions(reader: PopulationReader) -> tuple[str, ...]:
    rowwise = all(part.scan.schema.unit.rowwise for part in reader.plan.passes)
    who = "rows" if rowwise else "people"
    return (
        f"{who} are drawn independently of each other",
        f"what is tested is the population's value {reader.estimand('mean', reader.used(_MEAN))}",
        _CLAMPED,
        "sums over the sample are nearly normal",
    )


def _one_mean(
    reader: PopulationReader, test: MeanTest | PairedTest, name: str, hypothesis: str, what: str, value: float
) -> Finding:
    """Return the test of whether one mean has a value, with Cohen's d of its distance."""
    equation, _, _ = reader.equation(_MEAN)
    spreads, _, _ = reader.equation(_SPREAD)
    (estimate,) = reader.estimates(_MEAN)
    if test.margin is None:
        p_value = one_sided(equation, value, test.alternative)
    else:
        width = _width(test.margin)
        p_value = max(one_sided(equation, value - width, "greater"), one_sided(equation, value + width, "less"))
    return Finding(
        name=name,
        hypothesis=hypothesis,
        p_value=p_value,
        estimates={what: estimate, "Cohen's d": _one_effect(equation, value, _pooled(spreads, equation), reader)},
        method=_METHOD if test.margin is None else f"two one-sided tests; {_METHOD}",
        assumptions=(*_assumptions(reader), _NORMAL),
    )


def _pooled(spreads: Equation, means: Equation) -> tuple[float, float]:
    """Return the standard deviation within groups, and its standard error for nearly normal values.

    The variance of an estimated variance v of N rows is 2 v^2 / N for normal values, times the design effect C; the
    noise is added. Groups are pooled by their numbers of rows.
    """
    import numpy as np

    rows = np.maximum(spreads.bottom, 1.0)
    most = _design(spreads, rows)
    normal = replace(spreads, spread=(0 * rows, 0 * rows, 2 * most * rows))
    variances, errors = np.nan_to_num(normal.value), np.nan_to_num(normal.error, nan=math.inf)
    share = rows / rows.sum()
    variance = float((share * variances).sum())
    error = float(np.sqrt(((share * errors) ** 2).sum()))
    deviation = math.sqrt(max(variance, 0.0))
    return deviation, error / (2 * deviation) if deviation else math.inf


def _design(spreads: Equation, rows: Floats) -> Floats:
    """Return the design effect that is in the equations of variances: the factor of v^2, which is -C N."""
    return -spreads.spread[2] / rows


def _one_effect(equation: Equation, value: float, pooled: tuple[float, float], reader: PopulationReader) -> Estimate:
    import numpy as np

    at = equation.value
    known = bool(equation.bottom[0] > 0)
    scales, deviation, _ = equation.errors(np.nan_to_num(at))
    bottom = float(equation.bottom[0]) if known else math.nan
    parts = float(at[0]) - value, [scale / bottom for scale in scales], float(deviation[0]) / bottom
    return _effect(parts, pooled, reader, reader.confidence)


def _difference(
    contrast: Contrast, pooled: tuple[float, float], reader: PopulationReader, confidence: float
) -> dict[str, Estimate]:
    words = reader.words("difference", reader.used(_MEAN))
    low, high = contrast.difference_interval(1 - confidence)
    difference = Estimate(
        value=contrast.difference,
        low=low,
        high=high,
        confidence=confidence,
        standard_error=contrast.error,
        covers=words,
    )
    sides = (contrast.one, contrast.other)
    if not all(side.bottom[0] > 0 for side in sides):
        return {"difference": difference, "Cohen's d": _effect((math.nan, [], math.nan), pooled, reader, confidence)}
    errors = [(side.errors(side.value), float(side.bottom[0])) for side in sides]
    scales = [width / bottom for (widths, _, _), bottom in errors for width in widths]
    deviation = math.hypot(*(float(normal[0]) / bottom for (_, normal, _), bottom in errors))
    effect = _effect((contrast.difference, scales, deviation), pooled, reader, confidence)
    return {"difference": difference, "Cohen's d": effect}


def _effect(
    parts: tuple[float, list[Floats], float], pooled: tuple[float, float], reader: PopulationReader, confidence: float
) -> Estimate:
    spread, error = pooled
    noise = math.sqrt(2) * math.hypot(*(float(scale[0]) for scale in parts[1]))
    known = spread > 0 and math.isfinite(parts[0]) and math.isfinite(error)
    low, high = effect_interval(_scalars(parts), spread, error, 1 - confidence) if known else (-math.inf, math.inf)
    return Estimate(
        value=parts[0] / spread if known else math.nan,
        low=low,
        high=high,
        confidence=confidence,
        standard_error=math.hypot(noise, parts[2], parts[0] / spread * error) / spread if known else math.nan,
        covers=reader.words("difference over the standard deviation", reader.used(_MEAN)),
    )


def _scalars(parts: tuple[float, list[Floats], float]) -> tuple[float, list[Floats], float]:
    return parts[0], [scale.reshape(()) for scale in parts[1]], parts[2]
