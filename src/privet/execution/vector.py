"""A sparse vector over tables: opened and charged once, then asked one question after the other, also after a restart.

Its noisy threshold is secret. It is kept in the ledger's store, beside the entries that count its questions, with the
answers so far and the noise of a question that is being read; each entry has the hash of it, salted.
"""

from __future__ import annotations

import json
import secrets
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

from privet.core.errors import BadParameter, EngineError, LedgerError, RequestError, Unsupported, raise_alone
from privet.core.given import given_name, instance
from privet.core.numbers import Number, float_near, in_full, positive, rational, whole
from privet.core.ports import KeepsSecrets, StepProgress
from privet.display import draw_facts, html_facts, printable, shown_error, written
from privet.ledger.steps import hash_of_text
from privet.planner.comparison_plans import (
    MOST_CROSSINGS,
    MOST_QUESTIONS,
    ScalarQuestion,
    ThresholdPlan,
    cost_of_spend,
    counted,
    kind_of_unit,
    question_digest,
    scalar_question,
    verify_question,
)
from privet.query.sql.parse import Wish
from privet.query.sql.rewrites import Parameters
from privet.release import compare, draw_bar, draw_noise

from .executor import Executor, without_private_words
from .request import AskOptions, Catalog, Question, read_question, spend_of

Noises = tuple[int, int]
Outcome = tuple[bool, int | None]

_LARGEST = 1e300


@dataclass(frozen=True)
class Crossed:
    """The answer of a vector to one question: whether it came out above the threshold, and its value if measured.

    `error` is the half-width of the noise on the value, with probability 0.95, and `left` how many more questions may
    come out above. `if answer:` asks the natural question.

    Example:
        >>> opened = session.above(1000, limit=1, epsilon=0.5)
        >>> bool(opened.ask("SELECT COUNT(*) FROM visits"))
        False
    """

    above: bool
    value: float | None
    error: float | None
    left: int

    def __bool__(self) -> bool:
        return self.above

    def to_dict(self) -> dict[str, Any]:
        """Return the answer as plain data."""
        return dict(vars(self))

    def __str__(self) -> str:
        if self.value is None:
            return "above" if self.above else "below"
        return f"above, {in_full(self.value)} ±{shown_error(self.error or 0.0)}"


@dataclass(frozen=True)
class VectorState:
    """All that a vector needs to go on: its noisy threshold, the answers so far, and the noise of open questions.

    `bar` is None once it is closed. The salt keeps a hash of it from being guessed.
    """

    bar: int | None
    left: int
    answers: Mapping[str, Outcome] = field(default_factory=dict)
    pending: Mapping[str, Noises] = field(default_factory=dict)

    def text(self) -> str:
        """Return the state as a text with a fresh salt."""
        return json.dumps({"v": 1, "salt": secrets.token_hex(32), **vars(self)}, sort_keys=True)

    @classmethod
    def read(cls, text: str) -> VectorState:
        """Return the state that a text stands for, or raise `LedgerError`."""
        try:
            data = json.loads(text)
            answers = {name: (bool(above), value) for name, (above, value) in data["answers"].items()}
            pending = {name: (int(first), int(other)) for name, (first, other) in data["pending"].items()}
            return cls(data["bar"], int(data["left"]), answers, pending)
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            pass
        raise LedgerError("the state of a sparse vector is not as Privet writes it: the ledger was damaged or changed")

    def answered(self, question: str, outcome: Outcome) -> VectorState:
        """Return the state after an answer; after the last crossing, without secrets."""
        left = self.left - outcome[0]
        pending = {name: noises for name, noises in self.pending.items() if name != question and left}
        return VectorState(self.bar if left else None, left, {**self.answers, question: outcome}, pending)


class OpenedVector:
    """A sparse vector that was paid for: ask it one question after the other, until it has reported its last crossing.

    A question is a count or a bounded sum over private rows. It may be chosen by the answers so far. The same question
    again returns the same answer. Opening the same vector again, also in another process, goes on where it was; only
    one at a time can ask, and an overtaken one is refused.

    Example:
        >>> opened = session.above(1000, limit=1, epsilon=0.5)
        >>> opened.left, opened.closed
        (1, False)
    """

    def __init__(self, executor: Executor, catalog: Catalog, plan: ThresholdPlan, how: AskOptions) -> None:
        self._executor, self._catalog, self.plan, self._how = executor, catalog, plan, how
        self._lock = threading.RLock()
        self._ledger = keeping(executor)
        self.receipt = executor.ledger.charge(
            plan.event,
            plan.digest,
            account=executor.account,
            versions=executor.versions(plan.tables),
            text=plan.explain(),
            facts=plan.facts(),
        )
        self._seen, self._state = self._resume()

    @property
    def left(self) -> int:
        """How many more questions may come out above."""
        return 0 if self._seen.over else self._state.left

    @property
    def asked(self) -> int:
        """How many questions were answered."""
        return len(self._state.answers)

    @property
    def closed(self) -> bool:
        """Whether no more questions are answered, but for those that were."""
        return self.left == 0

    def ask(self, question: Question, *, parameters: Parameters | None = None) -> Crossed:
        """Return whether the answer to a question is above the threshold. Nothing more is charged.

        The answer is recorded in the ledger before it is returned.

        Args:
            question: SQL for one COUNT or SUM, or the same built on `Session.table`.
            parameters: values for the parameters of SQL, as for `Session.ask`.

        Returns:
            A `Crossed`: true where the answer came out above the threshold.

        Raises:
            RequestError: if the question is not one count or bounded sum, could move further than the vector was opened
                for, or the vector is closed. Nothing is drawn.
            LedgerError: if another process has asked this vector meanwhile. Open it again.

        Example:
            >>> opened = session.above(1000, limit=1, epsilon=0.5)
            >>> opened.ask("SELECT COUNT(*) FROM visits WHERE age > 80").above
            False
        """
        with self._executor.pace.asking(), self._lock:
            self._executor.check_open()
            asked = read_scalar(question, self._catalog, self._how, parameters)
            verify_question(self.plan, asked, self._executor.schemas)
            name = question_digest(self.plan, asked)
            if name not in self._state.answers:
                self._check_left()
                self._executor.engine.check(asked.scan)
                with self._executor.turn(self.plan.digest):
                    self._answer(asked, name)
            return self._crossed(self._state.answers[name])

    def _check_left(self) -> None:
        if self._seen.over and self._state.left:
            raise RequestError("the database failed while this vector was asked, and it is closed; open it again")
        if self.closed:
            raise RequestError(
                f"this vector has answered above for its {self.plan.limit:,} crossing{'s' * (self.plan.limit > 1)} "
                f"and is closed; open another one, with another name="
            )
        if self.asked >= MOST_QUESTIONS:
            raise RequestError(f"this vector has answered {MOST_QUESTIONS:,} questions; open another one")

    def _answer(self, asked: ScalarQuestion, name: str) -> None:
        """Open a step, read, compare and close it: nothing is shown of it before it is closed.

        Guarantee: the noise of a question is kept with the entry that opens its step, before it is read, and used again
        where a process died before that step was closed. So of each question there is one noise, and one answer. A step
        is opened only from the state that was seen last, and closed only by who opened it last: of the crossings that
        are left none is told twice.
        """
        receipt, state, noises = self.receipt, self._state, self._state.pending.get(name)
        if noises is None:
            noises = draw_noise(self.plan, receipt)
        bar = state.bar
        if bar is None:
            raise LedgerError("a vector without its noisy threshold cannot be asked")
        draft = replace(state, pending={**state.pending, name: noises})
        text, step = draft.text(), self._seen.step
        try:
            opening = self._ledger.open_steps(
                receipt,
                after=step,
                upto=step + 1,
                state=self._seen.state,
                about=f"{name}:{hash_of_text(text)}",
                kept=text,
            )
        except LedgerError:
            seen = self._ledger.progress(receipt)
            if seen is None or seen.step <= step:
                raise
            raise_alone(
                LedgerError(
                    "this vector was asked elsewhere meanwhile, and nothing was drawn here; open it again with the "
                    "same arguments, and ask again"
                )
            )
        self._state = draft
        try:
            outcome = without_private_words(
                lambda: compare(
                    self._executor.read_scan(asked.scan, receipt), self.plan, asked, receipt, bar=bar, noises=noises
                )
            )
        except EngineError:  # which ends the vector: that it failed was an answer of its own
            self._seen = self._ledger.progress(receipt) or self._seen
            raise
        after = draft.answered(name, outcome)
        final = after.text()
        self._seen = self._ledger.close_steps(
            receipt,
            opening=opening,
            state=hash_of_text(final),
            released=(name, *outcome),
            last=not after.left,
            kept=final,
        )
        self._state = after

    def _crossed(self, outcome: Outcome) -> Crossed:
        above, steps = outcome
        value = None if steps is None else float_near(steps * self.plan.step)
        return Crossed(above, value, None if value is None else self.plan.value_error, self.left)

    def _resume(self) -> tuple[StepProgress, VectorState]:
        """Return how far the vector has come and its state, which must be the one that the ledger knows by its hash."""
        ledger, receipt = self._ledger, self.receipt
        seen = ledger.progress(receipt)
        if seen is None:
            first = VectorState(draw_bar(self.plan, receipt), self.plan.limit)
            text = first.text()
            try:
                return ledger.begin_steps(receipt, state=hash_of_text(text), kept=text), first
            except LedgerError:
                seen = ledger.progress(receipt)
                if seen is None:
                    raise
        kept = ledger.kept_text(receipt)
        if kept is None:
            raise LedgerError(
                "the secret state of this vector is not in this copy of the ledger: an export leaves it out. It is not "
                "drawn anew; open another one, with another name="
            )
        known = seen.state if seen.opened is None else (seen.about or "").rpartition(":")[2]
        if hash_of_text(kept) != known:
            raise LedgerError(
                "the secret state of this vector is not the one that the ledger knows: an old copy was put back, or it "
                "was changed. It is refused; put back the ledger as it was"
            )
        return seen, VectorState.read(kept)

    def facts(self) -> list[tuple[str, str]]:
        """Return the facts to show, line by line."""
        plan = self.plan
        above = self.plan.limit - self._state.left
        return [
            ("threshold", in_full(float(plan.threshold))),
            ("above", f"{above:,} of at most {plan.limit:,}" + ("; closed" if self.closed else "")),
            ("asked", f"{self.asked:,} question{'s' * (self.asked != 1)}"),
            *([("name", printable(plan.name))] if plan.name else []),
        ]

    def __repr__(self) -> str:
        return written(lambda console: draw_facts(console, self.facts()))

    def _repr_html_(self) -> str:
        return f"<div>{html_facts(self.facts())}</div>"


def keeping(executor: Executor) -> KeepsSecrets:
    """Return the ledger of a session, which must keep the state of a vector."""
    ledger = executor.ledger
    if not isinstance(ledger, KeepsSecrets):
        raise RequestError(
            "this ledger keeps no state between questions, which a sparse vector needs; use a SqliteLedger"
        )
    return ledger


def read_scalar(
    question: Question, catalog: Catalog, how: AskOptions, parameters: Parameters | None = None
) -> ScalarQuestion:
    """Return a question to a vector as one count or bounded sum."""
    query, wish, _ = read_question(question, catalog, parameters)
    if wish != Wish():
        raise Unsupported("a vector was paid for when it was opened; leave out what a question states about its cost")
    return scalar_question(query, catalog.schemas, bound=how.bound, contribution=how.stated)


def check_first(executor: Executor, catalog: Catalog, plan: ThresholdPlan, how: AskOptions, question: Question) -> None:
    """Refuse a question that a vector of this plan would refuse, before the vector is opened and charged."""
    asked = read_scalar(question, catalog, how)
    verify_question(plan, asked, executor.schemas)
    executor.engine.check(asked.scan)


def plan_vector(
    threshold: Number,
    how: AskOptions,
    catalog: Catalog,
    account: str,
    *,
    limit: int,
    sensitivity: Number | None,
    signed: bool,
    values: bool,
    table: str | None,
    name: str,
) -> ThresholdPlan:
    """Return every decision about a sparse vector, and its price. It reads no data."""
    bar = _held(rational(threshold, "threshold"), "threshold")
    count = whole(limit, "limit", least=1, most=MOST_CROSSINGS)
    for given, parameter in ((signed, "signed"), (values, "values")):
        instance(given, bool, parameter, "True or False")
    if not isinstance(name, str) or name:
        given_name(name, "name")
    tables = _tables(catalog, table)
    moves = {asked: counted(asked, catalog.schemas, bound=how.bound, contribution=how.stated) for asked in tables}
    schemas = [schema for schema, _ in moves.values()]
    if len({kind_of_unit(schema) for schema in schemas}) > 1:
        raise RequestError(
            f"the tables {', '.join(sorted(moves))} protect different units; pass table= to choose "
            f"the one that is asked about"
        )
    first = schemas[0]
    most = max(moved for _, moved in moves.values())
    distance = most if sensitivity is None else _held(positive(sensitivity, "sensitivity"), "sensitivity")
    one_way = first.moves == "add-remove" and first.unit.touches == 1
    epsilon, measure = cost_of_spend(spend_of(catalog.budget, how))
    unit: Any = first.unit
    return ThresholdPlan(
        bar,
        count,
        distance,
        one_way and not signed,
        epsilon,
        values,
        unit,
        first.neighbors,
        tuple(sorted(moves)),
        account,
        name,
        measure,
    )


def _held(number: Fraction, parameter: str) -> Fraction:
    """Return a number that is not so large that errors and noise beside it are beyond doubles."""
    if abs(number) > _LARGEST:
        raise BadParameter(parameter, number, f"at most {_LARGEST:g} in absolute value")
    return number


def _tables(catalog: Catalog, table: str | None) -> list[str]:
    private = [name for name, schema in catalog.schemas.items() if not schema.unit.public]
    if table is None:
        return private
    if not isinstance(table, str) or table not in private:
        raise BadParameter("table", table, f"one of the private tables: {', '.join(sorted(private))}")
    return [table]
