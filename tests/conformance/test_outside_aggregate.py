"""An aggregate from outside the package has the rights of those inside: one file, and one call to register it.

It is asked in SQL and in Python, by groups, for people, to a width, with error bars; explained, and charged once.
"""

from __future__ import annotations

import importlib.util
import math
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, product
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pytest

from privet.aggregates import AGGREGATES, Aggregate, Argument, Count, Mean, register, unregister
from privet.core.budget import Pure
from privet.core.errors import BadParameter, RequestError, UnknownName, Unsupported, WrongKind
from privet.core.event import Receipt
from privet.core.scan import SealedSums, Sum
from privet.core.schema import Contribution, Schema, Table, category, integer, number
from privet.core.unit import Person, Rows, Unit
from privet.engines.dialects.duckdb import DUCKDB
from privet.engines.scan_sql.statement import statement
from privet.mechanisms import Laplace
from privet.planner.make import make_plan
from privet.planner.plan import Plan, Spend
from privet.planner.verify import verify
from privet.query.sql.parse import parse
from privet.query.terms import aggregate, col, count, mean
from privet.release import release
from privet.results.read import read_answer
from privet.session import Session
from privet.testing import check_aggregate

FALSE_ALARMS = 5.7
"""This many standard deviations are exceeded once in 1.6e8 times on one side."""

SQL = "SELECT ward, RMS(cost) AS x FROM visits GROUP BY ward"
LAPLACE = Spend(Fraction(1), Fraction(0), None, Fraction(0))
GAUSSIAN = Spend(None, Fraction(0), Fraction(1), Fraction(0))
SPENDS = [LAPLACE, GAUSSIAN]
UNITS = [Rows(), Person("person")]
COLUMNS = {
    "person": integer(),
    "ward": category(["a", "b"]),
    "cost": number(-30, 100, step=Fraction(1, 2), nullable=True),
}


def outside() -> type[Aggregate]:
    """Return the aggregate of a file that the package does not know."""
    name, path = "root_mean_square", Path(__file__).with_name("root_mean_square.py")
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.Rms


Rms = outside()


@pytest.fixture(autouse=True)
def registered() -> Iterator[None]:
    register(Rms)
    yield
    unregister(Rms)
    assert "rms" not in AGGREGATES


def rows() -> pa.Table:
    draw = np.random.default_rng(5)
    cost = [
        None if place % 9 == 0 else float(np.round(x * 2) / 2) for place, x in enumerate(draw.uniform(-30, 100, 600))
    ]
    return pa.table({"person": [place // 3 for place in range(600)], "ward": list("ab") * 300, "cost": cost})


def session(unit: Unit, epsilon: object = 10**15) -> Session:
    table = Table(rows(), unit=unit, columns=COLUMNS, contribution=Contribution(groups=2, rows=3), rows=10**6)
    return Session({"visits": table}, budget=Pure(epsilon=epsilon))


def expected(where: str = "TRUE") -> dict[str, float]:
    with duckdb.connect(":memory:") as connection:
        connection.register("visits", rows())
        sql = f"SELECT ward, SQRT(AVG(cost * cost)) FROM visits WHERE {where} GROUP BY ward"
        return dict(connection.execute(sql).fetchall())


@pytest.mark.parametrize("unit", UNITS, ids=str)
def test_without_noise_sql_and_python_give_the_statistic_by_group(unit: Unit) -> None:
    with session(unit) as quiet:
        asked = quiet.ask(SQL, epsilon=10**9)
        frame = quiet.table("visits").group_by("ward").agg(x=aggregate("rms", "cost"), n=count())
        built = quiet.ask(frame, epsilon=10**9)
        some = quiet.ask(SQL.replace("RMS(cost)", "quadratic_mean(cost) FILTER (WHERE cost > 0)"), epsilon=10**9)
        derived = quiet.ask(SQL.replace("RMS(cost)", "2 * RMS(cost) - AVG(cost)"), epsilon=10**9)
    for answer, wanted in ((asked, expected()), (built, expected()), (some, expected("cost > 0"))):
        assert {row["ward"]: row["x"] for row in answer} == pytest.approx(wanted, rel=1e-4)
        for row in answer:
            assert row["x_low"] <= row["x"] <= row["x_high"]
            assert row["x_high"] - row["x_low"] < 1e-2
    assert all(math.isfinite(row["x_low"]) for row in derived)


def test_sql_and_python_are_one_question_and_charged_once() -> None:
    with session(Person("person")) as one:
        frame = one.table("visits").group_by("ward").agg(y=aggregate("rms", "cost"))
        plans = [one.plan(asked, epsilon=1) for asked in (SQL, frame)]
        assert plans[0].digest == plans[1].digest
        first = one.ask(SQL, epsilon=1)
        left = one.remaining
        assert one.ask(frame, epsilon=1)["y"].values == first["x"].values
        assert one.remaining == left
    with session(Person("person")) as another:
        assert another.plan(SQL, epsilon=1).digest == plans[0].digest


@pytest.mark.parametrize("unit", UNITS, ids=str)
def test_a_width_can_be_asked_for_instead_of_a_price(unit: Unit) -> None:
    with session(unit, 100) as one:
        answer = one.ask(SQL, within=5, at_most=50)
    assert answer.accuracy is not None
    assert answer.accuracy.reached
    assert all(row["x_high"] - row["x"] <= 5 + 1e-9 for row in answer)


def test_a_plan_explains_it_and_predicts_its_width() -> None:
    with session(Person("person")) as one:
        plan = one.plan(SQL, epsilon=1)
        answer = one.ask(SQL, epsilon=1)
        alone = one.plan("SELECT RMS(cost) AS x FROM visits", epsilon=1)
    assert "a sum of squares over cost" in plan.explain()
    assert any("root mean squares" in note.lower() for note in answer.notes)
    column = next(width for width in plan.to_dict()["columns"] if width["column"] == "x")
    assert column["note"] == "roughly, at most"
    assert [at["n"] for at in column["at"]] == [100, 1_000, 10_000, 100_000]
    assert "RMS" not in repr(plan.passes)  # what is hashed are sums; nothing of the aggregate is
    assert {one.name for one in alone.readings} == {"rms_cost"}


# --- sensitivity ------------------------------------------------------------------------------------------------------

EDGES = [-30.0, 100.0, 0.0, 35.0, -1e300, 1e300, None]
PAIRS = ("ab", "cd")


def schema(unit: Unit, neighbors: str) -> Schema:
    columns = {**COLUMNS, "ward": category(["a", "b", "c", "d"])}
    return Schema(unit=unit, columns=columns, neighbors=neighbors, contribution=Contribution(groups=2, rows=2))


def scanned(plan: Plan, rows: list[tuple[int, str, float | None]]) -> dict[Any, Any]:
    """Return the integers that the generated SQL sums over these rows."""
    (one,) = plan.passes
    asked = statement(one.scan, "(SELECT * FROM d)", 1, DUCKDB)
    with duckdb.connect(":memory:", config={"threads": 1}) as connection:
        connection.execute("CREATE TABLE d(c0 BIGINT, c1 VARCHAR, c2 DOUBLE)")
        columns = [list(column) for column in zip(*rows, strict=True)] or [[], [], []]
        connection.execute(
            "INSERT INTO d SELECT unnest($1::BIGINT[]), unnest($2::VARCHAR[]), unnest($3::DOUBLE[])", columns
        )
        found = connection.execute(asked.sql, asked.parameters or None).fetchall()
    return {row[: asked.keys]: row[asked.keys :] for row in found}


@pytest.mark.parametrize("spend", SPENDS, ids=["laplace", "gaussian"])
@pytest.mark.parametrize("neighbors", ["add-remove", "change-one"])
@pytest.mark.parametrize("unit", UNITS, ids=str)
def test_no_unit_moves_its_sums_by_more_than_the_plan_says_and_one_moves_them_by_that(
    unit: Unit, neighbors: str, spend: Spend
) -> None:
    tables = {"visits": schema(unit, neighbors)}
    plan = make_plan(parse(SQL, tables), tables, spend=spend)
    verify(plan, tables)
    rows = type(unit) is Rows
    own = [[(1, "a", x)] for x in EDGES] + [[(1, "b", x)] for x in EDGES]
    if not rows:
        own += [
            [(1, wards[0], x), (1, wards[1], x)] * times for wards in ("ab", "cd") for x in EDGES for times in (2, 5)
        ]
        own += [[(1, "a", x), (1, "b", y)] * 3 for x, y in product(EDGES[:2], repeat=2)]
    worlds = [scanned(plan, [(2, "a", 50.0), *rows]) for rows in own]
    gone = scanned(plan, [(2, "a", 50.0)])
    pairs = [(gone, world) for world in worlds] if neighbors == "add-remove" else list(combinations(worlds, 2))
    for place, measure in enumerate(plan.passes[0].measures):
        largest = 0.0
        for one, other in pairs:
            moves = [abs(one.get(cell, (0,) * 9)[place] - other.get(cell, (0,) * 9)[place]) for cell in {*one, *other}]
            assert sum(moves) <= measure.sensitivity.l1
            assert sum(move**2 for move in moves) <= measure.sensitivity.l2_squared
            claim = measure.sensitivity.l1 if spend is LAPLACE else measure.sensitivity.l2_squared
            reached = sum(moves) if spend is LAPLACE else sum(move**2 for move in moves)
            largest = max(largest, float(reached / claim))
        assert largest >= 0.9
        distance = measure.mechanism
        assert (distance.sensitivity if isinstance(distance, Laplace) else distance.sensitivity_squared) == claim


# --- coverage ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "spend", [LAPLACE, Spend(None, Fraction(0), Fraction(1, 10), Fraction(0))], ids=["laplace", "gaussian"]
)
@pytest.mark.parametrize("unit", UNITS, ids=str)
def test_its_intervals_hold_as_often_as_they_say(unit: Unit, spend: Spend) -> None:
    groups, size = 4_000, 1_000
    columns = {**COLUMNS, "ward": category(range(groups)), "cost": number(-30, 100, step=Fraction(1, 2))}
    tables = {"visits": Schema(unit=unit, columns=columns, contribution=Contribution(groups=1, rows=1))}
    plan = make_plan(parse(SQL, tables), tables, spend=spend)
    (one,) = plan.passes
    values = np.round(np.linspace(20, 70, size) * 2) / 2
    sums = []
    for total in one.scan.sums:
        steps = np.clip(np.round(values / float(total.step)), total.low, total.high)
        counted = size if total.expression is None else int(np.sum(steps**total.power - total.offset))
        sums.append(counted << one.measures[0].shift)
    receipt = Receipt(1, plan.digest, "test")
    sealed = SealedSums({(group,): tuple(sums) for group in range(groups)})
    answer = read_answer(release([sealed], plan, receipt), plan, receipt, confidence=0.95)
    series, truth = answer["x"], math.sqrt(float(np.mean(values**2)))
    held = sum(low <= truth <= high for low, high in zip(series.low, series.high, strict=True)) / groups
    alarm = FALSE_ALARMS * math.sqrt(0.05 * 0.95 / groups)
    assert 0.94 - alarm <= held <= 0.97 + alarm
    assert all(0 <= low <= high <= 100 for low, high in zip(series.low, series.high, strict=True))


# --- names ------------------------------------------------------------------------------------------------------------


def named(**names: tuple[str, ...]) -> type[Aggregate]:
    return type("Other", (Rms,), {"names": names})


@pytest.mark.parametrize(
    "wrong",
    [
        named(rms=("OTHER",)),
        named(avg=("OTHER",)),
        named(other=("RMS",)),
        named(other=("AVG",)),
        named(other=("VARIANCE",)),
        named(other=("COUNT",)),
        named(other=("QUANTILE",)),
        named(other=("ABS",)),
        named(other=("TOP_K",)),
        named(other=("OTHER", "OTHER")),
        named(other=("lower",)),
        named(other=("A B",)),
        named(Other=("OTHER",)),
        named(),
        type("Three", (Rms,), {"names": {"three": ("THREE",)}, "arity": 3}),
        Aggregate,
        Mean,
        Count,
        int,
        "Rms",
        None,
    ],
    ids=repr,
)
def test_names_that_are_taken_or_none_are_refused(wrong: Any) -> None:
    before = dict(AGGREGATES)
    with pytest.raises(BadParameter):
        register(wrong)
    assert before == AGGREGATES


def reading(read: Any, sums: Any = Rms.sums) -> type[Aggregate]:
    return type("Other", (Rms,), {"names": {"other": ("OTHER",)}, "read": read, "sums": sums})


@pytest.mark.parametrize(
    "wrong",
    [
        reading(lambda self, square: square),
        reading(lambda self, square, count: float(square[0])),
        reading(lambda self, square, count: (square, count)),
        reading(lambda self, square, count: square.no_such_thing()),
        reading(Rms.read, lambda self: ()),
        reading(Rms.read, lambda self: self.argument.plain()),
        reading(Rms.read, lambda self: [self.argument.plain(), self.argument.present()]),
        reading(Rms.read, lambda self: (self.argument, self.argument)),
    ],
)
def test_an_aggregate_that_would_fail_once_it_was_paid_for_is_refused_when_it_is_registered(wrong: Any) -> None:
    with pytest.raises(BadParameter, match="aggregate must be one that can be read: over columns from 1 to 2, it"):
        register(wrong)
    assert "other" not in AGGREGATES


def test_an_aggregate_may_refuse_columns() -> None:
    def sums(self: Any) -> Any:
        raise RequestError("x must be negative")

    picky = reading(Rms.read, sums)
    register(picky)
    unregister(picky)


@dataclass(frozen=True)
class Ratio(Aggregate):
    """The sum of x over the sum of y, which is positive."""

    over: Argument
    under: Argument
    names = {"ratio": ("RATIO_OF_SUMS",)}  # noqa: RUF012
    arity = 2

    def sums(self) -> tuple[Sum, ...]:
        return self.over.plain(), self.under.plain()

    def read(self, *released: Any) -> Any:
        steps = (float(one.plain().step) for one in (self.over, self.under))
        over, under = (total * step for total, step in zip(released, steps, strict=True))
        return np.where(under > 0, over, 0.0) / np.maximum(np.abs(under), 1e-300)


@pytest.fixture
def ratio() -> Iterator[None]:
    register(Ratio)
    yield
    unregister(Ratio)


@pytest.mark.usefixtures("ratio")
def test_an_aggregate_of_two_columns_has_a_suite_sql_and_python() -> None:
    assert len(check_aggregate("ratio", exact=lambda x, y: x.sum() / y.sum() if y.sum() > 0 else 0.0).held) == 5
    with pytest.raises(AssertionError, match="exact sums are read as the statistic"):
        check_aggregate("ratio", exact=lambda x, y: x.mean())
    sql = "SELECT ward, RATIO_OF_SUMS(cost, person) AS x FROM visits GROUP BY ward"
    table = Table(rows(), unit=Rows(), columns={**COLUMNS, "person": integer(0, 300)}, rows=10**6)
    with Session({"visits": table}, budget=Pure(epsilon=10**15)) as quiet:
        answer = quiet.ask(sql, epsilon=10**9)
        built = quiet.table("visits").group_by("ward").agg(x=aggregate("ratio", "cost", "person"))
        assert quiet.plan(built, epsilon=1).digest == quiet.plan(sql, epsilon=1).digest
    with duckdb.connect(":memory:") as connection:
        connection.register("visits", rows())
        wanted = dict(connection.execute("SELECT ward, SUM(cost) / SUM(person) FROM visits GROUP BY ward").fetchall())
    assert {row["ward"]: row["x"] for row in answer} == pytest.approx(wanted, rel=1e-4)


@pytest.mark.usefixtures("ratio")
@pytest.mark.parametrize(
    ("call", "message"),
    [
        ("RATIO_OF_SUMS(cost, ward)", "RATIO_OF_SUMS takes numbers; got text"),
        ("RATIO_OF_SUMS(cost)", r"RATIO_OF_SUMS takes 2 arguments: RATIO_OF_SUMS\(x, y\); got 1 argument$"),
        ("RMS()", r"RMS takes 1 argument: RMS\(x\); got no arguments$"),
    ],
)
def test_an_error_names_an_aggregate_as_sql_calls_it(call: str, message: str) -> None:
    with session(Rows()) as one, pytest.raises(WrongKind) as refused:
        one.plan(SQL.replace("RMS(cost)", call), epsilon=1)
    assert re.search(message, str(refused.value).partition("\n")[0])


def test_what_belongs_to_the_package_stays() -> None:
    with pytest.raises(BadParameter):
        unregister(Mean)
    assert AGGREGATES["avg"].aggregate is Mean


@pytest.mark.parametrize(
    ("sql", "error"),
    [
        ("RMS(DISTINCT cost)", Unsupported),
        ("RMS(cost, cost)", WrongKind),
        ("RMS()", WrongKind),
        ("RMS(ward)", WrongKind),
        ("RMS(AVG(cost))", Unsupported),
        ("RMS(person)", RequestError),
        ("RMS(*)", Unsupported),
        ("RMSE(cost)", UnknownName),
    ],
)
def test_what_cannot_be_asked_is_refused_before_a_charge(sql: str, error: type[Exception]) -> None:
    with session(Person("person")) as one:
        left = one.remaining
        with pytest.raises(error):
            one.ask(SQL.replace("RMS(cost)", sql), epsilon=1)
        assert one.remaining == left


@pytest.mark.parametrize("name", ["nothing", "quantile", "mode", "count_rows", "corr", "", None])
def test_python_refuses_names_that_are_no_aggregate_of_one_column(name: Any) -> None:
    with pytest.raises(RequestError):
        aggregate(name, "cost")


def test_a_name_that_the_parser_knows_by_itself_can_be_registered_too() -> None:
    kurtosis = type("Kurtosis", (Rms,), {"names": {"kurtosis": ("KURTOSIS",)}})
    with session(Rows()) as one:
        with pytest.raises(Unsupported):
            one.plan(SQL.replace("RMS", "KURTOSIS"), epsilon=1)
        register(kurtosis)
        try:
            assert one.plan(SQL.replace("RMS", "KURTOSIS"), epsilon=1).digest == one.plan(SQL, epsilon=1).digest
        finally:
            unregister(kurtosis)


def test_the_functions_of_the_package_go_through_the_registry() -> None:
    assert mean("cost").expression == aggregate("avg", "cost").expression
    assert (
        aggregate("AVG", col("cost"), where=col("cost") > 1).expression
        == mean("cost", where=col("cost") > 1).expression
    )


def test_the_documentation_names_every_aggregate_of_the_package() -> None:
    listed = (Path(__file__).resolve().parents[2] / "docs" / "sql.md").read_text(encoding="utf-8")
    hidden = {"VARIANCE_POP"}  # as the parser spells VAR_POP
    names = {name for entry in AGGREGATES.values() if entry.aggregate is not Rms for name in entry.sql} - hidden
    assert {name for name in names if not re.search(rf"`{name}[(`]", listed)} == set()
