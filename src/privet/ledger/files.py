"""Ledger files: made whole or not at all, and opened so that what is committed stays. Knows nothing of budgets."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from privet.core.errors import LedgerError

from . import schema
from .pages import Pages, verify_pages
from .place import sync_folder, temporary_name, told_as_ledger_errors
from .rules import Clock


def create(path: Path, clock: Clock, fill: Callable[[Pages], object]) -> None:
    """Make the whole file under another name first, so that no half-made ledger is ever seen under its own."""
    with told_as_ledger_errors(), new_file(path) as temporary:
        connection = connect(Path(temporary), 10.0, check=_anything)
        try:
            connection.execute("BEGIN IMMEDIATE")
            schema.create(connection)
            fill(Pages(connection, clock, None))
            verify_pages(connection)
            connection.execute("COMMIT")
            # or a full disk would be noticed only on closing, which says nothing, and the file would lack its log
            (busy, *_) = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
            if busy:
                raise LedgerError(f"the ledger {str(path)!r} cannot be made: something else opened it meanwhile")
        finally:
            connection.close()


def _anything(connection: sqlite3.Connection) -> None:
    """Take a file as it is: it was made a moment ago."""


def connect(path: Path, timeout: float, *, check: Callable[[sqlite3.Connection], object]) -> sqlite3.Connection:
    """Return a connection that is durable, after a check that must come before anything is written."""
    connection = sqlite3.connect(path, timeout=timeout, isolation_level=None, check_same_thread=False)
    try:
        check(connection)
        connection.execute("PRAGMA trusted_schema = OFF")
        connection.execute("PRAGMA recursive_triggers = ON")
        connection.execute("PRAGMA cell_size_check = ON")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA fullfsync = ON")
        connection.execute("PRAGMA checkpoint_fullfsync = ON")
        (mode,) = connection.execute("PRAGMA journal_mode = WAL").fetchone()
        if mode != "wal":
            raise LedgerError(f"the ledger needs SQLite's write-ahead log, and {str(path)!r} cannot have one there")
    except BaseException:
        connection.close()
        raise
    return connection


@contextmanager
def new_file(target: Path) -> Iterator[str]:
    """Give the name of an empty file that only its owner may read; it then appears at its target, or not at all."""
    temporary = temporary_name(target)
    try:
        os.close(os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
        yield str(temporary)
        os.link(temporary, target)
        sync_folder(target.parent)
    except FileExistsError:
        raise LedgerError(f"there is a file {str(target)!r} already") from None
    except OSError as error:
        raise LedgerError(f"the ledger {str(target)!r} cannot be made: {error.strerror}") from error
    finally:
        for suffix in ("", "-wal", "-shm", "-journal"):
            with suppress(OSError):
                os.unlink(f"{temporary}{suffix}")
