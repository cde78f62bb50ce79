"""Tables and columns as privet.toml writes them: where the rows are, who is protected, public facts, bounds."""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable, Collection, Container, Mapping
from pathlib import Path
from typing import Any, TypeVar

from privet.core import schema
from privet.core.division import Blocks
from privet.core.errors import BadParameter, RequestError, Unlimited, raise_alone
from privet.core.numbers import written_decimal, written_whole
from privet.core.relation import tables_of
from privet.core.schema import (
    AUTO,
    DEFAULT_ROWS,
    MOST_EACH,
    PUBLIC_ROWS,
    ColumnFacts,
    Contribution,
    PublicTable,
    Table,
    followed,
)
from privet.core.unit import Link, Neighbors, Person, Rows, Unit, Window, unit_columns
from privet.engines.duckdb.sources import DatabaseTable, DeltaTable, IcebergTable
from privet.engines.postgres.stored_tables import PostgresTable
from privet.engines.spark.spark_sources import SparkTable
from privet.query.nodes import PrivateRows
from privet.query.sql.parse import MOST_CHARACTERS, parse_view

from .declared import integer, label, path_in, pattern_in, text
from .draft import toml_list
from .problems import Section, nearest

Declared = TypeVar("Declared")

KINDS = ("integer", "number", "boolean", "category", "date", "timestamp", "text")

EXAMPLES = {
    "integer": '{ kind = "integer", low = 0, high = 120 }',
    "number": '{ kind = "number", low = 0, high = 2000.0, step = 0.01 }',
    "boolean": '"boolean"',
    "category": '{ kind = "category", values = ["A", "B"] }',
    "date": '{ kind = "date", low = 2025-01-01, high = 2025-12-31 }',
    "timestamp": '{ kind = "timestamp", low = 2025-01-01T00:00:00, high = 2025-12-31T23:59:59 }',
    "text": '"text"',
}

_BOUNDED = ("integer", "number", "date", "timestamp")
_INT64 = 2**63


def read_columns(table: Section) -> dict[str, ColumnFacts]:
    """Return the columns of a table that are declared well, and note the problems of the others."""
    section = table.section("columns", '[tables.visits.columns] with lines such as age = { kind = "integer" }')
    if section is None:
        if not table.has("columns"):
            table.problem(None, f"columns is missing; write a table of names and kinds, such as age = {_example()}")
        return {}
    columns = {name: read_column(section, name) for name in section.data}
    if not columns:
        section.problem(None, f"has no column; write one or more, such as age = {_example()}")
    folded: dict[str, str] = {}
    for name in columns:
        if not name.strip() or "\x00" in name:
            section.problem(name, "must be the name of a column")
        if name.casefold() in folded:
            section.problem(name, f"is the same name as {folded[name.casefold()]!r}, apart from case; keep one")
        folded.setdefault(name.casefold(), name)
    return {name: column for name, column in columns.items() if column is not None}


def read_column(columns: Section, name: str) -> ColumnFacts | None:
    """Return one column, or None where it is not declared well, which is noted."""
    written = columns.data[name]
    columns.has(name)
    if isinstance(written, str):
        if written not in KINDS:
            columns.problem(name, f"{written!r} is not a kind; {nearest(written, KINDS)}")
            return None
        if written == "category":
            columns.problem(name, f"a category needs its public values; write {EXAMPLES['category']}")
            return None
        written = {"kind": written}
    if not isinstance(written, dict):
        columns.problem(name, f'must be a kind, such as "text", or a table, such as {_example()}')
        return None
    section = Section(written, (*columns.path, name), columns.problems)
    kind = _kind(section)
    nullable = section.read("nullable", _truth, False)
    made = None if kind is None else _read_facts(section, kind, nullable)
    for key in ("low", "high", "step", "values"):
        section.has(key)
    section.finish()
    return made


def _kind(section: Section) -> str | None:
    if not section.has("kind"):
        if section.has("values"):
            return "category"
        section.problem(None, f"kind is missing; write one of {', '.join(KINDS)}")
        return None
    kind = section.data["kind"]
    if not isinstance(kind, str) or kind not in KINDS:
        section.problem("kind", f"{kind!r} is not a kind; {nearest(str(kind), KINDS)}")
        return None
    return kind


def _read_facts(section: Section, kind: str, nullable: bool) -> ColumnFacts | None:
    allowed = {"category": ("values",), "number": ("low", "high", "step")}.get(
        kind, ("low", "high") if kind in _BOUNDED else ()
    )
    well = True
    for key in ("low", "high", "step", "values"):
        if section.has(key) and key not in allowed:
            well = False
            section.problem(key, f"{kind} takes no {key}; leave it out, or write {_instead(kind, key)}")
    given = {key: section.data[key] for key in allowed if key in section.data}
    for key, other in (("low", "high"), ("high", "low")):
        if key in given and other not in given:
            well = False
            section.problem(key, f"is given without {other}; write both, as in {EXAMPLES[kind]}")
    if "step" in given and "low" not in given:
        well = False
        section.problem("step", f"is declared without bounds; write them too, as in {EXAMPLES['number']}")
    if kind == "category" and "values" not in given:
        well = False
        section.problem(None, f"a category needs its public values; write {EXAMPLES['category']}")
    if not well:
        return None
    return _attempt(section, lambda: _column(kind, given, nullable))


def _column(kind: str, given: dict[str, Any], nullable: bool) -> ColumnFacts:
    match kind:
        case "category":
            values = given["values"]
            if isinstance(values, list):
                for value in values:
                    if isinstance(value, int) and not -_INT64 <= value < _INT64:
                        raise BadParameter("values", value, "whole numbers of 64 bits")
            return schema.category(values, nullable=nullable)
        case "number":
            for key, value in given.items():
                if isinstance(value, str):
                    raise BadParameter(key, value, "a number, written without quotes")
            return schema.number(given.get("low"), given.get("high"), step=given.get("step"), nullable=nullable)
        case "integer":
            return schema.integer(given.get("low"), given.get("high"), nullable=nullable)
        case "date":
            _not_text(given, "a date, written without quotes, such as 2025-12-31")
            return schema.date(given.get("low"), given.get("high"), nullable=nullable)
        case "timestamp":
            _not_text(given, "a time in UTC, written without quotes and without a zone, such as 2025-12-31T23:59:59")
            return schema.timestamp(given.get("low"), given.get("high"), nullable=nullable)
        case "boolean":
            return schema.boolean(nullable=nullable)
    return schema.text(nullable=nullable)


def _attempt(section: Section, make: Callable[[], Declared]) -> Declared | None:
    """Return the result; None where it is refused, which is then a problem of the section."""
    try:
        return make()
    except BadParameter as error:
        section.problem(error.parameter, f"must be {error.allowed}; got {error.value}")
    except RequestError as error:
        section.problem(None, str(error))
    return None


def _not_text(given: dict[str, Any], allowed: str) -> None:
    for key, value in given.items():
        if isinstance(value, str):
            raise BadParameter(key, value, allowed)


def _truth(value: object) -> bool:
    if not isinstance(value, bool):
        raise BadParameter("nullable", value, "true or false")
    return value


def _instead(kind: str, key: str) -> str:
    if key == "values":
        return EXAMPLES["category"]
    return EXAMPLES["number"] if key == "step" or kind not in _BOUNDED else EXAMPLES[kind]


def _example() -> str:
    return EXAMPLES["integer"]


# Short declarations on a command line, as TOML: `integer:0:120`, `epsilon=1,delta=1e-6`.


_TOML_NUMBER = re.compile(r"[+-]?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")

FORMS = (
    "KIND, KIND:LOW:HIGH, number:LOW:HIGH:STEP or category:A,B,C, each with :nullable behind it if it may be NULL; "
    "between the ends of a timestamp write .."
)


def column_from_spec(spec: str, *, stored: str | None) -> str:
    """Return a column as TOML, from a short text; `stored` is the kind of the source's own column, if it has one."""
    kind, _, rest = spec.strip().partition(":")
    if kind not in KINDS:
        raise RequestError(f"{spec!r}: {kind!r} is not a kind of column; {nearest(kind, KINDS)}; write {FORMS}")
    nullable = rest == "nullable" or rest.endswith(":nullable")
    rest = rest.removesuffix("nullable").removesuffix(":") if nullable else rest
    said = [f'kind = "{kind}"']
    if kind == "category":
        said.append(f"values = {_values(rest, stored)}")
    elif rest:
        said += _bounds(spec, kind, rest)
    if nullable:
        said.append("nullable = true")
    return f'"{kind}"' if len(said) == 1 else f"{{ {', '.join(said)} }}"


def budget_from_spec(spec: str) -> str:
    """Return a budget as lines of TOML, from `epsilon=1,delta=1e-6` or `rho=0.1`."""
    said = []
    for part in spec.split(","):
        key, _, value = (side.strip() for side in part.partition("="))
        if key not in ("epsilon", "delta", "rho"):
            raise RequestError(f"{spec!r} is not a budget; write epsilon=1, epsilon=1,delta=1e-6 or rho=0.1")
        said.append(f"{key} = {number_as_toml(value)}")
    return "\n".join(said)


def contribution_from_spec(spec: str) -> str:
    """Return a contribution as TOML, from `groups=3,rows=2`."""
    match = re.fullmatch(r"\s*groups\s*=\s*([0-9]{1,9})\s*,\s*rows\s*=\s*([0-9]{1,9})\s*", spec)
    if match is None:
        raise RequestError(f"{spec!r} is not a contribution; write groups=3,rows=2")
    return f"{{ groups = {int(match[1])}, rows = {int(match[2])} }}"


def number_as_toml(text: str) -> str:
    """Return a decimal number as TOML writes it, exactly."""
    value = written_decimal(text)
    if value is None or (value and abs(value.adjusted()) > 300):
        raise RequestError(f"{text!r} is not a number such as 3, 0.5 or 1e-6")
    return text.strip() if _TOML_NUMBER.fullmatch(text.strip()) else format(value, "f")


def _bounds(spec: str, kind: str, rest: str) -> list[str]:
    parts = rest.split("..") if ".." in rest or kind == "timestamp" else rest.split(":")
    readers: dict[str, Callable[[str], str]] = {
        "integer": _whole,
        "number": number_as_toml,
        "date": lambda text: datetime.date.fromisoformat(text.strip()).isoformat(),
        "timestamp": lambda text: datetime.datetime.fromisoformat(text.strip()).isoformat(),
    }
    if kind not in readers or not 2 <= len(parts) <= (3 if kind == "number" else 2):
        raise RequestError(f"{spec!r} is not understood; write {FORMS}")
    names = ("low", "high", "step")
    try:
        return [f"{name} = {readers[kind](part)}" for name, part in zip(names, parts, strict=False)]
    except ValueError:
        raise_alone(RequestError(f"{spec!r}: {rest!r} are not the ends of a {kind}; write {FORMS}"))


def _whole(text: str) -> str:
    number = written_whole(text) if len(text) <= 40 else None
    if number is None:
        raise ValueError(text)
    return str(number)


def _values(rest: str, stored: str | None) -> str:
    values = tuple(value.strip() for value in rest.split(",")) if rest.strip() else ()
    if not values or not all(values):
        raise RequestError(f"a category needs its public values, such as category:A,B,C; got {rest!r}")
    if stored != "integer":
        return toml_list(values)
    try:
        return f"[{', '.join(_whole(value) for value in values)}]"
    except ValueError:
        raise_alone(RequestError(f"{rest!r}: the column holds whole numbers, and these are not"))


# Links between tables as privet.toml writes them: `visit_id -> visits.id`, and where they lead.


_LINK = re.compile(r"\s*(?P<via>\S(?:.*\S)?)\s*->\s*(?P<to>[^.]*[^.\s])\s*\.\s*(?P<column>\S(?:.*\S)?)\s*")

Facts = tuple[Unit, Mapping[str, ColumnFacts]]


def read_link(value: object) -> Link:
    """Return the link that a text writes: a column, an arrow, a table, a dot, and the column that it leads to."""
    match = _LINK.fullmatch(value) if isinstance(value, str) and len(value) <= 1000 else None
    if match is None:
        raise BadParameter("link", value, 'a column and whose key it is, such as "visit_id -> visits.id"')
    return Link(match["via"], match["to"].strip(), match["column"])


def check_links(sections: Mapping[str, Section], tables: Mapping[str, Facts], public: Container[str]) -> None:
    """Note every link that does not lead from a column to one of the same kind, in a table that has people."""
    for name, (link, columns) in tables.items():
        if isinstance(link, Link):
            for message in _wrong(name, link, columns, sections, tables, public):
                sections[name].problem("link", message)


def _wrong(
    name: str,
    link: Link,
    columns: Mapping[str, ColumnFacts],
    sections: Mapping[str, Section],
    tables: Mapping[str, Facts],
    public: Container[str],
) -> list[str]:
    if link.via not in columns:
        return [f"names a column {link.via!r} that is not listed under columns; {nearest(link.via, columns)}"]
    if link.to not in sections:
        why = "is public, so its rows belong to no one" if link.to in public else "is not declared"
        return [f"the table {link.to!r} {why}; {nearest(link.to, sections.keys() - {name})}"]
    if _owner(name, {table: unit for table, (unit, _) in tables.items()}) is None:
        return ["leads back to where it started; one table on the way must have a unit"]
    if link.to not in tables:
        return []  # that table's problems are reported at its own place
    unit, others = tables[link.to]
    if link.column not in others:
        return [f"table {link.to!r} has no column {link.column!r}; {nearest(link.column, others)}"]
    if columns[link.via].kind != others[link.column].kind:
        return [f"{link.via!r} and {link.column!r} of {link.to!r} must be declared as the same kind"]
    if unit.rowwise:
        return [f"table {link.to!r} protects each row separately; declare a unit column for it, or link elsewhere"]
    return []


def neighbors_of(name: str, facts: Mapping[str, Mapping[str, Any]]) -> Any:
    """Return the neighbouring relation of the table that owns the rows of another."""
    owner = _owner(name, {table: own["unit"] for table, own in facts.items()})
    return facts[name if owner is None or owner not in facts else owner]["neighbors"]


def _owner(name: str, units: Mapping[str, Unit]) -> str | None:
    """Return the table to which links finally lead; None where they form a cycle."""
    seen = set[str]()
    while isinstance(unit := units.get(name), Link):
        if name in seen:
            return None
        seen.add(name)
        name = unit.to
    return name


_NEIGHBORS: tuple[Neighbors, ...] = ("add-remove", "change-one")
NO_UNIT = "who is protected is not declared"
NO_LIMIT = str(Unlimited("the line contribution = { groups = 3, rows = 2 }"))
_UNIT = 'unit = "patient_id" (the column that identifies the person) or unit = "rows" (each row)'


def read_tables(root: Section, folder: Path) -> dict[str, Table]:
    """Return every table that is declared well, private, linked and public; note the problems of the others."""
    before = len(root.problems.found)
    tables, public = root.section("tables", "[tables.visits]"), root.section("public", "[public.wards]")
    if (tables is None and not root.has("tables")) or (tables is not None and not tables.data):
        root.problem("tables", "no table is declared; write one or more, such as [tables.visits]")
    owners = {} if tables is None else tables.sections("[tables.visits]")
    others = {} if public is None else public.sections("[public.wards]")
    facts = {name: _facts(section, folder) for name, section in owners.items()}
    shared = {name: _public(section, folder) for name, section in others.items()}
    well = {name: own for name, own in facts.items() if own is not None}
    check_links(owners, {name: (own["unit"], own["columns"]) for name, own in well.items()}, others)
    made = {name: _make(owners[name], own | {"neighbors": neighbors_of(name, well)}) for name, own in well.items()}
    result = {name: table for name, table in (made | shared).items() if table is not None}
    _check_names(owners, others)
    if tables is not None and len(root.problems.found) == before:
        try:
            followed({name: table.schema for name, table in result.items()})
        except RequestError as error:
            tables.problem(None, str(error))
    return result


def _facts(section: Section, folder: Path) -> dict[str, Any] | None:
    """Return the declarations of a private table, as the arguments of `Table`."""
    before = len(section.problems.found)
    source = section.need("source", _source(folder), 'the path of its rows, such as source = "data/visits.parquet"')
    columns = read_columns(section)
    unit: Unit | None = section.read("unit", _unit(section), None)
    link = section.read("link", read_link, None)
    if not section.has("unit") and not section.has("link"):
        section.problem(None, f'{NO_UNIT}; write {_UNIT}, or link = "visit_id -> visits.id"')
    if section.has("unit") and section.has("link"):
        section.problem("link", "a table has a unit of its own or is linked to one, not both; keep one of them")
    facts = {
        "source": source,
        "unit": unit if link is None else link,
        "columns": columns,
        "contribution": section.read("contribution", _contribution(section), None),
        "neighbors": section.read("neighbors", _neighbors, _NEIGHBORS[0]),
        "rows": section.read("rows", integer("rows", least=1, most=2**50), DEFAULT_ROWS),
        "units": section.read("units", integer("units", least=1, most=2**50), None),
        "version": section.read("version", label, ""),
        "key": section.read("key", text("key"), None),
        "most_rows": section.read("most_rows", integer("most_rows", least=1, most=MOST_EACH), None),
        "blocks": section.read("block", _blocks, None),
    }
    if unit is not None and unit.rowwise and section.has("contribution"):
        section.problem("contribution", "each row is a unit and contributes itself; omit it")
    if not section.has("contribution") and (link is not None or (unit is not None and not unit.rowwise)):
        section.problem(None, f"{NO_LIMIT}. Until now, {{ groups = 1, rows = 1 }} was assumed")
    for key in ("neighbors", "units"):
        if link is not None and section.has(key):
            section.problem(key, "belongs to the table that has the unit; leave it out here")
    section.finish()
    listed = section.data.get("columns")
    for column in () if unit is None else unit_columns(unit):
        if isinstance(listed, dict) and column not in listed:
            advice = nearest(column, listed)
            section.problem("unit", f"names a column {column!r} that is not listed under columns; {advice}")
    return None if len(section.problems.found) > before else facts


def _make(section: Section, facts: dict[str, Any]) -> Table | None:
    return _attempt(section, lambda: Table(facts.pop("source"), **facts))


def _public(section: Section, folder: Path) -> PublicTable | None:
    before = len(section.problems.found)
    source = section.need("source", _source(folder), 'the path of its rows, such as source = "data/wards.csv"')
    columns, version = read_columns(section), section.read("version", label, "")
    key = section.read("key", text("key"), None)
    rows = section.read("rows", integer("rows", least=1, most=2**50), PUBLIC_ROWS)
    if key is not None and columns and key not in columns:
        section.problem("key", f"names a column {key!r} that is not listed under columns; {nearest(key, columns)}")
    for name in ("unit", "link", "neighbors", "contribution", "units", "most_rows", "block"):
        if section.has(name):
            section.problem(name, "a public table protects no one; omit it, or declare the table under [tables]")
    section.finish()
    if len(section.problems.found) > before:
        return None
    return PublicTable(source, columns=columns, key=key, rows=rows, version=version)


def _source(folder: Path) -> Callable[[object], object]:
    pattern = pattern_in(folder, "source")

    def read(value: object) -> object:
        if isinstance(value, list) and value:
            return tuple(pattern(source) for source in value)
        if isinstance(value, dict):
            if {"delta"} <= value.keys() <= {"delta", "version"}:
                return DeltaTable(str(path_in(folder, "delta")(value["delta"])), value.get("version"))
            if {"iceberg"} <= value.keys() <= {"iceberg", "snapshot"}:
                return IcebergTable(str(path_in(folder, "iceberg")(value["iceberg"])), value.get("snapshot"))
            if {"spark"} <= value.keys() <= {"spark", "version"}:
                return SparkTable(text("spark", most=1000)(value["spark"]), value.get("version"))
            known = {"database", "table", "schema"}
            if not {"table"} <= value.keys() <= known:
                raise BadParameter("source", value, '{ database = "hospital.duckdb", table = "visits" }')
            if "database" not in value:
                place = f"{text('schema')(value['schema'])}." if "schema" in value else ""
                return PostgresTable(f"{place}{text('table')(value['table'])}")
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
        if isinstance(value, dict) and "time" in value:
            return _window(value)
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


def _window(value: dict[str, object]) -> Window:
    known = {"person", "time", "days", "hours", "origin", "group"}
    if not {"person", "time"} <= value.keys() <= known or len(value.keys() & {"days", "hours"}) != 1:
        raise BadParameter("unit", value, '{ person = "patient_id", time = "day", days = 7 }, or with hours')
    size = "days" if "days" in value else "hours"
    length = datetime.timedelta(**{size: integer(size, least=1, most=10**5)(value[size])})
    origin: Any = value.get("origin", datetime.date.min)
    group = integer("group", least=1, most=10**6)(value.get("group", 1))
    return Window(text("person")(value["person"]), text("time")(value["time"]), length, origin=origin, group=group)


_UNIT_KEYS = {"person", "rows", "group"}
_BLOCK_KEYS = {"column", "edges", "length", "origin", "through", "since"}


def _blocks(value: object) -> Blocks:
    """Return how a table is divided: `{ column = "party" }`, with edges, or with a length and an origin."""
    if not isinstance(value, dict) or "column" not in value or not value.keys() <= _BLOCK_KEYS:
        allowed = '{ column = "party" }, with edges = [0, 18, 65, 120], or with length = "1 month" and origin'
        raise BadParameter("block", value, allowed)
    return Blocks(text("column")(value["column"]), **{name: item for name, item in value.items() if name != "column"})


def _neighbors(value: object) -> Neighbors:
    for known in _NEIGHBORS:
        if value == known:
            return known
    raise BadParameter("neighbors", value, '"add-remove" or "change-one"')


def _contribution(section: Section) -> Callable[[object], Contribution]:
    def read(value: object) -> Contribution:
        if value == "auto":
            return AUTO
        if not isinstance(value, dict):
            raise BadParameter("contribution", value, '{ groups = 3, rows = 2 }, or "auto"')
        inner = Section(value, (*section.path, "contribution"), section.problems)
        for key in ("groups", "rows"):
            if key not in value:
                raise BadParameter("contribution", value, "{ groups = 3, rows = 2 }, with both numbers")
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


# Views as privet.toml writes them: names for SELECTs over the tables whose rows still belong to people.


def read_views(root: Section, tables: Mapping[str, Table], schema: str | None = None) -> dict[str, str]:
    """Return the views that are declared well, in their order; each may use those before it."""
    section = root.section("views", '[views] with adults = "SELECT * FROM visits WHERE age >= 18"')
    if section is None:
        return {}
    texts = {name: section.read(name, text(name, most=MOST_CHARACTERS), "") for name in section.data}
    section.finish()
    if root.problems.found:  # the problems of tables are reported first
        return {}
    read: dict[str, PrivateRows] = {}
    schemas = followed({name: table.schema for name, table in tables.items()})
    taken = {name.casefold() for name in schemas}
    for name, sql in texts.items():
        if name.casefold() in taken:
            section.problem(name, "is the name of a table or of another view; choose another name")
            continue
        taken.add(name.casefold())
        try:
            read[name] = parse_view(sql, schemas, read, schema=schema)
        except RequestError as error:
            section.problem(name, str(error).split("\n")[0])
    return texts


def views_about(
    views: Mapping[str, str], tables: Mapping[str, Table], about: Collection[str], schema: str | None = None
) -> dict[str, str]:
    """Return the views of those tables that may be asked about."""
    schemas = followed({name: table.schema for name, table in tables.items()})
    read: dict[str, PrivateRows] = {}
    for name, sql in views.items():
        read[name] = parse_view(sql, schemas, read, schema=schema)
    return {name: views[name] for name, view in read.items() if set(tables_of(view.table)) <= set(about)}
