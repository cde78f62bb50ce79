"""The tables of a ledger in PostgreSQL, who may do what with them, and the rows inside one transaction.

The owner makes them once. The application connects as another role, which can add entries and read them, and has no
right to change or remove one. Triggers refuse that to everyone, the owner included, as long as they are enabled. That
they are as they were made is checked; no entry is checked here.
"""

from __future__ import annotations

import secrets
from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from privet.core.errors import BadParameter, LedgerError
from privet.ledger.history import RULE_KINDS, Row

if TYPE_CHECKING:
    import psycopg


VERSION = 1

_ENTRIES_STAY = "BEGIN RAISE EXCEPTION 'entries are never changed or removed'; END"

_ENTRIES_FOLLOW = """BEGIN
  IF NEW.number IS DISTINCT FROM (SELECT coalesce(max(number), 0) + 1 FROM {schema}.entries) THEN
    RAISE EXCEPTION 'entries are only added';
  END IF;
  IF current_setting('synchronous_commit') NOT IN ('on', 'remote_apply')
    OR current_setting('fsync') <> 'on' OR current_setting('full_page_writes') <> 'on' THEN
    RAISE EXCEPTION 'entries are only added where they are durable';
  END IF;
  RETURN NEW;
END"""

SYSTEM = "(SELECT system_identifier FROM pg_catalog.pg_control_system())::text"
"""Which server this is: made once, with its files, and copied with them."""

TIMELINE = "('x' || substr(pg_catalog.pg_walfile_name(pg_catalog.pg_current_wal_lsn()), 1, 8))::bit(32)::bigint"
"""Which of its timelines the server writes: a promotion or a restore begins a new one. A standby writes none."""

_STATEMENTS = (
    """CREATE SCHEMA {schema}""",
    """REVOKE ALL ON SCHEMA {schema} FROM PUBLIC""",
    """CREATE TABLE {schema}.ledger (
  one boolean PRIMARY KEY DEFAULT true CHECK (one),
  id text COLLATE "C" NOT NULL,
  version integer NOT NULL
)""",
    """CREATE TABLE {schema}.servers (
  number integer PRIMARY KEY,
  system text COLLATE "C" NOT NULL,
  timeline bigint NOT NULL,
  head text COLLATE "C" NOT NULL,
  adopted timestamptz NOT NULL DEFAULT now()
)""",
    """CREATE TABLE {schema}.entries (
  number bigint PRIMARY KEY,
  kind text COLLATE "C" NOT NULL,
  account text COLLATE "C",
  digest text COLLATE "C",
  key text COLLATE "C",
  body text COLLATE "C" NOT NULL,
  hash bytea NOT NULL
)""",
    """CREATE INDEX charges ON {schema}.entries (digest, account) WHERE kind = 'charge'""",
    """CREATE UNIQUE INDEX keys ON {schema}.entries (key, account) WHERE kind = 'charge' AND key IS NOT NULL""",
    """CREATE UNIQUE INDEX answers ON {schema}.entries (digest) WHERE kind = 'answer'""",
    """CREATE INDEX rules ON {schema}.entries (number) WHERE kind IN {rules}""",
    """CREATE INDEX failures ON {schema}.entries (account) WHERE kind = 'failure'""",
    """CREATE TABLE {schema}.balances (
  one boolean PRIMARY KEY DEFAULT true CHECK (one),
  head text COLLATE "C" NOT NULL,
  state text COLLATE "C" NOT NULL,
  hash bytea NOT NULL
)""",
    """CREATE TABLE {schema}.kept (
  charge bigint PRIMARY KEY,
  body text COLLATE "C" NOT NULL
) WITH (fillfactor = 50, autovacuum_vacuum_threshold = 1, autovacuum_vacuum_scale_factor = 0)""",
    """CREATE FUNCTION {schema}.entries_stay() RETURNS trigger LANGUAGE plpgsql
SET search_path = pg_catalog AS $privet${entries_stay}$privet$""",
    """CREATE FUNCTION {schema}.entries_follow() RETURNS trigger LANGUAGE plpgsql
SET search_path = pg_catalog AS $privet${entries_follow}$privet$""",
    """REVOKE ALL ON ALL FUNCTIONS IN SCHEMA {schema} FROM PUBLIC""",
    """CREATE TRIGGER entries_follow BEFORE INSERT ON {schema}.entries
FOR EACH ROW EXECUTE FUNCTION {schema}.entries_follow()""",
    *(
        f"""CREATE TRIGGER {table}_{name} BEFORE {what} ON {{schema}}.{table}
FOR EACH {each} EXECUTE FUNCTION {{schema}}.entries_stay()"""
        for table in ("entries", "ledger", "servers")
        for name, what, each in (("stay", "UPDATE OR DELETE", "ROW"), ("stay_whole", "TRUNCATE", "STATEMENT"))
    ),
    *(
        f"""ALTER TABLE {{schema}}.{table} ENABLE ALWAYS TRIGGER {name}"""
        for table in ("entries", "ledger", "servers")
        for name in (f"{table}_stay", f"{table}_stay_whole")
    ),
    """ALTER TABLE {schema}.entries ENABLE ALWAYS TRIGGER entries_follow""",
    """INSERT INTO {schema}.ledger (id, version) VALUES ('{id}', {version})""",
    """INSERT INTO {schema}.servers (number, system, timeline, head)
VALUES (1, {system}, {timeline}, '')""",
    """GRANT USAGE ON SCHEMA {schema} TO {role}""",
    """GRANT SELECT, INSERT ON {schema}.entries TO {role}""",
    """GRANT SELECT ON {schema}.ledger, {schema}.servers TO {role}""",
    """GRANT SELECT, INSERT, UPDATE (head, state, hash) ON {schema}.balances TO {role}""",
    """GRANT SELECT, INSERT, UPDATE (body) ON {schema}.kept TO {role}""",
)

_ROLE = """DO $privet$ BEGIN
  IF NOT EXISTS (SELECT FROM pg_catalog.pg_roles WHERE rolname = {role_text}) THEN
    CREATE ROLE {role} LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE NOINHERIT NOREPLICATION NOBYPASSRLS;
  END IF;
END $privet$"""


def set_up_statements(schema: str, role: str) -> tuple[str, ...]:
    """Return the SQL with which an owner makes the tables of a new ledger, and lets an application's role use them.

    The role is made where there is none, without a password: set one, or let the server know it by other means.
    """
    name = _read_role(role)
    words = {
        "schema": quoted_name(schema),
        "role": quoted_name(name),
        "role_text": "'" + name.replace("'", "''") + "'",
        "rules": str(RULE_KINDS),
        "id": secrets.token_hex(16),
        "version": VERSION,
        "system": SYSTEM,
        "timeline": TIMELINE,
        "entries_stay": _ENTRIES_STAY,
        "entries_follow": _ENTRIES_FOLLOW.format(schema=quoted_name(schema)),
    }
    return tuple(statement.format(**words) for statement in (_ROLE, *_STATEMENTS))


def quoted_name(name: str) -> str:
    """Return a name as SQL."""
    return '"' + name.replace('"', '""') + '"'


def _read_role(role: object) -> str:
    if not isinstance(role, str) or not 0 < len(role.encode(errors="replace")) <= 63 or not role.isprintable():
        raise BadParameter("role", role, "the name of a role of PostgreSQL, of at most 63 bytes")
    if "$" in role or "\\" in role:
        raise BadParameter("role", role, "the name of a role of PostgreSQL without $ and \\")
    return role


# Checks at every connection: the tables, the triggers, and that the role can do no more than it needs.

_TABLES = """SELECT c.relname::text, c.relkind::text, c.relpersistence::text,
  c.relrowsecurity OR c.relhasrules OR c.relhassubclass OR c.relispartition,
  (SELECT string_agg(a.attname || ' ' || format_type(a.atttypid, a.atttypmod), ', ' ORDER BY a.attnum)
   FROM pg_catalog.pg_attribute a WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped)
FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname = %s AND c.relkind IN ('r', 'v', 'm', 'f', 'p', 'S') ORDER BY c.relname"""

_MADE = [
    ("balances", "r", "p", False, "one boolean, head text, state text, hash bytea"),
    (
        "entries",
        "r",
        "p",
        False,
        "number bigint, kind text, account text, digest text, key text, body text, hash bytea",
    ),
    ("kept", "r", "p", False, "charge bigint, body text"),
    ("ledger", "r", "p", False, "one boolean, id text, version integer"),
    (
        "servers",
        "r",
        "p",
        False,
        "number integer, system text, timeline bigint, head text, adopted timestamp with time zone",
    ),
]

_TRIGGERS = """SELECT c.relname::text, t.tgname::text, t.tgtype::int, t.tgenabled::text,
  p.proname::text, p.prosrc, p.prosecdef
FROM pg_catalog.pg_trigger t JOIN pg_catalog.pg_class c ON c.oid = t.tgrelid
JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace JOIN pg_catalog.pg_proc p ON p.oid = t.tgfoid
WHERE n.nspname = %s AND NOT t.tgisinternal ORDER BY c.relname, t.tgname"""

_BEFORE_ROW_INSERT, _BEFORE_ROW_CHANGE, _BEFORE_TRUNCATE = 1 + 2 + 4, 1 + 2 + 8 + 16, 2 + 32
"""The bits of `pg_trigger.tgtype`: row 1, before 2, insert 4, delete 8, update 16, truncate 32."""

_UNIQUE = """SELECT i.relname::text FROM pg_catalog.pg_index x JOIN pg_catalog.pg_class i ON i.oid = x.indexrelid
JOIN pg_catalog.pg_class c ON c.oid = x.indrelid JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname = %s AND c.relname = 'entries' AND x.indisunique AND x.indisvalid ORDER BY i.relname"""

_EXCESS = """SELECT bool_or(r.rolsuper OR pg_catalog.pg_has_role(r.oid, c.relowner, 'MEMBER')
  OR pg_catalog.has_table_privilege(r.oid, c.oid, 'UPDATE, DELETE, TRUNCATE, TRIGGER, REFERENCES')
  OR pg_catalog.has_any_column_privilege(r.oid, c.oid, 'UPDATE, REFERENCES'))
FROM pg_catalog.pg_roles r, pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE r.rolname IN (current_user, session_user) AND n.nspname = %s AND c.relname IN ('entries', 'ledger', 'servers')"""

_RIGHTS = """SELECT pg_catalog.has_schema_privilege(n.oid, 'USAGE') AND
  pg_catalog.has_table_privilege(e.oid, 'SELECT') AND pg_catalog.has_table_privilege(e.oid, 'INSERT')
FROM pg_catalog.pg_class e JOIN pg_catalog.pg_namespace n ON n.oid = e.relnamespace
WHERE n.nspname = %s AND e.relname = 'entries'"""


def check_role(connection: psycopg.Connection[Any], schema: str) -> None:
    """Raise `LedgerError` unless there is a ledger, and the role may add entries and neither change nor remove one."""
    allowed = connection.execute(_RIGHTS, (schema,)).fetchone()
    if allowed is None:
        raise LedgerError(f"there is no ledger in the schema {schema!r}; its owner makes one with: privet ledger init")
    excess = connection.execute(_EXCESS, (schema,)).fetchone()
    if excess is None or excess[0] is not False:
        raise LedgerError(
            "this role could change or remove entries: it is a superuser, owns the tables, or was granted more than "
            "SELECT and INSERT; connect as the role that privet ledger init granted them to"
        )
    if not allowed[0]:
        raise LedgerError("this role may not add entries to the ledger; connect as the one named to privet ledger init")


def check_made(connection: psycopg.Connection[Any], schema: str) -> None:
    """Raise `LedgerError` unless the schema has exactly a ledger's tables, and their triggers are enabled."""
    tables = connection.execute(_TABLES, (schema,)).fetchall()
    triggers = connection.execute(_TRIGGERS, (schema,)).fetchall()
    unique = [name for (name,) in connection.execute(_UNIQUE, (schema,))]
    if tables != _MADE or triggers != _guards(schema) or unique != ["answers", "entries_pkey", "keys"]:
        raise LedgerError(
            "the ledger's tables or triggers are not as Privet makes them: they were changed; find out who did it, "
            "and verify the ledger"
        )
    row = connection.execute(f"SELECT version FROM {quoted_name(schema)}.ledger").fetchone()
    if row is None or row[0] != VERSION:
        raise LedgerError("the ledger's tables were made by another version of Privet; open it with that version")


def _guards(schema: str) -> list[tuple[object, ...]]:
    stay = ("entries_stay", _ENTRIES_STAY, False)
    follow = ("entries_follow", _ENTRIES_FOLLOW.format(schema=quoted_name(schema)), False)
    guards: list[tuple[object, ...]] = [("entries", "entries_follow", _BEFORE_ROW_INSERT, "A", *follow)]
    for table in ("entries", "ledger", "servers"):
        guards.append((table, f"{table}_stay", _BEFORE_ROW_CHANGE, "A", *stay))
        guards.append((table, f"{table}_stay_whole", _BEFORE_TRUNCATE, "A", *stay))
    return guards


# The rows inside one transaction.


_COLUMNS = "number, kind, account, digest, key, body, hash"
_KINDS = ("charge", "answer", "failure")
"""The kinds that rows are found by: written into the statements, or their partial indexes would not be used."""

_BATCH = 500
"""How many rows are fetched at once, so that a long history does not have to fit into memory."""


@dataclass(frozen=True)
class Inserted:
    """The last row that a transaction added: its number, its hash, and the number of the transaction itself.

    No other transaction has that number, so it distinguishes this row from one with the same content that another one
    added.
    """

    number: int
    hash: bytes
    transaction: str


class PostgresTransaction:
    """The rows of a schema inside one transaction of a connection."""

    def __init__(self, connection: psycopg.Connection[Any], schema: str, identity: Hashable) -> None:
        self._connection, self._schema = connection, schema
        self._entries = f"{quoted_name(schema)}.entries"
        self.identity = identity
        self.inserted: Inserted | None = None

    def rows(self, after: int = 0) -> Iterator[Row]:
        """Return every row after one, oldest first, fetched a batch at a time."""
        query = f"SELECT {_COLUMNS} FROM {self._entries} WHERE number > %s ORDER BY number LIMIT {_BATCH}"
        while batch := self._connection.execute(query, (after,)).fetchall():
            yield from map(Row._make, batch)
            if len(batch) < _BATCH:
                return
            after = batch[-1][0]

    def row(self, number: int) -> Row | None:
        """Return a row by its number."""
        row = self._one(f"SELECT {_COLUMNS} FROM {self._entries} WHERE number = %s", number)
        return None if row is None else Row._make(row)

    def hash_at(self, number: int) -> bytes | None:
        """Return the hash of a row."""
        row = self._one(f"SELECT hash FROM {self._entries} WHERE number = %s", number)
        return None if row is None else row[0]

    def numbers(
        self, kind: str, *, account: str | None = None, digest: str | None = None, key: str | None = None
    ) -> list[int]:
        """Return the numbers of the rows that are filed under a kind and all that is named, oldest first."""
        named = {"account": account, "digest": digest, "key": key}
        values = {name: value for name, value in named.items() if value is not None}
        where = "".join(f" AND {name} = %({name})s" for name in values)
        query = f"SELECT number FROM {self._entries} WHERE kind = {_literal(kind)}{where} ORDER BY number"
        return [number for (number,) in self._connection.execute(query, values)]

    def nth_last(self, kind: str, count: int) -> int | None:
        """Return the number of the row of a kind that has `count - 1` of its kind after it."""
        where = f"WHERE kind = {_literal(kind)} ORDER BY number DESC LIMIT 1 OFFSET %s"
        row = self._one(f"SELECT number FROM {self._entries} {where}", count - 1)
        return None if row is None else row[0]

    def rules_up_to(self, number: int) -> list[str]:
        """Return the texts of the entries that state what may be spent, up to one entry."""
        written = f"SELECT body FROM {self._entries} WHERE kind IN {RULE_KINDS} AND number <= %s ORDER BY number"
        return [body for (body,) in self._connection.execute(written, (number,))]

    def insert(self, row: Row) -> None:
        """Add the next row."""
        values = "(%s, %s, %s, %s, %s, %s, %s) RETURNING xmin::text"
        added = self._one(f"INSERT INTO {self._entries} ({_COLUMNS}) VALUES {values}", *row)
        if added is None:
            raise LedgerError("the server did not add an entry: something else changed the ledger's tables")
        self.inserted = Inserted(row.number, row.hash, added[0])

    def has(self, inserted: Inserted) -> bool:
        """Return whether a row that an earlier transaction added is there, added by that very transaction."""
        row = self._one(f"SELECT hash, xmin::text FROM {self._entries} WHERE number = %s", inserted.number)
        return row is not None and (row[0], row[1]) == (inserted.hash, inserted.transaction)

    def cached(self) -> tuple[str, str, bytes] | None:
        """Return the head, the balance and the checksum that were kept last."""
        row: tuple[str, str, bytes] | None = self._one(f"SELECT head, state, hash FROM {self._table('balances')}")
        return row

    def cache(self, head: str, balance: str, checksum: bytes) -> None:
        """Keep a balance for the next process."""
        self._connection.execute(
            f"INSERT INTO {self._table('balances')} (head, state, hash) VALUES (%s, %s, %s) "
            "ON CONFLICT (one) DO UPDATE SET head = excluded.head, state = excluded.state, hash = excluded.hash",
            (head, balance, checksum),
        )

    def keep(self, charge: int, text: str) -> None:
        """Keep a text for a charge, in place of the one before."""
        self._connection.execute(
            f"INSERT INTO {self._table('kept')} (charge, body) VALUES (%s, %s) "
            "ON CONFLICT (charge) DO UPDATE SET body = excluded.body",
            (charge, text),
        )

    def kept(self, charge: int) -> str | None:
        """Return the text that was kept last for a charge."""
        row = self._one(f"SELECT body FROM {self._table('kept')} WHERE charge = %s", charge)
        return None if row is None else row[0]

    def texts(self) -> list[tuple[int, str]]:
        """Return every text that is kept, with its charge."""
        return self._connection.execute(f"SELECT charge, body FROM {self._table('kept')} ORDER BY charge").fetchall()

    def check(self) -> None:
        """Raise `LedgerError` unless the schema has exactly a ledger's tables and triggers."""
        check_made(self._connection, self._schema)

    def _one(self, statement: str, *values: Any) -> Any:
        return self._connection.execute(statement, values).fetchone()

    def _table(self, name: str) -> str:
        return f"{quoted_name(self._schema)}.{name}"


def _literal(kind: str) -> str:
    return repr(_KINDS[_KINDS.index(kind)])
