"""An observer of what a question releases learns no more about a person than it claims."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest

from privet.audit import audit
from privet.core.event import Receipt
from privet.core.scan import SealedSums
from privet.core.schema import Contribution, Schema, Table, category, integer, text
from privet.core.unit import Person, Rows
from privet.planner.keys import with_found
from privet.planner.make import make_plan
from privet.planner.plan import Plan, Spend
from privet.query.sql.parse import parse
from privet.release import found_first, release
from privet.testing.oracle import Memory

COLUMNS = {"u": integer(), "g": category(["a", "b"]), "y": integer(0, 2)}
SPEND = Spend(Fraction(2), Fraction(0), None, Fraction(0))
SAMPLES = 5_000


def drawn(plan: Plan, world: list[dict[str, Any]], count: int, schema: Schema) -> list[str]:
    """Return many releases of one plan from one world, each as a text."""
    memory = Memory({"d": Table(world, unit=schema.unit, columns=COLUMNS, contribution=Contribution(groups=1, rows=1))})
    receipt = Receipt(1, plan.digest, "somebody")
    if plan.finds_first:
        return _by_what_is_found(plan, memory, count, receipt)
    exacts = [memory.scan(one.scan) for one in plan.passes]
    return [_label(release(exacts, plan, receipt).sums) for _ in range(count)]


def _by_what_is_found(plan: Plan, memory: Memory, count: int, receipt: Receipt) -> list[str]:
    first, known, made = memory.scan(plan.passes[0].scan), dict[Any, list[SealedSums]](), []
    for _ in range(count):
        found = found_first(first, plan, receipt, plan)
        if found not in known:
            known[found] = [memory.scan(with_found(one.scan, found)) for one in plan.passes[1:]]
        made.append(repr(release([first, *known[found]], plan, receipt, found)))
    return made


def _label(sums: tuple[Any, ...]) -> str:
    """Return what tells releases apart: for ranges, the noisy count of the one that the row in question is in."""
    return repr(sums) if len(sums[0]) < 10 else str(sums[0][len(sums[0]) // 2 + 2][0])


def world(*rows: tuple[int, str, int]) -> list[dict[str, Any]]:
    return [{"u": who, "g": group, "y": value} for who, group, value in rows]


OTHERS = [(1, "a", 0), (2, "a", 1), (3, "b", 1), (4, "b", 2)]
CASES = {
    "a row comes": ("SELECT MODE(y) FROM d", Rows(), "add-remove", (5, "a", 2)),
    "a row changes": ("SELECT MODE(y) FROM d", Rows(), "change-one", (5, "a", 2)),
    "a person comes": ("SELECT g, MODE(y) FROM d GROUP BY g", Person("u"), "add-remove", (5, "a", 2)),
    "a range": ("SELECT BOUNDS(y) FROM d", Rows(), "add-remove", (5, "a", 2)),
    "two of three": ("SELECT TOP_K(y, 2) FROM d", Person("u"), "add-remove", (5, "a", 2)),
}


def test_two_readings_tell_no_more_than_their_plan_claims() -> None:
    columns = {"u": integer(), "g": text()}
    schema = Schema(unit=Person("u"), columns=columns)
    query = replace(parse("SELECT g, COUNT(*) FROM d GROUP BY g", {"d": schema}), other="other")
    spend = Spend(Fraction(1), Fraction(0), None, Fraction(1, 20))
    plan = make_plan(query, {"d": schema}, spend=spend)
    rows = [{"u": who, "g": "p" if who < 4 else "q"} for who in range(5)]  # the last person has a key of their own
    both = rows, rows[:-1]

    def draw(world: list[dict[str, Any]], count: int) -> list[str]:
        memory = Memory(
            {"d": Table(world, unit=schema.unit, columns=columns, contribution=Contribution(groups=1, rows=1))}
        )
        return _by_what_is_found(plan, memory, count, Receipt(1, plan.digest, "somebody"))

    claimed = plan.event.pure(), plan.event.slack()
    assert claimed == (1, Fraction(1, 20))
    report = audit(draw, both, claimed, SAMPLES, batched=True)
    assert not report.refuted, str(report)


@pytest.mark.parametrize("name", CASES)
def test_what_is_released_tells_no_more_than_its_plan_claims(name: str) -> None:
    sql, unit, neighbors, row = CASES[name]
    schema = Schema(unit=unit, columns=COLUMNS, neighbors=neighbors, contribution=Contribution(groups=1, rows=1))
    plan = make_plan(parse(sql, {"d": schema}), {"d": schema}, spend=SPEND)
    other = [] if neighbors == "add-remove" else [(5, "a", 0)]
    both = world(*OTHERS, row), world(*OTHERS, *other)
    report = audit(lambda one, count: drawn(plan, one, count, schema), both, plan.event.pure(), SAMPLES, batched=True)
    assert not report.refuted, str(report)
    assert report.found > 0.2, str(report)  # the audit is no use if it finds nothing
