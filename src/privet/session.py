"""The one road from a question to an answer: plan (free), charge, read, draw, store, show."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from fractions import Fraction
from typing import Any, cast

from .answer import Answer
from .core.budget import Approximate, Budget, Pure, Zcdp
from .core.entry import Entry, Plain
from .core.errors import BadParameter, BudgetExceeded, EngineError, PrivetError, RequestError, UnknownName, Unsupported
from .core.exact import open_probability, positive, whole
from .core.links import followed
from .core.ports import Engine, Ledger, Left
from .core.receipt import Receipt
from .core.relation import tables_of
from .core.rounding import float_down
from .core.scan import Exact, Scan, asks
from .core.schema import Contribution, Schema, Table
from .engines.duckdb import DuckDB
from .ledger.memory import MemoryLedger
from .planner.accuracy import cheapest
from .planner.batch import Batch, make_batch
from .planner.explain import facts
from .planner.make import make_plan
from .planner.options import Options, heeded
from .planner.plan import Plan, Spend
from .planner.stability import Rule
from .planner.target import CONFIDENCE, reached, read_target
from .planner.verify import verify
from .planner.widths import widths
from .query.frame import Frame, Result
from .query.frame import table as frame
from .query.nodes import Query
from .query.relation import Private
from .query.sql import parse_asked, parse_view
from .query.sql_wish import Wish
from .reading import read_answer
from .release import Released, release, release_all

KEYS_PART = Fraction(1, 100)
"""The part of an account's delta that one query with unknown keys takes for its threshold."""

DEFAULT_PART = Fraction(1, 10)
"""The part of an account's budget that a question takes where it does not say."""

MOST_QUESTIONS = 100
"""So many questions may be asked at once."""

_HALVINGS = 16
"""How often the range is halved in which the largest cost that fits is sought."""


class Session:
    """Ask questions about private tables under one budget.

    Each answer is charged to the ledger before a row is read; the same question twice is charged once and gives the
    same numbers. Without a ledger the session keeps one in memory, and the budget lasts as long as the process.
    `views` are names for SELECTs over the tables whose rows still belong to people. `about` names the tables that may
    be asked about; without it, all may. Views of tables that may not be asked about are left out. Another engine than
    DuckDB over the tables can be given as `engine`; the session closes it.
    """

    def __init__(
        self,
        tables: Mapping[str, Table],
        *,
        views: Mapping[str, str] | None = None,
        budget: Budget | None = None,
        ledger: Ledger | None = None,
        account: str = "session",
        engine: Engine | None = None,
        about: Collection[str] | None = None,
    ) -> None:
        if not isinstance(tables, Mapping) or not tables:
            raise BadParameter("tables", type(tables).__name__, "a mapping of names to Tables, with at least one")
        for name, table in tables.items():
            if not isinstance(name, str) or not name or not isinstance(table, Table):
                raise BadParameter("tables", name, "a mapping of names to Tables, such as {'visits': Table(...)}")
        if (budget is not None or ledger is None) and not isinstance(budget, (Pure, Approximate, Zcdp)):
            raise BadParameter("budget", budget, "Pure(...), Approximate(...) or Zcdp(...)")
        if ledger is not None and not isinstance(ledger, Ledger):
            raise BadParameter("ledger", type(ledger).__name__, "a ledger, such as SqliteLedger(path)")
        if not isinstance(account, str) or not account:
            raise BadParameter("account", account, "a name")
        self._ledger: Ledger = MemoryLedger(budget) if ledger is None and budget is not None else cast(Ledger, ledger)
        self._budget = self._ledger.budget_of(account)
        if budget not in (None, self._budget):
            raise BadParameter("budget", budget, "the account's own in the ledger, or left out")
        owned = followed({name: table.schema for name, table in tables.items()})
        # a table that may not be asked about can still say who owns the rows of one that links to it
        self._schemas = {name: schema for name, schema in owned.items() if about is None or name in about}
        self._views = _read_views(views or {}, owned, self._schemas)
        self._account = account
        self._engine: Engine = DuckDB(tables) if engine is None else engine
        self._closing = ExitStack()
        self._closing.callback(self._engine.close)
        self._asking = threading.Lock()

    @property
    def ledger(self) -> Ledger:
        """The ledger that is charged."""
        return self._ledger

    @property
    def account(self) -> str:
        """Who pays: the account's name in the ledger."""
        return self._account

    def table(self, name: str) -> Frame:
        """Return a table to build a question on, step by step."""
        if name not in self._schemas and name not in self._views:
            raise UnknownName("table", name, (*self._schemas, *self._views))
        if name in self._views:
            return Frame(self._views[name])
        return frame(name, self._schemas[name], self._schemas)

    def plan(
        self,
        question: str | Query | Result,
        *,
        epsilon: object = None,
        rho: object = None,
        bound: Rule = "norm",
        contribution: Contribution | None = None,
        within: object = None,
        confidence: object = None,
    ) -> Plan:
        """Return every decision about an answer, and its price. Free; reads nothing.

        `within` says how wide intervals may be at a `confidence` (0.95 if left out), instead of what the answer may
        cost: one half-width for all columns, or a mapping of some columns to theirs. The plan has the least price that
        makes every cell so, by public facts alone.

        `bound` says what happens to people who give more than the typical contribution (the table's, or the one given
        here): `"norm"` scales all they give, `"groups"` keeps that many groups and rows of theirs.
        """
        return self._planned(question, Options(epsilon, rho, within, confidence, bound, contribution))[0]

    def ask(
        self,
        question: str | Query | Result,
        *,
        epsilon: object = None,
        rho: object = None,
        bound: Rule = "norm",
        contribution: Contribution | None = None,
        within: object = None,
        confidence: object = None,
        key: str | None = None,
    ) -> Answer:
        """Return a private answer, charged first; the same question again costs nothing.

        Its intervals hold with `confidence`, 0.95 if left out; how wide they may be can be said by `within`, as for
        `plan`, instead of what the answer may cost.
        Trying again with the same `key` after a failure is charged once.
        """
        if confidence is not None:
            open_probability(confidence, "confidence")
        plan, how = self._planned(question, Options(epsilon, rho, within, confidence, bound, contribution))
        try:
            return self.run(plan, confidence=confidence, key=key)
        except BudgetExceeded as refused:
            raise self._with_what_fits(refused, plan, how) from None

    def run(self, plan: Plan, *, confidence: object = None, key: str | None = None) -> Answer:
        """Return the answer to a plan: from the ledger if it was released before, else charge, read and draw.

        Its intervals hold with `confidence`; if left out, with the one that the plan was made for, or 0.95.
        """
        if not isinstance(plan, Plan):
            raise BadParameter("plan", type(plan).__name__, "a plan of this session")
        if confidence is None:
            confidence = plan.target.confidence if plan.target else CONFIDENCE
        level = float(open_probability(confidence, "confidence"))
        verify(plan, self._schemas)
        with self._asking:  # or the same question, asked twice at once, would be read and drawn twice
            # a key is looked up even for a question that was answered: it may have been used for another
            receipt, released = (self._find(plan) if key is None else None) or self._release(plan, key)
        return read_answer(released, plan, receipt, confidence=level)

    def plan_all(
        self,
        questions: Sequence[str | Query | Result],
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
        self._check_bounds(bound, contribution)
        listed = isinstance(questions, Sequence) and not isinstance(questions, str)
        if not listed or not 1 <= len(questions) <= MOST_QUESTIONS:
            raise BadParameter("questions", type(questions).__name__, f"a list of 1 to {MOST_QUESTIONS} questions")
        given = [1] * len(questions) if weights is None else list(weights)
        if len(given) != len(questions):
            raise BadParameter("weights", len(given), f"one for each of the {len(questions)} questions")
        return make_batch(
            [self._read_plain(question) for question in questions],
            self._schemas,
            spend=self._spend(epsilon, rho),
            weights=[whole(weight, "weights", least=1, most=1000) for weight in given],
            bound=bound,
            contribution=contribution,
        )

    def ask_all(
        self,
        questions: Sequence[str | Query | Result],
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
        for plan in batch.plans:
            verify(plan, self._schemas)
        with self._asking:
            receipt, stored = (self._found(batch) if key is None else None) or self._release_all(batch, key)
        released = dict(zip((plan.digest for plan in batch.releases), stored, strict=True))
        return tuple(read_answer(released[plan.digest], plan, receipt, confidence=level) for plan in batch.plans)

    def remaining(self) -> Left:
        """Return what is left of the budget."""
        return self._ledger.remaining(self._account)

    def history(self) -> tuple[Entry, ...]:
        """Return every charge, oldest first."""
        return self._ledger.history()

    def _planned(self, question: str | Query | Result, said: Options) -> tuple[Plan, Options]:
        """Return the plan of a question, and how it is to be answered, by the caller's words and its own."""
        self._check_bounds(said.bound, said.contribution)
        query, wish = self._read(question)
        delta = self._budget.delta if isinstance(self._budget, Approximate) else Fraction(0)
        how = heeded(said, wish, query, self._schemas, delta=delta)
        spend, bound, contribution = self._spend(how.epsilon, how.rho), how.bound, how.contribution
        if how.within is None:
            return make_plan(query, self._schemas, spend=spend, bound=bound, contribution=contribution), how
        if how.epsilon is not None or how.rho is not None:
            raise RequestError("say how wide the answer may be (within), or what it may cost (epsilon, rho), not both")
        target = read_target(how.within, how.confidence)
        plan = cheapest(query, self._schemas, spend=spend, target=target, bound=bound, contribution=contribution)
        return plan, how

    def _find(self, plan: Plan) -> tuple[Receipt, Released] | None:
        found = self._ledger.find(plan.digest, self._account)
        return None if found is None else (found[0], _unpacked(found[1]))

    def _found(self, batch: Batch) -> tuple[Receipt, tuple[Released, ...]] | None:
        found = self._ledger.find(batch.digest, self._account)
        return None if found is None else (found[0], tuple(_unpacked(one) for one in cast(Any, found[1])))

    def _versions(self, plans: Sequence[Plan]) -> dict[str, str]:
        names = {name for plan in plans for one in plan.passes for name in tables_of(one.scan.table)}
        return {name: self._schemas[name].version for name in sorted(names)}

    def _read_exacts(self, plan: Plan, receipt: Receipt) -> list[Exact]:
        try:
            # a pass whose sums are all known has nothing to ask of the data
            return [self._scan(one.scan) if asks(one.scan) else Exact({}) for one in plan.passes]
        except EngineError:
            self._ledger.fail(receipt)
            raise

    def _release_all(self, batch: Batch, key: str | None) -> tuple[Receipt, tuple[Released, ...]]:
        receipt = self._ledger.charge(
            batch.event,
            batch.digest,
            account=self._account,
            key=key,
            versions=self._versions(batch.releases),
            text=batch.explain(),
            facts=batch.facts(),
        )
        stored = self._found(batch)
        if stored is not None:
            return stored
        exacts = [self._read_exacts(plan, receipt) for plan in batch.releases]
        released = release_all(exacts, batch, receipt)
        kept = self._ledger.store(receipt, tuple((one.keys, one.sums) for one in released))
        return self._found(batch) or (receipt, tuple(_unpacked(one) for one in cast(Any, kept)))

    def _release(self, plan: Plan, key: str | None) -> tuple[Receipt, Released]:
        receipt = self._ledger.charge(
            plan.event,
            plan.digest,
            account=self._account,
            key=key,
            versions=self._versions([plan]),
            text=plan.explain(),
            facts=facts(plan),
        )
        stored = self._find(plan)  # by somebody else who asked the same, or by the try that a key repeats
        if stored is not None:
            return stored
        exacts = self._read_exacts(plan, receipt)
        released = release(exacts, plan, receipt)
        kept = self._ledger.store(receipt, (released.keys, released.sums))
        return self._find(plan) or (receipt, _unpacked(kept))

    def close(self) -> None:
        """Close the engine's connection, and what else the session was given to close."""
        self._closing.close()

    def closing(self, close: Callable[[], object]) -> Session:
        """Return this session, which calls `close` when it is closed itself."""
        self._closing.callback(close)
        return self

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def _check_bounds(self, bound: object, contribution: object) -> None:
        if bound not in ("norm", "groups"):
            raise BadParameter("bound", bound, "'norm' or 'groups'")
        if contribution is not None and not isinstance(contribution, Contribution):
            raise BadParameter("contribution", contribution, "a Contribution(groups=, rows=)")

    def _scan(self, scan: Scan) -> Exact:
        try:
            return self._engine.scan(scan)
        except PrivetError:
            raise
        except Exception:  # whatever an engine or a source raises may quote a row
            raise EngineError from None

    def _with_what_fits(self, refused: BudgetExceeded, plan: Plan, how: Options) -> BudgetExceeded:
        """Return a refusal that says the most this very question may still cost, in the measure it was asked in."""
        name = "rho" if plan.spend.epsilon is None else "epsilon"

        def at(amount: float) -> Plan:
            spend = replace(plan.spend, **{name: Fraction(amount)})
            return make_plan(
                plan.query,
                self._schemas,
                spend=spend,
                bound=how.bound,
                contribution=how.contribution,
                target=plan.target,
            )

        def fits(amount: float) -> bool:
            return self._ledger.admits(at(amount).event, account=self._account)

        low, high = 0.0, float_down(cast(Fraction, getattr(plan.spend, name)))
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            low, high = (middle, high) if fits(middle) else (low, middle)
        return BudgetExceeded(
            measure=refused.measure,
            requested=refused.requested,
            remaining=refused.remaining,
            largest_epsilon=low if name == "epsilon" else refused.largest_epsilon,
            largest_rho=low if name == "rho" else None,
            error=_in_words(at(low)) if low else "",
        )

    def _read(self, question: str | Query | Result) -> tuple[Query, Wish]:
        if isinstance(question, str):
            return parse_asked(question, self._schemas, self._views)
        if isinstance(question, Result):
            return question.query(), Wish()
        if isinstance(question, Query):
            return question, Wish()
        raise BadParameter("question", type(question).__name__, "SQL text, or a table of this session with .agg(...)")

    def _read_plain(self, question: str | Query | Result) -> Query:
        """Return a question of several, which share what they cost and cannot each say how they are to be answered."""
        query, wish = self._read(question)
        if wish != Wish():
            raise Unsupported("several questions share one price; ask a question that says WITHIN or OPTIONS by itself")
        return query

    def _spend(self, epsilon: object, rho: object) -> Spend:
        if epsilon is not None and rho is not None:
            raise RequestError("say what the answer may cost as epsilon or as rho, not both")
        match self._budget:
            case Pure(epsilon=cap):
                if rho is not None:
                    raise RequestError("the account counts pure epsilon; say epsilon= instead of rho=")
                wanted = cap * DEFAULT_PART if epsilon is None else positive(epsilon, "epsilon")
                return Spend(wanted, Fraction(0), None, Fraction(0))
            case Zcdp(rho=cap):
                if epsilon is not None:
                    raise RequestError("the account counts rho; say rho= instead of epsilon=")
                return Spend(
                    None, Fraction(0), cap * DEFAULT_PART if rho is None else positive(rho, "rho"), Fraction(0)
                )
            case Approximate(epsilon=cap, delta=delta):
                keys = delta * KEYS_PART
                if rho is not None:
                    return Spend(None, Fraction(0), positive(rho, "rho"), keys)
                wanted = cap * DEFAULT_PART if epsilon is None else positive(epsilon, "epsilon")
                return Spend(wanted, delta * (1 - KEYS_PART), None, keys)


def _in_words(plan: Plan) -> str:
    """Return how wide the columns of a plan will be, at the confidence that it was made for."""
    if plan.target is not None:
        return ", ".join(one.words() for one in reached(plan, plan.target))
    return ", ".join(f"{one.column} {one.words()}" for one in widths(plan) if one.known)


def _read_views(
    views: Mapping[str, str], tables: Mapping[str, Schema], asked: Mapping[str, Schema]
) -> dict[str, Private]:
    """Return the relations that views name, in the order in which they are given; each may use those before it."""
    if not isinstance(views, Mapping):
        raise BadParameter("views", type(views).__name__, "a mapping of names to SELECT statements")
    found: dict[str, Private] = {}
    taken = {name.casefold() for name in tables}
    for name, sql in views.items():
        if not isinstance(name, str) or not name or name.casefold() in taken:
            raise BadParameter("views", name, "names that no table and no other view has")
        taken.add(name.casefold())
        found[name] = parse_view(sql, tables, found)
    return {name: view for name, view in found.items() if set(tables_of(view.table)) <= set(asked)}


def _unpacked(stored: Plain) -> Released:
    keys, sums = cast(Any, stored)
    return Released(keys, sums)
