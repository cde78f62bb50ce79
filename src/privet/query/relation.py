"""What a SELECT can stand on: rows of a private table, or rows that were released; and what it asks of them.

Both front ends, SQL and Python, fill a `Selection`; `build` turns it into the one tree.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from privet.core.errors import Unsupported
from privet.core.expression import Call, Column, Expression, Literal
from privet.core.schema import Column as Facts
from privet.core.schema import Schema
from privet.core.unit import Nobody, Person

from .nodes import Order, Query

MARK = "aggregate:"
"""Marks an aggregate inside an expression until `build` gives it a name; no engine knows such a function."""

OVER_NUMBERS = ("sum", "avg", "var_pop", "var_samp", "stddev_pop", "stddev_samp")


@dataclass(frozen=True)
class Private:
    """Rows of a private table: columns as expressions over its own, and the condition under which a row is there."""

    table: str
    schema: Schema
    columns: Mapping[str, Expression]
    where: Expression | None = None

    @classmethod
    def of(cls, table: str, schema: Schema) -> Private:
        """Return all rows and columns of a table."""
        if isinstance(schema.unit, Nobody):
            raise Unsupported(f"table {table!r} is public: read it where it is, without noise")
        return cls(table, schema, {name: Column(name) for name in schema.columns})

    @property
    def owner(self) -> str | None:
        """Return the column that says whose row it is."""
        return self.schema.unit.column if isinstance(self.schema.unit, Person) else None


@dataclass(frozen=True)
class Released:
    """Rows that a query released: public, free to reshape. `facts` are the kinds of their columns."""

    query: Query
    facts: Mapping[str, Facts]


Relation = Private | Released


@dataclass(frozen=True, kw_only=True)
class Selection:
    """One SELECT: expressions over the columns of what it stands on, with aggregates marked. None names itself."""

    outputs: tuple[tuple[str | None, Expression], ...]
    where: Expression | None = None
    keys: tuple[Expression, ...] = ()
    having: Expression | None = None
    order: tuple[Order, ...] = ()
    distinct: bool = False
    limit: int | None = None
    offset: int = field(default=0)


def aggregate(function: str, argument: Expression | None = None, where: Expression | None = None) -> Call:
    """Return a marked aggregate of an argument over the rows that meet a condition."""
    return Call(MARK + function, (argument or Literal(None), where or Literal(True)))


def histogram(argument: Expression, bins: Expression, where: Expression | None = None) -> Call:
    """Return a marked histogram."""
    return Call(MARK + "histogram", (argument, where or Literal(True), bins))


def is_aggregate(expression: Expression) -> bool:
    """Return whether an expression is itself a marked aggregate."""
    return isinstance(expression, Call) and expression.function.startswith(MARK)


def has_aggregate(expression: Expression | None) -> bool:
    """Return whether a marked aggregate stands anywhere in an expression."""
    if not isinstance(expression, Call):
        return False
    return is_aggregate(expression) or any(map(has_aggregate, expression.arguments))


def label(expression: Expression) -> str:
    """Return the name that an expression has where nobody gives it one."""
    if isinstance(expression, Column):
        return expression.name
    if isinstance(expression, Literal):
        return "constant"
    function = {MARK + "count_rows": "count"}.get(expression.function, expression.function.removeprefix(MARK))
    inner = next((part for part in expression.arguments if not isinstance(part, Literal)), None)
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
