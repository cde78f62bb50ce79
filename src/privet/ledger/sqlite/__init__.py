"""The durable ledger: one SQLite file that survives the process and is shared by all processes of one machine."""

from .store import SqliteLedger

__all__ = ["SqliteLedger"]
