"""Sums that read the same numbers from a row compute them once, and each still gives what it gives alone."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from functools import cache
from itertools import combinations
from typing import Any

import duckdb
import pytest

from privet.core.relation import Call, ColumnRef, Literal
from privet.core.scan import GroupKey, Norm, Once, Scan, Sum
from privet.core.schema import Contribution, Schema, boolean, category, integer, number
from privet.core.unit import Person, Rows
from privet.engines.dialects.duckdb import DUCKDB
from privet.engines.scan_sql.statement import statement

COLUMNS = {
    "u": integer(),
    "g": category(["a", "b"]),
    "x": number(-100, 100, nullable=True),
    "n": integer(0, 200, nullable=True),
    "b": boolean(nullable=True),
}
ROWS = [
    (i % 7, "ab"[i % 3 == 0], (i * 37 % 230) - 110.0 if i % 5 else None, i * 11 % 250, [True, False, None][i % 3])
    for i in range(60)
]
X, B = ColumnRef("x"), ColumnRef("b")
OF_X = Sum(X, -100, 100)
SUMS = (
    OF_X,
    replace(OF_X, low=-10, high=10),
    replace(OF_X, where=B),
    replace(OF_X, where=Call("not", (B,))),
    replace(OF_X, null_as=-100),
    replace(OF_X, power=2, offset=5000),
    replace(OF_X, low=-20, high=20, origin=Fraction(50), step=Fraction(5)),
    replace(OF_X, step=Fraction(5)),
    Sum(ColumnRef("n"), 0, 200),
    Sum(ColumnRef("n"), 0, 200, where=Call("greater", (X, Literal(0)))),
    Sum(None, 1, 1),
    Sum(None, 1, 1, where=B),
)


def summed(sums: tuple[Sum, ...], person: bool) -> dict[Any, tuple[int, ...]]:
    schema = Schema(
        unit=Person("u") if person else Rows(), columns=COLUMNS, contribution=Contribution(groups=2, rows=9)
    )
    bounding = Norm(2, 9, 10) if person else Once()
    keys = (GroupKey(ColumnRef("g"), ("a", "b"), False),)
    asked = statement(Scan("d", schema, None, keys, sums, bounding), "d", 2**100 + 7, DUCKDB)
    return {row[0]: row[1:] for row in stored().execute(asked.sql, asked.parameters or None).fetchall()}


@cache
def stored() -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect(config={"threads": 1})
    connection.execute("CREATE TABLE d(c0 BIGINT, c1 VARCHAR, c2 DOUBLE, c3 BIGINT, c4 BOOLEAN)")
    connection.executemany("INSERT INTO d VALUES (?, ?, ?, ?, ?)", ROWS)
    return connection


@pytest.mark.parametrize("person", [True, False], ids=["people", "rows"])
def test_sums_over_one_grid_together_are_those_of_each_alone(person: bool) -> None:
    alone = [summed((one,), person) for one in SUMS]
    together = summed(SUMS, person)
    for group, values in together.items():
        assert values == tuple(one[group][0] for one in alone)


@pytest.mark.parametrize("pair", list(combinations(range(len(SUMS)), 2)), ids=str)
def test_no_sum_depends_on_which_came_before_it(pair: tuple[int, int]) -> None:
    first, second = (SUMS[place] for place in pair)
    forward, back = summed((first, second), False), summed((second, first), False)
    assert forward == {group: values[::-1] for group, values in back.items()}


def of_everyone(sums: tuple[Sum, ...], norm: Norm) -> tuple[int, ...]:
    schema = Schema(unit=Person("u"), columns=COLUMNS, contribution=Contribution(groups=1, rows=9))
    asked = statement(Scan("d", schema, B, (), sums, norm), "d", 2**100 + 7, DUCKDB)
    (row,) = stored().execute(asked.sql).fetchall()
    return tuple(row)


@pytest.mark.parametrize("norm", [Norm(1, 2, 10), Norm(1, 3, 0), Norm(2, 9, 10), Norm(1, 100, 10)], ids=str)
def test_many_sums_of_people_without_groups_are_those_of_each_alone(norm: Norm) -> None:
    alone = tuple(of_everyone((one,), norm)[0] for one in SUMS)
    assert of_everyone(SUMS, norm) == alone
    assert any(alone)


def test_people_who_give_too_much_are_scaled_down_where_rows_are_read_again() -> None:
    few, many = (of_everyone(SUMS, Norm(1, limit, 10)) for limit in (1, 100))
    assert (
        "JOIN w"
        in statement(
            Scan("d", Schema(unit=Person("u"), columns=COLUMNS), B, (), SUMS, Norm(1, 1, 10)), "d", 1, DUCKDB
        ).sql
    )
    people = {person for person, *_, b in ROWS if b}
    assert few[SUMS.index(Sum(None, 1, 1))] <= len(people) * 2**10 < many[SUMS.index(Sum(None, 1, 1))]


@pytest.mark.parametrize("bits", [30, 40, 50, 62])
def test_sums_of_people_are_exact_however_large_a_row_is(bits: int) -> None:
    large = replace(OF_X, low=-(2**bits), high=2**bits, step=Fraction(100, 2**bits))
    norm = Norm(1, 3, 20)
    counted = [(u, x) for u, _, x, _, b in ROWS if b]
    weights = {u: min(2**20, 3 * 2**20 // sum(v == u for v, _ in counted)) for u, _ in counted}
    # these numbers are whole, and the grid holds them all
    exact = sum(weights[u] * (int(max(-100, min(100, x))) * 2**bits // 100) for u, x in counted if x is not None)
    (found,) = of_everyone((large,), norm)
    assert abs(found - exact) <= 2 * len(counted) * 2**20 * max(1, 2 ** (bits - 50))
    assert found == of_everyone((large, *SUMS), norm)[0]
