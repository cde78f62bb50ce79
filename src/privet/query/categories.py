"""Refuses constants that a declared category does not have: `ward = 'hart'` is a slip, and is found before it is paid.

Decided by declared facts and by what is asked. Nothing here reads data.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from privet.core.errors import RequestError, UnknownName
from privet.core.expression import Expression, Literal
from privet.core.relation import Derive, GroupWithin, Join, Rank, Relation, Union
from privet.core.schema import ColumnFacts as Facts
from privet.core.schema import Schema

from .facts import facts_of
from .functions import typed
from .nodes import PrivateRows, Query, Step
from .normal import text
from .shape import schema_of

_COMPARED = frozenset({"equal", "not_equal", "in", "nullif"})
"""What asks whether two values are the same. An order makes sense for any constant."""

Known = Mapping[str, Facts]


def check_categories(query: Query, tables: Mapping[str, Schema]) -> Schema:
    """Raise `UnknownName` where a question compares a declared category with a value that it does not have.

    Returns the facts of what the question stands on.
    """
    schema = schema_of(query.table, tables)
    columns = schema.columns
    _check_relation(query.table, tables, columns)
    asked: list[Expression | None] = [query.where, *(key.expression for key in query.keys)]
    for one in query.aggregates:
        asked += [one.argument, one.other, one.where]
    _check(asked, columns)
    names: dict[str, Facts] = {}
    for key in query.keys:
        names |= _named(key.name, key.expression, columns)
    for step in query.steps:
        names = _check_step(step, names)
    return schema


def check_view(view: PrivateRows, tables: Mapping[str, Schema]) -> None:
    """Raise as `check_categories` does, for rows that a view names."""
    _check_relation(view.table, tables, view.schema.columns)
    _check([view.where, *view.columns.values()], view.schema.columns)


def _check_relation(relation: Relation, tables: Mapping[str, Schema], columns: Known | None = None) -> None:
    """Check a relation and all below it; `columns` are its own, where they are at hand."""
    match relation:
        case Derive(source=source, columns=made, where=where):
            asked: list[Expression | None] = [where, *(one for _, one in made)]
        case Join(left=left, right=right, on=on):
            _check_relation(left, tables)
            _check_relation(right, tables)
            _check([on], schema_of(relation, tables).columns if columns is None else columns)
            return
        case GroupWithin(source=source, keys=keys, aggregates=aggregates, where=where):
            asked = [where, *(one for _, one in keys)]
            for each in aggregates:
                asked += [each.argument, each.where]
        case Rank(source=source, partition=partition, order=order, argument=argument):
            asked = [argument, *partition, *(by.expression for by in order)]
        case Union(sources=sources):
            for one in sources:
                _check_relation(one, tables)
            return
        case _:
            return
    _check_relation(source, tables)
    if any(one is not None and _compares(one) for one in asked):
        _check(asked, schema_of(source, tables).columns)


def _check_step(step: Step, names: dict[str, Facts]) -> dict[str, Facts]:
    """Check a step on released rows, and return what is known of its outputs."""
    made: dict[str, Facts] = {}
    for output in step.outputs:
        made |= _named(output.name, output.expression, names)
    _check([step.where, *(output.expression for output in step.outputs)], names)
    _check((order.expression for order in step.order), {**names, **made})
    return made


def _named(name: str, expression: Expression, columns: Known) -> dict[str, Facts]:
    """Return what is known of an expression, under a name; nothing where that cannot be said."""
    try:
        return {name: facts_of(expression, columns)}
    except RequestError:
        return {}


def _check(expressions: Iterable[Expression | None], columns: Known) -> None:
    for call in (call for one in expressions if one is not None for call in _calls(one)):
        if call.function in _COMPARED:
            constants = [one.value for one in call.arguments if isinstance(one, Literal)]
            for compared in (one for one in call.arguments if not isinstance(one, Literal)):
                _check_constants(compared, constants, columns)


def _check_constants(compared: Expression, constants: Sequence[object], columns: Known) -> None:
    try:
        facts = typed(compared, columns)
    except RequestError:  # an aggregate, or what is refused elsewhere, and better
        return
    if facts.values is None or facts.kind not in ("text", "integer"):
        return
    for constant in constants:
        if type(constant) in (str, int) and constant not in facts.values:
            what = f"value of {compared.column or text(compared)}"
            raise UnknownName(what, str(constant), [str(value) for value in facts.values])


def _calls(expression: Expression) -> Iterator[Expression]:
    waiting, seen = [expression], set()
    while waiting:
        one = waiting.pop()
        if one.function and id(one) not in seen:
            seen.add(id(one))
            yield one
            waiting += one.arguments


def _compares(expression: Expression) -> bool:
    return any(call.function in _COMPARED for call in _calls(expression))
