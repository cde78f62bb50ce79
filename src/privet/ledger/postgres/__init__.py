"""The ledger that many hosts share: append-only tables in a PostgreSQL server."""

from .postgres_ledger import PostgresLedger

__all__ = ["PostgresLedger"]
