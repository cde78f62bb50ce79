"""From what was asked to an aggregate with public ends and a grid. Reads declared facts and nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from privet.aggregates import AGGREGATES, Aggregate, Argument, Wanted, entry_of
from privet.core.errors import RequestError, Unbounded, UnknownName
from privet.core.expression import Expression
from privet.core.schema import ColumnFacts as Facts
from privet.core.schema import Schema
from privet.core.unit import Person, Window
from privet.core.wire import canonical
from privet.query.functions import typed
from privet.query.nodes import AggregateCall as Asked
from privet.query.typed import Typed, clamp_ends


def aggregate_of(asked: Asked, schema: Schema, limited: Mapping[str, Facts]) -> Aggregate:
    """Return the aggregate that was asked for, with the public ends, grid and conditions of what it is over."""
    entry = entry_of(asked.function)
    kind = entry.aggregate
    if kind.people and isinstance(schema.unit, Window):
        raise RequestError("people are not counted where a window of time is protected: they may be in many windows")
    if kind.people and not isinstance(schema.unit, Person):
        raise RequestError("each row is a unit of its own here; use COUNT(*) instead of counting distinct units")
    given = [one for one in (asked.argument, asked.other) if one is not None]
    if len(given) != kind.arity:
        raise UnknownName("aggregate", asked.function, tuple(AGGREGATES))
    if kind.symmetric:
        given.sort(key=canonical)
    return entry.of(
        Wanted(
            arguments=tuple(_argument(asked, one, schema, limited, bounded=kind.bounded) for one in given),
            kinds=tuple(typed(one, schema.columns).kind for one in given),
            where=asked.where,
            options=dict(asked.options),
        )
    )


def _argument(
    asked: Asked, expression: Expression, schema: Schema, limited: Mapping[str, Facts], *, bounded: bool
) -> Argument:
    facts = typed(expression, limited)
    ends = _ends(asked, expression, facts) if bounded else (Fraction(0), Fraction(1))
    return Argument(
        expression=expression,
        low=ends[0],
        high=ends[1],
        step=_step(expression, facts, schema),
        nullable=facts.nullable or (limited is not schema.columns and typed(expression, schema.columns).nullable),
        where=asked.where,
        held=not bounded or _held(expression, ends, schema),
    )


def _held(expression: Expression, ends: tuple[Fraction, Fraction], schema: Schema) -> bool:
    """Return whether an expression is certain to lie within ends: where these are limits, more may come."""
    low, high = clamp_ends(expression, typed(expression, schema.columns))
    return low is not None and high is not None and ends[0] <= low and high <= ends[1]


def _ends(asked: Asked, expression: Expression, facts: Typed) -> tuple[Fraction, Fraction]:
    if facts.kind not in ("integer", "number"):
        raise RequestError(f"{asked.function.upper()} needs numbers; {asked.name} is over {facts.kind} values")
    low, high = clamp_ends(expression, facts)
    if low is None or high is None:
        raise Unbounded(asked.name, column=expression.column)
    return low, high


def _step(expression: Expression, facts: Typed, schema: Schema) -> Fraction | None:
    """Return the grid of what is summed: whole numbers have one, and so has a column with a declared step."""
    if facts.kind == "integer":
        return Fraction(1)
    return None if expression.column is None else schema.columns[expression.column].step
