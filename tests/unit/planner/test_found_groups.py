"""A question can say that its groups are to be found, although they are declared: it costs delta, and shows fewer."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pyarrow as pa
import pytest

from privet.core.budget import Approximate, Budget, Pure, Zcdp
from privet.core.errors import BadParameter, ParseError, PrivetError, RequestError
from privet.core.schema import Contribution, Table, category, integer
from privet.core.unit import Person
from privet.query.frame import count
from privet.session import Session

BOTH = Approximate(epsilon=10**4, delta=1e-6)
WIDE = "SELECT a, b, COUNT(*) AS n FROM t GROUP BY a, b"
WARDS = "SELECT ward, COUNT(*) AS n FROM t GROUP BY ward"


def google(sql: str, options: str) -> str:
    return sql.replace("SELECT", f"SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS({options})")


def session(budget: Budget = BOTH) -> Session:
    people = [*range(400)]
    rows = pa.table(
        {
            "person": people,
            "a": [7 if person < 300 else person for person in people],
            "b": [9] * 400,
            "ward": ["x" if person < 200 else "undeclared" if person < 390 else "y" for person in people],
        }
    )
    columns = {"person": integer(), "a": integer(0, 999), "b": integer(0, 999), "ward": category(["x", "y", "z"])}
    return Session(
        {"t": Table(rows, unit=Person("person"), columns=columns, contribution=Contribution(groups=1, rows=1))},
        budget=budget,
    )


def test_more_declared_groups_than_can_be_answered_are_found() -> None:
    with session() as asked:
        plan = asked.plan(WIDE, epsilon=10)
        assert plan.discovers
        assert plan.digest == asked.plan(WIDE, epsilon=10, find_groups=True).digest
        assert plan.event.slack() > 0
        answer = asked.ask(WIDE, epsilon=10)
        assert any("Rare groups are suppressed" in note for note in answer.notes)
        assert (answer["a"].values, answer["b"].values) == ((7,), (9,))
        assert answer["n"].values[0] == pytest.approx(300, abs=30)


def test_every_way_to_say_it_is_the_same_question() -> None:
    with session() as asked:
        plan = asked.plan(WIDE, epsilon=1, find_groups=True)
        built = asked.table("t").group_by("a", "b").agg(n=count()).find_groups()
        written = google(WIDE, "find_groups = TRUE")
        assert {asked.plan(one, epsilon=1).digest for one in (built, written)} == {plan.digest}
        assert asked.plan(google(WIDE, "epsilon = 1, Find_Groups = true")).digest == plan.digest
        assert asked.plan(google(WARDS, "find_groups = FALSE"), epsilon=1).digest == asked.plan(WARDS, epsilon=1).digest
        assert asked.plan_all([written], epsilon=1).plans[0].discovers
        assert asked.plan(WARDS, epsilon=1).digest != asked.plan(WARDS, epsilon=1, find_groups=True).digest


def test_what_finds_groups_is_charged_with_its_delta() -> None:
    with session() as asked:
        assert not asked.plan(WARDS, epsilon=1).event.slack()
        plan = asked.plan(WARDS, epsilon=1, find_groups=True)
        assert plan.discovers
        assert 0 < plan.event.slack() <= Fraction(1, 10**6)
        assert "found" in plan.explain()


def test_a_value_that_is_not_declared_is_in_no_group_that_is_found() -> None:
    with session() as asked:
        answer = asked.ask(WARDS, epsilon=100, find_groups=True)
        assert set(answer["ward"].values) <= {"x", "y"}
        assert "x" in answer["ward"].values


@pytest.mark.parametrize("budget", [Pure(epsilon=10), Zcdp(rho=10)])
def test_a_budget_without_a_delta_refuses_and_says_what_to_do(budget: Budget) -> None:
    with session(budget) as asked:
        with pytest.raises(RequestError, match=r"needs a delta.*leave find_groups out"):
            asked.ask(WIDE, find_groups=True)
        with pytest.raises(RequestError, match=r"1,000,000 groups.*with a delta"):
            asked.ask(WIDE)
        assert asked.history() == ()


@pytest.mark.parametrize(
    ("sql", "options", "error", "words"),
    [
        ("SELECT COUNT(*) AS n FROM t", {"find_groups": True}, RequestError, "no groups to be found"),
        (WARDS, {"find_groups": True, "other": "rest"}, RequestError, "not both"),
        (WARDS, {"find_groups": 1}, BadParameter, "find_groups"),
        (WARDS, {"find_groups": "yes"}, BadParameter, "find_groups"),
        (WARDS, {"find_groups": None}, BadParameter, "find_groups"),
        (WARDS, {"find_groups": True, "within": "5%"}, RequestError, "leave find_groups out"),
        (google(WARDS, "find_groups = 1"), {}, ParseError, "write options as"),
        (google(WARDS, "find_groups = yes"), {}, ParseError, "write options as"),
        (google(WARDS, "find_groups = TRUE, find_groups = TRUE"), {}, ParseError, "given twice"),
    ],
)
def test_what_makes_no_sense_is_refused_for_free(
    sql: str, options: dict[str, Any], error: type[PrivetError], words: str
) -> None:
    with session() as asked:
        with pytest.raises(error, match=words):
            asked.ask(sql, **options)
        assert asked.history() == ()


def test_levels_are_found_each_by_itself() -> None:
    with session() as asked:
        answer = asked.ask("SELECT a, b, COUNT(*) AS n FROM t GROUP BY ROLLUP(a, b)", epsilon=1000, find_groups=True)
        assert {(7, 9), (7, None), (None, None)} <= set(zip(answer["a"].values, answer["b"].values, strict=True))


def test_a_condition_does_not_make_found_groups_public() -> None:
    with session() as asked:
        plan = asked.plan(f"{WIDE.replace('GROUP', 'WHERE a < 3 GROUP')}", epsilon=1, find_groups=True)
        assert plan.discovers
        assert all(key.values is None for key in plan.groups)
