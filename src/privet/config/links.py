"""Links between tables as privet.toml writes them: `visit_id -> visits.id`, and where they lead."""

from __future__ import annotations

import re
from collections.abc import Container, Mapping
from typing import Any

from privet.core.errors import BadParameter
from privet.core.schema import Column
from privet.core.unit import Link, Rows, Unit

from .problems import Section, nearest

_LINK = re.compile(r"\s*(?P<via>\S(?:.*\S)?)\s*->\s*(?P<to>[^.]*[^.\s])\s*\.\s*(?P<column>\S(?:.*\S)?)\s*")

Facts = tuple[Unit, Mapping[str, Column]]


def read_link(value: object) -> Link:
    """Return the link that a text writes: a column, an arrow, a table, a dot, and the column that it leads to."""
    found = _LINK.fullmatch(value) if isinstance(value, str) and len(value) <= 1000 else None
    if found is None:
        raise BadParameter("link", value, 'a column and whose key it is, such as "visit_id -> visits.id"')
    return Link(found["via"], found["to"].strip(), found["column"])


def check_links(sections: Mapping[str, Section], tables: Mapping[str, Facts], public: Container[str]) -> None:
    """Note every link that does not lead from a column to one of the same kind, in a table that has people."""
    for name, (link, columns) in tables.items():
        if isinstance(link, Link):
            for message in _wrong(name, link, columns, sections, tables, public):
                sections[name].problem("link", message)


def _wrong(
    name: str,
    link: Link,
    columns: Mapping[str, Column],
    sections: Mapping[str, Section],
    tables: Mapping[str, Facts],
    public: Container[str],
) -> list[str]:
    if link.via not in columns:
        return [f"names a column {link.via!r} that is not listed under columns; {nearest(link.via, columns)}"]
    if link.to not in sections:
        why = "is public, so nobody owns its rows" if link.to in public else "is not declared"
        return [f"the table {link.to!r} {why}; {nearest(link.to, sections.keys() - {name})}"]
    if _owner(name, {table: unit for table, (unit, _) in tables.items()}) is None:
        return ["leads back to where it started; one table on the way must have a unit"]
    if link.to not in tables:
        return []  # what is wrong with that table is told where it stands
    unit, others = tables[link.to]
    if link.column not in others:
        return [f"table {link.to!r} has no column {link.column!r}; {nearest(link.column, others)}"]
    if columns[link.via].kind != others[link.column].kind:
        return [f"{link.via!r} and {link.column!r} of {link.to!r} must be declared as the same kind"]
    if isinstance(unit, Rows):
        return [f"table {link.to!r} protects each row by itself; give it a unit column, or link elsewhere"]
    return []


def neighbors_of(name: str, facts: Mapping[str, Mapping[str, Any]]) -> Any:
    """Return the neighbouring relation of the table that owns the rows of another."""
    owner = _owner(name, {table: one["unit"] for table, one in facts.items()})
    return facts[name if owner is None or owner not in facts else owner]["neighbors"]


def _owner(name: str, units: Mapping[str, Unit]) -> str | None:
    """Return the table that links lead to in the end; None where they lead in a circle."""
    seen = set[str]()
    while isinstance(unit := units.get(name), Link):
        if name in seen:
            return None
        seen.add(name)
        name = unit.to
    return name
