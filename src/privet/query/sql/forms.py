"""Forms that say in other words what is understood: WITH ROLLUP, x = ANY (...), x IN (VALUES ...), NATURAL JOIN.

They are written anew in the parser's tree, before anything in it is read.
"""

from __future__ import annotations

from collections.abc import Sequence

from .clauses import Node, part, parts

NATURAL = "natural"
"""Marks a join of all columns that both sides have, until it is known which these are."""


def settle_forms(nodes: Sequence[Node]) -> bool:
    """Write other forms anew, and return whether there were any."""
    changed = False
    for node in nodes:
        rewrite = _FORMS.get(node.key)
        if rewrite is not None and rewrite(node):
            changed = True
    return changed


def _group(node: Node) -> bool:
    """Make GROUP BY a, b WITH ROLLUP into GROUP BY ROLLUP (a, b), and WITH CUBE likewise."""
    for word in ("rollup", "cube"):
        found = node.args.get(word)
        bare = isinstance(found, list) and len(found) == 1 and not parts(found[0], "expressions")
        if bare and parts(node, "expressions"):
            found[0].set("expressions", parts(node, "expressions"))
            node.set("expressions", found)
            node.set(word, None)
            return True
    return False


def _any(node: Node) -> bool:
    """Make x = ANY (...) into x IN (...), and x <> ALL (...) into NOT x IN (...)."""
    several = part(node, "expression")
    if several is None or several.key != {"eq": "any", "neq": "all"}[node.key]:
        return False
    from sqlglot import expressions as tree

    inner = part(several, "this")
    while inner is not None and inner.key == "paren":
        inner = part(inner, "this")
    if inner is None or inner.key not in {"select", "subquery", "tuple"}:
        return False
    listed = parts(inner, "expressions") if inner.key == "tuple" else None
    query = None if listed is not None else inner if inner.key == "subquery" else tree.Subquery(this=inner)
    made = tree.In(this=part(node, "this"), expressions=listed, query=query)
    node.replace(made if node.key == "eq" else tree.Not(this=made))
    return True


def _in(node: Node) -> bool:
    """Make x IN (VALUES (1), (2)) into x IN (1, 2)."""
    listed = parts(node, "expressions")
    if len(listed) != 1 or listed[0].key != "values" or part(listed[0], "alias") is not None:
        return False
    rows = parts(listed[0], "expressions")
    if not all(row.key == "tuple" for row in rows):
        return False
    node.set(
        "expressions", [parts(row, "expressions")[0] if len(parts(row, "expressions")) == 1 else row for row in rows]
    )
    return True


def _join(node: Node) -> bool:
    """Mark NATURAL JOIN, whose columns are known where its tables are."""
    plain = part(node, "on") is None and not parts(node, "using")
    if str(node.args.get("method") or "").upper() != "NATURAL" or not plain:
        return False
    node.set("method", None)
    node.set(NATURAL, True)
    return True


_FORMS = {"group": _group, "eq": _any, "neq": _any, "in": _in, "join": _join}
