"""Bounds that a question states, as GoogleSQL has them: per person and group, or per row; or refused by name."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import duckdb
import pyarrow as pa
import pytest

import privet
from privet import Approximate, Contribution, Person, Rows, Session, Table
from privet.core.errors import ParseError, PrivetError, RequestError, UnknownName, Unsupported
from privet.core.scan import Norm, Truncate
from privet.core.unit import Window
from privet.planner.verify import verify
from privet.query import frame
from privet.query.sql.parse import parse

SIZE = 900


def some_rows() -> pa.Table:
    draw = random.Random(11)
    people = [draw.randrange(200) for _ in range(SIZE)]
    paid = [None if draw.random() < 0.1 else draw.choice([-7.5, 0.0, 3.25, 40.0, 90.0]) for _ in people]
    free = [None if draw.random() < 0.1 else draw.choice([-2, 0, 5, 11]) for _ in people]
    shops = [draw.choice("abc") for _ in people]
    days = [19_000 + draw.randrange(30) for _ in people]
    return pa.table(
        {"who": people, "shop": shops, "paid": paid, "free": free, "day": pa.array(days, pa.int32()).cast(pa.date32())}
    )


ROWS = some_rows()
COLUMNS = {
    "who": privet.integer(),
    "shop": privet.category(["a", "b", "c"]),
    "paid": privet.number(-10, 100, nullable=True),
    "free": privet.integer(nullable=True),
    "day": privet.date("2022-01-01", "2022-03-01"),
}
BUDGET = Approximate(epsilon=10**7, delta=1e-6)


def table(unit: Any = None, contribution: Contribution | None = None) -> Table:
    limits = {} if isinstance(unit, Rows) else {"contribution": contribution or Contribution(groups=3, rows=20)}
    return Table(ROWS, unit=unit or Person("who"), columns=COLUMNS, **limits)


@pytest.fixture(scope="module")
def session() -> Iterator[Session]:
    with Session({"t": table()}, budget=BUDGET) as one:
        yield one


def exact(sql: str) -> list[tuple[Any, ...]]:
    connection = duckdb.connect()
    connection.register("t", ROWS)
    return connection.execute(sql).fetchall()


def clamped(x: str, low: float, high: float) -> str:
    return f"CASE WHEN {x} < {low} THEN {low} WHEN {x} > {high} THEN {high} ELSE {x} END"


def each(over: str, within: str, low: float, high: float) -> str:
    """Return what GoogleSQL computes without noise: within each person and group first, clamped, then over people."""
    return (
        f"SELECT shop, {over}({clamped('s', low, high)}) FROM (SELECT shop, who, {within} AS s FROM t "
        f"GROUP BY shop, who) GROUP BY shop ORDER BY shop"
    )


SAME = [
    ("SUM(paid, contribution_bounds_per_group => (0, 60))", each("SUM", "SUM(paid)", 0, 60)),
    ("SUM(paid, contribution_bounds_per_group => (-5, 20.5))", each("SUM", "SUM(paid)", -5, 20.5)),
    ("SUM(paid, contribution_bounds_per_group => (5, 20))", each("SUM", "SUM(paid)", 5, 20)),
    ("SUM(free, contribution_bounds_per_group => (-1, 8))", each("SUM", "SUM(free)", -1, 8)),
    ("COUNT(*, contribution_bounds_per_group => (0, 2))", each("SUM", "COUNT(*)", 0, 2)),
    ("COUNT(paid, contribution_bounds_per_group => (1, 2))", each("SUM", "COUNT(paid)", 1, 2)),
    ("AVG(paid, contribution_bounds_per_group => (0, 30))", each("AVG", "AVG(paid)", 0, 30)),
    ("AVG(free, contribution_bounds_per_group => (1, 4))", each("AVG", "AVG(free)", 1, 4)),
    ("ANON_SUM(paid CLAMPED BETWEEN 0 AND 60)", each("SUM", "SUM(paid)", 0, 60)),
    ("ANON_COUNT(* CLAMPED BETWEEN 0 AND 2)", each("SUM", "COUNT(*)", 0, 2)),
    ("ANON_AVG(paid CLAMPED BETWEEN 0 AND 30)", each("AVG", "AVG(paid)", 0, 30)),
    (
        "SUM(paid, contribution_bounds_per_row => (0, 50))",
        f"SELECT shop, SUM({clamped('paid', 0, 50)}) FROM t GROUP BY shop ORDER BY shop",
    ),
    (
        "SUM(free, contribution_bounds_per_row => (0, 6))",
        f"SELECT shop, SUM({clamped('free', 0, 6)}) FROM t GROUP BY shop ORDER BY shop",
    ),
    (
        "VAR_POP(paid, contribution_bounds_per_row => (0, 50))",
        f"SELECT shop, VAR_POP({clamped('paid', 0, 50)}) FROM t GROUP BY shop ORDER BY shop",
    ),
    (
        "ANON_STDDEV_POP(paid CLAMPED BETWEEN 0 AND 50)",
        f"SELECT shop, STDDEV_POP({clamped('paid', 0, 50)}) FROM t GROUP BY shop ORDER BY shop",
    ),
    (
        "SUM(paid, contribution_bounds_per_group => (0, 60)) FILTER (WHERE free > 0)",
        each("SUM", "SUM(paid) FILTER (WHERE free > 0)", 0, 60),
    ),
]


@pytest.mark.parametrize(("asked", "plain"), SAME)
def test_without_noise_the_answer_is_what_is_documented(session: Session, asked: str, plain: str) -> None:
    answer = session.ask(f"SELECT shop, {asked} AS v FROM t GROUP BY shop ORDER BY shop", epsilon=20_000)
    for (shop, true), key, value in zip(exact(plain), answer["shop"].values, answer["v"].values, strict=True):
        assert key == shop
        assert abs(value - float(true)) <= 0.02 + 0.002 * abs(float(true))


def test_counts_are_whole_numbers(session: Session) -> None:
    answer = session.ask("SELECT COUNT(*, contribution_bounds_per_group => (0, 2)) AS n FROM t", epsilon=5_000)
    assert type(answer.value) is int


def test_what_each_gives_to_a_group_is_all_that_noise_is_for() -> None:
    tables = {"t": table(contribution=Contribution(groups=2, rows=20)).schema}
    with Session({"t": table(contribution=Contribution(groups=2, rows=20))}, budget=BUDGET) as session:
        plan = session.plan(
            "SELECT shop, SUM(paid, contribution_bounds_per_group => (-20, 60)) AS s FROM t GROUP BY shop", epsilon=1
        )
        (one,) = plan.passes
        assert isinstance(one.scan.bounding, Norm)
        (measure,) = one.measures
        unit = measure.sum.step / 2**measure.shift
        assert measure.sensitivity.l1 * unit == 2 * 60  # two groups of at most 60, whatever the rows
        assert (measure.sum.low * measure.sum.step, measure.sum.high * measure.sum.step) == (-20, 60)
        verify(plan, tables)
        cut = session.plan(
            "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon = 1, max_groups_contributed = 1) shop, "
            "SUM(paid, contribution_bounds_per_group => (-20, 60)) AS s FROM t GROUP BY shop"
        )
        assert cut.passes[0].scan.bounding == Truncate(1, 1)
        assert cut.passes[0].measures[0].sensitivity.l1 * cut.passes[0].measures[0].sum.step == 60


def test_bounds_wider_than_the_declared_ones_add_no_noise(session: Session) -> None:
    wide, declared = (
        session.plan(f"SELECT SUM(paid{stated}) AS s FROM t", epsilon=1)
        for stated in (", contribution_bounds_per_row => (-1000, 1000)", "")
    )
    assert wide.digest == declared.digest
    above = session.plan("SELECT SUM(paid, contribution_bounds_per_row => (200, 300)) AS s FROM t", epsilon=1)
    (measure,) = above.passes[0].measures
    assert {measure.sum.low * measure.sum.step, measure.sum.high * measure.sum.step} == {200}


def test_clamping_marks_the_answer(session: Session) -> None:
    plan = session.plan("SELECT SUM(paid, contribution_bounds_per_group => (0, 5)) AS s FROM t", epsilon=1)
    assert plan.bias(parse_meaning(plan)) == (True, True)
    narrow = session.plan("SELECT SUM(paid, contribution_bounds_per_row => (-10, 5)) AS s FROM t", epsilon=1)
    assert narrow.bias(parse_meaning(narrow))[0]
    with Session({"t": table(Rows())}, budget=BUDGET) as rows:
        cut = rows.plan("SELECT SUM(paid, contribution_bounds_per_row => (-10, 5)) AS s FROM t", epsilon=1)
        assert cut.bias(parse_meaning(cut)) == (True, False)
        whole = rows.plan("SELECT SUM(paid) AS s FROM t", epsilon=1)
        assert whole.bias(parse_meaning(whole)) == (False, False)


def parse_meaning(plan: Any) -> Any:
    return plan.query.steps[0].outputs[0].expression


def test_where_each_row_is_a_unit_a_person_is_a_row() -> None:
    schema = table(Rows()).schema
    asked = (
        "SELECT SUM(paid, contribution_bounds_per_{0} => (0, 5)), AVG(free, contribution_bounds_per_{0} => (0, 5)) "
        "FROM t"
    )
    each_row, row = (parse(asked.format(per), {"t": schema}) for per in ("group", "row"))
    assert each_row == row
    assert parse("SELECT COUNT(*, contribution_bounds_per_group => (0, 1)) FROM t", {"t": schema}) == parse(
        "SELECT COUNT(*) FROM t", {"t": schema}
    )


REFUSED: list[tuple[str, type[PrivetError], str]] = [
    ("SUM(paid, contribution_bounds_per_group => (0, free))", ParseError, "constants"),
    ("SUM(paid, contribution_bounds_per_group => (9, 1))", Unsupported, "lower one first"),
    ("SUM(paid, contribution_bounds_per_group => 5)", ParseError, "low and a high end"),
    ("SUM(paid, contribution_bounds_per_group => (0, 1), contribution_bounds_per_row => (0, 1))", ParseError, "once"),
    ("SUM(ABS(paid, contribution_bounds_per_row => (0, 1)))", Unsupported, "for aggregates"),
    ("SUM((paid, contribution_bounds_per_row => (0, 1)))", ParseError, "argument of an aggregate"),
    ("contribution_bounds_per_row => (0, 1)", ParseError, "argument of an aggregate"),
    ("SUM(contribution_bounds_per_row => (0, 1))", ParseError, "argument of an aggregate"),
    ("SUM(paid CLAMPED BETWEEN 0 AND 1)", ParseError, "ANON_"),
    ("ANON_SUM(paid CLAMPED BETWEEN 0 AND free)", ParseError, "constants"),
    ("ANON_QUANTILES(paid, 4 CLAMPED BETWEEN 0 AND 1)", Unsupported, "PERCENTILE_CONT"),
    ("MEDIAN(paid, contribution_bounds_per_group => (0, 1))", Unsupported, "contribution_bounds_per_row"),
    ("VAR_POP(paid, contribution_bounds_per_group => (0, 1))", Unsupported, "contribution_bounds_per_row"),
    ("COUNT(DISTINCT free, contribution_bounds_per_group => (0, 1))", Unsupported, "contribution_bounds_per_row"),
    ("COUNT(DISTINCT who, contribution_bounds_per_group => (0, 0))", Unsupported, "must hold 1"),
    ("COUNT(*, contribution_bounds_per_row => (0, 1))", Unsupported, "takes no bounds"),
    ("COUNT(*, contribution_bounds_per_row => (0, 1)), SUM(paid, contribution_bounds_per_group => (0, 1))", Unsupported,
     "no values to clamp"),
    ("CORR(paid, free, contribution_bounds_per_row => (0, 1))", Unsupported, "takes no bounds"),
    ("MODE(free, contribution_bounds_per_row => (0, 1))", Unsupported, "takes no bounds"),
    ("MAX(day, contribution_bounds_per_row => (0, 1))", Unsupported, "dates"),
    ("SUM(shop, contribution_bounds_per_row => (0, 1))", RequestError, "numbers"),
    ("SUM(shop, contribution_bounds_per_group => (0, 1))", RequestError, "integer or number"),
    ("SUM(who, contribution_bounds_per_row => (0, 1))", Unsupported, "identifies the person"),
    ("SUM(paid, report_format => 'JSON')", Unsupported, "report_format"),
    ("SUM(paid, contribution_bounds_per_group => (0, 1)), VAR_POP(paid)", Unsupported, "two questions"),
    ("SUM(paid, contribution_bounds_per_group => (0, 1)), AVG(paid)", Unsupported, "two questions"),
    ("SUM(paid, contribution_bounds_per_group => (0, 1)), SUM(paid, contribution_bounds_per_row => (0, 1))",
     Unsupported, "different things"),
    ("SUM(free, contribution_bounds_per_row => (0, 1e200))", Unsupported, "128 bits"),
]  # fmt: skip


@pytest.mark.parametrize(("asked", "error", "told"), REFUSED)
def test_anything_else_is_refused_by_name(session: Session, asked: str, error: type[PrivetError], told: str) -> None:
    with pytest.raises(error) as caught:
        session.plan(f"SELECT {asked} FROM t", epsilon=1)
    assert told in str(caught.value)


def test_levels_and_windows_are_refused(session: Session) -> None:
    asked = "SELECT shop, SUM(paid, contribution_bounds_per_group => (0, 1)) FROM t GROUP BY ROLLUP (shop)"
    with pytest.raises(Unsupported, match="each grouping by itself"):
        session.plan(asked, epsilon=1)
    window = Table(ROWS, unit=Window("who", "day", 7), columns=COLUMNS, contribution=Contribution(groups=3, rows=9))
    with Session({"t": window}, budget=BUDGET) as windows, pytest.raises(Unsupported, match="window of time"):
        windows.plan("SELECT SUM(paid, contribution_bounds_per_group => (0, 1)) FROM t", epsilon=1)


def test_options_of_both_clauses(session: Session) -> None:
    plan = session.plan(
        "SELECT WITH ANONYMIZATION OPTIONS(epsilon = .5, delta = .01, kappa = 2) shop, ANON_COUNT(*) AS n FROM t "
        "GROUP BY shop"
    )
    assert isinstance(plan.passes[0].scan.bounding, Truncate)
    assert plan.passes[0].scan.bounding.groups == 2
    named = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon = 1, {}) shop, COUNT(*) AS n FROM t GROUP BY shop"
    session.plan(named.format("privacy_unit_column = t.who"))
    session.plan(named.format("group_selection_strategy = PUBLIC_GROUPS"))
    session.plan(named.format("group_selection_strategy = LAPLACE_THRESHOLD"))
    with pytest.raises(RequestError, match="group_selection_strategy"):
        session.plan(named.format("group_selection_strategy = PRIVATE_GROUPS"))
    with pytest.raises(Unsupported, match="max_groups_contributed"):
        session.plan(named.format("max_rows_contributed = 3"))
    with pytest.raises(UnknownName):
        session.plan(named.format("noise = 3"))
    with pytest.raises(Unsupported, match="PUBLIC_GROUPS needs groups"):
        session.plan(named.format("group_selection_strategy = PUBLIC_GROUPS").replace("shop", "free"))
    with pytest.raises(Unsupported, match="once"):
        session.plan("SELECT COUNT(*) FROM (SELECT WITH ANONYMIZATION paid FROM t)")


def test_the_clause_may_stand_in_the_sub_query_that_releases(session: Session) -> None:
    clause = "WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon = 1)"
    inner = f"SELECT {clause} shop, COUNT(*) AS n FROM t GROUP BY shop"
    plain = session.plan(f"SELECT shop, n FROM ({inner}) WHERE n > 5 ORDER BY n DESC")
    assert plain.digest == session.plan(inner).digest
    assert session.plan(f"WITH r AS ({inner}) SELECT n FROM r").digest == plain.digest
    for wrong in (
        f"SELECT shop, COUNT(*) AS n FROM (SELECT {clause} shop FROM t) GROUP BY shop",
        f"SELECT n FROM (SELECT shop, COUNT(*) AS n FROM (SELECT {clause} shop FROM t) GROUP BY shop)",
        f"SELECT {clause} n FROM ({inner})",
        f"SELECT COUNT(*) FROM (SELECT {clause} who FROM t GROUP BY who)",
    ):
        with pytest.raises(Unsupported, match="once"):
            session.plan(wrong)


def test_python_asks_the_same(session: Session) -> None:
    schema = table().schema
    built = (
        frame.table("t", schema)
        .group_by("shop")
        .agg(a=privet.sum("paid").bounded(0, 60), b=privet.count().bounded(0, 2), c=privet.mean("free").bounded(1, 4.5))
    )
    sql = (
        "SELECT shop, SUM(paid, contribution_bounds_per_group => (0, 60)) AS a, COUNT(*, contribution_bounds_per_group "
        "=> (0, 2)) AS b, AVG(free, contribution_bounds_per_group => (1, 4.5)) AS c FROM t GROUP BY shop"
    )
    assert built.query() == parse(sql, {"t": schema})
    assert "contribution_bounds_per_group => (0, 60)" in repr(built)
    rows = frame.table("t", schema).agg(a=frame.std_pop("paid").bounded(0, 60, per="row"))
    assert rows.query() == parse(
        "SELECT STDDEV_POP(paid, contribution_bounds_per_row => (0, 60)) AS a FROM t", {"t": schema}
    )
    for low, high, per in ((3, 1, "group"), (0, 1, "people"), ("0", 1, "row"), (0, None, "row")):
        with pytest.raises(RequestError):
            privet.sum("paid").bounded(low, high, per=per)  # type: ignore[arg-type]
    with pytest.raises(Unsupported):
        privet.col("paid").bounded(0, 1)


def test_what_is_read_back_is_the_same_question() -> None:
    schema = table().schema
    sql = "SELECT shop, SUM(paid, contribution_bounds_per_group => (0, 60.5)) AS a FROM t GROUP BY shop"
    built = frame.table("t", schema).group_by("shop").agg(a=privet.sum("paid").bounded(0, 60.5))
    assert parse(sql, {"t": schema}) == built.query()
    shown = repr(privet.sum("paid").bounded(-1, 2.5, per="row")).removeprefix("Term(").removesuffix(")")
    assert shown == "SUM(paid, contribution_bounds_per_row => (-1, 2.5))"
