"""Expressions that mean the same by order alone have one form, and their text reads back as themselves."""

from __future__ import annotations

import datetime
from fractions import Fraction

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from privet.core.relation import Call, ColumnRef, Expression, Literal
from privet.core.schema import Schema, boolean, date, integer, number, text, timestamp
from privet.core.unit import Rows
from privet.query import normal
from privet.query.normal import call
from privet.query.sql.parse import parse

SCHEMA = Schema(
    unit=Rows(),
    columns={
        "a": integer(0, 9),
        "select": integer(-5, 5, nullable=True),
        'we"ird; --': number(0, 1),
        "s": text(nullable=True),
        "p": boolean(nullable=True),
        "d": date(),
        "t": timestamp(nullable=True),
    },
)


def read(condition: str) -> Expression | None:
    return parse(f"SELECT COUNT(*) FROM t WHERE {condition}", {"t": SCHEMA}).where


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("a = 1 AND s = 'x' AND p", "p AND (s = 'x' AND a = 1)"),
        ("a = 1 OR (s = 'x' OR p)", "(p OR a = 1) OR s = 'x'"),
        ("5 < a", "a > 5"),
        ("5 = a", "a = 5"),
        ("a IN (3, 1, 2, 1)", "a IN (1, 2, 3)"),
        ("a BETWEEN 1 AND 5", "a <= 5 AND a >= 1"),
        ("a <> 5", "a != 5"),
        ("s NOT LIKE 'x%'", "NOT s LIKE 'x%'"),
        ("a NOT IN (1, 2)", "NOT (a IN (2, 1))"),
        ("s IS NOT NULL", "NOT s IS NULL"),
        ("CASE a WHEN 1 THEN p END", "CASE WHEN a = 1 THEN p ELSE NULL END"),
        ("d >= '2024-01-01'", "d >= DATE '2024-01-01'"),
        ("d >= DATE '2024-01-01'", "d >= CAST('2024-01-01' AS DATE)"),
        ("d IN ('2024-01-02', '2024-01-01')", "d IN (DATE '2024-01-01', DATE '2024-01-02')"),
        ("t < '2024-01-01 10:00:00'", "t < TIMESTAMP '2024-01-01 10:00:00'"),
        ("EXTRACT(year FROM d) = 2024", "YEAR(d) = 2024"),
        ("DATE_PART('month', d) = 2", "MONTH(d) = 2"),
        ("d + INTERVAL 2 WEEK > d", "d + INTERVAL '14' DAY > d"),
        ("d - INTERVAL 1 YEAR > d", "d + INTERVAL (-12) MONTH > d"),
        ("a > - 5", "a > -5"),
        ("IF(p, 1, 2) = 1", "CASE WHEN p THEN 1 ELSE 2 END = 1"),
        ("LEFT(s, 2) = 'ab'", "SUBSTRING(s, 1, 2) = 'ab'"),
        ("IFNULL(a, 1) = 1", "COALESCE(a, 1) = 1"),
        ("a::DOUBLE > 0.5", "TRY_CAST(a AS DOUBLE) > 0.50"),
        ("a % 2 = 0", "MOD(a, 2) = 0"),
        ("A = 1", '"a" = 1'),
    ],
)
def test_conditions_that_say_the_same_are_the_same(one: str, other: str) -> None:
    assert read(one) == read(other)
    assert read(one) is not None


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("a = 1", "a = 1.0"),
        ("a < 5", "a <= 5"),
        ("s = 'x'", "s = 'X'"),
        ("a - 1 > 0", "1 - a > 0"),
        ("p AND a = 1 OR s = 'x'", "p AND (a = 1 OR s = 'x')"),
    ],
)
def test_conditions_that_differ_stay_apart(one: str, other: str) -> None:
    assert read(one) != read(other)


def test_constants_of_different_types_are_not_equal() -> None:
    assert Literal(1) != Literal(Fraction(1))
    assert Literal(1) != Literal(True)
    assert len({Literal(1), Literal(Fraction(1)), Literal(True), Literal(1)}) == 3


NUMBERS = (
    st.sampled_from(["a", "select", 'we"ird; --']).map(ColumnRef)
    | st.integers(-(2**63) + 1, 2**63 - 1).map(Literal)
    | st.decimals(-1000, 1000, places=3).map(lambda number: Literal(Fraction(number)))
)
TEXTS = st.just(ColumnRef("s")) | st.text(
    st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=8
).map(Literal)
MOMENTS = (
    st.sampled_from(["d", "t"]).map(ColumnRef)
    | st.dates().map(Literal)
    | st.datetimes(datetime.datetime(1900, 1, 1)).map(Literal)
)
TRUTHS = st.just(ColumnRef("p")) | st.booleans().map(Literal)
UNARY = {
    "number": ["negate", "abs", "floor", "ceil", "round", "sign", "sqrt", "ln", "exp", "to_number"],
    "text": ["lower", "upper", "trim"],
}


def numbers(depth: int) -> st.SearchStrategy[Expression]:
    if depth == 0:
        return NUMBERS
    below, deep = numbers(depth - 1), depth - 1
    binary = st.sampled_from(["add", "subtract", "multiply", "divide", "modulo", "power", "nullif"])
    parts = st.sampled_from(["year", "quarter", "month", "week", "day", "day_of_week", "day_of_year"])
    return (
        NUMBERS
        | st.builds(call, st.sampled_from(UNARY["number"]), below)
        | st.builds(call, binary, below, below)
        | st.builds(call, st.sampled_from(["least", "greatest", "coalesce"]), below, below, below)
        | st.builds(lambda c, x, y: call("case", c, x, y), truths(deep), below, below)
        | st.builds(lambda x, w: call("bin", x, Literal(w)), below, st.integers(1, 9))
        | st.builds(lambda x, d: call("round_to", x, Literal(d)), below, st.integers(0, 9))
        | st.builds(call, parts, st.just(ColumnRef("d")))
        | st.builds(
            lambda p, x, y: call("date_diff", Literal(p), x, y), st.sampled_from(["day", "month"]), MOMENTS, MOMENTS
        )
        | st.builds(lambda x: call("length", x), texts(deep))
        | st.builds(lambda x: call("to_integer", x), texts(deep))
    )


def texts(depth: int) -> st.SearchStrategy[Expression]:
    if depth == 0:
        return TEXTS
    below = texts(depth - 1)
    return (
        TEXTS
        | st.builds(call, st.sampled_from(UNARY["text"]), below)
        | st.builds(lambda x, y: call("concat", x, y), below, TEXTS)
        | st.builds(
            lambda x, i, n: call("substring", x, Literal(i), Literal(n)), below, st.integers(1, 5), st.integers(0, 5)
        )
    )


def truths(depth: int) -> st.SearchStrategy[Expression]:
    if depth == 0:
        return TRUTHS
    below = truths(depth - 1)
    compare = st.sampled_from(["equal", "not_equal", "less", "less_equal", "greater", "greater_equal"])
    return (
        TRUTHS
        | st.builds(
            lambda name, several: call(name, *several),
            st.sampled_from(["and", "or"]),
            st.lists(below, min_size=2, max_size=4),
        )
        | st.builds(lambda x: call("not", x), below)
        | st.builds(lambda x: call("is_null", x), numbers(depth - 1))
        | st.builds(call, compare, numbers(depth - 1), numbers(depth - 1))
        | st.builds(call, compare, texts(depth - 1), texts(depth - 1))
        | st.builds(call, compare, MOMENTS, MOMENTS)
        | st.builds(
            lambda x, several: call("in", x, *map(Literal, several)),
            numbers(depth - 1),
            st.lists(st.integers(-9, 9), min_size=1, max_size=4),
        )
        | st.builds(
            lambda x, p: call("like", x, Literal(p), Literal("!")),
            texts(depth - 1),
            st.sampled_from(["%", "a!%_", "'"]),
        )
        | st.builds(lambda x, y: call("starts_with", x, y), texts(depth - 1), TEXTS)
    )


@settings(max_examples=400, deadline=None)
@given(truths(3))
def test_the_text_of_an_expression_reads_back_as_itself(expression: Expression) -> None:
    if isinstance(expression, Literal):
        expression = call("not", expression)
    assert read(normal.text(expression)) == expression


@settings(max_examples=100, deadline=None)
@given(st.permutations([f"{name} > {i}" for i, name in enumerate(["a", '"select"', "a", "YEAR(d)"])]))
def test_the_order_of_conjuncts_does_not_matter(conjuncts: list[str]) -> None:
    assert read(" AND ".join(conjuncts)) == read(" AND ".join(sorted(conjuncts)))


WORDS = [
    "a",
    "b",
    "2",
    "1.5",
    "- a",
    "a + 1",
    "a * b",
    "a - b - 1",
    "- a * b",
    "2 ^ 2 ^ b",
    "a % 4",
    "-a ^ 2",
    "b / 4 * 2",
]
JOINS = [" = ", " < ", " <> ", " >= "]


@settings(max_examples=300, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.sampled_from(["", "NOT "]),
            st.sampled_from(WORDS),
            st.sampled_from(JOINS),
            st.sampled_from(WORDS),
            st.sampled_from([" AND ", " OR "]),
        ),
        min_size=1,
        max_size=5,
    )
)
def test_operators_bind_as_they_do_in_the_engine(terms: list[tuple[str, str, str, str, str]]) -> None:
    written = "".join(before + x + sign + y + joint for before, x, sign, y, joint in terms).rsplit(" ", 2)[0]
    schema = Schema(unit=Rows(), columns={"a": integer(0, 9), "b": integer(1, 9)})
    tree = parse(f"SELECT COUNT(*) FROM t WHERE {written}", {"t": schema}).where
    assert isinstance(tree, Call)
    rows = "(VALUES (3, 2), (0, 5), (7, 1), (2, 2)) v(a, b)"
    asked = f"SELECT {written}, {normal.text(tree)} FROM {rows}"
    for plain, ours in duckdb.execute(asked).fetchall():
        assert plain == ours
