"""Several hypotheses together: one charge, shares of it fixed before, and one error level for all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from privet.answer import Answer
from privet.core.errors import BadParameter, RequestError
from privet.core.given import choice, set_fields
from privet.core.numbers import Number, open_probability, whole
from privet.core.schema import Contribution
from privet.core.unit import person_column
from privet.execution.request import Catalog
from privet.inference.families import CORRECTIONS, Correction, FamilyOfFindings, judge_together
from privet.planner.make import private_schema
from privet.query.frame import Frame, Result

from .hypothesis import ONCE, Hypothesis

_MOST = 1000


@dataclass(frozen=True)
class Family:
    """Hypotheses that are tested together, at one price and one error level.

    Args:
        hypotheses: what is tested, fixed before any answer is seen. Hypotheses that answers suggest are a new family.
        method: "holm" for the chance of any false rejection, "benjamini-yekutieli" for the expected share of them.
        weights: how many equal shares of the cost each gets; 1 each if left out.
        level: the error level of all of them together.

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

    def __post_init__(self) -> None:
        given = self.hypotheses
        if not isinstance(given, Sequence) or isinstance(given, str) or not 1 <= len(given) <= _MOST:
            raise BadParameter("hypotheses", given, "a list of hypotheses, such as [privet.study.Proportion(...), ...]")
        for one in given:
            if not isinstance(one, Hypothesis):
                raise BadParameter("hypotheses", type(one).__name__, "a list of hypotheses")
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
        set_fields(self, hypotheses=tuple(given), weights=weights)


def family_questions(family: Family, rows: Frame, catalog: Catalog) -> tuple[list[Result], Contribution | None]:
    """Return the questions of a family, checked before any is charged, and what a person may contribute to each."""
    if not isinstance(family, Family):
        raise BadParameter("family", type(family).__name__, "a Family, such as privet.study.Family([...])")
    questions, once = [], set()
    for hypothesis in family.hypotheses:
        asked = hypothesis.question(rows)
        query = asked.query()
        schema = private_schema(query.table, catalog.schemas)
        hypothesis.check(query, schema)
        questions.append(asked)
        once.add(person_column(schema.unit) is not None and hypothesis.each_person_once)
    if len(once) > 1:
        raise RequestError("some of these tests count each person once and others do not; test them in two families")
    return questions, ONCE if once == {True} else None


def conclude_family(
    family: Family, answers: Sequence[Answer], price: dict[str, float], confidence: float
) -> FamilyOfFindings:
    """Return what the tests of a family found, each from its own answer."""
    findings = [
        replace(hypothesis.conclude(answer, confidence), receipt=answer.receipt)
        for hypothesis, answer in zip(family.hypotheses, answers, strict=True)
    ]
    return replace(judge_together(findings, method=family.method, level=family.level), cost=price)
