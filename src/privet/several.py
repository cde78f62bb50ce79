"""Several questions at once: planned together, charged once and first, each answered."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from .answer import Answer
from .asked import Question, check_bounds, read_question, spend_of
from .core.budget import Budget
from .core.errors import BadParameter, Unsupported
from .core.exact import open_probability, whole
from .core.receipt import Receipt
from .core.schema import Contribution
from .planner.batch import Batch, make_batch
from .planner.levels import Levels, parts_of
from .planner.plan import Plan
from .planner.stability import Rule
from .planner.verify import verify
from .query.nodes import Query
from .query.relation import Private
from .query.sql_wish import Wish
from .reading import read_answer
from .reading_levels import read_levels
from .release import Released
from .road import Road

MOST_QUESTIONS = 100
"""So many questions may be asked at once."""


class Several(Road):
    """A road that takes several questions for one charge."""

    _budget: Budget
    _views: Mapping[str, Private]

    def plan_all(
        self,
        questions: Sequence[Question],
        *,
        epsilon: object = None,
        rho: object = None,
        weights: Sequence[int] | None = None,
        bound: Rule = "norm",
        contribution: Contribution | None = None,
    ) -> Batch:
        """Return every decision about the answers to several questions, and their price together. Free; reads nothing.

        What they cost is for all of them: equal sums and groups are released once, and each released sum gets an equal
        share, or as many times that as the weight of its question says.
        """
        check_bounds(bound, contribution)
        listed = isinstance(questions, Sequence) and not isinstance(questions, str)
        if not listed or not 1 <= len(questions) <= MOST_QUESTIONS:
            raise BadParameter("questions", type(questions).__name__, f"a list of 1 to {MOST_QUESTIONS} questions")
        given = [1] * len(questions) if weights is None else list(weights)
        if len(given) != len(questions):
            raise BadParameter("weights", len(given), f"one for each of the {len(questions)} questions")
        return make_batch(
            [self._read_plain(question) for question in questions],
            self._schemas,
            spend=spend_of(self._budget, epsilon, rho),
            weights=[whole(weight, "weights", least=1, most=1000) for weight in given],
            bound=bound,
            contribution=contribution,
        )

    def ask_all(
        self,
        questions: Sequence[Question],
        *,
        epsilon: object = None,
        rho: object = None,
        weights: Sequence[int] | None = None,
        bound: Rule = "norm",
        contribution: Contribution | None = None,
        confidence: object = 0.95,
        key: str | None = None,
    ) -> tuple[Answer, ...]:
        """Return private answers to several questions, in their order, charged once and first; again, they are free."""
        open_probability(confidence, "confidence")
        batch = self.plan_all(
            questions, epsilon=epsilon, rho=rho, weights=weights, bound=bound, contribution=contribution
        )
        return self.run_all(batch, confidence=confidence, key=key)

    def run_all(self, batch: Batch, *, confidence: object = 0.95, key: str | None = None) -> tuple[Answer, ...]:
        """Return the answers to a batch: from the ledger if it was released before, else charge, read and draw."""
        level = float(open_probability(confidence, "confidence"))
        if not isinstance(batch, Batch):
            raise BadParameter("batch", type(batch).__name__, "a batch of this session")
        for plan in (part for one in batch.plans for part in parts_of(one)):
            verify(plan, self._schemas)
        with self._asking:
            receipt, stored = (self._found(batch) if key is None else None) or self._release_all(batch, key)
        released = dict(zip((plan.digest for plan in batch.releases), stored, strict=True))
        return tuple(_read(plan, released, receipt, level) for plan in batch.plans)

    def _read_plain(self, question: Question) -> Query:
        """Return a question of several, which share what they cost and cannot each say how they are to be answered."""
        query, wish = read_question(question, self._schemas, self._views)
        if wish != Wish():
            raise Unsupported("several questions share one price; ask a question that says WITHIN or OPTIONS by itself")
        return query


def _read(plan: Plan, released: Mapping[str, Released], receipt: Receipt, confidence: float) -> Answer:
    if isinstance(plan, Levels):
        several = [released[one.digest] for one in plan.plans]
        return read_levels(several, plan, receipt, confidence=confidence)
    return read_answer(released[plan.digest], plan, receipt, confidence=confidence)
