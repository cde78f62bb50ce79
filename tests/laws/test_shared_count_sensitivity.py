"""SUMs that are read beside a shared count: what one unit moves in all of them together is what the event is for.

Brute force on the SQL that the engine runs, over every unit, both relations, both ways to bound and the corners of all
bounds; and the exact law of what is released on the smallest tables.
"""

from __future__ import annotations

import math
import random
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations, product
from pathlib import Path

import numpy as np
import pytest

from privet import accounting
from privet.core.schema import Contribution, Schema, Table, category, integer
from privet.core.unit import Rows
from privet.planner.make import make_plan
from privet.planner.plan import Plan, Spend
from privet.query.sql.parse import parse

sys.path.insert(0, str(Path(__file__).parent))

from test_plan_sensitivity import GAUSSIAN, Bench, Row, Shape, World, extremes, moved, random_families

SUMS = "SUM(x), SUM(y), SUM(p), SUM(p * p), SUM(x * x)"


@dataclass(frozen=True)
class SharingShape(Shape):
    """A question whose SUMs may share a count."""

    def plan(self) -> Plan:
        tables = {"d": self.schema}
        return make_plan(parse(self.sql, tables), tables, spend=self.spend, bound=self.bound, sharing=True)  # type: ignore[arg-type]


def shapes() -> Iterator[SharingShape]:
    queries = {
        "one cell": f"SELECT {SUMS} FROM d",
        "and a count": f"SELECT {SUMS}, COUNT(*) FROM d WHERE t = 's'",
        "by group": f"SELECT g, {SUMS}, AVG(y) FROM d GROUP BY g",
        "some rows": "SELECT SUM(p) FILTER (WHERE t = 's'), SUM(p * p) FILTER (WHERE t = 's'), SUM(x), SUM(p) FROM d",
    }
    for neighbors, (name, sql) in product(("add-remove", "change-one"), queries.items()):
        for group in (1, 2):
            yield SharingShape(name, sql, "rows", neighbors, GAUSSIAN, group=group, nullable=False)
        for bound in ("norm", "groups"):
            yield SharingShape(name, sql, "people", neighbors, GAUSSIAN, bound=bound, nullable=False)
        once = Contribution(groups=1, rows=1)
        yield SharingShape(f"{name}, once", sql, "people", neighbors, GAUSSIAN, nullable=False, contribution=once)


SHAPES = list(shapes())


def identity(shape: Shape) -> str:
    return f"{shape.name}, {shape.unit} {shape.group}, {shape.neighbors}, {shape.bound}"


@pytest.fixture(scope="module")
def bench() -> Bench:
    return Bench()


def part_of_event(plan: Plan, one: dict[Row, Row], other: dict[Row, Row]) -> float:
    """Return what two worlds differ by in all sums together, each over its noise, as a part of what is charged."""
    (only,) = plan.passes
    loss = sum(
        Fraction(moved(one, other, place)[1]) / measure.mechanism.sigma_squared
        for place, measure in enumerate(only.measures)
    )
    return float(loss / (2 * plan.event.rho()))


@pytest.mark.parametrize("shape", SHAPES, ids=identity)
def test_no_unit_moves_all_sums_together_by_more_than_is_charged(shape: SharingShape, bench: Bench) -> None:
    plan = shape.plan()
    families = random_families(shape, random.Random(SHAPES.index(shape)))
    bench.load([world for family in families for world in family])
    bench.prepare(plan.passes[0].scan)
    start = 0
    for family in families:
        first, *others = (bench.scan(start + place) for place in range(len(family)))
        start += len(family)
        assert all(part_of_event(plan, first, other) <= 1 for other in others)


def corners(shape: SharingShape) -> Iterator[World]:
    """Yield what a unit may hold at most, with numbers at the ends of all centred sums at once."""
    yield from extremes(shape)
    rows = shape.unit == "rows"
    amount = 1 if rows else shape.contribution.rows * (1 if "GROUP BY" in shape.sql else shape.contribution.groups)
    groups = ["a"] if rows or shape.contribution.groups == 1 else ["a", "b"]
    for x, y, p in product([-3.0, 10.0, 0.0], [-4, 7], [2.0, 9.0]):
        yield [(owner, x, y, p, g, "s", g) for owner in range(shape.group) for g in groups for _ in range(amount)]


@pytest.mark.parametrize("shape", [one for one in SHAPES if one.neighbors == "add-remove"], ids=identity)
def test_some_unit_moves_all_sums_by_what_is_charged(shape: SharingShape, bench: Bench) -> None:
    plan = shape.plan()
    assert plan.unshared is not None
    bench.load(list(corners(shape)))
    bench.prepare(plan.passes[0].scan)
    first, *others = (bench.scan(place) for place in range(len(list(corners(shape)))))
    # squares of x have their end where x does, and at 0: all but one of their corners are met at once
    assert max(part_of_event(plan, first, other) for other in others) >= 0.9


@pytest.mark.parametrize("shape", [one for one in SHAPES if one.neighbors == "change-one"], ids=identity)
def test_a_changed_unit_moves_each_sum_by_its_claim(shape: SharingShape, bench: Bench) -> None:
    plan = shape.plan()
    bench.load(list(corners(shape)))
    bench.prepare(plan.passes[0].scan)
    worlds = [bench.scan(place) for place in range(len(list(corners(shape))))]
    pairs = list(combinations(worlds[1 if shape.unit == "rows" else 0 :], 2))
    for place, measure in enumerate(plan.passes[0].measures):
        claim = measure.sensitivity.l2_squared
        largest = max(Fraction(moved(one, other, place)[1]) for one, other in pairs)
        assert largest <= claim
        column = measure.sum.expression is not None and measure.sum.expression.column is not None
        if column and measure.sum.where is None and "WHERE" not in shape.sql:  # products do not reach their corners
            assert largest >= claim * Fraction(9, 10)


# The exact law of a release


def small(rho: Fraction, *, count: bool) -> Plan:
    facts = {"x": integer(0, 1), "y": integer(0, 1), "z": integer(0, 1), "g": category(["a"])}
    tables: dict[str, Schema] = {"t": Table(None, unit=Rows(), columns=facts).schema}
    sql = f"SELECT SUM(x) AS x, SUM(y) AS y, SUM(z) AS z{', COUNT(*) AS n' * count} FROM t"
    return make_plan(parse(sql, tables), tables, spend=Spend(None, Fraction(0), rho, Fraction(0)), sharing=True)


def law_of(plan: Plan, row: tuple[int, int, int] | None) -> np.ndarray:
    """Return the chances of all releases, one axis for each, where a table holds one row or none."""
    found = np.ones(())
    for total, measure in zip(plan.passes[0].scan.sums, plan.passes[0].measures, strict=True):
        column = getattr(total.expression, "name", None)
        value = 0 if row is None else 1 if column is None else 2 * row["xyz".index(column)] - 1
        law = measure.mechanism.law(1, whole=True)
        reach = math.ceil(7 * measure.standard_deviation) + 3
        chances = np.array(law.pmf([at - value for at in range(-reach, reach + 1)]))
        assert abs(chances.sum() - 1) < 1e-9
        found = np.multiply.outer(found, chances)
    return found


@pytest.mark.parametrize("count", [False, True])
@pytest.mark.parametrize("rho", [Fraction(1, 2), Fraction(2)])
def test_the_exact_law_of_a_release_costs_no_more_than_its_event(rho: Fraction, count: bool) -> None:
    plan = small(rho, count=count)
    assert plan.unshared is not None
    assert plan.event.rho() <= rho
    nothing = law_of(plan, None)
    close = 0.0
    for row in ((0, 0, 0), (1, 0, 1), (1, 1, 1)):
        one = law_of(plan, row)
        assert ((one > 0) == (nothing > 0)).all()  # the same numbers are possible
        for epsilon in (0.25, 1.0, 2.0, 4.0):
            claimed = accounting.delta(plan.event, epsilon)
            for first, second in ((one, nothing), (nothing, one)):
                exact = float(np.maximum(first - math.exp(epsilon) * second, 0).sum())
                assert exact <= claimed * (1 + 1e-9) + 1e-12
                close = max(close, exact / claimed)
    assert close >= 0.9  # rounding to whole numbers hides little


def test_what_was_charged_is_what_the_sums_by_themselves_cost() -> None:
    plan = small(Fraction(1, 2), count=False)
    assert plan.unshared is not None
    assert plan.event.rho() == plan.unshared.event.rho() == Fraction(1, 2)
    assert replace(plan, unshared=None).digest != plan.unshared.digest
