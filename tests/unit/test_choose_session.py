"""Choosing an option through a session: the lectures' odds over tables, one charge, refusals, tampered plans."""

from __future__ import annotations

import datetime
import json
import math
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest

import privet
from privet.core.errors import BudgetExceeded, InvariantError, RequestError
from privet.core.event import Receipt
from privet.core.scan import SealedSums
from privet.mechanisms.selection import NoisyMax
from privet.planner.comparison_plans import ChoicePlan, verify_choice
from privet.query.frame import count
from privet.query.frame import sum as summed
from privet.release import choose_one

pa = pytest.importorskip("pyarrow")

REVENUE = "SELECT SUM(CASE WHEN bid >= :option THEN :option ELSE 0 END) FROM bids"
RIGHT = "SELECT SUM(CASE WHEN (c >= :option AND y = 1) OR (c < :option AND y = 0) THEN 1 ELSE 0 END) FROM patients"
ABOVE = RIGHT.replace(">=", ">").replace("c < :option", "c <= :option")


def auction(neighbors: str = "change-one", budget: Any = None, unit: Any = None) -> privet.Session:
    """Return a session over the bids of the lecture's auction."""
    bids = privet.Table(
        pa.table({"who": [1, 2, 3], "bid": [1.0, 1.0, 3.01]}),
        unit=unit or privet.Rows(),
        columns={"who": privet.integer(), "bid": privet.number(0, 10, step=Fraction(1, 100))},
        neighbors=neighbors,
        contribution=None if unit is None else privet.Contribution(groups=1, rows=1),
    )
    return privet.Session({"bids": bids}, budget=budget or privet.Pure(epsilon=10))


def cholesterol(neighbors: str) -> privet.Session:
    """Return a session over the patients of the lecture's exercise."""
    patients = privet.Table(
        pa.table({"c": [216, 501, 100, 535, 214], "y": [0, 1, 0, 1, 1]}),
        unit=privet.Rows(),
        columns={"c": privet.integer(0, 1000), "y": privet.integer(0, 1)},
        neighbors=neighbors,
    )
    return privet.Session({"patients": patients}, budget=privet.Pure(epsilon=10))


@pytest.fixture
def raced(monkeypatch: pytest.MonkeyPatch) -> list[tuple[NoisyMax, list[int]]]:
    """Return what races were run over: the mechanism, and the scores, which are exact integers."""
    seen: list[tuple[NoisyMax, list[int]]] = []
    release = NoisyMax.release

    def watched(self: NoisyMax, scores: Any) -> int:
        assert all(type(score) is int for score in scores)
        seen.append((self, list(scores)))
        return release(self, scores)

    monkeypatch.setattr(NoisyMax, "release", watched)
    return seen


def odds(seen: list[tuple[NoisyMax, list[int]]]) -> list[float]:
    mechanism, scores = seen[-1]
    return [float(one) for one in mechanism.probabilities(scores)]


def test_the_auction_has_the_odds_of_the_lecture(raced: list[Any]) -> None:
    with auction() as session:
        chosen = session.choose([1, 2, 3, 4], REVENUE, epsilon=1, mechanism="exponential")
    assert chosen.plan.sensitivity == 4
    assert not chosen.plan.monotone
    assert raced[-1][1] == [3, 2, 3, 0]
    assert odds(raced) == pytest.approx([0.28012882, 0.24721282, 0.28012882, 0.19252954], abs=1e-8)
    assert chosen.value == chosen.options[chosen.index]


def test_the_cliff_of_the_auction_is_scored_exactly(raced: list[Any]) -> None:
    prices = [1, 1.01, 3.01, 3.02]
    with auction() as session:
        chosen = session.choose(prices, REVENUE, epsilon=1, mechanism="exponential")
    scores = [score * chosen.plan.unit for score in raced[-1][1]]
    assert scores == [3, Fraction("1.01"), Fraction("3.01"), 0]
    assert chosen.plan.sensitivity == Fraction("3.02")


def test_prices_from_a_tenth_to_ten_have_the_odds_of_the_lecture(raced: list[Any]) -> None:
    prices = [Fraction(tenths, 10) for tenths in range(1, 101)]
    with auction() as session:
        session.choose(prices, REVENUE, epsilon=1, mechanism="exponential")
    found = odds(raced)
    assert found[9] == pytest.approx(0.011276, abs=1e-6)
    assert found[29] == pytest.approx(0.011276, abs=1e-6)
    revenue = [float(score) * float(raced[-1][0].rate) for score in raced[-1][1]]
    expected = math.fsum(p * r for p, r in zip(found, revenue, strict=True)) * 20  # rate 1/20 per unit of revenue
    assert expected == pytest.approx(0.6226, abs=1e-4)


@pytest.mark.parametrize(
    ("score", "expected"),
    [(ABOVE, [0.2] * 5), (RIGHT, [0.118022, *[0.220494] * 4])],
    ids=["above", "at least"],
)
def test_the_cholesterol_exercise_has_the_odds_of_the_lecture(
    score: str, expected: list[float], raced: list[Any]
) -> None:
    with cholesterol("change-one") as session:
        session.choose([100, 200, 300, 400, 500], score, epsilon=1.25, mechanism="exponential")
    assert odds(raced) == pytest.approx(expected, abs=1e-6)


def test_where_all_scores_move_one_way_the_same_epsilon_buys_the_squares_of_the_odds(raced: list[Any]) -> None:
    for neighbors in ("change-one", "add-remove"):
        with cholesterol(neighbors) as session:
            session.choose([100, 200, 300, 400, 500], RIGHT, epsilon=1.25, mechanism="exponential")
    plain = raced[0][0].probabilities(raced[0][1])
    assert raced[1][0].monotone
    assert odds(raced) == pytest.approx(list(plain**2 / (plain**2).sum()), abs=1e-12)


def test_permute_and_flip_is_the_default_and_errs_less(raced: list[Any]) -> None:
    with auction() as session:
        better = session.choose([1, 2, 3, 4], REVENUE, epsilon=1)
        other = session.choose([1, 2, 3, 4], REVENUE, epsilon=1, mechanism="exponential")
    assert [one.law for one, _ in raced] == ["exponential", "gumbel"]
    assert better.behind < other.behind
    assert len({better.receipt.entry, other.receipt.entry}) == 2


def test_draws_follow_the_odds() -> None:
    with auction() as session:
        plan = session.plan_choice([1, 2, 3, 4], REVENUE, epsilon=8, mechanism="exponential")
    receipt, exact = Receipt(1, plan.digest, "ana"), SealedSums({(): (3, 2, 3, 0)})
    draws = 4000
    found = Counter(choose_one([exact], plan, receipt) for _ in range(draws))
    expected = plan.mechanism.probabilities([3, 2, 3, 0])
    for place, chance in enumerate(expected):
        # each of four counts is within 5.5 standard deviations but for about 4e-8: 1.6e-7 for all
        assert abs(found[place] - draws * chance) < 5.5 * math.sqrt(draws * chance * (1 - chance)) + 1


def test_a_choice_that_the_engine_cannot_run_is_refused_before_the_charge(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(scan: Any) -> None:
        raise RequestError("this engine has no such function")

    with auction() as session:
        left = session.remaining()
        monkeypatch.setattr(session._executor.engine, "check", refuse)
        with pytest.raises(RequestError, match="no such function"):
            session.choose([1, 2, 3, 4], REVENUE, epsilon=1)
        assert session.remaining() == left


def test_a_choice_is_charged_once_and_stored() -> None:
    with auction() as session:
        first = session.choose([1, 2, 3, 4], REVENUE, epsilon=1)
        assert session.choose([1, 2, 3, 4], REVENUE, epsilon=1) == first
        built = session.choose(
            [1, 2, 3, 4],
            lambda price: session.table("bids").agg(
                revenue=summed(privet.when(privet.col("bid") >= price, price, otherwise=0))
            ),
            epsilon=1,
        )
        assert built.receipt.entry == first.receipt.entry
        assert len(session.history()) == 1
        assert session.remaining().largest_epsilon == 9
        assert "one of 4 options" in repr(session.history())
    assert json.loads(json.dumps(first.to_dict()))["chosen"] == first.value
    assert "permute-and-flip" in repr(first)
    assert str(first.value) in first._repr_html_()


def test_the_same_key_again_is_the_same_choice_and_another_question_is_refused() -> None:
    with auction() as session:
        first = session.choose([1, 2], REVENUE, epsilon=1, key="monday")
        assert session.choose([1, 2], REVENUE, epsilon=1, key="monday") == first
        with pytest.raises(RequestError, match="another question"):
            session.choose([1, 3], REVENUE, epsilon=1, key="monday")
        assert len(session.history()) == 1


def test_texts_dates_and_other_parameters_are_options_too() -> None:
    days = [datetime.date(2024, 1, day) for day in (1, 2, 3)]
    table = privet.Table(
        pa.table({"day": [days[0], days[1], days[1]] * 200, "ward": ["a", "b", "b"] * 200}),
        unit=privet.Rows(),
        columns={"day": privet.date(days[0], days[2]), "ward": privet.category(["a", "b"])},
    )
    with privet.Session({"t": table}, budget=privet.Pure(epsilon=1000)) as session:
        # 200 rows apart at epsilon 1 each: wrong less often than e^-200
        assert session.choose(["a", "b"], "SELECT COUNT(*) FROM t WHERE ward = :option", epsilon=1).value == "b"
        sql = "SELECT COUNT(*) FROM t WHERE day = :option AND ward = :ward"
        assert session.choose(days, sql, epsilon=1, parameters={"ward": "a"}).value == days[0]
        score = lambda ward: session.table("t").where(privet.col("ward") != ward).agg(n=count())  # noqa: E731
        assert session.choose(("a", "b"), score, epsilon=1).value == "a"


@pytest.mark.parametrize(
    ("budget", "law"), [(privet.Zcdp(rho=1), "gumbel"), (privet.Approximate(epsilon=1, delta=1e-6), "exponential")]
)
def test_each_kind_of_account_pays_for_a_choice(budget: Any, law: str) -> None:
    with auction(budget=budget) as session:
        plan = session.plan_choice([1, 2], REVENUE)
        assert plan.law == law
        session.choose([1, 2], REVENUE)
        spent = plan.event.rho() if law == "gumbel" else plan.event.pure()
        assert float(spent) == pytest.approx(0.1, rel=1e-9)
        assert spent <= Fraction(1, 10)
        words = plan.explain()
        assert ("rho 0.1" if law == "gumbel" else "epsilon 0.1") in words


def test_permute_and_flip_counts_its_whole_epsilon_where_rho_is_counted() -> None:
    with auction(budget=privet.Zcdp(rho=1)) as session:
        plan = session.plan_choice([1, 2], REVENUE, rho=0.5, mechanism="permute-and-flip")
    assert plan.event.rho() <= Fraction(1, 2)
    assert float(plan.event.pure()) == pytest.approx(1, rel=1e-9)


HOSTILE: dict[str, tuple[Any, Any]] = {
    "no options": ([], REVENUE),
    "one option": ([1], REVENUE),
    "an option twice": ([1, 2, 1.0], REVENUE),
    "too many": (range(1001), REVENUE),
    "a text": ("12", REVENUE),
    "a mapping": ({1: 2, 3: 4}, REVENUE),
    "NaN": ([1, float("nan")], REVENUE),
    "an infinity": ([1, float("inf")], REVENUE),
    "a list inside": ([1, [2]], REVENUE),
    "not a score": ([1, 2], 3),
    "no option in it": ([1, 2], "SELECT COUNT(*) FROM bids"),
    "no bounds": ([1, 2], "SELECT SUM(who * :option) FROM bids"),
    "an average": ([1, 2], "SELECT AVG(bid) FROM bids WHERE bid > :option"),
    "a median": ([1, 2], "SELECT MEDIAN(bid) FROM bids WHERE bid > :option"),
    "two numbers": ([1, 2], "SELECT COUNT(*), SUM(bid) FROM bids WHERE bid > :option"),
    "computed": ([1, 2], "SELECT COUNT(*) * :option FROM bids"),
    "groups": ([1, 2], "SELECT COUNT(*) FROM bids WHERE bid > :option GROUP BY bid"),
    "limited": ([1, 2], "SELECT COUNT(*) AS n FROM bids WHERE bid > :option LIMIT 0"),
    "having": ([1, 2], "SELECT COUNT(*) AS n FROM bids WHERE bid > :option HAVING COUNT(*) > 3"),
    "its own cost": ([1, 2], "SELECT COUNT(*) AS n FROM bids WHERE bid > :option WITHIN 5"),
    "another table": ([1, 2], "SELECT COUNT(*) FROM others WHERE bid > :option"),
    "a function that fails": ([1, 2], lambda option: option / 0),
    "a function of nothing": ([1, 2], lambda option: None),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_what_cannot_be_chosen_is_refused_and_nothing_is_charged_or_drawn(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    options, score = HOSTILE[name]
    monkeypatch.setattr(NoisyMax, "release", lambda *_: pytest.fail("drawn"))
    with auction() as session:
        with pytest.raises(RequestError) as refused:
            session.choose(options, score, epsilon=1)
        assert session.history() == ()
    assert 20 < len(str(refused.value)) < 400
    assert "Traceback" not in str(refused.value)


@pytest.mark.parametrize(
    "how",
    [
        {"epsilon": 0},
        {"epsilon": float("nan")},
        {"epsilon": 1, "rho": 1},
        {"mechanism": "laplace"},
        {"bound": "rows"},
        {"contribution": "auto"},
        {"parameters": [3]},
        {"parameters": {"option": 3}},
        {"parameters": {"other": 3}},
    ],
    ids=str,
)
def test_arguments_out_of_range_are_refused(how: dict[str, Any]) -> None:
    with auction(unit=privet.Person("who")) as session:
        with pytest.raises(RequestError):
            session.choose([1, 2], REVENUE, **{"epsilon": 1, **how})
        assert session.history() == ()


def test_a_choice_beyond_the_budget_is_refused() -> None:
    with auction() as session:
        with pytest.raises(BudgetExceeded):
            session.choose([1, 2], REVENUE, epsilon=11)
        assert session.history() == ()


def test_a_number_of_rows_that_is_public_is_no_score() -> None:
    table = privet.Table(
        pa.table({"x": [1, 2]}),
        unit=privet.Rows(),
        columns={"x": privet.integer(0, 5)},
        neighbors="change-one",
        units=2,
    )
    session = privet.Session({"t": table}, budget=privet.Pure(epsilon=1))
    with session, pytest.raises(RequestError, match="declared and public"):
        session.choose([1, 2], lambda option: "SELECT COUNT(*) FROM t")


def person_plan() -> tuple[ChoicePlan, Any]:
    session = auction("add-remove", unit=privet.Person("who"))
    return session.plan_choice([1, 2, 3, 4], REVENUE, epsilon=1), session._executor.schemas


@pytest.mark.parametrize("neighbors", ["add-remove", "change-one"])
def test_a_plan_that_claims_less_than_its_scores_can_move_is_refused(neighbors: str) -> None:
    session = auction(neighbors, unit=privet.Person("who"))
    plan, tables = session.plan_choice([1, 2, 3, 4], REVENUE, epsilon=1), session._executor.schemas
    verify_choice(plan, tables)
    broken = [replace(plan, sensitivity=plan.sensitivity - Fraction(1, 10**9))]
    broken += [replace(plan, monotone=True)] if neighbors == "change-one" else []
    broken += [replace(plan, scores=(*plan.scores[:3], replace(plan.scores[0], column=9)))]
    broken += [replace(plan, scores=(*plan.scores[:3], replace(plan.scores[0], scan=-1)))]
    for one in broken:
        with pytest.raises(InvariantError):
            verify_choice(one, tables)
    with pytest.raises(RequestError, match="other tables"):
        verify_choice(plan, auction("change-one" if neighbors == "add-remove" else "add-remove")._executor.schemas)


def test_a_receipt_of_another_choice_draws_nothing() -> None:
    plan, _ = person_plan()
    with pytest.raises(InvariantError, match="another choice"):
        choose_one([SealedSums({})], plan, Receipt(1, "other", "ana"))
    with pytest.raises(InvariantError, match="every scan"):
        choose_one([], plan, Receipt(1, plan.digest, "ana"))


def test_an_empty_table_takes_the_ordinary_path() -> None:
    plan, _ = person_plan()
    assert choose_one([SealedSums({})], plan, Receipt(1, plan.digest, "ana")) in range(4)


def test_the_plan_says_in_words_what_it_decides() -> None:
    plan, _ = person_plan()
    words = plan.explain()
    assert "Protects all rows of each who of bids (add-remove neighbours)." in words
    assert "moves a score by at most 4, and moves all scores in the same direction" in words
    assert str(plan) == repr(plan) == words
    assert "permute-and-flip" in plan._repr_html_()
    told = plan.to_dict()
    assert told["cost"] == {"epsilon": 1.0, "delta": 0.0}
    assert told["options"] == ["1", "2", "3", "4"]
    other = auction("change-one", unit=privet.Person("who")).plan_choice([1, 2, 3, 4], REVENUE, epsilon=1)
    assert "either way" in other.explain()
    assert other.digest != plan.digest


def test_the_plan_shows_which_rows_the_score_of_an_option_counts() -> None:
    with auction() as session:
        plan = session.plan_choice([1, 2], "SELECT COUNT(*) FROM bids WHERE bid >= :option", epsilon=1)
        whole = session.plan_choice([1, 2], REVENUE, epsilon=1)
    assert "The score of 1 is the count of rows, where (bid >= 1)." in plan.explain()
    assert "where" not in next(line for line in whole.explain().splitlines() if line.startswith("The score of"))


def test_choices_at_other_prices_have_other_digests() -> None:
    """Also where the odds are the only difference: the noise of a choice is what its rate says."""
    found = auction()
    plans = [found.plan_choice([1, 2, 3], REVENUE, epsilon=epsilon) for epsilon in (1, 2)]
    assert plans[0].rate != plans[1].rate
    assert plans[0].digest != plans[1].digest
    assert replace(plans[0], rate=plans[1].rate).digest == plans[1].digest
