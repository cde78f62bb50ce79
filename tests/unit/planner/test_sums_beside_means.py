"""COUNT, SUM and AVG of one column: two noisy sums instead of three where SUM errs no more, with honest intervals."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable
from fractions import Fraction as F
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import privet
from privet.aggregates import CentredTotal, Total
from privet.planner.batch import digests_of
from privet.planner.groupings import Levels
from privet.planner.make import reads_beside
from privet.planner.plan import Plan, Reading

sys.path.insert(0, str(Path(__file__).parents[2] / "golden"))

from golden_hospital import HERE, planning

THREE = "SELECT COUNT(*) AS n, SUM(x) AS s, AVG(x) AS m FROM t"
BOUNDS = [(0, 100), (20_000, 200_000), (-50, 50), (-20, 100)]
BUDGETS: dict[str, tuple[Any, dict[str, Any]]] = {
    "laplace": (privet.Pure(epsilon=10_000), {"epsilon": 1}),
    "gaussian": (privet.Zcdp(rho=10_000), {"rho": F(1, 2)}),
}


def over(
    low: float, high: float, budget: Any, *, rows: int = 500, step: float | None = None, **facts: Any
) -> privet.Session:
    values = [low + (high - low) * ((i * 37) % 101) / 100 for i in range(rows)]
    column = privet.number(low, high, step=step)
    table = privet.Table(
        pa.table({"x": values, "g": ["ab"[i % 2] for i in range(rows)]}),
        unit=privet.Rows(),
        columns={"x": column, "g": privet.category(["a", "b"])},
        **facts,
    )
    return privet.Session({"t": table}, budget=budget)


def sums(plan: Plan) -> int:
    return sum(len(one.measures) for one in plan.passes)


def of_sum(plan: Plan) -> Reading:
    (reading,) = (one for one in plan.readings if isinstance(one.aggregate, (Total, CentredTotal)))
    return reading


def predicted(plan: Plan) -> float:
    """Return the standard deviation of SUM, from the laws of the noise of what it is read from."""
    reading = of_sum(plan)
    laws = [plan.law(place).deviation for place in reading.places]
    argument = reading.aggregate.argument  # type: ignore[attr-defined]
    if isinstance(reading.aggregate, Total):
        return float(laws[0] * float(argument.plain().step))
    return math.hypot(laws[0] * float(argument.centred().step), float(argument.middle) * laws[1])


@pytest.mark.parametrize("family", BUDGETS)
@pytest.mark.parametrize("ends", BOUNDS)
def test_three_questions_about_a_column_pay_for_two_sums_and_err_less(family: str, ends: tuple[int, int]) -> None:
    budget, cost = BUDGETS[family]
    with over(*ends, budget, step=1) as session:
        plan = session.plan(THREE, **cost)
        assert sums(plan) == 2
        assert plan.before is not None
        assert sums(plan.before) == 3
        assert plan.price == pytest.approx(plan.before.price)
        assert predicted(plan) < predicted(plan.before)
        factor = 2 / 3 if family == "laplace" else math.sqrt(2 / 3)
        widths = [{one["column"]: one for one in made.to_dict()["columns"]} for made in (plan, plan.before)]
        ratio = widths[0]["m"]["at"][-1]["half_width"] / widths[1]["m"]["at"][-1]["half_width"]
        assert ratio == pytest.approx(factor, rel=0.03)  # but for half a step of the grid
        assert "Reads SUM of x" in plan.explain()
        assert "Reads SUM of x" not in plan.before.explain()
        assert plan.digest == session.plan("SELECT AVG(x) FROM t", **cost).digest


@pytest.mark.parametrize("family", BUDGETS)
@pytest.mark.parametrize("ends", BOUNDS)
def test_what_is_read_beside_a_mean_errs_as_predicted_and_its_interval_covers(
    family: str, ends: tuple[int, int]
) -> None:
    budget, cost = BUDGETS[family]
    draws = 40_000
    with over(*ends, budget, step=1) as session:
        answer = session.ask(THREE, **cost)
        plan = answer.plan
    total, count = answer.measurements()
    assert total.law is not None
    assert count.law is not None
    noise = np.asarray(total.law.sample(draws), dtype=np.float64) * float(total.step or 0)
    noise += float(total.centre) * np.asarray(count.law.sample(draws), dtype=np.float64)
    assert answer["s"].values[0] == pytest.approx(total.value + float(total.centre) * count.value, rel=1e-12)
    assert float(np.std(noise)) == pytest.approx(predicted(plan), rel=0.04)
    assert answer["s"].error is not None
    assert float(np.std(noise)) == pytest.approx(answer["s"].error[0], rel=0.04)
    (width,) = (one["half_width"] for one in plan.to_dict()["columns"] if one["column"] == "s")
    assert answer["s"].high is not None
    assert answer["s"].high[0] - answer["s"].values[0] == pytest.approx(width)
    for confidence in (0.8, 0.95, 0.99):
        laws = [plan.law(place) for place in of_sum(plan).places]
        half = of_sum(plan).aggregate.predicted_width(laws, 1, 1 - confidence)
        assert half is not None
        held = float(np.mean(np.abs(noise) <= half))
        slack = 6 * math.sqrt(confidence * (1 - confidence) / draws)
        # half a step of each grid is added, which a count with so little noise feels: the interval is no narrower
        assert confidence - slack <= held <= confidence + slack + 0.09


def test_three_sums_stay_where_the_sum_would_err_more() -> None:
    # change-one, filtered: a unit may leave, so the centred sum moves by 180,000, and the sum itself by 200,000
    facts = {"neighbors": "change-one", "units": 500}
    others = ", ".join(f"COUNT(*) FILTER (WHERE x > {100 * i}) AS n{i}" for i in range(1, 30))
    asked = "SELECT SUM(x) AS s, AVG(x) AS m{} FROM t WHERE g = 'a'"
    with over(20_000, 200_000, privet.Pure(epsilon=1000), **facts) as session:
        few, many = (session.plan(asked.format(more), epsilon=1) for more in ("", f", {others}"))
    assert len(reads_beside(few)) == 1
    assert not reads_beside(many)
    assert many.before is None


def test_a_public_number_of_rows_needs_one_noisy_sum_for_all_three() -> None:
    with over(0, 100, privet.Pure(epsilon=1000), neighbors="change-one", units=500) as session:
        plan = session.plan(THREE, epsilon=1)
        assert sums(plan) == 1
        answer = session.ask(THREE, epsilon=1)
    (total, rows) = answer.measurements()
    assert (rows.kind, rows.value) == ("public", 500.0)
    assert answer["s"].values[0] == pytest.approx(total.value + 50 * 500)
    assert answer["s"].low is not None
    assert answer["s"].low[0] <= answer["s"].values[0] <= (answer["s"].high or (0,))[0]
    assert answer["s"].values[0] == pytest.approx(500 * 50, abs=2000)  # noise of scale 100 exceeds it once in 5e8 runs


def test_sums_that_are_shared_already_keep_their_plan() -> None:
    with over(-50, 50, privet.Pure(epsilon=10)) as session:  # without a step, both are the same sum
        plan = session.plan(THREE, epsilon=1)
    assert sums(plan) == 2
    assert plan.before is None


def test_a_sum_without_a_mean_beside_it_is_its_own() -> None:
    with over(0, 100, privet.Pure(epsilon=10)) as session:
        for asked in ("COUNT(*) AS n, SUM(x) AS s", "SUM(x) AS s", "SUM(x) AS s, AVG(x) FILTER (WHERE g = 'a') AS m"):
            assert not reads_beside(session.plan(f"SELECT {asked} FROM t", epsilon=1))


def test_an_answer_that_was_paid_for_as_three_sums_is_found_free() -> None:
    with over(0, 100, privet.Pure(epsilon=10)) as session:
        plan = session.plan(THREE, epsilon=1)
        assert plan.before is not None
        stored = session.run(plan.before)
        charged = len(session.history())
        found = session.ask(THREE, epsilon=1)
        assert len(session.history()) == charged
        assert found.to_dict() == stored.to_dict()
        assert len(found.measurements()) == 3
        assert session.ask("SELECT AVG(x) AS m FROM t", epsilon=1).receipt != stored.receipt


def test_a_mean_that_was_paid_for_gives_its_sum_for_nothing() -> None:
    with over(0, 100, privet.Pure(epsilon=10)) as session:
        mean = session.ask("SELECT AVG(x) AS m FROM t", epsilon=1)
        both = session.ask("SELECT SUM(x) AS s, AVG(x) AS m FROM t", epsilon=1)
        assert both.receipt == mean.receipt
        assert both["m"].values == mean["m"].values
        assert len(session.history()) == 1


def test_levels_agree_on_sums_that_are_read_beside_means() -> None:
    with over(0, 100, privet.Pure(epsilon=100), step=1) as session:
        asked = "SELECT g, SUM(x) AS s, AVG(x) AS m, COUNT(*) AS n FROM t GROUP BY ROLLUP (g)"
        answer = session.ask(asked, epsilon=1)
        assert isinstance(answer.plan, Levels)
        assert all(len(reads_beside(one)) == 1 for one in answer.plan.plans)
    a, b, total = answer["s"].values
    assert a + b == pytest.approx(total)
    for mean, count, value in zip(answer["m"].values, answer["n"].values, answer["s"].values, strict=True):
        assert mean * count == pytest.approx(value, rel=1e-6)


def test_a_width_of_the_sum_has_a_price_and_costs_less_than_three_sums() -> None:
    with over(0, 100, privet.Pure(epsilon=100)) as session:
        plan = session.plan(THREE, within={"s": 400})
        assert plan.rounds == 1
        assert plan.before is not None
        assert plan.price["epsilon"] < plan.before.price["epsilon"]
        answer = session.run(plan)
    assert (answer["s"].high or (0,))[0] - answer["s"].values[0] <= 400


def test_a_derived_column_of_such_a_sum_has_the_interval_of_the_sum() -> None:
    with over(0, 100, privet.Pure(epsilon=100)) as session:
        answer = session.ask("SELECT 2 * SUM(x) + 3 AS d, SUM(x) AS s, AVG(x) AS m FROM t", epsilon=1)
    for end in ("low", "high"):
        assert getattr(answer["d"], end)[0] == pytest.approx(2 * getattr(answer["s"], end)[0] + 3)


def test_the_aggregate_reads_what_the_sum_is() -> None:
    with over(20, 60, privet.Pure(epsilon=100), step=0.5) as session:
        plan = session.plan(THREE, epsilon=1)
    (one,) = reads_beside(plan)
    assert isinstance(one, CentredTotal)
    rows = np.array([20.0, 33.5, 60.0])
    centred = np.array([np.sum((rows - 40) / float(one.argument.centred().step))])
    assert one.read(centred, np.array([3.0])) == pytest.approx([rows.sum()])
    assert (one.most, one.ends) == (60.0, (0.0, math.inf))


EARLIER: dict[str, str] = json.loads((HERE / "planned_apart.json").read_text(encoding="utf-8"))
QUESTIONS: dict[str, Callable[[privet.Session, dict[str, Any]], Any]] = {
    "three": lambda s, cost: s.plan("SELECT COUNT(*) AS n, SUM(cost) AS s, AVG(cost) AS m FROM visit", **cost),
    "groups": lambda s, cost: s.plan("SELECT kind, SUM(cost) AS s, AVG(cost) AS m FROM visit GROUP BY kind", **cost),
    "levels": lambda s, cost: s.plan(
        "SELECT kind, COUNT(*) n, SUM(cost) AS s, AVG(cost) AS m FROM visit GROUP BY ROLLUP(kind)", **cost
    ),
    "quantile": lambda s, cost: s.plan("SELECT SUM(score) AS s, AVG(score) AS m, MEDIAN(cost) AS q FROM visit", **cost),
    "width": lambda s, _: s.plan(
        "SELECT COUNT(*) AS n, SUM(cost) AS s, AVG(cost) AS m FROM visit", within={"s": 20000}
    ),
    "rounds": lambda s, _: s.plan(
        "SELECT COUNT(*) AS n, SUM(cost) AS s, AVG(cost) AS m FROM visit", within={"m": "5%"}, at_most=4
    ),
    "batch": lambda s, cost: s.plan_all(
        [
            "SELECT COUNT(*) AS n, SUM(cost) AS s, AVG(cost) AS m FROM visit",
            "SELECT COUNT(*) AS n FROM visit WHERE urgent",
            "SELECT kind, SUM(cost) AS s, AVG(cost) AS m FROM visit GROUP BY kind",
        ],
        **cost,
    ),
    "batch of widths": lambda s, _: s.plan_all(
        [
            "SELECT COUNT(*) AS n, SUM(cost) AS s, AVG(cost) AS m FROM visit",
            "SELECT COUNT(*) AS n FROM visit WHERE urgent",
        ],
        within=[{"s": 20000}, None],
    ),
}


@pytest.mark.parametrize("budget", ["pure", "approximate", "zcdp"])
@pytest.mark.parametrize("name", QUESTIONS)
def test_every_digest_from_before_is_still_found(name: str, budget: str) -> None:
    plan = QUESTIONS[name](planning(budget), {"rho": 0.5} if budget == "zcdp" else {"epsilon": 1})
    found = digests_of(plan)
    assert tuple(EARLIER[f"{budget}: {name}"]) in found
    assert len(found) == {"batch of widths": 1, "quantile": 3}.get(name, 2)  # intervals of quantiles changed later


@pytest.mark.parametrize("family", BUDGETS)
def test_in_a_list_two_sums_are_judged_by_the_share_of_the_list(family: str) -> None:
    """Among many other sums, one less is a small part of the price; the middle of the column may cost more."""
    budget, cost = BUDGETS[family]
    three = ["SELECT COUNT(*) FROM t", "SELECT SUM(x) FROM t", "SELECT AVG(x) FROM t"]
    others = [f"SELECT SUM(x * {factor}) AS s FROM t WHERE x > {factor}" for factor in range(2, 30)]
    with over(0, 100, budget, step=1, neighbors="change-one") as session:
        for asked, expected in ((three, 2), ([*three, *others], 3)):
            batch = session.plan_all(asked, **cost)
            (plan,) = (one for one in batch.releases if one.query.where is None)
            assert sums(plan) == expected
            if expected == 2:
                assert batch.plans[1].before is not None
                assert predicted(batch.plans[1]) < predicted(batch.plans[1].before)
