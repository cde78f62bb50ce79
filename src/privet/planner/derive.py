"""What each column of an answer is made of: an expression over the keys and aggregates that a plan releases."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from privet.core.expression import Call, ColumnRef, Expression, Literal
from privet.core.schema import Kind
from privet.query.functions import typed
from privet.query.nodes import Query

if TYPE_CHECKING:
    from .plan import Plan


def meanings(query: Query) -> dict[str, Expression]:
    """Return for each output column of a query the expression over keys and aggregates that it stands for."""
    names = [*(key.name for key in query.keys), *(asked.name for asked in query.aggregates)]
    names += [one.name for one in query.groupings]
    found: dict[str, Expression] = {name: ColumnRef(name) for name in names}
    for step in query.steps:
        found = {output.name: _inline(output.expression, found) for output in step.outputs}
    return found


@dataclass(frozen=True)
class LinearForm:
    """A constant times one column, plus a constant."""

    column: str
    factor: Fraction
    offset: Fraction


def linear_in(expression: Expression) -> LinearForm | None:
    """Return how an expression depends on its one column, if it is linear in it."""
    found = _line(expression)
    return None if found is None or found[0] is None else LinearForm(found[0], found[1], found[2])


def _line(expression: Expression) -> tuple[str | None, Fraction, Fraction] | None:
    match expression:
        case ColumnRef(name=name):
            return name, Fraction(1), Fraction(0)
        case Literal(value=bool()):
            return None
        case Literal(value=int() | Fraction() as value):
            return None, Fraction(0), Fraction(value)
        case Call(function=function, arguments=arguments) if function in _LINEAR:
            sides = [_line(argument) for argument in arguments]
            known = [side for side in sides if side is not None]
            names = {name for name, _, _ in known if name is not None}
            if len(known) < len(sides) or len(names) > 1:
                return None
            made = _LINEAR[function](*((factor, offset) for _, factor, offset in known))
            return None if made is None else (next(iter(names), None), *made)
    return None


_Pair = tuple[Fraction, Fraction]


def _times(x: _Pair, y: _Pair) -> _Pair | None:
    if x[0] and y[0]:
        return None
    return x[0] * y[1] + x[1] * y[0], x[1] * y[1]


def _over(x: _Pair, y: _Pair) -> _Pair | None:
    return None if y[0] or not y[1] else (x[0] / y[1], x[1] / y[1])


_LINEAR: Mapping[str, Callable[..., _Pair | None]] = {
    "add": lambda x, y: (x[0] + y[0], x[1] + y[1]),
    "subtract": lambda x, y: (x[0] - y[0], x[1] - y[1]),
    "multiply": _times,
    "divide": _over,
    "negate": lambda x: (-x[0], -x[1]),
}


def kinds_of(plan: Plan) -> dict[str, Kind]:
    """Return what each key and aggregate of a plan holds, by declared facts: no row need be released to know it."""
    facts = plan.passes[0].scan.schema.columns
    found: dict[str, Kind] = {key.name: typed(key.expression, facts).kind or "number" for key in plan.query.keys}
    return found | {one.name: one.aggregate.kind for one in plan.readings}


def columns_of(expression: Expression) -> set[str]:
    """Return the names of the columns that an expression depends on."""
    match expression:
        case ColumnRef(name=name):
            return {name}
        case Call(arguments=arguments):
            return set().union(*(columns_of(argument) for argument in arguments))
    return set()


def _inline(expression: Expression, known: Mapping[str, Expression]) -> Expression:
    match expression:
        case ColumnRef(name=name):
            return known[name]
        case Call(function=function, arguments=arguments):
            return Call(function, tuple(_inline(argument, known) for argument in arguments))
    return expression
