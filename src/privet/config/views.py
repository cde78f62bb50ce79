"""Views as privet.toml writes them: names for SELECTs over the tables whose rows still belong to people."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from privet.core.errors import RequestError
from privet.core.links import followed
from privet.core.relation import tables_of
from privet.core.schema import Table
from privet.query.relation import Private
from privet.query.sql import MOST_CHARACTERS, parse_view

from .problems import Section
from .scalars import text


def read_views(root: Section, tables: Mapping[str, Table]) -> dict[str, str]:
    """Return the views that are declared well, in their order; each may use those before it."""
    section = root.section("views", '[views] with adults = "SELECT * FROM visits WHERE age >= 18"')
    if section is None:
        return {}
    found = {name: section.read(name, text(name, most=MOST_CHARACTERS), "") for name in section.data}
    section.finish()
    if root.problems.found:  # what is wrong with the tables is told first
        return {}
    read: dict[str, Private] = {}
    schemas = followed({name: table.schema for name, table in tables.items()})
    taken = {name.casefold() for name in schemas}
    for name, sql in found.items():
        if name.casefold() in taken:
            section.problem(name, "is the name of a table or of another view; give it one of its own")
            continue
        taken.add(name.casefold())
        try:
            read[name] = parse_view(sql, schemas, read)
        except RequestError as error:
            section.problem(name, str(error))
    return found


def views_about(views: Mapping[str, str], tables: Mapping[str, Table], about: Collection[str]) -> dict[str, str]:
    """Return the views of those tables that may be asked about."""
    schemas = followed({name: table.schema for name, table in tables.items()})
    read: dict[str, Private] = {}
    for name, sql in views.items():
        read[name] = parse_view(sql, schemas, read)
    return {name: views[name] for name, one in read.items() if set(tables_of(one.table)) <= set(about)}
