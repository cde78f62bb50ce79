"""The inputs of a query: expressions over columns, and relations, which are tables or made of them within units.

Expressions are three kinds of node and a closed list of total functions. Every node answers the same questions: which
`function` it applies to which `arguments`, which `constant` it is, which `column`; a node of another kind answers with
nothing.

Every node of a relation carries the unit along, whether or not the analyst names it. What a node may do is decided, and
its columns' public facts derived, in `privet.query.shape`; a tree that passes there does nothing across units.
"""

from __future__ import annotations

import datetime
import typing
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from .errors import BadParameter
from .given import check_fields, set_fields
from .wire import wired

Value = int | Fraction | str | bool | datetime.date | datetime.datetime | None


@wired("Column", "name")
@dataclass(frozen=True)
class ColumnRef:
    """A column of the table, or of the released rows, by name."""

    name: str

    def __post_init__(self) -> None:
        if isinstance(self.name, str):  # names of columns come from anywhere: an enum's, or NumPy's
            set_fields(self, name=str.__str__(self.name))
        check_fields(self)

    function: ClassVar[str] = ""
    arguments: ClassVar[tuple[Expression, ...]] = ()
    constant: ClassVar[Value] = None
    is_constant: ClassVar[bool] = False

    @property
    def column(self) -> str | None:
        """The name of the column."""
        return self.name


@wired("Literal", "value")
@dataclass(frozen=True, eq=False)
class Literal:
    """A constant. Decimals are exact Fractions. Equal only to a constant of the same type: 1, 1.0 and true differ."""

    value: Value

    def __post_init__(self) -> None:
        check_fields(self)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Literal) and type(self.value) is type(other.value) and self.value == other.value

    def __hash__(self) -> int:
        return hash((type(self.value).__name__, self.value))

    function: ClassVar[str] = ""
    arguments: ClassVar[tuple[Expression, ...]] = ()
    column: ClassVar[str | None] = None
    is_constant: ClassVar[bool] = True

    @property
    def constant(self) -> Value:
        """The value of the constant."""
        return self.value


@wired("Call", "function", "arguments")
@dataclass(frozen=True)
class Call:
    """A function of the closed list, applied."""

    function: str
    arguments: tuple[Expression, ...]

    constant: ClassVar[Value] = None
    is_constant: ClassVar[bool] = False
    column: ClassVar[str | None] = None

    def __post_init__(self) -> None:
        check_fields(self)


Expression = ColumnRef | Literal | Call


def parts_of(expression: Expression) -> Iterator[Expression]:
    """Yield an expression and everything inside it, from the outside."""
    yield expression
    for argument in expression.arguments:
        yield from parts_of(argument)


@wired("Derive", "source", "columns", "where")
@dataclass(frozen=True)
class Derive:
    """Other columns of the rows that meet a condition. The unit's own columns stay, under their names."""

    source: Relation
    columns: tuple[tuple[str, Expression], ...]
    where: Expression | None = None

    def __post_init__(self) -> None:
        check_fields(self)
        _check_names(name for name, _ in self.columns)


@wired("Join", "left", "right", "kind", "names", "on", "most", later={"one": False})
@dataclass(frozen=True)
class Join:
    """The columns of both sides, for each pair of rows that meets the condition.

    Between private sides, rows of different units never meet, whatever the condition is. `left` keeps the rows of the
    left side that meet none. `names` has the name of each column of the right side in the result: (name, column).
    The condition is over the result's columns.

    `most` is how many pairs the rows of one unit make at most; with None, all. What counts as a pair is decided by the
    equalities of the condition alone, between a left and a right side: two rows of a unit, or a unit's row and a public
    one, for which all are true. Where no two rows of the right side (of one unit, or public) are alike in them, no row
    meets several, and nothing is cut. Otherwise the unit's left rows are taken in the order of a keyed hash, each with
    all that it meets, until there are `most` pairs; of the last one's, those with the least hash. A left row that is
    left without its pairs is gone, from a left join too; one that has none is kept there.

    `one` means that a row meets at most one, because the right side is grouped only by the equal columns. It is
    proven wherever the facts of a relation are computed; such a join makes as many rows as its left side has.
    """

    left: Relation
    right: Relation
    kind: typing.Literal["inner", "left"]
    names: tuple[tuple[str, str], ...]
    on: Expression | None = None
    most: int | None = None
    one: bool = False

    def __post_init__(self) -> None:
        check_fields(self)
        _check_names(name for name, _ in self.names)
        if self.most is not None and self.most < 1:
            raise BadParameter("most", self.most, "at least 1, or None for all pairs")
        if self.one and (self.kind, self.most) != ("left", None):
            raise BadParameter("one", self.one, "False, but for a left join, which then states no number of pairs")


@wired("Within", "name", "function", "argument", "where", "step")
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

    def __post_init__(self) -> None:
        check_fields(self)
        if self.step is not None and self.step <= 0:
            raise BadParameter("step", self.step, "above 0")


@wired("Group", "source", "keys", "aggregates", "where")
@dataclass(frozen=True)
class GroupWithin:
    """One row for each unit and each combination of further keys: GROUP BY the unit, or DISTINCT without aggregates.

    Public rows have no unit; without keys there is one row of them, even of none.
    """

    source: Relation
    keys: tuple[tuple[str, Expression], ...]
    aggregates: tuple[Within, ...] = ()
    where: Expression | None = None

    def __post_init__(self) -> None:
        check_fields(self)
        _check_names([*(name for name, _ in self.keys), *(aggregate.name for aggregate in self.aggregates)])


@wired("By", "expression", "descending", "nulls_first")
@dataclass(frozen=True)
class By:
    """One term of the order of a unit's rows."""

    expression: Expression
    descending: bool = False
    nulls_first: bool = False

    def __post_init__(self) -> None:
        check_fields(self)


@wired("RowSpan", "rows", "start", "end")
@dataclass(frozen=True)
class RowSpan:
    """The rows around its own that an aggregate over a unit's rows uses: from `start` to `end` after it, None for all.

    Where it does not count `rows`, 0 means its own row and those that tie with it in the order.
    """

    rows: bool
    start: int | None
    end: int | None

    def __post_init__(self) -> None:
        check_fields(self)
        for name, value in (("start", self.start), ("end", self.end)):
            if value is not None and (not -(2**31) < value < 2**31 or (value and not self.rows)):
                raise BadParameter(name, value, "a number of rows, or None for all on that side")


@wired(
    "Rank",
    "source",
    "name",
    "function",
    "partition",
    "order",
    "argument",
    "places",
    later={"where": None, "step": None, "span": None},
)
@dataclass(frozen=True)
class Rank:
    """One more column: row_number, rank, dense_rank, lag or lead within each unit and `partition`, or an aggregate.

    Rows that tie in `order` are further ordered by all columns of the source, so that what ties still is the same. An
    aggregate is over the rows of `span` that meet `where`, as a `Within` is; without a span, over those up to its own
    row and its ties, or over all where there is no order.
    """

    source: Relation
    name: str
    function: str
    partition: tuple[Expression, ...]
    order: tuple[By, ...] = ()
    argument: Expression | None = None
    places: int = 1
    where: Expression | None = None
    step: Fraction | None = None
    span: RowSpan | None = None

    def __post_init__(self) -> None:
        check_fields(self)
        if not 0 <= self.places < 2**63:
            raise BadParameter("places", self.places, "at least 0 and below 2**63")
        if self.step is not None and self.step <= 0:
            raise BadParameter("step", self.step, "above 0")

    @property
    def within(self) -> Within:
        """The aggregate, of the rows that it uses."""
        return Within(self.name, self.function, self.argument, self.where, self.step)


@wired("Union", "sources")
@dataclass(frozen=True)
class Union:
    """All rows of several relations whose columns correspond, under the names of the first."""

    sources: tuple[Relation, ...]

    def __post_init__(self) -> None:
        check_fields(self)
        if not self.sources:
            raise BadParameter("sources", self.sources, "at least one relation")


Relation = str | Derive | Join | GroupWithin | Rank | Union
"""A table by its name, or a relation over others."""


def _check_names(names: Iterable[str]) -> None:
    listed = list(names)
    if len(set(listed)) != len(listed):
        raise BadParameter("names", tuple(listed), "names of columns, none of them twice")


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
