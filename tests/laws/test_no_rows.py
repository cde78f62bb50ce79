"""MIN and MAX of no rows are NULL, by a released count, whatever the question stands in; never by the rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest
from scipy.stats import binom

import privet
from privet.planner.selections import EMPTY, PART, least_rows, presence_only
from privet.release import Released
from privet.results.read import read_answer

pa = pytest.importorskip("pyarrow")

ROWS = [{"who": at % 400, "x": float(20 + at % 50), "n": at % 90, "g": "full"} for at in range(2000)]
ROWS += [{"who": 900 + at, "x": None, "n": 3, "g": "nulls"} for at in range(50)]
COLUMNS = {
    "who": privet.integer(),
    "x": privet.number(0, 100, nullable=True),
    "n": privet.integer(0, 100),
    "g": privet.category(["full", "nulls", "empty"]),
}
UNITS = [privet.Rows(), privet.Person("who")]
BUDGETS = [privet.Pure(epsilon=10**6), privet.Approximate(epsilon=10**6, delta=1e-6), privet.Zcdp(rho=10**6)]
FALSE_ALARM = 1e-8


def session(unit: Any, budget: Any = BUDGETS[0], **facts: Any) -> privet.Session:
    table = privet.Table(
        pa.Table.from_pylist(ROWS),
        unit=unit,
        columns=COLUMNS,
        **{"contribution": privet.Contribution(groups=1, rows=1), **facts},
    )
    return privet.Session({"t": table}, budget=budget)


def spend(budget: Any, amount: float) -> dict[str, float]:
    return {"rho": amount} if isinstance(budget, privet.Zcdp) else {"epsilon": amount}


def soon(holds: Callable[[float], bool]) -> bool:
    """Return whether something holds at one of four costs that are nearly the same.

    Noise alone shows a group without rows once in a thousand times; four times in a row, never.
    """
    return any(holds(1 + attempt / 100) for attempt in range(4))


def nulls(answer: Any, name: str = "lo") -> dict[Any, bool]:
    """Return for each group whether a column is NULL, with its interval."""
    return {
        row["g"]: row[name] is None and row[f"{name}_low"] is None and row[f"{name}_high"] is None for row in answer
    }


NULLS = {"full": False, "nulls": True, "empty": True}


@pytest.mark.parametrize("budget", BUDGETS, ids=["pure", "approximate", "rho"])
@pytest.mark.parametrize("unit", UNITS, ids=["rows", "people"])
@pytest.mark.parametrize("counted", ["", ", COUNT(x) AS c", ", AVG(x) AS c", ", COUNT(*) AS c"])
def test_groups_without_rows_are_null_and_full_ones_are_not(unit: Any, budget: Any, counted: str) -> None:
    sql = f"SELECT g, MIN(x) AS lo, MAX(x) AS hi{counted} FROM t GROUP BY g"
    with session(unit, budget) as s:

        def holds(times: float) -> bool:
            answer = s.ask(sql, **spend(budget, 30 * times))
            full = next(row for row in answer if row["g"] == "full")
            assert full["lo_low"] == 0 <= full["lo"] <= full["lo_high"] <= 40
            assert 50 <= full["hi_low"] <= full["hi"] <= full["hi_high"] == 100
            words = "MIN and MAX are NULL where the noisy count"
            assert any(note.startswith(words) for note in answer.notes)
            told = any("lo: NULL in 2 of 3 groups" in note for note in answer.notes)
            return told and nulls(answer) == nulls(answer, "hi") == NULLS

        assert soon(holds)


@pytest.mark.parametrize("unit", UNITS, ids=["rows", "people"])
def test_one_answer_without_groups_keeps_its_columns(unit: Any) -> None:
    with session(unit) as s:

        def holds(times: float) -> bool:
            (row,) = s.ask("SELECT MIN(x) AS lo, MAX(n) AS hi FROM t WHERE g = 'empty'", epsilon=30 * times)
            assert {"lo", "lo_low", "lo_high", "hi", "hi_low", "hi_high"} <= set(row)
            (derived,) = s.ask("SELECT MAX(x) - MIN(x) AS width FROM t WHERE g = 'empty'", epsilon=30 * times)
            return row == dict.fromkeys(row) and derived["width"] is None

        assert soon(holds)


def test_batches_rollups_and_rounds_do_the_same() -> None:
    with session(privet.Rows()) as s:
        both = ["SELECT g, MIN(x) AS lo FROM t GROUP BY g", "SELECT g, COUNT(*) AS c FROM t GROUP BY g"]
        assert soon(lambda times: nulls(s.ask_all(both, epsilon=60 * times)[0]) == NULLS)
        rollup = "SELECT g, MIN(x) AS lo, COUNT(*) AS c FROM t GROUP BY ROLLUP (g)"
        assert soon(lambda times: nulls(s.ask(rollup, epsilon=90 * times)) == {**NULLS, None: False})
        sql = "SELECT g, MIN(x) AS lo, AVG(x) AS m, COUNT(x) AS c FROM t WHERE g <> 'empty' GROUP BY g"

        def in_rounds(times: float) -> bool:
            answer = s.ask(sql, within={"c": "1%"}, at_most=90 * times)
            counts = {row["g"]: row["c"] for row in answer}
            assert abs(counts["full"] - 2000) < 100
            assert abs(counts["nulls"]) < 100
            return nulls(answer) == {"full": False, "nulls": True}

        assert soon(in_rounds)


@pytest.mark.parametrize("budget", BUDGETS, ids=["pure", "approximate", "rho"])
@pytest.mark.parametrize("unit", UNITS, ids=["rows", "people"])
def test_the_count_takes_its_stated_share_and_the_price_stays_what_was_asked(unit: Any, budget: Any) -> None:
    with session(unit, budget) as s:
        alone = s.plan("SELECT MIN(x) AS lo, MAX(x) AS hi FROM t", **spend(budget, 2))
        (index,) = presence_only(alone)
        count = alone.passes[index].measures[0].mechanism.event
        paid = Fraction(count.rho() if isinstance(budget, privet.Zcdp) else count.pure())
        assert float(paid) == pytest.approx(2 * float(PART), rel=1e-6)
        price = dict(alone.price)
        assert next(iter(price.values())) <= 2 * (1 + 1e-9)
        assert "The count takes 10% of what is spent on them" in alone.explain()
        beside = s.plan("SELECT MIN(x) AS lo, COUNT(x) AS c FROM t", **spend(budget, 2))
        assert not presence_only(beside)
        assert "The count is released anyway" in beside.explain()
        two = s.plan("SELECT MIN(n) AS a, MIN(n + 1) AS b FROM t", **spend(budget, 2))
        assert len(presence_only(two)) == 1  # both are of all rows
        assert next(iter(two.price.values())) <= 2 * (1 + 1e-9)


def test_questions_without_a_least_or_a_greatest_count_nothing_for_it() -> None:
    with session(privet.Rows()) as s:
        assert len(s.plan("SELECT MEDIAN(x) AS m FROM t", epsilon=1).passes) == 1


def test_null_is_decided_by_what_was_released_alone() -> None:
    with session(privet.Rows()) as s:
        plan = s.plan("SELECT MIN(x) AS lo FROM t", epsilon=1)
        receipt = s.ask("SELECT MIN(x) AS lo FROM t", epsilon=1).receipt
        place = plan.readings[0].places[-1]
        least = least_rows(plan, place)
        shift = plan.passes[place[0]].measures[place[1]].shift
        for count, null in ((least, True), (least + 1, False), (-5, True), (10**6, False)):
            sums: list[Any] = [((7,),), ((7,),)]
            sums[place[0]] = ((int(count * 2**shift),),)
            (row,) = read_answer(Released(((),), tuple(sums)), plan, receipt, confidence=0.95)
            assert (row["lo"] is None) == null


@pytest.mark.parametrize("unit", UNITS, ids=["rows", "people"])
@pytest.mark.parametrize("budget", BUDGETS[1:], ids=["approximate", "rho"])
def test_no_rows_are_null_as_often_as_it_says(unit: Any, budget: Any) -> None:
    with session(unit, budget) as s:
        plan = s.plan("SELECT MIN(x) AS lo FROM t", **spend(budget, 1))
        place = plan.readings[0].places[-1]
        measure = plan.passes[place[0]].measures[place[1]]
        trials = 20_000
        shown = sum(
            noisy / 2**measure.shift > least_rows(plan, place) for noisy in measure.mechanism.simulate(0, trials)
        )
        assert binom.sf(shown - 1, trials, 1 - EMPTY) > FALSE_ALARM
        assert shown > 0  # and not by never showing any


def test_declared_rows_need_no_count() -> None:
    table = privet.Table(
        pa.table({"x": [1.0, 2.0, 3.0] * 50}),
        unit=privet.Rows(),
        columns={"x": privet.number(0, 10)},
        neighbors="change-one",
        units=150,
    )
    with privet.Session({"t": table}, budget=privet.Pure(epsilon=100)) as s:
        plan = s.plan("SELECT MIN(x) AS lo FROM t", epsilon=1)
        assert not presence_only(plan)
        assert len(plan.passes) == 1
        (row,) = s.run(replace(plan))
        assert row["lo"] is not None
