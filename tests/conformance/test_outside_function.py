"""A scalar function from outside the package: one entry in the table, one line for each dialect that has it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import pyarrow as pa
import pytest

import privet
from privet import col
from privet.core.errors import BadParameter, RequestError
from privet.engines.dialects.duckdb import DUCKDB, FORMS, real_form
from privet.engines.duckdb.engine import DuckDB
from privet.query import intervals
from privet.query import typed as rules
from privet.query.functions import FUNCTIONS, Function, register, unregister
from privet.query.terms import function_of
from privet.testing.oracle import Memory

ROWS = [{"who": index, "x": float(index % 28)} for index in range(2000)]
COLUMNS = {"who": privet.integer(), "x": privet.number(0, 27)}


def root(interval: intervals.Interval) -> intervals.Interval:
    """Return the ends of a cube root of what is not negative, a little wider than exact."""
    low, high = (None if end is None else Fraction(math.cbrt(end)) for end in interval)
    return None if low is None else low * Fraction(999, 1000), None if high is None else high * Fraction(1001, 1000)


CBRT = Function(
    "cbrt",
    "integer or number",
    "number",
    "the cube root",
    rules.monotone(root, to_whole=False),
    1,
    1,
    value=lambda values, kinds: math.cbrt(values[0]),
    sql=("CBRT",),
)


@pytest.fixture
def cbrt() -> Iterator[None]:
    register(CBRT)
    FORMS["cbrt"] = real_form("cbrt({})")
    yield
    unregister(CBRT)
    FORMS.pop("cbrt", None)


def opened(engine: Any) -> privet.Session:
    source = ROWS if engine is Memory else pa.Table.from_pylist(ROWS)
    tables = {
        "t": privet.Table(
            source, unit=privet.Person("who"), columns=COLUMNS, contribution=privet.Contribution(groups=1, rows=1)
        )
    }
    return privet.Session(tables, budget=privet.Pure(epsilon=10**6), engine=engine(tables))


@pytest.mark.parametrize("engine", [DuckDB, Memory])
@pytest.mark.usefixtures("cbrt")
def test_it_is_asked_in_sql_and_in_python_on_every_engine(engine: Any) -> None:
    with opened(engine) as session:
        by_sql = session.plan("SELECT SUM(CBRT(x)) AS s FROM t WHERE CBRT(x) > 1.5", epsilon=10**4)
        term = function_of("cbrt", col("x"))
        built = session.table("t").where(term > 1.5).agg(s=privet.sum(term))
        assert session.plan(built, epsilon=10**4).digest == by_sql.digest
        exact = sum(math.cbrt(row["x"]) for row in ROWS if math.cbrt(row["x"]) > 1.5)
        assert session.run(by_sql).value == pytest.approx(exact, rel=0.01)


@pytest.mark.usefixtures("cbrt")
def test_where_a_dialect_lacks_it_it_is_refused_by_name_before_the_charge() -> None:
    del FORMS["cbrt"]
    with opened(DuckDB) as session:
        with pytest.raises(RequestError, match="DuckDB has no CBRT"):
            session.ask("SELECT COUNT(*) FROM t WHERE CBRT(x) > 1", epsilon=1)
        assert session.history() == ()
    with opened(Memory) as session:
        assert session.ask("SELECT COUNT(*) FROM t WHERE CBRT(x) > 1", epsilon=10**4).value > 0


@pytest.mark.usefixtures("cbrt")
def test_no_function_takes_the_place_of_another() -> None:
    with pytest.raises(BadParameter, match="new name"):
        register(CBRT)


def test_a_function_that_was_not_added_is_unknown() -> None:
    with opened(Memory) as session, pytest.raises(RequestError, match="CBRT"):
        session.ask("SELECT COUNT(*) FROM t WHERE CBRT(x) > 1", epsilon=1)
    with pytest.raises(RequestError, match="cbrt"):
        function_of("cbrt", col("x"))


def test_each_dialect_states_which_functions_it_has() -> None:
    assert DUCKDB.forms.keys() == FUNCTIONS.keys()
    assert all(function.name == name for name, function in FUNCTIONS.items())
