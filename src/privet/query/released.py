"""Released rows and values in further questions: beside other rows, over several rows, or as constants.

Released rows are joined with those of another release or with public ones, which include columns that a released key
determines; they are united, or computed over several of them by windows and aggregates. All of it is computed from what
was released and from public tables, and costs nothing beyond the releases. A value that decides about private rows is
released first: until it is known, another of its kind replaces it, so that the rest can be read and priced.
"""

from __future__ import annotations

import datetime
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import Any
from typing import Literal as OneOf

from privet.core.errors import RequestError, Unsupported, WrongKind
from privet.core.relation import ColumnRef, Derive, Expression, Join, Literal, Relation, parts_of
from privet.core.schema import ColumnFacts as Facts
from privet.core.schema import Schema

from .expressions import typed
from .nodes import (
    MARK,
    SCALAR,
    Beside,
    Order,
    Output,
    OverRows,
    PrivateRows,
    PublicRows,
    Query,
    ReleasedRows,
    Select,
    Standing,
    Step,
    distinct_name,
    has_window,
    is_aggregate,
    is_window,
    label,
    read_window,
    scalar,
)
from .normal import call
from .resolve import as_facts, checked, condition, read_quantile, substitute
from .shape import conjuncts, facts_of, is_public

RELEASED_INSIDE = (
    "this sub-query returns a value over all people's rows, which would decide about each person's; ask it as a "
    "question of its own, and write its answer here as a constant"
)
"""Why a released value cannot choose, weigh or bound private rows."""

MOST_PARTS = 20
"""The most other rows that come to those of one SELECT."""

Kind = OneOf["inner", "left", "right", "full", "all"]

PLACES = ("row_number", "rank", "dense_rank", "percent_rank", "cume_dist", "ntile")
"""Window functions of the order alone."""

PICKS = ("lag", "lead", "first_value", "last_value", "nth_value")
"""Window functions that return the value of one row."""

TOTALS = ("count_rows", "count", "count_distinct", "sum", "avg", "min", "max", "quantile", "any_value")

SPREADS = ("var_pop", "var_samp", "stddev_pop", "stddev_samp")

MOST_PLACES = 1_000_000
"""The most rows that a frame, LAG, LEAD, NTILE or NTH_VALUE may count."""

MOST_FIRST = 5
"""The most values that are released before a question is asked."""

SOME_TEXT = "a value that is released first"
"""Replaces a text that is not known yet, and is compared with any category."""

_NUMBERS = frozenset(("integer", "number"))

_WHOLE = frozenset(("row_number", "rank", "dense_rank", "ntile", "count_rows", "count", "count_distinct"))

_KEPT = frozenset((*PICKS, "min", "max", "any_value"))

_STAND_INS: Mapping[str, Any] = {
    "integer": 1,
    "number": Fraction(1),
    "text": SOME_TEXT,
    "boolean": True,
    "date": datetime.date(2000, 1, 1),
    "timestamp": datetime.datetime(2000, 1, 1),
}


def public_rows(standing: PrivateRows) -> PublicRows:
    """Return the rows of a public table, or of a sub-query over it.

    They are listed without repeats, so that no two rows may be alike: its key is declared.
    """
    if not is_public(standing.schema):
        raise Unsupported(
            "released rows cannot be joined to private ones, whose rows they would choose; aggregate these in a "
            "sub-query as well, or join before aggregating"
        )
    steps: list[Step] = [
        Step(tuple(Output(name, expression) for name, expression in standing.columns.items()), standing.where),
    ]
    relation = standing.table
    while isinstance(relation, Derive):
        steps.append(Step(tuple(Output(name, expression) for name, expression in relation.columns), relation.where))
        relation = relation.source
    if not isinstance(relation, str):
        raise Unsupported(
            "of public rows, tables and sub-queries of one can be joined to released rows; name each in FROM"
        )
    schema = standing.tables[relation]
    rows = None if schema.contents is None else schema.contents.rows
    if rows is None:
        raise Unsupported(
            f"the rows of {relation!r} are not at hand, or too many to be joined to released rows; join before "
            f"aggregating"
        )
    if schema.key is None:
        raise Unsupported(
            f"{relation!r} has no declared key, so that rows may come twice; declare key= for it, or join before "
            f"aggregating"
        )
    listed = sorted(rows, key=lambda row: tuple((value is not None, value) for value in row[:1]))
    names = list(schema.columns)
    return PublicRows(
        tuple((name, schema.columns[name], tuple(row[place] for row in listed)) for place, name in enumerate(names)),
        tuple(reversed(steps)),
    )


def beside(
    left: ReleasedRows, other: Standing, kind: Kind, names: Mapping[str, str], on: Expression | None
) -> ReleasedRows:
    """Return released rows joined with others, whose columns get these names; the condition is over all of them."""
    source, facts = _source(other)
    made = {name: facts[own] for name, own in names.items()}
    if kind in ("left", "full"):
        made = {name: replace(known, nullable=True) for name, known in made.items()}
    mine = dict(left.facts)
    if kind in ("right", "full"):
        mine = {name: replace(known, nullable=True) for name, known in mine.items()}
    every = {**mine, **made}
    step = Step(
        tuple(Output(name, ColumnRef(name)) for name in every),
        beside=(Beside(source, kind, tuple(names.items()), on),),
    )
    return ReleasedRows(replace(left.query, steps=(*left.query.steps, step)), every)


def _source(other: Standing) -> tuple[Query | PublicRows, Mapping[str, Facts]]:
    if isinstance(other, ReleasedRows):
        _check_levels(other.query)
        return other.query, other.facts
    known = other.schema.columns
    return public_rows(other), {name: facts_of(expression, known) for name, expression in other.columns.items()}


def _check_levels(query: Query) -> None:
    if query.levels:
        raise Unsupported("GROUPING SETS, ROLLUP and CUBE beside other released rows are not supported; ask them apart")


def stacked(several: Sequence[ReleasedRows], *, distinct: bool = False) -> ReleasedRows:
    """Return all rows of several releases, under the names of the first; without repeats, where these are merged."""
    first = several[0]
    facts = dict(first.facts)
    for rows in several:
        _check_levels(rows.query)
        if len(rows.facts) != len(facts):
            raise RequestError("the parts of UNION ALL have different numbers of columns; list the same in each")
        for (name, known), other in zip(facts.items(), rows.facts.values(), strict=True):
            facts[name] = _either(name, known, other)
    added = tuple(Beside(rows.query, "all", tuple(zip(facts, rows.facts, strict=True)), None) for rows in several[1:])
    step = Step(tuple(Output(name, ColumnRef(name)) for name in facts), distinct=distinct, beside=added)
    return ReleasedRows(replace(first.query, steps=(*first.query.steps, step)), facts)


def _either(name: str, facts: Facts, other: Facts) -> Facts:
    kinds = {facts.kind, other.kind}
    for wider, narrow in (("number", "integer"), ("timestamp", "date")):
        if kinds == {wider, narrow}:
            return Facts(kind=wider, nullable=True)  # type: ignore[arg-type]
    if len(kinds) > 1:
        raise WrongKind("UNION ALL", f"one kind in each part of column {name!r}", tuple(sorted(map(str, kinds))))
    return Facts(kind=facts.kind, nullable=facts.nullable or other.nullable)


def single(query: Query) -> bool:
    """Return whether a question has one row at most, whatever its data are."""
    one_row = not query.keys and not query.levels
    for step in query.steps:
        for other in step.beside:
            alone = isinstance(other.source, Query) and single(other.source) and other.kind in ("inner", "left")
            one_row = one_row and alone
        one_row = (one_row or step.keys == ()) if step.keys is not None else one_row
        one_row = one_row or (step.limit is not None and step.limit <= 1)
    return one_row


def value_of_released(rows: ReleasedRows) -> ReleasedRows:
    """Return a sub-query that returns one value, or refuse it."""
    if len(rows.facts) != 1 or not single(rows.query):
        raise Unsupported(
            "a sub-query that returns a value has one column and one row: aggregate it without GROUP BY, or add LIMIT 1"
        )
    _check_levels(rows.query)
    return rows


def unused(asked: Select, values: Sequence[ReleasedRows]) -> bool:
    """Return whether some value of a released sub-query is in no expression of a SELECT."""
    every = [*(output for _, output in asked.outputs), asked.where, *asked.keys, asked.having, asked.qualify]
    every += [term.expression for term in asked.order]
    every += [key for level in asked.levels for key in level]
    scalars = {part for value in every if value is not None for part in parts_of(value) if part.function == SCALAR}
    return len(scalars) < len(values)


def with_values(
    source: ReleasedRows, asked: Select, values: Sequence[ReleasedRows]
) -> tuple[ReleasedRows, Select, frozenset[str]]:
    """Return released rows with a column for each value of a sub-query, the SELECT over these, and their names."""
    if not values:
        return source, asked, frozenset()
    taken = {name.casefold() for name in source.facts}
    names = [distinct_name("value", taken) for _ in values]
    for name, value in zip(names, values, strict=True):
        source = beside(source, value, "left", {name: next(iter(value.facts))}, None)

    def column(part: Expression) -> Expression | None:
        return ColumnRef(names[int(part.arguments[0].constant)]) if part.function == SCALAR else None  # type: ignore[arg-type]

    def put(expression: Any) -> Any:
        return None if expression is None else substitute(expression, column)

    made = replace(
        asked,
        outputs=tuple((name, put(expression)) for name, expression in asked.outputs),
        where=put(asked.where),
        keys=tuple(map(put, asked.keys)),
        having=put(asked.having),
        order=tuple(replace(term, expression=put(term.expression)) for term in asked.order),
        qualify=put(asked.qualify),
    )
    return source, made, frozenset(names)


@dataclass(frozen=True)
class PublicSide:
    """A public table in a join, by the names that its columns have there."""

    table: str
    names: tuple[tuple[str, str], ...]
    equal: tuple[Expression, ...]
    """The expressions that its key equals in every row of the join that has a row of it."""


@dataclass(eq=False)
class DeterminedColumns:
    """The columns of public tables that a query's keys determine, as they are requested one by one."""

    source: PrivateRows
    keys: Collection[Expression]
    taken: set[str]
    found: dict[int, dict[str, str]] = field(default_factory=dict)

    @cached_property
    def sides(self) -> list[PublicSide]:
        """The public tables of the join, each with the expressions that its key equals."""
        return _sides(self.source.table, self.source.tables)

    def determines(self, column: str) -> bool:
        """Return whether a column of the join has one public value in each group."""
        return self._side(column) is not None

    def named(self, column: str) -> tuple[str, Facts]:
        """Return the name under which released rows have a determined column, and its facts."""
        side = self._side(column)
        if side is None:
            raise LookupError(column)
        place, _ = side
        own = dict(self.sides[place].names)[column]
        columns = self.found.setdefault(place, {})
        if own not in columns:
            columns[own] = distinct_name(column, self.taken)
        return columns[own], self.source.tables[self.sides[place].table].columns[own]

    def beside(self, names: Mapping[Expression, str]) -> tuple[Beside, ...]:
        """Return the joins that put the columns beside released rows, whose keys have these names."""
        made = []
        for place, columns in self.found.items():
            side = self.sides[place]
            schema = self.source.tables[side.table]
            key = next(expression for expression in side.equal if expression in self.keys)
            own = distinct_name("key", self.taken)
            listed = {**{name: column for column, name in columns.items()}, own: schema.key or ""}
            rows = public_rows(PrivateRows.of(side.table, schema, self.source.tables))
            on = call("equal", ColumnRef(names[key]), ColumnRef(own))
            made.append(Beside(rows, "left", tuple(listed.items()), on))
        return tuple(made)

    def _side(self, column: str) -> tuple[int, PublicSide] | None:
        for place, side in enumerate(self.sides):
            if column in dict(side.names) and any(expression in self.keys for expression in side.equal):
                return place, side
        return None


def _sides(relation: Relation, tables: Mapping[str, Schema]) -> list[PublicSide]:
    """Return the public tables of a join whose key is declared and whose rows are available."""
    sides: list[PublicSide] = []
    while isinstance(relation, Join):
        name = relation.right
        if isinstance(name, str) and is_public(tables[name]) and tables[name].contents is not None:
            key = next((new for new, own in relation.names if own == tables[name].key), None)
            if key is not None:
                sides.append(PublicSide(name, relation.names, (ColumnRef(key), *_equals(relation, key))))
        relation = relation.left
    return sides


def _equals(join: Join, key: str) -> list[Expression]:
    """Return the expressions that a key equals by the condition of its join."""
    sides = [eq.arguments for eq in conjuncts(join.on) if eq.function == "equal" and ColumnRef(key) in eq.arguments]
    return [other for pair in sides for other in pair if other != ColumnRef(key)]


def with_columns(
    expression: Expression, facts: Mapping[str, Facts], found: dict[Expression, OverRows], taken: set[str]
) -> Expression:
    """Return an expression over released columns in which each window function has become a separate column."""

    def column(part: Expression) -> Expression | None:
        if not is_window(part):
            return None
        if part not in found:
            window = read_window(distinct_name(label(part), taken), part)
            found[part] = _checked_window(window, facts)
        return ColumnRef(found[part].name)

    return substitute(expression, column)


def read_aggregate(name: str, marked: Expression, facts: Mapping[str, Facts]) -> OverRows:
    """Return a marked aggregate over released rows, under a name."""
    function = marked.function.removeprefix(MARK)
    if function not in (*TOTALS, *SPREADS):
        raise Unsupported(
            f"{function.upper()} of released rows is not supported; COUNT, SUM, AVG, MIN, MAX, MEDIAN, QUANTILE, VAR "
            f"and STDDEV are"
        )
    argument, where, *more = marked.arguments
    given = () if function == "count_rows" else (argument, *more)
    aggregate = OverRows(name, function, given, None if where == Literal(True) else where)
    return _checked(aggregate, facts)


def facts_over(one: OverRows, facts: Mapping[str, Facts]) -> Facts:
    """Return the facts of a function over released rows."""
    if one.function in _WHOLE:
        return Facts(kind="integer")
    if one.function in _KEPT:
        return replace(as_facts(typed(one.arguments[0], facts), one.name), nullable=True)
    if one.function == "sum" and typed(one.arguments[0], facts).kind == "integer":
        return Facts(kind="integer", nullable=True)
    return Facts(kind="number", nullable=True)


def _checked_window(over: OverRows, facts: Mapping[str, Facts]) -> OverRows:
    known = (*PLACES, *PICKS, *TOTALS, *SPREADS)
    if over.function not in known:
        raise Unsupported(
            f"{over.function.upper()} is not supported OVER released rows; ROW_NUMBER, RANK, DENSE_RANK, NTILE, LAG, "
            f"LEAD, FIRST_VALUE, LAST_VALUE, COUNT, SUM, AVG, MIN and MAX are"
        )
    if any(has_window(part) for part in (*over.arguments, *over.partition, *(term.expression for term in over.order))):
        raise Unsupported("a window function cannot stand inside another; put the inner one into a sub-query")
    if over.where is not None and over.function in (*PLACES, *PICKS):
        raise Unsupported("FILTER (WHERE ...) follows an aggregate, such as SUM(n) FILTER (WHERE n > 0) OVER ()")
    frame = over.frame
    if frame is not None and frame.start is not None and frame.end is not None and frame.start > frame.end:
        raise Unsupported("a frame starts before it ends: ROWS BETWEEN 2 PRECEDING AND CURRENT ROW")
    return replace(
        _checked(over, facts),
        partition=tuple(checked(part, facts) for part in over.partition),
        order=tuple(Order(checked(term.expression, facts), term.descending, term.nulls_first) for term in over.order),
    )


def _checked(over: OverRows, facts: Mapping[str, Facts]) -> OverRows:
    name = over.function.upper()
    where = None if over.where is None else condition(over.where, facts, "FILTER")
    given = tuple(checked(part, facts) for part in over.arguments)
    if over.function in ("lag", "lead", "nth_value", "ntile"):
        place = 0 if over.function == "ntile" else 1
        places = given[place].constant if len(given) > place else 1
        least = 0 if over.function in ("lag", "lead") else 1
        if type(places) is not int or not least <= places <= MOST_PLACES:
            raise Unsupported(f"{name} takes a constant number of rows from {least} to {MOST_PLACES:,}")
    if over.function == "quantile":
        given = (given[0], Literal(read_quantile(given[1])))
    if over.function in ("sum", "avg", "quantile", *SPREADS):
        kind = typed(given[0], facts).kind
        if kind is not None and kind not in _NUMBERS:
            raise WrongKind(name, "numbers", (kind,), advice="count with COUNT(*) FILTER (WHERE ...)")
    return replace(over, arguments=given, where=where)


@dataclass(eq=False)
class FirstValues:
    """The values that a question needs before it can be asked, in the order in which they are met.

    `known` are those that were released by now.
    """

    known: tuple[Any, ...] = ()
    found: list[Query] = field(default_factory=list)

    def __call__(self, rows: ReleasedRows) -> Literal:
        """Return the constant that replaces the one value of a released sub-query."""
        if rows.query not in self.found:
            self.found.append(rows.query)
        if len(self.found) > MOST_FIRST:
            raise Unsupported(f"a question needs at most {MOST_FIRST} values first; ask for some of them by themselves")
        place = self.found.index(rows.query)
        if place < len(self.known):
            return Literal(_exact(self.known[place]))
        return Literal(_stand_in(next(iter(rows.facts.values()))))

    def forget(self, count: int) -> None:
        """Keep the first values that were met, and no more: the others were met in another reading."""
        del self.found[count:]


def _exact(value: Any) -> Any:
    """Return a released value as the constants of expressions are written: numbers that are not whole as fractions."""
    return Fraction(value) if isinstance(value, float) else value


def _stand_in(facts: Facts) -> Any:
    return facts.values[0] if facts.values else _STAND_INS[facts.kind]


def with_first(
    asked: Select, values: Sequence[ReleasedRows], first: FirstValues
) -> tuple[Select, tuple[ReleasedRows, ...]]:
    """Return a SELECT in which constants replace values that would weigh, bound or group private rows.

    Those beside aggregates that are computed with their releases are unchanged.
    """
    shown = [*(item for _, item in asked.outputs), asked.having, asked.qualify, *(by.expression for by in asked.order)]
    inside = [part for value in shown if value is not None for part in parts_of(value) if is_aggregate(part)]
    inside += [*asked.keys, *(key for level in asked.levels for key in level)]
    places = {_place(part) for expression in inside for part in parts_of(expression) if part.function == SCALAR}
    if not places:
        return asked, tuple(values)
    constants = {place: first(values[place]) for place in sorted(places)}
    rest = [place for place in range(len(values)) if place not in places]

    def put(expression: Expression) -> Expression:
        def made(part: Expression) -> Expression | None:
            if part.function != SCALAR:
                return None
            place = _place(part)
            return constants[place] if place in constants else scalar(rest.index(place))

        return substitute(expression, made)

    changed = replace(
        asked,
        outputs=tuple((name, put(expression)) for name, expression in asked.outputs),
        keys=tuple(map(put, asked.keys)),
        levels=tuple(tuple(map(put, level)) for level in asked.levels),
        having=None if asked.having is None else put(asked.having),
        qualify=None if asked.qualify is None else put(asked.qualify),
        order=tuple(replace(term, expression=put(term.expression)) for term in asked.order),
    )
    return changed, tuple(values[place] for place in rest)


def _place(marked: Expression) -> int:
    return int(marked.arguments[0].constant)  # type: ignore[arg-type]
