"""The query tree: the private sums, and the steps over the released rows afterwards."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import combinations, product
from typing import ClassVar, cast
from typing import Literal as OneOf

from privet.core.errors import RequestError, Unsupported
from privet.core.given import mapping
from privet.core.relation import Call, ColumnRef, Expression, Literal, Relation, Value, parts_of
from privet.core.schema import ColumnFacts as Facts
from privet.core.schema import Schema, shown_columns
from privet.core.unit import Person
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
    FILTER. `options` are further constants.
    """

    name: str
    function: str
    argument: Expression | None = None
    where: Expression | None = None
    options: tuple[tuple[str, int | str], ...] = ()
    other: Expression | None = None


@dataclass(frozen=True)
class Order:
    """One ORDER BY term over the columns of the step before; NULLs come last unless stated otherwise."""

    expression: Expression
    descending: bool = False
    nulls_first: bool = False


@dataclass(frozen=True)
class Output:
    """A column of a released table: an expression over the columns of the step before."""

    name: str
    expression: Expression


@dataclass(frozen=True)
class RowFrame:
    """The rows around its own that a window function uses: from `start` to `end` rows after it; None for all on a side.

    Where it does not count `rows`, 0 means its own row and those that tie with it in the order.
    """

    rows: bool
    start: int | None
    end: int | None


@dataclass(frozen=True)
class OverRows:
    """A function over several released rows, under the name by which outputs know it: an aggregate, or a window's.

    Its arguments, and the rows that its FILTER keeps, are expressions over the columns of those rows.
    """

    name: str
    function: str
    arguments: tuple[Expression, ...] = ()
    where: Expression | None = None
    partition: tuple[Expression, ...] = ()
    order: tuple[Order, ...] = ()
    frame: RowFrame | None = None


@dataclass(frozen=True)
class PublicRows:
    """Rows of a public table, column by column, with the facts of each column; and steps over them."""

    columns: tuple[tuple[str, Facts, tuple[Value, ...]], ...]
    steps: tuple[Step, ...] = ()


@dataclass(frozen=True)
class Beside:
    """Other rows that come to those of the step before: of another release, or public.

    A join puts columns beside them, for pairs of rows that meet a condition over all columns: `names` states what each
    is called then, (name, column). "all" puts the rows below them, column by column in the order of `names`.
    """

    source: Query | PublicRows
    kind: OneOf["inner", "left", "right", "full", "all"]
    names: tuple[tuple[str, str], ...]
    on: Expression | None = None


@dataclass(frozen=True)
class Step:
    """One SELECT over released rows: filter (WHERE or HAVING), columns, DISTINCT, ORDER BY, LIMIT, in that order.

    ORDER BY terms are over the columns of the step before, and behind these over the outputs. Before the filter come
    rows of others (`beside`). After it rows are aggregated by `keys`, where these are not None, be it by none, and
    `having` keeps some of the groups; then come `windows`, and `qualify` keeps rows by them. Outputs and order use all
    of these by their names.
    """

    outputs: tuple[Output, ...]
    where: Expression | None = None
    distinct: bool = False
    order: tuple[Order, ...] = ()
    limit: int | None = None
    offset: int = 0
    beside: tuple[Beside, ...] = ()
    keys: tuple[Key, ...] | None = None
    aggregates: tuple[OverRows, ...] = ()
    having: Expression | None = None
    windows: tuple[OverRows, ...] = ()
    qualify: Expression | None = None

    @property
    def plain(self) -> bool:
        """Whether each row is made of one row of the step before."""
        return not (self.beside or self.windows) and self.keys is None

    @property
    def renames(self) -> dict[str, str] | None:
        """The columns that a plain step names, by their new names, if that is all it does, as most do; else None."""
        if self.where is not None or self.distinct or self.order or self.limit is not None or self.offset:
            return None
        named = {
            output.name: output.expression.column for output in self.outputs if output.expression.column is not None
        }
        return named if len(named) == len(self.outputs) else None


@dataclass(frozen=True)
class Grouping:
    """GROUPING(...) under the name by which later steps know it: which keys, by their places in the query."""

    name: str
    keys: tuple[int, ...]


@dataclass(frozen=True)
class Query:
    """A private aggregation of one table, or of a relation over several, and the steps that follow on its release.

    The first step uses the keys and aggregates by name; each later step uses the outputs of the one before. With
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
    each: bool = False
    """Whether each unit has one row in each group at most, as it is grouped by both: no more need count there."""
    source: PrivateRows | None = field(default=None, compare=False, repr=False)
    """The rows that it was read over, with their facts at that time; not part of the question: see `facts_known`."""

    def facts_known(self, tables: Mapping[str, Schema]) -> Schema | None:
        """Return the facts of its relation over these tables, if they were computed when it was read.

        None where it is over another relation, or other tables, by now. No plan is charged by these facts: they
        are computed again before, from the plan.
        """
        read = self.source
        if read is None or read.table is not self.table or read.tables is not tables or isinstance(self.table, str):
            return None
        return read.schema

    @property
    def lists(self) -> bool:
        """Whether it lists rows as they are, which only those of public tables may be: see `privet.query.build`."""
        return not self.keys and not self.aggregates

    @property
    def others(self) -> tuple[Query, ...]:
        """The further questions whose released rows are joined to those of this one, and their own, in order."""
        queries: list[Query] = []
        for source in (beside.source for step in self.steps for beside in step.beside):
            if isinstance(source, Query):
                queries += [source, *source.others]
        return tuple(queries)


def bin_widths(query: Query) -> dict[str, float]:
    """Return the widths of the keys that are bins, by the names under which the first step shows them."""
    widths = {
        key.name: float(key.expression.arguments[1].constant)  # type: ignore[arg-type]
        for key in query.keys
        if key.expression.function == "bin" and key.expression.arguments[1].constant is not None
    }
    outputs = query.steps[0].outputs if len(query.steps) == 1 else ()
    shown = {output.name: output.expression.column for output in outputs}
    return {name: widths[column] for name, column in shown.items() if column is not None and column in widths}


# The rows of a SELECT, private or released; and its question about them.


# The possible inputs of a SELECT: rows of a private table, or released rows; and its question about them.
#
# Both front ends, SQL and Python, fill a `Selection`; `build` turns it into the one tree.


MARK = "aggregate:"
"""Marks an aggregate inside an expression until `build` names it; no engine has such a function."""

WINDOW = "window:"
"""Marks a window function until `inside` makes it a column."""

EXTREMES = {"min": 0, "max": 1}
"""Aggregates that are exact within one person's rows, and quantiles across people: the shares that lie below."""


@dataclass(frozen=True)
class PrivateRows:
    """Rows of a table, or of a relation over several: private, or public and about to be joined to private ones.

    `columns` are expressions over the relation's own, and `where` is the condition under which a row is there.
    `limited` are the facts of its own columns where people stay within their limits: the bounds of sums.
    """

    table: Relation
    schema: Schema
    columns: Mapping[str, Expression]
    where: Expression | None
    tables: Mapping[str, Schema] = field(repr=False)
    limited: Mapping[str, Facts] = field(repr=False)
    released: ClassVar[bool] = False

    @property
    def facts(self) -> Mapping[str, Facts]:
        """The facts of the relation's own columns."""
        return self.schema.columns

    @classmethod
    def of(cls, table: str, schema: Schema, tables: Mapping[str, Schema] | None = None) -> PrivateRows:
        """Return all rows and columns of a table."""
        columns = {shown: ColumnRef(name) for shown, name in shown_columns(table, schema).items()}
        return cls(table, schema, columns, None, tables or {table: schema}, schema.columns)

    @property
    def owner(self) -> str | None:
        """Return the column that identifies the person, where a person is one unit: by it people are counted."""
        match self.schema.unit:
            case Person(column=column):
                return column
        return None


@dataclass(frozen=True)
class ReleasedRows:
    """Rows that a query released: public, free to reshape. `facts` are the kinds of their columns."""

    query: Query
    facts: Mapping[str, Facts]
    owner: ClassVar[str | None] = None
    released: ClassVar[bool] = True

    @property
    def columns(self) -> Mapping[str, Expression]:
        """The columns, each as itself."""
        return {name: ColumnRef(name) for name in self.facts}


Standing = PrivateRows | ReleasedRows
"""The possible inputs of a SELECT."""


@dataclass(frozen=True, kw_only=True)
class Select:
    """One SELECT: expressions over the columns of its input, with aggregates marked. The name None is derived."""

    outputs: tuple[tuple[str | None, Expression], ...]
    where: Expression | None = None
    keys: tuple[Expression, ...] = ()
    levels: tuple[tuple[Expression, ...], ...] = ()
    having: Expression | None = None
    order: tuple[Order, ...] = ()
    distinct: bool = False
    limit: int | None = None
    offset: int = field(default=0)
    qualify: Expression | None = None

    @property
    def aggregates(self) -> list[Expression]:
        """The marked aggregates that it shows, compares and orders by, at any depth."""
        given = [*(output for _, output in self.outputs), self.having, *(term.expression for term in self.order)]
        return [part for value in given if value is not None for part in parts_of(value) if is_aggregate(part)]

    @property
    def bounds_each(self) -> bool:
        """Whether it states bounds of each person's contribution to a group."""
        stated = (stated_bounds(marked)[1] for marked in self.aggregates)
        return any(limits is not None and limits.per == "group" for limits in stated)


def aggregate(function: str, argument: Expression | None = None, where: Expression | None = None) -> Call:
    """Return a marked aggregate of an argument over the rows that meet a condition."""
    return Call(MARK + function, (argument or Literal(None), where or Literal(True)))


def window(
    function: str,
    arguments: tuple[Expression, ...],
    partition: tuple[Expression, ...],
    order: tuple[Order, ...],
    frame: RowFrame | None = None,
    where: Expression | None = None,
) -> Call:
    """Return a marked window function: its arguments, partition and order; then its frame and FILTER, if it has any."""
    terms = []
    for term in order:
        flags = f"{'descending' if term.descending else 'ascending'}{' nulls first' if term.nulls_first else ''}"
        terms.append(Call(flags, (term.expression,)))
    more: list[Expression] = []
    if frame is not None:
        ends = (Literal(frame.rows), Literal(frame.start), Literal(frame.end))
        more.append(Call("frame", ends))
    if where is not None:
        more.append(Call("filter", (where,)))
    parts = (Call("given", arguments), Call("partition", partition), Call("order", tuple(terms)), *more)
    return Call(WINDOW + function, parts)


def read_window(name: str, marked: Expression) -> OverRows:
    """Return a marked window function, under a name."""
    given, partition, order, *more = marked.arguments
    ends = next((call.arguments for call in more if call.function == "frame"), None)
    where = next((call.arguments[0] for call in more if call.function == "filter"), None)
    terms = tuple(
        Order(term.arguments[0], "descending" in term.function, "nulls first" in term.function)
        for term in order.arguments
    )
    frame = None
    if ends is not None:
        rows, start, end = (value.constant for value in ends)
        frame = RowFrame(rows is True, cast(int | None, start), cast(int | None, end))
    function = marked.function.removeprefix(WINDOW)
    return OverRows(name, function, given.arguments, where, partition.arguments, terms, frame)


def is_window(expression: Expression) -> bool:
    """Return whether an expression is itself a marked window function."""
    return expression.function.startswith(WINDOW)


def has_window(expression: Expression | None) -> bool:
    """Return whether an expression contains a marked window function."""
    return expression is not None and any(map(is_window, parts_of(expression)))


SCALAR = "scalar:"
"""Marks the one value of a released sub-query inside an expression, by its place among those of a SELECT."""


def scalar(place: int) -> Call:
    """Return a marked value of a released sub-query."""
    return Call(SCALAR, (Literal(place),))


def has_scalar(expression: Expression | None) -> bool:
    """Return whether an expression contains the value of a released sub-query."""
    return expression is not None and any(part.function == SCALAR for part in parts_of(expression))


def aggregate_of_two(function: str, argument: Expression, other: Expression, where: Expression | None = None) -> Call:
    """Return a marked aggregate of two arguments."""
    return Call(MARK + function, (argument, where or Literal(True), other))


def histogram(argument: Expression, bins: Expression, where: Expression | None = None) -> Call:
    """Return a marked histogram."""
    return Call(MARK + "histogram", (argument, where or Literal(True), bins))


DISCRETE = Literal("discrete")
"""Marks a quantile that is one of the values, which is a date where they are; others of dates are points in time."""


def quantile(
    argument: Expression, share: Expression, where: Expression | None = None, *, discrete: bool = False
) -> Call:
    """Return a marked quantile: the value below which a share of the values lies."""
    return Call(MARK + "quantile", (argument, where or Literal(True), share, *([DISCRETE] if discrete else [])))


BOUNDS = "bounds:"
"""Marks the bounds that a question states for an aggregate, as its last argument, until `build` reads them."""

Per = OneOf["group", "row"]
"""The meaning of stated bounds: they apply to each person's contribution to a group, or to the value of each row."""


@dataclass(frozen=True)
class Stated:
    """Bounds that a question states for an aggregate."""

    per: Per
    low: Fraction
    high: Fraction


def bounded(marked: Expression, per: Per, low: Expression, high: Expression) -> Call:
    """Return a marked aggregate with bounds that the question states for it."""
    if not is_aggregate(marked):
        raise Unsupported("contribution bounds are for aggregates: SUM(x, contribution_bounds_per_group => (0, 100))")
    ends = [end.constant for end in (low, high)]
    numbers = [Fraction(end) for end in ends if isinstance(end, (int, Fraction)) and not isinstance(end, bool)]
    if len(numbers) < 2 or numbers[0] > numbers[1]:
        raise Unsupported(f"contribution_bounds_per_{per} takes two constant numbers, the lower one first: (0, 100)")
    if stated_bounds(marked)[1] is not None:
        raise Unsupported("an aggregate states its bounds once")
    return Call(marked.function, (*marked.arguments, Call(BOUNDS + per, (low, high))))


def stated_bounds(marked: Expression) -> tuple[Expression, Stated | None]:
    """Return a marked aggregate without the bounds that are stated for it, and these."""
    last = marked.arguments[-1] if marked.arguments else marked
    if not last.function.startswith(BOUNDS):
        return marked, None
    low, high = (Fraction(end.constant) for end in last.arguments)  # type: ignore[arg-type]
    per: Per = "row" if last.function == BOUNDS + "row" else "group"
    return Call(marked.function, marked.arguments[:-1]), Stated(per, low, high)


def mode(argument: Expression, where: Expression | None = None, *, k: int = 1, rank: int = 1) -> Call:
    """Return a marked aggregate: the value at a rank among the k most frequent; of one, the mode."""
    return Call(MARK + "mode", (argument, where or Literal(True), Literal(k), Literal(rank)))


def is_aggregate(expression: Expression) -> bool:
    """Return whether an expression is itself a marked aggregate."""
    return expression.function.startswith(MARK)


def has_aggregate(expression: Expression | None) -> bool:
    """Return whether an expression contains a marked aggregate."""
    return expression is not None and any(map(is_aggregate, parts_of(expression)))


def label(expression: Expression) -> str:
    """Return the name of an expression where the query states none."""
    if not expression.function:
        return expression.column or "constant"
    if expression.function == MARK + "quantile":
        share = expression.arguments[2]
        named = {"0": "min", "1/2": "median", "1": "max"}
        name = named.get(str(share.constant), "quantile")
        return f"{name}_{label(expression.arguments[0])}"[:60]
    if is_window(expression):
        given = expression.arguments[0].arguments
        function = expression.function.removeprefix(WINDOW).replace("count_rows", "count")
        return f"{function}_{label(given[0])}"[:60] if given else function
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


# Checks the inputs of questions: declared tables by name, and views of them.


def check_tables(tables: Mapping[str, Schema] | None) -> None:
    """Refuse anything but a mapping of names to the schemas of tables; None means none beside the one named."""
    if tables is not None:
        mapping(tables, "tables", "a mapping of names to Schemas", Schema)


# Aggregates that make several columns: TOP_K(x, 3) AS top is top_1, top_2 and top_3; BOUNDS(x) is x_low and x_high.


# Several groupings in one question: GROUPING SETS, ROLLUP and CUBE, as lists of the keys of each level.


Level = tuple[Expression, ...]
"""The keys of one level; none for the grand total."""

MOST_LEVELS = 64
"""The maximum number of levels in one question: CUBE of six columns."""

GROUPING = "grouping:"
"""Marks GROUPING(...) inside an expression until `build` names it."""


def rolled_up(steps: Sequence[Level]) -> tuple[Level, ...]:
    """Return the levels of ROLLUP: all of the steps, without the last, ..., none."""
    return tuple(_joined(steps[:length]) for length in range(len(steps), -1, -1))


def cubed(steps: Sequence[Level]) -> tuple[Level, ...]:
    """Return the levels of CUBE: every choice of the steps, the longest first."""
    if 2 ** len(steps) > MOST_LEVELS:
        raise Unsupported(
            f"CUBE of {len(steps)} columns makes {2 ** len(steps):,} groupings, each with noise of its own; the most "
            f"is {MOST_LEVELS}: name those that you need, as GROUPING SETS ((a, b), (a), ())"
        )
    chosen = (levels for length in range(len(steps), -1, -1) for levels in combinations(steps, length))
    return tuple(_joined(levels) for levels in chosen)


def crossed(several: Sequence[Sequence[Level]]) -> tuple[Level, ...]:
    """Return every combination of a level of each, as GROUP BY a, ROLLUP (b) means; each level once.

    Refuses more levels than can sensibly be answered, and a level that comes twice.
    """
    amount = 1
    for levels in several:
        amount *= len(levels)
    if amount > MOST_LEVELS:
        raise Unsupported(
            f"this makes {amount:,} groupings, each with noise of its own; the most is {MOST_LEVELS}: name those "
            f"that you need, as GROUPING SETS ((a, b), (a), ())"
        )
    made = [_joined(choice) for choice in product(*several)]
    if len({frozenset(level) for level in made}) < len(made):
        raise RequestError("a grouping comes twice among GROUPING SETS, ROLLUP or CUBE; name each once")
    return tuple(made)


def union_of(levels: Sequence[Level]) -> Level:
    """Return the keys of all levels, each once."""
    return _joined(levels)


def grouping(*arguments: Expression) -> Call:
    """Return a marked GROUPING(...): a bit for each argument, 1 where the row is a total over it."""
    if not arguments:
        raise RequestError("GROUPING takes grouping columns: GROUPING(ward)")
    return Call(GROUPING, arguments)


def _joined(levels: Sequence[Level]) -> Level:
    return tuple(dict.fromkeys(key for level in levels for key in level))


MOST_VALUES = 100
"""The maximum number of most frequent values in one question."""

Named = tuple[tuple[str | None, Expression], ...]


def spread_out(outputs: Named) -> Named:
    """Return outputs in which each aggregate of several columns has become these columns, named after its own name."""
    spread: list[tuple[str | None, Expression]] = []
    for name, expression in outputs:
        spread += _columns(name, expression) if _makes_several(expression) else [(name, expression)]
    return tuple(spread)


def top_k(argument: Expression, k: Expression, where: Expression | None = None) -> Call:
    """Return a marked aggregate: the k most frequent values."""
    return Call(MARK + "top_k", (argument, where or Literal(True), k))


def bounds(argument: Expression, where: Expression | None = None) -> Call:
    """Return a marked aggregate: a range that contains most values."""
    return Call(MARK + "bounds", (argument, where or Literal(True)))


def _makes_several(expression: Expression) -> bool:
    # with a side it is one column already
    return expression.function == MARK + "top_k" or (
        expression.function == MARK + "bounds" and len(expression.arguments) == 2
    )


def _columns(name: str | None, marked: Expression) -> list[tuple[str | None, Expression]]:
    if marked.function == MARK + "bounds":
        shown = label(marked.arguments[0])[:50] if name is None else name
        sides = ("low", "high")
        return [(f"{shown}_{side}", Call(marked.function, (*marked.arguments, Literal(side)))) for side in sides]
    argument, where, k = marked.arguments
    number = k.constant
    if type(number) is not int or not 1 <= number <= MOST_VALUES:
        raise Unsupported(f"TOP_K takes a column and a constant from 1 to {MOST_VALUES}, such as TOP_K(x, 3)")
    named = f"top_{label(argument)}"[:50] if name is None else name
    return [(f"{named}_{rank}", mode(argument, where, k=number, rank=rank)) for rank in range(1, number + 1)]
