"""Small files that are replaced whole or not at all, and locks between processes that write them."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from .errors import RequestError, raise_alone

if os.name == "posix":
    import fcntl

_PLAIN = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)


def replace_file(path: Path, body: bytes) -> None:
    """Write a file that only its owner may read: under another name first, durably, and then under its own.

    Raises:
        RequestError: if it cannot be written; the file is then unchanged.
    """
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    try:
        with os.fdopen(os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY | _PLAIN, 0o600), "wb") as file:
            file.write(body)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
        _sync(path.parent)
    except OSError as error:
        with suppress(OSError):
            os.unlink(temporary)
        raise_alone(RequestError(f"{str(path)!r} cannot be written: {error.strerror}"))


def append_file(path: Path, body: bytes) -> None:
    """Add bytes to the end of a file that only its owner may read, durably.

    Raises:
        RequestError: if they cannot be written.
    """
    try:
        with os.fdopen(os.open(path, os.O_CREAT | os.O_APPEND | os.O_WRONLY | _PLAIN, 0o600), "ab") as file:
            file.write(body)
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        raise_alone(RequestError(f"{str(path)!r} cannot be written: {error.strerror}"))


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Keep other processes out of a block that locks the same path; wait where one is in it.

    Raises:
        RequestError: if the lock's file cannot be made.
    """
    try:
        opened = os.open(path, os.O_RDWR | os.O_CREAT | _PLAIN, 0o600)
    except OSError as error:
        raise_alone(RequestError(f"{str(path)!r} cannot be written: {error.strerror}"))
    try:
        if os.name == "posix":
            fcntl.flock(opened, fcntl.LOCK_EX)
        yield
    finally:
        os.close(opened)


def _sync(folder: Path) -> None:
    if os.name == "posix":
        opened = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(opened)
        finally:
            os.close(opened)
