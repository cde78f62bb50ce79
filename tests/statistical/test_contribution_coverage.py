"""Heavy-tailed people: intervals that cover bounding hold the true totals, and chosen limits err little.

Sums are read once and noise is drawn many times. A test fails by chance about once in a hundred million runs.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow
import pytest
from scipy.stats import binom

from privet.answer import Answer
from privet.core.estimate import Covers
from privet.core.event import Receipt
from privet.core.scan import Scan, SealedSums
from privet.core.schema import AUTO, Contribution, Table, category, integer, number
from privet.core.unit import Person
from privet.core.wire import canonical
from privet.engines.duckdb.engine import DuckDB
from privet.inference.bars import Law
from privet.inference.sizes import limit_for, lost_at_most
from privet.planner.make import make_plan
from privet.planner.plan import Plan, Spend
from privet.planner.verify import verify
from privet.query.sql.parse import parse
from privet.release import release, sizes_first
from privet.results.read import read_answer

MOST = 200
TIMES = 160
ALARM = 1e-8
PURE = Spend(Fraction(1), Fraction(0), None, Fraction(0))
RHO = Spend(None, Fraction(0), Fraction(1, 2), Fraction(0))


def sizes_of(kind: str, people: int, most: int = MOST) -> Any:
    """Return how many rows each person has, the same for each run."""
    draw = np.random.default_rng(len(kind))
    made = {
        "pareto 1.2": lambda: np.floor((1 - draw.random(people)) ** (-1 / 1.2)),
        "pareto 2": lambda: np.floor((1 - draw.random(people)) ** (-1 / 2)),
        "geometric": lambda: draw.geometric(0.1, people),
        "lognormal": lambda: np.ceil(np.exp(draw.normal(1.5, 1.2, people))),
    }[kind]()
    return np.minimum(made, most).astype(np.int64)


@dataclass
class World:
    """Some people, and what each scan of them gives, read once."""

    kind: str
    read: dict[str, SealedSums] = field(default_factory=dict)

    @cached_property
    def rows(self) -> dict[str, Any]:
        sizes, draw = sizes_of(self.kind, 400), np.random.default_rng(3)
        who = np.repeat(np.arange(len(sizes)), sizes)
        # whoever has many rows has them in one group, with large numbers: so means and groups lose as well
        many = sizes[who] > 20
        group = np.where(many | (draw.random(len(who)) < 0.3), "a", "b")
        x = np.where(many, 7.0, draw.integers(-2, 4, len(who)).astype(float))
        return {"who": who, "g": group, "x": x}

    @cached_property
    def table(self) -> Table:
        columns = {"who": integer(), "g": category(["a", "b"]), "x": number(-3, 8, step=1)}
        limit = Contribution(groups=1, rows=2)
        facts: dict[str, Any] = {"contribution": limit, "most_rows": MOST}
        return Table(pyarrow.table(self.rows), unit=Person("who"), columns=columns, **facts)

    @cached_property
    def engine(self) -> DuckDB:
        return DuckDB({"t": self.table})

    def scan(self, scan: Scan) -> SealedSums:
        text = canonical(scan)
        if text not in self.read:
            self.read[text] = self.engine.scan(scan)
        return self.read[text]

    def plan(self, sql: str, spend: Spend, *, auto: bool, covers: Covers) -> Plan:
        tables = {"t": self.table.schema}
        plan = make_plan(parse(sql, tables), tables, spend=spend, contribution=AUTO if auto else None, covers=covers)
        verify(plan, tables)
        return plan

    def answers(self, plan: Plan, times: int = TIMES) -> Iterator[Answer]:
        receipt = Receipt(1, plan.digest, "somebody")
        for _ in range(times):
            first = {place: self.scan(plan.passes[place].scan) for place in plan.choosing}
            sizes = sizes_first(first, plan, receipt, plan) if first else {}
            final = plan.at_limits(plan.limits(sizes))
            exacts = [self.scan(one.scan) for one in final.passes]
            yield read_answer(release(exacts, plan, receipt, sizes=sizes), plan, receipt, confidence=0.95)


WORLDS = {kind: World(kind) for kind in ("pareto 1.2", "pareto 2", "geometric", "lognormal")}


def most_misses(times: int) -> int:
    return int(binom.isf(ALARM, times, 0.05))


def misses(answers: list[Answer], truth: dict[str, list[float]]) -> dict[tuple[str, int], int]:
    return {
        (name, row): sum(
            not (one[name].low or ())[row] <= value <= (one[name].high or ())[row]  # type: ignore[index]
            for one in answers
        )
        for name, values in truth.items()
        for row, value in enumerate(values)
    }


def truth_of(world: World) -> dict[str, list[float]]:
    found: dict[str, list[float]] = {"n": [], "sx": [], "m": []}
    for name in ("a", "b"):
        x = world.rows["x"][world.rows["g"] == name]
        found["n"].append(len(x))
        found["sx"].append(x.sum())
        found["m"].append(x.mean())
    return found


GROUPED = "SELECT g, COUNT(*) AS n, SUM(x) AS sx, AVG(x) AS m FROM t GROUP BY g"


@pytest.mark.parametrize("spend", [PURE, RHO], ids=["laplace", "gaussian"])
@pytest.mark.parametrize("auto", [False, True], ids=["declared", "auto"])
@pytest.mark.parametrize("kind", ["pareto 1.2", "lognormal"])
def test_counts_sums_and_means_of_groups_are_covered_as_if_nothing_were_bounded(
    kind: str, auto: bool, spend: Spend
) -> None:
    world = WORLDS[kind]
    plan = world.plan(GROUPED, spend, auto=auto, covers="bounding")
    found = misses(list(world.answers(plan)), truth_of(world))
    assert max(found.values()) <= most_misses(TIMES), found


@pytest.mark.parametrize("kind", list(WORLDS))
def test_the_true_number_of_rows_is_covered_where_an_interval_of_the_noise_misses_it(kind: str) -> None:
    world = WORLDS[kind]
    truth = {"n": [float(len(world.rows["who"]))]}
    sql = "SELECT COUNT(*) AS n FROM t"
    for spend in (PURE, RHO):
        noise = misses(list(world.answers(world.plan(sql, spend, auto=False, covers="noise"))), truth)
        assert noise["n", 0] == TIMES
        covered = list(world.answers(world.plan(sql, spend, auto=False, covers="bounding")))
        assert misses(covered, truth)["n", 0] <= most_misses(TIMES)
        assert all("up to 200 rows" in one.estimate.covers and "up to 200 rows" in one.notes[0] for one in covered)


def test_negative_numbers_that_are_lost_lower_an_interval() -> None:
    world = World("pareto 1.2")
    world.rows["x"] = -world.rows["x"] / 4
    plan = world.plan("SELECT SUM(x) AS n FROM t", PURE, auto=False, covers="bounding")
    truth = {"n": [float(np.floor(world.rows["x"] + 0.5).sum())]}
    assert misses(list(world.answers(plan)), truth)["n", 0] <= most_misses(TIMES)


@pytest.mark.parametrize("family", ["laplace", "gaussian"])
def test_a_loss_is_bounded_as_often_as_is_claimed_and_hardly_more(family: Any) -> None:
    # each person loses exactly what their bin loses at most, so that nothing but noise is between bound and truth
    draw, most, counts, times = np.random.default_rng(1), [0, 1, 2, 4, 8], np.array([50, 20, 9, 4, 1]), 4000
    truth = float(counts @ np.array(most))
    one = np.exp(-1 / 6)
    laplace = draw.geometric(1 - one, (times, 5)) - draw.geometric(1 - one, (times, 5))
    noise = laplace if family == "laplace" else np.round(draw.normal(0, 6, (times, 5))).astype(int)
    law, tail = Law(family, 6.0, 1.0), 0.1
    missed = sum(lost_at_most((counts + row).tolist(), most, law, tail) < truth for row in noise)
    assert missed <= binom.isf(ALARM, times, tail)
    assert missed >= binom.isf(1 - ALARM, times, tail / 3)


HEAVY = {"pareto 1.2": 1.6, "pareto 2": 1.6, "geometric": 1.6, "lognormal": 1.7}
"""The most that choosing a limit may err on average beside the best in hindsight, which pays nothing for it."""


@pytest.mark.parametrize("kind", list(HEAVY))
def test_a_chosen_limit_errs_little_more_than_the_best_in_hindsight(kind: str) -> None:
    epsilon, bins, draw = 0.1, 15, np.random.default_rng(5)
    sizes = sizes_of(kind, 30_000, 2**14)
    counts = np.bincount((sizes[:, None] > 2 ** np.arange(bins - 1)).sum(axis=1), minlength=bins)

    def lost(limit: int) -> float:
        return float(np.maximum(sizes - limit, 0).sum())

    best = min(limit / epsilon + lost(limit) for limit in np.unique(np.round(2 ** np.arange(0, 14, 0.1))).astype(int))
    spent, left = epsilon / 5, epsilon * 4 / 5
    errors, above = [], []
    for _ in range(60):
        noisy = [int(one) for one in np.round(counts + draw.laplace(0, 1 / spent, bins))]
        limit = limit_for(noisy, 1 / spent, 1 / left)
        errors.append((limit / left + lost(limit)) / best)
        above.append(float((sizes > limit).sum()) * left)
    assert float(np.median(errors)) <= 1.5
    assert float(np.mean(errors)) <= HEAVY[kind]
    centre = float(np.exp(np.mean(np.log(np.array(above) + 0.1))))
    assert 0.5 <= centre <= 2
