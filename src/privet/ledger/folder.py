"""The folder that a ledger's files lie in: where it is, who may write to it, and one lock for all who charge.

Anyone who can remove a name from the folder can put another file there, so the folder has to be as safe as the file.
"""

from __future__ import annotations

import errno
import os
import shlex
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from privet.core.errors import LedgerError, raise_alone

if os.name == "posix":
    import fcntl
    import grp
    import pwd

FILE = "ledger"
"""The name of the file in a ledger's own folder."""

_LOCKED = (
    "the ledger cannot be used: it is locked by another process for too long; try again, or look for one that hangs"
)

_POLL = 0.002
"""Seconds between two attempts to take the lock."""


def locate(path: str | os.PathLike[str]) -> Path:
    """Return the file of the ledger at a path: the file itself, or the one in the folder that is or will be there.

    Links are followed: SQLite names the log after the file's own name, and lays it beside the file itself.
    """
    real = Path(os.path.realpath(path))
    return real if real.exists() and not real.is_dir() else Path(os.path.realpath(real / FILE))


def check_folder(folder: Path, *, around: bool = False) -> None:
    """Raise `LedgerError` where others may write to a ledger's folder, or may move it or a folder above it.

    With `around`, the ledger's own folder is not there yet, and this is the one that it will lie in.

    The sticky bit, as /tmp has it, prevents one user from removing another's files. It makes a folder above safe; it
    does not do for the folder itself, where a log or a journal that others lay beside the file would be read.
    """
    if os.name != "posix":
        return
    for place in (folder, *folder.parents):
        try:
            found = place.stat()
        except OSError:
            raise_alone(LedgerError(f"the folder {str(place)!r} cannot be entered; check the path and who owns it"))
        own = place == folder and not around
        if own and os.geteuid() not in (0, found.st_uid) and found.st_uid != 0:
            raise LedgerError(
                f"the folder {str(place)!r} belongs to another user, who could put another ledger there; "
                "keep the ledger in a folder of your own"
            )
        if not own and found.st_mode & stat.S_ISVTX:
            continue
        if found.st_mode & stat.S_IWOTH or (found.st_mode & stat.S_IWGRP and _shared(place, found)):
            raise LedgerError(
                f"others may write to the folder {str(place)!r}, and so put another file in the place of the ledger's; "
                f"run: chmod go-w {shlex.quote(str(place))}"
            )


def _shared(folder: Path, found: os.stat_result) -> bool:
    """Return whether anyone but its owner and root may write to a folder that its group may write to.

    Where an access control list is set, the bits of the group stand for everyone on the list. A group that the system
    does not know may have any members.
    """
    if hasattr(os, "listxattr"):
        try:
            if "system.posix_acl_access" in os.listxattr(folder):
                return True
        except OSError as error:
            if error.errno != errno.ENOTSUP:  # a file system without lists has none set
                return True
    try:
        members = set(grp.getgrgid(found.st_gid).gr_mem)
        trusted = {pwd.getpwuid(found.st_uid).pw_name, "root"}
    except KeyError:
        return True
    return not members <= trusted or any(
        user.pw_gid == found.st_gid and user.pw_uid not in (0, found.st_uid) for user in pwd.getpwall()
    )


@contextmanager
def charging_alone(folder: Path, timeout: float) -> Iterator[None]:
    """Keep every other process from charging a ledger in a folder, or raise `LedgerError` after a timeout.

    SQLite's own lock lies in a file beside the ledger's. Removing that file splits one lock into two, and two
    processes could then charge at once, neither seeing the other. A folder cannot be removed while it holds the ledger.

    Guarantee: on POSIX, between two processes that charge the ledgers of one folder, one has ended its transaction and
    written it into the ledger's file before the other begins, whatever happens to the files beside it.
    """
    if os.name != "posix":
        yield
        return
    try:
        opened = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    except OSError:
        raise_alone(
            LedgerError(
                f"the folder {str(folder)!r} was moved, removed or closed to you while its ledger was open; "
                "find out which is right and open the ledger again"
            )
        )
    try:
        ends = time.monotonic() + timeout
        while True:
            try:
                fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() >= ends:
                    raise_alone(LedgerError(_LOCKED))
                time.sleep(_POLL)
            except OSError:
                raise_alone(LedgerError("the ledger cannot be used: its folder cannot be locked on this drive"))
        yield
    finally:
        os.close(opened)
