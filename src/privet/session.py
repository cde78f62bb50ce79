"""The one road from a question to an answer: plan (free), charge, read, draw, store, show."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from .answer import Answer
from .core.budget import Approximate, Budget, Pure, Zcdp
from .core.errors import BadParameter, RequestError, UnknownName
from .core.exact import open_probability, positive
from .core.schema import Contribution, Table
from .engines.duckdb import DuckDB
from .ledger.memory import MemoryLedger
from .planner.make import make_plan
from .planner.plan import Plan, Spend
from .planner.stability import Rule
from .query.frame import Frame, Result
from .query.frame import table as frame
from .query.nodes import Query
from .query.sql import parse
from .reading import read_answer
from .release import Released, release

KEYS_PART = Fraction(1, 100)
"""The part of an account's delta that one query with unknown keys takes for its threshold."""

DEFAULT_PART = Fraction(1, 10)
"""The part of an account's budget that a question takes where it does not say."""


class Session:
    """Ask questions about private tables under one budget.

    Each answer is charged to the ledger before a row is read; the same question twice is charged once and gives the
    same numbers. Without a ledger the session keeps one in memory, and the budget lasts as long as the process.
    """

    def __init__(
        self,
        tables: Mapping[str, Table],
        *,
        budget: Budget,
        ledger: MemoryLedger[Released] | None = None,
        account: str = "session",
    ) -> None:
        if not isinstance(tables, Mapping) or not tables or not all(isinstance(t, Table) for t in tables.values()):
            raise BadParameter("tables", type(tables).__name__, "a mapping of names to Tables")
        if not isinstance(budget, (Pure, Approximate, Zcdp)):
            raise BadParameter("budget", budget, "Pure(...), Approximate(...) or Zcdp(...)")
        self._schemas = {name: table.schema for name, table in tables.items()}
        self._budget = budget
        self._account = account
        self._ledger = MemoryLedger[Released](budget) if ledger is None else ledger
        self._engine = DuckDB(tables)

    def table(self, name: str) -> Frame:
        """Return a table to build a question on, step by step."""
        if name not in self._schemas:
            raise UnknownName("table", name, self._schemas)
        return frame(name, self._schemas[name])

    def plan(
        self,
        question: str | Query | Result,
        *,
        epsilon: object = None,
        rho: object = None,
        bound: Rule = "norm",
        contribution: Contribution | None = None,
    ) -> Plan:
        """Return every decision about an answer, and its price. Free; reads nothing.

        `bound` says what happens to people who give more than the typical contribution (the table's, or the one given
        here): `"norm"` scales all they give, `"groups"` keeps that many groups and rows of theirs.
        """
        if bound not in ("norm", "groups"):
            raise BadParameter("bound", bound, "'norm' or 'groups'")
        if contribution is not None and not isinstance(contribution, Contribution):
            raise BadParameter("contribution", contribution, "a Contribution(groups=, rows=)")
        spend = self._spend(epsilon, rho)
        return make_plan(self._read(question), self._schemas, spend=spend, bound=bound, contribution=contribution)

    def ask(
        self,
        question: str | Query | Result,
        *,
        epsilon: object = None,
        rho: object = None,
        bound: Rule = "norm",
        contribution: Contribution | None = None,
        confidence: object = 0.95,
    ) -> Answer:
        """Return a private answer, charged first; the same question again costs nothing."""
        open_probability(confidence, "confidence")
        plan = self.plan(question, epsilon=epsilon, rho=rho, bound=bound, contribution=contribution)
        return self.run(plan, confidence=confidence)

    def run(self, plan: Plan, *, confidence: object = 0.95) -> Answer:
        """Return the answer to a plan: from the ledger if it was released before, else charge, read and draw."""
        level = float(open_probability(confidence, "confidence"))
        found = self._ledger.find(plan.digest)
        if found is not None:
            return read_answer(found[1], plan, found[0], confidence=level)
        receipt = self._ledger.charge(plan.event, plan.digest, account=self._account)
        exacts = [self._engine.scan(one.scan) for one in plan.passes]
        released = self._ledger.store(receipt, release(exacts, plan, receipt))
        return read_answer(released, plan, receipt, confidence=level)

    def remaining(self) -> Any:
        """Return what is left of the budget."""
        return self._ledger.remaining()

    def close(self) -> None:
        """Close the engine's connection."""
        self._engine.close()

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def _read(self, question: str | Query | Result) -> Query:
        if isinstance(question, str):
            return parse(question, self._schemas)
        if isinstance(question, Result):
            return question.query()
        if isinstance(question, Query):
            return question
        raise BadParameter("question", type(question).__name__, "SQL text, or a table of this session with .agg(...)")

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
