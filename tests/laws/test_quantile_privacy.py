"""Quantiles of queries keep what their event promises: exact output laws on tiny tables, for every neighbour."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from privet.core import schema
from privet.core.unit import Person, Rows
from privet.engines.memory import Memory
from privet.planner.make import make_plan
from privet.planner.plan import Spend
from privet.query.sql import parse

COLUMNS = {
    "who": schema.integer(),
    "city": schema.category(["Ulm", "Bonn"]),
    "age": schema.integer(0, 4, nullable=True),
}
ROW = st.fixed_dictionaries({
    "who": st.integers(1, 3),
    "city": st.sampled_from(["Ulm", "Bonn"]),
    "age": st.one_of(st.none(), st.integers(0, 4)),
})  # fmt: skip
CELLS = {True: [("Ulm",), ("Bonn",)], False: [()]}
ROUNDING = 1e-9


def law(draw, counts: dict) -> list[float]:
    """The probability of each place, from the definition: dummies on both sides of a draw that has an offset."""
    pad = abs(draw.offset)
    weights = [pad, *(counts.get(place, 0) for place in range(draw.last + 1)), pad]
    aim = draw.share * sum(counts.values()) + pad + draw.offset
    off = []
    for place in range(draw.last + 3):
        below, through = sum(weights[:place]), sum(weights[: place + 1])
        off.append(float(max(0, below - aim, aim - through)))
    if not pad:
        off = off[1:-1]
    raw = [math.exp(-float(draw.rate) * (one - min(off))) for one in off]
    total = sum(raw)
    if not pad:
        return [one / total for one in raw]
    held = [one / total for one in raw[1:-1]]
    held[0] += raw[0] / total
    held[-1] += raw[-1] / total
    return held


def losses(plan, facts, rows: list, others: list, cells: list) -> list[tuple[float, float]]:
    """The least and the largest privacy loss of each draw of a plan, over all groups together."""
    found = []
    for one in plan.passes:
        exacts = []
        for table in (rows, others):
            places = Memory({"t": schema.Table(table, unit=facts.unit, columns=COLUMNS)}).scan(one.scan)._places
            exacts.append({cell: dict(zip(*counts, strict=True)) for cell, counts in places.items()})
        for draw in one.selection.draws:
            low = high = 0.0
            for cell in cells:
                p, q = (law(draw, exact.get(cell, {})) for exact in exacts)
                ratios = [math.log(a / b) for a, b in zip(p, q, strict=True)]
                low, high = low + min(ratios), high + max(ratios)
            found.append((low, high))
    return found


def neighbours(rows: list, unit, relation: str) -> list[list]:
    owners = range(len(rows)) if isinstance(unit, Rows) else {row["who"] for row in rows}
    found = []
    for owner in owners:
        mine = [row for at, row in enumerate(rows) if (at if isinstance(unit, Rows) else row["who"]) == owner]
        rest = [row for at, row in enumerate(rows) if (at if isinstance(unit, Rows) else row["who"]) != owner]
        if relation == "add-remove":
            found.append(rest)
            continue
        for city in ("Ulm", "Bonn"):
            for age in (0, 2, 4, None):
                for times in (1,) if isinstance(unit, Rows) else (1, 3):
                    found.append([*rest, *([{"who": mine[0]["who"], "city": city, "age": age}] * times)])
    return found


@pytest.mark.parametrize("unit", [Rows(), Person("who")])
@pytest.mark.parametrize("relation", ["add-remove", "change-one"])
@pytest.mark.parametrize("bound", ["norm", "groups"])
@settings(max_examples=12, deadline=None)
@given(
    rows=st.lists(ROW, max_size=6),
    asked=st.sampled_from(["MEDIAN(age)", "QUANTILE(age, 0.9)", "MIN(age)", "MAX(age), MEDIAN(age)"]),
    grouped=st.booleans(),
)
def test_no_neighbour_moves_the_law_of_a_quantile_beyond_its_event(unit, relation, bound, rows, asked, grouped):
    if bound == "groups":
        # who has too much is cut at random; what is kept is tested in full, so that the law is known
        counts: dict = {}
        for row in rows:
            counts[row["who"]] = counts.get(row["who"], 0) + 1
        rows = [row for row in rows if counts[row["who"]] == 1]
    facts = schema.Schema(unit=unit, columns=COLUMNS, neighbors=relation, units=None)
    query = parse(f"SELECT {asked} FROM t" + (" GROUP BY city" if grouped else ""), {"t": facts})
    spend = Spend(Fraction(1), Fraction(0), None, Fraction(0))
    plan = make_plan(query, {"t": facts}, spend=spend, bound=bound)
    assert plan.event.pure() == 1
    draws = [draw for one in plan.passes for draw in one.selection.draws]
    for others in neighbours(rows, unit, relation):
        if bound == "groups" and len(others) > len(rows):
            continue
        for draw, (low, high) in zip(draws, losses(plan, facts, rows, others, CELLS[grouped]), strict=True):
            epsilon = float(draw.event.pure())
            assert max(high, -low) <= epsilon + ROUNDING
            assert high - low <= epsilon + ROUNDING
