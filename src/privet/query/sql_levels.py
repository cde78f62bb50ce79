"""Reads GROUP BY, with GROUPING SETS, ROLLUP and CUBE, from the parser's tree."""

from __future__ import annotations

from collections.abc import Callable

from privet.core.errors import Unsupported
from privet.core.expression import Expression

from .levels import Level, crossed, cubed, rolled_up
from .sql_clauses import Node, part, parts

Read = Callable[[Node], Expression]


def read_groups(group: Node, read: Read) -> tuple[Level, ...]:
    """Return the levels of a GROUP BY: one, unless it says more."""
    items = parts(group, "expressions")
    if not items:
        raise Unsupported("GROUP BY needs grouping columns; list them")
    return crossed([_levels(item, read) for item in items])


def _levels(item: Node, read: Read) -> tuple[Level, ...]:
    inner = parts(item, "expressions") if item.key in _SEVERAL else []
    if item.key in ("rollup", "cube") and not inner:
        raise Unsupported(f"{item.key.upper()} needs columns: GROUP BY {item.key.upper()} (a, b)")
    if item.key == "rollup":
        return rolled_up([_level(one, read) for one in inner])
    if item.key == "cube":
        return cubed([_level(one, read) for one in inner])
    if item.key == "groupingsets":
        return tuple(level for one in inner for level in _levels(one, read))
    return (_level(item, read),)


def _level(item: Node, read: Read) -> Level:
    """Return what one set in brackets groups by; () is the grand total."""
    if item.key == "tuple":
        return tuple(dict.fromkeys(read(one) for one in parts(item, "expressions")))
    while item.key == "paren":
        item = part(item, "this")
    return (read(item),)


_SEVERAL = frozenset(("rollup", "cube", "groupingsets"))
