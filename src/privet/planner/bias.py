"""Which columns of an answer contribution bounding can move, and to which side. Reads public facts of a plan only.

This is the one place that decides it: displays, exports, notes and certificates ask here.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from fractions import Fraction
from typing import NamedTuple

from privet.core.relation import Call, ColumnRef, Derive, Expression, GroupWithin, Literal, Relation
from privet.core.scan import Largest, Norm, Once, Pairs, Scan, Sum, Truncate
from privet.core.unit import unit_columns
from privet.query.conditions import typed_where
from privet.query.functions import typed
from privet.query.join import joins_of
from privet.query.typed import clamp_ends

from .plan import Known, Pass, Plan, Reading


class Bias(NamedTuple):
    """To which sides bounding can move a number: it may be too low, or too high."""

    low: bool = False
    high: bool = False


_NONE, _EITHER = Bias(), Bias(low=True, high=True)


def bounding_bias(plan: Plan) -> dict[str, Bias]:
    """Return for each aggregate of a plan to which sides bounding can move it; both are False where it cannot.

    Guarantee: a number is unmarked only where public facts imply that bounding removes nothing of it, or where it is a
    weighted mean, spread or quantile, of which `mean_notes` tells. Facts that are declared and not proven (keys) count
    as true here: nothing but a mark depends on them.
    """
    if plan.covers == "bounding":  # intervals that cover what is removed are paid for, and need no mark
        return {}
    return {reading.name: _of_reading(plan, reading) for reading in plan.readings}


def column_bias(meaning: Expression, plan: Plan) -> Bias:
    """Return to which sides bounding can move a column that is an expression over aggregates and keys."""
    positive = {reading.name for reading in plan.readings if reading.aggregate.ends[0] >= 0}
    return moved(meaning, bounding_bias(plan), positive)


def moved(expression: Expression, known: Mapping[str, Bias], positive: Container[str]) -> Bias:
    """Return to which sides an expression is moved, where that is known of its columns; some are never negative."""
    return _moved(expression, known, positive)


def loses(one: Pass) -> bool:
    """Return whether bounding can remove something of what a unit contributes to a pass.

    A unit has r rows at most, in at most as many cells as there are; its norm is largest with all in one cell.
    """
    scan = one.scan
    if scan.schema.unit.rowwise:
        return False
    if any(join.most is not None for join in joins_of(scan.table)):
        return True
    rows, cells = _most_rows(scan), _cells(scan)
    match scan.bounding:
        case Once():
            return False
        case Norm(limit=limit) if scan.distinct:
            return min(rows, cells) > limit
        case Norm(order=order, limit=limit):
            return rows**order > limit
        case Truncate(groups=groups, rows=kept):
            return min(rows, cells) > groups or (rows > kept and not scan.distinct)
        case Pairs(of=of, most=most):
            values = typed(of, scan.schema.columns).values
            return min(rows, math.inf if values is None else cells * len(values)) > most
        case Largest(limit=limit):
            return rows > limit


def _most_rows(scan: Scan) -> float:
    """Return how many rows one unit has at most, by declared keys and by what was grouped within it."""
    schema = scan.schema
    if schema.key in unit_columns(schema.unit) or _one_each(scan.table):
        return 1
    return schema.rows if schema.most_rows is None else min(schema.rows, schema.most_rows)


def _one_each(relation: Relation) -> bool:
    """Return whether a relation has one row for each unit at most: it is grouped by the unit alone."""
    match relation:
        case Derive(source=source):
            return _one_each(source)
        case GroupWithin(keys=keys):
            return len(keys) == 1  # every grouping within units has their columns among its keys
    return False


def _cells(scan: Scan) -> float:
    """Return in how many cells rows can fall; infinity where keys are found in the data."""
    if scan.cells is not None and len(scan.keys) == len(scan.cells[0] if scan.cells else ()):
        return len(scan.cells)
    return math.prod(math.inf if key.values is None else len(key.values) for key in scan.keys)


def _of_reading(plan: Plan, reading: Reading) -> Bias:
    aggregate = reading.aggregate
    places = [place for place in reading.places if not isinstance(place, Known)]
    if aggregate.chosen or not places:
        return _NONE
    passes = [plan.passes[place[0]] for place in places]
    below, above = cut_within(plan, places)
    if aggregate.linear is not None or (aggregate.additive and aggregate.typical is None):
        (low, high), lost = aggregate.ends, any(map(loses, passes))
        return Bias(above or (lost and high > 0), below or (lost and low < 0))
    if aggregate.typical is None and any(map(loses, passes)):
        return _EITHER  # an aggregate of which nothing is known
    return _EITHER if below or (above and aggregate.arity > 1) else Bias(low=above)


def cut_within(plan: Plan, places: Iterable[tuple[int, int]]) -> tuple[bool, bool]:
    """Return whether values that are computed within people are clamped to their limits, from below and from above."""
    below = above = False
    for index, number in places:
        one = plan.passes[index]
        total = one.scan.places if one.scan.places is not None else _sum_at(one, number)
        if total is None or total.expression is None:
            continue
        known = typed_where(total.expression, one.scan.schema.columns, (one.scan.where, total.where))
        low, high = clamp_ends(total.expression, known)
        least, most = (end * total.step + total.origin for end in (total.low, total.high))
        below |= low is None or low < least - total.step
        above |= high is None or high > most + total.step
    return below, above


def _sum_at(one: Pass, number: int) -> Sum | None:
    return one.measures[number].sum if number < len(one.measures) else None


def _moved(expression: Expression, known: Mapping[str, Bias], positive: Container[str]) -> Bias:
    match expression:
        case ColumnRef(name=name):
            return known.get(name, _NONE)
        case Call(function=function, arguments=arguments):
            sides = [_moved(one, known, positive) for one in arguments]
            if not any(map(any, sides)):
                return _NONE
            signs = [_sign(one, positive) for one in arguments]
            return _COMBINED.get(function, _unknown)(sides, signs)
    return _NONE


_Combined = Callable[[Sequence[Bias], Sequence[int]], Bias]


def _unknown(sides: Sequence[Bias], signs: Sequence[int]) -> Bias:
    return _EITHER


def _rising(sides: Sequence[Bias], signs: Sequence[int]) -> Bias:
    return Bias(any(one.low for one in sides), any(one.high for one in sides))


def _product(sides: Sequence[Bias], signs: Sequence[int]) -> Bias:
    """Return the bias of a product, which rises with each factor where the other is positive, and falls if negative."""
    moved = [_turned(one, other) for one, other in zip(sides, reversed(signs), strict=True) if any(one)]
    return _rising(moved, signs)


def _quotient(sides: Sequence[Bias], signs: Sequence[int]) -> Bias:
    above, below = sides
    if any(below) and 0 in signs:
        return _EITHER
    parts = [_turned(above, signs[1])] if any(above) else []
    return _rising([*parts, *([_turned(below, -signs[0] * signs[1] ** 2)] if any(below) else [])], signs)


def _turned(bias: Bias, sign: int) -> Bias:
    return {1: bias, -1: Bias(bias.high, bias.low)}.get(sign, _EITHER)


_COMBINED: Mapping[str, _Combined] = {
    **dict.fromkeys(("add", "to_integer", "to_number", "round", "round_to", "floor", "ceil", "sqrt"), _rising),
    **dict.fromkeys(("coalesce", "nullif", "least", "greatest"), _rising),
    **dict.fromkeys(("as_date", "as_timestamp", "epoch_us", "add_days", "add_months", "add_seconds"), _rising),
    "date_diff": lambda sides, signs: _rising([_turned(sides[1], -1), sides[2]], signs),
    "subtract": lambda sides, signs: _rising([sides[0], _turned(sides[1], -1)], signs),
    "negate": lambda sides, signs: _turned(sides[0], -1),
    "multiply": _product,
    "divide": _quotient,
}
"""How functions of aggregates move with their arguments; of others nothing is known."""


def _sign(expression: Expression, positive: Container[str]) -> int:
    """Return 1 for what is never negative and -1 for what is never positive, as far as public facts tell; else 0."""
    match expression:
        case ColumnRef(name=name):
            return int(name in positive)
        case Literal(value=bool() | None):
            return 0
        case Literal(value=int() | Fraction() as value):
            return 1 if value >= 0 else -1
        case Call(function="negate", arguments=(one,)):
            return -_sign(one, positive)
        case Call(function="multiply" | "divide", arguments=(left, right)):
            return _sign(left, positive) * _sign(right, positive)
    return 0
