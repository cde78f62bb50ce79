"""Lets go of ledgers' files before a process forks, and before it ends.

SQLite remembers, for each file, which locks its process holds. A child inherits the memory and not the locks: it would
write without them, and lose what it wrote when its parent closes the file.
"""

from __future__ import annotations

import atexit
import os
import weakref
from typing import Any, Protocol


class Holder(Protocol):
    """What holds a file, under a lock that one thread may take several times."""

    _lock: Any

    def _let_go(self) -> None:
        """Close the file; it is opened again when it is needed."""


_HOLDERS: weakref.WeakSet[Holder] = weakref.WeakSet()
_WAITING: list[Holder] = []


def let_go_before_forks(holder: Holder) -> None:
    """Have a holder let go of its file whenever this process forks, and when it ends."""
    _HOLDERS.add(holder)


def _before_fork() -> None:
    for holder in list(_HOLDERS):
        holder._lock.acquire()
        _WAITING.append(holder)
        holder._let_go()


def _after_fork() -> None:
    while _WAITING:
        _WAITING.pop()._lock.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_parent=_after_fork, after_in_child=_after_fork)


@atexit.register
def _at_exit() -> None:
    """Let go while there is all that it takes to see whether the files are still the right ones."""
    for holder in list(_HOLDERS):
        if holder._lock.acquire(timeout=1):
            try:
                holder._let_go()
            finally:
                holder._lock.release()
