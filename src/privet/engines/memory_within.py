"""The oracle within one unit: groups, ranks, and values held to their facts, one row at a time in plain Python."""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from functools import cmp_to_key
from itertools import pairwise
from typing import Any

from privet.core.errors import InvariantError
from privet.core.relation import Group, Rank, Within
from privet.core.scan import Sum
from privet.core.schema import Column, Kind, Schema
from privet.query.functions import longest, typed

from .evaluation import evaluate_row
from .grid import doubles

Row = Mapping[str, Any]
Owned = tuple[Any, Row]
"""Whose row it is, and its values."""


def read(value: Any, column: Column) -> Any:
    """Return a stored value held to the declared facts: clamped to its bounds, None where it is no value at all."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return None
    low, high = column.low, column.high
    if column.kind == "text":
        return value[: longest(column)]
    if column.kind == "integer" and column.values is not None:
        listed = [one for one in column.values if isinstance(one, int)]
        return value if min(listed) <= value <= max(listed) else None
    if low is None or high is None:
        return value
    if column.kind == "integer":
        return min(max(value, int(low)), int(high))  # type: ignore[arg-type]
    if column.kind == "number":
        return min(max(float(value), float(low)), float(high))  # type: ignore[arg-type]
    return min(max(value, low), high)


def on_grid(total: Sum, x: Any, kind: Kind | None) -> int | None:
    """Return a value in steps of a sum's grid, not yet clamped to it."""
    return _whole(total, x) if kind == "integer" else _double(total, float(x))


def _whole(total: Sum, x: int) -> int:
    return math.floor((Fraction(x) - total.origin) / total.step + Fraction(1, 2))


def _double(total: Sum, x: float) -> int | None:
    scale = doubles(total)
    if math.isnan(x):
        return None
    return scale.place(min(max(x, scale.low), scale.high))


def grouped(relation: Group, rows: list[Owned], facts: Mapping[str, Column], schema: Schema) -> list[Owned]:
    """Return one row for each owner and key."""
    groups: dict[tuple[Any, tuple[Any, ...]], list[Row]] = {}
    for owner, row in rows:
        found_keys = tuple(evaluate_row(one, row, facts) for _, one in relation.keys)
        groups.setdefault((owner, found_keys), []).append(row)
    found: list[Owned] = []
    for (owner, keys), members in groups.items():
        values = [*keys, *(_aggregate(one, members, facts) for one in relation.aggregates)]
        named = zip(schema.columns.items(), values, strict=True)
        found.append((owner, {name: read(value, column) for (name, column), value in named}))
    return found


def ranked(relation: Rank, rows: list[Owned], facts: Mapping[str, Column], schema: Schema) -> list[Owned]:
    """Return the rows with one more column, computed among those of one owner and partition."""
    parts: dict[tuple[Any, ...], list[Row]] = {}
    for owner, row in rows:
        keys = tuple(evaluate_row(one, row, facts) for one in relation.partition)
        parts.setdefault((owner, *keys), []).append(row)
    found: list[Owned] = []
    for (owner, *_), members in parts.items():

        def compare(a: Row, b: Row) -> int:
            return _ahead(relation, a, b, facts) or _further(a, b)

        ordered = sorted(members, key=cmp_to_key(compare))
        for place, row in enumerate(ordered):
            value = read(_rank(relation, ordered, place, facts), schema.columns[relation.name])
            found.append((owner, {**row, relation.name: value}))
    return found


def _rank(relation: Rank, ordered: list[Row], place: int, facts: Mapping[str, Column]) -> Any:
    if relation.function == "row_number":
        return place + 1
    if relation.function in {"rank", "dense_rank"}:
        before = [row for row in ordered[:place] if _ahead(relation, row, ordered[place], facts)]
        if relation.function == "rank":
            return len(before) + 1
        steps = pairwise(before)
        return 1 + bool(before) + sum(bool(_ahead(relation, a, b, facts)) for a, b in steps)
    there = place + (relation.places if relation.function == "lead" else -relation.places)
    if relation.argument is None or not 0 <= there < len(ordered):
        return None
    return evaluate_row(relation.argument, ordered[there], facts)


def _ahead(relation: Rank, a: Row, b: Row, facts: Mapping[str, Column]) -> int:
    """Return below 0 if a comes before b in the order asked for, above 0 if after, 0 if they tie."""
    for term in relation.order:
        x, y = (evaluate_row(term.expression, row, facts) for row in (a, b))
        if x is None or y is None:
            found = 0 if x is y else (1 if (x is None) != term.nulls_first else -1)
        else:
            found = ((x > y) - (x < y)) * (-1 if term.descending else 1)
        if found:
            return found
    return 0


def _further(a: Row, b: Row) -> int:
    for x, y in zip(a.values(), b.values(), strict=True):
        if x is None or y is None:
            found = 0 if x is y else (1 if x is None else -1)
        else:
            found = (x > y) - (x < y)
        if found:
            return found
    return 0


def _aggregate(one: Within, rows: list[Row], facts: Mapping[str, Column]) -> Any:
    kept = [row for row in rows if one.where is None or evaluate_row(one.where, row, facts) is True]
    if one.argument is None:
        return len(kept)
    values = [value for row in kept if (value := evaluate_row(one.argument, row, facts)) is not None]
    if one.function == "count":
        return len(values)
    if one.function == "count_distinct":
        return len(set(values))
    if not values:
        return None
    if one.function in {"min", "max"}:
        return min(values) if one.function == "min" else max(values)
    known = typed(one.argument, facts)
    low, high = known.bounds
    if one.step is None or low is None or high is None:
        raise InvariantError("a sum within a unit has bounds and a step")
    total = Sum(one.argument, math.floor(low / one.step), math.ceil(high / one.step), step=one.step)
    placed = [min(max(on_grid(total, value, known.kind) or 0, total.low), total.high) for value in values]
    if known.kind == "integer" and one.function == "sum":
        return sum(placed) if abs(sum(placed)) < 2**63 else None
    number = float(sum(placed)) / (len(placed) if one.function == "avg" else 1)
    inverse = 1 / one.step
    return number / float(inverse) if inverse.denominator == 1 else number * float(one.step)
