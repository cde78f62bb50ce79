"""Reads FROM: tables, sub-queries and CTEs, and the joins between them, into rows to stand on and names to use."""

from __future__ import annotations

import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from privet.core.errors import RequestError, UnknownName, Unsupported
from privet.core.expression import Column, Expression
from privet.core.schema import Schema

from .join import Columns, join, pair
from .normal import call, conjunction
from .relation import Private, Standing
from .sql_clauses import Node, part, parts, refusal
from .sql_expressions import Scope, find, translate
from .sql_functions import NAMES

Side = typing.Literal["inner", "left", "right"]


@dataclass(frozen=True)
class Places:
    """What FROM can name: the tables, and the CTEs and views in sight; `used` gathers the CTEs that were named."""

    tables: Mapping[str, Schema]
    ctes: Mapping[str, Standing]
    used: set[str]


Read = Callable[[Node, Places], Standing]


def read_from(node: Node, places: Places, read: Read) -> tuple[Standing, Scope]:
    """Return what a SELECT stands on, and the names it may use; `read` reads a sub-query."""
    origin = part(node, "from")
    if origin is None:
        raise Unsupported("a query reads a table: SELECT ... FROM " + (next(iter(sorted(places.tables)), "...")))
    first, name = _place(part(origin, "this"), places, read)
    joins = parts(node, "joins")
    if not joins:
        columns = first.columns if isinstance(first, Private) else {one: Column(one) for one in first.facts}
        owner = first.owner if isinstance(first, Private) else None
        return first, Scope.over(((name, columns),), owner)
    standing = _private(first)
    sides: list[tuple[str, Columns]] = [(name, standing.columns)]
    merged: dict[str, Expression] = {}
    for one in joins:
        standing, sides, merged = _joined(one, standing, sides, merged, places, read)
    every = {column: found for _, columns in reversed(sides) for column, found in columns.items()}
    scope = Scope.over(tuple(sides), standing.owner, merged)
    return _with_columns(standing, every), scope


def _joined(
    node: Node,
    left: Private,
    sides: list[tuple[str, Columns]],
    merged: dict[str, Expression],
    places: Places,
    read: Read,
) -> tuple[Private, list[tuple[str, Columns]], dict[str, Expression]]:
    kind = _kind(node)
    made, name = _place(part(node, "this"), places, read)
    right = _private(made)
    if name and any(known.casefold() == name.casefold() for known, _ in sides):
        raise RequestError(f"two tables in FROM are called {name!r}; give each a name of its own: JOIN {name} AS other")
    # what is known so far stands in one mapping, so that the join can rename it as a whole
    flat = {f"{place} {column}": one for place, (_, columns) in enumerate(sides) for column, one in columns.items()}
    flat |= {f"using {column}": one for column, one in merged.items()}
    both = pair(_with_columns(left, flat), right, kind)
    mine, theirs = both.sides
    old = _unflat(mine, sides)
    scope = Scope.over((*old, (name, theirs)), None, _using(mine))
    on = None if part(node, "on") is None else translate(part(node, "on"), scope)
    shared: dict[str, tuple[Expression, Expression]] = {}
    for identifier in parts(node, "using"):
        before = Scope.over(tuple(old), None, _using(mine)).named(identifier)
        after = Scope.over(((name, theirs),), None).named(identifier)
        shared[identifier.name] = (before, after)
    on = conjunction(on, *(call("equal", *two) for two in shared.values()))
    standing, mine, theirs = join(both, on)
    found = [*_unflat(mine, sides), (name, theirs)]
    kept = _using(mine)
    for identifier in parts(node, "using"):
        which = theirs if kind == "right" else None
        scope = Scope.over((found[-1],) if which is not None else tuple(found[:-1]), None, {} if which else kept)
        kept[identifier.name] = scope.named(identifier)
    return standing, found, kept


def _unflat(flat: Columns, sides: list[tuple[str, Columns]]) -> list[tuple[str, Columns]]:
    return [
        (name, {column: flat[f"{place} {column}"] for column in columns}) for place, (name, columns) in enumerate(sides)
    ]


def _using(flat: Columns) -> dict[str, Expression]:
    return {name.removeprefix("using "): one for name, one in flat.items() if name.startswith("using ")}


def _kind(node: Node) -> Side:
    side, kind = str(node.args.get("side") or "").upper(), str(node.args.get("kind") or "").upper()
    if side == "FULL":
        raise Unsupported(
            "FULL JOIN is not supported: a row of only one side would have its owner from either; use LEFT JOIN"
        )
    if side not in {"", "LEFT", "RIGHT"} or kind not in {"", "INNER", "OUTER", "CROSS"}:
        raise Unsupported(f"{kind or side} JOIN is not supported; use JOIN ... ON or LEFT JOIN ... ON")
    if side and part(node, "on") is None and not parts(node, "using"):
        raise Unsupported(f"{side} JOIN needs an ON")
    return "left" if side == "LEFT" else "right" if side == "RIGHT" else "inner"


def _place(place: Node, places: Places, read: Read) -> tuple[Standing, str]:
    """Return one thing that FROM names, and the name by which its columns may be qualified."""
    alias = part(place, "alias")
    name = None if alias is None else part(alias, "this").name
    if place.key == "subquery":
        return read(part(place, "this"), places), name or ""
    if place.key == "table" and part(place, "this").key == "identifier":
        found, own = _named(part(place, "this"), places)
        return found, name or own
    if place.key == "table":
        raise Unsupported("functions cannot stand in FROM; name a declared table: " + ", ".join(sorted(places.tables)))
    raise refusal(place, NAMES)


def _named(identifier: Node, places: Places) -> tuple[Standing, str]:
    found = find(places.ctes, identifier)
    if found is not None:
        places.used.add(found)
        return places.ctes[found], found
    found = find(places.tables, identifier)
    if found is None:
        raise UnknownName("table", identifier.name, (*places.tables, *places.ctes))
    return Private.of(found, places.tables[found], places.tables), found


def _private(standing: Standing) -> Private:
    if not isinstance(standing, Private):
        raise Unsupported(
            "a sub-query that aggregates over people releases rows, and cannot be joined to others; group it by who "
            "owns the rows to stay within each person, or ask it by itself"
        )
    return standing


def _with_columns(standing: Private, columns: Columns) -> Private:
    return replace(standing, columns=columns)
