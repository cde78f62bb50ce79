"""Small queries and the trees they are read into, written out."""

from __future__ import annotations

import datetime

import pytest

from privet.core.relation import Call, ColumnRef, Expression, Literal
from privet.core.schema import Schema, category, date, integer, number
from privet.core.unit import Person
from privet.query.nodes import AggregateCall, Key, Order, Output, Query, Step
from privet.query.sql.parse import parse

VISITS = Schema(
    unit=Person("user_id"),
    columns={
        "user_id": integer(),
        "day": date(datetime.date(2024, 1, 1), datetime.date(2024, 12, 31)),
        "hospital": category(["A", "B", "C"]),
        "cost": number(0, 1000, nullable=True),
        "age": integer(0, 120),
    },
)


def f(function: str, *arguments: Expression) -> Call:
    return Call(function, arguments)


age, cost, day, hospital = ColumnRef("age"), ColumnRef("cost"), ColumnRef("day"), ColumnRef("hospital")
ROWS = AggregateCall("count", "count_rows")
N = Output("n", ColumnRef("count"))
BY_HOSPITAL = Key("hospital", hospital)
H = Output("hospital", hospital)

GOLDEN = {
    "SELECT COUNT(*) AS n FROM visits": Query("visits", (), (ROWS,), None, (Step((N,)),)),
    "SELECT hospital, AVG(cost) FROM visits WHERE age >= 18 GROUP BY hospital": Query(
        "visits",
        (BY_HOSPITAL,),
        (AggregateCall("avg_cost", "avg", cost),),
        f("greater_equal", age, Literal(18)),
        (Step((H, Output("avg_cost", ColumnRef("avg_cost")))),),
    ),
    "SELECT SUM(cost) / COUNT(*) AS r FROM visits": Query(
        "visits",
        (),
        (AggregateCall("sum_cost", "sum", cost), ROWS),
        None,
        (Step((Output("r", f("divide", ColumnRef("sum_cost"), ColumnRef("count"))),)),),
    ),
    "SELECT COUNT(*) FILTER (WHERE age < 18 OR age > 65) AS n FROM visits WHERE day < '2024-07-01'": Query(
        "visits",
        (),
        (
            AggregateCall(
                "count", "count_rows", None, f("or", f("less", age, Literal(18)), f("greater", age, Literal(65)))
            ),
        ),
        f("less", day, Literal(datetime.date(2024, 7, 1))),
        (Step((N,)),),
    ),
    "SELECT COUNT(DISTINCT user_id) AS people, COUNT(cost) FROM visits": Query(
        "visits",
        (),
        (AggregateCall("count_units", "count_units"), AggregateCall("count_cost", "count", cost)),
        None,
        (Step((Output("people", ColumnRef("count_units")), Output("count_cost", ColumnRef("count_cost")))),),
    ),
    "SELECT hospital, COUNT(*) AS n FROM visits GROUP BY 1 HAVING n > 5 ORDER BY n DESC, hospital LIMIT 2": Query(
        "visits",
        (BY_HOSPITAL,),
        (ROWS,),
        None,
        (
            Step(
                (H, N),
                where=f("greater", ColumnRef("count"), Literal(5)),
                order=(Order(ColumnRef("count"), descending=True), Order(hospital)),
                limit=2,
            ),
        ),
    ),
    "SELECT FLOOR(age / 10) * 10 AS decade, COUNT(*) AS n FROM visits GROUP BY decade": Query(
        "visits",
        (Key("multiply_floor_divide_age", f("multiply", f("floor", f("divide", age, Literal(10))), Literal(10))),),
        (ROWS,),
        None,
        (Step((Output("decade", ColumnRef("multiply_floor_divide_age")), N)),),
    ),
    "SELECT HISTOGRAM(age, 4) FROM visits": Query(
        "visits",
        (Key("bucket_age", f("bucket", age, Literal(0), Literal(120), Literal(4))),),
        (ROWS,),
        None,
        (
            Step(
                (
                    Output("bin_low", f("add", f("multiply", ColumnRef("bucket_age"), Literal(30)), Literal(0))),
                    Output(
                        "bin_high",
                        f(
                            "add",
                            f("add", f("multiply", ColumnRef("bucket_age"), Literal(30)), Literal(0)),
                            Literal(30),
                        ),
                    ),
                    Output("count", ColumnRef("count")),
                ),
                order=(Order(ColumnRef("bucket_age")),),
            ),
        ),
    ),
    "WITH t AS (SELECT hospital, COUNT(*) n FROM visits GROUP BY 1) SELECT DISTINCT n * 2 m FROM t WHERE n > 9": Query(
        "visits",
        (BY_HOSPITAL,),
        (ROWS,),
        None,
        (
            Step((H, N)),
            Step(
                (Output("m", f("multiply", ColumnRef("n"), Literal(2))),),
                where=f("greater", ColumnRef("n"), Literal(9)),
                distinct=True,
            ),
        ),
    ),
    "SELECT SUM(x) AS s FROM (SELECT age + 1 x, hospital FROM visits WHERE cost IS NULL) WHERE hospital = 'A'": Query(
        "visits",
        (),
        (AggregateCall("sum_add_age", "sum", f("add", age, Literal(1))),),
        f("and", f("is_null", cost), f("equal", hospital, Literal("A"))),
        (Step((Output("s", ColumnRef("sum_add_age")),)),),
    ),
}


@pytest.mark.parametrize("sql", GOLDEN)
def test_a_query_is_read_into_its_tree(sql: str) -> None:
    assert parse(sql, {"visits": VISITS}) == GOLDEN[sql]
