"""Widths of several questions are all reached, for the least that they cost together, without looking at any data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest

from privet.core.budget import Approximate, Budget, Pure
from privet.core.errors import BadParameter, BudgetExceeded, PrivetError, RequestError, UnknownName, Unsupported
from privet.core.unit import Person, Rows, Unit
from privet.mechanisms import Gaussian, Laplace
from privet.planner.accuracy import excess
from privet.planner.batch import Batch
from privet.planner.keys import Choice, choices
from privet.planner.measures import Measure
from privet.planner.plan import Plan
from worlds import BOTH, PURE, RHO
from worlds import visits_session as session

COUNT, OLD = "SELECT COUNT(*) AS n FROM t", "SELECT COUNT(*) AS n FROM t WHERE age > 40"
WARDS, TOTAL = "SELECT ward, COUNT(*) AS n FROM t GROUP BY ward", "SELECT SUM(age) AS s FROM t WHERE age > 30"
NAMES, MEAN = "SELECT name, COUNT(*) AS n FROM t GROUP BY name", "SELECT AVG(age) AS a FROM t"

BATCHES: list[tuple[list[str], Any]] = [
    ([COUNT, OLD, WARDS], 15),
    ([COUNT, TOTAL, WARDS], [5, 400, 20]),
    ([COUNT, "SELECT SUM(age) AS s FROM t"], [5, 10**5]),
    ([COUNT, "SELECT COUNT(*) AS n, SUM(age) AS s, AVG(cost) AS c FROM t"], [30, {"n": 7, "s": 300}]),
    ([f"{COUNT} WITHIN 4 CONFIDENCE 0.9", "SELECT 7 - 2 * COUNT(age) AS n FROM t", MEAN], [None, 9, None]),
    ([f"SELECT COUNT(*) AS n FROM t WHERE age > {age}" for age in range(20, 44)], 100),
]
EVERY = pytest.mark.parametrize(("questions", "within"), BATCHES)
BUDGETS = pytest.mark.parametrize("budget", [PURE, BOTH, RHO], ids=["pure", "both", "rho"])
UNITS = pytest.mark.parametrize("unit", [Rows(), Person("person")], ids=["rows", "people"])


def price_of(made: Plan | Batch) -> Fraction:
    found = made.spend.rho if made.spend.epsilon is None else made.spend.epsilon
    assert found is not None
    return found


def listed(questions: Sequence[str], within: Any) -> list[Any]:
    return list(within) if isinstance(within, list) else [within] * len(questions)


def missed(batch: Batch) -> bool:
    return any(plan.target is not None and excess(plan, plan.target) > 1 for plan in batch.plans)


@UNITS
@BUDGETS
@EVERY
def test_every_width_is_reached_and_the_releases_cost_no_more_than_the_price(
    questions: list[str], within: Any, budget: Budget, unit: Unit
) -> None:
    with session(budget, unit) as asked:
        batch = asked.plan_all(questions, within=within)
        assert sum(plan.target is not None for plan in batch.plans) > 1
        name = "rho" if budget is RHO else "epsilon"
        for made in (batch, batch.before or batch):  # the latter is what it would be if no release were shared
            assert not missed(made)
            assert made.cost()[name] <= float(price_of(made)) * (1 + 1e-9)
            assert made.cost()[name] >= float(price_of(made)) * 0.99  # and nothing is held back


@UNITS
@BUDGETS
@EVERY
def test_together_widths_cost_no_more_than_one_by_one(
    questions: list[str], within: Any, budget: Budget, unit: Unit
) -> None:
    with session(budget, unit) as asked:
        batch = asked.plan_all(questions, within=within)
        pairs = zip(questions, listed(questions, within), strict=True)
        wanted = [pair for pair in pairs if pair[1] is not None or "WITHIN" in pair[0]]
        untold = len(questions) - len(wanted)
        alone = [price_of(asked.plan(sql, within=width)) for sql, width in wanted]
        assert price_of(batch) <= sum(alone) or untold  # what is not limited has no price by itself
        assert price_of(batch) <= sum(alone) + 3 * untold * max(alone)


def lowered(batch: Batch, place: tuple[str, int, int]) -> Batch:
    """Return a batch in which one release has five hundredths less than before."""
    digest, index, which = place

    def less(one: Measure) -> Measure:
        noise = one.mechanism
        if isinstance(noise, Laplace):
            choice = Choice("laplace", one.sensitivity.l1 / noise.scale * Fraction(19, 20))
        else:
            choice = Choice("gaussian", one.sensitivity.l2_squared / (2 * noise.sigma_squared) * Fraction(19, 20))
        return replace(one, mechanism=choice.mechanism(one.sensitivity))

    def change(plan: Plan) -> Plan:
        if plan.digest != digest:
            return plan
        passes = list(plan.passes)
        measures = [less(one) if at == which else one for at, one in enumerate(passes[index].measures)]
        passes[index] = passes[index].with_noise(measures)
        return replace(plan, passes=tuple(passes))

    return Batch(tuple(change(plan) for plan in batch.plans), batch.spend)


@UNITS
@BUDGETS
@pytest.mark.parametrize(("questions", "within"), [BATCHES[0], BATCHES[1], BATCHES[2], BATCHES[5]])
def test_no_release_can_have_less_without_missing_a_width(
    questions: list[str], within: Any, budget: Budget, unit: Unit
) -> None:
    with session(budget, unit) as asked:
        batch = asked.plan_all(questions, within=within)
        places = [
            (plan.digest, index, which)
            for plan in batch.releases
            for index, one in enumerate(plan.passes)
            for which in range(len(one.measures))
        ]
        assert places
        assert all(missed(lowered(batch, place)) for place in places)


@UNITS
@pytest.mark.parametrize(("questions", "within"), [BATCHES[0], BATCHES[1], BATCHES[5]])
def test_the_price_is_the_sum_of_what_each_needs_in_the_noise_that_is_cheaper(
    questions: list[str], within: Any, unit: Unit
) -> None:
    found, sums = {}, {}
    for budget in (PURE, BOTH, RHO):
        with session(budget, unit) as asked:
            batch = asked.plan_all(questions, within=within)
            assert price_of(batch) <= price_of(batch.before or batch)  # some share a release
            found[budget] = price_of(batch.before or batch)
            each = zip(questions, listed(questions, within), strict=True)
            sums[budget] = sum(price_of(asked.plan(sql, within=width)) for sql, width in each)
            if budget is BOTH:
                plan = batch.before or batch
    for budget in (PURE, RHO):  # single prices have four digits
        assert found[budget] <= sums[budget] <= found[budget] * Fraction(1002, 1000)
    assert found[BOTH] <= found[PURE]
    lower = replace(plan.spend, epsilon=found[BOTH] * Fraction(19, 20))
    room = [choice.share * len(questions) for choice in choices(lower, len(questions)) if choice.family == "gaussian"]
    assert all(one < found[RHO] for one in room)
    if len(questions) == 24:
        assert found[BOTH] < found[PURE]
        assert all(isinstance(one.passes[0].measures[0].mechanism, Gaussian) for one in plan.plans)


@UNITS
@BUDGETS
def test_one_question_costs_what_it_costs_by_itself(budget: Budget, unit: Unit) -> None:
    with session(budget, unit) as asked:
        for sql, within in [
            (COUNT, 5),
            (WARDS, 20),
            ("SELECT COUNT(*) AS n, SUM(age) AS s FROM t", {"n": 7, "s": 300}),
        ]:
            alone, batch = asked.plan(sql, within=within), asked.plan_all([sql], within=[within])
            assert price_of(batch) == price_of(alone)
            assert batch.plans[0].digest == alone.digest


@BUDGETS
def test_a_sum_that_several_share_is_released_once_for_the_strictest(budget: Budget) -> None:
    with session(budget) as asked:
        alone = asked.plan(COUNT, within=4)
        several = [COUNT, COUNT, "SELECT 3 * COUNT(*) AS m FROM t", f"{COUNT} WITHIN 5 CONFIDENCE 0.5"]
        batch = asked.plan_all(several, within=[9, 4, 60, None])
        assert len(batch.releases) == 1
        assert len(batch.releases[0].passes[0].measures) == 1
        assert price_of(batch) <= price_of(alone) <= price_of(batch) * Fraction(1002, 1000)


def test_what_has_no_width_gets_as_much_as_the_least_of_its_rows_or_of_all() -> None:
    with session() as asked:
        batch = asked.plan_all([COUNT, OLD, "SELECT SUM(age) AS s FROM t", TOTAL], within=[5, 50, None, None])
        first, second = price_of(asked.plan(COUNT, within=5)), price_of(asked.plan(OLD, within=50))
        assert float(price_of(batch)) == pytest.approx(float(2 * first + 2 * second), rel=2e-3)


@BUDGETS
def test_groups_that_are_found_share_the_price(budget: Budget) -> None:
    if not isinstance(budget, Approximate):
        return
    with session(budget, Person("person")) as asked:
        other = "SELECT name, COUNT(*) AS n FROM t WHERE age > 30 GROUP BY name"
        batch = asked.plan_all([NAMES, other, COUNT], within=[40, 60, 9])
        alone = [asked.plan(sql, within=width) for sql, width in [(NAMES, 40), (other, 60), (COUNT, 9)]]
        assert not missed(batch)
        assert price_of(batch) <= sum(map(price_of, alone))
        assert batch.cost()["epsilon"] <= float(price_of(batch)) * (1 + 1e-9)
        assert batch.event.slack() <= float(budget.delta) / 100
        assert all(len(answer) <= 2 for answer in asked.run_all(batch))


def test_the_price_is_the_same_for_every_data_set() -> None:
    batches = []
    for size in (3, 30, 3000):
        with session(BOTH, Person("person"), size) as asked:
            batches.append(asked.plan_all([NAMES, COUNT, WARDS], within=[40, 9, 20]))
    assert len({batch.digest for batch in batches}) == 1
    assert len({price_of(batch) for batch in batches}) == 1


@BUDGETS
def test_every_interval_is_as_narrow_as_asked_for_one_charge_and_again_for_none(budget: Budget) -> None:
    with session(budget, Person("person")) as asked:
        answers = asked.ask_all([COUNT, WARDS, f"{OLD} WITHIN 12 CONFIDENCE 0.8"], within=[6, 25, None])
        for answer, width in zip(answers, (6, 25, 12), strict=True):
            for row in answer:
                # no count is below 0, so where noise takes it there its interval ends at 0, away from it
                assert row["n_high"] <= max(0, row["n"] + width * (1 + 1e-12))
                assert row["n_low"] >= row["n"] - width * (1 + 1e-12)
        assert [answer.confidence for answer in answers] == [0.95, 0.95, 0.8]
        again = asked.ask_all([f"{WARDS} WITHIN 25", f"{OLD} WITHIN 12 CONFIDENCE 0.8", f"{COUNT} WITHIN 6"])
        assert [list(one) for one in again] == [list(answers[place]) for place in (1, 2, 0)]
        assert len(asked.history()) == 1


def test_a_batch_says_what_it_aims_at_and_costs() -> None:
    with session() as asked:
        batch = asked.plan_all([COUNT, WARDS, MEAN], within=[5, 20, None])
        assert "Question 2: each interval at 0.95 confidence is as narrow as asked (n ±20 of ±20)." in batch.explain()
        assert "Question 3" not in batch.explain()
        assert [one and one["columns"][0]["within"] for one in batch.facts()["targets"]] == [5.0, 20.0, None]
        assert "targets" not in asked.plan_all([COUNT, WARDS], epsilon=1).facts()


def test_what_the_budget_does_not_allow_is_refused_and_costs_nothing() -> None:
    with session(Pure(epsilon=1)) as asked:
        with pytest.raises(BudgetExceeded):
            asked.ask_all([COUNT, OLD], within=[4, 5])
        assert (len(asked.history()), asked.remaining().largest_epsilon) == (0, 1)
        assert asked.plan_all([COUNT, OLD], within=[4, 5]).cost()["epsilon"] > 1  # planned all the same


REFUSED: list[tuple[list[str], dict[str, Any], type[PrivetError], str]] = [
    ([COUNT, OLD], {"within": 5, "epsilon": 1}, RequestError, r"\(epsilon\), not both"),
    ([COUNT, f"{OLD} WITHIN 5"], {"epsilon": 1}, RequestError, "not both"),
    ([COUNT, OLD], {"within": 5, "weights": [1, 2]}, RequestError, r"\(weights\), not both"),
    ([COUNT, OLD], {"within": [5]}, BadParameter, "one entry for each of the 2"),
    ([COUNT, OLD], {"within": {"n": 5}}, BadParameter, "one entry for each of the 2"),
    ([COUNT, OLD], {"within": [5, 0]}, BadParameter, "above 0"),
    ([COUNT, OLD], {"within": [5, {"m": 5}]}, UnknownName, "there is no column 'm'"),
    ([COUNT, f"{OLD} WITHIN 5"], {"within": 5}, RequestError, "question 2 has WITHIN itself"),
    ([COUNT, f"{OLD} WITHIN 5 CONFIDENCE 0.9"], {"confidence": 0.9}, RequestError, "question 2 has CONFIDENCE"),
    ([COUNT, OLD], {"within": 5, "confidence": 1}, BadParameter, "strictly between"),
    ([COUNT, MEAN], {"within": 5}, Unsupported, "question 2 costs depends on the data"),
    ([COUNT, OLD], {"within": [5, "2%"]}, Unsupported, "question 2 costs depends on the data"),
    ([COUNT, f"{OLD} WITHIN 2%"], {}, Unsupported, "in rounds"),
    ([COUNT, "SELECT MEDIAN(age) AS m FROM t"], {"within": [5, None]}, Unsupported, "a batch of its own"),
    ([COUNT, "SELECT ward, COUNT(*) AS n FROM t GROUP BY ROLLUP (ward)"], {"within": 5}, Unsupported, "put None"),
    ([COUNT, OLD], {"within": 5, "at_most": 0.1}, RequestError, "more than at_most=0.1"),
    ([COUNT, OLD], {"at_most": 1}, RequestError, "goes with within="),
    ([COUNT, "SELECT SUM(cost) AS s FROM t"], {"within": [5, 1e-9]}, RequestError, "ask for a wider one"),
]


@pytest.mark.parametrize(("questions", "options", "error", "match"), REFUSED)
def test_what_cannot_be_is_refused_with_what_to_do_and_costs_nothing(
    questions: list[str], options: dict[str, Any], error: type[PrivetError], match: str
) -> None:
    with session() as asked:
        with pytest.raises(error, match=match):
            asked.ask_all(questions, **options)
        assert not asked.history()


def test_what_is_public_already_has_any_width_and_costs_nothing() -> None:
    with session(neighbors="change-one", units=30) as asked:
        first, _ = asked.ask_all([COUNT, COUNT], within=Fraction(1, 10**6))
        assert (first.value, asked.remaining().largest_epsilon) == (30, 500)
        with pytest.raises(RequestError, match="nothing states what the rest may cost"):
            asked.plan_all([COUNT, TOTAL], within=[5, None])
