"""Translates SELECT statements: what each stands on, and what it asks of it.

A sub-query or CTE without aggregates narrows private rows; one with aggregates releases rows, and what stands on it
reshapes what was released.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from privet.core.errors import InvariantError, RequestError, UnknownName, Unsupported
from privet.core.expression import Column, Expression, Literal
from privet.core.schema import Schema

from .build import aggregated, narrowed, refined
from .nodes import Order, Query
from .relation import Private, Relation, Released, Selection, has_aggregate
from .sql_clauses import Node, part, parts, refusal
from .sql_expressions import Scope, find, translate
from .sql_functions import NAMES

_LARGEST_LIMIT = 2**31


@dataclass(frozen=True)
class Places:
    """What FROM can name: the tables, and the CTEs that are in sight; `used` gathers the CTEs that were named."""

    tables: Mapping[str, Schema]
    ctes: Mapping[str, Relation]
    used: set[str]


def read_query(tree: Node, tables: Mapping[str, Schema]) -> Query:
    """Return the query that a whole statement asks."""
    while tree.key == "subquery" and part(tree, "alias") is None:
        tree = part(tree, "this")
    if tree.key != "select":
        raise refusal(tree, NAMES)
    relation = _relation(tree, Places(tables, {}, set()), outermost=True)
    if not isinstance(relation, Released):
        raise InvariantError("rows that were not released reached the end of a query")
    return relation.query


def _relation(node: Node, places: Places, *, outermost: bool = False) -> Relation:
    if node.key != "select":
        raise refusal(node, NAMES)
    if part(node, "with") is not None:
        places = _with(part(node, "with"), places)
    made = _select(node, places, outermost)
    if part(node, "with") is not None:
        unused = sorted(set(places.ctes) - places.used)
        if unused:
            raise Unsupported(f"WITH {unused[0]!r} is never used; leave it out")
    return made


def _with(node: Node, places: Places) -> Places:
    ctes, own = dict(places.ctes), set()
    used = set(places.ctes)  # an outer CTE is answered for where it was made
    for cte in parts(node, "expressions"):
        name = part(part(cte, "alias"), "this").name
        if name.casefold() in own:
            raise RequestError(f"two CTEs are called {name!r}; give each its own name")
        own.add(name.casefold())
        made = _relation(part(cte, "this"), Places(places.tables, dict(ctes), used))
        for hidden in [known for known in ctes if known.casefold() == name.casefold()]:
            del ctes[hidden]
        ctes[name] = made
        used.discard(name)
    return Places(places.tables, ctes, used)


def _select(node: Node, places: Places, outermost: bool) -> Relation:
    relation, scope = _source(node, places)
    outputs = _outputs(node, scope)
    aliases = {name: expression for name, expression in outputs if name is not None}
    asked = Selection(
        outputs=outputs,
        where=_condition(node, "where", scope),
        keys=_keys(node, scope, outputs, aliases),
        having=_condition(node, "having", replace(scope, aliases=aliases)),
        order=_order(node, replace(scope, aliases=aliases, aliases_first=True), outputs),
        distinct=_distinct(node),
        limit=_count(node, "limit"),
        offset=_count(node, "offset") or 0,
    )
    if isinstance(relation, Released):
        return refined(relation, asked)
    released = [*(one for _, one in outputs), asked.having, *(term.expression for term in asked.order)]
    if asked.keys or asked.having is not None or any(has_aggregate(one) for one in released):
        return aggregated(relation, asked)
    if outermost:
        raise Unsupported(
            "this lists single rows of a private table; aggregate them: SELECT COUNT(*) FROM ..., or "
            "SELECT x, AVG(y) FROM ... GROUP BY x"
        )
    return narrowed(relation, asked)


def _source(node: Node, places: Places) -> tuple[Relation, Scope]:
    origin = part(node, "from")
    if origin is None:
        raise Unsupported("a query reads a table: SELECT ... FROM " + (next(iter(sorted(places.tables)), "...")))
    place = part(origin, "this")
    alias = part(place, "alias")
    name = None if alias is None else part(alias, "this").name
    if place.key == "subquery":
        relation, own = _relation(part(place, "this"), places), ""
    elif place.key == "table" and part(place, "this").key == "identifier":
        relation, own = _named(part(place, "this"), places)
    elif place.key == "table":
        raise Unsupported("functions cannot stand in FROM; name a declared table: " + ", ".join(sorted(places.tables)))
    else:
        raise refusal(place, NAMES)
    columns = relation.columns if isinstance(relation, Private) else {one: Column(one) for one in relation.facts}
    owner = relation.owner if isinstance(relation, Private) else None
    return relation, Scope(columns, name or own, owner)


def _named(identifier: Node, places: Places) -> tuple[Relation, str]:
    found = find(places.ctes, identifier)
    if found is not None:
        places.used.add(found)
        return places.ctes[found], found
    found = find(places.tables, identifier)
    if found is None:
        raise UnknownName("table", identifier.name, (*places.tables, *places.ctes))
    return Private.of(found, places.tables[found]), found


def _outputs(node: Node, scope: Scope) -> tuple[tuple[str | None, Expression], ...]:
    outputs: list[tuple[str | None, Expression]] = []
    for item in parts(node, "expressions"):
        if item.key == "star" or (item.key == "column" and part(item, "this").key == "star"):
            if (
                item.key == "column"
                and part(item, "table") is not None
                and find((scope.table,), part(item, "table")) is None
            ):
                raise UnknownName("table", part(item, "table").name, (scope.table,))
            outputs += scope.columns.items()
        elif item.key == "alias":
            outputs.append((part(item, "alias").name, translate(part(item, "this"), scope)))
        else:
            expression = translate(item, scope)
            own = part(item, "this").name if item.key == "column" else None
            known = None if own is None else find(scope.columns, part(item, "this"))
            outputs.append((None if known is None else known, expression))
    return tuple(outputs)


def _keys(
    node: Node,
    scope: Scope,
    outputs: tuple[tuple[str | None, Expression], ...],
    aliases: Mapping[str, Expression],
) -> tuple[Expression, ...]:
    group = part(node, "group")
    if group is None:
        return ()
    found = [
        _ordinal(item, outputs, "GROUP BY") or translate(item, replace(scope, aliases=aliases))
        for item in parts(group, "expressions")
    ]
    if not found:
        raise Unsupported("GROUP BY needs grouping columns; list them")
    return tuple(found)


def _ordinal(item: Node, outputs: tuple[tuple[str | None, Expression], ...], clause: str) -> Expression | None:
    if item.key != "literal":
        return None
    written = str(item.args["this"])
    if item.args.get("is_string") or not written.isdigit() or len(written) > 6 or not 1 <= int(written) <= len(outputs):
        raise RequestError(f"{clause} takes a column, an expression or a place from 1 to {len(outputs)}")
    return outputs[int(written) - 1][1]


def _order(node: Node, scope: Scope, outputs: tuple[tuple[str | None, Expression], ...]) -> tuple[Order, ...]:
    if part(node, "order") is None:
        return ()
    terms = []
    for item in parts(part(node, "order"), "expressions"):
        if item.key != "ordered":
            raise refusal(item, NAMES)
        what = part(item, "this")
        inner = scope if what.key == "column" else replace(scope, aliases_first=False)
        expression = _ordinal(what, outputs, "ORDER BY") or translate(what, inner)
        terms.append(Order(expression, bool(item.args.get("desc")), bool(item.args.get("nulls_first"))))
    return tuple(terms)


def _condition(node: Node, clause: str, scope: Scope) -> Expression | None:
    found = part(node, clause)
    return None if found is None else translate(part(found, "this"), scope)


def _distinct(node: Node) -> bool:
    found = part(node, "distinct")
    if found is not None and parts(found, "expressions"):
        raise refusal(found, NAMES)
    return found is not None


def _count(node: Node, clause: str) -> int | None:
    found = part(node, clause)
    if found is None:
        return None
    value = translate(part(found, "expression"), Scope({}, "")) if part(found, "expression").key == "literal" else None
    number = value.value if isinstance(value, Literal) else None
    if isinstance(number, bool) or not isinstance(number, int) or number > _LARGEST_LIMIT:
        raise Unsupported(f"{clause.upper()} takes a constant whole number of at most {_LARGEST_LIMIT}")
    return number
