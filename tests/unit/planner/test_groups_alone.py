"""Groups alone: SELECT DISTINCT, or GROUP BY without aggregates. Declared ones are free, others found and charged."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pyarrow as pa
import pytest

from privet.core.budget import Approximate, Budget, Pure, Zcdp
from privet.core.errors import PrivetError, RequestError, Unsupported
from privet.core.schema import Contribution, Table, category, integer, number, text
from privet.core.unit import Person
from privet.session import Session

BOTH = Approximate(epsilon=10**4, delta=Fraction(1, 10**6))


def session(budget: Budget = BOTH) -> Session:
    people = [*range(300)]
    rows = pa.table(
        {
            "person": people,
            "ward": ["b" if person % 2 else "a" for person in people],
            "city": ["Bonn" if person < 200 else "Ulm" if person < 299 else "hers alone" for person in people],
            "age": [person % 90 for person in people],
            "cost": [float(person) for person in people],
        }
    )
    columns = {
        "person": integer(),
        "ward": category(["a", "b", "never"]),
        "city": text(),
        "age": integer(0, 89),
        "cost": number(0, 300),
    }
    limit = Contribution(groups=1, rows=1)
    return Session({"t": Table(rows, unit=Person("person"), columns=columns, contribution=limit)}, budget=budget)


@pytest.mark.parametrize("budget", [BOTH, Pure(epsilon=1), Zcdp(rho=1)], ids=["both", "pure", "rho"])
@pytest.mark.parametrize("sql", ["SELECT DISTINCT ward FROM t", "SELECT ward FROM t GROUP BY ward"])
def test_declared_groups_are_all_listed_and_cost_nothing(sql: str, budget: Budget) -> None:
    with session(budget) as asked:
        plan = asked.plan(sql)
        assert "declared and public" in plan.explain()
        assert "nothing is charged" in plan.explain()
        before = asked.remaining()
        answer = asked.ask(sql)
        assert answer["ward"].values == ("a", "b", "never")
        assert not answer["ward"].noisy
        assert answer.notes == (
            "The groups are declared and public: they are listed whether or not they have rows, no row is read, and "
            "nothing is charged.",
        )
        assert set(answer.certificate()["cost"].values()) == {0.0}
        assert asked.remaining() == before
        assert [entry.event.events for entry in asked.history()] == [()]


def test_a_condition_on_rows_leaves_out_only_groups_that_declared_facts_rule_out() -> None:
    with session() as asked:
        # whether ward b has a row of this age is private: it is listed, as GROUP BY would list it
        assert asked.ask("SELECT DISTINCT ward FROM t WHERE age = 88").to_dict() == {"ward": ["a", "b", "never"]}
        assert asked.ask("SELECT DISTINCT ward FROM t WHERE ward <> 'b'").to_dict() == {"ward": ["a", "never"]}
        assert {entry.event.events for entry in asked.history()} == {()}


def test_groups_that_are_not_declared_are_found_and_charged() -> None:
    with session() as asked:
        plan = asked.plan("SELECT DISTINCT city FROM t", epsilon=5)
        assert plan.discovers
        assert "public" not in plan.explain()
        assert "nothing is charged" not in plan.explain()
        assert plan.to_dict()["cost"] == {"epsilon": pytest.approx(5), "delta": pytest.approx(1e-8)}
        assert len(plan.event.events) == 1
        answer = asked.ask("SELECT DISTINCT city FROM t ORDER BY city DESC", epsilon=5)
        assert answer["city"].values == ("Ulm", "Bonn")  # and never the one of a single person
        assert answer.notes == ("Rare groups are suppressed: a group that is missing may have rows.",)
    with session(Pure(epsilon=1)) as pure, pytest.raises(RequestError, match="needs a delta"):
        pure.ask("SELECT DISTINCT city FROM t")


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("SELECT DISTINCT ward AS w FROM t ORDER BY w DESC LIMIT 2", {"w": ["never", "b"]}),
        ("SELECT ward FROM t GROUP BY ward HAVING ward > 'a' ORDER BY 1", {"ward": ["b", "never"]}),
        ("SELECT UPPER(ward) AS u FROM t GROUP BY ward ORDER BY ward OFFSET 1", {"u": ["B", "NEVER"]}),
        ("SELECT DISTINCT ward, 1 AS one FROM t LIMIT 1", {"ward": ["a"], "one": [1]}),
        (
            "SELECT DISTINCT ward, age >= 18 AS adult FROM t ORDER BY ward, adult LIMIT 3",
            {"ward": ["a", "a", "b"], "adult": [False, True, False]},
        ),
    ],
)
def test_several_keys_expressions_order_and_limit(sql: str, expected: dict[str, Any]) -> None:
    with session() as asked:
        assert asked.ask(sql).to_dict() == expected


def test_having_with_an_aggregate_is_charged_for_it() -> None:
    with session() as asked:
        answer = asked.ask("SELECT ward FROM t GROUP BY ward HAVING COUNT(*) > 50", epsilon=10)
        assert answer["ward"].values == ("a", "b")
        assert answer.certificate()["cost"]["epsilon"] == pytest.approx(10)


def test_a_question_beside_others_shares_their_groups() -> None:
    with session() as asked:
        batch = asked.plan_all(["SELECT DISTINCT ward FROM t", "SELECT ward, COUNT(*) FROM t GROUP BY ward"], epsilon=1)
        assert len(batch.releases) == 1
        assert batch.cost()["epsilon"] == pytest.approx(1)
        listed = asked.ask_all(["SELECT DISTINCT city FROM t", "SELECT DISTINCT ward FROM t"], epsilon=5)
        assert [one.series[0].values for one in listed] == [("Bonn", "Ulm"), ("a", "b", "never")]


def test_the_builder_has_it() -> None:
    with session() as asked:
        built = asked.table("t").group_by("ward").agg()
        assert asked.plan(built).digest == asked.plan("SELECT DISTINCT ward FROM t").digest
        assert asked.ask(built)["ward"].values == ("a", "b", "never")


@pytest.mark.parametrize(
    ("sql", "options", "says"),
    [
        ("SELECT DISTINCT person FROM t", {}, "would tell people apart"),
        ("SELECT DISTINCT person % 10 FROM t", {}, "would tell people apart"),
        ("SELECT DISTINCT cost FROM t", {}, "has a group for every decimal"),
        ("SELECT DISTINCT 1 FROM t", {}, "constants"),
        ("SELECT DISTINCT ward FROM t ORDER BY age", {}, "neither grouped"),
        ("SELECT DISTINCT ward FROM t GROUP BY city HAVING age > 3", {}, "neither grouped"),
        ("SELECT ward FROM t GROUP BY ROLLUP (ward)", {}, "add COUNT"),
        ("SELECT DISTINCT city FROM t", {"other": "rest"}, "no numbers, which other= is about"),
        ("SELECT DISTINCT ward FROM t", {"covers": "population"}, "no numbers, which covers='population' is about"),
        ("SELECT DISTINCT ward FROM t", {"within": 5}, "no column of this question has noise"),
    ],
)
def test_what_lists_people_or_makes_no_sense_is_refused(sql: str, options: dict[str, Any], says: str) -> None:
    with session() as asked:
        with pytest.raises(PrivetError, match=says.replace("(", r"\(")) as refused:
            asked.ask(sql, **options)
        assert isinstance(refused.value, (RequestError, Unsupported))
        assert asked.history() == ()
