"""From a hypothesis to a plan, and from its answer to a finding: one question, charged once, read again for free.

Several hypotheses together are one charge, with shares of it fixed before, and have one error level for all.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

from privet.answer import Answer
from privet.core.errors import BadParameter, RequestError
from privet.core.given import choice, listed, set_fields
from privet.core.numbers import Number, float_near, open_probability, whole
from privet.core.schema import Contribution, Schema
from privet.core.unit import person_column
from privet.display import draw_text, html_lines, written
from privet.execution.batches import plan_questions
from privet.execution.request import AskOptions, Catalog, plan_question
from privet.inference.finding import CORRECTIONS, Correction, FamilyOfFindings, Finding, judge_together, read_shares
from privet.planner.batch import Batch
from privet.planner.make import private_schema
from privet.planner.plan import Plan
from privet.query.frame import Frame, Result
from privet.query.nodes import Query

if TYPE_CHECKING:
    from rich.console import Console


ONCE = Contribution(groups=1, rows=1)
"""Each person counts at most once: rows of one person are not independent."""


class Hypothesis(ABC):
    """Something to test on private rows: a frozen value.

    It names one question. The question is planned, charged and released like any other, and `conclude` reads the
    finding from the answer: from released numbers and public facts alone, so that concluding again is free, and
    always the same.
    """

    each_person_once: ClassVar[bool] = True
    """Whether a person counts at most once unless the caller sets a limit: tests of independent rows need this."""

    only_once: ClassVar[bool] = False
    """Whether the test makes no sense where a person counts more than once, so that any other limit is refused."""

    @abstractmethod
    def question(self, rows: Frame) -> Result:
        """Return the question about the rows, whose answer the test is read from."""

    def check(self, query: Query, schema: Schema) -> None:  # noqa: B027  # most have nothing more to check
        """Raise `RequestError` if the declarations do not permit the test: before it is planned and charged."""

    def check_plan(self, plan: Plan) -> None:  # noqa: B027  # most tests take any plan of their question
        """Raise `RequestError` if the question was planned in a way that the test cannot take: before the charge."""

    def planned(self, plan: Plan) -> Plan:
        """Return the plan that is charged, from that of the question: the same, unless the test has its own noise."""
        return plan

    @property
    def own_noise(self) -> bool:
        """Whether the test needs a special kind of noise, so that no other test can share its release."""
        return False

    @property
    def most_confidence(self) -> float:
        """The highest confidence level that intervals of the test can have."""
        return 1.0

    @property
    def has_p_value(self) -> bool:
        """Whether its finding has a p-value, so that it can be judged together with others."""
        return True

    @abstractmethod
    def conclude(self, answer: Answer, confidence: float) -> Finding:
        """Return the finding: of released numbers, with points that are fixed by the answer's digest."""

    def describe(self) -> str:
        """Return the hypothesis in words; its `repr` if it defines none."""
        return repr(self)


@dataclass(frozen=True, repr=False)
class TestPlan:
    """Everything about a test before it is charged: the question that it asks, and its price.

    Example:
        >>> even = privet.study.GoodnessOfFit("ward", {"A": 0.5, "B": 0.5})
        >>> session.plan_test("visits", even, epsilon=0.5).price["epsilon"]
        0.5
    """

    __test__ = False  # not a class of tests, whatever its name

    hypothesis: Hypothesis
    plan: Plan

    @property
    def price(self) -> Mapping[str, float]:
        """The cost of the test alone."""
        return self.plan.price

    @property
    def digest(self) -> str:
        """The digest under which the question is charged and stored."""
        return self.plan.digest

    def explain(self) -> str:
        """Return the plan in plain words."""
        return f"Tests {self.hypothesis.describe()}.\n{self.plan.explain()}"

    def to_dict(self) -> dict[str, Any]:
        """Return everything public about the plan as plain data for JSON."""
        return {"hypothesis": self.hypothesis.describe(), **self.plan.to_dict()}

    def __repr__(self) -> str:
        def draw(console: Console) -> None:
            draw_text(console, self.explain())

        return written(draw)

    def _repr_html_(self) -> str:
        return f"<div>{html_lines(self.explain().splitlines())}</div>"


def plan_test(hypothesis: Hypothesis, rows: Frame, catalog: Catalog, options: AskOptions) -> TestPlan:
    """Return the plan of a test. It reads no data.

    Over people, each counts at most once where neither the caller nor the hypothesis sets another limit: one row of
    each person is kept, so that the rows that remain are independent if the people are.
    """
    if not isinstance(hypothesis, Hypothesis):
        given = type(hypothesis).__name__
        raise BadParameter("hypothesis", given, 'a hypothesis, such as privet.study.GoodnessOfFit("ward", {...})')
    asked = hypothesis.question(rows)
    query = asked.query()
    schema = private_schema(query.table, catalog.schemas)
    hypothesis.check(query, schema)
    people = person_column(schema.unit) is not None
    if people and hypothesis.only_once and options.contribution not in (None, ONCE):
        raise RequestError("this test counts each person once; leave out contribution")
    if people and hypothesis.each_person_once and options.contribution in (None, *([ONCE] * hypothesis.only_once)):
        options = replace(options, contribution=ONCE, bound="groups")
    plan, _ = plan_question(asked, options, catalog)
    hypothesis.check_plan(plan)
    return TestPlan(hypothesis, hypothesis.planned(plan))


def read_confidence(hypothesis: Hypothesis, confidence: Number | None) -> float:
    """Return the confidence level of intervals, or refuse one that those of a test cannot have: before the charge."""
    level = 0.95 if confidence is None else float_near(open_probability(confidence, "confidence"))
    if level > hypothesis.most_confidence:
        raise BadParameter("confidence", confidence, f"at most {hypothesis.most_confidence} for this test")
    return level


def run_test(plan: TestPlan, run: Callable[[Plan], Answer], *, confidence: Number | None) -> Finding:
    """Return the finding of a test: `run` charges and answers its question, or returns the stored answer."""
    level = read_confidence(plan.hypothesis, confidence)
    answer = run(plan.plan)
    finding = plan.hypothesis.conclude(answer, level)
    return replace(finding, cost=plan.price, receipt=answer.receipt)


_MOST_HYPOTHESES = 1000


@dataclass(frozen=True)
class Family:
    """Hypotheses that are tested together, at one price and one error level.

    Args:
        hypotheses: the hypotheses, fixed before any answer is known. Hypotheses that answers suggest are a new family.
        method: "holm" for the chance of any false rejection, "benjamini-yekutieli" for the expected share of them,
            "spending" for the chance of any where you look at one test after another and may stop at any of them.
        weights: how many equal shares of the cost each gets; 1 each if left out.
        level: the error level of all of them together.
        shares: with "spending", the share of the level that each test may use; 1/2, 1/4, 1/8, ... if left out.

    Example:
        >>> both = privet.study.Family([
        ...     privet.study.Proportion("age > 50", equals=0.3),
        ...     privet.study.TwoProportions("age > 50", by="ward", groups=("A", "B")),
        ... ])
        >>> len(session.test_all("visits", both, epsilon=1).adjusted)
        2
    """

    hypotheses: tuple[Hypothesis, ...]
    method: Correction = "holm"
    weights: tuple[int, ...] | None = None
    level: Number = 0.05
    shares: tuple[Number, ...] | None = None

    def __post_init__(self) -> None:
        given = self.hypotheses
        if not isinstance(given, Sequence) or isinstance(given, str) or not 1 <= len(given) <= _MOST_HYPOTHESES:
            raise BadParameter("hypotheses", given, "a list of hypotheses, such as [privet.study.Proportion(...), ...]")
        for test in given:
            if not isinstance(test, Hypothesis):
                raise BadParameter("hypotheses", type(test).__name__, "a list of hypotheses")
            if not test.has_p_value:
                raise RequestError(
                    f"a test without a p-value cannot be judged with others: {test.describe()}; choose another method"
                )
        choice(self.method, "method", CORRECTIONS)
        if self.method == "benjamini-hochberg":
            raise RequestError(
                "tests of one table share people and noise; Benjamini and Hochberg's method is for independent tests. "
                'Use method="benjamini-yekutieli" or "holm"'
            )
        open_probability(self.level, "level")
        weights = self.weights
        if weights is not None:
            if not isinstance(weights, Sequence) or len(weights) != len(given):
                raise BadParameter("weights", weights, "one whole number for each hypothesis")
            weights = tuple(whole(weight, "weights", least=1) for weight in weights)
        shares = self.shares
        if shares is not None:
            if not isinstance(shares, Sequence) or isinstance(shares, str) or len(shares) != len(given):
                raise BadParameter("shares", shares, "one number for each hypothesis")
            shares = tuple(shares)
        read_shares(shares, self.method, len(given))
        set_fields(self, hypotheses=tuple(given), weights=weights, shares=shares)

    def judge(self, findings: Sequence[Finding]) -> FamilyOfFindings:
        """Return the findings of this family's tests so far, made one by one, at its error level. It costs nothing.

        Args:
            findings: those of its first tests, in the order of its hypotheses: any number of them with method
                "spending", all of them with the others.

        Example:
            >>> tests = [privet.study.Proportion("age > 50", equals=0.3), privet.study.MeanTest("age", equals=40)]
            >>> plan = privet.study.Family(tests, method="spending")
            >>> first = session.test("visits", plan.hypotheses[0], epsilon=1)
            >>> plan.judge([first]).shares
            (0.5,)
        """
        made = tuple(listed(findings, "findings", "a list of findings"))
        if len(made) > len(self.hypotheses):
            raise BadParameter(
                "findings", f"{len(made)} findings", f"at most {len(self.hypotheses)}, one for each test"
            )
        if self.method != "spending" and len(made) != len(self.hypotheses):
            raise RequestError(
                f"method={self.method!r} needs the findings of all {len(self.hypotheses)} tests; "
                'to stop earlier, plan the family with method="spending"'
            )
        return judge_together(made, method=self.method, level=self.level, shares=self.shares)


def plan_family(family: Family, rows: Frame, catalog: Catalog, options: AskOptions) -> Batch:
    """Return the plan of a family: its questions, checked before any is charged, at one price. It reads no data.

    Each test is read from its own release, not from sums of a finer release of another test.
    """
    if not isinstance(family, Family):
        raise BadParameter("family", type(family).__name__, "a Family, such as privet.study.Family([...])")
    questions, once = [], set()
    for hypothesis in family.hypotheses:
        if hypothesis.own_noise:
            raise RequestError(
                f"a test with a delta of its own shares no release with others; leave out delta=, or test by itself "
                f"{hypothesis.describe()}"
            )
        asked = hypothesis.question(rows)
        query = asked.query()
        schema = private_schema(query.table, catalog.schemas)
        hypothesis.check(query, schema)
        questions.append(asked)
        once.add(person_column(schema.unit) is not None and hypothesis.each_person_once)
    if len(once) > 1:
        raise RequestError("some of these tests count each person once and others do not; test them in two families")
    if once == {True}:
        options = replace(options, bound="groups", contribution=ONCE)
    batch = plan_questions(questions, options, catalog, weights=family.weights)
    batch = batch if batch.before is None else batch.before
    for hypothesis, plan in zip(family.hypotheses, batch.plans, strict=True):
        hypothesis.check_plan(plan)
    return batch


def run_family(
    family: Family, batch: Batch, run: Callable[[Batch], Sequence[Answer]], *, confidence: Number | None
) -> FamilyOfFindings:
    """Return the findings of a family's tests, each from its own answer: `run` charges for them, or finds them."""
    level = min(read_confidence(hypothesis, confidence) for hypothesis in family.hypotheses)
    findings = [
        replace(hypothesis.conclude(answer, level), receipt=answer.receipt)
        for hypothesis, answer in zip(family.hypotheses, run(batch), strict=True)
    ]
    return replace(family.judge(findings), cost=batch.cost())
