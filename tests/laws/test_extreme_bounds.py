"""Bounds and steps at the ends of the doubles: a question over them is refused before it is charged, or answered."""

from __future__ import annotations

import math
import operator
import os
import random
import sys
from fractions import Fraction
from typing import Any

import pyarrow as pa
import pytest

import privet
from privet.aggregates import AGGREGATES
from privet.core.errors import PrivetError, RequestError
from privet.core.schema import Contribution, Table, integer, number, text
from privet.core.unit import Person, Rows
from privet.query.frame import col
from privet.query.frame import sum as total

SOAK = bool(os.environ.get("PRIVET_SOAK"))
TRIES = 40 if SOAK else 5
LARGEST = sys.float_info.max
ENDS: tuple[Any, ...] = (
    *(0.0, 1.0, -1.0, 3, 5e-324, -5e-324, 2.2e-308, 1e-300, -1e-300, 1e-160, 1e-61, 1e-59, 1e59, 1e61, -1e61),
    *(1e154, -1e154, 1e300, -1e300, LARGEST, -LARGEST, 2.0**53, 2**53 + 1, 2.0**63, -(2.0**63), 1e19),
    *(Fraction(1, 10**400), Fraction(10**400), Fraction(1, 3), Fraction(LARGEST) + 1, 2**1100),
)
STEPS = (None, None, 1, 5e-324, 1e-300, 1e-59, 1e-9, 1e59, 1e300, LARGEST, Fraction(1, 10**400), 10**400)
WHOLE_ENDS = (0, 1, -1, 2**31, 2**53, 2**53 + 1, 2**62, 2**63 - 1, -(2**63), -(2**63) + 1)
SPELLED = {
    "count_rows": "COUNT(*)",
    "count": "COUNT({})",
    "count_units": "COUNT(DISTINCT u)",
    "count_distinct": "COUNT(DISTINCT {})",
    "count_each": "COUNT({}, contribution_bounds_per_group => (0, 3))",
    "sum": "SUM({})",
    "sum_distinct": "SUM(DISTINCT {})",
    "avg": "AVG({})",
    "var_pop": "VAR_POP({})",
    "var_samp": "VAR_SAMP({})",
    "stddev_pop": "STDDEV_POP({})",
    "stddev_samp": "STDDEV_SAMP({})",
    "quantile": "QUANTILE({}, 0.3), QUANTILE({}, 0.7), MEDIAN({}), MIN({}), MAX({})",
    "covar_pop": "COVAR_POP({}, y)",
    "covar_samp": "COVAR_SAMP(y, {})",
    "corr": "CORR({}, y)",
    "regr_slope": "REGR_SLOPE(y, {})",
    "regr_intercept": "REGR_INTERCEPT({}, y)",
    "regr_r2": "REGR_R2(y, {})",
    "mode": "MODE(FLOOR({}))",
    "bounds": "BOUNDS({})",
}
EXPRESSIONS = (
    *("x", "x", "x", "x * x", "x * 1e300", "x / 3", "ABS(x)", "x - 1e-300", "FLOOR(x)", "LEAST(x, 1e300)", "-x"),
    "x + y",
)


def test_every_aggregate_is_tried() -> None:
    assert {*AGGREGATES} <= set(SPELLED)


def asked(name: str, draw: random.Random, column: Any) -> None:
    """Ask over a column, which is refused free, or answered by numbers."""
    unit = draw.choice([Rows(), Person("u")])
    neighbors = draw.choice(["add-remove", "change-one"])
    rows = pa.table(
        {"u": [1, 2, 2, 3], "x": [0.0, 1e300, None, -7.0], "y": [0.1, 0.2, 0.3, 0.4], "g": ["a", "b", "a", "b"]}
    )
    if column.kind == "integer":
        rows = rows.set_column(1, "x", pa.array([0, 2**62, None, -7], pa.int64()))
    columns = {"u": integer(), "x": column, "y": number(0, 1), "g": text()}
    facts = {"unit": unit, "neighbors": neighbors, "contribution": Contribution(groups=2, rows=3)}
    inside = draw.choice(EXPRESSIONS)
    grouped = draw.random() < 0.3
    listed = SPELLED[name].replace("{}", inside)
    sql = f"SELECT g, {listed} FROM t GROUP BY g" if grouped else f"SELECT {listed} FROM t"
    said = draw.choice([{"epsilon": 1}, {"epsilon": Fraction(1, 10**6)}, {"rho": 1}, {"epsilon": 10**4}])
    with privet.Session(
        {"t": Table(rows, columns=columns, **facts)}, budget=privet.Approximate(epsilon=10**6, delta=1e-6)
    ) as session:
        try:
            plan = session.plan(sql, **said)
            assert plan.explain()
            assert plan.to_dict()
        except RequestError:
            return
        try:
            answer = session.run(plan)
        except RequestError:
            assert session.history() == (), sql
            return
        assert len(session.history()) == 1
        for row in answer:
            for value in row.values():
                assert not isinstance(value, float) or not math.isnan(value), (sql, column, value)


@pytest.mark.parametrize("name", SPELLED)
def test_bounds_at_the_ends_of_doubles_are_refused_free_or_answered(name: str) -> None:
    draw = random.Random(name)
    tried = 0
    while tried < 3 * TRIES:
        low, high = draw.choice(ENDS), draw.choice(ENDS)
        try:
            column = number(low, high, step=draw.choice(STEPS), nullable=draw.random() < 0.5)
        except RequestError:
            continue
        tried += 1
        asked(name, draw, column)


@pytest.mark.parametrize("name", SPELLED)
def test_bounds_at_the_ends_of_whole_numbers_are_refused_free_or_answered(name: str) -> None:
    draw = random.Random(name)
    for _ in range(TRIES):
        low, high = sorted((draw.choice(WHOLE_ENDS), draw.choice(WHOLE_ENDS)))
        asked(name, draw, integer(low, high, nullable=draw.random() < 0.5))


@pytest.mark.parametrize("end", [Fraction(10**400), -(2**1100), Fraction(LARGEST) * 2])
def test_a_bound_beyond_all_doubles_is_refused_where_it_is_declared(end: Any) -> None:
    for given in ({"low": min(end, 0), "high": max(end, 0)}, {"low": 0, "high": 1, "step": abs(end)}):
        with pytest.raises(RequestError, match="doubles"):
            number(**given)


@pytest.mark.parametrize("sql", ["SUM(x)", "AVG(x)", "VARIANCE(x)", "MEDIAN(x)", "CORR(x, y)"])
def test_a_sum_beyond_what_can_be_computed_says_what_to_declare(sql: str) -> None:
    rows = pa.table({"x": [1.0], "y": [1.0]})
    for low, high, step in ((-1e300, 1e300, None), (0, 5e-324, None), (-1e61, 0, None)):
        table = Table(rows, unit=Rows(), columns={"x": number(low, high, step=step), "y": number(0, 1)})
        with privet.Session({"t": table}, budget=privet.Pure(epsilon=1)) as session:
            with pytest.raises(PrivetError, match=r"declare|beyond"):
                session.ask(f"SELECT {sql} FROM t", epsilon=1)
            assert session.history() == ()


def test_constants_of_the_builder_are_refused_free_too() -> None:
    table = Table(pa.table({"x": [1.0]}), unit=Rows(), columns={"x": number(0, 1)})
    with privet.Session({"t": table}, budget=privet.Pure(epsilon=1)) as session:
        for constant in (1e300, 10**400, Fraction(1, 10**400), 5e-324, LARGEST):
            for combine in (operator.mul, operator.add, operator.truediv):
                try:
                    session.plan(session.table("t").agg(s=total(combine(col("x"), constant))), epsilon=1)
                except RequestError:
                    continue
        assert session.history() == ()
