"""Several hypotheses together: one charge, shares of it fixed before, and one error level for all."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from privet.answer import Answer
from privet.core.errors import BadParameter, RequestError
from privet.core.given import choice, listed, set_fields
from privet.core.numbers import Number, open_probability, whole
from privet.core.unit import person_column
from privet.execution.batches import plan_questions
from privet.execution.request import AskOptions, Catalog
from privet.inference.finding import CORRECTIONS, Correction, FamilyOfFindings, Finding, judge_together, read_shares
from privet.planner.batch import Batch
from privet.planner.make import private_schema
from privet.query.frame import Frame

from .hypothesis import ONCE, Hypothesis, read_confidence

_MOST = 1000


@dataclass(frozen=True)
class Family:
    """Hypotheses that are tested together, at one price and one error level.

    Args:
        hypotheses: what is tested, fixed before any answer is seen. Hypotheses that answers suggest are a new family.
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
        if not isinstance(given, Sequence) or isinstance(given, str) or not 1 <= len(given) <= _MOST:
            raise BadParameter("hypotheses", given, "a list of hypotheses, such as [privet.study.Proportion(...), ...]")
        for one in given:
            if not isinstance(one, Hypothesis):
                raise BadParameter("hypotheses", type(one).__name__, "a list of hypotheses")
            if not one.has_p_value:
                raise RequestError(
                    f"a test without a p-value cannot be judged with others: {one.describe()}; choose another method"
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
            weights = tuple(whole(one, "weights", least=1) for one in weights)
        shares = self.shares
        if shares is not None:
            if not isinstance(shares, Sequence) or isinstance(shares, str) or len(shares) != len(given):
                raise BadParameter("shares", shares, "one number for each hypothesis")
            shares = tuple(shares)
        read_shares(shares, self.method, len(given))
        set_fields(self, hypotheses=tuple(given), weights=weights, shares=shares)

    def judge(self, findings: Sequence[Finding]) -> FamilyOfFindings:
        """Return what the tests of this family found so far, made one by one, at its error level. It costs nothing.

        Args:
            findings: what its first tests found, in the order of its hypotheses: any number of them with method
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

    Each test is read from a release of its own, not from what a finer one of another adds up to.
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
    """Return what the tests of a family found, each from its own answer: `run` charges for them, or finds them."""
    level = min(read_confidence(one, confidence) for one in family.hypotheses)
    findings = [
        replace(hypothesis.conclude(answer, level), receipt=answer.receipt)
        for hypothesis, answer in zip(family.hypotheses, run(batch), strict=True)
    ]
    return replace(family.judge(findings), cost=batch.cost())
