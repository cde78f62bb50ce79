"""Lets go of ledgers' files and connections before a process forks, and before it ends.

SQLite remembers, for each file, which locks its process has. A child inherits the memory and not the locks: it would
write without them, and lose what it wrote when its parent closes the file. A connection to a server is one socket: of
two processes that share it, each would read the other's replies.
"""

from __future__ import annotations

import atexit
import os
import weakref
from typing import Any, Protocol


class Holder(Protocol):
    """An object that keeps a file or a connection open, under a lock that one thread may take several times."""

    lock: Any

    def _let_go(self) -> None:
        """Close it; it is opened again when it is needed."""


_HOLDERS: weakref.WeakSet[Holder] = weakref.WeakSet()
_WAITING: list[Holder] = []


def let_go_before_forks(holder: Holder) -> None:
    """Have a holder let go of what it keeps open whenever this process forks, and when it ends."""
    _HOLDERS.add(holder)


def _before_fork() -> None:
    for holder in list(_HOLDERS):
        holder.lock.acquire()
        _WAITING.append(holder)
        holder._let_go()


def _after_fork() -> None:
    while _WAITING:
        _WAITING.pop().lock.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_parent=_after_fork, after_in_child=_after_fork)


@atexit.register
def _at_exit() -> None:
    """Let go while there is all that it takes to see whether files are still the right ones."""
    for holder in list(_HOLDERS):
        if holder.lock.acquire(timeout=1):
            try:
                holder._let_go()
            finally:
                holder.lock.release()
