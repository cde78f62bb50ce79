"""The one order: charge, read, draw, store, in that order; refusals are free and say nothing about the data."""

from __future__ import annotations

import copy
import json
import pickle
import threading
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pyarrow as pa
import pytest

from privet.core.budget import Approximate, Budget, Pure, Zcdp
from privet.core.errors import (
    BadParameter,
    BudgetExceeded,
    EngineError,
    InvariantError,
    LedgerError,
    PrivetError,
    RequestError,
    UnknownName,
)
from privet.core.event import Plain, Receipt
from privet.core.relation import ColumnRef
from privet.core.scan import Discovery, Scan, SealedSums
from privet.core.schema import Contribution, Table, number, text
from privet.core.unit import Person, Rows
from privet.ledger.memory import MemoryLedger
from privet.mechanisms import Laplace, OptimalKeys
from privet.planner.measures import KeyRule
from privet.query.frame import col, count, mean
from privet.query.nodes import AggregateCall, Output, Query, Step
from privet.release import release
from privet.session import Session
from worlds import COLUMNS as VISITS
from worlds import as_table

SECRET = "Zaphod Beeblebrox"
BUDGET = Approximate(epsilon=10, delta=Fraction(1, 10**6))
COLUMNS = {**VISITS, "free": number()}


def rows(extra: int = 0) -> pa.Table:
    """Return thirty rows, and the rows of one more person who holds the secrets."""
    base = [(i % 10, 20 + i, float(i), "abc"[i % 3], f"name {i % 4}", float(i)) for i in range(30)]
    base += [(99, 87654321, 4242.4242, "c", SECRET, 1e18 + 4242)] * extra
    return as_table(base, COLUMNS)


def session(extra: int = 0, budget: Budget = BUDGET, **options: Any) -> Session:
    contribution = Contribution(groups=2, rows=2)
    table = Table(rows(extra), unit=Person("person"), columns=COLUMNS, contribution=contribution)
    return Session({"visits": table}, budget=budget, **options)


class Watched:
    """An engine that writes down what it is asked, and may fail."""

    def __init__(self, engine: Any, told: list[str], failure: Exception | None = None) -> None:
        self.engine, self.told, self.failure = engine, told, failure

    def check(self, scan: Scan) -> None:
        self.engine.check(scan)

    def scan(self, scan: Scan) -> SealedSums:
        self.told.append("scan")
        if self.failure is not None:
            raise self.failure
        return self.engine.scan(scan)

    def close(self) -> None:
        self.engine.close()


class WatchedLedger(MemoryLedger):
    """A ledger that writes down what it is asked, and may refuse."""

    def __init__(self, budget: Budget, told: list[str], failure: Exception | None = None) -> None:
        super().__init__(budget)
        self.told, self.failure = told, failure

    def charge(self, event: Any, digest: str, **options: Any) -> Receipt:
        self.told.append("charge")
        if self.failure is not None:
            raise self.failure
        return super().charge(event, digest, **options)

    def store(self, receipt: Receipt, released: Plain) -> tuple[Receipt, Plain]:
        self.told.append("store")
        return super().store(receipt, released)


def watched(*, ledger: Exception | None = None, engine: Exception | None = None) -> tuple[Session, list[str]]:
    told: list[str] = []
    made = session(ledger=WatchedLedger(BUDGET, told, ledger))
    made._executor.engine = Watched(made._executor.engine, told, engine)
    return made, told


# --- the order of things --------------------------------------------------------------------------------------------


def test_an_answer_is_charged_then_read_then_stored() -> None:
    made, told = watched()
    made.ask("SELECT COUNT(*) FROM visits", epsilon=1)
    assert told == ["charge", "scan", "store"]


def test_planning_asks_neither_ledger_nor_engine() -> None:
    made, told = watched()
    print(made.plan("SELECT name, AVG(cost) FROM visits GROUP BY name", epsilon=1))
    assert told == []


@pytest.mark.parametrize("sql", ["SELECT MEDIAN(cost) FROM visits", "SELECT SUM(cost) FROM visits"])
@pytest.mark.parametrize("several", [False, True])
def test_what_no_engine_can_hold_is_refused_before_it_is_charged(sql: str, several: bool) -> None:
    told: list[str] = []
    columns = {**COLUMNS, "cost": number(0, 10**18, step=Fraction(1, 10))}
    table = Table(
        rows(), unit=Person("person"), columns=columns, contribution=Contribution(groups=1, rows=1), rows=2**50
    )
    made = Session({"visits": table}, ledger=WatchedLedger(BUDGET, told))
    with pytest.raises(RequestError, match=r"fit|too fine"):
        made.ask_all([sql], epsilon=1) if several else made.ask(sql, epsilon=1)
    assert told == []
    assert made.history() == ()


@pytest.mark.parametrize("failure", [LedgerError("the disk is full"), RuntimeError("anything")])
def test_where_the_ledger_fails_the_engine_is_never_asked(failure: Exception) -> None:
    made, told = watched(ledger=failure)
    with pytest.raises(type(failure)):
        made.ask("SELECT COUNT(*) FROM visits", epsilon=1)
    assert told == ["charge"]


def test_after_an_engine_failure_the_charge_stands_and_nothing_is_stored() -> None:
    made, told = watched(engine=EngineError())
    for charges in (1, 2):
        with pytest.raises(EngineError) as failed:
            made.ask("SELECT SUM(age) FROM visits", epsilon=1)
        assert str(failed.value) == str(EngineError())
        assert len(made.history()) == charges
    assert told == ["charge", "scan"] * 2
    made._executor.engine.failure = None
    made.ask("SELECT SUM(age) FROM visits", epsilon=1)
    assert len(made.history()) == 3


@pytest.mark.parametrize("failure", [KeyError(SECRET), TypeError(SECRET), OSError(SECRET), RecursionError(SECRET)])
def test_whatever_an_engine_raises_stays_inside(failure: Exception) -> None:
    made, _ = watched(engine=failure)
    with pytest.raises(EngineError) as failed:
        made.ask("SELECT SUM(age) FROM visits", epsilon=1)
    assert str(failed.value) == str(EngineError())
    assert failed.value.__cause__ is None
    assert failed.value.__suppress_context__
    assert len(made.history()) == 1


def test_no_noise_is_drawn_without_a_receipt_for_the_very_plan() -> None:
    made = session()
    one, other = (made.plan(f"SELECT COUNT(*) FROM visits WHERE age > {age}", epsilon=1) for age in (20, 30))
    exacts = [SealedSums({(): (5,)})]
    with pytest.raises(InvariantError):
        release(exacts, one, Receipt(1, other.digest, "session"))
    with pytest.raises(InvariantError):
        release([], one, Receipt(1, one.digest, "session"))
    released = release(exacts, one, Receipt(1, one.digest, "session"))
    with pytest.raises(LedgerError):
        made._executor.ledger.store(Receipt(1, one.digest, "session"), (released.keys, released.sums))


def test_a_receipt_of_one_account_is_not_anothers() -> None:
    ledger = MemoryLedger(BUDGET)
    event = Laplace(sensitivity=1, epsilon=1).event
    receipt = ledger.charge(event, "digest", account="ann")
    for forged in (
        replace(receipt, account="bob"),
        replace(receipt, entry=receipt.entry + 1),
        replace(receipt, digest="other"),
    ):
        with pytest.raises(LedgerError):
            ledger.store(forged, "released")
    assert ledger.find("digest", "ann") is None


# --- plans made elsewhere -------------------------------------------------------------------------------------------


def test_a_plan_made_for_other_public_facts_is_refused_before_it_is_charged() -> None:
    made = session()
    narrow = Table(rows(), unit=Rows(), columns={**COLUMNS, "cost": number(0, 1, nullable=True)})
    with Session({"visits": narrow}, budget=BUDGET) as elsewhere:
        foreign = elsewhere.plan("SELECT SUM(cost) FROM visits", epsilon=1)
    with pytest.raises(RequestError, match="other tables"):
        made.run(foreign)
    assert made.history() == ()


def test_a_forged_plan_is_refused_before_it_is_charged() -> None:
    made = session()
    plan = made.plan("SELECT name, SUM(cost) AS s FROM visits GROUP BY name", epsilon=1)
    (one,) = plan.passes
    measure = one.measures[0]
    weak = Laplace(sensitivity=1, epsilon=Fraction(1, 100))
    small = replace(measure.sensitivity, l1=Fraction(1), l2_squared=Fraction(1))
    forged = [
        one.with_noise((replace(measure, mechanism=weak),)),
        one.with_noise((replace(measure, mechanism=weak, sensitivity=small),)),
        one.with_noise((replace(measure, shift=0),)),
        one.with_noise((measure, measure)),
        one.with_noise(()),
        replace(one, measure=replace(one.measure, keys=replace(one.keys, threshold=one.keys.threshold - 1))),
        replace(one, measure=replace(one.measure, keys=replace(one.keys, mechanism=Laplace(sensitivity=1, epsilon=1)))),
        replace(one, measure=replace(one.measure, keys=None)),
        replace(one, measure=replace(one.measure, keys=None), scan=replace(one.scan, discovery=None)),
    ]
    for false in forged:
        with pytest.raises(InvariantError):
            made.run(replace(plan, passes=(false,)))
    with pytest.raises(InvariantError):
        made.run(replace(plan, passes=()))
    assert made.history() == ()


def test_groups_in_another_order_are_the_same_question_and_come_in_the_order_they_are_asked_for() -> None:
    facts = {**COLUMNS, "name": text(nullable=True)}
    names = ["", "b", "a", None]
    table = pa.table({"ward": ["a", "b", "c"] * 400, "name": [names[i % 4] for i in range(1200)]})
    table = table.append_column("person", [list(range(1200))])
    facts = {name: facts[name] for name in ("person", "ward", "name")}
    with Session({"visits": Table(table, unit=Rows(), columns=facts)}, budget=BUDGET) as made:
        first = made.ask("SELECT ward, name, COUNT(*) AS n FROM visits GROUP BY ward, name", epsilon=4)
        again = made.ask("SELECT name, ward, COUNT(*) AS n FROM visits GROUP BY name, ward", epsilon=4)
        built = made.ask(made.table("visits").group_by("name", "ward").agg(n=count()), epsilon=4)
        assert len(made.history()) == 1
    one = {(row["ward"], row["name"]): row["n"] for row in first}
    assert len(one) == 12
    for other in (again, built):
        assert {(row["ward"], row["name"]): row["n"] for row in other} == one
    wards, found = ["a", "b", "c"], ["", "a", "b", None]
    assert list(one) == [(ward, name) for ward in wards for name in found]
    assert [(row["name"], row["ward"]) for row in again] == [(name, ward) for name in found for ward in wards]


def test_a_plan_with_other_groups_than_its_question_is_refused_before_it_is_charged() -> None:
    made = session()
    plan, other = (
        made.plan(f"SELECT {key}, COUNT(*) FROM visits GROUP BY {key}", epsilon=1) for key in ("ward", "age")
    )
    with pytest.raises(InvariantError):
        made.run(replace(plan, query=other.query))
    assert made.history() == ()


def test_a_forged_rule_for_keys_is_refused_before_it_is_charged() -> None:
    made = session()
    plan = made.plan(
        "SELECT name, COUNT(*) AS n FROM visits GROUP BY name", epsilon=1, contribution=Contribution(groups=1, rows=1)
    )
    (one,) = plan.passes
    assert isinstance(one.keys, KeyRule)
    made.run(plan)
    charged = made.history()
    facts: dict[str, Any] = {"epsilon": 1, "delta": Fraction(1, 10**8)}
    forged = [
        replace(one, measure=replace(one.measure, keys=KeyRule(OptimalKeys(**facts, keys=2)))),
        replace(one, measure=replace(one.measure, keys=KeyRule(OptimalKeys(**facts, group=2)))),
        replace(one, measure=replace(one.measure, keys=KeyRule(OptimalKeys(**facts, neighbors="change-one")))),
        replace(one, scan=replace(one.scan, discovery=Discovery(2, 0, 0))),
        replace(one, scan=replace(one.scan, discovery=Discovery(1, 1, 0))),
        replace(one, scan=replace(one.scan, discovery=Discovery(1, 0, 1))),
        replace(one, scan=replace(one.scan, discovery=None)),
        replace(one, measure=replace(one.measure, keys=None)),
    ]
    for false in forged:
        with pytest.raises(InvariantError):
            made.run(replace(plan, passes=(false,)))
    assert made.history() == charged


# --- refusals -------------------------------------------------------------------------------------------------------

REFUSED: list[Callable[[Session], object]] = [
    lambda s: s.ask("SELECT nope FROM visits", epsilon=1),
    lambda s: s.ask("SELECT SUM(nope) FROM visits", epsilon=1),
    lambda s: s.ask("SELECT COUNT(*) FROM elsewhere", epsilon=1),
    lambda s: s.ask("SELECT name FROM visits", epsilon=1),
    lambda s: s.ask("SELECT ANY_VALUE(age) FROM visits", epsilon=1),
    lambda s: s.ask("SELECT SUM(name) FROM visits", epsilon=1),
    lambda s: s.ask("SELECT SUM(free) FROM visits", epsilon=1),
    lambda s: s.ask("SELECT AVG(free * 2) FROM visits", epsilon=1),
    lambda s: s.ask("not SQL at all", epsilon=1),
    lambda s: s.ask("SELECT COUNT(*) FROM visits; DROP TABLE visits", epsilon=1),
    lambda s: s.ask("SELECT COUNT(*) FROM visits", epsilon=0),
    lambda s: s.ask("SELECT COUNT(*) FROM visits", epsilon=float("nan")),
    lambda s: s.ask("SELECT COUNT(*) FROM visits", epsilon="1"),
    lambda s: s.ask("SELECT COUNT(*) FROM visits", epsilon=1, rho=1),
    lambda s: s.ask("SELECT COUNT(*) FROM visits", epsilon=1, confidence=1),
    lambda s: s.ask("SELECT COUNT(*) FROM visits", epsilon=1, bound="weight"),
    lambda s: s.ask("SELECT COUNT(*) FROM visits", epsilon=1, contribution=3),
    lambda s: s.ask("SELECT COUNT(*) FROM visits", epsilon=1000),
    lambda s: s.ask("SELECT age, ward, person, COUNT(*) FROM visits GROUP BY age, ward, person", epsilon=1000),
    lambda s: s.ask("SELECT age, age * 1000, age * 7, COUNT(*) FROM visits GROUP BY 1, 2, 3", epsilon=1, other="rest"),
    lambda s: s.ask(42, epsilon=1),
    lambda s: s.run("SELECT COUNT(*) FROM visits"),
    lambda s: s.table("vists"),
    lambda s: s.ask(s.table("visits").where(col("ages") > 3).agg(n=count()), epsilon=1),
    lambda s: s.ask(by_hand(table="elsewhere"), epsilon=1),
    lambda s: s.ask(by_hand(column="nope"), epsilon=1),
    lambda s: s.ask(by_hand(function="median"), epsilon=1),
    lambda s: s.ask(replace(by_hand(), aggregates=(AggregateCall("s", "sum"),)), epsilon=1),
]


def by_hand(table: str = "visits", column: str = "age", function: str = "sum") -> Query:
    """Return a tree that no parser has checked."""
    asked = AggregateCall("s", function, ColumnRef(column))
    return Query(table, (), (asked,), None, (Step((Output("s", ColumnRef("s")),)),))


@pytest.mark.parametrize("ask", REFUSED)
def test_a_refusal_is_free_and_the_same_on_neighbouring_databases(ask: Callable[[Session], object]) -> None:
    told = []
    for extra in (0, 1):
        made = session(extra)
        with pytest.raises(PrivetError) as refused:
            ask(made)
        assert made.history() == ()
        error = refused.value
        chain = [str(link) for link in (error.__cause__, error.__context__ if not error.__suppress_context__ else None)]
        told.append((type(error), str(error), error.to_dict(), chain))
        for secret in (SECRET, "Zaphod", "87654321", "4242"):
            assert secret not in json.dumps(error.to_dict(), default=str) + str(error)
    assert told[0] == told[1]


@pytest.mark.parametrize("budget", [Pure(epsilon=5), Zcdp(rho=5)])
def test_unknown_keys_are_refused_where_the_budget_has_no_delta(budget: Budget) -> None:
    made = session(budget=budget)
    with pytest.raises(RequestError, match=r"name.*declare"):
        made.ask("SELECT name, COUNT(*) FROM visits GROUP BY name")
    assert made.history() == ()
    made.ask("SELECT ward, COUNT(*) FROM visits GROUP BY ward")
    assert len(made.history()) == 1


@pytest.mark.parametrize(("budget", "wrong"), [(Pure(epsilon=5), {"rho": 1}), (Zcdp(rho=5), {"epsilon": 1})])
def test_a_cost_in_another_measure_than_the_accounts_is_refused(budget: Budget, wrong: dict[str, int]) -> None:
    made = session(budget=budget)
    with pytest.raises(RequestError, match="account counts"):
        made.ask("SELECT COUNT(*) FROM visits", **wrong)
    assert made.history() == ()


@pytest.mark.parametrize(
    "options",
    [
        {"tables": {}},
        {"tables": []},
        {"tables": {"t": 3}},
        {"tables": {3: Table(rows(), unit=Rows(), columns=COLUMNS)}},
        {"budget": 3},
        {"budget": None},
        {"ledger": 3},
        {"ledger": MemoryLedger(Pure(epsilon=1000))},
        {"account": ""},
        {"account": None},
    ],
)
def test_a_session_refuses_bad_arguments(options: dict[str, Any]) -> None:
    good = {"tables": {"t": Table(rows(), unit=Rows(), columns=COLUMNS)}, "budget": BUDGET}
    arguments = {**good, **options}
    with pytest.raises(BadParameter):
        Session(arguments.pop("tables"), **arguments)


# --- the same question ----------------------------------------------------------------------------------------------

FIRST = "SELECT ward, COUNT(*) AS n, AVG(cost) AS c FROM visits WHERE age > 25 AND cost < 900 GROUP BY ward"
SAME = [
    FIRST,
    "select WARD, count(*) as n, avg(COST) as c from visits where AGE > 25 and COST < 900 group by WARD",
    "SELECT AVG(cost) AS c, COUNT(*) AS n, ward FROM visits WHERE cost < 900 AND 25 < age GROUP BY ward",
    "SELECT ward AS w, AVG(cost) AS c, COUNT(*) AS n FROM visits WHERE age > 25 AND cost < 900 GROUP BY w ORDER BY n",
    "SELECT ward, AVG(cost) + 0 AS c, COUNT(*) AS n FROM visits WHERE age > 25 AND cost < 900 GROUP BY ward "
    "HAVING COUNT(*) > -1000 AND AVG(cost) > -1",
    "SELECT * FROM (SELECT ward, COUNT(*) AS n, AVG(cost) AS c FROM visits WHERE age > 25 AND cost < 900 "
    "GROUP BY ward) AS q ORDER BY c LIMIT 50",
]


@pytest.mark.parametrize("again", SAME)
def test_the_same_question_is_charged_once_and_gives_the_same_numbers(again: str) -> None:
    made = session()
    first = made.ask(FIRST, epsilon=1)
    left = made.remaining()
    second = made.ask(again, epsilon=1)
    assert made.remaining() == left
    assert len(made.history()) == 1
    assert sorted(first["n"].values) == sorted(second["n"].values)
    assert sorted(first["c"].values) == pytest.approx(sorted(second["c"].values))
    assert second.certificate()["entry"] == first.certificate()["entry"]


def test_the_builder_asks_the_same_question_as_sql() -> None:
    made = session()
    visits = made.table("visits").where(col("age") > 25, col("cost") < 900)
    first = made.ask(visits.group_by("ward").agg(n=count(), c=mean("cost")), epsilon=1)
    second = made.ask(FIRST, epsilon=1)
    assert first.to_dict() == second.to_dict()
    assert len(made.history()) == 1


def test_another_question_or_another_cost_is_charged_again() -> None:
    made = session()
    made.ask(FIRST, epsilon=1)
    made.ask(FIRST, epsilon=Fraction(1, 2))
    made.ask(FIRST, epsilon=1, bound="groups")
    made.ask(FIRST, epsilon=1, contribution=Contribution(groups=1, rows=1))
    made.ask(FIRST.replace("25", "26"), epsilon=1)
    assert len(made.history()) == 5
    assert len({entry.digest for entry in made.history()}) == 5


def test_other_confidence_costs_nothing_and_gives_wider_intervals() -> None:
    made = session()
    one_group = Contribution(groups=1, rows=3)
    narrow, wide = (
        made.ask("SELECT SUM(age) FROM visits", epsilon=9, contribution=one_group, confidence=level)
        for level in (0.5, 0.99)
    )
    assert narrow.value == wide.value
    assert wide.interval[0] < narrow.interval[0] < narrow.interval[1] < wide.interval[1]
    assert len(made.history()) == 1


# --- the budget -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("budget", [Pure(epsilon=1), Approximate(epsilon=1, delta=Fraction(1, 10**6))])
@pytest.mark.parametrize("sql", ["SELECT COUNT(*) FROM visits WHERE age > {}", FIRST.replace("25", "{}")])
def test_an_exhausted_budget_says_the_largest_epsilon_that_fits(budget: Budget, sql: str) -> None:
    made = session(budget=budget)
    made.ask(sql.format(1), epsilon=0.7)
    with pytest.raises(BudgetExceeded) as refused:
        made.ask(sql.format(2), epsilon=0.9)
    largest = refused.value.largest_epsilon
    assert f"with {refused.value.error}" in str(refused.value)
    assert "±" in refused.value.error
    assert 0 < largest < 0.9
    assert len(made.history()) == 1
    with pytest.raises(BudgetExceeded):
        made.ask(sql.format(3), epsilon=largest * 1.001)
    made.ask(sql.format(4), epsilon=largest)
    assert len(made.history()) == 2
    with pytest.raises(BudgetExceeded) as spent:
        made.ask(sql.format(5), epsilon=0.5)
    assert spent.value.largest_epsilon < 0.001


@pytest.mark.parametrize("budget", [Zcdp(rho=1), Approximate(epsilon=5, delta=Fraction(1, 10**6))])
def test_an_exhausted_budget_says_the_largest_rho_that_fits_where_rho_is_asked(budget: Budget) -> None:
    made = session(budget=budget)
    sql = FIRST.replace("25", "{}")
    made.ask(sql.format(1), rho=0.3)
    with pytest.raises(BudgetExceeded, match="largest rho that still fits") as refused:
        made.ask(sql.format(2), rho=0.9)
    largest = refused.value.largest_rho
    assert largest is not None
    assert 0 < largest < 0.9
    with pytest.raises(BudgetExceeded):
        made.ask(sql.format(3), rho=largest * 1.001)
    made.ask(sql.format(4), rho=largest)
    assert len(made.history()) == 2


def test_threads_asking_at_once_never_overspend() -> None:
    budget = Pure(epsilon=3)
    made = session(budget=budget)
    outcomes: list[str] = []

    def ask(number: int) -> None:
        try:
            made.ask(f"SELECT COUNT(*) FROM visits WHERE age > {number}", epsilon=Fraction(1, 2))
            outcomes.append("answered")
        except BudgetExceeded:
            outcomes.append("refused")

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(outcomes) == ["answered"] * 6 + ["refused"] * 6
    assert sum(Fraction(entry.event.pure()) for entry in made.history()) <= budget.epsilon


def test_threads_asking_the_same_at_once_pay_once_and_see_the_same() -> None:
    made = session()
    seen: list[object] = []
    threads = [
        threading.Thread(target=lambda: seen.append(made.ask("SELECT SUM(cost) FROM visits", epsilon=1).value))
        for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(seen) == 8
    assert len(set(seen)) == 1
    assert len(made.history()) == 1


# --- what is sealed -------------------------------------------------------------------------------------------------


def test_exact_sums_are_sealed() -> None:
    exact = SealedSums({("a",): (123456789,)})
    for shown in (repr(exact), str(exact), f"{exact}", format(exact)):
        assert "123456789" not in shown
    refused: list[Callable[[Any], object]] = [
        iter,
        list,
        dict,
        len,
        vars,
        json.dumps,
        pickle.dumps,
        copy.copy,
        copy.deepcopy,
        lambda sealed: sealed[("a",)],
        lambda sealed: ("a",) in sealed,
    ]
    for attempt in refused:
        with pytest.raises(TypeError) as sealed:
            attempt(exact)
        assert "123456789" not in str(sealed.value)


def test_answers_plans_and_sessions_show_no_data() -> None:
    made = session(extra=1)
    answer = made.ask("SELECT ward, COUNT(*) AS n, AVG(cost) AS c FROM visits GROUP BY ward", epsilon=1)
    told = repr(made) + repr(answer.plan) + answer.to_json() + repr(made.history()) + repr(made._executor.schemas)
    for secret in (SECRET, "87654321", "4242.4242"):
        assert secret not in told


def test_a_table_does_not_show_its_source() -> None:
    table = Table(rows(1), unit=Rows(), columns=COLUMNS)
    assert SECRET not in repr(table)


def test_unknown_tables_suggest_the_nearest() -> None:
    with pytest.raises(UnknownName, match="did you mean 'visits'"):
        session().table("vists")
