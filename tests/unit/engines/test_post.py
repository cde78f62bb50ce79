"""Steps over released rows give what plain SQL over the same rows gives, and touch no other table or file."""

from __future__ import annotations

import datetime
import math
from fractions import Fraction

import duckdb
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from privet.core.errors import InvariantError
from privet.core.relation import Call, ColumnRef, Expression, Literal
from privet.query import normal
from privet.query.nodes import Order, Output, Step
from privet.results.postprocess import Kinds, arithmetic, evaluate
from privet.results.postprocess import run_step as run

CITY, N, MEAN = ColumnRef("city"), ColumnRef("n"), ColumnRef("mean")
KINDS: Kinds = {
    "city": "text",
    "n": "integer",
    "mean": "number",
    "x": "number",
    "day": "date",
    "at": "timestamp",
    "ok": "boolean",
}
EXPRESSIONS: list[Expression] = [
    CITY,
    N,
    MEAN,
    Call("add", (N, Literal(1))),
    Call("divide", (MEAN, Literal(4))),
    Call("upper", (CITY,)),
    Call("is_null", (MEAN,)),
    Call("coalesce", (CITY, Literal("none"))),
]
CONDITIONS: list[Expression | None] = [
    None,
    Call("greater", (N, Literal(2))),
    Call("is_null", (CITY,)),
    Call("not", (Call("less", (MEAN, Literal(1))),)),
]

cells = st.tuples(
    st.sampled_from(["Ulm", "Bonn", "", None]),
    st.one_of(st.none(), st.integers(-3, 6)),
    st.one_of(st.none(), st.sampled_from([-1.5, 0.0, 0.25, 3.0])),
)
orders = st.builds(Order, st.sampled_from(EXPRESSIONS[:5]), st.booleans(), st.booleans())


def run_step(step: Step, rows: dict[str, object]) -> dict[str, list[object]]:
    return run(step, rows, KINDS)[0]


def plain(step: Step, rows: list[tuple[object, ...]]) -> list[tuple[object, ...]]:
    """Return what plain SQL makes of the rows, ties in the order of what came in."""
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE r (city VARCHAR, n BIGINT, mean DOUBLE, i BIGINT)")
        connection.executemany("INSERT INTO r VALUES (?, ?, ?, ?)", [[*row, i] for i, row in enumerate(rows)])
        outputs = ", ".join(f"{normal.text(one.expression)} AS {one.name}" for one in step.outputs)
        where = "" if step.where is None else f"WHERE {normal.text(step.where)}"
        terms = [
            f"{normal.text(one.expression)} {'DESC' if one.descending else 'ASC'} "
            f"NULLS {'FIRST' if one.nulls_first else 'LAST'}"
            for one in step.order
        ]
        sql = f"SELECT {outputs} FROM r {where} ORDER BY {', '.join([*terms, 'i'])}"
        sql += "" if step.limit is None else f" LIMIT {step.limit}"
        return connection.execute(f"{sql} OFFSET {step.offset}").fetchall()


@given(
    rows=st.lists(cells, min_size=1, max_size=8),
    outputs=st.lists(st.sampled_from(EXPRESSIONS), min_size=1, max_size=4),
    where=st.sampled_from(CONDITIONS),
    order=st.lists(orders, max_size=3),
    limit=st.one_of(st.none(), st.integers(0, 9)),
    offset=st.integers(0, 3),
)
@settings(max_examples=40, deadline=None)
def test_a_step_is_the_select_that_it_stands_for(rows, outputs, where, order, limit, offset):
    named = tuple(Output(f"out{i}", one) for i, one in enumerate(outputs))
    step = Step(named, where, False, tuple(order), limit, offset)
    columns = {name: [row[i] for row in rows] for i, name in enumerate(("city", "n", "mean"))}
    found = run_step(step, columns)
    assert list(zip(*(found[one.name] for one in named), strict=True)) == plain(step, rows)


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("first", [False, True])
def test_nulls_stand_where_the_order_says(descending, first):
    found = run_step(Step((Output("n", N),), order=(Order(N, descending, first),)), {"n": [1, None, 2]})
    known = [2, 1] if descending else [1, 2]
    assert found["n"] == ([None, *known] if first else [*known, None])


def test_an_order_may_use_what_is_not_shown_and_no_output_hides_a_column_of_its_name():
    rows = {"city": ["a", "b", "c"], "n": [3, 1, 2]}
    assert run_step(Step((Output("city", CITY),), order=(Order(N),)), rows) == {"city": ["b", "c", "a"]}
    flipped = Step((Output("n", Call("negate", (N,))),), order=(Order(N),))
    assert run_step(flipped, rows) == {"n": [-1, -2, -3]}  # what an alias stands for is put in its place before


def test_each_step_sees_the_outputs_of_the_one_before_and_their_kinds():
    first = Step((Output("m", Call("multiply", (N, N))),), where=Call("greater", (N, Literal(1))))
    second = Step(
        (Output("k", Call("add", (ColumnRef("m"), Literal(1)))),), order=(Order(ColumnRef("m"), True),), limit=2
    )
    assert run(second, *run(first, {"n": [1, 2, 3, 4]}, KINDS)) == ({"k": [17, 10]}, {"k": "integer"})


@pytest.mark.parametrize("values", [[], [None], [None, None]])
def test_what_a_column_holds_is_known_without_a_value(values):
    step = Step((Output("up", Call("upper", (CITY,))),), where=Call("not_equal", (CITY, Literal("x"))))
    assert run(step, {"city": values}, KINDS) == ({"up": []}, {"up": "text"})


def test_dates_truths_and_empty_tables_come_back_as_they_are():
    day, moment = datetime.date(2024, 2, 29), datetime.datetime(2024, 2, 29, 1, 2, 3)
    rows = {"day": [day, None], "at": [None, moment], "ok": [True, None]}
    step = Step(tuple(Output(name, ColumnRef(name)) for name in rows))
    assert run_step(step, rows) == rows
    assert run_step(step, {name: [] for name in rows}) == {name: [] for name in rows}


def test_nan_is_null_and_a_whole_number_that_is_too_wide_is_null():
    step = Step((Output("x", Call("is_null", (ColumnRef("x"),))),))
    wide = Step((Output("n", Call("is_null", (N,))),))
    assert run_step(step, {"x": [math.nan, 1.0]}) == {"x": [True, False]}
    assert run_step(step, {"x": np.array([math.nan, 1.0])}) == {"x": [True, False]}
    assert run_step(wide, {"n": [2**63, 2**63 - 1]}) == {"n": [True, False]}


numbers = st.sampled_from([-(2**62), -7.5, -1, 0, 0.0, 1, 3, 2.5, 2**62, 1e300, math.inf, math.nan])
leaves = st.one_of(st.just(N), st.just(ColumnRef("x")), st.builds(Literal, st.sampled_from([0, 2, Fraction(1, 4), -3])))
trees = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.builds(Call, st.sampled_from(["add", "subtract", "multiply", "divide", "nullif"]), st.tuples(inner, inner)),
        st.builds(Call, st.just("negate"), st.tuples(inner)),
    ),
    max_leaves=6,
)


def parts_of(tree):
    """Yield an expression and all that it is made of."""
    yield tree
    if isinstance(tree, Call):
        for inner in tree.arguments:
            yield from parts_of(inner)


@given(tree=trees, rows=st.lists(st.tuples(st.integers(-(2**62), 2**62), numbers), min_size=1, max_size=5))
@example(
    tree=Call("add", (Call("negate", (ColumnRef("n"),)), Call("add", (ColumnRef("n"), ColumnRef("n"))))),
    rows=[(2**62, 0.0)],
)
@settings(max_examples=150, deadline=None)
def test_arithmetic_on_arrays_and_row_by_row_is_the_engines(tree, rows):
    table = {"n": np.array([row[0] for row in rows]), "x": np.array([row[1] for row in rows], dtype=np.float64)}
    listed = {"n": [row[0] for row in rows], "x": [None if not math.isfinite(row[1]) else row[1] for row in rows]}
    ordered = Step((Output("v", tree),), order=(Order(Literal(1)),))  # an order asks for the engine
    expected = run_step(ordered, listed)["v"]
    assert run_step(Step((Output("v", tree),)), listed)["v"] == expected
    found = arithmetic(tree, table)
    assert found is not None
    near = np.zeros(len(rows), dtype=bool)
    for part in parts_of(tree):
        near |= np.abs(np.abs(arithmetic(part, table)) - 2.0**63) < 2.0**20
    for one, other, edge in zip(found, expected, near, strict=True):
        if edge:
            continue  # a double does not tell which side of 64 bits a whole number on the way is on
        assert (other is None and math.isnan(one)) or one == pytest.approx(other, rel=1e-9, abs=1e-9 * 2.0**64)


def test_large_columns_keep_their_order_row_by_row():
    values = np.arange(50_000, dtype=np.float64)
    values[7] = np.nan
    found = evaluate(Call("divide", (ColumnRef("x"), Literal(2))), {"x": values}, KINDS)
    assert np.array_equal(found, values / 2, equal_nan=True)
    assert list(evaluate(Call("upper", (CITY,)), {"city": ["a", None]}, KINDS)) == ["A", None]


def test_columns_of_several_lengths_are_a_fault_of_ours():
    with pytest.raises(InvariantError):
        run_step(Step((Output("n", N),)), {"n": [1], "mean": [1.0, 2.0]})


def test_names_of_columns_are_only_ever_data():
    name = "n\" FROM read_text('/etc/passwd') --"
    assert run(Step((Output(name, ColumnRef(name)),)), {name: [1]}, {name: "integer"})[0] == {name: [1]}
