"""The query tree: what is summed privately, and what happens to the released rows afterwards."""

from __future__ import annotations

from dataclasses import dataclass

from privet.core.expression import Expression
from privet.core.relation import Relation
from privet.core.wire import wired


@dataclass(frozen=True)
class Key:
    """A GROUP BY expression under the name by which later steps know it."""

    name: str
    expression: Expression


@wired("Aggregate", "name", "function", "argument", "where", "options", "other")
@dataclass(frozen=True)
class AggregateCall:
    """One aggregate under the name by which later steps know it.

    `function` names an entry of `privet.aggregates.AGGREGATES`. Of two arguments, `other` is the second. `where` is its
    FILTER. `options` holds further constants.
    """

    name: str
    function: str
    argument: Expression | None = None
    where: Expression | None = None
    options: tuple[tuple[str, int | str], ...] = ()
    other: Expression | None = None


@dataclass(frozen=True)
class Order:
    """One ORDER BY term over the columns of the step before; NULLs come last unless said otherwise."""

    expression: Expression
    descending: bool = False
    nulls_first: bool = False


@dataclass(frozen=True)
class Output:
    """A column of a released table: an expression over the columns of the step before."""

    name: str
    expression: Expression


@dataclass(frozen=True)
class Step:
    """One SELECT over released rows: filter (WHERE or HAVING), columns, DISTINCT, ORDER BY, LIMIT, in that order.

    ORDER BY terms may use the columns of the step before as well as the outputs.
    """

    outputs: tuple[Output, ...]
    where: Expression | None = None
    distinct: bool = False
    order: tuple[Order, ...] = ()
    limit: int | None = None
    offset: int = 0


@dataclass(frozen=True)
class Grouping:
    """GROUPING(...) under the name by which later steps know it: which keys, by their places in the query."""

    name: str
    keys: tuple[int, ...]


@dataclass(frozen=True)
class Query:
    """A private aggregation of one table, or of what is made of several, and the steps that follow on what it released.

    The first step sees the keys and aggregates by name; each later step sees the outputs of the one before. With
    `levels`, each of which lists the places of the keys that it groups by, the rows of all levels follow each other.
    `other` names one more group, of all rows whose key is not shown. With `find`, declared groups are found as others
    are, so that only those with enough people are shown; see `privet.planner.keys.to_be_found`.
    """

    table: Relation
    keys: tuple[Key, ...]
    aggregates: tuple[AggregateCall, ...]
    where: Expression | None
    steps: tuple[Step, ...]
    levels: tuple[tuple[int, ...], ...] = ()
    groupings: tuple[Grouping, ...] = ()
    other: str | None = None
    find: bool = False
