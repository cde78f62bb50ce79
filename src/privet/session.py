"""The entry point in Python: a session plans for free, and answers questions that the account can pay for."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Literal, Self, cast

from privet.core.event import Entry
from privet.core.schema import followed
from privet.execution.run_stages import run_rounds, run_steps
from privet.planner.accuracy import CONFIDENCE
from privet.planner.comparison_plans import ChoicePlan, ThresholdPlan
from privet.planner.rounds import InSteps

from .answer import Answer
from .core.budget import Approximate, Budget, Pure, Zcdp
from .core.errors import BadParameter, BudgetExceeded, PrivetError, UnknownName, raise_alone
from .core.estimate import COVERS, Covers
from .core.given import check_cases, choice, function, given_name, is_a, listed, truth
from .core.numbers import Number, float_near, open_probability
from .core.ports import Engine, Ledger, LedgerAdmin, Left, OpensTables
from .core.schema import Contribution, Table
from .display import (
    MOST_ROWS,
    Figures,
    bar,
    charge_words,
    draw_columns,
    draw_facts,
    html_facts,
    html_lines,
    html_table,
    percent,
    printable,
    written,
)
from .engines.duckdb.engine import DuckDB
from .execution.affordable import with_largest
from .execution.batches import plan_list, run_batch
from .execution.clipping import Clipping, clipping_report
from .execution.counting import (
    MarginalsPlan,
    RangesPlan,
    plan_marginals,
    plan_ranges,
    run_marginals,
    run_ranges,
)
from .execution.describe import TableDescription, TableList, describe
from .execution.executor import Executor, run_plan, run_public
from .execution.pace import Pace, read_step
from .execution.request import (
    AskOptions,
    Catalog,
    Question,
    plan_question,
    read_question,
    read_views,
    with_calendars,
    with_contents,
)
from .execution.rolling import RollingReport, blocks_to_report, check_additive, run_rolling
from .execution.run_choice import Chooses, ChosenOption, ScoreOf, list_options, plan_choice, run_choice
from .execution.running_history import RunningPlan, plan_running, run_running
from .execution.vector import OpenedVector, plan_vector
from .ledger.memory import MemoryLedger
from .planner.batch import Batch
from .planner.contributions import covering
from .planner.groupings import Several
from .planner.plan import Plan
from .planner.public_plan import PublicPlan
from .planner.stability import Rule
from .planner.touching import with_blocks
from .planner.verify import verify
from .query.frame import Frame, count
from .query.frame import table as frame
from .query.sql.rewrites import Parameters, find_table, read_schema
from .query.terms import Constant, Term, Width
from .results.released_counts import Marginals
from .results.released_ranges import Ranges
from .results.released_totals import RunningTotals

if TYPE_CHECKING:
    from privet.inference.finding import FamilyOfFindings
    from privet.study.hypothesis import Family

    from .inference.finding import Finding
    from .study.hypothesis import Hypothesis, TestPlan
    from .study.regression import NormGiven, RegressionPlan
    from .study.regression_table import Regression, Shrinkage


class Session:
    """Questions about private tables, answered under one budget.

    Each answer is charged to the ledger before a row is read. The same question asked twice is charged once and
    returns the same numbers. Threads may share a session: different questions are answered at once, equal ones are
    charged and drawn once, and a stored answer waits for no scan. Several sessions may share an engine and a ledger:
    these are borrowed, and closing a session leaves them open.

    Args:
        tables: the private and public tables, by the names that questions use.
        views: names for SELECTs over the tables whose rows still belong to people.
        budget: the most that may be spent in all; it may be left out where the ledger has one.
        ledger: where charges and answers are kept. Without one they are kept in memory, until the process ends.
        account: the account in the ledger that pays.
        engine: an engine over the tables, such as `DuckDB(tables)`; the session makes one if left out.
        about: the tables that may be asked about; all of them if left out. Views of others are left out.
        time_step: seconds. An answer that is read from the data, or its failure, is returned at the next multiple of
            it since the question was asked, so that the time taken reveals little about the data.
        schema: the schema that SQL may write before a table's name, such as "clinic" or "warehouse.clinic"; "public"
            if left out.

    Raises:
        RequestError: if the tables, the budget or the ledger do not fit together.

    Example:
        >>> with privet.Session({"visits": visits}, budget=privet.Pure(epsilon=1)) as session:
        ...     session.remaining().largest_epsilon
        1.0
    """

    def __init__(
        self,
        tables: Mapping[str, Table],
        *,
        views: Mapping[str, str] | None = None,
        budget: Budget | None = None,
        ledger: Ledger | None = None,
        account: str = "session",
        engine: Engine | OpensTables | None = None,
        about: Collection[str] | None = None,
        time_step: Number | None = None,
        schema: str | None = None,
    ) -> None:
        if not isinstance(tables, Mapping) or not tables:
            raise BadParameter("tables", type(tables).__name__, "a mapping of names to Tables, with at least one")
        for name, table in tables.items():
            if not isinstance(name, str) or not name or not isinstance(table, Table):
                raise BadParameter("tables", name, "a mapping of names to Tables, such as {'visits': Table(...)}")
        check_cases(tables, "tables")
        if (budget is not None or ledger is None) and not isinstance(budget, (Pure, Approximate, Zcdp)):
            raise BadParameter("budget", budget, "Pure(...), Approximate(...) or Zcdp(...)")
        if ledger is not None and not is_a(ledger, Ledger):
            raise BadParameter("ledger", type(ledger).__name__, "a ledger, such as SqliteLedger(path)")
        given_name(account, "account")
        book: Ledger = MemoryLedger(budget) if ledger is None and budget is not None else cast(Ledger, ledger)
        own = book.budget_of(account)
        if budget not in (None, own):
            raise BadParameter("budget", budget, "the account's own in the ledger, or left out")
        pace = Pace(read_step(time_step))
        owned = with_calendars(followed({name: table.schema for name, table in tables.items()}))
        # a table that may not be asked about can still identify the owners of the rows of one that links to it
        asked = owned if about is None else _names(about, owned)
        schemas = {name: schema for name, schema in owned.items() if name in asked}
        known_views = read_views({} if views is None else views, owned, schemas, read_schema(schema))
        self._closing = ExitStack()
        reads = self._reads(tables, engine)
        self._catalog = Catalog(with_contents(schemas, reads), known_views, own, read_schema(schema))
        self._executor = Executor(self._catalog.schemas, reads, book, account, pace=pace)

    def _reads(self, tables: Mapping[str, Table], engine: Engine | OpensTables | None) -> Engine:
        """Return the engine that answers scans; one that is made here is closed with the session."""
        opens = is_a(engine, OpensTables)
        if engine is not None and not opens:
            if not is_a(engine, Engine):
                raise BadParameter("engine", type(engine).__name__, "an engine, such as DuckDB(tables)")
            return cast(Engine, engine)
        made = cast(OpensTables, engine).over(tables) if opens else DuckDB(tables)
        self._closing.callback(made.close)
        return made

    @property
    def ledger(self) -> Ledger:
        """The ledger that is charged."""
        return self._executor.ledger

    @property
    def account(self) -> str:
        """Who pays: the account's name in the ledger."""
        return self._executor.account

    @property
    def tables(self) -> TableList:
        """The tables and views that may be asked about, by name: print it for a list.

        Example:
            >>> list(session.tables)
            ['visits']
        """
        return TableList(self._catalog)

    def describe(self, name: str) -> TableDescription:
        """Return the description of a table or a view: columns, bounds, groups, and examples that run.

        Everything comes from declarations. It costs nothing and reads no data.

        Args:
            name: the name of a table or a view.

        Raises:
            UnknownName: if there is none of that name.

        Example:
            >>> session.describe("visits").examples[0]
            'SELECT COUNT(*) AS n FROM visits'
        """
        return describe(name, self._catalog)

    def table(self, name: str) -> Frame:
        """Return a table to build a question on, step by step.

        Example:
            >>> question = session.table("visits").group_by("ward").agg(n=privet.count())
            >>> session.plan(question, epsilon=0.5).price["epsilon"]
            0.5
        """
        schemas, views = self._catalog.schemas, self._catalog.views
        if not isinstance(name, str):
            raise BadParameter("name", type(name).__name__, "the name of a table or a view")
        if name not in schemas and name not in views:
            if "." not in name:
                raise UnknownName("table", name, (*schemas, *views))
            path = [(word, False) for word in name.split(".")]
            name = find_table(path, (*schemas, *views), self._catalog.schema)
        rows = Frame(views[name]) if name in views else frame(name, schemas[name], schemas)
        return replace(rows, _left=self._left_for)

    def _left_for(self, rows: Frame) -> Left:
        """Return the budget left for some rows: of the blocks that they are in, or of all data."""
        asked = with_blocks(rows.agg(n=count()).query(), self._catalog.schemas)
        return self._executor.remaining_for([asked.table])

    def plan(
        self,
        question: Question,
        epsilon: Number | None = None,
        *,
        rho: Number | None = None,
        bound: Rule = "norm",
        contribution: Contribution | Literal["auto"] | None = None,
        within: Width | None = None,
        confidence: Number | None = None,
        at_most: Number | None = None,
        other: str | None = None,
        find_groups: bool = False,
        covers: Covers = "noise",
        parameters: Parameters | None = None,
    ) -> Plan:
        """Return every decision about an answer, and its price. It costs nothing and reads no data.

        Args:
            question: SQL, or a question built on `Session.table`.
            epsilon: the privacy loss that the answer may cost: the probability of any answer changes by at most a
                factor e**epsilon when one unit is added or removed. Defaults to a tenth of the budget.
            rho: the same as a zCDP parameter, for an account that counts rho. Pass either epsilon or rho, not both.
            bound: how to limit each person's contribution: "norm" scales down all contributions of a person,
                "groups" drops excess groups and rows.
            contribution: a limit on one person's contribution, instead of the table's own; or "auto", and a fifth of
                the price chooses a limit privately for this answer, where noise and loss are least together.
            within: how wide intervals may be, instead of a cost: one half-width for all columns, or a mapping of
                columns to theirs; each a number, or a share such as "2%". The plan has the least price that reaches
                it where public facts determine that price, and otherwise rounds that stop once every cell reaches it.
            confidence: the confidence level of the intervals. Defaults to 0.95.
            at_most: with `within`, the highest price: epsilon, or rho in an account that counts rho. Defaults to a
                tenth of the budget.
            other: the name of one more group, of all rows whose group is not declared and too rare to be shown.
            find_groups: find declared groups in the data as well, and show only those with enough people. It costs
                delta, and is for declared keys that make more groups than can be answered.
            covers: what the intervals cover: "noise"; "bounding" for the losses to contribution bounding as well, up to
                the table's `most_rows` for each person, which a share of the price pays for; or, of quantiles,
                "population" for sampling as well.
            parameters: values for the parameters of SQL: a list for ? and $1, or a mapping for :name and $name.

        Raises:
            RequestError: if the question cannot be answered privately, or an argument is out of range.

        Example:
            >>> plan = session.plan("SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward", epsilon=0.5)
            >>> plan.price["epsilon"]
            0.5
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
            covers=covers,
            parameters=parameters,
        )
        return plan_question(question, options, self._catalog)[0]

    def ask(
        self,
        question: Question,
        epsilon: Number | None = None,
        *,
        rho: Number | None = None,
        bound: Rule = "norm",
        contribution: Contribution | Literal["auto"] | None = None,
        within: Width | None = None,
        confidence: Number | None = None,
        at_most: Number | None = None,
        other: str | None = None,
        find_groups: bool = False,
        covers: Covers = "noise",
        parameters: Parameters | None = None,
        key: str | None = None,
    ) -> Answer:
        """Return a private answer, which is charged first; the same question again costs nothing.

        Args:
            question: SQL, or a question built on `Session.table`.
            epsilon: the privacy loss that the answer may cost: the probability of any answer changes by at most a
                factor e**epsilon when one unit is added or removed. Defaults to a tenth of the budget.
            rho: the same as a zCDP parameter, for an account that counts rho. Pass either epsilon or rho, not both.
            bound: how to limit each person's contribution: "norm" scales it down, "groups" drops excess groups and
                rows.
            contribution: a limit on one person's contribution, instead of the table's own; or "auto". See `plan`.
            within: how wide intervals may be, instead of a cost: one half-width for all columns, or a mapping of
                columns to theirs; each a number, or a share such as "2%". See `plan`.
            confidence: the confidence level of the intervals. Defaults to 0.95.
            at_most: with `within`, the highest price. Defaults to a tenth of the budget.
            other: the name of one more group, of all rows whose group is not declared and too rare to be shown.
            find_groups: find declared groups in the data as well, and show only those with enough people.
            covers: what the intervals cover: "noise"; "bounding" or, of quantiles, "population" as well. See `plan`.
            parameters: values for the parameters of SQL: a list for ? and $1, or a mapping for :name and $name.
            key: an idempotency key: trying again with the same key after a failure is charged once.

        Returns:
            An `Answer`: its rows with intervals, notes, and the receipt of the charge.

        Raises:
            RequestError: if the question cannot be answered privately, or an argument is out of range. No charge.
            BudgetExceeded: if the account cannot pay. It has the largest epsilon that still fits.

        Example:
            >>> answer = session.ask("SELECT COUNT(*) AS n FROM visits", epsilon=0.5)
            >>> answer["n"].low[0] <= answer["n"].values[0] <= answer["n"].high[0]
            True
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
            covers=covers,
            parameters=parameters,
        )
        with self._executor.pace.asking():
            plan, merged = plan_question(question, options, self._catalog)
            try:
                return self.run(plan, confidence=confidence, key=key)
            except BudgetExceeded as refused:
                if isinstance(plan, Several | InSteps):
                    raise
                raise_alone(with_largest(refused, plan, merged, self._executor))

    def run(
        self, plan: Plan, *, confidence: Number | None = None, key: str | None = None, covers: Covers | None = None
    ) -> Answer:
        """Return the answer to a plan: from the ledger if it was released before, else charge, read and draw.

        Args:
            plan: a plan that `plan` returned.
            confidence: the confidence level of the intervals. Defaults to that of the plan, or 0.95.
            key: an idempotency key: trying again with the same key after a failure is charged once.
            covers: what the intervals cover, if the plan pays for it. Defaults to the coverage that it was planned for.

        Raises:
            RequestError: if the plan does not pay for this coverage.
            BudgetExceeded: if the account cannot pay.

        Example:
            >>> plan = session.plan("SELECT COUNT(*) AS n FROM visits", epsilon=0.5)
            >>> session.run(plan).value == session.run(plan).value
            True
        """
        if not isinstance(plan, Plan):
            raise BadParameter("plan", type(plan).__name__, "a plan of this session")
        if covers is not None:
            plan = covering(plan, cast(Covers, choice(covers, "covers", COVERS)))
        executor = self._executor
        executor.check_open()
        with executor.pace.asking():
            if isinstance(plan, PublicPlan):
                return run_public(executor, plan, key=key)
            if isinstance(plan, InSteps):
                return run_steps(executor, plan, partial(self.run, confidence=confidence), key=key)
            if isinstance(plan, Several):
                level_of = CONFIDENCE if confidence is None else confidence
                return run_batch(executor, plan.batch, confidence=level_of, key=key)[0]
            if plan.rounds > 1:
                verify(plan, executor.schemas)
                return run_rounds(executor, plan, confidence=confidence, key=key)
            return run_plan(executor, plan, confidence=confidence, key=key)

    def plan_all(
        self,
        questions: Sequence[Question],
        epsilon: Number | None = None,
        *,
        rho: Number | None = None,
        weights: Sequence[int] | None = None,
        bound: Rule = "norm",
        contribution: Contribution | Literal["auto"] | None = None,
        within: Width | Sequence[Width | None] | None = None,
        confidence: Number | None = None,
        at_most: Number | None = None,
    ) -> Batch:
        """Return every decision about the answers to several questions, and their joint price. It reads no data.

        Equal sums and groups are released once.

        Args:
            questions: SQL, or questions built on `Session.table`.
            epsilon: the privacy loss of all answers together. Defaults to a tenth of the budget.
            rho: the same as a zCDP parameter. Pass either epsilon or rho, not both.
            weights: for each question, how many equal shares of the cost its sums get. Defaults to 1 each.
            bound: how to limit each person's contribution, as for `plan`.
            contribution: a limit on one person's contribution, instead of the table's own.
            within: how wide intervals may be: a number for all questions, or a list with one entry for each (a
                number, numbers by column, or None). The price is the least that reaches all of them.
            confidence: the confidence level of the intervals. Defaults to 0.95.
            at_most: with `within`, the highest price.

        Example:
            >>> batch = session.plan_all(["SELECT COUNT(*) FROM visits", "SELECT COUNT(*) FROM visits"], epsilon=0.5)
            >>> len(batch.plans), len(batch.releases)
            (2, 1)
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
        return plan_list(questions, options, self._catalog, weights=weights)

    def ask_all(
        self,
        questions: Sequence[Question],
        epsilon: Number | None = None,
        *,
        rho: Number | None = None,
        weights: Sequence[int] | None = None,
        bound: Rule = "norm",
        contribution: Contribution | Literal["auto"] | None = None,
        within: Width | Sequence[Width | None] | None = None,
        confidence: Number | None = None,
        at_most: Number | None = None,
        key: str | None = None,
    ) -> tuple[Answer, ...]:
        """Return private answers to several questions, in their order, charged once and first; again, they are free.

        Args:
            questions: SQL, or questions built on `Session.table`.
            epsilon: the privacy loss of all answers together. Defaults to a tenth of the budget.
            rho: the same as a zCDP parameter. Pass either epsilon or rho, not both.
            weights: for each question, how many equal shares of the cost its sums get. Defaults to 1 each.
            bound: how to limit each person's contribution, as for `plan`.
            contribution: a limit on one person's contribution, instead of the table's own.
            within: how wide intervals may be, as for `plan_all`.
            confidence: the confidence level of the intervals. Defaults to 0.95.
            at_most: with `within`, the highest price.
            key: an idempotency key: trying again with the same key after a failure is charged once.

        Raises:
            BudgetExceeded: if the account cannot pay for all of them.

        Example:
            >>> answers = session.ask_all(["SELECT COUNT(*) FROM visits", "SELECT SUM(cost) FROM visits"], epsilon=0.5)
            >>> len(answers), len(session.history())
            (2, 1)
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
            batch = plan_list(questions, options, self._catalog, weights=weights)
            return run_batch(self._executor, batch, confidence=confidence, key=key)

    def run_all(self, batch: Batch, *, confidence: Number | None = None, key: str | None = None) -> tuple[Answer, ...]:
        """Return the answers to a batch: from the ledger if it was released before, else charge, read and draw.

        Args:
            batch: a batch that `plan_all` returned.
            confidence: the confidence level of the intervals. Defaults to that of each question's width, or 0.95.
            key: an idempotency key: trying again with the same key after a failure is charged once.

        Example:
            >>> batch = session.plan_all(["SELECT COUNT(*) FROM visits"], epsilon=0.5)
            >>> len(session.run_all(batch))
            1
        """
        with self._executor.pace.asking():
            return run_batch(self._executor, batch, confidence=confidence, key=key)

    def plan_choice(
        self,
        options: Sequence[Constant],
        score: ScoreOf,
        epsilon: Number | None = None,
        *,
        rho: Number | None = None,
        mechanism: Chooses | None = None,
        bound: Rule = "norm",
        contribution: Contribution | None = None,
        parameters: Mapping[str, Constant] | None = None,
    ) -> ChoicePlan:
        """Return every decision about a choice, and its price. It reads no data. The arguments are those of `choose`.

        Example:
            >>> plan = session.plan_choice([20, 40], "SELECT COUNT(*) FROM visits WHERE cost > :option", epsilon=0.5)
            >>> plan.cost["epsilon"]
            0.5
        """
        how = AskOptions(epsilon=epsilon, rho=rho, bound=bound, contribution=contribution, parameters=parameters)
        return plan_choice(list_options(options), score, how, self._catalog, mechanism=mechanism)

    def choose(
        self,
        options: Sequence[Constant],
        score: ScoreOf,
        epsilon: Number | None = None,
        *,
        rho: Number | None = None,
        mechanism: Chooses | None = None,
        bound: Rule = "norm",
        contribution: Contribution | None = None,
        parameters: Mapping[str, Constant] | None = None,
        key: str | None = None,
    ) -> ChosenOption:
        """Return one of several public options, better ones with higher probability. Charged first; again, it is free.

        An option's score is a count or a bounded sum over private rows, which is not released. How far one person can
        move it is derived from declarations.

        Args:
            options: 2 to 1,000 different numbers, texts or dates. They are public.
            score: SQL in which :option stands for an option, such as "SELECT COUNT(*) FROM bids WHERE bid >= :option";
                or a function that returns a question for an option, built on `Session.table`.
            epsilon: the privacy loss that the choice may cost. Defaults to a tenth of the budget.
            rho: the same as a zCDP parameter, for an account that counts rho. Pass either epsilon or rho, not both.
            mechanism: "permute-and-flip", the best for one choice, or "exponential", the exponential mechanism, which
                costs less where the account counts rho. The better of the two if left out.
            bound: how to limit each person's contribution, as for `plan`.
            contribution: a limit on one person's contribution, instead of the table's own.
            parameters: values for other parameters of the SQL, by name.
            key: an idempotency key: trying again with the same key after a failure is charged once.

        Returns:
            A `ChosenOption`: its value, how far it may be from the best, and the receipt of the charge.

        Raises:
            RequestError: if a score is not one count or bounded sum, or an argument is out of range. No charge.
            BudgetExceeded: if the account cannot pay.

        Example:
            >>> chosen = session.choose([20, 40], "SELECT COUNT(*) FROM visits WHERE cost > :option", epsilon=0.5)
            >>> chosen.value in (20, 40)
            True
        """
        how = AskOptions(epsilon=epsilon, rho=rho, bound=bound, contribution=contribution, parameters=parameters)
        with self._executor.pace.asking():
            given = list_options(options)
            plan = plan_choice(given, score, how, self._catalog, mechanism=mechanism)
            return run_choice(self._executor, plan, given, key=key)

    def plan_marginals(
        self,
        table: str | Frame,
        columns: Sequence[str | Term],
        *,
        ways: int | None = None,
        epsilon: Number | None = None,
        rho: Number | None = None,
        subsets: Sequence[Sequence[str]] | None = None,
        weights: Mapping[str | tuple[str, ...], Number] | None = None,
        ordered: Mapping[str, Literal["ranges", "prefixes"]] | None = None,
        bound: Rule = "norm",
        contribution: Contribution | None = None,
    ) -> MarginalsPlan:
        """Return the plan of `marginals`: measurements, price, and the error of every table. It reads no data.

        Args:
            table: the name of a table or a view, or rows of one: `session.table("visits").where(...)`.
            columns: columns with declared values.
            ways: every set of this many columns is asked for. Defaults to 2.
            epsilon: the privacy loss of all tables together. Defaults to a tenth of the budget.
            rho: the same as a zCDP parameter. Pass either epsilon or rho, not both.
            subsets: the sets of columns that are asked for, instead of `ways`.
            weights: how much the squared errors of some tables matter: {("ward", "sex"): 3}; 1 for the others.
            ordered: columns of numbers or dates that are asked about in ranges or prefixes: {"age": "ranges"}.
            bound: how to limit each person's contribution, as for `plan`.
            contribution: a limit on one person's contribution, instead of the table's own.

        Example:
            >>> session.plan_marginals("visits", ["ward", "age"], epsilon=0.5).price["epsilon"]
            0.5
        """
        options = AskOptions(epsilon=epsilon, rho=rho, bound=bound, contribution=contribution)
        chosen = {"ways": ways, "subsets": subsets, "weights": weights, "ordered": ordered}
        return plan_marginals(self._rows_of(table), columns, self._catalog, options, **chosen)  # type: ignore[arg-type]

    def marginals(
        self,
        table: str | Frame,
        columns: Sequence[str | Term],
        *,
        ways: int | None = None,
        epsilon: Number | None = None,
        rho: Number | None = None,
        subsets: Sequence[Sequence[str]] | None = None,
        weights: Mapping[str | tuple[str, ...], Number] | None = None,
        ordered: Mapping[str, Literal["ranges", "prefixes"]] | None = None,
        bound: Rule = "norm",
        contribution: Contribution | None = None,
        nonnegative: bool = False,
        whole: bool = False,
        key: str | None = None,
    ) -> Marginals:
        """Return counts by every set of columns at one charge, with the least error; asking the result again is free.

        Laplace noise measures weighted tables or single cells, Gaussian noise the residuals that are the optimum for
        it; every table is reconstructed from all of them. Rows whose values are not declared are in no cell.

        Args:
            table: the name of a table or a view, or rows of one: `session.table("visits").where(...)`.
            columns: columns with declared values.
            ways: every set of this many columns is asked for. Defaults to 2.
            epsilon: the privacy loss of all tables together. Defaults to a tenth of the budget.
            rho: the same as a zCDP parameter. Pass either epsilon or rho, not both.
            subsets: the sets of columns that are asked for, instead of `ways`.
            weights: how much the squared errors of some tables matter: {("ward", "sex"): 3}; 1 for the others.
            ordered: columns of numbers or dates that are asked about in ranges or prefixes: {"age": "ranges"}.
            bound: how to limit each person's contribution, as for `plan`.
            contribution: a limit on one person's contribution, instead of the table's own.
            nonnegative: whether estimates and intervals are kept at 0 or above.
            whole: whether estimates are whole numbers.
            key: an idempotency key: trying again with the same key after a failure is charged once.

        Returns:
            `Marginals`, with `counts("ward", "sex")`, `count({"ward": "heart", "age": (18, 64)})`, `to_pandas()` and
            `plot()`. It contains released numbers only.

        Raises:
            RequestError: if values are not declared or in no order, or there are too many. No charge.
            BudgetExceeded: if the account cannot pay.

        Example:
            >>> found = session.marginals("visits", ["ward", "age"], epsilon=0.5)
            >>> table = found.counts("ward")
            >>> table["n"].low[0] <= table["n"].values[0] <= table["n"].high[0]
            True
        """
        nonnegative, whole = truth(nonnegative, "nonnegative"), truth(whole, "whole")
        with self._executor.pace.asking():
            plan = self.plan_marginals(
                table,
                columns,
                ways=ways,
                epsilon=epsilon,
                rho=rho,
                subsets=subsets,
                weights=weights,
                ordered=ordered,
                bound=bound,
                contribution=contribution,
            )
            return run_marginals(self._executor, plan, nonnegative=nonnegative, whole=whole, key=key)

    def plan_ranges(
        self,
        table: str | Frame,
        column: str | Term,
        *,
        epsilon: Number | None = None,
        rho: Number | None = None,
        bins: int | None = None,
        bound: Rule = "norm",
        contribution: Contribution | None = None,
    ) -> RangesPlan:
        """Return the plan of `ranges`: measurements, price, and the errors to expect. It reads no data.

        The arguments are those of `ranges`.

        Example:
            >>> session.plan_ranges("visits", "age", epsilon=0.5).price["epsilon"]
            0.5
        """
        options = AskOptions(epsilon=epsilon, rho=rho, bound=bound, contribution=contribution)
        return plan_ranges(self._rows_of(table), column, self._catalog, options, bins=bins)

    def ranges(
        self,
        table: str | Frame,
        column: str | Term,
        *,
        epsilon: Number | None = None,
        rho: Number | None = None,
        bins: int | None = None,
        bound: Rule = "norm",
        contribution: Contribution | None = None,
        nonnegative: bool = False,
        whole: bool = False,
        key: str | None = None,
    ) -> Ranges:
        """Return one column's counts, which answer any range, prefix, quantile or histogram of it, free from then on.

        Args:
            table: the name of a table or a view, or rows of one: `session.table("visits").where(...)`.
            column: a column of numbers or dates with declared bounds.
            epsilon: the privacy loss of all of it. Defaults to a tenth of the budget.
            rho: the same as a zCDP parameter. Pass either epsilon or rho, not both.
            bins: how many bins values are counted in. Whole numbers are counted one by one if left out, others in 256.
            bound: how to limit each person's contribution, as for `plan`.
            contribution: a limit on one person's contribution, instead of the table's own.
            nonnegative: whether estimates and intervals of counts are kept at 0 or above.
            whole: whether counts are whole numbers.
            key: an idempotency key: trying again with the same key after a failure is charged once.

        Returns:
            `Ranges`, with `count(18, 64)`, `prefix(17)`, `quantile(0.5)`, `histogram(10)` and `plot()`.

        Raises:
            RequestError: if the column has no declared bounds, or too many values. No charge.
            BudgetExceeded: if the account cannot pay.

        Example:
            >>> ages = session.ranges("visits", "age", epsilon=0.5)
            >>> ages.quantile(0.5).low <= ages.quantile(0.5).value <= ages.quantile(0.5).high
            True
        """
        nonnegative, whole = truth(nonnegative, "nonnegative"), truth(whole, "whole")
        cost = {"epsilon": epsilon, "rho": rho, "bound": bound, "contribution": contribution}
        with self._executor.pace.asking():
            plan = self.plan_ranges(table, column, bins=bins, **cost)  # type: ignore[arg-type]
            return run_ranges(self._executor, plan, nonnegative=nonnegative, whole=whole, key=key)

    def plan_running(
        self,
        table: str | Frame,
        by: str | Term,
        *,
        of: str | Term | None = None,
        groups: Sequence[str | Term] = (),
        epsilon: Number | None = None,
        rho: Number | None = None,
        bound: Rule = "norm",
        contribution: Contribution | None = None,
    ) -> RunningPlan:
        """Return the plan of `running`: measurements, price, and the error of a total. It reads no data.

        Args:
            table: the name of a table or a view, or rows of one: `session.table("visits").where(...)`.
            by: a column of dates or whole numbers with declared bounds, whose values are the steps.
            of: a column of numbers that is added up; rows are counted if left out.
            groups: columns with declared values: each of their groups has totals of its own.
            epsilon: the privacy loss of all totals together. Defaults to a tenth of the budget.
            rho: the same as a zCDP parameter. Pass either epsilon or rho, not both.
            bound: how to limit each person's contribution, as for `plan`.
            contribution: a limit on one person's contribution, instead of the table's own.

        Example:
            >>> session.plan_running("visits", by="age", epsilon=0.5).price["epsilon"]
            0.5
        """
        options = AskOptions(epsilon=epsilon, rho=rho, bound=bound, contribution=contribution)
        return plan_running(self._rows_of(table), by, self._catalog, options, of=of, groups=groups)

    def running(
        self,
        table: str | Frame,
        by: str | Term,
        *,
        of: str | Term | None = None,
        groups: Sequence[str | Term] = (),
        epsilon: Number | None = None,
        rho: Number | None = None,
        bound: Rule = "norm",
        contribution: Contribution | None = None,
        nonnegative: bool = False,
        key: str | None = None,
    ) -> RunningTotals:
        """Return the running totals of a whole history at one charge: the count or sum up to each step.

        Laplace noise is added to the nodes of a tree over the steps, Gaussian noise to the square root factorisation:
        a total over a thousand steps is hardly less accurate than one over ten. Groups cost nothing more. A history
        that has grown, under a new version of its table, is another release of the same people, and charged again.

        Args:
            table: the name of a table or a view, or rows of one: `session.table("visits").where(...)`.
            by: a column of dates or whole numbers with declared bounds, whose values are the steps.
            of: a column of numbers that is added up; rows are counted if left out.
            groups: columns with declared values: each of their groups has totals of its own.
            epsilon: the privacy loss of all totals together. Defaults to a tenth of the budget.
            rho: the same as a zCDP parameter. Pass either epsilon or rho, not both.
            bound: how to limit each person's contribution, as for `plan`.
            contribution: a limit on one person's contribution, instead of the table's own.
            nonnegative: whether totals never fall, where nothing below 0 is added up.
            key: an idempotency key: trying again with the same key after a failure is charged once.

        Returns:
            `RunningTotals`, with `totals()`, `to_pandas()` and `plot()`. It contains released numbers only.

        Raises:
            RequestError: if the steps have no declared order, or there are too many. No charge.
            BudgetExceeded: if the account cannot pay.

        Example:
            >>> table = session.running("visits", by="age", epsilon=0.5).totals()
            >>> table["n"].low[-1] <= table["n"].values[-1] <= table["n"].high[-1]
            True
        """
        nonnegative = truth(nonnegative, "nonnegative")
        with self._executor.pace.asking():
            plan = self.plan_running(
                table, by, of=of, groups=groups, epsilon=epsilon, rho=rho, bound=bound, contribution=contribution
            )
            return run_running(self._executor, plan, nonnegative=nonnegative, key=key)

    def rolling(
        self,
        question: Question,
        last: int,
        *,
        epsilon: Number | None = None,
        rho: Number | None = None,
        bound: Rule = "norm",
        contribution: Contribution | None = None,
        confidence: Number | None = None,
    ) -> RollingReport:
        """Return counts and sums of each of the last blocks of a table, and their totals over all of these.

        Each block is charged once. When the calendar moves on, the closed blocks are answered from the ledger, for
        nothing, and only new ones are charged.

        Args:
            question: COUNTs and SUMs of a table that is divided by time, without groups.
            last: how many blocks, up to the last one of the calendar.
            epsilon: the privacy loss in each block. Defaults to a tenth of the budget.
            rho: the same as a zCDP parameter. Pass either epsilon or rho, not both.
            bound: how to limit each person's contribution, as for `plan`.
            contribution: a limit on one person's contribution, instead of the table's own.
            confidence: the confidence level of the intervals. Defaults to 0.95.

        Returns:
            A `RollingReport`: a row for each block, and the total in the last row.

        Raises:
            RequestError: if the table is not divided by time, or the question does not add up. No charge.
            BudgetExceeded: if a block cannot pay; those before it were answered, and are stored.

        Example:
            >>> report = calls.rolling("SELECT COUNT(*) AS n FROM calls", last=2, epsilon=0.5)
            >>> report["block"].values
            ('2025-02-01', '2025-03-01', 'total')
        """
        level = 0.95 if confidence is None else float_near(open_probability(confidence, "confidence"))
        options = AskOptions(epsilon=epsilon, rho=rho, bound=bound, contribution=contribution)
        with self._executor.pace.asking():
            query, _, _ = read_question(question, self._catalog)
            asked = blocks_to_report(query, self._catalog.schemas, last)
            for _, block_question in asked:  # all of them are planned before the first is charged
                check_additive(plan_question(block_question, options, self._catalog)[0])
            cost = options.keywords()
            return run_rolling(asked, lambda block_question: self.ask(block_question, **cost, confidence=level), level)

    def plan_test(
        self,
        table: str | Frame,
        hypothesis: Hypothesis,
        *,
        epsilon: Number | None = None,
        rho: Number | None = None,
        bound: Rule = "norm",
        contribution: Contribution | None = None,
    ) -> TestPlan:
        """Return the question that a test needs, and its price. It reads no data. The arguments are those of `test`.

        Example:
            >>> even = privet.study.GoodnessOfFit("ward", {"A": 0.5, "B": 0.5})
            >>> session.plan_test("visits", even, epsilon=0.5).price["epsilon"]
            0.5
        """
        from .study.hypothesis import plan_test

        options = AskOptions(epsilon=epsilon, rho=rho, bound=bound, contribution=contribution)
        return plan_test(hypothesis, self._rows_of(table), self._catalog, options)

    def test(
        self,
        table: str | Frame,
        hypothesis: Hypothesis,
        *,
        epsilon: Number | None = None,
        rho: Number | None = None,
        bound: Rule = "norm",
        contribution: Contribution | None = None,
        confidence: Number | None = None,
        key: str | None = None,
    ) -> Finding:
        """Return the finding of a test of private rows, at its level under the noise. Charged first; again, it is free.

        Args:
            table: the name of a table or a view, or rows of one: `session.table("visits").where(...)`.
            hypothesis: the hypothesis to test, one of the values in `privet.study`.
            epsilon: the privacy loss of the test. Defaults to a tenth of the budget.
            rho: the same as a zCDP parameter. Pass either epsilon or rho, not both.
            bound: how to limit each person's contribution where `contribution` is given, as for `plan`.
            contribution: a limit on one person's contribution. Without one each person counts at most once, as rows
                of one person are not independent.
            confidence: the confidence level of the intervals. Defaults to 0.95.
            key: an idempotency key: trying again with the same key after a failure is charged once.

        Returns:
            A `Finding`: p-value, estimates with intervals, method, assumptions and cost.

        Raises:
            RequestError: if the test needs undeclared facts, or an argument is out of range. No charge.
            BudgetExceeded: if the account cannot pay.

        Example:
            >>> even = privet.study.GoodnessOfFit("ward", {"A": 0.5, "B": 0.5})
            >>> 0 <= session.test("visits", even, epsilon=0.5).p_value <= 1
            True
        """
        from .study.hypothesis import run_test

        with self._executor.pace.asking():
            plan = self.plan_test(table, hypothesis, epsilon=epsilon, rho=rho, bound=bound, contribution=contribution)
            return run_test(plan, partial(self.run, key=key), confidence=confidence)

    def plan_regress(
        self,
        table: str | Frame,
        formula: str,
        *,
        epsilon: Number | None = None,
        rho: Number | None = None,
        norm: NormGiven | None = None,
        intervals: bool = True,
        contribution: Contribution | None = None,
    ) -> RegressionPlan:
        """Return the sums of a regression, their noise and price. It reads no data. Arguments as for `regress`.

        Example:
            >>> session.plan_regress("visits", "age ~ ward", epsilon=1).price["epsilon"]
            1.0
        """
        from .study.regression import plan_regression

        options = AskOptions(epsilon=epsilon, rho=rho, contribution=contribution)
        return plan_regression(self._rows_of(table), formula, self._catalog, options, norm=norm, intervals=intervals)

    def regress(
        self,
        table: str | Frame,
        formula: str,
        *,
        epsilon: Number | None = None,
        rho: Number | None = None,
        norm: NormGiven | None = None,
        intervals: bool = True,
        ridge: Shrinkage = 0.0,
        contribution: Contribution | None = None,
        confidence: Number | None = None,
        key: str | None = None,
    ) -> Regression:
        """Return a linear regression with a coefficient table. One charge; every smaller model and prediction is free.

        Sums of products of the columns are measured once, each with noise; coefficients are computed from them, with
        intervals and p-values that include this noise and sampling error.

        Args:
            table: the name of a table or a view, or rows of one: `session.table("visits").where(...)`.
            formula: such as "cost ~ age + ward": numbers with declared bounds, and categories with declared values,
                of which the first is the one that others are compared with. "cost ~ 0 + age" has no constant, and
                "cost ~ age * ward" has products of both, too.
            epsilon: the privacy loss of everything together. Defaults to a tenth of the budget.
            rho: the same as a zCDP parameter. Pass either epsilon or rho, not both.
            norm: a limit on the norm of a row's features, each a number from -1 to 1 between its bounds, a category
                and the constant counting 1: 2, ("L1", 2) or ("L2", 2). Rows above it are scaled down. Less noise.
            intervals: whether the sums are measured, too, that standard errors need.
            ridge: an amount added to squares before estimates are computed, in rows: a number, "auto" or "adassp". It
                changes estimates only.
            contribution: a limit on one person's contribution, instead of the table's own.
            confidence: the confidence level of the intervals. Defaults to 0.95.
            key: an idempotency key: trying again with the same key after a failure is charged once.

        Returns:
            A `Regression`: `coefficients`, `submodel("cost ~ age")`, `predict(rows)`, `plot()`. It contains released
            numbers only.

        Raises:
            RequestError: if bounds or values are not declared, or an argument is out of range. No charge.
            BudgetExceeded: if the account cannot pay.

        Example:
            >>> fit = session.regress("visits", "age ~ ward", epsilon=1)
            >>> fit.coefficients[1].low <= fit.coefficients[1].estimate <= fit.coefficients[1].high
            True
        """
        from .study.regression import run_regression

        with self._executor.pace.asking():
            chosen = {"norm": norm, "intervals": intervals, "contribution": contribution}
            plan = self.plan_regress(table, formula, epsilon=epsilon, rho=rho, **chosen)  # type: ignore[arg-type]
            return run_regression(self._executor, plan, confidence=confidence, ridge=ridge, key=key)

    def test_all(
        self,
        table: str | Frame,
        family: Family,
        *,
        epsilon: Number | None = None,
        rho: Number | None = None,
        confidence: Number | None = None,
        key: str | None = None,
    ) -> FamilyOfFindings:
        """Return the findings of several tests of private rows, at one error level for all. Charged once; again, free.

        Args:
            table: the name of a table or a view, or rows of one: `session.table("visits").where(...)`.
            family: the hypotheses to test together, a `privet.study.Family`. Its cost shares are fixed in advance.
            epsilon: the privacy loss of all tests together. Defaults to a tenth of the budget.
            rho: the same as a zCDP parameter. Pass either epsilon or rho, not both.
            confidence: the confidence level of the intervals, pointwise. Defaults to 0.95.
            key: an idempotency key: trying again with the same key after a failure is charged once.

        Raises:
            RequestError: if a test needs undeclared facts, or an argument is out of range. No charge.
            BudgetExceeded: if the account cannot pay for all of them. No charge.

        Example:
            >>> both = privet.study.Family([
            ...     privet.study.Proportion("age > 50", equals=0.3),
            ...     privet.study.Proportion("age > 70", equals=0.1),
            ... ])
            >>> session.test_all("visits", both, epsilon=1).cost["epsilon"]
            1.0
        """
        from privet.study.hypothesis import plan_family, run_family

        with self._executor.pace.asking():
            batch = plan_family(family, self._rows_of(table), self._catalog, AskOptions(epsilon=epsilon, rho=rho))
            return run_family(family, batch, partial(self.run_all, key=key), confidence=confidence)

    def _rows_of(self, table: str | Frame) -> Frame:
        return table if isinstance(table, Frame) else self.table(table)

    def plan_above(
        self,
        threshold: Number,
        epsilon: Number | None = None,
        *,
        limit: int,
        rho: Number | None = None,
        sensitivity: Number | None = None,
        signed: bool = False,
        values: bool = False,
        table: str | None = None,
        name: str = "",
        bound: Rule = "norm",
        contribution: Contribution | None = None,
    ) -> ThresholdPlan:
        """Return the cost of a sparse vector and how far off it may be. Free. The arguments are those of `above`.

        Example:
            >>> session.plan_above(1000, limit=2, epsilon=0.5).cost["epsilon"]
            0.5
        """
        how = AskOptions(epsilon=epsilon, rho=rho, bound=bound, contribution=contribution)
        return plan_vector(
            threshold,
            how,
            self._catalog,
            self.account,
            limit=limit,
            sensitivity=sensitivity,
            signed=signed,
            values=values,
            table=table,
            name=name,
        )

    def above(
        self,
        threshold: Number,
        epsilon: Number | None = None,
        *,
        limit: int,
        rho: Number | None = None,
        sensitivity: Number | None = None,
        signed: bool = False,
        values: bool = False,
        table: str | None = None,
        name: str = "",
        bound: Rule = "norm",
        contribution: Contribution | None = None,
    ) -> OpenedVector:
        """Open a sparse vector: it answers for each question whether its answer is above a threshold.

        It is charged whole when it is opened, and is closed after `limit` questions that came out above; those that
        come out below are free. Opened again with the same arguments, also after a restart, it goes on where it was.

        Args:
            threshold: the public threshold.
            epsilon: the privacy loss of all its answers together. Defaults to a tenth of the budget.
            limit: how many questions may come out above before it is closed.
            rho: the same as a zCDP parameter, for an account that counts rho. Pass either epsilon or rho, not both.
            sensitivity: how far one row or person may move the answer to any question; questions that could move
                further are refused. Defaults to the movement of COUNT(*).
            signed: whether sums of negative numbers may be asked for, which takes more noise.
            values: whether answers above are measured as well, for half of the cost.
            table: which table is asked about, where several protect different units.
            name: distinguishes vectors with the same arguments.
            bound: how to limit each person's contribution, as for `plan`.
            contribution: a limit on one person's contribution, instead of the table's own.

        Returns:
            An `OpenedVector`, to ask one question after the other.

        Raises:
            RequestError: if an argument is out of range. No charge.
            BudgetExceeded: if the account cannot pay.
            LedgerError: if the state of the vector is lost, or an old copy was put back.

        Example:
            >>> opened = session.above(1000, limit=2, epsilon=0.5)
            >>> opened.ask("SELECT COUNT(*) FROM visits WHERE cost > 100").above
            False
        """
        self._executor.check_open()
        plan = self.plan_above(
            threshold,
            epsilon,
            limit=limit,
            rho=rho,
            sensitivity=sensitivity,
            signed=signed,
            values=values,
            table=table,
            name=name,
            bound=bound,
            contribution=contribution,
        )
        how = AskOptions(bound=bound, contribution=contribution)
        return OpenedVector(self._executor, self._catalog, plan, how)

    def clipping(
        self,
        question: Question,
        *,
        epsilon: Number | None = None,
        rho: Number | None = None,
        bound: Rule = "norm",
        contribution: Contribution | Literal["auto"] | None = None,
        confidence: Number | None = 0.95,
        key: str | None = None,
    ) -> Clipping:
        """Return a private estimate of the losses to clamping and contribution bounding, with advice on bounds.

        Charged like any question, once for the whole report; it does not include the answer to the question itself.
        Shares are of all rows that it is about, and of all people, whatever its groups.

        Args:
            question: SQL, or a question built on `Session.table`.
            epsilon: the privacy loss that the report may cost. Defaults to a tenth of the budget.
            rho: the same as a zCDP parameter. Pass either epsilon or rho, not both.
            bound: how each person's contribution is limited, as for `plan`.
            contribution: a limit on one person's contribution, instead of the table's own.
            confidence: the confidence level of the intervals.
            key: an idempotency key: trying again with the same key after a failure is charged once.

        Example:
            >>> report = session.clipping("SELECT SUM(cost) FROM visits", epsilon=0.5)
            >>> len(session.history())
            1
        """
        options = AskOptions(epsilon=epsilon, rho=rho, bound=bound, contribution=contribution)
        with self._executor.pace.asking():
            return clipping_report(self._executor, question, options, self._catalog, confidence=confidence, key=key)

    def remaining(self) -> Left:
        """Return the budget that is left.

        Example:
            >>> session.remaining().largest_epsilon
            1.0
        """
        return self.ledger.remaining(self.account)

    def history(self) -> ChargeList:
        """Return every charge, oldest first: a tuple that prints as a table.

        Example:
            >>> len(session.history())
            0
        """
        return ChargeList(self.ledger.history())

    def __repr__(self) -> str:
        return written(lambda console: draw_facts(console, self._facts()))

    def _repr_html_(self) -> str:
        return f"<div>{html_facts(self._facts())}</div>"

    def _facts(self) -> list[tuple[str, str]]:
        """Return the account, its budget, the rest of it, and the tables; a closed ledger has no balance."""
        facts = [("account", printable(self.account)), ("budget", self._catalog.budget.describe())]
        try:
            left, shares = self.remaining(), {}
            if isinstance(self.ledger, LedgerAdmin):
                shares = {share.account: share.spent for share in self.ledger.balances()}
            spent = shares.get(self.account, shares.get(None))
            facts += [] if spent is None else [("spent", f"{bar(spent)} {percent(spent)}")]
            facts.append(("left", repr(left)))
        except PrivetError:
            facts.append(("left", "not known: the ledger cannot be read"))
        names = ", ".join(map(printable, self.tables)) or "none"
        return [*facts, ("tables", names)]

    def close(self) -> None:
        """Finish questions in progress, and close the engine that the session made and everything passed to `closing`.

        A closed session refuses questions before they are charged. A borrowed engine or ledger stays open.

        Example:
            >>> session.close()
        """
        self._executor.close()
        self._closing.close()

    def closing(self, close: Callable[[], object]) -> Self:
        """Return this session, which calls `close` when it is closed itself.

        Example:
            >>> with session.closing(lambda: print("closed")):
            ...     pass
            closed
        """
        self._closing.callback(function(close, "close", "a function without arguments"))
        return self

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


class ChargeList(tuple[Entry, ...]):
    """Charges of a ledger, oldest first, shown as a table."""

    __slots__ = ()

    def __repr__(self) -> str:
        if not self:
            return "no charges yet"
        front, last = self._figures()[:-1], self._figures()[-1]
        return written(lambda console: draw_columns(console, [*front, last], [], rows=len(last.cells), most=MOST_ROWS))

    def _repr_html_(self) -> str:
        return f"<div>{html_table(self._figures()) if self else html_lines([repr(self)])}</div>"

    def _figures(self) -> list[Figures]:
        return [
            Figures("entry", tuple(str(charge.number) for charge in self), right=True),
            Figures("time", tuple(charge.time[:19].replace("T", " ") for charge in self), right=False),
            Figures("account", tuple(printable(charge.account) for charge in self), right=False),
            Figures("charge", tuple(printable(charge_words(charge.facts)) for charge in self), right=False),
        ]


def _names(about: Collection[str], tables: Mapping[str, object]) -> list[str]:
    allowed = "a list of names of tables"
    names = listed(about, "about", allowed)
    for name in names:
        if not isinstance(name, str):
            raise BadParameter("about", type(name).__name__, allowed)
        if name not in tables:
            raise BadParameter("about", name, f"{allowed} of this session: {', '.join(sorted(tables))}")
    return names
