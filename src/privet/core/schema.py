"""The public facts about a private table: its columns' contents, the owner of a row, the limits on contributions.

Links between tables are followed here to the people who own their rows. Everything is declared by the custodian and is
public. Nothing is ever read from the data.
"""

from __future__ import annotations

import contextlib
import datetime
import os
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from types import MappingProxyType, NoneType
from typing import Any, Literal, SupportsIndex

from .division import Blocks, check_blocks
from .errors import BadParameter, InvariantError, RequestError, UnknownName, Unlimited
from .given import check_cases, check_fields, given_name, instance, path, set_fields
from .numbers import Number, positive, rational, whole
from .unit import Link, Neighbors, Nobody, Person, Unit, Window, check_unit, read_day, read_neighbors, unit_columns
from .wire import wired

Kind = Literal["integer", "number", "boolean", "text", "date", "timestamp"]
"""The kind of a value, as far as expressions care."""

Key = int | str | bool | datetime.date | None

_INT64 = 2**63
_LARGEST_DOUBLE = Fraction(sys.float_info.max)
_MOST_VALUES = 10**6
"""How many values a category may list."""
DEFAULT_ROWS = 2**40
"""How many rows a table has at most where nothing is declared."""
MOST_EACH = 2**30
"""No more rows than this are declared for one unit."""
PUBLIC_ROWS = 10**5
"""How many rows a public table has at most where nothing is declared; this is checked when it is opened."""

_ENDS: Mapping[str, type] = {
    "integer": Fraction,
    "number": Fraction,
    "date": datetime.date,
    "timestamp": datetime.datetime,
}
HELD: Mapping[str, type] = {
    "integer": int,
    "number": Fraction,
    "boolean": bool,
    "text": str,
    "date": datetime.date,
    "timestamp": datetime.datetime,
}
"""The Python types in which bounds and values of each kind are declared."""


@wired("Column", "kind", "low", "high", "step", "values", "nullable")
@dataclass(frozen=True, kw_only=True)
class ColumnFacts:
    """A column: its kind, and the public facts that are declared about its values.

    Values outside `low` and `high` are clamped before they count. `values` are the public keys of a category.
    A column that is not `nullable` is treated so: a NULL there counts as the low end of a number, and its row belongs
    to no group.
    """

    kind: Kind
    low: Fraction | datetime.date | datetime.datetime | None = None
    high: Fraction | datetime.date | datetime.datetime | None = None
    step: Fraction | None = None
    values: tuple[Key, ...] | None = None
    nullable: bool = False

    def __post_init__(self) -> None:
        instance(self.nullable, bool, "nullable", "True or False")
        check_fields(self)
        for name in ("low", "high"):
            end = getattr(self, name)
            if end is not None and type(end) is not _ENDS.get(self.kind):
                raise BadParameter(name, end, f"what bounds a column of kind {self.kind}, or left out")
        if self.step is not None and (self.step <= 0 or self.kind not in ("integer", "number")):
            raise BadParameter("step", self.step, "above 0, for numbers alone")
        if self.values is not None and (
            len(set(self.values)) != len(self.values) or {*map(type, self.values)} - {HELD[self.kind]}
        ):
            raise BadParameter("values", self.values, f"different values of kind {self.kind}")
        if (self.low is None) != (self.high is None):
            raise BadParameter("high" if self.high is None else "low", None, "given, because its other end is")
        if self.low is not None and self.high is not None and self.low > self.high:  # type: ignore[operator]
            raise BadParameter("low", str(self.low), f"at most high, which is {self.high}")


def integer(
    low: SupportsIndex | None = None, high: SupportsIndex | None = None, *, nullable: bool = False
) -> ColumnFacts:
    """Return a column of whole numbers, with public bounds if it is to be summed or grouped by.

    Args:
        low: the least value, public. Values below it are clamped.
        high: the largest value, public. Values above it are clamped.
        nullable: whether NULLs occur.

    Raises:
        BadParameter: if low is above high, or either is no whole number of 64 bits.

    Example:
        >>> ages = privet.integer(0, 110)
        >>> ages.low, ages.high
        (Fraction(0, 1), Fraction(110, 1))
    """
    if low is None and high is None:
        return ColumnFacts(kind="integer", nullable=nullable)
    bounds = (whole(low, "low", least=-_INT64, most=_INT64 - 1), whole(high, "high", least=-_INT64, most=_INT64 - 1))
    return ColumnFacts(
        kind="integer", low=Fraction(bounds[0]), high=Fraction(bounds[1]), step=Fraction(1), nullable=nullable
    )


def number(
    low: Number | None = None, high: Number | None = None, *, step: Number | None = None, nullable: bool = False
) -> ColumnFacts:
    """Return a column of reals, with public bounds if it is to be summed; `step` is the grid it is measured on.

    Args:
        low: the least value, public. Values below it are clamped.
        high: the largest value, public. Values above it are clamped.
        step: the grid that values are measured on.
        nullable: whether NULLs occur.

    Raises:
        BadParameter: if low is above high, or a bound is beyond all doubles.

    Example:
        >>> costs = privet.number(0, 99.5)
        >>> costs.low, costs.high
        (Fraction(0, 1), Fraction(199, 2))
    """
    if low is None and high is None:
        if step is not None:
            raise BadParameter("step", step, "left out where there are no bounds; pass low and high with it")
        return ColumnFacts(kind="number", nullable=nullable)
    return ColumnFacts(
        kind="number",
        low=_double(low, "low"),
        high=_double(high, "high"),
        step=None if step is None else positive(_double(step, "step"), "step"),
        nullable=nullable,
    )


def _double(value: Number | None, parameter: str) -> Fraction:
    """Return a number exactly, refusing one beyond all doubles: engines compute numbers in these."""
    double = rational(value, parameter)
    if abs(double) > _LARGEST_DOUBLE:
        raise BadParameter(parameter, value, "within the range of doubles, about 1.8e308")
    return double


def category(values: Sequence[str] | Sequence[int] | Sequence[bool], *, nullable: bool = False) -> ColumnFacts:
    """Return a column with a public list of values, all of them text, whole numbers or booleans.

    Args:
        values: all values that occur, public; others belong to no group.
        nullable: whether NULLs occur.

    Raises:
        BadParameter: if values repeat, or are of several types.

    Example:
        >>> privet.category(["A", "B"]).values
        ('A', 'B')
    """
    allowed = "a list of different values, all text, all whole numbers or all booleans"
    if not isinstance(values, (list, tuple, range)) or not values:
        raise BadParameter("values", values, allowed)
    if len(values) > _MOST_VALUES:
        raise BadParameter("values", values, f"{allowed}, {_MOST_VALUES:,} at most")
    kinds = {type(value) for value in values}
    kind: Kind | None = {str: "text", int: "integer", bool: "boolean"}.get(kinds.pop()) if len(kinds) == 1 else None  # type: ignore[assignment]
    if kind is None or len(set(values)) != len(values):
        raise BadParameter("values", values, allowed)
    return ColumnFacts(kind=kind, values=tuple(values), nullable=nullable)


def boolean(*, nullable: bool = False) -> ColumnFacts:
    """Return a column of truth values; both are public keys.

    Args:
        nullable: whether NULLs occur.

    Example:
        >>> privet.boolean().values
        (False, True)
    """
    return ColumnFacts(kind="boolean", values=(False, True), nullable=nullable)


def date(
    low: datetime.date | str | None = None, high: datetime.date | str | None = None, *, nullable: bool = False
) -> ColumnFacts:
    """Return a column of dates, with public bounds if it is to be grouped by.

    Args:
        low: the least value, public: a date, or text such as "2024-01-31". Values below it are clamped.
        high: the largest value, public. Values above it are clamped.
        nullable: whether NULLs occur.

    Raises:
        BadParameter: if a bound is no date.

    Example:
        >>> privet.date("2024-01-01", "2024-12-31").high
        datetime.date(2024, 12, 31)
    """
    ends = (None if end is None else read_day(end, name) for name, end in (("low", low), ("high", high)))
    return ColumnFacts(kind="date", low=next(ends), high=next(ends), nullable=nullable)


def timestamp(
    low: datetime.datetime | str | None = None, high: datetime.datetime | str | None = None, *, nullable: bool = False
) -> ColumnFacts:
    """Return a column of points in time without a zone (UTC), with public bounds if it is to be grouped by.

    Args:
        low: the least value, public: a datetime, or text such as "2024-01-31 23:59:59". Values below it are clamped.
        high: the largest value, public. Values above it are clamped.
        nullable: whether NULLs occur.

    Raises:
        BadParameter: if a bound is no datetime, or has a time zone.

    Example:
        >>> privet.timestamp("2024-01-01", "2024-12-31 23:59:59").high
        datetime.datetime(2024, 12, 31, 23, 59, 59)
    """
    ends = (None if end is None else _moment(end, name) for name, end in (("low", low), ("high", high)))
    return ColumnFacts(kind="timestamp", low=next(ends), high=next(ends), nullable=nullable)


def _moment(value: object, parameter: str) -> datetime.datetime:
    """Return a point in time without a zone, from itself or from its text."""
    moment = value
    if isinstance(value, str) and _MOMENT.fullmatch(value):
        with contextlib.suppress(ValueError):
            moment = datetime.datetime.fromisoformat(value)
    if not isinstance(moment, datetime.datetime) or moment.tzinfo is not None:
        allowed = 'a datetime.datetime without a time zone, in UTC, or text such as "2024-01-31 23:59:59"'
        raise BadParameter(parameter, value, allowed)
    return moment


_MOMENT = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}([ T][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,6})?)?)?")


def text(*, nullable: bool = False) -> ColumnFacts:
    """Return a column of text: for conditions and for counting, never for sums.

    Args:
        nullable: whether NULLs occur.

    Example:
        >>> privet.text(nullable=True).nullable
        True
    """
    return ColumnFacts(kind="text", nullable=nullable)


@wired("Contribution", "groups", "rows")
@dataclass(frozen=True, kw_only=True)
class Contribution:
    """A limit on one unit's contribution: `rows` rows in each of `groups` groups; nearly everyone stays within it.

    Larger contributions are scaled down, so that totals are too low by the loss; a higher limit needs more noise.

    Args:
        groups: the number of groups (wards, months: whatever questions group by) that one unit has rows in.
        rows: the number of rows of one unit in each of these groups.

    Example:
        >>> privet.Contribution(groups=2, rows=3)
        Contribution(groups=2, rows=3)
    """

    groups: int
    rows: int

    @property
    def chosen(self) -> bool:
        """Whether it means the limit that an answer chooses for itself."""
        return isinstance(self, ChosenContribution)

    def __post_init__(self) -> None:
        set_fields(
            self,
            groups=whole(self.groups, "groups", least=1, most=10**6),
            rows=whole(self.rows, "rows", least=1, most=10**6),
        )
        check_fields(self)


@wired("ChosenContribution", "groups", "rows")
@dataclass(frozen=True, kw_only=True)
class ChosenContribution(Contribution):
    """The limit that each answer chooses privately for itself and pays for: the meaning of `contribution="auto"`."""

    def __repr__(self) -> str:
        return "'auto'"


AUTO = ChosenContribution(groups=1, rows=1)


def read_contribution(value: object, parameter: str = "contribution") -> Contribution:
    """Return a stated contribution, or the one that each answer chooses for itself."""
    if isinstance(value, str) and str.__eq__(value, "auto") is True:
        return AUTO
    contribution: Contribution = instance(value, Contribution, parameter, "a Contribution(groups=, rows=), or 'auto'")
    return contribution


@dataclass(frozen=True, eq=False, repr=False)
class Contents:
    """The rows of a public table, in the order of its columns and without repeats; read once, when they are needed.

    `read` returns None where there are too many to be listed.
    """

    read: Callable[[], Sequence[tuple[Any, ...]] | None]

    @cached_property
    def rows(self) -> Sequence[tuple[Any, ...]] | None:
        """The rows, or None."""
        return self.read()


@wired(
    "Schema",
    "unit",
    "columns",
    "neighbors",
    "contribution",
    "rows",
    "units",
    "version",
    later={"key": None, "link": None, "contents": None, "most_rows": None, "blocks": None},
)
@dataclass(frozen=True, kw_only=True)
class Schema:
    """Everything public about one table: `Table` adds where its rows are.

    `rows` is how many rows there are at most. `units` is the declared number of units, public under change-one: where
    each row is a unit, it is the number of rows, which then needs no noise. `key` is a column in which no value comes
    twice: a join on it finds one row. `link` is the link that was followed to find the unit (`followed`).
    `contents` are the rows of a public table, where a session can read them; no private table has any. `most_rows` is
    the most rows that one unit is declared to have: intervals that cover bounding do so up to it.
    """

    unit: Unit
    columns: Mapping[str, ColumnFacts]
    neighbors: Neighbors = "add-remove"
    contribution: Contribution | ChosenContribution = field(default_factory=lambda: Contribution(groups=1, rows=1))
    rows: int = DEFAULT_ROWS
    units: int | None = None
    version: str = ""
    key: str | None = None
    link: Link | None = None
    contents: Contents | None = field(default=None, compare=False, repr=False)
    most_rows: int | None = None
    blocks: Blocks | None = None
    """How the rows of a stored table are divided; relations over tables have no blocks."""

    def __post_init__(self) -> None:
        read_neighbors(self.neighbors)
        allowed = "Rows(), Person('column'), Window('column', 'day', 7) or Link('column', to='table', column='id')"
        instance(self.unit, Unit, "unit", allowed)
        if not isinstance(self.columns, Mapping) or not self.columns:
            raise BadParameter("columns", self.columns, "a mapping of column names to what they hold")
        for name, column in self.columns.items():
            if not isinstance(name, str) or not isinstance(column, ColumnFacts):
                raise BadParameter(
                    "columns", name, "a mapping of column names to what they hold, such as integer(0, 120)"
                )
        check_cases(self.columns, "columns")
        check_unit(self.unit, {name: column.kind for name, column in self.columns.items()})
        named = isinstance(self.key, str) and self.key in self.columns
        if self.key is not None and (self.unit.rowwise or not named):
            raise BadParameter("key", self.key, "a listed column of a table of people, or of a public one")
        if self.contents is not None and not isinstance(self.contents, Contents):
            raise BadParameter("contents", type(self.contents).__name__, "the Contents of a public table")
        if self.contents is not None and not self.unit.public:
            raise InvariantError("only the rows of a public table are public")
        instance(self.link, (Link, NoneType), "link", "a Link that was followed")
        instance(self.contribution, Contribution, "contribution", "a Contribution(groups=, rows=)")
        if self.contribution.chosen and (self.unit.rowwise or self.unit.public):
            raise BadParameter("contribution", "auto", "left out: each row is a unit and contributes itself")
        instance(self.version, str, "version", "text: a public label")
        if self.blocks is not None:
            check_blocks(
                instance(self.blocks, Blocks, "blocks", "a division, such as Blocks('ward')"), self.unit, self.columns
            )
        set_fields(self, rows=whole(self.rows, "rows", least=1, most=2**50))
        if self.most_rows is not None:
            if self.unit.rowwise or self.unit.public:
                raise BadParameter("most_rows", self.most_rows, "left out: it is for tables of people")
            set_fields(self, most_rows=whole(self.most_rows, "most_rows", least=1, most=MOST_EACH))
        if self.units is not None:
            if self.neighbors != "change-one":
                raise BadParameter(
                    "units", self.units, "left out: the number of units is public under neighbors='change-one' only"
                )
            set_fields(self, units=whole(self.units, "units", least=1, most=self.rows))
        set_fields(self, columns=MappingProxyType(dict(self.columns)))  # immutable from here on
        check_fields(self)

    @property
    def moves(self) -> Neighbors:
        """How one unit of the computation differs between neighbours.

        Rows and people come and go whole under add-remove. A window of time may take a part of a bucket's rows, which
        leaves the bucket changed, whatever the relation; so scores are not monotone either.
        """
        return "change-one" if self.unit.timed else self.neighbors


@dataclass(frozen=True, init=False)
class Table:
    """A private table: where its rows are, and the public facts about it.

    `source` is a Parquet or CSV path (globs too), a DuckDB relation, or an Arrow, pandas or Polars table. It is
    never copied, never shown and no part of a plan. The other arguments are the public facts of `Schema`.

    Args:
        source: where the rows are.
        unit: who is protected: `Rows`, `Person`, `Window` or `Link`; the name of a column means `Person`.
        columns: the columns that questions may use, by name.
        neighbors: "add-remove" if one unit comes or goes between neighbours, "change-one" if one changes and their
            number is public.
        contribution: the limit on one unit's contribution, one that nearly everyone stays within; or "auto", and
            each answer chooses its own privately. Every table of people needs one; where each row is a unit there is
            nothing to limit.
        rows: the largest number of rows.
        units: the number of units, under "change-one" only.
        version: a public label of the data; answers about another version are not reused.
        key: a column in which no value repeats.
        most_rows: the most rows that one unit has: intervals that cover bounding do so up to it.
        blocks: how the rows are divided into blocks, so that questions about different ones share a budget.

    Raises:
        BadParameter: if the facts contradict each other.
        Unlimited: if a table of people has no `contribution`.

    Example:
        >>> limit = privet.Contribution(groups=3, rows=2)
        >>> columns = {"patient": privet.integer()}
        >>> table = privet.Table("visits.csv", unit="patient", columns=columns, contribution=limit)
        >>> str(table.schema.unit)
        'all rows of each patient'
    """

    source: object = field(repr=False, compare=False)
    schema: Schema

    def __init__(
        self,
        source: Any,
        *,
        unit: Unit | str,
        columns: Mapping[str, ColumnFacts],
        neighbors: Neighbors = "add-remove",
        contribution: Contribution | Literal["auto"] | None = None,
        rows: int = DEFAULT_ROWS,
        units: int | None = None,
        version: str = "",
        key: str | None = None,
        most_rows: int | None = None,
        blocks: Blocks | None = None,
    ) -> None:
        who: Any = unit
        if type(unit) is str:
            who = Person(given_name(unit, "unit", "the name of the column that identifies the person"))
        if contribution is None and isinstance(who, (Person, Window, Link)):
            raise Unlimited
        facts = Schema(
            unit=who,
            columns=columns,
            neighbors=neighbors,
            contribution=Contribution(groups=1, rows=1) if contribution is None else read_contribution(contribution),
            rows=rows,
            units=units,
            version=version,
            key=key,
            most_rows=most_rows,
            blocks=blocks,
        )
        set_fields(self, source=_source(source), schema=facts)


def _source(source: object) -> object:
    allowed = "a path, a list of them, a DatabaseTable, a DuckDB relation, or an Arrow, pandas or Polars table"
    if source is None:
        return None  # the public facts alone, with which a question is planned and never answered
    if isinstance(source, (str, os.PathLike)):
        path(source, "source", allowed)
    elif isinstance(source, (list, tuple)):
        if not all(isinstance(part, (str, os.PathLike, Mapping)) for part in source):
            raise BadParameter("source", type(source).__name__, allowed)
    elif type(source).__module__.split(".")[0] not in _PACKAGES:
        raise BadParameter("source", type(source).__name__, allowed)
    return source


_PACKAGES = ("privet", "duckdb", "_duckdb", "pandas", "polars", "pyarrow", "pyspark")


class PublicTable(Table):
    """A public table, to be joined to private ones: lists of regions, prices, codes and their meanings.

    Nothing in it is protected. `key` is a column in which no value comes twice, so that a join on it makes no row into
    several; it is checked when the table is opened, as is that there are no more than `rows` rows.

    Args:
        source: where the rows are.
        columns: the columns that questions may use, by name.
        key: a column in which no value repeats.
        rows: the largest number of rows.
        version: a public label of the data.

    Example:
        >>> wards = privet.PublicTable("wards.csv", columns={"ward": privet.category(["A", "B"])}, key="ward")
        >>> wards.schema.key
        'ward'
    """

    def __init__(
        self,
        source: Any,
        *,
        columns: Mapping[str, ColumnFacts],
        key: str | None = None,
        rows: int = PUBLIC_ROWS,
        version: str = "",
    ) -> None:
        facts = Schema(unit=Nobody(), columns=columns, rows=rows, version=version, key=key)
        set_fields(self, source=_source(source), schema=facts)


def has_blocks(tables: Mapping[str, Schema]) -> bool:
    """Return whether one of these tables is divided into blocks that are charged apart."""
    return any(schema.blocks is not None for schema in tables.values())


# Links between tables, followed to the people who own their rows.


def followed(tables: Mapping[str, Schema]) -> dict[str, Schema]:
    """Return the tables with each linked one owned as its target: same unit, one more column that identifies it.

    Guarantee: where the column that a link leads to holds no value twice, each row of a linked table has at most one
    owner, and a function of one unit's rows, in all tables together, is a function of the rows that the unit owns.
    """
    reached: dict[str, Schema] = {}
    for name in tables:
        _follow(name, tables, reached, ())
    return reached


def shown_columns(table: str, schema: Schema, *, owned: bool = True) -> dict[str, str]:
    """Return the columns of a table that questions may name, each with its name in a schema that was followed.

    Where a linked table has its own column with the name of its owner elsewhere, questions mean its own. A
    column that links to who owns the rows is the owner, if `owned`.
    """
    link = schema.link
    if link is None:
        return {name: name for name in schema.columns}
    renamed = {name: name.removeprefix(f"{table}.") for name in schema.columns}
    own = {shown.casefold() for name, shown in renamed.items() if shown != name}
    visible = {shown: name for name, shown in renamed.items() if shown != name or name.casefold() not in own}
    if owned and _is_person(link, schema):  # a linked table has the unit of its target
        visible[renamed[link.via]] = link.column
    return visible


def fetched_columns(schema: Schema, tables: Mapping[str, Schema]) -> tuple[str, ...]:
    """Return the columns of a link's target that identify a row's owner; none if the link itself already does.

    `schema` and `tables` are followed already.
    """
    link = schema.link
    return () if link is None or _is_person(link, tables[link.to]) else unit_columns(tables[link.to].unit)


def _is_person(link: Link, target: Schema) -> bool:
    """Return whether a link leads to the very column that identifies the person."""
    return isinstance(target.unit, Person) and target.unit.column == link.column


def _follow(name: str, tables: Mapping[str, Schema], reached: dict[str, Schema], path: tuple[str, ...]) -> Schema:
    if name in reached:
        return reached[name]
    if name in path:
        raise RequestError(f"the links of {' -> '.join((*path, name))} lead in a circle; one table must own its unit")
    schema = tables[name]
    if isinstance(schema.unit, Link):
        schema = _owned(name, schema, *_target(name, schema.unit, tables, reached, path))
    reached[name] = schema
    return schema


def _target(
    name: str, link: Link, tables: Mapping[str, Schema], reached: dict[str, Schema], path: tuple[str, ...]
) -> tuple[Link, Schema]:
    if link.to not in tables:
        raise UnknownName(f"table, to which {name!r} links,", link.to, tables)
    target = _follow(link.to, tables, reached, (*path, name))
    shown = shown_columns(link.to, target, owned=False)
    if link.column not in shown:
        raise UnknownName(f"column of {link.to!r}, to which {name!r} links,", link.column, shown)
    if target.unit.rowwise:
        raise RequestError(
            f"table {name!r} links to {link.to!r}, where each row is protected by itself; a link leads to a table of "
            f"people: give {link.to!r} a unit such as Person('patient_id')"
        )
    if target.unit.public:
        raise RequestError(f"table {name!r} links to {link.to!r}, which is public: no person owns a row there")
    return replace(link, column=shown[link.column]), target


def _owned(name: str, schema: Schema, link: Link, target: Schema) -> Schema:
    kinds = schema.columns[link.via].kind, target.columns[link.column].kind
    if kinds[0] != kinds[1]:
        raise RequestError(
            f"table {name!r} links {link.via!r}, of kind {kinds[0]}, to {link.column!r} of {link.to!r}, of kind "
            f"{kinds[1]}; declare both as the same kind"
        )
    if kinds[0] == "number":
        raise RequestError(
            f"table {name!r} links {link.via!r}, of kind number, to {link.column!r} of {link.to!r}; numbers may "
            f"be equal that are stored apart, and a row would have two owners: declare both as integer() or text()"
        )
    if schema.neighbors != target.neighbors:
        raise RequestError(
            f"table {name!r} links to {link.to!r} and is declared with other neighbours; pass "
            f"neighbors={target.neighbors!r} for both"
        )
    # the link identifies the owner, under its own name or as one more column; or the target does, in its own columns
    theirs = {name: schema.columns[link.via] for name in unit_columns(target.unit) if name != link.via}
    if not _is_person(link, target):
        theirs = {name: target.columns[name] for name in unit_columns(target.unit)}
    direct = _is_person(link, target) or target.link is not None
    own = {column: _apart(name, column, theirs, direct=direct) for column in schema.columns}
    columns: dict[str, ColumnFacts] = {own[column]: facts for column, facts in schema.columns.items()}
    if len(columns | theirs) < len(own) + len(theirs):
        raise RequestError(
            f"table {name!r} has columns of its own under the names that its link needs, {', '.join(theirs)} and "
            f"{', '.join(new for old, new in own.items() if new != old)}; rename one of them"
        )
    version = f"{schema.version}; {link.to}: {target.version}" if target.version else schema.version
    key, link = None if schema.key is None else own[schema.key], replace(link, via=own[link.via])
    return replace(schema, unit=target.unit, columns=columns | theirs, version=version, link=link, key=key)


def _apart(name: str, column: str, theirs: Mapping[str, ColumnFacts], *, direct: bool) -> str:
    """Return the name of a table's own column beside those that identify the owners of its rows.

    Of users(id), orders(id, user_id) and items(id, order_id), each table has an id of its own. But a patient_id beside
    a link to visits(visit_id, patient_id) identifies the person again, and might differ.
    """
    if column.casefold() not in {owner.casefold() for owner in theirs}:
        return column
    if not direct:
        raise RequestError(
            f"table {name!r} has a column {column!r} of its own and a link to who owns its rows, which is called so "
            f"too; a row has one owner: leave out the column, or pass unit=Person({column!r}) instead of the link"
        )
    return f"{name}.{column}"
