"""Several questions at once: planned together, charged once and first, each answered."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any, cast

from privet.answer import Answer
from privet.core.errors import BadParameter, RequestError, Unsupported
from privet.core.event import Receipt
from privet.core.given import listed as list_of
from privet.core.numbers import Number, open_probability, whole
from privet.planner.accuracy import CONFIDENCE, read_target
from privet.planner.batch import Batch, batch_within, make_batch
from privet.planner.from_strategy import FromStrategy
from privet.planner.groupings import Combined, Levels, parts_of
from privet.planner.plan import Plan, Target
from privet.planner.public_plan import is_about_public
from privet.planner.verify import verify
from privet.query.nodes import Query
from privet.query.sql.parse import Wish
from privet.release import Released
from privet.results.read import read_answer, read_combined, read_levels, read_strategy

from .executor import Executor
from .request import AskOptions, Catalog, Question, read_question, spend_of, with_found_groups

MOST_QUESTIONS = 100
"""This many questions may be asked at once."""


def plan_list(
    questions: Sequence[Question], options: AskOptions, catalog: Catalog, *, weights: Sequence[int] | None = None
) -> Batch:
    """Return the plan for a list of questions; a refusal names the first question that is refused by itself as well."""
    try:
        return plan_questions(questions, options, catalog, weights=weights)
    except RequestError as refused:
        for place, question in enumerate(questions if _is_list(questions) and len(questions) > 1 else ()):
            try:
                plan_questions([question], AskOptions(), catalog)
            except RequestError as error:
                if str(error) == str(refused):
                    refused.args = (f"question {place + 1}: {refused}", *refused.args[1:])
                    break
        raise


def _is_list(questions: object) -> bool:
    listed = isinstance(questions, Sequence) and not isinstance(questions, (str, bytes, bytearray))
    return listed and 1 <= len(cast(Sequence[Any], questions)) <= MOST_QUESTIONS


def plan_questions(
    questions: Sequence[Question], options: AskOptions, catalog: Catalog, *, weights: Sequence[int] | None = None
) -> Batch:
    """Return every decision about the answers to several questions, and their joint price."""
    if not _is_list(questions):
        many = isinstance(questions, (list, tuple))
        value = f"{len(questions):,} of them" if many else type(questions).__name__
        raise BadParameter("questions", value, f"a list of 1 to {MOST_QUESTIONS} questions")
    read = [_read_plain(question, catalog) for question in questions]
    targets = targets_of([wish for _, wish in read], options.within, options.confidence)
    spend = spend_of(catalog.budget, options)
    if any(targets):
        _check_alone(epsilon=options.epsilon, rho=options.rho, weights=weights)
        return batch_within(
            [query for query, _ in read],
            catalog.schemas,
            spend=spend,
            targets=targets,
            at_most=options.at_most,
            bound=options.bound,
            contribution=options.stated,
        )
    if options.at_most is not None:
        raise RequestError("at_most= goes with within=; to set what answers cost, pass epsilon= or rho=")
    given = [1] * len(questions) if weights is None else list_of(weights, "weights", "a list of whole numbers")
    if len(given) != len(questions):
        raise BadParameter("weights", len(given), f"one for each of the {len(questions)} questions")
    return make_batch(
        [query for query, _ in read],
        catalog.schemas,
        spend=spend,
        weights=[whole(weight, "weights", least=1, most=1000) for weight in given],
        bound=options.bound,
        contribution=options.stated,
    )


def run_batch(executor: Executor, batch: Batch, *, confidence: Number | None, key: str | None) -> tuple[Answer, ...]:
    """Return the answers to a batch: from the ledger if it was released before, else charge, scan and draw."""
    level = None if confidence is None else open_probability(confidence, "confidence")
    if type(batch) is not Batch:
        raise BadParameter("batch", type(batch).__name__, "a batch of this session")
    executor.check_open()
    for plan in (part for group in batch.plans for part in parts_of(group)):
        verify(plan, executor.schemas)
    for question in batch.plans:
        if isinstance(question, FromStrategy):
            question.verify()
    kept = executor.find_batch(batch, key)
    if kept is None:
        with executor.turn(batch.digest):
            kept = executor.release_batch(batch, key)
    return tuple(_read(plan, kept.released, kept.receipt, level) for plan in kept.plans)


def _read_plain(question: Question, catalog: Catalog) -> tuple[Query, Wish]:
    """Return a question of several, which share a cost, and its width, and no more."""
    query, wish, _ = read_question(question, catalog)
    if is_about_public(query, catalog.schemas):
        raise Unsupported("this asks about public tables only, which is exact and free; ask it by itself")
    if replace(wish, within=None, confidence=None, find=False) != Wish():
        raise Unsupported("several questions share one price; ask a question that has OPTIONS by itself")
    return (with_found_groups(query, catalog.schemas) if wish.find else query), wish


def targets_of(wishes: Sequence[Wish], within: Any, confidence: Number | None) -> list[Target | None]:
    """Return how narrow each question is to be, by the caller's words or by its own, stated once."""
    listed = isinstance(within, Sequence) and not isinstance(within, (str, bytes, bytearray))
    if isinstance(within, Mapping) or (listed and len(cast(Sequence[Any], within)) != len(wishes)):
        allowed = f"a number for all questions, or a list with one entry for each of the {len(wishes)}, also by column"
        raise BadParameter("within", type(within).__name__, allowed)
    said = list(cast(Sequence[Any], within)) if listed else [within] * len(wishes)
    targets: list[Target | None] = []
    for index, (wish, width) in enumerate(zip(wishes, said, strict=True)):
        if wish.within is not None and width is not None:
            raise RequestError(f"question {index + 1} has WITHIN itself; leave out within=, or put None in its place")
        if wish.confidence is not None and confidence is not None:
            raise RequestError(f"question {index + 1} has CONFIDENCE itself; leave out confidence=")
        wanted: Any = width if wish.within is None else wish.within
        level = confidence if wish.confidence is None else wish.confidence
        targets.append(None if wanted is None else read_target(wanted, level))
    return targets


def _check_alone(**others: object) -> None:
    """Refuse a price of answers beside the width that they are to have."""
    for name, value in others.items():
        if value is not None:
            raise RequestError(
                f"state how wide the answers may be (within), or what they may cost ({name}), not both; at_most= "
                f"limits what widths may cost"
            )


def _read(plan: Plan, released: Mapping[str, Released], receipt: Receipt, level: Fraction | None) -> Answer:
    asked = plan.target.confidence if plan.target else CONFIDENCE
    confidence = float(asked if level is None else level)
    if isinstance(plan, Combined):
        return read_combined([released[part.digest] for part in plan.plans], plan, receipt, confidence=confidence)
    if isinstance(plan, Levels):
        releases = [released[part.digest] for part in plan.plans]
        return read_levels(releases, plan, receipt, confidence=confidence)
    if isinstance(plan, FromStrategy):
        return read_strategy(released[plan.plans[0].digest], plan, receipt, confidence=confidence)
    return read_answer(released[plan.digest], plan, receipt, confidence=confidence)
