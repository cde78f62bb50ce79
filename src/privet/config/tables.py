"""Tables as privet.toml writes them: where the rows are, who is protected, what is public, how tables are linked."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from privet.core.errors import BadParameter, RequestError
from privet.core.schema import DEFAULT_ROWS, Contribution, Schema, Table
from privet.core.sensitivity import Neighbors
from privet.core.unit import Person, Rows, Unit
from privet.engines.sources import DatabaseTable

from .columns import read_columns
from .problems import Section, nearest
from .scalars import integer, label, path_in, pattern_in, text
from .values import Link, LinkedTable, PublicTable

_LINK = re.compile(r"\s*(?P<column>\S(?:.*\S)?)\s*->\s*(?P<table>[^.]*[^.\s])\s*\.\s*(?P<target>\S(?:.*\S)?)\s*")
_NEIGHBORS: tuple[Neighbors, ...] = ("add-remove", "change-one")
_UNIT = 'unit = "patient_id" (the column that says whose row it is) or unit = "rows" (each row by itself)'


@dataclass(frozen=True)
class Tables:
    """The tables of a file, by what they protect."""

    private: dict[str, Table]
    linked: dict[str, LinkedTable]
    public: dict[str, PublicTable]


def read_tables(root: Section, folder: Path) -> Tables:
    """Return every table that is declared well, and note what is wrong with the others."""
    tables, public = root.section("tables", "[tables.visits]"), root.section("public", "[public.wards]")
    if (tables is None and not root.has("tables")) or (tables is not None and not tables.data):
        root.problem("tables", "no table is declared; write one or more, such as [tables.visits]")
    private, linked = dict[str, Table](), dict[str, LinkedTable]()
    owners = {} if tables is None else tables.sections("[tables.visits]")
    for name, section in owners.items():
        made = _table(section, folder)
        if isinstance(made, Table):
            private[name] = made
        elif made is not None:
            linked[name] = made
    others = {} if public is None else public.sections("[public.wards]")
    read = {name: _public(section, folder) for name, section in others.items()}
    shared = {name: table for name, table in read.items() if table is not None}
    _check_names(owners, others)
    _check_links(owners, private, linked, shared)
    return Tables(private, linked, shared)


def _table(section: Section, folder: Path) -> Table | LinkedTable | None:
    before = len(section.problems.found)
    source = section.need("source", _source(folder), 'the path of its rows, such as source = "data/visits.parquet"')
    columns = read_columns(section)
    unit = section.read("unit", _unit(section), None)
    link = section.read("link", _link, None)
    if not section.has("unit") and not section.has("link"):
        section.problem(None, f'nothing says who is protected; write {_UNIT}, or link = "visit_id -> visits.id"')
    if section.has("unit") and section.has("link"):
        section.problem("link", "a table has a unit of its own or is linked to one, not both; keep one of them")
    facts: dict[str, Any] = {
        "contribution": section.read("contribution", _contribution(section), Contribution()),
        "rows": section.read("rows", integer("rows", least=1, most=2**50), DEFAULT_ROWS),
        "version": section.read("version", label, ""),
    }
    owned = {
        "neighbors": section.read("neighbors", _neighbors, _NEIGHBORS[0]),
        "units": section.read("units", integer("units", least=1, most=2**50), None),
    }
    for key in owned:
        if link is not None and section.has(key):
            section.problem(key, "belongs to the table that has the unit; leave it out here")
    section.finish()
    listed = section.data.get("columns")
    if isinstance(unit, Person) and isinstance(listed, dict) and unit.column not in listed:
        advice = nearest(unit.column, listed)
        section.problem("unit", f"names a column {unit.column!r} that is not listed under columns; {advice}")
    if source is None or len(section.problems.found) > before or (unit is None and link is None):
        return None
    if link is not None:
        return LinkedTable(source=source, columns=columns, link=link, **facts)
    return _owner(section, source, unit, columns, {**facts, **owned})


def _owner(section: Section, source: object, unit: Any, columns: Any, facts: dict[str, Any]) -> Table | None:
    try:
        return Table(source, unit=unit, columns=columns, **facts)
    except BadParameter as error:
        section.problem(error.parameter, f"must be {error.allowed}; got {error.value}")
    except RequestError as error:
        section.problem(None, str(error))
    return None


def _public(section: Section, folder: Path) -> PublicTable | None:
    before = len(section.problems.found)
    source = section.need("source", _source(folder), 'the path of its rows, such as source = "data/wards.csv"')
    columns, version = read_columns(section), section.read("version", label, "")
    for key in ("unit", "link", "neighbors", "contribution", "units"):
        if section.has(key):
            section.problem(key, "a public table protects nobody; leave it out, or declare the table under [tables]")
    section.finish()
    if source is None or len(section.problems.found) > before:
        return None
    return PublicTable(source=source, columns=columns, version=version)


def _source(folder: Path) -> Callable[[object], object]:
    pattern = pattern_in(folder, "source")

    def read(value: object) -> object:
        if isinstance(value, list) and value:
            return tuple(pattern(one) for one in value)
        if isinstance(value, dict):
            known = {"database", "table", "schema"}
            if not {"database", "table"} <= value.keys() <= known:
                raise BadParameter("source", value, '{ database = "hospital.duckdb", table = "visits" }')
            path = path_in(folder, "database")(value["database"])
            name, place = text("table")(value["table"]), text("schema")(value.get("schema", "main"))
            return DatabaseTable(str(path), name, place)
        return pattern(value)

    return read


def _unit(section: Section) -> Callable[[object], Unit]:
    def read(value: object) -> Unit:
        if isinstance(value, dict) and len(value.keys() & {"person", "rows"}) == 1 and value.keys() <= _UNIT_KEYS:
            if "rows" in value:
                return Rows(integer("rows", least=1, most=10**6)(value["rows"]))
            return Person(text("person")(value["person"]), integer("group", least=1, most=10**6)(value.get("group", 1)))
        if value == "rows":
            listed = section.data.get("columns")
            if isinstance(listed, dict) and "rows" in listed:
                raise RequestError(
                    'may mean each row, or the column "rows"; write { rows = 1 } or { person = "rows" } instead'
                )
            return Rows()
        if not isinstance(value, str) or not value.strip():
            raise BadParameter("unit", value, 'the name of a column, "rows", or { person = "patient_id", group = 2 }')
        return Person(value)

    return read


_UNIT_KEYS = {"person", "rows", "group"}


def _link(value: object) -> Link:
    found = _LINK.fullmatch(value) if isinstance(value, str) else None
    if found is None:
        raise BadParameter("link", value, 'a column and whose key it is, such as "visit_id -> visits.id"')
    return Link(found["column"], found["table"].strip(), found["target"])


def _neighbors(value: object) -> Neighbors:
    for known in _NEIGHBORS:
        if value == known:
            return known
    raise BadParameter("neighbors", value, '"add-remove" or "change-one"')


def _contribution(section: Section) -> Callable[[object], Contribution]:
    def read(value: object) -> Contribution:
        if not isinstance(value, dict):
            raise BadParameter("contribution", value, "{ groups = 3, rows = 2 }")
        inner = Section(value, (*section.path, "contribution"), section.problems)
        groups = inner.read("groups", integer("groups", least=1, most=10**6), 1)
        rows = inner.read("rows", integer("rows", least=1, most=10**6), 1)
        inner.finish()
        return Contribution(groups=groups, rows=rows)

    return read


def _check_names(owners: dict[str, Section], others: dict[str, Section]) -> None:
    folded: dict[str, str] = {}
    for section in (*owners.values(), *others.values()):
        name = str(section.path[-1])
        if not name.strip() or "\x00" in name or len(name) > 200:
            section.problem(None, "must be the name of a table, of 1 to 200 characters")
        if name.casefold() in folded:
            section.problem(None, f"there is a table {folded[name.casefold()]!r} already; rename one of them")
        folded.setdefault(name.casefold(), name)


def _check_links(
    owners: dict[str, Section],
    private: dict[str, Table],
    linked: dict[str, LinkedTable],
    public: dict[str, PublicTable],
) -> None:
    for name, table in linked.items():
        problem, link = owners[name].problem, table.link
        target = linked.get(link.table) or (private[link.table].schema if link.table in private else None)
        if link.column not in table.columns:
            problem("link", f"names a column {link.column!r} that is not listed; {nearest(link.column, table.columns)}")
        if target is None and link.table not in owners:
            why = "is public, so it has no unit" if link.table in public else "is not declared"
            problem("link", f"the table {link.table!r} {why}; {nearest(link.table, owners.keys() - {name})}")
        elif isinstance(target, (LinkedTable, Schema)):
            if link.target not in target.columns:
                advice = nearest(link.target, target.columns)
                problem("link", f"table {link.table!r} has no column {link.target!r}; {advice}")
            elif link.column in table.columns and table.columns[link.column].kind != target.columns[link.target].kind:
                problem("link", f"{link.column!r} and {link.target!r} must be of the same kind")
        if not _reaches_a_unit(name, linked):
            problem("link", "leads back to where it started; one table on the way must have a unit")


def _reaches_a_unit(name: str, linked: dict[str, LinkedTable]) -> bool:
    seen = set[str]()
    while name in linked:
        if name in seen:
            return False
        seen.add(name)
        name = linked[name].link.table
    return True
