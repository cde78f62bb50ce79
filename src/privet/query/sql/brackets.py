"""Joins in brackets as a plain list of joins: FROM (a JOIN b ON ...) JOIN c ON ..., and a JOIN (b JOIN c ON ...) ON ...

Brackets on the left change nothing. On the right they do so for outer joins, which are refused there; for others, the
condition of the brackets is one more condition of WHERE, since an inner join keeps the pairs that meet it.
"""

from __future__ import annotations

from collections.abc import Sequence

from privet.core.errors import Unsupported

from .clauses import Node, part, parts


def without_brackets(nodes: Sequence[Node]) -> None:
    """Take the brackets around joins out of every FROM."""
    if any(node.key == "subquery" and _is_joined(node) for node in nodes):
        for node in nodes:
            if node.key == "select" and part(node, "from") is not None:
                _open(node)


def _is_joined(node: Node) -> bool:
    return part(node, "this") is not None and part(node, "this").key == "table" and part(node, "alias") is None


def _open(select: Node) -> None:
    origin = part(select, "from")
    first, joins = part(origin, "this"), parts(select, "joins")
    while first.key == "subquery" and _is_joined(first):
        joins = [*_taken(part(first, "this")), *parts(first, "joins"), *joins]
        first = part(first, "this")
    origin.set("this", first)
    plain: list[Node] = []
    for one in joins:
        place = part(one, "this")
        if place.key != "subquery" or not _is_joined(place):
            plain.append(one)
            continue
        inner = _taken(part(place, "this"))
        if any(not _is_inner(other) for other in (one, *inner)) or any(_turns(other) for other in joins):
            raise Unsupported(
                "brackets around joins on the right of an outer join are not supported; write a sub-query with names "
                "for its columns, or join one table after the other"
            )
        condition = part(one, "on")
        if condition is None:
            raise Unsupported("a join with brackets on its right needs an ON")
        one.set("this", part(place, "this"))
        one.set("on", None)
        one.set("kind", None)
        plain += [one, *inner]
        _also(select, condition)
    select.set("joins", plain)


def _taken(table: Node) -> list[Node]:
    """Return the joins that stand beside a table within its brackets, and take them from it."""
    found = parts(table, "joins")
    table.set("joins", None)
    return found


def _is_inner(join: Node) -> bool:
    return not join.args.get("side") and str(join.args.get("kind") or "").upper() in {"", "INNER", "CROSS"}


def _turns(join: Node) -> bool:
    return str(join.args.get("side") or "").upper() in {"RIGHT", "FULL"}


def _also(select: Node, condition: Node) -> None:
    from sqlglot.expressions import And, Where

    where = part(select, "where")
    if where is None:
        select.set("where", Where(this=condition))
    else:
        where.set("this", And(this=part(where, "this"), expression=condition))
