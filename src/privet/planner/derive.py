"""What each column of an answer is made of: an expression over the keys and aggregates that a plan releases."""

from __future__ import annotations

from collections.abc import Mapping

from privet.core.expression import Call, Column, Expression
from privet.core.schema import Kind
from privet.query.functions import typed
from privet.query.nodes import Query

from .plan import Plan


def meanings(query: Query) -> dict[str, Expression]:
    """Return for each output column of a query the expression over keys and aggregates that it stands for."""
    names = [*(key.name for key in query.keys), *(asked.name for asked in query.aggregates)]
    found: dict[str, Expression] = {name: Column(name) for name in names}
    for step in query.steps:
        found = {output.name: _inline(output.expression, found) for output in step.outputs}
    return found


def kinds_of(plan: Plan) -> dict[str, Kind]:
    """Return what each key and aggregate of a plan holds, by declared facts: no row need be released to know it."""
    facts = plan.passes[0].scan.schema.columns
    found: dict[str, Kind] = {key.name: typed(key.expression, facts).kind or "number" for key in plan.query.keys}
    return found | {one.name: "integer" if one.aggregate.counts else "number" for one in plan.readings}


def columns_of(expression: Expression) -> set[str]:
    """Return the names of the columns that an expression depends on."""
    match expression:
        case Column(name=name):
            return {name}
        case Call(arguments=arguments):
            return set().union(*(columns_of(argument) for argument in arguments))
    return set()


def _inline(expression: Expression, known: Mapping[str, Expression]) -> Expression:
    match expression:
        case Column(name=name):
            return known[name]
        case Call(function=function, arguments=arguments):
            return Call(function, tuple(_inline(argument, known) for argument in arguments))
    return expression
