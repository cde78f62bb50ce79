"""Bounds that a question's own conditions imply: they hold where conditions do, and are where values are clamped."""

from __future__ import annotations

import math
import random
from fractions import Fraction
from typing import Any

import pyarrow as pa
import pytest

import privet
from privet import Approximate, Contribution, Person, Session, Table
from privet.core.errors import RequestError, Unbounded
from privet.core.expression import Call, ColumnRef, Expression, Literal
from privet.core.schema import Schema, date, integer, number, text
from privet.planner.make import make_plan
from privet.planner.plan import Spend
from privet.planner.verify import verify
from privet.query.functions import evaluate_row
from privet.query.implied import typed_where
from privet.query.normal import call
from privet.query.sql.parse import parse

COLUMNS = {
    "u": integer(),
    "i": integer(nullable=True),
    "x": number(nullable=True),
    "known": number(-10, 10),
    "day": date(),
    "word": text(),
}
SCHEMA = Schema(unit=Person("u"), columns=COLUMNS, contribution=Contribution(groups=2, rows=2))
OTHER = Schema(
    unit=Person("u"), columns={"u": integer(), "x": number(), "y": number()}, contribution=SCHEMA.contribution
)
TABLES = {"t": SCHEMA, "o": OTHER}
SPEND = Spend(Fraction(1), Fraction(0), None, Fraction(0))


def ends_of(sql: str) -> list[tuple[float, float]]:
    plan = make_plan(parse(sql, TABLES), TABLES, spend=SPEND)
    verify(plan, TABLES)
    sums = [total for one in plan.passes for total in (*one.scan.sums, one.scan.places) if total is not None]
    return [
        (float(total.low * total.step + total.origin), float(total.high * total.step + total.origin))
        for total in sums
        if total.expression is not None
    ]


BOUNDED = [
    ("SELECT SUM(x) FROM t WHERE x > 10 AND x < 50", (10, 50)),
    ("SELECT SUM(x) FROM t WHERE x BETWEEN 10 AND 50 AND i > 3", (10, 50)),
    ("SELECT SUM(i) FROM t WHERE i > 2.5 AND i < 9.5", (3, 9)),
    ("SELECT SUM(i) FROM t WHERE i IN (4, -7, 2)", (-7, 4)),
    ("SELECT SUM(i) FROM t WHERE i = 5", (5, 5)),
    ("SELECT SUM(x) FROM t WHERE NOT (x < 1 OR x >= 8)", (1, 8)),
    ("SELECT SUM(x) FROM t WHERE x BETWEEN 1 AND 2 OR x BETWEEN 6 AND 7", (1, 7)),
    ("SELECT SUM(2 * x + 1) FROM t WHERE x >= 0 AND x <= 3", (1, 7)),
    ("SELECT SUM(x) FILTER (WHERE x >= 0 AND x <= 3) FROM t", (0, 3)),
    ("SELECT SUM(x) FILTER (WHERE x <= 3) FROM t WHERE x >= 0", (0, 3)),
    ("SELECT SUM(CASE WHEN x > 0 AND x < 4 THEN x ELSE 9 END) FROM t", (0, 9)),
    ("SELECT SUM(x + i) FROM t WHERE x + i BETWEEN 2 AND 3", (2, 3)),
    ("SELECT SUM(v) FROM (SELECT x AS v FROM t WHERE x > 1 AND x < 2)", (1, 2)),
    ("SELECT MEDIAN(x) FROM t WHERE x BETWEEN 2 AND 6", (2, 6)),
]


@pytest.mark.parametrize(("sql", "ends"), BOUNDED)
def test_values_are_clamped_to_what_a_condition_implies(sql: str, ends: tuple[float, float]) -> None:
    (found,) = ends_of(sql)
    assert found == pytest.approx(ends, abs=1e-5)


UNBOUNDED = [
    "SELECT SUM(x) FROM t",
    "SELECT SUM(x) FROM t WHERE x > 10",
    "SELECT SUM(x) FROM t WHERE x > 10 OR x < 50",
    "SELECT SUM(x) FROM t WHERE x BETWEEN 1 AND 2 OR i = 3",
    "SELECT SUM(x) FROM t WHERE NOT (x > 1 AND x < 5)",
    "SELECT SUM(x) FROM t WHERE i > 10 AND i < 50",
    "SELECT SUM(x) FROM t WHERE x <> 4",
    "SELECT SUM(x) FROM t WHERE NOT (x IN (1, 2))",
    "SELECT SUM(x) FROM t WHERE (x BETWEEN 1 AND 2) IS NOT TRUE",
    "SELECT SUM(x) FROM t WHERE COALESCE(x BETWEEN 1 AND 2, TRUE)",
    "SELECT SUM(x) FROM t WHERE ABS(x) < 3",
    "SELECT SUM(x) FROM t WHERE x > i AND x < 50",
    "SELECT SUM(x), COUNT(*) FILTER (WHERE x BETWEEN 1 AND 2) FROM t",
    "SELECT SUM(CASE WHEN i BETWEEN 1 AND 2 THEN x ELSE 0 END) FROM t",
    "SELECT SUM(CASE WHEN x BETWEEN 1 AND 2 THEN 0 ELSE x END) FROM t",
    "SELECT SUM(t.x) FROM t JOIN o ON t.u = o.u WHERE o.x BETWEEN 1 AND 2",
    "SELECT SUM(o.y) FROM t LEFT JOIN o ON t.u = o.u AND o.y BETWEEN 1 AND 2",
]


@pytest.mark.parametrize("sql", UNBOUNDED)
def test_what_is_not_implied_on_both_sides_is_not_bounded(sql: str) -> None:
    with pytest.raises(Unbounded):
        parse(sql, TABLES)


def some_condition(draw: random.Random, depth: int) -> Expression:
    if depth and draw.random() < 0.7:
        several = [some_condition(draw, depth - 1) for _ in range(2)]
        return draw.choice([call("and", *several), call("or", *several), call("not", several[0])])
    compared = draw.choice([ColumnRef("i"), ColumnRef("x"), call("add", ColumnRef("x"), ColumnRef("i"))])
    constants = [Literal(draw.choice([-2, 0, 3, Fraction(5, 2), Fraction(-1, 3)])) for _ in range(2)]
    function = draw.choice(["less", "less_equal", "greater", "greater_equal", "equal", "not_equal", "in", "is_null"])
    if function == "is_null":
        return call(function, compared)
    return call(function, compared, *(constants if function == "in" else constants[:1]))


def test_where_a_condition_is_true_values_keep_to_what_it_implies() -> None:
    draw, bounded = random.Random(5), 0
    values: list[Any] = [None, -2, -1, 0, 1, 2, 3, 4, 7]
    for _ in range(1_500):
        condition = some_condition(draw, 3)
        summed = draw.choice(
            [
                ColumnRef("i"),
                ColumnRef("x"),
                call("add", ColumnRef("x"), ColumnRef("i")),
                Call("case", (some_condition(draw, 1), ColumnRef("x"), ColumnRef("i"))),
            ]
        )
        try:
            facts = typed_where(summed, COLUMNS, (condition, None))
        except RequestError:
            continue
        low, high = facts.bounds
        bounded += facts.bounded
        for _ in range(12):
            row = {"i": draw.choice(values), "x": draw.choice([*map(_double, values), 0.1, -1 / 3, 2.5])}
            if evaluate_row(condition, row, COLUMNS) is not True:
                continue
            value = evaluate_row(summed, row, COLUMNS)
            assert value is None or low is None or value >= low - Fraction(1, 10**9), (condition, summed, row)
            assert value is None or high is None or value <= high + Fraction(1, 10**9), (condition, summed, row)
    assert bounded > 50


def _double(value: Any) -> Any:
    return None if value is None else float(value)


def test_rows_that_never_met_the_condition_are_clamped_all_the_same() -> None:
    rows = pa.table({"u": range(6), "x": [1.0, 2.0, 1e300, math.nan, -1e300, None]})
    table = Table(
        rows,
        unit=Person("u"),
        columns={"u": privet.integer(), "x": privet.number(nullable=True)},
        contribution=Contribution(groups=1, rows=1),
        key="u",
    )
    with Session({"t": table}, budget=Approximate(epsilon=10**6, delta=1e-6)) as session:
        answer = session.ask("SELECT SUM(x) AS s, MAX(x) AS m FROM t WHERE x > 0 AND x < 5", epsilon=10**5)
        assert answer["s"].values[0] == pytest.approx(3, abs=0.01)
        assert answer["s"].mark == ""  # nothing that counts is moved
        plan = session.plan("SELECT SUM(x) AS s FROM t WHERE x > 0 AND x < 5", epsilon=1)
        assert float(plan.passes[0].measures[0].sensitivity.l1 * plan.passes[0].measures[0].sum.step) / 2**20 == 5


def test_declared_bounds_stay_what_they_are() -> None:
    (found,) = ends_of("SELECT SUM(known) FROM t WHERE known > 0 AND known < 5")
    assert found == (-10, 10)
