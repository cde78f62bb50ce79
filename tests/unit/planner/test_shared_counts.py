"""Several SUMs with Gaussian noise: centred sums and one count that they share, where all of them err less so."""

from __future__ import annotations

import math
from fractions import Fraction as F
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import privet
from privet.aggregates import CentredTotal, Total
from privet.aggregates.column_sums import Mean
from privet.inference.bars import Law, beside_rounded, half_width
from privet.planner.batch import digests_of
from privet.planner.plan import Plan

NAMES = "abcdefhijklmnopq"


def table(ends: list[tuple[int, int]], *, unit: Any = None, nullable: bool = False, **facts: Any) -> privet.Table:
    """Return a table of 400 rows with a column of whole numbers for each pair of ends."""
    columns: dict[str, Any] = {
        name: privet.integer(*pair, nullable=nullable) for name, pair in zip(NAMES, ends, strict=False)
    }
    data: dict[str, list[Any]] = {
        name: [pair[0] + (row * 7) % (pair[1] - pair[0] + 1) for row in range(400)]
        for name, pair in zip(NAMES, ends, strict=False)
    }
    columns |= {"who": privet.integer(), "g": privet.category(["u", "v"])}
    data |= {"who": [row // 4 for row in range(400)], "g": ["uv"[row % 2] for row in range(400)]}
    return privet.Table(pa.table(data), unit=unit or privet.Rows(), columns=columns, **facts)


def session(ends: list[tuple[int, int]], budget: Any = None, **facts: Any) -> privet.Session:
    return privet.Session({"t": table(ends, **facts)}, budget=budget or privet.Zcdp(rho=1000))


def sums(many: int) -> str:
    return ", ".join(f"SUM({name}) AS {name}" for name in NAMES[:many])


def variance(plan: Plan, name: str) -> float:
    """Return the variance of the noise of a SUM, or of a count, from the laws of what it is read from."""
    (reading,) = (one for one in plan.readings if plan_names(plan)[one.name] == name)
    own: Any = reading.aggregate
    factors = (own.argument.centred().step, own.argument.middle) if isinstance(own, CentredTotal) else (own.linear,)
    laws = [plan.law(place).deviation for place in reading.places]
    return sum((law * float(factor)) ** 2 for law, factor in zip(laws, factors, strict=True))


def plan_names(plan: Plan) -> dict[str, str]:
    from privet.query.resolve import meanings

    return {meaning.column: name for name, meaning in meanings(plan.query).items() if meaning.column is not None}


@pytest.mark.parametrize("many", [2, 3, 4, 9, 16])
@pytest.mark.parametrize("people", [False, True])
def test_d_sums_err_by_the_root_of_d_and_one_over_two(many: int, people: bool) -> None:
    facts: dict[str, Any] = (
        {"unit": privet.Person("who"), "contribution": privet.Contribution(groups=1, rows=3)} if people else {}
    )
    rho, most = F(1, 50), 3 if people else 1
    with session([(0, 10 * (place + 1)) for place in range(many)], **facts) as opened:
        plan = opened.plan(f"SELECT {sums(many)} FROM t", rho=rho)
    assert plan.unshared is not None
    assert plan.event.rho() == plan.unshared.event.rho() == rho
    unit = 1 / math.sqrt(2 * float(rho))
    for place, name in enumerate(NAMES[:many]):
        largest = most * 10 * (place + 1) * unit
        assert math.sqrt(variance(plan.unshared, name)) == pytest.approx(math.sqrt(many) * largest)
        assert math.sqrt(variance(plan, name)) == pytest.approx((math.sqrt(many) + 1) / 2 * largest, rel=1e-4)


@pytest.mark.parametrize("many", [1, 2, 5])
def test_a_count_that_is_asked_for_is_shared_and_errs_no_more_than_the_sums(many: int) -> None:
    with session([(0, 10)] * many) as opened:
        plan = opened.plan(f"SELECT {sums(many)}, COUNT(*) AS n FROM t", rho=F(1, 2))
    assert plan.unshared is not None
    # at equal variances T of all, d / (4 - 1) + 1 = T
    assert variance(plan, "n") == pytest.approx(1 + many / 3, rel=1e-4)
    assert variance(plan, "a") == pytest.approx(100 * (1 + many / 3), rel=1e-4)
    assert variance(plan.unshared, "n") == pytest.approx(1 + many)


def test_all_that_is_asked_beside_the_sums_errs_less_by_the_same_factor() -> None:
    asked = "SELECT g, SUM(a) AS a, SUM(b) AS b, AVG(c) AS c, SUM(d) AS d, COUNT(*) AS n FROM t GROUP BY g"
    with session([(0, 10), (18, 90), (0, 1), (-5, 5)]) as opened:
        plan = opened.plan(asked, rho=F(1, 2))
        assert opened.ask(asked, rho=F(1, 2)).plan.digest == plan.digest
    before = plan.unshared
    assert before is not None
    ratios = [variance(before, name) / variance(plan, name) for name in "abdn"]
    assert min(ratios) == pytest.approx(max(ratios), rel=1e-4)
    assert min(ratios) == pytest.approx(5 / (3 + 1 / 3 + 1 / 4), rel=1e-4)
    mean, was = (next(one for one in made.readings if isinstance(one.aggregate, Mean)) for made in (plan, before))
    for now, then in zip(mean.places, was.places, strict=True):
        assert (before.law(then).deviation / plan.law(now).deviation) ** 2 == pytest.approx(min(ratios), rel=1e-4)
    kinds = {plan_names(plan)[one.name]: type(one.aggregate) for one in plan.readings}
    assert (kinds["a"], kinds["b"], kinds["d"]) == (CentredTotal, CentredTotal, Total)  # d is centred at 0 already
    assert f"variances are {min(ratios):.3g} times smaller" in plan.explain()
    assert "Reads SUM of a and b as centred sums plus 5 and 54 times a count that they share" in plan.explain()


@pytest.mark.parametrize(
    ("ends", "asked", "facts"),
    [
        ([(0, 10)], "SUM(a)", {}),
        ([(-5, 5), (-1, 1)], "SUM(a), SUM(b)", {}),
        ([(0, 10)], "SUM(a), SUM(a) AS again", {}),
        ([(0, 10), (0, 10)], "AVG(a), AVG(b)", {}),
        ([(0, 10), (0, 10)], "SUM(a), SUM(b)", {"neighbors": "change-one", "units": 400}),
        ([(0, 10), (0, 10)], "SUM(a), SUM(b)", {"nullable": True}),
    ],
)
def test_sums_stay_apart_where_a_shared_count_gains_nothing(
    ends: list[tuple[int, int]], asked: str, facts: dict[str, Any]
) -> None:
    with session(ends, **facts) as opened:
        assert opened.plan(f"SELECT {asked} FROM t", rho=F(1, 2)).unshared is None


def test_pure_accounts_are_planned_as_they_were() -> None:
    with session([(0, 10)] * 8, privet.Pure(epsilon=100)) as opened:
        plan = opened.plan(f"SELECT {sums(8)} FROM t", epsilon=1)
        assert plan.unshared is None
        assert {type(one.aggregate) for one in plan.readings} == {Total}
        assert len(digests_of(plan)) == 1


def test_with_a_delta_gaussian_noise_is_taken_where_all_sums_err_less_than_with_laplace_noise() -> None:
    few, many = f"SELECT {sums(3)} FROM t", f"SELECT {sums(8)} FROM t"
    with session([(0, 10)] * 8, privet.Approximate(epsilon=100, delta=F(1, 10**6))) as opened:
        small, large = (opened.plan(asked, epsilon=1) for asked in (few, many))
    assert small.unshared is None
    assert large.unshared is not None
    assert large.unshared.passes[0].measures[0].mechanism.family == "laplace"
    assert large.passes[0].measures[0].mechanism.family == "gaussian"
    assert all(variance(large, name) < variance(large.unshared, name) for name in NAMES[:8])
    assert large.price["epsilon"] <= 1
    assert large.price["epsilon"] == pytest.approx(1, rel=1e-4)


def test_laplace_noise_stays_where_something_else_would_err_more_without_it() -> None:
    asked = f"SELECT {sums(7)}, COUNT(DISTINCT who) AS n FROM t"
    facts = {"unit": privet.Person("who"), "contribution": privet.Contribution(groups=1, rows=1)}
    with session([(0, 10)] * 8, privet.Approximate(epsilon=100, delta=F(1, 10**6)), **facts) as opened:
        plan = opened.plan(asked, epsilon=1)
        assert plan.unshared is None  # each sum would err less, and the number of people more
        assert opened.plan(f"SELECT {sums(8)} FROM t", epsilon=1).unshared is not None


def test_small_epsilons_leave_room_for_the_blur_of_another_release() -> None:
    with session([(0, 10)] * 12, privet.Approximate(epsilon=100, delta=F(1, 10**6))) as opened:
        plan = opened.plan(f"SELECT {sums(12)} FROM t", epsilon=F(1, 1000))
    assert plan.unshared is not None
    assert len(plan.passes[0].measures) == 13
    assert plan.price["epsilon"] <= F(1, 1000)


@pytest.mark.parametrize("asked", [f"SELECT {sums(2)} FROM t", f"SELECT g, {sums(2)} FROM t GROUP BY ROLLUP(g)"])
def test_what_was_released_with_a_sum_for_each_is_found(asked: str, tmp_path: Any) -> None:
    from privet.planner import plan

    now, place = plan.EDITIONS, tmp_path / "ledger.db"
    given = {"t": table([(0, 10), (0, 100)])}
    editions_before = tuple(one for one in now if one.kind != "sums beside a count")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("privet.planner.make.with_shared_counts", lambda plan, room: None)
        patch.setattr("privet.planner.batch.with_shared_counts", lambda plan, room: None)
        patch.setattr("privet.planner.plan.EDITIONS", editions_before)
        ledger = privet.SqliteLedger(place, privet.Zcdp(rho=1))
        with privet.Session(given, ledger=ledger) as before:
            first = before.ask(asked, rho=F(1, 2))
    with privet.Session(given, ledger=privet.SqliteLedger(place)) as after:
        assert after.plan(asked, rho=F(1, 2)).digest != first.plan.digest
        again = after.ask(asked, rho=F(1, 2))
        assert again.to_dict() == first.to_dict()
        assert again.receipt.entry == first.receipt.entry


@pytest.mark.parametrize("asked", ["within", "list", "levels"])
def test_widths_lists_and_levels_share_counts_too(asked: str) -> None:
    questions = ["SELECT SUM(a) AS a FROM t", "SELECT SUM(b) AS b FROM t", "SELECT COUNT(*) AS n FROM t"]
    with session([(0, 10), (0, 100)]) as opened:
        if asked == "within":
            plan = opened.plan(f"SELECT {sums(2)} FROM t", within={"a": 100, "b": 1000})
            assert plan.unshared is not None
            assert plan.price["rho"] * 1.3 < plan.unshared.price["rho"]
            answer = opened.ask(f"SELECT {sums(2)} FROM t", within={"a": 100, "b": 1000})
            assert answer["a"].high is not None
            assert answer["a"].high[0] - answer["a"].values[0] <= 100
        elif asked == "list":
            batch = opened.plan_all(questions, rho=F(1, 2))
            assert len(batch.releases) == 1
            assert [type(one.readings[0].aggregate) for one in batch.plans[:2]] == [CentredTotal] * 2
            assert variance(batch.plans[2], "n") == pytest.approx(1 + 2 / 3, rel=1e-4)
            assert batch.event.rho() == F(1, 2)
            answers = opened.ask_all(questions, rho=F(1, 2))
            assert [answer.receipt.entry for answer in answers] == [answers[0].receipt.entry] * 3
            assert answers[1]["b"].values[0] == pytest.approx(sum((7 * row) % 101 for row in range(400)), abs=1500)
        else:
            levels: Any = opened.plan(f"SELECT g, {sums(2)} FROM t GROUP BY ROLLUP(g)", rho=F(1, 2))
            assert all(part.unshared is not None for part in levels.plans)
            assert "a count that they share" in levels.explain()
            answer = opened.ask(f"SELECT g, {sums(2)} FROM t GROUP BY ROLLUP(g)", rho=F(1, 2)).to_dict()
            assert answer["a"][0] + answer["a"][1] == pytest.approx(answer["a"][2])


def test_sums_that_share_a_count_are_compared_by_their_joint_law() -> None:
    with session([(0, 10), (0, 10)]) as opened:
        answer = opened.ask("SELECT SUM(a) AS a, SUM(b) AS b, SUM(a) - SUM(b) AS d FROM t", rho=F(1, 50))
    plan = answer.plan
    assert plan.unshared is not None
    centred = math.sqrt(sum(plan.law(one.places[0]).deviation ** 2 for one in plan.readings) / 4)
    assert answer["d"].high is not None
    assert answer["d"].low is not None
    half = (answer["d"].high[0] - answer["d"].low[0]) / 2
    # the noise of the count is in both, and none of it in the difference
    assert half == pytest.approx(1.96 * centred, rel=0.03)
    assert half < 0.95 * 1.96 * math.sqrt(variance(plan, "a") + variance(plan, "b"))


@pytest.mark.parametrize("rho", [F(8), F(1, 2), F(1, 50)])
def test_intervals_cover_as_often_as_they_say(rho: F) -> None:
    draws = 60_000
    with session([(0, 10), (20, 90)]) as opened:
        answer = opened.ask(f"SELECT {sums(2)} FROM t", rho=rho)
    plan = answer.plan
    assert plan.unshared is not None
    laws = {one.what: one for one in answer.measurements()}
    count = np.asarray(laws["the count of rows"].law.sample(draws), dtype=np.float64)  # type: ignore[union-attr]
    for name, middle in (("a", 5.0), ("b", 55.0)):
        (total,) = (one for what, one in laws.items() if what.startswith(f"the sum of {name} - "))
        noise = np.asarray(total.law.sample(draws), dtype=np.float64) * float(total.step or 0) + middle * count  # type: ignore[union-attr]
        assert answer[name].high is not None
        half = answer[name].high[0] - answer[name].values[0]
        missed = float(np.mean(np.abs(noise) > half))
        # false alarms: 5 standard errors; what is released is whole, so that intervals may cover a little more
        assert missed <= 0.05 + 5 * math.sqrt(0.05 * 0.95 / draws)
        assert missed >= (0.03 if rho < 1 else 0.0)


def test_a_rounded_count_widens_intervals_by_no_more_than_it_must() -> None:
    one, other = Law("gaussian", 50.0, 1e-6), Law("gaussian", 1.0, 1.0)
    exact = beside_rounded(one, other, 50.0, 0.05)
    assert math.hypot(50, 50) * 1.96 < exact < float(half_width(one, other, np.array([50.0]), 0.05)[0]) * 0.9
    generator = np.random.default_rng(5)
    noise = generator.normal(0, 50, 400_000) + 50 * np.round(generator.normal(0, 1, 400_000))
    assert abs(float(np.mean(np.abs(noise) > exact)) - 0.05) < 5 * math.sqrt(0.05 * 0.95 / 400_000)
    laplace = (Law("laplace", 50.0, 1e-6), Law("laplace", 1.0, 1.0))
    assert beside_rounded(*laplace, 50.0, 0.05) == float(half_width(*laplace, np.array([50.0]), 0.05)[0])
