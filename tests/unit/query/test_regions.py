"""A condition is true of exactly the values that its region has: every condition, tried on every value."""

from __future__ import annotations

import datetime
import random
from fractions import Fraction
from typing import Any

import pytest

from privet.core.relation import Call, ColumnRef, Expression, Literal
from privet.core.schema import ColumnFacts, boolean, date, integer, number, text
from privet.query.conditions import EVERY, ValueSet, disjoint, elementary, regions_of
from privet.query.expressions import evaluate_row
from privet.query.normal import call

DAYS = [datetime.date(2024, 1, day) for day in range(1, 9)]
KINDS: dict[str, tuple[ColumnFacts, list[Any], list[Any]]] = {
    "integer": (integer(nullable=True), [*range(-3, 8), None], [-2, 0, 1, 5, Fraction(5, 2)]),
    "number": (
        number(nullable=True),
        [-1.5, 0.0, 0.1, 0.3, 2.0, 2.5, 7.0, None],
        [0, 2, Fraction(1, 10), Fraction(5, 2)],
    ),
    "text": (text(nullable=True), [*"abcz", "", "é", None], [*"ac", "é"]),
    "boolean": (boolean(nullable=True), [True, False, None], [True, False]),
    "date": (date(nullable=True), [*DAYS, datetime.date.max, None], [DAYS[1], DAYS[4], datetime.date.max]),
}
COMPARED = ["equal", "not_equal", "less", "less_equal", "greater", "greater_equal"]
X = ColumnRef("x")


def some_condition(draw: random.Random, kind: str, depth: int) -> Expression:
    way = draw.random()
    if depth and way < 0.5:
        several = [some_condition(draw, kind, depth - 1) for _ in range(draw.choice([2, 3]))]
        return call("not", several[0]) if way < 0.1 else call(draw.choice(["and", "or"]), *several)
    constants = [Literal(one) for one in KINDS[kind][2]]
    if way < 0.6:
        return Call("is_null", (X,))
    if way < 0.75:
        return call("in", X, *draw.sample(constants, 2))
    if kind == "boolean":
        return X
    return call(draw.choice(COMPARED), X, draw.choice(constants))


def place_of(value: Any, kind: str) -> tuple[int, Any, int]:
    return (0, Fraction(value) if kind in ("integer", "number") else value, 0)


def has(region: ValueSet, value: Any, kind: str) -> bool:
    if value is None:
        return region.null
    return any(low <= place_of(value, kind) < high for low, high in region.spans)


@pytest.mark.parametrize("kind", KINDS)
def test_a_condition_is_true_of_the_values_of_its_region(kind: str) -> None:
    facts, values, _ = KINDS[kind]
    draw = random.Random(kind)
    known = 0
    for _ in range(300):
        where = some_condition(draw, kind, 2)
        regions, rest = regions_of(where, {"x": facts})
        known += not rest
        for value in values:
            region = all(has(one, value, kind) for one in regions.values())
            others = all(evaluate_row(one, {"x": value}, {"x": facts}) is True for one in rest)
            assert (region and others) == (evaluate_row(where, {"x": value}, {"x": facts}) is True), (where, value)
    assert known > 250


@pytest.mark.parametrize("kind", KINDS)
def test_regions_are_disjoint_where_no_value_meets_both(kind: str) -> None:
    facts, values, _ = KINDS[kind]
    draw = random.Random(f"two {kind}")
    apart = 0
    for _ in range(300):
        one, other = (regions_of(some_condition(draw, kind, 1), {"x": facts})[0].get(X, EVERY) for _ in range(2))
        both = [value for value in values if has(one, value, kind) and has(other, value, kind)]
        assert not (both and disjoint(one, other))
        apart += disjoint(one, other)
        for low, high in elementary([one, other]):  # each piece is inside or outside
            inside = [value for value in values if value is not None and low <= place_of(value, kind) < high]
            assert len({has(one, value, kind) for value in inside}) <= 1
            assert all(one.has(low, high) == has(one, value, kind) for value in inside)
    assert apart > 20


def test_whole_numbers_and_days_have_no_gaps_between_them() -> None:
    below, above = (
        regions_of(call(name, X, Literal(five)), {"x": integer()})[0][X]
        for name, five in (("less_equal", 5), ("less", 6))
    )
    assert below == above
    assert regions_of(call("equal", X, Literal(Fraction(5, 2))), {"x": integer()})[0][X].empty


def test_what_is_not_about_one_expression_is_left_as_it_is() -> None:
    columns = {"x": integer(), "y": integer()}
    odd = Call("equal", (X, ColumnRef("y")))
    regions, rest = regions_of(call("and", odd, call("less", X, Literal(3))), columns)
    assert list(regions) == [X]
    assert rest == (odd,)
    assert regions_of(call("equal", X, Literal("3")), columns) == ({}, (call("equal", X, Literal("3")),))
    assert regions_of(None, columns) == ({}, ())
