"""Known plans: for each query and table, the sums, how far a unit moves them, the noise, and the price.

Integers are in the steps of each sum's grid; weighted sums (people, bounded by a norm) in 2**-20 of a step.
"""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from math import sqrt
from statistics import NormalDist
from typing import Any

import pytest

from privet.core.errors import RequestError
from privet.core.numbers import float_up
from privet.core.scan import Discovery, Norm, Once, Truncate
from privet.core.schema import Contribution, Schema, category, date, integer, number, text
from privet.core.unit import Person, Rows, Window
from privet.mechanisms import Gaussian, Laplace
from privet.planner.explain import cost
from privet.planner.keys import other_way, people_needed
from privet.planner.make import make_plan
from privet.planner.measures import KeyRelease, KeyRule, Measure
from privet.planner.plan import Plan, Spend
from privet.planner.stability import keys_kept
from privet.query.sql.parse import parse

COLUMNS = {
    "person": integer(),
    "age": integer(0, 120),
    "pay": number(20_000, 200_000, step=100),
    "score": integer(-5, 20, nullable=True),
    "ward": category(["a", "b", "c"]),
    "name": text(),
}
TYPICAL = Contribution(groups=3, rows=2)
ROWS = Schema(unit=Rows(), columns=COLUMNS)
CHANGE = Schema(unit=Rows(), columns=COLUMNS, neighbors="change-one")
SIZED = Schema(unit=Rows(), columns=COLUMNS, neighbors="change-one", units=500)
TOGETHER = Schema(unit=Rows(4), columns=COLUMNS)
PEOPLE = Schema(unit=Person("person"), columns=COLUMNS, contribution=TYPICAL)

PURE = Spend(Fraction(1), Fraction(0), None, Fraction(0))
RHO = Spend(None, Fraction(0), Fraction(1, 2), Fraction(0))
BOTH = Spend(Fraction(1), Fraction(99, 10**8), None, Fraction(1, 10**8))
FOUND = Spend(Fraction(1), Fraction(0), None, Fraction(1, 10**8))
"""No delta for the noise, which is Laplace's then, and some for unknown keys."""

W = 2**20
WEEK = Window("person", "day", 7)

# query, table, spend: (sensitivity of each sum, scale of its noise), ...
PLANS: list[tuple[str, Schema, Spend, list[tuple[float, float]]]] = [
    ("SELECT COUNT(*) FROM t", ROWS, PURE, [(1, 1)]),
    ("SELECT COUNT(*), COUNT(age), COUNT(*) + 1 FROM t", ROWS, PURE, [(1, 1)]),  # one sum, shared
    ("SELECT COUNT(*) FROM t", CHANGE, PURE, [(1, 1)]),
    ("SELECT COUNT(*) FROM t", SIZED, PURE, []),  # declared, so exact
    ("SELECT COUNT(*) FROM t WHERE age > 3", SIZED, PURE, [(1, 1)]),
    ("SELECT COUNT(*) FROM t", TOGETHER, PURE, [(4, 4)]),
    ("SELECT SUM(pay) FROM t", ROWS, PURE, [(2000, 2000)]),
    ("SELECT SUM(pay) FROM t", CHANGE, PURE, [(1800, 1800)]),
    ("SELECT SUM(pay) FROM t WHERE age > 3", CHANGE, PURE, [(2000, 2000)]),
    ("SELECT SUM(score) FROM t", ROWS, PURE, [(20, 20)]),
    ("SELECT SUM(score) FROM t", CHANGE, PURE, [(25, 25)]),
    ("SELECT AVG(age) FROM t", ROWS, PURE, [(120, 240), (1, 2)]),  # half steps from the middle, and the count
    ("SELECT AVG(age) FROM t", SIZED, PURE, [(240, 240)]),  # no count needed
    ("SELECT AVG(age), COUNT(*) FROM t", ROWS, PURE, [(120, 240), (1, 2)]),  # the count is shared
    ("SELECT VAR_POP(age) FROM t", ROWS, PURE, [(120, 360), (7200, 21600), (1, 3)]),
    ("SELECT ward, COUNT(*) FROM t GROUP BY ward", ROWS, PURE, [(1, 1)]),
    ("SELECT ward, COUNT(*) FROM t GROUP BY ward", CHANGE, PURE, [(2, 2)]),
    ("SELECT ward, COUNT(*) FROM t GROUP BY ward", CHANGE, RHO, [(sqrt(2), sqrt(2))]),
    ("SELECT ward, SUM(score) FROM t GROUP BY ward", CHANGE, RHO, [(sqrt(850), sqrt(850))]),  # 2 (20^2 + 5^2)
    ("SELECT COUNT(*) FROM t", PEOPLE, PURE, [(6 * W, 6 * W)]),
    ("SELECT COUNT(DISTINCT person) FROM t", PEOPLE, PURE, [(W, W)]),
    ("SELECT ward, SUM(age) FROM t GROUP BY ward", PEOPLE, PURE, [(6 * 120 * W, 6 * 120 * W)]),
    ("SELECT ward, SUM(age) FROM t GROUP BY ward", PEOPLE, RHO, [(sqrt(12) * 120 * W, sqrt(12) * 120 * W)]),
]


def plan(sql: str, schema: Schema, spend: Spend, **options: Any) -> Plan:
    return make_plan(parse(sql, {"t": schema}), {"t": schema}, spend=spend, **options)


def noise(measure: Measure) -> tuple[float, float]:
    """Return the sensitivity in the norm that matters, and the scale of the noise."""
    if isinstance(measure.mechanism, Laplace):
        return float(measure.sensitivity.l1), float(measure.mechanism.scale)
    return float(measure.sensitivity.l2_squared) ** 0.5, measure.mechanism.sigma


@pytest.mark.parametrize(("sql", "schema", "spend", "expected"), PLANS)
def test_a_query_has_its_known_plan(
    sql: str, schema: Schema, spend: Spend, expected: list[tuple[float, float]]
) -> None:
    made = plan(sql, schema, spend)
    found = [noise(measure) for one in made.passes for measure in one.measures]
    assert sorted(found) == [pytest.approx(pair, rel=1e-9) for pair in sorted(expected)]
    family = Laplace if spend.rho is None else Gaussian
    assert all(isinstance(measure.mechanism, family) for one in made.passes for measure in one.measures)
    if spend.rho is None:
        assert cost(made) == {"epsilon": 1.0 if expected else 0.0, "delta": 0.0}
    else:
        assert cost(made) == {"rho": 0.5, "delta": 0.0}


@pytest.mark.parametrize(
    ("schema", "options", "expected"),
    [
        (ROWS, {}, Once()),
        (PEOPLE, {}, Norm(1, 6, 20)),
        (PEOPLE, {"bound": "groups"}, Truncate(3, 2)),
        (PEOPLE, {"contribution": Contribution(groups=5, rows=1)}, Norm(1, 5, 20)),
        (Schema(unit=Person("person"), columns=COLUMNS), {}, Norm(1, 1, 20)),  # one row in one group
    ],
)
def test_contributions_are_bounded_as_declared(schema: Schema, options: dict[str, Any], expected: object) -> None:
    made = plan("SELECT ward, COUNT(*) FROM t GROUP BY ward", schema, PURE, **options)
    assert made.passes[0].scan.bounding == expected


def test_ungrouped_rows_may_be_as_many_as_all_groups_together() -> None:
    assert plan("SELECT COUNT(*) FROM t", PEOPLE, PURE).passes[0].scan.bounding == Norm(1, 6, 20)
    assert plan("SELECT COUNT(*) FROM t", PEOPLE, PURE, bound="groups").passes[0].scan.bounding == Truncate(1, 6)
    assert plan("SELECT COUNT(*) FROM t", PEOPLE, RHO).passes[0].scan.bounding == Norm(2, 36, 20)


def test_unknown_keys_have_their_known_threshold() -> None:
    (one,) = plan("SELECT name, COUNT(*) FROM t GROUP BY name", PEOPLE, BOTH).passes
    assert one.keys is not None
    assert isinstance(one.keys.mechanism, Gaussian)
    assert one.keys.delta == Fraction(1, 10**8)
    # sigma is 6.0 people (mu = 0.2355 over two measures), and 6.0 of it, for twelve keys in 1e8, lie above 1/sqrt(12)
    assert one.keys.mechanism.sigma / W == pytest.approx(5.977, rel=1e-3)
    assert one.keys.threshold / W == pytest.approx(36.32, rel=1e-3)


@pytest.mark.parametrize(
    ("schema", "spend", "options", "most"),
    [
        (PEOPLE, BOTH, {}, 12),
        (PEOPLE, BOTH, {"bound": "groups"}, 3),  # has no more
        (PEOPLE, BOTH, {"contribution": Contribution(groups=1, rows=2)}, 1),
        (ROWS, BOTH, {}, 1),
    ],
)
def test_a_person_speaks_for_four_times_the_typical_number_of_unknown_keys_while_it_is_scaled(
    schema: Schema, spend: Spend, options: dict[str, Any], most: int
) -> None:
    (one,) = plan("SELECT name, COUNT(*) FROM t GROUP BY name", schema, spend, **options).passes
    assert one.scan.discovery is not None
    assert one.scan.discovery.most == most


def test_under_an_l1_norm_a_person_speaks_for_the_typical_number_of_unknown_keys() -> None:
    assert [keys_kept(Norm(order, 9, 20), Contribution(groups=3, rows=1)) for order in (1, 2)] == [3, 12]


@pytest.mark.parametrize(
    ("schema", "keys", "people", "threshold"),
    [
        (ROWS, (1, 1, "add-remove"), 34.59, 36.46),
        (CHANGE, (1, 1, "change-one"), 68.65, 71.91),
        (TOGETHER, (1, 4, "add-remove"), 138.36, 156.91),
        (Schema(unit=Person("person"), columns=COLUMNS), (1, 1, "add-remove"), 34.59, 36.46),
    ],
)
def test_who_has_one_key_is_found_by_the_optimal_rule(
    schema: Schema, keys: tuple[int, int, str], people: float, threshold: float
) -> None:
    made = plan("SELECT name, COUNT(*) FROM t GROUP BY name", schema, FOUND)
    (one,) = made.passes
    assert isinstance(one.keys, KeyRule)
    rule = one.keys.mechanism
    assert (rule.keys, rule.group, rule.neighbors) == keys
    assert one.scan.discovery == Discovery(1, 0, 0)
    assert people_needed(one.keys, 1) == pytest.approx(people, abs=0.01)
    assert abs(rule.people() - people) <= 1
    assert people_needed(other_way(one.scan, one.keys), 1) == pytest.approx(threshold, abs=0.01)
    assert made.event.events == (rule.event, one.measures[0].mechanism.event)
    price = cost(made)
    assert price["epsilon"] == 1
    assert 0.999e-8 <= price["delta"] <= float_up(Fraction(1, 10**8))
    assert f"about {people:.4g}" in made.explain()
    assert f"A Laplace threshold would need {threshold:.4g}" in made.explain()
    assert made.to_dict()["keys"] == "discovered by the optimal rule"


def test_who_may_have_several_keys_is_found_by_a_threshold_that_weighs_them() -> None:
    (one,) = plan("SELECT name, COUNT(*) FROM t GROUP BY name", PEOPLE, FOUND).passes
    assert isinstance(one.keys, KeyRelease)
    assert isinstance(one.keys.mechanism, Laplace)
    assert people_needed(one.keys, 3) < people_needed(other_way(one.scan, one.keys), 3)
    # people with three keys each would be found a little earlier by the rule, and people with one key far later
    rule = other_way(one.scan, one.keys).mechanism
    assert one.keys.threshold / W < rule.people() < 3 * one.keys.threshold / W
    words = plan("SELECT name, COUNT(*) FROM t GROUP BY name", PEOPLE, FOUND).explain()
    assert "The optimal rule for keys would need" in words


def test_which_rule_finds_keys_depends_on_public_facts_alone_and_is_the_one_that_needs_fewer() -> None:
    for groups in (1, 2, 3, 10):
        for delta in (Fraction(1, 10**9), Fraction(1, 100), Fraction(1, 5)):
            schema = Schema(unit=Person("person"), columns=COLUMNS, contribution=Contribution(groups=groups, rows=1))
            spend = Spend(Fraction(1), Fraction(0), None, delta)
            (one,) = plan("SELECT name, COUNT(*) FROM t GROUP BY name", schema, spend).passes
            other = other_way(one.scan, one.keys)
            assert isinstance(one.keys, KeyRule) != isinstance(other, KeyRule)
            assert people_needed(one.keys, groups) <= people_needed(other, groups)
            assert one.keys.event.pure() == Fraction(1, 2)
            assert one.keys.event.slack() == delta


def test_what_may_lose_a_part_of_its_rows_is_counted_as_if_it_changed() -> None:
    columns = {**COLUMNS, "day": date()}
    for unit, relation in ((Rows(), "add-remove"), (Person("person"), "add-remove"), (WEEK, "change-one")):
        assert Schema(unit=unit, columns=columns).moves == relation
    assert CHANGE.moves == "change-one"


def test_a_window_moves_twice_what_a_changed_bucket_moves_under_both_relations() -> None:
    columns = {**COLUMNS, "day": date()}
    for neighbors in ("add-remove", "change-one"):
        week = Schema(unit=WEEK, columns=columns, contribution=TYPICAL, neighbors=neighbors)
        changed = Schema(unit=Person("person"), columns=columns, contribution=TYPICAL, neighbors="change-one")
        for sql in ("SELECT COUNT(*), SUM(score) FROM t", "SELECT ward, COUNT(*), SUM(score) FROM t GROUP BY ward"):
            for spend in (PURE, RHO):
                two, one = plan(sql, week, spend).passes[0], plan(sql, changed, spend).passes[0]
                for twice, once in zip(two.measures, one.measures, strict=True):
                    assert twice.sensitivity.l1 == 2 * once.sensitivity.l1
                    assert twice.sensitivity.l2_squared == 4 * once.sensitivity.l2_squared
        found = plan("SELECT name, COUNT(*) FROM t GROUP BY name", week, replace(RHO, keys=Fraction(1, 10**6))).passes[
            0
        ]
        m, kappa = 2, found.scan.discovery.most
        tail = -math.expm1(math.log1p(-1e-6) / (m * kappa))
        expected = m * W + found.keys.mechanism.sigma * NormalDist().inv_cdf(1 - tail)
        assert found.keys.threshold == pytest.approx(expected, rel=1e-5)
    (people,) = plan("SELECT COUNT(DISTINCT person) FROM t", week, PURE).passes[0].measures
    assert people.sensitivity.l1 == 2 * TYPICAL.groups * TYPICAL.rows
    with pytest.raises(RequestError, match="tell people apart"):
        plan("SELECT person, COUNT(*) FROM t GROUP BY person", week, PURE)


def test_a_rule_that_could_not_be_listed_gives_way_to_a_threshold() -> None:
    spend = Spend(Fraction(1, 10**6), Fraction(0), None, Fraction(1, 10**8))
    made = plan("SELECT name, COUNT(*) FROM t GROUP BY name", ROWS, spend)
    assert isinstance(made.passes[0].keys, KeyRelease)
    assert "would need" not in made.explain()


def test_unknown_keys_are_paid_for() -> None:
    made = plan("SELECT name, COUNT(*) FROM t GROUP BY name", PEOPLE, BOTH)
    (one,) = made.passes
    assert made.event.events == (one.keys.event, one.measures[0].mechanism.event)
    assert made.event.slack() == one.keys.event.slack() == one.keys.delta
    assert made.event.rho() == one.keys.mechanism.event.rho() + one.measures[0].mechanism.event.rho()


def test_many_sums_take_gaussian_noise_and_few_take_laplace() -> None:
    few = plan("SELECT COUNT(*) FROM t", ROWS, BOTH)
    many = ", ".join(f"SUM(age) FILTER (WHERE age > {k})" for k in range(40))
    assert isinstance(few.passes[0].measures[0].mechanism, Laplace)
    assert isinstance(plan(f"SELECT {many} FROM t", ROWS, BOTH).passes[0].measures[0].mechanism, Gaussian)


@pytest.mark.parametrize("epsilon", ["1e-6", "0.001", "0.1", "1", "7", "50"])
@pytest.mark.parametrize("sums", [1, 3, 60])
def test_an_answer_never_costs_more_than_was_asked_for(epsilon: str, sums: int) -> None:
    spend = Spend(Fraction(epsilon), Fraction(99, 10**8), None, Fraction(1, 10**8))
    listed = ", ".join(f"SUM(age) FILTER (WHERE age > {k})" for k in range(sums))
    for sql in (f"SELECT {listed} FROM t", f"SELECT name, {listed} FROM t GROUP BY name"):
        for schema in (ROWS, PEOPLE):
            price = cost(plan(sql, schema, spend))
            assert price["epsilon"] <= float_up(Fraction(epsilon))
            assert price["delta"] <= 1.0000001e-6


@pytest.mark.parametrize("rho", ["1e-6", "0.5", "0.3", "7"])
def test_a_cost_in_rho_is_spent_to_the_last_digit(rho: str) -> None:
    for sums in (1, 2, 3, 7):
        listed = ", ".join(f"SUM(age) FILTER (WHERE age > {k})" for k in range(sums))
        made = plan(f"SELECT {listed} FROM t", ROWS, Spend(None, Fraction(0), Fraction(rho), Fraction(0)))
        assert made.event.rho() == Fraction(rho)


def test_declared_keys_are_all_answered_and_too_many_are_refused() -> None:
    two = plan("SELECT ward, age, COUNT(*) FROM t GROUP BY ward, age", ROWS, PURE).passes[0].scan
    assert sorted(len(key.values or ()) for key in two.keys) == [3, 121]
    with pytest.raises(RequestError, match="1,771,561 groups"):
        plan("SELECT age, age + 1, age + 2, COUNT(*) FROM t GROUP BY 1, 2, 3", ROWS, PURE)


def test_null_is_a_key_only_where_it_is_declared() -> None:
    scores = plan("SELECT score, COUNT(*) FROM t GROUP BY score", ROWS, PURE).passes[0].scan.keys[0]
    wards = plan("SELECT ward, COUNT(*) FROM t GROUP BY ward", ROWS, PURE).passes[0].scan.keys[0]
    assert scores.values == (*range(-5, 21), None)
    assert wards.values == ("a", "b", "c")


def test_the_digest_is_that_of_what_is_released() -> None:
    first = plan("SELECT ward, COUNT(*) AS n FROM t GROUP BY ward", PEOPLE, PURE)
    assert first.digest == plan("SELECT COUNT(*) + 1 AS m FROM t GROUP BY ward LIMIT 1", PEOPLE, PURE).digest
    others = [
        plan("SELECT ward, COUNT(*) AS n FROM t GROUP BY ward", PEOPLE, RHO),
        plan("SELECT ward, COUNT(*) AS n FROM t GROUP BY ward", PEOPLE, PURE, bound="groups"),
        plan("SELECT ward, COUNT(*) AS n FROM t WHERE age > 1 GROUP BY ward", PEOPLE, PURE),
        plan("SELECT ward, COUNT(*) AS n FROM t WHERE age > 1.0 GROUP BY ward", PEOPLE, PURE),
        plan("SELECT ward, COUNT(*) AS n FROM t GROUP BY ward", ROWS, PURE),
        plan("SELECT ward, SUM(age) AS n FROM t GROUP BY ward", PEOPLE, PURE),
        plan("SELECT ward, COUNT(*) AS n FROM t WHERE ward = name GROUP BY ward", PEOPLE, PURE),
        plan("SELECT ward, COUNT(*) AS n FROM t WHERE ward = 'b' GROUP BY ward", PEOPLE, PURE),
    ]
    assert len({first.digest, *(other.digest for other in others)}) == 9


SAME = [
    "SELECT ward, name, COUNT(*) AS n, AVG(age) AS a FROM t WHERE age > 3 AND score < 9 GROUP BY ward, name",
    "SELECT name, ward, AVG(age) AS a, COUNT(*) AS n FROM t WHERE score < 9 AND age > 3 GROUP BY name, ward",
    "SELECT AVG(age) AS mean, COUNT(*) FROM t WHERE 3 < age AND 9 > score GROUP BY name, ward, name",
    "SELECT v.name AS x, v.ward, AVG(age) FROM t AS v WHERE v.age > 3 AND score < 9 GROUP BY 1, 2 ORDER BY 3 LIMIT 5",
    "SELECT ward AS w, name AS x, AVG(age), COUNT(age) FROM t WHERE (age > 3) AND (score < 9) GROUP BY x, w",
]


@pytest.mark.parametrize("schema", [ROWS, PEOPLE])
def test_the_digest_does_not_depend_on_the_order_of_groups_aggregates_or_conditions_nor_on_names(
    schema: Schema,
) -> None:
    assert len({plan(sql, schema, BOTH).digest for sql in SAME}) == 1
    others = [
        SAME[0].replace("GROUP BY ward, name", "GROUP BY ward").replace("name, ", ""),
        SAME[0].replace("> 3", ">= 3"),
        SAME[0].replace("AND", "OR"),
        SAME[0].replace("AVG", "SUM"),
        SAME[0].replace("GROUP BY ward, name", "GROUP BY ward, name, age"),
        SAME[0].replace("ward, name", "ward, UPPER(name)"),
    ]
    assert len({plan(sql, schema, BOTH).digest for sql in (SAME[0], *others)}) == 7
