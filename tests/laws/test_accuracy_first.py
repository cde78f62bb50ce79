"""A width that is asked for is reached, at the least price that reaches it, found without looking at any data."""

from __future__ import annotations

import math
from bisect import bisect_left
from fractions import Fraction
from typing import Any

import pyarrow as pa
import pytest

from privet.core.budget import Budget, Pure
from privet.core.errors import (
    BadParameter,
    BudgetExceeded,
    ParseError,
    PrivetError,
    RequestError,
    UnknownName,
    Unsupported,
)
from privet.core.schema import Table, integer
from privet.core.unit import Person, Rows, Unit
from privet.mechanisms import Gaussian
from privet.planner.accuracy import excess
from privet.planner.make import make_plan
from privet.planner.plan import Plan
from privet.planner.rounds import PRICES, price
from privet.session import Session
from worlds import BOTH, PURE, RHO
from worlds import visits_session as session

GROUPED = "SELECT ward, COUNT(*) AS n FROM t GROUP BY ward"


QUESTIONS: list[tuple[str, Any]] = [
    ("SELECT COUNT(*) AS n FROM t", 5),
    ("SELECT COUNT(*) AS n FROM t", Fraction(3, 2)),
    (GROUPED, 20),
    ("SELECT COUNT(*) AS n, SUM(age) AS s FROM t", {"n": 7, "s": 300}),
    ("SELECT SUM(cost) / 100 - 3 AS s FROM t WHERE age > 30", 12.5),
    ("SELECT ward, SUM(age) AS s, COUNT(*) AS n FROM t GROUP BY ward", 150),
    ("SELECT 7 - 2 * COUNT(age) AS n, AVG(age) AS a FROM t", {"n": 9}),
]


def before(amount: Fraction) -> Fraction:
    """Return the price before another, in the list of all."""
    place = bisect_left(range(PRICES), amount, key=price)
    assert price(place) == amount
    return price(place - 1)


def one_price_less(asked: Session, plan: Plan) -> Plan:
    """Return the plan at the price before a plan's own."""
    spend, name = plan.spend, "rho" if plan.spend.epsilon is None else "epsilon"
    lower = type(spend)(**{**vars(spend), name: before(getattr(spend, name))})
    assert plan.target is not None
    return make_plan(plan.query, asked._executor.schemas, spend=lower, target=plan.target)


@pytest.mark.parametrize("unit", [Rows(), Person("person")], ids=["rows", "people"])
@pytest.mark.parametrize("budget", [PURE, BOTH, RHO], ids=["pure", "both", "rho"])
@pytest.mark.parametrize(("sql", "within"), QUESTIONS)
def test_the_width_is_reached_and_one_price_less_would_not_reach_it(
    sql: str, within: Any, budget: Budget, unit: Unit
) -> None:
    with session(budget, unit) as asked:
        plan = asked.plan(sql, within=within)
        assert plan.target is not None
        assert excess(plan, plan.target) <= 1
        assert excess(one_price_less(asked, plan), plan.target) > 1


@pytest.mark.parametrize("budget", [PURE, BOTH, RHO], ids=["pure", "both", "rho"])
@pytest.mark.parametrize(("sql", "within"), QUESTIONS)
def test_every_interval_of_the_answer_is_as_narrow_as_asked(sql: str, within: Any, budget: Budget) -> None:
    with session(budget, Person("person")) as asked:
        answer = asked.ask(sql, within=within, confidence=0.9)
        assert answer.confidence == 0.9
        limits = within if isinstance(within, dict) else dict.fromkeys(("n", "s"), within)
        for column in answer:
            for name, limit in limits.items():
                if name in column:
                    # where noise takes a count below 0, its interval ends at 0, away from it
                    assert column[f"{name}_high"] - column[f"{name}_low"] <= 2 * float(limit) * (1 + 1e-9)


@pytest.mark.parametrize(("within", "confidence"), [(5, 0.95), (1, 0.99), (40, 0.5), (0.5, 0.9)])
def test_the_price_of_a_count_is_the_first_whose_exact_tail_is_small_enough(within: float, confidence: float) -> None:
    def tail(epsilon: Fraction) -> float:
        a, width = math.exp(-float(epsilon)), math.floor(within)
        return 2 * a ** (width + 1) / (1 + a)  # P[|noise| > width] for P[k] proportional to a^|k|

    with session() as asked:
        found = asked.plan("SELECT COUNT(*) AS n FROM t", within=within, confidence=confidence).spend.epsilon
    assert found is not None
    assert tail(found) <= 1 - confidence < tail(before(found))


def test_a_count_that_is_rounded_is_within_the_width_after_rounding() -> None:
    with session(unit=Person("person")) as asked:
        (one,) = asked.plan("SELECT COUNT(*) AS n FROM t", within=5).to_dict()["target"]["columns"]
        noise = asked.plan("SELECT COUNT(*) AS n FROM t", within=5).to_dict()["releases"][0]["half_width_95"]
        assert one["half_width"] == pytest.approx(noise + 0.5)
        with pytest.raises(RequestError, match="wider"):
            asked.plan("SELECT COUNT(*) AS n FROM t", within=0.4)


def test_prices_rise_have_four_digits_and_end_at_a_thousand() -> None:
    listed = [price(place) for place in range(0, PRICES, 7)]
    assert listed == sorted(set(listed))
    assert price(0) == Fraction(1, 10**9)
    assert price(PRICES - 1) == 1000
    assert all(float(f"{float(one):.4g}") == float(one) for one in listed)


def test_the_noise_that_reaches_the_width_for_less_is_used() -> None:
    with session(BOTH, Person("person")) as asked, session(PURE, Person("person")) as plain:
        many = ", ".join(f"COUNT(*) FILTER (WHERE age > {k}) AS n{k}" for k in range(20, 60))
        plan, other = (one.plan(f"SELECT {many} FROM t", within=100) for one in (asked, plain))
        assert isinstance(plan.passes[0].measures[0].mechanism, Gaussian)
        assert plan.price["epsilon"] < other.price["epsilon"]


def test_the_price_is_the_same_for_every_data_set() -> None:
    plans = []
    for size in (3, 30, 3000):
        with session(BOTH, Person("person"), size) as asked:
            plans.append(asked.plan("SELECT name, COUNT(*) AS n FROM t GROUP BY name", within=40))
    assert len({plan.digest for plan in plans}) == 1


def test_asking_again_in_sql_or_at_the_same_price_is_free() -> None:
    with session(BOTH) as asked:
        first = asked.ask(GROUPED, within=20, confidence=0.9)
        assert asked.ask(f"{GROUPED} WITHIN 20 CONFIDENCE 0.9;").to_dict() == first.to_dict()
        assert asked.ask(GROUPED, epsilon=first.plan.spend.epsilon, confidence=0.9).to_dict() == first.to_dict()
        assert asked.run(asked.plan(GROUPED, within=20, confidence=0.9)).to_dict() == first.to_dict()
        assert len(asked.history()) == 1


def test_what_is_public_already_is_within_any_width_and_costs_nothing() -> None:
    with session(neighbors="change-one", units=30) as asked:
        answer = asked.ask("SELECT COUNT(*) AS n FROM t", within=Fraction(1, 10**6))
        assert (answer.value, asked.remaining().largest_epsilon) == (30, 500)


def test_a_plan_says_what_it_aims_at() -> None:
    with session() as asked:
        plan = asked.plan(GROUPED, within=20, confidence=0.9)
        assert "Each interval at 0.9 confidence is within ±20 (n ±20)" in plan.explain()
        told = plan.to_dict()["target"]
        assert told == {"confidence": 0.9, "columns": [{"column": "n", "within": 20.0, "half_width": 20.0}]}
        assert asked.plan(GROUPED).to_dict()["target"] is None


def test_the_interval_of_what_is_linear_in_a_sum_is_that_of_the_sum_moved_along() -> None:
    with session(PURE, Person("person")) as asked:
        row = next(iter(asked.ask("SELECT SUM(age) AS s, 7 - SUM(age) / 4 AS line FROM t", epsilon=1)))
    assert row["line_low"] == pytest.approx(7 - row["s_high"] / 4)
    assert row["line_high"] == pytest.approx(7 - row["s_low"] / 4)


REFUSED: list[tuple[str, dict[str, Any], type[PrivetError], str]] = [
    (GROUPED, {"within": {"m": 5}}, UnknownName, "there is no column 'm'"),
    (GROUPED, {"within": {"ward": 5}}, Unsupported, "no noise"),
    (GROUPED, {"within": {}}, BadParameter, "numbers by column"),
    (GROUPED, {"within": 0}, BadParameter, "above 0"),
    (GROUPED, {"within": -5}, BadParameter, "above 0"),
    (GROUPED, {"within": math.nan}, BadParameter, "finite"),
    (GROUPED, {"within": True}, BadParameter, "finite"),
    (GROUPED, {"within": {"n": 0}}, BadParameter, "within of 'n'"),
    (GROUPED, {"within": 5, "confidence": 1}, BadParameter, "strictly between"),
    (GROUPED, {"within": 5, "epsilon": 1}, RequestError, "not both"),
    (f"{GROUPED} WITHIN 5", {"epsilon": 1}, RequestError, "not both"),
    (f"{GROUPED} WITHIN 5", {"within": 5}, RequestError, "WITHIN itself"),
    (f"{GROUPED} WITHIN 5 CONFIDENCE 0.9", {"confidence": 0.9}, RequestError, "CONFIDENCE itself"),
    (f"{GROUPED} WITHIN 5 CONFIDENCE 1.5", {}, BadParameter, "strictly between"),
    (f"{GROUPED} CONFIDENCE 0.9", {}, ParseError, "after WITHIN"),
    (f"{GROUPED} CONFIDENCE 0.9 WITHIN 5", {}, ParseError, "at the very end"),
    (f"{GROUPED} WITHIN 5 WITHIN 6", {}, ParseError, "at the very end"),
    (f"{GROUPED} WITHIN '5'", {}, ParseError, "at the very end"),
    (f"{GROUPED} WITHIN 1e999999999", {}, ParseError, "at the very end"),
    (f"{GROUPED} WITHIN 2 % %", {}, ParseError, "at the very end"),
    (f"{GROUPED} WITHIN 2 CONFIDENCE 95 %", {}, ParseError, "at the very end"),
    ("SELECT COUNT(*) AS n FROM (SELECT * FROM t WITHIN 5) s", {}, ParseError, "at the very end"),
    ("SELECT COUNT(*) AS n FROM t WITHIN 1e-9", {}, BudgetExceeded, ", with n"),
    ("SELECT SUM(cost) AS n FROM t WITHIN 1e-9", {}, RequestError, "ask for a wider one"),
]


@pytest.mark.parametrize(("sql", "options", "kind", "words"), REFUSED)
def test_what_has_no_price_is_refused_before_anything_is_charged_or_read(
    sql: str, options: dict[str, Any], kind: type[PrivetError], words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with session(Pure(epsilon=Fraction(1, 2))) as asked:
        monkeypatch.setattr(asked._executor.engine, "scan", lambda scan: pytest.fail("the data was read"))
        with pytest.raises(kind) as refused:
            asked.ask(sql, **options)
        assert words in str(refused.value)
        assert asked.history() == ()


def test_too_dear_a_width_says_what_fits_at_the_confidence_that_was_asked() -> None:
    with session(Pure(epsilon=Fraction(1, 2))) as asked:
        with pytest.raises(BudgetExceeded) as refused:
            asked.ask("SELECT COUNT(*) AS n FROM t", within=1, confidence=0.99)
        largest = refused.value.largest_epsilon
        assert 0.499 < largest <= 0.5
        a, width = math.exp(-largest), int(refused.value.error.partition("±")[2])
        assert 2 * a ** (width + 1) / (1 + a) <= 0.01 < 2 * a**width / (1 + a)


def test_within_and_confidence_are_names_like_any_other_elsewhere() -> None:
    rows = pa.table({"within": [1, 2, 3], "confidence": [4, 5, 6]})
    table = Table(rows, unit=Rows(), columns={"within": integer(0, 9), "confidence": integer(0, 9)})
    with Session({"t": table}, budget=PURE) as asked:
        sql = "SELECT COUNT(*) AS within, SUM(within) AS confidence FROM t WHERE within > 1 AND confidence - 5 < within"
        assert asked.plan(f"{sql} WITHIN 30").target is not None
        assert asked.plan(sql).target is None


def test_a_view_has_no_width() -> None:
    table = Table(pa.table({"x": [1]}), unit=Rows(), columns={"x": integer(0, 9)})
    with pytest.raises(Unsupported, match="WITHIN and OPTIONS stand in questions"):
        Session({"t": table}, views={"v": "SELECT x FROM t WITHIN 5"}, budget=PURE)
