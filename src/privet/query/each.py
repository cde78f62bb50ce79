"""Bounds of what each person gives to a group: the person's sum, count or mean there is computed first, and clamped.

    SUM(x, contribution_bounds_per_group => (0, 100)) ... GROUP BY g

is the sum, over people, of each one's own sum of x in g, clamped to [0, 100]. So a question that states such bounds is
read as one over rows that have been grouped by the person and by g: private rows again, one for each person and group.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

from privet.core.errors import Unsupported
from privet.core.relation import ColumnRef, Expression, Literal, parts_of
from privet.core.unit import Person

from .functions import typed
from .inside import grouped
from .nodes import (
    MARK,
    Order,
    PrivateRows,
    Select,
    Stated,
    aggregate,
    bounded,
    distinct_name,
    is_aggregate,
    label,
    stated_bounds,
)
from .normal import call
from .resolve import check_key, checked, substitute

WIDER = 2**10
"""How many times beyond its stated bounds a row may lie where its column has no declared ones."""

_LARGEST = 2**40
"""No whole number without declared bounds counts as more within a person, where as many rows still fit 64 bits."""

_COUNTS = ("count_rows", "count")


def by_person(source: PrivateRows, asked: Select) -> tuple[PrivateRows, Select, bool]:
    """Return rows and a SELECT over them that ask for the same, and whether each person has one row in each group.

    Guarantee: that of `grouped`: each row is of one person, and made of that person's rows alone. What is clamped, and
    where, is left to the scan, whose noise is for it.
    """
    unit = source.schema.unit
    asked = _mapped(asked, lambda one: _of_one(one, rowwise=unit.rowwise))
    if not asked.bounds_each:
        return source, asked, False
    if not isinstance(unit, Person):
        raise Unsupported(
            "contribution_bounds_per_group is for what a person gives to a group, and here a window of time is "
            "protected; use contribution_bounds_per_row"
        )
    if asked.levels:
        raise Unsupported(
            "contribution_bounds_per_group is for one grouping: what a person gives to a total is bounded otherwise "
            "than what it gives to the parts; ask for each grouping by itself"
        )
    taken = {name.casefold() for name in source.schema.columns}
    keys = {check_key(one, source): distinct_name(label(one), taken) for one in asked.keys}
    inner: dict[Expression, str] = {}
    for one in asked.aggregates:
        plain = stated_bounds(one)[0]
        if plain.function != f"{MARK}count_units" and _within(one, source) not in inner:
            inner[_within(one, source)] = distinct_name(label(plain), taken)
    outputs = [(unit.column, ColumnRef(unit.column)), *((name, one) for one, name in keys.items())]
    outputs += [(name, one) for one, name in inner.items()]
    rows = Select(outputs=tuple(outputs), where=asked.where, keys=(ColumnRef(unit.column), *keys))
    made = grouped(source, rows)
    named = tuple((name or label(one), one) for name, one in asked.outputs)

    def outside(one: Expression) -> Expression | None:
        if is_aggregate(one):
            return _outer(one, made, inner.get(_within(one, source), ""), source)
        known = None if one.constant is not None else _key_in(one, keys, source)
        return None if known is None else made.columns[known]

    over = _mapped(replace(asked, outputs=named, where=None, keys=()), outside)
    return made, replace(over, keys=tuple(made.columns[name] for name in keys.values())), True


def _key_in(one: Expression, keys: dict[Expression, str], source: PrivateRows) -> str | None:
    if any(":" in part.function for part in parts_of(one)):
        return None
    return keys.get(checked(one, source.schema.columns))


def _of_one(one: Expression, *, rowwise: bool) -> Expression | None:
    """Return an aggregate for which bounds per person are those of a row, or are no bounds at all."""
    if not is_aggregate(one):
        return None
    plain, stated = stated_bounds(one)
    function = plain.function.removeprefix(MARK)
    if stated is None:
        return one
    once = function == "count_units" or (rowwise and function in _COUNTS)
    if once and stated.per == "group":
        if not stated.low <= 1 <= stated.high:
            raise Unsupported("each person counts once in a group here, so that its bounds must hold 1: (0, 1)")
        return plain
    if stated.per == "group" and function not in ("sum", "avg", *_COUNTS):
        raise Unsupported(
            f"{function.upper()} takes contribution_bounds_per_row: what is clamped is each value, and not what a "
            f"person gives to a group"
        )
    if stated.per == "row" and function in (*_COUNTS, "count_units", "count_distinct", "mode", "top_k", "bounds"):
        raise Unsupported("what is counted has no values to clamp; use contribution_bounds_per_group, or none")
    if stated.per == "row" or not rowwise:
        return one
    return bounded(plain, "row", Literal(stated.low), Literal(stated.high))


def _within(one: Expression, source: PrivateRows) -> Expression:
    """Return what is computed of each person's rows in a group."""
    plain, stated = stated_bounds(one)
    function, (argument, where) = plain.function.removeprefix(MARK), plain.arguments[:2]
    if function == "count_units":
        return plain
    if function not in ("sum", "avg", *_COUNTS) or (stated is None and function == "avg"):
        raise Unsupported(
            f"{function.upper()} is of rows, and contribution_bounds_per_group of what each person gives to a group: "
            f"ask for them in two questions, at once with session.ask_all([...])"
        )
    if stated is not None and stated.per == "row":
        raise Unsupported(
            "contribution_bounds_per_row and contribution_bounds_per_group are bounds of different things: ask for "
            "them in two questions, at once with session.ask_all([...])"
        )
    if function in ("sum", "avg"):
        argument = _held(checked(argument, source.schema.columns), stated, source)
    return aggregate(function, None if function == "count_rows" else argument, where)


def _held(argument: Expression, stated: Stated | None, source: PrivateRows) -> Expression:
    """Return a value that can be summed within a person: one without declared bounds is clamped far beyond the stated.

    Sums within a person are exact, on a grid; they need some bounds. A row that lies so far outside decides the
    clamped sum by itself, unless others of the person cancel it.
    """
    facts = typed(argument, source.schema.columns)
    if stated is None or facts.bounded or facts.kind not in ("integer", "number"):
        return argument
    most = max(abs(stated.low), abs(stated.high), Fraction(1)) * WIDER
    if facts.kind == "number":
        return call("clamp", argument, Literal(-most), Literal(most))
    whole = min(int(most), _LARGEST)
    return call("clamp", argument, Literal(-whole), Literal(whole))


def _outer(one: Expression, made: PrivateRows, name: str, source: PrivateRows) -> Expression:
    """Return the aggregate over people of what each of them gives."""
    plain, stated = stated_bounds(one)
    function = plain.function.removeprefix(MARK)
    if function == "count_units":
        if plain.arguments[1] != Literal(True):
            raise Unsupported(
                "COUNT(DISTINCT ...) of people with a FILTER does not stand beside contribution_bounds_per_group; ask "
                "for it in a question of its own"
            )
        return plain
    over = "count_each" if function in _COUNTS else function
    value = aggregate(over, made.columns[name])
    return value if stated is None else bounded(value, "row", Literal(stated.low), Literal(stated.high))


def _stated(one: Expression) -> Stated | None:
    stated = stated_bounds(one)[1]
    return stated if stated is not None and stated.per == "group" else None


def _mapped(asked: Select, change: Callable[[Expression], Expression | None]) -> Select:
    """Return a SELECT with aggregates, and what else is changed, replaced wherever they stand."""

    def mapped(one: Expression) -> Expression:
        return substitute(one, change)

    return replace(
        asked,
        outputs=tuple((name, mapped(one)) for name, one in asked.outputs),
        having=None if asked.having is None else mapped(asked.having),
        order=tuple(Order(mapped(term.expression), term.descending, term.nulls_first) for term in asked.order),
    )
