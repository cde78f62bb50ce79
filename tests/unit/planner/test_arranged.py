"""Questions of one list that are read from one release: when, at what noise, under which digest, in which words."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pytest

from privet.core.budget import Pure
from privet.core.relation import ColumnRef, Literal
from privet.core.schema import Contribution, Table, category, integer, number
from privet.core.unit import Person, Rows, Unit
from privet.ledger.memory import MemoryLedger
from privet.planner.cells import which_of
from privet.query.expressions import evaluate_row, typed
from privet.query.normal import call
from privet.session import Session

STATES = [f"s{place:02}" for place in range(50)]
ASKED = [f"SELECT COUNT(*) AS n FROM t WHERE state = '{state}'" for state in STATES]
COLUMNS = {
    "who": integer(0, 99),
    "state": category(STATES),
    "age": integer(0, 99),
    "cost": number(0, 100),
    "ward": category(["a", "b", "c"]),
}


def table(unit: Unit | None = None, **options: Any) -> Table:
    rows = [(i % 100, STATES[i % 50], i % 90, float(i % 70), "abc"[i % 3]) for i in range(1000)]
    data = pa.table({name: [row[place] for row in rows] for place, name in enumerate(COLUMNS)})
    return Table(data, unit=unit or Rows(), columns=COLUMNS, **options)


def opened(*, ledger: MemoryLedger | None = None, **options: Any) -> Session:
    made = ledger or MemoryLedger(Pure(epsilon=10**6))
    return Session({"t": table(**options)}, ledger=made, account="ana")


def deviations(session: Session, questions: Sequence[str], **price: Any) -> list[float]:
    batch = session.plan_all(questions, **price)
    return [one.standard_deviation for plan in batch.releases for one in plan.passes[0].measures]


def test_fifty_states_asked_one_by_one_have_the_noise_of_a_histogram() -> None:
    with opened() as session:
        (together,) = deviations(session, ASKED, epsilon=0.25)
        assert together == pytest.approx(5.642, abs=0.001)
        alone = session.plan_all(ASKED, epsilon=0.25).before
        assert {round(plan.passes[0].measures[0].standard_deviation, 1) for plan in alone.releases} == {282.8}
        answers = session.ask_all(ASKED, epsilon=0.25)
        assert len(session.history()) == 1
        # 50 numbers, each off by more than 40 standard deviations with probability e^-56
        assert all(abs(answer.value - 20) < 40 * 5.642 for answer in answers)
        assert all(answer.series[0].high[0] - answer.series[0].low[0] <= 36 for answer in answers)


def test_each_state_has_its_own_count_in_any_order() -> None:
    """At epsilon 50 a count is off by 1 once in e^50."""
    draw = random.Random(5)
    questions = [f"SELECT COUNT(*) AS n FROM t WHERE age = {age}" for age in range(30)]
    questions += [
        "SELECT COUNT(*) AS n FROM t WHERE age BETWEEN 30 AND 49",
        "SELECT COUNT(*) FROM t WHERE age IN (50, 60)",
    ]
    truth = [sum(i % 90 == age for i in range(1000)) for age in range(30)]
    truth += [sum(30 <= i % 90 <= 49 for i in range(1000)), sum(i % 90 in (50, 60) for i in range(1000))]
    with opened() as session:
        order = list(range(32))
        for _ in range(3):
            answers = session.ask_all([questions[place] for place in order], epsilon=50)
            assert [answer.value for answer in answers] == [truth[place] for place in order]
            draw.shuffle(order)
        assert len(session.history()) == 1  # in any order they are the same release


def test_a_row_is_in_one_block_whatever_the_conditions_are() -> None:
    """Of conditions that overlap, after all, the first that is true has the row."""
    x = ColumnRef("x")
    conditions = [
        call("less", x, Literal(5)),
        call("less", x, Literal(9)),
        call("is_null", x),
        call("equal", x, Literal(3)),
    ]
    key, facts = which_of(conditions), {"x": integer(nullable=True)}
    numbers = [evaluate_row(key, {"x": value}, facts) for value in (3, 7, None, 20)]
    assert numbers == [0, 1, 2, 3]
    assert typed(key, facts).nullable is False


def test_questions_that_overlap_share_no_block() -> None:
    overlapping = ["SELECT AVG(cost) FROM t WHERE age < 50", "SELECT AVG(cost) FROM t WHERE age < 60"]
    with opened() as session:
        assert not session.plan_all(overlapping, epsilon=1).gains
        assert not session.plan_all([ASKED[0], ASKED[0]], epsilon=1).gains
        odd = ["SELECT SUM(cost) FROM t WHERE cost < age", "SELECT SUM(cost) FROM t WHERE cost >= age"]
        assert not session.plan_all(odd, epsilon=1).gains  # nobody says so of one expression


def test_under_change_one_two_blocks_gain_nothing() -> None:
    """A unit may leave one block and enter the other: as much as two sums of which it moves each."""
    sums = [f"SELECT SUM(age) FROM t WHERE state = '{state}'" for state in STATES]
    with opened(neighbors="change-one") as session:
        assert not session.plan_all(sums[:2], epsilon=1).gains
        (gain,) = session.plan_all(sums[:3], epsilon=1).gains
        assert gain.ratio == pytest.approx(9 / 4, rel=0.05)


def test_two_counts_are_measured_as_their_sum_and_difference() -> None:
    """Of one that changes, the sum and the difference move by 2 together, and each count is half of both."""
    with opened(neighbors="change-one") as session:
        (gain,) = session.plan_all(ASKED[:2], epsilon=1).gains
        assert gain.strategy == "Haar wavelet"
        assert gain.ratio == pytest.approx(2, rel=0.05)


def test_blocks_of_means_share_their_sums() -> None:
    questions = [
        f"SELECT ward, AVG(cost) AS m, COUNT(*) AS n FROM t WHERE state = '{one}' GROUP BY ward" for one in STATES[:5]
    ]
    with opened() as session:
        batch = session.plan_all(questions, epsilon=1)
        (plan,) = batch.releases
        assert len(plan.passes[0].measures) == 2
        assert batch.gains[0].ratio == pytest.approx(25, rel=0.05)
        assert batch.cost()["epsilon"] <= 1


def test_count_sum_and_mean_of_a_column_pay_for_two_sums() -> None:
    """Asked apart, as one list; three sums where those err less, as they do where the middle is far from zero."""
    three = ["SELECT COUNT(*) FROM t", "SELECT SUM(cost) FROM t", "SELECT AVG(cost) FROM t"]
    with opened() as session:
        assert len(deviations(session, three, epsilon=1)) == 2
        with_where = [f"{one} WHERE age < 30" for one in three]
        assert len(deviations(session, with_where, epsilon=1)) == 2


def test_a_shared_release_is_no_single_question_and_no_grouping() -> None:
    grouping = "SELECT state, COUNT(*) AS n FROM t GROUP BY state"
    with opened() as session:
        batch = session.plan_all(ASKED, epsilon=0.25)
        others = {session.plan(grouping, epsilon=0.25).digest, session.plan_all([grouping], epsilon=0.25).digest}
        others |= {session.plan(one, epsilon=0.25).digest for one in ASKED} | {batch.before.digest}
        others |= {plan.digest for plan in batch.before.releases}
        assert not {batch.digest, *(plan.digest for plan in batch.releases)} & others
        session.run_all(batch)
        session.ask(ASKED[0], epsilon=0.25)
        assert len(session.history()) == 2


def test_what_was_released_before_some_shared_a_release_is_still_found() -> None:
    ledger = MemoryLedger(Pure(epsilon=10**6))
    with opened(ledger=ledger) as session:
        batch = session.plan_all(ASKED, epsilon=0.25)
        before = session.run_all(batch.before)
        again = session.run_all(batch)
        assert [one.to_dict() for one in again] == [one.to_dict() for one in before]
        assert len(session.history()) == 1
    with opened(ledger=MemoryLedger(Pure(epsilon=10**6))) as session:
        first = session.ask_all(ASKED, epsilon=0.25)
        second = session.ask_all(ASKED, epsilon=0.25)
        assert [one.to_dict() for one in first] == [one.to_dict() for one in second]


def test_the_plan_says_which_questions_share_a_release_and_the_gain() -> None:
    with opened() as session:
        batch = session.plan_all([*ASKED[:3], "SELECT SUM(cost) FROM t", *ASKED[3:5]], epsilon=1)
        words = batch.explain().splitlines()[0]
        assert words.startswith('Questions 1 to 3 and 5 to 6 have conditions on "state" that exclude each other')
        assert "times smaller than one by one" in words
        assert "person" not in words
        told = batch.facts()["shared"]
        assert told[0]["questions"] == [1, 2, 3, 5, 6]
        assert told[0]["variance_ratio"] == pytest.approx(36 / 1.58**2, rel=0.05)  # of 8 + 14 parts it has 14
    with opened(unit=Person("who"), contribution=Contribution(groups=2, rows=1)) as session:
        assert "bounded over all of them together" in session.plan_all(ASKED[:3], epsilon=1).explain()


@pytest.mark.parametrize("weights", [None, [1, 2, 3, 4, 5]])
@pytest.mark.parametrize("price", [{"epsilon": 1}, {"epsilon": 0.001}])
def test_a_list_costs_no_more_than_was_said(price: Any, weights: Any) -> None:
    with opened() as session:
        batch = session.plan_all(ASKED[:5], weights=weights, **price)
        assert batch.gains
        assert batch.cost()["epsilon"] <= price["epsilon"]
        (answer, *_) = session.run_all(batch)
        assert answer.receipt.digest == batch.digest


def test_blocks_that_a_question_rules_out_are_asked_by_themselves() -> None:
    """A value outside the declared bounds has no group: the question still has its row, with its noise."""
    questions = ["SELECT COUNT(*) AS n FROM t WHERE age = 5", "SELECT COUNT(*) AS n FROM t WHERE age = 500"]
    with opened() as session:
        answers = session.ask_all(questions, epsilon=1)
        assert [len(answer["n"].values) for answer in answers] == [1, 1]


def test_notes_do_not_say_that_noise_selected_rows() -> None:
    with opened() as session:
        for answer in session.ask_all(ASKED[:3], epsilon=1):
            assert not any("selected" in note for note in answer.notes)


def test_fifty_states_within_a_width_cost_as_much_as_one() -> None:
    with opened() as session:
        batch = session.plan_all(ASKED, within=20)
        (gain,) = batch.gains
        assert gain.ratio == pytest.approx(50)
        assert batch.cost()["epsilon"] == pytest.approx(session.plan(ASKED[0], within=20).price["epsilon"], rel=1e-3)
        answers = session.run_all(batch)
        # no count is below 0, so where noise takes it there its interval ends at 0, away from it
        assert all(one.series[0].high[0] <= max(0, one.series[0].values[0] + 20) for one in answers)
        assert session.plan_all(ASKED[:1], within=20).gains == ()


def test_what_a_list_within_widths_released_before_is_found() -> None:
    with opened() as session:
        batch = session.plan_all(ASKED[:3], within=20)
        session.run_all(batch.before)
        session.run_all(batch)
        assert len(session.history()) == 1
