"""Rounds cost what their events cost, never more than was allowed, and stop by what was released and nothing else."""

from __future__ import annotations

import math
import subprocess
import sys
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import privet
import privet.execution.executor
from privet.core.budget import Approximate, Budget, Pure, Zcdp
from privet.core.errors import (
    BadParameter,
    BudgetExceeded,
    EngineError,
    InvariantError,
    PrivetError,
    RequestError,
    Unsupported,
)
from privet.core.event import Composed
from privet.core.schema import Contribution, Table, category, integer, number, text
from privet.core.unit import Person, Rows, Unit
from privet.engines.duckdb.engine import DuckDB
from privet.ledger.memory import MemoryLedger
from privet.ledger.sqlite.store import SqliteLedger
from privet.mechanisms.rank_ladder import QuantileLadder
from privet.planner.accuracy import achieved
from privet.planner.plan import Limit, Plan
from privet.planner.rounds import MOST_ROUNDS
from privet.planner.verify import verify
from privet.query.frame import col, count, mean
from privet.release import Released, public_cells
from privet.results.read import averaged_sums
from privet.session import Session

PURE, BOTH, RHO = Pure(epsilon=40), Approximate(epsilon=40, delta=Fraction(1, 10**6)), Zcdp(rho=40)
BUDGETS = pytest.mark.parametrize("budget", [PURE, BOTH, RHO], ids=["pure", "both", "rho"])
COLUMNS = {
    "person": integer(),
    "age": integer(0, 120),
    "cost": number(0, 1000, nullable=True),
    "ward": category(["a", "b"]),
    "name": text(),
}
WARDS = "SELECT ward, AVG(cost) AS cost, COUNT(*) AS n FROM t GROUP BY ward"


def rows_of(size: int = 400) -> pa.Table:
    base = [(i % 150, 20 + i % 50, float(i * 37 % 900), "ab"[i % 2], f"name {i % 2}") for i in range(size)]
    return pa.table({name: [row[place] for row in base] for place, name in enumerate(COLUMNS)})


def table(unit: Unit | None = None, size: int = 400, **options: Any) -> Table:
    typical = Contribution(groups=2, rows=2) if isinstance(unit, Person) else None
    return Table(rows_of(size), unit=unit or Rows(), columns=COLUMNS, contribution=typical, **options)


def session(budget: Budget = PURE, unit: Unit | None = None, size: int = 400, **options: Any) -> Session:
    return Session({"t": table(unit, size, **options)}, budget=budget)


QUESTIONS: list[tuple[str, Any]] = [
    ("SELECT AVG(age) AS a FROM t", 5),
    (WARDS, {"cost": "2%"}),
    (WARDS, {"cost": 30, "n": "10%"}),
    ("SELECT COUNT(*) AS n FROM t", "2%"),
    ("SELECT VAR_POP(age) AS v, STDDEV(cost) AS s, CORR(age, cost) AS c FROM t", {"v": 10, "s": 5, "c": 0.1}),
    ("SELECT MEDIAN(age) AS m, SUM(cost) / COUNT(*) AS each FROM t", {"m": 3, "each": 20}),
]


@pytest.mark.parametrize("unit", [Rows(), Person("person")], ids=["rows", "people"])
@BUDGETS
@pytest.mark.parametrize(("sql", "within"), QUESTIONS)
def test_all_rounds_cost_what_their_events_cost_each_twice_the_last_and_no_more_than_allowed(
    sql: str, within: Any, budget: Budget, unit: Unit
) -> None:
    with session(budget, unit) as asked:
        plan = asked.plan(sql, within=within, at_most=2)
        rounds = [plan.round(index) for index in range(plan.rounds)]
        assert plan.rounds == MOST_ROUNDS
        assert plan.event == Composed(tuple(event for one in rounds for event in one.event.events))
        assert plan.price["rho" if budget is RHO else "epsilon"] <= 2
        assert plan.price["delta"] <= (1e-6 if budget is BOTH else 0)
        assert len({one.digest for one in rounds}) == plan.rounds
        for one, other in pairwise(rounds):
            assert float(other.event.rho() if budget is RHO else other.event.pure()) == pytest.approx(
                2 * float(one.event.rho() if budget is RHO else one.event.pure())
            ) or float(other.event.rho()) == pytest.approx(2 * float(one.event.rho()))
        # nothing much is left over: what rounds could not use is the part of one more small round
        assert float(plan.event.rho() if budget is RHO else 1) > 0.9 * (1 if budget is not RHO else 2)


@BUDGETS
def test_an_answer_is_charged_for_the_rounds_that_it_took_and_says_so(budget: Budget) -> None:
    with session(budget) as asked:
        for within in ({"cost": "40%"}, {"cost": "0.01%"}):
            answer = asked.ask(WARDS, within=within, at_most=2)
            assert answer.accuracy is not None
            done = len(answer.accuracy.receipts)
            history = asked.history()
            assert [one.entry for one in answer.accuracy.receipts] == [entry.number for entry in history[:done]]
            spent = Composed(tuple(event for entry in history[:done] for event in entry.event.events))  # type: ignore[attr-defined]
            assert spent == answer.plan.event
            told = answer.certificate()["cost"]
            assert told["rho" if budget is RHO else "epsilon"] <= 2
        assert len(asked.history()) == MOST_ROUNDS


def test_rounds_stop_as_soon_as_every_cell_is_narrow_enough() -> None:
    with session() as asked:
        once = asked.ask(WARDS, within={"cost": 1000}, at_most=2)  # as wide as the bounds are
        assert once.accuracy is not None
        assert once.accuracy.reached
        assert len(once.accuracy.receipts) == 1
        more = asked.ask(WARDS, within={"cost": 100}, at_most=2)
        assert more.accuracy is not None
        assert more.accuracy.reached
        assert 1 < len(more.accuracy.receipts) <= MOST_ROUNDS
        for row in more:
            assert max(row["cost_high"] - row["cost"], row["cost"] - row["cost_low"]) <= 100
        assert "as narrow as asked after" in more.notes[0]


def test_where_the_maximum_was_not_enough_the_answer_says_so_with_the_width_that_it_has() -> None:
    with session() as asked:
        answer = asked.ask(WARDS, within={"cost": "0.01%"}, at_most=1)
        assert answer.accuracy is not None
        assert not answer.accuracy.reached
        assert len(answer.accuracy.receipts) == MOST_ROUNDS
        (column,) = answer.certificate()["accuracy"]["columns"]
        assert (column["met"], column["rows"]) == (0, 2)
        assert "NOT as narrow as asked: the maximum was spent" in repr(answer).replace("\n", " ")
        assert "asked: ±0.01%" in answer.notes[0]


def test_every_column_and_some_row_must_be_narrow_enough() -> None:
    with session() as asked:
        one = asked.ask(WARDS, within={"cost": 900, "n": "0.01%"}, at_most=1)
        none = asked.ask(f"{WARDS} HAVING COUNT(*) > 1000000", within={"cost": 900}, at_most=1)
        for answer in (one, none):
            assert answer.accuracy is not None
            assert not answer.accuracy.reached
            assert len(answer.accuracy.receipts) == MOST_ROUNDS
        assert "n is ±" in one.notes[0]
        assert "cost" not in one.notes[0]
        assert len(none) == 0


@BUDGETS
def test_asking_again_is_free_and_asking_for_less_width_goes_on_from_the_rounds_that_are_stored(budget: Budget) -> None:
    with session(budget) as asked:
        first = asked.ask(WARDS, within={"cost": 100}, at_most=2)
        paid = len(asked.history())
        assert asked.ask(WARDS, within={"cost": 100}, at_most=2).to_dict() == first.to_dict()
        assert len(asked.history()) == paid
        asked.ask(WARDS, within={"cost": "0.01%"}, at_most=2)
        assert len(asked.history()) == MOST_ROUNDS
        assert asked.ask(WARDS, within={"cost": 100}, at_most=2).to_dict() == first.to_dict()


def test_a_maximum_that_is_twice_as_large_goes_on_from_what_was_paid_for() -> None:
    with session() as asked:
        asked.ask(WARDS, within={"cost": "0.01%"}, at_most=1)
        asked.ask(WARDS, within={"cost": "0.01%"}, at_most=2)
        assert len(asked.history()) == MOST_ROUNDS + 1


def test_the_same_in_sql_and_in_python_is_the_same_question() -> None:
    with session() as asked:
        sql = "SELECT ward, AVG(cost) AS cost FROM t GROUP BY ward"
        first = asked.ask(f"{sql} WITHIN 30% CONFIDENCE 0.9;", at_most=2)
        built = asked.table("t").group_by("ward").agg(cost=mean("cost"))
        assert asked.ask(sql, within="30%", confidence=0.9, at_most=2).to_dict() == first.to_dict()
        assert asked.ask(built.within("30%", confidence=0.9), at_most=2).to_dict() == first.to_dict()
        ordered = built.within({"cost": "30 %"}, confidence=0.9).order_by(col("ward")).limit(5)
        assert asked.ask(ordered, at_most=2).to_dict() == first.to_dict()
        fixed = asked.table("t").agg(n=count()).within(5)
        assert asked.plan(fixed).digest == asked.plan("SELECT COUNT(*) AS n FROM t WITHIN 5").digest
        with pytest.raises(RequestError, match="WITHIN itself"):
            asked.ask(built.within(5), within=5)
        with pytest.raises(RequestError, match="not both"):
            asked.ask_all([built.within(5)], epsilon=1)


@pytest.mark.parametrize("missing", [1, 2])
@BUDGETS
def test_neighbours_of_which_the_same_is_released_take_the_same_path(
    budget: Budget, missing: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is released is fixed here, whatever the data: rounds, charges, numbers and notes may not differ then."""

    def fixed(exacts: Any, plan: Plan, receipt: Any, found: Any) -> Released:
        cells = public_cells(plan.passes[0].groups)
        sums = tuple(
            tuple(
                tuple((700 + 50 * place - 100 * cell) * 2**measure.shift for cell, _ in enumerate(cells))
                for place, measure in enumerate(one.measures)
            )
            for one in plan.passes
        )
        return Released(cells, sums)

    monkeypatch.setattr(privet.execution.executor, "release", fixed)
    paths = []
    for size in (400, 400 - missing):
        with session(budget, Person("person"), size) as asked:
            answer = asked.ask(WARDS, within={"n": "3%"}, at_most=4)
            paths.append((answer.to_json(), [entry.digest for entry in asked.history()]))
    assert paths[0][1] == paths[1][1]
    assert 1 <= len(paths[0][1]) <= MOST_ROUNDS
    # all but the heads of the ledgers, which hold the times of entries
    assert paths[0][0].partition('"certificate"')[0] == paths[1][0].partition('"certificate"')[0]


class Died(BaseException):
    """The process ends here: nothing is caught, and nothing is written after it."""


class Dying(DuckDB):
    """An engine in whose process something happens at one scan."""

    dies_at = 0
    scans = 0

    def scan(self, scan: Any) -> Any:
        self.scans += 1
        if self.scans == self.dies_at:
            raise Died
        return super().scan(scan)


@pytest.mark.parametrize("dies_at", range(1, MOST_ROUNDS + 1))
def test_a_crash_between_rounds_loses_nothing_that_was_paid_for(dies_at: int, tmp_path: Path) -> None:
    """Also where the budget holds the maximum just once, so that a round that is paid for twice would not fit."""
    budget, within = Pure(epsilon=Fraction(31, 16)), {"cost": "0.01%"}
    with SqliteLedger(tmp_path / "ledger", budget) as ledger:
        engine = Dying({"t": table()})
        engine.dies_at = dies_at
        with Session({"t": table()}, ledger=ledger, engine=engine) as asked, pytest.raises(Died):
            asked.ask(WARDS, within=within, at_most=2)
        assert len(ledger.history()) == dies_at
    with SqliteLedger(tmp_path / "ledger", budget) as ledger, Session({"t": table()}, ledger=ledger) as asked:
        stored = {entry.digest: ledger.find(entry.digest, "session") for entry in ledger.history()}
        answer = asked.ask(WARDS, within=within, at_most=2)
        assert len(ledger.history()) == MOST_ROUNDS
        assert all(found is None or found == ledger.find(digest, "session") for digest, found in stored.items())
        assert sum(found is not None for found in stored.values()) == dies_at - 1
        assert answer.accuracy is not None
        assert len(answer.accuracy.receipts) == MOST_ROUNDS
        ledger.verify()


KILLED = """
import os, sys
import pyarrow as pa
from privet import Rows, Pure, Session, SqliteLedger, Table, category, number
from privet.engines.duckdb.engine import DuckDB

class Killed(DuckDB):
    scans = 0
    def scan(self, scan):
        self.scans += 1
        if self.scans == 3:
            os._exit(9)
        return super().scan(scan)

rows = pa.table({"x": [float(i % 90) for i in range(300)], "g": ["ab"[i % 2] for i in range(300)]})
table = Table(rows, unit=Rows(), columns={"x": number(0, 100), "g": category(["a", "b"])})
ledger = SqliteLedger(sys.argv[1], Pure(epsilon=2))
engine = DuckDB({"t": table}) if len(sys.argv) > 2 else Killed({"t": table})
with ledger, Session({"t": table}, ledger=ledger, engine=engine) as asked:
    answer = asked.ask("SELECT g, AVG(x) AS a FROM t GROUP BY g", within="0.01%", at_most=2)
    print(len(answer.accuracy.receipts), len(ledger.history()))
    ledger.verify()
"""


def test_a_process_that_is_killed_in_a_round_is_gone_on_from_by_the_next(tmp_path: Path) -> None:
    command = [sys.executable, "-c", KILLED, str(tmp_path / "ledger")]
    first = subprocess.run(command, capture_output=True, text=True)
    assert (first.returncode, first.stdout) == (9, "")
    again = subprocess.run([*command, "again"], capture_output=True, text=True)
    assert (again.returncode, again.stdout) == (0, f"{MOST_ROUNDS} {MOST_ROUNDS}\n"), again.stderr


def test_a_key_pays_once_for_each_round_also_after_the_database_failed() -> None:
    class Failing(Dying):
        def scan(self, scan: Any) -> Any:
            try:
                return super().scan(scan)
            except Died:
                raise EngineError from None

    ledger = MemoryLedger(PURE)
    engine = Failing({"t": table()})
    engine.dies_at = 2
    with Session({"t": table()}, ledger=ledger, engine=engine) as asked:
        with pytest.raises(EngineError):
            asked.ask(WARDS, within={"cost": "0.01%"}, at_most=2, key="mine")
        answer = asked.ask(WARDS, within={"cost": "0.01%"}, at_most=2, key="mine")
        assert len(asked.history()) == MOST_ROUNDS
        assert answer.accuracy is not None
        with pytest.raises(RequestError, match="used for another question"):
            asked.ask(WARDS, within={"cost": "0.01%"}, at_most=3, key="mine")


def test_a_budget_that_cannot_hold_the_maximum_refuses_before_the_first_round_and_says_what_fits() -> None:
    with session(Pure(epsilon=1)) as asked:
        with pytest.raises(BudgetExceeded) as refused:
            asked.ask(WARDS, within={"cost": 900}, at_most=3)
        assert asked.history() == ()
        assert 1 <= refused.value.largest_epsilon <= 1.04
        assert "cost at n = 100" in str(refused.value)
        asked.ask(WARDS, within={"cost": 900}, at_most=refused.value.largest_epsilon)


def test_rounds_that_are_stored_are_free_also_where_nothing_is_left() -> None:
    with session(Pure(epsilon=2)) as asked:
        first = asked.ask(WARDS, within={"cost": "0.01%"}, at_most=2)
        asked.ask("SELECT COUNT(*) AS n FROM t", epsilon=Fraction(1, 16))
        assert asked.ask(WARDS, within={"cost": "0.01%"}, at_most=2).to_dict() == first.to_dict()
        assert asked.ask(WARDS, within={"cost": 900}, at_most=2).accuracy.reached  # type: ignore[union-attr]


def test_the_most_that_one_query_may_cost_holds_for_all_rounds_together(tmp_path: Path) -> None:
    ledger = SqliteLedger(tmp_path / "ledger", PURE, per_query=Pure(epsilon=1))
    with ledger, Session({"t": table()}, ledger=ledger) as asked:
        with pytest.raises(BudgetExceeded):
            asked.ask(WARDS, within={"cost": 900}, at_most=3)
        assert asked.history() == ()
        asked.ask(WARDS, within={"cost": 900}, at_most=1)


def test_where_somebody_else_spends_meanwhile_what_was_paid_for_is_answered_and_said_not_to_be_enough() -> None:
    ledger = MemoryLedger(Pure(epsilon=2))

    class Spending(DuckDB):
        def scan(self, scan: Any) -> Any:
            if len(ledger.history()) == 3:
                left = ledger.remaining().largest_epsilon
                ledger.charge(privet.Laplace(sensitivity=1, epsilon=Fraction(left)).event, "other", account="other")
            return super().scan(scan)

    with Session({"t": table()}, ledger=ledger, engine=Spending({"t": table()})) as asked:
        answer = asked.ask(WARDS, within={"cost": "0.01%"}, at_most=2)
        assert answer.accuracy is not None
        assert len(answer.accuracy.receipts) == 3
        assert "another query used the remaining budget" in answer.notes[0]


def test_a_condition_on_released_rows_says_which_cells_must_be_narrow() -> None:
    with session(size=301) as asked:
        sql = "SELECT age, COUNT(*) AS n FROM t GROUP BY age"
        every = asked.ask(sql, within="60%", at_most=20)
        assert every.accuracy is not None
        assert not every.accuracy.reached  # ages that do not occur
        some = asked.ask(f"{sql} HAVING COUNT(*) > 4", within="60%", at_most=20)
        assert some.accuracy is not None
        assert some.accuracy.reached
        assert len(some) > 0


REFUSED: list[tuple[str, dict[str, Any], type[PrivetError], str]] = [
    ("SELECT AVG(age) AS a FROM t", {"within": "0%"}, BadParameter, "percentage"),
    ("SELECT AVG(age) AS a FROM t", {"within": "100%"}, BadParameter, "percentage"),
    ("SELECT AVG(age) AS a FROM t", {"within": "2"}, BadParameter, "percentage"),
    ("SELECT AVG(age) AS a FROM t", {"within": "two%"}, BadParameter, "percentage"),
    ("SELECT AVG(age) AS a FROM t", {"within": "2%%"}, BadParameter, "percentage"),
    ("SELECT AVG(age) AS a FROM t", {"within": "2%", "at_most": 0}, BadParameter, "at_most"),
    ("SELECT AVG(age) AS a FROM t", {"within": "2%", "epsilon": 1}, RequestError, "not both"),
    ("SELECT AVG(age) AS a FROM t", {"at_most": 1}, RequestError, "goes with within="),
    ("SELECT COUNT(*) AS n FROM t", {"within": 1, "at_most": 1}, RequestError, "more than at_most=1"),
    (
        "SELECT COUNT(*) AS n, AVG(age) AS a FROM t",
        {"within": {"n": 1, "a": 50}, "at_most": 1},
        RequestError,
        "the best possible half-width",
    ),
    ("SELECT COUNT(*) AS n FROM t", {"within": "0.1%", "at_most": 0.01}, RequestError, "the best possible half-width"),
    ("SELECT AVG(age) AS a FROM t", {"within": 0.001, "at_most": 1}, RequestError, "the best possible half-width"),
    (
        "SELECT name, COUNT(*) AS n FROM t GROUP BY name",
        {"within": "2%"},
        Unsupported,
        "values of name are not declared",
    ),
    ("SELECT MODE(ward) AS m, AVG(age) AS a FROM t", {"within": {"a": 5}}, Unsupported, "has no width"),
    (
        "SELECT MEDIAN(age) AS m, MAX(age) AS b FROM t",
        {"within": {"m": 2}, "confidence": 0.99},
        RequestError,
        "at most 0.98",
    ),
    ("SELECT ward, AVG(age) AS a FROM t GROUP BY ward", {"within": {"ward": 5}}, Unsupported, "no noise"),
]


@pytest.mark.parametrize(("sql", "options", "kind", "words"), REFUSED)
def test_what_cannot_be_reached_is_refused_before_anything_is_charged_or_read(
    sql: str, options: dict[str, Any], kind: type[PrivetError], words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with session(BOTH, rows=1000) as asked:
        monkeypatch.setattr(asked._executor.engine, "scan", lambda scan: pytest.fail("the data was read"))
        with pytest.raises(kind) as refused:
            asked.ask(sql, **options)
        assert words in str(refused.value)
        assert asked.history() == ()


def test_rounds_of_a_plan_must_ask_the_same() -> None:
    with session() as asked:
        plan = asked.plan(WARDS, within={"cost": 30}, at_most=2)
        other = asked.plan(
            "SELECT ward, AVG(cost) AS cost, COUNT(*) AS n FROM t WHERE age > 3 GROUP BY ward", epsilon=1
        )
        mixed = Plan(
            plan.query, (*plan.passes[:-1], *other.passes), plan.readings, plan.spend, plan.target, plan.rounds
        )
        with pytest.raises(InvariantError, match="do not ask the same"):
            verify(mixed, asked._executor.schemas)
        with pytest.raises(RequestError, match=r"confidence of 0\.95"):
            asked.run(plan, confidence=0.9)
        with pytest.raises(RequestError, match="no width to reach"):
            asked.run(plan.first_rounds(2))


def test_a_plan_of_rounds_says_how_wide_when_they_stop_and_what_they_cost() -> None:
    with session(BOTH) as asked:
        plan = asked.plan(WARDS, within={"cost": "2%", "n": 30}, confidence=0.9, at_most=2)
        told = plan.explain()
        assert "up to 5 rounds" in told
        assert "every interval at 0.9 confidence is as narrow as asked (cost ±2%, n ±30)" in told
        assert "(all of them)" in told
        assert plan.to_dict()["target"] == {
            "confidence": 0.9,
            "rounds": 5,
            "columns": [
                {"column": "cost", "within": 0.02, "relative": True},
                {"column": "n", "within": 30.0, "relative": False},
            ],
        }
        cost = next(one for one in plan.to_dict()["columns"] if one["column"] == "cost")
        assert [one["n"] for one in cost["at"]] == [100, 1000, 10_000, 100_000]
        assert "after all 5 rounds" in repr(plan)


@BUDGETS
def test_a_quantile_s_interval_gets_twice_as_much_as_the_quantile_where_its_width_is_asked_for(budget: Budget) -> None:
    with session(budget) as asked:
        selection = asked.plan("SELECT MEDIAN(age) AS m FROM t", within=3, at_most=2).passes[-1].measure
        value, ladder = (float(draw.event.pure()) for draw in selection.draws)
        assert ladder == pytest.approx(value * (math.sqrt(2) if budget is RHO else 2))
        several = asked.plan("SELECT QUANTILE(age, 0.1) AS a, QUANTILE(age, 0.9) AS b FROM t", within=3, at_most=2)
        assert several.price["rho" if budget is RHO else "epsilon"] <= 2


@pytest.mark.parametrize(("confidence", "rounds"), [(0.9, 5), (0.95, 5), (0.97, 3), (0.99, 2), (0.999, 2)])
def test_each_round_s_interval_has_its_part_of_what_may_be_missed(confidence: float, rounds: int) -> None:
    with session() as asked:
        plan = asked.plan("SELECT MEDIAN(age) AS m FROM t", within=3, at_most=2, confidence=confidence)
        alphas = [draw.alpha for one in plan.passes for draw in one.measure.draws if isinstance(draw, QuantileLadder)]
        assert plan.rounds == rounds
        assert [float(alpha) for alpha in alphas] == [pytest.approx((1 - confidence) / rounds)] * rounds


def test_a_quantile_is_the_one_of_the_last_round_which_has_most_of_the_price() -> None:
    with session() as asked:
        plan = asked.plan("SELECT MEDIAN(age) AS m FROM t", within=3, at_most=2)
        (reading,) = plan.readings
        rounds = plan.across(reading.places[0])
        chosen = {place: np.array([float(number)]) for number, place in enumerate(rounds)}
        assert averaged_sums(chosen, plan)[reading.places[0]] == [len(rounds) - 1]


finite = st.floats(-1e6, 1e6)


@given(st.tuples(finite, finite, finite).map(sorted), st.fractions(Fraction(1, 1000), Fraction(99, 100)), finite)
@settings(max_examples=300, deadline=None)
def test_a_value_is_off_by_no_more_than_the_part_that_was_reached_of_whatever_its_interval_holds(
    ordered: list[float], part: Fraction, truth: float
) -> None:
    low, value, high = ordered
    found = achieved("x", Limit(part, relative=True), [value], [low], [high])
    for inside in (low, high, min(max(truth, low), high)):
        assert abs(value - inside) <= found.widest * abs(inside) * (1 + 1e-9) or math.isinf(found.widest)
    assert found.reached == (found.widest <= float(part) * (1 + 1e-12))


def test_a_count_below_zero_is_kept_and_the_answer_says_so() -> None:
    with session() as asked:
        noted = []
        for age in range(80, 120):  # ages that do not occur
            answer = asked.ask(f"SELECT COUNT(*) AS n FROM t WHERE age = {age}", epsilon=0.1)
            noted.append((answer.value < 0, any("beyond what is possible" in note for note in answer.notes)))
        assert all(below == said for below, said in noted)
        assert (True, True) in noted
