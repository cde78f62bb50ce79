"""Every kind of plan is replayed: for rows, people and windows of time, each claim holds, and one too low is seen."""

from __future__ import annotations

import datetime
import math
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pyarrow
import pytest

import privet
from privet.audit import Replay, replay
from privet.core.errors import RequestError
from privet.mechanisms.rank_ladder import QuantileLadder
from privet.planner.measures import ModeMeasure, QuantileMeasure
from privet.planner.plan import Pass, Plan

DAYS = [datetime.date(2024, 1, day) for day in (1, 2, 3, 5, 8, 9, 9, 20, 20, 21, 22)]
ROWS = {
    "p": [1, 1, 1, 2, 2, 3, 4, 4, 4, 4, None],
    "x": [5.0, 200.0, 3.0, 1.0, None, -9.0, 10.0, 10.0, 10.0, 10.0, 7.0],
    "g": ["a", "b", "a", "a", "b", "b", "a", "b", "c", "a", "a"],
    "k": [1, 2, 3, 1, 1, 2, 3, 3, 3, 3, 1],
    "d": DAYS,
}
COLUMNS = {
    "p": privet.integer(nullable=True),
    "x": privet.number(0, 10, step=0.5, nullable=True),
    "g": privet.text(),
    "k": privet.integer(1, 4),
    "d": privet.date(),
}
UNITS: list[tuple[Any, Any]] = [
    (privet.Rows(2), "add-remove"),
    (privet.Rows(), "change-one"),
    (privet.Person("p"), "add-remove"),
    (privet.Person("p", 2), "change-one"),
    (privet.Window("p", "d", 7), "add-remove"),
    (privet.Window("p", "d", 7), "change-one"),
]
CLEARED = "the ranks of an interval"
RANKS, FREQUENT, KEYS = "the ranks of a quantile", "the rows of frequent values", "the people of a key"
ASKED: list[tuple[str, dict[str, Any], str]] = [
    ("SELECT MODE(k) FROM t", {}, FREQUENT),
    ("SELECT k, TOP_K(g, 2) FROM t GROUP BY k", {}, FREQUENT),
    ("SELECT BOUNDS(x) FROM t", {}, "a count"),
    ("SELECT MEDIAN(x), QUANTILE(x, 0.2) FROM t", {}, "the rows of quantiles"),
    ("SELECT k, MEDIAN(x) FROM t GROUP BY k", {}, RANKS),
    ("SELECT k, g, COUNT(*), SUM(x) FROM t GROUP BY ROLLUP(k, g)", {}, KEYS),
    ("SELECT COUNT(DISTINCT d) FROM t", {}, "a count"),
    ("SELECT AVG(x) FROM t", {"within": 2}, "a sum"),
    ("SELECT g, COUNT(*), MEDIAN(x) FROM t GROUP BY g", {"other": "rest"}, RANKS),
]


def tables(unit: Any, neighbors: Any) -> dict[str, privet.Table]:
    several = {"neighbors": neighbors, "contribution": privet.Contribution(groups=2, rows=2)}
    return {"t": privet.Table(pyarrow.table(ROWS), unit=unit, columns=COLUMNS, **several)}


def session(given: dict[str, privet.Table]) -> privet.Session:
    return privet.Session(given, budget=privet.Approximate(epsilon=100, delta=1e-3))


def planned(of: privet.Session, sql: str, options: dict[str, Any]) -> Plan:
    return of.plan(sql, **options) if "within" in options else of.plan(sql, epsilon=1, **options)


@pytest.mark.parametrize(("unit", "neighbors"), UNITS, ids=str)
def test_every_kind_of_plan_is_replayed_and_holds(unit: Any, neighbors: Any) -> None:
    given = tables(unit, neighbors)
    with session(given) as asking:
        for sql, options, about in ASKED:
            plan = planned(asking, sql, options)
            found = replay(given, plan, most=4)
            assert found.holds, str(found)
            assert about in {move.what for move in found.moves}, sql
            assert max(move.share for move in found.moves if move.what == about) > 0.05, (sql, str(found))
            if "within" in options:
                assert len(found.moves) == plan.rounds * 2


def test_a_batch_is_replayed_whole() -> None:
    given = tables(privet.Person("p"), "add-remove")
    questions = ["SELECT COUNT(*) FROM t", "SELECT k, SUM(x) FROM t GROUP BY k", "SELECT MODE(k) FROM t"]
    with session(given) as asking:
        found = replay(given, asking.plan_all(questions, epsilon=1))
        assert sorted(move.what for move in found.moves) == ["a count", "a sum", FREQUENT]
        assert found.holds
        assert found.units == 4
        with pytest.raises(RequestError, match="a batch of them"):
            replay(given, questions)  # type: ignore[arg-type]


def test_a_window_is_dropped_from_each_of_its_moments_on_whole_and_in_part() -> None:
    given = tables(privet.Window("p", "d", 7), "add-remove")
    with session(given) as asking:
        found = replay(given, asking.plan("SELECT COUNT(*) FROM t", epsilon=1))
    moments = {(who, day) for who, day in zip(ROWS["p"], DAYS, strict=True) if who is not None}
    assert found.units == len(moments) == 9
    assert found.worlds == 18
    # person 1 has three rows in the week from the 1st on; from the 20th on person 4 has three, and one on the 9th
    assert found.worst.unit == (1, "2024-01-01")
    assert found.worst.moved == 3


def test_two_people_are_dropped_together_where_two_are_protected_together() -> None:
    given = tables(privet.Person("p", 2), "add-remove")
    with session(given) as asking:
        found = replay(given, asking.plan("SELECT COUNT(*) FROM t", epsilon=1))
    assert found.worst.unit == (4, 1)
    assert found.worst.moved == 7


def test_what_stands_beside_the_other_group_is_replayed_for_all_some_and_no_values() -> None:
    # a and b make two groups of each person's rows, and one of them where both are rest: four rows in one cell
    given = tables(privet.Person("p"), "add-remove")
    with session(given) as asking:
        found = replay(given, asking.plan("SELECT g, COUNT(*) FROM t GROUP BY g", epsilon=1, other="rest"))
    count = next(move for move in found.moves if move.what == "a count")
    with session(given) as asking:
        alone = replay(given, asking.plan("SELECT k, COUNT(*) FROM t GROUP BY k", epsilon=1))
    assert count.share == pytest.approx(1, abs=1e-5)
    assert alone.holds


def lax(one: Pass) -> Iterator[tuple[str, Pass]]:
    """Yield a pass with each of its draws made for a tenth of what it should be, and what that draw is about."""
    tenth = Fraction(1, 10)
    for place, measure in enumerate(one.measures):
        size = math.isqrt(int(measure.sensitivity.l2_squared))  # which L1 is no less than
        noise = privet.Laplace(sensitivity=size * tenth, scale=1, grid="fine")
        several = list(one.measures)
        several[place] = replace(measure, mechanism=noise)
        yield "a count" if measure.sum.expression is None else "a sum", one.with_noise(several)
    if isinstance(one.measure, ModeMeasure):
        choice = replace(one.measure.choice, span=one.measure.choice.span * tenth)
        yield FREQUENT, replace(one, measure=replace(one.measure, choice=choice))
    for place, draw in enumerate(one.measure.draws):
        several_draws: list[Any] = list(one.measure.draws)
        alone = hasattr(draw, "span")
        small = {"span": draw.span * tenth} if alone else {"norm": draw.norm * tenth}  # type: ignore[union-attr]
        several_draws[place] = replace(draw, **small)
        kind = "the rows of quantiles" if not alone else CLEARED if isinstance(draw, QuantileLadder) else RANKS
        yield kind, replace(one, measure=QuantileMeasure(tuple(several_draws)))  # type: ignore[type-var]


def refuted(found: Replay) -> list[str]:
    return [move.what for move in found.moves if not move.holds]


@pytest.mark.parametrize(
    ("sql", "faults"),
    [
        ("SELECT k, COUNT(*), SUM(x) FROM t GROUP BY k", 2),
        ("SELECT k, MODE(g) FROM t GROUP BY k", 1),
        ("SELECT BOUNDS(x) FROM t", 1),
        ("SELECT MEDIAN(x), QUANTILE(x, 0.2) FROM t", 3),
        ("SELECT QUANTILE(x, 0.2) FROM t", 2),
    ],
)
def test_each_draw_that_is_made_for_too_little_is_seen_and_no_other_is_blamed(sql: str, faults: int) -> None:
    given = tables(privet.Person("p"), "change-one")
    with session(given) as asking:
        plan = asking.plan(sql, epsilon=1)
    broken = [(what, place, worse) for place, one in enumerate(plan.passes) for what, worse in lax(one)]
    assert len(broken) == faults
    for what, place, worse in broken:
        passes = (*plan.passes[:place], worse, *plan.passes[place + 1 :])
        assert refuted(replay(given, replace(plan, passes=passes))) == [what]


def test_a_question_that_reads_no_row_is_refused() -> None:
    fixed = privet.Table(
        pyarrow.table({"x": [1, 2]}),
        unit=privet.Rows(),
        columns={"x": privet.integer(0, 9)},
        neighbors="change-one",
        units=2,
    )
    with session({"t": fixed}) as asking, pytest.raises(RequestError, match="asks nothing of the data"):
        replay({"t": fixed}, asking.plan("SELECT COUNT(*) FROM t", epsilon=1))
