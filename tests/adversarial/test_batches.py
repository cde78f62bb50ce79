"""Several questions in one call: one charge, equal sums once, and no more spent than was said."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from privet import accounting
from privet.core.budget import Approximate, Budget, Pure, Zcdp
from privet.core.errors import BadParameter, BudgetExceeded, EngineError, InvariantError, RequestError
from privet.core.event import Composed, Receipt
from privet.core.scan import SealedSums
from privet.core.schema import Contribution, Table
from privet.core.unit import Person
from privet.ledger.sqlite.store import SqliteLedger
from privet.mechanisms import Laplace
from privet.planner.batch import Batch
from privet.release import release_all
from privet.session import Session
from worlds import COLUMNS, as_table

BUDGET = Approximate(epsilon=10, delta=Fraction(1, 10**6))
COUNT = "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward"
MEAN = "SELECT ward, AVG(cost) AS mean, COUNT(cost) AS known FROM visits GROUP BY ward"
AGAIN = "SELECT COUNT(*) AS visits, ward AS w FROM visits GROUP BY ward ORDER BY w DESC"
OLD = "SELECT COUNT(*) AS n FROM visits WHERE age > 65"
TOTAL = "SELECT SUM(cost) AS total FROM visits"
NAMES = "SELECT name, COUNT(*) AS n FROM visits GROUP BY name"
MEDIAN = "SELECT MEDIAN(age) AS m FROM visits"


def table() -> Table:
    rows = [(i % 200, i % 100, float(i % 900) if i % 7 else None, "abc"[i % 3], f"name {i % 4}") for i in range(1000)]
    data = as_table(rows)
    return Table(data, unit=Person("person"), columns=COLUMNS, contribution=Contribution(groups=3, rows=5))


@pytest.fixture
def session() -> Iterator[Session]:
    with opened() as made:
        yield made


def opened(budget: Budget = BUDGET, **options: Any) -> Session:
    return Session({"visits": table()}, budget=budget, **options)


def test_a_batch_is_one_charge_of_no_more_than_was_said(session: Session) -> None:
    answers = session.ask_all([COUNT, MEAN, OLD, TOTAL], epsilon=1)
    assert len(answers) == 4
    assert len(session.history()) == 1
    told = answers[0].certificate()
    assert {answer.receipt for answer in answers} == {answers[0].receipt}
    assert told["entry"] == answers[3].certificate()["entry"]
    assert session.plan_all([COUNT, MEAN, OLD, TOTAL], epsilon=1).cost()["epsilon"] <= 1


def test_the_same_questions_again_are_free_in_any_order(session: Session) -> None:
    first = session.ask_all([COUNT, OLD, AGAIN], epsilon=1)
    second = session.ask_all([AGAIN, COUNT, OLD], epsilon=1)
    assert len(session.history()) == 1
    assert [answer.to_dict() for answer in second] == [first[place].to_dict() for place in (2, 0, 1)]


def test_equal_sums_are_released_once(session: Session) -> None:
    batch = session.plan_all([COUNT, AGAIN, MEAN], epsilon=1)
    (one,) = batch.releases
    assert len(one.passes[0].measures) == 3  # rows, rows with a cost, and their centred sum
    first, second, _ = session.run_all(batch)
    assert first["n"].values == second["visits"].values[::-1]
    assert batch.cost()["epsilon"] <= 1


@pytest.mark.parametrize("budget", [Pure(epsilon=10), BUDGET, Zcdp(rho=1)], ids=["pure", "approximate", "rho"])
def test_shares_add_up_to_the_spend_and_follow_the_weights(budget: Budget) -> None:
    spend = {"rho": Fraction(1, 2)} if isinstance(budget, Zcdp) else {"epsilon": 1}
    with opened(budget) as session:
        batch = session.plan_all([COUNT, OLD, TOTAL, MEDIAN], weights=[1, 4, 2, 3], **spend)
        if "rho" in spend:
            assert Fraction(49, 100) <= batch.event.rho() <= Fraction(1, 2)
        else:
            noise = Composed(
                tuple(event for plan in batch.releases for one in plan.passes for event in one.noise_events)
            )
            assert accounting.epsilon(noise, Fraction(99, 10**8)) <= 1
        shares = [plan.passes[0].measures[0].mechanism for plan in batch.plans[:3]]
        assert len({type(share) for share in shares}) == 1
        costs = [share.event.pure() if isinstance(share, Laplace) else share.event.rho() for share in shares]
        assert [float(cost / costs[0]) for cost in costs] == pytest.approx(
            [1, 4, 3]
        )  # the median is of the same rows as the total


def test_many_questions_take_gaussian_noise_together_where_that_errs_less(session: Session) -> None:
    several = [f"SELECT COUNT(*) FROM visits WHERE age > {age}" for age in range(60)]
    batch = session.plan_all(several, epsilon=1)
    kinds = {type(one.measures[0].mechanism).__name__ for plan in batch.releases for one in plan.passes}
    assert kinds == {"Gaussian"}
    noise = Composed(tuple(event for plan in batch.releases for one in plan.passes for event in one.noise_events))
    assert 0.98 <= accounting.epsilon(noise, Fraction(99, 10**8)) <= 1
    alone = session.plan(several[0], epsilon=Fraction(1, 60)).passes[0].measures[0].standard_deviation
    assert batch.plans[0].passes[0].measures[0].standard_deviation < alone / 2


def test_weights_divide_the_whole_spend_where_noise_is_gaussian(session: Session) -> None:
    several = [f"SELECT SUM(cost) FROM visits WHERE age > {age}" for age in range(60)]
    batch = session.plan_all(several, epsilon=1, weights=[1 + place % 4 for place in range(60)])
    noise = Composed(tuple(event for plan in batch.releases for one in plan.passes for event in one.noise_events))
    assert {type(one.mechanism).__name__ for plan in batch.releases for one in plan.passes[0].measures} == {"Gaussian"}
    assert 0.98 <= accounting.epsilon(noise, Fraction(99, 10**8)) <= 1


def test_keys_that_are_found_share_the_delta_of_one_question(session: Session) -> None:
    other = NAMES.replace("FROM visits", "FROM visits WHERE age > 10")
    batch = session.plan_all([NAMES, other], epsilon=9)
    assert 0 < batch.event.slack() <= Fraction(1, 10**8)
    assert [len(answer) for answer in session.run_all(batch)] == [4, 4]


def test_answers_without_noise_are_those_of_each_question_alone() -> None:
    questions = [COUNT, MEAN, AGAIN, OLD, TOTAL, "SELECT ward, COUNT(DISTINCT age) AS k FROM visits GROUP BY ward"]
    with opened(Pure(epsilon=10**15)) as session:
        together = session.ask_all(questions, epsilon=10**9)
        for question, answer in zip(questions, together, strict=True):
            alone = session.ask(question, epsilon=10**9)
            for series in alone.series:
                if series.noisy and series.name != "k":  # which values of a person count is up to chance
                    assert answer[series.name].values == pytest.approx(series.values, rel=1e-5), question


@pytest.mark.parametrize(
    "ask",
    [
        lambda s: s.ask_all([COUNT, OLD], epsilon=1000),
        lambda s: s.ask_all([], epsilon=1),
        lambda s: s.ask_all(COUNT, epsilon=1),
        lambda s: s.ask_all([COUNT, 3], epsilon=1),
        lambda s: s.ask_all([COUNT, "SELECT * FROM visits"], epsilon=1),
        lambda s: s.ask_all([COUNT, OLD], epsilon=1, weights=[1]),
        lambda s: s.ask_all([COUNT, OLD], epsilon=1, weights=[1, 0]),
        lambda s: s.ask_all([COUNT, OLD], epsilon=1, bound="some"),
        lambda s: s.ask_all([COUNT] * 101, epsilon=1),
        lambda s: s.run_all(s.plan(COUNT, epsilon=1)),
    ],
)
def test_a_refused_batch_is_free(ask: Any, session: Session) -> None:
    with pytest.raises((RequestError, BudgetExceeded)):
        ask(session)
    assert session.history() == ()


def test_a_batch_with_less_noise_than_its_claim_is_refused_before_it_is_charged(session: Session) -> None:
    batch = session.plan_all([COUNT, OLD], epsilon=1)
    forged = []
    for plan in batch.plans:
        measure = plan.passes[0].measures[0]
        quiet = replace(measure, mechanism=Laplace(sensitivity=1, epsilon=1))
        forged.append(replace(plan, passes=(plan.passes[0].with_noise((quiet,)),)))
    with pytest.raises(InvariantError):
        session.run_all(Batch((batch.plans[0], forged[1]), batch.spend))
    assert session.history() == ()


def test_noise_is_drawn_only_against_the_receipt_of_the_batch(session: Session) -> None:
    batch = session.plan_all([COUNT, OLD], epsilon=1)
    with pytest.raises(InvariantError, match="another batch"):
        release_all([[SealedSums({})]] * 2, batch, Receipt(1, batch.plans[0].digest, "session"))


def test_after_a_failure_the_charge_of_a_batch_stands() -> None:
    class Failing:
        def check(self, scan: Any) -> None:
            pass

        def scan(self, scan: Any) -> SealedSums:
            raise RuntimeError("Zaphod")

        def close(self) -> None:
            pass

    with opened(engine=Failing()) as session:
        with pytest.raises(EngineError) as caught:
            session.ask_all([COUNT, OLD], epsilon=1)
        assert "Zaphod" not in str(caught.value)
        assert len(session.history()) == 1


def test_a_durable_ledger_keeps_a_batch_and_tells_of_it(tmp_path: Path) -> None:
    place = tmp_path / "ledger.db"
    ledger = SqliteLedger(place, BUDGET)
    with Session({"visits": table()}, ledger=ledger, account="session") as session:
        first = session.ask_all([COUNT, NAMES, MEDIAN], epsilon=1)
    ledger.close()
    ledger = SqliteLedger(place)
    with Session({"visits": table()}, ledger=ledger, account="session") as session:
        again = session.ask_all([COUNT, NAMES, MEDIAN], epsilon=1)
        assert [one.to_dict() for one in again] == [one.to_dict() for one in first]
        ledger.verify()
        told = ledger.certificate(first[0].receipt.entry)
        assert told["questions"] == 3
        assert told["cost"]["epsilon"] <= 1
        assert told["digest"] == first[0].certificate()["digest"]


def test_a_batch_that_is_not_a_list_says_what_is_wanted(session: Session) -> None:
    with pytest.raises(BadParameter, match="a list of 1 to 100 questions"):
        session.ask_all(COUNT, epsilon=1)  # type: ignore[arg-type]
    with pytest.raises(BadParameter, match="got '101 of them'"):
        session.ask_all([COUNT] * 101, epsilon=1)


@pytest.mark.parametrize(
    ("said", "match"),
    [
        ("SELECT COUNT(*) FROM visit", r"^question 3: there is no table 'visit'.*\^$"),
        ("SELECT * FROM visits", "^question 3: this lists single rows"),
        ("", "^question 3: there is no query"),
        (5, "^question 3: question must be SQL"),
    ],
)
def test_a_refusal_names_the_question_that_it_is_about(session: Session, said: Any, match: str) -> None:
    with pytest.raises(RequestError, match=re.compile(match, re.DOTALL)) as refused:
        session.ask_all([COUNT, OLD, said, said], epsilon=1)
    assert refused.value.to_dict()["message"] == str(refused.value)
    assert session.history() == ()


@pytest.mark.parametrize("how", [{"contribution": "auto"}, {"epsilon": -1}, {"epsilon": 1, "weights": [1]}])
def test_a_refusal_of_the_whole_list_names_no_question(session: Session, how: dict[str, Any]) -> None:
    with pytest.raises(RequestError) as refused:
        session.ask_all([COUNT, OLD], **how)
    assert "question 1" not in str(refused.value)
    assert session.history() == ()


@pytest.mark.parametrize(
    ("said", "match"),
    [
        ("SELECT COUNT(*) FROM visits WITHIN 5", "not both"),
        ("SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon = 1) COUNT(*) FROM visits", "by itself"),
        ("SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(max_groups_contributed = 1) COUNT(*) FROM visits", "by itself"),
    ],
)
def test_a_question_of_several_cannot_say_itself_what_it_costs(session: Session, said: str, match: str) -> None:
    with pytest.raises(RequestError, match=match):
        session.ask_all([COUNT, said], epsilon=1)
    assert session.history() == ()
