"""Bounds that a question's own conditions imply: they hold where conditions do, and are where values are clamped."""

from __future__ import annotations

import math
import random
from dataclasses import replace
from fractions import Fraction
from typing import Any

import duckdb
import pyarrow as pa
import pytest

import privet
from privet import Approximate, Contribution, Person, Session, Table
from privet.core.errors import RequestError, Unbounded
from privet.core.relation import Call, ColumnRef, Expression, Literal
from privet.core.scan import Scan
from privet.core.schema import Schema, date, integer, number, text
from privet.engines.dialects.duckdb import DUCKDB
from privet.engines.scan_sql.relations import relation_sql
from privet.engines.scan_sql.statement import counting, statement
from privet.planner.batch import _as_of, editions_of_batch
from privet.planner.make import error_of, make_plan
from privet.planner.plan import EDITIONS, Spend
from privet.planner.verify import verify
from privet.query.expressions import evaluate_row, typed_where
from privet.query.normal import call
from privet.query.sql.parse import parse

COLUMNS = {
    "u": integer(),
    "i": integer(nullable=True),
    "x": number(nullable=True),
    "known": number(-10, 10),
    "fine": number(0, 1, step=0.01),
    "day": date(),
    "word": text(),
}
SCHEMA = Schema(unit=Person("u"), columns=COLUMNS, contribution=Contribution(groups=2, rows=2))
OTHER = Schema(
    unit=Person("u"),
    columns={"u": integer(), "x": number(), "y": number(), "known": number(-10, 10)},
    contribution=SCHEMA.contribution,
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


NARROWED = [
    ("SELECT SUM(known) FROM t WHERE known > 0 AND known < 5", (0, 5)),
    ("SELECT SUM(known) FROM t WHERE known < 5", (-10, 5)),
    ("SELECT AVG(known) FROM t WHERE known BETWEEN 4 AND 50", (4, 10)),
    ("SELECT AVG(known) FROM t WHERE known > 50", (-10, 10)),
    ("SELECT SUM(known * known) FROM t WHERE known >= 3", (9, 100)),
    ("SELECT SUM(known) FILTER (WHERE known <= 3) FROM t WHERE known >= -2", (-2, 3)),
    ("SELECT SUM(CASE WHEN known BETWEEN 1 AND 3 THEN known ELSE 0 END) FROM t", (0, 3)),
    ("SELECT MEDIAN(known) FROM t WHERE NOT (known < 2)", (2, 10)),
    ("SELECT SUM(fine) FROM t WHERE fine > 0.333 AND fine < 0.777", (0.33, 0.78)),
    ("SELECT SUM(v) FROM (SELECT known AS v FROM t WHERE known > 1) WHERE v < 2", (1, 2)),
    ("SELECT SUM(n) FROM (SELECT u, COUNT(*) AS n FROM t GROUP BY u) WHERE n = 1", (1, 1)),
]


@pytest.mark.parametrize(("sql", "ends"), NARROWED)
def test_conditions_narrow_declared_bounds(sql: str, ends: tuple[float, float]) -> None:
    (found,) = ends_of(sql)
    assert found == pytest.approx(ends, abs=1e-5)


KEPT = [
    "SELECT SUM(known) FROM t WHERE known > 0 OR i = 3",
    "SELECT SUM(known) FROM t WHERE known <> 4",
    "SELECT SUM(known) FROM t WHERE known > 5 IS NOT TRUE",
    "SELECT SUM(known) FROM t WHERE COALESCE(known > 5, TRUE)",
    "SELECT SUM(known) FROM t WHERE NOT (known > 1 AND i < 5)",
    "SELECT SUM(known) FROM t WHERE known > i",
    "SELECT SUM(known) FROM t WHERE known = ABS(known)",
    "SELECT SUM(known), COUNT(*) FILTER (WHERE known BETWEEN 1 AND 2) FROM t",
    "SELECT SUM(t.known) FROM t JOIN o ON t.u = o.u WHERE o.known BETWEEN 1 AND 2",
    "SELECT SUM(o.known) FROM t LEFT JOIN o ON t.u = o.u AND o.known BETWEEN 1 AND 2",
    "SELECT SUM(o.known) FROM t JOIN o ON t.u = o.u AND o.known BETWEEN 1 AND 2",
    "SELECT SUM(known) FROM t WHERE EXISTS (SELECT 1 FROM o WHERE o.u = t.u AND o.known > 5)",
    "SELECT SUM(known) FROM t WHERE known > 20 AND known < 30",
]


@pytest.mark.parametrize("sql", KEPT)
def test_what_is_not_implied_keeps_the_declared_bounds(sql: str) -> None:
    (found,) = ends_of(sql)
    assert found == (-10, 10)


UNIT = 2**20
"""What a row that counts in full weighs in a scan."""


def without_conditions(scan: Scan) -> Scan:
    sums = tuple(replace(one, where=None) for one in scan.sums)
    places = None if scan.places is None else replace(scan.places, where=None)
    return replace(scan, where=None, sums=sums, places=places)


@pytest.mark.parametrize("function", ["SUM", "AVG", "VAR_POP", "MEDIAN", "COVAR_POP"])
def test_the_clamp_holds_though_nothing_was_filtered(function: str) -> None:
    # the conditions are taken out of the plan: a row that never met them still counts within the narrowed bounds
    other = ", i" if function == "COVAR_POP" else ""
    sql = f"SELECT {function}(known{other}) FROM t WHERE known > 0 AND known < 5 AND i BETWEEN 2 AND 3"
    schema = replace(SCHEMA, contribution=Contribution(groups=1, rows=1))
    plan = make_plan(parse(sql, {"t": schema}), {"t": schema}, spend=SPEND)
    secret, connection = 2**100 + 7, duckdb.connect(":memory:")
    for one in plan.passes:
        scan = without_conditions(one.scan)
        relation = relation_sql(scan.table, {"t": schema}, {"t": "(SELECT * FROM rows_of_one)"}, secret, DUCKDB)
        asked = (statement if scan.places is None else counting)(scan, relation, secret, DUCKDB)
        for known, i in (("1e300", 10**18), ("-1e300", -(10**18)), ("'nan'", 0), ("'inf'", 9), ("NULL", None)):
            values = f"1, {'NULL' if i is None else i}, 0.0, {known}::DOUBLE, 0.5, DATE '2024-01-01', 'w'"
            connection.execute(
                f"CREATE OR REPLACE TABLE rows_of_one AS SELECT {values}".replace(
                    values, ", ".join(f"{value} AS c{place}" for place, value in enumerate(values.split(", ")))
                )
            )
            for row in connection.execute(asked.sql, asked.parameters).fetchall():
                if scan.places is not None:
                    assert all(0 <= place <= scan.places.high for place in row[asked.keys] or ())
                    continue
                for total, found in zip(scan.sums, row[asked.keys :], strict=False):
                    ends = [end**total.power - total.offset for end in (total.low, total.high, 0)]
                    assert min(*ends, 0) <= (found or 0) / UNIT <= max(*ends, 0), (total, known)


WAYS: list[tuple[str, dict[str, Any]]] = [
    ("SELECT g, SUM(cost) AS s FROM v WHERE cost < 20 GROUP BY g", {"epsilon": 1}),
    ("SELECT g, SUM(cost) AS s, AVG(cost) AS m FROM v WHERE cost < 20 GROUP BY g", {"epsilon": 1}),
    ("SELECT MEDIAN(cost) AS m FROM v WHERE cost > 50", {"epsilon": 1}),
    ("SELECT g, SUM(cost) AS s FROM v WHERE cost < 20 GROUP BY ROLLUP (g)", {"epsilon": 1}),
    ("SELECT SUM(cost) AS s FROM v WHERE cost < 20", {"within": 500}),
    ("SELECT AVG(cost) AS m FROM v WHERE cost < 20", {"within": 2}),
]


def opened() -> Session:
    rows = pa.table({"u": range(300), "g": ["a", "b", "b"] * 100, "cost": [float(i % 100) for i in range(300)]})
    columns = {"u": privet.integer(), "g": privet.category(["a", "b"]), "cost": privet.number(0, 100)}
    table = Table(rows, unit=Person("u"), columns=columns, contribution=Contribution(groups=1, rows=1), key="u")
    return Session({"v": table}, budget=Approximate(epsilon=1000, delta=1e-6))


def as_before(plan: Any) -> Any:
    """Return a plan as it was made before conditions narrowed declared bounds."""
    return _as_of(plan, [one.kind for one in EDITIONS].index("bounds narrowed by conditions"))


@pytest.mark.parametrize(("sql", "cost"), WAYS)
def test_answers_of_before_declared_bounds_were_narrowed_are_found_free(sql: str, cost: dict[str, Any]) -> None:
    with opened() as session:
        plan = session.plan(sql, **cost)
        earlier = as_before(plan)
        assert earlier.digest != plan.digest
        assert expected_error(earlier) > expected_error(plan)
        stored = session.run(earlier)
        charged = len(session.history())
        found = session.ask(sql, **cost)
        assert len(session.history()) == charged
        assert found.to_dict() == stored.to_dict()


def expected_error(plan: Any) -> float:
    passes = plan.passes
    draws = sum(one.scan.places.high * one.scan.places.step for one in passes if one.scan.places is not None)
    return (
        error_of(passes, 1)
        + float(draws)
        + sum(float(m.sensitivity.l1 * m.sum.step) for one in passes for m in one.measures)
    )


@pytest.mark.parametrize("cost", [{"epsilon": 1}, {"within": [500, 900]}])
def test_batches_of_before_declared_bounds_were_narrowed_are_found_free(cost: dict[str, Any]) -> None:
    several = ["SELECT SUM(cost) AS s FROM v WHERE cost < 20", "SELECT SUM(cost) AS s FROM v WHERE g = 'a'"]
    with opened() as session:
        batch = session.plan_all(several, **cost)
        (made,) = editions_of_batch(batch)[1:]
        assert made.digest != batch.digest
        stored = session.run_all(made.batch)
        charged = len(session.history())
        found = session.ask_all(several, **cost)
        assert len(session.history()) == charged
        assert [one.to_dict() for one in found] == [one.to_dict() for one in stored]


def test_questions_whose_conditions_narrow_nothing_are_planned_as_they_were() -> None:
    with opened() as session:
        for sql in ("SELECT SUM(cost) AS s FROM v WHERE g = 'a'", "SELECT COUNT(*) AS n FROM v WHERE cost < 20"):
            plan = session.plan(sql, epsilon=1)
            assert plan.wider is None
            assert not plan.narrowed
