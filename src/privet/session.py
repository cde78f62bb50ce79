"""The entry point in Python: a session plans for free, and answers what the account can pay for."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import ExitStack
from typing import Any, Self, cast

from .answer import Answer
from .core.budget import Approximate, Budget, Pure, Zcdp
from .core.errors import BadParameter, BudgetExceeded, UnknownName, raise_alone
from .core.given import function, is_a, listed
from .core.links import followed
from .core.numbers import Number
from .core.ports import Engine, Ledger, Left
from .core.records import Entry
from .core.schema import Contribution, Table
from .engines.duckdb.engine import DuckDB
from .execution.affordable import with_largest
from .execution.batches import plan_questions, run_batch
from .execution.clipping import Clipping, clipping_report
from .execution.executor import Executor, run_plan
from .execution.pace import Pace, read_step
from .execution.request import AskOptions, Catalog, Question, plan_question, read_views, with_contents
from .execution.run_rounds import run_rounds
from .ledger.memory import MemoryLedger
from .planner.batch import Batch
from .planner.groupings import Levels
from .planner.plan import Plan
from .planner.stability import Rule
from .planner.target import CONFIDENCE
from .planner.verify import verify
from .query.frame import Frame
from .query.frame import table as frame


class Session:
    """Ask questions about private tables under one budget.

    Each answer is charged to the ledger before a row is read; the same question twice is charged once and gives the
    same numbers. Without a ledger the session keeps one in memory, and the budget lasts as long as the process.
    `views` are names for SELECTs over the tables whose rows still belong to people. `about` names the tables that may
    be asked about; without it, all may. Views of tables that may not be asked about are left out. With a `time_step`,
    in seconds, an answer that is read from the data, or its failure, is handed over at the next multiple of it since
    the question was asked, so that how long it took says little about the data.

    An engine over the tables, such as `DuckDB(tables)`, and a ledger may be given, and several sessions may share
    them: they are borrowed, and closing a session leaves them open. Threads may share a session: different questions
    are answered at once, equal ones are charged and drawn once, and a stored answer waits for no scan.
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
        own = book.budget_of(account)
        if budget not in (None, own):
            raise BadParameter("budget", budget, "the account's own in the ledger, or left out")
        pace = Pace(read_step(time_step))
        owned = followed({name: table.schema for name, table in tables.items()})
        # a table that may not be asked about can still say who owns the rows of one that links to it
        asked = owned if about is None else _names(about, owned)
        schemas = {name: schema for name, schema in owned.items() if name in asked}
        known_views = read_views({} if views is None else views, owned, schemas)
        if engine is not None and not is_a(engine, Engine):
            raise BadParameter("engine", type(engine).__name__, "an engine, such as DuckDB(tables)")
        reads = DuckDB(tables) if engine is None else engine
        self._closing = ExitStack()
        if engine is None:
            self._closing.callback(reads.close)
        self._catalog = Catalog(with_contents(schemas, reads), known_views, own)
        self._executor = Executor(self._catalog.schemas, reads, book, account, pace=pace)

    @property
    def ledger(self) -> Ledger:
        """The ledger that is charged."""
        return self._executor.ledger

    @property
    def account(self) -> str:
        """Who pays: the account's name in the ledger."""
        return self._executor.account

    def table(self, name: str) -> Frame:
        """Return a table to build a question on, step by step."""
        schemas, views = self._catalog.schemas, self._catalog.views
        if not isinstance(name, str):
            raise BadParameter("name", type(name).__name__, "the name of a table or a view")
        if name not in schemas and name not in views:
            raise UnknownName("table", name, (*schemas, *views))
        if name in views:
            return Frame(views[name])
        return frame(name, schemas[name], schemas)

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
        options = AskOptions(
            epsilon=epsilon,
            rho=rho,
            bound=bound,
            contribution=contribution,
            within=within,
            confidence=confidence,
            at_most=at_most,
            other=other,
            find_groups=find_groups,
        )
        return plan_question(question, options, self._catalog)[0]

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
        options = AskOptions(
            epsilon=epsilon,
            rho=rho,
            bound=bound,
            contribution=contribution,
            within=within,
            confidence=confidence,
            at_most=at_most,
            other=other,
            find_groups=find_groups,
        )
        with self._executor.pace.asking():
            plan, merged = plan_question(question, options, self._catalog)
            try:
                return self.run(plan, confidence=confidence, key=key)
            except BudgetExceeded as refused:
                if isinstance(plan, Levels):
                    raise
                raise_alone(with_largest(refused, plan, merged, self._executor))

    def run(self, plan: Plan, *, confidence: Number | None = None, key: str | None = None) -> Answer:
        """Return the answer to a plan: from the ledger if it was released before, else charge, read and draw.

        Its intervals hold with `confidence`; if left out, with the one that the plan was made for, or 0.95.
        """
        if not isinstance(plan, Plan):
            raise BadParameter("plan", type(plan).__name__, "a plan of this session")
        executor = self._executor
        executor.check_open()
        with executor.pace.asking():
            if type(plan) is Levels:
                level_of = CONFIDENCE if confidence is None else confidence
                return run_batch(executor, plan.batch, confidence=level_of, key=key)[0]
            if plan.rounds > 1:
                verify(plan, executor.schemas)
                return run_rounds(executor, plan, confidence=confidence, key=key)
            return run_plan(executor, plan, confidence=confidence, key=key)

    def plan_all(
        self,
        questions: Sequence[Question],
        *,
        epsilon: object = None,
        rho: object = None,
        weights: Sequence[int] | None = None,
        bound: Rule = "norm",
        contribution: Contribution | None = None,
        within: Any = None,
        confidence: Number | None = None,
        at_most: object = None,
    ) -> Batch:
        """Return every decision about the answers to several questions, and their price together. Free; reads nothing.

        What they cost is for all of them: equal sums and groups are released once, and each released sum gets an equal
        share, or as many times that as the weight of its question says. Or say how narrow intervals are to be: `within`
        is a number for all questions, or a list with one entry for each (a number, numbers by column, or None), and the
        price is the least that makes all of them so; `at_most` refuses a higher one.
        """
        options = AskOptions(
            epsilon=epsilon,
            rho=rho,
            bound=bound,
            contribution=contribution,
            within=within,
            confidence=confidence,
            at_most=at_most,
        )
        return plan_questions(questions, options, self._catalog, weights=weights)

    def ask_all(
        self,
        questions: Sequence[Question],
        *,
        epsilon: object = None,
        rho: object = None,
        weights: Sequence[int] | None = None,
        bound: Rule = "norm",
        contribution: Contribution | None = None,
        within: Any = None,
        confidence: Number | None = None,
        at_most: object = None,
        key: str | None = None,
    ) -> tuple[Answer, ...]:
        """Return private answers to several questions, in their order, charged once and first; again, they are free.

        How wide they may be can be said by `within` and `at_most`, as for `plan_all`, instead of what they may cost.
        """
        options = AskOptions(
            epsilon=epsilon,
            rho=rho,
            bound=bound,
            contribution=contribution,
            within=within,
            confidence=confidence,
            at_most=at_most,
        )
        with self._executor.pace.asking():
            batch = plan_questions(questions, options, self._catalog, weights=weights)
            return run_batch(self._executor, batch, confidence=confidence, key=key)

    def run_all(self, batch: Batch, *, confidence: Number | None = None, key: str | None = None) -> tuple[Answer, ...]:
        """Return the answers to a batch: from the ledger if it was released before, else charge, read and draw.

        Intervals hold with `confidence`; if left out, with the one that a question's width is for, or 0.95.
        """
        with self._executor.pace.asking():
            return run_batch(self._executor, batch, confidence=confidence, key=key)

    def clipping(
        self,
        question: Question,
        *,
        epsilon: object = None,
        rho: object = None,
        bound: Rule = "norm",
        contribution: Contribution | None = None,
        confidence: Number | None = 0.95,
        key: str | None = None,
    ) -> Clipping:
        """Return a private estimate of what clamping and bounding take away from a question, and advice on bounds.

        Charged like any question, once for all that it asks; the answer to the question itself is not among it. Shares
        are of all rows that it is about, and of all people, whatever its groups.
        """
        options = AskOptions(epsilon=epsilon, rho=rho, bound=bound, contribution=contribution)
        with self._executor.pace.asking():
            return clipping_report(self._executor, question, options, self._catalog, confidence=confidence, key=key)

    def remaining(self) -> Left:
        """Return what is left of the budget."""
        return self.ledger.remaining(self.account)

    def history(self) -> tuple[Entry, ...]:
        """Return every charge, oldest first."""
        return self.ledger.history()

    def close(self) -> None:
        """Finish what is asked, and close the engine that the session made and what it was given to close.

        A closed session refuses questions before they are charged. A borrowed engine or ledger stays open.
        """
        self._executor.close()
        self._closing.close()

    def closing(self, close: Callable[[], object]) -> Self:
        """Return this session, which calls `close` when it is closed itself."""
        self._closing.callback(function(close, "close", "a function without arguments"))
        return self

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


def _names(about: object, tables: Mapping[str, object]) -> list[str]:
    allowed = "a list of names of tables"
    names = listed(about, "about", allowed)
    for name in names:
        if not isinstance(name, str):
            raise BadParameter("about", type(name).__name__, allowed)
        if name not in tables:
            raise BadParameter("about", name, f"{allowed} of this session: {', '.join(sorted(tables))}")
    return names
