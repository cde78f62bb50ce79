"""Translates SELECT statements: what each stands on, and what it asks of it.

A sub-query or CTE without aggregates narrows private rows; one with aggregates releases rows, and what stands on it
reshapes what was released.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from privet.core.errors import InvariantError, RequestError, Unsupported
from privet.core.expression import Column, Expression, Literal
from privet.core.schema import Schema

from .build import aggregated, narrowed, refined
from .inside import grouped, stays_within, with_ranks
from .join import kept_by, united
from .levels import Level, union_of
from .nodes import Order, Query
from .normal import conjunction
from .relation import Private, Released, Selection, Standing, has_aggregate, has_window
from .several import spread_out
from .sql_clauses import Node, part, parts, refusal
from .sql_expressions import Scope, find, translate
from .sql_from import Places, read_from
from .sql_functions import NAMES
from .sql_levels import read_groups

_LARGEST_LIMIT = 2**31
_ROWS = (
    "this lists single rows of a private table; aggregate them: SELECT COUNT(*) FROM ..., or "
    "SELECT x, AVG(y) FROM ... GROUP BY x"
)


def read_query(tree: Node, tables: Mapping[str, Schema], views: Mapping[str, Standing]) -> Query:
    """Return the query that a whole statement asks."""
    while tree.key == "subquery" and part(tree, "alias") is None:
        tree = part(tree, "this")
    relation = _relation(tree, Places(tables, views, set(views)), outermost=True)
    if not isinstance(relation, Released):
        raise InvariantError("rows that were not released reached the end of a query")
    return relation.query


def read_rows(tree: Node, tables: Mapping[str, Schema], views: Mapping[str, Standing]) -> Private:
    """Return the rows that a statement without noise makes: within people, or of public tables."""
    relation = _relation(tree, Places(tables, views, set(views)))
    if not isinstance(relation, Private):
        raise Unsupported(
            "a view is of rows that still belong to people; this one aggregates across them, and would need noise: "
            "group it by who owns the rows, or ask it as a question"
        )
    return relation


def _relation(node: Node, places: Places, *, outermost: bool = False) -> Standing:
    while node.key == "subquery" and part(node, "alias") is None:
        node = part(node, "this")
    if node.key not in {"select", "union"}:
        raise refusal(node, NAMES)
    if part(node, "with") is not None:
        places = _with(part(node, "with"), places)
    made = _select(node, places, outermost) if node.key == "select" else _union(node, places, outermost)
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


def _union(node: Node, places: Places, outermost: bool) -> Standing:
    several: list[Node] = []
    while node.key == "union":
        if node.args.get("distinct"):
            raise Unsupported("UNION merges equal rows of several people; write UNION ALL, or aggregate")
        several.append(part(node, "expression"))
        node = part(node, "this")
    several.append(node)
    found = [_relation(one, places) for one in reversed(several)]
    private = [one for one in found if isinstance(one, Private)]
    if len(private) != len(found):
        raise Unsupported("UNION ALL of released rows is not supported; ask one SELECT at a time")
    if outermost:
        raise Unsupported(_ROWS)
    return united(private)


def _select(node: Node, places: Places, outermost: bool) -> Standing:
    relation, scope = read_from(node, places, _relation)
    where, members = _where(node, scope)
    for person, query in members:
        relation = _kept(relation, person, _relation(query, places))
    outputs = _outputs(node, scope)
    aliases = {name: expression for name, expression in outputs if name is not None}
    levels = _levels(node, scope, outputs, aliases)
    asked = Selection(
        outputs=outputs,
        where=where,
        keys=union_of(levels),
        levels=levels if len(levels) > 1 else (),
        having=_condition(node, "having", replace(scope, aliases=aliases)),
        order=_order(node, replace(scope, aliases=aliases, aliases_first=True), outputs),
        distinct=_distinct(node),
        limit=_count(node, "limit"),
        offset=_count(node, "offset") or 0,
    )
    if asked.levels and (not outermost and isinstance(relation, Private) and stays_within(relation, asked)):
        raise Unsupported("GROUPING SETS, ROLLUP and CUBE stand in the outermost SELECT, which releases")
    if isinstance(relation, Released):
        return refined(relation, asked)
    if any(has_window(one) for _, one in outputs):
        if outermost:
            raise Unsupported("window functions stand in a sub-query, within one person's rows; aggregate outside it")
        relation, asked = with_ranks(relation, asked)
    released = [*(one for _, one in asked.outputs), asked.having, *(term.expression for term in asked.order)]
    if asked.keys or asked.levels or asked.having is not None or any(has_aggregate(one) for one in released):
        return (
            grouped(relation, asked) if not outermost and stays_within(relation, asked) else aggregated(relation, asked)
        )
    if outermost:
        raise Unsupported(_ROWS)
    return narrowed(relation, asked)


def _outputs(node: Node, scope: Scope) -> tuple[tuple[str | None, Expression], ...]:
    outputs: list[tuple[str | None, Expression]] = []
    for item in parts(node, "expressions"):
        if item.key == "star" or (item.key == "column" and part(item, "this").key == "star"):
            qualifier = part(item, "table") if item.key == "column" else None
            outputs += _starred(scope) if qualifier is None else scope.table(qualifier).items()
        elif item.key == "alias":
            outputs.append((part(item, "alias").name, translate(part(item, "this"), scope)))
        else:
            expression = translate(item, scope)
            outputs.append((_own_name(item, scope), expression))
    return spread_out(tuple(outputs))


def _own_name(item: Node, scope: Scope) -> str | None:
    """Return the name of a column that is shown under its own, as it is declared."""
    if item.key != "column":
        return None
    qualifier = part(item, "table")
    return find(scope.columns if qualifier is None else scope.table(qualifier), part(item, "this"))


def _starred(scope: Scope) -> list[tuple[str | None, Expression]]:
    """Return all columns of all tables, in order; one that several have, if it is the same in all, once."""
    found: dict[tuple[str, Expression], str] = {}
    for _, columns in scope.tables:
        for name, one in columns.items():
            merged = scope.columns.get(name, one)
            found.setdefault((name.casefold(), one if len(scope.tables) == 1 else merged), name)
    return [(name, one) for (_, one), name in found.items()]


def _levels(
    node: Node,
    scope: Scope,
    outputs: tuple[tuple[str | None, Expression], ...],
    aliases: Mapping[str, Expression],
) -> tuple[Level, ...]:
    group = part(node, "group")
    if group is None:
        return ()
    inner = replace(scope, aliases=aliases)
    return read_groups(group, lambda item: _ordinal(item, outputs, "GROUP BY") or translate(item, inner))


def _ordinal(item: Node, outputs: tuple[tuple[str | None, Expression], ...], clause: str) -> Expression | None:
    if item.key != "literal":
        return None
    written = str(item.args["this"])
    place = int(written) if written.isascii() and written.isdigit() and len(written) <= 6 else 0
    if item.args.get("is_string") or not 1 <= place <= len(outputs):
        raise RequestError(f"{clause} takes a column, an expression or a place from 1 to {len(outputs)}")
    return outputs[place - 1][1]


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


def _where(node: Node, scope: Scope) -> tuple[Expression | None, list[tuple[Expression, Node]]]:
    """Return the condition on rows, and apart from it each x IN (SELECT ...) that must hold."""
    found = part(node, "where")
    waiting = [] if found is None else [part(found, "this")]
    conditions: list[Expression] = []
    members: list[tuple[Expression, Node]] = []
    while waiting:
        one = waiting.pop()
        while one.key == "paren":
            one = part(one, "this")
        if one.key == "and":
            waiting += [part(one, "expression"), part(one, "this")]
        elif one.key == "in" and part(one, "query") is not None:
            members.append((translate(part(one, "this"), scope), part(one, "query")))
        else:
            conditions.append(translate(one, scope))
    return conjunction(*conditions), members


def _kept(relation: Standing, person: Expression, others: Standing) -> Standing:
    if isinstance(relation, Private) and isinstance(others, Private) and person == Column(relation.owner or ""):
        return kept_by(relation, others)
    raise Unsupported(
        "IN (SELECT ...) is supported for people only: the column that says whose row it is, IN a sub-query of that "
        "column that stays within people; its exact values would decide about everybody's rows otherwise"
    )


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
    value = translate(part(found, "expression"), Scope({})) if part(found, "expression").key == "literal" else None
    number = value.value if isinstance(value, Literal) else None
    if isinstance(number, bool) or not isinstance(number, int) or number > _LARGEST_LIMIT:
        raise Unsupported(f"{clause.upper()} takes a constant whole number of at most {_LARGEST_LIMIT}")
    return number
