"""Tables of rows in a real PostgreSQL, with the role that a session reads them by."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any

import psycopg

import postgres_server
from privet.core.schema import PublicTable, Table
from privet.engines.postgres.postgres_engine import PostgresEngine
from privet.engines.postgres.reader_address import Postgres
from privet.engines.postgres.stored_tables import PostgresTable
from privet.engines.scan_sql.dialect import identifier

READER = "reader"
TYPES = {
    "integer": "bigint",
    "number": "float8",
    "boolean": "boolean",
    "text": "text",
    "date": "date",
    "timestamp": "timestamp",
}


class PostgresWorld:
    """A database of a shared server, and the role `reader` that may read its tables and nothing else."""

    def __init__(self, server: postgres_server.PostgresServer) -> None:
        self.server, self.database = server, server.create_database()
        self._numbers = itertools.count()
        self.owner = psycopg.connect(server.url(self.database), autocommit=True)
        self.run(
            f"DO $$ BEGIN CREATE ROLE {READER} LOGIN; EXCEPTION WHEN duplicate_object THEN NULL; END $$",
            f'REVOKE TEMPORARY ON DATABASE "{self.database}" FROM PUBLIC',
            f"GRANT USAGE ON SCHEMA public TO {READER}",
            f"ALTER DEFAULT PRIVILEGES GRANT SELECT ON TABLES TO {READER}",
        )

    @property
    def url(self) -> str:
        return self.server.url(self.database, READER)

    def run(self, *statements: str) -> None:
        """Run statements as the owner."""
        for statement in statements:
            self.owner.execute(statement)

    def load(self, name: str, table: Table, types: Mapping[str, str] | None = None) -> Table:
        """Return a table like one whose source is a list of rows, stored in the database."""
        columns = {column: TYPES[facts.kind] for column, facts in table.schema.columns.items()} | dict(types or {})
        made = f"t{next(self._numbers)}_{name}"
        listed = ", ".join(f"{identifier(column)} {kind}" for column, kind in columns.items())
        self.run(f"CREATE TABLE {identifier(made)} ({listed})")
        rows: Any = table.source
        with self.owner.cursor() as cursor, cursor.copy(f"COPY {identifier(made)} FROM STDIN") as copy:
            for row in rows:
                copy.write_row([row.get(column) for column in columns])
        return with_source(table, PostgresTable(made))

    def engine(self, tables: Mapping[str, Table], **options: Any) -> PostgresEngine:
        """Return an engine over tables whose sources are lists of rows."""
        stored = {name: self.load(name, table) for name, table in tables.items()}
        return Postgres(self.url, **options).over(stored)

    def close(self) -> None:
        self.owner.close()
        if self.server.running:
            self.server.drop_database(self.database)


def with_source(table: Table, source: object) -> Table:
    """Return a table with the same facts and another source."""
    made = object.__new__(PublicTable if isinstance(table, PublicTable) else Table)
    for name, value in vars(table).items():
        object.__setattr__(made, name, value)
    object.__setattr__(made, "source", source)
    return made
