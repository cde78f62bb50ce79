"""What a plan says of itself is what holds: who is protected, against which neighbours, at what cost, what is lost."""

from __future__ import annotations

from fractions import Fraction

import pytest

from privet.core.schema import Contribution, Schema, category, date, integer, number, text
from privet.core.unit import Person, Rows, Window
from privet.mechanisms import OptimalKeys
from privet.planner.explain import coverage_notes, explain, facts
from privet.planner.make import make_plan
from privet.planner.measures import KeyRule
from privet.planner.plan import Plan, Spend
from privet.query.sql.parse import parse
from worlds import visits_session

COLUMNS = {
    "who": integer(),
    "day": date(),
    "ward": category(["a", "b"]),
    "diag": text(),
    "cost": number(0, 100),
}
KEYS = Fraction(1, 10**7)
SPENDS = {
    "pure": Spend(Fraction(1), Fraction(0), None, Fraction(0)),
    "approximate": Spend(Fraction(1), Fraction(1, 10**6), None, KEYS),
    "rho": Spend(None, Fraction(0), Fraction(1, 10), KEYS),
}
FOUND = "SELECT diag, COUNT(*), SUM(cost), AVG(cost) FROM t GROUP BY diag"


def planned(
    sql: str, spend: str = "pure", unit: object = None, neighbors: str = "add-remove", bound: str = "norm"
) -> Plan:
    schema = Schema(
        unit=unit or Person("who"),
        columns=COLUMNS,
        neighbors=neighbors,
        contribution=Contribution(groups=8, rows=3),
    )
    return make_plan(parse(sql, {"t": schema}), {"t": schema}, spend=SPENDS[spend], bound=bound)


@pytest.mark.parametrize("neighbors", ["add-remove", "change-one"])
@pytest.mark.parametrize("unit", [Person("who"), Person("who", 3), Rows(), Window("who", "day", 7)], ids=str)
def test_a_plan_says_who_is_protected_and_against_which_neighbours(unit: object, neighbors: str) -> None:
    plan = planned("SELECT COUNT(*) FROM t WHERE cost > 3", unit=unit, neighbors=neighbors)
    told = facts(plan)
    assert (told["protects"], told["neighbors"]) == (str(unit), neighbors)
    assert f"Protects {unit} of t ({neighbors} neighbours)." in explain(plan)


@pytest.mark.parametrize("spend", ["approximate", "rho"])
def test_the_delta_of_keys_that_are_found_is_in_the_price(spend: str) -> None:
    plan = planned(FOUND, spend)
    slack = plan.event.slack()
    assert slack > 0
    assert facts(plan)["cost"]["delta"] >= float(slack)
    if spend == "approximate" and plan.event.pure() == float("inf"):
        assert facts(plan)["cost"]["delta"] > float(SPENDS[spend].delta)


def test_gaussian_noise_and_a_threshold_cost_both_of_their_deltas() -> None:
    plan = planned(FOUND, "approximate")
    assert plan.event.pure() == float("inf")  # eight groups: Gaussian noise is the better
    told = facts(plan)["cost"]["delta"]
    assert told >= float(SPENDS["approximate"].delta + plan.event.slack())


@pytest.mark.parametrize(("bound", "word"), [("norm", "scaled down"), ("groups", "dropped")])
def test_notes_say_what_intervals_do_not_cover(bound: str, word: str) -> None:
    notes = coverage_notes(planned("SELECT ward, SUM(cost) FROM t GROUP BY ward", bound=bound), 0.95)
    assert any(word in note and "not cover" in note for note in notes)
    assert any("clamped" in note for note in notes)
    assert any("suppressed" in note for note in coverage_notes(planned(FOUND, "rho"), 0.95))
    alone = coverage_notes(planned("SELECT COUNT(*) FROM t", unit=Rows()), 0.95)
    assert len(alone) == 1


def test_the_delta_of_a_rule_for_keys_is_told_beside_its_noise_and_not_within_it() -> None:
    rule = KeyRule(OptimalKeys(epsilon=Fraction(1), delta=KEYS, keys=2))
    assert rule.event.slack() > 0
    assert rule.noise.slack() == 0
    assert rule.noise.pure() == rule.event.pure() == 1


def test_totals_that_may_be_too_low_or_too_high_are_named_only_where_the_answer_shows_some() -> None:
    with visits_session(unit=Person("person")) as asked:
        told = {
            sql: next(note for note in coverage_notes(asked.plan(sql, epsilon=1), 0.95) if "scaled down" in note)
            for sql in (
                "SELECT AVG(age) AS a FROM t",
                "SELECT COUNT(*) AS n FROM t",
                "SELECT SUM(-age) AS s FROM t",
                "SELECT SUM(age) AS s, SUM(-age) AS o FROM t",
            )
        }
    assert [one.partition("scaled down")[2] for one in told.values()] == [
        "; intervals do not cover this.",
        ", so totals may be too low; intervals do not cover this.",
        ", so totals may be too high; intervals do not cover this.",
        ", so totals may be too low or too high; intervals do not cover this.",
    ]
