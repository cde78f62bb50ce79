"""A count with truncated Tulap noise as a plan releases it: its exact law, its proof and its words."""

from __future__ import annotations

import math
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import privet
from privet.accounting import ApproximateEvent
from privet.core.errors import InvariantError
from privet.core.scan import Truncate
from privet.mechanisms import DiscreteLaplaceEvent, Tulap
from privet.planner.make import make_plan
from privet.planner.measures import OpenedSums
from privet.planner.plan import Pass, Plan, Spend
from privet.planner.share_plan import with_tulap
from privet.planner.tulap_counts import TulapMeasure
from privet.planner.verify import verify
from privet.query.sql.parse import parse

COUNT = "SELECT COUNT(*) FILTER (WHERE x > 1) AS n FROM t"
COLUMNS = {"who": privet.integer(), "x": privet.integer(0, 9), "g": privet.category(["a", "b"])}
UNITS: dict[str, dict[str, Any]] = {
    "rows": {"unit": privet.Rows()},
    "people": {"unit": privet.Person("who"), "contribution": privet.Contribution(groups=1, rows=1)},
}
PAIRS = {"t": privet.Table(None, unit=privet.Rows(group=2), columns=COLUMNS).schema}


def tables(unit: str, neighbors: str = "add-remove") -> dict[str, Any]:
    given = {**UNITS[unit], "neighbors": neighbors, **({"units": 50} if neighbors == "change-one" else {})}
    return {"t": privet.Table(None, columns=COLUMNS, **given).schema}


def counted(sql: str, known: dict[str, Any], **spend: Any) -> Plan:
    given = {"epsilon": Fraction(1), "delta": Fraction(1, 20), "rho": None, "keys": Fraction(0), **spend}
    return make_plan(parse(sql, known), known, spend=Spend(**given), bound="groups")


def measure_of(plan: Plan) -> TulapMeasure:
    found = plan.passes[0].measure
    assert isinstance(found, TulapMeasure)
    return found


@pytest.mark.parametrize("neighbors", ["add-remove", "change-one"])
@pytest.mark.parametrize("unit", UNITS)
def test_the_event_is_that_of_the_mechanism_that_draws(unit: str, neighbors: str) -> None:
    known = tables(unit, neighbors)
    plan = with_tulap(counted(COUNT, known), Fraction(1, 100))
    verify(plan, known)
    assert plan.event.events == (ApproximateEvent(1, Fraction(1, 100)),)
    assert plan.price == {"epsilon": 1.0, "delta": 0.01}
    assert measure_of(plan).mechanism == Tulap(epsilon=1, delta=Fraction(1, 100))
    assert "never more than 4.4" in plan.explain()
    assert "Costs epsilon 1, delta 0.01." in plan.explain()
    # without a delta it would be discrete Laplace noise, and cost that
    assert TulapMeasure(Tulap(epsilon=1)).events == (DiscreteLaplaceEvent(steps=1, scale=Fraction(1)),)


def test_digests_tell_epsilons_and_deltas_apart_and_nothing_else() -> None:
    known = tables("rows")
    found = {
        with_tulap(counted(COUNT, known, epsilon=Fraction(loss)), delta).digest
        for loss in (1, 2)
        for delta in (Fraction(1, 100), Fraction(1, 99))
    }
    assert len(found | {counted(COUNT, known).digest}) == 5
    assert with_tulap(counted(COUNT, known), Decimal("0.01")).digest in found


def test_what_is_released_are_two_whole_numbers_of_the_exact_law() -> None:
    known = tables("rows")
    plan = with_tulap(counted(COUNT, known), Fraction(1, 20))
    one, measure = plan.passes[0], measure_of(plan)
    opened = OpenedSums({(): (40,)}, {})
    drawn = [measure.draw(opened, one.scan, ((),)) for _ in range(40_000)]
    assert all(type(number) is int for columns in drawn[:100] for (number,) in columns)
    assert all(-(2**63) <= part < 2**63 for _, (part,) in drawn)
    found = np.array([float(nearest - 40 + part) for nearest, part in map(measure.parts, drawn)])
    exact = measure.mechanism
    assert abs(found).max() <= exact.most
    # 40,000 draws in 20 bins: each within 6.1 standard deviations fails once in 4e7 runs. The cells of -3 and 3 are cut
    for left in np.arange(-2.75, 2.75, 0.25):
        chance = exact.cdf(left + 0.25) - exact.cdf(left)
        seen = ((found > left) & (found <= left + 0.25)).mean()
        assert abs(seen - chance) <= 6.1 * math.sqrt(max(chance * (1 - chance), 1e-4) / 40_000)


def test_no_rows_are_counted_as_none() -> None:
    plan = with_tulap(counted(COUNT, tables("rows"), epsilon=Fraction(64)), Fraction(1, 10**9))
    measure, scan = measure_of(plan), plan.passes[0].scan
    assert measure.parts(measure.draw(OpenedSums({}, {}), scan, ((),)))[0] == 0


@pytest.mark.parametrize(
    ("sql", "spend", "words"),
    [
        (COUNT, {"delta": Fraction(0)}, "has no delta"),
        (COUNT, {"epsilon": None, "rho": Fraction(1)}, "at a stated epsilon"),
        ("SELECT g, COUNT(*) AS n FROM t GROUP BY g", {}, "at most 1"),
        ("SELECT COUNT(*) FILTER (WHERE x > 1) AS n, SUM(x) AS s FROM t", {}, "at most 1"),
    ],
)
def test_what_is_not_one_count_at_an_epsilon_and_a_delta_is_refused(sql: str, spend: Any, words: str) -> None:
    with pytest.raises(privet.RequestError, match=words):
        with_tulap(counted(sql, tables("rows"), **spend), 0.01)


def test_a_count_that_two_units_move_together_is_refused() -> None:
    with pytest.raises(privet.RequestError, match="at most 1"):
        with_tulap(counted(COUNT, PAIRS), 0.01)


@pytest.mark.parametrize("delta", [0, 1, -1, 2, math.nan, "much"])
def test_a_delta_is_a_probability(delta: Any) -> None:
    with pytest.raises(privet.RequestError, match="delta"):
        with_tulap(counted(COUNT, tables("rows")), delta)


def forged(plan: Plan, **changes: Any) -> Plan:
    one = plan.passes[0]
    return replace(plan, passes=(Pass(replace(one.scan, **changes), one.measure),))


def test_a_plan_that_claims_more_than_its_scan_keeps_is_refused_before_the_charge() -> None:
    known = tables("people")
    plan = with_tulap(counted(COUNT, known), 0.01)
    verify(plan, known)
    scan = plan.passes[0].scan
    grouped = counted("SELECT g, COUNT(*) FILTER (WHERE x > 1) AS n FROM t GROUP BY g", known).passes[0].scan
    measure = measure_of(plan)
    with pytest.raises(InvariantError, match="all rows together"):
        measure.verify(replace(scan, keys=grouped.keys))
    for changes in (
        {"bounding": Truncate(1, 2)},
        {"sums": scan.sums * 2},
        {"sums": counted("SELECT SUM(x) AS n FROM t", known).passes[0].scan.sums},
        {"keys": grouped.keys},
    ):
        with pytest.raises((InvariantError, privet.RequestError)):
            verify(forged(plan, **changes), known)
