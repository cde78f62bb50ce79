"""No question lets an exact value of one person out: every whole number is clamped in the engine where it counts.

The questions make a whole number of a double that is rounded to another one than exact arithmetic says.
"""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

import privet
from privet.core.errors import RequestError
from privet.planner.plan import Plan

pa = pytest.importorskip("pyarrow")

AGE, TARGET, ROWS = 72, 42, 300
ALMOST_ONE = "0.99999999999999999999"
HIT = f"CASE WHEN user_id = {TARGET} THEN {ALMOST_ONE} ELSE 0.0 END"
HALF = f"CASE WHEN user_id = {TARGET} THEN 0.49999999999999994 ELSE 0.0 END"
TINY = f"CASE WHEN user_id = {TARGET} THEN 1e-200 ELSE 1.0 END"
SWITCHES = [
    f"FLOOR({HIT})",
    f"FLOOR({HIT} + 0)",
    f"(CEIL({HIT} - 1) + 1)",
    f"-FLOOR(-({HIT}) + 1) + 1",
    f"ROUND({HALF})",
    f"CAST({HALF} AS BIGINT)",
    f"BIN({HIT}, 1)",
    f"(1 - SIGN({TINY} * {TINY}))",
    f"FLOOR(({HIT}) / 1.0)",
    f"FLOOR(LEAST({HIT}, 1.0))",
    f"FLOOR(ROUND({HIT}, 15))",
    f"FLOOR(SQRT({HIT}))",
    f"FLOOR(POWER({HIT}, 1))",
    f"BUCKET({HIT}, 0, 1, 2) * FLOOR({HIT})",
    f"FLOOR(CAST({HIT} AS DOUBLE))",
    f"FLOOR(COALESCE({HIT}, 0.5))",
]
RELATIONS = ["add-remove", "change-one"]
BUDGETS = [
    privet.Pure(epsilon=10**6),
    privet.Approximate(epsilon=10**6, delta=Fraction(1, 10**6)),
    privet.Zcdp(rho=10**6),
]
UNITS = {"rows": privet.Rows(), "person": privet.Person("user_id"), "window": privet.Window("user_id", "day", 7)}


def asked(unit: str, neighbors: str = "add-remove", budget=BUDGETS[0], *, target: bool = True) -> privet.Session:
    people = [user for user in range(ROWS) if target or user != TARGET]
    rows = pa.table(
        {
            "user_id": people,
            "age": [AGE if user == TARGET else 30 for user in people],
            "day": pa.array([19_000] * len(people), pa.date32()),
        }
    )
    columns = {"user_id": privet.integer(0, 10**6), "age": privet.integer(0, 110), "day": privet.date()}
    table = privet.Table(
        rows, unit=UNITS[unit], columns=columns, contribution=privet.Contribution(groups=1, rows=1), neighbors=neighbors
    )
    return privet.Session({"v": table}, budget=budget)


def claimed(plan: Plan) -> float:
    """Return how far one person is claimed to move the one sum of a plan, in its own units."""
    (measure,) = plan.passes[0].measures
    return math.sqrt(measure.sensitivity.l2_squared) * float(measure.sum.step) / 2**measure.shift


@pytest.mark.parametrize("switch", SWITCHES)
def test_a_sum_behind_a_whole_number_of_doubles_has_noise_for_what_it_can_be(switch):
    with asked("rows") as session:
        plan = session.plan(f"SELECT SUM(({switch}) * age) AS s FROM v", epsilon=Fraction(1, 1000))
    assert claimed(plan) >= 110


@pytest.mark.parametrize("budget", BUDGETS, ids=lambda budget: type(budget).__name__)
@pytest.mark.parametrize("neighbors", RELATIONS)
@pytest.mark.parametrize("unit", UNITS)
def test_the_age_behind_it_has_noise_for_every_unit_relation_and_budget(unit, neighbors, budget):
    price = {"rho": Fraction(1, 10**6)} if isinstance(budget, privet.Zcdp) else {"epsilon": Fraction(1, 1000)}
    with asked(unit, neighbors, budget) as session:
        assert claimed(session.plan(f"SELECT SUM(FLOOR({HIT}) * age) AS s FROM v", **price)) >= 110


def test_the_builder_has_the_same_noise_as_sql():
    with asked("rows") as session:
        almost = privet.when(privet.col("user_id") == TARGET, Fraction(ALMOST_ONE), otherwise=Fraction(0))
        frame = session.table("v").agg(s=privet.sum(almost.floor() * privet.col("age")))
        assert claimed(session.plan(frame, epsilon=Fraction(1, 1000))) >= 110


FAILS = [
    f"(FLOOR({HIT}) + FLOOR({HIT}) + FLOOR({HIT})) * 9223372036854775807",
    f"(FLOOR({HIT}) + 9223372036854775807)",
    f"(ROUND({HALF}) * 2 - 1 + 9223372036854775807)",
    f"(-9223372036854775807 - SIGN({TINY} * {TINY}) - 1)",
    f"ABS(FLOOR({HIT}) * -1 - 9223372036854775807)",
    f"(0 - (FLOOR({HIT}) * -1 - 9223372036854775807))",
    f"BIN(FLOOR({HIT}) + 9223372036854775806, 10) + 10",
]


@pytest.mark.parametrize("oracle", FAILS)
@pytest.mark.parametrize("form", ["SUM({0})", "COUNT(*) FILTER (WHERE {0} > 0)", "MEDIAN({0})"])
@pytest.mark.parametrize("nested", [False, True])
def test_no_row_makes_a_question_fail(oracle, form, nested):
    source = f"(SELECT user_id, age, {oracle} AS o FROM v) AS q" if nested else "v"
    sql = f"SELECT {form.format('o' if nested else oracle)} AS s FROM {source}"
    ends = []
    for target in (True, False):
        with asked("person", target=target) as session:
            try:
                session.ask(sql, epsilon=1)
                ends.append("answered")
            except RequestError as refused:
                ends.append(str(refused))
    assert ends[0] == ends[1]


def test_whole_numbers_of_products_are_answered_as_the_engine_computes_them():
    rows = pa.table({"x": [0.3] * 50})
    table = privet.Table(rows, unit=privet.Rows(), columns={"x": privet.number(0, 0.3)})
    with privet.Session({"t": table}, budget=privet.Pure(epsilon=10**9)) as session:
        found = session.ask("SELECT SUM(FLOOR(x * 10)) AS s FROM t", epsilon=10**6)
        grouped = session.ask("SELECT FLOOR(x * 10) AS k, COUNT(*) AS n FROM t GROUP BY FLOOR(x * 10)", epsilon=10**6)
    assert found["s"].values == (150,)
    assert dict(zip(grouped["k"].values, grouped["n"].values, strict=True)) == {0: 0, 1: 0, 2: 0, 3: 50}
