"""Released rows beside others: joined with those of another release or with public ones, united, or given one value.

All of it is computed from what was released and from public tables, and costs nothing beyond the releases.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any
from typing import Literal as OneOf

from privet.core.errors import RequestError, Unsupported, WrongKind
from privet.core.relation import ColumnRef, Derive, Expression, parts_of
from privet.core.schema import ColumnFacts as Facts

from .nodes import (
    SCALAR,
    Beside,
    Output,
    PrivateRows,
    PublicRows,
    Query,
    ReleasedRows,
    Select,
    Standing,
    Step,
    distinct_name,
)
from .resolve import substitute
from .shape import is_public

RELEASED_INSIDE = (
    "this sub-query gives a value over everybody's rows, which would decide about each person's; ask it as a question "
    "of its own, and write its answer here as a constant"
)
"""Why a released value cannot choose, weigh or bound private rows."""

MOST_PARTS = 20
"""The most other rows that come to those of one SELECT."""

Kind = OneOf["inner", "left", "right", "full", "all"]


def public_rows(standing: PrivateRows) -> PublicRows:
    """Return the rows of a public table, and what a sub-query makes of them.

    They are listed without repeats, so that no two rows may be alike: its key is declared.
    """
    if not is_public(standing.schema):
        raise Unsupported(
            "released rows cannot be joined to private ones, whose rows they would choose; aggregate these in a "
            "sub-query as well, or join before aggregating"
        )
    steps: list[Step] = [
        Step(tuple(Output(name, one) for name, one in standing.columns.items()), standing.where),
    ]
    relation = standing.table
    while isinstance(relation, Derive):
        steps.append(Step(tuple(Output(name, one) for name, one in relation.columns), relation.where))
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
        made = {name: replace(one, nullable=True) for name, one in made.items()}
    mine = dict(left.facts)
    if kind in ("right", "full"):
        mine = {name: replace(one, nullable=True) for name, one in mine.items()}
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
    from .shape import facts_of

    known = other.schema.columns
    return public_rows(other), {name: facts_of(one, known) for name, one in other.columns.items()}


def _check_levels(query: Query) -> None:
    if query.levels:
        raise Unsupported("GROUPING SETS, ROLLUP and CUBE beside other released rows are not supported; ask them apart")


def stacked(several: Sequence[ReleasedRows], *, distinct: bool = False) -> ReleasedRows:
    """Return all rows of several releases, under the names of the first; without repeats, where these are merged."""
    first = several[0]
    facts = dict(first.facts)
    for one in several:
        _check_levels(one.query)
        if len(one.facts) != len(facts):
            raise RequestError("the parts of UNION ALL have different numbers of columns; list the same in each")
        for (name, known), other in zip(facts.items(), one.facts.values(), strict=True):
            facts[name] = _either(name, known, other)
    added = tuple(Beside(one.query, "all", tuple(zip(facts, one.facts, strict=True)), None) for one in several[1:])
    step = Step(tuple(Output(name, ColumnRef(name)) for name in facts), distinct=distinct, beside=added)
    return ReleasedRows(replace(first.query, steps=(*first.query.steps, step)), facts)


def _either(name: str, one: Facts, other: Facts) -> Facts:
    kinds = {one.kind, other.kind}
    for wider, narrow in (("number", "integer"), ("timestamp", "date")):
        if kinds == {wider, narrow}:
            return Facts(kind=wider, nullable=True)  # type: ignore[arg-type]
    if len(kinds) > 1:
        raise WrongKind("UNION ALL", f"one kind in each part of column {name!r}", tuple(sorted(map(str, kinds))))
    return Facts(kind=one.kind, nullable=one.nullable or other.nullable)


def single(query: Query) -> bool:
    """Return whether a question has one row at most, whatever its data are."""
    one = not query.keys and not query.levels
    for step in query.steps:
        for other in step.beside:
            alone = isinstance(other.source, Query) and single(other.source) and other.kind in ("inner", "left")
            one = one and alone
        one = (one or step.keys == ()) if step.keys is not None else one
        one = one or (step.limit is not None and step.limit <= 1)
    return one


def value_of_released(rows: ReleasedRows) -> ReleasedRows:
    """Return a sub-query that gives one value, or refuse it."""
    if len(rows.facts) != 1 or not single(rows.query):
        raise Unsupported(
            "a sub-query that gives a value has one column and one row: aggregate it without GROUP BY, or add LIMIT 1"
        )
    _check_levels(rows.query)
    return rows


def unused(asked: Select, values: Sequence[ReleasedRows]) -> bool:
    """Return whether some value of a released sub-query stands in no expression of a SELECT."""
    every = [*(one for _, one in asked.outputs), asked.where, *asked.keys, asked.having, asked.qualify]
    every += [term.expression for term in asked.order]
    every += [one for level in asked.levels for one in level]
    found = {part for one in every if one is not None for part in parts_of(one) if part.function == SCALAR}
    return len(found) < len(values)


def with_values(
    source: ReleasedRows, asked: Select, values: Sequence[ReleasedRows]
) -> tuple[ReleasedRows, Select, frozenset[str]]:
    """Return released rows with a column for each value of a sub-query, the SELECT over these, and their names."""
    if not values:
        return source, asked, frozenset()
    taken = {name.casefold() for name in source.facts}
    names = [distinct_name("value", taken) for _ in values]
    for name, one in zip(names, values, strict=True):
        source = beside(source, one, "left", {name: next(iter(one.facts))}, None)

    def column(part: Expression) -> Expression | None:
        return ColumnRef(names[int(part.arguments[0].constant)]) if part.function == SCALAR else None  # type: ignore[arg-type]

    def put(one: Any) -> Any:
        return None if one is None else substitute(one, column)

    made = replace(
        asked,
        outputs=tuple((name, put(one)) for name, one in asked.outputs),
        where=put(asked.where),
        keys=tuple(map(put, asked.keys)),
        having=put(asked.having),
        order=tuple(replace(term, expression=put(term.expression)) for term in asked.order),
        qualify=put(asked.qualify),
    )
    return source, made, frozenset(names)
