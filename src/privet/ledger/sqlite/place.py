"""Where a ledger's files lie: the folder, the file, who may write there, and how they are made whole or not at all."""

from __future__ import annotations

import ctypes
import errno
import os
import re
import secrets
import shlex
import shutil
import sqlite3
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from privet.core.errors import LedgerError, raise_alone

# The folder that a ledger's files lie in: where it is, who may write to it, and one lock for all who charge.
#
# Anyone who can remove a name from the folder can put another file there, so the folder has to be as safe as the
# file.


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
    try:
        return real if real.exists() and not real.is_dir() else Path(os.path.realpath(real / FILE))
    except OSError:
        raise_alone(
            LedgerError(f"the ledger cannot be used: {str(real)!r} cannot be entered; check the path and who owns it")
        )


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
            status = place.stat()
        except OSError:
            raise_alone(LedgerError(f"the folder {str(place)!r} cannot be entered; check the path and who owns it"))
        own = place == folder and not around
        if own and os.geteuid() not in (0, status.st_uid) and status.st_uid != 0:
            raise LedgerError(
                f"the folder {str(place)!r} belongs to another user, who could put another ledger there; "
                "keep the ledger in a folder of your own"
            )
        if not own and status.st_mode & stat.S_ISVTX:
            continue
        if status.st_mode & stat.S_IWOTH or (status.st_mode & stat.S_IWGRP and _shared(place, status)):
            raise LedgerError(
                f"others may write to the folder {str(place)!r}, and so put another file in the place of the ledger's; "
                f"run: chmod go-w {shlex.quote(str(place))}"
            )


def _shared(folder: Path, status: os.stat_result) -> bool:
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
        members = set(grp.getgrgid(status.st_gid).gr_mem)
        trusted = {pwd.getpwuid(status.st_uid).pw_name, "root"}
    except KeyError:
        return True
    return not members <= trusted or any(
        user.pw_gid == status.st_gid and user.pw_uid not in (0, status.st_uid) for user in pwd.getpwall()
    )


@contextmanager
def charging_alone(folder: Path, timeout: float) -> Iterator[None]:
    """Keep every other process from charging a ledger in a folder, or raise `LedgerError` after a timeout.

    SQLite's own lock lies in a file beside the ledger's. Removing that file splits one lock into two, and two processes
    could then charge at once, neither seeing the other. A folder cannot be removed while it contains the ledger.

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


# Where a ledger's file may lie, and what to report when the disk or the database under it fails.


_NETWORK = re.compile(
    r"9p|afpfs|afs|beegfs|ceph|cifs|coda|davfs|gfs2|glusterfs|gpfs|lustre|ncpfs|nfs4?|ocfs2|orangefs|prl_fs|pvfs2"
    r"|smb(2|3|fs)|vboxsf|vmhgfs"
)
_NETWORK_OVER_FUSE = re.compile(
    r"fuse\.(sshfs|s3fs|rclone|glusterfs|ceph|gcsfuse|goofys|davfs2?|smbnetfs|blobfuse2?|juicefs|mfs|seaweedfs|vmhgfs-fuse)"
)

Identity = tuple[int, int]
"""Which file it is, whatever its name: the device and the number on it."""

LOGS = ("-wal", "-shm")
"""What the names of the files beside an open ledger end in: SQLite's log, and the log's index and locks."""

_ADVICE = {
    sqlite3.SQLITE_BUSY: "it is locked by another process for too long; try again, or look for one that hangs",
    sqlite3.SQLITE_LOCKED: "it is locked by another process for too long; try again, or look for one that hangs",
    sqlite3.SQLITE_PROTOCOL: "too many processes open it at once; try again",
    sqlite3.SQLITE_FULL: "the disk is full; make room and try again",
    sqlite3.SQLITE_READONLY: "it cannot be written to; check who owns the file and whether its disk is read-only",
    sqlite3.SQLITE_PERM: "it cannot be written to; check who owns the file and whether its disk is read-only",
    sqlite3.SQLITE_CANTOPEN: "it cannot be opened; check the path and who may write to its folder",
    sqlite3.SQLITE_IOERR: "the disk failed to read or write it; check the disk and the room that is left on it",
    sqlite3.SQLITE_CORRUPT: "the file is damaged; put back a copy and compare its head",
    sqlite3.SQLITE_NOTADB: "the file is not a ledger, or it is damaged",
    sqlite3.SQLITE_CONSTRAINT: "entries are only ever added, each after the last; something else changed the file",
}


@contextmanager
def told_as_ledger_errors() -> Iterator[None]:
    """Turn what SQLite raises into `LedgerError`s that state what to do. Nothing was released when one is raised."""
    try:
        yield
    except sqlite3.Error as error:
        code = getattr(error, "sqlite_errorcode", None)
        advice = _ADVICE.get(-1 if code is None else code & 0xFF, "the database under it failed")
        raise_alone(LedgerError(f"the ledger cannot be used: {advice}"))
    except UnicodeDecodeError:
        raise_alone(LedgerError("the ledger cannot be used: the file is damaged; put back a copy"))


def check_place(folder: Path) -> None:
    """Raise `LedgerError` if a folder is missing or lies on a network drive, where locks cannot be relied on."""
    try:
        there = folder.is_dir()
    except OSError:
        there = False
    if not there:
        raise LedgerError(f"there is no folder {str(folder)!r} to keep a ledger in, or it may not be entered")
    mounts = Path("/proc/self/mounts")
    if not mounts.exists():
        return
    kind = mount_kind(os.path.realpath(folder), mounts.read_text(encoding="utf-8", errors="surrogateescape"))
    if _NETWORK.fullmatch(kind) or _NETWORK_OVER_FUSE.fullmatch(kind):
        raise LedgerError(
            f"a ledger cannot lie on a network drive ({kind}), where two machines could both spend the last of it; "
            "keep the file on a local disk"
        )


def mount_kind(folder: str, mounts: str) -> str:
    """Return the kind of file system of a folder, from the text of /proc/mounts; the last mount on top wins."""
    best, kind = "", ""
    for line in mounts.splitlines():
        fields = line.split(" ")
        if len(fields) < 3:
            continue
        point = re.sub(r"\\([0-7]{3})", lambda octal: chr(int(octal[1], 8)), fields[1])
        inside = point == "/" or folder == point or folder.startswith(point + "/")
        if inside and len(point) >= len(best):
            best, kind = point, fields[2]
    return kind


def check_file(path: Path) -> Identity:
    """Return which file lies at a path; raise `LedgerError` unless it is a plain file, its owner's only, of one name.

    SQLite names the log beside a file after the file's name. Under a second name there would be a second log, and
    neither would know what the other contains.
    """
    try:
        status, names = _names(path)
    except OSError:
        raise_alone(LedgerError(f"the ledger {str(path)!r} cannot be opened; check the path and who owns it"))
    if not stat.S_ISREG(status.st_mode):
        raise LedgerError(f"{str(path)!r} is not a file")
    if os.name == "posix" and status.st_mode & 0o077:
        raise LedgerError(f"others may read or write the ledger {str(path)!r}; run: chmod 600 {path}")
    if names > 1:
        raise LedgerError(
            f"the ledger {str(path)!r} has another name elsewhere (a hard link), under which others could spend "
            "unseen; remove that name, and use backup() to copy a ledger"
        )
    return status.st_dev, status.st_ino


def identify(path: Path, database: Identity) -> tuple[Identity, ...]:
    """Return which three files an open ledger consists of; raise `LedgerError` unless this process holds those at hand.

    SQLite opened them by their names a moment ago, and another file can have taken a name since. So it is asked which
    files this process holds, where the system shows them.
    """
    check_same(path, known := (database, *(_plain_file(Path(f"{path}{suffix}")) for suffix in LOGS)))
    held = _held()
    if held is not None and not held.issuperset(known):
        raise _other_file(path)
    return known


def check_same(path: Path, known: tuple[Identity, ...]) -> None:
    """Raise `LedgerError` if another file has taken the place of one that is open, or none is there any more.

    The files are the ledger's own and the two of its log. A process whose log was removed would write where no other
    process reads, and another would begin its own log.
    """
    current = tuple(_plain_file(Path(f"{path}{suffix}")) for suffix in ("", *LOGS)[: len(known)])
    if current != known:
        raise _other_file(path)


def _plain_file(path: Path) -> Identity:
    try:
        status = os.lstat(path)
    except OSError:
        raise_alone(_other_file(path))
    if not stat.S_ISREG(status.st_mode):
        raise _other_file(path)
    return status.st_dev, status.st_ino


def _held() -> set[Identity] | None:
    """Return which files this process holds; None where the system does not show them."""
    try:
        numbers = os.listdir("/dev/fd")
    except OSError:
        return None
    held: set[Identity] = set()
    for number in numbers:
        with suppress(OSError, ValueError):  # the one that lists them is closed by now
            status = os.fstat(int(number))
            held.add((status.st_dev, status.st_ino))
    return held


def _other_file(path: Path) -> LedgerError:
    return LedgerError(
        f"the ledger's file {str(path)!r} was moved, removed or replaced while it was open; "
        "what is charged here would not be seen there; find out which file is right and open it again, in a new process"
    )


def temporary_name(path: Path) -> Path:
    """Return a name beside a file for the time it is made."""
    return path.with_name(f".{path.name}.{secrets.token_hex(8)}")


def _names(path: Path) -> tuple[os.stat_result, int]:
    """Return a file and how many names it has, but for those under which it is still being made by another process.

    That process removes such a name at any moment. So the names are counted again if any came or went meanwhile.
    """
    status = path.stat()
    while status.st_nlink > 1:
        names = status.st_nlink - _unfinished(path, status)
        again = path.stat()
        if again.st_nlink == status.st_nlink:
            return status, names
        status = again
    return status, status.st_nlink


def _unfinished(path: Path, status: os.stat_result) -> int:
    """Count the names under which a file is being made, or was, if its maker was stopped before it removed them."""
    made = re.compile(re.escape(f".{path.name}.") + "[0-9a-f]{16}")
    count = 0
    for name in os.listdir(path.parent):
        if made.fullmatch(name):
            with suppress(OSError):  # it was removed this very moment
                count += os.path.samestat(path.with_name(name).stat(), status)
    return count


def sync_folder(folder: Path) -> None:
    """Make the names in a folder durable."""
    if os.name != "posix":
        return
    opened = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)


# Ledger files: made whole or not at all, and opened so that commits stay. Knows nothing of budgets.


_PATIENCE = 50
"""Milliseconds for which readers are waited for when the log is written back."""


def create(path: Path, fill: Callable[[sqlite3.Connection], object]) -> None:
    """Make the whole file under another name first, so that no half-made ledger is ever seen under its own."""
    with told_as_ledger_errors(), new_file(path) as temporary:
        connection = connect(Path(temporary), 10.0, check=_anything)
        try:
            connection.execute("BEGIN IMMEDIATE")
            fill(connection)
            connection.execute("COMMIT")
            # or a full disk would be noticed only on closing, which raises nothing, and the file would lack its log
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
        connection.execute("PRAGMA secure_delete = ON")  # secret texts that are replaced leave nothing in the file
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


def write_back(connection: sqlite3.Connection, timeout: float, *, emptied: bool = False) -> None:
    """Write the log's content into the file itself, so that a log that is lost later loses nothing.

    Readers are waited for a moment, not longer; what stays in the log then is written the next time. The log is
    `emptied` where it contained a secret text that was removed since.
    """
    with suppress(sqlite3.Error):  # it is durable in the log already
        connection.execute(f"PRAGMA busy_timeout = {_PATIENCE}")
        try:
            connection.execute(f"PRAGMA wal_checkpoint({'TRUNCATE' if emptied else 'FULL'})").fetchone()
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
    """Yield the name of an empty file that only its owner may read, in a folder that only its owner may enter.

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
