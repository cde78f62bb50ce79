"""The rows of a ledger in PostgreSQL inside one transaction. It checks no entry."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from privet.core.errors import LedgerError
from privet.ledger.history import RULE_KINDS, Row

from .ledger_tables import check_made, quoted_name

if TYPE_CHECKING:
    import psycopg

_COLUMNS = "number, kind, account, digest, key, body, hash"
_KINDS = ("charge", "answer", "failure")
"""The kinds that rows are found by: written into the statements, or their partial indexes would not be used."""

_BATCH = 500
"""How many rows are fetched at once, so that a long history does not have to fit into memory."""


@dataclass(frozen=True)
class Inserted:
    """The last row that a transaction added: its number, its hash, and the number of the transaction itself.

    No other transaction has that number, so it tells this row from one with the same content that another one added.
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
        found = f"SELECT {_COLUMNS} FROM {self._entries} WHERE number > %s ORDER BY number LIMIT {_BATCH}"
        while batch := self._connection.execute(found, (after,)).fetchall():
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
        found = f"SELECT number FROM {self._entries} WHERE kind = {_literal(kind)}{where} ORDER BY number"
        return [number for (number,) in self._connection.execute(found, values)]

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
