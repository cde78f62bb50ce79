"""Tables in PostgreSQL, made readable under generated names and as one type per kind; unsound tables are refused.

Only the custodian meets this module: it reads the server's catalog when tables are opened, and no row.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from privet.core import given
from privet.core.errors import BadParameter, RequestError
from privet.core.schema import ColumnFacts, Kind, Schema, Table
from privet.core.unit import person_column
from privet.engines.dialects.postgres_forms import double, fits
from privet.engines.scan_sql.dialect import identifier
from privet.engines.scan_sql.row_values import physical

Catalog = Callable[[str, Sequence[Any]], list[tuple[Any, ...]]]
"""Runs a query over the server's catalog, with its parameters $1, $2, ..."""


@dataclass(frozen=True)
class PostgresTable:
    """A table of a PostgreSQL server, as the source of a `Table`; the session's `engine` states which server.

    Args:
        name: its name, with its schema before it: "clinic.visits". Without one, it is in the schema "public".

    Example:
        >>> privet.PostgresTable("clinic.visits").table
        'visits'
    """

    name: str

    def __post_init__(self) -> None:
        allowed = "the name of a table, such as 'clinic.visits'"
        text = given.plain_text(self.name, "name", allowed, least=1, most=127)
        if text.count(".") > 1 or not all(text.split(".")):
            raise BadParameter("name", self.name, allowed)
        given.set_fields(self, name=text)

    @property
    def schema(self) -> str:
        """The schema that it is in."""
        return self.name.rpartition(".")[0] or "public"

    @property
    def table(self) -> str:
        """Its name in its schema."""
        return self.name.rpartition(".")[2]


_RELATION = """
SELECT c.oid, c.relkind, c.relpersistence, c.relrowsecurity OR c.relforcerowsecurity, c.relispartition,
  EXISTS (SELECT 1 FROM pg_catalog.pg_inherits i WHERE i.inhparent = c.oid),
  pg_catalog.has_table_privilege(c.oid, 'SELECT'),
  pg_catalog.has_table_privilege(c.oid, 'DELETE, TRUNCATE, TRIGGER')
    OR pg_catalog.has_any_column_privilege(c.oid, 'INSERT, UPDATE'),
  EXISTS (SELECT 1 FROM pg_catalog.pg_rewrite r WHERE r.ev_class = c.oid)
FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname = $1 AND c.relname = $2 AND pg_catalog.has_schema_privilege(n.oid, 'USAGE')
"""

_PARTS = """
WITH RECURSIVE part(oid) AS (
  SELECT inhrelid FROM pg_catalog.pg_inherits WHERE inhparent = $1
  UNION SELECT i.inhrelid FROM pg_catalog.pg_inherits i JOIN part p ON i.inhparent = p.oid)
SELECT c.relkind, c.relpersistence, c.relrowsecurity OR c.relforcerowsecurity
FROM part p JOIN pg_catalog.pg_class c ON c.oid = p.oid
"""

_COLUMNS = """
WITH RECURSIVE base(attribute, type, depth) AS (
  SELECT attnum, atttypid, 0 FROM pg_catalog.pg_attribute WHERE attrelid = $1 AND attnum > 0 AND NOT attisdropped
  UNION ALL
  SELECT b.attribute, t.typbasetype, b.depth + 1 FROM base b JOIN pg_catalog.pg_type t ON t.oid = b.type
  WHERE t.typtype = 'd' AND b.depth < 20)
SELECT a.attname, t.typname, n.nspname, t.typtype, coalesce(l.collisdeterministic, true), a.attgenerated = 'v'
FROM pg_catalog.pg_attribute a
JOIN base b ON b.attribute = a.attnum
JOIN pg_catalog.pg_type t ON t.oid = b.type AND t.typtype <> 'd'
JOIN pg_catalog.pg_namespace n ON n.oid = t.typnamespace
LEFT JOIN pg_catalog.pg_collation l ON l.oid = a.attcollation
WHERE a.attrelid = $1 AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum
"""

_WHOLE = ("int2", "int4", "int8")
_DOUBLES = ("float4", "float8")
_TEXTS = ("text", "varchar", "name", "uuid")

KINDS: Mapping[str, Kind] = {
    **dict.fromkeys(_WHOLE, "integer"),
    **dict.fromkeys((*_DOUBLES, "numeric"), "number"),
    **dict.fromkeys(_TEXTS, "text"),
    "bool": "boolean",
    "date": "date",
    "timestamp": "timestamp",
    "timestamptz": "timestamp",
}
"""The natural kind of each type; others are not read."""


@dataclass(frozen=True)
class StoredColumn:
    """A column as the server has it: its type without domains; an enumeration is a text."""

    name: str
    type: str
    deterministic: bool
    virtual: bool = False

    @property
    def kind(self) -> Kind | None:
        """The natural kind of the column; None where it is not read."""
        return KINDS.get(self.type) if self.deterministic and not self.virtual else None


@dataclass(frozen=True)
class StoredTable:
    """A table as the server has it, with what keeps it from being asked about."""

    relation: str
    columns: tuple[StoredColumn, ...]
    problems: tuple[str, ...]


def stored_table(catalog: Catalog, name: str, source: PostgresTable) -> StoredTable:
    """Return a table as the server's catalog has it; raise `RequestError` where it cannot be found or read."""
    rows = catalog(_RELATION, [source.schema, source.table])
    if not rows:
        raise RequestError(
            f"table {name!r}: there is no table {source.name!r} in this database that its role can see; check the "
            f"name, and GRANT USAGE ON SCHEMA and SELECT ON the table to the role"
        )
    oid, kind, persistence, secured, _, inherited, readable, writable, rules = rows[0]
    if not readable:
        raise RequestError(f"table {name!r}: the role may not read {source.name!r}; GRANT SELECT ON it to the role")
    parts = catalog(_PARTS, [oid]) if kind == "p" else []
    problems = list(_problems(kind, persistence, secured, inherited, writable, rules, parts))
    columns = tuple(
        StoredColumn(column, _type(typname, space, typtype), deterministic, virtual)
        for column, typname, space, typtype, deterministic, virtual in catalog(_COLUMNS, [oid])
    )
    relation = f"{identifier(source.schema)}.{identifier(source.table)}"
    return StoredTable(relation, columns, tuple(f"table {name!r}: {source.name!r} {problem}" for problem in problems))


def _type(typname: str, space: str, typtype: str) -> str:
    """Return the name of a type, or of what it stands for; one of another schema is named with it."""
    if typtype == "e":
        return "text"
    return typname if space == "pg_catalog" else f"{space}.{typname}"


def _problems(
    kind: str,
    persistence: str,
    secured: bool,
    inherited: bool,
    writable: bool,
    rules: bool,
    parts: Sequence[tuple[Any, ...]],
) -> Iterator[str]:
    kinds = {"v": "a view", "m": "a materialized view", "f": "a foreign table"}
    if kind not in ("r", "p"):
        what = kinds.get(kind, "no table")
        yield f"is {what}, whose rows may depend on anything; name a table with rows of its own"
    if persistence != "p" or any(part[1] != "p" for part in parts):
        yield "is unlogged or temporary, and empty after a crash; ALTER TABLE ... SET LOGGED"
    if secured or any(part[2] for part in parts):
        yield "has row security, so that its rows depend on who reads them; read a table without policies"
    if inherited and kind == "r":
        yield "is inherited from, so that it has rows of other tables as well; name a table without children"
    if any(part[0] not in ("r", "p") for part in parts):
        yield "has a partition that is a foreign table, whose rows may change while they are read"
    if rules and kind in ("r", "p"):
        yield "has rewrite rules; drop them, or name another table"
    if writable:
        yield "may be written by this role; connect as a role that has SELECT and nothing else"


def columns_sql(stored: StoredTable, name: str, schema: Schema) -> str:
    """Return the columns of a table under their generated names, each as the one type of its kind, and never raising.

    Guarantee: people who are told apart by what is stored, as their column is declared, are told apart by what is read,
    and by that alone: a type whose values can be equal and yet differ, such as char(n), citext, numeric or a text of a
    collation of one's own, is no unit.
    """
    by_name = {column.name: column for column in stored.columns}
    folded = {column.name.casefold(): column for column in reversed(stored.columns)}
    read = []
    for column, generated in physical(schema).items():
        own = by_name.get(column) or folded.get(column.casefold())
        if own is None:
            raise RequestError(f"table {name!r} declares a column {column!r} that its source does not have")
        read.append(f"{column_sql(own, name, column, schema)} AS {generated}")
    return ", ".join(read)


def column_sql(found: StoredColumn, name: str, column: str, schema: Schema) -> str:
    """Return one column as its kind's type, or raise `RequestError` where it cannot be read so."""
    facts: ColumnFacts = schema.columns[column]
    why = _unread(found)
    if why is not None:
        raise RequestError(f"column {column!r} of table {name!r} {why}")
    made = _cast(identifier(found.name), found.type, facts.kind)
    if made is None:
        raise RequestError(
            f"column {column!r} of table {name!r} is declared {facts.kind}, and its source has another type, of "
            f"which no such value can be made without failing on some row; declare it as it is stored"
        )
    owner = column == person_column(schema.unit)
    if owner and (found.type == "numeric" or (facts.kind == "number" and found.type not in _DOUBLES)):
        raise RequestError(
            f"column {column!r} of table {name!r} identifies the person and is stored as {found.type}, of which "
            f"several may become one person; store it as bigint, text or uuid"
        )
    return made


def _unread(column: StoredColumn) -> str | None:
    if not column.deterministic:
        return "has a collation in which different texts are equal; ALTER COLUMN ... COLLATE one that is deterministic"
    if column.type == "bpchar":
        return "is of type char(n), in which spaces at the end do not count; ALTER COLUMN ... TYPE text"
    if column.type.endswith(".citext"):
        return "is of type citext, in which different texts are equal; ALTER COLUMN ... TYPE text"
    if column.virtual:
        return "is generated when it is read; store it"
    if column.type not in KINDS:
        return f"is of a type that is not read ({column.type}); use one of {', '.join(sorted(KINDS))}"
    return None


def _cast(sql: str, stored: str, kind: Kind) -> str | None:
    """Return a stored column as the one type of its kind, NULL where there is none; None if no reading makes sense."""
    calendar = f"CASE WHEN {sql} >= DATE '0001-01-01' AND {sql} <= DATE '9999-12-31' THEN {sql} END"
    rules: dict[tuple[Kind, str], str] = {
        ("integer", "int8"): sql,
        ("integer", "int4"): f"CAST({sql} AS bigint)",
        ("integer", "int2"): f"CAST({sql} AS bigint)",
        ("integer", "float8"): _rounded(sql),
        ("integer", "float4"): _rounded(f"CAST({sql} AS float8)"),
        ("integer", "numeric"): f"CASE WHEN {fits(f'round({sql})')} THEN CAST({sql} AS bigint) END",
        ("number", "float8"): sql,
        ("number", "float4"): f"CAST({sql} AS float8)",
        **{("number", name): f"CAST({sql} AS float8)" for name in _WHOLE},
        ("number", "numeric"): _number(sql),
        ("boolean", "bool"): sql,
        **{("text", name): f'(CAST({sql} AS text) COLLATE "C")' for name in (*_TEXTS, *_WHOLE)},
        ("date", "date"): sql,
        ("date", "timestamp"): f"CAST({sql} AS date)",
        ("date", "timestamptz"): f"CAST({sql} AT TIME ZONE 'UTC' AS date)",
        ("timestamp", "timestamp"): sql,
        ("timestamp", "timestamptz"): f"({sql} AT TIME ZONE 'UTC')",
        ("timestamp", "date"): f"CAST({calendar} AS timestamp)",
    }
    return rules.get((kind, stored))


def _rounded(sql: str) -> str:
    half = f"floor({sql} + {double(0.5)})"
    return f"CASE WHEN {fits(half)} THEN CAST({half} AS bigint) END"


def _number(sql: str) -> str:
    """Return a numeric as the nearest double: infinite beyond the largest, 0 where it is next to nothing.

    NaN is above everything, and stays NaN.
    """
    most = 2**1024 - 2**970  # halfway beyond the largest double
    return (
        f"CASE WHEN {sql} = 'NaN'::numeric THEN 'NaN'::float8 "
        f"WHEN {sql} >= {most} THEN {double(float('inf'))} WHEN {sql} <= -{most} THEN {double(float('-inf'))} "
        f"WHEN abs({sql}) < 1e-320 THEN {double(0)} ELSE CAST({sql} AS float8) END"
    )


def source_of(name: str, table: Table) -> PostgresTable:
    """Return the source of a table, which must be in PostgreSQL as all others of the session."""
    if not isinstance(table.source, PostgresTable):
        raise RequestError(
            f"table {name!r} is not in PostgreSQL, and this session's engine is: all tables of a session have one "
            f"engine; load it into the server and name it by PostgresTable('schema.name')"
        )
    return table.source
