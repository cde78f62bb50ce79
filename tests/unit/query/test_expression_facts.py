"""What is known of an expression holds for every value that its columns can take."""

from __future__ import annotations

import datetime
import math
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from privet.core.errors import RequestError, UnknownName, WrongKind
from privet.core.relation import Call, ColumnRef, Expression, Literal, Within
from privet.core.schema import Schema, boolean, category, date, integer, number, text, timestamp
from privet.core.unit import Person
from privet.query.expressions import typed
from privet.query.functions import FUNCTIONS
from privet.query.intervals import outward
from privet.query.normal import call
from privet.query.shape import facts_of, group_facts
from privet.query.typed import clamp_ends

COLUMNS = {
    "age": integer(0, 120),
    "delta": integer(-7, 9, nullable=True),
    "cost": number(-10, 1000),
    "share": number(0.25, 1, nullable=True),
    "id": integer(),
    "any": number(),
    "city": category(["A", "B"], nullable=True),
    "ward": category([3, 9, 5]),
    "sex": boolean(),
    "note": text(nullable=True),
    "day": date(datetime.date(2024, 1, 15), datetime.date(2024, 5, 2)),
    "at": timestamp(datetime.datetime(2024, 1, 1, 10), datetime.datetime(2024, 1, 2, 9), nullable=True),
}


def f(function: str, *arguments: object) -> Expression:
    return call(
        function, *(given if isinstance(given, (Call, ColumnRef, Literal)) else Literal(given) for given in arguments)
    )  # type: ignore[arg-type]


def c(name: str) -> ColumnRef:
    return ColumnRef(name)


def ends(expression: Expression) -> tuple[object, object]:
    facts = typed(expression, COLUMNS)
    return facts.low, facts.high


@pytest.mark.parametrize(
    ("expression", "low", "high", "kind"),
    [
        (f("add", c("age"), 1), 1, 121, "integer"),
        (f("subtract", c("age"), c("delta")), -9, 127, "integer"),
        (f("multiply", c("delta"), c("cost")), -7000, 9000, "number"),
        (f("divide", c("cost"), c("share")), -40, 4000, "number"),
        (f("modulo", c("id"), 10), -9, 9, "integer"),
        (f("modulo", c("age"), 7), 0, 6, "integer"),
        (f("abs", c("delta")), 0, 9, "integer"),
        (f("abs", f("subtract", c("delta"), 5)), 0, 12, "integer"),
        (f("floor", f("divide", c("age"), 7)), 0, 17, "integer"),
        (f("ceil", f("divide", c("age"), 7)), 0, 18, "integer"),
        (f("round", f("divide", c("age"), 16)), 0, 8, "integer"),
        (f("round_to", c("share"), 1), Fraction(3, 10), 1, "number"),
        (f("sign", c("delta")), -1, 1, "integer"),
        (f("sqrt", f("multiply", c("age"), c("age"))), 0, 120, "number"),
        (f("power", c("delta"), 2), 0, 81, "number"),
        (f("least", f("greatest", c("id"), 0), 500), 0, 500, "integer"),
        (f("least", c("delta"), c("age")), -7, 120, "integer"),
        (f("greatest", c("delta"), c("age")), -7, 120, "integer"),  # where a NULL is stored for an age
        (f("greatest", c("age"), -1000), -1000, 120, "integer"),
        (
            f("least", c("day"), datetime.date(2025, 1, 1)),
            datetime.date(2024, 1, 15),
            datetime.date(2025, 1, 1),
            "date",
        ),
        (f("multiply", Fraction(10**300), Fraction(10**300)), 0, 0, "number"),  # which is always NULL
        (f("power", Fraction(10**300), 2), None, None, "number"),  # which no double holds: it is always NULL
        (f("case", f("greater", c("age"), 65), c("cost"), 0), -10, 1000, "number"),
        (f("coalesce", c("delta"), 50), -7, 50, "integer"),
        (f("nullif", c("age"), 0), 0, 120, "integer"),
        (f("bin", c("cost"), 300), -300, 900, "integer"),
        (f("bucket", c("cost"), 0, 100, 8), 0, 7, "integer"),
        (f("to_integer", c("share")), 0, 1, "integer"),
        (f("to_integer", c("sex")), 0, 1, "integer"),
        (f("to_number", c("age")), 0, 120, "number"),
        (c("ward"), 3, 9, "integer"),
        (f("year", c("day")), 2024, 2024, "integer"),
        (f("month", c("at")), 1, 12, "integer"),
        (f("date_diff", "month", c("day"), datetime.date(2024, 3, 1)), -2, 2, "integer"),
        (f("date_diff", "week", c("day"), datetime.date(2024, 1, 22)), -14, 1, "integer"),
        (f("date_diff", "quarter", datetime.date(2023, 12, 31), c("day")), 1, 2, "integer"),
        (f("date_diff", "hour", c("at"), datetime.datetime(2024, 1, 2, 10)), 1, 24, "integer"),
        (f("date_trunc", "month", c("day")), datetime.date(2024, 1, 1), datetime.date(2024, 5, 1), "date"),
        (f("date_trunc", "week", c("day")), datetime.date(2024, 1, 15), datetime.date(2024, 4, 29), "date"),
        (f("add_months", c("day"), 1), datetime.date(2024, 2, 15), datetime.date(2024, 6, 2), "date"),
        (f("to_date", c("at")), datetime.date(2024, 1, 1), datetime.date(2024, 1, 2), "date"),
        (f("length", c("note")), 0, None, "integer"),
        (f("multiply", c("age"), c("id")), None, None, "integer"),
        (f("divide", c("age"), c("delta")), None, None, "number"),
        (f("to_integer", c("note")), None, None, "integer"),
    ],
    ids=str,
)
def test_bounds_follow_from_declared_bounds(expression: Expression, low: object, high: object, kind: str) -> None:
    facts = typed(expression, COLUMNS)
    found = clamp_ends(expression, facts) if facts.kind == "number" else (facts.low, facts.high)
    assert (*found, facts.kind) == (low, high, kind)


@pytest.mark.parametrize(
    ("expression", "nullable"),
    [
        (f("add", c("age"), 1), False),
        (f("add", c("delta"), 1), True),
        (f("add", c("id"), 1), True),  # it may not fit
        (f("divide", c("age"), c("share")), True),
        (f("divide", c("age"), 7), False),
        (f("divide", c("age"), c("age")), True),
        (f("modulo", c("age"), c("delta")), True),
        (f("multiply", c("any"), 0), True),  # it may be infinite
        (f("modulo", c("any"), 3), True),
        (f("modulo", c("cost"), 3), False),
        (f("sqrt", c("cost")), True),
        (f("sqrt", c("age")), False),
        (f("ln", c("age")), True),
        (f("is_null", c("note")), False),
        (f("least", c("delta"), 5), False),
        (f("least", c("delta"), c("share")), True),
        (f("coalesce", c("note"), "x"), False),
        (f("case", f("equal", c("note"), "x"), 1, 2), False),
        (f("case", f("equal", c("note"), "x"), 1, None), True),
        (f("nullif", c("age"), 3), True),
        (f("to_date", c("note")), True),
        (f("to_text", c("age")), False),
        (f("add_days", c("day"), 10**8), True),
        (f("exp", f("multiply", c("cost"), c("cost"))), True),
    ],
    ids=str,
)
def test_what_can_be_undefined_can_be_null(expression: Expression, nullable: bool) -> None:
    assert typed(expression, COLUMNS).nullable is nullable


@pytest.mark.parametrize(
    ("expression", "values"),
    [
        (c("city"), ("A", "B")),
        (f("coalesce", c("city"), "?"), ("A", "B", "?")),
        (f("case", f("less", c("age"), 18), "child", "adult"), ("child", "adult")),
        (f("less", c("age"), 18), (False, True)),
        (f("date_trunc", "quarter", c("day")), (datetime.date(2024, 1, 1), datetime.date(2024, 4, 1))),
        (f("lower", c("city")), None),
    ],
    ids=str,
)
def test_public_values_are_known_where_they_are_few(expression: Expression, values: tuple[object, ...] | None) -> None:
    assert typed(expression, COLUMNS).values == values


@pytest.mark.parametrize(
    ("expression", "step"),
    [
        (f("multiply", f("floor", f("divide", c("age"), 10)), 10), 10),
        (f("add", f("multiply", c("delta"), 6), f("multiply", c("age"), 4)), 2),
        (f("bin", c("cost"), 25), 25),
        (f("negate", f("multiply", c("age"), 3)), 3),
        (c("age"), 1),
    ],
    ids=str,
)
def test_whole_numbers_know_their_step(expression: Expression, step: int) -> None:
    assert typed(expression, COLUMNS).step == step


@pytest.mark.parametrize(
    "expression",
    [
        f("add", c("note"), 1),
        f("add", c("day"), 1),
        f("equal", c("age"), "x"),
        f("equal", c("age"), c("note")),
        f("less", c("sex"), True),
        f("in", c("age"), "1", "x"),
        f("in", c("age"), c("id")),
        f("and", c("age"), c("sex")),
        f("not", c("age")),
        f("like", c("note"), c("city")),
        f("like", c("note"), "a%", "!!"),
        f("like", c("note"), "a!b", "!"),
        f("case", c("age"), 1, 2),
        f("case", c("sex"), 1, "x"),
        f("case", c("sex"), 1),
        f("date_trunc", "foo", c("day")),
        f("date_trunc", "hour", c("day")),
        f("date_trunc", c("note"), c("day")),
        f("hour", c("day")),
        f("to_text", c("cost")),
        f("to_integer", c("day")),
        f("substring", c("note"), c("age"), 2),
        f("substring", c("note"), 0, 2),
        f("round_to", c("cost"), 99),
        f("bin", c("cost"), 0),
        f("bin", c("cost"), c("age")),
        f("bucket", c("cost"), 5, 5, 3),
        f("bucket", c("cost"), 0, 5, 0),
        f("add_days", c("day"), c("age")),
        f("abs"),
        f("abs", 1, 2),
        f("least", c("note"), "a"),
    ],
    ids=str,
)
def test_kinds_that_do_not_fit_are_refused(expression: Expression) -> None:
    with pytest.raises(WrongKind):
        typed(expression, COLUMNS)


def test_what_is_not_in_the_list_does_not_exist() -> None:
    with pytest.raises(UnknownName, match="'floor'"):
        typed(Call("flor", (c("age"),)), COLUMNS)
    with pytest.raises(UnknownName, match="'age'"):
        typed(c("agee"), COLUMNS)


def test_every_function_says_what_it_means() -> None:
    for name, function in FUNCTIONS.items():
        assert name == function.name
        assert function.takes
        assert function.gives
        assert function.meaning
        assert 1 <= function.least <= function.most


NUMERIC = ("age", "delta", "cost", "share")


@pytest.mark.parametrize("expression", [f("nullif", c("age"), 3), f("add", c("delta"), 1), f("divide", 1, c("age"))])
def test_a_computed_column_can_be_null_where_its_expression_can(expression: Expression) -> None:
    assert facts_of(expression, COLUMNS).nullable
    assert not facts_of(f("coalesce", expression, 0), COLUMNS).nullable


def test_the_values_of_a_computed_column_are_all_that_it_can_have() -> None:
    assert facts_of(f("bin", c("age"), 50), COLUMNS).values == (0, 50, 100)
    assert facts_of(f("multiply", c("delta"), 8), COLUMNS).values == tuple(range(-56, 73, 8))


@pytest.mark.parametrize("where", [None, f("greater", c("age"), 3)])
@pytest.mark.parametrize("most", [1, 7])
def test_the_facts_of_one_persons_aggregates_hold_whichever_rows_they_are_over(
    where: Expression | None, most: int
) -> None:
    source = Schema(unit=Person("id"), columns=COLUMNS)
    for ages in [[0] * most, [120] * most, [7]]:
        kept = [age for age in ages if where is None or age > 3]
        found: dict[str, float | None] = {"count_rows": len(kept), "count": len(kept), "count_distinct": len(set(kept))}
        for name, function in {"sum": sum, "min": min, "max": max}.items():
            found[name] = function(kept) if kept else None
        found["avg"] = sum(kept) / len(kept) if kept else None
        for name, value in found.items():
            argument = None if name == "count_rows" else c("age")
            facts = group_facts(Within("x", name, argument, where, Fraction(1)), source, most)
            assert facts.nullable or value is not None
            assert value is None or facts.low <= value <= facts.high


def numbers(depth: int) -> st.SearchStrategy[Expression]:
    leaves = st.sampled_from(NUMERIC).map(ColumnRef) | st.integers(-20, 20).map(Literal)
    leaves |= st.sampled_from([Fraction(1, 2), Fraction(-7, 4), Fraction(0)]).map(Literal)
    if depth == 0:
        return leaves
    below = numbers(depth - 1)
    unary = st.sampled_from(["negate", "abs", "floor", "ceil", "round", "sign", "sqrt", "ln", "exp", "to_integer"])
    binary = st.sampled_from(["add", "subtract", "multiply", "divide", "modulo", "least", "greatest", "coalesce"])
    return (
        leaves
        | st.builds(lambda name, x: call(name, x), unary, below)
        | st.builds(lambda name, x, y: call(name, x, y), binary, below, below)
        | st.builds(lambda x, w: call("bin", x, Literal(w)), below, st.integers(1, 9))
        | st.builds(lambda x, n: call("power", x, Literal(n)), below, st.integers(0, 4))
        | st.builds(lambda x, d: call("round_to", x, Literal(d)), below, st.integers(-2, 3))
        | st.builds(lambda x, y, z: call("case", call("less", x, y), y, z), below, below, below)
    )


def value(expression: Expression, row: dict[str, Fraction | int | None]) -> Fraction | int | None:
    """Return the exact value, or one that is close where it is irrational."""
    if isinstance(expression, ColumnRef):
        return row[expression.name]
    if isinstance(expression, Literal):
        return expression.value  # type: ignore[return-value]
    name, arguments = expression.function, [value(one, row) for one in expression.arguments]
    some = [one for one in arguments if one is not None]
    if name in {"least", "greatest"}:
        return (min if name == "least" else max)(some) if some else None
    if name == "coalesce":
        return some[0] if some else None
    if name == "case":
        return arguments[1] if arguments[0] else arguments[2]
    if len(some) < len(arguments):
        return None
    x, y = some[0], some[1] if len(some) > 1 else Fraction(0)
    try:
        result = {
            "add": lambda: x + y,
            "subtract": lambda: x - y,
            "multiply": lambda: x * y,
            "divide": lambda: Fraction(x) / y,
            "modulo": lambda: x - y * math.trunc(Fraction(x) / y),
            "less": lambda: x < y,
            "greater": lambda: x > y,
            "negate": lambda: -x,
            "abs": lambda: abs(x),
            "floor": lambda: math.floor(x),
            "ceil": lambda: math.ceil(x),
            "round": lambda: math.floor(x + Fraction(1, 2)),
            "to_integer": lambda: math.floor(x + Fraction(1, 2)),
            "round_to": lambda: math.floor(x * Fraction(10) ** int(y) + Fraction(1, 2)) / Fraction(10) ** int(y),
            "sign": lambda: (x > 0) - (x < 0),
            "sqrt": lambda: Fraction(math.sqrt(x)),
            "ln": lambda: Fraction(math.log(x)),
            "exp": lambda: Fraction(math.exp(x)),
            "power": lambda: Fraction(x) ** int(y),
            "bin": lambda: math.floor(Fraction(x) / y) * y,
        }[name]()
    except (ZeroDivisionError, ValueError, OverflowError):
        return None
    whole = isinstance(result, int) and not isinstance(result, bool)
    if (whole and not -(2**63) <= result < 2**63) or abs(result) > 2**1023:
        return None
    return result


ROWS = st.fixed_dictionaries(
    {
        "age": st.none() | st.integers(0, 120),  # NULL although it is declared never to be
        "delta": st.none() | st.integers(-7, 9),
        "cost": st.none() | st.fractions(-10, 1000, max_denominator=50),
        "share": st.none() | st.fractions(Fraction(1, 4), 1, max_denominator=50),
    }
)


@settings(max_examples=600, deadline=None)
@given(numbers(3), ROWS)
def test_no_row_leaves_the_bounds_the_kind_or_the_step(
    expression: Expression, row: dict[str, Fraction | int | None]
) -> None:
    try:
        facts = typed(expression, COLUMNS)
    except RequestError:
        return
    found = value(expression, row)
    if found is None:
        assert facts.nullable or row["age"] is None or row["cost"] is None
        return
    low, high = facts.ends
    slack = Fraction(1, 10**9) * (1 + abs(Fraction(found)))
    if any(name in str(expression) for name in ("'ln'", "'exp'", "'sqrt'")) and facts.kind == "integer":
        slack += 1  # rounding a value that is itself only close
    assert low is None or found >= low - slack
    assert high is None or found <= high + slack
    if facts.kind == "integer" and slack < 1:
        assert Fraction(found).denominator == 1
        if low is not None and facts.step:
            assert (found - low) % facts.step == 0


@pytest.mark.parametrize(
    "x", [Fraction("0.1"), Fraction("0.3"), Fraction(-1, 3), Fraction(10**30 + 1), Fraction(1, 10**320)]
)
def test_ends_are_rounded_outward_to_doubles(x: Fraction) -> None:
    low, high = outward((x, x))
    assert low is not None
    assert high is not None
    assert low < x < high
    assert high == Fraction(math.nextafter(float(low), math.inf))
