"""A released value that would choose, weigh or bound private rows is released first, at a price of its own, or refused.

There is no third case: both are listed here.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pyarrow as pa
import pytest

import privet
from privet import Approximate, Contribution, Person, Pure, Session, Table, Zcdp
from privet.core.errors import BudgetExceeded, InvariantError, RequestError, Unsupported
from privet.core.relation import Literal, parts_of
from privet.planner.plan import Plan, Spend
from privet.planner.rounds import InSteps, share_of
from privet.query.nodes import Query
from privet.query.sql.parse import parse

SIZE = 400
ROWS = pa.table(
    {
        "u": range(SIZE),
        "ward": ["A", "B", "B", "C"] * (SIZE // 4),
        "cost": [float(i % 100) for i in range(SIZE)],
        "age": [i % 90 for i in range(SIZE)],
    }
)
COLUMNS = {
    "u": privet.integer(),
    "ward": privet.category(["A", "B", "C"]),
    "cost": privet.number(0, 100),
    "age": privet.integer(0, 120),
}
ABOVE = "SELECT ward, COUNT(*) AS n FROM visits WHERE cost > (SELECT AVG(cost) FROM visits) GROUP BY ward"


def tables() -> dict[str, Table]:
    return {
        "visits": Table(ROWS, unit=Person("u"), columns=COLUMNS, contribution=Contribution(groups=1, rows=1), key="u")
    }


@pytest.fixture
def session() -> Iterator[Session]:
    with Session(tables(), budget=Approximate(epsilon=100, delta=1e-6)) as made:
        yield made


IN_STEPS: list[tuple[str, int]] = [
    (ABOVE, 2),
    ("SELECT COUNT(*) FROM visits WHERE (SELECT AVG(cost) FROM visits) < cost", 2),
    ("SELECT COUNT(*) FROM visits WHERE cost > (SELECT AVG(cost) FROM visits) * 2 OR age = 3", 2),
    (
        "SELECT COUNT(*) FROM visits WHERE cost BETWEEN (SELECT MIN(age) FROM visits) AND "
        "(SELECT AVG(age) FROM visits)",
        3,
    ),
    ("SELECT COUNT(*) FROM (SELECT u FROM visits WHERE cost > (SELECT MEDIAN(cost) FROM visits)) AS t", 2),
    (
        "SELECT COUNT(*) FROM visits WHERE cost > "
        "(SELECT AVG(cost) FROM visits WHERE age < (SELECT AVG(age) FROM visits))",
        3,
    ),
    ("SELECT SUM(cost - (SELECT AVG(cost) FROM visits)) FROM visits", 2),
    ("SELECT SUM(LEAST(cost, (SELECT QUANTILE(cost, 0.9) FROM visits))) FROM visits", 2),
    ("SELECT COUNT(*) FILTER (WHERE cost > (SELECT AVG(cost) FROM visits)) FROM visits", 2),
    ("SELECT cost > (SELECT AVG(cost) FROM visits) AS above, COUNT(*) FROM visits GROUP BY above", 2),
    ("SELECT COUNT(*) FROM visits WHERE ward = (SELECT MODE(ward) FROM visits)", 2),
    ("SELECT COUNT(*) / (SELECT COUNT(*) FROM visits) FROM visits WHERE cost > (SELECT AVG(cost) FROM visits)", 2),
    ("WITH m AS (SELECT AVG(cost) AS a FROM visits) SELECT COUNT(*) FROM visits WHERE cost > (SELECT a FROM m)", 2),
    # the same value twice is released once
    (
        "SELECT COUNT(*) FROM visits WHERE cost > (SELECT AVG(cost) FROM visits) AND "
        "age < (SELECT AVG(cost) FROM visits)",
        2,
    ),
]

REFUSED = [
    "SELECT COUNT(*) FROM visits WHERE ward IN (SELECT ward FROM visits GROUP BY ward HAVING COUNT(*) > 5)",
    "SELECT COUNT(*) FROM visits WHERE cost IN (SELECT MAX(cost) FROM visits)",
    "SELECT COUNT(*) FROM visits WHERE EXISTS (SELECT ward FROM visits GROUP BY ward HAVING COUNT(*) > 5)",
    "SELECT COUNT(*) FROM visits v JOIN (SELECT ward, AVG(cost) AS a FROM visits GROUP BY ward) m ON m.ward = v.ward",
    "SELECT COUNT(*) FROM visits, (SELECT AVG(cost) AS a FROM visits) AS m WHERE cost > a",
    "SELECT COUNT(*) FROM visits WHERE cost > (SELECT AVG(cost) FROM visits GROUP BY ward)",
    "SELECT COUNT(*) FROM visits WHERE cost > (SELECT AVG(cost), 3 FROM visits)",
    "SELECT u FROM visits WHERE cost > (SELECT AVG(cost) FROM visits)",
    "SELECT COUNT(*) FROM visits LIMIT (SELECT COUNT(*) FROM visits)",
    "SELECT COUNT(*) FROM visits WHERE cost > "
    + " + ".join(f"(SELECT AVG(cost) FROM visits WHERE age > {n})" for n in range(6)),
]


def made_of(plan: Plan) -> InSteps:
    assert isinstance(plan, InSteps)
    return plan


@pytest.mark.parametrize(("sql", "count"), IN_STEPS)
def test_a_value_that_reaches_private_rows_is_released_first_and_priced(session: Session, sql: str, count: int) -> None:
    plan = made_of(session.plan(sql, epsilon=3))
    assert len(plan.steps) == count
    prices = [step.price["epsilon"] for step in plan.steps]
    assert sum(prices) == pytest.approx(3, rel=1e-6)
    assert plan.price["epsilon"] == pytest.approx(3, rel=1e-6)
    told = plan.explain()
    assert told.count("Step ") == count
    assert told.count("Costs epsilon") >= count  # the price of each, and of all
    assert "All steps together cost epsilon 3" in told
    answer = session.ask(sql, epsilon=3)
    assert len(session.history()) == count
    assert f"Asked in {count} steps" in answer.notes[-1]
    assert "epsilon 3 in all" in answer.notes[-1]
    again = session.ask(sql, epsilon=3)
    assert len(session.history()) == count  # all of it is stored
    assert again.to_dict() == answer.to_dict()


@pytest.mark.parametrize("sql", REFUSED)
def test_all_else_that_would_reach_private_rows_is_refused_and_free(session: Session, sql: str) -> None:
    with pytest.raises(RequestError):
        session.ask(sql, epsilon=1)
    assert not session.history()


def constants_of(query: Query) -> set[Any]:
    return {part.value for part in parts_of(query.where or Literal(None)) if isinstance(part, Literal)}


def test_what_was_released_is_what_stands_in_the_question(session: Session) -> None:
    plan = made_of(session.plan(ABOVE, epsilon=2))
    first = session.run(plan.steps[0])
    assert plan.following is not None
    step, last = plan.following((first.series[0].values[0],))
    assert last
    assert constants_of(step.query) == {Fraction(first.series[0].values[0])}
    answer = session.ask(ABOVE, epsilon=2)
    assert answer.plan.digest == step.digest
    assert answer.plan.digest != plan.steps[1].digest  # which has another value in its place


def test_with_little_noise_the_answer_is_the_exact_one() -> None:
    with Session(tables(), budget=Approximate(epsilon=10**12, delta=1e-6)) as session:
        answer = session.ask(ABOVE, epsilon=10**10)
        assert [round(value) for value in answer["n"].values] == [48, 100, 52]
        nested = (
            "SELECT COUNT(*) AS n FROM visits WHERE age > "
            "(SELECT AVG(age) FROM visits WHERE age < (SELECT AVG(age) FROM visits))"
        )
        ages = [i % 90 for i in range(SIZE)]
        mean = sum(ages) / SIZE
        below = [age for age in ages if age < mean]
        expected = sum(age > sum(below) / len(below) for age in ages)
        assert round(session.ask(nested, epsilon=10**10).value) == expected


def test_nothing_is_charged_where_all_steps_do_not_fit() -> None:
    with Session(tables(), budget=Pure(epsilon=1)) as session:
        session.ask("SELECT COUNT(*) FROM visits", epsilon=0.5)
        with pytest.raises(BudgetExceeded):
            session.ask(ABOVE, epsilon=0.8)
        assert len(session.history()) == 1
        session.ask(ABOVE, epsilon=0.4)
        assert len(session.history()) == 3


def test_a_step_that_was_paid_for_is_not_paid_again(session: Session) -> None:
    plan = made_of(session.plan(ABOVE, epsilon=2))
    session.run(plan.steps[0])
    session.ask(ABOVE, epsilon=2)
    assert len(session.history()) == 2
    session.ask("SELECT AVG(cost) AS mean FROM visits", epsilon=1)  # the same question, asked by itself
    assert len(session.history()) == 2


def test_keys_of_idempotence_go_with_each_step(session: Session) -> None:
    first = session.ask(ABOVE, epsilon=2, key="k")
    again = session.ask(ABOVE, epsilon=2, key="k")
    assert first.to_dict() == again.to_dict()
    assert [entry.key for entry in session.history()] == ["k, step 1", "k"]


def test_rho_is_divided_too() -> None:
    with Session(tables(), budget=Zcdp(rho=1)) as session:
        plan = made_of(session.plan(ABOVE, rho=0.5))
        assert [step.price["rho"] for step in plan.steps] == pytest.approx([0.25, 0.25])
        session.ask(ABOVE, rho=0.5)
        assert float(session.remaining().amount) == pytest.approx(0.5, abs=1e-9)


def test_a_slip_in_the_question_is_found_before_anything_is_charged(session: Session) -> None:
    for slip in (
        "SELECT COUNT(*) FROM visits WHERE cost > (SELECT AVG(cost) FROM visits) AND ward = 'Z'",
        "SELECT COUNT(*) FROM visits WHERE cost > (SELECT AVG(cost) FROM visits WHERE ward = 'Z')",
        "SELECT SUM(nothing) FROM visits WHERE cost > (SELECT AVG(cost) FROM visits)",
    ):
        with pytest.raises(RequestError):
            session.ask(slip, epsilon=1)
    assert not session.history()


def test_a_value_that_is_null_chooses_no_rows() -> None:
    with Session(tables(), budget=Approximate(epsilon=10**9, delta=1e-6)) as session:
        asked = "SELECT COUNT(*) AS n FROM visits WHERE cost > (SELECT MAX(cost) FROM visits WHERE age > 119)"
        assert round(session.ask(asked, epsilon=10**6).value) == 0


def test_widths_batches_reports_and_plain_reading_take_no_steps(session: Session) -> None:
    with pytest.raises(Unsupported, match="needs a value first"):
        session.ask(ABOVE, within=5)
    with pytest.raises(RequestError, match="question of its own"):
        session.ask_all([ABOVE], epsilon=1)
    with pytest.raises(RequestError, match="question of its own"):
        session.clipping(ABOVE, epsilon=1)
    with pytest.raises(RequestError, match="question of its own"):
        parse(ABOVE, {"visits": tables()["visits"].schema})
    with pytest.raises(RequestError, match="question of its own"):
        Session(
            tables(),
            views={"dear": "SELECT * FROM visits WHERE cost > (SELECT AVG(cost) FROM visits)"},
            budget=Pure(epsilon=1),
        )
    assert not session.history()


def test_a_hand_made_plan_in_steps_is_refused(session: Session) -> None:
    plan = made_of(session.plan(ABOVE, epsilon=1))
    with pytest.raises(InvariantError):
        session.run(replace(plan, following=None))
    assert not session.history()


def test_shares_of_a_spend_add_up() -> None:
    whole = Spend(Fraction(1), Fraction(1, 10), None, Fraction(1, 7))
    share = share_of(whole, 3)
    assert (share.epsilon or 0) * 3 == whole.epsilon
    assert (share.delta * 3, share.keys * 3) == (whole.delta, whole.keys)
