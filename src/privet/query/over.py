"""Functions over several released rows: windows and aggregates. Which there are, what they take and what they return.

Every row here was released, and is public; nothing that is computed from them costs anything.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from privet.core.errors import Unsupported, WrongKind
from privet.core.relation import ColumnRef, Expression, Literal
from privet.core.schema import ColumnFacts as Facts

from .functions import typed
from .nodes import MARK, Order, OverRows, distinct_name, has_window, is_window, label, read_window
from .resolve import as_facts, checked, condition, read_quantile, substitute

PLACES = ("row_number", "rank", "dense_rank", "percent_rank", "cume_dist", "ntile")
"""Window functions of the order alone."""
PICKS = ("lag", "lead", "first_value", "last_value", "nth_value")
"""Window functions that return the value of one row."""
TOTALS = ("count_rows", "count", "count_distinct", "sum", "avg", "min", "max", "quantile", "any_value")
SPREADS = ("var_pop", "var_samp", "stddev_pop", "stddev_samp")
MOST_PLACES = 1_000_000
"""The most rows that a frame, LAG, LEAD, NTILE or NTH_VALUE may count."""

_NUMBERS = frozenset(("integer", "number"))
_WHOLE = frozenset(("row_number", "rank", "dense_rank", "ntile", "count_rows", "count", "count_distinct"))
_KEPT = frozenset((*PICKS, "min", "max", "any_value"))


def with_columns(
    expression: Expression, facts: Mapping[str, Facts], found: dict[Expression, OverRows], taken: set[str]
) -> Expression:
    """Return an expression over released columns in which each window function has become a column of its own."""

    def column(part: Expression) -> Expression | None:
        if not is_window(part):
            return None
        if part not in found:
            one = read_window(distinct_name(label(part), taken), part)
            found[part] = _checked_window(one, facts)
        return ColumnRef(found[part].name)

    return substitute(expression, column)


def read_aggregate(name: str, marked: Expression, facts: Mapping[str, Facts]) -> OverRows:
    """Return what a marked aggregate says about released rows, under a name."""
    function = marked.function.removeprefix(MARK)
    if function not in (*TOTALS, *SPREADS):
        raise Unsupported(
            f"{function.upper()} of released rows is not supported; COUNT, SUM, AVG, MIN, MAX, MEDIAN, QUANTILE, VAR "
            f"and STDDEV are"
        )
    argument, where, *more = marked.arguments
    given = () if function == "count_rows" else (argument, *more)
    one = OverRows(name, function, given, None if where == Literal(True) else where)
    return _checked(one, facts)


def facts_over(one: OverRows, facts: Mapping[str, Facts]) -> Facts:
    """Return the kind of what a function over released rows returns."""
    if one.function in _WHOLE:
        return Facts(kind="integer")
    if one.function in _KEPT:
        return replace(as_facts(typed(one.arguments[0], facts), one.name), nullable=True)
    if one.function == "sum" and typed(one.arguments[0], facts).kind == "integer":
        return Facts(kind="integer", nullable=True)
    return Facts(kind="number", nullable=True)


def _checked_window(one: OverRows, facts: Mapping[str, Facts]) -> OverRows:
    known = (*PLACES, *PICKS, *TOTALS, *SPREADS)
    if one.function not in known:
        raise Unsupported(
            f"{one.function.upper()} is not supported OVER released rows; ROW_NUMBER, RANK, DENSE_RANK, NTILE, LAG, "
            f"LEAD, FIRST_VALUE, LAST_VALUE, COUNT, SUM, AVG, MIN and MAX are"
        )
    if any(has_window(part) for part in (*one.arguments, *one.partition, *(term.expression for term in one.order))):
        raise Unsupported("a window function cannot stand inside another; put the inner one into a sub-query")
    if one.where is not None and one.function in (*PLACES, *PICKS):
        raise Unsupported("FILTER (WHERE ...) follows an aggregate, such as SUM(n) FILTER (WHERE n > 0) OVER ()")
    frame = one.frame
    if frame is not None and frame.start is not None and frame.end is not None and frame.start > frame.end:
        raise Unsupported("a frame starts before it ends: ROWS BETWEEN 2 PRECEDING AND CURRENT ROW")
    return replace(
        _checked(one, facts),
        partition=tuple(checked(part, facts) for part in one.partition),
        order=tuple(Order(checked(term.expression, facts), term.descending, term.nulls_first) for term in one.order),
    )


def _checked(one: OverRows, facts: Mapping[str, Facts]) -> OverRows:
    name = one.function.upper()
    where = None if one.where is None else condition(one.where, facts, "FILTER")
    given = tuple(checked(part, facts) for part in one.arguments)
    if one.function in ("lag", "lead", "nth_value", "ntile"):
        place = 0 if one.function == "ntile" else 1
        places = given[place].constant if len(given) > place else 1
        least = 0 if one.function in ("lag", "lead") else 1
        if type(places) is not int or not least <= places <= MOST_PLACES:
            raise Unsupported(f"{name} takes a constant number of rows from {least} to {MOST_PLACES:,}")
    if one.function == "quantile":
        given = (given[0], Literal(read_quantile(given[1])))
    if one.function in ("sum", "avg", "quantile", *SPREADS):
        kind = typed(given[0], facts).kind
        if kind is not None and kind not in _NUMBERS:
            raise WrongKind(name, "numbers", (kind,), advice="count with COUNT(*) FILTER (WHERE ...)")
    return replace(one, arguments=given, where=where)
