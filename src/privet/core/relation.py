"""What a query stands on: tables, and what is made of them before anything is aggregated over people.

Every node carries the unit along, whether or not the analyst names it. What a node may do is decided, and its columns'
public facts derived, in `privet.query.shape`; a tree that passes there does nothing across units.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from .expression import Expression


@dataclass(frozen=True)
class Derive:
    """Other columns of the rows that meet a condition. The unit's own columns stay, under their names."""

    source: Relation
    columns: tuple[tuple[str, Expression], ...]
    where: Expression | None = None


@dataclass(frozen=True)
class Join:
    """The columns of both sides, for each pair of rows that meets the condition.

    Between private sides, rows of different units never meet, whatever the condition says. `left` keeps the rows of the
    left side that meet none. `names` says what each column of the right side is called in the result: (name, column).
    The condition is over the result's columns. Of each unit, at most `most` rows of the right side take part, the first
    in the order of their columns; with None, all.
    """

    left: Relation
    right: Relation
    kind: Literal["inner", "left"]
    names: tuple[tuple[str, str], ...]
    on: Expression | None = None
    most: int | None = None


@dataclass(frozen=True)
class Within:
    """An aggregate over one unit's rows: count_rows, count, count_distinct, sum, avg, min or max.

    Sums of numbers are taken on a grid of `step`, in integers, so that they do not depend on the order of rows.
    """

    name: str
    function: str
    argument: Expression | None = None
    where: Expression | None = None
    step: Fraction | None = None


@dataclass(frozen=True)
class Group:
    """One row for each unit and each combination of further keys: GROUP BY the unit, or DISTINCT without aggregates."""

    source: Relation
    keys: tuple[tuple[str, Expression], ...]
    aggregates: tuple[Within, ...] = ()
    where: Expression | None = None


@dataclass(frozen=True)
class By:
    """One term of the order of a unit's rows."""

    expression: Expression
    descending: bool = False
    nulls_first: bool = False


@dataclass(frozen=True)
class Rank:
    """One more column: row_number, rank, dense_rank, lag or lead within each unit and `partition`.

    Rows that tie in `order` are further ordered by all columns of the source, so that what ties still is the same.
    """

    source: Relation
    name: str
    function: str
    partition: tuple[Expression, ...]
    order: tuple[By, ...] = ()
    argument: Expression | None = None
    places: int = 1


@dataclass(frozen=True)
class Union:
    """All rows of several relations whose columns correspond, under the names of the first."""

    sources: tuple[Relation, ...]


Relation = str | Derive | Join | Group | Rank | Union
"""A table by its name, or what is made of others."""


def tables_of(relation: Relation) -> tuple[str, ...]:
    """Return the names of the tables that a relation reads, each once, in order."""
    return tuple(sorted(set(_leaves(relation))))


def _leaves(relation: Relation) -> Iterator[str]:
    match relation:
        case str():
            yield relation
        case Join(left=left, right=right):
            yield from _leaves(left)
            yield from _leaves(right)
        case Union(sources=sources):
            for source in sources:
                yield from _leaves(source)
        case _:
            yield from _leaves(relation.source)
