"""Intervals of rounds hold although what was released decides when to stop: also for the worst rule for stopping.

Each case carries out all rounds for thousands of groups at once, through `release` and the reader, with no engine.
The worst rule stops at the first interval that misses, if any does: it misses where any of the rounds does. A test
fails only if its count is beyond what coverage at the stated limit would give once in 1e8 runs.
"""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from privet.core.event import Receipt
from privet.core.scan import SealedSums
from privet.core.schema import Contribution, Schema, category, integer, number
from privet.core.unit import Person, Rows, Unit
from privet.planner.accuracy import read_target
from privet.planner.plan import Plan, Spend
from privet.planner.rounds import make_rounds
from privet.query.sql.parse import parse
from privet.release import Released, release
from privet.results.read import read_answer

FALSE_ALARMS = 5.7
COLUMNS = (
    "COUNT(*) AS n, SUM(x) AS total, AVG(x) AS mean, VAR_POP(x) AS var, STDDEV(x) AS sd, SUM(x) / COUNT(*) AS ratio"
)


def laplace(epsilon: object) -> Spend:
    return Spend(Fraction(epsilon), Fraction(0), None, Fraction(0))


def gaussian(rho: object) -> Spend:
    return Spend(None, Fraction(0), Fraction(rho), Fraction(0))


def plan_of(spend: Spend, unit: Unit, columns: str, groups: int, within: object) -> Plan:
    facts = {"u": integer(), "x": number(0, 100), "i": integer(0, 20), "g": category(range(groups))}
    tables = {"t": Schema(unit=unit, columns=facts, contribution=Contribution(groups=2, rows=1))}
    query = parse(f"SELECT g, {columns} FROM t GROUP BY g", tables)
    return make_rounds(query, tables, spend=spend, target=read_target(within, Fraction(19, 20)))


def exacts_of(plan: Plan, rows: int, groups: int) -> list[SealedSums]:
    """Return the sums of groups that are all alike: values spread evenly from 20 to 70."""
    values = 20 + 50 * (np.arange(rows) + 0.5) / rows
    found = []
    for one in plan.passes:
        sums = []
        for measure in one.measures:
            total, given = measure.sum, np.ones(rows)
            if total.expression is not None:
                given = np.floor((values - float(total.origin)) / float(total.step) + 0.5)
            sums.append(sum(int(y) ** total.power - total.offset for y in given) * 2**measure.shift)
        found.append(SealedSums({(group,): tuple(sums) for group in range(groups)}))
    return found


def first_rounds(released: Released, plan: Plan, count: int) -> Released:
    return Released(released.keys, released.sums[: count * len(plan.passes) // plan.rounds])


@pytest.mark.parametrize("unit", [Rows(), Person("u")], ids=["rows", "people"])
@pytest.mark.parametrize("spend", [laplace(8), gaussian(4)], ids=["laplace", "gaussian"])
def test_even_the_worst_rule_for_stopping_misses_no_more_often_than_stated(spend: Spend, unit: Unit) -> None:
    groups, rows = 3000, 300
    plan = plan_of(spend, unit, COLUMNS, groups, "5%")
    receipt = Receipt(1, plan.digest, "test")
    released = release(exacts_of(plan, rows, groups), plan, receipt)
    each = 1 - 0.05 / plan.rounds
    missed: dict[str, Any] = {}
    stopped: dict[str, Any] = {}  # whether the interval missed at which a group stopped, once it has
    for count in range(1, plan.rounds + 1):
        answer = read_answer(first_rounds(released, plan, count), plan.first_rounds(count), receipt, confidence=each)
        for series in answer.series:
            if not series.noisy:
                continue
            truth, room = truth_of(rows)[series.name], 1e-6
            low, high = np.array(series.low), np.array(series.high)
            miss = (truth < low - room) | (truth > high + room)
            missed[series.name] = miss | missed.get(series.name, False)
            narrow = (low > 0) & (np.maximum(high - series.values, series.values - low) <= 0.05 * np.maximum(low, 1e-9))
            before = stopped.get(series.name, np.full(groups, np.nan))
            now = np.where(narrow | (count == plan.rounds), miss * 1.0, np.nan)
            stopped[series.name] = np.where(np.isnan(before), now, before)
    limit = 0.05 + FALSE_ALARMS * math.sqrt(0.05 * 0.95 / groups)
    for name, any_missed in missed.items():
        assert np.mean(any_missed) <= limit, name
        assert np.mean(stopped[name]) <= limit, name
    # and they are not as wide as if nothing were gained by averaging: some miss
    assert np.mean(missed["total"]) > 0.002


def truth_of(rows: int) -> dict[str, float]:
    values = 20 + 50 * (np.arange(rows) + 0.5) / rows
    return {
        "n": rows,
        "total": float(values.sum()),
        "mean": float(values.mean()),
        "var": float(values.var()),
        "sd": float(values.std(ddof=1)),
        "ratio": float(values.mean()),
    }


@pytest.mark.parametrize("spend", [laplace(8), gaussian(1)], ids=["laplace", "gaussian"])
def test_what_all_rounds_intervals_of_a_median_have_in_common_holds_it(spend: Spend) -> None:
    groups = 2000
    plan = plan_of(spend, Rows(), "MEDIAN(i) AS m", groups, 1)
    receipt = Receipt(1, plan.digest, "test")
    counts = (tuple(range(21)), tuple(5 + 30 * (place == 9) for place in range(21)))
    exacts = [SealedSums({}, {(group,): counts for group in range(groups)}) for _ in plan.passes]
    released = release(exacts, plan, receipt)
    missed = np.zeros(groups, dtype=bool)
    widths = []
    for count in range(1, plan.rounds + 1):
        answer = read_answer(first_rounds(released, plan, count), plan.first_rounds(count), receipt, confidence=0.99)
        low, high = np.array(answer["m"].low), np.array(answer["m"].high)
        missed |= (low > 9) | (high < 9)
        widths.append(float(np.mean(high - low)))
    narrower = sum(one > other for one, other in pairwise(widths))
    assert np.mean(missed) <= 0.05 + FALSE_ALARMS * math.sqrt(0.05 * 0.95 / groups)
    assert narrower >= 2, widths
