"""Which groups a query has: those that public facts imply, or none known in advance.

Nothing here looks at data. A key whose values cannot be listed from declared facts is discovered, at a cost.
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Iterable, Mapping
from dataclasses import replace
from fractions import Fraction

from privet.core.errors import RequestError
from privet.core.expression import Call, Expression, Literal
from privet.core.scan import GroupKey
from privet.core.schema import Column as Facts
from privet.core.schema import Key
from privet.query.dates import truncate
from privet.query.functions import typed
from privet.query.nodes import Query
from privet.query.normal import call, conjunction
from privet.query.typed import Typed, of_column

MOST_KEYS = 100_000
"""More public groups than this are refused: each would be answered, present or not."""

_STRIDES: Mapping[str, datetime.timedelta] = {
    "second": datetime.timedelta(seconds=1),
    "minute": datetime.timedelta(minutes=1),
    "hour": datetime.timedelta(hours=1),
    "day": datetime.timedelta(days=1),
    "week": datetime.timedelta(days=7),
    "month": datetime.timedelta(days=28),
    "quarter": datetime.timedelta(days=89),
    "year": datetime.timedelta(days=365),
}
"""No longer than the part itself, so that stepping by it misses none."""


def group_key(expression: Expression, columns: Mapping[str, Facts]) -> GroupKey:
    """Return a grouping expression with its public values, if public facts imply them."""
    facts = typed(expression, columns)
    values = _starts(expression, facts) if _truncates(expression) else _listed(facts)
    if values is None:
        return GroupKey(expression, None, facts.nullable)
    return GroupKey(expression, (*values, None) if facts.nullable else tuple(values), facts.nullable)


def count_cells(keys: Iterable[GroupKey], cells: tuple[tuple[Key, ...], ...] | None = None) -> int:
    """Return how many groups public keys make, refusing more than can sensibly be answered."""
    listed = tuple(keys)
    whole = 0 if cells is None else len(cells[0])
    count = math.prod(len(key.values) for key in listed[whole:] if key.values is not None)
    count *= 1 if cells is None else len(cells)
    if count > MOST_KEYS:
        raise refuse_cells(count)
    return count


def refuse_cells(count: int) -> RequestError:
    """Return the refusal of a question with too many groups."""
    return RequestError(
        f"the public keys make {count:,} groups, each of which would be answered, present or not; the most is "
        f"{MOST_KEYS:,}: group by fewer or coarser keys, or by wider bins, or leave groups out with WHERE; or say "
        f"find_groups=True (in SQL OPTIONS(find_groups = TRUE), at a shell --find-groups), and only groups that enough "
        f"people are in are shown, which costs delta"
    )


def to_be_found(query: Query, columns: Mapping[str, Facts]) -> Query:
    """Return a question whose groups are found in the data, as if nothing were declared about them.

    Guarantee: every key is handled as one that is not public: a rule shows those that enough units hold, and its
    delta is charged. Rows whose key is none of the declared values are still in no group.
    """
    if not query.keys:
        raise RequestError("this question has no groups to be found; leave find_groups out")
    if query.other is not None:
        raise RequestError("say other= or find_groups=, not both: other= is for a key that is not declared")
    held = (has_group(key.expression, columns) for key in query.keys)
    return replace(query, find=True, where=conjunction(query.where, *held))


def has_group(expression: Expression, columns: Mapping[str, Facts]) -> Expression | None:
    """Return the condition that a key is one of its public values; None where it is not public, or always is."""
    key, facts = group_key(expression, columns), typed(expression, columns)
    if key.values is None:
        return None
    missing = Call("is_null", (expression,))
    if facts.values is None or facts.kind == "boolean":  # whatever is clamped to bounds has a group
        return None if key.nullable else call("not", missing)
    listed = call("in", expression, *(Literal(value) for value in key.values if value is not None))
    return call("or", listed, missing) if key.nullable else listed


def listed_values(facts: Facts) -> list[Key] | None:
    """Return every value other than NULL that declared facts allow a column; None if they do not list them."""
    return _listed(of_column(facts))


def _listed(facts: Typed) -> list[Key] | None:
    """Return every value other than NULL that declared facts allow; None if they do not list them."""
    if facts.values is not None:
        return [value for value in facts.values if value is not None]
    low, high = facts.low, facts.high
    if facts.kind == "integer" and isinstance(low, Fraction) and isinstance(high, Fraction):
        step = max(facts.step, 1)
        return list(range(int(low), int(high) + 1, step)) if (high - low) / step <= MOST_KEYS else None
    if facts.kind == "date" and isinstance(low, datetime.date) and isinstance(high, datetime.date):
        days = (high - low).days
        return [low + datetime.timedelta(days=day) for day in range(days + 1)] if days <= MOST_KEYS else None
    return None


def _truncates(expression: Expression) -> bool:
    return isinstance(expression, Call) and expression.function == "date_trunc"


def _starts(expression: Expression, facts: Typed) -> list[Key] | None:
    """Return the starts of the weeks, months, ... between the bounds of a truncated date or timestamp."""
    part = expression.arguments[0] if isinstance(expression, Call) else None
    low, high = facts.low, facts.high
    if not isinstance(part, Literal) or not isinstance(low, datetime.date) or not isinstance(high, datetime.date):
        return None
    stride = _STRIDES[str(part.value)]
    if (high - low) / stride > MOST_KEYS:
        return None
    starts: dict[Key, None] = {}
    moment = low
    while moment <= high:
        starts[truncate(moment, str(part.value))] = None
        if high - moment < stride:  # there may be no later moment in the calendar
            break
        moment += stride
    starts[truncate(high, str(part.value))] = None
    return list(starts)
