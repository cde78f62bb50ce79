"""Intervals of what is computed over several released rows hold the value without noise as often as they say.

Each case releases the same exact sums for thousands of groups at once, in partitions of a few, through `release` and
the reader, with no engine. A test fails only if its count is beyond what the stated limit would give once in 1e8 runs.
"""

from __future__ import annotations

import math
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from privet.core.event import Receipt
from privet.core.scan import SealedSums
from privet.planner.make import make_plan
from privet.planner.plan import Plan
from privet.query.sql.parse import parse
from privet.release import Released, release

sys.path.insert(0, str(Path(__file__).parent))

from test_answer_coverage import CASES, FALSE_ALARMS, Case, exact_sums, read, schema_of

GROUPS, EACH = 3000, 6
TOGETHER = f"PARTITION BY BIN(g, {EACH})"
CLOSED = (
    f"SUM(COUNT(*)) OVER ({TOGETHER}) AS total, SUM(COUNT(*)) OVER ({TOGETHER} ORDER BY g) AS running, "
    f"AVG(COUNT(*)) OVER ({TOGETHER}) AS mean, COUNT(*) - LAG(COUNT(*)) OVER ({TOGETHER} ORDER BY g) AS change, "
    f"SUM(SUM(x)) OVER ({TOGETHER} ORDER BY g ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) AS moving, "
    f"2 * COUNT(*) - SUM(COUNT(*)) OVER ({TOGETHER}) AS correlated"
)
SIMULATED = (
    f"COUNT(*) * 1.0 / SUM(COUNT(*)) OVER ({TOGETHER}) AS share, "
    f"SUM(x) / SUM(SUM(x)) OVER ({TOGETHER} ORDER BY g) AS part, "
    f"AVG(x) - LAG(AVG(x)) OVER ({TOGETHER} ORDER BY g) AS moved"
)
WIDE = (
    f"MAX(COUNT(*)) OVER ({TOGETHER}) AS greatest, MIN(SUM(x)) OVER ({TOGETHER}) AS least, "
    f"MEDIAN(COUNT(*)) OVER ({TOGETHER}) AS middle, SUM(AVG(x)) OVER ({TOGETHER}) AS means, "
    f"ABS(COUNT(*) - FIRST_VALUE(COUNT(*)) OVER ({TOGETHER} ORDER BY g)) AS apart"
)


def plan_of(case: Case, columns: str) -> Plan:
    tables = {"t": schema_of(case, GROUPS)}
    return make_plan(parse(f"SELECT g, {columns} FROM t GROUP BY g", tables), tables, spend=case.spend)


def coverage(case: Case, columns: str) -> dict[str, tuple[float, int]]:
    """Return for each column how often its intervals hold what it is without noise, and in how many partitions.

    Rows of one partition have noise in common: they are counted place by place, and the least counts.
    """
    plan = plan_of(case, columns)
    sums = exact_sums(plan, case)
    receipt = Receipt(1, plan.digest, "test")
    cells = tuple((group,) for group in range(GROUPS))
    truth = read(Released(cells, tuple(tuple((value,) * GROUPS for value in row) for row in sums)), plan, receipt)
    exacts = [SealedSums(dict.fromkeys(cells, row)) for row in sums]
    answer = read(release(exacts, plan, receipt), plan, receipt)
    found: dict[str, tuple[float, int]] = {}
    for series in answer.series:
        if series.noisy:
            held = [_held(series, place, truth[series.name].values[place]) for place in range(GROUPS)]
            by_place = np.array(held, dtype=float).reshape(-1, EACH)
            known = ~np.isnan(by_place[0])
            found[series.name] = (float(by_place[:, known].mean(axis=0).min()), len(by_place))
    return found


def _held(series: Any, place: int, value: Any) -> float:
    if value is None:
        return math.nan
    room = 1e-9 * max(1.0, abs(value))
    assert math.isfinite(series.low[place])
    return float(series.low[place] - room <= value <= series.high[place] + room)


@pytest.mark.parametrize("case", CASES[1:4:2], ids=lambda case: case.name)
@pytest.mark.parametrize("columns", [CLOSED, SIMULATED, WIDE], ids=["closed", "simulated", "wide"])
def test_intervals_over_several_rows_hold_as_often_as_they_say(columns: str, case: Case) -> None:
    for name, (covered, trials) in coverage(case, columns).items():
        assert covered >= 0.94 - FALSE_ALARMS * math.sqrt(0.94 * 0.06 / trials), name


def test_sums_are_no_wider_than_their_noise_makes_them() -> None:
    """A sum of six counts has the root of six times the noise of one, and not six times."""
    for case in CASES[:1], CASES[2:3]:
        answer_plan = plan_of(case[0], f"COUNT(*) AS n, SUM(COUNT(*)) OVER ({TOGETHER}) AS total")
        sums = exact_sums(answer_plan, case[0])
        receipt = Receipt(1, answer_plan.digest, "test")
        cells = tuple((group,) for group in range(GROUPS))
        exacts = [SealedSums(dict.fromkeys(cells, row)) for row in sums]
        answer = read(release(exacts, answer_plan, receipt), answer_plan, receipt)
        half = [
            (series.high[0] - series.low[0]) / 2  # type: ignore[index]
            for series in (answer["n"], answer["total"])
        ]
        assert half[1] < half[0] * math.sqrt(EACH) * Fraction(13, 10)
        assert half[1] > half[0] * math.sqrt(EACH) * Fraction(8, 10)


def test_a_choice_by_noise_is_never_summed_into_a_narrow_interval() -> None:
    """Of groups without rows, those whose noise came out positive add up to far more than nothing."""
    case = Case("empty", CASES[0].spend, CASES[0].unit, 0)
    tables = {"t": schema_of(case, GROUPS)}
    for chosen in (
        "SELECT SUM(n) AS s, COUNT(*) AS c, AVG(n) AS m FROM ({}) WHERE n > 0",
        "SELECT SUM(n) AS s, COUNT(*) AS c, AVG(n) AS m FROM (SELECT * FROM ({}) ORDER BY n DESC LIMIT 100)",
        "SELECT SUM(n) FILTER (WHERE n > 0) AS s, COUNT(*) FILTER (WHERE n > 0) AS c, "
        "AVG(n) FILTER (WHERE n > 0) AS m FROM ({})",
        "SELECT SUM(n) OVER (ORDER BY n DESC ROWS UNBOUNDED PRECEDING) AS s, RANK() OVER (ORDER BY n) AS c, "
        "FIRST_VALUE(n) OVER (ORDER BY n) AS m FROM ({})",
        "SELECT SUM(n) OVER () AS s, COUNT(*) OVER () AS c, AVG(n) OVER () AS m FROM ({}) WHERE n > 0",
        "SELECT SUM(n) AS s, COUNT(*) AS c, AVG(n) AS m FROM ({}) GROUP BY n > 0",
    ):
        sql = chosen.format("SELECT g, COUNT(*) AS n FROM t GROUP BY g")
        plan = make_plan(parse(sql, tables), tables, spend=case.spend)
        exacts = [SealedSums({(group,): (0,) for group in range(GROUPS)})]
        receipt = Receipt(1, plan.digest, "test")
        answer = read(release(exacts, plan, receipt), plan, receipt)
        for name in ("s", "c", "m"):
            assert set(answer[name].low or ()) <= {-math.inf}, (sql, name)
            assert set(answer[name].high or ()) <= {math.inf}, (sql, name)
            assert answer[name].noisy, (sql, name)
        assert any("no interval can be stated" in note for note in answer.notes)
