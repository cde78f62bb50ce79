"""Tests of proportions of private people: one share, or the shares of two groups; each person counts once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from privet.answer import Answer
from privet.core.errors import BadParameter, InvariantError, RequestError, Unsupported
from privet.core.given import plain_text
from privet.core.numbers import Number, open_probability, whole
from privet.core.schema import Schema
from privet.core.unit import person_column
from privet.inference.finding import Finding
from privet.inference.noisy_binomial import MOST_PEOPLE, IntegerNoise, SeenCount, TulapNoise, near_count
from privet.inference.proportion_tests import (
    Alternative,
    CountedShare,
    ShareTest,
    TwoShares,
    conclude_difference,
    conclude_share,
    conclude_unknown,
    read_difference_test,
    read_share_test,
)
from privet.mechanisms.laws import DiscreteLaplace, NoiseLaw
from privet.mechanisms.tulap import BITS
from privet.planner.measurements import Measurement
from privet.planner.plan import Plan
from privet.planner.share_plan import with_tulap
from privet.planner.tulap_counts import TulapMeasure
from privet.query.expressions import typed
from privet.query.frame import Frame, Result, col, count, when, with_condition
from privet.query.nodes import Query

from .hypothesis import Hypothesis

_MET, _HAS, _YES, _NO = "condition of the test", "has_it", "yes", "no"
_MOST_CONFIDENT = 0.9999
_ONE_ROW = "of a person with several rows one counts, chosen at random"


@dataclass(frozen=True)
class Proportion(Hypothesis):
    """The share of people who meet a condition equals a number, or lies within two bounds.

    Args:
        condition: a condition in SQL, such as "smoker" or "age > 65". A person for whom it is NULL does not meet it.
        equals: the share under the hypothesis.
        alternative: "two-sided", or "greater" or "less" for a hypothesis of at most, or at least, that share.
        within: two bounds instead of `equals`: a test of equivalence, small p-values show that the share is between.
        people: how many people there are, if that is public. Then all of the budget goes to the people who meet the
            condition, and the test is the most powerful one. Without it both groups are counted, and the p-value is the
            largest over the numbers of people that the noise allows.
        delta: where the account has a delta, what of it the test may spend: the probability with which its loss may
            exceed epsilon. The noise is then truncated, and smaller, and the test is the most powerful one at this
            epsilon and delta. It needs `people`, and is charged to the share that the account keeps for finding groups.

    Example:
        >>> old = privet.study.Proportion("age > 50", equals=0.3)
        >>> 0 <= session.test("visits", old, epsilon=1).p_value <= 1
        True
    """

    condition: str
    equals: Number | None = None
    alternative: Alternative = "two-sided"
    within: tuple[Number, Number] | None = None
    people: int | None = None
    delta: Number | None = None
    only_once: ClassVar[bool] = True

    def __post_init__(self) -> None:
        plain_text(self.condition, "condition")
        _ = self._test
        _read_people(self.people)
        if self.delta is not None:
            open_probability(self.delta, "delta")
            if self.people is None:
                raise RequestError("a test with a delta reads one count; pass people=, or leave out delta=")

    @property
    def own_noise(self) -> bool:
        """Whether the noise is truncated, which other tests cannot be read from."""
        return self.delta is not None

    def planned(self, plan: Plan) -> Plan:
        """Return the plan that is charged: with a delta, of the same count with truncated Tulap noise."""
        return plan if self.delta is None else with_tulap(plan, self.delta)

    @property
    def _test(self) -> ShareTest:
        return read_share_test(self.equals, self.alternative, self.within)

    def describe(self) -> str:
        """Return the hypothesis in words."""
        return f"whether {self._test.words(self._what)}"

    @property
    def _what(self) -> str:
        return f"the share of people with {self.condition}"

    def question(self, rows: Frame) -> Result:
        """Return how many people meet the condition, and how many do not unless the number of people is public."""
        rows, met = with_condition(rows, _MET, self.condition), col(_MET)
        if self.people is not None:
            return rows.agg(people=count(where=met))
        return rows.group_by(**{_HAS: when(met, _YES, otherwise=_NO)}).agg(people=count())

    def check(self, query: Query, schema: Schema) -> None:
        """Raise `RequestError` where one person could count more than once."""
        _check_people(schema, self.people)

    def check_plan(self, plan: Plan) -> None:
        """Raise `RequestError` where conditions decide who meets that of the test, so that nothing is counted."""
        _check_counted(plan)

    @property
    def most_confidence(self) -> float:
        """The highest confidence level: intervals miss no less than what covers the number of people does."""
        return 1.0 if self.people is not None else _MOST_CONFIDENT

    def conclude(self, answer: Answer, confidence: float) -> Finding:
        """Return the test of the released counts; its uniform number was drawn and stored with them."""
        if self.people is None:
            rows = {row.group[_HAS]: row for row in answer.measurements()}
            law = _law(rows[_YES])
            counted = CountedShare(near_count(rows[_YES].released), law, misses=near_count(rows[_NO].released))
            finding = conclude_unknown(counted, self._test, confidence, what=self._what)
        elif self.delta is not None:
            finding = self._truncated(answer, self.people, confidence)
        else:
            # questions of a family may share a release, which then has the counts of others, too
            (row,) = [row for row in answer.measurements() if row.columns]
            law = _law(row)
            seen = seen_count(row.released, answer.released[0].word)
            best = isinstance(law, DiscreteLaplace) and law.finer == 1 and seen.drawn
            method = "exact, by the law of the noise"
            if seen.drawn:
                method = f"{method} and the uniform number that was drawn with it ({seen.upward:+.4f})"
            method = f"uniformly most powerful private test; {method}" if best else method
            noise = IntegerNoise(law)
            finding = conclude_share(seen, self.people, noise, self._test, confidence, method=method, what=self._what)
        return _noted(finding, answer)

    def _truncated(self, answer: Answer, people: int, confidence: float) -> Finding:
        """Return the test of a count with truncated Tulap noise, whose uniform part was released with it."""
        measure = answer.plan.passes[0].measure
        if not isinstance(measure, TulapMeasure):
            raise InvariantError("a test with a delta is read from Tulap noise")
        seen = SeenCount.drawn_with(*measure.parts(answer.released[0].sums[0]))
        method = (
            f"uniformly most powerful private test; exact, by the law of the truncated noise and the uniform part that "
            f"was drawn with it ({seen.upward:+.4f})"
        )
        noise = TulapNoise(measure.mechanism)
        return conclude_share(seen, people, noise, self._test, confidence, method=method, what=self._what)


@dataclass(frozen=True)
class TwoProportions(Hypothesis):
    """Two groups have the same share of people who meet a condition, or shares that differ by a number.

    Args:
        condition: a condition in SQL, such as "age > 65".
        by: the column that defines the groups, with declared values.
        groups: the two values that are compared. All groups are counted, so that other pairs are free afterwards.
        equals: the difference of the shares, first less second, under the hypothesis.
        alternative: "two-sided", or "greater" or "less" for a hypothesis of at most, or at least, that difference.
        within: two bounds instead: a test of equivalence, small p-values show that the difference is between.
        people: how many people each of the two groups has, if that is public.

    Example:
        >>> older = privet.study.TwoProportions("age > 50", by="ward", groups=("A", "B"))
        >>> 0 <= session.test("visits", older, epsilon=1).p_value <= 1
        True
    """

    condition: str
    by: str
    groups: tuple[Any, Any]
    equals: Number = 0
    alternative: Alternative = "two-sided"
    within: tuple[Number, Number] | None = None
    people: tuple[int, int] | None = None
    only_once: ClassVar[bool] = True

    def __post_init__(self) -> None:
        plain_text(self.condition, "condition")
        plain_text(self.by, "by")
        if not isinstance(self.groups, tuple | list) or len(self.groups) != 2 or self.groups[0] == self.groups[1]:
            raise BadParameter("groups", self.groups, "two different values of the column")
        _ = self._test
        if self.people is not None:
            if not isinstance(self.people, tuple | list) or len(self.people) != 2:
                raise BadParameter("people", self.people, "two whole numbers, one for each group")
            for size in self.people:
                _read_people(size)

    @property
    def _test(self) -> ShareTest:
        return read_difference_test(self.equals, self.alternative, self.within)

    @property
    def _names(self) -> tuple[str, str]:
        return str(self.groups[0]), str(self.groups[1])

    def describe(self) -> str:
        """Return the hypothesis in words."""
        first, second = self._names
        return f"whether {self._test.words(f'the share of {first} with {self.condition}, less that of {second},')}"

    def question(self, rows: Frame) -> Result:
        """Return how many people of each group meet the condition, and how many do not."""
        rows, met = with_condition(rows, _MET, self.condition), col(_MET)
        if self.people is not None:
            return rows.group_by(self.by).agg(people=count(where=met))
        return rows.group_by(self.by, **{_HAS: when(met, _YES, otherwise=_NO)}).agg(people=count())

    def check(self, query: Query, schema: Schema) -> None:
        """Raise `RequestError` unless the groups are declared and one person counts once."""
        _check_people(schema, None)
        declared = typed(query.keys[0].expression, schema.columns).values
        if declared is None:
            raise RequestError(f"the values of {self.by} are not declared; declare it as a category to compare groups")
        missing = [group for group in self.groups if group not in declared]
        if missing:
            listed = ", ".join(map(str, declared))
            raise BadParameter("groups", ", ".join(map(str, self.groups)), f"two of the declared values: {listed}")

    def check_plan(self, plan: Plan) -> None:
        """Raise `RequestError` where conditions rule out a group, or decide who meets that of the test."""
        _check_counted(plan, self.groups)

    @property
    def most_confidence(self) -> float:
        """The highest confidence level: intervals miss no less than what covers the common share does."""
        return _MOST_CONFIDENT

    def conclude(self, answer: Answer, confidence: float) -> Finding:
        """Return the test of the released counts of both groups."""
        rows = {(row.group[self.by], row.group.get(_HAS)): row for row in answer.measurements() if row.columns}
        sides = []
        for place, group in enumerate(self.groups):
            if self.people is not None:
                row = rows[group, None]
                sides.append(CountedShare(near_count(row.released), _law(row), people=self.people[place]))
            else:
                row = rows[group, _YES]
                sides.append(
                    CountedShare(near_count(row.released), _law(row), misses=near_count(rows[group, _NO].released))
                )
        return _noted(conclude_difference(TwoShares(*sides), self._test, confidence, names=self._names), answer)


def seen_count(count: int, word: int | None) -> SeenCount:
    """Return a released count with the uniform number that was drawn once and stored with it: 64 bits, as a word.

    A test of a count with discrete noise is exact if a uniform number is added to it, independently of the noise. Were
    it drawn when a finding is read, a reader could draw until the p-value pleases; were it a function of the question,
    an analyst could vary the question offline until it pleases, and pay then. A count that was released without a word
    is read at the far end of its cell: its p-value is a little too large.

    Guarantee: post-processing by a number that depends on neither the data nor the noise: it adds no cost.
    """
    if word is None:
        return SeenCount(near_count(count), -0.5, 0.5)
    part = (word + 0.5) / 2**BITS - 0.5
    return SeenCount(near_count(count), part, part)


def _law(row: Measurement) -> NoiseLaw:
    if row.law is None or row.law.step != 1 or row.step != 1:
        raise InvariantError("a proportion is read from a whole number of people with integer noise")
    return row.law


def _noted(finding: Finding, answer: Answer) -> Finding:
    person = person_column(answer.plan.passes[0].scan.schema.unit)
    return finding if person is None else replace(finding, assumptions=(*finding.assumptions, _ONE_ROW))


def _check_counted(plan: Plan, groups: Sequence[Any] = ()) -> None:
    """Refuse a plan that does not count all that a test reads: some of it is known to be empty."""
    known = {key.expression: key.values or () for key in plan.groups}
    declared = [known[key.expression] for key in plan.query.keys]
    by, has = (declared[0], declared[1:]) if groups else ((), declared)
    missing = [group for group in groups if group not in by]
    decided = any(not {_YES, _NO} <= {*values} for values in has)
    if missing or decided or (groups and plan.passes[0].scan.cells is not None):
        raise RequestError(
            "by declared facts and the condition on rows, some of the people whom this test compares cannot be there, "
            "so that nothing is to be tested; choose rows by other columns, or test another condition"
        )


def _check_people(schema: Schema, people: int | None) -> None:
    if schema.unit.timed:
        raise Unsupported(
            "a test of proportions needs people who count once, and here a person counts once in each window of time; "
            "test rows of one window"
        )
    if people is not None and schema.units is not None and people > schema.units:
        raise BadParameter("people", people, f"at most the {schema.units:,} that are declared")


def _read_people(people: Any) -> None:
    if people is not None:
        whole(people, "people", least=1, most=MOST_PEOPLE)
