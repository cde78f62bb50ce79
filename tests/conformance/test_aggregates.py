"""One suite for every aggregate of the registry: public facts in, a few bounded sums, and a total way to read them.

As noise goes to zero and no bound binds, each is what plain SQL gives on the same rows.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from fractions import Fraction
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pytest

from privet.aggregates import AGGREGATES, Aggregate, Argument, CountRows
from privet.core.budget import Pure
from privet.core.relation import Call, ColumnRef, Literal
from privet.core.scan import Sum
from privet.core.schema import Contribution, Table, category, integer, number
from privet.core.unit import Person, Rows
from privet.session import Session
from privet.testing import check_aggregate

OF_TWO = [name for name, entry in AGGREGATES.items() if entry.aggregate.arity == 2]
OF_ONE = ["count", "count_distinct", *(name for name, one in AGGREGATES.items() if one.plain and name not in OF_TWO)]
NAMES = [*OF_ONE, *OF_TWO, "count_rows"]
RANGES = [(0, 100), (-5, 20), (3, 4), (-7, -2), (0, 0), (5, 5), (-(10**12), 10**12)]
STEPS = [None, Fraction(1), Fraction(1, 3)]


def make(name: str, low: int = 0, high: int = 100, step: Fraction | None = None, nullable: bool = False) -> Aggregate:
    if name == "count_rows":
        return CountRows(None)
    argument = Argument(
        expression=ColumnRef("x"), low=Fraction(low), high=Fraction(high), step=step, nullable=nullable, where=None
    )
    if name in OF_TWO:
        return AGGREGATES[name](argument, replace(argument, expression=ColumnRef("y")))
    return AGGREGATES[name](argument)


def given(total: Sum, values: np.ndarray[Any, Any]) -> float:
    """Return what an engine sums over values that are not NULL."""
    if total.expression is None:
        return float(len(values))
    if isinstance(total.expression, Call):  # of two columns, the second being the first backwards
        middles = [part.arguments[1].value for part in total.expression.arguments]
        values = (values - float(middles[0])) * (values[::-1] ** 1.0 - float(middles[1]))
    elif total.expression == ColumnRef("y"):
        values = values[::-1]
    y = np.floor((values - float(total.origin)) / float(total.step) + 0.5)
    return float(np.sum(np.clip(y, total.low, total.high) ** total.power - total.offset))


@pytest.mark.parametrize("ends", RANGES)
@pytest.mark.parametrize("name", NAMES)
def test_sums_are_bounded_by_what_is_declared(name: str, ends: tuple[int, int]) -> None:
    for step in STEPS:
        for nullable in (False, True):
            sums = make(name, *ends, step, nullable).sums()
            assert sums == make(name, *ends, step, nullable).sums()
            assert 1 <= len(sums) <= (6 if name in OF_TWO else 3)
            for total in sums:
                assert total.low <= total.high
                assert total.step > 0
                low, high = total.ends
                assert low <= high <= total.most
                rough = total.step / 2
                for edge, end in ((total.low, ends[0]), (total.high, ends[1])):
                    if isinstance(total.expression, ColumnRef):
                        assert abs(edge * total.step + total.origin - end) <= rough


@pytest.mark.parametrize("name", NAMES)
def test_reading_is_total_and_keeps_to_the_ends(name: str) -> None:
    wild = np.array([0.0, -1.0, 1.0, 0.5, -1e30, 1e30, 1e300, 3.0])
    wild = wild[:6] if name in OF_TWO else wild
    for low, high in RANGES:
        aggregate = make(name, low, high)
        grids = np.meshgrid(*[wild] * len(aggregate.sums()))
        with np.errstate(all="ignore"):
            read = aggregate.read(*(grid.ravel() for grid in grids))
        assert read.shape == (wild.size ** len(grids),)
        if aggregate.linear is None:
            assert not np.isnan(read).any()
            assert (read >= aggregate.ends[0]).all()
            assert (read <= aggregate.ends[1]).all()


@pytest.mark.parametrize("name", NAMES)
def test_a_linear_aggregate_is_its_sum_times_a_factor(name: str) -> None:
    aggregate = make(name, -5, 20)
    if aggregate.linear is not None:
        assert len(aggregate.sums()) == 1
        values = np.array([-3.0, 0.0, 7.0])
        assert aggregate.read(values) == pytest.approx(values * float(aggregate.linear))


@pytest.mark.parametrize("ends", [(0, 100), (-5, 20), (-7, -2)])
@pytest.mark.parametrize("name", NAMES)
def test_reading_exact_sums_gives_the_statistic(name: str, ends: tuple[int, int]) -> None:
    values = np.linspace(0, 1, 57) ** 2 * (ends[1] - ends[0]) + ends[0]
    aggregate = make(name, *ends)
    read = aggregate.read(*(np.array([given(total, values)]) for total in aggregate.sums()))[0]
    expected = {
        "count_rows": len(values),
        "count": len(values),
        "count_distinct": len(values),  # by the scan that it is read from
        "sum": values.sum(),
        "avg": values.mean(),
        "var_pop": values.var(),
        "var_samp": values.var(ddof=1),
        "stddev_pop": values.std(),
        "stddev_samp": values.std(ddof=1),
        "covar_pop": np.cov(values, values[::-1], ddof=0)[0, 1],
        "covar_samp": np.cov(values, values[::-1])[0, 1],
        "corr": np.corrcoef(values, values[::-1])[0, 1],
        "regr_slope": np.polyfit(values[::-1], values, 1)[0],
        "regr_intercept": np.polyfit(values[::-1], values, 1)[1],
        "regr_r2": np.corrcoef(values, values[::-1])[0, 1] ** 2,
    }[name]
    assert read == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("name", NAMES)
def test_a_filter_and_a_null_are_part_of_every_sum(name: str) -> None:
    condition = Call("greater", (ColumnRef("x"), Literal(3)))
    if name == "count_rows":
        assert CountRows(condition).sums()[0].where == condition
        return
    argument = Argument(
        expression=ColumnRef("x"), low=Fraction(0), high=Fraction(9), step=None, nullable=True, where=condition
    )
    certain = replace(argument, expression=ColumnRef("y"), nullable=False)
    made = AGGREGATES[name](*(argument, certain)[: AGGREGATES[name].aggregate.arity])
    for total in made.sums():
        if total.expression == ColumnRef("y"):
            assert total.where == Call("and", (Call("not", (Call("is_null", (ColumnRef("x"),)),)), condition))
            continue
        assert total.where is not None
        assert total.null_as is None


# --- without noise, plain SQL ---------------------------------------------------------------------------------------

EXPRESSIONS = [
    "COUNT(*)",
    "COUNT(x)",
    "COUNT(i)",
    "COUNT(DISTINCT i)",
    "COUNT(DISTINCT x) FILTER (WHERE i > 3)",
    "SUM(x)",
    "SUM(i)",
    "AVG(x)",
    "AVG(i)",
    "VAR_POP(x)",
    "VAR_SAMP(x)",
    "STDDEV_POP(i)",
    "STDDEV(i)",
    "COVAR_POP(x, i)",
    "COVAR_SAMP(i, x)",
    "CORR(x, i)",
    "CORR(x, x * x + i) FILTER (WHERE i > 0)",
    "SUM(x * i)",
    "SUM(x) FILTER (WHERE i > 3)",
    "AVG(i) FILTER (WHERE x < 50)",
    "COUNT(*) FILTER (WHERE x IS NULL)",
    "SUM(x) / COUNT(*)",
    "ROUND(AVG(x), 1)",
]


def rows() -> pa.Table:
    generator = np.random.default_rng(3)
    size = 400
    x = [
        None if index % 7 == 0 else float(np.round(value, 3))
        for index, value in enumerate(generator.uniform(0, 100, size))
    ]
    i = [None if index % 11 == 0 else int(value) for index, value in enumerate(generator.integers(-5, 20, size))]
    wards = [["a", "b", "only nulls"][index % 3] for index in range(size)]
    x[10:20], i[10:20] = [x[10]] * 10, [i[10]] * 10  # duplicates
    x = [None if ward == "only nulls" else value for value, ward in zip(x, wards, strict=True)]
    person = [index // 4 for index in range(size)]
    return pa.table({"person": person, "x": x, "i": pa.array(i, pa.int64()), "ward": wards})


COLUMNS = {
    "person": integer(),
    "x": number(0, 100, step=Fraction(1, 1000), nullable=True),
    "i": integer(-5, 20, nullable=True),
    "ward": category(["a", "b", "only nulls", "nobody"]),
}


@contextmanager
def quiet(unit: Any) -> Iterator[Session]:
    """Yield a session with so much epsilon that noise vanishes, and so much contribution that nothing is bounded."""
    table = Table(rows(), unit=unit, columns=COLUMNS, contribution=Contribution(groups=3, rows=4), rows=10**6)
    with Session({"t": table}, budget=Pure(epsilon=10**15)) as session:
        yield session


def plain(sql: str) -> list[tuple[Any, ...]]:
    with duckdb.connect(":memory:") as connection:
        connection.register("t", rows())
        return connection.execute(sql).fetchall()


@pytest.mark.parametrize("bound", ["norm", "groups"])
@pytest.mark.parametrize("unit", [Rows(), Person("person")], ids=str)
def test_without_noise_every_aggregate_is_plain_sql(unit: Any, bound: str) -> None:
    listed = ", ".join(f"{expression} AS c{index}" for index, expression in enumerate(EXPRESSIONS))
    with quiet(unit) as session:
        for sql in (f"SELECT {listed} FROM t", f"SELECT {listed} FROM t WHERE i < 12 AND ward <> 'only nulls'"):
            answer = session.ask(sql, epsilon=10**9, bound=bound)
            for series, expected in zip(answer.series, plain(sql)[0], strict=True):
                assert series.values[0] == pytest.approx(expected, rel=1e-5, abs=1e-4), series.name


@pytest.mark.parametrize("unit", [Rows(), Person("person")], ids=str)
def test_without_noise_groups_are_those_of_plain_sql_and_empty_ones_are_answered(unit: Any) -> None:
    sql = "SELECT ward, COUNT(*) AS n, COUNT(x) AS k, SUM(x) AS s, AVG(x) AS m, STDDEV_POP(x) AS d FROM t GROUP BY ward"
    expected = {row[0]: row[1:] for row in plain(sql)}
    with quiet(unit) as session:
        answer = session.ask(sql, epsilon=10**9)
    found = {row["ward"]: [row[name] for name in "nksmd"] for row in answer}
    assert list(found) == ["a", "b", "only nulls", "nobody"]
    for ward in ("a", "b"):
        assert found[ward] == pytest.approx(expected[ward], rel=1e-5)
    # SUM of nothing is 0 here, not NULL; AVG and VAR of nothing are the middle of what they can be, and their
    # intervals all of it
    assert found["only nulls"] == pytest.approx([133, 0, 0, 50, 50 / 2**0.5], abs=1e-3)
    assert found["nobody"] == pytest.approx([0, 0, 0, 50, 50 / 2**0.5], abs=1e-3)
    for row in answer:
        if row["ward"] in ("only nulls", "nobody"):
            assert (row["m_low"], row["m_high"]) == (0, 100)
            assert (row["d_low"], row["d_high"]) == (0, 50)


def test_without_noise_people_are_counted_once() -> None:
    sql = "SELECT ward, COUNT(DISTINCT person) AS people, COUNT(DISTINCT i) AS kinds FROM t WHERE x > 20 GROUP BY ward"
    expected = {row[0]: row[1:] for row in plain(sql)}
    with quiet(Person("person")) as session:
        found = {row["ward"]: (row["people"], row["kinds"]) for row in session.ask(sql, epsilon=10**9)}
    assert found == {"only nulls": (0, 0), "nobody": (0, 0), **expected}


def test_intervals_close_as_noise_goes() -> None:
    with quiet(Rows()) as session:
        for expression in EXPRESSIONS:
            answer = session.ask(f"SELECT {expression} AS c FROM t WHERE ward <> 'only nulls'", epsilon=10**9)
            low, high = answer.interval
            assert high - low <= 2e-3 * max(1.0, abs(answer.value)), expression
            assert math.isfinite(answer.estimate.standard_error)


def test_without_noise_a_covariance_within_people_is_of_what_is_typical() -> None:
    inner = "SELECT person, {} AS k, {} AS s FROM t GROUP BY person"
    asked = "SELECT COVAR_POP(k, s) AS c, CORR(s, k) AS r, AVG(s) AS m FROM ({}) AS z"
    clamped = asked.format(inner.format("LEAST(COUNT(x), 2)", "LEAST(COALESCE(SUM(x), 0), 200)"))
    table = Table(rows(), unit=Person("person"), columns=COLUMNS, contribution=Contribution(groups=1, rows=2))
    with Session({"t": table}, budget=Pure(epsilon=10**15)) as session:
        sql = asked.format(inner.format("COUNT(x)", "COALESCE(SUM(x), 0)"))
        plan = session.plan(sql, epsilon=10**9)
        answer = session.run(plan)
    assert [series.values[0] for series in answer.series] == pytest.approx(plain(clamped)[0], rel=1e-5)
    assert len(plan.passes[0].measures) == 6  # the centred sum of s is shared


STATISTICS: dict[str, Callable[..., float]] = {
    "count": len,
    "sum": lambda values: values.sum(),
    "avg": lambda values: values.mean(),
    "var_pop": lambda values: values.var(),
    "var_samp": lambda values: values.var(ddof=1),
    "stddev_pop": lambda values: values.std(),
    "stddev_samp": lambda values: values.std(ddof=1),
    "covar_pop": lambda x, y: np.cov(x, y, ddof=0)[0, 1],
    "covar_samp": lambda x, y: np.cov(x, y)[0, 1],
    "corr": lambda x, y: np.corrcoef(x, y)[0, 1],
    "regr_slope": lambda x, y: np.polyfit(y, x, 1)[0],
    "regr_r2": lambda x, y: np.corrcoef(x, y)[0, 1] ** 2,
}


@pytest.mark.parametrize("name", STATISTICS)
def test_every_aggregate_passes_its_suite(name: str) -> None:
    assert len(check_aggregate(name, exact=STATISTICS[name]).held) == 5
