"""What a SELECT is over: rows of a private table, or released rows; and what it asks of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from privet.core.errors import BadParameter
from privet.core.expression import Call, ColumnRef, Expression, Literal, parts_of
from privet.core.relation import Relation
from privet.core.schema import ColumnFacts as Facts
from privet.core.schema import Schema
from privet.core.unit import Person

from .nodes import Order, Query

# What a SELECT can stand on: rows of a private table, or rows that were released; and what it asks of them.
#
# Both front ends, SQL and Python, fill a `Selection`; `build` turns it into the one tree.


MARK = "aggregate:"
"""Marks an aggregate inside an expression until `build` gives it a name; no engine knows such a function."""

WINDOW = "window:"
"""Marks a window function until `inside` makes it a column."""

EXTREMES = {"min": 0, "max": 1}
"""Aggregates that are exact within one person's rows, and quantiles across people: the shares that lie below."""


@dataclass(frozen=True)
class PrivateRows:
    """Rows of a table, or of what is made of several: private, or public and about to be joined to private ones.

    `columns` are expressions over the relation's own, and `where` is the condition under which a row is there.
    `typical` are the facts of its own columns where people give no more than is typical: what sums are clamped to.
    """

    table: Relation
    schema: Schema
    columns: Mapping[str, Expression]
    where: Expression | None
    tables: Mapping[str, Schema] = field(repr=False)
    typical: Mapping[str, Facts] = field(repr=False)

    @classmethod
    def of(cls, table: str, schema: Schema, tables: Mapping[str, Schema] | None = None) -> PrivateRows:
        """Return all rows and columns of a table."""
        columns = {name: ColumnRef(name) for name in schema.columns}
        return cls(table, schema, columns, None, tables or {table: schema}, schema.columns)

    @property
    def owner(self) -> str | None:
        """Return the column that says whose row it is, where a person is one unit: by it people are counted."""
        return self.schema.unit.column if isinstance(self.schema.unit, Person) else None


@dataclass(frozen=True)
class ReleasedRows:
    """Rows that a query released: public, free to reshape. `facts` are the kinds of their columns."""

    query: Query
    facts: Mapping[str, Facts]


Standing = PrivateRows | ReleasedRows
"""What a SELECT can stand on."""


@dataclass(frozen=True, kw_only=True)
class Select:
    """One SELECT: expressions over the columns of what it stands on, with aggregates marked. None names itself."""

    outputs: tuple[tuple[str | None, Expression], ...]
    where: Expression | None = None
    keys: tuple[Expression, ...] = ()
    levels: tuple[tuple[Expression, ...], ...] = ()
    having: Expression | None = None
    order: tuple[Order, ...] = ()
    distinct: bool = False
    limit: int | None = None
    offset: int = field(default=0)


def aggregate(function: str, argument: Expression | None = None, where: Expression | None = None) -> Call:
    """Return a marked aggregate of an argument over the rows that meet a condition."""
    return Call(MARK + function, (argument or Literal(None), where or Literal(True)))


def window(
    function: str, arguments: tuple[Expression, ...], partition: tuple[Expression, ...], order: tuple[Order, ...]
) -> Call:
    """Return a marked window function: its arguments, its partition, and its order."""
    terms = []
    for term in order:
        flags = f"{'descending' if term.descending else 'ascending'}{' nulls first' if term.nulls_first else ''}"
        terms.append(Call(flags, (term.expression,)))
    return Call(
        WINDOW + function, (Call("given", arguments), Call("partition", partition), Call("order", tuple(terms)))
    )


def is_window(expression: Expression) -> bool:
    """Return whether an expression is itself a marked window function."""
    return expression.function.startswith(WINDOW)


def has_window(expression: Expression | None) -> bool:
    """Return whether a marked window function stands anywhere in an expression."""
    return expression is not None and any(map(is_window, parts_of(expression)))


def aggregate_of_two(function: str, argument: Expression, other: Expression, where: Expression | None = None) -> Call:
    """Return a marked aggregate of two arguments."""
    return Call(MARK + function, (argument, where or Literal(True), other))


def histogram(argument: Expression, bins: Expression, where: Expression | None = None) -> Call:
    """Return a marked histogram."""
    return Call(MARK + "histogram", (argument, where or Literal(True), bins))


def quantile(argument: Expression, share: Expression, where: Expression | None = None) -> Call:
    """Return a marked quantile: the value below which a share of the values lies."""
    return Call(MARK + "quantile", (argument, where or Literal(True), share))


def mode(argument: Expression, where: Expression | None = None, *, k: int = 1, rank: int = 1) -> Call:
    """Return a marked aggregate: the value at a rank among the k most frequent; of one, the mode."""
    return Call(MARK + "mode", (argument, where or Literal(True), Literal(k), Literal(rank)))


def is_aggregate(expression: Expression) -> bool:
    """Return whether an expression is itself a marked aggregate."""
    return expression.function.startswith(MARK)


def has_aggregate(expression: Expression | None) -> bool:
    """Return whether a marked aggregate stands anywhere in an expression."""
    return expression is not None and any(map(is_aggregate, parts_of(expression)))


def label(expression: Expression) -> str:
    """Return the name that an expression has where nobody gives it one."""
    if not expression.function:
        return expression.column or "constant"
    if expression.function == MARK + "quantile":
        share = expression.arguments[2]
        named = {"0": "min", "1/2": "median", "1": "max"}
        name = named.get(str(share.constant), "quantile")
        return f"{name}_{label(expression.arguments[0])}"[:60]
    function = {MARK + "count_rows": "count"}.get(expression.function, expression.function.removeprefix(MARK))
    inner = next((part for part in expression.arguments if part.function or part.column is not None), None)
    if inner is None or expression.function in {MARK + "count_rows", MARK + "count_units"}:
        return function
    return f"{function}_{label(inner)}"[:60]


def distinct_name(wanted: str, taken: set[str]) -> str:
    """Return a name that differs from all taken ones, whatever their case, and take it."""
    name, count = wanted, 1
    while name.casefold() in taken:
        count += 1
        name = f"{wanted}_{count}"
    taken.add(name.casefold())
    return name


# Checks what questions are read over: declared tables by name, and views of them.


def check_tables(tables: object) -> None:
    """Refuse what is not a mapping of names to the schemas of tables; None stands for none beside the one named."""
    allowed = "a mapping of names to Schemas"
    if tables is None:
        return
    if not isinstance(tables, Mapping):
        raise BadParameter("tables", type(tables).__name__, allowed)
    for name, schema in tables.items():
        if not isinstance(name, str) or not isinstance(schema, Schema):
            raise BadParameter("tables", type(schema).__name__, allowed)
