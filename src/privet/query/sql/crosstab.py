"""Reads PIVOT: groups by what becomes columns as well, then puts the released numbers of each value into its column.

The numbers are released once, in disjoint groups; turning them costs nothing. The columns are listed, or declared.
"""

from __future__ import annotations

from privet.core.errors import RequestError, Unsupported
from privet.core.relation import ColumnRef, Expression, Literal
from privet.query.build import aggregated, refined
from privet.query.functions import mentions, typed
from privet.query.nodes import MARK, PrivateRows, ReleasedRows, Select, Standing, aggregate, is_aggregate, label
from privet.query.normal import call

from .clauses import Node, part, parts
from .translate import Scope, translate

MOST_COLUMNS = 200
"""The most values that become columns."""

_FORM = "write PIVOT (COUNT(*) FOR sex IN ('F', 'M')), or PIVOT t ON sex IN ('F', 'M') USING COUNT(*) GROUP BY city"


def pivoted(standing: Standing, node: Node) -> ReleasedRows:
    """Return rows with a column for each listed value of one column, and for each aggregate."""
    scope = Scope(standing.columns, owner=standing.owner)
    fields = parts(node, "fields") or parts(node, "expressions")
    wanted = parts(node, "using") or (parts(node, "expressions") if parts(node, "fields") else [])
    if len(fields) != 1 or not wanted:
        raise Unsupported(f"PIVOT turns one column, by some aggregates; {_FORM}")
    field = fields[0]
    over = translate(part(field, "this") if field.key == "in" else field, scope)
    values = _values(field, over, standing, scope)
    asked = [_aggregate(one, scope) for one in wanted]
    groups = _groups(node, standing, scope, {over, *(one for _, one in asked)})
    names = _names(node, values, asked)
    listed = [*((name, one) for name, one in groups), ("privet column", over)]
    numbers = [(f"privet {place}", one) for place, (_, one) in enumerate(asked)]
    inner = Select(
        outputs=(*listed, *numbers),
        keys=tuple(one for _, one in listed),
        where=call("in", over, *(Literal(value) for _, value in values)),  # type: ignore[arg-type]
    )
    rows = aggregated(standing, inner) if isinstance(standing, PrivateRows) else refined(standing, inner)
    cells = iter(names)
    outputs: list[tuple[str | None, Expression]] = [(name, ColumnRef(name)) for name, _ in groups]
    for _, value in values:
        here = call("equal", ColumnRef("privet column"), Literal(value))  # type: ignore[arg-type]
        for (own, _), (_, marked) in zip(numbers, asked, strict=True):
            cell: Expression = aggregate("any_value", ColumnRef(own), here)
            # a count of no rows is 0
            cell = call("coalesce", cell, Literal(0)) if marked.function.startswith(f"{MARK}count") else cell
            outputs.append((next(cells), cell))
    return refined(rows, Select(outputs=tuple(outputs), keys=tuple(ColumnRef(name) for name, _ in groups)))


def _values(field: Node, over: Expression, standing: Standing, scope: Scope) -> list[tuple[str, object]]:
    """Return the values that become columns, each with its name: those that are listed, or else declared."""
    found: list[tuple[str, object]] = []
    if field.key == "in":
        for one in parts(field, "expressions"):
            said = translate(part(one, "this") if one.key == "pivotalias" else one, scope)
            if not isinstance(said, Literal) or said.value is None:
                raise Unsupported(f"the values that become columns are constants; {_FORM}")
            shown = part(one, "alias").name if one.key == "pivotalias" else _shown(said.value)
            found.append((shown, said.value))
    else:
        facts = standing.schema.columns if isinstance(standing, PrivateRows) else standing.facts
        declared = typed(over, facts).values
        if declared is None:
            raise Unsupported(
                f"the values of {label(over)} are not declared, and private ones cannot become columns; list them: ON "
                f"{label(over)} IN ('a', 'b')"
            )
        found = [(_shown(value), value) for value in sorted(value for value in declared if value is not None)]
    if not 1 <= len(found) <= MOST_COLUMNS:
        raise Unsupported(f"PIVOT makes columns of 1 to {MOST_COLUMNS} values; list those that you need")
    if len({value for _, value in found}) < len(found):
        raise RequestError("a value comes twice in the list of PIVOT; name each once")
    return found


def _shown(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _aggregate(node: Node, scope: Scope) -> tuple[str | None, Expression]:
    name = part(node, "alias").name if node.key == "alias" else None
    made = translate(part(node, "this") if node.key == "alias" else node, scope)
    if not is_aggregate(made):
        raise Unsupported(f"PIVOT takes aggregates by themselves; {_FORM}")
    return name, made


def _groups(node: Node, standing: Standing, scope: Scope, used: set[Expression]) -> list[tuple[str, Expression]]:
    """Return the columns of the rows: those that are listed, or all that nothing else names."""
    group = part(node, "group")
    if group is not None:
        made = [(one, translate(one, scope)) for one in parts(group, "expressions")]
        return [(one.name if one.key == "column" else label(expression), expression) for one, expression in made]
    hidden: set[str] = set().union(*map(mentions, used))
    return [(name, one) for name, one in standing.columns.items() if not mentions(one) & hidden]


def _names(node: Node, values: list[tuple[str, object]], asked: list[tuple[str | None, Expression]]) -> list[str]:
    """Return the names of the new columns: the value's, with the aggregate's where there are several or it has one."""
    if len(asked) == 1 and asked[0][0] is None:
        return [name for name, _ in values]
    return [f"{name}_{own or label(one)}" for name, _ in values for own, one in asked]
