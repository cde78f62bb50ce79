"""Ledger files: made whole or not at all, and opened so that what is committed stays. Knows nothing of budgets."""

from __future__ import annotations

import ctypes
import errno
import os
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from privet.core.errors import LedgerError, raise_alone

from . import schema
from .pages import Pages, verify_pages
from .place import sync_folder, temporary_name, told_as_ledger_errors
from .rules import Clock

_PATIENCE = 50
"""Milliseconds for which readers are waited for when the log is written back."""


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
        connection.execute("PRAGMA wal_autocheckpoint = 0")  # `write_back` does it, when it is known to be safe
        (mode,) = connection.execute("PRAGMA journal_mode = WAL").fetchone()
        if mode != "wal":
            raise LedgerError(f"the ledger needs SQLite's write-ahead log, and {str(path)!r} cannot have one there")
    except BaseException:
        connection.close()
        raise
    return connection


def write_back(connection: sqlite3.Connection, timeout: float) -> None:
    """Write what the log holds into the file itself, so that a log that is lost later loses nothing.

    Readers are waited for a moment, not longer; what stays in the log then is written the next time.
    """
    with suppress(sqlite3.Error):  # it is durable in the log already
        connection.execute(f"PRAGMA busy_timeout = {_PATIENCE}")
        try:
            connection.execute("PRAGMA wal_checkpoint(FULL)").fetchone()
        finally:
            connection.execute(f"PRAGMA busy_timeout = {int(timeout * 1000)}")


def abandon(connection: sqlite3.Connection) -> None:
    """Give up a connection whose files are no longer those at its path, without writing anything back.

    Closing it would write the pages of its log into the file, over what others have written there since.
    """
    if hasattr(connection, "setconfig"):  # from Python 3.12
        connection.setconfig(sqlite3.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE)  # type: ignore[attr-defined]
        connection.close()
    else:
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(connection))  # it is never closed, not even at exit


@contextmanager
def new_file(target: Path) -> Iterator[str]:
    """Give the name of an empty file that only its owner may read, in a folder that only its owner may enter.

    The folder then appears as that of its target, with the file in it, or not at all.
    """
    folder, temporary = target.parent, temporary_name(target.parent)
    try:
        os.mkdir(temporary, 0o700)
        os.chmod(temporary, 0o700)  # whatever the process masks
        inside = temporary / target.name
        os.close(os.open(inside, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
        yield str(inside)
        sync_folder(temporary)
        if os.path.lexists(folder):  # an empty folder would make room
            raise FileExistsError
        os.rename(temporary, folder)
        sync_folder(folder.parent)
    except OSError as error:
        if isinstance(error, (FileExistsError, NotADirectoryError)) or error.errno in (errno.ENOTEMPTY, errno.EISDIR):
            raise_alone(LedgerError(f"there is a file or a folder {str(folder)!r} already"))
        raise_alone(LedgerError(f"the ledger {str(folder)!r} cannot be made: {error.strerror}"))
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
