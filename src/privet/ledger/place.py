"""Where a ledger's file may lie, and what to say when the disk or the database under it fails."""

from __future__ import annotations

import os
import re
import secrets
import sqlite3
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from privet.core.errors import LedgerError, raise_alone

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
    """Turn what SQLite raises into `LedgerError`s that say what to do. Nothing was released when one is raised."""
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
    """Return the kind of file system that holds a folder, from the text of /proc/mounts; the last mount on top wins."""
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
    neither would know what the other holds.
    """
    try:
        found, names = _names(path)
    except OSError:
        raise_alone(LedgerError(f"the ledger {str(path)!r} cannot be opened; check the path and who owns it"))
    if not stat.S_ISREG(found.st_mode):
        raise LedgerError(f"{str(path)!r} is not a file")
    if os.name == "posix" and found.st_mode & 0o077:
        raise LedgerError(f"others may read or write the ledger {str(path)!r}; run: chmod 600 {path}")
    if names > 1:
        raise LedgerError(
            f"the ledger {str(path)!r} has another name elsewhere (a hard link), under which others could spend "
            "unseen; remove that name, and use backup() to copy a ledger"
        )
    return found.st_dev, found.st_ino


def identify(path: Path, database: Identity) -> tuple[Identity, ...]:
    """Return which three files an open ledger consists of; raise `LedgerError` unless this process holds those at hand.

    SQLite opened them by their names a moment ago, and another file can have taken a name since. So it is asked which
    files this process holds, where the system tells.
    """
    check_same(path, known := (database, *(_plain_file(Path(f"{path}{suffix}")) for suffix in LOGS)))
    held = _held()
    if held is not None and not held.issuperset(known):
        raise _other_file(path)
    return known


def check_same(path: Path, known: tuple[Identity, ...]) -> None:
    """Raise `LedgerError` if another file has taken the place of one that is open, or none is there any more.

    The files are the ledger's own and the two of its log. A process whose log was removed would write where nobody
    else reads, and another would begin a log of its own.
    """
    found = tuple(_plain_file(Path(f"{path}{suffix}")) for suffix in ("", *LOGS)[: len(known)])
    if found != known:
        raise _other_file(path)


def _plain_file(path: Path) -> Identity:
    try:
        found = os.lstat(path)
    except OSError:
        raise_alone(_other_file(path))
    if not stat.S_ISREG(found.st_mode):
        raise _other_file(path)
    return found.st_dev, found.st_ino


def _held() -> set[Identity] | None:
    """Return which files this process holds; None where the system does not tell."""
    try:
        numbers = os.listdir("/dev/fd")
    except OSError:
        return None
    held: set[Identity] = set()
    for number in numbers:
        with suppress(OSError, ValueError):  # the one that lists them is closed by now
            found = os.fstat(int(number))
            held.add((found.st_dev, found.st_ino))
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
    found = path.stat()
    while found.st_nlink > 1:
        names = found.st_nlink - _unfinished(path, found)
        again = path.stat()
        if again.st_nlink == found.st_nlink:
            return found, names
        found = again
    return found, found.st_nlink


def _unfinished(path: Path, found: os.stat_result) -> int:
    """Count the names under which a file is being made, or was, if its maker was stopped before it removed them."""
    made = re.compile(re.escape(f".{path.name}.") + "[0-9a-f]{16}")
    count = 0
    for name in os.listdir(path.parent):
        if made.fullmatch(name):
            with suppress(OSError):  # it was removed this very moment
                count += os.path.samestat(path.with_name(name).stat(), found)
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
