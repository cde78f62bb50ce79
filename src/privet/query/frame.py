"""Queries built in Python: `table("visits", schema).where(...).group_by(...).agg(n=count())`, the same tree as SQL.

Every step returns a new value. Before `agg` the rows are private; after it they are released, and free to reshape.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, cast

from privet.core.errors import BadParameter, RequestError, UnknownName, Unsupported
from privet.core.estimate import COVERS, Covers
from privet.core.given import choice, instance, plain_text
from privet.core.numbers import Number, open_probability, positive, whole
from privet.core.ports import Left
from privet.core.relation import ColumnRef, Expression
from privet.core.schema import Schema
from privet.core.unit import unit_columns

from .block_reads import block_count, block_values, in_blocks
from .build import aggregated, narrowed, refined
from .inside import deduplicated, grouped
from .join import join, pair, united
from .lookups import Others, exists
from .nodes import (
    Level,
    Order,
    PrivateRows,
    Query,
    ReleasedRows,
    Select,
    check_tables,
    crossed,
    cubed,
    distinct_name,
    rolled_up,
    spread_out,
)
from .normal import call, conjunction
from .resolve import substitute
from .sql.parse import NO_WISH, Wish, parse
from .terms import (
    Descending,
    Term,
    Width,
    bounds,
    col,
    condition_given,
    constant,
    corr,
    count,
    count_distinct,
    count_units,
    covar,
    covar_pop,
    grouping,
    histogram,
    largest,
    mean,
    median,
    mode,
    quantile,
    read,
    smallest,
    std,
    std_pop,
    sum,
    top_k,
    var,
    var_pop,
    when,
)
from .to_sql import question_sql, rows_sql

__all__ = [
    "Frame",
    "Result",
    "Term",
    "bounds",
    "col",
    "corr",
    "count",
    "count_distinct",
    "count_units",
    "covar",
    "covar_pop",
    "grouping",
    "histogram",
    "largest",
    "mean",
    "median",
    "mode",
    "quantile",
    "smallest",
    "std",
    "std_pop",
    "sum",
    "table",
    "top_k",
    "var",
    "var_pop",
    "when",
]


_MOST_COLUMNS = 1000
"""How many columns a question groups by, at most."""

Named = tuple[tuple[str | None, Expression], ...]


@dataclass(frozen=True, repr=False)
class Frame:
    """Rows of a private table: conditions and groups that `agg` will use."""

    _source: PrivateRows
    _where: Expression | None = None
    _keys: Named = ()
    _levels: tuple[Level, ...] = ()
    _left: Callable[[Frame], Left] | None = field(default=None, compare=False)
    """The session's function that returns the remaining budget for questions about the rows."""

    def partition(self, column: str) -> dict[str, Frame]:
        """Return the rows of each block of a divided table, by its name: different blocks share one budget.

        Args:
            column: the column by which the table is divided, as its `blocks` declare.

        Raises:
            RequestError: if the table is not divided by it.

        Example:
            >>> blocks = privet.Blocks("ward")
            >>> columns = {"ward": privet.category(["A", "B"])}
            >>> poll = privet.Table(None, unit=privet.Rows(), columns=columns, blocks=blocks)
            >>> with privet.Session({"poll": poll}, budget=privet.Pure(epsilon=1)) as place:
            ...     parts = place.table("poll").partition("ward")
            ...     [(name, part.remaining().largest_epsilon) for name, part in parts.items()]
            [('A', 1.0), ('B', 1.0)]
        """
        plain_text(column, "column", "the name of a column")
        schema = self._source.schema
        blocks = schema.blocks
        if blocks is None or blocks.column != column:
            by = "the table has no blocks" if blocks is None else f"the table is divided by {blocks.column}"
            allowed = f"the column by which rows are divided, and {by}; declare another with blocks=privet.Blocks(...)"
            raise BadParameter("column", column, allowed)
        values = block_values(schema)
        return {
            blocks.name(number, values): replace(
                self, _where=conjunction(self._where, in_blocks(((number, number + 1),), schema))
            )
            for number in range(block_count(schema))
        }

    def remaining(self) -> Left:
        """Return the remaining budget for these rows: that of their blocks, where the table is divided.

        Example:
            >>> session.table("visits").remaining().largest_epsilon == session.remaining().largest_epsilon
            True
        """
        if self._left is None:
            raise RequestError("what is left is known of a session's own tables: ask session.remaining()")
        return self._left(self)

    def where(self, *conditions: str | Term) -> Frame:
        """Return the rows that meet all conditions too."""
        return replace(self, _where=conjunction(self._where, *(self._over(term, "conditions") for term in conditions)))

    def group_by(self, *by: str | Term, **named: str | Term) -> Frame:
        """Return the rows in groups, by columns or by expressions; a keyword names the column of the result."""
        added = self._named(by, named, "by")
        return self._with_levels(added, (tuple(expression for _, expression in added),))

    groupby = group_by

    def rollup(self, *by: str | Term, **named: str | Term) -> Frame:
        """Return the rows in groups by all of these, by all but the last, ..., and all together: totals of totals."""
        added = self._named(by, named, "by")
        return self._with_levels(added, rolled_up([(expression,) for _, expression in added]))

    def cube(self, *by: str | Term, **named: str | Term) -> Frame:
        """Return the rows in groups by every choice of these, down to none."""
        added = self._named(by, named, "by")
        return self._with_levels(added, cubed([(expression,) for _, expression in added]))

    def grouping_sets(self, *sets: Sequence[str | Term]) -> Frame:
        """Return the rows in several groupings: a list of columns for each, empty for all rows together."""
        if not sets or any(isinstance(keys, str) or not isinstance(keys, Sequence) for keys in sets):
            raise BadParameter("sets", sets, "lists of columns, such as ['ward', 'age'], ['ward'], []")
        if any(len(keys) > _MOST_COLUMNS or isinstance(keys, bytes) for keys in sets):
            raise BadParameter("sets", "too many", f"lists of at most {_MOST_COLUMNS} columns")
        read_sets = [self._named(tuple(keys), {}, "sets") for keys in sets]
        added = tuple({expression: (name, expression) for keys in read_sets for name, expression in keys}.values())
        return self._with_levels(added, tuple(tuple(expression for _, expression in keys) for keys in read_sets))

    def _with_levels(self, added: Named, levels: tuple[Level, ...]) -> Frame:
        return replace(self, _keys=(*self._keys, *added), _levels=crossed([self._levels or ((),), levels]))

    def select(self, *columns: str | Term, **named: str | Term) -> Frame:
        """Return the rows with these columns only, as a sub-query without aggregates does."""
        if self._keys:
            raise RequestError("select stands before group_by or after agg")
        asked = Select(outputs=self._named(columns, named, "columns"), where=self._where)
        return Frame(narrowed(self._source, asked))

    def join(
        self,
        other: Frame,
        on: str | Sequence[str] | Mapping[str, str],
        *,
        how: Literal["inner", "left", "semi", "anti"] = "inner",
        where: Term | None = None,
    ) -> Frame:
        """Return pairs of rows that are equal in columns: by name, or by {"mine": "theirs"}.

        With `how="semi"` the rows that meet another are returned, once each and without its columns, and with "anti"
        those that meet none: EXISTS and NOT EXISTS.

        Private tables are joined by who owns their rows, or by a column and the one that it links to. Columns of
        `other` that have a name taken here get `_right` after it. `where` is a further condition for a pair, over the
        columns of the result.
        """
        if not isinstance(other, Frame) or self._keys or other._keys:
            raise BadParameter("other", type(other).__name__, "a table of the same session, before group_by")
        left, right = self._whole(), other._whole()
        if choice(how, "how", ("inner", "left", "semi", "anti")) in ("semi", "anti"):
            return Frame(_matched(left, right, on, how == "semi", where))
        way = cast(Literal["inner", "left"], how)
        sides = pair(left, right, way)
        mine, theirs = sides.sides
        equal = [
            call("equal", _column_of(mine, own), _column_of(theirs, another))
            for own, another in _named_pairs(on).items()
        ]
        made, mine, theirs = join(
            sides, conjunction(*equal, *(() if where is None else _over_both(_condition(where, "where"), mine, theirs)))
        )
        return Frame(replace(made, columns=_side_by_side(mine, theirs)))

    def distinct(self) -> Frame:
        """Return each person's rows without repeats; the column that identifies the person must be among them."""
        return Frame(deduplicated(self._whole()))

    def union_all(self, *others: Frame) -> Frame:
        """Return all rows of several tables whose columns correspond by their places."""
        for other in others:
            if not isinstance(other, Frame) or other._keys:
                raise BadParameter("others", type(other).__name__, "tables of the same session, before group_by")
        return Frame(united([self._whole(), *(other._whole() for other in others)]))

    def per_unit(self, *by: str | Term, **named: str | Term) -> Frame:
        """Return one row for each person, and each combination of `by`, with aggregates over that person's rows."""
        if self._keys:
            raise RequestError("per_unit stands before group_by")
        owned: Named = tuple((name, ColumnRef(name)) for name in unit_columns(self._source.schema.unit))
        keys = (*owned, *self._named(by, {}, "by"))
        listed = (*keys, *self._named((), named, "named"))
        asked = Select(outputs=listed, where=self._where, keys=tuple(expression for _, expression in keys))
        return Frame(grouped(self._source, asked))

    def _whole(self) -> PrivateRows:
        return replace(self._source, where=conjunction(self._source.where, self._where))

    def agg(self, *unnamed: str | Term, **named: str | Term) -> Result:
        """Return the release: the groups' columns, and aggregates under their names; without any, the groups."""
        if not unnamed and not named and not self._keys:
            raise BadParameter("agg", "nothing", "given at least one aggregate, such as n=count()")
        outputs = spread_out((*self._keys, *self._named(unnamed, named, "unnamed")))
        keys = tuple(expression for _, expression in self._keys)
        levels = self._levels if len(self._levels) > 1 else ()
        return Result(self._source, Select(outputs=outputs, where=self._where, keys=keys, levels=levels))

    def __repr__(self) -> str:
        keys = [expression for _, expression in self._keys]
        return rows_sql(self._source, self._where, keys, self._levels)

    def _named(self, unnamed: tuple[str | Term, ...], named: Mapping[str, str | Term], parameter: str) -> Named:
        first = tuple((_own_name(value), self._over(value, parameter)) for value in unnamed)
        return (*first, *((name, self._over(value, f"named {name}")) for name, value in named.items()))

    def _over(self, value: str | Term, parameter: str) -> Expression:
        expression = constant(value) if isinstance(value, Term) else read(value, parameter)
        return substitute(expression, self._column)

    def _column(self, part: Expression) -> Expression | None:
        if part.column is None:
            return None
        if part.column not in self._source.columns:
            raise UnknownName("column", part.column, self._source.columns)
        return self._source.columns[part.column]


@dataclass(frozen=True, repr=False)
class Result:
    """A released table: filter, order, cut and reshape it at no cost."""

    _source: PrivateRows | ReleasedRows
    _asked: Select
    _wish: Wish = NO_WISH

    def having(self, *conditions: str | Term) -> Result:
        """Return the groups that meet all conditions; released columns go by their names."""
        if not isinstance(self._source, PrivateRows):
            raise Unsupported("having follows agg; use where on what a select made")
        return self._with(
            having=conjunction(self._asked.having, *(self._over(term, "conditions") for term in conditions))
        )

    def where(self, *conditions: Term) -> Result:
        """Return the released rows that meet all conditions."""
        made = self._released()
        outputs = tuple((name, ColumnRef(name)) for name in made.facts)
        asked = Select(outputs=outputs, where=conjunction(*(_condition(term) for term in conditions)))
        return Result(made, asked, self._wish)

    def select(self, *columns: str | Term, **named: str | Term) -> Result:
        """Return other columns, computed from the released ones."""
        first = tuple((_own_name(column), read(column, "columns")) for column in columns)
        outputs = (*first, *((name, read(column, f"named {name}")) for name, column in named.items()))
        return Result(self._released(), Select(outputs=outputs), self._wish)

    def order_by(self, *terms: str | Term | Descending) -> Result:
        """Return the rows in order; NULLs last."""
        order = []
        for given in terms:
            match given:
                case Descending(term=term):
                    order.append(Order(self._over(term, "terms"), descending=True))
                case _:
                    order.append(Order(self._over(given, "terms")))
        return self._with(order=tuple(order))

    def limit(self, rows: int, *, offset: int = 0) -> Result:
        """Return this many rows, after skipping some."""
        most = 2**31
        return self._with(limit=whole(rows, "rows", most=most), offset=whole(offset, "offset", most=most))

    def distinct(self) -> Result:
        """Return the rows without repeats."""
        return self._with(distinct=True)

    def within(self, width: Width, *, confidence: Number | None = None) -> Result:
        """Return the same with a width for its intervals, instead of a cost: a number, a part such as
        "2%", or either by column.
        """
        level = None if confidence is None else open_probability(confidence, "confidence")
        return replace(self, _wish=replace(self._wish, within=_width(width), confidence=level))

    def find_groups(self) -> Result:
        """Return the same with groups that are found in the data, although they are declared: only those that enough
        people are in are shown, which costs delta. For where declared keys make more groups than can be answered.
        """
        return replace(self, _wish=replace(self._wish, find=True))

    def contribution(self, limit: Literal["auto"]) -> Result:
        """Return the same with a contribution limit that the answer chooses privately for itself, and pays for."""
        choice(limit, "limit", ("auto",))
        return replace(self, _wish=replace(self._wish, auto=True))

    def covers(self, what: Covers) -> Result:
        """Return the same with the errors that its intervals cover: "noise"; "bounding" or "population" as well."""
        return replace(self, _wish=replace(self._wish, covers=cast(Covers, choice(what, "what", COVERS))))

    @property
    def wish(self) -> Wish:
        """Its own statements about its answer."""
        return self._wish

    def query(self) -> Query:
        """Return the tree, identical to that of the equivalent SQL."""
        return self._released().query

    def __repr__(self) -> str:
        return question_sql(self._source, self._asked)

    def _with(self, **changes: object) -> Result:
        return replace(self, _asked=replace(self._asked, **changes))  # type: ignore[arg-type]

    def _released(self) -> ReleasedRows:
        match self._source:
            case PrivateRows() as source:
                return aggregated(source, self._asked)
            case ReleasedRows() as released:
                return refined(released, self._asked)

    def _over(self, value: str | Term, parameter: str) -> Expression:
        names = {name: expression for name, expression in self._asked.outputs if name is not None}
        return substitute(read(value, parameter), lambda part: names.get(part.column or ""))


def table(name: str, schema: Schema, tables: Mapping[str, Schema] | None = None) -> Frame:
    """Return all rows of a table, to be aggregated, or joined to others of the same `tables`."""
    plain_text(name, "name", "the name of a table", least=1)
    instance(schema, Schema, "schema", "the Schema of the table")
    check_tables(tables)
    return Frame(PrivateRows.of(name, schema, tables))


def _condition(term: Term, parameter: str = "conditions") -> Expression:
    return condition_given(term, parameter).expression


def _width(width: Width) -> Any:
    """Return how wide something may be: a number, a part such as "2%", or either by column."""
    match width:
        case Mapping():
            if not width:
                raise BadParameter("width", width, "a number, or numbers by column, such as {'n': 5, 'cost': '2%'}")
            return {plain_text(name, "width", least=1): _width(inner) for name, inner in width.items()}
        case str():
            if not _PART.fullmatch(width):
                raise BadParameter("width", width, "a number, or a part in quotes, such as '2%'")
            return str(width)
    positive(width, "width")
    return width


_PART = re.compile(r"\s*[0-9]*\.?[0-9]+([eE][+-]?[0-9]+)?\s*%\s*")


def _named_pairs(on: str | Sequence[str] | Mapping[str, str]) -> dict[str, str]:
    if isinstance(on, str):
        return {on: on}
    if isinstance(on, Mapping) and all(isinstance(name, str) for pair in on.items() for name in pair):
        return dict(on)
    if isinstance(on, Sequence) and all(isinstance(name, str) for name in on):
        return {name: name for name in on}
    raise BadParameter("on", on, "a column, a list of columns, or a mapping of columns here to columns there")


def _matched(
    left: PrivateRows,
    right: PrivateRows,
    on: str | Sequence[str] | Mapping[str, str],
    kept: bool,
    where: Term | None,
) -> PrivateRows:
    """Return the rows that meet another one, or those that meet none."""
    if where is not None:
        raise BadParameter("where", "a condition", "left out of a semi or an anti join; filter the other table first")
    pairs = _named_pairs(on).items()
    equal = tuple((_column_of(left.columns, own), _column_of(right.columns, another)) for own, another in pairs)
    made, met = exists(left, Others(right, equal))
    return replace(made, where=conjunction(made.where, met if kept else call("not", met)))


def _column_of(columns: Mapping[str, Expression], name: str) -> Expression:
    if name not in columns:
        raise UnknownName("column", name, columns)
    return columns[name]


def _side_by_side(mine: Mapping[str, Expression], theirs: Mapping[str, Expression]) -> dict[str, Expression]:
    columns, taken = dict(mine), {name.casefold() for name in mine}
    for name, expression in theirs.items():
        if name in mine and mine[name] == expression:
            continue
        columns[distinct_name(f"{name}_right" if name.casefold() in taken else name, taken)] = expression
    return columns


def _over_both(
    where: Expression, mine: Mapping[str, Expression], theirs: Mapping[str, Expression]
) -> tuple[Expression]:
    columns = _side_by_side(mine, theirs)
    return (substitute(where, lambda part: None if part.column is None else _column_of(columns, part.column)),)


def _own_name(value: str | Term) -> str | None:
    match value:
        case str():
            return value
        case Term(expression=expression):
            return expression.column
    return None


_ROWS = "rows_of_the_frame"


def with_condition(rows: Frame, name: str, text: str, parameter: str = "condition") -> Frame:
    """Return rows with one more column: whether each meets a condition, which is SQL over their columns."""
    source = rows._source
    return replace(rows, _source=replace(source, columns={**source.columns, name: _read(rows, text, parameter)}))


def _read(rows: Frame, text: str, parameter: str) -> Expression:
    """Return a condition over the relation's own columns.

    Guarantee: the text is a condition and nothing more, as the question that it is read in is the one without it but
    for the condition: text that closes a bracket, groups, or looks at another table is refused.
    """
    plain_text(text, parameter, "a condition in SQL, such as age > 65", least=1)
    views = {_ROWS: replace(rows._source, where=None)}
    bare = parse(f"SELECT COUNT(*) AS n FROM {_ROWS}", rows._source.tables, views)
    parsed = parse(f"SELECT COUNT(*) AS n FROM {_ROWS} WHERE {text}", rows._source.tables, views)
    if parsed.where is None or replace(parsed, where=None) != bare:
        raise RequestError(
            f"{parameter} must be a condition on the columns of the rows, such as age > 65; got {text!r}"
        )
    return parsed.where
