"""Intervals of levels that were made to agree hold what the levels are without noise as often as they say.

The same exact sums are released again and again, through `release` and the reader. A test fails only if its count is
beyond what coverage at the stated limit would give once in 1e8 runs.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import pytest

from privet.core.event import Receipt
from privet.core.scan import SealedSums
from privet.core.schema import Contribution, Schema, category, integer
from privet.core.unit import Person, Rows, Unit
from privet.inference.bars import Law
from privet.inference.levels import Noise
from privet.planner.batch import make_batch
from privet.planner.groupings import Levels
from privet.planner.plan import Plan, Spend
from privet.query.sql.parse import parse
from privet.release import release_all
from privet.results.read import _law, read_levels

FALSE_ALARMS = 5.7
"""This many standard deviations are exceeded once in 1.6e8 times on one side."""

RUNS = 200
EACH = 40
"""Rows in each of the finest groups, whose values are 10 and 30 by turns."""


@dataclass(frozen=True)
class Case:
    name: str
    spend: Spend
    unit: Unit
    by: str = "ROLLUP (g, h)"
    confidence: float = 0.95


CASES = [
    Case("laplace, people", Spend(Fraction(6), Fraction(0), None, Fraction(0)), Person("u")),
    Case("laplace, rows", Spend(Fraction(3), Fraction(0), None, Fraction(0)), Rows()),
    Case("little noise on whole numbers", Spend(Fraction(30), Fraction(0), None, Fraction(0)), Rows()),
    Case("gaussian, people", Spend(None, Fraction(0), Fraction(1), Fraction(0)), Person("u"), "CUBE (g, h)"),
    Case("laplace at 80%", Spend(Fraction(6), Fraction(0), None, Fraction(0)), Person("u"), "CUBE (g, h)", 0.8),
    Case("laplace at 99%", Spend(Fraction(6), Fraction(0), None, Fraction(0)), Person("u"), "ROLLUP (g, h)", 0.99),
]


def exact_of(plan: Plan) -> list[SealedSums]:
    """Return the sums of the level: of every finest group the same, and a number of them in each of its own."""
    found = []
    for one in plan.passes:
        names = [str(key.expression) for key in one.scan.keys]
        cells = [()] if not names else [(value,) for value in one.scan.keys[0].values or ()]
        if len(names) == 2:
            cells = [(first, second) for (first,) in cells for second in one.scan.keys[1].values or ()]
        rows = EACH * 12 // len(cells)
        sums = []
        for measure in one.measures:
            each = 20 - measure.sum.origin if measure.sum.expression is not None else Fraction(1)
            sums.append(int(rows * each / measure.sum.step) << measure.shift)
        found.append(SealedSums({cell: tuple(sums) for cell in cells}))
    return found


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_intervals_of_what_agrees_hold_as_often_as_they_say(case: Case) -> None:
    columns = {"u": integer(), "g": category(["a", "b", "c", "d"]), "h": integer(0, 2), "x": integer(0, 50)}
    typical = {} if isinstance(case.unit, Rows) else {"contribution": Contribution(groups=2, rows=1)}
    tables = {"d": Schema(unit=case.unit, columns=columns, **typical)}  # type: ignore[arg-type]
    query = parse(
        f"SELECT GROUPING(g, h) AS id, COUNT(*) AS n, SUM(x) AS s, AVG(x) AS m, 2 * SUM(x) / COUNT(*) AS twice FROM d "
        f"GROUP BY {case.by}",
        tables,
    )
    batch = make_batch([query], tables, spend=case.spend, weights=[1])
    (plan,) = batch.plans
    assert isinstance(plan, Levels)
    exacts = [exact_of(one) for one in batch.releases]
    receipt = Receipt(1, batch.digest, "session")
    held: dict[tuple[int, str], int] = {}
    widths: dict[tuple[int, str], float] = {}
    for _ in range(RUNS):
        released = dict(zip((one.digest for one in batch.releases), release_all(exacts, batch, receipt), strict=True))
        answer = read_levels([released[one.digest] for one in plan.plans], plan, receipt, confidence=case.confidence)
        seen = set()
        for row in answer:  # one group of each level, so that runs are independent
            if row["id"] in seen:
                continue
            seen.add(row["id"])
            for name, true in truths(row["id"]).items():
                low, high = row[f"{name}_low"], row[f"{name}_high"]
                held[row["id"], name] = held.get((row["id"], name), 0) + (low - 1e-9 <= true <= high + 1e-9)
                widths[row["id"], name] = high - low
    least = RUNS * (case.confidence - 0.01)
    slack = FALSE_ALARMS * math.sqrt(RUNS * case.confidence * (1 - case.confidence))
    assert {key: count for key, count in held.items() if count < least - slack} == {}
    closed = {key: count for key, count in held.items() if key[1] in "ns"}
    if isinstance(case.unit, Person) and case.confidence < 0.99:  # and are no wider than that
        assert {key: count for key, count in closed.items() if count > RUNS * (case.confidence + 0.01) + slack} == {}


def truths(level: int) -> dict[str, Any]:
    rows = EACH * {0: 1, 1: 3, 2: 4, 3: 12}[level]
    return {"n": rows, "s": 20 * rows, "m": 20, "twice": 40}


def test_levels_that_agree_are_more_accurate_than_each_alone() -> None:
    columns = {"u": integer(), "g": category(["a", "b", "c", "d"]), "h": integer(0, 2)}
    tables = {"d": Schema(unit=Person("u"), columns=columns, contribution=Contribution(groups=2, rows=1))}
    query = parse("SELECT g, h, COUNT(*) AS n FROM d GROUP BY ROLLUP (g, h)", tables)
    batch = make_batch([query], tables, spend=CASES[0].spend, weights=[1], shared=False)
    (plan,) = batch.plans
    assert isinstance(plan, Levels)
    exacts = [SealedSums({}) for _ in batch.releases]
    receipt = Receipt(1, batch.digest, "session")
    released = dict(
        zip((one.digest for one in batch.releases), release_all([[one] for one in exacts], batch, receipt), strict=True)
    )
    answer = read_levels([released[one.digest] for one in plan.plans], plan, receipt, confidence=0.95)
    errors = [row["n_error"] for row in answer]
    alone = [
        one.passes[0].measures[0].standard_deviation for one in plan.plans for _ in range(len(one.query.keys) or 1)
    ]
    assert max(errors) < max(alone)
    assert all(error < alone[0] for error in errors)


@pytest.mark.parametrize("family", ["gaussian", "laplace"])
def test_the_noise_of_what_agrees_has_the_variance_of_all_its_parts(family: Any) -> None:
    noise = Noise((((0,), 0.5, 3), ((0, 1), 0.25, 12)))
    laws = {(0,): Law(family, 4.0), (0, 1): Law(family, 8.0)}
    made = _law(noise, laws).deviation ** 2
    assert made == pytest.approx(noise.variance({axes: law.deviation**2 for axes, law in laws.items()}), rel=1e-6)
