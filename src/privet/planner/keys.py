"""Which groups a query has: those that public facts imply, or none known in advance.

Nothing here looks at data. A key whose values cannot be listed from declared facts is discovered, at a cost.
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Iterable, Mapping
from fractions import Fraction

from privet.query.functions import typed

from privet.core.errors import RequestError
from privet.core.expression import Call, Column, Expression, Literal
from privet.core.scan import GroupKey
from privet.core.schema import Column as Facts
from privet.core.schema import Key

MOST_KEYS = 100_000
"""More public groups than this are refused: each would be answered, present or not."""

_PARTS: Mapping[str, range] = {
    "quarter": range(1, 5),
    "month": range(1, 13),
    "day": range(1, 32),
    "day_of_week": range(7),
    "hour": range(24),
    "minute": range(60),
}


def group_key(expression: Expression, columns: Mapping[str, Facts]) -> GroupKey:
    """Return a grouping expression with its public values, if public facts imply them."""
    nullable = typed(expression, columns).nullable
    values = domain(expression, columns)
    if values is None:
        return GroupKey(expression, None, nullable)
    distinct = dict.fromkeys(value for value in values if value is not None)
    return GroupKey(expression, (*distinct, None) if nullable else tuple(distinct), nullable)


def domain(expression: Expression, columns: Mapping[str, Facts]) -> list[Key] | None:
    """Return every value that an expression can take, from declared facts alone; None if they do not say."""
    match expression:
        case Literal(value=value):
            return None if isinstance(value, Fraction) else [value]
        case Column(name=name):
            return _column(columns[name])
        case Call(function="bin", arguments=(inner, Literal(value=width))):
            return _bins(typed(inner, columns), width)
        case Call(function="case", arguments=arguments):
            branches = [*arguments[1::2], *(arguments[-1:] if len(arguments) % 2 else [])]
            return _union(domain(branch, columns) for branch in branches)
        case Call(function="coalesce", arguments=arguments):
            return _union(domain(argument, columns) for argument in arguments)
        case Call(function="year", arguments=(inner,)):
            facts = typed(inner, columns)
            if isinstance(facts.low, datetime.date) and isinstance(facts.high, datetime.date):
                return list(range(facts.low.year, facts.high.year + 1))
            return None
        case Call(function=part) if part in _PARTS:
            return list(_PARTS[part])
    if typed(expression, columns).kind == "boolean":
        return [False, True]
    return None


def count_cells(keys: Iterable[GroupKey]) -> int:
    """Return how many groups public keys make, refusing more than can sensibly be answered."""
    cells = math.prod(len(key.values) for key in keys if key.values is not None)
    if cells > MOST_KEYS:
        raise RequestError(
            f"the public keys make {cells:,} groups, each of which would be answered, present or not; the most is "
            f"{MOST_KEYS:,}: group by fewer or coarser keys, or by wider bins"
        )
    return cells


def _column(facts: Facts) -> list[Key] | None:
    if facts.values is not None:
        return list(facts.values)
    low, high = facts.low, facts.high
    if facts.kind == "integer" and isinstance(low, Fraction) and isinstance(high, Fraction):
        return list(range(int(low), int(high) + 1)) if high - low <= MOST_KEYS else None
    if facts.kind == "date" and isinstance(low, datetime.date) and isinstance(high, datetime.date):
        days = (high - low).days
        return [low + datetime.timedelta(days=d) for d in range(days + 1)] if days <= MOST_KEYS else None
    return None


def _bins(facts: object, width: object) -> list[Key] | None:
    low, high = getattr(facts, "low", None), getattr(facts, "high", None)
    if not isinstance(width, (int, Fraction)) or not isinstance(low, Fraction) or not isinstance(high, Fraction):
        return None
    first, last = math.floor(low / width), math.floor(high / width)
    if last - first > MOST_KEYS or width <= 0:
        return None
    edges = [k * width for k in range(first, last + 1)]
    return [int(edge) if edge == int(edge) else edge for edge in edges]  # type: ignore[misc]


def _union(parts: Iterable[list[Key] | None]) -> list[Key] | None:
    merged: list[Key] = []
    for part in parts:
        if part is None:
            return None
        merged.extend(part)
    return merged
