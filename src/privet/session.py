"""The front door in Python: a session plans for free, and answers what the account can pay for."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any, cast

from .answer import Answer
from .core.budget import Approximate, Budget, Pure, Zcdp
from .core.errors import BadParameter, BudgetExceeded, RequestError, UnknownName, Unsupported, raise_alone
from .core.given import is_a, listed
from .core.links import followed
from .core.numbers import Number, open_probability
from .core.ports import Engine, Ledger, Left
from .core.records import Entry
from .core.rounding import float_down
from .core.schema import Contribution, Table
from .engines.duckdb.engine import DuckDB
from .execution.clipping import Clipped
from .execution.pace import Pace, read_step
from .execution.request import (
    Options,
    Question,
    check_bounds,
    heeded,
    read_question,
    read_views,
    spend_of,
    with_contents,
    with_found_groups,
)
from .execution.run_rounds import InRounds
from .ledger.memory import MemoryLedger
from .planner.accuracy import plan_within
from .planner.batch import make_batch
from .planner.groupings import Levels
from .planner.make import make_plan
from .planner.plan import Plan
from .planner.rounds import make_rounds
from .planner.stability import Rule
from .planner.target import CONFIDENCE, reached, read_target
from .planner.verify import verify
from .planner.widths import widths
from .query.frame import Frame
from .query.frame import table as frame
from .query.nodes import Query
from .results.read import read_answer

_HALVINGS = 16
"""How often the range is halved in which the largest cost that fits is sought."""


class Session(Clipped, InRounds):
    """Ask questions about private tables under one budget.

    Each answer is charged to the ledger before a row is read; the same question twice is charged once and gives the
    same numbers. Without a ledger the session keeps one in memory, and the budget lasts as long as the process.
    `views` are names for SELECTs over the tables whose rows still belong to people. `about` names the tables that may
    be asked about; without it, all may. Views of tables that may not be asked about are left out. Another engine than
    DuckDB over the tables can be given as `engine`; the session closes it. With a `time_step`, in seconds, an answer
    that is read from the data, or its failure, is handed over at the next multiple of it since the question was asked,
    so that how long it took says little about the data.
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
        time_step: object = None,
    ) -> None:
        if not isinstance(tables, Mapping) or not tables:
            raise BadParameter("tables", type(tables).__name__, "a mapping of names to Tables, with at least one")
        for name, table in tables.items():
            if not isinstance(name, str) or not name or not isinstance(table, Table):
                raise BadParameter("tables", name, "a mapping of names to Tables, such as {'visits': Table(...)}")
        if (budget is not None or ledger is None) and not isinstance(budget, (Pure, Approximate, Zcdp)):
            raise BadParameter("budget", budget, "Pure(...), Approximate(...) or Zcdp(...)")
        if ledger is not None and not is_a(ledger, Ledger):
            raise BadParameter("ledger", type(ledger).__name__, "a ledger, such as SqliteLedger(path)")
        if not isinstance(account, str) or not account:
            raise BadParameter("account", account, "a name")
        book: Ledger = MemoryLedger(budget) if ledger is None and budget is not None else cast(Ledger, ledger)
        self._budget = book.budget_of(account)
        if budget not in (None, self._budget):
            raise BadParameter("budget", budget, "the account's own in the ledger, or left out")
        pace = Pace(read_step(time_step))
        owned = followed({name: table.schema for name, table in tables.items()})
        # a table that may not be asked about can still say who owns the rows of one that links to it
        asked = owned if about is None else _names(about, owned)
        schemas = {name: schema for name, schema in owned.items() if name in asked}
        self._views = read_views({} if views is None else views, owned, schemas)
        if engine is not None and not is_a(engine, Engine):
            raise BadParameter("engine", type(engine).__name__, "an engine, such as DuckDB(tables)")
        reads = DuckDB(tables) if engine is None else engine
        super().__init__(with_contents(schemas, reads), reads, book, account, pace=pace)

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
        if not isinstance(name, str):
            raise BadParameter("name", type(name).__name__, "the name of a table or a view")
        if name not in self._schemas and name not in self._views:
            raise UnknownName("table", name, (*self._schemas, *self._views))
        if name in self._views:
            return Frame(self._views[name])
        return frame(name, self._schemas[name], self._schemas)

    def plan(
        self,
        question: Question,
        *,
        epsilon: object = None,
        rho: object = None,
        bound: Rule = "norm",
        contribution: Contribution | None = None,
        within: Any = None,
        confidence: Number | None = None,
        at_most: object = None,
        other: str | None = None,
        find_groups: bool = False,
    ) -> Plan:
        """Return every decision about an answer, and its price. Free; reads nothing.

        `within` says how wide intervals may be at a `confidence` (0.95 if left out), instead of what the answer may
        cost: one half-width for all columns, or a mapping of some columns to theirs; a number, or a part such as "2%".
        The plan has the least price that makes every cell so, where public facts alone say which. Otherwise it has
        rounds that are carried out until every cell is so, and costs `at_most` so much: epsilon, or rho in an account
        that counts rho; a tenth of the budget if left out.

        `bound` says what happens to people who give more than the typical contribution (the table's, or the one given
        here): `"norm"` scales all they give, `"groups"` keeps that many groups and rows of theirs.

        `other` names one more group, of all rows whose group is not declared and too rare to be shown. With
        `find_groups`, declared groups are found in the data as well, and only those that enough people are in are
        shown: this costs delta, and is for where declared keys make more groups than can be answered.
        """
        if confidence is not None:
            open_probability(confidence, "confidence")
        said = Options(epsilon, rho, within, confidence, bound, contribution, at_most, other, find_groups)
        return self._planned(question, said)[0]

    def ask(
        self,
        question: Question,
        *,
        epsilon: object = None,
        rho: object = None,
        bound: Rule = "norm",
        contribution: Contribution | None = None,
        within: Any = None,
        confidence: Number | None = None,
        at_most: object = None,
        other: str | None = None,
        find_groups: bool = False,
        key: str | None = None,
    ) -> Answer:
        """Return a private answer, charged first; the same question again costs nothing.

        Its intervals hold with `confidence`, 0.95 if left out; how wide they may be can be said by `within` and
        `at_most`, as for `plan`, instead of what the answer may cost. `other` and `find_groups` are as for `plan`, too.
        Trying again with the same `key` after a failure is charged once.
        """
        if confidence is not None:
            open_probability(confidence, "confidence")
        said = Options(epsilon, rho, within, confidence, bound, contribution, at_most, other, find_groups)
        with self._pace.asking():
            plan, how = self._planned(question, said)
            try:
                return self.run(plan, confidence=confidence, key=key)
            except BudgetExceeded as refused:
                if isinstance(plan, Levels):
                    raise
                raise_alone(self._with_what_fits(refused, plan, how))

    def run(self, plan: Plan, *, confidence: Number | None = None, key: str | None = None) -> Answer:
        """Return the answer to a plan: from the ledger if it was released before, else charge, read and draw.

        Its intervals hold with `confidence`; if left out, with the one that the plan was made for, or 0.95.
        """
        if not isinstance(plan, Plan):
            raise BadParameter("plan", type(plan).__name__, "a plan of this session")
        self._check_open()
        with self._pace.asking():
            if type(plan) is Levels:
                level_of = CONFIDENCE if confidence is None else confidence
                return self.run_all(plan.batch, confidence=level_of, key=key)[0]
            if plan.rounds > 1:
                verify(plan, self._schemas)
                return self._run_rounds(plan, confidence=confidence, key=key)
            if confidence is None:
                confidence = plan.target.confidence if plan.target else CONFIDENCE
            level = float(open_probability(confidence, "confidence"))
            verify(plan, self._schemas)
            # a key is looked up even for a question that was answered: it may have been used for another
            found = self._find(plan, key)
            if found is None:
                with self._one_at_a_time():
                    found = self._find(plan, key) or self._release(plan, key)
            return read_answer(found.released, found.plan, found.receipt, confidence=level)

    def remaining(self) -> Left:
        """Return what is left of the budget."""
        return self._ledger.remaining(self._account)

    def history(self) -> tuple[Entry, ...]:
        """Return every charge, oldest first."""
        return self._ledger.history()

    def _planned(self, question: Question, said: Options) -> tuple[Plan, Options]:
        """Return the plan of a question, and how it is to be answered, by the caller's words and its own."""
        check_bounds(said.bound, said.contribution)
        if said.confidence is not None:
            open_probability(said.confidence, "confidence")
        query, wish = read_question(question, self._schemas, self._views)
        if said.other is not None and query.levels:
            raise RequestError("other= is for a question with one grouping; ask for each grouping by itself")
        if not isinstance(said.find, bool):
            raise BadParameter("find_groups", said.find, "True or False")
        query = query if said.other is None else replace(query, other=said.other)
        query = with_found_groups(query, self._schemas) if said.find or wish.find else query
        delta = self._budget.delta if isinstance(self._budget, Approximate) else Fraction(0)
        how = heeded(said, wish, query, self._schemas, delta=delta)
        spend, bound, contribution = spend_of(self._budget, how.epsilon, how.rho), how.bound, how.contribution
        if query.levels:
            return self._leveled(query, how), how
        if how.within is None:
            if how.at_most is not None:
                raise RequestError("at_most= goes with within=; to say what an answer costs, say epsilon= or rho=")
            return make_plan(query, self._schemas, spend=spend, bound=bound, contribution=contribution), how
        if how.epsilon is not None or how.rho is not None:
            raise RequestError(
                "say how wide the answer may be (within), or what it may cost (epsilon, rho), not both; at_most= "
                "limits what a width may cost"
            )
        plan = plan_within(
            query,
            self._schemas,
            spend=spend,
            at_most=how.at_most,
            target=read_target(how.within, how.confidence),
            bound=bound,
            contribution=contribution,
        )
        return plan, how

    def _leveled(self, query: Query, how: Options) -> Plan:
        """Return the plan of a question with several groupings, which share its cost."""
        if how.within is not None or how.at_most is not None:
            raise Unsupported(
                "within= is for a question with one grouping; say what all the levels may cost (epsilon=, rho=), or "
                "ask each level by itself"
            )
        spend = spend_of(self._budget, how.epsilon, how.rho)
        bounds = {"bound": how.bound, "contribution": how.contribution}
        return make_batch([query], self._schemas, spend=spend, weights=[1], **bounds).plans[0]  # type: ignore[arg-type]

    def _surely_fits(self, name: str) -> float:
        """Return what `remaining` says is left, in the measure of a question: what fits can only be more."""
        left = self.remaining()
        if name == "epsilon":
            return left.largest_epsilon
        return float_down(Fraction(left.amount)) if left.measure == "rho" else 0.0

    def _with_what_fits(self, refused: BudgetExceeded, plan: Plan, how: Options) -> BudgetExceeded:
        """Return a refusal that says the most this very question may still cost, in the measure it was asked in."""
        name = "rho" if plan.spend.epsilon is None else "epsilon"

        def at(amount: float) -> Plan:
            spend, bound, contribution = replace(plan.spend, **{name: Fraction(amount)}), how.bound, how.contribution
            query, tables, target = plan.query, self._schemas, plan.target
            if target is not None and plan.rounds > 1:
                return make_rounds(query, tables, spend=spend, target=target, bound=bound, contribution=contribution)
            return make_plan(query, tables, spend=spend, bound=bound, contribution=contribution, target=target)

        def fits(amount: float) -> bool:
            return self._ledger.admits(at(amount).event, account=self._account)

        low, high = self._surely_fits(name), float_down(cast(Fraction, getattr(plan.spend, name)))
        low = low if 0 < low < high and fits(low) else 0.0
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
            countable=refused.countable,
        )


def _names(about: object, tables: Mapping[str, object]) -> list[str]:
    allowed = "a list of names of tables"
    names = listed(about, "about", allowed)
    for name in names:
        if not isinstance(name, str):
            raise BadParameter("about", type(name).__name__, allowed)
        if name not in tables:
            raise BadParameter("about", name, f"{allowed} of this session: {', '.join(sorted(tables))}")
    return names


def _in_words(plan: Plan) -> str:
    """Return how wide the columns of a plan will be, at the confidence that it was made for."""
    if plan.target is not None and plan.rounds == 1:
        return ", ".join(one.words() for one in reached(plan, plan.target))
    return ", ".join(f"{one.column} {one.words()}" for one in widths(plan) if one.known)
